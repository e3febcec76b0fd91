/* A stand-in for libnccl.so.2 where there is no GPU: it moves the emulator's device memory, by MPI, when somebody waits
 * for the stream, and writes down what is called. Declarations are written here anew and not taken from the program: a
 * test that shares a mistake finds none.
 *
 * What it is strict about: a communicator does not block, so its start, its end and every group go on until somebody
 * has asked for their state twice; sends and receives stand in a group, on device memory; the k-th send to a rank meets
 * the k-th receive from it and has as many bytes, or both ranks learn of an error; nothing is called after an error but
 * what ends a communicator.
 *
 * Environment: FAKE_NCCL_LOG=PREFIX (calls go to PREFIX.RANK), FAKE_NCCL_VERSION=CODE (22809), and on rank R (without
 * ":R" on all) FAKE_NCCL_FAIL=N[:R] the N-th call fails, FAKE_NCCL_STUCK=N[:R] it never returns, FAKE_NCCL_LATE=N[:R]
 * the N-th group (0: the start) ends in an error that is found later. */
#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/emu/cuda_runtime.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum { OK = 0, SYSTEM = 2, ARGUMENT = 4, USAGE = 5, REMOTE = 6, GOES_ON = 7 };

struct unique {
    char text[128];
};

struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

namespace
{

struct communicator {
    int rank, size;
    bool launched;                     /* by MPI */
    std::vector<MPI_Request> greeting; /* of the other ranks, until all have started */
    int asked;                         /* for its state, since something goes on */
    std::function<void()> group;       /* what goes on, but for the start */
    std::atomic<bool> aborted{false};
    std::atomic<int> late{OK};
};

struct piece {
    bool send;
    int peer;
    char *at;
    size_t bytes;
    communicator *comm;
    cudaStream_t stream;
};

std::vector<piece> group;
int depth, calls, groups, failed;
FILE *notes;

bool launched()
{
    int yes = 0;

    MPI_Initialized(&yes);
    return yes;
}

int rank()
{
    int r = 0;

    if (launched()) MPI_Comm_rank(MPI_COMM_WORLD, &r);
    return r;
}

void note(const char *format, ...)
{
    const char *prefix = getenv("FAKE_NCCL_LOG");
    va_list args;
    char path[4096];

    if (!prefix) return;
    if (!notes) {
        snprintf(path, sizeof path, "%s.%d", prefix, rank());
        notes = fopen(path, "w");
        if (!notes) abort();
        setvbuf(notes, nullptr, _IOLBF, 0);
    }
    va_start(args, format);
    vfprintf(notes, format, args);
    va_end(args);
}

/* Is this number @p n of "N[:R]"? */
bool is_time(const char *name, int n)
{
    const char *text = getenv(name);
    int when = 0, where = rank();

    if (!text || sscanf(text, "%d:%d", &when, &where) < 1) return false;
    return n == when && where == rank();
}

int call(const char *name)
{
    ++calls;
    if (failed) note("called after an error\n");
    if (is_time("FAKE_NCCL_STUCK", calls)) {
        note("stuck %s\n", name);
        for (;;) pause();
    }
    if (!is_time("FAKE_NCCL_FAIL", calls)) return OK;
    failed = 1;
    note("fails %s\n", name);
    return SYSTEM;
}

/* -- moving -- */

void spoil(communicator *comm, const char *why)
{
    note("error: %s\n", why);
    comm->late = REMOTE;
}

/* The k-th send to this rank itself meets the k-th receive. */
void move_own(communicator *comm, const std::vector<piece> &all)
{
    std::vector<const piece *> in, out;

    for (const piece &p : all)
        if (p.peer == comm->rank) (p.send ? out : in).push_back(&p);
    if (in.size() != out.size()) return spoil(comm, "sends to itself and receives are not as many");
    for (size_t i = 0; i < in.size(); ++i) {
        if (in[i]->bytes != out[i]->bytes) return spoil(comm, "a send to itself and its receive differ");
        memmove(in[i]->at, out[i]->at, in[i]->bytes);
    }
}

/* Each piece is preceded by its size: what does not fit is found on both sides. */
void move_others(communicator *comm, const std::vector<piece> &all)
{
    const size_t n = all.size();
    std::vector<MPI_Request> requests;
    std::vector<unsigned long long> sizes(n), theirs(n);
    int done = 0;

    requests.reserve(4 * n);
    for (size_t i = 0; i < n; ++i) {
        const piece &p = all[i];

        if (p.peer == comm->rank) continue;
        sizes[i] = p.bytes;
        for (int k = 0; k < 2; ++k) requests.push_back(MPI_REQUEST_NULL);
        MPI_Request *size = &requests[requests.size() - 2];

        MPI_Isend(&sizes[i], 1, MPI_UNSIGNED_LONG_LONG, p.peer, p.send ? 1 : 2, MPI_COMM_WORLD, size);
        MPI_Irecv(&theirs[i], 1, MPI_UNSIGNED_LONG_LONG, p.peer, p.send ? 2 : 1, MPI_COMM_WORLD, size + 1);
    }
    while (!done && !comm->aborted) MPI_Testall(int(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (comm->aborted) return;
    requests.clear();
    for (size_t i = 0; i < n; ++i) {
        const piece &p = all[i];

        if (p.peer == comm->rank) continue;
        if (sizes[i] != theirs[i]) return spoil(comm, "a send and its receive differ");
        requests.push_back(MPI_REQUEST_NULL);
        if (p.send)
            MPI_Isend(p.at, int(p.bytes), MPI_BYTE, p.peer, 3, MPI_COMM_WORLD, &requests.back());
        else
            MPI_Irecv(p.at, int(p.bytes), MPI_BYTE, p.peer, 3, MPI_COMM_WORLD, &requests.back());
    }
    done = 0;
    while (!done && !comm->aborted) MPI_Testall(int(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
}

void move(communicator *comm, const std::vector<piece> &all, int number)
{
    if (is_time("FAKE_NCCL_LATE", number)) {
        failed = 1;
        spoil(comm, "as it was asked for");
        return;
    }
    move_own(comm, all);
    if (comm->launched) move_others(comm, all);
    if (!comm->aborted && comm->late == OK) note("moved %d\n", number);
}

int put(bool send, void *at, size_t n, int type, int peer, communicator *comm, cudaStream_t stream)
{
    const int rc = call(send ? "ncclSend" : "ncclRecv");

    if (rc != OK) return rc;
    note("%s %d %zu\n", send ? "send" : "receive", peer, n);
    if (depth == 0) note("outside of a group\n");
    if (comm->group) note("while something goes on\n");
    if (type > 1 || peer < 0 || peer >= comm->size || n == 0) return ARGUMENT;
    /* The runtime checks that it is device memory. */
    if (cudaMemcpyAsync(at, at, n, cudaMemcpyDeviceToDevice, stream) != cudaSuccess) return ARGUMENT;
    group.push_back({send, peer, static_cast<char *>(at), n, comm, stream});
    return OK;
}

} // namespace

EXPORT int ncclGetVersion(int *code)
{
    const char *text = getenv("FAKE_NCCL_VERSION");

    *code = text ? atoi(text) : 22809;
    return OK;
}

EXPORT const char *ncclGetErrorString(int rc)
{
    switch (rc) {
    case OK: return "no error";
    case SYSTEM: return "unhandled system error";
    case ARGUMENT: return "invalid argument";
    case USAGE: return "invalid usage";
    default: return "remote process exited or there was a network error";
    }
}

EXPORT const char *ncclGetLastError(communicator *) { return failed ? "asked to fail" : ""; }

EXPORT int ncclGetUniqueId(unique *id)
{
    const int rc = call("ncclGetUniqueId");

    for (size_t i = 0; i < sizeof id->text; ++i) id->text[i] = char(i);
    return rc;
}

/* The program's own messages are on copies of the world. */
static void greet(communicator *comm)
{
    for (int r = 0; r < comm->size; ++r) {
        if (r == comm->rank) continue;
        for (int k = 0; k < 2; ++k) comm->greeting.push_back(MPI_REQUEST_NULL);
        MPI_Request *last = &comm->greeting[comm->greeting.size() - 2];

        MPI_Isend(nullptr, 0, MPI_BYTE, r, 4, MPI_COMM_WORLD, last);
        MPI_Irecv(nullptr, 0, MPI_BYTE, r, 4, MPI_COMM_WORLD, last + 1);
    }
}

EXPORT int ncclCommInitRankConfig(communicator **comm, int size, unique id, int rank, config *how)
{
    const int rc = call("ncclCommInitRankConfig");

    if (rc != OK) return rc;
    if (how->size < sizeof *how || how->magic != 0xcafebeef || how->version < 21400 || how->blocking != 0)
        return ARGUMENT;
    for (size_t i = 0; i < sizeof id.text; ++i)
        if (id.text[i] != char(i)) return ARGUMENT;
    *comm = new communicator();
    (*comm)->rank = rank;
    (*comm)->size = size;
    (*comm)->launched = launched();
    if ((*comm)->launched) greet(*comm);
    if (is_time("FAKE_NCCL_LATE", 0)) {
        failed = 1;
        spoil(*comm, "as it was asked for");
    }
    (*comm)->group = [=]() { note("init %d of %d\n", rank, size); };
    return GOES_ON;
}

EXPORT int ncclCommFinalize(communicator *comm)
{
    comm->group = []() { note("finish\n"); };
    return GOES_ON;
}

EXPORT int ncclCommDestroy(communicator *comm)
{
    note(comm->group ? "destroyed while something goes on\n" : "destroy\n");
    delete comm;
    return OK;
}

/* Another thread may be moving: the memory stays. */
EXPORT int ncclCommAbort(communicator *comm)
{
    note("abort\n");
    comm->aborted = true;
    return OK;
}

/* What goes on does so until somebody has asked twice, and a start until all ranks are there. */
EXPORT int ncclCommGetAsyncError(communicator *comm, int *rc)
{
    int all = 1;

    *rc = comm->late;
    if (*rc != OK || !comm->group) return OK;
    *rc = GOES_ON;
    if (!comm->greeting.empty())
        MPI_Testall(int(comm->greeting.size()), comm->greeting.data(), &all, MPI_STATUSES_IGNORE);
    if (!all || comm->asked++ == 0) return OK;
    *rc = OK;
    comm->asked = 0;
    comm->greeting.clear();
    comm->group();
    comm->group = nullptr;
    return OK;
}

EXPORT int ncclGroupStart()
{
    const int rc = call("ncclGroupStart");

    if (rc == OK) ++depth;
    if (rc == OK) note("group\n");
    return rc;
}

EXPORT int ncclGroupEnd()
{
    const int rc = call("ncclGroupEnd");

    if (rc != OK) return rc;
    if (--depth > 0) return OK;
    note("end\n");
    ++groups;
    if (group.empty()) return OK;
    const std::vector<piece> all = group;
    const int number = groups;

    group.clear();
    all[0].comm->group = [=]() { mf_emu_enqueue(all[0].stream, [=]() { move(all[0].comm, all, number); }); };
    return GOES_ON;
}

EXPORT int ncclSend(const void *at, size_t n, int type, int peer, communicator *comm, cudaStream_t stream)
{
    return put(true, const_cast<void *>(at), n, type, peer, comm, stream);
}

EXPORT int ncclRecv(void *at, size_t n, int type, int peer, communicator *comm, cudaStream_t stream)
{
    return put(false, at, n, type, peer, comm, stream);
}
