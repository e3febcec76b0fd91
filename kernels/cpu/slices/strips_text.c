/* Strips of W slices in the lanes of vectors: see strips.h. Compiled with MF_LANES = 4, 8, 16 and the flags of an
 * instruction set that has such vectors; MF_STRIP_TEXT names the result. */
#include "kernels/cpu/slices/strips.h"

#include "kernels/cpu/slices/lanes_line.h"
#include "kernels/cpu/slices/lanes_vec.h"
#include "src/base/bounds.h"

enum { LANES = MF_STRIP_LANES, LAGS = MF_LANES == 16 ? 8 : 4 /* as many pairs of sums as registers hold */ };

static const cell zero = {{0}, {0}};

static vec *vecs(float *x) { return (vec *)(void *)x; }
static cell *cells(float *x) { return (cell *)(void *)x; }

/* The lanes of one part of a pair's pixel. */
AI const float *lanes(const cell *c, size_t part) { return (const float *)(const void *)c + part * W; }

/* -- rows and pairs of them -- */

/* A strip on one level, and where its first and last rows are that are looked at. */
struct strip {
    const struct mf_strip_job *job;
    const struct mf_strip_level *l;
    const struct mf_strip_rows *rows;
    const struct mf_strip_area *area;
    size_t reach, entries;
    double middle; /* of the target (lag.h) */
    float *sums;   /* of the level */
};

static struct strip strip_of(const struct mf_strip_job *job, const struct mf_strip_area *area, size_t level)
{
    const size_t entries = mf_strip_entries(job->desc->lag);

    return (struct strip){.job = job,
                          .l = &job->level[level],
                          .rows = &job->rows[level],
                          .area = area,
                          .reach = mf_strip_reach(job->desc->lag),
                          .entries = entries,
                          .middle = job->middle[level],
                          .sums = job->sums + level * entries * LANES};
}

/* The pixels of a row side by side with those of other slices: a column is a vector. The row @p ahead is read soon. */
AI void load_side(const float *row, const float *ahead, size_t sv, size_t n, size_t columns, size_t part, cell *to)
{
    for (size_t v = 0; v < columns; ++v, row += sv, ahead += sv) {
        vec x = {0};

        __builtin_prefetch(ahead);
        if (n == W)
            x = load(row);
        else
            memcpy(&x, row, n * sizeof *row);
        *((vec *)&to[v] + part) = x;
    }
}

/* The pixels of a row one after the other: W slices are turned. */
AI void load_turned(const float *row, const float *ahead, size_t ss, size_t n, size_t columns, size_t part, cell *to)
{
    for (size_t v = 0; v < columns; v += W) {
        const size_t many = mf_min(W, columns - v);
        vec t[W];

        for (size_t s = 0; s < W; ++s) {
            t[s] = (vec){0};
            if (s < n) __builtin_prefetch(ahead + s * ss + v);
            if (s < n && many == W)
                t[s] = load(row + s * ss + v);
            else if (s < n)
                memcpy(&t[s], row + s * ss + v, many * sizeof *row);
        }
        transpose(t);
        for (size_t j = 0; j < many; ++j) *((vec *)&to[v + j] + part) = t[j];
    }
}

static const float *row_at(const struct strip *s, ptrdiff_t u) { return s->rows->row[(ptrdiff_t)s->reach + u]; }

static int is_there(const struct strip *s, ptrdiff_t u) { return row_at(s, u) != NULL; }

/* Row u of W slices into one part of a pair; zeros where there is none. Before row @p end it prefetches the next row
 * but one. */
static void load_row(const struct strip *s, ptrdiff_t u, ptrdiff_t end, size_t part, cell *to)
{
    const struct mf_strip_job *job = s->job;
    const float *row = row_at(s, u), *ahead = u + 2 < end && is_there(s, u + 2) ? row_at(s, u + 2) : row;
    const size_t ss = s->rows->ss, at = job->first * ss;

    if (!row)
        for (size_t v = 0; v < s->l->nv; ++v) *((vec *)&to[v] + part) = (vec){0};
    else if (ss == 1)
        load_side(row + at, ahead + at, s->rows->sv, job->count, s->l->nv, part, to);
    else
        load_turned(row + at, ahead + at, ss, job->count, s->l->nv, part, to);
}

/* Rows u and u + 1, the second only if it lies before @p end. */
static void load_pair(const struct strip *s, ptrdiff_t u, ptrdiff_t end, cell *to)
{
    load_row(s, u, end, 0, to);
    if (u + 1 < end)
        load_row(s, u + 1, end, 1, to);
    else
        for (size_t v = 0; v < s->l->nv; ++v) to[v].i = (vec){0};
    for (size_t v = s->l->nv; v < s->l->mv; ++v) to[v] = zero;
}

static void transform(const struct strip *s, const cell *x, cell *y, int which)
{
    cell *const work[3] = {cells(s->area->line[0]), cells(s->area->line[1]), cells(s->area->line[2])};

    line_fft(s->l->along, x, y, work, which);
}

/* Combines spectra a and b of two real lines at frequency k to one line of n. Its parts are exchanged for the
 * inverse. */
AI void join(cell a, cell b, size_t k, size_t n, cell *z)
{
    z[k] = (cell){a.i + b.r, a.r - b.i};
    if (k > 0) z[n - k] = (cell){b.r - a.i, a.r + b.i};
}

/* Where lag v - lag + 1 stands in a line of n. */
static size_t place_of(size_t v, size_t lag, size_t n) { return v + 1 < lag ? n + v + 1 - lag : v + 1 - lag; }

/* Twice the spectra of both rows of a pair into places at, at + 1. */
static void transform_pair(const struct strip *s, const cell *pair, size_t at, int both)
{
    const size_t n = s->l->mv, zs = s->l->zs;
    cell *z = cells(s->area->line[3]), *to = cells(s->area->spectrum) + at;

    transform(s, pair, z, ALL);
    for (size_t k = 0; k < s->l->half; ++k, to += zs) {
        const cell p = z[k], q = z[k ? n - k : 0];

        to[0] = (cell){p.r + q.r, p.i - q.i};
        if (both) to[1] = (cell){p.i + q.i, q.r - p.r};
    }
}

/* -- values -- */

/* c[d] += sum over the rows of conj(x[u]) x[u + d], d < N */
AI void products(size_t n, const cell *x, size_t rows, size_t first, cell *c)
{
    cell sum[8];

#pragma GCC unroll 8
    for (size_t d = 0; d < n; ++d) sum[d] = c[first + d];
    for (size_t u = 0; u < rows; ++u) {
        const cell a = x[u];

#pragma GCC unroll 8
        for (size_t d = 0; d < n; ++d) {
            const cell b = x[u + first + d];

            sum[d].r += a.r * b.r;
            sum[d].i += a.r * b.i;
            sum[d].r += a.i * b.i;
            sum[d].i -= a.i * b.r;
        }
    }
#pragma GCC unroll 8
    for (size_t d = 0; d < n; ++d) c[first + d] = sum[d];
}

/* The same for frequency 0, whose numbers are real and as large as all others together. It is computed in double, minus
 * @p less. */
static void products_of_means(const cell *x, size_t rows, size_t lag, double less, cell *c)
{
    for (size_t d = 0; d < lag; ++d)
        for (size_t half = 0; half < 2; ++half) {
            dvec sum = widen(c[d].r, half) - less;
            halfvec rounded;

            for (size_t u = 0; u < rows; ++u) sum += widen(x[u].r, half) * widen(x[u + d].r, half);
            rounded = __builtin_convertvector(sum, halfvec);
            memcpy((float *)&c[d].r + half * (W / 2), &rounded, sizeof rounded);
        }
}

static void add_products(const struct strip *s, size_t rows)
{
    const size_t lag = s->job->desc->lag;
    const cell *x = cells(s->area->spectrum);
    cell *c = cells(s->area->products);
    const double n = (double)s->l->nv;

    products_of_means(x, rows, lag, 4 * (double)rows * n * n * s->middle, c);
    for (size_t k = 1; k < s->l->half; ++k) {
        size_t d = 0;

        x += s->l->zs;
        c += lag;
        for (; d + LAGS <= lag; d += LAGS) products(LAGS, x, rows, d, c);
        for (; d < lag; ++d) products(1, x, rows, d, c);
    }
}

/* Sums of jumps of W slices, in double. */
struct jumps {
    double u[W], v[W];
};

AI float size_of(int soft, struct mf_jump jump, float d) { return soft ? mf_jump_soft(jump, d) : mf_jump_hard(d); }

/* Which jumps of a new pair of rows count, 0 or 1. They are from the row before to the first; from the first to the
 * second; inside the first; inside the second; over the border. */
struct counts {
    float to_first, to_second, first, second, over;
};

AI void add_jumps(int soft, struct mf_jump jump, size_t n, const struct counts *k, const cell *before, const cell *pair,
                  struct jumps *to)
{
    float u[W] = {0}, v[W] = {0};

    for (size_t i = 0; i < n; ++i) {
        const float *b = lanes(before + i, 1), *x = lanes(pair + i, 0), *y = lanes(pair + i, 1);
        const float *left = lanes(pair + (i ? i - 1 : n - 1), 0), times = i ? 1 : k->over;

#pragma omp simd
        for (size_t j = 0; j < W; ++j) {
            u[j] += k->to_first * size_of(soft, jump, x[j] - b[j]) + k->to_second * size_of(soft, jump, y[j] - x[j]);
            v[j] += times * (k->first * size_of(soft, jump, x[j] - left[j]) +
                             k->second * size_of(soft, jump, y[j] - left[W + j]));
        }
    }
    for (size_t j = 0; j < W; ++j) {
        to->u[j] += (double)u[j];
        to->v[j] += (double)v[j];
    }
}

/* Rows u, u + 1 are there: jumps out of own rows, those from 0 to own - 1. */
static void count_pair(const struct strip *s, const cell *before, const cell *pair, ptrdiff_t u, ptrdiff_t own,
                       struct jumps *to)
{
    const struct counts k = {.to_first = u > 0 && u <= own && is_there(s, u),
                             .to_second = u < own && is_there(s, u + 1),
                             .first = u < own,
                             .second = u + 1 < own,
                             .over = s->job->desc->periodic != 0};

    if (u > own) return;
    if (u == 0) before = pair; /* nothing counts of it */
    if (s->job->jump.e > 0)
        add_jumps(1, s->job->jump, s->l->nv, &k, before, pair, to);
    else
        add_jumps(0, s->job->jump, s->l->nv, &k, before, pair, to);
}

/* Own rows [from, from + rows): their products with the rows above, and their jumps. */
static void values_of_block(const struct strip *s, size_t from, size_t rows, struct jumps *jumps)
{
    const struct mf_strip_desc *d = s->job->desc;
    const struct mf_strip_rows *all = s->rows;
    const struct mf_strip_rows here = {all->row + from, all->ss, all->sv};
    const ptrdiff_t own = (ptrdiff_t)rows, end = own + (d->s2 && d->lag > 2 ? (ptrdiff_t)d->lag - 1 : 1);
    struct strip b = *s;
    cell *pair = cells(s->area->pair[0]), *before = cells(s->area->pair[1]);

    b.rows = &here;
    for (ptrdiff_t u = 0; u < end; u += 2) {
        cell *t = pair;

        load_pair(&b, u, end, pair);
        if (d->s2) transform_pair(&b, pair, (size_t)u, u + 1 < end);
        if (d->variation) count_pair(&b, before, pair, u, own, jumps);
        pair = before;
        before = t;
    }
    if (d->s2) add_products(&b, rows);
}

static void put(float *to, vec x) { memcpy(to, &x, sizeof x); }

/* Products of rows d and d + 1 apart to their lags; the second where it is one of them. */
static void lags_of(const struct strip *s, size_t d, int both)
{
    const size_t n = s->l->mv, lag = s->job->desc->lag, side = 2 * lag - 1;
    const cell *c = cells(s->area->products);
    cell *z = cells(s->area->line[3]);
    float *to = s->sums + d * side * LANES;

    for (size_t k = 0; k < s->l->half; ++k, c += lag) join(c[d], both ? c[d + 1] : zero, k, n, z);
    transform(s, z, z, LAGS_OUT);
    for (size_t v = 0; v < side; ++v, to += LANES) {
        const size_t at = place_of(v, lag, n);

        put(to, z[at].i);
        if (both) put(to + side * LANES, z[at].r);
    }
}

static void values(const struct mf_strip_job *job, const struct mf_strip_area *area)
{
    const size_t lag = job->desc->lag;

    for (size_t l = 0; l < job->desc->levels; ++l) {
        const struct strip s = strip_of(job, area, l);
        struct jumps jumps = {.u = {0}};

        if (job->desc->s2) memset(area->products, 0, s.l->half * lag * sizeof(cell));
        for (size_t u = 0; u < s.l->rows; u += job->block >> l)
            values_of_block(&s, u, mf_min(job->block >> l, s.l->rows - u), &jumps);
        for (size_t d = 0; d < lag && job->desc->s2; d += 2) lags_of(&s, d, d + 1 < lag);
        for (size_t j = 0; j < W && job->desc->variation; ++j) {
            float *to = s.sums + (s.entries - 2) * LANES + j;

            to[0] = (float)jumps.u[j];
            to[LANES] = (float)jumps.v[j];
        }
    }
}

/* -- gradients -- */

/* Weights of rows d and d + 1 apart, at every frequency: twice the conjugate transform. */
static void worth_of(const struct strip *s, size_t d, int both)
{
    const size_t n = s->l->mv, lag = s->job->desc->lag, side = 2 * lag - 1;
    cell *z = cells(s->area->line[3]), *h = cells(s->area->products) + d;
    const float *from = s->sums + d * side * LANES;

    line_clear(s->l->along, lag, z);
    for (size_t v = 0; v < side; ++v, from += LANES)
        z[place_of(v, lag, n)] = (cell){load(from), both ? load(from + side * LANES) : (vec){0}};
    transform(s, z, z, LAGS_IN);
    for (size_t k = 0; k < s->l->half; ++k, h += lag) {
        const cell p = z[k], q = z[k ? n - k : 0];

        h[0] = (cell){p.r + q.r, q.i - p.i};
        if (both) h[1] = (cell){p.i + q.i, p.r - q.r};
    }
}

/* y[j] = sum over lags of h[d] x[j + d] + conj(h[d]) x[j - d], j < n; d = 0 once */
AI void filter(size_t n, const cell *x, const cell *h, size_t lag, cell *y)
{
    cell sum[4];

#pragma GCC unroll 4
    for (size_t j = 0; j < n; ++j) {
        sum[j].r = h[0].r * x[j].r - h[0].i * x[j].i;
        sum[j].i = h[0].r * x[j].i + h[0].i * x[j].r;
    }
    for (size_t d = 1; d < lag; ++d) {
        const cell a = h[d], *up = x + d, *down = x - d;

#pragma GCC unroll 4
        for (size_t j = 0; j < n; ++j) {
            const cell p = add(up[j], down[j]), q = sub(up[j], down[j]);

            sum[j].r += a.r * p.r;
            sum[j].i += a.r * p.i;
            sum[j].r -= a.i * q.i;
            sum[j].i += a.i * q.r;
        }
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < n; ++j) y[j] = sum[j];
}

/* The spectra of own rows, which begin at place @p reach, become those of their gradients. */
static void filter_rows(const struct strip *s, size_t rows)
{
    const size_t lag = s->job->desc->lag;
    const cell *h = cells(s->area->products);
    cell *out = cells(s->area->out), *x = cells(s->area->spectrum) + s->reach;

    for (size_t k = 0; k < s->l->half; ++k, x += s->l->zs, h += lag) {
        size_t u = 0;

        for (; u + 4 <= rows; u += 4) filter(4, x + u, h, lag, out + u);
        for (; u < rows; ++u) filter(1, x + u, h, lag, out + u);
        memcpy(x, out, rows * sizeof *x);
    }
}

/* Back to rows u and u + 1 of the gradient: to += . */
static void add_pair(const struct strip *s, size_t u, int both, vec *to)
{
    const size_t n = s->l->mv, nv = s->l->nv;
    const cell *x = cells(s->area->spectrum) + s->reach + u;
    cell *z = cells(s->area->line[3]);

    for (size_t k = 0; k < s->l->half; ++k, x += s->l->zs) join(x[0], both ? x[1] : zero, k, n, z);
    transform(s, z, z, ALL);
    for (size_t v = 0; v < nv; ++v) {
        to[u * nv + v] += z[v].i;
        if (both) to[(u + 1) * nv + v] += z[v].r;
    }
}

AI float slope_of(int soft, struct mf_jump jump, float d)
{
    return soft ? mf_jump_soft_slope(jump, d) : mf_jump_hard_slope(d);
}

/* Slopes of the last row of the pair before and of the first of this one. They come from the jumps into, between and
 * out of these rows, where they exist, and along them. Weights are cu, cv [W]. */
AI void add_slopes(int soft, struct mf_jump jump, size_t n, const struct counts *k, float in, const float *cu,
                   const float *cv, const cell *before, const cell *pair, float *last, float *first)
{
    float left[2][W];

    for (size_t j = 0; j < W; ++j) {
        left[0][j] = k->over * slope_of(soft, jump, lanes(before, 1)[j] - lanes(before + n - 1, 1)[j]);
        left[1][j] = k->over * slope_of(soft, jump, lanes(pair, 0)[j] - lanes(pair + n - 1, 0)[j]);
    }
    for (size_t v = 0; v < n; ++v) {
        const float *x = lanes(before + v, 0), *y = lanes(pair + v, 0), times = v + 1 < n ? 1 : k->over;
        const float *right[2] = {lanes(before + (v + 1 < n ? v + 1 : 0), 1), lanes(pair + (v + 1 < n ? v + 1 : 0), 0)};

#pragma omp simd
        for (size_t j = 0; j < W; ++j) {
            const float between = k->to_first * slope_of(soft, jump, y[j] - x[W + j]);
            const float below = in * slope_of(soft, jump, x[W + j] - x[j]);
            const float above = k->to_second * slope_of(soft, jump, y[W + j] - y[j]);
            const float a = times * slope_of(soft, jump, right[0][j] - x[W + j]);
            const float b = times * slope_of(soft, jump, right[1][j] - y[j]);

            last[v * W + j] = cu[j] * (below - between) + cv[j] * (left[0][j] - a);
            first[v * W + j] = cu[j] * (between - above) + cv[j] * (left[1][j] - b);
            left[0][j] = a;
            left[1][j] = b;
        }
    }
}

/* Rows u, u + 1 are the current pair, u - 2, u - 1 the one before. Computes the slopes of rows u - 1 and u that are
 * own. */
static void slopes_of_pair(const struct strip *s, const cell *before, const cell *pair, ptrdiff_t u, ptrdiff_t own,
                           vec *to)
{
    const float *cu = s->sums + (s->entries - 2) * LANES, *cv = cu + LANES;
    const ptrdiff_t nv = (ptrdiff_t)s->l->nv;
    const int last = u - 1 >= 0 && u - 1 < own, first = u >= 0 && u < own;
    float *a = last ? (float *)(to + (u - 1) * nv) : s->area->line[0];
    float *b = first ? (float *)(to + u * nv) : s->area->line[1];
    const float in = last && is_there(s, u - 2);
    const struct counts k = {.to_first = (first || last) && is_there(s, u) && is_there(s, u - 1),
                             .to_second = first && is_there(s, u + 1),
                             .over = s->job->desc->periodic != 0};

    if (!first && !last) return;
    if (s->job->jump.e > 0)
        add_slopes(1, s->job->jump, s->l->nv, &k, in, cu, cv, before, pair, a, b);
    else
        add_slopes(0, s->job->jump, s->l->nv, &k, in, cu, cv, before, pair, a, b);
}

/* to [rows][nv] = gradient of own rows [from, from + rows). */
static void gradient_of_block(const struct strip *s, size_t from, size_t rows, vec *to)
{
    const struct mf_strip_desc *d = s->job->desc;
    const struct mf_strip_rows here = {s->rows->row + from, s->rows->ss, s->rows->sv};
    const ptrdiff_t own = (ptrdiff_t)rows, reach = (ptrdiff_t)s->reach, beside = d->s2 ? reach : 1, end = own + beside;
    struct strip b = *s;
    cell *pair = cells(s->area->pair[0]), *before = cells(s->area->pair[1]);

    b.rows = &here;
    if (!d->variation) memset(to, 0, rows * s->l->nv * sizeof *to);
    for (ptrdiff_t u = -beside; u < end; u += 2) {
        cell *t = pair;

        load_pair(&b, u, end, pair);
        if (d->s2) transform_pair(&b, pair, (size_t)(u + reach), u + 1 < end);
        if (d->variation) slopes_of_pair(&b, before, pair, u, own, to);
        pair = before;
        before = t;
    }
    if (!d->s2) return;
    filter_rows(&b, rows);
    for (size_t u = 0; u < rows; u += 2) add_pair(&b, u, u + 1 < rows, to);
}

/* fine += a quarter of the coarser level's gradient. */
static void spread(const struct mf_strip_level *coarse, size_t rows, const vec *from, const struct mf_strip_level *fine,
                   vec *to)
{
    for (size_t u = 0; u < rows; ++u)
        for (size_t v = 0; v < coarse->nv; ++v) {
            const vec x = 0.25f * from[u * coarse->nv + v];
            vec *a = to + 2 * u * fine->nv + 2 * v, *b = a + fine->nv;

            a[0] += x;
            a[1] += x;
            b[0] += x;
            b[1] += x;
        }
}

/* Adds a row of W slices to the gradient where it belongs. */
static void store_row(const struct strip *s, const vec *from, float *row)
{
    const size_t n = s->job->count, columns = s->l->nv, ss = s->rows->ss, sv = s->rows->sv;

    if (ss == 1) {
        row += s->job->first;
        for (size_t v = 0; v < columns; ++v, row += sv) {
            if (n == W)
                store(row, load(row) + from[v]);
            else
                for (size_t j = 0; j < n; ++j) row[j] += from[v][j];
        }
        return;
    }
    row += s->job->first * ss;
    for (size_t v = 0; v < columns; v += W) {
        const size_t many = mf_min(W, columns - v);
        vec t[W];

        for (size_t j = 0; j < W; ++j) t[j] = j < many ? from[v + j] : (vec){0};
        transpose(t);
        for (size_t k = 0; k < n; ++k) {
            float *to = row + k * ss + v;

            if (many == W)
                store(to, load(to) + t[k]);
            else
                for (size_t j = 0; j < many; ++j) to[j] += t[k][j];
        }
    }
}

static void gradient(const struct mf_strip_job *job, const struct mf_strip_area *area)
{
    const size_t lag = job->desc->lag, levels = job->desc->levels;

    for (size_t u = 0; u < job->level->rows; u += job->block) {
        const size_t rows = mf_min(job->block, job->level->rows - u);

        for (size_t l = levels; l-- > 0;) {
            const struct strip s = strip_of(job, area, l);
            vec *to = vecs(area->gradient[l]);

            for (size_t d = 0; d < lag && job->desc->s2; d += 2) worth_of(&s, d, d + 1 < lag);
            gradient_of_block(&s, u >> l, rows >> l, to);
            if (l + 1 < levels) spread(s.l + 1, rows >> (l + 1), vecs(area->gradient[l + 1]), s.l, to);
            for (size_t k = 0; l == 0 && k < rows; ++k) store_row(&s, to + k * s.l->nv, job->g + (u + k) * job->su);
        }
    }
}

const struct mf_strip_text MF_STRIP_TEXT = {.width = W, .values = values, .gradient = gradient};
