/* Ranks share a volume on a communicator of the host. Each lends its planes, and gets its planes of a new volume.
 *
 *     mpicc ranks.c $(pkg-config --cflags --libs mesoforge) -o ranks && mpirun -n 2 ./ranks
 */
#include <mpi.h>
#include <stdio.h>

#define MESOFORGE_WITH_MPI
#include <mesoforge.h>

enum { N = 32 };

static unsigned char slab[N][N][N]; /* of which a rank fills its planes */

static void draw(size_t first, size_t count)
{
    for (size_t z = 0; z < count; ++z)
        for (size_t y = 0; y < N; ++y)
            for (size_t x = 0; x < N; ++x) slab[z][y][x] = (x + y / 2 + (first + z) / 3) % 16 < 5;
}

static int complain(void)
{
    fprintf(stderr, "%s\n", mesoforge_last_error()->sentence);
    MPI_Abort(MPI_COMM_WORLD, mesoforge_last_error()->code);
    return 1;
}

int main(int argc, char **argv)
{
    struct mesoforge_array array = {.type = "u1", .ndim = 3, .stride = {N * N, N, 1}, .data = slab, .planes = N}, made;
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *result;
    int level, rank;
    MPI_Comm own;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &own);
    if (mesoforge_open_mpi(&session, own, "threads=1") != MESOFORGE_OK) return complain();
    if (mesoforge_slab(session, N, &array.first, array.shape) != MESOFORGE_OK) return complain();
    array.shape[1] = array.shape[2] = N;
    draw(array.first, array.shape[0]);
    if (mesoforge_field_array(session, "volume", &array, &field) != MESOFORGE_OK) return complain();
    if (mesoforge_slabs(session, 1) != MESOFORGE_OK) return complain();
    if (mesoforge_match(session, field, "size=16,16,16 limit-to=4 max_iter=20", &result) != MESOFORGE_OK)
        return complain();
    if (mesoforge_result_array(result, 0, &made))
        printf("rank %d has the planes %zu to %zu of %zu\n", rank, made.first, made.first + made.shape[0], made.planes);
    mesoforge_result_free(result);
    mesoforge_close(session);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}
