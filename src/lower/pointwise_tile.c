/* pointwise_tile.c: one GPU thread's elements: gathered, computed, scattered. A thread owns `width`
 * consecutive elements, so that every buffer is accessed 16 bytes at a time; the last thread, and all of them
 * when a buffer is misaligned, access element by element instead. Both roads meet before the arithmetic,
 * which therefore stands once; dear arithmetic stands on `slice` lanes only, in a loop that rotates the
 * slices through fixed registers (indexing them by a run-time value would be local memory). Code size, and
 * with it LLVM's and the driver's compile time, is what this saves. It must not know threads or blocks. */
#include "lower/pointwise.h"

#define SLICES 8u

/* A buffer's value in memory form, cut into slices of <slice x T>. */
typedef struct {
    uint32_t demand;
    LLVMValueRef part[SLICES], phi[SLICES];
} column;

typedef struct {
    llfi_site *s;
    LLVMValueRef whole, first, n;
    uint32_t width, slice, slices;
    column *in, *out;
    uint32_t ins, outs;
} tile_emit;

static LLVMValueRef index32(const tile_emit *t, uint32_t i)
{
    return LLVMConstInt(t->s->emit.i32, i, 0);
}

static LLVMBasicBlockRef block(const tile_emit *t)
{
    return LLVMAppendBasicBlockInContext(t->s->emit.lx, t->s->function, "");
}

static LLVMTypeRef memory_type(const tile_emit *t, uint32_t demand, uint32_t width)
{
    return llfi_emit_mem_type(&t->s->emit, llfi_dtype_of(t->s->g, t->s->demands.at[demand].node), width);
}

static uint32_t element_bytes(const tile_emit *t, uint32_t demand)
{
    return llfi_dtypes[llfi_dtype_of(t->s->g, t->s->demands.at[demand].node)].bytes;
}

static LLVMValueRef address(const tile_emit *t, uint32_t demand, LLVMValueRef offset)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef base = llfi_site_buffer(t->s, t->s->demands.at[demand].node);
    LLVMTypeRef element = memory_type(t, demand, 1);
    base = LLVMBuildGEP2(b, element, base, (LLVMValueRef *)&t->first, 1, "");
    return offset ? LLVMBuildGEP2(b, element, base, &offset, 1, "") : base;
}

static unsigned vector_alignment(const tile_emit *t, uint32_t demand)
{
    uint32_t bytes = element_bytes(t, demand) * t->width;
    return bytes < 16 ? bytes : 16;
}

static LLVMValueRef load(const tile_emit *t, uint32_t demand, LLVMTypeRef type, LLVMValueRef at,
                         unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(t->s->emit.b, type, address(t, demand, at), "");
    LLVMSetAlignment(v, align);
    return v;
}

/* Lanes [from, from + slice) of a vector. */
static LLVMValueRef cut(const tile_emit *t, LLVMValueRef v, uint32_t from)
{
    LLVMBuilderRef b = t->s->emit.b;
    if (t->slice == t->width)
        return v;
    if (t->slice == 1)
        return LLVMBuildExtractElement(b, v, index32(t, from), "");
    LLVMValueRef mask[64];
    for (uint32_t i = 0; i < t->slice; i++)
        mask[i] = index32(t, from + i);
    return LLVMBuildShuffleVector(b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(mask, t->slice), "");
}

static LLVMValueRef lane_of(const tile_emit *t, LLVMValueRef v, uint32_t i)
{
    return t->slice == 1 ? v : LLVMBuildExtractElement(t->s->emit.b, v, index32(t, i), "");
}

/* Element `i` of this thread, or its first when that is past the end: a legal address either way. */
static LLVMValueRef clamped(const tile_emit *t, uint32_t i, LLVMValueRef left)
{
    llfi_emit *e = &t->s->emit;
    if (i == 0)
        return LLVMConstInt(e->i64, 0, 0);
    LLVMValueRef inside = LLVMBuildICmp(e->b, LLVMIntSGT, left, LLVMConstInt(e->i64, i, 0), "");
    return LLVMBuildSelect(e->b, inside, LLVMConstInt(e->i64, i, 0), LLVMConstInt(e->i64, 0, 0), "");
}

static void gather_lanes(const tile_emit *t, LLVMValueRef left, LLVMValueRef (*part)[SLICES])
{
    LLVMBuilderRef b = t->s->emit.b;
    for (uint32_t c = 0; c < t->ins; c++)
        for (uint32_t k = 0; k < t->slices; k++)
            part[c][k] = LLVMGetPoison(memory_type(t, t->in[c].demand, t->slice)); /* every lane is written */
    for (uint32_t i = 0; i < t->width; i++) {
        LLVMValueRef at = clamped(t, i, left);
        for (uint32_t c = 0; c < t->ins; c++) {
            uint32_t demand = t->in[c].demand;
            LLVMValueRef v = load(t, demand, memory_type(t, demand, 1), at, element_bytes(t, demand));
            LLVMValueRef *to = &part[c][i / t->slice];
            *to = t->slice == 1 ? v : LLVMBuildInsertElement(b, *to, v, index32(t, i % t->slice), "");
        }
    }
}

/* Fills t->in[].part from either road. */
static llf_status gather(tile_emit *t, LLVMValueRef left)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMBasicBlockRef from[2] = {block(t), block(t)}, joined = block(t);
    LLVMValueRef(*lanes)[SLICES] = llfi_arena_alloc(t->s->arena, (t->ins + 1) * sizeof *lanes);
    if (!lanes)
        return llfi_nomem(t->s->emit.diag);
    LLVMBuildCondBr(b, t->whole, from[0], from[1]);
    LLVMPositionBuilderAtEnd(b, from[0]);
    for (uint32_t c = 0; c < t->ins; c++) {
        uint32_t demand = t->in[c].demand;
        LLVMValueRef v = load(t, demand, memory_type(t, demand, t->width), NULL, vector_alignment(t, demand));
        for (uint32_t k = 0; k < t->slices; k++)
            t->in[c].part[k] = cut(t, v, k * t->slice);
    }
    LLVMBuildBr(b, joined);
    LLVMPositionBuilderAtEnd(b, from[1]);
    gather_lanes(t, left, lanes);
    LLVMBuildBr(b, joined);
    LLVMPositionBuilderAtEnd(b, joined);
    for (uint32_t c = 0; c < t->ins; c++)
        for (uint32_t k = 0; k < t->slices; k++) {
            LLVMValueRef phi = LLVMBuildPhi(b, memory_type(t, t->in[c].demand, t->slice), "");
            LLVMAddIncoming(phi, (LLVMValueRef[]){t->in[c].part[k], lanes[c][k]}, from, 2);
            t->in[c].part[k] = phi;
        }
    return LLF_OK;
}

/* Slice 0 of every input -> the same slice of every output, in memory form. */
static llf_status compute(tile_emit *t, const LLVMValueRef *in, LLVMValueRef *out)
{
    llfi_site *s = t->s;
    llfi_site_forget(s);
    s->emit.width = t->slice;
    LLVMValueRef *value = llfi_arena_alloc(s->arena, (t->ins + 1) * sizeof *value);
    if (!value)
        return llfi_nomem(s->emit.diag);
    for (uint32_t c = 0; c < t->ins; c++) {
        llf_dtype dtype = llfi_dtype_of(s->g, s->demands.at[t->in[c].demand].node);
        value[c] = llfi_emit_unpack(&s->emit, dtype, in[c]);
        llfi_bind(s, t->in[c].demand, &(llfi_val){.dtype = dtype, .run = &value[c]});
    }
    llfi_tile tile = {.runs = 1, .width = (uint8_t)t->slice, .run_axis = 0};
    LLF_TRY(llfi_lower(s, &tile, s->demands.uniform, s->demands.count));
    for (uint32_t c = 0; c < t->outs; c++) {
        llf_dtype dtype = llfi_dtype_of(s->g, s->demands.at[t->out[c].demand].node);
        s->emit.width = t->slice;
        out[c] = llfi_emit_pack(&s->emit, dtype, s->val[t->out[c].demand].run[0]);
    }
    return s->emit.status;
}

static LLVMValueRef slice_phi(tile_emit *t, uint32_t demand)
{
    return LLVMBuildPhi(t->s->emit.b, memory_type(t, demand, t->slice), "");
}

/* Inputs move down by one slice a turn, results enter at the top; after `slices` turns all are in place. */
static void rotate(tile_emit *t, LLVMBasicBlockRef *from, const LLVMValueRef *made)
{
    for (uint32_t k = 0; k < t->slices; k++) {
        bool last = k + 1 == t->slices;
        for (uint32_t c = 0; c < t->ins; c++)
            LLVMAddIncoming(t->in[c].phi[k],
                            (LLVMValueRef[]){t->in[c].part[k], t->in[c].phi[last ? k : k + 1]}, from, 2);
        for (uint32_t c = 0; c < t->outs; c++) {
            LLVMValueRef none = LLVMConstNull(LLVMTypeOf(t->out[c].phi[k]));
            t->out[c].part[k] = last ? made[c] : t->out[c].phi[k + 1];
            LLVMAddIncoming(t->out[c].phi[k], (LLVMValueRef[]){none, t->out[c].part[k]}, from, 2);
        }
    }
}

static llf_status compute_slices(tile_emit *t)
{
    llfi_emit *e = &t->s->emit;
    LLVMValueRef *in = llfi_arena_alloc(t->s->arena, (t->ins + t->outs + 1) * sizeof *in), *out = in + t->ins;
    if (!in)
        return llfi_nomem(e->diag);
    for (uint32_t c = 0; c < t->ins; c++)
        in[c] = t->in[c].part[0];
    if (t->slices == 1) {
        LLF_TRY(compute(t, in, out));
        for (uint32_t c = 0; c < t->outs; c++)
            t->out[c].part[0] = out[c];
        return LLF_OK;
    }
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(e->b), NULL}, head = block(t), after = block(t);
    LLVMBuildBr(e->b, head);
    LLVMPositionBuilderAtEnd(e->b, head);
    LLVMValueRef turn = LLVMBuildPhi(e->b, e->i32, "");
    for (uint32_t k = 0; k < t->slices; k++) {
        for (uint32_t c = 0; c < t->ins; c++)
            t->in[c].phi[k] = slice_phi(t, t->in[c].demand);
        for (uint32_t c = 0; c < t->outs; c++)
            t->out[c].phi[k] = slice_phi(t, t->out[c].demand);
    }
    for (uint32_t c = 0; c < t->ins; c++)
        in[c] = t->in[c].phi[0];
    LLF_TRY(compute(t, in, out));
    LLVMValueRef next = LLVMBuildAdd(e->b, turn, index32(t, 1), "");
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntULT, next, index32(t, t->slices), "");
    from[1] = LLVMGetInsertBlock(e->b); /* emitters may have opened blocks */
    llfi_pointwise_keep_loop(t->s, LLVMBuildCondBr(e->b, more, head, after));
    LLVMAddIncoming(turn, (LLVMValueRef[]){index32(t, 0), next}, from, 2);
    rotate(t, from, out);
    LLVMPositionBuilderAtEnd(e->b, after);
    return LLF_OK;
}

static void store(const tile_emit *t, uint32_t demand, LLVMValueRef v, LLVMValueRef at, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(t->s->emit.b, v, address(t, demand, at)), align);
}

/* <width x T> of a column's slices. */
static LLVMValueRef joined(const tile_emit *t, const column *c)
{
    LLVMBuilderRef b = t->s->emit.b;
    if (t->slices == 1)
        return c->part[0];
    LLVMValueRef v = LLVMGetPoison(memory_type(t, c->demand, t->width));
    for (uint32_t i = 0; i < t->width; i++)
        v = LLVMBuildInsertElement(b, v, lane_of(t, c->part[i / t->slice], i % t->slice), index32(t, i), "");
    return v;
}

static void scatter(tile_emit *t, LLVMValueRef left)
{
    llfi_emit *e = &t->s->emit;
    LLVMBasicBlockRef vectors = block(t), lanes = block(t), done = block(t);
    LLVMBuildCondBr(e->b, t->whole, vectors, lanes);
    LLVMPositionBuilderAtEnd(e->b, vectors);
    for (uint32_t c = 0; c < t->outs; c++)
        store(t, t->out[c].demand, joined(t, &t->out[c]), NULL, vector_alignment(t, t->out[c].demand));
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, lanes);
    for (uint32_t i = 0; i < t->width; i++) {
        LLVMValueRef at = LLVMConstInt(e->i64, i, 0);
        for (uint32_t c = 0; c < t->outs; c++)
            store(t, t->out[c].demand, lane_of(t, t->out[c].part[i / t->slice], i % t->slice), at,
                  element_bytes(t, t->out[c].demand));
        if (i + 1 == t->width)
            break;
        LLVMBasicBlockRef next = block(t);
        LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSGT, left, LLVMConstInt(e->i64, i + 1, 0), ""), next,
                        done);
        LLVMPositionBuilderAtEnd(e->b, next);
    }
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    LLVMBuildRetVoid(e->b);
}

/* Leaves of scope 1 that are buffers, and distinct stores of scope 1. */
static llf_status columns(tile_emit *t)
{
    const llfi_demands *list = &t->s->demands;
    t->in = llfi_arena_alloc(t->s->arena, (list->count + t->s->kernel->stores + 1) * sizeof *t->in);
    if (!t->in)
        return llfi_nomem(t->s->emit.diag);
    for (uint32_t i = list->uniform; i < list->count; i++)
        if (list->at[i].leaf)
            t->in[t->ins++].demand = i;
    t->out = t->in + t->ins;
    for (uint32_t i = 0; i < t->s->kernel->stores; i++)
        if (list->at[list->store[i]].scope == 1)
            t->out[t->outs++].demand = list->store[i];
    return LLF_OK;
}

llf_status llfi_pointwise_tile(llfi_site *s, LLVMValueRef whole, LLVMValueRef first, LLVMValueRef n)
{
    tile_emit t = {.s = s, .whole = whole, .first = first, .n = n};
    t.width = s->schedule->width;
    t.slice = s->schedule->slice;
    t.slices = t.width / t.slice;
    if (t.slices > SLICES || t.width % t.slice)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "%u lanes in slices of %u", t.width, t.slice);
    LLF_TRY(columns(&t));
    LLVMValueRef left = LLVMBuildSub(s->emit.b, n, first, "");
    LLF_TRY(gather(&t, left));
    LLF_TRY(compute_slices(&t));
    scatter(&t, left);
    return s->emit.status;
}
