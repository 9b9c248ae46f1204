/* nvptx_module.h: for the tests of the nvptx backend: kernels made by hand through the backend's own begin
 * and compile, and ptxas, where there is one, as the judge of the PTX. */
#ifndef NVPTX_MODULE_H
#define NVPTX_MODULE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower/lower.h"

#include <stdlib.h>
#include <unistd.h>

/* One buffer in, one out, both of `dtype`; the builder stands at the end of the entry block. */
typedef struct {
    llf_context *cx;
    llfi_target target;
    llfi_arena arena;
    llfi_arg arg[2];
    llfi_schedule schedule;
    LLVMValueRef value[2];
    llfi_site site;
} nvptx_module;

static inline void nvptx_open(nvptx_module *m, const char *target)
{
    memset(m, 0, sizeof *m);
    m->cx = llf_context_create(NULL);
    assert_non_null(m->cx);
    assert_int_equal(llfi_target_make(m->cx, target, &m->target), LLF_OK);
    llfi_arena_init(&m->arena, &m->cx->mem);
    m->schedule = (llfi_schedule){.arg = m->arg, .args = 2, .threads = 128};
    m->site = (llfi_site){.schedule = &m->schedule, .name = "kernel", .arena = &m->arena, .arg = m->value};
    LLVMContextRef lx = LLVMContextCreate();
    m->site.emit = (llfi_emit){.target = &m->target, .width = 1, .diag = &m->cx->diag};
    llfi_emit *e = &m->site.emit;
    e->module = LLVMModuleCreateWithNameInContext("kernel", lx);
    e->b = LLVMCreateBuilderInContext(lx);
    llfi_emit_types(e, lx);
    assert_int_equal(m->target.backend->begin(&m->site), LLF_OK);
}

/* in[0..width) in register form */
static inline LLVMValueRef nvptx_load(nvptx_module *m, llf_dtype dtype, uint32_t width)
{
    llfi_emit *e = &m->site.emit;
    e->width = width;
    LLVMValueRef v = LLVMBuildLoad2(e->b, llfi_emit_mem_type(e, dtype, width), m->value[0], "");
    return llfi_emit_unpack(e, dtype, v);
}

static inline void nvptx_store(nvptx_module *m, llf_dtype dtype, LLVMValueRef v)
{
    llfi_emit *e = &m->site.emit;
    LLVMBuildStore(e->b, llfi_emit_pack(e, dtype, v), m->value[1]);
    LLVMBuildRetVoid(e->b);
}

static inline llf_status nvptx_compile(nvptx_module *m, llfi_code *code)
{
    return m->target.backend->compile(&m->cx->diag, &m->target, &m->cx->mem, m->site.emit.module, code, NULL,
                                      NULL);
}

static inline void nvptx_close(nvptx_module *m)
{
    LLVMDisposeBuilder(m->site.emit.b);
    LLVMDisposeModule(m->site.emit.module);
    LLVMContextDispose(m->site.emit.lx);
    llfi_arena_destroy(&m->arena);
    llf_context_destroy(m->cx);
}

/* Occurrences of `what`. */
static inline uint32_t nvptx_count(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static inline const char *nvptx_ptxas(void)
{
    static const char *const at[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (size_t i = 0; i < LLFI_COUNT(at); i++)
        if (access(at[i], X_OK) == 0)
            return at[i];
    return NULL;
}

/* ptxas's words about the PTX; "" when there is no ptxas. `cpu`: "sm_90a". */
static inline void nvptx_assemble(const char *cpu, const char *ptx, char *said, size_t size)
{
    said[0] = 0;
    if (!nvptx_ptxas())
        return;
    char file[] = "/tmp/llfuse-ptx-XXXXXX", command[256];
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, ptx, strlen(ptx)), (ssize_t)strlen(ptx));
    close(fd);
    snprintf(command, sizeof command, "%s -arch=%s -v %s -o /dev/null 2>&1", nvptx_ptxas(), cpu, file);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    size_t n = fread(said, 1, size - 1, p);
    said[n] = 0;
    int status = pclose(p);
    unlink(file);
    if (status)
        print_message("%s\n%s\n", said, ptx);
    assert_int_equal(status, 0);
}

/* No function of the PTX spills; none has a stack frame unless `frame`. */
static inline void nvptx_no_spill(const char *cpu, const char *ptx, const char *what, bool frame)
{
    char said[8192];
    nvptx_assemble(cpu, ptx, said, sizeof said);
    if (!said[0])
        return;
    const char *clean = frame ? " 0 bytes spill stores, 0 bytes spill loads"
                              : " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
    uint32_t functions = nvptx_count(said, "bytes stack frame");
    if (functions == 0 || nvptx_count(said, clean) != functions)
        print_message("%s on %s: %s\n", what, cpu, said);
    assert_true(functions > 0);
    assert_int_equal(nvptx_count(said, clean), functions);
}

#endif
