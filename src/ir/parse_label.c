/* parse_label.c: what a text says of fusion: labels behind a node, and the line of a plan above the graph. It
 * must not judge plans: passes/fuse does. */
#include "ir/parse.h"

bool llfi_parse_is_plan_line(const char *p, const char *end)
{
    return end - p > 11 && memcmp(p, "plan graph=", 11) == 0;
}

/* The first counts; a plan's reader refuses a second. */
llf_status llfi_parse_plan_line(llfi_parser *p, const char *first, const char *last)
{
    bool again = p->g->plan_line != 0;
    uint32_t text = llfi_name_add(p->g, again ? "twice" : first, again ? 5 : (size_t)(last - first));
    p->g->plan_line = text;
    p->g->plan_at = p->lex.line;
    return text == UINT32_MAX ? llfi_nomem(p->lex.diag) : LLF_OK;
}

/* "k2": the number of a kernel. */
static bool kernel_number(const char *text, size_t bytes, uint32_t *number)
{
    uint64_t n = 0;
    for (size_t i = 1; i < bytes; i++) {
        n = n * 10 + (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || n >= LLFI_MAX_NODES)
            return false;
    }
    *number = (uint32_t)n;
    return bytes > 1 && text[0] == 'k' && (text[1] != '0' || bytes == 2);
}

static llf_status parse_hint(llfi_parser *p, llf_id id, llfi_place at, llf_hint_kind hint)
{
    llfi_node *n = &p->g->nodes.at[id];
    if (llfi_ops[n->op].cls == LLFI_CLASS_VIEW)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, llfi_ops[n->op].name,
                            "%s: a view is in no kernel: a hint stands on an op that computes",
                            llfi_ops[n->op].name);
    if (n->hint)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, NULL, "one hint a node: fuse or apart");
    n->hint = (uint8_t)hint;
    return LLF_OK;
}

/* k0 or fuse or apart */
static llf_status parse_label(llfi_parser *p, llf_id id)
{
    llfi_lex *x = &p->lex;
    llfi_place at = llfi_lex_place(x);
    const char *text = x->at;
    while (x->at < x->end && ((*x->at >= 'a' && *x->at <= 'z') || (*x->at >= '0' && *x->at <= '9')))
        x->at++;
    size_t bytes = (size_t)(x->at - text);
    uint32_t kernel;
    if (bytes == 4 && memcmp(text, "fuse", 4) == 0)
        return parse_hint(p, id, at, LLF_HINT_FUSE);
    if (bytes == 5 && memcmp(text, "apart", 5) == 0)
        return parse_hint(p, id, at, LLF_HINT_APART);
    if (!kernel_number(text, bytes, &kernel))
        return llfi_fail_at(
            x->diag, LLF_E_PARSE, at, NULL,
            "no label: '%.*s': labels are written !k0,k2 (kernels, below k%u), !fuse or !apart",
            (int)(bytes < 40 ? bytes : 40), text, LLFI_MAX_NODES);
    if (!llfi_vec_reserve(&p->g->cx->mem, &p->g->labels, 1))
        return llfi_nomem(x->diag);
    p->g->labels.at[p->g->labels.count++] = (llfi_label){id, kernel, at.line, at.col};
    return LLF_OK;
}

/* !k0,k2 */
llf_status llfi_parse_labels(llfi_parser *p, llf_id id)
{
    llfi_lex *x = &p->lex;
    llfi_lex_spaces(x);
    if (!llfi_lex_accept(x, '!'))
        return LLF_OK;
    do
        LLF_TRY(parse_label(p, id));
    while (llfi_lex_accept(x, ','));
    return LLF_OK;
}
