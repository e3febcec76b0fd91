/* See predict.h. */
#include "src/cmd/predict.h"

#include <errno.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/train/learn_show.h"

int mf_predictor_check(const struct mf_session *session, const char *verb, long batch)
{
    if (session->common->dry_run) return mf_fail(MF_USAGE, "%s has no --dry-run: it is short", verb);
    if (batch >= 1) return MF_OK;
    return mf_fail(MF_USAGE, "--batch-size %ld: it must be at least 1", batch);
}

int mf_predictor_open(const struct mf_session *session, const char *path, struct mf_predictor *p)
{
    *p = (struct mf_predictor){.saved = {.path = NULL}};
    MF_TRY(mf_agree(session->comm, mf_saved_open(path, &p->saved)));
    return mf_safetensors_same(session->comm, p->saved.file);
}

int mf_predictor_start(const struct mf_session *session, const struct mf_dataset *set, long batch,
                       struct mf_predictor *p)
{
    const struct mf_train_opts opts = mf_saved_opts(&p->saved, (size_t)batch);

    MF_TRY(mf_trainer_open(session->comm, session->arena, session->queue, set, &opts, &p->trainer));
    return mf_agree(session->comm, mf_saved_load(&p->saved, &p->trainer));
}

void mf_predictor_close(struct mf_predictor *p)
{
    mf_trainer_close(&p->trainer);
    mf_saved_close(&p->saved);
}

void mf_predictor_answer(const struct mf_saved *saved, size_t n, float *output)
{
    const struct mf_learn_show *show = saved->task.learn->show;

    if (show->answer) show->answer(&saved->task, n, output);
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
