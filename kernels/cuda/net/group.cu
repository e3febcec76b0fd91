/* group_norm on cuda. See kernels/net/norm.c. Backward computes the input of the activation again, so that no array of
 * slopes is kept. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/act.h"
#include "kernels/form/norm.h"
#include "kernels/net/gpu_work.h"

namespace
{

/* A call: extents, operands, and work memory. Array saved [image][group] has mean, 1 / deviation. Sums [image][channel]
 * are, forward: of x and x^2 over the pixels; backward: of the slope s before the activation, and of s (x - mean). */
template <class T> struct norm {
    size_t images, pixels, c, groups;
    int act;
    const T *x, *dy, *st; /* st: s and t of modulate, or NULL */
    const float *g, *b;
    float *saved;
    double *sums;
    float *line; /* [image][group] dx = scale g s + line[0] (x - mean) + line[1] */
    __host__ __device__ size_t group(size_t image, size_t k) const { return image * groups + k / (c / groups); }
    /* The factor of g and b. */
    __device__ float gain(size_t image, size_t k) const { return st ? 1 + mf_wide(st[image * 2 * c + k]) : 1; }
    __device__ float level(size_t image, size_t k) const
    {
        return st ? b[k] * gain(image, k) + mf_wide(st[image * 2 * c + c + k]) : b[k];
    }
    __device__ float normal(size_t image, size_t k, float v) const
    {
        const float *of = saved + 2 * group(image, k);

        return mf_group_value(v, of[0], of[1] * (g[k] * gain(image, k)), level(image, k));
    }
    __device__ float slope(size_t image, size_t k, float v, float up) const
    {
        if (act == MF_ACT_NONE) return up;
        const float z = normal(image, k, v);

        return mf_act_slope(act, act == MF_ACT_RELU ? mf_act_value(act, z) : z) * up;
    }
};

/* -- forward -- */

template <class T> struct moments_body {
    enum { SUMS = 2 };
    norm<T> s;
    __device__ void operator()(size_t row, size_t k, double *value) const
    {
        const double v = double(mf_wide(s.x[row * s.c + k]));

        value[0] += v;
        value[1] += v * v;
    }
    __device__ void store(size_t image, size_t k, int v, double sum) const { s.sums[2 * (image * s.c + k) + v] = sum; }
};

/* Mean and 1 / deviation of group i of all images. */
template <class T> struct statistics_body {
    norm<T> s;
    __device__ void operator()(size_t i) const
    {
        const size_t size = s.c / s.groups;
        const double n = double(s.pixels) * double(size), *sums = s.sums + 2 * i * size;
        double first = 0, second = 0;

        for (size_t k = 0; k < size; ++k) {
            first += sums[2 * k];
            second += sums[2 * k + 1];
        }
        const double mean = first / n, variance = second / n - mean * mean;

        s.saved[2 * i] = float(mean);
        s.saved[2 * i + 1] = float(1 / sqrt((variance > 0 ? variance : 0) + MF_NORM_EPSILON));
    }
};

template <int W, class T> struct value_body {
    norm<T> s;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, image = i * W / s.c / s.pixels;
        float v[W];

        mf_load<W>(s.x + i * W, v);
        for (int w = 0; w < W; ++w) v[w] = mf_act_value(s.act, s.normal(image, k + size_t(w), v[w]));
        mf_store<W>(v, y + i * W);
    }
};

/* -- backward -- */

template <class T> struct products_body {
    enum { SUMS = 2 };
    norm<T> s;
    __device__ void operator()(size_t row, size_t k, double *value) const
    {
        const size_t image = row / s.pixels, i = row * s.c + k;
        const float x = mf_wide(s.x[i]), slope = s.slope(image, k, x, mf_wide(s.dy[i]));

        value[0] += double(slope);
        value[1] += double(slope) * double(x - s.saved[2 * s.group(image, k)]);
    }
    __device__ void store(size_t image, size_t k, int v, double sum) const { s.sums[2 * (image * s.c + k) + v] = sum; }
};

/* dx = r (g s - mean(g s) - h mean(h g s)), h = (x - mean) r, r = 1 / deviation, in group i of all images. */
template <class T> struct line_body {
    norm<T> s;
    __device__ void operator()(size_t i) const
    {
        const size_t size = s.c / s.groups, channel = i % s.groups * size;
        const double n = double(s.pixels) * double(size), r = double(s.saved[2 * i + 1]), *sums = s.sums + 2 * i * size;
        double first = 0, second = 0;

        for (size_t k = 0; k < size; ++k) {
            const double g = double(s.g[channel + k] * s.gain(i / s.groups, channel + k));

            first += g * sums[2 * k];
            second += g * sums[2 * k + 1];
        }
        s.line[2 * i] = float(-second * r * r * r / n);
        s.line[2 * i + 1] = float(-first * r / n);
    }
};

template <int W, class Add, class T> struct slope_body {
    norm<T> s;
    T *dx;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.c, image = i * W / s.c / s.pixels;
        float v[W], up[W];

        mf_load<W>(s.x + i * W, v);
        mf_load<W>(s.dy + i * W, up);
        for (int w = 0; w < W; ++w) {
            const size_t channel = k + size_t(w), group = s.group(image, channel);
            const float scale = s.saved[2 * group + 1] * (s.g[channel] * s.gain(image, channel));

            v[w] = mf_group_slope(v[w], s.saved[2 * group], scale, s.slope(image, channel, v[w], up[w]),
                                  s.line[2 * group], s.line[2 * group + 1]);
        }
        mf_give<W, Add>(v, dx + i * W);
    }
};

/* Gradients of g and b, either of which may be missing: sums over the images, in their order. */
template <class T> struct weights_body {
    norm<T> s;
    float *dg, *db;
    bool add_g, add_b;
    __device__ void operator()(size_t k) const
    {
        double g = dg && add_g ? double(dg[k]) : 0, b = db && add_b ? double(db[k]) : 0;

        for (size_t image = 0; image < s.images; ++image) {
            const double *sums = s.sums + 2 * (image * s.c + k);

            const double times = double(s.gain(image, k));

            g += times * sums[1] * double(s.saved[2 * s.group(image, k) + 1]);
            b += times * sums[0];
        }
        if (dg) dg[k] = float(g);
        if (db) db[k] = float(b);
    }
};

/* Gradients of s and t: of what the norm gave without them, and of 1. Channel i of all images. */
template <class T> struct modulation_body {
    norm<T> s;
    T *ds;
    bool add;
    __device__ void put(T *to, double sum) const { *to = mf_round<T>(float((add ? double(mf_wide(*to)) : 0) + sum)); }
    __device__ void operator()(size_t i) const
    {
        const size_t image = i / s.c, k = i % s.c;
        const double *sums = s.sums + 2 * i;
        const double scale = double(s.saved[2 * s.group(image, k) + 1]) * double(s.g[k]);
        T *to = ds + image * 2 * s.c + k;

        put(to, scale * sums[1] + double(s.b[k]) * sums[0]);
        put(to + s.c, sums[0]);
    }
};

/* -- calls -- */

size_t sums_bytes(const struct mf_shape &x) { return 2 * x.d[0] * mf_shape_last(&x) * sizeof(double); }

int plan(struct mf_queue *, const struct mf_call *call, int, void **made, size_t *work)
{
    *made = nullptr;
    *work = mf_gpu_group_norm_work(call);
    return MF_OK;
}

template <class T> norm<T> norm_of(const struct mf_call *call)
{
    const struct mf_shape &x = call->in[0].shape;
    norm<T> s = {};

    s.images = x.d[0];
    s.pixels = mf_shape_rows(&x) / x.d[0];
    s.c = mf_shape_last(&x);
    s.groups = size_t(call->attr->groups);
    s.act = call->attr->act;
    s.x = mf_numbers<T>(call->in[0]);
    s.g = mf_floats(call->in[1]);
    s.b = mf_floats(call->in[2]);
    s.st = mf_numbers<T>(call->in[3]);
    s.dy = mf_numbers<T>(call->dout);
    s.saved = mf_floats(call->out[1]);
    s.sums = static_cast<double *>(call->work);
    s.line = reinterpret_cast<float *>(static_cast<char *>(call->work) + sums_bytes(x));
    return s;
}

template <class T> void forward_of(struct mf_queue *q, const struct mf_call *call)
{
    const norm<T> s = norm_of<T>(call);
    T *y = mf_numbers<T>(call->out[0]);

    mf_columns_run(q, s.images, s.pixels, s.c, moments_body<T>{s});
    mf_each(q, s.images * s.groups, statistics_body<T>{s});
    mf_by_width<T>(s.c, {s.x, y}, [&](auto width) {
        constexpr int W = decltype(width)::OF;

        mf_each(q, s.images * s.pixels * s.c / W, value_body<W, T>{s, y});
    });
}

template <class T> void backward_of(struct mf_queue *q, const struct mf_call *call)
{
    const norm<T> s = norm_of<T>(call);
    T *dx = mf_numbers<T>(call->din[0]), *ds = mf_numbers<T>(call->din[3]);
    float *dg = mf_floats(call->din[1]), *db = mf_floats(call->din[2]);

    mf_columns_run(q, s.images, s.pixels, s.c, products_body<T>{s});
    if (dg || db) mf_each(q, s.c, weights_body<T>{s, dg, db, (call->add & 2) != 0, (call->add & 4) != 0});
    if (ds) mf_each(q, s.images * s.c, modulation_body<T>{s, ds, (call->add & 8) != 0});
    if (!dx) return;
    mf_each(q, s.images * s.groups, line_body<T>{s});
    mf_choose(call->add & 1, [&](auto add) {
        mf_by_width<T>(s.c, {s.x, s.dy, dx}, [&](auto width) {
            constexpr int W = decltype(width)::OF;

            mf_each(q, s.images * s.pixels * s.c / W, slope_body<W, decltype(add), T>{s, dx});
        });
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->in[0].shape.type, [&](auto number) { forward_of<decltype(number)>(q, call); });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { backward_of<decltype(number)>(q, call); });
}

} // namespace

const struct mf_op_calls mf_op_group_norm_cuda = {plan, nullptr, forward, backward};
