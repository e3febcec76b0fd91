/* See rows.h. */
#include "io/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/file.h"

/* Values that are written and summed up while the processor still has them. */
enum { PIECE = 4 << 20 };

struct mf_rows {
    int descriptor;
    const char *path; /* what sentences call it */
    struct mf_seal_seen *seen;
};

int mf_rows_put(struct mf_rows *rows, const void *from, size_t bytes, uint64_t offset)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        const char *piece = (const char *)from + at;

        MF_TRY(mf_write_at(rows->descriptor, rows->path, piece, n, offset + at));
        if (rows->seen) mf_seal_see(rows->seen, piece, n, offset + at, NULL);
    }
    return MF_OK;
}

int mf_rows_write(const struct mf_comm *comm, const struct mf_atomic *file, uint64_t end, struct mf_seal_seen *seen,
                  int (*put)(struct mf_rows *rows, const void *context), const void *context)
{
    struct mf_rows rows = {mf_open(file->temporary, O_WRONLY), file->path, seen};
    int rc = MF_OK;

    if (rows.descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    if (seen) rc = mf_seal_see_begin(seen, end);
    if (rc == MF_OK) rc = put(&rows, context);
    if (rc == MF_OK && comm->rank != 0 && mf_flush(rows.descriptor) != 0)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", file->path, strerror(errno));
    if (close(rows.descriptor) != 0 && rc == MF_OK)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    return rc;
}
