/* See cores.h. */
#include "kernels/cores.h"

#include <omp.h>
#include <stdlib.h>

#include "src/base/err.h"

static void add_place(int place, cpu_set_t *cores)
{
    const int count = omp_get_place_num_procs(place);
    int *core = MF_MUST(malloc(((size_t)count + 1) * sizeof *core), "a place of threads");

    omp_get_place_proc_ids(place, core);
    for (int i = 0; i < count; ++i)
        if (core[i] >= 0 && core[i] < CPU_SETSIZE) CPU_SET((size_t)core[i], cores);
    free(core);
}

cpu_set_t mf_cores_own(void)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_SET(0, &cores);
    for (int place = 0; place < omp_get_num_places(); ++place) add_place(place, &cores);
    return cores;
}

void mf_cores_release(void)
{
    const cpu_set_t cores = mf_cores_own();

    if (omp_get_num_places() > 0) (void)sched_setaffinity(0, sizeof cores, &cores);
}
