/* A stand-in for libnccl.so.2 where there is no GPU: it moves the emulator's device memory, by MPI, when somebody waits
 * for the stream, and writes down what is called. Declarations are written here anew and not taken from the program: a
 * test that shares a mistake finds none.
 *
 * What it is strict about: a communicator does not block, so its start, its end and every group go on until somebody
 * has asked for their state twice; everything stands in a group, on device memory; the k-th send to a rank meets the
 * k-th receive from it and has as many bytes, or both ranks learn of an error, as of collectives that differ; nothing
 * is called after an error but what ends a communicator. Sums begin behind the owner of a number and are rounded after
 * each rank, as in a ring: their bits are not those of the program's own.
 *
 * Environment: FAKE_NCCL_LOG=PREFIX (calls go to PREFIX.RANK), FAKE_NCCL_VERSION=CODE (22809), and on rank R (without
 * ":R" on all) FAKE_NCCL_FAIL=N[:R] the N-th call fails, FAKE_NCCL_STUCK=N[:R] it never returns, FAKE_NCCL_LATE=N[:R]
 * the N-th group (0: the start) ends in an error that is found later. */
#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

extern "C" {
#include "src/base/half.h"
}
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
    int tag;                           /* the first of its messages' */
    int root;                          /* rank in the world of who made the id */
    std::vector<int> world;            /* ranks in the world, by rank; the root learns them and tells the others */
    std::vector<int> guests;           /* what the root hears: {rank, rank in the world} of each */
    bool told;                         /* the root has told them */
    std::vector<MPI_Request> greeting; /* messages until all have started */
    int asked;                         /* for its state, since something goes on */
    std::function<void()> group;       /* what goes on, but for the start */
    std::atomic<bool> aborted{false};
    std::atomic<int> late{OK};
};

enum kind { SEND, RECEIVE, ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER };
const char *const kind_name[] = {"send", "receive", "all-reduce", "reduce-scatter", "all-gather"};
enum { SIZE_TAG, BACK_TAG, DATA_TAG, GREETING_TAG, TABLE_TAG, KIND_TAG, PART_TAG, TAGS };

struct piece {
    enum kind kind;
    int peer;
    const char *from; /* of what gives */
    char *at;         /* of what gets */
    size_t bytes;     /* that a rank gives */
    int type;
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

/* Until all messages are over. */
void await(communicator *comm, std::vector<MPI_Request> &requests)
{
    int done = comm->size == 1; /* alone, MPI may not have begun */

    for (; !done && !comm->aborted; sched_yield())
        MPI_Testall(int(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
}

/* The k-th send to this rank itself meets the k-th receive. */
void move_own(communicator *comm, const std::vector<piece> &all)
{
    std::vector<const piece *> in, out;

    for (const piece &p : all) {
        if (p.peer != comm->rank) continue;
        if (p.kind == SEND) out.push_back(&p);
        if (p.kind == RECEIVE) in.push_back(&p);
    }
    if (in.size() != out.size()) return spoil(comm, "sends to itself and receives are not as many");
    for (size_t i = 0; i < in.size(); ++i) {
        if (in[i]->bytes != out[i]->bytes) return spoil(comm, "a send to itself and its receive differ");
        memmove(in[i]->at, out[i]->from, in[i]->bytes);
    }
}

/* Each piece is preceded by its size: what does not fit is found on both sides. */
void move_others(communicator *comm, const std::vector<piece> &all)
{
    const size_t n = all.size();
    std::vector<MPI_Request> requests;
    std::vector<unsigned long long> sizes(n), theirs(n);
    std::vector<bool> moves(n);

    requests.reserve(4 * n);
    for (size_t i = 0; i < n; ++i) {
        const piece &p = all[i];

        moves[i] = (p.kind == SEND || p.kind == RECEIVE) && p.peer != comm->rank;
        if (!moves[i]) continue;
        sizes[i] = p.bytes;
        for (int k = 0; k < 2; ++k) requests.push_back(MPI_REQUEST_NULL);
        MPI_Request *size = &requests[requests.size() - 2];

        MPI_Isend(&sizes[i], 1, MPI_UNSIGNED_LONG_LONG, comm->world[p.peer],
                  comm->tag + (p.kind == SEND ? SIZE_TAG : BACK_TAG), MPI_COMM_WORLD, size);
        MPI_Irecv(&theirs[i], 1, MPI_UNSIGNED_LONG_LONG, comm->world[p.peer],
                  comm->tag + (p.kind == SEND ? BACK_TAG : SIZE_TAG), MPI_COMM_WORLD, size + 1);
    }
    await(comm, requests);
    if (comm->aborted) return;
    requests.clear();
    for (size_t i = 0; i < n; ++i) {
        const piece &p = all[i];

        if (!moves[i]) continue;
        if (sizes[i] != theirs[i]) return spoil(comm, "a send and its receive differ");
        requests.push_back(MPI_REQUEST_NULL);
        if (p.kind == SEND)
            MPI_Isend(p.from, int(p.bytes), MPI_BYTE, comm->world[p.peer], comm->tag + DATA_TAG, MPI_COMM_WORLD,
                      &requests.back());
        else
            MPI_Irecv(p.at, int(p.bytes), MPI_BYTE, comm->world[p.peer], comm->tag + DATA_TAG, MPI_COMM_WORLD,
                      &requests.back());
    }
    await(comm, requests);
}

/* -- collectives -- */

/* Sends the same to all others, and gets as much from each. */
void exchange(communicator *comm, int tag, const void *own, size_t bytes, std::vector<std::vector<char>> &theirs)
{
    std::vector<MPI_Request> requests(2 * size_t(comm->size), MPI_REQUEST_NULL);

    theirs.assign(size_t(comm->size), std::vector<char>(bytes));
    for (int r = 0; r < comm->size; ++r) {
        if (r == comm->rank) {
            memcpy(theirs[r].data(), own, bytes);
            continue;
        }
        MPI_Isend(own, int(bytes), MPI_BYTE, comm->world[r], comm->tag + tag, MPI_COMM_WORLD, &requests[2 * r]);
        MPI_Irecv(theirs[r].data(), int(bytes), MPI_BYTE, comm->world[r], comm->tag + tag, MPI_COMM_WORLD,
                  &requests[2 * r + 1]);
    }
    await(comm, requests);
}

enum { HALF = 6, FLOAT = 7, BFLOAT = 9 };

size_t width_of(int type) { return type == FLOAT ? 4 : type == HALF || type == BFLOAT ? 2 : 1; }

float number_at(int type, const char *at)
{
    float value;
    uint16_t half;

    memcpy(type == FLOAT ? static_cast<void *>(&value) : &half, at, width_of(type));
    return type == FLOAT ? value : type == HALF ? mf_f16_to(half) : mf_bf16_to(half);
}

void put_number(int type, char *at, float value)
{
    const uint16_t half = type == HALF ? mf_f16_of(value) : mf_bf16_of(value);

    memcpy(at, type == FLOAT ? static_cast<const void *>(&value) : &half, width_of(type));
}

void sum(const communicator *comm, int type, const std::vector<std::vector<char>> &all, size_t first, size_t bytes,
         char *to)
{
    const size_t width = width_of(type), ranks = size_t(comm->size), each = (all[0].size() / width + ranks - 1) / ranks;

    for (size_t at = first; at < first + bytes; at += width) {
        const size_t owner = at / width / each;

        memcpy(to + (at - first), all[(owner + 1) % ranks].data() + at, width);
        for (size_t k = 2; k <= ranks; ++k)
            put_number(type, to + (at - first),
                       number_at(type, to + (at - first)) + number_at(type, all[(owner + k) % ranks].data() + at));
    }
}

void collect(communicator *comm, const piece &p)
{
    const unsigned long long own[3] = {p.kind, p.bytes, (unsigned long long)p.type};
    std::vector<std::vector<char>> all;

    exchange(comm, KIND_TAG, own, sizeof own, all);
    for (const std::vector<char> &other : all)
        if (!comm->aborted && memcmp(other.data(), own, sizeof own) != 0) return spoil(comm, "collectives differ");
    if (comm->aborted) return;
    exchange(comm, PART_TAG, p.from, p.bytes, all);
    if (comm->aborted) return;
    if (p.kind == ALL_REDUCE) sum(comm, p.type, all, 0, p.bytes, p.at);
    if (p.kind == REDUCE_SCATTER) {
        const size_t each = p.bytes / size_t(comm->size);

        sum(comm, p.type, all, each * size_t(comm->rank), each, p.at);
    }
    for (size_t r = 0; p.kind == ALL_GATHER && r < all.size(); ++r) memcpy(p.at + r * p.bytes, all[r].data(), p.bytes);
}

void move(communicator *comm, const std::vector<piece> &all, int number)
{
    if (is_time("FAKE_NCCL_LATE", number)) {
        failed = 1;
        spoil(comm, "as it was asked for");
        return;
    }
    move_own(comm, all);
    if (comm->size > 1) move_others(comm, all);
    for (const piece &p : all)
        if (p.kind >= ALL_REDUCE && !comm->aborted && comm->late == OK) collect(comm, p);
    if (!comm->aborted && comm->late == OK) note("moved %d\n", number);
}

/* The runtime checks that it is device memory. */
bool on_device(const void *at, size_t bytes, cudaStream_t stream)
{
    char *same = static_cast<char *>(const_cast<void *>(at));

    return cudaMemcpyAsync(same, same, bytes, cudaMemcpyDeviceToDevice, stream) == cudaSuccess;
}

/* @p gives, @p gets: bytes of from and at. */
int put(const char *name, const piece &p, size_t gives, size_t gets)
{
    const int rc = call(name);

    if (rc != OK) return rc;
    if (p.kind <= RECEIVE)
        note("%s %d %zu\n", kind_name[p.kind], p.peer, p.bytes);
    else
        note("%s %zu of %d\n", kind_name[p.kind], p.bytes, p.type);
    if (depth == 0) note("outside of a group\n");
    if (p.comm->group) note("while something goes on\n");
    if (p.peer < 0 || p.peer >= p.comm->size || gives + gets == 0) return ARGUMENT;
    if (gives && !on_device(p.from, gives, p.stream)) return ARGUMENT;
    if (gets && !on_device(p.at, gets, p.stream)) return ARGUMENT;
    group.push_back(p);
    return OK;
}

int put_sum(const char *name, piece p, int op, size_t gets)
{
    if (op != 0 || width_of(p.type) == 1) return ARGUMENT;
    return put(name, p, p.bytes, gets);
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

    static int serial;
    const int maker[2] = {rank(), serial++};

    for (size_t i = 0; i < sizeof id->text; ++i) id->text[i] = char(i);
    memcpy(id->text, maker, sizeof maker);
    return rc;
}

/* Everybody tells the root who it is, and gets the list of all. The program's own messages are on copies of the world.
 */
static void greet(communicator *comm)
{
    const size_t size = size_t(comm->size);

    comm->world.assign(size, rank());
    comm->guests.assign(2 * size, 0);
    if (size == 1) return;
    if (rank() == comm->root) {
        comm->guests[0] = comm->rank;
        comm->guests[1] = rank();
        comm->greeting.assign(size - 1, MPI_REQUEST_NULL);
        for (size_t i = 1; i < size; ++i)
            MPI_Irecv(&comm->guests[2 * i], 2, MPI_INT, MPI_ANY_SOURCE, comm->tag + GREETING_TAG, MPI_COMM_WORLD,
                      &comm->greeting[i - 1]);
        return;
    }
    comm->told = true;
    comm->guests[0] = comm->rank;
    comm->guests[1] = rank();
    comm->greeting.assign(2, MPI_REQUEST_NULL);
    MPI_Isend(comm->guests.data(), 2, MPI_INT, comm->root, comm->tag + GREETING_TAG, MPI_COMM_WORLD,
              &comm->greeting[0]);
    MPI_Irecv(comm->world.data(), comm->size, MPI_INT, comm->root, comm->tag + TABLE_TAG, MPI_COMM_WORLD,
              &comm->greeting[1]);
}

/* The root knows all, and tells them. */
static void tell(communicator *comm)
{
    comm->told = true;
    for (size_t i = 0; i < comm->world.size(); ++i) comm->world[size_t(comm->guests[2 * i])] = comm->guests[2 * i + 1];
    comm->greeting.clear();
    for (int r : comm->world) {
        if (r == comm->root) continue;
        comm->greeting.push_back(MPI_REQUEST_NULL);
        MPI_Isend(comm->world.data(), comm->size, MPI_INT, r, comm->tag + TABLE_TAG, MPI_COMM_WORLD,
                  &comm->greeting.back());
    }
}

EXPORT int ncclCommInitRankConfig(communicator **comm, int size, unique id, int rank, config *how)
{
    const int rc = call("ncclCommInitRankConfig");

    if (rc != OK) return rc;
    if (how->size < sizeof *how || how->magic != 0xcafebeef || how->version < 21400 || how->blocking != 0)
        return ARGUMENT;
    int maker[2];

    memcpy(maker, id.text, sizeof maker);
    for (size_t i = sizeof maker; i < sizeof id.text; ++i)
        if (id.text[i] != char(i)) return ARGUMENT;
    *comm = new communicator();
    (*comm)->rank = rank;
    (*comm)->size = size;
    (*comm)->root = maker[0];
    (*comm)->tag = TAGS * (64 * maker[1] + maker[0]);
    greet(*comm);
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
    if (all && !comm->told) {
        if (comm->size > 1) tell(comm);
        comm->told = true;
        all = 0;
    }
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
    if (type > 1) return ARGUMENT;
    return put("ncclSend", {SEND, peer, static_cast<const char *>(at), nullptr, n, type, comm, stream}, n, 0);
}

EXPORT int ncclRecv(void *at, size_t n, int type, int peer, communicator *comm, cudaStream_t stream)
{
    if (type > 1) return ARGUMENT;
    return put("ncclRecv", {RECEIVE, peer, nullptr, static_cast<char *>(at), n, type, comm, stream}, 0, n);
}

EXPORT int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, communicator *comm,
                         cudaStream_t stream)
{
    const size_t bytes = n * width_of(type);

    return put_sum("ncclAllReduce",
                   {ALL_REDUCE, 0, static_cast<const char *>(from), static_cast<char *>(to), bytes, type, comm, stream},
                   op, bytes);
}

EXPORT int ncclReduceScatter(const void *from, void *to, size_t each, int type, int op, communicator *comm,
                             cudaStream_t stream)
{
    const size_t bytes = each * width_of(type);

    return put_sum("ncclReduceScatter",
                   {REDUCE_SCATTER, 0, static_cast<const char *>(from), static_cast<char *>(to),
                    bytes * size_t(comm->size), type, comm, stream},
                   op, bytes);
}

EXPORT int ncclAllGather(const void *from, void *to, size_t each, int type, communicator *comm, cudaStream_t stream)
{
    const size_t bytes = each * width_of(type);

    return put("ncclAllGather",
               {ALL_GATHER, 0, static_cast<const char *>(from), static_cast<char *>(to), bytes, type, comm, stream},
               bytes, bytes * size_t(comm->size));
}
