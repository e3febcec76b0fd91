/* Engine `cufft` of S2: for units too large for the shared memory of a block, and for extents with large prime factors.
 * It works in batches that stay in the second-level cache. cuFFT is opened when the first such plan is made. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <cufft.h>

#include "kernels/cuda/slices/corr.cuh"

#define TEXT(x) #x
#define NAME(x) "libcufft.so." TEXT(x)
#ifndef MF_CUFFT_LIBRARY /* the emulator has one of its own */
#define MF_CUFFT_LIBRARY NAME(CUFFT_VER_MAJOR)
#endif

struct mf_cufft {
    cufftHandle plan;
};

namespace
{

/* -- the library -- */

struct functions {
    decltype(&cufftCreate) create;
    decltype(&cufftDestroy) destroy;
    decltype(&cufftSetAutoAllocation) automatic;
    decltype(&cufftMakePlanMany) make;
    decltype(&cufftSetWorkArea) work;
    decltype(&cufftSetStream) stream;
    decltype(&cufftExecC2C) run;
};

struct functions api;

template <class F> bool find(void *library, const char *name, F *to)
{
    *to = reinterpret_cast<F>(dlsym(library, name));
    return *to != nullptr;
}

int open_library()
{
    void *library;

    if (api.run) return MF_OK;
    library = dlopen(MF_CUFFT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return mf_fail(MF_DEVICE, "S2: slices of this size need cuFFT: %s; try: install it with the CUDA runtime",
                       dlerror());
    if (find(library, "cufftCreate", &api.create) && find(library, "cufftDestroy", &api.destroy) &&
        find(library, "cufftSetAutoAllocation", &api.automatic) && find(library, "cufftMakePlanMany", &api.make) &&
        find(library, "cufftSetWorkArea", &api.work) && find(library, "cufftSetStream", &api.stream) &&
        find(library, "cufftExecC2C", &api.run))
        return MF_OK;
    api = {};
    return mf_fail(MF_DEVICE, "S2: '%s' is no cuFFT of this version", MF_CUFFT_LIBRARY);
}

void check(cufftResult result, int line)
{
    if (result != CUFFT_SUCCESS) mf_die(MF_DEVICE, __FILE__, line, "cuFFT: error %d", int(result));
}

/* -- steps: units [first, ...) of a job in the arrays of a batch -- */

struct step {
    struct mf_corr_job job;
    size_t first;
    float2 *z, *p;  /* [batch][mu][mv] */
    float2 *window; /* [batch][entries] */

    __device__ size_t at(size_t b, size_t u, size_t v) const { return (b * size_t(job.mu) + u) * size_t(job.mv) + v; }
    /* Where the negative frequency stands; false: the couple is another thread's. */
    __device__ bool partner(size_t b, size_t u, size_t v, size_t *k) const
    {
        *k = at(b, u ? size_t(job.mu) - u : 0, v ? size_t(job.mv) - v : 0);
        return at(b, u, v) <= *k;
    }
};

struct load_body {
    struct step s;
    __device__ void operator()(size_t b, size_t u, size_t v) const
    {
        const bool inside = u < size_t(s.job.nu) && v < size_t(s.job.nv);

        s.z[s.at(b, u, v)] = inside ? mf_corr_load(s.job, s.first + b, u, v) : make_float2(0.0f, 0.0f);
    }
};

struct power_body {
    struct step s;
    __device__ void operator()(size_t b, size_t u, size_t v) const
    {
        const size_t i = s.at(b, u, v);
        size_t k;

        if (!s.partner(b, u, v, &k)) return;
        const float2 to = s.job.y.base ? mf_corr_cross(s.z[i], s.z[k]) : mf_corr_power(s.z[i], s.z[k]);

        s.p[i] = to;
        s.p[k] = s.job.y.base && i != k ? make_float2(to.x, -to.y) : to;
    }
};

/* Block b: the window of a unit. */
__global__ void windows(struct step s)
{
    MF_SHARED(double, shared);
    const struct mf_corr_job &j = s.job;
    const int side = 2 * j.lag - 1;
    const size_t b = blockIdx.x, unit = s.first + b;
    const double scale[2] = {mf_corr_scale(j, 2 * unit), mf_corr_scale(j, 2 * unit + 1)};
    double loss[2] = {0.0, 0.0};

    for (int i = int(threadIdx.x); i < side * side; i += int(blockDim.x)) {
        const int du = i / side - j.lag + 1, dv = i % side - j.lag + 1;
        const size_t u = size_t(du < 0 ? du + j.mu : du), v = size_t(dv < 0 ? dv + j.mv : dv);

        s.window[b * size_t(side) * size_t(side) + size_t(i)] =
            mf_corr_entry(j, unit, du, dv, s.p[s.at(b, u, v)], scale, loss);
    }
    for (size_t k = 0; k < 2; ++k) {
        const double sum = mf_block_sum(loss[k], shared);

        if (threadIdx.x == 0 && j.target && 2 * unit + k < j.x.count) j.loss[2 * unit + k] = sum;
    }
}

/* The window among zeros. */
struct spread_body {
    struct step s;
    __device__ void operator()(size_t b, size_t u, size_t v) const
    {
        const int side = 2 * s.job.lag - 1;
        float2 to = make_float2(0.0f, 0.0f);
        int du, dv;

        if (mf_corr_lag(int(u), s.job.mu, s.job.lag, &du) && mf_corr_lag(int(v), s.job.mv, s.job.lag, &dv))
            to = s.window[b * size_t(side) * size_t(side) + size_t((du + s.job.lag - 1) * side + dv + s.job.lag - 1)];
        s.p[s.at(b, u, v)] = to;
    }
};

struct gradient_body {
    struct step s;
    __device__ void operator()(size_t b, size_t u, size_t v) const
    {
        const size_t i = s.at(b, u, v);
        size_t k;

        if (!s.partner(b, u, v, &k)) return;
        float2 h = s.p[i], l = s.p[k];

        mf_corr_gradient(s.z[i], s.z[k], &h, &l);
        s.p[i] = h;
        if (i != k) s.p[k] = l;
    }
};

/* Slice t of the batch, pixel (u, v). */
struct store_body {
    struct step s;
    __device__ void operator()(size_t t, size_t u, size_t v) const
    {
        const float2 g = s.p[s.at(t / 2, u, v)];

        mf_corr_store(s.job, 2 * s.first + t, u, v, t % 2 ? g.y : g.x);
    }
};

void transform(const struct mf_corr_level *level, float2 *z, int direction)
{
    check(
        api.run(level->fft->plan, reinterpret_cast<cufftComplex *>(z), reinterpret_cast<cufftComplex *>(z), direction),
        __LINE__);
}

/* Units first .. first + n - 1. The transforms always do a whole batch, so that a unit's arithmetic is the same in any.
 */
void run_batch(struct mf_slice_plan *plan, const struct mf_corr_level *level, const struct step &s, size_t n)
{
    const struct mf_corr_job &j = s.job;
    const size_t mu = size_t(j.mu), mv = size_t(j.mv), left = j.x.count - 2 * s.first;
    const struct mf_view whole = {nullptr, n, mu, mv, mu * mv, mv, 1};
    struct mf_view g = j.g;

    mf_pixels(plan->queue, whole, load_body{s});
    transform(level, s.z, CUFFT_FORWARD);
    mf_pixels(plan->queue, whole, power_body{s});
    transform(level, s.p, CUFFT_INVERSE);
    MF_RUN(windows, unsigned(n), MF_CUDA_THREADS, sizeof(double[MF_CUDA_THREADS]), plan->queue, s);
    if (!j.g.base || !j.target) return;
    mf_pixels(plan->queue, whole, spread_body{s});
    transform(level, s.p, CUFFT_FORWARD);
    mf_pixels(plan->queue, whole, gradient_body{s});
    transform(level, s.p, CUFFT_INVERSE);
    g.count = left < 2 * n ? left : 2 * n;
    mf_pixels(plan->queue, g, store_body{s});
}

} // namespace

int mf_corr_cufft_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_corr_level *level, size_t *work)
{
    int extents[2] = {area->mu, area->mv};
    const int numbers = area->mu * area->mv;
    size_t bytes = 0;
    cufftResult result;

    MF_TRY(open_library());
    level->fft = static_cast<struct mf_cufft *>(calloc(1, sizeof *level->fft));
    if (!level->fft) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    check(api.create(&level->fft->plan), __LINE__);
    check(api.automatic(level->fft->plan, 0), __LINE__);
    result = api.make(level->fft->plan, 2, extents, nullptr, 1, numbers, nullptr, 1, numbers, CUFFT_C2C,
                      int(area->batch), &bytes);
    if (result != CUFFT_SUCCESS)
        return mf_fail(MF_MEMORY, "S2: cuFFT has no plan for %zu transforms of %d x %d (error %d)", area->batch,
                       area->mu, area->mv, int(result));
    check(api.stream(level->fft->plan, mf_cuda_of(q)->stream), __LINE__);
    if (bytes > *work) *work = bytes;
    return MF_OK;
}

void mf_corr_cufft_work(struct mf_slice_plan *plan, struct mf_corr_level *level)
{
    check(api.work(level->fft->plan, plan->work), __LINE__);
}

void mf_corr_cufft_close(struct mf_corr_level *level)
{
    if (!level->fft) return;
    (void)api.destroy(level->fft->plan);
    free(level->fft);
}

void mf_corr_cufft_run(struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job)
{
    const struct mf_corr_level *level = &plan->level[l];
    const size_t batch = plan->areas.level[l].batch;

    for (size_t first = 0; first < job.units; first += batch) {
        const size_t n = job.units - first < batch ? job.units - first : batch;
        const struct step s = {job, first, plan->spectrum, plan->spectrum + plan->areas.numbers, plan->window};

        run_batch(plan, level, s, n);
    }
}
