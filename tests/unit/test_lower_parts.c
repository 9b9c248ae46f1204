/* test_lower_parts.c: schedules, launches and code of kernels of several parts: rows and bodies, first
 * blocks, what ptxas says of the PTX. */
#include "nvptx_module.h"
#include "lower/parts.h"
#include "passes/pass.h"

typedef struct {
    llf_context *cx;
    llf_graph *g;
    llfi_plan plan;
    llfi_target target;
    llfi_arena arena;
    llfi_schedule s;
} road;

/* One kernel of this graph for this target. */
static road make(const char *text, const char *target)
{
    road r = {.cx = llf_context_create(NULL)};
    llfi_passes_state ps = {0};
    assert_non_null(r.cx);
    llfi_fuse_options_default(&ps.fuse);
    assert_int_equal(llfi_target_make(r.cx, target, &r.target), LLF_OK);
    ps.fuse.param_bytes = r.target.param_bytes;
    llfi_plan_init(&r.plan, &r.cx->mem);
    llfi_arena_init(&r.arena, &r.cx->mem);
    if (llf_graph_parse(r.cx, text, strlen(text), "t", &r.g) != LLF_OK ||
        llfi_passes_run(r.cx, r.g, NULL, 0, &ps, &r.plan) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    assert_int_equal(r.plan.kernels, 1);
    if (llfi_schedule_make(r.cx, r.g, &r.plan, 0, &r.target, &r.arena, &r.s) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    return r;
}

static void drop(road *r)
{
    llfi_arena_destroy(&r->arena);
    llfi_plan_destroy(&r->plan);
    llf_graph_destroy(r->g);
    llf_context_destroy(r->cx);
}

/* Two kinds: x, z and w doubled and y negated, each of its own extent. */
static const char four[] = "graph @four(%x: f32[X], %y: f32[Y], %z: f32[Z], %w: f32[W], %a: scalar f32) {\n"
                           "  %0 = mul %x, %a\n  %1 = neg %y\n  %2 = mul %z, %a\n  %3 = mul %w, %a\n"
                           "  ret %0, %1, %2, %3\n}\n";

static void equal_parts_share_a_body(void **state)
{
    (void)state;
    road r = make(four, "nvptx:sm_90a");
    const llfi_schedule_parts *p = r.s.parts;
    assert_non_null(p);
    assert_null(r.s.demands);
    assert_int_equal(p->rows, 4);
    assert_int_equal(p->bodies, 2);
    assert_int_equal(p->starts, 4);
    static const uint32_t part[] = {0, 2, 3, 1};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(p->row[i].part, part[i]);
    assert_int_equal(p->body[0].rows, 3);
    assert_int_equal(p->body[0].slot, 2); /* behind four first blocks of 4 bytes */
    assert_int_equal(p->body[1].rows, 1);
    assert_int_equal(p->body[1].row, 3);
    assert_int_equal(p->body[1].slot, 2 + 3 * 5); /* x, result, a, elements, vectors */
    assert_int_equal(r.s.args, 2 + 3 * 5 + 4);
    assert_int_equal(r.s.computed, 2 + 4 * 2);
    assert_int_equal(r.s.dims, 4);
    for (uint32_t i = 0; i < r.s.args; i++) {
        const llfi_arg *a = &r.s.arg[i];
        assert_true(a->kind != LLFI_ARG_DIM);
        assert_true(a->kind != LLFI_ARG_COMPUTED || a->ref < r.s.computed);
    }
    drop(&r);
}

static llf_status launch(const road *r, const int64_t *extent, const void *const *data, llfi_launch *l,
                         int64_t *table)
{
    *l = (llfi_launch){.extent = extent, .data = data, .computed = table};
    return r->s.skeleton->launch(&r->s, l);
}

/* Rows: x, z, w, y. Blocks of 128 threads, a vector of 4 or an element each. */
static void blocks_stand_one_part_after_another(void **state)
{
    (void)state;
    road r = make(four, "nvptx:sm_90a");
    static const struct {
        int64_t extent[4];
        uint32_t start[4], grid;
        int64_t vectors[4];
    } want[] = {
        {{512, 512, 512, 512}, {0, 1, 2, 3}, 4, {128, 128, 128, 128}},
        {{513, 1, 0, 5}, {0, 2, 3, 3}, 4, {128, 0, 0, 1}},
        {{0, 0, 0, 0}, {0, 0, 0, 0}, 0, {0, 0, 0, 0}},
        {{0, 1 << 20, 0, 3}, {0, 0, 2048, 2048}, 2049, {0, 1 << 18, 0, 0}},
    };
    const void *data[8];
    for (uintptr_t i = 0; i < 8; i++)
        data[i] = (const void *)(256 * (i + 1));
    for (size_t i = 0; i < LLFI_COUNT(want); i++) {
        llfi_launch l;
        int64_t table[10];
        assert_int_equal(launch(&r, want[i].extent, data, &l, table), LLF_OK);
        assert_int_equal(l.grid[0], want[i].grid);
        assert_int_equal(l.block[0], 128);
        for (uint32_t row = 0; row < 4; row++) {
            assert_int_equal((uint64_t)table[row / 2] >> 32 * (row % 2) & UINT32_MAX, want[i].start[row]);
            assert_int_equal(table[2 + 2 * row], want[i].extent[row]);
            assert_int_equal(table[3 + 2 * row], want[i].vectors[row]);
        }
    }
    /* z's result misaligned: its row alone goes by elements */
    const int64_t equal[4] = {512, 512, 512, 512};
    llfi_launch l;
    int64_t table[10];
    data[3] = (const void *)(256 * 4 + 4);
    assert_int_equal(launch(&r, equal, data, &l, table), LLF_OK);
    assert_int_equal(table[3], 128);
    assert_int_equal(table[5], 0);
    assert_int_equal(table[7], 128);
    assert_int_equal(l.grid[0], 1 + 4 + 1 + 1);
    const int64_t most[4] = {INT64_C(0x7fffffff) * 512, 0, 0, 0},
                  more[4] = {INT64_C(0x7fffffff) * 512, 1, 0, 0};
    assert_int_equal(launch(&r, most, data, &l, table), LLF_OK);
    assert_int_equal(launch(&r, more, data, &l, table), LLF_E_LIMIT);
    drop(&r);
}

/* Three parts leave one entry of the header over: no block is at or past it. */
static void what_the_header_has_over_is_past_every_block(void **state)
{
    (void)state;
    road r = make("graph @three(%x: f32[X], %y: f32[Y], %z: f32[Z]) {\n  %0 = neg %x\n  %1 = neg %y\n"
                  "  %2 = neg %z\n  ret %0, %1, %2\n}\n",
                  "nvptx:sm_90a");
    const int64_t extent[3] = {1, 1, 1};
    const void *data[6] = {NULL};
    llfi_launch l;
    int64_t table[8];
    assert_int_equal(launch(&r, extent, data, &l, table), LLF_OK);
    assert_int_equal((uint64_t)table[1] >> 32, UINT32_MAX);
    assert_int_equal((uint64_t)table[1] & UINT32_MAX, 2);
    drop(&r);
}

static void host_items_stand_one_part_after_another(void **state)
{
    (void)state;
    road r = make(four, "host");
    const int64_t extent[4] = {10, 0, 5, 1};
    const void *data[8] = {NULL};
    llfi_launch l;
    int64_t table[32];
    assert_true(r.s.computed <= 32);
    assert_int_equal(r.s.parts->starts, 8);
    assert_int_equal(launch(&r, extent, data, &l, table), LLF_OK);
    static const int64_t start[8] = {0, 10, 10, 15, 16, INT64_MAX, INT64_MAX, INT64_MAX};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(table[i], start[i]);
    assert_int_equal(l.items, 16);
    const int64_t much[4] = {INT64_MAX, 1, 0, 0};
    assert_int_equal(launch(&r, much, data, &l, table), LLF_E_LIMIT);
    drop(&r);
}

static char *code_of(road *r, const char *name)
{
    llfi_module m;
    llfi_code code;
    if (llfi_lower_kernel(r->g, &r->plan.kernel[0], &r->s, &r->target, name, &r->arena, &r->cx->diag, &m) !=
            LLF_OK ||
        r->target.backend->compile(&r->cx->diag, &r->target, &r->cx->mem, m.module, &code, NULL, NULL) !=
            LLF_OK)
        fail_msg("%s", llf_last_error(r->cx)->message);
    llfi_module_destroy(&m);
    char *text = llfi_arena_copy(&r->arena, code.code, code.bytes);
    llfi_free(&r->cx->mem, code.code, code.bytes + 1);
    assert_non_null(text);
    return text;
}

/* Distinct bodies once each, whatever the number of rows; the block of arguments is read where it lies. */
static void ptx_reads_the_block_in_parameter_space(void **state)
{
    (void)state;
    static const char *const target[] = {"nvptx:sm_75", "nvptx:sm_80", "nvptx:sm_90a", "nvptx:sm_90a+ptx81"};
    for (size_t i = 0; i < LLFI_COUNT(target); i++) {
        road r = make(
            "graph @k(%x: f32[X], %y: f32[Y], %z: bf16[A, B], %r: bf16[B], %w: f64[W], %a: scalar f32,"
            " %s: f32[]) {\n  %0 = mul %x, %a\n  %1 = mul %y, %a\n  %2 = add %z, %r\n  %3 = div %w, 3.0\n"
            "  ret %0, %1, %2, %3, %s\n}\n",
            target[i]);
        assert_int_equal(r.s.parts->rows, 5);
        assert_int_equal(r.s.parts->bodies, 4);
        const char *ptx = code_of(&r, "kernel");
        assert_int_equal(nvptx_count(ptx, "mul.rn.f32"),
                         4 + 1); /* a vector's and an element's, not per row */
        assert_int_equal(nvptx_count(ptx, ".local"), 0);
        assert_int_equal(nvptx_count(ptx, ".func"), 0);
        nvptx_no_spill(r.target.cpu, ptx, target[i], false);
        assert_string_equal(ptx, code_of(&r, "kernel"));
        drop(&r);
    }
}

/* A full block of the larger limit. */
static void thousands_of_bytes_of_arguments(void **state)
{
    (void)state;
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_str_puts(&s, "graph @many(");
    for (int i = 0; i < 500; i++)
        llfi_str_printf(&s, "%s%%x%d: f32[%d]", i ? ", " : "", i, i + 1);
    llfi_str_puts(&s, ") {\n");
    for (int i = 0; i < 500; i++)
        llfi_str_printf(&s, "  %%%d = neg %%x%d\n", i, i);
    llfi_str_puts(&s, "  ret ");
    for (int i = 0; i < 500; i++)
        llfi_str_printf(&s, "%s%%%d", i ? ", " : "", i);
    llfi_str_puts(&s, "\n}\n");
    road r = make(s.at, "nvptx:sm_90a+ptx81");
    assert_int_equal(r.s.parts->rows, 500);
    assert_int_equal(r.s.args * 8, 500 * 32 + 512 * 4);
    nvptx_no_spill("sm_90a", code_of(&r, "kernel"), "500 parts", false);
    drop(&r);
    llfi_str_free(&s);
}

/* Kernels are one module where the bodies, and how many rows each has, are the same. */
static void hashes_tell_layouts_apart(void **state)
{
    (void)state;
    static const char *const text[] = {
        four,
        "graph @other(%p: f32[7], %q: f32[8], %r: f32[9], %s: f32[10], %a: scalar f32) {\n  %0 = mul %p, %a\n"
        "  %1 = mul %q, %a\n  %2 = neg %r\n  %3 = mul %s, %a\n  ret %0, %1, %2, %3\n}\n",
        "graph @more(%p: f32[7], %q: f32[8], %r: f32[9], %s: f32[10], %a: scalar f32) {\n  %0 = mul %p, %a\n"
        "  %1 = mul %q, %a\n  %2 = neg %r\n  %3 = neg %s\n  ret %0, %1, %2, %3\n}\n"};
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        road r = make(text[i], "nvptx:sm_90a");
        hash[i] = llfi_kernel_hash(r.g, r.s.demands, &r.plan.kernel[0], &r.s, &r.target);
        drop(&r);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(hash[0] != hash[2]);
}

int main(void)
{
    if (!llfi_libdevice_present()) {
        print_message("SKIPPED: built without a CUDA toolkit\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_parts_share_a_body),
        cmocka_unit_test(blocks_stand_one_part_after_another),
        cmocka_unit_test(what_the_header_has_over_is_past_every_block),
        cmocka_unit_test(host_items_stand_one_part_after_another),
        cmocka_unit_test(ptx_reads_the_block_in_parameter_space),
        cmocka_unit_test(thousands_of_bytes_of_arguments),
        cmocka_unit_test(hashes_tell_layouts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
