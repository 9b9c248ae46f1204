/* pointwise.c: the parts of the pointwise skeletons that do not depend on the target. No threads, no blocks.
 */
#include "lower/pointwise.h"

static bool has_space(const llf_graph *g, llf_id node, llfi_type space)
{
    llfi_type t = llfi_type_of(g, node);
    return t.rank == 0 || llfi_type_same_dims(t, space);
}

bool llfi_pointwise_match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    (void)target;
    llfi_type space = llfi_type_at(g, k->space);
    if (k->reduced) {
        snprintf(why->text, sizeof why->text, "it reduces");
        return false;
    }
    if (k->parts > 1) {
        snprintf(why->text, sizeof why->text, "it has %u parts", k->parts);
        return false;
    }
    for (uint32_t i = 0; i < k->members; i++) {
        const llfi_op_info *op = &llfi_ops[llfi_node_at(g, k->member[i])->op];
        if (op->cls == LLFI_CLASS_COMPOSITE || op->cls == LLFI_CLASS_VIEW) {
            snprintf(why->text, sizeof why->text, "%s is not elementwise", op->name);
            return false;
        }
    }
    for (uint32_t i = 0; i < k->stores; i++)
        if (!has_space(g, k->store[i], space)) {
            snprintf(why->text, sizeof why->text, "node %u has another shape than the kernel", k->store[i]);
            return false;
        }
    if (!k->stores)
        snprintf(why->text, sizeof why->text, "the kernel stores nothing");
    return k->stores > 0;
}

static void add_buffer(llfi_schedule *s, const llf_graph *g, llf_id node, bool written, bool vector,
                       llfi_pointwise_sums *sums)
{
    llf_dtype dtype = llfi_dtype_of(g, node);
    s->arg[s->args++] = (llfi_arg){
        .kind = LLFI_ARG_BUFFER, .dtype = dtype, .ref = node, .written = written, .vector = vector};
    if (!vector)
        return;
    uint32_t bytes = llfi_dtypes[dtype].bytes;
    sums->bytes += bytes;
    sums->least = sums->least && sums->least < bytes ? sums->least : bytes;
    sums->most = sums->most > bytes ? sums->most : bytes;
}

static void add_arguments(llfi_schedule *s, const llf_graph *g, const llfi_kernel *k,
                          const llfi_demands *list, uint32_t values, llfi_pointwise_sums *sums)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        if (list->at[i].leaf && list->at[i].same == i && llfi_node_is_buffered(n))
            add_buffer(s, g, list->at[i].node, false, list->at[i].scope == 1, sums);
    }
    for (uint32_t i = 0; i < k->stores; i++) {
        bool uniform = list->at[list->store[i]].scope == 0;
        s->uniform_store |= uniform;
        add_buffer(s, g, k->store[i], true, !uniform, sums);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        if (list->at[i].leaf && llfi_node_is_scalar(n))
            s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_SCALAR,
                                           .dtype = llfi_dtype_of(g, list->at[i].node),
                                           .ref = list->at[i].node};
    }
    for (uint32_t i = 0; i < values; i++)
        s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_DIM, .dtype = LLF_I64, .ref = i};
    for (uint32_t i = 0; i < list->dims; i++)
        s->arg[s->args++] =
            (llfi_arg){.kind = LLFI_ARG_STRIDE, .dtype = LLF_I64, .ref = s->dims - list->dims + i};
}

/* The number of elements; the innermost extent where there are several; what the list's expressions want. */
static llf_status add_dims(llf_graph *g, const llfi_kernel *k, const llfi_demands *list, llfi_arena *arena,
                           llfi_schedule *s)
{
    s->dim = llfi_arena_alloc(arena, ((size_t)list->dims + 2) * sizeof *s->dim);
    if (!s->dim)
        return LLF_E_NOMEM;
    s->dim[s->dims++] = llfi_numel(g, k->space);
    if (list->space.axes > 1) {
        s->inner = s->dims;
        s->dim[s->dims++] = list->space.extent[list->space.axes - 1];
    }
    for (uint32_t i = 0; i < list->dims; i++)
        s->dim[s->dims++] = list->dim[i];
    return s->dim[0] != LLFI_DIM_NONE ? LLF_OK : llfi_dims_nomem(g->dims) ? LLF_E_NOMEM : LLF_E_LIMIT;
}

/* Extents, and strides of many inputs, can be more than a kernel may have parameters: then they stand in
 * memory. */
static llf_status use_table(uint32_t dims, const llfi_target *target, llfi_schedule *s)
{
    uint32_t first = s->args - dims;
    if (!dims || ((uint64_t)first + 1) * 8 > target->param_bytes)
        return LLF_E_LIMIT;
    memmove(s->arg + first + 1, s->arg + first, dims * sizeof *s->arg);
    s->arg[first] = (llfi_arg){.kind = LLFI_ARG_TABLE, .dtype = LLF_I64};
    s->args++;
    s->table = true;
    return LLF_OK;
}

static uint32_t cost_of(const llf_graph *g, llf_id id, llf_dtype dtype)
{
    const llfi_node *n = llfi_node_at(g, id);
    return llfi_op_cost((llf_op)n->op, dtype) * (llfi_ops[n->op].arity == LLFI_VARIADIC ? n->arity : 1);
}

llf_status llfi_pointwise_plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, uint32_t values,
                               llfi_arena *arena, llfi_schedule *s, llfi_pointwise_sums *sums)
{
    llfi_demands *made = llfi_arena_alloc(arena, sizeof *made);
    *sums = (llfi_pointwise_sums){0};
    if (!made)
        return LLF_E_NOMEM;
    LLF_TRY(llfi_demands_make(g, k, arena, made));
    const llfi_demands list = *made;
    s->demands = made;
    LLF_TRY(add_dims(g, k, &list, arena, s));
    s->arg =
        llfi_arena_alloc(arena, ((size_t)list.count + k->stores + values + list.dims + 2) * sizeof *s->arg);
    if (!s->arg)
        return LLF_E_NOMEM;
    add_arguments(s, g, k, &list, values, sums);
    if (s->args * 8 > target->param_bytes)
        LLF_TRY(use_table(list.dims, target, s));
    for (uint32_t i = list.uniform; i < list.count; i++) {
        llf_dtype dtype = llfi_dtype_of(g, list.at[i].node);
        if (!list.at[i].leaf)
            sums->cost += cost_of(g, list.at[i].node, dtype);
        sums->values8 += llfi_dtypes[dtype].bytes == 8;
        sums->values4 += llfi_dtypes[dtype].bytes < 8 && dtype != LLF_BOOL;
    }
    s->cost = sums->cost;
    return LLF_OK;
}

llf_status llfi_pointwise_vectors(const llf_graph *g, const llfi_demands *list, llfi_arena *arena,
                                  llfi_schedule *s)
{
    bool *multiple = llfi_arena_alloc(arena, (size_t)list->dims + 1);
    s->multiple = llfi_arena_alloc(arena, ((size_t)list->dims + 1) * sizeof *s->multiple);
    if (!multiple || !s->multiple)
        return LLF_E_NOMEM;
    for (uint32_t a = 0; list->forms && a < s->args; a++)
        s->arg[a].vector = s->arg[a].vector && s->arg[a].written;
    for (uint32_t i = list->uniform, a; list->forms && i < list->count; i++) {
        const llfi_node *n = llfi_node_at(g, list->at[i].node);
        if (!list->at[i].leaf || !llfi_node_is_buffered(n))
            continue;
        llfi_access how = llfi_access_of(g, list, i, s->width, true, multiple);
        if (how != LLFI_ACCESS_VECTOR && how != LLFI_ACCESS_BACK)
            continue;
        for (a = 0; s->arg[a].kind != LLFI_ARG_BUFFER || s->arg[a].ref != list->at[i].node;)
            a++;
        s->arg[a].vector = true;
    }
    for (uint32_t i = 0; i < list->dims; i++)
        if (multiple[i])
            s->multiple[s->multiples++] = s->dims - list->dims + i;
    return LLF_OK;
}

/* Does taking an index apart divide by axis k's extent? */
static bool divides(const llfi_space *space, uint32_t k)
{
    return k + 1 == space->axes || (space->used & ((2u << k) - 1)) != 0;
}

/* Once for each extent, which stands among `dim`: all but that of the first axis do. */
static void add_reciprocal(const llf_graph *g, llfi_dim d, uint32_t first, llfi_schedule *s)
{
    int64_t value;
    uint32_t i = 0;
    if (llfi_dim_is_const(g->dims, d, &value))
        return;
    while (s->dim[i] != d)
        i++;
    for (uint32_t a = first; a < s->args; a++)
        if (s->arg[a].ref == i)
            return;
    s->arg[s->args++] = (llfi_arg){.kind = LLFI_ARG_RECIPROCAL, .dtype = LLF_I64, .ref = i};
}

llf_status llfi_pointwise_reciprocals(const llf_graph *g, const llfi_demands *list, const llfi_target *target,
                                      llfi_arena *arena, llfi_schedule *s)
{
    const llfi_space *space = &list->space;
    uint32_t first = s->args, most = first + list->dims;
    if (list->forms == 0 || s->table || (uint64_t)most * 8 > target->param_bytes)
        return LLF_OK;
    llfi_arg *arg = llfi_arena_alloc(arena, (most + 1) * sizeof *arg);
    if (!arg)
        return LLF_E_NOMEM;
    memcpy(arg, s->arg, s->args * sizeof *arg);
    s->arg = arg;
    for (uint32_t k = space->axes; k-- > 1;)
        if (divides(space, k))
            add_reciprocal(g, space->extent[k], first, s);
    for (uint32_t i = 0; space->narrow && i < list->atoms; i++)
        if (list->atom[i].kind == LLFI_ATOM_DIV || list->atom[i].kind == LLFI_ATOM_MOD)
            add_reciprocal(g, list->atom[i].by, first, s);
    return LLF_OK;
}

/* Quotient and remainder. */
static void divide_by(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef extent, LLVMValueRef *out)
{
    out[0] = LLVMBuildUDiv(b, x, extent, "");
    out[1] = LLVMBuildSub(b, x, LLVMBuildMul(b, out[0], extent, ""), ""); /* dead where nobody asks */
}

/* The same in 32 bits, of numbers below 2^31. */
static void divide_narrow(llfi_site *s, LLVMValueRef x, LLVMValueRef extent, llfi_dim by, LLVMValueRef *out)
{
    LLVMBuilderRef b = s->emit.b;
    if (LLVMIsAConstantInt(extent) || !(out[0] = llfi_index_quotient(s, x, by)))
        divide_by(b, x, extent, out);
    else
        out[1] = LLVMBuildSub(b, x, LLVMBuildMul(b, out[0], extent, ""), "");
}

/* Quotient and remainder of x by axis k's extent, numbers that are at most the number of elements. Wide
 * indices may fit 31 bits all the same, which is decided for the whole kernel at run time: a GPU divides 64
 * bits by a long subroutine. */
static void divide(llfi_site *s, LLVMValueRef x, uint32_t k, LLVMValueRef *out)
{
    LLVMBuilderRef b = s->emit.b;
    llfi_dim by = s->demands.space.extent[k];
    LLVMValueRef extent = llfi_index_dim(s, by), way[2][2];
    if (s->demands.space.narrow) {
        divide_narrow(s, x, extent, by, out);
        return;
    }
    if (LLVMIsAConstantInt(extent)) {
        divide_by(b, x, extent, out);
        return;
    }
    LLVMBasicBlockRef road[2], both;
    for (int i = 0; i < 2; i++)
        road[i] = LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
    both = LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
    LLVMValueRef limit = LLVMConstInt(s->emit.i64, UINT64_C(1) << 31, 0), n = llfi_pointwise_dim(s, 0);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n, limit, ""), road[0], road[1]);
    LLVMPositionBuilderAtEnd(b, road[0]);
    divide_narrow(s, LLVMBuildTrunc(b, x, s->emit.i32, ""), LLVMBuildTrunc(b, extent, s->emit.i32, ""), by,
                  way[0]);
    for (int i = 0; i < 2; i++)
        way[0][i] = LLVMBuildZExt(b, way[0][i], s->emit.i64, "");
    LLVMBuildBr(b, both);
    LLVMPositionBuilderAtEnd(b, road[1]);
    divide_by(b, x, extent, way[1]);
    LLVMBuildBr(b, both);
    LLVMPositionBuilderAtEnd(b, both);
    for (int i = 0; i < 2; i++) {
        out[i] = LLVMBuildPhi(b, s->emit.i64, "");
        LLVMAddIncoming(out[i], (LLVMValueRef[]){way[0][i], way[1][i]}, road, 2);
    }
}

void llfi_pointwise_unravel(llfi_site *s, LLVMValueRef index, uint32_t from, uint32_t to, LLVMValueRef *axis)
{
    for (uint32_t k = to; k-- > from + 1;) {
        LLVMValueRef out[2];
        if (!divides(&s->demands.space, k) && k + 1 < to)
            return; /* nobody asks for this axis or one before it */
        divide(s, index, k, out);
        index = out[0];
        axis[k] = out[1];
    }
    if (from < to)
        axis[from] = index;
}

void llfi_pointwise_axes(llfi_site *s, LLVMValueRef linear, LLVMValueRef *axis)
{
    const llfi_space *space = &s->demands.space;
    for (uint32_t k = 0; k < LLFI_RANK; k++)
        axis[k] = NULL;
    if (s->demands.forms == 0)
        return;
    if (space->narrow)
        linear = LLVMBuildTrunc(s->emit.b, linear, s->emit.i32, "");
    llfi_pointwise_unravel(s, linear, 0, space->axes, axis);
}

LLVMValueRef llfi_pointwise_dim(const llfi_site *s, uint32_t index)
{
    uint32_t i = 0;
    while (s->schedule->arg[i].kind != LLFI_ARG_DIM || s->schedule->arg[i].ref != index)
        i++;
    return s->arg[i];
}

/* Leaves stand first in scope 1, so all loads of the tile come before its stores; each result is stored as
 * soon as it is made, which keeps few values live. */
llf_status llfi_pointwise_body(llfi_site *s, const llfi_tile *tile)
{
    const llfi_demands *list = &s->demands;
    bool *stored = llfi_arena_alloc(s->arena, list->count + 1);
    if (!stored)
        return llfi_nomem(s->emit.diag);
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        stored[list->store[i]] = list->at[list->store[i]].scope == 1;
    llfi_site_forget(s);
    for (uint32_t i = list->uniform; i < list->count; i++) {
        LLF_TRY(llfi_lower(s, tile, i, i + 1));
        if (stored[i])
            LLF_TRY(llfi_store(s, tile, i));
    }
    return LLF_OK;
}

llf_status llfi_pointwise_uniform(llfi_site *s)
{
    for (uint32_t i = 0; i < s->kernel->stores; i++)
        if (s->demands.at[s->demands.store[i]].scope == 0)
            LLF_TRY(llfi_store(s, NULL, s->demands.store[i]));
    return LLF_OK;
}
