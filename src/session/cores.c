/* See cores.h. A core that k ranks may use counts 1/k. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cores.h"
#include "slurm/launcher.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/plan/cgroup.h"
#include "src/plan/host.h"
#include "src/plan/pin.h"
#include "src/session/cores.h"

struct place {
    uint64_t node;
    struct mf_cores cores;
    int near, may; /* as mf_session_pin() has them */
};

/* A number that identifies this machine within a job, from its name and boot id. Containers on several machines may
 * share a name. */
static uint64_t node_number(void)
{
    char name[256 + 64] = "";

    gethostname(name, 255);
    mf_host_boot(name + strlen(name), 64);
    return mf_fnv(MF_FNV, name, strlen(name));
}

/* The sum over the cores of @p own of 1 / (ranks of this node that may use that core). */
static double fair_share(const struct place *all, int size, const struct place *own)
{
    double share = 0;

    for (size_t core = 0; core < MF_CORES_MOST; ++core) {
        int users = 0;

        if (!mf_cores_has(&own->cores, core)) continue;
        for (int r = 0; r < size; ++r) users += all[r].node == own->node && mf_cores_has(&all[r].cores, core);
        share += 1.0 / users;
    }
    return share;
}

static void find_own(struct place *own)
{
    memset(own, 0, sizeof *own);
    own->node = node_number();
    own->cores = mf_cores_own();
}

/* Where all ranks are; caller frees. NULL: no memory. Collective. */
static struct place *gather(const struct mf_comm *comm, const struct place *own)
{
    void *all = NULL;

    return mf_comm_gather(comm, own, sizeof *own, &all, NULL) == MF_OK ? all : NULL;
}

/* The same, each as it is. */
static struct place *places(const struct mf_comm *comm, struct place *own)
{
    find_own(own);
    return gather(comm, own);
}

/* Are the cores open? Neither a launcher, nor a user by OpenMP, nor a control group has settled them. */
static int is_open(const char *root, const struct mf_session *s, const struct mf_cores *cores)
{
    static const char *const settled[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    const struct mf_cores nodes = mf_host_set(root, "/sys/devices/system/node/online");
    const int count = mf_cores_count(cores);
    struct mf_limits limits;

    mf_cgroup_limits(root, &limits);
    for (size_t i = 0; i < sizeof settled / sizeof *settled; ++i)
        if (getenv(settled[i])) return 0;
    if (!mf_launcher_find().is_inside)
        return 0; /* outside of a job others may come and need a core that a rank cannot leave */
    return mf_cores_count(&nodes) > 1 && count == mf_host_cores(root) && (limits.cores <= 0 || limits.cores >= count) &&
           (s->threads_free || s->threads * s->comm->local_size <= count);
}

/* Binding would take cores from programs that were already running. Was less than a quarter of the node in use during
 * the last minute? */
static int is_idle(const char *root, int cores)
{
    char path[512], line[64] = "";
    FILE *file;

    snprintf(path, sizeof path, "%.400s/proc/loadavg", root);
    file = fopen(path, "r");
    if (!file) return 0;
    if (!fgets(line, sizeof line, file)) *line = '\0';
    (void)fclose(file);
    return *line && 4 * strtod(line, NULL) < cores;
}

/* Among those of its node; 0 where they are not alike. */
static int share_out(const char *root, const struct mf_comm *comm, const struct place *all, const struct place *own,
                     struct mf_cores *share)
{
    int *near = MF_MUST(calloc((size_t)comm->size, sizeof *near), "ranks of a node"), bound = 1;
    size_t here = 0, k = 0;

    for (int r = 0; r < comm->size; ++r) {
        if (all[r].node != own->node) continue;
        bound = bound && all[r].may && memcmp(&all[r].cores, &own->cores, sizeof own->cores) == 0;
        if (r == comm->rank) k = here;
        near[here++] = all[r].near;
    }
    bound = bound && here > 1 && mf_pin(root, &own->cores, here, near, k, share);
    free(near);
    return bound;
}

int mf_session_pin(const struct mf_session *session, int near)
{
    const char *hook = getenv("MF_ROOT"), *root = hook ? hook : ""; /* tests: where proc/ and sys/ are */
    const struct mf_comm *comm = session->comm;
    struct place own, *all;
    struct mf_cores share;
    int bound;

    if (comm->size == 1 || !session->settings.bind) return 0;
    find_own(&own);
    own.near = near;
    own.may = is_open(root, session, &own.cores) && is_idle(root, mf_cores_count(&own.cores));
    all = gather(comm, &own);
    bound = all && share_out(root, comm, all, &own, &share) && mf_cores_keep(&share);
    free(all);
    if (bound) mf_info("cores: the ranks of this node keep to a share each (--bind none: all to all)");
    return bound;
}

double mf_session_l3(const struct mf_comm *comm)
{
    struct place own, *all = places(comm, &own);
    struct mf_cores *ranks = MF_MUST(malloc((size_t)comm->size * sizeof *ranks), "cores");
    size_t here = 0;
    double share;

    for (int r = 0; all && r < comm->size; ++r)
        if (all[r].node == own.node) ranks[here++] = all[r].cores;
    share = mf_host_l3_share("", &own.cores, ranks, here);
    free(ranks);
    free(all);
    return share;
}

int mf_session_cores(const struct mf_comm *comm)
{
    struct place own, *all = places(comm, &own);
    struct mf_limits limits;
    double share, limit;

    mf_cgroup_limits("", &limits);
    limit = limits.cores / comm->local_size;
    share = all ? fair_share(all, comm->size, &own) : 1;
    free(all);
    if (limit > 0 && limit < share) share = limit;
    return share < 1 ? 1 : (int)(share + 1e-6);
}
