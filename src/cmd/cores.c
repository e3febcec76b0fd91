/* How many cores a rank may use. Ranks that are not bound share them: a core that k ranks may use counts 1/k. */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/plan/cgroup.h"
#include "src/plan/host.h"

struct place {
    uint64_t node;
    cpu_set_t cores;
};

/* A number that is this machine's own among the machines of a job: of its name and its boot's number, as containers on
 * several machines may share a name. */
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

    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
        int users = 0;

        if (!CPU_ISSET(core, &own->cores)) continue;
        for (int r = 0; r < size; ++r) users += all[r].node == own->node && CPU_ISSET(core, &all[r].cores);
        share += 1.0 / users;
    }
    return share;
}

/* Where all ranks are; caller frees. NULL: no memory. Collective. */
static struct place *places(const struct mf_comm *comm, struct place *own)
{
    size_t *offset = calloc((size_t)comm->size + 1, sizeof *offset);
    void *all = NULL;

    memset(own, 0, sizeof *own);
    own->node = node_number();
    if (sched_getaffinity(0, sizeof own->cores, &own->cores) != 0) CPU_SET(0, &own->cores);
    if (!offset) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d offsets", comm->size);
    if (mf_comm_gather(comm, own, sizeof *own, &all, offset) != MF_OK) all = NULL;
    free(offset);
    return all;
}

double mf_session_l3(const struct mf_comm *comm)
{
    struct place own, *all = places(comm, &own);
    cpu_set_t *ranks = malloc((size_t)comm->size * sizeof *ranks);
    size_t here = 0;
    double share;

    if (!ranks) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d sets of cores", comm->size);
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
