/* See property.h. */
#include "src/recon/property.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/prop/grey.h"

static const double FLOOR = 0.01; /* times the largest */
static const double UNIT = 100;   /* an error of 1 % weighs as much as a loss of 1e-6 */
static const double TOLERANCE = 1e-4;

struct mf_property {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    struct mf_property_opts opts;
    size_t fields;
    int phases;
    double least; /* of the conductivities, above 0 */
    double last[MF_PROPERTIES];
    struct mf_conduct_grey *grey[MF_PROPERTIES];
    float *potential[MF_PROPERTIES];
    /* [slab voxels] host memory: conductivities, a derivative, the sum of them */
    float *k, *slope, *pull;
    float *x, *g; /* host memory beside the device's; NULL: the host can touch that */
    int begun;
    long age;    /* evaluations since the last solve, */
    double loss; /* ... which gave that */
};

static size_t voxels_of(const struct mf_property *p) { return mf_slab_voxels(&p->slab); }

static float *take(struct mf_property *p, size_t n)
{
    return mf_arena_take(p->queue->host, n * sizeof(float), "conductivity");
}

static int take_all(struct mf_property *p)
{
    const size_t n = voxels_of(p);

    p->k = take(p, n);
    p->slope = take(p, n);
    p->pull = take(p, n);
    if (!p->k || !p->slope || !p->pull) return MF_MEMORY;
    if (mf_apart(p->queue)) {
        p->x = take(p, p->fields * n);
        p->g = take(p, p->fields * n);
        if (!p->x || !p->g) return MF_MEMORY;
    }
    for (size_t i = 0; i < p->opts.count; ++i)
        if (!(p->potential[i] = take(p, n))) return MF_MEMORY;
    return MF_OK;
}

/* Conductivities of phases while fields are grey. */
static double of_phase(const struct mf_property *p, int phase) { return fmax(p->opts.k[phase], FLOOR); }

int mf_property_open(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, size_t fields,
                     int phases, const struct mf_property_opts *opts, struct mf_property **property)
{
    struct mf_property *p = MF_MUST(calloc(1, sizeof *p), "properties");
    const struct mf_conduct_opts conduct = {.boundary = opts->boundary, .tolerance = TOLERANCE};

    *property = p;
    *p = (struct mf_property){
        .comm = comm, .queue = queue, .slab = *slab, .opts = *opts, .fields = fields, .phases = phases, .least = 1};
    for (int i = 0; i < phases; ++i) p->least = fmin(p->least, of_phase(p, i));
    if (!queue->backend->flux)
        return mf_fail(MF_DEVICE, "--property: %s has no conduction; try: --device cpu", queue->backend->name);
    MF_TRY(mf_agree(comm, take_all(p)));
    for (size_t i = 0; i < opts->count; ++i)
        MF_TRY(mf_conduct_grey_open(comm, queue, queue->host, slab, opts->spacing, opts->at[i].axis, &conduct,
                                    &p->grey[i]));
    return MF_OK;
}

void mf_property_close(struct mf_property *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->opts.count; ++i) {
        mf_conduct_grey_close(p->grey[i]);
        mf_arena_give(p->queue->host, p->potential[i]);
    }
    mf_arena_give(p->queue->host, p->g);
    mf_arena_give(p->queue->host, p->x);
    mf_arena_give(p->queue->host, p->pull);
    mf_arena_give(p->queue->host, p->slope);
    mf_arena_give(p->queue->host, p->k);
    free(p);
}

double mf_property_last(const struct mf_property *p, size_t i) { return p->last[i]; }

struct mf_property_state mf_property_state(struct mf_property *p)
{
    struct mf_property_state state = {.pull = p->pull, .loss = &p->loss, .age = &p->age};

    p->begun = 1;
    memcpy(state.potential, p->potential, sizeof p->potential);
    return state;
}

/* -- conductivities of voxels -- */

/* One field is the indicator of phase 1, and 1 - x that of phase 0. */
static void conductivities(const struct mf_property *p, const float *x)
{
    const size_t n = voxels_of(p);
    float more[MF_PHASES_MAX];

    for (int i = 0; i < p->phases; ++i) more[i] = (float)(of_phase(p, i) - p->least);
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t v = 0; v < n; ++v) {
        float k = (float)p->least;

        if (p->fields == 1)
            k += more[1] * x[v] * x[v] + more[0] * (1 - x[v]) * (1 - x[v]);
        else
            for (size_t f = 0; f < p->fields; ++f) k += more[f] * x[f * n + v] * x[f * n + v];
        p->k[v] = k;
    }
}

/* g += factor * pull * dk/dx */
static void pull_fields(const struct mf_property *p, const float *x, double factor, float *g)
{
    const size_t n = voxels_of(p);
    float twice[MF_PHASES_MAX];

    for (int i = 0; i < p->phases; ++i) twice[i] = (float)(2 * factor * (of_phase(p, i) - p->least));
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t v = 0; v < n; ++v) {
        if (p->fields == 1)
            g[v] += p->pull[v] * (twice[1] * x[v] - twice[0] * (1 - x[v]));
        else
            for (size_t f = 0; f < p->fields; ++f) g[f * n + v] += p->pull[v] * twice[f] * x[f * n + v];
    }
}

/* -- evaluation -- */

/* Adds one property to pull and loss. */
static int add(struct mf_property *p, size_t i)
{
    const double want = p->opts.at[i].of, weight = UNIT * p->opts.weight;
    const size_t n = voxels_of(p);
    struct mf_conduct got;
    double off;
    float times;

    if (!p->begun) mf_conduct_grey_begin(p->grey[i], p->potential[i]);
    MF_TRY(mf_conduct_grey_solve(p->grey[i], p->k, p->potential[i], &got));
    mf_conduct_grey_slope(p->grey[i], p->slope);
    p->last[i] = got.k;
    off = got.k / want - 1;
    p->loss += weight * off * off;
    times = (float)(2 * weight * off / want);
    for (size_t v = 0; v < n; ++v) p->pull[v] += times * p->slope[v];
    return MF_OK;
}

static int solve(struct mf_property *p, const float *x)
{
    conductivities(p, x);
    memset(p->pull, 0, voxels_of(p) * sizeof *p->pull);
    p->loss = 0;
    for (size_t i = 0; i < p->opts.count; ++i) MF_TRY(add(p, i));
    p->begun = 1;
    p->age = 0;
    return MF_OK;
}

int mf_property_eval(struct mf_property *p, const float *x, float *g, double factor, long hold, double *loss)
{
    const size_t bytes = p->fields * voxels_of(p) * sizeof *x;
    const float *at = p->x ? p->x : x;
    float *to = p->g ? p->g : g;

    p->queue->backend->sync(p->queue);
    if (p->x) p->queue->backend->get(p->queue, p->x, x, bytes);
    if (!p->begun || ++p->age >= hold) MF_TRY(solve(p, at));
    *loss += p->loss;
    if (p->g) p->queue->backend->get(p->queue, p->g, g, bytes);
    pull_fields(p, at, factor, to);
    if (p->g) p->queue->backend->put(p->queue, g, p->g, bytes);
    return MF_OK;
}

int mf_property_measure(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_slab *slab, int phases,
                        const struct mf_property_opts *opts, uint8_t *label, double k[MF_PROPERTIES])
{
    struct mf_micro micro = {.ndim = slab->dims[0] > 1 ? 3 : 2, .slab = *slab, .phases = phases, .phase = label};
    struct mf_conduct_opts conduct = {.boundary = opts->boundary, .tolerance = TOLERANCE};

    memcpy(micro.spacing, opts->spacing, sizeof micro.spacing);
    memcpy(conduct.k, opts->k, sizeof conduct.k);
    for (size_t i = 0; i < opts->count; ++i) {
        struct mf_conduct got;

        MF_TRY(mf_conduct(comm, queue, queue->host, &micro, opts->at[i].axis, &conduct, &got));
        k[i] = got.k;
    }
    return MF_OK;
}
