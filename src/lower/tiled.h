/* tiled.h: a plane of the iteration space in tiles, for kernels with leaves whose neighbours lie along
 * another axis than the innermost one. One block of threads takes a tile of x points along the innermost axis
 * by y points along the other; such leaves come in along y, are staged in shared memory and go on along x.
 * Here is the arithmetic of places, free of LLVM, that the emitter follows and tests check. */
#ifndef LLFI_TILED_H
#define LLFI_TILED_H

#include "lower/demand.h"
#include "schedule/schedule.h"

/* A coordinate within the tile: the sum of two bit fields of the thread's number, scaled, and a step for each
 * further piece of the thread's. */
typedef struct {
    struct {
        uint32_t shift, mask, scale;
    } field[2];
    uint32_t step;
} llfi_tiled_coord;

/* The pieces that a thread takes in turn. */
typedef struct {
    llfi_tiled_coord x, y;
    uint32_t pieces;
} llfi_tiled_walk;

/* Where the element (x, y) of a staged tile lies. chunk 1: rows along y, padded to an odd number of words.
 * Larger: rows without padding; chunks of `chunk` elements change places within groups of eight. */
typedef struct {
    uint32_t pitch, chunk;
    uint32_t shift; /* of the number that places are exclusive-ored with */
} llfi_tiled_layout;

/* A leaf that is staged. */
typedef struct {
    uint32_t demand;
    uint32_t element;                   /* bytes */
    uint32_t vector;                    /* elements along y loaded at once; 1: one by one */
    uint32_t offset;                    /* of its tile in shared memory, bytes */
    llfi_tiled_layout vectors, singles; /* layout when it is loaded by vectors; by single elements */
} llfi_tiled_stage;

uint32_t llfi_tiled_at(const llfi_tiled_coord *, uint32_t thread, uint32_t piece);
uint32_t llfi_tiled_index(const llfi_tiled_layout *, uint32_t x, uint32_t y);
/* Index of (x + lane, y) from that of (x, y), x a multiple of the schedule's width. */
uint32_t llfi_tiled_lane(const llfi_tiled_layout *, uint32_t index, uint32_t lane);

/* Vectors of `width` elements along x, and single elements along x: that many of either make the tile. */
llfi_tiled_walk llfi_tiled_rows(const llfi_schedule *);
llfi_tiled_walk llfi_tiled_row_singles(const llfi_schedule *);
/* The same along y; vector 1: single elements. */
llfi_tiled_walk llfi_tiled_columns(const llfi_schedule *, uint32_t vector);

llfi_tiled_layout llfi_tiled_padded(const llfi_schedule *, uint32_t element);
llfi_tiled_layout llfi_tiled_swizzled(const llfi_schedule *, uint32_t vector);

/* Bytes per point of what a thread holds, and instructions, that a tile is chosen by. extent: of the two axes
 * where they are constants, else 0. Fills threads, width, slice and tile; false: too small to be worth it. */
typedef struct {
    uint32_t least, most, held, cost;
    int64_t x, y;
} llfi_tiled_wish;
bool llfi_tiled_choose(const llfi_tiled_wish *, llfi_schedule *);

/* tiled_plan.c: may a kernel have leaves that want tiles? */
bool llfi_tiled_match(const llf_graph *, const llfi_kernel *, const llfi_target *, llfi_why *);
/* The axis along which most bytes of such leaves lie; the innermost: none. */
uint32_t llfi_tiled_axis(const llf_graph *, const llfi_demands *);
/* Puts the other axis's extent behind those that arguments refer to. */
llf_status llfi_tiled_extent(const llfi_demands *, llfi_arena *, llfi_schedule *);
/* The leaves that a schedule with a tile stages; `most` of them have room in `stage`. */
uint32_t llfi_tiled_stages(const llf_graph *, const llfi_demands *, const llfi_schedule *,
                           llfi_tiled_stage *stage, uint32_t *shared_bytes);
llf_status llfi_tiled_plan(llf_graph *, const llfi_kernel *, const llfi_target *, llfi_arena *,
                           llfi_schedule *);
llf_status llfi_tiled_launch(const llfi_schedule *, llfi_launch *);
enum {
    LLFI_TILED_COLUMNS, /* tiles along x */
    LLFI_TILED_ROWS,    /* tiles along y */
    LLFI_TILED_VECTORS, /* 1: tiles may be accessed by vectors; else 0 */
    LLFI_TILED_EXTENT,  /* y's extent */
    LLFI_TILED_VALUES
};

#endif
