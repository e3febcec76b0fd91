/* Refuses impossible requests, in one sentence each. */
#include <math.h>

#include "src/base/text.h"
#include "src/synth/synth_priv.h"

/* Volume fraction at which random sequential addition of equal balls ends. It is the parking constant on a line, and a
 * limit from simulations in the plane and in space. */
static double jammed(int axes) { return axes == 1 ? 0.7476 : axes == 2 ? 0.547 : 0.384; }

/* Objects far smaller than a voxel make no picture. */
static int check_number(const struct mf_synth *what)
{
    double n = mf_synth_number(what);

    if (n <= 4 * mf_synth_box(what)) return MF_OK;
    return mf_fail(MF_USAGE, "%.3g objects of radius %g in %.0f voxels: choose a larger radius", n, what->radius,
                   mf_synth_box(what));
}

static int check_room(const struct mf_synth *what)
{
    double size = 2 * what->radius + (mf_synth_hard(what) ? what->gap : 0) + (mf_synth_sticks(what) ? what->stick : 0);
    int axes = mf_synth_axes(what), from = mf_synth_sticks(what) && what->lie == MF_LIE_PLANAR ? 1 : 0;

    if (axes == 0) return mf_fail(MF_USAGE, "objects need an axis of more than one voxel across them");
    for (int a = from; a < 3; ++a)
        if (mf_synth_active(what, a) && size > (double)what->dims[a])
            return mf_fail(MF_USAGE, "an object of %g voxels would meet itself across an extent of %zu", size,
                           what->dims[a]);
    if (from && mf_synth_active(what, 0) && 2 * what->radius > (double)what->dims[0])
        return mf_fail(MF_USAGE, "a fibre of radius %g would meet itself across an extent of %zu", what->radius,
                       what->dims[0]);
    return MF_OK;
}

static int check_objects(const struct mf_synth *what)
{
    double solid = 1 - what->fraction[0], grown = what->radius + what->gap / 2, most;
    int axes = mf_synth_axes(what);

    if (!(what->radius > 0)) return mf_fail(MF_USAGE, "the radius must be above 0 voxels, not %g", what->radius);
    if (!(what->gap >= 0)) return mf_fail(MF_USAGE, "the gap must be 0 voxels or more, not %g", what->gap);
    if (what->kind == MF_SYNTH_CRACKS && !(what->stick > 0))
        return mf_fail(MF_USAGE, "the length of a crack must be above 0 voxels, not %g", what->stick);
    if (mf_synth_sticks(what) && !(what->stick >= 0))
        return mf_fail(MF_USAGE, "the length of a fibre must be 0 voxels or more, not %g", what->stick);
    if (mf_synth_sticks(what) && what->lie == MF_LIE_PLANAR && (what->dims[1] == 1 || what->dims[2] == 1))
        return mf_fail(MF_USAGE, "fibres in a plane need more than one voxel along y and x");
    MF_TRY(check_room(what));
    if (!(solid < 1)) return mf_fail(MF_USAGE, "objects cannot fill the volume: leave phase 0 a fraction");
    most = jammed(axes) * mf_synth_measure(axes, what->radius, 0) / mf_synth_measure(axes, grown, 0);
    if (mf_synth_hard(what) && solid > most)
        return mf_fail(MF_USAGE,
                       "%s that do not overlap reach a volume fraction of at most %.3f by random sequential "
                       "addition%s, not %g",
                       what->kind == MF_SYNTH_FIBRES ? "fibres"
                       : axes == 2                   ? "discs"
                                                     : "spheres",
                       most, what->gap > 0 ? " with this gap" : "", solid);
    return check_number(what);
}

static int check_voronoi(const struct mf_synth *what)
{
    size_t present = 0;

    for (int p = 0; p < what->phases; ++p) present += what->fraction[p] > 0;
    if (mf_synth_axes(what) == 0) return mf_fail(MF_USAGE, "grains need an axis of more than one voxel");
    if (what->grains < present)
        return mf_fail(MF_USAGE, "%zu grain%s cannot have %zu phases: ask for more grains", what->grains,
                       MF_S(what->grains), present);
    if ((double)what->grains > mf_synth_box(what))
        return mf_fail(MF_USAGE, "%zu grains do not fit into %.0f voxels", what->grains, mf_synth_box(what));
    return MF_OK;
}

static int check_gauss(const struct mf_synth *what)
{
    for (int a = 0; a < 3; ++a) {
        if (what->dims[a] == 1) continue;
        if (!(what->length[a] > 0)) return mf_fail(MF_USAGE, "a correlation length must be above 0 voxels");
        if (what->length[a] > (double)what->dims[a] / 2)
            return mf_fail(MF_USAGE,
                           "a correlation length of %g voxels is more than half of an extent of %zu; "
                           "try: --correlation-length",
                           what->length[a], what->dims[a]);
    }
    return MF_OK;
}

static int check_fractions(const struct mf_synth *what)
{
    double sum = 0;

    if (what->phases < 2 || what->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "the number of phases must be 2 to %d, not %d", MF_PHASES_MAX, what->phases);
    for (int p = 0; p < what->phases; ++p) {
        if (!(what->fraction[p] >= 0 && what->fraction[p] <= 1))
            return mf_fail(MF_USAGE, "a volume fraction must lie between 0 and 1, not %g", what->fraction[p]);
        sum += what->fraction[p];
    }
    if (fabs(sum - 1) > 1e-6) return mf_fail(MF_USAGE, "volume fractions of all phases must add up to 1, not %g", sum);
    return MF_OK;
}

static int check_size(const struct mf_synth *what)
{
    double voxels = (double)what->dims[0] * (double)what->dims[1] * (double)what->dims[2];

    for (int a = 0; a < 3; ++a)
        if (what->dims[a] == 0) return mf_fail(MF_USAGE, "an extent must be 1 voxel or more");
    if (voxels > 0x1p50)
        return mf_fail(MF_USAGE, "%zu x %zu x %zu voxels are too many", what->dims[0], what->dims[1], what->dims[2]);
    return MF_OK;
}

int mf_synth_check(const struct mf_synth *what)
{
    long waves[3];
    size_t cells[3];
    double period;

    MF_TRY(check_size(what));
    MF_TRY(check_fractions(what));
    switch (what->kind) {
    case MF_SYNTH_GAUSSIAN: return check_gauss(what);
    case MF_SYNTH_VORONOI: return check_voronoi(what);
    case MF_SYNTH_LAMELLAE: return mf_synth_lamella_waves(what, waves, &period);
    case MF_SYNTH_CHECKERBOARD: return mf_synth_board_cells(what, cells);
    default: return check_objects(what);
    }
}
