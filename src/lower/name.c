/* name.c: what a kernel is called, so that profilers show what was fused, and the hash that tells kernels
 * apart. */
#include "lower/lower.h"

#define NAME_OPS 10

/* Bodies, and how many rows each has: where the rows lie follows. */
static uint64_t hash_parts(const llfi_schedule_parts *p)
{
    uint64_t h = llfi_hash_u64(llfi_hash_u64(0x6c6c667061727473, p->bodies), p->starts);
    for (uint32_t i = 0; i < p->bodies; i++)
        h = llfi_hash_u64(llfi_hash_u64(h, p->body[i].hash), p->body[i].rows);
    return h;
}

uint64_t llfi_kernel_hash(const llf_graph *g, const llfi_demands *demands, const llfi_kernel *kernel,
                          const llfi_schedule *s, const llfi_target *target)
{
    uint64_t h = s->parts ? hash_parts(s->parts) : llfi_demands_hash(g, demands, kernel);
    h = llfi_hash(h, s->skeleton->name, strlen(s->skeleton->name));
    const uint32_t field[] = {s->threads, s->width, s->slice, s->one_body, s->vector_align, s->uniform_store};
    for (size_t i = 0; i < LLFI_COUNT(field); i++)
        h = llfi_hash_u64(h, field[i]);
    if (s->shares)
        h = llfi_hash_u64(h, s->shares);
    if (s->runs)
        h = llfi_hash_u64(llfi_hash_u64(h, s->runs), s->element_runs);
    if (s->tile.x) {
        h = llfi_hash_u64(llfi_hash_u64(h, s->tile.x), s->tile.y);
        h = llfi_hash_u64(llfi_hash_u64(h, s->tile.axis), s->tile.align);
        h = llfi_hash_u64(llfi_hash_u64(h, s->tile.lanes), s->tile.full);
    }
    if (s->row.rows) {
        h = llfi_hash_u64(llfi_hash_u64(h, s->row.warps), s->row.lanes);
        h = llfi_hash_u64(llfi_hash_u64(h, s->row.rows), s->row.kept);
        h = llfi_hash_u64(h, s->row.split);
    }
    if (s->hint.load || s->hint.store)
        h = llfi_hash_u64(llfi_hash_u64(h, s->hint.load), s->hint.store);
    h = llfi_hash(h, target->name, strlen(target->name));
    h = llfi_hash(h, target->cpu, strlen(target->cpu));
    return llfi_hash(h, target->features, strlen(target->features));
}

/* Members are topological, so an origin's primitives need not be neighbours; an origin is named where it
 * first appears. Linear: at most ten are remembered, and after those nothing is looked up. */
void llfi_kernel_name(const llf_graph *g, const llfi_kernel *kernel, const llfi_skeleton *skeleton,
                      uint64_t hash, char *name, size_t size)
{
    char text[200];
    uint32_t seen[NAME_OPS];
    uint32_t seens = 0, named = 0; /* of a long run of equal ops the latest ten origins are remembered */
    int last = -1;
    size_t used = (size_t)snprintf(text, sizeof text, "llf_%s_fused", skeleton->prefix);
    for (uint32_t i = 0; i < kernel->members && named < NAME_OPS; i++) {
        uint32_t origin = llfi_node_at(g, kernel->member[i])->origin;
        bool known = origin >= g->origin.count;
        for (uint32_t k = 0; k < seens && k < NAME_OPS && !known; k++)
            known = seen[k] == origin;
        if (known)
            continue;
        seen[seens++ % NAME_OPS] = origin;
        int op = g->origin.at[origin];
        if (op == last)
            continue;
        last = op;
        named++;
        used += (size_t)snprintf(text + used, sizeof text - used, "_%s", llfi_ops[op].name);
    }
    /* the hash stays whole whatever must be cut */
    size_t room = size > 10 ? size - 10 : 0;
    snprintf(name, size, "%.*s_%08x", (int)(used < room ? used : room), text, (unsigned)(hash & UINT32_MAX));
}
