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
    added->as = g->as;
    return LLF_OK;
}

llf_status llfi_guards_name(llf_graph *g)
{
    if (g->guards_named || g->guards.count == 0)
        return LLF_OK;
    llfi_arena arena;
    llfi_arena_init(&arena, &g->cx->mem);
    const llfi_value_name *name = llfi_names_make(g, &arena);
    for (size_t i = 0; name && i < g->guards.count; i++) {
        llfi_guard *u = &g->guards.at[i];
        u->named = u->node < g->nodes.count;
        if (u->named)
            u->value = name[u->node];
    }
    g->guards_named = name != NULL;
    llfi_arena_destroy(&arena);
    return name ? LLF_OK : llfi_nomem(&g->cx->diag);
}

/* Behind the message: the value that asked. */
static void say_value(const llf_graph *g, llfi_diag *d, const llfi_guard *u)
{
    const llfi_node *n = u->node < g->nodes.count ? llfi_node_at(g, u->node) : NULL;
    llfi_str s;
    llfi_str_init(&s, &g->cx->mem);
    if (u->named)
        llfi_names_put(g, &u->value, 0, &s);
    else if (!n || n->op != u->op || n->line != u->line || n->col != u->col)
        ; /* gone, or something has come to stand for it */
    else if (!g->guards_named)
        llfi_str_puts(&s, llfi_show_value(g, u->node).text);
    else if (n->name)
        llfi_str_printf(&s, "%%%s", llfi_name(g, n->name));
    if (s.len && !s.failed)
        llfi_diag_in(d, s.at + 1, s.len - 1);
    llfi_str_free(&s);
}

static llf_status broken(const llf_graph *g, llfi_diag *d, const llfi_guard *u, const char *a, const char *b)
{
    char axis[32] = "the number of elements";
    if (u->axis < LLFI_RANK)
        snprintf(axis, sizeof axis, "axis %u", u->axis);
    const char *op = u->as ? u->as : llfi_ops[u->op].name;
    llfi_place at = {g->file, u->line, u->col};
    llf_status status = llfi_fail_at(d, LLF_E_GUARD, at, op, "%s: %s: %s (%s) must be %s %s (%s)", op, axis,
                                     llfi_show_dim(g, u->a).text, a, u->at_most ? "at most" : "equal to",
                                     llfi_show_dim(g, u->b).text, b);
    say_value(g, d, u);
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
