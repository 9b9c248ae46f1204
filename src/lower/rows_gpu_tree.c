/* rows_gpu_tree.c: partial results of a row: arrays of them, and their fold as a tree of adjacent pairs. An
 * array of more entries than a warp folds at once gets a level of its own behind it, a group of entries a
 * warp, until few are left: no entry is written twice, so that a barrier a level is enough. It knows neither
 * chunks nor ops. */
#include "lower/rows_gpu.h"

static LLVMValueRef number(const llfi_rows *t, uint32_t x)
{
    return LLVMConstInt(t->s->emit.i32, x, 0);
}

static LLVMTypeRef memory_type(const llfi_emit *e, const llfi_fold *f, uint32_t k)
{
    LLVMTypeRef type = llfi_fold_type(e, f, k, 1);
    return type == e->i1 ? e->i8 : type;
}

static uint32_t bytes_of(const llfi_emit *e, LLVMTypeRef type)
{
    return type == e->f64 || type == e->i64 ? 8 : type == e->f32 || type == e->i32 ? 4 : 1;
}

/* Large values first, so that each array begins at a multiple of its element. */
uint32_t llfi_rows_layout(llfi_rows_fold *fold, uint32_t folds, const llfi_emit *e)
{
    uint32_t at = 0;
    for (uint32_t bytes = 8; bytes; bytes = bytes == 8 ? 4 : bytes == 4 ? 1 : 0)
        for (uint32_t i = 0; i < folds; i++)
            for (uint32_t k = 0; k < fold[i].fold.states; k++) {
                if (bytes_of(e, memory_type(e, &fold[i].fold, k)) != bytes)
                    continue;
                fold[i].offset[k] = at;
                at += bytes;
            }
    return at;
}

static LLVMValueRef entry(const llfi_rows *t, const llfi_rows_array *a, const llfi_rows_fold *f, uint32_t k,
                          LLVMValueRef at)
{
    const llfi_emit *e = &t->s->emit;
    LLVMTypeRef type = memory_type(e, &f->fold, k);
    LLVMValueRef from = LLVMBuildMul(e->b, a->room, number(t, f->offset[k]), "");
    from = LLVMBuildZExt(e->b, from, e->i64, "");
    LLVMValueRef base = LLVMBuildGEP2(e->b, e->i8, a->at, &from, 1, "");
    at = LLVMBuildZExt(e->b, at, e->i64, "");
    return LLVMBuildGEP2(e->b, type, base, &at, 1, "");
}

/* Stores by the lanes where `who` holds. */
void llfi_rows_put_where(const llfi_rows *t, const llfi_rows_fold *fold, uint32_t folds,
                         const llfi_rows_array *a, LLVMValueRef at, LLVMValueRef who)
{
    llfi_emit *e = &t->s->emit;
    LLVMBasicBlockRef one = llfi_gpu_place(e), all = llfi_gpu_place(e);
    LLVMBuildCondBr(e->b, who, one, all);
    LLVMPositionBuilderAtEnd(e->b, one);
    for (uint32_t i = 0; i < folds; i++)
        for (uint32_t k = 0; k < fold[i].fold.states; k++) {
            LLVMValueRef v = fold[i].state.v[k];
            LLVMTypeRef type = memory_type(e, &fold[i].fold, k);
            if (LLVMTypeOf(v) != type)
                v = LLVMBuildZExt(e->b, v, type, "");
            LLVMValueRef store = LLVMBuildStore(e->b, v, entry(t, a, &fold[i], k, at));
            LLVMSetAlignment(store, bytes_of(e, type));
        }
    LLVMBuildBr(e->b, all);
    LLVMPositionBuilderAtEnd(e->b, all);
}

llf_status llfi_rows_put(const llfi_rows *t, const llfi_rows_array *a, LLVMValueRef at)
{
    llfi_emit *e = &t->s->emit;
    llfi_rows_put_where(t, t->fold, t->folds, a, at,
                        LLVMBuildICmp(e->b, LLVMIntEQ, t->lane, number(t, 0), ""));
    return e->status;
}

static LLVMValueRef load(const llfi_rows *t, const llfi_rows_array *a, LLVMTypeRef type, LLVMValueRef at)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef x = LLVMBuildLoad2(e->b, type, at, "");
    LLVMSetAlignment(x, bytes_of(e, type));
    LLVMSetVolatile(x, a->shared_by_blocks);
    return x;
}

llfi_state llfi_rows_get(const llfi_rows *t, const llfi_rows_fold *f, const llfi_rows_array *a,
                         LLVMValueRef at)
{
    llfi_emit *e = &t->s->emit;
    llfi_state s = {{NULL}};
    for (uint32_t k = 0; k < f->fold.states; k++) {
        s.v[k] = load(t, a, memory_type(e, &f->fold, k), entry(t, a, f, k, at));
        if (llfi_fold_type(e, &f->fold, k, 1) == e->i1)
            s.v[k] = LLVMBuildTrunc(e->b, s.v[k], e->i1, "");
    }
    return s;
}

/* One level of an array: n entries from `first` on, each of `unit` elements (i64), which begin at element
 * `from` of the row (i64); `bottom`, an i1: they are the array's own. */
typedef struct {
    LLVMValueRef first, n, from, to, unit, bottom;
} level;

/* Sums of softmax_stats, as they are beside the largest exponent. */
static LLVMValueRef scaled(const llfi_rows *t, const llfi_rows_array *a, const llfi_rows_fold *f,
                           const level *l, LLVMValueRef at, LLVMValueRef x)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    llfi_rows_fold exponent = {.fold = f->fold, .offset = {f->exponent}};
    LLVMTypeRef type = llfi_fold_type(e, &f->fold, 0, 1);
    e->may_flush = true;
    LLVMValueRef factor =
        llfi_softmax_factor(e, &f->fold, load(t, a, type, entry(t, a, &exponent, 0, at)), f->scale);
    e->may_flush = false;
    return LLVMBuildSelect(b, l->bottom, LLVMBuildFMul(b, x, factor, ""), x, "");
}

/* Entry i of the level, or nothing from n on. */
static llfi_state get(const llfi_rows *t, const llfi_rows_array *a, const llfi_rows_fold *f, const level *l,
                      LLVMValueRef i)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef there = LLVMBuildICmp(e->b, LLVMIntULT, i, l->n, "");
    LLVMValueRef at = LLVMBuildAdd(e->b, l->first, LLVMBuildSelect(e->b, there, i, number(t, 0), ""), "");
    llfi_state s = llfi_rows_get(t, f, a, at), none = llfi_rows_nothing(e, &f->fold);
    for (uint32_t k = 0; k < f->fold.states; k++) {
        if (f->scale)
            s.v[k] = scaled(t, a, f, l, at, s.v[k]);
        s.v[k] = LLVMBuildSelect(e->b, there, s.v[k], none.v[k], "");
    }
    return s;
}

/* Entries [i, i + half) and [i + half, i + 2 half). */
static llfi_state pair(const llfi_rows *t, const llfi_rows_fold *f, const level *l, llfi_state a,
                       llfi_state b, LLVMValueRef i, uint32_t half)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef lb = e->b;
    if (f->fold.op != LLF_OP_MOMENTS)
        return llfi_fold_combine(e, &f->fold, a, b);
    LLVMValueRef size = LLVMBuildMul(lb, l->unit, LLVMConstInt(e->i64, half, 0), "");
    LLVMValueRef begin = LLVMBuildMul(lb, LLVMBuildZExt(lb, i, e->i64, ""), l->unit, "");
    return llfi_rows_pair(e, &f->fold, a, b, LLVMBuildAdd(lb, l->from, begin, ""), size, l->to);
}

/* `first`: of the level's entries the one that this lane's begin with, `each` of them. */
static llf_status across_lanes(const llfi_rows *t, llfi_rows_fold *f, const level *l, LLVMValueRef first,
                               uint32_t each, uint32_t lanes)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    for (uint32_t m = 1; m < lanes; m *= 2) {
        llfi_state lower = f->state, upper = {{NULL}};
        for (uint32_t k = 0; k < f->fold.states; k++)
            if (!(upper.v[k] = llfi_gpu_lane_xor(e, f->state.v[k], m)))
                return e->status;
        LLVMValueRef i = LLVMBuildAnd(b, first, number(t, ~(2 * m * each - 1)), "");
        if (f->fold.op == LLF_OP_MOMENTS) {
            LLVMValueRef is_upper = LLVMBuildAnd(b, t->lane, number(t, m), "");
            is_upper = LLVMBuildICmp(b, LLVMIntNE, is_upper, number(t, 0), "");
            for (uint32_t k = 0; k < f->fold.states; k++) {
                LLVMValueRef own = lower.v[k], other = upper.v[k];
                lower.v[k] = LLVMBuildSelect(b, is_upper, other, own, "");
                upper.v[k] = LLVMBuildSelect(b, is_upper, own, other, "");
            }
        }
        f->state = pair(t, f, l, lower, upper, i, m * each);
    }
    return e->status;
}

/* A level of 128 entries at most, folded by each warp that comes here; `most`: the most that they may be, 0:
 * any. */
static llf_status fold_group(const llfi_rows *t, llfi_rows_fold *fold, uint32_t folds,
                             const llfi_rows_array *a, const level *l, int64_t most)
{
    llfi_emit *e = &t->s->emit;
    uint32_t each = most && most <= LLFI_WARP ? 1 : LLFI_ROWS_GROUP / LLFI_WARP, lanes = LLFI_WARP;
    while (most && lanes > 1 && (int64_t)each * lanes / 2 >= most)
        lanes /= 2;
    e->width = 1;
    LLVMValueRef first = LLVMBuildAnd(e->b, t->lane, number(t, lanes - 1), ""); /* few: several times */
    first = LLVMBuildMul(e->b, first, number(t, each), "");
    for (uint32_t i = 0; i < folds; i++) {
        llfi_rows_fold *f = &fold[i];
        llfi_state s[LLFI_ROWS_GROUP / LLFI_WARP];
        for (uint32_t k = 0; k < each; k++)
            s[k] = get(t, a, f, l, LLVMBuildAdd(e->b, first, number(t, k), ""));
        for (uint32_t half = 1; half < each; half *= 2)
            for (uint32_t k = 0; k < each; k += 2 * half)
                s[k] = pair(t, f, l, s[k], s[k + half], LLVMBuildAdd(e->b, first, number(t, k), ""), half);
        f->state = s[0];
        LLF_TRY(across_lanes(t, f, l, first, each, lanes));
    }
    return e->status;
}

/* Groups of the level's entries, a warp each in turn, to entries behind it. */
static llf_status fold_level(const llfi_rows *t, llfi_rows_fold *fold, uint32_t folds,
                             const llfi_rows_array *a, const level *l, LLVMValueRef groups)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_gpu_place(e), body = llfi_gpu_place(e),
                      after = llfi_gpu_place(e);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef u = LLVMBuildPhi(b, e->i32, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, u, groups, ""), body, after);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef done = LLVMBuildMul(b, u, number(t, LLFI_ROWS_GROUP), "");
    LLVMValueRef elements = LLVMBuildMul(b, LLVMBuildZExt(b, done, e->i64, ""), l->unit, "");
    const level group = {.first = LLVMBuildAdd(b, l->first, done, ""),
                         .n = LLVMBuildSub(b, l->n, done, ""),
                         .from = LLVMBuildAdd(b, l->from, elements, ""),
                         .to = l->to,
                         .unit = l->unit,
                         .bottom = l->bottom};
    LLF_TRY(fold_group(t, fold, folds, a, &group, 0));
    LLVMValueRef to = LLVMBuildAdd(b, LLVMBuildAdd(b, l->first, l->n, ""), u, "");
    llfi_rows_put_where(t, fold, folds, a, to, LLVMBuildICmp(b, LLVMIntEQ, t->lane, number(t, 0), ""));
    LLVMValueRef next = LLVMBuildAdd(b, u, number(t, t->p->row.warps), "");
    LLVMAddIncoming(u, (LLVMValueRef[]){t->warp, next}, (LLVMBasicBlockRef[]){before, LLVMGetInsertBlock(b)},
                    2);
    llfi_emit_keep_loop(e, LLVMBuildBr(b, head));
    LLVMPositionBuilderAtEnd(b, after);
    return llfi_gpu_barrier(e);
}

static llf_status fold_levels(const llfi_rows *t, llfi_rows_fold *fold, uint32_t folds,
                              const llfi_rows_array *a, level l, int64_t most)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    LLVMValueRef n = l.n, unit = l.unit;
    l.first = number(t, 0);
    l.bottom = LLVMConstInt(e->i1, 1, 0);
    if (most && most <= LLFI_ROWS_GROUP)
        return fold_group(t, fold, folds, a, &l, most);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = llfi_gpu_place(e), body = llfi_gpu_place(e),
                      after = llfi_gpu_place(e);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    l.first = LLVMBuildPhi(b, e->i32, "");
    l.n = LLVMBuildPhi(b, e->i32, "");
    l.unit = LLVMBuildPhi(b, e->i64, "");
    l.bottom = LLVMBuildICmp(b, LLVMIntEQ, l.first, number(t, 0), "");
    LLVMValueRef many = LLVMBuildICmp(b, LLVMIntUGT, l.n, number(t, LLFI_ROWS_GROUP), "");
    LLVMBuildCondBr(b, many, body, after);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef groups = LLVMBuildAdd(b, l.n, number(t, LLFI_ROWS_GROUP - 1), "");
    groups = LLVMBuildUDiv(b, groups, number(t, LLFI_ROWS_GROUP), "");
    LLF_TRY(fold_level(t, fold, folds, a, &l, groups));
    LLVMBasicBlockRef roads[2] = {before, LLVMGetInsertBlock(b)};
    LLVMValueRef more = LLVMBuildMul(b, l.unit, LLVMConstInt(e->i64, LLFI_ROWS_GROUP, 0), "");
    LLVMAddIncoming(l.first, (LLVMValueRef[]){number(t, 0), LLVMBuildAdd(b, l.first, l.n, "")}, roads, 2);
    LLVMAddIncoming(l.n, (LLVMValueRef[]){n, groups}, roads, 2);
    LLVMAddIncoming(l.unit, (LLVMValueRef[]){unit, more}, roads, 2);
    llfi_emit_keep_loop(e, LLVMBuildBr(b, head));
    LLVMPositionBuilderAtEnd(b, after);
    return fold_group(t, fold, folds, a, &l, 0);
}

/* softmax_stats by its parts: exponents first, then, beside the largest of them, sums. */
llf_status llfi_rows_fold_array(llfi_rows *t, const llfi_rows_array *a, LLVMValueRef n, int64_t most,
                                const llfi_rows_span *span)
{
    const level l = {.n = n, .from = span->from, .to = span->to, .unit = span->unit};
    llfi_rows_fold *part = llfi_arena_alloc(t->s->arena, (t->folds + 1) * 2 * sizeof *part),
                   *sum = part + t->folds;
    uint32_t sums = 0;
    if (!part)
        return llfi_nomem(t->s->emit.diag);
    for (uint32_t i = 0; i < t->folds; i++) {
        part[i] = t->fold[i];
        if (part[i].fold.op == LLF_OP_SOFTMAX_STATS)
            part[i].fold = llfi_fold_max(&t->fold[i].fold);
    }
    LLF_TRY(fold_levels(t, part, t->folds, a, l, most));
    for (uint32_t i = 0; i < t->folds; i++) {
        const llfi_rows_fold *f = &t->fold[i];
        if (f->fold.op == LLF_OP_SOFTMAX_STATS)
            sum[sums++] = (llfi_rows_fold){.fold = llfi_fold_sum(&f->fold),
                                           .offset = {f->offset[1]},
                                           .scale = part[i].state.v[0],
                                           .exponent = f->offset[0]};
    }
    if (sums)
        LLF_TRY(fold_levels(t, sum, sums, a, l, most));
    for (uint32_t i = 0, k = 0; i < t->folds; i++) {
        bool two = t->fold[i].fold.op == LLF_OP_SOFTMAX_STATS;
        t->fold[i].state = part[i].state;
        if (two)
            t->fold[i].state.v[1] = sum[k++].state.v[0];
    }
    return LLF_OK;
}
