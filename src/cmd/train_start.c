/* See train_start.h. */
#include "src/cmd/train_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/train/saved.h"
#include "src/train/weights.h"

enum { LIST = 200 /* bytes of a list of names */ };

/* What the trainer's output number @p i stands for. */
static const char *name_of(const struct mf_trainer *t, size_t i)
{
    return t->opts.classify ? t->set->class_name[i] : t->set->real_name[t->opts.column[i]];
}

static void say_new_head(const struct mf_saved *s, const struct mf_trainer *t)
{
    const size_t n = mf_train_outputs(t->set, &t->opts);
    char has[LIST] = "", wants[LIST] = "";

    for (size_t i = 0; i < s->outputs; ++i) mf_enumerate(has, sizeof has, "%s", s->name[i]);
    for (size_t i = 0; i < n; ++i) mf_enumerate(wants, sizeof wants, "%s", name_of(t, i));
    mf_info("the last layer begins anew: '%s' predicts %s %s, and '%s' has %s", s->path,
            s->classify ? "the classes" : "the columns", has, t->set->path, wants);
}

/* A network that knows phases sees something else in grey values. */
static void compare_inputs(const struct mf_saved *s, const struct mf_trainer *t)
{
    if (s->phases == t->set->phases) return;
    mf_warn("'%s' has learnt from %s, and '%s' has %s", s->path, s->phases ? "phases" : "images", t->set->path,
            t->set->phases ? "phases" : "images");
}

/* The options that say which network it is; heap. */
static char *network_of(const struct mf_model *m, const struct mf_model_args *a)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    fprintf(to, "--arch %s --width %ld --depth %ld", m->name, a->width, a->depth);
    if (m->standard.heads) fprintf(to, " --heads %ld", a->heads);
    if (m->standard.patch) fprintf(to, " --patch %ld", a->patch);
    MF_ASSERT(fclose(to) == 0);
    return text;
}

/* Refuses another network, with the options of the file's. */
static int check_network(const struct mf_saved *s, const struct mf_trainer *t)
{
    char *theirs = network_of(s->model, &s->args), *own = network_of(t->opts.model, &t->opts.args);
    const int mixes = s->args.experts > 0, is = strcmp(theirs, own) == 0;
    const char *verb = mixes == (t->experts.count > 0) ? "" : mixes ? "train moe " : "train classify ";
    int rc = MF_OK;

    if (!is)
        rc = mf_fail(MF_INPUT, "'%s' is a model of %s, and this run's network is of %s; try: %s%s", s->path, theirs,
                     own, !mixes && *verb && !t->opts.classify ? "train regress " : verb, theirs);
    free(theirs);
    free(own);
    return rc;
}

/* The file says what it is of. Collective. */
static int start_saved(const struct mf_train_cmd *o, struct mf_trainer *t, struct mf_saved *s)
{
    const int is_new = o->new_head || !mf_saved_predicts(s, t->set, &t->opts);
    const char *head = t->opts.model->head;

    MF_TRY(check_network(s, t));
    if (is_new && !head)
        return mf_fail(MF_INPUT,
                       "the model of '%s' predicts something else, and in --arch %s every expert has a last layer of "
                       "its own, so it cannot learn that; try: a dataset of the same, or no --model",
                       s->path, t->opts.model->name);
    compare_inputs(s, t);
    if (is_new) say_new_head(s, t);
    if (t->experts.count > 0 && s->args.list) MF_TRY(mf_trainer_rebuild(t, s->args.list, NULL));
    return mf_agree(t->comm, mf_weights_load(&t->network, t->walk, s->file, is_new ? head : NULL));
}

int mf_train_start(const struct mf_train_cmd *o, struct mf_trainer *t)
{
    struct mf_safetensors *file = NULL;
    struct mf_saved saved = {.file = NULL};
    int rc;

    if (!o->model || !*o->model) {
        if (o->freeze)
            mf_warn("--freeze without --model: these parts keep the random weights of their start; try: --model FILE");
        return MF_OK;
    }
    rc = mf_agree(t->comm, mf_safetensors_open(o->model, &file));
    if (rc == MF_OK) rc = mf_safetensors_same(t->comm, file);
    if (rc == MF_OK && mf_safetensors_metadata(file, "mesoforge")) {
        rc = mf_agree(t->comm, mf_saved_open(o->model, &saved));
        if (rc == MF_OK) rc = start_saved(o, t, &saved);
        mf_saved_close(&saved);
    } else if (rc == MF_OK)
        rc = mf_agree(t->comm, mf_weights_load(&t->network, t->walk, file, o->new_head ? t->opts.model->head : NULL));
    mf_safetensors_close(file);
    return rc;
}
