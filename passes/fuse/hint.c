/* hint.c: what the user wants of fusion at single nodes, in front of every heuristic. It cannot make a plan
 * wrong: legal.c refuses as before. */
#include "fuse/fuse.h"

uint8_t *llfi_hints_make(const llf_graph *g, llfi_arena *arena)
{
    uint8_t *hint = llfi_arena_alloc(arena, g->nodes.count + 1);
    bool *apart = llfi_arena_alloc(arena, g->origin.count + 1); /* by origin */
    if (!hint || !apart)
        return NULL;
    for (llf_id id = 0; id < g->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(g, id);
        hint[id] = n->hint;
        if (n->hint == LLF_HINT_APART && n->origin < g->origin.count)
            apart[n->origin] = true;
    }
    for (llf_id id = 0; id < g->nodes.count; id++) {
        const llfi_node *n = llfi_node_at(g, id);
        if (n->origin < g->origin.count && apart[n->origin])
            hint[id] = LLF_HINT_APART;
    }
    return hint;
}

static bool reads(const llfi_fuse_view *v, llf_id b, llf_id a)
{
    bool any = false;
    for (uint32_t k = 0; k < llfi_node_at(v->g, b)->arity; k++)
        any = any || llfi_fuse_operand(v, b, k) == a;
    return any;
}

int64_t llfi_hint_score(const llfi_fuse_view *v, llf_id a, llf_id b, bool *hinted)
{
    bool apart = v->hint[a] == LLF_HINT_APART || v->hint[b] == LLF_HINT_APART;
    *hinted = true;
    if (apart && llfi_node_at(v->g, a)->origin != llfi_node_at(v->g, b)->origin)
        return -1;
    if (v->hint[b] == LLF_HINT_FUSE && reads(v, b, a))
        return INT64_MAX;
    *hinted = false;
    return v->options->heuristic->score(v, a, b);
}
