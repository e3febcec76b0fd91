/* launch: shows or runs the command line or batch script that starts a verb on many ranks. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cores.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/host/launch_job.h"
#include "src/plan/toolkit.h"

#define ROW(word, field, kind, standard, help) MF_OPT(mf_launch, word, field, kind, standard, help)

static const struct mf_opt place_rows[] = {
    MF_CHOICE(mf_launch, "launcher", launcher, "auto", "auto|mpirun|srun|sbatch",
              "who starts the ranks; auto: srun in a job of Slurm, a script for sbatch where that is, else mpirun"),
    ROW("plan", plan, MF_TEXT, NULL,
        "nodes, ranks, cores and GPUs of this file that plan --output wrote; match and reconstruct get it too"),
    ROW("nodes", nodes, MF_LONG, "0", "of the job; 0: one, or those of the job around it"),
    ROW("ntasks", ranks, MF_LONG, "0", "ranks on all nodes; 0: those of --ntasks-per-node on each"),
    ROW("ntasks-per-node", per_node, MF_LONG, "0", "ranks of a node; 0: one per GPU, else one; mpirun: see above"),
    ROW("cpus-per-task", cores, MF_LONG, "0", "cores of a rank, to which it is bound; 0: not said"),
    ROW("gpus", gpus, MF_LONG, "0", "on all nodes"),
    ROW("gpus-per-node", gpus_per_node, MF_TEXT, NULL,
        "NUMBER of a node, or TYPE:NUMBER as Slurm names the type: a100:4; with --plan only the latter, of its number"),
    MF_ALIAS("num_gpus", "gpus-per-node"),
    ROW("and", also, MF_TEXTS, NULL,
        "more nodes of another kind, each NODES:RANKS[:CORES[:GPUS[:CONSTRAINT]]] with ranks and GPUs of a node"),
    ROW("config", config, MF_TEXT, NULL, "file of the verb's options, passed on to it"),
    ROW("deepspeed", deepspeed, MF_FLAG, NULL,
        "one rank for every GPU, for a training --zero 2, else all arrays distributed like slabs; refused with fewer "
        "than two GPUs"),
    ROW("ddp", ddp, MF_FLAG, NULL, "one rank for every GPU, for a training --zero 0"),
    MF_ALIAS("torchrun", "ddp"),
    ROW("no-auto", no_auto, MF_FLAG, NULL, "for a verb that plans: --plan off"),
    ROW("debug", debug, MF_FLAG, NULL,
        "a small run: --logging_level 10, for a training its --debug, for match and reconstruct --batch-size 4 "
        "--max-iter 20, unless given"),
    ROW("hosts", job.hosts, MF_TEXT, NULL, "of mpirun, with the ranks that each takes: a:4,b:4"),
    ROW("mpi", job.mpi, MF_TEXT, "pmix", "how srun starts programs of MPI (srun --mpi=list)"),
    ROW("mpirun", mpirun, MF_FLAG, NULL,
        "the script of sbatch starts its ranks by mpirun (where srun has no PMIx), one for every task of the job"),
    ROW("program", program, MF_TEXT, NULL,
        "path of the program on the nodes; left out: this program, in a container that in PATH"),
    ROW("run", run, MF_FLAG, NULL, "start it now; of a script: submit it. Without, it is shown"),
    MF_ALIAS("submit", "run"),
    ROW("dry-run", dry_run, MF_FLAG, NULL, "show it (as without --run)"),
    MF_OPT_END};

static const struct mf_opt slurm_rows[] = {
    ROW("time", job.time, MF_TEXT, NULL, "limit of the job, as Slurm writes it: 12:00:00"),
    ROW("save-before", job.save_before, MF_LONG, "300",
        "signal the run to save itself this long before its time ends [s] (unless given, after half of its time at the "
        "earliest); Slurm checks every half minute; 0: never"),
    ROW("partition", job.partition, MF_TEXT, NULL, "of Slurm"),
    ROW("account", job.account, MF_TEXT, NULL, "that pays"),
    ROW("qos", job.qos, MF_TEXT, NULL, "quality of service"),
    ROW("constraint", constraint, MF_TEXT, NULL, "features that nodes must have"),
    ROW("mem", job.memory, MF_TEXT, NULL, "memory of a node, as Slurm writes it; 0: all"),
    ROW("exclusive", job.exclusive, MF_FLAG, NULL, "whole nodes"),
    ROW("array", job.array, MF_TEXT, NULL,
        "an array of jobs, as 0-9%4: %a in the verb's words becomes the number of each"),
    ROW("job-name", job.name, MF_TEXT, NULL, "left out: mesoforge-VERB"),
    ROW("log", job.log, MF_TEXT, NULL, "file for what the job prints (sbatch --output); left out: %x-%j.out"),
    ROW("slurm-options", more, MF_TEXTS, NULL,
        "further options of Slurm without their '--', not those that launch has: nice=100 gres=nvme:9"),
    MF_OPT_END};

static const struct mf_opt box_rows[] = {
    ROW("container", container, MF_TEXT, NULL,
        "apptainer:FILE.sif, pyxis:IMAGE (srun), or for one node docker:IMAGE, podman:IMAGE, enroot:NAME"),
    ROW("mount", mounts, MF_TEXTS, NULL,
        "folders that the container sees besides the current one: DIR, DIR:DIR or DIR:DIR:ro, by whole paths"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {place_rows, slurm_rows, box_rows, NULL};

static int box_of(const char *container, struct mf_job *job)
{
    const char *colon = container ? strchr(container, ':') : NULL;

    if (!container) return MF_OK;
    for (int b = MF_BOX_NONE + 1; b < MF_BOXES && colon; ++b)
        if (strncmp(container, mf_box_names[b], (size_t)(colon - container)) == 0 &&
            !mf_box_names[b][colon - container])
            job->box = (enum mf_box)b;
    if (job->box == MF_BOX_NONE)
        return mf_fail(MF_USAGE,
                       "--container '%.200s': write it as apptainer:, pyxis:, docker:, podman: or enroot: and "
                       "the image",
                       container);
    job->image = colon + 1;
    return MF_OK;
}

static int check_program(const char *program)
{
    if (!program || (*program && *program != '-')) return MF_OK;
    if (!*program) return mf_fail(MF_USAGE, "--program '': names no file");
    return mf_fail(MF_USAGE, "--program '%.200s': its launcher would take that for an option; try: ./%.200s", program,
                   program);
}

/* This program's path, unless another is meant. */
static const char *program_of(const struct mf_launch *o, char *path, size_t n)
{
    if (o->program) return o->program;
    mf_child_self(path, n);
    return o->container || !*path ? "mesoforge" : path;
}

/* GPUs of the surrounding job, or those that CUDA may use here, by their numbers outside of containers; NULL: all. */
static const char *devices_here(void)
{
    const char *of_job = getenv("SLURM_JOB_GPUS");

    return of_job && *of_job ? of_job : getenv("CUDA_VISIBLE_DEVICES");
}

/* The way to give GPUs to docker that works on this machine. */
static enum mf_gpu_flag flag_here(void)
{
    const char *hook = getenv("MF_ROOT"); /* tests: where etc/ and usr/ are */
    struct mf_toolkit toolkit;
    char why[MF_TOOLKIT_TEXT];
    enum mf_gpu_flag flag;

    mf_toolkit_look(hook ? hook : "", &toolkit);
    (void)mf_toolkit_flag(&toolkit, MF_BOX_DOCKER, &flag, why);
    return flag;
}

/* Defaults apply only where they have an effect. A verb that does not save itself would be ended by the signal that
 * asks for it. */
static void drop_defaults(const struct mf_options *options, const struct mf_cmd *verb, struct mf_launch_job *l)
{
    struct mf_job *job = &l->job;
    int is_mpirun = job->by == MF_BY_MPIRUN;

    if (!job->name && !is_mpirun) job->name = l->name;
    if (!mf_options_given(options, "mpi") && (is_mpirun || job->mpirun_inside || job->box >= MF_BOX_DOCKER))
        job->mpi = NULL;
    if (mf_options_given(options, "save-before")) return;
    if (is_mpirun || !verb->checkpoints || (job->by == MF_BY_SRUN && (job->within || !job->time)))
        job->save_before = 0;
    else if (job->time && 2 * job->save_before > mf_job_seconds(job->time) && mf_job_seconds(job->time) > 0)
        job->save_before = mf_job_seconds(job->time) / 2;
}

static int make(const struct mf_options *options, const struct mf_launch *o, struct mf_launch_job *l)
{
    const char *const *word = NULL;
    size_t words = mf_options_positional(options, &word);
    struct mf_launcher here = mf_launcher_find();
    struct mf_launch_verb verb;
    struct mf_job *job = &l->job;
    char path[4096], *blank;

    if (o->run && o->dry_run) return mf_fail(MF_USAGE, "--run and --dry-run contradict each other");
    if (o->ddp && o->deepspeed) return mf_fail(MF_USAGE, "--ddp and --deepspeed contradict each other");
    if (o->plan && o->no_auto) return mf_fail(MF_USAGE, "--no-auto plans nothing: it and --plan contradict each other");
    if (words == 0) return mf_fail(MF_USAGE, "what is to be started? mesoforge launch [OPTION ...] -- VERB ...");
    if (!getcwd(l->folder, sizeof l->folder))
        return mf_fail(MF_OUTPUT, "the current folder is gone: %s", strerror(errno));
    MF_TRY(mf_launch_verb_find(words, word, &verb));
    if (o->config) MF_TRY(mf_launch_verb_config(o->config, &verb, &l->given));
    snprintf(l->name, sizeof l->name, "mesoforge-%.40s", verb.cmd->name);
    while ((blank = strchr(l->name, ' '))) *blank = '-';
    *job = o->job;
    job->within = *here.job != '\0';
    job->more = o->more.count;
    job->more_at = o->more.at;
    job->folder = l->folder;
    job->devices = devices_here();
    job->user = (long)getuid();
    job->group = (long)getgid();
    MF_TRY(check_program(o->program));
    MF_TRY(box_of(o->container, job));
    MF_TRY(mf_launch_mount(&o->mounts, l));
    MF_TRY(mf_launch_place(o, &here, job));
    if (job->box == MF_BOX_DOCKER) job->flag = flag_here();
    drop_defaults(options, verb.cmd, l);
    mf_words_add(&l->command, program_of(o, path, sizeof path));
    MF_TRY(mf_launch_command(o, job, &verb, &l->command));
    return mf_launch_log_check(job, o->run);
}

/* Its script is the standard input of sbatch. Comes back where that cannot be. */
static void submit(const struct mf_job *job)
{
    int file = memfd_create("mesoforge", 0);
    FILE *to = file >= 0 ? fdopen(dup(file), "w") : NULL;

    if (!to) return;
    mf_job_script(to, job, "made by mesoforge launch " MF_VERSION);
    if (fclose(to) != 0 || lseek(file, 0, SEEK_SET) != 0 || dup2(file, STDIN_FILENO) < 0) return;
    (void)signal(SIGXFSZ, SIG_DFL); /* as it was before main() */
    execlp("sbatch", "sbatch", (char *)NULL);
}

static void become(char **words)
{
    (void)signal(SIGXFSZ, SIG_DFL);
    mf_cores_release();
    execvp(words[0], words);
}

static int carry_out(const struct mf_launch *o, const struct mf_job *job)
{
    struct mf_words words = {0};
    int rc = MF_OK;

    if (job->by != MF_BY_SBATCH) mf_job_words(job, &words);
    if (o->run) {
        if (job->by == MF_BY_SBATCH && !o->launcher)
            mf_info("sbatch gets the script; without a cluster, --launcher mpirun runs it here");
        if (job->by == MF_BY_SBATCH)
            submit(job);
        else
            become(words.at);
        rc = mf_fail(MF_DEVICE, "'%s' cannot be started: %s; without --run what it would get is shown",
                     words.count ? words.at[0] : "sbatch", strerror(errno));
    } else if (job->by == MF_BY_SBATCH) {
        mf_job_script(stdout, job, "made by mesoforge launch " MF_VERSION);
    } else {
        mf_words_print(stdout, &words, NULL);
        printf("\n");
    }
    mf_words_free(&words);
    return rc;
}

static int alone(const struct mf_options *options, void *into)
{
    const struct mf_launch *o = into;
    struct mf_launch_job *l = MF_MUST(calloc(1, sizeof *l), "a job");
    int rc = make(options, o, l);

    if (rc == MF_OK) rc = carry_out(o, &l->job);
    mf_words_free(&l->given);
    mf_words_free(&l->command);
    mf_words_free(&l->mounts);
    free(l);
    return rc;
}

const struct mf_cmd mf_cmd_launch = {
    .name = "launch",
    .summary = "show or run the mpirun, srun, sbatch or container line of a verb",
    .synopsis = "[OPTION VALUE ...] [--run] -- VERB [OPTION VALUE ...]",
    .text = "Writes the command or the batch script that starts VERB on many ranks, and with --run starts or submits "
            "it. The words after '--' are checked as VERB checks its options, and compared with a plan, before "
            "anything waits in a queue; other files are not read. Every word is passed on unchanged. In a script Slurm "
            "signals the run before its time is over: it saves itself, leaves with exit status 75, is requeued and "
            "continues (--restart auto). --kill-on-bad-exit ends all ranks with the first that is lost. "
            "docs/CLUSTER.md leads from the login node to such a job.\n"
            "\n"
            "Without numbers mpirun starts one rank for every GPU of this machine that it may use, else one for every "
            "NUMA node; in a job of Slurm all that the job has.\n"
            "\n"
            "  mesoforge launch --num_gpus 4 --run -- match --config run.yaml\n"
            "  mesoforge launch --config train.yaml --num_gpus 4 --deepspeed --run -- \\\n"
            "      train classify --data micro.h5\n"
            "  mesoforge launch --launcher sbatch --nodes 4 --ntasks-per-node 8 \\\n"
            "      --cpus-per-task 8 --time 12:00:00 --submit -- \\\n"
            "      match --config run.yaml --output volume.h5\n"
            "  mesoforge launch --plan plan.json -- match --config run.yaml\n"
            "  mesoforge launch --array 0-9 -- \\\n"
            "      match --config run.yaml --seed %a --output volume-%a.h5\n"
            "  mesoforge launch --container apptainer:mesoforge.sif -- \\\n"
            "      match --config run.yaml\n",
    .tables = tables,
    .size = sizeof(struct mf_launch),
    .positional_max = 1 << 20,
    .alone = alone,
};
