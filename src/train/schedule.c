/* See schedule.h. */
#include "src/train/schedule.h"

#include <math.h>

/* Half a cosine from a to b, 0 <= t <= 1. */
static double bend(double a, double b, double t) { return b + (a - b) * (1 + cos(M_PI * t)) / 2; }

static double one_cycle(const struct mf_schedule *s, size_t step)
{
    const double start = s->rate / 25, end = start / 1e4;
    const double rise = (s->rise > 0 ? s->rise : 0.3) * (double)s->steps - 1;

    if ((double)step <= rise) return rise > 0 ? bend(start, s->rate, (double)step / rise) : s->rate;
    return bend(s->rate, end, ((double)step - rise) / ((double)s->steps - 1 - rise));
}

/* Part of the highest rate in step @p step of the warm-up. */
static double risen(const struct mf_schedule *s, size_t step)
{
    const double parts = (double)(s->warmup + 1), done = (double)(step + 1);

    return s->log ? log(done + 1) / log(parts + 1) : done / parts;
}

double mf_schedule_rate(const struct mf_schedule *s, size_t step)
{
    double left;

    if (s->steps > 0 && step >= s->steps) step = s->steps - 1;
    if (s->kind == MF_SCHEDULE_ONE_CYCLE && s->steps > 1) return one_cycle(s, step);
    if (step < s->warmup) return s->rate * risen(s, step);
    left = s->steps > s->warmup ? (double)(s->steps - step) / (double)(s->steps - s->warmup) : 1;
    if (s->kind == MF_SCHEDULE_COSINE) return bend(0, s->rate, left);
    return s->kind == MF_SCHEDULE_WARMUP_DECAY ? s->rate * left : s->rate;
}
