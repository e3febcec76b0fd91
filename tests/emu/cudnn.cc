/* A stand-in for libcudnn.so.9 where there is no GPU: convolutions by plain loops in double, on the emulator's streams.
 * Declarations are written here anew and not taken from the program: a test that shares a mistake finds none.
 *
 * What it is strict about: channels are last, shapes fit, the algorithm is one that does not depend on the order of
 * threads, f32 is not to be rounded; work memory is as large as was said, and gets NaN.
 *
 * Algorithm 1 takes 3 ms on the stand-in's clock, 5 takes 1 ms and more work memory, and 2 does not run. */
#include <vector>

#include "tests/emu/cuda_runtime.h"
#include "tests/emu/number.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum { OK = 0, BAD = 2000, NOT_SUPPORTED = 3000 };

/* Of images n, c, height, width; of weights outputs, inputs, height, width. Channels are last. */
struct array {
    int type, n, c, h, w;
    size_t place(int i, int y, int x, int channel) const
    {
        return ((size_t(i) * size_t(h) + size_t(y)) * size_t(w) + size_t(x)) * size_t(c) + size_t(channel);
    }
    size_t count() const { return size_t(n) * size_t(c) * size_t(h) * size_t(w); }
};

struct window {
    int pad, stride, math;
};

struct handle {
    cudaStream_t stream;
};

namespace
{

kind kind_of(const array &a) { return a.type == 9 ? BFLOAT : a.type == 2 ? HALF : FLOAT; }

int extent(int x, int w, const window *o) { return (x + 2 * o->pad - w) / o->stride + 1; }

bool fits(const array *x, const array *w, const array *y, const window *o)
{
    return x->type == w->type && x->type == y->type && x->c == w->c && y->c == w->n && x->n == y->n &&
           y->h == extent(x->h, w->h, o) && y->w == extent(x->w, w->w, o) && o->math == (x->type == 0 ? 3 : 1);
}

enum { USUAL = 1, BROKEN = 2, FAST = 5 };

size_t work_of(const array *x, int algorithm) { return 64 * size_t(algorithm) + x->count() % 7; }

struct pass {
    array x, w, y;
    window o;
};

/* Calls work(place in x, place in w, place in y) for every product. */
template <class Work> void each(const pass &p, const Work &work)
{
    for (int n = 0; n < p.y.n; ++n)
        for (int i = 0; i < p.y.h; ++i)
            for (int j = 0; j < p.y.w; ++j)
                for (int ky = 0; ky < p.w.h; ++ky)
                    for (int kx = 0; kx < p.w.w; ++kx) {
                        const int y = i * p.o.stride + ky - p.o.pad, x = j * p.o.stride + kx - p.o.pad;

                        if (y < 0 || x < 0 || y >= p.x.h || x >= p.x.w) continue;
                        for (int o = 0; o < p.y.c; ++o)
                            for (int c = 0; c < p.x.c; ++c)
                                work(p.x.place(n, y, x, c), p.w.place(o, ky, kx, c), p.y.place(n, i, j, o));
                    }
}

/* Sums of products of @p a and @p b at the places of @p to. */
template <class Each> void sum(const array &shape, void *to, float alpha, float beta, const Each &products)
{
    std::vector<double> all(shape.count());

    products(all);
    for (size_t i = 0; i < all.size(); ++i) {
        const double before = beta != 0 ? double(beta) * number_at(kind_of(shape), to, i) : 0;

        put_number(kind_of(shape), to, i, double(alpha) * all[i] + before);
    }
}

} // namespace

EXPORT int cudnnCreate(handle **h)
{
    *h = new handle{nullptr};
    return OK;
}
EXPORT int cudnnDestroy(handle *h)
{
    delete h;
    return OK;
}
/* Version 9.1.0. */
EXPORT int cudnnGetProperty(int part, int *value)
{
    *value = part == 0 ? 9 : part == 1 ? 1 : 0;
    return OK;
}
EXPORT int cudnnSetStream(handle *h, cudaStream_t stream)
{
    h->stream = stream;
    return OK;
}

EXPORT int cudnnCreateTensorDescriptor(array **a)
{
    *a = new array{};
    return OK;
}
EXPORT int cudnnSetTensor4dDescriptor(array *a, int format, int type, int n, int c, int h, int w)
{
    *a = {type, n, c, h, w};
    return format == 1 ? OK : NOT_SUPPORTED;
}
EXPORT int cudnnDestroyTensorDescriptor(array *a)
{
    delete a;
    return OK;
}
EXPORT int cudnnCreateFilterDescriptor(array **a)
{
    *a = new array{};
    return OK;
}
EXPORT int cudnnSetFilter4dDescriptor(array *a, int type, int format, int k, int c, int h, int w)
{
    *a = {type, k, c, h, w};
    return format == 1 ? OK : NOT_SUPPORTED;
}
EXPORT int cudnnDestroyFilterDescriptor(array *a)
{
    delete a;
    return OK;
}

EXPORT int cudnnCreateConvolutionDescriptor(window **o)
{
    *o = new window{};
    return OK;
}
EXPORT int cudnnSetConvolution2dDescriptor(window *o, int pad_h, int pad_w, int u, int v, int dilation_h,
                                           int dilation_w, int mode, int compute)
{
    *o = {pad_h, u, 0};
    return pad_h == pad_w && u == v && dilation_h == 1 && dilation_w == 1 && mode == 1 && compute == 0 ? OK : BAD;
}
EXPORT int cudnnSetConvolutionMathType(window *o, int math)
{
    o->math = math;
    return OK;
}
EXPORT int cudnnDestroyConvolutionDescriptor(window *o)
{
    delete o;
    return OK;
}

EXPORT int cudnnGetConvolutionForwardWorkspaceSize(handle *, array *x, array *w, window *o, array *y, int algorithm,
                                                   size_t *bytes)
{
    const bool known = algorithm == USUAL || algorithm == BROKEN || algorithm == FAST;

    *bytes = work_of(x, algorithm);
    return fits(x, w, y, o) && known ? OK : NOT_SUPPORTED;
}
EXPORT int cudnnGetConvolutionBackwardDataWorkspaceSize(handle *h, array *w, array *y, window *o, array *x,
                                                        int algorithm, size_t *bytes)
{
    return cudnnGetConvolutionForwardWorkspaceSize(h, x, w, o, y, algorithm, bytes);
}
EXPORT int cudnnGetConvolutionBackwardFilterWorkspaceSize(handle *h, array *x, array *y, window *o, array *w,
                                                          int algorithm, size_t *bytes)
{
    return cudnnGetConvolutionForwardWorkspaceSize(h, x, w, o, y, algorithm, bytes);
}

namespace
{

/* A pass on the stream of @p h, after its work memory has lost what it held. */
template <class Work> int enqueue(handle *h, const pass &p, int algorithm, void *room, size_t bytes, const Work &work)
{
    if (!fits(&p.x, &p.w, &p.y, &p.o) || bytes < work_of(&p.x, algorithm)) return BAD;
    if (algorithm != USUAL && algorithm != FAST) return NOT_SUPPORTED;
    mf_emu_takes(h->stream, algorithm == USUAL ? 3 : 1);
    mf_emu_enqueue(h->stream, [=]() {
        memset(room, 255, bytes);
        work();
    });
    return OK;
}

} // namespace

EXPORT int cudnnConvolutionForward(handle *h, const float *alpha, array *lx, const void *x, array *lw, const void *w,
                                   window *o, int algorithm, void *room, size_t bytes, const float *beta, array *ly,
                                   void *y)
{
    const pass p = {*lx, *lw, *ly, *o};
    const kind type = kind_of(*lx);
    const float a = *alpha, b = *beta;

    return enqueue(h, p, algorithm, room, bytes, [=]() {
        sum(p.y, y, a, b, [&](auto &all) {
            each(p, [&](size_t i, size_t j, size_t k) { all[k] += number_at(type, x, i) * number_at(type, w, j); });
        });
    });
}

EXPORT int cudnnConvolutionBackwardData(handle *h, const float *alpha, array *lw, const void *w, array *ly,
                                        const void *dy, window *o, int algorithm, void *room, size_t bytes,
                                        const float *beta, array *lx, void *dx)
{
    const pass p = {*lx, *lw, *ly, *o};
    const kind type = kind_of(*lx);
    const float a = *alpha, b = *beta;

    return enqueue(h, p, algorithm, room, bytes, [=]() {
        sum(p.x, dx, a, b, [&](auto &all) {
            each(p, [&](size_t i, size_t j, size_t k) { all[i] += number_at(type, dy, k) * number_at(type, w, j); });
        });
    });
}

EXPORT int cudnnConvolutionBackwardFilter(handle *h, const float *alpha, array *lx, const void *x, array *ly,
                                          const void *dy, window *o, int algorithm, void *room, size_t bytes,
                                          const float *beta, array *lw, void *dw)
{
    const pass p = {*lx, *lw, *ly, *o};
    const kind type = kind_of(*lx);
    const float a = *alpha, b = *beta;

    return enqueue(h, p, algorithm, room, bytes, [=]() {
        sum(p.w, dw, a, b, [&](auto &all) {
            each(p, [&](size_t i, size_t j, size_t k) { all[j] += number_at(type, x, i) * number_at(type, dy, k); });
        });
    });
}
