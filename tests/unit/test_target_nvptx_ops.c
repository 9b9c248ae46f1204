/* test_target_nvptx_ops.c: every elementwise row of ops.def, in every dtype it takes, on three architectures:
 * lowers, passes the gate, compiles, and ptxas takes it without spills. Says nothing of values. */
#include "lower_graph.h"
#include "nvptx_module.h"

#ifdef LLFUSE_CUDA
/* libdevice's f64 reduction of huge arguments keeps five words in local memory, in a branch hardly ever
 * taken. */
static bool may_have_frame(llf_op op, llf_dtype t)
{
    return t == LLF_F64 && (op == LLF_OP_SIN || op == LLF_OP_COS);
}

/* EXACT, but made of approximations and exact remainders by nvptx/div.c; tests/gpu/gpu_division.c holds them
 * to every bit. */
static bool refined(llf_op op, llf_dtype t)
{
    return t != LLF_F64 && (op == LLF_OP_DIV || op == LLF_OP_SQRT);
}

/* What .ftz may stand on: approximations whose argument was scaled or chosen away from subnormals. */
static void check_text(const char *ptx, llf_op op, llf_dtype t)
{
    bool exact = (llfi_ops[op].flags & LLF_F_EXACT) && !refined(op, t);
    for (const char *at = ptx; (at = strstr(at, ".ftz")); at++) {
        bool approx = at - ptx > 7 && memcmp(at - 7, ".approx", 7) == 0;
        if (!approx || exact)
            print_message("%s flushes subnormals:\n%s\n", llfi_ops[op].name, ptx);
        assert_true(approx && !exact);
    }
    if (refined(op, t)) { /* the driver's own subroutine costs its compiler more than everything else here */
        assert_null(strstr(ptx, "div.rn"));
        assert_null(strstr(ptx, "sqrt.rn"));
    }
    if (exact)
        assert_null(strstr(ptx, ".approx"));
    if (op != LLF_OP_FMA && exact)
        assert_null(strstr(ptx, "fma."));
}

static void compile_op(llf_op op, llf_dtype t, llf_dtype to, const llfi_target *target)
{
    fixture f = fixture_make();
    const llfi_op_info *info = &llfi_ops[op];
    llf_id arg[3] = {LLF_NONE, LLF_NONE, LLF_NONE};
    static const char *const name[] = {"a", "b", "c"};
    for (uint32_t i = 0; i < info->arity; i++)
        arg[i] = input(&f, name[i], info->sig[i] == 'b' ? LLF_BOOL : t);
    llf_id out =
        llfi_build(f.g, op, arg, info->attr == LLFI_ATTR_DTYPE ? to : 0, UINT32_MAX, (llfi_place){0});
    assert_int_not_equal(out, LLF_NONE);
    assert_int_equal(llf_output(f.g, out), LLF_OK);
    whole(&f, out);
    llfi_plan plan = {.kernel = &f.kernel, .kernels = 1};
    llfi_schedule s;
    llfi_module m = {0};
    llfi_code code = {0};
    llf_status st = llfi_schedule_make(f.cx, f.g, &plan, 0, target, &f.arena, &s);
    if (st == LLF_OK)
        st = llfi_lower_kernel(f.g, &f.kernel, &s, target, "kernel", &f.arena, &f.cx->diag, &m);
    if (st == LLF_OK)
        st = target->backend->compile(&f.cx->diag, target, &f.cx->mem, m.module, &code, NULL, NULL);
    if (st != LLF_OK)
        print_message("%s of %s to %s on %s: %s\n", info->name, llf_dtype_name(t), llf_dtype_name(to),
                      target->name, f.cx->diag.message);
    assert_int_equal(st, LLF_OK);
    check_text(code.code, op, t);
    nvptx_no_spill(target->cpu, code.code, info->name, may_have_frame(op, t));
    llfi_free(&f.cx->mem, code.code, code.bytes + 1);
    llfi_module_destroy(&m);
    fixture_free(&f);
}

static void every_op(const char *text)
{
    llf_context *cx = llf_context_create(NULL);
    llfi_target target;
    assert_int_equal(llfi_target_make(cx, text, &target), LLF_OK);
    llf_context_destroy(cx);
    uint32_t kernels = 0;
    for (llf_op op = 0; op < LLF_OPS; op++)
        for (llf_dtype t = 0; llfi_ops[op].cls == LLFI_CLASS_EW && t < LLF_DTYPES; t++) {
            if (!llfi_set_has(llfi_ops[op].set, t))
                continue;
            bool cast = llfi_ops[op].attr == LLFI_ATTR_DTYPE;
            for (llf_dtype to = 0; to < (cast ? LLF_DTYPES : 1); to++, kernels++)
                compile_op(op, t, to, &target);
        }
    assert_true(kernels > 150);
}

static void sm_75(void **state)
{
    (void)state;
    every_op("nvptx:sm_75");
}

static void sm_80(void **state)
{
    (void)state;
    every_op("nvptx:sm_80");
}

static void sm_90a(void **state)
{
    (void)state;
    every_op("nvptx:sm_90a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sm_75), cmocka_unit_test(sm_80),
                                       cmocka_unit_test(sm_90a)};
    if (!nvptx_ptxas())
        print_message("SKIPPED: no ptxas, the PTX is not assembled\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    print_message("SKIPPED: built without a CUDA toolkit\n");
    return 0;
}
#endif
