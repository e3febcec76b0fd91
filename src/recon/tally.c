/* See tally.h. */
#include "src/recon/tally.h"

#include <string.h>

#include "kernels/form/axes.h"
#include "src/base/err.h"
#include "src/recon/tally_impl.h"

enum { DIRECTIONS = 4, CHANGES = 12 };

/* Steps along the rows and columns of a slice, in the order of the entries. */
static const int along[DIRECTIONS][2] = {{1, 1}, {1, -1}, {0, 1}, {1, 0}};

/* Entry of runs of 2c + 1 pixels. */
static size_t entry(size_t c, int direction) { return 2 + DIRECTIONS * (c - 1) + (size_t)direction; }

static const struct mf_descriptor *term_of(const struct mf_objective_opts *o, enum mf_descriptor_kind kind,
                                           double *weight)
{
    for (size_t t = 0; t < o->terms; ++t)
        if (o->term[t].row->kind == kind && o->term[t].weight > 0) {
            *weight = o->term[t].weight;
            return o->term[t].row;
        }
    *weight = 0;
    return NULL;
}

int mf_tally_wanted(const struct mf_objective_opts *o, int volume)
{
    double ignored;

    for (size_t t = 0; t < o->terms; ++t)
        if (o->term[t].weight > 0 && mf_descriptor_counts(o->term[t].row)) return 1;
    return volume && term_of(o, MF_FRACTION, &ignored);
}

/* -- memory -- */

static void *take(struct mf_tally *t, size_t bytes) { return mf_arena_take(t->arena, bytes, "annealing"); }

/* The first of a descriptor's entries, which come behind those that there are; 0: it has none. */
static size_t place(struct mf_tally *t, const struct mf_objective_opts *o, enum mf_descriptor_kind kind)
{
    const size_t first = t->entries;
    double ignored;

    if (!term_of(o, kind, &ignored)) return 0;
    t->entries += mf_descriptor_entries(&mf_descriptors[kind], t->lag);
    return first;
}

int mf_tally_open(struct mf_tally *t, const struct mf_polish *p, struct mf_mutable *field)
{
    *t = (struct mf_tally){.arena = p->queue->host, .field = field, .lag = p->target->lag, .fields = p->fields};
    t->sides = field->dims[0] > 1 ? MF_SIDES : 1;
    t->entries = 1;
    t->paths = place(t, p->objective, MF_LINEAL_EXACT);
    t->surface = place(t, p->objective, MF_SURFACE);
    t->chords = place(t, p->objective, MF_CHORDS);
    for (size_t d = 0; d < t->sides; ++d) {
        struct mf_tally_side *s = &t->side[d];

        s->slices = field->dims[d];
        s->count = take(t, t->fields * s->slices * t->entries * sizeof *s->count);
        s->inverse = take(t, t->entries * sizeof *s->inverse);
        s->weight = take(t, t->entries * sizeof *s->weight);
        s->target = take(t, t->fields * t->entries * sizeof *s->target);
        if (!s->count || !s->inverse || !s->weight || !s->target) return MF_MEMORY;
    }
    return MF_OK;
}

void mf_tally_close(struct mf_tally *t)
{
    for (size_t d = 0; d < MF_SIDES; ++d) {
        mf_arena_give(t->arena, t->side[d].target);
        mf_arena_give(t->arena, t->side[d].weight);
        mf_arena_give(t->arena, t->side[d].inverse);
        mf_arena_give(t->arena, t->side[d].count);
    }
}

size_t mf_tally_room(const struct mf_tally *t) { return CHANGES * t->entries * sizeof(int32_t); }

/* -- what is aimed at -- */

/* How many runs of n pixels along a direction a slice has. */
static double runs_of(const struct mf_tally *t, size_t d, size_t n, int direction)
{
    double rows = (double)t->field->dims[mf_tally_u(d)], columns = (double)t->field->dims[mf_tally_v(d)];

    if (t->field->periodic) return rows * columns;
    if (along[direction][0]) rows -= (double)(n - 1);
    if (along[direction][1]) columns -= (double)(n - 1);
    return rows > 0 && columns > 0 ? rows * columns : 0;
}

static void set_inverse(struct mf_tally *t, size_t d)
{
    double *inverse = t->side[d].inverse;

    inverse[0] = 1 / ((double)t->field->dims[mf_tally_u(d)] * (double)t->field->dims[mf_tally_v(d)]);
    if (t->surface) mf_tally_surface_inverse(t, d, inverse + t->surface);
    if (t->chords) mf_tally_chords_inverse(t, d, inverse + t->chords);
    if (!t->paths) return;
    inverse[1] = inverse[0];
    for (size_t c = 1; c <= t->lag; ++c)
        for (int k = 0; k < DIRECTIONS; ++k) {
            const double runs = runs_of(t, d, 2 * c + 1, k);

            inverse[entry(c, k)] = runs > 0 ? 1 / runs : 0;
        }
}

/* Entries of a descriptor, from @p first on. */
static void aim(struct mf_tally *t, const struct mf_polish *p, size_t d, enum mf_descriptor_kind kind, size_t first,
                double share)
{
    const size_t n = mf_descriptor_entries(&mf_descriptors[kind], t->lag);
    struct mf_tally_side *s = &t->side[d];
    double weight;
    const struct mf_descriptor *row = term_of(p->objective, kind, &weight);

    for (size_t e = first; e < first + n; ++e) {
        s->weight[e] = share * weight * weight;
        for (size_t f = 0; f < t->fields; ++f) s->target[f * t->entries + e] = 0;
    }
    for (size_t f = 0; row && f < t->fields; ++f) {
        const size_t phase = t->fields == 1 && p->target->phases > 1 ? 1 : f;
        const struct mf_target_side *side = mf_target_for(p->target, (enum mf_normal)d);

        memcpy(s->target + f * t->entries + first, mf_descriptor_values(row, side, t->lag, (int)phase),
               n * sizeof(double));
    }
}

void mf_tally_aim(struct mf_tally *t, const struct mf_polish *p, const size_t *m)
{
    const double level = p->objective->level_weight[0];

    for (size_t d = 0; d < t->sides; ++d) {
        const double share = level * level / ((double)t->sides * (double)t->side[d].slices * (double)m[d]);

        set_inverse(t, d);
        aim(t, p, d, MF_FRACTION, 0, share);
        if (t->paths) aim(t, p, d, MF_LINEAL_EXACT, t->paths, share);
        if (t->surface) aim(t, p, d, MF_SURFACE, t->surface, share);
        if (t->chords) aim(t, p, d, MF_CHORDS, t->chords, share);
    }
}

/* -- runs -- */

static struct mf_pixel pixel_at(const struct mf_mutable *m, size_t d, const uint32_t at[3])
{
    const ptrdiff_t row = (ptrdiff_t)m->stride[0], stride[3] = {(ptrdiff_t)m->dims[1] * row, row, 1};
    const size_t u = mf_tally_u(d), v = mf_tally_v(d);

    return (struct mf_pixel){.label = m->along[0] + at[0] * stride[0] + at[1] * stride[1] + m->pad + at[2],
                             .u = at[u],
                             .v = at[v],
                             .nu = m->dims[u],
                             .nv = m->dims[v],
                             .su = stride[u],
                             .sv = stride[v],
                             .periodic = m->periodic};
}

/* One step along an axis; 0: the slice ends. */
static inline int go(size_t *i, size_t n, int step, int periodic, ptrdiff_t stride, const uint8_t **label)
{
    if (step > 0) {
        const int wraps = *i + 1 == n;

        if (wraps && !periodic) return 0;
        *label += wraps ? -(ptrdiff_t)*i * stride : stride;
        *i = wraps ? 0 : *i + 1;
    } else if (step < 0) {
        const int wraps = *i == 0;

        if (wraps && !periodic) return 0;
        *label += wraps ? (ptrdiff_t)(n - 1) * stride : -stride;
        *i = wraps ? n - 1 : *i - 1;
    }
    return 1;
}

/* How many pixels next to this one are of its phase, at most @p most. */
static size_t reach(struct mf_pixel p, int du, int dv, size_t most)
{
    const uint8_t phase = *p.label;

    for (size_t k = 0; k < most; ++k) {
        if (!go(&p.u, p.nu, du, p.periodic, p.su, &p.label) || !go(&p.v, p.nv, dv, p.periodic, p.sv, &p.label))
            return k;
        if (*p.label != phase) return k;
    }
    return most;
}

/* count [2c + 1 pixels, direction] += sign times the runs of this pixel's phase that it is in. Where an axis is as
 * short as the longest run, a closed line has a run less than there are places in one. */
static void add_runs(const struct mf_tally *t, struct mf_pixel p, int direction, int sign, int32_t *count)
{
    const int du = along[direction][0], dv = along[direction][1];
    const size_t most = 2 * t->lag, behind = reach(p, -du, -dv, most), ahead = reach(p, du, dv, most);

    for (size_t c = 1; c <= t->lag && 2 * c <= behind + ahead; ++c) {
        const size_t first = 2 * c > ahead ? 2 * c - ahead : 0, last = 2 * c < behind ? 2 * c : behind;
        size_t runs = last - first + 1;

        if (p.periodic && runs > most) {
            const size_t around = !dv ? p.nu : !du ? p.nv : p.nu > p.nv ? p.nu : p.nv;

            if (runs > around && (!du || !dv || p.nu == p.nv)) runs = around;
        }
        count[entry(c, direction)] += sign * (int32_t)runs;
    }
}

/* -- counting -- */

static size_t field_of(const struct mf_tally *t, uint8_t phase) { return t->fields == 1 ? 0 : phase; }

static int is_counted(const struct mf_tally *t, uint8_t phase) { return t->fields > 1 || phase == 1; }

/* What one pixel adds to the counts of its slice: itself, and what begins with it. */
static void count_pixel(const struct mf_tally *t, size_t d, const struct mf_pixel *p, int64_t *counts)
{
    int64_t *count = counts + field_of(t, *p->label) * t->side[d].slices * t->entries;

    ++count[0];
    if (t->surface) mf_tally_count_surface(t, p, count + t->surface);
    if (t->chords) mf_tally_count_chords(t, p, count + t->chords);
    if (!t->paths) return;
    ++count[1];
    for (int k = 0; k < DIRECTIONS; ++k) {
        const size_t ahead = reach(*p, along[k][0], along[k][1], 2 * t->lag);

        for (size_t c = 1; 2 * c <= ahead; ++c) ++count[entry(c, k)];
    }
}

static void count_slice(const struct mf_tally *t, size_t d, size_t slice)
{
    int64_t *counts = t->side[d].count + slice * t->entries;
    uint32_t at[3];

    for (size_t f = 0; f < t->fields; ++f)
        memset(counts + f * t->side[d].slices * t->entries, 0, t->entries * sizeof *counts);
    at[d] = (uint32_t)slice;
    for (size_t u = 0; u < t->field->dims[mf_tally_u(d)]; ++u)
        for (size_t v = 0; v < t->field->dims[mf_tally_v(d)]; ++v) {
            struct mf_pixel p;

            at[mf_tally_u(d)] = (uint32_t)u;
            at[mf_tally_v(d)] = (uint32_t)v;
            p = pixel_at(t->field, d, at);
            if (is_counted(t, *p.label)) count_pixel(t, d, &p, counts);
        }
}

void mf_tally_count(struct mf_tally *t, int threads)
{
    for (size_t d = 0; d < t->sides; ++d) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
        for (size_t s = 0; s < t->side[d].slices; ++s) count_slice(t, d, s);
    }
}

/* -- energies -- */

double mf_tally_loss(const struct mf_tally *t)
{
    double loss = 0;

    for (size_t d = 0; d < t->sides; ++d) {
        const struct mf_tally_side *side = &t->side[d];

        for (size_t i = 0; i < t->fields * side->slices; ++i)
            for (size_t e = 0; e < t->entries; ++e) {
                const double value = (double)side->count[i * t->entries + e] * side->inverse[e];
                const double off = value - side->target[i / side->slices * t->entries + e];

                loss += side->weight[e] * off * off;
            }
    }
    return loss;
}

/* The counts of a field of a slice in a change. */
static int32_t *counts_of(const struct mf_tally *t, struct mf_tally_change *change, size_t d, size_t field,
                          size_t slice)
{
    size_t i = 0;

    while (i < change->n && (change->at[i].side != d || change->at[i].field != field || change->at[i].slice != slice))
        ++i;
    if (i == change->n) {
        change->at[change->n].side = d;
        change->at[change->n].field = field;
        change->at[change->n++].slice = slice;
        memset(change->count + i * t->entries, 0, t->entries * sizeof *change->count);
    }
    return change->count + i * t->entries;
}

/* The voxel's label, as it is, comes (sign 1) or goes. */
static void add_voxel(const struct mf_tally *t, size_t voxel, int sign, struct mf_tally_change *change)
{
    const uint8_t phase = mf_mutable_label(t->field, voxel);
    uint32_t at[3];

    if (!is_counted(t, phase)) return;
    mf_mutable_at(t->field, voxel, at);
    for (size_t d = 0; d < t->sides; ++d) {
        int32_t *count = counts_of(t, change, d, field_of(t, phase), at[d]);
        const struct mf_pixel p = pixel_at(t->field, d, at);

        count[0] += sign;
        if (t->surface) mf_tally_add_surface(t, &p, sign, count + t->surface);
        if (t->chords) mf_tally_add_chords(t, &p, sign, count + t->chords);
        if (!t->paths) continue;
        count[1] += sign;
        for (int k = 0; k < DIRECTIONS; ++k) add_runs(t, p, k, sign, count);
    }
}

static double energy_of(const struct mf_tally *t, const struct mf_tally_change *change)
{
    double energy = 0;

    for (size_t i = 0; i < change->n; ++i) {
        const struct mf_tally_side *side = &t->side[change->at[i].side];
        const int64_t *count = side->count + (change->at[i].field * side->slices + change->at[i].slice) * t->entries;
        const double *target = side->target + change->at[i].field * t->entries;
        const int32_t *more = change->count + i * t->entries;

        for (size_t e = 0; e < t->entries; ++e) {
            const double step = more[e] * side->inverse[e], off = (double)count[e] * side->inverse[e] - target[e];

            energy += side->weight[e] * step * (2 * off + step);
        }
    }
    return energy;
}

double mf_tally_energy(const struct mf_tally *t, const size_t voxel[2], const uint8_t phase[2],
                       struct mf_tally_change *change)
{
    change->n = 0;
    for (int s = 0; s < 2; ++s) {
        add_voxel(t, voxel[s], -1, change);
        mf_mutable_set(t->field, voxel[s], phase[!s]);
        add_voxel(t, voxel[s], 1, change);
    }
    for (int s = 0; s < 2; ++s) mf_mutable_set(t->field, voxel[s], phase[s]);
    return energy_of(t, change);
}

void mf_tally_apply(const struct mf_tally *t, const struct mf_tally_change *change)
{
    for (size_t i = 0; i < change->n; ++i) {
        const struct mf_tally_side *side = &t->side[change->at[i].side];
        int64_t *count = side->count + (change->at[i].field * side->slices + change->at[i].slice) * t->entries;

        for (size_t e = 0; e < t->entries; ++e) count[e] += change->count[i * t->entries + e];
    }
}
