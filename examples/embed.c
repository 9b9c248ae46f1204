/* embed.c: llfuse in somebody else's program, as the head of llfuse.h shows it: build a graph, compile, load,
 * bind, run. `embed` runs on the CPU, `embed nvptx` on the GPU: the same calls, with device pointers. Exit
 * code 3: no such target here. It uses the public header and, for the GPU's memory (-DLLFUSE_CUDA, and -I for
 * cuda.h), the CUDA driver, and nothing of llfuse's insides. */
#include <llfuse/llfuse.h>

#include <stdio.h>
#include <string.h>

#ifdef LLFUSE_CUDA
#include <cuda.h>
#include <dlfcn.h>
#endif

enum { N = 1024 };

/* The 30 lines that matter, the same as in the head of llfuse.h and in README.md (checked by
 * examples/check_embed.cmake). `in` and `out` hold N floats where the target can read them. One statement per
 * node: C leaves the order in which a call's arguments are evaluated to the compiler, and nodes are numbered
 * in the order of the calls. Destroying waits for nothing: on the GPU the caller's copy of the result comes
 * after the kernel in stream order. */
static int scale(const char *target, void *in, void *out)
{
    llf_context *cx = llf_context_create(NULL);
    llf_graph *g = llf_graph_create(cx, "scale");
    int64_t n = N;
    llf_id x = llf_input(g, "x", LLF_F32, 1, &n);
    llf_id two = llf_const(g, LLF_F32, 2.0);
    llf_id y = llf_mul(g, x, two);
    llf_id z = llf_relu(g, y);
    llf_output(g, z);
    llf_options opt = {.size = sizeof opt, .target = target};
    llf_program *p = NULL;
    llf_loaded *l = NULL;
    llf_execution *e = NULL;
    llf_tensor from = {.data = in, .dtype = LLF_F32, .rank = 1, .shape = {n}};
    llf_tensor to = {.data = out, .dtype = LLF_F32, .rank = 1, .shape = {n}};
    const char *error = NULL;
    if (llf_compile(cx, g, &opt, &p) || llf_program_load(cx, p, -1, &l) || llf_execution_create(cx, l, &e))
        error = llf_last_error(cx)->message;
    else if (llf_bind(e, 0, &from) || llf_bind(e, 1, &to) || llf_prepare(e) || llf_run(e, NULL))
        error = llf_execution_error(e)->message;
    if (error)
        fprintf(stderr, "%s\n", error);
    int code = !error ? 0 : llf_last_error(cx)->status == LLF_E_TARGET ? 3 : 1;
    llf_execution_destroy(e);
    llf_loaded_destroy(l);
    llf_program_destroy(p);
    llf_graph_destroy(g);
    llf_context_destroy(cx);
    return code;
}

#ifdef LLFUSE_CUDA
/* What a CUDA program has anyway: a context and memory. Opened at run time, so that the example starts
 * without a GPU. */
static int scale_on_gpu(const char *target, const float *in, float *out)
{
    CUresult (*init)(unsigned), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext),
        (*alloc)(CUdeviceptr *, size_t), (*up)(CUdeviceptr, const void *, size_t),
        (*down)(void *, CUdeviceptr, size_t);
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        return scale(target, NULL, NULL); /* llfuse says what is missing */
    *(void **)&init = dlsym(cuda, "cuInit");
    *(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
    *(void **)&set = dlsym(cuda, "cuCtxSetCurrent");
    *(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
    *(void **)&up = dlsym(cuda, "cuMemcpyHtoD_v2");
    *(void **)&down = dlsym(cuda, "cuMemcpyDtoH_v2");
    CUcontext context;
    CUdeviceptr x, y;
    if (init(0) || retain(&context, 0) || set(context) || alloc(&x, N * 4) || alloc(&y, N * 4) ||
        up(x, in, N * 4)) {
        fprintf(stderr, "no GPU to use\n");
        return 3;
    }
    int code = scale(target, (void *)(uintptr_t)x, (void *)(uintptr_t)y);
    return code ? code : (int)down(out, y, N * 4);
}
#endif

int main(int argc, char **argv)
{
    const char *target = argc > 1 ? argv[1] : "host";
    float in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = (float)(i - 512);
    int code;
#ifdef LLFUSE_CUDA
    if (strncmp(target, "nvptx", 5) == 0)
        code = scale_on_gpu(target, in, out);
    else
#else
    if (strncmp(target, "nvptx", 5) == 0) {
        fprintf(stderr, "embed was built without LLFUSE_CUDA: it has no memory on a GPU\n");
        code = 3;
    } else
#endif
        code = scale(target, in, out);
    for (int i = 0; i < N && code == 0; i++)
        if (out[i] != (in[i] < 0 ? 0 : 2 * in[i])) {
            fprintf(stderr, "element %d is %g\n", i, (double)out[i]);
            code = 1;
        }
    if (code == 0)
        printf("relu(2 x) of %d elements on %s\n", N, target);
    return code;
}
