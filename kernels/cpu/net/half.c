/* See half.h. */
#include "kernels/cpu/net/half.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/dnnl.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

enum { TENSORS = 2 * MF_INS + MF_OUTS + 1 };

size_t mf_half_piece = 1 << 18;

/* The plans of f32 calls. Pieces behind the first add to the gradients of what all samples share; the last one may be
 * smaller. */
struct plans {
    void *first, *later, *last;
};

/* How a call is cut. */
struct cut {
    size_t samples, piece;          /* extent of the first axis, and how much of it is done at a time */
    unsigned shared;                /* inputs that all samples read */
    struct mf_tensor half[TENSORS]; /* the call's tensors, in the order of tensor_of() */
};

static struct mf_tensor *tensor_of(struct mf_call *call, int k)
{
    if (k < MF_INS) return &call->in[k];
    if (k < 2 * MF_INS) return &call->din[k - MF_INS];
    return k < 2 * MF_INS + MF_OUTS ? &call->out[k - 2 * MF_INS] : &call->dout;
}

static int is_shared(const struct cut *cut, int k) { return k < 2 * MF_INS && cut->shared >> k % MF_INS & 1; }

/* Backward writes din and forward out; where it adds, it reads them, too. */
static int is_written(int k, int back) { return back ? k >= MF_INS && k < 2 * MF_INS : k >= 2 * MF_INS; }

static int is_added(const struct mf_call *call, int k, int back)
{
    return back && k >= MF_INS && k < 2 * MF_INS && call->add >> (k - MF_INS) & 1;
}

/* Is the first axis that of samples, which do not depend on each other? */
static int has_samples(const struct mf_attr *attr, const struct mf_shape *y, enum mf_op_id op)
{
    if (op == MF_OP_CONCAT || op == MF_OP_SLICE) return attr->axis > 0;
    if (op == MF_OP_TRANSPOSE) return attr->axis > 0 && attr->other > 0;
    return y->n > (op == MF_OP_MATMUL ? 2 : 1);
}

/* Inputs of fewer axes are repeated. */
static unsigned shared_of(const struct mf_call *call, const struct mf_shape *y, enum mf_op_id op)
{
    const struct mf_shape *b = call->in[1].shape.n ? &call->in[1].shape : &call->din[1].shape;

    if (op == MF_OP_ADD || op == MF_OP_MUL) return b->n < y->n ? 2 : 0;
    return mf_ops[op]->shared;
}

/* Products of bf16 that cores compute as they are. The library has no fast convolution of few channels. */
static int knows_bf16(const struct mf_call *call, enum mf_op_id op)
{
    enum { FEW = 8 };
    const struct mf_shape *y = call->dout.shape.n ? &call->dout.shape : &call->out[0].shape;
    const struct mf_shape *w = call->in[1].shape.n ? &call->in[1].shape : &call->din[1].shape;

    if (y->type != MF_BF16 || !mf_dnnl_has_bf16()) return 0;
    return op == MF_OP_LINEAR || (op == MF_OP_CONV2D && w->d[1] >= FEW);
}

/* Does the call become one on f32? */
static int is_half_call(const struct mf_call *call, enum mf_op_id op)
{
    int half = mf_type_is_half(call->dout.shape.type);

    for (int j = 0; j < MF_INS; ++j) half |= mf_type_is_half(call->in[j].shape.type);
    for (int j = 0; j < MF_OUTS; ++j) half |= mf_type_is_half(call->out[j].shape.type);
    return half && !knows_bf16(call, op);
}

static struct cut cut_of(const struct mf_call *call, int back, enum mf_op_id op)
{
    const struct mf_shape *y = back ? &call->dout.shape : &call->out[0].shape;
    struct mf_call copy = *call;
    struct cut cut = {.samples = 1, .piece = 1, .shared = shared_of(call, y, op)};

    for (int k = 0; k < TENSORS; ++k) cut.half[k] = *tensor_of(&copy, k);
    if (!is_half_call(call, op) || !has_samples(call->attr, y, op)) return cut;
    cut.samples = y->d[0];
    cut.piece = mf_half_piece / (mf_shape_count(y) / y->d[0]) + 1;
    if (cut.piece > cut.samples) cut.piece = cut.samples;
    return cut;
}

/* Numbers of tensor @p k in @p samples samples. */
static size_t numbers(const struct cut *cut, int k, size_t samples)
{
    const size_t all = mf_shape_count(&cut->half[k].shape);

    return is_shared(cut, k) ? all : all / cut->samples * samples;
}

/* The f32 call of @p samples samples, from @p first on. Arrays of 16 bits lie in work memory as f32, in front of the
 * call's own. Returns the bytes of the former. */
static size_t call_of(const struct mf_call *call, const struct cut *cut, size_t first, size_t samples,
                      struct mf_call *f32)
{
    size_t at = 0;

    *f32 = *call;
    f32->own |= mf_type_is_half(call->dout.shape.type); /* of a copy */
    if (first > 0) f32->add |= cut->shared;
    for (int k = 0; k < TENSORS; ++k) {
        struct mf_tensor *t = tensor_of(f32, k);
        const enum mf_type type = t->shape.type;

        if (!t->shape.n) continue;
        if (!is_shared(cut, k)) t->shape.d[0] = t->shape.d[0] / cut->samples * samples;
        if (mf_type_is_half(type)) {
            t->shape.type = MF_F32;
            t->at = t->at ? (char *)call->work + at : NULL;
            at += mf_whole_lines(numbers(cut, k, cut->piece) * sizeof(float));
        } else if (t->at && !is_shared(cut, k)) {
            t->at = (char *)t->at + numbers(cut, k, first) * mf_type_bytes(type);
        }
    }
    f32->work = (char *)call->work + at;
    return at;
}

/* -- plans -- */

/* Plans the f32 call of @p samples samples from @p first on. @p work: bytes, so far and then. */
static int plan_piece(struct mf_queue *queue, const struct mf_call *call, int back, const struct cut *cut, size_t first,
                      size_t samples, const struct mf_op_calls *calls, void **made, size_t *work)
{
    struct mf_call f32;
    size_t most = 0;

    call_of(call, cut, first, samples, &f32);
    MF_TRY(calls->plan(queue, &f32, back, made, &most));
    if (most > *work) *work = most;
    return MF_OK;
}

static int plan_pieces(struct mf_queue *queue, const struct mf_call *call, int back, const struct cut *cut,
                       const struct mf_op_calls *calls, struct plans *p, size_t *work)
{
    const size_t n = cut->piece, rest = cut->samples % n;

    MF_TRY(plan_piece(queue, call, back, cut, 0, n, calls, &p->first, work));
    if (cut->samples >= 2 * n) MF_TRY(plan_piece(queue, call, back, cut, n, n, calls, &p->later, work));
    return rest ? plan_piece(queue, call, back, cut, n, rest, calls, &p->last, work) : MF_OK;
}

int mf_half_plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work,
                 enum mf_op_id op, const struct mf_op_calls *calls)
{
    const struct cut cut = cut_of(call, back, op);
    const int half = is_half_call(call, op);
    struct plans p = {0};
    struct mf_call f32;
    int rc = MF_OK;

    *made = NULL;
    *work = 0;
    if (calls->plan)
        rc = half ? plan_pieces(queue, call, back, &cut, calls, &p, work)
                  : calls->plan(queue, call, back, &p.first, work);
    if (calls->release) memcpy(*made = MF_MUST(malloc(sizeof p), "plans"), &p, sizeof p);
    if (half) *work += call_of(call, &cut, 0, cut.piece, &f32);
    return rc;
}

void mf_half_release(void *made, const struct mf_op_calls *calls)
{
    struct plans *p = made;

    if (p->first) calls->release(p->first);
    if (p->later) calls->release(p->later);
    if (p->last) calls->release(p->last);
    free(p);
}

/* -- runs -- */

/* Copies what the call of a piece reads to f32, or what it wrote back. */
static void copy(struct mf_queue *queue, struct mf_call *f32, const struct cut *cut, int back, size_t first,
                 size_t samples, int out)
{
    for (int k = 0; k < TENSORS; ++k) {
        const struct mf_tensor *half = &cut->half[k];
        const enum mf_type type = half->shape.type;
        const size_t n = numbers(cut, k, samples);
        const int ends = out ? first + samples == cut->samples : first == 0;
        char *at = half->at;

        if (!at || !mf_type_is_half(type) || (is_shared(cut, k) && !ends)) continue;
        if (!is_shared(cut, k)) at += numbers(cut, k, first) * mf_type_bytes(type);
        if (out && is_written(k, back)) mf_cpu_narrow_all(queue, type, tensor_of(f32, k)->at, at, n);
        if (!out && (!is_written(k, back) || is_added(f32, k, back)))
            mf_cpu_widen_all(queue, type, at, tensor_of(f32, k)->at, n);
    }
}

static void run_piece(struct mf_queue *queue, const struct mf_call *call, int back, const struct cut *cut, size_t first,
                      const struct mf_op_calls *calls)
{
    const size_t samples = first + cut->piece < cut->samples ? cut->piece : cut->samples - first;
    const struct plans *p = call->plan;
    double number[MF_NUMBERS];
    struct mf_call f32;

    call_of(call, cut, first, samples, &f32);
    if (p) f32.plan = first == 0 ? p->first : samples < cut->piece ? p->last : p->later;
    memcpy(number, call->number, sizeof number);
    number[MF_NUMBER_SAMPLE] += (double)first;
    f32.number = number;
    copy(queue, &f32, cut, back, first, samples, 0);
    (back ? calls->backward : calls->forward)(queue, &f32);
    copy(queue, &f32, cut, back, first, samples, 1);
}

void mf_half_run(struct mf_queue *queue, const struct mf_call *call, int back, enum mf_op_id op,
                 const struct mf_op_calls *calls)
{
    struct mf_call f32;
    struct cut cut;

    if (!is_half_call(call, op)) {
        f32 = *call;
        if (call->plan) f32.plan = ((const struct plans *)call->plan)->first;
        (back ? calls->backward : calls->forward)(queue, &f32);
        return;
    }
    cut = cut_of(call, back, op);
    for (size_t first = 0; first < cut.samples; first += cut.piece) run_piece(queue, call, back, &cut, first, calls);
}
