/* verify.c: every invariant of ir.h, checked in one walk. Must not repair anything, and trusts nothing: pools
 * are bounds-checked before they are read. */
#include "ir/ir.h"

static llf_status bad(const llf_graph *g, llf_id id, const char *what)
{
    const llfi_node *n = llfi_node_at(g, id);
    const char *op = n->op < LLF_OPS ? llfi_ops[n->op].name : "?";
    return llfi_fail_at(&g->cx->diag, LLF_E_GRAPH, llfi_place_of(g, id), op, "node %u (%s): %s", id, op,
                        what);
}

static bool name_ok(const llf_graph *g, uint32_t name)
{
    if (name == 0)
        return true;
    return name < g->names.count && g->names.at[name - 1] == 0 &&
           llfi_name_valid(llfi_name(g, name), strlen(llfi_name(g, name)));
}

static bool type_ok(const llf_graph *g, uint32_t type)
{
    if ((size_t)type + 2 > g->types.count)
        return false;
    const uint32_t *t = g->types.at + type;
    if (t[0] >= LLF_DTYPES || t[1] > LLFI_RANK || (size_t)type + 2 + t[1] > g->types.count)
        return false;
    for (uint32_t i = 0; i < t[1]; i++) {
        if (t[2 + i] >= llfi_dims_count(g->dims))
            return false;
    }
    return true;
}

static llf_status check_op(const llf_graph *g, llf_id id, const llfi_node *n)
{
    const llfi_op_info *o = &llfi_ops[n->op];
    llfi_attr_kind kind = llfi_attr_kind_of(o->attr);
    size_t bytes;
    if (n->scalar)
        return bad(g, id, "scalar stands on an op that is no input");
    if (!llfi_node_is_leaf(n) && (n->origin >= g->origin.count || g->origin.at[n->origin] >= LLF_OPS))
        return bad(g, id, "its origin is out of range");
    bool attr = kind == LLFI_ATTR_KIND_NONE    ? n->attr == 0
                : kind == LLFI_ATTR_KIND_DTYPE ? n->attr < LLF_DTYPES
                : kind == LLFI_ATTR_KIND_INT   ? n->attr < LLFI_RANK
                : kind == LLFI_ATTR_KIND_WORD  ? llfi_attr_word_text(o->attr, n->attr, &bytes) != NULL
                                               : llfi_list_ok(g, kind, n->attr);
    if (!attr)
        return bad(g, id, "its attribute is out of range");
    llfi_shape want;
    LLF_TRY(llfi_infer_rule(g, (llf_op)n->op, n->arity, llfi_args(g, n), n->attr, llfi_place_of(g, id), NULL,
                            &want));
    llfi_type is = llfi_type_at(g, n->type);
    if (is.dtype != want.dtype || is.rank != want.rank ||
        (is.rank && memcmp(is.dim, want.dim, is.rank * sizeof *is.dim) != 0))
        return bad(g, id, "its type is not what its operands give");
    return LLF_OK;
}

static llf_status check_leaf(const llf_graph *g, llf_id id, const llfi_node *n)
{
    llfi_type t = llfi_type_at(g, n->type);
    if (n->origin != UINT32_MAX)
        return bad(g, id, "a leaf has an origin");
    if (n->op != LLF_OP_INPUT && n->op != LLF_OP_CONST)
        return check_op(g, id, n);
    if (n->op == LLF_OP_INPUT)
        return n->attr               ? bad(g, id, "an input has an attribute")
               : n->scalar && t.rank ? bad(g, id, "a scalar is not of rank 0")
                                     : LLF_OK;
    if (n->scalar)
        return bad(g, id, "scalar stands on an op that is no input");
    if (t.rank)
        return bad(g, id, "a literal is not of rank 0");
    unsigned width = 8u * llfi_dtypes[t.dtype].bytes;
    if ((width < 64 && n->attr >> width) || (t.dtype == LLF_BOOL && n->attr > 1))
        return bad(g, id, "a literal's bits do not fit its dtype");
    return LLF_OK;
}

/* All results of an op stand right behind it, and nowhere else. */
static llf_status check_results(const llf_graph *g, llf_id id, const llfi_node *n)
{
    if (n->op == LLF_OP_RESULT && (uint64_t)n->arg[0] + n->attr != id)
        return bad(g, id, "a further result does not stand behind its op");
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[n->op]); k++) {
        const llfi_node *r = id + k < g->nodes.count ? llfi_node_at(g, id + k) : NULL;
        if (!r || r->op != LLF_OP_RESULT || r->arity != 1 || r->arg[0] != id || r->attr != k)
            return bad(g, id, "its further results do not stand behind it");
    }
    return LLF_OK;
}

static llf_status check_node(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    if (n->op >= LLF_OPS)
        return bad(g, id, "no such op");
    if (!llfi_op_takes(&llfi_ops[n->op], n->arity))
        return bad(g, id, "wrong number of operands");
    if (n->arity > LLFI_INLINE_ARGS && (uint64_t)n->arg[0] + n->arity > g->operands.count)
        return bad(g, id, "its operands are out of range");
    if (!type_ok(g, n->type))
        return bad(g, id, "its type is out of range");
    if (!name_ok(g, n->name))
        return bad(g, id, "its name is invalid");
    for (uint32_t i = 0; i < n->arity; i++) {
        if (llfi_args(g, n)[i] >= id)
            return bad(g, id, "an operand does not stand before it");
    }
    LLF_TRY(check_results(g, id, n));
    return llfi_node_is_leaf(n) ? check_leaf(g, id, n) : check_op(g, id, n);
}

/* Every INPUT node stands in the signature exactly once. */
static llf_status check_inputs(const llf_graph *g, uint32_t inputs)
{
    llfi_diag *d = &g->cx->diag;
    if (inputs != g->inputs.count)
        return llfi_fail(d, LLF_E_GRAPH, "%u input nodes, but %zu in the signature", inputs, g->inputs.count);
    size_t size = g->nodes.count;
    uint8_t *seen = llfi_alloc_zero(&g->cx->mem, size);
    if (!seen)
        return llfi_nomem(d);
    llf_status status = LLF_OK;
    if (g->asked.count && g->asked.count != g->inputs.count)
        status =
            llfi_fail(d, LLF_E_GRAPH, "%zu types as asked, but %zu inputs", g->asked.count, g->inputs.count);
    for (size_t i = 0; i < g->asked.count && status == LLF_OK; i++)
        if (!type_ok(g, g->asked.at[i]))
            status = llfi_fail(d, LLF_E_GRAPH, "the type of input %zu as asked is out of range", i);
    for (size_t i = 0; i < g->inputs.count && status == LLF_OK; i++) {
        llf_id id = g->inputs.at[i];
        if (id >= size || g->nodes.at[id].op != LLF_OP_INPUT || seen[id]++)
            status =
                llfi_fail(d, LLF_E_GRAPH, "input %zu of the signature is no input node, or stands twice", i);
    }
    llfi_free(&g->cx->mem, seen, size);
    return status;
}

static llf_status check_guards(const llf_graph *g)
{
    uint32_t dims = llfi_dims_count(g->dims);
    for (size_t i = 0; i < g->guards.count; i++) {
        const llfi_guard *u = &g->guards.at[i];
        if (u->a >= dims || u->b >= dims || u->axis > LLFI_RANK || u->op >= LLF_OPS ||
            (u->node != LLF_NONE && u->node >= g->nodes.count))
            return llfi_fail(&g->cx->diag, LLF_E_GRAPH, "guard %zu: its dims, axis or node do not exist", i);
    }
    return LLF_OK;
}

llf_status llfi_verify(const llf_graph *g)
{
    llfi_diag *d = &g->cx->diag;
    if (g->poisoned != LLF_OK)
        return llfi_fail(d, g->poisoned, "the graph is poisoned by an earlier failure: %s", d->message);
    if (g->nodes.count > LLFI_MAX_NODES)
        return llfi_fail(d, LLF_E_LIMIT, "more than the limit of %u nodes", LLFI_MAX_NODES);
    if (g->name == 0 || !name_ok(g, g->name))
        return llfi_fail(d, LLF_E_GRAPH, "the graph's name is invalid");
    uint32_t inputs = 0;
    for (llf_id id = 0; id < g->nodes.count; id++) {
        LLF_TRY(check_node(g, id));
        inputs += g->nodes.at[id].op == LLF_OP_INPUT;
    }
    LLF_TRY(check_inputs(g, inputs));
    LLF_TRY(check_guards(g));
    if (g->outputs.count == 0)
        return llfi_fail(d, LLF_E_GRAPH, "the graph has no output");
    for (size_t i = 0; i < g->outputs.count; i++) {
        if (g->outputs.at[i] >= g->nodes.count)
            return llfi_fail(d, LLF_E_GRAPH, "output %zu is no node", i);
    }
    return LLF_OK;
}
