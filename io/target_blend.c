/* See target.h: a target between two others. */
#include <stdlib.h>
#include <string.h>

#include "io/target.h"
#include "src/base/err.h"

/* Values of [rows][levels][entries], what both have of them. */
struct shape {
    size_t rows, entries, levels;
};

static void mix(const struct shape *n, double t, const double *a, size_t a_levels, const double *b, size_t b_levels,
                double *to)
{
    for (size_t r = 0; r < n->rows; ++r)
        for (size_t i = 0; i < n->levels * n->entries; ++i)
            to[r * n->levels * n->entries + i] =
                (1 - t) * a[r * a_levels * n->entries + i] + t * b[r * b_levels * n->entries + i];
}

/* The further descriptors that both have. */
static int mix_more(const struct mf_target *first, const struct mf_target_side *a, const struct mf_target_side *b,
                    double t, struct mf_target_side *to)
{
    for (int m = 0; m < MF_MORE; ++m) {
        const struct shape n = {(size_t)first->phases, mf_more_entries((enum mf_more)m, first->lag), to->levels};

        if (!a->more[m] || !b->more[m]) continue;
        MF_TRY(mf_target_side_more(to, first->phases, first->lag, (enum mf_more)m));
        mix(&n, t, a->more[m], a->levels, b->more[m], b->levels, to->more[m]);
    }
    return MF_OK;
}

/* At an end the example is that end's; a mean of two pictures is none. */
static int take_example(const struct mf_target_side *from, struct mf_target_side *to)
{
    if (!from->example) return MF_OK;
    MF_TRY(mf_target_example_new(to, from->example_nu, from->example_nv));
    memcpy(to->example, from->example, from->example_nu * from->example_nv * sizeof *to->example);
    return MF_OK;
}

static int mix_side(const struct mf_target *first, const struct mf_target_side *a, const struct mf_target_side *b,
                    double t, struct mf_target_side *to)
{
    const size_t p = (size_t)first->phases, w = 2 * first->lag - 1,
                 levels = a->levels < b->levels ? a->levels : b->levels;
    const struct shape maps = {p, w * w, levels}, pairs = {p * (p - 1) / 2, w * w, levels}, single = {p, 1, levels};

    MF_TRY(mf_target_side_new(to, first->phases, levels, first->lag, a->cross && b->cross));
    to->nu = a->nu < b->nu ? a->nu : b->nu;
    to->nv = a->nv < b->nv ? a->nv : b->nv;
    to->slices = a->slices < b->slices ? a->slices : b->slices;
    mix(&maps, t, a->s2, a->levels, b->s2, b->levels, to->s2);
    mix(&single, t, a->fraction, a->levels, b->fraction, b->levels, to->fraction);
    if (to->cross) mix(&pairs, t, a->cross, a->levels, b->cross, b->levels, to->cross);
    if (a->variation && b->variation) {
        mix(&single, t, a->variation, a->levels, b->variation, b->levels, to->variation);
    } else {
        free(to->variation);
        to->variation = NULL;
    }
    MF_TRY(mix_more(first, a, b, t, to));
    if (t > 0 && t < 1) return MF_OK;
    return take_example(t > 0 ? b : a, to);
}

/* S2_3D, where both have it. */
static int mix_space(const struct mf_target *a, const struct mf_target *b, double t, struct mf_target *to)
{
    size_t width = 2 * a->lag - 1, n = (size_t)a->phases * a->lag * width * width;

    to->space = NULL;
    if (!a->space || !b->space) return MF_OK;
    MF_TRY(mf_target_space_new(to));
    mix(&(struct shape){1, n, 1}, t, a->space, 1, b->space, 1, to->space);
    return MF_OK;
}

int mf_target_blend(const struct mf_target *a, const struct mf_target *b, double t, struct mf_target *to)
{
    const struct mf_target *soft = a->steepness > 0 ? a : b;
    int rc;

    MF_ASSERT(a->phases == b->phases && a->lag == b->lag && t >= 0 && t <= 1);
    *to = *a;
    memset(to->side, 0, sizeof to->side);
    to->sides = a->sides > b->sides ? a->sides : b->sides;
    to->threshold = soft->threshold;
    to->steepness = soft->steepness;
    rc = mix_space(a, b, t, to);
    for (int i = 0; i < to->sides && rc == MF_OK; ++i)
        rc = mix_side(a, mf_target_for(a, (enum mf_normal)i), mf_target_for(b, (enum mf_normal)i), t, &to->side[i]);
    if (rc != MF_OK) mf_target_free(to);
    return rc;
}
