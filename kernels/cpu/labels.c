/* See kernels/labels.h. */
#include "kernels/labels.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

/* -- all voxels -- */

static void fill(struct mf_queue *q, size_t n, uint8_t value, uint8_t *label)
{
    (void)q;
    memset(label, value, n);
}

MF_CPU_FAST static void replace_piece(size_t n, uint8_t from, uint8_t to, uint8_t *label)
{
    for (size_t i = 0; i < n; ++i) label[i] = label[i] == from ? to : label[i];
}

static void replace(struct mf_queue *q, size_t n, uint8_t from, uint8_t to, uint8_t *label)
{
    (void)q;
    replace_piece(n, from, to, label);
}

static void lead(struct mf_queue *q, struct mf_extent e, const float *x, size_t phase, uint32_t rivals,
                 const uint8_t *label, float *score)
{
    const size_t n = e.planes * e.plane;

#pragma omp parallel for num_threads(mf_cpu_threads(q, n)) schedule(static)
    for (size_t at = 0; at < n; at += MF_CPU_SERIAL) {
        const size_t end = n - at < MF_CPU_SERIAL ? n : at + MF_CPU_SERIAL;

        mf_pulse_tell("labels");
        for (size_t i = at; i < end; ++i)
            score[i] = label[i] == MF_LABEL_OPEN ? mf_lead_of(x + i, n, e.phases, phase, rivals) : -INFINITY;
    }
}

MF_CPU_FAST static void indicate_plane(size_t n, const uint8_t *label, uint8_t phase, float *x)
{
    for (size_t i = 0; i < n; ++i) x[i] = label[i] == phase ? 1.0f : 0.0f;
}

static void indicate(struct mf_queue *q, struct mf_extent e, const uint8_t *label, float *x)
{
    const size_t all = e.phases * e.planes;

#pragma omp parallel for num_threads(mf_cpu_threads(q, all *e.plane)) schedule(static)
    for (size_t k = 0; k < all; ++k) {
        mf_pulse_tell("labels");
        indicate_plane(e.plane, label + k % e.planes * e.plane, (uint8_t)(e.phases == 1 ? 1 : k / e.planes),
                       x + k * e.plane);
    }
}

MF_CPU_FAST static void hold_plane(size_t n, const uint8_t *fixed, float value, float *x)
{
    for (size_t i = 0; i < n; ++i) x[i] = fixed[i] == MF_LABEL_OPEN ? x[i] : value;
}

static void hold(struct mf_queue *q, struct mf_extent e, const uint8_t *fixed, float value, float *x)
{
    const size_t all = e.phases * e.planes;

#pragma omp parallel for num_threads(mf_cpu_threads(q, all *e.plane)) schedule(static)
    for (size_t k = 0; k < all; ++k) {
        mf_pulse_tell("labels");
        hold_plane(e.plane, fixed + k % e.planes * e.plane, value, x + k * e.plane);
    }
}

static void change(struct mf_queue *q, size_t n, const struct mf_change *change, uint8_t *label)
{
    (void)q;
    for (size_t i = 0; i < n; ++i) label[change[i].voxel] = change[i].label;
}

/* -- moves -- */

/* Rows around a row of voxels; where the field ends, the labels are none. */
struct rows {
    const uint8_t *at, *near[2][2]; /* along z, along y */
};

static const uint8_t *row_of(const struct mf_labels *l, ptrdiff_t z, ptrdiff_t y)
{
    const uint8_t *plane = mf_near_plane(l, z);
    const size_t j = mf_near_index(y, l->ny, l->periodic);

    return plane && j < l->ny ? plane + j * l->nx : NULL;
}

static struct rows rows_of(const struct mf_labels *l, size_t z, size_t y)
{
    const ptrdiff_t k = (ptrdiff_t)z, j = (ptrdiff_t)y;

    return (struct rows){l->own + (z * l->ny + y) * l->nx,
                         {{row_of(l, k - 1, j), row_of(l, k + 1, j)}, {row_of(l, k, j - 1), row_of(l, k, j + 1)}}};
}

/* True where one of the neighbours is of phase @p to; 0 < x < nx - 1. */
static inline int touches(const struct rows *r, size_t x, uint8_t to)
{
    if (r->at[x - 1] == to || r->at[x + 1] == to) return 1;
    for (int a = 0; a < 2; ++a)
        for (int k = 0; k < 2; ++k)
            if (r->near[a][k] && r->near[a][k][x] == to) return 1;
    return 0;
}

static void rank_row(const struct mf_labels *l, const struct mf_moves *m, size_t z, size_t y, float *score)
{
    const struct rows r = rows_of(l, z, y);

    for (size_t x = 0; x < l->nx; ++x) {
        struct mf_near near;
        float rest;

        score[x] = -INFINITY;
        if (r.at[x] != m->from) continue;
        if (x > 0 && x + 1 < l->nx && !touches(&r, x, m->to)) continue;
        near = mf_near_of(l, z, y, x);
        if (mf_near_touches(&near, m->to)) score[x] = -mf_move_energy(m, l, z, y, x, &near, &rest);
    }
}

static void rank(struct mf_queue *q, const struct mf_labels *labels, const struct mf_moves *moves, float *score)
{
    const size_t plane = labels->ny * labels->nx;

#pragma omp parallel for num_threads(mf_cpu_threads(q, labels->planes *plane)) schedule(static) collapse(2)
    for (size_t z = 0; z < labels->planes; ++z)
        for (size_t y = 0; y < labels->ny; ++y) {
            mf_pulse_tell("polish");
            rank_row(labels, moves, z, y, score + z * plane + y * labels->nx);
        }
}

/* -- the bits around a voxel -- */

/* 32 labels against a phase: a bit each. */
static inline uint32_t compare32(const uint8_t *label, uint8_t phase)
{
    typedef uint8_t v16 __attribute__((vector_size(16), aligned(1), may_alias));
    typedef char c16 __attribute__((vector_size(16)));
    uint32_t bits = 0;

    for (int half = 0; half < 2; ++half) {
        c16 same = (c16)(*(const v16 *)(label + 16 * half) == phase);
#ifdef __SSE2__
        bits |= (uint32_t)__builtin_ia32_pmovmskb128(same) << (16 * half);
#else
        for (int i = 0; i < 16; ++i) bits |= (uint32_t)(same[i] & 1) << (16 * half + i);
#endif
    }
    return bits;
}

enum { LINE = 512 }; /* labels of a window's row at a time, whole words */

/* Labels at places first .. first + n of an axis of @p size, @p stride apart; none where the field ends. */
static void gather(const uint8_t *from, size_t stride, size_t size, int periodic, ptrdiff_t first, size_t n,
                   uint8_t *line)
{
    for (size_t i = 0, run; i < n; i += run) {
        const ptrdiff_t place = first + (ptrdiff_t)i;
        const size_t at = mf_near_index(place, size, periodic);

        run = at < size ? size - at : place < 0 ? (size_t)-place : n;
        if (run > n - i) run = n - i;
        if (at == size)
            memset(line + i, MF_LABEL_NONE, run);
        else if (stride == 1)
            memcpy(line + i, from + at, run);
        else
            for (size_t k = 0; k < run; ++k) line[i + k] = from[(at + k) * stride];
    }
}

/* One row of a window: pixels (du, -border ..) of the slice normal to @p side. */
static void window_row(const struct mf_labels *l, int side, const size_t at[3], ptrdiff_t du, ptrdiff_t first, size_t n,
                       uint8_t *line)
{
    const ptrdiff_t z = (ptrdiff_t)at[0], y = (ptrdiff_t)at[1];
    const uint8_t *from = side == 0 ? row_of(l, z, y + du) : side == 1 ? row_of(l, z + du, y) : row_of(l, z + du, 0);

    if (!from)
        memset(line, MF_LABEL_NONE, n);
    else if (side == 2)
        gather(from + at[2], l->nx, l->ny, l->periodic, y + first, n, line);
    else
        gather(from, 1, l->nx, l->periodic, (ptrdiff_t)at[2] + first, n, line);
}

static void window_of(const struct mf_labels *l, const struct mf_window_shape *shape, int side, const size_t at[3],
                      size_t phases, const uint8_t phase[2], uint32_t *window)
{
    const size_t border = shape->rows / 2, centre = border * shape->words + border / 32;
    uint8_t line[LINE];

    for (size_t k = 0; k < shape->rows; ++k)
        for (size_t j = 0, n; j < shape->words; j += n / 32) {
            const size_t left = shape->rows - 32 * j, take = left < LINE ? left : LINE;

            n = (take + 31) / 32 * 32;
            memset(line + take, MF_LABEL_NONE, n - take); /* spare bits */
            window_row(l, side, at, (ptrdiff_t)k - (ptrdiff_t)border, (ptrdiff_t)(32 * j) - (ptrdiff_t)border, take,
                       line);
            for (size_t p = 0; p < phases; ++p)
                for (size_t w = 0; w < n / 32; ++w)
                    window[p * shape->n + k * shape->words + j + w] = compare32(line + 32 * w, phase[p]);
        }
    for (size_t p = 0; p < phases; ++p) window[p * shape->n + centre] &= ~(1u << (border % 32));
}

static void look(struct mf_queue *q, const struct mf_labels *l, const struct mf_moves *m,
                 const struct mf_window_shape *shape, size_t n, const struct mf_pick *pick, float *rest,
                 uint32_t *window)
{
    const size_t phases = mf_move_phases(m), size = m->sides * phases * shape->n;
    const uint8_t phase[2] = {mf_move_phase(m, 0), mf_move_phase(m, 1)};

#pragma omp parallel for num_threads(q->threads) schedule(static)
    for (size_t i = 0; i < n; ++i) {
        const size_t plane = l->ny * l->nx, v = pick[i].voxel;
        const size_t at[3] = {v / plane, v % plane / l->nx, v % l->nx};
        const struct mf_near near = mf_near_of(l, at[0], at[1], at[2]);

        mf_pulse_tell("polish");
        (void)mf_move_energy(m, l, at[0], at[1], at[2], &near, &rest[i]);
        for (size_t d = 0; d < m->sides; ++d)
            window_of(l, shape, (int)d, at, phases, phase, window + i * size + d * phases * shape->n);
    }
}

const struct mf_label_ops mf_label_cpu = {.fill = fill,
                                          .replace = replace,
                                          .lead = lead,
                                          .indicate = indicate,
                                          .hold = hold,
                                          .change = change,
                                          .rank = rank,
                                          .look = look};
