/* See render.h. */
#include "slurm/render.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

/* ---- options of Slurm ---- */

static void say_number(struct mf_words *to, const char *option, long number)
{
    if (number > 0) mf_words_say(to, "--%s=%ld", option, number);
}

static void say_text(struct mf_words *to, const char *option, const char *text)
{
    if (text) mf_words_say(to, "--%s=%s", option, text);
}

/* Within a job a step has as many ranks as the job has tasks (SLURM_NTASKS), unless it states their number. */
static void part_words(struct mf_words *to, const struct mf_job *job, const struct mf_job_part *part)
{
    const int is_step = job->by == MF_BY_SRUN && job->within;

    say_number(to, "nodes", part->nodes);
    if (is_step || part->ranks != part->nodes * part->per_node) say_number(to, "ntasks", part->ranks);
    say_number(to, "ntasks-per-node", part->per_node);
    say_number(to, "cpus-per-task", part->cores);
    if (*part->gpu_type)
        mf_words_say(to, "--gpus-per-node=%s:%ld", part->gpu_type, part->gpus);
    else
        say_number(to, "gpus-per-node", part->gpus);
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

static void say_mounts(struct mf_words *to, const struct mf_job *job, const char *option)
{
    mf_box_say_mount(to, option, job->folder);
    for (size_t i = 0; i < job->mounts; ++i) mf_box_say_mount(to, option, job->mount[i]);
}

/* Asked for, or, where nobody said a number, had by the job around this. */
int mf_job_has_gpus(const struct mf_job *job)
{
    for (size_t i = 0; i < job->parts; ++i)
        if (job->part[i].gpus > 0) return 1;
    return job->takes_all && job->devices && *job->devices;
}

static void apptainer_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {"apptainer", "exec", "--sharens"};

    mf_words_all(to, 3, begin);
    if (mf_job_has_gpus(job)) mf_words_add(to, "--nv");
    say_mounts(to, job, "--bind=");
    mf_words_say(to, "--pwd=%s", job->folder);
    mf_words_add(to, job->image);
}

/* The GPUs of the job and no others; a script asks the job that it is. */
static void say_gpus(struct mf_words *to, const struct mf_job *job)
{
    const int is_docker = job->box == MF_BOX_DOCKER;

    if (job->by == MF_BY_SBATCH)
        mf_words_shell(to, is_docker ? "--gpus=\\\"device=\"$gpus\"\\\""
                                     : "--device=nvidia.com/gpu=${gpus//,/ --device=nvidia.com/gpu=}");
    else if (is_docker && job->flag == MF_GPUS_BY_OPTION && !job->devices)
        mf_words_add(to, "--gpus=all");
    else
        mf_box_say_gpus(to, is_docker ? job->flag : MF_GPUS_BY_CDI, job->devices ? job->devices : "all");
}

/* Variables to pass into the container. The program and its OpenMP know their job by them. Others are settings of MPI
 * from docs/CLUSTER.md and doctor. CUDA_VISIBLE_DEVICES is not passed: GPUs have other numbers in the container. */
static const char *const known[] = {"OMP_NUM_THREADS",
                                    "SLURM_JOB_ID",
                                    "SLURM_RESTART_COUNT",
                                    "SLURM_JOB_END_TIME",
                                    "MESOFORGE_GRAM_WEIGHTS",
                                    "OMPI_MCA_mpi_yield_when_idle",
                                    "OMPI_MCA_rmaps_base_oversubscribe",
                                    "OMPI_MCA_btl_vader_single_copy_mechanism"};

static void say_environment(struct mf_words *to)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) mf_words_say(to, "--env=%s", known[i]);
}

static void docker_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {
        "run", "--rm", "--ipc=host", "--network=host", "--ulimit=memlock=-1", "--ulimit=stack=67108864"};

    mf_words_add(to, mf_box_names[job->box]);
    mf_words_all(to, sizeof begin / sizeof *begin, begin);
    if (mf_job_has_gpus(job)) say_gpus(to, job);
    say_environment(to);
    if (job->box == MF_BOX_DOCKER && job->user > 0) mf_words_say(to, "--user=%ld:%ld", job->user, job->group);
    if (job->box == MF_BOX_PODMAN && job->user > 0) mf_words_add(to, "--userns=keep-id");
    say_mounts(to, job, "--volume=");
    mf_words_say(to, "--workdir=%s", job->folder);
    mf_words_add(to, job->image);
}

/* The same to enroot, for which one that is not set is empty: OpenMP complains of that. */
static void say_set(struct mf_words *to, const struct mf_job *job)
{
    char text[160];

    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        snprintf(text, sizeof text, "${%s:+--env=%s}", known[i], known[i]);
        if (job->by == MF_BY_SBATCH)
            mf_words_shell(to, text);
        else if (getenv(known[i]))
            mf_words_say(to, "--env=%s", known[i]);
    }
}

static void enroot_words(struct mf_words *to, const struct mf_job *job)
{
    static const char *const begin[] = {"enroot", "start"};

    mf_words_all(to, 2, begin);
    say_set(to, job);
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

/* Places ranks by the tasks that the job has, which may have been changed. For mpirun tasks are slots, on each node as
 * many as Slurm gave it. Needs say_ranks() before. */
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
    if (job->words == 0) return; /* the caller's, who asked for the launcher's part */
    mf_words_add(to, job->word[0]);
    mf_words_numbered(to, job->words - 1, job->word + 1);
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
    if (job->by == MF_BY_MPIRUN || job->mpirun_inside || mf_job_wraps(job)) {
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

/* Name of the job that goes back into the queue: one task alone of an array. The number of the last of its tasks to
 * start is that of the whole array, too. */
static const char *itself(const struct mf_job *job)
{
    return job->array ? "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"" : "\"$SLURM_JOB_ID\"";
}

/* Sets ranks from Slurm's description of the job, tasks "2(x3),1"; a container has those of one node. With
 * --ntasks-per-node Slurm states that number for every node, even if the script wants fewer tasks (22.05). */
static void say_ranks(FILE *to, const struct mf_job *job)
{
    const struct mf_job_part *part = job->part;

    fprintf(to,
            "# as many ranks as the job has tasks now, whatever it was asked for with\n"
            "ranks=${SLURM_TASKS_PER_NODE:-%ld}\n",
            job->part->ranks);
    fputs(mf_job_wraps(job) ? "ranks=${ranks%%[!0-9]*}\n"
                            : "ranks=${ranks//(x/*} ranks=${ranks//)/} ranks=$((${ranks//,/+}))\n",
          to);
    if (part->ranks != part->nodes * part->per_node)
        fputs("[ \"${SLURM_NTASKS:-$ranks}\" -ge \"$ranks\" ] || ranks=$SLURM_NTASKS\n", to);
    fputs("\n", to);
}

/* Runs the command and stores its status in rc. The shell polls mpirun once a second. After a wait that a signal
 * interrupts, bash (5.2) may lose the status for ever. */
static void body(FILE *to, const struct mf_job *job, int by_shell)
{
    struct mf_words words = {0};

    if (by_shell) say_ranks(to, job);
    if ((job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN) && mf_job_has_gpus(job))
        fputs("# those that the job was given, whatever else this node has\n"
              "gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES-all}}\n\n",
              to);
    if (by_shell) fprintf(to, "[ ! \"$asked\" ] || { scontrol requeue %s; exit 75; } # before it began\n", itself(job));
    if (by_shell) fputs("began=$SECONDS\n", to);
    mf_job_words(job, &words);
    mf_words_print(to, &words, job->array ? "SLURM_ARRAY_TASK_ID" : NULL);
    fputs(by_shell ? " &\n\n"
                     "# signals are passed on, but not at once to an mpirun that has just begun: it may forget them\n"
                     "told=\n"
                     "while kill -0 $! 2>/dev/null; do\n"
                     "    if [ $((SECONDS - began)) -gt 10 ]; then\n"
                     "        [ ! \"$saves\" ] || { kill -USR2 $!; saves='' told=1; }\n"
                     "        [ ! \"$asked\" ] || { kill -USR1 $!; asked='' told=1; }\n"
                     "    fi\n"
                     "    sleep 1\n"
                     "done\n"
                     "wait $!\nrc=$?\n"
                   : "\nrc=$?\n",
          to);
    mf_words_free(&words);
}

/* The flight records of this job: each part of a job of several has a number of its own. */
static const char *records(const struct mf_job *job)
{
    return job->parts == 1 ? "\"mesoforge-flight-$SLURM_JOB_ID-*\"" : "'mesoforge-flight-*'";
}

/* A flight record of this start is one that did not exist at the begin, or has changed. The comparison uses only the
 * file system, because its clock may differ from the node's. */
static void say_records(FILE *to, const struct mf_job *job)
{
    fprintf(to,
            "records() { find . -maxdepth 1 -name %s -printf '%%f %%i %%T@\\n' | sort; }\n"
            "before=$(records)\n\n",
            records(job));
}

/* Back into the queue, and the end. The daemons of an mpirun that this shell waits for may notice first. */
static void tail(FILE *to, const struct mf_job *job, int by_shell)
{
    fputs("\n# 75: stopped early with a valid checkpoint; 4 and a flight record: a rank or node is lost,\n"
          "# which Slurm may not know yet",
          to);
    fputs(by_shell ? "; 205: mpirun has lost a node; 138, 140: a signal came before\n# anybody listened\n" : "\n", to);
    fputs("lost=\n[ \"$rc\" -ne 4 ] || [ \"$(records)\" = \"$before\" ] || lost=record\n", to);
    if (by_shell)
        fputs("[ \"$rc\" -ne 205 ] || lost=mpirun\n"
              "case $told$rc in 1138 | 1140) lost=start ;; esac\n",
              to);
    fprintf(to,
            "if [ \"$rc\" -eq 75 ] || { [ \"$lost\" ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt 10 ]; }; then\n"
            "    scontrol requeue %s\nfi\nexit \"$rc\"\n",
            itself(job));
}

/* In a container nobody else could. Where date names a bad time, the variable is empty. */
static void say_end(FILE *to, const struct mf_job *job)
{
    fprintf(to,
            "# when the job ends, for --max-hours auto: older versions of Slurm do not say it\n"
            "export SLURM_JOB_END_TIME=${SLURM_JOB_END_TIME:-$(unset \"${!SQUEUE_@}\"; SLURM_TIME_FORMAT=standard \\\n"
            "    squeue -h -j %s -o %%e | head -n 1 | date +%%s -f -)}\n\n",
            itself(job));
}

void mf_job_script(FILE *to, const struct mf_job *job, const char *maker)
{
    int by_shell = job->mpirun_inside || mf_job_wraps(job);

    fputs("#!/bin/bash\n", to);
    head(to, job, by_shell);
    fprintf(to, "# %s\n\n", maker);
    if (job->part->cores > 0 && job->parts == 1)
        fputs("# srun does not hand --cpus-per-task of the job to its steps (since Slurm 22.05) unless told so\n"
              "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}\n\n",
              to);
    if (by_shell)
        fputs("# Slurm signals this shell when time is nearly up (USR1); somebody may ask for a checkpoint (USR2)\n"
              "asked='' saves=''\n"
              "trap 'asked=1' USR1\n"
              "trap 'saves=1' USR2\n\n",
              to);
    if (job->says_end) say_end(to, job);
    say_records(to, job);
    body(to, job, by_shell);
    tail(to, job, by_shell);
}
