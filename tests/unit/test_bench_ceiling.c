/* The hand-written ceiling kernels: as many 16-byte loads and stores as the mix says and no other access.
 * What ptxas thinks of the text is in tests/ptxas.sh where there is a toolkit: `test_bench_ceiling DIR`
 * writes every kernel there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/ceiling_ptx.c"

static const char *directory;

static uint32_t count(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void keep(const llfi_str *s, const char *name)
{
    char path[512];
    if (!directory)
        return;
    snprintf(path, sizeof path, "%s/%s.ptx", directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(s->at, 1, s->len, f), s->len);
    assert_int_equal(fclose(f), 0);
}

static void every_mix_moves_what_it_says(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < BENCH_PTX_VARIANTS; v++)
        for (uint32_t r = 0; r <= BENCH_MAX_READS; r++)
            for (uint32_t w = 0; w <= BENCH_MAX_WRITES; w++) {
                llfi_str s;
                char name[64], threads[32];
                if (!r && !w)
                    continue;
                llfi_str_init(&s, &llfi_malloc_allocator);
                bool made = bench_ceiling_ptx(&s, 90, v, r, w);
                assert_int_equal(made, r || v < 3); /* marked loads need loads */
                if (made) {
                    assert_false(s.failed);
                    assert_int_equal(count(s.at, "ld.global"), r);
                    assert_int_equal(count(s.at, "st.global.v4.u32"), w);
                    assert_int_equal(count(s.at, "st.global"), w ? w : 1); /* no writes: the sink */
                    assert_int_equal(count(s.at, ".v4.u32"), r + w);
                    assert_int_equal(count(s.at, "cache_hint"), v < 3 ? 0 : r);
                    snprintf(threads, sizeof threads, ".maxntid %u, 1, 1", bench_ceiling_ptx_threads(v));
                    assert_int_equal(count(s.at, threads), 1);
                    snprintf(name, sizeof name, "ceiling_%u_%u_%u", v, r, w);
                    keep(&s, name);
                }
                llfi_str_free(&s);
            }
}

static void old_architectures_have_no_marked_loads(void **state)
{
    (void)state;
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    assert_false(bench_ceiling_ptx(&s, 75, 3, 1, 1));
    assert_true(bench_ceiling_ptx(&s, 75, 0, 1, 1));
    assert_int_equal(count(s.at, ".target sm_75"), 1);
    llfi_str_free(&s);
}

static void the_flush_only_reads_and_the_empty_kernel_does_nothing(void **state)
{
    (void)state;
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    bench_flush_ptx(&s);
    assert_int_equal(count(s.at, "ld.global.v4.u32"), 1);
    assert_int_equal(count(s.at, "st.global"), 1); /* behind a condition that the data do not meet */
    keep(&s, "flush");
    llfi_str_clear(&s);
    bench_empty_ptx(&s, 5);
    assert_int_equal(count(s.at, ".param .u64"), 5);
    assert_int_equal(count(s.at, "global"), 0);
    keep(&s, "empty");
    llfi_str_clear(&s);
    bench_empty_ptx(&s, 0);
    assert_int_equal(count(s.at, ".param"), 0);
    keep(&s, "empty_0");
    llfi_str_free(&s);
}

int main(int argc, char **argv)
{
    directory = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mix_moves_what_it_says),
        cmocka_unit_test(old_architectures_have_no_marked_loads),
        cmocka_unit_test(the_flush_only_reads_and_the_empty_kernel_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
