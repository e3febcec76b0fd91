/* The machine of a plan: nodes, cores, memory, GPUs and the links between them. A probe describes this machine. A
 * hardware file (docs/FILES.md) describes any machine.
 * Rule: rates are in 1e9 bytes per second and direction; 0 means "not known" wherever a value may be missing. */
#ifndef MF_PLAN_HARDWARE_H
#define MF_PLAN_HARDWARE_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "src/base/json.h"

enum { MF_HARDWARE_VERSION = 1, MF_HARDWARE_TEXT = 96, MF_HARDWARE_NOTE = 512, MF_HARDWARE_GPUS = 256 };

struct mf_gpu {
    char name[MF_HARDWARE_TEXT];
    char uuid[MF_HARDWARE_TEXT]; /* "GPU-..." or, for a part of a GPU, "MIG-..."; "" in files without it */
    char pci[MF_HARDWARE_TEXT];  /* "00000000:17:00.0" */
    int64_t memory_bytes, memory_free_bytes;
    int64_t major, minor; /* compute capability */
    int64_t sms;          /* multiprocessors */
    int64_t numa_node;    /* -1: not known */
    int64_t hidden;       /* 1: it exists, but no rank may use it */
    double memory_rate;   /* [GB/s] */
    double fp32_rate;     /* [TFLOP/s] */
    double host_rate;     /* between it and the host's memory [GB/s] */
};

/** How two GPUs of a node reach each other, nearest first. */
enum mf_link_kind {
    MF_LINK_NONE,
    MF_LINK_NVLINK, /* NVLink or NVSwitch */
    MF_LINK_SWITCH, /* below one PCIe switch */
    MF_LINK_HOST,   /* through the host bridge of one NUMA node */
    MF_LINK_SYSTEM, /* between NUMA nodes */
    MF_LINK_KINDS
};

struct mf_link {
    enum mf_link_kind kind;
    double rate; /* [GB/s] */
};

struct mf_host {
    int64_t count; /* number of identical nodes */
    char name[MF_HARDWARE_TEXT], cpu[MF_HARDWARE_TEXT], simd[MF_HARDWARE_TEXT];
    int64_t cores;                          /* hardware threads that may be used */
    int64_t ram_bytes, ram_available_bytes; /* at most the limit of the control group */
    int64_t numa_nodes, l1d_bytes, l2_bytes, l3_bytes;
    double memory_rate;  /* of all cores together [GB/s] */
    double fp32_rate;    /* the same [TFLOP/s] */
    double network_rate; /* to other nodes, all adapters together [GB/s] */
    size_t gpus;
    struct mf_gpu *gpu;   /* [gpus] */
    struct mf_link *link; /* [gpus][gpus], symmetric, the diagonal MF_LINK_NONE */
};

struct mf_hardware {
    char note[MF_HARDWARE_NOTE];
    size_t hosts;
    struct mf_host *host;
};

/**
 * Reads a hardware file. Refuses with MF_INPUT, in a sentence with the place ("nodes[0].gpus[1].memory_bytes").
 * Reasons: it is not JSON, or it has another schema or a newer version. Or a key is missing, unknown or of the wrong
 * type, or no machine has such a value. Keys of a probe that describe the run and not the machine are ignored. Not
 * collective.
 */
int mf_hardware_read(const char *path, struct mf_hardware *hardware);

/** The object of a hardware file; equal GPUs without ids are merged with a "count". Never NULL; caller frees. */
struct mf_json *mf_hardware_json(const struct mf_hardware *hardware);

/** Writes such an object to a file, completely or not at all. Collective, rank 0 writes; refuses (agreed) with
 * MF_OUTPUT. */
int mf_hardware_write(const struct mf_comm *comm, const char *path, const struct mf_json *json);

/** @p gpus GPUs (zeroed) and the links between them for a host whose gpus field is 0. */
void mf_host_gpus(struct mf_host *host, size_t gpus);

void mf_hardware_free(struct mf_hardware *hardware);

/** "nvlink", "switch", "host", "system". */
extern const char *const mf_link_names[MF_LINK_KINDS];

#endif
