/* test_target_nvptx.c: target texts, the gate before code generation, and what the PTX must and must not
 * hold. */
#include <llvm/Config/llvm-config.h>

#include "nvptx_module.h"

#include <sys/wait.h>

static llf_status make(const char *text, llfi_target *t, char *message)
{
    llf_context *cx = llf_context_create(NULL);
    assert_non_null(cx);
    llf_status s = llfi_target_make(cx, text, t);
    snprintf(message, 1024, "%s", s == LLF_OK ? "" : cx->diag.message);
    llf_context_destroy(cx);
    return s;
}

#ifdef LLFUSE_CUDA
static void names(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *cpu, *features;
        uint32_t sm, ptx;
        bool a;
    } row[] = {
        {"nvptx:sm_90a+ptx83", "nvptx:sm_90a+ptx83", "sm_90a", "+ptx83", 90, 83, true},
        {"nvptx:sm_90+ptx78", "nvptx:sm_90+ptx78", "sm_90", "+ptx78", 90, 78, false},
        {"nvptx:sm_80+ptx70", "nvptx:sm_80+ptx70", "sm_80", "+ptx70", 80, 70, false},
        {"nvptx:sm_75+ptx63", "nvptx:sm_75+ptx63", "sm_75", "+ptx63", 75, 63, false},
#if LLVM_VERSION_MAJOR >= 20
        {"nvptx:sm_120a+ptx87", "nvptx:sm_120a+ptx87", "sm_120a", "+ptx87", 120, 87, true},
#endif
        {"nvptx:sm_75", "nvptx:sm_75+ptx75", "sm_75", "+ptx75", 75, 75, false},
        {"nvptx:sm_80", "nvptx:sm_80+ptx75", "sm_80", "+ptx75", 80, 75, false},
        {"nvptx:sm_90a", "nvptx:sm_90a+ptx80", "sm_90a", "+ptx80", 90, 80, true},
    };
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        llfi_target t;
        char message[1024];
        assert_int_equal(make(row[i].text, &t, message), LLF_OK);
        assert_string_equal(t.name, row[i].name);
        assert_string_equal(t.cpu, row[i].cpu);
        assert_string_equal(t.features, row[i].features);
        assert_int_equal(t.sm, row[i].sm);
        assert_int_equal(t.ptx, row[i].ptx);
        assert_int_equal(t.sm_a, row[i].a);
        assert_int_equal(t.param_bytes, row[i].ptx >= 81 ? 32764 : 4096); /* PTX ISA 8.1 */
        assert_ptr_equal(t.backend, &llfi_backend_nvptx);
    }
}

/* The name is itself a legal text and names the same target. */
static void default_target(void **state)
{
    (void)state;
    llfi_target t, again;
    char message[1024];
    assert_int_equal(make("nvptx", &t, message), LLF_OK);
    assert_true(t.sm >= 75);
    assert_int_equal(make(t.name, &again, message), LLF_OK);
    assert_string_equal(again.name, t.name);
    assert_int_equal(make("nvptx:", &again, message), LLF_OK);
    assert_string_equal(again.name, t.name);
}
#endif

static const struct {
    const char *text, *says;
} refused[] = {
    {"cuda", "legal: host, nvptx"},
    {"", "legal: host, nvptx"},
    {"nvptx2", "legal: host, nvptx"},
    {"nv", "legal: host, nvptx"},
#ifdef LLFUSE_CUDA
    {"nvptx:sm_999", "unknown architecture 'sm_999'; legal: sm_75, sm_80"},
    {"nvptx:sm_70", "legal: sm_75"},
    {"nvptx:sm_7", "legal: sm_75"},
    {"nvptx:sm_", "legal: sm_75"},
    {"nvptx:sm_-80", "legal: sm_75"},
    {"nvptx:sm_080", "legal: sm_75"},
    {"nvptx:sm_80a", "legal: sm_75"},
    {"nvptx:sm_90A", "legal: sm_75"},
    {"nvptx:sm_99999999999999999999", "legal: sm_75"},
    {"nvptx:sm_80 ", "legal: sm_75"},
    {"nvptx:90", "legal: sm_75"},
    {"nvptx:+ptx83", "legal: sm_75"},
    {"nvptx:sm_80+", "unknown suffix '+'"},
    {"nvptx:sm_80+sse", "unknown suffix '+sse'"},
    {"nvptx:sm_80+ptx", "not an architecture and a PTX version"},
    {"nvptx:sm_80+ptx83x", "not an architecture and a PTX version"},
    {"nvptx:sm_80+ptx83+ptx84", "not an architecture and a PTX version"},
    {"nvptx:sm_80+ptx10", "PTX version 1.0 is not known"},
    {"nvptx:sm_80+ptx79", "PTX version 7.9 is not known"},
    {"nvptx:sm_80+ptx91", "PTX version 9.1 is not known"},
    {"nvptx:sm_80+ptx999", "is not known"},
    {"nvptx:sm_80+ptx65", "sm_80 needs PTX 7.0 or later, not 6.5"},
    {"nvptx:sm_90a+ptx78", "sm_90a needs PTX 8.0 or later, not 7.8"},
#if LLVM_VERSION_MAJOR >= 20
    {"nvptx:sm_100+ptx85", "sm_100 needs PTX 8.6 or later, not 8.5"},
#endif
#else
    {"nvptx", "without a CUDA toolkit"}, {"nvptx:sm_90a", "without a CUDA toolkit"},
#endif
};

static void bad_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < LLFI_COUNT(refused); i++) {
        llfi_target t;
        char message[1024];
        llf_status s = make(refused[i].text, &t, message);
        if (s != LLF_E_TARGET || !strstr(message, refused[i].says))
            print_message("'%s': %s: %s\n", refused[i].text, llf_status_name(s), message);
        assert_int_equal(s, LLF_E_TARGET);
        assert_non_null(strstr(message, refused[i].says));
    }
}

#ifdef LLFUSE_CUDA
/* ---- the gate: each would end the process, or be selected wrongly, if it reached code generation */
typedef void bad_fn(nvptx_module *);

static LLVMValueRef call1(nvptx_module *m, const char *name, llf_dtype dtype)
{
    LLVMValueRef x = nvptx_load(m, dtype, 1);
    return llfi_emit_call(&m->site.emit, name, LLVMTypeOf(x), &x, 1);
}

#define UNARY(id, name, dtype)                        \
    static void id(nvptx_module *m)                   \
    {                                                 \
        nvptx_store(m, dtype, call1(m, name, dtype)); \
    }
UNARY(bad_exp, "llvm.exp", LLF_F32)
UNARY(bad_sin, "llvm.sin", LLF_F64)
UNARY(bad_log, "llvm.log", LLF_F32)
UNARY(bad_exp2, "llvm.exp2", LLF_F64)
UNARY(bad_canonicalize, "llvm.canonicalize", LLF_F32)

static void bad_pow(nvptx_module *m)
{
    LLVMValueRef x = nvptx_load(m, LLF_F32, 1), arg[2] = {x, x};
    nvptx_store(m, LLF_F32, llfi_emit_call(&m->site.emit, "llvm.pow", LLVMTypeOf(x), arg, 2));
}

static void bad_frem(nvptx_module *m)
{
    LLVMValueRef x = nvptx_load(m, LLF_F32, 1);
    nvptx_store(m, LLF_F32, LLVMBuildFRem(m->site.emit.b, x, llfi_emit_f32c(&m->site.emit, 3), ""));
}

static void bad_sitofp(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMValueRef x = nvptx_load(m, LLF_F32, 1);
    LLVMValueRef yes = LLVMBuildFCmp(e->b, LLVMRealOLT, x, llfi_emit_f32c(e, 0), "");
    nvptx_store(m, LLF_F32, LLVMBuildSIToFP(e->b, yes, e->f32, ""));
}

static void bad_alloca(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMValueRef at = LLVMBuildAlloca(e->b, e->f32, "");
    LLVMBuildStore(e->b, nvptx_load(m, LLF_F32, 1), at);
    nvptx_store(m, LLF_F32, LLVMBuildLoad2(e->b, e->f32, at, ""));
}

static void bad_unreachable(nvptx_module *m)
{
    LLVMBuildUnreachable(m->site.emit.b);
}

static void bad_callee(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMTypeRef type = LLVMFunctionType(e->f32, &e->f32, 1, false);
    LLVMValueRef f = LLVMAddFunction(e->module, "__nv_no_such", type), x = nvptx_load(m, LLF_F32, 1);
    nvptx_store(m, LLF_F32, LLVMBuildCall2(e->b, type, f, &x, 1, ""));
}

static void bad_external(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMTypeRef type = LLVMFunctionType(e->f32, &e->f32, 1, false);
    LLVMValueRef f = LLVMAddFunction(e->module, "sinf", type), x = nvptx_load(m, LLF_F32, 1);
    nvptx_store(m, LLF_F32, LLVMBuildCall2(e->b, type, f, &x, 1, ""));
}

static void bad_asm(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->lx), NULL, 0, false);
    LLVMValueRef f = LLVMGetInlineAsm(type, "trap;", 5, "", 0, true, false, LLVMInlineAsmDialectATT, false);
    LLVMBuildCall2(e->b, type, f, NULL, 0, "");
    LLVMBuildRetVoid(e->b);
}

static void bad_width(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMTypeRef odd = LLVMIntTypeInContext(e->lx, 37);
    LLVMBuildStore(e->b, LLVMBuildLoad2(e->b, odd, m->value[0], ""), m->value[1]);
    LLVMBuildRetVoid(e->b);
}

static void bad_module(nvptx_module *m)
{
    (void)nvptx_load(m, LLF_F32, 1); /* a block without an end */
}

/* bf16 arithmetic that sm_75 lacks */
static void bad_bf16(nvptx_module *m)
{
    llfi_emit *e = &m->site.emit;
    LLVMValueRef x = LLVMBuildFPTrunc(e->b, nvptx_load(m, LLF_F32, 1), e->bf16, "");
    nvptx_store(m, LLF_F32, LLVMBuildFPExt(e->b, LLVMBuildFAdd(e->b, x, x, ""), e->f32, ""));
}

static void bad_maximum(nvptx_module *m)
{
    LLVMValueRef x = nvptx_load(m, LLF_F32, 1), arg[2] = {x, llfi_emit_f32c(&m->site.emit, 3)};
    nvptx_store(m, LLF_F32, llfi_emit_call(&m->site.emit, "llvm.maximum", LLVMTypeOf(x), arg, 2));
}

static const struct {
    const char *name, *says;
    bad_fn *build;
} bad[] = {
    {"exp", "llvm.exp.f32", bad_exp},
    {"sin", "llvm.sin.f64", bad_sin},
    {"log", "llvm.log.f32", bad_log},
    {"exp2", "llvm.exp2.f64", bad_exp2},
    {"canonicalize", "llvm.canonicalize", bad_canonicalize},
    {"pow", "llvm.pow.f32", bad_pow},
    {"frem", "frem", bad_frem},
    {"sitofp i1", "sitofp of i1", bad_sitofp},
    {"alloca", "alloca", bad_alloca},
    {"unreachable", "unreachable", bad_unreachable},
    {"libdevice", "not an embedded libdevice function", bad_callee},
    {"sinf", "sinf", bad_external},
    {"asm", "inline assembly", bad_asm},
    {"i37", "i37", bad_width},
    {"no end", "the module is not valid", bad_module},
    {"bf16", "a type that this architecture lacks", bad_bf16},
    {"maximum", "llvm.maximum.f32", bad_maximum},
};

/* In a child, so that a hole in the gate shows as its death and not as ours. */
static int try_bad(size_t i)
{
    nvptx_module m;
    llfi_code code;
    nvptx_open(&m, "nvptx:sm_75");
    bad[i].build(&m);
    llf_status s = nvptx_compile(&m, &code);
    bool named = strstr(m.cx->diag.message, bad[i].says) != NULL;
    if (s != LLF_E_LLVM || !named || code.code)
        print_message("%s: %s: %s\n", bad[i].name, llf_status_name(s), m.cx->diag.message);
    nvptx_close(&m);
    if (s != LLF_E_LLVM || !named || code.code)
        return 1;
    /* and the next one works */
    nvptx_open(&m, "nvptx:sm_75");
    nvptx_store(&m, LLF_F32, nvptx_load(&m, LLF_F32, 1));
    s = nvptx_compile(&m, &code);
    if (s == LLF_OK)
        llfi_free(&m.cx->mem, code.code, code.bytes + 1);
    nvptx_close(&m);
    return s == LLF_OK ? 0 : 2;
}

static void gate(void **state)
{
    (void)state;
    llfi_target t;
    char message[1024];
    assert_int_equal(make("nvptx:sm_75", &t, message), LLF_OK); /* LLVM is up before the first fork */
    for (size_t i = 0; i < LLFI_COUNT(bad); i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(try_bad(i));
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status)
            print_message("'%s' ended with %x\n", bad[i].name, (unsigned)status);
        assert_int_equal(status, 0);
    }
}

/* ---- PTX text */
typedef LLVMValueRef build_fn(llfi_emit *, LLVMValueRef x);

/* PTX of out = build(in) of `dtype` at `width`; to be freed. */
static char *ptx_of(const char *target, llf_dtype dtype, uint32_t width, build_fn *build)
{
    nvptx_module m;
    llfi_code code;
    nvptx_open(&m, target);
    LLVMValueRef x = nvptx_load(&m, dtype, width);
    nvptx_store(&m, dtype, build(&m.site.emit, x));
    llf_status s = nvptx_compile(&m, &code);
    if (s != LLF_OK)
        print_message("%s\n", m.cx->diag.message);
    assert_int_equal(s, LLF_OK);
    assert_int_equal(strlen(code.code), code.bytes);
    char *text = strdup(code.code);
    assert_non_null(text);
    nvptx_no_spill(m.target.cpu, text, target, false);
    llfi_free(&m.cx->mem, code.code, code.bytes + 1);
    nvptx_close(&m);
    return text;
}

static LLVMValueRef copy(llfi_emit *e, LLVMValueRef x)
{
    (void)e;
    return x;
}

static LLVMValueRef square(llfi_emit *e, LLVMValueRef x)
{
    return LLVMBuildFAdd(e->b, LLVMBuildFMul(e->b, x, x, ""), x, "");
}

static LLVMValueRef larger(llfi_emit *e, LLVMValueRef x)
{
    return e->target->backend->lowering->maximum(e, LLF_F32, false, x, llfi_emit_f32c(e, 2));
}

static LLVMValueRef smaller64(llfi_emit *e, LLVMValueRef x)
{
    return e->target->backend->lowering->maximum(e, LLF_F64, true, x, llfi_emit_f64c(e, 2));
}

static LLVMValueRef fma_bf16(llfi_emit *e, LLVMValueRef x)
{
    return e->target->backend->lowering->fma16(e, LLF_BF16, x, x, x);
}

static LLVMValueRef fma_f16(llfi_emit *e, LLVMValueRef x)
{
    return e->target->backend->lowering->fma16(e, LLF_F16, x, x, x);
}

static LLVMValueRef through_bf16(llfi_emit *e, LLVMValueRef x)
{
    LLVMValueRef r = llfi_emit_round(e, LLF_BF16, x);
    return LLVMBuildFPExt(e->b, r, llfi_emit_vec(e->f64, e->width), "");
}

static LLVMValueRef sin_cos(llfi_emit *e, LLVMValueRef x)
{
    const llfi_lowering *l = e->target->backend->lowering;
    LLVMValueRef s = l->function(e, LLF_OP_SIN, LLF_F32, x);
    return LLVMBuildFAdd(e->b, s, l->function(e, LLF_OP_COS, LLF_F32, x), "");
}

static LLVMValueRef sine(llfi_emit *e, LLVMValueRef x)
{
    return e->target->backend->lowering->function(e, LLF_OP_SIN, LLF_F32, x);
}

static void expect(const char *target, llf_dtype dtype, uint32_t width, build_fn *build, const char *what,
                   uint32_t count)
{
    char *ptx = ptx_of(target, dtype, width, build);
    if (nvptx_count(ptx, what) != count)
        print_message("%s: %u times '%s', not %u, in\n%s\n", target, nvptx_count(ptx, what), what, count,
                      ptx);
    assert_int_equal(nvptx_count(ptx, what), count);
    free(ptx);
}

static void header(void **state)
{
    (void)state;
    expect("nvptx:sm_90a+ptx83", LLF_F32, 1, copy, ".version 8.3", 1);
    expect("nvptx:sm_90a+ptx83", LLF_F32, 1, copy, ".target sm_90a", 1);
    expect("nvptx:sm_75", LLF_F32, 1, copy, ".visible .entry kernel(", 1);
    expect("nvptx:sm_75", LLF_F32, 1, copy, ".maxntid 128, 1, 1", 1);
    expect("nvptx:sm_75", LLF_F32, 1, copy, "cvta", 0);          /* pointers are global already */
    expect("nvptx:sm_75", LLF_F32, 4, copy, "ld.global.v4.", 1); /* .b32 or, in LLVM 19, .f32 */
    expect("nvptx:sm_90a", LLF_BF16, 8, copy, "cvt", 0);
}

static void strict_arithmetic(void **state)
{
    (void)state;
    expect("nvptx:sm_90a", LLF_F32, 1, square, "mul.rn.f32", 1);
    expect("nvptx:sm_90a", LLF_F32, 1, square, "add.rn.f32", 1);
    expect("nvptx:sm_90a", LLF_F32, 1, square, "fma", 0);
    expect("nvptx:sm_90a", LLF_F32, 1, square, ".ftz", 0);
    expect("nvptx:sm_80", LLF_F64, 1, square, "fma", 0);
    expect("nvptx:sm_80", LLF_F32, 4, larger, "max.NaN.f32", 4);
    expect("nvptx:sm_75", LLF_F32, 4, larger, "max.NaN", 0);
    expect("nvptx:sm_90a", LLF_F64, 1, smaller64, "min.NaN", 0);
}

static void sixteen_bits(void **state)
{
    (void)state;
#if LLVM_VERSION_MAJOR >= 22 /* 19 converts one by one: the same bits */
    expect("nvptx:sm_80", LLF_BF16, 2, square, "cvt.rn.bf16x2.f32", 1);
#endif
    expect("nvptx:sm_90a", LLF_BF16, 1, square, "cvt.rn.bf16.f32", 1);
    expect("nvptx:sm_75", LLF_BF16, 2, square, "bf16", 0);
    expect("nvptx:sm_75", LLF_F16, 1, square, "cvt.rn.f16.f32", 1);
    expect("nvptx:sm_90a", LLF_BF16, 2, fma_bf16, "fma.rn.bf16x2", 1);
    expect("nvptx:sm_90a", LLF_BF16, 2, fma_bf16, "cvt.rn.bf16", 0);
    expect("nvptx:sm_80", LLF_BF16, 1, fma_bf16, "fma.rn.bf16", 1);
    expect("nvptx:sm_75", LLF_BF16, 1, fma_bf16, "fma", 0);
    expect("nvptx:sm_75", LLF_F16, 2, fma_f16, "fma.rn.f16x2", 1);
    /* f64 -> bf16 rounds once: an instruction from sm_90 on; below, to odd in f32 first */
    expect("nvptx:sm_90a", LLF_F64, 1, through_bf16, "cvt.rn.bf16.f64", 1);
    expect("nvptx:sm_80", LLF_F64, 1, through_bf16, "cvt.rn.bf16.f32", 1);
    expect("nvptx:sm_80", LLF_F64, 1, through_bf16, "setp.gt.u64", 1);
}

static void sine_and_cosine(void **state)
{
    (void)state;
    expect("nvptx:sm_90a", LLF_F32, 4, sin_cos, ".local", 0);
    expect("nvptx:sm_90a", LLF_F32, 4, sin_cos, ".ftz", 0);
    expect("nvptx:sm_90a", LLF_F32, 4, sin_cos, "llf_reduce_big, ", 1);
    /* one slow path for all lanes and both functions, and no more code than for one function but its choice
     */
    expect("nvptx:sm_90a", LLF_F32, 4, sin_cos, "cvt.rn.f32.f64", 1);
    char *one = ptx_of("nvptx:sm_90a", LLF_F32, 4, sine), *both = ptx_of("nvptx:sm_90a", LLF_F32, 4, sin_cos);
    assert_int_equal(nvptx_count(one, "fma.rn.f32"), nvptx_count(both, "fma.rn.f32"));
    free(one);
    free(both);
}

static void same_bytes(void **state)
{
    (void)state;
    static const char *const target[] = {"nvptx:sm_75", "nvptx:sm_80", "nvptx:sm_90a"};
    for (size_t i = 0; i < LLFI_COUNT(target); i++) {
        char *first = ptx_of(target[i], LLF_F32, 4, sin_cos), *again = ptx_of(target[i], LLF_F32, 4, sin_cos);
        assert_string_equal(first, again);
        free(first);
        free(again);
    }
}

static void *no_memory(void *user, void *p, size_t old, size_t size)
{
    (void)user;
    (void)old;
    if (size)
        return NULL;
    free(p);
    return NULL;
}

static void out_of_memory(void **state)
{
    (void)state;
    nvptx_module m;
    llfi_code code;
    nvptx_open(&m, "nvptx:sm_90a");
    nvptx_store(&m, LLF_F32, nvptx_load(&m, LLF_F32, 1));
    llf_allocator good = m.cx->mem;
    m.cx->mem.resize = no_memory;
    assert_int_equal(nvptx_compile(&m, &code), LLF_E_NOMEM);
    assert_null(code.code);
    m.cx->mem = good;
    nvptx_close(&m);
}

/* A text that found no room is not handed out as if it were whole. */
static void no_room_for_texts(void **state)
{
    (void)state;
    static const llf_allocator none = {no_memory, NULL};
    for (int which = 0; which < 2; which++) {
        nvptx_module m;
        llfi_code code;
        llfi_str text;
        llfi_str_init(&text, &none);
        nvptx_open(&m, "nvptx:sm_90a");
        nvptx_store(&m, LLF_F32, nvptx_load(&m, LLF_F32, 1));
        assert_int_equal(m.target.backend->compile(&m.cx->diag, &m.target, &m.cx->mem, m.site.emit.module,
                                                   &code, which ? &text : NULL, which ? NULL : &text),
                         LLF_E_NOMEM);
        assert_null(code.code);
        nvptx_close(&m);
    }
}

static void libdevice_is_pruned(void **state)
{
    (void)state;
    static const char *const name[] = {
#define LIBDEVICE(op, f32, f64) f32, f64,
#include "target/libdevice.def"
#undef LIBDEVICE
    };
    const unsigned char *bitcode;
    size_t bytes;
    assert_true(llfi_libdevice_present());
    for (size_t i = 0; i < LLFI_COUNT(name); i++) {
        assert_true(llfi_libdevice_get(name[i], &bitcode, &bytes));
        assert_true(bytes > 500 && bytes < 10000);
        assert_memory_equal(bitcode, "BC\xc0\xde", 4);
    }
    assert_false(llfi_libdevice_get("__nv_lgammaf", &bitcode, &bytes));
    assert_false(llfi_libdevice_get("", &bitcode, &bytes));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_names),
#ifdef LLFUSE_CUDA
        cmocka_unit_test(names),
        cmocka_unit_test(default_target),
        cmocka_unit_test(gate),
        cmocka_unit_test(header),
        cmocka_unit_test(strict_arithmetic),
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(sine_and_cosine),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(no_room_for_texts),
        cmocka_unit_test(libdevice_is_pruned),
#endif
    };
#ifdef LLFUSE_CUDA
    if (!nvptx_ptxas())
        print_message("SKIPPED: no ptxas, the PTX is not assembled\n");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
