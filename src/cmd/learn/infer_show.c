/* See infer_show.h. */
#include "src/cmd/learn/infer_show.h"

#include <stdlib.h>
#include <string.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/train/learn_show.h"

int mf_predictions_add(struct mf_predictions *s, struct mf_predicted said, const float *output)
{
    MF_TRY(MF_ROOM_NEXT(s->said, s->lines, "%zu predictions", s->lines));
    MF_TRY(MF_ROOM(said.output, s->outputs, "%zu predictions", s->lines));
    memcpy(said.output, output, s->outputs * sizeof *output);
    s->said[s->lines++] = said;
    return MF_OK;
}

void mf_predictions_free(struct mf_predictions *s)
{
    for (size_t i = 0; i < s->lines; ++i) free(s->said[i].output);
    free(s->said);
}

static void print_line(const struct mf_task *task, const struct mf_predicted *said)
{
    printf("%s", said->file);
    if (said->sample >= 0) printf(", sample %ld", said->sample);
    task->learn->show->line(task, said->output, stdout);
    if (said->tiles > 1) printf(" (mean of %.0f tiles)", said->tiles);
    printf("\n");
}

struct mf_json *mf_predicted_json(const struct mf_task *task, const struct mf_predicted *said)
{
    struct mf_json *j = mf_json_object();

    mf_json_text(j, "file", said->file);
    if (said->sample >= 0) mf_json_int(j, "sample", said->sample);
    mf_json_int(j, "tiles", (long long)said->tiles);
    task->learn->show->reply(task, said->output, j);
    return j;
}

void mf_predictor_facts(const struct mf_model_card *c, const struct mf_task *task, struct mf_json *to)
{
    struct mf_json *names = mf_json_array(), *shape = mf_json_array();

    for (size_t i = 0; i < c->outputs.count; ++i) mf_json_text(names, NULL, task->name[i]);
    for (size_t i = 0; i < 4; ++i) mf_json_size(shape, NULL, c->dims[i]);
    MF_JSON(to, "task", task->learn->name, "arch", c->arch->name, "shape", shape, "phases", c->phases, "outputs",
            names);
}

int mf_predictions_json(const struct mf_predictions *s, const char *key, struct mf_json *all)
{
    struct mf_json *j = mf_json_object();
    int rc;

    MF_JSON(j, "model", s->model, key, all, "refused", mf_refused_json(s->refused, s->files));
    MF_JSON(j, "seconds", mf_now() - s->session->start, "ranks", s->session->comm->size);
    if (s->plan) (void)mf_run_plan_put(s->plan, j);
    if (s->peaks) mf_peaks_json(s->peaks, j);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

static int print_json(const struct mf_predictions *s)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < s->lines; ++i) mf_json_put(all, NULL, mf_predicted_json(s->task, &s->said[i]));
    return mf_predictions_json(s, "predictions", all);
}

int mf_predictions_print(const struct mf_predictions *s)
{
    if (mf_common_of(s->session)->json) return print_json(s);
    for (size_t i = 0; i < s->lines; ++i) print_line(s->task, &s->said[i]);
    return MF_OK;
}

void mf_predictions_put(const void *predictions, FILE *to)
{
    const struct mf_predictions *s = predictions;
    const struct mf_learn_show *show = s->task->learn->show;

    fprintf(to, "file,sample");
    show->names(s->task, to);
    for (size_t i = 0; i < s->lines; ++i) {
        const struct mf_predicted *said = &s->said[i];

        fprintf(to, "\n");
        mf_table_put(to, said->file);
        fprintf(to, ",");
        if (said->sample >= 0) fprintf(to, "%ld", said->sample);
        show->values(s->task, said->output, to);
    }
    fprintf(to, "\n");
}
