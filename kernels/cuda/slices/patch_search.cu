/* See patch.cuh. The search is a tiled matrix product, |p - q|^2 = |p|^2 + |q|^2 - 2 p q. Its entries are used while
 * they are in registers, so nothing of its size is stored. */
#include "kernels/cuda/slices/patch.cuh"

namespace
{

constexpr int PARTS = MF_PATCH_PARTS, AXES = PARTS - 1, SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS;
constexpr int TILE = 64, ACROSS = 16, EACH = TILE / ACROSS; /* a thread has EACH x EACH distances of a tile */
constexpr unsigned THREADS = ACROSS * ACROSS, LINE = 128;
constexpr float NONE = 3e38f;

/* -- points -- */

/* Block (patches, image). */
__global__ void __launch_bounds__(LINE)
    project(struct mf_patch_set set, const float *axes, struct mf_patch_weight weight)
{
    const size_t s = blockIdx.x * size_t(LINE) + threadIdx.x, image = blockIdx.y;
    const float *x = set.x + image * size_t(set.nu) * size_t(set.nv), *mean = axes;
    float sum[PARTS] = {}, norm = 0.0f;

    if (s >= set.count) return;
    const int u = int(s / size_t(set.pv)), v = int(s % size_t(set.pv));

    for (int f = 0; f < set.phases; ++f)
        for (int k = 0; k < PIXELS; ++k, mean += PARTS) {
            int row = u + k / SIDE, column = v + k % SIDE;

            row -= row >= set.nu ? set.nu : 0;
            column -= column >= set.nv ? set.nv : 0;
            const float at = x[size_t(f) * set.phase + size_t(row) * size_t(set.nv) + size_t(column)];

            MF_UNROLL
            for (int c = 0; c < AXES; ++c) sum[c] += __ldg(mean + c) * at;
            const float away = at - __ldg(mean + AXES);

            sum[AXES] += weight.at[k] * away * away;
        }
    MF_UNROLL
    for (int c = 0; c < AXES; ++c) {
        sum[c] -= mean[c];
        sum[AXES] -= sum[c] * sum[c];
    }
    sum[AXES] = sum[AXES] > 0.0f ? sqrtf(sum[AXES]) : 0.0f;
    MF_UNROLL
    for (int c = 0; c < PARTS; ++c) {
        set.at[(image * PARTS + size_t(c)) * set.count + s] = sum[c];
        norm += sum[c] * sum[c];
    }
    set.norm[image * set.count + s] = norm;
}

/* -- neighbours -- */

struct search {
    const float *a, *a_norm, *b, *b_norm;
    size_t a_count, b_count, a_apart, b_apart; /* patches; of images: 0 or 1, where there is but one */
    int *near;
};

/* Patches first .. first + TILE - 1 as [PARTS][TILE], their norms behind them. */
__device__ void load(const float *at, const float *norm, size_t count, size_t first, float *to)
{
    for (unsigned i = threadIdx.x; i < unsigned(PARTS + 1) * TILE; i += THREADS) {
        const size_t c = i / TILE, s = first + i % TILE;

        to[i] = s >= count ? 0.0f : c < PARTS ? at[c * count + s] : norm[s];
    }
}

struct best {
    float away;
    int slot;
};

/* A thread's distances in a tile: patches y + i ACROSS of a, x + j ACROSS of b. It looks at them in the order of b. */
__device__ void look(const float *a, const float *b, size_t first, size_t count, struct best best[EACH])
{
    const unsigned x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
    float sum[EACH][EACH] = {};

    for (int c = 0; c < PARTS; ++c) {
        float p[EACH], q[EACH];

        MF_UNROLL
        for (int i = 0; i < EACH; ++i) {
            p[i] = a[c * TILE + i * ACROSS + int(y)];
            q[i] = b[c * TILE + i * ACROSS + int(x)];
        }
        MF_UNROLL
        for (int i = 0; i < EACH; ++i) {
            MF_UNROLL
            for (int j = 0; j < EACH; ++j) sum[i][j] += p[i] * q[j];
        }
    }
    MF_UNROLL
    for (int i = 0; i < EACH; ++i) {
        MF_UNROLL
        for (int j = 0; j < EACH; ++j) {
            const size_t slot = first + size_t(j * ACROSS) + x;
            const float norms = b[PARTS * TILE + j * ACROSS + int(x)] + a[PARTS * TILE + i * ACROSS + int(y)];
            const float away = norms - 2.0f * sum[i][j];

            if (slot < count && away < best[i].away) best[i] = {away, int(slot)};
        }
    }
}

/* Block (TILE patches of a, image). */
__global__ void __launch_bounds__(THREADS) nearest(struct search w)
{
    MF_SHARED(float, a);
    float *b = a + (PARTS + 1) * TILE;
    const size_t image = blockIdx.y, from_a = image * w.a_apart * w.a_count, from_b = image * w.b_apart * w.b_count;
    const size_t first = blockIdx.x * size_t(TILE);
    struct best best[EACH];

    for (int i = 0; i < EACH; ++i) best[i] = {NONE, 0};
    load(w.a + from_a * PARTS, w.a_norm + from_a, w.a_count, first, a);
    for (size_t at = 0; at < w.b_count; at += TILE) {
        __syncthreads();
        load(w.b + from_b * PARTS, w.b_norm + from_b, w.b_count, at, b);
        __syncthreads();
        look(a, b, at, w.b_count, best);
    }
    for (int i = 0; i < EACH; ++i) {
        const size_t s = first + size_t(i * ACROSS) + threadIdx.x / ACROSS;

        for (int with = ACROSS / 2; with; with /= 2) {
            const float away = __shfl_xor_sync(0xffffffffu, best[i].away, with);
            const int slot = __shfl_xor_sync(0xffffffffu, best[i].slot, with);

            if (away < best[i].away || (away == best[i].away && slot < best[i].slot)) best[i] = {away, slot};
        }
        if (threadIdx.x % ACROSS == 0 && s < w.a_count) w.near[image * w.a_count + s] = best[i].slot;
    }
}

} // namespace

void mf_patch_project_set(struct mf_queue *q, const struct mf_patch_set &set, size_t images, const float *axes,
                          const struct mf_patch_weight &weight)
{
    MF_RUN(project, dim3(unsigned((set.count + LINE - 1) / LINE), unsigned(images)), LINE, 0, q, set, axes, weight);
}

void mf_patch_nearest_set(struct mf_queue *q, const struct mf_patch_set &a, int one_a, const struct mf_patch_set &b,
                          int one_b, size_t images, int *near)
{
    const struct search w = {a.at, a.norm, b.at, b.norm, a.count, b.count, size_t(!one_a), size_t(!one_b), near};

    MF_RUN(nearest, dim3(unsigned((a.count + TILE - 1) / TILE), unsigned(images)), THREADS,
           sizeof(float) * 2 * (PARTS + 1) * TILE, q, w);
}
