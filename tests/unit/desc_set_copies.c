/* The nearest sample over all periodic shifts is that of plain loops, on any number of ranks and threads. A copy is
 * found, and a moved one with its shift. */
#include <math.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/desc/set_copies.h"
#include "tests/check.h"

enum { SAMPLES = 5, QUERIES = 3, VALUES = 6 * 7 * 8 * 3 };

struct form {
    size_t dims[3], channels;
    int phases;
};

static const struct form forms[] = {{{1, 12, 10}, 1, 2}, {{1, 9, 11}, 3, 3}, {{6, 7, 8}, 1, 2}, {{1, 8, 7}, 2, 0}};

static struct mf_arena *arena;
static float sample[SAMPLES][VALUES], query[QUERIES][VALUES];

static size_t voxels(const struct form *f) { return f->dims[0] * f->dims[1] * f->dims[2]; }

static size_t moved(const struct form *f, size_t v, const size_t by[3])
{
    const size_t *n = f->dims, z = v / (n[1] * n[2]), y = v / n[2] % n[1], x = v % n[2];

    return ((z + by[0]) % n[0] * n[1] + (y + by[1]) % n[1]) * n[2] + (x + by[2]) % n[2];
}

/* Share of pixels that differ, or the root of the mean square. */
static double off(const struct form *f, const float *a, const float *b, const size_t by[3])
{
    double differ = 0, square = 0;

    for (size_t v = 0; v < voxels(f); ++v) {
        const float *p = a + moved(f, v, by) * f->channels, *q = b + v * f->channels;
        double one = 0;

        for (size_t c = 0; c < f->channels; ++c) one += (double)(p[c] - q[c]) * (double)(p[c] - q[c]);
        square += one;
        differ += one > 0;
    }
    return f->phases ? differ / (double)voxels(f) : sqrt(square / (double)(voxels(f) * f->channels));
}

static struct mf_set_nearest nearest(const struct form *f, const float *x)
{
    struct mf_set_nearest found = {.off = INFINITY};

    for (uint32_t id = 0; id < SAMPLES; ++id)
        for (size_t s = 0; s < voxels(f); ++s) {
            const size_t by[3] = {s / (f->dims[1] * f->dims[2]), s / f->dims[2] % f->dims[1], s % f->dims[2]};
            const double is = off(f, x, sample[id], by);

            if (is < found.off) found = (struct mf_set_nearest){.off = is, .id = id};
        }
    return found;
}

static void draw(const struct form *f, uint64_t seed, float *x)
{
    for (size_t v = 0; v < voxels(f); ++v) {
        const double u = mf_random_uniform(seed, 0, v);
        const size_t phase = (size_t)(3 * u * u);

        for (size_t c = 0; c < f->channels; ++c)
            x[v * f->channels + c] = f->phases == 2   ? u < 0.3
                                     : f->phases == 3 ? phase == c
                                                      : (float)mf_random_uniform(seed, 1 + (uint32_t)c, v);
    }
}

/* Query 0 is sample 4, moved; query 1 is sample 2 but for one pixel. */
static void fill(const struct form *f)
{
    const size_t by[3] = {f->dims[0] / 2, 3, 5};

    for (int i = 0; i < SAMPLES; ++i) draw(f, (uint64_t)i, sample[i]);
    for (int k = 0; k < QUERIES; ++k) draw(f, 20 + (uint64_t)k, query[k]);
    for (size_t v = 0; v < voxels(f); ++v)
        memcpy(query[0] + moved(f, v, by) * f->channels, sample[4] + v * f->channels, f->channels * sizeof(float));
    memcpy(query[1], sample[2], sizeof sample[2]);
    for (size_t c = 0; c < f->channels; ++c)
        query[1][c] = f->phases == 2 ? 1 - sample[2][c] : sample[2][(c + 1) % f->channels];
}

static void check(const struct mf_comm *comm, const struct form *f, int threads, const struct mf_set_nearest *want)
{
    struct mf_queue *queue;
    struct mf_set_copies *copies = NULL;
    struct mf_set_nearest near[QUERIES];

    CHECK(mf_backend_cpu.queue_open(&queue, 0, threads, 0, arena, arena) == MF_OK);
    CHECK(mf_set_copies_begin(queue, f->dims, f->phases, f->channels, QUERIES, &copies) == MF_OK);
    for (size_t k = 0; k < QUERIES; ++k) mf_set_copies_query(copies, k, query[k]);
    for (int i = SAMPLES - 1 - comm->rank; i >= 0; i -= comm->size)
        mf_set_copies_against(copies, (uint32_t)i, sample[i]);
    CHECK(mf_set_copies_finish(comm, copies, near) == MF_OK);
    for (int k = 0; k < QUERIES; ++k) {
        CHECK_NEAR(near[k].off, want[k].off, 1e-7);
        CHECK(near[k].id == want[k].id);
        CHECK_NEAR(off(f, query[k], sample[near[k].id], near[k].at), want[k].off, f->phases ? 1e-12 : 1e-6);
    }
    CHECK_NEAR(near[0].off, 0, 0);
    CHECK(near[0].id == 4 && near[0].at[0] == f->dims[0] / 2 && near[0].at[1] == 3 && near[0].at[2] == 5);
    if (f->phases) CHECK_NEAR(near[1].off, 1 / (double)voxels(f), 1e-12);
    mf_set_copies_end(copies);
    mf_backend_cpu.queue_close(queue);
}

int main(int argc, char **argv)
{
    const struct mf_set_nearest some[4] = {{.off = 0.4}, {.off = 0.1}, {.off = 0.3}, {.off = 0.2}};
    struct mf_comm comm;

    CHECK(mf_comm_open(&comm, &argc, &argv, "") == MF_OK);
    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; ++k) {
        struct mf_set_nearest want[QUERIES];

        fill(&forms[k]);
        for (int q = 0; q < QUERIES; ++q) want[q] = nearest(&forms[k], query[q]);
        check(&comm, &forms[k], 1, want);
        check(&comm, &forms[k], 3, want);
    }
    CHECK_NEAR(mf_set_copies_quantile(4, some, 0.5), 0.25, 1e-12);
    CHECK_NEAR(mf_set_copies_quantile(1, some, 0.05), 0.4, 1e-12);
    mf_arena_close(arena);
    mf_comm_close(&comm);
    return failures != 0;
}
