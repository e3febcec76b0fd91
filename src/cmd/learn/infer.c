/* See infer.h. */
#include "src/cmd/learn/infer.h"

#include <stdlib.h>

#include "io/array.h"
#include "io/look.h"
#include "io/notes.h"
#include "io/same_file.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/base/room.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/field.h"
#include "src/cmd/learn/infer_model.h"
#include "src/cmd/learn/intensity.h"
#include "src/cmd/learn/predict.h"
#include "src/cmd/log_view.h"
#include "src/cmd/refused.h"
#include "src/model/model.h"

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

/* A question to a model. */
struct job {
    struct mf_session *session;
    const struct mf_infer_cmd *o;
    struct mf_infer_model *m;
    const char *const *files;
    size_t count; /* of files */
    uint8_t *is_set;
    struct mf_peaks peaks;
    struct mf_field_wish reads;
    struct mf_intensity_shift shift;
    struct mf_refused refused;
    struct mf_predictions predictions;
};

static struct mf_reader_wish reading(const struct job *job)
{
    return (struct mf_reader_wish){.threads = 1, .ahead = 2, .batch = job->m->batch, .input = 1};
}

/* The ranks of a crew walk together, or none does: an error of one is that of all. Collective among them. */
static int agree(const struct job *job, int rc)
{
    return job->m->crew.stages > 1 ? mf_agree(&job->m->crew.own, rc) : rc;
}

/* Answers of the rows that the model was given. Collective in the crew. */
static int predict(struct job *job, size_t n, float *output)
{
    const int rc = agree(job, mf_pulse("predictions"));

    return rc == MF_OK ? job->m->net.answer(job->m->net.of, n, output) : rc;
}

/* Names the file where the sentence of a network names none. */
static int blame(const struct job *job, const char *file, int rc)
{
    if (rc != MF_NUMERIC) return rc;
    mf_err_clear();
    return mf_fail(rc, "the model of '%s' predicts no number of '%s': its output overflows", job->m->path, file);
}

/* -- files: ranks share them, each reads its own alone -- */

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

/* Tiles of files that follow each other are rows of the same walks. */
struct rows {
    struct job *job;
    size_t filled, *file; /* [batch] number of a row's file among all */
    double *sum, *tiles;  /* [files][outputs], [files]; tiles 0: it was refused, or is another rank's */
};

static int refuse(struct rows *r, size_t file, int rc)
{
    r->tiles[file] = 0;
    return mf_refused_note(&r->job->refused, file, rc);
}

/* A file one of whose outputs is not finite is refused. */
static int add_rows(struct rows *r)
{
    const size_t n = r->job->m->outputs;

    for (size_t i = 0; i < r->filled; ++i) {
        const float *output = r->job->m->output + i * n;
        const size_t file = r->file[i];

        if (r->tiles[file] == 0) continue;
        if (mf_outputs_finite(n, output))
            mf_field_add(n, output, r->sum + file * n);
        else
            MF_TRY(refuse(r, file, blame(r->job, r->job->files[file], MF_NUMERIC)));
    }
    return MF_OK;
}

static int walk(struct rows *r)
{
    int rc = r->filled ? predict(r->job, r->filled, r->job->m->output) : MF_OK;

    if (rc == MF_NUMERIC) {
        mf_err_clear();
        rc = MF_OK;
    }
    if (rc == MF_OK) rc = add_rows(r);
    r->filled = 0;
    return rc;
}

static int add_tiles(struct rows *r, size_t file, const struct mf_field *field)
{
    const struct mf_infer_model *m = r->job->m;

    for (size_t k = 0; k < field->tiles && r->tiles[file] > 0; ++k) {
        const int rc = (mf_field_cut(m->card, field, k, m->tile), m->net.feed(m->net.of, r->filled, m->tile));

        if (rc != MF_OK) return refuse(r, file, rc);
        r->file[r->filled++] = file;
        if (r->filled == m->batch) MF_TRY(walk(r));
    }
    return MF_OK;
}

/* Rows of experts share products, whose sizes round: such files do not share walks. */
static int add_file(struct rows *r, size_t file)
{
    struct job *job = r->job;
    struct mf_field field;
    int rc = agree(job, mf_field_read(&job->reads, file, job->files[file], &job->shift, &field));

    r->tiles[file] = (double)field.tiles;
    rc = rc == MF_OK ? add_tiles(r, file, &field) : refuse(r, file, rc);
    mf_field_free(&field);
    return rc == MF_OK && job->m->card->args.list ? walk(r) : rc;
}

static int add_files(struct rows *r, struct mf_span own)
{
    const struct job *job = r->job;
    size_t k = 0;

    for (size_t i = 0; i < job->count; ++i) {
        if (job->is_set[i]) continue;
        if (k >= own.first && k < own.first + own.count) MF_TRY(add_file(r, i));
        ++k;
    }
    return walk(r);
}

static void take_answers(const struct rows *r, struct answers *a)
{
    const size_t n = r->job->m->outputs;

    for (size_t i = 0; i < r->job->count; ++i) {
        if (r->tiles[i] == 0) continue;
        a->place[a->count] = i;
        a->tiles[a->count] = r->tiles[i];
        mf_field_mean(n, (size_t)r->tiles[i], r->sum + i * n, a->output + a->count * n);
        ++a->count;
    }
}

static int rows_open(struct job *job, size_t own, struct rows *r, struct answers *a)
{
    const size_t n = job->m->outputs;

    MF_TRY(MF_ROOM(r->file, job->m->batch, "the files of a batch"));
    MF_TRY(MF_ROOM(r->sum, job->count * n + 1, "the predictions of %zu files", job->count));
    MF_TRY(MF_ROOM(r->tiles, job->count + 1, "the predictions of %zu files", job->count));
    MF_TRY(MF_ROOM(a->place, own + 1, "the predictions of %zu files", own));
    MF_TRY(MF_ROOM(a->output, own * n + 1, "the predictions of %zu files", own));
    return MF_ROOM(a->tiles, own + 1, "the predictions of %zu files", own);
}

static void rows_close(struct rows *r)
{
    free(r->file);
    free(r->sum);
    free(r->tiles);
}

/* Collective. */
static int share_answers(const struct job *job, const struct answers *own, struct answers *all)
{
    const struct mf_comm *comm = job->m->crew.sharers;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "predictions");
    void *place = NULL, *output = NULL, *tiles = NULL;
    int rc = mf_comm_gather(comm, own->place, own->count * sizeof *own->place, &place, offset);

    if (rc == MF_OK)
        rc = mf_comm_gather(comm, own->output, own->count * job->m->outputs * sizeof *own->output, &output, NULL);
    if (rc == MF_OK) rc = mf_comm_gather(comm, own->tiles, own->count * sizeof *own->tiles, &tiles, NULL);
    *all = (struct answers){offset[comm->size] / sizeof *own->place, place, output, tiles};
    free(offset);
    return rc;
}

/* All files that are no datasets. Collective. */
static int predict_files(struct job *job, struct answers *all)
{
    const struct mf_comm *comm = job->m->crew.sharers;
    struct answers own = {.count = 0};
    struct rows r = {.job = job};
    struct mf_span span;
    size_t files = 0;
    int rc;

    for (size_t i = 0; i < job->count; ++i) files += !job->is_set[i];
    span = mf_cut(files, (size_t)comm->size, (size_t)comm->rank);
    rc = mf_agree(job->session->comm, rows_open(job, span.count, &r, &own));
    if (files > 1) mf_notes_begin();
    if (rc == MF_OK) {
        rc = add_files(&r, span);
        if (rc == MF_OK) take_answers(&r, &own);
        if (job->m->net.stay) job->m->net.stay(job->m->net.of);
        rc = mf_agree(job->session->comm, rc);
    }
    mf_notes_end(comm);
    if (rc == MF_OK) rc = share_answers(job, &own, all);
    if (rc == MF_OK) rc = mf_refused_share(comm, &job->refused);
    rows_close(&r);
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
        job->m->net.feed_input(job->m->net.of, r, batch->input + r * job->m->voxels * job->m->card->dims[3]);
        if (job->m->net.feed_id) job->m->net.feed_id(job->m->net.of, r, batch->id[r]);
    }
    agree_on_batch(to, MF_OK);
    if (!to->ended) to->rc = blame(to->job, to->file, predict(to->job, batch->n, to->end));
    to->end += batch->n * job->m->outputs;
}

static int predict_samples(struct job *job, const struct mf_dataset *set, struct mf_span own, uint32_t *id,
                           float *output)
{
    struct outputs to = {job, set->path, output, MF_OK, 0};
    const struct mf_reader_wish wish = reading(job);

    for (size_t i = 0; i < own.count; ++i) id[i] = (uint32_t)(own.first + i);
    agree_on_batch(&to, mf_samples_read(set, job->session->arena, &wish, own.count, id, predict_batch, &to));
    if (job->m->net.stay) job->m->net.stay(job->m->net.of);
    return to.rc;
}

/* Every rank looks at the scale of all samples, and rank 0 notes it. */
static int check_set(struct job *job, size_t place, struct mf_dataset *set)
{
    struct mf_intensity_shift same = {.files = 0}, *shift = job->session->comm->rank == 0 ? &job->shift : &same;
    uint32_t *id;
    int rc;

    MF_TRY(mf_model_card_reads(job->m->card, set));
    MF_TRY(MF_ROOM(id, set->samples, "the samples of '%.300s'", set->path));
    for (size_t i = 0; i < set->samples; ++i) id[i] = (uint32_t)i;
    rc = mf_intensity_compare_set(job->m->card, place, set, set->samples, id, shift);
    free(id);
    return rc;
}

/* Collective. */
static int predict_set(struct job *job, size_t place)
{
    const char *file = job->files[place];
    const struct mf_comm *comm = job->session->comm, *sharers = job->m->crew.sharers;
    struct mf_dataset *set = NULL;
    struct mf_span own;
    float *output = NULL;
    uint32_t *id = NULL;
    void *all = NULL;
    int rc;

    MF_TRY(mf_dataset_open(comm, file, &set));
    own = mf_cut_grain(set->samples, job->m->batch, (size_t)sharers->size, (size_t)sharers->rank);
    rc = mf_agree(comm, check_set(job, place, set));
    if (rc == MF_OK && job->m->net.open_set) rc = job->m->net.open_set(job->m->net.of, comm, set);
    if (rc == MF_OK) {
        rc = MF_ROOM(output, own.count * job->m->outputs + 1, "the predictions of '%.300s'", file);
        if (rc == MF_OK) rc = MF_ROOM(id, own.count + 1, "the samples of '%.300s'", file);
        rc = mf_agree(comm, rc);
    }
    if (rc == MF_OK) rc = mf_agree(comm, predict_samples(job, set, own, id, output));
    if (rc == MF_OK) rc = mf_comm_gather(sharers, output, own.count * job->m->outputs * sizeof *output, &all, NULL);
    for (size_t i = 0; rc == MF_OK && i < set->samples; ++i)
        rc = mf_predictions_add(&job->predictions, (struct mf_predicted){file, (long)i, 1, NULL},
                                (float *)all + i * job->m->outputs);
    rc = mf_agree(comm, rc);
    free(id);
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

    rc = mf_agree(comm, MF_ROOM(job->is_set, job->count + 1, "%zu files", job->count));
    for (size_t i = 0; rc == MF_OK && comm->rank == 0 && i < job->count; ++i) rc = look(job->files[i], &job->is_set[i]);
    MF_TRY(mf_agree(comm, rc));
    mf_comm_bcast(comm, 0, job->is_set, job->count);
    for (size_t i = 0; i < job->count; ++i) MF_TRY(same(comm, job->files[i]));
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
            rc = mf_agree(job->session->comm,
                          mf_predictions_add(&job->predictions,
                                             (struct mf_predicted){job->files[i], -1, files.tiles[k], NULL},
                                             files.output + k * job->m->outputs));
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
        MF_TRY(mf_predict_table(s->comm, output, job->m->maker ? job->m->maker->put : mf_predictions_put,
                                &job->predictions));
    if (s->comm->rank != 0) return mf_agree(s->comm, MF_OK);
    return mf_agree(s->comm, (job->m->maker ? job->m->maker->print : mf_predictions_print)(&job->predictions));
}

/* Bytes of the readers of a set, of which one is read at a time. A set that cannot be opened is refused later. */
static size_t readers_of(const struct job *job, const char *file)
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

/* Bytes beside a model whose weights are elsewhere. */
static size_t beside(const struct job *job)
{
    size_t bytes = 0;

    for (size_t i = 0; mf_infer_model_streams(job->m) && i < job->count; ++i)
        if (job->is_set[i]) bytes = mf_max(bytes, readers_of(job, job->files[i]));
    return bytes;
}

static int check_output(const struct job *job)
{
    const struct mf_session *s = job->session;
    const char *output = mf_common_of(s)->output;

    MF_TRY(mf_session_may_write(s, output, ".csv"));
    if (!output) return MF_OK;
    MF_TRY(mf_session_spares(s, output, 1, &job->m->path));
    return mf_session_spares(s, output, job->count, job->files);
}

/* The model is ready. */
static int ask(struct job *job, const struct mf_infer_taker *taker)
{
    job->reads = (struct mf_field_wish){.card = job->m->card,
                                        .threshold = job->o->threshold,
                                        .dataset = job->o->dataset,
                                        .labels = &job->o->labels,
                                        .arena = job->session->arena};
    job->predictions.outputs = job->m->outputs;
    MF_TRY(mf_field_check(&job->reads));
    MF_TRY(predict_all(job));
    MF_TRY(mf_intensity_warn(job->m->crew.sharers, &job->shift));
    MF_TRY(show(job));
    MF_TRY(mf_refused_end(&job->refused, job->count));
    return taker ? taker->take(taker->context, &job->predictions) : MF_OK;
}

static struct job job_of(struct mf_infer_model *m, const struct mf_infer_cmd *o, const char *const *files, size_t count)
{
    return (struct job){.session = m->session, .o = o, .m = m, .files = files, .count = count};
}

/* @p job is where it stays. */
static void begin(struct job *job)
{
    const struct mf_infer_model *m = job->m;

    job->predictions = (struct mf_predictions){.session = job->session,
                                               .model = m->path,
                                               .task = &m->task,
                                               .plan = &m->plan,
                                               .files = job->files,
                                               .refused = &job->refused,
                                               .context = m->maker ? m->maker->context : NULL};
}

static void end(struct job *job)
{
    mf_peaks_free(&job->peaks);
    mf_predictions_free(&job->predictions);
    mf_refused_free(&job->refused);
    free(job->is_set);
}

int mf_infer_ask(struct mf_infer_model *model, const void *options, const char *const *files, size_t count,
                 const struct mf_infer_taker *taker)
{
    struct job job = job_of(model, options, files, count);
    int rc;

    begin(&job);
    rc = check_output(&job);
    if (rc == MF_OK && model->net.open_set) rc = model->net.open_set(model->net.of, job.session->comm, NULL);
    if (rc == MF_OK) rc = look_at_all(&job);
    if (rc == MF_OK) rc = ask(&job, taker);
    end(&job);
    return rc;
}

static int infer(struct job *job, const struct mf_learn *learn)
{
    MF_TRY(check_output(job));
    MF_TRY(mf_infer_model_begin(job->m, learn));
    MF_TRY(look_at_all(job));
    MF_TRY(mf_infer_model_load(job->m, beside(job)));
    return ask(job, NULL);
}

int mf_infer_run(struct mf_session *session, const void *options, const struct mf_learn *learn,
                 const struct mf_infer_maker *maker)
{
    struct mf_infer_model model = {.session = session, .o = options, .maker = maker};
    const char *const *words;
    const size_t count = mf_arguments(session, &words);
    struct job job = job_of(&model, options, words + 1, count - 1);
    int rc;

    model.path = words[0];
    begin(&job);
    rc = infer(&job, learn);
    mf_infer_model_close(&model);
    end(&job);
    return rc;
}

int mf_infer_check_loading(const struct mf_session *session, const void *options)
{
    const struct mf_infer_cmd *o = options;

    if (mf_options_has(mf_options_of(session), "pp") && o->stages < 1)
        return mf_fail(MF_USAGE, "--pp %ld: it must be at least 1", o->stages);
    MF_TRY(mf_infer_check_streams(session, o->zero, o->offload, o->map));
    return mf_predict_check(session, mf_options_verb(mf_options_of(session)), o->batch);
}

int mf_infer_check(const struct mf_session *session, const void *options, const char *verb)
{
    const char *const *words;
    const size_t n = mf_arguments(session, &words);

    if (n < 2)
        return mf_fail(MF_USAGE, "no %s; try: mesoforge %s run/model.safetensors FILE", n ? "file" : "model", verb);
    return mf_infer_check_loading(session, options);
}
