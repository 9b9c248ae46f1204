/* stages.h: the stages that a graph goes through before LLVM, one function each, which a profiler finds by
 * name. Must expect nothing but success. */
#ifndef LINEAR_STAGES_H
#define LINEAR_STAGES_H

#include "linear/graphs.h"

#include "passes/pass.h"
#include "schedule/schedule.h"
#include "target/target.h"

typedef struct {
    llf_context *cx;
    const char *target; /* NULL: no schedules */
    const char *heuristic;
    llf_graph *g;
    llfi_str text;
    llfi_passes_state passes;
    llfi_plan plan;
    llfi_arena arena;
} linear_run;

#define STAGES(X) X(print) X(parse) X(passes) X(fuse) X(explain) X(schedule) X(destroy)
#define STAGE_ID(name) STAGE_##name,
enum { STAGES(STAGE_ID) STAGE_COUNT };
#undef STAGE_ID

__attribute__((noinline)) static llf_status stage_print(linear_run *r)
{
    llf_status status = llfi_print(r->g, &r->text, NULL, NULL);
    return status == LLF_OK && r->text.failed ? LLF_E_NOMEM : status;
}

__attribute__((noinline)) static llf_status stage_parse(linear_run *r)
{
    llf_graph_destroy(r->g);
    r->g = NULL;
    return llf_graph_parse(r->cx, r->text.at, r->text.len, "linear", &r->g);
}

__attribute__((noinline)) static llf_status stage_passes(linear_run *r)
{
    const char *names[16];
    size_t count = 0;
    for (size_t i = 0; i < llfi_passes_count; i++)
        if (strcmp(llfi_passes[i].name, "fuse") != 0)
            names[count++] = llfi_passes[i].name;
    return llfi_passes_run(r->cx, r->g, names, count, &r->passes, &r->plan);
}

__attribute__((noinline)) static llf_status stage_fuse(linear_run *r)
{
    static const char *const names[] = {"fuse"};
    return llfi_passes_run(r->cx, r->g, names, 1, &r->passes, &r->plan);
}

__attribute__((noinline)) static llf_status stage_explain(linear_run *r)
{
    LLF_TRY(llfi_plan_explain(r->cx, r->g, &r->plan, &r->passes.fuse, &r->text));
    return llfi_plan_print(r->g, &r->plan, &r->text);
}

__attribute__((noinline)) static llf_status stage_schedule(linear_run *r)
{
    llfi_target target;
    llfi_schedule s;
    if (!r->target)
        return LLF_OK;
    LLF_TRY(llfi_target_make(r->cx, r->target, &target));
    for (uint32_t k = 0; k < r->plan.kernels; k++)
        LLF_TRY(llfi_schedule_make(r->cx, r->g, &r->plan, k, &target, &r->arena, &s));
    return LLF_OK;
}

__attribute__((noinline)) static llf_status stage_destroy(linear_run *r)
{
    llfi_arena_destroy(&r->arena);
    llfi_plan_destroy(&r->plan);
    llfi_str_free(&r->text);
    llf_graph_destroy(r->g);
    return LLF_OK;
}

/* Goes on to destroy after a failure. `lap` (NULL: none) is called after each stage. */
static inline llf_status linear_stages(linear_run *r, void (*lap)(void *user, int stage), void *user)
{
    static llf_status (*const stage[])(linear_run *) = {
#define STAGE_FN(name) stage_##name,
        STAGES(STAGE_FN)
#undef STAGE_FN
    };
    llfi_fuse_options_default(&r->passes.fuse);
    r->passes.fuse.heuristic = llfi_heuristic_find(r->heuristic);
    llfi_plan_init(&r->plan, &r->cx->mem);
    llfi_str_init(&r->text, &r->cx->mem);
    llfi_arena_init(&r->arena, &r->cx->mem);
    llf_status status = LLF_OK;
    for (int i = 0; i < STAGE_COUNT; i++) {
        if (status == LLF_OK || i == STAGE_destroy) {
            llf_status done = stage[i](r);
            status = status == LLF_OK ? done : status;
        }
        if (lap)
            lap(user, i);
    }
    return status;
}

static const char *const linear_stage_names[] = {
#define STAGE_NAME(name) #name,
    STAGES(STAGE_NAME)
#undef STAGE_NAME
};

#endif
