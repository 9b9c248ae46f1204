/* test_cuda_wide.c: sizes for which 31 bits do not do, over the fake driver, which runs nothing and so needs
 * no memory of such a size: which kernel is launched, and how many are compiled. */
#include "fake_road.h"

#ifdef LLFUSE_CUDA

#include "runtime/variant.h"

#define MOST INT64_C(2147483647)

static llf_graph *parsed(llf_context *cx, const char *text)
{
    llf_graph *g = NULL;
    CHECK(llf_graph_parse(cx, text, strlen(text), NULL, &g) == LLF_OK, "%s", llf_last_error(cx)->message);
    return g;
}

static llf_graph *bias(llf_context *cx)
{
    return parsed(cx, "graph @bias(%x: f32[A, B], %w: f32[B]) {\n  %0 = add %x, %w\n  ret %0\n}\n");
}

static llf_graph *plain(llf_context *cx)
{
    return parsed(cx, "graph @plain(%x: f32[A, B]) {\n  %0 = neg %x\n  ret %0\n}\n");
}

/* Two parts of one launch. */
static llf_graph *two(llf_context *cx)
{
    return parsed(cx, "graph @two(%x: f32[A, B], %w: f32[B], %y: f32[C, D], %v: f32[D]) {\n"
                      "  %0 = add %x, %w\n  %1 = mul %y, %v\n  ret %0, %1\n}\n");
}

static llf_graph *part_of(llf_context *cx)
{
    return parsed(cx,
                  "graph @part_of(%x: f32[N]) {\n  %0 = slice %x, at=[8:16]\n  %1 = neg %0\n  ret %1\n}\n");
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Small buffers, lowest first: what is said to be large is given the last one and reaches over nothing. */
static llf_status ready(way *w, llf_graph *(*make)(llf_context *), uint32_t buffers)
{
    uint64_t token;
    CHECK(start(w, make, NULL) == LLF_OK, "%s", error(w));
    LLF_TRY(load(w, -1));
    LLF_TRY(w->l->device->enter(&w->e->diag, w->l, &token));
    llf_status status = LLF_OK;
    for (; status == LLF_OK && w->datas < buffers; w->datas += status == LLF_OK)
        status = w->l->device->alloc(&w->e->diag, w->l, 4096, &w->data[w->datas]);
    w->l->device->leave(w->l, token);
    qsort(w->data, w->datas, sizeof *w->data, by_address);
    return status;
}

static llf_status bind2(way *w, uint32_t binding, uint32_t buffer, int64_t a, int64_t b)
{
    llf_tensor t = {.data = w->data[buffer], .dtype = LLF_F32, .rank = a < 0 ? 1 : 2, .shape = {a, b}};
    if (a < 0)
        t.shape[0] = b;
    return llf_bind(w->e, binding, &t);
}

static llf_status biased(way *w, int64_t a, int64_t b)
{
    LLF_TRY(bind2(w, 0, 1, a, b));
    LLF_TRY(bind2(w, 1, 0, -1, b));
    LLF_TRY(bind2(w, 2, 1, a, b)); /* in place */
    LLF_TRY(llf_prepare(w->e));
    return llf_run(w->e, NULL);
}

static llf_stats stats(const way *w)
{
    llf_stats s = {.size = sizeof s};
    CHECK(llf_execution_stats(w->e, &s) == LLF_OK, "stats");
    return s;
}

static int one_kernel(void)
{
    way w;
    CHECK(ready(&w, bias, 2) == LLF_OK, "%s", error(&w));
    const struct {
        int64_t a, b;
        bool wide;
        uint32_t variants;
    } c[] = {{16, 64, false, 0},
             {MOST, 1, false, 0},
             {1 << 25, 64, true, 1},
             {16, 64, false, 1},
             {(1 << 25) - 1, 64, false, 1},
             {MOST + 1, 1, true, 1},
             {1 << 30, 16, true, 1},
             {0, 64, false, 1},
             {MOST, 1, false, 1},
             {0, MOST + 1, false, 1}};
    for (size_t i = 0; i < LLFI_COUNT(c); i++) {
        CHECK(biased(&w, c[i].a, c[i].b) == LLF_OK, "case %zu: %s", i, error(&w));
        const llfi_variant *v = w.e->variant[0];
        CHECK((v != NULL) == c[i].wide, "case %zu", i);
        CHECK(w.e->schedule[0]->demands->space.narrow == !c[i].wide, "case %zu", i);
        CHECK(stats(&w).variants == c[i].variants && now().modules == (int)(1 + c[i].variants),
              "case %zu: %u variants, %d modules", i, (unsigned)stats(&w).variants, now().modules);
        CHECK(c[i].a == 0 || now().last_params == (int)w.e->schedule[0]->args, "case %zu", i);
    }
    end(&w);
    nothing_alive();
    return 0;
}

/* Without index arithmetic there is nothing to be asked. */
static int linear(void)
{
    way w;
    CHECK(ready(&w, plain, 1) == LLF_OK, "%s", error(&w));
    CHECK(bind2(&w, 0, 0, 1 << 30, 16) == LLF_OK && bind2(&w, 1, 0, 1 << 30, 16) == LLF_OK, "%s", error(&w));
    CHECK(llf_prepare(w.e) == LLF_OK, "%s", error(&w));
    CHECK(!w.e->variant[0] && stats(&w).variants == 0, "a variant");
    end(&w);
    nothing_alive();
    return 0;
}

static int parts(void)
{
    way w;
    CHECK(ready(&w, two, 4) == LLF_OK, "%s", error(&w));
    CHECK(w.p->plan.kernels == 1 && w.p->plan.kernel[0].parts == 2, "one launch of two parts");
    for (int large = 0; large < 4; large++) { /* bit 0: the first part; bit 1: the second */
        bool second = large == 2;
        if (large == 3)
            continue; /* they would overlap */
        uint32_t x = second ? 2 : 3, y = second ? 3 : 2;
        CHECK(bind2(&w, 0, x, large == 1 ? 1 << 28 : 3, 8) == LLF_OK, "%s", error(&w));
        CHECK(bind2(&w, 1, 0, -1, 8) == LLF_OK && bind2(&w, 3, 1, -1, 8) == LLF_OK, "%s", error(&w));
        CHECK(bind2(&w, 2, y, second ? 1 << 28 : 3, 8) == LLF_OK, "%s", error(&w));
        CHECK(bind2(&w, 4, x, large == 1 ? 1 << 28 : 3, 8) == LLF_OK, "%s", error(&w));
        CHECK(bind2(&w, 5, y, second ? 1 << 28 : 3, 8) == LLF_OK, "%s", error(&w));
        CHECK(llf_prepare(w.e) == LLF_OK, "%d: %s", large, error(&w));
        CHECK((w.e->variant[0] != NULL) == (large != 0), "%d", large);
        const llfi_schedule_parts *p = w.e->schedule[0]->parts;
        for (uint32_t i = 0; i < p->rows; i++)
            CHECK(p->row[i].schedule.demands->space.narrow == (large == 0), "%d: row %u", large, i);
    }
    CHECK(stats(&w).variants == 1, "%u variants", (unsigned)stats(&w).variants);
    end(&w);
    nothing_alive();
    return 0;
}

/* A small result from a buffer whose offsets may be large. */
static int buffer(void)
{
    way w;
    CHECK(ready(&w, part_of, 2) == LLF_OK, "%s", error(&w));
    for (int large = 0; large < 2; large++) {
        CHECK(bind2(&w, 0, 1, -1, MOST + large) == LLF_OK && bind2(&w, 1, 0, -1, 8) == LLF_OK, "%s",
              error(&w));
        CHECK(llf_prepare(w.e) == LLF_OK, "%s", error(&w));
        CHECK((w.e->variant[0] != NULL) == (large != 0) && w.e->schedule[0]->demands->forms, "%d", large);
    }
    end(&w);
    nothing_alive();
    return 0;
}

/* Strides, and sizes: variants of their own, whichever is first. */
static int strided_too(void)
{
    for (int order = 0; order < 2; order++) {
        way w;
        CHECK(ready(&w, bias, 2) == LLF_OK, "%s", error(&w));
        for (int i = 0; i < 2; i++) {
            if (i == order) {
                CHECK(biased(&w, 1 << 28, 8) == LLF_OK, "%s", error(&w));
                CHECK(w.e->variant[0] && w.e->variant[0]->inputs == 0, "order %d", order);
                continue;
            }
            for (int twice = 0; twice < 2; twice++) {
                llf_tensor t = {
                    .data = w.data[0], .dtype = LLF_F32, .rank = 1, .strided = true, .shape = {8}};
                t.strides[0] = 2 + twice;
                CHECK(bind2(&w, 0, 1, 3, 8) == LLF_OK && llf_bind(w.e, 1, &t) == LLF_OK &&
                          bind2(&w, 2, 1, 3, 8) == LLF_OK && llf_prepare(w.e) == LLF_OK,
                      "%s", error(&w));
                CHECK(w.e->variant[0] && w.e->variant[0]->inputs == 1, "order %d", order);
            }
        }
        CHECK(stats(&w).variants == 2, "%u variants", (unsigned)stats(&w).variants);
        end(&w);
    }
    nothing_alive();
    return 0;
}

static void heard(void *user, const char *topic, const char *line)
{
    if (strcmp(topic, "recompiles") == 0)
        snprintf(user, 600, "%s", line);
}

static int told(void)
{
    way w = {0};
    char line[600] = "";
    llf_context_options co = {.size = sizeof co, .log = heard, .log_user = line, .logs = "recompiles"};
    llf_options o = {.size = sizeof o, .target = target};
    uint64_t token;
    w.cx = llf_context_create(&co);
    w.g = bias(w.cx);
    CHECK(llf_compile(w.cx, w.g, &o, &w.p) == LLF_OK && load(&w, -1) == LLF_OK, "%s", error(&w));
    CHECK(w.l->device->enter(&w.e->diag, w.l, &token) == LLF_OK, "%s", error(&w));
    for (; w.datas < 2; w.datas++)
        CHECK(w.l->device->alloc(&w.e->diag, w.l, 4096, &w.data[w.datas]) == LLF_OK, "%s", error(&w));
    w.l->device->leave(w.l, token);
    qsort(w.data, w.datas, sizeof *w.data, by_address);
    CHECK(biased(&w, 1 << 28, 8) == LLF_OK, "%s", error(&w));
    CHECK(strstr(line, "kernel 0 again: its indices reach 2147483648, beyond 31 bits"), "%s", line);
    end(&w);
    nothing_alive();
    return 0;
}

#define TEST(name, body)           \
    static void name(void **state) \
    {                              \
        (void)state;               \
        CHILD(body);               \
    }
TEST(one_variant_serves_all_that_does_not_fit, one_kernel)
TEST(kernels_without_indices_have_none, linear)
TEST(all_parts_must_fit, parts)
TEST(buffers_must_fit, buffer)
TEST(strides_have_variants_of_their_own, strided_too)
TEST(the_log_says_why, told)

int main(int argc, char **argv)
{
    FAKE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_variant_serves_all_that_does_not_fit),
        cmocka_unit_test(kernels_without_indices_have_none),
        cmocka_unit_test(all_parts_must_fit),
        cmocka_unit_test(buffers_must_fit),
        cmocka_unit_test(strides_have_variants_of_their_own),
        cmocka_unit_test(the_log_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
