/* See tuned.h. The first line of the file has the checksum of the others. */
#include "src/train/tuned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { MOST = 16 << 20 /* bytes of the file */ };

#define HEAD "mesoforge algorithms 1, checksum "

/* NULL: the user has no cache. */
static char *path_of_cache(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && *cache == '/') return mf_format("%s/mesoforge/algorithms.txt", cache);
    return home && *home == '/' ? mf_format("%s/.cache/mesoforge/algorithms.txt", home) : NULL;
}

/* The lines behind the first. NULL: this is no such file. */
static const char *lines_of(const char *text, size_t bytes)
{
    const char *lines = strchr(text, '\n');
    uint32_t crc;

    if (!lines || strlen(text) != bytes || sscanf(text, HEAD "%" SCNx32, &crc) != 1) return NULL;
    ++lines;
    return mf_crc32c(0, lines, strlen(lines)) == crc ? lines : NULL;
}

/* 0: it is damaged. */
static int read_file(struct mf_algorithms *t)
{
    const char *lines;
    char *text = NULL;
    size_t bytes;
    int good;

    if (!t->path || access(t->path, F_OK) != 0) return 1;
    good = mf_text_load(t->path, MOST, &text, &bytes) == MF_OK && (lines = lines_of(text, bytes)) &&
           mf_algorithms_take(t, lines, 0) == MF_OK;
    mf_err_clear();
    free(text);
    return good;
}

void mf_tuned_open(struct mf_algorithms *t)
{
    *t = (struct mf_algorithms){.path = path_of_cache()};
    if (!t->path) mf_warn("there is no XDG_CACHE_HOME and no HOME: algorithms are not remembered");
    if (!read_file(t)) mf_warn("'%s' is damaged and counts as empty", t->path);
}

void mf_tuned_share(const struct mf_comm *comm, struct mf_algorithms *t)
{
    char *own = comm->rank == 0 ? mf_algorithms_text(t) : NULL, *text = mf_comm_text(comm, own);

    if (comm->rank > 0) MF_ASSERT(mf_algorithms_take(t, text, 1) == MF_OK);
    free(own);
    free(text);
}

/* The folders above the file, where there are none. */
static void make_folders(const char *path)
{
    char *copy = mf_format("%s", path);

    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(copy, 0700); /* who cannot is told when the file is opened */
        *at = '/';
    }
    free(copy);
}

static int write_file(const struct mf_algorithms *t, const struct mf_atomic *file)
{
    char *lines = mf_algorithms_text(t);
    FILE *to = fopen(file->temporary, "w");
    int bad = !to;

    if (to) {
        fprintf(to, HEAD "%08" PRIx32 "\n%s", mf_crc32c(0, lines, strlen(lines)), lines);
        bad = ferror(to);
        bad |= fclose(to) != 0;
    }
    free(lines);
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%.300s'", file->path) : MF_OK;
}

void mf_tuned_save(struct mf_algorithms *t)
{
    struct mf_atomic file;
    struct mf_comm self;
    int rc;

    if (!t->path || !t->changed) return;
    mf_comm_self(&self);
    make_folders(t->path);
    (void)read_file(t);
    rc = mf_atomic_open(&self, t->path, 0, &file);
    if (rc == MF_OK) rc = mf_atomic_close(&self, &file, write_file(t, &file));
    if (rc != MF_OK) mf_warn("algorithms are not remembered: %s", mf_err_text());
    mf_err_clear();
    t->changed = 0;
}

char *mf_tuned_text(const struct mf_algorithms *t)
{
    char *left, *text;

    if (t->tried + t->remembered + t->left == 0) return mf_format("nothing to try");
    left = t->left ? mf_format("; %zu left, since time or memory was out", t->left) : NULL;
    text = mf_format("%zu operation%s tried in %.1f s, %zu remembered%s", t->tried, MF_S(t->tried), t->seconds,
                     t->remembered, left ? left : "");
    free(left);
    return text;
}
