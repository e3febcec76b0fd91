/* Small trainings: a dataset of 8 x 8 samples of which some have no label, trainers on any ranks, their weights. */
#ifndef MF_TESTS_TRAIN_CASE_H
#define MF_TESTS_TRAIN_CASE_H

#include <stdlib.h>
#include <string.h>

#include "io/h5.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_regress.h"
#include "src/train/train.h"
#include "tests/device.h"
#include "tests/scratch.h"

/* Epochs of 42 samples in windows of 13: the last of 3, so that a fourth rank has none. */
enum { EDGE = 8, SAMPLES = 59, LEARNT = 42, VALIDATED = 10, CLASSES = 3, COLUMNS = 2, WINDOW = 13, STEPS = 10 };

/* Shared by the runs. */
struct bed {
    struct mf_comm world, self;
    struct device device, cores; /* cores say what is right */
    struct mf_dataset *set;
};

/* Tasks of the set: columns; classes with smoothed labels; classes. */
enum { OF_COLUMNS, OF_CLASSES, OF_PLAIN, TASKS };
static struct mf_task bed_task[TASKS];

/* Two phases in amounts that the class decides. A whole context: no sample has a label. */
static inline int bed_sample(void *context, size_t id, struct mf_sample *sample)
{
    const int class = (int)(id % CLASSES);
    double sum = 0;

    for (size_t i = 0; i < EDGE * EDGE; ++i) {
        ((uint8_t *)sample->x)[i] = mf_random_uniform(4, 1, id * EDGE * EDGE + i) < 0.25 * (class + 1);
        sum += ((uint8_t *)sample->x)[i];
    }
    sample->label = context || id % 4 == 3 ? -1 : class;
    sample->real[0] = (float)(sum / EDGE);
    sample->real[1] = (float)(100 - sum);
    return MF_OK;
}

/* Samples are divided in a scattered way, the same every time. */
static inline struct mf_dataset *bed_set(const struct mf_comm *comm, const char *name, int unlabelled)
{
    static const char *const classes[CLASSES] = {"thin", "even", "dense"}, *const reals[COLUMNS] = {"rows", "rest"};
    uint8_t split[SAMPLES];
    const struct mf_dataset_wish wish = {.samples = SAMPLES,
                                         .ndim = 2,
                                         .dims = {1, EDGE, EDGE, 1},
                                         .phases = 2,
                                         .classes = CLASSES,
                                         .class_name = classes,
                                         .reals = COLUMNS,
                                         .real_name = reals,
                                         .split = split};
    struct mf_dataset *set = NULL;

    for (size_t i = 0; i < SAMPLES; ++i) {
        const size_t place = i * 17 % SAMPLES;

        split[i] = place < LEARNT ? MF_TRAIN : place < LEARNT + VALIDATED ? MF_VALIDATION : MF_TEST;
    }
    if (mf_dataset_write(comm, scratch_file(name), &wish, NULL, bed_sample, unlabelled ? split : NULL) != MF_OK ||
        mf_dataset_open(comm, scratch_file(name), &set) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        abort();
    }
    return set;
}

static inline void bed_open(struct bed *b, int *argc, char ***argv)
{
    const char *exchange = getenv("MF_TEST_EXCHANGE");

    mf_h5_begin();
    CHECK(mf_comm_open(&b->world, argc, argv, "test") == MF_OK);
    mf_comm_self(&b->self);
    if (exchange) device_number = b->world.rank;
    b->device = device_open(1, 1, 0);
    b->cores = device_open_on(&mf_backend_cpu, 1, 1, 0);
    CHECK_SAYS(mf_transport_open(&b->world, b->device.q, mf_exchange_of(exchange ? exchange : "host")) == MF_OK, "%s",
               mf_err_text());
    scratch_open(&b->world);
    b->set = bed_set(&b->world, "set.h5", 0);
    bed_task[OF_COLUMNS] = mf_task_columns(b->set, COLUMNS, (const size_t[]){0, 1});
    bed_task[OF_CLASSES] = mf_task_classes(CLASSES, (const mf_name *)b->set->class_name, 0.1);
    bed_task[OF_PLAIN] = mf_task_classes(CLASSES, (const mf_name *)b->set->class_name, 0);
}

static inline void bed_close(struct bed *b)
{
    for (int k = 0; k < TASKS; ++k) mf_task_close(&bed_task[k]);
    mf_dataset_close(b->set);
    scratch_close(&b->world);
    mf_transport_close(&b->world);
    device_close(&b->cores);
    device_close(&b->device);
    mf_comm_close(&b->world);
}

/* -- trainers -- */

/* Passes that ranks make of a window, about @p passes. */
static inline size_t batch_for(const struct mf_comm *comm, size_t window, size_t passes)
{
    const size_t most = mf_cut(window, (size_t)comm->size, 0).count;

    return (most + passes - 1) / passes;
}

static inline struct mf_train_opts usual(const char *model, int task, size_t batch)
{
    struct mf_train_opts o = {.arch = mf_arch_find(model),
                              .args = {.dropout = 0.2},
                              .task = &bed_task[task],
                              .optimiser = MF_OP_ADAMW,
                              .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-6},
                              .schedule = {MF_SCHEDULE_COSINE, 2e-3, 2, STEPS},
                              .decay = 0.01,
                              .clip = 1,
                              .effective = WINDOW,
                              .seed = 5,
                              .batch = batch,
                              .readers = 1,
                              .bucket = 2048};

    o.args.width = strcmp(model, "mlp") == 0 ? 24 : 8;
    o.args.depth = strcmp(model, "mlp") == 0 ? 2 : 1;
    /* a bias before a norm, or of keys, has no gradient but noise, which adamw would make as large as any other */
    if (strcmp(model, "mlp") != 0) o.moments.epsilon = 1e-3;
    if (strcmp(model, "vit") == 0) {
        o.args.heads = 2;
        o.args.patch = 4;
    }
    CHECK(mf_arch_complete(o.arch, &o.args) == MF_OK);
    return o;
}

static inline void trainer_open(const struct bed *b, const struct mf_comm *comm, const struct mf_dataset *set,
                                const struct mf_train_opts *o, struct mf_trainer *t)
{
    struct mf_train_opts some = *o;

    if (b->world.transport) some.bucket *= 4; /* its stand-in takes its time */
    CHECK_SAYS(mf_trainer_open(comm, b->device.host, b->device.q, set, &some, t) == MF_OK, "%s", mf_err_text());
}

/* Steps until @p step have been made; the last one's outcome. */
static inline struct mf_step steps_until(struct mf_trainer *t, size_t step)
{
    struct mf_step done = {0};
    int64_t wish = 0;

    while (t->step < step)
        if (mf_trainer_step(t, 1, &wish, &done) != MF_OK) {
            fprintf(stderr, "%s\n", mf_err_text());
            abort();
        }
    return done;
}

/* -- weights -- */

/* All weights by their names' order in the net, on every rank; heap. */
static inline float *weights_of(const struct mf_trainer *t, size_t *n)
{
    float *all = calloc(mf_weights_count(t->network.net, 0) + 1, sizeof *all);

    *n = 0;
    for (size_t v = 0; v < t->network.net->values; ++v) {
        const struct mf_value *value = &t->network.net->value[v];
        const struct mf_shape shape = mf_value_whole(value);
        const struct mf_span whole = {0, mf_shape_count(&shape)};

        if (!mf_value_is_weight(value)) continue;
        mf_weights_get(&t->weights, (int)v, whole, all + *n);
        *n += whole.count;
    }
    return all;
}

/* The largest difference; not a number counts as infinite. */
static inline double apart(size_t n, const float *a, const float *b)
{
    double most = 0;

    for (size_t i = 0; i < n; ++i) {
        const double d = fabs((double)a[i] - (double)b[i]);

        if (!(d <= most)) most = isnan(d) ? INFINITY : d;
    }
    return most;
}

/* -- checkpoints -- */

static inline void save(struct mf_trainer *t, const char *path)
{
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\n");

    mf_trainer_keep(t, "", c);
    CHECK_SAYS(mf_checkpoint_write(t->comm, path, 1, c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
}

static inline void load(struct mf_trainer *t, const char *path)
{
    struct mf_checkpoint *c = NULL;

    CHECK_SAYS(mf_checkpoint_open(t->comm, path, 0, &c) == MF_OK, "%s", mf_err_text());
    if (!c) return;
    mf_trainer_keep(t, "", c);
    CHECK_SAYS(mf_checkpoint_code(c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
}

/* Has the device all operations of the model? By NCCL, whose stand-in takes its time, one model is enough. */
static inline int trains(const struct bed *b, const char *model)
{
    const struct mf_train_opts o = usual(model, 1, 1);
    struct mf_trainer t;
    int rc;

    if (b->world.transport && strcmp(model, "mlp") != 0) return 0;
    rc = mf_trainer_open(&b->self, b->device.host, b->device.q, b->set, &o, &t);
    mf_trainer_close(&t);
    if (rc != MF_OK && b->world.rank == 0) printf("%s: left out: %s\n", model, mf_err_text());
    return rc == MF_OK;
}

/* Weights of @p o on one rank of cores in one pass. */
static inline float *reference(const struct bed *b, const struct mf_dataset *set, const struct mf_train_opts *o,
                               size_t steps, struct mf_step *last)
{
    struct mf_train_opts one = *o;
    struct mf_trainer t;
    float *weights;
    size_t n;

    one.batch = o->effective < LEARNT ? o->effective : LEARNT;
    one.stage = 0;
    one.tensor = one.stages = 0;
    CHECK_SAYS(mf_trainer_open(&b->self, b->cores.host, b->cores.q, set, &one, &t) == MF_OK, "%s", mf_err_text());
    *last = steps_until(&t, steps);
    weights = weights_of(&t, &n);
    mf_trainer_close(&t);
    return weights;
}

#endif
