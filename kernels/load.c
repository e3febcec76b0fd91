/* See load.h. */
#include "kernels/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/host.h"
#include "kernels/slices/descriptors.h"
#include "kernels/slices/slices.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log.h"
#include "src/base/rng.h"

#define LIBRARY "libmesoforge_cuda.so"

enum { PATH_LENGTH = 4096 };

/* From build/mesoforge and build/libmesoforge.so; from bin; from lib, lib/x86_64-linux-gnu and lib64. */
static const char *const places[] = {"", "../lib/mesoforge/", "mesoforge/", "../mesoforge/"};

/* The folder of the program, or of the library that this is a part of. It ends with a slash; "": nobody knows. */
static void own_folder(char folder[PATH_LENGTH])
{
    Dl_info here;

    if (!mf_is_guest())
        mf_child_self(folder, PATH_LENGTH);
    else
        snprintf(folder, PATH_LENGTH, "%s", dladdr((const void *)&places, &here) ? here.dli_fname : "");
    if (strrchr(folder, '/')) strrchr(folder, '/')[1] = '\0';
}

const char *mf_load_cuda_path(void)
{
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

static void die(int code, const char *file, int line, const char *text) { mf_die(code, file, line, "%s", text); }

static int fail(int code, const char *text) { return mf_fail(code, "%s", text); }

static void info(const char *text) { mf_info("%s", text); }

/* The back end gets these. */
static const struct mf_host host = {.arena_book = mf_arena_book,
                                    .arena_give = mf_arena_give,
                                    .arena_take = mf_arena_take,
                                    .die = die,
                                    .err_clear = mf_err_clear,
                                    .fail = fail,
                                    .fault = mf_fault,
                                    .info = info,
                                    .must = mf_must,
                                    .now = mf_now,
                                    .random_uniform = mf_random_uniform,
                                    .kinds = {
#define MF_FAMILY(ID, family, ...) &mf_kind_##family,
                                        MF_LIST_SLICES(MF_FAMILY) MF_LIST_SPACE(MF_FAMILY)
#undef MF_FAMILY
                                    }};

static int open_library(const char *path, const struct mf_backend **backend)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    mf_host_take *take;

    if (!library)
        return mf_fail(MF_DEVICE, "--device: the cuda back end does not load: %s; try: --device cpu", dlerror());
    MF_TRY(check(dlsym(library, "mf_backend_cuda"), path));
    *(void **)&take = dlsym(library, "mf_backend_cuda_host");
    if (!take)
        return mf_fail(MF_DEVICE, "'%s' is of an older build of mesoforge; try: install both from one build", path);
    take(&host);
    *backend = dlsym(library, "mf_backend_cuda");
    return MF_OK;
}

int mf_load_cuda(const struct mf_backend **backend)
{
    static const struct mf_backend *loaded;
    const char *path = mf_load_cuda_path();

    if (!loaded) {
        if (!*path)
            return mf_fail(MF_DEVICE, "--device: the cuda back end is not installed (no " LIBRARY "); try: --device "
                                      "cpu, or build where nvcc is, with -DMF_CUDA=ON");
        MF_TRY(open_library(path, &loaded));
    }
    *backend = loaded;
    return MF_OK;
}
