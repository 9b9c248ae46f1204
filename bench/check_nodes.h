/* check_nodes.h: what the files of the check share: see check_nodes.c. */
#ifndef LLFUSE_CHECK_NODES_H
#define LLFUSE_CHECK_NODES_H

#include "bench/bench.h"

#include "interp/index.h"

#define OPERANDS 3u /* most of an elementwise op */

/* The elements of a node that are needed, in order, and what they are. */
typedef struct {
    LLFI_VEC(int64_t) at;
    uint64_t *got;     /* on the target; of an op of several results, one result behind the other */
    uint64_t *ideal;   /* by the interpreter from the inputs on */
    bool unknown;      /* not all of it can be had yet */
    int64_t *known_at; /* indices of a gather: what was found in the round before */
    uint64_t *known;
    size_t knowns;
    llfi_extents extents;
} wanted;

/* One op over a vector of operands, compiled once. */
typedef struct {
    llf_op op;
    uint64_t attr;
    llf_dtype dtype[OPERANDS + 1]; /* of the operands and, last, of the result */
    llf_graph *g;
    bench_session s;
} op_program;

typedef struct {
    bench_run *r;
    const llf_graph *g; /* the case's graph, as parsed */
    llf_graph *flat;    /* its primitives */
    const int64_t *symbol;
    const bench_tensor *input; /* by input; scalars: one element */
    wanted *node;              /* by flat id */
    size_t total;
    bool waits; /* for indices */
    LLFI_VEC(op_program) programs;
    void *buffer[OPERANDS + 1]; /* on the device: operands, result */
    size_t buffer_bytes;
    char *stage; /* here: as long as one of them */
    llfi_arena arena;
    bench_verdict *v;
} checker;

/* check_nodes.c */
/* Source k of the i-th element of a node: its bits on the target and by the interpreter. False: not to be had
 * yet. */
llf_status bench_check_operand(const checker *, llf_id, int64_t k, size_t i, uint64_t *got, uint64_t *ideal,
                               bool *there);
bool bench_check_within(llf_op, llf_dtype, uint64_t got, uint64_t want);
/* The program of an op, made when it is not there. */
llf_status bench_check_program(checker *, llf_id, op_program **);
/* check_reduce.c: all results of a reduction of the wanted rows. */
llf_status bench_check_reduce(checker *, llf_id);
/* Its op over rows that lie one behind the other; makes the outputs. */
llf_status bench_check_build_reduce(const checker *, llf_id, llf_graph *);

#endif
