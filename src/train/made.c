/* See made.h. The list of the evaluation gives the network c_in x + c z of a sample x. With c = 0 the sample may have
 * noise already. */
#include "src/train/made.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/model/unet.h"
#include "src/train/learn_diffuse.h"
#include "src/train/train_priv.h"

struct maker {
    struct mf_scorer *m;
    const struct mf_denoise *denoise;
    size_t count; /* numbers of a sample */
    size_t levels, width;
    float *factor, *level, *condition; /* [batch], [batch][levels], [batch][width] */
    float *memory;                     /* samples [batch][count], and mf_sample()'s room */
    void *x;                           /* one sample as in the dataset */
};

static void put(const struct maker *k, const char *name, const float *from, size_t each)
{
    const struct mf_scorer *m = k->m;
    const int value = mf_network_input(m->network, name);

    m->queue->backend->put(m->queue, mf_walk_at(m->walk, m->network->evaluate.list, value), from,
                           m->batch * each * sizeof *from);
}

static void put_factors(const struct maker *k, const char *name, double factor)
{
    for (size_t r = 0; r < k->m->batch; ++r) k->factor[r] = (float)factor;
    put(k, name, k->factor, 1);
    k->m->queue->backend->sync(k->m->queue);
}

static int is_finite(size_t n, const float *x)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(x[i])) return 0;
    return 1;
}

static int remove_noise(void *context, size_t n, double sigma, const float *x, float *clean)
{
    const struct maker *k = context;
    const struct mf_scorer *m = k->m;
    const struct mf_noise_level l = mf_noise_level(sigma);

    MF_TRY(mf_pulse_all(m->comm, "noise levels"));
    for (size_t r = 0; r < n; ++r) mf_unet_noise(l.embedded, k->levels, k->level + r * k->levels);
    put_factors(k, MF_DENOISE_IN_X, l.in);
    put_factors(k, MF_DENOISE_IN_NOISE, 0);
    put(k, MF_DENOISE_X, x, k->count);
    put(k, MF_DENOISE_LEVEL, k->level, k->levels);
    if (k->width) put(k, MF_DENOISE_CONDITION, k->condition, k->width);
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)n;
    mf_walk_run(m->walk, m->network->evaluate.list);
    m->queue->backend->get(m->queue, clean, mf_walk_at(m->walk, m->network->evaluate.list, m->network->head[0].output),
                           n * k->count * sizeof *clean);
    m->queue->backend->sync(m->queue);
    mf_denoise_estimate(&l, n * k->count, x, clean);
    return MF_OK; /* in stage 3 other ranks wait in the next look */
}

static size_t each_of(const struct mf_scorer *m, const char *name)
{
    for (size_t k = 0; k < m->network->inputs; ++k)
        if (strcmp(m->network->input[k].of.name, name) == 0)
            return mf_shape_count(&m->network->input[k].of.shape) / m->batch;
    return 0;
}

/* Local. */
static int maker_open(struct mf_scorer *m, struct maker *k)
{
    *k = (struct maker){.m = m, .denoise = mf_task_denoiser(m->task), .count = each_of(m, MF_DENOISE_X)};
    k->levels = each_of(m, MF_DENOISE_LEVEL);
    k->width = each_of(m, MF_DENOISE_CONDITION);
    MF_TRY(MF_ROOM(k->factor, m->batch, "samples that are made"));
    MF_TRY(MF_ROOM(k->level, m->batch * k->levels, "samples that are made"));
    MF_TRY(MF_ROOM(k->condition, m->batch * k->width, "samples that are made"));
    MF_TRY(MF_ROOM(k->memory, 4 * m->batch * k->count, "samples that are made"));
    k->x = mf_room(k->count, sizeof(float), "a sample that is made");
    return k->x ? MF_OK : MF_MEMORY;
}

static void maker_free(struct maker *k)
{
    free(k->factor);
    free(k->level);
    free(k->condition);
    free(k->memory);
    free(k->x);
}

static void draw_conditions(const struct maker *k, uint64_t seed, size_t first)
{
    const struct mf_denoise *d = k->denoise;
    float *value = MF_MUST(calloc(d->columns + 1, sizeof *value), "a condition");

    for (size_t r = 0; k->width && r < k->m->batch; ++r) {
        const int32_t label = mf_denoise_draw(d, seed, first + r, -1, value);

        mf_denoise_condition(d, label, value, k->condition + r * k->width);
    }
    free(value);
}

/* As it is in the dataset, into k->x. */
static int make_sample(const struct maker *k, const float *x)
{
    const struct mf_dataset *set = k->m->set;
    const size_t voxels = k->count / set->inputs;

    if (set->phases) return mf_denoise_phases(set->phases, k->denoise->start > 0, voxels, x, (uint8_t *)k->x);
    mf_denoise_values(voxels, set->inputs, set->mean, set->deviation, x, k->x);
    return MF_OK;
}

/* All rows of a batch are made, since the network computes them in every case. */
static int make_batch(struct maker *k, const struct mf_sampling *how, size_t first, size_t samples,
                      int (*take)(void *context, size_t sample, const void *x), void *context)
{
    const struct mf_denoiser by = {k, k->count, remove_noise};
    const size_t batch = k->m->batch;

    draw_conditions(k, how->seed, first);
    MF_TRY(mf_sample(&by, how, first, batch, k->memory, k->memory + batch * k->count));
    if (first < samples && !is_finite(batch * k->count, k->memory))
        return mf_fail(MF_NUMERIC, "a sample that the network makes is not finite; try: --made-samples 0, or a smaller "
                                   "--learning-rate");
    for (size_t r = 0; r < batch && first + r < samples; ++r) {
        MF_TRY(make_sample(k, k->memory + r * k->count));
        MF_TRY(take(context, first + r, k->x));
    }
    return MF_OK;
}

/* In stage 3 every pass gathers weights, so all ranks make as many. */
int mf_made_samples(struct mf_scorer *m, const struct mf_sampling *how, size_t samples,
                    int (*take)(void *context, size_t sample, const void *x), void *context)
{
    const size_t ranks = (size_t)m->comm->size, batches = (samples + m->batch - 1) / m->batch;
    struct maker k;
    double kept[MF_NUMBERS];
    int rc = mf_agree(m->comm, maker_open(m, &k));

    memcpy(kept, mf_walk_numbers(m->walk), sizeof kept);
    for (size_t b = 0; rc == MF_OK && b < batches; b += ranks)
        rc = mf_agree(m->comm, make_batch(&k, how, (b + (size_t)m->comm->rank) * m->batch, samples, take, context));
    memcpy(mf_walk_numbers(m->walk), kept, sizeof kept);
    maker_free(&k);
    return rc;
}
