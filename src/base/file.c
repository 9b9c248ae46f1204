/* file.c: whole files into memory, and the clock. Must not hold a file open or guess at its content. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Reads until the end; sizes of pipes and /proc files are not known beforehand. */
static llf_status read_all(llfi_diag *d, const char *path, int fd, size_t limit, llfi_str *s)
{
    for (;;) {
        char chunk[16384];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return llfi_fail(d, LLF_E_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (n == 0)
            return LLF_OK;
        if ((size_t)n > limit - s->len)
            return llfi_fail(d, LLF_E_LIMIT, "%s: longer than the limit of %zu bytes", path, limit);
        llfi_str_add(s, chunk, (size_t)n);
        if (s->failed)
            return llfi_nomem(d);
    }
}

llf_status llfi_read_file(const llf_allocator *mem, llfi_diag *d, const char *path, size_t limit, char **text,
                          size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return llfi_fail(d, LLF_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    llfi_str s;
    llfi_str_init(&s, mem);
    struct stat st;
    llf_status status = LLF_OK;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (uintmax_t)st.st_size > limit)
        status = llfi_fail(d, LLF_E_LIMIT, "%s: longer than the limit of %zu bytes", path, limit);
    if (status == LLF_OK)
        status = read_all(d, path, fd, limit, &s);
    close(fd);
    if (status == LLF_OK && !llfi_str_take(&s, text, bytes))
        status = llfi_nomem(d);
    llfi_str_free(&s);
    return status;
}

double llfi_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
