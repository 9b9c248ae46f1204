/* What both commands share: exit codes, and that help and manual pages name the options that there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/options.c"
#include "tools/cli.c"
#undef AT
#undef FAIL
#define table opt_table
#define main opt_main
int opt_main(int, char **);
#include "tools/llfuse_opt.c"
#undef main

const char cli_git_hash[] = "abc";

static void every_status_has_its_exit_code(void **state)
{
    (void)state;
    static const struct {
        llf_status status;
        int code;
    } want[] = {{LLF_OK, 0},       {LLF_E_ARG, 2},    {LLF_E_PARSE, 2},    {LLF_E_TYPE, 2},
                {LLF_E_GRAPH, 2},  {LLF_E_LIMIT, 2},  {LLF_E_NOMEM, 1},    {LLF_E_IO, 2},
                {LLF_E_TARGET, 3}, {LLF_E_DRIVER, 1}, {LLF_E_PTX, 1},      {LLF_E_DEVICE_NOMEM, 1},
                {LLF_E_LLVM, 1},   {LLF_E_ALIAS, 2},  {LLF_E_GUARD, 2},    {LLF_E_STATE, 1},
                {LLF_E_ORDER, 2},  {LLF_E_PLAN, 2},   {LLF_E_INTERNAL, 1}, {LLF_E_UNSUPPORTED, 2}};
    for (size_t i = 0; i < LLFI_COUNT(want); i++)
        if (cli_exit_of(want[i].status) != want[i].code)
            fail_msg("%s: exit code %d", llf_status_name(want[i].status), cli_exit_of(want[i].status));
}

/* "--set" in the manual page is ".It Fl -set". */
static void page_names(const cli_command *c, const char *page)
{
    char path[512], want[80];
    char *text = NULL;
    size_t bytes = 0;
    llfi_diag d = {0};
    snprintf(path, sizeof path, "%s/%s", LLFUSE_SOURCE_DIR, page);
    assert_int_equal(llfi_read_file(&llfi_malloc_allocator, &d, path, 1 << 20, &text, &bytes), LLF_OK);
    for (size_t i = 0; i < c->options; i++) {
        const cli_option *o = &c->option[i];
        snprintf(want, sizeof want, "Fl %s%s", o->name + 1, o->value ? " Ar" : "");
        if (!strstr(text, want) &&
            (snprintf(want, sizeof want, "Fl %s Cm", o->name + 1), !strstr(text, want)))
            fail_msg("%s has no %s", page, o->name);
    }
    for (const char *at = text; (at = strstr(at, "\n.It Fl -")); at++) { /* and no others */
        bool known = false;
        size_t n = strcspn(at + 9, " \n");
        for (size_t i = 0; i < c->options; i++)
            known |= strlen(c->option[i].name) == n + 2 && !memcmp(c->option[i].name + 2, at + 9, n);
        if (!known)
            fail_msg("%s: no option --%.*s", page, (int)n, at + 9);
    }
    llfi_free(&llfi_malloc_allocator, text, bytes + 1);
}

static void manual_pages_name_the_options(void **state)
{
    (void)state;
    page_names(&bench_command, "bench/llfuse-bench.1");
    page_names(&command, "tools/llfuse-opt.1");
}

static void help_is_whole_and_narrow(void **state)
{
    (void)state;
    static const cli_command *const all[] = {&bench_command, &command};
    for (size_t k = 0; k < 2; k++) {
        char text[16384] = "";
        FILE *f = fmemopen(text, sizeof text, "w");
        cli_help(all[k], f);
        fclose(f);
        for (size_t i = 0; i < all[k]->options; i++)
            assert_non_null(strstr(text, all[k]->option[i].name));
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
            if (strcspn(at, "\n") > 120)
                fail_msg("too wide: %.*s", (int)strcspn(at, "\n"), at);
        assert_non_null(strstr(text, "greedy"));
        assert_non_null(strstr(text, "3 no such target here\n"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_status_has_its_exit_code),
                                       cmocka_unit_test(manual_pages_name_the_options),
                                       cmocka_unit_test(help_is_whole_and_narrow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
