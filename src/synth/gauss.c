/* A Gaussian random field: white noise, one number per voxel by its global index, convolved along x, y and z. The
 * kernel g(k) = exp(-k^2 / l^2) is cut off at 3.5 l, wrapped around the box, scaled to sum of squares 1. The field has
 * covariance g * g = exp(-r^2 / (2 l^2)) and variance 1. Two phases of one half each have S2(r) = 1/4 +
 * asin(covariance) / (2 pi). Every sum runs over the taps in one order, so a value has the same bits on any rank. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

/* out[i] = sum over k < count of tap[k] in[i + first + k]; count <= extent of the axis. */
struct taps {
    ptrdiff_t first;
    size_t count;
    double *tap;
};

/* Work areas of one thread. */
struct desk {
    double *plane, *row; /* [ny][nx], [nx + taps] */
    const double **rows; /* [most taps of the axes] */
};

static size_t wrap(ptrdiff_t i, size_t n)
{
    ptrdiff_t m;

    MF_ASSERT(n > 0);
    m = i % (ptrdiff_t)n;
    return (size_t)(m < 0 ? m + (ptrdiff_t)n : m);
}

static int taps_new(double length, size_t n, struct taps *t)
{
    ptrdiff_t reach = n == 1 ? 0 : (ptrdiff_t)ceil(3.5 * length);
    size_t full = 2 * (size_t)reach + 1;
    double sum = 0;

    t->count = full <= n ? full : n;
    t->first = full <= n ? -reach : -(ptrdiff_t)(n / 2);
    t->tap = calloc(t->count, sizeof *t->tap);
    if (!t->tap) return mf_fail(MF_MEMORY, "no memory for a kernel of %zu voxels", t->count);
    for (ptrdiff_t k = -reach; k <= reach; ++k)
        t->tap[full <= n ? (size_t)(k - t->first) : wrap(k - t->first, n)] +=
            exp(-(double)k * (double)k / (length * length));
    for (size_t k = 0; k < t->count; ++k) sum += t->tap[k] * t->tap[k];
    for (size_t k = 0; k < t->count; ++k) t->tap[k] /= sqrt(sum);
    return MF_OK;
}

/* out = sum of tap[k] row[k], k in order. */
static void blend(size_t n, const struct taps *t, const double *const *row, double *restrict out)
{
    size_t k = t->count % 4;

    MF_ASSERT(out);
    memset(out, 0, n * sizeof *out);
    for (size_t j = 0; j < k; ++j)
        for (size_t i = 0; i < n; ++i) out[i] += t->tap[j] * row[j][i];
    for (; k < t->count; k += 4) {
        const double *a = row[k], *b = row[k + 1], *c = row[k + 2], *d = row[k + 3];
        double ta = t->tap[k], tb = t->tap[k + 1], tc = t->tap[k + 2], td = t->tap[k + 3];

        for (size_t i = 0; i < n; ++i) out[i] = out[i] + ta * a[i] + tb * b[i] + tc * c[i] + td * d[i];
    }
}

/* One row of noise, convolved along x. */
static void noise_row(const struct mf_synth *what, uint64_t index, const struct taps *t, struct desk *d, double *out)
{
    size_t nx = what->dims[2];
    double *noise = d->row + (size_t)-t->first; /* row[i] is noise at i + first */

    for (size_t i = 0; i < nx; ++i) noise[i] = mf_random_normal(what->seed, MF_STREAM_NOISE, index + i);
    for (ptrdiff_t i = t->first; i < 0; ++i) noise[i] = noise[wrap(i, nx)];
    for (size_t i = nx; i < nx + t->count - 1 - (size_t)-t->first; ++i) noise[i] = noise[wrap((ptrdiff_t)i, nx)];
    for (size_t k = 0; k < t->count; ++k) d->rows[k] = d->row + k;
    blend(nx, t, d->rows, out);
}

static void make_plane(const struct mf_synth *what, size_t z, const struct taps t[3], struct desk *d, double *out)
{
    size_t ny = what->dims[1], nx = what->dims[2];

    for (size_t y = 0; y < ny; ++y)
        noise_row(what, ((uint64_t)z * ny + y) * nx, &t[2], d, t[1].count > 1 ? d->plane + y * nx : out + y * nx);
    if (t[1].count == 1) return;
    for (size_t y = 0; y < ny; ++y) {
        for (size_t k = 0; k < t[1].count; ++k) d->rows[k] = d->plane + wrap((ptrdiff_t)(y + k) + t[1].first, ny) * nx;
        blend(nx, &t[1], d->rows, out + y * nx);
    }
}

/* Desks for all threads out of one block of the arena; NULL after mf_fail(). */
static struct desk *desks_new(const struct mf_synth_job *job, const struct taps t[3], void **block)
{
    size_t threads = (size_t)job->threads, plane = job->slab.dims[1] * job->slab.dims[2];
    size_t row = job->slab.dims[2] + t[2].count, most = t[1].count > t[2].count ? t[1].count : t[2].count;
    size_t each = (plane + row) * sizeof(double) + most * sizeof(double *);
    struct desk *desks = malloc(threads * sizeof *desks);
    char *at = desks ? mf_arena_take(job->arena, threads * each, "synth plane") : NULL;

    if (!desks) mf_fail(MF_MEMORY, "no memory for %zu threads", threads);
    for (size_t i = 0; at && i < threads; ++i) {
        desks[i].plane = (double *)(void *)(at + i * each);
        desks[i].row = desks[i].plane + plane;
        desks[i].rows = (const double **)(void *)(desks[i].row + row);
    }
    *block = at;
    if (!at) free(desks);
    return at ? desks : NULL;
}

static int planes(const struct mf_synth_job *job, const struct taps t[3], double *value)
{
    size_t plane = job->slab.dims[1] * job->slab.dims[2], threads = (size_t)job->threads;
    void *block;
    struct desk *desks = desks_new(job, t, &block);

    if (!desks) return MF_MEMORY;
#pragma omp parallel for schedule(static, 1) num_threads(job->threads)
    for (size_t i = 0; i < threads; ++i)
        for (size_t k = i; k < job->slab.count && mf_synth_goes_on(job); k += threads)
            make_plane(job->what, job->slab.first + k, t, &desks[i], value + k * plane);
    mf_arena_give(job->arena, block);
    free(desks);
    return MF_OK;
}

/* Along z some rows at a time, so that the planes of the neighbours never lie here whole. */
struct deep {
    const struct mf_synth_job *job;
    const struct taps *t;
    size_t rows;           /* of one block: the same on every rank */
    double *own, *around;  /* [slab.count][rows][nx], [slab.count + taps - 1][rows][nx] */
    const double **planes; /* [slab.count][taps] */
};

static int deep_new(const struct mf_synth_job *job, const struct taps *t, struct deep *d)
{
    const size_t *dims = job->slab.dims;
    size_t most = mf_slab_of(job->comm, dims, 0).count, row = dims[2] * sizeof(double), count = job->slab.count;

    d->job = job;
    d->t = t;
    d->rows = ((size_t)32 << 20) / ((most + t->count) * row);
    if (d->rows < 1) d->rows = 1;
    if (d->rows > dims[1]) d->rows = dims[1];
    d->own = mf_arena_take(job->arena, count * d->rows * row, "synth rows");
    d->around = mf_arena_take(job->arena, (count + t->count) * d->rows * row, "synth rows");
    d->planes = mf_arena_take(job->arena, (count + 1) * t->count * sizeof *d->planes, "synth rows");
    return d->own && d->around && d->planes ? MF_OK : MF_MEMORY;
}

static void deep_free(struct deep *d)
{
    mf_arena_give(d->job->arena, d->own);
    mf_arena_give(d->job->arena, d->around);
    mf_arena_give(d->job->arena, d->planes);
}

static int deep_block(const struct deep *d, size_t y, size_t rows, double *value)
{
    const struct mf_slab *slab = &d->job->slab;
    size_t n = rows * slab->dims[2], plane = slab->dims[1] * slab->dims[2], taps = d->t->count;
    double *at = value + y * slab->dims[2];

    MF_ASSERT(d->own && value);
    for (size_t k = 0; k < slab->count && mf_synth_goes_on(d->job); ++k)
        memcpy(d->own + k * n, at + k * plane, n * sizeof *at);
    MF_TRY(mf_slab_fetch(d->job->comm, slab, d->own, n * sizeof *at, (ptrdiff_t)slab->first + d->t->first,
                         slab->count ? slab->count + taps - 1 : 0, d->around));
#pragma omp parallel for schedule(static) num_threads(d->job->threads)
    for (size_t k = 0; k < slab->count; ++k) {
        const double **from = d->planes + k * taps;

        if (!mf_synth_goes_on(d->job)) continue;
        for (size_t j = 0; j < taps; ++j) from[j] = d->around + (k + j) * n;
        blend(n, d->t, from, at + k * plane);
    }
    return MF_OK;
}

static int depth(const struct mf_synth_job *job, const struct taps *t, double *value)
{
    struct deep d = {0};
    size_t ny = job->slab.dims[1];
    int rc;

    if (t->count == 1) return MF_OK;
    rc = mf_agree(job->comm, deep_new(job, t, &d));
    for (size_t y = 0; rc == MF_OK && y < ny; y += d.rows)
        rc = deep_block(&d, y, d.rows < ny - y ? d.rows : ny - y, value);
    deep_free(&d);
    return rc;
}

double mf_synth_quantile(double p)
{
    double low = -40, high = 40;

    for (int i = 0; i < 200; ++i) {
        double mid = (low + high) / 2;

        if (erfc(-mid / sqrt(2)) / 2 < p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

struct stored {
    const double *value;
    size_t first, plane;
};

static void stored_plane(const void *self, size_t z, double *value)
{
    const struct stored *s = self;

    memcpy(value, s->value + (z - s->first) * s->plane, s->plane * sizeof *value);
}

static int label(const struct mf_synth_job *job, const double *value)
{
    struct stored stored = {value, job->slab.first, job->slab.dims[1] * job->slab.dims[2]};
    struct mf_synth_source source = {stored_plane, &stored};
    double cuts[MF_PHASES_MAX], below = 0;

    if (job->what->exact) return mf_synth_label_exact(job, value);
    for (int p = 1; p < job->what->phases; ++p) {
        below += job->what->fraction[p - 1];
        cuts[p - 1] = below <= 0 ? MF_SYNTH_OUTSIDE : below >= 1 ? -MF_SYNTH_OUTSIDE : mf_synth_quantile(below);
    }
    return mf_synth_label(job, &source, cuts);
}

int mf_synth_gauss(const struct mf_synth_job *job)
{
    struct taps t[3] = {{0}};
    double *value = mf_arena_take(job->arena, mf_slab_voxels(&job->slab) * sizeof *value, "synth field");
    int rc = value ? MF_OK : MF_MEMORY;

    for (int a = 0; rc == MF_OK && a < 3; ++a) rc = taps_new(job->what->length[a], job->slab.dims[a], &t[a]);
    if (rc == MF_OK) rc = planes(job, t, value);
    rc = mf_agree(job->comm, rc);
    if (rc == MF_OK) rc = depth(job, &t[0], value);
    if (rc == MF_OK) rc = label(job, value);
    for (int a = 0; a < 3; ++a) free(t[a].tap);
    mf_arena_give(job->arena, value);
    return rc;
}
