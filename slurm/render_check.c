/* See render.h: what cannot be rendered. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slurm/render.h"
#include "src/base/err.h"
#include "src/base/text.h"

/* Slurm reads "#SBATCH" lines by rules of its own: nothing that these could mean goes into one. */
#define FOR_SLURM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+:,./=&|*()[]-"

static int check_text(const char *option, const char *text, const char *allowed)
{
    size_t n = text ? strspn(text, allowed) : 0;

    if (!text || (n > 0 && text[n] == '\0' && *text != '-')) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--%s '%.100s': Slurm's options here are letters, digits and _@%%+:,./=&|*()[]-, and begin "
                   "with no '-'",
                   option, text);
}

/* "MINUTES[:SECONDS]", "HOURS:MINUTES:SECONDS", "DAYS-HOURS[:MINUTES[:SECONDS]]", or without end. */
static int is_time(const char *text)
{
    enum { DIGITS = 8 };
    int numbers = 0, days = 0;

    if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0) return 1;
    for (const char *at = text;; ++at) {
        const size_t n = strspn(at, "0123456789");

        at += n;
        if (n == 0 || n > DIGITS || ++numbers > 3 + days) return 0;
        if (*at == '\0') return 1;
        if (*at == '-' && numbers == 1)
            days = 1;
        else if (*at != ':')
            return 0;
    }
}

static int check_time(const char *time)
{
    if (!time || is_time(time)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--time '%.100s': write it as MINUTES[:SECONDS], HOURS:MINUTES:SECONDS, "
                   "DAYS-HOURS[:MINUTES[:SECONDS]] or UNLIMITED",
                   time);
}

/* Megabytes, or with a unit. */
static int check_memory(const char *memory)
{
    const size_t n = memory ? strspn(memory, "0123456789") : 0;

    if (!memory || (n > 0 && strlen(memory + n) <= 1 && strspn(memory + n, "KMGT") == strlen(memory + n))) return MF_OK;
    return mf_fail(MF_USAGE, "--mem '%.100s': write it as a number and K, M, G or T, such as 64G", memory);
}

long mf_job_seconds(const char *time)
{
    long part[4] = {0}, n = 0, days = 0;
    const char *at = time, *dash = time ? strchr(time, '-') : NULL;

    if (dash) days = strtol(time, NULL, 10);
    for (at = dash ? dash + 1 : time; at && n < 4;) {
        char *end;

        part[n++] = strtol(at, &end, 10);
        at = end != at && *end == ':' ? end + 1 : NULL;
    }
    if (dash) return ((days * 24 + part[0]) * 60 + part[1]) * 60 + part[2];
    return n == 3 ? (part[0] * 60 + part[1]) * 60 + part[2] : part[0] * 60 + part[1];
}

/* Asked to leave as it begins, a run would go back into the queue for ever. */
static int check_save(const struct mf_job *job)
{
    const long seconds = mf_job_seconds(job->time);

    if (job->save_before < 0 || job->save_before > 65535)
        return mf_fail(MF_USAGE, "--save-before must be 0 to 65535 seconds, not %ld", job->save_before);
    if (seconds == 0 || job->save_before < seconds) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--save-before %ld: the job has %ld seconds (--time %s), so the run would be asked to stop at once",
                   job->save_before, seconds, job->time);
}

/* "gres=...,gpu[:TYPE][:NUMBER],...": what else gres names is the user's. */
static int is_gres_of_gpus(const char *text)
{
    const char *equals = strchr(text, '=');

    if (!equals || strncmp(text, "gres", (size_t)(equals - text)) != 0) return 0;
    for (const char *at = equals + 1; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strcspn(at, ":,") == 3 && strncmp(at, "gpu", 3) == 0) return 1;
    }
    return 0;
}

struct further {
    const char *slurm, *say;
    int of_script; /* elsewhere it is the user's */
};

/* Options of Slurm that launch has itself: without knowing their values it would write a wrong script. */
static const struct further own[] = {
    {"nodes", "--nodes", 0},
    {"ntasks", "--ntasks", 0},
    {"ntasks-per-node", "--ntasks-per-node", 0},
    {"tasks-per-node", "--ntasks-per-node", 0},
    {"ntasks-per-gpu", "--ntasks-per-node, beside --gpus-per-node", 0},
    {"ntasks-per-socket", "--ntasks-per-node", 0},
    {"ntasks-per-core", "--ntasks-per-node", 0},
    {"cpus-per-task", "--cpus-per-task", 0},
    {"gpus", "--gpus, or --gpus-per-node TYPE:NUMBER", 0},
    {"gpus-per-node", "--gpus-per-node [TYPE:]NUMBER", 0},
    {"gpus-per-task", "--gpus-per-node [TYPE:]NUMBER", 0},
    {"gpus-per-socket", "--gpus-per-node [TYPE:]NUMBER", 0},
    {"tres-per-node", "--gpus-per-node [TYPE:]NUMBER; what are no GPUs: gres=NAME:NUMBER", 0},
    {"tres-per-task", "--gpus-per-node [TYPE:]NUMBER; what are no GPUs: gres=NAME:NUMBER", 0},
    {"array", "--array", 1},
    {"time", "--time", 0},
    {"signal", "--save-before", 0},
    {"output", "--log", 1},
    {"job-name", "--job-name", 0},
    {"partition", "--partition", 0},
    {"account", "--account", 0},
    {"qos", "--qos", 0},
    {"constraint", "--constraint", 0},
    {"mem", "--mem", 0},
    {"mpi", "--mpi", 0},
    {"chdir", "cd there before launch", 0},
    {"help", "man sbatch", 0},
    {"usage", "man sbatch", 0},
    {"version", "sbatch --version", 0},
    {"wrap", "-- and the verb", 1},
    {NULL, NULL, 0}};

/* Options that would undo a promise of the line or script: Slurm heeds the last word. */
static const struct further promised[] = {
    {"kill-on-bad-exit", "--kill-on-bad-exit=1, without which ranks wait for one that is lost", 0},
    {"no-requeue", "--requeue, by which a saved run continues", 1},
    {"open-mode", "--open-mode=append, by which a continued run keeps its log", 1},
    {NULL, NULL, 0}};

/* Slurm takes the beginning of an option's name for the whole. NULL: none of these. */
static const char *said_of(const struct further *list, const struct mf_job *job, const char *text)
{
    const size_t n = strcspn(text, "=");

    for (; list->slurm && n > 0; ++list)
        if (strncmp(list->slurm, text, n) == 0 && (!list->of_script || job->by == MF_BY_SBATCH)) return list->say;
    return NULL;
}

static int check_further(const struct mf_job *job, const char *text)
{
    const char *say = is_gres_of_gpus(text) ? "--gpus-per-node [TYPE:]NUMBER" : said_of(own, job, text);

    if (say) return mf_fail(MF_USAGE, "--slurm-options '%.100s': launch must know this; try: %s", text, say);
    say = said_of(promised, job, text);
    if (say) return mf_fail(MF_USAGE, "--slurm-options '%.100s': launch needs %s; leave it out", text, say);
    return check_text("slurm-options", text, FOR_SLURM);
}

static int check_slurm(const struct mf_job *job)
{
    const struct {
        const char *option, *text, *allowed;
    } texts[] = {{"job-name", job->name, FOR_SLURM},
                 {"partition", job->partition, FOR_SLURM},
                 {"account", job->account, FOR_SLURM},
                 {"qos", job->qos, FOR_SLURM},
                 {"array", job->array, "0123456789,:%-"},
                 {"log", job->log, FOR_SLURM},
                 {"mpi", job->mpi, FOR_SLURM}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        MF_TRY(check_text(texts[i].option, texts[i].text, texts[i].allowed));
    MF_TRY(check_time(job->time));
    MF_TRY(check_memory(job->memory));
    for (size_t i = 0; i < job->more; ++i) MF_TRY(check_further(job, job->more_at[i]));
    for (size_t i = 0; i < job->parts; ++i) {
        const char *type = job->part[i].gpu_type;

        MF_TRY(check_text("constraint", job->part[i].constraint, FOR_SLURM));
        MF_TRY(check_text("gpus-per-node", *type ? type : NULL, FOR_SLURM));
    }
    return check_save(job);
}

int mf_job_wraps(const struct mf_job *job)
{
    return job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN || job->box == MF_BOX_ENROOT;
}

/* Both write mounts into a table whose columns blanks separate. */
static int check_blanks(const struct mf_job *job, const char *path)
{
    if ((job->box != MF_BOX_PYXIS && job->box != MF_BOX_ENROOT) || !strpbrk(path, " \t")) return MF_OK;
    return mf_fail(MF_USAGE, "'%.200s' has blanks in its name, and %s cannot mount it", path, mf_box_names[job->box]);
}

/* They are words of docker and podman here; a script looks when it runs. */
static int check_devices(const struct mf_job *job)
{
    const int are_words = job->by == MF_BY_MPIRUN && (job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN);

    if (!are_words || !job->devices || !mf_job_has_gpus(job) || mf_box_is_gpus(job->devices)) return MF_OK;
    return mf_fail(MF_USAGE, "'%.100s' (SLURM_JOB_GPUS, else CUDA_VISIBLE_DEVICES) is no list of GPUs such as 0,1",
                   job->devices);
}

static int check_box(const struct mf_job *job)
{
    const struct mf_job_part *part = job->part;

    if (job->box == MF_BOX_NONE && job->mounts > 0) return mf_fail(MF_USAGE, "--mount needs --container");
    if (job->box == MF_BOX_NONE) return MF_OK;
    if (!*job->image) return mf_fail(MF_USAGE, "--container %s: names no image", mf_box_names[job->box]);
    MF_TRY(mf_box_check_image("container", job->image));
    if (strpbrk(job->folder, ",:\n"))
        return mf_fail(MF_USAGE, "the current folder '%.200s' has ',' or ':' in its name and cannot be mounted",
                       job->folder);
    MF_TRY(check_devices(job));
    MF_TRY(check_blanks(job, job->folder));
    for (size_t i = 0; i < job->mounts; ++i) {
        MF_TRY(mf_box_check_mount("mount", job->mount[i]));
        MF_TRY(check_blanks(job, job->mount[i]));
    }
    if (job->box == MF_BOX_PYXIS && (job->by == MF_BY_MPIRUN || job->mpirun_inside))
        return mf_fail(MF_USAGE, "pyxis is a part of srun; with mpirun take apptainer, enroot, docker or podman");
    if (mf_job_wraps(job) && (job->by == MF_BY_SRUN || job->parts > 1 || part->nodes > 1 || job->hosts))
        return mf_fail(MF_USAGE, "%s holds all ranks in one container on one node; for several take apptainer or pyxis",
                       mf_box_names[job->box]);
    return MF_OK;
}

enum { TASK_MOST = 4000000 }; /* Slurm's own limit; sites set lower ones */

static int bad_array(const char *array)
{
    return mf_fail(MF_USAGE, "--array '%.100s': write it as 0-9, 0-9:2, 1,3,5 or 0-9%%4, from small to large", array);
}

static int task(const char **at, long *number)
{
    char *end = NULL;

    if (!isdigit((unsigned char)**at)) return 0;
    *number = strtol(*at, &end, 10);
    *at = end;
    return *number <= TASK_MOST;
}

/* "N", "N-M" or "N-M:STEP"; @p last is that of its tasks. */
static int tasks_of(const char **at, long *first, long *last)
{
    long step = 1;

    if (!task(at, first)) return 0;
    *last = *first;
    if (**at != '-') return 1;
    ++*at;
    if (!task(at, last) || *last < *first) return 0;
    if (**at == ':') {
        ++*at;
        if (!task(at, &step) || step < 1) return 0;
    }
    *last -= (*last - *first) % step;
    return 1;
}

int mf_job_array(const char *array, long *first, long *last)
{
    const char *at = array;
    long from, to, most;

    if (!tasks_of(&at, first, last)) return bad_array(array);
    while (*at == ',') {
        ++at;
        if (!tasks_of(&at, &from, &to)) return bad_array(array);
        if (to != *first) *last = to;
    }
    if (*at == '%') {
        ++at;
        if (!task(&at, &most) || most < 1) return bad_array(array);
    }
    return *at ? bad_array(array) : MF_OK;
}

/* Refuses options that only Slurm could use when mpirun starts the ranks. Refuses options of a job when the ranks are a
 * step of one. */
static int check_slurm_heeds(const struct mf_job *job)
{
    const struct {
        const char *option;
        int given, of_job;
    } asked[] = {{"partition", job->partition != NULL, 1},
                 {"account", job->account != NULL, 1},
                 {"qos", job->qos != NULL, 1},
                 {"save-before", job->save_before > 0, 1},
                 {"time", job->time != NULL, 0},
                 {"constraint", job->part->constraint != NULL, 0},
                 {"mem", job->memory != NULL, 0},
                 {"exclusive", job->exclusive, 0},
                 {"job-name", job->name != NULL, 0},
                 {"slurm-options", job->more > 0, 0}};

    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        if (asked[i].given && job->by == MF_BY_MPIRUN)
            return mf_fail(MF_USAGE,
                           "--%s is for Slurm, but here mpirun starts the ranks: give --launcher sbatch or srun (auto: "
                           "mpirun where no sbatch is in PATH)",
                           asked[i].option);
        if (asked[i].given && asked[i].of_job && job->by == MF_BY_SRUN && job->within)
            return mf_fail(MF_USAGE, "--%s is fixed by the surrounding job: leave it out, or give --launcher sbatch",
                           asked[i].option);
    }
    return MF_OK;
}

/* Refuses options that the launcher of the ranks would not heed. */
static int check_heeded(const struct mf_job *job)
{
    MF_TRY(check_slurm_heeds(job));
    if (job->log && job->by != MF_BY_SBATCH)
        return mf_fail(MF_USAGE, "--log needs --launcher sbatch; otherwise the job prints here");
    if (job->by == MF_BY_SRUN && job->save_before > 0 && !job->time)
        return mf_fail(MF_USAGE, "--save-before counts back from the end of --time: srun needs both");
    if (job->mpi && (job->by == MF_BY_MPIRUN || job->mpirun_inside || mf_job_wraps(job)))
        return mf_fail(MF_USAGE, "--mpi is how srun starts ranks, and here mpirun does");
    return MF_OK;
}

int mf_job_check(const struct mf_job *job)
{
    MF_TRY(check_slurm(job));
    MF_TRY(check_box(job));
    MF_TRY(check_heeded(job));
    for (size_t i = 0; i < job->words; ++i)
        if (strcmp(job->word[i], ":") == 0)
            return mf_fail(MF_USAGE, "srun and mpirun begin another program after the word ':'; write a file as ./:");
    if (job->parts > 1 && (job->by != MF_BY_SBATCH || job->mpirun_inside))
        return mf_fail(MF_USAGE,
                       "--and: nodes of several kinds need a script whose ranks srun starts (--launcher sbatch)");
    if (job->array && job->by != MF_BY_SBATCH) return mf_fail(MF_USAGE, "--array belongs to --launcher sbatch");
    if (job->array && job->parts > 1)
        return mf_fail(MF_USAGE, "Slurm has no arrays of jobs with several kinds of nodes");
    if (job->hosts && job->by != MF_BY_MPIRUN)
        return mf_fail(MF_USAGE, "--hosts is for mpirun; Slurm's nodes are chosen by --slurm-options nodelist=...");
    for (size_t i = 0; job->array && i < job->words; ++i)
        if (strstr(job->word[i], "%a")) return MF_OK;
    if (job->array)
        return mf_fail(MF_USAGE, "all tasks of the array would be the same: use %%a, the number of the task, as in "
                                 "--seed %%a --output volume-%%a.h5");
    return MF_OK;
}
