/* See target.h: the values in memory. Files are target_file.c. */
#include "io/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { LAG_MOST = 4096 /* of further descriptors, whose sizes grow with its square and more */ };

#define MF_ROW(ID, family, where, work, weight, compat, traits, shown, dataset, ...) \
    [MF_MORE_##ID] = {dataset, &mf_kind_##family, offsetof(struct mf_slices, family), traits},

const struct mf_more_row mf_more_rows[] = {MF_LIST_FURTHER(MF_ROW)};

size_t mf_more_parts(enum mf_more which, size_t phases)
{
    if (mf_more_is((int)which, MF_OF_ALL)) return 1;
    return mf_more_is((int)which, MF_OF_PAIRS) ? phases * (phases - 1) / 2 : phases;
}

size_t mf_more_entries(enum mf_more which, size_t lag)
{
    const struct mf_slice_desc desc = {.lag = lag, .levels = 1};

    return mf_more_rows[which].kind->entries(&desc);
}

/* a * b, or 0 with *bad set when it does not fit. */
static size_t times(size_t a, size_t b, int *bad)
{
    size_t product;

    if (!__builtin_mul_overflow(a, b, &product)) return product;
    *bad = 1;
    return 0;
}

#define SIZES "descriptors of %d phase%s, %zu level%s and lag %zu"

int mf_target_side_new(struct mf_target_side *side, int phases, size_t levels, size_t lag, int cross)
{
    int bad = phases < 1 || phases > MF_PHASES_MAX || levels > MF_LEVELS_MAX || lag < 1 || lag > SIZE_MAX / 4;
    size_t width = bad ? 1 : 2 * lag - 1, phase_count = bad ? 1 : (size_t)phases;
    size_t maps = phase_count * levels, pairs = phase_count * (phase_count - 1) / 2 * levels;
    size_t window = times(width, width, &bad);
    size_t bytes = times(times(maps > pairs ? maps : pairs, window, &bad), sizeof(double), &bad);

    int rc;

    *side = (struct mf_target_side){.levels = levels};
    if (bad || bytes > PTRDIFF_MAX)
        return mf_fail(MF_MEMORY, "descriptors of %d phase%s, %zu level%s and lag %zu are too large to hold", phases,
                       MF_S(phases), levels, MF_S(levels), lag);
    rc = MF_ROOM(side->s2, maps * window + 1, SIZES, phases, MF_S(phases), levels, MF_S(levels), lag);
    if (rc == MF_OK) rc = MF_ROOM(side->variation, maps + 1, SIZES, phases, MF_S(phases), levels, MF_S(levels), lag);
    if (rc == MF_OK) rc = MF_ROOM(side->fraction, maps + 1, SIZES, phases, MF_S(phases), levels, MF_S(levels), lag);
    if (rc == MF_OK && cross && pairs)
        rc = MF_ROOM(side->cross, pairs * window, SIZES, phases, MF_S(phases), levels, MF_S(levels), lag);
    if (rc != MF_OK) mf_target_side_free(side);
    return rc;
}

int mf_target_side_more(struct mf_target_side *side, int phases, size_t lag, enum mf_more which)
{
    int bad = lag < 1 || lag > LAG_MOST;
    size_t each = bad ? 0 : times(mf_more_entries(which, lag), sizeof(double), &bad);
    size_t bytes = times(times(mf_more_parts(which, (size_t)phases), side->levels, &bad), each, &bad);

    if (bad || bytes > PTRDIFF_MAX)
        return mf_fail(MF_MEMORY, "%s of %d phases, %zu levels and lag %zu is too large to hold",
                       mf_more_rows[which].name, phases, side->levels, lag);
    if (bytes == 0) return MF_OK;
    side->more[which] = mf_room(1, bytes, "%s of %d phases, %zu levels and lag %zu", mf_more_rows[which].name, phases,
                                side->levels, lag);
    return side->more[which] ? MF_OK : MF_MEMORY;
}

size_t mf_whole_entries(enum mf_whole which, size_t lag)
{
    const size_t width = 2 * lag - 1;

    if (which == MF_WHOLE_SPANS) return 3;
    return (which == MF_WHOLE_S2 ? lag : width) * width * width;
}

size_t mf_whole_parts(enum mf_whole which, size_t phases)
{
    return which == MF_WHOLE_CROSS ? phases * (phases - 1) / 2 : phases;
}

int mf_target_whole_new(struct mf_target *target, enum mf_whole which)
{
    int bad = target->lag < 1 || target->lag > LAG_MOST;
    size_t each = bad ? 0 : mf_whole_entries(which, target->lag) * sizeof(double);
    size_t bytes = times(mf_whole_parts(which, (size_t)target->phases), each, &bad);

    target->whole[which] = bad || bytes > PTRDIFF_MAX ? NULL : calloc(1, bytes + 1);
    if (target->whole[which]) return MF_OK;
    return mf_fail(MF_MEMORY, "no memory for %s of %d phase%s and lag %zu",
                   which == MF_WHOLE_CROSS ? "CrossS2_3D" : "S2_3D", target->phases, MF_S(target->phases), target->lag);
}

int mf_target_example_new(struct mf_target_side *side, size_t nu, size_t nv)
{
    MF_ASSERT(nu <= MF_EXAMPLE_MAX && nv <= MF_EXAMPLE_MAX);
    free(side->example);
    MF_TRY(MF_ROOM(side->example, nu * nv + 1, "an example of %zu x %zu pixels", nu, nv));
    side->example_nu = nu;
    side->example_nv = nv;
    return MF_OK;
}

void mf_target_example_cut(struct mf_target_side *side, size_t most)
{
    const size_t nu = side->example_nu, nv = side->example_nv, u = nu < most ? nu : most, v = nv < most ? nv : most;
    const size_t first = (nu - u) / 2 * nv + (nv - v) / 2;

    for (size_t i = 0; i < u; ++i)
        memmove(side->example + i * v, side->example + first + i * nv, v * sizeof *side->example);
    side->example_nu = u;
    side->example_nv = v;
}

void mf_target_side_free(struct mf_target_side *side)
{
    for (int m = 0; m < MF_MORE; ++m) free(side->more[m]);
    free(side->s2);
    free(side->cross);
    free(side->variation);
    free(side->fraction);
    free(side->example);
    *side = (struct mf_target_side){0};
}

struct mf_size mf_target_size(const struct mf_target *t)
{
    return (struct mf_size){t->source, t->sides > 1 ? 3 : 2, t->spacing, t->unit};
}

int mf_target_same_pixels(const struct mf_target *a, const struct mf_target *b)
{
    const struct mf_size one = mf_target_size(a), two = mf_target_size(b);

    return mf_size_stated(&one) == mf_size_stated(&two) && !mf_sizes_differ(&one, &two);
}

void mf_target_free(struct mf_target *target)
{
    for (int i = 0; i < 3; ++i) mf_target_side_free(&target->side[i]);
    for (int k = 0; k < MF_WHOLE; ++k) free(target->whole[k]);
    *target = (struct mf_target){0};
}

const struct mf_target_side *mf_target_for(const struct mf_target *target, enum mf_normal normal)
{
    return &target->side[target->sides == 3 ? (int)normal : 0];
}

void mf_target_crop_share(struct mf_target *target, const struct mf_target *other)
{
    if (memcmp(target->crop, other->crop, sizeof target->crop) != 0) memset(target->crop, 0, sizeof target->crop);
}

int mf_target_example_periodic(const struct mf_target *target, const struct mf_target_side *side)
{
    return target->periodic && side->example_nu == side->nu && side->example_nv == side->nv;
}

size_t mf_levels(size_t nu, size_t nv, size_t lag)
{
    size_t least = nu < nv ? nu : nv, levels = 0;

    if (lag == 0) return 0;
    for (size_t cells = least / lag; cells >= 2 && levels < MF_LEVELS_MAX; cells /= 2) ++levels;
    return levels;
}
