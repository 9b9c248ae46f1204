/* literal.c: text of a literal to the bits of its dtype with ONE rounding, and the shortest text that reads
 * back. Decimal text becomes 64 quotient bits and a sticky flag (exact integer arithmetic), which are rounded
 * once to the format; no double stands in between, and no locale is asked. Must not read types or graphs. */
#include "ir/float.h"
#include "ir/ir.h"

typedef unsigned __int128 u128;

/* ---- formats */

typedef struct {
    int precision; /* bits, the leading one included */
    int emax;      /* = bias */
} format;

static format format_of(llf_dtype dtype)
{
    switch (dtype) {
    case LLF_F64: return (format){53, 1023};
    case LLF_F16: return (format){11, 15};
    case LLF_BF16: return (format){8, 127};
    default: return (format){24, 127};
    }
}

static uint64_t infinity_of(format f)
{
    return ((uint64_t)f.emax * 2 + 1) << (f.precision - 1);
}

static uint64_t with_sign(llf_dtype dtype, uint64_t bits, bool negative)
{
    return bits | (uint64_t)negative << (8 * llfi_dtypes[dtype].bytes - 1);
}

/* Rounds q * 2^e2 (top bit of q set; `sticky`: something nonzero below q) to nearest even. */
static uint64_t round_to(format f, uint64_t q, int64_t e2, bool sticky)
{
    int64_t top = e2 + 63, emin = 1 - f.emax;
    if (top > f.emax)
        return infinity_of(f);
    int64_t shift = 64 - f.precision + (top < emin ? emin - top : 0);
    if (shift > 64)
        return 0;
    uint64_t kept = shift == 64 ? 0 : q >> shift;
    uint64_t half = q >> (shift - 1) & 1;
    bool rest = sticky || (q & ((UINT64_C(1) << (shift - 1)) - 1)) != 0;
    kept += half && (rest || (kept & 1));
    /* A carry out of `kept` runs into the exponent field, and from the largest number into infinity, as it
     * should. */
    if (top < emin)
        return kept;
    return ((uint64_t)(top + f.emax) << (f.precision - 1)) + (kept - (UINT64_C(1) << (f.precision - 1)));
}

static uint64_t round_u128(format f, u128 v, int64_t e2, bool sticky)
{
    if (v == 0)
        return 0;
    uint64_t hi = (uint64_t)(v >> 64);
    if (hi == 0) {
        int z = __builtin_clzll((uint64_t)v);
        return round_to(f, (uint64_t)v << z, e2 - z, sticky);
    }
    int down = 64 - __builtin_clzll(hi);
    sticky |= (v & (((u128)1 << down) - 1)) != 0;
    return round_to(f, (uint64_t)(v >> down), e2 + down, sticky);
}

/* ---- big integers: up to 800 digits over 10^1145 */

#define LIMBS 136
typedef struct {
    uint32_t limb[LIMBS];
    int n;
} big;

static void big_mul_add(big *b, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        b->limb[b->n++] = (uint32_t)carry;
}

static void big_mul_pow10(big *b, int64_t e)
{
    for (; e >= 9; e -= 9)
        big_mul_add(b, 1000000000u, 0);
    for (; e > 0; e--)
        big_mul_add(b, 10, 0);
}

static int big_bits(const big *b)
{
    return b->n ? b->n * 32 - __builtin_clz(b->limb[b->n - 1]) : 0;
}

static void big_shift_left(big *b, int by)
{
    int whole = by / 32, part = by % 32;
    if (part)
        big_mul_add(b, 1u << part, 0);
    memmove(b->limb + whole, b->limb, (size_t)b->n * sizeof *b->limb);
    memset(b->limb, 0, (size_t)whole * sizeof *b->limb);
    b->n += whole;
}

static int big_compare(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--) {
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

static void big_sub(big *a, const big *b)
{
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n && a->limb[a->n - 1] == 0)
        a->n--;
}

static uint64_t round_big(format f, const big *b, bool sticky)
{
    int bits = big_bits(b);
    uint64_t q = 0;
    for (int i = 0; i < 64 && i < bits; i++) {
        int at = bits - 1 - i;
        q |= (uint64_t)(b->limb[at / 32] >> (at % 32) & 1) << (63 - i);
    }
    for (int at = bits - 65; at >= 0 && !sticky; at--)
        sticky = b->limb[at / 32] >> (at % 32) & 1;
    return round_to(f, q, bits - 64, sticky);
}

/* num / den: scaled until the ratio is in [1/2, 1), then 64 bits by shift and subtract. */
static uint64_t round_ratio(format f, big *num, big *den, bool sticky)
{
    int up = big_bits(den) - big_bits(num);
    big_shift_left(up > 0 ? num : den, up > 0 ? up : -up);
    if (big_compare(num, den) >= 0) {
        big_shift_left(den, 1);
        up--;
    }
    uint64_t q = 0;
    for (int i = 0; i < 64; i++) {
        big_shift_left(num, 1);
        q <<= 1;
        if (big_compare(num, den) >= 0) {
            big_sub(num, den);
            q |= 1;
        }
    }
    return round_to(f, q, -64 - (int64_t)up, sticky || num->n != 0);
}

/* ---- decimal */

/* Halfway points of f64 have at most 767 significant digits: what comes later only breaks a tie. */
#define MAX_DIGITS 800

typedef struct {
    char digit[MAX_DIGITS]; /* no leading zeros */
    int digits;
    int64_t exp10; /* value = digits * 10^exp10 */
    bool sticky;
} decimal;

static const uint64_t pow10_u64[20] = {1,
                                       10,
                                       100,
                                       1000,
                                       10000,
                                       100000,
                                       1000000,
                                       10000000,
                                       100000000,
                                       1000000000,
                                       10000000000,
                                       100000000000,
                                       1000000000000,
                                       10000000000000,
                                       100000000000000,
                                       1000000000000000,
                                       10000000000000000,
                                       100000000000000000,
                                       1000000000000000000,
                                       UINT64_C(10000000000000000000)};

static uint64_t round_decimal(format f, const decimal *d)
{
    int64_t e = d->exp10;
    if (d->digits == 0)
        return 0;
    if (d->digits + e > 310)
        return infinity_of(f);
    if (d->digits + e < -345)
        return 0;
    if (d->digits <= 19 && !d->sticky && e >= -19 && e <= 19) {
        uint64_t v = 0;
        for (int i = 0; i < d->digits; i++)
            v = v * 10 + (uint64_t)(d->digit[i] - '0');
        if (e >= 0)
            return round_u128(f, (u128)v * pow10_u64[e], 0, false);
        int z = __builtin_clzll(v);
        u128 num = (u128)(v << z) << 64, den = pow10_u64[-e];
        return round_u128(f, num / den, -64 - z, num % den != 0);
    }
    big num = {.n = 0}, den = {.limb = {1}, .n = 1};
    for (int i = 0; i < d->digits; i++)
        big_mul_add(&num, 10, (uint32_t)(d->digit[i] - '0'));
    if (e >= 0) {
        big_mul_pow10(&num, e);
        return round_big(f, &num, d->sticky);
    }
    big_mul_pow10(&den, -e);
    return round_ratio(f, &num, &den, d->sticky);
}

/* An exponent with its sign; huge ones stop growing, they mean zero or infinity anyway. */
static bool scan_exponent(const char **at, const char *end, int64_t *exponent)
{
    const char *p = *at;
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *first = p;
    int64_t e = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        e = e < INT64_C(1000000000000) ? e * 10 + (*p - '0') : e;
    *exponent = negative ? -e : e;
    *at = p;
    return p > first;
}

static bool scan_decimal(const char *p, const char *end, decimal *d)
{
    bool any = false, point = false;
    d->digits = 0;
    d->exp10 = 0;
    d->sticky = false;
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        if (d->digits == 0 && *p == '0') {
            d->exp10 -= point;
        } else if (d->digits < MAX_DIGITS) {
            d->digit[d->digits++] = *p;
            d->exp10 -= point;
        } else {
            d->sticky |= *p != '0';
            d->exp10 += !point;
        }
    }
    if (!any)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int64_t e;
        p++;
        if (!scan_exponent(&p, end, &e))
            return false;
        d->exp10 += e;
    }
    while (d->digits && !d->sticky && d->digit[d->digits - 1] == '0') {
        d->digits--;
        d->exp10++;
    }
    return p == end;
}

/* ---- hexadecimal */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool scan_hex(const char *p, const char *end, format f, uint64_t *bits)
{
    bool any = false, point = false, sticky = false;
    uint64_t q = 0;
    int64_t e2 = 0;
    for (; p < end && (hex_digit(*p) >= 0 || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        if (q >> 60 == 0) {
            q = q << 4 | (uint64_t)hex_digit(*p);
            e2 -= point ? 4 : 0;
        } else {
            sticky |= *p != '0';
            e2 += point ? 0 : 4;
        }
    }
    if (any && p < end && (*p == 'p' || *p == 'P')) {
        int64_t e;
        p++;
        if (!scan_exponent(&p, end, &e))
            return false;
        e2 += e;
    }
    *bits = round_u128(f, q, e2, sticky);
    return any && p == end;
}

/* ---- reading */

static bool is_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) == n && memcmp(p, word, n) == 0;
}

static bool is_hex(const char *p, const char *end)
{
    return end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
}

static bool parse_float(llf_dtype dtype, const char *p, const char *end, bool negative, uint64_t *bits)
{
    format f = format_of(dtype);
    if (is_word(p, end, "nan")) {
        *bits = infinity_of(f) | UINT64_C(1) << (f.precision - 2);
        return !negative; /* NaNs have no sign here */
    }
    if (is_word(p, end, "inf")) {
        *bits = infinity_of(f);
    } else if (is_hex(p, end)) {
        if (!scan_hex(p + 2, end, f, bits))
            return false;
    } else {
        decimal d;
        if (!scan_decimal(p, end, &d))
            return false;
        *bits = round_decimal(f, &d);
    }
    *bits = with_sign(dtype, *bits, negative);
    return true;
}

typedef enum { INT_OK, INT_FORM, INT_RANGE } int_result;

static int_result parse_int(llf_dtype dtype, const char *p, const char *end, bool negative, uint64_t *bits)
{
    unsigned base = is_hex(p, end) ? 16 : 10, width = 8u * llfi_dtypes[dtype].bytes;
    uint64_t v = 0, limit = (UINT64_C(1) << (width - 1)) - !negative;
    bool over = false;
    p += base == 16 ? 2 : 0;
    if (p == end)
        return INT_FORM;
    for (; p < end; p++) {
        int digit = hex_digit(*p);
        if (digit < 0 || digit >= (int)base)
            return INT_FORM;
        over |= __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (unsigned)digit, &v);
    }
    if (over || v > limit)
        return INT_RANGE;
    *bits = (negative ? 0 - v : v) & (UINT64_MAX >> (64 - width));
    return INT_OK;
}

llf_status llfi_literal_parse(llfi_diag *d, llfi_place at, llf_dtype dtype, const char *text, size_t bytes,
                              uint64_t *bits)
{
    const char *p = text, *end = text + bytes, *name = llf_dtype_name(dtype);
    int cut = bytes > 40 ? 40 : (int)bytes;
    const char *dots = bytes > 40 ? "..." : "";
    if (dtype == LLF_BOOL) {
        *bits = is_word(p, end, "true");
        if (*bits || is_word(p, end, "false"))
            return LLF_OK;
        return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "literal '%.*s%s' is no bool: true or false", cut, p,
                            dots);
    }
    bool negative = p < end && *p == '-';
    const char *body = p + (p < end && (*p == '-' || *p == '+'));
    if (llfi_dtype_is_float(dtype)) {
        if (parse_float(dtype, body, end, negative, bits))
            return LLF_OK;
        return llfi_fail_at(d, LLF_E_PARSE, at, NULL, "literal '%.*s%s' is no %s number", cut, p, dots, name);
    }
    int_result r = parse_int(dtype, body, end, negative, bits);
    if (r == INT_OK)
        return LLF_OK;
    return llfi_fail_at(d, LLF_E_PARSE, at, NULL,
                        r == INT_RANGE ? "literal '%.*s%s' is outside the range of %s"
                                       : "literal '%.*s%s' is no integer, which %s needs",
                        cut, p, dots, name);
}

/* ---- printing */

typedef struct {
    char digit[24];
    int n;
    int exp10; /* value = d.ddd * 10^exp10 */
} shortest;

/* The `n` nearest digits of v > 0. printf is exact; only its decimal point may follow a locale, and is
 * skipped. */
static void nearest_digits(double v, int n, shortest *s)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, v);
    const char *p = text;
    s->n = 0;
    for (; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9')
            s->digit[s->n++] = *p;
    }
    bool negative = p[0] == 'e' && p[1] == '-';
    s->exp10 = 0;
    for (p += 2; *p >= '0' && *p <= '9'; p++)
        s->exp10 = s->exp10 * 10 + (*p - '0');
    s->exp10 = negative ? -s->exp10 : s->exp10;
}

static bool reads_back(format f, const shortest *s, uint64_t bits)
{
    decimal d = {.digits = s->n, .exp10 = s->exp10 - s->n + 1};
    memcpy(d.digit, s->digit, (size_t)s->n);
    while (d.digits && d.digit[d.digits - 1] == '0') {
        d.digits--;
        d.exp10++;
    }
    return round_decimal(f, &d) == bits;
}

static void next_up(shortest *s)
{
    int i = s->n - 1;
    while (i >= 0 && s->digit[i] == '9')
        s->digit[i--] = '0';
    if (i >= 0) {
        s->digit[i]++;
    } else {
        s->digit[0] = '1';
        s->exp10++;
    }
}

/* If n nearest digits read back, so do n + 1: binary search. At a power of two the gap above is twice the gap
 * below, so the neighbour above may read back where the nearest does not. */
static void find_shortest(format f, double v, uint64_t bits, shortest *s)
{
    int lo = 1, hi = 17;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        nearest_digits(v, mid, s);
        if (reads_back(f, s, bits))
            hi = mid;
        else
            lo = mid + 1;
    }
    if (lo > 1 && (bits & ((UINT64_C(1) << (f.precision - 1)) - 1)) == 0) {
        nearest_digits(v, lo - 1, s);
        next_up(s);
        if (reads_back(f, s, bits))
            return;
    }
    nearest_digits(v, lo, s);
    while (s->n > 1 && s->digit[s->n - 1] == '0')
        s->n--;
}

static void print_digits(const shortest *d, llfi_str *s)
{
    if (d->exp10 >= 16 || d->exp10 < -5) {
        llfi_str_add(s, d->digit, 1);
        if (d->n > 1) {
            llfi_str_puts(s, ".");
            llfi_str_add(s, d->digit + 1, (size_t)d->n - 1);
        }
        llfi_str_printf(s, "e%d", d->exp10);
        return;
    }
    if (d->exp10 < 0) {
        llfi_str_puts(s, "0.");
        for (int i = -1; i > d->exp10; i--)
            llfi_str_puts(s, "0");
        llfi_str_add(s, d->digit, (size_t)d->n);
        return;
    }
    for (int i = 0; i <= d->exp10; i++)
        llfi_str_add(s, i < d->n ? d->digit + i : "0", 1);
    llfi_str_puts(s, ".");
    if (d->n > d->exp10 + 1)
        llfi_str_add(s, d->digit + d->exp10 + 1, (size_t)(d->n - d->exp10 - 1));
    else
        llfi_str_puts(s, "0");
}

void llfi_literal_print(llf_dtype dtype, uint64_t bits, llfi_str *s)
{
    if (dtype == LLF_BOOL) {
        llfi_str_puts(s, bits ? "true" : "false");
        return;
    }
    if (llfi_dtypes[dtype].kind == LLFI_KIND_INT) {
        llfi_str_printf(s, "%lld", (long long)llfi_bits_to_i64(dtype, bits));
        return;
    }
    if (llfi_bits_nan(dtype, bits)) {
        llfi_str_puts(s, "nan");
        return;
    }
    uint64_t sign = UINT64_C(1) << (8 * llfi_dtypes[dtype].bytes - 1), magnitude = bits & ~sign;
    format f = format_of(dtype);
    if (bits & sign)
        llfi_str_puts(s, "-");
    double v = llfi_bits_to_f64(dtype, magnitude);
    if (magnitude == infinity_of(f)) {
        llfi_str_puts(s, "inf");
    } else if (v < 256.0 && v == (double)(int)v) {
        /* exact in every format, and shorter digits would be another integer */
        llfi_str_printf(s, "%d.0", (int)v);
    } else {
        shortest d;
        find_shortest(f, v, magnitude, &d);
        print_digits(&d, s);
    }
}
