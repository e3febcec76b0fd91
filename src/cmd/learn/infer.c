/* See infer.h. */
#include "src/cmd/learn/infer.h"

#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/look.h"
#include "io/notes.h"
#include "io/same_file.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/crew.h"
#include "src/cmd/learn/field.h"
#include "src/cmd/learn/infer_show.h"
#include "src/cmd/learn/infer_work.h"
#include "src/cmd/learn/intensity.h"
#include "src/cmd/learn/predict.h"
#include "src/cmd/log_view.h"
#include "src/cmd/refused.h"
#include "src/model/model.h"
#include "src/place/pipeline.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

const struct mf_opt mf_infer_file_rows[] = {
    MF_OPT(mf_infer_cmd, "threshold", threshold, MF_TEXT, NULL,
           "binarise grey input: otsu, or phase 1 above this value"),
    MF_OPT(mf_infer_cmd, "labels", labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as 0,128,255"),
    MF_OPT(mf_infer_cmd, "dataset", dataset, MF_TEXT, NULL,
           "which array of an HDF5, DREAM.3D or VTK file, where it is not given as FILE:ARRAY"),
    MF_PREDICT_ROW(mf_infer_cmd), MF_OPT_END};
static const struct mf_opt crew_rows[] = {
    MF_OPT(mf_infer_cmd, "pp", stages, MF_LONG, NULL, "ranks that run the model together, as stages of a pipeline"),
    MF_OPT(mf_infer_cmd, "map", map, MF_TEXT, NULL,
           "which stage has which part of the model (mesoforge map). Stages are named cpu, cuda:N or rank:N"),
    MF_OPT_END};
const struct mf_opt mf_infer_stream_rows[] = {MF_STREAM_ROWS(mf_infer_cmd), MF_OPT_END};
const struct mf_opt *const mf_infer_tables[] = {mf_infer_file_rows, crew_rows,      mf_infer_stream_rows,
                                                mf_log_view_rows,   mf_common_opts, NULL};

struct job {
    struct mf_session *session;
    const struct mf_infer_cmd *o;
    const char *model, *const *files;
    size_t count; /* of files */
    uint8_t *is_set;
    const struct mf_infer_maker *maker; /* of another network than that of a crew; NULL: none */
    struct mf_crew crew;
    struct mf_model *run; /* of the crew */
    struct mf_run_plan plan;
    struct mf_peaks peaks;
    struct mf_infer_net net;
    const struct mf_model_card *card;
    struct mf_task task;
    size_t batch, voxels, outputs;
    struct mf_field_wish reads;
    void *tile;
    float *output; /* of a batch */
    struct mf_intensity_shift shift;
    struct mf_refused refused;
    struct mf_predictions predictions;
};

static int wants_host(const struct mf_infer_cmd *o) { return strcmp(o->offload, "host") == 0; }

static struct mf_reader_wish reading(const struct job *job)
{
    return (struct mf_reader_wish){.threads = 1, .ahead = 2, .batch = job->batch, .input = 1};
}

/* -- the model -- */

int mf_infer_check_kind(const char *model, const struct mf_task *task, const struct mf_learn *learn)
{
    const char *name = task->learn->name, *verb = task->learn->show->verb;

    if (task->learn == learn) return MF_OK;
    if (!verb)
        return mf_fail(MF_USAGE,
                       "'%s' is a model of train %s, which predicts nothing; try: mesoforge generate --model %s", model,
                       name, model);
    return mf_fail(MF_USAGE, "'%s' is a model that was trained to %s; try: mesoforge infer %s", model, verb, verb);
}

static int feed(void *of, size_t row, const void *sample)
{
    const struct job *job = of;

    return mf_model_feed(job->run, row, sample);
}

static void feed_input(void *of, size_t row, const float *input)
{
    const struct job *job = of;

    mf_model_feed_input(job->run, row, input);
}

static int answer(void *of, size_t n, float *output)
{
    const struct job *job = of;

    (void)mf_crew_walks(&job->crew, 1);
    mf_model_walk(job->run, n);
    return mf_model_output(job->run, n, output);
}

static void stay(void *of)
{
    const struct job *job = of;

    while (mf_crew_walks(&job->crew, 0)) mf_model_walk(job->run, 0);
}

/* Another kind of task may have another kind of network, so this comes first. */
static int load_task(struct job *job, const struct mf_learn *learn)
{
    struct mf_model_card card;
    int rc = mf_model_card_open(job->model, &card);

    if (rc == MF_OK) rc = mf_task_load(&card, &job->task);
    if (rc == MF_OK) rc = mf_infer_check_kind(job->model, &job->task, learn);
    mf_model_card_close(&card);
    return rc;
}

/* Bytes of the readers of a set, of which one is read at a time. A set that cannot be opened is refused later. */
static size_t readers_of(struct job *job, const char *file)
{
    const struct mf_reader_wish wish = reading(job);
    struct mf_dataset *set;
    size_t bytes;

    if (mf_dataset_open(job->session->comm, file, &set) != MF_OK) {
        mf_err_clear();
        return 0;
    }
    bytes = mf_reader_bytes(set, &wish);
    mf_dataset_close(set);
    return bytes;
}

/* Where weights are elsewhere, a plan says which. Collective. */
static int plan_model(struct job *job)
{
    struct mf_infer_work work = {.batch = job->batch,
                                 .crew = job->crew.wish,
                                 .host = wants_host(job->o),
                                 .deterministic = job->session->settings.deterministic,
                                 .queue = job->session->queue};
    struct mf_model_card card = {.path = NULL};
    int rc;

    if (!work.host && !work.crew.zero) return MF_OK;
    for (size_t i = 0; i < job->count; ++i)
        if (job->is_set[i]) work.beside = mf_max(work.beside, readers_of(job, job->files[i]));
    rc = mf_model_card_open(job->model, &card);
    if (rc == MF_OK) rc = mf_infer_work_open(&card, job->model, &work);
    rc = mf_agree(job->session->comm, rc);
    if (rc == MF_OK) rc = mf_infer_work_plan(job->session, &work, &job->crew, &job->plan);
    mf_model_card_close(&card);
    return rc;
}

/* The model of a crew predicts. */
static int open_model(struct job *job)
{
    const struct mf_session *s = job->session;
    const struct mf_model_card *c;

    MF_TRY(plan_model(job));
    mf_place_map_say(job->o->map, (size_t)s->comm->size, !s->backend->devices);
    MF_TRY(mf_agree(s->comm, mf_crew_model(&job->crew, job->model, job->batch, s->queue, &job->run)));
    c = mf_model_says(job->run);
    MF_TRY(mf_safetensors_same(s->comm, c->file));
    job->net = (struct mf_infer_net){
        .of = job, .card = c, .outputs = c->outputs.count, .feed = feed, .feed_input = feed_input, .answer = answer};
    if (job->crew.wish.zero) job->net.stay = stay;
    return MF_OK;
}

/* The ranks of a crew walk together, or none does: an error of one is that of all. Collective among them. */
static int agree(const struct job *job, int rc) { return job->crew.stages > 1 ? mf_agree(&job->crew.own, rc) : rc; }

/* Answers of the rows that the model was given. Collective in the crew. */
static int predict(struct job *job, const char *file, size_t n, float *output)
{
    const int rc = job->net.answer(job->net.of, n, output);

    if (rc != MF_NUMERIC) return rc;
    mf_err_clear();
    return mf_fail(MF_NUMERIC, "the model of '%s' predicts no number of '%s': its output overflows", job->model, file);
}

/* -- files: ranks share them, each reads its own alone -- */

/* Means over the tiles. */
static int predict_field(struct job *job, const char *file, const struct mf_field *field, float *mean)
{
    double *sum = MF_MUST(calloc(job->outputs, sizeof *sum), "predictions");
    size_t filled = 0;
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < field->tiles; ++k) {
        mf_field_cut(job->card, field, k, job->tile);
        rc = job->net.feed(job->net.of, filled++, job->tile);
        if (rc != MF_OK || (filled < job->batch && k + 1 < field->tiles)) continue;
        rc = predict(job, file, filled, job->output);
        for (size_t i = 0; i < filled; ++i) mf_field_add(job->outputs, job->output + i * job->outputs, sum);
        filled = 0;
    }
    mf_field_mean(job->outputs, field->tiles, sum, mean);
    free(sum);
    return rc;
}

static int predict_file(struct job *job, size_t place, float *mean, double *tiles)
{
    const char *file = job->files[place];
    struct mf_field field;
    int rc = agree(job, mf_field_read(&job->reads, place, file, &job->shift, &field));

    if (rc == MF_OK) rc = predict_field(job, file, &field, mean);
    *tiles = (double)field.tiles;
    mf_field_free(&field);
    return rc;
}

/* Answers of a rank about its files, for the others: those that were not refused. */
struct answers {
    size_t count;
    size_t *place; /* [count] among all files */
    float *output; /* [count][outputs] */
    double *tiles; /* [count] */
};

static void answers_free(struct answers *a)
{
    free(a->place);
    free(a->output);
    free(a->tiles);
}

static int predict_own(struct job *job, struct mf_span own, struct answers *a)
{
    size_t k = 0;

    a->place = MF_MUST(calloc(own.count + 1, sizeof *a->place), "predictions");
    a->output = MF_MUST(calloc(own.count * job->outputs + 1, sizeof *a->output), "predictions");
    a->tiles = MF_MUST(calloc(own.count + 1, sizeof *a->tiles), "predictions");
    for (size_t i = 0; i < job->count; ++i) {
        int rc;

        if (job->is_set[i]) continue;
        ++k;
        if (k <= own.first || k > own.first + own.count) continue;
        rc = predict_file(job, i, a->output + a->count * job->outputs, &a->tiles[a->count]);
        if (rc == MF_OK)
            a->place[a->count++] = i;
        else
            MF_TRY(mf_refused_note(&job->refused, i, rc));
    }
    return MF_OK;
}

/* Collective. */
static int share_answers(const struct job *job, const struct answers *own, struct answers *all)
{
    const struct mf_comm *comm = job->crew.sharers;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "predictions");
    void *place = NULL, *output = NULL, *tiles = NULL;
    int rc = mf_comm_gather(comm, own->place, own->count * sizeof *own->place, &place, offset);

    if (rc == MF_OK)
        rc = mf_comm_gather(comm, own->output, own->count * job->outputs * sizeof *own->output, &output, NULL);
    if (rc == MF_OK) rc = mf_comm_gather(comm, own->tiles, own->count * sizeof *own->tiles, &tiles, NULL);
    *all = (struct answers){offset[comm->size] / sizeof *own->place, place, output, tiles};
    free(offset);
    return rc;
}

/* All files that are no datasets. Collective. */
static int predict_files(struct job *job, struct answers *all)
{
    const struct mf_comm *comm = job->crew.sharers;
    struct answers own = {.count = 0};
    size_t files = 0;
    int rc;

    for (size_t i = 0; i < job->count; ++i) files += !job->is_set[i];
    if (files > 1) mf_notes_begin();
    rc = predict_own(job, mf_cut(files, (size_t)comm->size, (size_t)comm->rank), &own);
    if (job->net.stay) job->net.stay(job->net.of);
    rc = mf_agree(job->session->comm, rc);
    mf_notes_end(comm);
    if (rc == MF_OK) rc = share_answers(job, &own, all);
    if (rc == MF_OK) rc = mf_refused_share(comm, &job->refused);
    answers_free(&own);
    return rc;
}

/* -- datasets: ranks share the samples -- */

/* Outputs of samples, one after the other. */
struct outputs {
    struct job *job;
    const char *file;
    float *end;
    int rc;    /* of the batches before */
    int ended; /* the crew agreed on an error, and walks no more */
};

/* Before each batch, and once behind the last one: a rank that cannot read its samples tells the others then. */
static void agree_on_batch(struct outputs *to, int rc)
{
    if (!to->ended) to->rc = agree(to->job, to->rc == MF_OK ? rc : to->rc);
    to->ended = to->rc != MF_OK;
}

static void predict_batch(void *context, const struct mf_batch *batch)
{
    struct outputs *to = context;
    const struct job *job = to->job;

    for (size_t r = 0; r < batch->n; ++r) {
        job->net.feed_input(job->net.of, r, batch->input + r * job->voxels * job->card->dims[3]);
        if (job->net.feed_id) job->net.feed_id(job->net.of, r, batch->id[r]);
    }
    agree_on_batch(to, MF_OK);
    if (!to->ended) to->rc = predict(to->job, to->file, batch->n, to->end);
    to->end += batch->n * job->outputs;
}

static int predict_samples(struct job *job, const struct mf_dataset *set, struct mf_span own, float *output)
{
    uint32_t *id = MF_MUST(malloc((own.count + 1) * sizeof *id), "samples");
    struct outputs to = {job, set->path, output, MF_OK, 0};
    const struct mf_reader_wish wish = reading(job);

    for (size_t i = 0; i < own.count; ++i) id[i] = (uint32_t)(own.first + i);
    agree_on_batch(&to, mf_samples_read(set, job->session->arena, &wish, own.count, id, predict_batch, &to));
    if (job->net.stay) job->net.stay(job->net.of);
    free(id);
    return to.rc;
}

/* Every rank looks at the scale of all samples, and rank 0 notes it. */
static int check_set(struct job *job, size_t place, struct mf_dataset *set)
{
    struct mf_intensity_shift same = {.files = 0}, *shift = job->session->comm->rank == 0 ? &job->shift : &same;
    uint32_t *id;
    int rc;

    MF_TRY(mf_model_card_reads(job->card, set));
    id = MF_MUST(malloc(set->samples * sizeof *id), "samples");
    for (size_t i = 0; i < set->samples; ++i) id[i] = (uint32_t)i;
    rc = mf_intensity_compare_set(job->card, place, set, set->samples, id, shift);
    free(id);
    return rc;
}

/* Collective. */
static int predict_set(struct job *job, size_t place)
{
    const char *file = job->files[place];
    const struct mf_comm *comm = job->session->comm, *sharers = job->crew.sharers;
    struct mf_dataset *set = NULL;
    struct mf_span own;
    float *output = NULL;
    void *all = NULL;
    int rc;

    MF_TRY(mf_dataset_open(comm, file, &set));
    own = mf_cut_grain(set->samples, job->batch, (size_t)sharers->size, (size_t)sharers->rank);
    rc = mf_agree(comm, check_set(job, place, set));
    if (rc == MF_OK && job->net.open_set) rc = job->net.open_set(job->net.of, comm, set);
    if (rc == MF_OK) {
        output = MF_MUST(calloc(own.count * job->outputs + 1, sizeof *output), "predictions");
        rc = mf_agree(comm, predict_samples(job, set, own, output));
    }
    if (rc == MF_OK) rc = mf_comm_gather(sharers, output, own.count * job->outputs * sizeof *output, &all, NULL);
    for (size_t i = 0; rc == MF_OK && i < set->samples; ++i)
        mf_predictions_add(&job->predictions, (struct mf_predicted){file, (long)i, 1, NULL},
                           (float *)all + i * job->outputs);
    free(output);
    free(all);
    mf_dataset_close(set);
    return rc;
}

/* -- all of it -- */

static int look(const char *file, uint8_t *is_set)
{
    struct mf_look *found;
    int is_h5;

    MF_TRY(mf_look_is_h5(file, &is_h5));
    if (!is_h5) return MF_OK;
    found = MF_MUST(calloc(1, sizeof *found), "a file's facts");
    if (mf_look(file, found) == MF_OK) {
        *is_set = (uint8_t)mf_look_is_dataset(found);
        mf_look_free(found);
    }
    free(found);
    return MF_OK; /* who reads it says what is wrong */
}

/* Each file is read by one rank, whose copy must be that of all. FILE or FILE:ARRAY. Collective. */
static int same(const struct mf_comm *comm, const char *given)
{
    const char *array;
    char *file;
    int rc;

    mf_array_split(given, &file, &array);
    rc = mf_same_file(comm, file);
    free(file);
    return rc;
}

static int look_at_all(struct job *job)
{
    const struct mf_comm *comm = job->session->comm;
    int rc = MF_OK;

    job->is_set = MF_MUST(calloc(job->count + 1, 1), "a list");
    for (size_t i = 0; rc == MF_OK && comm->rank == 0 && i < job->count; ++i) rc = look(job->files[i], &job->is_set[i]);
    MF_TRY(mf_agree(comm, rc));
    mf_comm_bcast(comm, 0, job->is_set, job->count);
    for (size_t i = 0; i < job->count; ++i) MF_TRY(same(comm, job->files[i]));
    return MF_OK;
}

static int start(struct job *job, const struct mf_learn *learn)
{
    const struct mf_session *s = job->session;
    const struct mf_crew_wish crew = {(size_t)job->o->stages, job->o->map, (int)job->o->zero};
    const struct mf_model_card *c;

    MF_TRY(mf_infer_check_host(s, wants_host(job->o)));
    MF_TRY(mf_crew_open(s->comm, &crew, &job->crew));
    MF_TRY(job->maker ? job->maker->open(s, job->o, job->model, job->maker->context, &job->net)
                      : mf_agree(s->comm, load_task(job, learn)));
    MF_TRY(look_at_all(job));
    if (!job->maker) MF_TRY(open_model(job));
    job->card = c = job->net.card;
    job->reads = (struct mf_field_wish){.card = c,
                                        .threshold = job->o->threshold,
                                        .dataset = job->o->dataset,
                                        .labels = &job->o->labels,
                                        .arena = s->arena};
    MF_TRY(mf_field_check(&job->reads));
    job->outputs = job->predictions.outputs = job->net.outputs;
    job->voxels = c->dims[0] * c->dims[1] * c->dims[2];
    job->tile = MF_MUST(malloc(mf_field_tile(c)), "a tile");
    job->output = MF_MUST(calloc(job->batch * job->outputs, sizeof *job->output), "predictions");
    return MF_OK;
}

/* In the order of the files. */
static int predict_all(struct job *job)
{
    struct answers files = {.count = 0};
    size_t k = 0;
    int rc = predict_files(job, &files);

    for (size_t i = 0; rc == MF_OK && i < job->count; ++i) {
        if (job->is_set[i]) {
            rc = predict_set(job, i);
            if (rc != MF_OK) rc = mf_refused_note(&job->refused, i, rc);
        } else if (k < files.count && files.place[k] == i) {
            mf_predictions_add(&job->predictions, (struct mf_predicted){job->files[i], -1, files.tiles[k], NULL},
                               files.output + k * job->outputs);
            ++k;
        }
    }
    answers_free(&files);
    return rc;
}

/* Shows the answers of all files that were not refused. Collective. */
static int show(struct job *job)
{
    const struct mf_session *s = job->session;
    const char *output = mf_common_of(s)->output;

    if (job->predictions.lines == 0) return MF_OK;
    if (mf_common_of(s)->json) MF_TRY(mf_peaks_of(s, &job->peaks));
    if (mf_common_of(s)->json) job->predictions.peaks = &job->peaks;
    if (output)
        MF_TRY(mf_predict_table(s->comm, output, job->maker ? job->maker->put : mf_predictions_put, &job->predictions));
    if (s->comm->rank != 0) return mf_agree(s->comm, MF_OK);
    return mf_agree(s->comm, (job->maker ? job->maker->print : mf_predictions_print)(&job->predictions));
}

static int infer(struct job *job, const struct mf_learn *learn)
{
    const struct mf_session *s = job->session;
    const char *output = mf_common_of(s)->output;

    MF_TRY(mf_session_may_write(s, output, ".csv"));
    if (output) MF_TRY(mf_session_spares(s, output, 1, &job->model));
    if (output) MF_TRY(mf_session_spares(s, output, job->count, job->files));
    MF_TRY(start(job, learn));
    MF_TRY(predict_all(job));
    MF_TRY(mf_intensity_warn(job->crew.sharers, &job->shift));
    MF_TRY(show(job));
    return mf_refused_end(&job->refused, job->count);
}

int mf_infer_run(struct mf_session *session, const void *options, const struct mf_learn *learn,
                 const struct mf_infer_maker *maker)
{
    struct job job = {.session = session, .o = options, .maker = maker};
    const char *const *words;
    int rc;

    job.count = mf_arguments(session, &words) - 1;
    job.model = words[0];
    job.files = words + 1;
    job.batch = (size_t)job.o->batch;
    job.predictions = (struct mf_predictions){.session = session,
                                              .model = job.model,
                                              .task = &job.task,
                                              .plan = &job.plan,
                                              .files = job.files,
                                              .refused = &job.refused,
                                              .context = maker ? maker->context : NULL};
    rc = infer(&job, learn);
    mf_task_close(&job.task);
    mf_model_close(job.run);
    mf_crew_close(&job.crew);
    mf_run_plan_free(&job.plan);
    mf_peaks_free(&job.peaks);
    mf_predictions_free(&job.predictions);
    mf_refused_free(&job.refused);
    free(job.is_set);
    free(job.tile);
    free(job.output);
    return rc;
}

int mf_infer_check(const struct mf_session *session, const void *options, const char *verb)
{
    const struct mf_infer_cmd *o = options;
    const char *const *words;
    const size_t n = mf_arguments(session, &words);

    if (n < 2)
        return mf_fail(MF_USAGE, "no %s; try: mesoforge %s run/model.safetensors FILE", n ? "file" : "model", verb);
    if (mf_options_knows(mf_options_of(session), "pp") && mf_given(session, "pp") && o->stages < 1)
        return mf_fail(MF_USAGE, "--pp %ld: it must be at least 1", o->stages);
    MF_TRY(mf_infer_check_streams(session, o->zero, o->offload, o->map));
    return mf_predict_check(session, verb, o->batch);
}
