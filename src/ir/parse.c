/* parse.c: `.llf` text to a graph, in one pass and linear time; the grammar is docs/ir.md.
 *
 *   text      = { "; set NAME=..." | "; data NAME=..." | comment } graph
 *   graph     = "graph" "@" name "(" [ input { "," input } ] ")" "{" line { line } "}"
 *   input     = "%" name ":" ( "scalar" dtype | dtype "[" [ dim { "," dim } ] "]" )
 *   line      = "%" name { "," "%" name } "=" op operand { "," operand } { "," attribute "=" ( word | list )
 * } [ "!" labels ] | "ret" operand { "," operand } list      = "[" [ item { "," item } ] "]", item = integer
 * | dim | [ bound ] ":" [ bound ] [ ":" integer ] operand   = "%" name | literal [ ":" dtype ]
 *
 * Names are letters, digits, '_', '.', '-', at most LLFI_MAX_NAME bytes; purely numeric ones are not kept.
 * Stops at the first error. Must not judge types: infer.c does. */
#include "ir/parse.h"

/* ---- values */

static const llfi_value *find_value(const llfi_parser *p, const llfi_word *w, uint64_t hash)
{
    size_t cursor = 0;
    for (uint32_t i; (i = llfi_map_next(&p->names, hash, &cursor)) != UINT32_MAX;) {
        const llfi_value *v = &p->values.at[i];
        if (v->name.bytes == w->bytes && memcmp(v->name.text, w->text, w->bytes) == 0)
            return v;
    }
    return NULL;
}

static llf_status check_new(const llfi_parser *p, const llfi_word *w)
{
    const llfi_value *v = find_value(p, w, llfi_hash(0, w->text, w->bytes));
    if (!v)
        return LLF_OK;
    return llfi_fail_at(p->lex.diag, LLF_E_GRAPH, w->place, NULL,
                        "duplicate name %%%.*s, first defined at line %u", (int)w->bytes, w->text,
                        v->name.place.line);
}

static llf_status define(llfi_parser *p, const llfi_word *w, llf_id id)
{
    const llf_allocator *mem = &p->g->cx->mem;
    uint32_t i = (uint32_t)p->values.count;
    if (!llfi_vec_reserve(mem, &p->values, 1) ||
        !llfi_map_add(mem, &p->names, llfi_hash(0, w->text, w->bytes), i))
        return llfi_nomem(p->lex.diag);
    p->values.at[p->values.count++] = (llfi_value){*w, id};
    return LLF_OK;
}

/* Offset of a name that is kept, 0 for a purely numeric one. */
static llf_status keep_name(llfi_parser *p, const llfi_word *w, uint32_t *name)
{
    bool numeric = true;
    for (uint32_t i = 0; i < w->bytes; i++)
        numeric &= w->text[i] >= '0' && w->text[i] <= '9';
    *name = numeric ? 0 : llfi_name_add(p->g, w->text, w->bytes);
    return *name == UINT32_MAX ? llfi_nomem(p->lex.diag) : LLF_OK;
}

/* ---- operands */

static llf_status parse_operand(llfi_parser *p, const char *op, llfi_operand *o)
{
    llfi_lex *x = &p->lex;
    *o = (llfi_operand){.id = LLF_NONE};
    if (llfi_lex_peek(x) == '%') {
        LLF_TRY(llfi_lex_name(x, '%', "a value", &o->word));
        const llfi_value *v = find_value(p, &o->word, llfi_hash(0, o->word.text, o->word.bytes));
        if (!v)
            return llfi_fail_at(x->diag, LLF_E_GRAPH, o->word.place, op, "undefined value %%%.*s",
                                (int)o->word.bytes, o->word.text);
        o->id = v->id;
        return LLF_OK;
    }
    llfi_place at = llfi_lex_place(x);
    char c = llfi_lex_peek(x);
    llfi_found found = llfi_lex_found(x);
    bool ok = llfi_lex_literal(x, &o->word);
    if (ok && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) {
        static const char *const words[] = {"inf", "nan", "true", "false"};
        ok = false;
        for (size_t i = 0; i < LLFI_COUNT(words); i++)
            ok |= strlen(words[i]) == o->word.bytes && memcmp(words[i], o->word.text, o->word.bytes) == 0;
    }
    if (!ok)
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, op,
                            "%s: expected an operand (%%value or literal), found %s", op, found.text);
    if (llfi_lex_accept(x, ':')) {
        LLF_TRY(llfi_parse_dtype(p, &o->dtype));
        o->has_dtype = true;
    }
    return LLF_OK;
}

static llf_status make_literal(llfi_parser *p, const char *op, llfi_operand *o)
{
    uint64_t bits;
    int cut = o->word.bytes > 40 ? 40 : (int)o->word.bytes;
    if (!o->has_dtype)
        return llfi_fail_at(p->lex.diag, LLF_E_TYPE, o->word.place, op,
                            "%s: literal %.*s has no partner to take its dtype from: write %.*s:f32", op, cut,
                            o->word.text, cut, o->word.text);
    LLF_TRY(llfi_literal_parse(p->lex.diag, o->word.place, o->dtype, o->word.text, o->word.bytes, &bits));
    o->id = llfi_build_const(p->g, o->dtype, bits);
    if (o->id == LLF_NONE)
        return p->g->poisoned;
    p->g->nodes.at[o->id].line = o->word.place.line;
    p->g->nodes.at[o->id].col = o->word.place.col;
    return LLF_OK;
}

/* A literal without a dtype takes that of a value, else of a literal, whose letter is the same; b is bool. */
static void take_dtypes(llfi_parser *p, const llfi_op_info *op)
{
    llfi_operand *o = p->operands.at;
    uint32_t count = (uint32_t)p->operands.count;
    bool known = false, by_value = false;
    llf_dtype t = LLF_F32;
    for (uint32_t i = 0; i < count && !by_value; i++) {
        bool value = o[i].id != LLF_NONE;
        if (llfi_op_letter(op, i) != 't' || !(value || (o[i].has_dtype && !known)))
            continue;
        t = value ? llfi_dtype_of(p->g, o[i].id) : o[i].dtype;
        known = true;
        by_value = value;
    }
    for (uint32_t i = 0; i < count; i++) {
        char letter = llfi_op_letter(op, i);
        if (o[i].id != LLF_NONE || o[i].has_dtype || (letter != 'b' && (letter != 't' || !known)))
            continue;
        o[i].dtype = letter == 'b' ? LLF_BOOL : t;
        o[i].has_dtype = true;
    }
}

/* ---- attributes */

static llf_status bad_word(llfi_parser *p, const llfi_op_info *o, const llfi_word *name, const char *found)
{
    if (o->attr == LLFI_ATTR_NONE)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, name->place, o->name,
                            "%s: unknown attribute %s; it takes none", o->name, found);
    return llfi_fail_at(p->lex.diag, LLF_E_PARSE, name->place, o->name,
                        "%s: unknown attribute %s; it takes %s", o->name, found, llfi_attr_name(o->attr));
}

/* An attribute as it is written: what is not a word or a dtype is resolved when the operands are known. */
typedef struct {
    uint32_t given; /* bit k: word k of the attribute's name */
    uint64_t value;
    llfi_ask ask;
} attribute;

/* Of REDUCE: axes keepdims out. */
enum { GIVEN_AXES = 1, GIVEN_KEEPDIMS = 2, GIVEN_OUT = 4 };

/* Which word of the attribute's name that is; each stands once. */
static llf_status give(llfi_parser *p, const llfi_op_info *o, const llfi_word *name, const char *found,
                       attribute *attr, uint32_t *bit)
{
    const char *word = llfi_attr_name(o->attr);
    size_t bytes = strcspn(word, " ");
    for (*bit = 1; *word && (bytes != name->bytes || memcmp(word, name->text, bytes) != 0); *bit <<= 1) {
        word += bytes + (word[bytes] == ' ');
        bytes = strcspn(word, " ");
    }
    if (!*word)
        return bad_word(p, o, name, found);
    if (attr->given & *bit)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, name->place, o->name, "%s: attribute %.*s stands twice",
                            o->name, (int)bytes, word);
    attr->given |= *bit;
    return LLF_OK;
}

static llf_status parse_attr(llfi_parser *p, const llfi_op_info *o, const llfi_word *name, const char *found,
                             attribute *attr)
{
    llfi_lex *x = &p->lex;
    uint32_t bit;
    LLF_TRY(give(p, o, name, found, attr, &bit));
    llfi_lex_spaces(x);
    llfi_attr_kind kind = llfi_attr_kind_of(o->attr);
    if (kind == LLFI_ATTR_KIND_IOTA) /* dtype shape axis */
        kind = bit == 1 ? LLFI_ATTR_KIND_DTYPE : bit == 2 ? LLFI_ATTR_KIND_DIMS : LLFI_ATTR_KIND_INT;
    if (kind == LLFI_ATTR_KIND_COUNT) /* dtype shape */
        kind = bit == 1 ? LLFI_ATTR_KIND_DTYPE : LLFI_ATTR_KIND_DIMS;
    if (name->bytes == 8 && memcmp(name->text, "keepdims", 8) == 0)
        return llfi_fail_at(x->diag, LLF_E_PARSE, name->place, o->name,
                            "%s: keepdims stands alone, without a value", o->name);
    if (kind == LLFI_ATTR_KIND_SETTINGS)
        return llfi_parse_setting(p, o, name, &attr->ask);
    if (kind == LLFI_ATTR_KIND_REDUCE)
        kind = bit == GIVEN_AXES ? LLFI_ATTR_KIND_INTS : LLFI_ATTR_KIND_DTYPE;
    if (kind >= LLFI_ATTR_KIND_INTS)
        return llfi_parse_list(p, kind, o->name, &attr->ask);
    if (kind == LLFI_ATTR_KIND_INT)
        return llfi_parse_int(p, o->name, "an axis", &attr->ask.along);
    if (kind == LLFI_ATTR_KIND_DTYPE) {
        LLF_TRY(llfi_parse_dtype(p, &attr->ask.dtype));
        attr->value = (uint64_t)attr->ask.dtype;
        return LLF_OK;
    }
    llfi_word value;
    llfi_place at = llfi_lex_place(x);
    llfi_found what = llfi_lex_found(x);
    if (llfi_lex_word(x, &value) && llfi_attr_word(o->attr, value.text, value.bytes, &attr->value))
        return LLF_OK;
    return llfi_fail_at(x->diag, LLF_E_PARSE, at, o->name, "%s: %s is %s; legal: %s", o->name,
                        llfi_attr_name(o->attr), what.text, llfi_attr_legal(o->attr));
}

/* All but a WORD, the parts of REDUCE and most SETTINGS must be given. */
static llf_status all_given(llfi_parser *p, const llfi_op_info *o, const attribute *attr, llfi_place at)
{
    const char *word = llfi_attr_name(o->attr);
    llfi_attr_kind kind = llfi_attr_kind_of(o->attr);
    if (kind == LLFI_ATTR_KIND_WORD || kind == LLFI_ATTR_KIND_REDUCE)
        return LLF_OK;
    for (uint32_t bit = 1; *word; bit <<= 1) {
        size_t bytes = strcspn(word, " ");
        llfi_setting setting;
        if (!(attr->given & bit) &&
            (kind != LLFI_ATTR_KIND_SETTINGS ||
             (llfi_setting_find(o->attr, word, bytes, &setting) && llfi_setting_required(o->attr, setting))))
            return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, o->name,
                                "%s needs the attribute %.*s=", o->name, (int)bytes, word);
        word += bytes + (word[bytes] == ' ');
    }
    return LLF_OK;
}

/* ---- lines */

/* What stands behind '='. */
typedef struct {
    const char *name;
    llf_op op;
    const llfi_op_info *o; /* NULL: made of several */
    llfi_made made;
    llfi_place place;
} line;

static uint32_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    uint32_t row[32];
    for (uint32_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 0; i < n; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < m; j++) {
            uint32_t best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            best = row[j + 1] + 1 < best ? row[j + 1] + 1 : best;
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j + 1] = best;
        }
    }
    return row[m];
}

static llf_status unknown_op(llfi_parser *p, const llfi_word *w)
{
    const char *near = NULL;
    uint32_t best = 3;
    for (size_t i = 0; i < LLF_OPS && w->bytes < 24; i++) {
        const char *name = llfi_ops[i].name;
        if (i == LLF_OP_INPUT || i == LLF_OP_CONST || i == LLF_OP_RESULT || strlen(name) > 31)
            continue;
        uint32_t d = edit_distance(w->text, w->bytes, name, strlen(name));
        if (d < best && d < w->bytes) {
            best = d;
            near = name;
        }
    }
    int cut = w->bytes > 40 ? 40 : (int)w->bytes;
    if (near)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, w->place, NULL, "unknown op '%.*s'; did you mean '%s'?",
                            cut, w->text, near);
    return llfi_fail_at(p->lex.diag, LLF_E_PARSE, w->place, NULL, "unknown op '%.*s'", cut, w->text);
}

static llf_status end_of_line(llfi_parser *p, const char *behind)
{
    llfi_lex *x = &p->lex;
    llfi_lex_spaces(x);
    char c = llfi_lex_peek(x);
    if (c == '\n' || c == '}' || x->at == x->end)
        return LLF_OK;
    return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL,
                        "expected ',' or the end of the line %s, found %s", behind, llfi_lex_found(x).text);
}

/* An attribute without a value. */
static bool is_flag(const line *l, const llfi_word *w)
{
    llfi_attr_kind kind = l->o ? llfi_attr_kind_of(l->o->attr) : LLFI_ATTR_KIND_NONE;
    return (kind == LLFI_ATTR_KIND_REDUCE || kind == LLFI_ATTR_KIND_SETTINGS) && w->bytes == 8 &&
           memcmp(w->text, "keepdims", 8) == 0;
}

/* operand { "," operand } { "," attribute=word | "," flag } */
static llf_status parse_arguments(llfi_parser *p, const line *l, attribute *attr, llfi_made_attrs *made)
{
    llfi_lex *x = &p->lex;
    p->operands.count = 0;
    bool attrs = false;
    do {
        llfi_lex_spaces(x);
        llfi_lex before = *x;
        llfi_found found = llfi_lex_found(x);
        llfi_word name;
        if (llfi_lex_word(x, &name)) {
            llfi_lex_spaces(x);
            if (llfi_lex_accept(x, '=')) {
                LLF_TRY(l->o ? parse_attr(p, l->o, &name, found.text, attr)
                             : llfi_made_attr(p, l->made, &name, made));
                attrs = true;
                llfi_lex_spaces(x);
                continue;
            }
            if (is_flag(l, &name)) {
                uint32_t bit;
                LLF_TRY(give(p, l->o, &name, found.text, attr, &bit));
                attr->ask.keepdims = attrs = true;
                continue;
            }
            *x = before;
        }
        if (attrs)
            return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), l->name,
                                "%s: operands stand before attributes", l->name);
        llfi_operand one;
        LLF_TRY(parse_operand(p, l->name, &one));
        if (!llfi_vec_reserve(&p->g->cx->mem, &p->operands, 1))
            return llfi_nomem(x->diag);
        p->operands.at[p->operands.count++] = one;
        llfi_lex_spaces(x);
    } while (llfi_lex_accept(x, ','));
    return LLF_OK;
}

/* The values of the operands, p->arg; literals are made. */
static llf_status make_operands(llfi_parser *p, const line *l)
{
    uint32_t count = (uint32_t)p->operands.count;
    p->arg.count = 0;
    if (!llfi_vec_reserve(&p->g->cx->mem, &p->arg, count))
        return llfi_nomem(p->lex.diag);
    for (uint32_t i = 0; i < count; i++) {
        llfi_operand *one = &p->operands.at[i];
        if (one->id == LLF_NONE)
            LLF_TRY(make_literal(p, l->name, one));
        p->arg.at[p->arg.count++] = one->id;
    }
    return LLF_OK;
}

static llf_status build_node(llfi_parser *p, const line *l, attribute *attr, llf_id *id)
{
    const llfi_op_info *o = l->o;
    llf_op op = l->op;
    llfi_place at = l->place;
    uint32_t count = (uint32_t)p->operands.count;
    if (o->arity == LLFI_VARIADIC && count == 0)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, o->name, "%s takes at least 1 operand", o->name);
    uint32_t least = llfi_op_least(o), most = llfi_op_most(o);
    if (!llfi_op_takes(o, count) && least != most)
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, o->name, "%s takes %u to %u operands, not %u",
                            o->name, least, most, count);
    if (!llfi_op_takes(o, count))
        return llfi_fail_at(p->lex.diag, LLF_E_PARSE, at, o->name, "%s takes %u operand%s, not %u", o->name,
                            most, most == 1 ? "" : "s", count);
    take_dtypes(p, o);
    LLF_TRY(make_operands(p, l));
    if (o->cls == LLFI_CLASS_VIEW)
        LLF_TRY(llfi_view_attr(p->g, op, p->arg.at[0], &attr->ask, at, &attr->value));
    if (o->cls == LLFI_CLASS_INDEX || o->cls == LLFI_CLASS_LEAF)
        LLF_TRY(llfi_index_attr(p->g, op, count, p->arg.at, &attr->ask, at, &attr->value));
    if (llfi_attr_kind_of(o->attr) == LLFI_ATTR_KIND_SETTINGS)
        LLF_TRY(llfi_settings_attr(p->g, op, count, p->arg.at, &attr->ask, at, &attr->value));
    if (o->cls == LLFI_CLASS_REDUCE) {
        if (!(attr->given & GIVEN_AXES))
            attr->ask.count = 0;
        attr->ask.all = !(attr->given & GIVEN_AXES);
        attr->ask.keepdims = (attr->given & GIVEN_KEEPDIMS) != 0;
        attr->ask.has_dtype = (attr->given & GIVEN_OUT) != 0;
        LLF_TRY(llfi_reduce_attr(p->g, op, p->arg.at[0], &attr->ask, at, &attr->value));
    }
    *id = llfi_build_n(p->g, op, count, p->arg.at, attr->value, UINT32_MAX, at);
    return *id == LLF_NONE ? p->g->poisoned : LLF_OK;
}

/* %name { "," %name } = */
static llf_status parse_results(llfi_parser *p, llfi_place *comma)
{
    llfi_lex *x = &p->lex;
    p->results.count = 0;
    do {
        llfi_word name;
        llfi_lex_spaces(x);
        LLF_TRY(llfi_lex_name(x, '%', "a value", &name));
        LLF_TRY(check_new(p, &name));
        if (!llfi_vec_reserve(&p->g->cx->mem, &p->results, 1))
            return llfi_nomem(x->diag);
        p->results.at[p->results.count++] = name;
        llfi_lex_spaces(x);
        if (p->results.count == 1)
            *comma = llfi_lex_place(x);
    } while (llfi_lex_accept(x, ','));
    return llfi_lex_expect(x, '=', "behind the value's name");
}

/* The op's word. */
static llf_status parse_op(llfi_parser *p, line *l)
{
    llfi_lex *x = &p->lex;
    llfi_word word;
    *l = (line){.op = LLF_OP_INPUT};
    llfi_lex_spaces(x);
    if (!llfi_lex_word(x, &word))
        return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL, "expected an op, found %s",
                            llfi_lex_found(x).text);
    l->place = word.place;
    l->made = llfi_made_find(&word);
    if (l->made != LLFI_MADE_NONE) {
        l->name = llfi_made_name(l->made);
        return LLF_OK;
    }
    if (!llfi_op_find(word.text, word.bytes, &l->op))
        return unknown_op(p, &word);
    l->o = &llfi_ops[l->op];
    l->name = l->o->name;
    if (l->op == LLF_OP_INPUT || l->op == LLF_OP_CONST || l->op == LLF_OP_RESULT)
        return llfi_fail_at(x->diag, LLF_E_PARSE, word.place, l->name, "'%s' is not written as a line: %s",
                            l->name,
                            l->op == LLF_OP_INPUT   ? "inputs stand in the graph's brackets"
                            : l->op == LLF_OP_CONST ? "literals stand as operands"
                                                    : "results stand before '='");
    return LLF_OK;
}

/* The ids of the line's results, in p->made. */
static llf_status build_line(llfi_parser *p, const line *l, attribute *attr, const llfi_made_attrs *made)
{
    size_t results = p->results.count;
    if (!llfi_vec_reserve(&p->g->cx->mem, &p->made, results))
        return llfi_nomem(p->lex.diag);
    p->made.count = results;
    if (l->o) {
        LLF_TRY(all_given(p, l->o, attr, l->place));
        LLF_TRY(build_node(p, l, attr, p->made.at));
        for (size_t i = 1; i < results; i++)
            p->made.at[i] = p->made.at[0] + (llf_id)i;
        return LLF_OK;
    }
    p->arg.count = 0;
    LLF_TRY(make_operands(p, l));
    return llfi_made_build(p, l->made, made, (uint32_t)results, l->place, p->made.at);
}

/* As many names as results. */
static llf_status count_results(llfi_parser *p, const line *l, llfi_place comma)
{
    size_t names = p->results.count, results = l->o ? llfi_op_results(l->o) : 1;
    if (names == results || l->made == LLFI_MADE_SPLIT)
        return LLF_OK;
    return llfi_fail_at(p->lex.diag, LLF_E_PARSE, comma, NULL, "%s has %zu result%s, not %zu", l->name,
                        results, results == 1 ? "" : "s", names);
}

/* %name = op ... */
static llf_status parse_node(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    llfi_place comma;
    line l;
    attribute attr;
    llfi_made_attrs made;
    attr.given = made.given = 0; /* the rest is large, and only read when given */
    attr.value = 0;
    LLF_TRY(parse_results(p, &comma));
    LLF_TRY(parse_op(p, &l));
    if (l.o && llfi_attr_kind_of(l.o->attr) == LLFI_ATTR_KIND_SETTINGS)
        llfi_settings_default(l.o->attr, &attr.ask);
    LLF_TRY(count_results(p, &l, comma));
    llf_status status = parse_arguments(p, &l, &attr, &made);
    if (status == LLF_OK && llfi_lex_peek(x) != '!') /* before operands are counted: no comma is no arity */
        LLF_TRY(end_of_line(p, "behind an operand"));
    if (status == LLF_OK)
        status = build_line(p, &l, &attr, &made);
    if (status == LLF_E_TYPE || status == LLF_E_LIMIT)
        llfi_diag_in(x->diag, p->results.at[0].text, p->results.at[0].bytes);
    LLF_TRY(status);
    for (size_t i = 0; i < p->results.count; i++) {
        uint32_t kept;
        LLF_TRY(check_new(p, &p->results.at[i]));
        LLF_TRY(keep_name(p, &p->results.at[i], &kept));
        p->g->nodes.at[p->made.at[i]].name = kept;
        LLF_TRY(define(p, &p->results.at[i], p->made.at[i]));
    }
    LLF_TRY(llfi_parse_labels(p, p->made.at[0]));
    return end_of_line(p, "behind an op");
}

static llf_status parse_ret(llfi_parser *p, llfi_place at)
{
    llfi_lex *x = &p->lex;
    llfi_lex_spaces(x);
    char c = llfi_lex_peek(x);
    if (c == '\n' || c == '}' || c == 0)
        return llfi_fail_at(x->diag, LLF_E_GRAPH, at, "ret", "ret needs at least one value");
    do {
        llfi_lex_spaces(x);
        llfi_operand o;
        LLF_TRY(parse_operand(p, "ret", &o));
        if (o.id == LLF_NONE)
            LLF_TRY(make_literal(p, "ret", &o));
        LLF_TRY(llf_output(p->g, o.id));
        llfi_lex_spaces(x);
    } while (llfi_lex_accept(x, ','));
    return end_of_line(p, "behind ret");
}

static llf_status parse_body(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    for (bool ret = false;;) {
        llfi_lex_lines(x);
        llfi_place at = llfi_lex_place(x);
        char c = llfi_lex_peek(x);
        llfi_word w;
        if (c == 0)
            return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL,
                                ret ? "the text ends before the graph's '}'"
                                    : "the text ends before ret and '}'");
        if (c == '}' && !ret)
            return llfi_fail_at(x->diag, LLF_E_GRAPH, at, NULL, "the graph has no ret");
        if (llfi_lex_accept(x, '}'))
            return LLF_OK;
        if (ret)
            return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL,
                                "nothing but '}' may stand behind ret, found %s", llfi_lex_found(x).text);
        llfi_found found = llfi_lex_found(x);
        if (c == '%') {
            LLF_TRY(parse_node(p));
        } else if (llfi_lex_word(x, &w) && w.bytes == 3 && memcmp(w.text, "ret", 3) == 0) {
            LLF_TRY(parse_ret(p, at));
            ret = true;
        } else {
            return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL,
                                "expected '%%name = op ...', ret or '}', found %s", found.text);
        }
    }
}

/* ---- the graph */

static llf_status parse_input(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    llfi_word w;
    bool scalar;
    uint32_t type, name;
    LLF_TRY(llfi_lex_name(x, '%', "an input", &w));
    LLF_TRY(check_new(p, &w));
    llfi_lex_lines(x);
    LLF_TRY(llfi_lex_expect(x, ':', "and a type behind an input's name"));
    LLF_TRY(llfi_parse_type(p, &scalar, &type));
    LLF_TRY(keep_name(p, &w, &name));
    llf_id id = llfi_build_input(p->g, type, scalar, name, w.place);
    if (id == LLF_NONE)
        return p->g->poisoned;
    return define(p, &w, id);
}

static llf_status parse_signature(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    llfi_lex_lines(x);
    LLF_TRY(llfi_lex_expect(x, '(', "behind the graph's name"));
    llfi_lex_lines(x);
    bool more = llfi_lex_peek(x) != ')';
    while (more) {
        llfi_lex_lines(x);
        LLF_TRY(parse_input(p));
        llfi_lex_lines(x);
        more = llfi_lex_accept(x, ',');
    }
    LLF_TRY(llfi_lex_expect(x, ')', "or ',' behind an input"));
    llfi_lex_lines(x);
    return llfi_lex_expect(x, '{', "before the graph's lines");
}

/* "set NAME=..." or "data NAME=...": anything else behind ';' is prose. */
static bool is_directive(const char *p, const char *end)
{
    size_t word = end - p > 4 && memcmp(p, "set ", 4) == 0    ? 4
                  : end - p > 5 && memcmp(p, "data ", 5) == 0 ? 5
                                                              : 0;
    if (!word)
        return false;
    for (p += word; p < end && *p == ' '; p++) {
    }
    const char *name = p;
    while (p < end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                       *p == '_' || *p == '.' || *p == '-' || *p == '%'))
        p++;
    return p > name && p < end && *p == '=';
}

/* Keeps the directives of one comment line; `p` stands on its ';'. */
static llf_status keep_directives(llfi_parser *p, const char *at, const char *end)
{
    while (at < end) {
        at++;
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *first = at, *last = stop;
        while (first < last && (*first == ' ' || *first == '\t'))
            first++;
        while (last > first && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r'))
            last--;
        at = stop;
        if (llfi_parse_is_plan_line(first, last))
            LLF_TRY(llfi_parse_plan_line(p, first, last));
        if (!is_directive(first, last))
            continue;
        uint32_t text = llfi_name_add(p->g, first, (size_t)(last - first));
        if (text == UINT32_MAX || !llfi_vec_reserve(&p->g->cx->mem, &p->g->directives, 1))
            return llfi_nomem(p->lex.diag);
        p->g->directives.at[p->g->directives.count++] = text;
    }
    return LLF_OK;
}

static llf_status parse_head(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    for (;;) {
        while (x->at < x->end && (*x->at == ' ' || *x->at == '\t' || *x->at == '\r'))
            x->at++;
        char c = llfi_lex_peek(x);
        if (c == ';') {
            const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));
            LLF_TRY(keep_directives(p, x->at, end ? end : x->end));
        } else if (c != '\n') {
            break;
        }
        llfi_lex_spaces(x);
        if (llfi_lex_accept(x, '\n')) {
            x->line++;
            x->line_start = x->at;
        }
    }
    llfi_word w, name;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    if (x->at == x->end)
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL,
                            "no graph: the text is empty or holds only comments");
    if (!llfi_lex_word(x, &w) || w.bytes != 5 || memcmp(w.text, "graph", 5) != 0)
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "expected 'graph @name(...) {', found %s",
                            found.text);
    llfi_lex_lines(x);
    LLF_TRY(llfi_lex_name(x, '@', "the graph's name", &name));
    p->g->name = llfi_name_add(p->g, name.text, name.bytes);
    return p->g->name == UINT32_MAX ? llfi_nomem(x->diag) : LLF_OK;
}

static llf_status parse_graph(llfi_parser *p)
{
    llfi_lex *x = &p->lex;
    LLF_TRY(parse_head(p));
    LLF_TRY(parse_signature(p));
    LLF_TRY(parse_body(p));
    llfi_lex_lines(x);
    if (x->at == x->end)
        return LLF_OK;
    llfi_place at = llfi_lex_place(x);
    llfi_found found = llfi_lex_found(x);
    llfi_word w;
    if (llfi_lex_word(x, &w) && w.bytes == 5 && memcmp(w.text, "graph", 5) == 0)
        return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "a second graph: a file holds one");
    return llfi_fail_at(x->diag, LLF_E_PARSE, at, NULL, "nothing may stand behind the graph's '}', found %s",
                        found.text);
}

static bool set_file(llf_graph *g, const char *file)
{
    size_t size = strlen(file) + 1;
    g->file = llfi_alloc(&g->cx->mem, size);
    if (g->file)
        memcpy(g->file, file, size);
    return g->file != NULL;
}

static llf_status parse(llf_context *cx, const char *text, size_t bytes, const char *file, llf_graph **out)
{
    *out = NULL;
    if (!file || !*file)
        file = "<text>";
    llfi_parser p = {.nesting = 0};
    LLF_TRY(llfi_lex_begin(&p.lex, &cx->diag, bytes ? text : "", bytes, file));
    p.g = llf_graph_create(cx, "main");
    if (!p.g)
        return LLF_E_NOMEM;
    llf_status status = set_file(p.g, file) ? LLF_OK : llfi_nomem(&cx->diag);
    if (status == LLF_OK) {
        p.lex.file = p.g->file;
        status = parse_graph(&p);
    }
    llfi_vec_free(&cx->mem, &p.values);
    llfi_vec_free(&cx->mem, &p.operands);
    llfi_vec_free(&cx->mem, &p.arg);
    llfi_vec_free(&cx->mem, &p.results);
    llfi_vec_free(&cx->mem, &p.made);
    llfi_map_free(&cx->mem, &p.names);
    if (status != LLF_OK)
        llf_graph_destroy(p.g);
    else
        *out = p.g;
    return status;
}

llf_status llf_graph_parse(llf_context *cx, const char *text, size_t bytes, const char *file, llf_graph **out)
{
    if (!cx)
        return LLF_E_ARG;
    if (!out || (!text && bytes))
        return llfi_fail(&cx->diag, LLF_E_ARG, "llf_graph_parse: an argument is NULL");
    return parse(cx, text, bytes, file, out);
}
