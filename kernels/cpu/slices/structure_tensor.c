/* Structure tensor of slices (form/structure_tensor.h): autocorrelations of its smoothed components and of their
 * coherence. They relate the orientations of edges at two positions. Per map, with lags r in the order of
 * mf_structure_tensor_lags():
 * D = mean over cells p of T(p) T(p + r)
 * Periodic: as many cells as pixels. Else: cells between pixels, and pairs inside; a Gaussian that an edge cuts off is
 * divided by its remaining weight. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/packed.h"
#include "kernels/form/lag.h"
#include "kernels/form/structure_tensor.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { WAYS = 16, RUN = MF_CPU_RUN, MAPS = MF_STRUCTURE_TENSOR_MAPS, SMOOTHED = MF_STRUCTURE_TENSOR_C };

#define ALWAYS static inline __attribute__((always_inline))

struct lag {
    int du, dv;
};

struct state {
    float tap[MF_STRUCTURE_TENSOR_TAPS];
    size_t lags, reach; /* longest lag along an axis */
    struct lag lag[];
};

/* -- cells, and maps of them with a frame on all sides -- */

/* Cell (u, v), -reach <= u < nu + reach, stands at [(u + reach) * stride + reach + v]. */
struct cells {
    size_t nu, nv, stride, frame; /* extents; of a framed map: floats of a row, of all */
    size_t reach;
    int periodic;
};

static struct cells cells_of(const struct state *st, int periodic, size_t nu, size_t nv)
{
    struct cells c = {nu - !periodic, nv - !periodic, 0, 0, st->reach, periodic};

    c.stride = 2 * c.reach + (c.nv + RUN - 1) / RUN * RUN;
    c.frame = (c.nu + 2 * c.reach) * c.stride + RUN;
    return c;
}

static size_t origin(const struct cells *c) { return c->reach * c->stride + c->reach; }

/* Scratch of a job: maps with a frame; their gradients, gx, gy, room to smooth in; weights of lags. */
struct areas {
    float *framed, *map, *gx, *gy, *room, *weight;
};

/* A line as wide as a Gaussian makes it. */
static size_t line_of(const struct mf_slice_desc *desc) { return desc->nv + 2 * MF_STRUCTURE_TENSOR_REACH; }

static struct areas areas_of(const struct mf_cpu_job *job)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const size_t frame = cells_of(job->plan->state, 1, desc->nu, desc->nv).frame, plain = desc->nu * desc->nv;
    struct areas a = {.framed = job->scratch, .map = job->scratch + MAPS * frame};

    a.gx = a.map + MAPS * plain;
    a.gy = a.gx + plain;
    a.room = a.gy + plain;
    a.weight = a.room + plain + line_of(desc);
    return a;
}

static int open_plan(struct mf_slice_plan *plan)
{
    const size_t lags = mf_structure_tensor_lags(plan->desc.lag);
    const int m = ((int)plan->desc.lag - 1) / 2;
    struct state *st = plan->state = malloc(sizeof *st + lags * sizeof *st->lag);

    if (!st) return mf_fail(MF_MEMORY, "no memory for a plan of structure tensors");
    mf_structure_tensor_gaussian(st->tap);
    st->lags = lags;
    st->reach = 2 * (size_t)m;
    for (size_t i = 0; i < lags; ++i) mf_structure_tensor_lag(m, (int)i, &st->lag[i].du, &st->lag[i].dv);
    plan->scratch = MAPS * (cells_of(st, 1, plan->desc.nu, plan->desc.nv).frame + st->lags) +
                    (MAPS + 3) * plan->desc.nu * plan->desc.nv + line_of(&plan->desc);
    return MF_OK;
}

static void close_plan(struct mf_slice_plan *plan) { free(plan->state); }

/* -- gradients of pixels -- */

static void differences(const struct cells *c, const struct mf_cpu_level *level, const struct areas *a)
{
    for (size_t u = 0; u < c->nu; ++u) {
        const float *x0 = level->x + u * level->nv, *x1 = level->x + (u + 1) % level->nu * level->nv;

        for (size_t v = 0; v < c->nv; ++v) {
            const size_t w = v + 1 < level->nv ? v + 1 : 0;
            const float down = x1[v] - x0[v], other = x1[w] - x0[w];

            a->gx[u * c->nv + v] = 0.5f * ((x0[w] - x0[v]) + (x1[w] - x1[v]));
            a->gy[u * c->nv + v] = 0.5f * (down + other);
        }
    }
}

/* The way back: pixels += what gx and gy count. */
static void differences_back(const struct cells *c, const struct mf_cpu_level *level, const struct areas *a)
{
    for (size_t u = 0; u < c->nu; ++u) {
        float *g0 = level->g + u * level->nv, *g1 = level->g + (u + 1) % level->nu * level->nv;

        for (size_t v = 0; v < c->nv; ++v) {
            const size_t w = v + 1 < level->nv ? v + 1 : 0;
            const float x = 0.5f * a->gx[u * c->nv + v], y = 0.5f * a->gy[u * c->nv + v];

            g0[v] -= x + y;
            g0[w] += x - y;
            g1[v] += y - x;
            g1[w] += x + y;
        }
    }
}

/* -- smoothing -- */

/* out += w in */
ALWAYS void add_row(size_t n, float w, const float *restrict in, float *restrict out)
{
#pragma omp simd
    for (size_t v = 0; v < n; ++v) out[v] += w * in[v];
}

/* Rows of @p map added up with the taps into @p room. */
MF_CPU_FAST static void smooth_down(const struct cells *c, const float *tap, const float *map, float *room)
{
    for (size_t u = 0; u < c->nu; ++u) {
        float *to = room + u * c->nv;

        memset(to, 0, c->nv * sizeof *to);
        for (int k = -MF_STRUCTURE_TENSOR_REACH; k <= MF_STRUCTURE_TENSOR_REACH; ++k) {
            long from = (long)u + k;

            if (c->periodic)
                from = (from + MF_STRUCTURE_TENSOR_REACH * (long)c->nu) % (long)c->nu;
            else if (from < 0 || from >= (long)c->nu)
                continue;
            add_row(c->nv, tap[k + MF_STRUCTURE_TENSOR_REACH], map + (size_t)from * c->nv, to);
        }
    }
}

/* A row with what lies beyond its ends. */
static void widen(const struct cells *c, const float *row, float *line)
{
    for (long i = 0, n = (long)c->nv; i < n + 2 * MF_STRUCTURE_TENSOR_REACH; ++i) {
        const long v = i - MF_STRUCTURE_TENSOR_REACH;

        line[i] = v >= 0 && v < n ? row[v] : c->periodic ? row[(v + MF_STRUCTURE_TENSOR_REACH * n) % n] : 0;
    }
}

/* The same along the rows of @p room, into @p map. */
MF_CPU_FAST static void smooth_along(const struct cells *c, const float *tap, const float *room, float *line,
                                     float *map)
{
    for (size_t u = 0; u < c->nu; ++u) {
        float *to = map + u * c->nv;

        widen(c, room + u * c->nv, line);
        memset(to, 0, c->nv * sizeof *to);
        for (int k = 0; k < MF_STRUCTURE_TENSOR_TAPS; ++k) add_row(c->nv, tap[k], line + k, to);
    }
}

static void divide(const struct cells *c, const float *tap, float *map)
{
    for (size_t u = 0; u < c->nu; ++u) {
        const float row = mf_structure_tensor_inside(tap, (long)c->nu, (long)u);

        for (size_t v = 0; v < c->nv; ++v)
            map[u * c->nv + v] /= row * mf_structure_tensor_inside(tap, (long)c->nv, (long)v);
    }
}

/* @p back: its transpose. */
static void smooth(const struct cells *c, const float *tap, int back, float *map, float *room)
{
    if (!c->periodic && back) divide(c, tap, map);
    smooth_down(c, tap, map, room);
    smooth_along(c, tap, room, room + c->nu * c->nv, map);
    if (!c->periodic && !back) divide(c, tap, map);
}

/* -- maps -- */

MF_CPU_FAST static void products(size_t n, const struct areas *a)
{
    float *restrict p = a->map, *restrict q = p + n, *restrict e = q + n;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const float x = a->gx[i], y = a->gy[i];

        p[i] = mf_structure_tensor_p(x, y);
        q[i] = mf_structure_tensor_q(x, y);
        e[i] = mf_structure_tensor_e(x, y);
    }
}

MF_CPU_FAST static void products_back(size_t n, const struct areas *a)
{
    const float *restrict p = a->map, *restrict q = p + n, *restrict e = q + n;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const float x = a->gx[i], y = a->gy[i];

        a->gx[i] = mf_structure_tensor_gx_back(x, y, p[i], q[i], e[i]);
        a->gy[i] = mf_structure_tensor_gy_back(x, y, p[i], q[i], e[i]);
    }
}

MF_CPU_FAST static void coherence(size_t n, const float *p, const float *q, float *restrict c)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) c[i] = mf_structure_tensor_size(p[i], q[i]) - MF_STRUCTURE_TENSOR_ROUND;
}

/* Into the frame: around it the other side, or 0. */
static void frame(const struct cells *c, const float *map, float *to)
{
    const long reach = (long)c->reach, nu = (long)c->nu, nv = (long)c->nv;
    const long before = c->periodic ? reach : 0;

    memset(to, 0, c->frame * sizeof *to);
    for (long u = -before; u < nu + before; ++u) {
        const float *from = map + (u + before * nu) % nu * nv;
        float *row = to + (u + reach) * (long)c->stride + reach;

        memcpy(row, from, c->nv * sizeof *row);
        for (long i = 0; i < before; ++i) {
            row[-1 - i] = from[nv - 1 - i % nv];
            row[nv + i] = from[i % nv];
        }
    }
}

/* Leaves all maps in their frames. */
static void make_maps(const struct mf_cpu_job *job, const struct cells *c, const struct areas *a)
{
    const struct state *st = job->plan->state;
    const size_t n = c->nu * c->nv;

    differences(c, job->level, a);
    products(n, a);
    for (int k = 0; k < SMOOTHED; ++k) smooth(c, st->tap, 0, a->map + (size_t)k * n, a->room);
    coherence(n, a->map, a->map + n, a->map + MF_STRUCTURE_TENSOR_C * n);
    for (int k = 0; k < MAPS; ++k) frame(c, a->map + (size_t)k * n, a->framed + (size_t)k * c->frame);
}

/* -- correlations -- */

/* sum [MAPS] over cells of t(p) t(p + offset), for all maps at once. Separate sums would wait for their own additions.
 * Cell (0, 0) of the first map is @p t. */
MF_CPU_FAST static void products_at(const struct cells *c, const float *t, ptrdiff_t offset, double sum[MAPS])
{
    double ways[MAPS][WAYS] = {0};

    for (size_t u = 0; u < c->nu; ++u) {
        float row[MAPS][WAYS] = {0};
        size_t v = 0;

        for (; v + WAYS <= c->nv; v += WAYS)
            for (int m = 0; m < MAPS; ++m) {
                const float *a = t + (size_t)m * c->frame + u * c->stride + v, *b = a + offset;

#pragma omp simd
                for (int k = 0; k < WAYS; ++k) row[m][k] += a[k] * b[k];
            }
        for (int k = 0; v < c->nv; ++v, ++k)
            for (int m = 0; m < MAPS; ++m) {
                const float *a = t + (size_t)m * c->frame + u * c->stride + v;

                row[m][k] += a[0] * a[offset];
            }
        for (int m = 0; m < MAPS; ++m)
            for (int k = 0; k < WAYS; ++k) ways[m][k] += (double)row[m][k];
    }
    for (int m = 0; m < MAPS; ++m) {
        sum[m] = 0;
        for (int k = 0; k < WAYS; ++k) sum[m] += ways[m][k];
    }
}

static ptrdiff_t offset_of(const struct cells *c, struct lag r) { return r.du * (ptrdiff_t)c->stride + r.dv; }

/* One over the pairs at a lag; 0: there are none. */
static double share(const struct cells *c, struct lag r)
{
    const size_t du = (size_t)r.du, dv = (size_t)abs(r.dv);

    return c->periodic || (du < c->nu && dv < c->nv) ? mf_lag_norm(c->periodic, c->nu, c->nv, du, dv) : 0;
}

static struct cells level_cells(const struct mf_cpu_job *job)
{
    return cells_of(job->plan->state, job->plan->desc.periodic, job->level->nu, job->level->nv);
}

static void value(const struct mf_cpu_job *job, double *d)
{
    const struct state *st = job->plan->state;
    const struct cells c = level_cells(job);
    const struct areas a = areas_of(job);

    make_maps(job, &c, &a);
#pragma omp parallel for num_threads(job->threads) schedule(static) if (job->threads > 1)
    for (size_t r = 0; r < st->lags; ++r) {
        double sum[MAPS];

        mf_pulse_tell("structure tensor");
        products_at(&c, a.framed + origin(&c), offset_of(&c, st->lag[r]), sum);
        for (size_t m = 0; m < MAPS; ++m) d[m * st->lags + r] = share(&c, st->lag[r]) * sum[m];
    }
}

/* -- gradient -- */

/* Width of vectors that stay in registers. The compiler kept arrays of these loops in memory, and also vectors of 64
 * bytes where registers hold 32. */
enum { WIDE = 8 };
typedef float wide __attribute__((vector_size(WIDE * sizeof(float))));
typedef float wide_any __attribute__((vector_size(WIDE * sizeof(float)), aligned(4), may_alias));

/* sum [RUN] = sum over lags of weight (t(p + r) + t(p - r)) at RUN cells p. */
ALWAYS void gather_run(const struct state *st, size_t stride, const float *weight, const float *t, float *sum)
{
    wide part[RUN / WIDE] = {{0}};

    for (size_t r = 0; r < st->lags; ++r) {
        const ptrdiff_t offset = st->lag[r].du * (ptrdiff_t)stride + st->lag[r].dv;

#pragma GCC unroll 8
        for (int i = 0; i < RUN / WIDE; ++i)
            part[i] +=
                weight[r] * (*(const wide_any *)(t + i * WIDE + offset) + *(const wide_any *)(t + i * WIDE - offset));
    }
    memcpy(sum, part, sizeof part);
}

MF_CPU_FAST static void gather(const struct cells *c, const struct state *st, const float *weight, const float *t,
                               float *g)
{
    float sum[RUN];

    for (size_t u = 0; u < c->nu; ++u) {
        mf_pulse_tell("structure tensor");
        for (size_t v = 0; v < c->nv; v += RUN) {
            gather_run(st, c->stride, weight, t + u * c->stride + v, sum);
            memcpy(g + u * c->nv + v, sum, (c->nv - v < RUN ? c->nv - v : RUN) * sizeof *sum);
        }
    }
}

/* Adds the gradient of the coherence to P and Q. */
MF_CPU_FAST static void coherence_back(const struct cells *c, const struct areas *a)
{
    const size_t n = c->nu * c->nv;
    float *gp = a->map, *gq = gp + n;
    const float *gc = a->map + MF_STRUCTURE_TENSOR_C * n, *p = a->framed + origin(c), *q = p + c->frame;

    for (size_t u = 0; u < c->nu; ++u)
#pragma omp simd
        for (size_t v = 0; v < c->nv; ++v) {
            const size_t i = u * c->nv + v, j = u * c->stride + v;
            const float each = gc[i] / mf_structure_tensor_size(p[j], q[j]);

            gp[i] += each * p[j];
            gq[i] += each * q[j];
        }
}

static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct state *st = job->plan->state;
    const struct cells c = level_cells(job);
    const struct areas a = areas_of(job);

    make_maps(job, &c, &a);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int k = 0; k < MAPS; ++k) {
        float *weight = a.weight + (size_t)k * st->lags;

        for (size_t r = 0; r < st->lags; ++r)
            weight[r] = (float)(share(&c, st->lag[r]) * slope[(size_t)k * st->lags + r]);
        gather(&c, st, weight, a.framed + (size_t)k * c.frame + origin(&c), a.map + (size_t)k * c.nu * c.nv);
    }
    coherence_back(&c, &a);
    for (int k = 0; k < SMOOTHED; ++k) smooth(&c, st->tap, 1, a.map + (size_t)k * c.nu * c.nv, a.room);
    products_back(c.nu * c.nv, &a);
    differences_back(&c, job->level, &a);
}

static const struct mf_cpu_family family = {open_plan, close_plan, value, gradient, 0, 0};

static size_t tensor_entries(const struct mf_slice_desc *d)
{
    return MF_STRUCTURE_TENSOR_MAPS * mf_structure_tensor_lags(d->lag);
}

const struct mf_slice_kind mf_kind_structure_tensor = {"structure_tensor", "structure tensors", tensor_entries,
                                                       mf_cost_structure_tensor};

MF_CPU_OF_FIELD(structure_tensor, family);
