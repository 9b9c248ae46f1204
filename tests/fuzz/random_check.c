/* random_check.c: the three promises on one graph. (a) Every value, stored by the target, is what the
 * interpreter makes of the very operands the target stored: bit for bit where the op is EXACT, within its
 * bound where it is a function. (b) Whatever the plan, the outputs have the same bits (all NaNs are equal).
 * (c) A kernel writes its outputs and nothing else: buffers are poisoned before, stand between red zones, and
 * inputs stay as they were. It must not share code with what it checks, other than the interpreter and the
 * decompose pass, whose graph names the values. */
#include "random_check.h"
#include "random_plan.h"

#include "interp/index.h"
#include "interp/interp.h"
#include "interp/reduce.h"
#include "ir/float.h"
#include "passes/pass.h"
#include "random_stride.h"

#include <inttypes.h>
#include <stdlib.h>

#define ZONE 256 /* bytes before and after a buffer's data; keeps the device's alignment */
#define POISON 0xa5

typedef struct {
    size_t bytes, offset; /* data stand at ZONE + offset */
    void *host, *device;  /* whole, zones included */
    rg_layout layout;     /* of an input with strides */
    bool strided;
    void *dense; /* inputs: their elements, row-major */
} buffer;

typedef struct {
    llf_context *cx;
    const check_options *options;
    uint64_t seed;
    llf_graph *user, *flat; /* as generated; decomposed */
    rg_binding binding;
    rg_random random;
    uint32_t strides; /* percent of the inputs */
    buffer input[RG_INPUTS];
    void **value; /* by flat node: what the target made of it; leaves: what they are */
    llfi_str *report;
} check;

static bool fail(check *c, const char *fmt, ...) LLFI_PRINTF(2, 3);
static bool fail(check *c, const char *fmt, ...)
{
    char text[1400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    llfi_str_printf(c->report, "seed %" PRIu64 ": %s\n", c->seed, text);
    return false;
}

/* ---- buffers */

static size_t whole(const buffer *b)
{
    return b->bytes + b->offset + 2 * (size_t)ZONE;
}

static char *data_of(const buffer *b)
{
    return (char *)b->host + ZONE + b->offset;
}

static void buffer_free(check *c, buffer *b)
{
    free(b->host);
    free(b->dense);
    if (b->device)
        c->options->memory->release(b->device);
    *b = (buffer){0};
}

/* Poisoned memory for one tensor; some stand at addresses that no vector access takes. `strides`: percent. */
static bool buffer_make(check *c, const llf_graph *g, llf_id id, uint32_t strides, buffer *b)
{
    int64_t shape[LLF_MAX_RANK];
    size_t size = llf_dtype_size(llfi_dtype_of(g, id));
    *b = (buffer){.bytes = (size_t)rg_elements(g, id, &c->binding, shape) * size};
    b->strided = strides && rg_chance(&c->random, strides);
    if (b->strided) {
        rg_layout_make(&c->random, llfi_type_of(g, id).rank, shape, &b->layout);
        b->bytes = (size_t)b->layout.count * size;
    }
    if (rg_chance(&c->random, 20))
        b->offset = size * (1 + rg_below(&c->random, 7));
    b->host = malloc(whole(b));
    b->device = c->options->memory->alloc(whole(b));
    if (!b->host || !b->device)
        return fail(c, "out of memory for the test's own buffers");
    memset(b->host, POISON, whole(b));
    return true;
}

static bool buffer_write(check *c, const buffer *b)
{
    return c->options->memory->write(b->device, b->host, whole(b)) || fail(c, "writing device memory failed");
}

/* Reads an output back and looks at its zones. */
static bool buffer_read(check *c, const buffer *b, const char *what, uint32_t index)
{
    if (!c->options->memory->read(b->host, b->device, whole(b)))
        return fail(c, "reading device memory failed");
    const unsigned char *p = b->host;
    for (size_t i = 0; i < whole(b); i++) {
        bool inside = i >= ZONE + b->offset && i < ZONE + b->offset + b->bytes;
        if (!inside && p[i] != POISON)
            return fail(c, "%s %u: the red zone was written %" PRId64 " bytes from the data of %zu", what,
                        index, (int64_t)i - (int64_t)(ZONE + b->offset), b->bytes);
    }
    return true;
}

static llf_tensor tensor_of(const check *c, const llf_graph *g, llf_id id, const buffer *b)
{
    llfi_type type = llfi_type_of(g, id);
    llf_tensor t = {.dtype = type.dtype, .rank = type.rank, .data = (char *)b->device + ZONE + b->offset};
    rg_elements(g, id, &c->binding, t.shape);
    if (b->strided) {
        t.strided = true;
        memcpy(t.strides, b->layout.stride, sizeof t.strides);
        t.data = (char *)t.data + (size_t)b->layout.first * llf_dtype_size(t.dtype);
    }
    return t;
}

/* ---- running */

static bool call(check *c, llf_status status, const llf_diagnostic *d, const char *what,
                 const char *heuristic)
{
    return status == LLF_OK || fail(c, "%s (heuristic %s): %s: %s", what, heuristic, llf_status_name(status),
                                    d ? d->message : "");
}

static bool bind_all(check *c, const llf_graph *g, llf_execution *e, buffer *out)
{
    const llf_diagnostic *d = llf_execution_error(e);
    for (uint32_t i = 0; i < g->inputs.count; i++) {
        llf_id id = g->inputs.at[i];
        llf_tensor t = tensor_of(c, g, id, &c->input[i]);
        if (llfi_node_at(g, id)->scalar)
            t.data = data_of(&c->input[i]);
        if (!call(c, llf_bind(e, i, &t), d, "llf_bind of an input", ""))
            return false;
    }
    for (uint32_t i = 0; i < g->outputs.count; i++) {
        llf_tensor t = tensor_of(c, g, g->outputs.at[i], &out[i]);
        if (!call(c, llf_bind(e, (uint32_t)g->inputs.count + i, &t), d, "llf_bind of an output", ""))
            return false;
    }
    return true;
}

static bool execute(check *c, const llf_graph *g, llf_loaded *loaded, const char *heuristic, buffer *out)
{
    llf_execution *e = NULL;
    if (!call(c, llf_execution_create(c->cx, loaded, &e), llf_last_error(c->cx), "llf_execution_create",
              heuristic))
        return false;
    const llf_diagnostic *d = llf_execution_error(e);
    bool ok = bind_all(c, g, e, out) && call(c, llf_prepare(e), d, "llf_prepare", heuristic) &&
              call(c, llf_run(e, NULL), d, "llf_run", heuristic);
    if (ok && !c->options->memory->sync())
        ok = fail(c, "the device failed while running (heuristic %s)", heuristic);
    llf_execution_destroy(e);
    return ok;
}

/* Inputs are read only: device memory still holds what was written. */
static bool inputs_kept(check *c)
{
    for (uint32_t i = 0; i < c->user->inputs.count; i++) {
        const buffer *b = &c->input[i];
        void *now = malloc(whole(b));
        bool ok =
            now && c->options->memory->read(now, b->device, whole(b)) && memcmp(now, b->host, whole(b)) == 0;
        free(now);
        if (!ok)
            return fail(c, "input %u was written to", i);
    }
    return true;
}

/* Compiles and runs `g`; out[i] receives output i with its zones checked. */
static llf_status compile(check *c, const llf_graph *g, const llf_options *o, const llfi_str *plan,
                          llf_program **program)
{
    return plan ? llf_plan_import(c->cx, g, o, plan->at, plan->len, "plan", program)
                : llf_compile(c->cx, g, o, program);
}

/* What was read comes out again, below its first line. */
static bool same_plan(check *c, const llf_program *program, const llfi_str *plan)
{
    char *text = NULL;
    size_t bytes = 0;
    if (!call(c, llf_plan_export(c->cx, program, &text, &bytes), llf_last_error(c->cx), "llf_plan_export",
              "plan"))
        return false;
    const char *below = strchr(text, '\n') + 1;
    bool same = !strncmp(text, "; plan graph=", 13) && !strcmp(below, plan->at);
    if (!same)
        fail(c, "the plan is exported otherwise than it was read:\n%s", text);
    llf_text_free(c->cx, text, bytes);
    return same;
}

static bool run(check *c, const llf_graph *g, const char *heuristic, const llfi_str *plan, buffer *out)
{
    llf_options options = {
        .size = sizeof options, .target = c->options->target, .heuristic = plan ? NULL : heuristic};
    options.compile_threads = 1 + rg_below(&c->random, 2);
    llf_program *program = NULL;
    llf_loaded *loaded = NULL;
    int threads = 1 + (int)rg_below(&c->random, 3);
    bool nvptx = c->options->memory == &device_memory_nvptx;
    for (uint32_t i = 0; i < g->outputs.count; i++)
        if (!buffer_make(c, g, g->outputs.at[i], 0, &out[i]) || !buffer_write(c, &out[i]))
            return false;
    bool ok = call(c, compile(c, g, &options, plan, &program), llf_last_error(c->cx),
                   plan ? "llf_plan_import" : "llf_compile", heuristic) &&
              (!plan || same_plan(c, program, plan)) &&
              call(c, llf_program_load(c->cx, program, nvptx ? -1 : threads, &loaded), llf_last_error(c->cx),
                   "llf_program_load", heuristic) &&
              execute(c, g, loaded, heuristic, out);
    llf_loaded_destroy(loaded);
    llf_program_destroy(program);
    for (uint32_t i = 0; ok && i < g->outputs.count; i++)
        ok = buffer_read(c, &out[i], "output", i);
    return ok && inputs_kept(c);
}

/* ---- (a) every value against the interpreter */

static void show(check *c, const char *what, llf_dtype dtype, uint64_t bits)
{
    llfi_str_printf(c->report, "  %-9s %s %0*" PRIx64 " = ", what, llf_dtype_name(dtype),
                    (int)(2 * llf_dtype_size(dtype)), bits);
    if (llfi_dtype_is_float(dtype))
        llfi_str_printf(c->report, "%.17g\n", llfi_bits_to_f64(dtype, bits));
    else
        llfi_str_printf(c->report, "%" PRId64 "\n", llfi_bits_to_i64(dtype, bits));
}

static uint64_t element(const llf_graph *g, llf_id id, const void *data, int64_t at)
{
    llfi_type t = llfi_type_of(g, id);
    return llfi_bits_load(t.dtype, (const char *)data + (t.rank ? (size_t)at : 0) * llf_dtype_size(t.dtype));
}

static bool same(llf_dtype dtype, uint64_t a, uint64_t b)
{
    return a == b || (llfi_bits_nan(dtype, a) && llfi_bits_nan(dtype, b));
}

/* Operand `i` of element `at`, where broadcasting and views find it. */
static bool operand(check *c, llf_id id, uint32_t i, int64_t at, uint64_t *bits)
{
    const llf_graph *g = c->flat;
    llf_id p = llfi_args(g, llfi_node_at(g, id))[i];
    llfi_extents out, in;
    int64_t from = 0;
    bool ok = llfi_extents_of(g, id, c->binding.symbol, &out) == LLF_OK &&
              llfi_extents_of(g, p, c->binding.symbol, &in) == LLF_OK &&
              llfi_index_operand(g, id, i, c->binding.symbol, &out, &in, at, &from) == LLF_OK;
    if (ok)
        *bits = element(g, p, c->value[p], from);
    return ok || fail(c, "node %%%u: element %" PRId64 " is made from none of operand %u", id, at, i + 1);
}

/* What the element of an op that chooses, of an iota or a count, must be. */
static bool chosen(check *c, llf_id id, int64_t at, uint64_t *bits)
{
    const llf_graph *g = c->flat;
    const llfi_node *n = llfi_node_at(g, id);
    const llf_id *arg = llfi_args(g, n);
    llfi_extents out;
    uint32_t k = 0;
    int64_t from, index;
    llf_status status = llfi_extents_of(g, id, c->binding.symbol, &out);
    if (status == LLF_OK && n->arity == 0) {
        if (n->op == LLF_OP_IOTA)
            *bits = (uint64_t)llfi_index_count(g, id, &out, at);
        else if (llfi_index_elements(g, id, c->binding.symbol, bits) != LLF_OK)
            return fail(c, "node %%%u: no count", id);
        *bits = llfi_eval(LLF_OP_CAST, LLF_I64, llfi_dtype_of(g, id), bits);
        return true;
    }
    if (status == LLF_OK)
        status = llfi_index_choose(g, id, c->binding.symbol, &out, at, NULL, &k, &from);
    if (status == LLF_OK)
        *bits = element(g, arg[k], c->value[arg[k]], from);
    if (status == LLF_OK && n->op == LLF_OP_TAKE) {
        index = llfi_dtype_of(g, arg[1]) == LLF_I32 ? (int32_t)(uint32_t)*bits : (int64_t)*bits;
        status = llfi_index_choose(g, id, c->binding.symbol, &out, at, &index, &k, &from);
        *bits = status == LLF_OK ? element(g, arg[k], c->value[arg[k]], from) : 0;
    }
    return status == LLF_OK || fail(c, "node %%%u: element %" PRId64 " is made from nothing", id, at);
}

/* Results of a reduction, row by row, of the very elements that the target stored. */
static bool check_reduce(check *c, llf_id id)
{
    const llf_graph *g = c->flat;
    llf_id x = llfi_node_at(g, id)->arg[0];
    llf_op op = (llf_op)llfi_node_at(g, id)->op;
    llf_dtype to = llfi_dtype_of(g, id);
    llfi_extents out, in;
    if (llfi_extents_of(g, id, c->binding.symbol, &out) || llfi_extents_of(g, x, c->binding.symbol, &in))
        return fail(c, "node %%%u: no extents", id);
    for (int64_t at = 0; at < out.elements; at++) {
        llfi_row row = llfi_row_make(g, id, llfi_index_row(g, id, &in), &c->cx->mem);
        bool ok = true;
        for (int64_t i = 0; ok && i < row.length; i++)
            ok = llfi_row_add(&row, element(g, x, c->value[x], llfi_index_reduced(g, id, &out, &in, at, i)));
        llfi_partial want = ok ? llfi_row_finish(&row) : (llfi_partial){{0, 0}};
        llfi_row_free(&row);
        if (!ok)
            return fail(c, "out of memory for a row");
        for (uint32_t k = 0; k < llfi_op_results(&llfi_ops[op]); k++) {
            uint64_t got = element(g, id + k, c->value[id + k], at), bound = k ? llfi_ulp_bound(op, to) : 0;
            if (same(to, want.bits[k], got) || (bound && llfi_ulp_distance(to, want.bits[k], got) <= bound))
                continue;
            fail(c,
                 "node %%%u = %s: result %u, element %" PRId64 " of %" PRId64 ", a row of %" PRId64
                 ", is not what the interpreter makes of its operands",
                 id, llfi_ops[op].name, k, at, out.elements, row.length);
            show(c, "expected", to, want.bits[k]);
            show(c, "got", to, got);
            return false;
        }
    }
    return true;
}

static bool check_node(check *c, llf_id id)
{
    llfi_class cls = llfi_ops[llfi_node_at(c->flat, id)->op].cls;
    if (cls == LLFI_CLASS_RESULT)
        return true; /* with its op */
    if (cls == LLFI_CLASS_REDUCE)
        return check_reduce(c, id);

    const llf_graph *g = c->flat;
    const llfi_node *node = llfi_node_at(g, id);
    bool view = llfi_ops[node->op].cls == LLFI_CLASS_VIEW;
    bool chooses = llfi_ops[node->op].cls == LLFI_CLASS_INDEX || node->arity == 0;
    llf_dtype from = llfi_eval_from(g, id), to = llfi_dtype_of(g, id);
    uint64_t bound = llfi_ulp_bound(node->op, to);
    int64_t shape[LLF_MAX_RANK], count = rg_elements(g, id, &c->binding, shape);
    for (int64_t at = 0; at < count; at++) {
        uint64_t arg[3] = {0};
        for (uint32_t i = 0; i < node->arity && !chooses; i++)
            if (!operand(c, id, i, at, &arg[i]))
                return false;
        if (chooses && !chosen(c, id, at, &arg[0]))
            return false;
        uint64_t want = view || chooses ? arg[0] : llfi_eval(node->op, from, to, arg),
                 got = element(g, id, c->value[id], at);
        if (same(to, want, got) || (bound && llfi_ulp_distance(to, want, got) <= bound))
            continue;
        fail(c,
             "node %%%u = %s: element %" PRId64 " of %" PRId64
             " is not what the interpreter makes of its operands",
             id, llfi_ops[node->op].name, at, count);
        for (uint32_t i = 0; i < node->arity && !chooses; i++)
            show(c, "operand", llfi_dtype_of(g, node->arg[i]), arg[i]);
        show(c, "expected", to, want);
        show(c, "got", to, got);
        if (bound)
            llfi_str_printf(c->report, "  %" PRIu64 " ulp apart, the bound is %" PRIu64 "\n",
                            llfi_ulp_distance(to, want, got), bound);
        return false;
    }
    return true;
}

/* Is it an op, or made from nothing? Inputs and literals are there. */
static bool computed(const llfi_node *n)
{
    return n->op != LLF_OP_INPUT && n->op != LLF_OP_CONST;
}

/* Runs the decomposed graph with every value as an output and checks each. */
static bool check_values(check *c, const char *heuristic)
{
    llf_graph *all = llfi_graph_clone(c->flat, c->cx);
    size_t nodes = c->flat->nodes.count;
    buffer *out = calloc(nodes, sizeof *out);
    bool ok = all && out;
    if (ok)
        all->outputs.count = 0;
    for (llf_id id = 0; ok && id < nodes; id++)
        if (computed(llfi_node_at(all, id)))
            ok = llf_output(all, id) == LLF_OK;
    if (!ok)
        fail(c, "out of memory for the test's own graph");
    ok = ok && run(c, all, heuristic, NULL, out);
    for (uint32_t i = 0; ok && i < all->outputs.count;
         i++) { /* into c->value: the bits are compared later too */
        void *kept = malloc(out[i].bytes + 1);
        c->value[all->outputs.at[i]] = kept;
        ok = kept || fail(c, "out of memory for the test's own values");
        if (ok)
            memcpy(kept, data_of(&out[i]), out[i].bytes);
    }
    for (llf_id id = 0; ok && id < nodes; id++)
        if (computed(llfi_node_at(c->flat, id)))
            ok = check_node(c, id);
    for (size_t i = 0; out && i < nodes; i++)
        buffer_free(c, &out[i]);
    free(out);
    llf_graph_destroy(all);
    return ok;
}

/* ---- (b) the outputs under other plans */

static bool check_outputs(check *c, const char *heuristic, const llfi_str *plan)
{
    const llf_graph *g = c->user;
    buffer *out = calloc(g->outputs.count, sizeof *out);
    bool ok = out ? run(c, g, heuristic, plan, out) : fail(c, "out of memory");
    for (uint32_t i = 0; ok && i < g->outputs.count; i++) {
        llf_id id = c->flat->outputs.at[i];
        llf_dtype dtype = llfi_dtype_of(c->flat, id);
        int64_t shape[LLF_MAX_RANK], count = rg_elements(c->flat, id, &c->binding, shape);
        for (int64_t at = 0; ok && at < count; at++) {
            uint64_t want = element(c->flat, id, c->value[id], at),
                     got = element(c->flat, id, data_of(&out[i]), at);
            if (same(dtype, want, got))
                continue;
            ok = fail(c,
                      "output %u, element %" PRId64 " of %" PRId64
                      ": heuristic %s gives other bits than storing every value",
                      i, at, count, heuristic);
            show(c, "stored", dtype, want);
            show(c, "got", dtype, got);
        }
    }
    for (uint32_t i = 0; out && i < g->outputs.count; i++)
        buffer_free(c, &out[i]);
    free(out);
    return ok;
}

/* ---- one graph */

/* Between the elements of an input with strides stays poison; where it overlaps, its elements are what the
 * memory holds in the end. */
static bool make_input(check *c, llf_id id, buffer *b)
{
    bool scalar = llfi_node_at(c->user, id)->scalar;
    if (!buffer_make(c, c->user, id, scalar ? 0 : c->strides, b))
        return false;
    int64_t shape[LLF_MAX_RANK], count = rg_elements(c->user, id, &c->binding, shape);
    llfi_type type = llfi_type_of(c->user, id);
    size_t size = llf_dtype_size(type.dtype);
    b->dense = malloc((size_t)count * size + 1);
    if (!b->dense)
        return fail(c, "out of memory for the test's own buffers");
    rg_fill(&c->random, type.dtype, count, b->dense);
    if (b->strided) {
        rg_layout_scatter(&b->layout, type.rank, shape, size, b->dense, data_of(b));
        rg_layout_gather(&b->layout, type.rank, shape, size, data_of(b), b->dense);
    } else {
        memcpy(data_of(b), b->dense, (size_t)count * size);
    }
    return buffer_write(c, b);
}

static bool make_inputs(check *c)
{
    for (uint32_t i = 0; i < c->user->inputs.count; i++)
        if (!make_input(c, c->user->inputs.at[i], &c->input[i]))
            return false;
    return true;
}

/* The decomposed graph and its leaves' values. */
static bool make_flat(check *c)
{
    static const char *const names[] = {"decompose"};
    llfi_passes_state *state = calloc(1, sizeof *state);
    llfi_plan plan;
    llfi_plan_init(&plan, &c->cx->mem);
    c->flat = llfi_graph_clone(c->user, c->cx);
    bool ok = state && c->flat &&
              call(c, llfi_passes_run(c->cx, c->flat, names, 1, state, &plan), llf_last_error(c->cx),
                   "decompose", "");
    llfi_plan_destroy(&plan);
    free(state);
    if (!ok || !(c->value = calloc(c->flat->nodes.count, sizeof *c->value)))
        return false;
    for (llf_id id = 0; id < c->flat->nodes.count; id++) {
        const llfi_node *node = llfi_node_at(c->flat, id);
        if (node->op != LLF_OP_CONST)
            continue;
        if (!(c->value[id] = malloc(sizeof node->attr)))
            return fail(c, "out of memory for the test's own values");
        llfi_bits_store(llfi_dtype_of(c->flat, id), c->value[id], node->attr);
    }
    for (uint32_t i = 0; i < c->flat->inputs.count; i++) {
        c->value[c->flat->inputs.at[i]] = c->input[i].dense;
        c->input[i].dense = NULL;
    }
    return true;
}

static void show_graphs(check *c)
{
    const llf_graph *graphs[] = {c->user, c->flat};
    for (size_t i = 0; i < 2; i++) {
        char *text = NULL;
        size_t bytes = 0;
        if (graphs[i] && llf_graph_print(c->cx, graphs[i], &text, &bytes) == LLF_OK)
            llfi_str_printf(c->report, "%s\n%.*s", i ? "decomposed:" : "graph:", (int)bytes, text);
        llf_text_free(c->cx, text, bytes);
    }
    if (c->user)
        for (uint32_t k = 0; k < llfi_dims_symbols(c->user->dims); k++)
            llfi_str_printf(c->report, "; %s = %" PRId64 "\n", llfi_dims_symbol_name(c->user->dims, k),
                            c->binding.symbol[k]);
    for (uint32_t i = 0; c->user && i < c->user->inputs.count; i++)
        for (uint32_t a = 0; c->input[i].strided && a < LLF_MAX_RANK; a++)
            if (c->input[i].layout.stride[a])
                llfi_str_printf(c->report, "; input %u, axis %u: stride %" PRId64 "\n", i, a,
                                c->input[i].layout.stride[a]);
    llfi_str_printf(c->report,
                    "replay: random_pointwise --target %s --plans %u --views %u --reduce %u --parts %u "
                    "--strides %u --only %" PRIu64 "\n",
                    c->options->target, c->options->plans, c->options->limits.views,
                    c->options->limits.reduce, c->options->limits.parts, c->options->strides, c->seed);
}

static bool check_plans(check *c)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < c->options->plans; i++) {
        llfi_str plan;
        llfi_str_init(&plan, &c->cx->mem);
        ok = rp_plan(c->cx, c->user, &c->random, &plan) ||
             fail(c, "no plan: %s", llf_last_error(c->cx)->message);
        ok = ok && check_outputs(c, "plan", &plan);
        if (!ok)
            llfi_str_printf(c->report, "random plan:\n%s", plan.at ? plan.at : "");
        llfi_str_free(&plan);
    }
    return ok;
}

bool check_graph(llf_context *cx, const check_options *options, uint64_t seed, llfi_str *report)
{
    check c = {.cx = cx, .options = options, .seed = seed, .report = report, .random = rg_seeded(~seed)};
    c.user = rg_graph(cx, seed, &options->limits, &c.binding);
    bool ok = c.user || fail(&c, "no graph: %s", llf_last_error(cx)->message);
    /* Drawn first, so that a replay with other options has the same data. */
    bool primitive = rg_chance(&c.random, options->primitive);
    static const char *const others[] = {"greedy", "none"};
    const char *other = others[rg_chance(&c.random, 25)];
    c.strides = rg_chance(&c.random, 50) ? options->strides : 0; /* each costs its kernels once more */
    ok = ok && make_inputs(&c) && make_flat(&c) && check_values(&c, primitive ? "primitive" : "greedy") &&
         check_outputs(&c, primitive ? "greedy" : other, NULL) && check_plans(&c);
    if (!ok)
        show_graphs(&c);
    for (size_t i = 0; c.value && i < c.flat->nodes.count; i++)
        free(c.value[i]);
    free(c.value);
    for (uint32_t i = 0; i < RG_INPUTS; i++)
        buffer_free(&c, &c.input[i]);
    llf_graph_destroy(c.flat);
    llf_graph_destroy(c.user);
    return ok;
}
