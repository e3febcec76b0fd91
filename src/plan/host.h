/* This machine's processor and memory, as the Linux kernel reports them.
 * Rule: a value that the kernel does not report stays 0. */
#ifndef MF_PLAN_HOST_H
#define MF_PLAN_HOST_H

#include "kernels/cores.h"
#include "src/plan/cgroup.h"
#include "src/plan/hardware.h"

/**
 * Name, processor, caches, NUMA nodes, memory below @p limits; cores are left to the caller, GPUs are none. What the
 * kernel does not tell stays 0. @p root: "", or for tests where proc/ and sys/ are. Not collective.
 */
void mf_host_look(const char *root, const struct mf_limits *limits, struct mf_host *host);

/**
 * Bytes of the L3 caches that the cores of @p own have, each counted once and divided by how many of the node's @p
 * count
 * @p ranks have a core at it. Where the kernel does not tell who shares a cache all cores do. Not collective.
 */
double mf_host_l3_share(const char *root, const struct mf_cores *own, const struct mf_cores *ranks, size_t count);

/** Hardware threads of the node, whoever may use them; 0: the kernel does not tell. */
int mf_host_cores(const char *root);

/** The members of a list like "0-3,8" in a file below @p root; none where there is no such file. */
struct mf_cores mf_host_set(const char *root, const char *name);

/** The hardware threads of a NUMA node. */
struct mf_cores mf_host_node(const char *root, size_t node);

/** The NUMA nodes that have cores of @p cores, as such a list; "" where the kernel does not tell. */
void mf_host_numa(const char *root, const struct mf_cores *cores, char *text, size_t n);

/** Writes a set as such a list; where there is no room for all of it, it ends in ",...". */
void mf_host_list(const struct mf_cores *set, char *text, size_t n);

/** This machine's number since it started, or "": equal names of hosts do not make one machine. */
void mf_host_boot(char *text, size_t n);

#endif
