/* probe: shows the hardware of this run as a table, as a JSON object, or as a hardware file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/ceiling.h"
#include "src/cmd/cmd.h"
#include "src/cmd/host/probe_print.h"
#include "src/cmd/host/probe_watch.h"
#include "src/cmd/keep.h"
#include "src/session/cores.h"

struct probe {
    struct mf_common common;
    int measure;
    const char *watch, *hours;
};

static const struct mf_opt rows[] = {MF_OPT(probe, "measure", measure, MF_FLAG, NULL,
                                            "measure memory bandwidth and arithmetic of the cores as well (0.3 s)"),
                                     MF_OPT(probe, "watch", watch, MF_TEXT, NULL,
                                            "show use of cores, memory and GPUs every so often (1s, 10min), until a "
                                            "signal; lines of CSV where no terminal is"),
                                     MF_OPT(probe, "max-hours", hours, MF_TEXT, "0",
                                            "with --watch: end after this many hours; auto: before Slurm ends the job; "
                                            "0: no limit"),
                                     MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* Measures on all ranks at the same time, as in a run. The best of three windows counts, because other programs may
 * run. */
static int measure(const struct mf_session *session, struct mf_probe *probe)
{
    struct mf_probe_rates rates;

    MF_TRY(mf_ceiling_run(session, &probe->hardware.host[probe->rank[session->comm->rank].node], &rates));
    return mf_probe_measured(session->comm, &rates, probe);
}

/* Rank 0 prints; the file, where one is asked for, is everybody's. */
static int report(const struct mf_session *session, const struct mf_probe_report *what)
{
    struct mf_json *json = mf_probe_json(what);
    int rc = MF_OK;

    if (session->comm->rank == 0 && mf_common_of(session)->json)
        rc = mf_json_write(json, stdout);
    else if (session->comm->rank == 0)
        mf_probe_print(stdout, what);
    rc = mf_agree(session->comm, rc);
    if (rc == MF_OK && mf_common_of(session)->output && !session->settings.dry_run)
        rc = mf_hardware_write(session->comm, mf_common_of(session)->output, json);
    mf_json_free(json);
    return rc;
}

/* --device cuda or cuda:N, of which a run would refuse to have none. */
static int check_wish(const struct mf_common *common, const struct mf_probe *probe, long number)
{
    for (size_t r = 0; r < probe->ranks; ++r)
        if (probe->rank[r].gpus <= (size_t)number)
            return mf_fail(MF_DEVICE, "--device %s: rank %zu on '%.80s' sees %zu GPU%s%s", common->device, r,
                           probe->hardware.host[probe->rank[r].node].name, probe->rank[r].gpus,
                           MF_S(probe->rank[r].gpus), strchr(common->device, ':') ? ", counted from 0" : "");
    return MF_OK;
}

static int bind(const struct mf_common *common, const struct mf_probe *probe, int *gpu)
{
    const int wanted = strncmp(common->device, "cuda", 4) == 0;
    const long number = wanted && common->device[4] == ':' ? strtol(common->device + 5, NULL, 10) : 0;
    const int numbered = wanted && common->device[4] == ':';
    struct mf_bind_options options = {common->gpu_ids.count, common->gpu_ids.at, common->share_gpu};
    int rc;

    for (size_t r = 0; r < probe->ranks; ++r) gpu[r] = -1;
    if (wanted) MF_TRY(check_wish(common, probe, number));
    if (numbered) options = (struct mf_bind_options){1, &number, common->share_gpu};
    rc = mf_probe_bind(probe, &options, gpu);
    if (rc != MF_OK) mf_probe_bind_say(probe, gpu);
    return rc;
}

/* The hardware is shown even if ranks and GPUs do not match. That is refused afterwards, as a run would refuse it. */
static int bind_and_report(const struct mf_session *session, struct mf_probe *probe, int measures, int *gpu)
{
    const struct mf_common *common = mf_common_of(session);
    struct mf_probe_report what = {.probe = probe, .gpu = gpu, .launcher = mf_launcher_find()};
    char refusal[MF_ERR_TEXT] = "";
    int bound = bind(common, probe, gpu), rc;
    struct mf_where *where = NULL;

    if (bound != MF_OK) {
        snprintf(refusal, sizeof refusal, "%s", mf_err_text());
        what.refusal = refusal;
    }
    what.pmix = mf_pmix_ask(&what.launcher);
    (void)mf_session_pin(session, mf_where_near(session, probe, gpu));
    rc = mf_where_find(session, probe, gpu, &where);
    what.where = where;
    if (rc == MF_OK && measures) rc = measure(session, probe);
    if (rc == MF_OK) rc = report(session, &what);
    free(where);
    if (rc != MF_OK || bound == MF_OK) return rc;
    return mf_fail(bound, "%s", refusal);
}

static int check(const struct mf_session *session, void *options)
{
    const struct probe *o = options;
    const struct mf_common *common = mf_common_of(session);
    double seconds;

    if (!o->watch && mf_given(session, "max-hours"))
        return mf_fail(MF_USAGE, "--max-hours is for --watch alone; try: --watch 1s");
    if (o->watch) MF_TRY(mf_probe_period(o->watch, &seconds));
    if (o->watch) MF_TRY(mf_keep_hours(session, o->hours, &seconds));
    if (o->watch && (o->measure || common->dry_run || common->output))
        return mf_fail(MF_USAGE, "--watch and %s contradict each other",
                       o->measure        ? "--measure"
                       : common->dry_run ? "--dry-run"
                                         : "--output");
    if (!common->dry_run || !o->measure) return MF_OK;
    return mf_fail(MF_USAGE, "--measure and --dry-run contradict each other");
}

static int watch(const struct mf_session *session, const struct probe *o, const struct mf_probe *probe)
{
    double period, limit;

    MF_TRY(mf_agree(session->comm, mf_probe_period(o->watch, &period)));
    MF_TRY(mf_agree(session->comm, mf_keep_hours(session, o->hours, &limit)));
    return mf_probe_watch(session, probe, period, limit);
}

static int run(struct mf_session *session, void *options)
{
    const struct probe *o = options;
    struct mf_probe probe;
    int *gpu, rc;

    MF_TRY(mf_session_may_write(session, mf_common_of(session)->output, ".json"));
    gpu = MF_MUST(calloc((size_t)session->comm->size, sizeof *gpu), "numbers of GPUs");
    rc = mf_probe_run(session->comm, &probe);
    if (rc == MF_OK && o->watch)
        rc = watch(session, o, &probe);
    else if (rc == MF_OK)
        rc = bind_and_report(session, &probe, o->measure, gpu);
    mf_probe_free(&probe);
    free(gpu);
    return rc;
}

const struct mf_cmd mf_cmd_probe = {
    .name = "probe",
    .summary = "list the hardware of a run: nodes, cores, memory, GPUs, links",
    .synopsis = "[--measure] [--json] [--output HARDWARE.json] | --watch 1s [--max-hours H] [--json]",
    .text =
        "Looks at every node of the run: cores by affinity and control group, memory below the control group's limit, "
        "caches, "
        "NUMA nodes, GPUs by the driver's library (NVML, not needed to run), links between GPUs, and which GPU each "
        "rank "
        "would "
        "take. CUDA_VISIBLE_DEVICES is honoured in all its forms. --output writes what --json prints: a hardware file, "
        "which a "
        "plan for this machine can be made from elsewhere (docs/FILES.md; examples/hardware/ has some).\n\n"
        "A rank takes the GPU that is the only one it sees, else the one of its number on the node, or that of "
        "--gpu_ids. "
        "Two "
        "ranks on one GPU are refused (exit status 4) after the table, unless --share-gpu says that it is meant.\n\n"
        "--watch looks at the use of all nodes again and again: cores, memory below the control group's limit, GPUs, "
        "and the memory of each program on them. A terminal gets a table that refreshes; a file or pipe gets lines of "
        "CSV, or with --json of JSON (docs/FILES.md). Ctrl-C ends it.\n\n"
        "  mesoforge probe --measure\n"
        "  mesoforge probe --watch 1s\n"
        "  srun --mpi=pmix -N2 --ntasks-per-node=4 mesoforge probe \\\n"
        "      --json --output two.json\n",
    .tables = tables,
    .size = sizeof(struct probe),
    .check = check,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
