/* One realisation of a target: on its way to a file (recon_run.c), and what is said of it (recon_report.c). */
#ifndef MF_CMD_RECON_OUTCOME_H
#define MF_CMD_RECON_OUTCOME_H

#include "src/base/json.h"
#include "src/cmd/recon_opts.h"
#include "src/cmd/recon_plan.h"
#include "src/desc/copies.h"
#include "src/run/run.h"

/** One of the runs of which the best is kept (--candidates). */
struct mf_candidate {
    uint64_t seed;
    double score, copied; /* as compare says */
    long evaluations;
};

/* One realisation on its way out. */
struct mf_outcome {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    const struct mf_target *target;
    size_t dims[3];
    struct mf_solve_opts solve;
    struct mf_solve_result result;
    struct mf_micro micro; /* what is written; phase belongs to result */
    struct mf_target got;  /* its descriptors */
    double variation_error;
    struct mf_copied copied;                          /* of its windows, those that are the example's */
    struct mf_candidate candidate[MF_CANDIDATES_MAX]; /* o->candidates of them, where there are several */
    size_t kept;                                      /* the one that is the result */
    char *path, *name;                                /* of the output; of the run in its metrics */
    const struct mf_run *run;                         /* while it is under way */
    double seconds;
    struct mf_recon_plan plan;
    size_t asked_batch; /* as objective.batch, before the plan */
    int unfit;          /* that plan is not for the devices */
    int no_metrics;     /* a realisation could not write them: said once */
};

/** Can candidates be judged? MF_INPUT: there is nothing to judge them by; MF_USAGE: too small. Not collective. */
int mf_outcome_may_choose(const struct mf_outcome *out);

/** Solves and describes, into result, micro, got, variation_error and copied; of several candidates the best stays.
 * Collective; refuses (agreed), and then holds nothing. */
int mf_outcome_solve(struct mf_outcome *out);
void mf_outcome_free(struct mf_outcome *out);

static inline int mf_outcome_ndim(const struct mf_outcome *out) { return out->dims[0] > 1 ? 3 : 2; }

/** Label in the target's file of phase @p p of the result. */
long mf_outcome_label(const struct mf_outcome *out, int p);

/** Terms of whole volumes, bits 1 << enum mf_whole. */
unsigned mf_outcome_whole(const struct mf_outcome *out);

/** The largest relative error of the interface densities, once out->got is there; NaN: the target has none. */
double mf_outcome_variation(const struct mf_outcome *out);

/** The object that --json prints. Collective (peaks); refuses (agreed). */
int mf_outcome_json(const struct mf_outcome *out, struct mf_json **json);

/** What it needed of memory, into an object and the log. Collective. */
int mf_outcome_peaks(const struct mf_outcome *out, struct mf_json *at);

/** Lines for people. */
void mf_outcome_report(const struct mf_outcome *out);

#endif
