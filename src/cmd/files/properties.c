/* See properties.h. */
#include "src/cmd/files/properties.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/desc/measure.h"

static const size_t lags[MF_PROPERTY_LAGS] = {1, 2, 4, 8, 16};

/* ---- columns ---- */

/* The next column: its name, and of more than two phases the phase. */
static void name(struct mf_properties *p, int phase, const char *word)
{
    if (p->phases > 2)
        snprintf(p->name[p->columns++], sizeof *p->name, "%s_%d", word, phase);
    else
        snprintf(p->name[p->columns++], sizeof *p->name, "%s", word);
}

static void name_phase(struct mf_properties *p, int phase)
{
    name(p, phase, "volume_fraction");
    if (p->length && phase == 1) snprintf(p->name[p->columns++], sizeof *p->name, "length");
    name(p, phase, "interface_density");
    name(p, phase, "percolates_x");
    name(p, phase, "straightness_x");
    if (phase == 1) snprintf(p->name[p->columns++], sizeof *p->name, "matrix_straightness_x");
    for (size_t k = 0; k < p->lags; ++k) {
        char word[16];

        snprintf(word, sizeof word, "s2_%zu", lags[k]);
        name(p, phase, word);
    }
}

void mf_properties_begin(struct mf_session *session, int ndim, const size_t dims[3], int phases, int periodic,
                         int length, struct mf_properties *p)
{
    static const char *const words[] = {"surface", "autocovariance", "tortuosity"};
    size_t least = dims[2];

    *p = (struct mf_properties){.session = session, .ndim = ndim, .phases = phases, .periodic = periodic};
    p->length = length;
    mf_comm_self(&p->self);
    MF_ASSERT(mf_measures_find(3, words, &p->measures) == MF_OK);
    for (int a = 3 - ndim; a < 3; ++a) least = dims[a] < least ? dims[a] : least;
    while (p->lags < MF_PROPERTY_LAGS && 2 * (lags[p->lags] + 1) <= least) ++p->lags;
    p->name = MF_MUST(calloc((size_t)phases * (6 + p->lags), sizeof *p->name), "names of properties");
    for (int phase = 1; phase < phases; ++phase) name_phase(p, phase);
}

void mf_properties_conduct(struct mf_properties *p, size_t n, const double *k)
{
    p->name = MF_MUST(realloc(p->name, (p->columns + 3) * sizeof *p->name), "names of properties");
    p->conduct = mf_conduct_columns(p->ndim, n, k);
    p->said = mf_conduct_columns_said(&p->conduct, n, k);
    p->conducts = mf_conduct_columns_name(&p->conduct, p->name + p->columns);
    p->columns += p->conducts;
}

void mf_properties_end(struct mf_properties *p)
{
    free(p->name);
    free(p->said);
    p->name = NULL;
    p->said = NULL;
}

/* ---- values ---- */

static double fraction_of(const struct mf_micro *micro, int phase)
{
    const size_t n = mf_slab_voxels(&micro->slab);
    size_t count = 0;

    for (size_t i = 0; i < n; ++i) count += micro->phase[i] == phase;
    return (double)count / (double)n;
}

/* Faces per voxel, where every axis counts by its pairs of voxels: the measure has their mean as crossings. */
static double interface_density(const struct mf_properties *p, const struct mf_json *phase)
{
    const double crossings = mf_json_get_real(mf_json_get(phase, "surface"), "crofton");

    return crossings * p->ndim / (p->ndim == 2 ? 1.5707963267948966 : 2);
}

/* Two-point probability at a lag: the mean over the axes. */
static double s2_at(const struct mf_json *curves, size_t lag, double fraction)
{
    double sum = 0;
    int axes = 0;

    for (int a = 0; a < 3; ++a) {
        const struct mf_json *one = mf_json_get(curves, mf_axis_name(a));

        if (mf_json_count(one) <= lag) continue;
        sum += mf_json_to_real(mf_json_item(one, lag));
        ++axes;
    }
    return axes ? sum / axes + fraction * fraction : 0;
}

/* One over the mean tortuosity along x; 0: no path leads through. */
static double straightness(const struct mf_json *phase)
{
    const struct mf_json *way = mf_json_get(mf_json_get(phase, "tortuosity"), "x");

    return mf_json_get_real(way, "reached") > 0 ? 1 / mf_json_get_real(way, "mean") : 0;
}

/* In the order of name_phase(). */
static float *put_phase(const struct mf_properties *p, const struct mf_json *phases, int phase, double fraction,
                        double length, float *real)
{
    const struct mf_json *measured = mf_json_item(phases, (size_t)phase);
    const double straight = straightness(measured);

    *real++ = (float)fraction;
    if (p->length && phase == 1) *real++ = (float)length;
    *real++ = (float)interface_density(p, measured);
    *real++ = straight > 0;
    *real++ = (float)straight;
    if (phase == 1) *real++ = (float)straightness(mf_json_item(phases, 0));
    for (size_t k = 0; k < p->lags; ++k)
        *real++ = (float)s2_at(mf_json_get(measured, "autocovariance"), lags[k], fraction);
    return real;
}

int mf_properties_measure(const struct mf_properties *p, struct mf_micro *micro, double length, float *real)
{
    const struct mf_session *s = p->session;
    const struct mf_measure_job job = {&p->self, s->home,     s->arena,
                                       micro,    p->periodic, p->lags ? lags[p->lags - 1] + 1 : 1};
    struct mf_json *json = NULL;

    MF_TRY(mf_measures_run(&job, p->measures, &json));
    for (int phase = 1; phase < p->phases; ++phase)
        real = put_phase(p, json, phase, fraction_of(micro, phase), length, real);
    mf_json_free(json);
    if (!(p->conduct.most > 0)) return MF_OK;
    return mf_conduct_columns_of(&p->conduct, &p->self, s->queue, s->arena, micro, real);
}

int mf_properties_of(const struct mf_properties *p, const size_t dims[3], uint8_t *phase, float *real)
{
    struct mf_micro micro = {.ndim = p->ndim, .phases = p->phases, .spacing = {1, 1, 1}, .phase = phase};

    micro.slab = mf_slab_of(&p->self, dims, 0);
    for (int k = 0; k < micro.phases; ++k) micro.label[k] = k;
    return mf_properties_measure(p, &micro, 0, real);
}
