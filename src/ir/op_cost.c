/* op_cost.c: what one evaluation of an op costs, about: the estimate that legality caps and schedules share.
 * Must not know a target. */
#include "ir/ir.h"

/* One evaluation in f32, in instructions of a GPU or of a vector unit per element; functions as their usual
 * polynomials cost. Deliberately coarse: it only orders kernels and bounds code size. */
static uint32_t cost_f32(llf_op op)
{
    switch (op) {
    case LLF_OP_INPUT:
    case LLF_OP_CONST:
    case LLF_OP_RESULT:
    case LLF_OP_COPY:
    case LLF_OP_TAKE: return 0; /* its index arithmetic is counted nowhere, like that of views */
    case LLF_OP_CAST:
    case LLF_OP_PAD:
    case LLF_OP_CONCAT: return 2; /* an operand: condition and select */
    case LLF_OP_DIV: return 10;
    case LLF_OP_SQRT: return 8;
    case LLF_OP_RSQRT: return 4;
    case LLF_OP_EXP: return 6;
    case LLF_OP_EXP2: return 4;
    case LLF_OP_LOG: return 12;
    case LLF_OP_LOG1P: return 20;
    case LLF_OP_TANH: return 20;
    case LLF_OP_SIN:
    case LLF_OP_COS: return 40;
    case LLF_OP_ERF: return 30;
    case LLF_OP_RELU: return 2;
    case LLF_OP_SIGMOID:
    case LLF_OP_SILU: return 20;
    case LLF_OP_GELU: return 40;
    case LLF_OP_SOFTPLUS: return 30;
    case LLF_OP_SOFTMAX:
    case LLF_OP_LOG_SOFTMAX:
    case LLF_OP_LOGSUMEXP:
    case LLF_OP_CROSS_ENTROPY:
    case LLF_OP_VAR:
    case LLF_OP_STD:
    case LLF_OP_LAYER_NORM:
    case LLF_OP_BATCH_NORM_TRAIN: return 12;
    case LLF_OP_RMS_NORM:
    case LLF_OP_L2_NORMALIZE:
    case LLF_OP_BATCH_NORM: return 6;
    case LLF_OP_SOFTMAX_STATS: return 8;
    case LLF_OP_MOMENTS: return 5;
    default: return 1;
    }
}

uint32_t llfi_op_cost(llf_op op, llf_dtype dtype)
{
    uint32_t cost =
        llfi_ops[op].cls == LLFI_CLASS_VIEW ? 0 : cost_f32(op); /* indices are counted elsewhere */
    if (llfi_ops[op].cls == LLFI_CLASS_INDEX)
        return cost;                   /* a move does not round */
    if (dtype == LLF_F64 && cost >= 4) /* no special-function unit, long polynomials */
        return cost < 20 ? 60 : 3 * cost;
    if (cost && llfi_dtype_is_float16(dtype))
        return cost + 2; /* rounding */
    return cost;
}
