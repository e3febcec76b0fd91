/* Selection of the n highest scores in a volume by radix selection. The kernels count and mark; the caller adds counts
 * over the ranks (src/recon/select.h).
 * Rule: larger scores come first, equal scores in order of index; -INFINITY takes no part (kernels/form/key.h). Counts
 * are integers, so the order of additions does not matter.
 * Memory: score and label are device memory; bins, ties, picks come from queue->host. */
#ifndef MF_KERNELS_SELECT_H
#define MF_KERNELS_SELECT_H

#include "kernels/backend.h"
#include "kernels/form/key.h"

/** A chosen position. */
struct mf_pick {
    uint64_t voxel;
    float score;
};

struct mf_select_ops {
    /** bins[b] = number of scores whose key begins with @p prefix (its digits before @p digit) and has b as that digit.
     * Array bins [MF_BINS] is valid after sync(). */
    void (*count)(struct mf_queue *q, size_t n, const float *score, int digit, uint32_t prefix, int64_t *bins);
    /** ties[plane] = number of scores [planes][plane] with key @p key; holds after sync(). */
    void (*ties)(struct mf_queue *q, size_t planes, size_t plane, const float *score, uint32_t key, int64_t *ties);
    /** Index of the score with key @p key that has @p before equal keys before it. Such a score must exist. Waits for
     * it. */
    size_t (*nth)(struct mf_queue *q, size_t n, const float *score, uint32_t key, size_t before);
    /** label[i] = value where score i is chosen */
    void (*mark)(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, uint8_t value,
                 uint8_t *label);
    /** Lists the chosen scores, at most @p most, in any order in pick [most]. Returns their number; waits for them. */
    size_t (*list)(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, size_t most,
                   struct mf_pick *pick);
};

#endif
