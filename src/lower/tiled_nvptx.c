/* tiled_nvptx.c: the code of a kernel in tiles (tiled.h). Where rows and buffers are aligned, all blocks go
 * the road of vectors, else all go that of single elements. On both, loads are clamped to the plane and
 * stores beyond it are left out: every thread reaches the barrier. Both roads end in the same arithmetic
 * where that is dear. It must not know ops. */
#include "lower/pointwise.h"
#include "lower/tiled.h"

#define JOIN_COST 64u /* estimated instructions of a thread from which one copy of them serves both roads */
#define PIECES 16u

/* A leaf or a result, in memory form, piece by piece, <width x T> each. */
typedef struct {
    uint32_t demand;
    const llfi_tiled_stage *stage; /* NULL: loaded where it is wanted */
    LLVMValueRef piece[PIECES];
} column;

typedef struct {
    llfi_site *s;
    const llfi_schedule *p;
    uint32_t inner, other; /* axes of the tile */
    uint32_t pieces;       /* vectors of a thread */
    LLVMValueRef thread;   /* i32 */
    LLVMValueRef shared;
    LLVMValueRef axis[LLFI_RANK]; /* of the tile's first point */
    LLVMValueRef base, stride;    /* of its row axis 0; of the other axis: in the flattened space */
    LLVMValueRef extent[2];       /* of inner and other */
    LLVMValueRef turn;            /* of a loop over the pieces of single elements, i32; NULL: none */
    column *in, *out;
    uint32_t ins, outs;
} tiles;

/* One road. */
typedef struct {
    bool vectors;
    llfi_tiled_walk rows; /* by vectors, or by single elements: lane i of piece p is its p * width + i th */
    uint32_t pieces;      /* side by side */
} road;

static LLVMValueRef number32(const tiles *t, uint32_t x)
{
    return LLVMConstInt(t->s->emit.i32, x, 0);
}

static LLVMBasicBlockRef block(const tiles *t)
{
    return LLVMAppendBasicBlockInContext(t->s->emit.lx, t->s->function, "");
}

static LLVMValueRef special_register(llfi_emit *e, const char *name)
{
    return llfi_emit_call(e, name, NULL, NULL, 0);
}

static llf_dtype dtype_of(const tiles *t, uint32_t demand)
{
    return llfi_dtype_of(t->s->g, t->s->demands.at[demand].node);
}

static uint32_t bytes_of(const tiles *t, uint32_t demand)
{
    return llfi_dtypes[dtype_of(t, demand)].bytes;
}

static LLVMTypeRef memory_type(const tiles *t, uint32_t demand, uint32_t width)
{
    return llfi_emit_mem_type(&t->s->emit, dtype_of(t, demand), width);
}

/* i32 -> the type of indices */
static LLVMValueRef as_index(const tiles *t, LLVMValueRef x)
{
    return t->s->demands.space.narrow ? x : LLVMBuildZExt(t->s->emit.b, x, t->s->emit.i64, "");
}

static LLVMValueRef least(const tiles *t, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef lb = t->s->emit.b;
    return LLVMBuildSelect(lb, LLVMBuildICmp(lb, LLVMIntULT, a, b, ""), a, b, "");
}

/* ---- places: llfi_tiled_at and llfi_tiled_index as code */

static LLVMValueRef place(const tiles *t, const llfi_tiled_coord *c, uint32_t piece)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef sum = number32(t, piece * c->step);
    if (t->turn)
        sum = LLVMBuildAdd(b, LLVMBuildMul(b, t->turn, number32(t, t->p->width * c->step), ""), sum, "");
    for (int i = 0; i < 2; i++) {
        if (c->field[i].mask == 0)
            continue;
        LLVMValueRef x = LLVMBuildLShr(b, t->thread, number32(t, c->field[i].shift), "");
        x = LLVMBuildAnd(b, x, number32(t, c->field[i].mask), "");
        x = LLVMBuildMul(b, x, number32(t, c->field[i].scale), "");
        sum = LLVMBuildAdd(b, x, sum, "");
    }
    return sum;
}

static LLVMValueRef shared_index(const tiles *t, const llfi_tiled_layout *l, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef index = LLVMBuildAdd(b, LLVMBuildMul(b, x, number32(t, l->pitch), ""), y, "");
    if (l->chunk == 1)
        return index;
    LLVMValueRef by = LLVMBuildUDiv(b, index, number32(t, l->chunk << l->shift), "");
    by = LLVMBuildAnd(b, by, number32(t, 7), "");
    return LLVMBuildXor(b, index, LLVMBuildMul(b, by, number32(t, l->chunk), ""), "");
}

static LLVMValueRef shared_address(const tiles *t, const llfi_tiled_stage *g, LLVMValueRef index)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef at = LLVMBuildMul(b, index, number32(t, g->element), "");
    at = LLVMBuildAdd(b, at, number32(t, g->offset), "");
    return LLVMBuildGEP2(b, t->s->emit.i8, t->shared, &at, 1, "");
}

/* llfi_tiled_lane: of the element whose index and address are given. */
static LLVMValueRef shared_lane(const tiles *t, const llfi_tiled_stage *g, const llfi_tiled_layout *l,
                                LLVMValueRef index, LLVMValueRef address, uint32_t lane)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef by = number32(t, lane * l->pitch * g->element);
    if (l->chunk == 1 || l->pitch / l->chunk >= 8)
        return LLVMBuildGEP2(b, t->s->emit.i8, address, &by, 1, "");
    return shared_address(t, g, LLVMBuildXor(b, index, number32(t, lane * l->pitch), ""));
}

/* Do tiles end where the plane does? */
static bool fits(const tiles *t, int i)
{
    int64_t extent;
    llfi_dim d = t->s->demands.space.extent[i ? t->other : t->inner];
    return llfi_dim_is_const(t->s->g->dims, d, &extent) && extent % (i ? t->p->tile.y : t->p->tile.x) == 0;
}

/* The point at a place of the tile. `span`: the nearest one that has so many points of the plane along the
 * inner and the other axis; NULL: wherever it is. */
static llfi_tile point(const tiles *t, const llfi_tiled_walk *w, uint32_t piece, const uint32_t *span,
                       LLVMValueRef *axis)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef at[2] = {place(t, &w->x, piece), place(t, &w->y, piece)};
    const uint32_t of[2] = {t->inner, t->other};
    memcpy(axis, t->axis, sizeof t->axis);
    for (int i = 0; i < 2; i++) {
        at[i] = LLVMBuildAdd(b, t->axis[of[i]], as_index(t, at[i]), "");
        if (span && !fits(t, i)) {
            LLVMValueRef room = LLVMConstInt(LLVMTypeOf(at[i]), span[i], 0);
            at[i] = least(t, at[i], LLVMBuildSub(b, t->extent[i], room, ""));
        }
        axis[of[i]] = at[i];
    }
    LLVMValueRef first = LLVMBuildAdd(b, LLVMBuildMul(b, at[1], t->stride, ""), at[0], "");
    first = LLVMBuildAdd(b, t->base, first, "");
    if (t->s->demands.space.narrow)
        first = LLVMBuildZExt(b, first, t->s->emit.i64, "");
    llfi_index_forget(t->s);
    return (llfi_tile){.width = 1, .first = first, .axis = axis};
}

/* ---- loads */

/* A staged leaf's part of a road: a walk along y. */
static llfi_tiled_walk walk_of(const tiles *t, const road *r, const llfi_tiled_stage *g, uint32_t *width)
{
    *width = r->vectors ? g->vector : 1;
    llfi_tiled_walk w = llfi_tiled_columns(t->p, *width);
    if (!r->vectors)
        w.pieces = r->pieces * t->p->width;
    return w;
}

static llf_status bring(const tiles *t, const road *r, const llfi_tiled_stage *g, LLVMValueRef *piece)
{
    llfi_site *s = t->s;
    llf_id node = s->demands.at[g->demand].node;
    uint32_t width;
    llfi_tiled_walk w = walk_of(t, r, g, &width);
    for (uint32_t i = 0; i < w.pieces; i++) {
        LLVMValueRef axis[LLFI_RANK];
        llfi_tile tile = point(t, &w, i, (uint32_t[]){1, width}, axis);
        LLVMValueRef at = llfi_index_offset(s, g->demand, &tile, 0, false);
        if (!at)
            return s->emit.status;
        at = LLVMBuildGEP2(s->emit.b, memory_type(t, g->demand, 1), llfi_site_buffer(s, node), &at, 1, "");
        piece[i] = LLVMBuildLoad2(s->emit.b, memory_type(t, g->demand, width), at, "");
        LLVMSetAlignment(piece[i], width * g->element);
    }
    return LLF_OK;
}

static void put(const tiles *t, const road *r, const llfi_tiled_stage *g, const LLVMValueRef *piece)
{
    uint32_t width;
    llfi_tiled_walk w = walk_of(t, r, g, &width);
    const llfi_tiled_layout *l = r->vectors ? &g->vectors : &g->singles;
    for (uint32_t i = 0; i < w.pieces; i++) {
        LLVMValueRef at = shared_index(t, l, place(t, &w.x, i), place(t, &w.y, i));
        at = shared_address(t, g, at);
        LLVMSetAlignment(LLVMBuildStore(t->s->emit.b, piece[i], at), width * g->element);
    }
}

static LLVMValueRef insert(const tiles *t, LLVMValueRef vector, LLVMValueRef x, uint32_t lane)
{
    if (t->p->width == 1)
        return x;
    if (!vector)
        vector = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), t->p->width)); /* every lane is set */
    return LLVMBuildInsertElement(t->s->emit.b, vector, x, number32(t, lane), "");
}

/* Out of shared memory, along x: piece p. */
static void take(const tiles *t, const road *r, column *c, uint32_t p)
{
    LLVMBuilderRef b = t->s->emit.b;
    const llfi_tiled_layout *l = r->vectors ? &c->stage->vectors : &c->stage->singles;
    LLVMValueRef index = NULL, first = NULL, v = NULL;
    for (uint32_t i = 0; i < t->p->width; i++) {
        uint32_t piece = r->vectors ? p : p * t->p->width + i;
        if (i == 0 || !r->vectors) {
            index = shared_index(t, l, place(t, &r->rows.x, piece), place(t, &r->rows.y, piece));
            first = shared_address(t, c->stage, index);
        }
        LLVMValueRef at = r->vectors && i ? shared_lane(t, c->stage, l, index, first, i) : first;
        LLVMValueRef x = LLVMBuildLoad2(b, memory_type(t, c->demand, 1), at, "");
        LLVMSetAlignment(x, c->stage->element);
        v = insert(t, v, x, i);
    }
    c->piece[p] = v;
}

/* Leaves that are not staged, along x. */
static llf_status load_rows(const tiles *t, const road *r)
{
    llfi_site *s = t->s;
    uint32_t lanes = r->vectors ? 1 : t->p->width;
    for (uint32_t p = 0; p < r->pieces; p++)
        for (uint32_t i = 0; i < lanes; i++) {
            LLVMValueRef axis[LLFI_RANK];
            uint32_t width = t->p->width / lanes;
            llfi_tile tile = point(t, &r->rows, p * lanes + i, (uint32_t[]){width, 1}, axis);
            tile.width = width;
            tile.steps = tile.aligned = r->vectors;
            for (uint32_t c = 0; c < t->ins; c++) {
                if (t->in[c].stage)
                    continue;
                LLVMValueRef v = llfi_site_load(s, t->in[c].demand, &tile);
                if (!v)
                    return s->emit.status;
                t->in[c].piece[p] = lanes == 1 ? v : insert(t, i ? t->in[c].piece[p] : NULL, v, i);
            }
        }
    return LLF_OK;
}

static llf_status barrier(const tiles *t)
{
    llfi_emit *e = &t->s->emit;
    static const char name[] = "llvm.nvvm.barrier.cta.sync.aligned.all"; /* before LLVM 21: barrier0 */
    LLVMValueRef all = number32(t, 0);
    LLVMValueRef call = LLVMLookupIntrinsicID(name, sizeof name - 1)
                            ? llfi_emit_call(e, name, NULL, &all, 1)
                            : llfi_emit_call(e, "llvm.nvvm.barrier0", NULL, NULL, 0);
    return call ? LLF_OK : e->status;
}

/* Into shared memory; `between`: leaves that are not staged are loaded before the exchange. */
static llf_status stage(const tiles *t, const road *r, bool between)
{
    LLVMValueRef *piece = llfi_arena_alloc(t->s->arena, ((size_t)t->ins + 1) * PIECES * sizeof *piece);
    if (!piece)
        return llfi_nomem(t->s->emit.diag);
    for (uint32_t c = 0; c < t->ins; c++)
        if (t->in[c].stage)
            LLF_TRY(bring(t, r, t->in[c].stage, piece + c * PIECES));
    if (between)
        LLF_TRY(load_rows(t, r));
    for (uint32_t c = 0; c < t->ins; c++)
        if (t->in[c].stage)
            put(t, r, t->in[c].stage, piece + c * PIECES);
    return LLF_OK;
}

static void take_all(const tiles *t, const road *r)
{
    for (uint32_t c = 0; c < t->ins; c++)
        for (uint32_t p = 0; t->in[c].stage && p < r->pieces; p++)
            take(t, r, &t->in[c], p);
}

static llf_status load(const tiles *t, const road *r)
{
    LLF_TRY(stage(t, r, true));
    LLF_TRY(barrier(t));
    take_all(t, r);
    return LLF_OK;
}

/* ---- arithmetic and stores */

static llf_status compute(const tiles *t, uint32_t pieces)
{
    llfi_site *s = t->s;
    for (uint32_t p = 0; p < pieces; p++) {
        llfi_site_forget(s);
        s->emit.width = t->p->width;
        for (uint32_t c = 0; c < t->ins; c++)
            llfi_bind(s, t->in[c].demand,
                      llfi_emit_unpack(&s->emit, dtype_of(t, t->in[c].demand), t->in[c].piece[p]));
        llfi_tile tile = {.width = t->p->width};
        LLF_TRY(llfi_lower(s, &tile, s->demands.uniform, s->demands.count));
        for (uint32_t c = 0; c < t->outs; c++) {
            s->emit.width = t->p->width;
            t->out[c].piece[p] =
                llfi_emit_pack(&s->emit, dtype_of(t, t->out[c].demand), s->val[t->out[c].demand]);
        }
        LLF_TRY(s->emit.status);
    }
    return LLF_OK;
}

static void store_at(const tiles *t, const column *c, LLVMValueRef v, LLVMValueRef first, uint32_t width)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef base = llfi_site_buffer(t->s, t->s->demands.at[c->demand].node);
    LLVMValueRef at = LLVMBuildGEP2(b, memory_type(t, c->demand, 1), base, &first, 1, "");
    uint32_t bytes = bytes_of(t, c->demand) * width;
    LLVMSetAlignment(LLVMBuildStore(b, v, at), bytes < 16 ? bytes : 16);
}

static void store(const tiles *t, const road *r)
{
    LLVMBuilderRef b = t->s->emit.b;
    uint32_t lanes = r->vectors ? 1 : t->p->width, width = t->p->width / lanes;
    for (uint32_t i = 0; i < r->pieces * lanes; i++) {
        LLVMValueRef axis[LLFI_RANK], inside = NULL;
        llfi_tile tile = point(t, &r->rows, i, NULL, axis);
        for (int k = 0; k < 2; k++) {
            LLVMValueRef in = LLVMBuildICmp(b, LLVMIntULT, axis[k ? t->other : t->inner], t->extent[k], "");
            if (!fits(t, k))
                inside = inside ? LLVMBuildAnd(b, inside, in, "") : in;
        }
        LLVMBasicBlockRef write = inside ? block(t) : NULL, next = inside ? block(t) : NULL;
        if (inside) {
            LLVMBuildCondBr(b, inside, write, next);
            LLVMPositionBuilderAtEnd(b, write);
        }
        for (uint32_t c = 0; c < t->outs; c++) {
            LLVMValueRef v = t->out[c].piece[i / lanes];
            v = r->vectors ? v : llfi_emit_lane(&t->s->emit, v, i % lanes);
            store_at(t, &t->out[c], v, tile.first, width);
        }
        if (inside) {
            LLVMBuildBr(b, next);
            LLVMPositionBuilderAtEnd(b, next);
        }
    }
}

/* ---- the roads */

static road road_of(const tiles *t, bool vectors)
{
    return (road){vectors, vectors ? llfi_tiled_rows(t->p) : llfi_tiled_row_singles(t->p), t->pieces};
}

static llf_status vector_road(const tiles *t)
{
    const road r = road_of(t, true);
    LLF_TRY(load(t, &r));
    LLF_TRY(compute(t, r.pieces));
    store(t, &r);
    LLVMBuildRetVoid(t->s->emit.b);
    return LLF_OK;
}

/* A loop over the pieces: t->turn counts them. */
static LLVMBasicBlockRef loop_begin(tiles *t)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = block(t);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef zero = number32(t, 0);
    t->turn = LLVMBuildPhi(b, t->s->emit.i32, "");
    LLVMAddIncoming(t->turn, &zero, &before, 1);
    return head;
}

static void loop_end(tiles *t, LLVMBasicBlockRef head)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMBasicBlockRef after = block(t), latch = LLVMGetInsertBlock(b);
    LLVMValueRef next = LLVMBuildAdd(b, t->turn, number32(t, 1), "");
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, next, number32(t, t->pieces), "");
    llfi_emit_keep_loop(&t->s->emit, LLVMBuildCondBr(b, more, head, after));
    LLVMAddIncoming(t->turn, &next, &latch, 1);
    LLVMPositionBuilderAtEnd(b, after);
    t->turn = NULL;
}

/* The rarer road, in short code. */
static llf_status single_road(tiles *t)
{
    road r = road_of(t, false);
    r.pieces = 1;
    LLVMBasicBlockRef head = loop_begin(t);
    LLF_TRY(stage(t, &r, false));
    loop_end(t, head);
    LLF_TRY(barrier(t));
    head = loop_begin(t);
    LLF_TRY(load_rows(t, &r));
    take_all(t, &r);
    LLF_TRY(compute(t, r.pieces));
    store(t, &r);
    loop_end(t, head);
    LLVMBuildRetVoid(t->s->emit.b);
    return LLF_OK;
}

/* Loads by one of two roads, arithmetic once, stores by the same road. */
static llf_status joined_roads(const tiles *t, LLVMValueRef vectors, LLVMBasicBlockRef *start)
{
    llfi_emit *e = &t->s->emit;
    LLVMBasicBlockRef end[2], both = block(t), leave[2] = {block(t), block(t)};
    LLVMValueRef *old = llfi_arena_alloc(t->s->arena, ((size_t)t->ins + 1) * PIECES * sizeof *old);
    if (!old)
        return llfi_nomem(e->diag);
    for (int i = 0; i < 2; i++) {
        const road r = road_of(t, i == 0);
        LLVMPositionBuilderAtEnd(e->b, start[i]);
        LLF_TRY(load(t, &r));
        LLVMBuildBr(e->b, both);
        end[i] = LLVMGetInsertBlock(e->b);
        for (uint32_t c = 0; i == 0 && c < t->ins; c++)
            memcpy(old + c * PIECES, t->in[c].piece, sizeof t->in[c].piece);
    }
    LLVMPositionBuilderAtEnd(e->b, both);
    for (uint32_t c = 0; c < t->ins; c++)
        for (uint32_t p = 0; p < t->pieces; p++) {
            LLVMValueRef phi = LLVMBuildPhi(e->b, memory_type(t, t->in[c].demand, t->p->width), "");
            LLVMAddIncoming(phi, (LLVMValueRef[]){old[c * PIECES + p], t->in[c].piece[p]}, end, 2);
            t->in[c].piece[p] = phi;
        }
    LLF_TRY(compute(t, t->pieces));
    LLVMBuildCondBr(e->b, vectors, leave[0], leave[1]);
    for (int i = 0; i < 2; i++) {
        const road r = road_of(t, i == 0);
        LLVMPositionBuilderAtEnd(e->b, leave[i]);
        store(t, &r);
        LLVMBuildRetVoid(e->b);
    }
    return LLF_OK;
}

/* ---- the tile of a block */

static LLVMValueRef launch_value(const tiles *t, uint32_t value, LLVMTypeRef type)
{
    LLVMValueRef x = llfi_pointwise_dim(t->s, value);
    return type == t->s->emit.i64 ? x : LLVMBuildTrunc(t->s->emit.b, x, type, "");
}

/* Tiles along an axis, i32: fewer than 2^31 where there is a block at all. */
static LLVMValueRef tiles_along(const tiles *t, uint32_t axis, uint32_t side, uint32_t value)
{
    int64_t extent;
    if (llfi_dim_is_const(t->s->g->dims, t->s->demands.space.extent[axis], &extent))
        return number32(t, (uint32_t)(extent / side + (extent % side != 0)));
    return launch_value(t, value, t->s->emit.i32);
}

static LLVMValueRef digit(const tiles *t, LLVMValueRef *rest, LLVMValueRef of)
{
    LLVMBuilderRef b = t->s->emit.b;
    LLVMValueRef q = LLVMBuildUDiv(b, *rest, of, "");
    LLVMValueRef d = LLVMBuildSub(b, *rest, LLVMBuildMul(b, q, of, ""), "");
    *rest = q;
    return d;
}

/* Fills axis, base, stride and extent. Extents of axes that are divided by fit 31 bits, since the blocks do.
 */
static void find_tile(tiles *t, LLVMValueRef index)
{
    llfi_site *s = t->s;
    LLVMBuilderRef b = s->emit.b;
    const llfi_space *space = &s->demands.space;
    LLVMTypeRef type = llfi_index_type(s);
    LLVMValueRef across = digit(t, &index, tiles_along(t, t->inner, t->p->tile.x, LLFI_TILED_COLUMNS));
    LLVMValueRef down = digit(t, &index, tiles_along(t, t->other, t->p->tile.y, LLFI_TILED_ROWS));
    LLVMValueRef stride = LLVMConstInt(type, 1, 0);
    uint32_t outermost = t->other == 0;
    int64_t constant;
    t->base = LLVMConstInt(type, 0, 0);
    for (uint32_t k = space->axes; k-- > 0;) {
        bool first = k == 0 && !llfi_dim_is_const(s->g->dims, space->extent[0], &constant);
        LLVMValueRef extent = !first          ? llfi_index_dim(s, space->extent[k])
                              : t->other == 0 ? launch_value(t, LLFI_TILED_EXTENT, type)
                                              : NULL; /* not needed */
        if (k == t->inner) {
            t->axis[k] = LLVMBuildMul(b, as_index(t, across), LLVMConstInt(type, t->p->tile.x, 0), "");
            t->extent[0] = extent;
        } else if (k == t->other) {
            t->axis[k] = LLVMBuildMul(b, as_index(t, down), LLVMConstInt(type, t->p->tile.y, 0), "");
            t->extent[1] = extent;
            t->stride = stride;
        } else {
            LLVMValueRef x = index;
            if (k > outermost)
                x = digit(t, &index, space->narrow ? extent : LLVMBuildTrunc(b, extent, s->emit.i32, ""));
            t->axis[k] = as_index(t, x);
            t->base = LLVMBuildAdd(b, t->base, LLVMBuildMul(b, t->axis[k], stride, ""), "");
        }
        if (k > 0)
            stride = LLVMBuildMul(b, stride, extent, "");
    }
}

/* May vectors be used? The same for all blocks. NULL: never. */
static LLVMValueRef by_vectors(const tiles *t)
{
    int64_t x;
    llfi_dim extent = t->s->demands.space.extent[t->inner];
    if (t->p->width == 1 || (llfi_dim_is_const(t->s->g->dims, extent, &x) && x % t->p->width))
        return NULL;
    LLVMValueRef zero = LLVMConstInt(t->s->emit.i64, 0, 0);
    return LLVMBuildICmp(t->s->emit.b, LLVMIntNE, llfi_pointwise_dim(t->s, LLFI_TILED_VECTORS), zero, "");
}

/* Leaves of scope 1, which are buffers, and the distinct stores. */
static llf_status columns(tiles *t)
{
    const llfi_demands *list = &t->s->demands;
    llfi_arena *arena = t->s->arena;
    llfi_tiled_stage *stage = llfi_arena_alloc(arena, ((size_t)list->count + 1) * sizeof *stage);
    t->in = llfi_arena_alloc(arena, ((size_t)list->count + t->s->kernel->stores + 1) * sizeof *t->in);
    if (!stage || !t->in)
        return llfi_nomem(t->s->emit.diag);
    uint32_t shared, stages = llfi_tiled_stages(t->s->g, list, t->p, stage, &shared);
    for (uint32_t i = list->uniform, k = 0; i < list->count; i++)
        if (list->at[i].leaf) {
            bool staged = k < stages && stage[k].demand == i;
            t->in[t->ins++] = (column){.demand = i, .stage = staged ? &stage[k++] : NULL};
        }
    t->out = t->in + t->ins;
    for (uint32_t i = 0; i < t->s->kernel->stores; i++)
        t->out[t->outs++] = (column){.demand = list->store[i]};
    t->shared =
        LLVMAddGlobalInAddressSpace(t->s->emit.module, LLVMArrayType2(t->s->emit.i8, shared), "llf_tile", 3);
    LLVMSetInitializer(t->shared, LLVMGetUndef(LLVMArrayType2(t->s->emit.i8, shared)));
    LLVMSetLinkage(t->shared, LLVMInternalLinkage);
    LLVMSetAlignment(t->shared, 16);
    return LLF_OK;
}

static llf_status emit(llfi_site *s)
{
    LLVMBuilderRef b = s->emit.b;
    const llfi_schedule *p = s->schedule;
    tiles t = {.s = s, .p = p, .inner = s->demands.space.axes - 1, .other = p->tile.axis};
    t.pieces = p->tile.x * p->tile.y / (p->threads * p->width);
    if (t.pieces * p->width > PIECES || t.pieces == 0)
        return llfi_fail(s->emit.diag, LLF_E_INTERNAL, "%u pieces of a tile", t.pieces);
    LLF_TRY(columns(&t));
    t.thread = special_register(&s->emit, "llvm.nvvm.read.ptx.sreg.tid.x");
    LLVMValueRef index = special_register(&s->emit, "llvm.nvvm.read.ptx.sreg.ctaid.x");
    if (!t.thread || !index)
        return s->emit.status;
    find_tile(&t, index);
    LLVMValueRef vectors = by_vectors(&t);
    if (!vectors)
        return single_road(&t);
    LLVMBasicBlockRef start[2] = {block(&t), block(&t)};
    LLVMBuildCondBr(b, vectors, start[0], start[1]);
    if (p->cost * p->width * t.pieces > JOIN_COST)
        return joined_roads(&t, vectors, start);
    LLVMPositionBuilderAtEnd(b, start[0]);
    LLF_TRY(vector_road(&t));
    LLVMPositionBuilderAtEnd(b, start[1]);
    return single_road(&t);
}

static llfi_hint load_hint(const llfi_schedule *s)
{
    (void)s;
    return LLFI_HINT_LAST;
}

const llfi_skeleton llfi_skeleton_tiled_nvptx = {.name = "tiled",
                                                 .prefix = "tra",
                                                 .match = llfi_tiled_match,
                                                 .plan = llfi_tiled_plan,
                                                 .emit = emit,
                                                 .launch = llfi_tiled_launch,
                                                 .load_hint = load_hint};
