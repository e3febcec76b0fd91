/* steady_linear on cpu. See kernels/net/text.c and steady.h. */
#include "kernels/cpu/net/steady.h"

#include "kernels/cpu/net/act.h"
#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/net.h"
#include "src/base/cut.h"
#include "src/base/err.h"

static const struct mf_steady_text *text(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &mf_steady_text_16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        return &mf_steady_text_8;
#endif
    return &mf_steady_text_4;
}

static size_t whole_lines(size_t numbers) { return mf_whole_lines(numbers * sizeof(float)) / sizeof(float); }

/* Work memory, in floats: x in blocks; x and y, where they have 16 bits; then a panel of each thread. */
struct room {
    size_t x, y, panels;
};

static struct room room_of(const struct mf_steady *s, int wide)
{
    const size_t x = whole_lines(mf_steady_blocks(s) * mf_steady_block(s) * s->step);
    const size_t y = x + (wide ? 0 : whole_lines(s->rows * s->k));

    return (struct room){x, y, y + (wide ? 0 : whole_lines(s->rows * s->m))};
}

/* The call in f32. */
static struct mf_steady steady_of(const struct mf_call *call)
{
    const struct mf_shape *w = &call->in[1].shape;
    const int wide = call->in[0].shape.type == MF_F32;
    struct mf_steady s = {.rows = mf_shape_rows(&call->in[0].shape),
                          .k = w->d[1],
                          .m = w->d[0],
                          .type = w->type,
                          .w = call->in[1].at,
                          .packed = call->work,
                          .step = (w->d[1] + MF_STEADY_LANES - 1) / MF_STEADY_LANES * MF_STEADY_LANES};

    s.x = wide || !s.packed ? call->in[0].at : s.packed + room_of(&s, wide).x;
    s.y = wide || !s.packed ? call->out[0].at : s.packed + room_of(&s, wide).y;
    return s;
}

static void pack(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_steady s = steady_of(call);

    text()->pack(&s, from, to);
}

static void add_bias(float *y, const float *bias, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] += bias[i];
}

static void times(float *y, const float *scale, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] *= scale[i];
}

/* Scales, bias, activation, and the type of y. */
static void end_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_steady s = steady_of(call);
    const enum mf_type type = call->out[0].shape.type;

    for (size_t r = from; r < to; ++r) {
        float *y = s.y + r * s.m;

        if (call->in[3].at) times(y, call->in[3].at, s.m);
        if (call->in[2].at) add_bias(y, call->in[2].at, s.m);
        mf_act_forward(call->attr->act, y, y, s.m);
        if (type != MF_F32) mf_cpu_narrow(type, y, (char *)call->out[0].at + r * s.m * mf_type_bytes(type), s.m);
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_steady s = steady_of(call);
    const size_t parts = (s.m + MF_STEADY_PANEL - 1) / MF_STEADY_PANEL;
    const enum mf_type type = call->in[0].shape.type;
    const struct room room = room_of(&s, type == MF_F32);
    float *panels = s.packed + room.panels;
    size_t threads = (size_t)mf_cpu_threads(queue, s.rows * s.k * s.m);

    if (type != MF_F32) mf_cpu_widen_all(queue, type, call->in[0].at, s.packed + room.x, s.rows * s.k);
    mf_cpu_rows(queue, mf_steady_blocks(&s), mf_steady_block(&s) * s.step, pack, call);
    threads = threads < parts ? threads : parts;
#pragma omp parallel for num_threads((int)threads) schedule(static) if (threads > 1)
    for (size_t t = 0; t < threads; ++t) {
        const struct mf_span part = mf_cut(parts, threads, t);
        const size_t from = part.first * MF_STEADY_PANEL, to = (part.first + part.count) * MF_STEADY_PANEL;

        text()->multiply(&s, from, to < s.m ? to : s.m, panels + t * mf_steady_panel(&s));
    }
    mf_cpu_rows(queue, s.rows, s.m, end_rows, call);
}

static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    const struct mf_steady s = steady_of(call);

    (void)back;
    *made = NULL;
    *work = (room_of(&s, call->in[0].shape.type == MF_F32).panels + (size_t)queue->threads * mf_steady_panel(&s)) *
            sizeof(float);
    return MF_OK;
}

const struct mf_op_calls mf_op_steady_linear_cpu = {.plan = plan, .forward = forward};
