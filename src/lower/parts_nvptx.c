/* parts_nvptx.c: independent parts in one grid: each has blocks of its own, one after another. A block finds
 * its part by binary search over the parts' first blocks, the part's tensors in the part's row, and runs the
 * part's body, which is the code of the pointwise skeleton. All of it is read from parameter space by
 * addresses that are the same for the whole block. */
#include "lower/parts.h"
#include "lower/pointwise.h"

#define VALUES 2u /* DIM arguments of pointwise_nvptx.c */

static const llfi_skeleton *const one = &llfi_skeleton_pointwise_nvptx;

static bool match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    return llfi_parts_match(g, k, target, why, one);
}

static llf_status plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                       llfi_schedule *s)
{
    return llfi_parts_plan(g, k, target, arena, s, one, 4, VALUES);
}

/* Loads the row's arguments and calls the body. `user`: the block's index in its part. */
static llf_status call(llfi_site *s, uint32_t body, LLVMValueRef function, LLVMValueRef at, void *user)
{
    llfi_emit *e = &s->emit;
    const llfi_schedule_parts *p = s->schedule->parts;
    const llfi_schedule *part = &p->row[p->body[body].row].schedule;
    LLVMTypeRef type = LLVMGlobalGetValueType(function);
    uint32_t params = part->args + 1;
    LLVMTypeRef *param = llfi_arena_alloc(s->arena, params * sizeof *param);
    LLVMValueRef *arg = llfi_arena_alloc(s->arena, params * sizeof *arg);
    if (!param || !arg)
        return llfi_nomem(e->diag);
    LLVMGetParamTypes(type, param);
    arg[0] = user;
    for (uint32_t i = 1; i < params; i++) {
        const llfi_arg *a = &part->arg[i - 1];
        LLVMValueRef slot = llfi_parts_at(s, at, LLVMConstInt(e->i64, 8 * (uint64_t)(i - 1), 0));
        arg[i] = LLVMBuildLoad2(e->b, param[i], slot, "");
        LLVMSetAlignment(arg[i], a->kind == LLFI_ARG_SCALAR ? llfi_dtypes[a->dtype].bytes : 8);
    }
    LLVMBuildCall2(e->b, type, function, arg, params, "");
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    llfi_emit *e = &s->emit;
    LLVMValueRef block = LLVMGetParam(s->function, 0);
    LLVMValueRef index = llfi_emit_call(e, "llvm.nvvm.read.ptx.sreg.ctaid.x", NULL, NULL, 0);
    if (!index)
        return e->status;
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->lx, s->function, "");
    LLVMValueRef row = llfi_parts_find_row(s, block, index);
    LLVMValueRef four = LLVMConstInt(e->i64, 4, 0);
    LLVMValueRef bytes = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, row, e->i64, ""), four, "");
    LLVMValueRef start = LLVMBuildLoad2(e->b, e->i32, llfi_parts_at(s, block, bytes), "");
    LLVMSetAlignment(start, 4);
    index = LLVMBuildZExt(e->b, LLVMBuildSub(e->b, index, start, ""), e->i64, "");
    LLF_TRY(llfi_parts_dispatch(s, block, row, after, call, index));
    LLVMPositionBuilderAtEnd(e->b, after);
    LLVMBuildRetVoid(e->b);
    return LLF_OK;
}

/* l->items counts the blocks until all are known. */
static llf_status add(llfi_launch *l, uint32_t row, const llfi_launch *part)
{
    uint64_t start = (uint64_t)l->items, pair = (uint64_t)l->computed[row / 2];
    l->computed[row / 2] =
        (int64_t)(row % 2 ? (pair & UINT32_MAX) | start << 32 : (pair >> 32 << 32) | start);
    l->items += part->grid[0];
    return l->items > LLFI_GRID_MAX ? LLF_E_LIMIT : LLF_OK;
}

static llf_status launch(const llfi_schedule *s, llfi_launch *l)
{
    memset(l->computed, 0xff, s->parts->starts / 2 * sizeof *l->computed); /* beyond every block */
    l->items = 0;
    LLF_TRY(llfi_parts_launch(s, l, VALUES, add));
    l->grid[0] = (uint32_t)l->items;
    l->grid[1] = l->grid[2] = 1;
    l->block[0] = s->threads;
    l->block[1] = l->block[2] = 1;
    l->shared = 0;
    l->grain = l->items;
    return LLF_OK;
}

const llfi_skeleton llfi_skeleton_parts_nvptx = {
    .name = "parts", .prefix = "par", .match = match, .plan = plan, .emit = emit, .launch = launch};
