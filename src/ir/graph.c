/* graph.c: the graph's pools: names, types, nodes; creation, clone, hash, users.
 * Must not judge: inference is infer.c's, invariants are verify.c's. */
#include "ir/ir.h"

bool llfi_name_valid(const char *text, size_t bytes)
{
    if (bytes == 0 || bytes > LLFI_MAX_NAME)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == '.' || c == '-';
        if (!ok)
            return false;
    }
    return true;
}

const char *llfi_name(const llf_graph *g, uint32_t offset)
{
    return g->names.at + offset;
}

uint32_t llfi_name_add(llf_graph *g, const char *text, size_t bytes)
{
    if (bytes == 0)
        return 0;
    uint64_t hash = llfi_hash(0, text, bytes);
    size_t cursor = 0;
    for (uint32_t at; (at = llfi_map_next(&g->name_map, hash, &cursor)) != UINT32_MAX;) {
        if (strncmp(g->names.at + at, text, bytes) == 0 && g->names.at[at + bytes] == 0)
            return at;
    }
    const llf_allocator *mem = &g->cx->mem;
    size_t at = g->names.count;
    if (bytes >= UINT32_MAX - 1 - at || !llfi_vec_reserve(mem, &g->names, bytes + 1) ||
        !llfi_map_add(mem, &g->name_map, hash, (uint32_t)at))
        return UINT32_MAX;
    memcpy(g->names.at + at, text, bytes);
    g->names.at[at + bytes] = 0;
    g->names.count += bytes + 1;
    return (uint32_t)at;
}

/* A type's id is where its record (dtype, rank, dims) begins. */
llfi_type llfi_type_at(const llf_graph *g, uint32_t type)
{
    const uint32_t *t = g->types.at + type;
    return (llfi_type){(llf_dtype)t[0], t[1], t + 2};
}

uint32_t llfi_type_make(llf_graph *g, llf_dtype dtype, uint32_t rank, const llfi_dim *dim)
{
    uint32_t rec[2 + LLFI_RANK] = {(uint32_t)dtype, rank};
    assert(rank <= LLFI_RANK);
    if (rank)
        memcpy(rec + 2, dim, rank * sizeof *dim);
    size_t n = 2 + (size_t)rank, cursor = 0;
    uint64_t hash = llfi_hash(0, rec, n * sizeof *rec);
    for (uint32_t at; (at = llfi_map_next(&g->type_map, hash, &cursor)) != UINT32_MAX;) {
        if (g->types.at[at + 1] == rank && memcmp(g->types.at + at, rec, n * sizeof *rec) == 0)
            return at;
    }
    const llf_allocator *mem = &g->cx->mem;
    uint32_t at = (uint32_t)g->types.count;
    if (g->types.count > UINT32_MAX - 64 || !llfi_vec_reserve(mem, &g->types, n) ||
        !llfi_map_add(mem, &g->type_map, hash, at))
        return UINT32_MAX;
    memcpy(g->types.at + at, rec, n * sizeof *rec);
    g->types.count += n;
    return at;
}

uint32_t llfi_list_make(llf_graph *g, uint32_t count, const int64_t *word)
{
    size_t bytes = count * sizeof *word, cursor = 0;
    uint64_t hash = llfi_hash(count, word, bytes);
    for (uint32_t at; (at = llfi_map_next(&g->list_map, hash, &cursor)) != UINT32_MAX;) {
        llfi_list l = llfi_list_at(g, at);
        if (l.count == count && (count == 0 || memcmp(l.at, word, bytes) == 0))
            return at;
    }
    const llf_allocator *mem = &g->cx->mem;
    uint32_t at = (uint32_t)g->lists.count;
    if (g->lists.count > UINT32_MAX - 1024 || !llfi_vec_reserve(mem, &g->lists, (size_t)count + 1) ||
        !llfi_map_add(mem, &g->list_map, hash, at))
        return UINT32_MAX;
    g->lists.at[at] = count;
    if (count)
        memcpy(g->lists.at + at + 1, word, bytes);
    g->lists.count += (size_t)count + 1;
    return at;
}

llfi_list llfi_list_at(const llf_graph *g, uint64_t offset)
{
    const int64_t *at = g->lists.at + offset;
    return (llfi_list){(uint32_t)at[0], at + 1};
}

static bool is_dim(llfi_attr_kind kind, uint32_t word)
{
    return kind == LLFI_ATTR_KIND_DIMS || (kind == LLFI_ATTR_KIND_RANGES && word % LLFI_RANGE_WORDS < 2) ||
           (kind == LLFI_ATTR_KIND_IOTA && word >= LLFI_IOTA_DIMS) ||
           (kind == LLFI_ATTR_KIND_COUNT && word >= LLFI_COUNT_DIMS);
}

static bool reduce_ok(llfi_list l)
{
    int64_t out = l.at[LLFI_REDUCE_OUT], last = -1;
    bool ok = (uint64_t)l.at[LLFI_REDUCE_KEEPDIMS] < 2 && out >= LLFI_REDUCE_NO_OUT && out < LLF_DTYPES;
    for (uint32_t i = LLFI_REDUCE_AXES; i < l.count; last = l.at[i++])
        ok = ok && l.at[i] > last && l.at[i] < LLFI_RANK;
    return ok;
}

bool llfi_list_ok(const llf_graph *g, llfi_attr_kind kind, uint64_t offset)
{
    if (offset >= g->lists.count || g->lists.at[offset] < 0 ||
        (uint64_t)g->lists.at[offset] >= g->lists.count - offset)
        return false;
    llfi_list l = llfi_list_at(g, offset);
    uint32_t each = kind == LLFI_ATTR_KIND_RANGES ? LLFI_RANGE_WORDS
                    : kind == LLFI_ATTR_KIND_PADS ? LLFI_PAD_WORDS
                                                  : 1;
    if (kind == LLFI_ATTR_KIND_SETTINGS)
        return llfi_settings_ok(l);
    uint32_t head = kind == LLFI_ATTR_KIND_IOTA     ? LLFI_IOTA_DIMS
                    : kind == LLFI_ATTR_KIND_COUNT  ? LLFI_COUNT_DIMS
                    : kind == LLFI_ATTR_KIND_REDUCE ? LLFI_REDUCE_AXES
                                                    : 0;
    if (l.count < head || l.count > LLFI_RANK * each + head)
        return false;
    int64_t dims = llfi_dims_count(g->dims);
    for (uint32_t i = 0; i < l.count; i++) {
        bool stop = kind == LLFI_ATTR_KIND_RANGES && i % LLFI_RANGE_WORDS == 3;
        if (is_dim(kind, i) && (l.at[i] < 0 || l.at[i] >= dims))
            return false;
        if (kind == LLFI_ATTR_KIND_PADS && l.at[i] >= dims)
            return false;
        if (stop && (l.at[i] < LLFI_STOP_WHOLE || l.at[i] >= dims))
            return false;
    }
    if (kind == LLFI_ATTR_KIND_IOTA)
        return (uint64_t)l.at[LLFI_IOTA_DTYPE] < LLF_DTYPES && (uint64_t)l.at[LLFI_IOTA_AXIS] < LLFI_RANK;
    if (kind == LLFI_ATTR_KIND_COUNT)
        return (uint64_t)l.at[LLFI_COUNT_DTYPE] < LLF_DTYPES;
    if (kind == LLFI_ATTR_KIND_REDUCE)
        return reduce_ok(l);
    return l.count % each == 0;
}

bool llfi_list_word_is_dim(llfi_attr_kind kind, uint32_t word, int64_t value)
{
    bool stop = kind == LLFI_ATTR_KIND_RANGES && word % LLFI_RANGE_WORDS == 3;
    return is_dim(kind, word) || ((stop || kind == LLFI_ATTR_KIND_PADS) && value >= 0);
}

llfi_range llfi_range_at(const llf_graph *g, uint64_t offset, uint32_t axis)
{
    const int64_t *w = llfi_list_at(g, offset).at + axis * LLFI_RANGE_WORDS;
    return (llfi_range){(llfi_dim)w[0], (llfi_dim)w[1], w[2], w[3]};
}

static uint64_t hash_list(const llf_graph *g, uint64_t h, llfi_attr_kind kind, uint64_t offset)
{
    llfi_list l = llfi_list_at(g, offset);
    h = llfi_hash_u64(h, l.count);
    for (uint32_t i = 0; i < l.count; i++)
        h = llfi_hash_u64(h, llfi_list_word_is_dim(kind, i, l.at[i])
                                 ? llfi_dim_hash(g->dims, (llfi_dim)l.at[i])
                                 : (uint64_t)l.at[i]);
    return h;
}

llfi_dim llfi_numel(llf_graph *g, uint32_t type)
{
    llfi_type t = llfi_type_at(g, type);
    int64_t c;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (llfi_dim_is_const(g->dims, t.dim[i], &c) && c == 0)
            return t.dim[i]; /* no product of the others may overflow then */
    }
    llfi_dim n = llfi_dim_const(g->dims, 1);
    for (uint32_t i = 0; i < t.rank; i++)
        n = llfi_dim_mul(g->dims, n, t.dim[i]);
    return n;
}

llf_status llfi_type_size(const llf_graph *g, llfi_type t, const int64_t *symbol, int64_t unit, int64_t *size)
{
    int64_t product = unit, extent;
    bool over = false, empty = false;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (!llfi_dim_eval(g->dims, t.dim[i], symbol, &extent))
            return LLF_E_GUARD;
        empty |= extent == 0;
        over |= __builtin_mul_overflow(product, extent, &product);
    }
    if (over && !empty)
        return LLF_E_LIMIT;
    *size = empty ? 0 : product;
    return LLF_OK;
}

llfi_place llfi_place_of(const llf_graph *g, llf_id id)
{
    const llfi_node *n = llfi_node_at(g, id);
    return (llfi_place){g->file, n->line, n->col};
}

void llfi_type_print(const llf_graph *g, uint32_t type, llfi_str *s)
{
    llfi_type t = llfi_type_at(g, type);
    llfi_str_puts(s, llf_dtype_name(t.dtype));
    llfi_str_puts(s, "[");
    for (uint32_t i = 0; i < t.rank; i++) {
        llfi_str_puts(s, i ? ", " : "");
        llfi_dim_print(g->dims, t.dim[i], s);
    }
    llfi_str_puts(s, "]");
}

void llfi_node_hint(llfi_node *n, llf_hint_kind hint)
{
    llfi_class cls = llfi_ops[n->op].cls;
    if ((cls == LLFI_CLASS_EW || cls == LLFI_CLASS_COMPOSITE || cls == LLFI_CLASS_REDUCE) && hint > n->hint)
        n->hint = (uint8_t)hint;
}

static uint64_t hash_type(const llf_graph *g, uint64_t h, uint32_t type)
{
    llfi_type t = llfi_type_at(g, type);
    h = llfi_hash_u64(h, (uint64_t)t.dtype << 8 | t.rank);
    for (uint32_t i = 0; i < t.rank; i++)
        h = llfi_hash_u64(h, llfi_dim_hash(g->dims, t.dim[i]));
    return h;
}

static uint64_t hash_use(const llf_graph *g, uint64_t h, llf_id id, const uint32_t *ordinal)
{
    const llfi_node *n = llfi_node_at(g, id);
    if (n->op != LLF_OP_CONST)
        return llfi_hash_u64(h, ordinal[id]);
    return llfi_hash_u64(hash_type(g, h ^ LLF_OP_CONST, n->type), n->attr);
}

uint64_t llfi_graph_hash(const llf_graph *g)
{
    size_t n = g->nodes.count;
    uint32_t *ordinal = llfi_alloc(&g->cx->mem, n * sizeof *ordinal);
    if (!ordinal)
        return 0;
    uint64_t h = llfi_hash_u64(0, g->inputs.count);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const llfi_node *in = llfi_node_at(g, g->inputs.at[i]);
        ordinal[g->inputs.at[i]] = (uint32_t)i;
        h = hash_type(g, llfi_hash_u64(h, in->scalar), in->type);
    }
    uint32_t next = (uint32_t)g->inputs.count;
    for (size_t i = 0; i < n; i++) {
        const llfi_node *node = &g->nodes.at[i];
        if (node->op == LLF_OP_INPUT || node->op == LLF_OP_CONST)
            continue;
        ordinal[i] = next++;
        h = hash_type(g, llfi_hash_u64(h, node->op), node->type);
        llfi_attr_kind kind = llfi_attr_kind_of(llfi_ops[node->op].attr);
        h = kind >= LLFI_ATTR_KIND_INTS ? hash_list(g, h, kind, node->attr) : llfi_hash_u64(h, node->attr);
        if (llfi_op_least(&llfi_ops[node->op]) != llfi_op_most(&llfi_ops[node->op]))
            h = llfi_hash_u64(h, node->arity);
        for (uint32_t a = 0; a < node->arity; a++)
            h = hash_use(g, h, llfi_args(g, node)[a], ordinal);
    }
    h = llfi_hash_u64(h, g->outputs.count);
    for (size_t i = 0; i < g->outputs.count; i++)
        h = hash_use(g, h, g->outputs.at[i], ordinal);
    llfi_free(&g->cx->mem, ordinal, n * sizeof *ordinal);
    return h ? h : 1;
}

static llf_graph *create(llf_context *cx)
{
    llf_graph *g = llfi_alloc_zero(&cx->mem, sizeof *g);
    if (!g)
        return NULL;
    g->cx = cx;
    g->props = LLFI_P_TYPED;
    return g;
}

llf_graph *llf_graph_create(llf_context *cx, const char *name)
{
    if (!cx)
        return NULL;
    if (!name)
        name = "main";
    size_t bytes = strlen(name);
    if (!llfi_name_valid(name, bytes)) {
        llfi_fail(&cx->diag, LLF_E_ARG,
                  "llf_graph_create: bad name: letters, digits, '_', '.', '-', at most %u bytes",
                  LLFI_MAX_NAME);
        return NULL;
    }
    llf_graph *g = create(cx);
    if (g) {
        g->dims = llfi_dims_create(&cx->mem);
        bool ok = g->dims && llfi_vec_reserve(&cx->mem, &g->names, 1);
        if (ok) {
            g->names.at[g->names.count++] = 0; /* offset 0 is "" */
            g->name = llfi_name_add(g, name, bytes);
            ok = g->name != UINT32_MAX;
        }
        if (ok)
            return g;
    }
    llf_graph_destroy(g);
    llfi_nomem(&cx->diag);
    return NULL;
}

void llf_graph_destroy(llf_graph *g)
{
    if (!g)
        return;
    const llf_allocator *mem = &g->cx->mem;
    llfi_dims_destroy(g->dims);
    if (g->file)
        llfi_free(mem, g->file, strlen(g->file) + 1);
    llfi_vec_free(mem, &g->nodes);
    llfi_vec_free(mem, &g->inputs);
    llfi_vec_free(mem, &g->outputs);
    llfi_vec_free(mem, &g->asked);
    llfi_vec_free(mem, &g->origin);
    llfi_vec_free(mem, &g->names);
    llfi_vec_free(mem, &g->types);
    llfi_vec_free(mem, &g->lists);
    llfi_vec_free(mem, &g->operands);
    llfi_vec_free(mem, &g->guards);
    llfi_vec_free(mem, &g->labels);
    llfi_vec_free(mem, &g->directives);
    llfi_map_free(mem, &g->type_map);
    llfi_map_free(mem, &g->name_map);
    llfi_map_free(mem, &g->list_map);
    llfi_map_free(mem, &g->guard_map);
    llfi_free(mem, g, sizeof *g);
}

#define COPY(v)                                                                                     \
    (llfi_vec_reserve(mem, &g->v, from->v.count)                                                    \
         ? (from->v.count ? memcpy(g->v.at, from->v.at, from->v.count * sizeof *from->v.at) : NULL, \
            g->v.count = from->v.count, true)                                                       \
         : false)

static bool copy_map(const llf_allocator *mem, llfi_map *to, const llfi_map *from)
{
    for (size_t i = 0; i < from->cap; i++) {
        if (from->value[i] != UINT32_MAX && !llfi_map_add(mem, to, from->hash[i], from->value[i]))
            return false;
    }
    return true;
}

llf_graph *llfi_graph_clone(const llf_graph *from, llf_context *cx)
{
    const llf_allocator *mem = &cx->mem;
    llf_graph *g = create(cx);
    if (!g)
        return NULL;
    g->name = from->name;
    g->props = from->props;
    g->guards_named = from->guards_named;
    g->plan_line = from->plan_line;
    g->plan_at = from->plan_at;
    g->poisoned = from->poisoned;
    g->dims = llfi_dims_clone(from->dims, mem);
    bool ok = g->dims && COPY(nodes) && COPY(inputs) && COPY(outputs) && COPY(asked) && COPY(origin) &&
              COPY(names) && COPY(types) && COPY(lists) && COPY(operands) && COPY(guards) && COPY(labels) &&
              COPY(directives) && copy_map(mem, &g->type_map, &from->type_map) &&
              copy_map(mem, &g->name_map, &from->name_map) && copy_map(mem, &g->list_map, &from->list_map) &&
              copy_map(mem, &g->guard_map, &from->guard_map);
    if (ok && from->file) {
        size_t size = strlen(from->file) + 1;
        g->file = llfi_alloc(mem, size);
        if (g->file)
            memcpy(g->file, from->file, size);
        ok = g->file != NULL;
    }
    if (ok)
        return g;
    llf_graph_destroy(g);
    return NULL;
}

uint32_t llf_graph_inputs(const llf_graph *g)
{
    return g ? (uint32_t)g->inputs.count : 0;
}

uint32_t llf_graph_outputs(const llf_graph *g)
{
    return g ? (uint32_t)g->outputs.count : 0;
}

llf_id llfi_source(const llf_graph *g, llf_id id)
{
    while (llfi_ops[llfi_node_at(g, id)->op].cls == LLFI_CLASS_VIEW)
        id = llfi_node_at(g, id)->arg[0];
    return id;
}

llf_id *llfi_sources_make(const llf_graph *g, llfi_arena *arena)
{
    llf_id *source = llfi_arena_alloc(arena, (g->nodes.count + 1) * sizeof *source);
    for (llf_id i = 0; source && i < g->nodes.count; i++) {
        const llfi_node *n = llfi_node_at(g, i);
        source[i] = llfi_ops[n->op].cls == LLFI_CLASS_VIEW ? source[n->arg[0]] : i;
    }
    return source;
}
