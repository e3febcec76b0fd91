/* See target_priv.h. */
#include "io/target_priv.h"

#include <stdio.h>

static const double LARGEST = 1e12; /* of what no bound is known of */

void mf_target_parts(const struct mf_target *t, struct mf_target_side *side,
                     struct mf_target_part part[MF_TARGET_PARTS])
{
    size_t p = (size_t)t->phases, k = side->levels, w = 2 * t->lag - 1, pairs = p * (p - 1) / 2;
    const double slack = 1e-2;

    part[0] = (struct mf_target_part){"s2",      &side->s2, p * k * w * w,      4, {p, k, w, w}, -slack,
                                      1 + slack, 0,         "phase level du dv"};
    part[1] = (struct mf_target_part){
        "cross", &side->cross, pairs * k * w * w, 4, {pairs, k, w, w}, -slack, 1 + slack, 0, "pair level du dv"};
    part[2] = (struct mf_target_part){"variation", &side->variation, p * k, 2, {p, k, 0, 0}, 0, 4, 0, "phase level"};
    part[3] = (struct mf_target_part){"fraction", &side->fraction, p * k, 2, {p, k, 0, 0}, -slack, 1 + slack,
                                      0,          "phase level"};
    part[MF_TARGET_EXAMPLE] = (struct mf_target_part){"example",
                                                      &side->example,
                                                      side->example_nu * side->example_nv,
                                                      2,
                                                      {side->example_nu, side->example_nv, 0, 0},
                                                      -1,
                                                      (double)t->phases - 1,
                                                      1,
                                                      "u v"};
    for (int m = 0; m < MF_MORE; ++m) {
        const size_t n = mf_more_entries((enum mf_more)m, t->lag), q = mf_more_parts((enum mf_more)m, p);
        const double most = mf_more_is(m, MF_OF_VGG | MF_IS_FREE) ? LARGEST : 1 + slack;

        part[MF_TARGET_FIXED + m] =
            (struct mf_target_part){mf_more_rows[m].name,
                                    &side->more[m],
                                    q * k * n,
                                    3,
                                    {q, k, n, 0},
                                    mf_more_is(m, MF_OF_VGG | MF_IS_FREE) ? -most : -slack,
                                    most,
                                    0,
                                    mf_more_is(m, MF_OF_PAIRS) ? "pair level entry" : "phase level entry"};
    }
}

const char *const mf_target_whole_paths[MF_WHOLE] = {
    [MF_WHOLE_S2] = "/s2_3d", [MF_WHOLE_CROSS] = "/cross_3d", [MF_WHOLE_SPANS] = "/spans"};

struct mf_target_part mf_target_whole(const struct mf_target *t, int which, double **at)
{
    const size_t w = 2 * t->lag - 1, n = mf_whole_entries((enum mf_whole)which, t->lag);
    const size_t p = mf_whole_parts((enum mf_whole)which, (size_t)t->phases);

    if (which == MF_WHOLE_SPANS)
        return (struct mf_target_part){"spans", at, p * n, 2, {p, n, 0, 0}, 0, 1, 0, "phase axis"};
    return (struct mf_target_part){mf_target_whole_paths[which] + 1,
                                   at,
                                   p * n,
                                   4,
                                   {p, n / (w * w), w, w},
                                   -1e-2,
                                   1 + 1e-2,
                                   0,
                                   which == MF_WHOLE_CROSS ? "pair dz dy dx" : "phase dz dy dx"};
}

void mf_target_path(const struct mf_target *t, int side, const char *name, char path[MF_TARGET_PATH])
{
    static const char *const normals[] = {"z", "y", "x"};

    snprintf(path, MF_TARGET_PATH, "/%s%s%s", t->sides == 3 ? normals[side] : "all", name ? "/" : "", name ? name : "");
}

void mf_target_each(const struct mf_target *t,
                    void (*visit)(void *context, const char *path, int ndim, const size_t *dims, const char *axes,
                                  const double *values),
                    void *context)
{
    struct mf_target_part part[MF_TARGET_PARTS];
    char path[MF_TARGET_PATH];

    for (int i = 0; i < t->sides; ++i) {
        struct mf_target_side side = t->side[i];

        mf_target_parts(t, &side, part);
        for (int k = 0; k < MF_TARGET_PARTS; ++k) {
            if (!*part[k].at) continue;
            mf_target_path(t, i, part[k].name, path);
            visit(context, path, part[k].ndim, part[k].dims, part[k].axes, *part[k].at);
        }
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        const struct mf_target_part whole = mf_target_whole(t, k, NULL);

        if (t->whole[k]) visit(context, mf_target_whole_paths[k], whole.ndim, whole.dims, whole.axes, t->whole[k]);
    }
}
