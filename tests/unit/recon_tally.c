/* Counts that follow swaps equal those of the labels, voxel by voxel, and the energies the change of the loss. Cases
 * are images and volumes, one field and three, periodic and not, slices shared or not, lines that close on
 * themselves. */
#include "src/recon/tally.h"

#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { LAG = 3, PHASES = 3, PATHS = 2 + 4 * LAG, ENTRIES = PATHS + 8 * LAG, SWAPS = 200, MOST = 9 * 9 * 9 };

static const int along[4][2] = {{1, 1}, {1, -1}, {0, 1}, {1, 0}};

static size_t dims[3];
static int periodic;
static uint8_t label[MOST];
static uint64_t drawn;

static double uniform(void) { return mf_random_uniform(3, 0, drawn++); }

static size_t extent(size_t d, int v) { return v ? dims[d == MF_X ? 1 : 2] : dims[d == MF_Z ? 1 : 0]; }

/* The label at a place of a slice; 255 outside. */
static uint8_t at(size_t d, size_t slice, ptrdiff_t u, ptrdiff_t v)
{
    const ptrdiff_t nu = (ptrdiff_t)extent(d, 0), nv = (ptrdiff_t)extent(d, 1);
    size_t p[3];

    if (!periodic && (u < 0 || v < 0 || u >= nu || v >= nv)) return 255;
    p[d] = slice;
    p[d == MF_Z ? 1 : 0] = (size_t)((u + nu) % nu);
    p[d == MF_X ? 1 : 2] = (size_t)((v + 2 * nv) % nv);
    return label[(p[0] * dims[1] + p[1]) * dims[2] + p[2]];
}

/* Runs of n pixels of a phase along a direction, and how many there could be. */
static long runs(size_t d, size_t slice, uint8_t phase, int n, const int e[2], long *all)
{
    long count = 0;

    *all = 0;
    for (ptrdiff_t u = 0; u < (ptrdiff_t)extent(d, 0); ++u)
        for (ptrdiff_t v = 0; v < (ptrdiff_t)extent(d, 1); ++v) {
            int in = 1, inside = 1;

            for (int k = 0; k < n; ++k) {
                in &= at(d, slice, u + k * e[0], v + k * e[1]) == phase;
                inside &= at(d, slice, u + k * e[0], v + k * e[1]) != 255;
            }
            *all += inside;
            count += in;
        }
    return count;
}

/* The pixel @p k from one along an axis: its label, 255 outside. */
static uint8_t along_axis(size_t d, size_t slice, ptrdiff_t u, ptrdiff_t v, int axis, ptrdiff_t k)
{
    return at(d, slice, axis ? u : u + k, axis ? v + k : v);
}

static int is_surface(size_t d, size_t slice, uint8_t phase, ptrdiff_t u, ptrdiff_t v)
{
    int beside = 0;

    for (int axis = 0; axis < 2; ++axis)
        for (int step = -1; step <= 1; step += 2) {
            const uint8_t other = along_axis(d, slice, u, v, axis, step);

            beside |= other != phase && other != 255;
        }
    return at(d, slice, u, v) == phase && beside;
}

/* How a pixel and the one at r along an axis meet. 0: both at the surface; 1: one there, one of another phase. */
static int meets(size_t d, size_t slice, uint8_t phase, ptrdiff_t u, ptrdiff_t v, int axis, ptrdiff_t r, int how)
{
    const ptrdiff_t p = axis ? u : u + r, q = axis ? v + r : v;
    const int here = is_surface(d, slice, phase, u, v), there = is_surface(d, slice, phase, p, q);

    return how ? (here && at(d, slice, p, q) != phase) + (there && at(d, slice, u, v) != phase) : here && there;
}

/* Does a chord of n pixels begin there? */
static int is_chord(size_t d, size_t slice, uint8_t phase, ptrdiff_t u, ptrdiff_t v, int axis, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; ++k)
        if (along_axis(d, slice, u, v, axis, k) != phase) return 0;
    return along_axis(d, slice, u, v, axis, -1) != phase && along_axis(d, slice, u, v, axis, n) != phase;
}

/* Entry i of those along the axes, and how many there could be. */
static long along_axes(size_t d, size_t slice, uint8_t phase, int i, long *all)
{
    const int chord = i >= 4 * LAG, how = i / (2 * LAG), axis = chord ? i / (2 * LAG) % 2 : i / LAG % 2;
    const ptrdiff_t r = i % LAG, n = i % (2 * LAG) + 1;
    long count = 0;

    *all = 0;
    for (ptrdiff_t u = 0; u < (ptrdiff_t)extent(d, 0); ++u)
        for (ptrdiff_t v = 0; v < (ptrdiff_t)extent(d, 1); ++v) {
            const ptrdiff_t first = chord ? -1 : 0, last = chord ? n : r;

            if (along_axis(d, slice, u, v, axis, first) == 255 || along_axis(d, slice, u, v, axis, last) == 255)
                continue;
            *all += chord || how == 0 ? 1 : 2;
            count += chord ? is_chord(d, slice, phase, u, v, axis, n) : meets(d, slice, phase, u, v, axis, r, how);
        }
    return count;
}

static void check_slice(const struct mf_tally *t, size_t d, size_t slice, size_t field, double *loss)
{
    const struct mf_tally_side *side = &t->side[d];
    const int64_t *count = side->count + (field * side->slices + slice) * t->entries;
    const uint8_t phase = t->fields == 1 ? 1 : (uint8_t)field;

    for (size_t i = 0; i < t->entries; ++i) {
        static const int none[2] = {0, 0};
        const int k = (int)((i + 2) % 4), n = i < 2 ? 1 : 2 * (int)((i - 2) / 4) + 3;
        long all, want = i < PATHS ? runs(d, slice, phase, n, i < 2 ? none : along[k], &all)
                                   : along_axes(d, slice, phase, (int)i - PATHS, &all);
        const double off = (all ? (double)want / (double)all : 0) - side->target[field * t->entries + i];

        CHECK(count[i] == want);
        CHECK_NEAR(side->inverse[i] * (double)all, all ? 1 : 0, 1e-12);
        *loss += side->weight[i] * off * off;
    }
}

static double check_counts(const struct mf_tally *t)
{
    double loss = 0;

    for (size_t d = 0; d < t->sides; ++d)
        for (size_t f = 0; f < t->fields; ++f)
            for (size_t s = 0; s < t->side[d].slices; ++s) check_slice(t, d, s, f, &loss);
    return loss;
}

/* Two voxels of two phases; often in a slice, now and then neighbours. */
static void choose(size_t voxel[2])
{
    const size_t n = dims[0] * dims[1] * dims[2];

    do {
        voxel[0] = (size_t)(uniform() * (double)n);
        voxel[1] = uniform() < 0.5 ? (size_t)(uniform() * (double)n) : (voxel[0] + 1 + (size_t)(3 * uniform())) % n;
    } while (label[voxel[0]] == label[voxel[1]]);
}

/* The part of the loss that the counts are. */
static double loss_of(const struct mf_tally *t)
{
    double loss = 0;

    for (size_t d = 0; d < t->sides; ++d) {
        const struct mf_tally_side *side = &t->side[d];

        for (size_t i = 0; i < t->fields * side->slices * t->entries; ++i) {
            const size_t e = i % t->entries, field = i / t->entries / side->slices;
            const double off = (double)side->count[i] * side->inverse[e] - side->target[field * t->entries + e];

            loss += side->weight[e] * off * off;
        }
    }
    return loss;
}

static void swap_some(const struct mf_tally *t, struct mf_tally_change *change)
{
    double loss = check_counts(t);

    CHECK_NEAR(loss_of(t), loss, 1e-12 * loss);
    for (int i = 0; i < SWAPS; ++i) {
        size_t voxel[2];
        uint8_t phase[2];
        double energy;

        choose(voxel);
        for (int s = 0; s < 2; ++s) phase[s] = label[voxel[s]];
        energy = mf_tally_energy(t, voxel, phase, change);
        for (int s = 0; s < 2; ++s) CHECK(mf_mutable_label(t->field, voxel[s]) == phase[s]);
        if (i % 4 == 3) continue; /* looked at, and left */
        mf_tally_apply(t, change);
        for (int s = 0; s < 2; ++s) {
            label[voxel[s]] = phase[!s];
            mf_mutable_set(t->field, voxel[s], phase[!s]);
        }
        CHECK_NEAR(loss_of(t), loss + energy, 1e-12 * loss);
        loss = loss_of(t);
        if (i % 40 == 0) check_counts(t);
    }
    CHECK_NEAR(check_counts(t), loss, 1e-12 * loss);
}

static void check_field(size_t nz, size_t ny, size_t nx, size_t fields, double rare)
{
    static double fraction[PHASES], path[PHASES * (1 + 4 * LAG)];
    static int64_t counts[MF_TALLY_CHANGES * ENTRIES + 8];
    struct mf_target target = {.phases = PHASES, .lag = LAG, .sides = 1};
    struct mf_objective_opts objective = {.terms = 4, .level_weight = {0.5}, .periodic = periodic};
    struct mf_tally_change change = {.count = counts};
    struct mf_polish polish = {.fields = fields, .phases = PHASES, .target = &target, .objective = &objective};
    struct mf_queue queue = {0};
    const size_t m[MF_SIDES] = {10, 20, 30};
    struct mf_mutable field;
    struct mf_tally tally;

    dims[0] = nz;
    dims[1] = ny;
    dims[2] = nx;
    CHECK(mf_arena_open(&queue.host, mf_backend_cpu.mem, 0) == MF_OK);
    polish.queue = &queue;
    objective.term[0].row = &mf_descriptors[MF_LINEAL_EXACT];
    objective.term[0].weight = 2;
    objective.term[1].row = &mf_descriptors[MF_FRACTION];
    objective.term[1].weight = 3;
    objective.term[2].row = &mf_descriptors[MF_SURFACE];
    objective.term[2].weight = 1.5;
    objective.term[3].row = &mf_descriptors[MF_CHORDS];
    objective.term[3].weight = 4;
    for (size_t i = 0; i < sizeof path / sizeof *path; ++i) path[i] = 0.5 / (double)(i + 1);
    for (size_t i = 0; i < PHASES; ++i) fraction[i] = 0.3 + 0.01 * (double)i;
    target.side[0].levels = 1;
    target.side[0].fraction = fraction;
    target.side[0].more[MF_MORE_LINEAL_EXACT] = path;
    target.side[0].more[MF_MORE_SURFACE] = target.side[0].more[MF_MORE_CHORDS] = path; /* as good as any */
    CHECK(mf_mutable_open(&field, queue.host, dims, PHASES, periodic, LAG) == MF_OK);
    for (size_t v = 0; v < field.voxels; ++v) label[v] = uniform() > rare ? 1 : (uint8_t)(3 * uniform());
    label[0] = 0;
    mf_mutable_begin(&field);
    for (size_t z = 0; z < nz; ++z) mf_mutable_put(&field, z, label + z * ny * nx);
    CHECK(mf_tally_wanted(&objective, nz > 1) && mf_tally_open(&tally, &polish, &field) == MF_OK);
    mf_tally_aim(&tally, &polish, m);
    CHECK_NEAR(tally.side[0].weight[1], 0.25 * 4 / ((double)(nz > 1 ? 3 * nz : 1) * 10), 1e-15);
    CHECK_NEAR(tally.side[0].weight[0], tally.side[0].weight[1] * 9 / 4, 1e-15);
    CHECK(tally.entries == ENTRIES && sizeof counts >= mf_tally_room(&tally));
    mf_tally_count(&tally, 2);
    swap_some(&tally, &change);
    mf_tally_close(&tally);
    mf_mutable_close(&field);
    CHECK(mf_arena_live(queue.host) == 0);
    mf_arena_close(queue.host);
}

/* Whatever is counted can be aimed at by swaps; in an image they leave the volume fractions as they are. */
static void check_rows(void)
{
    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        const struct mf_objective_opts objective = {.terms = 1, .term = {{&mf_descriptors[i], 1}}};

        CHECK(mf_tally_wanted(&objective, 0) == mf_descriptor_is(&mf_descriptors[i], MF_IS_COUNTED));
        CHECK(mf_tally_wanted(&objective, 1) ==
              (mf_descriptor_is(&mf_descriptors[i], MF_IS_COUNTED) || i == MF_FRACTION));
    }
}

int main(void)
{
    check_rows();
    for (periodic = 0; periodic < 2; ++periodic)
        for (size_t fields = 1; fields <= 3; fields += 2) {
            check_field(1, 6, 6, fields, 0.05); /* rings that are as short as the longest run but one */
            check_field(1, 6, 9, fields, 0.1);
            check_field(1, 8, 9, fields, 0.8);
            check_field(6, 7, 8, fields, 0.3);
        }
    return failures != 0;
}
