/* See kernels/labels.h. */
#include "kernels/cuda/pass.cuh"

namespace
{

/* -- all voxels -- */

struct replace_body {
    uint8_t from, to, *label;
    __device__ void operator()(size_t i) const
    {
        if (label[i] == from) label[i] = to;
    }
};

struct lead_body {
    const float *x;
    size_t stride, phases, phase;
    uint32_t rivals;
    const uint8_t *label;
    float *score;
    __device__ void operator()(size_t i) const
    {
        score[i] = label[i] == MF_LABEL_OPEN ? mf_lead_of(x + i, stride, phases, phase, rivals) : -INFINITY;
    }
};

struct indicate_body {
    size_t stride;
    int one; /* field: the indicator of phase 1 */
    const uint8_t *label;
    float *x;
    __device__ void operator()(size_t i) const { x[i] = label[i % stride] == (one ? 1 : i / stride) ? 1.0f : 0.0f; }
};

struct hold_body {
    size_t stride;
    const uint8_t *fixed;
    float value, *x;
    __device__ void operator()(size_t i) const
    {
        if (fixed[i % stride] != MF_LABEL_OPEN) x[i] = value;
    }
};

struct change_body {
    const struct mf_change *change;
    uint8_t *label;
    __device__ void operator()(size_t i) const { label[change[i].voxel] = change[i].label; }
};

void fill(struct mf_queue *q, size_t n, uint8_t value, uint8_t *label)
{
    MF_CUDA(cudaMemsetAsync(label, value, n, mf_cuda_of(q)->stream));
}

void replace(struct mf_queue *q, size_t n, uint8_t from, uint8_t to, uint8_t *label)
{
    mf_each(q, n, replace_body{from, to, label});
}

void lead(struct mf_queue *q, struct mf_extent e, const float *x, size_t phase, uint32_t rivals, const uint8_t *label,
          float *score)
{
    const size_t n = e.planes * e.plane;

    mf_each(q, n, lead_body{x, n, e.phases, phase, rivals, label, score});
}

void indicate(struct mf_queue *q, struct mf_extent e, const uint8_t *label, float *x)
{
    const size_t n = e.planes * e.plane;

    mf_each(q, e.phases * n, indicate_body{n, e.phases == 1, label, x});
}

void hold(struct mf_queue *q, struct mf_extent e, const uint8_t *fixed, float value, float *x)
{
    const size_t n = e.planes * e.plane;

    mf_each(q, e.phases * n, hold_body{n, fixed, value, x});
}

void change(struct mf_queue *q, size_t n, const struct mf_change *what, uint8_t *label)
{
    mf_each(q, n, change_body{what, label});
}

/* -- moves -- */

/* Voxel i of a slab. */
struct place {
    size_t z, y, x;
    __device__ place(const struct mf_labels &l, size_t i) : z(i / (l.ny * l.nx)), y(i / l.nx % l.ny), x(i % l.nx) {}
};

struct rank_body {
    struct mf_labels l;
    struct mf_moves m;
    float *score;
    __device__ void operator()(size_t i) const
    {
        const struct place at(l, i);
        float to = -INFINITY, rest;

        if (l.own[i] == m.from) {
            const struct mf_near near = mf_near_of(&l, at.z, at.y, at.x);

            if (mf_near_touches(&near, m.to)) to = -mf_move_energy(&m, &l, at.z, at.y, at.x, &near, &rest);
        }
        score[i] = to;
    }
};

void rank(struct mf_queue *q, const struct mf_labels *l, const struct mf_moves *m, float *score)
{
    mf_each(q, l->planes * l->ny * l->nx, rank_body{*l, *m, score});
}

struct rest_body {
    struct mf_labels l;
    struct mf_moves m;
    const struct mf_pick *pick;
    float *rest;
    __device__ void operator()(size_t i) const
    {
        const struct place at(l, pick[i].voxel);
        const struct mf_near near = mf_near_of(&l, at.z, at.y, at.x);
        float mine;

        (void)mf_move_energy(&m, &l, at.z, at.y, at.x, &near, &mine);
        rest[i] = mine;
    }
};

/* Word i of all windows. */
struct window_body {
    struct mf_labels l;
    struct mf_moves m;
    struct mf_window_shape shape;
    const struct mf_pick *pick;
    uint32_t *window;
    __device__ void operator()(size_t i) const
    {
        const size_t phases = mf_move_phases(&m), word = i % shape.words, row = i / shape.words % shape.rows;
        const size_t which = i / shape.n, k = which % phases, side = which / phases % m.sides;
        const struct place at(l, pick[which / phases / m.sides].voxel);
        const uint8_t phase = mf_move_phase(&m, k);
        const ptrdiff_t border = ptrdiff_t(shape.rows / 2), du = ptrdiff_t(row) - border;
        uint32_t bits = 0;

        for (size_t b = 0; b < 32 && word * 32 + b < shape.rows; ++b) {
            const ptrdiff_t dv = ptrdiff_t(word * 32 + b) - border;

            if ((du || dv) && mf_near_bit(&l, int(side), at.z, at.y, at.x, du, dv, phase)) bits |= 1u << b;
        }
        window[i] = bits;
    }
};

void look(struct mf_queue *q, const struct mf_labels *l, const struct mf_moves *m, const struct mf_window_shape *shape,
          size_t n, const struct mf_pick *pick, float *rest, uint32_t *window)
{
    const size_t words = n * m->sides * mf_move_phases(m) * shape->n;

    MF_SPOIL(rest, n * sizeof *rest);
    MF_SPOIL(window, words * sizeof *window);
    mf_each(q, n, rest_body{*l, *m, pick, rest});
    mf_each(q, words, window_body{*l, *m, *shape, pick, window});
}

} // namespace

const struct mf_label_ops mf_label_cuda = {.fill = fill,
                                           .replace = replace,
                                           .lead = lead,
                                           .indicate = indicate,
                                           .hold = hold,
                                           .change = change,
                                           .rank = rank,
                                           .look = look};
