/* See start.h. */
#include "src/recon/start.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/base/rng.h"
#include "src/base/streams.h"

/* Deviations of noise, and of layers and the noise beside them. */
static const double NOISE = 0.1, LAYERS = 0.4, FAINT = 0.02;

/* Waves of layers: tolerance of the periods that slices see; least component of k over its length; largest tried wave
 * number over the wanted one. */
static const double TOLERANCE = 0.25, TILT = 0.2, REACH = 1.5;

enum { WAVES = 512, TRIALS = 1 << 18, BLOCK = 1024 };

/* Fills voxels @p first to first + n. */
static void make_noise(uint64_t seed, uint32_t stream, size_t first, size_t n, double fraction, float *x)
{
    for (size_t i = 0; i < n; ++i) {
        const double v = fraction + NOISE * mf_random_normal(seed, stream, first + i);

        x[i] = (float)(v < 0 ? 0 : v > 1 ? 1 : v);
    }
}

void mf_start_noise(const struct mf_slab *slab, size_t fields, const double *fraction, uint64_t seed,
                    const struct mf_stage *stage, float *x)
{
    size_t plane = slab->dims[1] * slab->dims[2];

    for (size_t p = 0; p < fields; ++p)
        for (size_t z = 0, run; z < slab->count; z += run, x += run * plane) {
            float *at = mf_stage_at(stage, x);

            run = mf_stage_run(stage, slab->count - z);
            for (size_t k = 0; k < run && mf_pulse("start") == MF_OK; ++k)
                make_noise(seed, MF_STREAM_START + (uint32_t)p, (slab->first + z + k) * plane, plane, fraction[p],
                           at + k * plane);
            mf_stage_put(stage, x, run * plane * sizeof *x);
        }
}

/* A plane wave; k in periods per voxel along z, y and x, phase in periods. */
struct wave {
    double k[3], phase;
};

/* A slice sees the part of k in its plane. Returns how near this is to the wanted number in all three directions. 1:
 * equal. 0: a wave along an axis, which is uniform in one direction. If one component of k is small, two directions see
 * stripes along an axis. */
static double suits(const double k[3], double wanted)
{
    double off = 0, least = INFINITY, length = 0;

    for (int a = 0; a < 3; ++a) {
        const double miss = (hypot(k[(a + 1) % 3], k[(a + 2) % 3]) / wanted - 1) / TOLERANCE;

        off += miss * miss * miss * miss;
        least = fmin(least, fabs(k[a]));
        length += k[a] * k[a];
    }
    return length > 0 ? exp(-(off + least * least / (length * TILT * TILT))) : 0;
}

/* Trial number i: any wave with whole periods along every axis, and whether it is one of the start's. */
static int draw(const size_t dims[3], double wanted, uint64_t seed, uint64_t i, struct wave *w)
{
    for (int a = 0; a < 3; ++a) {
        const double k = REACH * wanted * (2 * mf_random_uniform(seed, MF_STREAM_WAVES, 8 * i + (uint64_t)a) - 1);

        w->k[a] = round(k * (double)dims[a]) / (double)dims[a];
    }
    w->phase = mf_random_uniform(seed, MF_STREAM_WAVES, 8 * i + 3);
    return mf_random_uniform(seed, MF_STREAM_WAVES, 8 * i + 4) < suits(w->k, wanted);
}

/* Returns how many waves there are. */
static size_t draw_all(const size_t dims[3], double wanted, uint64_t seed, struct wave wave[WAVES])
{
    size_t n = 0;

    for (uint64_t i = 0; i < TRIALS && n < WAVES; ++i) n += draw(dims, wanted, seed, i, &wave[n]) ? 1 : 0;
    return n;
}

/* plane [ny][nx] += a wave of this size. It works by blocks of columns; each computes the wave's position in its rows
 * again. */
static void add_wave(const struct wave *w, double size, size_t z, size_t ny, size_t nx, float *plane)
{
    const double turn = 2 * acos(-1);

    for (size_t from = 0; from < nx; from += BLOCK) {
        const size_t n = nx - from < BLOCK ? nx - from : BLOCK;
        float cosine[BLOCK], sine[BLOCK];

        for (size_t i = 0; i < n; ++i) {
            cosine[i] = (float)cos(turn * w->k[2] * (double)(from + i));
            sine[i] = (float)sin(turn * w->k[2] * (double)(from + i));
        }
        for (size_t y = 0; y < ny; ++y) {
            const double at = turn * (w->phase + w->k[0] * (double)z + w->k[1] * (double)y);
            const float c = (float)(size * cos(at)), s = (float)(size * sin(at));
            float *row = plane + y * nx + from;

            for (size_t i = 0; i < n; ++i) row[i] += c * cosine[i] - s * sine[i];
        }
    }
}

/* One plane of phase p: noise around its fraction, then the waves; phase 0 has what is left of phase 1. */
static void lay(const struct wave *wave, size_t waves, double size, double fraction, uint64_t seed, uint32_t p,
                const size_t dims[3], size_t z, float *plane)
{
    const size_t n = dims[1] * dims[2];

    for (size_t i = 0; i < n; ++i)
        plane[i] = (float)(fraction + FAINT * mf_random_normal(seed, MF_STREAM_START + p, z * n + i));
    for (size_t i = 0; i < waves; ++i) add_wave(&wave[i], size, z, dims[1], dims[2], plane);
    for (size_t i = 0; i < n; ++i) plane[i] = plane[i] < 0 ? 0 : plane[i] > 1 ? 1 : plane[i];
}

size_t mf_start_layers(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, uint64_t seed,
                       const struct mf_stage *stage, float *x)
{
    const size_t *dims = slab->dims, plane = dims[1] * dims[2];
    struct wave wave[WAVES];
    const size_t waves = draw_all(dims, wanted, seed, wave);
    const double size = waves ? LAYERS * sqrt(2 / (double)waves) : 0;

    MF_ASSERT(fields <= 2);
    for (size_t p = 0; waves && p < fields; ++p)
        for (size_t z = 0, run; z < slab->count; z += run, x += run * plane) {
            float *at = mf_stage_at(stage, x);

            run = mf_stage_run(stage, slab->count - z);
            for (size_t k = 0; k < run && mf_pulse("start") == MF_OK; ++k)
                lay(wave, waves, p + 1 < fields ? -size : size, fraction[p], seed, (uint32_t)p, dims,
                    slab->first + z + k, at + k * plane);
            mf_stage_put(stage, x, run * plane * sizeof *x);
        }
    return waves;
}

void mf_start_labels(const struct mf_slab *slab, size_t fields, const uint8_t *label, float *x)
{
    const size_t plane = slab->dims[1] * slab->dims[2], n = mf_slab_voxels(slab);

    for (size_t p = 0; p < fields; ++p)
        for (size_t z = 0; z < slab->count; ++z) {
            mf_pulse_tell("start");
            for (size_t i = z * plane; i < (z + 1) * plane; ++i) x[p * n + i] = label[i] == (fields == 1 ? 1 : p);
        }
}

static void fix_run(size_t n, uint8_t phase, const uint8_t *fixed, const float *from, float *to)
{
    for (size_t i = 0; i < n; ++i) to[i] = fixed[i] == MF_PHASE_FREE ? from[i] : fixed[i] == phase ? 1.0f : 0.0f;
}

void mf_start_fixed(const struct mf_slab *slab, size_t fields, const uint8_t *fixed, const struct mf_stage *stage,
                    float *x)
{
    const size_t plane = slab->dims[1] * slab->dims[2];

    for (size_t p = 0; p < fields; ++p)
        for (size_t z = 0, run; z < slab->count; z += run, x += run * plane) {
            const float *from;

            mf_pulse_tell("start");
            run = mf_stage_run(stage, slab->count - z);
            from = mf_stage_get(stage, x, run * plane * sizeof *x);
            fix_run(run * plane, (uint8_t)(fields == 1 ? 1 : p), fixed + z * plane, from, mf_stage_at(stage, x));
            mf_stage_put(stage, x, run * plane * sizeof *x);
        }
}

/* Left neighbour and weight of the right one for cell i of n on a grid of m cells. */
static ptrdiff_t stand(size_t i, size_t n, size_t m, float *right)
{
    double at = ((double)i + 0.5) * (double)m / (double)n - 0.5, left = floor(at);

    *right = (float)(at - left);
    return (ptrdiff_t)left;
}

static size_t wrap(ptrdiff_t i, size_t n) { return (size_t)((i % (ptrdiff_t)n + (ptrdiff_t)n) % (ptrdiff_t)n); }

/* One plane [cy][cx] onto [ny][nx]. */
static void refine_plane(const float *coarse, size_t cy, size_t cx, size_t ny, size_t nx, float weight, float *out)
{
    for (size_t y = 0; y < ny; ++y) {
        float fy, fx;
        ptrdiff_t ly = stand(y, ny, cy, &fy);
        const float *a = coarse + wrap(ly, cy) * cx, *b = coarse + wrap(ly + 1, cy) * cx;

        for (size_t x = 0; x < nx; ++x) {
            ptrdiff_t lx = stand(x, nx, cx, &fx);
            size_t i = wrap(lx, cx), j = wrap(lx + 1, cx);

            out[y * nx + x] += weight * ((1 - fy) * ((1 - fx) * a[i] + fx * a[j]) + fy * ((1 - fx) * b[i] + fx * b[j]));
        }
    }
}

/* Own planes of one field from the coarse planes [first, ...) around them. */
static void refine(const struct mf_slab *from, const float *planes, ptrdiff_t first, const struct mf_slab *slab,
                   const struct mf_stage *stage, float *x)
{
    size_t cplane = from->dims[1] * from->dims[2], plane = slab->dims[1] * slab->dims[2];

    for (size_t z = 0, run; z < slab->count; z += run) {
        float *out = mf_stage_at(stage, x + z * plane), f;

        run = mf_stage_run(stage, slab->count - z);
        memset(out, 0, run * plane * sizeof *out);
        for (size_t k = 0; k < run; ++k) {
            size_t at = (size_t)(stand(slab->first + z + k, slab->dims[0], from->dims[0], &f) - first);

            mf_pulse_tell("start");
            refine_plane(planes + at * cplane, from->dims[1], from->dims[2], slab->dims[1], slab->dims[2], 1 - f,
                         out + k * plane);
            refine_plane(planes + (at + 1) * cplane, from->dims[1], from->dims[2], slab->dims[1], slab->dims[2], f,
                         out + k * plane);
        }
        mf_stage_put(stage, x + z * plane, run * plane * sizeof *x);
    }
}

/* Planes of @p from around those of @p slab: how many, and the first, which may lie before plane 0. */
static size_t around(const struct mf_slab *from, const struct mf_slab *slab, ptrdiff_t *first)
{
    ptrdiff_t last;
    float f;

    *first = 0;
    if (slab->count == 0) return 0;
    *first = stand(slab->first, slab->dims[0], from->dims[0], &f);
    last = stand(slab->first + slab->count - 1, slab->dims[0], from->dims[0], &f) + 1;
    return (size_t)(last - *first + 1);
}

/* Own planes that the other ranks ask for. */
static size_t asked_for(const struct mf_comm *comm, const struct mf_slab *from, const size_t dims[3])
{
    size_t planes = 0;

    for (int r = 0; r < comm->size; ++r) {
        const struct mf_slab slab = mf_slab_of(comm, dims, r);
        ptrdiff_t first;
        size_t count = around(from, &slab, &first);

        for (size_t i = 0; r != comm->rank && i < count; ++i) {
            size_t z = wrap(first + (ptrdiff_t)i, from->dims[0]);

            planes += z >= from->first && z < from->first + from->count;
        }
    }
    return planes;
}

size_t mf_start_bytes(const struct mf_comm *comm, const struct mf_slab *from, const struct mf_slab *slab, int apart)
{
    ptrdiff_t first;
    size_t planes = around(from, slab, &first);

    if (apart) planes += asked_for(comm, from, slab->dims);
    return planes * from->dims[1] * from->dims[2] * sizeof(float);
}

int mf_start_refine(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *from, const float *coarse,
                    const struct mf_slab *slab, size_t fields, const struct mf_stage *stage, float *x)
{
    size_t cplane = from->dims[1] * from->dims[2], n = mf_slab_voxels(slab), cn = mf_slab_voxels(from);
    struct mf_arena *arena = stage->queue->host;
    ptrdiff_t first;
    size_t count = around(from, slab, &first);
    float *planes;
    int rc = MF_OK;

    planes = mf_arena_take(arena, count * cplane * sizeof(float), "coarse planes");
    MF_TRY(mf_agree(comm, planes ? MF_OK : MF_MEMORY));
    for (size_t p = 0; p < fields && rc == MF_OK; ++p) {
        if (queue)
            rc = mf_slab_fetch_device(comm, queue, from, coarse + p * cn, cplane * sizeof(float), first, count, planes);
        else
            rc = mf_slab_fetch(comm, from, coarse + p * cn, cplane * sizeof(float), first, count, planes);
        if (rc == MF_OK) refine(from, planes, first, slab, stage, x + p * n);
    }
    mf_arena_give(arena, planes);
    return rc;
}
