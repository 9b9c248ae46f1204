/* Pointwise schedules: widths, arguments, costs, and the grid arithmetic of both targets at the edges. */
#include "lower_graph.h"

static const llfi_skeleton *const nvptx_skeletons[] = {&llfi_skeleton_pointwise_nvptx, NULL};
static const llfi_skeleton *const host_skeletons[] = {&llfi_skeleton_pointwise_host, NULL};
static const llfi_backend nvptx = {.name = "nvptx", .skeletons = nvptx_skeletons};
static const llfi_backend host = {.name = "host", .skeletons = host_skeletons};
static const llfi_target gpu = {.backend = &nvptx, .name = "gpu", .sm = 90, .param_bytes = 4096};
static const llfi_target avx2 = {
    .backend = &host, .name = "cpu", .simd_bytes = 32, .param_bytes = UINT32_MAX};
static const llfi_target avx512 = {
    .backend = &host, .name = "cpu", .simd_bytes = 64, .param_bytes = UINT32_MAX};
static const llfi_target scalar_cpu = {
    .backend = &host, .name = "cpu", .simd_bytes = 0, .param_bytes = UINT32_MAX};

static llf_status schedule(fixture *f, const llfi_target *t, llfi_schedule *s)
{
    llfi_plan plan = {.kernel = &f->kernel, .kernels = 1};
    return llfi_schedule_make(f->cx, f->g, &plan, 0, t, &f->arena, s);
}

/* out = in0 + cast... : `inputs` of dtype t, summed */
static llfi_schedule sum_of(fixture *f, const llfi_target *target, llf_dtype t, int inputs)
{
    char name[16];
    llf_id first = LLF_NONE, v = LLF_NONE;
    for (int i = 0; i < inputs; i++) {
        snprintf(name, sizeof name, "x%d", i);
        llf_id x = input(f, name, t);
        first = i ? first : x;
        v = i ? (t == LLF_BOOL ? llf_ne(f->g, v, x) : llf_add(f->g, v, x)) : llf_copy(f->g, x);
    }
    llfi_schedule s;
    assert_int_equal(llf_output(f->g, v), LLF_OK);
    whole(f, first);
    assert_int_equal(schedule(f, target, &s), LLF_OK);
    return s;
}

static void gpu_vectors_are_16_bytes_of_the_smallest_dtype(void **state)
{
    (void)state;
    const struct {
        llf_dtype t;
        uint32_t width, align;
    } want[] = {{LLF_F32, 4, 16}, {LLF_BF16, 8, 16}, {LLF_F16, 8, 16}, {LLF_F64, 2, 16},
                {LLF_I32, 4, 16}, {LLF_I64, 2, 16},  {LLF_BOOL, 8, 8}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f = fixture_make();
        llfi_schedule s = sum_of(&f, &gpu, want[i].t, 2);
        assert_int_equal(s.width, want[i].width);
        assert_int_equal(s.vector_align, want[i].align);
        assert_int_equal(s.slice, s.width);
        assert_int_equal(s.threads, 128);
        fixture_free(&f);
    }
}

static void mixed_dtypes_stay_within_32_bytes(void **state)
{
    (void)state;
    const struct {
        llf_dtype a, b;
        uint32_t width;
    } want[] = {
        {LLF_BF16, LLF_F32, 8}, {LLF_BF16, LLF_F64, 4}, {LLF_F32, LLF_F64, 4}, {LLF_BOOL, LLF_F32, 8}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", want[i].a), y = llf_cast(f.g, x, want[i].b);
        llfi_schedule s;
        assert_int_equal(llf_output(f.g, y), LLF_OK);
        whole(&f, x);
        assert_int_equal(schedule(&f, &gpu, &s), LLF_OK);
        assert_int_equal(s.width, want[i].width);
        assert_int_equal(s.vector_align, 16);
        fixture_free(&f);
    }
}

static void dear_kernels_and_many_buffers_get_narrow_vectors(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), v = x;
    for (int i = 0; i < 8; i++)
        v = llf_tanh(f.g, v); /* 160 instructions: 4 x 160 is over 512, 2 x 160 is not */
    llfi_schedule s;
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    whole(&f, x);
    assert_int_equal(schedule(&f, &gpu, &s), LLF_OK);
    assert_int_equal(s.width, 2);
    assert_int_equal(s.threads, 128);
    fixture_free(&f);
    f = fixture_make();
    s = sum_of(&f, &gpu, LLF_F32, 31); /* 32 buffers x 4 registers = 128 */
    assert_int_equal(s.width, 4);
    fixture_free(&f);
    f = fixture_make();
    s = sum_of(&f, &gpu, LLF_F32, 32);
    assert_int_equal(s.width, 2);
    fixture_free(&f);
}

/* Dear arithmetic of 4-byte elements stands on half the lanes, in a loop; of 16-bit ones only beside a
 * division, a root, a sine or a cosine. */
static void dear_bodies_are_sliced(void **state)
{
    (void)state;
    const struct {
        llf_dtype t;
        int tanhs, divisions;
        uint32_t width, slice;
    } want[] = {{LLF_F32, 1, 0, 4, 4}, {LLF_F32, 2, 0, 4, 2},  {LLF_F32, 8, 0, 2, 2}, {LLF_BF16, 2, 0, 8, 8},
                {LLF_F64, 2, 0, 2, 2}, {LLF_BF16, 1, 1, 8, 8}, {LLF_F16, 1, 1, 8, 8}, {LLF_BF16, 0, 1, 8, 8}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", want[i].t), v = x;
        for (int k = 0; k < want[i].tanhs; k++)
            v = llf_tanh(f.g, v);
        for (int k = 0; k < want[i].divisions; k++)
            v = llf_div(f.g, v, x);
        llfi_schedule s;
        assert_int_equal(llf_output(f.g, v), LLF_OK);
        whole(&f, x);
        assert_int_equal(schedule(&f, &gpu, &s), LLF_OK);
        assert_int_equal(s.width, want[i].width);
        assert_int_equal(s.slice, want[i].slice);
        fixture_free(&f);
    }
}

static void host_vectors_are_two_registers(void **state)
{
    (void)state;
    const struct {
        const llfi_target *target;
        llf_dtype t;
        uint32_t width;
    } want[] = {{&avx2, LLF_F32, 16},   {&avx2, LLF_BF16, 16},  {&avx2, LLF_F64, 8},      {&avx2, LLF_I64, 8},
                {&avx512, LLF_F32, 32}, {&avx512, LLF_F64, 16}, {&scalar_cpu, LLF_F32, 1}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f = fixture_make();
        llfi_schedule s = sum_of(&f, want[i].target, want[i].t, 2);
        assert_int_equal(s.width, want[i].width);
        fixture_free(&f);
    }
}

static void arguments_stand_in_order_once_each(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id s = llf_scalar(f.g, "s", LLF_BF16), r = llf_input(f.g, "r", LLF_BF16, 0, NULL);
    llf_id x = input(&f, "x", LLF_BF16), y = input(&f, "y", LLF_BF16);
    llf_id a = llf_mul(f.g, llf_add(f.g, y, x), llf_add(f.g, x, r)), b = llf_mul(f.g, a, s);
    llfi_schedule p;
    assert_int_equal(llf_output(f.g, a), LLF_OK);
    assert_int_equal(llf_output(f.g, b), LLF_OK);
    whole(&f, x);
    assert_int_equal(schedule(&f, &gpu, &p), LLF_OK);
    const llfi_arg want[] = {
        {LLFI_ARG_BUFFER, LLF_BF16, r, false, false}, {LLFI_ARG_BUFFER, LLF_BF16, y, false, true},
        {LLFI_ARG_BUFFER, LLF_BF16, x, false, true},  {LLFI_ARG_BUFFER, LLF_BF16, a, true, true},
        {LLFI_ARG_BUFFER, LLF_BF16, b, true, true},   {LLFI_ARG_SCALAR, LLF_BF16, s, false, false},
        {LLFI_ARG_DIM, LLF_I64, 0, false, false},     {LLFI_ARG_DIM, LLF_I64, 1, false, false}};
    assert_int_equal(p.args, LLFI_COUNT(want));
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        assert_int_equal(p.arg[i].kind, want[i].kind);
        assert_int_equal(p.arg[i].dtype, want[i].dtype);
        assert_int_equal(p.arg[i].ref, want[i].ref);
        assert_int_equal(p.arg[i].written, want[i].written);
        assert_int_equal(p.arg[i].vector, want[i].vector);
    }
    assert_false(p.uniform_store);
    assert_int_equal(p.dims, 1);
    fixture_free(&f);
}

static void refusals_say_why(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t two = 2, three = 3;
    llf_id x = llf_input(f.g, "x", LLF_F32, 1, &two), y = llf_input(f.g, "y", LLF_F32, 1, &three);
    llfi_schedule s;
    assert_int_equal(llf_output(f.g, llf_neg(f.g, x)), LLF_OK);
    assert_int_equal(llf_output(f.g, llf_neg(f.g, y)), LLF_OK);
    whole(&f, x);
    assert_int_equal(schedule(&f, &gpu, &s), LLF_E_INTERNAL);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "pointwise: node"));
    assert_non_null(strstr(llf_last_error(f.cx)->message, "another shape"));
    fixture_free(&f);
    f = fixture_make();
    x = input(&f, "x", LLF_F32);
    assert_int_equal(llf_output(f.g, llf_relu(f.g, x)), LLF_OK); /* composites are decomposed before */
    whole(&f, x);
    assert_int_equal(schedule(&f, &gpu, &s), LLF_E_INTERNAL);
    assert_non_null(strstr(llf_last_error(f.cx)->message, "relu is not elementwise"));
    fixture_free(&f);
    f = fixture_make();
    x = input(&f, "x", LLF_F32);
    assert_int_equal(llf_output(f.g, llf_neg(f.g, x)), LLF_OK);
    whole(&f, x);
    llfi_target small = gpu;
    small.param_bytes = 31; /* x, out, n, vectors: 32 bytes */
    assert_int_equal(schedule(&f, &small, &s), LLF_E_LIMIT);
    small.param_bytes = 32;
    assert_int_equal(schedule(&f, &small, &s), LLF_OK);
    fixture_free(&f);
}

static void costs_order_ops_as_hardware_does(void **state)
{
    (void)state;
    assert_int_equal(llfi_op_cost(LLF_OP_ADD, LLF_F32), 1);
    assert_int_equal(llfi_op_cost(LLF_OP_ADD, LLF_BF16), 3);
    assert_int_equal(llfi_op_cost(LLF_OP_INPUT, LLF_BF16), 0);
    assert_true(llfi_op_cost(LLF_OP_DIV, LLF_F32) > llfi_op_cost(LLF_OP_ADD, LLF_F32));
    assert_true(llfi_op_cost(LLF_OP_SIN, LLF_F32) > llfi_op_cost(LLF_OP_EXP, LLF_F32));
    assert_true(llfi_op_cost(LLF_OP_EXP, LLF_F64) >= 60);
}

/* ---- launch: pure arithmetic */

static llf_status launch(const llfi_skeleton *k, llfi_schedule s, int64_t n, const void *const *data,
                         llfi_launch *l)
{
    static const void *const aligned[2] = {(void *)256, (void *)512};
    static llfi_arg arg[2] = {{.kind = LLFI_ARG_BUFFER, .dtype = LLF_F32, .vector = true},
                              {.kind = LLFI_ARG_BUFFER, .dtype = LLF_F32, .written = true, .vector = true}};
    s.skeleton = k;
    s.arg = arg;
    s.args = 2;
    *l = (llfi_launch){.extent = &n, .data = data ? data : aligned};
    return k->launch(&s, l);
}

static void the_grid_covers_vectors_then_elements(void **state)
{
    (void)state;
    const llfi_schedule one = {.threads = 512, .width = 4, .vector_align = 16};
    const llfi_schedule flat = {.threads = 256, .width = 1, .vector_align = 1};
    const int64_t big = (INT64_C(1) << 31) + 5;
    const struct {
        const llfi_schedule *s;
        int64_t n, vectors, grid;
    } want[] = {
        {&one, 0, 0, 0},
        {&one, 1, 0, 1},
        {&one, 3, 0, 1},
        {&one, 4, 1, 1},
        {&one, 5, 1, 1},
        {&one, 2048, 512, 1},
        {&one, 2049, 512, 2},
        {&one, big, INT64_C(536870913), 1048577}, /* 2^29 + 1 vectors and 1 element over 512 */
        {&flat, 256, 0, 1},
        {&flat, 257, 0, 2},
        {&flat, INT64_C(0x7fffffff) * 256, 0, INT64_C(0x7fffffff)},
    };
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        llfi_launch l;
        assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, *want[i].s, want[i].n, NULL, &l), LLF_OK);
        assert_int_equal(l.value[0], want[i].n);
        assert_int_equal(l.value[1], want[i].vectors);
        assert_int_equal(l.grid[0], want[i].grid);
        assert_int_equal(l.grid[1], 1);
        assert_int_equal(l.grid[2], 1);
        assert_int_equal(l.block[0], want[i].s->threads);
        assert_int_equal(l.block[1], 1);
        assert_int_equal(l.shared, 0);
    }
}

static void a_misaligned_buffer_takes_the_element_path(void **state)
{
    (void)state;
    const llfi_schedule s = {.threads = 512, .width = 4, .vector_align = 16};
    for (uintptr_t off = 0; off <= 16; off += 4) {
        for (int which = 0; which < 2; which++) {
            const void *data[2] = {(void *)256, (void *)512};
            data[which] = (const char *)data[which] + off;
            llfi_launch l;
            assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, s, 1000, data, &l), LLF_OK);
            bool vectors = off % 16 == 0;
            assert_int_equal(l.value[1], vectors ? 250 : 0);
            assert_int_equal(l.grid[0], vectors ? 1 : 2);
        }
    }
}

static void what_cannot_be_launched_is_refused(void **state)
{
    (void)state;
    llfi_launch l;
    const llfi_schedule flat = {.threads = 256, .width = 1, .vector_align = 1};
    const llfi_schedule wide = {.threads = 512, .width = 4, .vector_align = 16};
    const void *misaligned[2] = {(void *)260, (void *)512};
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, flat, INT64_C(0x7fffffff) * 256 + 1, NULL, &l),
                     LLF_E_LIMIT);
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, flat, INT64_MAX, NULL, &l), LLF_E_LIMIT);
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, wide, INT64_MAX, NULL, &l), LLF_E_LIMIT);
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, wide, INT64_C(1) << 41, misaligned, &l),
                     LLF_E_LIMIT);
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, wide, INT64_C(1) << 41, NULL, &l), LLF_OK);
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, flat, -1, NULL, &l), LLF_E_ARG);
    assert_int_equal(launch(&llfi_skeleton_pointwise_host, flat, -1, NULL, &l), LLF_E_ARG);
}

static void rank_0_stores_are_launched_without_elements(void **state)
{
    (void)state;
    llfi_launch l;
    const llfi_schedule s = {.threads = 512, .width = 4, .vector_align = 16, .uniform_store = true};
    assert_int_equal(launch(&llfi_skeleton_pointwise_nvptx, s, 0, NULL, &l), LLF_OK);
    assert_int_equal(l.grid[0], 1);
    assert_int_equal(launch(&llfi_skeleton_pointwise_host, s, 0, NULL, &l), LLF_OK);
    assert_int_equal(l.items, 1);
    assert_int_equal(l.value[0], 0);
}

static void host_pieces_shrink_with_cost(void **state)
{
    (void)state;
    llfi_launch l;
    llfi_schedule s = {.threads = 1, .width = 16, .vector_align = 1, .cost = 3};
    assert_int_equal(launch(&llfi_skeleton_pointwise_host, s, 100000, NULL, &l), LLF_OK);
    assert_int_equal(l.items, 100000);
    assert_int_equal(l.grain, 16384);
    assert_int_equal(l.value[0], 100000);
    s.cost = 64;
    assert_int_equal(launch(&llfi_skeleton_pointwise_host, s, 100000, NULL, &l), LLF_OK);
    assert_int_equal(l.grain, 4096);
    s.cost = 100000;
    assert_int_equal(launch(&llfi_skeleton_pointwise_host, s, 0, NULL, &l), LLF_OK);
    assert_int_equal(l.grain, 1024);
    assert_int_equal(l.items, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_vectors_are_16_bytes_of_the_smallest_dtype),
        cmocka_unit_test(mixed_dtypes_stay_within_32_bytes),
        cmocka_unit_test(dear_kernels_and_many_buffers_get_narrow_vectors),
        cmocka_unit_test(dear_bodies_are_sliced),
        cmocka_unit_test(host_vectors_are_two_registers),
        cmocka_unit_test(arguments_stand_in_order_once_each),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(costs_order_ops_as_hardware_does),
        cmocka_unit_test(the_grid_covers_vectors_then_elements),
        cmocka_unit_test(a_misaligned_buffer_takes_the_element_path),
        cmocka_unit_test(what_cannot_be_launched_is_refused),
        cmocka_unit_test(rank_0_stores_are_launched_without_elements),
        cmocka_unit_test(host_pieces_shrink_with_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
