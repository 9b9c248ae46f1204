/* The bytes that kernels have to move, counted by hand, and the mix of reads and writes that their ceiling
 * has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/moved.c"

/* One kernel of the whole graph, for N = n. */
static int64_t moves(const char *text, int64_t n)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = NULL;
    llfi_arena arena;
    int64_t bytes = -2, symbol[2] = {n, n};
    llfi_arena_init(&arena, &llfi_malloc_allocator);
    if (llf_graph_parse(cx, text, strlen(text), "t", &g) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    assert_int_equal(bench_moved_least(g, symbol, &arena, &bytes), LLF_OK);
    llf_graph_destroy(g);
    llfi_arena_destroy(&arena);
    llf_context_destroy(cx);
    return bytes;
}

static void bytes_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t n, bytes;
    } want[] = {
        /* each buffer once, broadcasts as they are stored */
        {"graph @a(%x: f32[3, N], %w: f32[N]) {\n %0 = add %x, %w\n %1 = mul %0, %x\n ret %1\n}\n", 4,
         4 * (12 + 4 + 12)},
        {"graph @a(%x: bf16[3, N], %c: bf16[3, 1], %s: scalar bf16, %r: bf16[]) {\n %0 = mul %x, %c\n"
         " %1 = mul %0, %s\n %2 = mul %1, %r\n ret %2\n}\n",
         8, 2 * (24 + 3 + 1 + 24)},
        /* what a slice leaves out of the first axis does not move */
        {"graph @a(%x: f32[N, 10]) {\n %0 = slice %x, at=[::2, :]\n %1 = neg %0\n ret %1\n}\n", 8,
         4 * (40 + 40)},
        /* what it leaves out of the last one comes along, as far as sectors of 32 bytes reach */
        {"graph @a(%x: f32[2*N]) {\n %0 = slice %x, at=[::2]\n %1 = neg %0\n ret %1\n}\n", 100,
         4 * (200 + 100)},
        {"graph @a(%x: f32[16*N]) {\n %0 = slice %x, at=[::-16]\n %1 = neg %0\n ret %1\n}\n", 100,
         4 * (800 + 100)},
        {"graph @a(%x: bf16[4*N]) {\n %0 = slice %x, at=[::4]\n %1 = neg %0\n ret %1\n}\n", 100,
         2 * (400 + 100)},
        {"graph @a(%x: f64[8*N]) {\n %0 = slice %x, at=[::8]\n %1 = slice %0, at=[::1]\n %2 = neg %1\n ret "
         "%2\n}\n",
         100, 8 * (400 + 100)},
        /* two halves of one buffer are the buffer, and twice the same half is not more than that */
        {"graph @a(%x: f32[N, 8]) {\n %0 = slice %x, at=[:, :4]\n %1 = slice %x, at=[:, 4:]\n %2 = add %0, "
         "%1\n"
         " ret %2\n}\n",
         5, 4 * (40 + 20)},
        {"graph @a(%x: f32[N, 8]) {\n %0 = slice %x, at=[:, :6]\n %1 = slice %x, at=[:, 2:]\n %2 = add %0, "
         "%1\n"
         " ret %2\n}\n",
         5, 4 * (40 + 30)},
        /* a value computed in the kernel is wanted as far as its readers want it */
        {"graph @a(%x: f32[N, 8]) {\n %0 = exp %x\n %1 = slice %0, at=[:, 2:4]\n %2 = neg %1\n ret %2\n}\n",
         5, 4 * (10 + 10)},
        {"graph @a(%x: f32[N, 8]) {\n %0 = exp %x\n %1 = slice %0, at=[:, 2:4]\n %2 = neg %1\n ret %2, "
         "%0\n}\n",
         5, 4 * (40 + 10 + 40)},
        /* a gather reads the rows that it names, once each at most, and its indices */
        {"graph @a(%t: f32[N, 8], %i: i64[3]) {\n %0 = take %t, %i, axis=0\n %1 = neg %0\n ret %1\n}\n", 100,
         4 * 24 + 8 * 3 + 4 * 24},
        {"graph @a(%t: f32[2, 8], %i: i32[N]) {\n %0 = take %t, %i, axis=0\n ret %0\n}\n", 100,
         4 * 16 + 4 * 100 + 4 * 800},
        /* parts side by side, and a border that is written but not read */
        {"graph @a(%a: f32[N], %b: f32[2*N]) {\n %0 = concat %a, %b, axis=0\n ret %0\n}\n", 10,
         4 * (10 + 20 + 30)},
        {"graph @a(%a: f32[N]) {\n %0 = pad %a, 0.0, by=[3:4]\n ret %0\n}\n", 10, 4 * (10 + 17)},
        /* places do not count, nor do inputs that nobody reads */
        {"graph @a(%a: f32[N, 3], %b: f32[3, N], %c: f32[N]) {\n %0 = permute %b, axes=[1, 0]\n"
         " %1 = flip %0, axes=[1]\n %2 = add %a, %1\n ret %2\n}\n",
         7, 4 * (21 + 21 + 21)},
        {"graph @a(%x: f32[N]) {\n %0 = neg %x\n ret %0\n}\n", 0, 0},
        {"graph @a(%x: f32[N]) {\n %0 = neg %x\n ret %0\n}\n", INT64_MAX / 4, -1},
    };
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        int64_t got = moves(want[i].text, want[i].n);
        if (got != want[i].bytes)
            fail_msg("%s moves %lld bytes, expected %lld", want[i].text, (long long)got,
                     (long long)want[i].bytes);
    }
}

static void mixes(void **state)
{
    (void)state;
    static const struct {
        int64_t read[8], write[4]; /* bytes; 0 ends */
        uint32_t reads, writes;
    } want[] = {
        {{100, 100}, {100}, 2, 1},
        {{100}, {100, 100}, 1, 2},
        {{100, 100, 100, 100}, {100, 100, 100}, 4, 3},
        {{100, 6}, {100}, 1, 1},        /* a broadcast row is no stream */
        {{100, 7}, {100}, 1, 1},        /* 107:100 is nearer 1:1 than 5:4 */
        {{200, 100}, {100}, 3, 1},      /* by bytes */
        {{100, 100, 100}, {300}, 2, 2}, /* four streams, as many bytes on either side */
        {{100, 100, 100, 100, 100, 100, 100}, {100, 100, 100}, 5, 2}, /* 7:3 */
        {{0}, {100}, 0, 1},
        {{100}, {0}, 1, 0},
        {{0}, {0}, 0, 0},
    };
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        bench_stream read[8], write[4];
        bench_streams s = {.read = read, .write = write};
        uint32_t r, w;
        for (; s.reads < 8 && want[i].read[s.reads]; s.reads++)
            read[s.reads] = (bench_stream){s.reads, want[i].read[s.reads] * 1000};
        for (; s.writes < 4 && want[i].write[s.writes]; s.writes++)
            write[s.writes] = (bench_stream){s.writes, want[i].write[s.writes] * 1000};
        bench_mix(&s, &r, &w);
        if (r != want[i].reads || w != want[i].writes)
            fail_msg("mix %zu: %u:%u, expected %u:%u", i, r, w, want[i].reads, want[i].writes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_by_hand), cmocka_unit_test(mixes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
