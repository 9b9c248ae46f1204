/* gpu.h: what threads of a GPU have in common, as code: who a thread is, barriers, values of other lanes,
 * shared memory, and who is the last block. Skeletons of GPUs use it; it knows no kernel and no op. Every
 * function gives NULL, or a status, after a failure. */
#ifndef LLFI_GPU_H
#define LLFI_GPU_H

#include "lower/lower.h"

#define LLFI_WARP 32u

/* i32 each */
LLVMValueRef llfi_gpu_thread(llfi_emit *);
LLVMValueRef llfi_gpu_block(llfi_emit *);

/* All threads of the block come here before one goes on; what they wrote, to shared and to global memory, is
 * seen by the others. */
llf_status llfi_gpu_barrier(llfi_emit *);
/* The same for the threads of a warp. */
llf_status llfi_gpu_warp_barrier(llfi_emit *);

/* The value that lane (own number ^ mask), or lane `lane` (i32), has for a scalar of any register type. All
 * lanes of the warp come here. */
LLVMValueRef llfi_gpu_lane_xor(llfi_emit *, LLVMValueRef, uint32_t mask);
LLVMValueRef llfi_gpu_lane_of(llfi_emit *, LLVMValueRef, LLVMValueRef lane);

/* Shared memory as large as the launch says, at a multiple of 16 bytes. */
LLVMValueRef llfi_gpu_shared(llfi_emit *);

/* Counts this block at *counter (32 bits): an i1, the same for all threads of the block, that holds in the
 * last of `blocks` (i32) blocks to come here. It sees what the others wrote before, by loads that are
 * volatile, and has set the counter to 0. All threads of the block come here. */
LLVMValueRef llfi_gpu_is_last(llfi_emit *, LLVMValueRef counter, LLVMValueRef blocks);

/* A block of the function that is being emitted. */
LLVMBasicBlockRef llfi_gpu_place(llfi_emit *);

#endif
