/* rows_gpu_state.c: what a chunk comes to. softmax_stats and moments (reduce.h) go through it twice: for a
 * maximum or a mean, and for sums around it. */
#include "lower/rows_gpu.h"

llfi_state llfi_rows_nothing(llfi_emit *e, const llfi_fold *f)
{
    if (!llfi_fold_is_stats(f))
        return llfi_fold_identity(e, f);
    LLVMValueRef zero = LLVMConstNull(llfi_fold_type(e, f, 0, e->width));
    return (llfi_state){{zero, zero}};
}

llfi_state llfi_rows_pair(llfi_emit *e, const llfi_fold *f, llfi_state a, llfi_state b, LLVMValueRef begin,
                          LLVMValueRef size, LLVMValueRef length)
{
    LLVMBuilderRef lb = e->b;
    LLVMValueRef behind = LLVMBuildAdd(lb, begin, size, ""), n = LLVMBuildSub(lb, length, behind, "");
    LLVMValueRef some = LLVMBuildICmp(lb, LLVMIntULT, behind, length, "");
    n = LLVMBuildSelect(lb, LLVMBuildICmp(lb, LLVMIntULT, n, size, ""), n, size, "");
    n = LLVMBuildSelect(lb, some, n, LLVMConstNull(e->i64), "");
    return llfi_moments_pair(e, f, a, b, size, n);
}

/* ---- chunks */

/* Elements of the chunk, i64. */
static LLVMValueRef chunk_count(llfi_rows *t, const llfi_rows_place *at)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    int64_t most = at->most >= 0 ? (at->most + 1) * LLFI_CHUNK : INT64_MAX;
    if (t->constant >= 0 && (most <= t->constant || t->constant % LLFI_CHUNK == 0))
        return LLVMConstInt(e->i64, LLFI_CHUNK, 0);
    LLVMValueRef full = llfi_rows_number(t, LLFI_CHUNK);
    LLVMValueRef n = LLVMBuildSub(b, t->length, LLVMBuildMul(b, at->c, full, ""), "");
    n = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, n, full, ""), n, full, "");
    return t->index == e->i64 ? n : LLVMBuildZExt(b, n, e->i64, "");
}

static void add(llfi_rows *t, const llfi_rows_fold *f, llfi_fold fold, llfi_rows_map map, LLVMValueRef by)
{
    t->in[t->ins++] =
        (llfi_rows_in){.fold = fold, .operand = t->s->demands.at[f->demand].arg[0], .map = map, .by = by};
}

/* Marks what the elements of folds of two values alone want. */
static void mark_stats(llfi_rows *t, bool *mark)
{
    const llfi_demands *list = &t->s->demands;
    memset(mark, 0, list->count);
    for (uint32_t i = 0; i < t->folds; i++)
        if (llfi_fold_is_stats(&t->fold[i].fold))
            mark[list->at[t->fold[i].demand].arg[0]] = true;
    for (uint32_t i = list->count; i-- > 0;) {
        const llfi_demand *d = &list->at[i];
        mark[i] = mark[i] && d->scope == LLFI_SCOPE_POINT;
        for (uint32_t a = 0; mark[i] && !d->leaf && a < llfi_node_at(t->s->g, d->node)->arity; a++)
            mark[d->arg[a]] = true;
    }
}

static llf_status go_again(llfi_rows *t, const llfi_rows_place *at)
{
    bool *all = t->mark, *mark = llfi_arena_alloc(t->s->arena, t->s->demands.count + 1);
    if (!mark)
        return llfi_nomem(t->s->emit.diag);
    mark_stats(t, mark);
    t->mark = mark;
    t->stores = false;
    llf_status status = llfi_rows_go(t, at);
    t->mark = all;
    return status;
}

/* The second go: sums around what the first one found. */
static llf_status stats(llfi_rows *t, const llfi_rows_place *at)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef *mean = llfi_arena_alloc(t->s->arena, (t->folds + 1) * sizeof *mean), n = chunk_count(t, at);
    if (!mean)
        return llfi_nomem(e->diag);
    t->ins = 0;
    e->width = 1;
    for (uint32_t i = 0; i < t->folds; i++) {
        llfi_rows_fold *f = &t->fold[i];
        llfi_fold sum = llfi_fold_sum(&f->fold);
        if (f->fold.op == LLF_OP_SOFTMAX_STATS) {
            add(t, f, sum, LLFI_ROWS_POWER, f->state.v[0]);
        } else if (f->fold.op == LLF_OP_MOMENTS) {
            mean[i] = llfi_moments_mean(e, &f->fold, f->state.v[0], n);
            add(t, f, sum, LLFI_ROWS_DISTANCE, mean[i]);
            add(t, f, sum, LLFI_ROWS_SQUARE, mean[i]);
        }
    }
    LLF_TRY(go_again(t, at));
    e->width = 1;
    for (uint32_t i = 0, k = 0; i < t->folds; i++) {
        llfi_rows_fold *f = &t->fold[i];
        if (f->fold.op == LLF_OP_SOFTMAX_STATS) {
            f->state.v[0] = llfi_softmax_scale(e, &f->fold, f->state.v[0]);
            f->state.v[1] = t->in[k++].state.v[0];
        } else if (f->fold.op == LLF_OP_MOMENTS) {
            f->state =
                llfi_moments_close(e, &f->fold, mean[i], t->in[k].state.v[0], t->in[k + 1].state.v[0], n);
            k += 2;
        }
    }
    return e->status;
}

/* What a fold's elements are first folded by. */
static llfi_fold first_of(const llfi_fold *f)
{
    if (f->op == LLF_OP_SOFTMAX_STATS)
        return llfi_fold_max(f);
    llfi_fold sum = llfi_fold_sum(f);
    sum.in = f->in;
    return f->op == LLF_OP_MOMENTS ? sum : *f;
}

llf_status llfi_rows_chunk(llfi_rows *t, const llfi_rows_place *at)
{
    bool again = false;
    t->ins = 0;
    for (uint32_t i = 0; i < t->folds; i++) {
        again = again || llfi_fold_is_stats(&t->fold[i].fold);
        add(t, &t->fold[i], first_of(&t->fold[i].fold), LLFI_ROWS_PLAIN, NULL);
    }
    t->stores = true;
    bool keeps = again && !t->kept && t->vectors; /* for the second go */
    if (keeps)
        LLF_TRY(llfi_rows_keep(t));
    llf_status status = llfi_rows_go(t, at);
    for (uint32_t i = 0; i < t->folds; i++)
        t->fold[i].state = t->in[i].state;
    if (status == LLF_OK && again)
        status = stats(t, at);
    if (keeps)
        t->kept = NULL;
    return status;
}

void llfi_rows_meet(llfi_rows *t, const llfi_state *before, LLVMBasicBlockRef *road)
{
    LLVMBuilderRef b = t->s->emit.b;
    for (uint32_t i = 0; i < t->folds; i++)
        for (uint32_t k = 0; k < t->fold[i].fold.states; k++) {
            LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(before[i].v[k]), "");
            LLVMAddIncoming(phi, (LLVMValueRef[]){before[i].v[k], t->fold[i].state.v[k]}, road, 2);
            t->fold[i].state.v[k] = phi;
        }
}

/* ---- results */

void llfi_rows_bind(llfi_rows *t)
{
    llfi_site *s = t->s;
    llfi_emit *e = &s->emit;
    LLVMValueRef empty = NULL, two[LLFI_FOLD_STATES];
    e->width = 1;
    if (t->constant <= 0)
        empty = LLVMBuildICmp(e->b, LLVMIntEQ, t->length, llfi_rows_number(t, 0), "");
    for (uint32_t i = 0; i < t->folds; i++) {
        llfi_rows_fold *f = &t->fold[i];
        if (!llfi_fold_is_stats(&f->fold)) {
            llfi_bind(s, f->demand, llfi_fold_result(e, &f->fold, f->state, empty));
            continue;
        }
        if (f->fold.op == LLF_OP_SOFTMAX_STATS) { /* a lone chunk's too: NaN where its exponent overflowed */
            LLVMValueRef by = llfi_softmax_factor(e, &f->fold, f->state.v[0], f->state.v[0]);
            if (!by)
                return;
            f->state.v[1] = LLVMBuildFMul(e->b, f->state.v[1], by, "");
        }
        llfi_fold_results(e, &f->fold, f->state, empty, two);
        llfi_bind(s, f->demand, two[0]);
        for (uint32_t d = f->demand; d < s->demands.count; d++)
            if (llfi_node_at(s->g, s->demands.at[d].node)->op == LLF_OP_RESULT && !s->demands.at[d].leaf &&
                s->demands.at[d].arg[0] == f->demand)
                llfi_bind(s, d, two[1]);
    }
}
