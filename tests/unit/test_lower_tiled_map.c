/* The arithmetic of tiles, for every tile that is ever chosen: each walk meets every point once, places in
 * shared memory are different and within bounds, neighbouring threads touch neighbouring memory, warps do not
 * collide in banks; and the grid. */
#include "lower_graph.h"

#include "lower/tiled.h"

#define BANKS 32u

typedef struct {
    llfi_schedule s;
    llfi_tiled_wish w;
} chosen;

/* Calls `f` for the tiles of many kernels; how many. */
static uint32_t every_tile(void (*f)(const chosen *))
{
    static const int64_t extents[] = {0, 3, 4, 5, 8, 17, 32, 48, 100, 200, 256, 8192};
    static const uint32_t bytes[] = {1, 2, 4, 8}, held[] = {2, 8, 24, 64}, costs[] = {1, 70, 600};
    uint32_t tiles = 0;
    for (size_t x = 0; x < LLFI_COUNT(extents); x++)
        for (size_t y = 0; y < LLFI_COUNT(extents); y++)
            for (size_t b = 0; b < LLFI_COUNT(bytes); b++)
                for (size_t m = b; m < LLFI_COUNT(bytes); m++)
                    for (size_t h = 0; h < LLFI_COUNT(held); h++)
                        for (size_t c = 0; c < LLFI_COUNT(costs); c++) {
                            chosen t = {.w = {.least = bytes[b],
                                              .most = bytes[m],
                                              .held = held[h],
                                              .cost = costs[c],
                                              .x = extents[x],
                                              .y = extents[y]}};
                            if (!llfi_tiled_choose(&t.w, &t.s))
                                continue;
                            f(&t);
                            tiles++;
                        }
    return tiles;
}

static uint32_t pieces_of(const llfi_schedule *s)
{
    return s->tile.x * s->tile.y / (s->threads * s->width);
}

static void is_sane(const chosen *t)
{
    const llfi_schedule *s = &t->s;
    assert_true(s->threads >= 32 && s->threads <= 256 && (s->threads & (s->threads - 1)) == 0);
    assert_true(s->tile.x <= s->threads && s->tile.y <= s->threads);
    assert_true(s->tile.x >= 4 && s->tile.y >= 4 && s->width <= s->tile.x);
    assert_int_equal(s->threads * s->width * pieces_of(s), s->tile.x * s->tile.y);
    assert_true(pieces_of(s) * s->width <= 16);
    if (s->width > 1) {
        assert_true(s->width * t->w.most <= 32 && s->width * t->w.held <= 256);
        assert_true(s->width * pieces_of(s) * t->w.cost <= 512 || pieces_of(s) == 1);
    }
    if (t->w.x) /* not more than twice what there is */
        assert_true(s->tile.x < 2 * t->w.x || s->tile.x == 4);
    if (t->w.y)
        assert_true(s->tile.y < 2 * t->w.y || s->tile.y == 4);
}

static void tiles_are_sane(void **state)
{
    (void)state;
    assert_true(every_tile(is_sane) > 5000);
}

/* Every point of the tile once, in runs of `along_x` by `along_y`. */
static void covers(const llfi_schedule *s, const llfi_tiled_walk *w, uint32_t along_x, uint32_t along_y)
{
    static unsigned char met[256 * 256];
    memset(met, 0, sizeof met);
    for (uint32_t t = 0; t < s->threads; t++)
        for (uint32_t p = 0; p < w->pieces; p++) {
            uint32_t x = llfi_tiled_at(&w->x, t, p), y = llfi_tiled_at(&w->y, t, p);
            assert_true(x % along_x == 0 && y % along_y == 0);
            for (uint32_t i = 0; i < along_x; i++)
                for (uint32_t k = 0; k < along_y; k++) {
                    assert_true(x + i < s->tile.x && y + k < s->tile.y);
                    assert_int_equal(met[(x + i) * 256 + y + k]++, 0);
                }
        }
    assert_int_equal(s->threads * w->pieces * along_x * along_y, s->tile.x * s->tile.y);
}

static uint32_t vector_of(const llfi_schedule *s, uint32_t element)
{
    uint32_t vector = 16 / element < 8 ? 16 / element : 8;
    while (vector > s->width * pieces_of(s) || vector > s->tile.y)
        vector /= 2;
    return vector;
}

static void walks(const chosen *t)
{
    const llfi_schedule *s = &t->s;
    llfi_tiled_walk w = llfi_tiled_rows(s);
    covers(s, &w, s->width, 1);
    assert_int_equal(w.pieces, pieces_of(s));
    w = llfi_tiled_row_singles(s);
    covers(s, &w, 1, 1);
    for (uint32_t element = 1; element <= 8; element *= 2) {
        uint32_t vector = vector_of(s, element);
        w = llfi_tiled_columns(s, vector);
        covers(s, &w, 1, vector);
    }
}

static void walks_meet_every_point_once(void **state)
{
    (void)state;
    every_tile(walks);
}

static void distinct(const llfi_schedule *s, const llfi_tiled_layout *l, uint32_t points)
{
    static unsigned char met[65536];
    memset(met, 0, sizeof met);
    for (uint32_t x = 0; x < s->tile.x; x++)
        for (uint32_t y = 0; y < s->tile.y; y++) {
            uint32_t at = llfi_tiled_index(l, x, y);
            assert_true(at < points);
            assert_int_equal(met[at]++, 0);
            if (l->chunk > 1 && y % l->chunk) /* chunks stay whole */
                assert_int_equal(at, llfi_tiled_index(l, x, y - 1) + 1);
            uint32_t lane = x % s->width;
            assert_int_equal(at, llfi_tiled_lane(l, llfi_tiled_index(l, x - lane, y), lane));
        }
}

static void places(const chosen *t)
{
    for (uint32_t element = 1; element <= 8; element *= 2) {
        llfi_tiled_layout padded = llfi_tiled_padded(&t->s, element);
        uint32_t vector = vector_of(&t->s, element);
        distinct(&t->s, &padded, t->s.tile.x * padded.pitch);
        if (vector == 1)
            continue;
        llfi_tiled_layout swizzled = llfi_tiled_swizzled(&t->s, vector);
        distinct(&t->s, &swizzled, t->s.tile.x * t->s.tile.y);
    }
}

static void places_are_distinct(void **state)
{
    (void)state;
    every_tile(places);
}

/* The most words of one bank that a group of lanes wants at once. */
static uint32_t conflicts(const uint32_t *byte, uint32_t lanes, uint32_t bytes)
{
    uint32_t worst = 0, group = bytes <= 4 ? 32 : 128 / bytes;
    for (uint32_t g = 0; g < lanes; g += group)
        for (uint32_t bank = 0; bank < BANKS; bank++) {
            uint32_t words = 0, word[64];
            for (uint32_t i = g; i < g + group && i < lanes; i++)
                for (uint32_t b = 0; b < (bytes < 4 ? 4 : bytes); b += 4) {
                    uint32_t at = (byte[i] + b) / 4, k = 0;
                    if (at % BANKS != bank)
                        continue;
                    while (k < words && word[k] != at)
                        k++;
                    if (k == words)
                        word[words++] = at;
                }
            worst = worst > words ? worst : words;
        }
    return worst;
}

/* Of the accesses of every warp and piece, by vectors (`chunk` elements in, one out) or single elements. */
static uint32_t worst_in(const llfi_schedule *s, const llfi_tiled_layout *l, const llfi_tiled_walk *w,
                         uint32_t element, uint32_t elements, uint32_t lane)
{
    uint32_t worst = 0, byte[32];
    for (uint32_t warp = 0; warp < s->threads; warp += 32)
        for (uint32_t p = 0; p < w->pieces; p++) {
            for (uint32_t i = 0; i < 32; i++) {
                uint32_t x = llfi_tiled_at(&w->x, warp + i, p), y = llfi_tiled_at(&w->y, warp + i, p);
                byte[i] = llfi_tiled_lane(l, llfi_tiled_index(l, x, y), lane) * element;
            }
            uint32_t c = conflicts(byte, 32, elements * element);
            worst = worst > c ? worst : c;
        }
    return worst;
}

/* Tiles of full size, as large kernels have: no conflict on the road of vectors, on either side; none for
 * single elements but in 8 or 16 bits, where lanes share words. */
static void full_tiles_have_no_bank_conflicts(void **state)
{
    (void)state;
    const struct {
        uint32_t bytes, width;
    } all[] = {{4, 4}, {2, 8}, {8, 2}};
    for (size_t i = 0; i < LLFI_COUNT(all); i++) {
        llfi_schedule s = {0};
        uint32_t e = all[i].bytes;
        assert_true(
            llfi_tiled_choose(&(llfi_tiled_wish){.least = e, .most = e, .held = 2 * e, .cost = 1}, &s));
        assert_int_equal(s.width, all[i].width);
        assert_true(s.tile.x * e >= 128 && s.tile.y * e >= 128); /* whole lines on both sides */
        uint32_t vector = vector_of(&s, e);
        llfi_tiled_layout l = llfi_tiled_swizzled(&s, vector), padded = llfi_tiled_padded(&s, e);
        llfi_tiled_walk rows = llfi_tiled_rows(&s), columns = llfi_tiled_columns(&s, vector),
                        singles = llfi_tiled_row_singles(&s), column_singles = llfi_tiled_columns(&s, 1);
        assert_int_equal(vector * e, 16);
        assert_int_equal(worst_in(&s, &l, &columns, e, vector, 0), 1);
        for (uint32_t lane = 0; lane < s.width; lane++)
            assert_int_equal(worst_in(&s, &l, &rows, e, 1, lane), 1);
        assert_int_equal(worst_in(&s, &padded, &singles, e, 1, 0), 1);
        assert_int_equal(worst_in(&s, &padded, &column_singles, e, 1, 0), 1);
    }
}

/* Flat tiles too, of 4-byte elements, where eight vectors lie side by side. */
static void flat_tiles(const chosen *t)
{
    const llfi_schedule *s = &t->s;
    if (t->w.least != 4 || s->width != 4 || t->w.held > 8)
        return;
    uint32_t vector = vector_of(s, 4);
    if (vector < 4)
        return;
    llfi_tiled_layout l = llfi_tiled_swizzled(s, vector);
    llfi_tiled_walk rows = llfi_tiled_rows(s), columns = llfi_tiled_columns(s, vector);
    assert_int_equal(worst_in(s, &l, &columns, 4, vector, 0), 1);
    for (uint32_t lane = 0; lane < s->width; lane++)
        assert_true(worst_in(s, &l, &rows, 4, 1, lane) <= (s->tile.x >= 32 ? 1 : 4));
}

static void flat_tiles_have_no_bank_conflicts(void **state)
{
    (void)state;
    every_tile(flat_tiles);
}

/* ---- the grid */

static llf_status launch(int64_t x, int64_t y, int64_t rest, uintptr_t address, llfi_launch *l)
{
    llfi_arg arg[] = {{.kind = LLFI_ARG_BUFFER, .vector = true}};
    uint32_t multiple[] = {1};
    llfi_schedule s = {.arg = arg,
                       .args = 1,
                       .inner = 1,
                       .multiple = multiple,
                       .multiples = 1,
                       .threads = 256,
                       .width = 4,
                       .vector_align = 16,
                       .tile = {.x = 64, .y = 32, .extent = 2, .align = 8}};
    int64_t n, extent[3] = {0, x, y};
    if (__builtin_mul_overflow(x, y, &n) || __builtin_mul_overflow(n, rest, &n))
        return LLF_E_LIMIT;
    extent[0] = n;
    const void *data[] = {(const void *)address};
    *l = (llfi_launch){.extent = extent, .data = data};
    return llfi_tiled_launch(&s, l);
}

static void grids(void **state)
{
    (void)state;
    const struct {
        int64_t x, y, rest;
        uintptr_t address;
        uint32_t blocks;
        bool vectors;
    } want[] = {{64, 32, 1, 64, 1, true},         {65, 32, 1, 64, 2, false},
                {64, 33, 3, 64, 6, false},        {72, 40, 1, 64, 4, true},
                {72, 40, 1, 72, 4, false},        {68, 40, 1, 64, 4, false},
                {72, 36, 1, 64, 4, false},        {0, 40, 1, 64, 0, true},
                {40, 0, 7, 64, 0, true},          {1, 1, 1, 64, 1, false},
                {8192, 8192, 1, 64, 32768, true}, {64, 32, 0x7fffffff, 64, 0x7fffffff, true}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        llfi_launch l;
        assert_int_equal(launch(want[i].x, want[i].y, want[i].rest, want[i].address, &l), LLF_OK);
        assert_int_equal(l.grid[0], want[i].blocks);
        assert_int_equal(l.grid[1] * l.grid[2], 1);
        assert_int_equal(l.block[0], 256);
        assert_int_equal(l.value[LLFI_TILED_VECTORS], want[i].vectors);
        assert_int_equal(l.value[LLFI_TILED_COLUMNS], (want[i].x + 63) / 64);
        assert_int_equal(l.value[LLFI_TILED_ROWS], (want[i].y + 31) / 32);
        assert_int_equal(l.value[LLFI_TILED_EXTENT], want[i].y);
    }
    llfi_launch l;
    assert_int_equal(launch(64, 32, INT64_C(0x80000000), 64, &l), LLF_E_LIMIT);
    assert_int_equal(launch(INT64_C(1) << 40, 1, 1 << 20, 64, &l), LLF_E_LIMIT);
    assert_int_equal(launch(1, 1, INT64_MAX, 64, &l), LLF_E_LIMIT);
    assert_int_equal(launch(-1, 1, 1, 64, &l), LLF_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_sane),
        cmocka_unit_test(walks_meet_every_point_once),
        cmocka_unit_test(places_are_distinct),
        cmocka_unit_test(full_tiles_have_no_bank_conflicts),
        cmocka_unit_test(flat_tiles_have_no_bank_conflicts),
        cmocka_unit_test(grids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
