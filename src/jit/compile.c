/* compile.c: the pipeline, read aloud: options, target, copy, passes, plan, schedules, distinct kernels,
 * code, buffers. Each step is somebody else's file; this one only orders, times, logs and dumps. It keeps
 * nothing of the caller's. */
#include "jit/jit.h"

#include "runtime/fpmode.h"

/* ---- schedules and distinct kernels */

/* The schedule and its demand list stay with the program: workers lower from them. */
static llf_status schedule_kernel(llf_program *p, uint32_t k, uint64_t *hash)
{
    const llfi_kernel *kernel = &p->plan.kernel[k];
    llfi_schedule *s = &p->kernel[k].schedule;
    LLF_TRY(llfi_schedule_make(&p->cx, p->graph, &p->plan, k, &p->target, &p->arena, s));
    *hash = llfi_kernel_hash(p->graph, s->demands, kernel, s, &p->target);
    return LLF_OK;
}

static llf_status find_module(llf_program *p, llfi_map *map, uint32_t k, uint64_t hash)
{
    size_t cursor = 0;
    for (uint32_t m; (m = llfi_map_next(map, hash, &cursor)) != UINT32_MAX;)
        if (p->module[m].hash == hash) {
            p->kernel[k].module = m;
            return LLF_OK;
        }
    if (!llfi_map_add(&p->mem, map, hash, p->modules))
        return llfi_nomem(&p->cx.diag);
    llfi_program_module *module = &p->module[p->modules];
    module->hash = hash;
    module->first = k;
    llfi_kernel_name(p->graph, &p->plan.kernel[k], p->kernel[k].schedule.skeleton, hash, module->name,
                     sizeof module->name);
    p->kernel[k].module = p->modules++;
    return LLF_OK;
}

static llf_status schedule_all(llf_program *p)
{
    uint32_t kernels = p->plan.kernels;
    p->kernel = llfi_arena_alloc(&p->arena, kernels * sizeof *p->kernel);
    p->module = llfi_arena_alloc(&p->arena, kernels * sizeof *p->module);
    if (!p->kernel || !p->module)
        return llfi_nomem(&p->cx.diag);
    llfi_map map = {0};
    llf_status status = LLF_OK;
    for (uint32_t k = 0; k < kernels && status == LLF_OK; k++) {
        uint64_t hash = 0;
        status = schedule_kernel(p, k, &hash);
        if (status == LLF_OK)
            status = find_module(p, &map, k, hash);
    }
    llfi_map_free(&p->mem, &map);
    return status;
}

static void log_schedules(llf_program *p)
{
    if (!llfi_log_on(&p->cx, LLFI_LOG_SCHEDULE))
        return;
    llfi_str s;
    llfi_str_init(&s, &p->mem);
    for (uint32_t k = 0; k < p->plan.kernels; k++) {
        llfi_str_printf(&s, "k%u %s ", k, p->module[p->kernel[k].module].name);
        llfi_schedule_print(&p->kernel[k].schedule, &s);
    }
    if (!s.failed && s.len)
        llfi_log_text(&p->cx, LLFI_LOG_SCHEDULE, s.at, s.len);
    llfi_str_free(&s);
}

/* ---- code, and its texts for those who look inside */

static llf_status dump_text(llf_context *cx, const char *name, const char *suffix, const llfi_str *s)
{
    char file[200];
    snprintf(file, sizeof file, "%s%s", name, suffix);
    llfi_log(cx, LLFI_LOG_OUTPUT_CODE, "%s", file);
    llfi_log_text(cx, LLFI_LOG_OUTPUT_CODE, s->at, s->len);
    return llfi_dump(cx, file, s->at, s->len);
}

/* In order of jobs, once the workers are done: what is printed does not depend on threads. */
static llf_status show_code(llf_context *cx, const llf_program *p, const llfi_program_job *job, uint32_t jobs,
                            const llfi_stages *stages)
{
    const char *suffix = strcmp(p->target.backend->name, "nvptx") == 0 ? ".ptx" : ".s";
    for (uint32_t i = 0; i < jobs; i++) {
        LLF_TRY(dump_text(cx, job[i].module->name, ".ll", stages[i].llvm));
        LLF_TRY(dump_text(cx, job[i].module->name, suffix, stages[i].assembly));
    }
    return LLF_OK;
}

/* Also what a program's executions call, by its `compile`, for variants. */
static llf_status compile_jobs(llf_context *cx, const llf_program *p, const llfi_program_job *job,
                               uint32_t jobs)
{
    if (!cx->dump_dir && !llfi_log_on(cx, LLFI_LOG_OUTPUT_CODE))
        return llfi_workers_run(cx, p, job, jobs, p->compile_threads, NULL);
    llfi_arena scratch;
    llfi_arena_init(&scratch, &p->mem);
    llfi_stages *stages = llfi_arena_alloc(&scratch, jobs * sizeof *stages);
    llfi_str *text = llfi_arena_alloc(&scratch, 2 * jobs * sizeof *text);
    llf_status status = stages && text ? LLF_OK : llfi_nomem(&cx->diag);
    for (uint32_t i = 0; status == LLF_OK && i < jobs; i++) {
        stages[i] = (llfi_stages){.llvm = &text[2 * i], .assembly = &text[2 * i + 1]};
        llfi_str_init(stages[i].llvm, &p->mem);
        llfi_str_init(stages[i].assembly, &p->mem);
    }
    bool made = status == LLF_OK;
    if (status == LLF_OK)
        status = llfi_workers_run(cx, p, job, jobs, p->compile_threads, stages);
    if (status == LLF_OK)
        status = show_code(cx, p, job, jobs, stages);
    for (uint32_t i = 0; made && i < 2 * jobs; i++)
        llfi_str_free(&text[i]);
    llfi_arena_destroy(&scratch);
    return status;
}

static llf_status compile_modules(llf_program *p)
{
    llfi_program_job *job = llfi_alloc_zero(&p->mem, p->modules * sizeof *job);
    if (!job)
        return llfi_nomem(&p->cx.diag);
    for (uint32_t m = 0; m < p->modules; m++) /* in order of their lowest kernel */
        job[m] = llfi_workers_job(p, p->module[m].first, &p->module[m]);
    llf_status status = compile_jobs(&p->cx, p, job, p->modules);
    llfi_free(&p->mem, job, p->modules * sizeof *job);
    return status;
}

static llf_status dump_plan(llf_program *p)
{
    if (!p->cx.dump_dir)
        return LLF_OK;
    llfi_str s;
    llfi_str_init(&s, &p->mem);
    llf_status status = llfi_plan_write(p->graph, &p->plan, p->target.name, &p->params, &s);
    if (status == LLF_OK)
        status = s.failed ? llfi_nomem(&p->cx.diag) : llfi_dump(&p->cx, "plan.llf", s.at, s.len);
    llfi_str_free(&s);
    return status;
}

/* ---- the pipeline */

static llf_status run_passes(llf_program *p, const llf_options *o, const llfi_import *in)
{
    llfi_passes_state state = {0};
    if (in) {
        double start = llfi_now_ms();
        LLF_TRY(llfi_import_run(p, o, in, &state));
        p->phase.plan_ms += llfi_now_ms() - start;
        for (uint32_t i = 0; i < state.times; i++)
            p->phase.plan_ms -= state.time[i].ms; /* counted below */
    } else {
        LLF_TRY(llfi_options_fuse(&p->cx.diag, o, &p->target, &state.fuse));
        LLF_TRY(llfi_passes_run(&p->cx, p->graph, NULL, 0, &state, &p->plan));
    }
    p->params = state.fuse.params;
    p->pass_times = state.times;
    for (uint32_t i = 0; i < state.times; i++) {
        p->pass_time[i] = state.time[i];
        *(strcmp(state.time[i].name, "fuse") == 0 ? &p->phase.plan_ms : &p->phase.passes_ms) +=
            state.time[i].ms;
    }
    return LLF_OK; /* the runner has verified graph and plan */
}

static llf_status keep_dirs(llf_program *p)
{
    const char *from[] = {p->cx.override_dir, p->cx.dump_dir};
    char **to[] = {&p->override_dir, &p->dump_dir};
    for (size_t i = 0; i < LLFI_COUNT(from); i++)
        if (from[i] && !(*to[i] = llfi_arena_copy(&p->arena, from[i], strlen(from[i]))))
            return llfi_nomem(&p->cx.diag);
    return LLF_OK;
}

static void log_phases(llf_program *p)
{
    uint32_t kept = 0;
    for (uint32_t m = 0; m < p->modules; m++) {
        kept += p->module[m].kept;
        p->phase.lower_ms += p->module[m].lower_ms;
        p->phase.opt_ms += p->module[m].code.opt_ms;
        p->phase.emit_ms += p->module[m].code.emit_ms;
    }
    llfi_log(&p->cx, LLFI_LOG_PERF,
             "compile %s: passes %.3f ms, plan %.3f ms, lower %.3f ms, opt %.3f ms, emit %.3f ms (summed "
             "over %u modules, %u of them kept from before), "
             "total %.3f ms",
             p->target.name, p->phase.passes_ms, p->phase.plan_ms, p->phase.lower_ms, p->phase.opt_ms,
             p->phase.emit_ms, p->modules, kept, p->phase.total_ms);
}

static llf_status pipeline(llf_program *p, const llf_graph *g, const llf_options *o, const llfi_import *in,
                           llfi_arena *scratch)
{
    double start = llfi_now_ms();
    LLF_TRY(llfi_target_make(&p->cx, o->target, &p->target));
    if (in)
        llfi_log(&p->cx, LLFI_LOG_RECOMPILES, "compile %s for %s, a plan: llf_plan_import was called",
                 g ? llfi_name(g, g->name) : "a plan's graph", p->target.name);
    else
        llfi_log(&p->cx, LLFI_LOG_RECOMPILES, "compile %s for %s, heuristic %s: llf_compile was called",
                 llfi_name(g, g->name), p->target.name, o->heuristic ? o->heuristic : "greedy");
    LLF_TRY(keep_dirs(p));
    if (g && !(p->graph = llfi_graph_clone(g, &p->cx)))
        return llfi_nomem(&p->cx.diag);
    LLF_TRY(run_passes(p, o, in));
    LLF_TRY(llfi_bind_check(p->graph));
    double planned = llfi_now_ms();
    LLF_TRY(schedule_all(p));
    p->phase.plan_ms += llfi_now_ms() - planned;
    log_schedules(p);
    LLF_TRY(llfi_buffers_describe(p, scratch));
    LLF_TRY(dump_plan(p));
    p->compile = compile_jobs;
    p->compile_threads = o->compile_threads;
    LLF_TRY(compile_modules(p));
    p->phase.total_ms = llfi_now_ms() - start;
    log_phases(p);
    return LLF_OK;
}

/* A graph or context that failed before: the first failure's own message is the best one, where it still
 * stands. */
static llf_status failed_before(llf_context *cx, llf_status status, const char *what)
{
    if (cx->diag.pub.status == status)
        return status;
    return llfi_fail(&cx->diag, status, "%s failed before: %s", what, llf_status_text(status));
}

/* What belongs to the caller's context goes; the allocator stays. */
static void detach(llf_program *p)
{
    p->cx.log_mask = 0;
    p->cx.log = NULL;
    p->cx.log_user = NULL;
    p->cx.lock = NULL;
    p->cx.kernels = NULL;
    p->cx.dump_dir = p->cx.override_dir = NULL;
}

llf_status llfi_compile(llf_context *cx, const llf_graph *g, const llf_options *given, const llfi_import *in,
                        llf_program **out)
{
    *out = NULL;
    if (cx->status != LLF_OK)
        return failed_before(cx, cx->status, "llf_context_create");
    if (g && g->poisoned != LLF_OK)
        return failed_before(cx, g->poisoned, "building the graph");
    if (g && g->outputs.count == 0)
        return llfi_fail(&cx->diag, LLF_E_GRAPH, "graph %s has no output", llfi_name(g, g->name));
    llf_options o;
    LLF_TRY(llfi_options_read(&cx->diag, given, &o));
    llf_program *p = llfi_program_create(cx);
    if (!p)
        return llfi_nomem(&cx->diag);
    llfi_arena scratch;
    llfi_arena_init(&scratch, &p->mem);
    uint64_t mode = llfi_fpmode_enter();
    llf_status status = pipeline(p, g, &o, in, &scratch);
    llfi_fpmode_leave(mode);
    llfi_arena_destroy(&scratch);
    if (status == LLF_OK) {
        detach(p);
        *out = p;
    } else {
        llfi_diag_copy(&cx->diag, &p->cx.diag);
        llf_program_destroy(p);
    }
    return status;
}

llf_status llf_compile(llf_context *cx, const llf_graph *g, const llf_options *given, llf_program **out)
{
    if (!cx)
        return LLF_E_ARG;
    if (!g || !out)
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_compile: null %s", !g ? "graph" : "result");
    return llfi_compile(cx, g, given, NULL, out);
}
