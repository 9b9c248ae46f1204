/* llfuse-bench --check, node by node: right outputs pass, and a single wrong bit does not. The outputs under
 * test come from the interpreter over whole tensors, or are spoilt on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/check_nodes.c"
#include "bench/check_reduce.c"
#include "bench/data.c"
#include "bench/session.c"

#include <stdlib.h>

/* A device of plain memory, whose kernels' results can be spoilt on their way back. */
static bool spoil;
static const void *outputs_from, *outputs_to; /* the measured outputs are never spoilt here */

static llf_status fake_alloc(bench_device *d, size_t bytes, void **p)
{
    (void)d;
    *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *p ? LLF_OK : LLF_E_NOMEM;
}

static void fake_release(bench_device *d, void *p, size_t bytes)
{
    (void)d, (void)bytes;
    free(p);
}

static llf_status fake_move(bench_device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
    if (spoil && bytes && !(from >= outputs_from && from < outputs_to))
        ((unsigned char *)to)[bytes / 2] ^= 4;
    return LLF_OK;
}

static llf_status fake_upload(bench_device *d, void *to, const void *from, size_t bytes)
{
    (void)d;
    memcpy(to, from, bytes);
    return LLF_OK;
}

static llf_status fake_fill(bench_device *d, void *to, unsigned char byte, size_t bytes)
{
    (void)d;
    memset(to, byte, bytes);
    return LLF_OK;
}

static llf_status fake_sync(bench_device *d)
{
    (void)d;
    return LLF_OK;
}

static const bench_device_ops fake_ops = {.name = "fake",
                                          .alloc = fake_alloc,
                                          .release = fake_release,
                                          .upload = fake_upload,
                                          .download = fake_move,
                                          .fill = fake_fill,
                                          .sync = fake_sync};

typedef struct {
    bench_device device;
    bench_options opt;
    bench_run run;
    llf_graph *g;
    bench_tensor input[8];
    int64_t symbol[8];
    llfi_arena arena;
    char *output; /* of the one output */
    size_t bytes;
    bench_verdict v;
} fixture;

/* What the interpreter makes of the inputs, everywhere. */
static void compute(fixture *f)
{
    static const char *const names[] = {"decompose"};
    const void *data[8];
    llfi_passes_state state = {0};
    llfi_plan plan;
    llf_graph *flat = llfi_graph_clone(f->g, f->run.cx);
    llfi_fuse_options_default(&state.fuse);
    llfi_plan_init(&plan, mem);
    assert_int_equal(llfi_passes_run(f->run.cx, flat, names, 1, &state, &plan), LLF_OK);
    for (uint32_t i = 0; i < flat->inputs.count; i++) {
        llfi_extents e;
        assert_int_equal(llfi_extents_of(flat, flat->inputs.at[i], f->symbol, &e), LLF_OK);
        llf_dtype t = llfi_dtype_of(flat, flat->inputs.at[i]);
        size_t size = llfi_dtypes[t].bytes;
        bench_data how = {.dist = BENCH_NORMAL};
        assert_true(bench_tensor_make(&f->input[i], t, e.elements, &how, 40 + i));
        char *all = llfi_arena_alloc(&f->arena, (size_t)e.elements * size + 1);
        for (int64_t k = 0; k < e.elements; k++)
            llfi_bits_store(t, all + (size_t)k * size, bench_tensor_bits(&f->input[i], k));
        data[i] = all;
    }
    void **value = llfi_arena_alloc(&f->arena, flat->nodes.count * sizeof *value);
    assert_int_equal(llfi_interp(flat, f->symbol, data, &f->arena, value), LLF_OK);
    llfi_extents e;
    llf_id out = flat->outputs.at[0];
    assert_int_equal(llfi_extents_of(flat, out, f->symbol, &e), LLF_OK);
    f->output = value[out];
    f->bytes = (size_t)e.elements * llfi_dtypes[llfi_dtype_of(flat, out)].bytes;
    outputs_from = f->output, outputs_to = f->output + f->bytes;
    llfi_plan_destroy(&plan);
    llf_graph_destroy(flat);
}

static void begin(fixture *f, const char *text, int64_t n)
{
    *f = (fixture){.device = {.ops = &fake_ops, .load_arg = 1}, .run = {.target = "host"}};
    spoil = false;
    f->run.cx = llf_context_create(NULL);
    f->run.device = &f->device;
    f->run.opt = &f->opt;
    f->device.diag = &f->run.cx->diag;
    f->symbol[0] = n;
    llfi_arena_init(&f->arena, mem);
    assert_int_equal(llf_graph_parse(f->run.cx, text, strlen(text), "t", &f->g), LLF_OK);
    compute(f);
}

static bool holds(fixture *f)
{
    void *output[1] = {f->output};
    f->v = (bench_verdict){0};
    assert_int_equal(bench_check_nodes(&f->run, f->g, f->symbol, f->input, output, &f->v), LLF_OK);
    return f->v.sound;
}

static void end(fixture *f)
{
    for (size_t i = 0; i < LLFI_COUNT(f->input); i++)
        if (f->input[i].block)
            bench_tensor_free(&f->input[i]);
    llf_graph_destroy(f->g);
    llfi_arena_destroy(&f->arena);
    llf_context_destroy(f->run.cx);
}

static const char views[] = "graph @t(%x: f32[4, N], %w: f32[2*N], %c: f32[2, 1]) {\n"
                            "  %0 = slice %x, at=[1:3, ::-1]\n"
                            "  %1 = reshape %w, shape=[2, -1]\n"
                            "  %2 = add %0, %1\n"
                            "  %3 = mul %2, %c\n"
                            "  %4 = permute %3, axes=[-1, 0]\n"
                            "  %5 = slice %w, at=[N:]\n"
                            "  %6 = expand_dims %5, axes=[-1]\n"
                            "  %7 = sub %4, %6\n"
                            "  ret %7\n}\n";

static void every_wrong_element_of_a_small_output_is_found(void **state)
{
    (void)state;
    fixture f;
    begin(&f, views, 9);
    assert_true(holds(&f));
    assert_true(f.v.max_err == 0);
    assert_int_equal(f.bytes, 9 * 2 * 4);
    for (size_t i = 0; i < f.bytes; i += 4) {
        f.output[i] = (char)(f.output[i] ^ 1);
        assert_false(holds(&f));
        assert_non_null(strstr(f.v.why, "when computed node by node"));
        f.output[i] = (char)(f.output[i] ^ 1);
    }
    assert_true(holds(&f));
    end(&f);
}

/* Right values in wrong places: the rows of a transpose that stands still. */
static void a_wrong_map_is_found_by_samples(void **state)
{
    (void)state;
    fixture f;
    begin(&f, "graph @t(%x: f32[N, 128]) {\n  %0 = permute %x, axes=[1, 0]\n  %1 = neg %0\n  ret %1\n}\n",
          200);
    assert_true(holds(&f));
    for (int64_t k = 0; k < 200 * 128; k++)
        llfi_bits_store(LLF_F32, f.output + 4 * k, bench_tensor_bits(&f.input[0], k) ^ 0x80000000u);
    assert_false(holds(&f));
    end(&f);
}

static void a_wrong_node_is_found(void **state)
{
    (void)state;
    fixture f;
    begin(&f, views, 9);
    spoil = true;
    assert_false(holds(&f));
    assert_non_null(strstr(f.v.why, "the interpreter says"));
    end(&f);
}

static void functions_keep_their_bound(void **state)
{
    (void)state;
    fixture f;
    begin(&f,
          "graph @t(%x: bf16[N, 3], %b: bf16[3]) {\n  %0 = add %x, %b\n  %1 = gelu %0, approximate=tanh\n  "
          "ret %1\n}\n",
          50);
    holds(
        &f); /* the target's tanh may differ from the interpreter's by its bound: no verdict on the output */
    assert_null(strstr(f.v.why, "the interpreter says"));
    end(&f);
}

/* Gathers behind gathers, with indices far outside (they wrap or stop at the ends), and what chooses between
 * operands. */
static void gathers_and_choices(void **state)
{
    (void)state;
    static const char *const graphs[] = {
        "graph @t(%x: f32[N, 6], %i: i64[5], %y: f32[N, 3]) {\n"
        "  %0 = take %x, %i, axis=1\n"
        "  %1 = concat %0, %y, axis=1\n"
        "  %2 = pad %1, 1.5, by=[:, 1:2]\n"
        "  %3 = neg %2\n"
        "  ret %3\n}\n",
        "graph @t(%x: f32[N], %t: i32[7], %i: i32[3, N]) {\n"
        "  %0 = add %i, 2\n"
        "  %1 = take %t, %0, axis=0\n"
        "  %2 = mul %1, 3\n"
        "  %3 = take %x, %2, axis=0\n"
        "  %4 = mul %3, 2.0\n"
        "  ret %4\n}\n",
        "graph @t(%x: f32[N, 4]) {\n"
        "  %0 = iota dtype=i64, shape=[N], axis=0\n"
        "  %1 = flip %0, axes=[0]\n"
        "  %2 = take %x, %1, axis=0\n"
        "  %3 = sub %2, %x\n"
        "  ret %3\n}\n",
    };
    for (size_t k = 0; k < LLFI_COUNT(graphs); k++) {
        fixture f;
        begin(&f, graphs[k], 6);
        if (!holds(&f))
            fail_msg("%s: %s", graphs[k], f.v.why);
        for (size_t i = 0; i < f.bytes; i += 4) {
            f.output[i] = (char)(f.output[i] ^ 1);
            assert_false(holds(&f));
            f.output[i] = (char)(f.output[i] ^ 1);
        }
        end(&f);
    }
}

/* Whole rows: before and behind other nodes, over axes that do not stand together, of two results, of
 * nothing. A wrong bit of any is found. */
static void reductions_by_rows(void **state)
{
    (void)state;
    static const char *const graphs[] = {
        "graph @t(%x: f32[3, N, 5], %y: f32[N]) {\n"
        "  %0 = mul %x, 0.1\n  %1 = sum %0, axes=[0, 2]\n  %2 = sub %1, %y\n  ret %2\n}\n",
        "graph @t(%x: f32[N, 1500]) {\n"
        "  %0, %1 = moments %x, axes=[-1], keepdims\n  %n = count dtype=f32, shape=[1500]\n"
        "  %2 = div %1, %n\n  %3 = add %0, %2\n  ret %3\n}\n",
        "graph @t(%x: f32[N, 9]) {\n  %0 = argmax %x, axes=[0]\n  %1 = cast %0, dtype=i32\n  ret %1\n}\n",
        "graph @t(%x: f32[N, 0]) {\n  %0 = prod %x, axes=[1]\n  %1 = neg %0\n  ret %1\n}\n",
    };
    for (size_t k = 0; k < LLFI_COUNT(graphs); k++) {
        fixture f;
        begin(&f, graphs[k], 6);
        if (!holds(&f))
            fail_msg("%s: %s", graphs[k], f.v.why);
        for (size_t i = 0; i < f.bytes; i += 4) {
            f.output[i] = (char)(f.output[i] ^ 1);
            assert_false(holds(&f));
            f.output[i] = (char)(f.output[i] ^ 1);
        }
        spoil = true;
        assert_false(holds(&f));
        end(&f);
    }
}

static void nothing_to_compute(void **state)
{
    (void)state;
    fixture f;
    begin(&f, "graph @t(%x: f32[N, 3]) {\n  ret %x\n}\n", 0);
    assert_true(holds(&f));
    end(&f);
    begin(&f, "graph @t(%x: f32[N, 3]) {\n  %0 = flip %x, axes=[0]\n  ret %0\n}\n", 7);
    assert_true(holds(&f));
    f.output[5] ^= 1;
    assert_false(holds(&f));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_wrong_element_of_a_small_output_is_found),
                                       cmocka_unit_test(a_wrong_map_is_found_by_samples),
                                       cmocka_unit_test(a_wrong_node_is_found),
                                       cmocka_unit_test(functions_keep_their_bound),
                                       cmocka_unit_test(gathers_and_choices),
                                       cmocka_unit_test(reductions_by_rows),
                                       cmocka_unit_test(nothing_to_compute)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
