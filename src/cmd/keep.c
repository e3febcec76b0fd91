/* See recon_opts.h: when a reconstruction saves itself, from the options. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/look.h"
#include "slurm/launcher.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/base/text.h"
#include "src/cmd/recon_opts.h"

static const double BEFORE_THE_END = 10, SOON = 1e-3; /* [s] */

/* "30s", "10min", "2h", "200ev", "auto", "off". */
static int parse_every(const char *text, struct mf_keeper_opts *k)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"ev", 0}};
    char *end;
    double value;

    k->every_seconds = strcmp(text, "off") == 0 ? -1 : 0;
    if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0) return MF_OK;
    errno = 0;
    value = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units && end != text && errno == 0; ++i) {
        if (strcmp(end, units[i].unit) != 0 || !(value > 0) || value > 1e9) continue;
        k->every_seconds = value * units[i].seconds;
        k->every_steps = units[i].seconds > 0 ? 0 : value < 1 ? 1 : (long)value;
        return MF_OK;
    }
    return mf_fail(MF_USAGE, "--checkpoint-every '%s': write it as 30s, 10min, 2h, 200ev, auto or off", text);
}

/* Seconds from the start of the program; "auto": until Slurm ends the job, which rank 0 watches for all. */
static int parse_hours(const struct mf_session *s, const char *text, double *seconds)
{
    char *end;
    double hours;

    *seconds = 0;
    if (strcmp(text, "auto") == 0) {
        struct mf_launcher launcher = mf_launcher_find();

        if (s->comm->rank != 0 || s->ahead) return MF_OK;
        MF_TRY(mf_launcher_hours(&launcher, &hours));
        if (isfinite(hours)) *seconds = fmax(3600 * hours + mf_now() - s->start - BEFORE_THE_END, SOON);
        return MF_OK;
    }
    hours = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(hours) || hours < 0)
        return mf_fail(MF_USAGE, "--max-hours '%.100s': write hours, which cannot be negative, or auto", text);
    *seconds = 3600 * hours;
    return MF_OK;
}

int mf_recon_keeper_check(const struct mf_session *session, const struct mf_recon_cmd *o)
{
    struct mf_keeper_opts ignored;
    double seconds;

    MF_TRY(parse_hours(session, o->max_hours, &seconds));
    return parse_every(o->checkpoint_every, &ignored);
}

/* The part of a path before its ending; heap. */
static char *stem_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t n = dot && dot > mf_name_base(path) ? (size_t)(dot - path) : strlen(path);
    char *stem = strndup(path, n);

    if (!stem) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return stem;
}

/* A file of this name in the folder of @p path; heap. */
static char *beside(const char *path, const char *word)
{
    char *name = NULL;

    if (asprintf(&name, "%.*s%s", (int)(mf_name_base(path) - path), path, word) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

void mf_recon_keeper_open(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                          struct mf_recon_keeper *k)
{
    double seconds;

    if (parse_hours(s, o->max_hours, &seconds) != MF_OK) { /* was checked: time is over by now */
        mf_err_clear();
        seconds = SOON;
    }
    k->stem = stem_of(path);
    k->stop_file = beside(path, "STOP");
    k->save_file = beside(path, "CHECKPOINT");
    k->opts = (struct mf_keeper_opts){.stem = k->stem,
                                      .stop_file = k->stop_file,
                                      .save_file = k->save_file,
                                      .max_seconds = seconds,
                                      .begin = s->start,
                                      .restart = strcmp(o->restart, "auto") == 0};
    (void)parse_every(o->checkpoint_every, &k->opts); /* was checked */
    mf_stop_on_signals();
}

int mf_recon_keeper_lock(const struct mf_session *s, const char *path, struct mf_recon_keeper *k)
{
    struct mf_launcher launcher = mf_launcher_find();
    struct mf_lock_job job = {launcher.job, launcher.restarts};

    if (launcher.restarts > 0)
        mf_info("job %s has been started again %ld time%s", launcher.job, launcher.restarts, MF_S(launcher.restarts));
    return mf_lock_take(s->comm, path, &job, &k->lock);
}

void mf_recon_keeper_close(struct mf_recon_keeper *k)
{
    mf_lock_give(&k->lock);
    free(k->stem);
    free(k->stop_file);
    free(k->save_file);
}

/* What rank 0 sees, on all ranks. Collective. */
static int exists(const struct mf_comm *comm, const char *path)
{
    int there = comm->rank == 0 && access(path, F_OK) == 0;

    mf_comm_bcast(comm, 0, &there, sizeof there);
    return there;
}

/* What the file says of the run that wrote it, if that solved this problem; else NULL. Rank 0 alone. */
static struct mf_json *results_of(const char *path, const char *problem)
{
    struct mf_json *results = NULL;
    struct mf_look look;
    const char *says;
    int is_h5 = 0, rc = mf_look_is_h5(path, &is_h5);

    if (rc == MF_OK && !is_h5) return NULL;
    if (rc == MF_OK) rc = mf_look(path, &look);
    if (rc != MF_OK) {
        mf_warn("%s; whether it is this run's result cannot be told, and it is made again", mf_err_text());
        mf_err_clear();
        return NULL;
    }
    if (look.results) results = mf_json_parse(look.results);
    mf_look_free(&look);
    says = results ? mf_json_to_text(mf_json_get(results, "problem")) : NULL;
    if (says && strcmp(says, problem) == 0) return results;
    mf_json_free(results);
    return NULL;
}

int mf_recon_is_done(const struct mf_session *s, const struct mf_recon_keeper *k, const char *path, const char *problem,
                     struct mf_json **results)
{
    int done = exists(s->comm, path);

    for (int i = 0; i < 2; ++i) {
        char *name = mf_checkpoint_name(k->stem, i);

        done = !exists(s->comm, name) && done;
        free(name);
    }
    if (done) {
        if (s->comm->rank == 0) *results = results_of(path, problem);
        done = s->comm->rank == 0 && *results;
        mf_comm_bcast(s->comm, 0, &done, sizeof done);
    }
    return done;
}
