/* See areas.h. */
#include "kernels/slices/areas.h"

#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

enum { MOST = 1 << 14, NUMBER = 2 * (int)sizeof(float) };
static const size_t CHUNK_BYTES = (size_t)1 << 24; /* about what total() holds of values */
static const size_t LINES_BYTES = (size_t)1 << 28; /* about what lines hold of spectra and sums */

struct mf_gpu_limits mf_gpu_limits_of(int capability)
{
    static const struct {
        int from; /* this capability and those above it */
        size_t shared_kib, cache_mib;
    } rows[] = {{120, 99, 12}, {90, 227, 32}, {89, 99, 12}, {87, 163, 2}, {86, 99, 2}, {80, 163, 32}, {0, 99, 2}};
    size_t i = 0;

    while (capability < rows[i].from) ++i;
    return (struct mf_gpu_limits){rows[i].shared_kib << 10, rows[i].cache_mib << 20};
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

static int extents(const struct mf_slice_desc *d, size_t l, struct mf_corr_area *at)
{
    const size_t nu = d->nu >> l, nv = d->nv >> l;

    MF_TRY(mf_slices_check_lag(d, l));
    if (l >= d->first && (nu > MOST || nv > MOST))
        return mf_fail(MF_USAGE, "S2: a slice of %zu x %zu pixels is too large for the cuda back end (%d)", nu, nv,
                       MOST);
    at->nu = at->mu = (int)nu;
    at->nv = at->mv = (int)nv;
    if (d->periodic) return MF_OK;
    at->mu = (int)mf_cheap_extent(nu + d->lag - 1);
    at->mv = (int)mf_cheap_extent(nv + d->lag - 1);
    return MF_OK;
}

/* -- engine `lines` -- */

enum { POINTS = 2048, FEWEST = 3, ROWS = 16, THREADS = 256, TILE = 4 }; /* of kernels/cuda/slices/corr_lines.cu */

/* A block transforms about 2048 points, and 8 pairs of rows at least: slices side by side are read 8 at a time. */
static size_t shared_of(struct mf_corr_area *at, size_t limit)
{
    const size_t line = (size_t)mf_line_pitch(at->mv) * NUMBER;

    while (at->shift < 7 && (at->shift < FEWEST || at->mv << (at->shift + 1) <= POINTS)) ++at->shift;
    while (at->shift > 0 && line << at->shift > limit) --at->shift;
    return line << at->shift;
}

/* One block does the window of a slice: sums [L][bins], twiddles, partial sums, slopes. */
static size_t window_of(const struct mf_corr_area *at, size_t lag)
{
    const size_t sums = lag * ((size_t)at->bins | 1), turns = (size_t)mf_line_pad(at->mv);

    return THREADS * sizeof(double) + (sums + turns + TILE * THREADS + lag * lag) * NUMBER;
}

/* Transforms know the factors 2, 3 and 5. A periodic line with others is continued by L - 1 pixels at both ends. */
static int line_extent(const struct mf_slice_desc *d, const struct mf_corr_area *at)
{
    int radix[MF_LINE_STAGES], stages;

    return mf_line_radices(at->mv, radix, &stages) ? at->mv : (int)mf_cheap_extent((size_t)at->mv + 2 * (d->lag - 1));
}

/* Lines serve lags that fit into registers, and extents whose transforms and windows fit into shared memory. */
static int lines_serve(const struct mf_slice_desc *d, struct mf_gpu_limits limits, struct mf_corr_area *at)
{
    struct mf_corr_area own = *at;

    if (d->lag > MF_CORR_DEPTH) return 0;
    own.mv = line_extent(d, at);
    own.bins = own.mv / 2 + 1;
    own.shared = shared_of(&own, limits.shared);
    own.window = window_of(&own, d->lag);
    if (own.shared > limits.shared || own.window > limits.shared) return 0;
    *at = own;
    return 1;
}

/* Numbers of a slice: spectra of x and of the gradient, sums of products. */
static size_t lines_numbers(const struct mf_corr_areas *a, const struct mf_corr_area *at)
{
    return (size_t)at->bins * (2 * (size_t)at->nu + (size_t)at->chunks * (size_t)a->depth);
}

/* Rows are cut by the extent of a slice alone, so that its bits depend on nothing else. */
static void lay_lines(struct mf_corr_area *at)
{
    at->lines = 1;
    at->mu = at->nu;
    at->chunk = (at->nu + 3) / 4;
    if (at->chunk < ROWS) at->chunk = ROWS;
    at->chunks = (at->nu + at->chunk - 1) / at->chunk;
    at->tables = (size_t)at->mv * (NUMBER + sizeof(int));
}

/* How many slices at a time, and where the levels are. */
static void share_lines(const struct mf_slice_desc *d, struct mf_corr_areas *a)
{
    size_t each = 0;

    a->slices = d->count_max + d->count_max % 2;
    for (size_t l = d->first; l < d->levels; ++l)
        if (a->level[l].lines) each += lines_numbers(a, &a->level[l]);
    if (each && a->slices > LINES_BYTES / (each * NUMBER)) a->slices = LINES_BYTES / (each * NUMBER) / 2 * 2;
    if (a->slices < 2) a->slices = 2;
    for (size_t l = d->first, from = 0; l < d->levels; ++l) {
        a->level[l].from = from;
        if (a->level[l].lines) from += a->slices * lines_numbers(a, &a->level[l]);
    }
    a->lines = a->slices * each * NUMBER;
}

/* -- engine `cufft` -- */

static size_t numbers_of(const struct mf_corr_area *at) { return (size_t)at->mu * (size_t)at->mv; }

static int largest_prime(int n)
{
    int prime = 1;

    for (int p = 2; p * p <= n; ++p)
        for (; n % p == 0; n /= p) prime = p;
    return n > 1 ? n : prime;
}

/* cuFFT's kernels for factors up to 127 need a second array as large as the transforms. Bluestein's method for larger
 * factors uses extents of up to four times as much. */
static size_t cufft_bytes(const struct mf_corr_area *at)
{
    const size_t bytes = at->batch * numbers_of(at) * NUMBER;

    return largest_prime(at->mu) > 127 || largest_prime(at->mv) > 127 ? 4 * bytes : bytes;
}

static void engine(const struct mf_slice_desc *d, int deterministic, struct mf_gpu_limits limits,
                   struct mf_corr_area *at)
{
    const size_t bytes = numbers_of(at) * NUMBER, most = d->count_max;
    size_t room;

    if (lines_serve(d, limits, at)) {
        lay_lines(at);
        return;
    }
    MF_ASSERT(bytes > 0);
    room = limits.cache / (2 * bytes);
    if (room == 0) room = 1;
    at->batch = room < most || deterministic ? room : most ? most : 1;
    at->work = cufft_bytes(at);
}

/* Levels by cuFFT come one after the other, so they share their arrays. */
static void share(const struct mf_slice_desc *d, struct mf_corr_areas *a)
{
    const size_t each = a->entries * d->levels * sizeof(float);
    size_t windows = 0;

    for (size_t l = d->first; l < d->levels; ++l) {
        const struct mf_corr_area *at = &a->level[l];

        a->numbers = mf_max(a->numbers, at->batch * numbers_of(at));
        a->work = mf_max(a->work, at->work);
        windows = mf_max(windows, at->batch);
    }
    a->chunk = CHUNK_BYTES / each / 2 * 2;
    if (a->chunk > d->count_max) a->chunk = d->count_max + d->count_max % 2;
    if (a->chunk < 2) a->chunk = 2;
    a->loss = d->levels * d->count_max * sizeof(double);
    a->values = a->chunk * each;
    a->spectrum = 2 * a->numbers * NUMBER;
    a->window = windows * a->entries * NUMBER;
}

int mf_areas_corr(const struct mf_slice_desc *d, int deterministic, struct mf_gpu_limits limits,
                  struct mf_corr_areas *areas)
{
    memset(areas, 0, sizeof *areas);
    MF_ASSERT(d->lag > 0 && d->first < d->levels && d->levels <= MF_PYRAMID_MAX);
    areas->entries = (2 * d->lag - 1) * (2 * d->lag - 1);
    for (size_t l = 0; l < d->levels; ++l) MF_TRY(extents(d, l, &areas->level[l]));
    areas->depth = d->lag <= 8 ? 8 : d->lag <= 16 ? 16 : MF_CORR_DEPTH;
    for (size_t l = d->first; l < d->levels; ++l) engine(d, deterministic || d->steady, limits, &areas->level[l]);
    share_lines(d, areas);
    share(d, areas);
    return MF_OK;
}

/* ---- pyramids, single numbers ---- */

void mf_areas_pyramid(const struct mf_slice_desc *d, size_t fields, struct mf_pyramid_areas *areas)
{
    memset(areas, 0, sizeof *areas);
    for (size_t l = 0; l < d->levels; ++l) {
        areas->nu[l] = d->nu >> l;
        areas->nv[l] = d->nv >> l;
        areas->from[l] = areas->numbers;
        if (l > 0) areas->numbers += d->count_max * areas->nu[l] * areas->nv[l];
    }
    areas->x = fields * areas->numbers * sizeof(float);
    areas->g = areas->numbers * sizeof(float);
}

void mf_areas_single(const struct mf_slice_desc *d, struct mf_single_areas *areas)
{
    const size_t pixels = d->nu * d->nv, band = mf_single_band(pixels);

    areas->bands = (pixels + band - 1) / band;
    areas->slope = d->levels * d->count_max * sizeof(double);
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
