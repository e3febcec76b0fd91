/* See layout.h. */
#include "src/plan/layout.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/text.h"

/* @p id counts the GPUs that are shown. */
static int is_asked(const struct mf_plan_options *o, long id)
{
    for (size_t i = 0; i < o->gpu_ids; ++i)
        if (o->gpu_id[i] == id) return 1;
    return o->gpu_ids == 0;
}

static int is_old(const struct mf_gpu *gpu) { return 10 * gpu->major + gpu->minor < MF_GPU_OLDEST; }

size_t mf_layout_gpus(const struct mf_host *host, const struct mf_plan_options *options, int *place)
{
    size_t n = 0;
    long shown = 0;

    for (size_t g = 0; g < host->gpus; ++g) {
        if (host->gpu[g].hidden || !is_asked(options, shown++) || is_old(&host->gpu[g])) continue;
        if (place) place[n] = (int)g;
        ++n;
    }
    return n;
}

static int check_ids(const struct mf_hardware *hardware, const struct mf_plan_options *o)
{
    for (size_t i = 0; i < o->gpu_ids; ++i)
        for (size_t k = 0; k < i; ++k)
            if (o->gpu_id[k] == o->gpu_id[i])
                return mf_fail(MF_USAGE, "--gpu_ids names GPU %ld twice: a plan deals each of them out once",
                               o->gpu_id[i]);
    for (size_t h = 0; h < hardware->hosts; ++h) {
        long shown = 0;

        for (size_t g = 0; g < hardware->host[h].gpus; ++g) shown += !hardware->host[h].gpu[g].hidden;
        for (size_t i = 0; i < o->gpu_ids && shown > 0; ++i)
            if (o->gpu_id[i] < 0 || o->gpu_id[i] >= shown)
                return mf_fail(MF_DEVICE, "--gpu_ids: there is no GPU %ld, node %zu has %ld (0 to %ld)", o->gpu_id[i],
                               h, shown, shown - 1);
    }
    return MF_OK;
}

/* Ranks that a node can take: GPUs that may be used, or its cores. */
static size_t places_on(const struct mf_hardware *hardware, const struct mf_plan_options *o, size_t node, int device)
{
    const struct mf_host *host = mf_plan_node(hardware, node);
    size_t gpus = device ? mf_layout_gpus(host, o, NULL) : (size_t)host->cores;

    if (!device && host->cores > 4096) return 4096;
    return gpus;
}

/* GPUs of the ranks of one node in turn; -1: cores. */
static void bind(const struct mf_hardware *hardware, const struct mf_plan_options *o, const struct mf_placement *p,
                 int *gpu)
{
    int place[MF_HARDWARE_GPUS] = {0};
    size_t local = 0, gpus = 0;

    for (size_t r = 0; r < p->ranks; ++r) {
        if (r == 0 || p->node[r] != p->node[r - 1]) {
            local = 0;
            gpus = p->device ? mf_layout_gpus(mf_plan_node(hardware, (size_t)p->node[r]), o, place) : 0;
        }
        gpu[r] = gpus ? place[local % gpus] : -1;
        ++local;
    }
}

/* NCCL wants several ranks, each with a whole GPU of its own. */
static int is_nccl(const struct mf_hardware *hardware, const struct mf_plan_options *o, const struct mf_placement *p)
{
    if (!p->device || o->exchange != MF_EXCHANGE_AUTO) return p->device && o->exchange == MF_EXCHANGE_NCCL;
    for (size_t r = 0; r < p->ranks; ++r) {
        if (strncmp(mf_plan_node(hardware, (size_t)p->node[r])->gpu[p->gpu[r]].uuid, "MIG-", 4) == 0) return 0;
        for (size_t k = 0; k < r; ++k)
            if (p->node[k] == p->node[r] && p->gpu[k] == p->gpu[r]) return 0;
    }
    return p->ranks > 1;
}

/* Adds the layout of node [ranks], which it takes. */
static void add(const struct mf_hardware *hardware, const struct mf_plan_options *o, int device, size_t ranks,
                int *node_take, struct mf_layouts *l)
{
    struct mf_placement p = {
        .device = device, .apart = device || o->apart, .ranks = ranks, .nodes = 1, .node = node_take};
    size_t run = 0;
    int *gpu = MF_MUST(calloc(ranks, sizeof *gpu), "a plan");

    for (size_t r = 0; r < ranks; ++r) {
        run = r > 0 && node_take[r] == node_take[r - 1] ? run + 1 : 1;
        p.nodes += r > 0 && run == 1;
        if (run > p.per_node) p.per_node = run;
    }
    bind(hardware, o, &p, gpu);
    p.gpu = gpu;
    p.nccl = is_nccl(hardware, o, &p);
    l->at[l->count++] = p;
}

/* @p per ranks on each of the first @p nodes nodes that can take some, as many as they can. It stops at @p most. */
static void spread(const struct mf_hardware *hardware, const struct mf_plan_options *o, int device, size_t nodes,
                   size_t per, size_t most, int exact, struct mf_layouts *l)
{
    size_t all = mf_plan_nodes(hardware), ranks = 0, used = 0;
    int *node = MF_MUST(calloc(most + 1, sizeof *node), "a plan");

    for (size_t n = 0; n < all && used < nodes && ranks < most; ++n) {
        size_t can = places_on(hardware, o, n, device), here = exact || can > per ? per : can;

        if (can == 0) continue;
        ++used;
        for (size_t k = 0; k < here && ranks < most; ++k) node[ranks++] = (int)n;
    }
    if (ranks == 0 || l->count == MF_LAYOUTS || (exact && ranks < most)) {
        free(node);
        return;
    }
    for (size_t i = 0; i < l->count; ++i)
        if (l->at[i].ranks == ranks && l->at[i].node[ranks - 1] == node[ranks - 1]) {
            free(node);
            return; /* the same again */
        }
    add(hardware, o, device, ranks, node, l);
}

static size_t usable_nodes(const struct mf_hardware *hardware, const struct mf_plan_options *o, int device,
                           size_t *most)
{
    size_t n = 0;

    *most = 0;
    for (size_t i = 0; i < mf_plan_nodes(hardware); ++i) {
        size_t can = places_on(hardware, o, i, device);

        n += can > 0;
        if (can > *most) *most = can;
    }
    return n;
}

/* 1, 2, 4, ... and @p last itself. */
static size_t next(size_t n, size_t last) { return n < last && 2 * n > last ? last : 2 * n; }

/* One node with 1, 2, 4, ... ranks, then more nodes with all their GPUs, or with a rank per NUMA node and more. */
static void free_choice(const struct mf_hardware *hardware, const struct mf_plan_options *o, int device, size_t most,
                        struct mf_layouts *l)
{
    size_t places, nodes = usable_nodes(hardware, o, device, &places), node_most = device || places < 16 ? places : 16;
    size_t numa = (size_t)mf_plan_node(hardware, 0)->numa_nodes;

    for (size_t per = 1; per <= node_most; per = next(per, node_most)) spread(hardware, o, device, 1, per, most, 0, l);
    for (size_t n = 2; n <= nodes; n = next(n, nodes)) {
        if (!device) spread(hardware, o, 0, n, numa ? numa : 1, most, 0, l);
        spread(hardware, o, device, n, node_most, most, 0, l);
    }
}

/* As many on every node as go there evenly; more than one to a GPU only with --share-gpu. */
static int given_ranks(const struct mf_hardware *hardware, const struct mf_plan_options *o, int device,
                       struct mf_layouts *l)
{
    size_t places, nodes = usable_nodes(hardware, o, device, &places), all = 0, per;

    for (size_t i = 0; i < mf_plan_nodes(hardware); ++i) all += places_on(hardware, o, i, device);
    if (device && o->ranks > all && !o->share_gpu)
        return mf_fail(MF_DEVICE,
                       "--ranks %zu: the machine has %zu GPU%s that may be used; try: --ranks %zu, or --share-gpu",
                       o->ranks, all, MF_S(all), all);
    if (device && o->ranks <= all) {
        spread(hardware, o, device, nodes, places, o->ranks, 0, l);
        return MF_OK;
    }
    MF_ASSERT(nodes > 0); /* was checked */
    per = (o->ranks + nodes - 1) / nodes;
    if (!device && o->ranks <= places) spread(hardware, o, device, 1, o->ranks, o->ranks, 1, l);
    spread(hardware, o, device, nodes, per, o->ranks, 1, l);
    return MF_OK;
}

static size_t threads_on(const struct mf_plan_ask *ask, const struct mf_placement *p)
{
    const struct mf_plan_options *o = ask->options;
    size_t least = o->threads ? o->threads : 4096;

    if (o->threads && (p->device || !o->threads_free)) return o->threads;
    for (size_t r = 0; r < p->ranks && !o->threads; ++r) {
        size_t cores = (size_t)mf_plan_node(ask->hardware, (size_t)p->node[r])->cores / p->per_node;

        if (cores < least) least = cores;
    }
    if (least == 0) least = 1;
    if (p->device || !ask->workload->threads) return least;
    return ask->workload->threads(ask->context, p->ranks, least);
}

const struct mf_gpu *mf_layout_old(const struct mf_hardware *hardware, const struct mf_plan_options *options)
{
    for (size_t h = 0; h < hardware->hosts; ++h) {
        const struct mf_host *host = &hardware->host[h];
        long shown = 0;

        for (size_t g = 0; g < host->gpus; ++g)
            if (!host->gpu[g].hidden && is_asked(options, shown++) && is_old(&host->gpu[g])) return &host->gpu[g];
    }
    return NULL;
}

static int no_gpu(const struct mf_hardware *hardware, const struct mf_plan_options *options)
{
    const struct mf_gpu *gpu = mf_layout_old(hardware, options);

    if (gpu)
        return mf_fail(MF_DEVICE, "--device %s: %s has compute capability %lld.%lld, the kernels need %d.%d or newer",
                       options->device, gpu->name, (long long)gpu->major, (long long)gpu->minor, MF_GPU_OLDEST / 10,
                       MF_GPU_OLDEST % 10);
    return mf_fail(MF_DEVICE, "--device %s: no node of the machine has a GPU that may be used", options->device);
}

int mf_layouts_make(const struct mf_plan_ask *ask, int device, struct mf_layouts *layouts)
{
    const struct mf_hardware *hardware = ask->hardware;
    const struct mf_plan_options *options = ask->options;
    const struct mf_plan_world *world = ask->world;
    size_t places;

    memset(layouts, 0, sizeof *layouts);
    MF_TRY(check_ids(hardware, options));
    if (usable_nodes(hardware, options, device, &places) == 0) return no_gpu(hardware, options);
    if (world) {
        int *node = MF_MUST(calloc(world->ranks, sizeof *node), "a plan");

        memcpy(node, world->node, world->ranks * sizeof *node);
        add(hardware, options, device, world->ranks, node, layouts);
        layouts->at[0].in_use = world->in_use;
    } else if (options->ranks > 0) {
        MF_TRY(given_ranks(hardware, options, device, layouts));
    } else {
        free_choice(hardware, options, device, ask->workload->most_ranks(ask->context), layouts);
    }
    for (size_t i = 0; i < layouts->count; ++i) layouts->at[i].threads = threads_on(ask, &layouts->at[i]);
    return MF_OK;
}

void mf_layouts_free(struct mf_layouts *layouts)
{
    for (size_t i = 0; i < layouts->count; ++i) {
        free((void *)(uintptr_t)layouts->at[i].node);
        free((void *)(uintptr_t)layouts->at[i].gpu);
    }
    layouts->count = 0;
}
