/* See areas.h. */
#include "kernels/slices/areas.h"

#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

enum { MOST = 1 << 14, NUMBER = 2 * (int)sizeof(float) };
static const size_t CHUNK_BYTES = (size_t)1 << 24;  /* about what total() holds of values */
static const size_t PIXELS_BYTES = (size_t)1 << 25; /* of slices whose levels are held at a time */
static const size_t LINES_BYTES = (size_t)1 << 29;  /* about what S2 holds of spectra and sums */

size_t mf_gpu_shared(int capability)
{
    static const struct {
        int from; /* this capability and those above it */
        size_t kib;
    } rows[] = {{120, 99}, {90, 227}, {89, 99}, {87, 163}, {86, 99}, {80, 163}, {0, 99}};
    size_t i = 0;

    while (capability < rows[i].from) ++i;
    return rows[i].kib << 10;
}

int mf_line_radices(int n, int radix[MF_LINE_STAGES], int *stages)
{
    static const int kinds[] = {8, 4, 2, 3, 5};
    int left = n, k = 0;

    *stages = 0;
    while (left > 1 && k < 5 && *stages < MF_LINE_STAGES)
        if (left % kinds[k] || (kinds[k] == 8 && left % 16 == 0 && left / 16 % 2)) /* 16 is 4 times 4, not 8 times 2 */
            ++k;
        else
            left /= radix[(*stages)++] = kinds[k];
    return left == 1;
}

/* ---- S2 ---- */

enum { POINTS = 2048, FEWEST = 3, ROWS = 16 }; /* points and 2^FEWEST pairs of a block at least; rows of a chunk */

/* A block transforms about 2048 points, and 8 pairs of rows at least: slices side by side are read 8 at a time. Behind
 * them are two sums of jumps of each pair. */
static size_t shared_of(struct mf_corr_area *at, size_t limit)
{
    const size_t line = (size_t)mf_line_pitch(at->mv) * NUMBER + 2 * sizeof(long long);

    while (at->shift < 7 && (at->shift < FEWEST || at->mv << (at->shift + 1) <= POINTS)) ++at->shift;
    while (at->shift > 0 && line << at->shift > limit) --at->shift;
    return line << at->shift;
}

/* A block compares some rows of the window of a slice: sums, twiddles, partial sums. */
static size_t window_of(const struct mf_corr_area *at, size_t lag)
{
    const size_t twiddles = at->mv > MF_CORR_TWIDDLES ? 0 : (size_t)mf_line_pad(at->mv);
    const size_t parts = mf_max(MF_CORR_TILE * MF_CORR_THREADS, MF_CORR_ROWS * lag);

    return MF_CORR_THREADS * sizeof(double) + (MF_CORR_ROWS * (MF_CORR_PART | 1) + twiddles + parts) * NUMBER;
}

/* Points of a line. Transforms know the factors 2, 3 and 5. A periodic line with others is continued by L - 1 pixels at
 * both ends. */
static size_t line_of(const struct mf_slice_desc *d, size_t nv)
{
    int radix[MF_LINE_STAGES], stages;

    if (!d->periodic) return mf_cheap_extent(nv + d->lag - 1);
    return mf_line_radices((int)nv, radix, &stages) ? nv : mf_cheap_extent(nv + 2 * (d->lag - 1));
}

/* Rows are cut by the extent of a slice alone, so that its bits depend on nothing else. */
static int lay_level(const struct mf_slice_desc *d, size_t l, size_t shared, struct mf_corr_area *at)
{
    const size_t nu = d->nu >> l, nv = d->nv >> l;

    if (nu > MOST || nv > MOST)
        return mf_fail(MF_USAGE, "S2: a slice of %zu x %zu pixels is too large for the cuda back end (%d)", nu, nv,
                       MOST);
    at->nu = (int)nu;
    at->nv = (int)nv;
    at->mv = (int)line_of(d, nv);
    at->bins = at->mv / 2 + 1;
    at->shared = shared_of(at, shared);
    at->window = window_of(at, d->lag);
    if (at->shared > shared || at->window > shared)
        return mf_fail(MF_USAGE,
                       "S2: lines of %d pixels with lags up to %zu need %zu KiB of shared memory, and a block of this "
                       "GPU has %zu; try: --device cpu",
                       at->mv, d->lag - 1, mf_max(at->shared, at->window) >> 10, shared >> 10);
    at->chunk = (at->nu + 3) / 4;
    if (at->chunk < ROWS) at->chunk = ROWS;
    at->chunks = (at->nu + at->chunk - 1) / at->chunk;
    at->tables = (size_t)at->mv * (NUMBER + sizeof(int));
    return MF_OK;
}

/* Numbers of a slice: spectra of x and of the gradient, sums of products. */
static size_t numbers_of(const struct mf_corr_areas *a, const struct mf_corr_area *at)
{
    return (size_t)at->bins * (2 * (size_t)at->nu + (size_t)at->chunks * (size_t)(a->depth * a->groups));
}

/* How many slices at a time, and where the levels are. */
static void share_lines(const struct mf_slice_desc *d, struct mf_corr_areas *a)
{
    size_t each = 0;

    for (size_t l = d->first; l < d->levels; ++l) each += numbers_of(a, &a->level[l]);
    a->slices = (d->count_max + d->count_max % 2) * (d->calls ? d->calls : 1);
    if (a->slices > LINES_BYTES / (each * NUMBER)) a->slices = LINES_BYTES / (each * NUMBER) / 2 * 2;
    if (a->slices < 2) a->slices = 2;
    for (size_t l = d->first, from = 0; l < d->levels; ++l) {
        a->level[l].from = from;
        a->level[l].jumps = a->jumps;
        from += a->slices * numbers_of(a, &a->level[l]);
        a->jumps += a->slices * (size_t)(a->level[l].nu + 1) / 2 * 2;
    }
    a->jumps *= sizeof(long long);
    a->slope = d->levels * a->slices * (NUMBER + sizeof(double));
    a->lines = a->slices * each * NUMBER;
}

int mf_areas_corr(const struct mf_slice_desc *d, size_t shared, struct mf_corr_areas *a)
{
    size_t each;

    memset(a, 0, sizeof *a);
    MF_ASSERT(d->lag > 0 && d->first < d->levels && d->levels <= MF_PYRAMID_MAX);
    for (size_t l = 0; l < d->levels; ++l) MF_TRY(mf_slices_check_lag(d, l));
    for (size_t l = d->first; l < d->levels; ++l) MF_TRY(lay_level(d, l, shared, &a->level[l]));
    a->entries = mf_entries_window(d);
    a->depth = d->lag <= 8 ? 8 : d->lag <= 16 ? 16 : MF_CORR_DEPTH;
    a->groups = (int)((d->lag - 1) / (size_t)a->depth + 1);
    a->blocks = (d->lag - 1) / MF_CORR_ROWS + 1;
    share_lines(d, a);
    each = a->entries * d->levels * sizeof(float);
    a->chunk = CHUNK_BYTES / each / 2 * 2;
    if (a->chunk > d->count_max) a->chunk = d->count_max + d->count_max % 2;
    if (a->chunk < 2) a->chunk = 2;
    a->values = a->chunk * each;
    a->loss = d->levels * a->blocks * a->slices * sizeof(double);
    return MF_OK;
}

/* ---- pyramids, single numbers ---- */

void mf_areas_pyramid(const struct mf_slice_desc *d, size_t slices, struct mf_pyramid_areas *areas)
{
    size_t numbers = 0;

    memset(areas, 0, sizeof *areas);
    for (size_t l = 0; l < d->levels; ++l) {
        areas->nu[l] = d->nu >> l;
        areas->nv[l] = d->nv >> l;
        areas->from[l] = numbers;
        if (l > 0) numbers += slices * areas->nu[l] * areas->nv[l];
    }
    areas->bytes = numbers * sizeof(float);
}

void mf_areas_single(const struct mf_slice_desc *d, int pooled, struct mf_single_areas *areas)
{
    const size_t pixels = d->nu * d->nv, band = mf_single_band(pixels), room = PIXELS_BYTES / (pixels * sizeof(float));

    areas->slices = d->count_max;
    if (pooled && d->levels > 1 && areas->slices > room) areas->slices = room ? room : 1;
    areas->bands = (pixels + band - 1) / band;
    areas->slope = d->levels * areas->slices * sizeof(double);
    areas->part = areas->slope * areas->bands;
}

/* ---- S2 in space ---- */

void mf_areas_space(const struct mf_space_desc *d, struct mf_space_areas *a)
{
    a->entries = d->lag * (2 * d->lag - 1) * (2 * d->lag - 1);
    a->part = MF_SPACE_BATCH * a->entries * sizeof(double);
    a->sum = a->entries * sizeof(double);
    a->weight = (d->pairs ? (2 * d->lag - 1) * (2 * d->lag - 1) * (2 * d->lag - 1) : a->entries) * sizeof(float);
}
