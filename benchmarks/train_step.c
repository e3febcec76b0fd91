/* Times steps of training on cpu: forward, backward, AdamW.
 *   bench_train_step THREADS ARCH BATCH EXTENT WIDTH [f32|f16|bf16]
 * says on one line the parameters, and the bytes that last and that a step needs beside them. Then for every line on
 * standard input, a number of steps, it makes them and prints the milliseconds of each in the mean. "nodes N" prints
 * TSV of N steps: list, node, operation, pass, ms, GF/s; the slowest first. Samples have one channel, labels ten
 * classes. Networks that remove noise have one condition, and a target of the extents of a sample. A network that
 * answers questions has the heads of train vqa. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "benchmarks/train_step_vqa.h"
#include "src/base/err.h"
#include "src/train/learn_classify.h"
#include "src/train/network.h"

enum { CLASSES = 10, PARTS = 3 };

struct row {
    const struct mf_list *list;
    const struct mf_node *node;
    double seconds;
};

struct bench {
    struct mf_queue *queue;
    struct mf_network network;
    struct mf_weights weights;
    struct mf_walk *walk;
    size_t step, rows, at; /* nodes of a step, and the next one that ends */
    struct row *row;
    double before;
    void *filled[MF_LEARN_INPUTS]; /* for all inputs */
};

/* One thread: time of the processor, which other programs on the machine disturb less. */
static double now(const struct bench *b)
{
    struct timespec t;

    clock_gettime(b->queue->threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* -- to remove noise: scaled samples, the level of the noise, a condition, and the output that is wanted -- */

static size_t noisy_inputs(const struct mf_task *task, const size_t d[4], size_t batch, const struct mf_arch *arch,
                           const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)task, (void)arch;
    input[0] = mf_learn_samples(d, batch);
    input[1] = mf_learn_reals("noise", batch, mf_arch_noise_width(args));
    input[2] = mf_learn_reals("condition", batch, 1);
    input[3] = mf_learn_samples(d, batch);
    input[3].name = "target";
    return 4;
}

static void noisy_forward(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                          const struct mf_arch_args *args, const int input[], int train, int output[])
{
    (void)task, (void)train;
    output[0] = arch->denoise(build, &(struct mf_arch_denoise){input[0], input[1], input[2]}, args);
}

static int noisy_loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    (void)task;
    return mf_learn_squared(of, 3);
}

static const struct mf_learn noisy = {
    .name = "denoise", .inputs = noisy_inputs, .forward = noisy_forward, .loss = noisy_loss};

static void make(struct bench *b, char **words)
{
    const size_t batch = strtoul(words[2], NULL, 10), extent = strtoul(words[3], NULL, 10);
    struct mf_network_wish wish = {.arch = mf_arch_find(words[1]),
                                   .args = {.width = strtol(words[4], NULL, 10)},
                                   .task = mf_task_plain(&mf_learn_classify, CLASSES),
                                   .dims = {1, extent, extent, 1},
                                   .batch = batch,
                                   .micro = 1,
                                   .ranks = 1,
                                   .optimiser = MF_OP_ADAMW,
                                   .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8},
                                   .bucket = 1 << 20};

    for (enum mf_type type = MF_F32; type < MF_TYPES; ++type)
        if (words[5] && strcmp(words[5], mf_type_name(type)) == 0) wish.type = type;

    if (words[5] && words[6]) wish.args.experts = strtol(words[6], NULL, 10);
    MF_ASSERT(wish.arch && mf_arch_complete(wish.arch, &wish.args) == MF_OK);
    if (wish.arch->denoise) wish.task.learn = &noisy;
    if (wish.arch->ask) wish.task = ask_task;
    MF_ASSERT(mf_network_make(&wish, b->queue, &b->network) == MF_OK);
    MF_ASSERT(mf_walk_open(&b->walk, b->network.net, b->queue, MF_WALK_PLANNED, NULL) == MF_OK);
    b->weights = mf_network_weights(&b->network, b->walk, NULL);
    mf_weights_start(&b->weights, 1);
    mf_walk_numbers(b->walk)[MF_NUMBER_SAMPLES] = (double)batch;
    for (size_t h = 0; h < wish.task.heads; ++h) mf_walk_numbers(b->walk)[MF_NUMBER_ROWS + h] = (double)batch;
    mf_walk_numbers(b->walk)[MF_NUMBER_LEARNING_RATE] = 1e-4;
    mf_walk_numbers(b->walk)[MF_NUMBER_DECAY] = 0.01;
    mf_walk_numbers(b->walk)[MF_NUMBER_SCALE] = 1;
}

/* Numbers between -1 and 1, and labels: as a reader of samples leaves them. */
static void *drawn(const struct mf_shape *shape)
{
    const size_t n = mf_shape_count(shape);
    float *x = MF_MUST(malloc(n * sizeof *x), "samples");
    int32_t *label = (int32_t *)x;
    unsigned state = 1;

    for (size_t i = 0; i < n; ++i) {
        state = state * 1664525 + 1013904223;
        if (shape->type == MF_I32)
            label[i] = (int32_t)(i % CLASSES);
        else
            x[i] = (float)(state >> 8) / 8388608 - 1;
    }
    return x;
}

static const struct mf_shape *shape_of(const struct bench *b, size_t k)
{
    return &b->network.net->value[b->network.input[k].value].shape;
}

static void draw(struct bench *b)
{
    for (size_t k = 0; k < b->network.inputs; ++k) {
        b->filled[k] = drawn(shape_of(b, k));
        if (b->network.heads > 1) ask_fill(b->network.input[k].of.name, shape_of(b, k), b->filled[k]);
    }
}

static void feed(struct bench *b)
{
    for (size_t k = 0; k < b->network.inputs; ++k)
        memcpy(mf_walk_at(b->walk, b->network.last.list, b->network.input[k].value), b->filled[k],
               mf_shape_bytes(shape_of(b, k)));
}

static void lists(const struct bench *b, const struct mf_list *list[PARTS])
{
    list[0] = b->network.last.list;
    list[1] = b->network.reduce;
    list[2] = b->network.optimise;
}

static void step(struct bench *b)
{
    const struct mf_list *list[PARTS];

    lists(b, list);
    feed(b);
    mf_walk_numbers(b->walk)[MF_NUMBER_STEP] = (double)++b->step;
    b->at = 0;
    b->before = now(b);
    for (size_t k = 0; k < PARTS; ++k) mf_walk_run(b->walk, list[k]);
}

/* -- nodes -- */

static void tick(void *context)
{
    struct bench *b = context;
    const double t = now(b);

    b->row[b->at++].seconds += t - b->before;
    b->before = t;
}

static int slower(const void *a, const void *b)
{
    const double x = ((const struct row *)a)->seconds, y = ((const struct row *)b)->seconds;

    return (x < y) - (x > y);
}

static void name_rows(struct bench *b)
{
    const struct mf_list *list[PARTS];

    lists(b, list);
    b->rows = 0;
    for (size_t k = 0; k < PARTS; ++k) b->rows += list[k]->nodes;
    b->row = MF_MUST(calloc(b->rows, sizeof *b->row), "rows");
    b->rows = 0;
    for (size_t k = 0; k < PARTS; ++k)
        for (size_t i = 0; i < list[k]->nodes; ++i) b->row[b->rows++] = (struct row){list[k], &list[k]->node[i], 0};
}

static uint64_t no_start(void *context, const struct mf_collective *what)
{
    (void)context;
    (void)what;
    return 1;
}

static void no_finish(void *context, uint64_t number)
{
    (void)context;
    (void)number;
}

static void no_settle(void *context) { (void)context; }

/* The walk tells after every node. */
static void nodes(struct bench *b, long steps)
{
    const struct mf_exchanges every = {
        .context = b, .start = no_start, .finish = no_finish, .poll = tick, .settle = no_settle};

    name_rows(b);
    step(b); /* does not count */
    mf_walk_exchange(b->walk, &every);
    for (long k = 0; k < steps; ++k) step(b);
    mf_walk_exchange(b->walk, NULL);
    qsort(b->row, b->rows, sizeof *b->row, slower);
    for (size_t i = 0; i < b->rows; ++i) {
        const struct row *r = &b->row[i];
        const double took = r->seconds / (double)steps, work = mf_node_operations(b->network.net, r->node);

        printf("%s\t%s\t%s\t%s\t%.3f\t%.1f\n", r->list->name, r->node->name,
               mf_op_is_exchange(r->node->op) ? "exchange" : mf_ops[r->node->op]->name,
               r->node->back ? "backward" : "forward", 1e3 * took, 1e-9 * work / took);
    }
    free(b->row);
}

static void serve(struct bench *b)
{
    char line[64];

    while (fgets(line, sizeof line, stdin)) {
        const long steps = strtol(strncmp(line, "nodes ", 6) == 0 ? line + 6 : line, NULL, 10);
        const double begin = now(b);

        if (strncmp(line, "nodes ", 6) == 0) {
            nodes(b, steps);
        } else {
            for (long k = 0; k < steps; ++k) step(b);
            printf("%.4f\n", 1e3 * (now(b) - begin) / (double)steps);
        }
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct mf_arena *arena;
    struct bench b = {0};

    if (argc < 6 || argc > 8) {
        fprintf(stderr, "%s THREADS ARCH BATCH EXTENT WIDTH [f32|f16|bf16 [EXPERTS]]\n", argv[0]);
        return 2;
    }
    MF_ASSERT(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    MF_ASSERT(mf_backend_cpu.queue_open(&b.queue, 0, atoi(argv[1]), 1, arena, arena) == MF_OK);
    make(&b, argv + 1);
    draw(&b);
    printf("%zu\t%zu\t%zu\n", mf_weights_count(b.network.net, 0), b.network.net->lasting[0], b.network.net->room[0]);
    fflush(stdout);
    serve(&b);
    mf_walk_close(b.walk);
    mf_network_free(&b.network);
    for (size_t k = 0; k < MF_LEARN_INPUTS; ++k) free(b.filled[k]);
    mf_backend_cpu.queue_close(b.queue);
    mf_arena_close(arena);
    return 0;
}
