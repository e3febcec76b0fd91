/* A fault of a library, a driver or a device is said in one sentence with status 4. Nothing else happens.
 */
#include "kernels/load.h"
#include "tests/unit/cuda_case.h"

static void refuses(const char *what)
{
    const struct mf_backend *be = NULL;

    mf_err_clear();
    CHECK(mf_backend_find(&be, "cuda") == MF_DEVICE && !be);
    CHECK(strstr(mf_err_text(), what) != NULL);
    if (!strstr(mf_err_text(), what)) fprintf(stderr, "  said: %s\n", mf_err_text());
}

static void check_libraries(const char *old)
{
    char *good = strdup(getenv("MF_CUDA_LIBRARY"));

    unsetenv("MF_CUDA_LIBRARY");
    if (!*mf_load_cuda_path()) refuses("not installed");
    setenv("MF_CUDA_LIBRARY", "/nowhere/libmesoforge_cuda.so", 1);
    refuses("does not load");
    setenv("MF_CUDA_LIBRARY", "libm.so.6", 1);
    refuses("is no back end");
    setenv("MF_CUDA_LIBRARY", old, 1);
    refuses("of another build");
    setenv("MF_CUDA_LIBRARY", good, 1);
    free(good);
}

static void check_drivers(void)
{
    setenv("MF_EMU_DRIVER", "0", 1);
    refuses("no NVIDIA driver");
    setenv("MF_EMU_DRIVER", "12040", 1);
    refuses("serves CUDA up to 12.4, the cuda back end needs 13.0");
    setenv("MF_EMU_DRIVER", "12000", 1);
    setenv("MF_EMU_RUNTIME", "12040", 1);
    refuses("serves CUDA up to 12.0, the cuda back end needs 12.1");
    unsetenv("MF_EMU_RUNTIME");
    unsetenv("MF_EMU_DRIVER");
    setenv("MF_EMU_DEVICES", "0", 1);
    refuses("no CUDA device");
    setenv("MF_EMU_DEVICES", "2", 1);
}

static void check_devices(void)
{
    const struct mf_backend *be = NULL;
    struct mf_arena *arena;
    struct mf_queue *q = NULL;

    CHECK(mf_backend_find(&be, "cuda") == MF_OK && be);
    if (!be) return;
    CHECK(mf_arena_open(&arena, be->mem, 0) == MF_OK);
    CHECK(be->queue_open(&q, 2, 1, 1, arena, NULL) == MF_DEVICE && !q);
    CHECK(strstr(mf_err_text(), "no GPU 2 here") != NULL);
    setenv("MF_EMU_CAPABILITY", "75", 1);
    CHECK(be->queue_open(&q, 0, 1, 1, arena, NULL) == MF_DEVICE && !q);
    CHECK(strstr(mf_err_text(), "compute capability 7.5") != NULL);
    unsetenv("MF_EMU_CAPABILITY");
    setenv("MF_EMU_MEMORY", "100000", 1);
    CHECK(be->queue_open(&q, 0, 1, 1, arena, NULL) == MF_MEMORY && !q);
    setenv("MF_EMU_MEMORY", "10000000", 1);
    CHECK(be->queue_open(&q, 1, 1, 1, arena, NULL) == MF_OK && q);
    CHECK(!mf_arena_take(arena, 20000000, "test"));
    be->queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
}

int main(int argc, char **argv)
{
    const char *library = getenv("MF_CUDA_LIBRARY");

    NEEDS(1, "BACK_END_OF_ANOTHER_BUILD");
    if (!strstr(library ? library : "", "_emu")) {
        fprintf(stderr, "skipped: MF_CUDA_LIBRARY does not name the emulator's library\n");
        return 77;
    }
    check_libraries(argv[1]);
    check_drivers();
    check_devices();
    return failures != 0;
}
