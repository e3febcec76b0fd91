/* generate: a dataset of samples that a model makes of noise. */
#include "src/cmd/files/generate.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/files/generate_work.h"
#include "src/cmd/files/layers.h"
#include "src/cmd/files/tree.h"
#include "src/cmd/output.h"

/* Does a set say how many samples a pass has? Otherwise options do. Collective. */
static void find_pass(struct generate_job *job, const char *path)
{
    char said[32];

    mf_writer_said(job->session->comm, path, "--pass-size", sizeof said, said);
    job->old = *said != '\0';
    job->pass = job->old && job->o->pass == 0 ? (size_t)strtoul(said, NULL, 10)
                                              : mf_generate_pass(job->o, job->session->backend->devices != NULL);
    if (job->pass < 1 || job->pass > MF_GENERATE_PASS_MOST) job->pass = 1; /* its writer finds the damage */
}

/* Memory is taken before the first sample. A new set gets smaller passes where there is too little. Collective. */
static int take(struct generate_job *job, const char *path)
{
    char why[MF_ERR_TEXT];

    for (;;) {
        const int rc = mf_generate_take(job);

        if (rc != MF_MEMORY || (job->pass == 1 && !job->old)) return rc;
        mf_err_take(why, sizeof why);
        if (job->old)
            return mf_fail(rc, "%.600s; the passes of '%.200s' cannot change; try: more memory, or another output", why,
                           path);
        job->pass = (job->pass + 1) / 2;
        if (job->session->comm->rank == 0)
            mf_warn("%s; all ranks go on with passes of %zu sample%s, which the set keeps", why, job->pass,
                    MF_S(job->pass));
    }
}

static int make(struct generate_job *job, const char *path)
{
    struct mf_session *s = job->session;
    char *named;

    find_pass(job, path);
    MF_TRY(take(job, path));
    MF_TRY(mf_generate_settings(job));
    MF_TRY(mf_agree(s->comm, mf_generate_foresee(job)));
    if (s->settings.dry_run) return mf_generate_counted(job, path);
    MF_TRY(mf_session_path(s, "made", ".h5", &named)); /* makes its folder, now that nothing else is in the way */
    free(named);
    MF_TRY(mf_generate_write(job, path));
    if (job->o->parts) MF_TRY(mf_tree_beside(s, path, job->o->parts));
    return mf_generate_report(job, path);
}

static int generate(struct generate_job *job)
{
    struct mf_session *s = job->session;
    char *path = NULL;
    int rc;

    MF_TRY(mf_session_may_write(s, mf_common_of(s)->output, ".h5"));
    if (mf_common_of(s)->output)
        MF_TRY(mf_session_spares(s, mf_common_of(s)->output, 2, (const char *const[]){job->o->by.model, job->o->mask}));
    MF_TRY(mf_generate_open(job));
    if (job->lists) return MF_OK;
    MF_TRY(mf_session_name(s, "made", ".h5", &path));
    rc = make(job, path);
    mf_generate_give(job);
    free(path);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct generate_job job = {.session = session, .o = options};
    int rc;

    job.lists = mf_layers_is_list(&job.o->layers);
    rc = generate(&job);
    mf_generate_close(&job);
    return rc;
}

static int check(const struct mf_session *session, void *options) { return mf_generate_check(session, options); }

static const struct mf_opt *const tables[] = {mf_generate_rows, mf_common_opts, NULL};
static const char *const small[] = {"num-samples", "16", NULL};

const struct mf_cmd mf_cmd_generate = {
    .name = "generate",
    .summary = "make a dataset of new samples by a model of train unet",
    .synopsis = "--model MODEL.safetensors [--num-samples 1000] [--condition NAME=VALUE ...] [--layers NAME,...] "
                "[--output FILE.h5]",
    .text =
        "Makes samples of noise, measures their properties, and writes them to a dataset, which train and compare "
        "read. Sample i follows from the weights, the seed, its number and --pass-size alone: it does not depend on "
        "ranks, threads and interruptions. A run that was stopped (by a signal, --max-hours or a file STOP beside "
        "the set: exit 75) or killed goes on when it is started again, also on another number of ranks. A finished "
        "set becomes longer with a larger --num-samples.\n"
        "\n"
        "With --layers the set also has activations of the network: /activations/NAME, [sample][channel][y][x], of the "
        "last time that the network looks at a sample. --layers list prints the names and extents, and makes nothing. "
        "Samples have the same bits with and without layers. --mask FILE puts activations of such a set in the place "
        "of the network's own. --export writes the complete set as files, too; data export --tree does so later.\n"
        "\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --num-samples 1000 --output made.h5\n"
        "  mpirun -n 3 mesoforge generate --model run/model.safetensors \\\n"
        "      --num-samples 1000 --condition volume_fraction=0.3 --output thirty.h5\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --layers encoder_bottleneck,midblock --output seen.h5\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --layers midblock --export png,npz,json --output files.h5\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --mask seen.h5 --mask-layers midblock --output masked.h5\n",
    .tables = tables,
    .size = sizeof(struct generate),
    .adopt = mf_generate_adopt,
    .check = check,
    .run = run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --pass-size",
    .writes = 1,
    .checkpoints = 1,
    .small = small,
    .in_library = 1,
};
