/* gpu_emulate.h: runs what the skeletons of nvptx emit without a GPU: the same LLVM IR, compiled for the host
 * with the host's arithmetic; threads of a block are coroutines that change at barriers, of the block or a
 * warp, and shuffles; blocks follow one another, shared memory is poisoned before each. It sees wrong
 * addresses, missing barriers (threads run one by one up to the next one), threads that miss one, and warps
 * that do not shuffle as a whole; it does not see what a real GPU does at once. */
#ifndef GPU_EMULATE_H
#define GPU_EMULATE_H

#include "host_jit.h"
#include "lower/tiled.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* Sanitizers do not take jumps between stacks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EMULATE_CONTEXTS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EMULATE_CONTEXTS
#endif
#endif

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
    &llfi_skeleton_columns_nvptx, &llfi_skeleton_rows_nvptx,      &llfi_skeleton_parts_nvptx,
    &llfi_skeleton_tiled_nvptx,   &llfi_skeleton_pointwise_nvptx, NULL};

static inline llfi_backend emulate_backend(void)
{
    return (llfi_backend){.name = "host",
                          .lowering = llfi_backend_host.lowering,
                          .skeletons = emulate_skeletons,
                          .begin = emulate_begin,
                          .begin_part = emulate_begin_part,
                          .compile = llfi_backend_host.compile};
}

/* What a thread waits for. */
typedef enum { EMULATE_RUNS, EMULATE_WARP, EMULATE_BLOCK, EMULATE_DONE } emulate_state;

static struct {
    ucontext_t home, thread[EMULATE_THREADS];
#ifndef EMULATE_CONTEXTS
    jmp_buf back, at[EMULATE_THREADS];
#endif
    char *stack;
    emulate_state state[EMULATE_THREADS];
    uint32_t tid, ctaid;
    uint32_t by_vectors;                /* launches of tiles that went that road */
    uint32_t vector_runs, element_runs; /* launches with blocks of such runs, several a thread */
    uint32_t split;                     /* launches whose blocks finish one another's work */
    bool backwards;                     /* the last block runs first */
    struct {
        uint32_t word, at;
    } shown[2][EMULATE_THREADS]; /* by turn: what a thread shows the other lanes, at which of its turns */
    uint32_t turn[EMULATE_THREADS];
    _Alignas(16) unsigned char shared[65536];
    size_t shared_bytes; /* that the launch asked for; the rest is not to be touched */
    uint32_t block_word;
    void (*run)(void **slots, int64_t, int64_t);
    void **slots;
} emulate;

#ifdef EMULATE_CONTEXTS
static void emulate_leave(uint32_t tid)
{
    swapcontext(&emulate.thread[tid], &emulate.home);
}

static void emulate_enter(uint32_t tid, bool fresh)
{
    (void)fresh;
    swapcontext(&emulate.home, &emulate.thread[tid]);
}
#else
/* Without the two system calls of swapcontext. */
__attribute__((noinline)) static void emulate_leave(uint32_t tid)
{
    if (!_setjmp(emulate.at[tid]))
        _longjmp(emulate.back, 1);
}

__attribute__((noinline)) static void emulate_enter(uint32_t tid, bool fresh)
{
    if (_setjmp(emulate.back))
        return;
    if (fresh)
        setcontext(&emulate.thread[tid]);
    _longjmp(emulate.at[tid], 1);
}
#endif

static int32_t emulate_tid(void)
{
    return (int32_t)emulate.tid;
}

static int32_t emulate_ctaid(void)
{
    return (int32_t)emulate.ctaid;
}

static void emulate_wait(emulate_state what)
{
    uint32_t tid = emulate.tid;
    emulate.state[tid] = what;
    emulate_leave(tid);
}

static void emulate_barrier(int32_t all)
{
    (void)all;
    emulate_wait(EMULATE_BLOCK);
}

static void emulate_full(int32_t mask)
{
    if (mask != -1)
        fail_msg("block %u, thread %u: lanes %x of a warp alone", emulate.ctaid, emulate.tid, (unsigned)mask);
}

static void emulate_warp_barrier(int32_t mask)
{
    emulate_full(mask);
    emulate_wait(EMULATE_WARP);
}

/* Two words in turn: lanes that go on do not hide what others have yet to read. */
static int32_t emulate_exchange(int32_t mask, int32_t x, uint32_t lane)
{
    uint32_t tid = emulate.tid, at = ++emulate.turn[tid], other = tid / 32 * 32 + lane % 32;
    emulate_full(mask);
    emulate.shown[at % 2][tid].word = (uint32_t)x;
    emulate.shown[at % 2][tid].at = at;
    emulate_wait(EMULATE_WARP);
    if (emulate.shown[at % 2][other].at != at)
        fail_msg("block %u: threads %u and %u are not at the same shuffle", emulate.ctaid, tid, other);
    return (int32_t)emulate.shown[at % 2][other].word;
}

static int32_t emulate_shuffle_xor(int32_t mask, int32_t x, int32_t by, int32_t clamp)
{
    assert_int_equal(clamp, 31);
    return emulate_exchange(mask, x, emulate.tid % 32 ^ (uint32_t)by);
}

static int32_t emulate_shuffle_lane(int32_t mask, int32_t x, int32_t lane, int32_t clamp)
{
    assert_int_equal(clamp, 31);
    return emulate_exchange(mask, x, (uint32_t)lane);
}

static void emulate_thread(void)
{
    uint32_t tid = emulate.tid;
    emulate.run(emulate.slots, 0, 0);
    emulate.state[tid] = EMULATE_DONE;
    emulate_leave(tid);
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

/* Threads [from, to) go on when all of them wait for the same. False: they do not. */
static bool emulate_release(uint32_t from, uint32_t to, emulate_state what)
{
    for (uint32_t i = from; i < to; i++)
        if (emulate.state[i] != what)
            return false;
    for (uint32_t i = from; i < to; i++)
        emulate.state[i] = EMULATE_RUNS;
    return true;
}

/* Who goes on; false: all have ended. A warp that waits for lanes that have ended, or a barrier that some
 * threads do not come to, never ends. */
static bool emulate_go_on(uint32_t threads)
{
    bool any = false, done = true;
    for (uint32_t i = 0; i < threads; i += 32)
        any = emulate_release(i, i + 32 < threads ? i + 32 : threads, EMULATE_WARP) || any;
    if (any)
        return true;
    for (uint32_t i = 0; i < threads; i++)
        done = done && emulate.state[i] == EMULATE_DONE;
    if (!done && !emulate_release(0, threads, EMULATE_BLOCK)) {
        uint32_t i = 1;
        while (i < threads && emulate.state[i] == emulate.state[0])
            i++;
        fail_msg(
            "block %u: threads wait for one another (1 warp, 2 block, 3 ended): thread 0 %d, thread %u %d",
            emulate.ctaid, (int)emulate.state[0], i, (int)emulate.state[i % threads]);
    }
    return !done;
}

/* Threads of block `ctaid`, one after another up to where they wait, until all have ended. Odd turns run
 * them backwards. */
static void emulate_block(uint32_t threads, uint32_t ctaid)
{
    memset(emulate.shared, 0xa5, sizeof emulate.shared);
    emulate.block_word = 0xa5a5a5a5;
    emulate.ctaid = ctaid;
    for (uint32_t i = 0; i < threads; i++) {
        emulate_start(&emulate.thread[i], emulate.stack + (size_t)i * EMULATE_STACK);
        emulate.state[i] = EMULATE_RUNS;
        emulate.turn[i] = 0;
    }
    memset(emulate.shown, 0, sizeof emulate.shown);
    uint32_t turn = 0;
    do {
        for (uint32_t k = 0; k < threads; k++) {
            uint32_t i = turn % 2 ? threads - 1 - k : k;
            emulate.tid = i;
            if (emulate.state[i] == EMULATE_RUNS)
                emulate_enter(i, turn == 0);
        }
        turn++;
    } while (emulate_go_on(threads));
    for (size_t i = emulate.shared_bytes; emulate.shared_bytes && i < sizeof emulate.shared; i++)
        if (emulate.shared[i] != 0xa5)
            fail_msg("block %u: byte %zu of %zu bytes of shared memory is written", ctaid, i,
                     emulate.shared_bytes);
}

/* One launch after another goes through its blocks forwards, then backwards. */
static inline void emulate_grid(uint32_t blocks, uint32_t threads, uint32_t shared)
{
    assert_true(threads <= EMULATE_THREADS && shared <= 49152);
    emulate.shared_bytes = shared;
    if (!emulate.stack)
        assert_non_null(emulate.stack = malloc((size_t)EMULATE_THREADS * EMULATE_STACK));
    for (uint32_t i = 0; i < blocks; i++)
        emulate_block(threads, emulate.backwards ? blocks - 1 - i : i);
    emulate.backwards = !emulate.backwards;
}

static inline void emulate_replace(LLVMModuleRef m, const char *name, uintptr_t address)
{
    bool shared =
        strcmp(name, "llf_tile") == 0 || strcmp(name, "llf_shared") == 0 || strcmp(name, "llf_word") == 0;
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

/* What only a GPU has. */
static inline void emulate_replace_all(LLVMModuleRef m)
{
    emulate_replace(m, "llvm.nvvm.read.ptx.sreg.tid.x", (uintptr_t)emulate_tid);
    emulate_replace(m, "llvm.nvvm.read.ptx.sreg.ctaid.x", (uintptr_t)emulate_ctaid);
    emulate_replace(m, "llvm.nvvm.barrier.cta.sync.aligned.all", (uintptr_t)emulate_barrier);
    emulate_replace(m, "llvm.nvvm.barrier0", (uintptr_t)emulate_barrier);
    emulate_replace(m, "llvm.nvvm.bar.warp.sync", (uintptr_t)emulate_warp_barrier);
    emulate_replace(m, "llvm.nvvm.shfl.sync.bfly.i32", (uintptr_t)emulate_shuffle_xor);
    emulate_replace(m, "llvm.nvvm.shfl.sync.idx.i32", (uintptr_t)emulate_shuffle_lane);
    emulate_replace(m, "llf_tile", (uintptr_t)emulate.shared);
    emulate_replace(m, "llf_shared", (uintptr_t)emulate.shared);
    emulate_replace(m, "llf_word", (uintptr_t)&emulate.block_word);
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
    emulate_replace_all(m.module);
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
    emulate_buffer scratch = emulate_alloc((size_t)l.scratch, 256);
    emulate_buffer counter = emulate_alloc((size_t)l.counters * 4, 4);
    memset(counter.data, 0, counter.bytes);
    for (uint32_t i = 0; i < s->args; i++) {
        const llfi_arg *a = &s->arg[i];
        slot[i] = a->kind == LLFI_ARG_BUFFER       ? (uintptr_t)buffer[a->ref]
                  : a->kind == LLFI_ARG_RECIPROCAL ? llfi_reciprocal(extent[a->ref])
                  : a->kind == LLFI_ARG_STRIDE     ? (uint64_t)extent[a->ref]
                  : a->kind == LLFI_ARG_COMPUTED   ? (uint64_t)computed[a->ref]
                  : a->kind == LLFI_ARG_SCALAR     ? *(const uint64_t *)buffer[a->ref]
                  : a->kind == LLFI_ARG_SCRATCH    ? (uintptr_t)scratch.data
                  : a->kind == LLFI_ARG_COUNTER    ? (uintptr_t)counter.data
                                                   : (uint64_t)l.value[a->ref];
    }
    emulate.by_vectors += s->skeleton == &llfi_skeleton_tiled_nvptx && l.value[LLFI_TILED_VECTORS] &&
                          l.grid[0] && s->width > 1 && extent[s->inner] % s->width == 0;
    emulate.run = j.run;
    emulate.slots = (void **)slot;
    if (t->backend->skeletons == llfi_backend_host.skeletons) {
        j.run((void **)slot, 0, l.items);
    } else {
        emulate_grid(l.grid[0], l.block[0], l.shared);
        emulate.split += l.counters > 0;
    }
    for (size_t i = 0; i < counter.bytes; i++)
        if (counter.data[i])
            fail_msg("counter %zu is left", i / 4);
    emulate_untouched(&scratch);
    emulate_untouched(&counter);
    emulate_free(&scratch);
    emulate_free(&counter);
    host_jit_free(&j);
}

#endif
