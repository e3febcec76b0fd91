/* See cores.h. */
#include "kernels/cores.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/err.h"

static void add_place(int place, struct mf_cores *cores)
{
    const int count = omp_get_place_num_procs(place);
    int *core = MF_MUST(malloc(((size_t)count + 1) * sizeof *core), "a place of threads");

    omp_get_place_proc_ids(place, core);
    for (int i = 0; i < count; ++i)
        if (core[i] >= 0) mf_cores_add(cores, (size_t)core[i]);
    free(core);
}

/* Finds the cores of the calling thread and of OpenMP's places; 0 and none: the system does not say. */
static int find(struct mf_cores *cores)
{
    *cores = (struct mf_cores){0};
    if (sched_getaffinity(0, sizeof *cores, cores->part) != 0) return 0;
    for (int place = 0; place < omp_get_num_places(); ++place) add_place(place, cores);
    return 1;
}

struct mf_cores mf_cores_own(void)
{
    struct mf_cores cores;

    if (find(&cores)) return cores;
    mf_cores_add(&cores, 0);
    for (long core = 1; core < sysconf(_SC_NPROCESSORS_ONLN); ++core) mf_cores_add(&cores, (size_t)core);
    return cores;
}

int mf_cores_keep(const struct mf_cores *set) { return sched_setaffinity(0, sizeof *set, set->part) == 0; }

void mf_cores_release(void)
{
    struct mf_cores cores;

    if (omp_get_num_places() > 0 && find(&cores)) (void)mf_cores_keep(&cores);
}
