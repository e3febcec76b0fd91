/* See swap.h. Energies are those of objective.h in their mean square form:
 *
 *   sum over slices of share / M * sum_p q_p^2 [ w_S^2 sum_r (S(r) - T(r))^2 + w_V^2 (V - T_V)^2 ]
 *
 * A flip of voxel p by d = +-1 changes S(r) by d a(r) / N [x(p+r) + x(p-r)] for r != 0 and by d / N for r = 0, where
 * a(r) = N / n(r) (1 when periodic): 2 d / N (R(0) + 2 lin) + (1 + 2 count + 2 both) / N^2 for the window sum, lin the
 * sum of the residual times a over the set bits of p's window, count and both of a^2 (kernels/slices/flip.h). */
#include "src/recon/swap.h"

#include <string.h>

static const struct mf_flip_ops *const flip = &mf_flip_cpu;

static int delta_of(const struct mf_site *s, size_t planes, size_t k)
{
    return planes == 1 ? (s->to == 1 ? 1 : -1) : (k ? 1 : -1);
}

static uint8_t phase_of(const struct mf_site *s, size_t planes, size_t k)
{
    return planes == 1 ? 1 : k ? s->to : s->from;
}

static size_t field_of(const struct mf_site *s, size_t planes, size_t k)
{
    return planes == 1 ? 0 : phase_of(s, planes, k);
}

static uint32_t *window_of(const struct mf_sites *sites, uint32_t *base, size_t i, size_t d, size_t k)
{
    return base + ((i * sites->sides + d) * sites->planes + k) * sites->shape.n;
}

static float *residual_of(const struct mf_swap *w, size_t d, size_t field, size_t slice)
{
    return w->side[d].residual + (field * w->side[d].slices + slice) * w->sites.shape.n * 32;
}

size_t mf_swap_centre(const struct mf_window_shape *s) { return (s->rows / 2) * s->words * 32 + s->rows / 2; }

static int bit(const struct mf_window_shape *s, const uint32_t *window, size_t row, size_t column)
{
    return window[row * s->words + column / 32] >> (column % 32) & 1;
}

/* Change of V of one slice and phase when a site flips: jumps towards its four neighbours in the window. */
static double variation_change(const struct mf_swap *w, size_t d, size_t i, size_t k)
{
    const struct mf_window_shape *shape = &w->sites.shape;
    const struct mf_swap_side *side = &w->side[d];
    const struct mf_site *s = &w->sites.site[i];
    const uint32_t *window = window_of(&w->sites, w->sites.window, i, d, k);
    size_t c = shape->rows / 2, u = s->at[mf_slice_u(d)], v = s->at[mf_slice_v(d)];
    int was_in = delta_of(s, w->sites.planes, k) < 0;
    double down = 0, along = 0;

    if (w->periodic || u > 0) down += bit(shape, window, c - 1, c) == was_in ? 1 : -1;
    if (w->periodic || u + 1 < side->nu) down += bit(shape, window, c + 1, c) == was_in ? 1 : -1;
    if (w->periodic || v > 0) along += bit(shape, window, c, c - 1) == was_in ? 1 : -1;
    if (w->periodic || v + 1 < side->nv) along += bit(shape, window, c, c + 1) == was_in ? 1 : -1;
    return down * side->down + along * side->along;
}

/* Energy of one flip in one slice; the first-order part of S2 into *linear. */
static double slice_energy(const struct mf_swap *w, size_t d, size_t i, size_t k, double *linear)
{
    const struct mf_site *s = &w->sites.site[i];
    const struct mf_swap_side *side = &w->side[d];
    size_t field = field_of(s, w->sites.planes, k), slice = field * side->slices + s->at[d];
    const float *r = residual_of(w, d, field, s->at[d]);
    double inverse = 1 / side->pixels, delta = delta_of(s, w->sites.planes, k), dv, off;
    struct mf_flip_sums sum;

    flip->sums(&w->sites.shape, r, side->a2, window_of(&w->sites, w->sites.window, i, d, k),
               window_of(&w->sites, w->sites.mirror, i, d, k), &sum);
    *linear =
        w->q2[field] * side->s2_weight * 2 * delta * inverse * (r[mf_swap_centre(&w->sites.shape)] + 2 * sum.linear);
    dv = variation_change(w, d, i, k);
    off = side->v[slice] - side->v_target[field];
    return *linear + w->q2[field] * (side->s2_weight * inverse * inverse * (1 + 2 * sum.count + 2 * sum.both) +
                                     side->v_weight * dv * (2 * off + dv));
}

double mf_swap_energy(const struct mf_swap *w, size_t i)
{
    double e = w->sites.site[i].rest, linear;

    for (size_t d = 0; d < w->sites.sides; ++d)
        for (size_t k = 0; k < w->sites.planes; ++k) e += slice_energy(w, d, i, k, &linear);
    return e;
}

/* Distance from a to b on a periodic axis of n, the shorter way; plain without periodicity. */
static ptrdiff_t apart(uint32_t a, uint32_t b, size_t n, int periodic)
{
    ptrdiff_t t = (ptrdiff_t)b - (ptrdiff_t)a, m = (ptrdiff_t)n;

    if (!periodic) return t;
    if (2 * t >= m) return t - m;
    return 2 * t < -m ? t + m : t;
}

/* Interaction of two flips of one phase in one slice, if the second is in the window of the first. */
static double meeting(const struct mf_swap *w, size_t d, size_t i, size_t j, size_t ki, size_t kj, ptrdiff_t du,
                      ptrdiff_t dv)
{
    const struct mf_window_shape *shape = &w->sites.shape;
    const struct mf_swap_side *side = &w->side[d];
    const struct mf_site *a = &w->sites.site[i], *b = &w->sites.site[j];
    ptrdiff_t c = (ptrdiff_t)(shape->rows / 2);
    size_t row = (size_t)(c + du), column = (size_t)(c + dv), at = row * shape->words * 32 + column;
    size_t field = field_of(a, w->sites.planes, ki);
    double inverse = 1 / side->pixels, a2 = side->a2 ? side->a2[at] : 1, di = delta_of(a, w->sites.planes, ki),
           dj = delta_of(b, w->sites.planes, kj), e;
    double here = di * (bit(shape, window_of(&w->sites, w->sites.window, i, d, ki), row, column) +
                        bit(shape, window_of(&w->sites, w->sites.mirror, i, d, ki), row, column)) +
                  dj * (bit(shape, window_of(&w->sites, w->sites.window, j, d, kj), row, column) +
                        bit(shape, window_of(&w->sites, w->sites.mirror, j, d, kj), row, column));

    e = 2 * side->s2_weight *
        (2 * residual_of(w, d, field, a->at[d])[at] * inverse * di * dj +
         a2 * inverse * inverse * (2 * di * dj * here + 1));
    if ((du == 0 && (dv == 1 || dv == -1)) || (dv == 0 && (du == 1 || du == -1))) {
        double extra = -2 * di * dj * (du ? side->down : side->along);
        double off = side->v[field * side->slices + a->at[d]] - side->v_target[field] + variation_change(w, d, i, ki) +
                     variation_change(w, d, j, kj);

        e += side->v_weight * extra * (2 * off + extra);
    }
    return w->q2[field] * e;
}

/* Energy of two flips beyond the sum of their own, from the slices that both touch. */
double mf_swap_interaction(const struct mf_swap *w, size_t i, size_t j)
{
    const struct mf_window_shape *shape = &w->sites.shape;
    const struct mf_site *a = &w->sites.site[i], *b = &w->sites.site[j];
    ptrdiff_t lag = (ptrdiff_t)(shape->rows / 2);
    double e = 0;

    for (size_t d = 0; d < w->sites.sides; ++d) {
        const struct mf_swap_side *side = &w->side[d];
        ptrdiff_t du, dv;

        if (a->at[d] != b->at[d]) continue;
        du = apart(a->at[mf_slice_u(d)], b->at[mf_slice_u(d)], side->nu, w->periodic);
        dv = apart(a->at[mf_slice_v(d)], b->at[mf_slice_v(d)], side->nv, w->periodic);
        for (size_t ki = 0; ki < w->sites.planes; ++ki)
            for (size_t kj = 0; kj < w->sites.planes; ++kj) {
                const uint32_t *wi = window_of(&w->sites, w->sites.window, i, d, ki);
                size_t field = field_of(a, w->sites.planes, ki);
                double dd, inverse = 1 / side->pixels;

                if (phase_of(a, w->sites.planes, ki) != phase_of(b, w->sites.planes, kj)) continue;
                dd = delta_of(a, w->sites.planes, ki) * delta_of(b, w->sites.planes, kj);
                e += w->q2[field] * 2 * dd *
                     (side->s2_weight * inverse * inverse *
                          (1 + 2 * flip->overlap(shape, side->a2, wi, window_of(&w->sites, w->sites.window, j, d, kj)) +
                           2 * flip->overlap(shape, side->a2, wi, window_of(&w->sites, w->sites.mirror, j, d, kj))) +
                      side->v_weight * dd * variation_change(w, d, i, ki) * variation_change(w, d, j, kj));
                if (du <= lag && -du <= lag && dv <= lag && -dv <= lag) e += meeting(w, d, i, j, ki, kj, du, dv);
            }
    }
    return e;
}

double mf_swap_linear(const struct mf_swap *w, size_t i)
{
    double e = 0, linear;

    for (size_t d = 0; d < w->sites.sides; ++d)
        for (size_t k = 0; k < w->sites.planes; ++k) {
            slice_energy(w, d, i, k, &linear);
            e += linear;
        }
    return e;
}

/* Is the voxel at @p off (z y x, one of them 0) from site i in @p phase, which it leaves or enters? */
static int is_in(const struct mf_swap *w, size_t i, int phase, const int off[3])
{
    const size_t d = off[0] == 0 ? MF_Z : off[1] == 0 ? MF_Y : MF_X, u = mf_slice_u(d), v = mf_slice_v(d);
    const size_t n[3] = {w->side[MF_Z].slices, w->side[MF_Z].nu, w->side[MF_Z].nv};
    const struct mf_window_shape *shape = &w->sites.shape;
    const struct mf_site *s = &w->sites.site[i];
    const ptrdiff_t c = (ptrdiff_t)(shape->rows / 2);
    const size_t k = w->sites.planes == 2 && phase == s->to;
    int set;

    for (int a = 0; a < 3; ++a) {
        const ptrdiff_t at = (ptrdiff_t)s->at[a] + off[a];

        if (at < 0 || at >= (ptrdiff_t)n[a]) return 0; /* of an image along z too */
    }
    set = bit(shape, window_of(&w->sites, w->sites.window, i, d, k), (size_t)(c + off[u]), (size_t)(c + off[v]));
    return w->sites.planes == 2 || phase == 1 ? set : !set;
}

/* Neighbours by faces, 2 a below and 2 a + 1 above on axis a, that are in @p phase, one bit each. Are they connected by
 * the voxels at the edges between them? */
static int is_joined(const struct mf_swap *w, size_t i, int phase)
{
    const int first = w->sites.sides == 1 ? 2 : 0;
    unsigned in = 0, joined, before = 0;

    for (int f = first; f < 6; ++f) {
        int off[3] = {0};

        off[f / 2] = f % 2 ? 1 : -1;
        in |= (unsigned)is_in(w, i, phase, off) << f;
    }
    for (joined = in & (0 - in); joined != before && joined != in;) {
        before = joined;
        for (int f = first; f < 6; ++f)
            for (int g = first; g < 6; ++g) {
                int off[3] = {0};

                if (f / 2 == g / 2 || !(joined >> f & 1) || !(in >> g & 1) || (joined >> g & 1)) continue;
                off[f / 2] = f % 2 ? 1 : -1;
                off[g / 2] = g % 2 ? 1 : -1;
                if (is_in(w, i, phase, off)) joined |= 1u << g;
            }
    }
    return joined == in;
}

/* On every face of the volume that site i lies on, is a neighbour there in @p phase as well? */
static int has_company(const struct mf_swap *w, size_t i, int phase)
{
    const size_t n[3] = {w->side[MF_Z].slices, w->side[MF_Z].nu, w->side[MF_Z].nv};
    const uint32_t *at = w->sites.site[i].at;
    int has = 1;

    for (int a = 0; a < 3; ++a) {
        int any = n[a] == 1 || (at[a] > 0 && at[a] + 1 < n[a]);

        for (int b = 0; b < 3; ++b)
            for (int step = -1; step < 2 && b != a; step += 2) {
                int off[3] = {0};

                off[b] = step;
                any |= is_in(w, i, phase, off);
            }
        has &= any;
    }
    return has;
}

int mf_swap_keeps(const struct mf_swap *w, size_t i)
{
    const struct mf_site *s = &w->sites.site[i];

    return is_joined(w, i, s->from) && is_joined(w, i, s->to) && has_company(w, i, s->from) && has_company(w, i, s->to);
}

int mf_swap_meet(const struct mf_swap *w, size_t i, size_t j)
{
    const struct mf_site *s = &w->sites.site[i], *t = &w->sites.site[j];
    int near = 1;

    for (int a = 0; a < 3; ++a) near &= s->at[a] <= t->at[a] + 1 && t->at[a] <= s->at[a] + 1;
    return near;
}

static size_t bins_of(const struct mf_swap *w, size_t d) { return w->by_rows ? w->side[d].nu : w->side[d].slices; }

static size_t bin_of(const struct mf_swap *w, size_t d, size_t i)
{
    return w->sites.site[i].at[w->by_rows ? mf_slice_u(d) : d];
}

void mf_swap_index(struct mf_swap *w)
{
    for (size_t d = 0; d < w->sites.sides; ++d) {
        const size_t bins = bins_of(w, d);
        uint32_t *start = w->start[d];

        memset(start, 0, (bins + 1) * sizeof *start);
        for (size_t i = 0; i < w->sites.count; ++i) ++start[bin_of(w, d, i) + 1];
        for (size_t s = 0; s < bins; ++s) start[s + 1] += start[s];
        for (size_t i = w->sites.count; i-- > 0;) w->member[d][--start[bin_of(w, d, i) + 1]] = (uint32_t)i;
        memmove(start, start + 1, bins * sizeof *start);
        start[bins] = (uint32_t)w->sites.count;
    }
}

static void set_bit(uint32_t *window, size_t words, size_t row, size_t column, int value)
{
    uint32_t *word = window + row * words + column / 32, mask = 1u << (column % 32);

    *word = value ? *word | mask : *word & ~mask;
}

/* The voxel at (du, dv) from site t changes from one phase to another. */
static void follow(struct mf_swap *w, size_t t, size_t d, ptrdiff_t du, ptrdiff_t dv, uint8_t from, uint8_t to)
{
    size_t words = w->sites.shape.words;
    ptrdiff_t c = (ptrdiff_t)(w->sites.shape.rows / 2);

    for (size_t k = 0; k < w->sites.planes; ++k) {
        uint8_t phase = phase_of(&w->sites.site[t], w->sites.planes, k);

        if (phase != from && phase != to) continue;
        set_bit(window_of(&w->sites, w->sites.window, t, d, k), words, (size_t)(c + du), (size_t)(c + dv), phase == to);
        set_bit(window_of(&w->sites, w->sites.mirror, t, d, k), words, (size_t)(c - du), (size_t)(c - dv), phase == to);
    }
}

/* Every site of a bin that has site i in its window. */
static void tell_bin(struct mf_swap *w, size_t d, size_t i, size_t bin)
{
    const struct mf_site *s = &w->sites.site[i];
    const struct mf_swap_side *side = &w->side[d];
    size_t u = mf_slice_u(d), v = mf_slice_v(d);
    ptrdiff_t lag = (ptrdiff_t)(w->sites.shape.rows / 2);

    for (uint32_t m = w->start[d][bin]; m < w->start[d][bin + 1]; ++m) {
        size_t t = w->member[d][m];
        ptrdiff_t du = apart(w->sites.site[t].at[u], s->at[u], side->nu, w->periodic);
        ptrdiff_t dv = apart(w->sites.site[t].at[v], s->at[v], side->nv, w->periodic);

        if (du > lag || -du > lag || dv > lag || -dv > lag) continue;
        if (du == 0 && dv == 0)
            w->used[t] = 1;
        else
            follow(w, t, d, du, dv, s->from, s->to);
    }
}

/* Every site of the same slice that has site i in its window. */
static void tell_slice(struct mf_swap *w, size_t d, size_t i)
{
    const ptrdiff_t lag = (ptrdiff_t)(w->sites.shape.rows / 2), bins = (ptrdiff_t)bins_of(w, d);
    const ptrdiff_t own = (ptrdiff_t)bin_of(w, d, i), reach = w->by_rows ? lag : 0;

    for (ptrdiff_t bin = own - reach; bin <= own + reach; ++bin) {
        const ptrdiff_t inside = bin < 0 ? bin + bins : bin < bins ? bin : bin - bins;

        if (inside == bin || w->periodic) tell_bin(w, d, i, (size_t)inside);
    }
}

void mf_swap_apply(struct mf_swap *w, size_t i)
{
    const struct mf_site *s = &w->sites.site[i];

    for (size_t d = 0; d < w->sites.sides; ++d) {
        const struct mf_swap_side *side = &w->side[d];

        for (size_t k = 0; k < w->sites.planes; ++k) {
            size_t field = field_of(s, w->sites.planes, k);
            float *r = residual_of(w, d, field, s->at[d]),
                  delta = (float)(delta_of(s, w->sites.planes, k) / side->pixels);

            side->v[field * side->slices + s->at[d]] += variation_change(w, d, i, k);
            flip->apply(&w->sites.shape, delta, side->a2, window_of(&w->sites, w->sites.window, i, d, k),
                        window_of(&w->sites, w->sites.mirror, i, d, k), r);
            r[mf_swap_centre(&w->sites.shape)] += delta;
        }
    }
    for (size_t d = 0; d < w->sites.sides; ++d) tell_slice(w, d, i);
}
