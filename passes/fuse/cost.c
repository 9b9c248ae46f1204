/* cost.c: what a plan moves: buffers and bytes, integers only, for given symbol values; and what a heuristic
 * is told. It decides nothing. */
#include "fuse/fuse.h"

/* Bytes of one element, 0 for a value of rank 0: it costs no memory traffic worth ranking. */
static int64_t element(const llf_graph *g, llf_id id)
{
    llfi_type t = llfi_type_of(g, id);
    return t.rank ? (int64_t)llfi_dtypes[t.dtype].bytes : 0;
}

int64_t llfi_cost_saved(const llfi_fuse_view *v, llf_id a, llf_id b)
{
    const llfi_node *na = llfi_node_at(v->g, a), *nb = llfi_node_at(v->g, b);
    int64_t saved = 0;
    for (uint32_t k = 0; k < nb->arity; k++) {
        llf_id p = v->source[llfi_args(v->g, nb)[k]];
        bool again = false, shared = false;
        for (uint32_t j = 0; j < k; j++)
            again = again || v->source[llfi_args(v->g, nb)[j]] == p;
        for (uint32_t j = 0; j < na->arity; j++)
            shared = shared || v->source[llfi_args(v->g, na)[j]] == p;
        if (again)
            continue;
        if (p == a) /* the read, and the write where nobody else wants it */
            saved += element(v->g, a) * (v->users[a] == 1 && !v->output[a] ? 2 : 1);
        else if (shared && llfi_node_is_buffered(llfi_node_at(v->g, p)))
            saved += element(v->g, p);
    }
    return saved;
}

/* ---- accounting */

static int64_t bytes_of(const llf_graph *g, llf_id id, const int64_t *symbol)
{
    llfi_type t = llfi_type_of(g, id);
    int64_t bytes;
    return llfi_type_size(g, t, symbol, llfi_dtypes[t.dtype].bytes, &bytes) == LLF_OK ? bytes : -1;
}

llf_status llfi_kernel_reads(const llf_graph *g, const llfi_plan *p, uint32_t kernel, llfi_arena *arena,
                             llf_id **id, uint32_t *count)
{
    const llfi_kernel *k = &p->kernel[kernel];
    size_t edges = 1;
    for (uint32_t m = 0; m < k->members; m++)
        edges += llfi_node_at(g, k->member[m])->arity;
    llf_id *all = llfi_arena_alloc(arena, edges * sizeof *all);
    if (!all)
        return llfi_nomem(g->cx ? &g->cx->diag : NULL);
    uint32_t n = 0, distinct = 0;
    for (uint32_t m = 0; m < k->members; m++) {
        const llfi_node *node = llfi_node_at(g, k->member[m]);
        for (uint32_t a = 0; a < node->arity; a++) {
            llf_id read = llfi_source(g, llfi_args(g, node)[a]);
            if (llfi_node_is_buffered(llfi_node_at(g, read)) &&
                llfi_sorted_at(k->member, k->members, read) == k->members)
                all[n++] = read;
        }
    }
    llfi_sort(all, n, NULL, NULL);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || all[i] != all[i - 1])
            all[distinct++] = all[i];
    *id = all;
    *count = distinct;
    return LLF_OK;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

llf_status llfi_plan_bytes(const llf_graph *g, const llfi_plan *p, const int64_t *symbol, llfi_arena *arena,
                           int64_t *bytes, uint32_t *transfers)
{
    *bytes = 0;
    *transfers = 0;
    for (uint32_t k = 0; k < p->kernels; k++) {
        llf_id *read;
        uint32_t reads;
        LLF_TRY(llfi_kernel_reads(g, p, k, arena, &read, &reads));
        for (uint32_t i = 0; i < reads; i++)
            *bytes = add(*bytes, bytes_of(g, read[i], symbol));
        for (uint32_t i = 0; i < p->kernel[k].stores; i++)
            *bytes = add(*bytes, bytes_of(g, p->kernel[k].store[i], symbol));
        *transfers += reads + p->kernel[k].stores;
    }
    return LLF_OK;
}
