/* See train_start.h. */
#include "src/cmd/learn/train_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/train/saved.h"

enum { LIST = 200 /* bytes of a list of names */ };

static void enumerate(const struct mf_task *task, char text[LIST])
{
    text[0] = '\0';
    for (size_t i = 0; i < mf_task_outputs(task); ++i) mf_enumerate(text, LIST, "%s", task->name[i]);
}

static void say_new_head(const struct mf_model_card *s, const struct mf_task *task, const struct mf_trainer *t)
{
    char has[LIST], wants[LIST];

    enumerate(task, has);
    enumerate(t->opts.task, wants);
    mf_info("the last layer begins anew: '%s' predicts the %s %s, and '%s' has %s", s->path, task->learn->key, has,
            t->set->path, wants);
}

/* A network that knows phases sees something else in grey values. */
static void compare_inputs(const struct mf_model_card *s, const struct mf_trainer *t)
{
    if (s->phases == t->set->phases) return;
    mf_warn("'%s' has learnt from %s, and '%s' has %s", s->path, s->phases ? "phases" : "images", t->set->path,
            t->set->phases ? "phases" : "images");
}

/* The options that say which network it is; heap. */
static char *network_of(const struct mf_arch *m, const struct mf_arch_args *a)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    fprintf(to, "--arch %s --width %ld --depth %ld", m->name, a->width, a->depth);
    if (a->heads) fprintf(to, " --heads %ld", a->heads);
    if (a->patch) fprintf(to, " --patch %ld", a->patch);
    if (a->blocks) fprintf(to, " --blocks %ld", a->blocks);
    if (a->deep) fprintf(to, " --deep %ld", a->deep);
    if (a->attention) fprintf(to, " --attention %ld", a->attention);
    if (m->ask)
        fprintf(to, " --image %s --text-width %ld --text-depth %ld", mf_image_names[a->image], a->text_width,
                a->text_depth);
    MF_ASSERT(fclose(to) == 0);
    return text;
}

/* Refuses another network, with the options of the file's. */
static int check_network(const struct mf_model_card *s, const struct mf_trainer *t)
{
    char *theirs = network_of(s->arch, &s->args), *own = network_of(t->opts.arch, &t->opts.args);
    const int mixes = s->args.experts > 0, is = strcmp(theirs, own) == 0, same = mixes == (t->experts.count > 0);
    int rc = MF_OK;

    if (!is)
        rc = mf_fail(MF_INPUT, "'%s' is a model of %s, and this run's network is of %s; try: %s%s%s%s", s->path, theirs,
                     own, same ? "" : "train ",
                     same    ? ""
                     : mixes ? "moe"
                             : t->opts.task->learn->name,
                     same ? "" : " ", theirs);
    free(theirs);
    free(own);
    return rc;
}

/* The file says what it is of. Collective. */
static int start_saved(const struct mf_train_cmd *o, struct mf_trainer *t, const struct mf_model_card *s,
                       const struct mf_task *task)
{
    const int is_new = o->new_head || !mf_task_same(task, t->opts.task);
    const char *head = t->opts.arch->head;

    MF_TRY(check_network(s, t));
    if (is_new && t->opts.arch->denoise)
        return mf_fail(MF_INPUT, "the model of '%s' has other conditions; mesoforge info prints them", s->path);
    if (is_new && !head)
        return mf_fail(MF_INPUT,
                       "the model of '%s' predicts something else, and in --arch %s every expert has a last layer of "
                       "its own, so it cannot learn that; try: a dataset of the same, or no --model",
                       s->path, t->opts.arch->name);
    compare_inputs(s, t);
    if (is_new) say_new_head(s, task, t);
    if (t->experts.count > 0 && s->args.list) MF_TRY(mf_trainer_rebuild(t, s->args.list, NULL));
    return mf_agree(t->comm, mf_weights_load(&t->weights, s->file, is_new ? head : NULL));
}

/* The name of a set that is not there may be the configuration's. */
static int say_origin(const struct mf_options *options, const char *path, int rc)
{
    const enum mf_origin origin = mf_options_origin(options, "data");
    char sentence[MF_ERR_TEXT];

    if (rc == MF_OK || (origin != MF_FROM_FOREIGN && origin != MF_FROM_FILE) || access(path, F_OK) == 0) return rc;
    snprintf(sentence, sizeof sentence, "%s", mf_err_text());
    return mf_fail(rc, "%s (%s of %s); try: --data FILE", sentence, mf_options_said(options, "data"),
                   mf_options_config(options));
}

int mf_train_set(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                 struct mf_dataset **set)
{
    MF_TRY(say_origin(mf_options_of(s), o->data, mf_learn_open(kind->learn, s->comm, o->data, set)));
    MF_TRY(mf_agree(s->comm, kind->choose ? kind->choose(o, *set) : MF_OK));
    if (o->max_samples) mf_dataset_limit(*set, (size_t)o->max_samples);
    return MF_OK;
}

int mf_train_keep_step(const struct mf_session *s, struct mf_train_cmd *o)
{
    char *output;
    size_t step;

    if (!mf_keep_opts(s, &o->keep).restart || mf_given(s, "effective-batch")) return MF_OK;
    MF_TRY(mf_session_path_in(s, o->results_dir, "model", ".safetensors", &output));
    step = mf_loop_step_of(s->comm, output);
    free(output);
    if (step == 0) return MF_OK;
    mf_info("a step has %zu sample%s, as in the run that goes on%s", step, MF_S(step),
            o->batch && o->accumulation ? "; its passes follow from --batch-size" : "");
    o->effective = (long)step;
    if (o->batch) o->accumulation = 0;
    return MF_OK;
}

int mf_train_start(const struct mf_train_cmd *o, struct mf_trainer *t)
{
    struct mf_safetensors *file = NULL;
    struct mf_model_card card = {.file = NULL};
    struct mf_task task = {.learn = NULL};
    int rc;

    if (!o->model) {
        if (o->freeze)
            mf_warn("--freeze without --model: these parts keep the random weights of their start; try: --model FILE");
        return MF_OK;
    }
    rc = mf_agree(t->comm, mf_safetensors_open(o->model, &file));
    if (rc == MF_OK) rc = mf_safetensors_same(t->comm, file);
    if (rc == MF_OK && mf_safetensors_metadata(file, "mesoforge")) {
        rc = mf_model_card_open(o->model, &card);
        if (rc == MF_OK) rc = mf_task_load(&card, &task);
        rc = mf_agree(t->comm, rc);
        if (rc == MF_OK) rc = start_saved(o, t, &card, &task);
        mf_task_close(&task);
        mf_model_card_close(&card);
    } else if (rc == MF_OK)
        rc = mf_agree(t->comm, mf_weights_load(&t->weights, file, o->new_head ? t->opts.arch->head : NULL));
    mf_safetensors_close(file);
    return rc;
}
