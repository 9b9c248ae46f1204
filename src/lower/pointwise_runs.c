/* pointwise_runs.c: several tiles of one GPU thread, a block's threads apart. Where places take arithmetic,
 * or wait for an index that is itself loaded, one tile's loads do not keep memory busy: so the loads of all
 * tiles stand together, each step of a chain of loads for all tiles before the next. It must not know how
 * threads find their tiles. */
#include "lower/pointwise.h"

/* Measured on an H200 (docs/performance.md). "Own" bytes are those that no other lane of the thread shares.
 */
#define RUNS 8u       /* most */
#define HELD 32u      /* most 32-bit registers for loaded elements of all runs */
#define RUNS_COST 96u /* most estimated instructions of all runs: compile time */
#define EARLY_BYTES \
    16u /* own bytes of a thread, wanted on their way at least: vectors that wait for arithmetic */
#define LATE_BYTES 32u       /* vectors that wait for loads */
#define LATE_HELD 64u        /* HELD for them: indices are gone when elements come */
#define SCATTERED_BYTES 128u /* single elements, each for a load of its own */
#define SCATTERED_HELD 128u
#define DEAR 16u        /* estimated instructions an element from which arithmetic keeps loads waiting, */
#define DEAR_BYTES 64u  /* what is wanted then, */
#define DEAR_COST 512u  /* and RUNS_COST */
#define ELEMENT_RUNS 4u /* RUNS where runs are single elements, which are a second road */
#define ELEMENT_BYTES 32u
#define ELEMENTS_COST 32u

static bool in_memory(const llf_graph *g, const llfi_demand *d)
{
    return d->leaf && llfi_node_is_buffered(llfi_node_at(g, d->node));
}

void llfi_pointwise_vector_sums(const llf_graph *g, const llfi_kernel *k, const llfi_demands *list,
                                llfi_pointwise_sums *sums)
{
    sums->least = sums->most = sums->bytes = 0;
    for (uint32_t i = list->uniform; i < list->count + k->stores; i++) {
        uint32_t at = i < list->count ? i : list->store[i - list->count];
        const llfi_demand *d = &list->at[at];
        bool counts = i < list->count
                          ? in_memory(g, d) && llfi_access_of(g, list, i, 2, false, NULL) != LLFI_ACCESS_SPLAT
                          : d->scope == 1;
        uint32_t bytes = llfi_dtypes[llfi_dtype_of(g, d->node)].bytes;
        if (!counts)
            continue;
        sums->bytes += bytes;
        sums->least = sums->least && sums->least < bytes ? sums->least : bytes;
        sums->most = sums->most > bytes ? sums->most : bytes;
    }
}

typedef struct {
    uint32_t held;        /* registers */
    uint32_t early, late; /* own bytes; those of places that wait for an index */
    bool scattered;       /* some of the latter are single elements */
} loads;

static loads loads_of(const llf_graph *g, const llfi_demands *list, uint32_t width)
{
    loads sum = {0};
    for (uint32_t i = list->uniform; i < list->count; i++) {
        const llfi_demand *d = &list->at[i];
        if (!in_memory(g, d))
            continue;
        uint32_t bytes = llfi_dtypes[llfi_dtype_of(g, d->node)].bytes;
        llfi_access how = width > 1 ? llfi_access_of(g, list, i, width, true, NULL) : LLFI_ACCESS_VECTOR;
        uint32_t elements = how == LLFI_ACCESS_SPLAT ? 1 : width;
        uint32_t own = how == LLFI_ACCESS_SPLAT ? 0 : elements * bytes;
        bool apart = how == LLFI_ACCESS_LANES && bytes < 4; /* a register each */
        sum.held += apart ? elements : (elements * bytes + 3) / 4;
        sum.early += d->late ? 0 : own;
        sum.late += d->late ? own : 0;
        sum.scattered = sum.scattered || (d->late && how == LLFI_ACCESS_LANES);
    }
    return sum;
}

static uint32_t runs_up_to(uint32_t most, const loads *l, uint32_t want, uint32_t held, uint32_t cost,
                           uint32_t most_cost)
{
    uint32_t bytes = l->late ? l->late : l->early, runs = 1;
    while (runs < most && runs * bytes < want && 2 * runs * l->held <= held && 2 * runs * cost <= most_cost)
        runs *= 2;
    return runs;
}

static uint32_t vector_runs(const llf_graph *g, const llfi_demands *list, uint32_t width, uint32_t cost)
{
    loads l = loads_of(g, list, width);
    if (l.late && l.scattered)
        return runs_up_to(RUNS, &l, SCATTERED_BYTES, SCATTERED_HELD, width * cost, RUNS_COST);
    if (l.late)
        return runs_up_to(RUNS, &l, LATE_BYTES, LATE_HELD, width * cost, RUNS_COST);
    return cost >= DEAR ? runs_up_to(RUNS, &l, DEAR_BYTES, HELD, width * cost, DEAR_COST)
                        : runs_up_to(RUNS, &l, EARLY_BYTES, HELD, width * cost, RUNS_COST);
}

static uint32_t element_runs(const llf_graph *g, const llfi_demands *list, uint32_t cost)
{
    loads l = loads_of(g, list, 1);
    return runs_up_to(ELEMENT_RUNS, &l, ELEMENT_BYTES, l.late ? LATE_HELD : HELD, cost, ELEMENTS_COST);
}

void llfi_pointwise_choose_runs(const llf_graph *g, llfi_schedule *s)
{
    if (s->demands->forms == 0 || s->table || s->slice != s->width)
        return;
    uint32_t runs = s->width > 1 ? vector_runs(g, s->demands, s->width, s->cost) : 1;
    uint32_t elements = element_runs(g, s->demands, s->cost);
    if (runs == 1 && elements == 1)
        return;
    s->runs = runs;
    s->element_runs = elements;
    s->one_body = false;
}

/* ---- code */

typedef struct {
    llfi_tile tile;
    LLVMValueRef axis[LLFI_RANK];
    LLVMValueRef *val; /* the site's, of this tile */
    struct llfi_index *index;
} run;

static llf_status begin(llfi_site *s, run *r, uint32_t width, LLVMValueRef first)
{
    r->tile = (llfi_tile){.width = width, .first = first, .axis = r->axis, .steps = true, .aligned = true};
    r->val = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *r->val);
    if (!r->val)
        return llfi_nomem(s->emit.diag);
    if (s->demands.uniform)
        memcpy(r->val, s->val, s->demands.uniform * sizeof *r->val);
    LLF_TRY(llfi_index_begin(s));
    r->index = s->index;
    return LLF_OK;
}

/* Demand `i` of every run, one after another. */
static llf_status lower_all(llfi_site *s, run *at, uint32_t runs, uint32_t i)
{
    for (uint32_t r = 0; r < runs; r++) {
        s->val = at[r].val;
        s->index = at[r].index;
        LLF_TRY(llfi_lower(s, &at[r].tile, i, i + 1));
    }
    return LLF_OK;
}

/* What takes no arithmetic first; then what other leaves in memory wait for, in order. */
static llf_status load_all(llfi_site *s, run *at, uint32_t runs)
{
    const llfi_demands *list = &s->demands;
    uint32_t end = list->uniform;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        if (list->at[i].leaf)
            end = i + 1;
        if (in_memory(s->g, &list->at[i]) && list->at[i].offset == LLFI_OFFSET_LINEAR)
            LLF_TRY(lower_all(s, at, runs, i));
    }
    for (uint32_t r = 0; r < runs; r++)
        llfi_pointwise_axes(s, at[r].tile.first, at[r].axis);
    for (uint32_t i = list->uniform; i < end; i++)
        LLF_TRY(lower_all(s, at, runs, i));
    return LLF_OK;
}

static llf_status compute_all(llfi_site *s, run *at, uint32_t runs)
{
    const llfi_demands *list = &s->demands;
    bool *stored = llfi_arena_alloc(s->arena, list->count + 1);
    if (!stored)
        return llfi_nomem(s->emit.diag);
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        stored[list->store[i]] = list->at[list->store[i]].scope == 1;
    for (uint32_t r = 0; r < runs; r++)
        for (uint32_t i = list->uniform; i < list->count; i++) {
            LLF_TRY(lower_all(s, at + r, 1, i));
            if (stored[i])
                LLF_TRY(llfi_store(s, &at[r].tile, i));
        }
    return LLF_OK;
}

llf_status llfi_pointwise_runs(llfi_site *s, uint32_t runs, uint32_t width, LLVMValueRef first,
                               uint64_t space)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef *val = s->val;
    struct llfi_index *index = s->index;
    run *at = llfi_arena_alloc(s->arena, runs * sizeof *at);
    llf_status status = at ? LLF_OK : llfi_nomem(s->emit.diag);
    s->emit.memos = 0;
    for (uint32_t r = 0; r < runs && status == LLF_OK; r++) {
        LLVMValueRef offset = LLVMConstInt(s->emit.i64, r * space, 0);
        status = begin(s, &at[r], width, r ? LLVMBuildAdd(b, first, offset, "") : first);
    }
    if (status == LLF_OK)
        status = load_all(s, at, runs);
    if (status == LLF_OK)
        status = compute_all(s, at, runs);
    s->val = val;
    s->index = index;
    s->emit.memos = 0;
    LLF_TRY(status);
    LLVMBuildRetVoid(b);
    return s->emit.status;
}
