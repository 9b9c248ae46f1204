/* test_interp_view.c: views and broadcasting in the interpreter against numpy (tests/data/views.txt, written
 * by make_views.py), whole and element by element; guards; and 20 stacked x + roll-like views, which must not
 * be exponential. */
#include "interp/interp.h"
#include "ir/float.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_arena arena;
    int64_t symbol[8];
    const void *data[4];
    void **value;
    const char *at; /* the expected lines */
} check;

/* "case N=3 M=1": in the order of names, which is not the graph's. */
static void bind(check *c, const char *line)
{
    for (uint32_t k = 0; k < llfi_dims_symbols(c->g->dims); k++) {
        char want[16];
        snprintf(want, sizeof want, " %s=", llfi_dims_symbol_name(c->g->dims, k));
        const char *at = strstr(line, want);
        assert_non_null(at);
        c->symbol[k] = strtoll(at + strlen(want), NULL, 10);
    }
}

static int64_t elements(const check *c, llf_id id)
{
    llfi_type t = llfi_type_of(c->g, id);
    int64_t n = 1, e;
    for (uint32_t i = 0; i < t.rank; i++) {
        assert_true(llfi_dim_eval(c->g->dims, t.dim[i], c->symbol, &e));
        n *= e;
    }
    return n;
}

static void fill(check *c)
{
    for (uint32_t i = 0; i < c->g->inputs.count; i++) {
        int64_t n = elements(c, c->g->inputs.at[i]);
        float *x = llfi_arena_alloc(&c->arena, (size_t)n * sizeof *x + 1);
        for (int64_t k = 0; k < n; k++)
            x[k] = (float)(k + 100 * i);
        c->data[i] = x;
    }
}

/* "= shape : values" of output `o`. */
static void compare(check *c, size_t o)
{
    llf_id id = c->g->outputs.at[o];
    llfi_type t = llfi_type_of(c->g, id);
    char *end;
    assert_true(c->at[0] == '=');
    c->at++;
    for (uint32_t i = 0; i < t.rank; i++) {
        int64_t have;
        assert_true(llfi_dim_eval(c->g->dims, t.dim[i], c->symbol, &have));
        assert_int_equal(have, strtoll(c->at, &end, 10));
        c->at = end;
    }
    c->at += strspn(c->at, " ");
    assert_true(c->at[0] == ':');
    c->at++;
    for (int64_t n = elements(c, id), at = 0; at < n; at++) {
        float want = (float)strtoll(c->at, &end, 10), got = ((const float *)c->value[id])[at];
        uint64_t bits;
        assert_true(end != c->at);
        c->at = end;
        if (got != want)
            fail_msg("output %zu, element %lld: %g, numpy has %g", o, (long long)at, (double)got,
                     (double)want);
        assert_int_equal(llfi_interp_at(c->g, c->symbol, c->data, &c->arena, &id, 1, at, &bits), LLF_OK);
        assert_true(bits == llfi_bits_from_f64(LLF_F32, (double)want));
    }
    c->at += strcspn(c->at, "\n") + 1;
}

static void numpy_agrees(void **state)
{
    (void)state;
    check c = {.cx = llf_context_create(NULL)};
    char *text;
    size_t bytes, cases = 0;
    assert_int_equal(llfi_read_file(&c.cx->mem, &c.cx->diag, LLFUSE_SOURCE_DIR "/tests/data/views.txt",
                                    1 << 24, &text, &bytes),
                     LLF_OK);
    for (const char *at = text; at < text + bytes; cases++) {
        assert_memory_equal(at, "case", 4);
        const char *graph = strchr(at, '\n') + 1, *end = strstr(graph, "}\n") + 2;
        if (llf_graph_parse(c.cx, graph, (size_t)(end - graph), "views", &c.g) != LLF_OK)
            fail_msg("case %zu: %s", cases, llf_last_error(c.cx)->message);
        char line[64];
        snprintf(line, sizeof line, "%.*s", (int)(graph - 1 - at), at);
        bind(&c, line);
        llfi_arena_init(&c.arena, &c.cx->mem);
        fill(&c);
        c.value = llfi_arena_alloc(&c.arena, c.g->nodes.count * sizeof *c.value);
        if (llfi_interp(c.g, c.symbol, c.data, &c.arena, c.value) != LLF_OK)
            fail_msg("case %zu: %s", cases, llf_last_error(c.cx)->message);
        c.at = end;
        for (size_t o = 0; o < c.g->outputs.count; o++)
            compare(&c, o);
        assert_memory_equal(c.at, "end\n", 4);
        at = c.at + 4;
        llfi_arena_destroy(&c.arena);
        llf_graph_destroy(c.g);
    }
    assert_int_equal(cases, 118);
    llfi_free(&c.cx->mem, text, bytes + 1);
    llf_context_destroy(c.cx);
}

static void guards_hold_or_are_told(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = NULL;
    const char text[] = "graph @g(%x: f32[N], %y: f32[M]) {\n  %0 = add %x, %y\n  ret %0\n}\n";
    const float x[] = {1, 2, 3};
    const void *data[] = {x, x};
    void *value[3];
    uint64_t bits;
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), "t", &g), LLF_OK);
    assert_int_equal(llfi_interp(g, (const int64_t[]){3, 3}, data, &arena, value), LLF_OK);
    assert_true(((float *)value[2])[2] == 6);
    /* Neither is an extent of 1 that only run time knows stretched. */
    assert_int_equal(llfi_interp(g, (const int64_t[]){3, 1}, data, &arena, value), LLF_E_GUARD);
    assert_int_equal(llfi_interp_at(g, (const int64_t[]){3, 2}, data, &arena, g->outputs.at, 1, 0, &bits),
                     LLF_E_GUARD);
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

/* y = y + flip(y), y = y + permute(y), 40 times: one element wants at most every element of every node. */
static void deep_views_are_not_exponential(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, NULL);
    const int64_t two[] = {2, 2}, swap[] = {1, 0}, zero[] = {0};
    const float x[] = {1, 2, 3, 4};
    const void *data[] = {x};
    llf_id y = llf_input(g, "x", LLF_F32, 2, two);
    double want[4] = {1, 2, 3, 4};
    for (int i = 0; i < 20; i++) {
        llf_id f = llf_flip(g, y, 1, zero);
        y = llf_add(g, y, f);
        llf_id p = llf_permute(g, y, swap);
        y = llf_add(g, y, p);
        double r[4] = {want[0] + want[2], want[1] + want[3], want[2] + want[0], want[3] + want[1]};
        for (int k = 0; k < 4; k++)
            want[k] = r[k] + r[k % 2 * 2 + k / 2];
    }
    assert_int_equal(llf_output(g, y), LLF_OK);
    llfi_arena arena;
    llfi_arena_init(&arena, &cx->mem);
    for (int64_t at = 0; at < 4; at++) {
        uint64_t bits;
        assert_int_equal(llfi_interp_at(g, NULL, data, &arena, &y, 1, at, &bits), LLF_OK);
        assert_true(llfi_bits_to_f64(LLF_F32, bits) == want[at]); /* small integers times powers of two */
    }
    llfi_arena_destroy(&arena);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numpy_agrees),
                                       cmocka_unit_test(guards_hold_or_are_told),
                                       cmocka_unit_test(deep_views_are_not_exponential)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
