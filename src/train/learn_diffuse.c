/* See learn_diffuse.h. With x0 a sample, z normal noise and sigma its level, the network sees c_in (x0 + sigma z). It
 * learns F with c_skip (x0 + sigma z) + c_out F = x0 by squared error. This is the loss of Karras et al. (2022), whose
 * weight of a level is 1 / c_out^2. */
#include "src/train/learn_diffuse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/model/sampler.h"
#include "src/model/unet.h"

enum { X, IN_X, IN_NOISE, WANT_X, WANT_NOISE, LEVEL, SHARED };
/* Further inputs of one step. An estimate of x0 has factors of what a network sees, and of its output. The generator
 * has factors of the noise that it starts with, and the level of that. The condition is the last input. */
enum { SEEN = SHARED, OUT, START_SEEN, START_SKIP, START_OUT, START_LEVEL, ALL };
enum { DROPS = 1, MOVES = 2 }; /* further streams */
/* Streams of normal numbers: noise on samples, on made samples in both tasks, and noise that these start with. */
enum { NOISE, NOISE_ON_MADE, NOISE_IN_SCORE, NOISE_AT_START, NOISE_AT_START_IN_SCORE };
/* Positions from the most noise to the least, between which those of one step are drawn (DMD2). */
static const double FIRST_POSITION = 0.02, LAST_POSITION = 0.98;

struct own {
    struct mf_denoise denoise;
    size_t *column; /* [columns] of the dataset; NULL: of a file */
    int phases;
    unsigned moves;
    int one_step;          /* it is of a generator, or of its score network */
    struct mf_task *score; /* of a generator: the task of its score network */
};

static const struct own *own_of(const struct mf_task *task) { return task->own; }

static void close_own(void *context)
{
    struct own *own = context;

    if (!own) return;
    if (own->score) mf_task_close(own->score);
    free(own->score);
    mf_denoise_close(&own->denoise);
    free(own->column);
    free(own);
}

const struct mf_denoise *mf_task_denoiser(const struct mf_task *task) { return &own_of(task)->denoise; }

static struct mf_task make(size_t channels, struct mf_denoise denoise, int phases)
{
    struct mf_task task = mf_task_named(&mf_learn_diffuse, channels, NULL);
    struct own *own = MF_MUST(calloc(1, sizeof *own), "a task");

    for (size_t c = 0; c < channels; ++c)
        snprintf(task.name[c], sizeof task.name[c], "%s %zu", phases ? "phase" : "channel", c + (phases == 2));
    own->denoise = denoise;
    own->phases = phases;
    own->column = MF_MUST(calloc(denoise.columns + 1, sizeof *own->column), "columns");
    task.own = own;
    return task;
}

struct mf_task mf_task_diffuse(const struct mf_dataset *set, struct mf_denoise denoise, const size_t *column,
                               unsigned moves)
{
    struct mf_task task = make(set->inputs, denoise, set->phases);
    struct own *own = task.own;

    memcpy(own->column, column, denoise.columns * sizeof *column);
    own->moves = moves;
    return task;
}

static struct mf_task beside(const struct mf_task *teacher, const struct mf_learn *learn)
{
    const struct own *from = own_of(teacher);
    struct mf_task task = make(teacher->head[0].outputs, mf_denoise_copy(&from->denoise), from->phases);
    struct own *own = task.own;

    task.learn = learn;
    memcpy(own->column, from->column, own->denoise.columns * sizeof *own->column);
    own->one_step = 1;
    own->denoise.dropped = 0; /* what is made has a condition */
    return task;
}

struct mf_task mf_task_one_step(const struct mf_task *teacher, double start)
{
    struct mf_task task = beside(teacher, &mf_learn_one_step);
    struct own *own = task.own;

    own->denoise.start = start;
    own->score = MF_MUST(malloc(sizeof *own->score), "a task");
    *own->score = beside(&task, &mf_learn_made);
    return task;
}

const struct mf_task *mf_task_score(const struct mf_task *generator) { return own_of(generator)->score; }

/* -- network -- */

static struct mf_learn_input factor(const char *name, size_t batch)
{
    return (struct mf_learn_input){.name = name, .shape = {.type = MF_F32, .n = 1, .d = {batch}}};
}

static struct mf_learn_input row(const char *name, size_t batch, size_t numbers)
{
    return (struct mf_learn_input){.name = name, .shape = {.type = MF_F32, .n = 2, .d = {batch, numbers}}};
}

/* The number of that input. */
static size_t condition_of(const struct mf_task *task) { return own_of(task)->one_step ? ALL : SHARED; }

static void start_inputs(size_t batch, const struct mf_arch_args *args, struct mf_learn_input input[])
{
    input[SEEN] = factor("seen", batch);
    input[OUT] = mf_learn_reals("out", batch, 1);
    input[OUT].shape = input[SEEN].shape;
    input[START_SEEN] = factor("start_seen", batch);
    input[START_SKIP] = factor("start_skip", batch);
    input[START_OUT] = factor("start_out", batch);
    input[START_LEVEL] = row("start_level", batch, mf_arch_noise_width(args));
}

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    const size_t width = mf_denoise_width(&own_of(task)->denoise);

    (void)arch;
    input[X] = mf_learn_samples(dims, batch);
    input[X].plain = 0;
    input[IN_X] = factor(MF_DENOISE_IN_X, batch);
    input[IN_NOISE] = factor(MF_DENOISE_IN_NOISE, batch);
    input[WANT_X] = mf_learn_reals("want_x", batch, 1); /* a row that does not count is not finite */
    input[WANT_X].shape = input[IN_X].shape;
    input[WANT_NOISE] = factor("want_noise", batch);
    input[LEVEL] = row(MF_DENOISE_LEVEL, batch, mf_arch_noise_width(args));
    if (own_of(task)->one_step) start_inputs(batch, args, input);
    if (width == 0) return condition_of(task);
    input[condition_of(task)] = row(MF_DENOISE_CONDITION, batch, width);
    return condition_of(task) + 1;
}

/* Two nodes of one stream have the same numbers. */
static int noise_of(struct mf_build *build, const char *name, const int input[], unsigned stream)
{
    return mf_build_normal(build, name, input[LEVEL], mf_build_shape(build, input[X]), stream);
}

/* The output of the network that is trained, or of one that is borrowed, of what it sees. */
static int network(const struct mf_task *task, struct mf_build *build, const char *borrowed, const struct mf_arch *arch,
                   const struct mf_arch_args *args, const int input[], int seen, int level)
{
    const int has_condition = mf_denoise_width(&own_of(task)->denoise) > 0, set = build->set;
    const struct mf_arch_denoise in = {seen, level, has_condition ? input[condition_of(task)] : -1};
    const struct mf_arch_args settled = mf_arch_settled(args);
    int output;

    build->network = borrowed;
    if (borrowed) build->set = MF_SET_BORROWED;
    output = arch->denoise(build, &in, borrowed ? &settled : args);
    build->network = NULL;
    build->set = set;
    return output;
}

static void forward(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                    const struct mf_arch_args *args, const int input[], int train, int output[])
{
    const int z = noise_of(build, "noise", input, NOISE);
    const int seen = mf_build_blend(build, "seen", input[X], z, input[IN_X], input[IN_NOISE]);

    (void)train;
    output[0] = network(task, build, NULL, arch, args, input, seen, input[LEVEL]);
}

/* [batch][numbers of a sample] */
static int as_rows(struct mf_build *build, int x)
{
    const struct mf_shape s = mf_build_shape(build, x);

    return mf_build_reshape(build, x,
                            (struct mf_shape){.type = s.type, .n = 2, .d = {s.d[0], mf_shape_count(&s) / s.d[0]}});
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    struct mf_learn_loss rows = *of;
    const int z = noise_of(of->build, "noise_again", of->input, NOISE);
    const int want = mf_build_blend(of->build, "want", of->input[X], z, of->input[WANT_X], of->input[WANT_NOISE]);

    (void)task;
    rows.output = as_rows(of->build, of->output);
    return mf_learn_squared(&rows, as_rows(of->build, want));
}

/* -- one step -- */

/* The generator makes samples of noise. */
static int made(const struct mf_task *task, struct mf_build *build, const char *borrowed, unsigned stream,
                const struct mf_arch *arch, const struct mf_arch_args *args, const int input[])
{
    const int z = noise_of(build, "start", input, stream);
    const int seen = mf_build_blend(build, "start_seen", z, -1, input[START_SEEN], -1);
    const int f = network(task, build, borrowed, arch, args, input, seen, input[START_LEVEL]);

    return mf_build_blend(build, "made", z, f, input[START_SKIP], input[START_OUT]);
}

/* A borrowed network's estimate of x0. */
static int estimate(const struct mf_task *task, struct mf_build *build, const char *borrowed,
                    const struct mf_arch *arch, const struct mf_arch_args *args, const int input[], int seen)
{
    const int f = network(task, build, borrowed, arch, args, input, seen, input[LEVEL]);

    return mf_build_blend(build, borrowed, seen, f, input[SEEN], input[OUT]);
}

static void generate(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                     const struct mf_arch_args *args, const int input[], int train, int output[])
{
    int z, seen;

    if (!train) {
        forward(task, build, arch, args, input, train, output);
        return;
    }
    output[0] = made(task, build, NULL, NOISE_AT_START, arch, args, input);
    z = noise_of(build, "noise", input, NOISE_ON_MADE);
    seen = mf_build_blend(build, "seen", output[0], z, input[IN_X], input[IN_NOISE]);
    output[1] = estimate(task, build, MF_BORROWED_TEACHER, arch, args, input, seen);
    output[2] = estimate(task, build, MF_BORROWED_SCORE, arch, args, input, seen);
}

static int match(const struct mf_task *task, const struct mf_learn_loss *of)
{
    if (!of->train) return loss(task, of);
    return mf_build_match_loss(of->build, of->name, of->output, of->more[0], of->more[1]);
}

static void follow(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                   const struct mf_arch_args *args, const int input[], int train, int output[])
{
    int x, z, seen;

    if (!train) {
        forward(task, build, arch, args, input, train, output);
        return;
    }
    x = made(task, build, MF_BORROWED_GENERATOR, NOISE_AT_START_IN_SCORE, arch, args, input);
    z = noise_of(build, "noise", input, NOISE_IN_SCORE);
    seen = mf_build_blend(build, "seen", x, z, input[IN_X], input[IN_NOISE]);
    output[0] = network(task, build, NULL, arch, args, input, seen, input[LEVEL]);
    output[1] = mf_build_blend(build, "want", x, z, input[WANT_X], input[WANT_NOISE]);
}

static int follow_loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    struct mf_learn_loss rows = *of;

    if (!of->train) return loss(task, of);
    rows.output = as_rows(of->build, of->output);
    return mf_learn_squared(&rows, as_rows(of->build, of->more[0]));
}

/* -- samples -- */

static double sigma_of(const struct own *own, const struct mf_fill *of, size_t r)
{
    const struct mf_denoise *d = &own->denoise;
    double position;

    if (!own->one_step) return exp(d->mean + d->deviation * mf_random_normal(of->seed, MF_STREAM_LEVEL, of->first + r));
    if (!of->train) return d->start;
    position = mf_random_uniform(of->seed, MF_STREAM_LEVEL, of->first + r);
    return mf_sample_level(MF_NOISE_MOST, FIRST_POSITION + (LAST_POSITION - FIRST_POSITION) * position);
}

/* Where a pixel of the moved image was. */
struct move {
    size_t y, x; /* shifts */
    int flip_y, flip_x, turn;
};

static struct move move_of(const struct own *own, const struct mf_fill *of, size_t r, const size_t *d)
{
    uint32_t word[4];
    struct move m = {0};

    if (!of->train || !own->moves) return m;
    mf_random4(of->seed, MF_STREAM_LEVEL + MOVES, of->first + r, word);
    if (own->moves & MF_MOVE_SHIFT) {
        m.y = word[0] % d[1];
        m.x = word[1] % d[2];
    }
    if (own->moves & MF_MOVE_FLIP) {
        m.flip_y = word[2] & 1;
        m.flip_x = word[2] >> 1 & 1;
    }
    m.turn = own->moves & MF_MOVE_TURN && word[3] & 1;
    return m;
}

/* @p d: {nz, ny, nx, channels}; a turn has equal ny and nx. */
static void move_sample(const struct move *m, const size_t *d, const float *from, float *to)
{
    for (size_t z = 0; z < d[0]; ++z)
        for (size_t y = 0; y < d[1]; ++y)
            for (size_t x = 0; x < d[2]; ++x, to += d[3]) {
                const size_t a = ((m->flip_y ? d[1] - 1 - y : y) + m->y) % d[1];
                const size_t b = ((m->flip_x ? d[2] - 1 - x : x) + m->x) % d[2];
                const size_t row = m->turn ? b : a, column = m->turn ? a : b;

                memcpy(to, from + ((z * d[1] + row) * d[2] + column) * d[3], d[3] * sizeof *to);
            }
}

static void fill_samples(const struct own *own, const struct mf_fill *of, float *to)
{
    const size_t *d = of->shape->d + 1, count = d[0] * d[1] * d[2] * d[3];

    for (size_t r = 0; r < of->batch->n; ++r, to += count) {
        const struct move m = move_of(own, of, r, d);

        move_sample(&m, d, of->batch->input + r * count, to);
        mf_denoise_scale(own->phases, count, to, to);
    }
}

static double factor_of(size_t input, double sigma)
{
    const struct mf_noise_level l = mf_noise_level(sigma);

    switch (input) {
    case IN_X: return l.in;
    case IN_NOISE:
    case START_SEEN: return l.in * sigma;
    case WANT_X: return (1 - l.skip) / l.out;
    case WANT_NOISE: return -l.skip * sigma / l.out;
    case SEEN: return l.skip / l.in;
    case START_SKIP: return l.skip * sigma;
    default: return l.out; /* OUT, START_OUT */
    }
}

static int is_of_start(size_t input) { return input >= START_SEEN && input <= START_LEVEL; }

static void fill_factors(const struct own *own, const struct mf_fill *of, size_t input, float *to)
{
    for (size_t r = 0; r < of->batch->n; ++r)
        to[r] = (float)factor_of(input, is_of_start(input) ? own->denoise.start : sigma_of(own, of, r));
}

static void fill_levels(const struct own *own, const struct mf_fill *of, size_t input, float *to)
{
    const size_t width = of->shape->d[1];

    for (size_t r = 0; r < of->batch->n; ++r) {
        const double sigma = is_of_start(input) ? own->denoise.start : sigma_of(own, of, r);

        mf_unet_noise(mf_noise_level(sigma).embedded, width, to + r * width);
    }
}

static void fill_conditions(const struct own *own, const struct mf_fill *of, float *to)
{
    const struct mf_denoise *d = &own->denoise;
    const struct mf_batch *batch = of->batch;
    float *value = MF_MUST(calloc(d->columns + 1, sizeof *value), "a condition");

    for (size_t r = 0; r < batch->n; ++r, to += of->shape->d[1]) {
        const int dropped =
            of->train && mf_random_uniform(of->seed, MF_STREAM_LEVEL + DROPS, of->first + r) < d->dropped;

        for (size_t c = 0; c < d->columns; ++c)
            value[c] = batch->real ? batch->real[r * of->set->reals + own->column[c]] : NAN;
        mf_denoise_condition(d, batch->label && !dropped ? batch->label[r] : -1, dropped ? NULL : value, to);
    }
    free(value);
}

static void fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    const struct own *own = own_of(task);

    if (input == X)
        fill_samples(own, of, to);
    else if (input == condition_of(task))
        fill_conditions(own, of, to);
    else if (input == LEVEL || (own->one_step && input == START_LEVEL))
        fill_levels(own, of, input, to);
    else
        fill_factors(own, of, input, to);
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample)
{
    (void)task, (void)set, (void)head, (void)sample;
    return 1;
}

/* -- scores: the loss says it all -- */

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum)
{
    (void)task, (void)set, (void)head, (void)batch, (void)r, (void)output, (void)count, (void)sum;
}

static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    (void)task, (void)head, (void)s, (void)figure;
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    (void)task;
    return 1 - s->loss;
}

static void tell(const struct mf_task *task, double value, FILE *to)
{
    (void)task;
    fprintf(to, "explained %.2f %%", 100 * value);
}

static void put(const struct mf_task *task, const struct mf_scores *s, struct mf_json *to)
{
    mf_json_finite(to, "explained", merit(task, s));
}

/* -- files -- */

static void problem(const struct mf_task *task, FILE *to)
{
    const struct own *own = own_of(task);
    const struct mf_denoise *d = &own->denoise;

    fprintf(to, "task: denoise\n--condition: %s", d->classes ? "class" : "");
    for (size_t c = 0; c < d->columns; ++c) fprintf(to, "%s%s", c || d->classes ? "," : "", d->column[c]);
    fprintf(to, "\n--augment: %u\n--noise-mean: %.17g\n--noise-deviation: %.17g\n--condition-dropout: %.17g\n",
            own->moves, d->mean, d->deviation, d->dropped);
    if (own->one_step) fprintf(to, "--conditioning-sigma: %.17g\n", d->start);
}

static void save(const struct mf_task *task, struct mf_json *card)
{
    mf_json_put(card, mf_learn_diffuse.key, mf_denoise_json(&own_of(task)->denoise));
}

static int load(const struct mf_model_card *card, struct mf_task *task)
{
    *task = make(card->dims[3], mf_denoise_copy(card->denoise), card->phases);
    return MF_OK;
}

static int fit(struct mf_task *task, const char *path, struct mf_dataset *set)
{
    struct own *own = task->own;
    const struct mf_denoise *d = &own->denoise;

    for (size_t c = 0; c < d->columns; ++c) {
        own->column[c] = mf_dataset_column(set, d->column[c]);
        if (own->column[c] == set->reals)
            return mf_fail(MF_INPUT, "'%s' has no column '%s', which is a condition of the model of '%s'", set->path,
                           d->column[c], path);
    }
    for (size_t k = 0; k < d->classes; ++k)
        if (set->classes != d->classes || strcmp(set->class_name[k], d->class_name[k]) != 0)
            return mf_fail(MF_INPUT, "'%s' has other classes than the model of '%s', or in another order", set->path,
                           path);
    return MF_OK;
}

static int are_same(size_t n, const mf_name *a, size_t m, const mf_name *b)
{
    size_t i = 0;

    while (i < n && i < m && strcmp(a[i], b[i]) == 0) ++i;
    return i == n && i == m;
}

static int same(const struct mf_task *one, const struct mf_task *other)
{
    const struct mf_denoise *a = &own_of(one)->denoise, *b = &own_of(other)->denoise;

    return are_same(a->classes, (const mf_name *)a->class_name, b->classes, (const mf_name *)b->class_name) &&
           are_same(a->columns, (const mf_name *)a->column, b->columns, (const mf_name *)b->column);
}

/* A kind of this file. */
#define KIND(forward_, loss_, merit_)                                                                         \
    {                                                                                                         \
        .name = "unet", .key = "denoise", .reads = MF_READS_INPUT, .whole = 1, .show = &mf_show_diffuse,      \
        .inputs = inputs, .forward = (forward_), .loss = (loss_), .fill = fill, .rows = rows, .tally = tally, \
        .finish = finish, .merit = (merit_), .merit_key = "val_explained", .tell = tell, .put = put,          \
        .problem = problem, .save = save, .load = load, .fit = fit, .same = same, .close = close_own,         \
    }

const struct mf_learn mf_learn_diffuse = KIND(forward, loss, merit);
const struct mf_learn mf_learn_one_step = KIND(generate, match, NULL);
const struct mf_learn mf_learn_made = KIND(follow, follow_loss, NULL);
