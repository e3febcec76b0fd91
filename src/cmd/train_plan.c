/* See train_plan.h: what of a plan is a training's. */
#include "src/cmd/train_plan.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/peaks.h"

/* A run, and what of it is planned. */
struct planned {
    struct mf_train_opts *opts;
    struct mf_train_work work;
};

/* What a stored plan says and the user says otherwise. On one rank there is nothing to share. */
static int check_given(const struct mf_train_work *w, const char *path, const struct mf_plan *file)
{
    if (w->batch) MF_TRY(mf_plan_for_setting(path, file, "batch", "--batch-size", w->batch));
    if (w->passes) MF_TRY(mf_plan_for_setting(path, file, "passes", "--accumulation-steps", w->passes));
    if (w->readers >= 0) MF_TRY(mf_plan_for_setting(path, file, "readers", "--num-workers", (size_t)w->readers));
    if (file->ranks > 1 && w->stage.least == w->stage.most)
        MF_TRY(mf_plan_for_setting(path, file, "zero", "--zero", (size_t)w->stage.least));
    if (w->recompute.least == w->recompute.most)
        MF_TRY(mf_plan_for_setting(path, file, "recompute", "--recompute", (size_t)w->recompute.least));
    return MF_OK;
}

static int take(void *context, const char *path, const struct mf_plan *file)
{
    struct planned *p = context;

    MF_TRY(check_given(&p->work, path, file));
    mf_train_task.fix(&p->work, &file->settings);
    p->work.readers = (long)mf_plan_get(&file->settings, "readers");
    return MF_OK;
}

static int apply(void *context, const struct mf_plan_numbers *settings)
{
    const struct planned *p = context;

    mf_train_take_settings(settings, p->opts);
    return MF_OK;
}

static void tell(const void *context, const struct mf_plan_numbers *derived, FILE *to)
{
    static const char *const recomputes[] = {[MF_RECOMPUTE_CHEAP] = "cheap", [MF_RECOMPUTE_BLOCKS] = "blocks"};
    const struct planned *p = context;

    fprintf(to, ", %zu samples in a step, %zu in a pass", mf_plan_get(derived, "effective_batch"), p->opts->batch);
    if (p->opts->stage) fprintf(to, ", zero %d", p->opts->stage);
    if (p->opts->recompute) fprintf(to, ", recompute %s", recomputes[p->opts->recompute]);
}

int mf_train_plan_make(struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set,
                       struct mf_train_opts *opts, struct mf_run_plan *plan)
{
    struct mf_train_opts asked = *opts;
    struct planned p = {.opts = opts, .work = mf_train_work_of(session, o, set, &asked)};

    return mf_planned_make(&(struct mf_planned){.session = session,
                                                .task = &mf_train_task,
                                                .work = &p.work,
                                                .queue = &p.work.queue,
                                                .plan = o->plan,
                                                .residency = "auto",
                                                .tries = !session->common->deterministic,
                                                .context = &p,
                                                .take = take,
                                                .apply = apply,
                                                .tell = tell},
                           plan);
}

/* The samples are unknown: what options alone say is compared. */
int mf_train_plan_ahead(const struct mf_session *session, const void *options, const char *path, size_t ranks)
{
    const struct mf_train_opts none = {.slots = 0};
    const struct mf_train_work work = mf_train_work_of(session, options, NULL, &none);
    struct mf_plan file;
    int rc = mf_plan_read(path, &file);

    if (rc == MF_OK) rc = mf_planned_place(session, path, &file, ranks);
    if (rc == MF_OK) rc = check_given(&work, path, &file);
    mf_plan_free(&file);
    return rc;
}

/* Half of the samples of a pass; with --exact-batch only where that fills all passes. */
static int shrink(const struct mf_train_cmd *o, struct mf_train_opts *opts)
{
    if (o->batch || o->accumulation || (o->exact && opts->batch % 2)) return 0;
    return mf_train_shrink(opts);
}

int mf_train_open(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set,
                  struct mf_train_opts *opts, struct mf_trainer *trainer)
{
    char why[MF_ERR_TEXT];

    for (;;) {
        const int rc = mf_trainer_open(s->comm, s->arena, s->queue, set, opts, trainer);

        if (rc != MF_MEMORY || !shrink(o, opts)) return rc;
        mf_trainer_close(trainer);
        mf_err_take(why, sizeof why);
        mf_warn("%s; all ranks go on with passes of %zu samples, a step keeps its %zu", why, opts->batch,
                opts->effective);
    }
}

/* ---- a dry run ---- */

/* Counts in the arena what the run would take. @p lists: prints them. Local. */
static int book(const struct mf_session *s, const struct mf_train_work *w, int lists, size_t *passes)
{
    const struct mf_comm *comm = s->comm;
    const struct mf_plan_rank rank = {.ranks = (size_t)comm->size,
                                      .rank = (size_t)comm->rank,
                                      .local_size = (size_t)comm->local_size,
                                      .threads = (size_t)s->queue->threads,
                                      .simd = ""};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan_numbers settings = {.count = 0};

    mf_train_give_settings(w->opts, &settings);
    *passes = mf_train_wish(w->set, w->opts, rank.ranks, 0).micro;
    MF_TRY(mf_train_bytes(w, &rank, &settings, bytes));
    if (lists) MF_TRY(mf_train_print_lists(w, &rank, &settings, stdout));
    return mf_arena_book_once(s->arena, (ptrdiff_t)bytes[MF_PLAN_STATE].total, "a training");
}

static int print(const struct mf_session *s, const struct mf_train_opts *o, size_t passes, const struct mf_peaks *peaks)
{
    struct mf_json *j;
    int rc;

    if (!s->common->json) {
        printf("# %zu steps of %zu samples (%d rank%s x %zu pass%s of %zu): %.0f bytes on rank 0; nothing is written\n",
               o->schedule.steps, o->effective, s->comm->size, MF_S(s->comm->size), passes, passes == 1 ? "" : "es",
               o->batch, peaks->arena[0]);
        return MF_OK;
    }
    j = mf_json_object();
    mf_json_bool(j, "dry_run", 1);
    MF_JSON(j, "steps", o->schedule.steps, "effective_batch", o->effective, "batch", o->batch, "passes", passes, "zero",
            o->stage, "recompute", (int)o->recompute, "ranks", s->comm->size);
    mf_json_wholes(j, "bytes", peaks->arena, (size_t)s->comm->size);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

int mf_train_dry(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set,
                 const struct mf_train_opts *opts)
{
    const struct mf_train_work work = mf_train_work_of(s, o, set, opts);
    struct mf_peaks peaks;
    size_t passes;
    int rc = mf_agree(s->comm, book(s, &work, o->show_list && s->comm->rank == 0, &passes));

    MF_TRY(rc);
    MF_TRY(mf_peaks_of(s, &peaks));
    if (s->comm->rank == 0) rc = print(s, opts, passes, &peaks);
    mf_peaks_free(&peaks);
    return mf_agree(s->comm, rc);
}
