/* guard.c: what shapes need of the symbols' values at run time: recorded once, checked in one walk. Must not
 * prove anything: infer.c asks only for what it cannot decide. */
#include "ir/ir.h"

llf_status llfi_guard_add(llf_graph *g, const llfi_guard *want)
{
    uint64_t hash = llfi_hash_u64(llfi_hash_u64(want->at_most, want->a), want->b);
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&g->guard_map, hash, &cursor)) != UINT32_MAX;) {
        if (i >= g->guards.count) /* of a rewrite that failed */
            continue;
        const llfi_guard *have = &g->guards.at[i];
        if (have->a == want->a && have->b == want->b && have->at_most == want->at_most)
            return LLF_OK;
    }
    const llf_allocator *mem = &g->cx->mem;
    if (!llfi_vec_reserve(mem, &g->guards, 1) ||
        !llfi_map_add(mem, &g->guard_map, hash, (uint32_t)g->guards.count))
        return llfi_nomem(&g->cx->diag);
    llfi_guard *added = &g->guards.at[g->guards.count++];
    *added = *want;
    added->node = (llf_id)g->nodes.count;
    return LLF_OK;
}

static llf_status broken(const llf_graph *g, llfi_diag *d, const llfi_guard *u, const char *a, const char *b)
{
    char axis[32] = "the number of elements";
    if (u->axis < LLFI_RANK)
        snprintf(axis, sizeof axis, "axis %u", u->axis);
    const char *op = llfi_ops[u->op].name;
    llfi_place at = {g->file, u->line, u->col};
    llf_status status = llfi_fail_at(d, LLF_E_GUARD, at, op, "%s: %s: %s (%s) must be %s %s (%s)", op, axis,
                                     llfi_show_dim(g, u->a).text, a, u->at_most ? "at most" : "equal to",
                                     llfi_show_dim(g, u->b).text, b);
    const llfi_node *n = u->node < g->nodes.count ? llfi_node_at(g, u->node) : NULL;
    if (n && n->op == u->op && n->line == u->line &&
        n->col == u->col) { /* not what has come to stand for it */
        const char *name = llfi_name(g, n->name);
        llfi_diag_in(d, name, strlen(name));
    }
    return status;
}

llf_status llfi_guards_check(const llf_graph *g, llfi_diag *d, const int64_t *symbol)
{
    for (size_t i = 0; i < g->guards.count; i++) {
        const llfi_guard *u = &g->guards.at[i];
        int64_t v[2];
        char text[2][32] = {"no extent", "no extent"};
        bool ok = true;
        for (uint32_t k = 0; k < 2; k++) {
            bool has = llfi_dim_eval(g->dims, k ? u->b : u->a, symbol, &v[k]);
            ok &= has;
            if (has)
                snprintf(text[k], sizeof text[k], "%lld", (long long)v[k]);
        }
        if (!ok || (u->at_most ? v[0] > v[1] : v[0] != v[1]))
            return broken(g, d, u, text[0], text[1]);
    }
    return LLF_OK;
}
