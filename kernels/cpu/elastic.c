/* See kernels/elastic.h: stresses of a plane, then the forces between planes. */
#include "kernels/elastic.h"

#include <string.h>

#include "kernels/cpu/fast.h"

#define INLINE static inline __attribute__((always_inline))

enum { LANES = 16, PLANES = 14 };

typedef const struct mf_elastic_grid grid;

/** Rows of neighbours, by their places. */
INLINE size_t next(size_t i, size_t n) { return i + 1 < n ? i + 1 : 0; }
INLINE size_t last(size_t i, size_t n) { return i ? i - 1 : n - 1; }

/* Floats of a plane of one number, with room before it. */
static size_t sheet(grid *g) { return g->n[1] * g->pitch + MF_ELASTIC_MARGIN; }

size_t mf_elastic_work(const struct mf_elastic_grid *g) { return PLANES * sheet(g); }

static float *sheet_of(grid *g, float *work, size_t i) { return work + i * sheet(g) + MF_ELASTIC_MARGIN; }

void mf_elastic_wrap(const struct mf_elastic_grid *g, size_t rows, float *x)
{
    for (size_t r = 0; r < rows; ++r, x += g->pitch) {
        x[-1] = x[g->n[2] - 1];
        x[g->n[2]] = x[0];
    }
}

/* -- sums -- */

INLINE void add_row(size_t n, const float *x, const float *y, double lane[LANES])
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; ++k) lane[k] += (double)x[i + k] * (y ? (double)y[i + k] : 1);
    for (size_t k = 0; i + k < n; ++k) lane[k] += (double)x[i + k] * (y ? (double)y[i + k] : 1);
}

INLINE double sum_of(grid *g, size_t rows, const float *x, const float *y)
{
    double lane[LANES] = {0}, sum = 0;

    for (size_t r = 0; r < rows; ++r) add_row(g->n[2], x + r * g->pitch, y ? y + r * g->pitch : NULL, lane);
    for (size_t k = 0; k < LANES; ++k) sum += lane[k];
    return sum;
}

MF_CPU_FAST double mf_elastic_dot(const struct mf_elastic_grid *g, const float *x, const float *y)
{
    return sum_of(g, 3 * g->n[1], x, y);
}

MF_CPU_FAST static double total(grid *g, const float *x) { return sum_of(g, g->n[1], x, NULL); }

MF_CPU_FAST void mf_elastic_turn(const struct mf_elastic_grid *g, float beta, const float *restrict x,
                                 float *restrict y)
{
    for (size_t r = 0; r < 3 * g->n[1]; ++r, x += g->pitch, y += g->pitch)
        for (size_t i = 0; i < g->n[2]; ++i) y[i] = x[i] + beta * y[i];
}

MF_CPU_FAST void mf_elastic_move(const struct mf_elastic_grid *g, float alpha, const float *restrict x,
                                 float *restrict y)
{
    for (size_t r = 0; r < 3 * g->n[1]; ++r, x += g->pitch, y += g->pitch)
        for (size_t i = 0; i < g->n[2]; ++i) y[i] += alpha * x[i];
}

/* -- staggered -- */

/* 1 / C44; infinite in voids. */
MF_CPU_FAST static void compliances(grid *g, const uint8_t *code, float *restrict to)
{
    float soft[MF_ELASTIC_PHASES];

    for (int p = 0; p < MF_ELASTIC_PHASES; ++p) soft[p] = 1 / g->shear[p];
    for (size_t y = 0; y < g->n[1]; ++y, code += g->n[2])
        for (size_t i = 0; i < g->n[2]; ++i) to[y * g->pitch + i] = soft[code[i]];
}

/* zz, yy, xx of a plane; u are its displacements. */
MF_CPU_FAST static void normals(grid *g, const uint8_t *code, const float *e, const float *u, float *const to[3])
{
    const size_t plane = mf_elastic_plane(g), nx = g->n[2];
    const float hz = g->per[0], hy = g->per[1], hx = g->per[2];

    for (size_t y = 0; y < g->n[1]; ++y, code += nx) {
        const size_t at = y * g->pitch;
        const float *z0 = u + 3 * at, *z1 = z0 + plane, *y0 = z0 + g->pitch, *x0 = y0 + g->pitch;
        const float *y1 = u + (3 * next(y, g->n[1]) + 1) * g->pitch;
        float *restrict zz = to[0] + at, *restrict yy = to[1] + at, *restrict xx = to[2] + at;

        for (size_t i = 0; i < nx; ++i) {
            const float ez = e[0] + hz * (z1[i] - z0[i]), ey = e[1] + hy * (y1[i] - y0[i]);
            const float ex = e[2] + hx * (x0[i + 1] - x0[i]), all = g->lateral[code[i]] * (ez + ey + ex);
            const float excess = g->excess[code[i]];

            zz[i] = all + excess * ez;
            yy[i] = all + excess * ey;
            xx[i] = all + excess * ex;
        }
    }
}

/* yx, zx, zy on the lower edges of a plane. Compliances of its voxels are c, and those of the plane below are d. */
MF_CPU_FAST static void shears(grid *g, const float *c, const float *d, const float *e, const float *u,
                               float *const to[3])
{
    const size_t plane = mf_elastic_plane(g), nx = g->n[2];
    const float hz = g->per[0], hy = g->per[1], hx = g->per[2];

    for (size_t y = 0; y < g->n[1]; ++y) {
        const size_t at = y * g->pitch, before = last(y, g->n[1]) * g->pitch;
        const float *zc = u + 3 * at, *yc = zc + g->pitch, *xc = yc + g->pitch, *yd = yc - plane, *xd = xc - plane;
        const float *zb = u + 3 * before, *xb = zb + 2 * g->pitch;
        const float *cc = c + at, *cb = c + before, *dc = d + at, *db = d + before;
        float *restrict yx = to[0] + at, *restrict zx = to[1] + at, *restrict zy = to[2] + at;

        for (ptrdiff_t i = 0; i < (ptrdiff_t)nx; ++i) {
            yx[i] = 4 / (cc[i] + cc[i - 1] + (cb[i] + cb[i - 1])) *
                    (e[3] + hy * (xc[i] - xb[i]) + hx * (yc[i] - yc[i - 1]));
            zx[i] = 4 / (cc[i] + cc[i - 1] + (dc[i] + dc[i - 1])) *
                    (e[4] + hz * (xc[i] - xd[i]) + hx * (zc[i] - zc[i - 1]));
            zy[i] = 4 / (cc[i] + cb[i] + (dc[i] + db[i])) * (e[5] + hz * (yc[i] - yd[i]) + hy * (zc[i] - zb[i]));
        }
    }
}

/* The plane has normal stresses n, and shear s on its lower edges. The plane below has zz, that above zx and zy. */
MF_CPU_FAST static void forces(grid *g, float *const n[3], const float *below, float *const s[3], float *const above[3],
                               float *to)
{
    const float hz = g->per[0], hy = g->per[1], hx = g->per[2];

    for (size_t y = 0; y < g->n[1]; ++y) {
        const size_t at = y * g->pitch, before = last(y, g->n[1]) * g->pitch, up = next(y, g->n[1]) * g->pitch;
        const float *zz = n[0] + at, *zd = below + at, *yy = n[1] + at, *yb = n[1] + before, *xx = n[2] + at;
        const float *yx = s[0] + at, *yxu = s[0] + up, *zx = s[1] + at, *zxa = above[1] + at;
        const float *zy = s[2] + at, *zyu = s[2] + up, *zya = above[2] + at;
        float *restrict fz = to + 3 * at, *restrict fy = fz + g->pitch, *restrict fx = fy + g->pitch;

        for (ptrdiff_t i = 0; i < (ptrdiff_t)g->n[2]; ++i) {
            fz[i] = hz * (zd[i] - zz[i]) + hx * (zx[i] - zx[i + 1]) + hy * (zy[i] - zyu[i]);
            fy[i] = hy * (yb[i] - yy[i]) + hx * (yx[i] - yx[i + 1]) + hz * (zy[i] - zya[i]);
            fx[i] = hx * (xx[i - 1] - xx[i]) + hy * (yx[i] - yxu[i]) + hz * (zx[i] - zxa[i]);
        }
    }
}

/* -- rotated -- */

/* The derivatives of one displacement in a voxel, from its corners. Rows a, b, c, d are (z, y), (z, y + 1), (z + 1, y)
 * and (z + 1, y + 1). */
#define DERIVE(a, b, c, d, i, dz, dy, dx)                                                             \
    const float dz = (c[i] - a[i]) + (d[i] - b[i]) + ((c[i + 1] - a[i + 1]) + (d[i + 1] - b[i + 1])); \
    const float dy = (b[i] - a[i]) + (d[i] - c[i]) + ((b[i + 1] - a[i + 1]) + (d[i + 1] - c[i + 1])); \
    const float dx = (a[i + 1] - a[i]) + (b[i + 1] - b[i]) + ((c[i + 1] - c[i]) + (d[i + 1] - d[i]))

MF_CPU_FAST static void rotated_stresses(grid *g, const uint8_t *code, const float *e, const float *u,
                                         float *const to[6])
{
    const size_t plane = mf_elastic_plane(g), nx = g->n[2];
    const float hz = g->per[0] / 4, hy = g->per[1] / 4, hx = g->per[2] / 4;

    for (size_t y = 0; y < g->n[1]; ++y, code += nx) {
        const size_t at = y * g->pitch;
        const float *za = u + 3 * at, *ya = za + g->pitch, *xa = ya + g->pitch;
        const float *zb = u + 3 * next(y, g->n[1]) * g->pitch, *yb = zb + g->pitch, *xb = yb + g->pitch;
        const float *zc = za + plane, *zd = zb + plane, *yc = ya + plane, *yd = yb + plane;
        const float *xc = xa + plane, *xd = xb + plane;
        float *restrict zz = to[0] + at, *restrict yy = to[1] + at, *restrict xx = to[2] + at;
        float *restrict yx = to[3] + at, *restrict zx = to[4] + at, *restrict zy = to[5] + at;

        for (size_t i = 0; i < nx; ++i) {
            DERIVE(za, zb, zc, zd, i, zz_, zy_, zx_);
            DERIVE(ya, yb, yc, yd, i, yz_, yy_, yx_);
            DERIVE(xa, xb, xc, xd, i, xz_, xy_, xx_);
            const float ez = e[0] + hz * zz_, ey = e[1] + hy * yy_, ex = e[2] + hx * xx_;
            const float all = g->lateral[code[i]] * (ez + ey + ex), excess = g->excess[code[i]];
            const float shear = g->shear[code[i]];

            zz[i] = all + excess * ez;
            yy[i] = all + excess * ey;
            xx[i] = all + excess * ex;
            yx[i] = shear * (e[3] + (hx * yx_ + hy * xy_));
            zx[i] = shear * (e[4] + (hx * zx_ + hz * xz_));
            zy[i] = shear * (e[5] + (hy * zy_ + hz * yz_));
        }
    }
}

/* A stress pulls at a corner by its derivatives. Rows around it are a (z - 1, y - 1), b (z - 1, y), c (z, y - 1),
 * d (z, y). Voxels above the corner pull back. */
#define GATHER_Z(a, b, c, d, i) ((a[i] - c[i]) + (b[i] - d[i]) + ((a[i - 1] - c[i - 1]) + (b[i - 1] - d[i - 1])))
#define GATHER_Y(a, b, c, d, i) ((a[i] - b[i]) + (c[i] - d[i]) + ((a[i - 1] - b[i - 1]) + (c[i - 1] - d[i - 1])))
#define GATHER_X(a, b, c, d, i) ((a[i - 1] - a[i]) + (b[i - 1] - b[i]) + ((c[i - 1] - c[i]) + (d[i - 1] - d[i])))
#define ROWS(name, k)                                                                                \
    const float *name##a = below[k] + before, *name##b = below[k] + at, *name##c = here[k] + before, \
                *name##d = here[k] + at
#define GATHER(axis, name, i) GATHER_##axis(name##a, name##b, name##c, name##d, i)

MF_CPU_FAST static void rotated_forces(grid *g, float *const here[6], float *const below[6], float *to)
{
    const float hz = g->per[0] / 4, hy = g->per[1] / 4, hx = g->per[2] / 4;

    for (size_t y = 0; y < g->n[1]; ++y) {
        const size_t at = y * g->pitch, before = last(y, g->n[1]) * g->pitch;
        float *restrict fz = to + 3 * at, *restrict fy = fz + g->pitch, *restrict fx = fy + g->pitch;
        ROWS(zz, 0);
        ROWS(yy, 1);
        ROWS(xx, 2);
        ROWS(yx, 3);
        ROWS(zx, 4);
        ROWS(zy, 5);

        for (ptrdiff_t i = 0; i < (ptrdiff_t)g->n[2]; ++i) {
            fz[i] = hz * GATHER(Z, zz, i) + hy * GATHER(Y, zy, i) + hx * GATHER(X, zx, i);
            fy[i] = hz * GATHER(Z, zy, i) + hy * GATHER(Y, yy, i) + hx * GATHER(X, yx, i);
            fx[i] = hz * GATHER(Z, zx, i) + hy * GATHER(Y, yx, i) + hx * GATHER(X, xx, i);
        }
    }
}

/* -- both -- */

/** Stresses of the plane at hand and of one beside it, which take turns. */
struct pass {
    const struct mf_elastic_grid *g;
    const uint8_t *code;
    const float *e;
    const float *x;
    float *n[2][3], *s[2][3], *soft[2];
};

static void wrap(grid *g, size_t planes, float *const *x)
{
    for (size_t i = 0; i < planes; ++i) mf_elastic_wrap(g, g->n[1], x[i]);
}

/* Planes of the arrays, where plane k may be -1. */
static const uint8_t *code_at(const struct pass *p, ptrdiff_t k)
{
    return p->code + k * (ptrdiff_t)(p->g->n[1] * p->g->n[2]);
}

static void find_normals(const struct pass *p, ptrdiff_t k, size_t slot)
{
    const float *u = p->x + k * (ptrdiff_t)mf_elastic_plane(p->g);

    if (p->g->rotated) {
        float *const to[6] = {p->n[slot][0], p->n[slot][1], p->n[slot][2], p->s[slot][0], p->s[slot][1], p->s[slot][2]};

        rotated_stresses(p->g, code_at(p, k), p->e, u, to);
        wrap(p->g, 6, to);
        return;
    }
    normals(p->g, code_at(p, k), p->e, u, p->n[slot]);
    wrap(p->g, 3, p->n[slot]);
}

static void find_soft(const struct pass *p, ptrdiff_t k, size_t slot)
{
    compliances(p->g, code_at(p, k), p->soft[slot]);
    mf_elastic_wrap(p->g, p->g->n[1], p->soft[slot]);
}

static void find_shears(const struct pass *p, ptrdiff_t k, size_t slot)
{
    const float *u = p->x + k * (ptrdiff_t)mf_elastic_plane(p->g);

    find_soft(p, k, slot);
    shears(p->g, p->soft[slot], p->soft[!slot], p->e, u, p->s[slot]);
    wrap(p->g, 3, p->s[slot]);
}

static void find_sums(const struct pass *p, const float *strain, size_t slot, size_t at, const float *y, double *sums)
{
    memset(sums, 0, MF_ELASTIC_SUMS * sizeof *sums);
    sums[0] = mf_elastic_dot(p->g, p->x + at, y + at);
    for (int a = 0; a < 3 && strain; ++a) {
        sums[1 + a] = total(p->g, p->n[slot][a]);
        sums[4 + a] = total(p->g, p->s[slot][a]);
    }
}

void mf_elastic_apply(const struct mf_elastic_grid *g, const uint8_t *code, const float *strain, const float *x,
                      float *y, size_t first, size_t count, float *work, double *sums)
{
    static const float none[6] = {0};
    struct pass p = {.g = g, .code = code, .e = strain ? strain : none, .x = x};

    if (count == 0) return;
    for (size_t i = 0; i < 6; ++i) {
        p.n[i / 3][i % 3] = sheet_of(g, work, i);
        p.s[i / 3][i % 3] = sheet_of(g, work, 6 + i);
    }
    for (size_t i = 0; i < 2; ++i) p.soft[i] = sheet_of(g, work, 12 + i);
    find_normals(&p, (ptrdiff_t)first - 1, !(first & 1));
    if (!g->rotated) find_soft(&p, (ptrdiff_t)first - 1, !(first & 1));
    if (!g->rotated) find_shears(&p, (ptrdiff_t)first, first & 1);
    for (size_t k = first; k < first + count; ++k) {
        const size_t at = k * mf_elastic_plane(g), slot = k & 1;

        find_normals(&p, (ptrdiff_t)k, slot);
        if (g->rotated) {
            float *const here[6] = {p.n[slot][0], p.n[slot][1], p.n[slot][2], p.s[slot][0], p.s[slot][1], p.s[slot][2]};
            float *const below[6] = {p.n[!slot][0], p.n[!slot][1], p.n[!slot][2],
                                     p.s[!slot][0], p.s[!slot][1], p.s[!slot][2]};

            rotated_forces(g, here, below, y + at);
        } else {
            find_shears(&p, (ptrdiff_t)k + 1, !slot);
            forces(g, p.n[slot], p.n[!slot][0], p.s[slot], p.s[!slot], y + at);
        }
        find_sums(&p, strain, slot, at, y, sums + k * MF_ELASTIC_SUMS);
    }
}
