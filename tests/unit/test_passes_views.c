/* test_passes_views.c: the pass that cuts long chains of views, when memory fails. (What it makes: golden
 * views/.) */
#include "passes_util.h"

static llf_status views(fixture *f)
{
    static const char *const names[] = {"views"};
    return llfi_passes_run(f->cx, f->g, names, 1, &f->state, &f->plan);
}

/* Two thousand views, in turn a permute and a reshape that nothing simplifies. */
static void build(fixture *f)
{
    f->g = llf_graph_create(f->cx, "t");
    llf_id x = llf_input(f->g, "x", LLF_F32, 3, (const int64_t[]){6, 10, 14});
    for (int i = 0; i < 1000; i++) {
        x = llf_permute(f->g, x, (const int64_t[]){2, 0, 1});
        x = llf_reshape(f->g, x, 3, (const int64_t[]){6, 10, 14});
    }
    assert_int_equal(llf_output(f->g, llf_neg(f->g, x)), LLF_OK);
}

static size_t copies(const llf_graph *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        n += g->nodes.at[i].op == LLF_OP_COPY;
    return n;
}

static void check(fixture *f, bool failed)
{
    if (!failed)
        assert_true(copies(f->g) > 2000 / 33 && copies(f->g) <= 2000 / 16);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fixture_starve(build, views, check) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
