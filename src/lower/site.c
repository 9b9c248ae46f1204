/* site.c: lowers demands for a tile: leaves are loaded, the rest goes to the op emitters. It knows memory and
 * index maps; it knows neither threads (skeletons do) nor what an op means (emitters do). */
#include "lower/lower.h"

static llfi_emit_fn *const emitters[LLF_OPS] = {
#define EW(id, ...) [LLF_OP_##id] = llfi_emit_##id,
#include "llfuse/ops.def"
};

#define NONE_BYTES 512u /* of the widest vector */

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
    llfi_index_forget(s);
}

void llfi_site_forget_points(llfi_site *s)
{
    for (uint32_t i = s->demands.uniform; i < s->demands.count; i++)
        if (s->demands.at[i].scope == LLFI_SCOPE_POINT)
            s->val[i] = NULL;
    s->emit.memos = 0;
    llfi_index_forget(s);
}

/* Address of the tile's element `lane` under the demand's map. */
static LLVMValueRef address(llfi_site *s, uint32_t demand, LLVMValueRef base, const llfi_tile *tile,
                            uint32_t lane, bool vector)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    if (d->offset == LLFI_OFFSET_LINEAR && (d->scope == 0 || !tile))
        return base;
    LLVMTypeRef element = llfi_emit_mem_type(e, llfi_dtype_of(s->g, d->node), 1);
    LLVMValueRef at = llfi_index_offset(s, demand, tile, lane, vector);
    return at ? LLVMBuildGEP2(e->b, element, base, &at, 1, "") : NULL;
}

/* An address that may be read: where there is no element, that of zeros. */
static LLVMValueRef existing(llfi_site *s, uint32_t demand, LLVMValueRef at)
{
    llfi_emit *e = &s->emit;
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(at));
    LLVMValueRef none = LLVMGetNamedGlobal(e->module, "llf_none");
    if (!none) {
        LLVMTypeRef type = LLVMArrayType2(e->i64, NONE_BYTES / 8);
        none = LLVMAddGlobalInAddressSpace(e->module, type, "llf_none", space);
        LLVMSetInitializer(none, LLVMConstNull(type));
        LLVMSetLinkage(none, LLVMInternalLinkage);
        LLVMSetGlobalConstant(none, 1);
        LLVMSetAlignment(none, 16);
    }
    LLVMValueRef count = llfi_index_dim(s, s->demands.at[demand].alive);
    LLVMValueRef any = LLVMBuildICmp(e->b, LLVMIntSGT, count, LLVMConstNull(LLVMTypeOf(count)), "");
    return LLVMBuildSelect(e->b, any, at, none, "");
}

/* Asks for what will be read in a while: an address alone, which need not exist. */
static void ask_ahead(llfi_site *s, LLVMValueRef at)
{
    llfi_emit *e = &s->emit;
    LLVMValueRef by = LLVMConstInt(e->i64, s->ahead, 0), read = LLVMConstInt(e->i32, 0, 0);
    LLVMValueRef keep = LLVMConstInt(e->i32, 3, 0), data = LLVMConstInt(e->i32, 1, 0);
    LLVMValueRef arg[4] = {LLVMBuildGEP2(e->b, e->i8, at, &by, 1, ""), read, keep, data};
    (void)llfi_emit_call(e, "llvm.prefetch", LLVMTypeOf(at), arg, 4);
}

static LLVMValueRef read_at(llfi_site *s, uint32_t demand, const llfi_tile *tile, LLVMValueRef at,
                            uint32_t width)
{
    llfi_emit *e = &s->emit;
    llf_dtype dtype = llfi_dtype_of(s->g, s->demands.at[demand].node);
    if (at && s->demands.at[demand].alive != LLFI_DIM_NONE)
        at = existing(s, demand, at);
    if (!at)
        return NULL;
    if (s->ahead && width > 1)
        ask_ahead(s, at);
    LLVMValueRef v = LLVMBuildLoad2(e->b, llfi_emit_mem_type(e, dtype, width), at, "");
    uint32_t bytes = llfi_dtypes[dtype].bytes, all = bytes * width;
    LLVMSetAlignment(v, width > 1 && tile->aligned ? (all < 16 ? all : 16) : bytes);
    return v;
}

/* One access of `width` elements from lane `lane` on. */
static LLVMValueRef access(llfi_site *s, uint32_t demand, const llfi_tile *tile, uint32_t lane,
                           uint32_t width)
{
    LLVMValueRef base = llfi_site_buffer(s, s->demands.at[demand].node);
    return read_at(s, demand, tile, address(s, demand, base, tile, lane, width > 1 && lane == 0), width);
}

/* Elements of `width` lanes, one by one. Where they lie a fixed step apart, at one address and fixed
 * distances from it: offsets of 32 bits, each made longer by itself, would have an address each. */
static LLVMValueRef lanes(llfi_site *s, uint32_t demand, const llfi_tile *tile, uint32_t width)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    llf_dtype dtype = llfi_dtype_of(s->g, d->node);
    LLVMValueRef base = llfi_site_buffer(s, d->node), first = address(s, demand, base, tile, 0, false);
    LLVMTypeRef element = llfi_emit_mem_type(e, dtype, 1);
    LLVMValueRef v = LLVMGetPoison(llfi_emit_mem_type(e, dtype, width));
    int64_t step;
    bool even = d->offset != LLFI_OFFSET_LINEAR && llfi_index_step(s, d->offset, &step);
    for (uint32_t i = 0; i < width; i++) {
        LLVMValueRef at = first, by;
        if (i && even && first) {
            by = LLVMConstInt(e->i64, (uint64_t)(step * (int64_t)i), 1);
            at = LLVMBuildGEP2(e->b, element, first, &by, 1, "");
        } else if (i) {
            at = address(s, demand, base, tile, i, false);
        }
        LLVMValueRef lane = read_at(s, demand, tile, at, 1);
        if (!lane)
            return NULL;
        v = LLVMBuildInsertElement(e->b, v, lane, LLVMConstInt(e->i32, i, 0), "");
    }
    return v;
}

static LLVMValueRef reversed(llfi_emit *e, LLVMValueRef v, uint32_t width)
{
    LLVMValueRef mask[64];
    for (uint32_t i = 0; i < width; i++)
        mask[i] = LLVMConstInt(e->i32, width - 1 - i, 0);
    return v ? LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(mask, width), "")
             : NULL;
}

LLVMValueRef llfi_site_load(llfi_site *s, uint32_t demand, const llfi_tile *tile)
{
    llfi_emit *e = &s->emit;
    uint32_t width = tile ? tile->width : 1;
    llfi_access how =
        width == 1 ? LLFI_ACCESS_VECTOR : llfi_access_of(s->g, &s->demands, demand, width, tile->steps, NULL);
    if (how == LLFI_ACCESS_VECTOR)
        return access(s, demand, tile, 0, width);
    if (how == LLFI_ACCESS_BACK)
        return reversed(e, access(s, demand, tile, width - 1, width), width);
    if (how == LLFI_ACCESS_LANES)
        return lanes(s, demand, tile, width);
    LLVMValueRef lane = access(s, demand, tile, 0, 1);
    return lane ? llfi_emit_splat(e, lane, width) : NULL;
}

static llf_status load(llfi_site *s, uint32_t demand, const llfi_tile *tile, LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    llf_dtype dtype = llfi_dtype_of(s->g, d->node);
    const llfi_node *n = llfi_node_at(s->g, d->node);
    if (n->op == LLF_OP_CONST) {
        *out = llfi_emit_literal(e, dtype, n->attr);
        s->fixed[demand] = true;
        return e->status;
    }
    if (n->op == LLF_OP_IOTA) {
        s->fixed[demand] =
            d->offset == LLFI_OFFSET_LINEAR ? d->scope == 0 : s->demands.form[d->offset].terms == 0;
        return llfi_lower_iota(s, tile, demand, out);
    }
    if (n->op == LLF_OP_COUNT) { /* scope 0 */
        *out = llfi_emit_convert(e, LLF_I64, dtype, llfi_index_number(s, d->number));
        return e->status;
    }
    bool scalar = llfi_node_is_scalar(n);
    LLVMValueRef value = argument(s, scalar ? LLFI_ARG_SCALAR : LLFI_ARG_BUFFER, d->node);
    if (!value)
        return llfi_fail(e->diag, LLF_E_INTERNAL, "kernel %s has no argument for node %u", s->name, d->node);
    if (!scalar) {
        value = llfi_site_load(s, demand, tile);
        if (!value)
            return e->status;
        value = llfi_emit_unpack(e, dtype, value);
    }
    *out = value;
    return e->status;
}

/* Operand `demand` at the width being made; values of a larger scope are splatted where they are used, unless
 * each point has a row of its own. */
static LLVMValueRef operand(llfi_site *s, const llfi_demand *user, uint32_t demand)
{
    bool splat = s->demands.at[demand].scope != user->scope && s->val[demand] &&
                 LLVMGetTypeKind(LLVMTypeOf(s->val[demand])) != LLVMVectorTypeKind;
    return splat ? llfi_emit_splat(&s->emit, s->val[demand], s->emit.width) : s->val[demand];
}

/* Is the demand an f32 literal beside which every subnormal number is less than half of a last place? */
static bool is_large(const llfi_site *s, uint32_t demand)
{
    const llfi_node *n = llfi_node_at(s->g, s->demands.at[demand].node);
    uint64_t exponent = n->attr >> 23 & 0xff;
    return n->op == LLF_OP_CONST && exponent >= 64 && exponent < 255;
}

void llfi_site_absorb(llfi_site *s)
{
    const llfi_demands *list = &s->demands;
    for (uint32_t i = 0; i < list->count; i++)
        s->absorbed[i] = !list->at[i].leaf && llfi_dtype_of(s->g, list->at[i].node) == LLF_F32;
    for (uint32_t i = 0; i < s->kernel->stores && list->count; i++)
        s->absorbed[list->store[i]] = false;
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        const llfi_node *n = llfi_node_at(s->g, d->node);
        for (uint32_t a = 0; a < n->arity && !d->leaf; a++)
            if (n->op != LLF_OP_ADD || !is_large(s, d->arg[!a]))
                s->absorbed[d->arg[a]] = false;
    }
}

/* The same number, which no compiler can know: some address's topmost bit, never set, is put into it. Without
 * this a function of a literal would have other bits in a kernel that sees the literal than in one that loads
 * it. */
static LLVMValueRef hide_constant(llfi_site *s, LLVMValueRef x)
{
    llfi_emit *e = &s->emit;
    LLVMTypeRef type = LLVMTypeOf(x), element = type, bits;
    LLVMValueRef base = NULL;
    for (uint32_t i = 0; i < s->schedule->args && !base; i++)
        base = s->schedule->arg[i].kind == LLFI_ARG_BUFFER ? s->arg[i] : NULL;
    if (!base)
        return x;
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        element = LLVMGetElementType(type);
    bits = element == e->f64 ? e->i64 : e->i32;
    LLVMValueRef top = LLVMBuildPtrToInt(e->b, base, e->i64, "");
    top = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, top, LLVMConstInt(e->i64, 63, 0), ""), bits, "");
    LLVMTypeRef wide = element == type ? bits : llfi_emit_vec(bits, LLVMGetVectorSize(type));
    if (wide != bits)
        top = llfi_emit_splat(e, top, LLVMGetVectorSize(type));
    x = LLVMBuildOr(e->b, LLVMBuildBitCast(e->b, x, wide, ""), top, "");
    return LLVMBuildBitCast(e->b, x, type, "");
}

static llf_status compute(llfi_site *s, const llfi_tile *tile, uint32_t demand, LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    const llfi_node *n = llfi_node_at(s->g, d->node);
    LLVMValueRef few[LLFI_INLINE_ARGS] = {NULL}, *arg = few;
    bool chooses = llfi_ops[n->op].cls == LLFI_CLASS_INDEX;
    if (n->arity > LLFI_INLINE_ARGS)
        arg = llfi_arena_alloc(s->arena, n->arity * sizeof *arg);
    if (!arg)
        return llfi_nomem(e->diag);
    bool hide = e->target->backend->lowering->hides_constants && !(llfi_ops[n->op].flags & LLF_F_EXACT);
    bool fixed = !hide;
    if (!emitters[n->op] && !chooses)
        return llfi_fail(e->diag, LLF_E_INTERNAL, "%s reached lowering", llfi_ops[n->op].name);
    for (uint32_t a = 0; a < n->arity; a++) {
        arg[a] = operand(s, d, d->arg[a]);
        if (!arg[a])
            return llfi_fail(e->diag, LLF_E_INTERNAL, "operand %u of node %u is not lowered", a, d->node);
        fixed = fixed && s->fixed[d->arg[a]];
        if (hide && s->fixed[d->arg[a]])
            arg[a] = hide_constant(s, arg[a]);
    }
    s->fixed[demand] = fixed;
    if (chooses)
        return llfi_lower_index(s, tile, demand, arg, out);
    e->may_flush = s->absorbed[demand];
    *out = emitters[n->op](e, d->node, arg);
    e->may_flush = false;
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
            LLF_TRY(d->leaf ? load(s, i, tile, &s->val[i]) : compute(s, tile, i, &s->val[i]));
    }
    return LLF_OK;
}

static llf_status store_lanes(llfi_site *s, const llfi_tile *tile, uint32_t demand, LLVMValueRef base,
                              LLVMValueRef bits)
{
    llfi_emit *e = &s->emit;
    uint32_t bytes = llfi_dtypes[llfi_dtype_of(s->g, s->demands.at[demand].node)].bytes;
    for (uint32_t i = 0; i < tile->width; i++) {
        LLVMValueRef at = address(s, demand, base, tile, i, false);
        if (!at)
            return e->status;
        LLVMSetAlignment(LLVMBuildStore(e->b, llfi_emit_lane(e, bits, i), at), bytes);
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
    uint32_t bytes = llfi_dtypes[dtype].bytes, all = bytes * e->width;
    if (e->width > 1 && s->demands.phases &&
        llfi_access_of(s->g, &s->demands, demand, e->width, false, NULL) != LLFI_ACCESS_VECTOR)
        return store_lanes(s, tile, demand, base, bits);
    if (e->width > 1 && tile->aligned)
        bytes = all < 16 ? all : 16;
    LLVMSetAlignment(LLVMBuildStore(e->b, bits, address(s, demand, base, tile, 0, false)), bytes);
    return e->status;
}
