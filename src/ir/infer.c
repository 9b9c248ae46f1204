/* infer.c: the result type of an op, from the signature column of ops.def and one shape rule: operands have
 * equal dims or rank 0. Must not know single ops; a new op is a row. */
#include "ir/ir.h"

typedef struct {
    char text[160];
} shown;

/* A type for a message; long ones are cut. */
static shown show(const llf_graph *g, llf_id id)
{
    shown out;
    llfi_str s;
    llfi_str_init(&s, &g->cx->mem);
    llfi_type_print(g, llfi_node_at(g, id)->type, &s);
    if (s.failed || !s.at)
        snprintf(out.text, sizeof out.text, "%s[...]", llf_dtype_name(llfi_dtype_of(g, id)));
    else if (s.len < sizeof out.text)
        memcpy(out.text, s.at, s.len + 1);
    else
        snprintf(out.text, sizeof out.text, "%.150s...]", s.at);
    llfi_str_free(&s);
    return out;
}

static const char *set_text(llfi_set set)
{
    return set == LLFI_SET_FLOAT ? "float" : set == LLFI_SET_NUM ? "float or integer" : "any";
}

/* dtypes of operands against the signature's letters; *t becomes the dtype of the letter t. */
static llf_status check_dtypes(const llf_graph *g, llf_op op, const llf_id *arg, llfi_place at, llf_dtype *t)
{
    const llfi_op_info *o = &llfi_ops[op];
    llf_id first = LLF_NONE;
    uint32_t first_at = 0;
    for (uint32_t i = 0; i < o->arity; i++) {
        llf_dtype d = llfi_dtype_of(g, arg[i]);
        if (o->sig[i] == 'b') {
            if (d != LLF_BOOL)
                return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, o->name,
                                    "%s: operand %u is %s, but must be bool", o->name, i + 1,
                                    show(g, arg[i]).text);
            continue;
        }
        if (!llfi_set_has(o->set, d))
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, o->name, "%s: operand %u is %s, but must be %s",
                                o->name, i + 1, show(g, arg[i]).text, set_text(o->set));
        if (o->sig[i] != 't')
            continue;
        if (first == LLF_NONE) {
            first = arg[i];
            first_at = i + 1;
            *t = d;
        } else if (d != *t) {
            return llfi_fail_at(&g->cx->diag, LLF_E_TYPE, at, o->name,
                                "%s: dtype mismatch: operand %u is %s, operand %u is %s (use cast)", o->name,
                                first_at, show(g, first).text, i + 1, show(g, arg[i]).text);
        }
    }
    return LLF_OK;
}

llf_status llfi_infer_rule(const llf_graph *g, llf_op op, const llf_id *arg, uint64_t attr, llfi_place at,
                           llf_dtype *dtype, llf_id *like)
{
    const llfi_op_info *o = &llfi_ops[op];
    llf_dtype t = LLF_F32;
    LLF_TRY(check_dtypes(g, op, arg, at, &t));
    uint32_t shape = 0;
    for (uint32_t i = 1; i < o->arity; i++) {
        llfi_type a = llfi_type_of(g, arg[shape]), b = llfi_type_of(g, arg[i]);
        if (a.rank == 0)
            shape = i;
        else if (b.rank != 0 && !llfi_type_same_dims(a, b))
            return llfi_fail_at(
                &g->cx->diag, LLF_E_TYPE, at, o->name,
                "%s: shape mismatch: operand %u is %s, operand %u is %s (equal dims or rank 0)", o->name,
                shape + 1, show(g, arg[shape]).text, i + 1, show(g, arg[i]).text);
    }
    *like = arg[shape];
    char result = o->sig[strlen(o->sig) - 1];
    *dtype = result == 'b' ? LLF_BOOL : result == 'd' ? (llf_dtype)attr : t;
    return LLF_OK;
}

llf_status llfi_infer(llf_graph *g, llf_op op, const llf_id *arg, uint64_t attr, llfi_place at,
                      uint32_t *type)
{
    llf_dtype dtype;
    llf_id like;
    LLF_TRY(llfi_infer_rule(g, op, arg, attr, at, &dtype, &like));
    uint32_t same = llfi_node_at(g, like)->type;
    llfi_type t = llfi_type_at(g, same);
    if (t.dtype == dtype) {
        *type = same;
        return LLF_OK;
    }
    llfi_dim dim[LLFI_RANK]; /* making a type moves the pool that t points into */
    if (t.rank)
        memcpy(dim, t.dim, t.rank * sizeof *dim);
    *type = llfi_type_make(g, dtype, t.rank, dim);
    return *type == UINT32_MAX ? llfi_nomem(&g->cx->diag) : LLF_OK;
}
