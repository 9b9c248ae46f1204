/* views.c: long chains of views are cut by copies, so that an index expression is as long as a few views make
 * it, however many stand on each other and whoever reads them at each level. Simplify has joined what can be
 * joined. It adds copies and does nothing else.
 * In: any graph.
 * Out: behind no value stand more than LONG + SPARE views.
 * Why: each reader of a view composes the maps of all views behind it: without a bound that is quadratic, and
 * so is the code of maps that do not simplify (permute, reshape, permute, ...).
 * Cost: linear. */
#include "pass.h"

/* More than people write. A stretched view waits for a smaller one, so that little is copied. */
#define LONG 16u
#define SPARE 16u

/* Has the view no more elements than what it is a view of, for certain? */
static bool small(llf_graph *g, llf_id view, llf_id source)
{
    llfi_dim a = llfi_numel(g, llfi_node_at(g, view)->type), b = llfi_numel(g, llfi_node_at(g, source)->type);
    return a != LLFI_DIM_NONE && b != LLFI_DIM_NONE && llfi_dim_never_above(g->dims, a, b);
}

typedef struct {
    uint32_t *behind; /* by old node: views from it down to what is stored */
    llf_id *source;   /* by old node: that, a new id */
} chains;

static llf_status step(llfi_rewrite *r, chains *c, llf_id old)
{
    LLF_TRY(llfi_rewrite_copy(r, old));
    c->source[old] = r->map[old];
    if (llfi_ops[r->old[old].op].cls != LLFI_CLASS_VIEW)
        return LLF_OK;
    llf_id x = llfi_args(r->g, &r->old[old])[0];
    c->behind[old] = c->behind[x] + 1;
    c->source[old] = c->source[x];
    if (c->behind[old] < LONG || (c->behind[old] < LONG + SPARE && !small(r->g, r->map[old], c->source[x])))
        return LLF_OK;
    c->behind[old] = 0;
    LLF_TRY(llfi_rewrite_op(r, old, LLF_OP_COPY, &r->map[old], 0, &r->map[old]));
    c->source[old] = r->map[old];
    return LLF_OK;
}

static bool long_chain(const llf_graph *g, uint32_t *behind)
{
    bool any = false;
    for (llf_id i = 0; i < g->nodes.count; i++)
        if (llfi_ops[llfi_node_at(g, i)->op].cls == LLFI_CLASS_VIEW) {
            behind[i] = behind[llfi_args(g, llfi_node_at(g, i))[0]] + 1;
            any = any || behind[i] >= LONG;
        }
    return any;
}

llf_status llfi_pass_views(llfi_pass *p, llf_graph *g)
{
    llfi_rewrite r;
    size_t n = g->nodes.count + 1;
    chains c = {llfi_arena_alloc(p->scratch, n * sizeof *c.behind),
                llfi_arena_alloc(p->scratch, n * sizeof *c.source)};
    if (!c.behind || !c.source)
        return llfi_nomem(&p->cx->diag);
    if (!long_chain(g, c.behind))
        return LLF_OK;
    memset(c.behind, 0, n * sizeof *c.behind);
    LLF_TRY(llfi_rewrite_begin(&r, g, p->scratch));
    for (llf_id i = 0; i < r.olds; i++) {
        llf_status status = step(&r, &c, i);
        if (status != LLF_OK) {
            llfi_rewrite_abort(&r);
            return status;
        }
    }
    return llfi_rewrite_end(&r);
}
