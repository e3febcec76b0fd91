/* See onehot.h. */
#include "io/onehot.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"

enum { SOME = 512 };

static const double RANGE_SLACK = 1e-6, SUM_SLACK = 1e-3;

struct mf_places mf_places_of(const struct mf_array *a, enum mf_phase_axis axis)
{
    const size_t *shape = a->shape + (axis == MF_PHASE_AXIS_FIRST);
    struct mf_places p = {a->ndim - (axis != MF_PHASE_AXIS_NONE), {1, 1, 1}, 1};

    for (int i = 0; i < p.ndim && i < 3; ++i) p.dims[2 - i] = shape[p.ndim - 1 - i];
    if (axis != MF_PHASE_AXIS_NONE) p.phases = axis == MF_PHASE_AXIS_FIRST ? a->shape[0] : a->shape[a->ndim - 1];
    return p;
}

struct mf_span mf_onehot_rows(const struct mf_array *a, enum mf_phase_axis axis, const struct mf_slab *slab)
{
    const struct mf_places p = mf_places_of(a, axis);

    if (axis == MF_PHASE_AXIS_FIRST) return (struct mf_span){0, slab->count ? a->shape[0] : 0};
    if (p.ndim == 3) return (struct mf_span){slab->first, slab->count};
    return (struct mf_span){0, slab->count ? slab->dims[1] : 0}; /* of an image all or none */
}

long long mf_onehot_place(const struct mf_places *p, enum mf_phase_axis axis, const struct mf_slab *slab,
                          size_t element, size_t *phase)
{
    const size_t plane = p->dims[1] * p->dims[2], all = p->dims[0] * plane, first = slab->first * plane;
    size_t voxel = element / p->phases;

    *phase = element % p->phases;
    if (axis != MF_PHASE_AXIS_FIRST) return (long long)voxel;
    *phase = element / all;
    voxel = element % all;
    return voxel < first || voxel - first >= mf_slab_voxels(slab) ? -1 : (long long)(voxel - first);
}

int mf_onehot_is_few(const struct mf_array *a, enum mf_phase_axis axis)
{
    const struct mf_places p = mf_places_of(a, axis);

    for (int i = 3 - p.ndim; i < 3; ++i)
        if (4 * p.phases > p.dims[i]) return p.ndim == 3;
    return 1;
}

struct sums {
    const struct mf_array *array;
    enum mf_phase_axis axis;
    struct mf_places places;
    struct mf_slab slab;
    const uint8_t *covered;
    float *sum;         /* [slab] */
    double least, most; /* of the values that are not 0 */
    int several;        /* they differ */
    int open;           /* there can be no sum of 1: enough is known */
};

static void add(struct sums *s, double value, size_t voxel)
{
    if (value == 0) return;
    s->several |= s->most > 0 && value != s->most;
    s->most = fmax(s->most, value);
    s->least = fmin(s->least, value);
    s->open |= !(value >= -RANGE_SLACK) || (s->several && s->most > 1 + RANGE_SLACK);
    s->sum[voxel] += (float)value;
}

static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct sums *s = context;
    double some[SOME];

    for (size_t k = 0; k < n && !s->open; k += SOME) {
        const size_t now = n - k < SOME ? n - k : SOME;

        mf_array_reals(s->array, (const char *)values + k * s->array->size, now, some);
        for (size_t i = 0; i < now; ++i) {
            size_t phase;
            const long long voxel = mf_onehot_place(&s->places, s->axis, &s->slab, at + (k + i) * stride, &phase);

            if (voxel >= 0 && !(s->covered && s->covered[voxel])) add(s, some[i], (size_t)voxel);
        }
    }
    return s->open ? MF_INPUT : MF_OK;
}

/* Local. */
static int visit(struct sums *s)
{
    const struct mf_span rows = mf_onehot_rows(s->array, s->axis, &s->slab);
    const int rc = mf_array_visit(s->array, rows.first, rows.count, take, s);

    return s->open ? MF_OK : rc;
}

/* Largest distance of a sum from 1, where @p one stands for it. */
static double worst_sum(const struct sums *s, double one)
{
    double worst = 0;

    for (size_t v = 0; v < mf_slab_voxels(&s->slab); ++v)
        if (!(s->covered && s->covered[v])) worst = fmax(worst, fabs((double)s->sum[v] / one - 1));
    return worst;
}

/* Combines the sums of all ranks. Collective. */
static void decide(const struct mf_comm *comm, const struct sums *s, int *are, int *whole)
{
    double seen[] = {s->open, s->several, s->most, -s->least}, worst, one;

    mf_comm_max(comm, 4, seen);
    *whole = seen[1] == 0 && seen[2] == -seen[3] && seen[2] >= 1 && seen[2] == rint(seen[2]);
    one = *whole ? seen[2] : 1;
    worst = seen[0] > 0 || seen[2] > one + RANGE_SLACK ? 1 : worst_sum(s, one);
    mf_comm_max(comm, 1, &worst);
    *are = worst <= SUM_SLACK;
}

int mf_onehot_look(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_array *array,
                   enum mf_phase_axis axis, const uint8_t *covered, int *are, int *whole)
{
    struct sums s = {.array = array,
                     .axis = axis,
                     .places = mf_places_of(array, axis),
                     .covered = covered,
                     .least = HUGE_VAL,
                     .most = -HUGE_VAL};
    int rc;

    *are = *whole = 0;
    if (s.places.phases < 2 || s.places.phases > MF_PHASES_MAX || s.places.ndim < 2 || s.places.ndim > 3) return MF_OK;
    s.slab = mf_slab_of(comm, s.places.dims, comm->rank);
    s.sum = mf_arena_zeros(arena, mf_slab_voxels(&s.slab), sizeof *s.sum, "sums over phases");
    rc = mf_agree(comm, s.sum ? visit(&s) : MF_MEMORY);
    if (rc == MF_OK) decide(comm, &s, are, whole);
    mf_arena_give(arena, s.sum);
    return rc;
}
