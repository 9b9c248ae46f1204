/* pointwise.c: the parts of the pointwise skeletons that do not depend on the target. No threads, no blocks.
 */
#include "lower/pointwise.h"

static bool same_shape(const llf_graph *g, llf_id node, llfi_type space, llfi_why *why)
{
    llfi_type t = llfi_type_of(g, node);
    if (t.rank == 0 || llfi_type_same_dims(t, space))
        return true;
    snprintf(why->text, sizeof why->text, "node %u has another shape than the kernel", node);
    return false;
}

bool llfi_pointwise_match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    (void)target;
    llfi_type space = llfi_type_at(g, k->space);
    for (uint32_t i = 0; i < k->members; i++) {
        const llfi_node *n = llfi_node_at(g, k->member[i]);
        if (llfi_ops[n->op].cls == LLFI_CLASS_COMPOSITE) {
            snprintf(why->text, sizeof why->text, "%s is not elementwise", llfi_ops[n->op].name);
            return false;
        }
        if (!same_shape(g, k->member[i], space, why))
            return false;
        for (uint32_t a = 0; a < n->arity; a++)
            if (!same_shape(g, n->arg[a], space, why))
                return false;
    }
    if (!k->stores)
        snprintf(why->text, sizeof why->text, "the kernel stores nothing");
    return k->stores > 0;
}

static void add_buffer(llfi_schedule *s, const llf_graph *g, llf_id node, bool written, bool vector,
                       llfi_pointwise_sums *sums)
{
    llf_dtype dtype = llfi_dtype_of(g, node);
    s->arg[s->args++] = (llfi_arg){
        .kind = LLFI_ARG_BUFFER, .dtype = dtype, .ref = node, .written = written, .vector = vector};
    if (!vector)
        return;
    uint32_t bytes = llfi_dtypes[dtype].bytes;
    sums->bytes += bytes;
    sums->least = sums->least && sums->least < bytes ? sums->least : bytes;
    sums->most = sums->most > bytes ? sums->most : bytes;
}

static void add_arguments(llfi_schedule *s, const llf_graph *g, const llfi_kernel *k,
                          const llfi_demands *list, uint32_t values, llfi_pointwise_sums *sums)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        if (list->at[i].leaf && llfi_node_is_buffered(n))
            add_buffer(s, g, list->at[i].node, false, list->at[i].scope == 1, sums);
    }
    for (uint32_t i = 0; i < k->stores; i++) {
        bool uniform = list->at[list->store[i]].scope == 0;
        s->uniform_store |= uniform;
        add_buffer(s, g, k->store[i], true, !uniform, sums);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        if (list->at[i].leaf && llfi_node_is_scalar(n))
            s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_SCALAR,
                                           .dtype = llfi_dtype_of(g, list->at[i].node),
                                           .ref = list->at[i].node};
    }
    for (uint32_t i = 0; i < values; i++)
        s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_DIM, .dtype = LLF_I64, .ref = i};
}

llf_status llfi_pointwise_plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, uint32_t values,
                               llfi_arena *arena, llfi_schedule *s, llfi_pointwise_sums *sums)
{
    llfi_demands list;
    *sums = (llfi_pointwise_sums){0};
    LLF_TRY(llfi_demands_make(g, k, arena, &list));
    s->arg = llfi_arena_alloc(arena, ((size_t)list.count + k->stores + values + 1) * sizeof *s->arg);
    if (!s->arg)
        return LLF_E_NOMEM;
    add_arguments(s, g, k, &list, values, sums);
    if (s->args * 8 > target->param_bytes)
        return LLF_E_LIMIT;
    for (uint32_t i = list.uniform; i < list.count; i++) {
        llf_dtype dtype = llfi_dtype_of(g, list.at[i].node);
        if (!list.at[i].leaf)
            sums->cost += llfi_op_cost((llf_op)llfi_node_at(g, list.at[i].node)->op, dtype);
        sums->values8 += llfi_dtypes[dtype].bytes == 8;
        sums->values4 += llfi_dtypes[dtype].bytes < 8 && dtype != LLF_BOOL;
    }
    s->cost = sums->cost;
    s->dims = 1;
    s->dim[0] = llfi_numel(g, k->space);
    return s->dim[0] == LLFI_DIM_NONE ? LLF_E_LIMIT : LLF_OK;
}

LLVMValueRef llfi_pointwise_dim(const llfi_site *s, uint32_t index)
{
    uint32_t i = 0;
    while (s->schedule->arg[i].kind != LLFI_ARG_DIM || s->schedule->arg[i].ref != index)
        i++;
    return s->arg[i];
}

/* Leaves stand first in scope 1, so all loads of the tile come before its stores; each result is stored as
 * soon as it is made, which keeps few values live. */
llf_status llfi_pointwise_body(llfi_site *s, const llfi_tile *tile)
{
    const llfi_demands *list = &s->demands;
    bool *stored = llfi_arena_alloc(s->arena, list->count + 1);
    if (!stored)
        return llfi_nomem(s->emit.diag);
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        stored[list->store[i]] = list->at[list->store[i]].scope == 1;
    llfi_site_forget(s);
    for (uint32_t i = list->uniform; i < list->count; i++) {
        LLF_TRY(llfi_lower(s, tile, i, i + 1));
        if (stored[i])
            LLF_TRY(llfi_store(s, tile, i));
    }
    return LLF_OK;
}

llf_status llfi_pointwise_uniform(llfi_site *s)
{
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        if (s->demands.at[s->demands.store[i]].scope == 0)
            LLF_TRY(llfi_store(s, NULL, s->demands.store[i]));
    return LLF_OK;
}
