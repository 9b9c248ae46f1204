/* rewrite.c: how passes change a graph (ir.h): old nodes aside, new ones appended, ids mapped. A failure
 * restores the graph as it was. Must not decide anything about ops. */
#include "ir/ir.h"

llf_status llfi_rewrite_begin(llfi_rewrite *rw, llf_graph *g, llfi_arena *arena)
{
    size_t n = g->nodes.count;
    *rw = (llfi_rewrite){.g = g};
    llfi_node *old = llfi_arena_alloc(arena, n * sizeof *old);
    llf_id *map = llfi_arena_alloc(arena, n * sizeof *map);
    uint32_t most = LLFI_INLINE_ARGS;
    for (size_t i = 0; i < n; i++)
        most = g->nodes.at[i].arity > most ? g->nodes.at[i].arity : most;
    rw->arg = llfi_arena_alloc(arena, most * sizeof *rw->arg);
    if (!old || !map || !rw->arg)
        return llfi_nomem(&g->cx->diag);
    if (n) {
        memcpy(old, g->nodes.at, n * sizeof *old);
        memset(map, 0xff, n * sizeof *map); /* LLF_NONE */
    }
    rw->old = old;
    rw->olds = (uint32_t)n;
    rw->map = map;
    rw->guards = g->guards.count;
    rw->operands = g->operands.count;
    /* Inputs come first, in signature order; the array has room for at least the old nodes. */
    for (size_t i = 0; i < g->inputs.count; i++) {
        map[g->inputs.at[i]] = (llf_id)i;
        g->nodes.at[i] = old[g->inputs.at[i]];
        g->inputs.at[i] = (llf_id)i;
    }
    g->nodes.count = g->inputs.count;
    return LLF_OK;
}

static llf_status unmapped(llfi_rewrite *rw, llf_id old)
{
    return llfi_fail(&rw->g->cx->diag, LLF_E_INTERNAL, "rewrite: node %u is used but was dropped", old);
}

llf_status llfi_rewrite_op(llfi_rewrite *rw, llf_id like, llf_op op, const llf_id *arg, uint64_t attr,
                           llf_id *out)
{
    return llfi_rewrite_op_n(rw, like, op, llfi_ops[op].arity, arg, attr, out);
}

llf_status llfi_rewrite_op_n(llfi_rewrite *rw, llf_id like, llf_op op, uint32_t count, const llf_id *arg,
                             uint64_t attr, llf_id *out)
{
    const llfi_node *l = &rw->old[like];
    uint32_t origin = l->origin;
    *out = llfi_build_n(rw->g, op, count, arg, attr, origin, (llfi_place){rw->g->file, l->line, l->col});
    if (*out == LLF_NONE)
        return rw->g->poisoned;
    llfi_node_hint(&rw->g->nodes.at[*out], (llf_hint_kind)l->hint);
    return LLF_OK;
}

llf_status llfi_rewrite_const(llfi_rewrite *rw, llf_dtype dtype, uint64_t bits, llf_id *out)
{
    *out = llfi_build_const(rw->g, dtype, bits);
    return *out == LLF_NONE ? rw->g->poisoned : LLF_OK;
}

llf_status llfi_rewrite_copy(llfi_rewrite *rw, llf_id old)
{
    return llfi_rewrite_copy_as(rw, old, rw->old[old].attr);
}

llf_status llfi_rewrite_copy_as(llfi_rewrite *rw, llf_id old, uint64_t attr)
{
    if (rw->map[old] != LLF_NONE)
        return LLF_OK; /* an input, or made with the op that it is a result of */
    const llfi_node *n = &rw->old[old];
    if (n->op == LLF_OP_CONST)
        return llfi_rewrite_const(rw, llfi_type_at(rw->g, n->type).dtype, attr, &rw->map[old]);
    const llf_id *from = llfi_args(rw->g, n);
    for (uint32_t i = 0; i < n->arity; i++) {
        rw->arg[i] = rw->map[from[i]];
        if (rw->arg[i] == LLF_NONE)
            return unmapped(rw, from[i]);
    }
    LLF_TRY(llfi_rewrite_op_n(rw, old, (llf_op)n->op, n->arity, rw->arg, attr, &rw->map[old]));
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[n->op]); k++)
        rw->map[old + k] = rw->map[old] + k;
    return LLF_OK;
}

/* The operands of old nodes go; those of new ones stand behind them. */
static void drop_operands(llfi_rewrite *rw)
{
    llf_graph *g = rw->g;
    size_t gone = rw->operands, kept = g->operands.count - gone;
    if (!gone)
        return;
    memmove(g->operands.at, g->operands.at + gone, kept * sizeof *g->operands.at);
    g->operands.count = kept;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.at[i].arity > LLFI_INLINE_ARGS)
            g->nodes.at[i].arg[0] -= (llf_id)gone;
}

llf_status llfi_rewrite_end(llfi_rewrite *rw)
{
    llf_graph *g = rw->g;
    for (size_t i = 0; i < g->outputs.count; i++) {
        if (rw->map[g->outputs.at[i]] == LLF_NONE)
            return unmapped(rw, g->outputs.at[i]);
    }
    for (size_t i = 0; i < g->outputs.count; i++)
        g->outputs.at[i] = rw->map[g->outputs.at[i]];
    for (uint32_t i = 0; i < rw->olds; i++) {
        if (rw->map[i] == LLF_NONE)
            continue;
        llfi_node *n = &g->nodes.at[rw->map[i]];
        llfi_node_hint(n, (llf_hint_kind)rw->old[i].hint);
        if (rw->old[i].name && !n->name && n->op != LLF_OP_CONST && n->op != LLF_OP_INPUT)
            n->name = rw->old[i].name;
    }
    for (size_t i = 0; i < rw->guards; i++) {
        llf_id *node = &g->guards.at[i].node;
        *node = *node == LLF_NONE ? LLF_NONE : rw->map[*node];
    }
    size_t kept = 0;
    for (size_t i = 0; i < g->labels.count; i++) {
        llfi_label l = g->labels.at[i];
        l.node = rw->map[l.node];
        if (l.node != LLF_NONE)
            g->labels.at[kept++] = l;
    }
    g->labels.count = kept;
    drop_operands(rw);
    return LLF_OK;
}

void llfi_rewrite_abort(llfi_rewrite *rw)
{
    if (!rw->old)
        return;
    llf_graph *g = rw->g;
    memcpy(g->nodes.at, rw->old, rw->olds * sizeof *rw->old);
    g->nodes.count = rw->olds;
    g->guards.count = rw->guards;
    g->operands.count = rw->operands;
    for (uint32_t i = 0; i < rw->olds; i++) {
        if (rw->old[i].op == LLF_OP_INPUT)
            g->inputs.at[rw->map[i]] = i;
    }
    g->poisoned = LLF_OK;
    rw->old = NULL;
}
