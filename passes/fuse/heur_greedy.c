/* heur_greedy.c: whatever is legal and saves bytes or a launch, most bytes first. It ranks only. */
#include "fuse/fuse.h"

int64_t llfi_heur_greedy(const llfi_fuse_view *v, llf_id a, llf_id b)
{
    return 1 + llfi_cost_saved(v, a, b); /* 1: the launch */
}
