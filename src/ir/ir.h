/* ir.h: the graph. Flat SSA: nodes are ids into one growable array, in topological order (operands before
 * users, always). Types, attributes, names and operands live in pools beside it. Nothing here knows of plans
 * or kernels. */
#ifndef LLFI_IR_H
#define LLFI_IR_H

#include "ir/dims.h"

/* ---- tables */
typedef enum {
    LLFI_CLASS_LEAF,
    LLFI_CLASS_EW,
    LLFI_CLASS_COMPOSITE,
    LLFI_CLASS_VIEW,
    LLFI_CLASS_INDEX,
    LLFI_CLASS_REDUCE,
    LLFI_CLASS_RESULT
} llfi_class;
typedef enum { LLFI_SET_FLOAT, LLFI_SET_NUM, LLFI_SET_ANY } llfi_set;
typedef enum { LLFI_KIND_FLOAT, LLFI_KIND_INT, LLFI_KIND_BOOL } llfi_kind;
typedef enum {
#define ATTR(id, ...) LLFI_ATTR_##id,
#include "llfuse/attrs.def"
#undef ATTR
    LLFI_ATTRS,
    LLFI_ATTR_NONE = LLFI_ATTRS
} llfi_attr_id;
typedef enum {
    LLFI_ATTR_KIND_NONE,
    LLFI_ATTR_KIND_DTYPE,
    LLFI_ATTR_KIND_WORD,
    LLFI_ATTR_KIND_INT,
    LLFI_ATTR_KIND_INTS, /* lists from here on */
    LLFI_ATTR_KIND_DIMS,
    LLFI_ATTR_KIND_RANGES,
    LLFI_ATTR_KIND_PADS,
    LLFI_ATTR_KIND_IOTA,
    LLFI_ATTR_KIND_COUNT,
    LLFI_ATTR_KIND_REDUCE,
    LLFI_ATTR_KIND_SETTINGS
} llfi_attr_kind;
#define LLFI_INLINE_ARGS 3 /* operands that stand in the node itself; no EW op has more */
/* An op's arity: one operand or more, all of the signature's first letter. */
#define LLFI_VARIADIC UINT8_MAX
/* An op's arity: so many (at most 6), and up to so many (at most 14). */
#define LLFI_FROM_TO(least, most) (0x80 | (least) << 4 | (most))
typedef struct {
    const char *name;
    uint8_t arity;
    llfi_class cls;
    const char *sig;
    llfi_set set;
    uint32_t flags;
    llfi_attr_id attr;
    const char *meaning;
} llfi_op_info;
typedef struct {
    const char *name;
    uint8_t bytes;
    llfi_kind kind;
} llfi_dtype_info;
extern const llfi_op_info llfi_ops[LLF_OPS];          /* tables.c */
extern const llfi_dtype_info llfi_dtypes[LLF_DTYPES]; /* tables.c */
bool llfi_op_find(const char *text, size_t bytes, llf_op *);
bool llfi_dtype_find(const char *text, size_t bytes, llf_dtype *);
/* Index of a WORD attribute's word, or false; the word of an index. */
bool llfi_attr_word(llfi_attr_id, const char *text, size_t bytes, uint64_t *index);
const char *llfi_attr_word_text(llfi_attr_id, uint64_t index, size_t *bytes);
const char *llfi_attr_name(llfi_attr_id); /* "approximate"; "" for NONE; IOTA: its three, with blanks */
llfi_attr_kind llfi_attr_kind_of(llfi_attr_id);
const char *llfi_attr_legal(llfi_attr_id); /* its words, space-separated */
bool llfi_set_has(llfi_set, llf_dtype);
static inline bool llfi_dtype_is_float(llf_dtype dtype)
{
    return llfi_dtypes[dtype].kind == LLFI_KIND_FLOAT;
}
static inline bool llfi_dtype_is_float16(llf_dtype dtype) /* 16 bits of either format */
{
    return dtype == LLF_F16 || dtype == LLF_BF16;
}
bool llfi_name_valid(const char *text,
                     size_t bytes); /* letters, digits, '_', '.', '-'; 1 to LLFI_MAX_NAME bytes */

/* ---- limits (docs/ir.md) */
#define LLFI_RANK LLF_MAX_RANK
#define LLFI_MAX_NODES (1u << 24)
#define LLFI_MAX_NAME 255u   /* bytes of a name */
#define LLFI_MAX_NESTING 64u /* of a dim expression */
#define LLFI_MAX_FILE ((size_t)1 << 30)

/* ---- types: interned per graph; equal ids, equal types */
typedef struct {
    llf_dtype dtype;
    uint32_t rank;
    const llfi_dim *dim; /* [rank]; valid until the graph's next type is made */
} llfi_type;

typedef struct {
    uint16_t op;                  /* llf_op */
    bool scalar;                  /* INPUT: a host value in the argument block */
    uint32_t arity;               /* operands: llfi_args */
    llf_id arg[LLFI_INLINE_ARGS]; /* the operands; more: [0] is where they begin in graph->operands */
    uint32_t type;                /* interned */
    uint32_t name;   /* into graph->names; 0: none. Purely numeric names of the text are not kept. */
    uint32_t origin; /* index into graph->origin: the op the user wrote; leaves: UINT32_MAX */
    uint32_t line, col;
    uint8_t hint;  /* llf_hint_kind: what the user wants of fusion; leaves and views have none */
    uint64_t attr; /* value of the op's one attribute (a list: its offset in graph->lists); CONST: the value's
                      bits in its dtype, zero-extended */
} llfi_node;

/* "k2" behind a node of a text: it says that the node belongs to kernel 2. Its place, for messages. */
typedef struct {
    llf_id node;
    uint32_t kernel;
    uint32_t line, col;
} llfi_label;

/* Properties of a graph, which passes need, make and break (passes/passes.def). */
#define LLFI_P_TYPED 1u     /* every node has a type (true from building on) */
#define LLFI_P_PRIMITIVE 2u /* no composites left */
#define LLFI_P_OUTPUTS 4u   /* every output is an EW node of its own (no leaf, no view, none twice) */
#define LLFI_P_PLANNED 8u   /* the plan beside the graph covers it */

/* ---- lists: interned per graph, so that equal offsets are equal lists (of one kind) */
typedef struct {
    uint32_t count;    /* words: axes, dims, or LLFI_RANGE_WORDS per range */
    const int64_t *at; /* valid until the graph's next list is made */
} llfi_list;

/* One axis of `slice`, resolved: elements start, start + step, ... In normal form: no element: 0, 0, 1; one
 * element: step 1. `stop` is for printing, and says nothing more. */
#define LLFI_RANGE_WORDS 4u
typedef struct {
    llfi_dim start;  /* of the first element; where it may be a symbol's, evaluated like any dim */
    llfi_dim length; /* the result's extent */
    int64_t step;    /* not 0 */
    int64_t stop;    /* a dim; LLFI_STOP_NONE; LLFI_STOP_WHOLE */
} llfi_range;
/* One axis of `pad`: two words, low and high: a dim (>= 0), or a negative number of elements cut. */
#define LLFI_PAD_WORDS 2u
/* `iota`: these words, then the dims. */
enum { LLFI_IOTA_DTYPE, LLFI_IOTA_AXIS, LLFI_IOTA_DIMS };
/* `count`: the dtype, then the dims. */
enum { LLFI_COUNT_DTYPE, LLFI_COUNT_DIMS };
/* A reduction: these words, then the axes, ascending. Read it with llfi_reduce_of. */
enum { LLFI_REDUCE_KEEPDIMS, LLFI_REDUCE_OUT, LLFI_REDUCE_AXES };
/* SETTINGS: these words, then the axes, ascending. Read it with llfi_settings_of. Floats are bits of f64. */
typedef enum {
    LLFI_SETTING_KEEPDIMS,
    LLFI_SETTING_OUT,
    LLFI_SETTING_AXIS,
    LLFI_SETTING_CORRECTION,
    LLFI_SETTING_EPS,
    LLFI_SETTING_MOMENTUM,
    LLFI_SETTING_REDUCTION,
    LLFI_SETTING_AXES
} llfi_setting;
#define LLFI_REDUCE_NO_OUT (-1) /* ops that do not take `out` */
#define LLFI_STOP_NONE (-1)     /* to the end; with a negative step to the beginning */
#define LLFI_STOP_WHOLE (-2)    /* and from the end: negative step, the start is not written either */

/* What stands for a value in the printed text: a number, a name, or a name with a suffix. */
typedef struct {
    uint32_t name;   /* 0: `number` alone */
    uint32_t number; /* suffix when not 0 */
} llfi_value_name;

/* ---- guards: what the shapes need at run time and symbols cannot prove (E_GUARD). Kept when the node that
 * asked goes. */
typedef struct {
    llfi_dim a, b;
    bool at_most; /* a <= b; else a == b */
    uint8_t axis; /* of the result (slice, squeeze: of the operand); LLFI_RANK: the number of elements */
    uint16_t op;
    llf_id node; /* LLF_NONE: gone */
    uint32_t line, col;
    const char *as;        /* NULL, or what the user wrote for that op: llf_graph.as */
    bool named;            /* llfi_guards_name has filled `value` */
    llfi_value_name value; /* of the node in the graph as the caller knows it */
} llfi_guard;

/* Inputs that lie in memory by strides of their own, in a copy of a graph from which kernels for such inputs
 * are compiled (runtime/variant.c), and in which no index is taken to fit 31 bits. A stride is pos - neg, in
 * elements; 0 for axes whose extent is 1. */
typedef struct {
    llfi_dim pos, neg;
} llfi_stride;
typedef struct {
    uint32_t inputs;
    const llf_id *node;
    const llfi_stride (*stride)[LLFI_RANK]; /* by input, then axis */
} llfi_strides;

struct llf_graph {
    llf_context *cx;
    llfi_dims *dims;
    uint32_t name; /* into names */
    char *file;    /* of the text, owned; NULL when built by calls */
    LLFI_VEC(llfi_node) nodes;
    LLFI_VEC(llf_id) inputs;   /* INPUT nodes in signature order */
    LLFI_VEC(llf_id) outputs;  /* in order; a value may stand twice */
    LLFI_VEC(uint32_t) asked;  /* of inputs: llfi_input_asked; empty: their types */
    LLFI_VEC(uint16_t) origin; /* llf_op that the user wrote, by node.origin */
    LLFI_VEC(char) names;      /* NUL-terminated, deduplicated; offset 0 is "" */
    LLFI_VEC(uint32_t) types;  /* dtype, rank, dims... */
    LLFI_VEC(int64_t) lists;   /* count, words... */
    LLFI_VEC(llf_id) operands; /* of nodes that have more than LLFI_INLINE_ARGS, in the nodes' order */
    LLFI_VEC(llfi_guard) guards;
    llfi_map type_map, name_map, list_map, guard_map;
    LLFI_VEC(llfi_label) labels; /* `!k0` labels found in text, by node, for plan import */
    uint32_t plan_line,
        plan_at; /* "plan graph=..." comment above the graph (names offset; 0: none), its line */
    LLFI_VEC(uint32_t)
    directives; /* "; set ..." and "; data ..." lines (names offsets), kept and printed first */
    const llfi_strides *strides; /* of a copy for variants; NULL: every input lies row-major without gaps */
    uint32_t props;              /* LLFI_P_* */
    const char *as;              /* while split, stack and roll are made: the word for messages; else NULL */
    bool guards_named;           /* values may have other numbers since */
    llf_status poisoned;         /* first builder failure; returned by llf_output and llf_compile */
};

/* graph.c */
llf_graph *llfi_graph_clone(const llf_graph *, llf_context *); /* same ids; NULL: out of memory */
static inline const llfi_node *llfi_node_at(const llf_graph *g, llf_id id)
{
    return &g->nodes.at[id];
}
/* The operands of a node (of this graph, or an old one of a rewrite); valid until the next node is made. */
static inline const llf_id *llfi_args(const llf_graph *g, const llfi_node *n)
{
    return n->arity <= LLFI_INLINE_ARGS ? n->arg : g->operands.at + n->arg[0];
}
/* How few and how many operands an op has. */
static inline uint32_t llfi_op_least(const llfi_op_info *o)
{
    return o->arity == LLFI_VARIADIC ? 1 : o->arity & 0x80 ? o->arity >> 4 & 7 : o->arity;
}
static inline uint32_t llfi_op_most(const llfi_op_info *o)
{
    return o->arity == LLFI_VARIADIC ? UINT32_MAX : o->arity & 0x80 ? o->arity & 15 : o->arity;
}
static inline bool llfi_op_takes(const llfi_op_info *o, uint32_t count)
{
    return count >= llfi_op_least(o) && count <= llfi_op_most(o);
}
/* The signature's letter of an operand. */
static inline char llfi_op_letter(const llfi_op_info *o, uint32_t operand)
{
    return o->sig[o->arity == LLFI_VARIADIC ? 0 : operand];
}
/* Values of an op: its own node, and RESULT nodes, always all of them, right behind it. */
#define LLFI_RESULTS 3u /* no op has more */
static inline uint32_t llfi_op_results(const llfi_op_info *o)
{
    return (uint32_t)strlen(strchr(o->sig, ':') + 1);
}
/* The node that computes a value: of a RESULT the one before it, else itself. */
static inline llf_id llfi_maker(const llf_graph *g, llf_id id)
{
    return g->nodes.at[id].op == LLF_OP_RESULT ? g->nodes.at[id].arg[0] : id;
}
static inline bool llfi_node_is_leaf(const llfi_node *n) /* INPUT, CONST, IOTA or COUNT */
{
    return llfi_ops[n->op].cls == LLFI_CLASS_LEAF;
}
static inline bool llfi_node_is_scalar(const llfi_node *n) /* a host value in the argument block */
{
    return n->op == LLF_OP_INPUT && n->scalar;
}
static inline bool
llfi_node_is_buffered(const llfi_node *n) /* in memory, where a kernel reads it and another made it */
{
    return n->op == LLF_OP_INPUT ? !n->scalar : !llfi_node_is_leaf(n);
}
static inline bool llfi_node_is_free(const llfi_node *n) /* made wherever it is wanted, from nothing */
{
    return llfi_node_is_leaf(n) && n->op != LLF_OP_INPUT;
}
const char *llfi_name(const llf_graph *, uint32_t offset);
uint32_t llfi_name_add(llf_graph *, const char *text, size_t bytes); /* UINT32_MAX: out of memory */
llfi_type llfi_type_at(const llf_graph *, uint32_t type);
static inline llfi_type llfi_type_of(const llf_graph *g, llf_id id)
{
    return llfi_type_at(g, g->nodes.at[id].type);
}
static inline llf_dtype llfi_dtype_of(const llf_graph *g, llf_id id)
{
    return llfi_type_of(g, id).dtype;
}
static inline bool llfi_type_same_dims(llfi_type a, llfi_type b)
{
    return a.rank == b.rank && (a.rank == 0 || memcmp(a.dim, b.dim, a.rank * sizeof *a.dim) == 0);
}
/* The type that the caller knows input `i` by, whatever symbols a pass has replaced since: it binds symbols,
 * and guards speak of its extents. */
static inline llfi_type llfi_input_asked(const llf_graph *g, uint32_t i)
{
    return g->asked.count ? llfi_type_at(g, g->asked.at[i]) : llfi_type_of(g, g->inputs.at[i]);
}
uint32_t llfi_type_make(llf_graph *, llf_dtype, uint32_t rank,
                        const llfi_dim *); /* UINT32_MAX: out of memory */
/* Offset of a list, which is what node.attr holds; UINT32_MAX: out of memory. */
uint32_t llfi_list_make(llf_graph *, uint32_t count, const int64_t *word);
llfi_list llfi_list_at(const llf_graph *, uint64_t offset);
/* Is there a list at `offset`, and do its dims exist? */
bool llfi_list_ok(const llf_graph *, llfi_attr_kind, uint64_t offset);
/* Is that word of a list of that kind a dim? */
bool llfi_list_word_is_dim(llfi_attr_kind, uint32_t word, int64_t value);
/* Range `axis` of a list of kind RANGES. */
llfi_range llfi_range_at(const llf_graph *, uint64_t offset, uint32_t axis);
/* Number of elements as a dim expression; LLFI_DIM_NONE on overflow or out of memory. */
llfi_dim llfi_numel(llf_graph *, uint32_t type);
/* Number of elements for given symbol values, times `unit` (1, or the bytes of one). LLF_E_GUARD: an extent
 * has no value; LLF_E_LIMIT: the product is over 2^63-1. Without elements it is 0 whatever the other extents
 * are. No diagnostic. */
llf_status llfi_type_size(const llf_graph *, llfi_type, const int64_t *symbol, int64_t unit, int64_t *size);
llfi_place llfi_place_of(const llf_graph *, llf_id);
/* Gives a value's node a hint beside what it has: apart is stronger. Ignored where nothing computes. */
void llfi_node_hint(llfi_node *, llf_hint_kind);
void llfi_type_print(const llf_graph *, uint32_t type, llfi_str *); /* "f32[N, 4]" */
/* Hash of structure (ops, types, attributes, operands, outputs), not of value names, places, or where
 * literals stand among the nodes: a printed and parsed graph has the same hash. 0: out of memory. */
uint64_t llfi_graph_hash(const llf_graph *);
/* The node whose elements a value has: the first behind it that is no VIEW; itself when it is none. */
llf_id llfi_source(const llf_graph *, llf_id);
llf_id *llfi_sources_make(const llf_graph *, llfi_arena *); /* of every node; NULL: out of memory */

/* infer.c: the result type of an op from its operands' types; the message names the op, the axis, the sizes.
 * Elementwise ops broadcast as numpy does. Of two extents that only run time can compare, a constant is the
 * result's, else the first operand's, and a guard is recorded. */
typedef struct {
    llf_dtype dtype;
    uint32_t rank;
    llfi_dim dim[LLFI_RANK];
} llfi_shape;
llf_status llfi_infer(llf_graph *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr, llfi_place,
                      uint32_t *type);
/* The rule alone, which makes no type. Guards go to `guards`, NULL: nowhere. */
llf_status llfi_infer_rule(const llf_graph *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr,
                           llfi_place, llf_graph *guards, llfi_shape *);
/* What messages call an op: as the user wrote it. */
static inline const char *llfi_op_said(const llf_graph *g, llf_op op)
{
    return g->as ? g->as : llfi_ops[op].name;
}
/* May a tensor of that type have that many elements or more along `axis` (LLFI_RANK: nothing more is asked)?
 * Not where what its extents are at least, but for 0, multiplies with `unit` to more than 2^63-1; *worst: the
 * axis to blame. */
bool llfi_type_fits(const llf_graph *, uint32_t type, uint32_t axis, int64_t extent, int64_t unit,
                    uint32_t *worst);
/* op_cost.c: estimated instructions of one evaluation in a dtype; functions are dear. */
uint32_t llfi_op_cost(llf_op, llf_dtype);
/* infer_view.c: the same for a VIEW; dtypes are done. */
llf_status llfi_infer_view(const llf_graph *, llf_op, llf_id x, uint64_t attr, llfi_place, llf_graph *guards,
                           llfi_shape *);
/* infer_index.c: of an INDEX op, iota or count; for the latter the dtype too. */
llf_status llfi_infer_index(const llf_graph *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr,
                            llfi_place, llf_graph *guards, llfi_shape *);
/* infer_reduce.c: of a REDUCE op; `dtype` is set but for sum and prod. */
llf_status llfi_infer_reduce(const llf_graph *, llf_op, llf_id x, uint64_t attr, llfi_place,
                             llf_graph *guards, llfi_shape *);
/* What a REDUCE node does. The elements of its axes are numbered row-major. */
typedef struct {
    llf_id x;
    uint32_t axes; /* bit k: axis k of the operand goes */
    bool keepdims; /* or stays, with extent 1 */
    llf_dtype in;  /* the operand's */
    llf_dtype acc; /* elements are cast to this first, and partial results have it; argmax, argmin: values */
    llf_dtype out; /* the result's: cast to it once, last */
} llfi_reduce;
llfi_reduce llfi_reduce_of(const llf_graph *, llf_id);
llf_dtype llfi_reduce_default(llf_dtype in); /* `out` of sum and prod where it is not given */
/* infer_composite.c: of a COMPOSITE with an attribute of kind SETTINGS, and of its further results. */
llf_status llfi_infer_composite(const llf_graph *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr,
                                llfi_place, llf_graph *guards, llfi_shape *);
void llfi_infer_composite_result(const llf_graph *, llf_id of, uint64_t which, llfi_shape *);
/* infer.c: numpy's broadcasting of all operands. */
llf_status llfi_infer_broadcast(const llf_graph *, llf_op, uint32_t count, const llf_id *arg, llfi_place,
                                llf_graph *guards, llfi_shape *);
/* Text of a type or dim for a message; long ones are cut. */
typedef struct {
    char text[160];
} llfi_shown;
llfi_shown llfi_show_type(const llf_graph *, uint32_t type);
llfi_shown llfi_show_dim(const llf_graph *, llfi_dim);
/* Do the operands' extents, aligned at their ends, stand as they are in the result (rank 0 does)? */
bool llfi_same_space(const llf_graph *, llf_id, uint32_t operand);

/* guard.c: a guard that is there already is not added again. The guard's node is the one made next. */
llf_status llfi_guard_add(llf_graph *, const llfi_guard *);
/* Guards keep the names that their values have now, before passes give them other numbers. Once a graph. */
llf_status llfi_guards_name(llf_graph *);
/* E_GUARD with op, axis and both sizes for the first guard that these values of the symbols break. */
llf_status llfi_guards_check(const llf_graph *, llfi_diag *, const int64_t *symbol);

/* bind.c: symbols from the extents that inputs are bound to, -1 where they say nothing. `shape` gives those
 * of an input of rank > 0; NULL: any, and it is only seen which symbols get a value. */
typedef const int64_t *llfi_shape_fn(const void *user, uint32_t input);
void llfi_bind_symbols(const llf_graph *, llfi_shape_fn *shape, const void *user, int64_t *symbol);
/* E_GRAPH, by its name, for a symbol that the graph needs and no input's extents can tell. */
llf_status llfi_bind_check(const llf_graph *);

/* view.c: the attribute of a view as it is asked for, made into its list: axes counted from the front (sorted
 * but for permute), -1 of reshape and ranges resolved. */
typedef struct {
    llfi_dim dim; /* LLFI_DIM_NONE with back 0: not given */
    int64_t back; /* > 0: that many before the end */
} llfi_bound;
typedef struct {
    llfi_bound start, stop;
    int64_t step;
} llfi_range_ask;
typedef struct {
    uint32_t count;
    int64_t along;                 /* INT, IOTA: the axis */
    llf_dtype dtype;               /* IOTA, COUNT; REDUCE where has_dtype */
    bool all, keepdims, has_dtype; /* REDUCE; all: no axes are given */
    uint32_t reduction;            /* SETTINGS: llf_reduction */
    int64_t correction;            /* SETTINGS */
    uint64_t eps, momentum;        /* SETTINGS: bits of f64 */
    union {
        int64_t axis[LLFI_RANK];
        llfi_dim dim[LLFI_RANK]; /* LLFI_DIM_NONE: -1 */
        llfi_range_ask range[LLFI_RANK];
    };
} llfi_ask;
llf_status llfi_view_attr(llf_graph *, llf_op, llf_id x, const llfi_ask *, llfi_place, uint64_t *attr);
/* index.c: the same for an INDEX op, iota or count. */
llf_status llfi_index_attr(llf_graph *, llf_op, uint32_t count, const llf_id *arg, const llfi_ask *,
                           llfi_place, uint64_t *attr);
/* reduce.c: the same for a REDUCE op. */
llf_status llfi_reduce_attr(llf_graph *, llf_op, llf_id x, const llfi_ask *, llfi_place, uint64_t *attr);
/* The axes asked for of an operand of that type, as a set. */
llf_status llfi_reduce_axes(llf_graph *, llf_op, uint32_t type, const llfi_ask *, llfi_place, uint32_t *axes);
/* settings.c: the same for a composite with SETTINGS; what they are when not asked for; and the list read. */
typedef struct {
    uint32_t axes; /* bit k: axis k of the first operand */
    bool keepdims, has_out;
    llf_dtype out;
    uint32_t axis;
    int64_t correction;
    double eps, momentum;
    llf_reduction reduction;
} llfi_settings;
void llfi_settings_default(llfi_attr_id, llfi_ask *);
llf_status llfi_settings_attr(llf_graph *, llf_op, uint32_t count, const llf_id *arg, const llfi_ask *,
                              llfi_place, uint64_t *attr);
llfi_settings llfi_settings_of(const llf_graph *, uint64_t attr);
bool llfi_settings_ok(llfi_list);
bool llfi_setting_find(llfi_attr_id, const char *text, size_t bytes,
                       llfi_setting *); /* one that the attribute has */
const char *llfi_setting_name(llfi_setting);
bool llfi_setting_required(llfi_attr_id, llfi_setting);
bool llfi_reduction_find(const char *text, size_t bytes, uint32_t *reduction);
void llfi_settings_print(const llf_graph *, const llfi_node *, llfi_str *); /* ", axes=[1], eps=1e-6" */
/* build_index.c: what is made of views and concat when it is built. `out`: as many ids as parts; E_... also
 * poisons. */
typedef struct {
    uint32_t count;            /* of axes */
    llfi_dim shift[LLFI_RANK]; /* as it is, or where `back` its negative */
    bool back[LLFI_RANK];
    int64_t axis[LLFI_RANK];
} llfi_roll_ask;
llf_status llfi_make_split(llf_graph *, llf_id x, int64_t axis, uint32_t parts, const llfi_dim *sizes,
                           llfi_place, llf_id *out); /* sizes NULL: equal parts */
llf_status llfi_make_stack(llf_graph *, uint32_t count, const llf_id *arg, int64_t axis, llfi_place,
                           llf_id *out);
llf_status llfi_make_roll(llf_graph *, llf_id x, const llfi_roll_ask *, llfi_place, llf_id *out);
/* build.c: appends a node after inference. `origin` UINT32_MAX: a new origin for non-leaf ops. LLF_NONE on
 * failure (diagnostic set in the graph's context, graph poisoned). */
llf_id llfi_poison(llf_graph *, llf_status); /* LLF_NONE */
/* The same after a call of a builder: the diagnostic is told which value it would have been. */
llf_id llfi_build_failed(llf_graph *, llf_status);
llf_id llfi_build_n(llf_graph *, llf_op, uint32_t count, const llf_id *arg, uint64_t attr, uint32_t origin,
                    llfi_place);
/* Of an op whose arity its row gives. */
llf_id llfi_build(llf_graph *, llf_op, const llf_id *arg, uint64_t attr, uint32_t origin, llfi_place);
llf_id llfi_build_const(llf_graph *, llf_dtype, uint64_t bits);
llf_id llfi_build_input(llf_graph *, uint32_t type, bool scalar, uint32_t name, llfi_place);
/* verify.c: every invariant above; E_GRAPH with node and reason. Linear. */
llf_status llfi_verify(const llf_graph *);
/* print.c: `labels` NULL or a function that writes " !k0,k2" for a node; `more`: a hint stands there already,
 * and it is ",k0,k2". */
typedef void llfi_label_fn(void *user, llf_id, bool more, llfi_str *);
llf_status llfi_print(const llf_graph *, llfi_str *, llfi_label_fn *labels, void *user);
/* name.c */
llfi_value_name *llfi_names_make(const llf_graph *, llfi_arena *); /* by node; NULL: out of memory */
void llfi_names_put(const llf_graph *, const llfi_value_name *, llf_id, llfi_str *); /* "%x" */
llfi_shown llfi_show_value(const llf_graph *, llf_id); /* the same, alone, for a message; not linear */
llfi_shown llfi_show_next(const llf_graph *); /* what a value without a name that is made now would be */
/* same.c: do two graphs agree node by node in all that llfi_graph_hash looks at? */
typedef struct {
    bool differs;
    llf_id node;    /* of the first graph; LLF_NONE: no node is to blame */
    char text[800]; /* the first difference */
} llfi_difference;
llf_status llfi_same(const llf_graph *a, const char *a_is, const llf_graph *b, const char *b_is, llfi_arena *,
                     llfi_difference *);
/* Nodes with a line of their own in the text (all but inputs, constants and further results), in order: those
 * of equal graphs pair up. NULL: out of memory. */
llf_id *llfi_lines_make(const llf_graph *, llfi_arena *, uint32_t *count);
/* literal.c: text of a literal to bits of dtype with one rounding, and the shortest text that reads back. */
llf_status llfi_literal_parse(llfi_diag *, llfi_place, llf_dtype, const char *text, size_t bytes,
                              uint64_t *bits);
void llfi_literal_print(llf_dtype, uint64_t bits, llfi_str *);

/* rewrite.c: how passes change a graph: the old nodes are walked in order, new ones are appended to the same
 * graph, old ids map to new ones. Inputs keep their place and stay even when unused. Linear. */
typedef struct {
    llf_graph *g;
    llfi_node *old; /* the nodes before, in order */
    uint32_t olds;
    llf_id *map;             /* old id -> new id; LLF_NONE: not yet or dropped */
    llf_id *arg;             /* room for the operands of any old node, and for LLFI_INLINE_ARGS at least */
    size_t guards, operands; /* those of old nodes */
} llfi_rewrite;
llf_status llfi_rewrite_begin(llfi_rewrite *, llf_graph *, llfi_arena *);   /* copies inputs over */
llf_status llfi_rewrite_copy(llfi_rewrite *, llf_id old);                   /* same op, operands mapped */
llf_status llfi_rewrite_copy_as(llfi_rewrite *, llf_id old, uint64_t attr); /* with another attribute */
/* Appends op with new-id operands, carrying origin and place of `like`. Names follow the map at the end: the
 * node that an old id maps to takes its name unless it has one. */
llf_status llfi_rewrite_op_n(llfi_rewrite *, llf_id like, llf_op, uint32_t count, const llf_id *arg,
                             uint64_t attr, llf_id *out);
llf_status llfi_rewrite_op(llfi_rewrite *, llf_id like, llf_op, const llf_id *arg, uint64_t attr,
                           llf_id *out); /* of an op whose arity its row gives */
llf_status llfi_rewrite_const(llfi_rewrite *, llf_dtype, uint64_t bits, llf_id *out);
llf_status llfi_rewrite_end(llfi_rewrite *); /* maps outputs; drops the old nodes */
void llfi_rewrite_abort(llfi_rewrite *);     /* after a failure: the graph is left destroyable */

#endif
