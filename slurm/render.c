/* See render.h. */
#include "slurm/render.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/err.h"
#include "src/base/text.h"

const char *const mf_box_names[MF_BOXES] = {"none", "apptainer", "pyxis", "docker", "podman", "enroot"};

/* ---- what cannot be rendered ---- */

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
        return mf_fail(MF_USAGE, "--save-before wants 0 to 65535 seconds, not %ld", job->save_before);
    if (seconds == 0 || job->save_before < seconds) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--save-before %ld: the job has %ld seconds (--time %s), and would be asked to leave at once",
                   job->save_before, seconds, job->time);
}

/* "[TYPE:]NUMBER,..." of gpus-per-node and gpus-per-task, or "gpu[:TYPE][:NUMBER],..." among what gres names. */
static long count_gpus(const char *list, int is_gres)
{
    long gpus = 0;

    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t n = strcspn(at, ","), name = strcspn(at, ":,");
        size_t digits = 0;

        while (digits < n && isdigit((unsigned char)at[n - digits - 1])) ++digits;
        if (is_gres && (name != 3 || strncmp(at, "gpu", 3) != 0)) continue;
        gpus += digits > 0 && (digits == n || at[n - digits - 1] == ':') ? strtol(at + n - digits, NULL, 10) : 1;
    }
    return gpus;
}

/* GPUs of a node that a further option of Slurm asks for, as those of a type must be; 0: none. */
static long further_gpus(const char *text, const struct mf_job_part *part)
{
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : 0;

    if (n == 4 && strncmp(text, "gres", n) == 0) return count_gpus(equals + 1, 1);
    if (n != 13) return 0;
    if (strncmp(text, "gpus-per-node", n) == 0) return count_gpus(equals + 1, 0);
    return strncmp(text, "gpus-per-task", n) == 0 ? count_gpus(equals + 1, 0) * part->per_node : 0;
}

/* Slurm refuses GPUs of a type beside GPUs of any: those of further options take the place of launch's own. */
static int has_further_gpus(const struct mf_job *job)
{
    const struct mf_job_part one = {.per_node = 1};

    for (size_t i = 0; i < job->more; ++i)
        if (further_gpus(job->more_at[i], &one) > 0) return 1;
    return 0;
}

/* Ranks follow launch's own number: without one there must be ranks enough for all GPUs. */
static int check_further_gpus(const struct mf_job *job, const char *text)
{
    for (size_t i = 0; i < job->parts; ++i) {
        const struct mf_job_part *part = &job->part[i];
        const long gpus = further_gpus(text, part);

        if (gpus > 0 && part->ranks > 0 && (part->gpus > 0 ? part->gpus != gpus : part->per_node < gpus))
            return mf_fail(MF_USAGE,
                           "--slurm-options '%.100s': %ld GPU%s of a node, and launch counts on %ld; try with it: "
                           "--gpus-per-node %ld",
                           text, gpus, MF_S(gpus), part->gpus, gpus);
    }
    return MF_OK;
}

/* What launch has an option of its own for: of what it is not told it would make the wrong script. Slurm takes the
 * beginning of an option's name for the whole. */
static int check_further(const struct mf_job *job, const char *text)
{
    static const struct {
        const char *slurm, *say;
        int of_script;
    } own[] = {{"nodes", "--nodes", 0},
               {"ntasks", "--ntasks", 0},
               {"ntasks-per-node", "--ntasks-per-node", 0},
               {"tasks-per-node", "--ntasks-per-node", 0},
               {"cpus-per-task", "--cpus-per-task", 0},
               {"gpus", "--gpus, of a type --slurm-options gpus-per-node=TYPE:NUMBER", 0},
               {"gpus-per-node", "--gpus-per-node, of a type --slurm-options gpus-per-node=TYPE:NUMBER", 0},
               {"array", "--array", 1},
               {"time", "--time", 0},
               {"signal", "--save-before", 0},
               {"output", "--log", 1},
               {"job-name", "--job-name", 0},
               {"chdir", "cd there before launch", 0},
               {"wrap", "-- and the verb", 1}};
    const size_t n = strcspn(text, "=");
    const int has_type = strncmp(text, "gpus-per-node=", 14) == 0 && strchr(text, ':');

    for (size_t i = 0; i < sizeof own / sizeof *own && !has_type; ++i)
        if (n > 0 && strncmp(own[i].slurm, text, n) == 0 && (!own[i].of_script || job->by == MF_BY_SBATCH))
            return mf_fail(MF_USAGE, "--slurm-options '%.100s': launch has to know of that; try: %s", text, own[i].say);
    MF_TRY(check_further_gpus(job, text));
    return check_text("slurm-options", text, FOR_SLURM);
}

static int check_slurm(const struct mf_job *job)
{
    const struct {
        const char *option, *text, *allowed;
    } texts[] = {{"job-name", job->name, FOR_SLURM},     {"partition", job->partition, FOR_SLURM},
                 {"account", job->account, FOR_SLURM},   {"qos", job->qos, FOR_SLURM},
                 {"mem", job->memory, "0123456789KMGT"}, {"array", job->array, "0123456789,:%-"},
                 {"log", job->log, FOR_SLURM},           {"mpi", job->mpi, FOR_SLURM}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        MF_TRY(check_text(texts[i].option, texts[i].text, texts[i].allowed));
    MF_TRY(check_time(job->time));
    for (size_t i = 0; i < job->more; ++i) MF_TRY(check_further(job, job->more_at[i]));
    for (size_t i = 0; i < job->parts; ++i) MF_TRY(check_text("constraint", job->part[i].constraint, FOR_SLURM));
    return check_save(job);
}

/* In a container one mpirun starts all ranks. */
static int wraps_launcher(const struct mf_job *job)
{
    return job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN || job->box == MF_BOX_ENROOT;
}

/* Both write mounts into a table whose columns blanks separate. */
static int check_blanks(const struct mf_job *job, const char *path)
{
    if ((job->box != MF_BOX_PYXIS && job->box != MF_BOX_ENROOT) || !strpbrk(path, " \t")) return MF_OK;
    return mf_fail(MF_USAGE, "'%.200s' has blanks in its name, and %s cannot mount it", path, mf_box_names[job->box]);
}

static int check_mount(const char *mount)
{
    const char *first = strchr(mount, ':'), *second = first ? strchr(first + 1, ':') : NULL;

    if (!*mount || first == mount || strpbrk(mount, ",\n") ||
        (second && strcmp(second, ":ro") != 0 && strcmp(second, ":rw") != 0))
        return mf_fail(MF_USAGE,
                       "--mount '%.200s': write it as DIR, DIR:DIR or DIR:DIR:ro; ',' separates mounts "
                       "and cannot be part of one",
                       mount);
    if (*mount != '/')
        return mf_fail(MF_USAGE, "--mount '%.200s': docker and podman take that name for a new volume; try: ./%.200s",
                       mount, mount);
    if (first && first[1] != '/')
        return mf_fail(MF_USAGE,
                       "--mount '%.200s': the path in the container begins with '/', too; write it as DIR, DIR:/DIR "
                       "or DIR:/DIR:ro",
                       mount);
    return MF_OK;
}

static int check_box(const struct mf_job *job)
{
    const struct mf_job_part *part = job->part;

    if (job->box == MF_BOX_NONE && job->mounts > 0)
        return mf_fail(MF_USAGE, "--mount is what a container sees: it belongs to --container");
    if (job->box == MF_BOX_NONE) return MF_OK;
    if (!*job->image) return mf_fail(MF_USAGE, "--container %s: names no image", mf_box_names[job->box]);
    if (*job->image == '-' || strpbrk(job->image, "\n"))
        return mf_fail(MF_USAGE, "--container '%.200s': an image does not begin with '-'", job->image);
    if (strpbrk(job->folder, ",:\n"))
        return mf_fail(MF_USAGE, "the current folder '%.200s' has ',' or ':' in its name and cannot be mounted",
                       job->folder);
    MF_TRY(check_blanks(job, job->folder));
    for (size_t i = 0; i < job->mounts; ++i) {
        MF_TRY(check_mount(job->mount[i]));
        MF_TRY(check_blanks(job, job->mount[i]));
    }
    if (job->box == MF_BOX_PYXIS && (job->by == MF_BY_MPIRUN || job->mpirun_inside))
        return mf_fail(MF_USAGE, "pyxis is a part of srun; with mpirun take apptainer, enroot, docker or podman");
    if (wraps_launcher(job) && (job->by == MF_BY_SRUN || job->parts > 1 || part->nodes > 1 || job->hosts))
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

/* What only Slurm could heed, where mpirun starts the ranks; what only a job has, where they are a step of one. */
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
                           "--%s is for Slurm, and here mpirun starts the ranks: say --launcher sbatch or srun (auto: "
                           "mpirun where no sbatch is in PATH)",
                           asked[i].option);
        if (asked[i].given && asked[i].of_job && job->by == MF_BY_SRUN && job->within)
            return mf_fail(MF_USAGE, "--%s is settled by the job around this: leave it out, or say --launcher sbatch",
                           asked[i].option);
    }
    return MF_OK;
}

/* What the one who starts the ranks would not heed. */
static int check_heeded(const struct mf_job *job)
{
    MF_TRY(check_slurm_heeds(job));
    if (job->log && job->by != MF_BY_SBATCH)
        return mf_fail(MF_USAGE, "--log belongs to --launcher sbatch; else what the job prints comes here");
    if (job->by == MF_BY_SRUN && job->save_before > 0 && !job->time)
        return mf_fail(MF_USAGE, "--save-before counts from the end of the time that --time gives: srun needs both");
    if (job->mpi && (job->by == MF_BY_MPIRUN || job->mpirun_inside || wraps_launcher(job)))
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
        return mf_fail(MF_USAGE, "all tasks of the array would do and write the same: let them differ by %%a, their "
                                 "number, as in --seed %%a --output volume-%%a.h5");
    return MF_OK;
}

/* ---- options of Slurm ---- */

static void say_number(struct mf_words *to, const char *option, long number)
{
    if (number > 0) mf_words_say(to, "--%s=%ld", option, number);
}

static void say_text(struct mf_words *to, const char *option, const char *text)
{
    if (text) mf_words_say(to, "--%s=%s", option, text);
}

static void part_words(struct mf_words *to, const struct mf_job *job, const struct mf_job_part *part)
{
    const int is_further = has_further_gpus(job);

    say_number(to, "nodes", part->nodes);
    if (part->ranks != part->nodes * part->per_node) say_number(to, "ntasks", part->ranks);
    say_number(to, "ntasks-per-node", part->per_node);
    say_number(to, "cpus-per-task", part->cores);
    if (!is_further) say_number(to, "gpus-per-node", part->gpus);
    say_text(to, "constraint", part->constraint);
}

static void common_words(struct mf_words *to, const struct mf_job *job)
{
    say_text(to, "job-name", job->name);
    say_text(to, "time", job->time);
    say_text(to, "partition", job->partition);
    say_text(to, "account", job->account);
    say_text(to, "qos", job->qos);
    say_text(to, "mem", job->memory);
    if (job->exclusive) mf_words_add(to, "--exclusive");
    for (size_t i = 0; i < job->more; ++i) mf_words_say(to, "--%s", job->more_at[i]);
}

/* ---- containers ---- */

/* "DIR" as "DIR:DIR". */
static void say_mount(struct mf_words *to, const char *option, const char *mount)
{
    if (strchr(mount, ':'))
        mf_words_say(to, "%s%s", option, mount);
    else
        mf_words_say(to, "%s%s:%s", option, mount, mount);
}

static void say_mounts(struct mf_words *to, const struct mf_job *job, const char *option)
{
    say_mount(to, option, job->folder);
    for (size_t i = 0; i < job->mounts; ++i) say_mount(to, option, job->mount[i]);
}

static int has_gpus(const struct mf_job *job)
{
    for (size_t i = 0; i < job->parts; ++i)
        if (job->part[i].gpus > 0) return 1;
    return has_further_gpus(job);
}

static void apptainer_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {"apptainer", "exec", "--sharens"};

    mf_words_all(to, 3, begin);
    if (has_gpus(job)) mf_words_add(to, "--nv");
    say_mounts(to, job, "--bind=");
    mf_words_say(to, "--pwd=%s", job->folder);
    mf_words_add(to, job->image);
}

static void docker_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {
        "run", "--rm", "--ipc=host", "--network=host", "--ulimit=memlock=-1", "--ulimit=stack=67108864"};

    mf_words_add(to, mf_box_names[job->box]);
    mf_words_all(to, sizeof begin / sizeof *begin, begin);
    if (has_gpus(job)) mf_words_add(to, job->box == MF_BOX_DOCKER ? "--gpus=all" : "--device=nvidia.com/gpu=all");
    if (job->box == MF_BOX_DOCKER && job->user > 0) mf_words_say(to, "--user=%ld:%ld", job->user, job->group);
    if (job->box == MF_BOX_PODMAN && job->user > 0) mf_words_add(to, "--userns=keep-id");
    say_mounts(to, job, "--volume=");
    mf_words_say(to, "--workdir=%s", job->folder);
    mf_words_add(to, job->image);
}

static void enroot_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {"enroot", "start"};

    mf_words_all(to, 2, begin);
    say_mounts(to, job, "--mount=");
    mf_words_add(to, job->image);
}

static void pyxis_words(struct mf_words *to, const struct mf_job *job)
{
    struct mf_words mounts = {0};
    char *all = NULL;
    size_t size;
    FILE *text = MF_MUST(open_memstream(&all, &size), "mounts");

    say_mounts(&mounts, job, "");
    for (size_t i = 0; i < mounts.count; ++i) fprintf(text, "%s%s", i ? "," : "", mounts.at[i]);
    if (fclose(text) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for mounts");
    mf_words_say(to, "--container-image=%s", job->image);
    mf_words_say(to, "--container-mounts=%s", all);
    mf_words_say(to, "--container-workdir=%s", job->folder);
    mf_words_add(to, "--no-container-mount-home");
    mf_words_free(&mounts);
    free(all);
}

/* ---- launchers ---- */

/* How many ranks and where, by the numbers that were asked for. */
static void mpirun_place(struct mf_words *to, const struct mf_job *job)
{
    const struct mf_job_part *part = job->part;
    const int even = part->nodes > 1 && !job->uneven;

    if (part->ranks > 0) mf_words_add(to, "-n");
    if (part->ranks > 0) mf_words_say(to, "%ld", part->ranks);
    if (job->hosts) {
        mf_words_add(to, "--host");
        mf_words_add(to, job->hosts);
    }
    if (even || part->cores > 0) mf_words_add(to, "--map-by");
    if (even && part->cores > 0)
        mf_words_say(to, "ppr:%ld:node:PE=%ld", part->per_node, part->cores);
    else if (even)
        mf_words_say(to, "ppr:%ld:node", part->per_node);
    else if (part->cores > 0)
        mf_words_say(to, "slot:PE=%ld", part->cores);
}

/* By those that the job has, which somebody may have changed: tasks are slots to mpirun, on each node as many as Slurm
 * has put there. say_ranks() is before it. */
static void mpirun_place_tasks(struct mf_words *to, const struct mf_job *job)
{
    char cores[60] = "slot";

    if (job->part->cores > 0)
        snprintf(cores, sizeof cores, "\"slot:PE=${SLURM_CPUS_PER_TASK:-%ld}\"", job->part->cores);
    mf_words_add(to, "-n");
    mf_words_shell(to, "\"$ranks\"");
    mf_words_add(to, "--map-by");
    mf_words_shell(to, cores);
}

static void mpirun_words(struct mf_words *to, const struct mf_job *job)
{
    const struct mf_job_part *part = job->part;

    mf_words_add(to, "mpirun");
    if (job->user == 0) mf_words_add(to, "--allow-run-as-root");
    if (job->by == MF_BY_SBATCH)
        mpirun_place_tasks(to, job);
    else
        mpirun_place(to, job);
    if (job->box == MF_BOX_ENROOT) { /* which begins where the image says */
        mf_words_add(to, "--wdir");
        mf_words_add(to, job->folder);
    }
    /* one or two ranks would be bound to one core each, with all their threads */
    mf_words_add(to, "--bind-to");
    mf_words_add(to, part->cores > 0 ? "core" : "none");
}

static void program_words(struct mf_words *to, const struct mf_job *job)
{
    if (job->box == MF_BOX_APPTAINER) apptainer_words(to, job);
    mf_words_all(to, job->words, job->word);
}

/* Options of srun for the nodes of one kind, and what they run. */
static void step_words(struct mf_words *to, const struct mf_job *job, size_t p)
{
    say_text(to, "mpi", job->mpi);
    mf_words_add(to, "--kill-on-bad-exit=1"); /* else the other ranks wait for one that is lost */
    if (job->by == MF_BY_SRUN) {
        part_words(to, job, job->part);
        common_words(to, job);
        if (job->save_before > 0) mf_words_say(to, "--signal=USR1@%ld", job->save_before);
    }
    if (job->parts > 1) {
        mf_words_say(to, "--het-group=%zu", p);
        say_number(to, "cpus-per-task", job->part[p].cores); /* which a step does not have from its job */
    }
    if (job->part[p].cores > 0) mf_words_add(to, "--cpu-bind=cores");
    if (job->box == MF_BOX_PYXIS) pyxis_words(to, job);
    program_words(to, job);
}

static void srun_words(struct mf_words *to, const struct mf_job *job)
{
    mf_words_add(to, "srun");
    for (size_t p = 0; p < job->parts; ++p) {
        if (p > 0) mf_words_add(to, ":");
        step_words(to, job, p);
    }
}

void mf_job_words(const struct mf_job *job, struct mf_words *words)
{
    if (job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN) docker_words(words, job);
    if (job->box == MF_BOX_ENROOT) enroot_words(words, job);
    if (job->by == MF_BY_MPIRUN || job->mpirun_inside || wraps_launcher(job)) {
        mpirun_words(words, job);
        program_words(words, job);
    } else {
        srun_words(words, job);
    }
}

/* ---- the script ---- */

static void sbatch_lines(FILE *to, struct mf_words *words)
{
    for (size_t i = 0; i < words->count; ++i) fprintf(to, "#SBATCH %s\n", words->at[i]);
    mf_words_free(words);
}

/* Options of the whole job; those of its parts follow. */
static void head(FILE *to, const struct mf_job *job, int by_shell)
{
    struct mf_words words = {0};

    say_text(&words, "array", job->array);
    if (job->save_before > 0) mf_words_say(&words, "--signal=%sUSR1@%ld", by_shell ? "B:" : "", job->save_before);
    mf_words_add(&words, "--requeue");
    mf_words_add(&words, "--open-mode=append");
    mf_words_say(&words, "--output=%s", job->log ? job->log : job->array ? "%x-%A_%a.out" : "%x-%j.out");
    sbatch_lines(to, &words);
    for (size_t i = 0; i < job->parts; ++i) {
        if (i > 0) fputs("#SBATCH hetjob\n", to);
        common_words(&words, job);
        part_words(&words, job, &job->part[i]);
        sbatch_lines(to, &words);
    }
}

/* Sets ranks from what Slurm says of the job, "2(x3),1" tasks; a container has those of one node. */
static void say_ranks(FILE *to, const struct mf_job *job)
{
    fprintf(to,
            "# as many ranks as the job has tasks now, whatever it was asked for with\n"
            "ranks=${SLURM_TASKS_PER_NODE:-%ld}\n",
            job->part->ranks);
    fputs(wraps_launcher(job) ? "ranks=${ranks%%[!0-9]*}\n\n"
                              : "ranks=${ranks//(x/*} ranks=${ranks//)/} ranks=$((${ranks//,/+}))\n\n",
          to);
}

/* The command, and its status in rc. A shell that waits for mpirun is woken by the signal and waits again. */
static void body(FILE *to, const struct mf_job *job, int by_shell)
{
    struct mf_words words = {0};

    if (by_shell) say_ranks(to, job);
    if (by_shell)
        fputs("# Slurm tells this shell that time is nearly up, and it passes that on\n"
              "trap 'told=1; kill -USR1 $!' USR1\n",
              to);
    mf_job_words(job, &words);
    mf_words_print(to, &words, job->array ? "SLURM_ARRAY_TASK_ID" : NULL);
    fputs(by_shell ? " &\ntold=1\nwhile [ \"$told\" ]; do\n    told=\n    wait $!\n    rc=$?\ndone\n" : "\nrc=$?\n",
          to);
    mf_words_free(&words);
}

/* The flight records of this job: each part of a job of several has a number of its own, and in some containers nobody
 * knows it. */
static const char *records(const struct mf_job *job)
{
    const int is_told = job->box != MF_BOX_DOCKER && job->box != MF_BOX_PODMAN && job->box != MF_BOX_ENROOT;

    return job->parts == 1 && is_told ? "\"mesoforge-flight-$SLURM_JOB_ID-*\"" : "'mesoforge-flight-*'";
}

/* What goes back into the queue: of an array this task alone. The number of the last of its tasks to start is that of
 * the whole array, too. */
static const char *itself(const struct mf_job *job)
{
    return job->array ? "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"" : "\"$SLURM_JOB_ID\"";
}

/* Back into the queue, and the end. The daemons of an mpirun that this shell waits for may notice first. */
static void tail(FILE *to, const struct mf_job *job, int by_shell)
{
    fputs("\n# 75: stopped early with a valid checkpoint; 4 and a flight record: a rank or node is lost,\n"
          "# which Slurm may not know yet",
          to);
    fputs(by_shell ? "; 205: mpirun has lost a node\n" : "\n", to);
    fprintf(to, "lost=$(find . -maxdepth 1 -name %s -newer \"$0\")\n[ \"$rc\" -eq 4 ] || lost=\n", records(job));
    if (by_shell) fputs("[ \"$rc\" -ne 205 ] || lost=mpirun\n", to);
    fprintf(to,
            "if [ \"$rc\" -eq 75 ] || { [ \"$lost\" ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 10 ]; }; then\n"
            "    scontrol requeue %s\nfi\nexit \"$rc\"\n",
            itself(job));
}

void mf_job_script(FILE *to, const struct mf_job *job, const char *maker)
{
    int by_shell = job->mpirun_inside || wraps_launcher(job);

    fputs("#!/bin/bash\n", to);
    head(to, job, by_shell);
    fprintf(to, "# %s\n\n", maker);
    if (job->part->cores > 0 && job->parts == 1)
        fputs("# srun does not hand --cpus-per-task of the job to its steps (since Slurm 22.05) unless told so\n"
              "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}\n\n",
              to);
    body(to, job, by_shell);
    tail(to, job, by_shell);
}
