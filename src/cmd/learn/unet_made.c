/* See unet_made.h. */
#include "src/cmd/learn/unet_made.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/train/learn_diffuse.h"
#include "src/train/made.h"

enum { STEPS = 8 /* of a sample: few show how good a network is */ };

/* -- the validation split -- */

static void find_shape(struct mf_unet_made *u)
{
    const struct mf_dataset *set = u->trainer->set;
    struct mf_set_shape *s = &u->shape;

    *s = (struct mf_set_shape){.ndim = set->ndim,
                               .dims = {set->dims[0], set->dims[1], set->dims[2]},
                               .phases = set->phases,
                               .channels = set->dims[3],
                               .is_float = 1,
                               .low = u->low,
                               .high = u->high};
    s->lag = mf_set_lag_max(set->ndim, set->dims);
    for (size_t c = 0; !set->phases && c < set->dims[3]; ++c) {
        const struct mf_channel channel = mf_dataset_channel(set, c, set->count[MF_TRAIN], set->id[MF_TRAIN]);

        u->low[c] = channel.least;
        u->high[c] = channel.most > channel.least ? channel.most : channel.least + 1;
    }
}

struct adding {
    struct mf_unet_made *u;
    float *values; /* of an image of bytes */
    int rc;
};

static const void *as_float(const struct adding *a, const uint8_t *x)
{
    const struct mf_dataset *set = a->u->trainer->set;
    const size_t count = set->dims[0] * set->dims[1] * set->dims[2] * set->dims[3];

    if (set->phases || set->is_float) return x;
    for (size_t i = 0; i < count; ++i) a->values[i] = (float)x[i];
    return a->values;
}

static void add_batch(void *context, const struct mf_batch *batch)
{
    struct adding *a = context;
    const struct mf_dataset *set = a->u->trainer->set;

    for (size_t r = 0; a->rc == MF_OK && r < batch->n; ++r)
        a->rc = mf_set_measures_add(a->u->real, as_float(a, batch->x + r * set->bytes));
}

static int measure_real(struct mf_unet_made *u)
{
    const struct mf_trainer *t = u->trainer;
    const struct mf_dataset *set = t->set;
    const struct mf_reader_wish wish = {.ahead = 1, .batch = 32, .raw = 1};
    const struct mf_span own = mf_cut(set->count[MF_VALIDATION], (size_t)t->comm->size, (size_t)t->comm->rank);
    struct adding a = {u, MF_MUST(calloc(set->bytes + 1, sizeof(float)), "a sample"), MF_OK};
    int rc = mf_set_measures_begin(t->queue, &u->shape, &u->real);

    if (rc == MF_OK)
        rc = mf_samples_read(set, t->arena, &wish, own.count, set->id[MF_VALIDATION] + own.first, add_batch, &a);
    free(a.values);
    MF_TRY(mf_agree(t->comm, rc == MF_OK ? a.rc : rc));
    mf_set_measures_sum(t->comm, u->real);
    return MF_OK;
}

/* -- made samples -- */

static int add_made(void *context, size_t sample, const void *x)
{
    struct mf_unet_made *u = context;

    (void)sample;
    return mf_set_measures_add(u->made, x);
}

/* "volume fraction +0.0021 (spread -8 %)": what tells most of a set. */
static void add_text(const struct mf_set_row *row, FILE *to)
{
    const char *title = mf_set_facts[row->measure].title;

    fprintf(to, ", %s %+.4f", title, row->difference);
    if (isfinite(row->spread)) fprintf(to, " (spread %+.0f %%)", 100 * row->spread);
}

static int is_told(enum mf_set_measure measure)
{
    return measure == MF_SET_FRACTION || measure == MF_SET_S2 || measure == MF_SET_INTERFACE ||
           measure == MF_SET_MEAN || measure == MF_SET_DEVIATION || measure == MF_SET_AUTOCORRELATION;
}

static void put_metrics(struct mf_unet_made *u, struct mf_loop *loop, size_t rows, const struct mf_set_row *row)
{
    struct mf_metric *metric = MF_MUST(calloc(rows + 4, sizeof *metric), "metrics");
    char **key = MF_MUST(calloc(rows + 1, sizeof *key), "metrics");
    size_t n = 0;

    metric[n++] = (struct mf_metric){.key = "kind", .kind = MF_METRIC_TEXT, .text = "made"};
    metric[n++] = (struct mf_metric){.key = "step", .kind = MF_METRIC_INT, .whole = loop->trainer->step};
    metric[n++] =
        (struct mf_metric){.key = "made_distance", .kind = MF_METRIC_REAL, .real = mf_set_distance(rows, row)};
    if (u->distil.generator)
        metric[n++] =
            (struct mf_metric){.key = "score_loss", .kind = MF_METRIC_REAL, .real = mf_distil_loss(&u->distil)};
    for (size_t k = 0; k < rows; ++k) {
        key[k] = row[k].part ? mf_format("made_%s_%zu", mf_set_facts[row[k].measure].name, row[k].part)
                             : mf_format("made_%s", mf_set_facts[row[k].measure].name);
        metric[n++] = (struct mf_metric){.key = key[k], .kind = MF_METRIC_REAL, .real = row[k].difference};
    }
    mf_metrics_line(&loop->metrics, n, metric);
    for (size_t k = 0; k < rows; ++k) free(key[k]);
    free(key);
    free(metric);
}

static void tell(struct mf_unet_made *u, struct mf_loop *loop, size_t rows, const struct mf_set_row *row)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a line");

    for (size_t k = 0; k < rows; ++k)
        if (row[k].part == row[0].part && is_told(row[k].measure)) add_text(&row[k], to);
    MF_ASSERT(fclose(to) == 0);
    mf_info("%zu made samples, from validation: distance %.3f%s", mf_set_measures_samples(u->made),
            mf_set_distance(rows, row), text);
    put_metrics(u, loop, rows, row);
    free(text);
}

/* All ranks have the sums, and so the same distance. */
static void compare(struct mf_unet_made *u, struct mf_loop *loop, double *merit)
{
    const size_t rows = mf_set_measures_rows(u->real);
    struct mf_set_row *row = MF_MUST(calloc(rows + 1, sizeof *row), "statistics");
    double distance;

    mf_set_compare(u->real, u->made, row);
    distance = mf_set_distance(rows, row);
    if (isfinite(distance)) *merit = -distance; /* one sample has no deviation */
    if (u->trainer->comm->rank == 0) tell(u, loop, rows, row);
    free(row);
}

/* Samples that are made say more of a network than its loss does. */
static int judged(void *context, struct mf_loop *loop, double *merit)
{
    struct mf_unet_made *u = context;
    const struct mf_trainer *t = u->trainer;
    const double start = mf_task_denoiser(t->opts.task)->start;
    const struct mf_sampling how = {start > 0 ? 1 : STEPS, t->opts.seed, start > 0 ? start : MF_NOISE_MOST};

    if (start > 0) *merit = (double)loop->epoch; /* unless samples say more, the last one is the best */
    if (!u->real) return MF_OK;
    MF_TRY(mf_agree(t->comm, mf_set_measures_begin(t->queue, &u->shape, &u->made)));
    MF_TRY(mf_made_samples(&u->trainer->scorer, &how, (size_t)u->o->made, add_made, u));
    mf_set_measures_sum(t->comm, u->made);
    compare(u, loop, merit);
    mf_set_measures_end(u->made);
    u->made = NULL;
    return MF_OK;
}

/* -- the score network beside a generator -- */

static int stepped(void *context, struct mf_loop *loop, const struct mf_step *step)
{
    struct mf_unet_made *u = context;
    const double began = mf_now();
    const int rc = mf_distil_stepped(&u->distil);

    (void)step;
    loop->stepping += mf_now() - began;
    return rc;
}

static void listed(void *context, struct mf_checkpoint *checkpoint)
{
    struct mf_unet_made *u = context;

    mf_distil_listed(&u->distil, checkpoint);
}

static int begin_score(struct mf_unet_made *u, struct mf_loop *loop)
{
    const struct mf_beside *beside = &u->trainer->opts.beside;

    if (!beside->task) return MF_OK;
    MF_TRY(mf_distil_open(u->trainer, &u->distil));
    loop->stepped = stepped;
    loop->listed = listed;
    mf_info("a generator of one step, from noise of level %g; its score network makes %zu step%s after each of it",
            mf_task_denoiser(u->trainer->opts.task)->start, beside->steps, MF_S(beside->steps));
    return MF_OK;
}

static void say_conditions(const struct mf_denoise *d, const struct mf_dataset *set, int taught)
{
    const char *none = taught || set->reals == 0 ? "none"
                       : set->phases ? "none; the volume fraction of samples is learnt best with one (--condition)"
                                     : "none; the mean of samples is learnt best with one (--condition)";
    char text[200] = "";

    if (d->classes) mf_enumerate(text, sizeof text, "class");
    for (size_t c = 0; c < d->columns; ++c) mf_enumerate(text, sizeof text, "%s", d->column[c]);
    mf_info("conditions: %s", *text ? text : none);
}

static int begin(void *context, struct mf_loop *loop)
{
    struct mf_unet_made *u = context;

    u->trainer = loop->trainer;
    say_conditions(mf_task_denoiser(u->trainer->opts.task), u->trainer->set, u->o->teacher != NULL);
    loop->grown = u;
    loop->judged = judged;
    MF_TRY(begin_score(u, loop));
    if (u->o->made == 0 || u->trainer->set->count[MF_VALIDATION] == 0) return MF_OK;
    if (u->o->made == 1 || u->trainer->set->count[MF_VALIDATION] == 1)
        mf_warn("one sample has no deviation, so what is made does not say which epoch is the best; try: more "
                "--made-samples, or a larger validation split");
    find_shape(u);
    return measure_real(u);
}

static void done(void *context)
{
    struct mf_unet_made *u = context;

    mf_set_measures_end(u->real);
    mf_set_measures_end(u->made);
    u->real = u->made = NULL;
    mf_distil_close(&u->distil);
}

/* Lines that a run of the same teacher shares with its checkpoint. */
static char *problem(void *context)
{
    const struct mf_train_cmd *o = ((const struct mf_unet_made *)context)->o;

    if (!o->teacher) return mf_format("--made-samples: %ld\n", o->made);
    return mf_format("--made-samples: %ld\n--score-steps: %ld\n--score-rate: %.17g\n", o->made, o->score_steps,
                     o->score_rate);
}

struct mf_train_more mf_unet_made_more(struct mf_unet_made *u)
{
    return (struct mf_train_more){
        .context = u, .course = "training.png", .begin = begin, .close = done, .problem = problem};
}
