/* matmul on cpu. See kernels/net/matmul.c. */
#include "kernels/cpu/net/net.h"

enum { MANY = 8 }; /* so many products are shared out one by one; fewer by tiles */

/* An operand: what the memory holds, and whether it is to be transposed. */
struct matrix {
    const struct mf_tensor *tensor;
    int transposed;
};

static struct matrix input(const struct mf_call *call, int j)
{
    return (struct matrix){&call->in[j], (int)(call->attr->transposed >> j & 1)};
}

static struct matrix turned(struct matrix m) { return (struct matrix){m.tensor, !m.transposed}; }

/* Product @p i of the batch: c = a b, or c += a b. */
static struct mf_gemm product(struct matrix a, struct matrix b, const struct mf_tensor *c, int add, size_t i)
{
    const int n = c->shape.n;
    const size_t *da = a.tensor->shape.d + n - 2, *db = b.tensor->shape.d + n - 2, *dc = c->shape.d + n - 2;

    return (struct mf_gemm){.ta = a.transposed,
                            .tb = b.transposed,
                            .add = add,
                            .m = dc[0],
                            .n = dc[1],
                            .k = a.transposed ? da[0] : da[1],
                            .a = (const float *)a.tensor->at + i * da[0] * da[1],
                            .lda = da[1],
                            .b = (const float *)b.tensor->at + i * db[0] * db[1],
                            .ldb = db[1],
                            .c = (float *)c->at + i * dc[0] * dc[1],
                            .ldc = dc[1]};
}

static void products(struct mf_queue *queue, struct matrix a, struct matrix b, const struct mf_tensor *c, int add)
{
    const size_t *d = c->shape.d + c->shape.n - 2, n = mf_shape_count(&c->shape) / (d[0] * d[1]);
    const int threads = mf_cpu_threads(queue, mf_shape_count(&c->shape));

    if (n < MANY)
        for (size_t i = 0; i < n; ++i) {
            const struct mf_gemm g = product(a, b, c, add, i);

            mf_cpu_gemm(queue, &g);
        }
    else
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
        for (size_t i = 0; i < n; ++i) {
            const struct mf_gemm g = product(a, b, c, add, i);

            mf_cpu_gemm_alone(&g);
        }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    products(queue, input(call, 0), input(call, 1), &call->out[0], 0);
}

/* da = dy b' and db = a' dy; of what is transposed the transpose of that. */
static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct matrix a = input(call, 0), b = input(call, 1), dy = {&call->dout, 0};

    if (call->din[0].at && !a.transposed) products(queue, dy, turned(b), &call->din[0], (int)(call->add & 1));
    if (call->din[0].at && a.transposed) products(queue, b, turned(dy), &call->din[0], (int)(call->add & 1));
    if (call->din[1].at && !b.transposed) products(queue, turned(a), dy, &call->din[1], (int)(call->add >> 1 & 1));
    if (call->din[1].at && b.transposed) products(queue, turned(dy), a, &call->din[1], (int)(call->add >> 1 & 1));
}

const struct mf_op_calls mf_op_matmul_cpu = {.forward = forward, .backward = backward};
