/* See threads.h. */
#include "kernels/threads.h"

#include <omp.h>

#include "kernels/cpu/cpu.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* In the calling thread and those of its loops. */
static void set_control(unsigned control)
{
#ifdef __SSE2__
#pragma omp parallel
    _mm_setcsr(control);
#else
    (void)control;
#endif
}

void mf_threads_enter(int threads, struct mf_threads *before)
{
    *before = (struct mf_threads){.number = omp_get_max_threads()};
#ifdef __SSE2__
    before->control = _mm_getcsr();
#endif
    omp_set_num_threads(threads);
    mf_cpu_flush_tiny(threads);
}

void mf_threads_leave(const struct mf_threads *before)
{
    set_control(before->control);
    omp_set_num_threads(before->number);
}

void mf_threads_end(void) { (void)omp_pause_resource_all(omp_pause_soft); }
