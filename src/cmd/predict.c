/* See predict.h. */
#include "src/cmd/predict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/table.h"
#include "src/base/err.h"

int mf_predictor_check(const struct mf_session *session, const char *verb, long batch)
{
    if (session->common->dry_run) return mf_fail(MF_USAGE, "%s has no --dry-run: it is short", verb);
    if (batch >= 1) return MF_OK;
    return mf_fail(MF_USAGE, "--batch-size %ld: it must be at least 1", batch);
}

int mf_predictor_open(const struct mf_session *session, const char *path, struct mf_predictor *p)
{
    *p = (struct mf_predictor){.column = NULL};
    MF_TRY(mf_agree(session->comm, mf_saved_open(path, &p->saved)));
    MF_TRY(mf_safetensors_same(session->comm, p->saved.file));
    p->column = MF_MUST(calloc(p->saved.outputs, sizeof *p->column), "columns");
    return MF_OK;
}

int mf_predictor_start(const struct mf_session *session, struct mf_dataset *set, long batch, struct mf_predictor *p)
{
    struct mf_train_opts opts = {.batch = (size_t)batch, .readers = 1};

    MF_TRY(mf_agree(session->comm, mf_saved_fit(&p->saved, set, &opts, p->column)));
    MF_TRY(mf_trainer_open(session->comm, session->arena, session->queue, set, &opts, &p->trainer));
    return mf_agree(session->comm, mf_saved_load(&p->saved, &p->trainer));
}

void mf_predictor_close(struct mf_predictor *p)
{
    mf_trainer_close(&p->trainer);
    mf_saved_close(&p->saved);
    free(p->column);
}

static void shares_of(size_t n, float *x)
{
    double sum = 0;
    float most = x[0];

    for (size_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < n; ++i) sum += exp((double)(x[i] - most));
    for (size_t i = 0; i < n; ++i) x[i] = (float)(exp((double)(x[i] - most)) / sum);
}

void mf_predictor_shares(const struct mf_saved *saved, size_t n, float *output)
{
    for (size_t r = 0; saved->classify && r < n; ++r) shares_of(saved->outputs, output + r * saved->outputs);
}

void mf_predictor_class(FILE *to, const struct mf_saved *saved, const float *output)
{
    fputc(',', to);
    mf_table_put(to, saved->name[mf_train_class(saved->outputs, output)]);
}

static int print_table(const struct mf_atomic *file, void (*print)(const void *context, FILE *to), const void *context)
{
    FILE *to = fopen(file->temporary, "w");
    int bad;

    if (to) {
        print(context, to);
        bad = ferror(to);
        if (fclose(to) == 0 && !bad) return MF_OK;
    }
    return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
}

int mf_predictor_table(const struct mf_comm *comm, const char *path, void (*print)(const void *context, FILE *to),
                       const void *context)
{
    struct mf_atomic file;

    MF_TRY(mf_atomic_open(comm, path, 0, &file));
    return mf_atomic_close(comm, &file, comm->rank == 0 ? print_table(&file, print, context) : MF_OK);
}
