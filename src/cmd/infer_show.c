/* See infer_show.h. */
#include "src/cmd/infer_show.h"

#include <stdlib.h>
#include <string.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/predict.h"

enum { SHOWN = 3 /* classes of a file */ };

void mf_predictions_add(struct mf_predictions *s, struct mf_predicted said, const float *output)
{
    const size_t bytes = s->saved->outputs * sizeof *output;

    if (s->lines == s->room) {
        s->room = 2 * s->room + 16;
        s->said = MF_MUST(realloc(s->said, s->room * sizeof *s->said), "predictions");
    }
    said.output = MF_MUST(malloc(bytes), "predictions");
    memcpy(said.output, output, bytes);
    s->said[s->lines++] = said;
}

void mf_predictions_free(struct mf_predictions *s)
{
    for (size_t i = 0; i < s->lines; ++i) free(s->said[i].output);
    free(s->said);
}

static void print_best(const struct mf_saved *s, const struct mf_predicted *said)
{
    char *used = MF_MUST(calloc(s->outputs, 1), "classes");

    for (size_t k = 0; k < SHOWN && k < s->outputs; ++k) {
        size_t best = s->outputs;

        for (size_t i = 0; i < s->outputs; ++i)
            if (!used[i] && (best == s->outputs || said->output[i] > said->output[best])) best = i;
        used[best] = 1;
        printf("%s %s %.4f", k ? "," : ":", s->name[best], (double)said->output[best]);
    }
    free(used);
}

static void print_line(const struct mf_saved *s, const struct mf_predicted *said)
{
    printf("%s", said->file);
    if (said->sample >= 0) printf(", sample %ld", said->sample);
    if (s->classify) print_best(s, said);
    for (size_t i = 0; !s->classify && i < s->outputs; ++i)
        printf("%s %s %.6g", i ? "," : ":", s->name[i], (double)said->output[i]);
    if (said->tiles > 1) printf(" (mean of %.0f tiles)", said->tiles);
    printf("\n");
}

static struct mf_json *json_of(const struct mf_saved *s, const struct mf_predicted *said)
{
    struct mf_json *j = mf_json_object(), *values = mf_json_object();

    mf_json_text(j, "file", said->file);
    if (said->sample >= 0) mf_json_int(j, "sample", said->sample);
    mf_json_int(j, "tiles", (long long)said->tiles);
    for (size_t i = 0; i < s->outputs; ++i) mf_json_real(values, s->name[i], (double)said->output[i]);
    if (s->classify) {
        const size_t best = mf_train_class(s->outputs, said->output);

        mf_json_text(j, "class", s->name[best]);
        mf_json_real(j, "probability", (double)said->output[best]);
    }
    mf_json_put(j, s->classify ? "probabilities" : "values", values);
    return j;
}

static int print_json(const struct mf_predictions *s)
{
    struct mf_json *all = mf_json_array(), *refused = mf_json_array(), *j = mf_json_object();
    int rc;

    for (size_t i = 0; i < s->lines; ++i) mf_json_put(all, NULL, json_of(s->saved, &s->said[i]));
    for (size_t i = 0; i < s->refused->count; ++i) {
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "file", s->files[s->refused->file[i].place], "error", (const char *)s->refused->file[i].why);
        mf_json_put(refused, NULL, one);
    }
    MF_JSON(j, "model", s->saved->path, "predictions", all, "refused", refused);
    MF_JSON(j, "seconds", mf_now() - s->session->start, "ranks", s->session->comm->size);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

int mf_predictions_print(const struct mf_predictions *s)
{
    if (s->session->common->json) return print_json(s);
    for (size_t i = 0; i < s->lines; ++i) print_line(s->saved, &s->said[i]);
    return MF_OK;
}

void mf_predictions_put(const void *predictions, FILE *to)
{
    const struct mf_predictions *s = predictions;
    const struct mf_saved *saved = s->saved;

    fprintf(to, "file,sample%s", saved->classify ? ",predicted" : "");
    for (size_t c = 0; c < saved->outputs; ++c) {
        fprintf(to, ",");
        mf_table_put(to, saved->name[c]);
    }
    for (size_t i = 0; i < s->lines; ++i) {
        const struct mf_predicted *said = &s->said[i];

        fprintf(to, "\n");
        mf_table_put(to, said->file);
        fprintf(to, ",");
        if (said->sample >= 0) fprintf(to, "%ld", said->sample);
        if (saved->classify) mf_predictor_class(to, saved, said->output);
        for (size_t c = 0; c < saved->outputs; ++c)
            fprintf(to, saved->classify ? ",%.6f" : ",%.7g", (double)said->output[c]);
    }
    fprintf(to, "\n");
}
