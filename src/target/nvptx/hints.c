/* hints.c: marks a kernel's accesses to global memory for the caches. LLVM has no word for it short of inline
 * assembly, which would lose address offsets and hide loads from its passes, so the finished PTX is marked:
 * `ld.global[.nc]` and `st.global` get their eviction priorities and, for L2, the policy as a last operand.
 * It must not change anything else. */
#include "target/nvptx/nvptx.h"

#include "lower/llvm.h"

static const char attribute[] = "llfuse.hints"; /* two digits: llfi_hint of loads, of stores */

/* PTX ISA 7.4, ld, st and createpolicy. */
static const struct {
    const char *l1, *l2;
} hints[LLFI_HINTS] = {
    [LLFI_HINT_NONE] = {NULL, NULL},
    [LLFI_HINT_L1_LAST] = {".L1::evict_last", NULL},
    [LLFI_HINT_LAST] = {".L1::evict_last", "evict_last"},
    [LLFI_HINT_L2_LAST] = {".L1::no_allocate", "evict_last"},
    [LLFI_HINT_L2_FIRST] = {".L1::no_allocate", "evict_first"},
};

enum { LOADS, STORES, KINDS };
static const struct {
    const char *opcode, *policy; /* its register */
} kinds[KINDS] = {{"ld.global", "%llf_loads"}, {"st.global", "%llf_stores"}};

typedef struct {
    llfi_hint hint[KINDS];
    char *to; /* NULL: only counting */
    size_t bytes;
} writer;

static void put(writer *w, const char *text, size_t bytes)
{
    if (w->to)
        memcpy(w->to + w->bytes, text, bytes);
    w->bytes += bytes;
}

static void puts_(writer *w, const char *text)
{
    put(w, text, strlen(text));
}

static const char *line_end(const char *at)
{
    return at + strcspn(at, "\n");
}

/* Which kind of access this line is, and where its qualifiers go; KINDS: none that is marked. */
static int kind_of(const writer *w, const char *line, const char **qualifiers)
{
    if (*line != '\t')
        return KINDS;
    line++;
    if (*line == '@')
        line += strcspn(line, " \t\n");
    line += strspn(line, " \t");
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(kinds[k].opcode);
        if (w->hint[k] == LLFI_HINT_NONE || strncmp(line, kinds[k].opcode, n) != 0 || line[n] != '.')
            continue;
        *qualifiers = line + n + (strncmp(line + n, ".nc.", 4) == 0 ? 3 : 0);
        return k;
    }
    return KINDS;
}

/* The policies that the function needs whose body begins at `body`. */
static void put_policies(writer *w, const char *body)
{
    bool used[KINDS] = {false};
    const char *ignored;
    for (const char *at = body; *at && *at != '}'; at = line_end(at), at += *at == '\n') {
        int k = kind_of(w, at, &ignored);
        if (k != KINDS)
            used[k] = true;
    }
    for (int k = 0; k < KINDS; k++) {
        const char *l2 = hints[w->hint[k]].l2;
        if (!used[k] || !l2)
            continue;
        puts_(w, "\t.reg .b64 \t");
        puts_(w, kinds[k].policy);
        puts_(w, ";\n\tcreatepolicy.fractional.L2::");
        puts_(w, l2);
        puts_(w, ".b64 \t");
        puts_(w, kinds[k].policy);
        puts_(w, ", 1.0;\n");
    }
}

static void put_access(writer *w, int kind, const char *line, const char *qualifiers, const char *end)
{
    size_t whole = strcspn(qualifiers, ";\n"); /* an instruction a line */
    put(w, line, (size_t)(qualifiers - line));
    puts_(w, hints[w->hint[kind]].l1);
    if (hints[w->hint[kind]].l2)
        puts_(w, ".L2::cache_hint");
    put(w, qualifiers, whole);
    if (hints[w->hint[kind]].l2) {
        puts_(w, ", ");
        puts_(w, kinds[kind].policy);
    }
    put(w, qualifiers + whole, (size_t)(end - (qualifiers + whole)));
}

static void rewrite(writer *w, const char *text)
{
    const char *qualifiers;
    for (const char *at = text, *end; *at; at = end) {
        end = line_end(at);
        end += *end == '\n';
        int kind = kind_of(w, at, &qualifiers);
        if (kind == KINDS)
            put(w, at, (size_t)(end - at));
        else
            put_access(w, kind, at, qualifiers, end);
        if (end - at == 2 && *at == '{')
            put_policies(w, end);
    }
}

void llfi_nvptx_want_hints(LLVMContextRef lx, LLVMValueRef function, const llfi_schedule *s)
{
    if (s->hint.load == LLFI_HINT_NONE && s->hint.store == LLFI_HINT_NONE)
        return;
    const char digits[3] = {(char)('0' + s->hint.load), (char)('0' + s->hint.store), 0};
    llfi_llvm_attribute(lx, function, attribute, digits);
}

/* Of the module's kernel; functions beside it that are called access no buffers of their own. */
static bool wanted(LLVMModuleRef module, llfi_hint *hint)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                           attribute, sizeof attribute - 1);
        unsigned length = 0;
        const char *digits = a ? LLVMGetStringAttributeValue(a, &length) : NULL;
        if (!digits || length != KINDS)
            continue;
        for (int k = 0; k < KINDS; k++)
            hint[k] = (llfi_hint)(digits[k] - '0');
        return true;
    }
    return false;
}

llf_status llfi_nvptx_hint(llfi_diag *d, const llf_allocator *mem, LLVMModuleRef module, llfi_code *code)
{
    writer w = {{LLFI_HINT_NONE, LLFI_HINT_NONE}, NULL, 0};
    if (!wanted(module, w.hint))
        return LLF_OK;
    rewrite(&w, code->code);
    size_t bytes = w.bytes;
    if (bytes == code->bytes)
        return LLF_OK;
    w.to = llfi_alloc(mem, bytes + 1);
    if (!w.to)
        return llfi_nomem(d);
    w.bytes = 0;
    rewrite(&w, code->code);
    w.to[bytes] = 0;
    llfi_free(mem, code->code, code->bytes + 1);
    code->code = w.to;
    code->bytes = bytes;
    return LLF_OK;
}
