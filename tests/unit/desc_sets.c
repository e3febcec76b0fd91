/* Statistics of sets are those that plain loops over all pairs, runs and paths find. They are equal on any number of
 * ranks, and joined halves are the whole. Equal sets do not differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/desc/set_measures.h"
#include "tests/check.h"

enum { SAMPLES = 7, VOXELS = 12 * 9 * 8, LAG = 4, WINDOW = 2 * LAG - 1 };

static struct mf_arena *arena;
static struct mf_queue *queue;
static uint8_t sample[SAMPLES][VOXELS];

static const struct mf_set_shape shapes[] = {{.ndim = 2, .dims = {1, 12, 9}, .phases = 2, .lag = LAG, .periodic = 1},
                                             {.ndim = 2, .dims = {1, 9, 12}, .phases = 3, .lag = LAG},
                                             {.ndim = 3, .dims = {12, 9, 8}, .phases = 2, .lag = LAG},
                                             {.ndim = 3, .dims = {8, 12, 9}, .phases = 3, .lag = LAG, .periodic = 1}};

/* ---- plain loops ---- */

/* 1, 0: the voxel is of the phase or not; -1: outside. */
static int is(const struct mf_set_shape *s, const uint8_t *x, int phase, const long at[3])
{
    size_t i = 0;

    for (int a = 0; a < 3; ++a) {
        const long n = (long)s->dims[a];

        if (!s->periodic && (at[a] < 0 || at[a] >= n)) return -1;
        i = i * s->dims[a] + (size_t)((at[a] % n + n) % n);
    }
    return x[i] == phase;
}

static void place(const struct mf_set_shape *s, size_t i, long at[3])
{
    at[0] = (long)(i / (s->dims[1] * s->dims[2]));
    at[1] = (long)(i / s->dims[2] % s->dims[1]);
    at[2] = (long)(i % s->dims[2]);
}

static size_t voxels(const struct mf_set_shape *s) { return s->dims[0] * s->dims[1] * s->dims[2]; }

/* Share of places at which voxels at + k by, k = 0 .. n - 1, are of the phase; @p unlike: not all equal. */
static double share(const struct mf_set_shape *s, const uint8_t *x, int phase, const long by[3], long n, int unlike)
{
    double hits = 0, places = 0;

    for (size_t i = 0; i < voxels(s); ++i) {
        long at[3], ones = 0, inside = 1;

        for (long k = 0; k < n; ++k) {
            place(s, i, at);
            for (int a = 0; a < 3; ++a) at[a] += k * by[a];
            inside &= is(s, x, phase, at) >= 0;
            ones += is(s, x, phase, at) == 1;
        }
        places += (double)inside;
        hits += inside && ones == (unlike ? 1 : n);
    }
    return hits / places;
}

/* Spreads from one end of the axis, again and again over all voxels. */
static int spans(const struct mf_set_shape *s, const uint8_t *x, int phase, int axis)
{
    struct mf_set_shape box = *s;
    uint8_t reached[VOXELS] = {0};
    int more = 1, across = 0;

    box.periodic = 0;
    while (more) {
        more = 0;
        for (size_t i = 0; i < voxels(s); ++i) {
            long at[3];
            int from;

            place(s, i, at);
            from = at[axis] == 0;
            for (int k = 0; k < 6; ++k) {
                long near[3] = {at[0], at[1], at[2]};

                near[k / 2] += k % 2 ? 1 : -1;
                from |= is(&box, reached, 1, near) == 1;
            }
            if (!from || reached[i] || x[i] != phase) continue;
            reached[i] = 1;
            more = 1;
            across |= at[axis] + 1 == (long)s->dims[axis];
        }
    }
    return across;
}

/* ---- the same of the accumulator ---- */

static void check_window(const struct mf_set_shape *s, const uint8_t *x, int phase, int normal, const double *value)
{
    for (int k = 0; k < WINDOW * WINDOW; ++k) {
        long by[3] = {0};

        by[normal == 0 ? 1 : 0] = k / WINDOW - LAG + 1;
        by[normal == 2 ? 1 : 2] = k % WINDOW - LAG + 1;
        CHECK_NEAR(value[k], share(s, x, phase, by, 2, 0), 1e-12);
    }
}

static void check_axes(const struct mf_set_shape *s, const uint8_t *x, int phase, const struct mf_set_measures *m,
                       size_t part)
{
    double lineal[3 * LAG], interface = 0;

    mf_set_measures_mean(m, part, MF_SET_LINEAL, lineal);
    for (int a = 3 - s->ndim; a < 3; ++a) {
        const double *value = lineal + (a - 3 + s->ndim) * (LAG - 1);
        const long by[3] = {a == 0, a == 1, a == 2};

        for (int n = 2; n <= LAG; ++n) CHECK_NEAR(value[n - 2], share(s, x, phase, by, n, 0), 1e-12);
        interface += share(s, x, phase, by, 2, 1);
        CHECK(mf_set_measures_last(m, part, (enum mf_set_measure)(MF_SET_PERCOLATES_Z + a)) == spans(s, x, phase, a));
    }
    CHECK_NEAR(mf_set_measures_last(m, part, MF_SET_INTERFACE), interface, 1e-9);
}

static void check_sample(const struct mf_set_shape *s, const uint8_t *x)
{
    struct mf_set_measures *m = NULL;
    double window[3 * WINDOW * WINDOW];

    CHECK(mf_set_measures_begin(queue, s, &m) == MF_OK);
    CHECK(mf_set_measures_add(m, x) == MF_OK);
    for (size_t part = 0; part < mf_set_measures_parts(m); ++part) {
        const int phase = (int)(part + mf_set_measures_first(m));

        CHECK_NEAR(mf_set_measures_last(m, part, MF_SET_FRACTION), share(s, x, phase, (long[3]){0}, 1, 0), 1e-12);
        mf_set_measures_mean(m, part, MF_SET_S2, window);
        for (int normal = 0; normal < (s->ndim == 3 ? 3 : 1); ++normal)
            check_window(s, x, phase, normal, window + normal * WINDOW * WINDOW);
        check_axes(s, x, phase, m, part);
    }
    mf_set_measures_end(m);
}

/* A bar that begins at one end of an axis reaches the other if it is whole. */
static void check_bars(const struct mf_set_shape *s, int axis)
{
    static uint8_t x[VOXELS];
    struct mf_set_measures *m = NULL;

    CHECK(mf_set_measures_begin(queue, s, &m) == MF_OK);
    for (size_t length = s->dims[axis] - 1; length <= s->dims[axis]; ++length) {
        for (size_t i = 0; i < voxels(s); ++i) {
            long at[3];

            place(s, i, at);
            x[i] = at[axis] < (long)length && at[(axis + 1) % 3] == 0 && at[(axis + 2) % 3] == 0;
        }
        CHECK(mf_set_measures_add(m, x) == MF_OK);
        CHECK(mf_set_measures_last(m, mf_set_measures_parts(m) > 1,
                                   (enum mf_set_measure)(MF_SET_PERCOLATES_Z + axis)) == (length == s->dims[axis]));
    }
    mf_set_measures_end(m);
}

/* ---- sets ---- */

/* Adds samples first, first + step, .. */
static struct mf_set_measures *set_of(const struct mf_set_shape *s, int first, int step)
{
    struct mf_set_measures *m = NULL;

    CHECK(mf_set_measures_begin(queue, s, &m) == MF_OK);
    for (int i = first; i < SAMPLES; i += step) CHECK(mf_set_measures_add(m, sample[i]) == MF_OK);
    return m;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int same_bits(const struct mf_set_row *a, const struct mf_set_row *b)
{
    return a->measure == b->measure && a->part == b->part && bits_of(a->real) == bits_of(b->real) &&
           bits_of(a->difference) == bits_of(b->difference) && bits_of(a->spread) == bits_of(b->spread);
}

static void check_set(const struct mf_comm *comm, const struct mf_set_shape *s)
{
    struct mf_set_measures *all = set_of(s, 0, 1), *own = set_of(s, comm->rank, comm->size);
    struct mf_set_measures *even = set_of(s, 0, 2), *odd = set_of(s, 1, 2);
    struct mf_set_row row[64], other[64];
    double mean = 0, square = 0, variance;

    mf_set_measures_sum(comm, own);
    mf_set_compare(all, even, row);
    mf_set_compare(own, even, other);
    for (size_t r = 0; r < mf_set_measures_rows(all); ++r) CHECK(same_bits(&row[r], &other[r]));
    mf_set_compare(even, odd, other);
    CHECK(other[0].difference != 0);
    mf_set_measures_join(even, odd);
    CHECK(mf_set_measures_samples(even) == SAMPLES);
    mf_set_compare(all, even, row);
    for (size_t r = 0; r < mf_set_measures_rows(all); ++r) CHECK(row[r].difference == 0);
    for (int i = 0; i < SAMPLES; ++i) {
        const double f = share(s, sample[i], s->phases == 2, (long[3]){0}, 1, 0);

        mean += f / SAMPLES;
        square += f * f;
    }
    variance = (square - SAMPLES * mean * mean) / (SAMPLES - 1);
    CHECK_NEAR(row[0].real, mean, 1e-12);
    CHECK_NEAR(row[0].deviation[0], sqrt(variance), 1e-6);
    CHECK_NEAR(row[0].spread, 0, 1e-12);
    mf_set_measures_end(all);
    mf_set_measures_end(own);
    mf_set_measures_end(even);
    mf_set_measures_end(odd);
}

/* A grey ramp: its moments and its correlation are known. A brighter one is one bin farther right. */
static void check_values(void)
{
    const double low[1] = {0}, high[1] = {255};
    const struct mf_set_shape s = {
        .ndim = 2, .dims = {1, 8, 16}, .lag = LAG, .channels = 1, .periodic = 1, .low = low, .high = high};
    struct mf_set_measures *a = NULL, *b = NULL;
    struct mf_set_row row[4];
    double curve[2 * LAG];
    uint8_t x[8 * 16];

    CHECK(mf_set_measures_begin(queue, &s, &a) == MF_OK && mf_set_measures_begin(queue, &s, &b) == MF_OK);
    for (size_t i = 0; i < sizeof x; ++i) x[i] = (uint8_t)(100 + i / 16 % 2 * 10);
    CHECK(mf_set_measures_add(a, x) == MF_OK);
    for (size_t i = 0; i < sizeof x; ++i) ++x[i];
    CHECK(mf_set_measures_add(b, x) == MF_OK);
    CHECK(mf_set_measures_rows(a) == 4);
    mf_set_compare(a, b, row);
    CHECK_NEAR(row[0].real, 105, 1e-6);
    CHECK_NEAR(row[0].difference, 1, 1e-6);
    CHECK_NEAR(row[1].made, 5, 1e-6);
    CHECK_NEAR(row[2].difference, 1, 1e-9);
    CHECK_NEAR(row[3].difference, 0, 1e-9);
    mf_set_measures_mean(a, 0, MF_SET_AUTOCORRELATION, curve);
    for (int r = 0; r < LAG - 1; ++r) {
        CHECK_NEAR(curve[r], r % 2 ? 1 : -1, 1e-9);
        CHECK_NEAR(curve[LAG - 1 + r], 1, 1e-9);
    }
    mf_set_measures_end(a);
    mf_set_measures_end(b);
}

static void check_refusals(void)
{
    struct mf_set_shape s = shapes[0];
    struct mf_set_measures *m = NULL;

    s.lag = 5;
    CHECK(mf_set_measures_begin(queue, &s, &m) == MF_USAGE && strstr(mf_err_text(), "largest is 4"));
    s.lag = LAG;
    CHECK(mf_set_measures_begin(queue, &s, &m) == MF_OK);
    sample[0][5] = 2;
    CHECK(mf_set_measures_add(m, sample[0]) == MF_INPUT && strstr(mf_err_text(), "value 2 is none"));
    CHECK(mf_set_measures_samples(m) == 0);
    mf_set_measures_end(m);
}

/* Phase 1 is rarer from sample to sample. */
static uint8_t draw(uint64_t i, uint64_t v, int phases)
{
    if (mf_random_uniform(i, 0, v) > 0.3 + 0.05 * (double)i) return 1;
    return (uint8_t)(mf_random_uniform(i, 1, v) * phases);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;

    CHECK(mf_comm_open(&comm, &argc, &argv, "") == MF_OK);
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&queue, 0, 2, 0, arena, arena) == MF_OK);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        for (int i = 0; i < SAMPLES; ++i)
            for (int v = 0; v < VOXELS; ++v) sample[i][v] = draw((uint64_t)i, (uint64_t)v, shapes[k].phases);
        for (int i = 0; comm.rank == 0 && i < 2; ++i) check_sample(&shapes[k], sample[i]);
        for (int a = 3 - shapes[k].ndim; a < 3; ++a) check_bars(&shapes[k], a);
        check_set(&comm, &shapes[k]);
    }
    if (comm.rank == 0) check_values();
    if (comm.rank == 0) check_refusals();
    mf_backend_cpu.queue_close(queue);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
