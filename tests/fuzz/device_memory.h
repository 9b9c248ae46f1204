/* device_memory.h: the memory of a target, for tests: plain memory for host, the driver's for nvptx. One per
 * thread. */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "base/base.h"

typedef struct {
    const char *target; /* as llf_options.target */
    /* Makes the device usable on this thread; false: there is none, and why. */
    bool (*start)(char *why, size_t size);
    void (*stop)(void);
    void *(*alloc)(size_t bytes); /* 256-byte aligned; NULL: out of memory. bytes > 0. */
    void (*release)(void *);
    bool (*write)(void *device, const void *host, size_t bytes);
    bool (*read)(void *host, const void *device, size_t bytes);
    bool (*sync)(void); /* waits for the default stream */
} device_memory;
extern const device_memory device_memory_host, device_memory_nvptx;
const device_memory *device_memory_find(const char *target); /* NULL: unknown */

#endif
