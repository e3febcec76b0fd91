/* Ranks may come with different texts (times, peaks): the file is written all the same, and says what rank 0 said. */
#include <stdlib.h>
#include <string.h>

#include "io/micro.h"
#include "tests/check.h"
#include "tests/scratch.h"

int main(int argc, char **argv)
{
    const size_t dims[3] = {6, 5, 4};
    struct mf_micro micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}};
    struct mf_provenance from = {.command = "test", .options = "", .input_hash = ""};
    double rows[30] = {0};
    struct mf_comm comm;
    char *text;

    if (mf_comm_open(&comm, &argc, &argv, "test") != 0) return 1;
    scratch_open(&comm);
    micro.slab = mf_slab_of(&comm, dims, comm.rank);
    micro.phase = calloc(mf_slab_voxels(&micro.slab) + 1, 1);
    text = malloc(100000);
    if (!micro.phase || !text) return 1;
    for (int visit = 0; visit < 5; ++visit) {
        size_t n = 100 + 9000 * (size_t)(comm.rank + visit);

        memset(text, ' ', n);
        memcpy(text, "{}", 2);
        text[n] = '\0';
        from.json = text;
        from.convergence_count = (size_t)comm.rank + 1;
        from.convergence = rows;
        rows[0] = comm.rank + 1;
        CHECK(mf_micro_write(&comm, scratch_file("io_provenance.h5"), &micro, &from) == 0);
    }
    CHECK(comm.rank || scratch_count(0) == 2);
    scratch_close(&comm);
    free(text);
    free(micro.phase);
    mf_comm_close(&comm);
    return failures != 0;
}
