/* heur_none.c: one kernel per op that the user wrote: what an eager framework launches. It ranks only. */
#include "fuse/fuse.h"

int64_t llfi_heur_none(const llfi_fuse_view *v, llf_id a, llf_id b)
{
    return llfi_node_at(v->g, a)->origin == llfi_node_at(v->g, b)->origin ? 1 : -1;
}
