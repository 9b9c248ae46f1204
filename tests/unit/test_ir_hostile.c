/* Bad text: one clear message that names the thing and its place, nothing crashes or leaks, and the next call
 * works. */
#include "ir_testing.h"

static void refuse(llf_context *cx, const char *text, size_t bytes, llf_status status, uint32_t line,
                   uint32_t col, const char *part)
{
    llf_graph *g = (llf_graph *)1;
    llf_status got = llf_graph_parse(cx, text, bytes, "t.llf", &g);
    const llf_diagnostic *e = llf_last_error(cx);
    if (got != status || e->status != status)
        fail_msg("%s instead of %s: %s", llf_status_name(got), llf_status_name(status), e->message);
    assert_null(g);
    char place[64];
    snprintf(place, sizeof place, "t.llf:%u:%u: ", line, col);
    if (strncmp(e->message, place, strlen(place)) != 0 || !strstr(e->message, part))
        fail_msg("wanted '%s...%s', got '%s'", place, part, e->message);
    assert_int_equal(e->line, line);
    assert_int_equal(e->col, col);
    assert_true(strlen(e->message) < 400);
    llf_graph_destroy(test_parse(cx, "graph @ok() { ret 1:i32 }"));
}

#define HEAD "graph @g(%x: f32[N], %y: f32[M], %h: f16[N], %c: bool[N], %s: scalar f32) {\n"

static void every_mistake_has_its_message(void **state)
{
    static const struct {
        const char *text;
        llf_status status;
        uint32_t line, col;
        const char *part;
    } row[] = {
        {"", LLF_E_PARSE, 1, 1, "empty"},
        {"; only\n; comments\n", LLF_E_PARSE, 3, 1, "empty"},
        {"hello", LLF_E_PARSE, 1, 1, "found 'hello'"},
        {"graph", LLF_E_PARSE, 1, 6, "graph's name"},
        {"graph g", LLF_E_PARSE, 1, 7, "found 'g'"},
        {"graph @", LLF_E_PARSE, 1, 7, "no name"},
        {"graph @g", LLF_E_PARSE, 1, 9, "expected '('"},
        {"graph @g(", LLF_E_PARSE, 1, 10, "an input"},
        {"graph @g(%x", LLF_E_PARSE, 1, 12, "expected ':'"},
        {"graph @g(%x:", LLF_E_PARSE, 1, 13, "unknown dtype the end of the text"},
        {"graph @g(%x: f32", LLF_E_PARSE, 1, 17, "expected '['"},
        {"graph @g(%x: f32[", LLF_E_PARSE, 1, 18, "expected a dim"},
        {"graph @g(%x: f32[N", LLF_E_PARSE, 1, 19, "expected ']' or ','"},
        {"graph @g(%x: f32[N,]) {", LLF_E_PARSE, 1, 20, "expected a dim"},
        {"graph @g(%x: f32[N]", LLF_E_PARSE, 1, 20, "expected ')'"},
        {"graph @g(%x: f32[N],) {", LLF_E_PARSE, 1, 21, "an input"},
        {"graph @g(%x: f32[N])", LLF_E_PARSE, 1, 21, "expected '{'"},
        {"graph @g(%x: f32[N]) {", LLF_E_PARSE, 1, 23, "text ends before ret"},
        {"graph @g(%x: f32[N]) {\n  ret %x\n", LLF_E_PARSE, 3, 1, "text ends before the graph's '}'"},
        {"graph @g(%x: f33[N]) {", LLF_E_PARSE, 1, 14,
         "unknown dtype 'f33'; the dtypes are f64 f32 f16 bf16 i32 i64 bool"},
        {"graph @g(%x: scalar f32[N]) {", LLF_E_TYPE, 1, 24, "scalar has no dims"},
        {"graph @g(%x: f32[-1]) {", LLF_E_PARSE, 1, 18, "negative dim"},
        {"graph @g(%x: f32[1-2]) {", LLF_E_LIMIT, 1, 19, "negative"},
        {"graph @g(%x: f32[N-N-1]) {", LLF_E_LIMIT, 1, 21, "negative"},
        {"graph @g(%x: f32[N/2]) {", LLF_E_PARSE, 1, 20, "//"},
        {"graph @g(%x: f32[N//0]) {", LLF_E_PARSE, 1, 19, "division by zero"},
        {"graph @g(%x: f32[(N]) {", LLF_E_PARSE, 1, 20, "expected ')'"},
        {"graph @g(%x: f32[min(N)]) {", LLF_E_PARSE, 1, 23, "expected ','"},
        {"graph @g(%x: f32[min]) {", LLF_E_PARSE, 1, 21, "expected '('"},
        {"graph @g(%x: f32[1.5]) {", LLF_E_PARSE, 1, 19, "found '.5'"},
        {"graph @g(%x: f32[9223372036854775808]) {", LLF_E_LIMIT, 1, 18, "2^63-1"},
        {"graph @g(%x: f32[99999999999999999999999999999999999999]) {", LLF_E_LIMIT, 1, 18, "..."},
        {"graph @g(%x: f32[9223372036854775807+1]) {", LLF_E_LIMIT, 1, 37, "2^63-1"},
        {"graph @g(%x: f32[4294967296*4294967296]) {", LLF_E_LIMIT, 1, 28, "2^63-1"},
        {"graph @g(%x: f32[4294967296, 4294967296]) {", LLF_E_LIMIT, 1, 10, "2^63-1 bytes"},
        {"graph @g(%x: f32[2305843009213693952]) {", LLF_E_LIMIT, 1, 10, "2^63-1 bytes"},
        {"graph @g(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) {", LLF_E_LIMIT, 1, 50, "limit of 16"},
        {"graph @g(%x: f32[N], %x: f32[N]) {", LLF_E_GRAPH, 1, 22,
         "duplicate name %x, first defined at line 1"},
        {HEAD "}", LLF_E_GRAPH, 2, 1, "no ret"},
        {HEAD "  ret\n}", LLF_E_GRAPH, 2, 3, "at least one value"},
        {HEAD "  ret %z\n}", LLF_E_GRAPH, 2, 7, "undefined value %z"},
        {HEAD "  ret 1.5\n}", LLF_E_TYPE, 2, 7, "1.5:f32"},
        {HEAD "  ret %x %y\n}", LLF_E_PARSE, 2, 10, "expected ','"},
        {HEAD "  ret %x\n  %0 = neg %x\n}", LLF_E_PARSE, 3, 3, "behind ret"},
        {HEAD "  ret %x\n  ret %x\n}", LLF_E_PARSE, 3, 3, "behind ret"},
        {HEAD "  ret %x\n}\ngarbage", LLF_E_PARSE, 4, 1, "found 'garbage'"},
        {HEAD "  ret %x\n}}", LLF_E_PARSE, 3, 2, "found '}'"},
        {HEAD "  ret %x\n}\ngraph @h() { ret 1:i32 }", LLF_E_PARSE, 4, 1, "second graph"},
        {HEAD "  neg %x\n}", LLF_E_PARSE, 2, 3, "found 'neg'"},
        {HEAD "  %0\n}", LLF_E_PARSE, 2, 5, "expected '='"},
        {HEAD "  %0 =\n}", LLF_E_PARSE, 2, 7, "expected an op"},
        {HEAD "  %0 = %x\n}", LLF_E_PARSE, 2, 8, "expected an op"},
        {HEAD "  %0, %1 = neg %x\n}", LLF_E_PARSE, 2, 5, "neg has 1 result, not 2"},
        {HEAD "  %0 = sigmod %x\n}", LLF_E_PARSE, 2, 8, "unknown op 'sigmod'; did you mean 'sigmoid'?"},
        {HEAD "  %0 = frobnicate %x\n}", LLF_E_PARSE, 2, 8, "unknown op 'frobnicate'"},
        {HEAD "  %0 = input %x\n}", LLF_E_PARSE, 2, 8, "brackets"},
        {HEAD "  %0 = const 1.5\n}", LLF_E_PARSE, 2, 8, "literals stand as operands"},
        {HEAD "  %0 = neg\n}", LLF_E_PARSE, 2, 11, "expected an operand"},
        {HEAD "  %0 = neg %x,\n}", LLF_E_PARSE, 2, 15, "expected an operand"},
        {HEAD "  %0 = add %x\n}", LLF_E_PARSE, 2, 8, "add takes 2 operands, not 1"},
        {HEAD "  %0 = neg %x, %x\n}", LLF_E_PARSE, 2, 8, "neg takes 1 operand, not 2"},
        {HEAD "  %0 = fma %x, %x, %x, %x, 1\n}", LLF_E_PARSE, 2, 8, "fma takes 3 operands, not 5"},
        {HEAD "  %0 = add %x %x\n}", LLF_E_PARSE, 2, 15, "expected ','"},
        {HEAD "  %0 = add %x, foo\n}", LLF_E_PARSE, 2, 16, "found 'foo'"},
        {HEAD "  %0 = add %x, 1.2.3\n}", LLF_E_PARSE, 2, 16, "literal '1.2.3'"},
        {HEAD "  %0 = add %x, 1..\n}", LLF_E_PARSE, 2, 16, "literal '1..'"},
        {HEAD "  %0 = add %x, 1:f99\n}", LLF_E_PARSE, 2, 18, "unknown dtype 'f99'"},
        {HEAD "  %0 = add %x, 1:f16\n}", LLF_E_TYPE, 2, 8, "operand 1 is f32[N], operand 2 is f16[]"},
        {HEAD "  %0 = add 1, 2\n}", LLF_E_TYPE, 2, 12, "no partner"},
        {HEAD "  %0 = cast 1, dtype=f32\n}", LLF_E_TYPE, 2, 13, "no partner"},
        {HEAD "  %0 = add %x, true\n}", LLF_E_PARSE, 2, 16, "literal 'true' is no f32"},
        {HEAD "  %0 = where 1, %x, %x\n}", LLF_E_PARSE, 2, 14, "true or false"},
        {HEAD "  %0 = add 3000000000:i32, 1\n}", LLF_E_PARSE, 2, 12, "outside the range of i32"},
        {"graph @g(%s: f32[], %x: f32[2, 4], %y: f32[3, 1], %z: f32[5]) {\n  %0 = add %x, %y\n}", LLF_E_TYPE,
         2, 8, "add: axis 0: 2 and 3 do not broadcast: operand 1 is f32[2, 4], operand 2 is f32[3, 1]"},
        {"graph @g(%s: f32[], %x: f32[2, 4], %y: f32[3, 1], %z: f32[5]) {\n  %0 = fma %s, %z, %x\n}",
         LLF_E_TYPE, 2, 8,
         "fma: axis 1: 5 and 4 do not broadcast: operand 2 is f32[5], operand 3 is f32[2, 4]"},
        {HEAD "  %0 = add %x, %h\n}", LLF_E_TYPE, 2, 8,
         "add: dtype mismatch: operand 1 is f32[N], operand 2 is f16[N]"},
        {HEAD "  %0 = where %x, %x, %x\n}", LLF_E_TYPE, 2, 8, "where: operand 1 is f32[N], but must be bool"},
        {HEAD "  %0 = neg %c\n}", LLF_E_TYPE, 2, 8,
         "neg: operand 1 is bool[N], but must be float or integer"},
        {HEAD "  %0 = exp %c\n}", LLF_E_TYPE, 2, 8, "must be float"},
        {HEAD "  %0 = cast %x\n}", LLF_E_PARSE, 2, 8, "dtype="},
        {HEAD "  %0 = cast %x, dtype=q8\n}", LLF_E_PARSE, 2, 23, "unknown dtype 'q8'"},
        {HEAD "  %0 = cast %x, dtype=f16, dtype=f16\n}", LLF_E_PARSE, 2, 28, "twice"},
        {HEAD "  %0 = cast dtype=f16, %x\n}", LLF_E_PARSE, 2, 24, "operands stand before attributes"},
        {HEAD "  %0 = gelu %x, approximate=maybe\n}", LLF_E_PARSE, 2, 29, "legal: none tanh"},
        {HEAD "  %0 = gelu %x, aproximate=tanh\n}", LLF_E_PARSE, 2, 17, "it takes approximate"},
        {HEAD "  %0 = neg %x, axis=1\n}", LLF_E_PARSE, 2, 16, "unknown attribute 'axis'; it takes none"},
        {HEAD "  %0 = neg %x\n  %0 = neg %x\n}", LLF_E_GRAPH, 3, 3,
         "duplicate name %0, first defined at line 2"},
        {HEAD "  %x = neg %x\n}", LLF_E_GRAPH, 2, 3, "duplicate name %x"},
        {HEAD "  %0 = neg %0\n}", LLF_E_GRAPH, 2, 12, "undefined value %0"},
        {HEAD "  % = neg %x\n}", LLF_E_PARSE, 2, 3, "no name"},
        {HEAD "  %0 = neg %x !\n}", LLF_E_PARSE, 2, 16, "!k0,k2"},
        {HEAD "  %0 = neg %x !k0,\n}", LLF_E_PARSE, 2, 19, "no label: ''"},
        {HEAD "  %0 = neg %x !k01\n}", LLF_E_PARSE, 2, 16, "no label: 'k01'"},
        {HEAD "  %0 = neg %x !k16777216\n}", LLF_E_PARSE, 2, 16, "below k16777216"},
        {HEAD "  %0 = neg %x !0\n}", LLF_E_PARSE, 2, 16, "no label: '0'"},
        {HEAD "  %0 = neg %x !fused\n}", LLF_E_PARSE, 2, 16, "no label: 'fused'"},
        {HEAD "  %0 = neg %x !fuse,apart\n}", LLF_E_PARSE, 2, 21, "one hint a node"},
        {HEAD "  %0 = flip %x, axes=[0] !apart\n}", LLF_E_PARSE, 2, 27, "flip: a view is in no kernel"},
        {HEAD "  %0 = neg %x @\n}", LLF_E_PARSE, 2, 15, "found '@'"},
        {HEAD "  %0 = neg %\xc3\xa4\n}", LLF_E_PARSE, 2, 12, "no name"},
        {HEAD "  \xe2\x82\xac\n}", LLF_E_PARSE, 2, 3, "found '\xe2\x82\xac'"},
        {"graph @g() {\n\xff\n}", LLF_E_PARSE, 2, 1, "byte 0xff is not UTF-8"},
        {"; \xc0\x80", LLF_E_PARSE, 1, 3, "0xc0"}, /* overlong */
        {"; \xe0\x80\x80", LLF_E_PARSE, 1, 3, "0xe0"},
        {"; \xf0\x80\x80\x80", LLF_E_PARSE, 1, 3, "0xf0"},
        {"; \xed\xa0\x80", LLF_E_PARSE, 1, 3, "0xed"},     /* surrogate */
        {"; \xf4\x90\x80\x80", LLF_E_PARSE, 1, 3, "0xf4"}, /* over U+10FFFF */
        {"; \xe2\x82", LLF_E_PARSE, 1, 3, "0xe2"},         /* cut off */
        {"\x7f"
         "ELF",
         LLF_E_PARSE, 1, 1, "control byte 0x7f"},
        {"graph @g()\x01 {", LLF_E_PARSE, 1, 11, "control byte 0x01"},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++)
        refuse(*state, row[i].text, strlen(row[i].text), row[i].status, row[i].line, row[i].col, row[i].part);
}

static void operand_names_are_told_in_op(void **state)
{
    llf_context *cx = *state;
    refuse(cx, HEAD "  %0 = add %x, %h\n}", strlen(HEAD "  %0 = add %x, %h\n}"), LLF_E_TYPE, 2, 8, "add");
    llf_graph *g;
    const char *text = HEAD "  %0 = add %x, %h\n}";
    assert_int_equal(llf_graph_parse(cx, text, strlen(text), "t.llf", &g), LLF_E_TYPE);
    assert_string_equal(llf_last_error(cx)->op, "add");
    assert_string_equal(llf_last_error(cx)->file, "t.llf");
    assert_int_equal(llf_graph_parse(cx, "x", 1, NULL, &g), LLF_E_PARSE);
    assert_int_equal(strncmp(llf_last_error(cx)->message, "<text>:1:1: ", 12), 0);
}

static void nul_bytes(void **state)
{
    refuse(*state, "graph @g\0() {", 13, LLF_E_PARSE, 1, 9, "NUL byte");
    refuse(*state, "\0\0\0\0", 4, LLF_E_PARSE, 1, 1, "NUL byte");
}

/* Every prefix of a good file is refused, and every file with one byte damaged is refused or prints and
 * parses. */
static void truncated_and_damaged_files(void **state)
{
    static const char text[] =
        "; set N=4\ngraph @g(%x: f32[N, min(4*B+1, 7)], %a: scalar f32, %c: bool[]) {\n"
        "  %t = fma %x, %a, -1.5e-3 !k0,k1\n  %1 = cast %t, dtype=f16\n"
        "  %2 = where %c, %1, inf\n  %3 = gelu %2, approximate=tanh\n"
        "  %4, %5 = moments %3, axes=[-1], keepdims\n  %6 = sum %5, out=f64\n  ret %3, 2:f32, %6\n}";
    llf_context *cx = *state;
    size_t n = sizeof text - 1;
    for (size_t i = 0; i < n; i++) {
        llf_graph *g = NULL;
        char *copy = malloc(i ? i : 1); /* of its own size: reading behind it is seen */
        memcpy(copy, text, i);
        assert_int_not_equal(llf_graph_parse(cx, copy, i, "t.llf", &g), LLF_OK);
        assert_null(g);
        assert_true(llf_last_error(cx)->line >= 1);
        free(copy);
    }
    static const char bad[] = "\0\xff%@ \n;:,=()[]{}!-+*/.09azAZ_\"\\";
    char copy[sizeof text];
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < sizeof bad; b++) {
            llf_graph *g = NULL, *again = NULL;
            memcpy(copy, text, n);
            copy[i] = bad[b];
            if (llf_graph_parse(cx, copy, n, "t.llf", &g) != LLF_OK)
                continue;
            char *out;
            size_t bytes;
            assert_int_equal(llf_graph_print(cx, g, &out, &bytes), LLF_OK);
            assert_int_equal(llf_graph_parse(cx, out, bytes, NULL, &again), LLF_OK);
            llf_text_free(cx, out, bytes);
            llf_graph_destroy(g);
            llf_graph_destroy(again);
        }
    }
}

static char *repeat(const char *front, char c, size_t n, const char *back, size_t *bytes)
{
    size_t f = strlen(front), b = strlen(back);
    char *text = malloc(f + n + b);
    memcpy(text, front, f);
    memset(text + f, c, n);
    memcpy(text + f + n, back, b);
    *bytes = f + n + b;
    return text;
}

static void oversized_things_name_their_limit(void **state)
{
    llf_context *cx = *state;
    static const struct {
        const char *front;
        char c;
        size_t n;
        const char *back;
        llf_status status;
        uint32_t line, col;
        const char *part;
    } row[] = {
        {"graph @", 'n', 1 << 20, "() {", LLF_E_LIMIT, 1, 7, "is 1048576 bytes long, the limit is 255"},
        {"graph @", 'n', 256, "() {", LLF_E_LIMIT, 1, 7, "the limit is 255"},
        {"graph @g(%", 'n', 1 << 20, ": f32[]) {", LLF_E_LIMIT, 1, 10, "the limit is 255"},
        {"graph @g(%x: f32[", 'N', 1 << 20, "]) {", LLF_E_LIMIT, 1, 18, "the limit is 255"},
        {"graph @g(%x: f32[", '(', 100000, "", LLF_E_LIMIT, 1, 82, "nested deeper than the limit of 64"},
        {"graph @g(%x: f32", '[', 100000, "", LLF_E_PARSE, 1, 18, "expected a dim"},
        {"graph @g", '(', 100000, "", LLF_E_PARSE, 1, 10, "an input"},
        {"graph @g(%x: f32[", '9', 100000, "", LLF_E_LIMIT, 1, 18, "2^63-1"},
        {HEAD "  %0 = neg ", '(', 100000, "", LLF_E_PARSE, 2, 12, "found '('"},
        {HEAD "  %0 = ", 'q', 1 << 20, " %x\n", LLF_E_PARSE, 2, 8, "unknown op 'qqqq"},
        {HEAD "  %0 = add %x, ", '.', 1 << 20, "\n", LLF_E_PARSE, 2, 16, "..."},
        {HEAD "  %0 = neg %x !", 'k', 1 << 20, "\n", LLF_E_PARSE, 2, 16, "no label: 'kkkk"},
        {HEAD "  %0 = neg %x !k", '9', 1 << 20, "\n", LLF_E_PARSE, 2, 16, "below k16777216"},
        {HEAD "  %0 = neg %x, ", 'z', 1 << 20, "=1\n", LLF_E_PARSE, 2, 16, "unknown attribute"},
        {"", '{', 1 << 20, "", LLF_E_PARSE, 1, 1, "found '{'"},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        size_t bytes;
        char *text = repeat(row[i].front, row[i].c, row[i].n, row[i].back, &bytes);
        refuse(cx, text, bytes, row[i].status, row[i].line, row[i].col, row[i].part);
        free(text);
    }
    llf_graph *g = NULL;
    /* Refused by its length alone: the text is never read. */
    assert_int_equal(llf_graph_parse(cx, "graph", LLFI_MAX_FILE + 1, "t.llf", &g), LLF_E_LIMIT);
    assert_non_null(strstr(llf_last_error(cx)->message, "1073741824"));
}

/* Dim expressions that would grow without end when multiplied out or printed. */
static void exploding_dims(void **state)
{
    llf_context *cx = *state;
    llfi_str s;
    llfi_str_init(&s, &cx->mem);
    llfi_str_puts(&s, "graph @g(%x: f32[");
    for (int i = 0; i < 2000; i++)
        llfi_str_printf(&s, "%s(A+B+C+D+E)", i ? "*" : "");
    llfi_str_puts(&s, "]) { ret %x }");
    llf_graph *g = NULL;
    assert_int_equal(llf_graph_parse(cx, s.at, s.len, NULL, &g), LLF_E_LIMIT);
    llfi_str_clear(&s);
    llfi_str_puts(&s, "graph @g(%x: f32[");
    for (int i = 0; i < 60; i++)
        llfi_str_puts(&s, "min(7, ");
    llfi_str_puts(&s, "N");
    for (int i = 0; i < 60; i++)
        llfi_str_puts(&s, "*(A+B))");
    llfi_str_puts(&s, "]) { ret %x }");
    assert_int_equal(llf_graph_parse(cx, s.at, s.len, NULL, &g), LLF_E_LIMIT);
    llfi_str_clear(&s);
    llfi_str_puts(&s, "graph @g(%x: f32[N");
    for (int i = 0; i < 100000; i++)
        llfi_str_puts(&s, "+N");
    llfi_str_puts(&s, "]) { ret %x }");
    assert_int_equal(llf_graph_parse(cx, s.at, s.len, NULL, &g), LLF_OK);
    llf_graph_destroy(g);
    llfi_str_free(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_mistake_has_its_message), TEST(operand_names_are_told_in_op),      TEST(nul_bytes),
        TEST(truncated_and_damaged_files),   TEST(oversized_things_name_their_limit), TEST(exploding_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
