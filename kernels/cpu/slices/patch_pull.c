/* See patch.h. Sums the neighbours' pixels at the pixels of a slice. Every pixel has one order of summation,
 * independent of vectors and threads. First come the patches that contain it, from the nearest first pixel on. Then
 * come the example's patches in the order of their slots. Each thread has some rows of the slice. */
#include <string.h>

#include "kernels/cpu/slices/patch.h"
#include "src/base/cut.h"

#define ALWAYS static inline __attribute__((always_inline))

enum { SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS };

size_t mf_patch_pull_room(const struct mf_patch_image *slice, int threads)
{
    return slice->slots + (size_t)threads * SIDE * (slice->nv + SIDE);
}

/* Where the patches of neighbours begin in a phase of the example. */
static void find_places(const struct mf_patch_image *slice, const struct mf_patch_image *example, const int32_t *row,
                        int32_t *place)
{
    const uint32_t wide = (uint32_t)example->row;

    for (size_t s = 0; s < slice->slots; ++s) {
        const uint32_t q = s % slice->row < slice->pv ? (uint32_t)row[s] : 0;

        place[s] = (int32_t)(q / wide * (uint32_t)example->wide + q % wide);
    }
}

/* Rows of the patches at @p place as the slice's pixels see them. Pixel v has to[j * apart + v] from the patch whose
 * pixel j it is. */
static void bring_row(const struct mf_patch_image *slice, const float *x, const int32_t *place, float *to, size_t apart)
{
    for (size_t v = 0; v < slice->pv; ++v)
        for (size_t j = 0; j < SIDE; ++j) to[j * apart + v + j] = x[(size_t)place[v] + j];
    for (size_t j = 1; slice->periodic && j < SIDE; ++j)
        memcpy(to + j * apart, to + j * apart + slice->nv, j * sizeof *to);
}

ALWAYS void add_run(size_t n, const float *weight, size_t step, const float *x, float *one, float *two)
{
#pragma omp simd
    for (size_t v = 0; v < n; ++v) {
        const float w = weight[v * step];

        one[v] += w * x[v];
        two[v] += w * x[v] * x[v];
    }
}

/* Adds the pull on the pixels of row u. It comes from the patches that begin in row pu and contain row u = pu + i. */
MF_CPU_FAST static void add_row(const struct mf_patch_image *slice, const float *weight, const float *from,
                                size_t apart, float *one, float *two)
{
    for (size_t j = 0; j < SIDE; ++j) {
        const size_t first = slice->periodic ? 0 : j, n = slice->pv;

        add_run(n, weight + j, 0, from + j * apart + first, one + first, two + first);
    }
}

static void add_weights(const struct mf_patch_image *slice, const float *weight, float *sums)
{
    for (size_t j = 0; j < SIDE; ++j) {
        const size_t first = slice->periodic ? 0 : j;

        for (size_t v = first; v < first + slice->pv; ++v) sums[v] += weight[j];
    }
}

/* A slice's patches pulled to their neighbours: the pixels of row u. */
static void pull_row(const struct mf_patch_level *is, const float *example, const int32_t *place, const float *weight,
                     size_t u, float *work, float *sums)
{
    const struct mf_patch_image *s = &is->slice, *e = &is->example;
    const size_t apart = s->nv + SIDE;

    for (size_t i = 0; i < SIDE; ++i) {
        const size_t pu = u >= i ? u - i : u + s->nu - i;

        if (pu >= s->pu) continue;
        add_weights(s, weight + i * SIDE, sums + u * s->nv);
        for (size_t f = 0; f < e->phases; ++f) {
            float *one = sums + (1 + 2 * f) * is->pixels + u * s->nv;

            bring_row(s, example + (f * e->high + i) * e->wide, place + pu * s->row, work, apart);
            add_row(s, weight + i * SIDE, work, apart, one, one + is->pixels);
        }
    }
}

typedef float eight __attribute__((vector_size(4 * (SIDE - 1)), aligned(4), may_alias));

/* Row i of a patch of the example to @p n pixels from its pixel j on. */
ALWAYS void pull_run(const struct mf_patch_level *is, const float *weight, const float *x, size_t n, float *to)
{
    for (size_t k = 0; k < n; ++k) to[k] += weight[k];
    for (size_t f = 0; f < is->example.phases; ++f) {
        float *one = to + (1 + 2 * f) * is->pixels;

        add_run(n, weight, 1, x + f * is->example.high * is->example.wide, one, one + is->pixels);
    }
}

/* The same of a whole row, in one vector and its last pixel. */
ALWAYS void pull_whole(const struct mf_patch_level *is, const float *weight, const float *x, float *to)
{
    const eight w = *(const eight *)weight;
    const float last = weight[SIDE - 1];
    const size_t apart = is->example.high * is->example.wide, pixels = is->pixels;

    *(eight *)to += w;
    to[SIDE - 1] += last;
    for (size_t f = 0; f < is->example.phases; ++f, x += apart) {
        const eight y = *(const eight *)x;
        const float z = x[SIDE - 1];

        to += pixels;
        *(eight *)to += w * y;
        to[SIDE - 1] += last * z;
        to += pixels;
        *(eight *)to += w * y * y;
        to[SIDE - 1] += last * z * z;
    }
}

/* Adds the pull of an example's patch, at @p x, on its nearest patch of the slice, at slot @p at. Works in rows of @p
 * band.
 */
ALWAYS void pull_patch(const struct mf_patch_level *is, const float *x, size_t at, const float *weight,
                       struct mf_span band, float *sums)
{
    const struct mf_patch_image *s = &is->slice;
    const size_t u = (uint32_t)at / (uint32_t)s->row, v = (uint32_t)at % (uint32_t)s->row, left = s->nv - v;

    for (size_t i = 0; i < SIDE; ++i) {
        const float *w = weight + i * SIDE, *from = x + i * is->example.wide;
        const size_t row = u + i < s->nu ? u + i : u + i - s->nu;
        float *to = sums + row * s->nv;

        if (row - band.first >= band.count) continue;
        if (left >= SIDE) {
            pull_whole(is, w, from, to + v);
        } else {
            pull_run(is, w, from, left, to + v);
            pull_run(is, w + left, from + left, SIDE - left, to);
        }
    }
}

/* The pull of all the example's patches on rows of @p band. */
MF_CPU_FAST static void pull_band(const struct mf_patch_level *is, const int32_t *column, const float *weight,
                                  struct mf_span band, float *sums)
{
    const struct mf_patch_image *e = &is->example;

    for (size_t u = 0; u < e->pu; ++u)
        for (size_t v = 0; v < e->pv; ++v)
            pull_patch(is, e->x + u * e->wide + v, (size_t)column[u * e->row + v], weight, band, sums);
}

/* Weights of a patch's pixels where there are so many patches. */
static void share(const float *weight, size_t patches, float *to)
{
    const float each = 1.0f / (float)patches;

    for (size_t k = 0; k < PIXELS; ++k) to[k] = each * weight[k];
}

/* Rows of thread t, among those of this worker. */
static struct mf_span band_of(struct mf_span rows, int threads, int t)
{
    struct mf_span band = mf_cut(rows.count, (size_t)threads, (size_t)t);

    band.first += rows.first;
    return band;
}

void mf_patch_pull_sums(int threads, const struct mf_team *team, const struct mf_patch_level *is, const float *weight,
                        const int32_t *row, const int32_t *column, float *work, float *sums)
{
    const struct mf_patch_image *s = &is->slice, *e = &is->example;
    const size_t each = SIDE * (s->nv + SIDE);
    const struct mf_span rows = mf_team_cut(team, s->nu);
    int32_t *place = (int32_t *)work;
    float w[PIXELS];

    memset(sums, 0, (1 + 2 * e->phases) * is->pixels * sizeof *sums);
    find_places(s, e, row, place);
    share(weight, mf_patch_count(s), w);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) {
        const struct mf_span span = band_of(rows, threads, t);

        for (size_t u = span.first; u < span.first + span.count; ++u)
            pull_row(is, e->x, place, w, u, work + s->slots + (size_t)t * each, sums);
    }
    share(weight, mf_patch_count(e), w);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; ++t) pull_band(is, column, w, band_of(rows, threads, t), sums);
    for (size_t k = 0; k < 1 + 2 * e->phases; ++k)
        mf_team_share(team, s->nu, s->nv * sizeof *sums, sums + k * is->pixels);
}
