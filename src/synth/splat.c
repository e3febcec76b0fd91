/* Spheres, fibres and cracks as a field of distances. The value of a voxel is its depth below the nearest surface
 * (radius minus distance to the centre or line). It is the largest over all objects. Each object writes only the voxels
 * that it reaches. These are its inside and, with exact fractions or shells, a band around it. The band is doubled
 * until the cut lies within. A maximum does not depend on the order, so the result does not depend on ranks and
 * threads. */
#include <math.h>
#include <stdlib.h>

#include "src/synth/synth_priv.h"

struct scene {
    const struct mf_synth *what;
    double band;  /* how far outside its surface an object writes [voxels] */
    size_t reach; /* planes above and below its centre that an object may touch */
    int active[3];
    size_t objects;
    const struct mf_synth_object *object;
    size_t *start, *item; /* [nz + 1], [objects]: objects by the plane of their centre */
};

static size_t bin_of(const struct scene *s, const struct mf_synth_object *o)
{
    size_t z = (size_t)o->centre[0];

    if (!s->active[0]) return 0;
    return z < s->what->dims[0] ? z : s->what->dims[0] - 1;
}

static int scene_new(const struct mf_synth_job *job, const struct mf_synth_facts *facts, struct scene *s)
{
    size_t nz = job->what->dims[0], n = facts->objects;

    *s = (struct scene){.what = job->what, .objects = n, .object = facts->object};
    for (int a = 0; a < 3; ++a) s->active[a] = mf_synth_active(job->what, a);
    s->start = mf_arena_zeros(job->arena, nz + 2, sizeof *s->start, "synth cells");
    s->item = mf_arena_zeros(job->arena, n, sizeof *s->item, "synth cells");
    if (!s->start || !s->item) return MF_MEMORY;
    for (size_t i = 0; i < n; ++i) ++s->start[bin_of(s, &s->object[i]) + 2];
    for (size_t z = 0; z < nz; ++z) s->start[z + 1] += s->start[z];
    for (size_t i = 0; i < n; ++i) s->item[s->start[bin_of(s, &s->object[i]) + 1]++] = i;
    return MF_OK;
}

/* How far the line or the disc of an object goes from its centre along an axis. */
static double span(const struct mf_synth_object *o, int a)
{
    const double along = fabs(o->direction[a]);

    return o->half * (o->flat ? sqrt(fmax(0, 1 - along * along)) : along);
}

static void scene_band(struct scene *s, double band)
{
    double most = 0;

    for (size_t i = 0; i < s->objects; ++i) {
        double reach = s->object[i].radius + span(&s->object[i], 0);

        if (reach > most) most = reach;
    }
    s->band = band;
    s->reach = s->active[0] ? (size_t)ceil(most + band) + 1 : 0;
}

/* The voxels [first, last] along an axis that an object may touch, unwrapped. */
static void range(const struct scene *s, const struct mf_synth_object *o, int a, ptrdiff_t *first, ptrdiff_t *last)
{
    double reach = o->radius + s->band + span(o, a);

    *first = s->active[a] ? (ptrdiff_t)ceil(o->centre[a] - reach - 0.5) : 0;
    *last = s->active[a] ? (ptrdiff_t)floor(o->centre[a] + reach - 0.5) : (ptrdiff_t)s->what->dims[a] - 1;
}

static size_t wrap(ptrdiff_t i, size_t n)
{
    ptrdiff_t m = i % (ptrdiff_t)n;

    return (size_t)(m < 0 ? m + (ptrdiff_t)n : m);
}

/* Squared distance from the offset (dz, dy, dx) to the disc of an object. */
static double off_disc(const struct mf_synth_object *o, double dz, double dy, double dx)
{
    const double t = dz * o->direction[0] + dy * o->direction[1] + dx * o->direction[2];
    const double beside = sqrt(fmax(0, dz * dz + dy * dy + dx * dx - t * t)) - o->half;

    return t * t + (beside > 0 ? beside * beside : 0);
}

/* The same to its line. */
static inline double off_line(const struct mf_synth_object *o, double dz, double dy, double dx)
{
    double t = 0;

    if (o->half > 0) {
        t = dz * o->direction[0] + dy * o->direction[1] + dx * o->direction[2];
        t = t > o->half ? o->half : t < -o->half ? -o->half : t;
        dz -= t * o->direction[0];
        dy -= t * o->direction[1];
        dx -= t * o->direction[2];
    }
    return dz * dz + dy * dy + dx * dx;
}

/* One object into one plane, dz from its centre to the plane. */
static void splat(const struct scene *s, const struct mf_synth_object *o, double dz, double *value)
{
    size_t nx = s->what->dims[2];
    double reach2 = (o->radius + s->band) * (o->radius + s->band);
    ptrdiff_t y0, y1, x0, x1;

    range(s, o, 1, &y0, &y1);
    range(s, o, 2, &x0, &x1);
    for (ptrdiff_t y = y0; y <= y1; ++y) {
        double *row = value + wrap(y, s->what->dims[1]) * nx;
        double dy = s->active[1] ? (double)y + 0.5 - o->centre[1] : 0;
        size_t at = wrap(x0, nx);

        for (ptrdiff_t x = x0; x <= x1; ++x) {
            double dx = s->active[2] ? (double)x + 0.5 - o->centre[2] : 0, d2;

            d2 = o->flat ? off_disc(o, dz, dy, dx) : off_line(o, dz, dy, dx);
            if (d2 <= reach2) {
                double depth = o->radius - sqrt(d2);

                if (depth > row[at]) row[at] = depth;
            }
            if (++at == nx) at = 0;
        }
    }
}

static void scene_plane(const void *self, size_t z, double *value)
{
    const struct scene *s = self;
    size_t n = s->what->dims[1] * s->what->dims[2], nz = s->what->dims[0];

    for (size_t i = 0; i < n; ++i) value[i] = MF_SYNTH_OUTSIDE;
    for (ptrdiff_t k = -(ptrdiff_t)s->reach; k <= (ptrdiff_t)s->reach; ++k) {
        size_t bin = s->active[0] ? wrap((ptrdiff_t)z + k, nz) : 0;

        for (size_t i = s->start[bin]; i < s->start[bin + 1]; ++i) {
            const struct mf_synth_object *o = &s->object[s->item[i]];
            double centre = o->centre[0] - (double)bin + (double)k; /* from plane z's lower face */

            splat(s, o, s->active[0] ? 0.5 - centre : 0, value);
        }
    }
}

/* Whether one of the cuts falls among the voxels that no object reached. */
static int cut_outside(const struct mf_synth_job *job, const double *value, int *outside)
{
    int64_t count[MF_PHASES_MAX], missed = 0, first = 0;
    const size_t *dims = job->slab.dims;
    size_t n = mf_slab_voxels(&job->slab);

    mf_synth_counts(job->what, (int64_t)(dims[0] * dims[1] * dims[2]), count);
    first = count[0];
    MF_ASSERT(value);
    for (size_t i = 0; i < n; ++i) missed += value[i] == MF_SYNTH_OUTSIDE;
    mf_comm_sum_int(job->comm, 1, &missed);
    *outside = missed > first;
    return MF_OK;
}

static int label_exact(const struct mf_synth_job *job, struct scene *s)
{
    struct mf_synth_source source = {scene_plane, s};
    double *value = mf_arena_take(job->arena, mf_slab_voxels(&job->slab) * sizeof *value, "synth field");
    double band = fmax(1.5, job->what->radius / 8), far = 0;
    int outside = 1, rc = mf_agree(job->comm, value ? MF_OK : MF_MEMORY);

    for (int a = 0; a < 3; ++a) far += (double)job->what->dims[a];
    for (; rc == MF_OK && outside; band *= 2) {
        scene_band(s, band);
        mf_synth_fill(job, &source, value);
        rc = cut_outside(job, value, &outside);
        if (s->objects == 0 || band > far) break;
    }
    if (rc == MF_OK) rc = mf_synth_label_exact(job, value);
    mf_arena_give(job->arena, value);
    return rc;
}

int mf_synth_objects(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    static const double surface[1] = {0};
    struct scene s = {0};
    struct mf_synth_source source = {scene_plane, &s};
    int rc = mf_synth_place(job, facts);

    if (rc == MF_OK) rc = scene_new(job, facts, &s);
    rc = mf_agree(job->comm, rc);
    if (rc == MF_OK && (job->what->exact || job->what->phases > 2))
        rc = label_exact(job, &s);
    else if (rc == MF_OK) {
        scene_band(&s, 0);
        rc = mf_synth_label(job, &source, surface);
    }
    mf_arena_give(job->arena, s.start);
    mf_arena_give(job->arena, s.item);
    return rc;
}
