/* print.c: the graph as `.llf` text that parses back; name.c says what its values are called. Literals stand
 * inline. Must not change the graph. */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llfi_str *s;
    const llfi_value_name *name;
} printer;

static void print_value(printer *p, llf_id id)
{
    llfi_names_put(p->g, p->name, id, p->s);
}

static void print_operand(printer *p, llf_id id, bool suffix)
{
    const llfi_node *n = llfi_node_at(p->g, id);
    if (n->op != LLF_OP_CONST) {
        print_value(p, id);
        return;
    }
    llf_dtype dtype = llfi_dtype_of(p->g, id);
    llfi_literal_print(dtype, n->attr, p->s);
    if (suffix)
        llfi_str_printf(p->s, ":%s", llf_dtype_name(dtype));
}

/* A literal needs no dtype when the signature fixes it or a value of the same letter stands beside it. */
static bool needs_suffix(const llf_graph *g, const llfi_node *n, uint32_t at)
{
    const llfi_op_info *o = &llfi_ops[n->op];
    char letter = llfi_op_letter(o, at);
    if (letter == 'b')
        return false;
    for (uint32_t i = 0; i < n->arity && letter == 't'; i++) {
        if (llfi_op_letter(o, i) == 't' && llfi_node_at(g, llfi_args(g, n)[i])->op != LLF_OP_CONST)
            return false;
    }
    return true;
}

/* start:stop:step, as short as reads back. */
static void print_const_range(llfi_str *s, int64_t extent, int64_t start, int64_t length, int64_t step)
{
    int64_t last = start + (length - 1) * step;
    bool to_end = step > 0 ? last >= extent - step : last < -step;
    if (length == 0) {
        llfi_str_puts(s, "0:0");
        return;
    }
    if (start != (step > 0 ? 0 : extent - 1))
        llfi_str_printf(s, "%lld", (long long)start);
    llfi_str_puts(s, ":");
    if (!to_end)
        llfi_str_printf(s, "%lld", (long long)(step > 0 ? last + 1 : last - 1));
    if (step != 1)
        llfi_str_printf(s, ":%lld", (long long)step);
}

static void print_range(const llf_graph *g, llfi_dim of, const llfi_range *r, llfi_str *s)
{
    int64_t extent, start, length;
    bool is_start = llfi_dim_is_const(g->dims, r->start, &start);
    if (is_start && llfi_dim_is_const(g->dims, of, &extent) &&
        llfi_dim_is_const(g->dims, r->length, &length)) {
        print_const_range(s, extent, start, length, r->step);
        return;
    }
    if (r->stop != LLFI_STOP_WHOLE && (r->step < 0 || !is_start || start != 0))
        llfi_dim_print(g->dims, r->start, s);
    llfi_str_puts(s, ":");
    if (r->stop >= 0)
        llfi_dim_print(g->dims, (llfi_dim)r->stop, s);
    if (r->step != 1)
        llfi_str_printf(s, ":%lld", (long long)r->step);
}

static void print_pad(const llf_graph *g, int64_t word, llfi_str *s)
{
    int64_t none;
    if (word < 0)
        llfi_str_printf(s, "%lld", (long long)word);
    else if (!llfi_dim_is_const(g->dims, (llfi_dim)word, &none) || none != 0)
        llfi_dim_print(g->dims, (llfi_dim)word, s);
}

/* The dims of a list from word `first` on. */
static void print_extents(const llf_graph *g, llfi_list l, uint32_t first, llfi_str *s)
{
    for (uint32_t i = first; i < l.count; i++) {
        llfi_str_puts(s, i > first ? ", " : "");
        llfi_dim_print(g->dims, (llfi_dim)l.at[i], s);
    }
}

static void print_iota(const llf_graph *g, const llfi_node *n, llfi_str *s)
{
    llfi_list l = llfi_list_at(g, n->attr);
    llfi_str_printf(s, " dtype=%s, shape=[", llf_dtype_name((llf_dtype)l.at[LLFI_IOTA_DTYPE]));
    print_extents(g, l, LLFI_IOTA_DIMS, s);
    llfi_str_printf(s, "], axis=%lld", (long long)l.at[LLFI_IOTA_AXIS]);
}

/* Only what differs from the default. */
static void print_reduce(const llf_graph *g, const llfi_node *n, llfi_str *s)
{
    llfi_list l = llfi_list_at(g, n->attr);
    llfi_type t = llfi_type_of(g, n->arg[0]);
    int64_t out = l.at[LLFI_REDUCE_OUT];
    if (l.count < LLFI_REDUCE_AXES + t.rank) {
        llfi_str_puts(s, ", axes=[");
        for (uint32_t i = LLFI_REDUCE_AXES; i < l.count; i++)
            llfi_str_printf(s, "%s%lld", i > LLFI_REDUCE_AXES ? ", " : "", (long long)l.at[i]);
        llfi_str_puts(s, "]");
    }
    if (l.at[LLFI_REDUCE_KEEPDIMS])
        llfi_str_puts(s, ", keepdims");
    if (out != LLFI_REDUCE_NO_OUT && (llf_dtype)out != llfi_reduce_default(t.dtype))
        llfi_str_printf(s, ", out=%s", llf_dtype_name((llf_dtype)out));
}

static void print_count(const llf_graph *g, const llfi_node *n, llfi_str *s)
{
    llfi_list l = llfi_list_at(g, n->attr);
    llfi_str_printf(s, " dtype=%s, shape=[", llf_dtype_name((llf_dtype)l.at[LLFI_COUNT_DTYPE]));
    print_extents(g, l, LLFI_COUNT_DIMS, s);
    llfi_str_puts(s, "]");
}

static void print_list(printer *p, const llfi_node *n, llfi_attr_kind kind)
{
    const llf_graph *g = p->g;
    llfi_list l = llfi_list_at(g, n->attr);
    if (kind == LLFI_ATTR_KIND_IOTA) {
        print_iota(g, n, p->s);
        return;
    }
    if (kind == LLFI_ATTR_KIND_COUNT) {
        print_count(g, n, p->s);
        return;
    }
    if (kind == LLFI_ATTR_KIND_SETTINGS) {
        llfi_settings_print(g, n, p->s);
        return;
    }
    if (kind == LLFI_ATTR_KIND_REDUCE) {
        print_reduce(g, n, p->s);
        return;
    }
    uint32_t step = kind == LLFI_ATTR_KIND_RANGES ? LLFI_RANGE_WORDS
                    : kind == LLFI_ATTR_KIND_PADS ? LLFI_PAD_WORDS
                                                  : 1;
    llfi_str_printf(p->s, ", %s=[", llfi_attr_name(llfi_ops[n->op].attr));
    for (uint32_t i = 0; i < l.count / step; i++) {
        llfi_str_puts(p->s, i ? ", " : "");
        if (kind == LLFI_ATTR_KIND_INTS) {
            llfi_str_printf(p->s, "%lld", (long long)l.at[i]);
        } else if (kind == LLFI_ATTR_KIND_DIMS) {
            llfi_dim_print(g->dims, (llfi_dim)l.at[i], p->s);
        } else if (kind == LLFI_ATTR_KIND_PADS) {
            print_pad(g, l.at[LLFI_PAD_WORDS * i], p->s);
            llfi_str_puts(p->s, ":");
            print_pad(g, l.at[LLFI_PAD_WORDS * i + 1], p->s);
        } else {
            llfi_range r = llfi_range_at(g, n->attr, i);
            print_range(g, llfi_type_of(g, n->arg[0]).dim[i], &r, p->s);
        }
    }
    llfi_str_puts(p->s, "]");
}

static void print_attr(printer *p, const llfi_node *n)
{
    llfi_attr_id attr = llfi_ops[n->op].attr;
    if (attr == LLFI_ATTR_NONE)
        return;
    llfi_attr_kind kind = llfi_attr_kind_of(attr);
    if (kind >= LLFI_ATTR_KIND_INTS) {
        print_list(p, n, kind);
        return;
    }
    if (kind == LLFI_ATTR_KIND_INT) {
        llfi_str_printf(p->s, ", %s=%llu", llfi_attr_name(attr), (unsigned long long)n->attr);
        return;
    }
    if (kind == LLFI_ATTR_KIND_DTYPE) {
        llfi_str_printf(p->s, ", %s=%s", llfi_attr_name(attr), llf_dtype_name((llf_dtype)n->attr));
        return;
    }
    size_t bytes;
    const char *word = llfi_attr_word_text(attr, n->attr, &bytes);
    if (n->attr != 0 && word)
        llfi_str_printf(p->s, ", %s=%.*s", llfi_attr_name(attr), (int)bytes, word);
}

static void print_node(printer *p, llf_id id)
{
    const llfi_node *n = llfi_node_at(p->g, id);
    llfi_str_puts(p->s, "  ");
    print_value(p, id);
    for (uint32_t k = 1; k < llfi_op_results(&llfi_ops[n->op]); k++) {
        llfi_str_puts(p->s, ", ");
        print_value(p, id + k);
    }
    llfi_str_puts(p->s, " = ");
    llfi_str_puts(p->s, llfi_ops[n->op].name);
    for (uint32_t i = 0; i < n->arity; i++) {
        llfi_str_puts(p->s, i ? ", " : " ");
        print_operand(p, llfi_args(p->g, n)[i], needs_suffix(p->g, n, i));
    }
    print_attr(p, n);
}

static void print_signature(printer *p)
{
    const llf_graph *g = p->g;
    for (size_t i = 0; i < g->directives.count; i++)
        llfi_str_printf(p->s, "; %s\n", llfi_name(g, g->directives.at[i]));
    llfi_str_printf(p->s, "graph @%s(", llfi_name(g, g->name));
    for (size_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llfi_str_puts(p->s, i ? ", " : "");
        print_value(p, id);
        llfi_str_puts(p->s, ": ");
        if (llfi_node_at(g, id)->scalar)
            llfi_str_printf(p->s, "scalar %s", llf_dtype_name(llfi_dtype_of(g, id)));
        else
            llfi_type_print(g, llfi_node_at(g, id)->type, p->s);
    }
    llfi_str_puts(p->s, ") {\n");
}

static void print_labels(printer *p, llf_id id, llfi_label_fn *labels, void *user)
{
    static const char *const hint[] = {"", " !fuse", " !apart"};
    uint8_t h = llfi_node_at(p->g, id)->hint;
    llfi_str_puts(p->s, hint[h]);
    if (labels)
        labels(user, id, h != LLF_HINT_NONE, p->s);
}

llf_status llfi_print(const llf_graph *g, llfi_str *s, llfi_label_fn *labels, void *user)
{
    llfi_arena arena;
    llfi_arena_init(&arena, &g->cx->mem);
    printer p = {.g = g, .s = s, .name = llfi_names_make(g, &arena)};
    bool ok = p.name != NULL;
    if (ok) {
        print_signature(&p);
        for (llf_id id = 0; id < g->nodes.count; id++) {
            uint16_t op = g->nodes.at[id].op;
            if (op == LLF_OP_INPUT || op == LLF_OP_CONST || op == LLF_OP_RESULT)
                continue;
            print_node(&p, id);
            print_labels(&p, id, labels, user);
            llfi_str_puts(s, "\n");
        }
        if (g->outputs.count)
            llfi_str_puts(s, "  ret ");
        for (size_t i = 0; i < g->outputs.count; i++) {
            llfi_str_puts(s, i ? ", " : "");
            print_operand(&p, g->outputs.at[i], true);
        }
        llfi_str_puts(s, g->outputs.count ? "\n}\n" : "}\n");
    }
    llfi_arena_destroy(&arena);
    return ok && !s->failed ? LLF_OK : llfi_nomem(&g->cx->diag);
}

llf_status llf_graph_print(llf_context *cx, const llf_graph *g, char **text, size_t *bytes)
{
    if (!cx)
        return LLF_E_ARG;
    if (!g || !text || !bytes)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_graph_print: an argument is NULL");
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llf_status status = llfi_print(g, &s, NULL, NULL);
    if (status == LLF_OK && !llfi_str_take(&s, text, bytes))
        status = llfi_nomem(&cx->diag);
    else if (status != LLF_OK && cx != g->cx) /* the message is in the graph's own context */
        status = llfi_nomem(&cx->diag);
    llfi_str_free(&s);
    return status;
}
