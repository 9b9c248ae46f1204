/* plan.h: which nodes share a kernel: an object beside the graph, never an edit of it. legal.c says what may
 * fuse, cost.c what it costs (integers only), heur_*.c only rank; fuse.c searches. */
#ifndef LLFI_PLAN_H
#define LLFI_PLAN_H

#include "ir/rows.h"

/* One launch. It has one part or several: iteration spaces side by side, none of which reads what another
 * stores (horizontal fusion). Which part a node is in follows from the members alone (parts.c):
 * - each stored value is in one part; stored values of different dims are in different parts;
 * - two of the same dims are in one part when what they are computed from inside the kernel has a member of
 *   rank > 0 in common, or reads the same tensor of rank > 0 (dims of rank 0: a member or tensor of rank 0),
 * or when a third is in one part with both;
 * - a part's members are all that its stored values are computed from inside the kernel. A recomputed value
 *   may be a member of several parts;
 * - parts stand in the order of their lowest stored value.
 *
 * A kernel with reductions has one part, and two kinds of values. Its space is that of the reductions'
 * operands, all of which it reduces over the same axes; a row is a point of the other axes. A point value has
 * the dims of the space, and is computed at each of its points; a row value has the dims of the other axes,
 * with constant 1s anywhere among them, and is computed once a row: a reduction, or what is made of such.
 * Whoever reads a row value there is in its own row. Where a reduction reads what depends on another, rows
 * are gone through again. */
typedef struct llfi_kernel llfi_kernel;
struct llfi_kernel {
    llf_id *member, *store; /* topological; values this kernel writes */
    uint32_t members, stores;
    uint32_t parts;    /* at least 1 */
    uint32_t space;    /* type id whose dims are the (first) iteration space */
    llfi_axes reduced; /* axes of the space that reductions go over; 0: the kernel has none */
    llfi_kernel
        *part; /* [parts], each a kernel of one part; NULL when there is just one: the kernel itself */
};
/* Is it computed in kernels? A further result is where its op is, if some output needs it. Composites are not
 * there any more, views are computed where they are read. */
static inline bool llfi_kernel_takes(llfi_class c)
{
    return c == LLFI_CLASS_EW || c == LLFI_CLASS_INDEX || c == LLFI_CLASS_REDUCE || c == LLFI_CLASS_RESULT;
}
static inline const llfi_kernel *llfi_kernel_part(const llfi_kernel *k, uint32_t part)
{
    return k->part ? &k->part[part] : k;
}

typedef struct {
    const llf_allocator *mem;
    llfi_arena arena; /* owns the arrays */
    uint64_t graph_hash;
    llfi_kernel *kernel; /* in launch order, topological */
    uint32_t kernels;
    /* The caps that it was made under, checked by llfi_plan_verify; 0: the largest that params.def allows. */
    uint32_t max_nodes, max_buffers, max_params; /* nodes, buffers: of a part */
    uint32_t load_hint, store_hint;              /* params.def: asked of every kernel's schedule */
} llfi_plan;
void llfi_plan_init(llfi_plan *, const llf_allocator *);
void llfi_plan_destroy(llfi_plan *);
/* Finds the parts of every kernel anew, and of those with reductions the space, from members and stores;
 * whoever makes a plan calls this last. Linear in what the parts hold. */
llf_status llfi_plan_parts(const llf_graph *, llfi_plan *);
/* Every node in a kernel, stores as the rule says, order topological, limits kept; E_PLAN with the reason. */
llf_status llfi_plan_verify(const llf_graph *, const llfi_plan *);
/* Graph text with !k labels. */
llf_status llfi_plan_print(const llf_graph *, const llfi_plan *, llfi_str *);

/* ---- tunables: params.def rows */
typedef struct {
#define PARAM(id, name, def, min, max, meaning) int64_t id;
#include "params.def"
#undef PARAM
} llfi_params;
typedef struct {
    const char *name;
    int64_t def, min, max;
    const char *meaning;
    size_t offset;
} llfi_param_info;
extern const llfi_param_info llfi_param_table[];
extern const size_t llfi_param_count;
void llfi_params_default(llfi_params *);
int64_t llfi_param_value(const llfi_params *, const llfi_param_info *);
/* "name=value,name=value"; E_ARG names the bad part and the legal names or range. */
llf_status llfi_params_set(llfi_diag *, llfi_params *, const char *text);

/* "  name=DEFAULT  meaning (from MIN to MAX)", a row a line, for --help. */
void llfi_params_help(llfi_str *);

/* ---- heuristics: heuristics.def rows; a new one is one file and one row. */
typedef struct llfi_fuse_view llfi_fuse_view; /* fuse.h: what a heuristic may look at */
typedef struct {
    const char *name, *meaning;
    /* Rank of putting node `b` into the group of node `a`; below 0: do not. Ties go to the lower id. */
    int64_t (*score)(const llfi_fuse_view *, llf_id a, llf_id b);
} llfi_heuristic;
extern const llfi_heuristic llfi_heuristics[];
extern const size_t llfi_heuristics_count;
const llfi_heuristic *llfi_heuristic_find(const char *name); /* NULL: unknown */

typedef struct {
    const llfi_heuristic *heuristic; /* NULL: greedy */
    llfi_params params;
    uint32_t param_bytes; /* kernel parameter limit of the target */
} llfi_fuse_options;
void llfi_fuse_options_default(llfi_fuse_options *);

/* ---- plans as files (docs/plans.md) */
/* The text of llfi_plan_print below "; plan graph=HASH llfuse=VERSION target=NAME name=value ...": what a
 * reader checks, and the parameters that are not at their defaults. `target` NULL: none is named. */
llf_status llfi_plan_write(const llf_graph *, const llfi_plan *, const char *target, const llfi_params *,
                           llfi_str *);
/* plan_read.c: `text` is a parsed plan. Parameters of its first line; E_PLAN when there is something else in
 * it or it is for another text. */
llf_status llfi_plan_line_read(const llf_graph *text, llfi_params *);
/* The plan that the labels say, over the nodes of `text`, held to the options' limits and verified. */
llf_status llfi_plan_read(const llf_graph *text, const llfi_fuse_options *, llfi_plan *);
/* The same kernels over the nodes of `g`, which must be the same graph; else E_PLAN with the first
 * difference.
 */
llf_status llfi_plan_move(const llf_graph *text, const llfi_plan *, const llf_graph *g, llfi_plan *moved);
/* plan_diff.c: what differs between two plans for the same graph, for people; `*equal`: nothing. E_PLAN: they
 * are for different graphs. */
typedef struct {
    const char *name; /* as messages call it */
    const llf_graph *g;
    const llfi_plan *plan;
    const int64_t *symbol; /* values, for bytes; NULL: none are shown */
} llfi_plan_side;
llf_status llfi_plan_diff(const llfi_plan_side *a, const llfi_plan_side *b, llfi_str *, bool *equal);

/* ---- accounting (cost.c). Bytes are for given symbol values; -1 on overflow. */
/* Distinct buffers read by a kernel (ids of INPUT nodes that are not scalars, or of values stored by other
 * kernels). */
llf_status llfi_kernel_reads(const llf_graph *, const llfi_plan *, uint32_t kernel, llfi_arena *, llf_id **id,
                             uint32_t *count);
llf_status llfi_plan_bytes(const llf_graph *, const llfi_plan *, const int64_t *symbol, llfi_arena *,
                           int64_t *bytes, uint32_t *transfers);
/* Text for people: each kernel, nodes, bytes, and why its neighbours were not taken. */
llf_status llfi_plan_explain(llf_context *, const llf_graph *, const llfi_plan *, const llfi_fuse_options *,
                             llfi_str *);

#endif
