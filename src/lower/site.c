/* site.c: lowers demands for a tile: leaves are loaded, the rest goes to the op emitters. It knows memory and
 * index maps; it knows neither threads (skeletons do) nor what an op means (emitters do). */
#include "lower/lower.h"

static llfi_emit_fn *const emitters[LLF_OPS] = {
#define EW(id, ...) [LLF_OP_##id] = llfi_emit_##id,
#include "llfuse/ops.def"
};

static LLVMValueRef argument(const llfi_site *s, llfi_arg_kind kind, llf_id node)
{
    for (uint32_t i = 0; i < s->schedule->args; i++)
        if (s->schedule->arg[i].kind == kind && s->schedule->arg[i].ref == node)
            return s->arg[i];
    return NULL;
}

LLVMValueRef llfi_site_buffer(const llfi_site *s, llf_id node)
{
    return argument(s, LLFI_ARG_BUFFER, node);
}

void llfi_bind(llfi_site *s, uint32_t demand, const llfi_val *val)
{
    s->val[demand] = *val;
}

void llfi_site_forget(llfi_site *s)
{
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        s->val[i].run = NULL;
    s->emit.memos = 0; /* values of the block that is left behind */
}

/* Alignment that the guard promises: a vector is accessed 16 bytes at a time at most. */
static unsigned alignment(const llfi_tile *tile, uint32_t bytes)
{
    uint32_t whole = bytes * tile->width;
    return tile->aligned ? (whole < 16 ? whole : 16) : bytes;
}

/* Address of a run's first element under the demand's map. */
static LLVMValueRef address(llfi_site *s, const llfi_demand *d, LLVMValueRef base, const llfi_tile *tile,
                            uint32_t run)
{
    llfi_emit *e = &s->emit;
    if (s->demands.map[d->map].kind == LLFI_MAP_SCALAR || !tile)
        return base;
    LLVMTypeRef element = llfi_emit_mem_type(e, llfi_dtype_of(s->g, d->node), 1);
    return LLVMBuildGEP2(e->b, element, base, &tile->axis[run][0], 1, "");
}

static llf_status load(llfi_site *s, const llfi_demand *d, const llfi_tile *tile, uint32_t run,
                       LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    llf_dtype dtype = llfi_dtype_of(s->g, d->node);
    const llfi_node *n = llfi_node_at(s->g, d->node);
    if (n->op == LLF_OP_CONST) {
        *out = llfi_emit_literal(e, dtype, n->attr);
        return e->status;
    }
    bool scalar = llfi_node_is_scalar(n);
    LLVMValueRef value = argument(s, scalar ? LLFI_ARG_SCALAR : LLFI_ARG_BUFFER, d->node);
    if (!value)
        return llfi_fail(e->diag, LLF_E_INTERNAL, "kernel %s has no argument for node %u", s->name, d->node);
    if (!scalar) {
        value =
            LLVMBuildLoad2(e->b, llfi_emit_mem_type(e, dtype, e->width), address(s, d, value, tile, run), "");
        LLVMSetAlignment(value, tile ? alignment(tile, llfi_dtypes[dtype].bytes) : llfi_dtypes[dtype].bytes);
        value = llfi_emit_unpack(e, dtype, value);
    }
    *out = value;
    return e->status;
}

/* Operand `demand` at the width being made; values of scope 0 are splatted where they are used. */
static LLVMValueRef operand(llfi_site *s, const llfi_demand *user, uint32_t demand, uint32_t run)
{
    bool splat = s->demands.at[demand].scope == 0 && user->scope != 0;
    if (!s->val[demand].run)
        return NULL;
    return splat ? llfi_emit_splat(&s->emit, s->val[demand].run[0], s->emit.width) : s->val[demand].run[run];
}

static llf_status compute(llfi_site *s, const llfi_demand *d, uint32_t run, LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    const llfi_node *n = llfi_node_at(s->g, d->node);
    LLVMValueRef arg[LLFI_ARGS] = {NULL};
    if (!emitters[n->op])
        return llfi_fail(e->diag, LLF_E_INTERNAL, "%s reached lowering", llfi_ops[n->op].name);
    for (uint32_t a = 0; a < n->arity; a++) {
        arg[a] = operand(s, d, d->arg[a], run);
        if (!arg[a])
            return llfi_fail(e->diag, LLF_E_INTERNAL, "operand %u of node %u is not lowered", a, d->node);
    }
    *out = emitters[n->op](e, d->node, arg);
    if (e->status == LLF_OK && !*out)
        return llfi_fail(e->diag, LLF_E_INTERNAL, "the emitter of %s gave nothing", llfi_ops[n->op].name);
    return e->status;
}

llf_status llfi_lower(llfi_site *s, const llfi_tile *tile, uint32_t from, uint32_t to)
{
    uint32_t runs = tile ? tile->runs : 1;
    if (tile && tile->live)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "predicated tiles are not lowered yet");
    s->emit.width = tile ? tile->width : 1;
    for (uint32_t i = from; i < to; i++) {
        const llfi_demand *d = &s->demands.at[i];
        if (s->val[i].run) /* bound by the skeleton, or made before */
            continue;
        LLVMValueRef *run = llfi_arena_alloc(s->arena, runs * sizeof *run);
        if (!run)
            return llfi_nomem(s->emit.diag);
        for (uint32_t r = 0; r < runs; r++)
            LLF_TRY(d->leaf ? load(s, d, tile, r, &run[r]) : compute(s, d, r, &run[r]));
        s->val[i] = (llfi_val){.dtype = llfi_dtype_of(s->g, d->node), .run = run};
    }
    return LLF_OK;
}

llf_status llfi_store(llfi_site *s, const llfi_tile *tile, uint32_t demand)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    llf_dtype dtype = llfi_dtype_of(s->g, d->node);
    LLVMValueRef base = argument(s, LLFI_ARG_BUFFER, d->node);
    if (!base || !s->val[demand].run)
        return llfi_fail(e->diag, LLF_E_INTERNAL, "kernel %s cannot store node %u", s->name, d->node);
    e->width = tile ? tile->width : 1;
    for (uint32_t r = 0; r < (tile ? tile->runs : 1); r++) {
        LLVMValueRef bits = llfi_emit_pack(e, dtype, s->val[demand].run[r]);
        if (!bits)
            return e->status != LLF_OK
                       ? e->status
                       : llfi_fail(e->diag, LLF_E_INTERNAL, "node %u cannot be packed", d->node);
        LLVMValueRef store = LLVMBuildStore(e->b, bits, address(s, d, base, tile, r));
        LLVMSetAlignment(store, tile ? alignment(tile, llfi_dtypes[dtype].bytes) : llfi_dtypes[dtype].bytes);
    }
    return e->status;
}
