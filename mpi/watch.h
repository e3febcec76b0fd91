/* The watch is a thread of every rank that looks once a second at what all ranks do. It ends the job when a rank keeps
 * others waiting for too long or is gone. It calls no MPI function but MPI_Abort. It reads records in memory that the
 * ranks of a node share, and datagrams from other nodes. Inner header of this folder. */
#ifndef MF_MPI_WATCH_H
#define MF_MPI_WATCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "mpi/judge.h"

enum { MF_WATCH_WORDS = 6, MF_WATCH_TEXT = 8 * MF_WATCH_WORDS, MF_WATCH_HOST = 64, MF_WATCH_ADDRESSES = 6 };
enum { MF_GROUP_WORDS = 4, MF_GROUP_TEXT = 8 * MF_GROUP_WORDS, MF_GROUPS_MOST = 64 /* that a rank is in at a time */ };
enum { MF_WATCH_SPOKE = 1 << 8 }; /* added to a code: a watch ends the job, not the rank that failed */

/** The collective or message that a rank is in, or was in last. */
struct mf_doing {
    _Atomic uint64_t count; /* number of the collective, which error lines print beside its name; 0: none */
    _Atomic uint64_t group; /* mf_watch_group.id */
    _Atomic int64_t peer;   /* see judge.h */
    _Atomic uint64_t name[MF_WATCH_WORDS];  /* of the collective */
    _Atomic uint64_t title[MF_GROUP_WORDS]; /* of the group; "": the world */
};

/** The state that a rank publishes. A rank writes only its own; all ranks of its node read it. */
struct mf_record {
    _Alignas(64) _Atomic uint64_t place; /* see judge.h */
    _Atomic uint64_t lives;              /* signs of life */
    _Atomic uint64_t looks;              /* how often its watch has looked */
    _Atomic uint64_t quiet, stopped;     /* for other nodes: [ms] since its last step; has its process stopped? */
    _Atomic uint64_t standings;          /* of standing, up to the last in use */
    struct mf_doing doing;
    struct mf_standing standing[MF_GROUPS_MOST];
};

/** The memory that the ranks of one node share. Records of ranks on other nodes are copies. Behind them: flight.h. */
struct mf_board {
    _Alignas(64) _Atomic int64_t spoken; /* the code with which a rank ends the job; 0: none does */
    _Atomic int64_t wanted;    /* the watch of another node does: a rank of this one writes its flight record */
    struct mf_record record[]; /* [size] */
};

/** Constants of a rank, which every rank gets at the start; sent as bytes. */
struct mf_post {
    int64_t head;          /* the rank that made the board this rank looks at */
    int64_t process, born; /* process number, and its start in clock ticks of the machine */
    char host[MF_WATCH_HOST];
    int64_t port;                         /* UDP port of the maker of a board; 0: none */
    uint64_t key;                         /* rank 0's key proves that a datagram belongs to this run */
    uint32_t address[MF_WATCH_ADDRESSES]; /* IPv4, in the order of the network; 0: none */
};

/** Starts the watch of a world of several ranks. @p leader: the first rank of this node. Collective. */
void mf_watch_open(const struct mf_comm *comm, int leader);

/** Ends the watch: from now on no other rank watches this one. Not collective. */
void mf_watch_close(void);

/** A group of ranks as the watch knows it. Its number is the same on all members and unique in the run. */
struct mf_watch_group {
    uint64_t id;
    char name[MF_GROUP_TEXT];
    int slot; /* of this rank's record; -1: nothing is watched */
};

enum { MF_WATCH_WORLD = 1 /* id */ };

/** A number for a new group. Only its first member, world rank @p first, calls this. */
uint64_t mf_watch_new_id(int first);

/** Can this rank be in one group more? */
int mf_watch_has_room(void);

/** This rank joins the group; this rank leaves it. */
void mf_watch_join(struct mf_watch_group *group);
void mf_watch_part(struct mf_watch_group *group);

/** This rank enters a collective of the group (@p peer 0) or a message (judge.h), and leaves it. Calls nest. */
void mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer);
void mf_watch_leave(void);

/** Number of the group's collective that this rank is in, or has left. */
unsigned long long mf_watch_number(const struct mf_watch_group *group);

/** This rank ends the job with an error line of its own, so the watches of other ranks print none. */
void mf_watch_silence(int code);

/** Writes the flight record (flight.h) before this rank ends the job for a lost rank or link. Only the first rank of a
 * node to call writes it. Returns the record's name, or NULL. */
const char *mf_watch_record(const char *why);

/** Ends the job with MF_DEVICE and one error line. The line has @p line, the name of a flight record (NULL: none), and
 * the advice of mf_comm_hint(). Any thread may call. */
void mf_watch_end(const char *line, const char *record) __attribute__((noreturn));

/** Knowledge of a watch that has reached a verdict. */
struct mf_watch_view {
    const struct mf_board *board;
    const struct mf_post *post; /* [size] */
    const struct mf_seen *seen; /* [size] */
    int rank, size;
    double seconds; /* --timeout */
};

/** Text in @p n atomic words, which other threads and processes may read meanwhile; @p text: [8 n]. */
void mf_words_put(_Atomic uint64_t *words, size_t n, const char *text);
void mf_words_get(const _Atomic uint64_t *words, size_t n, char *text);

/** Composes the error line: which rank and host, in which collective, since when, and the state of its process. */
void mf_watch_line(const struct mf_watch_view *view, const struct mf_verdict *verdict, char *text, size_t room);

#endif
