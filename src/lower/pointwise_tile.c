/* pointwise_tile.c: one GPU thread's vector: loaded, computed, stored, 16 bytes a buffer at a time. Dear
 * arithmetic stands on `slice` lanes only, in a loop that rotates the slices through fixed registers
 * (indexing them by a run-time value would be local memory): less code, so less of LLVM's and the driver's
 * time, for a few moves. For the same reason a thread that owns a single element (the tail, or a misaligned
 * buffer) can go through the same arithmetic, with that element in every lane. It must not know threads or
 * blocks. */
#include "lower/pointwise.h"

#define SLICES 8u

/* A buffer's value in memory form, cut into slices of <slice x T>. */
typedef struct {
    uint32_t demand;
    LLVMValueRef part[SLICES], phi[SLICES];
} column;

typedef struct {
    llfi_site *s;
    LLVMValueRef whole; /* NULL: true */
    LLVMValueRef first; /* element */
    LLVMValueRef axis[LLFI_RANK];
    bool placed;       /* axis is there */
    LLVMValueRef turn; /* the loop's first turn: a single element takes only the last */
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

static LLVMValueRef address(const tile_emit *t, uint32_t demand)
{
    LLVMValueRef base = llfi_site_buffer(t->s, t->s->demands.at[demand].node), first = t->first;
    return LLVMBuildGEP2(t->s->emit.b, memory_type(t, demand, 1), base, &first, 1, "");
}

static unsigned vector_alignment(const tile_emit *t, uint32_t demand)
{
    uint32_t bytes = element_bytes(t, demand) * t->width;
    return bytes < 16 ? bytes : 16;
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

static LLVMValueRef slice_phi(tile_emit *t, uint32_t demand)
{
    return LLVMBuildPhi(t->s->emit.b, memory_type(t, demand, t->slice), "");
}

/* Those that lie like the space before the others, whose places take divisions. */
static llf_status load_vectors(tile_emit *t)
{
    const llfi_tile tile = {
        .width = t->width, .first = t->first, .axis = t->axis, .steps = true, .aligned = true};
    llfi_index_forget(t->s);
    for (uint32_t i = 0; i < 2 * t->ins; i++) {
        uint32_t c = i % t->ins;
        if ((t->s->demands.at[t->in[c].demand].offset == LLFI_OFFSET_LINEAR) != (i < t->ins))
            continue;
        if (i >= t->ins && !t->placed) {
            llfi_pointwise_axes(t->s, t->first, t->axis);
            t->placed = true;
        }
        LLVMValueRef v = llfi_site_load(t->s, t->in[c].demand, &tile);
        if (!v)
            return t->s->emit.status;
        for (uint32_t k = 0; k < t->slices; k++)
            t->in[c].part[k] = cut(t, v, k * t->slice);
    }
    if (t->s->demands.placed && !t->placed) {
        llfi_pointwise_axes(t->s, t->first, t->axis);
        t->placed = true;
    }
    return LLF_OK;
}

/* The element in every lane of slice 0. */
static llf_status load_elements(tile_emit *t, LLVMValueRef *part)
{
    const llfi_tile tile = {.width = 1, .first = t->first, .axis = t->axis};
    llfi_index_forget(t->s);
    for (uint32_t c = 0; c < t->ins; c++) {
        LLVMValueRef v = llfi_site_load(t->s, t->in[c].demand, &tile);
        if (!v)
            return t->s->emit.status;
        part[c] = llfi_emit_splat(&t->s->emit, v, t->slice);
    }
    return LLF_OK;
}

/* Fills t->in[].part, from vectors or from one element, and t->turn. */
static llf_status load(tile_emit *t)
{
    llfi_emit *e = &t->s->emit;
    t->turn = index32(t, 0);
    if (!t->whole)
        return load_vectors(t);
    LLVMBasicBlockRef from[2] = {block(t), block(t)}, both = block(t);
    LLVMValueRef *one = llfi_arena_alloc(t->s->arena, (t->ins + 1) * sizeof *one);
    if (!one)
        return llfi_nomem(e->diag);
    LLVMBuildCondBr(e->b, t->whole, from[0], from[1]);
    LLVMPositionBuilderAtEnd(e->b, from[0]);
    LLF_TRY(load_vectors(t));
    LLVMBuildBr(e->b, both);
    LLVMPositionBuilderAtEnd(e->b, from[1]);
    LLF_TRY(load_elements(t, one));
    LLVMBuildBr(e->b, both);
    LLVMPositionBuilderAtEnd(e->b, both);
    for (uint32_t c = 0; c < t->ins; c++)
        for (uint32_t k = 0; k < t->slices; k++) {
            LLVMValueRef phi = slice_phi(t, t->in[c].demand);
            LLVMAddIncoming(phi, (LLVMValueRef[]){t->in[c].part[k], one[c]}, from, 2);
            t->in[c].part[k] = phi;
        }
    if (t->slices > 1) {
        LLVMValueRef turns[2] = {index32(t, 0), index32(t, t->slices - 1)};
        t->turn = LLVMBuildPhi(e->b, e->i32, "");
        LLVMAddIncoming(t->turn, turns, from, 2);
    }
    return LLF_OK;
}

/* Slice 0 of every input -> the same slice of every output, in memory form. */
static llf_status compute(tile_emit *t, const LLVMValueRef *in, LLVMValueRef *out)
{
    llfi_site *s = t->s;
    llfi_site_forget(s);
    s->emit.width = t->slice;
    for (uint32_t c = 0; c < t->ins; c++) {
        llf_dtype dtype = llfi_dtype_of(s->g, s->demands.at[t->in[c].demand].node);
        llfi_bind(s, t->in[c].demand, llfi_emit_unpack(&s->emit, dtype, in[c]));
    }
    llfi_tile tile = {.width = t->slice}; /* nothing is loaded here, unless it waits for its point */
    if (s->demands.placed)
        tile = (llfi_tile){
            .width = t->slice, .first = t->first, .axis = t->axis, .steps = true, .aligned = true};
    LLF_TRY(llfi_lower(s, &tile, s->demands.uniform, s->demands.count));
    for (uint32_t c = 0; c < t->outs; c++) {
        llf_dtype dtype = llfi_dtype_of(s->g, s->demands.at[t->out[c].demand].node);
        s->emit.width = t->slice;
        out[c] = llfi_emit_pack(&s->emit, dtype, s->val[t->out[c].demand]);
    }
    return s->emit.status;
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
    llfi_emit_keep_loop(e, LLVMBuildCondBr(e->b, more, head, after));
    LLVMAddIncoming(turn, (LLVMValueRef[]){t->turn, next}, from, 2);
    rotate(t, from, out);
    LLVMPositionBuilderAtEnd(e->b, after);
    return LLF_OK;
}

/* <width x T> of a column's slices. */
static LLVMValueRef joined(const tile_emit *t, const column *c)
{
    LLVMBuilderRef b = t->s->emit.b;
    if (t->slices == 1)
        return c->part[0];
    LLVMValueRef v = LLVMGetPoison(memory_type(t, c->demand, t->width));
    for (uint32_t i = 0; i < t->width; i++)
        v = LLVMBuildInsertElement(b, v, llfi_emit_lane(&t->s->emit, c->part[i / t->slice], i % t->slice),
                                   index32(t, i), "");
    return v;
}

static void store_vectors(const tile_emit *t)
{
    for (uint32_t c = 0; c < t->outs; c++) {
        uint32_t demand = t->out[c].demand;
        LLVMValueRef v = joined(t, &t->out[c]);
        LLVMSetAlignment(LLVMBuildStore(t->s->emit.b, v, address(t, demand)), vector_alignment(t, demand));
    }
}

/* After its one turn, the last, a single element's results are at the top; every lane is the same. */
static void store_elements(const tile_emit *t)
{
    for (uint32_t c = 0; c < t->outs; c++) {
        uint32_t demand = t->out[c].demand;
        LLVMValueRef v = llfi_emit_lane(&t->s->emit, t->out[c].part[t->slices - 1], 0);
        LLVMSetAlignment(LLVMBuildStore(t->s->emit.b, v, address(t, demand)), element_bytes(t, demand));
    }
}

static void store(const tile_emit *t)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMBasicBlockRef vectors = t->whole ? block(t) : NULL, element = t->whole ? block(t) : NULL;
    if (t->whole) {
        LLVMBuildCondBr(b, t->whole, vectors, element);
        LLVMPositionBuilderAtEnd(b, element);
        store_elements(t);
        LLVMBuildRetVoid(b);
        LLVMPositionBuilderAtEnd(b, vectors);
    }
    store_vectors(t);
    LLVMBuildRetVoid(b);
}

/* Leaves of scope 1 that are buffers and wait for nothing, and distinct stores of scope 1. */
static llf_status columns(tile_emit *t)
{
    const llfi_demands *list = &t->s->demands;
    t->in = llfi_arena_alloc(t->s->arena, (list->count + t->s->kernel->stores + 1) * sizeof *t->in);
    if (!t->in)
        return llfi_nomem(t->s->emit.diag);
    for (uint32_t i = list->uniform; i < list->count && list->at[i].leaf; i++)
        if (llfi_node_is_buffered(llfi_node_at(t->s->g, list->at[i].node)) && !list->at[i].late)
            t->in[t->ins++].demand = i;
    t->out = t->in + t->ins;
    for (uint32_t i = 0; i < t->s->kernel->stores; i++)
        if (list->at[list->store[i]].scope == 1)
            t->out[t->outs++].demand = list->store[i];
    return LLF_OK;
}

llf_status llfi_pointwise_tile(llfi_site *s, LLVMValueRef whole, LLVMValueRef first)
{
    tile_emit t = {
        .s = s, .whole = whole, .first = first, .width = s->schedule->width, .slice = s->schedule->slice};
    t.slices = t.width / t.slice;
    if (s->demands.placed && (t.slices != 1 || whole))
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "values that depend on their point, in slices");
    if (t.slices > SLICES || t.width % t.slice)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "%u lanes in slices of %u", t.width, t.slice);
    if (whole) { /* two roads look at them */
        llfi_pointwise_axes(s, first, t.axis);
        t.placed = true;
    }
    LLF_TRY(columns(&t));
    LLF_TRY(load(&t));
    LLF_TRY(compute_slices(&t));
    store(&t);
    return s->emit.status;
}
