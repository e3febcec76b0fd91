/* See mean.h. */
#include "src/desc/mean.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/room.h"

/** to[map] += weight from[map], each map the first @p used numbers of @p from_size or @p to_size. */
static void add(size_t maps, size_t used, double weight, size_t from_size, const double *from, size_t to_size,
                double *to)
{
    for (size_t m = 0; m < maps; ++m)
        for (size_t i = 0; i < used; ++i) to[m * to_size + i] += weight * from[m * from_size + i];
}

static double weight_of(const double *weight, size_t k, size_t count) { return weight ? weight[k] : 1 / (double)count; }

/** Room for the further descriptors that all sides have. MF_MEMORY. */
static int more_room(const struct mf_target_side *const *sides, size_t count, int phases, size_t lag,
                     struct mf_target_side *mean)
{
    for (int m = 0; m < MF_MORE; ++m) {
        int all = 1;

        for (size_t k = 0; k < count; ++k) all = all && sides[k]->more[m];
        if (all) MF_TRY(mf_target_side_more(mean, phases, lag, (enum mf_more)m));
    }
    return MF_OK;
}

/** sum += w s, of what the sum has. */
static void add_side(const struct mf_target_side *s, double w, int phases, size_t lag, struct mf_target_side *sum)
{
    const size_t levels = sum->levels, maps = (size_t)phases, window = (2 * lag - 1) * (2 * lag - 1);

    sum->nu = mf_min(sum->nu, s->nu);
    sum->nv = mf_min(sum->nv, s->nv);
    if (w > 0) sum->slices += s->slices;
    add(maps, levels * window, w, s->levels * window, s->s2, levels * window, sum->s2);
    if (sum->variation) add(maps, levels, w, s->levels, s->variation, levels, sum->variation);
    add(maps, levels, w, s->levels, s->fraction, levels, sum->fraction);
    if (sum->cross)
        add(maps * (maps - 1) / 2, levels * window, w, s->levels * window, s->cross, levels * window, sum->cross);
    for (int m = 0; m < MF_MORE; ++m) {
        const size_t each = mf_more_entries((enum mf_more)m, lag);

        if (sum->more[m])
            add(mf_more_parts((enum mf_more)m, maps), levels * each, w, s->levels * each, s->more[m], levels * each,
                sum->more[m]);
    }
}

int mf_side_mean(const struct mf_target_side *const *sides, size_t count, const double *weight, int phases, size_t lag,
                 struct mf_target_side *mean)
{
    size_t levels = MF_LEVELS_MAX;
    int cross = 1, variation = 1;

    for (size_t k = 0; k < count; ++k) {
        levels = mf_min(levels, sides[k]->levels);
        cross = cross && sides[k]->cross;
        variation = variation && sides[k]->variation;
    }
    MF_TRY(mf_target_side_new(mean, phases, levels, lag, cross));
    if (!variation) free(mean->variation);
    if (!variation) mean->variation = NULL;
    mean->nu = sides[0]->nu;
    mean->nv = sides[0]->nv;
    if (sides[0]->example) { /* no mean of images: the first is one of them */
        MF_TRY(mf_target_example_new(mean, sides[0]->example_nu, sides[0]->example_nv));
        memcpy(mean->example, sides[0]->example, mean->example_nu * mean->example_nv * sizeof *mean->example);
    }
    MF_TRY(more_room(sides, count, phases, lag, mean));
    for (size_t k = 0; k < count; ++k) add_side(sides[k], weight_of(weight, k, count), phases, lag, mean);
    return MF_OK;
}

int mf_target_isotropic(struct mf_target *target)
{
    const struct mf_target_side *sides[3] = {&target->side[0], &target->side[1], &target->side[2]};
    struct mf_target_side mean;

    if (target->sides == 1) return MF_OK;
    MF_TRY(mf_side_mean(sides, 3, NULL, target->phases, target->lag, &mean));
    for (int k = 0; k < 3; ++k) mf_target_side_free(&target->side[k]);
    target->side[0] = mean;
    target->sides = 1;
    return MF_OK;
}

/* Says why two cannot be averaged; NULL: they can. */
static const char *difference(const struct mf_target *a, const struct mf_target *b)
{
    if (a->phases != b->phases || memcmp(a->label, b->label, (size_t)a->phases * sizeof a->label[0]) != 0)
        return "labels";
    if (a->lag != b->lag) return "numbers of lags";
    if (a->sides != b->sides) return "directions";
    if (!mf_target_same_pixels(a, b)) return "pixels";
    if (strcmp(a->vgg_name, b->vgg_name) != 0) return "networks";
    if (a->threshold != b->threshold || a->steepness != b->steepness) return "soft thresholds";
    return NULL;
}

/** One of the volume as a whole, where all have it. MF_MEMORY. */
static int mean_whole(const struct mf_target *const *from, size_t count, const double *weight, enum mf_whole which,
                      struct mf_target *mean)
{
    const size_t n = mf_whole_parts(which, (size_t)mean->phases) * mf_whole_entries(which, mean->lag);

    for (size_t i = 0; i < count; ++i)
        if (!from[i]->whole[which]) return MF_OK;
    MF_TRY(mf_target_whole_new(mean, which));
    for (size_t i = 0; i < count; ++i)
        add(1, n, weight_of(weight, i, count), n, from[i]->whole[which], n, mean->whole[which]);
    return MF_OK;
}

/** Everything else is the first one's. MF_MEMORY: nothing is left. */
static int combine(const struct mf_target *const *from, size_t count, const double *weight, int sides,
                   struct mf_target *mean)
{
    const struct mf_target_side **side = mf_room(count, sizeof(*side), "the mean of %zu descriptors", count);
    struct mf_target out = *from[0];
    int rc;

    *mean = (struct mf_target){0};
    if (!side) return MF_MEMORY;
    memset(out.side, 0, sizeof out.side);
    memset(out.whole, 0, sizeof out.whole);
    out.look = (struct mf_target_look){0};
    for (size_t i = 1; i < count; ++i) mf_target_crop_share(&out, from[i]);
    out.sides = sides;
    rc = MF_OK;
    for (int k = 0; rc == MF_OK && k < MF_WHOLE; ++k) rc = mean_whole(from, count, weight, (enum mf_whole)k, &out);
    for (int k = 0; rc == MF_OK && k < sides; ++k) {
        for (size_t i = 0; i < count; ++i) side[i] = mf_target_for(from[i], (enum mf_normal)k);
        rc = mf_side_mean(side, count, weight, out.phases, out.lag, &out.side[k]);
    }
    free(side);
    if (rc != MF_OK) mf_target_free(&out);
    *mean = out;
    return rc;
}

int mf_target_mean(const struct mf_target *const *targets, size_t count, const double *weight, struct mf_target *mean)
{
    struct mf_target out;

    for (size_t i = 1; i < count; ++i) {
        const char *what = difference(targets[0], targets[i]);

        if (what)
            return mf_fail(MF_INPUT, "'%s' and '%s' cannot be averaged: their %s differ", targets[0]->source,
                           targets[i]->source, what);
    }
    MF_TRY(combine(targets, count, weight, targets[0]->sides, &out));
    *mean = out;
    return MF_OK;
}

int mf_target_add(const struct mf_target *target, double weight, struct mf_target *sum)
{
    if (sum->sides == 0) return combine(&target, 1, &weight, target->sides, sum);
    MF_ASSERT(!difference(target, sum));
    for (int k = 0; k < sum->sides; ++k) add_side(&target->side[k], weight, sum->phases, sum->lag, &sum->side[k]);
    for (int k = 0; k < MF_WHOLE; ++k) {
        const size_t n =
            mf_whole_parts((enum mf_whole)k, (size_t)sum->phases) * mf_whole_entries((enum mf_whole)k, sum->lag);

        if (sum->whole[k]) add(1, n, weight, n, target->whole[k], n, sum->whole[k]);
    }
    return MF_OK;
}

int mf_target_between(const struct mf_target *a, const struct mf_target *b, double t, struct mf_target *to)
{
    const int last = t == 1; /* an end has its own example: it goes first */
    const struct mf_target *const from[2] = {last ? b : a, last ? a : b};
    const double weight[2] = {last ? t : 1 - t, last ? 1 - t : t};

    MF_ASSERT(a->phases == b->phases && a->lag == b->lag && t >= 0 && t <= 1);
    MF_TRY(combine(from, 2, weight, a->sides > b->sides ? a->sides : b->sides, to));
    to->masked = a->masked || b->masked;
    if (!*to->vgg_name) memcpy(to->vgg_name, from[1]->vgg_name, sizeof to->vgg_name);
    if (to->steepness == 0) {
        to->threshold = from[1]->threshold;
        to->steepness = from[1]->steepness;
    }
    for (int k = 0; t > 0 && t < 1 && k < to->sides; ++k) {
        struct mf_target_side *s = &to->side[k];

        free(s->example);
        s->example = NULL;
        s->example_nu = s->example_nv = 0;
    }
    return MF_OK;
}
