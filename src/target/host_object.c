/* host_object.c: reads the symbol table of a freshly made ELF object. Whatever LLVM may have inserted on its
 * own (memset, libgcc's conversions, fma) shows here as an undefined symbol, before anything is loaded. */
#include "target/host.h"

#include <elf.h>

static bool known(const char *name)
{
    for (size_t i = 0; i < llfi_host_symbols_count; i++)
        if (strcmp(llfi_host_symbols[i].name, name) == 0)
            return true;
    return false;
}

static llf_status check_table(llfi_diag *d, const char *object, size_t bytes, const Elf64_Shdr *table,
                              const Elf64_Shdr *names)
{
    if (table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset || names->sh_offset > bytes ||
        names->sh_size > bytes - names->sh_offset || names->sh_size == 0)
        return llfi_fail(d, LLF_E_LLVM, "host: the object's symbol table is malformed");
    const char *text = object + names->sh_offset;
    for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym sym;
        memcpy(&sym, object + table->sh_offset + at, sizeof sym);
        if (sym.st_shndx != SHN_UNDEF)
            continue;
        if (sym.st_name >= names->sh_size || text[names->sh_size - 1] != '\0')
            return llfi_fail(d, LLF_E_LLVM, "host: the object's symbol names are malformed");
        if (!known(text + sym.st_name))
            return llfi_fail(d, LLF_E_LLVM,
                             "host: generated code calls '%.80s', which llfuse does not provide",
                             text + sym.st_name);
    }
    return LLF_OK;
}

llf_status llfi_host_object_check(llfi_diag *d, const char *object, size_t bytes)
{
    Elf64_Ehdr head;
    if (bytes < sizeof head)
        return llfi_fail(d, LLF_E_LLVM, "host: the object is too short");
    memcpy(&head, object, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > bytes ||
        (bytes - head.e_shoff) / sizeof(Elf64_Shdr) < head.e_shnum)
        return llfi_fail(d, LLF_E_LLVM, "host: LLVM gave something else than an ELF64 object");
    for (uint32_t i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section, names;
        memcpy(&section, object + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (section.sh_link >= head.e_shnum)
            return llfi_fail(d, LLF_E_LLVM, "host: the object's symbol table is malformed");
        memcpy(&names, object + head.e_shoff + section.sh_link * sizeof names, sizeof names);
        LLF_TRY(check_table(d, object, bytes, &section, &names));
    }
    return LLF_OK;
}
