/* Finds the network adapter nearest to a rank. */
#ifndef MF_PLAN_NIC_H
#define MF_PLAN_NIC_H

#include <stddef.h>

/** Adapters of InfiniBand and similar networks (RoCE, Omni-Path, EFA), as the kernel reports them. */
struct mf_fabric {
    int adapters, up; /* number of adapters; number with an active port */
    int open;         /* number of devices (uverbs), by which libraries use adapters, that this process may open */
    char name[48];    /* of an active one, else of any; "" */
};

/** @p root: "", or in tests the parent of sys/ and dev/. Not collective. */
void mf_nic_fabric(const char *root, struct mf_fabric *fabric);

/**
 * The name of the nearest network adapter, InfiniBand before others. Nearest is the same branch of the PCI tree as the
 * GPU at @p pci ("00000000:17:00.0"; "": no GPU). Else it is the same NUMA node as core @p core. "": there is none.
 * Tests set @p root to the parent of sys/, else it is "". Not collective.
 */
void mf_nic_near(const char *root, const char *pci, int core, char *name, size_t n);

#endif
