/* Sessions on a communicator of the host: the ranks of it get the numbers that one alone has. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define MESOFORGE_WITH_MPI
#include "include/mesoforge.h"
#include "tests/check.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { N = 20, SESSIONS = 20 };

static uint8_t volume[N][N][N];

static mesoforge_result *measure(mesoforge_session *session, mesoforge_field **lent, const char *options)
{
    const struct mesoforge_array array = {
        .type = "u1", .ndim = 3, .shape = {N, N, N}, .stride = {N * N, N, 1}, .data = volume};
    mesoforge_field *field;
    mesoforge_result *result = NULL;

    CHECK(mesoforge_field_array(session, "volume", &array, &field) == MESOFORGE_OK);
    if (lent) *lent = field;
    CHECK_SAYS(mesoforge_characterize(session, field, options, &result) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    return result;
}

/* Level 0 is counted: equal bits. */
static void compare(const mesoforge_result *a, const mesoforge_result *b)
{
    struct mesoforge_array one, other;
    size_t i = 0;

    for (; mesoforge_result_array(a, i, &one); ++i) {
        size_t count = 1;

        CHECK(mesoforge_result_array(b, i, &other));
        for (int k = 0; k < one.ndim; ++k) count *= one.shape[k];
        CHECK_SAYS(memcmp(one.data, other.data, count * sizeof(double)) == 0, "%s", one.name);
    }
    CHECK(i > 0);
}

static void many(MPI_Comm comm)
{
    for (int i = 0; i < SESSIONS; ++i) {
        mesoforge_session *session = NULL;

        CHECK(mesoforge_open_mpi(&session, comm, "threads=1") == MESOFORGE_OK);
        CHECK(mesoforge_close(session) == MESOFORGE_OK);
    }
}

/* Ranks lend planes in the order of @p from [ranks + 1]; rank r has part @p part. */
static mesoforge_field *lend(mesoforge_session *session, const size_t *from, int part)
{
    const size_t first = from[part], count = from[part + 1] - first;
    const struct mesoforge_array slab = {.type = "u1",
                                         .ndim = 3,
                                         .shape = {count, N, N},
                                         .stride = {N * N, N, 1},
                                         .data = volume[first < N ? first : 0],
                                         .first = first,
                                         .planes = N};
    mesoforge_field *field = NULL;

    CHECK_SAYS(mesoforge_field_array(session, "slab", &slab, &field) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    return field;
}

/* Cuts of the volume, from the host's own to that of the library, in either order of ranks. */
static void try_slabs(mesoforge_session *session, int rank, int size, const mesoforge_result *want)
{
    for (int kind = 0; kind < 4; ++kind) {
        size_t from[9] = {0}, count;
        mesoforge_field *field;
        mesoforge_result *got = NULL;

        for (int r = 1; r <= size; ++r)
            from[r] = kind == 0 ? N : kind == 1 ? (size_t)(N * r / size) : N - (size_t)(size - r);
        field = lend(session, from, kind == 2 ? size - 1 - rank : rank);
        if (kind == 3) {
            CHECK(mesoforge_field_free(session, field) == MESOFORGE_OK);
            CHECK(mesoforge_slab(session, N, from, &count) == MESOFORGE_OK);
            from[1] = from[0] + count;
            field = lend(session, from, 0);
        }
        CHECK_SAYS(mesoforge_characterize(session, field, "limit-to=4 no_multigrid_descriptor", &got) == MESOFORGE_OK,
                   "%s", mesoforge_last_error()->sentence);
        if (got) compare(got, want);
        mesoforge_result_free(got);
        CHECK(mesoforge_field_free(session, field) == MESOFORGE_OK);
    }
}

/* A match comes out as a whole, or in slabs that make the whole. */
static void try_match(mesoforge_session *session, mesoforge_field *field)
{
    struct mesoforge_array all, part;
    mesoforge_result *whole = NULL, *slab = NULL;
    size_t first, count;

    CHECK(mesoforge_match(session, field, "limit-to=4 max_iter=4 size=10,8,12", &whole) == MESOFORGE_OK);
    CHECK(mesoforge_slabs(session, 1) == MESOFORGE_OK);
    CHECK(mesoforge_match(session, field, "limit-to=4 max_iter=4 size=10,8,12", &slab) == MESOFORGE_OK);
    CHECK(mesoforge_slabs(session, 0) == MESOFORGE_OK);
    CHECK(mesoforge_slab(session, 10, &first, &count) == MESOFORGE_OK);
    CHECK(mesoforge_result_array(whole, 0, &all) && all.planes == 0 && all.shape[0] == 10);
    CHECK(mesoforge_result_array(slab, 0, &part) && part.planes == 10 && part.shape[0] == count && part.first == first);
    CHECK(memcmp(part.data, (const char *)all.data + first * 96, count * 96) == 0);
    mesoforge_result_free(whole);
    mesoforge_result_free(slab);
}

static int says(const char *part)
{
    if (!strstr(mesoforge_last_error()->sentence, part)) fprintf(stderr, "%s\n", mesoforge_last_error()->sentence);
    return strstr(mesoforge_last_error()->sentence, part) != NULL;
}

/* Slabs that leave a plane out, or lend one twice; ranks that call different functions, or lend different shapes. */
static void try_wrong(mesoforge_session *session, mesoforge_field *field, int rank, int size)
{
    struct mesoforge_array slab = {
        .type = "u1", .ndim = 3, .shape = {2, N, N}, .stride = {N * N, N, 1}, .data = volume};
    mesoforge_result *none = NULL;
    mesoforge_field *wrong;

    slab.planes = 2 + (size_t)size;
    CHECK(mesoforge_field_array(session, "wrong", &slab, &wrong) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(session, wrong, "limit-to=4", &none) == MESOFORGE_USAGE &&
          says("begins with plane 2"));
    mesoforge_field_free(session, wrong);
    slab.planes = 2;
    CHECK(mesoforge_field_array(session, "wrong", &slab, &wrong) == MESOFORGE_OK);
    if (size > 1)
        CHECK(mesoforge_characterize(session, wrong, "limit-to=4", &none) == MESOFORGE_USAGE &&
              says("and the volume has 2"));
    mesoforge_field_free(session, wrong);
    slab.first = 1;
    CHECK(mesoforge_field_array(session, "wrong", &slab, &wrong) == MESOFORGE_USAGE && says("2 planes from 1 on"));
    if (size == 1) return;
    if (rank == 0)
        CHECK(mesoforge_characterize(session, field, "limit-to=4", &none) == MESOFORGE_USAGE);
    else
        CHECK(mesoforge_match(session, field, "limit-to=4", &none) == MESOFORGE_USAGE);
    CHECK(says("calls 'match @volume u1 20x20x20 (checksum ") && says(")', and rank 0 calls 'characterize @volume"));
    if (rank == 0)
        CHECK(mesoforge_close(session) == MESOFORGE_USAGE);
    else
        CHECK(mesoforge_match(session, field, "limit-to=4", &none) == MESOFORGE_USAGE && says("calls 'close'"));
}

/* A rank that does not come costs the others this session, and no more. */
static void try_late(MPI_Comm comm, int rank)
{
    mesoforge_session *session = NULL;

    CHECK(mesoforge_open_mpi(&session, comm, "threads=1 timeout=1") == MESOFORGE_OK);
    if (rank == 0) {
        mesoforge_result *none = NULL;

        CHECK(mesoforge_characterize(session, NULL, NULL, &none) == MESOFORGE_DEVICE && says("not all ranks"));
        CHECK(mesoforge_characterize(session, NULL, NULL, &none) == MESOFORGE_DEVICE && says("not all ranks"));
        CHECK(mesoforge_close(session) == MESOFORGE_OK);
    }
    MPI_Barrier(comm);
    if (rank > 0) CHECK(mesoforge_close(session) == MESOFORGE_OK);
}

/* Stops the rank that asks: at its step number @p context, or where it waits (0). */
static int stop_at(void *context, const char *what, double share)
{
    int *left = context;

    (void)share;
    return *left > 0 ? --*left > 0 : strcmp(what, "waiting for other ranks") != 0;
}

/* Rank 0 is stopped where it waits for the last rank. The others hear it before that one comes, and it hears it then.
 */
static void try_stopped_wait(mesoforge_session *session, mesoforge_field *field, MPI_Comm comm, int rank, int size)
{
    mesoforge_result *got = NULL;
    int waits = 0;

    CHECK(mesoforge_on_progress(session, rank == 0 ? stop_at : NULL, &waits) == MESOFORGE_OK);
    for (int i = 0; i < 2; ++i) {
        if (rank == size - 1) MPI_Barrier(comm);
        CHECK(mesoforge_run(session, "probe", NULL, NULL, &got) == MESOFORGE_STOPPED && !got);
        CHECK(says(rank == 0 ? "stopped when" : "as rank 0 was asked to"));
        if (rank < size - 1) MPI_Barrier(comm);
    }
    if (rank > 0) MPI_Barrier(comm);
    CHECK(mesoforge_close(session) == MESOFORGE_STOPPED);
    if (rank == 0) MPI_Barrier(comm);
    CHECK(mesoforge_on_progress(session, NULL, NULL) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(session, field, "limit-to=4", &got) == MESOFORGE_OK && got);
    mesoforge_result_free(got);
}

/* In [0, 1), of its own on every rank. */
static double any(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state / 4294967296.0;
}

static void nap(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL); }

struct canceller {
    mesoforge_session *session;
    double after;
};

static void *cancel(void *context)
{
    const struct canceller *c = context;

    nap(c->after);
    CHECK(mesoforge_cancel(c->session) == MESOFORGE_OK);
    return NULL;
}

/* Ranks come at any moments, and some are stopped at any moments. All end alike. */
static void try_any_stops(mesoforge_session *session, mesoforge_field *field, MPI_Comm comm, int rank, int size)
{
    unsigned state = 7u + (unsigned)rank;

    for (int i = 0; i < 40; ++i) {
        struct canceller c = {session, 0.004 * any(&state)};
        const int is_last = rank == size - 1, cancels = any(&state) < 0.5;
        mesoforge_result *got = NULL;
        pthread_t thread;
        int rc, ends[2];

        if (is_last) nap(0.004 * any(&state));
        if (cancels) CHECK(pthread_create(&thread, NULL, cancel, &c) == 0);
        rc = mesoforge_characterize(session, field, "limit-to=2", &got);
        if (cancels) CHECK(pthread_join(thread, NULL) == 0);
        mesoforge_result_free(got);
        MPI_Allreduce((int[]){rc, -rc}, ends, 2, MPI_INT, MPI_MAX, comm);
        CHECK_SAYS(ends[0] == -ends[1], "call %d: codes %d to %d", i, -ends[1], ends[0]);
        CHECK(rc == MESOFORGE_OK || rc == MESOFORGE_STOPPED);
    }
}

/* Where the host of one rank stops a match, all ranks end alike, with the same structure. */
static void try_stopped_match(mesoforge_session *session, mesoforge_field *field, MPI_Comm comm, int last)
{
    static const char options[] = "limit-to=4 max_iter=40 size=10,8,12 plan=off tolerance=0";
    struct mesoforge_array phase = {0};
    mesoforge_result *got = NULL;
    uint8_t first[960] = {0};
    int steps = 6;

    if (last) CHECK(mesoforge_on_progress(session, stop_at, &steps) == MESOFORGE_OK);
    CHECK_SAYS(mesoforge_match(session, field, options, &got) == MESOFORGE_STOPPED, "%s",
               mesoforge_last_error()->sentence);
    CHECK(mesoforge_result_array(got, 0, &phase) && strstr(mesoforge_result_json(got), "\"stopped\""));
    if (phase.data) memcpy(first, phase.data, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_BYTE, 0, comm);
    CHECK(phase.data && memcmp(first, phase.data, sizeof first) == 0);
    mesoforge_result_free(got);
    CHECK(mesoforge_on_progress(session, NULL, NULL) == MESOFORGE_OK);
    CHECK(mesoforge_match(session, field, options, &got) == MESOFORGE_OK);
    CHECK(got && !strstr(mesoforge_result_json(got), "\"stopped\""));
    mesoforge_result_free(got);
}

/* Halves of the ranks, beside the session of all. */
static void try_halves(int rank, const mesoforge_result *want)
{
    mesoforge_session *session = NULL;
    mesoforge_result *got;
    MPI_Comm half;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    CHECK(mesoforge_open_mpi(&session, half, "threads=1 deterministic") == MESOFORGE_OK);
    MPI_Comm_free(&half); /* the session has a copy */
    got = measure(session, NULL, "limit-to=4 no_multigrid_descriptor");
    compare(got, want);
    mesoforge_result_free(got);
    CHECK(mesoforge_close(session) == MESOFORGE_OK);
}

/* Looks for leaks now: MPI_Finalize() unloads components, and what these leave could not be told by their names. */
static void find_leaks(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check();
#endif
}

int main(int argc, char **argv)
{
    mesoforge_session *session = NULL, *alone = NULL;
    mesoforge_result *all, *one, *none = NULL;
    mesoforge_field *field;
    int level, rank, size, flag;
    char options[] = "limit-to=4";
    MPI_Comm comm, freed, copy;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm); /* in the other order */
    for (int z = 0; z < N; ++z)
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) volume[z][y][x] = (3 * z + 5 * y + x * x) % 7 < 3;
    CHECK(mesoforge_open_mpi(&session, MPI_COMM_NULL, NULL) == MESOFORGE_USAGE && !session);
    MPI_Comm_dup(comm, &freed);
    copy = freed;
    MPI_Comm_free(&freed);
    CHECK(mesoforge_open_mpi(&session, copy, NULL) == MESOFORGE_USAGE && !session && says("or it was freed"));
    CHECK(mesoforge_open_mpi(&session, comm, "threads=1 deterministic") == MESOFORGE_OK);
    CHECK(mesoforge_open(&alone, "threads=1 deterministic") == MESOFORGE_OK);
    all = measure(session, &field, "limit-to=4 no_multigrid_descriptor");
    one = measure(alone, NULL, "limit-to=4 no_multigrid_descriptor");
    compare(all, one);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &flag);
    try_slabs(session, flag, size, one);
    try_halves(rank, one);
    options[9] = (char)('4' + rank); /* ranks that ask for different things are all told */
    MPI_Comm_rank(comm, &flag);
    try_match(session, field);
    try_stopped_match(session, field, comm, flag == size - 1);
    try_wrong(session, field, flag, size);
    if (size > 1) {
        CHECK(mesoforge_characterize(session, field, options, &none) == MESOFORGE_USAGE && !none);
        CHECK(says("other options than rank 0"));
        try_stopped_wait(session, field, comm, flag, size);
        try_any_stops(session, field, comm, flag, size);
        try_late(comm, flag);
    }
    mesoforge_result_free(all);
    mesoforge_result_free(one);
    mesoforge_close(alone);
    mesoforge_close(session);
    many(comm);
    MPI_Comm_free(&comm); /* it is still its owner's */
    MPI_Finalized(&flag);
    CHECK(!flag);
    CHECK(mesoforge_open_mpi(&session, MPI_COMM_WORLD, "threads=1") == MESOFORGE_OK);
    find_leaks();
    MPI_Finalize();
    CHECK(mesoforge_close(session) == MESOFORGE_OK);
    CHECK(mesoforge_open_mpi(&session, MPI_COMM_WORLD, NULL) == MESOFORGE_USAGE);
    CHECK(strstr(mesoforge_last_error()->sentence, "MPI has ended"));
    return failures != 0;
}
