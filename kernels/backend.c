/* See backend.h. */
#include "kernels/backend.h"

#include <string.h>

#include "kernels/load.h"
#include "src/base/err.h"

/* Back ends of this program, and those that are opened when somebody asks for them. */
static const struct {
    const char *name;
    const struct mf_backend *own;
    int (*load)(const struct mf_backend **backend);
} backends[] = {{"cpu", &mf_backend_cpu, NULL}, {"cuda", NULL, mf_load_cuda}, {"shadow", &mf_backend_shadow, NULL}};

const char *mf_backend_name(size_t i) { return i < sizeof backends / sizeof *backends ? backends[i].name : NULL; }

int mf_backend_find(const struct mf_backend **backend, const char *name)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; ++i)
        if (strcmp(backends[i].name, name) == 0) {
            const struct mf_backend *found = backends[i].own;

            if (!found) MF_TRY(backends[i].load(&found));
            MF_TRY(found->here());
            *backend = found;
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "no back end '%s'; there are: auto, cpu, cuda, shadow", name);
}

int mf_queue_home(struct mf_queue **home, struct mf_queue *compute, struct mf_arena *arena)
{
    MF_TRY(mf_backend_cpu.queue_open(home, 0, compute->threads, compute->deterministic, arena, compute->host));
    (*home)->compute = compute;
    return MF_OK;
}
