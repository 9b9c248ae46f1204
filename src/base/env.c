/* env.c: the sole caller of getenv, over the rows of env.def. Must not keep values: the context copies them.
 */
#include "base/base.h"

#include <stdlib.h>

static const struct {
    const char *name, *meaning;
} rows[] = {
#define ENV(id, name, meaning) {name, meaning},
#include "base/env.def"
#undef ENV
};

const char *llfi_env_get(llfi_env_id id)
{
    const char *value = getenv(rows[id].name);
    return value && *value ? value : NULL;
}

void llfi_env_help(llfi_str *s)
{
    for (size_t i = 0; i < LLFI_COUNT(rows); i++)
        llfi_str_printf(s, "%-18s %s\n", rows[i].name, rows[i].meaning);
}
