/* serve: a network of ours, which predicts classes or values of images. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/log_divert.h"
#include "src/base/text.h"
#include "src/cmd/learn/field.h"
#include "src/cmd/learn/infer_show.h"
#include "src/cmd/learn/serve.h"
#include "src/cmd/unused.h"
#include "src/model/model.h"
#include "src/serve/answers.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

enum { BATCH = 128 /* images of a request */, SECONDS = 1 /* of processor time, for the header of an image */ };

struct own {
    struct mf_model_card card;
    struct mf_task task;
    struct mf_model *run;
    struct mf_field_wish reads;
    size_t outputs;
    void *tile;
    float *output; /* [outputs] */
    struct mf_json *facts;
};

/* -- the model -- */

static const struct mf_model_wish wish = {.batch = 1}; /* see answers.h */

static void find_facts(struct own *own)
{
    own->facts = mf_json_object();
    mf_predictor_facts(&own->card, &own->task, own->facts);
}

static int check_options(const struct mf_serve *job)
{
    const struct own *own = job->own;

    if (job->session->comm->size > 1)
        return mf_fail(MF_USAGE, "one rank serves a network of train, and %d run", job->session->comm->size);
    if (!own->task.learn->show || !own->task.learn->show->reply)
        return mf_fail(MF_USAGE, "'%s' is a model of train %s, which predicts nothing of an image alone", job->folder,
                       own->task.learn->name);
    MF_UNUSED(job->session, "the model predicts of images, on one rank", "max-input-tokens", "max-total-tokens",
              "chat-template", "pool", "tp", "pp", "map", "zero", "offload-weights", "dtype", "keep", "plan");
    return mf_field_check(&own->reads);
}

static int prepare(struct mf_serve *job)
{
    struct own *own = job->own = MF_MUST(calloc(1, sizeof *own), "a server");
    struct mf_served *s = &job->served;

    MF_TRY(mf_model_card_open(job->folder, &own->card));
    MF_TRY(mf_task_load(&own->card, &own->task));
    own->reads = (struct mf_field_wish){
        .card = &own->card, .threshold = job->o->threshold, .labels = &job->o->labels, .arena = job->session->arena};
    MF_TRY(check_options(job));
    own->outputs = own->card.outputs.count;
    find_facts(own);
    s->kind = MF_ASK_ANSWER;
    s->family = own->card.arch->name;
    s->type = mf_type_name(MF_F32);
    s->requests = (size_t)job->o->requests;
    s->batch = BATCH;
    s->facts = own->facts;
    return MF_OK;
}

/* Bytes of the network. Cores are device and host: then the host has 0. */
static int find_bytes(const struct mf_serve *job, size_t *device, size_t *host)
{
    const struct own *own = job->own;
    struct mf_model_needs needs;

    MF_TRY(mf_model_foresee(&own->card, &wish, job->session->queue, &needs));
    *device = needs.device;
    *host = needs.host;
    if (mf_apart(job->session->queue)) return MF_OK;
    *device += *host;
    *host = 0;
    return MF_OK;
}

static int count(struct mf_serve *job)
{
    size_t device, host;

    MF_TRY(find_bytes(job, &device, &host));
    return mf_serve_count(job, device, host);
}

/* A server that answers has made a pass. */
static int open(struct mf_serve *job)
{
    struct own *own = job->own;

    MF_TRY(mf_model_open_as(job->folder, &wish, job->session->queue, &own->run));
    own->tile = MF_MUST(calloc(1, mf_field_tile(&own->card)), "a tile");
    own->output = MF_MUST(calloc(own->outputs, sizeof *own->output), "predictions");
    mf_model_walk(own->run, 1);
    return MF_OK;
}

/* -- images -- */

struct image {
    const struct mf_serve *job;
    const char *name; /* of the request */
    struct mf_field field;
    double *sum; /* [outputs] */
    struct mf_json *notes;
    char path[40];
};

/* Writes @p text with @p word in the place of each @p path. */
static void replace(const char *text, const char *path, const char *word, struct mf_bytes *to)
{
    const size_t n = strlen(path);
    const char *at;

    to->count = 0;
    for (; (at = strstr(text, path)); text = at + n) {
        mf_bytes_put(to, text, (size_t)(at - text));
        mf_bytes_put(to, word, strlen(word));
    }
    mf_bytes_put(to, text, strlen(text) + 1);
}

/* A sentence for the client names the image as it did, and no file of the server. The caller frees. */
static char *renamed(const struct image *i, const char *sentence)
{
    const struct own *own = i->job->own;
    struct mf_bytes half = {0}, to = {0};

    replace(sentence, own->card.path, i->job->served.model, &half);
    replace(half.at, i->path, i->name, &to);
    mf_bytes_free(&half);
    return to.at;
}

static void take_line(void *image, enum mf_log_level level, const char *line)
{
    struct image *i = image;
    char *text;

    if (level != MF_WARN) return;
    text = renamed(i, line);
    mf_json_text(i->notes, NULL, text);
    free(text);
}

/* The image as a file in memory, which no other process sees. Readers of files want a path. */
static int make_file(const struct mf_bytes *bytes, struct image *i, int *file)
{
    *file = memfd_create("image", MFD_CLOEXEC);
    if (*file < 0) return mf_fail(MF_MEMORY, "no memory for the image");
    snprintf(i->path, sizeof i->path, "/proc/self/fd/%d", *file);
    return mf_write_at(*file, i->path, bytes->at, bytes->count, 0);
}

static int read_file(struct image *i)
{
    const struct own *own = i->job->own;
    const size_t most = (size_t)i->job->o->voxels;
    struct mf_intensity_shift shift = {.files = 0};
    struct mf_comm self;

    mf_guard_limit(SECONDS, ((size_t)256 << 20) + 32 * most);
    MF_TRY(mf_field_limit(&own->card, i->path, most));
    MF_TRY(mf_field_read(&own->reads, 0, i->path, &shift, &i->field));
    mf_comm_self(&self);
    return mf_intensity_warn(&self, &shift);
}

static void close_image(void *context, void *image)
{
    struct image *i = image;

    (void)context;
    mf_field_free(&i->field);
    mf_json_free(i->notes);
    free(i->sum);
    free(i);
}

/* Refuses by the client's name of the image. */
static int blame(const struct image *i, int rc)
{
    char *text = renamed(i, mf_err_text());

    rc = mf_fail(rc, "%s", text);
    free(text);
    return rc;
}

static int open_image(void *context, const struct mf_ask_prompt *prompt, struct mf_answers_image *to)
{
    const struct mf_serve *job = context;
    const struct own *own = job->own;
    struct image *i = MF_MUST(calloc(1, sizeof *i), "an image");
    int file, rc;

    i->job = job;
    i->name = prompt->name;
    i->notes = mf_json_array();
    i->sum = MF_MUST(calloc(own->outputs, sizeof *i->sum), "predictions");
    rc = make_file(&prompt->image, i, &file);
    mf_log_divert(take_line, i);
    if (rc == MF_OK) rc = read_file(i);
    mf_log_divert(NULL, NULL);
    if (file >= 0) (void)close(file);
    if (rc != MF_OK) {
        rc = blame(i, rc);
        close_image(NULL, i);
        return rc;
    }
    *to = (struct mf_answers_image){.own = i, .parts = i->field.tiles};
    return MF_OK;
}

static int pass(void *context, void *image, size_t k)
{
    const struct mf_serve *job = context;
    const struct own *own = job->own;
    struct image *i = image;
    int rc;

    mf_field_cut(&own->card, &i->field, k, own->tile);
    MF_TRY(mf_model_feed(own->run, 0, own->tile)); /* it names no file */
    mf_model_walk(own->run, 1);
    rc = mf_model_output(own->run, 1, own->output);
    if (rc == MF_NUMERIC) return mf_fail(rc, "the model predicts no number of '%s': its output overflows", i->name);
    if (rc == MF_OK) mf_field_add(own->outputs, own->output, i->sum);
    return rc;
}

static struct mf_json *say(void *context, void *image, struct mf_json **notes)
{
    const struct mf_serve *job = context;
    const struct own *own = job->own;
    struct image *i = image;
    float *mean = MF_MUST(malloc(own->outputs * sizeof *mean), "predictions");
    const struct mf_predicted said = {.file = i->name, .sample = -1, .tiles = (double)i->field.tiles, .output = mean};
    struct mf_json *answer;

    mf_field_mean(own->outputs, i->field.tiles, i->sum, mean);
    answer = mf_predicted_json(&own->task, &said);
    free(mean);
    *notes = i->notes;
    i->notes = NULL;
    return answer;
}

/* -- serving -- */

static int run(struct mf_serve *job, const struct mf_jobs_wish *jobs)
{
    const struct mf_answers_by by = {
        .open = open_image, .pass = pass, .say = say, .close = close_image, .context = job};

    mf_answers_run(&(const struct mf_answers_wish){.by = by, .images = job->served.requests, .jobs = *jobs});
    return MF_OK;
}

static void close_own(struct mf_serve *job)
{
    struct own *own = job->own;

    if (!own) return;
    mf_model_close(own->run);
    mf_task_close(&own->task);
    mf_model_card_close(&own->card);
    mf_json_free(own->facts);
    free(own->tile);
    free(own->output);
    free(own);
}

const struct mf_serve_kind mf_serve_predict = {.does = "predicts of images, by /predict",
                                               .dialects = MF_DIALECT_OWN,
                                               .body = 16 << 20,
                                               .prepare = prepare,
                                               .count = count,
                                               .open = open,
                                               .run = run,
                                               .close = close_own};
