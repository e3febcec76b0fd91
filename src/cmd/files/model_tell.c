/* See model_tell.h. */
#include "src/cmd/files/model_tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

enum { SHOWN = 20 /* names and numbers of a line, at most */ };

int mf_model_named(const char *file)
{
    char *path = mf_safetensors_where(file);
    const int is = (mf_ends_with(path, ".safetensors") || mf_ends_with(path, ".safetensors.index.json")) &&
                   (strcmp(path, file) == 0 || access(path, F_OK) == 0);

    free(path);
    return is;
}

static void print_more(size_t count)
{
    if (count > SHOWN) printf(" and %zu more", count - SHOWN);
    printf("\n");
}

static void print_samples(const struct mf_model_card *s, const struct mf_task *task)
{
    const size_t outputs = mf_task_outputs(task);

    printf("  reads:      ");
    for (size_t a = s->dims[0] == 1; a < 3; ++a) printf("%zu%s", s->dims[a], a < 2 ? " x " : "");
    if (s->phases)
        printf(" voxels of %d phases\n", s->phases);
    else
        printf(" pixels of %zu channel%s\n", s->dims[3], MF_S(s->dims[3]));
    printf("  %-12s", task->learn->show->title);
    for (size_t c = 0; c < outputs && c < SHOWN; ++c) printf("%s%s", c ? ", " : "", task->name[c]);
    print_more(outputs);
}

/* Prints the values of images, as far as the file has them. */
static void print_values(const struct mf_model_card *s)
{
    const struct mf_channel *c = s->channel;

    if (s->phases) return;
    printf("  values:     %s%smean %.6g, deviation %.6g", s->type ? s->type : "", s->type ? ", " : "", c->mean,
           c->deviation);
    if (c->least <= c->most) printf(", %.6g to %.6g", c->least, c->most);
    printf("%s\n", s->dims[3] > 1 ? " (first channel)" : "");
}

/* A transformer may have none. */
static void print_experts(const struct mf_model_card *s)
{
    if (!s->args.list) return;
    printf("  experts:    %zu, of which %ld for each row; numbers", s->experts.count, s->args.top);
    for (size_t e = 0; e < s->experts.count && e < SHOWN; ++e) printf(" %ld", s->experts.id[e]);
    print_more(s->experts.count);
}

static void print_score(const struct mf_task *task, const struct mf_json *split, const char *name)
{
    const long long samples = split ? mf_json_get_int(split, "samples") : 0;

    if (!split) return;
    printf("  %-12s", name);
    task->learn->show->results(split, stdout);
    printf(" (%lld sample%s)\n", samples, MF_S(samples));
}

static void print(const char *file, const struct mf_model_card *s, const struct mf_task *task)
{
    const struct mf_json *results = mf_json_get(s->json, "results");

    printf("%s: model of --arch %s, --width %ld, --depth %ld\n", file, s->arch->name, s->args.width, s->args.depth);
    print_samples(s, task);
    print_values(s);
    if (task->learn->show->facts) task->learn->show->facts(task, stdout);
    print_experts(s);
    if (!results) {
        printf("  the training that writes it has not ended\n");
        return;
    }
    printf("  epochs:     the best of %lld is %lld\n", mf_json_get_int(results, "epochs"),
           mf_json_get_int(results, "best_epoch"));
    print_score(task, mf_json_get(results, "validation"), "validation:");
    print_score(task, mf_json_get(results, "test"), "test:");
}

int mf_model_tell(const char *file, struct mf_json *json)
{
    struct mf_model_card card;
    struct mf_task task = {.learn = NULL};
    int rc = mf_model_card_open(file, &card);

    if (rc == MF_OK) rc = mf_task_load(&card, &task);
    if (rc == MF_OK && json) {
        mf_json_text(json, "format", "safetensors");
        mf_json_text(json, "kind", "model");
        mf_json_put(json, "model", mf_json_copy(card.json));
    } else if (rc == MF_OK) {
        print(file, &card, &task);
    }
    mf_task_close(&task);
    mf_model_card_close(&card);
    return rc;
}
