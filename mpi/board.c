/* See board.h. */
#include "mpi/board.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/card.h"
#include "mpi/comm_priv.h"
#include "mpi/heartbeat.h"
#include "src/base/err.h"

enum { BORN = 22, END = 52 }; /* fields of /proc/N/stat */

/* Bytes for all ranks of the job. A shared board populates all of its pages at once (MAP_POPULATE). Pages of ranks on
 * other nodes stay empty. A rank's own board populates only pages that are written. */
static size_t board_bytes(int size)
{
    return sizeof(struct mf_board) + (size_t)size * (sizeof(struct mf_record) + sizeof(struct mf_flight));
}

struct mf_flight *mf_board_flight(const struct mf_board *board, int size, int rank)
{
    return (struct mf_flight *)(uintptr_t)(board->record + size) + rank;
}

/* For a rank that shares with nobody (its forked readers of files still do). */
static struct mf_board *own_board(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %zu bytes", bytes);
    return at;
}

static struct mf_post own_post(int head, int is_head)
{
    struct mf_post post = {.head = head, .process = getpid()};

    post.born = mf_process_look(post.process).born;
    if (gethostname(post.host, sizeof post.host - 1) != 0) strcpy(post.host, "?");
    if (is_head) mf_heartbeat_open(&post);
    return post;
}

/* The leader's memory as this rank sees it; NULL where it does not. */
static char *open_leader(const struct mf_comm *comm, int leader, struct mf_card *mine, size_t bytes)
{
    struct mf_card *cards = calloc((size_t)comm->size, sizeof *cards);
    const char *hook = getenv("MF_SHARE");
    char *at = NULL;

    if (!cards) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    if (hook && strcmp(hook, "0") == 0) leader = -1;
    if (comm->rank == leader) *mine = mf_card_new(bytes, &at);
    MPI_Allgather(mine, MF_CARD_WORDS, MPI_INT64_T, cards, MF_CARD_WORDS, MPI_INT64_T, comm->impl->ranks);
    if (leader >= 0 && comm->rank != leader) at = mf_card_open(&cards[leader]);
    free(cards);
    return at;
}

struct mf_board *mf_board_open(const struct mf_comm *comm, int leader, struct mf_post *post)
{
    struct mf_card mine = {.descriptor = -1};
    size_t bytes = board_bytes(comm->size);
    char *at = open_leader(comm, leader, &mine, bytes);
    struct mf_post own = own_post(at ? leader : comm->rank, !at || comm->rank == leader);

    if (!at) at = (char *)own_board(bytes);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, post, sizeof own, MPI_BYTE, comm->impl->ranks);
    if (mine.descriptor >= 0) close((int)mine.descriptor); /* who could has opened it */
    return (struct mf_board *)at;
}

void mf_board_close(struct mf_board *board, int size) { munmap(board, board_bytes(size)); }

/* Field @p n (counted from 1) of a line of /proc/N/stat. The text @p at is its part after the name, from field 3 on. */
static int64_t field(const char *at, int n)
{
    for (int i = 3; at && i < n; ++i) {
        at = strchr(at, ' ');
        if (at) ++at;
    }
    return at ? strtoll(at, NULL, 10) : 0;
}

struct mf_process mf_process_look(int64_t process)
{
    struct mf_process p = {0, 0, 0};
    char path[64], text[1024], *at = NULL;
    size_t n = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", process);
    file = fopen(path, "re");
    if (!file) return p;
    n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    at = strrchr(text, ')');
    if (!at || at[1] != ' ') return p;
    p.born = field(at + 2, BORN);
    p.state = at[2];
    p.end = (int)field(at + 2, END);
    return p;
}

int mf_process_gone(const struct mf_post *post)
{
    struct mf_process now;

    if (kill((pid_t)post->process, 0) != 0) return errno == ESRCH;
    now = mf_process_look(post->process);
    return now.state == 'Z' || now.state == 'X' || (now.born && post->born && now.born != post->born);
}
