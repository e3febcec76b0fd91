/* See registry.h. */
#include "src/desc/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/desc/measure.h"
#include "src/desc/phases.h"

#define MF_ROW_OF(ID, kernels, family, work, weight, compat, traits, shown, name, alias, summary) \
    [MF_##ID] = {name,                                                                            \
                 alias,                                                                           \
                 summary,                                                                         \
                 weight,                                                                          \
                 compat,                                                                          \
                 MF_##ID,                                                                         \
                 &mf_phase_##work,                                                                \
                 traits,                                                                          \
                 &mf_kind_##family,                                                               \
                 offsetof(struct mf_slices, kernels),                                             \
                 shown},
#define MF_ROW(ID, family, where, work, weight, compat, traits, shown, dataset, ...) \
    MF_ROW_OF(ID, family, family, work, weight, compat, traits, shown, __VA_ARGS__)
#define MF_ROW_IN_SPACE(ID, family, where, work, weight, compat, traits, shown, dataset, ...) \
    MF_ROW_OF(ID, space, family, work, weight, compat, traits, shown, __VA_ARGS__)

const struct mf_descriptor mf_descriptors[] = {MF_LIST_SLICES(MF_ROW) MF_LIST_SPACE(MF_ROW_IN_SPACE)};

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
        int n = snprintf(text + used, size - used, "%s%s%s%s%s", i ? ", " : "", row->name, row->alias ? " (" : "",
                         row->alias ? row->alias : "", row->alias ? ")" : "");

        if (n > 0) used += (size_t)n;
    }
}

/* Names of MCRpy's branch ps, and what here says the same. */
static const char *elsewhere(const char *name)
{
    static const char *const names[][2] = {{"Variogram", "characterize --measures variogram"},
                                           {"FFTAutocovariance", "characterize --measures autocovariance"},
                                           {"SPB", "characterize --measures surface"},
                                           {"DPB", "Boundaries"},
                                           {"TPB", "Boundaries"},
                                           {"Percolation3D", "Clusters, or characterize --measures clusters"},
                                           {"Tort3D", "Tortuosity, or characterize --measures tortuosity"},
                                           {"VolumeFractions3D", "VolumeFractions"},
                                           {"FFTCorrelations3D", "S2_3D"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(names[i][0], name) == 0) return names[i][1];
    return NULL;
}

static int refuse(const char *name)
{
    const char *words[2 * MF_DESCRIPTORS], *near, *why = mf_measure_why(name), *there = elsewhere(name);
    size_t count = 0;
    char known[1024];

    if (there) return mf_fail(MF_USAGE, "%s is not called so here; try: %s", name, there);
    if (strchr(name, ',')) return mf_fail(MF_USAGE, "no descriptor '%s'; names stand apart: S2 Variation", name);
    if (strpbrk(name, "./"))
        return mf_fail(MF_USAGE, "no descriptor '%s'; a file stands before the options, not behind these names", name);
    if (why) return mf_fail(MF_USAGE, "%s is a measure (characterize --measures), not a descriptor: %s", name, why);
    list(known, sizeof known);
    if (strcmp(name, "all") == 0)
        return mf_fail(MF_USAGE, "all is for characterize and compare; name descriptors; there are: %s", known);
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        words[count++] = mf_descriptors[i].name;
        if (mf_descriptors[i].alias) words[count++] = mf_descriptors[i].alias;
    }
    near = mf_nearest(name, words, count);
    if (near) return mf_fail(MF_USAGE, "no descriptor '%s'; try: %s; there are: %s", name, near, known);
    return mf_fail(MF_USAGE, "no descriptor '%s'; there are: %s", name, known);
}

static const struct mf_descriptor *find(const char *name)
{
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        const struct mf_descriptor *at = &mf_descriptors[i];

        if (same(name, at->name) || (at->alias && same(name, at->alias))) return at;
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
    if (mf_descriptor_is(row, MF_IN_SPACE))
        return mf_fail(MF_USAGE, "%s: MCRpy knows slices alone; leave out --compat mcrpy", row->name);
    if (row->kind == MF_CROSS)
        return mf_fail(MF_USAGE, "%s are not what MCRpy computes by this name; leave out --compat mcrpy", row->name);
    return MF_OK;
}

static int alike(const char *a, const char *b, int mcrpy)
{
    const struct mf_descriptor *x = find(a), *y = find(b);

    if (!x || !y) return strcmp(a, b) == 0;
    return mcrpy ? mf_descriptor_mcrpy(x) == mf_descriptor_mcrpy(y) : x == y;
}

int mf_descriptors_once(size_t count, const char *const *names, int mcrpy, const char *instead)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; k < i; ++k) {
            const struct mf_descriptor *row = find(names[i]);

            if (!alike(names[i], names[k], mcrpy)) continue;
            if (strcmp(names[i], names[k]) == 0)
                return mf_fail(MF_USAGE, "--descriptor_types names %s twice; %s", row ? row->name : names[i], instead);
            return mf_fail(MF_USAGE, "--descriptor_types names %s twice, as %s and as %s; %s", row->name, names[k],
                           names[i], instead);
        }
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

    if (mf_descriptor_is(row, MF_IN_SPACE)) return (unsigned)MF_WANTS_WHOLE << mf_descriptor_whole(row);
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

size_t mf_descriptor_parts(const struct mf_descriptor *row, size_t fields)
{
    if (mf_descriptor_is(row, MF_OF_ALL)) return 1;
    return mf_descriptor_is(row, MF_OF_PAIRS) ? fields * (fields - 1) / 2 : fields;
}

void mf_descriptor_pair(size_t fields, size_t pair, size_t *a, size_t *b)
{
    for (*a = 0; pair >= fields - 1 - *a; ++*a) pair -= fields - 1 - *a;
    *b = *a + 1 + pair;
}

size_t mf_descriptor_entries(const struct mf_descriptor *row, size_t lag)
{
    const struct mf_slice_desc desc = {.lag = lag, .levels = 1};

    return row->form->entries(&desc);
}

int mf_descriptor_square(const struct mf_descriptor *row)
{
    const struct mf_shown *shown = row->shown;

    const size_t lag = 2, extent = shown && shown->as != MF_SHOWN_CURVES ? shown->extent(lag, 0) : 0;

    return extent > 1 && shown->count == 1 && extent * extent == mf_descriptor_entries(row, lag);
}

/* A pixel has four neighbours to differ from. */
double mf_descriptor_most(const struct mf_descriptor *row)
{
    if (row->kind == MF_VARIATION) return 4;
    return mf_descriptor_is(row, MF_IS_FREE) || mf_descriptor_is(row, MF_OF_VGG) ? INFINITY : 1;
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
    const struct mf_slice_ops *ops = mf_descriptor_is(row, MF_IN_SPACE) ? NULL : mf_slices_of(backend, row->family);

    return (ops && ops->cost ? ops->cost : row->form->cost)(desc, count, what);
}

int mf_descriptor_aim(const struct mf_descriptor *row, const struct mf_backend *backend, int by_swaps,
                      const struct mf_slice_ops **ops)
{
    const enum mf_descriptor_kind near = row->kind == MF_SURFACE || row->kind == MF_BOUNDARIES ? MF_VARIATION
                                         : row->kind == MF_WINDOWS                             ? MF_S2
                                                                                               : MF_LINEAL;

    MF_TRY(mf_descriptor_ops(row, backend, ops));
    if (by_swaps || !mf_descriptor_is(row, MF_IS_COUNTED)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "%s has no gradient: it can be measured, and aimed at by swaps (--optimizer_type "
                   "SimulatedAnnealing); try: %s",
                   row->name, mf_descriptors[near].name);
}

double *mf_descriptor_values(const struct mf_descriptor *row, const struct mf_target_side *side, size_t lag, int phase)
{
    double *const fixed[] = {
        [MF_S2] = side->s2, [MF_VARIATION] = side->variation, [MF_FRACTION] = side->fraction, [MF_CROSS] = side->cross};
    double *values = row->kind >= MF_FURTHER ? side->more[row->kind - MF_FURTHER]
                     : mf_descriptor_is(row, MF_IN_SPACE) || mf_descriptor_is(row, MF_BY_EXAMPLE) ? NULL
                                                                                                  : fixed[row->kind];

    if (!values) return NULL;
    return values + (size_t)phase * side->levels * mf_descriptor_entries(row, lag);
}
