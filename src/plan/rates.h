/* Rates of a rank in a layout: bytes and operations per second, memory, latencies.
 * Rule: ranks that share a part of the machine share its rate. Nominal rates replace those that a hardware file
 * lacks. */
#ifndef MF_PLAN_RATES_H
#define MF_PLAN_RATES_H

#include "src/plan/hardware.h"

/** Ranks laid out on nodes. */
struct mf_placement {
    int device; /* 1: one GPU each (or shared) */
    int apart;  /* 1: the state is in separate memory: a GPU's or, for tests, a part of the node's */
    int nccl;   /* 1: ranks exchange by NCCL */
    size_t nodes, per_node, ranks, threads;
    const int *node;      /* [ranks] among the hardware's nodes, where a host counts as often as its count says */
    const int *gpu;       /* [ranks] index in the node's list; -1: none */
    const size_t *in_use; /* [ranks] bytes of arrays that a rank already holds on its node; NULL: none */
};

/** Number of nodes of a machine; node @p i. */
size_t mf_plan_nodes(const struct mf_hardware *hardware);
const struct mf_host *mf_plan_node(const struct mf_hardware *hardware, size_t i);

/** Number of ranks on the node of @p rank, including itself; @p gpu: number that share its GPU. */
size_t mf_plan_sharers(const struct mf_placement *place, size_t rank, int gpu);

/**
 * For a rank, on its GPU or on its node. Gives bytes beside its arrays, bytes left unused, and bytes for its arrays. At
 * most @p limit are bytes of arrays; 0: any number.
 */
void mf_plan_room(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank, int on_gpu,
                  size_t limit, size_t *context, size_t *reserve, size_t *room);

/** The rates of one rank. */
struct mf_rates {
    double memory;   /* of its state [bytes per second] */
    double home;     /* of its node's memory */
    double flops;    /* peak of 32-bit arithmetic [per second]; a nominal core has one unit for vectors */
    double products; /* the same, and a nominal core has two, as those of AVX2 and newer have */
    double network;  /* to other nodes */
    double to_host;  /* between GPU and node; 0 on cores */
    double link;     /* to other GPUs of the node by NCCL; 0: not used */
    int capability;  /* of its GPU, 10 major + minor; 0: none */
};

struct mf_rates mf_rates_of(const struct mf_hardware *hardware, const struct mf_placement *place, size_t rank);

/* Seconds, in this order: a barrier on a node, a message, a kernel launch, one within a CUDA graph. Then a group of
 * NCCL calls. The last one is of a parallel region, per doubling of its threads. */
#define MF_SECONDS_MEET    4e-6
#define MF_SECONDS_MESSAGE 6e-6
#define MF_SECONDS_LAUNCH  8e-6
#define MF_SECONDS_REPLAY  2.5e-6
#define MF_SECONDS_GROUP   20e-6
#define MF_SECONDS_FORK    40e-6

/** The kind of exchange: "none", "nccl", "shared memory", "messages", "shared memory and messages". */
const char *mf_plan_exchange(const struct mf_placement *place, int nccl);

#endif
