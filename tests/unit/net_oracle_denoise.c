/* Oracles and cases of the operations of networks that denoise. */
#include <math.h>

#include "src/base/rng.h"
#include "src/base/streams.h"
#include "tests/unit/net_ops.h"

static void blend(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t each = mf_shape_count(&shape[0]) / shape[0].d[0];

    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i)
        out[i] = in[2][i / each] * in[0][i] + (in[1] ? in[3][i / each] * in[1][i] : 0);
}

/* The same random words as the operation. That they are normal is checked in net_ops.c. */
static void normal(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t samples = shape[0].d[0], each = attr->numbers ? attr->numbers : mf_shape_count(&shape[0]) / samples;
    uint32_t four[4];

    (void)in;
    for (size_t i = 0; i < samples * each; ++i) {
        const size_t k = i % each, pair = k % 4 / 2 * 2;

        mf_random4(5 + (3ULL << 32), MF_STREAM_NORMAL + attr->stream, (40 + i / each) << 32 | k / 4, four);
        {
            const double u = (floor(four[pair] / 2.0) + 0.5) / 2147483648.0,
                         angle = acos(-1) * four[pair + 1] / 2147483648.0;

            out[i] = sqrt(-2 * log((double)(float)u)) * (k % 2 ? sin(angle) : cos(angle));
        }
    }
}

static void quantise(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = mf_shape_count(&shape[0]), c = attr->levels ? 1 : mf_shape_last(&shape[0]);

    for (size_t i = 0; i < n / c; ++i) {
        const double *x = in[0] + i * c;

        out[i] = attr->levels ? floor(fmin(fmax((x[0] + 1) * 127.5, 0), 255)) : c == 1 && x[0] > 0;
        for (size_t k = 1; k < c; ++k)
            if (x[k] > x[(size_t)out[i]]) out[i] = (double)k;
    }
}

/* The ends, what is beyond them, what is cut off, and equal channels. */
static void quantise_ends(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    static const double end[] = {-1, 1, -7, 7, 0, 0, 0, 0, NAN, 254.999 / 127.5 - 1};

    (void)attr, (void)shape;
    for (size_t i = 0; i < sizeof end / sizeof *end; ++i) in[0][i] = end[i];
}

enum { MATCHED = 256 };
static double matched[MATCHED]; /* the target x - g */

/* The target, from inputs of which some differ by something that is not finite. One row has no |x - real|, and one is
 * blank for the denoisers. */
static void match_target(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    const size_t rows = shape[0].d[0], each = mf_shape_count(&shape[0]) / rows;

    (void)attr;
    in[2][each + 1] = NAN;
    in[2][each + 2] = INFINITY;
    for (size_t i = 0; i < each; ++i) in[1][2 * each + i] = in[0][2 * each + i];
    in[1][3 * each] = NAN;
    for (size_t r = 0; r < rows; ++r) {
        double mean = 0;

        for (size_t i = r * each; i < (r + 1) * each; ++i) mean += fabs(in[0][i] - in[1][i]) / (double)each;
        for (size_t i = r * each; i < (r + 1) * each; ++i) {
            const double g = (in[2][i] - in[1][i]) / mean;

            matched[i] = in[0][i] - (isfinite(g) ? g : 0);
        }
    }
}

/* One more row is blank from the samples on. */
static void match_blank(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    in[0][0] = NAN;
    match_target(attr, shape, in);
}

static void match_loss(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = mf_shape_count(&shape[0]);

    (void)attr;
    *out = 0;
    for (size_t i = 0; i < n; ++i)
        if (!isnan(in[0][i]))
            *out += pow(in[0][i] - matched[i], 2) / 2 / net_number[MF_NUMBER_ROWS] / (double)(n / shape[0].d[0]);
}

const struct net_case net_denoise[] = {
    {MF_OP_BLEND, blend, {0}, 3, .in = {F(4, 3, 2, 5, 4), F(4, 3, 2, 5, 4), F(1, 3), F(1, 3)}},
    {MF_OP_BLEND, blend, {0}, 2, .in = {F(3, 4, 7, 3), F(3, 4, 7, 3), F(1, 4), F(1, 4)}},
    {MF_OP_BLEND, blend, {0}, 1, .in = {F(2, 4, 9), {0}, F(2, 4, 1)}},
    {MF_OP_NORMAL, normal, {.stream = 2}, 0, .in = {F(3, 5, 7, 9)}},
    {MF_OP_NORMAL, normal, {.stream = 1, .numbers = 600}, 0, .in = {F(1, 3)}},
    {MF_OP_QUANTISE, quantise, {.levels = 256}, 0, .in = {F(4, 2, 3, 5, 3)}, .fill = quantise_ends},
    {MF_OP_QUANTISE, quantise, {0}, 0, .in = {F(4, 2, 5, 5, 1)}, .fill = quantise_ends},
    {MF_OP_QUANTISE, quantise, {0}, 0, .in = {F(4, 2, 5, 5, 2)}},
    {MF_OP_QUANTISE, quantise, {0}, 0, .in = {F(4, 2, 5, 5, 4)}},
    {MF_OP_MATCH_LOSS,
     match_loss,
     {0},
     1,
     .in = {F(4, 4, 3, 4, 5), F(4, 4, 3, 4, 5), F(4, 4, 3, 4, 5)},
     .fill = match_target},
    {MF_OP_MATCH_LOSS,
     match_loss,
     {0},
     0,
     .in = {F(4, 4, 3, 4, 5), F(4, 4, 3, 4, 5), F(4, 4, 3, 4, 5)},
     .fill = match_blank},
    {0}};
