/* See model.h. */
#include "src/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/weights.h"
#include "src/net/pass.h"

struct mf_model {
    struct mf_model_card own;         /* of a file */
    const struct mf_model_card *card; /* that, or the caller's */
    size_t batch, each;               /* each: numbers of a sample's input */
    struct mf_queue *queue;
    struct mf_net *net;
    struct mf_list *list;
    struct mf_walk *walk;
    int x, y;                /* values [batch][..], [batch][outputs] */
    struct mf_layout layout; /* all zero: nothing is trained */
    struct mf_sample_form form;
    double mean[MF_CHANNELS_MAX], deviation[MF_CHANNELS_MAX];
    float *input; /* [batch][each] of the next walk */
};

/* -- opening -- */

static int build(struct mf_model *m)
{
    const struct mf_model_card *c = m->card;
    const size_t *d = c->dims;
    const struct mf_shape x = {.type = MF_F32, .n = 5, .d = {m->batch, d[0], d[1], d[2], d[3]}};
    const struct mf_arch_args args = mf_arch_settled(&c->args);
    struct mf_build b;

    MF_TRY(mf_arch_answers(c->arch));
    m->net = mf_net_new();
    m->list = mf_list_new(m->net, "answer");
    b = (struct mf_build){.list = m->list};
    m->x = mf_build_input(&b, "x", x);
    m->y = c->arch->forward(&b, m->x, &args, c->outputs.count);
    MF_TRY(mf_build_end(&b));
    m->net->value[m->y].kept = 1;
    mf_pass_fuse(m->list, MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
    MF_TRY(mf_pass_plan(m->list, m->queue));
    mf_pass_live(m->net);
    return mf_walk_open(&m->walk, m->net, m->queue, MF_WALK_PLANNED, NULL);
}

/* How samples become input. */
static void find_form(struct mf_model *m)
{
    const struct mf_model_card *c = m->card;

    for (size_t k = 0; !c->phases && k < c->dims[3]; ++k) {
        const struct mf_channel channel = mf_model_card_channel(c, k);

        m->mean[k] = channel.mean;
        m->deviation[k] = channel.deviation;
    }
    m->form = (struct mf_sample_form){.voxels = c->dims[0] * c->dims[1] * c->dims[2],
                                      .channels = c->dims[3],
                                      .phases = c->phases,
                                      .is_float = !c->phases,
                                      .mean = m->mean,
                                      .deviation = m->deviation};
    m->each = m->form.voxels * m->form.channels;
    m->input = MF_MUST(calloc(m->batch * m->each, sizeof *m->input), "samples of a walk");
}

static struct mf_weights weights_of(const struct mf_model *m)
{
    return (struct mf_weights){m->net, m->walk, m->list, m->queue, &m->layout, NULL, 1};
}

static struct mf_model *new_model(size_t batch, struct mf_queue *queue)
{
    struct mf_model *m = MF_MUST(calloc(1, sizeof *m), "a model");

    m->card = &m->own;
    m->batch = batch;
    m->queue = queue;
    return m;
}

static int open_file(struct mf_model *m, const char *path)
{
    struct mf_weights w;

    MF_TRY(mf_model_card_open(path, &m->own));
    if (m->own.outputs.count == 0) return mf_model_card_refuse(&m->own, "classes"); /* or columns */
    MF_TRY(build(m));
    w = weights_of(m);
    MF_TRY(mf_weights_load(&w, m->own.file, NULL));
    find_form(m);
    return MF_OK;
}

/* Gives the model to the caller, or back. */
static int give(int rc, struct mf_model *m, struct mf_model **model)
{
    *model = rc == MF_OK ? m : NULL;
    if (rc != MF_OK) mf_model_close(m);
    return rc;
}

int mf_model_open(const char *path, size_t batch, struct mf_queue *queue, struct mf_model **model)
{
    struct mf_model *m = new_model(batch, queue);

    return give(open_file(m, path), m, model);
}

int mf_model_make(const struct mf_model_card *card, uint64_t seed, size_t batch, struct mf_queue *queue,
                  struct mf_model **model)
{
    struct mf_model *m = new_model(batch, queue);
    struct mf_weights w;
    int rc;

    m->card = card;
    rc = build(m);
    if (rc == MF_OK) {
        w = weights_of(m);
        mf_weights_start(&w, seed);
        find_form(m);
    }
    return give(rc, m, model);
}

void mf_model_close(struct mf_model *m)
{
    if (!m) return;
    mf_walk_close(m->walk);
    if (m->list) mf_list_release(m->list, m->queue);
    if (m->net) mf_net_free(m->net);
    mf_model_card_close(&m->own);
    free(m->input);
    free(m);
}

const struct mf_model_card *mf_model_says(const struct mf_model *m) { return m->card; }

size_t mf_model_parameters(const struct mf_model *m) { return mf_weights_count(m->net, 0); }

/* -- running -- */

int mf_model_feed(struct mf_model *m, size_t row, const void *sample)
{
    if (mf_sample_convert(&m->form, sample, m->input + row * m->each)) return MF_OK;
    if (!m->card->phases) return mf_fail(MF_INPUT, "a sample holds a value that is not a finite number");
    return mf_fail(MF_INPUT, "a sample holds a value that is none of the model's %d phases", m->card->phases);
}

void mf_model_feed_input(struct mf_model *m, size_t row, const float *input)
{
    memcpy(m->input + row * m->each, input, m->each * sizeof *input);
}

void mf_model_walk(struct mf_model *m, size_t n)
{
    memset(m->input + n * m->each, 0, (m->batch - n) * m->each * sizeof *m->input);
    m->queue->backend->put(m->queue, mf_walk_at(m->walk, m->list, m->x), m->input,
                           m->batch * m->each * sizeof *m->input);
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)n;
    mf_walk_run(m->walk, m->list);
}

int mf_model_output(struct mf_model *m, size_t n, float *answer)
{
    const struct mf_outputs *o = &m->card->outputs;

    m->queue->backend->get(m->queue, answer, mf_walk_at(m->walk, m->list, m->y), n * o->count * sizeof *answer);
    m->queue->backend->sync(m->queue);
    mf_outputs_units(o, n, answer);
    for (size_t i = 0; i < n * o->count; ++i)
        if (!isfinite(answer[i])) return mf_fail(MF_NUMERIC, "the model predicts no number: its output overflows");
    mf_outputs_shares(o, n, answer);
    return MF_OK;
}

int mf_model_save(const struct mf_model *m, const char *path)
{
    const struct mf_weights w = weights_of(m);
    const char *metadata[] = {"format", "pt", "mesoforge", NULL, NULL};
    struct mf_json *json;
    char *text;
    int rc;

    if (!m->card->outputs.name)
        return mf_fail(MF_USAGE, "cannot save a model to '%s': its outputs have no names; give them in its card", path);
    json = m->card->json ? NULL : mf_model_card_json(m->card);
    metadata[3] = text = mf_json_string(json ? json : m->card->json);
    rc = mf_weights_save(&w, path, metadata);
    free(text);
    mf_json_free(json);
    return rc;
}
