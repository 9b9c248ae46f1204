/* Reductions on the CPU against the literal loops of docs/ir.md, bit by bit: every op and dtype, lengths
 * around each step of the order, along rows and across them, any number of threads; phases of reductions that
 * wait for others, values by row and by point; nothing outside outputs is written and nothing outside inputs
 * read.
 */
#include "runtime_util.h"

#include "ir/float.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the order, literally */

static const int order[10] = {9, 8, 1, 0, 2, 7, 6, 5, 4, 3};

#define ORDER(T, NAME, OP, NONE)                                            \
    static T NAME##_chunk(const T *x, int64_t n)                            \
    {                                                                       \
        T v[1024];                                                          \
        bool folded[1024] = {false};                                        \
        for (int64_t i = 0; i < 1024; i++)                                  \
            v[i] = i < n ? x[i] : NONE;                                     \
        for (int k = 0; k < 10; k++)                                        \
            for (int i = 0; i < 1024; i++)                                  \
                if (!folded[i] && !(i >> order[k] & 1)) {                   \
                    v[i] = v[i] OP v[i + (1 << order[k])];                  \
                    folded[i + (1 << order[k])] = true;                     \
                }                                                           \
        return v[0];                                                        \
    }                                                                       \
    static T NAME##_tree(const T *x, int64_t n, int64_t c)                  \
    {                                                                       \
        if (c == 1)                                                         \
            return NAME##_chunk(x, n < 0 ? 0 : n);                          \
        T a = NAME##_tree(x, n, c / 2);                                     \
        return a OP NAME##_tree(x + c / 2 * 1024, n - c / 2 * 1024, c / 2); \
    }                                                                       \
    static T NAME(const T *x, int64_t n, T empty)                           \
    {                                                                       \
        int64_t c = 1;                                                      \
        while (c * 1024 < n)                                                \
            c *= 2;                                                         \
        return n ? NAME##_tree(x, n, c) : empty;                            \
    }
ORDER(float, sum_f32, +, -0.0f)
ORDER(float, prod_f32, *, 1.0f)
ORDER(double, sum_f64, +, -0.0)
ORDER(double, prod_f64, *, 1.0)

/* An element as a number that orders as the elements do: floats by their bits, -0 below +0, NaN above all. */
typedef struct {
    bool nan;
    int64_t key;
    double f;
    int64_t i;
} element;

static element element_of(llf_dtype t, uint64_t bits)
{
    element e = {0};
    float f;
    uint32_t low = (uint32_t)bits;
    switch (t) {
    case LLF_F64: memcpy(&e.f, &bits, 8); break;
    case LLF_F32: memcpy(&f, &low, 4), e.f = f; break;
    case LLF_F16: e.f = llfi_f32_from_f16((uint16_t)bits); break;
    case LLF_BF16: e.f = llfi_f32_from_bf16((uint16_t)bits); break;
    case LLF_I32: e.i = (int32_t)low; break;
    default: e.i = (int64_t)bits;
    }
    e.nan = isnan(e.f);
    e.key = e.i;
    if (llfi_dtype_is_float(t)) {
        memcpy(&e.key, &e.f, 8);
        e.key = e.key < 0 ? e.key ^ INT64_MAX : e.key; /* -0 becomes -1 */
    }
    return e;
}

enum { SUM, PROD, MAX, MIN, ANY, ALL, ARGMAX, ARGMIN, OPS };
static const char *const op_name[OPS] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
static const char *const type_name[] = {
    [LLF_F64] = "f64", [LLF_F32] = "f32", [LLF_F16] = "f16",  [LLF_BF16] = "bf16",
    [LLF_I32] = "i32", [LLF_I64] = "i64", [LLF_BOOL] = "bool"};

static llf_dtype result_of(int op, llf_dtype t)
{
    return op == ANY || op == ALL ? LLF_BOOL : op >= ARGMAX || (op <= PROD && t == LLF_BOOL) ? LLF_I64 : t;
}

static uint64_t number_bits(llf_dtype t, double f)
{
    float s = (float)f;
    uint64_t bits = 0;
    switch (t) {
    case LLF_F64: memcpy(&bits, &f, 8); return bits;
    case LLF_F32: memcpy(&bits, &s, 4); return bits;
    case LLF_F16: return llfi_f16_from_f64(f);
    default: return llfi_bf16_from_f64(f);
    }
}

/* sum, prod */
static uint64_t fold_of(int op, llf_dtype t, const uint64_t *x, int64_t n)
{
    static float f[1 << 18];
    static double d[1 << 18];
    uint64_t whole = op == PROD;
    for (int64_t i = 0; i < n; i++) {
        element e = element_of(t, x[i]);
        d[i] = e.f;
        f[i] = (float)e.f;
        whole = op == PROD ? whole * (uint64_t)e.i : whole + (uint64_t)e.i;
    }
    if (t == LLF_F64)
        return number_bits(t, op == SUM ? sum_f64(d, n, 0) : prod_f64(d, n, 1));
    if (llfi_dtype_is_float(t))
        return number_bits(t, (double)(op == SUM ? sum_f32(f, n, 0) : prod_f32(f, n, 1)));
    return t == LLF_I32 ? (uint32_t)whole : whole;
}

static uint64_t want_of(int op, llf_dtype t, const uint64_t *x, int64_t n)
{
    int64_t at = 0, trues = 0;
    if (op <= PROD)
        return fold_of(op, t, x, n);
    for (int64_t i = 0; i < n; i++) {
        element e = element_of(t, x[i]), b = element_of(t, x[at]);
        trues += e.i != 0 || e.f != 0 || e.nan;
        bool less = op == MIN || op == ARGMIN;
        if (!b.nan && (e.nan || (less ? e.key < b.key : e.key > b.key)))
            at = i;
    }
    if (op == ANY || op == ALL)
        return op == ANY ? trues > 0 : trues == n;
    return op >= ARGMAX ? (uint64_t)at : x[at];
}

/* ---- memory that ends at a page without access */

typedef struct {
    char *map, *data;
    size_t room, bytes;
} zone;

static zone zone_open(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page + page;
    zone z = {.room = room, .bytes = bytes};
    z.map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(z.map != MAP_FAILED);
    assert_int_equal(mprotect(z.map + room - page, page, PROT_NONE), 0);
    z.data = z.map + room - page - bytes;
    memset(z.map, 0xa5, room - page);
    return z;
}

static void zone_close(zone *z)
{
    for (char *p = z->map; p < z->data; p++)
        assert_int_equal((unsigned char)*p, 0xa5);
    munmap(z->map, z->room);
}

/* ---- graphs as text */

static test_road open_text(const char *text, int threads)
{
    static const llf_options host = {.size = sizeof host, .target = "host", .compile_threads = 1};
    test_road r = {.cx = llf_context_create(NULL)};
    if (llf_graph_parse(r.cx, text, strlen(text), NULL, &r.g) != LLF_OK ||
        llf_compile(r.cx, r.g, &host, &r.p) != LLF_OK ||
        llf_program_load(r.cx, r.p, threads, &r.l) != LLF_OK ||
        llf_execution_create(r.cx, r.l, &r.e) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    return r;
}

static void bind(test_road *r, uint32_t index, llf_dtype t, void *data, uint32_t rank, const int64_t *shape)
{
    llf_tensor b = {.data = data, .dtype = t, .rank = rank};
    for (uint32_t k = 0; k < rank; k++)
        b.shape[k] = shape[k];
    assert_ok(r->e, llf_bind(r->e, index, &b));
}

static uint64_t seed = 88172645463325252;
static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Numbers that round; now and then (`special`) -0, infinities, NaN; ties. */
static uint64_t random_bits(llf_dtype t, bool special)
{
    static const double odd[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN, 1};
    uint64_t x = next();
    if (t == LLF_BOOL)
        return x >> 20 & 1;
    if (t == LLF_I64 || t == LLF_I32)
        return special ? (x >> 20) % 3 - 1 : t == LLF_I32 ? x >> 32 : x;
    if (special && (x >> 12) % 13 == 0)
        return number_bits(t, odd[(x >> 20) % 6]);
    return number_bits(t, (double)(int64_t)(x >> 32 & 0xffff) / 16384 - 1.7);
}

/* x[A, L, B] over L by every op: row r = a * B + b */
static void check_all(test_road *r, llf_dtype t, bool columns, int64_t a, int64_t l, int64_t b, bool special)
{
    static uint64_t x[1 << 19];
    static uint64_t row[1 << 18];
    assert_true((uint64_t)(a * l * b) <= LLFI_COUNT(x) && (uint64_t)l <= LLFI_COUNT(row));
    size_t bytes = llfi_dtypes[t].bytes, rows = (size_t)(a * b);
    zone in = zone_open(rows * (size_t)l * bytes), out[OPS];
    for (size_t i = 0; i < rows * (size_t)l; i++) {
        x[i] = random_bits(t, special);
        if (t == LLF_I32)
            x[i] &= UINT32_MAX;
        llfi_bits_store(t, in.data + i * bytes, x[i]);
    }
    bind(r, 0, t, in.data, columns ? 3 : 2, (const int64_t[]){a, l, b});
    int ops = l ? OPS : 4;
    static const int empty[] = {SUM, PROD, ANY, ALL};
    for (int k = 0; k < ops; k++) {
        int op = l ? k : empty[k];
        llf_dtype to = result_of(op, t);
        out[k] = zone_open(rows * llfi_dtypes[to].bytes);
        bind(r, 1 + (uint32_t)k, to, out[k].data, columns ? 2 : 1, (const int64_t[]){a, b});
    }
    assert_ok(r->e, llf_prepare(r->e));
    assert_ok(r->e, llf_run(r->e, NULL));
    for (int64_t at = 0; at < a * b; at++) {
        for (int64_t i = 0; i < l; i++)
            row[i] = x[(at / b * l + i) * b + at % b];
        for (int k = 0; k < ops; k++) {
            int op = l ? k : empty[k];
            llf_dtype to = result_of(op, t);
            uint64_t got = llfi_bits_load(to, out[k].data + (size_t)at * llfi_dtypes[to].bytes),
                     want = want_of(op, t, row, l);
            if (got != want && !(llfi_bits_nan(to, got) && llfi_bits_nan(to, want)))
                fail_msg("%s of %s[%d, %d, %d]%s, row %d: %llx, not %llx", op_name[op], type_name[t], (int)a,
                         (int)l, (int)b, special ? " special" : "", (int)at, (unsigned long long)got,
                         (unsigned long long)want);
        }
    }
    zone_close(&in);
    for (int k = 0; k < ops; k++)
        zone_close(&out[k]);
}

/* Every op over axis 1 of x: `dims`. */
static test_road open_all(llf_dtype t, const char *dims, bool empty, int threads)
{
    char text[1000];
    size_t n = (size_t)snprintf(text, sizeof text, "graph @all(%%x: %s[%s]) {\n", type_name[t], dims);
    int outs = 0;
    for (int op = 0; op < OPS; op++)
        if (!empty || op == SUM || op == PROD || op == ANY || op == ALL)
            n += (size_t)snprintf(text + n, sizeof text - n, "  %%%d = %s %%x, axes=[1]\n", outs++,
                                  op_name[op]);
    n += (size_t)snprintf(text + n, sizeof text - n, "  ret ");
    for (int i = 0; i < outs; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%%%d", i ? ", " : "", i);
    snprintf(text + n, sizeof text - n, "\n}\n");
    return open_text(text, threads);
}

static const llf_dtype dtypes[] = {LLF_F32, LLF_F64, LLF_F16, LLF_BF16, LLF_I32, LLF_I64, LLF_BOOL};
static const int64_t lengths[] = {1,   2,   7,   8,    31,   32,   33,   63,  65,
                                  255, 256, 257, 1000, 1023, 1024, 1025, 3000};

static void rows(void **state)
{
    (void)state;
    for (size_t d = 0; d < LLFI_COUNT(dtypes); d++) {
        test_road r = open_all(dtypes[d], "A, L", false, 2);
        for (size_t i = 0; i < LLFI_COUNT(lengths); i++)
            check_all(&r, dtypes[d], false, lengths[i] < 300 ? 5 : 2, lengths[i], 1, i % 2);
        check_all(&r, dtypes[d], false, 0, 5, 1, false);
        if (d == 0) {
            check_all(&r, dtypes[d], false, 1300, 33, 1, false); /* threads */
            check_all(&r, dtypes[d], false, 1, 131072, 1, false);
            check_all(&r, dtypes[d], false, 1, 65537, 1, true);
        }
        test_close(&r);
    }
}

static void columns(void **state)
{
    (void)state;
    for (size_t d = 0; d < LLFI_COUNT(dtypes); d++) {
        test_road r = open_all(dtypes[d], "A, L, B", false, 2);
        for (size_t i = 0; i < LLFI_COUNT(lengths); i++)
            check_all(&r, dtypes[d], true, i % 3 == 0 ? 2 : 1, lengths[i],
                      lengths[i] > 300 ? 3 + 64 * (int64_t)(i % 2) : 73, i % 2);
        if (d == 0) {
            check_all(&r, dtypes[d], true, 2, 5, 700, false);
            check_all(&r, dtypes[d], true, 1, 9000, 17, false);
        }
        test_close(&r);
    }
}

static void lengths_that_are_known(void **state)
{
    (void)state;
    static const int64_t known[] = {1, 5, 64, 300, 1024, 1500};
    for (size_t i = 0; i < LLFI_COUNT(known); i++)
        for (int across = 0; across < 2; across++) {
            char dims[40];
            llf_dtype t = dtypes[i % 4];
            snprintf(dims, sizeof dims, across ? "A, %d, B" : "A, %d", (int)known[i]);
            test_road r = open_all(t, dims, false, 1);
            check_all(&r, t, across, 3, known[i], across ? 67 : 1, i % 2);
            test_close(&r);
        }
}

static void of_nothing(void **state)
{
    (void)state;
    for (size_t d = 0; d < LLFI_COUNT(dtypes); d += 2) /* f32, f16, i32, bool */
        for (int across = 0; across < 2; across++) {
            test_road r = open_all(dtypes[d], across ? "A, L, B" : "A, L", true, 1);
            check_all(&r, dtypes[d], across, 3, 0, across ? 70 : 1, false);
            test_close(&r);
        }
}

/* ---- several axes, by their places in a shape of rank 4 */

#define RANK 4

static void check_axes(test_road *r, unsigned axes, const int64_t *shape)
{
    static float x[1 << 16], got[1 << 16];
    static int64_t place[1 << 16];
    static uint64_t row[1 << 16];
    int64_t stride[RANK], kept[RANK], n = 1, rows = 1, length = 1;
    uint32_t rank = 0;
    for (int k = RANK; k-- > 0; n *= shape[k])
        stride[k] = n;
    for (int k = 0; k < RANK; k++) {
        length *= axes >> k & 1 ? shape[k] : 1;
        rows *= axes >> k & 1 ? 1 : shape[k];
        if (!(axes >> k & 1))
            kept[rank++] = shape[k];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((double)(next() >> 40) / 4096 - 2000);
    bind(r, 0, LLF_F32, x, RANK, shape);
    bind(r, 1, LLF_F32, got, rank, kept);
    bind(r, 2, LLF_I64, place, rank, kept);
    assert_ok(r->e, llf_prepare(r->e));
    assert_ok(r->e, llf_run(r->e, NULL));
    for (int64_t at = 0; at < rows; at++) {
        for (int64_t i = 0; i < length; i++) {
            int64_t rest[2] = {at, i}, from = 0;
            for (int k = RANK; k-- > 0;) {
                int64_t *of = &rest[axes >> k & 1];
                from += *of % shape[k] * stride[k];
                *of /= shape[k];
            }
            row[i] = number_bits(LLF_F32, (double)x[from]);
        }
        uint64_t bits = number_bits(LLF_F32, (double)got[at]), want = want_of(SUM, LLF_F32, row, length);
        if (bits != want || (uint64_t)place[at] != want_of(ARGMAX, LLF_F32, row, length))
            fail_msg("axes %x of [%d, %d, %d, %d], row %d: %llx, not %llx; argmax %d", axes, (int)shape[0],
                     (int)shape[1], (int)shape[2], (int)shape[3], (int)at, (unsigned long long)bits,
                     (unsigned long long)want, (int)place[at]);
    }
}

static void several_axes(void **state)
{
    (void)state;
    for (unsigned axes = 1; axes < 1u << RANK; axes++)
        for (int known = 0; known < (axes % 5 == 0 ? 2 : 1); known++) {
            char text[300], list[20] = "";
            for (int k = 0; k < RANK; k++)
                if (axes >> k & 1)
                    sprintf(list + strlen(list), "%s%d", *list ? ", " : "", k);
            snprintf(text, sizeof text,
                     "graph @t(%%x: f32[%s]) {\n  %%0 = sum %%x, axes=[%s]\n  %%1 = argmax %%x, axes=[%s]\n"
                     "  ret %%0, %%1\n}\n",
                     known ? "3, 8, 5, 16" : "A, B, C, D", list, list);
            test_road r = open_text(text, 2);
            check_axes(&r, axes, (const int64_t[]){3, 8, 5, 16});
            if (!known) {
                check_axes(&r, axes, (const int64_t[]){2, 33, 3, 71});
                check_axes(&r, axes, (const int64_t[]){9, 1, 7, 40});
            }
            test_close(&r);
        }
}

/* ---- phases, points and rows: one kernel gives what a kernel an op gives */

typedef struct {
    const char *text;
    uint32_t kernels; /* of those that reduce, when fused */
} mix;

static test_road open_as(const char *text, const char *heuristic, int threads, uint32_t *kernels)
{
    const llf_options o = {.size = sizeof o, .target = "host", .compile_threads = 1, .heuristic = heuristic};
    test_road r = {.cx = llf_context_create(NULL)};
    if (llf_graph_parse(r.cx, text, strlen(text), NULL, &r.g) != LLF_OK ||
        llf_compile(r.cx, r.g, &o, &r.p) != LLF_OK || llf_program_load(r.cx, r.p, threads, &r.l) != LLF_OK ||
        llf_execution_create(r.cx, r.l, &r.e) != LLF_OK)
        fail_msg("%s", llf_last_error(r.cx)->message);
    *kernels = 0;
    for (uint32_t k = 0; k < r.p->plan.kernels; k++)
        *kernels += r.p->plan.kernel[k].reduced != 0;
    return r;
}

/* Inputs are f32 of the shapes that the text says, with A = size[0] and so on. */
static void run_sized(test_road *r, const int64_t *size, const float *x, float *out)
{
    const llf_graph *g = r->p->graph;
    int64_t symbol[8], used = 0;
    for (uint32_t i = 0; i < llfi_dims_symbols(g->dims); i++)
        symbol[i] = size[llfi_dims_symbol_name(g->dims, i)[0] - 'A'];
    for (uint32_t i = 0; i < g->inputs.count + g->outputs.count; i++) {
        bool result = i >= g->inputs.count;
        llfi_type t = llfi_type_of(g, result ? g->outputs.at[i - g->inputs.count] : g->inputs.at[i]);
        int64_t shape[LLF_MAX_RANK], n = 1;
        for (uint32_t k = 0; k < t.rank; k++) {
            assert_true(llfi_dim_eval(g->dims, t.dim[k], symbol, &shape[k]));
            n *= shape[k];
        }
        bind(r, i, t.dtype, result ? (void *)(out + used) : (void *)(uintptr_t)x, t.rank, shape);
        used += result ? n * (t.dtype == LLF_I64 ? 2 : 1) + 16 - n % 2 : 0;
    }
    assert_true(used < 1 << 18);
    assert_ok(r->e, llf_prepare(r->e));
    assert_ok(r->e, llf_run(r->e, NULL));
}

static const mix mixes[] = {
    {"graph @softmax(%x: f32[A, B]) {\n  %0 = max %x, axes=[1], keepdims\n  %1 = sub %x, %0\n  %2 = exp %1\n"
     "  %3 = sum %2, axes=[1], keepdims\n  %4 = div %2, %3\n  %5 = log %3\n  %6 = add %5, %0\n"
     "  ret %4, %6, %0\n}\n",
     1},
    {"graph @normed_columns(%x: f32[A, B, C], %w: f32[C], %v: f32[B, 1]) {\n  %0 = sum %x, axes=[1], "
     "keepdims\n"
     "  %n = count dtype=f32, shape=[B, C]\n  %1 = div %0, %n\n  %2 = sub %x, %1\n  %3 = mul %2, %2\n  %4 = "
     "sum %3, axes=[1], keepdims\n"
     "  %5 = rsqrt %4\n  %6 = mul %2, %5\n  %7 = mul %6, %w\n  %8 = add %7, %v\n  ret %8, %4, %2\n}\n",
     1},
    {"graph @three(%x: f32[A, B]) {\n  %0 = sum %x, axes=[1]\n  %1 = expand_dims %0, axes=[1]\n"
     "  %2 = sub %x, %1\n  %3 = max %2, axes=[1], keepdims\n  %4 = mul %2, %3\n  %5 = min %4, axes=[1], "
     "keepdims\n"
     "  %6 = add %4, %5\n  %7 = sum %6, axes=[1]\n  %8 = mul %7, %0\n  %9 = argmax %4, axes=[1]\n"
     "  ret %8, %9, %6\n}\n",
     1},
    {"graph @scalar(%x: f32[A, B, C]) {\n  %0 = mul %x, %x\n  %1 = sum %0\n  %2 = sqrt %1\n  ret %2, %0\n}\n",
     1},
    {"graph @apart(%x: f32[A, B, C]) {\n  %0 = flip %x, axes=[2]\n  %1 = permute %0, axes=[1, 0, 2]\n"
     "  %2 = sum %1, axes=[0, 2], keepdims\n  %3 = max %1, axes=[0, 2], keepdims\n  %4 = sub %2, %3\n"
     "  %5 = sub %1, %4\n  ret %5, %2\n}\n",
     1},
    {"graph @moved(%x: f32[A, B], %w: f32[B, A]) {\n  %0 = permute %w, axes=[1, 0]\n  %1 = mul %x, %0\n"
     "  %2 = sum %1, axes=[1], keepdims\n  %3 = broadcast_to %2, shape=[A, B]\n  %4 = concat %x, %3, axis=1\n"
     "  %5 = sum %1, axes=[0]\n  ret %4, %5\n}\n",
     0},
    {"graph @ones(%x: f32[A, 1], %y: f32[1, 1]) {\n  %0 = sum %x, axes=[0], keepdims\n  %1 = mul %x, %0\n"
     "  %2 = sum %y\n  %3 = sum %1\n  ret %1, %2, %3\n}\n",
     0},
    {"graph @spread(%x: f32[A], %s: f32[]) {\n  %0 = expand_dims %x, axes=[1]\n  %1 = broadcast_to %0, "
     "shape=[A, 40]\n"
     "  %2 = sum %1, axes=[1]\n  %3 = broadcast_to %s, shape=[A, 1100]\n  %4 = sum %3, axes=[1]\n"
     "  %5 = sum %3\n  ret %2, %4, %5\n}\n",
     0},
};

static void mixed(void **state)
{
    (void)state;
    static float x[1 << 16], out[2][1 << 18];
    static const int64_t size[][3] = {{5, 100, 7}, {3, 1025, 3}, {30, 9, 70},
                                      {1, 1, 1},   {2, 8, 16},   {0, 3, 4}};
    for (size_t i = 0; i < LLFI_COUNT(x); i++)
        x[i] = (float)((double)(next() >> 40) / 4194304 - 2);
    for (size_t m = 0; m < LLFI_COUNT(mixes); m++) {
        uint32_t kernels, most;
        test_road r[2] = {open_as(mixes[m].text, "none", 1, &most),
                          open_as(mixes[m].text, "greedy", 2, &kernels)};
        assert_true(!mixes[m].kernels || kernels == mixes[m].kernels);
        for (size_t k = 0; k < LLFI_COUNT(size); k++) {
            memset(out, 0xee, sizeof out);
            if (strstr(mixes[m].text, "max") && k == 5) /* of nothing */
                continue;
            for (int i = 0; i < 2; i++)
                run_sized(&r[i], size[k], x, out[i]);
            for (size_t i = 0; i < LLFI_COUNT(out[0]); i++)
                if (memcmp(&out[0][i], &out[1][i], 4) != 0 && !(isnan(out[0][i]) && isnan(out[1][i])))
                    fail_msg("%.20s... of size %zu: %zu is %a alone and %a fused", mixes[m].text, k, i,
                             (double)out[0][i], (double)out[1][i]);
        }
        test_close(&r[0]);
        test_close(&r[1]);
    }
}

/* ---- two results */

/* docs/ir.md, "moments"; f64 or f32 arithmetic, each operation rounded. */
#define MOMENTS(T, NAME, SUM)                                                                   \
    static void NAME##_of(const T *x, int64_t n, int64_t chunks, T *mean, T *squares)           \
    {                                                                                           \
        if (chunks == 1) {                                                                      \
            static T d[1024], q[1024];                                                          \
            *mean = SUM(x, n, 0) / (T)n;                                                        \
            for (int64_t i = 0; i < n; i++) {                                                   \
                d[i] = x[i] - *mean;                                                            \
                q[i] = d[i] * d[i];                                                             \
            }                                                                                   \
            T left = SUM(d, n, 0), all = SUM(q, n, 0), squared = left * left;                   \
            T error = squared / (T)n, rest = all - error;                                       \
            *squares = isnan(rest) || rest > 0 ? rest : 0;                                      \
            return;                                                                             \
        }                                                                                       \
        int64_t half = chunks / 2 * 1024;                                                       \
        T ma, mb, qa, qb;                                                                       \
        NAME##_of(x, n < half ? n : half, chunks / 2, mean, squares);                           \
        if (n <= half)                                                                          \
            return;                                                                             \
        ma = *mean, qa = *squares;                                                              \
        NAME##_of(x + half, n - half, chunks / 2, &mb, &qb);                                    \
        T r = mb - ma, f = (T)(n - half) / (T)n, step = r * f, share = (T)half * f, rr = r * r; \
        T between = rr * share, sum = qa + qb;                                                  \
        *mean = ma + step;                                                                      \
        *squares = sum + between;                                                               \
    }                                                                                           \
    static void NAME(const T *x, int64_t n, T *mean, T *squares)                                \
    {                                                                                           \
        int64_t c = 1;                                                                          \
        while (c * 1024 < n)                                                                    \
            c *= 2;                                                                             \
        NAME##_of(x, n, c, mean, squares);                                                      \
    }
MOMENTS(float, moments_f32, sum_f32)
MOMENTS(double, moments_f64, sum_f64)

static void check_stats(test_road *r, llf_dtype t, int64_t l, int special)
{
    enum { A = 3, MOST = 5000 };
    static char x[A * MOST * 8], out[4][A * 8];
    static double d[MOST];
    static float f[MOST];
    llf_dtype to = t == LLF_F64 ? t : LLF_F32;
    size_t bytes = llfi_dtypes[t].bytes, wide = llfi_dtypes[to].bytes;
    for (int64_t i = 0; i < A * l; i++)
        llfi_bits_store(t, x + (size_t)i * bytes,
                        special == 1 ? number_bits(t, i / l == 1 && i % l == l / 2 ? 1.5 : -INFINITY)
                        : special == 2 && i == l / 3 ? number_bits(t, NAN)
                                                     : number_bits(t, (double)(next() >> 40) / 1048576 + 3));
    bind(r, 0, t, x, 2, (const int64_t[]){A, l});
    for (uint32_t k = 0; k < 4; k++)
        bind(r, 1 + k, to, out[k], k < 2 ? 2 : 1, (const int64_t[]){A, 1});
    assert_ok(r->e, llf_prepare(r->e));
    assert_ok(r->e, llf_run(r->e, NULL));
    for (int64_t row = 0; row < A; row++) {
        double most = -INFINITY, sum = 0, mean, squares, got[4];
        float mean_f, squares_f;
        bool nan = false;
        for (int64_t i = 0; i < l; i++) {
            d[i] = element_of(t, llfi_bits_load(t, x + (size_t)(row * l + i) * bytes)).f;
            f[i] = (float)d[i];
            nan = nan || isnan(d[i]);
            most = d[i] > most ? d[i] : most;
        }
        most = to == LLF_F64 ? most * 1.4426950408889634 : (double)((float)most * 1.4426950408889634f);
        for (int64_t i = 0; i < l; i++)
            sum += most == -INFINITY ? 0 : exp2(d[i] * 1.4426950408889634 - most);
        moments_f64(d, l, &mean, &squares);
        moments_f32(f, l, &mean_f, &squares_f);
        mean = to == LLF_F64 ? mean : (double)mean_f;
        squares = to == LLF_F64 ? squares : (double)squares_f;
        for (int k = 0; k < 4; k++)
            got[k] = element_of(to, llfi_bits_load(to, out[k] + (size_t)row * wide)).f;
        double far = fabs(got[1] - sum);
        bool same = nan ? isnan(got[0]) && isnan(got[1]) : got[0] == most && far <= 2e-5 * sum;
        if (!same || !(got[2] == mean || (isnan(got[2]) && isnan(mean))) ||
            !(got[3] == squares || (isnan(got[3]) && isnan(squares))))
            fail_msg("%s[%d, %d] %d: row %d: %a %a %a %a, not %a %a %a %a", type_name[t], A, (int)l, special,
                     (int)row, got[0], got[1], got[2], got[3], most, sum, mean, squares);
    }
}

static void two_results(void **state)
{
    (void)state;
    static const llf_dtype floats[] = {LLF_F32, LLF_F64, LLF_BF16, LLF_F16};
    static const int64_t length[] = {1, 5, 64, 257, 1000, 1024, 1025, 2048, 3000, 5000};
    for (size_t k = 0; k < LLFI_COUNT(floats) * 2; k++) {
        char text[400], dims[20] = "L";
        llf_dtype t = floats[k / 2];
        if (k % 2)
            snprintf(dims, sizeof dims, "%d", (int)length[k + 1]);
        snprintf(text, sizeof text,
                 "graph @s(%%x: %s[A, %s]) {\n  %%m, %%s = softmax_stats %%x, axes=[1], keepdims\n"
                 "  %%a, %%b = moments %%x, axes=[1]\n  ret %%m, %%s, %%a, %%b\n}\n",
                 type_name[t], dims);
        test_road r = open_text(text, 1);
        for (size_t i = 0; i < LLFI_COUNT(length); i++)
            for (int special = 0; special < 3; special++)
                if (!(k % 2) || i == k + 1)
                    check_stats(&r, t, length[i], special);
        test_close(&r);
    }
}

/* By two threads, each of which takes parts. */
static void moments_of_a_long_row(void **state)
{
    (void)state;
    static float x[200001], mean, squares, want[2];
    test_road r = open_text("graph @s(%x: f32[L]) {\n  %a, %b = moments %x\n  ret %a, %b\n}\n", 2);
    for (int n = 200001; n > 66000; n -= 66665) { /* 4 parts, 3, 1: the last is not full */
        for (int i = 0; i < n; i++)
            x[i] = (float)((double)(next() >> 40) / 1048576 + 3);
        bind(&r, 0, LLF_F32, x, 1, (const int64_t[]){n});
        bind(&r, 1, LLF_F32, &mean, 0, NULL);
        bind(&r, 2, LLF_F32, &squares, 0, NULL);
        assert_ok(r.e, llf_prepare(r.e));
        for (int run = 0; run < 2; run++) {
            assert_ok(r.e, llf_run(r.e, NULL));
            moments_f32(x, n, &want[0], &want[1]);
            assert_true(mean == want[0] && squares == want[1]);
        }
    }
    test_close(&r);
}

/* However many columns there are, of whatever length: parts and scratch stay few. */
static void columns_are_cut_into_few_parts(void **state)
{
    (void)state;
    test_road r = open_text("graph @s(%x: f32[A, B]) {\n  %0 = sum %x, axes=[0]\n  ret %0\n}\n", 1);
    const llfi_schedule *s = &r.p->kernel[0].schedule;
    for (int a = 0; a < 40; a++)
        for (int b = 0; a + b < 60; b++) {
            int64_t extent[16], symbol[2] = {INT64_C(1) << a, INT64_C(1) << b}, size[2];
            assert_true(s->dims <= LLFI_COUNT(extent));
            for (uint32_t i = 0; i < s->dims; i++)
                assert_true(llfi_dim_eval(r.p->graph->dims, s->dim[i], symbol, &extent[i]));
            for (uint32_t i = 0; i < 2; i++)
                size[llfi_dims_symbol_name(r.p->graph->dims, i)[0] - 'A'] = symbol[i];
            llfi_launch l = {.extent = extent};
            assert_int_equal(s->skeleton->launch(s, &l), LLF_OK);
            int64_t parts = l.items / size[1];
            assert_true(l.items % size[1] == 0 && parts >= 1 && parts <= 4096);
            assert_true(parts == 1 ? l.scratch == 0 : l.scratch <= INT64_C(1) << 24);
            assert_true(size[0] < 2048 ? parts == 1 : parts * size[1] <= 4096 * 64 || parts == 1);
        }
    test_close(&r);
}

/* M -inf and S 0; the mean NaN and squares 0. */
static void two_results_of_nothing(void **state)
{
    (void)state;
    float out[4][3];
    test_road r = open_text("graph @s(%x: f32[A, L]) {\n  %m, %s = softmax_stats %x, axes=[1]\n"
                            "  %a, %b = moments %x, axes=[1]\n  ret %m, %s, %a, %b\n}\n",
                            1);
    bind(&r, 0, LLF_F32, out, 2, (const int64_t[]){3, 0});
    for (uint32_t k = 0; k < 4; k++)
        bind(&r, 1 + k, LLF_F32, out[k], 1, (const int64_t[]){3});
    assert_ok(r.e, llf_prepare(r.e));
    assert_ok(r.e, llf_run(r.e, NULL));
    for (int i = 0; i < 3; i++)
        assert_true(out[0][i] == -INFINITY && out[1][i] == 0 && isnan(out[2][i]) && out[3][i] == 0);
    test_close(&r);
}

static void *run_road(void *user)
{
    test_road **r = user;
    *r = llf_run((*r)->e, NULL) == LLF_OK ? *r : NULL;
    return NULL;
}

/* A stack of 256 KiB with nothing below: a thread's own might be a larger one that another left. */
static void on_a_small_stack(void *(*body)(void *), void *user)
{
    enum { STACK = 256 << 10, BELOW = 4 << 20 };
    pthread_attr_t attr;
    pthread_t thread;
    char *low = mmap(NULL, BELOW + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(low != MAP_FAILED);
    assert_int_equal(mprotect(low + BELOW, STACK, PROT_READ | PROT_WRITE), 0);
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstack(&attr, low + BELOW, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, body, user), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    munmap(low, BELOW + STACK);
}

/* Kernels run on their caller's stack: many sums across rows must not want more of it than few. */
static void many_sums_on_a_small_stack(void **state)
{
    (void)state;
    enum { SUMS = 16, LENGTH = 3, ROWS = 130 };
    static float x[LENGTH][ROWS], a[SUMS], out[SUMS][ROWS];
    char text[4096];
    size_t n = (size_t)snprintf(text, sizeof text, "graph @many(%%x: f32[L, B]");
    for (int k = 0; k < SUMS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, ", %%a%d: f32[]", k);
    n += (size_t)snprintf(text + n, sizeof text - n, ") {\n");
    for (int k = 0; k < SUMS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "  %%m%d = mul %%x, %%a%d\n  %%s%d = sum %%m%d, axes=[0]\n", k, k, k, k);
    for (int k = 0; k < SUMS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%%s%d", k ? ", " : "  ret ", k);
    snprintf(text + n, sizeof text - n, "\n}\n");
    test_road r = open_text(text, 1), *ok = &r;
    for (int i = 0; i < LENGTH * ROWS; i++)
        x[i / ROWS][i % ROWS] = (float)(i % 17);
    bind(&r, 0, LLF_F32, x, 2, (const int64_t[]){LENGTH, ROWS});
    for (uint32_t k = 0; k < SUMS; k++) {
        a[k] = (float)(k + 1);
        bind(&r, 1 + k, LLF_F32, &a[k], 0, NULL);
        bind(&r, 1 + SUMS + k, LLF_F32, out[k], 1, (const int64_t[]){ROWS});
    }
    assert_ok(r.e, llf_prepare(r.e));
    on_a_small_stack(run_road, &ok);
    assert_non_null(ok);
    for (int k = 0; k < SUMS; k++)
        for (int i = 0; i < ROWS; i++)
            assert_true(out[k][i] == (x[0][i] + x[1][i] + x[2][i]) * (float)(k + 1)); /* small integers */
    test_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(columns),
        cmocka_unit_test(lengths_that_are_known),
        cmocka_unit_test(of_nothing),
        cmocka_unit_test(several_axes),
        cmocka_unit_test(mixed),
        cmocka_unit_test(two_results),
        cmocka_unit_test(moments_of_a_long_row),
        cmocka_unit_test(columns_are_cut_into_few_parts),
        cmocka_unit_test(two_results_of_nothing),
        cmocka_unit_test(many_sums_on_a_small_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
