/* See distil.h. */
#include "src/train/distil.h"

#include <math.h>

#include "src/base/err.h"
#include "src/train/learn_diffuse.h"

int mf_distil_open(struct mf_trainer *generator, struct mf_distil *d)
{
    const struct mf_train_opts opts = mf_train_beside(&generator->opts);

    *d = (struct mf_distil){.generator = generator};
    MF_TRY(mf_trainer_open(generator->comm, generator->arena, generator->queue, generator->set, &opts, &d->score));
    mf_weights_copy(&generator->weights, MF_BORROWED_TEACHER, &generator->weights);
    mf_weights_copy(&generator->weights, MF_BORROWED_SCORE, &generator->weights);
    mf_weights_copy(&generator->weights, NULL, &d->score.weights);
    return MF_OK;
}

void mf_distil_close(struct mf_distil *d)
{
    if (!d->generator) return;
    mf_trainer_close(&d->score);
    *d = (struct mf_distil){.generator = NULL};
}

/* -- steps -- */

static int check_finite(struct mf_distil *d, const struct mf_step *step)
{
    if (step->skipped == 2) return MF_OK; /* the scale of the loss was too large */
    d->bad = step->skipped ? d->bad + 1 : 0;
    if (d->bad < d->score.opts.skips) return MF_OK;
    return mf_fail(MF_NUMERIC,
                   "%zu steps of the score network had numbers that are not finite; try: a smaller "
                   "--score-rate",
                   d->bad);
}

int mf_distil_stepped(struct mf_distil *d)
{
    mf_weights_copy(&d->generator->weights, MF_BORROWED_GENERATOR, &d->score.weights);
    for (size_t k = 0; k < d->generator->opts.beside.steps; ++k) {
        struct mf_step step;

        MF_TRY(mf_trainer_step(&d->score, 0, NULL, &step));
        MF_TRY(check_finite(d, &step));
        if (step.skipped) continue;
        d->sum += step.loss * (double)step.rows;
        d->rows += (double)step.rows;
    }
    mf_weights_copy(&d->score.weights, MF_BORROWED_SCORE, &d->generator->weights);
    return MF_OK;
}

double mf_distil_loss(struct mf_distil *d)
{
    const double mean = d->rows > 0 ? d->sum / d->rows : NAN;

    d->sum = d->rows = 0;
    return mean;
}

/* -- checkpoints -- */

void mf_distil_listed(struct mf_distil *d, struct mf_checkpoint *c)
{
    mf_checkpoint_real(c, "score/sum", &d->sum);
    mf_checkpoint_real(c, "score/rows", &d->rows);
    mf_trainer_keep(&d->score, "score/", c);
    if (mf_checkpoint_loads(c)) mf_weights_copy(&d->score.weights, MF_BORROWED_SCORE, &d->generator->weights);
}
