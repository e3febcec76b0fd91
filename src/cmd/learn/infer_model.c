/* See infer_model.h. */
#include "src/cmd/learn/infer_model.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/field.h"
#include "src/cmd/learn/infer_work.h"
#include "src/model/model.h"
#include "src/place/pipeline.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

int mf_infer_model_streams(const struct mf_infer_model *m) { return m->o->offload || m->crew.wish.zero; }

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

/* -- the network of a crew -- */

static int feed(void *of, size_t row, const void *sample)
{
    const struct mf_infer_model *m = of;

    return mf_model_feed(m->run, row, sample);
}

static void feed_input(void *of, size_t row, const float *input)
{
    const struct mf_infer_model *m = of;

    mf_model_feed_input(m->run, row, input);
}

static int answer(void *of, size_t n, float *output)
{
    const struct mf_infer_model *m = of;

    (void)mf_crew_walks(&m->crew, 1);
    mf_model_walk(m->run, n);
    return mf_model_output(m->run, n, output);
}

static void stay(void *of)
{
    const struct mf_infer_model *m = of;

    while (mf_crew_walks(&m->crew, 0)) mf_model_walk(m->run, 0);
}

/* Another kind of task may have another kind of network, so this comes first. */
static int load_task(struct mf_infer_model *m, const struct mf_learn *learn)
{
    struct mf_model_card card;
    int rc = mf_model_card_open(m->path, &card);

    if (rc == MF_OK) rc = mf_task_load(&card, &m->task);
    if (rc == MF_OK) rc = mf_infer_check_kind(m->path, &m->task, learn);
    mf_model_card_close(&card);
    return rc;
}

/* Where weights are elsewhere, a plan says which. */
static int plan(struct mf_infer_model *m, size_t beside)
{
    struct mf_session *s = m->session;
    struct mf_infer_work work = {.batch = m->batch,
                                 .beside = beside,
                                 .crew = m->crew.wish,
                                 .host = m->o->offload,
                                 .deterministic = s->settings.deterministic,
                                 .queue = s->queue};
    struct mf_model_card card = {.path = NULL};
    int rc;

    if (!mf_infer_model_streams(m)) return MF_OK;
    rc = mf_model_card_open(m->path, &card);
    if (rc == MF_OK) rc = mf_infer_work_open(&card, m->path, &work);
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK) rc = mf_infer_work_plan(s, &work, &m->crew, &m->plan);
    mf_model_card_close(&card);
    return rc;
}

static int open_run(struct mf_infer_model *m, size_t beside)
{
    const struct mf_session *s = m->session;
    const struct mf_model_card *c;

    MF_TRY(plan(m, beside));
    mf_place_map_say(m->o->map, (size_t)s->comm->size, !s->backend->devices);
    MF_TRY(mf_agree(s->comm, mf_crew_model(&m->crew, m->path, m->batch, s->queue, &m->run)));
    c = mf_model_says(m->run);
    MF_TRY(mf_safetensors_same(s->comm, c->file));
    m->net = (struct mf_infer_net){
        .of = m, .card = c, .outputs = c->outputs.count, .feed = feed, .feed_input = feed_input, .answer = answer};
    if (m->crew.wish.zero) m->net.stay = stay;
    return MF_OK;
}

/* -- of any maker -- */

int mf_infer_model_begin(struct mf_infer_model *m, const struct mf_learn *learn)
{
    const struct mf_session *s = m->session;
    const struct mf_crew_wish crew = {(size_t)m->o->stages, m->o->map, (int)m->o->zero};

    m->batch = (size_t)m->o->batch;
    MF_TRY(mf_infer_check_host(s, m->o->offload));
    MF_TRY(mf_crew_open(s->comm, &crew, &m->crew));
    return m->maker ? m->maker->open(s, m->o, m->path, m->maker->context, &m->net)
                    : mf_agree(s->comm, load_task(m, learn));
}

int mf_infer_model_load(struct mf_infer_model *m, size_t beside)
{
    const size_t *d;

    if (!m->maker) MF_TRY(open_run(m, beside));
    m->card = m->net.card;
    m->outputs = m->net.outputs;
    d = m->card->dims;
    m->voxels = d[0] * d[1] * d[2];
    m->tile = MF_MUST(malloc(mf_field_tile(m->card)), "a tile");
    m->output = MF_MUST(calloc(m->batch * m->outputs, sizeof *m->output), "predictions");
    return MF_OK;
}

void mf_infer_model_close(struct mf_infer_model *m)
{
    mf_task_close(&m->task);
    mf_model_close(m->run);
    mf_crew_close(&m->crew);
    mf_run_plan_free(&m->plan);
    free(m->tile);
    free(m->output);
}
