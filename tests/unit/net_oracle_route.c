/* Oracles and cases of a mixture of experts. */
#include <math.h>

#include "src/base/rng.h"
#include "src/base/streams.h"
#include "tests/unit/net_ops.h"

/* -- route -- */

static double part_of(uint32_t word) { return (double)(word >> 8) / 16777216; }

static double noise(const struct mf_attr *attr, size_t sample, size_t i)
{
    uint32_t four[4], *word = four + i % 4 / 2 * 2;
    double radius, angle;

    mf_random4(5 + (3ULL << 32), MF_STREAM_DROPOUT + attr->stream, (40 + sample) << 32 | i / 4, four);
    radius = attr->deviation * sqrt(-2 * log(part_of(word[0]) + 1.0 / 16777216));
    angle = 2 * acos(-1) * part_of(word[1]);
    return radius * (i % 2 ? sin(angle) : cos(angle));
}

/* The logits of row @p r; NaN is the least. */
static void logits(const struct mf_attr *attr, const struct mf_shape shape[], const double *in, const double *id,
                   size_t r, double *x)
{
    const size_t n = shape[0].d[1], each = attr->sample_rows ? attr->sample_rows : 1;

    for (size_t e = 0; e < n; ++e) {
        x[e] = in[r * n + e] +
               (attr->deviation > 0 ? noise(attr, r / each, (r % each) << 16 | (id ? (size_t)id[e] : e)) : 0);
        if (isnan(x[e])) x[e] = -INFINITY;
    }
}

static void choose(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *choice)
{
    const size_t n = shape[0].d[1], k = attr->choices, each = attr->sample_rows ? attr->sample_rows : 1;
    double x[64];

    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        int taken[64] = {0};

        logits(attr, shape, in[0], in[2], r, x);
        for (size_t e = 0; in[1] && e < n; ++e) x[e] += in[1][e];
        for (size_t i = 0; i < k; ++i) {
            size_t best = n;

            for (size_t e = 0; e < n; ++e)
                if (!taken[e] && (best == n || x[e] > x[best])) best = e;
            taken[best] = 1;
            choice[r * k + i] = (double)(r / each) < net_number[MF_NUMBER_SAMPLES] ? (double)best : -1;
        }
    }
}

static void route(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = shape[0].d[1], k = attr->choices;
    double choice[4096], x[64];

    choose(attr, shape, in, choice);
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        const double *chosen = choice + r * k;
        double sum = 0;

        logits(attr, shape, in[0], in[2], r, x);
        for (size_t e = 0; e < n; ++e) sum += isnan(in[0][r * n + e]) ? NAN : 0;
        for (size_t i = 0; i < k && k > 1 && chosen[0] >= 0; ++i) sum += exp(x[(size_t)chosen[i]] / attr->temperature);
        for (size_t e = 0; k == 1 && e < n; ++e) sum += exp(x[e] / attr->temperature);
        for (size_t i = 0; i < k; ++i)
            out[r * k + i] = chosen[0] < 0 ? 0 : exp(x[(size_t)chosen[i]] / attr->temperature) / sum;
    }
}

static void equal_and_nan(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) in[0][i] = (double)(i * i % 4);
    in[0][0] = in[0][2 * shape[0].d[1] + 3] = NAN;
    for (size_t e = 0; e < shape[0].d[1]; ++e) in[0][shape[0].d[1] + e] = NAN;
}

static void some_ids(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t e = 0; e < shape[2].d[0]; ++e) in[2][e] = (double)((5 * e + 3) % 17);
}

/* Slots from 0 to experts - 1, of which one row in three has none. */
static void choices(int32_t row, size_t k, size_t experts, double *choice)
{
    for (size_t i = 0; i < k; ++i) choice[i] = row % 3 == 1 ? -1 : (double)((size_t)(row * row) % (experts - 1) + i);
}

static void some_choices(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t k = shape[1].d[1], experts = attr->experts ? attr->experts + 2 * attr->first_expert : shape[0].d[1];

    for (size_t r = 0; r < shape[1].d[0]; ++r) choices((int32_t)r, k, experts, in[1] + r * k);
}

static void route_load(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = shape[0].d[1], k = shape[1].d[1];

    (void)attr;
    for (size_t e = 0; e < n + 2; ++e) out[e] = 0;
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        const double *x = in[0] + r * n;
        double sum = 0;

        if (in[1][r * k] < 0) continue;
        for (size_t i = 0; i < k; ++i) ++out[(size_t)in[1][r * k + i]];
        for (size_t e = 0; e < n; ++e) sum += exp(x[e]);
        for (size_t e = 0; n > 1 && e < n; ++e) out[n] -= exp(x[e]) / sum * log(exp(x[e]) / sum) / log((double)n);
        ++out[n + 1];
    }
}

static void only_expert(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t r = 0; r < shape[1].d[0]; ++r) in[1][r] = r % 3 == 0 ? -1 : 0;
}

/* -- permute -- */

static void places(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *place)
{
    const size_t slots = mf_shape_count(&shape[1]), experts = attr->experts;
    const double first = (double)attr->first_expert;
    size_t at = 0, counted = 0, most = slots;

    for (size_t s = 0; s < slots; ++s) counted += in[1][s] >= first && in[1][s] < first + (double)experts;
    if (attr->capacity > 0) most = (size_t)fmax(1, ceil(attr->capacity * (double)counted / (double)experts));
    for (size_t s = 0; s < slots; ++s) place[s] = -1;
    for (size_t e = 0; e < experts; ++e) {
        size_t n = 0;

        place[slots + e] = (double)at;
        for (size_t s = 0; s < slots; ++s)
            if (in[1][s] == first + (double)e && n < most) {
                place[s] = (double)at++;
                ++n;
            }
    }
    place[slots + experts] = (double)at;
}

static void permute(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t slots = mf_shape_count(&shape[1]), d = shape[0].d[1], k = shape[1].d[1];
    double place[4096];

    places(attr, shape, in, place);
    for (size_t i = 0; i < slots * d; ++i) out[i] = NAN; /* nobody asks */
    for (size_t s = 0; s < slots; ++s)
        for (size_t i = 0; place[s] >= 0 && i < d; ++i) out[(size_t)place[s] * d + i] = in[0][s / k * d + i];
}

/* -- grouped_linear -- */

static void grouped_linear(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t rows = shape[0].d[0], k = shape[0].d[1], m = shape[1].d[1], experts = shape[1].d[0];
    const double *offset = in[3] + mf_shape_count(&shape[3]) - (size_t)attr->row_groups - 1;

    for (size_t i = 0; i < rows * m; ++i) out[i] = NAN;
    for (size_t g = 0; g < (size_t)attr->row_groups; ++g)
        for (size_t r = (size_t)offset[g]; r < (size_t)offset[g + 1]; ++r)
            for (size_t i = 0; i < m; ++i) {
                const size_t at = g % experts * m + i;
                double sum = in[2] ? in[2][at] : 0;

                for (size_t j = 0; j < k; ++j) sum += in[0][r * k + j] * in[1][at * k + j] * (in[4] ? in[4][at] : 1);
                out[r * m + i] = net_act(attr->act, sum);
            }
}

/* Groups of different sizes, some empty. In front of them are other numbers, and behind them rows that nobody reads. */
static void some_groups(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t groups = (size_t)attr->row_groups, n = mf_shape_count(&shape[3]), k = shape[0].d[1],
                 rows = shape[0].d[0];
    double *offset = in[3] + n - groups - 1;
    const size_t first = groups > 3 ? 2 : 0;

    for (size_t i = 0; i < n; ++i) in[3][i] = -7;
    for (size_t g = 0; g < groups; ++g)
        offset[g] = (double)(first + (rows - first - 1) * (g / 2 * 2) * g / groups / groups);
    offset[groups] = (double)(rows - 1);
    for (size_t r = 0; r < rows; ++r)
        for (size_t j = 0; (r < (size_t)offset[0] || r >= (size_t)offset[groups]) && j < k; ++j) in[0][r * k + j] = NAN;
}

/* Weights of 8 bits, of any sign, and scales of their rows. */
static void some_bytes(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    some_groups(attr, shape, in);
    for (size_t i = 0; i < mf_shape_count(&shape[1]); ++i) in[1][i] = (double)(i * 37 % 255) - 127;
    for (size_t i = 0; i < mf_shape_count(&shape[4]); ++i) in[4][i] = (double)(i + 1) / 512;
}

static void no_rows(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[3]); ++i) in[3][i] = 1;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) in[0][i] = NAN;
}

/* -- combine -- */

static void combine(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t slots = mf_shape_count(&shape[1]), m = shape[0].d[1], k = shape[1].d[1];

    (void)attr;
    for (size_t i = 0; i < slots / k * m; ++i) out[i] = 0;
    for (size_t s = 0; s < slots; ++s)
        for (size_t i = 0; in[2][s] >= 0 && i < m; ++i)
            out[s / k * m + i] += in[1][s] * in[0][(size_t)in[2][s] * m + i];
}

/* Places in another order; one slot in four has none. */
static void some_places(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t slots = mf_shape_count(&shape[1]), m = shape[0].d[1];
    size_t n = 0;

    (void)attr;
    for (size_t s = slots; s-- > 0;) in[2][s] = s % 4 == 2 ? -1 : (double)n++;
    for (size_t i = n * m; i < slots * m; ++i) in[0][i] = NAN;
}

#define I(n, ...)                  \
    {                              \
        MF_I32, n, { __VA_ARGS__ } \
    }

const struct net_case net_route[] = {
    {MF_OP_ROUTE, route, {.choices = 2, .temperature = 1}, 1, .in = {F(2, 7, 6)}, .second = choose},
    {MF_OP_ROUTE, route, {.choices = 5, .temperature = 0.7}, 1, .in = {F(2, 4, 5)}, .second = choose},
    {MF_OP_ROUTE, route, {.choices = 1, .temperature = 2, .sample_rows = 3}, 1, .in = {F(2, 18, 9)}, .second = choose},
    {MF_OP_ROUTE,
     route,
     {.choices = 3, .temperature = 1.5, .sample_rows = 2, .deviation = 0.5, .stream = 2},
     1,
     .in = {F(2, 12, 7)},
     .second = choose},
    {MF_OP_ROUTE,
     route,
     {.choices = 2, .temperature = 0.9, .deviation = 0.5, .stream = 1},
     1,
     .in = {F(2, 8, 6), F(1, 6), I(1, 6)},
     .second = choose,
     .fill = some_ids},
    {MF_OP_ROUTE,
     route,
     {.choices = 1, .temperature = 0.9, .sample_rows = 2, .deviation = 0.5, .stream = 1},
     1,
     .in = {F(2, 8, 6), F(1, 6), I(1, 6)},
     .second = choose,
     .fill = some_ids},
    {MF_OP_ROUTE,
     route,
     {.choices = 1, .temperature = 1},
     0,
     .in = {F(2, 5, 9)},
     .second = choose,
     .fill = equal_and_nan},
    {MF_OP_ROUTE,
     route,
     {.choices = 3, .temperature = 1},
     0,
     .in = {F(2, 5, 9)},
     .second = choose,
     .fill = equal_and_nan},
    {MF_OP_ROUTE, route, {.choices = 2, .temperature = 0.8}, 1, .in = {F(2, 9, 6), F(1, 6)}, .second = choose},
    {MF_OP_ROUTE, route, {.choices = 1, .temperature = 1}, 1, .in = {F(2, 5, 1)}, .second = choose},
    /* More experts, and more choices, than a warp has lanes. */
    {MF_OP_ROUTE, route, {.choices = 40, .temperature = 1.1}, 1, .in = {F(2, 3, 50)}, .second = choose},
    {MF_OP_ROUTE, route, {.choices = 1, .temperature = 0.9}, 1, .in = {F(2, 6, 50), F(1, 50)}, .second = choose},
    {MF_OP_ROUTE_LOAD, route_load, {0}, 0, .in = {F(2, 6, 50), I(2, 6, 3)}, .fill = some_choices},
    {MF_OP_ROUTE_LOAD, route_load, {0}, 0, .in = {F(2, 33, 9), I(2, 33, 2)}, .fill = some_choices},
    {MF_OP_ROUTE_LOAD, route_load, {0}, 0, .in = {F(2, 5, 1), I(2, 5, 1)}, .fill = only_expert},
    {MF_OP_PERMUTE,
     permute,
     {.experts = 7},
     1,
     .in = {F(2, 20, 9), I(2, 20, 2)},
     .second = places,
     .fill = some_choices},
    {MF_OP_PERMUTE,
     permute,
     {.experts = 3, .first_expert = 2},
     1,
     .in = {F(2, 20, 9), I(2, 20, 2)},
     .second = places,
     .fill = some_choices},
    {MF_OP_PERMUTE,
     permute,
     {.experts = 4, .capacity = 0.8},
     1,
     .in = {F(2, 30, 8), I(2, 30, 2)},
     .second = places,
     .fill = some_choices},
    {MF_OP_PERMUTE,
     permute,
     {.experts = 9, .capacity = 0.01},
     1,
     .in = {F(2, 3, 600), I(2, 3, 1)},
     .second = places,
     .fill = some_choices},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 3},
     7,
     .in = {F(2, 13, 5), F(3, 3, 6, 5), F(2, 3, 6), I(1, 4)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 6, .steady = 1},
     0,
     .in = {F(2, 33, 21), F(3, 3, 7, 21), {0}, I(1, 9)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 3, .act = MF_ACT_SILU, .steady = 1},
     0,
     .in = {F(2, 13, 5), F(3, 3, 6, 5), F(2, 3, 6), I(1, 4)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 3, .steady = 1},
     0,
     .in = {F(2, 14, 24), {MF_BF16, 3, {3, 6, 24}}, {0}, I(1, 4)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 4, .steady = 1},
     0,
     .in = {F(2, 21, 9), {MF_F16, 3, {2, 5, 9}}, F(2, 2, 5), I(1, 5)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 3, .steady = 1},
     0,
     .in = {F(2, 300, 8), {MF_I8, 3, {3, 7, 8}}, F(2, 3, 7), I(1, 4), F(2, 3, 7)},
     .fill = some_bytes},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 8},
     3,
     .in = {F(2, 40, 9), F(3, 4, 17, 9), {0}, I(1, 20)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 6, .act = MF_ACT_RELU},
     7,
     .in = {F(2, 33, 20), F(3, 6, 8, 20), F(2, 6, 8), I(1, 9)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 6, .act = MF_ACT_SILU},
     7,
     .in = {F(2, 33, 20), F(3, 3, 10, 20), F(2, 3, 10), I(1, 9)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 4, .act = MF_ACT_GELU},
     6,
     .in = {F(2, 21, 7), F(3, 4, 5, 7), F(2, 4, 5), I(1, 5)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 2, .act = MF_ACT_GELU_TANH},
     7,
     .in = {F(2, 4, 5), F(3, 2, 3, 5), F(2, 2, 3), I(1, 3)},
     .fill = no_rows},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 1},
     7,
     .in = {F(2, 1300, 3), F(3, 1, 2, 3), F(2, 1, 2), I(1, 2)},
     .fill = some_groups},
    /* Several tiles of terms, of rows, of columns, and of both sides of weights, in whole loads. */
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 5, .act = MF_ACT_SILU},
     7,
     .in = {F(2, 36, 104), F(3, 2, 16, 104), F(2, 2, 16), I(1, 6)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 4},
     7,
     .in = {F(2, 500, 8), F(3, 2, 8, 8), F(2, 2, 8), I(1, 5)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 2, .act = MF_ACT_RELU},
     7,
     .in = {F(2, 16, 136), F(3, 1, 8, 136), F(2, 1, 8), I(1, 3)},
     .fill = some_groups},
    {MF_OP_GROUPED_LINEAR,
     grouped_linear,
     {.row_groups = 3},
     7,
     .in = {F(2, 14, 8), F(3, 2, 200, 8), F(2, 2, 200), I(1, 4)},
     .fill = some_groups},
    /* More slots than a block counts, more experts than a block has threads. */
    {MF_OP_PERMUTE,
     permute,
     {.experts = 5},
     1,
     .in = {F(2, 700, 2), I(2, 700, 2)},
     .second = places,
     .fill = some_choices},
    {MF_OP_PERMUTE,
     permute,
     {.experts = 300},
     1,
     .in = {F(2, 40, 3), I(2, 40, 1)},
     .second = places,
     .fill = some_choices},
    {MF_OP_COMBINE, combine, {0}, 3, .in = {F(2, 18, 7), F(2, 9, 2), I(1, 23)}, .fill = some_places},
    {MF_OP_COMBINE, combine, {0}, 1, .in = {F(2, 9, 8), F(2, 3, 3), I(1, 9)}, .fill = some_places},
    {MF_OP_COMBINE, combine, {0}, 2, .in = {F(2, 5, 700), F(2, 5, 1), I(1, 12)}, .fill = some_places},
    {0}};

/* Routers, choices, places, groups and parts of experts that do not fit; places and offsets that int32 cannot count. */
const struct net_case net_route_bad[] = {
    {MF_OP_ROUTE, NULL, {.choices = 7, .temperature = 1}, 0, .in = {F(2, 5, 6)}},
    {MF_OP_ROUTE, NULL, {.choices = 2}, 0, .in = {F(2, 5, 6)}},
    {MF_OP_ROUTE, NULL, {.choices = 2, .temperature = 1}, 0, .in = {F(2, 5, 6), F(1, 5)}},
    {MF_OP_ROUTE, NULL, {.choices = 2, .temperature = 1}, 0, .in = {F(2, 5, 6), {0}, F(1, 6)}},
    {MF_OP_ROUTE_LOAD, NULL, {0}, 0, .in = {F(3, 1, 5, 6), I(2, 5, 2)}},
    {MF_OP_ROUTE_LOAD, NULL, {0}, 0, .in = {F(2, 5, 6), I(2, 4, 2)}},
    {MF_OP_PERMUTE, NULL, {.experts = 6}, 0, .in = {F(3, 1, 5, 7), I(2, 5, 2)}},
    {MF_OP_PERMUTE, NULL, {.experts = 6}, 0, .in = {F(2, 5, 7), F(2, 5, 2)}},
    {MF_OP_PERMUTE, NULL, {0}, 0, .in = {F(2, 5, 7), I(2, 5, 2)}},
    {MF_OP_PERMUTE, NULL, {.experts = 6}, 0, .in = {F(2, 1 << 30, 7), I(2, 1 << 30, 2)}},
    {MF_OP_GROUPED_LINEAR, NULL, {.row_groups = 3}, 0, .in = {F(2, 9, 5), F(3, 3, 6, 4), {0}, I(1, 4)}},
    {MF_OP_GROUPED_LINEAR, NULL, {.row_groups = 3}, 0, .in = {F(2, 9, 5), F(3, 3, 6, 5), F(2, 3, 5), I(1, 4)}},
    {MF_OP_GROUPED_LINEAR, NULL, {.row_groups = 3}, 0, .in = {F(2, 9, 5), F(3, 3, 6, 5), {0}, I(1, 3)}},
    {MF_OP_GROUPED_LINEAR, NULL, {.row_groups = 3}, 0, .in = {F(2, 9, 5), {MF_BF16, 3, {3, 6, 5}}, {0}, I(1, 4)}},
    {MF_OP_GROUPED_LINEAR,
     NULL,
     {.row_groups = 3, .steady = 1},
     0,
     .in = {F(2, 9, 5), {MF_I8, 3, {3, 6, 5}}, {0}, I(1, 4), F(1, 6)}},
    {MF_OP_COMBINE, NULL, {0}, 0, .in = {F(2, 9, 5), F(2, 4, 2), I(1, 9)}},
    {MF_OP_COMBINE, NULL, {0}, 0, .in = {F(2, 8, 5), F(2, 4, 2), I(1, 7)}},
    {MF_OP_TRADE, NULL, {.ways = 2, .own_experts = 2, .room = 9}, 0, .in = {F(2, 8, 5), I(1, 9)}},
    {MF_OP_TRADE, NULL, {.ways = 2, .own_experts = 2, .first_expert = 3, .room = 9}, 0, .in = {F(2, 8, 5), I(1, 13)}},
    {MF_OP_TRADE, NULL, {.ways = 2, .own_experts = 2, .room = 1}, 0, .in = {F(2, 8, 5), I(1, 13)}},
    {MF_OP_TRADE, NULL, {.ways = 2, .own_experts = 2, .room = 1UL << 31}, 0, .in = {F(2, 8, 5), I(1, 13)}},
    {MF_OP_TRADE_BACK, NULL, {.room = 8}, 0, .in = {F(2, 8, 5), I(1, 9)}},
    {0}};
