/* This machine's processor and memory, as the Linux kernel reports them.
 * Rule: a value that the kernel does not report stays 0. */
#ifndef MF_PLAN_HOST_H
#define MF_PLAN_HOST_H

#include "kernels/cores.h"
#include "src/plan/cgroup.h"
#include "src/plan/hardware.h"

/**
 * Reads name, processor, caches, NUMA nodes, and memory below @p limits. Leaves cores to the caller and sets no GPUs.
 * @p root: "", or in tests the parent of proc/ and sys/. Not collective.
 */
void mf_host_look(const char *root, const struct mf_limits *limits, struct mf_host *host);

/**
 * Bytes of L3 cache for one rank. Each cache of the cores @p own counts once. It is divided by the number of the node's
 * @p count @p ranks that have a core on it. At most 16 MiB count for each core of @p own. If the kernel does not say
 * which cores share a cache, all do. Not collective.
 */
double mf_host_l3_share(const char *root, const struct mf_cores *own, const struct mf_cores *ranks, size_t count);

/** Hardware threads of the node, including those that this process may not use; 0: not known. */
int mf_host_cores(const char *root);

/** The members of a list like "0-3,8" in a file below @p root; none if there is no such file. */
struct mf_cores mf_host_set(const char *root, const char *name);

/** The hardware threads of a NUMA node. */
struct mf_cores mf_host_node(const char *root, size_t node);

/** The NUMA nodes of @p cores, as such a list; "" if the kernel does not say. */
void mf_host_numa(const char *root, const struct mf_cores *cores, char *text, size_t n);

/** Writes a set as such a list; if it does not fit, it ends in ",...". */
void mf_host_list(const struct mf_cores *set, char *text, size_t n);

/** The kernel's boot id, or "". It tells machines apart whose host names are equal. */
void mf_host_boot(char *text, size_t n);

#endif
