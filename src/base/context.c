/* context.c: the context: allocator, diagnostic, logs and directories. Must not touch LLVM or CUDA: a context
 * is made in microseconds. Environment variables are read here, once, through env.c. */
#include "base/base.h"

#include "llvm/Config/llvm-config.h"

#ifndef LLFUSE_VERSION
#error "LLFUSE_VERSION comes from the build"
#endif

static const struct {
    const char *name, *text;
} statuses[] = {
#define STATUS(id, meaning) {#id, meaning},
#include "llfuse/status.def"
#undef STATUS
};

const char *llf_status_name(llf_status s)
{
    return (size_t)s < LLFI_COUNT(statuses) ? statuses[s].name : "E_?";
}

const char *llf_status_text(llf_status s)
{
    return (size_t)s < LLFI_COUNT(statuses) ? statuses[s].text : "no such status";
}

const char *llf_version(void)
{
    return LLFUSE_VERSION;
}

const char *llf_llvm_version(void)
{
    return LLVM_VERSION_STRING;
}

static bool copy_text(const llf_allocator *mem, const char *text, char **out)
{
    *out = NULL;
    if (!text || !*text)
        return true;
    size_t size = strlen(text) + 1;
    *out = llfi_alloc(mem, size);
    if (*out)
        memcpy(*out, text, size);
    return *out != NULL;
}

static void free_text(const llf_allocator *mem, char *text)
{
    if (text)
        llfi_free(mem, text, strlen(text) + 1);
}

bool llfi_struct_size_possible(size_t size)
{
    return size >= sizeof size && size % sizeof(void *) == 0 && size <= 4096;
}

/* Options of an older caller are shorter: what it does not know is zero. A longer one is a newer header. */
static llf_status read_options(llfi_diag *d, const llf_context_options *in, llf_context_options *out)
{
    memset(out, 0, sizeof *out);
    if (!in)
        return LLF_OK;
    if (!llfi_struct_size_possible(in->size) || in->size > sizeof *in)
        return llfi_fail(d, LLF_E_ARG, "llf_context_options.size is %zu, this library's is %zu", in->size,
                         sizeof *in);
    memcpy(out, in, in->size);
    if (out->allocator && !out->allocator->resize) {
        out->allocator = NULL;
        return llfi_fail(d, LLF_E_ARG, "llf_context_options.allocator has no resize function");
    }
    return LLF_OK;
}

llf_context *llf_context_create(const llf_context_options *options)
{
    llfi_diag diag = {0};
    llf_context_options opt;
    llf_status status = read_options(&diag, options, &opt);
    llf_allocator mem = opt.allocator ? *opt.allocator : llfi_malloc_allocator;
    llf_context *cx = llfi_alloc_zero(&mem, sizeof *cx);
    if (!cx)
        return NULL;
    cx->mem = mem;
    cx->log = opt.log;
    cx->log_user = opt.log_user;
    cx->diag.pub = (llf_diagnostic){LLF_OK, cx->diag.message, cx->diag.file, 0, 0, cx->diag.op};
    cx->lock = llfi_log_lock_create(&mem);
    const char *dump = opt.dump_dir ? opt.dump_dir : llfi_env_get(LLFI_ENV_DUMP_DIR);
    const char *over = opt.override_dir ? opt.override_dir : llfi_env_get(LLFI_ENV_OVERRIDE_DIR);
    bool made = !opt.kernel_cache_bytes || (cx->kernels = llfi_cache_create(&mem, opt.kernel_cache_bytes));
    if (!made || !cx->lock || !copy_text(&mem, dump, &cx->dump_dir) ||
        !copy_text(&mem, over, &cx->override_dir)) {
        llf_context_destroy(cx);
        return NULL;
    }
    if (status != LLF_OK) {
        llfi_diag_copy(&cx->diag, &diag);
    } else {
        const char *logs = opt.logs ? opt.logs : llfi_env_get(LLFI_ENV_LOGS);
        if (logs)
            status = llfi_log_parse(&cx->diag, logs, &cx->log_mask);
    }
    cx->status = status;
    return cx;
}

llf_status llf_context_status(const llf_context *cx)
{
    return cx ? cx->status : LLF_E_ARG;
}

void llf_context_destroy(llf_context *cx)
{
    if (!cx)
        return;
    llf_allocator mem = cx->mem;
    free_text(&mem, cx->dump_dir);
    free_text(&mem, cx->override_dir);
    llfi_log_lock_release(cx->lock);
    llfi_cache_release(cx->kernels);
    llfi_free(&mem, cx, sizeof *cx);
}

const llf_diagnostic *llf_last_error(const llf_context *cx)
{
    static const llf_diagnostic none = {LLF_E_ARG, "the context is NULL", "", 0, 0, ""};
    return cx ? &cx->diag.pub : &none;
}

void llf_text_free(llf_context *cx, char *text, size_t bytes)
{
    if (cx)
        llfi_free(&cx->mem, text, bytes + 1);
}
