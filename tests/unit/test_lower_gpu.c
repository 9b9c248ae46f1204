/* test_lower_gpu.c: what threads of a GPU have in common (lower/gpu.h): emulated lane by lane
 * (gpu_emulate.h), and as PTX, which ptxas takes and in which the fences stand where the last block needs
 * them. */
#include "runtime_util.h"

#include "gpu_emulate.h"
#include "lower/gpu.h"

#include "nvptx_module.h"

/* ---- emulated */

typedef LLVMValueRef make_fn(llfi_emit *, LLVMValueRef x);

/* out[thread of the grid] = make(in[it]), both i64; slot 2: a counter. */
static host_jit compile(make_fn *make, LLVMTypeRef (*type)(const llfi_emit *), uint32_t threads)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target t;
    const llfi_backend backend = emulate_backend();
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    t.backend = &backend;
    llfi_arena arena;
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    llfi_arg arg[3] = {{.kind = LLFI_ARG_BUFFER, .dtype = LLF_I64},
                       {.kind = LLFI_ARG_BUFFER, .dtype = LLF_I64},
                       {.kind = LLFI_ARG_COUNTER, .dtype = LLF_I64}};
    LLVMValueRef value[3];
    llfi_schedule schedule = {.arg = arg, .args = 3, .width = 1};
    LLVMContextRef lx = LLVMContextCreate();
    llfi_site site = {.schedule = &schedule, .name = "kernel", .arena = &arena, .arg = value};
    llfi_emit *e = &site.emit;
    host_jit_types(e, lx, &t, 1);
    e->diag = &cx->diag;
    e->module = LLVMModuleCreateWithNameInContext("kernel", lx);
    e->b = LLVMCreateBuilderInContext(lx);
    assert_int_equal(emulate_begin(&site), LLF_OK);
    LLVMValueRef at = LLVMBuildMul(e->b, llfi_gpu_block(e), LLVMConstInt(e->i32, threads, 0), "");
    at = LLVMBuildZExt(e->b, LLVMBuildAdd(e->b, at, llfi_gpu_thread(e), ""), e->i64, "");
    LLVMValueRef in = LLVMBuildGEP2(e->b, e->i64, value[0], &at, 1, "");
    LLVMValueRef out = LLVMBuildGEP2(e->b, e->i64, value[1], &at, 1, "");
    LLVMValueRef x = LLVMBuildLoad2(e->b, type ? type(e) : e->i64, in, "");
    x = make(e, type ? x : value[2]);
    assert_non_null(x);
    LLVMBuildStore(e->b, x, out);
    LLVMBuildRetVoid(e->b);
    host_jit j = {0};
    llfi_str_init(&j.llvm_opt, &llfi_malloc_allocator);
    llfi_str_init(&j.assembly, &llfi_malloc_allocator);
    emulate_replace_all(e->module);
    if (llfi_backend_host.compile(&cx->diag, &t, &llfi_malloc_allocator, e->module, &j.code, NULL, NULL) !=
        LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    LLVMDisposeBuilder(e->b);
    LLVMDisposeModule(e->module);
    LLVMContextDispose(lx);
    llfi_arena_destroy(&arena);
    llf_context_destroy(cx);
    host_jit_load(&j);
    return j;
}

enum { MOST = 512 };
static uint64_t input[MOST], output[MOST], counter[1];

static void run(make_fn *make, LLVMTypeRef (*type)(const llfi_emit *), uint32_t blocks, uint32_t threads)
{
    host_jit j = compile(make, type, threads);
    void *slot[3] = {input, output, counter};
    assert_true(blocks * threads <= MOST);
    emulate.run = j.run;
    emulate.slots = slot;
    emulate_grid(blocks, threads, 0);
    host_jit_free(&j);
}

static LLVMTypeRef as_i64(const llfi_emit *e)
{
    return e->i64;
}
static LLVMTypeRef as_i32(const llfi_emit *e)
{
    return e->i32;
}
static LLVMTypeRef as_i1(const llfi_emit *e)
{
    return e->i1;
}
static LLVMTypeRef as_f32(const llfi_emit *e)
{
    return e->f32;
}
static LLVMTypeRef as_f64(const llfi_emit *e)
{
    return e->f64;
}

static LLVMValueRef xor_5(llfi_emit *e, LLVMValueRef x)
{
    return llfi_gpu_lane_xor(e, x, 5);
}

/* Twice, so that a value that is overwritten too early shows. */
static LLVMValueRef lane_7_then_3(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef a = llfi_gpu_lane_of(e, x, LLVMConstInt(e->i32, 7, 0));
    LLVMValueRef b = llfi_gpu_lane_of(e, LLVMBuildAdd(e->b, x, a, ""), LLVMConstInt(e->i32, 3, 0));
    return LLVMBuildSub(e->b, b, a, "");
}

static void lanes_see_one_another(void **state)
{
    (void)state;
    static const struct {
        LLVMTypeRef (*type)(const llfi_emit *);
        uint64_t mask;
    } types[] = {
        {as_i64, UINT64_MAX}, {as_f64, UINT64_MAX}, {as_i32, UINT32_MAX}, {as_f32, UINT32_MAX}, {as_i1, 1}};
    for (size_t k = 0; k < LLFI_COUNT(types); k++) {
        for (uint32_t i = 0; i < 96; i++) {
            input[i] = ((i * 0x9e3779b97f4a7c15u) ^ i) & types[k].mask;
            output[i] = 0;
        }
        run(xor_5, types[k].type, 1, 96);
        for (uint32_t i = 0; i < 96; i++)
            if (output[i] != input[i ^ 5])
                fail_msg("type %zu, thread %u: %llx, not %llx", k, i, (unsigned long long)output[i],
                         (unsigned long long)input[i ^ 5]);
    }
    for (uint32_t i = 0; i < 64; i++)
        input[i] = i * i;
    run(lane_7_then_3, as_i64, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(output[i], input[i / 32 * 32 + 3]);
}

static LLVMValueRef last_of_4(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef last = llfi_gpu_is_last(e, x, LLVMConstInt(e->i32, 4, 0));
    return LLVMBuildZExt(e->b, last, e->i64, "");
}

static void one_block_is_the_last(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) { /* the counter is used again */
        bool backwards = emulate.backwards;
        run(last_of_4, NULL, 4, 64);
        assert_int_equal(counter[0], 0);
        for (uint32_t i = 0; i < 4 * 64; i++)
            assert_int_equal(output[i], i / 64 == (backwards ? 0 : 3));
    }
}

/* Each thread writes its number, and reads its neighbour's. */
static LLVMValueRef through_shared(llfi_emit *e, LLVMValueRef x, bool block)
{
    LLVMValueRef thread = llfi_gpu_thread(e), one = LLVMConstInt(e->i32, 1, 0);
    LLVMValueRef at = LLVMBuildGEP2(e->b, e->i64, llfi_gpu_shared(e), &thread, 1, "");
    LLVMBuildStore(e->b, x, at);
    assert_int_equal(block ? llfi_gpu_barrier(e) : llfi_gpu_warp_barrier(e), LLF_OK);
    LLVMValueRef other = LLVMBuildXor(e->b, thread, block ? LLVMConstInt(e->i32, 63, 0) : one, "");
    return LLVMBuildLoad2(e->b, e->i64, LLVMBuildGEP2(e->b, e->i64, llfi_gpu_shared(e), &other, 1, ""), "");
}
static LLVMValueRef by_block(llfi_emit *e, LLVMValueRef x)
{
    return through_shared(e, x, true);
}
static LLVMValueRef by_warp(llfi_emit *e, LLVMValueRef x)
{
    return through_shared(e, x, false);
}

static void barriers_let_nobody_pass(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 64; i++)
        input[i] = i * 3;
    run(by_block, as_i64, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(output[i], input[i ^ 63]);
    run(by_warp, as_i64, 1, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(output[i], input[i ^ 1]);
}

/* ---- as PTX */

#ifdef LLFUSE_CUDA
/* Where `what` stands in the text; fails when it does not. */
static size_t place(const char *text, size_t from, const char *what)
{
    const char *at = strstr(text + from, what);
    if (!at)
        fail_msg("no %s in\n%s", what, text + from);
    return (size_t)(at - text);
}

static void the_last_block_is_fenced(const char *target, const char *cpu)
{
    nvptx_module m;
    llfi_code code;
    char said[4000];
    nvptx_open(&m, target);
    llfi_emit *e = &m.site.emit;
    LLVMValueRef x = LLVMBuildLoad2(e->b, e->f64, m.value[0], "");
    LLVMBuildStore(e->b, llfi_gpu_lane_xor(e, x, 16), llfi_gpu_shared(e));
    LLVMValueRef last = llfi_gpu_is_last(e, m.value[1], LLVMConstInt(e->i32, 7, 0));
    assert_int_equal(llfi_gpu_warp_barrier(e), LLF_OK);
    LLVMBuildStore(e->b, LLVMBuildZExt(e->b, last, e->i64, ""), m.value[1]);
    LLVMBuildRetVoid(e->b);
    if (nvptx_compile(&m, &code) != LLF_OK)
        fail_msg("%s", m.cx->diag.message);
    size_t at = place(code.code, 0, "bar.sync");
    at = place(code.code, at, "fence.acq_rel.gpu");
    at = place(code.code, at, "atom");
    at = place(code.code, at, "fence.acq_rel.gpu");
    place(code.code, at, "bar.sync");
    assert_int_equal(nvptx_count(code.code, "bar.sync"), 2);
    assert_int_equal(nvptx_count(code.code, "shfl.sync.bfly.b32"), 2);
    assert_int_equal(nvptx_count(code.code, "bar.warp.sync"), 1);
    assert_int_equal(nvptx_count(code.code, ".extern .shared .align 16 .b8 llf_shared[]"), 1);
    nvptx_assemble(cpu, code.code, said, sizeof said);
    if (strstr(said, "error") || (said[0] && !strstr(said, "0 bytes spill stores")))
        fail_msg("%s\n%s", said, code.code);
    llfi_free(&m.cx->mem, code.code, code.bytes + 1);
    nvptx_close(&m);
}

static void as_ptx(void **state)
{
    (void)state;
    the_last_block_is_fenced("nvptx:sm_75", "sm_75");
    the_last_block_is_fenced("nvptx:sm_80", "sm_80");
    the_last_block_is_fenced("nvptx:sm_90a", "sm_90a");
}

/* Other atomics have no fences of ours, or no instruction. */
static void other_atomics_are_refused(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        nvptx_module m;
        llfi_code code;
        nvptx_open(&m, "nvptx:sm_90a");
        llfi_emit *e = &m.site.emit;
        LLVMValueRef one = LLVMConstInt(k == 2 ? e->i64 : e->i32, 1, 0);
        LLVMBuildAtomicRMW(e->b, k == 1 ? LLVMAtomicRMWBinOpXchg : LLVMAtomicRMWBinOpAdd, m.value[1], one,
                           k ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingAcquireRelease, 0);
        LLVMBuildRetVoid(e->b);
        assert_int_equal(nvptx_compile(&m, &code), LLF_E_LLVM);
        nvptx_close(&m);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_see_one_another),
        cmocka_unit_test(one_block_is_the_last),
        cmocka_unit_test(barriers_let_nobody_pass),
#ifdef LLFUSE_CUDA
        cmocka_unit_test(as_ptx),
        cmocka_unit_test(other_atomics_are_refused),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
