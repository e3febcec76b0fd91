/* The published sample fields read as their authors saved them (some int64 in Fortran order). It checks size, phases,
 * voxels of phase 1, SHA-256. Their folder is argv[1]; skipped when it is not there. */
#include "tests/check.h"

#include <string.h>
#include <unistd.h>

#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        size_t n;
        int phases;
        long ones;
        const char *hash; /* its first characters */
    } row[] = {
        {"pymks_ms_64x64_1", 64, 2, 1295, "57d28cc3d9ac"},     {"pymks_ms_64x64_2", 64, 2, 1295, "e6a60b7e8936"},
        {"pymks_ms_256x256_1", 256, 2, 19512, "12dd77635e15"}, {"composite_resized_s", 64, 3, 1270, "1202a44890b8"},
        {"alloy_resized", 256, 2, 56694, "e9c5bfebd02f"},      {"copolymer_resized_s", 64, 2, 2213, "eb816c06e260"}};
    struct mf_comm comm;
    struct mf_arena *arena;
    struct mf_micro m;
    char path[1024];

    NEEDS(1, "FOLDER");
    if (access(argv[1], R_OK) != 0) return 77;
    mf_comm_self(&comm);
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_log_open(0, 1, MF_QUIET);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
        long ones = 0;

        snprintf(path, sizeof path, "%s/%s.npy", argv[1], row[i].name);
        CHECK(mf_micro_read(&comm, arena, path, NULL, &m) == MF_OK);
        for (size_t k = 0; k < mf_slab_voxels(&m.slab); ++k) ones += m.phase[k] == 1;
        CHECK(m.ndim == 2 && m.slab.dims[1] == row[i].n && m.slab.dims[2] == row[i].n && m.phases == row[i].phases);
        CHECK(mf_micro_hash(&comm, &m) == MF_OK && strncmp(m.hash, row[i].hash, 12) == 0);
        CHECK(ones == row[i].ones);
        mf_micro_free(&m);
    }
    mf_arena_close(arena);
    return failures != 0;
}
