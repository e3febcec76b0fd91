/* Exact volume fractions: cuts of a distributed field by rank, and labels from cuts. */
#include <stdlib.h>
#include <string.h>

#include "src/synth/synth_priv.h"

enum { DIGIT = 16, BINS = 1 << DIGIT };

uint64_t mf_synth_key(double value)
{
    double plain = value + 0.0; /* -0 is 0 */
    uint64_t bits;

    memcpy(&bits, &plain, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Counts the digit at `shift` of those values whose higher digits are those of `key`. */
static void count_digit(size_t n, const double *value, uint64_t key, int shift, int64_t *bins)
{
    MF_ASSERT(bins);
    memset(bins, 0, BINS * sizeof *bins);
    for (size_t i = 0; i < n; ++i) {
        uint64_t k = mf_synth_key(value[i]);

        if (shift + DIGIT == 64 || k >> (shift + DIGIT) == key >> (shift + DIGIT)) ++bins[k >> shift & (BINS - 1)];
    }
}

/* Shares the values equal to the level: which of this rank lie below? Ranks hold voxels in the order of their index. */
static int share_ties(const struct mf_comm *comm, int64_t mine, int64_t below, int64_t *share)
{
    size_t *offset = malloc(((size_t)comm->size + 1) * sizeof *offset);
    void *all = NULL;
    int rc = mf_agree(comm, offset ? MF_OK : mf_fail(MF_MEMORY, "no memory to count voxels"));

    if (rc == MF_OK) rc = mf_comm_gather(comm, &mine, sizeof mine, &all, offset);
    if (rc == MF_OK) {
        for (int r = 0; r < comm->rank; ++r) below -= ((const int64_t *)all)[r];
        *share = below < 0 ? 0 : below < mine ? below : mine;
        free(all);
    }
    free(offset);
    return rc;
}

int mf_synth_level_at(const struct mf_comm *comm, size_t n, const double *value, int64_t below,
                      struct mf_synth_level *level)
{
    int64_t *bins = malloc(BINS * sizeof *bins), ties = 0;
    uint64_t key = 0;
    int rc = mf_agree(comm, bins ? MF_OK : mf_fail(MF_MEMORY, "no memory to count voxels"));

    for (int shift = 64 - DIGIT; rc == MF_OK && shift >= 0; shift -= DIGIT) {
        uint64_t digit = 0;

        count_digit(n, value, key, shift, bins);
        if (shift == 0) ties = 0;
        mf_comm_sum_int(comm, BINS, bins);
        while (digit < BINS - 1 && bins[digit] <= below) below -= bins[digit++];
        key |= digit << shift;
    }
    free(bins);
    MF_TRY(rc);
    for (size_t i = 0; i < n; ++i) ties += mf_synth_key(value[i]) == key;
    level->key = key;
    return share_ties(comm, ties, below, &level->ties_below);
}

void mf_synth_counts(const struct mf_synth *what, int64_t voxels, int64_t count[MF_PHASES_MAX])
{
    double rest[MF_PHASES_MAX] = {0}, sum = 0;
    int64_t left = voxels;

    for (int p = 0; p < what->phases; ++p) sum += what->fraction[p];
    for (int p = 0; p < what->phases; ++p) {
        double share = what->fraction[p] / sum * (double)voxels;

        count[p] = (int64_t)share;
        rest[p] = share - (double)count[p];
        left -= count[p];
    }
    while (left > 0) {
        int most = 0;

        for (int p = 1; p < what->phases; ++p)
            if (rest[p] > rest[most]) most = p;
        ++count[most];
        rest[most] -= 1;
        --left;
    }
    for (int p = what->phases - 1; left<0; p = p> 0 ? p - 1 : what->phases - 1)
        if (count[p] > 0) --count[p], ++left;
}

void mf_synth_fill(const struct mf_synth_job *job, const struct mf_synth_source *source, double *value)
{
    size_t plane = job->slab.dims[1] * job->slab.dims[2];

#pragma omp parallel for schedule(dynamic, 1) num_threads(job->threads)
    for (size_t k = 0; k < job->slab.count; ++k)
        if (mf_synth_goes_on(job)) source->plane(source->self, job->slab.first + k, value + k * plane);
}

static void label_plane(size_t n, const double *value, int phases, const double *cuts, uint8_t *phase)
{
    for (size_t i = 0; i < n; ++i) {
        int p = 0;

        for (int c = 0; c < phases - 1; ++c) p += value[i] >= cuts[c];
        phase[i] = (uint8_t)p;
    }
}

int mf_synth_label(const struct mf_synth_job *job, const struct mf_synth_source *source, const double *cuts)
{
    size_t plane = job->slab.dims[1] * job->slab.dims[2], threads = (size_t)job->threads;
    double *value = mf_arena_take(job->arena, threads * plane * sizeof *value, "synth plane");

    MF_TRY(mf_agree(job->comm, value ? MF_OK : MF_MEMORY));
#pragma omp parallel for schedule(static, 1) num_threads(job->threads)
    for (size_t t = 0; t < threads; ++t)
        for (size_t k = t; k < job->slab.count && mf_synth_goes_on(job); k += threads) {
            source->plane(source->self, job->slab.first + k, value + t * plane);
            label_plane(plane, value + t * plane, job->what->phases, cuts, job->phase + k * plane);
        }
    mf_arena_give(job->arena, value);
    return MF_OK;
}

int mf_synth_label_exact(const struct mf_synth_job *job, const double *value)
{
    size_t n = mf_slab_voxels(&job->slab);
    const size_t *dims = job->slab.dims;
    int64_t count[MF_PHASES_MAX] = {0}, below = 0;

    mf_synth_counts(job->what, (int64_t)(dims[0] * dims[1] * dims[2]), count);
    memset(job->phase, 0, n);
    for (int p = 1; p < job->what->phases; ++p) {
        struct mf_synth_level level;
        int64_t ties = 0;

        below += count[p - 1];
        MF_TRY(mf_synth_heed(job));
        MF_TRY(mf_synth_level_at(job->comm, n, value, below, &level));
        for (size_t i = 0; i < n; ++i) {
            uint64_t key = mf_synth_key(value[i]);

            if (key == level.key)
                job->phase[i] = (uint8_t)(job->phase[i] + (ties++ >= level.ties_below));
            else
                job->phase[i] = (uint8_t)(job->phase[i] + (key > level.key));
        }
    }
    return MF_OK;
}

int mf_synth_label_either(const struct mf_synth_job *job, const struct mf_synth_source *source, const double *cuts,
                          int rc)
{
    double *value = NULL;

    if (rc == MF_OK && job->what->exact) {
        value = mf_arena_take(job->arena, mf_slab_voxels(&job->slab) * sizeof *value, "synth field");
        rc = value ? MF_OK : MF_MEMORY;
    }
    rc = mf_agree(job->comm, rc);
    if (rc == MF_OK && value) {
        mf_synth_fill(job, source, value);
        rc = mf_synth_label_exact(job, value);
    } else if (rc == MF_OK)
        rc = mf_synth_label(job, source, cuts);
    mf_arena_give(job->arena, value);
    return rc;
}
