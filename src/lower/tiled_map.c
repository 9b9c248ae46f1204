/* tiled_map.c: which thread takes which points of a tile, where they lie in shared memory, and how large the
 * tile is. Integers only; every size is a power of two.
 *
 * Shared memory has 32 banks of 4 bytes; a warp's access is free of conflicts when its lanes touch different
 * banks, or the same word. 16 bytes a lane go in four turns of eight lanes, 8 bytes in two of sixteen.
 * - Vectors. Rows along y hold chunks of 16 bytes; the chunk numbered q = x * (y extent / chunk) + y / chunk
 *   lies at q ^ (q / 2^shift & 7), where q / 2^shift = x / width. Stores: eight neighbouring lanes take eight
 *   neighbouring q, which the exchange permutes within their 128 bytes. Loads: a warp takes eight vectors
 *   along x by four y: x = width * i + lane for i = 0 ... 7. The eight have eight different low bits in place
 *   of their chunks, and the four y are different words of a chunk (or halves of one).
 * - Single elements. Rows along y padded to an odd number of words: lanes along y are neighbours, lanes along
 *   x are odd multiples of a word apart. */
#include "lower/tiled.h"

#define THREADS 256u
#define WARP 32u
#define LINE 128u /* bytes */
#define PIECES 4u
#define POINTS 16u      /* most of a thread */
#define BODY_COST 512u  /* most estimated instructions of a thread, as in pointwise_nvptx.c */
#define HELD_BYTES 256u /* most of a thread's loaded or stored elements: 64 registers */
#define SIDE 4          /* least extents of the plane, where constant */
#define OTHER_SIDE 3
#define PLANE 256 /* least points of a plane */

static uint32_t log2_of(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}

uint32_t llfi_tiled_at(const llfi_tiled_coord *c, uint32_t thread, uint32_t piece)
{
    uint32_t sum = piece * c->step;
    for (int i = 0; i < 2; i++)
        sum += (thread >> c->field[i].shift & c->field[i].mask) * c->field[i].scale;
    return sum;
}

uint32_t llfi_tiled_index(const llfi_tiled_layout *l, uint32_t x, uint32_t y)
{
    uint32_t index = x * l->pitch + y, chunk = index / l->chunk;
    return l->chunk == 1 ? index : (chunk ^ (chunk >> l->shift & 7)) * l->chunk + index % l->chunk;
}

/* The exchange does not depend on the lane. Rows of eight chunks or more: it does not reach the row either.
 */
uint32_t llfi_tiled_lane(const llfi_tiled_layout *l, uint32_t index, uint32_t lane)
{
    return l->chunk == 1 || l->pitch / l->chunk >= 8 ? index + lane * l->pitch : index ^ lane * l->pitch;
}

llfi_tiled_walk llfi_tiled_rows(const llfi_schedule *s)
{
    uint32_t across = s->tile.lanes, down = WARP / across, warps = s->threads / WARP;
    uint32_t warps_across = s->tile.x / (s->width * across), warps_down = warps / warps_across;
    return (llfi_tiled_walk){
        .x = {{{0, across - 1, s->width}, {log2_of(WARP), warps_across - 1, across * s->width}}, 0},
        .y = {{{log2_of(across), down - 1, 1}, {log2_of(WARP * warps_across), warps_down - 1, down}},
              warps_down * down},
        .pieces = s->tile.y / (warps_down * down)};
}

/* Lanes along `inner` first; the rest of the threads, then the pieces, along the other. */
static llfi_tiled_walk plain(const llfi_schedule *s, uint32_t inner, uint32_t outer, uint32_t vector,
                             bool inner_is_y)
{
    uint32_t lanes = inner / vector, down = s->threads / lanes;
    llfi_tiled_coord along = {{{0, lanes - 1, vector}, {0, 0, 0}}, 0};
    llfi_tiled_coord across = {{{log2_of(lanes), down - 1, 1}, {0, 0, 0}}, down};
    return (llfi_tiled_walk){
        .x = inner_is_y ? across : along, .y = inner_is_y ? along : across, .pieces = outer / down};
}

llfi_tiled_walk llfi_tiled_row_singles(const llfi_schedule *s)
{
    return plain(s, s->tile.x, s->tile.y, 1, false);
}

llfi_tiled_walk llfi_tiled_columns(const llfi_schedule *s, uint32_t vector)
{
    return plain(s, s->tile.y, s->tile.x, vector, true);
}

llfi_tiled_layout llfi_tiled_padded(const llfi_schedule *s, uint32_t element)
{
    return (llfi_tiled_layout){.pitch = s->tile.y + (element < 4 ? 4 / element : 1), .chunk = 1};
}

llfi_tiled_layout llfi_tiled_swizzled(const llfi_schedule *s, uint32_t vector)
{
    return (llfi_tiled_layout){
        .pitch = s->tile.y, .chunk = vector, .shift = log2_of(s->tile.y / vector) + log2_of(s->width)};
}

/* A power of two that covers the extent, at least 4; no bound where it is not known. */
static uint32_t side_of(int64_t extent)
{
    uint32_t side = SIDE;
    while (side < THREADS && (extent == 0 || side < extent))
        side *= 2;
    return side;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Eight vectors, or a line of memory; more where the tile is so flat that it has no rows for the others. */
static uint32_t lanes_of(const llfi_schedule *s, uint32_t least)
{
    uint32_t lanes = 8, most = s->tile.x / s->width, pieces = s->tile.x * s->tile.y / (s->threads * s->width);
    while (lanes < WARP && (lanes * s->width * least < LINE || lanes * s->tile.y < WARP * pieces))
        lanes *= 2;
    return least_of(lanes, most);
}

bool llfi_tiled_choose(const llfi_tiled_wish *w, llfi_schedule *s)
{
    if ((w->x && w->x < SIDE) || (w->y && w->y < OTHER_SIDE) ||
        (w->x && w->y && w->x < PLANE && w->x * w->y < PLANE))
        return false;
    uint32_t width = least_of(16 / w->least, 8), pieces = PIECES, most_x = side_of(w->x),
             most_y = side_of(w->y);
    while (width > 1 && (width * w->most > 32 || width * w->cost > BODY_COST ||
                         width * w->held > HELD_BYTES || width > most_x))
        width /= 2;
    while (pieces > 1 && (width * pieces > POINTS || width * pieces * w->cost > BODY_COST ||
                          width * pieces * w->held > HELD_BYTES))
        pieces /= 2;
    uint32_t threads = THREADS, area = threads * width * pieces, x = 1, y = 1;
    while (x * y < area)
        *(x <= y ? &x : &y) *= 2;
    x = least_of(x, most_x);
    y = least_of(least_of(area / x, most_y), THREADS);
    x = least_of(least_of(area / y, most_x), THREADS);
    while (threads * width * pieces > x * y)
        *(pieces > 1 ? &pieces : &threads) /= 2;
    for (; threads < x || threads < y || threads < WARP; threads *= 2)
        width /= 2;
    s->threads = threads;
    s->width = s->slice = width;
    s->tile.x = x;
    s->tile.y = y;
    s->tile.lanes = lanes_of(s, w->least);
    s->tile.full = x * y / threads * w->held > HELD_BYTES / 2;
    return true;
}
