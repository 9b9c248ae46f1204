/* infer.c: the result type of an op, from the signature column of ops.def and one shape rule: elementwise ops
 * broadcast. Must not know single ops; a new op is a row (views: infer_view.c). */
#include "ir/ir.h"

static llfi_shown shown(llfi_str *s, const char *instead)
{
    llfi_shown out;
    if (s->failed || !s->at)
        snprintf(out.text, sizeof out.text, "%s", instead);
    else if (s->len < sizeof out.text)
        memcpy(out.text, s->at, s->len + 1);
    else
        snprintf(out.text, sizeof out.text, "%.150s...%s", s->at, s->at[s->len - 1] == ']' ? "]" : "");
    llfi_str_free(s);
    return out;
}

llfi_shown llfi_show_type(const llf_graph *g, uint32_t type)
{
    llfi_str s;
    llfi_str_init(&s, &g->cx->mem);
    llfi_type_print(g, type, &s);
    return shown(&s, "a tensor");
}

llfi_shown llfi_show_dim(const llf_graph *g, llfi_dim dim)
{
    llfi_str s;
    llfi_str_init(&s, &g->cx->mem);
    llfi_dim_print(g->dims, dim, &s);
    return shown(&s, "an extent");
}

bool llfi_type_fits(const llf_graph *g, uint32_t type, uint32_t axis, int64_t extent, int64_t unit,
                    uint32_t *worst)
{
    llfi_type t = llfi_type_at(g, type);
    int64_t all = unit, most = 0;
    bool fits = true;
    *worst = 0;
    for (uint32_t i = 0; i < t.rank; i++) {
        int64_t least = llfi_dim_least(g->dims, t.dim[i]);
        if (i == axis && extent > least)
            least = extent;
        if (least > 0)
            fits = !__builtin_mul_overflow(all, least, &all) && fits;
        if (least > most) {
            most = least;
            *worst = i;
        }
    }
    return fits;
}

static llfi_shown show(const llf_graph *g, llf_id id)
{
    return llfi_show_type(g, llfi_node_at(g, id)->type);
}

static const char *set_text(llfi_set set)
{
    return set == LLFI_SET_FLOAT ? "float" : set == LLFI_SET_NUM ? "float or integer" : "any";
}

/* dtypes of operands against the signature's letters; *t becomes the dtype of the letter t. */
static llf_status check_dtypes(const llf_graph *g, llf_op op, uint32_t count, const llf_id *arg,
                               llfi_place at, llf_dtype *t)
{
    const llfi_op_info *o = &llfi_ops[op];
    const char *name = llfi_op_said(g, op);
    llf_id first = LLF_NONE;
    uint32_t first_at = 0;
    for (uint32_t i = 0; i < count; i++) {
        llf_dtype d = llfi_dtype_of(g, arg[i]);
        char letter = llfi_op_letter(o, i);
        if (letter == 'b') {
            if (d != LLF_BOOL)
                return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name,
                                    "%s: operand %u is %s, but must be bool", name, i + 1,
                                    show(g, arg[i]).text);
            continue;
        }
        if (letter == 'i') {
            if (d != LLF_I32 && d != LLF_I64)
                return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name,
                                    "%s: operand %u is %s, but must be i32 or i64", name, i + 1,
                                    show(g, arg[i]).text);
            continue;
        }
        if (!llfi_set_has(o->set, d))
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name, "%s: operand %u is %s, but must be %s",
                                name, i + 1, show(g, arg[i]).text, set_text(o->set));
        if (letter != 't')
            continue;
        if (first == LLF_NONE) {
            first = arg[i];
            first_at = i + 1;
            *t = d;
        } else if (d != *t) {
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, name,
                                "%s: dtype mismatch: operand %u is %s, operand %u is %s (use cast)", name,
                                first_at, show(g, first).text, i + 1, show(g, arg[i]).text);
        }
    }
    return LLF_OK;
}

static bool same_dims(const llfi_dim *a, const llfi_dim *b, uint32_t rank)
{
    return rank == 0 || memcmp(a, b, rank * sizeof *a) == 0;
}

/* Of an INDEX op only the indices may be read at the result's own points. */
static bool at_own_points(const llf_graph *g, const llfi_node *n, uint32_t operand)
{
    return llfi_ops[n->op].cls != LLFI_CLASS_INDEX ||
           (n->op == LLF_OP_TAKE && operand == 1 && llfi_type_of(g, llfi_args(g, n)[0]).rank == 1);
}

bool llfi_same_space(const llf_graph *g, llf_id id, uint32_t operand)
{
    const llfi_node *n = llfi_node_at(g, id);
    llfi_type t = llfi_type_of(g, id), x = llfi_type_of(g, llfi_args(g, n)[operand]);
    if (llfi_ops[n->op].cls == LLFI_CLASS_REDUCE || (x.rank && !at_own_points(g, n, operand)))
        return false;
    return x.rank == 0 || llfi_type_same_dims(x, t);
}

/* The shape so far, and which operand gave each axis. */
typedef struct {
    llfi_shape *s;
    uint8_t from[LLFI_RANK]; /* by axis from the end */
} broadcast;

/* Extent `dim` of operand `i` joins axis `at` of the shape. */
static llf_status join(const llf_graph *g, llf_op op, const llf_id *arg, llfi_place place, llf_graph *guards,
                       broadcast *b, uint32_t at, llfi_dim dim, uint32_t i)
{
    llfi_dim *have = &b->s->dim[at];
    uint8_t *from = &b->from[b->s->rank - 1 - at];
    int64_t x, y;
    bool is_x = llfi_dim_is_const(g->dims, *have, &x), is_y = llfi_dim_is_const(g->dims, dim, &y);
    if (*have == dim || (is_y && y == 1))
        return LLF_OK;
    if (is_x && is_y && x != 1)
        return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, place, llfi_ops[op].name,
                            "%s: axis %u: %lld and %lld do not broadcast: operand %u is %s, operand %u is %s",
                            llfi_ops[op].name, at, (long long)x, (long long)y, *from + 1u,
                            show(g, arg[*from]).text, i + 1, show(g, arg[i]).text);
    llfi_guard guard = {
        .a = *have, .b = dim, .axis = (uint8_t)at, .op = (uint16_t)op, .line = place.line, .col = place.col};
    bool stretched = is_x && x == 1;
    if (stretched || is_y) {
        *have = dim;
        *from = (uint8_t)i;
    }
    return stretched || !guards ? LLF_OK : llfi_guard_add(guards, &guard);
}

/* numpy's rule: shapes are aligned at their ends, extents of 1 stretch. */
llf_status llfi_infer_broadcast(const llf_graph *g, llf_op op, uint32_t count, const llf_id *arg,
                                llfi_place place, llf_graph *guards, llfi_shape *s)
{
    broadcast b = {.s = s};
    s->rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        llfi_type t = llfi_type_of(g, arg[i]);
        if (t.rank > s->rank) {
            uint32_t more = t.rank - s->rank;
            memmove(s->dim + more, s->dim, s->rank * sizeof *s->dim);
            memcpy(s->dim, t.dim, more * sizeof *s->dim);
            memset(b.from + s->rank, (int)i, more);
            s->rank = t.rank;
        }
        uint32_t shift = s->rank - t.rank;
        if (t.rank && same_dims(s->dim + shift, t.dim, t.rank))
            continue;
        for (uint32_t k = 0; k < t.rank; k++)
            LLF_TRY(join(g, op, arg, place, guards, &b, shift + k, t.dim[k], i));
    }
    return LLF_OK;
}

static llf_dtype result_dtype(char letter, llf_dtype t, uint64_t attr)
{
    switch (letter) {
    case 'b': return LLF_BOOL;
    case 'l': return LLF_I64;
    case 'd': return (llf_dtype)attr;
    case 'a': return t == LLF_F64 ? LLF_F64 : LLF_F32;
    default: return t;
    }
}

/* A further result of a reduction has the type of the first; its letter must be `a`, as the first's. */
static llf_status infer_result(const llf_graph *g, llf_id of, uint64_t which, llfi_place at, llfi_shape *s)
{
    const llfi_op_info *o = &llfi_ops[llfi_node_at(g, of)->op];
    llfi_type t = llfi_type_of(g, of);
    if (which == 0 || which >= llfi_op_results(o))
        return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, o->name, "%s has no result %llu", o->name,
                            (unsigned long long)which);
    s->dtype = t.dtype;
    s->rank = t.rank;
    if (t.rank)
        memcpy(s->dim, t.dim, t.rank * sizeof *s->dim);
    if (o->cls == LLFI_CLASS_COMPOSITE)
        llfi_infer_composite_result(g, of, which, s);
    return LLF_OK;
}

llf_status llfi_infer_rule(const llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, uint64_t attr,
                           llfi_place at, llf_graph *guards, llfi_shape *s)
{
    const llfi_op_info *o = &llfi_ops[op];
    llf_dtype t = LLF_F32;
    LLF_TRY(check_dtypes(g, op, count, arg, at, &t));
    char result = strchr(o->sig, ':')[1];
    s->dtype = result_dtype(result, t, attr);
    if (o->cls == LLFI_CLASS_RESULT)
        return infer_result(g, arg[0], attr, at, s);
    if (o->cls == LLFI_CLASS_INDEX || o->cls == LLFI_CLASS_LEAF)
        return llfi_infer_index(g, op, count, arg, attr, at, guards, s);
    if (o->cls == LLFI_CLASS_REDUCE)
        return llfi_infer_reduce(g, op, arg[0], attr, at, guards, s);
    if (llfi_attr_kind_of(o->attr) == LLFI_ATTR_KIND_SETTINGS)
        return llfi_infer_composite(g, op, count, arg, attr, at, guards, s);
    return o->cls == LLFI_CLASS_VIEW ? llfi_infer_view(g, op, arg[0], attr, at, guards, s)
                                     : llfi_infer_broadcast(g, op, count, arg, at, guards, s);
}

llf_status llfi_infer(llf_graph *g, llf_op op, uint32_t count, const llf_id *arg, uint64_t attr,
                      llfi_place at, uint32_t *type)
{
    llfi_shape s;
    LLF_TRY(llfi_infer_rule(g, op, count, arg, attr, at, g, &s));
    for (uint32_t i = 0; i < count; i++) { /* mostly the type of an operand */
        llfi_type t = llfi_type_of(g, arg[i]);
        if (t.dtype == s.dtype && t.rank == s.rank && same_dims(t.dim, s.dim, s.rank)) {
            *type = llfi_node_at(g, arg[i])->type;
            return LLF_OK;
        }
    }
    *type = llfi_type_make(g, s.dtype, s.rank, s.dim);
    return *type == UINT32_MAX ? llfi_nomem(&g->cx->diag) : LLF_OK;
}
