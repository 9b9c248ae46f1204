/* test_fuse_plan.c: plans of the cases with which fusion is explained (kernels and transfers, counted by
 * hand), parameters, and plans that verify must refuse. */
#include "passes_util.h"
#include "passes/fuse/fuse.h"

#define HEAD3 "graph @t(%a: f32[N], %b: f32[N], %c: f32[N]) {\n"

typedef struct {
    const char *text;
    uint32_t kernels_none, transfers_none, kernels_greedy, transfers_greedy;
    int64_t bytes_none, bytes_greedy; /* at N = 1000 */
} counted;

static const counted cases[] = {
    {"graph @add_relu(%a: f32[N], %b: f32[N]) {\n  %0 = add %a, %b\n  %1 = relu %0\n  ret %1\n}\n", 2, 5, 1,
     3, 20000, 12000},
    {HEAD3 "  %0 = mul %a, %b\n  %1 = add %0, %c\n  %2 = sigmoid %1\n  ret %2\n}\n", 3, 8, 1, 4, 32000,
     16000},
    {"graph @sin_cos(%x: f32[N]) {\n  %0 = sin %x\n  %1 = cos %x\n  ret %0, %1\n}\n", 2, 4, 1, 3, 16000,
     12000},
    {"graph @swiglu(%g: bf16[N], %u: bf16[N]) {\n  %0 = silu %g\n  %1 = mul %0, %u\n  ret %1\n}\n", 2, 5, 1,
     3, 10000, 6000},
    /* A rank-0 buffer is one transfer of 4 bytes; host scalars and literals are none. */
    {"graph @axpb(%x: f32[N], %a: f32[], %b: scalar f32) {\n  %0 = mul %x, %a\n  %1 = add %0, %b\n  ret "
     "%1\n}\n",
     2, 5, 1, 3, 16004, 8004},
    {"graph @same(%x: f64[N]) {\n  %0 = mul %x, %x\n  ret %0\n}\n", 1, 2, 1, 2, 16000, 16000},
};

static void count(const char *text, const char *heuristic, uint32_t *kernels, uint32_t *transfers,
                  int64_t *bytes)
{
    fixture f;
    llfi_arena arena;
    int64_t n = 1000;
    fixture_plan(&f, text, heuristic, NULL);
    llfi_arena_init(&arena, &f.cx->mem);
    assert_int_equal(llfi_plan_bytes(f.g, &f.plan, &n, &arena, bytes, transfers), LLF_OK);
    *kernels = f.plan.kernels;
    llfi_arena_destroy(&arena);
    fixture_free(&f);
}

static void kernels_and_transfers(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        const counted *c = &cases[i];
        uint32_t kernels, transfers;
        int64_t bytes;
        count(c->text, "none", &kernels, &transfers, &bytes);
        assert_int_equal(kernels, c->kernels_none);
        assert_int_equal(transfers, c->transfers_none);
        assert_int_equal(bytes, c->bytes_none);
        count(c->text, "greedy", &kernels, &transfers, &bytes);
        assert_int_equal(kernels, c->kernels_greedy);
        assert_int_equal(transfers, c->transfers_greedy);
        assert_int_equal(bytes, c->bytes_greedy);
    }
}

static void chain60(void **state)
{
    (void)state;
    llfi_str s;
    uint32_t kernels, transfers;
    int64_t bytes;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(&s, "graph @chain60(%v0: f32[N]) {\n");
    for (int i = 0; i < 20; i++)
        llfi_str_printf(&s, "  %%m%d = mul %%v%d, 1.01\n  %%a%d = add %%m%d, 0.1\n  %%v%d = tanh %%a%d\n", i,
                        i, i, i, i + 1, i);
    llfi_str_puts(&s, "  ret %v20\n}\n");
    count(s.at, "none", &kernels, &transfers, &bytes);
    assert_int_equal(kernels, 60);
    assert_int_equal(transfers, 120);
    count(s.at, "primitive", &kernels, &transfers, &bytes);
    assert_int_equal(kernels, 60);
    count(s.at, "greedy", &kernels, &transfers, &bytes);
    assert_int_equal(kernels, 1);
    assert_int_equal(transfers, 2);
    llfi_str_free(&s);
}

static void bytes_overflow_is_told(void **state)
{
    (void)state;
    fixture f;
    llfi_arena arena;
    int64_t n = INT64_MAX / 2, bytes;
    uint32_t transfers;
    fixture_plan(&f, cases[0].text, "greedy", NULL);
    llfi_arena_init(&arena, &f.cx->mem);
    assert_int_equal(llfi_plan_bytes(f.g, &f.plan, &n, &arena, &bytes, &transfers), LLF_OK);
    assert_int_equal(bytes, -1);
    n = 0;
    assert_int_equal(llfi_plan_bytes(f.g, &f.plan, &n, &arena, &bytes, &transfers), LLF_OK);
    assert_int_equal(bytes, 0);
    llfi_arena_destroy(&arena);
    fixture_free(&f);
}

static void parameters(void **state)
{
    (void)state;
    llfi_diag d = {0};
    llfi_params p;
    llfi_params_default(&p);
    assert_int_equal(p.max_kernel_nodes, 512);
    assert_int_equal(llfi_params_set(&d, &p, NULL), LLF_OK);
    assert_int_equal(llfi_params_set(&d, &p, ""), LLF_OK);
    assert_int_equal(llfi_params_set(&d, &p, "max_kernel_nodes=7,max_kernel_cost=100"), LLF_OK);
    assert_int_equal(p.max_kernel_nodes, 7);
    assert_int_equal(p.max_kernel_cost, 100);
    static const char *const bad[] = {"max_kernel_nodes",
                                      "max_kernel_nodes=",
                                      "max_kernel_nodes=0",
                                      "max_kernel_nodes=4097",
                                      "max_kernel_nodes=7x",
                                      "max_kernel_nodes= 7",
                                      "nodes=7",
                                      "max_kernel_nodes=8,",
                                      ",max_kernel_nodes=8",
                                      "max_kernel_nodes=8,=",
                                      "=8",
                                      "max_kernel_nodes=+8",
                                      "max_kernel_nodes=99999999999999999999"};
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        if (llfi_params_set(&d, &p, bad[i]) != LLF_E_ARG)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(p.max_kernel_nodes, 7); /* all or nothing */
    }
    assert_int_equal(llfi_params_set(&d, &p, "nodes=7"), LLF_E_ARG);
    assert_non_null(strstr(d.message, "max_kernel_nodes, max_kernel_buffers"));
    assert_null(llfi_heuristic_find("best"));
}

/* A plan of three kernels: k0 {add}, k1 {lt where}, k2 {exp}. */
static const char three[] =
    "graph @t(%a: f32[N], %b: f32[N], %z: f32[M]) {\n  %0 = add %a, %b\n  %1 = relu %0\n  %2 = exp %z\n"
    "  ret %1, %2\n}\n";
enum { ADD_KERNEL, EXP_KERNEL, RELU_KERNEL };

typedef void spoil(fixture *);

static void drop_kernel(fixture *f)
{
    f->plan.kernels--;
}
static void swap_kernels(fixture *f)
{
    llfi_kernel k = f->plan.kernel[ADD_KERNEL];
    f->plan.kernel[ADD_KERNEL] = f->plan.kernel[RELU_KERNEL];
    f->plan.kernel[RELU_KERNEL] = k;
}
static void forget_store(fixture *f)
{
    f->plan.kernel[ADD_KERNEL].stores = 0;
}
static void store_twice(fixture *f)
{
    f->plan.kernel[EXP_KERNEL] = f->plan.kernel[ADD_KERNEL];
}
static void store_too_much(fixture *f)
{
    f->plan.kernel[RELU_KERNEL].store = f->plan.kernel[RELU_KERNEL].member;
    f->plan.kernel[RELU_KERNEL].stores = 2;
}
static void store_the_wrong(fixture *f)
{
    f->plan.kernel[RELU_KERNEL].store = f->plan.kernel[RELU_KERNEL].member;
}
static void mix_spaces(fixture *f)
{
    f->plan.kernel[RELU_KERNEL].space = f->plan.kernel[EXP_KERNEL].space;
}
static void no_member(fixture *f)
{
    f->plan.kernel[RELU_KERNEL].members = 1;
}
static void bad_id(fixture *f)
{
    f->plan.kernel[ADD_KERNEL].member[0] = 1000000;
}
static void leaf_member(fixture *f)
{
    f->plan.kernel[ADD_KERNEL].member[0] = 0;
}
static void unordered(fixture *f)
{
    llf_id *m = f->plan.kernel[RELU_KERNEL].member, t = m[0];
    m[0] = m[1];
    m[1] = t;
}
static void other_graph(fixture *f)
{
    f->plan.graph_hash ^= 1;
}
static void over_nodes(fixture *f)
{
    f->plan.max_nodes = 1;
}
static void over_buffers(fixture *f)
{
    f->plan.max_buffers = 1;
}
static void over_params(fixture *f)
{
    f->plan.max_params = 8;
}
static void empty_kernel(fixture *f)
{
    f->plan.kernel[EXP_KERNEL].members = 0;
}

static void bad_plans_are_refused(void **state)
{
    static spoil *const spoils[] = {drop_kernel,     swap_kernels, forget_store, store_twice, store_too_much,
                                    store_the_wrong, mix_spaces,   no_member,    bad_id,      leaf_member,
                                    unordered,       other_graph,  empty_kernel};
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(spoils); i++) {
        fixture f;
        fixture_plan(&f, three, "none", NULL);
        assert_int_equal(f.plan.kernels, 3);
        assert_int_equal(llfi_plan_verify(f.g, &f.plan), LLF_OK);
        spoils[i](&f);
        if (llfi_plan_verify(f.g, &f.plan) != LLF_E_PLAN)
            fail_msg("spoilt plan %zu passed", i);
        fixture_free(&f);
    }
}

static void caps_are_checked(void **state)
{
    static spoil *const spoils[] = {over_nodes, over_buffers, over_params};
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(spoils); i++) {
        fixture f;
        fixture_plan(&f, "graph @t(%x: f32[N]) {\n  %0 = sin %x\n  %1 = cos %x\n  ret %0, %1\n}\n", "greedy",
                     NULL);
        assert_int_equal(f.plan.kernels, 1);
        spoils[i](&f);
        assert_int_equal(llfi_plan_verify(f.g, &f.plan), LLF_E_PLAN);
        fixture_free(&f);
    }
}

/* 600 inputs added up: argument bytes split the sum, as B34 asks. */
static void parameter_space_splits(void **state)
{
    (void)state;
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(&s, "graph @sum(");
    for (int i = 0; i < 600; i++)
        llfi_str_printf(&s, "%s%%x%d: f32[N]", i ? ", " : "", i);
    llfi_str_puts(&s, ") {\n  %s1 = add %x0, %x1\n");
    for (int i = 2; i < 600; i++)
        llfi_str_printf(&s, "  %%s%d = add %%s%d, %%x%d\n", i, i - 1, i);
    llfi_str_puts(&s, "  ret %s599\n}\n");
    fixture f;
    fixture_init(&f);
    fixture_parse(&f, s.at);
    assert_int_equal(llfi_params_set(&f.cx->diag, &f.state.fuse.params, "max_kernel_buffers=400"), LLF_OK);
    f.state.fuse.param_bytes = 816; /* 100 buffers */
    assert_int_equal(llfi_passes_run(f.cx, f.g, NULL, 0, &f.state, &f.plan), LLF_OK);
    /* A kernel reads at most 99 and writes 1: 99 inputs first, then 98 and the running sum: 1 + ceil(501 /
     * 98). */
    assert_int_equal(f.plan.kernels, 7);
    fixture_free(&f);
    llfi_str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_transfers),  cmocka_unit_test(chain60),
        cmocka_unit_test(bytes_overflow_is_told), cmocka_unit_test(parameters),
        cmocka_unit_test(bad_plans_are_refused),  cmocka_unit_test(caps_are_checked),
        cmocka_unit_test(parameter_space_splits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
