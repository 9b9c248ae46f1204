/* cse.c: equal operations on equal operands become one, the first. Inputs are never merged.
 * In: any graph.
 * Out: no two non-input nodes have the same op, attribute, type and operands (operands of COMM ops in any
 * order). Why: fewer operations and buffers. Cost: linear. */
#include "pass.h"

/* What two equal nodes share: operands in new ids, as many as n has. */
static void key_of(const llfi_rewrite *r, const llfi_node *n, llf_id *arg)
{
    for (uint32_t k = 0; k < n->arity; k++)
        arg[k] = r->map[llfi_args(r->g, n)[k]];
    if (llfi_ops[n->op].flags & LLF_F_COMM && arg[0] > arg[1]) {
        llf_id t = arg[0];
        arg[0] = arg[1];
        arg[1] = t;
    }
}

static bool same(const llf_graph *g, const llfi_node *a, const llfi_node *n, const llf_id *arg)
{
    if (a->op != n->op || a->type != n->type || a->attr != n->attr || a->arity != n->arity)
        return false;
    bool straight = true, crossed = (llfi_ops[n->op].flags & LLF_F_COMM) != 0;
    for (uint32_t k = 0; k < n->arity; k++)
        straight = straight && llfi_args(g, a)[k] == arg[k];
    crossed = crossed && a->arg[0] == arg[1] && a->arg[1] == arg[0];
    return straight || crossed;
}

static llf_status number(llfi_pass *p, llfi_rewrite *r, llfi_map *seen, llf_id old, llf_id *arg)
{
    const llfi_node *n = &r->old[old];
    key_of(r, n, arg);
    uint64_t h = llfi_hash_u64(llfi_hash_u64(n->op, n->type), n->attr);
    for (uint32_t k = 0; k < n->arity; k++)
        h = llfi_hash_u64(h, arg[k]);
    size_t cursor = 0;
    for (uint32_t at; (at = llfi_map_next(seen, h, &cursor)) != UINT32_MAX;)
        if (same(r->g, llfi_node_at(r->g, at), n, arg)) {
            r->map[old] = at;
            return LLF_OK;
        }
    LLF_TRY(llfi_rewrite_copy(r, old));
    if (!llfi_map_add(&p->cx->mem, seen, h, r->map[old]))
        return llfi_nomem(&p->cx->diag);
    return LLF_OK;
}

llf_status llfi_pass_cse(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    uint32_t most = 1;
    for (llf_id i = 0; i < r.olds; i++)
        most = r.old[i].arity > most ? r.old[i].arity : most;
    llf_id *arg = llfi_arena_alloc(p->scratch, most * sizeof *arg);
    llfi_map seen = {0};
    llf_status st = arg ? LLF_OK : llfi_nomem(&p->cx->diag);
    for (llf_id i = 0; i < r.olds && st == LLF_OK; i++)
        if (r.old[i].op != LLF_OP_INPUT)
            st = number(p, &r, &seen, i, arg);
    llfi_map_free(&p->cx->mem, &seen);
    if (st != LLF_OK) {
        llfi_rewrite_abort(&r);
        return st;
    }
    return llfi_rewrite_end(&r);
}
