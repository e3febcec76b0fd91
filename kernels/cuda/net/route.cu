/* route and route_load on cuda. See kernels/net/route.c. */
#include "kernels/form/route.h"

#include "kernels/cuda/net/rows.cuh"
#include "kernels/cuda/net/slots.cuh"
#include "kernels/form/softmax.h"

namespace
{

/* -- route -- */

/* An expert and its score. */
struct candidate {
    float key;
    unsigned expert;
};

/* The lower number comes first of equal keys. */
__device__ bool beats(const candidate &a, const candidate &b)
{
    return a.key > b.key || (a.key == b.key && a.expert < b.expert);
}

__device__ candidate warp_best(candidate best)
{
    for (int half = MF_CUDA_WARP / 2; half; half /= 2) {
        const candidate other = {__shfl_xor_sync(0xffffffffu, best.key, half),
                                 __shfl_xor_sync(0xffffffffu, best.expert, half)};

        if (beats(other, best)) best = other;
    }
    return best;
}

/* The scores of a row: logits with their noise, which is computed anew wherever it is asked for. A lane has every 32nd
 * expert. */
struct scores {
    struct mf_attr attr;
    const double *number;
    unsigned experts;
    const float *logits;
    const int32_t *id; /* NULL: places */
    __device__ float at(const struct mf_noise &noise, size_t row, unsigned expert) const
    {
        const size_t each = attr.sample_rows > 0 ? attr.sample_rows : 1;
        const uint64_t i = mf_noise_index(&attr, row, id ? uint64_t(id[expert]) : expert);
        float four[4] = {};

        if (noise.deviation > 0) mf_noise_four(&noise, row / each, i / 4, four);
        return logits[row * experts + expert] + (i % 4 < 2 ? four[i % 2] : four[2 + i % 2]);
    }
    __device__ float exponential(const struct mf_noise &noise, size_t row, unsigned expert, float most) const
    {
        return mf_soft_exp((at(noise, row, expert) - most) / float(attr.temperature));
    }
    /* The largest score and the sum of exponentials: softmax of all. */
    __device__ float most(const struct mf_noise &noise, size_t row, unsigned lane) const
    {
        float best = -INFINITY;

        for (unsigned e = lane; e < experts; e += MF_CUDA_WARP) best = fmaxf(best, at(noise, row, e));
        return mf_warp_max(best);
    }
    __device__ float sum(const struct mf_noise &noise, size_t row, unsigned lane, float most) const
    {
        float all = 0;

        for (unsigned e = lane; e < experts; e += MF_CUDA_WARP) all += exponential(noise, row, e, most);
        return mf_warp_sum(all);
    }
};

scores scores_of(const struct mf_call *call)
{
    return {*call->attr, call->number, unsigned(call->in[0].shape.d[1]), mf_floats(call->in[0]),
            mf_numbers<int32_t>(call->in[2])};
}

/* Each round finds the best that the last one's beats, so nothing is stored. */
struct choice_body {
    scores score;
    const float *bias; /* balance bias: NULL: none */
    float *weight;
    int32_t *choice;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const size_t k = score.attr.choices;

        if (!mf_route_counts(&score.attr, score.number, row)) {
            for (size_t i = row * k + lane; i < (row + 1) * k; i += MF_CUDA_WARP) {
                weight[i] = 0;
                choice[i] = -1;
            }
            return;
        }
        choose(row, lane);
        __syncwarp();
        if (k == 1)
            weigh_by_all(row, lane);
        else
            weigh(row, lane);
    }
    /* Weights become keys; of a row with NaN they become NaN. */
    __device__ void choose(size_t row, unsigned lane) const
    {
        const struct mf_noise noise = mf_noise_of(&score.attr, score.number);
        const unsigned experts = score.experts;
        const size_t k = score.attr.choices;
        candidate last = {INFINITY, 0};
        float broken = 0;

        for (size_t i = 0; i < k; ++i) {
            candidate best = {-INFINITY, experts};

            for (unsigned e = lane; e < experts; e += MF_CUDA_WARP) {
                const float x = score.at(noise, row, e) + (bias ? bias[e] : 0);
                const candidate one = {isnan(x) ? -INFINITY : x, e};

                if (isnan(x)) broken = 1;
                if ((i == 0 || beats(last, one)) && beats(one, best)) best = one;
            }
            last = warp_best(best);
            broken = mf_warp_max(broken);
            if (lane == 0) {
                weight[row * k + i] = broken > 0 ? NAN : last.key - (bias ? bias[last.expert] : 0);
                choice[row * k + i] = int32_t(last.expert);
            }
        }
    }
    /* Softmax of keys. */
    __device__ void weigh(size_t row, unsigned lane) const
    {
        const size_t k = score.attr.choices;
        float *key = weight + row * k, most = -INFINITY, sum = 0;
        const float each = float(score.attr.temperature);

        for (size_t i = lane; i < k; i += MF_CUDA_WARP) most = key[i] > most ? key[i] : most;
        most = mf_warp_max(most);
        __syncwarp();
        for (size_t i = lane; i < k; i += MF_CUDA_WARP) {
            key[i] = mf_soft_exp((key[i] - most) / each);
            sum += key[i];
        }
        sum = mf_warp_sum(sum);
        for (size_t i = lane; i < k; i += MF_CUDA_WARP) key[i] /= sum;
    }
    /* A single key becomes its part of the softmax of all scores. */
    __device__ void weigh_by_all(size_t row, unsigned lane) const
    {
        const struct mf_noise noise = mf_noise_of(&score.attr, score.number);
        const float most = score.most(noise, row, lane), sum = score.sum(noise, row, lane, most);

        if (lane == 0 && !isnan(weight[row]))
            weight[row] = score.exponential(noise, row, unsigned(choice[row]), most) / sum;
    }
};

/* The slope of softmax at the logits that were chosen; the others have none. */
template <class Add> struct slope_body {
    unsigned experts;
    size_t k;
    float part; /* 1 / temperature */
    const float *weight, *dweight;
    const int32_t *choice;
    float *dx;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const size_t from = row * k, end = from + k;
        float sum = 0;

        for (size_t s = from; s < end; ++s) sum += weight[s] * dweight[s];
        for (unsigned e = lane; e < experts; e += MF_CUDA_WARP) {
            float slope = 0;

            for (size_t s = from; s < end; ++s)
                if (choice[s] == int32_t(e)) slope = mf_softmax_slope(weight[s], dweight[s], sum, part);
            mf_put<Add>(slope, dx + row * experts + e);
        }
    }
};

/* The slope of softmax at all scores, where one was chosen. */
template <class Add> struct one_slope_body {
    scores score;
    const float *weight, *dweight;
    const int32_t *choice;
    float *dx;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const struct mf_noise noise = mf_noise_of(&score.attr, score.number);
        const float most = score.most(noise, row, lane), sum = score.sum(noise, row, lane, most);
        const float slope = choice[row] < 0 ? 0 : weight[row] * dweight[row] / float(score.attr.temperature);

        for (unsigned e = lane; e < score.experts; e += MF_CUDA_WARP) {
            const float part = score.exponential(noise, row, e, most) / sum;

            mf_put<Add>(choice[row] < 0 ? 0 : slope * (float(choice[row] == int32_t(e)) - part),
                        dx + row * score.experts + e);
        }
    }
};

void route(struct mf_queue *q, const struct mf_call *call)
{
    mf_rows_run(q, call->in[0].shape.d[0],
                choice_body{scores_of(call), mf_floats(call->in[1]), mf_floats(call->out[0]),
                            mf_numbers<int32_t>(call->out[1])});
}

void route_back(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dx = call->din[0].shape;

    mf_choose(call->add & 1, [&](auto add) {
        if (call->attr->choices == 1)
            mf_rows_run(q, dx.d[0],
                        one_slope_body<decltype(add)>{scores_of(call), mf_floats(call->out[0]), mf_floats(call->dout),
                                                      mf_numbers<int32_t>(call->out[1]), mf_floats(call->din[0])});
        else
            mf_rows_run(q, dx.d[0],
                        slope_body<decltype(add)>{unsigned(dx.d[1]), call->attr->choices,
                                                  1 / float(call->attr->temperature), mf_floats(call->out[0]),
                                                  mf_floats(call->dout), mf_numbers<int32_t>(call->out[1]),
                                                  mf_floats(call->din[0])});
    });
}

/* -- route_load -- */

/* Entropy of softmax of a row; 0 of a row that does not count. */
struct entropy_body {
    size_t n, k;
    const float *x;
    const int32_t *choice;
    float *entropy;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const float *from = x + row * n;
        float most = -INFINITY, sum = 0, product = 0;

        for (size_t i = lane; i < n; i += MF_CUDA_WARP) most = from[i] > most ? from[i] : most;
        most = mf_warp_max(most);
        for (size_t i = lane; i < n; i += MF_CUDA_WARP) {
            const float y = from[i] - most < -80 ? -80 : from[i] - most, p = mf_soft_exp(y);

            sum += p;
            product += p * y;
        }
        sum = mf_warp_sum(sum);
        product = mf_warp_sum(product);
        if (lane == 0) entropy[row] = choice[row * k] < 0 ? 0.0f : logf(sum) - product / sum;
    }
};

struct load_body {
    enum { SUMS = 2, MAXIMA = 0 };
    size_t k;
    const float *entropy;
    const int32_t *choice;
    double part; /* of the largest entropy */
    float *to;
    __device__ void operator()(size_t i, double *value) const
    {
        value[0] += double(entropy[i]);
        value[1] += choice[i * k] >= 0;
    }
    __device__ void store(size_t, int v, double sum) const { to[v] = float(v == 0 ? sum * part : sum); }
};

/* Slots of an expert. */
struct chunks_body {
    struct mf_slots s;
    const int32_t *count;
    float *to;
    __device__ void operator()(size_t e) const
    {
        int32_t sum = 0;

        for (unsigned c = 0; c < s.chunks; ++c) sum += count[size_t(c) * s.experts + e];
        to[e] = float(sum);
    }
};

struct mf_slots slots_of(const struct mf_call *call) { return mf_slots_of(call->in[1], call->in[0].shape.d[1], 0); }

int load_plan(struct mf_queue *, const struct mf_call *call, int, void **made, size_t *work)
{
    *made = nullptr;
    *work = mf_gpu_route_load_work(call);
    return MF_OK;
}

void load(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_slots s = slots_of(call);
    const size_t rows = call->in[0].shape.d[0], n = s.experts, k = mf_shape_last(&call->in[1].shape);
    int32_t *count = static_cast<int32_t *>(call->work);
    float *entropy = reinterpret_cast<float *>(static_cast<char *>(call->work) + mf_whole_lines(mf_slots_bytes(s)));
    float *to = mf_floats(call->out[0]);

    mf_slots_count(q, s, count);
    mf_each(q, n, chunks_body{s, count, to});
    mf_rows_run(q, rows, entropy_body{n, k, mf_floats(call->in[0]), s.choice, entropy});
    mf_pass_run(q, 1, rows, load_body{k, entropy, s.choice, n > 1 ? 1 / log(double(n)) : 0.0, to + n});
}

} // namespace

MF_CUDA_CALLS(route, route, route_back)
const struct mf_op_calls mf_op_route_load_cuda = {load_plan, nullptr, load, nullptr};
