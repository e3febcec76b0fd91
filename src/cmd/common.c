/* See common.h. */
#include "src/cmd/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/output.h"
#include "src/session/cores.h"

const struct mf_opt mf_common_opts[] = {
    MF_OPT(mf_common, "device", device, MF_TEXT, "auto",
           "where to compute: auto, cpu, cuda, cuda:N, or (for tests, never by auto) shadow: cpu behind closed memory"),
    MF_OPT(mf_common, "threads", threads, MF_LONG, "0",
           "threads per rank; 0: OMP_NUM_THREADS, else the cores this rank may use"),
    MF_OPT(mf_common, "memory-limit", memory_limit, MF_LONG, "0",
           "most memory for arrays, per rank [MiB], of the host and of a device each; 0: no limit"),
    MF_OPT(mf_common, "gpu-memory-fraction", gpu_fraction, MF_REAL, "1",
           "most memory for arrays on a GPU, of all that it has (0..1]; ranks that share it have a part each"),
    MF_OPT(mf_common, "seed", seed, MF_LONG, "0", "of all random numbers"),
    MF_OPT(mf_common, "deterministic", deterministic, MF_FLAG, NULL,
           "the same bits on any number of ranks (a little slower)"),
    MF_OPT(mf_common, "timeout", timeout, MF_LONG, "600",
           "longest that a rank may keep the others waiting before the job ends [s]; 0: for ever"),
    MF_OPT(mf_common, "json", json, MF_FLAG, NULL, "print one JSON object on standard output"),
    MF_OPT(mf_common, "dry-run", dry_run, MF_FLAG, NULL,
           "say what would be done and the bytes it needs (match, reconstruct: and the time), and stop; not for bench, "
           "eval, infer answer, infer classify, infer regress and properties"),
    MF_OPT(mf_common, "data_folder", data_folder, MF_TEXT, "results", "folder for outputs, made if missing"),
    MF_OPT(mf_common, "output", output, MF_TEXT, NULL, "output file; wins over --data_folder"),
    MF_OPT(mf_common, "information", information, MF_TEXT, NULL, "infix for the names of output files"),
    MF_OPT(mf_common, "logging_level", logging_level, MF_LONG, "20",
           "10 debug, 20 information, 30 warnings, 40 errors only; also MESOFORGE_LOG"),
    MF_OPT(mf_common, "logfile_name", logfile_name, MF_TEXT, NULL,
           "copy the log to this file (.log), in --data_folder unless it is a path from /"),
    MF_OPT(mf_common, "logfile_date", logfile_date, MF_FLAG, NULL, "put date and time into the log file's name"),
    MF_OPT(mf_common, "gpu_ids", gpu_ids, MF_LONGS, NULL, "GPUs to use on each node: local rank k takes the k-th"),
    MF_OPT(mf_common, "share-gpu", share_gpu, MF_FLAG, NULL, "several ranks may take one GPU"),
    MF_CHOICE(
        mf_common, "bind", unbound, "auto", "auto|none",
        "which cores ranks use; auto: shares of their own, on an idle node of several NUMA nodes that a job of Slurm "
        "has whole; none: all to all"),
    MF_OPT(mf_common, "verbose", verbose, MF_FLAG, NULL,
           "log where every rank runs: host, GPU, cores, NUMA node, network adapter"),
    MF_CHOICE(
        mf_common, "exchange", exchange, "auto", "auto|nccl|host",
        "how ranks on GPUs exchange slices and gradients; nccl: from GPU to GPU; host: through the host's memory; "
        "auto: nccl where every rank has a GPU of its own and NCCL is here"),
    MF_OPT_END};

int mf_common_check(const struct mf_common *common)
{
    if (common->threads < 0 || common->threads > MF_THREADS_MOST)
        return mf_fail(MF_USAGE, "--threads must be 0 to %d, not %ld", MF_THREADS_MOST, common->threads);
    if (common->memory_limit < 0 || common->memory_limit > 1L << 40)
        return mf_fail(MF_USAGE, "--memory-limit must be a size in MiB, not %ld", common->memory_limit);
    if (!(common->gpu_fraction > 0 && common->gpu_fraction <= 1))
        return mf_fail(MF_USAGE, "--gpu-memory-fraction %g: it must be above 0 and at most 1", common->gpu_fraction);
    if (common->timeout < 0 || common->timeout > 1L << 30)
        return mf_fail(MF_USAGE, "--timeout must be a number of seconds, 0 or more, not %ld", common->timeout);
    if (common->logging_level < 0 || common->logging_level > 50)
        return mf_fail(MF_USAGE, "--logging_level must be 0 to 50, not %ld", common->logging_level);
    if (common->output && !*common->output) return mf_fail(MF_USAGE, "--output needs a file name");
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

/* Options that name files, beside one that names them already. */
static void say_names(const struct mf_session *session)
{
    const struct mf_common *common = mf_common_of(session);

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

struct mf_settings mf_common_settings(const struct mf_common *common)
{
    return (struct mf_settings){.device = common->device,
                                .gpu_ids = common->gpu_ids,
                                .share_gpu = common->share_gpu,
                                .lenient = common->lenient,
                                .bind = !common->unbound,
                                .threads = common->threads,
                                .memory_limit = (size_t)common->memory_limit << 20,
                                .gpu_fraction = common->gpu_fraction,
                                .exchange = common->exchange,
                                .seed = common->seed,
                                .deterministic = common->deterministic,
                                .dry_run = common->dry_run,
                                .patience = (double)common->timeout,
                                .level = level_of(common->logging_level),
                                .says_place = common->verbose,
                                .phases = common->log_view && !common->dry_run};
}

int mf_common_begin(struct mf_session *session)
{
    const struct mf_comm *comm = session->comm;

    MF_TRY(mf_agree(comm, mf_common_check(mf_common_of(session))));
    session->settings = mf_common_settings(mf_common_of(session));
    MF_TRY(mf_session_begin(session));
    return mf_agree(comm, open_log(mf_common_of(session), comm->rank));
}

int mf_common_open(struct mf_session *session)
{
    say_names(session);
    say_keys(mf_options_of(session));
    return mf_session_open(session);
}

void mf_common_end(struct mf_session *session)
{
    mf_session_close(session);
    mf_log_copy(NULL);
}
