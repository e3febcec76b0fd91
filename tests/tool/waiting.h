/* Calls of MPI in which a rank may wait for another, the program's own and HDF5's. The test tests/cli/waits.py sees
 * that none is left out. The form is CALL(name, parameters, communicator, what is handed on). */
#ifndef MF_TESTS_TOOL_WAITING_H
#define MF_TESTS_TOOL_WAITING_H

#define WAITING_CALLS(CALL)                                                                                            \
    CALL(Barrier, (MPI_Comm c), c, c)                                                                                  \
    CALL(Bcast, (void *a, int n, MPI_Datatype t, int r, MPI_Comm c), c, a, n, t, r, c)                                 \
    CALL(Allreduce, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), c, a, b, n, t, o, c)        \
    CALL(Allgather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), c, a, n, t, b, \
         m, u, c)                                                                                                      \
    CALL(Allgatherv,                                                                                                   \
         (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, MPI_Comm c), c,   \
         a, n, t, b, m, d, u, c)                                                                                       \
    CALL(Gather, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r, MPI_Comm c), c, a, n,   \
         t, b, m, u, r, c)                                                                                             \
    CALL(Gatherv,                                                                                                      \
         (const void *a, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, int r,            \
          MPI_Comm c),                                                                                                 \
         c, a, n, t, b, m, d, u, r, c)                                                                                 \
    CALL(Scatterv,                                                                                                     \
         (const void *a, const int *n, const int *d, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r,            \
          MPI_Comm c),                                                                                                 \
         c, a, n, d, t, b, m, u, r, c)                                                                                 \
    CALL(Alltoall, (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c), c, a, n, t, b,  \
         m, u, c)                                                                                                      \
    CALL(Reduce_scatter_block, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), c, a, b, n, t,   \
         o, c)                                                                                                         \
    CALL(Sendrecv,                                                                                                     \
         (const void *a, int n, MPI_Datatype t, int to, int g, void *b, int m, MPI_Datatype u, int from, int h,        \
          MPI_Comm c, MPI_Status *s),                                                                                  \
         c, a, n, t, to, g, b, m, u, from, h, c, s)                                                                    \
    CALL(Comm_split, (MPI_Comm c, int part, int order, MPI_Comm *made), c, c, part, order, made)                       \
    CALL(Comm_split_type, (MPI_Comm c, int part, int order, MPI_Info i, MPI_Comm *made), c, c, part, order, i, made)   \
    CALL(Comm_dup, (MPI_Comm c, MPI_Comm * made), c, c, made)                                                          \
    CALL(Comm_free, (MPI_Comm * c), *c, c)                                                                             \
    CALL(Mprobe, (int r, int g, MPI_Comm c, MPI_Message *m, MPI_Status *s), c, r, g, c, m, s)                          \
    CALL(Waitall, (int n, MPI_Request *q, MPI_Status *s), MPI_COMM_WORLD, n, q, s)                                     \
    CALL(File_open, (MPI_Comm c, const char *path, int mode, MPI_Info i, MPI_File *f), c, c, path, mode, i, f)

/* The same of a file, which all have opened together. */
#define WAITING_FILES(CALL)                                                                                            \
    CALL(File_close, (MPI_File * f), MPI_COMM_WORLD, f)                                                                \
    CALL(File_sync, (MPI_File f), MPI_COMM_WORLD, f)                                                                   \
    CALL(File_set_size, (MPI_File f, MPI_Offset n), MPI_COMM_WORLD, f, n)                                              \
    CALL(File_set_view, (MPI_File f, MPI_Offset n, MPI_Datatype t, MPI_Datatype u, const char *r, MPI_Info i),         \
         MPI_COMM_WORLD, f, n, t, u, r, i)                                                                             \
    CALL(File_set_atomicity, (MPI_File f, int on), MPI_COMM_WORLD, f, on)                                              \
    CALL(File_write_at_all, (MPI_File f, MPI_Offset at, const void *a, int n, MPI_Datatype t, MPI_Status *s),          \
         MPI_COMM_WORLD, f, at, a, n, t, s)                                                                            \
    CALL(File_read_at_all, (MPI_File f, MPI_Offset at, void *a, int n, MPI_Datatype t, MPI_Status *s), MPI_COMM_WORLD, \
         f, at, a, n, t, s)

#endif
