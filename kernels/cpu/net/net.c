/* The operations of cpu, and rows over threads. */
#include "kernels/cpu/net/net.h"

#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/half.h"
#include "src/base/cut.h"

/* Calls on tensors of 16 bits become calls on f32. */
#define CALLS(NAME, name)                                                                                       \
    static int name##_plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work) \
    {                                                                                                           \
        return mf_half_plan(q, call, back, made, work, MF_OP_##NAME, &mf_op_##name##_cpu);                      \
    }                                                                                                           \
    static void name##_release(void *made) { mf_half_release(made, &mf_op_##name##_cpu); }                      \
    static void name##_forward(struct mf_queue *q, const struct mf_call *call)                                  \
    {                                                                                                           \
        mf_half_run(q, call, 0, MF_OP_##NAME, &mf_op_##name##_cpu);                                             \
    }                                                                                                           \
    static void name##_backward(struct mf_queue *q, const struct mf_call *call)                                 \
    {                                                                                                           \
        mf_half_run(q, call, 1, MF_OP_##NAME, &mf_op_##name##_cpu);                                             \
    }                                                                                                           \
    static const struct mf_op_calls name##_calls = {name##_plan, name##_release, name##_forward, name##_backward};
MF_OP_TENSOR_LIST(CALLS)
#undef CALLS

const struct mf_op_table mf_net_cpu = {{
#define MF_OP_ROW(NAME, name) [MF_OP_##NAME] = &name##_calls,
    MF_OP_TENSOR_LIST(MF_OP_ROW)
#undef MF_OP_ROW
#define MF_OP_ROW(NAME, name) [MF_OP_##NAME] = &mf_op_##name##_cpu,
        MF_OP_EXPERT_LIST(MF_OP_ROW) MF_OP_TEXT_LIST(MF_OP_ROW) MF_OP_FLAT_LIST(MF_OP_ROW)
#undef MF_OP_ROW
}};

void mf_cpu_rows(const struct mf_queue *queue, size_t rows, size_t cost,
                 void (*work)(const struct mf_call *call, size_t from, size_t to), const struct mf_call *call)
{
    int threads = mf_cpu_threads(queue, rows * cost);

    if ((size_t)threads > rows) threads = rows > 0 ? (int)rows : 1;
    if (threads == 1) {
        work(call, 0, rows);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int i = 0; i < threads; ++i) {
        const struct mf_span part = mf_cut(rows, (size_t)threads, (size_t)i);

        work(call, part.first, part.first + part.count);
    }
}

MF_CPU_FAST static void add_row(const float *x, float *sum, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) sum[i] += x[i];
}

void mf_cpu_strip(enum mf_type type, const void *x, size_t rows, size_t m, size_t columns, double *sum)
{
    float wide[MF_STRIP];

    for (size_t i = 0; i < columns; ++i) sum[i] = 0;
    for (size_t first = 0; first < rows; first += MF_BLOCK) {
        const size_t end = first + MF_BLOCK < rows ? first + MF_BLOCK : rows;
        float part[MF_STRIP] = {0};

        for (size_t r = first; r < end; ++r) {
            const void *row = (const char *)x + r * m * mf_type_bytes(type);

            if (type != MF_F32) mf_cpu_widen(type, row, wide, columns);
            add_row(type == MF_F32 ? row : wide, part, columns);
        }
        for (size_t i = 0; i < columns; ++i) sum[i] += (double)part[i];
    }
}

MF_CPU_FAST void mf_cpu_move(const float *from, float *to, size_t n, int add)
{
    if (add)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) to[i] += from[i];
    else if (from != to)
        memcpy(to, from, n * sizeof *to);
}
