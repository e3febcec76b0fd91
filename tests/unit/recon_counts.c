/* Whole counts (kernels/slices/count.h), as swaps aim at them. Counts that follow swaps equal those of the labels, and
 * energies the change of the loss. The kernels of slices give its values. Cases are images and volumes, one field and
 * three, periodic and not. Windows do not fill a slice; phases vanish, and span. */
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/recon/tally_impl.h"
#include "tests/check.h"

enum { LAG = 4, PHASES = 3, SWAPS = 120, MOST = 12 * 13 * 11, ENTRIES = 64 };

static const enum mf_descriptor_kind kinds[] = {MF_EULER, MF_WINDOWS, MF_CLUSTER_FUNCTION, MF_CLUSTERS,
                                                MF_PATHS, MF_CHORDS,  MF_BOUNDARIES /* the last: not of one field */};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t dims[3], fields;
static int periodic;
static uint8_t label[MOST];
static uint64_t drawn;

static double uniform(void) { return mf_random_uniform(5, 0, drawn++); }

/* -- the loss by kernels -- */

struct setup {
    struct mf_queue *queue;
    struct mf_target target;
    struct mf_objective_opts objective;
    float x[PHASES][MOST]; /* where the phases are */
};

static struct mf_view slice_of(float *x, size_t d, size_t slice)
{
    const size_t ny = dims[1], nx = dims[2];

    if (d == MF_Z) return (struct mf_view){x + slice * ny * nx, 1, ny, nx, ny * nx, nx, 1};
    if (d == MF_Y) return (struct mf_view){x + slice * nx, 1, dims[0], nx, nx, ny * nx, 1};
    return (struct mf_view){x + slice, 1, dims[0], ny, 1, ny * nx, nx};
}

/* D of a part of a slice. */
static void measure(struct setup *s, const struct mf_descriptor *row, size_t part, size_t d, size_t slice,
                    double *value)
{
    size_t a = fields == 1 ? 1 : part, b = 0;
    const struct mf_slice_ops *ops;
    struct mf_slice_plan *plan;
    struct mf_view x, y;

    if (mf_descriptor_is(row, MF_OF_PAIRS)) mf_descriptor_pair(fields, part, &a, &b);
    x = slice_of(s->x[a], d, slice);
    y = slice_of(s->x[b], d, slice);
    CHECK(mf_descriptor_aim(row, &mf_backend_cpu, 1, &ops) == MF_OK);
    CHECK(mf_slices_plan(ops, s->queue,
                         &(struct mf_slice_desc){
                             .nu = x.nu, .nv = x.nv, .lag = LAG, .levels = 1, .count_max = 1, .periodic = periodic},
                         &plan) == MF_OK);
    memset(value, 0, ENTRIES * sizeof *value);
    if (ops->total)
        ops->total(plan, &x, value);
    else
        ops->cross(plan, &x, &y, value);
    ops->free(plan);
}

static double term_loss(struct setup *s, const struct mf_term *term, size_t d, size_t slice)
{
    const size_t entries = mf_descriptor_entries(term->row, LAG);
    double value[ENTRIES], loss = 0;

    for (size_t part = 0; part < mf_descriptor_parts(term->row, fields); ++part) {
        const double *aim = mf_descriptor_values(term->row, &s->target.side[0], LAG, (int)(fields == 1 ? 1 : part));

        measure(s, term->row, part, d, slice, value);
        for (size_t e = 0; e < entries; ++e) loss += (value[e] - aim[e]) * (value[e] - aim[e]);
    }
    return loss * term->weight * term->weight;
}

static double loss_of(struct setup *s)
{
    const size_t voxels = dims[0] * dims[1] * dims[2], sides = dims[0] > 1 ? MF_SIDES : 1;
    double loss = 0;

    for (size_t f = 0; f < PHASES; ++f)
        for (size_t v = 0; v < voxels; ++v) s->x[f][v] = label[v] == f;
    for (size_t d = 0; d < sides; ++d)
        for (size_t slice = 0; slice < dims[d]; ++slice)
            for (size_t t = 0; t < s->objective.terms; ++t)
                loss += term_loss(s, &s->objective.term[t], d, slice) / (double)(sides * dims[d]);
    return loss;
}

/* -- counts -- */

/* Counts that followed swaps are those of the labels. */
static void check_counts(struct mf_tally *t, const struct mf_tally *fresh)
{
    for (size_t d = 0; d < t->sides; ++d)
        CHECK(memcmp(t->side[d].count, fresh->side[d].count,
                     t->fields * t->side[d].slices * t->entries * sizeof(int64_t)) == 0);
}

/* Two voxels of two phases; often neighbours. */
static void choose(size_t voxel[2])
{
    const size_t n = dims[0] * dims[1] * dims[2];

    do {
        voxel[0] = (size_t)(uniform() * (double)n);
        voxel[1] =
            uniform() < 0.6 ? (size_t)(uniform() * (double)n) : (voxel[0] + 1 + (size_t)(2 * uniform()) * dims[2]) % n;
    } while (label[voxel[0]] == label[voxel[1]]);
}

static void swap_some(struct setup *s, struct mf_tally *t, struct mf_tally *fresh, struct mf_tally_change *change)
{
    double loss = loss_of(s);

    for (int i = 0; i < SWAPS; ++i) {
        size_t voxel[2];
        uint8_t phase[2];
        double energy, now;

        choose(voxel);
        for (int k = 0; k < 2; ++k) phase[k] = label[voxel[k]];
        energy = mf_tally_energy(t, voxel, phase, change);
        for (int k = 0; k < 2; ++k) CHECK(mf_mutable_label(t->field, voxel[k]) == phase[k]);
        if (i % 5 == 4) continue; /* looked at, and left */
        mf_tally_apply(t, change);
        for (int k = 0; k < 2; ++k) {
            label[voxel[k]] = phase[!k];
            mf_mutable_set(t->field, voxel[k], phase[!k]);
        }
        mf_tally_count(fresh, 3);
        check_counts(t, fresh);
        now = loss_of(s);
        CHECK_NEAR(now - loss, energy, 1e-9 * loss); /* values of kernels have 38 bits */
        loss = now;
    }
}

static void aim_at(struct setup *s, const double *values)
{
    s->target = (struct mf_target){.phases = PHASES, .lag = LAG, .sides = 1};
    s->target.side[0].levels = 1;
    s->objective = (struct mf_objective_opts){.level_weight = {1}, .periodic = periodic};
    for (size_t k = 0; k < KINDS; ++k) {
        const struct mf_descriptor *row = &mf_descriptors[kinds[k]];

        if (fields == 1 && mf_descriptor_is(row, MF_OF_PAIRS)) continue;
        s->target.side[0].more[kinds[k] - MF_FURTHER] = (double *)(uintptr_t)values;
        s->objective.term[s->objective.terms++] = (struct mf_term){row, 1 + 0.5 * (double)k, 0};
    }
}

static void check_field(struct setup *s, const double rare[PHASES - 1])
{
    static const size_t m[MF_SIDES] = {1, 1, 1};
    struct mf_polish polish = {
        .fields = fields, .phases = PHASES, .queue = s->queue, .target = &s->target, .objective = &s->objective};
    struct mf_tally_change change;
    struct mf_mutable field;
    struct mf_tally tally, fresh;

    CHECK(mf_mutable_open(&field, s->queue->host, dims, PHASES, periodic, LAG) == MF_OK);
    for (size_t v = 0; v < field.voxels; ++v) {
        const double u = uniform();

        label[v] = u < rare[0] ? 0 : u < rare[0] + rare[1] ? 2 : 1;
    }
    label[0] = 0;
    mf_mutable_begin(&field);
    for (size_t z = 0; z < dims[0]; ++z) mf_mutable_put(&field, z, label + z * dims[1] * dims[2]);
    CHECK(mf_tally_open(&tally, &polish, &field) == MF_OK && mf_tally_open(&fresh, &polish, &field) == MF_OK);
    CHECK(tally.recounts && tally.pairs == (fields > 1));
    change.count = malloc(mf_tally_room(&tally));
    mf_tally_aim(&tally, &polish, m);
    mf_tally_count(&tally, 1);
    swap_some(s, &tally, &fresh, &change);
    free(change.count);
    mf_tally_close(&fresh);
    mf_tally_close(&tally);
    mf_mutable_close(&field);
}

int main(void)
{
    static const size_t extents[][3] = {{1, 8, 8}, {1, 11, 13}, {9, 8, 10}};
    static const double rare[][PHASES - 1] = {{0.01, 0.01}, {0.45, 0.1}, {0.3, 0.3}};
    static double values[PHASES * ENTRIES];
    static struct setup s;
    struct mf_arena *arena;

    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) values[i] = (float)uniform(); /* as kernels have them */
    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&s.queue, 0, 2, 1, arena, arena) == MF_OK);
    for (periodic = 0; periodic < 2; ++periodic)
        for (fields = 1; fields <= PHASES; fields += 2)
            for (size_t k = 0; k < sizeof extents / sizeof *extents; ++k) {
                memcpy(dims, extents[k], sizeof dims);
                aim_at(&s, values);
                check_field(&s, rare[k]);
            }
    mf_backend_cpu.queue_close(s.queue);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    return failures != 0;
}
