/* See scaling.h. */
#include "src/bench/scaling.h"

#include "src/bench/median.h"

void mf_bench_scaling(struct mf_bench_point *points, size_t n, int weak)
{
    const struct mf_bench_point *first = &points[0];

    for (size_t i = 0; i < n; ++i) {
        struct mf_bench_point *p = &points[i];
        double ranks = (double)p->ranks, gain;

        p->seconds = mf_bench_median(p->sample, p->samples);
        gain = first->seconds / p->seconds;
        p->speedup = weak ? gain * ranks : gain * (double)first->ranks;
        p->efficiency = p->speedup / ranks;
        p->serial = p->ranks > 1 && !weak ? (1 / p->speedup - 1 / ranks) / (1 - 1 / ranks) : 0;
    }
}
