/* Linked into the program. Every call of MPI in which a rank may wait for another, the program's own and HDF5's, must
 * be inside a collective that the watch knows. Else nobody is told when the other does not come. The first that is not
 * ends the job with 9 and its name. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "mpi/watch.h"
#include "tests/tool/waiting.h"

void __real_mf_watch_open(const struct mf_comm *comm, int leader);
void __real_mf_watch_close(void);
void __real_mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer);
void __real_mf_watch_leave(void);
void __wrap_mf_watch_open(const struct mf_comm *comm, int leader);
void __wrap_mf_watch_close(void);
void __wrap_mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer);
void __wrap_mf_watch_leave(void);

static int watched, inside; /* of the main thread, which alone calls MPI */

void __wrap_mf_watch_open(const struct mf_comm *comm, int leader)
{
    __real_mf_watch_open(comm, leader);
    watched = 1;
}

void __wrap_mf_watch_close(void)
{
    watched = 0;
    __real_mf_watch_close();
}

void __wrap_mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer)
{
    inside = 1;
    __real_mf_watch_enter(group, name, n, peer);
}

void __wrap_mf_watch_leave(void)
{
    __real_mf_watch_leave();
    inside = 0;
}

static void waits(const char *name, MPI_Comm comm)
{
    int size;

    if (!watched || inside) return;
    PMPI_Comm_size(comm, &size);
    if (size == 1) return; /* for whom? */
    fprintf(stderr, "waits: MPI_%s outside of a collective\n", name);
    _exit(9);
}

#define WAITS(name, parameters, comm, ...) \
    int MPI_##name parameters;             \
    int MPI_##name parameters              \
    {                                      \
        waits(#name, comm);                \
        return PMPI_##name(__VA_ARGS__);   \
    }

WAITING_CALLS(WAITS)
WAITING_FILES(WAITS)
