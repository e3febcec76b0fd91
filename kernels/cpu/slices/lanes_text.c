/* S2 of pairs of slices in the lanes of vectors: see lanes.h. Compiled with MF_LANES = 4, 8, 16 and the flags of an
 * instruction set that has such vectors; MF_LANES_TEXT names the result. */
#include "kernels/cpu/slices/lanes.h"
#include "kernels/cpu/slices/lanes_forward.h"
#include "kernels/cpu/slices/lanes_line.h"
#include "kernels/cpu/slices/lanes_vec.h"
#include "kernels/cpu/slices/lanes_view.h"
#include "src/base/bounds.h"

static void put(float *values, size_t side, size_t u, size_t v, vec d)
{
    float x[W];

    memcpy(x, &d, sizeof d);
    for (size_t j = 0; j < W && v + j < (side + 1) / 2; ++j) {
        values[u * side + side / 2 + v + j] = x[j];
        values[(side - 1 - u) * side + side / 2 - v - j] = x[j];
    }
}

static void put_cross(float *values, size_t side, size_t u, size_t v, vec plus, vec minus)
{
    float x[W], y[W];

    memcpy(x, &plus, sizeof plus);
    memcpy(y, &minus, sizeof minus);
    for (size_t j = 0; j < W && v + j < (side + 1) / 2; ++j) {
        values[u * side + side / 2 - v - j] = y[j];
        values[u * side + side / 2 + v + j] = x[j];
    }
}

/* Sums of |w e|^p of one slice, in double. */
struct sums {
    dvec low, high;
};

/* Slope of |w e|^p by e. */
AI vec loss(vec e, float w, int p, struct sums *sum)
{
    vec slope;

    e *= w;
    if (p == 2) {
        const dvec low = widen(e, 0), high = widen(e, 1);

        sum->low += low * low;
        sum->high += high * high;
        slope = 2 * w * e;
    } else {
        const vec sign = __builtin_convertvector((e < 0) - (e > 0), vec);

        sum->low += widen(e * sign, 0);
        sum->high += widen(e * sign, 1);
        slope = w * sign;
    }
    return slope;
}

/* Sum over lanes; lag dv = 0 counts once, the others twice for the mirrored half of the window. */
static double lanes_sum(const struct sums *sum, size_t b)
{
    double all = 0;

    for (size_t j = 0; j < W / 2; ++j) all += (b == 0 && j == 0 ? 1 : 2) * sum->low[j] + 2 * sum->high[j];
    return all;
}

static void values_of(const struct run *r, size_t b, const cell *from)
{
    const struct mf_lanes_level *l = r->l;
    const size_t side = 2 * l->lag - 1;
    const float middle = (float)r->middle;

    for (size_t i = 0; i < side; ++i) {
        const size_t u = i + 1 < l->lag ? l->mu + i + 1 - l->lag : i + 1 - l->lag;
        const vec norm = load(l->norm + (i * l->wb + b) * W), x = from[u].i * norm + middle,
                  y = from[u].r * norm + middle;

        if (r->cross) {
            put_cross(r->values[0], side, i, b * W, x, y);
            continue;
        }
        if (r->values[0]) put(r->values[0], side, i, b * W, x);
        if (r->values[1]) put(r->values[1], side, i, b * W, y);
    }
}

/* Block b of lags: from[u] holds the correlations (a in the imaginary parts); to[u] gets what goes back. */
AI void compare(struct run *r, size_t b, const cell *from, cell *to, int p)
{
    const struct mf_lanes_level *l = r->l;
    const size_t side = 2 * l->lag - 1, wide = l->wb * W;
    const float w = (float)r->weight, back[2] = {(float)(4 * r->scale[0]), (float)(4 * r->scale[1])};
    const float *norms = l->norm + b * W, *target = l->target + b * W;
    struct sums sx = {{0}, {0}}, sy = {{0}, {0}};

    for (size_t i = 0; i < side; ++i) {
        const size_t u = i + 1 < l->lag ? l->mu + i + 1 - l->lag : i + 1 - l->lag;
        const vec norm = load(norms + i * wide), t = load(target + i * wide);
        const vec gx = loss(from[u].i * norm - t, w, p, &sx) * norm, gy = loss(from[u].r * norm - t, w, p, &sy) * norm;

        to[u] = (cell){gx * back[0], gy * back[1]};
    }
    r->sums[2 * b] = lanes_sum(&sx, b);
    r->sums[2 * b + 1] = lanes_sum(&sy, b);
}

static void middle(struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->wb);

    if (r->gradient) line_clear(l->along_u, l->lag, r->more);
    for (size_t b = mine.first; b < mine.first + mine.count; ++b) {
        cell *window = r->window + b * l->mu;

        line_fft(l->along_u, window, r->line, r->work, LAGS_OUT);
        if (r->values[0] || r->values[1]) values_of(r, b, r->line);
        if (r->power == 1) compare(r, b, r->line, r->more, 1);
        if (r->power == 2) compare(r, b, r->line, r->more, 2);
        if (r->gradient) line_fft(l->along_u, r->more, window, r->work, LAGS_IN);
    }
}

/* Rows k of the window's transform as lines along v, the lags beyond it 0. With first, row mu/2 is in the first
 * lane. */
static void window_to_rows(const struct run *r, cell *line, size_t k, int first)
{
    const struct mf_lanes_level *l = r->l;
    const cell zero = {(vec){0}, (vec){0}};

    line_clear(l->along_v, l->lag, line);
    for (size_t b = 0; b < l->wb; ++b) {
        const cell *from = r->window + b * l->mu;
        vec pr[W], pi[W], mr[W], mi[W];

        for (size_t j = 0; j < W; ++j) {
            const size_t u = !first ? row_of(l, k, j, 0) : j == 0 ? l->mu / 2 : l->mu;
            const cell p = u < l->mu ? from[u] : zero, m = u < l->mu ? from[mirror(u, l->mu)] : zero;

            pr[j] = p.r;
            pi[j] = p.i;
            mr[j] = m.r;
            mi[j] = m.i;
        }
        transpose(pr);
        transpose(pi);
        transpose(mr);
        transpose(mi);
        for (size_t j = 0; j < W && b * W + j < l->lag; ++j) {
            const size_t v = b * W + j;

            line[mirror(v, l->mv)] = (cell){mr[j], mi[j]};
            line[v] = (cell){pr[j], pi[j]};
        }
    }
}

/* p G+ + conj(q) G- with G of two slices in g, parts exchanged for the way back. */
AI cell filter(cell p, cell q, cell g)
{
    const vec s = g.r + g.i, d = g.r - g.i;

    return (cell){p.i * s - q.i * d, p.r * s + q.r * d};
}

static void filter_block(const cell *g, size_t n, cell *p, cell *q)
{
    for (size_t v = 0; v < n; ++v) {
        const size_t m = mirror(v, n);
        const cell a = p[v], b = q[m];

        p[v] = filter(a, b, g[v]);
        q[m] = filter(b, a, g[v]);
    }
}

/* Block 0: in its first lane p (row 0) and q (row mu/2, filter h) mirror themselves. */
static void filter_first(const cell *g, const cell *h, size_t n, cell *p, cell *q)
{
    for (size_t v = 0; v <= n / 2; ++v) {
        const size_t m = mirror(v, n);
        const cell pv = p[v], pm = p[m], qv = q[v], qm = q[m];

        p[v] = filter(pv, choose(qm, pm), g[v]);
        p[m] = filter(pm, choose(qv, pv), g[m]);
        q[m] = filter(qm, choose(pv, qv), choose(g[v], h[m]));
        q[v] = filter(qv, choose(pm, qm), choose(g[m], h[v]));
    }
}

static void rows_back(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->blocks);

    for (size_t k = mine.first; k < mine.first + mine.count; ++k) {
        cell *p = r->spectrum + 2 * k * l->xs, *q = p + l->xs;

        window_to_rows(r, r->line, k, 0);
        line_fft(l->along_v, r->line, r->line, r->work, LAGS_IN);
        if (k == 0) {
            window_to_rows(r, r->more, k, 1);
            line_fft(l->along_v, r->more, r->more, r->work, LAGS_IN);
            filter_first(r->line, r->more, l->mv, p, q);
        } else
            filter_block(r->line, l->mv, p, q);
        line_fft(l->along_v, p, p, r->work, ALL);
        line_fft(l->along_v, q, q, r->work, ALL);
    }
}

static void spectrum_to_rows(const struct run *r, cell *line, size_t vb)
{
    const struct mf_lanes_level *l = r->l;

    for (size_t k = 0; k < 2 * l->blocks; ++k) {
        const cell *from = r->spectrum + k * l->xs + vb * W;
        vec re[W], im[W];

        for (size_t j = 0; j < W; ++j) {
            re[j] = from[j].r;
            im[j] = from[j].i;
        }
        transpose(re);
        transpose(im);
        for (size_t j = 0; j < W; ++j) {
            const size_t u = row_of(l, k / 2, j, k % 2);

            if (u < l->mu) line[u] = (cell){re[j], im[j]};
        }
    }
}

static void columns_back(const struct run *r)
{
    const struct mf_lanes_level *l = r->l;
    const struct mf_span mine = share(r, l->vb);

    for (size_t vb = mine.first; vb < mine.first + mine.count; ++vb) {
        spectrum_to_rows(r, r->line, vb);
        line_fft(l->along_u, r->line, r->plane + vb * l->zs, r->work, ALL);
    }
}

/* One level; sum [2] += the shares of the loss. */
static void level(struct run *r, double *sum)
{
    columns_forward(r);
    meet(r->parts);
    rows_forward(r);
    meet(r->parts);
    middle(r);
    meet(r->parts);
    for (size_t b = 0; b < r->l->wb && r->power; ++b) {
        sum[0] += r->sums[2 * b];
        sum[1] += r->sums[2 * b + 1];
    }
    if (!r->gradient) return;
    rows_back(r);
    meet(r->parts);
    columns_back(r);
    meet(r->parts);
}

static struct run run_of(const struct mf_lanes_job *job, const struct mf_lanes_area *area)
{
    const struct mf_slice_task *t = job->task;
    struct run r = {.spectrum = (cell *)(void *)area->spectrum,
                    .window = (cell *)(void *)area->window,
                    .energy = (vec *)(void *)area->energy,
                    .sums = area->sums,
                    .part = job->part,
                    .parts = job->parts};

    for (size_t i = 0; i < 3; ++i) r.work[i] = (cell *)(void *)area->line[i];
    r.line = (cell *)(void *)area->line[3];
    r.more = (cell *)(void *)area->line[4];
    r.cross = job->other != NULL;
    r.power = t->target ? t->power : 0;
    r.gradient = t->target && t->g.base;
    return r;
}

/* The pyramid above a plane; the planes lie one after the other. */
static void pyramid(const struct mf_lanes_job *job, cell *plane)
{
    for (size_t l = 0; l < job->levels; ++l) {
        const struct mf_lanes_level *fine = &job->level[l], *coarse = fine + 1;

        if (job->part == 0) zero_rows(fine, plane);
        meet(job->parts);
        if (l + 1 < job->levels)
            lanes_pool(fine, plane, coarse, mf_cut(coarse->nu, job->parts, job->part), plane + fine->plane);
        plane += fine->plane;
    }
}

/* Its adjoint, from the coarsest plane down. */
static void pyramid_back(const struct mf_lanes_job *job, cell *plane)
{
    size_t at = 0;

    for (size_t l = 0; l + 1 < job->levels; ++l) at += job->level[l].plane;
    for (size_t l = job->levels - 1; l > 0; --l) {
        const struct mf_lanes_level *coarse = &job->level[l], *fine = coarse - 1;

        lanes_spread(coarse, mf_cut(coarse->nu, job->parts, job->part), plane + at, fine, plane + at - fine->plane);
        at -= fine->plane;
        meet(job->parts);
    }
}

/* No gradient from a level of its own. */
static void zero_share(const struct run *r)
{
    const struct mf_span mine = share(r, r->l->plane);

    memset(r->plane + mine.first, 0, mine.count * sizeof *r->plane);
    meet(r->parts);
}

/* All levels of pair i of the batch. */
static void pair(const struct mf_lanes_job *job, const struct mf_lanes_area *area, size_t i, cell *plane)
{
    const struct mf_slice_task *t = job->task;
    const size_t per = job->other ? 1 : 2, s = per * (job->first + i);
    struct run r = run_of(job, area);
    double sum[2] = {0, 0};

    pyramid(job, plane);
    r.plane = plane;
    /* A missing partner's residual is the whole target: it must not come back, or its rounding would. */
    for (size_t n = 0; n < 2; ++n) r.scale[n] = s + n >= t->x.count ? 0 : t->scale ? t->scale[s + n] : 1;
    for (size_t l = 0; l < job->levels; ++l) {
        r.l = &job->level[l];
        if (l < job->from) {
            if (r.gradient) zero_share(&r);
            r.plane += r.l->plane;
            continue;
        }
        r.weight = r.power ? t->weight[l] : 0;
        r.middle = r.power ? r.l->middle : 0;
        for (size_t n = 0; n < per; ++n)
            r.values[n] =
                t->values && s + n < t->x.count ? t->values + ((s + n) * job->levels + l) * job->entries : NULL;
        level(&r, sum);
        r.plane += r.l->plane;
    }
    for (size_t n = 0; n < per && t->sum && job->part == 0; ++n)
        if (s + n < t->x.count) t->sum[s + n] = sum[n];
    if (r.gradient) pyramid_back(job, plane);
}

/* All levels of a pair to their energies. */
static void pair_energy(const struct mf_lanes_job *job, struct run *r, cell *plane)
{
    pyramid(job, plane);
    r->plane = plane;
    for (size_t l = 0; l < job->levels; ++l, r->plane += r->l->plane) {
        r->l = &job->level[l];
        if (l < job->from) continue;
        columns_forward(r);
        meet(r->parts);
        rows_energy(r);
        meet(r->parts);
    }
}

/* Sum over the batch: its pairs' energies, then one way back. */
static void total(const struct mf_lanes_job *job, const struct mf_lanes_area *area, size_t each)
{
    const struct mf_span rows = mf_cut(job->level->nu, job->parts, job->part);
    cell *plane = (cell *)(void *)area->plane;
    struct run r = run_of(job, area);

    for (size_t l = job->from; l < job->levels; ++l) {
        const struct mf_lanes_level *v = &job->level[l];
        const struct mf_span mine = share(&r, 2 * v->blocks);

        memset(r.energy + v->energy + mine.first * v->xs, 0, mine.count * v->xs * sizeof *r.energy);
    }
    for (size_t i = 0, n; i < job->pairs; i += n) {
        n = mf_min(job->together, job->pairs - i);
        lanes_gather(job->level, rows, &job->task->x, 2 * (job->first + i), n, plane, each);
        meet(job->parts);
        for (size_t k = 0; k < n; ++k) pair_energy(job, &r, plane + k * each);
    }
    for (size_t l = job->from; l < job->levels; ++l) {
        r.l = &job->level[l];
        r.values[0] = job->total + l * job->entries;
        rows_of_energy(&r);
        meet(r.parts);
        middle(&r);
        meet(r.parts);
    }
}

static void batch(const struct mf_lanes_job *job, const struct mf_lanes_area *area)
{
    const struct mf_slice_task *t = job->task;
    const struct mf_lanes_level *l = job->level;
    const struct mf_span rows = mf_cut(l->nu, job->parts, job->part);
    const size_t per = job->other ? 1 : 2, s = per * job->first;
    cell *plane = (cell *)(void *)area->plane;
    size_t each = 0;

    for (size_t i = 0; i < job->levels; ++i) each += l[i].plane;
    if (job->total) {
        total(job, area, each);
        return;
    }
    if (job->other) {
        gather_slice(l, rows, &t->x, s, 0, plane);
        gather_slice(l, rows, job->other, s, 1, plane);
    } else
        lanes_gather(l, rows, &t->x, s, job->pairs, plane, each);
    meet(job->parts);
    for (size_t i = 0; i < job->pairs; ++i) pair(job, area, i, plane + i * each);
    if (t->target && t->g.base) lanes_scatter(l, rows, &t->g, s, job->pairs, plane, each);
    meet(job->parts);
}

const struct mf_lanes_text MF_LANES_TEXT = {.width = W, .batch = batch};
