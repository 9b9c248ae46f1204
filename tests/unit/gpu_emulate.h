/* gpu_emulate.h: runs what the skeletons of nvptx emit without a GPU: the same LLVM IR, compiled for the host
 * with the host's arithmetic; threads of a block are coroutines that change at barriers, blocks follow one
 * another, shared memory is poisoned before each. It sees wrong addresses, missing barriers (threads run one
 * by one up to the next one) and threads that miss one; it does not see what a real GPU does at once. */
#ifndef GPU_EMULATE_H
#define GPU_EMULATE_H

#include "host_jit.h"
#include "lower/tiled.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define EMULATE_THREADS 1024u
#define EMULATE_STACK 65536u

/* A target of nvptx's skeletons and the host's arithmetic. */
static llf_status emulate_begin(struct llfi_site *s)
{
    return llfi_backend_host.begin(s);
}

/* As the nvptx backend does it: the block's index, then a parameter an argument. */
static llf_status emulate_begin_part(struct llfi_site *s)
{
    llfi_emit *e = &s->emit;
    const llfi_schedule *sc = s->schedule;
    LLVMTypeRef *type = llfi_arena_alloc(s->arena, (sc->args + 1) * sizeof *type);
    assert_non_null(type);
    type[0] = e->i64;
    for (uint32_t i = 0; i < sc->args; i++)
        type[i + 1] = sc->arg[i].kind == LLFI_ARG_BUFFER   ? LLVMPointerTypeInContext(e->lx, 0)
                      : sc->arg[i].kind == LLFI_ARG_SCALAR ? llfi_emit_mem_type(e, sc->arg[i].dtype, 1)
                                                           : e->i64;
    s->function = LLVMAddFunction(e->module, s->name,
                                  LLVMFunctionType(LLVMVoidTypeInContext(e->lx), type, sc->args + 1, false));
    LLVMSetLinkage(s->function, LLVMInternalLinkage);
    llfi_host_attributes(e->lx, e->target, s->function);
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->lx, s->function, "entry"));
    s->block = LLVMGetParam(s->function, 0);
    e->width = 1;
    for (uint32_t i = 0; i < sc->args; i++) {
        s->arg[i] = LLVMGetParam(s->function, i + 1);
        if (sc->arg[i].kind == LLFI_ARG_SCALAR)
            s->arg[i] = llfi_emit_unpack(e, sc->arg[i].dtype, s->arg[i]);
    }
    return e->status;
}

static const llfi_skeleton *const emulate_skeletons[] = {
    &llfi_skeleton_parts_nvptx, &llfi_skeleton_tiled_nvptx, &llfi_skeleton_pointwise_nvptx, NULL};

static inline llfi_backend emulate_backend(void)
{
    return (llfi_backend){.name = "host",
                          .lowering = llfi_backend_host.lowering,
                          .skeletons = emulate_skeletons,
                          .begin = emulate_begin,
                          .begin_part = emulate_begin_part,
                          .compile = llfi_backend_host.compile};
}

static struct {
    ucontext_t home, thread[EMULATE_THREADS];
    char *stack;
    bool done[EMULATE_THREADS];
    uint32_t tid, ctaid;
    uint32_t by_vectors;                /* launches of tiles that went that road */
    uint32_t vector_runs, element_runs; /* launches with blocks of such runs, several a thread */
    uint64_t barriers[EMULATE_THREADS];
    _Alignas(16) unsigned char shared[65536];
    void (*run)(void **slots, int64_t, int64_t);
    void **slots;
} emulate;

static int32_t emulate_tid(void)
{
    return (int32_t)emulate.tid;
}

static int32_t emulate_ctaid(void)
{
    return (int32_t)emulate.ctaid;
}

static void emulate_barrier(int32_t all)
{
    (void)all;
    emulate.barriers[emulate.tid]++;
    swapcontext(&emulate.thread[emulate.tid], &emulate.home);
}

static void emulate_thread(void)
{
    uint32_t tid = emulate.tid;
    emulate.run(emulate.slots, 0, 0);
    emulate.done[tid] = true;
}

/* A function of its own: getcontext returns twice, as far as compilers know. */
__attribute__((noinline)) static void emulate_start(ucontext_t *thread, char *stack)
{
    getcontext(thread);
    thread->uc_stack.ss_sp = stack;
    thread->uc_stack.ss_size = EMULATE_STACK;
    thread->uc_link = &emulate.home;
    makecontext(thread, emulate_thread, 0);
}

/* Threads of block `ctaid`, one after another up to the next barrier, until all have ended. Odd turns run
 * them backwards. */
static void emulate_block(uint32_t threads, uint32_t ctaid)
{
    memset(emulate.shared, 0xa5, sizeof emulate.shared);
    emulate.ctaid = ctaid;
    for (uint32_t i = 0; i < threads; i++) {
        emulate_start(&emulate.thread[i], emulate.stack + (size_t)i * EMULATE_STACK);
        emulate.done[i] = false;
        emulate.barriers[i] = 0;
    }
    bool more = true;
    for (uint32_t turn = 0; more; turn++) {
        more = false;
        for (uint32_t k = 0; k < threads; k++) {
            uint32_t i = turn % 2 ? threads - 1 - k : k;
            emulate.tid = i;
            if (!emulate.done[i])
                swapcontext(&emulate.home, &emulate.thread[i]);
            more = more || !emulate.done[i];
        }
        for (uint32_t i = 0; i < threads; i++)
            if (emulate.barriers[i] != emulate.barriers[0])
                fail_msg("block %u: thread %u has passed %llu barriers, thread 0 %llu", ctaid, i,
                         (unsigned long long)emulate.barriers[i], (unsigned long long)emulate.barriers[0]);
    }
}

static inline void emulate_replace(LLVMModuleRef m, const char *name, uintptr_t address)
{
    bool shared = strcmp(name, "llf_tile") == 0;
    LLVMValueRef f = shared ? LLVMGetNamedGlobal(m, name) : LLVMGetNamedFunction(m, name);
    if (!f)
        return;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(LLVMGetModuleContext(m));
    LLVMReplaceAllUsesWith(f, LLVMConstIntToPtr(LLVMConstInt(i64, address, 0), LLVMTypeOf(f)));
    if (shared)
        LLVMDeleteGlobal(f);
    else
        LLVMDeleteFunction(f);
}

/* The machine code of one kernel for the target, whose backend has the host's arithmetic. */
static inline host_jit emulate_compile(llf_context *cx, const llf_graph *g, const llfi_kernel *k,
                                       const llfi_schedule *s, const llfi_target *t, llfi_arena *arena)
{
    llfi_module m;
    host_jit j = {0};
    llfi_str_init(&j.llvm_opt, &llfi_malloc_allocator);
    llfi_str_init(&j.assembly, &llfi_malloc_allocator);
    if (llfi_lower_kernel(g, k, s, t, "kernel", arena, &cx->diag, &m) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    emulate_replace(m.module, "llvm.nvvm.read.ptx.sreg.tid.x", (uintptr_t)emulate_tid);
    emulate_replace(m.module, "llvm.nvvm.read.ptx.sreg.ctaid.x", (uintptr_t)emulate_ctaid);
    emulate_replace(m.module, "llvm.nvvm.barrier.cta.sync.aligned.all", (uintptr_t)emulate_barrier);
    emulate_replace(m.module, "llvm.nvvm.barrier0", (uintptr_t)emulate_barrier);
    emulate_replace(m.module, "llf_tile", (uintptr_t)emulate.shared);
    if (llfi_backend_host.compile(&cx->diag, t, &llfi_malloc_allocator, m.module, &j.code, NULL, NULL) !=
        LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llfi_module_destroy(&m);
    host_jit_load(&j);
    return j;
}

/* What pointwise_nvptx.c makes of a launch: value[0] elements, value[1] vectors. */
static inline void emulate_count_row(const llfi_schedule *s, const int64_t *value)
{
    if (s->skeleton != &llfi_skeleton_pointwise_nvptx || !s->runs)
        return;
    emulate.vector_runs += s->runs > 1 && value[1] >= (int64_t)s->threads * s->runs;
    emulate.element_runs +=
        s->element_runs > 1 && !value[1] && value[0] >= (int64_t)s->threads * s->element_runs;
}

static inline void emulate_count_runs(const llfi_schedule *s, const llfi_launch *l)
{
    emulate_count_row(s, l->value);
    for (uint32_t i = 0; s->parts && i < s->parts->rows; i++)
        emulate_count_row(&s->parts->row[i].schedule, l->computed + s->parts->row[i].computed0);
}

/* One kernel on buffers by node, with the skeletons of the schedule's target. */
static inline void emulate_kernel(llf_context *cx, const llf_graph *g, const llfi_kernel *k,
                                  const llfi_schedule *s, const llfi_target *t, llfi_arena *arena,
                                  const int64_t *symbol, void *const *buffer)
{
    host_jit j = emulate_compile(cx, g, k, s, t, arena);
    int64_t *extent = llfi_arena_alloc(arena, (s->dims + 1) * sizeof *extent);
    const void **data = llfi_arena_alloc(arena, (s->args + 1) * sizeof *data);
    uint64_t *slot = llfi_arena_alloc(arena, (s->args + 1) * sizeof *slot);
    int64_t *computed = llfi_arena_alloc(arena, (s->computed + 1) * sizeof *computed);
    uint32_t buffers = 0;
    assert_true(extent && data && slot && computed);
    for (uint32_t i = 0; i < s->dims; i++)
        assert_true(llfi_dim_eval(g->dims, s->dim[i], symbol, &extent[i]));
    for (uint32_t i = 0; i < s->args; i++)
        if (s->arg[i].kind == LLFI_ARG_BUFFER)
            data[buffers++] = buffer[s->arg[i].ref];
    llfi_launch l = {.extent = extent, .data = data, .computed = computed};
    assert_int_equal(s->skeleton->launch(s, &l), LLF_OK);
    emulate_count_runs(s, &l);
    for (uint32_t i = 0; i < s->args; i++) {
        const llfi_arg *a = &s->arg[i];
        slot[i] = a->kind == LLFI_ARG_BUFFER       ? (uintptr_t)buffer[a->ref]
                  : a->kind == LLFI_ARG_RECIPROCAL ? llfi_reciprocal(extent[a->ref])
                  : a->kind == LLFI_ARG_STRIDE     ? (uint64_t)extent[a->ref]
                  : a->kind == LLFI_ARG_COMPUTED   ? (uint64_t)computed[a->ref]
                  : a->kind == LLFI_ARG_SCALAR     ? *(const uint64_t *)buffer[a->ref]
                                                   : (uint64_t)l.value[a->ref];
    }
    emulate.by_vectors += s->skeleton == &llfi_skeleton_tiled_nvptx && l.value[LLFI_TILED_VECTORS] &&
                          l.grid[0] && s->width > 1 && extent[s->inner] % s->width == 0;
    emulate.run = j.run;
    emulate.slots = (void **)slot;
    if (t->backend->skeletons == llfi_backend_host.skeletons) {
        j.run((void **)slot, 0, l.items);
        host_jit_free(&j);
        return;
    }
    assert_true(l.block[0] <= EMULATE_THREADS);
    if (!emulate.stack)
        assert_non_null(emulate.stack = malloc((size_t)EMULATE_THREADS * EMULATE_STACK));
    for (uint32_t i = 0; i < l.grid[0]; i++)
        emulate_block(l.block[0], i);
    host_jit_free(&j);
}

/* ---- buffers that end where no memory is, within `align` bytes */

typedef struct {
    char *map, *data;
    size_t size, bytes;
} emulate_buffer;

static inline emulate_buffer emulate_alloc(size_t bytes, size_t align)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    emulate_buffer b = {.bytes = bytes, .size = (bytes + 64 + 2 * page - 1) / page * page};
    b.map = mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(b.map != MAP_FAILED);
    assert_int_equal(mprotect(b.map + b.size - page, page, PROT_NONE), 0);
    memset(b.map, 0xa5, b.size - page);
    b.data = (char *)((uintptr_t)(b.map + b.size - page - bytes) / align * align);
    return b;
}

/* Nothing but the data was written. */
static inline void emulate_untouched(const emulate_buffer *b)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (const char *p = b->map; p < b->map + b->size - page; p++)
        if ((p < b->data || p >= b->data + b->bytes) && *p != (char)0xa5)
            fail_msg("written %td bytes from a buffer of %zu", p - b->data, b->bytes);
}

static inline void emulate_free(emulate_buffer *b)
{
    munmap(b->map, b->size);
}

#endif
