/* golden.h: what the parts of the golden runner share: one file being checked. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "interp/interp.h"
#include "ir/float.h"
#include "runtime/program.h"

typedef struct {
    llf_context *cx;
    const char *path;
    char *text;
    size_t bytes;
    bool bless, failed;
    unsigned skips;
} golden;

void golden_fail(golden *, const char *fmt, ...) LLFI_PRINTF(2, 3);
void golden_skip(golden *, const char *why);
const char *golden_error(const golden *);
llf_graph *golden_parse(golden *); /* NULL: failed, said so */
/* run.c: what follows ";run " */
void golden_run(golden *, const char *line);

#endif
