/* limits.h: for tests of what happens when memory is short: an allocator that soon has none, and a small
 * stack. */
#ifndef LIMITS_H
#define LIMITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>

/* llf_allocator.resize: `user` is an int64_t, how many allocations still succeed. */
static inline void *limits_resize(void *user, void *p, size_t old, size_t size)
{
    int64_t *left = user;
    (void)old;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(p, size) : NULL;
}

/* Runs `body(user)` on a stack of 256 KiB, on which nothing may recurse on a graph's depth. */
static inline void limits_small_stack(void *(*body)(void *), void *user)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attr, body, user), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

#endif
