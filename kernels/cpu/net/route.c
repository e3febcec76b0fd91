/* route, route_load, permute and combine on cpu. See kernels/net/route.c. */
#include "kernels/form/route.h"

#include <math.h>

#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/net.h"
#include "kernels/form/soft.h"

enum { CHUNK = 512 };

/* -- route -- */

/* Puts expert @p e among the @p n best so far, in falling order of @p key. Of equal keys the lower expert stays first.
 */
static void insert(float *key, int32_t *choice, size_t n, size_t k, float x, size_t e)
{
    size_t at = n < k ? n : k;

    while (at > 0 && key[at - 1] < x) --at;
    if (at == k) return;
    for (size_t i = n < k ? n : k - 1; i > at; --i) {
        key[i] = key[i - 1];
        choice[i] = choice[i - 1];
    }
    key[at] = x;
    choice[at] = (int32_t)e;
}

/* Key [k] becomes softmax(key / temperature). */
static void weigh(float *key, size_t k, float temperature)
{
    float most = key[0], sum = 0;

    for (size_t i = 1; i < k; ++i) most = key[i] > most ? key[i] : most;
    for (size_t i = 0; i < k; ++i) sum += key[i] = mf_soft_exp((key[i] - most) / temperature);
    for (size_t i = 0; i < k; ++i) key[i] /= sum;
}

/* A logit with its noise. */
static float score(const struct mf_call *call, const struct mf_noise *noise, size_t r, size_t e)
{
    const size_t each = call->attr->sample_rows > 0 ? call->attr->sample_rows : 1;
    const float x = ((const float *)call->in[0].at)[r * mf_shape_last(&call->in[0].shape) + e];
    const int32_t *id = call->in[2].at;
    const uint64_t i = mf_noise_index(call->attr, r, id ? (uint64_t)id[e] : e);
    float four[4];

    if (!(noise->deviation > 0)) return x;
    mf_noise_four(noise, r / each, i / 4, four);
    return x + four[i % 4];
}

/* Softmax of all scores of a row. */
struct whole {
    float most, sum;
};

static struct whole whole_of(const struct mf_call *call, const struct mf_noise *noise, size_t r)
{
    const size_t experts = mf_shape_last(&call->in[0].shape);
    struct whole all = {-INFINITY, 0};

    for (size_t e = 0; e < experts; ++e) all.most = fmaxf(all.most, score(call, noise, r, e));
    for (size_t e = 0; e < experts; ++e)
        all.sum += mf_soft_exp((score(call, noise, r, e) - all.most) / (float)call->attr->temperature);
    return all;
}

static float part_of(const struct mf_call *call, const struct mf_noise *noise, size_t r, const struct whole *all,
                     size_t e)
{
    return mf_soft_exp((score(call, noise, r, e) - all->most) / (float)call->attr->temperature) / all->sum;
}

/* @p r: row of the call. The best logits are found in the memory of the weights. Without the balance biases they are
 * the logits again, up to rounding. */
static void route_row(const struct mf_call *call, const struct mf_noise *noise, size_t r)
{
    const size_t experts = mf_shape_last(&call->in[0].shape), k = call->attr->choices;
    const float *bias = call->in[1].at;
    float *w = (float *)call->out[0].at + r * k;
    int32_t *choice = (int32_t *)call->out[1].at + r * k;
    int broken = 0;

    for (size_t e = 0; e < experts; ++e) {
        float key = score(call, noise, r, e) + (bias ? bias[e] : 0);

        broken |= isnan(key);
        insert(w, choice, e, k, isnan(key) ? -INFINITY : key, e);
    }
    if (k == 1) {
        const struct whole all = whole_of(call, noise, r);

        w[0] = part_of(call, noise, r, &all, (size_t)choice[0]);
    } else {
        for (size_t i = 0; bias && i < k; ++i) w[i] -= bias[choice[i]];
        weigh(w, k, (float)call->attr->temperature);
    }
    for (size_t i = 0; broken && i < k; ++i) w[i] = NAN;
}

static void route_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_noise noise = mf_noise_of(call->attr, call->number);
    const size_t k = call->attr->choices;

    for (size_t r = from; r < to; ++r) {
        if (mf_route_counts(call->attr, call->number, r)) {
            route_row(call, &noise, r);
            continue;
        }
        for (size_t i = r * k; i < (r + 1) * k; ++i) {
            ((float *)call->out[0].at)[i] = 0;
            ((int32_t *)call->out[1].at)[i] = -1;
        }
    }
}

static void route_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->in[0].shape.d[0], call->in[0].shape.d[1], route_rows, call);
}

/* The slope of softmax at the logits that were chosen. */
static void route_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t experts = mf_shape_last(&call->din[0].shape), k = call->attr->choices;
    const float part = 1 / (float)call->attr->temperature;

    for (size_t r = from; r < to; ++r) {
        const float *w = (const float *)call->out[0].at + r * k, *dw = (const float *)call->dout.at + r * k;
        const int32_t *choice = (const int32_t *)call->out[1].at + r * k;
        float *dx = (float *)call->din[0].at + r * experts, sum = 0;

        if (!(call->add & 1)) memset(dx, 0, experts * sizeof *dx);
        for (size_t i = 0; i < k; ++i) sum += w[i] * dw[i];
        for (size_t i = 0; i < k; ++i)
            if (choice[i] >= 0) dx[choice[i]] += w[i] * (dw[i] - sum) * part;
    }
}

/* The slope of softmax at all logits, where one was chosen. */
static void route_back_one(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_noise noise = mf_noise_of(call->attr, call->number);
    const size_t experts = mf_shape_last(&call->din[0].shape);

    for (size_t r = from; r < to; ++r) {
        const int32_t choice = ((const int32_t *)call->out[1].at)[r];
        const float w = ((const float *)call->out[0].at)[r], dw = ((const float *)call->dout.at)[r];
        const float slope = w * dw / (float)call->attr->temperature;
        float *dx = (float *)call->din[0].at + r * experts;
        struct whole all;

        if (!(call->add & 1)) memset(dx, 0, experts * sizeof *dx);
        if (choice < 0) continue;
        all = whole_of(call, &noise, r);
        for (size_t e = 0; e < experts; ++e)
            dx[e] += slope * ((float)((size_t)choice == e) - part_of(call, &noise, r, &all, e));
    }
}

static void route_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->din[0].shape.d[0], call->din[0].shape.d[1],
                call->attr->choices == 1 ? route_back_one : route_back_rows, call);
}

const struct mf_op_calls mf_op_route_cpu = {.forward = route_forward, .backward = route_backward};

/* -- route_load -- */

/* Entropy of softmax(x). */
MF_CPU_FAST static float entropy(const float *x, size_t n)
{
    float most = -INFINITY, sum = 0, product = 0;

#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < n; ++i) {
        const float y = x[i] - most < -80 ? -80 : x[i] - most, p = mf_soft_exp(y);

        sum += p;
        product += p * y;
    }
    return logf(sum) - product / sum;
}

static void load_forward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t rows = call->in[0].shape.d[0], experts = call->in[0].shape.d[1], k = mf_shape_last(&call->in[1].shape);
    const int32_t *choice = call->in[1].at;
    float *load = call->out[0].at;
    double sum = 0;

    (void)queue;
    memset(load, 0, (experts + 2) * sizeof *load);
    for (size_t r = 0; r < rows; ++r) {
        if (choice[r * k] < 0) continue;
        for (size_t i = 0; i < k; ++i) ++load[choice[r * k + i]];
        sum += (double)entropy((const float *)call->in[0].at + r * experts, experts);
        ++load[experts + 1];
    }
    load[experts] = (float)(experts > 1 ? sum / log((double)experts) : 0);
}

const struct mf_op_calls mf_op_route_load_cpu = {.forward = load_forward};

/* -- permute -- */

/* The places of the slots, then the offsets of the experts. */
static void find_places(const struct mf_call *call)
{
    const size_t slots = mf_shape_count(&call->in[1].shape), experts = call->attr->experts;
    const int32_t *choice = call->in[1].at;
    int32_t *place = call->out[1].at, *offset = place + slots;
    size_t counted = 0, most;

    memset(offset, 0, (experts + 1) * sizeof *offset);
    for (size_t s = 0; s < slots; ++s) counted += mf_route_own(call->attr, choice[s]) >= 0;
    most = mf_route_capacity(call->attr->capacity, counted, experts);
    for (size_t s = 0; s < slots; ++s) {
        const int32_t own = mf_route_own(call->attr, choice[s]);
        int32_t *taken = &offset[own + 1];

        place[s] = own >= 0 && (size_t)*taken < most ? (*taken)++ : -1;
    }
    for (size_t e = 0; e < experts; ++e) offset[e + 1] += offset[e];
    for (size_t s = 0; s < slots; ++s)
        if (place[s] >= 0) place[s] += offset[mf_route_own(call->attr, choice[s])];
}

/* Brings the row of a slot into the caches, as the hardware cannot predict its place. */
static void prefetch(const void *rows, size_t bytes, int32_t place)
{
    for (size_t i = 0; place >= 0 && i < bytes; i += 64)
        __builtin_prefetch((const char *)rows + (size_t)place * bytes + i, 1, 2);
}

static void permute_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t k = mf_shape_last(&call->in[1].shape);
    const size_t bytes = mf_shape_last(&call->in[0].shape) * mf_type_bytes(call->in[0].shape.type);
    const int32_t *place = call->out[1].at;

    for (size_t r = from; r < to; ++r)
        for (size_t s = r * k; s < (r + 1) * k; ++s) {
            if (s + k < to * k) prefetch(call->out[0].at, bytes, place[s + k]);
            if (place[s] >= 0)
                memcpy((char *)call->out[0].at + (size_t)place[s] * bytes, (const char *)call->in[0].at + r * bytes,
                       bytes);
        }
}

static void permute_forward(struct mf_queue *queue, const struct mf_call *call)
{
    find_places(call);
    mf_cpu_rows(queue, call->in[0].shape.d[0], call->in[0].shape.d[1], permute_rows, call);
}

/* -- sums of rows -- */

/* Rows of the slots of a row, of which only those with a place count. */
struct gather {
    enum mf_type type;
    size_t k, d;
    const char *from;     /* rows, by place */
    const int32_t *place; /* of the slots */
    const float *weight;  /* of the slots; NULL: 1 */
};

/* [n] of @p type as f32, in @p wide where it is not. */
static const float *widened(enum mf_type type, const void *from, float *wide, size_t n)
{
    if (type == MF_F32) return from;
    mf_cpu_widen(type, from, wide, n);
    return wide;
}

/* sum [n] += the weighted rows of row @p r, columns [at, at + n). */
MF_CPU_FAST static void add_slots(const struct gather *g, size_t r, size_t at, size_t n, float *sum)
{
    float wide[CHUNK];

    for (size_t s = r * g->k; s < (r + 1) * g->k; ++s) {
        const float *x, w = g->weight ? g->weight[s] : 1;

        if (g->place[s] < 0) continue;
        x = widened(g->type, g->from + ((size_t)g->place[s] * g->d + at) * mf_type_bytes(g->type), wide, n);
#pragma omp simd
        for (size_t i = 0; i < n; ++i) sum[i] += w * x[i];
    }
}

/* Row @p r of @p to = the weighted sum, or it is added. */
static void gather_row(const struct gather *g, size_t r, void *to, int add)
{
    float sum[CHUNK];

    for (size_t at = 0; at < g->d; at += CHUNK) {
        const size_t n = at + CHUNK < g->d ? CHUNK : g->d - at;
        void *here = (char *)to + (r * g->d + at) * mf_type_bytes(g->type);

        memset(sum, 0, n * sizeof *sum);
        if (add) mf_cpu_widen(g->type, here, sum, n);
        add_slots(g, r, at, n, sum);
        mf_cpu_narrow(g->type, sum, here, n);
    }
}

static void permute_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_shape *dx = &call->din[0].shape;
    const struct gather g = {.type = dx->type,
                             .k = call->dout.shape.d[0] / dx->d[0],
                             .d = dx->d[1],
                             .from = call->dout.at,
                             .place = call->out[1].at};

    for (size_t r = from; r < to; ++r) {
        for (size_t s = (r + 1) * g.k; r + 1 < to && s < (r + 2) * g.k; ++s)
            prefetch(g.from, g.d * mf_type_bytes(g.type), g.place[s]);
        gather_row(&g, r, call->din[0].at, (int)(call->add & 1));
    }
}

static void permute_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->din[0].shape.d[0], call->dout.shape.d[1], permute_back_rows, call);
}

const struct mf_op_calls mf_op_permute_cpu = {.forward = permute_forward, .backward = permute_backward};

/* -- combine -- */

static void combine_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct gather g = {.type = call->in[0].shape.type,
                             .k = mf_shape_last(&call->in[1].shape),
                             .d = call->in[0].shape.d[1],
                             .from = call->in[0].at,
                             .place = call->in[2].at,
                             .weight = call->in[1].at};

    for (size_t r = from; r < to; ++r) gather_row(&g, r, call->out[0].at, 0);
}

static void combine_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->out[0].shape.d[0], call->out[0].shape.d[1], combine_rows, call);
}

MF_CPU_FAST static float dot(const float *x, const float *y, size_t n)
{
    float sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

MF_CPU_FAST static void scaled(const float *x, float w, float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] = w * x[i];
}

/* A slot whose row is at @p place: dy = w dout there; returns <dout, y>. */
static float slot_back(const struct mf_call *call, size_t s, size_t k, size_t place)
{
    const enum mf_type type = call->dout.shape.type;
    const size_t m = call->dout.shape.d[1], bytes = mf_type_bytes(type);
    float one[CHUNK], other[CHUNK], sum = 0;

    for (size_t at = 0; at < m; at += CHUNK) {
        const size_t n = at + CHUNK < m ? CHUNK : m - at, here = (place * m + at) * bytes;
        const float *dout = widened(type, (const char *)call->dout.at + (s / k * m + at) * bytes, one, n);

        if (call->din[1].at) sum += dot(dout, widened(type, (const char *)call->in[0].at + here, other, n), n);
        if (!call->din[0].at) continue;
        scaled(dout, ((const float *)call->in[1].at)[s], other, n);
        mf_cpu_narrow(type, other, (char *)call->din[0].at + here, n);
    }
    return sum;
}

static void combine_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_shape *slots = call->din[1].at ? &call->din[1].shape : &call->in[1].shape;
    const size_t k = mf_shape_last(slots);
    const int32_t *place = call->in[2].at;

    for (size_t s = from * k; s < to * k; ++s) {
        const float slope = place[s] >= 0 ? slot_back(call, s, k, (size_t)place[s]) : 0;

        if (call->din[1].at) ((float *)call->din[1].at)[s] = slope;
    }
}

static void combine_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->dout.shape.d[0], call->dout.shape.d[1], combine_back_rows, call);
}

const struct mf_op_calls mf_op_combine_cpu = {.forward = combine_forward, .backward = combine_backward};
