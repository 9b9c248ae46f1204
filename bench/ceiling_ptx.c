/* ceiling_ptx.c: the PTX of the kernels that say how fast memory is, written by hand and fixed. It must never
 * use the generator that it judges. One 16-byte vector a thread and tensor; loads first, then the stores. The
 * six variants: 128, 256 or 512 threads a block, loads plain or marked evict_last. */
#include "bench/bench.h"

static const struct {
    const char *name;
    uint32_t threads;
    bool evict_last;
} variants[BENCH_PTX_VARIANTS] = {{"512", 512, false},           {"256", 256, false},
                                  {"128", 128, false},           {"512 evict_last", 512, true},
                                  {"256 evict_last", 256, true}, {"128 evict_last", 128, true}};

const char *bench_ceiling_ptx_name(uint32_t variant)
{
    return variants[variant].name;
}

uint32_t bench_ceiling_ptx_threads(uint32_t variant)
{
    return variants[variant].threads;
}

static void put_params(llfi_str *s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        llfi_str_printf(s, "%s\n    .param .u64 p%u", i ? "," : "", i);
}

static void put_load(llfi_str *s, uint32_t i, bool evict_last)
{
    llfi_str_printf(s,
                    "    ld.param.u64 %%a%u, [p%u];\n"
                    "    cvta.to.global.u64 %%a%u, %%a%u;\n"
                    "    add.u64 %%a%u, %%a%u, %%offset;\n",
                    i, i, i, i, i, i);
    if (evict_last)
        llfi_str_printf(s,
                        "    ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 "
                        "{%%v%u, %%v%u, %%v%u, %%v%u}, [%%a%u], %%policy;\n",
                        4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, i);
    else
        llfi_str_printf(s, "    ld.global.nc.v4.u32 {%%v%u, %%v%u, %%v%u, %%v%u}, [%%a%u];\n", 4 * i,
                        4 * i + 1, 4 * i + 2, 4 * i + 3, i);
}

static void put_sum(llfi_str *s, uint32_t reads)
{
    if (!reads)
        llfi_str_puts(s, "    mov.u32 %s0, %tid.x;\n    mov.u32 %s1, %ctaid.x;\n    mov.u32 %s2, %s0;\n"
                         "    mov.u32 %s3, %s1;\n");
    for (uint32_t c = 0; c < 4 && reads; c++)
        llfi_str_printf(s, "    mov.u32 %%s%u, %%v%u;\n", c, c);
    for (uint32_t i = 1; i < reads; i++)
        for (uint32_t c = 0; c < 4; c++)
            llfi_str_printf(s, "    xor.b32 %%s%u, %%s%u, %%v%u;\n", c, c, 4 * i + c);
}

static void put_store(llfi_str *s, uint32_t param, uint32_t index)
{
    if (index) /* every output its own value */
        llfi_str_puts(s, "    add.u32 %s0, %s0, 1;\n");
    llfi_str_printf(s,
                    "    ld.param.u64 %%b%u, [p%u];\n"
                    "    cvta.to.global.u64 %%b%u, %%b%u;\n"
                    "    add.u64 %%b%u, %%b%u, %%offset;\n"
                    "    st.global.v4.u32 [%%b%u], {%%s0, %%s1, %%s2, %%s3};\n",
                    index, param, index, index, index, index, index);
}

/* Reads alone: a store that no data will make happen keeps the loads alive. */
static void put_sink(llfi_str *s, uint32_t param)
{
    llfi_str_printf(s,
                    "    setp.eq.u32 %%out, %%s0, 0x9E3779B9;\n"
                    "    setp.eq.and.u32 %%out, %%s1, 0x7F4A7C15, %%out;\n"
                    "    setp.eq.and.u32 %%out, %%s2, 0xBF58476D, %%out;\n"
                    "    @!%%out ret;\n"
                    "    ld.param.u64 %%b0, [p%u];\n"
                    "    cvta.to.global.u64 %%b0, %%b0;\n"
                    "    st.global.u32 [%%b0], %%s3;\n",
                    param);
}

static void put_head(llfi_str *s, bool evict_last)
{
    llfi_str_printf(s, ".version 7.4\n.target %s\n.address_size 64\n", evict_last ? "sm_80" : "sm_75");
}

/* Parameters: `reads` inputs, `writes` outputs (reads alone: one sink), the number of vectors. */
bool bench_ceiling_ptx(llfi_str *s, uint32_t sm, uint32_t variant, uint32_t reads, uint32_t writes)
{
    bool evict_last = variants[variant].evict_last;
    uint32_t tensors = reads + (writes ? writes : 1);
    if (evict_last && (sm < 80 || !reads))
        return false;
    put_head(s, evict_last);
    llfi_str_puts(s, ".visible .entry llfuse_ceiling(");
    put_params(s, tensors + 1);
    llfi_str_printf(
        s,
        ")\n.maxntid %u, 1, 1\n{\n"
        "    .reg .pred %%out;\n    .reg .b32 %%r<4>, %%v<%u>, %%s<4>;\n"
        "    .reg .b64 %%a<%u>, %%b<%u>, %%index, %%count, %%offset, %%policy;\n"
        "    mov.u32 %%r0, %%ctaid.x;\n    mov.u32 %%r1, %%ntid.x;\n    mov.u32 %%r2, %%tid.x;\n"
        "    mul.wide.u32 %%index, %%r0, %%r1;\n    cvt.u64.u32 %%offset, %%r2;\n"
        "    add.u64 %%index, %%index, %%offset;\n    ld.param.u64 %%count, [p%u];\n"
        "    setp.ge.u64 %%out, %%index, %%count;\n    @%%out ret;\n    shl.b64 %%offset, %%index, 4;\n",
        variants[variant].threads, 4 * BENCH_MAX_READS, BENCH_MAX_READS, BENCH_MAX_WRITES, tensors);
    if (evict_last)
        llfi_str_puts(s, "    createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;\n");
    for (uint32_t i = 0; i < reads; i++)
        put_load(s, i, evict_last);
    put_sum(s, reads);
    for (uint32_t i = 0; i < writes; i++)
        put_store(s, reads + i, i);
    if (!writes)
        put_sink(s, reads);
    llfi_str_puts(s, "    ret;\n}\n");
    return true;
}

/* p0: buffer, p1: vectors of 16 bytes; a grid-stride loop that only reads. */
void bench_flush_ptx(llfi_str *s)
{
    put_head(s, false);
    llfi_str_puts(
        s, ".visible .entry llfuse_flush(.param .u64 p0, .param .u64 p1)\n.maxntid 512, 1, 1\n{\n"
           "    .reg .pred %done, %out;\n    .reg .b32 %r<4>, %v<4>, %s;\n"
           "    .reg .b64 %index, %step, %count, %base, %at;\n"
           "    mov.u32 %s, 0;\n    mov.u32 %r0, %ctaid.x;\n    mov.u32 %r1, %ntid.x;\n"
           "    mov.u32 %r2, %tid.x;\n    mov.u32 %r3, %nctaid.x;\n"
           "    mul.wide.u32 %index, %r0, %r1;\n    cvt.u64.u32 %at, %r2;\n    add.u64 %index, %index, %at;\n"
           "    mul.wide.u32 %step, %r3, %r1;\n    ld.param.u64 %base, [p0];\n"
           "    cvta.to.global.u64 %base, %base;\n    ld.param.u64 %count, [p1];\n"
           "loop:\n    setp.ge.u64 %done, %index, %count;\n    @%done bra end;\n"
           "    shl.b64 %at, %index, 4;\n    add.u64 %at, %base, %at;\n"
           "    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%at];\n"
           "    xor.b32 %v0, %v0, %v1;\n    xor.b32 %v2, %v2, %v3;\n    xor.b32 %v0, %v0, %v2;\n"
           "    or.b32 %s, %s, %v0;\n    add.u64 %index, %index, %step;\n    bra loop;\n"
           "end:\n    setp.ne.u32 %out, %s, 0x9E3779B9;\n    @%out ret;\n"
           "    st.global.u32 [%base], %s;\n    ret;\n}\n");
}

void bench_empty_ptx(llfi_str *s, uint32_t args)
{
    put_head(s, false);
    llfi_str_puts(s, ".visible .entry llfuse_empty(");
    put_params(s, args);
    llfi_str_puts(s, ")\n{\n    ret;\n}\n");
}
