/* Contexts, diagnostics, logs, dumps, files. */
#include "ir_testing.h"

#include <sys/stat.h>
#include <unistd.h>

static void names_of_statuses_and_dtypes(void **state)
{
    (void)state;
    assert_string_equal(llf_status_name(LLF_OK), "OK");
    assert_string_equal(llf_status_name(LLF_E_TYPE), "E_TYPE");
    assert_string_equal(llf_status_text(LLF_E_NOMEM), "out of host memory");
    assert_non_null(llf_status_name((llf_status)9999));
    assert_non_null(llf_status_text((llf_status)-1));
    assert_string_equal(llf_dtype_name(LLF_BF16), "bf16");
    assert_int_equal(llf_dtype_size(LLF_F64), 8);
    assert_int_equal(llf_dtype_size((llf_dtype)99), 0);
    assert_non_null(llf_dtype_name((llf_dtype)99));
    assert_true(strlen(llf_version()) >= 5);
    int major = 0;
    assert_int_equal(sscanf(llf_llvm_version(), "%d.", &major), 1);
    assert_in_range(major, 19, 22);
}

static void diagnostics_carry_place_and_op(void **state)
{
    (void)state;
    llfi_diag d = {0};
    assert_int_equal(llfi_fail_at(&d, LLF_E_TYPE, (llfi_place){"a.llf", 3, 7}, "add", "bad %d", 5),
                     LLF_E_TYPE);
    assert_string_equal(d.pub.message, "a.llf:3:7: bad 5");
    assert_string_equal(d.pub.file, "a.llf");
    assert_string_equal(d.pub.op, "add");
    assert_int_equal(d.pub.line, 3);
    assert_int_equal(d.pub.col, 7);
    assert_int_equal(llfi_fail_at(&d, LLF_E_ARG, (llfi_place){0}, NULL, "plain"), LLF_E_ARG);
    assert_string_equal(d.pub.message, "plain");
    assert_string_equal(d.pub.file, "");
    assert_int_equal(llfi_fail(NULL, LLF_E_IO, "nobody listens"), LLF_E_IO);
    assert_int_equal(llfi_nomem(&d), LLF_E_NOMEM);
    assert_string_equal(d.pub.message, "out of host memory");
    llfi_fail(&d, LLF_E_GRAPH, "again: %s", d.message);
    assert_string_equal(d.pub.message, "again: out of host memory");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    static char text[5000];
    memset(text, 'y', sizeof text - 1);
    llfi_diag d = {0}, copy;
    llfi_fail_at(&d, LLF_E_ARG, (llfi_place){text, 1, 2}, text, "%s", text);
    size_t n = strlen(d.pub.message);
    assert_true(n < sizeof d.message);
    assert_string_equal(d.pub.message + n - 3, "...");
    assert_true(strlen(d.pub.op) < sizeof d.op);
    llfi_diag plain = {0};
    llfi_fail(&plain, LLF_E_ARG, "%s", text);
    assert_int_equal(strlen(plain.pub.message), sizeof plain.message - 1);
    assert_string_equal(plain.pub.message + sizeof plain.message - 4, "...");
    llfi_diag_copy(&copy, &d);
    memset(&d, 0, sizeof d);
    assert_int_equal(strlen(copy.pub.message), n);
    assert_ptr_equal(copy.pub.message, copy.message);
}

static void options_are_checked(void **state)
{
    (void)state;
    llf_context_options o = {.size = sizeof o + 1};
    llf_context *cx = llf_context_create(&o);
    assert_int_equal(llf_context_status(cx), LLF_E_ARG);
    assert_non_null(strstr(llf_last_error(cx)->message, "size"));
    llf_context_destroy(cx);
    static const size_t bad[] = {0, 7, 12, 20}; /* 12: half of the allocator's address */
    o.allocator = &llfi_malloc_allocator;
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        o.size = bad[i];
        cx = llf_context_create(&o);
        assert_int_equal(llf_context_status(cx), LLF_E_ARG);
        llf_context_destroy(cx);
    }
    llf_allocator none = {NULL, NULL};
    o = (llf_context_options){.size = sizeof o, .allocator = &none};
    cx = llf_context_create(&o);
    assert_int_equal(llf_context_status(cx), LLF_E_ARG);
    llf_context_destroy(cx);
    cx = llf_context_create(NULL);
    assert_int_equal(llf_context_status(cx), LLF_OK);
    assert_string_equal(llf_last_error(cx)->message, "");
    llf_context_destroy(cx);
    llf_context_destroy(NULL);
    assert_int_equal(llf_context_status(NULL), LLF_E_ARG);
    assert_non_null(llf_last_error(NULL)->message);
}

static void unknown_topics_list_the_legal_ones(void **state)
{
    (void)state;
    llf_context_options o = {.size = sizeof o, .logs = "fusion,nonsense"};
    llf_context *cx = llf_context_create(&o);
    assert_int_equal(llf_context_status(cx), LLF_E_ARG);
    const char *m = llf_last_error(cx)->message;
    assert_non_null(strstr(m, "nonsense"));
    assert_non_null(strstr(m, "output_code, fusion, schedule, recompiles, perf"));
    llf_context_destroy(cx);

    setenv("LLF_LOGS", "bogus", 1);
    cx = llf_context_create(NULL);
    assert_int_equal(llf_context_status(cx), LLF_E_ARG);
    llf_context_destroy(cx);
    setenv("LLF_LOGS", "perf", 1);
    cx = llf_context_create(NULL);
    assert_int_equal(llf_context_status(cx), LLF_OK);
    assert_true(llfi_log_on(cx, LLFI_LOG_PERF));
    assert_false(llfi_log_on(cx, LLFI_LOG_FUSION));
    llf_context_destroy(cx);
    o.logs = "fusion"; /* an option wins over the variable */
    cx = llf_context_create(&o);
    assert_false(llfi_log_on(cx, LLFI_LOG_PERF));
    llf_context_destroy(cx);
    unsetenv("LLF_LOGS");
}

static void keep_line(void *user, const char *topic, const char *line)
{
    llfi_str_printf(user, "%s|%s\n", topic, line);
}

static void every_line_has_its_topic(void **state)
{
    (void)state;
    llfi_str got;
    llfi_str_init(&got, &llfi_malloc_allocator);
    llf_context_options o = {.size = sizeof o, .logs = "fusion, perf", .log = keep_line, .log_user = &got};
    llf_context *cx = llf_context_create(&o);
    llfi_log(cx, LLFI_LOG_FUSION, "one %d\ntwo", 1);
    llfi_log(cx, LLFI_LOG_SCHEDULE, "not asked for");
    llfi_log_text(cx, LLFI_LOG_PERF, "a\n\nb\n", 5);
    assert_string_equal(got.at, "fusion|one 1\nfusion|two\nperf|a\nperf|\nperf|b\n");
    llfi_str_clear(&got);
    char wide[2000];
    memset(wide, 'z', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    llfi_log(cx, LLFI_LOG_PERF, "%s", wide);
    assert_int_equal(got.len, 5 + 1999 + 1);
    llf_context_destroy(cx);
    llfi_str_free(&got);
}

static void dumps_and_files(void **state)
{
    llf_context *plain = *state;
    assert_int_equal(llfi_dump(plain, "x.llf", "abc", 3), LLF_OK); /* off: nothing happens */
    char dir[] = "/tmp/llfuse_dump_XXXXXX", path[128];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/new", dir);
    llf_context_options o = {.size = sizeof o, .dump_dir = path};
    llf_context *cx = llf_context_create(&o);
    assert_int_equal(llfi_dump(cx, "x.llf", "a\0c", 3), LLF_OK);
    assert_int_equal(llfi_dump(cx, "no/such/dir", "abc", 3), LLF_E_IO);
    assert_non_null(strstr(llf_last_error(cx)->message, "no/such/dir"));
    llf_context_destroy(cx);

    char file[160], *text = NULL;
    size_t bytes = 0;
    snprintf(file, sizeof file, "%s/x.llf", path);
    llfi_diag *d = &plain->diag;
    assert_int_equal(llfi_read_file(&plain->mem, d, file, 3, &text, &bytes), LLF_OK);
    assert_int_equal(bytes, 3);
    assert_memory_equal(text, "a\0c", 4);
    llfi_free(&plain->mem, text, bytes + 1);
    assert_int_equal(llfi_read_file(&plain->mem, d, file, 2, &text, &bytes), LLF_E_LIMIT);
    assert_int_equal(llfi_read_file(&plain->mem, d, path, 9, &text, &bytes), LLF_E_IO); /* a directory */
    assert_int_equal(llfi_read_file(&plain->mem, d, "/no/such", 9, &text, &bytes), LLF_E_IO);
    assert_non_null(strstr(d->pub.message, "/no/such"));
    assert_int_equal(llfi_read_file(&plain->mem, d, "/dev/zero", 100000, &text, &bytes), LLF_E_LIMIT);
    assert_int_equal(llfi_read_file(&plain->mem, d, "/dev/null", 9, &text, &bytes), LLF_OK);
    assert_int_equal(bytes, 0);
    llfi_free(&plain->mem, text, 1);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_true(llfi_now_ms() > 0);
}

static void help_names_every_variable(void **state)
{
    llf_context *cx = *state;
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_env_help(&s);
    assert_non_null(strstr(s.at, "LLF_LOGS"));
    assert_non_null(strstr(s.at, "LLF_BLESS"));
    llfi_str_free(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_of_statuses_and_dtypes),
        TEST(diagnostics_carry_place_and_op),
        TEST(long_messages_are_cut),
        TEST(options_are_checked),
        TEST(unknown_topics_list_the_legal_ones),
        TEST(every_line_has_its_topic),
        TEST(dumps_and_files),
        TEST(help_names_every_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
