/* See tally.h. */
#include "src/recon/tally.h"

#include <string.h>

#include "src/base/err.h"
#include "src/recon/tally_impl.h"

enum { CHANGES = 12 };

/* What is counted, in the order of the entries. */
#define MF_ROW(ID, family, ...) {MF_##ID, &mf_counted_##family},

static const struct {
    enum mf_descriptor_kind kind;
    const struct mf_counted *row;
} counted[MF_TALLY_PARTS] = {{MF_FRACTION, &mf_counted_frac}, MF_LIST_COUNTED(MF_ROW)};

/* The term that aims at it; NULL: none does. */
static const struct mf_term *term_of(const struct mf_objective_opts *o, enum mf_descriptor_kind kind)
{
    for (size_t t = 0; t < o->terms; ++t)
        if (o->term[t].row->kind == kind && o->term[t].weight > 0) return &o->term[t];
    return NULL;
}

int mf_tally_wanted(const struct mf_objective_opts *o, int volume)
{
    for (size_t i = 0; i < MF_TALLY_PARTS; ++i)
        if ((volume || !counted[i].row->of_volumes) && term_of(o, counted[i].kind)) return 1;
    return 0;
}

/* -- memory -- */

static void *take(struct mf_tally *t, size_t bytes) { return mf_arena_take(t->arena, bytes, "annealing"); }

static void place(struct mf_tally *t, const struct mf_objective_opts *o)
{
    for (size_t i = 0; i < MF_TALLY_PARTS; ++i) {
        const struct mf_term *term = term_of(o, counted[i].kind);

        if (!term) continue;
        t->part[t->parts++] = (struct mf_tally_part){counted[i].row, term, t->entries};
        t->entries += mf_descriptor_entries(term->row, t->lag);
    }
}

int mf_tally_open(struct mf_tally *t, const struct mf_polish *p, struct mf_mutable *field)
{
    *t = (struct mf_tally){.arena = p->queue->host, .field = field, .lag = p->target->lag, .fields = p->fields};
    t->sides = field->dims[0] > 1 ? MF_SIDES : 1;
    place(t, p->objective);
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

static void aim(struct mf_tally *t, const struct mf_polish *p, size_t d, const struct mf_tally_part *part, double share)
{
    const struct mf_target_side *side = mf_target_for(p->target, (enum mf_normal)d);
    const size_t n = mf_descriptor_entries(part->term->row, t->lag);
    struct mf_tally_side *s = &t->side[d];

    part->row->inverse(t, d, s->inverse + part->first);
    for (size_t e = 0; e < n; ++e) s->weight[part->first + e] = share * part->term->weight * part->term->weight;
    for (size_t f = 0; f < t->fields; ++f) {
        const size_t phase = t->fields == 1 && p->target->phases > 1 ? 1 : f;

        memcpy(s->target + f * t->entries + part->first,
               mf_descriptor_values(part->term->row, side, t->lag, (int)phase), n * sizeof(double));
    }
}

void mf_tally_aim(struct mf_tally *t, const struct mf_polish *p, const size_t *m)
{
    const double level = p->objective->level_weight[0];

    for (size_t d = 0; d < t->sides; ++d) {
        const double share = level * level / ((double)t->sides * (double)t->side[d].slices * (double)m[d]);

        for (size_t i = 0; i < t->parts; ++i) aim(t, p, d, &t->part[i], share);
    }
}

/* -- counting -- */

static struct mf_pixel pixel_at(const struct mf_mutable *m, size_t d, const uint32_t at[3])
{
    const size_t u = mf_tally_u(d), v = mf_tally_v(d);

    return (struct mf_pixel){.label = m->slice[d][at[d]] + at[u] * m->step[d] + at[v],
                             .u = at[u],
                             .v = at[v],
                             .nu = m->dims[u],
                             .nv = m->dims[v],
                             .su = (ptrdiff_t)m->step[d],
                             .sv = 1,
                             .periodic = m->periodic};
}

static size_t field_of(const struct mf_tally *t, uint8_t phase) { return t->fields == 1 ? 0 : phase; }

static int is_counted(const struct mf_tally *t, uint8_t phase) { return t->fields > 1 || phase == 1; }

static void count_pixel(const struct mf_tally *t, size_t d, const struct mf_pixel *p, int64_t *counts)
{
    int64_t *count = counts + field_of(t, *p->label) * t->side[d].slices * t->entries;

    for (size_t i = 0; i < t->parts; ++i) t->part[i].row->count(t, p, count + t->part[i].first);
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
        for (size_t s = 0; s < t->side[d].slices; ++s)
            if (t->field->slice[d][s]) count_slice(t, d, s);
    }
}

/* -- energies -- */

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

        for (size_t i = 0; i < t->parts; ++i) t->part[i].row->add(t, &p, sign, count + t->part[i].first);
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
