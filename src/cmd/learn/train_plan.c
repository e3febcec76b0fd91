/* See train_plan.h: what of a plan is a training's. */
#include "src/cmd/learn/train_plan.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/session/peaks.h"

/* A run, and what of it is planned. */
struct planned {
    struct mf_train_opts *opts;
    struct mf_train_work work;
};

static int check_way(struct mf_train_range range, const char *path, const struct mf_plan *file, const char *name)
{
    const int is = (int)mf_train_way(&file->settings, name);

    if (range.most == 0 || (is >= range.least && is <= range.most)) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' says %s %d, and by its options this run has %d", path, name, is,
                   range.least);
}

/* Refuses a stored plan that contradicts the user. On one rank there is nothing to share. */
static int check_given(const struct mf_train_work *w, const char *path, const struct mf_plan *file)
{
    if (w->batch) MF_TRY(mf_plan_for_setting(path, file, "batch", "--batch-size", w->batch));
    if (w->passes) MF_TRY(mf_plan_for_setting(path, file, "passes", "--accumulation-steps", w->passes));
    if (w->readers >= 0) MF_TRY(mf_plan_for_setting(path, file, "readers", "--num-workers", (size_t)w->readers));
    if (file->ranks > 1 && w->stage.least == w->stage.most)
        MF_TRY(mf_plan_for_setting(path, file, "zero", "--zero", (size_t)w->stage.least));
    MF_TRY(check_way(w->tensor, path, file, "tensor"));
    MF_TRY(check_way(w->stages, path, file, "stages"));
    if (w->recompute.least == w->recompute.most)
        MF_TRY(mf_plan_for_setting(path, file, "recompute", "--recompute", (size_t)w->recompute.least));
    if (w->offload.least && !mf_plan_get(&file->settings, "offload"))
        return mf_fail(MF_USAGE, "--plan '%.200s' does not say --offload optimizer; leave one of them out", path);
    if (w->partition.least && mf_train_way(&file->settings, "tensor") > 1 && !mf_plan_get(&file->settings, "partition"))
        return mf_fail(MF_USAGE, "--plan '%.200s' does not say --partition-activations; leave one of them out", path);
    if (w->spill != mf_plan_get(&file->settings, "spill"))
        return mf_fail(MF_USAGE, "--plan '%.200s' and --spill-activations differ; try: %s --spill-activations", path,
                       w->spill ? "without" : "with");
    return MF_OK;
}

static int take(void *context, const char *path, const struct mf_plan *file)
{
    struct planned *p = context;

    MF_TRY(check_given(&p->work, path, file));
    mf_train_workload.fix(&p->work, &file->settings);
    p->work.readers = (long)mf_plan_get(&file->settings, "readers");
    return MF_OK;
}

static int apply(void *context, const struct mf_plan_numbers *settings)
{
    const struct planned *p = context;

    mf_train_take_settings(settings, p->opts);
    return MF_OK;
}

static void tell_savings(const struct mf_train_opts *opts, FILE *to)
{
    static const char *const recomputes[] = {[MF_RECOMPUTE_CHEAP] = "cheap", [MF_RECOMPUTE_BLOCKS] = "blocks"};

    if (opts->stage) fprintf(to, ", zero %d", opts->stage);
    if (opts->recompute) fprintf(to, ", recompute %s", recomputes[opts->recompute]);
    if (opts->partition && opts->tensor > 1) fprintf(to, ", activations in pieces");
    if (opts->offload) fprintf(to, ", the optimiser in host memory");
    if (opts->spill) fprintf(to, ", activations spilled");
    if (opts->tensor > 1) fprintf(to, ", %zu ranks share every layer", opts->tensor);
    if (opts->stages > 1) fprintf(to, ", %zu stages", opts->stages);
}

static void tell(const void *context, const struct mf_plan_numbers *derived, FILE *to)
{
    const struct planned *p = context;

    const size_t effective = mf_plan_get(derived, "effective_batch");

    fprintf(to, ", %zu sample%s in a step, %zu in a pass", effective, MF_S(effective), p->opts->batch);
    tell_savings(p->opts, to);
}

typedef int plan_how(const struct mf_planned *planned, struct mf_run_plan *plan);

static int plan_by(plan_how *how, struct mf_session *session, const struct mf_train_cmd *o,
                   const struct mf_dataset *set, struct mf_train_opts *opts, struct mf_run_plan *plan)
{
    struct mf_train_opts asked = *opts;
    struct planned p = {.opts = opts, .work = mf_train_work_of(session, o, set, &asked)};

    if (o->partition && opts->tensor < 2 && strcmp(o->plan, "off") == 0)
        mf_info("--partition-activations has nothing to cut: every rank has whole layers (without --tp)");
    return how(&(struct mf_planned){.session = session,
                                    .workload = &mf_train_workload,
                                    .work = &p.work,
                                    .queue = &p.work.queue,
                                    .plan = o->plan,
                                    .tries = !session->settings.deterministic,
                                    .context = &p,
                                    .take = take,
                                    .apply = apply,
                                    .tell = tell},
               plan);
}

int mf_train_plan_make(struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set,
                       struct mf_train_opts *opts, struct mf_run_plan *plan)
{
    return plan_by(mf_planned_make, session, o, set, opts, plan);
}

/* Is the plan of this verb and network? */
static int check_network(const struct mf_train_opts *opts, const char *path, const struct mf_plan *file)
{
    struct mf_plan_lines lines = {.count = 0};
    int rc = MF_OK;

    mf_train_describe(opts, &lines);
    for (size_t i = 0; rc == MF_OK && i < lines.count; ++i) rc = mf_plan_same_key(path, file, &lines, lines.at[i].key);
    mf_plan_lines_free(&lines);
    return rc;
}

int mf_train_plan_ahead(const struct mf_session *session, const struct mf_train_cmd *o,
                        const struct mf_train_kind *kind, int grows, const char *path, size_t ranks)
{
    const struct mf_task task = mf_task_plain(kind->learn, 0);
    struct mf_train_opts opts;
    struct mf_train_work work;
    struct mf_plan file;
    int rc;

    MF_TRY(mf_train_network_of(o, &opts));
    opts.task = &task;
    opts.grows = grows;
    work = mf_train_work_of(session, o, NULL, &opts);
    rc = mf_plan_read(path, &file);
    if (rc == MF_OK) rc = check_network(&opts, path, &file);
    if (rc == MF_OK) rc = mf_planned_place(session, path, &file, ranks);
    if (rc == MF_OK) rc = check_given(&work, path, &file);
    mf_plan_free(&file);
    return rc;
}

static struct mf_plan_rank rank_of(const struct mf_session *s)
{
    return (struct mf_plan_rank){.ranks = (size_t)s->comm->size,
                                 .rank = (size_t)s->comm->rank,
                                 .local_size = (size_t)s->comm->local_size,
                                 .threads = (size_t)s->queue->threads,
                                 .simd = "",
                                 .apart = mf_apart(s->queue),
                                 .capability = s->gpu.capability};
}

/* Bytes of the smallest way to make a step, part by part, behind the reason. Local. */
static int too_large(const struct mf_session *s, const struct mf_train_work *w, const char *why)
{
    const struct mf_plan_rank rank = rank_of(s);
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan_numbers settings = {.count = 0};
    char words[200], parts[600] = "";
    size_t n = 0;

    mf_train_give_settings(w->opts, &settings);
    if (mf_train_bytes(w, &rank, &settings, bytes) != MF_OK) mf_err_clear();
    for (int m = 0; m <= rank.apart; ++m)
        for (size_t i = 0; i < bytes[m].tags && n < sizeof parts; ++i)
            n += (size_t)snprintf(parts + n, sizeof parts - n, "%s%zu of %s", n ? ", " : "", bytes[m].tag[i].bytes,
                                  bytes[m].tag[i].name);
    return mf_fail(MF_MEMORY, "%s; nothing smaller is left than %s: %zu bytes of a rank (%s); try: %s", why,
                   mf_plan_numbers_text(&settings, sizeof words, words),
                   bytes[MF_PLAN_STATE].total + (rank.apart ? bytes[MF_PLAN_HOST].total : 0), parts,
                   mf_train_workload.smaller(w));
}

static void warn_smaller(const char *why, const struct mf_train_opts *opts)
{
    char *text = NULL;
    size_t n;
    FILE *to = MF_MUST(open_memstream(&text, &n), "a sentence");

    tell_savings(opts, to);
    (void)fclose(to);
    mf_warn("%s; all ranks go on with passes of %zu sample%s%s, a step keeps its %zu", why, opts->batch,
            MF_S(opts->batch), text, opts->effective);
    free(text);
}

/* After a refusal for want of memory: the next smaller way to make the step; refuses if there is none. */
static int make_smaller(const struct mf_session *s, const struct mf_train_work *w, struct mf_train_opts *opts)
{
    char why[MF_ERR_TEXT];

    mf_err_take(why, sizeof why);
    if (!mf_train_shrink(w, (size_t)s->comm->size, opts)) return too_large(s, w, why);
    warn_smaller(why, opts);
    return MF_OK;
}

static struct mf_train_work work_here(const struct mf_session *s, const struct mf_train_cmd *o,
                                      const struct mf_dataset *set, const struct mf_train_opts *opts)
{
    struct mf_train_work work = mf_train_work_of(s, o, set, opts);

    work.effective = opts->effective;
    if (!mf_apart(s->queue)) work.offload.most = work.offload.least;
    return work;
}

int mf_train_open(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set,
                  struct mf_train_opts *opts, struct mf_trainer *trainer)
{
    const struct mf_train_work work = work_here(s, o, set, opts);

    for (;;) {
        const int rc = mf_trainer_open(s->comm, s->arena, s->queue, set, opts, trainer);

        if (rc != MF_MEMORY) return rc;
        mf_trainer_close(trainer);
        MF_TRY(make_smaller(s, &work, opts));
    }
}

/* ---- a dry run ---- */

/* Counts in the arenas what the run would take. Local. */
static int book(const struct mf_session *s, const struct mf_train_work *w, size_t *passes)
{
    const struct mf_plan_rank rank = rank_of(s);
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan_numbers settings = {.count = 0};

    mf_train_give_settings(w->opts, &settings);
    *passes = mf_train_wish(w->set, w->opts, rank.ranks, 0).micro;
    MF_TRY(mf_train_bytes(w, &rank, &settings, bytes));
    MF_TRY(mf_arena_book_once(s->device, (ptrdiff_t)bytes[MF_PLAN_STATE].total, "a training"));
    return rank.apart ? mf_arena_book_once(s->arena, (ptrdiff_t)bytes[MF_PLAN_HOST].total, "a training") : MF_OK;
}

static int print_lists(const struct mf_session *s, const struct mf_train_work *w)
{
    const struct mf_plan_rank rank = rank_of(s);
    struct mf_plan_numbers settings = {.count = 0};

    mf_train_give_settings(w->opts, &settings);
    return mf_train_print_lists(w, &rank, &settings, stdout);
}

static int print(const struct mf_session *s, const struct mf_train_opts *o, size_t passes, const struct mf_peaks *peaks)
{
    struct mf_json *j;
    const size_t ranks = mf_train_data(o, (size_t)s->comm->size);
    char device[60] = "", text[MF_TRAIN_STEP_TEXT];
    int rc;

    if (!mf_common_of(s)->json) {
        if (peaks->device) snprintf(device, sizeof device, " and %.0f on its device", peaks->device[0]);
        printf("# %zu steps of %zu samples (%s): %.0f bytes on rank 0%s; nothing is written\n", o->schedule.steps,
               o->effective, mf_train_step_text(ranks, mf_train_crew(o), passes, o->batch, text), peaks->arena[0],
               device);
        return MF_OK;
    }
    j = mf_json_object();
    mf_json_bool(j, "dry_run", 1);
    MF_JSON(j, "steps", o->schedule.steps, "effective_batch", o->effective, "batch", o->batch, "passes", passes, "zero",
            o->stage, "recompute", (int)o->recompute, "tensor", mf_max(1, o->tensor), "stages", mf_max(1, o->stages),
            "ranks", s->comm->size);
    mf_json_wholes(j, "bytes", peaks->arena, (size_t)s->comm->size);
    if (peaks->device) mf_json_wholes(j, "device_bytes", peaks->device, (size_t)s->comm->size);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

/* Ranks share layers, or are stages, as in the run. */
static int take_ways(struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set,
                     struct mf_train_opts *opts)
{
    const struct mf_json *notes;
    struct mf_plan_numbers settings;
    struct mf_run_plan plan;

    if (strcmp(o->plan, "auto") != 0) return MF_OK;
    MF_TRY(plan_by(mf_planned_foresee, s, o, set, opts, &plan));
    if (plan.json && mf_plan_numbers_read(mf_json_get(plan.json, "settings"), &settings) &&
        mf_train_way(&settings, "tensor") * mf_train_way(&settings, "stages") > mf_train_crew(opts)) {
        mf_train_take_settings(&settings, opts);
        notes = mf_json_get(plan.json, "notes");
        for (size_t i = 0; i < mf_json_count(notes); ++i) mf_info("plan: %s", mf_json_to_text(mf_json_item(notes, i)));
    }
    mf_run_plan_free(&plan);
    return MF_OK;
}

int mf_train_dry(struct mf_session *s, const struct mf_train_cmd *o, const struct mf_dataset *set,
                 struct mf_train_opts *opts)
{
    struct mf_train_work work;
    struct mf_peaks peaks;
    size_t passes;
    int rc;

    MF_TRY(take_ways(s, o, set, opts));
    work = work_here(s, o, set, opts);
    while ((rc = mf_agree(s->comm, book(s, &work, &passes))) == MF_MEMORY) MF_TRY(make_smaller(s, &work, opts));
    if (rc == MF_OK && o->show_list && s->comm->rank == 0) rc = print_lists(s, &work);
    MF_TRY(mf_agree(s->comm, rc));
    MF_TRY(mf_peaks_of(s, &peaks));
    if (s->comm->rank == 0) rc = print(s, opts, passes, &peaks);
    mf_peaks_free(&peaks);
    return mf_agree(s->comm, rc);
}
