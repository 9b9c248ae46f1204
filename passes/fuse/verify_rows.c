/* verify_rows.c: is a kernel with reductions what plan.h says? From the definition alone, for verify.c: it
 * shares no code with the search, and repairs nothing. Cost: linear in the members. */
#include "fuse/fuse.h"

/* Of a member: wanted at its own point or row; wanted elsewhere; waits for a reduction. */
enum { HERE = 1, ELSEWHERE = 2, WAITS = 4 };

typedef struct {
    const llfi_ways *ways;
    const llf_graph *g;
    const llfi_kernel *k;
    const uint32_t *inside;
    uint32_t number;
    uint8_t *state;
    llfi_axes points, rows; /* axes that values lie along */
} check;

static bool member(const check *c, llf_id id)
{
    return c->inside[id] == c->number;
}

static bool reduces(const check *c, llf_id id)
{
    return llfi_ops[llfi_node_at(c->g, id)->op].cls == LLFI_CLASS_REDUCE;
}

/* Axes of the space that a value of type `t` lies along; NONE: it is no value of the space. */
static llfi_axes along(const check *c, llfi_type t)
{
    llfi_type space = llfi_type_at(c->g, c->k->space);
    if (llfi_type_same_dims(t, space))
        return c->points;
    return llfi_axes_lie(c->g, t, space, c->rows, NULL) ? c->rows : LLFI_AXES_NONE;
}

/* Is operand `k` of `user` the value of the same row, or point? */
static bool in_place(const check *c, llf_id user, uint32_t k, llf_id p)
{
    const llf_graph *g = c->g;
    llfi_type space = llfi_type_at(g, llfi_space_of(g, user));
    llfi_axes at = along(c, space), of = along(c, llfi_type_of(g, p)), way = llfi_way(c->ways, user, k);
    if (of == 0)
        return true; /* there is but one */
    if (of == LLFI_AXES_NONE || way == LLFI_AXES_NONE || at == LLFI_AXES_NONE || !(c->state[user] & HERE) ||
        c->state[user] & ELSEWHERE)
        return false;
    return llfi_axes_lift(way, llfi_axes_of(g, space), at) == of;
}

/* Few rows, and long ones, or one alone. */
static bool idle(const check *c)
{
    llfi_type t = llfi_type_at(c->g, c->k->space);
    int64_t rows = 1, row = 1, extent;
    bool open_rows = false, open_row = false, any = false;
    for (uint32_t i = 0; i < t.rank; i++) {
        bool reduced = c->k->reduced >> i & 1, constant = llfi_dim_is_const(c->g->dims, t.dim[i], &extent);
        if (!constant || __builtin_mul_overflow(reduced ? row : rows, extent, reduced ? &row : &rows)) {
            open_row = open_row || reduced;
            open_rows = open_rows || !reduced;
        }
        any = any || !reduced;
    }
    return !any || (!open_rows && rows < LLFI_ROWS_FEW && (open_row || row > LLFI_ROW_LONG));
}

static const char *operands(check *c, llf_id id, llf_id *at)
{
    const llfi_node *n = llfi_node_at(c->g, id);
    for (uint32_t k = 0; k < n->arity; k++) {
        llf_id p = c->ways->source[llfi_args(c->g, n)[k]];
        if (!member(c, p))
            continue;
        c->state[p] |= in_place(c, id, k, p) ? HERE : ELSEWHERE;
        bool row = along(c, llfi_type_of(c->g, p)) == c->rows && c->rows != c->points;
        bool wide = reduces(c, id) || c->state[id] & ELSEWHERE || along(c, llfi_type_of(c->g, id)) != c->rows;
        *at = p;
        if (row && wide && c->state[p] & WAITS && idle(c))
            return "is read by the points of its row, of which there are too few, and too long ones";
    }
    return NULL;
}

const char *llfi_rows_fault(const llfi_ways *w, const llfi_kernel *k, const uint32_t *inside, uint32_t number,
                            uint8_t *state, llf_id *at)
{
    check c = {.ways = w, .g = w->g, .k = k, .inside = inside, .number = number, .state = state};
    llfi_type space = llfi_type_at(c.g, k->space);
    c.points = llfi_axes_of(c.g, space);
    c.rows = c.points & ~k->reduced;
    for (uint32_t i = 0; i < k->members; i++) {
        const llfi_node *n = llfi_node_at(c.g, *at = k->member[i]);
        bool waits = reduces(&c, *at);
        if (waits && (llfi_reduced_of(c.g, *at) != k->reduced ||
                      !llfi_type_same_dims(llfi_type_at(c.g, llfi_space_of(c.g, *at)), space)))
            return "reduces another shape, or other axes, than another reduction there";
        for (uint32_t a = 0; a < n->arity && !waits; a++) {
            llf_id p = w->source[llfi_args(c.g, n)[a]];
            waits = member(&c, p) && state[p] & WAITS;
        }
        state[*at] = waits ? WAITS : 0;
    }
    for (uint32_t i = 0; i < k->stores; i++) {
        if (along(&c, llfi_type_of(c.g, *at = k->store[i])) == LLFI_AXES_NONE)
            return "is stored there, but has neither the shape of what is reduced nor that of its rows";
        state[*at] |= HERE;
    }
    for (uint32_t i = k->members; i-- > 0;) {
        llf_id id = *at = k->member[i];
        if (!(state[id] & (HERE | ELSEWHERE)))
            continue; /* a further result that nobody wants */
        if (reduces(&c, id) && state[id] & ELSEWHERE)
            return "is read in another row than its own, and no reduction is computed twice";
        const char *fault = operands(&c, id, at);
        if (fault)
            return fault;
    }
    return NULL;
}
