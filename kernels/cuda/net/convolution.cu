/* See convolution.cuh. */
#include "kernels/cuda/net/convolution.cuh"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/net/cudnn_abi.h"
#include "kernels/cuda/net/tune.cuh"

struct mf_convolution {
    int kind, algorithm;
    void *handle, *x, *w, *y, *window;
    size_t work;
};

namespace
{

struct mf_dnn dnn;

#define MF_DNN(call) check(call, __FILE__, __LINE__)
void check(int status, const char *file, int line)
{
    if (status != 0) mf_die(MF_DEVICE, file, line, "cuDNN: error %d", status);
}

/* The handle of a queue, which works on its stream. */
int open(struct mf_queue *q, void **handle)
{
    static const char *const files[] = {"libcudnn.so.9", nullptr};
    static const struct mf_library library = {"cuDNN 9", files, "MF_CUDNN_LIBRARY"};
    static const struct mf_symbol symbols[] = {
#define MF_DNN_SYMBOL(member, name, arguments) {name, offsetof(struct mf_dnn, member)},
        MF_DNN_LIST(MF_DNN_SYMBOL)
#undef MF_DNN_SYMBOL
    };
    struct mf_cuda_queue *own = mf_cuda_of(q);

    if (!dnn.open) MF_TRY(mf_library_open(&library, symbols, sizeof symbols / sizeof *symbols, &dnn));
    if (!own->dnn) {
        if (dnn.open(&own->dnn) != 0)
            return mf_fail(MF_DEVICE, "--device: cuDNN does not start on GPU %d; try: --device cpu", own->device);
        MF_DNN(dnn.follow(own->dnn, own->stream));
    }
    *handle = own->dnn;
    return MF_OK;
}

int type_of(enum mf_type type) { return type == MF_BF16 ? MF_DNN_BF16 : type == MF_F16 ? MF_DNN_F16 : MF_DNN_F32; }

void *tensor(int type, const size_t *d)
{
    void *made;

    MF_DNN(dnn.tensor_new(&made));
    MF_DNN(dnn.tensor_set(made, MF_DNN_NHWC, type, int(d[0]), int(d[3]), int(d[1]), int(d[2])));
    return made;
}

void describe(struct mf_convolution *p, const struct mf_convolution_of *of)
{
    const int type = type_of(of->type), stride = of->stride, pad = of->pad;
    const size_t *w = of->w;

    p->x = tensor(type, of->x);
    p->y = tensor(type, of->y);
    MF_DNN(dnn.filter_new(&p->w));
    MF_DNN(dnn.filter_set(p->w, type, MF_DNN_NHWC, int(w[0]), int(w[1]), int(w[2]), int(w[3])));
    MF_DNN(dnn.window_new(&p->window));
    MF_DNN(dnn.window_set(p->window, pad, pad, stride, stride, 1, 1, MF_DNN_CORRELATION, MF_DNN_F32));
    MF_DNN(dnn.window_math(p->window, of->type == MF_F32 ? MF_DNN_FMA_MATH : MF_DNN_TENSOR_OP_MATH));
}

/* Does the library have the algorithm for these shapes? */
bool has(struct mf_convolution *p, int algorithm)
{
    p->algorithm = algorithm;
    switch (p->kind) {
    case mf_convolution_of::FORWARD:
        return dnn.forward_work(p->handle, p->x, p->w, p->window, p->y, algorithm, &p->work) == 0;
    case mf_convolution_of::DATA:
        return dnn.data_work(p->handle, p->w, p->y, p->window, p->x, algorithm, &p->work) == 0;
    default: return dnn.weights_work(p->handle, p->x, p->y, p->window, p->w, algorithm, &p->work) == 0;
    }
}

int launch(const struct mf_convolution *p, void *x, void *w, void *y, void *work)
{
    const float one = 1, nothing = 0;

    switch (p->kind) {
    case mf_convolution_of::FORWARD:
        return dnn.forward(p->handle, &one, p->x, x, p->w, w, p->window, p->algorithm, work, p->work, &nothing, p->y,
                           y);
    case mf_convolution_of::DATA:
        return dnn.data(p->handle, &one, p->w, w, p->y, y, p->window, p->algorithm, work, p->work, &nothing, p->x, x);
    default:
        return dnn.weights(p->handle, &one, p->x, x, p->y, y, p->window, p->algorithm, work, p->work, &nothing, p->w,
                           w);
    }
}

/* -- trials -- */

/* The same convolution by several algorithms; its arrays stand one behind another, and work memory is the last. */
struct candidates {
    struct mf_convolution by[MF_TRIES];
    size_t x, w, y;
};

size_t bytes_of(const struct mf_convolution_of *of, const size_t *d)
{
    return mf_tune_place(d[0] * d[1] * d[2] * d[3] * mf_type_bytes(of->type));
}

int run_candidate(struct mf_queue *, const void *context, size_t algorithm, char *memory)
{
    const struct candidates *s = static_cast<const struct candidates *>(context);
    char *w = memory + s->x, *y = w + s->w;

    return launch(&s->by[algorithm], memory, w, y, y + s->y);
}

/* Has the algorithm the same bits in every run, and does it fit? */
bool may_try(struct mf_convolution *p, int algorithm)
{
    if (p->kind != mf_convolution_of::FORWARD && algorithm == MF_DNN_ALGORITHM_0) return false;
    if (p->kind == mf_convolution_of::WEIGHTS && algorithm == MF_DNN_ALGORITHM_3) return false;
    return has(p, algorithm) && p->work <= MF_TUNING_WORK;
}

void key_of(const struct mf_queue *q, const struct mf_convolution_of *of, char key[MF_TUNE_TEXT])
{
    static const char *const pass[] = {"forward", "of images", "of weights"};
    const size_t *x = of->x, *w = of->w;
    char words[MF_TUNE_TEXT / 2];

    snprintf(words, sizeof words, "convolution %s, %zu x %zu x %zu x %zu by %zu x %zu to %zu, stride %d, pad %d, %s",
             pass[of->kind], x[0], x[1], x[2], x[3], w[2], w[3], w[0], of->stride, of->pad, mf_type_name(of->type));
    mf_tune_key(q, "cuDNN", dnn.property, words, key);
}

bool recall(struct mf_convolution *p, const char *value)
{
    struct mf_convolution as = *p;
    char *end;
    const long algorithm = strtol(value, &end, 10);

    if (end == value || *end || algorithm < 0 || algorithm >= MF_DNN_ALGORITHMS || !may_try(&as, int(algorithm)))
        return false;
    *p = as;
    return true;
}

/* The algorithm that @p p has comes first. */
void tune(struct mf_queue *q, const struct mf_convolution_of *of, struct mf_convolution *p)
{
    struct candidates s = {{*p}, bytes_of(of, of->x), bytes_of(of, of->w), bytes_of(of, of->y)};
    struct mf_tries tries = {&s, 1, p->work, run_candidate};
    char key[MF_TUNE_TEXT], value[16];
    const char *known;
    size_t best;

    key_of(q, of, key);
    known = mf_algorithms_find(q->tuning, key);
    if (known && recall(p, known)) {
        ++q->tuning->remembered;
        return;
    }
    for (int k = 0; k < MF_DNN_ALGORITHMS && tries.count < MF_TRIES; ++k) {
        struct mf_convolution *by = &s.by[tries.count];

        *by = *p;
        if (k == p->algorithm || !may_try(by, k)) continue;
        if (by->work > tries.bytes) tries.bytes = by->work;
        ++tries.count;
    }
    tries.bytes += s.x + s.w + s.y;
    best = mf_tune_fastest(q, &tries);
    if (best == tries.count) return;
    *p = s.by[best];
    snprintf(value, sizeof value, "%d", p->algorithm);
    mf_algorithms_put(q->tuning, key, value);
}

bool may_use_0(const struct mf_queue *q, const struct mf_convolution_of *of)
{
    return of->kind == mf_convolution_of::FORWARD || !q->deterministic;
}

} // namespace

int mf_convolution_new(struct mf_queue *q, const struct mf_convolution_of *of, struct mf_convolution **convolution)
{
    struct mf_convolution *p;
    void *handle = nullptr;

    MF_TRY(open(q, &handle));
    p = static_cast<struct mf_convolution *>(MF_MUST(calloc(1, sizeof *p), "a convolution"));
    p->kind = of->kind;
    p->handle = handle;
    describe(p, of);
    if (has(p, MF_DNN_ALGORITHM_1) || (may_use_0(q, of) && has(p, MF_DNN_ALGORITHM_0))) {
        if (mf_tunes(q)) tune(q, of, p);
        *convolution = p;
        return MF_OK;
    }
    mf_convolution_free(p);
    return mf_fail(MF_DEVICE,
                   "--device: cuDNN has no convolution of %zu to %zu channels of %s with windows of %zu x %zu; "
                   "try: --device cpu",
                   of->w[1], of->w[0], mf_type_name(of->type), of->w[2], of->w[3]);
}

void mf_convolution_free(struct mf_convolution *p)
{
    if (!p) return;
    MF_DNN(dnn.tensor_free(p->x));
    MF_DNN(dnn.tensor_free(p->y));
    MF_DNN(dnn.filter_free(p->w));
    MF_DNN(dnn.window_free(p->window));
    free(p);
}

size_t mf_convolution_work(const struct mf_convolution *p) { return p ? p->work : 0; }

void mf_convolution_run(const struct mf_convolution *p, void *x, void *w, void *y, void *work)
{
    MF_DNN(launch(p, x, w, y, work));
}

void mf_cuda_convolutions_close(struct mf_cuda_queue *own)
{
    if (own->dnn) MF_DNN(dnn.close(own->dnn));
}
