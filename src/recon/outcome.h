/* One reconstruction up to its file. It is solved and described, the best of several candidates is kept, and the result
 * is reported. This module knows neither options nor devices: the caller provides functions that solve and measure. */
#ifndef MF_RECON_OUTCOME_H
#define MF_RECON_OUTCOME_H

#include "src/base/json.h"
#include "src/desc/characterize.h"
#include "src/desc/copies.h"
#include "src/recon/solve.h"
#include "src/run/run.h"

enum { MF_CANDIDATES_MAX = 64 };

/** One of the runs from which the best is kept (--candidates). */
struct mf_candidate {
    uint64_t seed;
    double score, copied; /* as compare defines them */
    double beyond;        /* what is copied beyond chance; 0 if the descriptors copy nothing */
    double missed;        /* by how much the worst property is off beyond its tolerance, relative */
    long evaluations;
};

struct mf_outcome;

/** Functions that solve and measure. Collective; both refuse alike on all ranks. */
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
    size_t candidates;  /* number of runs from which the best is kept; 1: no choice */
    long asked, usual;  /* evaluations: of this run, and the default of such a run */
    int by_recipe;      /* the program chose the descriptors (auto) */
    char *path, *name;  /* of the output; of the run in its metrics */
    struct mf_run *run; /* while it runs */
    int no_metrics;     /* a realisation could not write them, which is reported once */
    struct mf_solve_result result;
    struct mf_micro micro; /* the result to write; its phase belongs to `result` */
    struct mf_target got;  /* the result's descriptors */
    double variation_error;
    struct mf_copied copied;                          /* fraction of windows that also occur in the example */
    struct mf_candidate candidate[MF_CANDIDATES_MAX]; /* if there are several */
    size_t kept;                                      /* index of the one that is the result */
    double seconds;                                   /* of the whole run */
    int stopped;                                      /* the result is the best so far, not described */
};

/** Can candidates be compared? MF_INPUT: the target has nothing to compare with; MF_USAGE: too small. Not
 * collective. */
int mf_outcome_may_choose(const struct mf_outcome *outcome);

/** Solves and describes, into result, micro, got, variation_error and copied; keeps the best of several candidates.
 * Collective; refuses (agreed), and then holds nothing. A guest that refuses with MF_STOPPED
 * may have result.label: then result and micro are the best so far. The caller frees the outcome. */
int mf_outcome_solve(struct mf_outcome *outcome);

/** Its labels are somebody else's now, if nobody has left them in outcome->micro. */
void mf_outcome_taken(struct mf_outcome *outcome);

void mf_outcome_free(struct mf_outcome *outcome);

static inline int mf_outcome_ndim(const struct mf_outcome *outcome) { return outcome->dims[0] > 1 ? 3 : 2; }

/** Label of phase @p p of a result. A target of one phase names that of phase 1; the rest is 0, or 1 if that is it. */
long mf_outcome_label(const struct mf_target *target, int p);

/** Edges of the result's voxels {z, y, x} [unit of the target]. */
void mf_outcome_spacing(const struct mf_outcome *outcome, double spacing[3]);

/** The largest relative error of the interface densities, after outcome->got is set; NaN: the target has none. */
double mf_outcome_variation(const struct mf_outcome *outcome);

/** Adds the result and its time as members of the object that --json prints. */
void mf_outcome_json(const struct mf_outcome *outcome, struct mf_json *json);

/** Prints the report. */
void mf_outcome_report(const struct mf_outcome *outcome);

#endif
