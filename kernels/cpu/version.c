/* See kernels/version.h. */
#include "kernels/version.h"

#include <fftw3.h>

#include "kernels/backend.h"
#include "kernels/load.h"

static void features(FILE *to)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    fprintf(to, "  cpu       x86%s%s%s%s\n", __builtin_cpu_supports("sse4.2") ? " sse4.2" : "",
            __builtin_cpu_supports("avx2") ? " avx2" : "", __builtin_cpu_supports("fma") ? " fma" : "",
            __builtin_cpu_supports("avx512f") ? " avx512f" : "");
#else
    fprintf(to, "  cpu       no x86 vector units\n");
#endif
}

const char *mf_kernels_simd(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "avx2";
#endif
    return "baseline";
}

const char *mf_kernels_fftw(void) { return fftwf_version; }

void mf_kernels_version(FILE *to)
{
    fprintf(to, "  devices  ");
    for (size_t i = 0; mf_backend_name(i); ++i) fprintf(to, " %s", mf_backend_name(i));
    fprintf(to, "\n");
    features(to);
    fprintf(to, "  FFTW      %s\n", fftwf_version);
    fprintf(to, "  CUDA      %s\n", *mf_load_cuda_path() ? mf_load_cuda_path() : "back end not installed");
}
