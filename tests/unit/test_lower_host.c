/* Each EXACT op on the CPU, in vectors and in the tail, against results from exact arithmetic
 * (lower_cases.py), and ranges, lengths and rank-0 values of the host skeleton. */
#include "lower_graph.h"

#include "ir/float.h"
#include "lower_run.h"

typedef struct {
    llf_op op;
    llf_dtype from, to;
    uint64_t arg[3], want;
} exact_case;
static const exact_case cases[] = {
#define CASE(op, from, to, a, b, c, want) {LLF_OP_##op, LLF_##from, LLF_##to, {a, b, c}, want},
#include "lower_cases.def"
#undef CASE
};

/* n elements, so that each case meets vector lanes and the tail loop. */
#define N 1013

static bool same(llf_dtype t, uint64_t a, uint64_t b)
{
    return a == b || (llfi_bits_nan(t, a) && llfi_bits_nan(t, b));
}

static void run_group(const exact_case *c, size_t count)
{
    static uint64_t in[3][N], out[N];
    static const char *const name[] = {"a", "b", "c"};
    fixture f = fixture_make();
    llf_id arg[3];
    const void *data[3];
    uint32_t arity = llfi_ops[c->op].arity;
    for (uint32_t a = 0; a < arity; a++) {
        llf_dtype t = c->op == LLF_OP_WHERE && a == 0 ? LLF_BOOL : c->from;
        arg[a] = input(&f, name[a], t);
        data[a] = in[a];
        for (size_t i = 0; i < N; i++)
            llfi_bits_store(t, (char *)in[a] + i * llfi_dtypes[t].bytes, c[i * 7 % count].arg[a]);
    }
    llf_id r =
        llfi_build(f.g, c->op, arg, c->op == LLF_OP_CAST ? (uint64_t)c->to : 0, UINT32_MAX, (llfi_place){0});
    assert_int_equal(llf_output(f.g, r), LLF_OK);
    run_host(&f, N, data, (void *[]){out});
    for (size_t i = 0; i < N; i++) {
        const exact_case *k = &c[i * 7 % count];
        uint64_t got = llfi_bits_load(k->to, (char *)out + i * llfi_dtypes[k->to].bytes);
        if (!same(k->to, got, k->want))
            fail_msg("element %zu: %s %s->%s of %llx %llx %llx gave %llx, not %llx", i, llfi_ops[k->op].name,
                     llf_dtype_name(k->from), llf_dtype_name(k->to), (unsigned long long)k->arg[0],
                     (unsigned long long)k->arg[1], (unsigned long long)k->arg[2], (unsigned long long)got,
                     (unsigned long long)k->want);
    }
    fixture_free(&f);
}

static void exact_ops_give_the_exact_bits(void **state)
{
    (void)state;
    static exact_case group[512];
    bool done[LLFI_COUNT(cases)] = {false};
    for (size_t i = 0; i < LLFI_COUNT(cases); i++) {
        size_t count = 0;
        for (size_t k = i; k < LLFI_COUNT(cases) && !done[i]; k++)
            if (cases[k].op == cases[i].op && cases[k].from == cases[i].from && cases[k].to == cases[i].to) {
                assert_true(count < LLFI_COUNT(group));
                group[count++] = cases[k];
                if (k > i)
                    done[k] = true;
            }
        if (count)
            run_group(group, count);
    }
}

/* Elements outside the range are left alone, at every length around the vector width. */
static void every_length_writes_exactly_its_elements(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 70; n++) {
        float in[80], out[80];
        const void *data[] = {in};
        for (int i = 0; i < 80; i++) {
            in[i] = (float)i;
            out[i] = -7;
        }
        fixture f = fixture_make();
        llf_id x = input(&f, "x", LLF_F32);
        assert_int_equal(llf_output(f.g, llf_add(f.g, x, x)), LLF_OK);
        run_host(&f, n, data, (void *[]){out});
        for (int i = 0; i < 80; i++)
            assert_true(out[i] == (i < n ? (float)(2 * i) : -7));
        fixture_free(&f);
    }
}

/* SEMANTICS B04 and B02: separate roundings, also inside one kernel. */
static void fused_chains_round_at_every_step(void **state)
{
    (void)state;
    float x[40], y[40];
    uint16_t h[40], e[40];
    for (int i = 0; i < 40; i++) {
        x[i] = 1e10f;
        h[i] = 0x4380; /* bf16 256 */
    }
    fixture f = fixture_make();
    llf_id a = llf_const(f.g, LLF_F32, 1e20), b = llf_const(f.g, LLF_F32, -1e20), v = input(&f, "x", LLF_F32);
    assert_int_equal(llf_output(f.g, llf_add(f.g, llf_mul(f.g, a, v), llf_mul(f.g, b, v))), LLF_OK);
    run_host(&f, 40, (const void *[]){x}, (void *[]){y});
    for (int i = 0; i < 40; i++)
        assert_true(y[i] == 0);
    fixture_free(&f);
    f = fixture_make();
    llf_id u = input(&f, "u", LLF_BF16), one = llf_const(f.g, LLF_BF16, 1);
    llf_id s = llf_add(f.g, u, one);
    assert_int_equal(llf_output(f.g, llf_sub(f.g, one, llf_sub(f.g, s, u))), LLF_OK);
    run_host(&f, 40, (const void *[]){h}, (void *[]){e});
    for (int i = 0; i < 40; i++)
        assert_int_equal(e[i], 0x3f80); /* 1: 256 + 1 rounds back to 256 */
    fixture_free(&f);
}

/* A 16-bit result is rounded before a consumer in the same kernel sees it (SEMANTICS B02: x / 3 in bf16). */
static void consumers_see_rounded_16_bit_values(void **state)
{
    (void)state;
    const struct {
        llf_op op;
        uint16_t x;  /* bf16 */
        float other; /* second operand */
        float want;  /* nearest bf16 to the exact result */
    } all[] = {
        {LLF_OP_DIV, 0x447a, 3, 334},                /* 1000 / 3 */
        {LLF_OP_DIV, 0x3f80, 3, 0.333984375f},       /* 1 / 3 */
        {LLF_OP_MUL, 0x3f81, 1.0078125f, 1.015625f}, /* 1.0078125 squared */
        {LLF_OP_ADD, 0x4380, 1, 256},                /* 256 + 1: a tie, to even */
        {LLF_OP_SUB, 0x4380, 0.25f, 256},            /* 255.75: halves above 128 */
        {LLF_OP_SQRT, 0x4000, 0, 1.4140625f},
        {LLF_OP_EXP, 0x3f80, 0, 2.71875f},
    };
    for (size_t c = 0; c < LLFI_COUNT(all); c++) {
        uint16_t x[40];
        float y[40];
        for (int i = 0; i < 40; i++)
            x[i] = all[c].x;
        fixture f = fixture_make();
        llf_id arg[2] = {input(&f, "x", LLF_BF16), llf_const(f.g, LLF_BF16, (double)all[c].other)};
        llf_id r = llfi_build(f.g, all[c].op, arg, 0, UINT32_MAX, (llfi_place){0});
        assert_int_equal(llf_output(f.g, llf_cast(f.g, r, LLF_F32)), LLF_OK);
        run_host(&f, 40, (const void *[]){x}, (void *[]){y});
        for (int i = 0; i < 40; i++)
            if (y[i] != all[c].want)
                fail_msg("%s: %a, not %a", llfi_ops[all[c].op].name, (double)y[i], (double)all[c].want);
        fixture_free(&f);
    }
}

/* Scalars, rank-0 tensors and a rank-0 result beside a tensor, with and without elements. */
static void rank_0_values_meet_tensors(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n += 13) {
        float x[40], r = 3, out0 = -7, out1[40];
        for (int i = 0; i < 40; i++)
            x[i] = (float)i;
        float scalar = 2;
        fixture f = fixture_make();
        llf_id v = input(&f, "x", LLF_F32), t = llf_input(f.g, "r", LLF_F32, 0, NULL);
        llf_id s = llf_scalar(f.g, "s", LLF_F32), k = llf_mul(f.g, t, s);
        assert_int_equal(llf_output(f.g, k), LLF_OK);
        assert_int_equal(llf_output(f.g, llf_add(f.g, v, k)), LLF_OK);
        run_host(&f, n, (const void *[]){x, &r, &scalar}, (void *[]){&out0, out1});
        assert_true(out0 == 6);
        for (int i = 0; i < n; i++)
            assert_true(out1[i] == (float)i + 6);
        fixture_free(&f);
    }
    float a = 5, y = 0;
    fixture f = fixture_make();
    llf_id z = llf_input(f.g, "a", LLF_F32, 0, NULL);
    assert_int_equal(llf_output(f.g, llf_neg(f.g, z)), LLF_OK);
    run_host(&f, 0, (const void *[]){&a}, (void *[]){&y});
    assert_true(y == -5);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_ops_give_the_exact_bits),
        cmocka_unit_test(every_length_writes_exactly_its_elements),
        cmocka_unit_test(fused_chains_round_at_every_step),
        cmocka_unit_test(consumers_see_rounded_16_bit_values),
        cmocka_unit_test(rank_0_values_meet_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
