/* test_docs_ir.c: docs/ir.md has the row of every op exactly as ops.def gives it, every dtype and limit, and
 * every ```llf block of the documents parses, or fails with the very message that its `;error` line shows. It
 * must not check prose. */
#include "ir_testing.h"

typedef struct {
    char *text;
    size_t bytes;
} document;

static document read_document(llf_context *cx, const char *name)
{
    char path[512];
    document d;
    snprintf(path, sizeof path, "%s/%s", LLFUSE_SOURCE_DIR, name);
    if (llfi_read_file(&cx->mem, &cx->diag, path, 1 << 24, &d.text, &d.bytes) != LLF_OK)
        fail_msg("%s: %s", path, llf_last_error(cx)->message);
    return d;
}

static void free_document(llf_context *cx, document *d)
{
    llfi_free(&cx->mem, d->text, d->bytes + 1);
}

/* A table cell: '|' would end it. */
static void cell(llfi_str *s, const char *text)
{
    for (; *text; text++)
        llfi_str_printf(s, *text == '|' ? "\\%c" : "%c", *text);
}

static const char *set_name(llfi_set set)
{
    return set == LLFI_SET_FLOAT ? "float" : set == LLFI_SET_NUM ? "float, int" : "any";
}

static void row_of(llfi_str *s, const llfi_op_info *o)
{
    llfi_str_printf(s, "| `%s` | %s | `%s` | %s | %s%s%s | ", o->name,
                    o->cls == LLFI_CLASS_EW       ? "primitive"
                    : o->cls == LLFI_CLASS_VIEW   ? "view"
                    : o->cls == LLFI_CLASS_INDEX  ? "index"
                    : o->cls == LLFI_CLASS_REDUCE ? "reduction"
                    : o->cls == LLFI_CLASS_LEAF   ? "leaf"
                                                  : "composite",
                    o->sig, set_name(o->set), o->flags & LLF_F_EXACT ? "EXACT" : "",
                    o->flags & LLF_F_COMM ? " COMM" : "", o->flags ? "" : "-");
    if (o->attr == LLFI_ATTR_NONE)
        llfi_str_puts(s, "- | ");
    else
        llfi_str_printf(s, "`%s` | ", llfi_attr_name(o->attr));
    cell(s, o->meaning);
    llfi_str_puts(s, " |\n");
}

static void every_op_has_its_row(void **state)
{
    llf_context *cx = llf_context_create(NULL);
    document d = read_document(cx, "docs/ir.md");
    (void)state;
    uint32_t missing = 0;
    for (uint32_t op = 0; op < LLF_OPS; op++) {
        if (op == LLF_OP_INPUT || op == LLF_OP_CONST || op == LLF_OP_RESULT)
            continue;
        llfi_str row;
        llfi_str_init(&row, &cx->mem);
        row_of(&row, &llfi_ops[op]);
        if (!strstr(d.text, row.at)) {
            print_error("docs/ir.md has no row\n%s", row.at);
            missing++;
        }
        llfi_str_free(&row);
    }
    assert_int_equal(missing, 0);
    free_document(cx, &d);
    llf_context_destroy(cx);
}

static void every_dtype_and_limit_is_told(void **state)
{
    llf_context *cx = llf_context_create(NULL);
    document d = read_document(cx, "docs/ir.md");
    (void)state;
    char want[80];
    for (uint32_t t = 0; t < LLF_DTYPES; t++) {
        snprintf(want, sizeof want, "| `%s` | %u |", llf_dtype_name((llf_dtype)t), llfi_dtypes[t].bytes);
        if (!strstr(d.text, want))
            fail_msg("docs/ir.md has no %s", want);
    }
    const struct {
        const char *what;
        size_t limit;
    } limits[] = {{"rank", LLFI_RANK},
                  {"nodes", LLFI_MAX_NODES},
                  {"bytes of a name", LLFI_MAX_NAME},
                  {"nested brackets of a dim expression", LLFI_MAX_NESTING},
                  {"bytes of a text", LLFI_MAX_FILE}};
    for (size_t i = 0; i < LLFI_COUNT(limits); i++) {
        snprintf(want, sizeof want, "| %s | %zu |", limits[i].what, limits[i].limit);
        if (!strstr(d.text, want))
            fail_msg("docs/ir.md has no %s", want);
    }
    free_document(cx, &d);
    llf_context_destroy(cx);
}

/* "L:C: message" in the block's first line, after ";error "; NULL: it must parse. */
static void check_block(llf_context *cx, const char *name, const char *text, size_t bytes)
{
    llf_graph *g = NULL;
    char want[1024] = "";
    if (bytes > 7 && strncmp(text, ";error ", 7) == 0) {
        const char *line = memchr(text, '\n', bytes);
        assert_non_null(line);
        snprintf(want, sizeof want, "%.*s", (int)(line - text - 7), text + 7);
        bytes -= (size_t)(line + 1 - text);
        text = line + 1;
    }
    llf_status status = llf_graph_parse(cx, text, bytes, "t", &g);
    if (!want[0] && status != LLF_OK)
        fail_msg("%s: a block does not parse: %s\n%.*s", name, llf_last_error(cx)->message, (int)bytes, text);
    if (want[0] && (status == LLF_OK || strcmp(llf_last_error(cx)->message + 2, want) != 0))
        fail_msg("%s: expected t:%s\n, got %s", name, want,
                 status == LLF_OK ? "a graph" : llf_last_error(cx)->message);
    llf_graph_destroy(g);
}

static void blocks_parse_or_fail_as_told(void **state)
{
    static const char *const names[] = {"README.md", "docs/ir.md", "docs/adding-an-op.md", "CONTRIBUTING.md"};
    static const char open[] = "```llf\n";
    (void)state;
    uint32_t blocks = 0;
    llf_context *cx = llf_context_create(NULL);
    for (size_t i = 0; i < LLFI_COUNT(names); i++) {
        document d = read_document(cx, names[i]);
        for (const char *at = d.text; (at = strstr(at, open)) != NULL; blocks++) {
            at += sizeof open - 1;
            const char *close = strstr(at, "```\n");
            assert_non_null(close);
            check_block(cx, names[i], at, (size_t)(close - at));
            at = close + 4;
        }
        free_document(cx, &d);
    }
    llf_context_destroy(cx);
    assert_true(blocks > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_has_its_row),
                                       cmocka_unit_test(every_dtype_and_limit_is_told),
                                       cmocka_unit_test(blocks_parse_or_fail_as_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
