/* See probe.h. Every rank sends one record: a head of fixed size, the GPUs that it sees, and their links. It also says
 * which of them CUDA shows to it. Every rank merges all records in rank order, so the result is the same everywhere. */
#include "src/plan/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cores.h"
#include "src/base/err.h"
#include "src/plan/cgroup.h"
#include "src/plan/host.h"
#include "src/plan/visible.h"

/* Head of a record; gpus x mf_seen_gpu, gpus^2 x mf_link, shown x size_t follow. */
struct head {
    struct mf_host host;
    char boot[64]; /* this machine's number since it started: equal names do not make one node */
    struct mf_cores cores;
    double quota;
    int64_t local_rank, stage, cuda;
    size_t gpus, shown;
    char remark[2][MF_NVML_TEXT];
    char driver[MF_NVML_TEXT];
};

/* ---- one rank ---- */

static void look_at_host(const struct mf_comm *comm, struct head *head)
{
    struct mf_limits limits;

    mf_cgroup_limits("", &limits);
    mf_host_look("", &limits, &head->host);
    mf_host_boot(head->boot, sizeof head->boot);
    head->quota = limits.cores;
    head->local_rank = comm->local_rank;
    head->stage = mf_comm_stage(comm);
    head->cores = mf_cores_own();
}

/* The record of this rank; the caller frees. */
static void *make_record(const struct mf_comm *comm, size_t *bytes)
{
    struct mf_nvml seen;
    struct head *head = MF_MUST(calloc(1, sizeof *head), "a probe");
    size_t *shown, gpu_bytes, link_bytes;
    char *record, *at;

    look_at_host(comm, head);
    mf_nvml_look(&seen);
    shown = MF_MUST(malloc((seen.gpus + 1) * sizeof *shown), "a probe");
    head->gpus = seen.gpus;
    head->shown = mf_visible(getenv("CUDA_VISIBLE_DEVICES"), &seen, shown, head->remark[1]);
    head->cuda = seen.cuda;
    memcpy(head->remark[0], seen.remark, sizeof head->remark[0]);
    memcpy(head->driver, seen.driver, sizeof head->driver);
    gpu_bytes = seen.gpus * sizeof *seen.gpu;
    link_bytes = seen.gpus * seen.gpus * sizeof *seen.link;
    *bytes = sizeof *head + gpu_bytes + link_bytes + head->shown * sizeof *shown;
    at = record = MF_MUST(malloc(*bytes), "a probe");
    memcpy(at, head, sizeof *head);
    if (gpu_bytes) memcpy(at += sizeof *head, seen.gpu, gpu_bytes);
    if (gpu_bytes) memcpy(at + gpu_bytes, seen.link, link_bytes);
    memcpy(record + sizeof *head + gpu_bytes + link_bytes, shown, head->shown * sizeof *shown);
    free(shown);
    free(head);
    mf_nvml_free(&seen);
    return record;
}

/* ---- all ranks ---- */

/* The parts of a record (copied, since records in a row are not aligned). */
struct record {
    struct head head;
    struct mf_seen_gpu *gpu;
    struct mf_link *link;
    size_t *shown;
};

static void open_record(const char *at, struct record *r)
{
    size_t gpu_bytes, link_bytes;

    memcpy(&r->head, at, sizeof r->head);
    gpu_bytes = r->head.gpus * sizeof *r->gpu;
    link_bytes = r->head.gpus * r->head.gpus * sizeof *r->link;
    r->gpu = MF_MUST(malloc(gpu_bytes + 1), "a probe");
    r->link = MF_MUST(malloc(link_bytes + 1), "a probe");
    r->shown = MF_MUST(malloc(r->head.shown * sizeof *r->shown + 1), "a probe");
    memcpy(r->gpu, at + sizeof r->head, gpu_bytes);
    memcpy(r->link, at + sizeof r->head + gpu_bytes, link_bytes);
    memcpy(r->shown, at + sizeof r->head + gpu_bytes + link_bytes, r->head.shown * sizeof *r->shown);
}

static void close_record(struct record *r)
{
    free(r->gpu);
    free(r->link);
    free(r->shown);
}

/* On one host, and not on nodes that a test has its ranks play. */
static int together(const struct head *a, const struct head *b)
{
    return a->stage == b->stage && strcmp(a->host.name, b->host.name) == 0 && strcmp(a->boot, b->boot) == 0;
}

/* Numbers ranks' nodes in the order in which they come; how many there are. */
static int number_nodes(const struct record *record, size_t ranks, int *node)
{
    int nodes = 0;

    for (size_t r = 0; r < ranks; ++r) {
        size_t k = 0;

        while (k < r && !together(&record[k].head, &record[r].head)) ++k;
        node[r] = k < r ? node[k] : nodes++;
    }
    return nodes;
}

/* A GPU to plan with: not one that answers nothing, nor a whole one that is used in parts. */
static int is_useful(const struct mf_seen_gpu *seen) { return !seen->lost && !seen->has_parts; }

static size_t place_of(const struct mf_host *host, size_t n, const char *uuid)
{
    size_t g = 0;

    while (g < n && strcmp(host->gpu[g].uuid, uuid) != 0) ++g;
    return g;
}

/* The GPUs that the ranks of a node see, each once, hidden at first. */
static void join_gpus(const struct record *record, size_t ranks, const int *node, int wanted, struct mf_host *host)
{
    struct mf_host all = {.gpus = 0};
    size_t n = 0;

    mf_host_gpus(&all, MF_HARDWARE_GPUS);
    for (size_t r = 0; r < ranks; ++r)
        for (size_t i = 0; node[r] == wanted && i < record[r].head.gpus; ++i) {
            const struct mf_seen_gpu *seen = &record[r].gpu[i];
            size_t g = place_of(&all, n, seen->gpu.uuid);

            if (!is_useful(seen) || g == MF_HARDWARE_GPUS) continue;
            if (g == n) all.gpu[n++] = seen->gpu;
            all.gpu[g].hidden = 1;
            if (seen->gpu.memory_free_bytes < all.gpu[g].memory_free_bytes)
                all.gpu[g].memory_free_bytes = seen->gpu.memory_free_bytes;
        }
    mf_host_gpus(host, n);
    if (n > 0) memcpy(host->gpu, all.gpu, n * sizeof *all.gpu);
    for (size_t g = 0; g < n && host->numa_nodes > 0; ++g) /* numbers with gaps say nothing to who counts nodes */
        if (host->gpu[g].numa_node >= host->numa_nodes) host->gpu[g].numa_node = -1;
    free(all.gpu);
    free(all.link);
}

static void join_links(const struct record *record, struct mf_host *host)
{
    const size_t n = record->head.gpus;

    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < n; ++k) {
            const struct mf_link *link = &record->link[i * n + k];
            const size_t a = place_of(host, host->gpus, record->gpu[i].gpu.uuid);
            const size_t b = place_of(host, host->gpus, record->gpu[k].gpu.uuid);

            if (a < host->gpus && b < host->gpus && link->kind != MF_LINK_NONE) host->link[a * host->gpus + b] = *link;
        }
}

static void join_node(const struct record *record, size_t ranks, const int *node, int wanted, struct mf_host *host)
{
    struct mf_cores cores = {0};
    double quota = 0;
    int first = 1;

    for (size_t r = 0; r < ranks; ++r) {
        const struct head *head = &record[r].head;

        if (node[r] != wanted) continue;
        if (first) *host = head->host;
        first = 0;
        mf_cores_join(&cores, &head->cores);
        if (head->quota > quota) quota = head->quota;
        if (head->host.ram_bytes < host->ram_bytes) host->ram_bytes = head->host.ram_bytes;
        if (head->host.ram_available_bytes < host->ram_available_bytes)
            host->ram_available_bytes = head->host.ram_available_bytes;
    }
    host->cores = mf_cores_count(&cores);
    if (quota > 0 && quota < (double)host->cores) host->cores = quota < 1 ? 1 : (int64_t)(quota + 1e-6);
    join_gpus(record, ranks, node, wanted, host);
    for (size_t r = 0; r < ranks; ++r)
        if (node[r] == wanted) join_links(&record[r], host);
}

static void join_rank(const struct record *record, int node, struct mf_host *host, struct mf_probe_rank *rank)
{
    rank->node = node;
    rank->local_rank = (int)record->head.local_rank;
    rank->cores = mf_cores_count(&record->head.cores);
    rank->quota = record->head.quota;
    rank->cuda = record->head.cuda;
    memcpy(rank->remark, record->head.remark, sizeof rank->remark);
    memcpy(rank->driver, record->head.driver, sizeof rank->driver);
    rank->gpu = MF_MUST(calloc(record->head.shown + 1, sizeof *rank->gpu), "a probe");
    rank->id = MF_MUST(calloc(record->head.shown + 1, sizeof *rank->id), "a probe");
    for (size_t i = 0; i < record->head.shown; ++i) {
        size_t g = place_of(host, host->gpus, record->gpu[record->shown[i]].gpu.uuid);

        if (g == host->gpus) continue;
        host->gpu[g].hidden = 0;
        rank->id[rank->gpus] = host->gpu[g].uuid;
        rank->gpu[rank->gpus++] = g;
    }
}

static void join(const struct record *record, size_t ranks, struct mf_probe *probe)
{
    int *node = MF_MUST(calloc(ranks + 1, sizeof *node), "a probe"), nodes = number_nodes(record, ranks, node);

    MF_ASSERT(nodes > 0); /* there is at least this rank */
    probe->ranks = ranks;
    probe->rank = MF_MUST(calloc(ranks, sizeof *probe->rank), "a probe");
    probe->hardware.hosts = (size_t)nodes;
    probe->hardware.host = MF_MUST(calloc((size_t)nodes, sizeof *probe->hardware.host), "a probe");
    for (int n = 0; n < nodes; ++n) join_node(record, ranks, node, n, &probe->hardware.host[n]);
    for (size_t r = 0; r < ranks; ++r) join_rank(&record[r], node[r], &probe->hardware.host[node[r]], &probe->rank[r]);
    free(node);
}

int mf_probe_run(const struct mf_comm *comm, struct mf_probe *probe)
{
    size_t ranks = (size_t)comm->size, bytes = 0, *offset = MF_MUST(calloc(ranks + 1, sizeof *offset), "a probe");
    void *own, *all = NULL;
    struct record *record;
    int rc;

    memset(probe, 0, sizeof *probe);
    own = make_record(comm, &bytes);
    rc = mf_comm_gather(comm, own, bytes, &all, offset);
    free(own);
    if (rc == MF_OK) {
        record = MF_MUST(calloc(ranks, sizeof *record), "a probe");
        for (size_t r = 0; r < ranks; ++r) open_record((const char *)all + offset[r], &record[r]);
        join(record, ranks, probe);
        for (size_t r = 0; r < ranks; ++r) close_record(&record[r]);
        free(record);
    }
    free(all);
    free(offset);
    return rc;
}

/* One window: sums of all ranks of a node, kept where they are the best so far. */
static void add_window(const struct mf_probe_rates *rates, int window, struct mf_probe *probe)
{
    for (size_t h = 0; h < probe->hardware.hosts; ++h) {
        struct mf_host *host = &probe->hardware.host[h];
        double memory = 0, flops = 0;

        for (size_t r = 0; r < probe->ranks; ++r)
            if (probe->rank[r].node == (int)h) {
                memory += 1e-9 * rates[r].memory[window];
                flops += 1e-12 * rates[r].flops[window];
            }
        if (memory > host->memory_rate) host->memory_rate = memory;
        if (flops > host->fp32_rate) host->fp32_rate = flops;
    }
}

int mf_probe_measured(const struct mf_comm *comm, const struct mf_probe_rates *own, struct mf_probe *probe)
{
    void *all = NULL;
    int rc = mf_comm_gather(comm, own, sizeof *own, &all, NULL);

    for (int w = 0; rc == MF_OK && w < MF_PROBE_WINDOWS; ++w) add_window(all, w, probe);
    free(all);
    return rc;
}

static struct mf_bind_rank *bind_ranks(const struct mf_probe *probe)
{
    struct mf_bind_rank *rank = MF_MUST(calloc(probe->ranks, sizeof *rank), "a probe");

    for (size_t r = 0; r < probe->ranks; ++r)
        rank[r] = (struct mf_bind_rank){.host = probe->hardware.host[probe->rank[r].node].name,
                                        .node = probe->rank[r].node,
                                        .local_rank = probe->rank[r].local_rank,
                                        .gpus = probe->rank[r].gpus,
                                        .gpu = probe->rank[r].id};
    return rank;
}

int mf_probe_bind(const struct mf_probe *probe, const struct mf_bind_options *options, int *gpu)
{
    struct mf_bind_rank *rank = bind_ranks(probe);
    int rc = mf_bind(rank, probe->ranks, options, gpu);

    free(rank);
    return rc;
}

void mf_probe_bind_say(const struct mf_probe *probe, const int *gpu)
{
    struct mf_bind_rank *rank = bind_ranks(probe);

    mf_bind_say(rank, probe->ranks, gpu);
    free(rank);
}

void mf_probe_free(struct mf_probe *probe)
{
    for (size_t r = 0; r < probe->ranks; ++r) {
        free(probe->rank[r].gpu);
        free(probe->rank[r].id);
    }
    free(probe->rank);
    mf_hardware_free(&probe->hardware);
    memset(probe, 0, sizeof *probe);
}
