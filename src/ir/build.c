/* build.c: appending nodes: the public builders, one per row of ops.def, and llfi_build below them. A failure
 * poisons the graph; the first diagnostic stays. Must not simplify or share nodes: that is what passes are
 * for. */
#include "ir/float.h"
#include "ir/ir.h"

static const llfi_place nowhere = {NULL, 0, 0};

llf_id llfi_poison(llf_graph *g, llf_status status)
{
    if (g->poisoned == LLF_OK)
        g->poisoned = status;
    return LLF_NONE;
}

llf_id llfi_build_failed(llf_graph *g, llf_status status)
{
    llfi_shown next = llfi_show_next(g);
    if (status != LLF_E_NOMEM)
        llfi_diag_in(&g->cx->diag, next.text + 1, strlen(next.text) - 1);
    return llfi_poison(g, status);
}

static llf_id nomem(llf_graph *g)
{
    return llfi_poison(g, llfi_nomem(&g->cx->diag));
}

static bool room(llf_graph *g, uint32_t nodes, llfi_place at)
{
    if (g->nodes.count + nodes <= LLFI_MAX_NODES)
        return true;
    llfi_poison(g, llfi_fail_at(&g->cx->diag, LLF_E_LIMIT, at, NULL, "more than the limit of %u nodes",
                                LLFI_MAX_NODES));
    return false;
}

/* The node, and behind it its further results. */
static llf_id append(llf_graph *g, const llfi_node *node)
{
    uint32_t results = llfi_op_results(&llfi_ops[node->op]);
    llf_id id = (llf_id)g->nodes.count;
    if (!llfi_vec_reserve(&g->cx->mem, &g->nodes, results))
        return nomem(g);
    g->nodes.at[g->nodes.count++] = *node;
    for (uint32_t k = 1; k < results; k++)
        g->nodes.at[g->nodes.count++] = (llfi_node){.op = LLF_OP_RESULT,
                                                    .arity = 1,
                                                    .arg = {id, LLF_NONE, LLF_NONE},
                                                    .type = node->type,
                                                    .origin = node->origin,
                                                    .line = node->line,
                                                    .col = node->col,
                                                    .attr = k};
    return id;
}

/* Further results of a composite have types of their own. A failure leaves no node. */
static llf_status type_results(llf_graph *g, llf_id id, llfi_place at)
{
    llf_status status = LLF_OK;
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[g->nodes.at[id].op]) && status == LLF_OK; k++)
        status = llfi_infer(g, LLF_OP_RESULT, 1, &id, k, at, &g->nodes.at[id + k].type);
    if (status != LLF_OK)
        g->nodes.count = id;
    return status;
}

static llf_status check_attr(llf_graph *g, const llfi_op_info *o, uint64_t attr, llfi_place at)
{
    size_t n;
    llfi_attr_kind kind = llfi_attr_kind_of(o->attr);
    bool ok = attr == 0;
    if (kind == LLFI_ATTR_KIND_DTYPE)
        ok = attr < LLF_DTYPES;
    else if (kind == LLFI_ATTR_KIND_WORD)
        ok = llfi_attr_word_text(o->attr, attr, &n) != NULL;
    else if (kind == LLFI_ATTR_KIND_INT)
        ok = attr < LLFI_RANK;
    else if (kind != LLFI_ATTR_KIND_NONE)
        ok = llfi_list_ok(g, kind, attr);
    return ok ? LLF_OK
              : llfi_fail_at(&g->cx->diag, LLF_E_ARG, at, o->name, "%s: attribute %s is out of range",
                             o->name, llfi_attr_name(o->attr));
}

/* Bytes must fit int64; what symbols make of them is checked when they are bound. */
static llf_status bytes_fit(llf_graph *g, uint32_t type, llfi_place at, const char *front, const char *op)
{
    llf_dtype dtype = llfi_type_at(g, type).dtype;
    uint32_t axis;
    if (llfi_type_fits(g, type, LLFI_RANK, 0, llfi_dtypes[dtype].bytes, &axis))
        return LLF_OK;
    return llfi_fail_at(&g->cx->diag, LLF_E_LIMIT, at, op,
                        "%s: axis %u: the dims of %s multiply to more than 2^63-1 bytes", front, axis,
                        llfi_show_type(g, type).text);
}

/* Puts the operands where llfi_args finds them. */
static bool set_args(llf_graph *g, llfi_node *n, uint32_t count, const llf_id *arg)
{
    n->arity = count;
    if (count <= LLFI_INLINE_ARGS) {
        for (uint32_t i = 0; i < count; i++)
            n->arg[i] = arg[i];
        return true;
    }
    if (g->operands.count + count > UINT32_MAX || !llfi_vec_reserve(&g->cx->mem, &g->operands, count))
        return false;
    n->arg[0] = (llf_id)g->operands.count;
    memcpy(g->operands.at + g->operands.count, arg, count * sizeof *arg);
    g->operands.count += count;
    return true;
}

llf_id llfi_build(llf_graph *g, llf_op op, const llf_id *arg, uint64_t attr, uint32_t origin, llfi_place at)
{
    bool fixed = (uint32_t)op < LLF_OPS && llfi_op_least(&llfi_ops[op]) == llfi_op_most(&llfi_ops[op]);
    return llfi_build_n(g, op, fixed ? llfi_ops[op].arity : 0, arg, attr, origin, at);
}

llf_id llfi_build_n(llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, uint64_t attr,
                    uint32_t origin, llfi_place at)
{
    llf_context *cx = g->cx;
    if ((uint32_t)op >= LLF_OPS || op == LLF_OP_INPUT || op == LLF_OP_CONST || op == LLF_OP_RESULT)
        return llfi_poison(
            g, llfi_fail_at(&cx->diag, LLF_E_ARG, at, NULL, "no op %u with operands", (unsigned)op));
    const llfi_op_info *o = &llfi_ops[op];
    const char *name = llfi_op_said(g, op);
    llfi_node n = {.op = (uint16_t)op,
                   .arg = {LLF_NONE, LLF_NONE, LLF_NONE},
                   .origin = origin,
                   .line = at.line,
                   .col = at.col,
                   .attr = attr};
    if (!llfi_op_takes(o, count))
        return llfi_poison(g, llfi_fail_at(&cx->diag, LLF_E_ARG, at, name,
                                           "%s: %u is no number of operands for it", name, count));
    for (uint32_t i = 0; i < count; i++) {
        if (arg[i] == LLF_NONE && g->poisoned != LLF_OK)
            return LLF_NONE;
        if (arg[i] >= g->nodes.count)
            return llfi_poison(g, llfi_fail_at(&cx->diag, LLF_E_ARG, at, name,
                                               "%s: operand %u is no value of this graph", name, i + 1));
    }
    llf_status status = check_attr(g, o, attr, at);
    if (status == LLF_OK)
        status = llfi_infer(g, op, count, arg, attr, at, &n.type);
    if (status == LLF_OK)
        status = bytes_fit(g, n.type, at, name, name);
    if (status != LLF_OK)
        return llfi_poison(g, status);
    if (!room(g, llfi_op_results(o), at))
        return LLF_NONE;
    if (!set_args(g, &n, count, arg))
        return nomem(g);
    if (origin == UINT32_MAX && o->cls != LLFI_CLASS_LEAF) {
        if (!llfi_vec_reserve(&cx->mem, &g->origin, 1))
            return nomem(g);
        n.origin = (uint32_t)g->origin.count;
        g->origin.at[g->origin.count++] = (uint16_t)op;
    }
    llf_id id = append(g, &n);
    status = id != LLF_NONE && o->cls == LLFI_CLASS_COMPOSITE ? type_results(g, id, at) : LLF_OK;
    return status == LLF_OK ? id : llfi_poison(g, status);
}

llf_id llfi_build_const(llf_graph *g, llf_dtype dtype, uint64_t bits)
{
    if ((uint32_t)dtype >= LLF_DTYPES ||
        (llfi_dtypes[dtype].bytes < 8 && bits >> (8 * llfi_dtypes[dtype].bytes) != 0) ||
        (dtype == LLF_BOOL && bits > 1))
        return llfi_poison(g, llfi_fail(&g->cx->diag, LLF_E_ARG, "const: bits do not fit the dtype"));
    if (!room(g, 1, nowhere))
        return LLF_NONE;
    /* One NaN, the one that is read: which one a host folds is its own, and is neither printed nor promised.
     */
    if (llfi_dtype_is_float(dtype) && llfi_bits_nan(dtype, bits))
        (void)llfi_literal_parse(NULL, nowhere, dtype, "nan", 3, &bits);
    uint32_t type = llfi_type_make(g, dtype, 0, NULL);
    if (type == UINT32_MAX)
        return nomem(g);
    return append(g, &(llfi_node){.op = LLF_OP_CONST,
                                  .arg = {LLF_NONE, LLF_NONE, LLF_NONE},
                                  .type = type,
                                  .origin = UINT32_MAX,
                                  .attr = bits});
}

llf_id llfi_build_input(llf_graph *g, uint32_t type, bool scalar, uint32_t name, llfi_place at)
{
    llfi_diag *d = &g->cx->diag;
    llfi_type t = llfi_type_at(g, type);
    if (scalar && t.rank != 0)
        return llfi_poison(g, llfi_fail_at(d, LLF_E_TYPE, at, "input", "a scalar input has rank 0"));
    char front[LLFI_MAX_NAME + 16];
    snprintf(front, sizeof front, "input %s", llfi_name(g, name));
    llf_status status = bytes_fit(g, type, at, front, "input");
    if (status != LLF_OK)
        return llfi_poison(g, status);
    if (!room(g, 1, at))
        return LLF_NONE;
    if (!llfi_vec_reserve(&g->cx->mem, &g->inputs, 1))
        return nomem(g);
    llf_id id = append(g, &(llfi_node){.op = LLF_OP_INPUT,
                                       .scalar = scalar,
                                       .arg = {LLF_NONE, LLF_NONE, LLF_NONE},
                                       .type = type,
                                       .name = name,
                                       .origin = UINT32_MAX,
                                       .line = at.line,
                                       .col = at.col});
    if (id != LLF_NONE)
        g->inputs.at[g->inputs.count++] = id;
    return id;
}

/* ---- the public builders */

/* The name's offset, 0 for none, UINT32_MAX after a diagnostic. Only a name that was known before can belong
 * to another input, so the search is rare. */
static uint32_t input_name(llf_graph *g, const char *name)
{
    if (!name)
        return 0;
    size_t bytes = strlen(name);
    if (!llfi_name_valid(name, bytes)) {
        llfi_poison(g, llfi_fail(&g->cx->diag, LLF_E_ARG,
                                 "llf_input: bad name: letters, digits, '_', '.', '-', at most %u bytes",
                                 LLFI_MAX_NAME));
        return UINT32_MAX;
    }
    if (strspn(name, "0123456789") == bytes)
        return 0;
    size_t known = g->names.count;
    uint32_t at = llfi_name_add(g, name, bytes);
    if (at == UINT32_MAX) {
        nomem(g);
        return at;
    }
    for (size_t i = 0; g->names.count == known && i < g->inputs.count; i++) {
        if (llfi_node_at(g, g->inputs.at[i])->name == at) {
            llfi_poison(g, llfi_fail(&g->cx->diag, LLF_E_GRAPH, "llf_input: duplicate name '%s'", name));
            return UINT32_MAX;
        }
    }
    return at;
}

static llfi_dim shape_dim(llf_graph *g, int64_t extent)
{
    if (extent >= 0)
        return llfi_dim_const(g->dims, extent);
    uint64_t k = (uint64_t)(-(extent + 1));
    return k < llfi_dims_symbols(g->dims) ? llfi_dim_sym(g->dims, (uint32_t)k) : LLFI_DIM_NONE;
}

static llf_id make_input(llf_graph *g, const char *name, llf_dtype dtype, uint32_t rank, const int64_t *shape,
                         bool scalar)
{
    if (!g || g->poisoned != LLF_OK)
        return LLF_NONE;
    llfi_diag *d = &g->cx->diag;
    if ((uint32_t)dtype >= LLF_DTYPES)
        return llfi_poison(g, llfi_fail(d, LLF_E_ARG, "llf_input: no dtype %u", (unsigned)dtype));
    if (rank > LLFI_RANK)
        return llfi_poison(
            g, llfi_fail(d, LLF_E_LIMIT, "llf_input: rank %u is over the limit of %u", rank, LLFI_RANK));
    if (rank && !shape)
        return llfi_poison(g, llfi_fail(d, LLF_E_ARG, "llf_input: shape is NULL"));
    llfi_dim dim[LLFI_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        bool known = shape[i] >= 0 || (uint64_t)(-(shape[i] + 1)) < llfi_dims_symbols(g->dims);
        if (!known)
            return llfi_poison(g, llfi_fail(d, LLF_E_ARG,
                                            "llf_input: extent %lld of axis %u is negative and no symbol",
                                            (long long)shape[i], i));
        dim[i] = shape_dim(g, shape[i]);
        if (dim[i] == LLFI_DIM_NONE)
            return nomem(g);
    }
    uint32_t at = input_name(g, name);
    if (at == UINT32_MAX)
        return LLF_NONE;
    uint32_t type = llfi_type_make(g, dtype, rank, dim);
    return type == UINT32_MAX ? nomem(g) : llfi_build_input(g, type, scalar, at, nowhere);
}

static bool symbol_valid(const char *name)
{
    size_t n = strlen(name);
    return llfi_name_valid(name, n) && !strpbrk(name, ".-") && (name[0] < '0' || name[0] > '9') &&
           strcmp(name, "min") != 0 && strcmp(name, "max") != 0;
}

int64_t llf_symbol(llf_graph *g, const char *name)
{
    if (!g || g->poisoned != LLF_OK)
        return 0;
    if (!name || !symbol_valid(name)) {
        llfi_poison(g,
                    llfi_fail(&g->cx->diag, LLF_E_ARG,
                              "llf_symbol: bad name: letters, digits, '_', no digit first, not min or max"));
        return 0;
    }
    uint32_t k = llfi_dims_symbol(g->dims, name, strlen(name));
    if (k == UINT32_MAX) {
        nomem(g);
        return 0;
    }
    return -(int64_t)k - 1;
}

llf_id llf_input(llf_graph *g, const char *name, llf_dtype dtype, uint32_t rank, const int64_t *shape)
{
    return make_input(g, name, dtype, rank, shape, false);
}

llf_id llf_scalar(llf_graph *g, const char *name, llf_dtype dtype)
{
    return make_input(g, name, dtype, 0, NULL, true);
}

static llf_id const_range(llf_graph *g, llf_dtype dtype)
{
    return llfi_poison(
        g, llfi_fail(&g->cx->diag, LLF_E_ARG, "llf_const: the value is outside %s", llf_dtype_name(dtype)));
}

llf_id llf_const(llf_graph *g, llf_dtype dtype, double value)
{
    if (!g || g->poisoned != LLF_OK)
        return LLF_NONE;
    if ((uint32_t)dtype >= LLF_DTYPES)
        return llfi_poison(g, llfi_fail(&g->cx->diag, LLF_E_ARG, "llf_const: no dtype %u", (unsigned)dtype));
    if (llfi_dtype_is_float(dtype))
        return llfi_build_const(g, dtype, llfi_bits_from_f64(dtype, value));
    if (!(value >= -0x1p53 && value <= 0x1p53) || value != (double)(int64_t)value)
        return const_range(g, dtype);
    return llf_const_int(g, dtype, (int64_t)value);
}

llf_id llf_const_int(llf_graph *g, llf_dtype dtype, int64_t value)
{
    if (!g || g->poisoned != LLF_OK)
        return LLF_NONE;
    if ((uint32_t)dtype >= LLF_DTYPES)
        return llfi_poison(g,
                           llfi_fail(&g->cx->diag, LLF_E_ARG, "llf_const_int: no dtype %u", (unsigned)dtype));
    if (llfi_dtype_is_float(dtype)) {
        /* Through text: an int64 does not fit a double, and the literal reader rounds once. */
        char text[32];
        uint64_t bits;
        int n = snprintf(text, sizeof text, "%lld", (long long)value);
        llf_status status = llfi_literal_parse(&g->cx->diag, nowhere, dtype, text, (size_t)n, &bits);
        return status == LLF_OK ? llfi_build_const(g, dtype, bits) : llfi_poison(g, status);
    }
    if (dtype == LLF_BOOL ? (value != 0 && value != 1) : (dtype == LLF_I32 && value != (int32_t)value))
        return const_range(g, dtype);
    return llfi_build_const(g, dtype, llfi_bits_from_i64(dtype, value));
}

static llf_id call(llf_graph *g, llf_op op, const llf_id *arg, uint64_t attr)
{
    if (!g || g->poisoned != LLF_OK)
        return LLF_NONE;
    llf_id id = llfi_build(g, op, arg, attr, UINT32_MAX, nowhere);
    return id == LLF_NONE ? llfi_build_failed(g, g->poisoned) : id;
}

#define ARGS_1 x
#define ARGS_2 a, b
#define ARGS_3 a, b, c
#define BUILDER_NONE(id, name, arity)                             \
    llf_id llf_##name(llf_graph *g, LLF_PARAMS_##arity)           \
    {                                                             \
        return call(g, LLF_OP_##id, (llf_id[]){ARGS_##arity}, 0); \
    }
#define BUILDER_DTYPE(id, name, arity)
#define BUILDER_APPROXIMATE(id, name, arity)
#define BUILDER_MEAN(id, name, arity)
#define BUILDER_VAR(id, name, arity)
#define BUILDER_SOFTMAX(id, name, arity)
#define BUILDER_NORM(id, name, arity)
#define BUILDER_L2(id, name, arity)
#define BUILDER_BATCH(id, name, arity)
#define BUILDER_BATCH_TRAIN(id, name, arity)
#define BUILDER_LOSS(id, name, arity)
#define BUILDER_CLASS_LOSS(id, name, arity)
#define EW(id, name, arity, sig, set, flags, attr, meaning) BUILDER_##attr(id, name, arity)
#define COMPOSITE EW
#include "llfuse/ops.def"

llf_id llf_cast(llf_graph *g, llf_id x, llf_dtype dtype)
{
    return call(g, LLF_OP_CAST, &x, (uint64_t)dtype);
}

llf_id llf_gelu(llf_graph *g, llf_id x, llf_gelu_form form)
{
    return call(g, LLF_OP_GELU, &x, (uint64_t)form);
}

llf_status llf_hint(llf_graph *g, llf_id id, llf_hint_kind hint)
{
    if (!g)
        return LLF_E_ARG;
    if (g->poisoned != LLF_OK)
        return g->poisoned;
    if (id >= g->nodes.count || (unsigned)hint > LLF_HINT_APART)
        return llfi_fail(&g->cx->diag, LLF_E_ARG, "llf_hint: no such %s",
                         id >= g->nodes.count ? "node" : "hint");
    id = llfi_maker(g, id);
    llfi_class cls = llfi_ops[llfi_node_at(g, id)->op].cls;
    if (cls == LLFI_CLASS_LEAF || cls == LLFI_CLASS_VIEW)
        return llfi_fail(&g->cx->diag, LLF_E_ARG,
                         "llf_hint: %s is in no kernel: only what computes has hints",
                         llfi_ops[llfi_node_at(g, id)->op].name);
    g->nodes.at[id].hint = (uint8_t)hint;
    return LLF_OK;
}

llf_status llf_output(llf_graph *g, llf_id id)
{
    if (!g)
        return LLF_E_ARG;
    if (g->poisoned != LLF_OK)
        return g->poisoned;
    if (id >= g->nodes.count) {
        llfi_poison(g, llfi_fail(&g->cx->diag, LLF_E_ARG, "llf_output: no value of this graph"));
        return g->poisoned;
    }
    if (!llfi_vec_reserve(&g->cx->mem, &g->outputs, 1)) {
        nomem(g);
        return g->poisoned;
    }
    g->outputs.at[g->outputs.count++] = id;
    return LLF_OK;
}
