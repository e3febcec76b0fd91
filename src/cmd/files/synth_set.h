/* synth --num-samples: a dataset of small microstructures of several kinds, with what is known of each. */
#ifndef MF_CMD_FILES_SYNTH_SET_H
#define MF_CMD_FILES_SYNTH_SET_H

#include "src/cmd/files/synth_opts.h"
#include "src/synth/mix.h"

/** Refuses options that contradict each other, unknown kinds and impossible samples: MF_USAGE. Local. */
int mf_synth_set_wish(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth_mix *mix);

/** Makes the set, or says what it would be. Collective; refuses (agreed). */
int mf_synth_set_run(struct mf_session *session, const struct synth_opts *opts);

#endif
