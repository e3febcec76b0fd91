/* One reconstruction on its way to a file: solved and described, the best of several candidates, and what is said of
 * it. It knows neither options nor devices: the caller brings functions that solve and measure. */
#ifndef MF_RECON_OUTCOME_H
#define MF_RECON_OUTCOME_H

#include "src/base/json.h"
#include "src/desc/characterize.h"
#include "src/desc/copies.h"
#include "src/recon/solve.h"
#include "src/run/run.h"

enum { MF_CANDIDATES_MAX = 64 };

/** One of the runs of which the best is kept (--candidates). */
struct mf_candidate {
    uint64_t seed;
    double score, copied; /* as compare says */
    long evaluations;
};

struct mf_outcome;

/** How it is solved and measured. Collective; both refuse alike on all ranks. */
struct mf_outcome_by {
    void *context;
    int (*solve)(void *context, struct mf_outcome *outcome); /* into outcome->result */
    int (*measure)(void *context, struct mf_micro *micro, const struct mf_characterize_opts *opts,
                   struct mf_target *got);
};

struct mf_outcome {
    const struct mf_comm *comm;
    struct mf_arena *arena; /* of fields of labels */
    struct mf_outcome_by by;
    const struct mf_target *target;
    size_t dims[3];
    struct mf_solve_opts solve;
    size_t candidates;  /* runs of which the best is kept; 1: no choice */
    long asked, usual;  /* evaluations: of this run, and of such a run where nobody says how many */
    int by_recipe;      /* the program chose what to aim at */
    char *path, *name;  /* of the output; of the run in its metrics */
    struct mf_run *run; /* while it is under way */
    int no_metrics;     /* a realisation could not write them: said once */
    struct mf_solve_result result;
    struct mf_micro micro; /* what is written; phase belongs to result */
    struct mf_target got;  /* its descriptors */
    double variation_error;
    struct mf_copied copied;                          /* of its windows, those that are the example's */
    struct mf_candidate candidate[MF_CANDIDATES_MAX]; /* where there are several */
    size_t kept;                                      /* the one that is the result */
    double seconds;                                   /* of the whole run */
};

/** Can candidates be judged? MF_INPUT: there is nothing to judge them by; MF_USAGE: too small. Not collective. */
int mf_outcome_may_choose(const struct mf_outcome *outcome);

/** Solves and describes, into result, micro, got, variation_error and copied; of several candidates the best stays.
 * Collective; refuses (agreed), and then holds nothing. */
int mf_outcome_solve(struct mf_outcome *outcome);
void mf_outcome_free(struct mf_outcome *outcome);

static inline int mf_outcome_ndim(const struct mf_outcome *outcome) { return outcome->dims[0] > 1 ? 3 : 2; }

/** Label in the target's file of phase @p p of the result. */
long mf_outcome_label(const struct mf_outcome *outcome, int p);

/** Terms of whole volumes, bits 1 << enum mf_whole. */
unsigned mf_outcome_whole(const struct mf_outcome *outcome);

/** The largest relative error of the interface densities, once outcome->got is there; NaN: the target has none. */
double mf_outcome_variation(const struct mf_outcome *outcome);

/** What was found and how long it took, as members of the object that --json prints. */
void mf_outcome_json(const struct mf_outcome *outcome, struct mf_json *at);

/** Lines for people. */
void mf_outcome_report(const struct mf_outcome *outcome);

#endif
