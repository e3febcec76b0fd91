/* When a run saves itself and when it leaves, by the options --checkpoint-every, --max-hours and --restart. */
#ifndef MF_CMD_KEEP_H
#define MF_CMD_KEEP_H

#include "src/cmd/cmd.h"
#include "src/run/keeper.h"

struct mf_keep {
    const char *every, *hours;
    int restart;
};

/** The rows, in the options of a verb that has a struct mf_keep called keep. */
#define MF_KEEP_HOURS(type, field)                 \
    MF_OPT(type, "max-hours", field, MF_TEXT, "0", \
           "save the run and stop (exit 75) before this many hours; auto: before Slurm ends the job; 0: no limit")

#define MF_KEEP_ROWS(type)                                                                                         \
    MF_OPT(type, "checkpoint-every", keep.every, MF_TEXT, "auto",                                                  \
           "save the run every 30s, 10min, 2h or 200ev (evaluations); auto: by the cost of a checkpoint; off: on " \
           "leaving only"),                                                                                        \
        MF_CHOICE(type, "restart", keep.restart, "no", "no|auto",                                                  \
                  "auto: continue from the newest checkpoint, if there is one; no: begin anew, and replace "       \
                  "checkpoints; left out: begin anew, unless a stopped run has left some"),                        \
        MF_KEEP_HOURS(type, keep.hours)

/** Is @p text a duration, as 30s, 10min or 2h? Then its seconds. Local. */
int mf_keep_seconds(const char *text, double *seconds);

/** --max-hours as seconds from the start of the program; 0: no limit. Refuses with MF_USAGE. Not collective: only rank
 * 0 knows when its job ends. */
int mf_keep_hours(const struct mf_session *session, const char *text, double *seconds);

/** Refuses invalid values: MF_USAGE. Not collective: only rank 0 must know when its job ends. */
int mf_keep_check(const struct mf_session *session, const struct mf_keep *keep);

/** The checked options as a struct; the run sets the names of files (src/run/run.h). */
struct mf_keeper_opts mf_keep_opts(const struct mf_session *session, const struct mf_keep *keep);

#endif
