/* A training as a workload of the planner. The bytes of a rank are the high-water mark of its arena, to the byte. This
 * holds for models, ranks and settings of all kinds. On GPUs NVIDIA's libraries may take less work memory. Settings
 * come in their order, and keep the samples of a step. */
#include "src/train/workload.h"

#include <stdlib.h>
#include <string.h>

#include "io/h5.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/train/balance.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_regress.h"
#include "tests/device.h"
#include "tests/scratch.h"

enum { EDGE = 16, SAMPLES = 90, CLASSES = 3, COLUMNS = 2 };

static int make_sample(void *context, size_t id, struct mf_sample *sample)
{
    (void)context;
    for (size_t i = 0; i < EDGE * EDGE; ++i)
        ((uint8_t *)sample->x)[i] = mf_random_uniform(4, 1, id * EDGE * EDGE + i) < 0.5;
    sample->label = (int32_t)(id % CLASSES);
    sample->real[0] = (float)id;
    sample->real[1] = -(float)id;
    return MF_OK;
}

static struct mf_dataset *make_set(const struct mf_comm *comm, int compress)
{
    static const char *const classes[] = {"a", "b", "c"}, *const reals[] = {"p", "q"};
    const struct mf_dataset_wish wish = {.samples = SAMPLES,
                                         .ndim = 2,
                                         .dims = {1, EDGE, EDGE, 1},
                                         .phases = 2,
                                         .classes = CLASSES,
                                         .class_name = classes,
                                         .reals = COLUMNS,
                                         .real_name = reals,
                                         .compress = compress,
                                         .part = {0.7, 0.2}};
    const char *path = scratch_file(compress ? "small.h5" : "plain.h5");
    struct mf_dataset *set = NULL;

    CHECK_SAYS(mf_dataset_write(comm, path, &wish, NULL, make_sample, NULL) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_dataset_open(comm, path, &set) == MF_OK, "%s", mf_err_text());
    return set;
}

static struct mf_train_opts opts_of(const char *model, const struct mf_task *task, size_t effective)
{
    struct mf_train_opts o = {.arch = mf_arch_find(model),
                              .args = {.width = 8, .dropout = 0.1},
                              .task = task,
                              .optimiser = MF_OP_ADAMW,
                              .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8},
                              .schedule = {MF_SCHEDULE_CONSTANT, 1e-3, 0, 1000},
                              .effective = effective,
                              .bucket = 4096};

    if (strcmp(model, "vit") == 0) o.args.patch = 4;
    CHECK(mf_arch_complete(o.arch, &o.args) == MF_OK);
    return o;
}

static struct mf_train_work work_of(const struct mf_dataset *set, const struct mf_train_opts *opts)
{
    return (struct mf_train_work){.set = set,
                                  .opts = opts,
                                  .effective = opts->effective,
                                  .stage = {0, 3},
                                  .recompute = {MF_RECOMPUTE_NONE, MF_RECOMPUTE_BLOCKS},
                                  .readers = -1};
}

/* Fullest fresh arenas of a run: steps, and a validation. It sets @p peak of device memory, and of the host's where it
 * is another. */
static void run(const struct mf_comm *comm, const struct mf_dataset *set, const struct mf_train_opts *opts,
                const struct mf_backend *on, size_t peak[MF_PLAN_MEMORIES])
{
    struct device d = device_open_on(on, 1, 0, 0);
    struct mf_trainer trainer;
    struct mf_scores scores;
    struct mf_step step;

    CHECK_SAYS(mf_trainer_open(comm, d.host, d.q, set, opts, &trainer) == MF_OK, "%s", mf_err_text());
    for (int k = 0; k < 2; ++k) CHECK(mf_trainer_step(&trainer, 0, NULL, &step) == MF_OK);
    CHECK(mf_trainer_score(&trainer, set->count[MF_VALIDATION], set->id[MF_VALIDATION], 0, &scores) == MF_OK);
    mf_scores_free(&scores);
    mf_trainer_close(&trainer);
    peak[MF_PLAN_STATE] = mf_arena_peak(d.arena);
    peak[MF_PLAN_HOST] = d.host == d.arena ? 0 : mf_arena_peak(d.host);
    device_close(&d);
}

static void compare(const struct mf_comm *comm, const struct mf_train_work *w, const struct mf_plan_numbers *settings,
                    const struct mf_backend *on)
{
    const struct mf_plan_rank rank = {.ranks = (size_t)comm->size,
                                      .rank = (size_t)comm->rank,
                                      .local_size = (size_t)comm->local_size,
                                      .threads = 1,
                                      .apart = on->host_mem != NULL,
                                      .capability = on->devices ? MF_GPU_OLDEST : 0,
                                      .simd = ""};
    const size_t spare[MF_PLAN_MEMORIES] = {[MF_PLAN_STATE] = on->devices ? MF_TUNING_WORK + 4096 : 0};
    struct mf_train_opts opts = *w->opts;
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    size_t peak[MF_PLAN_MEMORIES];
    char text[160];

    CHECK_SAYS(mf_train_bytes(w, &rank, settings, bytes) == MF_OK, "%s", mf_err_text());
    mf_train_take_settings(settings, &opts);
    run(comm, w->set, &opts, on, peak);
    for (int m = 0; m < MF_PLAN_MEMORIES; ++m) {
        size_t sum = 0;

        CHECK_SAYS(bytes[m].total >= peak[m] && bytes[m].total <= peak[m] + spare[m],
                   "%s, %s: %zu bytes predicted in memory %d, %zu taken", opts.arch->name,
                   mf_plan_numbers_text(settings, sizeof text, text), bytes[m].total, m, peak[m]);
        for (size_t i = 0; i < bytes[m].tags; ++i) sum += bytes[m].tag[i].bytes;
        CHECK(sum == bytes[m].total);
    }
    CHECK(bytes[MF_PLAN_STATE].fact[MF_TRAIN_OPERATIONS] > 0);
}

static size_t pick(size_t k, size_t n) { return (size_t)(mf_random_uniform(11, 3, k) * (double)n); }

/* As with --deterministic; every rank has one. */
static void use_slots(struct mf_train_opts *opts)
{
    opts->slots = 4;
    opts->effective += 4;
    opts->batch = (opts->effective + 3) / 4;
}

static void exact(const struct mf_comm *comm)
{
    static const char *const models[] = {"mlp", "cnn", "vit"};
    const char *all = getenv("MF_LONG");
    const int whole = all && *all == '1';
    const size_t cases = whole ? 72 : device_backend()->devices ? 3 : 12;
    const size_t most = whole ? 4 : device_backend()->devices ? 1 : 2; /* an emulated GPU takes its time */
    const size_t samples = whole ? 60 : 24;                            /* of a window, at most */
    struct mf_dataset *sets[2] = {make_set(comm, 0), make_set(comm, 4)};
    struct mf_task tasks[2] = {mf_task_columns(sets[0], COLUMNS, (const size_t[]){0, 1}),
                               mf_task_classes(CLASSES, (const mf_name *)sets[0]->class_name, 0)};

    for (size_t k = 0; k < cases; ++k) {
        const struct mf_dataset *set = sets[pick(9 * k, 2)];
        struct mf_train_opts opts =
            opts_of(models[k % 3], &tasks[pick(9 * k + 1, 2) == 0], 3 + pick(9 * k + 2, samples));
        const struct mf_train_work w = work_of(set, &opts);
        struct mf_plan_numbers settings = {.count = 0};

        opts.args.width = (long)(8 * (1 + pick(9 * k + 7, most)));
        opts.args.depth = (long)(1 + pick(9 * k + 8, most));
        if (k % 5 == 4) opts.optimiser = MF_OP_SGD;
        if (k % 5 == 3) use_slots(&opts);
        if (!opts.slots && opts.args.heads && comm->size % 2 == 0) opts.tensor = 2;
        if (opts.tensor == 0 && k % 2 && comm->size > 1) {
            opts.stages = (size_t)comm->size;
            ++opts.args.depth;
        }
        mf_plan_set(&settings, "batch", opts.slots ? opts.batch : 1 + pick(9 * k + 3, 20));
        mf_plan_set(&settings, "zero", comm->size > 1 && !opts.slots && !opts.stages ? pick(9 * k + 4, 4) : 0);
        mf_plan_set(&settings, "recompute", pick(9 * k + 5, 3));
        mf_plan_set(&settings, "readers", pick(9 * k + 6, 3));
        mf_plan_set(&settings, "tensor", opts.tensor);
        mf_plan_set(&settings, "stages", opts.stages);
        mf_plan_set(&settings, "partition", opts.tensor && pick(9 * k + 6, 2));
        compare(comm, &w, &settings, device_backend());
        mf_plan_set(&settings, "offload", !opts.tensor && !opts.stages);
        mf_plan_set(&settings, "spill", k % 2 && !opts.tensor && !opts.stages ? 1024 : 0);
        compare(comm, &w, &settings, device_backend()->host_mem ? device_backend() : &mf_backend_shadow);
    }
    for (int i = 0; i < 2; ++i) {
        mf_dataset_close(sets[i]);
        mf_task_close(&tasks[i]);
    }
}

static void find_recut(void *context, const char *tag, size_t live, size_t peak)
{
    (void)live;
    if (strcmp(tag, "weights on their way to another stage") == 0) *(size_t *)context = peak;
}

/* Stages that are cut anew take what is planned for weights on their way. */
static void recut(const struct mf_comm *comm)
{
    struct mf_dataset *set = make_set(comm, 0);
    const struct mf_task task = mf_task_plain(&mf_learn_classify, CLASSES);
    struct mf_train_opts opts = opts_of("vit", &task, 24);
    const struct mf_train_work w = work_of(set, &opts);
    const struct mf_plan_rank rank = {
        .ranks = (size_t)comm->size, .rank = (size_t)comm->rank, .local_size = 1, .threads = 1, .simd = ""};
    struct device d = device_open_on(&mf_backend_cpu, 1, 0, 0);
    struct mf_plan_numbers settings = {.count = 0};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    size_t taken = 0, planned = 0;
    struct mf_trainer t;

    opts.args.depth = 3L * comm->size;
    opts.stages = (size_t)comm->size;
    opts.batch = 4;
    opts.balance = 1;
    mf_train_give_settings(&opts, &settings);
    CHECK_SAYS(mf_train_bytes(&w, &rank, &settings, bytes) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_trainer_open(comm, d.host, d.q, set, &opts, &t) == MF_OK, "%s", mf_err_text());
    t.busy = t.network.own == 0 ? 9 : 1;
    CHECK(mf_balance(&t) == MF_OK);
    mf_arena_tags(d.host, find_recut, &taken);
    for (size_t i = 0; i < bytes[0].tags; ++i) find_recut(&planned, bytes[0].tag[i].name, 0, bytes[0].tag[i].bytes);
    CHECK_SAYS(taken > 0 && planned == taken, "%zu bytes planned, %zu taken", planned, taken);
    mf_trainer_close(&t);
    device_close(&d);
    mf_dataset_close(set);
}

/* The settings of a level, in order, as text: "64x1 32x2 ...". The first is the one that is tried for its bytes. */
static const char *row(const struct mf_train_work *w, size_t ranks, size_t level, char text[300])
{
    const struct mf_placement place = {.ranks = ranks, .threads = 2};
    struct mf_plan_numbers s = {.count = 0};
    const size_t effective = mf_train_effective(w, ranks), samples = w->set->count[MF_TRAIN];
    size_t length = 0;

    text[0] = '\0';
    for (size_t trial = 0; mf_train_workload.settings(w, &place, level, trial, &s); ++trial) {
        length += (size_t)snprintf(text + length, 300 - length, "%s%zux%zu", trial ? " " : "", mf_plan_get(&s, "batch"),
                                   mf_plan_get(&s, "passes"));
        CHECK(mf_plan_get(&s, "batch") * mf_plan_get(&s, "passes") * ranks >=
              (effective < samples ? effective : samples));
    }
    return text;
}

static void order(void)
{
    const struct mf_dataset set = {.dims = {1, EDGE, EDGE, 1}, .inputs = 1, .classes = 3, .count = {1000}};
    const struct mf_task task = mf_task_plain(&mf_learn_classify, 3);
    struct mf_train_opts opts = opts_of("mlp", &task, 64);
    struct mf_train_work w = work_of(&set, &opts);
    const struct mf_placement two = {.ranks = 2, .threads = 1}, apart = {.ranks = 2, .threads = 1, .apart = 1};
    struct mf_plan_numbers s = {.count = 0};
    char text[300];

#define ROW(ranks, level, want) CHECK_SAYS(strcmp(row(&w, ranks, level, text), want) == 0, "%s", text)
    ROW(1, 0, "8x8 64x1 32x2 16x4 8x8");
    ROW(1, 1, ""); /* there is nobody to share with */
    ROW(1, 5, "1x64 64x1 32x2 16x4 8x8 4x16 2x32 1x64");
    ROW(2, 0, "8x4 32x1 16x2 8x4");
    ROW(3, 0, "11x2 22x1 11x2");
    ROW(64, 0, "1x1 1x1");
    ROW(65, 0, "");
    w.effective = 48;
    ROW(1, 0, "8x6 48x1 24x2 16x3 12x4 8x6");
    w.effective = 100;
    ROW(1, 0, "13x8 100x1 50x2 25x4 13x8");
    w.exact = 1;
    ROW(1, 0, "25x4 100x1 50x2 25x4");
    ROW(3, 0, "");
    w.exact = 0;
    w.batch = 16;
    ROW(2, 0, "16x4 16x4");
    w.effective = 0;
    ROW(2, 0, "16x1 16x1");
    w.passes = 3;
    ROW(2, 0, "16x3 16x3");
    w.batch = 0;
    w.effective = 100;
    ROW(2, 0, "17x3 17x3");
    w.passes = 0;
    w.effective = (size_t)1 << 40; /* a window is at most an epoch */
    ROW(100, 0, "10x1 10x1");
    w.effective = 100;
#undef ROW
    /* moments are shared, then gradients, then parameters; then cheap activations are computed again, then blocks */
    CHECK(mf_train_workload.levels(&w, 0) == 6);
    for (size_t level = 0; level < 6; ++level) {
        CHECK(mf_train_workload.settings(&w, &two, level, 1, &s));
        CHECK(mf_plan_get(&s, "zero") == (level < 3 ? level : 3));
        CHECK(mf_plan_get(&s, "recompute") == (level < 3 ? 0 : level - 3));
    }
    opts.slots = 8;
    opts.batch = 13;
    CHECK_SAYS(strcmp(row(&w, 3, 0, text), "13x3 13x3") == 0, "%s", text);
    CHECK(mf_train_workload.most_ranks(&w) == 8);
    opts.slots = 0;
    /* at last the optimiser works in host memory, if that is another */
    w.offload.most = 1;
    CHECK(mf_train_workload.levels(&w, 0) == 6 && mf_train_workload.levels(&w, 1) == 7);
    CHECK(mf_train_workload.settings(&w, &apart, 6, 1, &s) && mf_plan_get(&s, "offload") == 1);
    CHECK(mf_plan_get(&s, "zero") == 3 && mf_plan_get(&s, "recompute") == 2);
    CHECK(mf_train_workload.settings(&w, &apart, 5, 1, &s) && mf_plan_get(&s, "offload") == 0);
    w.offload.least = 1;
    CHECK(!mf_train_workload.settings(&w, &two, 0, 1, &s) && mf_train_workload.settings(&w, &apart, 0, 1, &s));
    CHECK(mf_plan_get(&s, "offload") == 1 && mf_plan_get(&s, "zero") == 0);
    w.offload = (struct mf_train_range){0, 0};
    w.stage = (struct mf_train_range){1, 1};
    w.recompute = (struct mf_train_range){1, 1};
    CHECK(mf_train_workload.levels(&w, 0) == 1 && mf_train_workload.settings(&w, &two, 0, 1, &s));
    CHECK(mf_plan_get(&s, "zero") == 1 && mf_plan_get(&s, "recompute") == 1);
    /* ranks that share layers cut activations before they compute any again */
    opts.tensor = 2;
    w.stage = (struct mf_train_range){0, 0};
    w.partition = (struct mf_train_range){0, 1};
    w.recompute.most = 2;
    for (size_t level = 0; level < 3; ++level) {
        CHECK(mf_train_workload.settings(&w, &two, level, 1, &s));
        CHECK(mf_plan_get(&s, "partition") == (level > 0) && mf_plan_get(&s, "recompute") == 1 + (level > 1));
    }
}

/* Ways of ranks that divide heads, blocks and the ranks of a node. None are looked for where none can gain. */
static void ways(void)
{
    const struct mf_dataset set = {.dims = {1, EDGE, EDGE, 1}, .inputs = 1, .classes = 3, .count = {1000}};
    const struct mf_task task = mf_task_plain(&mf_learn_classify, 3);
    struct mf_train_opts opts = opts_of("vit", &task, 64);
    struct mf_train_work w = work_of(&set, &opts);
    struct mf_placement four = {.ranks = 4, .threads = 1, .nodes = 1, .per_node = 4};
    struct mf_plan_numbers s = {.count = 0};
    struct mf_plan_cost bound = {.total = 0}, spare = {.total = 0}, brief = {.total = 0};

    mf_plan_pay(&bound, "arithmetic", 1);
    mf_plan_pay(&spare, "arithmetic", 1);
    mf_plan_pay(&spare, "exchange", 0.2);
    mf_plan_pay(&brief, "exchange", 0.001);
    opts.args.heads = 4;
    opts.args.depth = 3;
    CHECK(mf_train_workload.ways(&w, &four, NULL, NULL) == 1);
    w.tensor = w.stages = (struct mf_train_range){1, 9};
    CHECK(mf_train_workload.ways(&w, &four, NULL, NULL) == 6); /* 1x1 1x2 1x4 2x1 2x2 4x1 */
    CHECK(mf_train_workload.ways(&w, &four, &s, &spare) == 6 && mf_train_workload.ways(&w, &four, &s, &brief) == 1);
    CHECK(mf_train_workload.ways(&w, &four, &s, &bound) == 1); /* all have the same arithmetic, */
    mf_plan_set(&s, "recompute", 2);
    CHECK(mf_train_workload.ways(&w, &four, &s, &bound) == 6); /* where none is done again */
    CHECK(mf_train_workload.settings(&w, &four, 4 * mf_train_workload.levels(&w, 0), 1, &s));
    CHECK(mf_plan_get(&s, "tensor") == 2 && mf_plan_get(&s, "stages") == 2);
    CHECK(mf_plan_get(&s, "batch") == 8 && mf_plan_get(&s, "passes") == 8);
    four.nodes = four.per_node = 2;
    CHECK(mf_train_workload.ways(&w, &four, NULL, NULL) == 5); /* layers stay on a node */
    opts.args.heads = 2;
    opts.args.depth = 1;
    CHECK(mf_train_workload.ways(&w, &four, NULL, NULL) == 4);
    w.batch = w.passes = 2; /* all of a step is said */
    CHECK(mf_train_workload.ways(&w, &four, NULL, NULL) == 1);
    mf_train_workload.fix(&w, &s);
    CHECK(w.tensor.least == 2 && w.tensor.most == 2 && w.stages.least == 2 && w.stages.most == 2);
}

static void check_ladder(const struct mf_train_work *w, size_t ranks, struct mf_train_opts opts, const char *want)
{
    char text[300] = "";
    size_t n = 0;

    while (mf_train_shrink(w, ranks, &opts))
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%zu r%d z%d", n ? ", " : "", opts.batch,
                              (int)opts.recompute, opts.stage);
    CHECK_SAYS(strcmp(text, want) == 0, "%s, not %s", text, want);
}

/* Smaller passes, then what is computed again, then what is shared, then passes of fewer than eight. */
static void ladder(void)
{
    const struct mf_train_opts opts = {.batch = 21};
    struct mf_train_opts slots = opts;
    struct mf_train_work w = {.stage = {0, 3}, .recompute = {MF_RECOMPUTE_NONE, MF_RECOMPUTE_BLOCKS}};

    check_ladder(&w, 2, opts,
                 "11 r0 z0, 6 r0 z0, 6 r1 z0, 6 r2 z0, 6 r2 z1, 6 r2 z2, 6 r2 z3, 3 r2 z3, 2 r2 z3, 1 r2 z3");
    check_ladder(&w, 1, opts, "11 r0 z0, 6 r0 z0, 6 r1 z0, 6 r2 z0, 3 r2 z0, 2 r2 z0, 1 r2 z0");
    w.batch = 21;
    check_ladder(&w, 2, opts, "21 r1 z0, 21 r2 z0, 21 r2 z1, 21 r2 z2, 21 r2 z3");
    w.batch = 0;
    w.exact = 1;
    w.stage.most = w.recompute.most = 0;
    check_ladder(&w, 2, opts, "");
    w.exact = 0;
    slots.slots = 8;
    check_ladder(&w, 2, slots, "");
}

int main(int argc, char **argv)
{
    struct mf_comm comm;

    mf_h5_begin();
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    exact(&comm);
    if (comm.size > 1) recut(&comm);
    order();
    ways();
    ladder();
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
