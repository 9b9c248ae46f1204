/* Names and hashes of kernels, and that lowering reports each failed allocation and leaks nothing. */
#include "limits.h"
#include "lower_graph.h"

#include <stdlib.h>

static const llfi_skeleton *const skeletons[] = {&llfi_skeleton_pointwise_nvptx, NULL};
static const llfi_backend backend = {.name = "x", .skeletons = skeletons};
static const llfi_target target = {.backend = &backend, .name = "x:sm_90a", .param_bytes = 4096};

static void expect_name(fixture *f, llf_id space, const char *want)
{
    char name[160];
    whole(f, space);
    llfi_kernel_name(f->g, &f->kernel, &llfi_skeleton_pointwise_nvptx, UINT64_C(0x123456781a2b3c4d), name,
                     sizeof name);
    assert_string_equal(name, want);
}

static void names_say_what_the_user_wrote(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), w = input(&f, "w", LLF_F32), b = input(&f, "b", LLF_F32);
    llf_id v = llf_add(f.g, llf_mul(f.g, x, w), b);
    uint32_t origin = f.g->nodes.at[v].origin + 1; /* sigmoid as its primitives, one origin */
    assert_true(llfi_vec_reserve(&f.cx->mem, &f.g->origin, 1));
    f.g->origin.at[f.g->origin.count++] = LLF_OP_SIGMOID;
    v = llfi_build(f.g, LLF_OP_NEG, &v, 0, origin, (llfi_place){0});
    v = llfi_build(f.g, LLF_OP_EXP, &v, 0, origin, (llfi_place){0});
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    expect_name(&f, x, "llf_poi_fused_mul_add_sigmoid_1a2b3c4d");
    fixture_free(&f);
}

static void repeats_are_named_once_and_ten_at_most(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), v = x;
    for (int i = 0; i < 30; i++)
        v = llf_add(f.g, v, x);
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    expect_name(&f, x, "llf_poi_fused_add_1a2b3c4d");
    fixture_free(&f);
    f = fixture_make();
    x = input(&f, "x", LLF_F32);
    v = x;
    for (int i = 0; i < 20; i++)
        v = llf_tanh(f.g, llf_neg(f.g, v));
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    expect_name(&f, x, "llf_poi_fused_neg_tanh_neg_tanh_neg_tanh_neg_tanh_neg_tanh_1a2b3c4d");
    char small[24];
    llfi_kernel_name(f.g, &f.kernel, &llfi_skeleton_pointwise_nvptx, 0xabcdef, small, sizeof small);
    assert_string_equal(small, "llf_poi_fused__00abcdef"); /* the hash stays whole */
    fixture_free(&f);
}

static void schedule_and_target_are_part_of_the_hash(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32);
    llfi_plan plan = {.kernel = &f.kernel, .kernels = 1};
    llfi_schedule s;
    llfi_demands d;
    assert_int_equal(llf_output(f.g, llf_neg(f.g, x)), LLF_OK);
    whole(&f, x);
    assert_int_equal(llfi_schedule_make(f.cx, f.g, &plan, 0, &target, &f.arena, &s), LLF_OK);
    assert_int_equal(llfi_demands_make(f.g, &f.kernel, &f.arena, &d), LLF_OK);
    uint64_t h = llfi_kernel_hash(f.g, &d, &f.kernel, &s, &target);
    assert_true(h == llfi_kernel_hash(f.g, &d, &f.kernel, &s, &target));
    llfi_schedule changed[7] = {s, s, s, s, s, s, s};
    changed[0].width = 2;
    changed[1].threads = 64;
    changed[2].uniform_store = true;
    changed[3].vector_align = 1;
    changed[4].slice = 1;
    changed[5].hint.load = LLFI_HINT_LAST;
    changed[6].hint.store = LLFI_HINT_LAST;
    for (size_t i = 0; i < LLFI_COUNT(changed); i++)
        assert_false(h == llfi_kernel_hash(f.g, &d, &f.kernel, &changed[i], &target));
    llfi_target other = target;
    snprintf(other.name, sizeof other.name, "x:sm_80");
    assert_false(h == llfi_kernel_hash(f.g, &d, &f.kernel, &s, &other));
    llfi_schedule longer = s; /* another length is the same kernel */
    longer.dim[0]++;
    assert_true(h == llfi_kernel_hash(f.g, &d, &f.kernel, &longer, &target));
    fixture_free(&f);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fixture f = fixture_make();
    llf_id x = input(&f, "x", LLF_F32), v = x;
    llfi_plan plan = {.kernel = &f.kernel, .kernels = 1};
    int64_t allowed;
    const llf_allocator tight = {limits_resize, &allowed};
    llfi_target host;
    llfi_schedule s;
    for (int i = 0; i < 500; i++)
        v = llf_add(f.g, v, x);
    assert_int_equal(llf_output(f.g, v), LLF_OK);
    whole(&f, x);
    assert_int_equal(llfi_target_make(f.cx, "host", &host), LLF_OK);
    int failures = 0;
    for (int n = 0;; n++) {
        llfi_arena arena;
        llfi_module m;
        allowed = n;
        llfi_arena_init(&arena, &tight);
        llf_status status = llfi_schedule_make(f.cx, f.g, &plan, 0, &host, &arena, &s);
        if (status == LLF_OK)
            status = llfi_lower_kernel(f.g, &f.kernel, &s, &host, "k", &arena, &f.cx->diag, &m);
        llfi_arena_destroy(&arena);
        if (status == LLF_OK) {
            llfi_module_destroy(&m);
            break;
        }
        assert_int_equal(status, LLF_E_NOMEM);
        assert_int_equal(llf_last_error(f.cx)->status, LLF_E_NOMEM);
        failures++;
    }
    assert_true(failures >= 4);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_the_user_wrote),
        cmocka_unit_test(repeats_are_named_once_and_ten_at_most),
        cmocka_unit_test(schedule_and_target_are_part_of_the_hash),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
