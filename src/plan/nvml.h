/* NVIDIA GPUs of this machine, by the driver's management library (NVML).
 * Rule: the library is opened on demand and never required. A value that an older driver lacks stays "not known". */
#ifndef MF_PLAN_NVML_H
#define MF_PLAN_NVML_H

#include "src/plan/hardware.h"

enum { MF_NVML_TEXT = 256 };

/** A GPU, or a part of one (MIG). */
struct mf_seen_gpu {
    struct mf_gpu gpu;
    int64_t index;        /* number of the whole GPU among those that this process may open, in order of PCI address */
    int64_t is_part;      /* it is a part of a GPU */
    int64_t has_parts;    /* a whole GPU that can only be used in parts */
    int64_t lost;         /* it does not answer */
    int64_t gpu_instance; /* numbers of a part, as in "MIG-GPU-.../1/0" */
    int64_t compute_instance;
};

struct mf_nvml {
    size_t gpus;
    struct mf_seen_gpu *gpu;   /* [gpus]: each whole GPU, followed by its parts */
    struct mf_link *link;      /* [gpus][gpus], of parts and lost ones MF_LINK_NONE */
    char driver[MF_NVML_TEXT]; /* its version; "" where there is none */
    int64_t cuda;              /* newest CUDA that the driver supports: 1000 major + 10 minor; 0: not known */
    char remark[MF_NVML_TEXT]; /* why there are no GPUs, or which of them does not answer; "" */
};

/** Reads the GPUs. Never refuses: without a GPU @p seen->remark says why. Not collective. */
void mf_nvml_look(struct mf_nvml *seen);
void mf_nvml_free(struct mf_nvml *seen);

#endif
