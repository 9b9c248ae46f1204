/* reduce.c: see reduce.h. No fast-math flags, no contraction: each operation rounds once, in the order asked
 * for. argmax and argmin compare integer keys that order floats as `maximum` does: -0 below +0, all NaNs
 * alike and above everything; argmin complements them, so that both look for the greatest key at the least
 * place. */
#include "lower/reduce.h"

llfi_fold llfi_fold_of(const llf_graph *g, llf_id reduce, bool narrow)
{
    llfi_reduce r = llfi_reduce_of(g, reduce);
    llf_op op = (llf_op)llfi_node_at(g, reduce)->op;
    bool places = op == LLF_OP_ARGMAX || op == LLF_OP_ARGMIN;
    bool stats = op == LLF_OP_SOFTMAX_STATS || op == LLF_OP_MOMENTS;
    bool rounds = op == LLF_OP_SUM || op == LLF_OP_PROD || stats;
    return (llfi_fold){.op = op,
                       .in = r.in,
                       .acc = r.acc,
                       .out = r.out,
                       .states = places || stats ? 2 : 1,
                       .ordered = rounds && llfi_dtype_is_float(r.acc),
                       .places = places,
                       .narrow = narrow};
}

static LLVMTypeRef key_type(const llfi_emit *e, const llfi_fold *f)
{
    return f->acc == LLF_F64 || f->acc == LLF_I64 ? e->i64 : e->i32;
}

LLVMTypeRef llfi_fold_type(const llfi_emit *e, const llfi_fold *f, uint32_t k, uint32_t width)
{
    if (f->places)
        return llfi_emit_vec(k == 0 ? key_type(e, f) : f->narrow ? e->i32 : e->i64, width);
    return llfi_emit_reg_type(e, f->acc, width);
}

/* ---- keys of argmax and argmin */

static uint64_t key_bits(const llfi_emit *e, const llfi_fold *f)
{
    return key_type(e, f) == e->i64 ? 64 : 32;
}

static LLVMValueRef key_constant(llfi_emit *e, const llfi_fold *f, uint64_t bits)
{
    LLVMTypeRef t = key_type(e, f);
    return llfi_emit_splat(e, LLVMConstInt(t, key_bits(e, f) == 32 ? bits & UINT32_MAX : bits, 0), e->width);
}

static LLVMValueRef key_of(llfi_emit *e, const llfi_fold *f, LLVMValueRef x)
{
    LLVMBuilderRef b = e->b;
    LLVMTypeRef type = llfi_fold_type(e, f, 0, e->width);
    uint64_t most = key_bits(e, f) == 32 ? INT32_MAX : INT64_MAX;
    if (f->acc == LLF_BOOL)
        x = LLVMBuildZExt(b, x, type, "");
    if (!llfi_dtype_is_float(f->acc))
        return f->op == LLF_OP_ARGMIN ? LLVMBuildNot(b, x, "") : x;
    LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), k = LLVMBuildBitCast(b, x, type, "");
    LLVMValueRef sign = LLVMBuildAShr(b, k, key_constant(e, f, key_bits(e, f) - 1), "");
    k = LLVMBuildXor(b, k, LLVMBuildAnd(b, sign, key_constant(e, f, most), ""), "");
    if (f->op == LLF_OP_ARGMIN)
        k = LLVMBuildNot(b, k, "");
    return LLVMBuildSelect(b, nan, key_constant(e, f, most), k, "");
}

/* The greater key; of equal ones that at the lesser place. */
static llfi_state further(llfi_emit *e, llfi_state a, llfi_state b)
{
    LLVMValueRef above = LLVMBuildICmp(e->b, LLVMIntSGT, b.v[0], a.v[0], "");
    LLVMValueRef equal = LLVMBuildICmp(e->b, LLVMIntEQ, b.v[0], a.v[0], "");
    LLVMValueRef before = LLVMBuildICmp(e->b, LLVMIntSLT, b.v[1], a.v[1], "");
    LLVMValueRef take = LLVMBuildOr(e->b, above, LLVMBuildAnd(e->b, equal, before, ""), "");
    for (uint32_t k = 0; k < 2; k++)
        a.v[k] = LLVMBuildSelect(e->b, take, b.v[k], a.v[k], "");
    return a;
}

/* ---- elements, identity, combination */

llfi_state llfi_fold_element(llfi_emit *e, const llfi_fold *f, LLVMValueRef x, LLVMValueRef place)
{
    x = llfi_emit_convert(e, f->in, f->acc, x);
    if (f->places && x)
        return (llfi_state){{key_of(e, f, x), place}};
    return (llfi_state){{x}};
}

/* The least of a dtype, or the greatest. */
static LLVMValueRef bound(llfi_emit *e, const llfi_fold *f, bool least)
{
    switch (f->acc) {
    case LLF_F64: return llfi_emit_literal(e, LLF_F64, least ? 0xfff0000000000000 : 0x7ff0000000000000);
    case LLF_I32: return llfi_emit_i32c(e, least ? INT32_MIN : INT32_MAX);
    case LLF_I64: return llfi_emit_i64c(e, least ? INT64_MIN : INT64_MAX);
    case LLF_BOOL: return llfi_emit_literal(e, LLF_BOOL, !least);
    default: return llfi_emit_literal(e, LLF_F32, least ? 0xff800000 : 0x7f800000); /* the register form */
    }
}

static LLVMValueRef number(llfi_emit *e, const llfi_fold *f, double x)
{
    switch (f->acc) {
    case LLF_F64: return llfi_emit_f64c(e, x);
    case LLF_I32: return llfi_emit_i32c(e, (int32_t)x);
    case LLF_I64: return llfi_emit_i64c(e, (int64_t)x);
    default: return llfi_emit_f32c(e, (float)x);
    }
}

llfi_state llfi_fold_identity(llfi_emit *e, const llfi_fold *f)
{
    LLVMTypeRef place;
    switch (f->op) {
    case LLF_OP_MOMENTS:
    case LLF_OP_SUM: return (llfi_state){{number(e, f, -0.0)}};
    case LLF_OP_PROD: return (llfi_state){{number(e, f, 1)}};
    case LLF_OP_SOFTMAX_STATS:
    case LLF_OP_MAX:
    case LLF_OP_ANY: return (llfi_state){{bound(e, f, true)}};
    case LLF_OP_MIN:
    case LLF_OP_ALL: return (llfi_state){{bound(e, f, false)}};
    default: break;
    }
    place = llfi_fold_type(e, f, 1, 1);
    uint64_t least = key_bits(e, f) == 32 ? (uint64_t)INT32_MIN : (uint64_t)INT64_MIN;
    LLVMValueRef last = LLVMConstInt(place, f->narrow ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX, 0);
    return (llfi_state){{key_constant(e, f, least), llfi_emit_splat(e, last, e->width)}};
}

static LLVMValueRef extremum(llfi_emit *e, const llfi_fold *f, LLVMValueRef a, LLVMValueRef b)
{
    bool least = f->op == LLF_OP_MIN;
    if (f->acc == LLF_BOOL)
        return least ? LLVMBuildAnd(e->b, a, b, "") : LLVMBuildOr(e->b, a, b, "");
    if (llfi_dtype_is_float(f->acc))
        return e->target->backend->lowering->maximum(e, f->acc, least, a, b);
    LLVMValueRef arg[2] = {a, b};
    return llfi_emit_call(e, least ? "llvm.smin" : "llvm.smax", LLVMTypeOf(a), arg, 2);
}

llfi_state llfi_fold_combine(llfi_emit *e, const llfi_fold *f, llfi_state a, llfi_state b)
{
    LLVMValueRef x = a.v[0], y = b.v[0];
    bool floats = llfi_dtype_is_float(f->acc);
    if (!x || !y)
        return (llfi_state){{NULL}};
    switch (f->op) {
    case LLF_OP_SUM: return (llfi_state){{LLVMBuildBinOp(e->b, floats ? LLVMFAdd : LLVMAdd, x, y, "")}};
    case LLF_OP_PROD: return (llfi_state){{LLVMBuildBinOp(e->b, floats ? LLVMFMul : LLVMMul, x, y, "")}};
    case LLF_OP_MAX:
    case LLF_OP_MIN: return (llfi_state){{extremum(e, f, x, y)}};
    case LLF_OP_ANY: return (llfi_state){{LLVMBuildOr(e->b, x, y, "")}};
    case LLF_OP_ALL: return (llfi_state){{LLVMBuildAnd(e->b, x, y, "")}};
    default: return further(e, a, b);
    }
}

llfi_state llfi_fold_where(llfi_emit *e, const llfi_fold *f, LLVMValueRef keep, llfi_state s)
{
    llfi_state none = llfi_fold_identity(e, f);
    for (uint32_t k = 0; k < f->states; k++)
        s.v[k] = LLVMBuildSelect(e->b, keep, s.v[k], none.v[k], "");
    return s;
}

/* ---- folds inside vectors */

/* Lanes of a and b by their numbers; b's begin at the width of one. */
static llfi_state pick(llfi_emit *e, const llfi_fold *f, llfi_state a, llfi_state b, const uint8_t *lane,
                       uint32_t count)
{
    LLVMValueRef mask[LLFI_FOLD_WIDTH / 2];
    for (uint32_t i = 0; i < count; i++)
        mask[i] = LLVMConstInt(e->i32, lane[i], 0);
    for (uint32_t k = 0; k < f->states; k++)
        a.v[k] = count == 1 ? LLVMBuildExtractElement(e->b, a.v[k], mask[0], "")
                            : LLVMBuildShuffleVector(e->b, a.v[k], b.v[k], LLVMConstVector(mask, count), "");
    return a;
}

static llfi_state fold_picked(llfi_emit *e, const llfi_fold *f, llfi_state a, llfi_state b,
                              const uint8_t *const lane[2], uint32_t count)
{
    llfi_state first = pick(e, f, a, b, lane[0], count), second = pick(e, f, a, b, lane[1], count);
    uint32_t width = e->width;
    e->width = count;
    a = llfi_fold_combine(e, f, first, second);
    e->width = width;
    return a;
}

llfi_state llfi_fold_j(llfi_emit *e, const llfi_fold *f, llfi_state s)
{
    static const uint8_t bit1[2][4] = {{0, 1, 4, 5}, {2, 3, 6, 7}}, bit0[2][2] = {{0, 2}, {1, 3}},
                         bit2[2][1] = {{0}, {1}};
    s = fold_picked(e, f, s, s, (const uint8_t *const[]){bit1[0], bit1[1]}, 4);
    s = fold_picked(e, f, s, s, (const uint8_t *const[]){bit0[0], bit0[1]}, 2);
    return fold_picked(e, f, s, s, (const uint8_t *const[]){bit2[0], bit2[1]}, 1);
}

/* Every shuffle stays inside 128 bits but the last two: after bit 1 the lanes are those of two vectors, pair
 * by pair; after bit 0 those of four; after bit 2 of eight. */
llfi_state llfi_fold_j8(llfi_emit *e, const llfi_fold *f, const llfi_state at[8])
{
    static const uint8_t step[3][2][8] = {{{0, 1, 8, 9, 4, 5, 12, 13}, {2, 3, 10, 11, 6, 7, 14, 15}},
                                          {{0, 2, 8, 10, 4, 6, 12, 14}, {1, 3, 9, 11, 5, 7, 13, 15}},
                                          {{0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}}};
    llfi_state s[8];
    memcpy(s, at, sizeof s);
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < 4u >> k; i++)
            s[i] = fold_picked(e, f, s[2 * i], s[2 * i + 1], (const uint8_t *const[]){step[k][0], step[k][1]},
                               8);
    return s[0];
}

llfi_state llfi_fold_halves(llfi_emit *e, const llfi_fold *f, llfi_state s, uint32_t width)
{
    uint8_t lane[2][LLFI_FOLD_WIDTH / 2];
    for (uint32_t i = 0; i < width / 2; i++) {
        lane[0][i] = (uint8_t)i;
        lane[1][i] = (uint8_t)(i + width / 2);
    }
    return fold_picked(e, f, s, s, (const uint8_t *const[]){lane[0], lane[1]}, width / 2);
}

/* ---- the result */

LLVMValueRef llfi_fold_result(llfi_emit *e, const llfi_fold *f, llfi_state s, LLVMValueRef empty)
{
    if (!s.v[0])
        return NULL;
    uint32_t width = e->width;
    LLVMTypeRef type = LLVMTypeOf(s.v[0]);
    LLVMValueRef r = s.v[0];
    e->width = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
    if (f->places)
        r = f->narrow ? LLVMBuildZExt(e->b, s.v[1], llfi_emit_vec(e->i64, e->width), "") : s.v[1];
    else
        r = llfi_emit_convert(e, f->acc, f->out, r);
    if (empty && r && f->op == LLF_OP_SUM && llfi_dtype_is_float(f->out)) {
        LLVMValueRef all = llfi_emit_splat(e, empty, e->width);
        r = LLVMBuildSelect(e->b, all, LLVMConstNull(LLVMTypeOf(r)), r, "");
    }
    e->width = width;
    return r;
}

/* ---- softmax_stats */

static llfi_fold simple(const llfi_fold *f, llf_op op)
{
    llfi_fold s = *f;
    if (llfi_fold_is_stats(f))
        s = (llfi_fold){
            .op = op, .in = f->acc, .acc = f->acc, .out = f->acc, .states = 1, .narrow = f->narrow};
    s.ordered = f->ordered && op == LLF_OP_SUM;
    return s;
}

llfi_fold llfi_fold_sum(const llfi_fold *f)
{
    return simple(f, LLF_OP_SUM);
}

llfi_fold llfi_fold_max(const llfi_fold *f)
{
    llfi_fold s = simple(f, LLF_OP_MAX);
    s.in = f->in;
    return s;
}

static LLVMValueRef log2e(llfi_emit *e, const llfi_fold *f)
{
    return number(e, f, 1.4426950408889634);
}

LLVMValueRef llfi_softmax_scale(llfi_emit *e, const llfi_fold *f, LLVMValueRef m)
{
    return LLVMBuildFMul(e->b, m, log2e(e, f), "");
}

static LLVMValueRef is_none(llfi_emit *e, const llfi_fold *f, LLVMValueRef x)
{
    return LLVMBuildFCmp(e->b, LLVMRealOEQ, x, bound(e, f, true), "");
}

static LLVMValueRef power_of_2(llfi_emit *e, const llfi_fold *f, LLVMValueRef x)
{
    return e->target->backend->lowering->function(e, LLF_OP_EXP2, f->acc, x);
}

LLVMValueRef llfi_softmax_power(llfi_emit *e, const llfi_fold *f, LLVMValueRef x, LLVMValueRef m)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(m));
    LLVMValueRef by = LLVMBuildSelect(e->b, is_none(e, f, m), zero, llfi_softmax_scale(e, f, m), "");
    return power_of_2(e, f, llfi_emit_fma(e, x, log2e(e, f), LLVMBuildFNeg(e->b, by, "")));
}

LLVMValueRef llfi_softmax_factor(llfi_emit *e, const llfi_fold *f, LLVMValueRef chunk, LLVMValueRef all)
{
    LLVMValueRef power = power_of_2(e, f, LLVMBuildFSub(e->b, chunk, all, ""));
    if (!power)
        return NULL;
    return LLVMBuildSelect(e->b, is_none(e, f, chunk), LLVMConstNull(LLVMTypeOf(power)), power, "");
}

/* ---- moments */

/* n (i64) rounded to the accumulator. */
static LLVMValueRef as_float(llfi_emit *e, const llfi_fold *f, LLVMValueRef n)
{
    uint32_t width = e->width;
    e->width = 1;
    n = llfi_emit_convert(e, LLF_I64, f->acc, n);
    e->width = width;
    return llfi_emit_splat(e, n, width);
}

static LLVMValueRef quotient(llfi_emit *e, const llfi_fold *f, LLVMValueRef a, LLVMValueRef b)
{
    return e->target->backend->lowering->divide(e, f->acc, a, b);
}

LLVMValueRef llfi_moments_mean(llfi_emit *e, const llfi_fold *f, LLVMValueRef sum, LLVMValueRef n)
{
    return quotient(e, f, sum, as_float(e, f, n));
}

llfi_state llfi_moments_close(llfi_emit *e, const llfi_fold *f, LLVMValueRef mean, LLVMValueRef d,
                              LLVMValueRef squares, LLVMValueRef n)
{
    LLVMValueRef error = quotient(e, f, LLVMBuildFMul(e->b, d, d, ""), as_float(e, f, n));
    LLVMValueRef left = LLVMBuildFSub(e->b, squares, error, ""), zero = LLVMConstNull(LLVMTypeOf(left));
    return (llfi_state){{mean, e->target->backend->lowering->maximum(e, f->acc, false, left, zero)}};
}

llfi_state llfi_moments_pair(llfi_emit *e, const llfi_fold *f, llfi_state a, llfi_state b, LLVMValueRef na,
                             LLVMValueRef nb)
{
    LLVMBuilderRef lb = e->b;
    LLVMValueRef before = as_float(e, f, na),
                 none = LLVMBuildICmp(lb, LLVMIntEQ, nb, LLVMConstNull(e->i64), "");
    LLVMValueRef share = quotient(e, f, as_float(e, f, nb), as_float(e, f, LLVMBuildAdd(lb, na, nb, "")));
    LLVMValueRef r = LLVMBuildFSub(lb, b.v[0], a.v[0], "");
    LLVMValueRef mean = LLVMBuildFAdd(lb, a.v[0], LLVMBuildFMul(lb, r, share, ""), "");
    LLVMValueRef between =
        LLVMBuildFMul(lb, LLVMBuildFMul(lb, r, r, ""), LLVMBuildFMul(lb, before, share, ""), "");
    LLVMValueRef squares = LLVMBuildFAdd(lb, LLVMBuildFAdd(lb, a.v[1], b.v[1], ""), between, "");
    return (llfi_state){
        {LLVMBuildSelect(lb, none, a.v[0], mean, ""), LLVMBuildSelect(lb, none, a.v[1], squares, "")}};
}

void llfi_fold_results(llfi_emit *e, const llfi_fold *f, llfi_state s, LLVMValueRef empty,
                       LLVMValueRef out[2])
{
    bool moments = f->op == LLF_OP_MOMENTS;
    uint64_t nan = f->acc == LLF_F64 ? 0x7ff8000000000000 : 0x7fc00000;
    LLVMTypeRef type = LLVMTypeOf(s.v[0]);
    uint32_t width = e->width;
    e->width = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
    memcpy(out, s.v, 2 * sizeof *out);
    if (empty) {
        LLVMValueRef all = llfi_emit_splat(e, empty, e->width);
        LLVMValueRef first = moments ? llfi_emit_literal(e, f->acc, nan) : bound(e, f, true);
        out[0] = LLVMBuildSelect(e->b, all, first, s.v[0], "");
        out[1] = LLVMBuildSelect(e->b, all, LLVMConstNull(type), s.v[1], "");
    }
    e->width = width;
}
