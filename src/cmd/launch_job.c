/* See launch_job.h. */
#include "src/cmd/launch_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/plan/host.h"
#include "src/plan/plan.h"
#include "src/plan/visible.h"

enum { MOST = 1 << 20 };

/* ---- who starts it ---- */

static int is_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char file[4096];

    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, path, name);
        if (access(file, X_OK) == 0) return 1;
    }
    return 0;
}

static enum mf_starter starter_of(const struct mf_launch *o, const struct mf_launcher *here, const struct mf_job *job)
{
    if (strcmp(o->launcher, "srun") == 0) return MF_BY_SRUN;
    if (strcmp(o->launcher, "sbatch") == 0) return MF_BY_SBATCH;
    if (strcmp(o->launcher, "mpirun") == 0 || job->hosts) return MF_BY_MPIRUN;
    if (*here->job) return job->box >= MF_BOX_DOCKER || o->mpirun ? MF_BY_MPIRUN : MF_BY_SRUN;
    return is_in_path("sbatch") ? MF_BY_SBATCH : MF_BY_MPIRUN;
}

/* ---- how many ---- */

static int check_number(const char *option, long number)
{
    if (number >= 0 && number <= MOST) return MF_OK;
    return mf_fail(MF_USAGE, "--%s wants 0 to %d, not %ld", option, MOST, number);
}

static int check_numbers(const struct mf_launch *o)
{
    MF_TRY(check_number("nodes", o->nodes));
    MF_TRY(check_number("ntasks", o->ranks));
    MF_TRY(check_number("ntasks-per-node", o->per_node));
    MF_TRY(check_number("cpus-per-task", o->cores));
    MF_TRY(check_number("gpus", o->gpus));
    MF_TRY(check_number("gpus-per-node", o->gpus_per_node));
    if (o->mpirun && strcmp(o->launcher, "srun") == 0)
        return mf_fail(MF_USAGE, "--mpirun and --launcher srun contradict each other");
    return MF_OK;
}

static int says_numbers(const struct mf_launch *o)
{
    return o->nodes > 0 || o->ranks > 0 || o->per_node > 0 || o->gpus > 0 || o->gpus_per_node > 0;
}

static int from_plan(const struct mf_launch *o, struct mf_job_part *part)
{
    struct mf_plan plan;
    int rc = mf_plan_read(o->plan, &plan);

    if (rc == MF_OK && (says_numbers(o) || o->cores > 0 || o->also.count > 0))
        rc = mf_fail(MF_USAGE, "--plan says how many nodes, ranks, cores and GPUs: leave the other numbers out");
    if (rc == MF_OK) {
        part->nodes = (long)plan.nodes;
        part->ranks = (long)plan.ranks;
        part->per_node = (long)plan.per_node;
        part->cores = (long)plan.threads;
        if (plan.device && plan.ranks_per_gpu > 0)
            part->gpus = (long)((plan.per_node + plan.ranks_per_gpu - 1) / plan.ranks_per_gpu);
    }
    mf_plan_free(&plan);
    return rc;
}

/* GPUs of this machine that CUDA would show. */
static long gpus_here(void)
{
    char remark[MF_NVML_TEXT];
    struct mf_nvml seen;
    size_t *place, shown;

    mf_nvml_look(&seen);
    place = MF_MUST(calloc(seen.gpus + 1, sizeof *place), "GPUs");
    shown = mf_visible(getenv("CUDA_VISIBLE_DEVICES"), &seen, place, remark);
    free(place);
    mf_nvml_free(&seen);
    return (long)shown;
}

static long numa_nodes_here(void)
{
    struct mf_limits limits;
    struct mf_host host;

    mf_cgroup_limits("", &limits);
    mf_host_look("", &limits, &host);
    return host.numa_nodes > 0 && host.numa_nodes <= MOST ? (long)host.numa_nodes : 1;
}

/* What the options leave open. */
static int from_options(const struct mf_launch *o, const struct mf_job *job, struct mf_job_part *part)
{
    int local = job->by == MF_BY_MPIRUN && !job->hosts && o->nodes <= 1;

    part->nodes = o->nodes > 0 ? o->nodes : 1;
    part->gpus = o->gpus_per_node;
    if (o->gpus % part->nodes != 0 ||
        (o->gpus > 0 && o->gpus_per_node > 0 && o->gpus != part->nodes * o->gpus_per_node))
        return mf_fail(MF_USAGE, "--gpus %ld on %ld node%s: say --gpus-per-node, and nodes of another kind by --and",
                       o->gpus, part->nodes, MF_S(part->nodes));
    if (o->gpus > 0) part->gpus = o->gpus / part->nodes;
    if (local && (!says_numbers(o) || (o->deepspeed && part->gpus == 0))) part->gpus = gpus_here();
    if (o->per_node > 0)
        part->per_node = o->per_node;
    else if (o->ranks > 0)
        part->per_node = (o->ranks + part->nodes - 1) / part->nodes;
    else if (part->gpus > 0)
        part->per_node = part->gpus;
    else
        part->per_node = local && !says_numbers(o) ? numa_nodes_here() : 1;
    part->ranks = o->ranks > 0 ? o->ranks : part->nodes * part->per_node;
    if (part->ranks > part->nodes * part->per_node || part->ranks < part->nodes)
        return mf_fail(MF_USAGE, "%ld ranks do not fit on %ld node%s with %ld each", part->ranks, part->nodes,
                       MF_S(part->nodes), part->per_node);
    if (local && o->run && job->box == MF_BOX_NONE && part->gpus > gpus_here())
        return mf_fail(MF_DEVICE, "%ld GPUs are asked for, this machine shows %ld", part->gpus, gpus_here());
    return MF_OK;
}

/* "NODES:RANKS[:CORES[:GPUS[:CONSTRAINT]]]". */
static int other_part(const char *text, struct mf_job_part *part)
{
    long *const number[] = {&part->nodes, &part->per_node, &part->cores, &part->gpus};
    const char *at = text;
    size_t n = 0;

    for (char *end; n < 4; at = end + 1) {
        *number[n] = strtol(at, &end, 10);
        if (end == at || *number[n] < (n < 2) || *number[n] > MOST) break;
        ++n;
        if (*end == '\0') at = "";
        if (*end == '\0' || *end != ':') {
            if (*end) n = 0;
            break;
        }
    }
    if (n < 2) return mf_fail(MF_USAGE, "--and '%.100s': write it as NODES:RANKS[:CORES[:GPUS[:CONSTRAINT]]]", text);
    part->constraint = *at ? at : NULL;
    part->ranks = part->nodes * part->per_node;
    return MF_OK;
}

static int check_deepspeed(const struct mf_launch *o, const struct mf_job_part *part)
{
    if (!o->deepspeed) return MF_OK;
    if (part->gpus * part->nodes < 2)
        return mf_fail(MF_DEVICE, "--deepspeed shares a run out to two GPUs or more, %ld are here; say --num_gpus",
                       part->gpus * part->nodes);
    if (part->per_node != part->gpus)
        return mf_fail(MF_USAGE, "--deepspeed is one rank per GPU: %ld ranks and %ld GPUs of a node do not agree",
                       part->per_node, part->gpus);
    return MF_OK;
}

int mf_launch_place(const struct mf_launch *o, const struct mf_launcher *here, struct mf_job *job)
{
    struct mf_job_part *part = job->part;

    MF_TRY(check_numbers(o));
    job->by = starter_of(o, here, job);
    job->mpirun_inside = o->mpirun && job->by == MF_BY_SBATCH;
    job->parts = 1 + o->also.count;
    if (job->parts > MF_JOB_PARTS)
        return mf_fail(MF_USAGE, "--and: at most %d kinds of nodes, not %zu", MF_JOB_PARTS, job->parts);
    if (o->plan)
        MF_TRY(from_plan(o, part));
    else if (says_numbers(o) || job->by == MF_BY_SBATCH || !*here->job)
        MF_TRY(from_options(o, job, part));
    else if (job->by == MF_BY_SRUN)
        part->cores = here->cores; /* which a step does not have from its job */
    if (o->cores > 0) part->cores = o->cores;
    part->constraint = o->constraint;
    for (size_t i = 0; i < o->also.count; ++i) MF_TRY(other_part(o->also.at[i], &job->part[i + 1]));
    return check_deepspeed(o, part);
}

/* ---- what every rank runs ---- */

/* The words as the first task of an array has them. */
static void first_of(const struct mf_job *job, size_t words, const char *const *word, struct mf_words *to)
{
    long number = job->array ? strtol(job->array, NULL, 10) : 0;

    for (size_t i = 0; i < words; ++i) {
        char *text = NULL;
        size_t size;
        FILE *out = MF_MUST(open_memstream(&text, &size), "a command");
        const char *from = word[i], *at;

        while (job->array && (at = strstr(from, "%a"))) {
            fprintf(out, "%.*s%ld", (int)(at - from), from, number);
            from = at + 2;
        }
        fputs(from, out);
        if (fclose(out) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a command");
        mf_words_add(to, text);
        free(text);
    }
}

/* An option that the verb has and nobody gave. */
static void add_open(const struct mf_options *options, const char *word, const char *value, struct mf_words *command)
{
    if (!mf_options_knows(options, word) || mf_options_given(options, word)) return;
    mf_words_say(command, "--%s", word);
    mf_words_add(command, value);
}

static void add_more(const struct mf_launch *o, const struct mf_job *job, const struct mf_options *options,
                     struct mf_words *command)
{
    int is_run = mf_options_knows(options, "restart");

    if (is_run && o->plan) add_open(options, "plan", o->plan, command);
    if (is_run && job->by == MF_BY_SBATCH) add_open(options, "restart", "auto", command);
    if (!o->debug) return;
    add_open(options, "batch-size", "4", command);
    add_open(options, "max-iter", "20", command);
    add_open(options, "logging-level", "10", command);
}

int mf_launch_command(const struct mf_launch *o, const struct mf_job *job, size_t words, const char *const *word,
                      struct mf_words *command)
{
    const struct mf_cmd *verb = mf_cmd_find(word[0]);
    struct mf_options *options = NULL;
    struct mf_words first = {0};
    void *into;
    int rc;

    if (!verb || verb->alone)
        return mf_fail(MF_USAGE, "'%.100s' is no verb that can be started on ranks; mesoforge help lists verbs",
                       word[0]);
    into = MF_MUST(calloc(1, verb->size), "options");
    first_of(job, words, word, &first);
    rc = mf_options_parse(&options, verb->name, verb->tables, into, verb->size, (int)words - 1, first.at + 1,
                          verb->positional_max);
    if (rc == MF_OK) {
        size_t end = 0;

        while (end < words && strcmp(word[end], "--") != 0) ++end;
        mf_words_all(command, end, word);
        add_more(o, job, options, command);
        mf_words_all(command, words - end, word + end);
    }
    mf_options_free(options);
    mf_words_free(&first);
    free(into);
    return rc;
}
