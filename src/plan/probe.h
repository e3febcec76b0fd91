/* The probe: every rank looks at its machine, and all ranks get the same result. */
#ifndef MF_PLAN_PROBE_H
#define MF_PLAN_PROBE_H

#include "mpi/comm.h"
#include "src/plan/bind.h"
#include "src/plan/hardware.h"
#include "src/plan/nvml.h"

/** The machine as one rank sees it. */
struct mf_probe_rank {
    int node, local_rank;
    int cores;                    /* hardware threads that it may run on (affinity), possibly shared with other ranks */
    double quota;                 /* of its control group, in cores; 0: none */
    size_t gpus;                  /* number that CUDA shows to it */
    size_t *gpu;                  /* [gpus] in CUDA's order: indices in the node's list */
    const char **id;              /* [gpus] their uuids, borrowed from that list */
    char remark[2][MF_NVML_TEXT]; /* about its driver, and about its CUDA_VISIBLE_DEVICES; "" */
    char driver[MF_NVML_TEXT];
    int64_t cuda; /* as in struct mf_nvml */
};

struct mf_probe {
    struct mf_hardware hardware; /* one node per machine; GPUs that no rank may use are "hidden" */
    size_t ranks;
    struct mf_probe_rank *rank;
};

/** Probes on every rank and merges the results. Collective; refuses (agreed) with MF_MEMORY. */
int mf_probe_run(const struct mf_comm *comm, struct mf_probe *probe);

enum { MF_PROBE_WINDOWS = 3 };

/** Bytes and flops per second of one rank, in time windows that are the same on all ranks. */
struct mf_probe_rates {
    double memory[MF_PROBE_WINDOWS], flops[MF_PROBE_WINDOWS];
};

/** Sets the nodes' rates: the best window of the sums over their ranks. Collective; refuses (agreed) with MF_MEMORY. */
int mf_probe_measured(const struct mf_comm *comm, const struct mf_probe_rates *own, struct mf_probe *probe);

/** mf_bind() on the ranks of a probe: gpu [probe->ranks]. */
int mf_probe_bind(const struct mf_probe *probe, const struct mf_bind_options *options, int *gpu);
void mf_probe_bind_say(const struct mf_probe *probe, const int *gpu);

void mf_probe_free(struct mf_probe *probe);

#endif
