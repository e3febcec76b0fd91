/* See kernels/meanfield.h. */
#include "kernels/meanfield.h"

#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/form/meanfield.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

#define ALWAYS static inline __attribute__((always_inline))

enum { WIDE = MF_SIMPLEX_WIDTH, ROOM = MF_MEANFIELD_PHASES * WIDE };

/* Calls a function of (phases, width, ...) with constants, so that its loops become vector code. */
#define BY_WIDTH(strip, phases, n, i, ...)                                   \
    do {                                                                     \
        size_t i = 0;                                                        \
                                                                             \
        for (; i + WIDE <= (n); i += WIDE) strip(phases, WIDE, __VA_ARGS__); \
        for (; i < (n); ++i) strip(phases, 1, __VA_ARGS__);                  \
    } while (0)

#define BY_PHASES(work, phases, ...)               \
    do {                                           \
        switch (phases) {                          \
        case 1: work(1, __VA_ARGS__); break;       \
        case 2: work(2, __VA_ARGS__); break;       \
        case 3: work(3, __VA_ARGS__); break;       \
        default: work((int)(phases), __VA_ARGS__); \
        }                                          \
    } while (0)

ALWAYS void load(int phases, int width, size_t stride, const float *from, float *to)
{
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) to[p * width + w] = from[(size_t)p * stride + (size_t)w];
}

ALWAYS void store(int phases, int width, size_t stride, const float *from, float *to)
{
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) to[(size_t)p * stride + (size_t)w] = from[p * width + w];
}

static size_t voxels_of(const struct mf_probabilities *at) { return at->n[0] * at->n[1] * at->n[2]; }

/* -- sums -- */

struct lanes {
    double value[MF_MEANFIELD_VALUES - 1][WIDE];
    float most[WIDE];
};

ALWAYS void add_pairs(int phases, int width, const float *keep, const float *share, struct lanes *to)
{
    int k = phases;

    for (int p = 0; p < phases; ++p)
        for (int q = p; q < phases; ++q, ++k)
            MF_EACH (w, width)
                to->value[k][w] +=
                    (double)mf_meanfield_pair(p == q, keep[p * width + w], keep[q * width + w], share[w]);
}

static double total(const double sum[WIDE])
{
    double all = 0;

    for (int l = 0; l < WIDE; ++l) all += sum[l];
    return all;
}

static void totals(size_t phases, const struct lanes *from, double *value)
{
    for (size_t k = 0; k < phases; ++k) value[k] = total(from->value[k]);
    for (size_t k = phases; k < phases + mf_pairs(phases); ++k) value[k] = total(from->value[k]) / MF_PAIR_UNIT;
}

/* Values that a pass over the planes stores. */
struct stored {
    double *out;
    size_t values;
};

static void store_values(const void *args, size_t plane, const double *value)
{
    const struct stored *s = args;

    memcpy(s->out + plane * s->values, value, s->values * sizeof *value);
}

/* -- gradients inside -- */

struct looking {
    struct stored to;
    const struct mf_probabilities *at;
};

ALWAYS void inner_strip(int phases, int width, const struct mf_probabilities *at, size_t i, struct lanes *to)
{
    const size_t stride = voxels_of(at);
    float x[ROOM], g[ROOM], keep[ROOM], share[WIDE], mean[WIDE] = {0};

    load(phases, width, stride, at->x + i, x);
    load(phases, width, stride, at->g + i, g);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const int a = p * width + w;
            const float size = fabsf(g[a] += at->slope[p] * mf_grey_slope(x[a]));

            to->most[w] = size > to->most[w] ? size : to->most[w];
        }
    mf_meanfield_inside(phases, width, x, keep);
    mf_meanfield_share(phases, width, keep, share);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) mean[w] += keep[p * width + w] * g[p * width + w] * (share[w] / (float)MF_PAIR_UNIT);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) to->value[p][w] += (double)(keep[p * width + w] * (g[p * width + w] - mean[w]));
    add_pairs(phases, width, keep, share, to);
}

ALWAYS void inner_strips(int phases, const struct mf_probabilities *at, size_t from, size_t n, struct lanes *to)
{
    BY_WIDTH(inner_strip, phases, n, i, at, from + i, to);
}

MF_CPU_FAST static void inner_block(const void *args, size_t at, size_t n, double *value)
{
    const struct looking *l = args;
    double *most = value + l->to.values - 1;
    struct lanes to;

    memset(&to, 0, sizeof to);
    BY_PHASES(inner_strips, l->at->phases, l->at, at, n, &to);
    totals(l->at->phases, &to, value);
    for (int w = 0; w < WIDE; ++w) *most = fmax(*most, (double)to.most[w]);
}

static void inner(struct mf_queue *q, const struct mf_probabilities *at, double *out)
{
    const size_t sums = at->phases + mf_pairs(at->phases);
    const struct looking l = {{out, sums + 1}, at};
    const struct mf_cpu_pass pass = {at->phases, at->n[0], at->n[1] * at->n[2], sums, 1, &l, inner_block, store_values};

    MF_ASSERT(at->phases <= MF_MEANFIELD_PHASES);
    mf_cpu_run(q, &pass);
}

/* -- lines -- */

enum { BLOCK = 64 /* columns of a tile */ };

/* Sums over the rows of a tile, and of the current row. */
struct tile {
    int32_t pair_y[MF_MEANFIELD_PAIRS][BLOCK], sum_y[MF_MEANFIELD_PHASES][BLOCK];
    int32_t pair_x[MF_MEANFIELD_PAIRS], sum_x[MF_MEANFIELD_PHASES];
    int32_t *pair_z; /* [pair][ny][nx], at the row */
    size_t plane;
};

/* Voxels from @p i on; their columns in the tile from @p c on. */
ALWAYS void lines_strip(int phases, int width, const struct mf_probabilities *at, float scale, size_t i, size_t c,
                        struct tile *to)
{
    const size_t stride = voxels_of(at);
    float x[ROOM], g[ROOM], r[ROOM], keep[ROOM], share[WIDE];
    int k = 0;

    load(phases, width, stride, at->x + i, x);
    load(phases, width, stride, at->g + i, g);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) g[p * width + w] += at->slope[p] * mf_grey_slope(x[p * width + w]) - at->level[p];
    mf_meanfield_free_gradient(phases, width, x, g, r, keep);
    mf_meanfield_share(phases, width, keep, share);
    if (at->fixed)
        for (int p = 0; p < phases; ++p)
            MF_EACH (w, width) {
                const float open = at->fixed[i + (size_t)w] == MF_LABEL_OPEN ? 1.0f : 0.0f;

                keep[p * width + w] *= open;
                r[p * width + w] *= open;
            }
    for (int p = 0; p < phases; ++p) {
        const float most = 1 << MF_LINE_BITS;
        int32_t sum = 0;

#pragma omp simd reduction(+ : sum)
        for (int w = 0; w < width; ++w) {
            const int32_t part = (int32_t)rintf(mf_clamp(r[p * width + w] * scale, -most, most));

            to->sum_y[p][c + (size_t)w] += part;
            sum += part;
        }
        to->sum_x[p] += sum;
    }
    for (int p = 0; p < phases; ++p)
        for (int q = p; q < phases; ++q, ++k) {
            int32_t *z = to->pair_z + (size_t)k * to->plane + c, sum = 0;

#pragma omp simd reduction(+ : sum)
            for (int w = 0; w < width; ++w) {
                const int32_t pair =
                    (int32_t)mf_meanfield_pair(p == q, keep[p * width + w], keep[q * width + w], share[w]);

                to->pair_y[k][c + (size_t)w] += pair;
                z[w] += pair;
                sum += pair;
            }
            to->pair_x[k] += sum;
        }
}

ALWAYS void lines_row(int phases, const struct mf_probabilities *at, float scale, size_t from, size_t n,
                      struct tile *to)
{
    BY_WIDTH(lines_strip, phases, n, c, at, scale, from + c, c, to);
}

MF_CPU_FAST static void add_row(const struct mf_probabilities *at, float scale, size_t from, size_t n, struct tile *to)
{
    BY_PHASES(lines_row, at->phases, at, scale, from, n, to);
}

/* Other threads add to the same lines along y. */
static void add_columns(size_t n, const int32_t *from, int32_t *to, int shared)
{
    for (size_t c = 0; c < n; ++c)
        if (shared)
#pragma omp atomic
            to[c] += from[c];
        else
            to[c] += from[c];
}

/* Rows @p first to @p last, columns from @p x on, of plane @p z. */
static void add_tile(const struct mf_probabilities *at, float scale, size_t z, size_t first, size_t last, size_t x,
                     const struct mf_lines *to, int shared)
{
    const size_t ny = at->n[1], nx = at->n[2], n = nx - x < BLOCK ? nx - x : BLOCK, pairs = mf_pairs(at->phases);
    struct tile tile;

    memset(&tile, 0, sizeof tile);
    tile.plane = ny * nx;
    for (size_t y = first; y < last; ++y) {
        const size_t line = z * ny + y;

        memset(tile.pair_x, 0, sizeof tile.pair_x);
        memset(tile.sum_x, 0, sizeof tile.sum_x);
        tile.pair_z = to->pair_z + y * nx + x;
        add_row(at, scale, line * nx + x, n, &tile);
        for (size_t k = 0; k < pairs; ++k) to->pair_x[k * at->n[0] * ny + line] += tile.pair_x[k];
        for (size_t p = 0; p < at->phases; ++p) to->sum_x[p * at->n[0] * ny + line] += tile.sum_x[p];
    }
    for (size_t k = 0; k < pairs; ++k) add_columns(n, tile.pair_y[k], to->pair_y + (k * at->n[0] + z) * nx + x, shared);
    for (size_t p = 0; p < at->phases; ++p)
        add_columns(n, tile.sum_y[p], to->sum_y + (p * at->n[0] + z) * nx + x, shared);
}

static void clear(const struct mf_probabilities *at, const struct mf_lines *to)
{
    const size_t pairs = mf_pairs(at->phases), rows = at->n[0] * at->n[1], columns = at->n[0] * at->n[2];

    memset(to->pair_x, 0, pairs * rows * sizeof(int32_t));
    memset(to->sum_x, 0, at->phases * rows * sizeof(int32_t));
    memset(to->pair_y, 0, pairs * columns * sizeof(int32_t));
    memset(to->sum_y, 0, at->phases * columns * sizeof(int32_t));
    memset(to->pair_z, 0, pairs * at->n[1] * at->n[2] * sizeof(int32_t));
}

/* Threads share the rows y of all planes, so that one pass serves the lines of all directions. */
static void lines(struct mf_queue *q, const struct mf_probabilities *at, float scale, const struct mf_lines *to)
{
    const int threads = mf_cpu_threads(q, at->phases * voxels_of(at));
    const size_t ny = at->n[1], parts = (size_t)threads < ny ? (size_t)threads : ny;

    MF_ASSERT(ny <= MF_LINE_MOST && at->n[2] <= MF_LINE_MOST && at->phases <= MF_MEANFIELD_PHASES);
    clear(at, to);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t part = 0; part < parts; ++part)
        for (size_t z = 0; z < at->n[0]; ++z) {
            mf_pulse_tell("field");
            for (size_t x = 0; x < at->n[2]; x += BLOCK)
                add_tile(at, scale, z, part * ny / parts, (part + 1) * ny / parts, x, to, parts > 1);
        }
}

/* -- the step -- */

struct motion {
    struct stored to;
    const struct mf_probabilities *at;
    float momentum, rate;
    const float *off, *shift;
    float *v;
};

/* Adds the nearest probabilities to v - shift, and pairs; replaces v. */
ALWAYS void add_shifted(int phases, int width, const float *shift, float *v, struct lanes *to)
{
    float keep[ROOM], share[WIDE];

    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) v[p * width + w] -= shift[p];
    mf_meanfield_project(phases, width, v, keep);
    mf_meanfield_share(phases, width, keep, share);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) to->value[p][w] += (double)v[p * width + w];
    add_pairs(phases, width, keep, share, to);
}

/* Moves voxels from @p i on. Every phase loses @p off for the plane and the row, and @p along for the column. */
ALWAYS void move_strip(int phases, int width, const struct motion *m, size_t i, const float *off, const float *along,
                       size_t parts, struct lanes *to)
{
    const struct mf_probabilities *at = m->at;
    const size_t stride = voxels_of(at);
    float x[ROOM], g[ROOM], v[ROOM];

    load(phases, width, stride, at->x + i, x);
    load(phases, width, stride, at->g + i, g);
    load(phases, width, stride, m->v + i, v);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const int a = p * width + w;
            const float slope = g[a] + at->slope[p] * mf_grey_slope(x[a]);

            v[a] = x[a] + m->momentum * v[a] - m->rate * (slope - off[p] - along[(size_t)p * parts + (size_t)w]);
        }
    if (at->fixed)
        for (int p = 0; p < phases; ++p)
            MF_EACH (w, width) {
                const int a = p * width + w;

                v[a] = at->fixed[i + (size_t)w] == MF_LABEL_OPEN ? v[a] : mf_stay(x[a]);
            }
    store(phases, width, stride, v, m->v + i);
    add_shifted(phases, width, m->shift, v, to);
}

/* A part of a row. */
ALWAYS void move_row(int phases, const struct motion *m, size_t from, size_t n, struct lanes *to)
{
    const struct mf_probabilities *at = m->at;
    const size_t column = from % at->n[2], y = from / at->n[2] % at->n[1], z = from / at->n[2] / at->n[1];
    const size_t parts = at->n[0] + at->n[1] + at->n[2];
    const float *along = m->off + at->n[0] + at->n[1] + column;
    float off[MF_MEANFIELD_PHASES];

    for (int p = 0; p < phases; ++p) off[p] = m->off[(size_t)p * parts + z] + m->off[(size_t)p * parts + at->n[0] + y];
    BY_WIDTH(move_strip, phases, n, c, m, from + c, off, along + c, parts, to);
}

MF_CPU_FAST static void move_block(const void *args, size_t at, size_t n, double *value)
{
    const struct motion *m = args;
    const size_t nx = m->at->n[2];
    struct lanes to;

    memset(&to, 0, sizeof to);
    for (size_t i = at, end = at + n, part; i < end; i += part) {
        part = nx - i % nx < end - i ? nx - i % nx : end - i;
        BY_PHASES(move_row, m->at->phases, m, i, part, &to);
    }
    totals(m->at->phases, &to, value);
}

static void move(struct mf_queue *q, const struct mf_probabilities *at, float momentum, float rate, const float *off,
                 const float *shift, float *v, double *out)
{
    const size_t sums = at->phases + mf_pairs(at->phases);
    const struct motion m = {{out, sums}, at, momentum, rate, off, shift, v};
    const struct mf_cpu_pass pass = {at->phases, at->n[0], at->n[1] * at->n[2], sums, 0, &m, move_block, store_values};

    MF_ASSERT(at->phases <= MF_MEANFIELD_PHASES);
    mf_cpu_run(q, &pass);
}

/* -- the projection -- */

struct settling {
    struct stored to;
    struct mf_extent e;
    const float *shift, *from;
    float *x, *v;
};

static void run(struct mf_queue *q, const struct settling *s,
                void (*block)(const void *args, size_t at, size_t n, double *value))
{
    const struct mf_cpu_pass pass = {s->e.phases, s->e.planes, s->e.plane, s->to.values, 0, s, block, store_values};

    MF_ASSERT(s->e.phases <= MF_MEANFIELD_PHASES);
    mf_cpu_run(q, &pass);
}

ALWAYS void shifted_strip(int phases, int width, const struct settling *s, size_t i, struct lanes *to)
{
    float v[ROOM];

    load(phases, width, s->e.planes * s->e.plane, s->from + i, v);
    add_shifted(phases, width, s->shift, v, to);
}

ALWAYS void shifted_strips(int phases, const struct settling *s, size_t at, size_t n, struct lanes *to)
{
    BY_WIDTH(shifted_strip, phases, n, i, s, at + i, to);
}

MF_CPU_FAST static void shifted_block(const void *args, size_t at, size_t n, double *value)
{
    const struct settling *s = args;
    struct lanes to;

    memset(&to, 0, sizeof to);
    BY_PHASES(shifted_strips, s->e.phases, s, at, n, &to);
    totals(s->e.phases, &to, value);
}

static void shifted(struct mf_queue *q, struct mf_extent e, const float *shift, const float *v, double *out)
{
    run(q, &(struct settling){.e = e, .shift = shift, .from = v, .to = {out, e.phases + mf_pairs(e.phases)}},
        shifted_block);
}

ALWAYS void settle_strip(int phases, int width, const struct settling *s, size_t i, double (*grey)[WIDE])
{
    const size_t stride = s->e.planes * s->e.plane;
    float v[ROOM], x[ROOM], keep[ROOM];

    load(phases, width, stride, s->v + i, v);
    load(phases, width, stride, s->x + i, x);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) v[p * width + w] -= s->shift[p];
    mf_meanfield_project(phases, width, v, keep);
    store(phases, width, stride, v, s->x + i);
    for (int p = 0; p < phases; ++p)
        MF_EACH (w, width) {
            const int a = p * width + w;

            grey[p][w] += (double)mf_grey(v[a]);
            x[a] = v[a] - x[a];
        }
    store(phases, width, stride, x, s->v + i);
}

ALWAYS void settle_strips(int phases, const struct settling *s, size_t at, size_t n, double (*grey)[WIDE])
{
    BY_WIDTH(settle_strip, phases, n, i, s, at + i, grey);
}

MF_CPU_FAST static void settle_block(const void *args, size_t at, size_t n, double *value)
{
    const struct settling *s = args;
    double grey[MF_MEANFIELD_PHASES][WIDE] = {{0}};

    BY_PHASES(settle_strips, s->e.phases, s, at, n, grey);
    for (size_t p = 0; p < s->e.phases; ++p) value[p] = total(grey[p]);
}

static void settle(struct mf_queue *q, struct mf_extent e, const float *shift, float *x, float *v, double *out)
{
    run(q, &(struct settling){.e = e, .shift = shift, .x = x, .v = v, .to = {out, e.phases}}, settle_block);
}

const struct mf_meanfield_ops mf_meanfield_cpu = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
