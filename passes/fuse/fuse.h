/* fuse.h: what the parts of fusion share: the view of a heuristic, sizes, reasons. fuse.c searches, roles.c
 * says what is recomputed, group.c keeps the groups, legal.c says what may be together, cost.c what it costs,
 * heur_*.c rank. Nothing outside passes/fuse but tests includes this. */
#ifndef LLFI_FUSE_H
#define LLFI_FUSE_H

#include "fuse/plan.h"

/* What a node is to fusion. */
typedef enum {
    LLFI_ROLE_DEAD,      /* reaches no output, or a view: in no kernel */
    LLFI_ROLE_LEAF,      /* input or literal */
    LLFI_ROLE_RECOMPUTE, /* a small value of rank 0 or read under other index maps: a member of every kernel
                            that wants it, stored by none */
    LLFI_ROLE_OWN        /* a member of exactly one kernel */
} llfi_role;

/* What a heuristic may look at. */
struct llfi_fuse_view {
    const llf_graph *g;
    const llfi_fuse_options *options;
    uint8_t *role;        /* by node: llfi_role */
    bool *output;         /* by node */
    uint32_t *users;      /* by node: edges to live nodes, through views */
    const llf_id *source; /* by node: itself, or what is behind its views */
    const uint8_t *hint;  /* by node: llf_hint_kind; of one op's primitives all are apart or none */
    uint32_t *spread;     /* by recomputed node of rank > 0: demands that one more index map of it makes */
};

/* Operand `k` behind its views. */
static inline llf_id llfi_fuse_operand(const llfi_fuse_view *v, llf_id id, uint32_t k)
{
    return v->source[llfi_args(v->g, llfi_node_at(v->g, id))[k]];
}

/* Values of an op that are in kernels: its own node, and further results that are alive. */
static inline uint32_t llfi_live_results(const llfi_fuse_view *v, llf_id id)
{
    uint32_t n = 1;
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[llfi_node_at(v->g, id)->op]); k++)
        n += v->role[id + k] != LLFI_ROLE_DEAD;
    return n;
}

/* Size of a kernel, as the caps count it. */
typedef struct {
    uint32_t nodes;
    uint32_t reads, stores; /* distinct buffers */
    uint32_t scalars;       /* host scalars in the argument block */
    uint32_t moved;         /* demands that index maps add to one a node: at most */
    uint32_t extents;       /* arguments that tell indices of extents: about, see needs.c */
    uint32_t phases;        /* reductions that wait for one another, about; 0: it has none */
    uint64_t cost;          /* estimated instructions per element */
} llfi_fuse_size;

/* The space that the values of a group lie in: kernels with reductions have values of two kinds, see plan.h.
 */
typedef struct {
    uint32_t space; /* type id */
    llfi_axes reduced;
} llfi_frame;

typedef enum {
#define REASON(id, code, text) LLFI_WHY_##id,
#include "fuse/reasons.def"
#undef REASON
    LLFI_WHYS
} llfi_fuse_why;
const char *llfi_why_code(llfi_fuse_why);
const char *llfi_why_text(llfi_fuse_why);

/* ---- plan.c: kernels of each node as CSR over memberships: kernel[first[id] .. first[id + 1]), rising */
typedef struct {
    uint32_t *first, *kernel;
} llfi_homes;
bool llfi_homes_make(const llf_graph *, const llfi_plan *, llfi_arena *, llfi_homes *); /* false: no memory */

/* ---- legal.c: may they be together? Never looks at a cost model or a heuristic. LLFI_WHY_FUSED: yes. */
bool llfi_legal_space(const llf_graph *, llf_id a, llf_id b); /* same dims */
/* Axes of the frame's space that a value of type `t` lies along: all of them, or those of the rows where it
 * is a row value; NONE: neither. */
llfi_axes llfi_legal_along(const llf_graph *, llfi_frame, llfi_type t);
/* May two frames become one? The frame. Without reductions it has the values of one's dims alone; with them
 * row values, too. */
llfi_fuse_why llfi_legal_frames(const llf_graph *, llfi_frame a, llfi_frame b, llfi_frame *both);
/* May the points of a row read what was reduced over it? They wait for all of it: where there are few rows,
 * and long ones, most of the device would. */
#define LLFI_ROWS_FEW 64
#define LLFI_ROW_LONG 16384
bool llfi_legal_after(const llf_graph *, llfi_frame);
/* May value `p` of a frame be read in it along the axes `way`? `wide`: by points, beside which those axes are
 * not all; `moved`: see llfi_legal_moved. */
llfi_fuse_why llfi_legal_read(const llf_graph *, llfi_frame, llf_id p, llfi_axes way, bool wide, bool moved);
/* Is operand `k` read at other points than the node's own: through a view, or stretched? Then it is loaded or
 * recomputed there, never taken from the same kernel's point. */
bool llfi_legal_moved(const llf_graph *, const llf_id *source, llf_id, uint32_t k);
/* Demands that this node's operands add to one each. */
uint32_t llfi_legal_moves(const llfi_fuse_view *, llf_id);
/* May a value be recomputed with so many views between it and memory? Their maps are composed for each
 * reader.
 */
#define LLFI_VIEWS_MAX 16u
bool llfi_legal_behind(uint32_t views);
/* May a value of rank > 0 be recomputed at points of its users' choice? `spread`: demands of one evaluation.
 */
#define LLFI_SPREAD_MAX 8u
bool llfi_legal_spread(const llfi_fuse_options *, const llfi_fuse_size *, uint32_t spread);
llfi_fuse_why llfi_legal_size(const llfi_fuse_options *, const llfi_fuse_size *);
/* May a group of `level`, whose earliest consumer has level `consumer`, come to stand at level `need`? */
llfi_fuse_why llfi_legal_level(uint32_t level, uint32_t need, uint32_t consumer);
/* May a rank-0 expression of this size be recomputed rather than stored? */
bool llfi_legal_recompute(const llfi_fuse_options *, const llfi_fuse_size *);
/* Estimated instructions per element of one node: a cap, so it is ir's estimate, not cost.c's. */
uint32_t llfi_legal_cost(const llf_graph *, llf_id);
/* Have they a tensor in common, or is `a` an operand of `b`: may they be in one part? */
bool llfi_legal_related(const llfi_fuse_view *, llf_id a, llf_id b);

/* Size of a kernel of several parts. */
typedef struct {
    uint32_t parts, bodies; /* bodies: distinct parts, as far as is known before lowering */
    uint64_t slots;         /* of 8 bytes: arguments of all parts */
    uint64_t nodes, cost;   /* of the distinct parts together */
    uint64_t least, most;   /* cost of one part */
} llfi_parts_size;
llfi_fuse_why llfi_legal_parts(const llfi_fuse_options *, const llfi_parts_size *);
/* Argument bytes of a kernel of several parts: for each its slots, and where its blocks begin. */
uint64_t llfi_legal_parts_bytes(uint32_t parts, uint64_t slots);

/* Argument bytes of a kernel of one part. */
uint64_t llfi_legal_bytes(const llfi_fuse_size *);

/* ---- needs.c: arguments that operands need beside their buffers, where extents are symbols */
#define LLFI_NEEDS_NONE UINT32_MAX
typedef struct {
    uint64_t hash;  /* what is between operand and user, and their dims */
    uint32_t most;  /* arguments, about */
    uint32_t stamp; /* the caller's */
} llfi_needs_kind;
typedef struct {
    const llf_graph *g;
    const llf_id *source;
    const llf_allocator *mem;
    bool none;        /* no symbols, no arguments */
    uint64_t *view;   /* by view: hash of what lies between it and its source; else 0 */
    uint32_t *behind; /* by view: what the views from it to its source add */
    LLFI_VEC(llfi_needs_kind) at;
    llfi_map index; /* at, by hash */
} llfi_needs;
bool llfi_needs_init(llfi_needs *, const llf_graph *, const llf_id *source, llfi_arena *,
                     const llf_allocator *); /* false: out of memory */
void llfi_needs_free(llfi_needs *);
/* Hash of rank and dims, behind `h`. */
uint64_t llfi_needs_dims(const llf_graph *, uint64_t h, llf_id);
/* Arguments that operand `k` may need. */
uint32_t llfi_needs_of(const llfi_needs *, llf_id user, uint32_t k);
/* The class of that operand in `at`, or NONE: it needs none. `within`: in what the user is evaluated, if not
 * at its own points; 0: at its own. false: out of memory. */
bool llfi_needs_class(llfi_needs *, llf_id user, uint32_t k, uint64_t within, uint32_t *out);

/* ---- cost.c, for heuristics and logs: bytes per element that having `b` beside `a` saves */
int64_t llfi_cost_saved(const llfi_fuse_view *, llf_id a, llf_id b);

/* ---- hint.c: hints by node; NULL: out of memory. The heuristic's score, unless a hint decides. */
uint8_t *llfi_hints_make(const llf_graph *, llfi_arena *);
int64_t llfi_hint_score(const llfi_fuse_view *, llf_id a, llf_id b, bool *hinted);

/* ---- heur_<name>.c */
#define HEURISTIC(name, meaning) int64_t llfi_heur_##name(const llfi_fuse_view *, llf_id a, llf_id b);
#include "fuse/heuristics.def"
#undef HEURISTIC

/* ---- group.c: the groups of a search */
#define LLFI_GROUP_NONE UINT32_MAX

typedef struct {
    llf_id id;
    uint32_t uses;  /* edges from the group to a stored value; a recomputed rank-0 path counts none */
    uint32_t owner; /* group; LLFI_GROUP_NONE: no longer an entry */
    uint32_t next;
    bool moved;    /* read at other points: its maker may not join, or only as below */
    bool wide;     /* and by points that lie along more axes than it */
    llfi_axes way; /* axes of the group's space that it is read along; kept where there are reductions */
} llfi_fuse_entry;

/* Groups have levels; every edge between two groups goes from a lower to a strictly higher level, so that
 * whatever is joined under that rule, the groups form no cycle. A level may rise while it stays below that of
 * every consumer. */
typedef struct {
    uint32_t parent; /* union-find by path halving */
    uint32_t level;
    llfi_frame frame;
    llfi_fuse_size size;   /* stores: members that would have to be stored if nothing joined any more */
    uint32_t member, last; /* list through llfi_groups.next */
    uint32_t entry, entry_last, entries; /* what it reads or recomputes */
    llf_id lowest;
    uint32_t consumer, consumer_level,
        other_level;                /* earliest consumer group; earliest of all others: lower bounds */
    uint32_t refused, refused_size; /* last merge refused for its buffers: partner and total size then */
} llfi_group;

/* What a node would bring into a group. */
typedef struct {
    llf_id id;
    uint32_t uses;
    bool moved, wide;
    llfi_axes way; /* of the node's own space */
} llfi_want;

typedef struct {
    llf_context *cx;
    const llfi_fuse_view *view;
    llfi_group *group; /* [own nodes] */
    uint32_t groups;
    uint32_t *of;    /* by own node: a group, see llfi_group_find */
    uint32_t *next;  /* by own node: next member */
    uint32_t *rest;  /* by own node: user edges from outside its group, or not yet placed */
    uint32_t *stamp; /* by node: last node that wanted it */
    LLFI_VEC(llfi_fuse_entry) entries;
    llfi_map index; /* (group, id) -> entry */
    bool rows;      /* there are reductions */
    llfi_ways ways; /* where there are */
    uint32_t
        *phase; /* by own node: reductions before it in its group, itself too, as they stood when it joined */
    LLFI_VEC(llfi_want) want; /* of the node being placed */
    LLFI_VEC(llf_id) work;
    llfi_needs extents;     /* class c is entry and want nodes.count + c */
    uint64_t spent, earned; /* budget of failed merges: linear in the nodes placed */
} llfi_groups;

llf_status llfi_groups_init(llfi_groups *, llf_context *, const llfi_fuse_view *, llfi_arena *);
void llfi_groups_free(llfi_groups *);
uint32_t llfi_group_find(const llfi_groups *, llf_id own_node);
/* Fills want for node `v`: its stored producers, inputs and recomputed values. */
llf_status llfi_group_wants(llfi_groups *, llf_id v);
/* Lets the same node be asked again, after roles of what it wants have changed. */
void llfi_group_forget(llfi_groups *);
/* Would `v` (whose wants are filled) fit into `group`? The size and level it would have then. */
llfi_fuse_why llfi_group_may_join(const llfi_groups *, uint32_t group, llf_id v, llfi_fuse_size *,
                                  uint32_t *level);
llf_status llfi_group_join(llfi_groups *, uint32_t group, llf_id v, const llfi_fuse_size *, uint32_t level);
llf_status llfi_group_open(llfi_groups *, llf_id v, uint32_t *group);
/* Merges two groups where legal; `merged` is the survivor. */
llf_status llfi_group_merge(llfi_groups *, uint32_t a, uint32_t b, llfi_fuse_why *, uint32_t *merged);

/* ---- roles.c: arrays in the arena. First users, sources, hints and roles without RECOMPUTE; then, once the
 * groups stand, which of the OWN ones are recomputed. */
llf_status llfi_roles_begin(llf_context *, llfi_arena *scratch, llfi_fuse_view *);
llf_status llfi_roles_recompute(llf_context *, llfi_arena *scratch, llfi_fuse_view *, llfi_groups *);

/* ---- parts.c: the parts of kernels; memory of `scratch`. NULL: out of memory. */
typedef struct llfi_parts llfi_parts;
llfi_parts *llfi_parts_begin(const llf_graph *, const llf_id *source, llfi_arena *scratch);
/* Fills parts, part and, where there are several, space from members and stores; arrays in `arena`. */
llf_status llfi_parts_find(llfi_parts *, llfi_arena *arena, llfi_kernel *);

/* ---- verify_rows.c: what is wrong with a kernel with reductions, whose members have `inside` == `number`:
 * text behind the name of node *at; NULL: nothing. `state`: room by node. */
const char *llfi_rows_fault(const llfi_ways *, const llfi_kernel *, const uint32_t *inside, uint32_t number,
                            uint8_t *state, llf_id *at);

/* ---- horizontal.c: kernels of one level (by kernel, ascending) that are independent become one launch.
 * `names`: for the log, NULL: none. */
llf_status llfi_fuse_horizontal(llf_context *, const llfi_fuse_view *, const llfi_needs *,
                                const llfi_value_name *names, const uint32_t *level, llfi_arena *scratch,
                                llfi_plan *);

#endif
