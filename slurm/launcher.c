/* See launcher.h. It reads the environment with which the process was started, because MPI adds variables that would
 * look like a launcher's. Below mpirun, ranks inherit the variables of the batch script's shell, so mpirun is checked
 * first. */
#include "slurm/launcher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurm/render.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/log.h"

/* Is NAME among these "NAME=VALUE\0..." ? */
static const char *value_of(const char *environment, size_t bytes, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = environment; at < environment + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
    return NULL;
}

/* The environment at the start; the caller frees. */
static char *first_environment(size_t *bytes)
{
    FILE *file = fopen("/proc/self/environ", "r");
    char *text = NULL;
    size_t size = 0, n = 1;

    *bytes = 0;
    while (file && n > 0) {
        char *more = realloc(text, size + 4097);

        if (!more) break;
        text = more;
        n = fread(text + size, 1, 4096, file);
        size += n;
        text[size] = '\0';
    }
    if (file) (void)fclose(file);
    *bytes = text ? size : 0;
    return text;
}

struct variables {
    const char *at;
    size_t bytes;
};

static void text_of(const struct variables *all, const char *name, char *text, size_t n)
{
    const char *value = value_of(all->at, all->bytes, name);

    if (value) snprintf(text, n, "%s", value);
}

/* Cut off, "n12" of "n123" would be another node: a list that is too long is none. */
static void list_of(const struct variables *all, const char *name, struct mf_launcher *l, char *text, size_t n)
{
    const char *value = value_of(all->at, all->bytes, name);

    if (value && strlen(value) >= n)
        l->too_long = 1;
    else
        text_of(all, name, text, n);
}

static long number_of(const struct variables *all, const char *name, long otherwise)
{
    const char *value = value_of(all->at, all->bytes, name);
    char *end = NULL;
    long number = value ? strtol(value, &end, 10) : 0;

    return value && *value && *end == '\0' && number >= 0 ? number : otherwise;
}

static const char *kind_of(const struct variables *all)
{
    if (value_of(all->at, all->bytes, "OMPI_COMM_WORLD_SIZE")) return "mpirun";
    if (value_of(all->at, all->bytes, "SLURM_STEP_ID") && value_of(all->at, all->bytes, "SLURM_PROCID")) return "srun";
    if (value_of(all->at, all->bytes, "PMIX_RANK")) return "pmix";
    return value_of(all->at, all->bytes, "PMI_RANK") ? "pmi" : "none";
}

struct mf_launcher mf_launcher_of(const char *environment, size_t bytes)
{
    const struct variables all = {environment, bytes};
    struct mf_launcher l = {.kind = kind_of(&all)};
    const char *end = value_of(environment, bytes, "SLURM_JOB_END_TIME");
    int is_step = strcmp(l.kind, "srun") == 0;

    text_of(&all, "SLURM_JOB_ID", l.job, sizeof l.job);
    text_of(&all, "SLURM_ARRAY_JOB_ID", l.array, sizeof l.array);
    text_of(&all, "SLURM_ARRAY_TASK_ID", l.task, sizeof l.task);
    l.restarts = number_of(&all, "SLURM_RESTART_COUNT", 0);
    l.end = (double)number_of(&all, "SLURM_JOB_END_TIME", 0);
    l.end_unread = end && *end && number_of(&all, "SLURM_JOB_END_TIME", -1) < 0;
    l.job_nodes = number_of(&all, "SLURM_JOB_NUM_NODES", 0);
    l.cores = number_of(&all, "SLURM_CPUS_PER_TASK", 0);
    list_of(&all, is_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST", &l, l.nodes, sizeof l.nodes);
    list_of(&all, is_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE", &l, l.tasks, sizeof l.tasks);
    l.is_inside = *l.job && (*l.nodes || l.too_long || l.job_nodes > 0);
    return l;
}

struct mf_launcher mf_launcher_find(void)
{
    size_t bytes;
    char *text = first_environment(&bytes);
    struct mf_launcher launcher = mf_launcher_of(text ? text : "", bytes);

    free(text);
    return launcher;
}

/* The remaining time from squeue, "1-02:03:04", or "UNLIMITED" or similar: its first line, "" if it says nothing. The
 * user's own filters and formats do not apply, and a call that hangs is stopped. */
static void ask_squeue(const struct mf_launcher *l, char *left, size_t n)
{
    char job[100], *said = NULL;
    char *words[] = {"squeue", "-h", "-j", job, "-o", "%L", NULL};
    const char *const drops[] = {"SQUEUE_", NULL};
    const struct mf_child child = {.words = words, .drops = drops, .seconds = 20, .quiet = 1};

    snprintf(job, sizeof job, *l->array && *l->task ? "%s_%s" : "%s", *l->array && *l->task ? l->array : l->job,
             l->task);
    *left = '\0';
    if (mf_child_run(&child, &said) == 0) snprintf(left, n, "%.*s", (int)strcspn(said, "\n"), said);
    free(said);
}

/* When that is; INFINITY: never; 0: it does not say. */
static double end_in(const char *left)
{
    if (*left >= '0' && *left <= '9') return (double)time(NULL) + (double)mf_job_seconds(left);
    if (strcmp(left, "UNLIMITED") != 0) return 0;
    mf_info("the job has no time limit (squeue says %s), so the run has none either", left);
    return (double)INFINITY;
}

/* When the job ends. It is asked for again when a run begins, and squeue may not answer then as it did. */
static int end_of(const struct mf_launcher *l, double *end)
{
    static double said;
    char left[64] = "";

    if (l->end_unread)
        return mf_fail(MF_USAGE, "SLURM_JOB_END_TIME is no number of seconds since 1970 (date +%%s); give hours");
    if (l->end <= 0 && said <= 0 && *l->job) {
        ask_squeue(l, left, sizeof left);
        said = end_in(left);
    }
    *end = l->end > 0 ? l->end : said;
    if (*end > 0) return MF_OK;
    return mf_fail(MF_USAGE,
                   "the end of the job is unknown (SLURM_JOB_END_TIME is not set, or 0; squeue %s%s); give hours",
                   !*l->job ? "needs a job"
                   : *left  ? "says "
                            : "does not answer",
                   left);
}

int mf_launcher_hours(const struct mf_launcher *launcher, double *hours)
{
    double end = 0, left;

    MF_TRY(end_of(launcher, &end));
    left = end - (double)time(NULL);
    if (left <= 0)
        return mf_fail(MF_USAGE, "the job's time was over %.0f s ago, says %s", fabs(left),
                       launcher->end > 0 ? "SLURM_JOB_END_TIME" : "squeue");
    *hours = left / 3600;
    return MF_OK;
}
