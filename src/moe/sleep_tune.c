/* See sleep_priv.h: hyperparameters follow the validation loss. They take turns, and one moves at a time. */
#include <math.h>

#include "src/moe/sleep_priv.h"

/* A move: times, or more. */
static const double FACTOR = 1.1, MORE = 0.02;

static double moved(const struct mf_sleep *s, long hyper)
{
    const double value = s->tuning.value[hyper], turn = s->tuning.turn[hyper];
    const double to = hyper == MF_HYPER_SIMILARITY ? value + turn * MORE : turn > 0 ? value * FACTOR : value / FACTOR;

    return fmin(s->high[hyper], fmax(s->low[hyper], to));
}

void mf_sleep_tune(struct mf_sleep *s, double loss)
{
    struct mf_tuning *t = &s->tuning;

    if (!isfinite(loss)) return;
    if (t->last >= 0 && t->value[t->last] != t->before && loss > t->loss) {
        t->value[t->last] = t->before;
        t->turn[t->last] = -t->turn[t->last];
    }
    t->last = (t->last + 1) % MF_HYPERS;
    t->before = t->value[t->last];
    t->value[t->last] = moved(s, t->last);
    t->loss = loss;
    s->grow->opts.threshold = t->value[MF_HYPER_BIRTH_THRESHOLD];
}
