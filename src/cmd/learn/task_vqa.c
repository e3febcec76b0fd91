/* train vqa: to answer questions about images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/questions.h"
#include "src/base/err.h"
#include "src/base/words.h"
#include "src/cmd/learn/train_verb.h"
#include "src/train/learn_vqa.h"

/* Left out: flips, if answers are known not to depend on them. */
static int find_flips(const struct mf_train_cmd *o, const struct mf_dataset *set, int *flips)
{
    size_t n;
    const char **name = mf_words_names(o->augment.count, o->augment.at, NULL, NULL, &n);
    int rc = MF_OK;

    *flips = n ? strcmp(name[0], "flip") == 0 : mf_vqa_may_flip(&set->questions->form);
    if (n > 1 || (n && !*flips && strcmp(name[0], "none") != 0))
        rc = mf_fail(MF_USAGE, "--augment %.60s: it must be flip or none", name[n - 1]);
    free(name);
    return rc;
}

/* The source of these: half of the rate, and twice the warm-up, for the questions that are surely right. */
static const struct mf_train_phase phases[] = {{"pretrain", "1e-4", 20, 'B'}, {"finetune", "5e-5", 10, 'A'}};

const struct mf_train_phase *mf_train_phase_of(const struct mf_train_cmd *o)
{
    return o->phase ? &phases[o->phase - 1] : NULL;
}

static int adopt(struct mf_options *options, const void *into)
{
    const struct mf_train_phase *phase = mf_train_phase_of(into);
    char place[40];

    MF_TRY(mf_train_adopt(options, into));
    if (!phase || mf_options_given(options, "learning-rate")) return MF_OK;
    snprintf(place, sizeof place, "--phase %s: ", phase->word);
    return mf_options_adopt(options, "learning-rate", place, "--phase", phase->rate);
}

static int choose(const struct mf_train_cmd *o, struct mf_dataset *set)
{
    const struct mf_train_phase *phase = mf_train_phase_of(o);

    return phase ? mf_dataset_grades(set, phase->worst) : MF_OK;
}

static int open(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task)
{
    struct mf_vqa_wish wish = {.tokens = (size_t)o->max_tokens, .findings = o->findings_weight, .merit = o->merit};

    if (!mf_arch_find(o->arch)->ask)
        return mf_fail(MF_USAGE, "--arch %.80s answers no questions; try: --arch vqa", o->arch);
    MF_TRY(find_flips(o, set, &wish.flips));
    return mf_task_asked(set, &wish, task);
}

const struct mf_train_kind mf_train_vqa = {
    .learn = &mf_learn_vqa, .arch = "vqa", .effective = 16, .choose = choose, .open = open};

/* -- the verb -- */

static int train_run(struct mf_session *s, void *options) { return mf_train_run(s, options, &mf_train_vqa, NULL); }

static int train_ahead(const struct mf_session *s, const void *options, const char *path, size_t n)
{
    return mf_train_plan_ahead(s, options, &mf_train_vqa, 0, path, n);
}

#define ROW MF_TRAIN_ROW

const struct mf_opt mf_vqa_rows[] = {
    ROW("max-tokens", max_tokens, MF_LONG, "128", "tokens of a question, at most; a longer one is cut"),
    ROW("findings-weight", findings_weight, MF_REAL, "0.3",
        "weight of the findings of the image in the loss, beside 1 of each head of the questions; 0: they are not "
        "learnt"),
    ROW("merit", merit, MF_TEXT, NULL,
        "what epochs are compared by: a type of questions, a head, or findings (the first of these that has the name); "
        "left out: the mean accuracy of all types"),
    MF_CHOICE(mf_train_cmd, "phase", phase, "all", "all|pretrain|finetune",
              "questions of which grades: pretrain A and B, finetune A. Without --learning-rate and --warmup they have "
              "1e-4 and 5 % of the steps, or 5e-5 and 10 %"),
    MF_OPT_END};

static const struct mf_opt rows[] = {
    MF_TRAIN_OWN_ROWS("results/vqa", "vqa", "vqa, also with its sizes, as vqa:width=32,text-depth=2", NULL, NULL),
    ROW("augment", augment, MF_TEXTS, NULL,
        "move images at random: flip, or none; left out: flip, if the questions are those of synth, whose answers are "
        "known for flipped images"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_train_rows, mf_vqa_rows, mf_log_view_rows, mf_common_opts, NULL};

const struct mf_cmd mf_cmd_train_vqa = {
    .name = "train vqa",
    .summary = "train a network that answers questions about microstructures",
    .synopsis = "--data FILE.h5 [--arch vqa] [--merit TYPE] [--results-dir DIR] [OPTION VALUE ...]",
    .text = "The network reads an image, the words of a question and the objects in the image. Every head of the "
            "questions gives one answer, and the head of the question's type counts. Scores are by type. A sample of "
            "the training is an image with up to four of its questions.\n\n" MF_TRAIN_TEXT
            "  mesoforge synth --num-samples 6000 --questions 4 --size 64 64 \\\n"
            "      --output asked.h5\n"
            "  mpirun -n 2 mesoforge train vqa --data asked.h5 --results-dir run\n"
            "  mesoforge eval run/model.safetensors --data asked.h5\n",
    .tables = tables,
    .keys = mf_train_keys,
    .size = sizeof(struct mf_train_cmd),
    .adopt = adopt,
    .check = mf_train_checked,
    .check_plan = train_ahead,
    .run = train_run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --batch-size, or --recompute blocks",
    .writes = 1,
    .checkpoints = 1,
    .names = mf_train_names,
    .small = mf_train_small,
    .in_library = 1,
};
