/* plan_read.c: a plan from its text: labels to kernels, with the stores that follow from them. It invents
 * nothing and repairs nothing: verify.c judges what was written, and says where. Numbers of kernels give
 * their order alone; gaps close. Cost: linear in the labels, but for sorting their numbers. */
#include "fuse/fuse.h"

/* ---- the line above the graph */

static llfi_place line_place(const llf_graph *text)
{
    return (llfi_place){text->file, text->plan_at, 1};
}

/* "graph=HASH": the text below must be what the hash was made of. Another version's hashes say nothing here.
 */
static llf_status check_hash(const llf_graph *text, const char *hash, bool comparable)
{
    char have[20];
    uint64_t h = llfi_graph_hash(text);
    if (!h)
        return llfi_nomem(&text->cx->diag);
    snprintf(have, sizeof have, "%016llx", (unsigned long long)h);
    if (!comparable || !strcmp(have, hash))
        return LLF_OK;
    return llfi_fail_at(
        &text->cx->diag, LLF_E_PLAN, line_place(text), NULL,
        "the plan is for graph %.32s, but the graph below it is %s: more than its labels was edited", hash,
        have);
}

/* One "name=value" of the line, made of words without blanks. */
static llf_status line_word(const llf_graph *text, const char *word, llfi_params *params, char *hash,
                            bool *comparable)
{
    if (!strncmp(word, "graph=", 6) && !hash[0]) {
        snprintf(hash, 33, "%.32s", word + 6);
        return LLF_OK;
    }
    if (!strncmp(word, "llfuse=", 7)) {
        *comparable = !strcmp(word + 7, llf_version());
        return LLF_OK;
    }
    if (!strncmp(word, "target=", 7)) /* what it was made for; what it is used for is judged anew */
        return LLF_OK;
    llfi_diag why = {0};
    if (llfi_params_set(&why, params, word) == LLF_OK)
        return LLF_OK;
    return llfi_fail_at(&text->cx->diag, LLF_E_PLAN, line_place(text), NULL, "the plan's line: %s",
                        why.message);
}

llf_status llfi_plan_line_read(const llf_graph *text, llfi_params *params)
{
    char hash[33] = "", word[256];
    bool comparable = true;
    if (!text->plan_line)
        return LLF_OK;
    const char *at = llfi_name(text, text->plan_line);
    if (!strcmp(at, "twice"))
        return llfi_fail_at(&text->cx->diag, LLF_E_PLAN, line_place(text), NULL, "a second plan's line");
    for (at += strlen("plan"); *at;) {
        at += strspn(at, " \t");
        size_t bytes = strcspn(at, " \t");
        if (bytes >= sizeof word)
            return llfi_fail_at(&text->cx->diag, LLF_E_PLAN, line_place(text), NULL,
                                "the plan's line: \"%.40s...\" is too long", at);
        memcpy(word, at, bytes);
        word[bytes] = 0;
        if (bytes)
            LLF_TRY(line_word(text, word, params, hash, &comparable));
        at += bytes;
    }
    return check_hash(text, hash, comparable);
}

/* ---- labels */

typedef struct {
    const llf_graph *g;
    llfi_plan *p;
    llfi_arena scratch;
    uint32_t *number; /* numbers that labels have, rising: by kernel */
    uint32_t *last;   /* by kernel: last node that has it, plus 1 */
    uint32_t *first;  /* by node: its first kernel, plus 1 */
    uint32_t *inside; /* by node: last kernel seen that has it, plus 1 */
    bool *stored;     /* by node */
    bool *live;       /* by node: some output needs it */
    const llf_id *source;
} reader;

static llf_status number_kernels(reader *r)
{
    size_t n = r->g->labels.count;
    r->number = llfi_arena_alloc(&r->scratch, (n + 1) * sizeof *r->number);
    r->last = llfi_arena_alloc(&r->scratch, (n + 1) * sizeof *r->last);
    r->p->kernel = llfi_arena_alloc(&r->p->arena, (n + 1) * sizeof *r->p->kernel);
    if (!r->number || !r->last || !r->p->kernel)
        return llfi_nomem(&r->g->cx->diag);
    for (size_t i = 0; i < n; i++)
        r->number[i] = r->g->labels.at[i].kernel;
    llfi_sort(r->number, (uint32_t)n, NULL, NULL);
    r->p->kernels = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || r->number[i] != r->number[i - 1])
            r->number[r->p->kernels++] = r->number[i];
    return LLF_OK;
}

static uint32_t kernel_of(const reader *r, const llfi_label *l)
{
    return llfi_sorted_at(r->number, r->p->kernels, l->kernel);
}

static llf_status refuse(const reader *r, const llfi_label *l, const char *why)
{
    return llfi_fail_at(&r->g->cx->diag, LLF_E_PLAN, (llfi_place){r->g->file, l->line, l->col},
                        llfi_ops[llfi_node_at(r->g, l->node)->op].name, "k%u at %s: %s", l->kernel,
                        llfi_show_value(r->g, l->node).text, why);
}

static void add(reader *r, uint32_t k, llf_id id, int round)
{
    llfi_kernel *kn = &r->p->kernel[k];
    if (!r->first[id] || k + 1 < r->first[id])
        r->first[id] = k + 1;
    if (round)
        kn->member[kn->members] = id;
    kn->members++;
}

/* Counts members (round 0), then writes them in the order of nodes. Further results have no label of their
 * own. */
static llf_status fill(reader *r, int round)
{
    for (size_t i = 0; i < r->g->labels.count; i++) {
        const llfi_label *l = &r->g->labels.at[i];
        uint32_t k = kernel_of(r, l);
        llfi_class cls = llfi_ops[llfi_node_at(r->g, l->node)->op].cls;
        if (round == 0 && !llfi_kernel_takes(cls))
            return refuse(r, l,
                          cls == LLFI_CLASS_VIEW ? "a view is in no kernel: it is computed where it is read"
                                                 : "a plan has primitives only: it is made after decompose");
        if (round == 0 && r->last[k] == l->node + 1)
            return refuse(r, l, "the same kernel stands twice");
        r->last[k] = l->node + 1;
        add(r, k, l->node, round);
        for (uint32_t n = 1; n < llfi_op_results(&llfi_ops[llfi_node_at(r->g, l->node)->op]); n++)
            if (r->live[l->node + n])
                add(r, k, l->node + n, round);
    }
    return LLF_OK;
}

static llf_status members(reader *r)
{
    LLF_TRY(fill(r, 0));
    for (uint32_t k = 0; k < r->p->kernels; k++) {
        llfi_kernel *kn = &r->p->kernel[k];
        kn->member = llfi_arena_alloc(&r->p->arena, kn->members * sizeof *kn->member);
        kn->store = llfi_arena_alloc(&r->p->arena, kn->members * sizeof *kn->store);
        kn->parts = 1;
        if (!kn->member || !kn->store)
            return llfi_nomem(&r->g->cx->diag);
        kn->members = 0;
    }
    return fill(r, 1);
}

static bool find_live(reader *r)
{
    const llf_graph *g = r->g;
    r->live = llfi_arena_alloc(&r->scratch, g->nodes.count + 1);
    for (size_t i = 0; r->live && i < g->outputs.count; i++)
        r->live[g->outputs.at[i]] = true;
    for (size_t i = g->nodes.count; r->live && i-- > 0;)
        for (uint32_t k = 0; r->live[i] && k < g->nodes.at[i].arity; k++)
            r->live[llfi_args(g, &g->nodes.at[i])[k]] = true;
    return r->live != NULL;
}

/* Is every node that an output needs in a kernel? Asked first: what misses it would be blamed otherwise. */
static llf_status placed(reader *r)
{
    const llf_graph *g = r->g;
    for (llf_id id = 0; id < g->nodes.count; id++) {
        const llfi_op_info *op = &llfi_ops[llfi_node_at(g, id)->op];
        if (r->live[id] && !r->first[id] && (llfi_kernel_takes(op->cls) || op->cls == LLFI_CLASS_COMPOSITE))
            return llfi_fail_at(&g->cx->diag, LLF_E_PLAN, llfi_place_of(g, id), op->name,
                                "%s is in no kernel", llfi_show_value(g, id).text);
    }
    return LLF_OK;
}

/* The store rule: a value is stored by the first kernel that has it, if an output or read by a kernel that
 * has it not. */
static void stores(reader *r)
{
    for (size_t i = 0; i < r->g->outputs.count; i++)
        r->stored[r->g->outputs.at[i]] = true;
    for (uint32_t k = 0; k < r->p->kernels; k++) {
        const llfi_kernel *kn = &r->p->kernel[k];
        for (uint32_t i = 0; i < kn->members; i++)
            r->inside[kn->member[i]] = k + 1;
        for (uint32_t i = 0; i < kn->members; i++) {
            const llfi_node *n = llfi_node_at(r->g, kn->member[i]);
            for (uint32_t a = 0; a < n->arity; a++)
                if (r->inside[r->source[llfi_args(r->g, n)[a]]] != k + 1)
                    r->stored[r->source[llfi_args(r->g, n)[a]]] = true;
        }
    }
    for (uint32_t k = 0; k < r->p->kernels; k++) {
        llfi_kernel *kn = &r->p->kernel[k];
        for (uint32_t i = 0; i < kn->members; i++)
            if (r->stored[kn->member[i]] && r->first[kn->member[i]] == k + 1)
                kn->store[kn->stores++] = kn->member[i];
        kn->space = llfi_node_at(r->g, kn->stores ? kn->store[0] : kn->member[0])->type;
    }
}

static llf_status read_labels(reader *r)
{
    size_t n = r->g->nodes.count + 1;
    if (!r->g->labels.count)
        return llfi_fail_at(&r->g->cx->diag, LLF_E_PLAN, (llfi_place){r->g->file, 1, 1}, NULL,
                            "no plan: no node says what kernel it is in (!k0)");
    r->first = llfi_arena_alloc(&r->scratch, n * sizeof *r->first);
    r->inside = llfi_arena_alloc(&r->scratch, n * sizeof *r->inside);
    r->stored = llfi_arena_alloc(&r->scratch, n);
    r->source = llfi_sources_make(r->g, &r->scratch);
    if (!r->first || !r->inside || !r->stored || !r->source || !find_live(r))
        return llfi_nomem(&r->g->cx->diag);
    LLF_TRY(number_kernels(r));
    LLF_TRY(members(r));
    LLF_TRY(placed(r));
    stores(r);
    r->p->graph_hash = llfi_graph_hash(r->g);
    return r->p->graph_hash ? LLF_OK : llfi_nomem(&r->g->cx->diag);
}

static void limits(const llfi_fuse_options *o, llfi_plan *p)
{
    p->max_nodes = (uint32_t)o->params.max_kernel_nodes;
    p->max_buffers = (uint32_t)o->params.max_kernel_buffers;
    p->max_params = o->param_bytes;
    p->load_hint = (uint32_t)o->params.load_hint;
    p->store_hint = (uint32_t)o->params.store_hint;
}

llf_status llfi_plan_read(const llf_graph *text, const llfi_fuse_options *o, llfi_plan *p)
{
    const llf_allocator *mem = p->mem;
    llfi_plan_destroy(p);
    llfi_plan_init(p, mem);
    limits(o, p);
    reader r = {.g = text, .p = p};
    llfi_arena_init(&r.scratch, mem);
    llf_status st = read_labels(&r);
    llfi_arena_destroy(&r.scratch);
    if (st == LLF_OK)
        st = llfi_plan_parts(text, p);
    return st == LLF_OK ? llfi_plan_verify(text, p) : st;
}

/* ---- from the text's nodes to the graph's */

static llf_status another_graph(const llf_graph *text, const llfi_plan *p, const llf_graph *g,
                                const llfi_difference *d)
{
    uint64_t h = llfi_graph_hash(g);
    if (!h)
        return llfi_nomem(&text->cx->diag);
    llfi_place at = d->node == LLF_NONE ? (llfi_place){text->file, text->plan_at ? text->plan_at : 1, 1}
                                        : llfi_place_of(text, d->node);
    return llfi_fail_at(&text->cx->diag, LLF_E_PLAN, at, NULL,
                        "the plan is for another graph: %016llx, not %016llx: %s",
                        (unsigned long long)p->graph_hash, (unsigned long long)h, d->text);
}

static bool move_kernel(const llfi_kernel *from, const llf_id *to, llfi_arena *arena, const llf_graph *g,
                        llfi_kernel *k)
{
    *k = *from;
    k->member = llfi_arena_alloc(arena, from->members * sizeof *k->member);
    k->store = llfi_arena_alloc(arena, from->stores * sizeof *k->store);
    if (!k->member || !k->store)
        return false;
    for (uint32_t i = 0; i < from->members; i++)
        k->member[i] = to[from->member[i]];
    for (uint32_t i = 0; i < from->stores; i++)
        k->store[i] = to[from->store[i]];
    k->space = llfi_node_at(g, k->store[0])->type;
    return true;
}

static llf_status move(const llf_graph *text, const llfi_plan *p, const llf_graph *g, llfi_arena *scratch,
                       llfi_plan *moved)
{
    llfi_difference d;
    uint32_t lines;
    LLF_TRY(llfi_same(text, "the plan", g, "the graph", scratch, &d));
    if (d.differs)
        return another_graph(text, p, g, &d);
    const llf_id *a = llfi_lines_make(text, scratch, &lines), *b = llfi_lines_make(g, scratch, &lines);
    llf_id *to = llfi_arena_alloc(scratch, (text->nodes.count + 1) * sizeof *to);
    moved->kernel = llfi_arena_alloc(&moved->arena, (p->kernels + 1) * sizeof *moved->kernel);
    bool ok = a && b && to && moved->kernel;
    for (uint32_t i = 0; ok && i < lines; i++)
        for (uint32_t k = 0; k < llfi_op_results(&llfi_ops[llfi_node_at(text, a[i])->op]); k++)
            to[a[i] + k] = b[i] + k;
    for (uint32_t k = 0; ok && k < p->kernels; k++)
        ok = move_kernel(&p->kernel[k], to, &moved->arena, g, &moved->kernel[k]);
    if (!ok)
        return llfi_nomem(&text->cx->diag);
    moved->kernels = p->kernels;
    moved->graph_hash = p->graph_hash;
    moved->max_nodes = p->max_nodes;
    moved->max_buffers = p->max_buffers;
    moved->max_params = p->max_params;
    moved->load_hint = p->load_hint;
    moved->store_hint = p->store_hint;
    return LLF_OK;
}

llf_status llfi_plan_move(const llf_graph *text, const llfi_plan *p, const llf_graph *g, llfi_plan *moved)
{
    const llf_allocator *mem = moved->mem;
    llfi_arena scratch;
    llfi_plan_destroy(moved);
    llfi_plan_init(moved, mem);
    llfi_arena_init(&scratch, mem);
    llf_status st = move(text, p, g, &scratch, moved);
    llfi_arena_destroy(&scratch);
    if (st == LLF_OK)
        st = llfi_plan_parts(g, moved);
    return st == LLF_OK ? llfi_plan_verify(g, moved) : st;
}
