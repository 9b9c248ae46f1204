/* schedule.c: finds the skeleton of a kernel, and the integer estimates that legality and schedules share. It
 * must stay pure: no device, no clock, no LLVM. */
#include "schedule/schedule.h"

#include "target/target.h"

/* One evaluation in f32, in instructions of a GPU or of a vector unit per element; functions as their usual
 * polynomials cost. Deliberately coarse: it only orders kernels and bounds code size. */
static uint32_t cost_f32(llf_op op)
{
    switch (op) {
    case LLF_OP_INPUT:
    case LLF_OP_CONST:
    case LLF_OP_COPY: return 0;
    case LLF_OP_CAST: return 2;
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
    default: return 1;
    }
}

uint32_t llfi_op_cost(llf_op op, llf_dtype dtype)
{
    uint32_t cost = cost_f32(op);
    if (dtype == LLF_F64 && cost >= 4) /* no special-function unit, long polynomials */
        return cost < 20 ? 60 : 3 * cost;
    if (cost && (dtype == LLF_F16 || dtype == LLF_BF16))
        return cost + 2; /* rounding */
    return cost;
}

bool llfi_op_has_rare_road(llf_op op, llf_dtype dtype)
{
    return dtype != LLF_F64 &&
           (op == LLF_OP_DIV || op == LLF_OP_SQRT || op == LLF_OP_SIN || op == LLF_OP_COS);
}

static const char *plan_failure(llf_status status)
{
    switch (status) {
    case LLF_E_LIMIT: return "too many elements, demands or kernel parameters";
    default: return "the plan is inconsistent";
    }
}

llf_status llfi_schedule_make(llf_context *cx, llf_graph *g, const llfi_plan *plan, uint32_t kernel,
                              const llfi_target *target, llfi_arena *arena, llfi_schedule *out)
{
    llfi_diag *diag = cx ? &cx->diag : NULL;
    const llfi_kernel *k = &plan->kernel[kernel];
    char reasons[600];
    size_t used = 0;
    reasons[0] = 0;
    for (const llfi_skeleton *const *s = target->backend->skeletons; *s; s++) {
        llfi_why why = {{0}};
        if (!(*s)->match(g, k, target, &why)) {
            int n = snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", used ? "; " : "", (*s)->name,
                             why.text);
            used = n < 0 || (size_t)n >= sizeof reasons - used ? sizeof reasons - 1 : used + (size_t)n;
            continue;
        }
        *out = (llfi_schedule){.skeleton = *s};
        llf_status status = (*s)->plan(g, k, target, arena, out);
        if (status == LLF_E_NOMEM)
            return llfi_nomem(diag);
        if (status != LLF_OK)
            return llfi_fail(diag, status, "kernel %u cannot be scheduled as %s: %s", kernel, (*s)->name,
                             plan_failure(status));
        return LLF_OK;
    }
    return llfi_fail(diag, LLF_E_INTERNAL, "kernel %u fits no skeleton of %s: %s", kernel, target->name,
                     reasons);
}

void llfi_schedule_print(const llfi_schedule *s, llfi_str *out)
{
    uint32_t kind[LLFI_ARG_COUNTER + 1] = {0}, written = 0;
    for (uint32_t i = 0; i < s->args; i++) {
        kind[s->arg[i].kind]++;
        written += s->arg[i].kind == LLFI_ARG_BUFFER && s->arg[i].written;
    }
    llfi_str_printf(
        out,
        "%s threads=%u runs=%u width=%u slice=%u vector_align=%u reads=%u writes=%u scalars=%u cost=%u\n",
        s->skeleton->name, s->threads, s->runs, s->width, s->slice, s->vector_align,
        kind[LLFI_ARG_BUFFER] - written, written, kind[LLFI_ARG_SCALAR], s->cost);
}
