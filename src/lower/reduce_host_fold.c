/* reduce_host_fold.c: elements of a row, or of `unit` rows side by side, to the state of each reduction, on
 * the CPU. What is carried along stands in slots that mem2reg makes registers of. It knows no ops but through
 * reduce.h, and leaves the elements to its caller.
 *
 * Where the order shows, a row's chunk is put down as it comes and folded in it (reduce.h): 256 and 512
 * apart, then eights of vectors of eight at once, then the four that are left. Columns: a lane's elements are
 * put down, each `unit` wide, and folded; the 32 lanes again. Chunks are added up like a binary counter
 * counts: levels[k] is the fold of 2^k of them. */
#include "lower/reduce_host.h"

#define LANES (LLFI_CHUNK_S / LLFI_CHUNK_J)
#define LEVELS 54u /* 2^63 elements */

LLVMBasicBlockRef llfi_host_block(llfi_site *s)
{
    return LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
}

LLVMValueRef llfi_host_number(const llfi_site *s, uint64_t x)
{
    return LLVMConstInt(s->emit.i64, x, 0);
}

LLVMValueRef llfi_host_slot(llfi_site *s, LLVMTypeRef type, uint32_t count)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMPositionBuilder(b, LLVMGetEntryBasicBlock(s->function),
                        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(s->function)));
    LLVMValueRef slot = LLVMBuildAlloca(b, count == 1 ? type : LLVMArrayType2(type, count), "");
    if (count > 1)
        LLVMSetAlignment(slot, 64);
    LLVMPositionBuilderAtEnd(b, here);
    return slot;
}

llfi_host_loop llfi_host_loop_begin(llfi_site *s, LLVMValueRef begin, LLVMValueRef end, uint64_t step)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    llfi_host_loop l = {.head = llfi_host_block(s), .after = llfi_host_block(s), .end = end, .step = step};
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""), l.head, l.after);
    LLVMPositionBuilderAtEnd(b, l.head);
    l.i = LLVMBuildPhi(b, s->emit.i64, "");
    LLVMAddIncoming(l.i, &begin, &before, 1);
    return l;
}

void llfi_host_loop_end(llfi_site *s, const llfi_host_loop *l)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
    LLVMValueRef next = LLVMBuildAdd(b, l->i, llfi_host_number(s, l->step), "");
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntSLT, next, l->end, "");
    llfi_emit_keep_loop(&s->emit, LLVMBuildCondBr(b, more, l->head, l->after));
    LLVMAddIncoming(l->i, &next, &latch, 1);
    LLVMPositionBuilderAtEnd(b, l->after);
}

/* ---- memory of ordered folds, whose states are one float */

static LLVMTypeRef float_of(const llfi_host_rows *r, const llfi_host_fold *f, uint32_t width)
{
    return llfi_fold_type(&r->s->emit, &f->fold, 0, width);
}

static LLVMValueRef place(llfi_host_rows *r, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef at)
{
    return LLVMBuildGEP2(r->s->emit.b, type, base, &at, 1, "");
}

static LLVMValueRef get(llfi_host_rows *r, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef at)
{
    return LLVMBuildLoad2(r->s->emit.b, type, place(r, type, base, at), "");
}

/* Of `width` elements at element `at`. */
static LLVMValueRef get_vector(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef base, LLVMValueRef at,
                               uint32_t width)
{
    LLVMValueRef from = place(r, float_of(r, f, 1), base, at);
    return LLVMBuildLoad2(r->s->emit.b, float_of(r, f, width), from, "");
}

static LLVMValueRef add(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef a, LLVMValueRef b)
{
    return llfi_fold_combine(&r->s->emit, &f->order, (llfi_state){{a}}, (llfi_state){{b}}).v[0];
}

static LLVMValueRef nothing(llfi_host_rows *r, const llfi_fold *f, uint32_t width)
{
    llfi_emit *e = &r->s->emit;
    uint32_t before = e->width;
    e->width = width;
    LLVMValueRef x = llfi_fold_identity(e, f).v[0];
    e->width = before;
    return x;
}

static LLVMValueRef plus(const llfi_host_rows *r, LLVMValueRef a, uint64_t b)
{
    return b ? LLVMBuildAdd(r->s->emit.b, a, llfi_host_number(r->s, b), "") : a;
}

static LLVMValueRef least(llfi_host_rows *r, LLVMValueRef a, LLVMValueRef b)
{
    return llfi_emit_call(&r->s->emit, "llvm.smin", r->s->emit.i64, (LLVMValueRef[]){a, b}, 2);
}

/* ceil(x / 2^shift) */
static LLVMValueRef pieces(llfi_host_rows *r, LLVMValueRef x, uint32_t shift)
{
    return LLVMBuildLShr(r->s->emit.b, plus(r, x, (UINT64_C(1) << shift) - 1), llfi_host_number(r->s, shift),
                         "");
}

static void fill(llfi_host_rows *r, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef value,
                 LLVMValueRef from, LLVMValueRef to)
{
    llfi_host_loop l = llfi_host_loop_begin(r->s, from, to, 1);
    LLVMBuildStore(r->s->emit.b, value, place(r, type, base, l.i));
    llfi_host_loop_end(r->s, &l);
}

/* ---- one chunk of a row */

/* Eight vectors from element `at` on, of as many apart as there are `quarters`: folded over s and j. */
static LLVMValueRef fold_group(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef memory,
                               LLVMValueRef at, uint32_t quarters)
{
    llfi_state v[8];
    for (uint32_t lane = 0; lane < 8; lane++) {
        LLVMValueRef q[4];
        for (uint32_t s = 0; s < quarters; s++)
            q[s] =
                get_vector(r, f, memory, plus(r, at, s * LLFI_CHUNK_S + lane * LLFI_CHUNK_J), LLFI_CHUNK_J);
        v[lane].v[0] = quarters == 1 ? q[0] : add(r, f, add(r, f, q[0], q[2]), add(r, f, q[1], q[3]));
    }
    r->s->emit.width = LLFI_CHUNK_J;
    return llfi_fold_j8(&r->s->emit, &f->order, v).v[0];
}

/* The groups [0, count) of a chunk into r->group. */
static void fold_groups(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef memory, LLVMValueRef count,
                        uint32_t quarters)
{
    llfi_site *s = r->s;
    llfi_host_loop l = llfi_host_loop_begin(s, llfi_host_number(s, 0), count, 1);
    LLVMValueRef at = LLVMBuildShl(s->emit.b, l.i, llfi_host_number(s, 6), "");
    LLVMBuildStore(s->emit.b, fold_group(r, f, memory, at, quarters),
                   place(r, float_of(r, f, 8), r->group, l.i));
    llfi_host_loop_end(s, &l);
}

/* The chunk of n >= 1 elements, filled up as fill_chunk does. */
static LLVMValueRef fold_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef memory,
                               LLVMValueRef n)
{
    llfi_site *s = r->s;
    llfi_emit *e = &s->emit;
    LLVMTypeRef type = float_of(r, f, 8);
    LLVMValueRef v[4], groups = pieces(r, n, 6), four = llfi_host_number(s, 4);
    LLVMBasicBlockRef road[2] = {llfi_host_block(s), llfi_host_block(s)}, after = llfi_host_block(s);
    if (!r->group)
        r->group = llfi_host_slot(s, llfi_emit_vec(e->f64, 8), 4);
    LLVMValueRef large = LLVMBuildICmp(e->b, LLVMIntSGT, n, llfi_host_number(s, LLFI_CHUNK_S), "");
    LLVMBuildCondBr(e->b, large, road[0], road[1]);
    for (uint32_t i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(e->b, road[i]);
        bool never = LLVMIsAConstantInt(large) && LLVMConstIntGetZExtValue(large) == i;
        if (i && !never)
            fill(r, type, r->group, nothing(r, &f->order, 8), groups, four);
        if (!never)
            fold_groups(r, f, memory, i ? groups : four, i ? 1 : 4);
        LLVMBuildBr(e->b, after);
    }
    LLVMPositionBuilderAtEnd(e->b, after);
    for (uint32_t g = 0; g < 4; g++)
        v[g] = get(r, type, r->group, llfi_host_number(s, g));
    llfi_state x = {{add(r, f, add(r, f, v[0], v[2]), add(r, f, v[1], v[3]))}};
    for (uint32_t width = 8; width > 1; width /= 2)
        x = llfi_fold_halves(e, &f->order, x, width);
    return x.v[0];
}

/* Behind n elements what is folded with them. */
static void fill_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef n)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef large = LLVMBuildICmp(b, LLVMIntSGT, n, llfi_host_number(s, LLFI_CHUNK_S), "");
    LLVMValueRef to = LLVMBuildShl(b, pieces(r, n, 6), llfi_host_number(s, 3), "");
    to = LLVMBuildSelect(b, large, llfi_host_number(s, LLFI_CHUNK / LLFI_CHUNK_J), to, "");
    LLVMValueRef from = LLVMBuildLShr(b, n, llfi_host_number(s, 3), "");
    fill(r, float_of(r, f, 8), f->chunk, nothing(r, &f->fold, 8), from, to);
}

/* ---- one chunk of `unit` rows */

/* The elements of a lane that are `large` chunks' to lane[at]; else only the first eight are there. */
static void fold_lane(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef at, LLVMValueRef large)
{
    llfi_site *s = r->s;
    LLVMTypeRef type = float_of(r, f, r->unit);
    LLVMValueRef v[LLFI_CHUNK_J], zero = llfi_host_number(s, 0), eight = llfi_host_number(s, LLFI_CHUNK_J);
    llfi_host_loop l = llfi_host_loop_begin(s, zero, LLVMBuildSelect(s->emit.b, large, eight, zero, ""), 1);
    for (uint32_t q = 0; q < 4; q++)
        v[q] = get(r, type, f->chunk, plus(r, l.i, q * LLFI_CHUNK_J));
    LLVMValueRef sum = add(r, f, add(r, f, v[0], v[2]), add(r, f, v[1], v[3]));
    LLVMBuildStore(s->emit.b, sum, place(r, type, f->chunk, l.i));
    llfi_host_loop_end(s, &l);
    for (uint32_t j = 0; j < LLFI_CHUNK_J; j++)
        v[j] = get(r, type, f->chunk, llfi_host_number(s, j));
    for (uint32_t j = 0; j < LLFI_CHUNK_J; j += j & 1 ? 3 : 1) /* bit 1: 0, 1, 4, 5 */
        v[j] = add(r, f, v[j], v[j + 2]);
    LLVMValueRef low = add(r, f, v[0], v[1]), high = add(r, f, v[4], v[5]);
    LLVMBuildStore(s->emit.b, add(r, f, low, high), place(r, type, f->lane, at));
}

/* The lanes [0, count) to one: those a half apart, until one is left. */
static LLVMValueRef fold_lanes(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef count)
{
    llfi_site *s = r->s;
    llfi_emit *e = &s->emit;
    LLVMTypeRef type = float_of(r, f, r->unit);
    LLVMValueRef half = llfi_host_slot(s, e->i64, 1), one = llfi_host_number(s, 1);
    /* the power of two that is not below count: 32 - clz */
    LLVMValueRef above = LLVMBuildSub(e->b, count, one, "");
    LLVMValueRef zeros =
        llfi_emit_call(e, "llvm.ctlz", e->i64, (LLVMValueRef[]){above, LLVMConstInt(e->i1, 0, 0)}, 2);
    LLVMValueRef bits = LLVMBuildSub(e->b, llfi_host_number(s, 64), zeros, "");
    LLVMValueRef room = LLVMBuildShl(e->b, one, bits, "");
    fill(r, type, f->lane, nothing(r, &f->order, r->unit), count, room);
    LLVMBuildStore(e->b, LLVMBuildLShr(e->b, room, one, ""), half);
    llfi_host_loop outer = llfi_host_loop_begin(s, llfi_host_number(s, 0), bits, 1);
    LLVMValueRef h = LLVMBuildLoad2(e->b, e->i64, half, "");
    llfi_host_loop inner = llfi_host_loop_begin(s, llfi_host_number(s, 0), h, 1);
    LLVMValueRef x = get(r, type, f->lane, inner.i);
    LLVMValueRef y = get(r, type, f->lane, LLVMBuildAdd(e->b, inner.i, h, ""));
    LLVMBuildStore(e->b, add(r, f, x, y), place(r, type, f->lane, inner.i));
    llfi_host_loop_end(s, &inner);
    LLVMBuildStore(e->b, LLVMBuildLShr(e->b, h, one, ""), half);
    llfi_host_loop_end(s, &outer);
    return get(r, type, f->lane, llfi_host_number(s, 0));
}

/* Elements base + 256 s + 8 lane + j of one s: those that there are, of eight. */
static llf_status quarter(llfi_host_rows *r, LLVMValueRef base, LLVMValueRef lane, LLVMValueRef s_,
                          LLVMValueRef n, llfi_host_element_fn *element)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef first = LLVMBuildAdd(b, LLVMBuildShl(b, s_, llfi_host_number(s, 8), ""),
                                      LLVMBuildShl(b, lane, llfi_host_number(s, 3), ""), "");
    LLVMValueRef eight = llfi_host_number(s, LLFI_CHUNK_J), zero = llfi_host_number(s, 0);
    LLVMValueRef left = least(r, LLVMBuildSub(b, n, first, ""), eight),
                 slot = LLVMBuildShl(b, s_, llfi_host_number(s, 3), "");
    left = llfi_emit_call(&s->emit, "llvm.smax", s->emit.i64, (LLVMValueRef[]){left, zero}, 2);
    LLVMValueRef from = LLVMBuildAdd(b, base, first, "");
    llfi_host_loop l = llfi_host_loop_begin(s, zero, left, 1);
    LLF_TRY(element(r, LLVMBuildAdd(b, from, l.i, ""), LLVMBuildAdd(b, slot, l.i, ""), r->unit));
    llfi_host_loop_end(s, &l);
    for (uint32_t k = 0; k < r->folds; k++) {
        const llfi_host_fold *f = &r->fold[k];
        if (f->fold.ordered)
            fill(r, float_of(r, f, r->unit), f->chunk, nothing(r, &f->order, r->unit),
                 LLVMBuildAdd(b, slot, left, ""), LLVMBuildAdd(b, slot, eight, ""));
    }
    return s->emit.status;
}

static llf_status column_chunk(llfi_host_rows *r, LLVMValueRef base, LLVMValueRef n, llfi_state *value,
                               llfi_host_element_fn *element)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef zero = llfi_host_number(s, 0), lanes = least(r, pieces(r, n, 3), llfi_host_number(s, LANES));
    LLVMValueRef large = LLVMBuildICmp(b, LLVMIntSGT, n, llfi_host_number(s, LLFI_CHUNK_S), "");
    LLVMValueRef quarters = LLVMBuildSelect(b, large, llfi_host_number(s, 4), llfi_host_number(s, 1), "");
    llfi_host_loop lane = llfi_host_loop_begin(s, zero, lanes, 1);
    llfi_host_loop q = llfi_host_loop_begin(s, zero, quarters, 1);
    LLF_TRY(quarter(r, base, lane.i, q.i, n, element));
    llfi_host_loop_end(s, &q);
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            fold_lane(r, &r->fold[k], lane.i, large);
    llfi_host_loop_end(s, &lane);
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            value[k].v[0] = fold_lanes(r, &r->fold[k], lanes);
    return s->emit.status;
}

/* ---- chunks */

/* What is before, of na elements, and nb behind it. */
static llfi_state pair(llfi_host_rows *r, const llfi_host_fold *f, llfi_state a, llfi_state b,
                       LLVMValueRef na, LLVMValueRef nb)
{
    llfi_emit *e = &r->s->emit;
    e->width = r->unit;
    return f->fold.op == LLF_OP_MOMENTS ? llfi_moments_pair(e, &f->fold, a, b, na, nb)
                                        : llfi_fold_combine(e, &f->order, a, b);
}

/* Values of a chunk's state: of softmax_stats the one that is summed. */
static uint32_t states(const llfi_host_fold *f)
{
    return f->fold.op == LLF_OP_MOMENTS ? 2 : 1;
}

static llfi_state get_level(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef level)
{
    llfi_state x = {{NULL}};
    for (uint32_t k = 0; k < states(f); k++)
        x.v[k] = get(r, float_of(r, f, r->unit), f->levels[k], level);
    return x;
}

static llfi_state get_slots(llfi_host_rows *r, const llfi_host_fold *f, const LLVMValueRef *slot)
{
    llfi_state x = {{NULL}};
    for (uint32_t k = 0; k < states(f); k++)
        x.v[k] = LLVMBuildLoad2(r->s->emit.b, float_of(r, f, r->unit), slot[k], "");
    return x;
}

static void put_slots(llfi_host_rows *r, const llfi_host_fold *f, const LLVMValueRef *slot, llfi_state x)
{
    for (uint32_t k = 0; k < states(f); k++)
        LLVMBuildStore(r->s->emit.b, x.v[k], slot[k]);
}

/* Chunk `c`, of n elements, joins those before it, of `piece` each. */
static void count_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef c, LLVMValueRef n,
                        llfi_state v, LLVMValueRef piece)
{
    llfi_site *s = r->s;
    llfi_emit *e = &s->emit;
    LLVMTypeRef type = float_of(r, f, r->unit);
    LLVMValueRef slot[LLFI_FOLD_STATES], ones = LLVMBuildNot(e->b, c, ""), no = LLVMConstInt(e->i1, 0, 0);
    LLVMValueRef full = llfi_emit_call(e, "llvm.cttz", e->i64, (LLVMValueRef[]){ones, no}, 2);
    for (uint32_t k = 0; k < states(f); k++)
        slot[k] = llfi_host_slot(s, type, 1);
    put_slots(r, f, slot, v);
    llfi_host_loop l = llfi_host_loop_begin(s, llfi_host_number(s, 0), full, 1);
    LLVMValueRef na = LLVMBuildShl(e->b, piece, l.i, "");
    LLVMValueRef nb = LLVMBuildSub(e->b, LLVMBuildAdd(e->b, n, na, ""), piece, "");
    put_slots(r, f, slot, pair(r, f, get_level(r, f, l.i), get_slots(r, f, slot), na, nb));
    llfi_host_loop_end(s, &l);
    v = get_slots(r, f, slot);
    for (uint32_t k = 0; k < states(f); k++)
        LLVMBuildStore(e->b, v.v[k], place(r, type, f->levels[k], full));
}

/* What `count` chunks, of `length` elements, come to: the levels that its bits say, the lowest first. */
static void add_levels(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef count, LLVMValueRef piece,
                       LLVMValueRef length)
{
    llfi_site *s = r->s;
    llfi_emit *e = &s->emit;
    LLVMValueRef behind = llfi_host_slot(s, e->i64, 1), no = LLVMConstInt(e->i1, 0, 0);
    LLVMValueRef zeros = llfi_emit_call(e, "llvm.ctlz", e->i64, (LLVMValueRef[]){count, no}, 2);
    LLVMValueRef bits = LLVMBuildSub(e->b, llfi_host_number(s, 64), zeros, "");
    LLVMValueRef none = nothing(r, &f->order, r->unit);
    put_slots(r, f, f->one, (llfi_state){{none, none}});
    LLVMBuildStore(e->b, llfi_host_number(s, 0), behind);
    llfi_host_loop l = llfi_host_loop_begin(s, llfi_host_number(s, 0), bits, 1);
    LLVMValueRef bit = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, count, l.i, ""), e->i1, "");
    LLVMBasicBlockRef there = llfi_host_block(s), next = llfi_host_block(s);
    LLVMBuildCondBr(e->b, bit, there, next);
    LLVMPositionBuilderAtEnd(e->b, there);
    LLVMValueRef na = LLVMBuildShl(e->b, piece, l.i, "");
    LLVMValueRef nb = LLVMBuildLoad2(e->b, e->i64, behind, "");
    put_slots(r, f, f->one, pair(r, f, get_level(r, f, l.i), get_slots(r, f, f->one), na, nb));
    /* then these are behind: the row without the chunks of the levels above */
    LLVMValueRef above = LLVMBuildAdd(e->b, l.i, llfi_host_number(s, 1), "");
    LLVMValueRef before = LLVMBuildShl(e->b, LLVMBuildLShr(e->b, count, above, ""), above, "");
    before = LLVMBuildMul(e->b, before, piece, "");
    LLVMBuildStore(e->b, LLVMBuildSub(e->b, length, before, ""), behind);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    llfi_host_loop_end(s, &l);
}

/* ---- chunks of stats (reduce.h) */

#define STATS_WIDTH 8u

/* The elements of a chunk that fill_chunk filled up to a multiple of 64. */
static llfi_host_loop stats_begin(llfi_host_rows *r, LLVMValueRef n)
{
    llfi_site *s = r->s;
    LLVMValueRef large = LLVMBuildICmp(s->emit.b, LLVMIntSGT, n, llfi_host_number(s, LLFI_CHUNK_S), "");
    LLVMValueRef end = LLVMBuildShl(s->emit.b, pieces(r, n, 6), llfi_host_number(s, 6), "");
    end = LLVMBuildSelect(s->emit.b, large, llfi_host_number(s, LLFI_CHUNK), end, "");
    s->emit.width = STATS_WIDTH;
    s->emit.memos = 0;
    return llfi_host_loop_begin(s, llfi_host_number(s, 0), end, STATS_WIDTH);
}

static void stats_end(llfi_host_rows *r, const llfi_host_loop *l)
{
    llfi_host_loop_end(r->s, l);
    r->s->emit.width = 1;
    r->s->emit.memos = 0;
}

static LLVMValueRef chunk_maximum(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef n)
{
    llfi_emit *e = &r->s->emit;
    LLVMTypeRef type = float_of(r, f, STATS_WIDTH);
    LLVMValueRef slot = llfi_host_slot(r->s, type, 1);
    llfi_fold max = llfi_fold_max(&f->fold);
    LLVMBuildStore(e->b, nothing(r, &max, STATS_WIDTH), slot);
    llfi_host_loop l = stats_begin(r, n);
    llfi_state x = {{get_vector(r, f, f->chunk, l.i, STATS_WIDTH)}};
    llfi_state m = {{LLVMBuildLoad2(e->b, type, slot, "")}};
    LLVMBuildStore(e->b, llfi_fold_combine(e, &max, m, x).v[0], slot);
    stats_end(r, &l);
    m.v[0] = LLVMBuildLoad2(e->b, type, slot, "");
    for (uint32_t width = STATS_WIDTH; width > 1; width /= 2)
        m = llfi_fold_halves(e, &max, m, width);
    return m.v[0];
}

static llfi_state softmax_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef n)
{
    llfi_emit *e = &r->s->emit;
    LLVMValueRef m = chunk_maximum(r, f, n);
    LLVMValueRef scaled = llfi_softmax_scale(e, &f->fold, m);
    llfi_host_loop l = stats_begin(r, n);
    LLVMValueRef x = get_vector(r, f, f->chunk, l.i, STATS_WIDTH);
    LLVMValueRef y = llfi_softmax_power(e, &f->fold, x, llfi_emit_splat(e, m, STATS_WIDTH));
    if (y)
        LLVMBuildStore(e->b, y, place(r, float_of(r, f, 1), f->chunk, l.i));
    stats_end(r, &l);
    return (llfi_state){{scaled, fold_chunk(r, f, f->chunk, n)}};
}

static llfi_state moments_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef n)
{
    llfi_site *s = r->s;
    llfi_emit *e = &s->emit;
    LLVMTypeRef number = float_of(r, f, 1);
    LLVMValueRef sum = fold_chunk(r, f, f->chunk, n), step[STATS_WIDTH];
    e->width = 1;
    LLVMValueRef mean = llfi_moments_mean(e, &f->fold, sum, n);
    for (uint32_t i = 0; i < STATS_WIDTH; i++)
        step[i] = llfi_host_number(s, i);
    llfi_host_loop l = stats_begin(r, n);
    LLVMValueRef at = llfi_emit_splat(e, l.i, STATS_WIDTH);
    at = LLVMBuildAdd(e->b, at, LLVMConstVector(step, STATS_WIDTH), "");
    LLVMValueRef there = LLVMBuildICmp(e->b, LLVMIntSLT, at, llfi_emit_splat(e, n, STATS_WIDTH), "");
    LLVMValueRef x = get_vector(r, f, f->chunk, l.i, STATS_WIDTH);
    LLVMValueRef d = LLVMBuildFSub(e->b, x, llfi_emit_splat(e, mean, STATS_WIDTH), "");
    const llfi_state part[2] = {{{d}}, {{LLVMBuildFMul(e->b, d, d, "")}}};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef to = place(r, number, i ? f->more : f->chunk, l.i);
        LLVMBuildStore(e->b, llfi_fold_where(e, &f->order, there, part[i]).v[0], to);
    }
    stats_end(r, &l);
    LLVMValueRef left = fold_chunk(r, f, f->chunk, n), squares = fold_chunk(r, f, f->more, n);
    e->width = 1;
    return llfi_moments_close(e, &f->fold, mean, left, squares, n);
}

static llfi_state close_chunk(llfi_host_rows *r, const llfi_host_fold *f, LLVMValueRef n)
{
    return f->fold.op == LLF_OP_SOFTMAX_STATS ? softmax_chunk(r, f, n)
           : f->fold.op == LLF_OP_MOMENTS     ? moments_chunk(r, f, n)
                                              : (llfi_state){{fold_chunk(r, f, f->chunk, n)}};
}

/* What is summed of a softmax_stats chunk, when M of the row is there. */
static llfi_state scaled_chunk(llfi_host_rows *r, const llfi_host_fold *f, llfi_state v)
{
    llfi_emit *e = &r->s->emit;
    if (f->fold.op != LLF_OP_SOFTMAX_STATS)
        return v;
    e->width = 1;
    LLVMValueRef most = LLVMBuildLoad2(e->b, float_of(r, f, 1), f->most, "");
    LLVMValueRef by = llfi_softmax_factor(e, &f->fold, v.v[0], most);
    return (llfi_state){{by ? LLVMBuildFMul(e->b, v.v[1], by, "") : NULL}};
}

static llf_status row_chunk(llfi_host_rows *r, LLVMValueRef base, LLVMValueRef n, llfi_state *value,
                            llfi_host_element_fn *element)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef whole = LLVMBuildAnd(b, n, llfi_host_number(s, ~(uint64_t)(r->width - 1)), "");
    LLVMValueRef begin = llfi_host_number(s, 0);
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            fill_chunk(r, &r->fold[k], n);
    for (uint32_t width = r->width; width; width = width > 1) {
        llfi_host_loop l = llfi_host_loop_begin(s, begin, width > 1 ? whole : n, width);
        LLF_TRY(element(r, LLVMBuildAdd(b, base, l.i, ""), l.i, width));
        llfi_host_loop_end(s, &l);
        begin = whole;
    }
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            value[k] = close_chunk(r, &r->fold[k], n);
    return s->emit.status;
}

/* The row is one chunk, as is known. */
static llf_status only_chunk(llfi_host_rows *r, llfi_state *value, llfi_host_element_fn *element)
{
    LLF_TRY((r->columns ? column_chunk : row_chunk)(r, r->first, r->length, value, element));
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered) {
            if (r->fold[k].most)
                LLVMBuildStore(r->s->emit.b, value[k].v[0], r->fold[k].most);
            put_slots(r, &r->fold[k], r->fold[k].one, scaled_chunk(r, &r->fold[k], value[k]));
        }
    return r->s->emit.status;
}

/* Chunk by chunk, for the ordered folds. */
static llf_status chunks(llfi_host_rows *r, llfi_host_element_fn *element)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef count = pieces(r, r->length, 10), piece = llfi_host_number(s, LLFI_CHUNK);
    llfi_state *value = llfi_arena_alloc(s->arena, r->folds * sizeof *value);
    if (!value)
        return llfi_nomem(s->emit.diag);
    if (r->constant > 0 && r->constant <= LLFI_CHUNK)
        return only_chunk(r, value, element);
    llfi_host_loop c = llfi_host_loop_begin(s, llfi_host_number(s, 0), count, 1);
    LLVMValueRef base = LLVMBuildShl(b, c.i, llfi_host_number(s, 10), "");
    LLVMValueRef n = least(r, LLVMBuildSub(b, r->length, base, ""), piece);
    base = LLVMBuildAdd(b, base, r->first, "");
    LLF_TRY((r->columns ? column_chunk : row_chunk)(r, base, n, value, element));
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            count_chunk(r, &r->fold[k], c.i, n, scaled_chunk(r, &r->fold[k], value[k]), piece);
    llfi_host_loop_end(s, &c);
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].fold.ordered)
            add_levels(r, &r->fold[k], count, piece, r->length);
    return s->emit.status;
}

/* ---- where the order does not show */

static void start(llfi_host_rows *r, const llfi_host_fold *f, const LLVMValueRef *slot, uint32_t width)
{
    llfi_emit *e = &r->s->emit;
    e->width = width;
    llfi_state none = llfi_fold_identity(e, &f->fold);
    for (uint32_t k = 0; k < f->fold.states; k++)
        LLVMBuildStore(e->b, none.v[k], slot[k]);
}

static llfi_state load_state(llfi_host_rows *r, const llfi_host_fold *f, const LLVMValueRef *slot,
                             uint32_t width)
{
    llfi_emit *e = &r->s->emit;
    llfi_state x = {{NULL}};
    for (uint32_t k = 0; k < f->fold.states; k++)
        x.v[k] = LLVMBuildLoad2(e->b, llfi_fold_type(e, &f->fold, k, width), slot[k], "");
    return x;
}

static void store_state(llfi_host_rows *r, const llfi_host_fold *f, const LLVMValueRef *slot, llfi_state x)
{
    for (uint32_t k = 0; k < f->fold.states; k++)
        LLVMBuildStore(r->s->emit.b, x.v[k], slot[k]);
}

/* The vectors' state joins that of the rest. */
static void close_state(llfi_host_rows *r, const llfi_host_fold *f)
{
    llfi_emit *e = &r->s->emit;
    llfi_state x = load_state(r, f, f->wide, r->width);
    for (uint32_t width = r->width; width > 1; width /= 2)
        x = llfi_fold_halves(e, &f->fold, x, width);
    store_state(r, f, f->one, llfi_fold_combine(e, &f->fold, x, load_state(r, f, f->one, 1)));
}

/* One element after the other, for folds whose order does not show. */
static llf_status stream(llfi_host_rows *r, llfi_host_element_fn *element)
{
    llfi_site *s = r->s;
    LLVMValueRef begin = r->first, mask = llfi_host_number(s, ~(uint64_t)(r->width - 1));
    for (uint32_t width = r->columns ? 1 : r->width; width; width = width > 1) {
        LLVMValueRef end = width > 1 ? LLVMBuildAnd(s->emit.b, r->length, mask, "") : r->length;
        end = LLVMBuildAdd(s->emit.b, r->first, end, "");
        llfi_host_loop l = llfi_host_loop_begin(s, begin, end, width);
        LLF_TRY(element(r, l.i, NULL, r->columns ? r->unit : width));
        llfi_host_loop_end(s, &l);
        begin = end;
    }
    return s->emit.status;
}

/* ---- all together */

llf_status llfi_host_fold_begin(llfi_host_rows *r)
{
    llfi_site *s = r->s;
    uint32_t next = 0;
    for (uint32_t k = 0; k < r->folds; k++) {
        llfi_host_fold *f = &r->fold[k];
        for (uint32_t i = 0; i < f->fold.states; i++) {
            f->one[i] = llfi_host_slot(s, llfi_fold_type(&s->emit, &f->fold, i, r->unit), 1);
            f->wide[i] = llfi_host_slot(s, llfi_fold_type(&s->emit, &f->fold, i, r->width), 1);
        }
        if (!f->fold.ordered) {
            start(r, f, f->one, r->unit);
            if (!r->columns)
                start(r, f, f->wide, r->width);
            continue;
        }
        f->order = llfi_fold_sum(&f->fold);
        LLVMValueRef *room = r->memory + LLFI_HOST_ROOMS * next++;
        LLVMTypeRef f64 = llfi_emit_vec(s->emit.f64, r->unit);
        if (!room[LLFI_HOST_CHUNK]) { /* of any float */
            uint32_t levels = s->demands.space.narrow ? 23 : LEVELS;
            room[LLFI_HOST_CHUNK] = llfi_host_slot(s, f64, r->columns ? 4 * LLFI_CHUNK_J : LLFI_CHUNK);
            room[LLFI_HOST_LANE] = r->columns ? llfi_host_slot(s, f64, LANES) : NULL;
            room[LLFI_HOST_LEVELS] = llfi_host_slot(s, f64, levels);
        }
        if (f->fold.op == LLF_OP_MOMENTS && !room[LLFI_HOST_MORE]) {
            room[LLFI_HOST_MORE] = llfi_host_slot(s, f64, LLFI_CHUNK);
            room[LLFI_HOST_LEVELS2] = llfi_host_slot(s, f64, LEVELS);
        }
        f->chunk = room[LLFI_HOST_CHUNK];
        f->lane = room[LLFI_HOST_LANE];
        f->levels[0] = room[LLFI_HOST_LEVELS];
        f->levels[1] = room[LLFI_HOST_LEVELS2];
        f->more = room[LLFI_HOST_MORE];
        if (f->fold.op == LLF_OP_SOFTMAX_STATS)
            f->most = llfi_host_slot(s, float_of(r, f, 1), 1);
    }
    return s->emit.status;
}

void llfi_host_fold_take(llfi_host_rows *r, llfi_host_fold *f, LLVMValueRef x, LLVMValueRef i,
                         LLVMValueRef at, uint32_t width)
{
    llfi_emit *e = &r->s->emit;
    LLVMValueRef number = NULL;
    if (f->fold.places) {
        number = f->fold.narrow ? LLVMBuildTrunc(e->b, i, e->i32, "") : i;
        LLVMTypeRef type = LLVMTypeOf(number);
        LLVMValueRef step[LLFI_FOLD_WIDTH];
        for (uint32_t k = 0; k < width; k++)
            step[k] = LLVMConstInt(type, r->columns ? 0 : k, 0);
        number = llfi_emit_splat(e, number, width);
        number = width > 1 ? LLVMBuildAdd(e->b, number, LLVMConstVector(step, width), "") : number;
    }
    llfi_state state = llfi_fold_element(e, &f->fold, x, number);
    if (!state.v[0])
        return;
    if (f->fold.ordered) {
        LLVMValueRef to = place(r, float_of(r, f, r->unit), f->chunk, at);
        LLVMBuildStore(e->b, state.v[0], to);
        return;
    }
    bool wide = !r->columns && width > 1;
    const LLVMValueRef *slot = wide ? f->wide : f->one;
    store_state(r, f, slot, llfi_fold_combine(e, &f->fold, load_state(r, f, slot, width), state));
}

/* M of the row for each softmax_stats, by going through the row once more: in a row of one chunk it is that
 * of the chunk. */
static llf_status find_most(llfi_host_rows *r, llfi_host_element_fn *element)
{
    llfi_emit *e = &r->s->emit;
    llfi_host_rows max = *r;
    max.folds = 0;
    max.ordered = false;
    max.fold = llfi_arena_alloc(r->s->arena, (r->folds + 1) * sizeof *max.fold);
    if (!max.fold)
        return llfi_nomem(e->diag);
    for (uint32_t k = 0; k < r->folds; k++)
        if (r->fold[k].most)
            max.fold[max.folds++] = (llfi_host_fold){.demand = r->fold[k].demand,
                                                     .fold = llfi_fold_max(&r->fold[k].fold),
                                                     .most = r->fold[k].most};
    if (!max.folds || (r->constant > 0 && r->constant <= LLFI_CHUNK))
        return LLF_OK;
    LLF_TRY(llfi_host_fold_begin(&max));
    LLF_TRY(stream(&max, element));
    for (uint32_t k = 0; k < max.folds; k++) {
        close_state(&max, &max.fold[k]);
        e->width = 1;
        LLVMValueRef m = LLVMBuildLoad2(e->b, float_of(r, &max.fold[k], 1), max.fold[k].one[0], "");
        LLVMBuildStore(e->b, llfi_softmax_scale(e, &max.fold[k].fold, m), max.fold[k].most);
    }
    return e->status;
}

llf_status llfi_host_fold_row(llfi_host_rows *r, llfi_host_element_fn *element)
{
    LLVMBuilderRef b = r->s->emit.b;
    LLF_TRY(find_most(r, element));
    LLF_TRY(r->ordered ? chunks(r, element) : stream(r, element));
    for (uint32_t k = 0; k < r->folds && !r->columns; k++)
        if (!r->fold[k].fold.ordered)
            close_state(r, &r->fold[k]);
    for (uint32_t k = 0; k < r->folds; k++) {
        const llfi_host_fold *f = &r->fold[k];
        if (!f->most)
            continue; /* else the results are M and the sum */
        LLVMBuildStore(b, LLVMBuildLoad2(b, float_of(r, f, 1), f->one[0], ""), f->one[1]);
        LLVMBuildStore(b, LLVMBuildLoad2(b, float_of(r, f, 1), f->most, ""), f->one[0]);
    }
    return r->s->emit.status;
}

/* ---- parts of rows: what threads leave for the one that comes last */

/* Where value `k` (of all folds' states) of the part stands; bools take a byte. */
static LLVMValueRef left(llfi_host_rows *r, LLVMTypeRef type, uint32_t k, LLVMValueRef part,
                         LLVMValueRef scratch)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef rows = r->rows, at = LLVMBuildMul(b, llfi_host_number(s, k), r->parts, "");
    LLVMValueRef values = LLVMBuildMul(b, at, rows, "");
    LLVMValueRef base = place(r, s->emit.i64, scratch, values);
    return place(r, type, base, LLVMBuildAdd(b, LLVMBuildMul(b, part, rows, ""), r->row, ""));
}

static LLVMTypeRef left_type(llfi_host_rows *r, const llfi_host_fold *f, uint32_t k)
{
    LLVMTypeRef type = llfi_fold_type(&r->s->emit, &f->fold, k, 1);
    return type == r->s->emit.i1 ? r->s->emit.i8 : type;
}

void llfi_host_fold_leave(llfi_host_rows *r, LLVMValueRef scratch)
{
    llfi_emit *e = &r->s->emit;
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->folds; i++) {
        const llfi_host_fold *f = &r->fold[i];
        llfi_state x = load_state(r, f, f->one, r->unit);
        for (uint32_t k = 0; k < f->fold.states; k++) {
            LLVMTypeRef type = left_type(r, f, k);
            if (type == e->i8)
                x.v[k] = LLVMBuildZExt(e->b, x.v[k], llfi_emit_vec(type, r->unit), "");
            LLVMValueRef store = LLVMBuildStore(e->b, x.v[k], left(r, type, next++, r->part, scratch));
            LLVMSetAlignment(store, type == e->i8 ? 1 : 4);
        }
    }
}

static llfi_state get_left(llfi_host_rows *r, const llfi_host_fold *f, uint32_t from, LLVMValueRef part,
                           LLVMValueRef scratch)
{
    llfi_emit *e = &r->s->emit;
    llfi_state x = {{NULL}};
    for (uint32_t k = 0; k < f->fold.states; k++) {
        LLVMTypeRef type = left_type(r, f, k), wide = llfi_emit_vec(type, r->unit);
        x.v[k] = LLVMBuildLoad2(e->b, wide, left(r, type, from + k, part, scratch), "");
        LLVMSetAlignment(x.v[k], type == e->i8 ? 1 : 4);
        if (type == e->i8)
            x.v[k] = LLVMBuildICmp(e->b, LLVMIntNE, x.v[k], LLVMConstNull(wide), "");
    }
    return x;
}

void llfi_host_fold_join(llfi_host_rows *r, LLVMValueRef scratch)
{
    llfi_site *s = r->s;
    LLVMBuilderRef b = s->emit.b;
    uint32_t next = 0;
    for (uint32_t i = 0; i < r->folds; next += r->fold[i++].fold.states) {
        const llfi_host_fold *f = &r->fold[i];
        llfi_host_loop l = llfi_host_loop_begin(s, llfi_host_number(s, 0), r->parts, 1);
        llfi_state x = get_left(r, f, next, l.i, scratch);
        LLVMValueRef before = LLVMBuildMul(b, l.i, r->piece, "");
        LLVMValueRef n = least(r, LLVMBuildSub(b, r->total, before, ""), r->piece);
        if (f->fold.ordered)
            count_chunk(r, f, l.i, n, x, r->piece);
        else
            store_state(r, f, f->one,
                        llfi_fold_combine(&s->emit, &f->fold, load_state(r, f, f->one, r->unit), x));
        llfi_host_loop_end(s, &l);
        if (f->fold.ordered)
            add_levels(r, f, r->parts, r->piece, r->total);
    }
}
