/* See slice.cuh. */
#include "kernels/cuda/slices/slice.cuh"

namespace
{

/* Mean of 2 x 2 pixels; a last odd row or column is dropped. */
struct pool_body {
    struct mf_view fine, coarse;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        const float *x = fine.base + mf_at(fine, s, 2 * u, 2 * v);

        coarse.base[mf_at(coarse, s, u, v)] = 0.25f * ((x[0] + x[fine.sv]) + (x[fine.su] + x[fine.su + fine.sv]));
    }
};

struct pass_body {
    struct mf_view coarse, g;
    int add;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        float *to = g.base + mf_at(g, s, u, v);
        const float from = mf_from_coarse(coarse, s, u, v);

        *to = add ? *to + from : from;
    }
};

/* A view without gaps, its axes in the order of x's. */
struct mf_view like(const struct mf_view *x, float *base, size_t nu, size_t nv)
{
    if (mf_side_by_side(x)) return {base, x->count, nu, nv, 1, nv * x->count, x->count};
    return {base, x->count, nu, nv, nu * nv, nv, 1};
}

} // namespace

int mf_pyramid_open(struct mf_pyramid *p, struct mf_queue *q, const struct mf_slice_desc *desc, size_t fields)
{
    *p = {};
    p->levels = desc->levels;
    mf_areas_pyramid(desc, fields, &p->areas);
    if (p->levels == 1) return MF_OK;
    p->x = static_cast<float *>(mf_arena_take(q->arena, p->areas.x, "slice levels"));
    p->g = static_cast<float *>(mf_arena_take(q->arena, p->areas.g, "slice levels"));
    return p->x && p->g ? MF_OK : MF_MEMORY;
}

void mf_pyramid_close(struct mf_pyramid *p, struct mf_queue *q)
{
    mf_arena_give(q->arena, p->x);
    mf_arena_give(q->arena, p->g);
}

struct mf_view mf_pyramid_view(const struct mf_pyramid *p, const struct mf_view *x, size_t l, size_t field)
{
    const struct mf_pyramid_areas *a = &p->areas;

    return l == 0 ? *x : like(x, p->x + field * a->numbers + a->from[l], a->nu[l], a->nv[l]);
}

struct mf_view mf_pyramid_gradient(const struct mf_pyramid *p, const struct mf_view *g, size_t l)
{
    const struct mf_pyramid_areas *a = &p->areas;

    return l == 0 || !g->base ? *g : like(g, p->g + a->from[l], a->nu[l], a->nv[l]);
}

void mf_coarsen(struct mf_queue *q, const struct mf_view &fine, const struct mf_view &coarse)
{
    mf_pixels(q, coarse, pool_body{fine, coarse});
}

void mf_pyramid_fill(const struct mf_pyramid *p, struct mf_queue *q, const struct mf_view *x, size_t field)
{
    for (size_t l = 1; l < p->levels; ++l)
        mf_coarsen(q, mf_pyramid_view(p, x, l - 1, field), mf_pyramid_view(p, x, l, field));
}

void mf_pyramid_pass(struct mf_queue *q, const struct mf_view &coarse, const struct mf_view &g, int add)
{
    mf_pixels(q, g, pass_body{coarse, g, add});
}
