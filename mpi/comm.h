/* The communicator: ranks, groups of ranks, agreement, reductions, copies and messages.
 *
 * Every function is collective unless it says otherwise. It works alike under MPI and on one rank without a launcher.
 * The rule: what may fail on one rank and what all ranks share never stand in the same function. So the order is local
 * work, mf_agree(), shared work. */
#ifndef MF_MPI_COMM_H
#define MF_MPI_COMM_H

#include <stddef.h>
#include <stdint.h>

struct mf_comm_impl;
struct mf_transport;

struct mf_comm {
    int rank, size;
    int local_rank, local_size; /* within this node */
    struct mf_comm_impl *impl;
    struct mf_transport *transport; /* between the ranks' GPUs (nccl_transport.h); NULL: there is none */
};

/** Sets how long mf_comm_open(), which is called later, waits for all ranks to start. After that the job ends with
 * MF_DEVICE. The default is 600 s and the least is 60 s; 0 waits for ever. Local. */
void mf_comm_patience(double seconds);

/** States what this process was started to do; @p task is the caller's, and stays. Call it before mf_comm_open(), which
 * refuses with MF_USAGE where the ranks' texts differ. Local. */
void mf_comm_task(const char *task);

/**
 * Starts MPI and opens the world. A process that no launcher started (launched.h) becomes one rank alone. It does not
 * start MPI, because this takes longer than most of its work. Installs MPI_Abort in mf_die().
 *
 * Refuses with MF_DEVICE:
 * - The launcher started several tasks but MPI sees one: launcher and MPI do not match.
 * - The ranks run different builds. @p build is a string that identifies this build.
 *
 * Refuses with MF_USAGE: MESOFORGE_MPI has an unknown value (launched.h), or the ranks' tasks differ (mf_comm_task()).
 *
 * After a refusal comm->rank says which rank may print it, and the caller still closes the communicator. A launcher
 * that sees one rank fail ends the others, also the one that prints.
 */
int mf_comm_open(struct mf_comm *comm, int *argc, char ***argv, const char *build);

/** Number of tasks that a launcher started, where MPI sees only this one and mf_comm_open() refused for that reason;
 * else 0. Local. */
long mf_comm_strays(const struct mf_comm *comm);

/** One rank alone, without MPI: for unit tests and for work that only rank 0 does. */
void mf_comm_self(struct mf_comm *comm);

/**
 * A communicator for rank @p rank of @p size, with @p local_size ranks a node, of which no process exists. Collectives
 * return at once, as on one rank. A dry run asks it how much memory such a rank would take. It can send no message.
 */
void mf_comm_dry(struct mf_comm *comm, int rank, int size, int local_size);

/**
 * Splits a communicator into groups. Each group is a communicator on which all collectives work. Groups may overlap
 * with those of other splits, and may be split again. Their collectives are independent of each other.
 *
 * @param colour [size] ranks with the same colour form a group; a negative colour means no group: size 0
 * @param key    [size] orders the ranks of a group; equal keys keep the order of @p comm. NULL: all keep it. Sums add
 *               in this order, as those of the world do
 * @param name   "expert": messages call the groups "expert group 0", "expert group 1", by their colours. Only the
 *               first 15 characters count
 * @param group  mf_comm_free() ends it, before @p comm ends
 *
 * Both arrays are the same on all ranks, so a communicator of mf_comm_dry() can be split too. Each of its nodes then
 * counts as @p local_size consecutive ranks. A group of one rank is mf_comm_self(): it sends no messages. Collective
 * over @p comm. Refuses (agreed) with MF_MEMORY when a rank would be in more than 63 groups at a time.
 */
int mf_comm_split(const struct mf_comm *comm, const int *colour, const int *key, const char *name,
                  struct mf_comm *group);

/** Ends a group; does nothing for one that was never made ({0}). Collective over the group. */
void mf_comm_free(struct mf_comm *group);

/** A test may divide the ranks of one machine among virtual nodes (MF_NODES). Returns this rank's virtual node, or 0
 * without such a test. Not collective. */
int mf_comm_stage(const struct mf_comm *comm);

/** Ends MPI. Not needed after mf_die(). */
void mf_comm_close(struct mf_comm *comm);

/** Library versions for --version: "Open MPI 4.1.4 ...". Not collective. */
const char *mf_comm_version(void);

/**
 * Agreement: all ranks return the largest of their codes with that rank's sentence. The sentence ends with "(rank r; k
 * of n ranks failed)" when not all failed.
 */
int mf_agree(const struct mf_comm *comm, int code);
#ifdef __clang_analyzer__ /* it then sees that a refusal stays one */
static inline int mf_agree_seen(const struct mf_comm *comm, int code)
{
    int all = mf_agree(comm, code);

    return code != 0 ? code : all;
}
#define mf_agree(comm, code) mf_agree_seen(comm, code)
#endif

/** Element-wise sums and maxima of [n] over ranks, in place. Every rank gets the same bits. Collective. */
void mf_comm_sum(const struct mf_comm *comm, size_t n, double *values);
void mf_comm_sum_float(const struct mf_comm *comm, size_t n, float *values);
void mf_comm_sum_int(const struct mf_comm *comm, size_t n, int64_t *values);
void mf_comm_max(const struct mf_comm *comm, size_t n, double *values);
void mf_comm_max_int(const struct mf_comm *comm, size_t n, int64_t *values);

/** Broadcasts from @p root to all, any number of bytes (split where MPI's int counts end). */
void mf_comm_bcast(const struct mf_comm *comm, int root, void *data, size_t bytes);

/** Waits until @p root calls this too, which may take hours. Ranks sleep meanwhile, and look 125 times a second. The
 * root calls it at least once a second. Otherwise the watch takes it for lost. */
void mf_comm_idle(const struct mf_comm *comm, int root);

/** Broadcasts rank 0's text (NULL: ""). Every rank frees its copy. */
char *mf_comm_text(const struct mf_comm *comm, const char *text);

/**
 * All-gather: collects every rank's @p bytes (may differ, may be 0) in rank order. The caller frees *all. The byte
 * offsets into it go to @p offset [size + 1]; NULL: not wanted. Refuses (agreed) with MF_MEMORY.
 */
int mf_comm_gather(const struct mf_comm *comm, const void *mine, size_t bytes, void **all, size_t *offset);

/** All-gather in place: @p data holds the same arrays on all ranks, and rank r brings the bytes [offset[r], offset[r +
 * 1]) of them. @p offset [size + 1], the same on all ranks. */
void mf_comm_share(const struct mf_comm *comm, void *data, const size_t *offset);

/**
 * All-to-all-v: @p out holds @p sent [size] bytes for each rank, one block after the other. In the same order @p in
 * receives @p got [size] bytes from each rank. Sender and receiver state the same sizes; a rank sends nothing to
 * itself.
 */
void mf_comm_alltoallv(const struct mf_comm *comm, const void *out, const size_t *sent, void *in, const size_t *got);

/** All-to-all: @p out [size][n] holds n numbers for each rank, @p in [size][n] those from each. Ranks tell each other
 * so how much an all-to-all-v moves. */
void mf_comm_alltoall(const struct mf_comm *comm, size_t n, const int64_t *out, int64_t *in);

/** All-gather of n numbers: @p all [size][n]. */
void mf_comm_gather_int(const struct mf_comm *comm, size_t n, const int64_t *own, int64_t *all);

/**
 * Point-to-point messages of any number of bytes, 0 too; the receiver states the same number. Messages between two
 * ranks arrive in the order in which they are sent. Each call returns when its bytes are sent or received. A rank that
 * waits for too long ends the job, and the error line names the other rank. Not collective: only the two ranks call.
 *
 * mf_comm_send_receive() sends and receives at once, with different ranks or the same. When all ranks of a ring or of a
 * pipeline call it, no deadlock is possible. With mf_comm_send() and mf_comm_receive() alone, one rank of every circle
 * must receive first. At the ends of a pipeline the missing neighbour is MF_NO_RANK. One rank alone sends to itself.
 */
void mf_comm_send(const struct mf_comm *comm, int to, const void *data, size_t bytes);
void mf_comm_receive(const struct mf_comm *comm, int from, void *data, size_t bytes);
void mf_comm_send_receive(const struct mf_comm *comm, int to, const void *out, size_t sent, int from, void *in,
                          size_t got);

enum { MF_NO_RANK = -1 };

struct mf_letter;

/** Starts to send a copy of @p data to another rank, which calls mf_comm_receive(), and returns. */
struct mf_letter *mf_comm_begin_send(const struct mf_comm *comm, int to, const void *data, size_t bytes);

/** Waits until it has left, and frees it. NULL is allowed. */
void mf_comm_sent(struct mf_letter *letter);

void mf_comm_barrier(const struct mf_comm *comm);

/**
 * Enclose every collective in these two. The functions of this header do so, and callers do so for collectives of other
 * libraries (HDF5). The watch ends the job when a rank stays outside while another waits inside for longer than
 * mf_comm_watch() says. Users know the collective as @p name, of which 47 characters count. The number @p n belongs to
 * it, the same on all ranks; 0: none. With MF_CHECK_COLLECTIVES ranks compare names and numbers, and the job ends with
 * both names where they differ. Calls nest; only the outermost counts.
 */
void mf_comm_enter(const struct mf_comm *comm, const char *name, size_t n);
void mf_comm_leave(const struct mf_comm *comm);

/** Tells the watch that this rank works, while others may wait for it. Cheap. A process that the rank has forked may
 * call it too. Not collective. */
void mf_comm_alive(void);

/** Sets how long a rank may keep others waiting before the job ends with MF_DEVICE (default 600 s); 0: for ever. The
 * same on all ranks. Not collective. */
void mf_comm_watch(const struct mf_comm *comm, double seconds);

/** Sets the advice behind "; try: " in the error line. It is for a rank or a link that is lost or stuck from now on.
 * 255 characters count. NULL: advice that fits every case. Not collective. */
void mf_comm_hint(const char *text);

/**
 * A pointer to an MPI_Comm, for the plain parallel HDF5 program with which `bench io` compares this one. None of our
 * own messages use it. It is void * so that this header needs no mpi.h: cast to MPI_Comm *. NULL for one rank alone.
 * Not collective.
 */
void *mf_comm_native(const struct mf_comm *comm);

#endif
