/* See loop.h: what an earlier training left under the name of this one's output, and what may become of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/names.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/train/loop_tell.h"

/* Lines of a problem that a longer training has otherwise. */
static const char *const longer[] = {"steps", "--warmup", NULL};

static int has_checkpoint(const struct mf_run *run)
{
    int has = 0;

    for (int i = 0; i < 2; ++i) {
        char *name = mf_checkpoint_name(run->stem, i);

        has |= access(name, F_OK) == 0;
        free(name);
    }
    return has;
}

int mf_loop_is_longer(const char *saved, const char *problem, char differs[MF_PROBLEM_TEXT])
{
    return !mf_problem_differs(saved, problem, longer, differs);
}

int mf_loop_was_here(const struct mf_run *run)
{
    int here = 0;

    if (run->comm->rank == 0)
        here = access(run->output, F_OK) == 0 || has_checkpoint(run) ||
               mf_metrics_are_of(run->metrics, mf_name_base(run->output));
    mf_comm_bcast(run->comm, 0, &here, sizeof here);
    return here;
}

/* -- the model that is there -- */

/* This training. */
struct wanted {
    const struct mf_run *run;
    const char *problem;
    const struct mf_dataset *set;
    const struct mf_train_opts *opts;
};

/* What it does with the model. */
enum will {
    MF_REPLACES,
    MF_LONGER, /* goes on from it */
    MF_ASIDE   /* keeps it under another name */
};

/* The object in its metadata; NULL: it has none. MF_INPUT where it is no such file. */
static int card_of(const char *path, struct mf_json **card)
{
    struct mf_safetensors *file = NULL;
    const char *text;

    *card = NULL;
    MF_TRY(mf_safetensors_open(path, &file));
    text = mf_safetensors_metadata(file, "mesoforge");
    if (text) *card = mf_json_parse(text);
    mf_safetensors_close(file);
    return MF_OK;
}

int mf_loop_has_card(const char *path)
{
    struct mf_json *card;
    const int has = card_of(path, &card) == MF_OK && card;

    mf_json_free(card);
    mf_err_clear();
    return has;
}

/* What the metrics say of the run. Models of earlier versions have it themselves. */
static void add_run(const char *path, struct mf_json *results)
{
    const char *name = mf_name_base(path);
    char *metrics = mf_format("%.*smetrics.jsonl", (int)(name - path), path);
    struct mf_json *end = mf_metrics_last(metrics, name, "end");

    if (!mf_json_get(results, "output")) mf_json_text(results, "output", path);
    for (size_t k = 0; end && mf_loop_ends[k]; ++k)
        if (!mf_json_get(results, mf_loop_ends[k]) && mf_json_get(end, mf_loop_ends[k]))
            mf_json_put(results, mf_loop_ends[k], mf_json_copy(mf_json_get(end, mf_loop_ends[k])));
    mf_json_free(end);
    free(metrics);
}

struct mf_json *mf_loop_results(const char *path)
{
    struct mf_json *card = NULL, *results;

    if (card_of(path, &card) != MF_OK) mf_err_clear(); /* it was refused, or is lost beside a checkpoint */
    results = card && mf_json_get(card, "results") ? mf_json_copy(mf_json_get(card, "results")) : NULL;
    if (results) add_run(path, results);
    mf_json_free(card);
    return results;
}

/* -- the step of a run that goes on -- */

/* The newest checkpoint that can be read says it; 0: there is none. Collective. */
static size_t step_of_checkpoint(const struct mf_comm *comm, const char *output)
{
    char *stem = mf_checkpoint_stem(output);
    struct mf_checkpoint_pair pair;
    size_t step = 0;

    mf_checkpoint_look(comm, stem, 1, &pair);
    for (int k = 0; k < 2 && step == 0; ++k) {
        const int i = k == 0 ? pair.newest : !pair.newest;
        char *path = mf_checkpoint_name(stem, i);
        struct mf_checkpoint *in = NULL;

        if (pair.turn[i] >= 0 && mf_checkpoint_open(comm, path, 0, &in) == MF_OK)
            step = mf_problem_number(mf_checkpoint_problem(in), "--effective-batch");
        mf_checkpoint_free(in);
        free(path);
    }
    mf_err_clear(); /* the run itself says what it cannot read */
    free(stem);
    return step;
}

size_t mf_loop_step_of(const struct mf_comm *comm, const char *output)
{
    size_t step = step_of_checkpoint(comm, output);
    struct mf_json *card = NULL;

    if (step == 0 && comm->rank == 0 && access(output, F_OK) == 0 && card_of(output, &card) == MF_OK) {
        const struct mf_json *lines = mf_json_get(card, "problem");

        step = lines ? mf_problem_number(mf_json_to_text(lines), "--effective-batch") : 0;
    }
    mf_json_free(card);
    mf_err_clear();
    mf_comm_bcast(comm, 0, &step, sizeof step);
    return step;
}

/* -- what becomes of the model -- */

#define ELSEWHERE "another --results-dir"
#define ANEW      ELSEWHERE ", or --restart no, which begins anew and replaces it"

/* A finished training that is to be longer goes on from the state of its last step, if somebody says so. */
static int may_go_on(const struct mf_run *run, const char *saved, const char *problem)
{
    const size_t made = mf_problem_number(saved, "steps"), wanted = mf_problem_number(problem, "steps");

    if (wanted < made)
        return mf_fail(MF_INPUT,
                       "'%s' is of a training of %zu steps, and this one has %zu; try: more --epochs, or " ANEW,
                       run->output, made, wanted);
    if (!run->keeper.restart)
        return mf_fail(
            MF_USAGE,
            "'%s' is finished, and this run has %zu steps instead of %zu; try: --restart auto, which goes on, " ANEW,
            run->output, wanted, made);
    if (access(run->last, F_OK) == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is finished, and '%s', from which it could go on, is not there; try: " ELSEWHERE
                   " with --model %s",
                   run->output, run->last, run->output);
}

/* Has the model that is there learnt the same thing by the same network, on other samples or in another way? Experts
 * come and go, so mixtures are never alike. */
static int is_alike(const struct wanted *w)
{
    const struct mf_arch_args *a = &w->opts->args, *b;
    const struct mf_dataset *set = w->set;
    struct mf_model_card c;
    struct mf_task task = {.learn = NULL};
    int alike = mf_model_card_open(w->run->output, &c) == MF_OK && mf_task_load(&c, &task) == MF_OK;

    if (!alike) mf_err_clear();
    b = &c.args;
    alike = alike && c.arch == w->opts->arch && a->experts == 0 && b->experts == 0 && a->width == b->width &&
            a->depth == b->depth && a->heads == b->heads && a->patch == b->patch && a->blocks == b->blocks &&
            a->deep == b->deep && a->attention == b->attention && a->image == b->image &&
            a->text_width == b->text_width && a->text_depth == b->text_depth &&
            memcmp(c.dims, (size_t[4]){set->dims[0], set->dims[1], set->dims[2], set->inputs}, sizeof c.dims) == 0 &&
            c.phases == set->phases && mf_task_same(&task, w->opts->task);
    mf_task_close(&task);
    mf_model_card_close(&c);
    return alike;
}

/* The model has a card. Rank 0. */
static int look_at_card(const struct wanted *w, const struct mf_json *card, enum will *will)
{
    const struct mf_run *run = w->run;
    static const char *const none[] = {NULL};
    const struct mf_json *results = mf_json_get(card, "results"), *lines = mf_json_get(card, "problem");
    const char *saved = lines ? mf_json_to_text(lines) : "";
    char differs[MF_PROBLEM_TEXT] = "", other[MF_PROBLEM_TEXT];

    if (results && strcmp(mf_json_get_text(results, "problem"), run->problem) == 0) return MF_OK;
    if (lines && !mf_problem_differs(saved, w->problem, none, differs)) {
        *will = results ? MF_REPLACES : MF_ASIDE; /* it was killed before its first checkpoint */
        return MF_OK;
    }
    if (results && lines && mf_loop_is_longer(saved, w->problem, other) &&
        mf_problem_number(saved, "steps") != mf_problem_number(w->problem, "steps")) {
        *will = MF_LONGER;
        return may_go_on(run, saved, w->problem);
    }
    if (results && !run->keeper.restart && is_alike(w)) {
        *will = MF_ASIDE;
        return MF_OK;
    }
    return mf_fail(MF_USAGE, "'%s' is the model of another training%s%s; try: " ANEW, run->output, lines ? ": " : "",
                   differs);
}

/* The model is there. Rank 0. */
static int look_at_model(const struct wanted *w, enum will *will)
{
    const struct mf_run *run = w->run;
    const int goes_on = run->keeper.restart && has_checkpoint(run); /* which says what it is of */
    struct mf_json *card = NULL;
    int rc = card_of(run->output, &card);
    char why[MF_ERR_TEXT];

    if (rc == MF_MEMORY) return rc;
    if (rc != MF_OK) {
        mf_err_take(why, sizeof why);
        return goes_on ? MF_OK /* its weights are lost, which is said when it goes on */
                       : mf_fail(MF_OUTPUT, "%s; this training would replace it; try: " ELSEWHERE, why);
    }
    if (!card)
        rc = mf_fail(MF_OUTPUT, "'%s' is not of this program, and this training would replace it; try: " ELSEWHERE,
                     run->output);
    else if (!goes_on && !run->keeper.anew)
        rc = look_at_card(w, card, will);
    mf_json_free(card);
    return rc;
}

/* Rank 0. */
static int look_at_best(const struct mf_run *run, const char *problem)
{
    struct mf_json *card = NULL;
    const struct mf_json *lines;
    char differs[MF_PROBLEM_TEXT];
    int rc;

    if (access(run->output, F_OK) != 0) return MF_OK;
    rc = card_of(run->output, &card);
    if (rc == MF_MEMORY) return rc;
    if (rc != MF_OK) {
        mf_err_clear(); /* its weights are lost, which is said */
        return MF_OK;
    }
    lines = mf_json_get(card, "problem");
    if (lines && !mf_loop_is_longer(mf_json_to_text(lines), problem, differs))
        rc = mf_fail(MF_OUTPUT, "'%s' is the model of another training than the checkpoint: %s; try: move it away",
                     run->output, differs);
    mf_json_free(card);
    return rc;
}

int mf_loop_owns_model(const struct mf_run *run, const char *problem)
{
    return mf_agree(run->comm, run->comm->rank == 0 ? look_at_best(run, problem) : MF_OK);
}

int mf_loop_spares(struct mf_run *run, const char *problem, const struct mf_dataset *set,
                   const struct mf_train_opts *opts)
{
    const struct wanted w = {run, problem, set, opts};
    enum will will = MF_REPLACES;
    int rc = MF_OK;

    if (run->comm->rank == 0) rc = mf_metrics_may(run->metrics);
    if (run->comm->rank == 0 && rc == MF_OK && access(run->output, F_OK) == 0) rc = look_at_model(&w, &will);
    MF_TRY(mf_agree(run->comm, rc));
    mf_comm_bcast(run->comm, 0, &will, sizeof will);
    if (will == MF_LONGER) run->keeper.last = run->last;
    run->aside = will == MF_ASIDE;
    return MF_OK;
}

int mf_loop_put_aside(const struct mf_run *run)
{
    char *name = NULL;
    uint64_t number = 0;
    int rc = MF_OK;

    do {
        free(name);
        name = MF_MUST(mf_name_number(run->output, "earlier", ++number), "a name");
    } while (access(name, F_OK) == 0);
    if (rename(run->output, name) != 0)
        rc = mf_fail(MF_OUTPUT, "cannot rename '%s' to '%s': %s", run->output, name, strerror(errno));
    else
        mf_info("the model of an earlier training is now '%s'", name);
    free(name);
    return rc;
}
