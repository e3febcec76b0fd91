/* See backend.h. */
#include "kernels/backend.h"

#include <string.h>

#include "src/base/err.h"

static const struct mf_backend *const backends[] = {&mf_backend_cpu, NULL};

int mf_backend_find(const struct mf_backend **backend, const char *name)
{
    for (size_t i = 0; backends[i]; ++i)
        if (strcmp(backends[i]->name, name) == 0) {
            MF_TRY(backends[i]->here());
            *backend = backends[i];
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "no back end '%s'", name);
}
