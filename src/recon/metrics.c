/* See metrics.h. */
#include "src/recon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/json.h"
#include "src/base/log.h"

void mf_metrics_open(struct mf_metrics *m, const char *path, int append)
{
    int file;

    *m = (struct mf_metrics){.path = path};
    if (!append && truncate(path, 0) != 0) errno = 0;                                /* not there yet */
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666); /* a pipe nobody reads: refused */
    m->file = file >= 0 ? fdopen(file, "a") : NULL;
    if (m->file) return;
    mf_warn("cannot write '%s': %s; the run goes on without it", path, strerror(errno));
    m->lost = 1;
}

/* Is this a line of the seed that comes after the checkpoint, or the half of one? *seen counts the seed's lines. */
static int is_late(const char *line, uint64_t seed, size_t rows, long step, size_t *seen)
{
    struct mf_json *row = mf_json_parse(line);
    int own = mf_json_get(row, "step") && (uint64_t)mf_json_to_int(mf_json_get(row, "seed")) == seed;
    int late = strchr(line, '\n') == NULL;

    if (own) late = ++*seen > rows || mf_json_to_int(mf_json_get(row, "step")) > step || late;
    mf_json_free(row);
    return late;
}

/* Copies what stays behind the first late line; *first: where that one begins, -1: there is none. */
static char *sift(FILE *from, uint64_t seed, size_t rows, long step, long *first, size_t *size)
{
    char *line = NULL, *kept = NULL;
    size_t room = 0, seen = 0;
    FILE *to = open_memstream(&kept, size);

    *first = -1;
    for (long at = 0; to && getline(&line, &room, from) > 0; at = ftell(from)) {
        int late = is_late(line, seed, rows, step, &seen);

        if (late && *first < 0) *first = at;
        if (!late && *first >= 0) fputs(line, to);
    }
    free(line);
    if (to && fclose(to) == 0) return kept;
    free(kept);
    return NULL;
}

void mf_metrics_cut(const char *path, uint64_t seed, size_t rows, long step)
{
    struct stat is;
    FILE *file = stat(path, &is) == 0 && S_ISREG(is.st_mode) ? fopen(path, "r+") : NULL;
    size_t size = 0;
    long first = -1;
    char *kept;

    if (!file) return; /* opening it for the rest of the run says why */
    kept = sift(file, seed, rows, step, &first, &size);
    if (kept && first >= 0 && ftruncate(fileno(file), first) == 0 && fseek(file, first, SEEK_SET) == 0 &&
        fwrite(kept, 1, size, file) != size)
        mf_warn("'%s' has lost lines of other runs: %s", path, strerror(errno));
    free(kept);
    (void)fclose(file);
}

static void end(struct mf_metrics *m, int whole)
{
    int why = errno;

    if (fclose(m->file) != 0 && whole) {
        whole = 0;
        why = errno;
    }
    if (!whole) mf_warn("'%s' is not complete: %s; the run goes on without it", m->path, strerror(why));
    m->lost = !whole;
    m->file = NULL;
}

void mf_metrics_row(struct mf_metrics *m, uint64_t seed, long step, double seconds, double loss, const char *stage)
{
    if (!m->file) return;
    if (fprintf(m->file, "{\"seed\": %llu, \"step\": %ld, \"time\": %.6f, \"loss\": %.17g, \"stage\": \"%s\"}\n",
                (unsigned long long)seed, step, seconds, loss, stage) < 0 ||
        fflush(m->file) != 0)
        end(m, 0);
}

void mf_metrics_close(struct mf_metrics *m)
{
    if (m->file) end(m, 1);
}
