/* parse.h: what the files of the parser share. Private to src/ir. */
#ifndef LLFI_PARSE_H
#define LLFI_PARSE_H

#include "ir/lex.h"

/* A defined value: its name in the text, numeric ones included. */
typedef struct {
    llfi_word name;
    llf_id id;
} llfi_value;

/* An operand of the line being read. */
typedef struct {
    llfi_word word;
    llf_id id;      /* LLF_NONE: a literal */
    bool has_dtype; /* of a literal: suffix given */
    llf_dtype dtype;
} llfi_operand;

typedef struct {
    llfi_lex lex;
    llf_graph *g;
    LLFI_VEC(llfi_value) values;
    LLFI_VEC(llfi_operand) operands; /* of the line being read */
    LLFI_VEC(llf_id) arg;            /* their values */
    llfi_map names;
    uint32_t nesting;
} llfi_parser;

llf_status llfi_parse_dtype(llfi_parser *, llf_dtype *);
/* A list in brackets, of kind INTS, DIMS or RANGES. */
llf_status llfi_parse_list(llfi_parser *, llfi_attr_kind, const char *op, llfi_ask *);
/* "!k0,apart" behind a node, if there is one. */
llf_status llfi_parse_labels(llfi_parser *, llf_id);
/* "plan graph=..." of a comment above the graph. */
bool llfi_parse_is_plan_line(const char *text, const char *end);
llf_status llfi_parse_plan_line(llfi_parser *, const char *text, const char *end);
llf_status llfi_parse_type(llfi_parser *, bool *scalar, uint32_t *type);

#endif
