/* Index maps: views that need no division get none, and random chains of views read what enumeration reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lower/map.h"

#include <stdlib.h>

typedef struct {
    llfi_dims *d;
    llfi_maps m;
    llfi_dim B, H, N;
} fixture;

static llfi_dim c(fixture *f, int64_t v)
{
    return llfi_dim_const(f->d, v);
}

static fixture make(void)
{
    fixture f = {.d = llfi_dims_create(&llfi_malloc_allocator)};
    f.B = llfi_dim_sym(f.d, llfi_dims_symbol(f.d, "B", 1));
    f.H = llfi_dim_sym(f.d, llfi_dims_symbol(f.d, "H", 1));
    f.N = llfi_dim_sym(f.d, llfi_dims_symbol(f.d, "N", 1));
    return f;
}

static void site(fixture *f, uint32_t rank, const llfi_dim *extent, llfi_ix *ix)
{
    assert_int_equal(llfi_maps_init(&f->m, &llfi_malloc_allocator, f->d, rank, extent), LLF_OK);
    for (uint32_t i = 0; i < rank; i++)
        ix[i] = llfi_ix_axis(&f->m, i);
}

static void done(fixture *f)
{
    llfi_maps_free(&f->m);
    llfi_dims_destroy(f->d);
}

static void assert_text(fixture *f, llfi_ix ix, const char *want)
{
    llfi_str s;
    llfi_str_init(&s, &llfi_malloc_allocator);
    llfi_ix_print(&f->m, ix, &s);
    assert_string_equal(s.at, want);
    llfi_str_free(&s);
}

static void merging_axes_needs_no_division(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    /* a view [B, H, N] of x[B*H, N] */
    llfi_dim out[] = {f.B, f.H, f.N}, in[] = {llfi_dim_mul(f.d, f.B, f.H), f.N};
    site(&f, 3, out, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 3, out, 2, in));
    assert_text(&f, ix[0], "H*i0 + i1");
    assert_text(&f, ix[1], "i2");
    assert_text(&f, llfi_ix_linear(&f.m, ix, 2, in), "H*N*i0 + N*i1 + i2");
    done(&f);
}

static void splitting_what_was_merged_gives_the_axes_back(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim three[] = {f.B, f.H, f.N}, one[] = {llfi_dim_mul(f.d, llfi_dim_mul(f.d, f.B, f.H), f.N)};
    site(&f, 3, three, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 3, three, 1, one));
    assert_true(llfi_ix_reshape(&f.m, ix, 1, one, 3, three));
    assert_text(&f, ix[0], "i0");
    assert_text(&f, ix[1], "i1");
    assert_text(&f, ix[2], "i2");
    done(&f);
}

static void merging_what_was_split_gives_the_axis_back(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim whole[] = {llfi_dim_mul(f.d, llfi_dim_mul(f.d, f.B, f.H), f.N)}, three[] = {f.B, f.H, f.N},
             two[] = {llfi_dim_mul(f.d, f.B, f.H), f.N};
    site(&f, 1, whole, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 1, whole, 3, three)); /* by division, really */
    assert_text(&f, llfi_ix_linear(&f.m, ix, 3, three), "i0");
    assert_true(llfi_ix_reshape(&f.m, ix, 3, three, 2, two));
    assert_true(llfi_ix_reshape(&f.m, ix, 2, two, 1, whole));
    assert_text(&f, ix[0], "i0");
    done(&f);
}

/* Attention's heads: reshape [B, S, 4*64] -> [B, S, 4, 64], permute to [B, 4, S, 64], and back. */
static void permute_and_reshape(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim x[] = {f.B, f.N, c(&f, 256)}, split[] = {f.B, f.N, c(&f, 4), c(&f, 64)},
             heads[] = {f.B, c(&f, 4), f.N, c(&f, 64)},
             flat[] = {llfi_dim_mul(f.d, f.B, c(&f, 4)), f.N, c(&f, 64)};
    site(&f, 4, heads, ix);
    assert_true(llfi_ix_permute(&f.m, ix, 4, (uint32_t[]){0, 2, 1, 3}));
    assert_true(llfi_ix_reshape(&f.m, ix, 4, split, 3, x));
    assert_text(&f, ix[2], "64*i1 + i3");
    assert_text(&f, llfi_ix_linear(&f.m, ix, 3, x), "256*N*i0 + 64*i1 + 256*i2 + i3");
    done(&f);
    f = make();
    f.B = llfi_dim_sym(f.d, 0);
    llfi_dim y[] = {llfi_dim_mul(f.d, f.B, c(&f, 4)), f.N, c(&f, 64)}, z[] = {f.B, c(&f, 4), f.N, c(&f, 64)};
    (void)flat;
    site(&f, 4, z, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 4, z, 3, y));
    assert_text(&f, ix[0], "4*i0 + i1");
    done(&f);
}

static void flips_and_slices_compose(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim out[] = {f.N, f.B};
    site(&f, 2, out, ix);
    assert_true(llfi_ix_flip(&f.m, ix, 0, f.N));
    assert_text(&f, ix[0], "-(1)*i0 + (N-(1))");
    assert_true(llfi_ix_flip(&f.m, ix, 0, f.N));
    assert_text(&f, ix[0], "i0");
    assert_true(llfi_ix_slice(&f.m, ix, 0, c(&f, 3), 2));
    assert_true(llfi_ix_slice(&f.m, ix, 0, c(&f, 1), 5));
    assert_text(&f, ix[0], "10*i0 + 16");
    done(&f);
    f = make(); /* a flipped axis survives reshaping: (N*B) -> (N, B) */
    llfi_dim two[] = {f.N, f.B}, one[] = {llfi_dim_mul(f.d, f.N, f.B)};
    site(&f, 2, two, ix);
    assert_true(llfi_ix_flip(&f.m, ix, 0, f.N));
    assert_true(llfi_ix_reshape(&f.m, ix, 2, two, 1, one));
    assert_true(llfi_ix_reshape(&f.m, ix, 1, one, 2, two));
    assert_text(&f, ix[0], "-(1)*i0 + (N-(1))");
    assert_text(&f, ix[1], "i1");
    done(&f);
}

/* A factor leaves the division even where the whole is not decided: [6, 4] -> [2, 12]. */
static void common_factors_leave(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim out[] = {c(&f, 6), c(&f, 4)}, in[] = {c(&f, 2), c(&f, 12)};
    site(&f, 2, out, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 2, out, 2, in));
    for (int64_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < 4; j++) {
            int64_t a, b, axis[] = {i, j};
            assert_true(llfi_ix_eval(&f.m, ix[0], axis, NULL, &a) &&
                        llfi_ix_eval(&f.m, ix[1], axis, NULL, &b));
            assert_int_equal(a, (4 * i + j) / 12);
            assert_int_equal(b, (4 * i + j) % 12);
        }
    assert_int_equal(f.m.form.at[ix[1]].terms, 2); /* 4 * (i0 mod 3) + i1 */
    done(&f);
}

static void a_difference_divides_itself(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim less = llfi_dim_sub(f.d, f.N, c(&f, 1)); /* extent of x[1:] */
    llfi_dim two[] = {f.B, less}, one[] = {llfi_dim_mul(f.d, f.B, less)}, three[] = {f.B, c(&f, 1), less};
    site(&f, 2, two, ix);
    assert_true(llfi_ix_reshape(&f.m, ix, 2, two, 1, one));
    assert_true(llfi_ix_reshape(&f.m, ix, 1, one, 3, three));
    assert_text(&f, ix[0], "i0");
    assert_text(&f, ix[1], "0");
    assert_text(&f, ix[2], "i1");
    done(&f);
}

/* ---- random chains against enumeration: each view is applied to a table of the operand's elements */

typedef struct {
    uint32_t rank;
    int64_t n[LLFI_RANK];
    llfi_dim dim[LLFI_RANK];
    int64_t *at; /* which element of the first operand stands at each place */
} table;

static uint64_t seed;
static uint32_t pick(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

static int64_t count(const table *t)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->n[i];
    return n;
}

typedef struct {
    uint32_t kind, axis, perm[LLFI_RANK];
    int64_t start, step;
    table in, out; /* shapes */
} step;

/* Fills out.at from in.at by plain index arithmetic. */
static void apply(const step *s, const table *in, table *out)
{
    out->at = malloc((size_t)count(out) * sizeof *out->at + 1);
    for (int64_t e = 0; e < count(out); e++) {
        int64_t i[LLFI_RANK], j[LLFI_RANK], rest = e, from = 0;
        for (uint32_t k = out->rank; k-- > 0; rest /= out->n[k])
            i[k] = rest % out->n[k];
        if (s->kind == 4) { /* reshape */
            out->at[e] = in->at[e];
            continue;
        }
        for (uint32_t k = 0; k < in->rank; k++)
            j[k] = k < out->rank ? i[k] : 0;
        if (s->kind == 0)
            for (uint32_t k = 0; k < in->rank; k++)
                j[s->perm[k]] = i[k];
        if (s->kind == 1)
            j[s->axis] = s->start + s->step * i[s->axis];
        if (s->kind == 2)
            j[s->axis] = in->n[s->axis] - 1 - i[s->axis];
        if (s->kind == 3)
            for (uint32_t k = 0; k < in->rank; k++)
                j[k] = in->n[k] == 1 ? 0 : i[k + out->rank - in->rank];
        for (uint32_t k = 0; k < in->rank; k++)
            from = from * in->n[k] + j[k];
        out->at[e] = in->at[from];
    }
}

static void random_step(fixture *f, const table *in, step *s)
{
    *s = (step){.kind = pick(5), .in = *in, .out = *in};
    table *o = &s->out;
    if (in->rank == 0 || (s->kind == 3 && count(in) > 300))
        s->kind = 4;
    if (s->kind == 0) {
        for (uint32_t i = 0; i < in->rank; i++)
            s->perm[i] = i;
        for (uint32_t i = in->rank; i-- > 1;) {
            uint32_t j = pick(i + 1), t = s->perm[i];
            s->perm[i] = s->perm[j];
            s->perm[j] = t;
        }
        for (uint32_t i = 0; i < in->rank; i++)
            o->n[i] = in->n[s->perm[i]];
    } else if (s->kind == 1) {
        s->axis = pick(in->rank);
        int64_t n = in->n[s->axis];
        s->step = 1 + pick(3);
        s->start = pick((uint32_t)n);
        if (pick(2)) { /* downwards */
            o->n[s->axis] = s->start / s->step + 1;
            s->step = -s->step;
        } else {
            o->n[s->axis] = (n - s->start + s->step - 1) / s->step;
        }
    } else if (s->kind == 2) {
        s->axis = pick(in->rank);
    } else if (s->kind == 3) {
        bool more = in->rank < 6 && pick(2);
        o->rank = in->rank + more;
        for (uint32_t i = 0; i < in->rank; i++)
            o->n[i + more] = in->n[i] == 1 ? 1 + pick(3) : in->n[i];
        if (more)
            o->n[0] = 1 + pick(3);
    } else { /* prime factors, dealt out anew */
        o->rank = 1 + pick(5);
        for (uint32_t i = 0; i < o->rank; i++)
            o->n[i] = 1;
        int64_t n = count(in);
        for (int64_t p = 2; n > 1; p++)
            for (; n % p == 0; n /= p)
                o->n[pick(o->rank)] *= p;
    }
    for (uint32_t i = 0; i < o->rank; i++)
        o->dim[i] = c(f, o->n[i]);
}

static void compose(fixture *f, const step *s, llfi_ix *ix)
{
    bool ok = false;
    const table *in = &s->in, *out = &s->out;
    switch (s->kind) {
    case 0: ok = llfi_ix_permute(&f->m, ix, in->rank, s->perm); break;
    case 1: ok = llfi_ix_slice(&f->m, ix, s->axis, c(f, s->start), s->step); break;
    case 2: ok = llfi_ix_flip(&f->m, ix, s->axis, in->dim[s->axis]); break;
    case 3: ok = llfi_ix_broadcast(&f->m, ix, out->rank, out->dim, in->rank, in->dim); break;
    case 4: ok = llfi_ix_reshape(&f->m, ix, out->rank, out->dim, in->rank, in->dim); break;
    }
    assert_true(ok);
}

static void random_chains_read_what_enumeration_reads(void **state)
{
    (void)state;
    enum { CHAINS = 2000, STEPS = 7 };
    for (int chain = 0; chain < CHAINS; chain++) {
        seed = (uint64_t)chain + 1;
        fixture f = make();
        step s[STEPS];
        table t[STEPS + 1] = {{.rank = pick(5)}};
        for (uint32_t i = 0; i < t[0].rank; i++) {
            t[0].n[i] = (int64_t[]){1, 2, 3, 4, 5, 6, 8}[pick(7)];
            t[0].dim[i] = c(&f, t[0].n[i]);
        }
        t[0].at = malloc((size_t)count(&t[0]) * sizeof(int64_t));
        for (int64_t e = 0; e < count(&t[0]); e++)
            t[0].at[e] = e;
        uint32_t steps = 1 + pick(STEPS);
        for (uint32_t i = 0; i < steps; i++) {
            random_step(&f, &t[i], &s[i]);
            t[i + 1] = s[i].out;
            apply(&s[i], &t[i], &t[i + 1]);
        }
        llfi_ix ix[LLFI_RANK];
        site(&f, t[steps].rank, t[steps].dim, ix);
        for (uint32_t i = steps; i-- > 0;)
            compose(&f, &s[i], ix);
        llfi_ix at = llfi_ix_linear(&f.m, ix, t[0].rank, t[0].dim);
        for (int64_t e = 0; e < count(&t[steps]); e++) {
            int64_t axis[LLFI_RANK], rest = e, got;
            for (uint32_t k = t[steps].rank; k-- > 0; rest /= t[steps].n[k])
                axis[k] = rest % t[steps].n[k];
            assert_true(llfi_ix_eval(&f.m, at, axis, NULL, &got));
            if (got != t[steps].at[e])
                fail_msg("chain %d, element %lld: %lld instead of %lld", chain, (long long)e, (long long)got,
                         (long long)t[steps].at[e]);
        }
        for (uint32_t i = 0; i <= steps; i++)
            free(t[i].at);
        done(&f);
    }
}

/* The same with symbols: the maps are made from them, the values compared for some of their values. */
static void symbolic_maps_hold_for_every_value(void **state)
{
    (void)state;
    const int64_t values[][3] = {{1, 1, 1}, {2, 3, 4}, {5, 1, 7}, {3, 4, 1}};
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim bh = llfi_dim_mul(f.d, f.B, f.H), hn = llfi_dim_mul(f.d, f.H, f.N),
             all = llfi_dim_mul(f.d, bh, f.N);
    llfi_dim a[] = {f.N, bh}, b[] = {all}, e[] = {hn, f.B}, g[] = {f.B, f.H, f.N}, h[] = {f.H, f.B, f.N};
    site(&f, 2, a, ix); /* x[H, B, N] permuted, cut differently twice, one axis reversed */
    assert_true(llfi_ix_reshape(&f.m, ix, 2, a, 1, b) && llfi_ix_reshape(&f.m, ix, 1, b, 2, e));
    assert_true(llfi_ix_flip(&f.m, ix, 0, hn) && llfi_ix_reshape(&f.m, ix, 2, e, 3, g));
    assert_true(llfi_ix_permute(&f.m, ix, 3, (uint32_t[]){1, 0, 2}));
    llfi_ix at = llfi_ix_linear(&f.m, ix, 3, h);
    for (size_t v = 0; v < LLFI_COUNT(values); v++) {
        const int64_t B = values[v][0], H = values[v][1], N = values[v][2];
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < B * H; j++) {
                int64_t lin = i * B * H + j, p = lin / B, q = lin % B, got;
                p = H * N - 1 - p;
                lin = p * B + q;
                int64_t x = lin / (H * N), y = lin / N % H, z = lin % N;
                assert_true(llfi_ix_eval(&f.m, at, (int64_t[]){i, j}, values[v], &got));
                assert_int_equal(got, (y * B + x) * N + z);
            }
    }
    done(&f);
}

/* Reshapes without end: the table grows by a few entries a step, and a chain that returns is where it began.
 */
static void deep_chains_stay_linear(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim a[] = {c(&f, 6), c(&f, 35)}, b[] = {c(&f, 14), c(&f, 15)};
    site(&f, 2, a, ix);
    for (int i = 0; i < DEPTH; i++)
        assert_true(llfi_ix_reshape(&f.m, ix, 2, a, 2, b) && llfi_ix_reshape(&f.m, ix, 2, b, 2, a));
    assert_text(&f, ix[0], "i0");
    assert_text(&f, ix[1], "i1");
    assert_true(f.m.form.count < 64);
    for (int i = 0; i < DEPTH; i++) { /* flips between them never cancel */
        assert_true(llfi_ix_reshape(&f.m, ix, 2, a, 2, b) && llfi_ix_flip(&f.m, ix, i & 1, b[i & 1]));
        assert_true(llfi_ix_reshape(&f.m, ix, 2, b, 2, a) && llfi_ix_flip(&f.m, ix, ~i & 1, a[~i & 1]));
    }
    assert_true(f.m.form.count < (size_t)DEPTH * 24);
    done(&f);
}

static void broadcasting_reads_at_0(void **state)
{
    (void)state;
    fixture f = make();
    llfi_ix ix[LLFI_RANK];
    llfi_dim out[] = {f.B, f.H, f.N}, in[] = {c(&f, 1), f.N};
    site(&f, 3, out, ix);
    assert_true(llfi_ix_broadcast(&f.m, ix, 3, out, 2, in));
    assert_text(&f, ix[0], "0");
    assert_text(&f, ix[1], "i2");
    uint32_t map = llfi_maps_add(&f.m, 2, ix);
    assert_int_equal(f.m.map.at[map].axes, 4);
    assert_int_equal(llfi_maps_add(&f.m, 2, ix), map);
    done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merging_axes_needs_no_division),
        cmocka_unit_test(splitting_what_was_merged_gives_the_axes_back),
        cmocka_unit_test(merging_what_was_split_gives_the_axis_back),
        cmocka_unit_test(permute_and_reshape),
        cmocka_unit_test(flips_and_slices_compose),
        cmocka_unit_test(common_factors_leave),
        cmocka_unit_test(a_difference_divides_itself),
        cmocka_unit_test(random_chains_read_what_enumeration_reads),
        cmocka_unit_test(symbolic_maps_hold_for_every_value),
        cmocka_unit_test(deep_chains_stay_linear),
        cmocka_unit_test(broadcasting_reads_at_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
