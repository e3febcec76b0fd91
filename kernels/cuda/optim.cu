/* See kernels/optim.h. Each function reads and writes the slab once, if the history is short. */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/voxel.cuh"

namespace
{

/* The pairs that one pass looks at, in the arguments of a kernel. */
struct pairs {
    size_t count, first, number; /* of all; first of this pass; of this pass */
    const float *s[MF_HISTORY_MAX], *y[MF_HISTORY_MAX];
};

struct pairs pairs_of(const struct mf_history *h)
{
    struct pairs p = {};

    p.count = p.number = h->count;
    for (size_t i = 0; i < h->count; ++i) {
        p.s[i] = h->s[i];
        p.y[i] = h->y[i];
    }
    return p;
}

constexpr size_t MOST = 4; /* pairs of one pass: what a thread's registers hold the sums of */

template <int M> struct number {
    static constexpr int OF = M;
};

/* Calls work(pairs, M) for runs of at most MOST pairs, M = 0, 2 or 4 as a type. It calls once when there is no pair. */
template <class Work> void by_pairs(const struct mf_history *h, const Work &work)
{
    struct pairs p = pairs_of(h);

    for (p.first = 0; p.first == 0 || p.first < p.count; p.first += MOST) {
        p.number = p.count - p.first < MOST ? p.count - p.first : MOST;
        if (p.number == 0)
            work(p, number<0>());
        else if (p.number <= 2)
            work(p, number<2>());
        else
            work(p, number<4>());
    }
}

/* -- dot products of the free gradient -- */

template <class Phases, int M> struct free_dots_body {
    enum { SUMS = 1 + 2 * M, MAXIMA = 0 };
    size_t phases, stride;
    const float *x, *g;
    struct pairs h;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        float vx[Phases::ROOM], vg[Phases::ROOM], r[Phases::ROOM], keep[Phases::ROOM];
        const int n = Phases::count(phases);

        mf_voxel_load(n, stride, x + i, vx);
        mf_voxel_load(n, stride, g + i, vg);
        mf_voxel_free(n, vx, vg, r, keep);
        for (int p = 0; p < n; ++p, i += stride) {
            const double v = double(r[p]);

            value[0] += v * v;
            MF_UNROLL
            for (int k = 0; k < M; ++k) {
                if (size_t(k) >= h.number) continue;
                value[1 + k] += double(h.s[h.first + size_t(k)][i]) * v;
                value[1 + M + k] += double(h.y[h.first + size_t(k)][i]) * v;
            }
        }
    }
    __device__ void store(size_t plane, int v, double sum) const
    {
        double *to = out + plane * (1 + 2 * h.count);
        const size_t k = v > M ? size_t(v - 1 - M) : size_t(v - 1);

        if (v == 0)
            to[0] = sum;
        else if (k < h.number)
            to[(v > M ? 1 + h.count : 1) + h.first + k] = sum;
    }
};

void free_dots(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const struct mf_history *h,
               double *out)
{
    const size_t stride = e.planes * e.plane;

    MF_SPOIL(out, e.planes * (1 + 2 * h->count) * sizeof *out);
    mf_by_phases(e.phases, [&](auto phases) {
        by_pairs(h, [&](const struct pairs &p, auto m) {
            mf_pass_run(q, e.planes, e.plane,
                        free_dots_body<decltype(phases), decltype(m)::OF>{e.phases, stride, x, g, p, out});
        });
    });
}

/* -- direction -- */

struct factors {
    float r, s[MF_HISTORY_MAX], y[MF_HISTORY_MAX];
};

template <class Phases> struct direction_body {
    enum { SUMS = 1, MAXIMA = 1 };
    size_t phases, stride;
    const float *x, *g;
    struct pairs h;
    struct factors c;
    float *d;
    double *out;

    /* v = what may move, less its mean where there are several phases */
    __device__ static void hold(int n, const float *keep, float *v)
    {
        float mean = 0.0f, count = 0.0f;

        for (int p = 0; n > 1 && p < n; ++p) {
            mean += keep[p] * v[p];
            count += keep[p];
        }
        mean /= count > 0.0f ? count : 1.0f;
        for (int p = 0; p < n; ++p) v[p] = keep[p] > 0.0f ? v[p] - mean : 0.0f;
    }
    __device__ void operator()(size_t i, double *value) const
    {
        float vx[Phases::ROOM], vg[Phases::ROOM], v[Phases::ROOM], keep[Phases::ROOM];
        const int n = Phases::count(phases);

        mf_voxel_load(n, stride, x + i, vx);
        mf_voxel_load(n, stride, g + i, vg);
        mf_voxel_free(n, vx, vg, v, keep);
        for (int p = 0; p < n; ++p) {
            const size_t at = i + size_t(p) * stride;

            v[p] *= c.r;
            for (size_t k = 0; k < h.count; ++k) v[p] += c.s[k] * h.s[k][at] + c.y[k] * h.y[k][at];
        }
        hold(n, keep, v);
        mf_voxel_store(n, stride, v, d + i);
        for (int p = 0; p < n; ++p) {
            value[0] += double(v[p]) * double(vg[p]);
            value[1] = fabs(double(v[p])) > value[1] ? fabs(double(v[p])) : value[1];
        }
    }
    __device__ void store(size_t plane, int v, double sum) const { out[2 * plane + size_t(v)] = sum; }
};

void direction(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const struct mf_history *h,
               const double *c, float *d, double *out)
{
    struct factors f = {};

    MF_SPOIL(out, 2 * e.planes * sizeof *out);
    f.r = float(-c[0]);
    for (size_t i = 0; i < h->count; ++i) {
        f.s[i] = float(-c[1 + i]);
        f.y[i] = float(-c[1 + h->count + i]);
    }
    mf_by_phases(e.phases, [&](auto phases) {
        mf_pass_run(q, e.planes, e.plane,
                    direction_body<decltype(phases)>{e.phases, e.planes * e.plane, x, g, pairs_of(h), f, d, out});
    });
}

/* -- step -- */

template <class Phases> struct step_body {
    enum { SUMS = 1, MAXIMA = 0 };
    size_t phases, stride;
    const float *x, *g, *d;
    float length, *to;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        float v[Phases::ROOM];
        const int n = Phases::count(phases);

        for (int p = 0; p < n; ++p) v[p] = x[i + size_t(p) * stride] + length * d[i + size_t(p) * stride];
        mf_voxel_project(n, v);
        mf_voxel_store(n, stride, v, to + i);
        for (int p = 0; p < n; ++p, i += stride) value[0] += double(g[i]) * double(v[p] - x[i]);
    }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = sum; }
};

void step(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, const float *d, double length,
          float *x_new, double *out)
{
    const size_t stride = e.planes * e.plane;

    MF_SPOIL(out, e.planes * sizeof *out);
    mf_by_phases(e.phases, [&](auto phases) {
        mf_pass_run(q, e.planes, e.plane,
                    step_body<decltype(phases)>{e.phases, stride, x, g, d, float(length), x_new, out});
    });
}

/* -- pair -- */

template <int M> struct pair_body {
    enum { SUMS = 2 + 3 * M, MAXIMA = 0 };
    size_t phases, stride;
    const float *x, *x1, *g, *g1;
    struct pairs h;
    float *s, *y;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        for (size_t p = 0; p < phases; ++p, i += stride) {
            const float ds = x1[i] - x[i], dy = g1[i] - g[i];

            s[i] = ds;
            y[i] = dy;
            value[0] += double(ds) * double(dy);
            value[1] += double(dy) * double(dy);
            MF_UNROLL
            for (int k = 0; k < M; ++k) {
                if (size_t(k) >= h.number) continue;
                const double sk = double(h.s[h.first + size_t(k)][i]), yk = double(h.y[h.first + size_t(k)][i]);

                value[2 + 3 * k] += sk * double(dy);
                value[3 + 3 * k] += double(ds) * yk;
                value[4 + 3 * k] += yk * double(dy);
            }
        }
    }
    __device__ void store(size_t plane, int v, double sum) const
    {
        double *to = out + plane * (2 + 3 * h.count);
        const size_t k = size_t(v - 2) / 3, what = size_t(v - 2) % 3, at = h.first + k;

        if (v < 2)
            to[v] = sum;
        else if (k < h.number)
            to[what == 2 ? 2 + 2 * h.count + at : 2 + 2 * at + what] = sum;
    }
};

void pair(struct mf_queue *q, struct mf_extent e, const float *x, const float *x_new, const float *g,
          const float *g_new, const struct mf_history *h, float *s, float *y, double *out)
{
    const size_t stride = e.planes * e.plane;

    MF_SPOIL(out, e.planes * (2 + 3 * h->count) * sizeof *out);
    by_pairs(h, [&](const struct pairs &p, auto m) {
        mf_pass_run(q, e.planes, e.plane,
                    pair_body<decltype(m)::OF>{e.phases, stride, x, x_new, g, g_new, p, s, y, out});
    });
}

/* -- first-order rules -- */

template <class Phases> struct adapt_body {
    size_t phases, stride;
    struct mf_rule rule;
    const float *g;
    float *m, *v, *x; /* m, v: NULL where the rule has none */
    __device__ void operator()(size_t i) const
    {
        float to[Phases::ROOM];
        const int n = Phases::count(phases);

        for (int p = 0; p < n; ++p) {
            const size_t at = i + size_t(p) * stride;
            float m1 = m ? m[at] : 0.0f, v1 = v ? v[at] : 0.0f;

            to[p] = mf_rule_step(rule.kind, rule, g[at], &m1, &v1, x[at]);
            if (m) m[at] = m1;
            if (v) v[at] = v1;
        }
        mf_voxel_project(n, to);
        mf_voxel_store(n, stride, to, x + i);
    }
};

void adapt(struct mf_queue *q, struct mf_extent e, const struct mf_rule *rule, const float *g, float *m, float *v,
           float *x)
{
    const size_t stride = e.planes * e.plane;

    mf_by_phases(e.phases, [&](auto phases) {
        mf_each(q, stride, adapt_body<decltype(phases)>{e.phases, stride, *rule, g, m, v, x});
    });
}

} // namespace

const struct mf_optim_ops mf_optim_cuda = {
    .free_dots = free_dots,
    .direction = direction,
    .step = step,
    .pair = pair,
    .adapt = adapt,
};
