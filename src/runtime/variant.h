/* variant.h: kernels of a plan compiled once more, for inputs that do not lie row-major, or with wider
 * indices. They belong to the loaded, and everything here is under its lock but for what a chosen variant
 * shows an execution. */
#ifndef LLFI_VARIANT_H
#define LLFI_VARIANT_H

#include "runtime/program.h"

#include <pthread.h>

/* Never changes once it has code. */
struct llfi_variant {
    llfi_variant *next;        /* of the same kernel */
    const llfi_variant *owner; /* whose module it shares, or itself; NULL: the program's */
    uint32_t kernel;
    uint32_t inputs;        /* that it addresses by strides; 0: it is there for its wide indices */
    const uint32_t *input;  /* by binding, rising */
    int64_t beyond;         /* inputs 0: a number that asked for it, or INT64_MAX */
    const int8_t *unit;     /* by input: the axis whose stride is 1, for the sake of vectors; -1: none */
    const llf_graph *graph; /* the program's, with strides, and with dims that have symbols for them */
    llfi_schedule schedule;
    llfi_program_module module;
    void *code; /* NULL: not compiled (yet) */
};

struct llfi_variants {
    pthread_mutex_t lock;
    llf_context cx;                /* diagnostics, log and dumps of compiles */
    llfi_arena arena;              /* of all variants */
    llfi_dims *dims;               /* the graph's, and symbols for strides; NULL: none yet */
    llfi_variant **of;             /* by kernel: oldest first */
    LLFI_VEC(llfi_variant *) made; /* all of them, also those whose compile failed */
    llfi_map codes;                /* hash -> module of the program, or above those the place in `made` */
    atomic_uint count, modules;
};

/* variant_make.c: everything but code for one kernel. Status alone, no diagnostic. */
llf_status llfi_variant_make(llfi_variants *, const llf_program *, llfi_variant *);

#endif
