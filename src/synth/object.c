/* Places objects: their number, positions and directions. Every rank makes the same list from the seed. */
#include <math.h>
#include <stdlib.h>

#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

static const double pi = 3.14159265358979323846;

int mf_synth_active(const struct mf_synth *what, int axis)
{
    if (what->kind == MF_SYNTH_FIBRES && (int)what->lie == axis) return 0;
    return what->dims[axis] > 1;
}

int mf_synth_axes(const struct mf_synth *what)
{
    return mf_synth_active(what, 0) + mf_synth_active(what, 1) + mf_synth_active(what, 2);
}

double mf_synth_measure(int axes, double radius, double half)
{
    if (axes == 1) return 2 * (radius + half);
    if (axes == 2) return pi * radius * radius + 4 * radius * half;
    return 4 * pi / 3 * radius * radius * radius + 2 * half * pi * radius * radius;
}

/* Volume of the box along the axes that count. */
double mf_synth_box(const struct mf_synth *what)
{
    double volume = 1;

    for (int a = 0; a < 3; ++a)
        if (mf_synth_active(what, a)) volume *= (double)what->dims[a];
    return volume;
}

int mf_synth_sticks(const struct mf_synth *what)
{
    return what->kind == MF_SYNTH_FIBRES && (what->lie == MF_LIE_PLANAR || what->lie == MF_LIE_RANDOM);
}

int mf_synth_hard(const struct mf_synth *what)
{
    if (what->kind == MF_SYNTH_FIBRES) return !mf_synth_sticks(what) && !what->overlap;
    return what->kind == MF_SYNTH_HARD_SPHERES;
}

/* How many objects have that fraction: n of volume v cover 1 - (1 - v/V)^n where they may overlap. */
double mf_synth_number(const struct mf_synth *what)
{
    double half = mf_synth_sticks(what) ? what->stick / 2 : 0, solid = 1 - what->fraction[0];
    double share = mf_synth_measure(mf_synth_axes(what), what->radius, half) / mf_synth_box(what), n;

    if (what->kind == MF_SYNTH_CRACKS) share = mf_synth_crack_volume(what) / mf_synth_box(what);
    if (what->kind == MF_SYNTH_VORONOI) return (double)what->grains;
    if (solid <= 0) return 0;
    if (mf_synth_hard(what)) return what->exact ? ceil(solid / share - 1e-9) : floor(solid / share + 0.5);
    n = floor(log1p(-solid) / log1p(-fmin(share, 0.999999)) + 0.5);
    return (n < 1 ? 1 : n) * (what->kind == MF_SYNTH_CRACKS ? (double)mf_synth_crack_pieces(what) : 1);
}

static void place_at(const struct mf_synth *what, uint64_t attempt, double centre[3])
{
    for (int a = 0; a < 3; ++a)
        centre[a] = mf_random_uniform(what->seed, MF_STREAM_PLACE + (uint32_t)a, attempt) * (double)what->dims[a];
}

/* A direction in the plane normal to z, or anywhere on the sphere. Only axes of more than one voxel take part. */
static void turn(const struct mf_synth *what, uint64_t index, double direction[3])
{
    double length = 0;

    for (int a = 0; a < 3; ++a) {
        int free_axis = mf_synth_active(what, a) && !(a == 0 && what->lie == MF_LIE_PLANAR);

        direction[a] = free_axis ? mf_random_normal(what->seed, MF_STREAM_TURN + (uint32_t)a, index) : 0;
        length += direction[a] * direction[a];
    }
    for (int a = 0; a < 3; ++a) direction[a] = length > 0 ? direction[a] / sqrt(length) : 0;
}

static void scatter(const struct mf_synth *what, size_t n, struct mf_synth_object *object)
{
    for (size_t i = 0; i < n; ++i) {
        object[i] = (struct mf_synth_object){.radius = what->radius, .phase = 1};
        place_at(what, i, object[i].centre);
        if (!mf_synth_sticks(what)) continue;
        object[i].half = what->stick / 2;
        turn(what, i, object[i].direction);
    }
}

/* Objects by cell, for the question whether one may stand there. Cells are at least one diameter wide. */
struct crowd {
    const struct mf_synth *what;
    double apart;
    size_t cells[3];
    size_t *head, *next; /* [cells], [objects]: index + 1, 0 ends */
    const struct mf_synth_object *object;
};

static size_t cell_of(const struct crowd *c, const double centre[3], int a)
{
    size_t i = (size_t)(centre[a] / (double)c->what->dims[a] * (double)c->cells[a]);

    return i < c->cells[a] ? i : c->cells[a] - 1;
}

static double apart2(const struct mf_synth *what, const double *p, const double *q)
{
    double sum = 0;

    for (int a = 0; a < 3; ++a) {
        double n = (double)what->dims[a], d = fabs(p[a] - q[a]);

        if (!mf_synth_active(what, a)) continue;
        if (d > n / 2) d = n - d;
        sum += d * d;
    }
    return sum;
}

static int cell_free(const struct crowd *c, size_t cell, const double centre[3])
{
    for (size_t i = c->head[cell]; i; i = c->next[i - 1])
        if (apart2(c->what, c->object[i - 1].centre, centre) < c->apart * c->apart) return 0;
    return 1;
}

static int may_stand(const struct crowd *c, const double centre[3])
{
    size_t low[3], many[3];

    for (int a = 0; a < 3; ++a) {
        many[a] = c->cells[a] < 3 ? c->cells[a] : 3;
        low[a] = c->cells[a] < 3 ? 0 : cell_of(c, centre, a) + c->cells[a] - 1;
    }
    for (size_t z = 0; z < many[0]; ++z)
        for (size_t y = 0; y < many[1]; ++y)
            for (size_t x = 0; x < many[2]; ++x) {
                size_t cz = (low[0] + z) % c->cells[0], cy = (low[1] + y) % c->cells[1];

                if (!cell_free(c, (cz * c->cells[1] + cy) * c->cells[2] + (low[2] + x) % c->cells[2], centre)) return 0;
            }
    return 1;
}

static int crowd_new(const struct mf_synth_job *job, size_t n, const struct mf_synth_object *object, struct crowd *c)
{
    size_t cells = 1;

    *c = (struct crowd){.what = job->what, .apart = 2 * job->what->radius + job->what->gap, .object = object};
    for (int a = 0; a < 3; ++a) {
        double fit = (double)job->what->dims[a] / c->apart, most = 2 + cbrt(4.0 * (double)n);

        /* no more cells than a few per object: small objects in a large box */
        c->cells[a] = mf_synth_active(job->what, a) && fit >= 1 ? (size_t)fit : 1;
        if (mf_synth_axes(job->what) == 3 && (double)c->cells[a] > most) c->cells[a] = (size_t)most;
        cells *= c->cells[a];
    }
    c->head = mf_arena_zeros(job->arena, cells, sizeof *c->head, "synth cells");
    c->next = mf_arena_zeros(job->arena, n, sizeof *c->next, "synth cells");
    return c->head && c->next ? MF_OK : MF_MEMORY;
}

/* Random sequential addition: places are tried in the order of their index, each is kept if it is free. */
static int crowd_fill(struct crowd *c, size_t n, struct mf_synth_object *object)
{
    uint64_t attempt = 0, most = 100000 + 20000 * (uint64_t)n;
    size_t count = 0;

    if (most > 50000000 + 100 * (uint64_t)n) most = 50000000 + 100 * (uint64_t)n;
    for (; count < n && attempt < most; ++attempt) {
        struct mf_synth_object next = {.radius = c->what->radius, .phase = 1};
        size_t cell;

        place_at(c->what, attempt, next.centre);
        if (!may_stand(c, next.centre)) continue;
        cell = (cell_of(c, next.centre, 0) * c->cells[1] + cell_of(c, next.centre, 1)) * c->cells[2] +
               cell_of(c, next.centre, 2);
        object[count] = next;
        c->next[count] = c->head[cell];
        c->head[cell] = ++count;
    }
    if (count == n) return MF_OK;
    return mf_fail(MF_USAGE,
                   "only %zu of %zu objects found room in %llu attempts: a volume fraction of %.3f is reachable", count,
                   n, (unsigned long long)attempt, (1 - c->what->fraction[0]) * (double)count / (double)n);
}

static int crowd_place(const struct mf_synth_job *job, size_t n, struct mf_synth_object *object)
{
    struct crowd c;
    int rc = crowd_new(job, n, object, &c);

    if (rc == MF_OK) rc = crowd_fill(&c, n, object);
    mf_arena_give(job->arena, c.head);
    mf_arena_give(job->arena, c.next);
    return rc;
}

int mf_synth_place(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    size_t n = (size_t)mf_synth_number(job->what);

    facts->arena = job->arena;
    facts->objects = n;
    facts->object = mf_arena_zeros(job->arena, n, sizeof *facts->object, "synth objects");
    if (!facts->object) return MF_MEMORY;
    if (mf_synth_hard(job->what)) return crowd_place(job, n, facts->object);
    if (job->what->kind == MF_SYNTH_CRACKS)
        mf_synth_crack_place(job->what, n, facts->object);
    else
        scatter(job->what, n, facts->object);
    return MF_OK;
}
