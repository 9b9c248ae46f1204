/* libdevice.c: looks a pruned libdevice function up in the embedded table. Must not touch LLVM. */
#include "target/nvptx/libdevice_data.h"
#include "target/target.h"

bool llfi_libdevice_present(void)
{
    return llfi_libdevice_count != 0;
}

bool llfi_libdevice_get(const char *function, const unsigned char **bitcode, size_t *bytes)
{
    for (size_t i = 0; i < llfi_libdevice_count; i++)
        if (strcmp(llfi_libdevice_table[i].name, function) == 0) {
            *bitcode = llfi_libdevice_table[i].bitcode;
            *bytes = llfi_libdevice_table[i].bytes;
            return true;
        }
    return false;
}
