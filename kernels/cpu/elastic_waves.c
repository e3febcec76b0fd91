/* See kernels/elastic.h: a homogeneous medium, wave by wave. */
#include <math.h>

#include "kernels/cpu/fast.h"
#include "kernels/elastic.h"

/* exp(i a) - 1 over the edge; (1 + exp(i a)) / 2, whose zero at half the waves is exact. */
static void wave(size_t k, size_t n, double per, int rotated, float difference[2], float mean[2])
{
    const double angle = 2 * 3.14159265358979323846 * (double)k / (double)n;
    const double c = 2 * k == n ? -1 : cos(angle), s = 2 * k == n ? 0 : sin(angle);

    difference[0] = (float)(per * (c - 1));
    difference[1] = (float)(per * s);
    mean[0] = rotated ? (float)((1 + c) / 2) : 1;
    mean[1] = rotated ? (float)(s / 2) : 0;
}

void mf_elastic_waves(const struct mf_elastic_grid *g, const struct mf_elastic_waves *w)
{
    for (int a = 0; a < 3; ++a)
        for (size_t k = 0; k < (a == 2 ? g->n[a] / 2 + 1 : g->n[a]); ++k)
            wave(k, g->n[a], g->per[a], g->rotated, w->difference[a] + 2 * k, w->mean[a] + 2 * k);
}

/** A complex number. */
struct complex {
    float re, im;
};

static inline __attribute__((always_inline)) struct complex at(const float *x, size_t k)
{
    return (struct complex){x[2 * k], x[2 * k + 1]};
}

static inline __attribute__((always_inline)) struct complex times(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* u = (f - ratio conj(d) (d f) / |d|^2) / |d|^2, of the derivatives d of a wave. */
MF_CPU_FAST static void respond_row(size_t n, const struct complex of[3], const float *restrict difference,
                                    const float *restrict mean, float ratio, float scale, float *restrict z,
                                    float *restrict y, float *restrict x)
{
    for (size_t k = 0; k < n; ++k) {
        const struct complex m = at(mean, k), dz = times(of[0], m), dy = times(of[1], m);
        const struct complex dx = times(of[2], at(difference, k)), fz = at(z, k), fy = at(y, k), fx = at(x, k);
        const float square =
            dz.re * dz.re + dz.im * dz.im + (dy.re * dy.re + dy.im * dy.im) + (dx.re * dx.re + dx.im * dx.im);
        const float by = square > 0 ? 1 / square : 0, part = ratio * by, all = scale * by;
        const struct complex pz = times(dz, fz), py = times(dy, fy), px = times(dx, fx);
        const struct complex s = {part * (pz.re + py.re + px.re), part * (pz.im + py.im + px.im)};

        z[2 * k] = all * (fz.re - (dz.re * s.re + dz.im * s.im));
        z[2 * k + 1] = all * (fz.im - (dz.re * s.im - dz.im * s.re));
        y[2 * k] = all * (fy.re - (dy.re * s.re + dy.im * s.im));
        y[2 * k + 1] = all * (fy.im - (dy.re * s.im - dy.im * s.re));
        x[2 * k] = all * (fx.re - (dx.re * s.re + dx.im * s.im));
        x[2 * k + 1] = all * (fx.im - (dx.re * s.im - dx.im * s.re));
    }
}

void mf_elastic_respond(const struct mf_elastic_grid *g, const struct mf_elastic_waves *w, size_t ky, float ratio,
                        float scale, float *slice)
{
    const struct complex hy = at(w->mean[1], ky), gy = at(w->difference[1], ky);

    for (size_t k = 0; k < g->n[0]; ++k) {
        const struct complex hz = at(w->mean[0], k), gz = at(w->difference[0], k);
        const struct complex of[3] = {times(gz, hy), times(gy, hz), times(hz, hy)};
        float *row = slice + 3 * k * g->pitch;

        respond_row(g->n[2] / 2 + 1, of, w->difference[2], w->mean[2], ratio, scale, row, row + g->pitch,
                    row + 2 * g->pitch);
    }
}
