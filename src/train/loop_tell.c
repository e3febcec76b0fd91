/* See loop_tell.h. */
#include "src/train/loop_tell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { ROWS = 2000 }; /* rows of single steps, about */

#define INT(name, value) \
    (struct mf_metric) { .key = name, .kind = MF_METRIC_INT, .whole = (uint64_t)(value) }
#define REAL(name, value) \
    (struct mf_metric) { .key = name, .kind = MF_METRIC_REAL, .real = (value) }
#define KIND(name) \
    (struct mf_metric) { .key = "kind", .kind = MF_METRIC_TEXT, .text = (name) }

long mf_loop_epoch(const struct mf_loop *loop)
{
    const size_t each = mf_trainer_epoch(loop->trainer);

    return (long)((loop->trainer->step + each - 1) / each);
}

/* Samples per second in steps, of the last seconds. */
static double speed(struct mf_loop *loop)
{
    const double last = 5, seconds = loop->stepping - loop->mark[0].stepping;
    const double fast = seconds > 0 ? (double)(loop->seen - loop->mark[0].seen) / seconds : 0;

    if (loop->steps == 1 || loop->stepping - loop->mark[1].stepping >= last) {
        loop->mark[0] = loop->mark[1];
        loop->mark[1].stepping = loop->stepping;
        loop->mark[1].seen = loop->seen;
    }
    if (loop->steps == 1) loop->mark[0] = loop->mark[1]; /* it makes ready what the others use */
    return fast;
}

enum { KEY = 48 };

/* Of several heads the mean loss of each: "loss_NAME". Returns how many. */
static size_t put_heads(const struct mf_task *task, const char *before, const double *loss, char key[][KEY],
                        struct mf_metric *row)
{
    if (task->heads == 1) return 0;
    for (size_t h = 0; h < task->heads; ++h) {
        snprintf(key[h], KEY, "%s_%s", before, task->head[h].name);
        row[h] = REAL(key[h], loss[h]);
    }
    return task->heads;
}

void mf_loop_write_step(struct mf_loop *loop, const struct mf_step *step)
{
    const struct mf_trainer *t = loop->trainer;
    const size_t each = t->opts.schedule.steps / ROWS + 1;
    const double fast = speed(loop);
    struct mf_metric row[12 + MF_HEADS] = {KIND("step"),
                                           INT("step", t->step),
                                           INT("epoch", mf_loop_epoch(loop)),
                                           REAL("loss", step->loss),
                                           REAL("norm", step->norm),
                                           REAL("learning_rate", step->rate),
                                           REAL("samples_per_second", fast),
                                           REAL("memory", (double)mf_arena_peak(t->arena))};
    size_t fields = 8;
    const double mean = loop->rows > 0 ? loop->sum / loop->rows : step->loss; /* a last step may have one sample */
    char text[240], loss[MF_LOSS_TEXT], key[MF_HEADS][KEY];

    if (t->comm->rank != 0) return;
    if (t->opts.scale.window) row[fields++] = REAL("loss_scale", t->scale.value);
    if (t->experts.count) row[fields++] = REAL("uncertainty", step->uncertainty);
    if (t->experts.count) row[fields++] = INT("experts", t->experts.count);
    if (t->opts.args.capacity > 0) row[fields++] = INT("dropped", step->dropped);
    fields += put_heads(t->opts.task, "loss", step->head_loss, key, row + fields);
    if (t->step % each == 0 || step->skipped) mf_metrics_row(&loop->metrics, fields, row);
    mf_monitor_step(loop->monitor, &loop->metrics, t->step, mf_arena_live(t->arena) + mf_arena_live(t->queue->arena));
    snprintf(text, sizeof text, "epoch %ld, loss %s, %.0f samples/s%s", mf_loop_epoch(loop),
             mf_loss_text(step->skipped ? NAN : mean, loss), fast, mf_monitor_text(loop->monitor));
    mf_progress("train", (long)t->step, (long)t->opts.schedule.steps, text);
}

double mf_loop_merit(const struct mf_loop *loop, const struct mf_scores *s)
{
    const struct mf_task *task = loop->trainer->opts.task;

    return s->rows ? task->learn->merit(task, s) : NAN;
}

void mf_loop_write_epoch(struct mf_loop *loop, const struct mf_scores *s)
{
    const struct mf_trainer *t = loop->trainer;
    struct mf_metric row[8 + MF_HEADS] = {KIND("epoch"), INT("step", t->step), INT("epoch", loop->epoch),
                                          REAL("loss", loop->rows > 0 ? loop->sum / loop->rows : NAN),
                                          REAL("val_loss", s->rows ? s->loss : NAN)};
    size_t fields = 5;
    double loss[MF_HEADS];
    char key[MF_HEADS][KEY];

    if (t->opts.task->learn->merit) row[fields++] = REAL(t->opts.task->learn->merit_key, mf_loop_merit(loop, s));
    row[fields++] = REAL("seconds", loop->seconds + mf_now() - loop->began);
    if (t->experts.count) row[fields++] = INT("experts", t->experts.count);
    for (size_t h = 0; h < s->heads; ++h) loss[h] = s->head[h].loss;
    fields += put_heads(t->opts.task, "val_loss", loss, key, row + fields);
    if (t->comm->rank == 0) mf_metrics_row(&loop->metrics, fields, row);
}

const char *const mf_loop_ends[] = {"peak_memory",      "seconds",         "samples_per_second",
                                    "seconds_per_step", "waited_for_data", NULL};

void mf_loop_write_end(struct mf_loop *loop, const struct mf_json *results)
{
    const struct mf_trainer *t = loop->trainer;
    struct mf_metric row[8] = {KIND("end"), INT("step", t->step), INT("epoch", loop->epoch)};
    size_t fields = 3;

    for (const char *const *key = mf_loop_ends; *key; ++key)
        row[fields++] = REAL(*key, mf_json_get_real(results, *key));
    row[3] = INT(*mf_loop_ends, mf_json_get_int(results, *mf_loop_ends)); /* bytes */
    if (t->comm->rank == 0) mf_metrics_line(&loop->metrics, fields, row);
}

/* What validation says of an epoch. */
static void tell_scores(const struct mf_loop *loop, const struct mf_scores *s, FILE *to)
{
    const struct mf_task *task = loop->trainer->opts.task;
    char text[MF_LOSS_TEXT];

    if (s->rows == 0) return;
    fprintf(to, ", validation loss %s, ", mf_loss_text(s->loss, text));
    task->learn->tell(task, mf_loop_merit(loop, s), to);
}

void mf_loop_say_epoch(const struct mf_loop *loop, const struct mf_scores *s)
{
    const struct mf_trainer *t = loop->trainer;
    const size_t each = mf_trainer_epoch(t), all = t->opts.schedule.steps, left = all - t->step;
    char *line = NULL, text[MF_LOSS_TEXT], rest[MF_DURATION_TEXT];
    size_t size;
    FILE *to = MF_MUST(open_memstream(&line, &size), "a line");

    fprintf(to, "epoch %ld of %zu: loss %s", loop->epoch, (all + each - 1) / each,
            mf_loss_text(loop->rows > 0 ? loop->sum / loop->rows : NAN, text));
    tell_scores(loop, s, to);
    if (loop->since == 0)
        fputs(", the best so far", to);
    else if (loop->best_epoch > 0)
        fprintf(to, "; the best is epoch %ld", loop->best_epoch);
    if (loop->dropped > 0) fprintf(to, "; --capacity-factor dropped %.0f of %.0f rows", loop->dropped, loop->sent);
    if (left > 0 && !loop->ended)
        fprintf(to, "; %s left", mf_duration_text((mf_now() - loop->began) / (double)loop->steps * (double)left, rest));
    MF_ASSERT(fclose(to) == 0);
    mf_info("%s", line);
    if (loop->ended)
        mf_info("the training ends early: none of the last %ld epochs was better (--patience)", loop->since);
    free(line);
}
