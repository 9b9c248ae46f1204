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
    LLFI_VEC(llfi_word) results;     /* the line's names */
    LLFI_VEC(llf_id) made;           /* their values, where there are several */
    llfi_map names;
    uint32_t nesting;
} llfi_parser;

llf_status llfi_parse_dtype(llfi_parser *, llf_dtype *);
/* A list in brackets, of kind INTS, DIMS, RANGES or PADS; or of shifts, dims and negative integers, as the
 * starts of ranges; or of sizes of parts, as dims. */
#define LLFI_PARSE_AMOUNTS LLFI_ATTR_KIND_NONE
#define LLFI_PARSE_SIZES LLFI_ATTR_KIND_DTYPE
llf_status llfi_parse_list(llfi_parser *, llfi_attr_kind, const char *op, llfi_ask *);
/* "!k0,apart" behind a node, if there is one. */
llf_status llfi_parse_labels(llfi_parser *, llf_id);
/* "plan graph=..." of a comment above the graph. */
bool llfi_parse_is_plan_line(const char *text, const char *end);
llf_status llfi_parse_plan_line(llfi_parser *, const char *text, const char *end);
/* An integer, signed. */
llf_status llfi_parse_int(llfi_parser *, const char *op, const char *what, int64_t *);
/* parse_settings.c: the value of one part of a SETTINGS attribute. */
llf_status llfi_parse_setting(llfi_parser *, const llfi_op_info *, const llfi_word *name, llfi_ask *);
/* parse_made.c: what stands on a line like an op and is several. */
typedef enum { LLFI_MADE_NONE, LLFI_MADE_SPLIT, LLFI_MADE_STACK, LLFI_MADE_ROLL } llfi_made;
typedef struct {
    uint32_t given;
    int64_t axis, sections;
    llfi_ask list, axes; /* sizes or shifts */
} llfi_made_attrs;
llfi_made llfi_made_find(const llfi_word *);
const char *llfi_made_name(llfi_made);
llf_status llfi_made_attr(llfi_parser *, llfi_made, const llfi_word *name, llfi_made_attrs *);
/* Of the operands in `arg`; `out` has room for `results` ids, of which all but split fill one. */
llf_status llfi_made_build(llfi_parser *, llfi_made, const llfi_made_attrs *, uint32_t results, llfi_place,
                           llf_id *out);
llf_status llfi_parse_type(llfi_parser *, bool *scalar, uint32_t *type);

#endif
