/* See infer_resident.h. */
#include "src/cmd/learn/infer_resident.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/learn/infer_model.h"

const char *const mf_infer_loading[] = {"batch-size", "pp", "map", "zero", "offload-weights", NULL};

int mf_infer_resident_open(struct mf_session *session, const struct mf_resident_kind *kind, void *options,
                           const char *path, void **model)
{
    struct mf_infer_model *m = MF_MUST(calloc(1, sizeof *m), "a model");

    *m = (struct mf_infer_model){.session = session, .o = options, .path = path};
    *model = m;
    MF_TRY(mf_infer_model_begin(m, kind->learn));
    return mf_infer_model_load(m, 0);
}

void mf_infer_resident_facts(const void *model, struct mf_json *to)
{
    const struct mf_infer_model *m = model;

    mf_predictor_facts(m->card, &m->task, to);
    mf_json_put(to, "map", mf_crew_map(&m->crew, m->card, m->batch, m->session->queue));
}

int mf_infer_resident_axes(const void *model)
{
    const struct mf_model_card *c = ((const struct mf_infer_model *)model)->card;

    return (c->dims[0] > 1 ? 3 : 2) + (!c->phases && c->dims[3] > 1);
}

/* [image][outputs] */
static int take(void *context, const struct mf_predictions *p)
{
    const struct mf_resident_taker *taker = context;
    const size_t dims[] = {p->lines, p->outputs};
    const struct mf_learn *learn = p->task->learn; /* NULL: a maker's network, whose answers are classes */
    const int shares = !learn || learn->by_class;
    float *all = malloc(p->lines * p->outputs * sizeof *all + 1);
    int rc = all ? MF_OK : mf_fail(MF_MEMORY, "no memory for %zu predictions", p->lines);

    for (size_t i = 0; rc == MF_OK && i < p->lines; ++i)
        for (size_t k = 0; k < p->outputs; ++k) all[i * p->outputs + k] = p->said[i].output[k];
    if (rc == MF_OK)
        rc = taker->put(taker->context, shares ? "probabilities" : "values", "f4", sizeof *all, 2, dims,
                        shares ? "image class" : "image column", all);
    free(all);
    return mf_agree(p->session->comm, rc);
}

int mf_infer_resident_ask(void *model, void *options, const char *const *files, size_t count,
                          const struct mf_resident_taker *taker)
{
    struct mf_resident_taker to = *taker;

    return mf_infer_ask(model, options, files, count, &(const struct mf_infer_taker){take, &to});
}

void mf_infer_resident_close(void *model)
{
    if (model) mf_infer_model_close(model);
    free(model);
}
