/* Literals: one rounding against exact rational arithmetic (tests/data/make_literals.py), shortest text,
 * refusals. */
#include "ir_testing.h"

#include <locale.h>

static llf_status read_as(llf_dtype dtype, const char *text, uint64_t *bits)
{
    return llfi_literal_parse(NULL, (llfi_place){0}, dtype, text, strlen(text), bits);
}

static void assert_shown(llf_context *cx, llf_dtype dtype, uint64_t bits, const char *want)
{
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_literal_print(dtype, bits, &s);
    assert_string_equal(s.at, want);
    llfi_str_free(&s);
}

static void check_table(llf_context *cx)
{
    char *text, *save = NULL;
    size_t bytes, read = 0, shown = 0;
    assert_int_equal(llfi_read_file(&cx->mem, &cx->diag, LLFUSE_SOURCE_DIR "/tests/data/literals.txt",
                                    1 << 24, &text, &bytes),
                     LLF_OK);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *at = NULL, *what = strtok_r(line, " ", &at), *type = strtok_r(NULL, " ", &at);
        char *a = strtok_r(NULL, " ", &at), *b = strtok_r(NULL, " ", &at);
        llf_dtype dtype;
        assert_true(llfi_dtype_find(type, strlen(type), &dtype));
        uint64_t bits, sign = UINT64_C(1) << (8 * llf_dtype_size(dtype) - 1);
        if (strcmp(what, "show") == 0) {
            assert_shown(cx, dtype, strtoull(a, NULL, 16), b);
            shown++;
            continue;
        }
        assert_int_equal(read_as(dtype, a, &bits), LLF_OK);
        if (bits != strtoull(b, NULL, 16))
            fail_msg("%s %s: %llx, not %s", type, a, (unsigned long long)bits, b);
        char negative[4000];
        snprintf(negative, sizeof negative, "-%s", a);
        assert_int_equal(read_as(dtype, negative, &bits), LLF_OK);
        assert_true(bits == (strtoull(b, NULL, 16) | sign));
        read++;
    }
    assert_true(read > 1000 && shown > 500);
    llfi_free(&cx->mem, text, bytes + 1);
}

static void reads_and_shows_as_exact_arithmetic_says(void **state)
{
    check_table(*state);
}

/* Made here, so that the test does not depend on what is installed. */
static bool comma_locale(void)
{
    static const char make[] = "d=\"" LLFUSE_BINARY_DIR "/locale\" && rm -rf \"$d\" && mkdir -p \"$d\" && "
                               "localedef -c -i \"" LLFUSE_SOURCE_DIR "/tests/data/comma.locale\" "
                               "-f ANSI_X3.4-1968 \"$d/comma\" 2>\"$d/log\"";
    int warned = system(make); /* most categories are missing, and none of them matters here */
    (void)warned;
    return setenv("LOCPATH", LLFUSE_BINARY_DIR "/locale", 1) == 0 && setlocale(LC_NUMERIC, "comma");
}

static void no_locale_is_asked(void **state)
{
    char text[8];
    if (!comma_locale()) {
        print_message("SKIPPED: no localedef, hence no locale with a decimal comma\n");
        skip();
    }
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the C library does ask it */
    check_table(*state);
    setlocale(LC_NUMERIC, "C");
}

static void every_16_bit_value_reads_back(void **state)
{
    llf_context *cx = *state;
    llf_dtype dtypes[] = {LLF_F16, LLF_BF16};
    for (size_t d = 0; d < 2; d++) {
        for (uint64_t bits = 0; bits < 65536; bits++) {
            llfi_str s;
            uint64_t back;
            llfi_str_init(&s, &cx->mem);
            llfi_literal_print(dtypes[d], bits, &s);
            assert_int_equal(read_as(dtypes[d], s.at, &back), LLF_OK);
            assert_true(back == bits || (llfi_bits_nan(dtypes[d], bits) && llfi_bits_nan(dtypes[d], back)));
            llfi_str_free(&s);
        }
    }
}

static void random_bits_read_back(void **state)
{
    llf_context *cx = *state;
    uint64_t seed = 99;
    for (int i = 0; i < 40000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        llf_dtype dtype = i & 1 ? LLF_F64 : LLF_F32;
        uint64_t bits = dtype == LLF_F64 ? seed ^ seed >> 31 : seed >> 32, back;
        llfi_str s;
        llfi_str_init(&s, &cx->mem);
        llfi_literal_print(dtype, bits, &s);
        assert_int_equal(read_as(dtype, s.at, &back), LLF_OK);
        assert_true(back == bits || (llfi_bits_nan(dtype, bits) && llfi_bits_nan(dtype, back)));
        llfi_str_free(&s);
    }
}

static void special_values(void **state)
{
    static const struct {
        llf_dtype dtype;
        uint64_t inf, nan;
    } row[] = {{LLF_F64, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff8000000000000)},
               {LLF_F32, 0x7f800000, 0x7fc00000},
               {LLF_F16, 0x7c00, 0x7e00},
               {LLF_BF16, 0x7f80, 0x7fc0}};
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        llf_dtype d = row[i].dtype;
        uint64_t bits, sign = UINT64_C(1) << (8 * llf_dtype_size(d) - 1);
        assert_int_equal(read_as(d, "inf", &bits), LLF_OK);
        assert_true(bits == row[i].inf);
        assert_int_equal(read_as(d, "-inf", &bits), LLF_OK);
        assert_true(bits == (row[i].inf | sign));
        assert_int_equal(read_as(d, "nan", &bits), LLF_OK);
        assert_true(bits == row[i].nan);
        assert_shown(*state, d, row[i].inf, "inf");
        assert_shown(*state, d, row[i].inf | sign, "-inf");
        assert_shown(*state, d, row[i].nan, "nan");
        assert_shown(*state, d, row[i].inf | sign | 1, "nan");
        assert_shown(*state, d, 0, "0.0");
        assert_shown(*state, d, sign, "-0.0");
    }
}

static void integers_and_bools(void **state)
{
    static const struct {
        llf_dtype dtype;
        const char *text;
        llf_status status;
        uint64_t bits;
        const char *shown;
    } row[] = {
        {LLF_I32, "0", LLF_OK, 0, "0"},
        {LLF_I32, "2147483647", LLF_OK, 0x7fffffff, "2147483647"},
        {LLF_I32, "-2147483648", LLF_OK, 0x80000000, "-2147483648"},
        {LLF_I32, "-1", LLF_OK, 0xffffffff, "-1"},
        {LLF_I32, "+7", LLF_OK, 7, "7"},
        {LLF_I32, "0x10", LLF_OK, 16, "16"},
        {LLF_I32, "2147483648", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "-2147483649", LLF_E_PARSE, 0, NULL},
        {LLF_I64, "9223372036854775807", LLF_OK, INT64_MAX, "9223372036854775807"},
        {LLF_I64, "-9223372036854775808", LLF_OK, UINT64_C(1) << 63, "-9223372036854775808"},
        {LLF_I64, "9223372036854775808", LLF_E_PARSE, 0, NULL},
        {LLF_I64, "18446744073709551617", LLF_E_PARSE, 0, NULL}, /* 2^64 + 1 */
        {LLF_I64, "99999999999999999999999999", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "1.0", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "1e3", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "-", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "0x", LLF_E_PARSE, 0, NULL},
        {LLF_I32, "inf", LLF_E_PARSE, 0, NULL},
        {LLF_BOOL, "true", LLF_OK, 1, "true"},
        {LLF_BOOL, "false", LLF_OK, 0, "false"},
        {LLF_BOOL, "1", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "true", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "", LLF_E_PARSE, 0, NULL},
        {LLF_F32, ".", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "-", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "--1", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "1e", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "1e+", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "1.2.3", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "0x", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "0x.", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "0x1p", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "1f", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "infinity", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "-nan", LLF_E_PARSE, 0, NULL},
        {LLF_F32, "1,5", LLF_E_PARSE, 0, NULL},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        uint64_t bits = 0;
        if (read_as(row[i].dtype, row[i].text, &bits) != row[i].status)
            fail_msg("'%s'", row[i].text);
        if (row[i].status != LLF_OK)
            continue;
        assert_true(bits == row[i].bits);
        assert_shown(*state, row[i].dtype, bits, row[i].shown);
    }
}

/* A megabyte of digits is one literal like any other. */
static void long_literals(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    char *text = malloc(n + 1);
    memset(text, '3', n);
    text[n] = 0;
    uint64_t bits;
    assert_int_equal(read_as(LLF_F64, text, &bits), LLF_OK);
    assert_true(bits == UINT64_C(0x7ff0000000000000));
    text[0] = '.';
    assert_int_equal(read_as(LLF_F32, text, &bits), LLF_OK);
    assert_true(bits == 0x3eaaaaab); /* 1/3 */
    llfi_diag d = {0};
    text[n / 2] = 'x';
    assert_int_equal(llfi_literal_parse(&d, (llfi_place){"f", 1, 2}, LLF_F32, text, n, &bits), LLF_E_PARSE);
    assert_true(strlen(d.pub.message) < 120);
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_and_shows_as_exact_arithmetic_says),
        TEST(no_locale_is_asked),
        TEST(every_16_bit_value_reads_back),
        TEST(random_bits_read_back),
        TEST(special_values),
        TEST(integers_and_bools),
        TEST(long_literals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
