/* See select.h. A radix selection: scores become unsigned numbers of the same order. Histograms of one digit after the
 * other find the last number that is chosen. Ties are resolved in global order. Only the histograms, and one count of
 * ties per plane, are copied from the device. */
#include "src/recon/select.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"

size_t mf_select_room(const struct mf_comm *comm, const struct mf_slab *slab)
{
    return MF_BINS + slab->count + (size_t)comm->size;
}

/* What the functions here share. */
struct select {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    const struct mf_slab *slab;
    const float *score;
    int64_t *bins, *ties, *ranks; /* [MF_BINS], [planes], [size] */
};

static struct select select_of(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                               const float *score, int64_t *room)
{
    return (struct select){comm, queue, slab, score, room, room + MF_BINS, room + MF_BINS + slab->count};
}

/* Histogram of all ranks' scores that begin with @p prefix. */
static void count(const struct select *s, int digit, uint32_t prefix)
{
    s->queue->backend->select->count(s->queue, mf_slab_voxels(s->slab), s->score, digit, prefix, s->bins);
    s->queue->backend->sync(s->queue);
    mf_comm_sum_int(s->comm, MF_BINS, s->bins);
}

static uint64_t all_of(const int64_t *bins)
{
    uint64_t sum = 0;

    for (size_t b = 0; b < MF_BINS; ++b) sum += (uint64_t)bins[b];
    return sum;
}

/* The bin in which the @p want-th largest lies; *want becomes how many of that bin are wanted. */
static uint32_t last_bin(const int64_t *bins, uint64_t *want)
{
    uint32_t b = MF_BINS - 1;

    while (b > 0 && (uint64_t)bins[b] < *want) *want -= (uint64_t)bins[b--];
    return b;
}

/* Number of @p want ties that belong to this rank, which has @p mine; ties are taken in the order of ranks. */
static uint64_t share(const struct select *s, uint64_t want, uint64_t mine)
{
    uint64_t before = 0;

    memset(s->ranks, 0, (size_t)s->comm->size * sizeof *s->ranks);
    s->ranks[s->comm->rank] = (int64_t)mine;
    mf_comm_sum_int(s->comm, (size_t)s->comm->size, s->ranks);
    for (int r = 0; r < s->comm->rank; ++r) before += (uint64_t)s->ranks[r];
    if (before >= want) return 0;
    return want - before < mine ? want - before : mine;
}

/* Where this rank's part of the first @p want ties ends. */
static size_t end_of_ties(const struct select *s, uint32_t key, uint64_t want)
{
    const struct mf_select_ops *ops = s->queue->backend->select;
    size_t plane = s->slab->dims[1] * s->slab->dims[2], z = 0;
    uint64_t mine = 0;

    ops->ties(s->queue, s->slab->count, plane, s->score, key, s->ties);
    s->queue->backend->sync(s->queue);
    for (size_t k = 0; k < s->slab->count; ++k) mine += (uint64_t)s->ties[k];
    mine = share(s, want, mine);
    if (mine == 0) return 0;
    for (; mine > (uint64_t)s->ties[z]; ++z) mine -= (uint64_t)s->ties[z];
    return z * plane + ops->nth(s->queue, plane, s->score + z * plane, key, mine - 1) + 1;
}

uint64_t mf_select_top(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                       const float *score, uint64_t want, int64_t *room, struct mf_choice *choice)
{
    const struct select s = select_of(comm, queue, slab, score, room);
    uint64_t all, left;
    uint32_t key = 0, bin = 0;

    count(&s, 0, 0);
    all = all_of(s.bins);
    if (all < want) want = all;
    *choice = (struct mf_choice){UINT32_MAX, 0}; /* nothing */
    if (want == 0) return 0;
    left = want;
    for (int digit = 0; digit < MF_DIGITS; ++digit) {
        if (digit > 0) count(&s, digit, key);
        bin = last_bin(s.bins, &left);
        key = key << mf_digit_width(digit) | bin;
    }
    choice->last = key;
    choice->end = left == (uint64_t)s.bins[bin] ? mf_slab_voxels(slab) : end_of_ties(&s, key, left);
    return want;
}

/* A share that rounding left below 0 is none. */
static double share_of(size_t p, const double *fractions) { return fractions[p] > 0 ? fractions[p] : 0; }

void mf_phase_counts(uint64_t voxels, size_t phases, const double *fractions, uint64_t *counts)
{
    uint64_t sum = 0;
    double all = 0;

    for (size_t p = 0; p < phases; ++p) all += share_of(p, fractions);
    MF_ASSERT(all > 0);
    for (size_t p = 0; p < phases; ++p) {
        counts[p] = (uint64_t)floor(share_of(p, fractions) / all * (double)voxels);
        sum += counts[p];
    }
    for (; sum < voxels; ++sum) {
        size_t best = 0;
        double most = -1;

        for (size_t p = 0; p < phases; ++p) {
            double rest = share_of(p, fractions) / all * (double)voxels - (double)counts[p];

            if (rest > most) {
                most = rest;
                best = p;
            }
        }
        ++counts[best];
    }
}

static size_t rarest(size_t phases, const uint64_t *counts, const int *dealt)
{
    size_t best = phases;

    for (size_t p = 0; p < phases; ++p)
        if (!dealt[p] && (best == phases || counts[p] < counts[best])) best = p;
    return best;
}

/* Gives phase @p p its number of voxels: those of largest @p score among the open ones. */
static void deal(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, const float *score,
                 size_t p, uint64_t count, int64_t *room, uint8_t *label)
{
    struct mf_choice choice;

    mf_select_top(comm, queue, slab, score, count, room, &choice);
    queue->backend->select->mark(queue, mf_slab_voxels(slab), score, choice, (uint8_t)p, label);
}

static void binarise_one(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, const float *x,
                         uint64_t count, int64_t *room, uint8_t *label)
{
    deal(comm, queue, slab, x, 1, count, room, label);
    queue->backend->label->replace(queue, mf_slab_voxels(slab), MF_LABEL_OPEN, 0, label);
}

static void binarise_many(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab,
                          const float *x, size_t phases, const uint64_t *counts, float *score, int64_t *room,
                          uint8_t *label)
{
    const struct mf_extent extent = {phases, slab->count, slab->dims[1] * slab->dims[2]};
    int dealt[MF_PHASES_MAX] = {0};

    for (size_t left = phases; left > 1; --left) {
        size_t p = rarest(phases, counts, dealt);
        uint32_t rivals = 0;

        dealt[p] = 1;
        for (size_t r = 0; r < phases; ++r) rivals |= (uint32_t)!dealt[r] << r;
        queue->backend->label->lead(queue, extent, x, p, rivals, label, score);
        deal(comm, queue, slab, score, p, counts[p], room, label);
    }
    queue->backend->label->replace(queue, mf_slab_voxels(slab), MF_LABEL_OPEN, (uint8_t)rarest(phases, counts, dealt),
                                   label);
}

void mf_binarise(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t fields,
                 const float *x, size_t phases, const uint64_t *counts, float *score, int64_t *room, uint8_t *label)
{
    MF_ASSERT(fields == 1 ? phases == 2 : fields == phases && phases <= MF_PHASES_MAX);
    if (fields == 1)
        binarise_one(comm, queue, slab, x, counts[1], room, label);
    else
        binarise_many(comm, queue, slab, x, phases, counts, score, room, label);
}
