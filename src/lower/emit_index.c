/* emit_index.c: values that depend on where their point is: which operand an op that chooses takes, and iota.
 * Selects only, never branches: both sides are there, read at places that exist. It knows index expressions;
 * it knows neither threads nor memory. */
#include "lower/lower.h"

/* first, first + step, ... in the lanes of a tile. */
static LLVMValueRef steps(llfi_site *s, LLVMValueRef first, int64_t step)
{
    llfi_emit *e = &s->emit;
    if (e->width == 1)
        return first;
    LLVMValueRef lane[64];
    for (uint32_t i = 0; i < e->width; i++)
        lane[i] = LLVMConstInt(LLVMTypeOf(first), (uint64_t)(step * (int64_t)i), 1);
    return LLVMBuildAdd(e->b, llfi_emit_splat(e, first, e->width), LLVMConstVector(lane, e->width), "");
}

/* The form at every lane of the tile. */
static LLVMValueRef values(llfi_site *s, llfi_ix form, const llfi_tile *tile)
{
    llfi_emit *e = &s->emit;
    int64_t step;
    LLVMValueRef first = llfi_index_form(s, form, tile, 0);
    if (!first || e->width == 1)
        return first;
    if (llfi_index_step(s, form, &step))
        return step ? steps(s, first, step) : llfi_emit_splat(e, first, e->width);
    LLVMValueRef all = LLVMGetPoison(llfi_emit_vec(LLVMTypeOf(first), e->width));
    for (uint32_t i = 0; i < e->width; i++) {
        LLVMValueRef one = i ? llfi_index_form(s, form, tile, i) : first;
        if (!one)
            return NULL;
        all = LLVMBuildInsertElement(e->b, all, one, LLVMConstInt(e->i32, i, 0), "");
    }
    return all;
}

/* Has the form one sign in all lanes of an aligned vector? When it steps from a multiple of the width on:
 * what must be a multiple for that is one, or this part of the kernel does not run. */
static bool same_sign(llfi_site *s, llfi_ix form, const llfi_tile *tile)
{
    const llfi_demands *list = &s->demands;
    const llfi_schedule *p = s->schedule;
    int64_t step;
    if (llfi_index_step(s, form, &step) && step == 0)
        return true;
    bool *multiple = tile->steps ? llfi_arena_alloc(s->arena, (size_t)list->dims + 1) : NULL;
    if (!multiple || !llfi_access_steps(s->g, list, form, tile->width, multiple))
        return false;
    for (uint32_t i = 0; i < p->multiples; i++)
        multiple[p->multiple[i] - (p->dims - list->dims)] = false;
    for (uint32_t i = 0; i < list->dims; i++)
        if (multiple[i])
            return false;
    return true;
}

/* Is the form negative? One answer for the tile where all lanes have the same. */
static LLVMValueRef negative(llfi_site *s, llfi_ix form, const llfi_tile *tile)
{
    bool same = s->emit.width == 1 || same_sign(s, form, tile);
    LLVMValueRef x = same ? llfi_index_form(s, form, tile, 0) : values(s, form, tile);
    return x ? LLVMBuildICmp(s->emit.b, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "") : NULL;
}

static LLVMValueRef concat(llfi_site *s, const llfi_demand *d, const llfi_tile *tile, const LLVMValueRef *arg,
                           uint32_t count)
{
    LLVMValueRef out = arg[count - 1];
    for (uint32_t k = count - 1; out && k-- > 0;) {
        LLVMValueRef here = negative(s, s->demands.cond[d->cond + k], tile);
        out = here ? LLVMBuildSelect(s->emit.b, here, arg[k], out, "") : NULL;
    }
    return out;
}

static bool is_vector(LLVMValueRef x)
{
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
}

/* a and not (or: and) b */
static LLVMValueRef both(llfi_site *s, LLVMValueRef a, LLVMValueRef b, bool negate)
{
    llfi_emit *e = &s->emit;
    if (negate)
        b = LLVMBuildNot(e->b, b, "");
    if (!a)
        return b;
    if (is_vector(a) != is_vector(b)) {
        a = is_vector(a) ? a : llfi_emit_splat(e, a, e->width);
        b = is_vector(b) ? b : llfi_emit_splat(e, b, e->width);
    }
    return LLVMBuildAnd(e->b, a, b, "");
}

static LLVMValueRef pad(llfi_site *s, const llfi_demand *d, const llfi_tile *tile, const LLVMValueRef *arg)
{
    LLVMValueRef inside = NULL;
    uint32_t conds = llfi_ix_conditions(s->g, d->node);
    for (uint32_t k = 0; k < conds; k++) {
        llfi_ix form = s->demands.cond[d->cond + k];
        LLVMValueRef below = form == LLFI_IX_NONE ? NULL : negative(s, form, tile);
        if (form == LLFI_IX_NONE)
            continue;
        if (!below)
            return NULL;
        inside = both(s, inside, below, k % LLFI_PAD_WORDS == 0);
    }
    return inside ? LLVMBuildSelect(s->emit.b, inside, arg[0], arg[1], "") : arg[0];
}

llf_status llfi_lower_index(llfi_site *s, const llfi_tile *tile, uint32_t demand, const LLVMValueRef *arg,
                            LLVMValueRef *out)
{
    const llfi_demand *d = &s->demands.at[demand];
    const llfi_node *n = llfi_node_at(s->g, d->node);
    const llfi_tile *at = d->scope ? tile : NULL;
    *out = n->op == LLF_OP_CONCAT ? concat(s, d, at, arg, n->arity)
           : n->op == LLF_OP_PAD  ? pad(s, d, at, arg)
                                  : arg[0];
    if (!*out && s->emit.status == LLF_OK)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "node %u cannot be lowered", d->node);
    return s->emit.status;
}

llf_status llfi_lower_iota(llfi_site *s, const llfi_tile *tile, uint32_t demand, LLVMValueRef *out)
{
    llfi_emit *e = &s->emit;
    const llfi_demand *d = &s->demands.at[demand];
    LLVMValueRef x;
    if (d->offset != LLFI_OFFSET_LINEAR)
        x = values(s, d->offset, d->scope ? tile : NULL);
    else
        x = d->scope && tile ? steps(s, tile->first, 1) : llfi_emit_i64c(e, 0);
    if (!x)
        return e->status;
    LLVMTypeRef wide = llfi_emit_vec(e->i64, e->width);
    if (LLVMTypeOf(x) != wide)
        x = LLVMBuildSExt(e->b, x, wide, "");
    *out = llfi_emit_convert(e, LLF_I64, llfi_dtype_of(s->g, d->node), x);
    return e->status;
}
