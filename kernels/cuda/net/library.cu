/* See library.h. */
#include "kernels/cuda/net/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "src/base/err.h"
}

namespace
{

void *load(const struct mf_library *library)
{
    const char *path = getenv(library->hook);
    void *loaded = nullptr;

    if (path && *path) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (const char *const *file = library->files; !loaded && *file; ++file)
        loaded = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
    return loaded;
}

} // namespace

int mf_library_open(const struct mf_library *library, const struct mf_symbol *symbols, size_t count, void *api)
{
    void *loaded = load(library);

    if (!loaded)
        return mf_fail(MF_DEVICE,
                       "--device: this network needs %s on a GPU, which does not load: %s; try: --device cpu",
                       library->name, dlerror());
    for (size_t i = 0; i < count; ++i) {
        void *found = dlsym(loaded, symbols[i].name);

        memcpy(static_cast<char *>(api) + symbols[i].offset, &found, sizeof found);
        if (found) continue;
        for (size_t k = 0; k <= i; ++k) memset(static_cast<char *>(api) + symbols[k].offset, 0, sizeof found);
        (void)dlclose(loaded);
        return mf_fail(MF_DEVICE, "--device: the %s here has no %s; try: another version, or --device cpu",
                       library->name, symbols[i].name);
    }
    return MF_OK;
}
