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

/** How long the ranks may take to come together in mf_comm_open(), which is called later, before the job ends with
 * MF_DEVICE: at first 600 s; a minute at least; 0: for ever. Local. */
void mf_comm_patience(double seconds);

/** What this process was started to do, as the others must have been: said before mf_comm_open(), which refuses with
 * MF_USAGE where the ranks' texts differ. @p task is the caller's, and stays. Local. */
void mf_comm_task(const char *task);

/**
 * Starts MPI and opens the world; a process that nobody launched as one of several (launched.h) is a rank by itself,
 * and MPI is not started: that takes longer than most of what such a process does. Installs MPI_Abort in mf_die().
 * Refuses with MF_DEVICE when the launcher started several tasks but MPI sees one (launcher and MPI do not match), or
 * when the ranks run different builds (@p build: a string that identifies this one), with MF_USAGE when nobody can say
 * what is in MESOFORGE_MPI (launched.h). On a refusal comm->rank says who may print it; it is closed all the same (a
 * launcher that sees one rank fail ends the others, and so the one that prints).
 */
int mf_comm_open(struct mf_comm *comm, int *argc, char ***argv, const char *build);

/** Tasks that a launcher started, where MPI sees this one alone and mf_comm_open() has refused for it; else 0. Local.
 */
long mf_comm_strays(const struct mf_comm *comm);

/** One rank by itself, no MPI: for unit tests and for work that rank 0 does alone. */
void mf_comm_self(struct mf_comm *comm);

/**
 * Rank @p rank of @p size, @p local_size on its node, that is not there: what is collective returns at once, as on one
 * rank, so that a rank can be asked what memory it would take. No message can be sent on it.
 */
void mf_comm_dry(struct mf_comm *comm, int rank, int size, int local_size);

/**
 * Splits a communicator into groups, each a communicator of its own on which all that is collective works. Groups may
 * overlap with those of other splits, and be split again; their collectives go on independently.
 *
 * @param colour [size] ranks of one colour are a group; a rank with a negative one is in none: size 0
 * @param key    [size] the ranks of a group stand in the order of their keys, equal ones in that of @p comm; NULL: so
 *               do all. Sums add in this order, as those of the world do.
 * @param name   "expert": messages call the groups "expert group 0", "expert group 1", by their colours; 15
 *               characters count
 * @param group  mf_comm_free() ends it, before @p comm ends
 *
 * Both arrays are the same on all ranks, so that a communicator of mf_comm_dry() can be split, too; nodes then are
 * taken to hold @p local_size consecutive ranks each. A group of one rank is mf_comm_self(): it sends no messages.
 * Collective over @p comm; refuses (agreed) with MF_MEMORY a rank's 64th group at a time.
 */
int mf_comm_split(const struct mf_comm *comm, const int *colour, const int *key, const char *name,
                  struct mf_comm *group);

/** Ends a group; also one that was never made ({0}). Collective over the group. */
void mf_comm_free(struct mf_comm *group);

/** Which of the nodes that a test has ranks play (MF_NODES) is this rank's; 0 without such a test. Not collective. */
int mf_comm_stage(const struct mf_comm *comm);

/** Ends MPI. Not needed after mf_die(). */
void mf_comm_close(struct mf_comm *comm);

/** Library versions for --version: "Open MPI 4.1.4 ...". Not collective. */
const char *mf_comm_version(void);

/**
 * All ranks leave with one answer: the largest of their codes, and that rank's sentence (with "(rank r; k of n ranks
 * failed)" when not all failed).
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

/** Element-wise sums and maxima over ranks of [n], in place, the same bits on every rank. Collective. */
void mf_comm_sum(const struct mf_comm *comm, size_t n, double *values);
void mf_comm_sum_float(const struct mf_comm *comm, size_t n, float *values);
void mf_comm_sum_int(const struct mf_comm *comm, size_t n, int64_t *values);
void mf_comm_max(const struct mf_comm *comm, size_t n, double *values);
void mf_comm_max_int(const struct mf_comm *comm, size_t n, int64_t *values);

/** From @p root to all. Any size (split where MPI's int counts end). */
void mf_comm_bcast(const struct mf_comm *comm, int root, void *data, size_t bytes);

/** Rank 0's text (NULL: "") to all; the caller frees what it gets. */
char *mf_comm_text(const struct mf_comm *comm, const char *text);

/**
 * Every rank's @p bytes (may differ, may be 0) to all ranks, in rank order: @p offset [size + 1] gets the byte offsets
 * into *all, which the caller frees; NULL: nobody needs them. Refuses (agreed) with MF_MEMORY.
 */
int mf_comm_gather(const struct mf_comm *comm, const void *mine, size_t bytes, void **all, size_t *offset);

/**
 * What every rank has for every other one: @p sent [size] bytes for each of them, which lie one after the other in
 * @p out, to where @p got [size] bytes from each come one after the other into @p in. Both know how many; none for
 * itself.
 */
void mf_comm_alltoallv(const struct mf_comm *comm, const void *out, const size_t *sent, void *in, const size_t *got);

/**
 * Bytes from one rank to another, any number of them (none, too); the receiver says as many. Messages from one rank to
 * another arrive in the order in which they are sent. Each waits until its bytes have gone or come; a rank that waits
 * for too long ends the job, and the line names the other rank. Not collective: the two ranks call.
 *
 * mf_comm_send_receive() does both at once, from and to different ranks or the same. Where ranks send in a ring, along
 * a pipeline or to each other, all of them call it, and none of them waits for ever; with mf_comm_send() and
 * mf_comm_receive() alone, one rank of every circle must receive first. At the ends of a pipeline the missing
 * neighbour is MF_NO_RANK. A rank by itself sends to itself.
 */
void mf_comm_send(const struct mf_comm *comm, int to, const void *data, size_t bytes);
void mf_comm_receive(const struct mf_comm *comm, int from, void *data, size_t bytes);
void mf_comm_send_receive(const struct mf_comm *comm, int to, const void *out, size_t sent, int from, void *in,
                          size_t got);

enum { MF_NO_RANK = -1 };

void mf_comm_barrier(const struct mf_comm *comm);

/**
 * Around what all ranks do together (every function here, and collective work of other libraries: HDF5): no rank may
 * stay outside of @p name while another waits inside for longer than mf_comm_watch() says. @p name: what a user would
 * call it, 47 characters count; @p n: a number that belongs to it and is the same on all ranks; 0: none. With
 * MF_CHECK_COLLECTIVES names and numbers are compared, and the job ends naming both when they differ. They nest; only
 * the outermost counts.
 */
void mf_comm_enter(const struct mf_comm *comm, const char *name, size_t n);
void mf_comm_leave(const struct mf_comm *comm);

/** A sign of life from long work that a rank does while others may wait for it. Cheap; any process that a rank has
 * forked may give it as well. Not collective. */
void mf_comm_alive(void);

/** How long a rank may keep others waiting before the job ends with MF_DEVICE (at first 600 s); 0: for ever. Same on
 * all ranks. Not collective. */
void mf_comm_watch(const struct mf_comm *comm, double seconds);

/** What a user may try when a rank or a link is lost or stuck from now on: stands behind "; try: " in the line with
 * which the job ends, 255 characters count. NULL: what fits all. Not collective. */
void mf_comm_hint(const char *text);

/**
 * A pointer to an MPI_Comm for a program of parallel HDF5 beside ours, which `bench io` measures (*(MPI_Comm *)p; no
 * message of ours travels on it), as void * so that this header needs no mpi.h; NULL for self. Not collective.
 */
void *mf_comm_native(const struct mf_comm *comm);

#endif
