/* See ahead.h. */
#include "src/recon/ahead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"

enum { TRIES = 32, EACH_MOST = 1024 };

static const double WORTH = 1.1; /* a gain that is less is none */

int mf_ahead_open(struct mf_ahead *a, const struct mf_comm *comm, struct mf_arena *arena)
{
    *a = (struct mf_ahead){.comm = comm, .arena = arena};
    a->note = mf_arena_take(arena, 2 * (size_t)comm->size * sizeof *a->note, "annealing");
    return a->note ? MF_OK : MF_MEMORY;
}

void mf_ahead_close(struct mf_ahead *a) { mf_arena_give(a->arena, a->note); }

/* -- how far -- */

/* Seconds of telling. Collective. */
static double measure_telling(struct mf_ahead *a)
{
    const size_t n = 2 * (size_t)a->comm->size;
    double start = 0;

    memset(a->note, 0, n * sizeof *a->note);
    for (int i = 0; i <= TRIES; ++i) {
        if (i == 1) start = mf_now(); /* the first one waits for who is late */
        mf_comm_sum_int(a->comm, n, a->note);
    }
    return (mf_now() - start) / TRIES;
}

/* With @p gap steps from one that is accepted to the next, K steps of R ranks come gap (1 - exp(-K R / gap)) steps
 * further, in K step + tell seconds and another step to make the one that is accepted. */
static double gain_of(const struct mf_ahead *a, double gap, double each)
{
    const double steps = gap * (1 - exp(-each * a->comm->size / gap));

    return steps * a->step / (each * a->step + a->tell + steps / gap * a->step);
}

void mf_ahead_choose(struct mf_ahead *a, long steps, size_t accepted)
{
    const double gap = (double)(steps + 1) / (double)(accepted + 1);
    const char *hook = getenv("MF_AHEAD");

    if (!a->measured) a->tell = measure_telling(a);
    a->measured = 1; /* on all ranks alike, whatever their clocks say */
    a->each = hook ? strtol(hook, NULL, 10) : 0;
    if (!hook && a->step > 0) {
        const double best = ceil(sqrt(2 * a->tell / a->step * gap / a->comm->size));
        const double each = fmin(fmax(best, 1), EACH_MOST);

        if (gain_of(a, gap, each) > WORTH) a->each = (long)each;
    }
    mf_comm_bcast(a->comm, 0, &a->each, sizeof a->each);
}

/* -- a turn -- */

/* What the first of all ranks has found. Collective. */
static void tell(struct mf_ahead *a, struct mf_chain_seen *seen)
{
    const size_t ranks = (size_t)a->comm->size;
    int64_t *note = a->note, *own = note + 2 * a->comm->rank, *first = note;

    _Static_assert(sizeof seen->energy == sizeof *note, "an energy goes into a note");
    memset(note, 0, 2 * ranks * sizeof *note);
    own[0] = 2 * (int64_t)seen->at + seen->ends;
    memcpy(&own[1], &seen->energy, sizeof *own);
    mf_comm_sum_int(a->comm, 2 * ranks, note);
    for (size_t r = 1; r < ranks; ++r)
        if (note[2 * r] < first[0]) first = note + 2 * r;
    seen->at = (long)(first[0] / 2);
    seen->ends = (int)(first[0] % 2);
    memcpy(&seen->energy, &first[1], sizeof *first);
}

void mf_ahead_run(struct mf_ahead *a, struct mf_chain *c, long most)
{
    const int ranks = a->comm->size, rank = a->comm->rank;
    struct mf_chain_seen seen = {0};
    double looking = 0, telling = 0;
    long looked = 0, told = 0;

    mf_pool_fill(&c->pool);
    while (!seen.ends && c->turn.steps < most) {
        const long left = most - c->turn.steps, wide = a->each * ranks, n = left < wide ? left : wide;
        const double start = mf_now();
        double end;

        mf_chain_look(c, rank, ranks, n, &seen);
        end = mf_now();
        looking += end - start;
        looked += seen.at / ranks + 1;
        tell(a, &seen);
        telling += mf_now() - end;
        ++told;
        mf_chain_follow(c, &seen, n);
    }
    a->step = looking / (double)looked;
    a->tell = telling / (double)told;
}
