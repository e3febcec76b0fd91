/* See saved.h. */
#include "src/train/saved.h"

#include <stdlib.h>

#include "src/base/err.h"

struct mf_json *mf_saved_card(const struct mf_trainer *t, struct mf_json *results)
{
    const struct mf_dataset *set = t->set;
    struct mf_channel channel[MF_CHANNELS_MAX];
    const struct mf_model_card card = {.arch = t->opts.arch,
                                       .args = t->opts.args,
                                       .dims = {set->dims[0], set->dims[1], set->dims[2], set->inputs},
                                       .phases = set->phases,
                                       .type = set->is_float ? "float32" : "uint8",
                                       .channel = channel};
    struct mf_json *json;

    for (size_t c = 0; !set->phases && c < set->inputs; ++c) {
        channel[c] = mf_dataset_channel(set, c, set->count[MF_TRAIN], set->id[MF_TRAIN]);
        channel[c].mean = set->mean[c]; /* by which images are normalised */
        channel[c].deviation = set->deviation[c];
    }
    json = mf_model_card_json(&card);
    t->opts.task->learn->save(t->opts.task, json);
    if (results) mf_json_put(json, "results", results);
    return json;
}

int mf_saved_write(const struct mf_trainer *t, const char *path, const struct mf_json *card)
{
    char *text = mf_json_string(card);
    const char *const metadata[] = {"format", "pt", "mesoforge", text, NULL};
    const int rc = mf_weights_save(&t->weights, path, metadata);

    free(text);
    return rc;
}

int mf_saved_load(const struct mf_model_card *c, struct mf_trainer *t)
{
    if (c->args.list && !mf_experts_same(&t->experts, c->args.list)) MF_TRY(mf_trainer_rebuild(t, c->args.list, NULL));
    return mf_weights_load(&t->weights, c->file, NULL);
}

int mf_task_load(const struct mf_model_card *c, struct mf_task *task)
{
    *task = (struct mf_task){.learn = NULL};
    for (size_t k = 0; mf_learns[k]; ++k) /* a kind is the one whose key the card has */
        if (mf_json_get(c->json, mf_learns[k]->key)) return mf_learns[k]->load(c, task);
    return mf_model_card_refuse(c, "classes"); /* or the key of another kind */
}

int mf_task_fit(struct mf_task *task, const struct mf_model_card *c, struct mf_dataset *set)
{
    MF_TRY(mf_model_card_reads(c, set));
    return task->learn->fit(task, c->path, set);
}
