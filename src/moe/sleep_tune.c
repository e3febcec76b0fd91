/* See sleep_priv.h: thresholds follow the validation loss. The knobs take turns, and one moves at a time. */
#include <math.h>

#include "src/moe/sleep_priv.h"

/* A move: times, or more. */
static const double FACTOR = 1.1, MORE = 0.02;

static double moved(const struct mf_sleep *s, long knob)
{
    const double value = s->tuning.value[knob], turn = s->tuning.turn[knob];
    const double to = knob == MF_KNOB_MERGE ? value + turn * MORE : turn > 0 ? value * FACTOR : value / FACTOR;

    return fmin(s->high[knob], fmax(s->low[knob], to));
}

void mf_sleep_tune(struct mf_sleep *s, double loss)
{
    struct mf_tuning *t = &s->tuning;

    if (!isfinite(loss)) return;
    if (t->last >= 0 && t->value[t->last] != t->before && loss > t->loss) {
        t->value[t->last] = t->before;
        t->turn[t->last] = -t->turn[t->last];
    }
    t->last = (t->last + 1) % MF_KNOBS;
    t->before = t->value[t->last];
    t->value[t->last] = moved(s, t->last);
    t->loss = loss;
    s->grow->opts.threshold = t->value[MF_KNOB_BIRTH];
}
