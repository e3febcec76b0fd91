/* See shown.h; orders of entries: docs/DESCRIPTORS.md. */
#include "src/desc/shown.h"

#include "kernels/form/axes.h"
#include "kernels/form/gram.h"
#include "kernels/form/lineal.h"
#include "kernels/form/structure_tensor.h"
#include "kernels/slices/count.h"
#include "kernels/slices/vgg.h"

#define COUNT(names) (sizeof(names) / sizeof *(names))

static const char lag_text[] = "lag [pixels]", length_text[] = "length [pixels]", share_text[] = "share of the places";

/* ---- windows of lags ---- */

static size_t width(size_t lag, size_t k)
{
    (void)k;
    return 2 * lag - 1;
}

static size_t in_order(size_t lag, size_t k, size_t i)
{
    (void)lag;
    (void)k;
    return i;
}

const struct mf_shown mf_shown_window = {
    .as = MF_SHOWN_LAGS, .count = 1, .value = "share of the pairs", .step = 1, .extent = width, .entry = in_order};

/* A lag and its opposite have one value; half of the plane is there. */
static void to_half(long *du, long *dv)
{
    if (*du > 0 || (*du == 0 && *dv >= 0)) return;
    *du = -*du;
    *dv = -*dv;
}

/* (i, j), 0 <= i, j < L, then (i, -j), 1 <= i, j < L. */
static size_t pairs(size_t lag, size_t k, size_t i)
{
    const long n = (long)lag, wide = 2 * n - 1;
    long du = (long)i / wide - (n - 1), dv = (long)i % wide - (n - 1);

    (void)k;
    to_half(&du, &dv);
    return (size_t)(dv >= 0 ? du * n + dv : n * n + (du - 1) * (n - 1) - dv - 1);
}

const struct mf_shown mf_shown_pairs = {
    .as = MF_SHOWN_LAGS, .count = 1, .value = "mean of the soft pairs", .step = 1, .extent = width, .entry = pairs};

static const char *const maps[] = {"P", "Q", "E", "C"};

static size_t every_second(size_t lag, size_t k)
{
    (void)k;
    return 2 * ((lag - 1) / 2) + 1;
}

static size_t structure_tensor(size_t lag, size_t k, size_t i)
{
    const long m = (long)(lag - 1) / 2, wide = 2 * m + 1;
    long du = (long)i / wide - m, dv = (long)i % wide - m;

    to_half(&du, &dv);
    return k * mf_structure_tensor_lags(lag) + (size_t)(du == 0 ? dv : m + 1 + (du - 1) * wide + dv + m);
}

const struct mf_shown mf_shown_structure_tensor = {.as = MF_SHOWN_LAGS,
                                                   .count = COUNT(maps),
                                                   .name = maps,
                                                   .value = "correlation",
                                                   .step = 2,
                                                   .extent = every_second,
                                                   .entry = structure_tensor};

/* The three planes of a volume through lag 0. */
static const char *const planes[] = {"dz = 0", "dy = 0", "dx = 0"};
static const char *const plane_axes[][2] = {{"y", "x"}, {"z", "x"}, {"z", "y"}};

static void in_plane(size_t lag, size_t k, size_t i, long at[3])
{
    const long n = (long)lag - 1, wide = 2 * n + 1, row = (long)i / wide - n, column = (long)i % wide - n;

    at[0] = k == 0 ? 0 : row;
    at[1] = k == 0 ? row : k == 1 ? 0 : column;
    at[2] = k == 2 ? 0 : column;
}

static size_t cross_in_space(size_t lag, size_t k, size_t i)
{
    const long n = (long)lag - 1, wide = 2 * n + 1;
    long at[3];

    in_plane(lag, k, i, at);
    return (size_t)(((at[0] + n) * wide + at[1] + n) * wide + at[2] + n);
}

/* Lags dz >= 0 alone are there. */
static size_t in_space(size_t lag, size_t k, size_t i)
{
    const long n = (long)lag - 1, wide = 2 * n + 1;
    long at[3];

    in_plane(lag, k, i, at);
    for (int a = 2; at[0] < 0 && a >= 0; --a) at[a] = -at[a];
    return (size_t)((at[0] * wide + at[1] + n) * wide + at[2] + n);
}

const struct mf_shown mf_shown_s2_3d = {.as = MF_SHOWN_LAGS,
                                        .count = COUNT(planes),
                                        .name = planes,
                                        .value = "share of the pairs",
                                        .step = 1,
                                        .extent = width,
                                        .entry = in_space,
                                        .axes = plane_axes};
const struct mf_shown mf_shown_cross_s2_3d = {.as = MF_SHOWN_LAGS,
                                              .count = COUNT(planes),
                                              .name = planes,
                                              .value = "share of the pairs",
                                              .step = 1,
                                              .extent = width,
                                              .entry = cross_in_space,
                                              .axes = plane_axes};

/* ---- matrices ---- */

static size_t channels(size_t lag, size_t k)
{
    (void)k;
    return mf_gram_channels(MF_GRAM_HALF, lag);
}

static size_t channels_on_axes(size_t lag, size_t k)
{
    (void)k;
    return mf_gram_channels(MF_GRAM_AXES, lag);
}

const struct mf_shown mf_shown_gram = {
    .as = MF_SHOWN_MATRIX, .count = 1, .across = "lag by its number", .extent = channels, .entry = in_order};
const struct mf_shown mf_shown_gram_axes = {
    .as = MF_SHOWN_MATRIX, .count = 1, .across = "lag by its number", .extent = channels_on_axes, .entry = in_order};

static const char *const blocks[] = {"block 1", "block 2", "block 3", "block 4", "block 5"};

static size_t block(size_t lag, size_t k)
{
    static const size_t wide[COUNT(blocks)] = {64, 128, 256, 512, 512};

    (void)lag;
    return wide[k];
}

static size_t of_block(size_t lag, size_t k, size_t i)
{
    for (size_t before = 0; before < k; ++before) i += block(lag, before) * block(lag, before);
    return i;
}

const struct mf_shown mf_shown_vgg = {.as = MF_SHOWN_MATRIX,
                                      .count = COUNT(blocks),
                                      .name = blocks,
                                      .across = "channel",
                                      .extent = block,
                                      .entry = of_block};

/* ---- curves ---- */

static const char *const directions[] = {"%u=%v",       "%u=-%v",       "along %v",       "along %u",
                                         "rest, %u=%v", "rest, %u=-%v", "rest, along %v", "rest, along %u"};

static size_t to_window(size_t lag, size_t k)
{
    (void)k;
    return lag + 1;
}

static size_t lineal_exact(size_t lag, size_t k, size_t i)
{
    (void)lag;
    return i == 0 ? 0 : mf_lineal_entry(1, i, (int)k, 0);
}

const struct mf_shown mf_shown_lineal_exact = {.as = MF_SHOWN_CURVES,
                                               .count = MF_LINEAL_DIRECTIONS,
                                               .name = directions,
                                               .across = length_text,
                                               .value = share_text,
                                               .first = 1,
                                               .step = 2,
                                               .extent = to_window,
                                               .entry = lineal_exact};

/* The rest has no entry of single pixels: its curves begin with runs of 3. */
static size_t of_three(size_t lag, size_t k)
{
    (void)k;
    return lag;
}

static size_t lineal(size_t lag, size_t k, size_t i)
{
    (void)lag;
    return mf_lineal_entry(0, i + 1, (int)(k % MF_LINEAL_DIRECTIONS), k >= MF_LINEAL_DIRECTIONS);
}

const struct mf_shown mf_shown_lineal = {.as = MF_SHOWN_CURVES,
                                         .count = COUNT(directions),
                                         .name = directions,
                                         .across = length_text,
                                         .value = share_text,
                                         .first = 3,
                                         .step = 2,
                                         .extent = of_three,
                                         .entry = lineal};

/* After the mean come 4c entries for every length 2c + 1: the four directions, then slopes 1/c, 2/c .., four of each.
 * The first of the smallest slope represents them. */
static const char *const soft_directions[] = {"%u=%v", "%u=-%v", "along %v", "along %u", "slope 1/c"};

static size_t lineal_soft(size_t lag, size_t k, size_t i)
{
    const size_t c = i;

    (void)lag;
    if (i == 0) return 0;
    return 1 + 2 * c * (c - 1) + (k == MF_LINEAL_DIRECTIONS && c == 1 ? 0 : k);
}

const struct mf_shown mf_shown_lineal_soft = {.as = MF_SHOWN_CURVES,
                                              .count = COUNT(soft_directions),
                                              .name = soft_directions,
                                              .across = length_text,
                                              .value = "mean of the soft lines",
                                              .first = 1,
                                              .step = 2,
                                              .extent = to_window,
                                              .entry = lineal_soft};

static const char *const on_axes[] = {"along %u", "along %v"};

static size_t to_lag(size_t lag, size_t k)
{
    (void)k;
    return lag;
}

/* Along rows n = 3, 5, .., a single pixel, then along columns. */
static size_t line_soft(size_t lag, size_t k, size_t i)
{
    if (i == 0) return lag - 1;
    return k == 0 ? i - 1 : lag + i - 1;
}

const struct mf_shown mf_shown_line_soft = {.as = MF_SHOWN_CURVES,
                                            .count = COUNT(on_axes),
                                            .name = on_axes,
                                            .across = length_text,
                                            .value = "mean of the soft lines",
                                            .first = 1,
                                            .step = 2,
                                            .extent = to_lag,
                                            .entry = line_soft};

static const char *const meetings[] = {"surface-surface, %u", "surface-surface, %v", "surface-void, %u",
                                       "surface-void, %v"};

static size_t surface(size_t lag, size_t k, size_t i)
{
    return mf_surface_entry(lag, k < 2 ? MF_AXES_ALIKE : MF_AXES_UNLIKE, (int)(k % 2), i);
}

const struct mf_shown mf_shown_surface = {.as = MF_SHOWN_CURVES,
                                          .count = COUNT(meetings),
                                          .name = meetings,
                                          .across = lag_text,
                                          .value = "share of the pairs",
                                          .step = 1,
                                          .extent = to_lag,
                                          .entry = surface};

static size_t longest(size_t lag, size_t k)
{
    (void)k;
    return mf_chord_longest(lag);
}

static size_t chord(size_t lag, size_t k, size_t i) { return mf_chord_entry(lag, (int)k, i + 1); }

const struct mf_shown mf_shown_chords = {.as = MF_SHOWN_CURVES,
                                         .count = COUNT(on_axes),
                                         .name = on_axes,
                                         .across = length_text,
                                         .value = "chords that begin at a pixel",
                                         .first = 1,
                                         .step = 1,
                                         .extent = longest,
                                         .entry = chord};

static const char *const moments[] = {"mean", "variance"};

static size_t edges(size_t lag, size_t k)
{
    (void)k;
    return mf_windows_edges(lag);
}

static size_t moment(size_t lag, size_t k, size_t i) { return k * mf_windows_edges(lag) + i; }

const struct mf_shown mf_shown_windows = {.as = MF_SHOWN_CURVES,
                                          .count = COUNT(moments),
                                          .name = moments,
                                          .across = "edge of the windows [pixels]",
                                          .value = "volume fraction",
                                          .first = 2,
                                          .doubles = 1,
                                          .extent = edges,
                                          .entry = moment};

static const char *const axes[] = {"along %u", "along %v"};

static size_t by_axis(size_t lag, size_t k, size_t i) { return k * lag + i; }

const struct mf_shown mf_shown_cluster_function = {.as = MF_SHOWN_CURVES,
                                                   .count = COUNT(axes),
                                                   .name = axes,
                                                   .across = lag_text,
                                                   .value = "in one cluster",
                                                   .step = 1,
                                                   .extent = to_lag,
                                                   .entry = by_axis};

/* ---- numbers ---- */

static size_t one(size_t lag, size_t k)
{
    (void)lag;
    (void)k;
    return 1;
}

const struct mf_shown mf_shown_variation = {
    .as = MF_SHOWN_NUMBER, .count = 1, .value = "jumps per pixel", .extent = one, .entry = in_order};
const struct mf_shown mf_shown_fraction = {
    .as = MF_SHOWN_NUMBER, .count = 1, .value = "volume fraction", .extent = one, .entry = in_order};

static size_t by_number(size_t lag, size_t k, size_t i)
{
    (void)lag;
    return k + i;
}

static const char *const joined[] = {"joined by sides", "joined by corners"};

const struct mf_shown mf_shown_euler = {.as = MF_SHOWN_NUMBER,
                                        .count = COUNT(joined),
                                        .name = joined,
                                        .value = "Euler number per pixel",
                                        .extent = one,
                                        .entry = by_number};

static const char *const meets[] = {"sides", "corners with a third"};

const struct mf_shown mf_shown_boundaries = {.as = MF_SHOWN_NUMBER,
                                             .count = COUNT(meets),
                                             .name = meets,
                                             .value = "per pixel",
                                             .extent = one,
                                             .entry = by_number};

static const char *const of_clusters[] = {"number in L x L pixels", "the largest, share of the pixels",
                                          "share of the phase that spans %u", "share of the phase that spans %v"};

const struct mf_shown mf_shown_clusters = {.as = MF_SHOWN_NUMBER,
                                           .count = COUNT(of_clusters),
                                           .name = of_clusters,
                                           .value = "clusters",
                                           .extent = one,
                                           .entry = by_number};

static const char *const of_ways[] = {"reached along %u", "mean along %u", "least along %u",
                                      "reached along %v", "mean along %v", "least along %v"};

const struct mf_shown mf_shown_paths = {.as = MF_SHOWN_NUMBER,
                                        .count = COUNT(of_ways),
                                        .name = of_ways,
                                        .value = "length over extent, or share",
                                        .extent = one,
                                        .entry = by_number};
