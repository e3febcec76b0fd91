/* What every verb works with: log, back end, arena, queue; and what they share at the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/nrrd.h"
#include "kernels/stage.h"
#include "mpi/wire.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/resident.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/device.h"
#include "src/cmd/where.h"
#include "src/desc/registry.h"

/* Makes a folder and those above it. */
static int make_folder(const char *path)
{
    char *copy = strdup(path);
    int rc = MF_OK;

    if (!copy) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    for (char *at = copy; rc == MF_OK && at;) {
        at = strchr(at + 1, '/');
        if (at) *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            rc = mf_fail(MF_OUTPUT, "cannot make folder '%s': %s", copy, strerror(errno));
        if (at) *at = '/';
    }
    free(copy);
    return rc;
}

/* FOLDER/BASE[_INFIX]SUFFIX; caller frees. */
static char *join_path(const char *folder, const char *base, const char *infix, const char *suffix)
{
    char *path = NULL;
    const char *slash = *folder && folder[strlen(folder) - 1] != '/' ? "/" : "";

    if (asprintf(&path, "%s%s%s%s%s%s", folder, slash, base, infix ? "_" : "", infix ? infix : "", suffix) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return path;
}

int mf_session_path(const struct mf_session *session, const char *base, const char *suffix, char **path)
{
    const struct mf_common *common = session->common;
    int rc = MF_OK;

    if (common->output) {
        *path = join_path("", common->output, NULL, "");
        return MF_OK;
    }
    if (session->comm->rank == 0 && *common->data_folder && !common->dry_run) rc = make_folder(common->data_folder);
    MF_TRY(mf_agree(session->comm, rc));
    *path = join_path(common->data_folder, base, common->information, suffix);
    return MF_OK;
}

int mf_spacing_check(const struct mf_reals *given)
{
    if (given->count > 3)
        return mf_fail(MF_USAGE, "--spacing takes one value, 2 (y x) or 3 (z y x), not %zu", given->count);
    for (size_t i = 0; i < given->count; ++i)
        if (!(given->at[i] > 0)) return mf_fail(MF_USAGE, "--spacing wants values above 0, not %g", given->at[i]);
    return MF_OK;
}

int mf_spacing_fits(const struct mf_reals *given, int ndim)
{
    if (given->count <= 1 || given->count == (size_t)ndim) return MF_OK;
    return mf_fail(MF_USAGE, "--spacing has %zu values; %s takes one, or %s", given->count,
                   ndim == 2 ? "an image" : "a volume", ndim == 2 ? "2 (y x)" : "3 (z y x)");
}

void mf_spacing_spread(const struct mf_reals *given, double spacing[3])
{
    size_t n = given->count;

    for (size_t axis = 0; axis < 3; ++axis) {
        size_t from_last = 2 - axis;

        spacing[axis] = n == 1 ? given->at[0] : from_last < n ? given->at[n - 1 - from_last] : 1;
    }
}

static int check_apart(const char *path, const char *input)
{
    struct stat out, in;

    if (stat(path, &out) != 0 || stat(input, &in) != 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return MF_OK;
    return mf_fail(MF_USAGE, "the output '%s' is the input '%s': give it another name", path, input);
}

/* Values that are written beside a header spare the inputs, and the values of inputs that have such a header. */
static int check_values(const char *path, const char *input)
{
    char *values = mf_nrrd_values(path), data[MF_DATASET_TEXT];
    int rc = check_apart(values, input);

    if (rc == MF_OK) mf_array_apart(input, data);
    if (rc == MF_OK && data[0]) rc = check_apart(values, data);
    free(values);
    return rc;
}

static int check_spared(const char *path, size_t n, const char *const *inputs)
{
    for (size_t i = 0; i < n; ++i) {
        const char *array;
        char *file;
        int rc;

        if (!inputs[i] || !*inputs[i]) continue;
        mf_array_split(inputs[i], &file, &array);
        rc = check_apart(path, file);
        if (rc == MF_OK && mf_ends_with(path, ".nhdr")) rc = check_values(path, file);
        free(file);
        MF_TRY(rc);
    }
    return MF_OK;
}

int mf_session_spares(const struct mf_session *session, const char *path, size_t n, const char *const *inputs)
{
    const char *config = mf_options_config(session->options);
    int rc = MF_OK;

    if (session->comm->rank == 0) {
        rc = check_spared(path, n, inputs);
        if (rc == MF_OK) rc = check_spared(path, 1, &config);
    }
    return mf_agree(session->comm, rc);
}

static int check_path(const char *path, const char *ending)
{
    if (!mf_ends_with(path, ending))
        return mf_fail(MF_USAGE, "cannot write '%s': its name must end with %s", path, ending);
    return mf_atomic_may(path);
}

int mf_session_may_write(const struct mf_session *session, const char *path, const char *ending)
{
    if (!path) return MF_OK;
    MF_TRY(mf_agree(session->comm, session->comm->rank == 0 ? check_path(path, ending) : MF_OK));
    return mf_session_spares(session, path, 0, NULL);
}

int mf_common_check(const struct mf_common *common)
{
    if (common->threads < 0 || common->threads > MF_THREADS_MOST)
        return mf_fail(MF_USAGE, "--threads wants 0 to %d, not %ld", MF_THREADS_MOST, common->threads);
    if (common->memory_limit < 0 || common->memory_limit > 1L << 40)
        return mf_fail(MF_USAGE, "--memory-limit wants a size in MiB, not %ld", common->memory_limit);
    if (common->timeout < 0 || common->timeout > 1L << 30)
        return mf_fail(MF_USAGE, "--timeout wants a number of seconds, 0 or more, not %ld", common->timeout);
    if (common->logging_level < 0 || common->logging_level > 50)
        return mf_fail(MF_USAGE, "--logging_level wants 0 to 50, not %ld", common->logging_level);
    if (common->output && !*common->output) return mf_fail(MF_USAGE, "--output wants a file name");
    for (size_t i = 0; i < common->gpu_ids.count; ++i)
        if (common->gpu_ids.at[i] < 0) return mf_fail(MF_USAGE, "--gpu_ids: %ld is no GPU", common->gpu_ids.at[i]);
    if (common->gpu_ids.count > 0 && strncmp(common->device, "cuda:", 5) == 0)
        return mf_fail(MF_USAGE, "--device %s and --gpu_ids contradict each other; leave one out", common->device);
    for (size_t i = 0; i < common->gpu_ids.count && !common->share_gpu; ++i)
        for (size_t k = 0; k < i; ++k)
            if (common->gpu_ids.at[k] == common->gpu_ids.at[i])
                return mf_fail(MF_USAGE,
                               "--gpu_ids names GPU %ld twice, and two ranks would share it; try: --share-gpu",
                               common->gpu_ids.at[i]);
    return MF_OK;
}

static enum mf_log_level level_of(long number)
{
    return number <= 10 ? MF_DEBUG : number <= 20 ? MF_INFO : number <= 30 ? MF_WARN : MF_QUIET;
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
    if (*common->data_folder && !whole) MF_TRY(make_folder(common->data_folder));
    path = join_path(whole ? "" : common->data_folder, common->logfile_name, *date ? date : NULL,
                     !*date && mf_ends_with(common->logfile_name, ".log") ? "" : ".log");
    rc = access(path, F_OK) == 0 ? MF_OK : mf_atomic_reaches(path);
    if (rc == MF_OK) rc = mf_log_copy(path);
    free(path);
    return rc;
}

/* Options about GPUs have an answer on the cpu too. */
static int answer_gpu_options(const struct mf_session *session)
{
    const struct mf_options *options = session->options;
    const char *device = session->backend->name;
    const int gpus = session->backend->devices != NULL;

    if (session->looks) return MF_OK;
    if (!gpus && session->common->gpu_ids.count > 0)
        return mf_fail(MF_DEVICE, "--gpu_ids %ld: the %s back end has no GPUs; leave --gpu_ids out",
                       session->common->gpu_ids.at[0], device);
    if (!gpus && session->common->share_gpu) mf_info("--share-gpu: the %s back end has no GPU to share", device);
    if (mf_options_given(options, "memory_growth") && session->common->memory_growth)
        mf_info("--memory_growth: memory is taken when it is needed, up to --memory-limit");
    if (session->common->mixed_precision)
        mf_info(
            "--enable_mixed_precision changes nothing: 16 bits hold three digits, S2 is matched to more; the %s back "
            "end computes in 32 bits, sums in 64",
            device);
    if (session->common->distributed_loss)
        mf_info("--use_distributed_loss: the loss is always shared by all ranks (%d here)", session->comm->size);
    if (mf_options_given(options, "auto_gpu_config"))
        mf_info("--%sauto_gpu_config: reconstruct and match are %splanned", session->common->auto_gpu ? "" : "no_",
                session->common->auto_gpu ? "" : "not ");
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

/* Only verbs that compute on GPUs exchange between them. */
static int open_wire(const struct mf_session *session)
{
    const enum mf_exchange wish = mf_exchange_of(session->common->exchange);

    if (!session->computes && wish == MF_EXCHANGE_NCCL)
        mf_info("--exchange nccl: nothing is exchanged between GPUs here");
    if (!session->computes || session->common->dry_run) return MF_OK;
    return mf_wire_open(session->comm, session->queue, wish);
}

/* Threads that the user asked for; 0: none in particular. */
static int threads_asked(const struct mf_common *common)
{
    const char *omp = getenv("OMP_NUM_THREADS");
    long wanted = omp ? strtol(omp, NULL, 10) : 0;

    if (common->threads > 0) return (int)common->threads;
    return wanted > 0 ? (int)wanted : 0;
}

/* A dry run promises memory: where a device has its own, a back end that only counts stands in for it. */
static int open_dry(struct mf_session *session, size_t limit)
{
    const struct mf_backend *backend = session->backend;
    const struct mf_dry_kind kind = {"", 1, session->capability};

    mf_backend_dry(&kind, &session->dry);
    session->dry.backend.name = backend->name;
    session->dry.backend.devices = backend->devices;
    session->backend = &session->dry.backend;
    MF_TRY(mf_arena_open(&session->device, &mf_mem_dry, limit));
    MF_TRY(mf_queue_dry(&session->queue, &session->dry, session->threads, session->common->deterministic,
                        session->device, session->arena));
    session->home = session->queue;
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
    session->device = session->arena;
    if (backend->host_mem && common->dry_run) return open_dry(session, limit);
    if (backend->host_mem) MF_TRY(mf_arena_open(&session->device, backend->mem, limit));
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
    mf_wire_close(session->comm);
    if (session->queue) session->backend->queue_close(session->queue);
    if (session->device != session->arena) mf_arena_close(session->device);
    mf_arena_close(session->arena);
    session->queue = session->home = NULL;
    session->arena = session->device = NULL;
}

int mf_session_to_cores(struct mf_session *session)
{
    close_local(session);
    session->capability = 0;
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
    session->looks = 0;
    session->computes = 1;
    MF_TRY(mf_device_choose(session, &device));
    MF_TRY(mf_agree(session->comm, open_local(session, device)));
    return open_wire(session);
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
    if (rc == MF_OK) rc = mf_agree(comm, answer_gpu_options(session));
    if (rc == MF_OK && !session->looks) rc = mf_where_settle(session, device);
    cores = mf_session_cores(comm);
    if (session->threads_free) session->threads = cores;
    if (!session->looks) warn_of_turns(comm, session->threads, cores);
    mf_team_threads(session->threads);
    if (rc == MF_OK) rc = mf_agree(comm, open_local(session, device));
    if (rc == MF_OK) rc = open_wire(session);
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
