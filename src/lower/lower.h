/* lower.h: kernel -> LLVM IR. A skeleton knows threads and memory and nothing of ops; an op emitter is pure
 * on <w x T> and knows nothing of threads or memory. What differs between targets hides behind llfi_target
 * (target.h).
 *
 * Register form of a value: f64 double; f32 float; f16 and bf16 float holding a value already rounded to the
 * dtype; ints iN; bool i1. A tile of width w > 1 holds <w x T>, width 1 plain T. Memory form: the dtype's own
 * bytes; bool is i8, 0 or 1. */
#ifndef LLFI_LOWER_H
#define LLFI_LOWER_H

#include "lower/demand.h"
#include "schedule/schedule.h"
#include "target/target.h"

#include <llvm-c/Core.h>

/* The points one thread asks for at once: `width` consecutive ones, from element `first` of the flattened
 * iteration space on, in one row of its innermost axis. */
typedef struct {
    uint32_t width;
    LLVMValueRef first;       /* i64; NULL where every leaf is bound and nothing is stored */
    const LLVMValueRef *axis; /* of the first point, by axis of the demands' space, of llfi_index_type; where
                                 every offset is linear nobody looks */
    bool steps;   /* guarded at run time: the first point is a multiple of width along the innermost axis, and
                     so   is every extent that schedule->multiple names */
    bool aligned; /* and, guarded too: vectors lie at multiples of their size, 16 bytes at most */
} llfi_tile;

/* What an op emitter sees. */
typedef struct llfi_emit {
    LLVMContextRef lx;
    LLVMModuleRef module;
    LLVMBuilderRef b;
    const llfi_target *target;
    const llf_graph *g;
    uint32_t width; /* of the values being made */
    LLVMTypeRef f16, bf16, f32, f64, i1, i8, i16, i32, i64;
    /* results already made in this block for the same operand: sin and cos share one range reduction */
    struct {
        const void *key;
        LLVMValueRef arg, result[2];
    } memo[8];
    uint32_t memos;
    bool may_flush; /* a subnormal result of the op being made may as well be 0: nobody can tell */
    llfi_diag *diag;
    llf_status status; /* first failure inside an emitter; checked by llfi_lower */
} llfi_emit;

/* Pure, on <w x T>, rounds to the node's dtype. The row llfi_emit_<ID> of ops.def. */
typedef LLVMValueRef llfi_emit_fn(llfi_emit *, llf_id, const LLVMValueRef *arg);
#define EW(id, ...) llfi_emit_fn llfi_emit_##id;
#include "llfuse/ops.def"

/* emit_ew.c: register form of one dtype to that of another, as `cast` does. */
LLVMValueRef llfi_emit_convert(llfi_emit *, llf_dtype from, llf_dtype to, LLVMValueRef);
/* emit_util.c: small helpers that emitters share */
void llfi_emit_types(llfi_emit *, LLVMContextRef); /* sets lx and the scalar types */
LLVMTypeRef llfi_emit_reg_type(const llfi_emit *, llf_dtype, uint32_t width);
LLVMTypeRef llfi_emit_mem_type(const llfi_emit *, llf_dtype, uint32_t width);
LLVMTypeRef llfi_emit_vec(LLVMTypeRef scalar, uint32_t width); /* width 1: scalar itself */
LLVMValueRef llfi_emit_splat(llfi_emit *, LLVMValueRef scalar, uint32_t width);
LLVMValueRef llfi_emit_as(llfi_emit *, LLVMTypeRef scalar, LLVMValueRef); /* the same bits, at e->width */
LLVMValueRef llfi_emit_lane(llfi_emit *, LLVMValueRef, uint32_t lane);    /* of a scalar: itself */
/* A scalar function of one operand on every lane. */
LLVMValueRef llfi_emit_by_lane(llfi_emit *, LLVMTypeRef type, LLVMValueRef function, LLVMValueRef x);
LLVMValueRef llfi_emit_f32c(llfi_emit *, float); /* constant at e->width */
LLVMValueRef llfi_emit_f64c(llfi_emit *, double);
LLVMValueRef llfi_emit_i32c(llfi_emit *, int32_t);
LLVMValueRef llfi_emit_i64c(llfi_emit *, int64_t);
LLVMValueRef llfi_emit_literal(llfi_emit *, llf_dtype, uint64_t bits); /* register form, at e->width */
LLVMValueRef llfi_emit_call(llfi_emit *, const char *intrinsic, LLVMTypeRef overload, LLVMValueRef *arg,
                            uint32_t n);                                                 /* llvm.* by name */
LLVMValueRef llfi_emit_fma(llfi_emit *, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* rounded once */
/* llfi_emit.memo, by an address of the caller's: NULL when `arg` was not met in this block; kept while there
 * is room. */
const LLVMValueRef *llfi_emit_memo(const llfi_emit *, const void *key, LLVMValueRef arg);
void llfi_emit_memo_keep(llfi_emit *, const void *key, LLVMValueRef arg, const LLVMValueRef result[2]);
/* float register value -> register value rounded to f16 or bf16 (f32, f64: unchanged) */
LLVMValueRef llfi_emit_round(llfi_emit *, llf_dtype, LLVMValueRef);
/* register form <-> memory form */
LLVMValueRef llfi_emit_pack(llfi_emit *, llf_dtype, LLVMValueRef);
LLVMValueRef llfi_emit_unpack(llfi_emit *, llf_dtype, LLVMValueRef);

/* Marks a loop's back branch: the loop is as wide and as short as it should be, and neither LLVM nor the
 * driver's compiler spends time on unrolling it. */
void llfi_emit_keep_loop(llfi_emit *, LLVMValueRef branch);

/* ---- site: one kernel being emitted */
typedef struct llfi_site {
    llfi_emit emit;
    const llf_graph *g;
    const llfi_kernel *kernel;
    const llfi_schedule *schedule;
    llfi_demands demands;
    LLVMValueRef *val; /* by demand, in register form; scope 0: width 1; NULL: not yet made */
    bool *fixed;       /* by demand: made of literals alone, by EXACT ops */
    bool *absorbed;    /* by demand: an f32 that is nowhere but added to literals beside which a subnormal is
                          lost */
    LLVMValueRef function;
    LLVMValueRef *arg;        /* by schedule->arg: pointer for buffers, i64 for dims, register-form scalar;
                                 NULL: in a table (llfi_index_dim) */
    LLVMValueRef range[2];    /* host: first iteration of this call and one past its last, i64 */
    uint32_t ahead;           /* host: bytes ahead of vectors that memory is asked for; 0: not */
    LLVMValueRef block;       /* GPU, in a part: index of this block among the part's, i64; else NULL */
    const char *name;         /* of the kernel function */
    struct llfi_index *index; /* index.c: what is known of offsets in this block */
    llfi_arena *arena;
} llfi_site;

void llfi_bind(llfi_site *, uint32_t demand, LLVMValueRef);
/* Lowers demands [from, to): loads leaves that are not bound, calls emitters. `tile` NULL: scope 0, width 1.
 */
llf_status llfi_lower(llfi_site *, const llfi_tile *, uint32_t from, uint32_t to);
llf_status llfi_store(llfi_site *, const llfi_tile *, uint32_t demand);
/* Address of a node's buffer among the kernel's arguments; NULL: it has none. */
LLVMValueRef llfi_site_buffer(const llfi_site *, llf_id node);

/* Elements of a leaf in memory, in memory form at tile->width. NULL: failed. */
LLVMValueRef llfi_site_load(llfi_site *, uint32_t demand, const llfi_tile *);
/* index.c: type of indices; the value of an extent; a leaf's element at lane `lane` of a tile (NULL: scope
 * 0). NULL: failed. */
LLVMTypeRef llfi_index_type(const llfi_site *);
LLVMValueRef llfi_index_dim(llfi_site *, llfi_dim);
LLVMValueRef llfi_index_number(llfi_site *, llfi_dim); /* the same, i64 whatever indices are */
/* x / by for an i32 x below 2^31, by the reciprocal among the arguments; NULL: it is not there. */
LLVMValueRef llfi_index_quotient(llfi_site *, LLVMValueRef x, llfi_dim by);
/* `vector`: of a whole vector of the tile, which limits keep inside as one. */
LLVMValueRef llfi_index_offset(llfi_site *, uint32_t demand, const llfi_tile *, uint32_t lane, bool vector);
/* The form's coefficient of the innermost axis, when it is a number and the axis stands nowhere else in it.
 */
bool llfi_index_step(const llfi_site *, llfi_ix form, int64_t *step);
/* An expression of the demands' at lane `lane`. */
LLVMValueRef llfi_index_form(llfi_site *, llfi_ix form, const llfi_tile *, uint32_t lane);
/* emit_index.c: an op that chooses, of its operands' values; iota. `tile` NULL: scope 0. */
llf_status llfi_lower_index(llfi_site *, const llfi_tile *, uint32_t demand, const LLVMValueRef *arg,
                            LLVMValueRef *out);
llf_status llfi_lower_iota(llfi_site *, const llfi_tile *, uint32_t demand, LLVMValueRef *out);
llf_status llfi_index_begin(llfi_site *);
void llfi_index_forget(llfi_site *); /* values of a block that is left behind */
/* Fills llfi_site.absorbed. */
void llfi_site_absorb(llfi_site *);
/* Forgets scope 1 values, to lower the same demands again for another tile (the tail). */
void llfi_site_forget(llfi_site *);
void llfi_site_forget_points(llfi_site *); /* those of scope POINT alone, and what is known of offsets */
/* "llf_poi_fused_mul_add_sigmoid_1a2b3c4d" */
void llfi_kernel_name(const llf_graph *, const llfi_kernel *, const llfi_skeleton *, uint64_t hash,
                      char *name, size_t size);

/* name.c: what makes two kernels one module: demand list, schedule, target. Its low 32 bits end the kernel's
 * name. */
uint64_t llfi_kernel_hash(const llf_graph *, const llfi_demands *, const llfi_kernel *, const llfi_schedule *,
                          const llfi_target *);

/* lower.c: everything for one kernel: demands, function, skeleton's emit, LLVMVerifyModule. */
typedef struct {
    LLVMContextRef lx;
    LLVMModuleRef module;
} llfi_module;
llf_status llfi_lower_kernel(const llf_graph *, const llfi_kernel *, const llfi_schedule *,
                             const llfi_target *, const char *name, llfi_arena *, llfi_diag *, llfi_module *);
void llfi_module_destroy(llfi_module *);
/* The code of one part as an internal function of `site`'s module, by backend->begin_part and the part's own
 * skeleton; the builder stays where it was. */
llf_status llfi_lower_part(llfi_site *, const llfi_kernel *part, const llfi_schedule *, const char *name,
                           LLVMValueRef *function);

#endif
