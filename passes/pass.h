/* pass.h: a pass is a row of passes.def and a function; the runner (run.c) checks needs, times, verifies,
 * dumps and resets scratch. Passes never time, dump, verify or read options themselves. */
#ifndef LLFI_PASS_H
#define LLFI_PASS_H

#include "ir/ir.h"
#include "fuse/plan.h"

typedef struct llfi_pass_info llfi_pass_info;
/* Per-pipeline state handed to every pass. */
typedef struct {
    llf_context *cx;
    llfi_arena *scratch; /* reset by the runner after the pass */
    const llfi_pass_info *info;
    const llfi_fuse_options *fuse; /* heuristic, parameters, target limits */
    llfi_plan *plan;               /* written by fuse */
    uint32_t *fired;               /* counter per row of rules.def */
} llfi_pass;

typedef llf_status llfi_pass_fn(llfi_pass *, llf_graph *);
struct llfi_pass_info {
    const char *name;
    const char *meaning;
    llfi_pass_fn *run;
    uint32_t needs, makes, breaks;
};
#define PASS(name, meaning, ...) llfi_pass_fn llfi_pass_##name;
#include "passes.def"
#undef PASS
extern const llfi_pass_info llfi_passes[];
extern const size_t llfi_passes_count;

/* Named rewrite equations of simplify and fold; the suite fails if a rule never fired. */
typedef enum {
#define RULE(op, id, text) LLFI_RULE_##id,
#include "rules.def"
#undef RULE
    LLFI_RULES
} llfi_rule;

typedef struct {
    const char *name;
    double ms;
} llfi_pass_time;
typedef struct {
    llfi_fuse_options fuse;
    uint32_t fired[LLFI_RULES];
    llfi_pass_time time[16]; /* by pass, in pipeline order */
    uint32_t times;
} llfi_passes_state;

/* Runs the passes named in `names` (NULL: all of passes.def, in order). E_ORDER when a precondition is unmet,
 * E_ARG for an unknown name. `plan` is an initialised empty plan, filled when fuse runs. */
llf_status llfi_passes_run(llf_context *, llf_graph *, const char *const *names, size_t count,
                           llfi_passes_state *, llfi_plan *plan);

#endif
