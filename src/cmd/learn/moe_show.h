/* Files of a mixture of experts beside its model. They are pictures of its graph after every epoch, of the work of
 * experts and their places. Also the numbers behind them, and a summary.
 * Rule: a failure to write or draw is said once, and never ends a training. */
#ifndef MF_CMD_LEARN_MOE_SHOW_H
#define MF_CMD_LEARN_MOE_SHOW_H

#include "src/cmd/common.h"
#include "src/moe/devices.h"
#include "src/moe/grow.h"

struct mf_moe_show {
    const struct mf_session *session;
    int plots;
    struct mf_rank_device *device; /* of all ranks */
    size_t started;                /* experts at the start */
    struct mf_experts experts;     /* of the last epoch; the trainer ends with those of the best one */
    int failed;
};

/** Refuses (agreed) with MF_OUTPUT files that cannot be written beside the run's model. Refuses also files that no
 * earlier training of this output has left. Collective. */
int mf_moe_show_may(const struct mf_moe_show *show, const struct mf_run *run);

/** Asks all ranks for their devices; warns where GPUs differ. Collective. mf_moe_show_close() frees. */
void mf_moe_show_begin(struct mf_moe_show *show);
void mf_moe_show_close(struct mf_moe_show *show);

/** After an epoch: knowledge_graph_epoch_N.png, knowledge_graph.json, expert_activations.png and .json. Rank 0. */
void mf_moe_show_epoch(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow);

/** At the end: expert_device_distribution.png (of several ranks), performance_summary.txt. Rank 0. */
void mf_moe_show_end(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow,
                     const struct mf_json *results);

#endif
