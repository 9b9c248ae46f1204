/* SEMANTICS B52: NULL for every pointer of every public function, one at a time: a status, LLF_NONE, 0 or
 * nothing, and never a crash; what the header allows works. A function that is missing here fails the test.
 */
#include "runtime_util.h"

#include <stdio.h>

static const char text[] = "graph @g(%x: f32[4]) {\n  %0 = neg %x\n  ret %0\n}\n";

/* Calls without any object, or with one that is not there. */
static void nothing_is_given(void **state)
{
    (void)state;
    llf_tensor t = {.dtype = LLF_F32};
    llf_stats stats = {.size = sizeof stats};
    llf_graph *g = (llf_graph *)&t;
    llf_program *p = (llf_program *)&t;
    llf_loaded *l = (llf_loaded *)&t;
    llf_execution *e = (llf_execution *)&t;
    char *out = (char *)&t;
    size_t bytes = 1;
    llf_id two[3] = {7, 7, 7};
    const int64_t four = 4;
    llf_context_destroy(NULL);
    llf_graph_destroy(NULL);
    llf_program_destroy(NULL);
    llf_loaded_destroy(NULL);
    llf_execution_destroy(NULL);
    llf_text_free(NULL, NULL, 0);
    assert_int_equal(llf_context_status(NULL), LLF_E_ARG);
    assert_non_null(llf_last_error(NULL));
    assert_non_null(llf_execution_error(NULL));
    assert_null(llf_graph_create(NULL, "g"));
    assert_int_equal(llf_graph_parse(NULL, text, sizeof text - 1, "f", &g), LLF_E_ARG);
    assert_int_equal(llf_graph_print(NULL, NULL, &out, &bytes), LLF_E_ARG);
    assert_int_equal(llf_graph_inputs(NULL), 0);
    assert_int_equal(llf_graph_outputs(NULL), 0);
    assert_int_equal(llf_compile(NULL, NULL, NULL, &p), LLF_E_ARG);
    assert_int_equal(llf_program_load(NULL, NULL, 0, &l), LLF_E_ARG);
    assert_int_equal(llf_execution_create(NULL, NULL, &e), LLF_E_ARG);
    assert_int_equal(llf_bind(NULL, 0, &t), LLF_E_ARG);
    assert_int_equal(llf_prepare(NULL), LLF_E_ARG);
    assert_int_equal(llf_run(NULL, NULL), LLF_E_ARG);
    assert_int_equal(llf_execution_stats(NULL, &stats), LLF_E_ARG);
    assert_int_equal(llf_plan_export(NULL, NULL, &out, &bytes), LLF_E_ARG);
    assert_int_equal(llf_plan_import(NULL, NULL, NULL, text, 4, "f", &p), LLF_E_ARG);
    assert_int_equal(llf_output(NULL, 0), LLF_E_ARG);
    assert_int_equal(llf_hint(NULL, 0, LLF_HINT_FUSE), LLF_E_ARG);
    assert_int_equal(llf_split(NULL, 0, 0, 2, NULL, two), LLF_E_ARG);
    assert_int_equal(llf_moments(NULL, 0, 0, NULL, false, two), LLF_E_ARG);
    assert_int_equal(llf_batch_norm_train(NULL, 0, 0, 0, 0, 0, 1, 0, 0, two), LLF_E_ARG);
    assert_int_equal(llf_symbol(NULL, "N"), 0);
    const llf_id none[] = {llf_input(NULL, "x", LLF_F32, 1, &four),
                           llf_scalar(NULL, "s", LLF_F32),
                           llf_const(NULL, LLF_F32, 1),
                           llf_const_int(NULL, LLF_I32, 1),
                           llf_neg(NULL, 0),
                           llf_add(NULL, 0, 0),
                           llf_where(NULL, 0, 0, 0),
                           llf_relu(NULL, 0),
                           llf_cast(NULL, 0, LLF_F16),
                           llf_gelu(NULL, 0, LLF_GELU_ERF),
                           llf_reshape(NULL, 0, 1, &four),
                           llf_broadcast_to(NULL, 0, 1, &four),
                           llf_permute(NULL, 0, &four),
                           llf_slice(NULL, 0, NULL),
                           llf_flip(NULL, 0, 1, &four),
                           llf_expand_dims(NULL, 0, 1, &four),
                           llf_squeeze(NULL, 0, 1, &four),
                           llf_sum(NULL, 0, 1, &four, false),
                           llf_sum_as(NULL, 0, 1, &four, false, LLF_F32),
                           llf_argmax(NULL, 0, 1, &four, false),
                           llf_count(NULL, LLF_F32, 1, &four),
                           llf_concat(NULL, 1, two, 0),
                           llf_stack(NULL, 1, two, 0),
                           llf_pad(NULL, 0, 0, NULL),
                           llf_take(NULL, 0, 0, 0),
                           llf_iota(NULL, LLF_F32, 1, &four, 0),
                           llf_roll(NULL, 0, 1, NULL),
                           llf_mean(NULL, 0, 1, &four, false),
                           llf_mean_as(NULL, 0, 1, &four, false, LLF_F32),
                           llf_var(NULL, 0, 1, &four, false, 1),
                           llf_std(NULL, 0, 1, &four, false, 1),
                           llf_softmax(NULL, 0, 1, &four),
                           llf_log_softmax(NULL, 0, 1, &four),
                           llf_logsumexp(NULL, 0, 1, &four, false),
                           llf_layer_norm(NULL, 0, 0, 0, 1, &four, 0),
                           llf_rms_norm(NULL, 0, 0, 1, &four, 0),
                           llf_l2_normalize(NULL, 0, 1, &four, 0),
                           llf_batch_norm(NULL, 0, 0, 0, 0, 0, 1, 0),
                           llf_cross_entropy(NULL, 0, 0, 0, LLF_REDUCTION_SUM),
                           llf_cross_entropy_as(NULL, 0, 0, 0, LLF_REDUCTION_SUM, LLF_F32),
                           llf_mse(NULL, 0, 0, LLF_REDUCTION_SUM)};
    for (size_t i = 0; i < LLFI_COUNT(none); i++)
        if (none[i] != LLF_NONE)
            fail_msg("call %zu gives %u", i, none[i]);
    assert_non_null(llf_status_name((llf_status)-7));
    assert_non_null(llf_status_text((llf_status)12345));
    assert_string_equal(llf_dtype_name((llf_dtype)99), "?");
    assert_int_equal(llf_dtype_size((llf_dtype)99), 0);
    assert_true(llf_version()[0] && llf_llvm_version()[0]);
}

/* The lists of builders; each poisons a graph of its own. */
static void lists_are_missing(void **state)
{
    (void)state;
    for (int how = 0;; how++) {
        llf_context *cx = llf_context_create(NULL);
        llf_graph *g = llf_graph_create(cx, NULL);
        llf_id x = llf_input(g, NULL, LLF_F32, 2, (const int64_t[]){4, 5}), s = llf_scalar(g, NULL, LLF_F32);
        llf_id bad = 0;
        assert_int_equal(g->poisoned, LLF_OK); /* names may be missing */
        switch (how) {
        case 0: bad = llf_input(g, "y", LLF_F32, 2, NULL); break;
        case 1: bad = llf_symbol(g, NULL) == 0 ? LLF_NONE : 0; break;
        case 2: bad = llf_reshape(g, x, 2, NULL); break;
        case 3: bad = llf_broadcast_to(g, x, 2, NULL); break;
        case 4: bad = llf_permute(g, x, NULL); break;
        case 5: bad = llf_slice(g, x, NULL); break;
        case 6: bad = llf_flip(g, x, 1, NULL); break;
        case 7: bad = llf_expand_dims(g, x, 1, NULL); break;
        case 8: bad = llf_squeeze(g, x, 1, NULL); break;
        case 9: bad = llf_sum(g, x, 1, NULL, false); break;
        case 10: bad = llf_sum_as(g, x, 1, NULL, false, LLF_F64); break;
        case 11: bad = llf_moments(g, x, 1, (const int64_t[]){0}, false, NULL) ? LLF_NONE : 0; break;
        case 12: bad = llf_count(g, LLF_F32, 2, NULL); break;
        case 13: bad = llf_concat(g, 2, NULL, 0); break;
        case 14: bad = llf_stack(g, 2, NULL, 0); break;
        case 15: bad = llf_pad(g, x, s, NULL); break;
        case 16: bad = llf_iota(g, LLF_F32, 2, NULL, 0); break;
        case 17: bad = llf_split(g, x, 0, 2, NULL, NULL) ? LLF_NONE : 0; break;
        case 18: bad = llf_roll(g, x, 1, NULL); break;
        case 19: bad = llf_flip(g, LLF_NONE, 0, NULL); break;
        case 20: bad = llf_output(g, LLF_NONE) ? LLF_NONE : 0; break;
        case 21: bad = llf_mean(g, x, 1, NULL, false); break;
        case 22: bad = llf_mean_as(g, x, 1, NULL, false, LLF_F64); break;
        case 23: bad = llf_var(g, x, 1, NULL, false, 1); break;
        case 24: bad = llf_std(g, x, 1, NULL, false, 1); break;
        case 25: bad = llf_softmax(g, x, 1, NULL); break;
        case 26: bad = llf_log_softmax(g, x, 1, NULL); break;
        case 27: bad = llf_logsumexp(g, x, 1, NULL, false); break;
        case 28: bad = llf_layer_norm(g, x, s, s, 1, NULL, 1e-5); break;
        case 29: bad = llf_rms_norm(g, x, s, 1, NULL, 1e-5); break;
        case 30: bad = llf_l2_normalize(g, x, 1, NULL, 1e-5); break;
        case 31: bad = llf_batch_norm_train(g, x, s, s, s, s, 1, 1e-5, 0.1, NULL) ? LLF_NONE : 0; break;
        default: bad = LLF_NONE;
        }
        bool more = g->poisoned != LLF_OK; /* the last one is none */
        if (bad != LLF_NONE || (more && (g->poisoned != LLF_E_ARG || !llf_last_error(cx)->message[0])))
            fail_msg("case %d: %s, %s", how, llf_status_name(g->poisoned), llf_last_error(cx)->message);
        llf_graph_destroy(g);
        llf_context_destroy(cx);
        if (!more) {
            assert_int_equal(how, 32);
            break;
        }
    }
}

static void results_and_objects_are_missing(void **state)
{
    (void)state;
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g;
    llf_program *p = NULL, *q = NULL;
    llf_loaded *l = NULL;
    llf_execution *e = NULL;
    char *out = NULL;
    size_t bytes = 0;
    assert_int_equal(llf_context_status(cx), LLF_OK);
    assert_int_equal(llf_graph_parse(cx, text, sizeof text - 1, NULL, NULL), LLF_E_ARG);
    assert_int_equal(llf_graph_parse(cx, NULL, 4, NULL, &g), LLF_E_ARG);
    assert_int_equal(llf_graph_parse(cx, NULL, 0, NULL, &g), LLF_E_PARSE);
    assert_int_equal(llf_graph_parse(cx, text, sizeof text - 1, NULL, &g), LLF_OK); /* no file name */
    assert_int_equal(llf_graph_print(cx, NULL, &out, &bytes), LLF_E_ARG);
    assert_int_equal(llf_graph_print(cx, g, NULL, &bytes), LLF_E_ARG);
    assert_int_equal(llf_graph_print(cx, g, &out, NULL), LLF_E_ARG);
    assert_int_equal(llf_compile(cx, NULL, NULL, &p), LLF_E_ARG);
    assert_int_equal(llf_compile(cx, g, NULL, NULL), LLF_E_ARG);
    assert_int_equal(llf_compile(NULL, g, NULL, &p), LLF_E_ARG);
    assert_int_equal(llf_compile(cx, g, NULL, &p), LLF_OK); /* all defaults */
    assert_int_equal(llf_plan_export(cx, NULL, &out, &bytes), LLF_E_ARG);
    assert_int_equal(llf_plan_export(cx, p, NULL, &bytes), LLF_E_ARG);
    assert_int_equal(llf_plan_export(cx, p, &out, NULL), LLF_E_ARG);
    assert_int_equal(llf_plan_export(cx, p, &out, &bytes), LLF_OK);
    assert_int_equal(llf_plan_import(cx, g, NULL, NULL, bytes, NULL, &q), LLF_E_ARG);
    assert_int_equal(llf_plan_import(cx, g, NULL, out, bytes, NULL, NULL), LLF_E_ARG);
    assert_int_equal(llf_plan_import(cx, g, NULL, out, bytes, NULL, &q), LLF_OK);
    llf_program_destroy(q);
    assert_int_equal(llf_plan_import(cx, NULL, NULL, out, bytes, NULL, &q),
                     LLF_OK); /* the plan's own graph */
    llf_program_destroy(q);
    llf_text_free(cx, out, bytes);
    llf_text_free(cx, NULL, 0);
    assert_int_equal(llf_program_load(cx, NULL, 0, &l), LLF_E_ARG);
    assert_int_equal(llf_program_load(cx, p, 0, NULL), LLF_E_ARG);
    assert_int_equal(llf_program_load(cx, p, 1, &l), LLF_OK);
    assert_int_equal(llf_execution_create(cx, NULL, &e), LLF_E_ARG);
    assert_int_equal(llf_execution_create(cx, l, NULL), LLF_E_ARG);
    assert_int_equal(llf_execution_create(cx, l, &e), LLF_OK);
    assert_int_equal(llf_bind(e, 0, NULL), LLF_E_ARG);
    assert_int_equal(llf_execution_stats(e, NULL), LLF_E_ARG);
    assert_int_equal(llf_execution_error(e)->status, LLF_E_ARG);
    assert_int_equal(llf_prepare(e), LLF_E_ARG); /* nothing is bound */
    llf_tensor t = {.data = NULL, .dtype = LLF_F32, .rank = 1, .shape = {4}};
    assert_int_equal(llf_bind(e, 0, &t), LLF_OK);
    assert_int_equal(llf_bind(e, 1, &t), LLF_OK);
    assert_int_equal(llf_prepare(e), LLF_E_ARG);
    assert_int_not_equal(llf_run(e, NULL), LLF_OK);
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *all = calloc(1, 1 << 18);
    assert_non_null(all);
    if (!f)
        fail_msg("%s cannot be read", path);
    size_t n = fread(all, 1, (1 << 18) - 1, f);
    assert_true(n > 0 && n < (1 << 18) - 1);
    fclose(f);
    return all;
}

/* Every function that the header declares by name is called here. (By macros: rows of ops.def, all alike.) */
static void no_function_is_missing(void **state)
{
    (void)state;
    char *header = read_file(LLFUSE_SOURCE_DIR "/include/llfuse/llfuse.h"), name[64];
    char *here = read_file(LLFUSE_SOURCE_DIR "/tests/unit/test_semantics_null.c");
    int functions = 0;
    for (char *at = header; (at = strstr(at, "LLF_API ")); at++) {
        char *end = strpbrk(at, ";\n");
        char *f = strstr(at, "llf_"), *open = strchr(at, '(');
        while (f && f < end && open && f < open &&
               strspn(f, "abcdefghijklmnopqrstuvwxyz_") != (size_t)(open - f))
            f = strstr(f + 1, "llf_");
        if (!f || !open || f > open || open > end)
            continue; /* by a macro */
        snprintf(name, sizeof name, "%.*s(", (int)(open - f), f);
        functions++;
        if (!strstr(here, name))
            fail_msg("%s) is not tried", name);
    }
    assert_true(functions > 45);
    free(header);
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_given),
        cmocka_unit_test(lists_are_missing),
        cmocka_unit_test(results_and_objects_are_missing),
        cmocka_unit_test(no_function_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
