/* test_fuse_needs.c: arguments that tell a kernel of extents count against the parameter limit when it is
 * planned, and where they are too many all the same, they come from memory: compiling never fails for them.
 */
#include "passes_util.h"

#include "fuse/fuse.h"
#include "runtime/program.h"

#include <stdlib.h>

enum { INPUTS = 300, LIMIT = 4096 /* bytes before PTX 8.1 */ };

/* The sum of the first N columns of 300 matrices, each of a row length of its own: a stride each. */
static void columns(llfi_str *s)
{
    llfi_str_init(s, &llfi_malloc_allocator);
    llfi_str_puts(s, "graph @columns(%y: f32[M, N]");
    for (int i = 0; i < INPUTS; i++)
        llfi_str_printf(s, ", %%x%d: f32[M, K%d]", i, i);
    llfi_str_puts(s, ") {\n");
    for (int i = 0; i < INPUTS; i++)
        llfi_str_printf(s, "  %%v%d = slice %%x%d, at=[:, :N]\n", i, i);
    llfi_str_puts(s, "  %s0 = add %y, %v0\n");
    for (int i = 1; i < INPUTS; i++)
        llfi_str_printf(s, "  %%s%d = add %%s%d, %%v%d\n", i, i - 1, i);
    llfi_str_printf(s, "  ret %%s%d\n}\n", INPUTS - 1);
}

/* The arguments of a kernel that are parameters, in bytes. */
static uint64_t bytes_of(const llfi_schedule *s)
{
    uint32_t n = 0;
    while (n < s->args && (!n || s->arg[n - 1].kind != LLFI_ARG_TABLE))
        n++;
    return 8 * (uint64_t)n;
}

static llf_status compile(llf_context *cx, const char *text, const char *set, llf_graph **g, llf_program **p)
{
    llf_options o = {.size = sizeof o, .target = "nvptx:sm_80+ptx80", .compile_threads = 1, .set = set};
    *p = NULL;
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), "needs", g), LLF_OK);
    llf_status status = llf_compile(cx, *g, &o, p);
    if (status != LLF_OK)
        print_message("%s\n", llf_last_error(cx)->message);
    return status;
}

static void strides_split_a_sum(void **state)
{
    (void)state;
    llfi_str s;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g;
    llf_program *p;
    columns(&s);
    llf_status status = compile(cx, s.at, "max_kernel_buffers=400", &g, &p);
    if (status != LLF_E_TARGET) { /* built without it */
        assert_int_equal(status, LLF_OK);
        /* Of 512 slots a matrix takes at least two: buffer and stride. */
        assert_true(p->plan.kernels >= 2 && p->plan.kernels <= 8);
        for (uint32_t k = 0; k < p->plan.kernels; k++) {
            assert_true(bytes_of(&p->kernel[k].schedule) <= LIMIT);
            assert_false(p->kernel[k].schedule.table); /* foreseen */
        }
    }
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    llfi_str_free(&s);
}

/* One shape and one way to read it, 90 times: what is needed is needed once, and nothing is split. */
static void what_is_needed_by_many_counts_once(void **state)
{
    (void)state;
    enum { MANY = 90 };
    llfi_str s;
    fixture f;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(&s, "graph @same(%y: f32[A, B, C, D, E]");
    for (int i = 0; i < MANY; i++)
        llfi_str_printf(&s, ", %%x%d: f32[A, C, E]", i);
    llfi_str_puts(&s, ") {\n");
    for (int i = 0; i < MANY; i++)
        llfi_str_printf(&s, "  %%v%d = expand_dims %%x%d, axes=[1, 3]\n", i, i);
    llfi_str_puts(&s, "  %s0 = add %y, %v0\n");
    for (int i = 1; i < MANY; i++)
        llfi_str_printf(&s, "  %%s%d = add %%s%d, %%v%d\n", i, i - 1, i);
    llfi_str_printf(&s, "  ret %%s%d\n}\n", MANY - 1);
    fixture_init(&f);
    fixture_parse(&f, s.at);
    f.state.fuse.param_bytes = 8 * (MANY + 32);
    assert_int_equal(llfi_passes_run(f.cx, f.g, NULL, 0, &f.state, &f.plan), LLF_OK);
    assert_int_equal(f.plan.kernels, 1);
    fixture_free(&f);
    llfi_str_free(&s);
}

/* What a node wants is asked twice where what it is made of may be recomputed with it: buffers and extents
 * are wanted the second time, too. */
static void what_is_wanted_is_wanted_again(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f);
    fixture_parse(&f, "graph @again(%x: f32[M, K], %y: f32[M, L], %z: f32[M, N]) {\n"
                      "  %v = slice %x, at=[:, :N]\n  %w = slice %y, at=[:, :N]\n"
                      "  %s = mul %v, %w\n  %r = add %s, %z\n  ret %r\n}\n");
    llfi_arena arena;
    llfi_groups groups;
    llfi_fuse_view view = {.g = f.g, .options = &f.state.fuse};
    llfi_arena_init(&arena, &f.cx->mem);
    assert_int_equal(llfi_roles_begin(f.cx, &arena, &view), LLF_OK);
    assert_int_equal(llfi_groups_init(&groups, f.cx, &view, &arena), LLF_OK);
    llf_id s = (llf_id)f.g->nodes.count - 2, first[8];
    assert_int_equal(llfi_group_wants(&groups, s), LLF_OK);
    size_t n = groups.want.count;
    assert_int_equal(n, 4); /* two matrices, and how far apart the rows of each are */
    for (size_t i = 0; i < n; i++)
        first[i] = groups.want.at[i].id;
    llfi_group_forget(&groups);
    assert_int_equal(llfi_group_wants(&groups, s), LLF_OK);
    assert_int_equal(groups.want.count, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(groups.want.at[i].id, first[i]);
    llfi_groups_free(&groups);
    llfi_arena_destroy(&arena);
    fixture_free(&f);
}

/* One node cannot be split, nor may a count of the planner's be too low. */
static void what_was_not_foreseen_stands_in_memory(void **state)
{
    (void)state;
    llfi_str s;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g;
    llf_program *p;
    columns(&s);
    llf_status status = compile(cx, s.at, "max_kernel_buffers=400", &g, &p);
    llfi_target small;
    llfi_schedule sc;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    if (status == LLF_OK) {
        small = p->target;
        uint32_t needed = 0; /* reciprocals are there where there is room */
        for (uint32_t i = 0; i < p->kernel[0].schedule.args; i++)
            needed += p->kernel[0].schedule.arg[i].kind != LLFI_ARG_RECIPROCAL;
        small.param_bytes = 8 * (needed - 1);
        assert_int_equal(llfi_schedule_make(cx, p->graph, &p->plan, 0, &small, &arena, &sc), LLF_OK);
        assert_true(sc.table && bytes_of(&sc) <= small.param_bytes);
    }
    llfi_arena_destroy(&arena);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    llfi_str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_split_a_sum),
        cmocka_unit_test(what_is_needed_by_many_counts_once),
        cmocka_unit_test(what_is_wanted_is_wanted_again),
        cmocka_unit_test(what_was_not_foreseen_stands_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
