/* The watch: a thread of every rank that looks once a second at what all ranks do. It ends the job when a rank keeps
 * others waiting for too long or is gone. It never calls MPI but to abort: it reads records in memory that the ranks of
 * a node share, and datagrams between the nodes. Inner header of this room. */
#ifndef MF_MPI_WATCH_H
#define MF_MPI_WATCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "mpi/judge.h"

enum { MF_WATCH_WORDS = 6, MF_WATCH_TEXT = 8 * MF_WATCH_WORDS, MF_WATCH_HOST = 64, MF_WATCH_ADDRESSES = 6 };
enum { MF_GROUP_WORDS = 4, MF_GROUP_TEXT = 8 * MF_GROUP_WORDS, MF_GROUPS_MOST = 64 /* that a rank is in at a time */ };
enum { MF_WATCH_SPOKE = 1 << 8 }; /* beside a code: a watch ends the job, not the rank that broke */

/** What a rank is inside of, or was last: a collective of a group, or a message. */
struct mf_doing {
    _Atomic uint64_t count;                 /* beside the name of the collective; 0: none */
    _Atomic uint64_t group;                 /* mf_watch_group.id */
    _Atomic int64_t peer;                   /* see judge.h */
    _Atomic uint64_t name[MF_WATCH_WORDS];  /* of the collective */
    _Atomic uint64_t title[MF_GROUP_WORDS]; /* of the group; "": the world */
};

/** What a rank says of itself; a rank writes its own, all of its node read it. */
struct mf_record {
    _Alignas(64) _Atomic uint64_t place; /* see judge.h */
    _Atomic uint64_t lives;              /* signs of life */
    _Atomic uint64_t looks;              /* of its watch */
    _Atomic uint64_t quiet, stopped;     /* milliseconds, and so of its process: its node's word to other nodes */
    _Atomic uint64_t standings;          /* of standing, up to the last in use */
    struct mf_doing doing;
    struct mf_standing standing[MF_GROUPS_MOST];
};

/** The memory that ranks of one node share; records of ranks on other nodes are copies. Behind them: flight.h. */
struct mf_board {
    _Alignas(64) _Atomic int64_t spoken; /* the code with which somebody ends the job; 0: nobody does */
    _Atomic int64_t wanted;    /* the watch of another node does: a rank of this one writes its flight record */
    struct mf_record record[]; /* [size] */
};

/** What does not change, of every rank; travels as bytes. */
struct mf_post {
    int64_t head;          /* the rank that made the board it looks at */
    int64_t process, born; /* number, and when it began in clock ticks of the machine */
    char host[MF_WATCH_HOST];
    int64_t port;                         /* where the maker of a board hears of others; 0: nowhere */
    uint64_t key;                         /* rank 0's proves that a letter is of this run */
    uint32_t address[MF_WATCH_ADDRESSES]; /* IPv4, in the order of the network; 0: none */
};

/** Starts the watch of a world of several ranks. @p leader: the first rank of this node. Collective. */
void mf_watch_open(const struct mf_comm *comm, int leader);

/** Ends it; from now on this rank is nobody's concern. Not collective. */
void mf_watch_close(void);

/** A group of ranks as the watch knows it: one number on all members, and no other group's. */
struct mf_watch_group {
    uint64_t id;
    char name[MF_GROUP_TEXT];
    int slot; /* of this rank's record; -1: nothing is watched */
};

enum { MF_WATCH_WORLD = 1 /* id */ };

/** A number for a new group whose first member is world rank @p first: called there alone. */
uint64_t mf_watch_new_id(int first);

/** Can this rank be in one group more? */
int mf_watch_has_room(void);

/** This rank is a member from now on, and no more. */
void mf_watch_join(struct mf_watch_group *group);
void mf_watch_part(struct mf_watch_group *group);

/** This rank is inside a collective of the group (@p peer 0), or a message (judge.h); or has left it. They nest. */
void mf_watch_enter(const struct mf_watch_group *group, const char *name, size_t n, int64_t peer);
void mf_watch_leave(void);

/** Number of the group's collective that this rank is in, or has left. */
unsigned long long mf_watch_number(const struct mf_watch_group *group);

/** This rank ends the job, with a line of its own: the watches of the others keep silent. */
void mf_watch_hush(int code);

/** For a rank that ends the job because another or a link is lost, before its line: the flight record (flight.h), by
 * the first of its node. Its name, or NULL. */
const char *mf_watch_record(const char *why);

/** Ends the job with MF_DEVICE and one line: @p line, the name of a flight record (NULL: none), and the next step: what
 * mf_comm_hint() was told, or one that fits all. Any thread. */
void mf_watch_end(const char *line, const char *record) __attribute__((noreturn));

/** What a watch knows when it has judged. */
struct mf_watch_view {
    const struct mf_board *board;
    const struct mf_post *post; /* [size] */
    const struct mf_seen *seen; /* [size] */
    int rank, size;
    double seconds; /* --timeout */
};

/** Text in @p n words that other threads and processes read; @p text: [8 n]. */
void mf_words_put(_Atomic uint64_t *words, size_t n, const char *text);
void mf_words_get(const _Atomic uint64_t *words, size_t n, char *text);

/** The one line that is said: who, where, in which collective, since when, and what the machine says of the process. */
void mf_watch_line(const struct mf_watch_view *view, const struct mf_verdict *verdict, char *text, size_t room);

#endif
