/* See launch_job.h. */
#include "src/cmd/host/launch_job.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/nodelist.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/host.h"
#include "src/plan/plan.h"
#include "src/plan/toolkit.h"
#include "src/plan/visible.h"

enum { MOST = 1 << 20 };

/* ---- who starts it ---- */

static enum mf_starter starter_of(const struct mf_launch *o, const struct mf_launcher *here, const struct mf_job *job)
{
    char path[4096];

    if (o->launcher) return (enum mf_starter)(o->launcher - 1);
    if (job->hosts) return MF_BY_MPIRUN;
    if (*here->job) return job->box >= MF_BOX_DOCKER || o->mpirun ? MF_BY_MPIRUN : MF_BY_SRUN;
    return mf_program_find("sbatch", path, sizeof path) ? MF_BY_SBATCH : MF_BY_MPIRUN;
}

/* ---- how many ---- */

static int check_number(const char *option, long number)
{
    if (number >= 0 && number <= MOST) return MF_OK;
    return mf_fail(MF_USAGE, "--%s must be 0 to %d, not %ld", option, MOST, number);
}

static int check_numbers(const struct mf_launch *o)
{
    MF_TRY(check_number("nodes", o->nodes));
    MF_TRY(check_number("ntasks", o->ranks));
    MF_TRY(check_number("ntasks-per-node", o->per_node));
    MF_TRY(check_number("cpus-per-task", o->cores));
    MF_TRY(check_number("gpus", o->gpus));
    if (o->mpirun && o->launcher == 1 + MF_BY_SRUN)
        return mf_fail(MF_USAGE, "--mpirun and --launcher srun contradict each other");
    return MF_OK;
}

/* As Slurm's own option of this name, of one type at most. */
static int read_gpus(const struct mf_launch *o, struct mf_job_part *part)
{
    const char *text = o->gpus_per_node, *colon = text ? strchr(text, ':') : NULL;
    const char *number = colon ? colon + 1 : text;
    const size_t type = colon ? (size_t)(colon - text) : 0, digits = text ? strspn(number, "0123456789") : 0;
    const long gpus = text ? strtol(number, NULL, 10) : 0;

    if (!text) return MF_OK;
    if (digits == 0 || number[digits] || digits > 7 || gpus > MOST || (colon && gpus == 0) ||
        (colon && (type == 0 || type >= sizeof part->gpu_type || strcspn(text, ",=") < type)))
        return mf_fail(MF_USAGE,
                       "--gpus-per-node '%.100s': write it as NUMBER, 0 to %d, or as TYPE:NUMBER, like a100:4 "
                       "(types: sinfo --format %%G)",
                       text, MOST);
    part->gpus = gpus;
    snprintf(part->gpu_type, sizeof part->gpu_type, "%.*s", (int)type, text);
    return MF_OK;
}

static int says_numbers(const struct mf_launch *o, const struct mf_job_part *part)
{
    return o->nodes > 0 || o->ranks > 0 || o->per_node > 0 || o->gpus > 0 || part->gpus > 0;
}

static long gpus_of_plan(const struct mf_plan *plan)
{
    if (!plan->device || plan->ranks_per_gpu == 0) return 0;
    return (long)((plan->per_node + plan->ranks_per_gpu - 1) / plan->ranks_per_gpu);
}

/* A plan knows how many GPUs, and not what Slurm calls them. */
static int check_beside_plan(const struct mf_launch *o, const struct mf_job_part *part, long gpus)
{
    const int is_typed = *part->gpu_type != '\0';

    if (o->nodes > 0 || o->ranks > 0 || o->per_node > 0 || o->gpus > 0 || o->cores > 0 || o->also.count > 0 ||
        (part->gpus > 0 && !is_typed))
        return mf_fail(MF_USAGE, "--plan says how many nodes, ranks, cores and GPUs: leave the other numbers out");
    if (is_typed && part->gpus != gpus)
        return mf_fail(MF_USAGE, "--gpus-per-node %.100s: the plan has %ld GPU%s of a node", o->gpus_per_node, gpus,
                       MF_S(gpus));
    return MF_OK;
}

static int from_plan(const struct mf_launch *o, struct mf_job_part *part)
{
    struct mf_plan plan;
    int rc = mf_plan_read(o->plan, &plan);

    if (rc == MF_OK) rc = check_beside_plan(o, part, gpus_of_plan(&plan));
    if (rc == MF_OK) {
        part->nodes = (long)plan.nodes;
        part->ranks = (long)plan.ranks;
        part->per_node = (long)plan.per_node;
        part->cores = (long)plan.threads;
        part->gpus = gpus_of_plan(&plan);
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

/* Hosts of --hosts: so many hosts, with so many ranks at least, at most, together. */
struct offer {
    long hosts, least, most, ranks;
};

static int read_hosts(const char *text, struct offer *offer)
{
    struct mf_words names = {0};
    long *slots = NULL;
    int rc = mf_nodelist_slots(text, &names, &slots);

    *offer = (struct offer){.hosts = (long)names.count, .least = MOST};
    for (size_t i = 0; rc == MF_OK && i < names.count; ++i) {
        offer->ranks += slots[i];
        if (slots[i] < offer->least) offer->least = slots[i];
        if (slots[i] > offer->most) offer->most = slots[i];
    }
    mf_words_free(&names);
    free(slots);
    return rc;
}

/* Ranks that nobody has counted are those of the hosts; those that somebody has must find room there. */
static int fit_hosts(const struct mf_launch *o, struct mf_job *job)
{
    struct mf_job_part *part = job->part;
    struct offer offer;
    long each; /* as somebody said it; 0: nobody did */

    MF_TRY(read_hosts(job->hosts, &offer));
    if ((o->plan || o->nodes > 0) && part->nodes != offer.hosts)
        return mf_fail(MF_USAGE, "--hosts names %ld host%s, and %ld node%s are asked for", offer.hosts,
                       MF_S(offer.hosts), part->nodes, MF_S(part->nodes));
    each = o->plan ? part->per_node : o->per_node > 0 ? o->per_node : o->ranks > 0 ? 0 : part->gpus;
    part->nodes = offer.hosts;
    if (each > offer.least)
        return mf_fail(MF_USAGE, "--hosts offers %ld rank%s on a host, and %ld are asked for", offer.least,
                       MF_S(offer.least), each);
    if (!o->plan) part->ranks = o->ranks > 0 ? o->ranks : each > 0 ? each * offer.hosts : offer.ranks;
    if (part->ranks > offer.ranks)
        return mf_fail(MF_USAGE, "--hosts offers places for %ld rank%s, and %ld are asked for", offer.ranks,
                       MF_S(offer.ranks), part->ranks);
    part->per_node = each > 0 ? each : o->ranks > 0 ? (o->ranks + offer.hosts - 1) / offer.hosts : offer.most;
    job->uneven = each == 0 && offer.least != offer.most;
    return MF_OK;
}

/* Number of nodes if not given: one, or those of the surrounding job that have ranks. If the number of ranks is given,
 * mpirun chooses the job's nodes itself. */
static long nodes_open(const struct mf_launch *o, const struct mf_launcher *here, const struct mf_job *job)
{
    const int is_elsewhere = job->by == MF_BY_SBATCH || job->hosts || mf_job_wraps(job);
    long wanted = MOST;

    if (is_elsewhere || here->job_nodes < 1 || (job->by == MF_BY_MPIRUN && o->ranks > 0)) return 1;
    if (o->ranks > 0) wanted = o->per_node > 0 ? (o->ranks + o->per_node - 1) / o->per_node : o->ranks;
    if (wanted > here->job_nodes) wanted = here->job_nodes;
    while (o->gpus > 0 && o->gpus % wanted != 0) --wanted; /* as many on each */
    return wanted;
}

/* Fills what the options leave open. */
static int from_options(const struct mf_launch *o, const struct mf_launcher *here, const struct mf_job *job,
                        struct mf_job_part *part)
{
    int local;

    part->nodes = o->nodes > 0 ? o->nodes : nodes_open(o, here, job);
    local = job->by == MF_BY_MPIRUN && !job->hosts && part->nodes == 1;
    if (o->gpus % part->nodes != 0 || (o->gpus > 0 && part->gpus > 0 && o->gpus != part->nodes * part->gpus))
        return mf_fail(MF_USAGE, "--gpus %ld on %ld node%s: say --gpus-per-node, and nodes of another kind by --and",
                       o->gpus, part->nodes, MF_S(part->nodes));
    if (o->gpus > 0) part->gpus = o->gpus / part->nodes;
    if (local && (!says_numbers(o, part) || ((o->deepspeed || o->ddp) && part->gpus == 0))) part->gpus = gpus_here();
    if (o->per_node > 0)
        part->per_node = o->per_node;
    else if (o->ranks > 0)
        part->per_node = (o->ranks + part->nodes - 1) / part->nodes;
    else if (part->gpus > 0)
        part->per_node = part->gpus;
    else
        part->per_node = local && !says_numbers(o, part) ? numa_nodes_here() : 1;
    part->ranks = o->ranks > 0 ? o->ranks : part->nodes * part->per_node;
    if (part->ranks > part->nodes * part->per_node || part->ranks < part->nodes)
        return mf_fail(MF_USAGE, "%ld ranks do not fit on %ld node%s with %ld each", part->ranks, part->nodes,
                       MF_S(part->nodes), part->per_node);
    if (local && o->run && job->box == MF_BOX_NONE && part->gpus > gpus_here())
        return mf_fail(MF_DEVICE, "%ld GPUs are asked for, this machine shows %ld", part->gpus, gpus_here());
    return MF_OK;
}

/* "NODES:RANKS[:CORES[:GPUS[:CONSTRAINT]]]": how many numbers there are, and what follows them; 0: another form. */
static size_t read_part(const char *text, struct mf_job_part *part, const char **rest)
{
    long *const number[] = {&part->nodes, &part->per_node, &part->cores, &part->gpus};
    size_t n = 0;

    for (*rest = text; n < 4; ++n) {
        char *end;

        if (n > 0 && *(*rest)++ != ':') return 0;
        *number[n] = strtol(*rest, &end, 10);
        if (end == *rest || *number[n] < (n < 2) || *number[n] > MOST) return 0;
        *rest = end;
        if (*end == '\0') return n + 1;
    }
    return **rest == ':' && *++*rest ? n : 0;
}

static int other_part(const char *text, struct mf_job_part *part)
{
    const char *constraint;

    if (read_part(text, part, &constraint) < 2)
        return mf_fail(MF_USAGE, "--and '%.100s': write it as NODES:RANKS[:CORES[:GPUS[:CONSTRAINT]]]", text);
    part->constraint = *constraint ? constraint : NULL;
    part->ranks = part->nodes * part->per_node;
    return MF_OK;
}

/* Ranks of mpirun stay on this machine, as far as anybody says. */
static int stays_here(const struct mf_job *job)
{
    static const char *const hosts[] = {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
                                        "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"};

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; ++i)
        if (getenv(hosts[i])) return 0;
    return job->by == MF_BY_MPIRUN && job->box == MF_BOX_NONE && !job->hosts && !job->within && job->part->nodes <= 1;
}

/* mpirun would not bind the ranks, and says so in words of its own. */
static int check_cores(const struct mf_launch *o, const struct mf_job *job)
{
    const long wanted = job->part->per_node * job->part->cores, here = (long)mf_host_cores("");

    if (!o->run || !stays_here(job) || here == 0 || wanted <= here) return MF_OK;
    return mf_fail(MF_DEVICE,
                   "%s %ld cores, this machine has %ld; %s, or start what takes turns yourself: mpirun --oversubscribe "
                   "-n %ld mesoforge ...",
                   o->plan ? "the plan needs" : "the ranks need", wanted, here,
                   o->plan ? "plan for fewer --ranks or --threads" : "ask for fewer", job->part->per_node);
}

/* Most tasks of the surrounding job on a node; on all of its nodes; number of nodes. 0: not known. */
static long tasks_of(const struct mf_launcher *here, long *all, long *nodes)
{
    long *tasks = NULL, most = 0;
    size_t n = 0;

    *all = *nodes = 0;
    if (*here->tasks && mf_nodelist_tasks(here->tasks, &tasks, &n) != MF_OK) mf_err_clear();
    for (size_t i = 0; i < n; ++i) {
        *all += tasks[i];
        if (tasks[i] > most) most = tasks[i];
    }
    *nodes = (long)n;
    free(tasks);
    return most;
}

/* The mpirun of a container does not see the job: it is told how many ranks that has. */
static void from_job(const struct mf_launcher *here, struct mf_job_part *part)
{
    long all, nodes, each = tasks_of(here, &all, &nodes);

    if (each == 0) return;
    part->nodes = nodes;
    part->per_node = each;
    part->ranks = all;
}

/* A step does not inherit the cores of a task from its job. If there are more ranks than tasks, they share the
 * cores. */
static long step_cores(const struct mf_launcher *here, const struct mf_job_part *part)
{
    long all, nodes, each = tasks_of(here, &all, &nodes), share;

    if (here->cores < 1 || each == 0 || part->per_node == 0) return here->cores;
    share = each * here->cores / part->per_node;
    return share < here->cores ? share : here->cores;
}

/* GPUs that the job around this has on its nodes: as many as here. */
static long gpus_of_job(const struct mf_job *job)
{
    long gpus = job->devices && *job->devices ? 1 : 0;

    for (const char *at = job->devices; gpus > 0 && *at; ++at) gpus += *at == ',';
    return gpus;
}

/* --deepspeed, --ddp */
static int check_gpus(const struct mf_launch *o, const struct mf_launcher *here, const struct mf_job *job)
{
    long nodes = job->part->nodes, each = job->part->per_node, gpus = job->part->gpus, all;
    const char *word = o->ddp ? "ddp" : "deepspeed";

    if (!o->deepspeed && !o->ddp) return MF_OK;
    if (job->takes_all) {
        each = tasks_of(here, &all, &nodes);
        gpus = gpus_of_job(job);
    }
    if (o->deepspeed && gpus * (nodes > 0 ? nodes : 1) < 2)
        return mf_fail(MF_DEVICE, "--deepspeed needs two GPUs or more, but %ld %s here; give --num_gpus", gpus,
                       gpus == 1 ? "is" : "are");
    for (size_t i = 1; i < job->parts && each == gpus; ++i) {
        each = job->part[i].per_node;
        gpus = job->part[i].gpus;
    }
    if (each != gpus)
        return mf_fail(MF_USAGE, "--%s is one rank per GPU: %ld rank%s and %ld GPU%s of a node do not agree", word,
                       each, MF_S(each), gpus, MF_S(gpus));
    return MF_OK;
}

/* Sum over all kinds of nodes; 0: nobody has said a number. */
static long sum_of(const struct mf_job *job)
{
    long ranks = 0;

    for (size_t i = 0; i < job->parts; ++i) ranks += job->part[i].ranks;
    return ranks;
}

static int check_sum(const struct mf_job *job)
{
    const long ranks = sum_of(job);

    if (ranks <= MOST) return MF_OK;
    return mf_fail(MF_USAGE, "a run has at most %d ranks, and %ld are asked for", MOST, ranks);
}

int mf_launch_place(const struct mf_launch *o, const struct mf_launcher *here, struct mf_job *job)
{
    struct mf_job_part *part = job->part;

    MF_TRY(check_numbers(o));
    MF_TRY(read_gpus(o, part));
    job->by = starter_of(o, here, job);
    job->mpirun_inside = o->mpirun && job->by == MF_BY_SBATCH;
    job->parts = 1 + o->also.count;
    if (job->parts > MF_JOB_PARTS)
        return mf_fail(MF_USAGE, "--and: at most %d kinds of nodes, not %zu", MF_JOB_PARTS, job->parts);
    if (o->plan)
        MF_TRY(from_plan(o, part));
    else if (says_numbers(o, part) || job->by == MF_BY_SBATCH || !*here->job)
        MF_TRY(from_options(o, here, job, part));
    else
        job->takes_all = !job->hosts;
    if (job->takes_all && mf_job_wraps(job)) from_job(here, part);
    if (job->by == MF_BY_SRUN && *here->job && !o->plan) part->cores = step_cores(here, part);
    if (job->hosts && job->by == MF_BY_MPIRUN) MF_TRY(fit_hosts(o, job));
    if (o->cores > 0) part->cores = o->cores;
    part->constraint = o->constraint;
    MF_TRY(check_cores(o, job));
    for (size_t i = 0; i < o->also.count; ++i) MF_TRY(other_part(o->also.at[i], &job->part[i + 1]));
    MF_TRY(check_sum(job));
    return check_gpus(o, here, job);
}

long mf_launch_ranks(const struct mf_job *job)
{
    const struct mf_launcher here = mf_launcher_find();
    long ranks = sum_of(job), nodes;

    if (ranks == 0) (void)tasks_of(&here, &ranks, &nodes);
    return ranks;
}
