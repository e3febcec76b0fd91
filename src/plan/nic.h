/* Which network adapter is nearest to a rank. */
#ifndef MF_PLAN_NIC_H
#define MF_PLAN_NIC_H

#include <stddef.h>

/**
 * The name of the adapter (InfiniBand's before others) that hangs on the same branch of the PCI tree as the GPU at @p
 * pci ("00000000:17:00.0"; "": no GPU), else on the same NUMA node as core @p core; "" where there is none. @p root:
 * "", or for tests where sys/ is. Not collective.
 */
void mf_nic_near(const char *root, const char *pci, int core, char *name, size_t n);

#endif
