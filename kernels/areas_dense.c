/* See areas.h. A chunk is as many slices as share about a hundred megabytes. */
#include <string.h>

#include "kernels/areas.h"
#include "kernels/form/lineal.h"

static const size_t CHUNK_BYTES = (size_t)1 << 27;
enum { CHUNK = 65535 /* most slices: blocks along an axis of a grid */ };

static size_t pixels_of(const struct mf_slice_desc *d) { return d->nu * d->nv; }

void mf_areas_dense(const struct mf_slice_desc *d, const struct mf_dense_kind *kind, struct mf_dense_areas *a)
{
    size_t all = 0, values, each;

    memset(a, 0, sizeof *a);
    a->entries = kind->entries(d);
    a->parts = (d->levels * a->entries + MF_DENSE_PART - 1) / MF_DENSE_PART;
    for (size_t l = 0; l < d->levels; ++l) all += (d->nu >> l) * (d->nv >> l);
    values = (d->levels * a->entries + a->parts) * sizeof(double);
    each = (2 * kind->fields * all + kind->scratch(d)) * sizeof(float) + values;
    a->chunk = CHUNK_BYTES / each < d->count_max ? CHUNK_BYTES / each : d->count_max;
    if (a->chunk > CHUNK) a->chunk = CHUNK;
    if (a->chunk == 0) a->chunk = 1;
    for (size_t l = 0; l < d->levels; ++l) {
        a->from[l] = a->numbers;
        a->numbers += a->chunk * (d->nu >> l) * (d->nv >> l);
    }
    a->pixels = 2 * kind->fields * a->numbers * sizeof(float);
    a->value = a->chunk * d->levels * a->entries * sizeof(double);
    a->part = a->chunk * a->parts * sizeof(double);
    a->scratch = a->chunk * kind->scratch(d) * sizeof(float);
    a->table = kind->table ? kind->table(d) : 0;
}

/* -- lineal paths: what pixels give to products; sums of bands, or weights and slopes of the runs of one direction --
 */

static size_t entries_sharp(const struct mf_slice_desc *d) { return mf_lineal_entries(0, d->lag); }
static size_t entries_exact(const struct mf_slice_desc *d) { return mf_lineal_entries(1, d->lag); }

static size_t lineal_scratch(const struct mf_slice_desc *d)
{
    const size_t n = pixels_of(d), numbers = 2 * (size_t)MF_LINEAL_DIRECTIONS * (d->lag + 1);
    const size_t sums = (n + MF_LINEAL_BAND - 1) / MF_LINEAL_BAND * numbers * 2, slopes = numbers + d->lag * n;

    return 2 * n + (sums > slopes ? sums : slopes);
}

const struct mf_dense_kind mf_dense_lineal = {"lineal paths", 1, entries_sharp, lineal_scratch, NULL};
const struct mf_dense_kind mf_dense_lineal_exact = {"exact lineal paths", 1, entries_exact, lineal_scratch, NULL};
