/* params.c: the tunables of params.def and the heuristics of heuristics.def as tables, and their text forms.
 */
#include "fuse/fuse.h"

#include <errno.h>
#include <stdlib.h>

const llfi_param_info llfi_param_table[] = {
#define PARAM(id, name, def, min, max, meaning) {name, def, min, max, meaning, offsetof(llfi_params, id)},
#include "fuse/params.def"
#undef PARAM
};
const size_t llfi_param_count = LLFI_COUNT(llfi_param_table);

const llfi_heuristic llfi_heuristics[] = {
#define HEURISTIC(name, meaning) {#name, meaning, llfi_heur_##name},
#include "fuse/heuristics.def"
#undef HEURISTIC
};
const size_t llfi_heuristics_count = LLFI_COUNT(llfi_heuristics);

const llfi_heuristic *llfi_heuristic_find(const char *name)
{
    for (size_t i = 0; i < llfi_heuristics_count; i++)
        if (!strcmp(llfi_heuristics[i].name, name))
            return &llfi_heuristics[i];
    return NULL;
}

static int64_t *field(llfi_params *p, const llfi_param_info *info)
{
    return (int64_t *)(void *)((char *)p + info->offset);
}

int64_t llfi_param_value(const llfi_params *p, const llfi_param_info *info)
{
    return *(const int64_t *)(const void *)((const char *)p + info->offset);
}

void llfi_params_default(llfi_params *p)
{
    for (size_t i = 0; i < llfi_param_count; i++)
        *field(p, &llfi_param_table[i]) = llfi_param_table[i].def;
}

static const llfi_param_info *find(const char *name, size_t bytes)
{
    for (size_t i = 0; i < llfi_param_count; i++)
        if (strlen(llfi_param_table[i].name) == bytes && !memcmp(llfi_param_table[i].name, name, bytes))
            return &llfi_param_table[i];
    return NULL;
}

static llf_status unknown(llfi_diag *d, const char *name, size_t bytes)
{
    char legal[512] = "";
    for (size_t i = 0; i < llfi_param_count; i++)
        llfi_diag_list(legal, sizeof legal, llfi_param_table[i].name);
    return llfi_fail(d, LLF_E_ARG, "no parameter is named \"%.*s\"; the parameters are %s",
                     (int)(bytes < 64 ? bytes : 64), name, legal);
}

/* One "name=value" of `bytes` characters. */
static llf_status set_one(llfi_diag *d, llfi_params *p, const char *text, size_t bytes)
{
    const char *eq = memchr(text, '=', bytes);
    if (!eq)
        return llfi_fail(d, LLF_E_ARG, "\"%.*s\" is not of the form name=value",
                         (int)(bytes < 64 ? bytes : 64), text);
    size_t name = (size_t)(eq - text), digits = bytes - name - 1;
    const llfi_param_info *info = find(text, name);
    if (!info)
        return unknown(d, text, name);
    char number[24] = "", *end = number;
    long long value = 0;
    errno = 0;
    if (digits > 0 && digits < sizeof number) {
        memcpy(number, eq + 1, digits);
        value = strtoll(number, &end, 10);
    }
    bool spaced = number[0] == ' ' || number[0] == '\t' || number[0] == '+';
    if (end == number || *end || errno || spaced || value < info->min || value > info->max)
        return llfi_fail(d, LLF_E_ARG, "%s=%.*s: not an integer from %lld to %lld", info->name,
                         (int)(digits < 64 ? digits : 64), eq + 1, (long long)info->min,
                         (long long)info->max);
    *field(p, info) = value;
    return LLF_OK;
}

llf_status llfi_params_set(llfi_diag *d, llfi_params *p, const char *text)
{
    llfi_params made = *p; /* all or nothing */
    for (const char *at = text; at && *at;) {
        size_t bytes = strcspn(at, ",");
        LLF_TRY(set_one(d, &made, at, bytes));
        at += bytes;
        if (*at == ',' && !*++at)
            return llfi_fail(d, LLF_E_ARG, "\"%.64s\" ends in a comma", text);
    }
    *p = made;
    return LLF_OK;
}

/* `text` broken into lines of at most 76 characters behind `indent` blanks. */
static void wrapped(llfi_str *s, const char *text, int indent)
{
    while (*text) {
        size_t room = 76 - (size_t)indent, n = strlen(text);
        if (n > room) {
            n = room;
            while (n && text[n] != ' ')
                n--;
        }
        llfi_str_printf(s, "%*s%.*s\n", indent, "", (int)n, text);
        text += n + (text[n] == ' ');
    }
}

void llfi_params_help(llfi_str *s)
{
    for (size_t i = 0; i < llfi_param_count; i++) {
        const llfi_param_info *info = &llfi_param_table[i];
        llfi_str_printf(s, "    %s=%lld (from %lld to %lld)\n", info->name, (long long)info->def,
                        (long long)info->min, (long long)info->max);
        wrapped(s, info->meaning, 6);
    }
}

void llfi_fuse_options_default(llfi_fuse_options *o)
{
    *o = (llfi_fuse_options){.heuristic = llfi_heuristic_find("greedy"), .param_bytes = 4096};
    llfi_params_default(&o->params);
}
