/* run.c: `;run (args) == values [tol=ulp]` on the interpreter and on every target that opens, under every
 * heuristic. Values come from the file; it must never take an expectation from a run. */
#include "golden.h"

#include <stdlib.h>

#ifdef LLFUSE_CUDA
#include "cuda/cuda.h"
#endif

typedef struct {
    void *data;
    int64_t count;
    bool list; /* written as [..] */
} value;

typedef struct {
    golden *t;
    llf_graph *g;
    llfi_arena arena;
    value *in, *want;
    void **got; /* by output */
    int64_t *symbol;
    uint64_t tol;
} runner;

/* ---- reading */

static void blank(const char **at)
{
    while (**at == ' ')
        ++*at;
}

static bool expect(runner *r, const char **at, const char *text)
{
    blank(at);
    size_t n = strlen(text);
    if (strncmp(*at, text, n)) {
        golden_fail(r->t, ";run: expected \"%s\" at \"%s\"", text, *at);
        return false;
    }
    *at += n;
    return true;
}

/* One literal or [literal ...] of `dtype`. */
static bool read_value(runner *r, const char **at, llf_dtype dtype, value *v)
{
    size_t size = llf_dtype_size(dtype);
    blank(at);
    *v = (value){.data = llfi_arena_alloc(&r->arena, (strlen(*at) + 1) * size), .list = **at == '['};
    *at += v->list;
    for (;;) {
        blank(at);
        if (v->list && **at == ']') {
            ++*at;
            return true;
        }
        size_t n = strcspn(*at, " ,])");
        uint64_t bits;
        if (!n || llfi_literal_parse(&r->t->cx->diag, (llfi_place){0}, dtype, *at, n, &bits) != LLF_OK) {
            golden_fail(r->t, ";run: no %s literal at \"%s\"", llf_dtype_name(dtype), *at);
            return false;
        }
        llfi_bits_store(dtype, (char *)v->data + (size_t)v->count++ * size, bits);
        *at += n;
        if (!v->list)
            return true;
    }
}

static bool read_line(runner *r, const char *at)
{
    const llf_graph *g = r->g;
    if (!expect(r, &at, "("))
        return false;
    for (size_t i = 0; i < g->inputs.count; i++)
        if ((i && !expect(r, &at, ",")) || !read_value(r, &at, llfi_dtype_of(g, g->inputs.at[i]), &r->in[i]))
            return false;
    if (!expect(r, &at, ")") || !expect(r, &at, "=="))
        return false;
    for (size_t i = 0; i < g->outputs.count; i++)
        if ((i && !expect(r, &at, ",")) ||
            !read_value(r, &at, llfi_dtype_of(g, g->outputs.at[i]), &r->want[i]))
            return false;
    blank(&at);
    if (!strncmp(at, "tol=", 4)) {
        char *end;
        r->tol = strtoull(at + 4, &end, 10);
        at = end;
    }
    if (*at)
        golden_fail(r->t, ";run: \"%s\" is left over", at);
    return !*at;
}

/* "; set N=2, M=3" of the graph: what no input of rank 1 says. */
static void set_symbols(runner *r)
{
    const llf_graph *g = r->g;
    for (size_t i = 0; i < g->directives.count; i++) {
        const char *at = strstr(llfi_name(g, g->directives.at[i]), "set ");
        for (at = at ? at + 4 : ""; *at; at += strspn(at, ", ")) {
            size_t name = strcspn(at, "="), item = strcspn(at, ", ");
            for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++) {
                const char *known = llfi_dims_symbol_name(g->dims, s);
                if (r->symbol[s] < 0 && name < item && strlen(known) == name && !memcmp(known, at, name))
                    r->symbol[s] = strtoll(at + name + 1, NULL, 10);
            }
            at += item;
        }
    }
}

/* Symbols come from the lengths of rank-1 inputs. */
static bool bind_symbols(runner *r)
{
    const llf_graph *g = r->g;
    uint32_t n = llfi_dims_symbols(g->dims), s;
    r->symbol = llfi_arena_alloc(&r->arena, (n + 1) * sizeof *r->symbol);
    for (uint32_t i = 0; i < n; i++)
        r->symbol[i] = -1;
    for (size_t i = 0; i < g->inputs.count; i++) {
        llfi_type t = llfi_type_of(g, g->inputs.at[i]);
        if (t.rank == 1 && llfi_dim_is_symbol(g->dims, t.dim[0], &s) && r->symbol[s] < 0)
            r->symbol[s] = r->in[i].count;
    }
    set_symbols(r);
    return true;
}

static bool shape_of(const runner *r, llf_id id, llf_tensor *t, int64_t *count)
{
    llfi_type ty = llfi_type_of(r->g, id);
    *t = (llf_tensor){.dtype = ty.dtype, .rank = ty.rank};
    *count = 1;
    for (uint32_t k = 0; k < ty.rank; k++) {
        if (!llfi_dim_eval(r->g->dims, ty.dim[k], r->symbol, &t->shape[k]))
            return false;
        *count *= t->shape[k];
    }
    return true;
}

static bool check_counts(runner *r)
{
    llf_tensor t;
    int64_t n;
    for (size_t i = 0; i < r->g->inputs.count + r->g->outputs.count; i++) {
        bool out = i >= r->g->inputs.count;
        size_t at = out ? i - r->g->inputs.count : i;
        const value *v = out ? &r->want[at] : &r->in[at];
        if (!shape_of(r, out ? r->g->outputs.at[at] : r->g->inputs.at[at], &t, &n) || n != v->count) {
            golden_fail(r->t, ";run: %s %zu has %lld elements in the line, %lld in the graph",
                        out ? "output" : "input", at, (long long)v->count, (long long)n);
            return false;
        }
    }
    return true;
}

/* ---- comparing */

static void compare(runner *r, const char *who)
{
    for (size_t o = 0; o < r->g->outputs.count; o++) {
        llf_dtype d = llfi_dtype_of(r->g, r->g->outputs.at[o]);
        for (int64_t i = 0; i < r->want[o].count; i++) {
            size_t at = (size_t)i * llf_dtype_size(d);
            uint64_t want = llfi_bits_load(d, (const char *)r->want[o].data + at);
            uint64_t got = llfi_bits_load(d, (const char *)r->got[o] + at);
            bool real = llfi_dtype_is_float(d);
            bool same = want == got || (real && llfi_bits_nan(d, want) && llfi_bits_nan(d, got));
            if (!same && !(real && r->tol && llfi_ulp_distance(d, want, got) <= r->tol)) {
                llfi_str s;
                llfi_str_init(&s, &r->t->cx->mem);
                llfi_literal_print(d, got, &s);
                llfi_str_puts(&s, ", expected ");
                llfi_literal_print(d, want, &s);
                golden_fail(r->t, "%s: output %zu, element %lld is %s", who, o, (long long)i, s.at);
                llfi_str_free(&s);
                return;
            }
        }
    }
}

/* ---- running */

static void on_interpreter(runner *r)
{
    static const char *const passes[] = {"decompose"};
    llf_graph *g = golden_parse(r->t);
    if (!g)
        return;
    llfi_passes_state state = {0};
    llfi_plan plan;
    llfi_plan_init(&plan, &r->t->cx->mem);
    llfi_fuse_options_default(&state.fuse);
    const void **data = llfi_arena_alloc(&r->arena, (g->inputs.count + 1) * sizeof *data);
    for (size_t i = 0; i < g->inputs.count; i++)
        data[i] = r->in[i].data;
    llf_status st = llfi_passes_run(r->t->cx, g, passes, 1, &state, &plan);
    void **val = llfi_arena_alloc(&r->arena, (g->nodes.count + 1) * sizeof *val);
    if (st == LLF_OK)
        st = llfi_interp(g, r->symbol, data, &r->arena, val);
    if (st != LLF_OK) {
        golden_fail(r->t, "interpreter: %s", golden_error(r->t));
    } else {
        for (size_t o = 0; o < g->outputs.count; o++)
            r->got[o] = val[g->outputs.at[o]];
        compare(r, "interpreter");
    }
    llfi_plan_destroy(&plan);
    llf_graph_destroy(g);
}

static llf_status bind_and_run(runner *r, llf_execution *e, void *const *buffer)
{
    size_t n = r->g->inputs.count;
    for (size_t i = 0; i < n + r->g->outputs.count; i++) {
        llf_tensor t;
        int64_t count;
        llf_id id = i < n ? r->g->inputs.at[i] : r->g->outputs.at[i - n];
        shape_of(r, id, &t, &count);
        t.data = buffer[i];
        LLF_TRY(llf_bind(e, (uint32_t)i, &t));
    }
    LLF_TRY(llf_prepare(e));
    return llf_run(e, NULL);
}

/* Where the buffers live differs by target. */
typedef struct {
    const char *name, *target;
    bool (*buffers)(runner *, void **buffer);
    bool (*fetch)(runner *, void **buffer);
    void (*release)(runner *, void **buffer);
} place;

static int64_t bytes_of(const runner *r, size_t i)
{
    size_t n = r->g->inputs.count;
    const value *v = i < n ? &r->in[i] : &r->want[i - n];
    llf_id id = i < n ? r->g->inputs.at[i] : r->g->outputs.at[i - n];
    return v->count * (int64_t)llf_dtype_size(llfi_dtype_of(r->g, id));
}

static bool host_buffers(runner *r, void **buffer)
{
    size_t n = r->g->inputs.count;
    for (size_t i = 0; i < n + r->g->outputs.count; i++) {
        buffer[i] = i < n ? r->in[i].data : llfi_arena_alloc(&r->arena, (size_t)bytes_of(r, i) + 64);
        if (i >= n) {
            memset(buffer[i], 0xA5, (size_t)bytes_of(r, i)); /* never what is expected by chance */
            r->got[i - n] = buffer[i];
        }
    }
    return true;
}

static bool host_fetch(runner *r, void **buffer)
{
    (void)r;
    (void)buffer;
    return true;
}

static void host_release(runner *r, void **buffer)
{
    (void)r;
    (void)buffer;
}

static void on_target(runner *r, const place *p, const char *heuristic)
{
    llf_program *program = NULL;
    llf_loaded *loaded = NULL;
    llf_execution *e = NULL;
    char who[64];
    snprintf(who, sizeof who, "%s, %s", p->name, heuristic);
    void **buffer =
        llfi_arena_alloc(&r->arena, (r->g->inputs.count + r->g->outputs.count + 1) * sizeof *buffer);
    llf_options o = {.size = sizeof o, .target = p->target, .heuristic = heuristic};
    llf_status st = llf_compile(r->t->cx, r->g, &o, &program);
    if (st == LLF_OK)
        st = llf_program_load(r->t->cx, program, -1, &loaded);
    if (st == LLF_OK)
        st = llf_execution_create(r->t->cx, loaded, &e);
    if (st != LLF_OK) {
        golden_fail(r->t, "%s: %s", who, golden_error(r->t));
    } else if (!p->buffers(r, buffer)) {
        golden_fail(r->t, "%s: no buffers", who);
    } else {
        st = bind_and_run(r, e, buffer);
        if (st != LLF_OK || !p->fetch(r, buffer))
            golden_fail(r->t, "%s: %s", who, llf_execution_error(e)->message);
        else
            compare(r, who);
        p->release(r, buffer);
    }
    llf_execution_destroy(e);
    llf_loaded_destroy(loaded);
    llf_program_destroy(program);
}

#ifdef LLFUSE_CUDA
static const llfi_cuda *cuda_of(runner *r)
{
    const llfi_cuda *cu = NULL;
    return llfi_cuda_get(&r->t->cx->diag, &cu) == LLF_OK ? cu : NULL;
}

/* Scalars stay on the host. */
static bool on_device(const runner *r, size_t i)
{
    return i >= r->g->inputs.count || !llfi_node_at(r->g, r->g->inputs.at[i])->scalar;
}

static bool cuda_buffers(runner *r, void **buffer)
{
    const llfi_cuda *cu = cuda_of(r);
    size_t n = r->g->inputs.count;
    for (size_t i = 0; i < n + r->g->outputs.count; i++) {
        CUdeviceptr d = 0;
        size_t bytes = (size_t)bytes_of(r, i);
        buffer[i] = i < n ? r->in[i].data : NULL;
        if (!on_device(r, i) || !bytes)
            continue;
        if (cu->MemAlloc(&d, bytes) || (i < n && cu->MemcpyHtoD(d, r->in[i].data, bytes)))
            return false;
        buffer[i] = (void *)(uintptr_t)d;
    }
    return true;
}

static bool cuda_fetch(runner *r, void **buffer)
{
    const llfi_cuda *cu = cuda_of(r);
    size_t n = r->g->inputs.count;
    if (cu->CtxSynchronize())
        return false;
    for (size_t o = 0; o < r->g->outputs.count; o++) {
        size_t bytes = (size_t)bytes_of(r, n + o);
        r->got[o] = llfi_arena_alloc(&r->arena, bytes + 64);
        if (bytes && cu->MemcpyDtoH(r->got[o], (CUdeviceptr)(uintptr_t)buffer[n + o], bytes))
            return false;
    }
    return true;
}

static void cuda_release(runner *r, void **buffer)
{
    const llfi_cuda *cu = cuda_of(r);
    for (size_t i = 0; i < r->g->inputs.count + r->g->outputs.count; i++)
        if (on_device(r, i) && bytes_of(r, i))
            cu->MemFree((CUdeviceptr)(uintptr_t)buffer[i]);
}

/* With the first device's primary context current, as an embedding program would have it. */
static void on_gpu(runner *r)
{
    static const place gpu = {"nvptx", "nvptx", cuda_buffers, cuda_fetch, cuda_release};
    const llfi_cuda *cu = cuda_of(r);
    CUcontext context, old;
    if (!cu) {
        golden_skip(r->t, golden_error(r->t));
        return;
    }
    if (cu->DevicePrimaryCtxRetain(&context, 0) || cu->CtxPushCurrent(context)) {
        golden_fail(r->t, "nvptx: no context on device 0");
        return;
    }
    for (size_t h = 0; h < llfi_heuristics_count; h++)
        on_target(r, &gpu, llfi_heuristics[h].name);
    cu->CtxPopCurrent(&old);
    cu->DevicePrimaryCtxRelease(0);
}
#else
static void on_gpu(runner *r)
{
    golden_skip(r->t, "nvptx: built without a CUDA toolkit");
}
#endif

void golden_run(golden *t, const char *line)
{
    static const place host = {"host", "host", host_buffers, host_fetch, host_release};
    runner r = {.t = t, .g = golden_parse(t)};
    if (!r.g)
        return;
    llfi_arena_init(&r.arena, &t->cx->mem);
    r.in = llfi_arena_alloc(&r.arena, (r.g->inputs.count + 1) * sizeof *r.in);
    r.want = llfi_arena_alloc(&r.arena, (r.g->outputs.count + 1) * sizeof *r.want);
    r.got = llfi_arena_alloc(&r.arena, (r.g->outputs.count + 1) * sizeof *r.got);
    if (read_line(&r, line) && bind_symbols(&r) && check_counts(&r)) {
        on_interpreter(&r);
        for (size_t h = 0; h < llfi_heuristics_count; h++)
            on_target(&r, &host, llfi_heuristics[h].name);
        on_gpu(&r);
    }
    llfi_arena_destroy(&r.arena);
    llf_graph_destroy(r.g);
}
