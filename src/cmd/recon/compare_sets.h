/* The verb compare of two sets of samples. */
#ifndef MF_CMD_RECON_COMPARE_SETS_H
#define MF_CMD_RECON_COMPARE_SETS_H

#include "src/cmd/common.h"
#include "src/show/sets.h"

/** Compares two sets and prints the result. @p sets of the files are sets. Collective; refuses (agreed) as
 * mf_sets_compare() does, and with MF_USAGE all but two sets. */
int mf_compare_sets_run(struct mf_session *session, const struct mf_sets_opts *options, size_t count,
                        const char *const *files, size_t sets);

#endif
