/* reduce_host.h: what the files of the CPU's reduction skeleton share. Nothing else includes this. */
#ifndef LLFI_REDUCE_HOST_H
#define LLFI_REDUCE_HOST_H

#include "lower/reduce.h"

/* A reduction of the phase being emitted. Where the order does not show a state is carried along; else the
 * elements of a chunk are put down and folded when it is complete. */
typedef struct {
    uint32_t demand;
    llfi_fold fold;
    llfi_fold order; /* ordered: what elements put down are folded by; of stats their sum */
    LLVMValueRef wide[LLFI_FOLD_STATES]; /* the state of vectors of elements; of the rest, and the result */
    LLVMValueRef one[LLFI_FOLD_STATES];
    LLVMValueRef chunk;                    /* memory: its elements; columns: those of a lane */
    LLVMValueRef more;                     /* memory of stats: other numbers of its elements */
    LLVMValueRef most;                     /* softmax_stats: M of the row */
    LLVMValueRef lane;                     /* columns: what lanes come to */
    LLVMValueRef levels[LLFI_FOLD_STATES]; /* memory: of the binary counter of chunks */
} llfi_host_fold;

typedef struct {
    llfi_site *s;
    bool columns;     /* tiles lie across rows */
    uint32_t unit;    /* rows done at once: 1, or the width of a tile of columns */
    uint32_t width;   /* elements of a vector along a row */
    int64_t constant; /* length of a row; -1: not known */
    bool ordered;     /* the phase has such folds */
    bool join;        /* rows come from the parts that threads left behind */
    bool *mark;       /* demands that an element needs */
    llfi_host_fold *fold;
    uint32_t folds;
    LLVMValueRef axis[LLFI_RANK]; /* of the row, its first element */
    LLVMValueRef length;          /* i64, of the row, or of the part of it that is gone through */
    LLVMValueRef total, first;    /* of the row; the part's first element */
    LLVMValueRef parts,
        piece; /* of rows that threads share: how many, elements of all but the last; or NULL */
    LLVMValueRef part, row, rows; /* numbers of this part and row; of all rows */
    LLVMValueRef group;           /* memory: of a chunk being folded */
    LLVMValueRef *memory;         /* chunks, lanes and levels, by number, shared by all phases */
} llfi_host_rows;

/* Values of the memory that ordered folds have: chunk, lane, levels, and of stats more. */
enum {
    LLFI_HOST_CHUNK,
    LLFI_HOST_LANE,
    LLFI_HOST_LEVELS,
    LLFI_HOST_LEVELS2,
    LLFI_HOST_MORE,
    LLFI_HOST_ROOMS
};

/* ---- reduce_host_fold.c: elements to states */
LLVMBasicBlockRef llfi_host_block(llfi_site *);
LLVMValueRef llfi_host_number(const llfi_site *, uint64_t);
/* A place on the stack, made in the function's first block; `count` values. */
LLVMValueRef llfi_host_slot(llfi_site *, LLVMTypeRef, uint32_t count);

/* for (i = begin; i < end; i += step) */
typedef struct {
    LLVMBasicBlockRef head, after;
    LLVMValueRef i, end;
    uint64_t step;
} llfi_host_loop;
llfi_host_loop llfi_host_loop_begin(llfi_site *, LLVMValueRef begin, LLVMValueRef end, uint64_t step);
void llfi_host_loop_end(llfi_site *, const llfi_host_loop *);

/* Makes the element at `i` of the row (`width` of them): its demands, then each fold. `at`: where in chunk.
 */
typedef llf_status llfi_host_element_fn(llfi_host_rows *, LLVMValueRef i, LLVMValueRef at, uint32_t width);
/* Rooms of the phase's folds. */
llf_status llfi_host_fold_begin(llfi_host_rows *);
/* Takes a made element in: `x` its value in register form. */
void llfi_host_fold_take(llfi_host_rows *, llfi_host_fold *, LLVMValueRef x, LLVMValueRef i, LLVMValueRef at,
                         uint32_t width);
/* All elements of the row, or of the part; then `one` holds the states. */
llf_status llfi_host_fold_row(llfi_host_rows *, llfi_host_element_fn *);
/* Puts down what `one` holds, 8 bytes a value of a state and row at most; `one` from all parts. */
void llfi_host_fold_leave(llfi_host_rows *, LLVMValueRef scratch);
void llfi_host_fold_join(llfi_host_rows *, LLVMValueRef scratch);

#endif
