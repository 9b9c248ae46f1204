/* lower.c: kernel -> LLVM module: the steps of one kernel read in order. Everything made here is freed here
 * on failure; what the module must hold for its target is the backend's business. */
#include "lower/lower.h"

#include "lower/llvm.h"

void llfi_module_destroy(llfi_module *m)
{
    if (m->module)
        LLVMDisposeModule(m->module);
    if (m->lx)
        LLVMContextDispose(m->lx);
    *m = (llfi_module){0};
}

static void emit_begin(llfi_emit *e, const llf_graph *g, const llfi_target *target, const char *name,
                       llfi_diag *diag)
{
    *e = (llfi_emit){.g = g, .target = target, .width = 1, .diag = diag};
    llfi_emit_types(e, LLVMContextCreate());
    LLVMContextSetDiscardValueNames(e->lx, 1); /* time, and the text then depends on nothing but the code */
    e->module = LLVMModuleCreateWithNameInContext(name, e->lx);
    e->b = LLVMCreateBuilderInContext(e->lx);
}

/* Function, arguments, uniform values, then what the skeleton makes of the rest. */
static llf_status build(llfi_site *s, llf_status (*begin)(llfi_site *))
{
    if (s->schedule->demands)
        s->demands = *s->schedule->demands;
    else if (!s->schedule->parts)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "kernel %s has no demand list", s->name);
    LLF_TRY(llfi_index_begin(s));
    s->val = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *s->val);
    s->fixed = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *s->fixed);
    s->absorbed = llfi_arena_alloc(s->arena, (s->demands.count + 1) * sizeof *s->absorbed);
    s->arg = llfi_arena_alloc(s->arena, (s->schedule->args + 1) * sizeof *s->arg);
    if (!s->val || !s->fixed || !s->absorbed || !s->arg)
        return llfi_nomem(s->emit.diag);
    llfi_site_absorb(s);
    LLF_TRY(begin(s));
    LLF_TRY(llfi_lower(s, NULL, 0, s->demands.uniform));
    LLF_TRY(s->schedule->skeleton->emit(s));
    return s->emit.status;
}

llf_status llfi_lower_part(llfi_site *site, const llfi_kernel *part, const llfi_schedule *schedule,
                           const char *name, LLVMValueRef *function)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(site->emit.b);
    llfi_site s = {.emit = site->emit,
                   .g = site->g,
                   .kernel = part,
                   .schedule = schedule,
                   .name = name,
                   .arena = site->arena};
    s.emit.width = 1;
    s.emit.memos = 0;
    LLF_TRY(build(&s, s.emit.target->backend->begin_part));
    *function = s.function;
    LLVMPositionBuilderAtEnd(site->emit.b, before);
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    LLF_TRY(build(s, s->emit.target->backend->begin));
    return llfi_llvm_verify(s->emit.diag, s->name, s->emit.module);
}

llf_status llfi_lower_kernel(const llf_graph *g, const llfi_kernel *kernel, const llfi_schedule *schedule,
                             const llfi_target *target, const char *name, llfi_arena *arena, llfi_diag *diag,
                             llfi_module *out)
{
    llfi_site s = {.g = g, .kernel = kernel, .schedule = schedule, .name = name, .arena = arena};
    emit_begin(&s.emit, g, target, name, diag);
    llf_status status = emit(&s);
    LLVMDisposeBuilder(s.emit.b);
    *out = (llfi_module){.lx = s.emit.lx, .module = s.emit.module};
    if (status != LLF_OK)
        llfi_module_destroy(out);
    return status;
}
