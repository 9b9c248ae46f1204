/* Cache hints on the GPU: what is asked, or the schedule's table says, stands on every access to global
 * memory and nowhere else, and taking it off again leaves the PTX of the kernel without hints, byte for byte.
 * The spelling is that of the PTX ISA (ld, st, createpolicy), and ptxas's where there is one. */
#include "nvptx_module.h"

#include "runtime/program.h"

#define NAME_END 8u /* hexadecimal digits of the hash that end a kernel's name */

static const char tiled[] = "graph @t(%x: f32[A, B], %y: f32[B, A]) {\n"
                            "  %0 = permute %x, axes=[1, 0]\n  %1 = add %0, %y\n  ret %1\n}\n";
static const char rows[] = "graph @r(%x: bf16[A, B], %b: bf16[B]) {\n  %0 = add %x, %b\n  ret %0\n}\n";
static const char linear[] =
    "graph @l(%x: f64[N], %y: f64[N]) {\n  %0 = sin %x\n  %1 = div %0, %y\n  ret %1\n}\n";
static const char parts[] =
    "graph @p(%x: f32[N], %y: f32[M]) {\n  %0 = neg %x\n  %1 = neg %y\n  ret %0, %1\n}\n";

/* The PTX needs libdevice; the host does not. */
#define NEEDS_TOOLKIT()                                               \
    do {                                                              \
        if (!llfi_libdevice_present()) {                              \
            print_message("SKIPPED: built without a CUDA toolkit\n"); \
            skip();                                                   \
        }                                                             \
    } while (0)

typedef struct {
    llf_context *cx;
    llf_program *p;
} compiled;

static compiled compile(const char *graph, const char *target, const char *set)
{
    compiled c = {llf_context_create(NULL), NULL};
    llf_graph *g = NULL;
    llf_options o = {.size = sizeof o, .target = target, .set = set, .compile_threads = 1};
    assert_int_equal(llf_graph_parse(c.cx, graph, strlen(graph), "test", &g), LLF_OK);
    if (llf_compile(c.cx, g, &o, &c.p) != LLF_OK)
        fail_msg("%s %s: %s", target, set ? set : "", c.cx->diag.message);
    llf_graph_destroy(g);
    if (c.p->modules != 1)
        fail_msg("%u modules of %s", c.p->modules, graph);
    return c;
}

static void drop(compiled *c)
{
    llf_program_destroy(c->p);
    llf_context_destroy(c->cx);
}

static const char *ptx(const compiled *c)
{
    return c->p->module[0].code.code;
}

/* Takes every `what` out of `text`; how many there were. */
static uint32_t take_out(char *text, const char *what)
{
    uint32_t n = 0;
    size_t length = strlen(what);
    for (char *at = text; (at = strstr(at, what)); n++)
        memmove(at, at + length, strlen(at + length) + 1);
    return n;
}

/* The text with the kernel's name as it is without hints. */
static char *renamed(const compiled *c, const compiled *plain)
{
    const char *name = c->p->module[0].name, *other = plain->p->module[0].name;
    char *text = strdup(ptx(c));
    assert_non_null(text);
    assert_int_equal(strlen(name), strlen(other));
    assert_memory_equal(name, other, strlen(name) - NAME_END);
    for (char *at = text; (at = strstr(at, name)); at += strlen(name))
        memcpy(at, other, strlen(name));
    return text;
}

/* Functions of the text with an `opcode` in their bodies. */
static uint32_t bodies(const char *text, const char *opcode)
{
    uint32_t n = 0;
    for (const char *end; (end = strstr(text, "\n}\n")); text = end + 3) {
        const char *at = strstr(text, opcode);
        n += at && at < end;
    }
    return n;
}

static const struct {
    const char *ask, *l1, *l2;
} hints[] = {{"2", ".L1::evict_last", NULL},
             {"3", ".L1::evict_last", "evict_last"},
             {"4", ".L1::no_allocate", "evict_last"},
             {"5", ".L1::no_allocate", "evict_first"}};

static void check(const char *graph, const char *target, size_t h, bool loads)
{
    char set[64], mark[96], policy[128];
    const char *opcode = loads ? "\tld.global" : "\tst.global", *l2 = hints[h].l2;
    const char *use = loads ? ", %llf_loads;" : ", %llf_stores;";
    snprintf(set, sizeof set, "load_hint=%s,store_hint=%s", loads ? hints[h].ask : "1",
             loads ? "1" : hints[h].ask);
    snprintf(mark, sizeof mark, "%s%s", hints[h].l1, l2 ? ".L2::cache_hint" : "");
    snprintf(policy, sizeof policy,
             "\t.reg .b64 \t%%llf_%s;\n\tcreatepolicy.fractional.L2::%s.b64 \t%%llf_%s, 1.0;\n",
             loads ? "loads" : "stores", l2 ? l2 : "", loads ? "loads" : "stores");
    compiled plain = compile(graph, target, "load_hint=1,store_hint=1"), c = compile(graph, target, set);
    uint32_t accesses = nvptx_count(ptx(&plain), opcode);
    assert_true(accesses > 0);
    assert_int_equal(nvptx_count(ptx(&plain), "evict"), 0);
    char *text = renamed(&c, &plain), after[112];
    nvptx_no_spill(target + strlen("nvptx:"), ptx(&c), set, graph == linear);
    snprintf(after, sizeof after, "%s%s.", opcode, mark);
    uint32_t marked = nvptx_count(text, after);
    snprintf(after, sizeof after, "%s.nc%s.", opcode, mark); /* libdevice's tables */
    assert_int_equal(marked + nvptx_count(text, after), accesses);
    assert_int_equal(take_out(text, mark), accesses);
    assert_int_equal(take_out(text, policy), l2 ? bodies(ptx(&plain), opcode) : 0);
    for (char *at = text; l2 && (at = strstr(at, use));) { /* every operand before the semicolon, once */
        memmove(at, at + strlen(use) - 1, strlen(at + strlen(use) - 1) + 1);
        accesses--;
    }
    assert_int_equal(accesses, l2 ? 0 : nvptx_count(ptx(&plain), opcode));
    assert_string_equal(text, ptx(&plain));
    free(text);
    drop(&plain);
    drop(&c);
}

static void hints_stand_on_every_access(void **state)
{
    (void)state;
    NEEDS_TOOLKIT();
    static const char *const graph[] = {tiled, rows, linear, parts};
    for (size_t i = 0; i < LLFI_COUNT(graph); i++)
        for (size_t h = 0; h < LLFI_COUNT(hints); h++)
            check(graph[i], h % 2 ? "nvptx:sm_90a" : "nvptx:sm_80", h, (i + h) % 3 != 0);
}

static void older_architectures_have_none(void **state)
{
    (void)state;
    NEEDS_TOOLKIT();
    static const char *const target[] = {"nvptx:sm_75", "nvptx:sm_80+ptx73"};
    for (size_t i = 0; i < LLFI_COUNT(target); i++) {
        compiled c = compile(tiled, target[i], "load_hint=3,store_hint=5"),
                 plain = compile(tiled, target[i], NULL);
        assert_string_equal(ptx(&c), ptx(&plain));
        assert_int_equal(nvptx_count(ptx(&c), "evict"), 0);
        drop(&c);
        drop(&plain);
    }
}

/* What is asked of nothing else. */
static void the_host_has_none(void **state)
{
    (void)state;
    compiled c = compile(tiled, "host", "load_hint=3,store_hint=5"), plain = compile(tiled, "host", NULL);
    assert_int_equal(c.p->module[0].hash, plain.p->module[0].hash);
    drop(&c);
    drop(&plain);
}

/* The table, by the schedule. */
static void the_table(void **state)
{
    (void)state;
    NEEDS_TOOLKIT();
    const struct {
        const char *graph;
        llfi_hint load;
    } row[] = {
        {tiled, LLFI_HINT_LAST}, {rows, LLFI_HINT_LAST}, {linear, LLFI_HINT_NONE}, {parts, LLFI_HINT_NONE}};
    for (size_t i = 0; i < LLFI_COUNT(row); i++) {
        compiled c = compile(row[i].graph, "nvptx:sm_90a", NULL);
        const llfi_schedule *s = &c.p->kernel[0].schedule;
        assert_int_equal(s->hint.load, row[i].load);
        assert_int_equal(s->hint.store, LLFI_HINT_NONE);
        assert_int_equal(nvptx_count(ptx(&c), "evict_last") > 0, row[i].load != LLFI_HINT_NONE);
        llfi_str text;
        llfi_str_init(&text, &c.cx->mem);
        llfi_schedule_print(s, &text);
        assert_int_equal(strstr(text.at, " loads=last\n") != NULL, row[i].load == LLFI_HINT_LAST);
        llfi_str_free(&text);
        drop(&c);
    }
}

typedef struct {
    uint32_t left, live;
} budget;

static void *counted(void *user, void *p, size_t old, size_t size)
{
    budget *b = user;
    (void)old;
    if (!size) {
        b->live -= p != NULL;
        free(p);
        return NULL;
    }
    if (!b->left)
        return NULL;
    b->left--;
    b->live += p == NULL;
    return realloc(p, size);
}

/* The compile step alone, so that its last allocations are the marked text's. */
static void no_memory_for_the_marks(void **state)
{
    (void)state;
    NEEDS_TOOLKIT();
    uint32_t failures = 0;
    for (bool done = false; !done;) {
        nvptx_module m;
        llfi_code code;
        nvptx_open(&m, "nvptx:sm_90a");
        LLVMAttributeRef a = LLVMCreateStringAttribute(m.site.emit.lx, "llfuse.hints", 12, "20", 2);
        LLVMAddAttributeAtIndex(m.site.function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
        nvptx_store(&m, LLF_F32, nvptx_load(&m, LLF_F32, 1));
        budget b = {failures, 0};
        llf_allocator few = {.resize = counted, .user = &b};
        llf_status status =
            m.target.backend->compile(&m.cx->diag, &m.target, &few, m.site.emit.module, &code, NULL, NULL);
        done = status == LLF_OK;
        assert_true(done || status == LLF_E_NOMEM);
        if (done) {
            assert_int_equal(code.bytes, strlen(code.code));
            assert_int_equal(nvptx_count(code.code, "ld.global.L1::evict_last.L2::cache_hint.b32"), 1);
            llfi_free(&few, code.code, code.bytes + 1);
        } else {
            assert_null(code.code);
            failures++;
        }
        assert_int_equal(b.live, 0);
        nvptx_close(&m);
    }
    assert_true(failures >= 2); /* LLVM's text; the marked one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_stand_on_every_access), cmocka_unit_test(older_architectures_have_none),
        cmocka_unit_test(the_host_has_none),           cmocka_unit_test(the_table),
        cmocka_unit_test(no_memory_for_the_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
