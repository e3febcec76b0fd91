/* Linked into the program: every call of MPI in which a rank may wait for another, the program's own and HDF5's, must
 * be inside a collective that the watch knows, or nobody is told when the other does not come. The first that is not
 * ends the job with 9 and its name. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "mpi/watch.h"

void __real_mf_watch_open(const struct mf_comm *comm, int leader);
void __real_mf_watch_close(void);
void __real_mf_watch_enter(const char *name, size_t n);
void __real_mf_watch_leave(void);
void __wrap_mf_watch_open(const struct mf_comm *comm, int leader);
void __wrap_mf_watch_close(void);
void __wrap_mf_watch_enter(const char *name, size_t n);
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

void __wrap_mf_watch_enter(const char *name, size_t n)
{
    inside = 1;
    __real_mf_watch_enter(name, n);
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

/* What the program and HDF5 call (tests/cli/waits.py sees that nothing is left out): name, parameters, communicator,
 * what is handed on. */
#define WAITS(name, parameters, comm, ...) \
    int MPI_##name parameters;             \
    int MPI_##name parameters              \
    {                                      \
        waits(#name, comm);                \
        return PMPI_##name(__VA_ARGS__);   \
    }

WAITS(Barrier, (MPI_Comm c), c, c)
WAITS(Bcast, (void *a, int n, MPI_Datatype t, int r, MPI_Comm c), c, a, n, t, r, c)
WAITS(Allreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), c, a, b, n, t, o, c)
WAITS(Allgather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), c, a, n, t, b, m,
      u, c)
WAITS(Allgatherv,
      (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, MPI_Comm c), c, a, n,
      t, b, m, d, u, c)
WAITS(Gather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r, MPI_Comm c), c, a, n, t, b,
      m, u, r, c)
WAITS(Gatherv,
      (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, int r, MPI_Comm c), c,
      a, n, t, b, m, d, u, r, c)
WAITS(Scatterv,
      (const void *a, const int *n, const int *d, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r, MPI_Comm c), c,
      a, n, d, t, b, m, u, r, c)
WAITS(Alltoall, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), c, a, n, t, b, m, u,
      c)
WAITS(Reduce_scatter_block, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), c, a, b, n, t, o, c)
WAITS(Sendrecv,
      (const void *a, int n, MPI_Datatype t, int to, int g, void *b, int m, MPI_Datatype u, int from, int h, MPI_Comm c,
       MPI_Status *s),
      c, a, n, t, to, g, b, m, u, from, h, c, s)
WAITS(Comm_split, (MPI_Comm c, int part, int order, MPI_Comm *made), c, c, part, order, made)
WAITS(Comm_split_type, (MPI_Comm c, int part, int order, MPI_Info i, MPI_Comm *made), c, c, part, order, i, made)
WAITS(Comm_dup, (MPI_Comm c, MPI_Comm *made), c, c, made)
WAITS(Comm_free, (MPI_Comm * c), *c, c)
WAITS(Mprobe, (int r, int g, MPI_Comm c, MPI_Message *m, MPI_Status *s), c, r, g, c, m, s)
WAITS(Waitall, (int n, MPI_Request *q, MPI_Status *s), MPI_COMM_WORLD, n, q, s)
WAITS(File_open, (MPI_Comm c, const char *path, int mode, MPI_Info i, MPI_File *f), c, c, path, mode, i, f)

/* The same of a file, which all have opened together. */
#define WAITS_AT(name, parameters, ...) WAITS(File_##name, parameters, MPI_COMM_WORLD, __VA_ARGS__)

WAITS_AT(close, (MPI_File * f), f)
WAITS_AT(sync, (MPI_File f), f)
WAITS_AT(set_size, (MPI_File f, MPI_Offset n), f, n)
WAITS_AT(set_view, (MPI_File f, MPI_Offset n, MPI_Datatype t, MPI_Datatype u, const char *r, MPI_Info i), f, n, t, u, r,
         i)
WAITS_AT(set_atomicity, (MPI_File f, int on), f, on)
WAITS_AT(write_at_all, (MPI_File f, MPI_Offset at, const void *a, int n, MPI_Datatype t, MPI_Status *s), f, at, a, n, t,
         s)
WAITS_AT(read_at_all, (MPI_File f, MPI_Offset at, void *a, int n, MPI_Datatype t, MPI_Status *s), f, at, a, n, t, s)
