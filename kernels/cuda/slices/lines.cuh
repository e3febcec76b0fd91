/* In-place transforms of many lines in shared memory, by the threads of one block. Forward transforms turn the natural
 * order into the order of decimation in frequency. Backward transforms start from that order, so nothing is reordered.
 * Neighbouring threads compute the same butterfly of neighbouring lines. Not scaled. */
#ifndef MF_KERNELS_CUDA_LINES_CUH
#define MF_KERNELS_CUDA_LINES_CUH

#include "kernels/cuda/slices/corr.cuh"

__device__ inline float2 mf_times(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ inline float2 mf_plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 mf_minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
/** a times i (back) or -i (forward). */
template <bool BACK> __device__ inline float2 mf_turned(float2 a)
{
    return BACK ? make_float2(-a.y, a.x) : make_float2(a.y, -a.x);
}
__device__ inline float2 mf_scaled(float s, float2 a) { return make_float2(s * a.x, s * a.y); }

template <bool BACK> __device__ inline void mf_dft2(float2 *v)
{
    const float2 a = v[0];

    v[0] = mf_plus(a, v[1]);
    v[1] = mf_minus(a, v[1]);
}

template <bool BACK> __device__ inline void mf_dft3(float2 *v)
{
    const float2 sum = mf_plus(v[1], v[2]);
    const float2 turned = mf_turned<BACK>(mf_scaled(0.86602540378443865f, mf_minus(v[1], v[2])));
    const float2 half = mf_minus(v[0], mf_scaled(0.5f, sum));

    v[0] = mf_plus(v[0], sum);
    v[1] = mf_plus(half, turned);
    v[2] = mf_minus(half, turned);
}

template <bool BACK> __device__ inline void mf_dft4(float2 *v)
{
    const float2 a = mf_plus(v[0], v[2]), b = mf_minus(v[0], v[2]), c = mf_plus(v[1], v[3]);
    const float2 d = mf_turned<BACK>(mf_minus(v[1], v[3]));

    v[0] = mf_plus(a, c);
    v[1] = mf_plus(b, d);
    v[2] = mf_minus(a, c);
    v[3] = mf_minus(b, d);
}

template <bool BACK> __device__ inline void mf_dft5(float2 *v)
{
    const float c1 = 0.30901699437494745f, c2 = -0.80901699437494745f, s1 = 0.95105651629515357f,
                s2 = 0.58778525229247314f;
    const float2 a = mf_plus(v[1], v[4]), b = mf_plus(v[2], v[3]), c = mf_minus(v[1], v[4]), d = mf_minus(v[2], v[3]);
    const float2 p = mf_plus(v[0], mf_plus(mf_scaled(c1, a), mf_scaled(c2, b)));
    const float2 q = mf_plus(v[0], mf_plus(mf_scaled(c2, a), mf_scaled(c1, b)));
    const float2 r = mf_turned<BACK>(mf_plus(mf_scaled(s1, c), mf_scaled(s2, d)));
    const float2 t = mf_turned<BACK>(mf_minus(mf_scaled(s2, c), mf_scaled(s1, d)));

    v[0] = mf_plus(v[0], mf_plus(a, b));
    v[1] = mf_plus(p, r);
    v[2] = mf_plus(q, t);
    v[3] = mf_minus(q, t);
    v[4] = mf_minus(p, r);
}

template <bool BACK> __device__ inline void mf_dft8(float2 *v)
{
    const float r = 0.70710678118654752f, i = BACK ? r : -r;
    float2 even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};

    mf_dft4<BACK>(even);
    mf_dft4<BACK>(odd);
    odd[1] = mf_times(odd[1], make_float2(r, i));
    odd[2] = mf_turned<BACK>(odd[2]);
    odd[3] = mf_times(odd[3], make_float2(-r, i));
    for (int k = 0; k < 4; ++k) {
        v[k] = mf_plus(even[k], odd[k]);
        v[k + 4] = mf_minus(even[k], odd[k]);
    }
}

template <int R, bool BACK> __device__ inline void mf_dft(float2 *v)
{
    if constexpr (R == 2) mf_dft2<BACK>(v);
    if constexpr (R == 3) mf_dft3<BACK>(v);
    if constexpr (R == 4) mf_dft4<BACK>(v);
    if constexpr (R == 5) mf_dft5<BACK>(v);
    if constexpr (R == 8) mf_dft8<BACK>(v);
}

/* One stage of 2^shift lines: butterflies of R numbers, sub apart. */
template <int R, bool BACK>
__device__ inline void mf_stage(const struct mf_line &line, int shift, int pitch, unsigned sub, float2 *z)
{
    const unsigned all = unsigned(line.n) / R << shift, spread = unsigned(line.n) / (R * sub);

    for (unsigned item = threadIdx.x; item < all; item += blockDim.x) {
        const unsigned k = item >> shift, j = k % sub, first = (k - j) * R + j;
        float2 *at = z + (item & ((1u << shift) - 1)) * unsigned(pitch), v[R];

        MF_UNROLL
        for (unsigned p = 0; p < R; ++p) v[p] = at[mf_line_pad(int(first + p * sub))];
        if (!BACK) mf_dft<R, BACK>(v);
        MF_UNROLL
        for (unsigned p = 1; p < R; ++p) {
            float2 w = __ldg(line.twiddle + j * p * spread);

            if (BACK) w.y = -w.y;
            v[p] = mf_times(v[p], w);
        }
        if (BACK) mf_dft<R, BACK>(v);
        MF_UNROLL
        for (unsigned p = 0; p < R; ++p) at[mf_line_pad(int(first + p * sub))] = v[p];
    }
    __syncthreads();
}

/** Transforms 2^shift lines, @p pitch numbers apart; number i of a line is at mf_line_pad(i). The block must
 * synchronise before; it is synchronised after. */
template <bool BACK> __device__ void mf_transform(const struct mf_line &line, int shift, int pitch, float2 *z)
{
    unsigned sub = BACK ? 1 : unsigned(line.n);

    for (int stage = 0; stage < line.stages; ++stage) {
        const int radix = line.radix[BACK ? line.stages - 1 - stage : stage];

        if (!BACK) sub /= unsigned(radix);
        switch (radix) {
        case 2: mf_stage<2, BACK>(line, shift, pitch, sub, z); break;
        case 3: mf_stage<3, BACK>(line, shift, pitch, sub, z); break;
        case 4: mf_stage<4, BACK>(line, shift, pitch, sub, z); break;
        case 5: mf_stage<5, BACK>(line, shift, pitch, sub, z); break;
        default: mf_stage<8, BACK>(line, shift, pitch, sub, z); break;
        }
        if (BACK) sub *= unsigned(radix);
    }
}

#endif
