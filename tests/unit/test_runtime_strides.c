/* test_runtime_strides.c: inputs of any strides on the host. What is expected is plain C indexing; what must
 * not be read faults or is NaN, what must not be written is a canary. */
#include "strided_memory.h"

static const char neg4[] = "graph @neg4(%x: f32[A, B, C, D]) {\n  %0 = neg %x\n  ret %0\n}\n";

static void every_kind_of_stride(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    NEGATED(&r, LIST(37, 53), LIST(53, 1)); /* contiguous */
    assert_int_equal(stats_of(r.e).modules, 1);
    NEGATED(&r, LIST(37, 53), LIST(60, 1));   /* rows of a larger matrix */
    NEGATED(&r, LIST(37, 64), LIST(96, 1));   /* the same, of vectors */
    NEGATED(&r, LIST(3, 130), LIST(-200, 1)); /* rows backwards */
    assert_int_equal(stats_of(r.e).modules, 2);
    NEGATED(&r, LIST(37, 53), LIST(1, 37)); /* transposed */
    NEGATED(&r, LIST(5, 7), LIST(-7, -1));  /* all backwards */
    NEGATED(&r, LIST(5, 7), LIST(14, -2));  /* every other one, from the end */
    NEGATED(&r, LIST(33, 65), LIST(0, 0));  /* one element */
    NEGATED(&r, LIST(33, 65), LIST(0, 1));  /* one row */
    NEGATED(&r, LIST(33, 65), LIST(1, 0));  /* one column */
    NEGATED(&r, LIST(33, 65), LIST(1, 1));  /* overlapping windows */
    NEGATED(&r, LIST(33, 65), LIST(2, 3));
    NEGATED(&r, LIST(1000, 3), LIST(-1, 1001)); /* far apart */
    NEGATED(&r, LIST(1, 9), LIST(12345, 3));    /* an axis of extent 1 has no stride */
    NEGATED(&r, LIST(9, 1), LIST(3, -77777));
    NEGATED(&r, LIST(1, 1), LIST(-5, 7));
    NEGATED(&r, LIST(0, 9), LIST(-5, 7));
    NEGATED(&r, LIST(9, 0), LIST(INT64_MAX, INT64_MIN));
    NEGATED(&r, LIST(301, 1001), LIST(1, 301)); /* many pieces for the pool */
    NEGATED(&r, LIST(37, 53), LIST(53, 1));
    assert_null(r.e->variant[0]); /* contiguous again: the fast one again */
    llf_stats s = stats_of(r.e);
    assert_int_equal(s.modules, 3);
    assert_int_equal(s.variants, 2);
    assert_int_equal(s.kernels, 1);
    test_close(&r);
}

static void higher_ranks(void **state)
{
    (void)state;
    test_road r = open_text(neg4);
    NEGATED(&r, LIST(3, 5, 7, 11), LIST(385, 1, 55, 5)); /* NHWC of NCHW */
    NEGATED(&r, LIST(3, 5, 7, 11), LIST(1, 3, 15, 105)); /* all turned round */
    NEGATED(&r, LIST(3, 5, 7, 11), LIST(-385, 77, 0, -1));
    NEGATED(&r, LIST(2, 1, 3, 1), LIST(9, -1, 3, 1000000));
    test_close(&r);
    r = open_text("graph @neg16(%x: f32[A, B, 2, 1, 2, 2, C, 2, 2, 1, 2, 2, 2, D, 2, 2]) {\n"
                  "  %0 = neg %x\n  ret %0\n}\n");
    int64_t shape[16] = {1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 2, 3, 2, 2}, stride[16];
    for (int i = 0, s = 1; i < 16; i++) { /* the first axis innermost, every third backwards */
        stride[i] = i % 3 ? s : -s;
        s *= (int)shape[i];
    }
    negated(&r, 16, shape, stride);
    test_close(&r);
}

/* B19: a plan for contiguous input, fed a view of stride 0. */
static void one_element_everywhere(void **state)
{
    (void)state;
    test_road r = open_text("graph @sine(%x: f32[A, B]) {\n  %0 = sin %x\n  ret %0\n}\n");
    const int64_t column[] = {3, 1}, square[] = {3, 3};
    strided_output y = strided_result(2, column), z = strided_result(2, square);
    strided_memory x = strided_open(2, column, LIST(1, 1), false);
    bind_to(&r, 0, x.t);
    bind_to(&r, 1, y.t);
    go(&r);
    assert_int_equal(stats_of(r.e).variants, 0);
    float first = *(float *)y.t.data;
    strided_close(&x);
    x = strided_open(2, square, LIST(0, 0), false); /* nothing behind element 0 can be read */
    assert_true(*(float *)x.t.data == strided_value(0));
    bind_to(&r, 0, x.t);
    bind_to(&r, 1, z.t);
    go(&r);
    for (int i = 0; i < 9; i++)
        assert_true(((float *)z.t.data)[i] == first);
    strided_close(&x);
    strided_done(&y);
    strided_done(&z);
    test_close(&r);
    /* [2, 1] expanded to [2, 128], times [2, 128] */
    r = open_text("graph @times(%x: f32[A, B], %w: f32[A, B]) {\n  %0 = mul %x, %w\n  ret %0\n}\n");
    const int64_t wide[] = {2, 128};
    x = strided_open(2, wide, LIST(1, 0), false);
    strided_memory w = strided_open(2, wide, LIST(128, 1), true);
    y = strided_result(2, wide);
    bind_to(&r, 0, x.t);
    bind_to(&r, 1, w.t);
    bind_to(&r, 2, y.t);
    go(&r);
    for (int i = 0; i < 256; i++)
        assert_true(((float *)y.t.data)[i] == strided_value(i / 128) * strided_value(i));
    strided_close(&x);
    strided_close(&w);
    strided_done(&y);
    test_close(&r);
}

/* B27: an odd row length and buffers off by one element are ordinary input, and no reason for a variant. */
static void misaligned_by_one_element(void **state)
{
    (void)state;
    enum { ROWS = 5, ROW = 1001 };
    test_road r = open_text("graph @bias(%x: f32[B, N], %w: f32[N]) {\n  %0 = add %x, %w\n  ret %0\n}\n");
    strided_output x = strided_result(2, LIST(ROWS, ROW + 1)), w = strided_result(1, LIST(ROW + 1));
    strided_output y = strided_result(2, LIST(ROWS, ROW + 1));
    float *px = (float *)x.t.data + 1, *pw = (float *)w.t.data + 1, *py = (float *)y.t.data + 1;
    for (int i = 0; i < ROWS * ROW; i++)
        px[i] = strided_value(i);
    for (int i = 0; i < ROW; i++)
        pw[i] = strided_value(7 * i);
    bind_to(&r, 0, (llf_tensor){.data = px, .dtype = LLF_F32, .rank = 2, .shape = {ROWS, ROW}});
    bind_to(&r, 1, (llf_tensor){.data = pw, .dtype = LLF_F32, .rank = 1, .shape = {ROW}});
    bind_to(&r, 2, (llf_tensor){.data = py, .dtype = LLF_F32, .rank = 2, .shape = {ROWS, ROW}});
    go(&r);
    for (int i = 0; i < ROWS * ROW; i++)
        assert_true(py[i] == strided_value(i) + strided_value(7 * (i % ROW)));
    assert_int_equal(stats_of(r.e).modules, 1);
    strided_done(&x);
    strided_done(&w);
    strided_done(&y);
    test_close(&r);
}

/* B42: [4, 1] in its own buffer, as a view whose axis of extent 1 has another stride, and as a column. */
static void strides_of_single_elements_are_none(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    NEGATED(&r, LIST(4, 1), LIST(1, 1));
    NEGATED(&r, LIST(4, 1), LIST(1, 4));
    NEGATED(&r, LIST(4, 1), LIST(1, -8));
    NEGATED(&r, LIST(1, 4), LIST(99, 1));
    NEGATED(&r, LIST(1, 1), LIST(0, 0));
    assert_int_equal(stats_of(r.e).modules, 1);
    for (int n = 2; n < 40; n++) /* x[:, 0:1] of wider and wider x */
        NEGATED(&r, LIST(4, 1), LIST(n, 1));
    assert_int_equal(stats_of(r.e).modules, 2);
    test_close(&r);
}

/* One program, all sizes, contiguous and not: three kernels at most. */
static void one_program_serves_all_sizes(void **state)
{
    (void)state;
    test_road r = open_text("graph @neg1(%x: f32[N]) {\n  %0 = neg %x\n  ret %0\n}\n");
    const int64_t size[] = {0, 1, 8, 100, 1000001};
    for (size_t i = 0; i < LLFI_COUNT(size); i++)
        NEGATED(&r, LIST(size[i]), LIST(1));
    assert_int_equal(stats_of(r.e).modules, 1);
    for (size_t i = 0; i < LLFI_COUNT(size); i++)
        for (int64_t s = -3; s < 4; s++)
            NEGATED(&r, LIST(size[i]), LIST(s));
    llf_stats now = stats_of(r.e);
    assert_true(now.modules > 1 && now.modules <= 3);
    test_close(&r);
}

/* Inputs that come later find what is there, or the variant that takes everything. */
static void two_variants_at_most(void **state)
{
    (void)state;
    test_road r = open_text("graph @three(%x: f32[A, B], %y: f32[A, B], %z: f32[B]) {\n"
                            "  %0 = mul %x, %y\n  %1 = sub %0, %z\n  ret %1\n}\n");
    enum { A = 19, B = 45 };
    const int64_t stride[][5] = {{B, 1, B, 1, 1},   {50, 1, B, 1, 1}, {48, 1, B, 1, 1}, {B, 1, 64, 1, 1},
                                 {1, A, B, 1, 1},   {B, 1, 1, A, -1}, {0, 0, 0, 1, 0},  {-B, -1, 7, 2, 5},
                                 {64, 1, 50, 1, 1}, {B, 1, B, 1, 1}};
    const uint32_t modules[] = {1, 2, 2, 3, 3, 3, 3, 3, 3, 3};
    for (size_t k = 0; k < LLFI_COUNT(stride); k++) {
        strided_memory x = strided_open(2, LIST(A, B), stride[k], k % 2);
        strided_memory y = strided_open(2, LIST(A, B), stride[k] + 2, k % 2);
        strided_memory z = strided_open(1, LIST(B), stride[k] + 4, k % 2);
        strided_output o = strided_result(2, LIST(A, B));
        bind_to(&r, 0, x.t);
        bind_to(&r, 1, y.t);
        bind_to(&r, 2, z.t);
        bind_to(&r, 3, o.t);
        go(&r);
        for (int64_t i = 0; i < A; i++)
            for (int64_t j = 0; j < B; j++) {
                float p = strided_value(i * stride[k][0] + j * stride[k][1]) *
                          strided_value(i * stride[k][2] + j * stride[k][3]);
                assert_true(((float *)o.t.data)[i * B + j] == p - strided_value(j * stride[k][4]));
            }
        assert_int_equal(stats_of(r.e).modules, modules[k]);
        strided_done(&o);
        strided_close(&x);
        strided_close(&y);
        strided_close(&z);
    }
    test_close(&r);
}

/* Views of the graph on top of strides; one of them returned as it is. */
static void views_of_strided_inputs(void **state)
{
    (void)state;
    test_road r = open_text("graph @views(%x: f32[A, B], %v: f32[C]) {\n"
                            "  %0 = permute %x, axes=[1, 0]\n"
                            "  %1 = slice %0, at=[1:, ::-1]\n" /* [B-1, A] */
                            "  %2 = flip %x, axes=[1]\n"
                            "  %3 = reshape %v, shape=[A, 6]\n"
                            "  %4 = slice %3, at=[:, 5:0:-2]\n" /* [A, 3] */
                            "  %5 = neg %4\n"
                            "  ret %1, %2, %5\n}\n");
    enum { A = 7, B = 12 };
    const int64_t stride[][3] = {{B, 1, 1}, {15, 1, 1}, {1, A, 3}, {-20, 2, -2}, {0, 0, 0}, {1, 1, 5}};
    for (size_t k = 0; k < LLFI_COUNT(stride); k++) {
        const int64_t s = stride[k][0], t = stride[k][1], u = stride[k][2];
        strided_memory x = strided_open(2, LIST(A, B), stride[k], k % 2);
        strided_memory v = strided_open(1, LIST(A * 6), stride[k] + 2, k % 2);
        strided_output a = strided_result(2, LIST(B - 1, A)), b = strided_result(2, LIST(A, B));
        strided_output c = strided_result(2, LIST(A, 3));
        bind_to(&r, 0, x.t);
        bind_to(&r, 1, v.t);
        bind_to(&r, 2, a.t);
        bind_to(&r, 3, b.t);
        bind_to(&r, 4, c.t);
        go(&r);
        for (int64_t i = 0; i < A; i++) {
            for (int64_t j = 0; j < B; j++)
                assert_true(((float *)b.t.data)[i * B + j] == strided_value(i * s + (B - 1 - j) * t));
            for (int64_t j = 0; j < B - 1; j++)
                assert_true(((float *)a.t.data)[j * A + i] == strided_value((A - 1 - i) * s + (j + 1) * t));
            for (int64_t j = 0; j < 3; j++)
                assert_true(((float *)c.t.data)[i * 3 + j] == -strided_value((i * 6 + 5 - 2 * j) * u));
        }
        strided_done(&a);
        strided_done(&b);
        strided_done(&c);
        strided_close(&x);
        strided_close(&v);
    }
    llf_stats now = stats_of(r.e);
    assert_true(now.modules <= 3 * now.kernels);
    test_close(&r);
}

/* Offsets beyond 2^31 and 2^32 of a kernel whose own offsets are tiny; nothing between is there at all. */
static void offsets_have_64_bits(void **state)
{
    (void)state;
    test_road r = open_text("graph @far(%x: f32[3, 5]) {\n  %0 = neg %x\n  ret %0\n}\n");
    const int64_t stride[] = {((int64_t)1 << 30) + 1024, -((int64_t)1 << 30) - 1024,
                              ((int64_t)1 << 32) + 1024};
    for (size_t k = 0; k < LLFI_COUNT(stride); k++) {
        int64_t s = stride[k], low = s < 0 ? 2 * s : 0;
        size_t bytes = (size_t)(s < 0 ? -2 * s : 2 * s) * sizeof(float) + 4096;
        char *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_true(map != MAP_FAILED);
        float *x = (float *)(void *)map - low, y[15];
        for (int64_t i = 0; i < 3; i++) {
            assert_int_equal(mprotect(x + i * s, 4096, PROT_READ | PROT_WRITE), 0);
            for (int64_t j = 0; j < 5; j++)
                x[i * s + j] = (float)(i * 5 + j);
        }
        llf_tensor t = {
            .data = x, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 5}, .strides = {s, 1}};
        bind_to(&r, 0, t);
        bind_to(&r, 1, (llf_tensor){.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, 5}});
        go(&r);
        for (int i = 0; i < 15; i++)
            assert_true(y[i] == -(float)i);
        munmap(map, bytes);
    }
    test_close(&r);
}

/* All sizes of elements, moved by a returned input. */
static void every_dtype_is_moved(void **state)
{
    (void)state;
    static const char *const name[] = {"f64", "f32", "f16", "bf16", "i32", "i64", "bool"};
    static const llf_dtype dtype[] = {LLF_F64, LLF_F32, LLF_F16, LLF_BF16, LLF_I32, LLF_I64, LLF_BOOL};
    for (size_t k = 0; k < LLFI_COUNT(name); k++) {
        char text[200];
        snprintf(text, sizeof text, "graph @move(%%x: %s[A, B]) {\n  ret %%x\n}\n", name[k]);
        test_road r = open_text(text);
        size_t size = llf_dtype_size(dtype[k]);
        unsigned char from[40 * 8], to[20 * 8];
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = dtype[k] == LLF_BOOL ? i % 3 == 0 : (unsigned char)(i % 61); /* no NaN among them */
        bind_to(&r, 0,
                (llf_tensor){.data = from + 39 * size,
                             .dtype = dtype[k],
                             .rank = 2,
                             .strided = true,
                             .shape = {4, 5},
                             .strides = {-2, -7}});
        bind_to(&r, 1, (llf_tensor){.data = to, .dtype = dtype[k], .rank = 2, .shape = {4, 5}});
        go(&r);
        for (size_t i = 0; i < 20; i++)
            assert_memory_equal(to + i * size, from + (39 - i / 5 * 2 - i % 5 * 7) * size, size);
        test_close(&r);
    }
}

/* ---- refusals */

static void what_cannot_be(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    float x[64] = {0}, y[64];
    llf_tensor in = {
        .data = x, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 4}, .strides = {8, 1}};
    llf_tensor out = {.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, 4}};
    const char *message = llf_execution_error(r.e)->message;
    bind_to(&r, 0, in);
    out.strided = true;
    out.strides[0] = 8;
    out.strides[1] = 1;
    bind_to(&r, 1, out);
    assert_refused(llf_prepare(r.e), LLF_E_UNSUPPORTED, message, "output 0");
    assert_refused(llf_prepare(r.e), LLF_E_UNSUPPORTED, message, "inputs may have any");
    out.strided = false;
    bind_to(&r, 1, out);
    const int64_t far[][2] = {{INT64_MAX, 1},
                              {INT64_MIN, 1},
                              {INT64_MAX / 4 + 1, 1},
                              {1, INT64_MIN},
                              {-INT64_MAX / 12, -INT64_MAX / 20},
                              {INT64_MAX / 8, INT64_MAX / 8}};
    for (size_t i = 0; i < LLFI_COUNT(far); i++) {
        in.strides[0] = far[i][0];
        in.strides[1] = far[i][1];
        bind_to(&r, 0, in);
        assert_refused(llf_prepare(r.e), LLF_E_LIMIT, message, "input x");
        assert_non_null(strstr(message, "2^63"));
    }
    in.strides[0] = -((int64_t)1 << 58); /* within 2^63 bytes, but not within memory */
    in.strides[1] = 1;
    bind_to(&r, 0, in);
    assert_refused(llf_prepare(r.e), LLF_E_ARG, message, "before the beginning of memory");
    in.strides[0] = 8;
    in.data = (char *)x + 2;
    bind_to(&r, 0, in);
    assert_refused(llf_prepare(r.e), LLF_E_ARG, message, "misaligned");
    in.data = NULL;
    bind_to(&r, 0, in);
    assert_refused(llf_prepare(r.e), LLF_E_ARG, message, "NULL");
    in.data = x;
    bind_to(&r, 0, in);
    go(&r); /* and it works after all that */
    test_close(&r);
}

/* An output within the reach of an input with strides, whichever way that goes. */
static void overlap_is_signed(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    float x[100] = {0};
    const char *message = llf_execution_error(r.e)->message;
    llf_tensor in = {.dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 4}};
    llf_tensor out = {.dtype = LLF_F32, .rank = 2, .shape = {3, 4}};
    const struct {
        int64_t data, stride[2], low, high;
    } c[] = {{40, {8, 1}, 40, 59}, {40, {-8, 1}, 24, 43}, {40, {-8, -1}, 21, 40},
             {40, {0, 0}, 40, 40}, {40, {1, 3}, 40, 51},  {40, {-4, 1}, 32, 43}};
    for (size_t i = 0; i < LLFI_COUNT(c); i++) {
        in.data = x + c[i].data;
        memcpy(in.strides, c[i].stride, sizeof c[i].stride);
        bind_to(&r, 0, in);
        for (int64_t at = 0; at + 12 <= 100; at++) {
            bool apart = at + 11 < c[i].low || at > c[i].high;
            out.data = x + at;
            bind_to(&r, 1, out);
            if (apart)
                assert_ok(r.e, llf_prepare(r.e));
            else
                assert_refused(llf_prepare(r.e), LLF_E_ALIAS, message, "input x");
        }
        out.data = x + c[i].low; /* the moved form is checked too */
        bind_to(
            &r, 1,
            (llf_tensor){.data = x + (c[i].low > 50 ? 0 : 88), .dtype = LLF_F32, .rank = 2, .shape = {3, 4}});
        assert_ok(r.e, llf_prepare(r.e));
        bind_to(&r, 1, out);
        assert_true(llf_run(r.e, NULL) != LLF_OK);
    }
    test_close(&r);
}

/* Two rows far apart, and the output in the gap between them: whole, to both edges, and one element too far.
 */
static void outputs_lie_in_gaps(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    const char *message = llf_execution_error(r.e)->message;
    for (int back = 0; back < 2; back++) {
        float x[100];
        llf_tensor in = {.data = x + (back ? 70 : 10),
                         .dtype = LLF_F32,
                         .rank = 2,
                         .strided = true,
                         .shape = {2, 20},
                         .strides = {back ? -60 : 60, 1}}; /* 10 to 29 and 70 to 89 */
        bind_to(&r, 0, in);
        for (int at = 0; at + 40 <= 100; at++) {
            for (int i = 0; i < 100; i++)
                x[i] = (float)i;
            bind_to(&r, 1, (llf_tensor){.data = x + at, .dtype = LLF_F32, .rank = 2, .shape = {2, 20}});
            if (at != 30) {
                assert_refused(llf_prepare(r.e), LLF_E_ALIAS, message, "in a gap");
                continue;
            }
            go(&r);
            for (int i = 0; i < 100; i++) {
                int row = (i - 30) / 20 ? 70 : 10;
                float moved = -(float)((back ? 80 - row : row) + (i - 30) % 20);
                assert_true(x[i] == (i < 30 || i >= 70 ? (float)i : moved));
            }
            bind_to(&r, 1, (llf_tensor){.data = x + 31, .dtype = LLF_F32, .rank = 2, .shape = {2, 20}});
            assert_refused(llf_run(r.e, NULL), LLF_E_ALIAS, message, "in a gap");
        }
    }
    test_close(&r);
}

static void bound_anew(void **state)
{
    (void)state;
    test_road r = open_text(neg2);
    float x[200], y[12];
    for (int i = 0; i < 200; i++)
        x[i] = (float)i;
    const char *message = llf_execution_error(r.e)->message;
    llf_tensor in = {
        .data = x, .dtype = LLF_F32, .rank = 2, .strided = true, .shape = {3, 4}, .strides = {8, 1}};
    bind_to(&r, 0, in);
    bind_to(&r, 1, (llf_tensor){.data = y, .dtype = LLF_F32, .rank = 2, .shape = {3, 4}});
    go(&r);
    in.data = x + 64;
    bind_to(&r, 0, in);
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 12; i++)
        assert_true(y[i] == -(float)(64 + i / 4 * 8 + i % 4));
    const int64_t other[][2] = {{9, 1}, {4, 1}, {-8, 1}, {8, 2}, {8, -1}};
    for (size_t i = 0; i < LLFI_COUNT(other); i++) {
        in.strides[0] = other[i][0];
        in.strides[1] = other[i][1];
        bind_to(&r, 0, in);
        assert_refused(llf_run(r.e, NULL), LLF_E_STATE, message, "llf_prepare");
    }
    in.strided = false;
    bind_to(&r, 0, in);
    assert_refused(llf_run(r.e, NULL), LLF_E_STATE, message, "llf_prepare");
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    in.strided = true; /* the same form in other words */
    in.strides[0] = 4;
    in.strides[1] = 1;
    bind_to(&r, 0, in);
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 12; i++)
        assert_true(y[i] == -(float)(64 + i));
    test_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_stride),
        cmocka_unit_test(higher_ranks),
        cmocka_unit_test(one_element_everywhere),
        cmocka_unit_test(misaligned_by_one_element),
        cmocka_unit_test(strides_of_single_elements_are_none),
        cmocka_unit_test(one_program_serves_all_sizes),
        cmocka_unit_test(two_variants_at_most),
        cmocka_unit_test(views_of_strided_inputs),
        cmocka_unit_test(offsets_have_64_bits),
        cmocka_unit_test(every_dtype_is_moved),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(overlap_is_signed),
        cmocka_unit_test(outputs_lie_in_gaps),
        cmocka_unit_test(bound_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
