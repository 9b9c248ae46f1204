/* parse.h: what the files of the parser share. Private to src/ir. */
#ifndef LLFI_PARSE_H
#define LLFI_PARSE_H

#include "ir/lex.h"

/* A defined value: its name in the text, numeric ones included. */
typedef struct {
    llfi_word name;
    llf_id id;
} llfi_value;

typedef struct {
    llfi_lex lex;
    llf_graph *g;
    LLFI_VEC(llfi_value) values;
    llfi_map names;
    uint32_t nesting;
} llfi_parser;

llf_status llfi_parse_dtype(llfi_parser *, llf_dtype *);
/* A list in brackets, of kind INTS, DIMS or RANGES. */
llf_status llfi_parse_list(llfi_parser *, llfi_attr_kind, const char *op, llfi_ask *);
llf_status llfi_parse_type(llfi_parser *, bool *scalar, uint32_t *type);

#endif
