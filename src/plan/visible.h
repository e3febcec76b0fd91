/* Which GPUs CUDA shows to a process, by CUDA_VISIBLE_DEVICES. Pure. */
#ifndef MF_PLAN_VISIBLE_H
#define MF_PLAN_VISIBLE_H

#include "src/plan/nvml.h"

/**
 * The GPUs of @p seen that CUDA counts, in its order: place [seen->gpus] gets their places in seen->gpu, the result is
 * how many. @p value: of the variable; NULL when it is not set (all), "" hides all. Entries are numbers of whole GPUs
 * ("0,2"), ids or their beginnings ("GPU-8f3a"), parts ("MIG-..." or "MIG-GPU-.../1/0"). The list ends at the first
 * entry that names nothing ("-1"), or more than one GPU; one that is named twice hides all. A GPU that is used in parts
 * stands for its first part, and a part is always alone: CUDA shows no more than one, and no whole GPU beside it.
 * @p remark [MF_NVML_TEXT]: what is wrong with the value, or "".
 */
size_t mf_visible(const char *value, const struct mf_nvml *seen, size_t *place, char *remark);

#endif
