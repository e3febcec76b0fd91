/* Private to S2 on cuda: one plan, two engines. Engine `lines` transforms rows and multiplies them row by row
 * (corr_lines.cu). Engine `cufft` transforms UNITS: two slices, one as the real, one as the imaginary part. For a
 * cross-correlation they are the two slices of the two fields.
 * Rule: the result of a slice depends on nothing else than its unit.
 *
 *   Z = F(a + i b),  F(a) = (Z(k) + conj Z(-k)) / 2,  F(b) = (Z(k) - conj Z(-k)) / 2i
 *   D_a + i D_b = F^-1(|F(a)|^2 + i |F(b)|^2) / pairs                    (both D are real)
 *   dA/da + i dA/db = F^-1(Re H_a F(a) + i Re H_b F(b))                  (H: transforms of the slopes in the window) */
#ifndef MF_KERNELS_CUDA_CORR_CUH
#define MF_KERNELS_CUDA_CORR_CUH

#include "kernels/cuda/slices/slice.cuh"
#include "kernels/form/lag.h"

/** An in-place transform of n points: its radices, and tables in device memory. Frequencies end in the order of the
 * radices. */
struct mf_line {
    int n, stages, radix[MF_LINE_STAGES];
    const float2 *twiddle; /* [n] exp(-2 pi i k / n) */
    const int *place;      /* [n] where frequency k ends */
};

/** One level of one batch. */
struct mf_corr_job {
    struct mf_view x, y;      /* y: the second field of a cross-correlation, else base NULL */
    struct mf_view g, coarse; /* base NULL: no gradient; none of a coarser level */
    int add;                  /* g +=, else g = */
    int nu, nv, mu, mv, lag, periodic;
    const float *target; /* [(2L-1)^2] device; NULL: only values are wanted */
    const double *scale; /* [count] queue->host; NULL: all 1 */
    double weight;
    int power;
    double *loss;  /* [count] device */
    float *values; /* [count][stride]; NULL: not wanted */
    size_t stride;
    size_t units; /* of the whole batch */
};

/** What an engine keeps for one level. */
struct mf_corr_level {
    struct mf_line line;  /* along v */
    void *tables;         /* device: of the line */
    struct mf_cufft *fft; /* NULL for engine `lines` */
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct mf_pyramid pyramid;
    struct mf_corr_areas areas;
    struct mf_corr_level level[MF_PYRAMID_MAX];
    double *loss;     /* [levels][count_max] device */
    float *values;    /* [chunk][levels][entries] device */
    float2 *lines;    /* device: spectra and sums of areas.slices slices, of all levels by lines */
    float2 *spectrum; /* device: for cuFFT, Z of a batch of units, and a second array as large */
    float2 *window;   /* device: for cuFFT, [units][(2L-1)^2] of a batch */
    void *work;       /* device: cuFFT's own */
};

/* -- engine `lines`: kernels/cuda/slices/corr_lines.cu -- */

/** Tables; MF_MEMORY. */
int mf_corr_lines_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_corr_level *level);
void mf_corr_lines_close(struct mf_queue *q, struct mf_corr_level *level);
/** Values, losses, and all of the gradients but the last transform, of the levels that this engine works on. @p job
 * [levels] */
void mf_corr_lines_compare(struct mf_slice_plan *plan, const struct mf_corr_job *job);
/** Adds the gradient of level @p l. */
void mf_corr_lines_gradient(struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job);

/* -- engine `cufft`: kernels/cuda/slices/corr_cufft.cu -- */

/** Makes the transform plan; *work: its bytes. MF_DEVICE without cuFFT, MF_MEMORY. */
int mf_corr_cufft_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_corr_level *level, size_t *work);
void mf_corr_cufft_close(struct mf_corr_level *level);
/** Tells the plan where plan->work is. */
void mf_corr_cufft_work(struct mf_slice_plan *plan, struct mf_corr_level *level);
void mf_corr_cufft_run(struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job);

/* -- what both compute -- */

/** Pixel (u, v) of a unit. */
__device__ inline float2 mf_corr_load(const struct mf_corr_job &j, size_t unit, size_t u, size_t v)
{
    const size_t s = j.y.base ? unit : 2 * unit;
    const float a = j.x.base[mf_at(j.x, s, u, v)];

    if (j.y.base) return make_float2(a, j.y.base[mf_at(j.y, s, u, v)]);
    return make_float2(a, s + 1 < j.x.count ? j.x.base[mf_at(j.x, s + 1, u, v)] : 0.0f);
}

/** From Z at k and -k: |F(a)|^2 + i |F(b)|^2, the same at both. */
__device__ inline float2 mf_corr_power(float2 z, float2 w)
{
    const float ar = z.x + w.x, ai = z.y - w.y, br = z.x - w.x, bi = z.y + w.y;

    return make_float2(0.25f * (ar * ar + ai * ai), 0.25f * (br * br + bi * bi));
}

/** From Z at k and -k: conj(F(a)) F(b) at k; at -k it is the conjugate. */
__device__ inline float2 mf_corr_cross(float2 z, float2 w)
{
    const float ar = 0.5f * (z.x + w.x), ai = 0.5f * (z.y - w.y), br = 0.5f * (z.y + w.y), bi = -0.5f * (z.x - w.x);

    return make_float2(ar * br + ai * bi, ar * bi - ai * br);
}

/** From H and Z at k and -k: the gradient's transform at both, in place of h and k. */
__device__ inline void mf_corr_gradient(float2 z, float2 w, float2 *h, float2 *k)
{
    const float ha = 0.5f * (h->x + k->x), hb = 0.5f * (h->y + k->y);
    const float ar = 0.5f * (z.x + w.x), ai = 0.5f * (z.y - w.y), br = 0.5f * (z.x - w.x), bi = 0.5f * (z.y + w.y);

    *h = make_float2(ha * ar + hb * br, ha * ai + hb * bi);
    *k = make_float2(ha * ar - hb * br, hb * bi - ha * ai);
}

/** The lag of row or column @p i of @p m; false: outside the window. */
__device__ inline bool mf_corr_lag(int i, int m, int lag, int *d)
{
    *d = i < lag ? i : i - m;
    return *d<lag && * d> - lag;
}

/** The scale of slice @p s. A thread reads it once: it is in the memory of the host. */
__device__ inline double mf_corr_scale(const struct mf_corr_job &j, size_t s)
{
    return j.scale && s < j.x.count ? j.scale[s] : 1.0;
}

/** Compares entry (du, dv) of slice @p s, whose value is @p d: writes it, adds to the loss, returns dA/dD. */
__device__ inline double mf_corr_compare(const struct mf_corr_job &j, size_t s, int du, int dv, double d, double *loss)
{
    const size_t i = size_t(du + j.lag - 1) * size_t(2 * j.lag - 1) + size_t(dv + j.lag - 1);

    if (j.values) j.values[s * j.stride + i] = float(d);
    if (!j.target) return 0.0;
    const double e = j.weight * (d - double(j.target[i]));

    *loss += mf_compare_loss(j.power, e);
    return j.weight * mf_compare_slope(j.power, e);
}

/** The same of entry (du, dv) of a unit, not yet divided; returns the entry for the inverse transform. */
__device__ inline float2 mf_corr_entry(const struct mf_corr_job &j, size_t unit, int du, int dv, float2 z,
                                       const double scale[2], double loss[2])
{
    const double pairs =
        mf_lag_norm(j.periodic, size_t(j.nu), size_t(j.nv), size_t(du < 0 ? -du : du), size_t(dv < 0 ? -dv : dv));
    const double norm = pairs / (double(j.mu) * double(j.mv)), a = double(z.x) * norm, b = double(z.y) * norm;
    float2 back = make_float2(0.0f, 0.0f);

    if (j.y.base) {
        (void)mf_corr_compare(j, unit, du, dv, a, loss);
        return back;
    }
    back.x = float(2.0 * norm * scale[0] * mf_corr_compare(j, 2 * unit, du, dv, a, loss));
    if (2 * unit + 1 < j.x.count)
        back.y = float(2.0 * norm * scale[1] * mf_corr_compare(j, 2 * unit + 1, du, dv, b, loss + 1));
    return back;
}

/** Stores gradient @p g of pixel (s, u, v), plus the part of the coarser level. */
__device__ inline void mf_corr_store(const struct mf_corr_job &j, size_t s, size_t u, size_t v, float g)
{
    float *to = j.g.base + mf_at(j.g, s, u, v);

    g += mf_from_coarse(j.coarse, s, u, v);
    *to = j.add ? *to + g : g;
}

#endif
