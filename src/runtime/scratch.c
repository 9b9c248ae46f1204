/* scratch.c: memory that kernels have for themselves while they run: partial results of blocks that finish
 * one another's work, and the counters by which they know who is last. Kernels of an execution run one after
 * another, so that all share one piece, as large as the largest wish. It must not shrink or move what is
 * large enough: a run may be under way. */
#include "runtime/program.h"

#define ZEROS 1024u

void llfi_scratch_free(llf_execution *e)
{
    llf_loaded *l = e->loaded;
    if (e->scratch)
        l->device->free(l, e->scratch, e->scratch_bytes);
    if (e->counter)
        l->device->free(l, e->counter, e->counter_bytes);
    e->scratch = e->counter = NULL;
    e->scratch_bytes = e->counter_bytes = 0;
}

static llf_status grow(llf_execution *e, void **at, size_t *bytes, size_t wanted)
{
    llf_loaded *l = e->loaded;
    if (wanted <= *bytes)
        return LLF_OK;
    if (*at)
        l->device->free(l, *at, *bytes);
    *at = NULL;
    *bytes = 0;
    LLF_TRY(l->device->alloc(&e->diag, l, wanted, at));
    *bytes = wanted;
    return LLF_OK;
}

/* Every kernel leaves them 0 again, so this is done once. */
static llf_status zero(llf_execution *e)
{
    static const char zeros[ZEROS] = {0};
    llf_loaded *l = e->loaded;
    for (size_t at = 0; at < e->counter_bytes; at += ZEROS) {
        size_t left = e->counter_bytes - at;
        LLF_TRY(l->device->upload(&e->diag, l, (char *)e->counter + at, zeros, left < ZEROS ? left : ZEROS));
    }
    return LLF_OK;
}

llf_status llfi_scratch_make(llf_execution *e)
{
    const size_t most = SIZE_MAX / 8;
    size_t scratch = 0, counters = 0, before = e->counter_bytes;
    for (uint32_t k = 0; k < e->loaded->program->plan.kernels; k++) {
        const llfi_launch *n = &e->launch[k];
        if ((uint64_t)n->scratch > most || (uint64_t)n->counters > most)
            return llfi_fail(&e->diag, LLF_E_LIMIT,
                             "a kernel's partial results take more bytes than there are addresses");
        scratch = (size_t)n->scratch > scratch ? (size_t)n->scratch : scratch;
        counters = (size_t)n->counters > counters ? (size_t)n->counters : counters;
    }
    LLF_TRY(grow(e, &e->scratch, &e->scratch_bytes, scratch));
    LLF_TRY(grow(e, &e->counter, &e->counter_bytes, counters * sizeof(uint32_t)));
    if (e->counter_bytes == before)
        return LLF_OK;
    llf_status status = zero(e);
    if (status != LLF_OK) /* the next prepare must not find counters that are not 0 */
        llfi_scratch_free(e);
    return status;
}
