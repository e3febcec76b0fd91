/* Time of one exchange of a volume between slabs and whole slices, forth (fetch) and back (add), without the work on
 * the slices: mpirun -n R mpi_redistribute [-b BATCH] NZ NY NX, with one thread per rank. One row per direction: least
 * of 9 repetitions, the slowest rank each; beside it one memcpy of the rank's slab, forth and back, on all ranks at
 * once. GB/s counts 2 x 4 bytes per voxel (read and written) for each way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { REPEATS = 9 };

struct times {
    double forth, clear, back;
};

static double slowest(const struct mf_comm *c, double seconds)
{
    mf_comm_max(c, 1, &seconds);
    return seconds;
}

static struct times once(const struct mf_comm *c, struct mf_redistribution *plan, float *x, float *g)
{
    struct times t = {0, 0, 0};
    struct mf_view view;
    double at[4];

    for (size_t r = 0; r < mf_redistribute_rounds(plan); ++r) {
        mf_comm_barrier(c);
        at[0] = mf_now();
        mf_redistribute_fetch(plan, r, x, &view);
        at[1] = mf_now();
        mf_redistribute_open(plan, r, g, &view);
        at[2] = mf_now();
        mf_redistribute_add(plan, r, g);
        at[3] = mf_now();
        t.forth += at[1] - at[0];
        t.clear += at[2] - at[1];
        t.back += at[3] - at[2];
    }
    return (struct times){slowest(c, t.forth), slowest(c, t.clear), slowest(c, t.back)};
}

static struct times least(const struct mf_comm *c, struct mf_redistribution *plan, float *x, float *g)
{
    struct times best = {1e9, 1e9, 1e9}, t;

    for (int i = 0; i < REPEATS; ++i) {
        t = once(c, plan, x, g);
        if (t.forth < best.forth) best.forth = t.forth;
        if (t.clear < best.clear) best.clear = t.clear;
        if (t.back < best.back) best.back = t.back;
    }
    return best;
}

/* Seconds of one plain copy of the slab. */
static double copy(const struct mf_comm *c, size_t bytes, const float *x, float *g)
{
    double best = 1e9, start, t;

    for (int i = 0; i < REPEATS; ++i) {
        mf_comm_barrier(c);
        start = mf_now();
        memcpy(g, x, bytes);
        t = slowest(c, mf_now() - start);
        if (t < best) best = t;
    }
    return best;
}

static void row(const struct mf_comm *c, const struct mf_slab *slab, const char *name, struct times t, double copied,
                size_t batch, size_t rounds)
{
    double volume = 8.0 * (double)(slab->dims[0] * slab->dims[1] * slab->dims[2]), ms = 1e3;

    if (c->rank) return;
    printf("%s\t%d\t%zu\t%zu\t%zu\t%zu\t%zu\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", name, c->size, slab->dims[0],
           slab->dims[1], slab->dims[2], batch, rounds, ms * t.forth, ms * t.clear, ms * t.back,
           ms * (t.forth + t.clear + t.back), 2 * volume / 1e9 / (t.forth + t.back), ms * 2 * copied,
           volume / 1e9 / copied);
}

static void measure(const struct mf_comm *c, struct mf_queue *queue, const size_t dims[3], size_t batch)
{
    static const char *const names[] = {"slices z", "slices y", "slices x"};
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    size_t bytes = mf_slab_voxels(&slab) * sizeof(float);
    struct mf_arena *arena = queue->arena;
    float *x = mf_arena_zeros(arena, 1, bytes, "x"), *g = mf_arena_zeros(arena, 1, bytes, "g");
    struct mf_redistribution *plan;
    double copied;

    if (!x || !g) mf_die(MF_MEMORY, __FILE__, __LINE__, "%s", mf_err_text());
    copied = copy(c, bytes, x, g);
    for (int normal = MF_Y; normal <= MF_X; ++normal) {
        if (mf_redistribute_new(c, &slab, (enum mf_normal)normal, MF_OUT_AND_BACK, batch, queue, &plan) != MF_OK)
            mf_die(MF_MEMORY, __FILE__, __LINE__, "%s", mf_err_text());
        row(c, &slab, names[normal], least(c, plan, x, g), copied, mf_redistribute_batch(plan),
            mf_redistribute_rounds(plan));
        mf_redistribute_free(plan);
    }
    mf_arena_give(arena, x);
    mf_arena_give(arena, g);
}

int main(int argc, char **argv)
{
    size_t dims[3] = {256, 256, 256}, batch = 0;
    struct mf_arena *arena;
    struct mf_queue *queue;
    struct mf_comm c;
    int first = 1;

    if (mf_comm_open(&c, &argc, &argv, "benchmark") != MF_OK || mf_arena_open(&arena, NULL, 0) != MF_OK) return 4;
    if (mf_backend_cpu.queue_open(&queue, 0, 1, 0, arena, arena) != MF_OK) return 4;
    if (argc > 2 && strcmp(argv[1], "-b") == 0) {
        batch = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    for (int i = 0; i < 3 && first + i < argc; ++i) dims[i] = strtoul(argv[first + i], NULL, 10);
    if (c.rank == 0)
        printf(
            "# %s\nname\tranks\tnz\tny\tnx\tbatch\trounds\tforth_ms\tclear_ms\tback_ms\tms\tGB/s\tcopy_ms\tcopy_GB/s\n",
            mf_comm_version());
    measure(&c, queue, dims, batch);
    mf_backend_cpu.queue_close(queue);
    mf_arena_close(arena);
    mf_comm_close(&c);
    return 0;
}
