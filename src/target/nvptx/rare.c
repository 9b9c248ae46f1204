/* rare.c: work that few lanes ever need. One copy of the slow code serves every lane: a loop takes lane 0 and
 * rotates the others down, so that nothing is indexed by a run-time lane (that would be local memory), and
 * the code and the driver's compile time do not grow with the width. Must not decide when it is needed. */
#include "target/nvptx/nvptx.h"

#define LANES 16u
#define VALUES 4u

/* One value of the loop: its lanes before, and the phis they become. */
typedef struct {
    LLVMValueRef first[LANES], phi[LANES], next; /* `next`: what this turn makes of lane 0 */
} rotating;

static void start(llfi_emit *e, rotating *r, LLVMValueRef vector)
{
    for (uint32_t i = 0; i < e->width; i++)
        r->first[i] = llfi_emit_lane(e, vector, i);
}

static LLVMValueRef turned(const llfi_emit *e, const rotating *r, uint32_t i)
{
    return i + 1 < e->width ? r->phi[i + 1] : r->next;
}

static LLVMValueRef gather(llfi_emit *e, LLVMValueRef *lanes, LLVMTypeRef type)
{
    if (e->width == 1)
        return lanes[0];
    LLVMValueRef v = LLVMGetPoison(type);
    for (uint32_t i = 0; i < e->width; i++)
        v = LLVMBuildInsertElement(e->b, v, lanes[i], LLVMConstInt(e->i32, i, false), "");
    return v;
}

/* Closes the loop: `width` turns bring every lane back to its place. */
static void close_loop(llfi_emit *e, LLVMBasicBlockRef *origin, LLVMBasicBlockRef to, LLVMValueRef count)
{
    LLVMValueRef counted = LLVMBuildAdd(e->b, count, LLVMConstInt(e->i32, 1, false), "");
    LLVMValueRef counts[2] = {LLVMConstInt(e->i32, 0, false), counted};
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntULT, counted, LLVMConstInt(e->i32, e->width, false), "");
    LLVMBuildCondBr(e->b, more, origin[1], to);
    LLVMAddIncoming(count, counts, origin, 2);
}

void llfi_nvptx_rarely(llfi_emit *e, LLVMValueRef enter, const LLVMValueRef *in, uint32_t ins,
                       LLVMValueRef *result, uint32_t results, llfi_nvptx_slow_fn *slow)
{
    rotating value[VALUES];
    uint32_t values = ins + results;
    if (e->width > LANES || values > VALUES) {
        e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "%u values of %u lanes at once", values, e->width);
        return;
    }
    for (uint32_t k = 0; k < values; k++)
        start(e, &value[k], k < ins ? in[k] : result[k - ins]);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef to = LLVMAppendBasicBlockInContext(e->lx, LLVMGetBasicBlockParent(from), "");
    LLVMMoveBasicBlockAfter(to, from);
    LLVMBasicBlockRef loop = LLVMInsertBasicBlockInContext(e->lx, to, "rare");
    LLVMBuildCondBr(e->b, enter, loop, to);

    LLVMBasicBlockRef origin[2] = {from, loop};
    LLVMPositionBuilderAtEnd(e->b, loop);
    for (uint32_t k = 0; k < values; k++)
        for (uint32_t i = 0; i < e->width; i++)
            value[k].phi[i] = LLVMBuildPhi(e->b, LLVMTypeOf(value[k].first[i]), "");
    LLVMValueRef count = LLVMBuildPhi(e->b, e->i32, "");
    LLVMValueRef now[VALUES], out[VALUES];
    for (uint32_t k = 0; k < values; k++)
        now[k] = value[k].next = value[k].phi[0];
    slow(e, now, now + ins, out);
    for (uint32_t k = 0; k < results; k++)
        value[ins + k].next = out[k];
    close_loop(e, origin, to, count);
    for (uint32_t k = 0; k < values; k++)
        for (uint32_t i = 0; i < e->width; i++) {
            LLVMValueRef incoming[2] = {value[k].first[i], turned(e, &value[k], i)};
            LLVMAddIncoming(value[k].phi[i], incoming, origin, 2);
        }

    LLVMPositionBuilderAtEnd(e->b, to);
    for (uint32_t k = 0; k < results; k++) {
        LLVMValueRef lanes[LANES];
        for (uint32_t i = 0; i < e->width; i++) {
            const rotating *r = &value[ins + k];
            LLVMValueRef incoming[2] = {r->first[i], turned(e, r, i)};
            lanes[i] = LLVMBuildPhi(e->b, LLVMTypeOf(r->first[i]), "");
            LLVMAddIncoming(lanes[i], incoming, origin, 2);
        }
        for (uint32_t i = 0; i < e->width; i++)
            value[ins + k].first[i] = lanes[i];
    }
    for (uint32_t k = 0; k < results; k++)
        result[k] = gather(e, value[ins + k].first, LLVMTypeOf(result[k]));
}
