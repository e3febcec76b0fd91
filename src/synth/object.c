/* Placing objects: how many, where, and which way they point. Every rank makes the same list from the seed. */
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
static double box(const struct mf_synth *what)
{
    double volume = 1;

    for (int a = 0; a < 3; ++a)
        if (mf_synth_active(what, a)) volume *= (double)what->dims[a];
    return volume;
}

static int sticks(const struct mf_synth *what)
{
    return what->kind == MF_SYNTH_FIBRES && (what->lie == MF_LIE_PLANAR || what->lie == MF_LIE_RANDOM);
}

static int hard(const struct mf_synth *what)
{
    if (what->kind == MF_SYNTH_FIBRES) return !sticks(what) && !what->overlap;
    return what->kind == MF_SYNTH_HARD_SPHERES;
}

/* Fraction that random sequential addition of equal objects reaches (Torquato, Random Heterogeneous Materials, 2002,
 * table 3.1 region; Widom 1966 in one dimension). */
static double jammed(int axes) { return axes == 1 ? 0.7476 : axes == 2 ? 0.547 : 0.384; }

static int check_room(const struct mf_synth *what)
{
    double size = 2 * what->radius + (hard(what) ? what->gap : 0) + (sticks(what) ? what->stick : 0);
    int axes = mf_synth_axes(what), from = sticks(what) && what->lie == MF_LIE_PLANAR ? 1 : 0;

    if (axes == 0) return mf_fail(MF_USAGE, "objects need an axis of more than one voxel across them");
    for (int a = from; a < 3; ++a)
        if (mf_synth_active(what, a) && size > (double)what->dims[a])
            return mf_fail(MF_USAGE, "an object of %g voxels would meet itself across an extent of %zu", size,
                           what->dims[a]);
    if (from && mf_synth_active(what, 0) && 2 * what->radius > (double)what->dims[0])
        return mf_fail(MF_USAGE, "a fibre of radius %g would meet itself across an extent of %zu", what->radius,
                       what->dims[0]);
    return MF_OK;
}

static int check_objects(const struct mf_synth *what)
{
    double solid = 1 - what->fraction[0], grown = what->radius + what->gap / 2, most;
    int axes = mf_synth_axes(what);

    if (!(what->radius > 0)) return mf_fail(MF_USAGE, "the radius must be above 0 voxels, not %g", what->radius);
    if (!(what->gap >= 0)) return mf_fail(MF_USAGE, "the gap must be 0 voxels or more, not %g", what->gap);
    if (sticks(what) && !(what->stick >= 0))
        return mf_fail(MF_USAGE, "the length of a fibre must be 0 voxels or more, not %g", what->stick);
    if (sticks(what) && what->lie == MF_LIE_PLANAR && (what->dims[1] == 1 || what->dims[2] == 1))
        return mf_fail(MF_USAGE, "fibres in a plane need more than one voxel along y and x");
    MF_TRY(check_room(what));
    if (!(solid < 1)) return mf_fail(MF_USAGE, "objects cannot fill the volume: leave phase 0 a fraction");
    most = jammed(axes) * mf_synth_measure(axes, what->radius, 0) / mf_synth_measure(axes, grown, 0);
    if (hard(what) && solid > most)
        return mf_fail(MF_USAGE,
                       "%s that do not overlap reach a volume fraction of at most %.3f by random sequential "
                       "addition%s, not %g",
                       what->kind == MF_SYNTH_FIBRES ? "fibres"
                       : axes == 2                   ? "discs"
                                                     : "spheres",
                       most, what->gap > 0 ? " with this gap" : "", solid);
    return MF_OK;
}

static int check_voronoi(const struct mf_synth *what)
{
    size_t present = 0;

    for (int p = 0; p < what->phases; ++p) present += what->fraction[p] > 0;
    if (mf_synth_axes(what) == 0) return mf_fail(MF_USAGE, "grains need an axis of more than one voxel");
    if (what->grains < present)
        return mf_fail(MF_USAGE, "%zu grains cannot have %zu phases: ask for more grains", what->grains, present);
    if ((double)what->grains > box(what))
        return mf_fail(MF_USAGE, "%zu grains do not fit into %.0f voxels", what->grains, box(what));
    return MF_OK;
}

static int check_gauss(const struct mf_synth *what)
{
    for (int a = 0; a < 3; ++a) {
        if (what->dims[a] == 1) continue;
        if (!(what->length[a] > 0)) return mf_fail(MF_USAGE, "a correlation length must be above 0 voxels");
        if (what->length[a] > (double)what->dims[a] / 2)
            return mf_fail(MF_USAGE, "a correlation length of %g voxels is more than half of an extent of %zu",
                           what->length[a], what->dims[a]);
    }
    return MF_OK;
}

static int check_fractions(const struct mf_synth *what)
{
    double sum = 0;

    if (what->phases < 2 || what->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "the number of phases must be 2 to %d, not %d", MF_PHASES_MAX, what->phases);
    for (int p = 0; p < what->phases; ++p) {
        if (!(what->fraction[p] >= 0 && what->fraction[p] <= 1))
            return mf_fail(MF_USAGE, "a volume fraction must lie between 0 and 1, not %g", what->fraction[p]);
        sum += what->fraction[p];
    }
    if (fabs(sum - 1) > 1e-6) return mf_fail(MF_USAGE, "volume fractions of all phases must add up to 1, not %g", sum);
    return MF_OK;
}

static int check_size(const struct mf_synth *what)
{
    double voxels = (double)what->dims[0] * (double)what->dims[1] * (double)what->dims[2];

    for (int a = 0; a < 3; ++a)
        if (what->dims[a] == 0) return mf_fail(MF_USAGE, "an extent must be 1 voxel or more");
    if (voxels > 0x1p50)
        return mf_fail(MF_USAGE, "%zu x %zu x %zu voxels are too many", what->dims[0], what->dims[1], what->dims[2]);
    return MF_OK;
}

int mf_synth_check(const struct mf_synth *what)
{
    long waves[3];
    size_t cells[3];
    double period;

    MF_TRY(check_size(what));
    MF_TRY(check_fractions(what));
    switch (what->kind) {
    case MF_SYNTH_GAUSSIAN: return check_gauss(what);
    case MF_SYNTH_VORONOI: return check_voronoi(what);
    case MF_SYNTH_LAMELLAE: return mf_synth_lamella_waves(what, waves, &period);
    case MF_SYNTH_CHECKERBOARD: return mf_synth_board_cells(what, cells);
    default: return check_objects(what);
    }
}

/* How many objects have that fraction: n of volume v cover 1 - (1 - v/V)^n where they may overlap. */
static size_t how_many(const struct mf_synth *what)
{
    double half = sticks(what) ? what->stick / 2 : 0, solid = 1 - what->fraction[0];
    double share = mf_synth_measure(mf_synth_axes(what), what->radius, half) / box(what), n;

    if (what->kind == MF_SYNTH_VORONOI) return what->grains;
    if (solid <= 0) return 0;
    if (hard(what)) return (size_t)(what->exact ? ceil(solid / share - 1e-9) : floor(solid / share + 0.5));
    n = floor(log1p(-solid) / log1p(-fmin(share, 0.999999)) + 0.5);
    return n < 1 ? 1 : (size_t)n;
}

static void place_at(const struct mf_synth *what, uint64_t attempt, double centre[3])
{
    for (int a = 0; a < 3; ++a)
        centre[a] = mf_random_uniform(what->seed, MF_STREAM_PLACE + (uint32_t)a, attempt) * (double)what->dims[a];
}

/* A direction in the plane normal to z, or anywhere on the sphere; only axes of more than one voxel take part. */
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
        if (!sticks(what)) continue;
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
    size_t n = how_many(job->what);

    facts->arena = job->arena;
    facts->objects = n;
    facts->object = mf_arena_zeros(job->arena, n, sizeof *facts->object, "synth objects");
    if (!facts->object) return MF_MEMORY;
    if (hard(job->what)) return crowd_place(job, n, facts->object);
    scatter(job->what, n, facts->object);
    return MF_OK;
}
