/* See where.h. */
#include "src/session/where.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cores.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/plan/host.h"
#include "src/plan/nic.h"
#include "src/session/cores.h"

static const struct mf_gpu *gpu_of(const struct mf_probe *probe, size_t r, const int *gpu)
{
    const struct mf_probe_rank *rank = &probe->rank[r];

    if (gpu[r] < 0 || (size_t)gpu[r] >= rank->gpus) return NULL;
    return &probe->hardware.host[rank->node].gpu[rank->gpu[gpu[r]]];
}

int mf_where_near(const struct mf_session *session, const struct mf_probe *probe, const int *gpu)
{
    const struct mf_gpu *own = gpu_of(probe, (size_t)session->comm->rank, gpu);

    return own ? (int)own->numa_node : -1;
}

int mf_where_find(const struct mf_session *session, const struct mf_probe *probe, const int *gpu, struct mf_where **all)
{
    const struct mf_comm *comm = session->comm;
    const struct mf_gpu *taken = gpu_of(probe, (size_t)comm->rank, gpu);
    struct mf_where own = {.share = mf_session_cores(comm)};
    void *gathered = NULL;
    struct mf_cores set = mf_cores_own();
    size_t first = 0;
    int rc;

    while (first < MF_CORES_MOST && !mf_cores_has(&set, first)) ++first;
    mf_host_list(&set, own.cores, sizeof own.cores);
    mf_host_numa("", &set, own.numa, sizeof own.numa);
    mf_nic_near("", taken ? taken->pci : "", (int)first, own.nic, sizeof own.nic);
    rc = mf_comm_gather(comm, &own, sizeof own, &gathered, NULL);
    *all = gathered;
    return rc;
}

static const char *or_dash(const char *text) { return *text ? text : "-"; }

/* As wide as the widest host's name. */
static int width(const struct mf_probe *probe)
{
    size_t most = 4;

    for (size_t h = 0; h < probe->hardware.hosts; ++h)
        if (strlen(probe->hardware.host[h].name) > most) most = strlen(probe->hardware.host[h].name);
    return (int)most;
}

void mf_where_print(FILE *to, const struct mf_probe *probe, const int *gpu, const struct mf_where *all)
{
    const int wide = width(probe);

    fprintf(to, "  rank  %-*s local   gpu  PCI               NUMA   share  cores        network       GPU's id\n", wide,
            "host");
    for (size_t r = 0; r < probe->ranks; ++r) {
        const struct mf_probe_rank *rank = &probe->rank[r];
        const struct mf_gpu *taken = gpu_of(probe, r, gpu);
        char number[16] = "-";

        if (taken) snprintf(number, sizeof number, "%zu", rank->gpu[gpu[r]]);
        fprintf(to, "  %4zu  %-*s %5d %5s  %-16s  %-4s %4d/%-3d %-12s %-13s %s\n", r, wide,
                probe->hardware.host[rank->node].name, rank->local_rank, number, taken ? or_dash(taken->pci) : "-",
                or_dash(all[r].numa), (int)all[r].share, rank->cores, all[r].cores, or_dash(all[r].nic),
                taken ? taken->uuid : "-");
    }
}

/* Line by line, as the log has them. */
static void log_table(const struct mf_probe *probe, const int *gpu, const struct mf_where *all)
{
    char *text = NULL, *rest = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a table");

    mf_where_print(to, probe, gpu, all);
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a table");
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) mf_info("%s", line);
    free(text);
}

/* Which GPU of its own list every rank has. Collective; the caller frees. */
static int *devices_of(const struct mf_comm *comm, int device)
{
    int64_t *all = MF_MUST(calloc((size_t)comm->size, sizeof *all), "numbers of GPUs");
    int *gpu = MF_MUST(calloc((size_t)comm->size, sizeof *gpu), "numbers of GPUs");

    all[comm->rank] = device;
    mf_comm_sum_int(comm, (size_t)comm->size, all);
    for (int r = 0; r < comm->size; ++r) gpu[r] = (int)all[r];
    free(all);
    return gpu;
}

int mf_where_settle(const struct mf_session *session, int device)
{
    const int has_gpus = session->backend->devices != NULL, verbose = session->settings.says_place;
    struct mf_where *all = NULL;
    struct mf_probe probe;
    int *gpu, rc;

    if (!has_gpus && !verbose) {
        (void)mf_session_pin(session, -1);
        return MF_OK;
    }
    MF_TRY(mf_probe_run(session->comm, &probe));
    gpu = devices_of(session->comm, has_gpus ? device : -1);
    (void)mf_session_pin(session, mf_where_near(session, &probe, gpu));
    rc = verbose ? mf_where_find(session, &probe, gpu, &all) : MF_OK;
    if (rc == MF_OK && verbose) log_table(&probe, gpu, all);
    free(all);
    free(gpu);
    mf_probe_free(&probe);
    return rc;
}
