/* See property.h. */
#include "src/recon/property.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/prop/grey.h"

/* Times the largest. With 0.01 conductivities beside an insulator came out 20 % too small. */
static const double FLOOR = 1e-5;
static const double UNIT = 0.01; /* an error of 1 % weighs as much as a loss (MSE) of 1e-6 */
/* Swaps that follow for the sake of properties alone weigh errors so much more. */
static const double FIRM = 4;
static const double TOLERANCE = 1e-4;

enum { DRIFT, SQUARE, VALUES }; /* sums of a plane */

struct mf_property {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_slab slab;
    struct mf_property_opts opts;
    size_t fields;
    int phases;
    double least; /* of the conductivities, above 0 */
    double last[MF_PROPERTIES];
    struct mf_conduct_grey *grey; /* solves for one after another */
    float *potential[MF_PROPERTIES];
    float *k, *slope[MF_PROPERTIES]; /* [slab voxels] host memory: at the last solve, and its derivatives by them */
    double *plane;                   /* [planes of the volume][VALUES] */
    double drift[MF_PROPERTIES];     /* change of each conductivity since then, to first order */
    double square[MF_PROPERTIES];    /* of its derivative by x */
    float *x, *g;                    /* host memory beside the device's; NULL: the host can touch that */
    int begun, firm;                 /* firm: errors weigh more */
    long age;                        /* evaluations since the last solve */
};

static size_t voxels_of(const struct mf_property *p) { return mf_slab_voxels(&p->slab); }

static void *take(struct mf_property *p, size_t n)
{
    return mf_arena_take(p->queue->host, n * sizeof(float), "conductivity");
}

static int take_all(struct mf_property *p)
{
    const size_t n = voxels_of(p);

    p->k = take(p, n);
    p->plane = take(p, 2 * VALUES * p->slab.dims[0]);
    if (!p->k || !p->plane) return MF_MEMORY;
    if (mf_apart(p->queue)) {
        p->x = take(p, p->fields * n);
        p->g = take(p, p->fields * n);
        if (!p->x || !p->g) return MF_MEMORY;
    }
    for (size_t i = 0; i < p->opts.count; ++i)
        if (!(p->potential[i] = take(p, n)) || !(p->slope[i] = take(p, n))) return MF_MEMORY;
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
    MF_TRY(mf_agree(comm, take_all(p)));
    return mf_conduct_grey_open(comm, queue, queue->host, slab, opts->spacing, &conduct, &p->grey);
}

void mf_property_close(struct mf_property *p)
{
    if (!p) return;
    mf_conduct_grey_close(p->grey);
    for (size_t i = 0; i < p->opts.count; ++i) {
        mf_arena_give(p->queue->host, p->slope[i]);
        mf_arena_give(p->queue->host, p->potential[i]);
    }
    mf_arena_give(p->queue->host, p->g);
    mf_arena_give(p->queue->host, p->x);
    mf_arena_give(p->queue->host, p->plane);
    mf_arena_give(p->queue->host, p->k);
    free(p);
}

double mf_property_last(const struct mf_property *p, size_t i) { return p->last[i]; }

struct mf_property_state mf_property_state(struct mf_property *p)
{
    struct mf_property_state state = {.k = p->k, .last = p->last, .age = &p->age};

    p->begun = 1;
    memcpy(state.potential, p->potential, sizeof p->potential);
    memcpy(state.slope, p->slope, sizeof p->slope);
    return state;
}

/* -- conductivities of voxels -- */

struct mixing {
    float least, more[MF_PHASES_MAX];
};

static struct mixing mixing_of(const struct mf_property *p)
{
    struct mixing mix = {.least = (float)p->least};

    for (int i = 0; i < p->phases; ++i) mix.more[i] = (float)(of_phase(p, i) - p->least);
    return mix;
}

/* The conductivity of voxel @p v of @p n. One field is the indicator of phase 1, and 1 - x that of phase 0. */
static float conductivity(const struct mixing *mix, size_t fields, size_t n, const float *x, size_t v)
{
    float k = mix->least;

    if (fields == 1) return k + mix->more[1] * x[v] * x[v] + mix->more[0] * (1 - x[v]) * (1 - x[v]);
    for (size_t f = 0; f < fields; ++f) k += mix->more[f] * x[f * n + v] * x[f * n + v];
    return k;
}

/* -- evaluation -- */

static double weight_of(const struct mf_property *p) { return UNIT * p->opts.weight * (p->firm ? FIRM : 1); }
static double off_of(const struct mf_property *p, size_t i)
{
    return (p->last[i] + p->drift[i]) / p->opts.at[i].of - 1;
}

static int solve_one(struct mf_property *p, size_t i)
{
    const int axis = p->opts.at[i].axis;
    struct mf_conduct got;

    if (!p->begun) mf_conduct_grey_begin(p->grey, axis, p->potential[i]);
    MF_TRY(mf_conduct_grey_solve(p->grey, axis, p->k, p->potential[i], &got));
    mf_conduct_grey_slope(p->grey, p->slope[i]);
    p->last[i] = got.k;
    p->drift[i] = 0;
    return MF_OK;
}

static int solve(struct mf_property *p, const float *x)
{
    const size_t n = voxels_of(p);
    const struct mixing mix = mixing_of(p);

#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t v = 0; v < n; ++v) p->k[v] = conductivity(&mix, p->fields, n, x, v);
    for (size_t i = 0; i < p->opts.count; ++i) MF_TRY(solve_one(p, i));
    p->begun = 1;
    p->age = 0;
    return MF_OK;
}

/* d k / d x_f of voxel @p v, the factor of its slope. */
static float turn(const struct mixing *mix, size_t fields, size_t n, const float *x, size_t f, size_t v)
{
    if (fields == 1) return 2 * (mix->more[1] * x[v] - mix->more[0] * (1 - x[v]));
    return 2 * mix->more[f] * x[f * n + v];
}

/* Sums over a plane: the change of conductivity @p i since its solve, and the square of its derivative. */
static void sum_plane(const struct mf_property *p, const struct mixing *mix, const float *x, size_t i, size_t z,
                      double sum[VALUES])
{
    const size_t area = p->slab.dims[1] * p->slab.dims[2], n = voxels_of(p);

    for (size_t v = z * area; v < (z + 1) * area; ++v) {
        const float slope = p->slope[i][v];

        sum[DRIFT] += slope * (conductivity(mix, p->fields, n, x, v) - p->k[v]);
        for (size_t f = 0; f < p->fields; ++f) {
            const float along = slope * turn(mix, p->fields, n, x, f, v);

            sum[SQUARE] += along * along;
        }
    }
}

/* Where conductivity @p i is now, and how fast it changes. Planes are summed in their order, so ranks do not change
 * the bits. */
static void follow(struct mf_property *p, const float *x, size_t i)
{
    const size_t values = VALUES * p->slab.dims[0];
    const struct mixing mix = mixing_of(p);

    memset(p->plane, 0, values * sizeof *p->plane);
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t z = 0; z < p->slab.count; ++z) sum_plane(p, &mix, x, i, z, p->plane + VALUES * (p->slab.first + z));
    mf_comm_sum(p->comm, values, p->plane);
    p->drift[i] = p->square[i] = 0;
    for (size_t z = 0; z < p->slab.dims[0]; ++z) {
        p->drift[i] += p->plane[VALUES * z + DRIFT];
        p->square[i] += p->plane[VALUES * z + SQUARE];
    }
}

/* The part of @p factor whose curvature is at most @p bearable. */
static double ease_of(const struct mf_property *p, double factor, double bearable)
{
    double curvature = 0;

    for (size_t i = 0; i < p->opts.count; ++i)
        curvature += 2 * factor * weight_of(p) * p->square[i] / (p->opts.at[i].of * p->opts.at[i].of);
    return curvature > bearable ? factor * bearable / curvature : factor;
}

static double loss_of(const struct mf_property *p)
{
    double loss = 0;

    for (size_t i = 0; i < p->opts.count; ++i) loss += weight_of(p) * off_of(p, i) * off_of(p, i);
    return loss;
}

/* g += factor * d loss / dx */
static void pull_fields(const struct mf_property *p, const float *x, double factor, float *g)
{
    const size_t n = voxels_of(p);
    const struct mixing mix = mixing_of(p);
    float times[MF_PROPERTIES];

    for (size_t i = 0; i < p->opts.count; ++i)
        times[i] = (float)(2 * factor * weight_of(p) * off_of(p, i) / p->opts.at[i].of);
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t v = 0; v < n; ++v) {
        float pull = 0;

        for (size_t i = 0; i < p->opts.count; ++i) pull += times[i] * p->slope[i][v];
        for (size_t f = 0; f < p->fields; ++f) g[f * n + v] += pull * turn(&mix, p->fields, n, x, f, v);
    }
}

int mf_property_eval(struct mf_property *p, const float *x, float *g, double factor, long hold, double bearable,
                     double *loss)
{
    const size_t bytes = p->fields * voxels_of(p) * sizeof *x;
    const float *at = p->x ? p->x : x;
    float *to = p->g ? p->g : g;

    p->queue->backend->sync(p->queue);
    if (p->x) p->queue->backend->get(p->queue, p->x, x, bytes);
    if (!p->begun || ++p->age >= hold) MF_TRY(solve(p, at));
    for (size_t i = 0; i < p->opts.count; ++i) follow(p, at, i);
    if (loss) *loss += factor * loss_of(p);
    if (p->g) p->queue->backend->get(p->queue, p->g, g, bytes);
    pull_fields(p, at, ease_of(p, factor, bearable), to);
    if (p->g) p->queue->backend->put(p->queue, g, p->g, bytes);
    return MF_OK;
}

/* -- flips -- */

/* The field in a ball of conductivity k in a medium of m goes as 1 / (k + 2 m). So the derivative by k integrates to
 * slope (to - from) (from + 2 m) / (to + 2 m), where 2 m is from + to. */
void mf_property_change(const struct mf_property *p, size_t v, int from, int to, float change[MF_PROPERTIES])
{
    const double a = of_phase(p, from), b = of_phase(p, to);

    for (size_t i = 0; i < p->opts.count; ++i)
        change[i] = (float)(p->slope[i][v] * (b - a) * (2 * a + b) / (2 * b + a) / p->opts.at[i].of);
}

double mf_property_gain(const struct mf_property *p, const double change[MF_PROPERTIES])
{
    double sum = 0;

    for (size_t i = 0; i < p->opts.count; ++i) sum += weight_of(p) * change[i] * (2 * off_of(p, i) + change[i]);
    return sum;
}

double mf_property_alone(const struct mf_property *p, const float change[MF_PROPERTIES])
{
    double all[MF_PROPERTIES] = {0};

    for (size_t i = 0; i < p->opts.count; ++i) all[i] = change[i];
    return mf_property_gain(p, all);
}

int mf_property_met(const struct mf_property *p)
{
    int met = 1;

    for (size_t i = 0; i < p->opts.count; ++i) met &= fabs(off_of(p, i)) <= p->opts.tolerance;
    return met;
}

static int phase_at(const struct mf_property *p, const float *x, size_t v)
{
    if (p->fields == 1) return x[v] > 0.5F;
    for (size_t f = 0; f < p->fields; ++f)
        if (x[f * voxels_of(p) + v] > 0.5F) return (int)f;
    return 0;
}

static void pull_flips(const struct mf_property *p, const float *x, float *g)
{
    const size_t n = voxels_of(p);

#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t v = 0; v < n; ++v) {
        const int from = phase_at(p, x, v);
        float change[MF_PROPERTIES];

        for (int to = 0; to < p->phases; ++to) {
            if (to == from) continue;
            mf_property_change(p, v, from, to, change);
            if (p->fields == 1)
                g[v] += (float)(to == 1 ? mf_property_alone(p, change) : -mf_property_alone(p, change));
            else
                g[(size_t)to * n + v] += (float)mf_property_alone(p, change);
        }
    }
}

int mf_property_flips(struct mf_property *p, int firm, const float *x, float *g, double *loss)
{
    const size_t bytes = p->fields * voxels_of(p) * sizeof *x;
    const float *at = p->x ? p->x : x;

    p->queue->backend->sync(p->queue);
    if (p->x) p->queue->backend->get(p->queue, p->x, x, bytes);
    p->begun = 0;
    p->firm = firm;
    MF_TRY(solve(p, at));
    *loss += loss_of(p);
    if (p->g) p->queue->backend->get(p->queue, p->g, g, bytes);
    pull_flips(p, at, p->g ? p->g : g);
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
