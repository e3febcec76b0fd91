/* Ranks find their GPUs on machines that are made up: every launch of a cluster, shared and missing GPUs, --gpu_ids. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/plan/bind.h"
#include "tests/check.h"

enum { MOST = 4096 };

static const char *const a[] = {"GPU-a0", "GPU-a1", "GPU-a2", "GPU-a3"};
static const char *const b[] = {"GPU-b0", "GPU-b1"};
static struct mf_bind_rank rank[MOST];
static int gpu[MOST];

static struct mf_bind_rank on(int node, int local, size_t gpus, const char *const *ids)
{
    return (struct mf_bind_rank){
        .host = node ? "n1" : "n0", .node = node, .local_rank = local, .gpus = gpus, .gpu = ids};
}

static int bind(size_t ranks, size_t count, const long *ids, int share)
{
    struct mf_bind_options options = {count, ids, share};

    return mf_bind(rank, ranks, &options, gpu);
}

/* srun --gpus-per-task=1: everybody sees one, and it is number 0. */
static void one_each(void)
{
    for (int r = 0; r < 4; ++r) rank[r] = on(0, r, 1, a + r);
    CHECK(bind(4, 0, NULL, 0) == MF_OK && gpu[0] == 0 && gpu[3] == 0);
    rank[3] = on(0, 3, 1, a); /* --ntasks-per-gpu=2 */
    CHECK(bind(4, 0, NULL, 0) == MF_DEVICE &&
          strstr(mf_err_text(), "2 ranks (0, 3) would take one GPU, GPU-a0 of 'n0'"));
    CHECK(bind(4, 0, NULL, 1) == MF_OK && gpu[3] == 0);
}

/* srun --gpus-per-node, mpirun: everybody sees all of its node. */
static void all_of_node(void)
{
    for (int r = 0; r < 4; ++r) rank[r] = on(0, r, 4, a);
    for (int r = 4; r < 6; ++r) rank[r] = on(1, r - 4, 2, b);
    CHECK(bind(6, 0, NULL, 0) == MF_OK);
    for (int r = 0; r < 6; ++r) CHECK(gpu[r] == r % 4);
    rank[6] = on(1, 2, 2, b);
    CHECK(bind(7, 0, NULL, 0) == MF_DEVICE && strstr(mf_err_text(), "2 ranks (4, 6)") && gpu[6] == 0);
    mf_bind_say(rank, 7, gpu);
    CHECK(bind(7, 0, NULL, 1) == MF_OK && gpu[6] == 0);
}

/* Equal ids on two nodes are two GPUs. */
static void nodes_are_apart(void)
{
    rank[0] = on(0, 0, 1, a);
    rank[1] = on(1, 0, 1, a);
    CHECK(bind(2, 0, NULL, 0) == MF_OK);
}

static void none(void)
{
    rank[0] = on(0, 0, 0, NULL);
    rank[1] = on(0, 1, 0, NULL);
    CHECK(bind(2, 0, NULL, 0) == MF_OK && gpu[0] == -1 && gpu[1] == -1);
    CHECK(bind(2, 1, (long[]){0}, 0) == MF_DEVICE && strstr(mf_err_text(), "--gpu_ids 0: rank 0 on 'n0' sees no GPU"));
    rank[1] = on(0, 1, 2, a);
    CHECK(bind(2, 0, NULL, 0) == MF_OK && gpu[0] == -1 && gpu[1] == 1);
    CHECK(bind(2, 1, (long[]){1}, 0) == MF_DEVICE && strstr(mf_err_text(), "rank 0"));
    CHECK(bind(0, 1, (long[]){1}, 0) == MF_OK);
}

static void chosen(void)
{
    for (int r = 0; r < 2; ++r) rank[r] = on(0, r, 4, a);
    CHECK(bind(2, 2, (long[]){3, 1}, 0) == MF_OK && gpu[0] == 3 && gpu[1] == 1);
    CHECK(bind(2, 1, (long[]){2}, 0) == MF_DEVICE && strstr(mf_err_text(), "GPU-a2"));
    CHECK(bind(2, 1, (long[]){2}, 1) == MF_OK && gpu[0] == 2 && gpu[1] == 2);
    CHECK(bind(2, 3, (long[]){0, 1, 4}, 0) == MF_DEVICE &&
          strstr(mf_err_text(), "--gpu_ids 4: rank 0 on 'n0' sees 4 GPUs, 0 to 3"));
    CHECK(bind(2, 1, (long[]){-1}, 0) == MF_DEVICE);
    for (int r = 0; r < 2; ++r) rank[r] = on(0, r, 1, a + r);
    CHECK(bind(2, 2, (long[]){0, 1}, 0) == MF_DEVICE && strstr(mf_err_text(), "leave --gpu_ids out"));
    rank[0] = on(0, 0, 4, a);
    rank[1] = on(1, 0, 2, b);
    rank[2] = on(1, 1, 2, b);
    CHECK(bind(3, 4, (long[]){0, 1, 2, 3}, 0) == MF_OK && gpu[1] == 0 && gpu[2] == 1);
    CHECK(bind(3, 2, (long[]){0, 3}, 0) == MF_DEVICE && strstr(mf_err_text(), "rank 2 on 'n1' sees 2 GPUs"));
}

/* A thousand nodes of four; and so many on one GPU that not all can be named. */
static void many(void)
{
    for (int r = 0; r < MOST; ++r) rank[r] = on(r / 4, r % 4, 4, a);
    CHECK(bind(MOST, 0, NULL, 0) == MF_OK && gpu[MOST - 1] == 3);
    for (int r = 0; r < 100; ++r) rank[r] = on(0, r, 1, a);
    CHECK(bind(100, 0, NULL, 0) == MF_DEVICE && strstr(mf_err_text(), "100 ranks (0, 1") &&
          strstr(mf_err_text(), ", ...)"));
}

int main(void)
{
    mf_log_open(0, 1, MF_WARN);
    one_each();
    all_of_node();
    nodes_are_apart();
    none();
    chosen();
    many();
    return failures != 0;
}
