/* test_fuse_parts.c: parts of kernels: what is one part and what is several, caps, order, and plans whose
 * parts are not those of their labels. Expected numbers are counted by hand. */
#include "parts_check.h"
#include "passes_util.h"

static void plan(fixture *f, const char *text, const char *set)
{
    fixture_plan(f, text, "greedy", set);
    parts_check(f->g, &f->plan);
}

/* One launch; its parts by store and members: x's three users are one part, y's another, which also
 * recomputes %0. */
static void a_part_is_what_shares_tensors_and_space(void **state)
{
    (void)state;
    fixture f;
    plan(&f,
         "graph @t(%x: f32[N], %y: f32[M], %s: f32[]) {\n  %0 = mul %s, 2.0\n  %1 = mul %x, %0\n  %2 = exp "
         "%x\n"
         "  %3 = add %1, %2\n  %4 = mul %y, %0\n  ret %2, %3, %4\n}\n",
         NULL);
    assert_int_equal(f.plan.kernels, 1);
    const llfi_kernel *k = &f.plan.kernel[0];
    assert_int_equal(k->parts, 2);
    assert_int_equal(k->members, 5);
    assert_int_equal(k->part[0].stores, 2);
    assert_int_equal(k->part[0].members, 4);
    assert_int_equal(k->part[1].stores, 1);
    assert_int_equal(k->part[1].members, 2);
    assert_int_equal(k->part[0].member[0], k->part[1].member[0]); /* the rank-0 product */
    assert_null(k->part[0].part);
    fixture_free(&f);
}

/* %c reads both x and y, but at other points of a smaller space: it joins neither to the other. */
static void other_spaces_join_nothing(void **state)
{
    (void)state;
    fixture f;
    plan(&f,
         "graph @t(%x: f32[8], %y: f32[8]) {\n  %0 = neg %x\n  %1 = abs %y\n  %2 = slice %x, at=[0:4]\n"
         "  %3 = slice %y, at=[4:8]\n  %4 = add %2, %3\n  ret %0, %1, %4\n}\n",
         NULL);
    assert_int_equal(f.plan.kernels, 1);
    assert_int_equal(f.plan.kernel[0].parts, 3);
    fixture_free(&f);
}

static void no_part_reads_what_another_stores(void **state)
{
    (void)state;
    fixture f;
    plan(&f,
         "graph @t(%x: f32[N], %y: f32[M]) {\n  %0 = tanh %x\n  %1 = flip %0, axes=[0]\n  %2 = exp %1\n"
         "  %3 = exp %y\n  ret %0, %2, %3\n}\n",
         NULL);
    assert_int_equal(f.plan.kernels, 2);
    assert_int_equal(f.plan.kernel[0].parts, 2); /* tanh x and exp y */
    assert_int_equal(f.plan.kernel[1].parts, 1);
    fixture_free(&f);
}

static char *strangers(llfi_str *s, int count)
{
    llfi_str_init(s, &llfi_malloc_allocator);
    llfi_str_puts(s, "graph @t(");
    for (int i = 0; i < count; i++)
        llfi_str_printf(s, "%s%%x%d: f32[N%d]", i ? ", " : "", i, i);
    llfi_str_puts(s, ", %a: scalar f32) {\n");
    for (int i = 0; i < count; i++)
        llfi_str_printf(s, "  %%%d = mul %%x%d, %%a\n", i, i);
    llfi_str_puts(s, "  ret ");
    for (int i = 0; i < count; i++)
        llfi_str_printf(s, "%s%%%d", i ? ", " : "", i);
    llfi_str_puts(s, "\n}\n");
    return s->at;
}

/* A row here takes 8 * (x, result, a, elements, vectors) bytes; the header 4 a part, rounded up to a power of
 * two. */
static void argument_bytes_are_counted(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes, kernels;
    } want[] = {
        {56 * 100 + 4 * 128, 1},     /* all fit exactly */
        {56 * 100 + 4 * 128 - 1, 2}, /* a byte too few */
        {56 * 4 + 4 * 4, 25},        /* four and four */
        {56 * 2 + 4 * 2 - 1, 100},   /* not even two */
        {32764, 1},
    };
    llfi_str s;
    const char *text = strangers(&s, 100);
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        fixture f;
        fixture_init(&f);
        fixture_parse(&f, text);
        f.state.fuse.param_bytes = want[i].bytes;
        assert_int_equal(llfi_passes_run(f.cx, f.g, NULL, 0, &f.state, &f.plan), LLF_OK);
        assert_int_equal(f.plan.kernels, want[i].kernels);
        fixture_free(&f);
    }
    llfi_str_free(&s);
}

static void heuristics_that_want_no_company_get_none(void **state)
{
    (void)state;
    static const char *const name[] = {"none", "primitive"};
    llfi_str s;
    const char *text = strangers(&s, 5);
    for (size_t i = 0; i < 2; i++) {
        fixture f;
        fixture_plan(&f, text, name[i], NULL);
        assert_int_equal(f.plan.kernels, 5);
        fixture_free(&f);
    }
    llfi_str_free(&s);
}

/* 130 values of one tensor's: two kernels, as one part may touch 96 buffers; the second is none of the
 * first's parts, or the two would be one part again. */
static void what_caps_keep_apart_stays_apart(void **state)
{
    (void)state;
    llfi_str s;
    fixture f;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(&s, "graph @t(%x: f32[N]) {\n");
    for (int i = 0; i < 130; i++)
        llfi_str_printf(&s, "  %%%d = mul %%x, %d.0\n", i, i + 2);
    llfi_str_puts(&s, "  ret ");
    for (int i = 0; i < 130; i++)
        llfi_str_printf(&s, "%s%%%d", i ? ", " : "", i);
    llfi_str_puts(&s, "\n}\n");
    plan(&f, s.at, NULL);
    assert_int_equal(f.plan.kernels, 2);
    assert_int_equal(f.plan.kernel[0].parts, 1);
    assert_int_equal(f.plan.kernel[0].stores, 95);
    fixture_free(&f);
    llfi_str_free(&s);
}

static void refused(fixture *f, const char *part)
{
    assert_int_equal(llfi_plan_verify(f->g, &f->plan), LLF_E_PLAN);
    if (!strstr(llf_last_error(f->cx)->message, part))
        fail_msg("\"%s\" wanted: %s", part, llf_last_error(f->cx)->message);
}

static void parts_that_are_not_the_labels_are_refused(void **state)
{
    (void)state;
    fixture f;
    plan(&f, "graph @t(%x: f32[N], %y: f32[M]) {\n  %0 = exp %x\n  %1 = neg %y\n  ret %0, %1\n}\n", NULL);
    llfi_kernel *k = &f.plan.kernel[0], *part = k->part;
    assert_int_equal(llfi_plan_verify(f.g, &f.plan), LLF_OK);
    k->parts = 1;
    k->part = NULL;
    refused(&f, "has 2 parts, not 1");
    k->parts = 2;
    k->part = part;
    llfi_kernel first = part[0];
    part[0] = part[1];
    part[1] = first;
    refused(&f, "part 0 of kernel k0 is not what its labels say");
    part[1] = part[0];
    part[0] = first;
    part[1].space = part[0].space;
    refused(&f, "another space");
    assert_int_equal(llfi_plan_parts(f.g, &f.plan), LLF_OK); /* found anew */
    assert_int_equal(llfi_plan_verify(f.g, &f.plan), LLF_OK);
    f.plan.max_params = 8 * (2 + 2) * 2 - 1;
    refused(&f, "argument bytes");
    fixture_free(&f);
}

static uint32_t parts_of(const char *text, uint32_t kernel)
{
    fixture f;
    fixture_init(&f);
    fixture_parse(&f, text);
    if (llfi_plan_read(f.g, &f.state.fuse, &f.plan) != LLF_OK)
        fail_msg("%s", llf_last_error(f.cx)->message);
    parts_check(f.g, &f.plan);
    uint32_t parts = f.plan.kernel[kernel].parts;
    fixture_free(&f);
    return parts;
}

/* Also parts that no search makes: one that recomputes what another stores, at other points or of rank 0. */
static void parts_of_labels(void **state)
{
    (void)state;
    assert_int_equal(parts_of("graph @t(%x: f32[N], %y: f32[M], %s: f32[]) {\n  %0 = exp %x !k0\n"
                              "  %1 = neg %y !k0\n  %2 = exp %s !k0\n  ret %0, %1, %2\n}\n",
                              0),
                     3);
    assert_int_equal(parts_of("graph @t(%x: f32[N], %s: f32[]) {\n  %0 = exp %s !k0\n  %1 = mul %x, %0 !k0\n"
                              "  ret %0, %1\n}\n",
                              0),
                     2);
    assert_int_equal(
        parts_of("graph @t(%x: f32[N], %y: f32[M, N]) {\n  %0 = exp %x !k0\n  %1 = mul %y, %0 !k0\n"
                 "  ret %0, %1\n}\n",
                 0),
        2);
    assert_int_equal(parts_of("graph @t(%x: f32[N]) {\n  %0 = exp %x !k0\n  %1 = flip %0, axes=[0]\n"
                              "  %2 = neg %1 !k0\n  ret %0, %2\n}\n",
                              0),
                     1); /* the same space and tensor: one part, which wants %0 at two points */
    assert_int_equal(parts_of("graph @t(%x: f32[N], %y: f32[M]) {\n  %0 = exp %x !k0\n  %1 = neg %0 !k1\n"
                              "  %2 = abs %y !k1\n  ret %1, %2\n}\n",
                              1),
                     2);
}

static void a_hint_keeps_a_node_alone(void **state)
{
    (void)state;
    fixture f;
    plan(
        &f,
        "graph @t(%x: f32[N], %y: f32[M], %z: f32[K]) {\n  %0 = exp %x\n  %1 = neg %y !apart\n  %2 = abs %z\n"
        "  ret %0, %1, %2\n}\n",
        NULL);
    assert_int_equal(f.plan.kernels, 2);
    assert_int_equal(f.plan.kernel[0].parts, 2);
    assert_int_equal(f.plan.kernel[1].parts, 1);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_what_shares_tensors_and_space),
        cmocka_unit_test(other_spaces_join_nothing),
        cmocka_unit_test(no_part_reads_what_another_stores),
        cmocka_unit_test(argument_bytes_are_counted),
        cmocka_unit_test(heuristics_that_want_no_company_get_none),
        cmocka_unit_test(what_caps_keep_apart_stays_apart),
        cmocka_unit_test(parts_of_labels),
        cmocka_unit_test(a_hint_keeps_a_node_alone),
        cmocka_unit_test(parts_that_are_not_the_labels_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
