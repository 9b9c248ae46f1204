/* cases.c: which graphs to measure and what their head comments demand. It parses directives only, never the
 * graph.
 *
 *   ; set N=67108864 M=8      extents of symbols           ; set.host N=1048576  the same on the CPU target
 *   ; data x=normal lr=0.001  contents of inputs: normal abs_normal uniform specials zeros, or one number;
 *   ; data v*=abs_normal      all inputs with such names (the first description that matches holds)
 *   ; data idx=below:V        integers from 0 to V - 1, all as likely: V a symbol or a number
 *   ; expect kernels 2 -> 1   unfused -> fused, checked    ; expect transfers 5 -> 3
 *
 * Several may share a line, each after its own ';'. Other comments are prose. */
#include "bench/bench.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#define FILE_LIMIT ((size_t)1 << 28)

static const llf_allocator *const mem = &llfi_malloc_allocator;

typedef struct {
    const char *at, *end;
} cursor;

static bool next_word(cursor *c, const char **word, size_t *bytes)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r'))
        c->at++;
    *word = c->at;
    while (c->at < c->end && *c->at != ' ' && *c->at != '\t' && *c->at != '\r')
        c->at++;
    *bytes = (size_t)(c->at - *word);
    return *bytes > 0;
}

static bool word_is(const char *word, size_t bytes, const char *text)
{
    return strlen(text) == bytes && !memcmp(word, text, bytes);
}

static llf_status read_settings(llfi_diag *d, llfi_place at, cursor c, bench_setting *set, uint32_t *count,
                                uint32_t max)
{
    const char *word;
    size_t bytes;
    while (next_word(&c, &word, &bytes)) {
        const char *eq = memchr(word, '=', bytes);
        if (!eq || eq == word || (size_t)(eq - word) >= BENCH_NAME)
            return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "'%.*s' is not SYMBOL=NUMBER", (int)bytes, word);
        if (*count == max)
            return llfi_fail_at(d, LLF_E_LIMIT, at, NULL, "more than %u settings", max);
        bench_setting *s = &set[*count];
        snprintf(s->name, sizeof s->name, "%.*s", (int)(eq - word), word);
        if (!cli_count(eq + 1, bytes - (size_t)(eq + 1 - word), &s->value))
            return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "'%.*s' is not SYMBOL=NUMBER", (int)bytes, word);
        if (bench_is_set(set, *count, s->name))
            return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "symbol %s is set twice", s->name);
        s->line = at.line;
        ++*count;
    }
    return LLF_OK;
}

static bool dist_find(const char *word, size_t bytes, bench_data *out)
{
    static const struct {
        const char *name;
        bench_dist dist;
    } dist[] = {{"normal", BENCH_NORMAL},
                {"abs_normal", BENCH_ABS_NORMAL},
                {"uniform", BENCH_UNIFORM},
                {"specials", BENCH_SPECIALS},
                {"zeros", BENCH_ZEROS}};
    for (size_t i = 0; i < LLFI_COUNT(dist); i++)
        if (word_is(word, bytes, dist[i].name)) {
            out->dist = dist[i].dist;
            return true;
        }
    static const char below[] = "below:";
    size_t prefix = sizeof below - 1;
    if (bytes > prefix && bytes - prefix < sizeof out->bound && !memcmp(word, below, prefix)) {
        out->dist = BENCH_BELOW;
        snprintf(out->bound, sizeof out->bound, "%.*s", (int)(bytes - prefix), word + prefix);
        return true;
    }
    char number[64], *end;
    if (bytes >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)bytes, word);
    out->dist = BENCH_VALUE;
    out->value = strtod(number, &end);
    return end != number && !*end;
}

static llf_status read_data(llfi_diag *d, llfi_place at, cursor c, bench_case *k)
{
    const char *word;
    size_t bytes;
    while (next_word(&c, &word, &bytes)) {
        const char *eq = memchr(word, '=', bytes);
        if (k->datas == BENCH_DATAS)
            return llfi_fail_at(d, LLF_E_LIMIT, at, NULL, "more than %u inputs described", BENCH_DATAS);
        bench_data *x = &k->data[k->datas];
        if (!eq || eq == word || (size_t)(eq - word) >= BENCH_NAME ||
            !dist_find(eq + 1, bytes - (size_t)(eq + 1 - word), x))
            return llfi_fail_at(
                d, LLF_E_PARSE, at, NULL,
                "'%.*s' is not INPUT=normal|abs_normal|uniform|specials|zeros|below:BOUND|NUMBER", (int)bytes,
                word);
        snprintf(x->input, sizeof x->input, "%.*s", (int)(eq - word), word);
        x->line = at.line;
        for (uint32_t i = 0; i < k->datas; i++)
            if (!strcmp(k->data[i].input, x->input))
                return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "input %%%s is described twice", x->input);
        k->datas++;
    }
    return LLF_OK;
}

static bool read_u32(cursor *c, uint32_t *value)
{
    const char *word;
    size_t bytes;
    int64_t n;
    if (!next_word(c, &word, &bytes) || !cli_count(word, bytes, &n) || n > UINT32_MAX)
        return false;
    *value = (uint32_t)n;
    return true;
}

static llf_status read_expect(llfi_diag *d, llfi_place at, cursor c, bench_case *k)
{
    const char *what, *word;
    size_t bytes, arrow;
    uint32_t n[2];
    bool kernels = next_word(&c, &what, &bytes) && word_is(what, bytes, "kernels");
    if ((!kernels && !word_is(what, bytes, "transfers")) || !read_u32(&c, &n[0]) ||
        !next_word(&c, &word, &arrow) || !word_is(word, arrow, "->") || !read_u32(&c, &n[1]) ||
        next_word(&c, &word, &arrow))
        return llfi_fail_at(d, LLF_E_PARSE, at, NULL,
                            "an expectation reads 'expect kernels|transfers N -> N'");
    memcpy(kernels ? k->kernels : k->transfers, n, sizeof n);
    *(kernels ? &k->expect_kernels : &k->expect_transfers) = true;
    return LLF_OK;
}

/* One part of a comment line, after its ';'. */
static llf_status read_directive(llfi_diag *d, llfi_place at, cursor c, bench_case *k)
{
    const char *word;
    size_t bytes;
    if (!next_word(&c, &word, &bytes))
        return LLF_OK;
    if (word_is(word, bytes, "set"))
        return read_settings(d, at, c, k->set, &k->sets, LLFI_COUNT(k->set));
    if (word_is(word, bytes, "set.host"))
        return read_settings(d, at, c, k->host, &k->hosts, LLFI_COUNT(k->host));
    if (word_is(word, bytes, "data"))
        return read_data(d, at, c, k);
    if (word_is(word, bytes, "expect"))
        return read_expect(d, at, c, k);
    return LLF_OK;
}

llf_status bench_case_read(llfi_diag *d, bench_case *k)
{
    const char *at = k->text, *end = k->text + k->bytes;
    for (uint32_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *semi = at;
        while (semi < stop && (*semi == ' ' || *semi == '\t'))
            semi++;
        while (semi < stop && *semi == ';') {
            const char *next = memchr(semi + 1, ';', (size_t)(stop - semi - 1));
            next = next ? next : stop;
            llfi_place place = {k->file, line, (uint32_t)(semi - at) + 1};
            LLF_TRY(read_directive(d, place, (cursor){semi + 1, next}, k));
            semi = next;
        }
        at = stop + 1;
    }
    return LLF_OK;
}

/* ---- against the graph */

static llf_status symbols_fit(llfi_diag *d, const bench_case *k, const llf_graph *g, const bench_setting *set,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool known = false;
        for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++)
            known |= !strcmp(llfi_dims_symbol_name(g->dims, s), set[i].name);
        if (!known)
            return llfi_fail_at(d, LLF_E_ARG, (llfi_place){k->file, set[i].line, 1}, NULL,
                                "the graph has no symbol '%s'", set[i].name);
    }
    return LLF_OK;
}

/* A number, or a symbol of the graph whose value is `symbol`'s (NULL: not known yet). */
static bool bound_of(const bench_data *x, const llf_graph *g, const int64_t *symbol, int64_t *bound)
{
    if (cli_count(x->bound, strlen(x->bound), bound))
        return true;
    for (uint32_t s = 0; s < llfi_dims_symbols(g->dims); s++)
        if (!strcmp(llfi_dims_symbol_name(g->dims, s), x->bound)) {
            *bound = symbol ? symbol[s] : 0;
            return true;
        }
    return false;
}

void bench_data_resolve(bench_data *x, const llf_graph *g, const int64_t *symbol)
{
    if (x->dist == BENCH_BELOW)
        bound_of(x, g, symbol, &x->below);
}

/* Floats round any number; an integer must be one of its own. */
static bool holds(llf_dtype t, double x)
{
    if (llfi_dtypes[t].kind == LLFI_KIND_FLOAT)
        return true;
    if (t == LLF_BOOL)
        return x == 0 || x == 1;
    double bound = t == LLF_I64 ? 0x1p63 : 0x1p31;
    return x >= -bound && x < bound && x == (double)(int64_t)x;
}

const bench_data *bench_data_find(const bench_case *k, const char *input)
{
    for (uint32_t i = 0; i < k->datas; i++)
        if (!fnmatch(k->data[i].input, input, 0))
            return &k->data[i];
    return NULL;
}

double bench_scalar_value(const bench_case *k, const char *name)
{
    const bench_data *x = bench_data_find(k, name);
    return x && x->dist == BENCH_VALUE ? x->value : 1.0;
}

/* Can an input hold what the directive says of it? */
static llf_status data_fits(llfi_diag *d, const bench_case *k, const bench_data *x, const llf_graph *g,
                            llf_id id)
{
    llfi_place at = {k->file, x->line, 1};
    const char *name = llfi_name(g, llfi_node_at(g, id)->name);
    llf_dtype t = llfi_dtype_of(g, id);
    int64_t bound;
    if (x->dist == BENCH_BELOW && llfi_dtypes[t].kind != LLFI_KIND_INT)
        return llfi_fail_at(d, LLF_E_ARG, at, NULL, "input %%%s is %s: below: draws integers", name,
                            llf_dtype_name(t));
    if (x->dist == BENCH_BELOW && !bound_of(x, g, NULL, &bound))
        return llfi_fail_at(d, LLF_E_ARG, at, NULL, "input %%%s: '%s' is neither a number nor a symbol", name,
                            x->bound);
    if (x->dist == BENCH_VALUE && !holds(t, x->value))
        return llfi_fail_at(d, LLF_E_ARG, at, NULL, "input %%%s is %s, which %g does not fit", name,
                            llf_dtype_name(t), x->value);
    return LLF_OK;
}

llf_status bench_case_fits(llfi_diag *d, const bench_case *k, const llf_graph *g)
{
    bool used[BENCH_DATAS] = {false};
    LLF_TRY(symbols_fit(d, k, g, k->set, k->sets));
    LLF_TRY(symbols_fit(d, k, g, k->host, k->hosts));
    for (size_t i = 0; i < g->inputs.count; i++) {
        const bench_data *x = bench_data_find(k, llfi_name(g, llfi_node_at(g, g->inputs.at[i])->name));
        if (!x)
            continue;
        used[x - k->data] = true;
        LLF_TRY(data_fits(d, k, x, g, g->inputs.at[i]));
    }
    for (uint32_t i = 0; i < k->datas; i++)
        if (!used[i])
            return llfi_fail_at(d, LLF_E_ARG, (llfi_place){k->file, k->data[i].line, 1}, NULL,
                                "the graph has no input %%%s", k->data[i].input);
    return LLF_OK;
}

/* ---- the list */

static char *copy_text(const char *text, size_t bytes)
{
    char *c = llfi_alloc(mem, bytes + 1);
    if (c) {
        memcpy(c, text, bytes);
        c[bytes] = 0;
    }
    return c;
}

static llf_status add_case(llfi_diag *d, bench_cases *list, const char *name, const char *file, char *text,
                           size_t bytes)
{
    char *path = copy_text(file, strlen(file));
    if (!path || !llfi_vec_reserve(mem, list, 1)) {
        llfi_free(mem, path, strlen(file) + 1);
        llfi_free(mem, text, bytes + 1);
        return llfi_nomem(d);
    }
    bench_case *k = &list->at[list->count++];
    *k = (bench_case){.file = path, .text = text, .bytes = bytes};
    snprintf(k->name, sizeof k->name, "%s", name);
    return bench_case_read(d, k);
}

/* "dir/add_relu.llf" -> "add_relu" */
static void base_name(const char *file, char *name, size_t size)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');
    snprintf(name, size, "%.*s", dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
}

static bool matches(const char *pattern, const char *name)
{
    return strstr(name, pattern) || !fnmatch(pattern, name, 0);
}

static bool wanted(const bench_options *o, const char *name)
{
    for (uint32_t i = 0; i < o->patterns; i++)
        if (matches(o->pattern[i], name))
            return true;
    return !o->patterns;
}

/* A pattern without a case is a slip of the pen. */
static llf_status all_matched(llfi_diag *d, const bench_options *o, const bench_cases *list)
{
    for (uint32_t i = 0; i < o->patterns; i++) {
        bool found = false;
        for (size_t k = 0; k < list->count && !found; k++)
            found = matches(o->pattern[i], list->at[k].name);
        if (!found)
            return llfi_fail(d, LLF_E_ARG, "no case matches '%s'; see --list", o->pattern[i]);
    }
    return LLF_OK;
}

llf_status bench_cases_load(llfi_diag *d, const bench_options *o, bench_cases *list)
{
    char name[BENCH_NAME], file[BENCH_NAME + 16];
    for (uint32_t i = 0; i < o->files; i++) {
        char *text;
        size_t bytes;
        base_name(o->file[i], name, sizeof name);
        if (!wanted(o, name))
            continue;
        LLF_TRY(llfi_read_file(mem, d, o->file[i], FILE_LIMIT, &text, &bytes));
        LLF_TRY(add_case(d, list, name, o->file[i], text, bytes));
    }
    for (size_t i = 0; !o->files && i < bench_builtins_count; i++) {
        const bench_builtin *b = &bench_builtins[i];
        if (!wanted(o, b->name))
            continue;
        snprintf(file, sizeof file, "builtin/%s.llf", b->name);
        char *text = copy_text(b->text, b->bytes);
        if (!text)
            return llfi_nomem(d);
        LLF_TRY(add_case(d, list, b->name, file, text, b->bytes));
    }
    return all_matched(d, o, list);
}

void bench_cases_free(bench_cases *list)
{
    for (size_t i = 0; i < list->count; i++) {
        llfi_free(mem, list->at[i].text, list->at[i].bytes + 1);
        llfi_free(mem, list->at[i].file, strlen(list->at[i].file) + 1);
    }
    llfi_vec_free(mem, list);
}
