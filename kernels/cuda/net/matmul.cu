/* matmul on cuda. See kernels/net/matmul.c. */
#include <stdlib.h>

#include "kernels/cuda/net/net.cuh"
#include "kernels/cuda/net/product.cuh"

namespace
{

/* An operand, and whether it is to be transposed. */
struct matrix {
    const struct mf_tensor *tensor;
    bool transposed;
};

struct term {
    struct matrix a, b;
    const struct mf_tensor *c;
    bool add;
};

struct matrix input(const struct mf_call *call, int j)
{
    return {&call->in[j], (call->attr->transposed >> j & 1) != 0};
}

struct matrix turned(const struct matrix &m) { return {m.tensor, !m.transposed}; }

/* da = dy b' and db = a' dy; of what is transposed the transpose of that. */
struct term gradient(const struct mf_call *call, int j)
{
    const struct matrix a = input(call, 0), b = input(call, 1), dy = {&call->dout, false};
    const bool add = (call->add >> j & 1) != 0;

    if (j == 0 && a.transposed) return {b, turned(dy), &call->din[0], add};
    if (j == 0) return {dy, turned(b), &call->din[0], add};
    if (b.transposed) return {turned(dy), a, &call->din[1], add};
    return {turned(a), dy, &call->din[1], add};
}

/* Term 0: forward, or the first gradient. */
struct term term_of(const struct mf_call *call, bool back, int j)
{
    if (back) return gradient(call, j);
    return {input(call, 0), input(call, 1), &call->out[0], false};
}

bool wanted(const struct mf_call *call, bool back, int j) { return back ? call->din[j].shape.n > 0 : j == 0; }

int plan_term(struct mf_queue *q, const struct term &t, struct mf_product **product)
{
    const struct mf_shape &a = t.a.tensor->shape, &c = t.c->shape;
    const size_t m = c.d[c.n - 2], n = c.d[c.n - 1];
    const struct mf_product_of of = {.ta = t.a.transposed,
                                     .tb = t.b.transposed,
                                     .add = t.add,
                                     .m = m,
                                     .n = n,
                                     .k = a.d[a.n - (t.a.transposed ? 2 : 1)],
                                     .batch = mf_shape_count(&c) / (m * n),
                                     .type = a.type,
                                     .result = c.type,
                                     .epilogue = 0};

    return mf_product_new(q, &of, product);
}

struct products {
    struct mf_product *product[2];
};

void release(void *made)
{
    struct products *p = static_cast<struct products *>(made);

    mf_product_free(p->product[0]);
    mf_product_free(p->product[1]);
    free(p);
}

int plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work)
{
    struct products *p = static_cast<struct products *>(MF_MUST(calloc(1, sizeof *p), "matrix products"));
    int rc = MF_OK;

    *work = 0;
    for (int j = 0; rc == MF_OK && j < 2; ++j)
        if (wanted(call, back, j)) rc = plan_term(q, term_of(call, back, j), &p->product[j]);
    if (rc != MF_OK) {
        release(p);
        return rc;
    }
    for (const struct mf_product *product : p->product)
        if (mf_product_work(product) > *work) *work = mf_product_work(product);
    *made = p;
    return MF_OK;
}

void run(struct mf_queue *q, const struct mf_call *call, bool back)
{
    const struct products *p = static_cast<struct products *>(call->plan);

    for (int j = 0; j < 2; ++j) {
        if (!p->product[j]) continue;
        const struct term t = term_of(call, back, j);

        mf_product_run(q, p->product[j], t.a.tensor->at, t.b.tensor->at, t.c->at, {}, call->work);
    }
}

void forward(struct mf_queue *q, const struct mf_call *call) { run(q, call, false); }
void backward(struct mf_queue *q, const struct mf_call *call) { run(q, call, true); }

} // namespace

const struct mf_op_calls mf_op_matmul_cuda = {plan, release, forward, backward};
