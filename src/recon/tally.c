/* See tally.h. */
#include "src/recon/tally.h"

#include <string.h>

#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/recon/tally_impl.h"

enum { ALIGN = 64 };

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
        const struct mf_counted *row = counted[i].row;
        const struct mf_term *term = term_of(o, counted[i].kind);
        struct mf_tally_part *part = &t->part[t->parts];

        if (!term) continue;
        *part = (struct mf_tally_part){.row = row,
                                       .term = term,
                                       .first = t->entries,
                                       .blocks = 1,
                                       .values = mf_descriptor_entries(term->row, t->lag)};
        part->numbers = row->whole ? row->whole->numbers(t->lag) : part->values;
        if (row->whole && row->whole->pairs) part->blocks = mf_descriptor_parts(term->row, t->fields);
        MF_ASSERT(part->values <= part->numbers && part->blocks > 0 && (row->add || part->blocks == 1));
        t->pairs |= row->whole && row->whole->pairs;
        t->recounts |= !row->add;
        t->entries += part->blocks * part->numbers;
        ++t->parts;
    }
}

/* -- memory to count a slice in -- */

static size_t aligned(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* Numbers of a block, values before and after, pixels, and what the count wants. */
struct work {
    int64_t *number;
    double *before, *after;
    uint8_t *is;
    void *scratch;
};

static size_t work_of(const struct mf_tally *t, const struct mf_tally_part *part, size_t d, char *memory,
                      struct work *work)
{
    const size_t nu = t->field->dims[mf_slice_u(d)], nv = t->field->dims[mf_slice_v(d)];
    const size_t number = aligned(part->numbers * sizeof(int64_t)), value = aligned(part->values * sizeof(double));
    const size_t is = number + 2 * value, scratch = is + aligned(nu * nv);

    if (work)
        *work = (struct work){.number = (int64_t *)(void *)memory,
                              .before = (double *)(void *)(memory + number),
                              .after = (double *)(void *)(memory + number + value),
                              .is = (uint8_t *)memory + is,
                              .scratch = memory + scratch};
    return scratch + (part->row->whole->room ? aligned(part->row->whole->room(nu, nv)) : 0);
}

static size_t most_work(const struct mf_tally *t)
{
    size_t most = 0;

    for (size_t i = 0; i < t->parts; ++i)
        for (size_t d = 0; d < t->sides && t->part[i].row->whole; ++d) {
            const size_t bytes = work_of(t, &t->part[i], d, NULL, NULL);

            if (bytes > most) most = bytes;
        }
    return most;
}

static int take_work(struct mf_tally *t, int threads)
{
    t->work = most_work(t);
    t->threads = threads > 1 ? threads : 1;
    if (t->work == 0) return MF_OK;
    t->memory = take(t, (size_t)t->threads * t->work);
    return t->memory ? MF_OK : MF_MEMORY;
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
    return take_work(t, p->queue->threads);
}

void mf_tally_close(struct mf_tally *t)
{
    mf_arena_give(t->arena, t->memory);
    for (size_t d = 0; d < MF_SIDES; ++d) {
        mf_arena_give(t->arena, t->side[d].target);
        mf_arena_give(t->arena, t->side[d].weight);
        mf_arena_give(t->arena, t->side[d].inverse);
        mf_arena_give(t->arena, t->side[d].count);
    }
}

static size_t changes_room(const struct mf_tally *t)
{
    return aligned(MF_TALLY_CHANGES * t->entries * sizeof(int64_t));
}

size_t mf_tally_room(const struct mf_tally *t) { return changes_room(t) + t->work; }

/* -- what is aimed at -- */

/* Targets are rounded to float, because kernels compare in float. At the end of a run the remaining difference is as
 * small as this rounding. */
static void aim_block(struct mf_tally *t, const struct mf_polish *p, size_t d, const struct mf_tally_part *part,
                      size_t block, double share)
{
    const struct mf_target_side *side = mf_target_for(p->target, (enum mf_normal)d);
    const int pairs = part->row->whole && part->row->whole->pairs;
    const size_t first = part->first + block * part->numbers;
    struct mf_tally_side *s = &t->side[d];

    for (size_t e = 0; e < part->values; ++e) s->weight[first + e] = share * part->term->weight * part->term->weight;
    for (size_t f = 0; f < (pairs ? 1 : t->fields); ++f) {
        const size_t phase = mf_target_phase(p->target, t->fields, f);
        const double *values = mf_descriptor_values(part->term->row, side, t->lag, (int)(pairs ? block : phase));
        double *target = s->target + f * t->entries + first;

        for (size_t e = 0; e < part->values; ++e) target[e] = part->row->whole ? (float)values[e] : values[e];
    }
}

static void aim(struct mf_tally *t, const struct mf_polish *p, size_t d, const struct mf_tally_part *part, double share)
{
    if (!part->row->whole) part->row->inverse(t, d, t->side[d].inverse + part->first);
    for (size_t block = 0; block < part->blocks; ++block) aim_block(t, p, d, part, block, share);
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
    const size_t u = mf_slice_u(d), v = mf_slice_v(d);

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

    for (size_t i = 0; i < t->parts; ++i)
        if (!t->part[i].row->whole) t->part[i].row->count(t, p, count + t->part[i].first);
}

/* The pixel of a slice where both of its indices are 0. */
static struct mf_pixel first_of(const struct mf_tally *t, size_t d, size_t slice)
{
    uint32_t at[3] = {0};

    at[d] = (uint32_t)slice;
    return pixel_at(t->field, d, at);
}

static void count_pixels(const struct mf_tally *t, size_t d, size_t slice, int64_t *counts)
{
    uint32_t at[3];

    at[d] = (uint32_t)slice;
    for (size_t u = 0; u < t->field->dims[mf_slice_u(d)]; ++u)
        for (size_t v = 0; v < t->field->dims[mf_slice_v(d)]; ++v) {
            struct mf_pixel p;

            at[mf_slice_u(d)] = (uint32_t)u;
            at[mf_slice_v(d)] = (uint32_t)v;
            p = pixel_at(t->field, d, at);
            if (is_counted(t, *p.label)) count_pixel(t, d, &p, counts);
        }
}

static int is_of_pairs(const struct mf_tally_part *part) { return part->row->whole && part->row->whole->pairs; }

/* Block @p block of a part of a slice and field, from the labels. */
static void count_block(const struct mf_tally *t, const struct mf_tally_part *part, size_t d, size_t slice,
                        size_t field, size_t block, const struct work *work, int64_t *number)
{
    const struct mf_pixel p = first_of(t, d, slice);
    const struct mf_count_slice s = {work->is, p.nu, p.nv, t->lag, p.periodic};
    size_t a = t->fields == 1 ? 1 : field, b = MF_LABEL_OPEN;

    if (is_of_pairs(part)) mf_descriptor_pair(t->fields, block, &a, &b);
    for (size_t u = 0; u < p.nu; ++u) {
        const uint8_t *label = p.label + (ptrdiff_t)u * p.su;
        uint8_t *is = work->is + u * p.nv;

        for (size_t v = 0; v < p.nv; ++v, label += p.sv)
            is[v] = (uint8_t)(*label == a ? MF_COUNT_FIRST : *label == b ? MF_COUNT_SECOND : 0);
    }
    part->row->whole->count(&s, work->scratch, number);
}

/* Those that kernels count. */
static void count_whole(const struct mf_tally *t, size_t d, size_t slice, char *memory, int64_t *counts)
{
    for (size_t i = 0; i < t->parts; ++i) {
        const struct mf_tally_part *part = &t->part[i];
        struct work work;

        if (!part->row->whole) continue;
        (void)work_of(t, part, d, memory, &work);
        for (size_t f = 0; f < (is_of_pairs(part) ? 1 : t->fields); ++f)
            for (size_t block = 0; block < part->blocks; ++block)
                count_block(t, part, d, slice, f, block, &work,
                            counts + f * t->side[d].slices * t->entries + part->first + block * part->numbers);
    }
}

static void count_slice(const struct mf_tally *t, size_t d, size_t slice, char *memory)
{
    int64_t *counts = t->side[d].count + slice * t->entries;

    for (size_t f = 0; f < t->fields; ++f)
        memset(counts + f * t->side[d].slices * t->entries, 0, t->entries * sizeof *counts);
    count_pixels(t, d, slice, counts);
    count_whole(t, d, slice, memory, counts);
}

static void count_side(const struct mf_tally *t, size_t d, int threads)
{
    size_t taken = 0;

#pragma omp parallel num_threads(threads)
    {
        size_t slot;

#pragma omp atomic capture
        slot = taken++;
#pragma omp for schedule(dynamic, 1)
        for (size_t s = 0; s < t->side[d].slices; ++s)
            count_slice(t, d, s, t->work ? t->memory + slot * t->work : NULL);
    }
}

void mf_tally_count(struct mf_tally *t, int threads)
{
    for (size_t d = 0; d < t->sides; ++d) count_side(t, d, threads < t->threads ? threads : t->threads);
}

/* -- energies -- */

/* The counts of a field of a slice in a change. */
static int64_t *counts_of(const struct mf_tally *t, struct mf_tally_change *change, size_t d, size_t field,
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
        int64_t *count = counts_of(t, change, d, field_of(t, phase), at[d]);
        int64_t *pairs = t->pairs ? counts_of(t, change, d, 0, at[d]) : NULL;
        const struct mf_pixel p = pixel_at(t->field, d, at);

        for (size_t i = 0; i < t->parts; ++i) {
            const struct mf_tally_part *part = &t->part[i];

            if (part->row->add) part->row->add(t, &p, sign, (is_of_pairs(part) ? pairs : count) + part->first);
        }
    }
}

static const int64_t *known_of(const struct mf_tally *t, const struct mf_tally_change *change, size_t i)
{
    const struct mf_tally_side *side = &t->side[change->at[i].side];

    return side->count + (change->at[i].field * side->slices + change->at[i].slice) * t->entries;
}

static char *memory_of(const struct mf_tally *t, const struct mf_tally_change *change)
{
    return (char *)change->count + changes_room(t);
}

/* What no neighbours tell, from the labels as they would be. */
static void recount(const struct mf_tally *t, const struct mf_tally_change *change, size_t i,
                    const struct mf_tally_part *part)
{
    const size_t d = change->at[i].side;
    const int64_t *known = known_of(t, change, i) + part->first;
    int64_t *more = change->count + i * t->entries + part->first;
    struct work work;

    (void)work_of(t, part, d, memory_of(t, change), &work);
    count_block(t, part, d, change->at[i].slice, change->at[i].field, 0, &work, work.number);
    for (size_t e = 0; e < part->numbers; ++e) more[e] = work.number[e] - known[e];
}

static void recount_all(const struct mf_tally *t, const struct mf_tally_change *change)
{
    for (size_t i = 0; i < change->n; ++i)
        for (size_t k = 0; k < t->parts; ++k)
            if (!t->part[k].row->add) recount(t, change, i, &t->part[k]);
}

static void add_counts(const struct mf_tally *t, const struct mf_tally_change *change, size_t i,
                       const struct mf_tally_part *part, double *energy)
{
    const struct mf_tally_side *side = &t->side[change->at[i].side];
    const double *target = side->target + change->at[i].field * t->entries;
    const int64_t *count = known_of(t, change, i), *more = change->count + i * t->entries;

    for (size_t e = part->first; e < part->first + part->numbers; ++e) {
        const double step = (double)more[e] * side->inverse[e], off = (double)count[e] * side->inverse[e] - target[e];

        *energy += side->weight[e] * step * (2 * off + step);
    }
}

/* Values that are not what is counted: those before, and those after. */
static void add_values(const struct mf_tally *t, const struct mf_tally_change *change, size_t i,
                       const struct mf_tally_part *part, size_t block, double *energy)
{
    const struct mf_tally_side *side = &t->side[change->at[i].side];
    const size_t first = part->first + block * part->numbers;
    const double *target = side->target + change->at[i].field * t->entries + first, *weight = side->weight + first;
    const int64_t *count = known_of(t, change, i) + first, *more = change->count + i * t->entries + first;
    const struct mf_pixel p = first_of(t, change->at[i].side, change->at[i].slice);
    const struct mf_count_slice s = {NULL, p.nu, p.nv, t->lag, p.periodic};
    struct work work;
    int changes = 0;

    (void)work_of(t, part, change->at[i].side, memory_of(t, change), &work);
    for (size_t e = 0; e < part->numbers; ++e) {
        work.number[e] = count[e] + more[e];
        changes |= more[e] != 0;
    }
    if (!changes) return;
    part->row->whole->values(&s, count, work.before);
    part->row->whole->values(&s, work.number, work.after);
    for (size_t e = 0; e < part->values; ++e) {
        const double step = work.after[e] - work.before[e];

        *energy += weight[e] * step * (2 * (work.before[e] - target[e]) + step);
    }
}

static double energy_of(const struct mf_tally *t, const struct mf_tally_change *change)
{
    double energy = 0;

    for (size_t i = 0; i < change->n; ++i)
        for (size_t k = 0; k < t->parts; ++k) {
            const struct mf_tally_part *part = &t->part[k];
            const size_t blocks = is_of_pairs(part) && change->at[i].field > 0 ? 0 : part->blocks;

            if (!part->row->whole) add_counts(t, change, i, part, &energy);
            for (size_t b = 0; b < blocks && part->row->whole; ++b) add_values(t, change, i, part, b, &energy);
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
    if (t->recounts) recount_all(t, change);
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
