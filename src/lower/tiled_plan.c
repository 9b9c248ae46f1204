/* tiled_plan.c: which kernels are worth tiles, which leaves are staged, the second axis, and the grid.
 * Decided from the index maps alone; it must not know an op or emit anything. */
#include "lower/pointwise.h"
#include "lower/tiled.h"

#define SHARED_BYTES 49152u /* static shared memory of a block */
#define VIEWS 32u           /* behind one operand, looked at; deeper chains may hold one */

/* Only a permuted operand, or an input that lies in memory that way, turns axes; what the maps say is seen
 * when they are made. */

static bool is_permuted(const llf_graph *g, llf_id id)
{
    for (uint32_t i = 0; i < VIEWS; i++) {
        const llfi_node *n = llfi_node_at(g, id);
        if (llfi_ops[n->op].cls != LLFI_CLASS_VIEW)
            return false;
        if (n->op == LLF_OP_PERMUTE)
            return true;
        id = n->arg[0];
    }
    return true;
}

bool llfi_tiled_match(const llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_why *why)
{
    if (!llfi_pointwise_match(g, k, target, why))
        return false;
    if (k->parts <= 1 && g->strides)
        return true;
    for (uint32_t i = 0; k->parts <= 1 && i < k->members; i++) {
        const llfi_node *n = llfi_node_at(g, k->member[i]);
        for (uint32_t a = 0; a < n->arity; a++)
            if (is_permuted(g, llfi_args(g, n)[a]))
                return true;
    }
    snprintf(why->text, sizeof why->text, "no operand is permuted");
    return false;
}

/* How far apart a leaf's elements are along an axis. */
typedef enum { STEP_NONE, STEP_ONE, STEP_BACK, STEP_FAR } step;

static bool is_constant(const llf_graph *g, llfi_dim d, int64_t value)
{
    int64_t c;
    return llfi_dim_is_const(g->dims, d, &c) && c == value;
}

static step step_along(const llf_graph *g, const llfi_demands *list, uint32_t demand, uint32_t axis)
{
    const llfi_demand *d = &list->at[demand];
    if (d->offset == LLFI_OFFSET_LINEAR)
        return axis == list->space.axes - 1 ? STEP_ONE : STEP_FAR;
    const llfi_ix_form *f = &list->form[d->offset];
    step found = STEP_NONE;
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &list->term[f->first + k];
        const llfi_atom *a = &list->atom[t->atom];
        bool along = false;
        for (uint32_t i = 0; i < LLFI_RANK; i++)
            along = along || (a->axes >> i & 1 && list->space.of[i] == (int8_t)axis);
        if (!along)
            continue;
        if (a->kind != LLFI_ATOM_AXIS)
            return STEP_FAR;
        bool up = is_constant(g, t->coef.pos, 1) && is_constant(g, t->coef.neg, 0);
        bool down = is_constant(g, t->coef.pos, 0) && is_constant(g, t->coef.neg, 1);
        if (!up && !down)
            return STEP_FAR;
        found = up ? STEP_ONE : STEP_BACK;
    }
    return found;
}

/* Its neighbours lie along `axis`, and not along the innermost one. */
static bool lies_along(const llf_graph *g, const llfi_demands *list, uint32_t demand, uint32_t axis)
{
    const llfi_demand *d = &list->at[demand];
    if (!d->leaf || d->scope == 0 || !llfi_node_is_buffered(llfi_node_at(g, d->node)) ||
        step_along(g, list, demand, list->space.axes - 1) != STEP_FAR ||
        llfi_access_of(g, list, demand, 2, true, NULL) != LLFI_ACCESS_LANES) /* rows of a merged axis */
        return false;
    step s = step_along(g, list, demand, axis);
    return s == STEP_ONE || s == STEP_BACK;
}

static uint32_t bytes_of(const llf_graph *g, const llfi_demands *list, uint32_t demand)
{
    return llfi_dtypes[llfi_dtype_of(g, list->at[demand].node)].bytes;
}

uint32_t llfi_tiled_axis(const llf_graph *g, const llfi_demands *list)
{
    uint32_t inner = list->space.axes - 1, best = inner, most = 0;
    for (uint32_t axis = 0; axis < inner; axis++) {
        uint32_t bytes = 0;
        for (uint32_t i = list->uniform; i < list->count; i++)
            bytes += lies_along(g, list, i, axis) ? bytes_of(g, list, i) : 0;
        if (bytes && bytes >= most) {
            most = bytes;
            best = axis;
        }
    }
    return best;
}

uint32_t llfi_tiled_stages(const llf_graph *g, const llfi_demands *list, const llfi_schedule *s,
                           llfi_tiled_stage *stage, uint32_t *shared_bytes)
{
    uint32_t stages = 0, used = 0, points = s->threads ? s->tile.x * s->tile.y / s->threads : 0;
    for (uint32_t i = list->uniform; i < list->count; i++) {
        if (!lies_along(g, list, i, s->tile.axis))
            continue;
        uint32_t element = bytes_of(g, list, i), vector = 16 / element < 8 ? 16 / element : 8;
        while (vector > points || vector > s->tile.y)
            vector /= 2;
        int64_t y;
        bool whole = !llfi_dim_is_const(g->dims, list->space.extent[s->tile.axis], &y) || y % vector == 0;
        if (!whole || llfi_access_along(g, list, i, s->tile.axis, vector, true, NULL) != LLFI_ACCESS_VECTOR)
            vector = 1;
        llfi_tiled_layout singles = llfi_tiled_padded(s, element);
        uint32_t bytes = (s->tile.x * singles.pitch * element + 15) / 16 * 16;
        if (used + bytes > SHARED_BYTES)
            continue; /* loaded one by one where it is wanted */
        stage[stages++] = (llfi_tiled_stage){.demand = i,
                                             .element = element,
                                             .vector = vector,
                                             .offset = used,
                                             .vectors = vector > 1 ? llfi_tiled_swizzled(s, vector) : singles,
                                             .singles = singles};
        used += bytes;
    }
    *shared_bytes = used;
    return stages;
}

/* Extents that staged vectors want to be multiples, and their buffers. */
static llf_status add_vectors(const llf_graph *g, const llfi_demands *list, llfi_arena *arena,
                              llfi_schedule *s)
{
    bool *multiple = llfi_arena_alloc(arena, (size_t)list->dims + 1);
    llfi_tiled_stage *stage = llfi_arena_alloc(arena, (list->count + 1) * sizeof *stage);
    uint32_t shared, n;
    if (!multiple || !stage)
        return LLF_E_NOMEM;
    n = llfi_tiled_stages(g, list, s, stage, &shared);
    s->tile.align = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t vector = stage[i].vector, a = 0;
        if (vector == 1)
            continue;
        (void)llfi_access_along(g, list, stage[i].demand, s->tile.axis, vector, true, multiple);
        s->tile.align = s->tile.align > vector ? s->tile.align : vector;
        s->vector_align =
            s->vector_align > vector * stage[i].element ? s->vector_align : vector * stage[i].element;
        while (s->arg[a].kind != LLFI_ARG_BUFFER || s->arg[a].ref != list->at[stage[i].demand].node)
            a++;
        s->arg[a].vector = true;
    }
    for (uint32_t i = 0; i < list->dims; i++) {
        uint32_t dim = s->dims - list->dims + i;
        bool known = !multiple[i];
        for (uint32_t k = 0; k < s->multiples; k++)
            known = known || s->multiple[k] == dim;
        if (!known)
            s->multiple[s->multiples++] = dim;
    }
    return LLF_OK;
}

llf_status llfi_tiled_extent(const llfi_demands *list, llfi_arena *arena, llfi_schedule *s)
{
    llfi_dim *dim = llfi_arena_alloc(arena, ((size_t)s->dims + 1) * sizeof *dim);
    if (!dim)
        return LLF_E_NOMEM;
    memcpy(dim, s->dim, s->dims * sizeof *dim);
    dim[s->dims] = list->space.extent[s->tile.axis];
    s->dim = dim;
    s->tile.extent = s->dims++;
    return LLF_OK;
}

static llfi_tiled_wish wish_of(const llf_graph *g, const llfi_kernel *k, const llfi_demands *list,
                               const llfi_pointwise_sums *sums, uint32_t axis)
{
    llfi_tiled_wish w = {.least = sums->least, .most = sums->most, .cost = sums->cost};
    uint32_t read = 0, written = 0;
    for (uint32_t i = list->uniform; i < list->count; i++)
        read += list->at[i].leaf ? bytes_of(g, list, i) : 0;
    for (uint32_t i = 0; i < k->stores; i++)
        written += bytes_of(g, list, list->store[i]);
    w.held = read > written ? read : written;
    if (!llfi_dim_is_const(g->dims, list->space.extent[list->space.axes - 1], &w.x))
        w.x = 0;
    if (!llfi_dim_is_const(g->dims, list->space.extent[axis], &w.y))
        w.y = 0;
    return w;
}

llf_status llfi_tiled_plan(llf_graph *g, const llfi_kernel *k, const llfi_target *target, llfi_arena *arena,
                           llfi_schedule *s)
{
    llfi_pointwise_sums sums;
    LLF_TRY(llfi_pointwise_plan(g, k, target, LLFI_TILED_VALUES, arena, s, &sums));
    const llfi_demands *list = s->demands;
    if (list->forms == 0 || list->placed || list->space.axes < 2 || s->uniform_store || s->table)
        return LLF_E_UNSUPPORTED;
    s->tile.axis = llfi_tiled_axis(g, list);
    llfi_tiled_wish wish = wish_of(g, k, list, &sums, s->tile.axis);
    if (s->tile.axis == list->space.axes - 1 || is_constant(g, s->dim[0], 0) || !llfi_tiled_choose(&wish, s))
        return LLF_E_UNSUPPORTED;
    uint32_t align = s->width * sums.most;
    s->vector_align = s->width == 1 ? 1 : align < 16 ? align : 16;
    LLF_TRY(llfi_pointwise_vectors(g, list, arena, s));
    LLF_TRY(add_vectors(g, list, arena, s));
    return llfi_tiled_extent(list, arena, s);
}

static bool may_use_vectors(const llfi_schedule *s, const llfi_launch *l)
{
    if (l->extent[s->inner] % s->width || l->extent[s->tile.extent] % s->tile.align)
        return false;
    for (uint32_t i = 0; i < s->multiples; i++)
        if (l->extent[s->multiple[i]] % s->width || l->extent[s->multiple[i]] % s->tile.align)
            return false;
    return llfi_pointwise_aligned(s, l);
}

static int64_t tiles_of(int64_t extent, uint32_t side)
{
    return extent / side + (extent % side != 0);
}

llf_status llfi_tiled_launch(const llfi_schedule *s, llfi_launch *l)
{
    int64_t n = l->extent[0], x = l->extent[s->inner], y = l->extent[s->tile.extent], blocks = 0;
    if (n < 0)
        return LLF_E_ARG;
    int64_t columns = tiles_of(x, s->tile.x), rows = tiles_of(y, s->tile.y);
    if (n > 0 && (__builtin_mul_overflow(columns, rows, &blocks) ||
                  __builtin_mul_overflow(blocks, n / x / y, &blocks)))
        return LLF_E_LIMIT;
    LLF_TRY(llfi_pointwise_grid(s, n, blocks, l));
    l->value[LLFI_TILED_COLUMNS] = columns;
    l->value[LLFI_TILED_ROWS] = rows;
    l->value[LLFI_TILED_VECTORS] = may_use_vectors(s, l);
    l->value[LLFI_TILED_EXTENT] = y;
    return LLF_OK;
}
