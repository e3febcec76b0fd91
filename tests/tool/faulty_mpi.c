/* LD_PRELOAD: a call of MPI on which something happens. FAULTY_MPI_CALL=Allreduce:20 names it, the 20th (from 1) of
 * rank FAULTY_MPI_RANK (of all; 1). FAULTY_MPI_HOW says how. By "swallow" it is not made, and the rank goes on, as it
 * does when the network has taken a message and lost it. By "delay:S" it is made S seconds later. By "kill" the process
 * goes in it. By "fail" MPI says that it failed, to the communicator. Do not ask it to swallow what makes something (a
 * communicator, a message): that is not set then. It says what it does, so that a test sees that it was. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/tool/waiting.h"

static void stay(double seconds)
{
    const struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};

    nanosleep(&time, NULL);
}

/* Is this the call? Counted are those of this rank. */
static int is_due(const char *name)
{
    static long calls;
    const char *call = getenv("FAULTY_MPI_CALL"), *rank = getenv("FAULTY_MPI_RANK");
    size_t n = strlen(name);
    int own;

    if (!call || strncmp(call, name, n) != 0 || call[n] != ':') return 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &own);
    return own == (rank ? strtol(rank, NULL, 10) : 1) && ++calls == strtol(call + n + 1, NULL, 10);
}

/* What comes of it before it is made; is it made at all? If not, *rc is what it returns. */
static int is_made(const char *name, MPI_Comm comm, int *rc)
{
    const char *how = getenv("FAULTY_MPI_HOW");

    if (!how || !is_due(name)) return 1;
    fprintf(stderr, "faulty_mpi: %s: %s\n", name, how);
    if (strncmp(how, "delay:", 6) == 0) stay(strtod(how + 6, NULL));
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    *rc = strcmp(how, "fail") == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
    if (*rc != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm, *rc); /* as MPI itself does */
    return *rc == MPI_SUCCESS && strcmp(how, "swallow") != 0;
}

/* Name, parameters, communicator, what is handed on; what a call that is not made leaves behind. */
#define FAULTY_LEAVES(name, parameters, comm, leaves, ...)              \
    int MPI_##name parameters                                           \
    {                                                                   \
        int rc;                                                         \
                                                                        \
        if (is_made(#name, comm, &rc)) return PMPI_##name(__VA_ARGS__); \
        leaves;                                                         \
        return rc;                                                      \
    }
#define FAULTY(name, parameters, comm, ...) FAULTY_LEAVES(name, parameters, comm, (void)0, __VA_ARGS__)

WAITING_CALLS(FAULTY)
FAULTY_LEAVES(Isend, (const void *a, int n, MPI_Datatype t, int to, int g, MPI_Comm c, MPI_Request *q), c,
              *q = MPI_REQUEST_NULL, a, n, t, to, g, c, q)
FAULTY_LEAVES(Irecv, (void *a, int n, MPI_Datatype t, int from, int g, MPI_Comm c, MPI_Request *q), c,
              *q = MPI_REQUEST_NULL, a, n, t, from, g, c, q)
