/* Times layers of experts, forward and backward: route, permute, linear layers with relu between them, combine.
 *   bench_moe THREADS EXPERTS ROWS WIDTH-WIDTH[-WIDTH ...] f32|bf16 [LOGITS [DEVICE]]
 * LOGITS: a file of floats [ROWS][EXPERTS], or -: normal numbers; each row goes to its two best experts. EXPERTS 0:
 * dense layers on twice the rows, which have the same operations. Each line on standard input is a number of steps. It
 * makes them and prints the milliseconds of each in the mean. With "nodes N" it prints those of every node, and its
 * GF/s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/text.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/net/walk.h"

enum { TOP = 2 };

struct bench {
    struct mf_queue *queue;
    struct mf_list *list;
    struct mf_walk *walk;
    double *seconds, before; /* of nodes, and when the last one ended */
    size_t at;
};

/* When all work so far is done. One thread of a processor: its own time, which other programs on the machine disturb
 * less. */
static double now(const struct bench *b)
{
    const int alone = b->queue->threads == 1 && b->queue->backend == &mf_backend_cpu;
    struct timespec t;

    b->queue->backend->sync(b->queue);
    clock_gettime(alone ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct mf_shape shape(int n, size_t a, size_t b, size_t c)
{
    return (struct mf_shape){.type = MF_F32, .n = n, .d = {a, b, c}};
}

static int parameter(struct mf_build *build, const char *name, size_t layer, struct mf_shape of)
{
    char *full = mf_format("%s%zu", name, layer);
    const int v = mf_build_parameter(build, full, of, MF_START_NORMAL, 0.05);

    free(full);
    return v;
}

/* The second output of the last node. */
static int second(const struct mf_build *build) { return build->list->node[build->list->nodes - 1].out[1]; }

/* One layer on rows @p x. @p places: of experts; -1: it is dense. */
static int linear(struct mf_build *build, int x, int places, size_t experts, size_t layer, size_t k, size_t m)
{
    const int dense = places < 0;
    const int w = parameter(build, "w", layer, dense ? shape(2, m, k, 0) : shape(3, experts, m, k));
    const int b = parameter(build, "b", layer, dense ? shape(1, m, 0, 0) : shape(2, experts, m, 0));
    const int in[] = {x, w, b, places};

    return mf_build_node(build, dense ? MF_OP_LINEAR : MF_OP_GROUPED_LINEAR,
                         (struct mf_attr){.row_groups = (int)experts}, "linear", dense ? 3 : 4, in);
}

/* The model, to its outputs. x and logits are parameters, so that they have gradients. */
static int forward(struct mf_build *build, size_t experts, size_t rows, const char *widths)
{
    size_t k = strtoul(widths, NULL, 10);
    const struct mf_attr route = {.choices = TOP, .temperature = 1}, permute = {.experts = experts};
    int y = parameter(build, "x", 0, shape(2, experts ? rows : TOP * rows, k, 0)), places = -1, weights = -1;

    if (experts) {
        const int logits = mf_build_parameter(build, "logits", shape(2, rows, experts, 0), MF_START_NUMBER, 0);

        weights = mf_build_node(build, MF_OP_ROUTE, route, "route", 1, &logits);
        y = mf_build_node(build, MF_OP_PERMUTE, permute, "permute", 2, (int[]){y, second(build)});
        places = second(build);
    }
    for (size_t layer = 1; (widths = strchr(widths, '-')) != NULL; ++layer) {
        const size_t m = strtoul(++widths, NULL, 10);

        if (layer > 1) y = mf_build_one(build, MF_OP_RELU, "relu", y);
        y = linear(build, y, places, experts, layer, k, m);
        k = m;
    }
    return experts ? mf_build_node(build, MF_OP_COMBINE, (struct mf_attr){0}, "combine", 3, (int[]){y, weights, places})
                   : y;
}

/* [n] from @p file, or normal numbers with this deviation. */
static void fill(float *to, size_t n, FILE *file, uint32_t stream, float deviation)
{
    if (file)
        MF_ASSERT(fread(to, sizeof *to, n, file) == n);
    else
        for (size_t i = 0; i < n; ++i) to[i] = deviation * (float)mf_random_normal(1, stream, i);
}

/* Parameters, and a target of zeros. */
static void start(struct bench *b, int target, const char *logits)
{
    const struct mf_net *net = b->list->net;

    for (size_t v = 0; v < net->values; ++v) {
        const size_t n = mf_shape_count(&net->value[v].shape);
        const int routes = strcmp(net->value[v].name, "logits") == 0;
        FILE *file = routes && logits && strcmp(logits, "-") != 0 ? fopen(logits, "rb") : NULL;
        float *from;

        if (net->value[v].role != MF_ROLE_PARAMETER && (int)v != target) continue;
        MF_ASSERT(file || !routes || !logits || strcmp(logits, "-") == 0);
        from = MF_MUST(malloc(n * sizeof *from), "parameters");
        fill(from, n, file, (uint32_t)v, routes ? 1 : (int)v == target ? 0 : 0.05F);
        mf_place_put(b->queue, MF_PLACE_DEVICE, mf_walk_at(b->walk, b->list, (int)v), from, n * sizeof *from);
        free(from);
        if (file) fclose(file);
    }
}

static void make(struct bench *b, char **words)
{
    const size_t experts = strtoul(words[2], NULL, 10), rows = strtoul(words[3], NULL, 10);
    struct mf_net *net = mf_net_new();
    struct mf_build build = {.list = mf_list_new(net, "layer")};
    const int y = forward(&build, experts, rows, words[4]);
    const int target = mf_build_input(&build, "target", mf_build_shape(&build, y));
    const int loss = mf_build_two(&build, MF_OP_SQUARED_LOSS, "loss", y, target);

    MF_ASSERT(mf_build_end(&build) == MF_OK);
    b->list = build.list;
    net->value[loss].kept = 1;
    mf_pass_cast(b->list, strcmp(words[5], "bf16") == 0 ? MF_BF16 : MF_F32, 0);
    mf_pass_fuse(b->list, MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
    mf_pass_grad(b->list, 1, &loss, 1);
    mf_pass_fold(b->list);
    MF_ASSERT(mf_pass_plan(b->list, b->queue) == MF_OK);
    mf_pass_live(net);
    MF_ASSERT(mf_walk_open(&b->walk, net, b->queue, MF_WALK_PLANNED, NULL) == MF_OK);
    start(b, target, words[6]);
    mf_walk_numbers(b->walk)[MF_NUMBER_ROWS] = (double)rows;
    mf_walk_numbers(b->walk)[MF_NUMBER_SAMPLES] = (double)rows;
}

/* -- nodes -- */

static uint64_t no_start(void *context, const struct mf_collective *what)
{
    (void)context, (void)what;
    return 1;
}

static void no_finish(void *context, uint64_t number) { (void)context, (void)number; }

static void no_settle(void *context) { (void)context; }

static void tick(void *context)
{
    struct bench *b = context;
    const double t = now(b);

    b->seconds[b->at++ % b->list->nodes] += t - b->before;
    b->before = t;
}

/* The walk tells after every node. */
static void nodes(struct bench *b, long steps)
{
    const struct mf_exchanges every = {
        .context = b, .start = no_start, .finish = no_finish, .poll = tick, .settle = no_settle};

    b->seconds = MF_MUST(calloc(b->list->nodes, sizeof *b->seconds), "times");
    b->at = 0;
    mf_walk_exchange(b->walk, &every);
    mf_walk_replay(b->walk, 0, MF_SCOPE_ALL);
    b->before = now(b);
    for (long k = 0; k < steps; ++k) mf_walk_run(b->walk, b->list);
    mf_walk_exchange(b->walk, NULL);
    mf_walk_replay(b->walk, 1, MF_SCOPE_ALL);
    for (size_t i = 0; i < b->list->nodes; ++i) {
        const struct mf_node *node = &b->list->node[i];
        const double took = b->seconds[i] / (double)steps;

        printf("%s\t%s\t%s\t%.3f\t%.1f\n", node->name, mf_ops[node->op]->name, node->back ? "backward" : "forward",
               1e3 * took, 1e-9 * mf_node_operations(b->list->net, node) / took);
    }
    free(b->seconds);
}

/* Status 77: this machine cannot run @p device. */
static void open_queue(struct bench *b, const char *device, int threads, struct mf_arena *arena[2])
{
    const struct mf_backend *be;

    if (mf_backend_find(&be, device) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        exit(77);
    }
    MF_ASSERT(mf_arena_open(&arena[0], be->mem, 0) == MF_OK);
    arena[1] = arena[0];
    if (be->host_mem) MF_ASSERT(mf_arena_open(&arena[1], be->host_mem, 0) == MF_OK);
    MF_ASSERT(be->queue_open(&b->queue, 0, threads, 1, arena[0], arena[1]) == MF_OK);
}

int main(int argc, char **argv)
{
    struct mf_arena *arena[2];
    struct bench b = {0};
    char line[64];

    if (argc < 6) {
        fprintf(stderr, "%s THREADS EXPERTS ROWS WIDTH-WIDTH[-WIDTH ...] f32|bf16 [LOGITS [DEVICE]]\n", argv[0]);
        return 2;
    }
    open_queue(&b, argc > 7 ? argv[7] : "cpu", atoi(argv[1]), arena);
    make(&b, argv);
    while (fgets(line, sizeof line, stdin)) {
        const long steps = strtol(strncmp(line, "nodes ", 6) == 0 ? line + 6 : line, NULL, 10);
        const double begin = now(&b);

        if (strncmp(line, "nodes ", 6) == 0) {
            nodes(&b, steps);
        } else {
            for (long k = 0; k < steps; ++k) mf_walk_run(b.walk, b.list);
            printf("%.4f\n", 1e3 * (now(&b) - begin) / (double)steps);
        }
        fflush(stdout);
    }
    mf_walk_close(b.walk);
    mf_list_release(b.list, b.queue);
    mf_net_free(b.list->net);
    b.queue->backend->queue_close(b.queue);
    if (arena[1] != arena[0]) mf_arena_close(arena[1]);
    mf_arena_close(arena[0]);
    return 0;
}
