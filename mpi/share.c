/* See share.h. Every rank makes an anonymous file in memory and the others open it through /proc: unlike /dev/shm
 * (64 MB in many containers) it has no limit but memory itself, it needs no name, and nothing is left behind when a
 * process dies. Device and inode numbers prove that the file opened is the one meant. */
#include "mpi/share.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "src/base/phase.h"
#include "src/base/resident.h"

static char *map(int file, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Own memory; its pages are touched here, so they lie near this rank's cores. */
struct mf_card mf_card_new(size_t bytes, char **own)
{
    struct mf_card none = {.descriptor = -1};
    struct stat is;
    int file;

    *own = NULL;
    file = memfd_create("mesoforge", MFD_CLOEXEC);
    if (file < 0) return none;
    if (ftruncate(file, (off_t)bytes) == 0 && fstat(file, &is) == 0) *own = map(file, bytes);
    if (*own) return (struct mf_card){getpid(), file, (int64_t)is.st_dev, (int64_t)is.st_ino, (int64_t)bytes};
    close(file);
    return none;
}

char *mf_card_open(const struct mf_card *card)
{
    char name[64], *at = NULL;
    struct stat is;
    int file;

    if (card->descriptor < 0) return NULL;
    snprintf(name, sizeof name, "/proc/%lld/fd/%lld", (long long)card->process, (long long)card->descriptor);
    file = open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    if (fstat(file, &is) == 0 && (int64_t)is.st_dev == card->device && (int64_t)is.st_ino == card->inode)
        at = map(file, (size_t)card->bytes);
    close(file);
    return at;
}

static struct mf_share *half_built(int size)
{
    struct mf_share *s = calloc(1, sizeof *s);

    if (s) s->at = calloc((size_t)size, sizeof *s->at);
    if (s) s->bytes = calloc((size_t)size, sizeof *s->bytes);
    if (!s || !s->at || !s->bytes) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", size);
    s->size = size;
    return s;
}

/* Who has it, and on which node: by the first rank there. Travels as 64-bit integers. */
struct seat {
    struct mf_card card;
    int64_t leader;
};

enum { SEAT_WORDS = sizeof(struct seat) / sizeof(int64_t) };

/* What of it other ranks of this node have made. */
static size_t others(struct mf_share *s, const struct mf_comm *comm, const struct seat *seats)
{
    for (int r = 0; r < s->size; ++r)
        if (r != comm->rank && seats[r].leader == comm->impl->leader && seats[r].card.descriptor >= 0)
            s->borrowed += (size_t)seats[r].card.bytes;
    return s->borrowed;
}

/* Opens the memory of all of this node; 0 when one cannot be opened. */
static int open_all(struct mf_share *s, const struct mf_comm *comm, const struct seat *seats)
{
    int all = 1;

    mf_resident_borrow((ptrdiff_t)others(s, comm, seats));
    for (int r = 0; r < s->size; ++r) {
        if (seats[r].leader != comm->impl->leader) continue;
        s->bytes[r] = (size_t)seats[r].card.bytes;
        s->at[r] = r == comm->rank ? s->own : mf_card_open(&seats[r].card);
        all = all && s->at[r];
    }
    return all;
}

int mf_share_wanted(const struct mf_comm *comm)
{
    const char *hook = getenv("MF_SHARE");

    return comm->size > 1 && !(hook && strcmp(hook, "0") == 0);
}

void mf_share_new(const struct mf_comm *comm, size_t bytes, struct mf_share **share)
{
    struct mf_share *s;
    struct seat mine = {.card.descriptor = -1}, *seats;
    int all;

    *share = NULL;
    if (!comm->impl) return;
    mf_comm_enter(comm, "share memory", 0);
    s = half_built(comm->size);
    seats = calloc((size_t)comm->size, sizeof *seats);
    if (!seats) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    if (mf_share_wanted(comm) && !mf_fault("mpi.share")) mine.card = mf_card_new(bytes ? bytes : 1, &s->own);
    mine.leader = comm->impl->leader;
    MPI_Allgather(&mine, SEAT_WORDS, MPI_INT64_T, seats, SEAT_WORDS, MPI_INT64_T, comm->impl->world);
    all = open_all(s, comm, seats);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm->impl->world);
    mf_comm_leave(comm);
    if (mine.card.descriptor >= 0) close((int)mine.card.descriptor); /* everybody has opened it, or never will */
    free(seats);
    if (all) {
        *share = s;
    } else {
        mf_share_free(s);
    }
}

void mf_share_free(struct mf_share *share)
{
    if (!share) return;
    for (int r = 0; r < share->size; ++r)
        if (share->at[r]) munmap(share->at[r], share->bytes[r]);
    mf_resident_borrow(-(ptrdiff_t)share->borrowed);
    free(share->at);
    free(share->bytes);
    free(share);
}

void mf_share_meet(const struct mf_comm *comm)
{
    MF_PHASE(MF_PHASE_WAITING);

    mf_comm_enter(comm, "meet", 0);
    atomic_thread_fence(memory_order_seq_cst);
    if (comm->impl->near)
        mf_near_meet(comm->impl->near);
    else
        MPI_Barrier(comm->impl->node);
    atomic_thread_fence(memory_order_seq_cst);
    mf_comm_leave(comm);
}
