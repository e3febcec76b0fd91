/* See keep.h. */
#include "src/cmd/keep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/launcher.h"
#include "src/base/err.h"
#include "src/base/log.h"

static const double BEFORE_THE_END = 10, SOON = 1e-3; /* [s] */

/* A positive number and its unit; the seconds of that. 0: it is none. */
static int parse(const char *text, const char *unit, double seconds, double *value)
{
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    if (end == text || errno != 0 || strcmp(end, unit) != 0 || !(*value > 0) || *value > 1e9) return 0;
    *value *= seconds;
    return 1;
}

int mf_keep_seconds(const char *text, double *seconds)
{
    return parse(text, "s", 1, seconds) || parse(text, "min", 60, seconds) || parse(text, "h", 3600, seconds);
}

/* "30s", "10min", "2h", "200ev", "auto", "off". */
static int parse_every(const char *text, struct mf_keeper_opts *k)
{
    double value;

    k->every_seconds = strcmp(text, "off") == 0 ? -1 : 0;
    if (strcmp(text, "auto") == 0 || strcmp(text, "off") == 0) return MF_OK;
    k->every_steps = 0;
    if (mf_keep_seconds(text, &k->every_seconds)) return MF_OK;
    k->every_seconds = 0;
    if (!parse(text, "ev", 1, &value))
        return mf_fail(MF_USAGE, "--checkpoint-every '%s': write it as 30s, 10min, 2h, 200ev, auto or off", text);
    k->every_steps = value < 1 ? 1 : (long)value;
    return MF_OK;
}

int mf_keep_hours(const struct mf_session *s, const char *text, double *seconds)
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

int mf_keep_check(const struct mf_session *session, const struct mf_keep *keep)
{
    struct mf_keeper_opts ignored;
    double seconds;

    MF_TRY(mf_keep_hours(session, keep->hours, &seconds));
    return parse_every(keep->every, &ignored);
}

struct mf_keeper_opts mf_keep_opts(const struct mf_session *s, const struct mf_keep *keep)
{
    struct mf_keeper_opts opts = {
        .begin = s->start, .restart = keep->restart, .anew = !keep->restart && mf_given(s, "restart")};

    if (mf_keep_hours(s, keep->hours, &opts.max_seconds) != MF_OK) { /* was checked: time is over by now */
        mf_err_clear();
        opts.max_seconds = SOON;
    }
    (void)parse_every(keep->every, &opts); /* was checked */
    return opts;
}
