/* parts_host.c: independent parts as one range of items, one part's after another, which the thread pool cuts
 * anywhere. A piece finds the part that it begins in, runs the body on what it has of that part, and goes on
 * to the next. */
#include "lower/parts.h"

#define VALUES 2u /* DIM arguments of pointwise_host.c */

static const llfi_skeleton *const one = &llfi_skeleton_pointwise_host;

static bool match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    return llfi_parts_match(g, k, target, why, one);
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    return llfi_parts_plan(g, k, target, arena, s, one, 8, VALUES);
}

static LLVMBasicBlockRef block_of(llfi_site *s)
{
    return LLVMAppendBasicBlockInContext(s->emit.lx, s->function, "");
}

/* The header's entry of this row (i32). */
static LLVMValueRef entry(llfi_site *s, LLVMValueRef block, LLVMValueRef row)
{
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef bytes =
        LLVMBuildMul(b, LLVMBuildZExt(b, row, s->emit.i64, ""), LLVMConstInt(s->emit.i64, 8, 0), "");
    return LLVMBuildLoad2(b, s->emit.i64, llfi_parts_at(s, block, bytes), "");
}

/* `user`: first and last item of the part. */
static llf_status call(llfi_site *s, uint32_t body, LLVMValueRef function, LLVMValueRef at, void *user)
{
    (void)body;
    LLVMValueRef *range = user, arg[] = {at, range[0], range[1]};
    LLVMBuildCall2(s->emit.b, LLVMGlobalGetValueType(function), function, arg, 3, "");
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    llfi_emit *e = &s->emit;
    LLVMBuilderRef b = e->b;
    LLVMValueRef block = LLVMGetParam(s->function, 0), begin = s->range[0], end = s->range[1], range[2];
    LLVMValueRef first = llfi_parts_find_row(s, block, begin);
    LLVMBasicBlockRef entered = LLVMGetInsertBlock(b), head = block_of(s), some = block_of(s),
                      next = block_of(s), done = block_of(s);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef row = LLVMBuildPhi(b, e->i32, ""), one_more = LLVMConstInt(e->i32, 1, 0);
    LLVMValueRef start = entry(s, block, row), stop = entry(s, block, LLVMBuildAdd(b, row, one_more, ""));
    range[0] = llfi_emit_call(e, "llvm.smax", e->i64, (LLVMValueRef[]){begin, start}, 2);
    range[1] = llfi_emit_call(e, "llvm.smin", e->i64, (LLVMValueRef[]){end, stop}, 2);
    if (!range[0] || !range[1])
        return e->status;
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, range[0], range[1], ""), some, next);
    LLVMPositionBuilderAtEnd(b, some);
    for (int i = 0; i < 2; i++)
        range[i] = LLVMBuildSub(b, range[i], start, "");
    LLF_TRY(llfi_parts_dispatch(s, block, row, next, call, range));
    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef after = LLVMBuildAdd(b, row, one_more, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, stop, end, ""), head, done);
    LLVMAddIncoming(row, (LLVMValueRef[]){first, after}, (LLVMBasicBlockRef[]){entered, next}, 2);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
    return LLF_OK;
}

static llf_status add(llfi_launch *l, uint32_t row, const llfi_launch *part)
{
    l->computed[row] = l->items;
    l->computed[row + 1] = INT64_MAX; /* replaced by the next row, or the end */
    if (__builtin_add_overflow(l->items, part->items, &l->items))
        return LLF_E_LIMIT;
    l->grain = part->grain < l->grain ? part->grain : l->grain;
    return LLF_OK;
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    const llfi_schedule_parts *p = s->parts;
    for (uint32_t i = 0; i < p->starts; i++)
        l->computed[i] = INT64_MAX;
    l->items = 0;
    l->grain = INT64_MAX;
    LLF_TRY(llfi_parts_launch(s, l, VALUES, add));
    l->computed[p->rows] = l->items;
    l->grid[0] = l->items > 0;
    l->grid[1] = l->grid[2] = l->block[0] = l->block[1] = l->block[2] = 1;
    l->shared = 0;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_parts_host = {
    .name = "parts", .prefix = "par", .match = match, .plan = plan, .emit = emit, .launch = launch};
