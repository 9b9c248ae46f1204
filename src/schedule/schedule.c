/* schedule.c: finds the skeleton of a kernel. It must stay pure: no device, no clock, no LLVM. */
#include "schedule/schedule.h"

#include "target/target.h"

static const char *plan_failure(llf_status status)
{
    switch (status) {
    case LLF_E_LIMIT: return "too many elements, demands or kernel parameters";
    default: return "the plan is inconsistent";
    }
}

static void set_hints(const llfi_plan *plan, const llfi_target *target, llfi_schedule *s)
{
    if (!target->cache_hints)
        return;
    if (s->skeleton->load_hint)
        s->hint.load = s->skeleton->load_hint(s);
    if (plan->load_hint)
        s->hint.load = (llfi_hint)(plan->load_hint - 1);
    if (plan->store_hint)
        s->hint.store = (llfi_hint)(plan->store_hint - 1);
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
        if (diag)
            diag->message[0] = 0; /* to see whether a reason is given */
        llf_status status = (*s)->plan(g, k, target, arena, out);
        if (status == LLF_E_NOMEM)
            return llfi_nomem(diag);
        if (status == LLF_E_UNSUPPORTED)
            continue;
        if (status == LLF_E_LIMIT && diag && diag->message[0])
            return status;
        if (status != LLF_OK)
            return llfi_fail(diag, status, "kernel %u cannot be scheduled as %s: %s", kernel, (*s)->name,
                             plan_failure(status));
        set_hints(plan, target, out);
        return LLF_OK;
    }
    return llfi_fail(diag, k->reduced ? LLF_E_UNSUPPORTED : LLF_E_INTERNAL,
                     "kernel %u fits no skeleton of %s: %s", kernel, target->name, reasons);
}

void llfi_schedule_print(const llfi_schedule *s, llfi_str *out)
{
    uint32_t reads = 0, written = 0, scalars = 0;
    for (uint32_t i = 0; i < s->args; i++) {
        bool buffer = s->arg[i].kind == LLFI_ARG_BUFFER;
        reads += buffer && !s->arg[i].written;
        written += buffer && s->arg[i].written;
        scalars += s->arg[i].kind == LLFI_ARG_SCALAR;
    }
    if (s->parts)
        llfi_str_printf(out, "%s parts=%u bodies=%u threads=%u reads=%u writes=%u scalars=%u cost=%u",
                        s->skeleton->name, s->parts->rows, s->parts->bodies, s->threads, reads, written,
                        scalars, s->cost);
    else
        llfi_str_printf(
            out, "%s threads=%u width=%u slice=%u vector_align=%u reads=%u writes=%u scalars=%u cost=%u",
            s->skeleton->name, s->threads, s->width, s->slice, s->vector_align, reads, written, scalars,
            s->cost);
    if (s->tile.x)
        llfi_str_printf(out, " tile=%ux%u axis=%u", s->tile.x, s->tile.y, s->tile.axis);
    if (s->row.rows)
        llfi_str_printf(out, " warps=%u lanes=%u rows=%u kept=%u split=%s", s->row.warps, s->row.lanes,
                        s->row.rows, s->row.kept, s->row.split ? "yes" : "no");
    if (s->runs)
        llfi_str_printf(out, " runs=%u element_runs=%u", s->runs, s->element_runs);
    static const char *const hint[LLFI_HINTS] = {"", "L1_last", "last", "L2_last", "L2_first"};
    if (s->hint.load)
        llfi_str_printf(out, " loads=%s", hint[s->hint.load]);
    if (s->hint.store)
        llfi_str_printf(out, " stores=%s", hint[s->hint.store]);
    llfi_str_add(out, "\n", 1);
}
