/* rows_gpu.h: what the files of the GPU's reduction skeleton share. Nothing else includes this.
 *
 * A row belongs to `warps` warps of a block, or to some lanes of a warp. Chunk c of a row is its elements
 * 1024c .. 1024c+1023, and belongs to one warp: lane l has the elements 256s + 8l + j (reduce.h). What a
 * chunk comes to is put into an array, of shared memory or, for long rows, of scratch; behind a barrier the
 * array is folded as the tree of pairs that it is, 128 entries a warp at a time. Few long rows are split:
 * blocks have pieces of a row, and the last of them folds what the pieces came to. */
#ifndef LLFI_ROWS_GPU_H
#define LLFI_ROWS_GPU_H

#include "lower/gpu.h"
#include "lower/reduce.h"

#define LLFI_ROWS_SLOTS 2u   /* most chunks that a warp keeps in registers */
#define LLFI_ROWS_GROUP 128u /* entries of an array that a warp folds at once, four a lane */
#define LLFI_ROWS_SHARED 32768u

enum {
    LLFI_ROWS_ELEMENTS, /* of the space: first, as divisions by extents expect it */
    LLFI_ROWS_COUNT,    /* rows */
    LLFI_ROWS_LENGTH,   /* elements of a row */
    LLFI_ROWS_VECTORS,  /* 1: by vectors; else 0 */
    LLFI_ROWS_PIECE,    /* split: chunks of a piece, a power of two; all of a row's: it is not split */
    LLFI_ROWS_VALUES
};

/* A reduction of the phase being emitted, or a part of one that arrays are folded by. `fold.op` may be
 * moments, and where arrays are not folded softmax_stats: of two values, neither known to reduce.h. */
typedef struct {
    uint32_t demand;
    llfi_fold fold;
    llfi_state state;                  /* of the chunk, then of the row: the same in all lanes */
    uint32_t offset[LLFI_FOLD_STATES]; /* of its values' arrays: bytes for each entry of the array */
    LLVMValueRef scale; /* entries are multiplied by 2^(what stands at `exponent` - scale); NULL: not */
    uint32_t exponent;
} llfi_rows_fold;

/* What a chunk's elements are folded to at one go. */
typedef enum {
    LLFI_ROWS_PLAIN,
    LLFI_ROWS_POWER,    /* of softmax_stats, where `by` is the maximum */
    LLFI_ROWS_DISTANCE, /* x - by */
    LLFI_ROWS_SQUARE    /* its square */
} llfi_rows_map;
typedef struct {
    llfi_fold fold;
    uint32_t operand; /* demand */
    llfi_rows_map map;
    LLVMValueRef by;
    llfi_state part[LLFI_CHUNK / LLFI_CHUNK_S]; /* of a lane's elements, by s */
    llfi_state state;                           /* in all lanes */
} llfi_rows_in;

/* An array of partial results: `room` entries. */
typedef struct {
    LLVMValueRef at;   /* pointer */
    LLVMValueRef room; /* i32 */
    bool shared_by_blocks;
} llfi_rows_array;

typedef struct {
    llfi_site *s;
    const llfi_schedule *p;
    LLVMTypeRef index;            /* of indices */
    LLVMValueRef lane, warp;      /* of the row's, i32 */
    LLVMValueRef valid;           /* i1: there is such a row; NULL: there is */
    LLVMValueRef row;             /* index */
    LLVMValueRef length, chunks;  /* index */
    LLVMValueRef begin, end;      /* chunks of this block */
    int64_t constant;             /* the length; -1: unknown */
    LLVMValueRef axis[LLFI_RANK]; /* of the row's first element */
    bool vectors;                 /* this road */
    llfi_rows_fold *fold;         /* of this phase */
    llfi_rows_in *in;             /* of this go through a chunk */
    uint32_t ins;
    bool stores; /* in which results are stored, too */
    uint32_t folds, phase;
    uint32_t bytes;      /* of an entry of this phase's arrays */
    bool *mark;          /* POINT demands of this phase */
    LLVMValueRef **kept; /* by slot * 4 + s: what is known of POINT demands there; NULL: nothing is kept */
} llfi_rows;

/* rows_gpu_chunk.c */
LLVMValueRef llfi_rows_number(const llfi_rows *, uint64_t); /* of the type of indices */
/* Chunk `c` of the row, by this warp. `slot`: of what is kept; `least`, `most`: chunks that c may be, most <
 * 0: any. */
typedef struct {
    LLVMValueRef c;
    uint32_t slot;
    int64_t least, most;
} llfi_rows_place;
/* Goes through the chunk: results are stored (t->stores), and elements folded (t->in). */
llf_status llfi_rows_go(llfi_rows *, const llfi_rows_place *);

/* From here on values by vectors are kept: t->kept. */
llf_status llfi_rows_keep(llfi_rows *);

/* rows_gpu_state.c: what a reduction of two values is made of. */
/* States of the phase's folds for a chunk. Without folds it is gone through for the stores. */
llf_status llfi_rows_chunk(llfi_rows *, const llfi_rows_place *);
/* States that mean nothing, for entries that are not there. */
llfi_state llfi_rows_nothing(llfi_emit *, const llfi_fold *);
/* Elements [begin, begin + size) and those behind, as many at most, of a row of `length`; all i64. */
llfi_state llfi_rows_pair(llfi_emit *, const llfi_fold *, llfi_state a, llfi_state b, LLVMValueRef begin,
                          LLVMValueRef size, LLVMValueRef length);
/* Two roads come together here: the folds' states are `before` by the first, as they stand by the second. */
void llfi_rows_meet(llfi_rows *, const llfi_state *before, LLVMBasicBlockRef *road);
/* The results of the phase. */
void llfi_rows_bind(llfi_rows *);

/* rows_gpu_tree.c */
/* Offsets of values in arrays, and the bytes of an entry. */
uint32_t llfi_rows_layout(llfi_rows_fold *, uint32_t folds, const llfi_emit *);
/* The states of some folds to entry `at` (i32), by the threads where `who` (i1) holds; what stands there. */
void llfi_rows_put_where(const llfi_rows *, const llfi_rows_fold *, uint32_t folds, const llfi_rows_array *,
                         LLVMValueRef at, LLVMValueRef who);
llfi_state llfi_rows_get(const llfi_rows *, const llfi_rows_fold *, const llfi_rows_array *, LLVMValueRef at);
/* The states to entry `at` (i32), by one lane. */
llf_status llfi_rows_put(const llfi_rows *, const llfi_rows_array *, LLVMValueRef at);
/* The states of the array's n entries (i32), in all lanes of all warps; `most`: the most that n may be, 0:
 * any. They are elements [from, to) of the row, `unit` each but the last (i64). */
typedef struct {
    LLVMValueRef from, to, unit;
} llfi_rows_span;
llf_status llfi_rows_fold_array(llfi_rows *, const llfi_rows_array *, LLVMValueRef n, int64_t most,
                                const llfi_rows_span *);
/* Entries that an array of n has with all its levels. */
static inline int64_t llfi_rows_room(int64_t n)
{
    return n + n / 64 + 8;
}

/* rows_gpu.c, for both skeletons: by rows and by columns. */
llf_status llfi_rows_extents(llf_graph *, const llfi_demands *, llfi_arena *, llfi_schedule *);
llf_status llfi_rows_arguments(const llfi_target *, llfi_arena *, llfi_schedule *);
llf_status llfi_rows_vectors(const llf_graph *, const llfi_kernel *, const llfi_demands *, llfi_arena *,
                             llfi_schedule *);
bool llfi_rows_match(const llf_graph *, const llfi_kernel *, const llfi_target *, llfi_why *);
uint32_t llfi_rows_bytes(const llf_graph *, const llfi_demands *);
bool llfi_rows_points_after(const llfi_demands *);
LLVMValueRef llfi_rows_value(const llfi_rows *, uint32_t which);
LLVMValueRef llfi_rows_memory(const llfi_site *, llfi_arg_kind);
/* ROW demands that wait for no reduction beyond this phase. */
llf_status llfi_rows_lower(llfi_rows *, uint32_t phase);
/* t->mark: POINT demands that this phase's reductions and stores want. False: there are neither. */
bool llfi_rows_wanted(llfi_rows *);
llf_status llfi_rows_begin(llfi_rows *); /* the phase's folds */
llf_status llfi_rows_uniform(llfi_rows *);

#endif
