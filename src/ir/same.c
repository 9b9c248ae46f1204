/* same.c: two graphs side by side, node by node in printed order: all that llfi_graph_hash looks at, and
 * where they differ first. It changes neither. Cost: linear. */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    const char *is;    /* "the plan" */
    uint32_t *ordinal; /* by node: place among inputs and lines */
} side;

typedef struct {
    side a, b;
    llfi_difference *d;
} pair;

#define DIFFERS(p, id, ...)                       \
    ((p)->d->differs = true, (p)->d->node = (id), \
     (void)snprintf((p)->d->text, sizeof(p)->d->text, __VA_ARGS__), false)

/* Has it a line of its own? Inputs stand in the signature, literals where they are used, further results in
 * the line of their op. */
static bool line_of_its_own(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    return n->op != LLF_OP_INPUT && n->op != LLF_OP_CONST && n->op != LLF_OP_RESULT;
}

llf_id *llfi_lines_make(const llf_graph *g, llfi_arena *arena, uint32_t *count)
{
    llf_id *line = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *line);
    *count = 0;
    for (llf_id id = 0; line && id < g->nodes.count; id++)
        if (line_of_its_own(g, id))
            line[(*count)++] = id;
    return line;
}

static bool number(side *s, llfi_arena *arena)
{
    uint32_t next = 0;
    s->ordinal = llfi_arena_alloc(arena, (s->g->nodes.count + 1) * sizeof *s->ordinal);
    if (!s->ordinal)
        return false;
    for (size_t i = 0; i < s->g->inputs.count; i++)
        s->ordinal[s->g->inputs.at[i]] = next++;
    for (llf_id id = 0; id < s->g->nodes.count; id++)
        if (line_of_its_own(s->g, id) || llfi_node_at(s->g, id)->op == LLF_OP_RESULT)
            s->ordinal[id] = next++;
    return true;
}

static bool same_dim(const pair *p, int64_t a, int64_t b)
{
    return llfi_dim_hash(p->a.g->dims, (llfi_dim)a) == llfi_dim_hash(p->b.g->dims, (llfi_dim)b);
}

static bool same_type(const pair *p, llf_id a, llf_id b)
{
    llfi_type s = llfi_type_of(p->a.g, a), t = llfi_type_of(p->b.g, b);
    bool same = s.dtype == t.dtype && s.rank == t.rank;
    for (uint32_t i = 0; same && i < s.rank; i++)
        same = same_dim(p, s.dim[i], t.dim[i]);
    return same;
}

static bool same_list(const pair *p, llfi_attr_kind kind, uint64_t a, uint64_t b)
{
    llfi_list s = llfi_list_at(p->a.g, a), t = llfi_list_at(p->b.g, b);
    bool same = s.count == t.count;
    for (uint32_t i = 0; same && i < s.count; i++) {
        bool dim = llfi_list_word_is_dim(kind, i, s.at[i]) && llfi_list_word_is_dim(kind, i, t.at[i]);
        same = dim ? same_dim(p, s.at[i], t.at[i]) : s.at[i] == t.at[i];
    }
    return same;
}

static bool same_operand(const pair *p, llf_id a, llf_id b)
{
    const llfi_node *s = llfi_node_at(p->a.g, a), *t = llfi_node_at(p->b.g, b);
    if (s->op == LLF_OP_CONST || t->op == LLF_OP_CONST)
        return s->op == t->op && s->attr == t->attr && same_type(p, a, b);
    return p->a.ordinal[a] == p->b.ordinal[b];
}

static bool same_node(const pair *p, llf_id a, llf_id b)
{
    const llfi_node *s = llfi_node_at(p->a.g, a), *t = llfi_node_at(p->b.g, b);
    if (s->op != t->op)
        return DIFFERS(p, a, "%s is %s in %s and %s in %s", llfi_show_value(p->a.g, a).text,
                       llfi_ops[s->op].name, p->a.is, llfi_ops[t->op].name, p->b.is);
    for (uint32_t k = 0; k < s->arity || k < t->arity; k++)
        if (k >= s->arity || k >= t->arity ||
            !same_operand(p, llfi_args(p->a.g, s)[k], llfi_args(p->b.g, t)[k]))
            return DIFFERS(p, a, "%s = %s: operand %u is another value in %s than in %s",
                           llfi_show_value(p->a.g, a).text, llfi_ops[s->op].name, k + 1, p->a.is, p->b.is);
    llfi_attr_kind kind = llfi_attr_kind_of(llfi_ops[s->op].attr);
    if (kind >= LLFI_ATTR_KIND_INTS ? !same_list(p, kind, s->attr, t->attr) : s->attr != t->attr)
        return DIFFERS(p, a, "%s = %s: %s differs between %s and %s", llfi_show_value(p->a.g, a).text,
                       llfi_ops[s->op].name, llfi_attr_name(llfi_ops[s->op].attr), p->a.is, p->b.is);
    if (!same_type(p, a, b))
        return DIFFERS(p, a, "%s = %s is %s in %s and %s in %s", llfi_show_value(p->a.g, a).text,
                       llfi_ops[s->op].name, llfi_show_type(p->a.g, s->type).text, p->a.is,
                       llfi_show_type(p->b.g, t->type).text, p->b.is);
    return true;
}

static bool same_inputs(const pair *p)
{
    const llf_graph *a = p->a.g, *b = p->b.g;
    if (a->inputs.count != b->inputs.count)
        return DIFFERS(p, LLF_NONE, "%zu inputs in %s and %zu in %s", a->inputs.count, p->a.is,
                       b->inputs.count, p->b.is);
    for (size_t i = 0; i < a->inputs.count; i++) {
        llf_id s = a->inputs.at[i], t = b->inputs.at[i];
        bool scalar = llfi_node_is_scalar(llfi_node_at(a, s));
        if (scalar == llfi_node_is_scalar(llfi_node_at(b, t)) && same_type(p, s, t))
            continue;
        return DIFFERS(p, s, "input %zu, %s, is %s%s in %s and %s%s in %s", i, llfi_show_value(a, s).text,
                       scalar ? "scalar " : "", llfi_show_type(a, llfi_node_at(a, s)->type).text, p->a.is,
                       llfi_node_is_scalar(llfi_node_at(b, t)) ? "scalar " : "",
                       llfi_show_type(b, llfi_node_at(b, t)->type).text, p->b.is);
    }
    return true;
}

static bool same_outputs(const pair *p)
{
    const llf_graph *a = p->a.g, *b = p->b.g;
    if (a->outputs.count != b->outputs.count)
        return DIFFERS(p, LLF_NONE, "%zu outputs in %s and %zu in %s", a->outputs.count, p->a.is,
                       b->outputs.count, p->b.is);
    for (size_t i = 0; i < a->outputs.count; i++)
        if (!same_operand(p, a->outputs.at[i], b->outputs.at[i]))
            return DIFFERS(p, LLF_NONE, "output %zu is another value in %s than in %s", i, p->a.is, p->b.is);
    return true;
}

static bool compare(const pair *p, const llf_id *a, uint32_t as, const llf_id *b, uint32_t bs)
{
    if (!same_inputs(p))
        return false;
    for (uint32_t i = 0; i < as && i < bs; i++)
        if (!same_node(p, a[i], b[i]))
            return false;
    if (as != bs)
        return DIFFERS(p, as > bs ? a[bs] : LLF_NONE, "%u operations in %s and %u in %s", as, p->a.is, bs,
                       p->b.is);
    return same_outputs(p);
}

llf_status llfi_same(const llf_graph *a, const char *a_is, const llf_graph *b, const char *b_is,
                     llfi_arena *arena, llfi_difference *d)
{
    pair p = {.a = {.g = a, .is = a_is}, .b = {.g = b, .is = b_is}, .d = d};
    uint32_t as, bs;
    *d = (llfi_difference){.node = LLF_NONE};
    const llf_id *la = llfi_lines_make(a, arena, &as), *lb = llfi_lines_make(b, arena, &bs);
    if (!la || !lb || !number(&p.a, arena) || !number(&p.b, arena))
        return llfi_nomem(&a->cx->diag);
    compare(&p, la, as, lb, bs);
    return LLF_OK;
}
