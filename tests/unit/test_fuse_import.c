/* test_fuse_import.c: plans as files: what is exported comes back to the byte, edits are taken whenever they
 * are legal, and what is not is refused with its place and reason, whatever the text is. */
#include "runtime_util.h"

#include "jit/jit.h"

static const char *const graphs[] = {
    "; set N=1000\ngraph @g(%x: f32[N], %w: f32[N], %b: f32[N]) {\n  %m = mul %x, %w\n  %s = add %m, %b\n  "
    "%1 = sigmoid "
    "%s\n  %y.a-1 = silu %s\n  ret %1, %y.a-1\n}\n",
    "graph @views(%x: bf16[B, N], %w: f32[N], %k: i64[2*N]) {\n  %0 = cast %x, dtype=f32\n  %1 = gelu %0\n  "
    "%2 = mul "
    "%1, %w\n  %3 = permute %2, axes=[1, 0]\n  %4 = exp %3\n  %5 = slice %k, at=[N::2]\n  %6 = cast %5, "
    "dtype=f32\n  %7 = "
    "mul %6, %w\n  ret %4, %7\n}\n",
    "graph @spaces(%x: f32[N], %y: f32[M], %s: f32[], %h: scalar f32) {\n  %0 = exp %s\n  %1 = mul %x, %0\n  "
    "%2 = mul "
    "%y, %0\n  %3 = add %1, %h\n  ret %1, %2, %3, %x, %3\n}\n",
    "graph @moved(%x: f32[4, N], %y: f32[N, 4]) {\n  %0 = exp %x\n  %1 = permute %0, axes=[1, 0]\n  %2 = add "
    "%1, %y\n  %3 "
    "= slice %2, at=[:, 1:3]\n  %4 = flip %3, axes=[0]\n  %5 = tanh %4\n  %6 = reshape %0, shape=[-1]\n  ret "
    "%5, %6\n}\n",
    "graph @wide(%x: f16[8, 1], %y: f16[16]) {\n  %0 = add %x, %y\n  %1 = reshape %0, shape=[4, 32]\n  %2 = "
    "mul %1, "
    "2.5\n  %3 = broadcast_to %2, shape=[3, 4, 32]\n  ret %3, %2\n}\n",
    "graph @index(%x: f32[N, 4], %i: i64[M]) {\n  %0 = exp %x\n  %1 = concat %0, %x, axis=0\n  %2 = take %1, "
    "%i, axis=0\n  %3 = pad %2, 1.5, by=[1:0, 0:2]\n  %4 = iota dtype=f32, shape=[N, 4], axis=0\n  %5 = mul "
    "%4, %0\n  %6 = concat %x, %x, axis=1\n  ret %3, %5, %6\n}\n",
    "graph @rows(%x: f32[N, 8], %v: f32[N]) {\n  %m, %d = moments %x, axes=[1], keepdims\n  %0 = sub %x, %m\n"
    "  %1 = reshape %d, shape=[-1]\n  %2 = mul %1, %v\n  %a, %b = softmax_stats %0, axes=[0]\n  %3 = argmax "
    "%0, axes=[1]\n  ret %0, %2, %b, %3\n}\n",
    "graph @guard(%x: f32[N], %y: f32[M], %z: f32[K]) {\n  %0 = add %x, %y\n  %1 = exp %y\n  %2 = mul %0, "
    "%1\n  %3 = "
    "add %z, %y\n  ret %2, %1, %3\n}\n",
};

static llf_context *context(void)
{
    llf_context *cx = llf_context_create(
        &(llf_context_options){.size = sizeof(llf_context_options), .kernel_cache_bytes = 16 << 20});
    assert_non_null(cx);
    return cx;
}

static llf_graph *parse(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    if (llf_graph_parse(cx, text, strlen(text), "g.llf", &g) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    return g;
}

static const char *const targets[] = {"host",
#ifdef LLFUSE_CUDA
                                      "nvptx:sm_90a"
#endif
};

/* By the same code, which the context has kept: so the kernels are equal to the last byte of their LLVM IR.
 */
static void same_code(const llf_program *a, const llf_program *b)
{
    assert_int_equal(a->plan.kernels, b->plan.kernels);
    assert_int_equal(a->modules, b->modules);
    for (uint32_t k = 0; k < a->plan.kernels; k++)
        assert_int_equal(a->kernel[k].module, b->kernel[k].module);
    for (uint32_t m = 0; m < a->modules; m++) {
        assert_true(b->module[m].kept);
        assert_string_equal(a->module[m].name, b->module[m].name);
        assert_int_equal(a->module[m].code.bytes, b->module[m].code.bytes);
        assert_memory_equal(a->module[m].code.code, b->module[m].code.code, a->module[m].code.bytes);
    }
}

static void same_plan(llf_context *cx, const llf_graph *g, const char *target, const llf_program *from)
{
    char *text, *again;
    size_t bytes, more;
    llf_program *p = NULL;
    llf_options o = {.size = sizeof o, .target = target};
    assert_int_equal(llf_plan_export(cx, from, &text, &bytes), LLF_OK);
    if (llf_plan_import(cx, g, &o, text, bytes, "p.llf", &p) != LLF_OK)
        fail_msg("%s\n%s", llf_last_error(cx)->message, text);
    assert_int_equal(llf_plan_export(cx, p, &again, &more), LLF_OK);
    assert_string_equal(text, again);
    assert_int_equal(bytes, more);
    if (g) /* alone, kernels have other names */
        same_code(from, p);
    llf_text_free(cx, text, bytes);
    llf_text_free(cx, again, more);
    llf_program_destroy(p);
}

static void what_is_exported_comes_back(void **state)
{
    (void)state;
    static const char *const sets[] = {NULL, "max_kernel_nodes=2",
                                       "recompute_moved_cost=0,max_kernel_buffers=5"};
    llf_context *cx = context();
    for (size_t i = 0; i < LLFI_COUNT(graphs) * LLFI_COUNT(targets) * 9; i++) {
        const char *target = targets[i / 9 % LLFI_COUNT(targets)];
        const char *text = graphs[i / 9 / LLFI_COUNT(targets)];
        llf_graph *g = parse(cx, text);
        llf_options o = {.size = sizeof o,
                         .target = target,
                         .heuristic = llfi_heuristics[i % 3].name,
                         .set = sets[i / 3 % 3]};
        llf_program *p = NULL;
        assert_int_equal(llf_compile(cx, g, &o, &p), LLF_OK);
        same_plan(cx, g, target, p);
        same_plan(cx, NULL, target, p);
        llf_program_destroy(p);
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
}

/* ---- edits */

#define G "graph @g(%x: f32[N], %y: f32[N], %z: f32[M], %s: f32[]) {\n"

/* What simplification makes of it is the text without labels. */
typedef struct {
    const char *plan;
    uint32_t kernels, stores; /* of all kernels */
} edit;

static const edit edits[] = {
    {G "  %0 = add %x, %y !k0\n  %1 = exp %0 !k0\n  %2 = neg %0 !k0\n  ret %1, %2\n}\n", 1, 2},
    /* split */
    {G "  %0 = add %x, %y !k0\n  %1 = exp %0 !k1\n  %2 = neg %0 !k2\n  ret %1, %2\n}\n", 3, 3},
    /* joined, with a gap in the numbers */
    {G "  %0 = add %x, %y !k3\n  %1 = exp %0 !k7\n  %2 = neg %0 !k7\n  ret %1, %2\n}\n", 2, 3},
    /* recomputed: nothing is stored but what is returned */
    {G "  %0 = add %x, %y !k0,k1\n  %1 = exp %0 !k0\n  %2 = neg %0 !k1\n  ret %1, %2\n}\n", 2, 2},
    /* labels in any order; a later kernel that recomputes what it could read */
    {G "  %0 = add %x, %y !k2,k0\n  %1 = exp %0 !k1\n  %2 = neg %0 !k2\n  ret %1, %2\n}\n", 3, 3},
    /* strangers of one shape in one kernel, the order of kernels against that of nodes */
    {G "  %0 = exp %x !k1\n  %1 = exp %z !k0\n  %2 = neg %y !k1\n  ret %0, %1, %2\n}\n", 2, 3},
    /* a dear value recomputed under a broadcast; the search would not */
    {G "  %0 = exp %s !k0,k1\n  %1 = tanh %0 !k0,k1\n  %2 = mul %x, %1 !k0\n  %3 = mul %z, %1 !k1\n  ret %2, "
       "%3\n}\n",
     2, 2},
    /* read at its own and at other points by the kernel that computes it */
    {G "  %0 = exp %x !k0\n  %1 = flip %0, axes=[0]\n  %2 = add %0, %1 !k0\n  ret %2, %0\n}\n", 1, 2},
    {G "  %0 = exp %x !k0\n  %1 = flip %0, axes=[0]\n  %2 = add %0, %1 !k0\n  ret %2\n}\n", 1, 1},
};

static llf_graph *without_labels(llf_context *cx, const char *plan)
{
    llf_graph *g = parse(cx, plan);
    char *text;
    size_t bytes;
    assert_int_equal(llf_graph_print(cx, g, &text, &bytes), LLF_OK);
    assert_null(strchr(text, '!'));
    llf_graph_destroy(g);
    g = parse(cx, text);
    llf_text_free(cx, text, bytes);
    return g;
}

static void legal_edits_are_taken(void **state)
{
    (void)state;
    llf_context *cx = context();
    for (size_t i = 0; i < LLFI_COUNT(edits); i++) {
        llf_graph *g = without_labels(cx, edits[i].plan);
        for (int alone = 0; alone < 2; alone++) {
            llf_program *p = NULL;
            if (llf_plan_import(cx, alone ? NULL : g, NULL, edits[i].plan, strlen(edits[i].plan), "p.llf",
                                &p) != LLF_OK)
                fail_msg("edit %zu: %s", i, llf_last_error(cx)->message);
            uint32_t stores = 0;
            for (uint32_t k = 0; k < p->plan.kernels; k++)
                stores += p->plan.kernel[k].stores;
            assert_int_equal(p->plan.kernels, edits[i].kernels);
            assert_int_equal(stores, edits[i].stores);
            same_plan(cx, g, "host", p);
            llf_program_destroy(p);
        }
        llf_graph_destroy(g);
    }
    llf_context_destroy(cx);
}

/* ---- refusals */

typedef struct {
    const char *plan, *place, *message; /* `place`: "line:col" in p.llf, or "" */
} refusal;

static const refusal refusals[] = {
    {"", "1:1", "no graph: the text is empty"},
    {G "  %0 = exp %x\n  ret %0\n}\n", "1:1", "no plan: no node says what kernel it is in"},
    {G "  %0 = exp %x !k0\n  %q = neg %0\n  ret %q\n}\n", "3:8", "%q is in no kernel"},
    {G "  %0 = exp %x !k1\n  %q = neg %0 !k0\n  ret %q\n}\n", "3:8",
     "kernel k0: %q reads %0, which k1 makes later: kernels run in the order of their numbers"},
    {G "  %0 = exp %x !k0,k1\n  %1 = neg %0 !k1\n  ret %1\n}\n", "2:8", "kernel k0, of %0, stores nothing"},
    {G "  %0 = exp %x !k0,k2\n  %1 = neg %0 !k1\n  %2 = neg %1 !k2\n  ret %2\n}\n", "2:8",
     "kernel k2: %0 is neither read nor stored there"},
    {G "  %0 = exp %x !k0,k0\n  ret %0\n}\n", "2:19", "k0 at %0: the same kernel stands twice"},
    {G "  %0 = flip %x, axes=[0] !k0\n  %1 = exp %0 !k0\n  ret %1\n}\n", "2:27", "a view is in no kernel"},
    {G "  %0 = gelu %x !k0\n  ret %0\n}\n", "2:17", "a plan has primitives only"},
    {G "  %0 = exp %x !k0\n  ret %0, %0\n}\n", "", "stands twice"},
    {G "  %0 = exp %x !k0\n  ret %x, %0\n}\n", "", "output 0 is a leaf"},
    {G "  %0 = exp %x !k0\n  ret %0\n", "4:1", "the text ends before the graph's '}'"},
    {G "  %0 = exp %x !k0,\n  ret %0\n}\n", "2:19", "no label: ''"},
    {G "  %0 = exp %x !kernel0\n  ret %0\n}\n", "2:16", "no label: 'kernel0'"},
    {G "  %0 = exp %x !k99999999999999999999\n  ret %0\n}\n", "2:16", "no label"},
    {G "  %0 = exp %x !k0\n  %0 = exp %x !k0\n  ret %0\n}\n", "3:3", "duplicate name %0"},
    {"; plan graph=0123456789abcdef llfuse=0.1.0\n" G "  %0 = exp %x !k0\n  ret %0\n}\n", "1:1",
     "the plan is for graph 0123456789abcdef, but the graph below it is "},
    {"; plan graph=0 llfuse=0.0.1 max_kernel_nodes=1\n" G
     "  %0 = exp %x !k0\n  %1 = neg %0 !k0\n  ret %1\n}\n",
     "4:8", "kernel k0, of %1, has 2 nodes, more than max_kernel_nodes=1"},
    {"; plan graph=0 llfuse=0.0.1 max_kernel_buffers=2\n" G
     "  %0 = add %x, %y !k0\n  %1 = neg %0 !k0\n  ret %1\n}\n",
     "4:8", "kernel k0, of %1, touches 3 buffers, more than max_kernel_buffers=2"},
    {"; plan graph=0 llfuse=0.0.1 max_kernel_nodes=0\n" G "  %0 = exp %x !k0\n  ret %0\n}\n", "1:1",
     "the plan's line: max_kernel_nodes=0: not an integer from 1"},
    {"; plan graph=0 llfuse=0.0.1 colour=red\n" G "  %0 = exp %x !k0\n  ret %0\n}\n", "1:1",
     "the plan's line: no parameter is named \"colour\""},
    {"; plan graph=0 llfuse=0.0.1 word\n" G "  %0 = exp %x !k0\n  ret %0\n}\n", "1:1",
     "not of the form name=value"},
    {"; plan graph=0 llfuse=0.0.1\n; plan graph=0 llfuse=0.0.1\n" G "  %0 = exp %x !k0\n  ret %0\n}\n", "2:1",
     "a second plan's line"},
};

static void expect_refused(llf_context *cx, const llf_graph *g, const char *plan, const char *place,
                           const char *message)
{
    llf_program *p = NULL;
    char front[64];
    llf_status st = llf_plan_import(cx, g, NULL, plan, strlen(plan), "p.llf", &p);
    const llf_diagnostic *d = llf_last_error(cx);
    snprintf(front, sizeof front, "p.llf:%s: ", place);
    if (st != LLF_E_PLAN || d->status != LLF_E_PLAN || p || !strstr(d->message, message) ||
        (*place && strncmp(d->message, front, strlen(front))))
        fail_msg("wanted %s \"%s\", got %s: %s\n%s", place, message, llf_status_name(st), d->message, plan);
}

static void illegal_plans_are_refused_with_the_reason(void **state)
{
    (void)state;
    llf_context *cx = context();
    for (size_t i = 0; i < LLFI_COUNT(refusals); i++)
        expect_refused(cx, NULL, refusals[i].plan, refusals[i].place, refusals[i].message);
    llf_context_destroy(cx);
}

/* 40 flips of a sum of 40 values each: 2 x members + leaves + 32 demands do not hold them. */
static void too_many_maps_are_refused(void **state)
{
    (void)state;
    llf_context *cx = context();
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_str_puts(&s, "graph @m(%x: f32[100]) {\n  %v0 = exp %x !k0\n");
    for (int i = 1; i <= 12; i++)
        llfi_str_printf(&s,
                        "  %%a%d = slice %%v%d, at=[%d:]\n  %%b%d = slice %%v%d, at=[:%d]\n  %%v%d = mul "
                        "%%a%d, %%b%d !k0\n",
                        i, i - 1, i, i, i - 1, 100 - i * (i + 1) / 2, i, i, i);
    llfi_str_puts(&s, "  ret %v12\n}\n");
    expect_refused(cx, NULL, s.at, "38:10", "kernel k0, of %v12, cannot be made for host:");
    assert_non_null(strstr(llf_last_error(cx)->message, "too many values under different index maps"));
    llfi_str_free(&s);
    llf_context_destroy(cx);
}

/* ---- another graph */

static const char own[] =
    G "  %0 = mul %x, 2.0 !k0\n  %1 = add %0, %y !k0\n  %2 = slice %1, at=[1:]\n  %3 = exp %2 !k1\n"
      "  %4 = cast %z, dtype=f16 !k2\n  ret %3, %4\n}\n";
typedef struct {
    const char *graph, *place, *message;
} stale;
#define P "graph @other(%x: f32[N], %y: f32[N], %z: f32[M], %s: f32[]) {\n"
static const stale others[] = {
    {"graph @o(%x: f32[N]) {\n  %0 = exp %x\n  ret %0\n}\n", "1:1",
     "4 inputs in the plan and 1 in the graph"},
    {"graph @o(%x: f32[N], %y: f32[N], %z: f16[M], %s: f32[]) {\n  %0 = exp %x\n  ret %0\n}\n", "1:34",
     "input 2, %z, is f32[M] in the plan and f16[M] in the graph"},
    {"graph @o(%x: f32[N], %y: f32[N], %z: f32[M], %s: scalar f32) {\n  %0 = exp %x\n  ret %0\n}\n", "1:46",
     "input 3, %s, is f32[] in the plan and scalar f32[] in the graph"},
    {P "  %0 = mul %x, 3.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=f16\n  ret "
       "%3, %4\n}\n",
     "2:8", "%0 = mul: operand 2 is another value in the plan than in the graph"},
    {P "  %0 = mul %x, 2.0\n  %1 = sub %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=f16\n  ret "
       "%3, %4\n}\n",
     "3:8", "%1 is add in the plan and sub in the graph"},
    {P "  %0 = mul %x, 2.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[2:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=f16\n  ret "
       "%3, %4\n}\n",
     "4:8", "%2 = slice: at differs between the plan and the graph"},
    {P "  %0 = mul %x, 2.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=bf16\n  ret "
       "%3, %4\n}\n",
     "6:8", "%4 = cast: dtype differs between the plan and the graph"},
    {P "  %0 = mul %x, 2.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=f16\n  ret "
       "%4, %3\n}\n",
     "1:1", "output 0 is another value"},
    {P "  %0 = mul %x, 2.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  %4 = cast %z, "
       "dtype=f16\n  ret "
       "%3, %4, %1\n}\n",
     "1:1", "2 outputs in the plan and 3 in the graph"},
    {P "  %0 = mul %x, 2.0\n  %1 = add %0, %y\n  %2 = slice %1, at=[1:]\n  %3 = exp %2\n  ret %3\n}\n", "6:8",
     "5 operations in the plan and 4 in the graph"},
};

static void plans_for_another_graph_are_refused(void **state)
{
    (void)state;
    llf_context *cx = context();
    for (size_t i = 0; i < LLFI_COUNT(others); i++) {
        llf_graph *g = parse(cx, others[i].graph);
        expect_refused(cx, g, own, others[i].place, others[i].message);
        assert_non_null(strstr(llf_last_error(cx)->message, "the plan is for another graph: "));
        llf_graph_destroy(g);
    }
    llf_graph *c = parse(cx, "graph @o(%x: f32[N, N]) {\n  %0 = iota dtype=f32, shape=[N, N], axis=1\n  %1 = "
                             "add %x, %0\n  ret %1\n}\n");
    expect_refused(cx, c,
                   "graph @c(%x: f32[N, N]) {\n  %0 = iota dtype=f32, shape=[N, N], axis=0\n  %1 = add %x, "
                   "%0 !k0\n  ret %1\n}\n",
                   "2:8", "%0 = iota: dtype shape axis differs between the plan and the graph");
    llf_graph_destroy(c);
    /* Another name, other value names, a detour that simplification takes out: the same graph. */
    llf_graph *g = parse(
        cx,
        P "  %d = exp %z\n  %a = mul %x, 2.0\n  %b = add %a, %y\n  %c = slice %b, at=[1:]\n  %e = exp %c\n"
          "  %i = mul %z, 1.0\n  %f = cast %i, dtype=f16\n  ret %e, %f\n}\n");
    llf_program *p = NULL;
    if (llf_plan_import(cx, g, NULL, own, strlen(own), NULL, &p) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* ---- whatever the text is */

static uint32_t roll(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

/* Import up to the plan: making code of thousands of texts would take minutes. */
static void import_only(llf_context *cx, const llf_graph *g, const llfi_target *t, const char *text,
                        size_t bytes, uint32_t *taken)
{
    llf_graph *from = NULL;
    llfi_fuse_options fuse;
    llfi_plan plan;
    llf_options o = {.size = sizeof o};
    llfi_plan_init(&plan, &cx->mem);
    llf_status st = llfi_import_text(cx, &(llfi_import){text, bytes, "p.llf"}, &from);
    if (st == LLF_OK)
        st = llfi_import_options(from, &o, t, &fuse);
    if (st == LLF_OK)
        st = llfi_import_plan(from, g, &fuse, t, &plan);
    if (st == LLF_OK)
        ++*taken;
    if (st != LLF_OK && (st != LLF_E_PLAN || !llf_last_error(cx)->message[0]))
        fail_msg("%s: %s\n%.*s", llf_status_name(st), llf_last_error(cx)->message, (int)bytes, text);
    llfi_plan_destroy(&plan);
    llf_graph_destroy(from);
}

/* Bytes changed, cut, repeated: refused as no plan, or a plan. */
static void any_text_is_a_plan_or_refused(void **state)
{
    (void)state;
    static const char marks[] = "!k0123,%= \n[]:;fusepart";
    llf_context *cx = context();
    llf_graph *g = without_labels(cx, own);
    llfi_target t;
    assert_int_equal(llfi_target_make(cx, "host", &t), LLF_OK);
    size_t n = strlen(own);
    uint64_t seed = 7;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        char text[2 * sizeof own];
        size_t bytes = n;
        memcpy(text, own, n);
        if (i < n) {
            bytes = i; /* every cut */
        } else if (roll(&seed, 3) == 0) {
            size_t from = roll(&seed, (uint32_t)n), count = roll(&seed, (uint32_t)(n - from));
            memcpy(text + n, own + from, count);
            memmove(text + from + count, text + from, n - from);
            bytes = n + count;
        } else {
            for (uint32_t edits_left = 1 + roll(&seed, 3); edits_left; edits_left--)
                text[roll(&seed, (uint32_t)n)] = marks[roll(&seed, sizeof marks - 1)];
        }
        import_only(cx, i % 2 ? g : NULL, &t, text, bytes, &taken);
    }
    assert_true(taken > 20);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    test_memory m = {0};
    llf_allocator hooks = {test_resize, &m};
    llf_context *cx =
        llf_context_create(&(llf_context_options){.size = sizeof(llf_context_options), .allocator = &hooks});
    llf_graph *g = without_labels(cx, own);
    llf_options o = {.size = sizeof o, .target = "host", .compile_threads = 1};
    for (int alone = 0; alone < 2; alone++) {
        long long before = atomic_load(&m.live), tries = 0;
        for (bool done = false; !done; tries++) {
            llf_program *p = NULL;
            atomic_store(&m.failed, false);
            atomic_store(&m.fail_at, atomic_load(&m.calls) + tries + 1);
            llf_status st = llf_plan_import(cx, alone ? NULL : g, &o, own, strlen(own), NULL, &p);
            done = !atomic_load(&m.failed);
            atomic_store(&m.fail_at, 0);
            if (done ? st != LLF_OK : st != LLF_E_NOMEM)
                fail_msg("allocation %lld: %s: %s", tries, llf_status_name(st), llf_last_error(cx)->message);
            llf_program_destroy(p);
            if (atomic_load(&m.live) != before)
                fail_msg("allocation %lld leaves %lld bytes", tries,
                         (long long)atomic_load(&m.live) - before);
        }
        assert_true(tries > 100);
    }
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    assert_int_equal(atomic_load(&m.live), 0);
}

static void bad_calls(void **state)
{
    (void)state;
    llf_context *cx = context();
    llf_program *p = NULL;
    assert_int_equal(llf_plan_import(NULL, NULL, NULL, own, strlen(own), NULL, &p), LLF_E_ARG);
    assert_int_equal(llf_plan_import(cx, NULL, NULL, NULL, 0, NULL, &p), LLF_E_ARG);
    assert_int_equal(llf_plan_import(cx, NULL, NULL, own, strlen(own), NULL, NULL), LLF_E_ARG);
    llf_options o = {.size = sizeof o, .heuristic = "best"};
    assert_int_equal(llf_plan_import(cx, NULL, &o, own, strlen(own), NULL, &p), LLF_E_ARG);
    o = (llf_options){.size = sizeof o, .target = "vulkan"};
    assert_int_equal(llf_plan_import(cx, NULL, &o, own, strlen(own), NULL, &p), LLF_E_TARGET);
    /* Options are stronger than the plan's line. */
    static const char two[] = "; plan graph=0 llfuse=0.0.1 max_kernel_nodes=2\n" G
                              "  %0 = exp %x !k0\n  %1 = neg %0 !k0\n  ret %1\n}\n";
    o = (llf_options){.size = sizeof o, .set = "max_kernel_nodes=1"};
    assert_int_equal(llf_plan_import(cx, NULL, &o, two, strlen(two), NULL, &p), LLF_E_PLAN);
    assert_int_equal(llf_plan_import(cx, NULL, NULL, two, strlen(two), NULL, &p), LLF_OK);
    llf_program_destroy(p);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_exported_comes_back),
        cmocka_unit_test(legal_edits_are_taken),
        cmocka_unit_test(illegal_plans_are_refused_with_the_reason),
        cmocka_unit_test(too_many_maps_are_refused),
        cmocka_unit_test(plans_for_another_graph_are_refused),
        cmocka_unit_test(any_text_is_a_plan_or_refused),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
