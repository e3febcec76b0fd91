/* The GPUs that CUDA shows to a process, by CUDA_VISIBLE_DEVICES. Pure. */
#ifndef MF_PLAN_VISIBLE_H
#define MF_PLAN_VISIBLE_H

#include "src/plan/nvml.h"

/**
 * The GPUs of @p seen that CUDA shows, in its order: place [seen->gpus] gets their indices in seen->gpu. Returns their
 * number. @p value: the variable; NULL: not set (all); "" hides all.
 *
 * Entries are numbers of whole GPUs ("0,2"), ids or their beginnings ("GPU-8f3a"), or parts ("MIG-..." or
 * "MIG-GPU-.../1/0"). The list ends at the first entry that matches no GPU ("-1") or several. A GPU named twice hides
 * all. CUDA shows at most one part, and no whole GPU beside it. A GPU that is used in parts stands for its first part.
 * The text @p remark [MF_NVML_TEXT] says what is wrong with the value, or "".
 */
size_t mf_visible(const char *value, const struct mf_nvml *seen, size_t *place, char *remark);

#endif
