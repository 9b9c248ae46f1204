/* Vectors that begin at multiples of their width within rows, on the host: what is chosen or turned is right
 * in every element, whichever piece of a row a thread is given, and the road for rows of other lengths too.
 */
#include "runtime_util.h"

#define MOST (600 * 256)

static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};

/* concat(x + y, x - y) along the rows, times 2; and beside it, so that pieces begin anywhere, z + 1 */
static llf_graph *halves(llf_context *cx)
{
    llf_graph *g = llf_graph_create(cx, "halves");
    int64_t b = llf_symbol(g, "B"), n = llf_symbol(g, "N"), k = llf_symbol(g, "K");
    llf_id x = llf_input(g, "x", LLF_F32, 2, (int64_t[]){b, n});
    llf_id y = llf_input(g, "y", LLF_F32, 2, (int64_t[]){b, n});
    llf_id z = llf_input(g, "z", LLF_F32, 1, &k);
    llf_id half[2] = {llf_add(g, x, y), llf_sub(g, x, y)};
    llf_id both = llf_concat(g, 2, half, 1);
    llf_output(g, llf_mul(g, both, llf_const(g, LLF_F32, 2.0)));
    llf_output(g, llf_add(g, z, llf_const(g, LLF_F32, 1.0)));
    return g;
}

static void halves_of_rows(void **state)
{
    (void)state;
    static float x[MOST], y[MOST], z[MOST], out[2 * MOST], next[MOST];
    test_road r = test_open(halves, &host, 2);
    bool stepped = false;
    for (uint32_t k = 0; k < r.p->plan.kernels; k++) {
        const llfi_schedule *s = &r.p->kernel[k].schedule;
        stepped = stepped || s->steps;
        for (uint32_t i = 0; s->parts && i < s->parts->rows; i++)
            stepped = stepped || s->parts->row[i].schedule.steps;
    }
    assert_true(stepped);
    const int64_t size[][3] = {{600, 64, 5}, {600, 128, 1001}, {600, 256, MOST}, {600, 65, 33}, {1, 64, 0},
                               {0, 64, 7},   {513, 32, 40000}, {77, 200, 99999}, {300, 4, 3001}};
    for (size_t t = 0; t < LLFI_COUNT(size); t++) {
        int64_t b = size[t][0], n = size[t][1], k = size[t][2];
        for (int64_t i = 0; i < b * n; i++) {
            x[i] = (float)(i % 100003);
            y[i] = (float)(i % 7919);
        }
        for (int64_t i = 0; i < k; i++)
            z[i] = (float)i;
        memset(out, 0xff, sizeof out);
        memset(next, 0xff, sizeof next);
        const llf_tensor bind[] = {
            {.data = x, .dtype = LLF_F32, .rank = 2, .shape = {b, n}},
            {.data = y, .dtype = LLF_F32, .rank = 2, .shape = {b, n}},
            {.data = z, .dtype = LLF_F32, .rank = 1, .shape = {k}},
            {.data = out, .dtype = LLF_F32, .rank = 2, .shape = {b, 2 * n}},
            {.data = next, .dtype = LLF_F32, .rank = 1, .shape = {k}},
        };
        for (uint32_t i = 0; i < LLFI_COUNT(bind); i++)
            assert_ok(r.e, llf_bind(r.e, i, &bind[i]));
        assert_ok(r.e, llf_prepare(r.e));
        assert_ok(r.e, llf_run(r.e, NULL));
        for (int64_t i = 0; i < b; i++)
            for (int64_t j = 0; j < 2 * n; j++) {
                float u = x[i * n + j % n], v = y[i * n + j % n];
                assert_true(out[i * 2 * n + j] == 2 * (j < n ? u + v : u - v));
            }
        for (int64_t i = 0; i < k; i++)
            assert_true(next[i] == (float)i + 1);
        uint32_t canary;
        memcpy(&canary, &out[2 * b * n < 2 * MOST ? 2 * b * n : 0], sizeof canary);
        assert_true(2 * b * n == 2 * MOST || canary == UINT32_MAX);
    }
    test_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_of_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
