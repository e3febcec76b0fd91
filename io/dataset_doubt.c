/* See dataset_doubt.h. */
#include "io/dataset_doubt.h"

#include <math.h>
#include <stdlib.h>

#include "io/dataset_priv.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { NAMES = 200 /* bytes of a list of names */ };

/* Widths with a gap of SURE times are of two scales. With one of LIKELY times both sides must be GROUP images or more,
 * and each side spans less than the gap. So 12 bits beside 16 are 16 times, and some pictures are just dark. */
enum { SURE = 64, LIKELY = 8, GROUP = 3 };

void mf_doubt_classes(const struct mf_dataset *set)
{
    size_t *taught = MF_MUST(calloc(set->classes + 1, sizeof *taught), "a count");
    char names[NAMES] = "";
    size_t none = 0, only = 0;

    for (size_t k = 0; set->label && k < set->count[MF_TRAIN]; ++k) {
        const int32_t label = set->label[mf_item_sample(set, set->id[MF_TRAIN][k])];

        if (label >= 0) ++taught[label];
    }
    for (size_t c = 0; set->label && c < set->classes; ++c) {
        if (taught[c]) {
            only = c;
            continue;
        }
        mf_enumerate(names, sizeof names, "'%s'", set->class_name[c]);
        ++none;
    }
    free(taught);
    if (none)
        mf_warn("'%s': %zu class%s no sample in the train split to learn from: %s", set->path, none,
                none == 1 ? " has" : "es have", names);
    if (set->label && none + 1 == set->classes)
        mf_warn("'%s': all labels of the train split are of one class, '%s': nothing is learnt from them", set->path,
                set->class_name[only]);
}

void mf_doubt_splits(const struct mf_dataset *set)
{
    const size_t *n = set->count;

    if (set->split_given && n[MF_TRAIN] && !n[MF_TEST] && n[MF_VALIDATION] > n[MF_TRAIN])
        mf_warn("'%s': %zu sample%s to learn from, and %zu for validation; in /index/split 0 is train, 1 validation, 2 "
                "test",
                set->path, n[MF_TRAIN], MF_S(n[MF_TRAIN]), n[MF_VALIDATION]);
}

void mf_doubt_channels(const struct mf_dataset *set)
{
    for (size_t c = 0; !set->phases && set->count[MF_TRAIN] && c < set->dims[3]; ++c) {
        double mean;

        if (mf_dataset_variance(set, c, set->count[MF_TRAIN], set->id[MF_TRAIN], &mean) > 0) continue;
        mf_warn("'%s': channel %zu is %.6g in all images of the train split, to six digits; nothing is learnt from it",
                set->path, c, mean);
    }
}

/* Range of a channel's values in a sample. */
struct width {
    float width;
    uint32_t id;
};

static int by_width(const void *a, const void *b)
{
    const float x = ((const struct width *)a)->width, y = ((const struct width *)b)->width;

    return (x > y) - (x < y);
}

static const float *range_of(const struct mf_dataset *set, size_t id, size_t c)
{
    return set->where->range + (id * set->dims[3] + c) * 2;
}

/* Images that are not constant, by their widths. How many: they are in @p widths [samples]. */
static size_t sort_widths(const struct mf_dataset *set, size_t c, struct width *widths)
{
    size_t n = 0;

    for (size_t i = 0; i < set->samples; ++i) {
        const float width = range_of(set, i, c)[1] - range_of(set, i, c)[0];

        if (isfinite(width) && width > 0) widths[n++] = (struct width){width, (uint32_t)i};
    }
    qsort(widths, n, sizeof *widths, by_width);
    return n;
}

static float gap_at(const struct width *widths, size_t k) { return widths[k].width / widths[k - 1].width; }

/* How many images have the smaller of two scales; @p n: they have one. */
static size_t part_scales(size_t n, const struct width *widths)
{
    size_t at = 1;
    float gap;

    for (size_t k = 2; k < n; ++k)
        if (gap_at(widths, k) > gap_at(widths, at)) at = k;
    if (n < 2) return n;
    gap = gap_at(widths, at);
    if (gap >= SURE) return at;
    if (gap < LIKELY || at < GROUP || n - at < GROUP) return n;
    return widths[at - 1].width / widths[0].width < gap && widths[n - 1].width / widths[at].width < gap ? at : n;
}

int mf_doubt_scales(const struct mf_dataset *set)
{
    struct width *widths;

    MF_TRY(MF_ROOM(widths, set->samples + 1, "the scales of %zu samples", set->samples));
    for (size_t c = 0; !set->phases && set->where->range && c < set->dims[3]; ++c) {
        const size_t n = sort_widths(set, c, widths), k = part_scales(n, widths);
        const float *low, *high;

        if (k == n) continue;
        low = range_of(set, widths[k - 1].id, c);
        high = range_of(set, widths[k].id, c);
        mf_warn("'%s': channel %zu has two scales: %g to %g in sample %u, and %g to %g in sample %u; %zu of %zu images "
                "have the smaller one",
                set->path, c, (double)low[0], (double)low[1], (unsigned)widths[k - 1].id, (double)high[0],
                (double)high[1], (unsigned)widths[k].id, k, set->samples);
    }
    free(widths);
    return MF_OK;
}

static float real_of(const struct mf_dataset *set, size_t k, size_t column)
{
    return set->real[mf_item_sample(set, set->id[MF_TRAIN][k]) * set->reals + column];
}

void mf_doubt_reals(const struct mf_dataset *set, size_t columns, const size_t *column)
{
    for (size_t i = 0; set->count[MF_TRAIN] > 1 && i < columns; ++i) {
        const size_t c = column ? column[i] : i;
        size_t k = 1;

        while (k < set->count[MF_TRAIN] && real_of(set, k, c) == real_of(set, 0, c)) ++k;
        if (k == set->count[MF_TRAIN])
            mf_warn("'%s': '%s' is %g in all samples of the train split; nothing is learnt from it", set->path,
                    set->real_name[c], (double)real_of(set, 0, c));
    }
}
