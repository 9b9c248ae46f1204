/* test_cuda_strides.c: inputs with strides over the fake driver: what is loaded and launched, which addresses
 * are asked for, vectors only where they may be, a failure at every driver call. Numbers need a GPU:
 * random_pointwise --target nvptx --strides. */
#include "fake_road.h"

#ifdef LLFUSE_CUDA

#include <dirent.h>

enum { ROOM = 64 << 10 }; /* elements of a buffer */

static llf_graph *add2(llf_context *cx)
{
    static const char text[] =
        "graph @add2(%x: f32[A, B], %y: f32[A, B]) {\n  %0 = add %x, %y\n  ret %0\n}\n";
    llf_graph *g = NULL;
    CHECK(llf_graph_parse(cx, text, sizeof text - 1, "add2", &g) == LLF_OK, "%s",
          llf_last_error(cx)->message);
    return g;
}

static float *memory(way *w)
{
    void *p = NULL;
    uint64_t token;
    if (w->l->device->enter(&w->e->diag, w->l, &token) != LLF_OK)
        return NULL;
    llf_status status = w->l->device->alloc(&w->e->diag, w->l, ROOM * sizeof(float), &p);
    w->l->device->leave(w->l, token);
    if (status != LLF_OK)
        return NULL;
    w->data[w->datas++] = p;
    return p;
}

static llf_tensor matrix(float *at, int64_t a, int64_t b, int64_t s, int64_t t)
{
    return (llf_tensor){
        .data = at, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {a, b}, .strides = {s, t}};
}

/* x as it is given, y and the output row-major. */
static llf_status with(way *w, llf_tensor x)
{
    llf_tensor y = matrix(w->data[1], x.shape[0], x.shape[1], x.shape[1], 1), z = y;
    z.data = w->data[2];
    LLF_TRY(llf_bind(w->e, 0, &x));
    LLF_TRY(llf_bind(w->e, 1, &y));
    LLF_TRY(llf_bind(w->e, 2, &z));
    LLF_TRY(llf_prepare(w->e));
    return llf_run(w->e, NULL);
}

static llf_status ready(way *w)
{
    llf_status status = start(w, add2, NULL);
    CHECK(status == LLF_OK, "%s", error(w));
    LLF_TRY(load(w, -1));
    for (int i = 0; i < 3; i++)
        if (!memory(w))
            return LLF_E_DRIVER;
    return LLF_OK;
}

static int64_t vectors(const way *w)
{
    return w->e->launch[0].value[1];
}

/* Which kernel is launched, with how many arguments, and with vectors or not. */
static int kernels(void)
{
    way w;
    CHECK(ready(&w) == LLF_OK, "%s", error(&w));
    float *x = (float *)w.data[0] + 8192;
    const struct {
        llf_tensor x;
        int modules;
        bool vectors;
    } c[] = {{matrix(x, 16, 64, 64, 1), 1, true},      {matrix(x, 16, 64, 96, 1), 2, true},
             {matrix(x, 16, 64, 97, 1), 2, false}, /* the second row is misaligned */
             {matrix(x + 1, 16, 64, 96, 1), 2, false}, {matrix(x, 16, 63, 96, 1), 2, false},
             {matrix(x, 16, 64, -96, 1), 2, true},     {matrix(x, 16, 64, 0, 1), 2, true},
             {matrix(x, 16, 64, 1, 16), 3, true}, /* y and the output still are vectors */
             {matrix(x, 16, 64, 0, 0), 3, true},       {matrix(x, 16, 64, -2, -70), 3, true},
             {matrix(x, 16, 64, 64, 1), 3, true}};
    for (size_t i = 0; i < LLFI_COUNT(c); i++) {
        CHECK(with(&w, c[i].x) == LLF_OK, "case %zu: %s", i, error(&w));
        fake_cuda_state s = now();
        CHECK(s.modules == c[i].modules && s.last_params == (int)w.e->schedule[0]->args,
              "case %zu: %d modules, %d parameters", i, s.modules, s.last_params);
        CHECK((vectors(&w) > 0) == c[i].vectors, "case %zu: %lld vectors", i, (long long)vectors(&w));
        CHECK(s.last_param[0] == (uintptr_t)c[i].x.data, "case %zu", i);
    }
    CHECK(!w.e->variant[0], "the program's own kernel for row-major inputs");
    end(&w);
    nothing_alive();
    return 0;
}

/* Both ends of what strides span must be memory that the device reaches. */
static int reach(void)
{
    way w;
    CHECK(ready(&w) == LLF_OK, "%s", error(&w));
    float *x = w.data[0], *last = x + ROOM - 1;
    CHECK(with(&w, matrix(x, 16, 64, 1024, 1)) == LLF_OK, "%s", error(&w));
    CHECK(with(&w, matrix(last - 63, 16, 64, -1024, 1)) == LLF_OK, "%s", error(&w));
    CHECK(with(&w, matrix(last, 16, 64, -1024, -1)) == LLF_OK, "%s", error(&w));
    SAYS(with(&w, matrix(last - 63, 16, 64, 1 << 20, 1)), LLF_E_ARG, error(&w), "input x");
    SAYS(with(&w, matrix(x, 16, 64, -(1 << 20), 1)), LLF_E_ARG, error(&w), "input x");
    CHECK(with(&w, matrix(x, 16, 64, 64, 1)) == LLF_OK, "%s", error(&w));
    end(&w);
    nothing_alive();
    return 0;
}

static int fail_somewhere(void)
{
    way w;
    CHECK(now().calls == 0, "the fake is held open, so that it remembers");
    llf_status status = ready(&w);
    if (status == LLF_OK)
        status = with(&w, matrix(w.data[0], 16, 64, 96, 1));
    if (status == LLF_OK)
        status = with(&w, matrix(w.data[0], 16, 64, 1, 16));
    fake_cuda_state s = now();
    if (s.failed == 0) {
        CHECK(status == LLF_OK, "%s", error(&w));
        return DONE;
    }
    CHECK(status == LLF_OK || status == LLF_E_DRIVER || status == LLF_E_TARGET, "%s", error(&w));
    unsetenv("FAKE_CUDA_FAIL_AT");
    if (w.datas == 3) /* a second try makes up for it */
        CHECK(with(&w, matrix(w.data[0], 16, 64, 96, 1)) == LLF_OK, "%s", error(&w));
    end(&w);
    if (!gives_back(&s))
        nothing_alive();
    return 0;
}

static void each_call_fails_once(void **state)
{
    (void)state;
    assert_true(fail_each_call(fail_somewhere) > 50);
}

/* Every stage of a variant can be seen, like any kernel's. */
static int dumps(void)
{
    way w;
    char folder[] = "/tmp/llfuse_strides_XXXXXX", path[600];
    CHECK(mkdtemp(folder), "no folder");
    setenv("LLF_DUMP_DIR", folder, 1);
    CHECK(ready(&w) == LLF_OK, "%s", error(&w));
    CHECK(with(&w, matrix(w.data[0], 16, 64, 96, 1)) == LLF_OK, "%s", error(&w));
    end(&w);
    DIR *d = opendir(folder);
    int found = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        const char *dot = strrchr(f->d_name, '.');
        found += dot && strcmp(dot, ".ptx") == 0;
        snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (!getenv("LLF_TEST_KEEP"))
            (void)remove(path);
    }
    closedir(d);
    (void)rmdir(folder);
    CHECK(found == 2, "%d files of PTX", found);
    return 0;
}

/* 200 inputs: with their strides far more than 4096 bytes of parameters. */
static llf_graph *sum200(llf_context *cx)
{
    static char text[32768];
    size_t n = (size_t)snprintf(text, sizeof text, "graph @sum200(");
    for (int i = 0; i < 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%%x%d: f32[A, B]", i ? ", " : "", i);
    n += (size_t)snprintf(text + n, sizeof text - n, ") {\n  %%s0 = neg %%x0\n");
    for (int i = 1; i < 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "  %%s%d = add %%s%d, %%x%d\n", i, i - 1, i);
    n += (size_t)snprintf(text + n, sizeof text - n, "  ret %%s199\n}\n");
    llf_graph *g = NULL;
    CHECK(llf_graph_parse(cx, text, n, "sum200", &g) == LLF_OK, "%s", llf_last_error(cx)->message);
    return g;
}

static int table(void)
{
    way w;
    llf_options o = {.size = sizeof o, .target = target, .set = "max_kernel_buffers=400"};
    w = (way){.cx = llf_context_create(NULL)};
    w.g = sum200(w.cx);
    CHECK(llf_compile(w.cx, w.g, &o, &w.p) == LLF_OK && load(&w, -1) == LLF_OK, "%s", error(&w));
    float *x = memory(&w), *y = memory(&w);
    for (uint32_t i = 0; i < 200; i++) {
        llf_tensor t = matrix(x + i, 4, 8, 24 + 8 * (i % 3), i % 2 ? 2 : 1);
        CHECK(llf_bind(w.e, i, &t) == LLF_OK, "%s", error(&w));
    }
    llf_tensor z = matrix(y, 4, 8, 8, 1);
    CHECK(llf_bind(w.e, 200, &z) == LLF_OK, "%s", error(&w));
    CHECK(llf_prepare(w.e) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    uint32_t tables = 0;
    for (uint32_t k = 0; k < w.p->plan.kernels; k++) {
        const llfi_schedule *s = w.e->schedule[k];
        uint32_t params = 0;
        while (params < s->args && s->arg[params].kind != LLFI_ARG_TABLE)
            params++;
        if (params == s->args)
            continue;
        tables++;
        const uint64_t *slot = w.e->slots + w.e->slot0[k];
        CHECK((params + 1) * 8 <= 4096, "%u parameters", params + 1);
        for (uint32_t i = params + 1; i < s->args; i++) /* the fake's device memory can be read */
            CHECK(((const uint64_t *)(uintptr_t)slot[params])[i - params - 1] ==
                      (uint64_t)w.e->launch[k].extent[s->arg[i].ref],
                  "stride %u", i);
    }
    CHECK(tables > 0, "nothing to test");
    end(&w);
    nothing_alive();
    return 0;
}

static void strides_beyond_the_parameters(void **state)
{
    (void)state;
    CHILD(table);
}

static void which_kernels_are_launched(void **state)
{
    (void)state;
    CHILD(kernels);
}

static void both_ends_must_be_reached(void **state)
{
    (void)state;
    CHILD(reach);
}

static void variants_are_dumped(void **state)
{
    (void)state;
    CHILD(dumps);
}

int main(int argc, char **argv)
{
    FAKE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_kernels_are_launched),    cmocka_unit_test(both_ends_must_be_reached),
        cmocka_unit_test(each_call_fails_once),          cmocka_unit_test(variants_are_dumped),
        cmocka_unit_test(strides_beyond_the_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
