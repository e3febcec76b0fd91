/* The same number from several ranks: the host starts MPI and lends a communicator of its own.
 *
 *     mpicc ranks.c $(pkg-config --cflags --libs mesoforge) -o ranks && mpirun -n 2 ./ranks
 */
#include <mpi.h>
#include <stdio.h>

#define MESOFORGE_WITH_MPI
#include <mesoforge.h>

enum { N = 64 };

static unsigned char volume[N][N][N];

static void draw(void)
{
    for (int z = 0; z < N; ++z)
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) volume[z][y][x] = (x + y / 2 + z / 3) % 16 < 5;
}

static int complain(void)
{
    fprintf(stderr, "%s\n", mesoforge_last_error()->sentence);
    MPI_Abort(MPI_COMM_WORLD, mesoforge_last_error()->code);
    return 1;
}

int main(int argc, char **argv)
{
    const struct mesoforge_array array = {
        .type = "u1", .ndim = 3, .shape = {N, N, N}, .stride = {N * N, N, 1}, .data = volume};
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *result;
    int level, rank;
    MPI_Comm own;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_rank(own, &rank);
    draw();
    if (mesoforge_open_mpi(&session, own, "threads=1") != MESOFORGE_OK) return complain();
    if (mesoforge_field_array(session, "volume", &array, &field) != MESOFORGE_OK) return complain();
    if (mesoforge_characterize(session, field, "limit-to=4 isotropic", &result) != MESOFORGE_OK) return complain();
    if (rank == 0) puts(mesoforge_result_json(result));
    mesoforge_result_free(result);
    mesoforge_close(session);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}
