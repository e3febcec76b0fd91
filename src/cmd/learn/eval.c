/* eval: how well a trained model does on the samples of a dataset. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/learn/intensity.h"
#include "src/cmd/learn/predict.h"
#include "src/cmd/log_view.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

struct eval {
    struct mf_common common;
    const char *data, *split, *plot;
    long batch;
};

static const struct mf_opt rows[] = {
    MF_OPT(eval, "data", data, MF_NAME, NULL, "dataset of synth --num-samples or data import"),
    MF_CHOICE_TEXT(eval, "split", split, "test", "test|validation|train|all", "which samples"),
    MF_OPT(eval, "plot", plot, MF_TEXT, NULL,
           "picture: the matrix of confusion, or predicted against true values [.png]"),
    MF_PREDICT_ROW(eval), MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_log_view_rows, mf_common_opts, NULL};

struct job {
    struct mf_session *session;
    const struct eval *o;
    const char *model;
    struct mf_dataset *set;
    struct mf_model_card card;
    struct mf_task task;
    struct mf_scorer scorer;
    size_t n;
    uint32_t *id; /* [n] */
    struct mf_scores scores, hidden[MF_HIDDEN];
};

static int check(const struct mf_session *session, void *options)
{
    const struct eval *o = options;
    const char *const *words;

    if (mf_arguments(session, &words) != 1)
        return mf_fail(MF_USAGE, "no model; try: mesoforge eval run/model.safetensors --data FILE.h5");
    if (!o->data) return mf_fail(MF_USAGE, "no dataset; try: --data FILE.h5");
    return mf_predict_check(session, "eval", o->batch);
}

static int may_write(const struct job *job)
{
    const struct mf_session *s = job->session;
    const char *const inputs[] = {job->model, job->o->data}, *output = mf_common_of(s)->output, *plot = job->o->plot;

    MF_TRY(mf_session_may_write(s, output, ".csv"));
    MF_TRY(mf_session_may_write(s, plot, ".png"));
    if (output) MF_TRY(mf_session_spares(s, output, 2, inputs));
    return plot ? mf_session_spares(s, plot, 2, inputs) : MF_OK;
}

/* Samples in their order. */
static int choose(struct job *job)
{
    const struct mf_dataset *set = job->set;
    const int all = strcmp(job->o->split, "all") == 0;
    char *chosen;

    MF_TRY(MF_ROOM(job->id, set->items + 1, "the samples of '%.300s'", set->path));
    MF_TRY(MF_ROOM(chosen, set->items + 1, "the samples of '%.300s'", set->path));
    for (int s = 0; s < MF_SPLITS; ++s)
        for (size_t k = 0; (all || strcmp(mf_split_names[s], job->o->split) == 0) && k < set->count[s]; ++k)
            chosen[set->id[s][k]] = 1;
    for (size_t i = 0; i < set->items; ++i)
        if (chosen[i]) job->id[job->n++] = (uint32_t)i;
    free(chosen);
    if (job->n) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has no sample in its %s split; try: --split all", set->path, job->o->split);
}

static struct mf_scored scored_of(const struct job *job)
{
    return (struct mf_scored){&job->task, job->set,     job->n,
                              job->id,    &job->scores, job->task.learn->hide ? job->hidden : NULL};
}

static const struct mf_learn_show *show_of(const struct job *job) { return job->task.learn->show; }

/* A model that makes samples has no prediction of one. */
static int check_answers(const struct job *job)
{
    const int plots = job->o->plot && !show_of(job)->draw,
              writes = mf_common_of(job->session)->output && !show_of(job)->table;

    if (!plots && !writes) return MF_OK;
    return mf_fail(MF_USAGE, "--%s: a model of train %s predicts nothing of a sample; leave it out",
                   plots ? "plot" : "output", job->task.learn->name);
}

static size_t labelled(const struct job *job)
{
    size_t n = 0;

    for (size_t i = 0; i < job->n; ++i) n += (size_t)mf_task_counts(&job->task, job->set, job->id[i]);
    return n;
}

/* Without a label there is nothing to draw. */
static int check_plot(const struct job *job)
{
    if (!job->o->plot || labelled(job) > 0) return MF_OK;
    return mf_fail(MF_INPUT, "--plot: none of the %zu sample%s has a label", job->n, MF_S(job->n));
}

/* -- what is printed -- */

static int print_text(const struct job *job)
{
    const struct mf_scored of = scored_of(job);
    char loss[MF_LOSS_TEXT];

    printf("%s on %s, split %s: %zu sample%s", job->model, job->set->path, job->o->split, job->n, MF_S(job->n));
    if (labelled(job) < job->n) printf(" (%zu with a label)", labelled(job));
    printf(", loss %s", mf_loss_text(job->scores.loss, loss));
    return show_of(job)->print(&of, stdout);
}

static int print_json(const struct job *job)
{
    const struct mf_scored of = scored_of(job);
    struct mf_json *j = mf_json_object();
    int rc;

    MF_JSON(j, "model", job->model, "data", job->set->path, "split", job->o->split, "samples", job->n, "labelled",
            labelled(job));
    mf_json_finite(j, "loss", job->scores.loss);
    rc = show_of(job)->json(&of, j);
    MF_JSON(j, "seconds", mf_now() - job->session->start, "ranks", job->session->comm->size);
    if (rc == MF_OK) rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

static int print(const struct job *job)
{
    if (job->session->comm->rank != 0) return MF_OK;
    if (mf_common_of(job->session)->json) return print_json(job);
    return print_text(job);
}

/* -- predictions -- */

static void put(const void *context, FILE *to)
{
    const struct job *job = context;
    const struct mf_scored of = scored_of(job);

    show_of(job)->table(&of, to);
}

/* -- all of it -- */

static int draw(const struct job *job)
{
    char *title =
        mf_format("%s on %s, split %s", mf_name_base(job->model), mf_name_base(job->set->path), job->o->split);
    const struct mf_scored of = scored_of(job);
    const int rc = job->session->comm->rank != 0 ? MF_OK : show_of(job)->draw(&of, title, job->o->plot);

    free(title);
    return mf_agree(job->session->comm, rc);
}

/* Are the samples of the scale of the training? All ranks find the same. */
static int check_scale(const struct job *job)
{
    const struct mf_comm *comm = job->session->comm;
    struct mf_intensity_shift shift = {.files = 0};

    MF_TRY(mf_agree(comm, mf_intensity_compare_set(&job->card, 0, job->set, job->n, job->id, &shift)));
    if (comm->rank != 0) shift.files = 0; /* one of them says it */
    return mf_intensity_warn(comm, &shift);
}

/* How well the network does if it does not see everything. Collective. */
static int score_hidden(struct job *job)
{
    const struct mf_learn *learn = job->task.learn;
    int rc = MF_OK;

    if (!learn->hide) return MF_OK;
    for (int k = MF_HIDES_NOTHING + 1; rc == MF_OK && k < MF_HIDDEN; ++k) {
        rc = mf_agree(job->session->comm, learn->hide(&job->task, (enum mf_hidden)k));
        if (rc == MF_OK) rc = mf_score(&job->scorer, job->n, job->id, 0, &job->hidden[k]);
    }
    (void)learn->hide(&job->task, MF_HIDES_NOTHING);
    return rc;
}

static int evaluate(struct job *job)
{
    const struct mf_session *s = job->session;
    const char *output = mf_common_of(s)->output;
    struct mf_scorer *m = &job->scorer;
    int wanted;

    MF_TRY(may_write(job));
    MF_TRY(mf_agree(s->comm, mf_model_card_open(job->model, &job->card)));
    MF_TRY(mf_safetensors_same(s->comm, job->card.file));
    MF_TRY(mf_agree(s->comm, mf_task_load(&job->card, &job->task)));
    MF_TRY(mf_agree(s->comm, check_answers(job)));
    MF_TRY(mf_learn_open(job->task.learn, s->comm, job->o->data, &job->set));
    MF_TRY(mf_agree(s->comm, choose(job)));
    MF_TRY(mf_agree(s->comm, mf_task_fit(&job->task, &job->card, job->set)));
    *m = (struct mf_scorer){.comm = s->comm,
                            .arena = s->arena,
                            .queue = s->queue,
                            .set = job->set,
                            .task = &job->task,
                            .batch = (size_t)job->o->batch,
                            .readers = 1};
    MF_TRY(mf_scorer_open(&job->card, m));
    MF_TRY(check_scale(job));
    MF_TRY(mf_agree(s->comm, check_plot(job)));
    wanted = output || (job->o->plot && show_of(job)->draws_outputs);
    MF_TRY(mf_score(m, job->n, job->id, wanted, &job->scores));
    if (job->scores.lost)
        return mf_fail(MF_NUMERIC,
                       "the model of '%s' predicts no number of %zu of the %zu samples: its output overflows",
                       job->model, job->scores.lost, job->n);
    MF_TRY(score_hidden(job));
    if (s->comm->rank == 0 && output) mf_outputs_shares(&job->card.outputs, job->n, job->scores.head[0].output);
    if (output) MF_TRY(mf_predict_table(s->comm, output, put, job));
    if (job->o->plot) MF_TRY(draw(job));
    return mf_agree(s->comm, print(job));
}

static int run(struct mf_session *session, void *options)
{
    struct job job = {.session = session, .o = options};
    const char *const *words;
    int rc;

    (void)mf_arguments(session, &words);
    job.model = words[0];
    rc = evaluate(&job);
    mf_scores_free(&job.scores);
    for (int k = 0; k < MF_HIDDEN; ++k) mf_scores_free(&job.hidden[k]);
    mf_scorer_close(&job.scorer);
    mf_task_close(&job.task);
    mf_model_card_close(&job.card);
    mf_dataset_close(job.set);
    free(job.id);
    return rc;
}

const struct mf_cmd mf_cmd_eval = {
    .name = "eval",
    .summary = "measure how well a trained model does on a dataset",
    .synopsis = "MODEL.safetensors --data FILE.h5 [--split test] [--output predictions.csv] [--plot FILE.png]",
    .text =
        "Scores a trained model on samples of a dataset: the accuracy, and recall and "
        "precision of every class; or R2 and the mean absolute error of every column; or the share of the noise that a "
        "model of train unet knows. Of a model of train vqa it prints the right answers to each type of question. "
        "Beside "
        "them stand those of others: the most frequent answer, a regression on class and volume fraction, and the "
        "network with grey images or with other questions. The dataset must have the "
        "extents and the columns that the model was trained with. Classes are found by their names, in any order; "
        "samples of a class that the model does not know count as if they had no label, and a line says so. "
        "--output writes what is predicted "
        "for every sample, --plot draws it. The figures do not depend on the number of ranks.\n"
        "\n"
        "  mesoforge eval run/model.safetensors --data micro.h5\n"
        "  mpirun -n 2 mesoforge eval run/model.safetensors --data micro.h5 \\\n"
        "      --split all --output predictions.csv --plot confusion.png\n",
    .tables = tables,
    .size = sizeof(struct eval),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "a smaller --batch-size",
    .in_library = 1,
};
