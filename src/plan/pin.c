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
    struct mf_cores threads;
};

static int in_order(const void *a, const void *b)
{
    const struct core *x = a, *y = b;

    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The NUMA node of every hardware thread. */
static void find_nodes(const char *root, size_t node[MF_CORES_MOST])
{
    const struct mf_cores nodes = mf_host_set(root, "/sys/devices/system/node/online");

    for (size_t k = 0; k < MF_CORES_MOST; ++k) {
        struct mf_cores here;

        if (!mf_cores_has(&nodes, k)) continue;
        here = mf_host_node(root, k);
        for (size_t cpu = 0; cpu < MF_CORES_MOST; ++cpu)
            if (mf_cores_has(&here, cpu)) node[cpu] = k;
    }
}

/* The cores of @p mask by NUMA node; the caller frees. */
static struct core *find_cores(const char *root, const struct mf_cores *mask, size_t *count)
{
    struct core *core = MF_MUST(calloc((size_t)mf_cores_count(mask) + 1, sizeof *core), "cores");
    size_t *node = MF_MUST(calloc(MF_CORES_MOST, sizeof *node), "cores"), n = 0;
    struct mf_cores seen = {0};

    find_nodes(root, node);
    for (size_t cpu = 0; cpu < MF_CORES_MOST; ++cpu) {
        char name[96];

        if (!mf_cores_has(mask, cpu) || mf_cores_has(&seen, cpu)) continue;
        snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", cpu);
        core[n].threads = mf_host_set(root, name);
        mf_cores_add(&core[n].threads, cpu); /* where the kernel does not tell, a thread is a core */
        core[n].threads = mf_cores_both(&core[n].threads, mask);
        mf_cores_join(&seen, &core[n].threads);
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

int mf_pin(const char *root, const struct mf_cores *mask, size_t ranks, const int *near, size_t k, struct mf_cores *own)
{
    size_t count;
    struct core *core = find_cores(root, mask, &count);
    const struct mf_span span = mf_cut(count, ranks, place_of(ranks, near, k));
    const int fits = count >= ranks && is_near(core, span, near[k]);

    if (fits) {
        *own = (struct mf_cores){0};
        for (size_t i = span.first; i < span.first + span.count; ++i) mf_cores_join(own, &core[i].threads);
    }
    free(core);
    return fits;
}
