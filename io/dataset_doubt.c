/* See dataset_doubt.h. */
#include "io/dataset_doubt.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/dataset_priv.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { SHOWN = 5, TEXT = SHOWN * (MF_REAL_TEXT + 8) };

/* Some names, as a list. */
struct list {
    size_t count, used;
    char text[TEXT];
};

static void add(struct list *list, const char *name)
{
    if (list->count++ < SHOWN)
        list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s'%s'",
                                       list->count > 1 ? ", " : "", name);
    else if (list->count == SHOWN + 1)
        list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, ", ..");
}

void mf_doubt_classes(const struct mf_dataset *set)
{
    size_t *taught = MF_MUST(calloc(set->classes + 1, sizeof *taught), "a count");
    struct list none = {0};

    for (size_t k = 0; set->label && k < set->count[MF_TRAIN]; ++k) {
        const int32_t label = set->label[set->id[MF_TRAIN][k]];

        if (label >= 0) ++taught[label];
    }
    for (size_t c = 0; set->label && c < set->classes; ++c)
        if (!taught[c]) add(&none, set->class_name[c]);
    free(taught);
    if (none.count)
        mf_warn("'%s': %zu class%s no sample in the train split to learn from: %s", set->path, none.count,
                none.count == 1 ? " has" : "es have", none.text);
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

static float real_of(const struct mf_dataset *set, size_t k, size_t column)
{
    return set->real[set->id[MF_TRAIN][k] * set->reals + column];
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
