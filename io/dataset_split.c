/* Splits of a dataset. See dataset.h. */
#include "io/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "src/base/err.h"
#include "src/base/order.h"
#include "src/base/room.h"

const char *const mf_split_names[MF_SPLITS] = {"train", "validation", "test"};

/* Does item @p k of a row get one more? Then every beginning of the row has its share @p part. */
static int is_next(double part, size_t k)
{
    return floor(part * (double)(k + 1) + 0.5) > floor(part * (double)k + 0.5);
}

/* A class in the row of all samples: from @p first, before @p end. */
struct stretch {
    size_t first, end, taught; /* how many are in train */
    double due;                /* how many are so by the share */
};

static struct stretch stretch_of(const size_t *end, size_t c, const size_t *row, double part, const uint8_t *split)
{
    struct stretch s = {.first = c ? end[c - 1] : 0, .end = end[c]};

    for (size_t k = s.first; k < s.end; ++k) s.taught += split[row[k]] == MF_TRAIN;
    s.due = part * (double)(s.end - s.first);
    return s;
}

/* Gives each class of two samples or more one in train. Takes as many from classes with more than their share. Stretch
 * 0 has no class. */
static void teach_all(size_t stretches, const size_t *end, const size_t *row, double part, uint8_t *split)
{
    size_t owed = 0;

    for (size_t c = 1; part > 0 && c < stretches; ++c) {
        const struct stretch s = stretch_of(end, c, row, part, split);

        if (s.taught || s.end - s.first < 2) continue;
        split[row[s.first]] = MF_TRAIN;
        ++owed;
    }
    for (size_t c = 0; owed && c < stretches; ++c) {
        const struct stretch s = stretch_of(end, c, row, part, split);
        size_t k = s.end;

        if ((double)s.taught <= s.due || s.taught < (c ? 2 : 1)) continue;
        while (split[row[--k]] != MF_TRAIN) continue;
        split[row[k]] = MF_TEST;
        --owed;
    }
}

/* Sorts all samples by their classes, in random order within each; *end: where each class ends. */
static void sort_all(size_t n, const int32_t *label, size_t classes, uint64_t seed, size_t *end, size_t *row)
{
    for (size_t i = 0; label && i < n; ++i) ++end[label[i] + 2]; /* class 0 is at 1, -1 at 0 */
    for (size_t c = 1; label && c < classes + 2; ++c) end[c] += end[c - 1];
    for (size_t i = 0; i < n; ++i) {
        const size_t id = (size_t)mf_order(seed, 0, n, i);

        row[end[label ? label[id] + 1 : 0]++] = id;
    }
}

int mf_split_make(size_t n, const int32_t *label, size_t classes, const double part[2], uint64_t seed, uint8_t *split)
{
    const double rest = part[0] < 1 ? part[1] / (1 - part[0]) : 0;
    size_t *end, *row, others = 0;

    MF_TRY(MF_ROOM(end, classes + 2, "the splits of %zu samples", n));
    row = mf_room(n + 1, sizeof *row, "the splits of %zu samples", n);
    if (!row) {
        free(end);
        return MF_MEMORY;
    }
    sort_all(n, label, classes, seed, end, row);
    for (size_t k = 0; k < n; ++k) split[row[k]] = is_next(part[0], k) ? MF_TRAIN : MF_TEST;
    if (label) teach_all(classes + 1, end, row, part[0], split);
    for (size_t k = 0; k < n; ++k)
        if (split[row[k]] != MF_TRAIN) split[row[k]] = is_next(rest, others++) ? MF_VALIDATION : MF_TEST;
    free(end);
    free(row);
    return MF_OK;
}

void mf_dataset_limit(struct mf_dataset *set, size_t most)
{
    char text[MF_HASH_TEXT + 32];
    int cut = 0;

    for (int k = 0; k < MF_SPLITS; ++k) {
        const size_t all = set->count[k], tenth = most / 10 ? most / 10 : 1, wanted = k == MF_TRAIN ? most : tenth;

        if (all <= wanted) continue;
        for (size_t i = 0; i < wanted; ++i) set->id[k][i] = set->id[k][i * all / wanted];
        set->count[k] = wanted;
        cut = 1;
    }
    if (!cut) return;
    snprintf(text, sizeof text, "%s, at most %zu", set->hash, most);
    mf_hash_bytes(text, strlen(text), set->hash);
}
