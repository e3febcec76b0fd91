/* The cores that a process has, also on a machine that could have more than cpu_set_t has space for. If the system does
 * not say which, all count that are online, and none of them is given back. The system and OpenMP are the test's
 * own. */
#include "kernels/cores.h"

#include <errno.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "tests/check.h"

static size_t possible; /* cores of the machine; 0: the system refuses to say */
static int places, bindings;
static struct mf_cores bound;

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    (void)pid;
    if (possible == 0 || 8 * bytes < possible) {
        errno = EINVAL;
        return -1;
    }
    memset(set, 0, bytes);
    CPU_SET_S(3, bytes, set);
    CPU_SET_S(possible - 1, bytes, set);
    return 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    (void)pid;
    memcpy(&bound, set, bytes);
    ++bindings;
    return 0;
}

int omp_get_num_places(void) { return places; }
int omp_get_place_num_procs(int place) { return place + 1; }
void omp_get_place_proc_ids(int place, int *core)
{
    for (int i = 0; i <= place; ++i) core[i] = (int)possible - 2 - i;
}

static void own_are(int count, size_t last)
{
    const struct mf_cores own = mf_cores_own();

    CHECK(mf_cores_count(&own) == count && mf_cores_has(&own, 3) && mf_cores_has(&own, last));
}

static void on(size_t machine)
{
    possible = machine;
    bindings = places = 0;
    own_are(2, machine - 1);
    mf_cores_release(); /* what the system has given is whole */
    CHECK(bindings == 0);
    places = 2; /* one of a core, one of two of which that is one */
    own_are(4, machine - 3);
    mf_cores_release();
    CHECK(bindings == 1 && mf_cores_count(&bound) == 4 && mf_cores_has(&bound, machine - 1));
}

static void without_an_answer(void)
{
    struct mf_cores own;

    possible = 0;
    bindings = 0;
    places = 2;
    own = mf_cores_own();
    CHECK(mf_cores_count(&own) == (int)sysconf(_SC_NPROCESSORS_ONLN) && mf_cores_has(&own, 0));
    mf_cores_release();
    CHECK(bindings == 0);
}

int main(void)
{
    on(8);
    on(1024);
    on(1792);
    on(MF_CORES_MOST);
    without_an_answer();
    return failures != 0;
}
