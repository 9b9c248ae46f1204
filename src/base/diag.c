/* diag.c: the one diagnostic of a context or an execution. Must not allocate: it also reports that memory is
 * out. */
#include "base/base.h"

static void copy_cut(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);
    if (n < size) {
        memmove(to, from, n + 1); /* a caller may hand back our own text */
    } else {
        memmove(to, from, size - 4);
        memcpy(to + size - 4, "...", 4);
    }
}

static void set(llfi_diag *d, llf_status status, llfi_place place, const char *op)
{
    copy_cut(d->file, sizeof d->file, place.file ? place.file : "");
    copy_cut(d->op, sizeof d->op, op ? op : "");
    d->pub = (llf_diagnostic){status, d->message, d->file, place.line, place.col, d->op};
}

/* Formats into `to`, marking a cut. The arguments may point into the diagnostic itself, hence the copy. */
static void format(llfi_diag *d, size_t at, const char *fmt, va_list args)
{
    char text[sizeof d->message];
    int n = vsnprintf(text, sizeof text, fmt, args);
    if (n < 0)
        copy_cut(text, sizeof text, "(message cannot be formatted)");
    else if ((size_t)n >= sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    copy_cut(d->message + at, sizeof d->message - at, text);
}

llf_status llfi_fail(llfi_diag *d, llf_status status, const char *fmt, ...)
{
    if (!d)
        return status;
    va_list args;
    va_start(args, fmt);
    format(d, 0, fmt, args);
    va_end(args);
    set(d, status, (llfi_place){0}, NULL);
    return status;
}

llf_status llfi_fail_at(llfi_diag *d, llf_status status, llfi_place place, const char *op, const char *fmt,
                        ...)
{
    if (!d)
        return status;
    char front[sizeof d->file + 32];
    size_t at = 0;
    front[0] = 0;
    set(d, status, place, op);
    if (place.line) {
        int n = snprintf(front, sizeof front, "%s:%u:%u: ", place.file ? d->file : "<text>", place.line,
                         place.col);
        at = n > 0 ? (size_t)n : 0;
    }
    va_list args;
    va_start(args, fmt);
    format(d, at, fmt, args);
    va_end(args);
    memcpy(d->message, front, at);
    return status;
}

llf_status llfi_nomem(llfi_diag *d)
{
    return llfi_fail(d, LLF_E_NOMEM, "out of host memory");
}

void llfi_diag_in(llfi_diag *d, const char *name, size_t bytes)
{
    char text[300];
    size_t at = d ? strlen(d->message) : 0;
    if (!bytes || !d || at + 1 >= sizeof d->message)
        return;
    snprintf(text, sizeof text, ", in %%%.*s", (int)(bytes < 256 ? bytes : 256), name);
    copy_cut(d->message + at, sizeof d->message - at, text);
}

void llfi_diag_copy(llfi_diag *to, const llfi_diag *from)
{
    if (to == from)
        return;
    *to = *from;
    to->pub.message = to->message;
    to->pub.file = to->file;
    to->pub.op = to->op;
}

void llfi_diag_list(char *list, size_t size, const char *word)
{
    size_t used = strlen(list), more = strlen(word) + (used ? 2 : 0);
    if (more < size - used)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", word);
}
