/* cli.h: the command line of llfuse-bench and llfuse-opt: one table of options per command, from which it is
 * parsed and its help is printed; one meaning of exit codes. It knows no option of either command. */
#ifndef LLFI_CLI_H
#define LLFI_CLI_H

#include "base/base.h"

/* Exit codes of the commands. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_NO_TARGET = 3 };
int cli_exit_of(llf_status);

typedef struct cli_option cli_option;
/* `value` is NULL for a flag. False: one sentence is in `error`. */
typedef bool cli_read_fn(void *options, const cli_option *, const char *value, char *error, size_t size);
struct cli_option {
    const char *name;  /* "--target" */
    const char *value; /* what the help calls its value; NULL: a flag */
    const char *help;  /* lines end in '\n' but for the last */
    cli_read_fn *read;
    size_t at;           /* offset of the field that cli_flag, cli_text and cli_number set */
    int64_t least, most; /* cli_number */
    const char *group;   /* heading before this option in the help, or NULL */
};
/* Ready readers: a bool, a const char *, a uint32_t between `least` and `most`. */
cli_read_fn cli_flag, cli_text, cli_number;
/* "name=value,..." over params.def, appended to an llfi_str and checked with what is there. */
cli_read_fn cli_param;

typedef struct {
    const char *name;  /* of the command */
    const char *usage; /* first lines of the help */
    const char *notes; /* after the options and before the exit codes; may be "" */
    bool params;       /* the rows of params.def too: the command has --param */
    const cli_option *option;
    size_t options;
} cli_command;
/* Options and operands in any order; "--name value" and "--name=value"; "--" ends the options, "-" is an
 * operand. `operand` holds argc entries. False: one sentence is in `error`. */
bool cli_parse(const cli_command *, int argc, char **argv, void *options, const char **operand,
               uint32_t *operands, char *error, size_t size);
void cli_help(const cli_command *, FILE *);
/* "llfuse-opt 0.1.0 (1a2b3c4d5e6f), LLVM 22.1.8" */
void cli_version(const cli_command *, FILE *);
void cli_help_env(FILE *);
extern const char cli_git_hash[];
extern const char cli_heuristics[]; /* the help of --heuristic */
/* Flushes the standard output. What could not be written is a failure, and is said. */
int cli_finish(const cli_command *, int code);

/* "100", "1e6", "64Mi", "4k": a count; false when it is not one or does not fit int64. */
bool cli_count(const char *text, size_t bytes, int64_t *value);
/* Next comma-separated part of *list; false at the end. */
bool cli_part(const char **list, const char **part, size_t *bytes);

#endif
