/* bind.c: the symbols' values from the inputs' extents: one that is a symbol gives its value; then one in
 * which a single symbol is still unknown, times what is known (2*N, B*4 + N). Whether the rest fits is not
 * asked: every extent is compared with its expression afterwards. */
#include "ir/ir.h"

/* Expressions that wait for others, which wait for others, ... Keeps it linear. */
#define ROUNDS 8

static bool bind_round(const llf_graph *g, llfi_shape_fn *shape, const void *user, bool plain,
                       int64_t *symbol)
{
    bool more = false;
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llfi_type t = llfi_input_asked(g, i);
        const int64_t *extent = t.rank && shape ? shape(user, i) : NULL;
        for (uint32_t k = 0; k < t.rank; k++) {
            uint32_t s;
            int64_t value = 1;
            if (plain ? llfi_dim_is_symbol(g->dims, t.dim[k], &s) && symbol[s] < 0
                      : llfi_dim_unknown(g->dims, t.dim[k], symbol, &s)) {
                if (extent && plain)
                    value = extent[k];
                else if (extent && !llfi_dim_solve(g->dims, t.dim[k], symbol, extent[k], &s, &value))
                    continue;
                symbol[s] = value;
                more = true;
            }
        }
    }
    return more;
}

void llfi_bind_symbols(const llf_graph *g, llfi_shape_fn *shape, const void *user, int64_t *symbol)
{
    for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++)
        symbol[s] = -1;
    bind_round(g, shape, user, true, symbol);
    for (uint32_t i = 0; i < ROUNDS; i++)
        if (!bind_round(g, shape, user, false, symbol))
            return;
}

/* Marks the symbols that running the graph needs. */
static void mark(const llf_graph *g, bool *used, bool *needed)
{
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llfi_type t = llfi_input_asked(g, i);
        for (uint32_t k = 0; k < t.rank; k++)
            used[t.dim[k]] = true;
    }
    for (llf_id id = 0; id < g->nodes.count; id++) {
        llfi_type t = llfi_type_of(g, id);
        for (uint32_t k = 0; k < t.rank; k++)
            used[t.dim[k]] = true;
    }
    for (size_t i = 0; i < g->guards.count; i++)
        used[g->guards.at[i].a] = used[g->guards.at[i].b] = true;
    llfi_dims_mark(g->dims, used, needed);
}

llf_status llfi_bind_check(const llf_graph *g)
{
    uint32_t symbols = llfi_dims_symbols(g->dims);
    llfi_arena scratch;
    llfi_arena_init(&scratch, &g->cx->mem);
    bool *used = llfi_arena_alloc(&scratch, (size_t)llfi_dims_count(g->dims) + 1);
    bool *needed = llfi_arena_alloc(&scratch, (size_t)symbols + 1);
    int64_t *symbol = llfi_arena_alloc(&scratch, ((size_t)symbols + 1) * sizeof *symbol);
    llf_status status = used && needed && symbol ? LLF_OK : llfi_nomem(&g->cx->diag);
    if (status == LLF_OK) {
        mark(g, used, needed);
        llfi_bind_symbols(g, NULL, NULL, symbol);
    }
    for (uint32_t s = 0; status == LLF_OK && s < symbols; s++)
        if (needed[s] && symbol[s] < 0)
            status = llfi_fail(
                &g->cx->diag, LLF_E_GRAPH,
                "symbol %s cannot be told from the inputs' shapes: no input has it as an extent, or "
                "as the only unknown of an extent that is linear in it",
                llfi_dims_symbol_name(g->dims, s));
    llfi_arena_destroy(&scratch);
    return status;
}
