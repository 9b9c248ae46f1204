/* log.c: topics of LLF_LOGS, and the files of LLF_DUMP_DIR. Must not fail a compile: a line that finds no
 * memory is dropped. A dump that cannot be written is an error, since somebody asked for it. */
#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

static const char *const topics[] = {
#define LOG(id, text, meaning) text,
#include "base/log.def"
#undef LOG
};

static bool find_topic(const char *text, size_t bytes, uint32_t *topic)
{
    for (uint32_t i = 0; i < LLFI_COUNT(topics); i++) {
        if (strlen(topics[i]) == bytes && memcmp(topics[i], text, bytes) == 0) {
            *topic = i;
            return true;
        }
    }
    return false;
}

llf_status llfi_log_parse(llfi_diag *d, const char *text, uint32_t *mask)
{
    uint32_t found = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ", ");
        uint32_t topic = 0;
        if (n && !find_topic(p, n, &topic)) {
            char legal[256] = "";
            for (size_t i = 0; i < LLFI_COUNT(topics); i++)
                llfi_diag_list(legal, sizeof legal, topics[i]);
            return llfi_fail(d, LLF_E_ARG, "LLF_LOGS: unknown topic '%.*s'; the topics are %s",
                             (int)(n < 64 ? n : 64), p, legal);
        }
        if (n)
            found |= 1u << topic;
        p += n;
        p += strspn(p, ", ");
    }
    *mask = found;
    return LLF_OK;
}

struct llfi_log_lock {
    pthread_mutex_t mutex;
    llf_allocator mem;
    atomic_int refs;
};

struct llfi_log_lock *llfi_log_lock_create(const llf_allocator *mem)
{
    struct llfi_log_lock *lock = llfi_alloc_zero(mem, sizeof *lock);
    if (lock && pthread_mutex_init(&lock->mutex, NULL) != 0) {
        llfi_free(mem, lock, sizeof *lock);
        return NULL;
    }
    if (lock) {
        lock->mem = *mem;
        atomic_init(&lock->refs, 1);
    }
    return lock;
}

void llfi_log_lock_retain(struct llfi_log_lock *lock)
{
    atomic_fetch_add_explicit(&lock->refs, 1, memory_order_relaxed);
}

void llfi_log_lock_release(struct llfi_log_lock *lock)
{
    if (!lock || atomic_fetch_sub_explicit(&lock->refs, 1, memory_order_acq_rel) != 1)
        return;
    llf_allocator mem = lock->mem;
    pthread_mutex_destroy(&lock->mutex);
    llfi_free(&mem, lock, sizeof *lock);
}

bool llfi_log_on(const llf_context *cx, llfi_log_id id)
{
    return (cx->log_mask >> id) & 1u;
}

static void write_line(const llf_context *cx, llfi_log_id id, const char *line, size_t bytes)
{
    if (!cx->log) {
        fprintf(stderr, "[%s] %.*s\n", topics[id], bytes > INT32_MAX ? INT32_MAX : (int)bytes, line);
        return;
    }
    char small[512];
    char *copy = bytes < sizeof small ? small : llfi_alloc(&cx->mem, bytes + 1);
    if (!copy)
        return;
    memcpy(copy, line, bytes);
    copy[bytes] = 0;
    cx->log(cx->log_user, topics[id], copy);
    if (copy != small)
        llfi_free(&cx->mem, copy, bytes + 1);
}

void llfi_log_text(const llf_context *cx, llfi_log_id id, const char *text, size_t bytes)
{
    if (!llfi_log_on(cx, id) || !bytes)
        return;
    if (cx->lock)
        pthread_mutex_lock(&cx->lock->mutex);
    while (bytes) {
        const char *end = memchr(text, '\n', bytes);
        size_t n = end ? (size_t)(end - text) : bytes;
        write_line(cx, id, text, n);
        n += end != NULL;
        text += n;
        bytes -= n;
    }
    if (cx->lock)
        pthread_mutex_unlock(&cx->lock->mutex);
}

void llfi_log(const llf_context *cx, llfi_log_id id, const char *fmt, ...)
{
    if (!llfi_log_on(cx, id))
        return;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n > 0) {
        char small[512];
        size_t size = (size_t)n + 1;
        char *text = size <= sizeof small ? small : llfi_alloc(&cx->mem, size);
        if (text) {
            vsnprintf(text, size, fmt, again);
            llfi_log_text(cx, id, text, (size_t)n);
            if (text != small)
                llfi_free(&cx->mem, text, size);
        }
    }
    va_end(again);
    va_end(args);
}

llf_status llfi_dump(llf_context *cx, const char *name, const char *text, size_t bytes)
{
    if (!cx->dump_dir)
        return LLF_OK;
    if (mkdir(cx->dump_dir, 0777) != 0 && errno != EEXIST)
        return llfi_fail(&cx->diag, LLF_E_IO, "%s: cannot be created: %s", cx->dump_dir, strerror(errno));
    llfi_str path;
    llfi_str_init(&path, &cx->mem);
    llfi_str_printf(&path, "%s/%s", cx->dump_dir, name);
    if (path.failed) {
        llfi_str_free(&path);
        return llfi_nomem(&cx->diag);
    }
    llf_status status = LLF_OK;
    FILE *f = fopen(path.at, "wb");
    bool bad = !f;
    int why = errno;
    if (f) {
        errno = 0;
        bad = fwrite(text, 1, bytes, f) != bytes;
        why = errno;
        if (fclose(f) != 0 && !bad) {
            bad = true;
            why = errno;
        }
    }
    if (bad)
        status = llfi_fail(&cx->diag, LLF_E_IO, "%s: cannot be written: %s", path.at, strerror(why));
    llfi_str_free(&path);
    return status;
}
