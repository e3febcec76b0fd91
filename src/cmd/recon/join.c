/* See join.h. */
#include "src/cmd/recon/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { SIDES = 3, LABELS_TEXT = 160 };

/* Images of one material differ by less. */
static const double PLAUSIBLE = 0.02;

static int refuse_labels(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second)
{
    char is[LABELS_TEXT] = "", other[LABELS_TEXT] = "";

    for (int p = 0; p < a->phases; ++p) mf_enumerate(is, sizeof is, "%ld", a->label[p]);
    for (int p = 0; p < b->phases; ++p) mf_enumerate(other, sizeof other, "%ld", b->label[p]);
    return mf_fail(MF_INPUT,
                   "'%s' and '%s' cannot become one target: their phases have the labels %s and %s; characterize both "
                   "with one --labels",
                   first, second, is, other);
}

static int refuse_pixels(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second)
{
    const struct mf_size one = mf_target_size(a), two = mf_target_size(b);
    char is[MF_SIZE_TEXT], other[MF_SIZE_TEXT];

    mf_size_text(&one, is);
    mf_size_text(&two, other);
    return mf_fail(MF_INPUT, "'%s' and '%s' cannot become one target: their pixels are %s and %s", first, second, is,
                   other);
}

int mf_join_alike(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second)
{
    if (a->lag != b->lag)
        return mf_fail(
            MF_INPUT, "'%s' and '%s' cannot become one target: lags %zu and %zu; characterize both with one --limit_to",
            first, second, a->lag, b->lag);
    if (a->phases != b->phases || memcmp(a->label, b->label, (size_t)a->phases * sizeof a->label[0]) != 0)
        return refuse_labels(a, b, first, second);
    if (a->periodic != b->periodic || a->seam != b->seam)
        return mf_fail(
            MF_INPUT,
            "'%s' and '%s' cannot become one target: one is periodic and the other is not, or they count Variation "
            "differently (--compat)",
            first, second);
    if (a->steepness > 0 && b->steepness > 0 && (a->threshold != b->threshold || a->steepness != b->steepness))
        return mf_fail(MF_INPUT,
                       "'%s' and '%s' cannot become one target: their soft thresholds differ (--soft_threshold, "
                       "--threshold_steepness)",
                       first, second);
    if (*a->vgg_name && *b->vgg_name && strcmp(a->vgg_name, b->vgg_name) != 0)
        return mf_fail(MF_INPUT,
                       "'%s' and '%s' cannot become one target: their VGG-19 are '%s' and '%s' (--nl_method, "
                       "--gram_weights_filename)",
                       first, second, a->vgg_name, b->vgg_name);
    return mf_target_same_pixels(a, b) ? MF_OK : refuse_pixels(a, b, first, second);
}

int mf_join_check(const struct mf_target *a, const struct mf_target *b, const char *first, const char *second)
{
    if (b->sides != 1)
        return mf_fail(MF_INPUT,
                       "'%s' cannot be one side of a target: it has three directions already (a volume, or merged "
                       "before); characterize it with --isotropic, or give descriptors of images",
                       second);
    return mf_join_alike(a, b, first, second);
}

/* The inputs have one name. */
static void join_hashes(struct mf_target *to, const struct mf_target from[SIDES])
{
    mf_hash_join(SIDES, (const char *[]){from[0].hash, from[1].hash, from[2].hash}, to->hash);
}

/* Parts that not all files have are left out. */
static void join_more(struct mf_target *to)
{
    for (int m = 0; m < MF_MORE; ++m) {
        int have = 0;

        for (int i = 0; i < SIDES; ++i) have += to->side[i].more[m] != NULL;
        if (have == 0 || have == SIDES) continue;
        mf_warn("%s is left out: not all files have it", mf_more_rows[m].name);
        for (int i = 0; i < SIDES; ++i) {
            free(to->side[i].more[m]);
            to->side[i].more[m] = NULL;
        }
    }
}

void mf_join(struct mf_target from[SIDES], const char *const file[SIDES], struct mf_target *to)
{
    int cross = 1;

    *to = from[0];
    memset(to->whole, 0, sizeof to->whole); /* files of one volume have it */
    to->look = (struct mf_target_look){0};  /* of one micrograph */
    to->sides = SIDES;
    /* rows of slices normal to y and x lie along z */
    to->spacing[0] = from[1].spacing[1] * mf_unit_factor(from[1].unit, to->unit);
    for (int i = 0; i < SIDES; ++i) {
        cross = cross && from[i].side[0].cross;
        to->masked |= from[i].masked;
        mf_target_crop_share(to, &from[i]);
        to->side[i] = from[i].side[0];
    }
    for (int i = 0; i < SIDES && !cross; ++i) {
        if (to->side[i].cross) mf_warn("cross-correlations are left out: not all files have them");
        free(to->side[i].cross);
        to->side[i].cross = NULL;
    }
    join_more(to);
    for (int i = 1; i < SIDES; ++i)
        if (*from[i].vgg_name) memcpy(to->vgg_name, from[i].vgg_name, sizeof to->vgg_name);
    for (int i = 1; i < SIDES; ++i)
        if (from[i].steepness > 0) {
            to->threshold = from[i].threshold;
            to->steepness = from[i].steepness;
        }
    join_hashes(to, from);
    snprintf(to->source, sizeof to->source, "z: %.78s, y: %.78s, x: %.78s", file[0], file[1], file[2]);
    for (int i = 0; i < SIDES; ++i) from[i].side[0] = (struct mf_target_side){0};
}

static double fraction(const struct mf_target *t, int side, int phase)
{
    return t->side[side].fraction[(size_t)phase * t->side[side].levels];
}

void mf_join_compare(const struct mf_target *t, const char *const file[SIDES])
{
    static const char *const normals[SIDES] = {"normal z", "normal y", "normal x"};
    const char *const *name = file ? file : normals;
    int low = 0, high = 0, worst = 0;

    for (int p = 0; p < t->phases; ++p)
        for (int a = 0; a < t->sides; ++a)
            for (int b = 0; b < t->sides; ++b)
                if (fraction(t, b, p) - fraction(t, a, p) > fraction(t, high, worst) - fraction(t, low, worst)) {
                    low = a;
                    high = b;
                    worst = p;
                }
    if (fraction(t, high, worst) - fraction(t, low, worst) <= PLAUSIBLE) return;
    mf_warn("'%s' and '%s' contradict each other: the volume fraction of label %ld is %.4f and %.4f; a run uses their "
            "mean, and no volume can match both",
            name[low], name[high], t->label[worst], fraction(t, low, worst), fraction(t, high, worst));
}

int mf_join_lag(const struct mf_options *options, long lag, size_t n, const char *const *files)
{
    int arrays = 0;

    for (size_t i = 0; i < n; ++i) arrays |= mf_ends_with(files[i], ".npy");
    if (lag < 0) return mf_fail(MF_USAGE, "--limit_to must be a number of lags, or 0, not %ld", lag);
    if (!arrays && mf_options_given(options, "limit_to"))
        return mf_fail(MF_USAGE, "--limit_to is for .npy files; descriptor files have fixed lags");
    return MF_OK;
}

int mf_join_load(const struct mf_comm *comm, const char *file, long lag, struct mf_target *target)
{
    if (mf_ends_with(file, ".npy")) return mf_target_import(comm, file, lag ? (size_t)lag : MF_ALL_LAGS, 1, target);
    return mf_target_load(comm, file, target);
}
