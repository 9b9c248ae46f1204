/* lex.c: see lex.h. Columns count bytes from 1. Must not allocate. */
#include "ir/lex.h"

/* Length of a well-formed UTF-8 sequence at p (Unicode table 3-7), 0 for none. */
static size_t utf8(const unsigned char *p, size_t left)
{
    unsigned char lo = 0x80, hi = 0xbf;
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 0;
    if (p[0] >= 0xf0 && p[0] <= 0xf4)
        n = 4;
    if (n == 0 || n > left)
        return 0;
    if (p[0] == 0xe0)
        lo = 0xa0;
    else if (p[0] == 0xed)
        hi = 0x9f;
    else if (p[0] == 0xf0)
        lo = 0x90;
    else if (p[0] == 0xf4)
        hi = 0x8f;
    for (size_t i = 1; i < n; i++) {
        if (p[i] < lo || p[i] > hi)
            return 0;
        lo = 0x80;
        hi = 0xbf;
    }
    return n;
}

static llf_status check_text(llfi_lex *x)
{
    while (x->at < x->end) {
        unsigned char c = (unsigned char)*x->at;
        if (c == 0)
            return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL,
                                "NUL byte: this is no text file");
        if ((c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
            return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL, "control byte 0x%02x",
                                (unsigned)c);
        size_t n = c < 0x80 ? 1 : utf8((const unsigned char *)x->at, (size_t)(x->end - x->at));
        if (n == 0)
            return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL, "byte 0x%02x is not UTF-8",
                                (unsigned)c);
        x->at += n;
        if (c == '\n') {
            x->line++;
            x->line_start = x->at;
        }
    }
    return LLF_OK;
}

llf_status llfi_lex_begin(llfi_lex *x, llfi_diag *diag, const char *text, size_t bytes, const char *file)
{
    if (bytes > LLFI_MAX_FILE)
        return llfi_fail_at(diag, LLF_E_LIMIT, (llfi_place){file, 1, 1}, NULL,
                            "the text is %zu bytes long, the limit is %zu", bytes, LLFI_MAX_FILE);
    *x = (llfi_lex){diag, file, text, text + bytes, text, 1};
    LLF_TRY(check_text(x));
    x->at = x->line_start = text;
    x->line = 1;
    return LLF_OK;
}

llfi_place llfi_lex_place(const llfi_lex *x)
{
    return (llfi_place){x->file, x->line, (uint32_t)(x->at - x->line_start) + 1};
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return is_alpha(c) || is_digit(c) || c == '.' || c == '-';
}

llfi_found llfi_lex_found(const llfi_lex *x)
{
    llfi_found f;
    if (x->at >= x->end) {
        snprintf(f.text, sizeof f.text, "the end of the text");
    } else if (*x->at == '\n' || *x->at == '\r') {
        snprintf(f.text, sizeof f.text, "the end of the line");
    } else {
        size_t left = (size_t)(x->end - x->at), n = utf8((const unsigned char *)x->at, left);
        for (; is_name(*x->at) && n < left && n < 32 && is_name(x->at[n]); n++) {
        }
        snprintf(f.text, sizeof f.text, "'%.*s'", (int)n, x->at);
    }
    return f;
}

void llfi_lex_spaces(llfi_lex *x)
{
    while (x->at < x->end && (*x->at == ' ' || *x->at == '\t' || *x->at == '\r'))
        x->at++;
    if (x->at < x->end && *x->at == ';') {
        const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));
        x->at = end ? end : x->end;
    }
}

void llfi_lex_lines(llfi_lex *x)
{
    llfi_lex_spaces(x);
    while (llfi_lex_peek(x) == '\n') {
        x->at++;
        x->line++;
        x->line_start = x->at;
        llfi_lex_spaces(x);
    }
}

bool llfi_lex_accept(llfi_lex *x, char c)
{
    if (llfi_lex_peek(x) != c)
        return false;
    x->at++;
    return true;
}

llf_status llfi_lex_expect(llfi_lex *x, char c, const char *where)
{
    if (llfi_lex_accept(x, c))
        return LLF_OK;
    return llfi_fail_at(x->diag, LLF_E_PARSE, llfi_lex_place(x), NULL, "expected '%c' %s, found %s", c, where,
                        llfi_lex_found(x).text);
}

bool llfi_lex_word(llfi_lex *x, llfi_word *w)
{
    if (!is_alpha(llfi_lex_peek(x)))
        return false;
    *w = (llfi_word){x->at, 0, llfi_lex_place(x)};
    while (x->at < x->end && (is_alpha(*x->at) || is_digit(*x->at)))
        x->at++;
    w->bytes = (uint32_t)(x->at - w->text);
    return true;
}

llf_status llfi_lex_name(llfi_lex *x, char mark, const char *what, llfi_word *w)
{
    llfi_place place = llfi_lex_place(x);
    if (!llfi_lex_accept(x, mark))
        return llfi_fail_at(x->diag, LLF_E_PARSE, place, NULL, "expected %s (%cname), found %s", what, mark,
                            llfi_lex_found(x).text);
    *w = (llfi_word){x->at, 0, place};
    while (x->at < x->end && is_name(*x->at))
        x->at++;
    w->bytes = (uint32_t)(x->at - w->text);
    if (w->bytes == 0)
        return llfi_fail_at(x->diag, LLF_E_PARSE, place, NULL,
                            "'%c' has no name behind it: letters, digits, '_', '.', '-'", mark);
    if (w->bytes > LLFI_MAX_NAME)
        return llfi_fail_at(x->diag, LLF_E_LIMIT, place, NULL,
                            "name '%c%.24s...' is %u bytes long, the limit is %u", mark, w->text, w->bytes,
                            LLFI_MAX_NAME);
    return LLF_OK;
}

bool llfi_lex_literal(llfi_lex *x, llfi_word *w)
{
    const char *p = x->at;
    *w = (llfi_word){p, 0, llfi_lex_place(x)};
    p += p < x->end && (*p == '-' || *p == '+');
    const char *body = p;
    bool hex = x->end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    for (; p < x->end; p++) {
        bool sign = (*p == '+' || *p == '-') && p > body &&
                    (p[-1] == 'p' || p[-1] == 'P' || (!hex && (p[-1] == 'e' || p[-1] == 'E')));
        if (!is_alpha(*p) && !is_digit(*p) && *p != '.' && !sign)
            break;
    }
    if (p == body)
        return false;
    x->at = p;
    w->bytes = (uint32_t)(p - w->text);
    return true;
}
