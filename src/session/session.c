/* See session.h. */
#include "src/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/resident.h"
#include "src/desc/registry.h"
#include "src/session/cores.h"
#include "src/session/device.h"
#include "src/session/where.h"

/* Options about GPUs have an answer on the cpu too. */
static int answer_gpu_options(const struct mf_session *session)
{
    const struct mf_settings *set = &session->settings;
    const char *device = session->backend->name;
    const int gpus = session->backend->devices != NULL;

    if (session->work == MF_WORK_NONE) return MF_OK;
    if (!gpus && set->gpu_ids.count > 0)
        return mf_fail(MF_DEVICE, "--gpu_ids %ld: the %s back end has no GPUs; leave --gpu_ids out", set->gpu_ids.at[0],
                       device);
    if (!gpus && set->gpu_fraction < 1) mf_info("--gpu-memory-fraction: the %s back end has no GPU", device);
    if (!gpus && set->share_gpu) mf_info("--share-gpu: the %s back end has no GPU to share", device);
    return MF_OK;
}

/* Only verbs that compute on GPUs exchange between them. */
static int open_transport(const struct mf_session *session)
{
    const enum mf_exchange wish = session->settings.exchange;
    const int exchanges = session->work == MF_WORK_GPUS;

    if (!exchanges && wish == MF_EXCHANGE_NCCL) mf_info("--exchange nccl: nothing is exchanged between GPUs here");
    if (!exchanges || session->settings.dry_run) return MF_OK;
    return mf_transport_open(session->comm, session->queue, wish);
}

/* Threads that the user asked for; 0: none in particular. */
static int threads_asked(const struct mf_settings *settings)
{
    const char *omp = getenv("OMP_NUM_THREADS");
    long wanted = omp ? strtol(omp, NULL, 10) : 0;

    if (settings->threads > 0) return (int)settings->threads;
    return wanted > 0 ? (int)wanted : 0;
}

/* Advises a remedy for arrays that are too large. */
static void advise(const struct mf_session *session, struct mf_arena *arena)
{
    mf_arena_advise(arena, session->remedy ? session->remedy : "more ranks, or smaller extents");
}

/* A dry run only counts memory. If a device has its own memory, a dry back end replaces it. */
static int open_dry(struct mf_session *session, size_t limit)
{
    const struct mf_backend *backend = session->backend;
    const struct mf_dry_kind kind = {"", 1, session->gpu.capability};

    mf_backend_dry(&kind, &session->dry);
    session->dry.backend.name = backend->name;
    session->dry.backend.devices = backend->devices;
    session->backend = &session->dry.backend;
    MF_TRY(mf_arena_open(&session->device, &mf_mem_dry, limit));
    advise(session, session->device);
    MF_TRY(mf_queue_dry(&session->queue, &session->dry, session->threads, session->settings.deterministic,
                        session->device, session->arena));
    session->home = session->queue;
    return MF_OK;
}

/* Memory of a device: at most --memory-limit, and at most this rank's part of the GPU. */
static int open_device(struct mf_session *session, size_t limit)
{
    const double fraction = session->settings.gpu_fraction, share = fraction * (double)session->gpu_bytes;
    const int capped = fraction < 1 && session->gpu_bytes > 0 && (limit == 0 || share < (double)limit);

    MF_TRY(mf_arena_open(&session->device, session->backend->mem, capped ? (size_t)share + 1 : limit));
    if (capped) mf_arena_limited_by(session->device, "--gpu-memory-fraction");
    return MF_OK;
}

/* Local: memory and queue. */
static int open_local(struct mf_session *session, int number)
{
    const struct mf_settings *set = &session->settings;
    const struct mf_backend *backend = session->backend;
    const size_t limit = set->memory_limit;
    const struct mf_mem *host = backend->host_mem ? backend->host_mem : backend->mem;

    MF_TRY(mf_arena_open(&session->arena, set->dry_run ? &mf_mem_dry : host, limit));
    advise(session, session->arena);
    session->device = session->arena;
    if (backend->host_mem && set->dry_run) return open_dry(session, limit);
    if (backend->host_mem) MF_TRY(open_device(session, limit));
    advise(session, session->device);
    MF_TRY(backend->queue_open(&session->queue, number, session->threads, set->deterministic, session->device,
                               session->arena));
    session->home = session->queue;
    return MF_OK;
}

static void leave_home(struct mf_session *session)
{
    if (session->home && session->home != session->queue) session->home->backend->queue_close(session->home);
    mf_arena_close(session->home_arena);
    session->home_arena = NULL;
    session->home = session->queue;
}

/* Vectors are too large to be pinned, as the host's memory of a device is. */
static int go_home(struct mf_session *session)
{
    const struct mf_mem *mem = session->settings.dry_run ? &mf_mem_dry : mf_backend_cpu.mem;

    MF_TRY(mf_arena_open_in(&session->home_arena, mem, session->arena));
    return mf_queue_home(&session->home, session->queue, session->home_arena);
}

int mf_session_reside(struct mf_session *session, int host)
{
    int rc;

    if (!mf_apart(session->queue) || host == (session->home != session->queue)) return MF_OK;
    leave_home(session);
    rc = mf_agree(session->comm, host ? go_home(session) : MF_OK);
    if (rc != MF_OK) leave_home(session);
    if (rc == MF_OK && host) mf_info("fields stay in host memory; their slices pass through the device in rounds");
    return rc;
}

static void close_local(struct mf_session *session)
{
    leave_home(session);
    mf_transport_close(session->comm);
    if (session->queue) session->backend->queue_close(session->queue);
    if (session->device != session->arena) mf_arena_close(session->device);
    mf_arena_close(session->arena);
    session->queue = session->home = NULL;
    session->arena = session->device = NULL;
}

int mf_session_to_cores(struct mf_session *session)
{
    close_local(session);
    session->gpu = (struct mf_device_id){.capability = 0};
    session->gpu_bytes = 0;
    MF_TRY(mf_agree(session->comm, mf_backend_find(&session->backend, "cpu")));
    return mf_agree(session->comm, open_local(session, 0));
}

/* Local: has the back end kernels for all of them? */
static int check_kernels(const struct mf_backend *backend, unsigned more)
{
    const struct mf_slice_ops *ops;

    for (int m = 0; m < MF_MORE; ++m)
        if (more >> m & 1) MF_TRY(mf_descriptor_ops(&mf_descriptors[MF_FURTHER + m], backend, &ops));
    return MF_OK;
}

int mf_session_serves(struct mf_session *session, unsigned more)
{
    const int rc = mf_agree(session->comm, check_kernels(session->backend, more));

    if (rc == MF_OK || !mf_device_may_leave(session)) return rc;
    return mf_session_to_cores(session);
}

int mf_session_to_device(struct mf_session *session)
{
    int device = 0;

    close_local(session);
    session->work = MF_WORK_GPUS;
    MF_TRY(mf_device_choose(session, &device));
    MF_TRY(mf_agree(session->comm, open_local(session, device)));
    return open_transport(session);
}

int mf_session_give(const struct mf_session *session, struct mf_micro *micro, const struct mf_json *json)
{
    const struct mf_taker *to = session->taker;

    return mf_agree(session->comm, to ? to->take(to->context, micro, json) : MF_OK);
}

/* Phases are ranges of the device's profiler, where one watches. */
static void hang_ranges(const struct mf_session *session)
{
    const struct mf_ranges *ranges = session->backend->ranges ? session->backend->ranges() : NULL;

    if (ranges) mf_phases_hook(ranges->push, ranges->pop);
}

int mf_session_begin(struct mf_session *session)
{
    const struct mf_comm *comm = session->comm;
    const struct mf_settings *set = &session->settings;

    MF_TRY(mf_agree(comm, mf_threads_check()));
    mf_comm_watch(comm, set->patience);
    mf_log_open(comm->rank, comm->size, set->level);
    session->threads = threads_asked(set);
    session->threads_free = session->threads == 0;
    return MF_OK;
}

/* Any rank's threads may be more than its cores: those of the worst are said. Collective. */
static void warn_of_turns(const struct mf_comm *comm, int threads, int cores)
{
    int64_t worst = threads > cores ? -cores : INT64_MIN;

    mf_comm_max_int(comm, 1, &worst);
    if (worst == INT64_MIN) return;
    mf_warn("%d threads for each rank share %lld %s: that takes longer; try: --threads 0", threads, (long long)-worst,
            worst == -1 ? "core" : "cores");
}

int mf_session_open(struct mf_session *session)
{
    const struct mf_comm *comm = session->comm;
    int device = 0, cores, rc = mf_device_choose(session, &device);

    if (rc == MF_OK) rc = mf_agree(comm, answer_gpu_options(session));
    if (rc == MF_OK && session->work != MF_WORK_NONE) rc = mf_where_settle(session, device);
    cores = mf_session_cores(comm);
    if (session->threads_free) session->threads = cores;
    if (session->work != MF_WORK_NONE) warn_of_turns(comm, session->threads, cores);
    mf_team_threads(session->threads);
    if (rc == MF_OK) rc = mf_agree(comm, open_local(session, device));
    if (rc == MF_OK) rc = open_transport(session);
    if (rc != MF_OK) mf_session_close(session);
    mf_resident_open();
    mf_phases_open(session->settings.phases, session->start);
    if (rc == MF_OK) hang_ranges(session);
    return rc;
}

void mf_session_close(struct mf_session *session)
{
    mf_phases_hook(NULL, NULL);
    close_local(session);
}
