/* What stands in the PTX of pointwise kernels: counts and absences, never whole texts, since LLVM's text
 * drifts. */
#include "lower_graph.h"

static llf_status compile(fixture *f, const char *target_text, llfi_code *code, llfi_schedule *s)
{
    llfi_target target;
    llfi_plan plan = {.kernel = &f->kernel, .kernels = 1};
    llfi_module m;
    assert_int_equal(llfi_target_make(f->cx, target_text, &target), LLF_OK);
    assert_int_equal(llfi_schedule_make(f->cx, f->g, &plan, 0, &target, &f->arena, s), LLF_OK);
    LLF_TRY(llfi_lower_kernel(f->g, &f->kernel, s, &target, "kernel", &f->arena, &f->cx->diag, &m));
    llf_status status =
        target.backend->compile(&f->cx->diag, &target, &f->cx->mem, m.module, code, NULL, NULL);
    llfi_module_destroy(&m);
    return status;
}

static char *ptx_of(fixture *f, llf_id space, const char *target)
{
    llfi_code code;
    llfi_schedule s;
    whole(f, space);
    llf_status status = compile(f, target, &code, &s);
    if (status != LLF_OK)
        print_message("%s\n", llf_last_error(f->cx)->message);
    assert_int_equal(status, LLF_OK);
    char *copy = llfi_arena_copy(&f->arena, code.code, code.bytes);
    assert_non_null(copy);
    llfi_free(&f->cx->mem, code.code, code.bytes + 1);
    return copy;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

static bool no_nvptx(void)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target t;
    bool none = llfi_target_make(cx, "nvptx:sm_90a", &t) == LLF_E_TARGET;
    llf_context_destroy(cx);
    return none;
}

#define NEED_NVPTX()                                              \
    if (no_nvptx()) {                                             \
        print_message("SKIPPED: built without a CUDA toolkit\n"); \
        skip();                                                   \
    }

static void a_vector_is_one_load_and_one_store(void **state)
{
    (void)state;
    NEED_NVPTX();
    const llf_dtype t[] = {LLF_F32, LLF_BF16, LLF_F16, LLF_I32};
    for (size_t i = 0; i < LLFI_COUNT(t); i++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", t[i]), w = input(&f, "w", t[i]), b = input(&f, "b", t[i]);
        assert_int_equal(llf_output(f.g, llf_add(f.g, llf_mul(f.g, x, w), b)), LLF_OK);
        const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
        assert_int_equal(count(ptx, "ld.global.v4"), 3);
        assert_int_equal(count(ptx, "st.global.v4"), 1);
        assert_int_equal(count(ptx, "ld.global."), 6); /* and the element path */
        assert_int_equal(count(ptx, "st.global."), 2);
        assert_int_equal(count(ptx, ".local"), 0);
        assert_true(strstr(ptx, ".entry kernel(") != NULL);
        fixture_free(&f);
    }
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F64);
    assert_int_equal(llf_output(f.g, llf_neg(f.g, x)), LLF_OK);
    const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
    assert_int_equal(count(ptx, "ld.global.v2"), 1);
    assert_int_equal(count(ptx, "st.global.v2"), 1);
    fixture_free(&f);
}

/* Elements of 4 bytes beside elements of 2: eight of each, the larger in two instructions. */
static void mixed_widths_stay_vectors(void **state)
{
    (void)state;
    NEED_NVPTX();
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_BF16);
    assert_int_equal(llf_output(f.g, llf_cast(f.g, x, LLF_F32)), LLF_OK);
    const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
    assert_int_equal(count(ptx, "ld.global.v4"), 1);
    assert_int_equal(count(ptx, "st.global.v4"), 2);
    assert_int_equal(count(ptx, "st.global."), 3);
    fixture_free(&f);
}

/* SEMANTICS B04: a*x + b*x with separate roundings. */
static void strict_arithmetic_is_not_contracted(void **state)
{
    (void)state;
    NEED_NVPTX();
    const llf_dtype t[] = {LLF_F32, LLF_F64, LLF_F16, LLF_BF16};
    for (size_t i = 0; i < LLFI_COUNT(t); i++) {
        fixture f = fixture_make();
        llf_id a = llf_scalar(f.g, "a", t[i]), b = llf_scalar(f.g, "b", t[i]), x = input(&f, "x", t[i]);
        llf_id y = llf_add(f.g, llf_mul(f.g, a, x), llf_mul(f.g, b, x));
        assert_int_equal(llf_output(f.g, y), LLF_OK);
        const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
        if (t[i] != LLF_BF16) /* bf16 products are made by fma with -0, which rounds once */
            assert_int_equal(count(ptx, "fma."), 0);
        assert_int_equal(count(ptx, ".ftz"), 0);
        assert_int_equal(count(ptx, ".approx"), 0);
        if (t[i] == LLF_F32) {
            assert_int_equal(count(ptx, "mul.rn.f32"), 2 * (4 + 1));
            assert_int_equal(count(ptx, "add.rn.f32"), 4 + 1);
        }
        fixture_free(&f);
    }
}

static void fma_is_one_instruction(void **state)
{
    (void)state;
    NEED_NVPTX();
    fixture f = fixture_make();
    llf_id a = input(&f, "a", LLF_F32), b = input(&f, "b", LLF_F32), c = input(&f, "c", LLF_F32);
    assert_int_equal(llf_output(f.g, llf_fma(f.g, a, b, c)), LLF_OK);
    assert_int_equal(count(ptx_of(&f, a, "nvptx:sm_90a"), "fma.rn.f32"), 4 + 1);
    fixture_free(&f);
}

/* Scope 0 is made once, in the entry block: one multiplication, not one per element. */
static void uniform_values_are_made_once(void **state)
{
    (void)state;
    NEED_NVPTX();
    fixture f = fixture_make();
    llf_id a = llf_scalar(f.g, "a", LLF_F32), r = llf_input(f.g, "r", LLF_F32, 0, NULL);
    llf_id x = input(&f, "x", LLF_F32), k = llf_mul(f.g, a, r);
    assert_int_equal(llf_output(f.g, llf_add(f.g, x, k)), LLF_OK);
    const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
    assert_int_equal(count(ptx, "mul.rn.f32"), 1);
    assert_int_equal(count(ptx, "add.rn.f32"), 4 + 1);
    fixture_free(&f);
}

/* A rank-0 value that is itself wanted is stored once, by one thread. */
static void a_rank_0_value_is_stored_beside_the_tensor(void **state)
{
    (void)state;
    NEED_NVPTX();
    fixture f = fixture_make();
    llf_id a = llf_scalar(f.g, "a", LLF_F32), x = input(&f, "x", LLF_F32), k = llf_neg(f.g, a);
    assert_int_equal(llf_output(f.g, k), LLF_OK);
    assert_int_equal(llf_output(f.g, llf_add(f.g, x, k)), LLF_OK);
    const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
    assert_int_equal(count(ptx, "st.global."), 1 + 1 + 1);
    fixture_free(&f);
}

static llf_id one_op(fixture *f, llf_op op, llf_dtype t)
{
    llf_id arg[3] = {LLF_NONE, LLF_NONE, LLF_NONE};
    static const char *const name[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < llfi_ops[op].arity; i++)
        arg[i] = input(f, name[i], op == LLF_OP_WHERE && i == 0 ? LLF_BOOL : t);
    return llfi_build(f->g, op, arg, 0, UINT32_MAX, (llfi_place){0});
}

/* Nothing unselectable reaches LLVM, whatever the op, dtype and architecture. */
static void every_op_of_every_dtype_compiles(void **state)
{
    (void)state;
    NEED_NVPTX();
    static const llf_op ops[] = {
#define EW(id, ...) LLF_OP_##id,
#include "llfuse/ops.def"
    };
    static const char *const targets[] = {"nvptx:sm_75", "nvptx:sm_80", "nvptx:sm_90a"};
    for (size_t i = 0; i < LLFI_COUNT(ops); i++)
        for (int t = 0; t < LLF_DTYPES; t++) {
            if (ops[i] == LLF_OP_CAST || !llfi_set_has(llfi_ops[ops[i]].set, (llf_dtype)t))
                continue;
            fixture f = fixture_make();
            llf_id r = one_op(&f, ops[i], (llf_dtype)t);
            assert_int_equal(llf_output(f.g, r), LLF_OK);
            const char *ptx = ptx_of(&f, 0, targets[(i + (size_t)t) % 3]);
            assert_true(strstr(ptx, ".entry kernel(") != NULL);
            /* approximations flush where nothing subnormal can come: in libdevice, and in div.c, which are
             * refined */
            if ((llfi_ops[ops[i]].flags & LLF_F_EXACT) && ops[i] != LLF_OP_DIV && ops[i] != LLF_OP_SQRT)
                assert_int_equal(count(ptx, ".ftz"), 0);
            fixture_free(&f);
        }
}

static void every_cast_compiles(void **state)
{
    (void)state;
    NEED_NVPTX();
    static const char *const targets[] = {"nvptx:sm_75", "nvptx:sm_90a"};
    for (int from = 0; from < LLF_DTYPES; from++)
        for (int to = 0; to < LLF_DTYPES; to++) {
            fixture f = fixture_make();
            llf_id x = input(&f, "x", (llf_dtype)from);
            assert_int_equal(llf_output(f.g, llf_cast(f.g, x, (llf_dtype)to)), LLF_OK);
            const char *ptx = ptx_of(&f, x, targets[(from + to) % 2]);
            assert_true(strstr(ptx, ".entry kernel(") != NULL);
            fixture_free(&f);
        }
}

/* where(x < 0, 0, y) with y the same value in another dtype: LLVM draws the conversion out of a select that
 * it takes for a maximum, and then tests <= instead of <, which loses -0. No comparison may change. */
static void a_comparison_stays_what_it_is_beside_a_cast(void **state)
{
    (void)state;
    NEED_NVPTX();
    const llf_dtype t[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16};
    for (size_t i = 0; i < LLFI_COUNT(t) * LLFI_COUNT(t); i++) {
        llf_dtype from = t[i / LLFI_COUNT(t)], to = t[i % LLFI_COUNT(t)];
        fixture f = fixture_make();
        llf_id x = input(&f, "x", from), y = llf_cast(f.g, x, to), zero = llf_const(f.g, to, 0.0);
        llf_id c = llf_lt(f.g, x, llf_const(f.g, from, 0.0));
        assert_int_equal(llf_output(f.g, llf_where(f.g, c, zero, y)), LLF_OK);
        const char *ptx = ptx_of(&f, x, i % 2 ? "nvptx:sm_80" : "nvptx:sm_90a");
        assert_true(count(ptx, "setp.lt.f") > 0);
        assert_int_equal(count(ptx, "setp.le."), 0);
        assert_int_equal(count(ptx, "setp.gtu."), 0);
        assert_int_equal(count(ptx, "setp.gt.f"), 0);
        fixture_free(&f);
    }
}

/* ptxas evaluates ex2.approx of a constant with other bits than the device: a function never sees that its
 * operand is made of literals, or a kernel that loads the same number would disagree. */
static void functions_of_literals_are_left_to_the_device(void **state)
{
    (void)state;
    NEED_NVPTX();
    for (int literal = 0; literal < 3; literal++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", LLF_F32), k = llf_const_int(f.g, LLF_I32, -1);
        if (literal == 2)
            k = llf_neg(f.g, k);
        llf_id y = literal ? llf_exp(f.g, llf_cast(f.g, k, LLF_F32)) : llf_exp(f.g, x);
        assert_int_equal(llf_output(f.g, llf_add(f.g, x, y)), LLF_OK);
        const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
        assert_true(count(ptx, "ex2.approx") > 0);
        assert_int_equal(count(ptx, ", 63;"), literal ? 1 : 0);
        fixture_free(&f);
    }
}

/* bf16 sums, differences and products of bf16 values are single instructions for two lanes on sm_90; sm_80,
 * which lacks them, widens. */
static void bf16_arithmetic_is_native(void **state)
{
    (void)state;
    NEED_NVPTX();
    for (int i = 0; i < 2; i++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", LLF_BF16), y = input(&f, "y", LLF_BF16);
        llf_id z = llf_mul(f.g, llf_sub(f.g, llf_add(f.g, x, y), y), llf_const(f.g, LLF_BF16, 0.75));
        assert_int_equal(llf_output(f.g, z), LLF_OK);
        const char *ptx = ptx_of(&f, x, i ? "nvptx:sm_80" : "nvptx:sm_90a");
        assert_int_equal(count(ptx, "add.rn.bf16x2"), i ? 0 : 4);
        assert_int_equal(count(ptx, "sub.rn.bf16x2"), i ? 0 : 4);
        assert_int_equal(count(ptx, "mul.rn.bf16x2"), i ? 0 : 4);
        fixture_free(&f);
    }
}

/* 1 + exp2(x): a subnormal power is lost in the sum, so its scaling is left out; not where the power itself
 * is wanted, nor where the literal is small. */
static void powers_that_a_sum_absorbs_need_no_subnormals(void **state)
{
    (void)state;
    NEED_NVPTX();
    for (int i = 0; i < 5; i++) {
        fixture f = fixture_make();
        llf_id x = input(&f, "x", LLF_F32), e = llf_exp2(f.g, x);
        llf_id y = i == 1   ? llf_add(f.g, e, x)
                   : i == 2 ? llf_add(f.g, e, llf_const(f.g, LLF_F32, 1e-30))
                   : i == 3 ? llf_mul(f.g, e, llf_const(f.g, LLF_F32, 1.0))
                            : llf_add(f.g, llf_const(f.g, LLF_F32, 1.0), e);
        assert_int_equal(llf_output(f.g, y), LLF_OK);
        if (i == 4)
            assert_int_equal(llf_output(f.g, e), LLF_OK);
        const char *ptx = ptx_of(&f, x, "nvptx:sm_90a");
        assert_true(count(ptx, "ex2.approx") > 0);
        assert_int_equal(count(ptx, "ex2.approx.ftz") > 0, i == 0);
        fixture_free(&f);
    }
}

/* Promise 4: the same bytes again. */
static void the_same_kernel_gives_the_same_text(void **state)
{
    (void)state;
    NEED_NVPTX();
    fixture f[2];
    const char *ptx[2];
    for (int i = 0; i < 2; i++) {
        f[i] = fixture_make();
        llf_id x = input(&f[i], "x", LLF_BF16), s = llf_sin(f[i].g, x), c = llf_cos(f[i].g, x);
        assert_int_equal(llf_output(f[i].g, llf_mul(f[i].g, s, c)), LLF_OK);
        ptx[i] = ptx_of(&f[i], x, "nvptx:sm_90a");
    }
    assert_string_equal(ptx[0], ptx[1]);
    for (int i = 0; i < 2; i++)
        fixture_free(&f[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vector_is_one_load_and_one_store),
        cmocka_unit_test(mixed_widths_stay_vectors),
        cmocka_unit_test(strict_arithmetic_is_not_contracted),
        cmocka_unit_test(fma_is_one_instruction),
        cmocka_unit_test(uniform_values_are_made_once),
        cmocka_unit_test(a_rank_0_value_is_stored_beside_the_tensor),
        cmocka_unit_test(every_op_of_every_dtype_compiles),
        cmocka_unit_test(every_cast_compiles),
        cmocka_unit_test(a_comparison_stays_what_it_is_beside_a_cast),
        cmocka_unit_test(functions_of_literals_are_left_to_the_device),
        cmocka_unit_test(bf16_arithmetic_is_native),
        cmocka_unit_test(powers_that_a_sum_absorbs_need_no_subnormals),
        cmocka_unit_test(the_same_kernel_gives_the_same_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
