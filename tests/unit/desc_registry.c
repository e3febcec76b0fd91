/* Descriptors are found by every spelling, and a wrong name is refused with the nearest one and the list. The values of
 * a phase stand where the row says. */
#include "src/desc/registry.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/mean.h"
#include "tests/check.h"

static void check_names(void)
{
#define MF_ROW(ID, family, where, work, weight, compat, traits, shown, dataset, name, alias, ...) \
    {name, alias, MF_##ID},
    static const struct {
        const char *name, *alias;
        enum mf_descriptor_kind kind;
    } known[] = {MF_LIST_SLICES(MF_ROW)};
#undef MF_ROW
    const struct mf_descriptor *row = NULL;
    const struct mf_slice_ops *ops;

    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        CHECK(mf_descriptor_find(&row, known[i].name) == MF_OK && row->kind == known[i].kind);
        if (known[i].alias) CHECK(mf_descriptor_find(&row, known[i].alias) == MF_OK && row->kind == known[i].kind);
        CHECK(mf_descriptor_ops(row, &mf_backend_cpu, &ops) == MF_OK && ops);
    }
    CHECK(mf_descriptor_find(&row, "Correlations") == MF_OK && row->kind == MF_GRAM);
    CHECK(mf_descriptor_find(&row, "surface-correlation") == MF_OK && row->kind == MF_SURFACE);
    CHECK(mf_descriptor_find(&row, "FFTCorrelation") == MF_USAGE);
    CHECK(strstr(mf_err_text(), "try: FFTCorrelations") && strstr(mf_err_text(), "VolumeFractions"));
    CHECK(mf_descriptor_find(&row, "s2-3D") == MF_USAGE && strstr(mf_err_text(), "try: S2_3D"));
    CHECK(mf_descriptor_find(&row, "S2-3D") == MF_OK && row->kind == MF_S2_3D && mf_descriptor_is(row, MF_IN_SPACE));
    for (size_t k = 0, a, b; k < 6; ++k) {
        static const size_t pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

        mf_descriptor_pair(4, k, &a, &b);
        CHECK(a == pairs[k][0] && b == pairs[k][1]);
    }
    CHECK(mf_descriptor_parts(&mf_descriptors[MF_CROSS], 4) == 6 && mf_descriptor_parts(row, 4) == 4);
    CHECK(mf_descriptor_parts(&mf_descriptors[MF_GRAM_CROSS], 3) == 3 && mf_more_parts(MF_MORE_GRAM_CROSS, 4) == 6);
    CHECK(mf_descriptor_wants(row) == MF_WANTS_WHOLE && !mf_descriptor_is(&mf_descriptors[MF_S2], MF_IN_SPACE));
    CHECK(mf_descriptor_find(&row, "MultiPhaseGramMatrices") == MF_OK && mf_descriptor_parts(row, 4) == 1);
    CHECK(mf_descriptor_find(&row, "") == MF_USAGE);
    CHECK(mf_descriptor_aim(&mf_descriptors[MF_LINEAL_EXACT], &mf_backend_cpu, 0, &ops) == MF_USAGE);
    CHECK(mf_descriptor_aim(&mf_descriptors[MF_LINEAL_EXACT], &mf_backend_cpu, 1, &ops) == MF_OK && ops->eval);
    for (enum mf_descriptor_kind k = MF_S2; k < MF_DESCRIPTORS; ++k) {
        if (!mf_descriptor_is(&mf_descriptors[k], MF_IS_COUNTED)) continue;
        CHECK(mf_descriptor_aim(&mf_descriptors[k], &mf_backend_cpu, 0, &ops) == MF_USAGE);
        CHECK(mf_descriptor_aim(&mf_descriptors[k], &mf_backend_cpu, 1, &ops) == MF_OK && ops->eval);
    }
    CHECK(mf_descriptor_find(&row, "variogram") == MF_USAGE && strstr(mf_err_text(), "try: FFTCorrelations"));
    CHECK(mf_descriptor_parts(&mf_descriptors[MF_BOUNDARIES], 4) == 6);
    CHECK(mf_descriptor_entries(&mf_descriptors[MF_WINDOWS], 1) == 2);
    CHECK(mf_descriptor_entries(&mf_descriptors[MF_WINDOWS], 15) == 6);
    CHECK(mf_descriptor_entries(&mf_descriptors[MF_WINDOWS], 16) == 8);
    CHECK(mf_descriptor_mcrpy(&mf_descriptors[MF_LINEAL])->kind == MF_LINEAL_SOFT);
    for (int d = 0; d < MF_DESCRIPTORS; ++d) CHECK((int)mf_descriptors[d].kind == d && mf_descriptors[d].weight > 0);
}

static void check_once(void)
{
    static const char *const names[] = {"S2", "LinealPath", "LinealPathApproximation", "variogram", "FFTCorrelations"};

    CHECK(mf_descriptors_once(4, names, 0, "") == MF_OK && mf_descriptors_once(0, NULL, 0, "") == MF_OK);
    CHECK(mf_descriptors_once(4, names, 1, "so") == MF_USAGE && strstr(mf_err_text(), "as LinealPath and as "));
    CHECK(mf_descriptors_once(5, names, 0, "so") == MF_USAGE &&
          strstr(mf_err_text(), "as S2 and as FFTCorrelations; so"));
    CHECK(mf_descriptors_once(2, (const char *[]){"variogram", "variogram"}, 0, "") == MF_USAGE);
    CHECK(mf_descriptors_once(2, (const char *[]){"Lineal-Path", "Lineal-Path"}, 0, "") == MF_USAGE);
}

static void check_values(void)
{
    struct mf_target_side side[2], mean;
    const struct mf_target_side *both[2] = {&side[0], &side[1]};

    CHECK(mf_target_side_new(&side[0], 2, 3, 4, 1) == MF_OK && mf_target_side_new(&side[1], 2, 2, 4, 1) == MF_OK);
    CHECK(mf_descriptor_entries(&mf_descriptors[MF_S2], 4) == 49);
    CHECK(mf_descriptor_entries(&mf_descriptors[MF_LINEAL], 4) == 33);
    CHECK(mf_descriptor_values(&mf_descriptors[MF_S2], &side[0], 4, 1) == side[0].s2 + 3 * 49);
    CHECK(!mf_descriptor_values(&mf_descriptors[MF_LINEAL], &side[0], 4, 0));
    CHECK(mf_target_side_more(&side[0], 2, 4, MF_MORE_LINEAL) == MF_OK);
    CHECK(mf_descriptor_values(&mf_descriptors[MF_LINEAL], &side[0], 4, 1) == side[0].more[MF_MORE_LINEAL] + 3 * 33);
    CHECK(!mf_descriptor_values(&mf_descriptors[MF_PATCHES], &side[0], 4, 1) &&
          mf_descriptor_is(&mf_descriptors[MF_PATCHES], MF_BY_EXAMPLE));
    CHECK(mf_descriptor_values(&mf_descriptors[MF_FRACTION], &side[0], 4, 1) == side[0].fraction + 3);
    side[0].s2[3 * 49 + 49 + 7] = 1; /* phase 1, level 1 */
    side[1].s2[2 * 49 + 49 + 7] = 3;
    CHECK(mf_side_mean(both, 2, NULL, 2, 4, &mean) == MF_OK && mean.levels == 2);
    CHECK_NEAR(mean.s2[2 * 49 + 49 + 7], 2, 0);
    mf_target_side_free(&mean);
    free(side[1].variation); /* imported correlations have none */
    side[1].variation = NULL;
    side[0].fraction[0] = 0.5;
    CHECK(mf_side_mean(both, 2, (const double[]){0.75, 0.25}, 2, 4, &mean) == MF_OK && !mean.variation);
    CHECK_NEAR(mean.s2[2 * 49 + 49 + 7], 0.75 * 1 + 0.25 * 3, 1e-15);
    CHECK_NEAR(mean.fraction[0], 0.375, 1e-15);
    mf_target_side_free(&side[0]);
    mf_target_side_free(&side[1]);
    mf_target_side_free(&mean);
}

/* Drawn parts stand within the entries; windows and matrices of slices show them all. */
static void check_shown(const struct mf_descriptor *row, size_t lag)
{
    const struct mf_shown *shown = row->shown;
    const size_t entries = mf_descriptor_entries(row, lag);
    char *seen = calloc(entries, 1);
    size_t n = 0;

    for (size_t k = 0; seen && k < shown->count; ++k) {
        const size_t extent = shown->extent(lag, k);
        const size_t points = shown->as == MF_SHOWN_CURVES ? extent : extent * extent;

        for (size_t i = 0; i < points; ++i) {
            const size_t at = shown->entry(lag, k, i);

            CHECK(at < entries);
            n += at < entries && !seen[at];
            if (at < entries) seen[at] = 1;
        }
    }
    if (shown->as != MF_SHOWN_CURVES && !mf_descriptor_is(row, MF_IN_SPACE)) CHECK(n == entries);
    if (shown->as == MF_SHOWN_CURVES && row->kind != MF_LINEAL_SOFT) CHECK(n >= entries - 1);
    free(seen);
}

static void check_pictures(void)
{
    for (int d = 0; d < MF_DESCRIPTORS; ++d) {
        const struct mf_descriptor *row = &mf_descriptors[d];

        CHECK((row->shown == NULL) == mf_descriptor_is(row, MF_BY_EXAMPLE));
        for (size_t lag = 2; row->shown && lag < 8; lag += 3) check_shown(row, lag);
    }
}

int main(void)
{
    check_names();
    check_once();
    check_values();
    check_pictures();
    return failures != 0;
}
