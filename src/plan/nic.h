/* Finds the network adapter nearest to a rank. */
#ifndef MF_PLAN_NIC_H
#define MF_PLAN_NIC_H

#include <stddef.h>

/** InfiniBand's adapters and their like (RoCE, Omni-Path, EFA), as the kernel shows them. */
struct mf_fabric {
    int adapters, up; /* how many there are; how many have a port that is up */
    int open;         /* of the devices (uverbs) that libraries reach them by, how many this process may open */
    char name[48];    /* of one that is up, else of one; "" */
};

/** @p root: "", or for tests where sys/ and dev/ are. Not collective. */
void mf_nic_fabric(const char *root, struct mf_fabric *fabric);

/**
 * The name of the adapter (InfiniBand's before others) that hangs on the same branch of the PCI tree as the GPU at @p
 * pci ("00000000:17:00.0"; "": no GPU), else on the same NUMA node as core @p core; "" where there is none. @p root:
 * "", or for tests where sys/ is. Not collective.
 */
void mf_nic_near(const char *root, const char *pci, int core, char *name, size_t n);

#endif
