/* Demands under index maps: which axes are left, how wide indices are, what is shared, what is refused. */
#include "limits.h"
#include "lower_graph.h"

#include <stdlib.h>

static llfi_demands make(fixture *f)
{
    llfi_demands d;
    assert_int_equal(llfi_demands_make(f->g, &f->kernel, &f->arena, &d), LLF_OK);
    return d;
}

/* Only what computes is a member: views are in no kernel. */
static void kernel(fixture *f, llf_id out)
{
    assert_int_equal(llf_output(f->g, out), LLF_OK);
    whole(f, out);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->kernel.members; i++)
        if (llfi_ops[llfi_node_at(f->g, f->kernel.member[i])->op].cls == LLFI_CLASS_EW)
            f->kernel.member[kept++] = f->kernel.member[i];
    f->kernel.members = kept;
}

static llf_id tensor(fixture *f, const char *name, int64_t a, int64_t b)
{
    return llf_input(f->g, name, LLF_F32, 2, (int64_t[]){a, b});
}

static void a_bias_leaves_two_axes_and_equal_shapes_one(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", b, n), w = llf_input(f.g, "w", LLF_F32, 1, &n);
    kernel(&f, llf_add(f.g, x, w));
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 3);
    assert_int_equal(d.at[0].offset, LLFI_OFFSET_LINEAR);
    assert_true(d.at[1].offset != LLFI_OFFSET_LINEAR);
    assert_int_equal(d.space.axes, 2);
    assert_int_equal(d.space.used, 2); /* the row is not asked for */
    assert_int_equal(d.dims, 1);       /* N */
    assert_int_equal(llfi_access_of(f.g, &d, 1, 4, true, NULL), LLFI_ACCESS_VECTOR);
    fixture_free(&f);
    f = fixture_make();
    b = llf_symbol(f.g, "B");
    n = llf_symbol(f.g, "N");
    x = tensor(&f, "x", b, n);
    kernel(&f, llf_add(f.g, x, tensor(&f, "y", b, n)));
    d = make(&f);
    assert_int_equal(d.space.axes, 1);
    assert_int_equal(d.forms, 0);
    fixture_free(&f);
}

/* x[B, H, N] + r[B, 1, 1]: H and N are one axis for both. */
static void axes_that_all_take_as_one_are_one(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t s[] = {llf_symbol(f.g, "B"), llf_symbol(f.g, "H"), llf_symbol(f.g, "N")};
    llf_id x = llf_input(f.g, "x", LLF_F32, 3, s),
           r = llf_input(f.g, "r", LLF_F32, 3, (int64_t[]){s[0], 1, 1});
    kernel(&f, llf_add(f.g, x, r));
    llfi_demands d = make(&f);
    assert_int_equal(d.space.axes, 2);
    assert_int_equal(d.space.used, 1);
    assert_int_equal(llfi_access_of(f.g, &d, 1, 4, true, NULL), LLFI_ACCESS_SPLAT);
    fixture_free(&f);
}

static void reshapes_of_whole_tensors_stay_linear(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t b = llf_symbol(f.g, "B"), n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", b, n), y = tensor(&f, "y", b, n);
    llf_id flat = llf_reshape(f.g, y, 1, (int64_t[]){LLF_INFER});
    llf_id back = llf_reshape(f.g, llf_neg(f.g, flat), 2, (int64_t[]){b, n});
    kernel(&f, llf_add(f.g, x, back)); /* the negation is recomputed here, in another shape */
    llfi_demands d = make(&f);
    assert_int_equal(d.forms, 0);
    assert_int_equal(d.space.axes, 1);
    fixture_free(&f);
}

/* Indices are 32 bits wide exactly where no element, offset or quotient can pass 2^31 - 1. */
static void indices_are_wide_where_they_must_be(void **state)
{
    (void)state;
    const struct {
        int64_t rows, columns;
        bool narrow;
    } want[] = {{32, 1000, true}, {32767, 65536, true}, {32768, 65536, false}, {1, 3000000000, false}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f = fixture_make();
        llf_id x = tensor(&f, "x", want[i].rows, want[i].columns), w = tensor(&f, "w", 1, want[i].columns);
        kernel(&f, llf_add(f.g, x, llf_flip(f.g, w, 1, (int64_t[]){1})));
        assert_int_equal(make(&f).space.narrow, want[i].narrow);
        fixture_free(&f);
    }
    fixture f = fixture_make(); /* a small result out of a large buffer: gather-like offsets, SEMANTICS B21 */
    llf_id x = tensor(&f, "x", 262144, 8960);
    llf_range r[] = {{.start = 239674, .stop = 239676, .step = 1},
                     {.start = LLF_DEFAULT, .stop = LLF_DEFAULT, .step = 1}};
    kernel(&f, llf_neg(f.g, llf_slice(f.g, x, r)));
    llfi_demands d = make(&f);
    assert_false(d.space.narrow);
    fixture_free(&f);
    f = fixture_make(); /* of a symbol it is taken for granted (test_lower_narrow) */
    int64_t n = llf_symbol(f.g, "N");
    llf_id y = llf_input(f.g, "y", LLF_F32, 1, &n);
    kernel(&f, llf_neg(f.g, llf_flip(f.g, y, 1, (int64_t[]){0})));
    assert_true(make(&f).space.assumed);
    fixture_free(&f);
}

static void one_buffer_under_two_maps_is_one_argument(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", n, n);
    kernel(&f, llf_add(f.g, x, llf_permute(f.g, x, (int64_t[]){1, 0})));
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 3);
    assert_int_equal(d.at[0].node, x);
    assert_int_equal(d.at[1].node, x);
    assert_int_equal(d.at[0].same, 0);
    assert_int_equal(d.at[1].same, 0);
    assert_int_equal(llfi_access_of(f.g, &d, 1, 4, true, NULL), LLFI_ACCESS_LANES);
    fixture_free(&f);
}

/* A slice may start anywhere: then its vectors are not aligned, though they lie side by side. */
static void alignment_is_asked_of_starts_and_rows(void **state)
{
    (void)state;
    const int64_t start[] = {0, 4, 1};
    const llfi_access want[] = {LLFI_ACCESS_VECTOR, LLFI_ACCESS_VECTOR, LLFI_ACCESS_LANES};
    for (size_t i = 0; i < LLFI_COUNT(start); i++) {
        fixture f = fixture_make();
        int64_t b = llf_symbol(f.g, "B");
        llf_id x = tensor(&f, "x", b, 32);
        llf_range r[] = {{.start = LLF_DEFAULT, .stop = LLF_DEFAULT, .step = 1},
                         {.start = start[i], .stop = start[i] + 16, .step = 1}};
        kernel(&f, llf_neg(f.g, llf_slice(f.g, x, r)));
        llfi_demands d = make(&f);
        assert_int_equal(llfi_access_of(f.g, &d, 0, 4, true, NULL), want[i]);
        assert_int_equal(llfi_access_of(f.g, &d, 0, 4, false, NULL), LLFI_ACCESS_VECTOR);
        fixture_free(&f);
    }
}

/* 2^20 demands are refused, soon. */
static void demands_do_not_explode(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t n = llf_symbol(f.g, "N");
    llf_id v = llf_input(f.g, "x", LLF_F32, 1, &n);
    for (int i = 0; i < 40; i++) {
        llf_range r[] = {{.start = 1, .stop = LLF_DEFAULT, .step = 1}};
        llf_range q[] = {{.start = LLF_DEFAULT, .stop = -1, .step = 1}};
        v = llf_add(f.g, llf_slice(f.g, v, r), llf_flip(f.g, llf_slice(f.g, v, q), 1, (int64_t[]){0}));
    }
    kernel(&f, v);
    llfi_demands d;
    assert_int_equal(llfi_demands_make(f.g, &f.kernel, &f.arena, &d), LLF_E_LIMIT);
    fixture_free(&f);
}

static uint64_t hash_of(const char *symbol, bool flip, int64_t columns, bool shared)
{
    fixture f = fixture_make();
    int64_t n = columns ? columns : llf_symbol(f.g, symbol);
    llf_id x = tensor(&f, "x", n, n), y = shared ? x : tensor(&f, "y", n, n);
    llf_id v = flip ? llf_flip(f.g, y, 1, (int64_t[]){0}) : llf_permute(f.g, y, (int64_t[]){1, 0});
    kernel(&f, llf_add(f.g, x, v));
    llfi_demands d = make(&f);
    uint64_t h = llfi_demands_hash(f.g, &d, &f.kernel);
    fixture_free(&f);
    return h;
}

static void the_hash_is_of_maps_and_not_of_names(void **state)
{
    (void)state;
    assert_true(hash_of("N", false, 0, false) == hash_of("M", false, 0, false));
    assert_true(hash_of("N", false, 0, false) != hash_of("N", true, 0, false));
    assert_true(hash_of("N", false, 0, false) != hash_of("N", false, 64, false));
    assert_true(hash_of("N", false, 64, false) != hash_of("N", false, 128, false));
    assert_true(hash_of("N", false, 0, false) != hash_of("N", false, 0, true));
}

/* A chain of 20,000 views and its kernel, compiled. */
static void deep_chains_of_views_compile(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    fixture f = fixture_make();
    int64_t n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", n, 6), v = x;
    for (int i = 0; i < DEPTH; i++)
        v = i % 3 == 0   ? llf_permute(f.g, v, (int64_t[]){1, 0})
            : i % 3 == 1 ? llf_flip(f.g, v, 1, (int64_t[]){i & 1})
                         : llf_permute(f.g, v, (int64_t[]){1, 0});
    kernel(&f, llf_neg(f.g, v));
    llfi_demands d = make(&f);
    assert_int_equal(d.count, 2);
    assert_true(d.forms < 8);
    fixture_free(&f);
}

/* Each allocation fails in turn. */
static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    fixture f = fixture_make();
    int64_t n = llf_symbol(f.g, "N");
    llf_id x = tensor(&f, "x", n, 6), y = tensor(&f, "y", 6, n);
    llf_id r = llf_reshape(f.g, llf_permute(f.g, y, (int64_t[]){1, 0}), 2, (int64_t[]){3, LLF_INFER});
    kernel(&f, llf_add(f.g, llf_reshape(f.g, x, 2, (int64_t[]){3, LLF_INFER}), r));
    bool done = false;
    for (int64_t i = 0; !done && i < 500; i++) {
        int64_t allowed = i;
        const llf_allocator mem = {limits_resize, &allowed};
        llfi_arena arena;
        llfi_arena_init(&arena, &mem);
        llfi_demands d;
        llf_status status = llfi_demands_make(f.g, &f.kernel, &arena, &d);
        done = status == LLF_OK;
        assert_true(done || status == LLF_E_NOMEM);
        llfi_arena_destroy(&arena);
    }
    assert_true(done);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_leaves_two_axes_and_equal_shapes_one),
        cmocka_unit_test(axes_that_all_take_as_one_are_one),
        cmocka_unit_test(reshapes_of_whole_tensors_stay_linear),
        cmocka_unit_test(indices_are_wide_where_they_must_be),
        cmocka_unit_test(one_buffer_under_two_maps_is_one_argument),
        cmocka_unit_test(alignment_is_asked_of_starts_and_rows),
        cmocka_unit_test(demands_do_not_explode),
        cmocka_unit_test(the_hash_is_of_maps_and_not_of_names),
        cmocka_unit_test(deep_chains_of_views_compile),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
