/* See metrics.h. */
#include "src/recon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
