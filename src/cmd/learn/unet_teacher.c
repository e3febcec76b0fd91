/* See unet_teacher.h. */
#include "src/cmd/learn/unet_teacher.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/unused.h"
#include "src/model/generator.h"
#include "src/train/learn_diffuse.h"
#include "src/train/saved.h"

enum { SCORE_STEPS_MOST = 1000 /* a run leaves between steps of the generator alone */ };

/* They suited blobs of 16 x 16 and 32 x 32 pixels. */
static const struct {
    const char *word, *value;
} usual[] = {{"learning-rate", "0.0003"}, {"beta-1", "0"}, {"beta-2", "0.99"}, {"clip", "10"}, {"made-samples", "256"}};

static int adopt_network(struct mf_options *options, const char *place, const struct mf_model_card *card)
{
    char *word = mf_arch_word(card->arch, &card->args), *before = mf_format("%s: ", place);
    int rc = mf_options_adopt(options, "arch", before, "its network", card->arch->name);

    if (rc == MF_OK) rc = mf_train_adopt_word(options, place, word);
    free(before);
    free(word);
    return rc;
}

int mf_unet_adopt(struct mf_options *options, const char *teacher)
{
    struct mf_model_card card;
    char *place = mf_format("--teacher %s", teacher);
    int rc = mf_generator_card(teacher, NULL, &card);

    if (rc == MF_OK) rc = adopt_network(options, place, &card);
    if (rc == MF_OK) rc = mf_options_adopt(options, "model", "", "--teacher", teacher);
    for (size_t k = 0; rc == MF_OK && k < sizeof usual / sizeof *usual; ++k)
        if (!mf_options_given(options, usual[k].word))
            rc = mf_options_adopt(options, usual[k].word, "", "--teacher", usual[k].value);
    mf_model_card_close(&card);
    free(place);
    return rc;
}

int mf_unet_check_teacher(const struct mf_train_cmd *o)
{
    if (o->score_steps < 1 || o->score_steps > SCORE_STEPS_MOST)
        return mf_fail(MF_USAGE, "--score-steps %ld: it must be 1 to %d", o->score_steps, SCORE_STEPS_MOST);
    if (!(o->score_rate > 0) || !isfinite(o->score_rate))
        return mf_fail(MF_USAGE, "--score-rate %g: it must be above 0", o->score_rate);
    if (!(o->start > MF_NOISE_LEAST) || !isfinite(o->start))
        return mf_fail(MF_USAGE, "--conditioning-sigma %g: it must be a number above %g", o->start, MF_NOISE_LEAST);
    if (o->freeze) return mf_fail(MF_USAGE, "--freeze and --teacher contradict each other: all of a generator learns");
    if (o->rate_of) return mf_fail(MF_USAGE, "--rate-of and --teacher contradict each other: two networks learn");
    return MF_OK;
}

/* Values of images have the teacher's units. */
static int check_units(const struct mf_model_card *card, const struct mf_dataset *set)
{
    for (size_t c = 0; !set->phases && set->count[MF_TRAIN] > 0 && c < set->inputs; ++c) {
        const struct mf_channel channel = mf_model_card_channel(card, c);

        if (fabs(channel.mean - set->mean[c]) > 1e-6 * channel.deviation ||
            fabs(channel.deviation - set->deviation[c]) > 1e-6 * channel.deviation)
            return mf_fail(MF_INPUT,
                           "the train split of '%s' has other values than that of the teacher '%s' had (mean %g for "
                           "%g); try: --data of the teacher's training",
                           set->path, card->path, set->mean[c], channel.mean);
    }
    return MF_OK;
}

static int check_set(const struct mf_model_card *card, const struct mf_dataset *set)
{
    const size_t d[] = {set->dims[0], set->dims[1], set->dims[2], set->inputs};

    if (card->denoise->start > 0)
        return mf_fail(MF_INPUT,
                       "the model of '%s' makes samples in one step already; try: the model that was its teacher",
                       card->path);
    if (card->phases != set->phases)
        return mf_fail(MF_INPUT, "the teacher '%s' makes samples of %d phases, and those of '%s' have %d (0: images)",
                       card->path, card->phases, set->path, set->phases);
    if (d[3] != card->dims[3])
        return mf_fail(MF_INPUT, "the teacher '%s' makes images of %zu channels, and those of '%s' have %zu",
                       card->path, card->dims[3], set->path, d[3]);
    for (int a = 0; a < 3; ++a)
        if (d[a] != card->dims[a])
            return mf_fail(MF_INPUT,
                           "the teacher '%s' makes samples of %zu x %zu pixels, and those of '%s' have %zu x "
                           "%zu",
                           card->path, card->dims[1], card->dims[2], set->path, d[1], d[2]);
    return check_units(card, set);
}

static int task_of(const struct mf_model_card *card, const struct mf_train_cmd *o, const struct mf_dataset *set,
                   struct mf_task *task)
{
    struct mf_task teacher = {.learn = NULL};
    struct mf_dataset facts = *set; /* mf_task_fit() looks at names alone */
    int rc = mf_task_load(card, &teacher);

    if (rc == MF_OK) rc = teacher.learn->fit(&teacher, card->path, &facts);
    if (rc == MF_OK) *task = mf_task_one_step(&teacher, o->start);
    mf_task_close(&teacher);
    return rc;
}

int mf_unet_teach(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task)
{
    struct mf_model_card card;
    int rc = mf_generator_card(o->teacher, NULL, &card);

    if (rc == MF_OK) rc = check_set(&card, set);
    if (rc == MF_OK) rc = task_of(&card, o, set, task);
    mf_model_card_close(&card);
    return rc;
}

void mf_unet_unused(const struct mf_session *s, const struct mf_train_cmd *o)
{
    if (o->teacher)
        MF_UNUSED(s, "the teacher of --teacher decides it", "condition", "condition-dropout", "augment", "noise-mean",
                  "noise-deviation");
    else
        MF_UNUSED(s, "it is of --teacher", "score-steps", "score-rate", "conditioning-sigma");
}
