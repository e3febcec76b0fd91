/* Where what is as large as a volume stays: on the device, or in host memory. In all of these @p residency is the word
 * that --residency was given. */
#ifndef MF_CMD_RESIDE_H
#define MF_CMD_RESIDE_H

#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"
#include "src/recon/task.h"

/** The row of --residency in the options of a verb. */
#define MF_RESIDENCY_ROW(type)                                                                                       \
    MF_CHOICE(type, "residency", residency, "auto", "auto|device|host",                                              \
              "where what is as large as the volume stays: on the device, or in host memory from where slices pass " \
              "through it; auto: on the device if it fits")

/** The same in the planner's words. */
enum mf_residency mf_residency_of(const char *residency);

/** Fields stay where the word says until something else decides. Collective; refuses (agreed) with MF_MEMORY. */
int mf_reside(struct mf_session *session, const char *residency);

/**
 * mf_characterize(); where the word leaves it open and the device has not the memory, once more with fields in host
 * memory, where they then stay. The target has the checksum of the field. Collective; refuses (agreed) as that does,
 * and as mf_micro_hash().
 */
int mf_reside_characterize(struct mf_session *session, const char *residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out);

/** The same of mf_solve(), as long as it has not begun; then with @p batch slices in flight. */
int mf_reside_solve(struct mf_session *session, const char *residency, const size_t dims[3],
                    const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                    struct mf_solve_result *result);

#endif
