/* See comm.h: start and end of the world. Agreement is in agree.c, reductions and copies in reduce.c.
 *
 * No rank waits for ever. A breakage, an MPI error, and an exit without mf_comm_close() all end in MPI_Abort. A rank
 * that closes takes part in one last agreement. So a rank which still wants to agree finds out. The launcher handles a
 * killed process (mpirun ends the job by itself, srun with --kill-on-bad-exit=1). */
#include "mpi/comm.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/begin.h"
#include "mpi/comm_priv.h"
#include "mpi/launched.h"
#include "mpi/nccl_transport.h"
#include "mpi/wait.h"
#include "mpi/watch.h"
#include "src/base/err.h"

enum { END_SECONDS = 4 };

static struct {
    int open, rank, size;
} running; /* for exit handlers, which get no argument */

static const char *task_here = ""; /* mf_comm_task() */

static atomic_int usable; /* MPI_Init is over and MPI_Finalize has not begun: MPI may be called */

/* An abort can hang when others are in MPI_Finalize or the launcher is gone. So this thread ends the process in any
 * case. */
static void *end_late(void *code)
{
    sleep(END_SECONDS);
    _exit((int)(intptr_t)code);
}

static void abort_all(int code)
{
    pthread_t late;

    if (code == MF_OK) code = MF_BROKEN;
    mf_watch_silence(code);
    if (!atomic_load(&usable)) _exit(code);
    if (pthread_create(&late, NULL, end_late, (void *)(intptr_t)code) != 0) _exit(code);
    mf_transport_abort();
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* A rank that ends between open and close would leave the others waiting. */
static void left_without_closing(void)
{
    if (!running.open || running.size == 1) return;
    running.open = 0;
    mf_die(MF_BROKEN, __FILE__, __LINE__, "rank %d of %d ended without closing the communicator", running.rank,
           running.size);
}

/* With the record that tells scripts of launch to start the job again. */
static _Noreturn void lost(const char *text)
{
    char line[MF_ERR_TEXT];

    snprintf(line, sizeof line, "a rank or a link between ranks is lost: %s", text);
    mf_watch_end(line, mf_watch_record(line));
}

/* MPI's own errors: a wrong argument is our bug, everything else a lost rank or link. */
static void mpi_error(MPI_Comm *comm, int *error, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, class = MPI_ERR_OTHER;

    (void)comm;
    MPI_Error_class(*error, &class);
    MPI_Error_string(*error, text, &length);
    if (class == MPI_ERR_OTHER || class == MPI_ERR_INTERN || class == MPI_ERR_UNKNOWN || class > MPI_ERR_LASTCODE)
        lost(text);
    mf_die(MF_BROKEN, __FILE__, __LINE__, "MPI: %s", text);
}

long mf_comm_strays(const struct mf_comm *comm)
{
    const char *says;
    long tasks = mf_launched_tasks(&says);

    return comm->size == 1 && tasks > 1 ? tasks : 0;
}

static int check_launcher(const struct mf_comm *comm)
{
    const char *says;
    long tasks = mf_launched_tasks(&says);

    if (comm->size > 1 || tasks == 1) return MF_OK;
    return mf_fail(MF_DEVICE,
                   "the launcher started %ld tasks (%s) but MPI sees one rank: launcher and MPI library do not match "
                   "(%s); try: srun --mpi=pmix, or that library's own mpirun",
                   tasks, says, mf_comm_version());
}

/* Local: is what this rank does, and its build, that of rank 0? */
static int check_task(const struct mf_comm *comm, const char *task, const char *first)
{
    if (strcmp(task, first) == 0) return MF_OK;
    return mf_fail(MF_USAGE, "rank %d runs '%.200s', rank 0 '%.200s'", comm->rank, task, first);
}

static int check_build(const struct mf_comm *comm, const char *build, const char *first)
{
    (void)comm;
    if (strcmp(build, first) == 0) return MF_OK;
    return mf_fail(MF_DEVICE, "ranks run different builds: '%.200s' here, '%.200s' on rank 0", build, first);
}

static int compare(const struct mf_comm *comm, const char *text,
                   int (*check)(const struct mf_comm *comm, const char *text, const char *first))
{
    char *first = mf_comm_text(comm, text);
    int rc = mf_agree(comm, check(comm, text, first));

    free(first);
    return rc;
}

/* With the handler of errors of @p from. */
static MPI_Comm copy_of(MPI_Comm from)
{
    MPI_Errhandler handler;
    MPI_Comm copy;

    MPI_Comm_dup(from, &copy);
    MPI_Comm_get_errhandler(from, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Errhandler_free(&handler);
    return copy;
}

/* In a test the ranks of one node stand for several nodes: MF_NODES=2 gives consecutive ranks, 2r alternating ones. */
static int node_of(const struct mf_comm *comm)
{
    const char *hook = getenv("MF_NODES");
    char *end = NULL;
    long nodes = hook ? strtol(hook, &end, 10) : 1;

    if (nodes < 1) nodes = 1;
    if (nodes > comm->size) nodes = comm->size;
    return (int)(end && *end == 'r' ? comm->rank % nodes : comm->rank * nodes / comm->size);
}

void mf_impl_on_node(struct mf_comm *comm)
{
    MPI_Comm_rank(comm->impl->node, &comm->local_rank);
    MPI_Comm_size(comm->impl->node, &comm->local_size);
    comm->impl->leader = comm->rank;
    MPI_Bcast(&comm->impl->leader, 1, MPI_INT, 0, comm->impl->node);
}

void mf_impl_meet_node(struct mf_comm *comm)
{
    MPI_Comm node;

    MPI_Comm_split_type(comm->impl->ranks, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node);
    MPI_Comm_split(node, node_of(comm), comm->rank, &comm->impl->node);
    MPI_Comm_free(&node);
    mf_impl_on_node(comm);
    comm->impl->node_leader = comm->impl->leader;
    comm->impl->node_ranks = comm->local_size;
    mf_wait_open(comm->local_size);
}

struct mf_comm_impl *mf_impl_new(MPI_Comm ranks)
{
    struct mf_comm_impl *impl = MF_MUST(calloc(1, sizeof *impl), "a communicator");
    int size;

    MPI_Comm_size(ranks, &size);
    impl->names = MF_MUST(calloc((size_t)size, sizeof *impl->names), "a communicator");
    impl->ranks = ranks;
    impl->files = copy_of(ranks);
    impl->check = copy_of(ranks);
    return impl;
}

struct mf_comm_impl *mf_impl_world(MPI_Comm ranks)
{
    struct mf_comm_impl *impl;
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(mpi_error, &handler);
    MPI_Comm_set_errhandler(ranks, handler);
    MPI_Errhandler_free(&handler);
    impl = mf_impl_new(ranks);
    impl->group.id = MF_WATCH_WORLD;
    return impl;
}

/* The handler of errors of all that others make of MPI_COMM_WORLD, as HDF5 does, is ours as well. */
static struct mf_comm_impl *world_new(void)
{
    struct mf_comm_impl *impl = mf_impl_world(copy_of(MPI_COMM_WORLD));
    MPI_Errhandler handler;

    MPI_Comm_get_errhandler(impl->ranks, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    return impl;
}

void mf_impl_close(struct mf_comm_impl *impl)
{
    mf_node_reduce_free(impl->node_reduce);
    MPI_Comm_free(&impl->ranks);
    MPI_Comm_free(&impl->files);
    MPI_Comm_free(&impl->check);
    MPI_Comm_free(&impl->node);
}

void mf_impl_free(struct mf_comm_impl *impl)
{
    free(impl->world_rank);
    free(impl->names);
    free(impl->said);
    free(impl);
}

void mf_comm_task(const char *task) { task_here = task; }

int mf_comm_open(struct mf_comm *comm, int *argc, char ***argv, const char *build)
{
    static int registered;
    const char *said = mf_launched_rank(); /* MPI puts words of its own there */
    int provided, launched, rc;

    mf_comm_self(comm);
    rc = mf_launched(&launched);
#ifdef OMPI_MAJOR_VERSION
    if (rc == MF_OK) rc = mf_launched_apart();
#endif
    if (rc != MF_OK && said) comm->rank = (int)strtol(said, NULL, 10); /* one speaks */
    if (rc != MF_OK || !launched) return rc;
    mf_die_hook(abort_all);
    mf_begin_open();
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    atomic_store(&usable, 1);
    memset(comm, 0, sizeof *comm);
    MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
    mf_err_rank(comm->rank);
    running.open = 1;
    running.rank = comm->rank;
    running.size = comm->size;
    if (!registered) atexit(left_without_closing);
    registered = 1;
    comm->impl = world_new();
    mf_impl_meet_node(comm);
    if (comm->size > 1) (void)signal(SIGPIPE, SIG_IGN); /* of a socket to a lost rank: MPI says it, not the signal */
    if (comm->size > 1) mf_watch_open(comm, comm->impl->leader);
    mf_watch_join(&comm->impl->group);
    mf_begin_close();

    rc = mf_agree(comm, check_launcher(comm));
    if (rc == MF_OK && provided < MPI_THREAD_FUNNELED)
        rc = mf_fail(MF_DEVICE, "%s was built without thread support", mf_comm_version());
    if (rc == MF_OK) rc = compare(comm, task_here, check_task);
    if (rc == MF_OK) rc = compare(comm, build ? build : "", check_build);
    if (rc == MF_OK) comm->impl->node_reduce = mf_node_reduce_new(comm);
    if (rc != MF_OK && said && mf_comm_strays(comm) > 0) comm->rank = (int)strtol(said, NULL, 10); /* one speaks */
    return rc;
}

void mf_comm_self(struct mf_comm *comm)
{
    *comm = (struct mf_comm){.rank = 0, .size = 1, .local_rank = 0, .local_size = 1, .impl = NULL};
}

void mf_comm_dry(struct mf_comm *comm, int rank, int size, int local_size)
{
    *comm = (struct mf_comm){
        .rank = rank, .size = size, .local_rank = rank % local_size, .local_size = local_size, .impl = NULL};
}

int mf_comm_stage(const struct mf_comm *comm) { return comm->impl ? node_of(comm) : 0; }

void mf_comm_close(struct mf_comm *comm)
{
    if (!comm->impl) return;
    mf_agree_last(comm);
    mf_watch_enter(&comm->impl->group, "end of MPI", 0, 0);
    mf_impl_close(comm->impl);
    mf_impl_free(comm->impl);
    comm->impl = NULL;
    running.open = 0;
    atomic_store(&usable, 0);
    MPI_Finalize();
    mf_watch_close();
    mf_die_hook(NULL);
}

const char *mf_comm_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING + 1];
    int length = 0;

    if (!text[0]) MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    return text;
}

void *mf_comm_native(const struct mf_comm *comm) { return comm->impl ? &comm->impl->files : NULL; }
