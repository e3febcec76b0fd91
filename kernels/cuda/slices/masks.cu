/* Soft descriptors of slices that are means over positions of masks: see kernels/slices/masks.h. A block sums one mask
 * of one slice. For the gradient the slopes of all positions of a group of masks are stored. Every pixel then gathers
 * from the positions that have a tap on it. */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/packed.cuh"

extern "C" {
#include "kernels/slices/masks.h"
}

namespace
{

constexpr unsigned THREADS = 128;
constexpr int EACH = 4; /* places of a thread at a time, so that a tap is read once for them */

struct work {
    int nu, nv, square;
    size_t count, pixels, masks;
    struct mf_soft soft;
    const float *x;
    const struct mf_mask_row *row;
    const struct mf_tap *tap;
    double *value;
    size_t stride;
    float *slope; /* [group][count][pixels] */
    size_t first; /* mask of the group */
};

template <enum mf_masks_kind KIND> struct work work_of(const struct mf_packed_job *job)
{
    const size_t level = job->level * mf_masks_level_bytes(KIND, job->desc->lag);
    struct work w = {};

    w.nu = job->at.nu;
    w.nv = job->at.nv;
    w.square = KIND == MF_MASKS_PAIRS;
    w.count = job->count;
    w.pixels = job->pixels;
    w.masks = job->entries;
    w.soft = mf_soft_of(job->desc->threshold, job->desc->steepness);
    w.x = job->at.x;
    w.row = reinterpret_cast<const struct mf_mask_row *>(static_cast<const char *>(job->table) + level);
    w.tap = reinterpret_cast<const struct mf_tap *>(w.row + w.masks);
    w.value = job->value;
    w.stride = job->stride;
    w.slope = job->scratch;
    return w;
}

/* A pixel, and the one that a tap is on, or (BACK) whose tap is on it. */
struct pixel {
    int u, v;
};

__device__ struct pixel pixel_of(const struct work &w, size_t i)
{
    return {int(i / size_t(w.nv)), int(i % size_t(w.nv))};
}

template <bool BACK> __device__ size_t tapped(const struct work &w, struct pixel p, struct mf_tap t)
{
    int u = BACK ? p.u - t.du : p.u + t.du, v = BACK ? p.v - t.dv : p.v + t.dv;

    if (BACK) {
        u += u < 0 ? w.nu : 0;
        v += v < 0 ? w.nv : 0;
    } else {
        u -= u >= w.nu ? w.nu : 0;
        v -= v >= w.nv ? w.nv : 0;
    }
    return size_t(u) * size_t(w.nv) + size_t(v);
}

__device__ bool is_place(const struct mf_places &b, struct pixel p)
{
    return p.u >= b.u[0] && p.u < b.u[1] && p.v >= b.v[0] && p.v < b.v[1];
}

/* -- values -- */

/* Block (mask, slice). */
__global__ void __launch_bounds__(THREADS) means(struct work w)
{
    MF_SHARED(double, shared);
    const struct mf_mask_row row = w.row[blockIdx.x];
    const float *x = w.x + blockIdx.y * w.pixels;
    double sum = 0.0;

    for (size_t from = threadIdx.x; from < w.pixels; from += EACH * THREADS) {
        struct pixel p[EACH];
        float z[EACH] = {};

        MF_UNROLL
        for (int k = 0; k < EACH; ++k) p[k] = pixel_of(w, from + unsigned(k) * THREADS);
        for (int t = 0; t < row.taps; ++t) {
            const struct mf_tap tap = w.tap[row.first + t];

            MF_UNROLL
            for (int k = 0; k < EACH; ++k)
                if (is_place(row.at, p[k])) z[k] += tap.w * x[tapped<false>(w, p[k], tap)];
        }
        MF_UNROLL
        for (int k = 0; k < EACH; ++k) {
            const float y = mf_soft_value(w.soft, mf_soft_sigma(w.soft, z[k]));

            if (is_place(row.at, p[k])) sum += double(w.square ? y * y : y);
        }
    }
    sum = mf_block_sum(sum, shared);
    if (threadIdx.x) return;
    const double places = mf_places_count(row.at);

    w.value[blockIdx.y * w.stride + blockIdx.x] = places > 0 ? sum / places : 0.0;
}

template <enum mf_masks_kind KIND> void value(const struct mf_packed_job *job)
{
    MF_RUN(means, dim3(unsigned(job->entries), unsigned(job->count)), THREADS, sizeof(double) * THREADS, job->q,
           work_of<KIND>(job));
}

/* -- gradient -- */

/* Block (pixels, mask of the group, slice): the factor of z at the positions of a mask, 0 elsewhere. */
__global__ void __launch_bounds__(THREADS) slopes(struct work w)
{
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x, mask = w.first + blockIdx.y, slice = blockIdx.z;
    const struct mf_mask_row row = w.row[mask];
    const float *x = w.x + slice * w.pixels;
    float z = 0.0f, h = 0.0f;

    if (i >= w.pixels) return;
    const struct pixel p = pixel_of(w, i);

    if (is_place(row.at, p)) {
        const float weight = float(w.value[slice * w.stride + mask] / mf_places_count(row.at));

        for (int t = 0; t < row.taps; ++t) {
            const struct mf_tap tap = w.tap[row.first + t];

            z += tap.w * x[tapped<false>(w, p, tap)];
        }
        const float sigma = mf_soft_sigma(w.soft, z);

        h = weight * mf_soft_slope(w.soft, sigma);
        if (w.square) h *= 2.0f * mf_soft_value(w.soft, sigma);
    }
    w.slope[(blockIdx.y * w.count + slice) * w.pixels + i] = h;
}

/* Block (pixels, slice): @p group masks; g += what their places have for a pixel. */
__global__ void __launch_bounds__(THREADS) take(struct work w, unsigned group, float *g)
{
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x, slice = blockIdx.y;
    float sum = 0.0f;

    if (i >= w.pixels) return;
    const struct pixel p = pixel_of(w, i);

    for (unsigned m = 0; m < group; ++m) {
        const struct mf_mask_row row = w.row[w.first + m];
        const float *slope = w.slope + (m * w.count + slice) * w.pixels;

        for (int t = 0; t < row.taps; ++t) {
            const struct mf_tap tap = w.tap[row.first + t];

            sum += tap.w * slope[tapped<true>(w, p, tap)];
        }
    }
    g[slice * w.pixels + i] += sum;
}

template <enum mf_masks_kind KIND> void gradient(const struct mf_packed_job *job)
{
    const unsigned blocks = unsigned((job->pixels + THREADS - 1) / THREADS), count = unsigned(job->count);
    struct work w = work_of<KIND>(job);

    for (; w.first < w.masks; w.first += MF_MASKS_GROUP) {
        const size_t left = w.masks - w.first;
        const unsigned group = unsigned(left < MF_MASKS_GROUP ? left : size_t(MF_MASKS_GROUP));

        MF_RUN(slopes, dim3(blocks, group, count), THREADS, 0, job->q, w);
        MF_RUN(take, dim3(blocks, count), THREADS, 0, job->q, w, group, job->at.g);
    }
}

template <enum mf_masks_kind KIND> int fill(const struct mf_slice_desc *desc, void *table)
{
    return mf_masks_lay(KIND, desc, table);
}

template <enum mf_masks_kind KIND> constexpr struct mf_packed_family family(const struct mf_packed_memory &memory)
{
    return {&memory, fill<KIND>, value<KIND>, gradient<KIND>};
}

} // namespace

static constexpr struct mf_packed_family lines = family<MF_MASKS_LINES>(mf_packed_lineal_soft);
static constexpr struct mf_packed_family axes = family<MF_MASKS_AXES>(mf_packed_line_soft);
static constexpr struct mf_packed_family pairs = family<MF_MASKS_PAIRS>(mf_packed_two_point);

MF_PACKED_OPS(mf_lineal_soft_cuda, mf_kind_lineal_soft, mf_packed_total, nullptr, nullptr, lines);
MF_PACKED_OPS(mf_line_soft_cuda, mf_kind_line_soft, mf_packed_total, nullptr, nullptr, axes);
MF_PACKED_OPS(mf_two_point_cuda, mf_kind_two_point, mf_packed_total, nullptr, nullptr, pairs);
