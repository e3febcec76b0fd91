/* Passes of generate: each rank makes whole ones, and writes their samples. See generate.h. */
#include <stdlib.h>
#include <string.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/base/text.h"
#include "src/cmd/files/generate.h"
#include "src/cmd/keep.h"

enum { FLUSH = 2 /* s */ };

static int measure(struct generate_job *job, size_t row)
{
    const struct mf_model_card *c = &job->card;
    float *real = job->real + row * job->columns + job->properties.columns;
    const float *value = job->value + row * c->denoise->columns;

    for (size_t k = 0; k < c->denoise->columns; ++k)
        if (mf_generate_knows(job, k)) *real++ = value[k];
    if (!c->phases) return MF_OK;
    return mf_properties_of(&job->properties, c->dims, job->x + row * job->bytes, job->real + row * job->columns);
}

/* Samples of the set in pass @p number, which begins with sample number pass * number of all. */
static struct mf_span part_of(const struct generate_job *job, size_t number, size_t *row)
{
    const size_t first = (size_t)job->o->first, end = first + (size_t)job->o->samples, at = number * job->pass;
    const size_t from = at < first ? first : at, to = at + job->pass < end ? at + job->pass : end;

    *row = from - at;
    return (struct mf_span){from - first, to - from};
}

/* A row that is for all samples is given to the network once. */
static int place_masks(struct generate_job *job, size_t number)
{
    const float *values;

    for (size_t k = 0; k < job->masks.count; ++k)
        for (size_t r = 0; r < job->pass && !(job->masks.rows[k] == 1 && job->placed); ++r) {
            MF_TRY(mf_masks_read(&job->masks, k, number * job->pass + r, &values));
            mf_generator_mask(job->generator, k, r, values);
        }
    job->placed = 1;
    return MF_OK;
}

/* Adds the seconds since then, and begins anew. */
static void clocked(double *seconds, double *since)
{
    const double now = mf_now();

    *seconds += now - *since;
    *since = now;
}

int mf_generate_overflow(const struct generate_job *job, int rc)
{
    char why[MF_ERR_TEXT];
    const enum mf_type type = mf_generate_type(job->o);

    if (rc != MF_NUMERIC || type == MF_F32) return rc;
    mf_err_take(why, sizeof why);
    return mf_fail(rc, "%.800s; try: --mixed-precision %s", why, type == MF_F16 ? "bf16" : "no");
}

static int make(struct generate_job *job, size_t number, struct mf_writer *writer)
{
    const void *kept[MF_WRITER_ARRAYS];
    double since = mf_now();
    size_t row;
    int rc;
    const struct mf_span part = part_of(job, number, &row);

    MF_TRY(place_masks(job, number));
    MF_TRY(mf_generate_overflow(job,
                                mf_generator_make(job->generator, &job->wish, number, job->x, job->label, job->value)));
    for (size_t k = 0; k < job->layers; ++k) {
        mf_generator_layer(job->generator, k, job->activation[k]);
        kept[k] = job->activation[k] + row * mf_generate_numbers(job, k);
    }
    clocked(&job->times.network, &since);
    for (size_t r = row; r < row + part.count; ++r) MF_TRY(measure(job, r));
    clocked(&job->times.measuring, &since);
    rc = mf_writer_put(writer, &(struct mf_writer_window){.first = part.first,
                                                          .count = part.count,
                                                          .x = job->x + row * job->bytes,
                                                          .label = job->label + row,
                                                          .real = job->real + row * job->columns,
                                                          .seed = job->seed + row,
                                                          .row = kept});
    clocked(&job->times.writing, &since);
    return rc;
}

/* Passes of which a sample is missing, on all ranks alike. */
static size_t list_passes(const struct generate_job *job, const uint8_t *status, size_t *list)
{
    const size_t first = (size_t)job->o->first, end = first + (size_t)job->o->samples;
    size_t n = 0;

    for (size_t p = first / job->pass; p * job->pass < end; ++p) {
        size_t row;
        const struct mf_span part = part_of(job, p, &row);

        if (memchr(status + part.first, 0, part.count)) list[n++] = p;
    }
    return n;
}

static void tell(const struct generate_job *job, size_t done, size_t all, double start, double *told)
{
    enum { EVERY = 10 /* s */ };
    const double now = mf_now();

    if (job->session->comm->rank != 0 || now - *told < EVERY) return;
    *told = now;
    mf_info("%zu of %zu passes; %.1f samples/s, %.0f s left", done, all, (double)(done * job->pass) / (now - start),
            (now - start) / (double)done * (double)(all - done));
}

/* The clock, a signal or the file STOP asked the run to leave. Collective. */
static int left(const struct mf_keeper *keeper, const char *path, size_t done, size_t all)
{
    if (!keeper->leaving) return MF_OK;
    return mf_fail(MF_STOPPED,
                   "stopped early (%s) after %zu of %zu passes; '%s.partial' has them, and the same command goes on",
                   keeper->why, done, all, path);
}

/* Each rank takes whole passes, in turn. */
static int make_all(struct generate_job *job, struct mf_writer *writer, struct mf_keeper *keeper, const char *path)
{
    const struct mf_comm *comm = job->session->comm;
    const size_t ranks = (size_t)comm->size, passes = (size_t)job->o->samples / job->pass + 2;
    size_t *list = MF_MUST(calloc(passes, sizeof *list), "passes");
    const size_t n = list_passes(job, mf_writer_status(writer), list);
    const double start = mf_now();
    double told = start;
    size_t row;
    int rc = MF_OK;

    for (size_t k = 0, next; rc == MF_OK && k < n; k = next) {
        const size_t own = k + (size_t)comm->rank;

        next = k + ranks < n ? k + ranks : n;
        rc = mf_agree(comm, own < n ? make(job, list[own], writer) : MF_OK);
        if (rc == MF_OK) tell(job, next, n, start, &told);
        for (size_t p = k; rc == MF_OK && p < next; ++p) job->times.samples += part_of(job, list[p], &row).count;
        if (rc != MF_OK || next == n) continue;
        (void)mf_keeper_ask(keeper, comm, (long)next);
        rc = left(keeper, path, next, n);
    }
    job->times.passes = n;
    free(list);
    return rc;
}

/* From here on a signal is a wish to leave. @p stop: the file STOP beside the set. */
static void watch(const struct generate_job *job, const char *stop, struct mf_keeper *keeper)
{
    struct mf_keeper_opts opts = {.stop_file = stop, .begin = job->session->start};

    if (mf_keep_hours(job->session, job->o->hours, &opts.max_seconds) != MF_OK) mf_err_clear(); /* was checked */
    mf_keeper_watch(keeper, &opts);
    mf_stop_on_signals();
    mf_comm_hint("the same command, which goes on from complete samples");
}

static int fill(struct generate_job *job, struct mf_writer *writer, const char *path)
{
    char *stop = mf_format("%.*sSTOP", (int)(mf_name_base(path) - path), path);
    struct mf_keeper keeper;
    double since = mf_now();
    int rc;

    watch(job, stop, &keeper);
    rc = make_all(job, writer, &keeper, path);
    clocked(&job->times.all, &since);
    if (rc == MF_OK) rc = mf_writer_finish(writer);
    clocked(&job->times.writing, &since);
    mf_comm_hint(NULL);
    free(stop);
    return rc;
}

int mf_generate_write(struct generate_job *job, const char *path)
{
    const struct mf_comm *comm = job->session->comm;
    const struct mf_writer_wish wish = {.set = mf_generate_wish(job),
                                        .arrays = job->layers,
                                        .array = job->array,
                                        .settings = job->settings,
                                        .window = job->pass,
                                        .seconds = FLUSH};
    char *options = mf_options_yaml(mf_options_of(job->session));
    const struct mf_provenance from = {
        .command = "generate", .options = options, .input_hash = "", .seed = job->o->common.seed};
    struct mf_writer *writer = NULL;
    int rc = mf_writer_open(comm, path, &wish, &from, &writer), closed;

    if (rc == MF_OK && mf_writer_found(writer) > 0 && comm->rank == 0)
        mf_info("'%s' has %zu of %zu samples%s", path, mf_writer_found(writer), wish.set.samples,
                mf_writer_found(writer) < wish.set.samples ? "; the run goes on from there" : "");
    if (rc == MF_OK) rc = fill(job, writer, path);
    closed = mf_writer_close(writer);
    free(options);
    return rc == MF_OK || rc == MF_STOPPED ? (closed == MF_OK ? rc : closed) : rc;
}
