/* Gram matrices of the features of VGG-19 in slices: kernels/cpu/slices/vgg.c has the formulas. Pixels are rows of
 * channels, for all slices of a chunk one after the other. A convolution is a matrix product. Its left matrix, pixels
 * times taps and channels, is read in place. Tap and channel of a column select the pixel. The gradient is the same
 * with reversed weights, and that of a Gram matrix is the same with one tap. A body defines what happens to a product.
 * Sums run over taps and then channels, whatever the shape of a tile. So bits do not depend on the number of slices. */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/packed.cuh"
#include "kernels/cuda/slices/tile.cuh"

namespace
{

constexpr int DEPTH = MF_TILE_DEPTH, WIDTH = MF_TILE_WIDTH, PANEL = MF_VGG_PANEL;
constexpr unsigned FEW = 2; /* blocks of a multiprocessor: rather than fewer large ones more of half the size */

/* -- products -- */

struct product {
    const float *x;                   /* [slices][nu][nv][in] */
    const float *w;                   /* [out / PANEL, rounded up][taps][in][PANEL] */
    int nu, nv, in, out, taps, first; /* taps: 9, from (first, first) on, or 1 */
    int rows, slices;                 /* rows: pixels of all slices; or of one of those that have their own w */
    bool periodic;
    size_t apart; /* floats of w from slice to slice */
};

__device__ int moved(int i, int n, bool periodic)
{
    if (!periodic) return i < n ? i : -1;
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}

/* Load of a thread for G groups of 64 rows: every 16th row, of a column of each depth. */
template <int G> struct load {
    int u[G * MF_TILE_EACH], v[G * MF_TILE_EACH];
    int from[G * MF_TILE_EACH]; /* its pixel in x for the tap; -1: there is none, and 0 is loaded */
    float a[G * MF_TILE_EACH], b[MF_TILE_EACH];
    int tap;
};

/* The thread's i-th row in the tile. */
__device__ int loaded_row(int i) { return int(threadIdx.x) / DEPTH + MF_TILE_SIDE * i; }

template <int G> __device__ void load_open(const product &p, int row0, load<G> *to)
{
    to->tap = -1;
    for (int i = 0; i < G * MF_TILE_EACH; ++i) {
        const unsigned row = unsigned(row0 + loaded_row(i)), nv = unsigned(p.nv), line = row / nv;

        to->v[i] = int(row - line * nv);
        to->u[i] = int(row) < p.rows ? int(line % unsigned(p.nu)) : -1;
    }
}

template <int G> __device__ void load_seek(const product &p, int row0, int tap, load<G> *to)
{
    const int du = p.first + tap / 3, dv = p.first + tap % 3;

    to->tap = tap;
    MF_UNROLL
    for (int i = 0; i < G * MF_TILE_EACH; ++i) {
        const int u = moved(to->u[i] + du, p.nu, p.periodic), v = moved(to->v[i] + dv, p.nv, p.periodic);
        const int own = row0 + loaded_row(i);

        to->from[i] = to->u[i] < 0 || u < 0 || v < 0 ? -1 : own + (u - to->u[i]) * p.nv + v - to->v[i];
    }
}

/* Depths from @p depth on, of rows and of the 64 columns from @p column0 on. */
template <int G>
__device__ void load_take(const product &p, const float *x, const float *w, int row0, int column0, int depth,
                          load<G> *to)
{
    const int all = p.taps * p.in, own = depth + int(threadIdx.x) % DEPTH, tap = own / p.in, channel = own - tap * p.in;
    const int panels = (p.out + PANEL - 1) / PANEL;

    if (tap != to->tap) load_seek(p, row0, tap, to);
    MF_UNROLL
    for (int i = 0; i < G * MF_TILE_EACH; ++i)
        to->a[i] = own < all && to->from[i] >= 0 ? x[size_t(to->from[i]) * size_t(p.in) + size_t(channel)] : 0.0f;
    MF_UNROLL
    for (int i = 0; i < MF_TILE_EACH; ++i) {
        const int n = int(threadIdx.x) + MF_TILE_THREADS * i, d = depth + n / WIDTH, column = column0 + n % WIDTH;
        const int panel = column / PANEL;

        to->b[i] = d < all && panel < panels
                       ? w[(size_t(panel) * size_t(all) + size_t(d)) * PANEL + size_t(column % PANEL)]
                       : 0.0f;
    }
}

template <int G> __device__ void load_store(const load<G> &from, int pitch, float *a, float *b)
{
    MF_UNROLL
    for (int i = 0; i < G * MF_TILE_EACH; ++i) a[int(threadIdx.x) % DEPTH * pitch + loaded_row(i)] = from.a[i];
    MF_UNROLL
    for (int i = 0; i < MF_TILE_EACH; ++i) b[int(threadIdx.x) + MF_TILE_THREADS * i] = from.b[i];
}

/* Block (rows, columns, slice with its own w): body(row of all slices, column, sum). The next depths are on their way
 * while these are multiplied. */
template <int G, class Body> __global__ void __launch_bounds__(MF_TILE_THREADS, 2) multiply(struct product p, Body body)
{
    constexpr int PITCH = G * WIDTH + MF_TILE_EACH; /* spreads a column that is stored over the banks */
    MF_SHARED(float, a);
    float *b = a + DEPTH * PITCH;
    const int row0 = int(blockIdx.x) * G * WIDTH, column0 = int(blockIdx.y) * WIDTH, all = p.taps * p.in;
    const size_t slice = blockIdx.z, before = slice * size_t(p.rows);
    const float *x = p.x + before * size_t(p.in), *w = p.w + slice * p.apart;
    const bool mine = row0 + mf_tile_row(0) < p.rows && column0 + mf_tile_column() < p.out;
    mf_tile<G> sum = {};
    load<G> next;

    load_open(p, row0, &next);
    load_take(p, x, w, row0, column0, 0, &next);
    for (int depth = 0; depth < all; depth += DEPTH) {
        __syncthreads();
        load_store(next, PITCH, a, b);
        __syncthreads();
        if (depth + DEPTH < all) load_take(p, x, w, row0, column0, depth + DEPTH, &next);
        if (mine) mf_tile_multiply(a, PITCH, b, &sum);
    }
    MF_UNROLL
    for (int i = 0; i < G * MF_TILE_EACH; ++i) {
        const int row = row0 + mf_tile_row(i);

        MF_UNROLL
        for (int j = 0; j < MF_TILE_EACH; ++j) {
            const int column = column0 + mf_tile_column() + j;

            if (row < p.rows && column < p.out) body(before + size_t(row), column, sum.at[i][j]);
        }
    }
}

template <int G, class Body> void launch(struct mf_queue *q, const struct product &p, const Body &body)
{
    const int rows = G * WIDTH;

    MF_RUN((multiply<G, Body>),
           dim3(unsigned((p.rows + rows - 1) / rows), unsigned((p.out + WIDTH - 1) / WIDTH), unsigned(p.slices)),
           MF_TILE_THREADS, sizeof(float) * DEPTH * (size_t(rows) + MF_TILE_EACH + WIDTH), q, p, body);
}

template <class Body> void run(struct mf_queue *q, const struct product &p, const Body &body)
{
    const unsigned large = unsigned(p.rows) / (2 * WIDTH) * unsigned(p.slices) * unsigned((p.out + WIDTH - 1) / WIDTH);

    if (large < FEW * unsigned(mf_cuda_of(q)->processors))
        launch<1>(q, p, body);
    else
        launch<2>(q, p, body);
}

/* -- what becomes of sums: row is a pixel of all slices -- */

/* Forward: bias and unit. */
struct unit_body {
    enum mf_unit unit;
    size_t channels;
    const float *bias;
    float *sum, *y; /* the same array where the slope asks for y */
    __device__ void operator()(size_t row, int c, float s) const
    {
        const size_t at = row * channels + size_t(c);
        const float z = s + bias[c];

        sum[at] = z;
        y[at] = mf_unit(unit, z);
    }
};

/* To what the sums of the layer before count. */
struct slope_body {
    enum mf_unit unit;
    size_t channels;
    const float *sum;
    float *to;
    __device__ void operator()(size_t row, int c, float s) const
    {
        const size_t at = row * channels + size_t(c);

        to[at] = s * mf_unit_slope(unit, sum[at]);
    }
};

/* The same behind a Gram matrix, with a quarter of what the pixel's mean counts. */
struct join_body {
    struct slope_body slope;
    int nu, nv;
    const float *coarse; /* [slices][nu / 2][nv / 2][channels]; NULL: there is no further block */
    __device__ void operator()(size_t row, int c, float s) const
    {
        const size_t wide = size_t(nv), line = row / wide, high = size_t(nu), slice = line / high;
        const size_t u = line % high / 2, v = row % wide / 2, nu2 = high / 2, nv2 = wide / 2;

        if (coarse && u < nu2 && v < nv2)
            s += 0.25f * coarse[((slice * nu2 + u) * nv2 + v) * slope.channels + size_t(c)];
        slope(row, c, s);
    }
};

struct keep_body {
    size_t channels;
    float *to;
    __device__ void operator()(size_t row, int c, float s) const { to[row * channels + size_t(c)] = s; }
};

/* To the slices: colours of a pixel come one after the other, to one thread. */
struct decode_body {
    float *g[MF_VGG_COLOURS];
    __device__ void operator()(size_t row, int c, float s) const { g[c][row] += 255.0f * s; }
};

/* -- a level of a chunk -- */

struct net {
    const struct mf_packed_job *job;
    const struct mf_vgg *vgg;
    const float *weights; /* on the device, laid out as vgg->memory */
    struct mf_vgg_area at;
    int count;
};

struct net net_of(const struct mf_packed_job *job)
{
    struct net n = {};

    n.job = job;
    n.vgg = job->desc->vgg;
    n.weights = mf_vgg_copy(n.vgg, job->q->arena);
    (void)mf_areas_vgg(job->desc, job->level, &n.at);
    n.count = int(job->count);
    return n;
}

/* An array of the level, of all slices of the chunk. */
float *array(const struct net &n, size_t floats) { return n.job->scratch + n.job->count * floats; }

const float *there(const struct net &n, const float *weights) { return n.weights + (weights - n.vgg->memory); }

struct product product_of(const struct net &n, size_t block, const float *x, int in, int out)
{
    struct product p = {};

    p.x = x;
    p.nu = n.job->at.nu >> block;
    p.nv = n.job->at.nv >> block;
    p.in = in;
    p.out = out;
    p.taps = MF_VGG_TAPS;
    p.rows = n.count * p.nu * p.nv;
    p.slices = 1;
    p.periodic = n.job->desc->periodic != 0;
    return p;
}

/* -- values -- */

struct encode_body {
    const float *x[MF_VGG_COLOURS];
    float mean[MF_VGG_COLOURS], *to;
    __device__ void operator()(size_t i) const
    {
        for (int c = 0; c < MF_VGG_COLOURS; ++c) to[i * MF_VGG_COLOURS + size_t(c)] = 255.0f * x[c][i] - mean[c];
    }
};

void encode(const struct net &n)
{
    const struct mf_packed_level *l = &n.job->at;
    struct encode_body body = {{l->x, l->y ? l->y : l->x, l->z ? l->z : l->x}, {}, array(n, n.at.input[0])};

    for (int c = 0; c < MF_VGG_COLOURS; ++c) body.mean[c] = n.vgg->mean[c];
    mf_each(n.job->q, n.job->count * n.job->pixels, body);
}

/* Means of 2 x 2 pixels. */
struct pool_body {
    size_t nu, nv, channels; /* of what is pooled */
    const float *x;
    float *to;
    __device__ void operator()(size_t i) const
    {
        const size_t c = i % channels, pixel = i / channels, v = pixel % (nv / 2), line = pixel / (nv / 2);
        const size_t row = nv * channels, u = line % (nu / 2), slice = line / (nu / 2);
        const float *at = x + ((slice * nu + 2 * u) * nv + 2 * v) * channels + c;

        to[i] = 0.25f * ((at[0] + at[channels]) + (at[row] + at[row + channels]));
    }
};

/* Result of a layer: rows are pixels. */
struct feature {
    size_t rows, channels;
    const float *y;
    __device__ size_t at(size_t row) const { return row * channels; }
    __device__ float operator()(size_t slice, size_t row, size_t c) const
    {
        return y[slice * rows * channels + row + c];
    }
};

/* Behind the last layer of a block: its Gram matrix, and means for the next. */
void end_block(const struct net &n, const struct product &p, const struct mf_vgg_layer *l, const float *y,
               double *value)
{
    const size_t pixels = size_t(p.nu) * size_t(p.nv);

    mf_tile_gram_run<struct feature>(n.job->q, {{pixels, l->out, y}, 1.0 / double(pixels), value, n.job->stride},
                                     n.job->count);
    if (l->block + 1 < MF_VGG_BLOCKS)
        mf_each(n.job->q, n.job->count * size_t(p.nu / 2) * size_t(p.nv / 2) * l->out,
                pool_body{size_t(p.nu), size_t(p.nv), l->out, y, array(n, n.at.input[l->block + 1])});
}

void value(const struct mf_packed_job *job)
{
    const struct net n = net_of(job);
    double *to = job->value;

    encode(n);
    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];
        const bool opens = i == 0 || mf_vgg_layers[i - 1].last;
        float *y = array(n, n.at.y[i]);
        struct product p =
            product_of(n, l->block, array(n, opens ? n.at.input[l->block] : n.at.y[i - 1]), int(l->in), int(l->out));

        p.w = there(n, n.vgg->forward[i]);
        p.first = p.periodic ? 0 : -1;
        run(job->q, p, unit_body{n.vgg->unit, l->out, there(n, n.vgg->bias[i]), array(n, n.at.sum[i]), y});
        if (!l->last) continue;
        end_block(n, p, l, y, to);
        to += l->out * l->out;
    }
}

/* -- gradients -- */

/* slope + its transpose over the pixels, laid out as weights of one tap. */
struct fold_body {
    const double *slope;
    size_t stride, channels;
    double each;
    float *to;
    __device__ void operator()(size_t n) const
    {
        const size_t m = channels, all = m * m, i = n % all / m, j = n % m;
        const double *at = slope + n / all * stride;

        to[n / all * all + (j / PANEL * m + i) * PANEL + j % PANEL] = float(each * (at[i * m + j] + at[j * m + i]));
    }
};

/* Gradient by the sums of a block's last layer, from its Gram matrix and the next block (coarse). */
void begin_block(const struct net &n, size_t i, const double *slope, const float *coarse, float *to)
{
    const struct mf_vgg_layer *l = &mf_vgg_layers[i];
    const size_t m = l->out;
    float *matrix = array(n, n.at.matrix);
    struct product p = product_of(n, l->block, array(n, n.at.y[i]), int(m), int(m));

    p.taps = 1;
    p.rows = p.nu * p.nv;
    p.slices = n.count;
    p.w = matrix;
    p.apart = m * m;
    mf_each(n.job->q, n.job->count * m * m, fold_body{slope, n.job->stride, m, 1.0 / double(p.rows), matrix});
    run(n.job->q, p,
        join_body{
            {n.vgg->unit, m, array(n, n.at.sum[i]), to}, p.nu, p.nv, l->block + 1 < MF_VGG_BLOCKS ? coarse : nullptr});
}

/* From what the sums of layer i count to what those of the one before do, or its inputs. */
void back(const struct net &n, size_t i, const float *from, float *to)
{
    const struct mf_vgg_layer *l = &mf_vgg_layers[i];
    const struct mf_packed_level *level = &n.job->at;
    struct product p = product_of(n, l->block, from, int(l->out), int(l->in));

    p.w = there(n, n.vgg->back[i]);
    p.first = p.periodic ? -2 : -1;
    if (i == 0)
        run(n.job->q, p, decode_body{{level->g, level->h ? level->h : level->g, level->k ? level->k : level->g}});
    else if (mf_vgg_layers[i - 1].last)
        run(n.job->q, p, keep_body{l->in, to});
    else
        run(n.job->q, p, slope_body{n.vgg->unit, l->in, array(n, n.at.sum[i - 1]), to});
}

void gradient(const struct mf_packed_job *job)
{
    const struct net n = net_of(job);
    const double *slope = job->value + MF_VGG_ENTRIES;
    float *from = array(n, n.at.back[0]), *to = array(n, n.at.back[1]), *other;

    for (size_t i = MF_VGG_LAYERS; i-- > 0;) {
        if (mf_vgg_layers[i].last) {
            slope -= mf_vgg_layers[i].out * mf_vgg_layers[i].out;
            begin_block(n, i, slope, from, to);
            other = from, from = to, to = other;
        }
        back(n, i, from, to);
        other = from, from = to, to = other;
    }
}

/* -- plans -- */

int open_plan(struct mf_queue *q, const struct mf_slice_desc *d)
{
    int fresh, rc;

    MF_TRY(mf_vgg_hold(d->vgg, q->host));
    rc = mf_vgg_hold_copy(d->vgg, q->arena, &fresh);
    if (rc != MF_OK)
        mf_vgg_let_go(d->vgg, q->host);
    else if (fresh)
        mf_backend_cuda.put(q, mf_vgg_copy(d->vgg, q->arena), d->vgg->memory, mf_vgg_bytes());
    return rc;
}

int open_one(struct mf_queue *q, const struct mf_slice_desc *d)
{
    MF_TRY(mf_vgg_check(d, 0));
    return open_plan(q, d);
}

int open_all(struct mf_queue *q, const struct mf_slice_desc *d)
{
    MF_TRY(mf_vgg_check(d, 1));
    return open_plan(q, d);
}

void close_plan(struct mf_queue *q, const struct mf_slice_desc *d)
{
    mf_vgg_let_go(d->vgg, q->arena);
    mf_vgg_let_go(d->vgg, q->host);
}

constexpr double MOST = 1 << 16;

} // namespace

static constexpr struct mf_packed_family one = {&mf_packed_vgg, nullptr, value, gradient, open_one, close_plan, MOST};
static constexpr struct mf_packed_family together = {&mf_packed_vgg_all, nullptr,    value, gradient,
                                                     open_all,           close_plan, MOST};

MF_PACKED_OPS(mf_vgg_cuda, mf_kind_vgg, mf_packed_total, nullptr, nullptr, one);
MF_PACKED_OPS(mf_vgg_all_cuda, mf_kind_vgg_all, nullptr, nullptr, mf_packed_join, together);
