/* See learn_vqa_show.h: answers of who does not see everything. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/train/learn_vqa_show.h"
#include "src/vqa/blind.h"

const char *const mf_vqa_blind_names[MF_VQA_BLINDS] = {"majority", "measures", "question", "image"};

/* Questions of items that the network knows. */
static size_t known(const struct mf_scored *of, size_t n, const uint32_t *id, uint32_t *to)
{
    size_t count = 0;

    for (size_t i = 0; i < n; ++i) {
        const struct mf_span rows = mf_item_rows(of->set->questions, id[i]);

        for (size_t row = rows.first; row < rows.first + rows.count; ++row)
            if (mf_vqa_label(of->task, row).answer >= 0) to[count++] = (uint32_t)row;
    }
    return count;
}

/* Types of the set are found by their names. */
static void take_guesses(const struct mf_scored *of, const struct mf_guesses *guesses, double *share)
{
    const struct mf_questions_form *own = mf_vqa_form(of->task), *set = &of->set->questions->form;

    for (size_t t = 0; t < own->types; ++t)
        for (size_t k = 0; k < set->types; ++k)
            if (strcmp(own->type[t], set->type[k]) == 0 && guesses->rows[k] > 0)
                share[t] = (double)guesses->right[k] / (double)guesses->rows[k];
}

static void take_scores(const struct mf_scored *of, enum mf_hidden what, double *share)
{
    for (size_t t = 0; of->hidden && t < mf_vqa_form(of->task)->types; ++t) {
        const struct mf_vqa_right right = mf_vqa_right_type(of->task, &of->hidden[what], t);

        if (right.asked > 0) share[t] = right.right / right.asked;
    }
}

static int guess_all(const struct mf_scored *of, uint32_t *learn, uint32_t *guess, struct mf_vqa_blind *blind)
{
    const size_t train = of->set->count[MF_TRAIN];
    const struct mf_blind who = {.set = of->set,
                                 .questions = of->set->questions,
                                 .learnt = known(of, train, of->set->id[MF_TRAIN], learn),
                                 .guessed = known(of, of->n, of->id, guess),
                                 .learn = learn,
                                 .guess = guess};
    struct mf_guesses guesses;

    MF_TRY(mf_blind_majority(&who, &guesses));
    take_guesses(of, &guesses, blind->share[MF_VQA_MAJORITY]);
    MF_TRY(mf_blind_measures(&who, &guesses, &blind->measured));
    take_guesses(of, &guesses, blind->share[MF_VQA_MEASURES]);
    take_scores(of, MF_HIDES_IMAGE, blind->share[MF_VQA_QUESTION]);
    take_scores(of, MF_HIDES_QUESTION, blind->share[MF_VQA_IMAGE]);
    return MF_OK;
}

int mf_vqa_blind(const struct mf_scored *of, struct mf_vqa_blind *blind)
{
    const size_t most = mf_vqa_together(of->task), train = most * of->set->count[MF_TRAIN], n = most * of->n;
    uint32_t *learn, *guess = NULL;
    int rc = MF_ROOM(learn, train + 1, "%zu questions", train);

    for (int k = 0; k < MF_VQA_BLINDS; ++k)
        for (size_t t = 0; t < MF_QUESTION_TYPES; ++t) blind->share[k][t] = NAN;
    if (rc == MF_OK) rc = MF_ROOM(guess, n + 1, "%zu questions", n);
    if (rc == MF_OK) rc = guess_all(of, learn, guess, blind);
    free(learn);
    free(guess);
    return rc;
}
