/* Labels of a slab, one byte per voxel. Grey fields become labels, and swap polish searches voxels at interfaces whose
 * moves promise most.
 * Rule: results do not depend on the number of ranks or threads.
 * Memory: own, halo, label, x, g, score, jump, self are device memory. Arrays picks, changes, rest, window come from
 * queue->host, and results there are valid after sync(). */
#ifndef MF_KERNELS_LABELS_H
#define MF_KERNELS_LABELS_H

#include "kernels/field.h"
#include "kernels/form/near.h"
#include "kernels/select.h"
#include "kernels/slices/flip.h"

enum { MF_LABEL_OPEN = 255 }; /* no phase yet */

/** The new label of a voxel. */
struct mf_change {
    uint64_t voxel;
    uint8_t label;
};

struct mf_label_ops {
    void (*fill)(struct mf_queue *q, size_t n, uint8_t value, uint8_t *label);
    /** label = to where it is from */
    void (*replace)(struct mf_queue *q, size_t n, uint8_t from, uint8_t to, uint8_t *label);
    /** The score is the lead of phase @p phase over the best of the phases in @p rivals (a bit each). It is -INFINITY
     * where label is not MF_LABEL_OPEN. The field is x [phases][planes][plane]. */
    void (*lead)(struct mf_queue *q, struct mf_extent e, const float *x, size_t phase, uint32_t rivals,
                 const uint8_t *label, float *score);
    /** x[f] = 1 where label is f, else 0; one field: the indicator of phase 1. */
    void (*indicate)(struct mf_queue *q, struct mf_extent e, const uint8_t *label, float *x);
    /** x[f] = value where @p fixed is a phase, not MF_LABEL_OPEN.  x [phases][planes][plane] */
    void (*hold)(struct mf_queue *q, struct mf_extent e, const uint8_t *fixed, float value, float *x);
    /** label[change.voxel] = change.label for all of them; no voxel comes twice. */
    void (*change)(struct mf_queue *q, size_t n, const struct mf_change *change, uint8_t *label);
    /** The score is minus the first-order energy of the move (kernels/form/near.h) where a voxel of phase from touches
     * phase to. Else it is -INFINITY. It has the shape score [planes][ny][nx]. */
    void (*rank)(struct mf_queue *q, const struct mf_labels *labels, const struct mf_moves *moves, float *score);
    /**
     * Looks at @p n voxels: rest[i] is the first-order energy without jumps, and window has the bits around it in its
     * slices,
     *   window[i][side][k][shape->n]   k = 0: phase 1 (one field); k = 0, 1: the phase left, the phase entered
     */
    void (*look)(struct mf_queue *q, const struct mf_labels *labels, const struct mf_moves *moves,
                 const struct mf_window_shape *shape, size_t n, const struct mf_pick *pick, float *rest,
                 uint32_t *window);
};

#endif
