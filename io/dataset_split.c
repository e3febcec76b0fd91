/* Splits of a dataset. See dataset.h. */
#include "io/dataset.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/order.h"

const char *const mf_split_names[MF_SPLITS] = {"train", "validation", "test"};

/* Does item @p k of a row get one more, so that a share @p part of every beginning of the row has it? */
static int is_next(double part, size_t k)
{
    return floor(part * (double)(k + 1) + 0.5) > floor(part * (double)k + 0.5);
}

int mf_split_make(size_t n, const int32_t *label, size_t classes, const double part[2], uint64_t seed, uint8_t *split)
{
    const double rest = part[0] < 1 ? part[1] / (1 - part[0]) : 0;
    size_t *first = calloc(classes + 2, sizeof *first), *row = calloc(n + 1, sizeof *row), others = 0;

    if (!first || !row) {
        free(first);
        free(row);
        return mf_fail(MF_MEMORY, "no memory to split %zu samples", n);
    }
    for (size_t i = 0; label && i < n; ++i) ++first[label[i] + 2]; /* class 0 is at 1, -1 at 0 */
    for (size_t c = 1; label && c < classes + 2; ++c) first[c] += first[c - 1];
    for (size_t i = 0; i < n; ++i) {
        const size_t id = (size_t)mf_order(seed, 0, n, i);

        row[first[label ? label[id] + 1 : 0]++] = id;
    }
    for (size_t k = 0; k < n; ++k)
        if (is_next(part[0], k))
            split[row[k]] = MF_TRAIN;
        else
            split[row[k]] = is_next(rest, others++) ? MF_VALIDATION : MF_TEST;
    free(first);
    free(row);
    return MF_OK;
}
