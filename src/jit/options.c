/* options.c: llf_options of any version -> checked values. Unknown names are errors that list the legal ones;
 * nothing is compiled here. */
#include "jit/jit.h"

llf_status llfi_options_read(llfi_diag *d, const llf_options *given, llf_options *out)
{
    *out = (llf_options){.size = sizeof *out};
    if (!given)
        return LLF_OK;
    if (!llfi_struct_size_possible(given->size))
        return llfi_fail(d, LLF_E_ARG, "llf_options.size is %zu: set it to sizeof(llf_options)", given->size);
    size_t known = given->size < sizeof *out ? given->size : sizeof *out;
    memcpy(out, given, known);
    /* A newer caller's fields are unknown here: they may only be absent. */
    for (size_t i = known; i < given->size; i++)
        if (((const char *)given)[i] != 0)
            return llfi_fail(
                d, LLF_E_ARG,
                "llf_options of %zu bytes sets fields that this llfuse (%zu bytes) does not know",
                given->size, sizeof *out);
    out->size = sizeof *out;
    return LLF_OK;
}

static llf_status unknown_heuristic(llfi_diag *d, const char *name)
{
    char legal[300] = "";
    for (size_t i = 0; i < llfi_heuristics_count; i++)
        llfi_diag_list(legal, sizeof legal, llfi_heuristics[i].name);
    return llfi_fail(d, LLF_E_ARG, "no heuristic '%.64s'; there are %s", name, legal);
}

llf_status llfi_options_fuse(llfi_diag *d, const llf_options *o, const llfi_target *t,
                             llfi_fuse_options *fuse)
{
    llfi_fuse_options_default(fuse);
    if (o->heuristic) {
        fuse->heuristic = llfi_heuristic_find(o->heuristic);
        if (!fuse->heuristic)
            return unknown_heuristic(d, o->heuristic);
    }
    if (o->set)
        LLF_TRY(llfi_params_set(d, &fuse->params, o->set));
    if (t)
        fuse->param_bytes = t->param_bytes;
    return LLF_OK;
}
