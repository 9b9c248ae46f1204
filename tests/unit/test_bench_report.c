/* Rows as JSON and CSV: escaping, and numbers that were not measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/report.c"

const char cli_git_hash[] = "abc";

static bench_row a_row(void)
{
    bench_row r = {.nodes = 4, .kernels_unfused = 2, .kernels_fused = 1, .launches = 1, .ok = false};
    snprintf(r.case_name, sizeof r.case_name, "a\"b\\\n");
    snprintf(r.note, sizeof r.note, "one, \"two\"");
    snprintf(r.symbol[0], sizeof r.symbol[0], "N");
    r.extent[0] = 67108864;
    r.symbols = 1;
    r.speedup = NAN;
    r.gbps = INFINITY;
    r.fused.median = 0.25;
    return r;
}

static void json_escapes_and_nulls(void **state)
{
    (void)state;
    bench_row row = a_row();
    bench_rows rows = {.at = &row, .count = 1};
    bench_ceiling ceiling = {.reads = 2, .writes = 1, .bytes = 256, .gbps = 4450, .variant = "512"};
    bench_ceilings ceilings = {.at = &ceiling, .count = 1};
    bench_header h = {.device = "card \"x\"", .driver = "", .target = "host"};
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    bench_report_json(&s, &h, &rows, &ceilings);
    assert_false(s.failed);
    assert_non_null(strstr(s.at, "\"device\": \"card \\\"x\\\"\""));
    assert_non_null(strstr(s.at, "{\"case\": \"a\\\"b\\\\\\n\""));
    assert_non_null(strstr(s.at, "\"dims\": {\"N\": 67108864}"));
    assert_non_null(strstr(s.at, "\"speedup\": null, \"gbps\": null"));
    assert_non_null(strstr(s.at, "\"ms_fused\": 0.25"));
    assert_non_null(strstr(s.at, "\"ok\": false"));
    assert_non_null(strstr(
        s.at,
        "{\"reads\": 2, \"writes\": 1, \"bytes_per_tensor\": 256, \"gbps\": 4450, \"variant\": \"512\"}"));
    assert_null(strstr(s.at, "nan"));
    assert_null(strstr(s.at, "inf"));
    llfi_str_free(&s);
}

static size_t fields(const char *line)
{
    size_t n = 1;
    bool quoted = false;
    for (; *line && (quoted || *line != '\n'); line++) {
        quoted ^= *line == '"';
        n += !quoted && *line == ',';
    }
    return n;
}

static void csv_quotes_and_keeps_its_columns(void **state)
{
    (void)state;
    bench_row row = a_row();
    bench_rows rows = {.at = &row, .count = 1};
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    bench_report_csv(&s, &rows);
    const char *second = strchr(s.at, '\n') + 1;
    assert_int_equal(fields(s.at), fields(second));
    assert_true(!strncmp(second, "\"a\"\"b\\\n\",", 9));
    assert_non_null(strstr(second, ",false,\"one, \"\"two\"\"\"\n"));
    llfi_str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_escapes_and_nulls),
        cmocka_unit_test(csv_quotes_and_keeps_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
