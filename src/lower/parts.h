/* parts.h: what the skeletons of several parts share: rows and bodies (schedule.h), where parts begin, and
 * finding a part again in the code. They know no ops and leave each part's points to its own skeleton. */
#ifndef LLFI_LOWER_PARTS_H
#define LLFI_LOWER_PARTS_H

#include "lower/lower.h"

/* `entry`: bytes of a header entry, 4 or 8. `one`: the parts' skeleton, `values`: its DIM arguments. */
llf_status llfi_parts_plan(llf_graph *, const llfi_kernel *, const llfi_target *, llfi_arena *,
                           llfi_schedule *, const llfi_skeleton *one, uint32_t entry, uint32_t values);
bool llfi_parts_match(const llf_graph *, const llfi_kernel *, const llfi_target *, llfi_why *,
                      const llfi_skeleton *one);
/* Launches every part into `each` in turn, which adds its size; fills the rows of the table. */
llf_status llfi_parts_launch(const llfi_schedule *, llfi_launch *, uint32_t values,
                             llf_status (*each)(llfi_launch *all, uint32_t row, const llfi_launch *one));

/* Address `bytes` (i64) into the argument block. */
LLVMValueRef llfi_parts_at(llfi_site *, LLVMValueRef block, LLVMValueRef bytes);
/* i32: the last row whose entry of the header is not above `key` (of the entries' type). */
LLVMValueRef llfi_parts_find_row(llfi_site *, LLVMValueRef block, LLVMValueRef key);
/* Emits the parts' bodies and a choice among them by `row` (i32): for each, `call` at the end of a block of
 * its own, from where the block ends in a branch to `after`. `row_at` is the address of the row's slots. */
typedef llf_status llfi_parts_call_fn(llfi_site *, uint32_t body, LLVMValueRef function, LLVMValueRef row_at,
                                      void *user);
llf_status llfi_parts_dispatch(llfi_site *, LLVMValueRef block, LLVMValueRef row, LLVMBasicBlockRef after,
                               llfi_parts_call_fn *call, void *user);

#endif
