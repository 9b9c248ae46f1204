/* libdevice_data.h: the table that tools/embed_libdevice.c generates at build time. Only nvptx/libdevice.c
 * reads it. */
#ifndef LLFI_LIBDEVICE_DATA_H
#define LLFI_LIBDEVICE_DATA_H

#include <stddef.h>

typedef struct {
    const char *name; /* "__nv_tanhf" */
    const unsigned char *bitcode;
    size_t bytes;
} llfi_libdevice_entry;
extern const llfi_libdevice_entry llfi_libdevice_table[];
extern const size_t llfi_libdevice_count;

#endif
