/* Blocks of runs on the GPU: which kernels get them, and the grid arithmetic at the edges. What threads do
 * with them is test_random_emulate's. */
#include "lower_graph.h"

static const llfi_skeleton *const skeletons[] = {&llfi_skeleton_pointwise_nvptx, NULL};
static const llfi_backend nvptx = {.name = "nvptx", .skeletons = skeletons};
static const llfi_target gpu = {.backend = &nvptx, .name = "gpu", .sm = 90, .param_bytes = 4096};

static llfi_schedule schedule(fixture *f, llf_id out)
{
    llfi_schedule s;
    llfi_plan plan = {.kernel = &f->kernel, .kernels = 1};
    if (llf_output(f->g, out) != LLF_OK)
        fail_msg("%s", llf_last_error(f->cx)->message);
    whole(f, out);
    if (llfi_schedule_make(f->cx, f->g, &plan, 0, &gpu, &f->arena, &s) != LLF_OK)
        fail_msg("%s", llf_last_error(f->cx)->message);
    return s;
}

static llf_id tensor(fixture *f, const char *name, llf_dtype t, int64_t a, int64_t b)
{
    const int64_t shape[2] = {a, b};
    return llf_input(f->g, name, t, b ? 2 : 1, shape);
}

static void expect(const llfi_schedule *s, uint32_t width, uint32_t runs, uint32_t element_runs)
{
    assert_int_equal(s->width, width);
    assert_int_equal(s->runs, runs);
    assert_int_equal(s->element_runs, element_runs);
}

/* An index that a whole row shares does not make its vectors narrower: 8 elements of 2 bytes, and two of
 * those in flight. */
static void rows_by_index_take_two_vectors(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t v = llf_symbol(f.g, "V"), t = llf_symbol(f.g, "T");
    llf_id x = tensor(&f, "x", LLF_BF16, v, 4096), i = tensor(&f, "i", LLF_I64, t, 0);
    llfi_schedule s = schedule(&f, llf_neg(f.g, llf_take(f.g, x, i, 0)));
    expect(&s, 8, 2, 4);
    assert_int_equal(s.vector_align, 16);
    fixture_free(&f);
}

static void linear_and_dear_kernels_have_none(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llfi_schedule s = schedule(&f, llf_neg(f.g, input(&f, "x", LLF_F32)));
    expect(&s, 4, 0, 0);
    fixture_free(&f);
    f = fixture_make();
    int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N");
    llf_id x = llf_add(f.g, tensor(&f, "x", LLF_F32, b, n), tensor(&f, "w", LLF_F32, n, 0));
    for (int i = 0; i < 4; i++)
        x = llf_tanh(f.g, x);
    s = schedule(&f, x);
    assert_int_equal(s.runs, 0);
    assert_int_equal(s.element_runs, 0);
    fixture_free(&f);
}

/* Two 16-byte loads before arithmetic that keeps the next ones waiting are too few; four are not. */
static void dear_broadcasts_have_two_runs(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        fixture f = fixture_make();
        int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N");
        llf_id x = llf_add(f.g, tensor(&f, "x", LLF_BF16, b, n), tensor(&f, "w", LLF_BF16, n, 0));
        x = llf_exp(f.g, llf_exp(f.g, x));
        for (int i = 0; i < 2 * more; i++)
            x = llf_add(f.g, x, tensor(&f, i ? "y" : "z", LLF_BF16, b, n));
        llfi_schedule s = schedule(&f, x);
        assert_int_equal(s.runs, more ? 0 : 2);
        fixture_free(&f);
    }
}

/* A broadcast has 16 bytes on their way before it divides; single elements are too few. */
static void broadcasts_have_runs_of_elements(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", LLF_F32, b, n), w = tensor(&f, "w", LLF_F32, n, 0);
    llfi_schedule s = schedule(&f, llf_add(f.g, x, w));
    expect(&s, 4, 1, 4);
    fixture_free(&f);
    f = fixture_make(); /* rows of odd length have no vectors at all */
    x = tensor(&f, "x", LLF_F32, llf_symbol(f.g, "B"), 225), w = tensor(&f, "w", LLF_F32, 225, 0);
    s = schedule(&f, llf_add(f.g, x, w));
    expect(&s, 1, 1, 4);
    fixture_free(&f);
}

/* Eight runs of 64-bit indices, the single elements chosen and those of another tensor are 128 registers at
 * most; with 34 registers a run, of vectors, there is one. */
static void registers_bound_runs(void **state)
{
    (void)state;
    const struct {
        llf_dtype t;
        uint32_t width, runs;
    } want[] = {{LLF_F32, 4, 8}, {LLF_F64, 2, 8}, {LLF_BF16, 4, 8}};
    for (size_t k = 0; k < LLFI_COUNT(want); k++) {
        fixture f = fixture_make();
        int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N"), m = llf_symbol(f.g, "M");
        llf_id x = tensor(&f, "x", want[k].t, b, n), i = tensor(&f, "i", LLF_I64, m, 0);
        llf_id v = llf_take(f.g, x, i, 1);
        llfi_schedule s = schedule(&f, llf_add(f.g, v, tensor(&f, "y", want[k].t, b, m)));
        assert_int_equal(s.width, want[k].width);
        assert_int_equal(s.runs, want[k].runs);
        fixture_free(&f);
    }
    fixture f = fixture_make(); /* 4 + 7 x 4 = 32 words and an index of 2: 34 a run, two are more than 64 */
    llf_id x = tensor(&f, "x", LLF_F32, llf_symbol(f.g, "V"), 4096);
    llf_id v = llf_take(f.g, x, tensor(&f, "i", LLF_I64, llf_symbol(f.g, "T"), 0), 0);
    for (int k = 0; k < 7; k++)
        v = llf_add(f.g, v, tensor(&f, (char[]){(char)('a' + k), 0}, LLF_F32, llf_symbol(f.g, "T"), 4096));
    llfi_schedule s = schedule(&f, v);
    expect(&s, 4, 1, 4);
    fixture_free(&f);
}

/* ---- launch */

static llf_status launch(llfi_schedule s, int64_t n, uintptr_t data, llfi_launch *l)
{
    static llfi_arg arg = {.kind = LLFI_ARG_BUFFER, .dtype = LLF_F32, .written = true, .vector = true};
    const void *const at = (void *)data;
    s.arg = &arg;
    s.args = 1;
    *l = (llfi_launch){.extent = &n, .data = &at};
    return llfi_skeleton_pointwise_nvptx.launch(&s, l);
}

/* Sets of 1024 elements by vectors, of 512 by elements; the rest in blocks of 128. */
static void the_grid_covers_sets_then_elements(void **state)
{
    (void)state;
    const llfi_schedule s = {
        .threads = 128, .width = 4, .slice = 4, .vector_align = 16, .runs = 2, .element_runs = 4};
    const struct {
        int64_t n, vectors, by_vectors, by_elements; /* blocks where buffers are aligned, and where not */
    } want[] = {
        {0, 0, 0, 0},
        {1, 0, 1, 1},
        {3, 0, 1, 1},
        {127, 31, 1, 1},
        {128, 32, 1, 1},
        {129, 32, 2, 2},
        {511, 127, 4, 4},
        {512, 128, 4, 1},
        {513, 128, 5, 2},
        {640, 160, 5, 2},
        {641, 160, 6, 3},
        {1023, 255, 8, 5},
        {1024, 256, 1, 2},
        {1025, 256, 2, 3},
        {1027, 256, 2, 3},
        {1028, 257, 2, 3},
        {1152, 288, 2, 3},
        {1153, 288, 3, 4},
        {2047, 511, 9, 7},
        {2048, 512, 2, 4},
        {INT64_C(512) * 0x7fffffff, INT64_C(128) * 0x7fffffff, 0x3fffffff + 4, 0x7fffffff},
    };
    for (size_t i = 0; i < LLFI_COUNT(want); i++)
        for (int aligned = 0; aligned < 2; aligned++) {
            llfi_launch l;
            assert_int_equal(launch(s, want[i].n, aligned ? 256 : 260, &l), LLF_OK);
            assert_int_equal(l.value[0], want[i].n);
            assert_int_equal(l.value[1], aligned ? want[i].vectors : 0);
            assert_int_equal(l.grid[0], aligned ? want[i].by_vectors : want[i].by_elements);
            assert_int_equal(l.block[0], 128);
        }
}

static void scalar_schedules_have_sets_of_elements(void **state)
{
    (void)state;
    const llfi_schedule s = {
        .threads = 128, .width = 1, .slice = 1, .vector_align = 1, .runs = 1, .element_runs = 4};
    const int64_t want[][2] = {{0, 0}, {1, 1}, {128, 1}, {129, 2}, {511, 4}, {512, 1}, {513, 2}, {1024, 2}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        llfi_launch l;
        assert_int_equal(launch(s, want[i][0], 4, &l), LLF_OK);
        assert_int_equal(l.grid[0], want[i][1]);
        assert_int_equal(l.value[1], 0);
    }
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    llfi_launch l;
    const llfi_schedule s = {
        .threads = 128, .width = 4, .slice = 4, .vector_align = 16, .runs = 2, .element_runs = 4};
    const int64_t most = INT64_C(1024) * 0x7fffffff, elements = INT64_C(512) * 0x7fffffff;
    assert_int_equal(launch(s, most, 256, &l), LLF_OK);
    assert_int_equal(l.grid[0], 0x7fffffff);
    assert_int_equal(launch(s, most + 1, 256, &l), LLF_E_LIMIT);
    assert_int_equal(launch(s, most, 260, &l), LLF_E_LIMIT);
    assert_int_equal(launch(s, elements, 260, &l), LLF_OK);
    assert_int_equal(launch(s, elements + 1, 260, &l), LLF_E_LIMIT);
    assert_int_equal(launch(s, INT64_MAX, 256, &l), LLF_E_LIMIT);
    assert_int_equal(launch(s, -1, 256, &l), LLF_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_index_take_two_vectors),
        cmocka_unit_test(linear_and_dear_kernels_have_none),
        cmocka_unit_test(dear_broadcasts_have_two_runs),
        cmocka_unit_test(broadcasts_have_runs_of_elements),
        cmocka_unit_test(registers_bound_runs),
        cmocka_unit_test(the_grid_covers_sets_then_elements),
        cmocka_unit_test(scalar_schedules_have_sets_of_elements),
        cmocka_unit_test(what_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
