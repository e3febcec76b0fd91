/* See job.h: level 0 of labelled fields by integer counts. */
#include <stdlib.h>
#include <string.h>

#include "kernels/slices/bits.h"
#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/desc/job.h"
#include "src/desc/phases.h"

/** Every wanted phase packed, with the planes that follow the slab. */
struct packed {
    uint64_t *memory;
    struct mf_bits field[MF_PHASES_MAX];
};

/** A binary periodic field: everything follows from the counts of phase 1. */
static int is_binary(const struct mf_job *job)
{
    return job->opts->periodic && job->micro->phases == 2 && job->out->phases == 2;
}

/** Packs @p phase into @p at and fetches the planes after the slab, if other ranks have them. */
static int pack_phase(const struct mf_job *job, uint8_t phase, size_t halo, size_t ahead, uint64_t *at,
                      struct mf_bits *field)
{
    const struct mf_slab *slab = &job->micro->slab;
    size_t ny = slab->dims[1], nx = slab->dims[2], words = (nx + 63) / 64, plane = ny * words;

    *field = (struct mf_bits){at, slab->count, halo, ny, nx, words};
    if (job->dry) return MF_OK;
    mf_bits_cpu.pack(job->queue, slab->count * ny, nx, job->micro->phase, phase, at);
    if (job->comm->size == 1) return MF_OK;
    return mf_slab_fetch(job->comm, slab, at, plane * sizeof *at, (ptrdiff_t)(slab->first + slab->count), ahead,
                         at + slab->count * plane);
}

static int pack_all(const struct mf_job *job, struct packed *packed)
{
    const struct mf_slab *slab = &job->micro->slab;
    size_t end = slab->first + slab->count, plane = slab->dims[1] * ((slab->dims[2] + 63) / 64);
    size_t halo = job->comm->size > 1 && slab->dims[0] > 1 ? job->opts->lag - 1 : 0, ahead = halo;
    size_t count = is_binary(job) ? 1 : (size_t)job->out->phases, each = (slab->count + halo) * plane;
    int first = job->first + is_binary(job);

    if (!job->opts->periodic && ahead > slab->dims[0] - end) ahead = slab->dims[0] - end;
    if (slab->count == 0) ahead = 0;
    packed->memory = mf_arena_take(job->arena, count * each * sizeof(uint64_t), "bits");
    MF_TRY(mf_agree(job->comm, packed->memory ? MF_OK : MF_MEMORY));
    for (size_t p = 0; p < count; ++p)
        MF_TRY(pack_phase(job, (uint8_t)(first + (int)p), halo, ahead, packed->memory + p * each, &packed->field[p]));
    return MF_OK;
}

/** Both fields are read once for every normal; counts are of bits, not of floats. */
static struct mf_cost counting(const struct mf_bits *a, const struct mf_bits *b, int normals)
{
    double words = (double)(a->planes + a->halo) * (double)a->ny * (double)a->words;

    return (struct mf_cost){(a == b ? 1 : 2) * (normals == 1 ? 1 : 3) * 8 * words, 0};
}

/** Counts of two fields summed over the ranks: [3][W][W]. */
static int count_pair(const struct mf_job *job, const struct mf_bits *a, const struct mf_bits *b, int64_t *count)
{
    const struct mf_slab *slab = &job->micro->slab;
    size_t lag = job->opts->lag, window = (2 * lag - 1) * (2 * lag - 1);
    int normals = job->micro->ndim == 2 ? 1 : 7;
    MF_PHASE(&mf_phase_counting);

    MF_TRY(mf_pulse_all(job->comm, "counting"));
    mf_phase_count(counting(a, b, normals));
    memset(count, 0, 3 * window * sizeof *count);
    int rc = mf_bits_cpu.count(job->queue, a, b, lag, job->opts->periodic, slab->first, slab->dims[0], normals, count);

    MF_TRY(mf_agree(job->comm, rc));
    mf_comm_sum_int(job->comm, 3 * window, count);
    return MF_OK;
}

/** Pairs of pixels with lag index @p at of the window, over all slices normal to @p normal. */
static double pairs(const struct mf_job *job, int normal, size_t at)
{
    size_t lag = job->opts->lag, width = 2 * lag - 1, nu, nv, slices;

    mf_slice_extents(job->micro->slab.dims, normal, &nu, &nv, &slices);
    if (!job->opts->periodic) {
        nu -= (size_t)labs((long)(at / width) - (long)lag + 1);
        nv -= (size_t)labs((long)(at % width) - (long)lag + 1);
    }
    return (double)nu * (double)nv * (double)slices;
}

/** Level 0 of window @p index (a phase, or a pair of phases) of every side: value = (plus + minus * count) / pairs. */
static void store(const struct mf_job *job, int cross, size_t index, double plus, double sign, const int64_t *count)
{
    size_t lag = job->opts->lag, window = (2 * lag - 1) * (2 * lag - 1);

    for (int k = 0; k < job->out->sides; ++k) {
        const struct mf_target_side *side = &job->out->side[k];
        double *to = (cross ? side->cross : side->s2) + index * side->levels * window;

        for (size_t i = 0; i < window; ++i)
            to[i] = (plus + sign * (double)count[(size_t)k * window + i]) / pairs(job, k, i);
    }
}

static void store_fraction(const struct mf_job *job, int phase, double voxels)
{
    const size_t *dims = job->micro->slab.dims;

    for (int k = 0; k < job->out->sides; ++k)
        job->out->side[k].fraction[(size_t)phase * job->out->side[k].levels] =
            voxels / ((double)dims[0] * (double)dims[1] * (double)dims[2]);
}

/** c00(r) = N - 2 c11(0) + c11(r) and c01(r) = c11(0) - c11(r). */
static int count_binary(const struct mf_job *job, const struct packed *packed, int64_t *count)
{
    size_t lag = job->opts->lag, centre = (2 * lag - 1) * (2 * lag - 1) / 2;

    MF_TRY(count_pair(job, &packed->field[0], &packed->field[0], count));
    double voxels =
        (double)job->micro->slab.dims[0] * (double)job->micro->slab.dims[1] * (double)job->micro->slab.dims[2];
    double ones = (double)count[centre];

    store(job, 0, 0, voxels - 2 * ones, 1, count);
    store(job, 0, 1, 0, 1, count);
    if (job->out->side[0].cross) store(job, 1, 0, ones, -1, count);
    store_fraction(job, 0, voxels - ones);
    store_fraction(job, 1, ones);
    return MF_OK;
}

static int count_phases(const struct mf_job *job, const struct packed *packed, int64_t *count)
{
    size_t lag = job->opts->lag, centre = (2 * lag - 1) * (2 * lag - 1) / 2, pair = 0;
    int phases = job->out->phases;

    for (int a = 0; a < phases; ++a) {
        MF_TRY(count_pair(job, &packed->field[a], &packed->field[a], count));
        store(job, 0, (size_t)a, 0, 1, count);
        store_fraction(job, a, (double)count[centre]);
    }
    for (int a = 0; job->out->side[0].cross && a < phases; ++a)
        for (int b = a + 1; b < phases; ++b, ++pair) {
            MF_TRY(count_pair(job, &packed->field[a], &packed->field[b], count));
            store(job, 1, pair, 0, 1, count);
        }
    return MF_OK;
}

/** In a dry run: what counting takes. Local. */
static int measure_counts(const struct mf_job *job, const struct packed *packed)
{
    int cross = !is_binary(job) && job->out->side[0].cross && job->out->phases > 1;
    ptrdiff_t bytes = (ptrdiff_t)mf_bits_cpu.count_bytes(job->queue, &packed->field[0], !cross, job->opts->lag,
                                                         job->micro->ndim == 2 ? 1 : 7);

    return mf_arena_book_once(job->queue->host, bytes, "bits");
}

/** The same of the jumps. Local. */
static int measure_jumps(const struct mf_job *job)
{
    ptrdiff_t plane = (ptrdiff_t)(job->micro->slab.dims[1] * job->micro->slab.dims[2]);

    return mf_arena_book_once(job->arena, plane, "jumps");
}

static int count_jumps(const struct mf_job *job)
{
    struct mf_jumps jumps[MF_PHASES_MAX];
    int phases = job->out->phases;
    MF_PHASE(&mf_phase_counting);

    MF_TRY(mf_jumps_count(job->comm, job->arena, job->micro, job->opts->periodic, job->first, phases, jumps));
    for (int p = 0; p < phases; ++p)
        for (int k = 0; k < job->out->sides; ++k)
            job->out->side[k].variation[(size_t)p * job->out->side[k].levels] =
                mf_jumps_variation(&jumps[p], job->micro->slab.dims, k, job->opts->periodic, job->opts->seam);
    return MF_OK;
}

int mf_exact(const struct mf_job *job)
{
    size_t width = 2 * job->opts->lag - 1;
    struct packed packed = {0};
    int64_t *count = mf_arena_take(job->arena, 3 * width * width * sizeof *count, "counts");
    int rc = mf_agree(job->comm, count ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) rc = pack_all(job, &packed);
    if (rc == MF_OK && job->dry)
        rc = mf_agree(job->comm, measure_counts(job, &packed));
    else if (rc == MF_OK)
        rc = (is_binary(job) ? count_binary : count_phases)(job, &packed, count);
    mf_arena_give(job->arena, packed.memory);
    mf_arena_give(job->arena, count);
    if (rc == MF_OK && job->dry) return mf_agree(job->comm, measure_jumps(job));
    return rc == MF_OK ? count_jumps(job) : rc;
}
