/* name.c: what values are called in the printed text. Values without a name are numbered in order; of values
 * that share a name the first keeps it and the others become name_1, name_2, ... Must not change the graph.
 */
#include "ir/ir.h"

typedef struct {
    const llf_graph *g;
    llfi_value_name *at;
    uint32_t *next; /* by the node that owns a name: last suffix given */
    llfi_map owner; /* name offset -> node */
    uint32_t numbered;
} namer;

static bool taken(const llf_graph *g, const char *text, size_t bytes)
{
    size_t cursor = 0;
    for (uint32_t at; (at = llfi_map_next(&g->name_map, llfi_hash(0, text, bytes), &cursor)) != UINT32_MAX;) {
        if (strcmp(g->names.at + at, text) == 0)
            return true;
    }
    return false;
}

/* name_<k> that is no name of the graph. Two bases never give the same text, since the last '_' splits it. */
static void make_suffix(namer *n, llf_id id, uint32_t name, llf_id owner)
{
    char text[LLFI_MAX_NAME + 16];
    for (;;) {
        uint32_t k = ++n->next[owner];
        int length = snprintf(text, sizeof text, "%s_%u", llfi_name(n->g, name), k);
        if (length > (int)LLFI_MAX_NAME) {
            n->at[id] = (llfi_value_name){0, n->numbered++};
            return;
        }
        if (!taken(n->g, text, (size_t)length)) {
            n->at[id] = (llfi_value_name){name, k};
            return;
        }
    }
}

static bool claim(namer *n, llf_id id)
{
    uint32_t name = llfi_node_at(n->g, id)->name;
    if (name == 0) {
        n->at[id] = (llfi_value_name){0, n->numbered++};
        return true;
    }
    uint64_t hash = llfi_hash_u64(0, name);
    size_t cursor = 0;
    for (llf_id owner; (owner = llfi_map_next(&n->owner, hash, &cursor)) != UINT32_MAX;) {
        if (llfi_node_at(n->g, owner)->name == name) {
            make_suffix(n, id, name, owner);
            return true;
        }
    }
    n->at[id] = (llfi_value_name){name, 0};
    return llfi_map_add(&n->g->cx->mem, &n->owner, hash, id);
}

static bool claim_all(namer *n)
{
    const llf_graph *g = n->g;
    for (size_t i = 0; i < g->inputs.count; i++) {
        if (!claim(n, g->inputs.at[i]))
            return false;
    }
    for (llf_id id = 0; id < g->nodes.count; id++) {
        uint16_t op = g->nodes.at[id].op;
        if (op != LLF_OP_INPUT && op != LLF_OP_CONST && !claim(n, id))
            return false;
    }
    return true;
}

/* *numbered: the next number. */
static llfi_value_name *make(const llf_graph *g, llfi_arena *arena, uint32_t *numbered)
{
    size_t nodes = g->nodes.count + 1;
    namer n = {.g = g, .at = llfi_arena_alloc(arena, nodes * sizeof *n.at)};
    n.next = llfi_alloc_zero(&g->cx->mem, nodes * sizeof *n.next);
    bool ok = n.at && n.next && claim_all(&n);
    llfi_map_free(&g->cx->mem, &n.owner);
    llfi_free(&g->cx->mem, n.next, nodes * sizeof *n.next);
    *numbered = n.numbered;
    return ok ? n.at : NULL;
}

llfi_value_name *llfi_names_make(const llf_graph *g, llfi_arena *arena)
{
    uint32_t numbered;
    return make(g, arena, &numbered);
}

void llfi_names_put(const llf_graph *g, const llfi_value_name *names, llf_id id, llfi_str *s)
{
    llfi_value_name n = names[id];
    llfi_str_puts(s, "%");
    if (n.name)
        llfi_str_puts(s, llfi_name(g, n.name));
    if (!n.name)
        llfi_str_printf(s, "%u", n.number);
    else if (n.number)
        llfi_str_printf(s, "_%u", n.number);
}

llfi_shown llfi_show_value(const llf_graph *g, llf_id id)
{
    llfi_shown shown = {"%?"};
    llfi_arena arena;
    llfi_str s;
    llfi_arena_init(&arena, &g->cx->mem);
    llfi_str_init(&s, &g->cx->mem);
    const llfi_value_name *names = llfi_names_make(g, &arena);
    if (names)
        llfi_names_put(g, names, id, &s);
    if (s.at && !s.failed) {
        size_t cut = s.len < sizeof shown.text ? s.len : sizeof shown.text - 4;
        memcpy(shown.text, s.at, cut);
        strcpy(shown.text + cut, cut < s.len ? "..." : "");
    }
    llfi_str_free(&s);
    llfi_arena_destroy(&arena);
    return shown;
}

llfi_shown llfi_show_next(const llf_graph *g)
{
    llfi_shown shown = {"%?"};
    llfi_arena arena;
    uint32_t next;
    llfi_arena_init(&arena, &g->cx->mem);
    if (make(g, &arena, &next))
        snprintf(shown.text, sizeof shown.text, "%%%u", next);
    llfi_arena_destroy(&arena);
    return shown;
}
