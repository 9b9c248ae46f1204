/* test_runtime_kept.c: a context that keeps code of kernels (kernel_cache_bytes): the code is what would have
 * been made, for that target and kernel alone, in whatever graph; variants too; any allocation may fail. */
#include "runtime_util.h"

#include "runtime/variant.h"

static llf_context *keeping(const llf_allocator *mem, size_t bytes)
{
    llf_context *cx = llf_context_create(&(llf_context_options){
        .size = sizeof(llf_context_options), .allocator = mem, .kernel_cache_bytes = bytes});
    assert_int_equal(llf_context_status(cx), LLF_OK);
    return cx;
}

static llf_program *compiled(llf_context *cx, const char *text, const char *target, uint32_t threads)
{
    llf_graph *g = NULL;
    llf_program *p = NULL;
    const llf_options o = {
        .size = sizeof o, .target = target, .heuristic = "none", .compile_threads = threads};
    if (llf_graph_parse(cx, text, strlen(text), NULL, &g) != LLF_OK || llf_compile(cx, g, &o, &p) != LLF_OK)
        fail_msg("%s", llf_last_error(cx)->message);
    llf_graph_destroy(g);
    return p;
}

static uint32_t kept(const llf_program *p)
{
    uint32_t n = 0;
    for (uint32_t m = 0; m < p->modules; m++) {
        n += p->module[m].kept;
        assert_true(!p->module[m].kept || p->module[m].code.emit_ms == 0); /* nothing was generated */
    }
    return n;
}

static void assert_same_code(const llf_program *a, const llf_program *b)
{
    assert_int_equal(a->modules, b->modules);
    for (uint32_t m = 0; m < a->modules; m++) {
        assert_string_equal(a->module[m].name, b->module[m].name);
        assert_int_equal(a->module[m].code.bytes, b->module[m].code.bytes);
        assert_memory_equal(a->module[m].code.code, b->module[m].code.code, a->module[m].code.bytes + 1);
    }
}

static const char chain[] = "graph @chain(%x: f32[N], %y: f32[N]) {\n  %0 = add %x, %y\n  %1 = exp %0\n"
                            "  %2 = mul %1, %x\n  %3 = neg %2\n  ret %3\n}\n";

/* A kernel from another graph, by several workers at once; without a cache, and in another context, nothing.
 */
static void the_code_is_what_would_have_been_made(void **state)
{
    (void)state;
    static const char other[] = "graph @other(%a: f32[M], %b: f32[M]) {\n  %0 = mul %a, %b\n"
                                "  %1 = exp %0\n  %2 = add %1, %a\n  %3 = sin %2\n  ret %3\n}\n";
    llf_context *plain = llf_context_create(NULL), *cx = keeping(NULL, 1 << 20),
                *apart = keeping(NULL, 1 << 20);
    llf_program *want = compiled(plain, chain, "host", 1), *again = compiled(plain, chain, "host", 1);
    llf_program *want2 = compiled(plain, other, "host", 1);
    llf_program *first = compiled(cx, chain, "host", 3), *second = compiled(cx, chain, "host", 3);
    llf_program *third = compiled(cx, other, "host", 2), *elsewhere = compiled(apart, chain, "host", 1);
    assert_int_equal(kept(want) + kept(again) + kept(first) + kept(elsewhere), 0);
    assert_int_equal(want->modules, 4);
    assert_int_equal(kept(second), 4);
    assert_int_equal(kept(third), 3);
    assert_same_code(want, again);
    assert_same_code(want, first);
    assert_same_code(want, second);
    assert_same_code(want2, third);
    llf_program *all[] = {want, again, want2, first, second, third, elsewhere};
    llf_context_destroy(cx); /* the programs' code is theirs */
    llf_context_destroy(apart);
    llf_context_destroy(plain);
    for (size_t i = 0; i < LLFI_COUNT(all); i++)
        llf_program_destroy(all[i]);
}

/* What differs in dtype, literal, order of operands, form of the rows or target is another kernel. */
static void what_differs_is_made(void **state)
{
    (void)state;
    static const char *const text[] = {
        "graph @g(%x: f32[N], %y: f32[N]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: f32[N], %y: f32[N]) {\n  %0 = sub %y, %x\n  ret %0\n}\n", /* the same: its first is y */
        "graph @g(%x: f64[N], %y: f64[N]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: i32[N], %y: i32[N]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: f32[N]) {\n  %0 = sub %x, 2.5\n  ret %0\n}\n",
        "graph @g(%x: f32[N]) {\n  %0 = sub %x, 2.25\n  ret %0\n}\n",
        "graph @g(%x: f32[N]) {\n  %0 = sub 2.25, %x\n  ret %0\n}\n",
        "graph @g(%x: f32[M, N], %y: f32[N]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: f32[M, N], %y: f32[M, 1]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: f32[M, 5], %y: f32[5]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
        "graph @g(%x: f32[M, 6], %y: f32[6]) {\n  %0 = sub %x, %y\n  ret %0\n}\n",
    };
    static const char *const target[] = {"host:x86-64", "host", "nvptx:sm_80", "nvptx:sm_90a",
                                         "nvptx:sm_80+ptx78"};
    llf_context *cx = keeping(NULL, 8 << 20), *plain = llf_context_create(NULL);
    uint32_t programs = 0, found = 0, targets = 0;
    for (size_t t = 0; t < LLFI_COUNT(target); t++) {
        llfi_target probe;
        if (llfi_target_make(cx, target[t], &probe) != LLF_OK) {
            print_message("SKIPPED: %s\n", llf_last_error(cx)->message);
            continue;
        }
        targets++;
        for (size_t i = 0; i < LLFI_COUNT(text); i++) {
            llf_program *p = compiled(cx, text[i], target[t], 1),
                        *want = compiled(plain, text[i], target[t], 1);
            assert_int_equal(p->modules, 1);
            assert_int_equal(kept(p), i == 1);
            assert_same_code(want, p);
            programs++;
            found += kept(p);
            llf_program_destroy(p);
            llf_program_destroy(want);
        }
    }
    assert_int_equal(found, targets);
    assert_true(targets >= 2 && programs == targets * LLFI_COUNT(text));
    llf_context_destroy(cx);
    llf_context_destroy(plain);
}

/* Runs `chain` over rows that lie two elements apart; value of the last element. */
static float strided(llf_context *cx, llf_loaded **l)
{
    float x[8] = {1, 0, 2, 0, 0.5f, 0, 4, 0}, y[4] = {-1, -2, -0.5f, -4}, z[4] = {0};
    llf_execution *e = NULL;
    llf_program *p = compiled(cx, chain, "host", 1);
    assert_int_equal(llf_program_load(cx, p, 1, l), LLF_OK);
    llf_program_destroy(p); /* the loaded has a reference */
    assert_int_equal(llf_execution_create(cx, *l, &e), LLF_OK);
    llf_tensor in = {.data = x, .dtype = LLF_F32, .rank = 1, .strided = true, .shape = {4}, .strides = {2}};
    llf_tensor other = test_vector(LLF_F32, y, 4), out = test_vector(LLF_F32, z, 4);
    assert_ok(e, llf_bind(e, 0, &in));
    assert_ok(e, llf_bind(e, 1, &other));
    assert_ok(e, llf_bind(e, 2, &out));
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
    llf_execution_destroy(e);
    return z[3];
}

static uint32_t kept_variants(const llf_loaded *l)
{
    uint32_t n = 0;
    for (size_t i = 0; i < l->variants->made.count; i++)
        n += l->variants->made.at[i]->module.kept;
    return n;
}

/* A loaded that outlives its context still has its code, and still keeps and finds. */
static void variants_are_kept_too(void **state)
{
    (void)state;
    test_memory m = {0};
    llf_allocator mem = {test_resize, &m};
    llf_context *cx = keeping(&mem, 1 << 20);
    llf_loaded *l[3] = {NULL};
    assert_true(strided(cx, &l[0]) == -4); /* -(exp(4 - 4) * 4) */
    assert_int_equal(kept_variants(l[0]), 0);
    assert_true(strided(cx, &l[1]) == -4);
    assert_int_equal(l[1]->variants->made.count, 2); /* of add and mul, which read x */
    assert_int_equal(kept_variants(l[1]), 2);
    llf_program *p = compiled(cx, chain, "host", 1);
    assert_int_equal(llf_program_load(cx, p, 1, &l[2]), LLF_OK);
    llf_context_destroy(cx);
    float x[8] = {1, 0, 2, 0, 0.5f, 0, 4, 0}, y[4] = {-1, -2, -0.5f, -4}, z[4] = {0};
    llf_context *later = llf_context_create(NULL);
    llf_execution *e = NULL;
    assert_int_equal(llf_execution_create(later, l[2], &e), LLF_OK);
    llf_tensor in = {.data = x, .dtype = LLF_F32, .rank = 1, .strided = true, .shape = {4}, .strides = {2}};
    llf_tensor other = test_vector(LLF_F32, y, 4), out = test_vector(LLF_F32, z, 4);
    assert_ok(e, llf_bind(e, 0, &in));
    assert_ok(e, llf_bind(e, 1, &other));
    assert_ok(e, llf_bind(e, 2, &out));
    assert_ok(e, llf_prepare(e));
    assert_ok(e, llf_run(e, NULL));
    assert_true(z[3] == -4);
    assert_int_equal(kept_variants(l[2]), 2);
    llf_execution_destroy(e);
    llf_context_destroy(later);
    llf_program_destroy(p);
    for (size_t i = 0; i < LLFI_COUNT(l); i++)
        llf_loaded_destroy(l[i]);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
}

/* A cache that cannot grow keeps less; the compile fails where it must, and never differs. */
static void each_allocation_fails_once(void **state)
{
    (void)state;
    static const char text[] = "graph @g(%x: f32[N]) {\n  %0 = neg %x\n  ret %0\n}\n";
    test_memory m = {0};
    llf_allocator mem = {test_resize, &m};
    llf_context *plain = llf_context_create(NULL);
    llf_program *want = compiled(plain, text, "host", 1);
    const llf_options o = {.size = sizeof o, .target = "host", .compile_threads = 1};
    uint32_t unkept = 0;
    bool done = false;
    for (long long tries = 0; !done; tries++) {
        llf_context *cx = keeping(&mem, 1 << 20);
        llf_graph *g = NULL;
        llf_program *p[2] = {NULL};
        assert_int_equal(llf_graph_parse(cx, text, strlen(text), NULL, &g), LLF_OK);
        atomic_store(&m.failed, false);
        atomic_store(&m.fail_at, atomic_load(&m.calls) + tries + 1);
        for (size_t i = 0; i < 2; i++) {
            llf_status status = llf_compile(cx, g, &o, &p[i]);
            assert_true(status == LLF_OK || (status == LLF_E_NOMEM && atomic_load(&m.failed)));
            if (status == LLF_OK)
                assert_same_code(want, p[i]);
        }
        done = !atomic_load(&m.failed);
        unkept += p[0] && p[1] && !kept(p[1]);
        assert_true(!done || kept(p[1]) == 1);
        atomic_store(&m.fail_at, 0);
        llf_program_destroy(p[0]);
        llf_program_destroy(p[1]);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        assert_int_equal(atomic_load(&m.live), 0);
    }
    assert_true(unkept > 2); /* an entry, or the tables, found no memory: made once more */
    llf_context *cx = NULL;
    for (long long i = 1; !cx; i++) { /* the context's own */
        atomic_store(&m.fail_at, atomic_load(&m.calls) + i);
        cx = llf_context_create(&(llf_context_options){
            .size = sizeof(llf_context_options), .allocator = &mem, .kernel_cache_bytes = 1});
        assert_true(cx || atomic_load(&m.live) == 0);
    }
    atomic_store(&m.fail_at, 0);
    llf_context_destroy(cx);
    assert_int_equal(atomic_load(&m.live), 0);
    assert_false(atomic_load(&m.misused));
    llf_program_destroy(want);
    llf_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_code_is_what_would_have_been_made),
        cmocka_unit_test(what_differs_is_made),
        cmocka_unit_test(variants_are_kept_too),
        cmocka_unit_test(each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
