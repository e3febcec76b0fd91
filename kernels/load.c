/* See load.h. */
#include "kernels/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/guest.h"

#define LIBRARY "libmesoforge_cuda.so"

enum { PATH_LENGTH = 4096 };

/* The folder of the program, with its last slash; "" when the system does not say. */
static void own_folder(char folder[PATH_LENGTH])
{
    mf_child_self(folder, PATH_LENGTH);
    if (strrchr(folder, '/')) strrchr(folder, '/')[1] = '\0';
}

const char *mf_load_cuda_path(void)
{
    static const char *const places[] = {"", "../lib/mesoforge/"};
    static char path[PATH_LENGTH + 64];
    const char *wanted = getenv("MF_CUDA_LIBRARY");
    char folder[PATH_LENGTH];

    if (wanted && *wanted) return wanted;
    own_folder(folder);
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        snprintf(path, sizeof path, "%s%s%s", folder, places[i], LIBRARY);
        if (access(path, F_OK) == 0) return path;
    }
    return "";
}

static int check(const struct mf_backend *found, const char *path)
{
    if (!found) return mf_fail(MF_DEVICE, "'%s' is no back end of mesoforge", path);
    if (found->abi == MF_BACKEND_ABI && strcmp(found->build, MF_VERSION) == 0) return MF_OK;
    return mf_fail(MF_DEVICE,
                   "'%s' is of another build of mesoforge (interface %d, this program has %d %s); try: install both "
                   "from one build",
                   path, found->abi, MF_BACKEND_ABI, MF_VERSION);
}

int mf_load_cuda(const struct mf_backend **backend)
{
    static const struct mf_backend *loaded;
    const char *path = mf_load_cuda_path();
    void *library;

    if (mf_is_guest()) /* the back end takes functions from the program */
        return mf_fail(MF_DEVICE,
                       "--device: the library computes on cores, and the program on GPUs; try: --device cpu");
    if (!loaded) {
        if (!*path)
            return mf_fail(MF_DEVICE, "--device: the cuda back end is not installed (no " LIBRARY "); try: --device "
                                      "cpu, or build where nvcc is, with -DMF_CUDA=ON");
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) return mf_fail(MF_DEVICE, "--device: the cuda back end does not load: %s", dlerror());
        MF_TRY(check(dlsym(library, "mf_backend_cuda"), path));
        loaded = dlsym(library, "mf_backend_cuda");
    }
    *backend = loaded;
    return MF_OK;
}
