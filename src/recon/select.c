/* See select.h. A radix selection: scores become unsigned numbers of the same order, two histograms of 2^16 bins find
 * the last number that is chosen, and ties are dealt out in global order. */
#include "src/recon/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { BINS = 1 << 16 };

static uint32_t key_of(float score)
{
    uint32_t bits;

    if (score == 0) score = 0; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Counts keys: the high halves, or the low halves of those whose high half is @p high. */
static void count_keys(size_t n, const float *score, const uint8_t *open, int64_t high, int64_t *bins)
{
    memset(bins, 0, BINS * sizeof *bins);
    for (size_t i = 0; i < n; ++i) {
        uint32_t key = key_of(score[i]);

        if (open && !open[i]) continue;
        if (high < 0)
            ++bins[key >> 16];
        else if (key >> 16 == (uint32_t)high)
            ++bins[key & 0xffff];
    }
}

/* The bin in which the @p want-th largest lies; *want becomes how many of that bin are wanted. */
static uint32_t last_bin(const int64_t *bins, uint64_t *want)
{
    uint32_t b = BINS - 1;

    while (b > 0 && (uint64_t)bins[b] < *want) *want -= (uint64_t)bins[b--];
    return b;
}

/* How many voxels of key @p last the ranks before this one hold. */
static uint64_t ties_before(const struct mf_comm *comm, uint64_t mine, int64_t *ranks)
{
    uint64_t before = 0;

    memset(ranks, 0, (size_t)comm->size * sizeof *ranks);
    ranks[comm->rank] = (int64_t)mine;
    mf_comm_sum_int(comm, (size_t)comm->size, ranks);
    for (int r = 0; r < comm->rank; ++r) before += (uint64_t)ranks[r];
    return before;
}

int mf_select_top(const struct mf_comm *comm, const struct mf_slab *slab, const float *score, const uint8_t *open,
                  uint64_t want, uint8_t *chosen)
{
    size_t n = mf_slab_voxels(slab);
    int64_t *bins = malloc((BINS + (size_t)comm->size) * sizeof *bins);
    uint32_t high, last;
    uint64_t tie, ties = 0;
    int rc = mf_agree(comm, bins ? MF_OK : mf_fail(MF_MEMORY, "no memory for a histogram"));

    if (rc != MF_OK) {
        free(bins);
        return rc;
    }
    memset(chosen, 0, n);
    if (want > 0) {
        count_keys(n, score, open, -1, bins);
        mf_comm_sum_int(comm, BINS, bins);
        high = last_bin(bins, &want);
        count_keys(n, score, open, high, bins);
        mf_comm_sum_int(comm, BINS, bins);
        last = high << 16 | last_bin(bins, &want);
        for (size_t i = 0; i < n; ++i) ties += (!open || open[i]) && key_of(score[i]) == last;
        tie = ties_before(comm, ties, bins + BINS);
        for (size_t i = 0; i < n; ++i) {
            uint32_t key = key_of(score[i]);

            if (open && !open[i]) continue;
            chosen[i] = key > last || (key == last && tie++ < want);
        }
    }
    free(bins);
    return MF_OK;
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

/* Lead of phase @p p over the best other phase that is not dealt out yet. */
static void lead(size_t n, size_t phases, const float *x, size_t p, const int *dealt, float *score)
{
    for (size_t i = 0; i < n; ++i) {
        float other = -1e30f;

        for (size_t q = 0; q < phases; ++q)
            if (q != p && !dealt[q] && x[q * n + i] > other) other = x[q * n + i];
        score[i] = x[p * n + i] - other;
    }
}

static size_t rarest(size_t phases, const uint64_t *counts, const int *dealt)
{
    size_t best = phases;

    for (size_t p = 0; p < phases; ++p)
        if (!dealt[p] && (best == phases || counts[p] < counts[best])) best = p;
    return best;
}

static int binarise_many(const struct mf_comm *comm, const struct mf_slab *slab, const float *x, size_t phases,
                         const uint64_t *counts, float *score, uint8_t *label, uint8_t *open, uint8_t *chosen)
{
    size_t n = mf_slab_voxels(slab), left = phases;
    int dealt[256] = {0};

    memset(open, 1, n);
    for (; left > 1; --left) {
        size_t p = rarest(phases, counts, dealt);

        lead(n, phases, x, p, dealt, score);
        MF_TRY(mf_select_top(comm, slab, score, open, counts[p], chosen));
        for (size_t i = 0; i < n; ++i)
            if (chosen[i]) {
                label[i] = (uint8_t)p;
                open[i] = 0;
            }
        dealt[p] = 1;
    }
    for (size_t i = 0, p = rarest(phases, counts, dealt); i < n; ++i)
        if (open[i]) label[i] = (uint8_t)p;
    return MF_OK;
}

int mf_binarise(const struct mf_comm *comm, const struct mf_slab *slab, size_t fields, const float *x, size_t phases,
                const uint64_t *counts, float *score, uint8_t *work, uint8_t *label)
{
    size_t n = mf_slab_voxels(slab);

    MF_ASSERT(fields == 1 ? phases == 2 : fields == phases);
    if (fields == 1) return mf_select_top(comm, slab, x, NULL, counts[1], label);
    return binarise_many(comm, slab, x, phases, counts, score, label, work, work + n);
}
