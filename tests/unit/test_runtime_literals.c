/* test_runtime_literals.c: a constant computes the same bits whatever it comes as: literals (folded or not),
 * scalars, tensors, or a tensor beside a literal (where rules of simplify may fire). Every op of ops.def on
 * every dtype it takes, over hostile operands. No expected value is written down: four roads must agree. */
#include "runtime_util.h"

#include "ir/float.h"

#define VALUES 14
#define MOST (VALUES * VALUES * VALUES)

/* As f64; each dtype takes what it can make of them. Its own limits, and a NaN with a payload, are added. */
static const double few[] = {0.0, -0.0, 1.0, -1.0, 1.0 / 3, -2.5, 1e300, -1e300};

typedef struct {
    llf_op op;
    llf_dtype dtype;
    uint64_t attr;
    uint32_t values[3];
    uint64_t value[3][VALUES];
} subject;

static uint32_t values_of(llf_dtype t, uint32_t most, uint64_t *out)
{
    static const uint64_t floats[][4] = {
        /* least subnormal, greatest subnormal, greatest, NaN with a payload */
        [LLF_F64] = {1, 0xFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000123},
        [LLF_F32] = {1, 0x7FFFFF, 0x7F7FFFFF, 0xFFC00123},
        [LLF_F16] = {1, 0x3FF, 0x7BFF, 0xFE12},
        [LLF_BF16] = {1, 0x7F, 0x7F7F, 0xFFC5}};
    static const int64_t ints[] = {0, INT64_MIN, INT32_MIN, -1, 1, INT32_MAX, INT64_MAX, 2, -7, 46341, 65521};
    uint32_t n = 0;
    if (llfi_dtypes[t].kind == LLFI_KIND_FLOAT) {
        for (uint32_t i = 0; i < 4; i++)
            out[n++] = floats[t][i];
        for (uint32_t i = 0; i < LLFI_COUNT(few); i++)
            out[n++] = llfi_bits_from_f64(t, few[i]);
    } else if (t == LLF_BOOL) {
        out[n++] = 0;
        out[n++] = 1;
    } else {
        for (uint32_t i = 0; i < LLFI_COUNT(ints); i++)
            out[n++] = llfi_bits_from_i64(t, ints[i]);
    }
    return n < most ? n : most;
}

static llf_dtype operand(const subject *s, uint32_t i)
{
    return llfi_ops[s->op].sig[i] == 'b' ? LLF_BOOL : s->dtype;
}

static uint32_t combinations(const subject *s)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < llfi_ops[s->op].arity; i++)
        n *= s->values[i];
    return n;
}

/* Which value operand i of combination k has; the last operand changes fastest. */
static uint32_t operand_place(const subject *s, uint32_t k, uint32_t i)
{
    for (uint32_t a = i + 1; a < llfi_ops[s->op].arity && a < LLFI_COUNT(s->values); a++)
        k /= s->values[a];
    return k % s->values[i];
}

static uint64_t operand_bits(const subject *s, uint32_t k, uint32_t i)
{
    return s->value[i][operand_place(s, k, i)];
}

static llf_id build(const subject *s, llf_graph *g, const llf_id *arg)
{
    llf_id id = llfi_build(g, s->op, arg, s->attr, UINT32_MAX, (llfi_place){0});
    if (id == LLF_NONE)
        fail_msg("%s of %s: %s", llfi_ops[s->op].name, llf_dtype_name(s->dtype),
                 llf_last_error(g->cx)->message);
    return id;
}

static llf_id input(llf_graph *g, uint32_t i, llf_dtype dtype, int64_t n)
{
    char name[8];
    snprintf(name, sizeof name, "x%u", i);
    return n ? llf_input(g, name, dtype, 1, &n) : llf_scalar(g, name, dtype);
}

typedef struct {
    test_road r;
    uint32_t bound;
} road;

static road start(llf_context *cx, llf_graph *g)
{
    static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};
    road w = {.r = {.cx = cx, .g = g}};
    if (llf_compile(cx, g, &host, &w.r.p) || llf_program_load(cx, w.r.p, 1, &w.r.l) ||
        llf_execution_create(cx, w.r.l, &w.r.e))
        fail_msg("%s", llf_last_error(cx)->message);
    return w;
}

static void give(road *w, llf_dtype dtype, void *data, int64_t n)
{
    llf_tensor t = n ? test_vector(dtype, data, n) : test_scalar(dtype, data);
    assert_ok(w->r.e, llf_bind(w->r.e, w->bound++, &t));
}

static void run(road *w)
{
    assert_ok(w->r.e, llf_prepare(w->r.e));
    assert_ok(w->r.e, llf_run(w->r.e, NULL));
}

static void end(road *w)
{
    llf_execution_destroy(w->r.e);
    llf_loaded_destroy(w->r.l);
    llf_program_destroy(w->r.p);
    llf_graph_destroy(w->r.g);
}

/* ---- the four roads: each fills got[k] for every combination k */

static llf_dtype literals(const subject *s, llf_context *cx, uint64_t *got)
{
    static uint64_t out[MOST];
    uint32_t n = combinations(s);
    llf_graph *g = llf_graph_create(cx, "literals");
    llf_dtype to = s->dtype;
    for (uint32_t k = 0; k < n; k++) {
        llf_id arg[3];
        for (uint32_t i = 0; i < llfi_ops[s->op].arity; i++)
            arg[i] = llfi_build_const(g, operand(s, i), operand_bits(s, k, i));
        llf_id id = build(s, g, arg);
        to = llfi_dtype_of(g, id);
        assert_int_equal(llf_output(g, id), LLF_OK);
    }
    road w = start(cx, g);
    for (uint32_t k = 0; k < n; k++)
        give(&w, to, &out[k], 0);
    run(&w);
    for (uint32_t k = 0; k < n; k++)
        got[k] = llfi_bits_load(to, &out[k]);
    end(&w);
    return to;
}

static void scalars(const subject *s, llf_context *cx, llf_dtype to, uint64_t *got)
{
    uint32_t n = combinations(s), arity = llfi_ops[s->op].arity;
    uint64_t value[3] = {0}, out = 0;
    llf_graph *g = llf_graph_create(cx, "scalars");
    llf_id arg[3];
    for (uint32_t i = 0; i < arity; i++)
        arg[i] = input(g, i, operand(s, i), 0);
    assert_int_equal(llf_output(g, build(s, g, arg)), LLF_OK);
    road w = start(cx, g);
    for (uint32_t k = 0; k < n; k++) {
        w.bound = 0;
        for (uint32_t i = 0; i < arity; i++) {
            llfi_bits_store(operand(s, i), &value[i], operand_bits(s, k, i));
            give(&w, operand(s, i), &value[i], 0);
        }
        give(&w, to, &out, 0);
        run(&w);
        got[k] = llfi_bits_load(to, &out);
    }
    end(&w);
}

/* Operand `literal` (or none: UINT32_MAX) is a literal, the others are tensors; an output for each value of
 * the literal, as the others' combinations are the same for all. */
static void tensors(const subject *s, llf_context *cx, llf_dtype to, uint32_t literal, uint64_t *got)
{
    static uint64_t in[3][MOST], out[VALUES][MOST];
    uint32_t arity = llfi_ops[s->op].arity, n = 0, values = literal < arity ? s->values[literal] : 1;
    static uint32_t which[VALUES][MOST];
    for (uint32_t v = 0; v < values; v++) {
        n = 0;
        for (uint32_t k = 0; k < combinations(s); k++) {
            if (literal < arity && operand_place(s, k, literal) != v)
                continue;
            for (uint32_t i = 0; i < arity; i++)
                llfi_bits_store(operand(s, i), (char *)in[i] + n * llf_dtype_size(operand(s, i)),
                                operand_bits(s, k, i));
            which[v][n++] = k;
        }
    }
    llf_graph *g = llf_graph_create(cx, "tensors");
    llf_id arg[3];
    for (uint32_t i = 0; i < arity; i++)
        arg[i] = i == literal ? LLF_NONE : input(g, i, operand(s, i), (int64_t)n);
    for (uint32_t v = 0; v < values; v++) {
        if (literal < arity)
            arg[literal] = llfi_build_const(g, operand(s, literal), s->value[literal][v]);
        assert_int_equal(llf_output(g, build(s, g, arg)), LLF_OK);
    }
    road w = start(cx, g);
    for (uint32_t i = 0; i < arity; i++)
        if (i != literal)
            give(&w, operand(s, i), in[i], (int64_t)n);
    for (uint32_t v = 0; v < values; v++)
        give(&w, to, out[v], (int64_t)n);
    run(&w);
    for (uint32_t v = 0; v < values; v++)
        for (uint32_t k = 0; k < n; k++)
            got[which[v][k]] = llfi_bits_load(to, (char *)out[v] + k * llf_dtype_size(to));
    end(&w);
}

static void agree(const subject *s, llf_dtype to, const uint64_t *a, const uint64_t *b, const char *way)
{
    for (uint32_t k = 0; k < combinations(s); k++) {
        bool nans =
            llfi_dtypes[to].kind == LLFI_KIND_FLOAT && llfi_bits_nan(to, a[k]) && llfi_bits_nan(to, b[k]);
        if (a[k] == b[k] || nans)
            continue;
        fail_msg("%s of %s (to %s): literals give 0x%llx, %s 0x%llx; operands 0x%llx 0x%llx 0x%llx",
                 llfi_ops[s->op].name, llf_dtype_name(s->dtype), llf_dtype_name(to), (unsigned long long)a[k],
                 way, (unsigned long long)b[k], (unsigned long long)operand_bits(s, k, 0),
                 (unsigned long long)(llfi_ops[s->op].arity > 1 ? operand_bits(s, k, 1) : 0),
                 (unsigned long long)(llfi_ops[s->op].arity > 2 ? operand_bits(s, k, 2) : 0));
    }
}

static void check(llf_context *cx, llf_op op, llf_dtype dtype, uint64_t attr)
{
    static uint64_t want[MOST], got[MOST];
    subject s = {.op = op, .dtype = dtype, .attr = attr};
    uint32_t arity = llfi_ops[op].arity;
    for (uint32_t i = 0; i < arity; i++)
        s.values[i] = values_of(operand(&s, i), arity == 3 ? 5 : VALUES, s.value[i]);
    llf_dtype to = literals(&s, cx, want);
    scalars(&s, cx, to, got);
    agree(&s, to, want, got, "scalars");
    tensors(&s, cx, to, UINT32_MAX, got);
    agree(&s, to, want, got, "tensors");
    for (uint32_t i = 0; arity > 1 && i < arity; i++) {
        tensors(&s, cx, to, i, got);
        agree(&s, to, want, got, "tensors beside a literal");
    }
}

static void one_class(llfi_class cls, bool exact)
{
    llf_context *cx = llf_context_create(NULL);
    assert_non_null(cx);
    uint32_t checked = 0;
    for (int op = 0; op < LLF_OPS; op++)
        for (int dtype = 0; dtype < LLF_DTYPES; dtype++) {
            const llfi_op_info *o = &llfi_ops[op];
            uint64_t attrs = o->attr == LLFI_ATTR_DTYPE         ? LLF_DTYPES
                             : o->attr == LLFI_ATTR_APPROXIMATE ? 2
                                                                : 1;
            bool wanted = o->cls == cls && (cls != LLFI_CLASS_EW || exact == !!(o->flags & LLF_F_EXACT));
            wanted = wanted && llfi_attr_kind_of(o->attr) != LLFI_ATTR_KIND_SETTINGS; /* these want axes */
            for (uint64_t a = 0; wanted && llfi_set_has(o->set, (llf_dtype)dtype) && a < attrs;
                 a++, checked++)
                check(cx, (llf_op)op, (llf_dtype)dtype, a);
        }
    assert_true(checked > 15);
    llf_context_destroy(cx);
}

static void exact_ops(void **state)
{
    (void)state;
    one_class(LLFI_CLASS_EW, true);
}

static void functions(void **state)
{
    (void)state;
    one_class(LLFI_CLASS_EW, false);
}

static void composites(void **state)
{
    (void)state;
    one_class(LLFI_CLASS_COMPOSITE, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_ops),
        cmocka_unit_test(functions),
        cmocka_unit_test(composites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
