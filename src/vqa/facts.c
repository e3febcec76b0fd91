/* Finds the answers to all questions about an image of two phases. See vqa.h. All sums are of whole numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/vqa/vqa.h"

/* Measures of findings, in the order of value [MEASURES]. */
enum {
    LIGHT,     /* share of light pixels */
    INTERFACE, /* share of pairs of neighbours of which one is light */
    COHERENCE,
    COMPONENTS,               /* + phase: components per 1000 pixels */
    LARGEST = COMPONENTS + 2, /* + phase: share of the phase in its largest component */
    SPANNING = LARGEST + 2,   /* + 2 phase: share of it in components that join left and right; + 1: top and bottom */
    MEASURES = SPANNING + 4
};

const struct mf_vqa_finding mf_vqa_findings[MF_VQA_FINDINGS] = {{"light_fraction", 0.25},
                                                                {"light_fraction", 0.5},
                                                                {"light_fraction", 0.75},
                                                                {"interface_density", 0.06},
                                                                {"interface_density", 0.1},
                                                                {"coherence", 0.25},
                                                                {"dark_components_per_1000_pixels", 3},
                                                                {"light_components_per_1000_pixels", 3},
                                                                {"dark_largest_share", 0.5},
                                                                {"light_largest_share", 0.5},
                                                                {"dark_share_that_spans_left_right", 0.5},
                                                                {"dark_share_that_spans_top_bottom", 0.5},
                                                                {"light_share_that_spans_left_right", 0.5},
                                                                {"light_share_that_spans_top_bottom", 0.5}};

static const int measure_of[MF_VQA_FINDINGS] = {LIGHT,     LIGHT,        LIGHT,          INTERFACE,   INTERFACE,
                                                COHERENCE, COMPONENTS,   COMPONENTS + 1, LARGEST,     LARGEST + 1,
                                                SPANNING,  SPANNING + 1, SPANNING + 2,   SPANNING + 3};

enum { ALIGNED_TIMES = 2 }; /* aligned: this times the coherence is 1 or more */

/* The components of a phase, the largest first. */
struct components {
    size_t count, listed; /* all; those that may be objects */
    struct mf_cluster *cluster;
    int64_t voxels, spanning[3];                            /* of the phase; of components that span along z y x */
    int64_t sum[MF_VQA_OBJECTS][2];                         /* of y and x over the pixels of a listed one */
    size_t low[MF_VQA_OBJECTS][2], high[MF_VQA_OBJECTS][2]; /* y and x: first and last */
};

/* Boxes and centres of the listed components. @p id as of mf_clusters_list(). */
static void bound(const struct mf_micro *micro, const uint32_t *id, struct components *of)
{
    const size_t ny = micro->slab.dims[1], nx = micro->slab.dims[2];

    for (size_t c = 0; c < of->listed; ++c) memcpy(of->low[c], micro->slab.dims + 1, sizeof of->low[c]);
    for (size_t i = 0; i < ny * nx; ++i) {
        const size_t at[2] = {i / nx, i % nx}, c = (size_t)id[i] - 1;

        for (int a = 0; id[i] && id[i] <= of->listed && a < 2; ++a) {
            of->sum[c][a] += (int64_t)at[a];
            if (at[a] < of->low[c][a]) of->low[c][a] = at[a];
            if (at[a] > of->high[c][a]) of->high[c][a] = at[a];
        }
    }
}

/* @p id and of->cluster have room for every pixel. */
static int list(const struct mf_measure_job *job, int phase, uint32_t *id, struct components *of)
{
    const size_t pixels = job->micro->slab.dims[1] * job->micro->slab.dims[2];

    MF_TRY(mf_clusters_list(job, (uint8_t)phase, pixels, of->cluster, &of->count, id));
    of->listed = of->count < MF_VQA_OBJECTS ? of->count : MF_VQA_OBJECTS;
    for (size_t c = 0; c < of->count; ++c) {
        of->voxels += of->cluster[c].size;
        for (int a = 1; a < 3; ++a) of->spanning[a] += mf_touch_spans(of->cluster[c].touch, a) * of->cluster[c].size;
    }
    bound(job->micro, id, of);
    return MF_OK;
}

/* ---- measures of all pixels ---- */

/* Share of pairs of neighbours that differ. */
static double interfaces(const struct mf_micro *micro)
{
    const size_t ny = micro->slab.dims[1], nx = micro->slab.dims[2];
    const uint8_t *v = micro->phase;
    int64_t differ = 0;

    for (size_t y = 0; y < ny; ++y)
        for (size_t x = 0; x < nx; ++x) {
            if (x + 1 < nx) differ += v[y * nx + x] != v[y * nx + x + 1];
            if (y + 1 < ny) differ += v[y * nx + x] != v[(y + 1) * nx + x];
        }
    return (double)differ / (double)(ny * (nx - 1) + (ny - 1) * nx);
}

/* Coherence of the structure tensor; an image without interfaces has none: 0. */
static double coherence(const struct mf_micro *micro)
{
    const size_t ny = micro->slab.dims[1], nx = micro->slab.dims[2];
    int64_t jxx = 0, jyy = 0, jxy = 0;
    double apart, across;

    for (size_t y = 0; y + 1 < ny; ++y)
        for (size_t x = 0; x + 1 < nx; ++x) {
            const uint8_t *v = micro->phase + y * nx + x;
            const int gx = v[1] + v[nx + 1] - v[0] - v[nx], gy = v[nx] + v[nx + 1] - v[0] - v[1];

            jxx += gx * gx;
            jyy += gy * gy;
            jxy += gx * gy;
        }
    if (jxx + jyy == 0) return 0;
    apart = (double)(jxx - jyy);
    across = 2 * (double)jxy;
    return sqrt(apart * apart + across * across) / (double)(jxx + jyy);
}

static void measure(const struct mf_micro *micro, const struct components of[2], double *value)
{
    const double pixels = (double)(micro->slab.dims[1] * micro->slab.dims[2]);

    value[LIGHT] = (double)of[1].voxels / pixels;
    value[INTERFACE] = interfaces(micro);
    value[COHERENCE] = coherence(micro);
    for (int p = 0; p < 2; ++p) {
        const double all = of[p].voxels ? (double)of[p].voxels : 1;

        value[COMPONENTS + p] = 1000 * (double)of[p].count / pixels;
        value[LARGEST + p] = of[p].count ? (double)of[p].cluster[0].size / all : 0;
        value[SPANNING + 2 * p] = (double)of[p].spanning[2] / all;
        value[SPANNING + 2 * p + 1] = (double)of[p].spanning[1] / all;
    }
}

/* ---- answers ---- */

static int near(double value, double threshold) { return fabs(value - threshold) <= 0.05 * threshold; }

static int place_of(const struct mf_micro *micro, const struct components *of)
{
    const size_t *n = micro->slab.dims + 1;
    int cell[2];

    if (of->count == 0 || (of->count > 1 && of->cluster[0].size == of->cluster[1].size)) return -1;
    if (mf_touch_spans(of->cluster[0].touch, 1) || mf_touch_spans(of->cluster[0].touch, 2)) return MF_VQA_SPANS;
    for (int a = 0; a < 2; ++a) /* the centre of pixel i is i + 1/2 */
        cell[a] =
            (int)((2 * of->sum[0][a] + of->cluster[0].size) * MF_VQA_GRID / (2 * of->cluster[0].size * (int64_t)n[a]));
    return cell[0] * MF_VQA_GRID + cell[1];
}

static int answer(const struct mf_micro *micro, const struct mf_vqa_question *q, int kind,
                  const struct components of[2], const double *value)
{
    const struct components *it = &of[q->phase == 1];
    const int64_t pixels = of[0].voxels + of[1].voxels;
    int quarter;

    switch (q->type) {
    case MF_VQA_PERCOLATES: return value[SPANNING + 2 * q->phase + (q->axis == 1)] > 0;
    case MF_VQA_LARGER: return 2 * it->voxels == pixels ? -1 : 2 * it->voxels > pixels;
    case MF_VQA_ALIGNED: return near(value[COHERENCE] * ALIGNED_TIMES, 1) ? -1 : value[COHERENCE] * ALIGNED_TIMES >= 1;
    case MF_VQA_CONNECTED: return it->count == 0 ? -1 : it->count == 1;
    case MF_VQA_MORPHOLOGY: return kind;
    case MF_VQA_LARGEST: return place_of(micro, it);
    default: quarter = (int)(4 * it->voxels / pixels); return quarter < 3 ? quarter : 3;
    }
}

/* The largest of both phases, in turn. */
static void put_objects(const struct mf_micro *micro, const struct components of[2],
                        float object[MF_VQA_OBJECTS][MF_VQA_OBJECT])
{
    const size_t *n = micro->slab.dims + 1;
    size_t at[2] = {0};

    memset(object, 0, MF_VQA_OBJECTS * sizeof *object);
    for (size_t k = 0; k < MF_VQA_OBJECTS && (at[0] < of[0].listed || at[1] < of[1].listed); ++k) {
        const int dark =
            at[0] < of[0].listed && (at[1] == of[1].listed || of[0].cluster[at[0]].size >= of[1].cluster[at[1]].size);
        const struct components *it = &of[!dark];
        const size_t c = at[!dark]++;

        for (int a = 0; a < 2; ++a) {
            object[k][a] = (float)it->low[c][a] / (float)n[a];
            object[k][2 + a] = (float)(it->high[c][a] + 1) / (float)n[a];
        }
        object[k][4] = (float)((double)it->cluster[c].size / (double)(n[0] * n[1]));
        object[k][5] = (float)!dark;
    }
}

static void answer_all(const struct mf_micro *micro, int kind, const struct components of[2],
                       struct mf_vqa_facts *facts)
{
    double value[MEASURES];

    measure(micro, of, value);
    for (size_t q = 0; q < MF_VQA_QUESTIONS; ++q)
        facts->answer[q] = (int8_t)answer(micro, &mf_vqa_questions[q], kind, of, value);
    for (size_t f = 0; f < MF_VQA_FINDINGS; ++f) {
        const double it = value[measure_of[f]], threshold = mf_vqa_findings[f].threshold;

        facts->finding[f] = near(it, threshold) ? MF_VQA_NO_FINDING : it >= threshold;
    }
    put_objects(micro, of, facts->object);
}

/* The components of both phases, which the caller frees in every case. */
static int find(const struct mf_measure_job *job, struct components of[2])
{
    const size_t pixels = job->micro->slab.dims[1] * job->micro->slab.dims[2];
    uint32_t *id = malloc(pixels * sizeof *id);
    int rc = MF_OK;

    MF_ASSERT(job->comm->size == 1 && job->micro->phases == 2 && job->micro->slab.dims[0] == 1);
    for (int p = 0; p < 2; ++p) {
        of[p] = (struct components){.cluster = malloc(pixels * sizeof *of[p].cluster)};
        if (!id || !of[p].cluster)
            rc = mf_fail(MF_MEMORY, "no memory for the components of an image of %zu pixels", pixels);
    }
    for (int p = 0; rc == MF_OK && p < 2; ++p) rc = list(job, p, id, &of[p]);
    free(id);
    return rc;
}

int mf_vqa_find(const struct mf_measure_job *job, int kind, struct mf_vqa_facts *facts)
{
    struct components of[2];
    const int rc = find(job, of);

    if (rc == MF_OK) answer_all(job->micro, kind, of, facts);
    for (int p = 0; p < 2; ++p) free(of[p].cluster);
    return rc;
}

int mf_vqa_objects(const struct mf_measure_job *job, float object[MF_VQA_OBJECTS][MF_VQA_OBJECT])
{
    struct components of[2];
    const int rc = find(job, of);

    if (rc == MF_OK) put_objects(job->micro, of, object);
    for (int p = 0; p < 2; ++p) free(of[p].cluster);
    return rc;
}
