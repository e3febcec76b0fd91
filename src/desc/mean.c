/* See mean.h. */
#include "src/desc/mean.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/** to[map] += from[map] / count, each map the first @p used numbers of @p from_size or @p to_size. */
static void add(size_t maps, size_t used, double count, size_t from_size, const double *from, size_t to_size,
                double *to)
{
    for (size_t m = 0; m < maps; ++m)
        for (size_t i = 0; i < used; ++i) to[m * to_size + i] += from[m * from_size + i] / count;
}

/** The further descriptors that all sides have. MF_MEMORY. */
static int add_more(const struct mf_target_side *const *sides, size_t count, int phases, size_t lag,
                    struct mf_target_side *mean)
{
    for (int m = 0; m < MF_MORE; ++m) {
        size_t each = mf_more_entries((enum mf_more)m, lag);
        int all = 1;

        for (size_t k = 0; k < count; ++k) all = all && sides[k]->more[m];
        if (!all) continue;
        MF_TRY(mf_target_side_more(mean, phases, lag, (enum mf_more)m));
        for (size_t k = 0; k < count; ++k)
            add((size_t)phases, mean->levels * each, (double)count, sides[k]->levels * each, sides[k]->more[m],
                mean->levels * each, mean->more[m]);
    }
    return MF_OK;
}

int mf_side_mean(const struct mf_target_side *const *sides, size_t count, int phases, size_t lag,
                 struct mf_target_side *mean)
{
    size_t levels = MF_LEVELS_MAX, maps = (size_t)phases, window = (2 * lag - 1) * (2 * lag - 1);
    int cross = 1;

    for (size_t k = 0; k < count; ++k) {
        levels = least(levels, sides[k]->levels);
        cross = cross && sides[k]->cross;
    }
    MF_TRY(mf_target_side_new(mean, phases, levels, lag, cross));
    mean->nu = sides[0]->nu;
    mean->nv = sides[0]->nv;
    if (sides[0]->example) { /* no mean of images: the first is one of them */
        MF_TRY(mf_target_example_new(mean, sides[0]->example_nu, sides[0]->example_nv));
        memcpy(mean->example, sides[0]->example, mean->example_nu * mean->example_nv * sizeof *mean->example);
    }
    for (size_t k = 0; k < count; ++k) {
        const struct mf_target_side *s = sides[k];
        double n = (double)count;

        mean->nu = least(mean->nu, s->nu);
        mean->nv = least(mean->nv, s->nv);
        mean->slices += s->slices;
        add(maps, levels * window, n, s->levels * window, s->s2, levels * window, mean->s2);
        add(maps, levels, n, s->levels, s->variation, levels, mean->variation);
        add(maps, levels, n, s->levels, s->fraction, levels, mean->fraction);
        if (mean->cross)
            add(maps * (maps - 1) / 2, levels * window, n, s->levels * window, s->cross, levels * window, mean->cross);
    }
    return add_more(sides, count, phases, lag, mean);
}

int mf_target_isotropic(struct mf_target *target)
{
    const struct mf_target_side *sides[3] = {&target->side[0], &target->side[1], &target->side[2]};
    struct mf_target_side mean;

    if (target->sides == 1) return MF_OK;
    MF_TRY(mf_side_mean(sides, 3, target->phases, target->lag, &mean));
    for (int k = 0; k < 3; ++k) mf_target_side_free(&target->side[k]);
    target->side[0] = mean;
    target->sides = 1;
    return MF_OK;
}

static int alike(const struct mf_target *a, const struct mf_target *b)
{
    return a->threshold == b->threshold && a->steepness == b->steepness && a->phases == b->phases && a->lag == b->lag &&
           a->sides == b->sides && memcmp(a->label, b->label, (size_t)a->phases * sizeof a->label[0]) == 0;
}

/** S2_3D, where all have it. MF_MEMORY. */
static int mean_space(const struct mf_target *targets, size_t count, struct mf_target *mean)
{
    size_t width = 2 * mean->lag - 1, n = (size_t)mean->phases * mean->lag * width * width;

    for (size_t i = 0; i < count; ++i)
        if (!targets[i].space) return MF_OK;
    MF_TRY(mf_target_space_new(mean));
    for (size_t i = 0; i < count; ++i) add(1, n, (double)count, n, targets[i].space, n, mean->space);
    return MF_OK;
}

int mf_target_mean(const struct mf_target *targets, size_t count, struct mf_target *mean)
{
    const struct mf_target_side **sides;
    struct mf_target out = targets[0];
    int rc;

    for (size_t i = 1; i < count; ++i)
        if (!alike(&targets[0], &targets[i]))
            return mf_fail(MF_INPUT, "'%s' and '%s' cannot be averaged: their labels, lags or directions differ",
                           targets[0].source, targets[i].source);
    sides = malloc(count * sizeof(*sides));
    if (!sides) return mf_fail(MF_MEMORY, "no memory for the mean of %zu descriptors", count);
    memset(out.side, 0, sizeof out.side);
    out.space = NULL;
    rc = mean_space(targets, count, &out);
    for (int k = 0; rc == MF_OK && k < out.sides; ++k) {
        for (size_t i = 0; i < count; ++i) sides[i] = &targets[i].side[k];
        rc = mf_side_mean(sides, count, out.phases, out.lag, &out.side[k]);
    }
    free(sides);
    if (rc == MF_OK)
        *mean = out;
    else
        mf_target_free(&out);
    return rc;
}
