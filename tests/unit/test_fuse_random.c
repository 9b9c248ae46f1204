/* test_fuse_random.c: random graphs of several spaces under random caps: every plan passes verify, two runs
 * give the same text, and the decision log is one JSON line per candidate. */
#include "parts_check.h"

#include "passes_util.h"

#include <stdlib.h>

static uint32_t roll(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

typedef struct {
    llf_id at[512];
    uint32_t count;
} pool;

static void put(pool *p, llf_id id)
{
    assert_int_not_equal(id, LLF_NONE);
    p->at[p->count++] = id;
}

/* One value of a space: operands of that space or, one time in four, of rank 0. */
static llf_id make(llf_graph *g, pool *own, pool *scalars, uint64_t *seed)
{
    llf_id x = own->at[own->count - 1 - roll(seed, own->count < 8 ? own->count : 8)];
    llf_id y = roll(seed, 4) ? own->at[roll(seed, own->count)] : scalars->at[roll(seed, scalars->count)];
    switch (roll(seed, 6)) {
    case 0: return llf_neg(g, x);
    case 1: return llf_tanh(g, x);
    case 2: return llf_sigmoid(g, x);
    case 3: return llf_mul(g, x, llf_const(g, LLF_F32, 1.5));
    case 4: return llf_fma(g, x, y, own->at[roll(seed, own->count)]);
    default: return llf_add(g, x, y);
    }
}

static llf_graph *random_graph(llf_context *cx, uint64_t *seed)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    llf_graph *g = llf_graph_create(cx, "random");
    pool space[3] = {0}; /* rank 0, [N], [M] */
    int64_t dim[2] = {llf_symbol(g, "N"), llf_symbol(g, "M")};
    put(&space[0], llf_input(g, names[0], LLF_F32, 0, NULL));
    put(&space[0], llf_scalar(g, names[1], LLF_F32));
    for (uint32_t i = 0; i < 4; i++)
        put(&space[1 + i % 2], llf_input(g, names[2 + i], LLF_F32, 1, &dim[i % 2]));
    uint32_t nodes = 1 + roll(seed, 150);
    for (uint32_t i = 0; i < nodes; i++) {
        pool *p = &space[roll(seed, 4) ? 1 + roll(seed, 2) : 0];
        llf_id id = make(g, p, &space[0], seed);
        put(p, id);
        if (roll(seed, 12) == 0)
            assert_int_equal(llf_output(g, id), LLF_OK);
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(llf_output(g, space[i].at[space[i].count - 1]), LLF_OK);
    return g;
}

static char *plan_text(llf_context *cx, const llf_graph *from, const llfi_fuse_options *o, llfi_str *s)
{
    llf_graph *g = llfi_graph_clone(from, cx);
    llfi_passes_state ps = {.fuse = *o};
    llfi_plan plan;
    assert_non_null(g);
    llfi_plan_init(&plan, &cx->mem);
    llf_status st = llfi_passes_run(cx, g, NULL, 0, &ps, &plan); /* the runner verifies the plan */
    if (st != LLF_OK)
        print_error("%s\n", llf_last_error(cx)->message);
    assert_int_equal(st, LLF_OK);
    llfi_str_init(s, &cx->mem);
    assert_int_equal(llfi_plan_print(g, &plan, s), LLF_OK);
    for (uint32_t k = 0; k < plan.kernels; k++)
        assert_true(plan.kernel[k].members > 0 && plan.kernel[k].stores > 0);
    parts_check(g, &plan);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    return s->at;
}

static void random_plans_are_legal(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    uint64_t seed = 20250101;
    for (uint32_t i = 0; i < 3000; i++) {
        llf_graph *g = random_graph(cx, &seed);
        llfi_fuse_options o;
        llfi_fuse_options_default(&o);
        o.heuristic = &llfi_heuristics[roll(&seed, 4) ? llfi_heuristics_count - 1
                                                      : roll(&seed, (uint32_t)llfi_heuristics_count)];
        o.params.max_kernel_nodes = 1 + roll(&seed, 1u << roll(&seed, 9));
        o.params.max_kernel_buffers = 2 + roll(&seed, 1u << roll(&seed, 6));
        o.params.recompute_scalar_nodes = roll(&seed, 1u << roll(&seed, 6));
        o.params.max_kernel_cost = 16 + roll(&seed, 1u << (4 + roll(&seed, 8)));
        o.param_bytes = 64 + 8 * roll(&seed, 64);
        llfi_str a, b;
        assert_string_equal(plan_text(cx, g, &o, &a), plan_text(cx, g, &o, &b));
        llfi_str_free(&a);
        llfi_str_free(&b);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
}

typedef struct {
    const char *printed; /* the plan's text; NULL: names are not looked up */
    uint32_t lines, fused, apart, bad;
    char last[512];
} seen;

/* RFC 8259, as far as the log uses it: one object of strings without escapes and integers. */
static bool json_string(const char **at)
{
    if (*(*at)++ != '"')
        return false;
    while (**at >= 0x20 && **at < 0x7f && **at != '"' && **at != '\\')
        ++*at;
    return *(*at)++ == '"';
}

static bool json_object(const char *at)
{
    if (*at++ != '{')
        return false;
    for (;;) {
        if (!json_string(&at) || *at++ != ':')
            return false;
        if (*at == '"') {
            if (!json_string(&at))
                return false;
        } else {
            at += *at == '-';
            size_t digits = strspn(at, "0123456789");
            if (!digits || (digits > 1 && *at == '0'))
                return false;
            at += digits;
        }
        if (*at == '}')
            return !at[1];
        if (*at++ != ',')
            return false;
    }
}

/* Does the plan's text define that value? */
static bool names_line(const char *printed, const char *name)
{
    char want[80];
    snprintf(want, sizeof want, "\n  %s = ", name);
    return !printed || strstr(printed, want) != NULL;
}

static void listen(void *user, const char *topic, const char *line)
{
    seen *s = user;
    char a[64], b[64], verdict[16], reason[32];
    long long score;
    s->lines++;
    snprintf(s->last, sizeof s->last, "%s", line);
    if (strcmp(topic, "fusion") || !json_object(line) ||
        sscanf(line,
               "{\"a\":\"%63[^\"]\",\"b\":\"%63[^\"]\",\"verdict\":\"%15[a-z]\",\"reason\":\"%31[a-z_]\","
               "\"score\":%lld,",
               a, b, verdict, reason, &score) != 5 ||
        !names_line(s->printed, a) || !names_line(s->printed, b))
        s->bad++;
    else if (!strcmp(verdict, "fuse") && (!strcmp(reason, "fused") || !strcmp(reason, "hint")))
        s->fused++;
    else if (!strcmp(verdict, "apart") && strcmp(reason, "fused"))
        s->apart++;
    else
        s->bad++;
}

/* Plans twice: the second time the names of the log are looked up in what the first printed. */
static void decisions(const char *text, const char *set, seen *s)
{
    llfi_str printed;
    fixture first;
    fixture_plan(&first, text, "greedy", set);
    llfi_str_init(&printed, &llfi_malloc_allocator);
    assert_int_equal(llfi_plan_print(first.g, &first.plan, &printed), LLF_OK);
    fixture_free(&first);
    *s = (seen){.printed = printed.at};
    llf_context *cx = llf_context_create(&(llf_context_options){
        .size = sizeof(llf_context_options), .logs = "fusion", .log = listen, .log_user = s});
    llf_graph *g = NULL;
    llfi_passes_state ps = {0};
    llfi_plan plan;
    llfi_fuse_options_default(&ps.fuse);
    assert_int_equal(llfi_params_set(&cx->diag, &ps.fuse.params, set), LLF_OK);
    llfi_plan_init(&plan, &cx->mem);
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), "t", &g), LLF_OK);
    assert_int_equal(llfi_passes_run(cx, g, NULL, 0, &ps, &plan), LLF_OK);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    llfi_str_free(&printed);
}

static void decisions_are_logged(void **state)
{
    (void)state;
    seen s;
    const char *three = "graph @t(%x: f32[N]) {\n  %0 = exp %x\n  %1 = tanh %0\n  %2 = neg %1\n  ret %2\n}\n";
    decisions(three, NULL, &s);
    assert_int_equal(s.lines, 2);
    assert_int_equal(s.fused, 2);
    assert_non_null(strstr(s.last, "\"saved_bytes\":8"));
    assert_non_null(strstr(s.last, "\"nodes\":3,\"reads\":1,\"stores\":1"));
    decisions(three, "max_kernel_nodes=2", &s);
    assert_int_equal(s.fused, 1);
    assert_int_equal(s.apart, 1);
    assert_non_null(strstr(s.last, "\"reason\":\"max_kernel_nodes\""));
    decisions("graph @t(%x: f32[N], %s: f32[]) {\n  %0 = exp %s\n  %1 = mul %x, %0\n  ret %0, %1\n}\n", NULL,
              &s);
    assert_int_equal(s.apart, 1);
    assert_non_null(strstr(s.last, "\"reason\":\"space\""));
    assert_int_equal(s.bad, 0);
    /* Names that were taken apart and put together again stay those of the printed plan. */
    decisions(
        "graph @t(%x: f32[N]) {\n  %y = sigmoid %x\n  %z.1-a = silu %y !apart\n  %u = mul %z.1-a, %y !fuse\n"
        "  ret %u, %y\n}\n",
        NULL, &s);
    assert_int_equal(s.bad, 0);
    assert_true(s.apart > 0 && s.fused > 0);
    assert_non_null(strstr(s.last, "\"b\":\"%u\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_plans_are_legal),
                                       cmocka_unit_test(decisions_are_logged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
