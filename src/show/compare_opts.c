/* See compare.h: which further descriptors and measures are compared. */
#include <string.h>

#include "src/base/err.h"
#include "src/desc/measure.h"
#include "src/desc/registry.h"
#include "src/desc/vgg_weights.h"
#include "src/show/compare.h"

static int is_word(const struct mf_compare_opts *o, const char *word)
{
    return o->descriptors.count == 1 && strcmp(o->descriptors.at[0], word) == 0;
}

int mf_compare_is_all(const struct mf_compare_opts *o) { return is_word(o, "all"); }
static int is_quick(const struct mf_compare_opts *o) { return is_word(o, "quick"); }

/* Descriptors that quick leaves out: their cost grows as L^3 or L^4, or they need a network. */
static int is_costly(unsigned more)
{
    return more == MF_MORE_LINEAL_SOFT || more == MF_MORE_GRAM || more == MF_MORE_GRAM_CROSS ||
           mf_more_is((int)more, MF_OF_VGG);
}

/* The bit of a measure called so; 0: there is none. */
static unsigned measure_of(const char *name)
{
    const char *known;

    for (size_t i = 0; (known = mf_measure_name(i)) != NULL; ++i)
        if (strcmp(known, name) == 0) return 1U << i;
    return 0;
}

unsigned mf_compare_counted(void)
{
    return measure_of("surface") | measure_of("euler") | measure_of("clusters") | measure_of("chords");
}

/* Ways through a phase are found voxel by voxel, three times: quick leaves them out. */
unsigned mf_compare_measures(const struct mf_compare_opts *o)
{
    const unsigned every = measure_of("variogram") | measure_of("autocovariance") | measure_of("surface_correlation") |
                           measure_of("local_fraction") | measure_of("boundaries") | measure_of("cluster_function");
    unsigned wanted = 0;

    if (mf_compare_is_all(o)) return every | measure_of("tortuosity");
    if (is_quick(o)) return every;
    for (size_t i = 0; i < o->descriptors.count; ++i) wanted |= measure_of(o->descriptors.at[i]);
    return wanted & ~mf_compare_counted();
}

int mf_compare_names_measures(const struct mf_compare_opts *o)
{
    return !mf_compare_is_all(o) && !is_quick(o) && mf_compare_measures(o) != 0;
}

/* all and quick stand alone. */
static int check_word(const char *name)
{
    if (strcmp(name, "all") != 0 && strcmp(name, "quick") != 0) return MF_OK;
    return mf_fail(MF_USAGE, "--descriptor_types %s stands alone; name no others", name);
}

int mf_compare_more_check(const struct mf_compare_opts *o)
{
    const struct mf_texts *d = &o->descriptors;

    if (mf_compare_is_all(o) || is_quick(o)) return MF_OK;
    for (size_t i = 0; i < d->count; ++i) {
        const struct mf_descriptor *row;

        MF_TRY(check_word(d->at[i]));
        if (measure_of(d->at[i])) continue;
        MF_TRY(mf_descriptor_find(&row, d->at[i]));
        if (mf_descriptor_is(row, MF_BY_EXAMPLE))
            return mf_fail(MF_USAGE, "--descriptor_types %s: it has no values to compare; \"copied\" is of patches",
                           row->name);
    }
    return mf_descriptors_once(d->count, d->at, 0, "once is enough");
}

/* Descriptors in a file. */
static unsigned of_file(const struct mf_target *t)
{
    unsigned wants = t->side[0].cross ? MF_WANTS_CROSS : 0;

    for (int m = 0; m < MF_MORE; ++m)
        if (t->side[0].more[m]) wants |= 1u << m;
    return wants;
}

/* All of slices that the back end has kernels for; quick: that cost little. */
static unsigned all_of(const struct mf_backend *backend, int quick)
{
    unsigned wants = MF_WANTS_CROSS;

    for (unsigned m = 0; m < MF_MORE; ++m)
        if (mf_slices_of(backend, mf_more_rows[m].family) && !(quick && is_costly(m))) wants |= 1u << m;
    return wants;
}

int mf_compare_names(const struct mf_compare_opts *o, const struct mf_compared *want)
{
    return !mf_compare_is_all(o) && !is_quick(o) && !(want && want->described);
}

unsigned mf_compare_more(const struct mf_compare_opts *o, const struct mf_backend *backend,
                         const struct mf_compared *want, const struct mf_micro *micro)
{
    const int phases = micro->phases;
    unsigned wants = mf_descriptors_want(o->descriptors.count, o->descriptors.at, 0) & (MF_WANTS_MORE | MF_WANTS_CROSS);

    if (mf_compare_is_all(o) || is_quick(o)) wants = all_of(backend, is_quick(o));
    if (want && want->described) wants = of_file(&want->target);
    if (phases < 2) wants &= ~(unsigned)MF_WANTS_CROSS;
    for (int m = 0; m < MF_MORE; ++m)
        if ((mf_more_is(m, MF_OF_PAIRS) && phases < 2) || (mf_more_is(m, MF_OF_VGG) && !mf_compare_names(o, want) &&
                                                           !mf_vgg_feeds(micro, 0, mf_more_is(m, MF_OF_ALL))))
            wants &= ~(1u << m);
    return wants;
}
