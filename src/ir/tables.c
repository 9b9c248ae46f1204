/* tables.c: the rows of ops.def, dtypes.def and attrs.def as arrays, and their lookup by text.
 * Must hold nothing that is not in a .def file. */
#include "ir/ir.h"

const llfi_op_info llfi_ops[LLF_OPS] = {
#define ROW(id, name, arity, sig, set, flags, attr, meaning, cls) \
    [LLF_OP_##id] = {#name, arity, cls, sig, LLFI_SET_##set, flags, LLFI_ATTR_##attr, meaning},
#define LEAF(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_LEAF)
#define EW(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_EW)
#define COMPOSITE(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_COMPOSITE)
#define VIEW(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_VIEW)
#define INDEX(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_INDEX)
#define REDUCE(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_REDUCE)
#define RESULT(id, name, arity, sig, set, flags, attr, meaning) \
    ROW(id, name, arity, sig, set, flags, attr, meaning, LLFI_CLASS_RESULT)
#include "llfuse/ops.def"
#undef ROW
};

const llfi_dtype_info llfi_dtypes[LLF_DTYPES] = {
#define DTYPE(id, text, bytes, kind) [LLF_##id] = {#text, bytes, LLFI_KIND_##kind},
#include "llfuse/dtypes.def"
#undef DTYPE
};

static const struct {
    const char *name, *legal;
    llfi_attr_kind kind;
} attrs[] = {
#define ATTR(id, text, kind, legal, meaning) [LLFI_ATTR_##id] = {#text, legal, LLFI_ATTR_KIND_##kind},
#include "llfuse/attrs.def"
#undef ATTR
};

static bool same(const char *name, const char *text, size_t bytes)
{
    return strncmp(name, text, bytes) == 0 && name[bytes] == 0;
}

bool llfi_op_find(const char *text, size_t bytes, llf_op *op)
{
    if (bytes == 0 || memchr(text, 0, bytes))
        return false;
    for (size_t i = 0; i < LLF_OPS; i++) {
        if (llfi_ops[i].name[0] == text[0] && same(llfi_ops[i].name, text, bytes)) {
            *op = (llf_op)i;
            return true;
        }
    }
    return false;
}

bool llfi_dtype_find(const char *text, size_t bytes, llf_dtype *dtype)
{
    if (bytes == 0 || memchr(text, 0, bytes))
        return false;
    for (size_t i = 0; i < LLF_DTYPES; i++) {
        if (same(llfi_dtypes[i].name, text, bytes)) {
            *dtype = (llf_dtype)i;
            return true;
        }
    }
    return false;
}

const char *llfi_attr_name(llfi_attr_id id)
{
    return id < LLFI_ATTRS ? attrs[id].name : "";
}

llfi_attr_kind llfi_attr_kind_of(llfi_attr_id id)
{
    return id < LLFI_ATTRS ? attrs[id].kind : LLFI_ATTR_KIND_NONE;
}

const char *llfi_attr_legal(llfi_attr_id id)
{
    return id < LLFI_ATTRS ? attrs[id].legal : "";
}

const char *llfi_attr_word_text(llfi_attr_id id, uint64_t index, size_t *bytes)
{
    const char *p = llfi_attr_legal(id);
    for (uint64_t i = 0; *p; i++) {
        size_t n = strcspn(p, " ");
        if (i == index) {
            *bytes = n;
            return p;
        }
        p += n;
        p += strspn(p, " ");
    }
    *bytes = 0;
    return NULL;
}

bool llfi_attr_word(llfi_attr_id id, const char *text, size_t bytes, uint64_t *index)
{
    size_t n;
    const char *word;
    for (uint64_t i = 0; (word = llfi_attr_word_text(id, i, &n)) != NULL; i++) {
        if (n == bytes && memcmp(word, text, n) == 0) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool llfi_set_has(llfi_set set, llf_dtype dtype)
{
    if ((uint32_t)dtype >= LLF_DTYPES)
        return false;
    llfi_kind kind = llfi_dtypes[dtype].kind;
    return set == LLFI_SET_ANY || kind == LLFI_KIND_FLOAT || (set == LLFI_SET_NUM && kind == LLFI_KIND_INT);
}

const char *llf_dtype_name(llf_dtype dtype)
{
    return (uint32_t)dtype < LLF_DTYPES ? llfi_dtypes[dtype].name : "?";
}

size_t llf_dtype_size(llf_dtype dtype)
{
    return (uint32_t)dtype < LLF_DTYPES ? llfi_dtypes[dtype].bytes : 0;
}
