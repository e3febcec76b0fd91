/* See slice.cuh. */
#include "kernels/cuda/slices/slice.cuh"

#include "kernels/cuda/pass.cuh"

namespace
{

/* -- pooling: a block has a tile of 8 rows; 32 columns of 8 slices, or 8 columns of 32 slices side by side -- */

constexpr unsigned POOL_THREADS = 256, ROWS = 3, FEW = 3, MANY = 5; /* binary logarithms */

struct pools {
    int count;
    unsigned first[MF_POOLS + 1]; /* blocks of the jobs */
    struct mf_pool job[MF_POOLS];
};

/* Binary logarithms of a tile's extents at a level, and where its numbers are. */
struct tile {
    unsigned slices, rows, columns;
    int lanes;

    __device__ unsigned at(unsigned s, unsigned u, unsigned v) const
    {
        return lanes ? (((u << columns) + v) << slices) + s : (((s << rows) + u) << columns) + v;
    }
};

__host__ __device__ struct tile tile_of(const struct mf_pool &j, unsigned level)
{
    if (mf_side_by_side(&j.level[0])) return {MANY, ROWS - level, FEW - level, 1};
    return {FEW, ROWS - level, MANY - level, 0};
}

__host__ __device__ unsigned pieces(size_t n, unsigned shift) { return unsigned((n + (1u << shift) - 1) >> shift); }

/* Tiles of a job: those whose level 1 has pixels. */
unsigned tiles_of(const struct mf_pool &j)
{
    const struct tile t = tile_of(j, 1);

    return pieces(j.level[0].count, t.slices) * pieces(j.level[1].nu, t.rows) * pieces(j.level[1].nv, t.columns);
}

__device__ float mean_of(const struct mf_view &x, size_t s, size_t u, size_t v)
{
    const float *a = x.base + mf_at(x, s, 2 * u, 2 * v);

    return 0.25f * ((a[0] + a[x.sv]) + (a[x.su] + a[x.su + x.sv]));
}

__device__ float mean_of(const struct tile &t, const float *x, unsigned s, unsigned u, unsigned v)
{
    return 0.25f * ((x[t.at(s, 2 * u, 2 * v)] + x[t.at(s, 2 * u, 2 * v + 1)]) +
                    (x[t.at(s, 2 * u + 1, 2 * v)] + x[t.at(s, 2 * u + 1, 2 * v + 1)]));
}

/* The first slice, row and column of a tile, in tiles. */
struct corner {
    unsigned s, u, v;
};

__device__ struct corner corner_of(const struct mf_pool &j, unsigned number)
{
    const struct tile t = tile_of(j, 1);
    const unsigned rows = pieces(j.level[1].nu, t.rows), columns = pieces(j.level[1].nv, t.columns);
    const unsigned groups = pieces(j.level[0].count, t.slices);

    if (t.lanes) return {number % groups, number / groups / columns, number / groups % columns};
    return {number / columns / rows, number / columns % rows, number % columns};
}

/* Level l of a tile: from memory, or from what is held of the level before. */
__device__ void pool_level(const struct mf_pool &j, const struct corner &at, unsigned l, const float *before,
                           float *here)
{
    const struct tile t = tile_of(j, l), finer = tile_of(j, l - 1);
    const struct mf_view &to = j.level[l];
    const unsigned low = t.lanes ? t.slices : t.columns, mid = t.lanes ? t.columns : t.rows;

    for (unsigned i = threadIdx.x; i < 1u << (t.slices + t.rows + t.columns); i += POOL_THREADS) {
        const unsigned a = i & ((1u << low) - 1), b = i >> low & ((1u << mid) - 1), c = i >> (low + mid);
        const unsigned s = t.lanes ? a : c, u = t.lanes ? c : b, v = t.lanes ? b : a;
        const size_t is = (size_t(at.s) << t.slices) + s, iu = (size_t(at.u) << t.rows) + u;
        const size_t iv = (size_t(at.v) << t.columns) + v;

        if (is >= to.count || iu >= to.nu || iv >= to.nv) continue;
        here[i] = l == 1 ? mean_of(j.level[0], is, iu, iv) : mean_of(finer, before, s, u, v);
        to.base[mf_at(to, is, iu, iv)] = here[i];
    }
    __syncthreads();
}

__global__ void __launch_bounds__(POOL_THREADS) pool(const __grid_constant__ struct pools p)
{
    MF_SHARED(float, held); /* the tile at its levels */
    int own = 0;

    while (blockIdx.x >= p.first[own + 1]) ++own;
    const struct mf_pool &j = p.job[own];
    const struct corner at = corner_of(j, blockIdx.x - p.first[own]);

    pool_level(j, at, 1, nullptr, held);
    if (j.levels > 1) pool_level(j, at, 2, held, held + 512);
    if (j.levels > 2) pool_level(j, at, 3, held + 512, held);
}

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

struct drain_body {
    int64_t *tally;
    double *sum;
    __device__ void operator()(size_t i) const
    {
        sum[i] = mf_compare_of(tally[i]);
        tally[i] = 0;
    }
};

} // namespace

void mf_pool_run(struct mf_queue *q, const struct mf_pool *job, int count)
{
    struct pools p = {};

    for (int i = 0; i < count; ++i) {
        const unsigned tiles = job[i].levels ? tiles_of(job[i]) : 0;

        p.job[i] = job[i];
        p.first[i + 1] = p.first[i] + tiles;
    }
    p.count = count;
    if (p.first[count]) MF_RUN(pool, p.first[count], POOL_THREADS, sizeof(float[512 + 128]), q, p);
}

int mf_pyramid_open(struct mf_pyramid *p, struct mf_queue *q, const struct mf_slice_desc *desc, size_t slices)
{
    *p = {};
    p->levels = desc->levels;
    mf_areas_pyramid(desc, slices, &p->areas);
    if (p->levels == 1) return MF_OK;
    p->x = static_cast<float *>(mf_arena_take(q->arena, p->areas.bytes, "slice levels"));
    p->g = static_cast<float *>(mf_arena_take(q->arena, p->areas.bytes, "slice levels"));
    return p->x && p->g ? MF_OK : MF_MEMORY;
}

void mf_pyramid_close(struct mf_pyramid *p, struct mf_queue *q)
{
    mf_arena_give(q->arena, p->x);
    mf_arena_give(q->arena, p->g);
}

struct mf_view mf_pyramid_view(const struct mf_pyramid *p, const struct mf_view *x, size_t l, size_t slot)
{
    const struct mf_pyramid_areas *a = &p->areas;

    return l == 0 ? *x : like(x, p->x + a->from[l] + slot * a->nu[l] * a->nv[l], a->nu[l], a->nv[l]);
}

struct mf_view mf_pyramid_gradient(const struct mf_pyramid *p, const struct mf_view *g, size_t l, size_t slot)
{
    const struct mf_pyramid_areas *a = &p->areas;

    return l == 0 || !g->base ? *g : like(g, p->g + a->from[l] + slot * a->nu[l] * a->nv[l], a->nu[l], a->nv[l]);
}

struct mf_pool mf_pyramid_pool(const struct mf_pyramid *p, const struct mf_view *x, size_t from, size_t slot)
{
    struct mf_pool job = {};

    job.level[0] = mf_pyramid_view(p, x, from, slot);
    while (job.levels < MF_POOL_LEVELS && from + size_t(job.levels) + 1 < p->levels) {
        ++job.levels;
        job.level[job.levels] = mf_pyramid_view(p, x, from + size_t(job.levels), slot);
    }
    return job;
}

void mf_pyramid_fill(const struct mf_pyramid *p, struct mf_queue *q, const struct mf_view *x)
{
    for (size_t from = 0; from + 1 < p->levels; from += MF_POOL_LEVELS) {
        const struct mf_pool job = mf_pyramid_pool(p, x, from, 0);

        mf_pool_run(q, &job, 1);
    }
}

void mf_pyramid_pass(struct mf_queue *q, const struct mf_view &coarse, const struct mf_view &g, int add)
{
    mf_pixels(q, g, pass_body{coarse, g, add});
}

void mf_slices_drain(struct mf_queue *q, size_t n, int64_t *tally, double *sum)
{
    MF_SPOIL(sum, n * sizeof *sum);
    mf_each(q, n, drain_body{tally, sum});
}
