/* The pictures of a folder. Which does a table name: each once, and all of them? See source.h. */
#include "io/source_priv.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/names.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

/* A file, whatever its name is. */
struct picture {
    dev_t disk;
    ino_t file;
    size_t row;
};

static int by_file(const void *a, const void *b)
{
    const struct picture *x = a, *y = b;

    if (x->disk != y->disk) return x->disk < y->disk ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static int by_file_and_row(const void *a, const void *b)
{
    const struct picture *x = a, *y = b;
    const int order = by_file(a, b);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* ---- twice ---- */

/* How much two rows of one picture contradict each other: 0 to 2. */
static int conflict(const struct mf_source *s, size_t one, size_t other)
{
    if (s->label && s->label[one] != s->label[other]) return 2;
    return s->split && s->split[one] != s->split[other];
}

static void say_twice(const struct mf_source *s, const struct picture *p, size_t n)
{
    static const char *const what[] = {"; it may be in two splits", ", in two splits", ", with two labels"};
    size_t twice = 0, worst = 0;

    for (size_t k = 1; k < n; ++k) {
        if (by_file(&p[k - 1], &p[k]) != 0) continue;
        if (!twice++ || conflict(s, p[k - 1].row, p[k].row) > conflict(s, p[worst - 1].row, p[worst].row)) worst = k;
    }
    if (twice)
        mf_warn("'%s' names a picture again in %zu row%s: rows %zu and %zu name '%.200s'%s", s->table.path, twice,
                MF_S(twice), p[worst - 1].row + 1, p[worst].row + 1, s->file[p[worst].row],
                what[conflict(s, p[worst - 1].row, p[worst].row)]);
}

/* ---- not at all ---- */

/* How many folders deep the names reach. */
static int deepest(const struct mf_source *s)
{
    int most = 0;

    for (size_t i = 0; i < s->samples; ++i) {
        int depth = 0;

        for (const char *at = s->file[i]; *at; ++at) depth += *at == '/';
        most = depth > most ? depth : most;
    }
    return most;
}

/* Pictures of the folder, no deeper than names reach, that are none of @p p [n]. */
static size_t count_others(const struct mf_source *s, const struct picture *p, size_t n)
{
    char *folder = MF_MUST(strdup(s->wish->path), "a file name");
    FTS *walk = fts_open((char *const[]){folder, NULL}, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    const int depth = deepest(s);
    size_t others = 0;

    for (FTSENT *at; walk && (at = fts_read(walk));) {
        if (at->fts_info == FTS_D && at->fts_level > depth) (void)fts_set(walk, at, FTS_SKIP);
        if (at->fts_info != FTS_F || !mf_name_is_picture(at->fts_name)) continue;
        others +=
            !bsearch(&(struct picture){at->fts_statp->st_dev, at->fts_statp->st_ino, 0}, p, n, sizeof *p, by_file);
    }
    if (walk) (void)fts_close(walk);
    free(folder);
    return others;
}

int mf_source_listed(struct mf_source *s)
{
    const char *folder = s->wish->path;

    const int rc = mf_names_in(folder, 0, &s->samples, &s->listed);

    if (rc == MF_INPUT)
        return mf_fail(MF_INPUT,
                       "the folder '%s' itself holds no PNG or TIFF; a --table with a column file names those of its "
                       "folders",
                       folder);
    MF_TRY(rc);
    MF_TRY(MF_ROOM(s->file, s->samples, "the names of %zu pictures", s->samples));
    for (size_t i = 0; i < s->samples; ++i) s->file[i] = s->listed[i];
    return MF_OK;
}

/* Somebody wrote classes or properties, and they are not read. */
static void say_table(const char *folder)
{
    char *path = mf_format("%s%stable.csv", folder, mf_ends_with(folder, "/") ? "" : "/");

    if (access(path, R_OK) == 0) mf_warn("'%s' is there and was not read; try: --table %s", path, path);
    free(path);
}

/* Pictures that a table names. */
static int doubt_table(const struct mf_source *s)
{
    struct picture *all;
    size_t n = 0, others;

    MF_TRY(MF_ROOM(all, s->samples + 1, "%zu pictures", s->samples));
    for (size_t i = 0; i < s->samples; ++i) {
        char *path = mf_format("%s/%s", s->wish->path, s->file[i]);
        struct stat is;

        if (stat(path, &is) == 0) all[n++] = (struct picture){is.st_dev, is.st_ino, i};
        free(path);
    }
    qsort(all, n, sizeof *all, by_file_and_row);
    say_twice(s, all, n);
    others = n ? count_others(s, all, n) : 0;
    if (others)
        mf_info("'%s': %zu picture%s not in '%s' and left out", s->wish->path, others, others == 1 ? " is" : "s are",
                s->table.path);
    free(all);
    return MF_OK;
}

int mf_source_doubt(const struct mf_source *s)
{
    if (s->form != PICTURES || s->wish->files) return MF_OK;
    if (s->wish->table) return doubt_table(s);
    say_table(s->wish->path);
    return MF_OK;
}
