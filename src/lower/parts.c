/* parts.c: kernels of several independent parts: rows of arguments, bodies that equal parts share, where each
 * part's blocks or items begin. No threads, no loops: parts_nvptx.c and parts_host.c have those. */
#include "lower/parts.h"

#define BODY_NAME 40

bool llfi_parts_match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why,
                      const llfi_skeleton *one)
{
    if (k->parts < 2) {
        snprintf(why->text, sizeof why->text, "it has one part");
        return false;
    }
    for (uint32_t i = 0; i < k->parts; i++)
        if (!one->match(g, &k->part[i], target, why))
            return false;
    return true;
}

/* ---- plan */

/* Parts by body, in the order of the first of each: row of each part. */
static llf_status group(llfi_arena *arena, const uint64_t *hash, uint32_t n, llfi_schedule_parts *p,
                        uint32_t *body)
{
    llfi_map map = {0};
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++) {
        size_t cursor = 0;
        uint32_t b;
        while ((b = llfi_map_next(&map, hash[i], &cursor)) != UINT32_MAX && p->body[b].hash != hash[i])
            ;
        if (b == UINT32_MAX) {
            b = p->bodies++;
            p->body[b] = (llfi_schedule_body){.hash = hash[i]};
            ok = llfi_map_add(arena->mem, &map, hash[i], b);
        }
        body[i] = b;
        p->body[b].rows++;
    }
    llfi_map_free(arena->mem, &map);
    for (uint32_t b = 0, row = 0; b < p->bodies; b++) {
        p->body[b].row = row;
        row += p->body[b].rows;
    }
    return ok ? LLF_OK : LLF_E_NOMEM;
}

static llf_status plan_parts(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                             const llfi_skeleton *one, llfi_schedule_parts *p)
{
    llfi_schedule *s = llfi_arena_alloc(arena, k->parts * sizeof *s);
    uint64_t *hash = llfi_arena_alloc(arena, k->parts * sizeof *hash);
    uint32_t *body = llfi_arena_alloc(arena, 2 * (size_t)k->parts * sizeof *body), *used;
    p->rows = k->parts;
    p->row = llfi_arena_alloc(arena, k->parts * sizeof *p->row);
    p->body = llfi_arena_alloc(arena, k->parts * sizeof *p->body);
    if (!s || !hash || !body || !p->row || !p->body)
        return LLF_E_NOMEM;
    for (uint32_t i = 0; i < k->parts; i++) {
        s[i] = (llfi_schedule){.skeleton = one};
        LLF_TRY(one->plan(g, &k->part[i], target, arena, &s[i]));
        if (s[i].table)
            return LLF_E_LIMIT; /* of arguments */
        hash[i] = llfi_kernel_hash(g, s[i].demands, &k->part[i], &s[i], target);
    }
    used = body + k->parts;
    LLF_TRY(group(arena, hash, k->parts, p, body));
    for (uint32_t i = 0; i < k->parts; i++)
        p->row[p->body[body[i]].row + used[body[i]]++] = (llfi_schedule_row){.schedule = s[i], .part = i};
    return LLF_OK;
}

/* A row's arguments, as the whole kernel's. */
static void add_row(llfi_schedule *s, llfi_schedule_row *r, uint32_t *data)
{
    r->dim0 = s->dims;
    r->data0 = *data;
    for (uint32_t i = 0; i < r->schedule.dims; i++)
        s->dim[s->dims++] = r->schedule.dim[i];
    for (uint32_t i = 0; i < r->schedule.args; i++) {
        llfi_arg a = r->schedule.arg[i];
        *data += a.kind == LLFI_ARG_BUFFER;
        if (a.kind == LLFI_ARG_STRIDE || a.kind == LLFI_ARG_RECIPROCAL)
            a.ref += r->dim0;
        if (a.kind == LLFI_ARG_DIM)
            a = (llfi_arg){.kind = LLFI_ARG_COMPUTED, .dtype = LLF_I64, .ref = r->computed0 + a.ref};
        s->arg[s->args++] = a;
    }
}

/* The argument block: the header, then the rows. */
static llf_status lay_out(llfi_arena *arena, llfi_schedule *s, llfi_schedule_parts *p, uint32_t entry,
                          uint32_t values)
{
    uint32_t header, data = 0, b = 0;
    size_t args = 0, dims = 0;
    for (p->starts = 2; p->starts < p->rows + (entry == 8);) /* 8: items end where the next part begins */
        p->starts *= 2;
    header = p->starts * entry / 8;
    for (uint32_t i = 0; i < p->rows; i++) {
        args += p->row[i].schedule.args;
        dims += p->row[i].schedule.dims;
    }
    s->arg = llfi_arena_alloc(arena, (header + args) * sizeof *s->arg);
    s->dim = llfi_arena_alloc(arena, (dims + 1) * sizeof *s->dim);
    if (!s->arg || !s->dim)
        return LLF_E_NOMEM;
    for (uint32_t i = 0; i < header; i++)
        s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_COMPUTED, .dtype = LLF_I64, .ref = i};
    for (uint32_t i = 0; i < p->rows; i++) {
        llfi_schedule_row *r = &p->row[i];
        if (i == p->body[b].row + p->body[b].rows)
            b++;
        if (i == p->body[b].row)
            p->body[b].slot = s->args;
        r->computed0 = header + i * values;
        add_row(s, r, &data);
        s->cost = r->schedule.cost > s->cost ? r->schedule.cost : s->cost;
        s->width = r->schedule.width > s->width ? r->schedule.width : s->width;
        s->slice = r->schedule.slice > s->slice ? r->schedule.slice : s->slice;
        s->threads = r->schedule.threads > s->threads ? r->schedule.threads : s->threads;
        if (r->schedule.vector_align > s->vector_align)
            s->vector_align = r->schedule.vector_align;
    }
    s->computed = header + p->rows * values;
    return LLF_OK;
}

llf_status llfi_parts_plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                           llfi_schedule *s, const llfi_skeleton *one, uint32_t entry, uint32_t values)
{
    llfi_schedule_parts *p = llfi_arena_alloc(arena, sizeof *p);
    if (!p)
        return LLF_E_NOMEM;
    LLF_TRY(plan_parts(g, k, target, arena, one, p));
    LLF_TRY(lay_out(arena, s, p, entry, values));
    s->parts = p;
    return (uint64_t)s->args * 8 > target->param_bytes ? LLF_E_LIMIT : LLF_OK;
}

llf_status llfi_parts_launch(const llfi_schedule *s, llfi_launch *l, uint32_t values,
                             llf_status (*each)(llfi_launch *, uint32_t, const llfi_launch *))
{
    const llfi_schedule_parts *p = s->parts;
    for (uint32_t i = 0; i < p->rows; i++) {
        const llfi_schedule_row *r = &p->row[i];
        llfi_launch one = {.extent = l->extent + r->dim0, .data = l->data + r->data0};
        LLF_TRY(r->schedule.skeleton->launch(&r->schedule, &one));
        for (uint32_t v = 0; v < values; v++)
            l->computed[r->computed0 + v] = one.value[v];
        LLF_TRY(each(l, i, &one));
    }
    return LLF_OK;
}

/* ---- code */

LLVMValueRef llfi_parts_at(llfi_site *s, LLVMValueRef block, LLVMValueRef bytes)
{
    return LLVMBuildInBoundsGEP2(s->emit.b, s->emit.i8, block, &bytes, 1, "");
}

static LLVMValueRef bytes_of(llfi_site *s, LLVMValueRef index32, uint64_t size)
{
    LLVMValueRef wide = LLVMBuildZExt(s->emit.b, index32, s->emit.i64, "");
    return LLVMBuildMul(s->emit.b, wide, LLVMConstInt(s->emit.i64, size, 0), "");
}

/* Straight code: a few loads of a constant bank, one after another. */
LLVMValueRef llfi_parts_find_row(llfi_site *s, LLVMValueRef block, LLVMValueRef key)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMTypeRef type = LLVMTypeOf(key);
    unsigned bytes = LLVMGetIntTypeWidth(type) / 8;
    LLVMValueRef row = LLVMConstInt(s->emit.i32, 0, 0);
    for (uint32_t step = s->schedule->parts->starts / 2; step; step /= 2) {
        LLVMValueRef next = LLVMBuildAdd(b, row, LLVMConstInt(s->emit.i32, step, 0), "");
        LLVMValueRef start = LLVMBuildLoad2(b, type, llfi_parts_at(s, block, bytes_of(s, next, bytes)), "");
        LLVMSetAlignment(start, bytes);
        row = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULE, start, key, ""), next, row, "");
    }
    return row;
}

/* Calls body `i` for the row, in the current block. */
static llf_status call_body(llfi_site *s, LLVMValueRef block, LLVMValueRef row, uint32_t i,
                            LLVMValueRef function, llfi_parts_call_fn *call, void *user)
{
    const llfi_schedule_body *body = &s->schedule->parts->body[i];
    uint64_t bytes = 8 * (uint64_t)s->schedule->parts->row[body->row].schedule.args;
    LLVMValueRef nth = LLVMBuildSub(s->emit.b, row, LLVMConstInt(s->emit.i32, body->row, 0), "");
    LLVMValueRef first = LLVMConstInt(s->emit.i64, 8 * (uint64_t)body->slot, 0);
    LLVMValueRef at = llfi_parts_at(s, llfi_parts_at(s, block, bytes_of(s, nth, bytes)), first);
    return call(s, i, function, at, user);
}

llf_status llfi_parts_dispatch(llfi_site *s, LLVMValueRef block, LLVMValueRef row, LLVMBasicBlockRef after,
                               llfi_parts_call_fn *call, void *user)
{
    LLVMBuilderRef b = s->emit.b;
    const llfi_schedule_parts *p = s->schedule->parts;
    for (uint32_t i = 0; i < p->bodies; i++) {
        const llfi_schedule_row *first = &p->row[p->body[i].row];
        LLVMBasicBlockRef next = NULL;
        char name[BODY_NAME];
        LLVMValueRef function;
        snprintf(name, sizeof name, "llf_part_%u", i);
        LLF_TRY(llfi_lower_part(s, &s->kernel->part[first->part], &first->schedule, name, &function));
        if (i + 1 < p->bodies) {
            LLVMBasicBlockRef here = LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
            LLVMValueRef limit = LLVMConstInt(s->emit.i32, p->body[i + 1].row, 0);
            next = LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
            LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, row, limit, ""), here, next);
            LLVMPositionBuilderAtEnd(b, here);
        }
        LLF_TRY(call_body(s, block, row, i, function, call, user));
        LLVMBuildBr(b, after);
        if (next)
            LLVMPositionBuilderAtEnd(b, next);
    }
    return LLF_OK;
}
