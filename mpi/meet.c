/* See meet.h. A rank tells all others that it is here. Once it has heard that of all, it says that it goes on. It does
 * so once all have said it. Until then a host may stop its rank, which says so. Everybody who hears it says it, too,
 * and leaves this meeting. So no rank hears of the next meeting while it is in this one, however slow words of others
 * are. The next meeting skips words of earlier ones. */
#include "mpi/meet.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/pulse.h"

enum { TAG = 1, SOON = 1000, NAP = 200000 }; /* turns before a rank sleeps; [ns] of each sleep */
enum { HERE, GO, STOP, LOST, WORDS };        /* what a rank says */

struct meeting {
    const struct mf_comm *comm;
    double end;       /* mf_now() when this session is lost; 0: never */
    int heard[WORDS]; /* by how many ranks it was said */
    int who;          /* whose was the last word */
};

/* At most MF_MEET_WORDS in a meeting: the first @p part 0, then 1, 2. Others pass on the word of rank @p who. */
static void say(const struct mf_comm *comm, int part, int what, int who)
{
    struct mf_comm_impl *impl = comm->impl;
    int *word = impl->word[part];

    word[0] = impl->meetings;
    word[1] = what;
    word[2] = who;
    for (int r = 0; r < comm->size; ++r)
        if (r != comm->rank) MPI_Isend(word, 3, MPI_INT, r, TAG, impl->check, &impl->said[part * comm->size + r]);
}

static int hear(struct meeting *m)
{
    MPI_Comm check = m->comm->impl->check;
    MPI_Status from;
    int is, word[3];

    MPI_Iprobe(MPI_ANY_SOURCE, TAG, check, &is, &from);
    if (!is) return 0;
    MPI_Recv(word, 3, MPI_INT, from.MPI_SOURCE, TAG, check, MPI_STATUS_IGNORE);
    if (word[0] != m->comm->impl->meetings) return 1;
    ++m->heard[word[1]];
    m->who = word[2];
    return 1;
}

/* Until all others have said @p what. Returns that, or why this meeting ends. Their host may compute meanwhile: a rank
 * soon sleeps. */
static int wait_for(struct meeting *m, int what)
{
    for (int turn = 0; m->heard[what] < m->comm->size - 1;) {
        if (m->heard[LOST]) return LOST;
        if (m->heard[STOP]) return STOP;
        if (hear(m) || ++turn < SOON) continue;
        if (what == GO)
            mf_pulse_tell("waiting for other ranks");
        else if (mf_pulse("waiting for other ranks") != MF_OK)
            return STOP;
        if (m->end > 0 && mf_now() > m->end) return LOST;
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
    }
    return what;
}

/* Who goes on does not leave by itself any more: all are here, so the others soon say what they do. */
static int meet(struct meeting *m)
{
    int found;

    say(m->comm, 0, HERE, m->comm->rank);
    found = wait_for(m, HERE);
    if (found == HERE) {
        say(m->comm, 1, GO, m->comm->rank);
        found = wait_for(m, GO);
    }
    if (found != GO) say(m->comm, 2, found, m->heard[STOP] ? m->who : m->comm->rank);
    return found;
}

/* Collective. */
static int compare(const struct mf_comm *comm, const char *call)
{
    char *first = mf_comm_text(comm, call);
    int rc = MF_OK;

    if (strcmp(call, first) != 0)
        rc = mf_fail(MF_USAGE, "rank %d calls '%.200s', and rank 0 calls '%.200s'", comm->rank, call, first);
    free(first);
    return mf_agree(comm, rc);
}

void mf_meet_end(const struct mf_comm *comm)
{
    struct mf_comm_impl *impl = comm->impl;
    int all;

    if (!impl->said) return;
    if (impl->lost)
        MPI_Testall(MF_MEET_WORDS * comm->size, impl->said, &all, MPI_STATUSES_IGNORE);
    else
        MPI_Waitall(MF_MEET_WORDS * comm->size, impl->said, MPI_STATUSES_IGNORE);
}

/* Words of the last meeting stay as they are until they are sent. */
static int begin(struct meeting *m)
{
    struct mf_comm_impl *impl = m->comm->impl;
    const int n = MF_MEET_WORDS * m->comm->size;

    if (!impl->said) {
        impl->said = MF_MUST(malloc((size_t)n * sizeof *impl->said), "a meeting");
        for (int i = 0; i < n; ++i) impl->said[i] = MPI_REQUEST_NULL;
    }
    for (int sent = 0; !sent;) {
        MPI_Testall(n, impl->said, &sent, MPI_STATUSES_IGNORE);
        if (!sent) MF_TRY(mf_pulse("waiting for other ranks"));
    }
    ++impl->meetings;
    return MF_OK;
}

int mf_meet(const struct mf_comm *comm, const char *call, double seconds)
{
    struct meeting m = {.comm = comm, .end = seconds > 0 ? mf_now() + seconds : 0};
    int found = LOST;

    if (!comm->impl->lost) {
        MF_TRY(begin(&m));
        found = meet(&m);
    }
    if (found == GO) return compare(comm, call);
    if (found == STOP)
        return m.heard[STOP] ? mf_fail(MF_STOPPED, "stopped, as rank %d was asked to", m.who) : MF_STOPPED;
    comm->impl->lost = 1;
    return mf_fail(MF_DEVICE,
                   "not all ranks called '%.200s' within %g s, so this session is lost; try: timeout=0 waits for ever",
                   call, seconds);
}
