/* See ceiling.h. */
#include "src/cmd/ceiling.h"

#include "kernels/ceiling.h"
#include "src/base/err.h"
#include "src/session/cores.h"

/* Floats per array. Three arrays on every rank of a node must exceed all its last-level caches together. A processor
 * may have a dozen, and each holds a share of the arrays. Collective. */
static size_t floats(const struct mf_session *session, const struct mf_host *host)
{
    const size_t ranks = (size_t)session->comm->local_size, least = ((size_t)96 << 20) / ranks;
    const size_t limit = (size_t)mf_common_of(session)->memory_limit << 20,
                 ram = (size_t)host->ram_available_bytes / ranks;
    size_t all = (size_t)(4 * mf_session_l3(session->comm));

    if (all < least) all = least;
    if (limit > 0 && all > limit / 2) all = limit / 2;
    if (all > ram / 4) all = ram / 4;
    return all / 12;
}

int mf_ceiling_run(const struct mf_session *session, const struct mf_host *host, struct mf_probe_rates *rates)
{
    size_t n = floats(session, host);
    float *memory = mf_arena_take(session->arena, 3 * n * sizeof *memory, "ceiling");
    int rc = memory ? MF_OK : mf_fail(MF_MEMORY, "no memory for three arrays of %zu MiB to measure with", n >> 18);

    rc = mf_agree(session->comm, rc);
    if (rc == MF_OK) mf_ceiling_touch(session->threads, n, memory, memory + n, memory + 2 * n);
    for (int w = 0; rc == MF_OK && w < MF_PROBE_WINDOWS; ++w) {
        mf_comm_barrier(session->comm);
        rates->memory[w] = mf_ceiling_memory(session->threads, 0.04, n, memory, memory + n, memory + 2 * n);
        mf_comm_barrier(session->comm);
        rates->flops[w] = mf_ceiling_flops(session->threads, 0.02);
    }
    mf_arena_give(session->arena, memory);
    return rc;
}
