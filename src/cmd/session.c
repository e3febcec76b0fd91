/* See session.h. */
#include "src/cmd/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "io/atomic.h"
#include "kernels/stage.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/resident.h"
#include "src/base/text.h"
#include "src/cmd/cores.h"
#include "src/cmd/device.h"
#include "src/cmd/output.h"
#include "src/cmd/where.h"
#include "src/desc/registry.h"

static enum mf_log_level level_of(long number)
{
    return number <= 10 ? MF_DEBUG : number <= 20 ? MF_INFO : number <= 30 ? MF_WARN : MF_QUIET;
}

/* A folder that takes no new file may have an old log file. Opening a pipe would wait for its reader. */
static int check_log(const char *path)
{
    struct stat old;

    if (stat(path, &old) != 0) return mf_atomic_reaches(path);
    return S_ISFIFO(old.st_mode) ? mf_fail(MF_USAGE, "--logfile_name: '%s' is not a plain file", path) : MF_OK;
}

/* Rank 0 opens --logfile_name, in the data folder or where it says itself. */
static int open_log(const struct mf_common *common, int rank)
{
    const int whole = common->logfile_name && common->logfile_name[0] == '/'; /* a path of its own */
    char date[32] = "", *path;
    time_t now = time(NULL);
    struct tm local;
    int rc;

    if (rank != 0 || !common->logfile_name) return MF_OK;
    if (common->logfile_date && localtime_r(&now, &local)) strftime(date, sizeof date, "%Y-%m-%d_%H-%M-%S", &local);
    if (*common->data_folder && !whole) MF_TRY(mf_output_folder(common->data_folder, MF_OUTPUT_ELSEWHERE));
    path = mf_output_join(whole ? "" : common->data_folder, common->logfile_name, *date ? date : NULL,
                          !*date && mf_ends_with(common->logfile_name, ".log") ? "" : ".log");
    rc = check_log(path);
    if (rc == MF_OK) rc = mf_log_copy(path);
    free(path);
    return rc;
}

/* Options about GPUs have an answer on the cpu too. */
static int answer_gpu_options(const struct mf_session *session)
{
    const char *device = session->backend->name;
    const int gpus = session->backend->devices != NULL;

    if (session->work == MF_WORK_NONE) return MF_OK;
    if (!gpus && session->common->gpu_ids.count > 0)
        return mf_fail(MF_DEVICE, "--gpu_ids %ld: the %s back end has no GPUs; leave --gpu_ids out",
                       session->common->gpu_ids.at[0], device);
    if (!gpus && session->common->gpu_fraction < 1)
        mf_info("--gpu-memory-fraction: the %s back end has no GPU", device);
    if (!gpus && session->common->share_gpu) mf_info("--share-gpu: the %s back end has no GPU to share", device);
    return MF_OK;
}

/* Options that name files, beside one that names them already. */
static void say_names(const struct mf_session *session)
{
    const struct mf_common *common = session->common;

    if (common->logfile_date && !common->logfile_name)
        mf_warn("--logfile_date has no effect: there is no log file; try: --logfile_name NAME");
    if (common->output && common->information) mf_warn("--information has no effect: --output names the file");
}

/* Keys of --config that change nothing. */
static void say_keys(const struct mf_options *options)
{
    char *idle = mf_options_idle(options, 0), *wishes = mf_options_idle(options, 1);

    if (idle) mf_info("%s: without effect here: %s", mf_options_config(options), idle);
    if (wishes) mf_info("%s: the plan decides about %s", mf_options_config(options), wishes);
    free(idle);
    free(wishes);
}

/* Only verbs that compute on GPUs exchange between them. */
static int open_transport(const struct mf_session *session)
{
    const enum mf_exchange wish = mf_exchange_of(session->common->exchange);
    const int exchanges = session->work == MF_WORK_GPUS;

    if (!exchanges && wish == MF_EXCHANGE_NCCL) mf_info("--exchange nccl: nothing is exchanged between GPUs here");
    if (!exchanges || session->common->dry_run) return MF_OK;
    return mf_transport_open(session->comm, session->queue, wish);
}

/* Threads that the user asked for; 0: none in particular. */
static int threads_asked(const struct mf_common *common)
{
    const char *omp = getenv("OMP_NUM_THREADS");
    long wanted = omp ? strtol(omp, NULL, 10) : 0;

    if (common->threads > 0) return (int)common->threads;
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
    MF_TRY(mf_queue_dry(&session->queue, &session->dry, session->threads, session->common->deterministic,
                        session->device, session->arena));
    session->home = session->queue;
    return MF_OK;
}

/* Memory of a device: at most --memory-limit, and at most this rank's part of the GPU. */
static int open_device(struct mf_session *session, size_t limit)
{
    const double fraction = session->common->gpu_fraction, share = fraction * (double)session->gpu_bytes;
    const int capped = fraction < 1 && session->gpu_bytes > 0 && (limit == 0 || share < (double)limit);

    MF_TRY(mf_arena_open(&session->device, session->backend->mem, capped ? (size_t)share + 1 : limit));
    if (capped) mf_arena_limited_by(session->device, "--gpu-memory-fraction");
    return MF_OK;
}

/* Local: memory and queue. */
static int open_local(struct mf_session *session, int number)
{
    const struct mf_common *common = session->common;
    const struct mf_backend *backend = session->backend;
    const size_t limit = (size_t)common->memory_limit << 20;
    const struct mf_mem *host = backend->host_mem ? backend->host_mem : backend->mem;

    MF_TRY(mf_arena_open(&session->arena, common->dry_run ? &mf_mem_dry : host, limit));
    advise(session, session->arena);
    session->device = session->arena;
    if (backend->host_mem && common->dry_run) return open_dry(session, limit);
    if (backend->host_mem) MF_TRY(open_device(session, limit));
    advise(session, session->device);
    MF_TRY(backend->queue_open(&session->queue, number, session->threads, common->deterministic, session->device,
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
    const struct mf_mem *mem = session->common->dry_run ? &mf_mem_dry : mf_backend_cpu.mem;

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

/* Phases are ranges of the device's profiler, where one watches. */
static void hang_ranges(const struct mf_session *session)
{
    const struct mf_ranges *ranges = session->backend->ranges ? session->backend->ranges() : NULL;

    if (ranges) mf_phases_hook(ranges->push, ranges->pop);
}

int mf_session_begin(struct mf_session *session)
{
    const struct mf_comm *comm = session->comm;

    MF_TRY(mf_agree(comm, mf_common_check(session->common)));
    MF_TRY(mf_agree(comm, mf_threads_check()));
    mf_comm_watch(comm, (double)session->common->timeout);
    mf_log_open(comm->rank, comm->size, level_of(session->common->logging_level));
    session->threads = threads_asked(session->common);
    session->threads_free = session->threads == 0;
    return mf_agree(comm, open_log(session->common, comm->rank));
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

    say_names(session);
    say_keys(session->options);
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
    mf_phases_open(session->common->log_view && !session->common->dry_run, session->start);
    if (rc == MF_OK) hang_ranges(session);
    return rc;
}

void mf_session_close(struct mf_session *session)
{
    mf_phases_hook(NULL, NULL);
    close_local(session);
    mf_log_copy(NULL);
}
