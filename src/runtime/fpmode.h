/* fpmode.h: the floating-point mode of the calling thread: saved, set to IEEE (round to nearest, subnormals
 * kept, no traps), restored. Kernels, folding and literals rely on it whatever the host program does with its
 * own. */
#ifndef LLFI_FPMODE_H
#define LLFI_FPMODE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

#define LLFI_FPMODE_IEEE 0x1F80u

static inline uint64_t llfi_fpmode_enter(void)
{
    uint32_t mode = _mm_getcsr();
    if ((mode & ~0x3Fu) != LLFI_FPMODE_IEEE) /* but for sticky flags; writing is the dear half */
        _mm_setcsr(LLFI_FPMODE_IEEE);
    return mode;
}

static inline void llfi_fpmode_leave(uint64_t mode)
{
    if (_mm_getcsr() != (uint32_t)mode) /* its sticky flags too */
        _mm_setcsr((uint32_t)mode);
}

#elif defined(__aarch64__)

static inline uint64_t llfi_fpmode_enter(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    if (mode != 0)
        __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0));
    return mode;
}

static inline void llfi_fpmode_leave(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}

#else
#error "fpmode.h: add this architecture's control register"
#endif

#endif
