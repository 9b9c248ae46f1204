/* cli.c: see cli.h. It prints nothing but help, version and a failure to write. */
#include "tools/cli.h"

#include "passes/fuse/plan.h"

#include <errno.h>

#define NAME 64u
#define COLUMN 25 /* where the help's explanations begin */
#define FAIL(...) (snprintf(error, size, __VA_ARGS__), false)

/* Without `default`, so that a new status has to be decided on. */
int cli_exit_of(llf_status status)
{
    switch (status) {
    case LLF_OK: return CLI_DONE;
    case LLF_E_ARG:
    case LLF_E_PARSE:
    case LLF_E_TYPE:
    case LLF_E_GRAPH:
    case LLF_E_LIMIT:
    case LLF_E_IO:
    case LLF_E_ALIAS:
    case LLF_E_GUARD:
    case LLF_E_ORDER:
    case LLF_E_UNSUPPORTED:
    case LLF_E_PLAN: return CLI_USAGE;
    case LLF_E_TARGET: return CLI_NO_TARGET;
    case LLF_E_NOMEM:
    case LLF_E_DRIVER:
    case LLF_E_DEVICE_NOMEM:
    case LLF_E_PTX:
    case LLF_E_LLVM:
    case LLF_E_STATE:
    case LLF_E_INTERNAL: return CLI_FAILED;
    }
    return CLI_FAILED;
}

bool cli_count(const char *text, size_t bytes, int64_t *value)
{
    static const struct {
        const char *suffix;
        int64_t factor;
    } unit[] = {{"", 1},           {"k", 1000},     {"K", 1000},     {"M", 1000000},
                {"G", 1000000000}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}};
    int64_t n = 0;
    size_t i = 0;
    for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
        if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
            __builtin_add_overflow(n, (int64_t)(text[i] - '0'), &n))
            return false;
    if (i == 0)
        return false;
    if (i + 1 < bytes && (text[i] == 'e' || text[i] == 'E')) {
        int power = 0;
        for (i++; i < bytes && text[i] >= '0' && text[i] <= '9' && power < 100; i++)
            power = power * 10 + (text[i] - '0');
        for (; power > 0; power--)
            if (__builtin_mul_overflow(n, (int64_t)10, &n))
                return false;
        *value = n;
        return i == bytes;
    }
    for (size_t u = 0; u < LLFI_COUNT(unit); u++)
        if (strlen(unit[u].suffix) == bytes - i && !memcmp(unit[u].suffix, text + i, bytes - i))
            return !__builtin_mul_overflow(n, unit[u].factor, value);
    return false;
}

bool cli_part(const char **list, const char **part, size_t *bytes)
{
    if (!*list)
        return false;
    const char *comma = strchr(*list, ',');
    *part = *list;
    *bytes = comma ? (size_t)(comma - *list) : strlen(*list);
    *list = comma ? comma + 1 : NULL;
    return true;
}

/* ---- readers */

static void *field(void *options, const cli_option *o)
{
    return (char *)options + o->at;
}

bool cli_flag(void *options, const cli_option *o, const char *value, char *error, size_t size)
{
    (void)value, (void)error, (void)size;
    *(bool *)field(options, o) = true;
    return true;
}

bool cli_text(void *options, const cli_option *o, const char *value, char *error, size_t size)
{
    (void)error, (void)size;
    *(const char **)field(options, o) = value;
    return true;
}

bool cli_number(void *options, const cli_option *o, const char *value, char *error, size_t size)
{
    int64_t n;
    if (!cli_count(value, strlen(value), &n) || n < o->least || n > o->most)
        return FAIL("%s: '%s' is not a number from %lld to %lld", o->name, value, (long long)o->least,
                    (long long)o->most);
    *(uint32_t *)field(options, o) = (uint32_t)n;
    return true;
}

bool cli_param(void *options, const cli_option *o, const char *value, char *error, size_t size)
{
    llfi_str *s = field(options, o);
    llfi_diag why = {0};
    llfi_params check;
    if (!s->mem)
        llfi_str_init(s, &llfi_malloc_allocator);
    llfi_params_default(&check);
    if (llfi_params_set(&why, &check, value) != LLF_OK || !*value)
        return FAIL("%s: %s", o->name, *value ? why.message : "NAME=N is wanted");
    llfi_str_printf(s, "%s%s", s->len ? "," : "", value);
    return !s->failed || FAIL("out of host memory");
}

const char cli_heuristics[] = "the fusion heuristic, of"
#define HEURISTIC(name, meaning) " " #name
#include "passes/fuse/heuristics.def"
#undef HEURISTIC
                              " (default greedy)";

/* ---- the line */

static const cli_option *find(const cli_command *c, const char *name, size_t bytes)
{
    if (bytes == 2 && !memcmp(name, "-h", 2))
        return find(c, "--help", strlen("--help"));
    for (size_t i = 0; i < c->options; i++)
        if (strlen(c->option[i].name) == bytes && !memcmp(c->option[i].name, name, bytes))
            return &c->option[i];
    return NULL;
}

bool cli_parse(const cli_command *c, int argc, char **argv, void *options, const char **operand,
               uint32_t *operands, char *error, size_t size)
{
    bool plain = false; /* after "--" */
    *operands = 0;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *eq = strchr(arg, '=');
        if (plain || arg[0] != '-' || !arg[1]) {
            operand[(*operands)++] = arg;
            continue;
        }
        if (!strcmp(arg, "--")) {
            plain = true;
            continue;
        }
        size_t bytes = eq ? (size_t)(eq - arg) : strlen(arg);
        const cli_option *o = find(c, arg, bytes);
        if (!o)
            return FAIL("no option '%.*s'; see --help", bytes < NAME ? (int)bytes : (int)NAME, arg);
        if (!o->value && eq)
            return FAIL("%s takes no value", o->name);
        if (o->value && !eq && i + 1 == argc)
            return FAIL("%s needs a value; see --help", o->name);
        if (!o->read(options, o, !o->value ? NULL : eq ? eq + 1 : argv[++i], error, size))
            return false;
    }
    return true;
}

static void help_option(const cli_option *o, FILE *f)
{
    int width = fprintf(f, "  %s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
    fprintf(f, "%*s", width < COLUMN ? COLUMN - width : 1, "");
    for (const char *line = o->help; *line;) {
        size_t bytes = strcspn(line, "\n");
        fprintf(f, "%.*s\n", (int)bytes, line);
        line += bytes;
        if (*line)
            fprintf(f, "%*s", COLUMN, "");
        line += *line == '\n';
    }
}

void cli_help(const cli_command *c, FILE *f)
{
    fputs(c->usage, f);
    for (size_t i = 0; i < c->options; i++) {
        if (c->option[i].group)
            fprintf(f, "%s\n", c->option[i].group);
        help_option(&c->option[i], f);
    }
    if (c->params) {
        llfi_str s;
        llfi_str_init(&s, &llfi_malloc_allocator);
        llfi_params_help(&s);
        fprintf(f, "parameters of --param, their defaults and ranges\n%s", s.at ? s.at : "");
        llfi_str_free(&s);
    }
    fprintf(f,
            "%s\nexit codes: 0 done, 1 a check failed or something broke, 2 bad usage or input, 3 no such "
            "target here\n",
            c->notes);
}

void cli_version(const cli_command *c, FILE *f)
{
    fprintf(f, "%s %s (%s), LLVM %s\n", c->name, llf_version(), cli_git_hash, llf_llvm_version());
}

void cli_help_env(FILE *f)
{
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_env_help(&s);
    fputs(s.at ? s.at : "", f);
    llfi_str_free(&s);
}

int cli_finish(const cli_command *c, int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: cannot write the standard output: %s\n", c->name, strerror(errno));
    return code ? code : CLI_FAILED;
}
