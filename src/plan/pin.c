/* See pin.h. */
#include "src/plan/pin.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/plan/host.h"

/* A core: its hardware threads, the NUMA node that it belongs to. */
struct core {
    size_t node, first;
    cpu_set_t threads;
};

static int in_order(const void *a, const void *b)
{
    const struct core *x = a, *y = b;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The NUMA node of every hardware thread. */
static void find_nodes(const char *root, size_t node[CPU_SETSIZE])
{
    const cpu_set_t nodes = mf_host_set(root, "/sys/devices/system/node/online");

    for (size_t k = 0; k < CPU_SETSIZE; ++k) {
        cpu_set_t here;

        if (!CPU_ISSET(k, &nodes)) continue;
        here = mf_host_node(root, k);
        for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &here)) node[cpu] = k;
    }
}

/* The cores of @p mask by NUMA node; the caller frees. */
static struct core *find_cores(const char *root, const cpu_set_t *mask, size_t *count)
{
    struct core *core = MF_MUST(calloc(CPU_SETSIZE, sizeof *core), "cores");
    size_t *node = MF_MUST(calloc(CPU_SETSIZE, sizeof *node), "cores"), n = 0;
    cpu_set_t seen;

    CPU_ZERO(&seen);
    find_nodes(root, node);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        char name[96];

        if (!CPU_ISSET(cpu, mask) || CPU_ISSET(cpu, &seen)) continue;
        snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", cpu);
        core[n].threads = mf_host_set(root, name);
        CPU_SET(cpu, &core[n].threads); /* where the kernel does not tell, a thread is a core */
        CPU_AND(&core[n].threads, &core[n].threads, mask);
        CPU_OR(&seen, &seen, &core[n].threads);
        core[n].node = node[cpu];
        core[n++].first = cpu;
    }
    free(node);
    qsort(core, n, sizeof *core, in_order);
    *count = n;
    return core;
}

/* Place of rank @p k when ranks stand in the order of their GPUs' NUMA nodes. */
static size_t place_of(size_t ranks, const int *near, size_t k)
{
    size_t before = 0;

    for (size_t r = 0; r < ranks; ++r) before += near[r] < near[k] || (near[r] == near[k] && r < k);
    return before;
}

/* Are any of these cores at the node of the rank's GPU? Else it is better off anywhere. */
static int is_near(const struct core *core, struct mf_span span, int near)
{
    for (size_t i = span.first; i < span.first + span.count; ++i)
        if (near < 0 || core[i].node == (size_t)near) return 1;
    return 0;
}

int mf_pin(const char *root, const cpu_set_t *mask, size_t ranks, const int *near, size_t k, cpu_set_t *own)
{
    size_t count;
    struct core *core = find_cores(root, mask, &count);
    const struct mf_span span = mf_cut(count, ranks, place_of(ranks, near, k));
    const int fits = count >= ranks && is_near(core, span, near[k]);

    if (fits) {
        CPU_ZERO(own);
        for (size_t i = span.first; i < span.first + span.count; ++i) CPU_OR(own, own, &core[i].threads);
    }
    free(core);
    return fits;
}
