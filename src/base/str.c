/* str.c: string buffer with a sticky out-of-memory flag.
 * Must not be used for floating point text: printf's follows the locale. */
#include "base/base.h"

void llfi_str_init(llfi_str *s, const llf_allocator *mem)
{
    *s = (llfi_str){.mem = mem};
}

/* Room for `extra` bytes and the NUL. */
static bool reserve(llfi_str *s, size_t extra)
{
    if (s->failed)
        return false;
    if (s->cap && s->cap - s->len > extra)
        return true;
    size_t size = s->cap ? s->cap : 64;
    bool ok = extra < SIZE_MAX / 4 - s->len;
    while (ok && size - s->len <= extra)
        size *= 2;
    char *p = ok ? llfi_resize(s->mem, s->at, s->cap, size) : NULL;
    if (!p) {
        s->failed = true;
        return false;
    }
    s->at = p;
    s->cap = size;
    return true;
}

void llfi_str_add(llfi_str *s, const char *text, size_t bytes)
{
    if (!reserve(s, bytes))
        return;
    if (bytes)
        memcpy(s->at + s->len, text, bytes);
    s->len += bytes;
    s->at[s->len] = 0;
}

void llfi_str_puts(llfi_str *s, const char *text)
{
    llfi_str_add(s, text, strlen(text));
}

void llfi_str_printf(llfi_str *s, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    char small[128];
    int n = vsnprintf(small, sizeof small, fmt, args);
    if (n < 0) {
        s->failed = true;
    } else if ((size_t)n < sizeof small) {
        llfi_str_add(s, small, (size_t)n);
    } else if (reserve(s, (size_t)n)) {
        vsnprintf(s->at + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void llfi_str_json(llfi_str *s, const char *text)
{
    llfi_str_add(s, "\"", 1);
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\') {
            char two[2] = {'\\', *p};
            llfi_str_add(s, two, 2);
        } else if (c == '\n') {
            llfi_str_add(s, "\\n", 2);
        } else if (c == '\t') {
            llfi_str_add(s, "\\t", 2);
        } else if (c < 0x20 || c == 0x7f) {
            llfi_str_printf(s, "\\u%04x", (unsigned)c);
        } else {
            llfi_str_add(s, p, 1);
        }
    }
    llfi_str_add(s, "\"", 1);
}

void llfi_str_clear(llfi_str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->at)
        s->at[0] = 0;
}

bool llfi_str_take(llfi_str *s, char **text, size_t *bytes)
{
    char *p = s->failed ? NULL : llfi_resize(s->mem, s->at, s->cap, s->len + 1);
    if (!p)
        return false;
    p[s->len] = 0;
    *text = p;
    *bytes = s->len;
    llfi_str_init(s, s->mem);
    return true;
}

void llfi_str_free(llfi_str *s)
{
    llfi_free(s->mem, s->at, s->cap);
    s->at = NULL;
    s->len = s->cap = 0;
    s->failed = false;
}
