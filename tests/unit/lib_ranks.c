/* Sessions on a communicator of the host: the ranks of it get the numbers that one alone has. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#define MESOFORGE_WITH_MPI
#include "include/mesoforge.h"
#include "tests/check.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { N = 20, SESSIONS = 20 };

static uint8_t volume[N][N][N];

static mesoforge_result *measure(mesoforge_session *session, const char *options)
{
    const struct mesoforge_array array = {
        .type = "u1", .ndim = 3, .shape = {N, N, N}, .stride = {N * N, N, 1}, .data = volume};
    mesoforge_field *field;
    mesoforge_result *result = NULL;

    CHECK(mesoforge_field_array(session, "volume", &array, &field) == MESOFORGE_OK);
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
    int level, rank, flag;
    char options[] = "limit-to=4";
    MPI_Comm comm;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm); /* in the other order */
    for (int z = 0; z < N; ++z)
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) volume[z][y][x] = (3 * z + 5 * y + x * x) % 7 < 3;
    CHECK(mesoforge_open_mpi(&session, MPI_COMM_NULL, NULL) == MESOFORGE_USAGE && !session);
    CHECK(mesoforge_open_mpi(&session, comm, "threads=1 deterministic") == MESOFORGE_OK);
    CHECK(mesoforge_open(&alone, "threads=1 deterministic") == MESOFORGE_OK);
    all = measure(session, "limit-to=4 no_multigrid_descriptor");
    one = measure(alone, "limit-to=4 no_multigrid_descriptor");
    compare(all, one);
    options[9] = (char)('4' + rank); /* ranks that ask for different things are all told */
    MPI_Comm_size(comm, &flag);
    if (flag > 1) {
        const struct mesoforge_array array = {
            .type = "u1", .ndim = 3, .shape = {N, N, N}, .stride = {N * N, N, 1}, .data = volume};
        mesoforge_field *field;

        CHECK(mesoforge_field_array(session, "again", &array, &field) == MESOFORGE_OK);
        CHECK(mesoforge_characterize(session, field, options, &none) == MESOFORGE_USAGE && !none);
        CHECK(strstr(mesoforge_last_error()->sentence, "other options than rank 0"));
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
