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

/* Everything that passes from the lanes before the road to the lanes after it. */
typedef struct {
    rotating value[VALUES]; /* operands, then results */
    uint32_t ins, values;
    LLVMBasicBlockRef from, road, to;
} crossing;

static void in_road(llfi_emit *e, crossing *c, llfi_nvptx_slow_fn *slow)
{
    LLVMValueRef now[VALUES], out[VALUES];
    for (uint32_t k = 0; k < c->values; k++)
        now[k] = c->value[k].phi[0];
    slow(e, now, now + c->ins, out);
    for (uint32_t k = c->ins; k < c->values; k++)
        c->value[k].next = out[k - c->ins];
}

static void one_lane(llfi_emit *e, crossing *c, llfi_nvptx_slow_fn *slow)
{
    for (uint32_t k = 0; k < c->values; k++)
        c->value[k].phi[0] = c->value[k].first[0];
    in_road(e, c, slow);
    LLVMBuildBr(e->b, c->to);
}

/* `width` turns bring every result back to its lane; operands only move down. */
static void all_lanes(llfi_emit *e, crossing *c, llfi_nvptx_slow_fn *slow)
{
    LLVMBasicBlockRef origin[2] = {c->from, c->road};
    LLVMValueRef zero = LLVMConstInt(e->i32, 0, false);
    for (uint32_t k = 0; k < c->values; k++)
        for (uint32_t i = 0; i < e->width; i++)
            c->value[k].phi[i] = LLVMBuildPhi(e->b, LLVMTypeOf(c->value[k].first[i]), "");
    LLVMValueRef count = LLVMBuildPhi(e->b, e->i32, "");
    in_road(e, c, slow);
    LLVMValueRef counted = LLVMBuildAdd(e->b, count, LLVMConstInt(e->i32, 1, false), "");
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntULT, counted, LLVMConstInt(e->i32, e->width, false), "");
    llfi_emit_keep_loop(e, LLVMBuildCondBr(e->b, more, c->road, c->to));
    LLVMAddIncoming(count, (LLVMValueRef[]){zero, counted}, origin, 2);
    for (uint32_t k = 0; k < c->ins; k++)
        c->value[k].next = c->value[k].phi[e->width - 1];
    for (uint32_t k = 0; k < c->values; k++)
        for (uint32_t i = 0; i < e->width; i++) {
            LLVMValueRef incoming[2] = {c->value[k].first[i], turned(e, &c->value[k], i)};
            LLVMAddIncoming(c->value[k].phi[i], incoming, origin, 2);
        }
}

/* Phis first, for every result: LLVM wants them at a block's head. */
static void after(llfi_emit *e, crossing *c, LLVMValueRef *result)
{
    LLVMBasicBlockRef origin[2] = {c->from, c->road};
    for (uint32_t k = c->ins; k < c->values; k++) {
        LLVMValueRef lanes[LANES] = {NULL};
        for (uint32_t i = 0; i < e->width; i++) {
            LLVMValueRef incoming[2] = {c->value[k].first[i], turned(e, &c->value[k], i)};
            lanes[i] = LLVMBuildPhi(e->b, LLVMTypeOf(c->value[k].first[i]), "");
            LLVMAddIncoming(lanes[i], incoming, origin, 2);
        }
        memcpy(c->value[k].first, lanes, sizeof lanes);
    }
    for (uint32_t k = c->ins; k < c->values; k++)
        result[k - c->ins] = gather(e, c->value[k].first, LLVMTypeOf(result[k - c->ins]));
}

void llfi_nvptx_rarely(llfi_emit *e, LLVMValueRef enter, const LLVMValueRef *in, uint32_t ins,
                       LLVMValueRef *result, uint32_t results, llfi_nvptx_slow_fn *slow)
{
    crossing c = {.ins = ins, .values = ins + results, .from = LLVMGetInsertBlock(e->b)};
    if (e->width > LANES || c.values > VALUES) {
        e->status = llfi_fail(e->diag, LLF_E_INTERNAL, "%u values of %u lanes at once", c.values, e->width);
        return;
    }
    for (uint32_t k = 0; k < c.values; k++)
        start(e, &c.value[k], k < ins ? in[k] : result[k - ins]);
    c.to = LLVMAppendBasicBlockInContext(e->lx, LLVMGetBasicBlockParent(c.from), "");
    LLVMMoveBasicBlockAfter(c.to, c.from);
    c.road = LLVMInsertBasicBlockInContext(e->lx, c.to, "rare");
    LLVMBuildCondBr(e->b, enter, c.road, c.to);
    LLVMPositionBuilderAtEnd(e->b, c.road);
    if (e->width == 1)
        one_lane(e, &c, slow);
    else
        all_lanes(e, &c, slow);
    LLVMPositionBuilderAtEnd(e->b, c.to);
    after(e, &c, result);
}
