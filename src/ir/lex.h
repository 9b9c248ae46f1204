/* lex.h: characters of `.llf` text: places, spaces, comments, words, names. Knows nothing of graphs. */
#ifndef LLFI_LEX_H
#define LLFI_LEX_H

#include "ir/ir.h"

typedef struct {
    llfi_diag *diag;
    const char *file;
    const char *at, *end, *line_start;
    uint32_t line;
} llfi_lex;

typedef struct {
    const char *text;
    uint32_t bytes;
    llfi_place place;
} llfi_word;

/* What stands at the cursor, for "found ...". */
typedef struct {
    char text[48];
} llfi_found;

/* Refuses what is no text at all: NUL and other control bytes, bytes that are not UTF-8, too much of it. */
llf_status llfi_lex_begin(llfi_lex *, llfi_diag *, const char *text, size_t bytes, const char *file);
llfi_place llfi_lex_place(const llfi_lex *);
llfi_found llfi_lex_found(const llfi_lex *);
static inline char llfi_lex_peek(const llfi_lex *x)
{
    return x->at < x->end ? *x->at : 0;
}
void llfi_lex_spaces(llfi_lex *); /* spaces and a comment, up to the end of the line */
void llfi_lex_lines(llfi_lex *);  /* spaces, comments and line ends */
/* Takes `c` after spaces (in brackets: after line ends too). `where` finishes "expected 'c' ...". */
llf_status llfi_lex_expect(llfi_lex *, char c, const char *where);
bool llfi_lex_accept(llfi_lex *, char c);
/* [A-Za-z_][A-Za-z0-9_]*; false, and nothing taken, when there is none. */
bool llfi_lex_word(llfi_lex *, llfi_word *);
/* A name behind its '%' or '@' (`mark`). */
llf_status llfi_lex_name(llfi_lex *, char mark, const char *what, llfi_word *);
/* A literal's characters, signs included; false when there are none. */
bool llfi_lex_literal(llfi_lex *, llfi_word *);

#endif
