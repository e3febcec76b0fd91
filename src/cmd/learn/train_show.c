/* See train_show.h. */
#include "src/cmd/learn/train_show.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/output.h"
#include "src/show/training.h"
#include "src/show/view_metrics.h"
#include "src/train/learn_show.h"

enum { SHARE = 20 }; /* seconds between drawings, for one of drawing */

/* @p own: pictures that are there are those of an earlier training of this output. */
static int may_draw(const struct mf_session *session, const char *output, int own, const char *picture)
{
    MF_TRY(mf_session_may_write(session, picture, ".png"));
    return own ? MF_OK : mf_session_may_accompany(session, output, picture);
}

int mf_train_show_open(const struct mf_session *session, const struct mf_run *run, const char *course,
                       const char *scores, struct mf_train_show *show)
{
    const char *output = run->output;
    const int own = mf_loop_was_here(run);

    *show = (struct mf_train_show){.course = mf_loop_picture(output, course),
                                   .scores = scores ? mf_loop_picture(output, scores) : NULL,
                                   .model = MF_MUST(strdup(mf_name_base(output)), "a name")};
    MF_TRY(may_draw(session, output, own, show->course));
    return show->scores ? may_draw(session, output, own, show->scores) : MF_OK;
}

void mf_train_show_close(struct mf_train_show *show)
{
    free(show->course);
    free(show->scores);
    free(show->model);
    free(show->metrics);
    *show = (struct mf_train_show){0};
}

static void check(struct mf_train_show *show, int rc)
{
    if (rc == MF_OK) return;
    if (!show->failed) mf_warn("no picture: %s", mf_err_text());
    show->failed = 1;
    mf_err_clear();
}

static void draw_course(struct mf_train_show *show)
{
    const double start = mf_now();

    check(show, mf_show_metrics(show->metrics, show->course));
    show->is_old = 0;
    show->next = mf_now() + SHARE * (mf_now() - start);
}

void mf_train_show_epoch(void *context, const struct mf_loop *loop)
{
    struct mf_train_show *show = context;

    if (!show->course || !loop->metrics.path) return;
    if (!show->metrics) show->metrics = MF_MUST(strdup(loop->metrics.path), "a name");
    show->is_old = 1;
    if (mf_now() >= show->next) draw_course(show);
}

/* Collective. */
static void draw_scores(struct mf_train_show *show, struct mf_trainer *t, enum mf_split split)
{
    char *name = mf_training_name(show->scores, show->model);
    char *title = mf_format("%s: %s split of %s", name, mf_split_names[split], mf_name_base(t->set->path));
    const struct mf_task *task = t->opts.task;
    const struct mf_learn_show *shows = task->learn->show;
    struct mf_scores s;
    const struct mf_scored of = {
        .task = task, .set = t->set, .n = t->set->count[split], .id = t->set->id[split], .scores = &s};
    int rc = mf_trainer_score(t, of.n, of.id, shows->draws_outputs, &s);

    if (rc == MF_OK && t->comm->rank == 0) rc = shows->draw(&of, title, show->scores);
    check(show, rc);
    mf_scores_free(&s);
    free(title);
    free(name);
}

void mf_train_show_end(struct mf_train_show *show, struct mf_trainer *t)
{
    const enum mf_split split = mf_task_rows(t->opts.task, t->set, MF_TEST) ? MF_TEST : MF_VALIDATION;

    if (!show->course) return;
    if (show->is_old) draw_course(show);
    if (show->scores && mf_task_rows(t->opts.task, t->set, split)) draw_scores(show, t, split);
}
