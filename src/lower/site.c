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

void llfi_bind(llfi_site *s, uint32_t demand, LLVMValueRef val)
{
    s->val[demand] = val;
}

void llfi_site_forget(llfi_site *s)
{
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        s->val[i] = NULL;
    s->emit.memos = 0; /* values of the block that is left behind */
}

/* Address of the tile's first element under the demand's map. */
static LLVMValueRef address(llfi_site *s, const llfi_demand *d, LLVMValueRef base, const llfi_tile *tile)
{
    llfi_emit *e = &s->emit;
    if (s->demands.map[d->map].kind == LLFI_MAP_SCALAR || !tile)
        return base;
    LLVMTypeRef element = llfi_emit_mem_type(e, llfi_dtype_of(s->g, d->node), 1);
    LLVMValueRef first = tile->first;
    return LLVMBuildGEP2(e->b, element, base, &first, 1, "");
}

static llf_status load(llfi_site *s, const llfi_demand *d, const llfi_tile *tile, LLVMValueRef *out)
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
        LLVMTypeRef type = llfi_emit_mem_type(e, dtype, e->width);
        value = LLVMBuildLoad2(e->b, type, address(s, d, value, tile), "");
        LLVMSetAlignment(value, llfi_dtypes[dtype].bytes);
        value = llfi_emit_unpack(e, dtype, value);
    }
    *out = value;
    return e->status;
}

/* Operand `demand` at the width being made; values of scope 0 are splatted where they are used. */
static LLVMValueRef operand(llfi_site *s, const llfi_demand *user, uint32_t demand)
{
    bool splat = s->demands.at[demand].scope == 0 && user->scope != 0;
    return splat ? llfi_emit_splat(&s->emit, s->val[demand], s->emit.width) : s->val[demand];
}

static llf_status compute(llfi_site *s, const llfi_demand *d, LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    const llfi_node *n = llfi_node_at(s->g, d->node);
    LLVMValueRef arg[LLFI_ARGS] = {NULL};
    if (!emitters[n->op])
        return llfi_fail(e->diag, LLF_E_INTERNAL, "%s reached lowering", llfi_ops[n->op].name);
    for (uint32_t a = 0; a < n->arity; a++) {
        arg[a] = operand(s, d, d->arg[a]);
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
    s->emit.width = tile ? tile->width : 1;
    for (uint32_t i = from; i < to; i++) {
        const llfi_demand *d = &s->demands.at[i];
        if (!s->val[i]) /* else bound by the skeleton, or made before */
            LLF_TRY(d->leaf ? load(s, d, tile, &s->val[i]) : compute(s, d, &s->val[i]));
    }
    return LLF_OK;
}

llf_status llfi_store(llfi_site *s, const llfi_tile *tile, uint32_t demand)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    llf_dtype dtype = llfi_dtype_of(s->g, d->node);
    LLVMValueRef base = argument(s, LLFI_ARG_BUFFER, d->node);
    if (!base || !s->val[demand])
        return llfi_fail(e->diag, LLF_E_INTERNAL, "kernel %s cannot store node %u", s->name, d->node);
    e->width = tile ? tile->width : 1;
    LLVMValueRef bits = llfi_emit_pack(e, dtype, s->val[demand]);
    if (!bits)
        return e->status != LLF_OK ? e->status
                                   : llfi_fail(e->diag, LLF_E_INTERNAL, "node %u cannot be packed", d->node);
    LLVMSetAlignment(LLVMBuildStore(e->b, bits, address(s, d, base, tile)), llfi_dtypes[dtype].bytes);
    return e->status;
}
