/* See predict.h. */
#include "src/cmd/learn/predict.h"

#include <errno.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"

int mf_predict_check(const struct mf_session *session, const char *verb, long batch)
{
    if (session->settings.dry_run) return mf_fail(MF_USAGE, "%s has no --dry-run: it is short", verb);
    if (batch >= 1) return MF_OK;
    return mf_fail(MF_USAGE, "--batch-size %ld: it must be at least 1", batch);
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

int mf_predict_table(const struct mf_comm *comm, const char *path, void (*print)(const void *context, FILE *to),
                     const void *context)
{
    struct mf_atomic file;

    MF_TRY(mf_atomic_open(comm, path, 0, &file));
    return mf_atomic_close(comm, &file, comm->rank == 0 ? print_table(&file, print, context) : MF_OK);
}
