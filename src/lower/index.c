/* index.c: index expressions as LLVM values: each quotient once a block and lane. Arithmetic wraps: only
 * final values need to be in range. It knows neither threads nor what is loaded. */
#include "lower/lower.h"

#define ANY_LANE UINT32_MAX
#define VECTOR (UINT32_MAX - 1)

typedef struct {
    LLVMValueRef value;
    uint32_t epoch, lane; /* a lane, ANY_LANE, or VECTOR for lane 0 of an access to a whole vector */
} known;

struct llfi_index {
    known *atom;     /* by atom */
    bool *inner;     /* by atom: changes along the innermost axis */
    uint32_t *stack; /* atoms to do */
    uint32_t epoch;
};

typedef struct {
    llfi_site *s;
    const llfi_tile *tile;
    uint32_t lane, key; /* key: known.lane of what depends on it */
} point;

llf_status llfi_index_begin(llfi_site *s)
{
    const llfi_demands *list = &s->demands;
    size_t edges = 1;
    for (uint32_t i = 0; i < list->forms; i++)
        edges += list->form[i].terms;
    s->index = llfi_arena_alloc(s->arena, sizeof *s->index);
    if (!s->index)
        return llfi_nomem(s->emit.diag);
    s->index->epoch = 1;
    s->index->atom = llfi_arena_alloc(s->arena, (list->atoms + 1) * sizeof *s->index->atom);
    s->index->inner = llfi_arena_alloc(s->arena, list->atoms + 1);
    s->index->stack = llfi_arena_alloc(s->arena, edges * sizeof *s->index->stack);
    if (!s->index->atom || !s->index->inner || !s->index->stack)
        return llfi_nomem(s->emit.diag);
    for (uint32_t i = 0; i < list->atoms; i++)
        s->index->inner[i] = llfi_access_inner(list, &list->atom[i]);
    return LLF_OK;
}

void llfi_index_forget(llfi_site *s)
{
    if (s->index)
        s->index->epoch++;
}

LLVMTypeRef llfi_index_type(const llfi_site *s)
{
    return s->demands.space.narrow ? s->emit.i32 : s->emit.i64;
}

static LLVMValueRef number(const llfi_site *s, int64_t value)
{
    if (s->demands.space.narrow) /* wraps like the arithmetic */
        value = (int32_t)(uint32_t)(uint64_t)value;
    return LLVMConstInt(llfi_index_type(s), (uint64_t)value, 1);
}

/* Argument `i`, or its place in the table that stands for it: loaded where it is used, since all at once
 * would fill the registers. Nobody writes there, so LLVM may join loads. */
static LLVMValueRef stride(llfi_site *s, uint32_t i)
{
    llfi_emit *e = &s->emit;
    uint32_t table = i;
    if (s->arg[i])
        return s->arg[i];
    while (s->schedule->arg[table].kind != LLFI_ARG_TABLE)
        table--;
    LLVMValueRef at = LLVMConstInt(e->i64, i - table - 1, 0);
    LLVMValueRef v = LLVMBuildLoad2(e->b, e->i64, LLVMBuildGEP2(e->b, e->i64, s->arg[table], &at, 1, ""), "");
    LLVMSetAlignment(v, 8);
    LLVMSetMetadata(v, LLVMGetMDKindIDInContext(e->lx, "invariant.load", 14),
                    LLVMMetadataAsValue(e->lx, LLVMMDNodeInContext2(e->lx, NULL, 0)));
    return v;
}

LLVMValueRef llfi_index_number(llfi_site *s, llfi_dim d)
{
    int64_t value;
    if (llfi_dim_is_const(s->g->dims, d, &value))
        return LLVMConstInt(s->emit.i64, (uint64_t)value, 0);
    for (uint32_t i = 0; i < s->schedule->args; i++) {
        const llfi_arg *a = &s->schedule->arg[i];
        if (a->kind == LLFI_ARG_STRIDE && s->schedule->dim[a->ref] == d)
            return stride(s, i);
    }
    (void)llfi_fail(s->emit.diag, LLF_E_INTERNAL, "kernel %s has no argument for an extent", s->name);
    s->emit.status = LLF_E_INTERNAL;
    return LLVMConstInt(s->emit.i64, 1, 0);
}

LLVMValueRef llfi_index_dim(llfi_site *s, llfi_dim d)
{
    int64_t value;
    if (llfi_dim_is_const(s->g->dims, d, &value))
        return number(s, value);
    LLVMValueRef x = llfi_index_number(s, d);
    return s->demands.space.narrow ? LLVMBuildTrunc(s->emit.b, x, s->emit.i32, "") : x;
}

LLVMValueRef llfi_index_quotient(llfi_site *s, LLVMValueRef x, llfi_dim by)
{
    llfi_emit *e = &s->emit;
    LLVMBuilderRef b = e->b;
    uint32_t i = 0;
    for (; i < s->schedule->args; i++) {
        const llfi_arg *a = &s->schedule->arg[i];
        if (a->kind == LLFI_ARG_RECIPROCAL && s->schedule->dim[a->ref] == by)
            break;
    }
    if (i == s->schedule->args)
        return NULL;
    LLVMValueRef half = LLVMConstInt(e->i64, 32, 0), both = s->arg[i]; /* llfi_reciprocal */
    LLVMValueRef twice = LLVMBuildShl(b, x, LLVMConstInt(e->i32, 1, 0), "");
    LLVMValueRef m = LLVMBuildZExt(b, LLVMBuildTrunc(b, both, e->i32, ""), e->i64, "");
    LLVMValueRef product = LLVMBuildMul(b, LLVMBuildZExt(b, twice, e->i64, ""), m, "");
    LLVMValueRef high = LLVMBuildTrunc(b, LLVMBuildLShr(b, product, half, ""), e->i32, "");
    LLVMValueRef shift = LLVMBuildTrunc(b, LLVMBuildLShr(b, both, half, ""), e->i32, "");
    shift = LLVMBuildAnd(b, shift, LLVMConstInt(e->i32, 31, 0), ""); /* never poison */
    return LLVMBuildLShr(b, high, shift, "");
}

static LLVMValueRef amount(llfi_site *s, llfi_signed c)
{
    int64_t pos, neg;
    if (llfi_dim_is_const(s->g->dims, c.pos, &pos) && llfi_dim_is_const(s->g->dims, c.neg, &neg))
        return number(s, pos - neg);
    LLVMValueRef up = llfi_index_dim(s, c.pos);
    if (llfi_dim_is_const(s->g->dims, c.neg, &neg) && neg == 0)
        return up;
    return LLVMBuildSub(s->emit.b, up, llfi_index_dim(s, c.neg), "");
}

static bool is_known(const point *p, uint32_t atom)
{
    const struct llfi_index *x = p->s->index;
    const known *k = &x->atom[atom];
    return k->value && k->epoch == x->epoch && k->lane == (x->inner[atom] ? p->key : ANY_LANE);
}

/* The sum of a form whose atoms are known. */
static LLVMValueRef form_value(const point *p, const llfi_ix_form *f)
{
    llfi_site *s = p->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef sum = NULL, zero = LLVMConstInt(llfi_index_type(s), 0, 0);
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &s->demands.term[f->first + k];
        LLVMValueRef x = s->index->atom[t->atom].value;
        if (x == zero)
            continue;
        LLVMValueRef c = amount(s, t->coef);
        if (!LLVMIsAConstantInt(c) || LLVMConstIntGetSExtValue(c) != 1)
            x = LLVMBuildMul(b, x, c, "");
        sum = sum ? LLVMBuildAdd(b, sum, x, "") : x;
    }
    LLVMValueRef c = amount(s, f->constant);
    if (c == zero)
        return sum ? sum : zero;
    return sum ? LLVMBuildAdd(b, sum, c, "") : c;
}

static LLVMValueRef axis_value(const point *p, uint32_t site_axis)
{
    llfi_site *s = p->s;
    int8_t axis = s->demands.space.of[site_axis];
    LLVMTypeRef type = llfi_index_type(s);
    if (axis < 0 || !p->tile)
        return LLVMConstInt(type, 0, 0);
    LLVMValueRef x = p->tile->axis[axis];
    bool inner = axis == (int8_t)s->demands.space.along;
    return inner && p->lane ? LLVMBuildAdd(s->emit.b, x, LLVMConstInt(type, p->lane, 0), "") : x;
}

/* max(min(x, last), 0): comparisons that LLVM knows, on every target. */
static LLVMValueRef limited(const point *p, LLVMValueRef x, LLVMValueRef by, const llfi_atom *a)
{
    llfi_site *s = p->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMTypeRef type = LLVMTypeOf(x);
    bool whole = p->key == VECTOR && llfi_access_inner(&s->demands, a);
    LLVMValueRef zero = LLVMConstInt(type, 0, 0);
    LLVMValueRef last = LLVMBuildSub(b, by, LLVMConstInt(type, whole ? p->tile->width : 1, 0), "");
    x = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, x, last, ""), x, last, "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, x, zero, ""), x, zero, "");
}

/* The index that a demand's value is: from the end where negative, and inside. As wide as the value until
 * then.
 */
static LLVMValueRef gathered(const point *p, const llfi_atom *a)
{
    llfi_site *s = p->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMTypeRef type = llfi_index_type(s);
    LLVMValueRef x = s->val[a->arg], by = llfi_index_dim(s, a->by);
    if (!x) {
        (void)llfi_fail(s->emit.diag, LLF_E_INTERNAL, "kernel %s wants an index before it is there", s->name);
        s->emit.status = LLF_E_INTERNAL;
        return LLVMConstInt(type, 0, 0);
    }
    x = llfi_emit_lane(&s->emit, x, p->lane);
    bool wide = LLVMTypeOf(x) == s->emit.i64 || type == s->emit.i64;
    if (wide && LLVMTypeOf(x) != s->emit.i64)
        x = LLVMBuildSExt(b, x, s->emit.i64, "");
    if (wide && type != s->emit.i64)
        by = LLVMBuildZExt(b, by, s->emit.i64, "");
    LLVMValueRef zero = LLVMConstInt(LLVMTypeOf(x), 0, 0);
    LLVMValueRef back = LLVMBuildICmp(b, LLVMIntSLT, x, zero, "");
    x = LLVMBuildSelect(b, back, LLVMBuildAdd(b, x, by, ""), x, "");
    const point lane = {s, p->tile, p->lane, p->lane};
    x = limited(&lane, x, by, a);
    return LLVMTypeOf(x) == type ? x : LLVMBuildTrunc(b, x, type, "");
}

/* What is divided by: where limits have no elements and nothing is read, an extent may be 0. */
static LLVMValueRef divisor(const point *p, const llfi_atom *a)
{
    LLVMBuilderRef b = p->s->emit.b;
    LLVMValueRef by = llfi_index_dim(p->s, a->by);
    if (a->alive == LLFI_DIM_NONE || LLVMIsAConstantInt(by))
        return by;
    LLVMValueRef one = LLVMConstInt(LLVMTypeOf(by), 1, 0);
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, by, one, ""), by, one, "");
}

/* A quotient or a remainder. */
static LLVMValueRef divided(const point *p, const llfi_atom *a)
{
    llfi_site *s = p->s;
    LLVMBuilderRef b = s->emit.b;
    LLVMValueRef of = form_value(p, &s->demands.form[a->arg]), q = NULL;
    if (s->demands.space.narrow)
        q = llfi_index_quotient(s, of, a->by);
    if (!q)
        return a->kind == LLFI_ATOM_DIV ? LLVMBuildUDiv(b, of, divisor(p, a), "")
                                        : LLVMBuildURem(b, of, divisor(p, a), "");
    LLVMValueRef whole = LLVMBuildMul(b, q, llfi_index_dim(s, a->by), "");
    return a->kind == LLFI_ATOM_DIV ? q : LLVMBuildSub(b, of, whole, "");
}

static void know(const point *p, uint32_t atom)
{
    llfi_site *s = p->s;
    const llfi_atom *a = &s->demands.atom[atom];
    LLVMValueRef x;
    if (a->kind == LLFI_ATOM_AXIS) {
        x = axis_value(p, a->arg);
    } else if (a->kind == LLFI_ATOM_VALUE) {
        x = gathered(p, a);
    } else if (a->kind == LLFI_ATOM_CLAMP) {
        LLVMValueRef of = form_value(p, &s->demands.form[a->arg]);
        x = limited(p, of, llfi_index_dim(s, a->by), a);
    } else {
        x = divided(p, a);
    }
    s->index->atom[atom] = (known){x, s->index->epoch, s->index->inner[atom] ? p->key : ANY_LANE};
}

/* Pushes what a form still wants; how many. */
static uint32_t want(const point *p, const llfi_ix_form *f, uint32_t *stack)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < f->terms; k++) {
        uint32_t atom = p->s->demands.term[f->first + k].atom;
        if (!is_known(p, atom))
            stack[n++] = atom;
    }
    return n;
}

/* A form whose atoms are made as they are needed. */
static LLVMValueRef value_of(const point *p, llfi_ix form)
{
    llfi_site *s = p->s;
    const llfi_demands *list = &s->demands;
    uint32_t *stack = s->index->stack, depth = want(p, &list->form[form], stack);
    while (depth) {
        uint32_t top = stack[depth - 1], more = 0;
        const llfi_atom *a = &list->atom[top];
        if (!is_known(p, top)) {
            if (a->kind != LLFI_ATOM_AXIS && a->kind != LLFI_ATOM_VALUE)
                more = want(p, &list->form[a->arg], stack + depth);
            if (more) {
                depth += more;
                continue;
            }
            know(p, top);
        }
        depth--;
    }
    return s->emit.status == LLF_OK ? form_value(p, &list->form[form]) : NULL;
}

bool llfi_index_step(const llfi_site *s, llfi_ix form, int64_t *step)
{
    const llfi_demands *list = &s->demands;
    const llfi_ix_form *f = &list->form[form];
    int64_t pos, neg;
    *step = 0;
    for (uint32_t k = 0; k < f->terms; k++) {
        const llfi_ix_term *t = &list->term[f->first + k];
        const llfi_atom *a = &list->atom[t->atom];
        if (!llfi_access_inner(list, a))
            continue;
        if (a->kind != LLFI_ATOM_AXIS || !llfi_dim_is_const(s->g->dims, t->coef.pos, &pos) ||
            !llfi_dim_is_const(s->g->dims, t->coef.neg, &neg))
            return false;
        *step = pos - neg;
    }
    return true;
}

LLVMValueRef llfi_index_form(llfi_site *s, llfi_ix form, const llfi_tile *tile, uint32_t lane)
{
    return value_of(&(point){s, tile, lane, lane}, form);
}

LLVMValueRef llfi_index_offset(llfi_site *s, uint32_t demand, const llfi_tile *tile, uint32_t lane,
                               bool vector)
{
    const llfi_demand *d = &s->demands.at[demand];
    if (d->offset == LLFI_OFFSET_LINEAR) {
        if (!tile)
            return LLVMConstInt(s->emit.i64, 0, 0);
        LLVMValueRef first = tile->first;
        return lane ? LLVMBuildAdd(s->emit.b, first, LLVMConstInt(s->emit.i64, lane, 0), "") : first;
    }
    return value_of(&(point){s, tile, lane, vector ? VECTOR : lane}, d->offset);
}
