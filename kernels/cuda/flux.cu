/* See kernels/flux.h. A thread works on a cell, a warp on a row whose numbers are summed (flux_sums.cu). Passes over
 * small grids share a launch of one block (batch()). Rule: the bits are those of cpu. No product is joined with a sum
 * (CMakeLists.txt).
 */
#include <stdlib.h>

#include "kernels/cuda/flux.cuh"

namespace
{

/* Passes up to WRAP may share a launch. */
enum kind { RELAX, BEGIN, BEGIN_BOTH, RESTRICT, ADD, WRAP, MOVE, TURN, LIFT, COARSEN, FINISH };

/** The arguments of a pass beside its grids. */
struct args {
    const float *from, *more;
    float *x, *out;
    float number;
    uint8_t kind, way, grid, coarse; /* way: a colour or an axis; grid, coarse: places in the list of a batch */
    uint8_t by[3];
};

/* -- one cell -- */

/* The potential at which the residual of a cell is 0, where its neighbours add @p sum to b. */
__device__ float settle(const mf_flux_grid &g, size_t i, float sum)
{
    if (g.count) return g.count[i] ? sum / float(g.count[i]) : 0.0f;
    return sum * g.w[i];
}

__device__ unsigned colour_of(const mf_flux_grid &g, unsigned z, unsigned y, unsigned k)
{
    return (z + y + k + unsigned(g.odd)) & 1;
}

/* The potential of colour 1 that follows from those of colour 0, which follow from x = 0. Outside of the own cells x is
 * given. */
__device__ float settle_after(const mf_flux_grid &g, const args &a, unsigned z, unsigned y, unsigned k)
{
    const size_t sy = mf_flux_row(&g), sz = mf_flux_plane(&g), i = mf_cell_at(g, z, y, k);
    const auto value = [&](bool own, size_t at) { return own ? settle(g, at, a.from[at]) : a.x[at]; };
    float v[6] = {value(k > 0, i - 1),           value(k + 1 < g.n[2], i + 1), value(y > 0, i - sy),
                  value(y + 1 < g.n[1], i + sy), value(z > 0, i - sz),         value(z + 1 < g.n[0], i + sz)};

    if (!g.count) {
        v[0] *= g.c[2][i], v[1] *= g.c[2][i + 1];
        v[2] *= g.c[1][i], v[3] *= g.c[1][i + sy];
        v[4] *= g.c[0][i], v[5] *= g.c[0][i + sz];
    }
    return settle(g, i, a.from[i] + mf_flux_six(v[0], v[1], v[2], v[3], v[4], v[5]));
}

/* -- passes over cells: their extents, and what they do at (z, y, k) -- */

template <int KIND> struct pass;

struct all_cells {
    static __host__ __device__ size_t extent(const mf_flux_grid &g, const mf_flux_grid &, const args &, int axis)
    {
        return g.n[axis];
    }
};

/* Cells of one colour: k is the k-th of them in its row. */
template <> struct pass<RELAX> {
    static __host__ __device__ size_t extent(const mf_flux_grid &g, const mf_flux_grid &, const args &, int axis)
    {
        return axis == 2 ? (g.n[2] + 1) / 2 : g.n[axis];
    }
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned half)
    {
        const unsigned k = 2 * half + (colour_of(g, z, y, 0) ^ a.way);
        const size_t i = mf_cell_at(g, z, y, k);

        if (k < g.n[2]) a.x[i] = settle(g, i, a.from[i] + mf_cell_around(g, i, a.x));
    }
};

template <> struct pass<BEGIN> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k);

        a.x[i] = colour_of(g, z, y, k) ? 0.0f : settle(g, i, a.from[i]);
    }
};

template <> struct pass<BEGIN_BOTH> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k);

        a.x[i] = colour_of(g, z, y, k) ? settle_after(g, a, z, y, k) : settle(g, i, a.from[i]);
    }
};

struct all_coarse {
    static __host__ __device__ size_t extent(const mf_flux_grid &, const mf_flux_grid &c, const args &, int axis)
    {
        return c.n[axis];
    }
};

/* Two cells of a row, and no more than there are. */
template <class Value> __device__ float of_pair(const mf_flux_grid &g, unsigned by, unsigned k, const Value &value)
{
    const unsigned first = by * k;

    return by == 2 && first + 1 < g.n[2] ? value(first) + value(first + 1) : value(first);
}

__device__ unsigned end_of(const mf_flux_grid &g, int axis, unsigned end)
{
    return end < g.n[axis] ? end : unsigned(g.n[axis]);
}

template <> struct pass<RESTRICT> : all_coarse {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &c, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const unsigned z_end = end_of(g, 0, (z + 1) * a.by[0]), y_end = end_of(g, 1, (y + 1) * a.by[1]);
        float sum = 0;

        for (unsigned fz = z * a.by[0]; fz < z_end; ++fz)
            for (unsigned fy = y * a.by[1]; fy < y_end; ++fy) {
                const size_t row = mf_cell_at(g, fz, fy, 0);

                sum += of_pair(g, a.by[2], k,
                               [&](unsigned p) { return a.from[row + p] - mf_cell_operate(g, row + p, a.x); });
            }
        a.out[mf_cell_at(c, z, y, k)] = sum;
    }
};

template <> struct pass<ADD> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &c, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k);
        const bool conducts = g.count ? g.count[i] : g.w[i] > 0;

        a.x[i] += conducts ? a.from[mf_cell_at(c, z / a.by[0], y / a.by[1], k / a.by[2])] : 0.0f;
    }
};

template <> struct pass<MOVE> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k);

        a.x[i] += a.number * a.from[i];
        a.out[i] -= a.number * a.more[i];
    }
};

template <> struct pass<TURN> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k);

        a.x[i] = a.from[i] + a.number * a.x[i];
    }
};

/* The first cells along an axis. */
template <> struct pass<WRAP> {
    static __host__ __device__ size_t extent(const mf_flux_grid &g, const mf_flux_grid &, const args &a, int axis)
    {
        return axis == a.way ? 1 : g.n[axis];
    }
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t s = mf_flux_stride(&g, a.way), first = mf_cell_at(g, z, y, k), last = first + (g.n[a.way] - 1) * s;
        const float low = a.x[first], high = a.x[last];

        a.x[last + s] = low + (mf_flux_conducts(&g, first) ? a.number : 0);
        a.x[first - s] = high - (mf_flux_conducts(&g, last) ? a.number : 0);
    }
};

/* A plane with its border; a.out is its begin. */
template <> struct pass<LIFT> {
    static __host__ __device__ size_t extent(const mf_flux_grid &g, const mf_flux_grid &, const args &, int axis)
    {
        return axis == 0 ? 1 : g.n[axis] + 2;
    }
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &a, unsigned, unsigned y,
                                unsigned k)
    {
        const size_t i = size_t(a.out - a.x) + y * mf_flux_row(&g) + k;

        a.x[i] += mf_flux_conducts(&g, i) ? a.number : 0;
    }
};

/* The coarse face before (z, y, k), along a.way. */
template <> struct pass<COARSEN> {
    static __host__ __device__ size_t extent(const mf_flux_grid &, const mf_flux_grid &c, const args &a, int axis)
    {
        return c.n[axis] + (axis == a.way);
    }
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &c, const args &a, unsigned z, unsigned y,
                                unsigned k)
    {
        const int axis = a.way;
        const unsigned place[2] = {z, y};
        unsigned from[2], to[2];
        float sum = 0;

        for (int n = 0; n < 2; ++n) {
            from[n] = end_of(g, n, place[n] * a.by[n]);
            to[n] = n == axis ? from[n] + 1 : end_of(g, n, from[n] + a.by[n]);
        }
        for (unsigned fz = from[0]; fz < to[0]; ++fz)
            for (unsigned fy = from[1]; fy < to[1]; ++fy) {
                const auto face = [&](unsigned p) {
                    return mf_flux_face(&g, axis, mf_cell_at(g, fz, fy, p), axis == 0 ? fz : axis == 1 ? fy : p);
                };

                sum += axis == 2 ? face(end_of(g, 2, k * a.by[2])) : of_pair(g, a.by[2], k, face);
            }
        c.c[axis][mf_cell_at(c, z, y, k)] = sum / float(a.by[axis]);
    }
};

template <> struct pass<FINISH> : all_cells {
    static __device__ void cell(const mf_flux_grid &g, const mf_flux_grid &, const args &, unsigned z, unsigned y,
                                unsigned k)
    {
        const size_t i = mf_cell_at(g, z, y, k), sy = mf_flux_row(&g), sz = mf_flux_plane(&g);
        const float *cx = g.c[2] + i, *cy = g.c[1] + i, *cz = g.c[0] + i;
        const float sum = mf_flux_six(cx[0], cx[1], cy[0], cy[sy], cz[0], cz[sz]);

        g.w[i] = sum > 0 ? 1 / sum : 0;
    }
};

/* -- launches of a pass -- */

enum { TILE_X = 32, TILE_Y = 8, MOST_BLOCKS = 65535 };

template <int KIND>
__global__ void __launch_bounds__(TILE_X *TILE_Y) cells_kernel(mf_flux_grid g, mf_flux_grid c, args a)
{
    const size_t nz = pass<KIND>::extent(g, c, a, 0), ny = pass<KIND>::extent(g, c, a, 1);
    const size_t nx = pass<KIND>::extent(g, c, a, 2);
    const size_t k = size_t(blockIdx.x) * TILE_X + threadIdx.x;

    if (k >= nx) return;
    for (size_t z = blockIdx.z; z < nz; z += gridDim.z)
        for (size_t y = size_t(blockIdx.y) * TILE_Y + threadIdx.y; y < ny; y += size_t(gridDim.y) * TILE_Y)
            pass<KIND>::cell(g, c, a, unsigned(z), unsigned(y), unsigned(k));
}

/** Passes that share a launch. */
struct list {
    enum { GRIDS = 12, MOST = 256 };
    unsigned count, grids;
    mf_flux_grid g[GRIDS];
    struct args args[MOST];
};

template <int KIND> __device__ void block_pass(const list &l, const args &a)
{
    const mf_flux_grid &g = l.g[a.grid], &c = l.g[a.coarse];
    const unsigned nz = unsigned(pass<KIND>::extent(g, c, a, 0)), ny = unsigned(pass<KIND>::extent(g, c, a, 1));
    const unsigned nx = unsigned(pass<KIND>::extent(g, c, a, 2));

    for (unsigned i = threadIdx.x; i < nz * ny * nx; i += blockDim.x)
        pass<KIND>::cell(g, c, a, i / (ny * nx), i / nx % ny, i % nx);
}

enum { BLOCK = 1024 };

__global__ void __launch_bounds__(BLOCK) batch_kernel(const __grid_constant__ list l)
{
    for (unsigned n = 0; n < l.count; ++n) {
        const args &a = l.args[n];

        switch (a.kind) {
        case RELAX: block_pass<RELAX>(l, a); break;
        case BEGIN: block_pass<BEGIN>(l, a); break;
        case BEGIN_BOTH: block_pass<BEGIN_BOTH>(l, a); break;
        case RESTRICT: block_pass<RESTRICT>(l, a); break;
        case ADD: block_pass<ADD>(l, a); break;
        default: block_pass<WRAP>(l, a); break;
        }
        __syncthreads();
    }
}

void start(struct mf_queue *q, list *l)
{
    size_t most = 0;

    for (unsigned i = 0; i < l->grids; ++i)
        if (most < l->g[i].n[0] * l->g[i].n[1] * l->g[i].n[2]) most = l->g[i].n[0] * l->g[i].n[1] * l->g[i].n[2];
    if (l->count) MF_RUN(batch_kernel, 1, most > BLOCK ? unsigned(BLOCK) : 128u, 0, q, *l);
    l->count = l->grids = 0;
}

void batch(struct mf_queue *q, int on)
{
    struct mf_cuda_queue *own = mf_cuda_of(q);
    list *l = static_cast<list *>(own->batch);

    if (!l) l = static_cast<list *>(own->batch = MF_MUST(calloc(1, sizeof *l), "passes that share a launch"));
    own->batches = on != 0;
    if (!on) start(q, l);
}

uint8_t place_of(list *l, const mf_flux_grid &g)
{
    for (unsigned i = 0; i < l->grids; ++i)
        if (l->g[i].count == g.count && l->g[i].w == g.w && l->g[i].n[0] == g.n[0]) return uint8_t(i);
    l->g[l->grids] = g;
    return uint8_t(l->grids++);
}

void append(struct mf_queue *q, const mf_flux_grid &g, const mf_flux_grid &c, args a)
{
    list *l = static_cast<list *>(mf_cuda_of(q)->batch);

    MF_ASSERT(a.kind <= WRAP);
    if (l->count == list::MOST || l->grids + 2 > list::GRIDS) start(q, l);
    a.grid = place_of(l, g);
    a.coarse = place_of(l, c);
    l->args[l->count++] = a;
}

unsigned blocks(size_t n, size_t tile)
{
    const size_t all = (n + tile - 1) / tile;

    return unsigned(all < MOST_BLOCKS ? all : size_t(MOST_BLOCKS));
}

template <int KIND> void run(struct mf_queue *q, const mf_flux_grid &g, const mf_flux_grid &c, args a)
{
    size_t n[3];

    a.kind = KIND;
    if (mf_cuda_of(q)->batches) {
        append(q, g, c, a);
        return;
    }
    for (int axis = 0; axis < 3; ++axis) n[axis] = pass<KIND>::extent(g, c, a, axis);
    if (n[0] * n[1] * n[2] == 0) return;
    MF_RUN(cells_kernel<KIND>, dim3(unsigned((n[2] + TILE_X - 1) / TILE_X), blocks(n[1], TILE_Y), blocks(n[0], 1)),
           dim3(TILE_X, TILE_Y), 0, q, g, c, a);
}

template <int KIND> void run(struct mf_queue *q, const mf_flux_grid &g, const args &a) { run<KIND>(q, g, g, a); }

args between(struct mf_flux_step by, const float *from, float *x, float *out)
{
    args a = {};

    a.from = from, a.x = x, a.out = out;
    for (int axis = 0; axis < 3; ++axis) a.by[axis] = uint8_t(by.of[axis]);
    return a;
}

args passed(const float *from, float *x, int way = 0, float number = 0)
{
    args a = {};

    a.from = from, a.x = x, a.way = uint8_t(way), a.number = number;
    return a;
}

void relax(struct mf_queue *q, const mf_flux_grid *g, int colour, const float *b, float *x)
{
    run<RELAX>(q, *g, passed(b, x, colour));
}

void relax_both(struct mf_queue *q, const mf_flux_grid *g, int first, const float *b, float *x)
{
    relax(q, g, first, b, x);
    relax(q, g, first ^ 1, b, x);
}

void begin(struct mf_queue *q, const mf_flux_grid *g, const float *b, float *x) { run<BEGIN>(q, *g, passed(b, x)); }

void restrict_to(struct mf_queue *q, const mf_flux_grid *g, const mf_flux_grid *coarse, struct mf_flux_step by,
                 const float *b, const float *x, float *out)
{
    run<RESTRICT>(q, *g, *coarse, between(by, b, const_cast<float *>(x), out));
}

void descend(struct mf_queue *q, const mf_flux_grid *g, const mf_flux_grid *coarse, struct mf_flux_step by,
             const float *b, float *x, float *out)
{
    run<BEGIN_BOTH>(q, *g, passed(b, x));
    restrict_to(q, g, coarse, by, b, x, out);
}

void add(struct mf_queue *q, const mf_flux_grid *g, const mf_flux_grid *coarse, struct mf_flux_step by,
         const float *from, float *x)
{
    run<ADD>(q, *g, *coarse, between(by, from, x, nullptr));
}

void move(struct mf_queue *q, const mf_flux_grid *g, float number, const float *p, const float *y, float *x, float *r)
{
    args a = passed(p, x, 0, number);

    a.more = y, a.out = r;
    run<MOVE>(q, *g, a);
}

void turn(struct mf_queue *q, const mf_flux_grid *g, float number, const float *z, float *p)
{
    run<TURN>(q, *g, passed(z, p, 0, number));
}

void wrap(struct mf_queue *q, const mf_flux_grid *g, int axis, float jump, float *x)
{
    run<WRAP>(q, *g, passed(nullptr, x, axis, jump));
}

void lift(struct mf_queue *q, const mf_flux_grid *g, ptrdiff_t z, float jump, float *x)
{
    args a = passed(nullptr, x, 0, jump);

    a.out = x + size_t(z + 1) * mf_flux_plane(g);
    run<LIFT>(q, *g, a);
}

void coarsen(struct mf_queue *q, const mf_flux_grid *g, struct mf_flux_step by, const mf_flux_grid *coarse)
{
    for (int axis = 0; axis < 3; ++axis) {
        args a = between(by, nullptr, nullptr, nullptr);

        a.way = uint8_t(axis);
        run<COARSEN>(q, *g, *coarse, a);
    }
}

void finish(struct mf_queue *q, const mf_flux_grid *g) { run<FINISH>(q, *g, args{}); }

} // namespace

const struct mf_flux_ops mf_flux_cuda = {.relax = relax,
                                         .relax_both = relax_both,
                                         .begin = begin,
                                         .batch = batch,
                                         .restrict_to = restrict_to,
                                         .descend = descend,
                                         .add = add,
                                         .apply = mf_cuda_flux_apply,
                                         .dot = mf_cuda_flux_dot,
                                         .move = move,
                                         .turn = turn,
                                         .wrap = wrap,
                                         .lift = lift,
                                         .coarsen = coarsen,
                                         .finish = finish,
                                         .energy = mf_cuda_flux_energy,
                                         .flux = mf_cuda_flux_through};
