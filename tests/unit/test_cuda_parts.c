/* test_cuda_parts.c: launches of several parts over the fake driver: the argument block that arrives, one
 * launch for all, and strides for which a full block still has room. Numbers need a GPU: random_pointwise
 * --target nvptx. */
#include "fake_road.h"

#ifdef LLFUSE_CUDA

enum { PARTS = 40 };

/* out_i = x_i * a for every i, and -y: f32[N] all of them */
static llf_graph *many(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "many");
    int64_t n = llf_symbol(g, "N");
    llf_id a = llf_scalar(g, "a", LLF_F32);
    for (int i = 0; i < PARTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        llf_id x = llf_input(g, name, LLF_F32, 1, &n);
        llf_output(g, i ? llf_mul(g, x, a) : llf_neg(g, x));
    }
    return g;
}

static llf_status bind_many(way *w, float *scalar, int64_t n, int64_t stride)
{
    llf_tensor t = test_scalar(LLF_F32, scalar);
    LLF_TRY(llf_bind(w->e, 0, &t));
    for (uint32_t b = 1; b < w->e->binds; b++) {
        void *p = (char *)w->data[0] + 4096 * b;
        t = test_vector(LLF_F32, p, n);
        t.strided = b < w->e->inputs;
        t.strides[0] = stride;
        LLF_TRY(llf_bind(w->e, b, &t));
    }
    return llf_prepare(w->e);
}

static llf_status room(way *w)
{
    uint64_t token;
    void *p = NULL;
    if (w->l->device->enter(&w->e->diag, w->l, &token) != LLF_OK)
        return LLF_E_DRIVER;
    llf_status status = w->l->device->alloc(&w->e->diag, w->l, (size_t)4096 * (2 * PARTS + 2), &p);
    w->l->device->leave(w->l, token);
    if (status == LLF_OK)
        w->data[w->datas++] = p;
    return status;
}

static void check_block(const way *w, uint32_t scalar_bits)
{
    fake_cuda_state s = now();
    const llfi_schedule *k = w->e->schedule[0];
    CHECK(s.last_params == (int)k->args, "%d words, not %u", s.last_params, k->args);
    CHECK(k->parts->rows == PARTS && k->parts->bodies == 2, "%u rows of %u bodies", k->parts->rows,
          k->parts->bodies);
    CHECK(s.last_grid == PARTS && s.last_block == 128, "grid %u",
          s.last_grid); /* 100 elements: a block each */
    const uint32_t *first = (const uint32_t *)s.last_param;
    for (uint32_t i = 0; i < k->parts->starts; i++)
        CHECK(first[i] == (i < PARTS ? i : UINT32_MAX), "part %u begins at block %u", i, first[i]);
    for (uint32_t b = 0; b < 2; b++) /* x, result, [a,] elements, vectors */
        for (uint32_t i = 0; i < k->parts->body[b].rows; i++) {
            const uint64_t *row = s.last_param + k->parts->body[b].slot + i * (4 + b);
            uint32_t part = b ? i + 1 : 0;
            CHECK(row[0] == (uintptr_t)w->data[0] + 4096 * (1 + part), "x%u", part);
            CHECK(row[1] == (uintptr_t)w->data[0] + 4096 * (1 + PARTS + part), "output %u", part);
            CHECK(!b || row[2] == scalar_bits, "the scalar of part %u", part);
            CHECK(row[2 + b] == 100 && row[3 + b] == 25, "the extents of part %u", part);
        }
}

static int one_launch(void)
{
    way w;
    float a = 1;
    CHECK(start(&w, many, NULL) == LLF_OK && load(&w, 0) == LLF_OK && room(&w) == LLF_OK, "%s", error(&w));
    CHECK(w.p->plan.kernels == 1 && now().modules == 1, "%u kernels", w.p->plan.kernels);
    CHECK(bind_many(&w, &a, 100, 1) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    CHECK(now().launches == 1, "%d launches", now().launches);
    check_block(&w, 0x3F800000u);
    a = 2;
    llf_tensor t = test_scalar(LLF_F32, &a);
    CHECK(llf_bind(w.e, 0, &t) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    check_block(&w, 0x40000000u);
    CHECK(bind_many(&w, &a, 0, 1) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    CHECK(now().launches == 2, "a launch of nothing");
    end(&w);
    nothing_alive();
    return 0;
}

/* Every input with gaps: more arguments than when the plan was made, and the block is as full as it may be.
 */
static int strides_fit(void)
{
    way w;
    float a = 1;
    CHECK(start(&w, many, NULL) == LLF_OK && load(&w, 0) == LLF_OK && room(&w) == LLF_OK, "%s", error(&w));
    CHECK(bind_many(&w, &a, 100, 2) == LLF_OK && llf_run(w.e, NULL) == LLF_OK, "%s", error(&w));
    CHECK(now().launches == 1 && now().modules == 2, "%d launches of %d modules", now().launches,
          now().modules);
    CHECK((uint64_t)w.e->schedule[0]->args * 8 <= 4096, "%u words", w.e->schedule[0]->args);
    end(&w);
    nothing_alive();
    return 0;
}

static void all_parts_in_one_launch(void **state)
{
    (void)state;
    CHILD(one_launch);
    CHILD(strides_fit);
}

int main(int argc, char **argv)
{
    FAKE_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_in_one_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
