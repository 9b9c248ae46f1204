/* check_reduce.c: reductions, node by node: whole rows of the operand, as the nodes before gave them, run on
 * the target one behind the other, and each result is compared with the interpreter's. Whichever axes go, a
 * row is a row: its bits depend on its elements alone. See check_nodes.c. */
#include "bench/check_nodes.h"

#include "interp/reduce.h"
#include "ir/float.h"

llf_status bench_check_build_reduce(const checker *c, llf_id id, llf_graph *g)
{
    llfi_reduce r = llfi_reduce_of(c->flat, id);
    llf_op op = (llf_op)llfi_node_at(c->flat, id)->op;
    llfi_ask ask = {.count = 1, .axis = {1}, .has_dtype = true, .dtype = r.out};
    llfi_dim dim[2];
    uint64_t attr;
    dim[0] = llfi_dim_sym(g->dims, llfi_dims_symbol(g->dims, "P", 1));
    dim[1] = llfi_dim_sym(g->dims, llfi_dims_symbol(g->dims, "Q", 1));
    uint32_t type = llfi_type_make(g, r.in, 2, dim), name = llfi_name_add(g, "a", 1);
    if (type == UINT32_MAX || name == UINT32_MAX)
        return llfi_nomem(&g->cx->diag);
    llf_id x = llfi_build_input(g, type, false, name, (llfi_place){0});
    LLF_TRY(llfi_reduce_attr(g, op, x, &ask, (llfi_place){0}, &attr));
    llf_id made = llfi_build(g, op, &x, attr, UINT32_MAX, (llfi_place){0});
    for (uint32_t k = 0; k < llfi_op_results(&llfi_ops[op]); k++)
        LLF_TRY(llf_output(g, made + k));
    return LLF_OK;
}

/* The rows' elements into c->stage; what the interpreter makes of them, and of its own, into `right` and
 * ideal. */
static llf_status fold_rows(checker *c, llf_id id, int64_t length, llfi_partial *right)
{
    wanted *w = &c->node[id];
    const llf_allocator *heap = &llfi_malloc_allocator;
    llf_dtype in = llfi_reduce_of(c->flat, id).in;
    uint32_t results = llfi_op_results(&llfi_ops[llfi_node_at(c->flat, id)->op]);
    char *to = c->stage;
    for (size_t i = 0; i < w->at.count; i++) {
        llfi_row row[2] = {llfi_row_make(c->flat, id, length, heap),
                           llfi_row_make(c->flat, id, length, heap)};
        llf_status status = LLF_OK;
        for (int64_t k = 0; k < length && status == LLF_OK; k++, to += llfi_dtypes[in].bytes) {
            uint64_t got, ideal;
            bool there;
            status = bench_check_operand(c, id, k, i, &got, &ideal, &there);
            if (status == LLF_OK && !(llfi_row_add(&row[0], got) && llfi_row_add(&row[1], ideal)))
                status = llfi_nomem(&c->r->cx->diag);
            llfi_bits_store(in, to, got);
        }
        if (status == LLF_OK) {
            right[i] = llfi_row_finish(&row[0]);
            llfi_partial p = llfi_row_finish(&row[1]);
            for (uint32_t k = 0; k < results; k++)
                w->ideal[k * w->at.count + i] = p.bits[k];
        }
        llfi_row_free(&row[0]);
        llfi_row_free(&row[1]);
        LLF_TRY(status);
    }
    return LLF_OK;
}

/* c->stage reduced on the target. Of two results the second goes where a second operand would stand. */
static llf_status run_rows(checker *c, llf_id id, int64_t length)
{
    bench_device *d = c->r->device;
    wanted *w = &c->node[id];
    op_program *p = NULL;
    LLF_TRY(bench_check_program(c, id, &p));
    uint32_t results = llfi_op_results(&llfi_ops[p->op]);
    size_t size = llfi_dtypes[p->dtype[OPERANDS]].bytes, bytes = w->at.count * size;
    const int64_t symbol[2] = {(int64_t)w->at.count, length};
    void *binding[1 + LLFI_RESULTS] = {c->buffer[0], c->buffer[OPERANDS], c->buffer[1]};
    LLF_TRY(d->ops->upload(d, c->buffer[0], c->stage,
                           w->at.count * (size_t)length * llfi_dtypes[p->dtype[0]].bytes));
    for (uint32_t k = 0; k < results; k++)
        LLF_TRY(d->ops->fill(d, binding[1 + k], 0xA5, bytes));
    LLF_TRY(bench_session_bind(c->r, p->s.execution, p->g, symbol, binding));
    if (llf_run(p->s.execution, d->stream) != LLF_OK)
        return llfi_fail(&c->r->cx->diag, LLF_E_DRIVER, "%s", llf_execution_error(p->s.execution)->message);
    LLF_TRY(d->ops->sync(d));
    for (uint32_t k = 0; k < results; k++) {
        LLF_TRY(d->ops->download(d, c->stage, binding[1 + k], bytes));
        for (size_t i = 0; i < w->at.count; i++)
            w->got[k * w->at.count + i] = llfi_bits_load(p->dtype[OPERANDS], c->stage + i * size);
    }
    return LLF_OK;
}

llf_status bench_check_reduce(checker *c, llf_id id)
{
    const llfi_node *n = llfi_node_at(c->flat, id);
    llf_op op = (llf_op)n->op;
    llf_dtype to = llfi_dtype_of(c->flat, id);
    wanted *w = &c->node[id];
    int64_t length = llfi_index_row(c->flat, id, &c->node[n->arg[0]].extents);
    llfi_partial *right = llfi_arena_alloc(&c->arena, w->at.count * sizeof *right);
    if (!right)
        return llfi_nomem(&c->r->cx->diag);
    LLF_TRY(fold_rows(c, id, length, right));
    LLF_TRY(run_rows(c, id, length));
    for (size_t i = 0; i < w->at.count; i++)
        for (uint32_t k = 0; k < llfi_op_results(&llfi_ops[op]); k++) {
            uint64_t got = w->got[k * w->at.count + i];
            if (bench_check_within(op, to, got, right[i].bits[k]))
                continue;
            c->v->sound = false;
            snprintf(c->v->why, sizeof c->v->why,
                     "%s of %s: result %u of a row of %lld is 0x%llx, the interpreter says 0x%llx",
                     llfi_ops[op].name, llfi_dtypes[to].name, k, (long long)length, (unsigned long long)got,
                     (unsigned long long)right[i].bits[k]);
            return LLF_OK;
        }
    return LLF_OK;
}
