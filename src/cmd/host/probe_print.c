/* See probe_print.h. */
#include "src/cmd/host/probe_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/version.h"
#include "kernels/load.h"
#include "kernels/version.h"
#include "mpi/nccl_transport.h"
#include "slurm/nodelist.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/train/table.h"

/* ---- what is said once for several ranks ---- */

/* Remark @p k of rank @p r, unless a rank before it on its node said the same. */
static const char *remark_of(const struct mf_probe *probe, size_t r, int k)
{
    const char *text = probe->rank[r].remark[k];

    for (size_t i = 0; i < r; ++i)
        if (probe->rank[i].node == probe->rank[r].node && strcmp(probe->rank[i].remark[k], text) == 0) return "";
    return text;
}

static const struct mf_probe_rank *first_with_driver(const struct mf_probe *probe)
{
    for (size_t r = 0; r < probe->ranks; ++r)
        if (*probe->rank[r].driver) return &probe->rank[r];
    return NULL;
}

static size_t ranks_on(const struct mf_probe *probe, size_t node)
{
    size_t n = 0;

    for (size_t r = 0; r < probe->ranks; ++r) n += probe->rank[r].node == (int)node;
    return n;
}

/* ---- table ---- */

static double gib(int64_t bytes) { return (double)bytes / (1 << 30); }

static void print_bytes(FILE *to, const char *what, int64_t bytes)
{
    if (bytes >= 1 << 20)
        fprintf(to, "%s %.4g MiB", what, (double)bytes / (1 << 20));
    else if (bytes > 0)
        fprintf(to, "%s %.4g KiB", what, (double)bytes / 1024);
}

static void print_cpu(FILE *to, const struct mf_host *host)
{
    fprintf(to, "  cores     %lld%s%s, vectors %s, %lld NUMA node%s\n", (long long)host->cores,
            *host->cpu ? " of " : "", host->cpu, host->simd, (long long)host->numa_nodes, MF_S(host->numa_nodes));
    fprintf(to, "  caches   ");
    print_bytes(to, " L1d", host->l1d_bytes);
    print_bytes(to, ", L2", host->l2_bytes);
    print_bytes(to, ", L3", host->l3_bytes);
    fprintf(to, "\n  memory    %.1f GiB, %.1f GiB available\n", gib(host->ram_bytes), gib(host->ram_available_bytes));
    if (host->memory_rate > 0)
        fprintf(to, "  measured  %.1f GB/s of memory, %.3f TFLOP/s of 32 bits\n", host->memory_rate, host->fp32_rate);
}

static void print_gpu(FILE *to, const struct mf_gpu *gpu, size_t g)
{
    fprintf(to, "  gpu %-5zu %s: %.1f GiB, %.1f GiB free, capability %lld.%lld", g, gpu->name, gib(gpu->memory_bytes),
            gib(gpu->memory_free_bytes), (long long)gpu->major, (long long)gpu->minor);
    if (gpu->sms > 0) fprintf(to, ", %lld SMs", (long long)gpu->sms);
    fprintf(to, "%s\n            %s", gpu->hidden ? ", no rank may use it" : "", gpu->uuid);
    if (*gpu->pci) fprintf(to, ", PCI %s", gpu->pci);
    if (gpu->numa_node >= 0) fprintf(to, ", NUMA node %lld", (long long)gpu->numa_node);
    if (gpu->memory_rate > 0) fprintf(to, "\n            memory %.0f GB/s", gpu->memory_rate);
    if (gpu->fp32_rate > 0) fprintf(to, ", %.1f TFLOP/s of 32 bits", gpu->fp32_rate);
    if (gpu->host_rate > 0) fprintf(to, ", %.1f GB/s to the host", gpu->host_rate);
    fputc('\n', to);
}

static void print_links(FILE *to, const struct mf_host *host)
{
    fprintf(to, "  links    ");
    for (size_t b = 0; b < host->gpus; ++b) fprintf(to, " %10s%zu", "gpu ", b);
    fputc('\n', to);
    for (size_t a = 0; a < host->gpus; ++a) {
        fprintf(to, "    gpu %-3zu", a);
        for (size_t b = 0; b < host->gpus; ++b) {
            const struct mf_link *link = &host->link[a * host->gpus + b];
            char cell[32] = "-";

            if (link->kind != MF_LINK_NONE && link->rate > 0)
                snprintf(cell, sizeof cell, "%s %.0f", mf_link_names[link->kind], link->rate);
            else if (link->kind != MF_LINK_NONE)
                snprintf(cell, sizeof cell, "%s", mf_link_names[link->kind]);
            fprintf(to, " %11s", a == b ? "." : cell);
        }
        fputc('\n', to);
    }
    fprintf(to, "            (GB/s in each direction)\n");
}

static const char *list_text(const struct mf_launcher *l, const char *list)
{
    if (*list) return list;
    return l->too_long ? "(the list is too long to be shown)" : "?"; /* in a container: it knows the job's number */
}

/* Prints the facts of the job from Slurm and PMIx; the numbers of ranks by MPI stand beside them. */
static void print_launcher(FILE *to, const struct mf_launcher *l, const struct mf_pmix *pmix)
{
    double hours;

    if (*l->job)
        fprintf(to, "  Slurm: nodes %s, tasks %s, started again %ld time%s", list_text(l, l->nodes),
                list_text(l, l->tasks), l->restarts, MF_S(l->restarts));
    if (*l->job && *l->task) fprintf(to, ", task %s of an array", l->task);
    if (*l->job && l->end > 0 && mf_launcher_hours(l, &hours) == MF_OK) fprintf(to, ", %.2f hours left", hours);
    if (*l->job) fputc('\n', to);
    if (*pmix->version)
        fprintf(to, "  PMIx: rank 0 is number %ld of %ld on node %ld of %ld\n", pmix->local_rank, pmix->local_size,
                pmix->node, pmix->nodes);
    mf_err_clear();
}

static void print_head(FILE *to, const struct mf_probe_report *report)
{
    const struct mf_probe *probe = report->probe;
    const struct mf_probe_rank *rank = first_with_driver(probe);

    fprintf(to, "mesoforge %s on %zu rank%s, %zu node%s, launcher %s%s%s\n", MF_VERSION, probe->ranks,
            MF_S(probe->ranks), probe->hardware.hosts, MF_S(probe->hardware.hosts), report->launcher.kind,
            *report->launcher.job ? ", Slurm job " : "", report->launcher.job);
    print_launcher(to, &report->launcher, &report->pmix);
    fprintf(to, "  %s, HDF5 %s, %s\n", mf_comm_version(), mf_io_hdf5(), mf_kernels_fftw());
    fprintf(to, "  cuda back end: %s\n", *mf_load_cuda_path() ? mf_load_cuda_path() : "not installed");
    fprintf(to, "  NCCL: %s\n", mf_transport_version() ? mf_transport_version() : "not here");
    if (rank)
        fprintf(to, "  NVIDIA driver %s, serves CUDA up to %lld.%lld\n", rank->driver, (long long)rank->cuda / 1000,
                (long long)rank->cuda % 1000 / 10);
}

void mf_probe_print(FILE *to, const struct mf_probe_report *report)
{
    const struct mf_probe *probe = report->probe;
    struct mf_train_table table;

    print_head(to, report);
    for (size_t h = 0; h < probe->hardware.hosts; ++h) {
        const struct mf_host *host = &probe->hardware.host[h];

        fprintf(to, "node %zu: %s, %zu rank%s\n", h, host->name, ranks_on(probe, h), MF_S(ranks_on(probe, h)));
        print_cpu(to, host);
        for (size_t g = 0; g < host->gpus; ++g) print_gpu(to, &host->gpu[g], g);
        if (host->gpus > 1) print_links(to, host);
        for (size_t r = 0; r < probe->ranks; ++r)
            for (int k = 0; k < 2 && probe->rank[r].node == (int)h; ++k)
                if (*remark_of(probe, r, k)) fprintf(to, "  %s\n", remark_of(probe, r, k));
    }
    fprintf(to, "ranks\n");
    mf_where_print(to, probe, report->gpu, report->where);
    mf_train_table_of(&probe->hardware, 0, &table);
    fprintf(to, "settings of a training by a published table (plan train has those by a model and its bytes)\n");
    mf_train_table_report(to, &table);
}

/* ---- object ---- */

static void put_number(struct mf_json *at, const char *key, long number)
{
    if (number >= 0)
        mf_json_int(at, key, number);
    else
        mf_json_null(at, key);
}

static struct mf_json *rank_json(const struct mf_probe_report *report, size_t r)
{
    const struct mf_probe_rank *rank = &report->probe->rank[r];
    struct mf_json *one = mf_json_object(), *gpus = mf_json_array();

    MF_JSON(one, "rank", r, "node", rank->node, "local_rank", rank->local_rank, "cores",
            (long long)report->where[r].share, "affinity_cores", rank->cores);
    mf_json_finite(one, "quota_cores", rank->quota > 0 ? rank->quota : NAN);
    for (size_t i = 0; i < rank->gpus; ++i) mf_json_int(gpus, NULL, (long long)rank->gpu[i]);
    mf_json_put(one, "visible_gpus", gpus);
    put_number(one, "gpu", report->gpu[r] >= 0 ? (long)rank->gpu[report->gpu[r]] : -1);
    mf_json_text(one, "core_list", report->where[r].cores);
    mf_json_some(one, "numa_list", report->where[r].numa);
    mf_json_some(one, "nic", report->where[r].nic);
    return one;
}

/* Nodes and their tasks, as far as Slurm's short forms can be read. */
static struct mf_json *nodes_json(const struct mf_launcher *launcher)
{
    struct mf_json *all = mf_json_array();
    struct mf_words names = {0};
    long *tasks = NULL;
    size_t count = 0;

    if (*launcher->nodes && mf_nodelist_names(launcher->nodes, &names) == MF_OK && *launcher->tasks)
        (void)mf_nodelist_tasks(launcher->tasks, &tasks, &count);
    mf_err_clear();
    for (size_t i = 0; i < names.count; ++i) {
        struct mf_json *one = mf_json_object();

        mf_json_text(one, "name", names.at[i]);
        put_number(one, "tasks", i < count ? tasks[i] : -1);
        mf_json_put(all, NULL, one);
    }
    mf_words_free(&names);
    free(tasks);
    return all;
}

static struct mf_json *pmix_json(const struct mf_pmix *pmix)
{
    struct mf_json *one = mf_json_object();

    mf_json_text(one, "version", pmix->version);
    put_number(one, "local_rank", pmix->local_rank);
    put_number(one, "local_size", pmix->local_size);
    put_number(one, "node", pmix->node);
    put_number(one, "nodes", pmix->nodes);
    mf_json_some(one, "host", pmix->host);
    mf_json_some(one, "node_list", pmix->list);
    mf_json_some(one, "cpuset", pmix->set);
    return one;
}

static struct mf_json *launcher_json(const struct mf_launcher *launcher, const struct mf_pmix *pmix)
{
    struct mf_json *one = mf_json_object();
    double hours;

    mf_json_text(one, "kind", launcher->kind);
    mf_json_some(one, "slurm_job", launcher->job);
    mf_json_some(one, "slurm_array_task", launcher->task);
    MF_JSON(one, "slurm_restarts", launcher->restarts, "slurm_nodes", nodes_json(launcher));
    mf_json_bool(one, "slurm_nodes_too_long", launcher->too_long);
    if (launcher->end <= 0 || mf_launcher_hours(launcher, &hours) != MF_OK) hours = NAN;
    mf_json_finite(one, "hours_left", hours);
    mf_err_clear();
    if (*pmix->version)
        mf_json_put(one, "pmix", pmix_json(pmix));
    else
        mf_json_null(one, "pmix");
    return one;
}

static struct mf_json *versions_json(const struct mf_probe *probe)
{
    struct mf_json *one = mf_json_object();
    const struct mf_probe_rank *rank = first_with_driver(probe);
    char cuda[48] = "";

    MF_JSON(one, "mpi", mf_comm_version(), "hdf5", mf_io_hdf5(), "fftw", mf_kernels_fftw());
    if (rank) snprintf(cuda, sizeof cuda, "%lld.%lld", (long long)rank->cuda / 1000, (long long)rank->cuda % 1000 / 10);
    mf_json_some(one, "cuda_back_end", mf_load_cuda_path());
    mf_json_some(one, "nccl", mf_transport_version());
    mf_json_some(one, "driver", rank ? rank->driver : NULL);
    mf_json_some(one, "cuda", cuda);
    return one;
}

struct mf_json *mf_probe_json(const struct mf_probe_report *report)
{
    const struct mf_probe *probe = report->probe;
    struct mf_json *json = mf_hardware_json(&probe->hardware), *ranks = mf_json_array(), *remarks = mf_json_array();
    struct mf_train_table table;

    mf_train_table_of(&probe->hardware, 0, &table);
    mf_json_put(json, "settings", mf_train_table_json(&table));
    for (size_t r = 0; r < probe->ranks; ++r) mf_json_put(ranks, NULL, rank_json(report, r));
    MF_JSON(json, "ranks", ranks, "launcher", launcher_json(&report->launcher, &report->pmix), "versions",
            versions_json(probe));
    for (size_t r = 0; r < probe->ranks; ++r)
        for (int k = 0; k < 2; ++k) {
            struct mf_json *one;

            if (!*remark_of(probe, r, k)) continue;
            one = mf_json_object();
            MF_JSON(one, "node", probe->rank[r].node, "text", remark_of(probe, r, k));
            mf_json_put(remarks, NULL, one);
        }
    mf_json_put(json, "remarks", remarks);
    mf_json_some(json, "refusal", report->refusal);
    return json;
}
