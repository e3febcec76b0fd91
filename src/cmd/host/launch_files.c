/* See launch_job.h: the log of a job and the mounts of its container, as far as launch can check them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/host/launch_job.h"
#include "src/cmd/host/mount.h"

/* ---- the log ---- */

/* Why no file could be made in a folder; NULL: it could. */
static const char *wrong_with(const char *folder)
{
    struct stat is;

    if (stat(folder, &is) != 0) return "is not here";
    if (!S_ISDIR(is.st_mode)) return "is no folder";
    return access(folder, W_OK) == 0 ? NULL : "cannot be written";
}

/* Folders with names that Slurm makes (%j) are not checked. The nodes may have folders that this machine lacks, and a
 * script may be for another machine. So only a job that is submitted from here must find its folder. */
static int check_log_file(const char *option, const char *file, int is_submitted)
{
    const char *slash = strrchr(file, '/'), *wrong;
    char folder[4096];
    struct stat is;

    if ((slash && !slash[1]) || (stat(file, &is) == 0 && S_ISDIR(is.st_mode)))
        return mf_fail(MF_USAGE, "%s '%.200s': is a folder; name a file in it, %.200s%s%%x-%%j.out", option, file, file,
                       slash && !slash[1] ? "" : "/");
    if (!slash || slash == file) return MF_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - file), file);
    wrong = strchr(folder, '%') ? NULL : wrong_with(folder);
    if (!wrong) return MF_OK;
    if (is_submitted && *folder != '/')
        return mf_fail(
            MF_USAGE,
            "%s '%.200s': '%.200s' %s, and Slurm would end the job without a word; make it, or name another folder",
            option, file, folder, wrong);
    mf_log_open(0, 1, MF_WARN);
    mf_warn("%s: '%.200s' %s; where the job runs it must be a folder that can be written, else Slurm ends it without a "
            "word",
            option, folder, wrong);
    return MF_OK;
}

int mf_launch_log_check(const struct mf_job *job, int is_submitted)
{
    if (job->by != MF_BY_SBATCH) return MF_OK;
    if (job->name && strchr(job->name, '/') && (!job->log || strstr(job->log, "%x")))
        return mf_fail(
            MF_USAGE,
            "--job-name '%.100s': its log has that name, and Slurm would look for a folder: --log says another",
            job->name);
    if (job->log) MF_TRY(check_log_file("--log", job->log, is_submitted));
    for (size_t i = 0; i < job->more; ++i)
        if (strncmp(job->more_at[i], "error=", 6) == 0)
            MF_TRY(check_log_file("--slurm-options error", job->more_at[i] + 6, is_submitted));
    return MF_OK;
}

/* ---- mounts ---- */

int mf_launch_mount(const struct mf_texts *mounts, struct mf_launch_job *l)
{
    for (size_t i = 0; i < mounts->count; ++i) MF_TRY(mf_mount_whole("mount", l->job.box, mounts->at[i], &l->mounts));
    l->job.mounts = l->mounts.count;
    l->job.mount = (const char *const *)l->mounts.at;
    return MF_OK;
}
