/* rows_gpu_chunk.c: a chunk of a row by one warp, or a short row by some lanes of it: elements are loaded and
 * computed, results among them stored, and folded in the order of reduce.h. By vectors of eight along the
 * row, or, where buffers or rows are not aligned, one by one in a loop. Elements past the end of the row are
 * those at its beginning once more, and are left out. It knows neither arrays nor phases. */
#include "lower/rows_gpu.h"

#include "lower/pointwise.h"

#define PARTS (LLFI_CHUNK / LLFI_CHUNK_S)
#define WIDTH LLFI_CHUNK_J

/* Some elements of the chunk. */
typedef struct {
    LLVMValueRef i;    /* of the row: the first */
    LLVMValueRef keep; /* i1: they are there; NULL: always */
    LLVMValueRef axis[LLFI_RANK];
    llfi_tile tile;
    LLVMValueRef *val; /* by demand */
    bool kept;         /* val is of an earlier phase */
} piece;

LLVMValueRef llfi_rows_number(const llfi_rows *t, uint64_t x)
{
    return LLVMConstInt(t->index, x, 0);
}

/* Axes of the point `i` of the row. */
static void set_axes(llfi_rows *t, piece *p, uint32_t width)
{
    memcpy(p->axis, t->axis, sizeof p->axis);
    llfi_index_forget(t->s);
    llfi_pointwise_unravel(t->s, p->i, t->s->demands.space.outer, t->s->demands.space.axes, p->axis);
    p->tile = (llfi_tile){.width = width, .axis = p->axis, .steps = t->vectors, .aligned = t->vectors};
}

static void restore(llfi_rows *t, const piece *p)
{
    llfi_site *s = t->s;
    llfi_site_forget_points(s);
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        if (s->demands.at[i].scope == LLFI_SCOPE_POINT)
            s->val[i] = p->val[i];
}

static void save(const llfi_rows *t, piece *p)
{
    const llfi_site *s = t->s;
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        if (s->demands.at[i].scope == LLFI_SCOPE_POINT)
            p->val[i] = s->val[i];
}

static llf_status lower(llfi_rows *t, piece *p, bool leaves)
{
    llfi_site *s = t->s;
    restore(t, p);
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++) {
        const llfi_demand *d = &s->demands.at[i];
        if (t->mark[i] && (!leaves || (d->leaf && !d->late)))
            LLF_TRY(llfi_lower(s, &p->tile, i, i + 1));
    }
    save(t, p);
    return LLF_OK;
}

/* Results of this phase among the elements. */
static llf_status store(llfi_rows *t, const piece *p)
{
    llfi_site *s = t->s;
    llfi_emit *e = &s->emit;
    LLVMValueRef who = p->keep;
    LLVMBasicBlockRef after = NULL;
    if (!t->stores)
        return LLF_OK;
    if (who && t->valid)
        who = LLVMBuildAnd(e->b, who, t->valid, "");
    else if (t->valid)
        who = t->valid;
    for (uint32_t i = 0; i < s->kernel->stores; i++) {
        const llfi_demand *d = &s->demands.at[s->demands.store[i]];
        if (d->scope != LLFI_SCOPE_POINT || d->phase != t->phase)
            continue;
        if (who && !after) {
            LLVMBasicBlockRef inside = llfi_gpu_place(e);
            after = llfi_gpu_place(e);
            LLVMBuildCondBr(e->b, who, inside, after);
            LLVMPositionBuilderAtEnd(e->b, inside);
        }
        LLF_TRY(llfi_store(s, &p->tile, s->demands.store[i]));
    }
    if (after) {
        LLVMBuildBr(e->b, after);
        LLVMPositionBuilderAtEnd(e->b, after);
        llfi_index_forget(s);
    }
    return LLF_OK;
}

/* Numbers of the elements in the row, for folds with places. */
static LLVMValueRef places(const llfi_rows *t, const piece *p)
{
    llfi_emit *e = &t->s->emit;
    if (e->width == 1)
        return p->i;
    LLVMValueRef lane[WIDTH];
    for (uint32_t j = 0; j < WIDTH; j++)
        lane[j] = llfi_rows_number(t, j);
    return LLVMBuildAdd(e->b, llfi_emit_splat(e, p->i, WIDTH), LLVMConstVector(lane, WIDTH), "");
}

/* x as the fold wants it. */
static LLVMValueRef mapped(llfi_emit *e, const llfi_rows_in *in, llf_dtype dtype, LLVMValueRef x)
{
    if (in->map == LLFI_ROWS_PLAIN)
        return x;
    x = llfi_emit_convert(e, dtype, in->fold.acc, x);
    LLVMValueRef by = llfi_emit_splat(e, in->by, e->width);
    if (in->map == LLFI_ROWS_POWER) {
        e->may_flush = true; /* their sum is 1 at least */
        x = llfi_softmax_power(e, &in->fold, x, by);
        e->may_flush = false;
        return x;
    }
    x = LLVMBuildFSub(e->b, x, by, "");
    return in->map == LLFI_ROWS_SQUARE ? LLVMBuildFMul(e->b, x, x, "") : x;
}

static llfi_state element(const llfi_rows *t, const llfi_rows_in *in, const piece *p)
{
    llfi_emit *e = &t->s->emit;
    llf_dtype dtype = llfi_dtype_of(t->s->g, t->s->demands.at[in->operand].node);
    LLVMValueRef x = t->s->demands.at[in->operand].scope == LLFI_SCOPE_POINT ? p->val[in->operand]
                                                                             : t->s->val[in->operand];
    if (e->width > 1 && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind)
        x = llfi_emit_splat(e, x, e->width);
    x = mapped(e, in, dtype, x);
    llfi_state s = llfi_fold_element(e, &in->fold, x, in->fold.places ? places(t, p) : NULL);
    return p->keep ? llfi_fold_where(e, &in->fold, p->keep, s) : s;
}

/* Bits 9 and 8; parts from `parts` on are not there. */
static llfi_state fold_parts(llfi_emit *e, const llfi_fold *f, llfi_state *s, uint32_t parts)
{
    for (uint32_t k = 0; k + 2 < parts; k++)
        s[k] = llfi_fold_combine(e, f, s[k], s[k + 2]);
    return parts > 1 ? llfi_fold_combine(e, f, s[0], s[1]) : s[0];
}

/* From the lanes' states to the chunk's, in all of them. */
static llf_status fold_lanes(const llfi_rows *t, llfi_rows_in *f)
{
    llfi_emit *e = &t->s->emit;
    e->width = 1;
    for (uint32_t m = t->p->row.lanes / 2; m; m /= 2) {
        llfi_state other = {{NULL}};
        for (uint32_t k = 0; k < f->fold.states; k++)
            if (!(other.v[k] = llfi_gpu_lane_xor(e, f->state.v[k], m)))
                return e->status;
        f->state = llfi_fold_combine(e, &f->fold, f->state, other);
    }
    return e->status;
}

/* How many of the chunk's parts there are at all, and whether one may be beyond the row's end. */
static uint32_t parts_of(const llfi_rows *t, int64_t least)
{
    uint32_t parts = t->p->row.lanes < LLFI_WARP ? 1 : PARTS;
    while (parts > 1 && t->constant >= 0 && least * LLFI_CHUNK + (parts - 1) * LLFI_CHUNK_S >= t->constant)
        parts--;
    return parts;
}

static bool ends_inside(const llfi_rows *t, int64_t most, uint32_t part)
{
    if (t->constant < 0)
        return true;
    int64_t size = t->p->row.lanes < LLFI_WARP ? t->p->row.lanes * WIDTH : LLFI_CHUNK_S;
    return most < 0 ? t->constant % LLFI_CHUNK != 0
                    : most * LLFI_CHUNK + part * LLFI_CHUNK_S + size > t->constant;
}

/* The elements from `i` on; `may_end`: the row may end before them. */
static void begin(llfi_rows *t, piece *p, LLVMValueRef i, bool may_end, uint32_t width)
{
    LLVMBuilderRef b = t->s->emit.b;
    p->i = i;
    p->keep = NULL;
    if (may_end) {
        p->keep = LLVMBuildICmp(b, LLVMIntULT, i, t->length, "");
        p->i = LLVMBuildSelect(b, p->keep, i, llfi_rows_number(t, 0), "");
    }
    set_axes(t, p, width);
}

static LLVMValueRef as_index(const llfi_rows *t, LLVMValueRef x)
{
    return t->index == t->s->emit.i64 ? LLVMBuildZExt(t->s->emit.b, x, t->index, "") : x;
}

static LLVMValueRef *values(const llfi_rows *t)
{
    const llfi_site *s = t->s;
    LLVMValueRef *val = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *val);
    if (val)
        memset(val, 0, (s->demands.count + 1) * sizeof *val);
    return val;
}

static llf_status by_vectors(llfi_rows *t, LLVMValueRef c, uint32_t slot, int64_t least, int64_t most)
{
    llfi_emit *e = &t->s->emit;
    uint32_t parts = parts_of(t, least);
    piece part[PARTS];
    LLVMValueRef first = LLVMBuildMul(e->b, c, llfi_rows_number(t, LLFI_CHUNK), "");
    LLVMValueRef lane = LLVMBuildMul(e->b, as_index(t, t->lane), llfi_rows_number(t, WIDTH), "");
    first = LLVMBuildAdd(e->b, first, lane, "");
    for (uint32_t k = 0; k < parts; k++) {
        LLVMValueRef **kept = t->kept ? &t->kept[slot * PARTS + k] : NULL;
        begin(t, &part[k], LLVMBuildAdd(e->b, first, llfi_rows_number(t, k * LLFI_CHUNK_S), ""),
              ends_inside(t, most, k), WIDTH);
        part[k].val = kept && *kept ? *kept : values(t);
        if (!part[k].val)
            return llfi_nomem(e->diag);
        if (kept)
            *kept = part[k].val;
        LLF_TRY(lower(t, &part[k], true));
    }
    for (uint32_t k = 0; k < parts; k++) {
        LLF_TRY(lower(t, &part[k], false));
        for (uint32_t i = 0; i < t->ins; i++) {
            e->width = WIDTH;
            t->in[i].part[k] = element(t, &t->in[i], &part[k]);
        }
        LLF_TRY(store(t, &part[k]));
    }
    for (uint32_t i = 0; i < t->ins; i++) {
        llfi_rows_in *f = &t->in[i];
        e->width = WIDTH;
        f->state = llfi_fold_j(e, &f->fold, fold_parts(e, &f->fold, f->part, parts));
        LLF_TRY(fold_lanes(t, f));
    }
    return e->status;
}

/* ---- one by one */

/* Round `j` of a chunk: an element of each part. */
static llf_status round_of(llfi_rows *t, LLVMValueRef first, LLVMValueRef j, uint32_t parts, int64_t most)
{
    llfi_emit *e = &t->s->emit;
    piece p = {.val = values(t)};
    if (!p.val)
        return llfi_nomem(e->diag);
    for (uint32_t k = 0; k < parts; k++) {
        LLVMValueRef lane = as_index(t, t->lane), i;
        if (t->ins) { /* in the order */
            i = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, lane, llfi_rows_number(t, WIDTH), ""), j, "");
            i = LLVMBuildAdd(e->b, i, llfi_rows_number(t, k * LLFI_CHUNK_S), "");
        } else { /* lanes side by side */
            i = LLVMBuildMul(e->b, j, llfi_rows_number(t, t->p->row.lanes), "");
            i = LLVMBuildAdd(e->b, i, LLVMBuildAdd(e->b, lane, llfi_rows_number(t, k * LLFI_CHUNK_S), ""),
                             "");
        }
        begin(t, &p, LLVMBuildAdd(e->b, first, i, ""), ends_inside(t, most, k), 1);
        memset(p.val, 0, t->s->demands.count * sizeof *p.val);
        LLF_TRY(lower(t, &p, false));
        for (uint32_t f = 0; f < t->ins; f++) {
            e->width = 1;
            t->in[f].part[k] = element(t, &t->in[f], &p);
        }
        LLF_TRY(store(t, &p));
    }
    return e->status;
}

/* The round's states become lane j of `sum`. */
static llfi_state join(const llfi_rows *t, llfi_rows_in *f, llfi_state sum, LLVMValueRef j, uint32_t parts)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef lane[WIDTH];
    for (uint32_t i = 0; i < WIDTH; i++)
        lane[i] = llfi_rows_number(t, i);
    LLVMValueRef here =
        LLVMBuildICmp(e->b, LLVMIntEQ, llfi_emit_splat(e, j, WIDTH), LLVMConstVector(lane, WIDTH), "");
    e->width = 1;
    llfi_state s = fold_parts(e, &f->fold, f->part, parts);
    for (uint32_t k = 0; k < f->fold.states; k++)
        sum.v[k] = LLVMBuildSelect(e->b, here, llfi_emit_splat(e, s.v[k], WIDTH), sum.v[k], "");
    return sum;
}

static llf_status by_elements(llfi_rows *t, LLVMValueRef c, int64_t least, int64_t most)
{
    llfi_emit *e = &t->s->emit;
    LLVMBuilderRef b = e->b;
    uint32_t parts = parts_of(t, least);
    LLVMValueRef first = LLVMBuildMul(b, c, llfi_rows_number(t, LLFI_CHUNK), "");
    LLVMBasicBlockRef roads[2] = {LLVMGetInsertBlock(b), NULL}, body = llfi_gpu_place(e),
                      after = llfi_gpu_place(e);
    LLVMBuildBr(b, body);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef j = LLVMBuildPhi(b, t->index, "");
    for (uint32_t f = 0; f < t->ins; f++)
        for (uint32_t k = 0; k < t->in[f].fold.states; k++)
            t->in[f].state.v[k] = LLVMBuildPhi(b, llfi_fold_type(e, &t->in[f].fold, k, WIDTH), "");
    LLF_TRY(round_of(t, first, j, parts, most));
    LLVMValueRef next = LLVMBuildAdd(b, j, llfi_rows_number(t, 1), "");
    for (uint32_t f = 0; f < t->ins; f++) {
        llfi_rows_in *fold = &t->in[f];
        e->width = WIDTH;
        llfi_state none = llfi_fold_identity(e, &fold->fold), sum = join(t, fold, fold->state, j, parts);
        roads[1] = LLVMGetInsertBlock(b);
        for (uint32_t k = 0; k < fold->fold.states; k++)
            LLVMAddIncoming(fold->state.v[k], (LLVMValueRef[]){none.v[k], sum.v[k]}, roads, 2);
        fold->state = sum;
    }
    roads[1] = LLVMGetInsertBlock(b);
    LLVMAddIncoming(j, (LLVMValueRef[]){llfi_rows_number(t, 0), next}, roads, 2);
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, next, llfi_rows_number(t, WIDTH), "");
    llfi_emit_keep_loop(e, LLVMBuildCondBr(b, more, body, after));
    LLVMPositionBuilderAtEnd(b, after);
    llfi_site_forget_points(t->s);
    for (uint32_t f = 0; f < t->ins; f++) {
        e->width = WIDTH;
        t->in[f].state = llfi_fold_j(e, &t->in[f].fold, t->in[f].state);
        LLF_TRY(fold_lanes(t, &t->in[f]));
    }
    return e->status;
}

llf_status llfi_rows_go(llfi_rows *t, const llfi_rows_place *at)
{
    llf_status status = t->vectors ? by_vectors(t, at->c, at->slot, at->least, at->most)
                                   : by_elements(t, at->c, at->least, at->most);
    llfi_site_forget_points(t->s);
    return status;
}

llf_status llfi_rows_keep(llfi_rows *t)
{
    size_t bytes = (size_t)LLFI_ROWS_SLOTS * PARTS * sizeof *t->kept;
    t->kept = llfi_arena_alloc(t->s->arena, bytes);
    if (!t->kept)
        return llfi_nomem(t->s->emit.diag);
    memset(t->kept, 0, bytes);
    return LLF_OK;
}
