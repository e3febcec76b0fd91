/* generate: a dataset of samples that a model makes of noise. */
#include "src/cmd/files/generate.h"

#include <math.h>
#include <stdlib.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/layers.h"
#include "src/cmd/files/pictures.h"
#include "src/cmd/files/tree.h"
#include "src/cmd/files/wanted.h"
#include "src/cmd/keep.h"
#include "src/cmd/output.h"

enum { STEPS_MOST = 10000, PASS_MOST = 1 << 16, SAMPLES_MOST = 1 << 28 };

#define ROW(word, field, kind, standard, help) MF_OPT(generate, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    ROW("model", by.model, MF_TEXT, NULL,
        "model of train unet (.safetensors, or its folder); imagenet: adm-imagenet64 with the weights of "
        "--checkpoint-path"),
    ROW("checkpoint-path", by.weights, MF_TEXT, NULL, "weights of --model imagenet; without --model, the model"),
    ROW("arch", by.arch, MF_TEXT, NULL,
        "network of published weights that do not say it: adm-imagenet64, or unet with its sizes"),
    ROW("prompt-file", by.prompts, MF_TEXT, NULL, "of models that read texts; none is here, so it is refused"),
    ROW("num-samples", samples, MF_LONG, "1000", "samples to make"),
    ROW("first", first, MF_LONG, "0", "number of the first one: any part of a set can be made alone"),
    ROW("steps", steps, MF_LONG, "18",
        "noise levels on the way from noise to a sample; a generator of train unet --teacher has 1"),
    MF_ALIAS("num-denoising-steps", "steps"),
    ROW("conditioning-sigma", sigma, MF_REAL, "80",
        "noise level where samples begin; a generator of one step has its own"),
    ROW("pass-size", pass, MF_LONG, "8",
        "samples that go through the network together; bits of a sample depend on it; GPUs need more to be fast"),
    MF_ALIAS("batch-size", "pass-size"),
    ROW("samples-per-class", per_class, MF_LONG, "0",
        "sample i has class i / N, modulo the classes; 0: classes are drawn as in the train split"),
    ROW("condition", condition, MF_TEXTS, NULL,
        "NAME=VALUE ...: class or columns that all samples should have; others are drawn as in the train split"),
    ROW("layers", layers, MF_TEXTS, NULL,
        "layers of the network whose activations the set keeps, by the names of --layers list; none: no layer"),
    ROW("mask", mask, MF_TEXT, NULL,
        "HDF5 file whose /activations/NAME stand in the place of those of layer NAME: one row for all samples, or row "
        "i "
        "for sample i"),
    ROW("mask-layers", mask_layers, MF_TEXTS, NULL, "layers that --mask replaces; left out: all that its file has"),
    ROW("mask-steps", mask_steps, MF_LONG, "0", "steps, from the noisiest one on, in which --mask holds; 0: all"),
    ROW("export", export, MF_TEXTS, NULL,
        "png,npz,json: once the set is complete, also as pictures, activations and a list: images/NAME, "
        "activations/NAME and metadata/NAME beside it"),
    MF_KEEP_HOURS(generate, hours),
    MF_ALIAS("output-dir", "data_folder"),
    MF_OPT_END};

/* -- options -- */

/* A generator of one step knows noise of one level alone. A file that cannot be read is refused later. */
static int adopt(struct mf_options *options, const void *into)
{
    const struct generate *o = into;
    const char *path = o->by.weights ? o->by.weights : o->by.model;
    struct mf_model_card card;
    char start[40] = "", place[300];
    int rc;

    if (!path) return MF_OK;
    if (mf_generator_card(path, NULL, &card) != MF_OK)
        mf_err_clear();
    else if (card.denoise->start > 0)
        snprintf(start, sizeof start, "%.17g", card.denoise->start);
    mf_model_card_close(&card);
    if (!*start) return MF_OK;
    snprintf(place, sizeof place, "%.250s makes samples in one step: ", path);
    rc = mf_options_adopt(options, "steps", place, "steps", "1");
    return rc == MF_OK ? mf_options_adopt(options, "conditioning-sigma", place, "noise level", start) : rc;
}

static int in_range(const char *word, long value, long least, long most)
{
    if (value >= least && value <= most) return MF_OK;
    return mf_fail(MF_USAGE, "--%s must be %ld to %ld, not %ld", word, least, most, value);
}

static int check_masks(const struct mf_session *session, const struct generate *o)
{
    static const char *const of_mask[] = {"mask-layers", "mask-steps"};

    for (size_t k = 0; k < 2 && !o->mask; ++k)
        if (mf_options_given(session->options, of_mask[k]))
            return mf_fail(MF_USAGE, "--%s says nothing without --mask FILE", of_mask[k]);
    return in_range("mask-steps", o->mask_steps, 0, o->steps);
}

static int check(const struct mf_session *session, void *options)
{
    struct generate *o = options;

    double seconds;

    MF_TRY(mf_made_by_settle(&o->by));
    MF_TRY(mf_keep_hours(session, o->hours, &seconds));
    if (!(o->sigma > MF_NOISE_LEAST) || !isfinite(o->sigma))
        return mf_fail(MF_USAGE, "--conditioning-sigma %g: it must be a number above %g", o->sigma, MF_NOISE_LEAST);
    MF_TRY(in_range("num-samples", o->samples, 1, SAMPLES_MOST));
    MF_TRY(in_range("first", o->first, 0, SAMPLES_MOST));
    MF_TRY(in_range("steps", o->steps, 1, STEPS_MOST));
    MF_TRY(in_range("pass-size", o->pass, 1, PASS_MOST));
    MF_TRY(check_masks(session, o));
    MF_TRY(mf_tree_parts("export", &o->export, &o->parts));
    return in_range("samples-per-class", o->per_class, 0, SAMPLES_MOST);
}

static int take_wishes(struct generate_job *job)
{
    const struct generate *o = job->o;

    job->wish = (struct mf_generator_wish){.sampling = {(size_t)o->steps, (uint64_t)o->common.seed, o->sigma},
                                           .mask_steps = (size_t)o->mask_steps,
                                           .per_class = (size_t)o->per_class};
    MF_TRY(mf_wanted_read(&o->condition, o->by.model, job->card->denoise, &job->wish));
    if (job->session->comm->rank == 0) mf_wanted_warn(job->card->denoise, &job->wish);
    return MF_OK;
}

/* The card names the layers before the network takes memory. */
static int open_card(struct generate_job *job)
{
    const struct mf_comm *comm = job->session->comm;
    struct mf_model_card card;
    int rc = mf_agree(comm, mf_generator_card(job->o->by.model, job->o->by.arch, &card));

    if (rc == MF_OK) rc = mf_safetensors_same(comm, card.file);
    if (rc == MF_OK && job->lists)
        rc = mf_agree(comm, comm->rank == 0 ? mf_layers_tell(&card, job->o->common.json) : MF_OK);
    else if (rc == MF_OK)
        rc = mf_agree(comm, mf_layers_find(&card, "layers", &job->o->layers, &job->layer, &job->layers));
    if (rc == MF_OK && !job->lists)
        rc = mf_masks_open(comm, job->o->mask, &card, &job->o->mask_layers,
                           (size_t)job->o->first + (size_t)job->o->samples, &job->masks);
    mf_model_card_close(&card);
    return rc;
}

/* Refuses before the samples are made what --export cannot write. */
static int check_export(const struct generate_job *job)
{
    const size_t *d = job->card->dims;
    const size_t channels = job->card->phases ? 1 : d[3];

    if (job->o->parts & MF_TREE_PNG)
        MF_TRY(mf_pictures_fit(job->o->by.model, d[0] > 1 ? 3 : 2, channels, "leave png out"));
    if (!(job->o->parts & MF_TREE_NPZ) || job->layers > 0) return MF_OK;
    return mf_fail(MF_USAGE, "--export npz: there are no activations; try: --layers encoder_bottleneck,midblock");
}

static int open_model(struct generate_job *job)
{
    struct mf_session *s = job->session;
    const struct mf_comm *comm = s->comm;
    const struct mf_generator_form form = {.word = job->o->by.arch,
                                           .pass = job->pass,
                                           .layers = job->layers,
                                           .layer = job->layer,
                                           .masks = job->masks.count,
                                           .mask = job->masks.layer};

    MF_TRY(mf_agree(comm, mf_generator_open(job->o->by.model, &form, s->queue, &job->generator)));
    job->card = mf_generator_says(job->generator);
    MF_TRY(check_export(job));
    mf_masks_say(&job->masks);
    return mf_agree(comm, take_wishes(job));
}

static int generate(struct generate_job *job)
{
    struct mf_session *s = job->session;
    char *path = NULL;
    int rc;

    MF_TRY(mf_session_may_write(s, s->common->output, ".h5"));
    if (s->common->output)
        MF_TRY(mf_session_spares(s, s->common->output, 2, (const char *const[]){job->o->by.model, job->o->mask}));
    MF_TRY(open_card(job));
    if (job->lists) return MF_OK;
    MF_TRY(open_model(job));
    if (job->card->phases)
        mf_properties_begin(s, job->card->dims[0] > 1 ? 3 : 2, job->card->dims, job->card->phases, 0, 0,
                            &job->properties);
    mf_generate_name(job);
    MF_TRY(mf_generate_settings(job));
    MF_TRY(mf_generate_take(job));
    MF_TRY(mf_session_path(s, "made", ".h5", &path));
    if (s->common->dry_run)
        rc = mf_agree(s->comm, s->comm->rank == 0 ? mf_data_counted(s, path, (size_t)job->o->samples) : MF_OK);
    else
        rc = mf_generate_write(job, path);
    if (rc == MF_OK && !s->common->dry_run && job->o->parts) rc = mf_tree_beside(s, path, job->o->parts);
    if (rc == MF_OK && !s->common->dry_run) rc = mf_data_report(s, path);
    free(path);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct generate_job job = {.session = session, .o = options};
    int rc;

    job.pass = (size_t)job.o->pass;
    job.lists = mf_layers_is_list(&job.o->layers);
    rc = generate(&job);
    if (job.card && job.card->phases) mf_properties_end(&job.properties);
    mf_generator_close(job.generator);
    mf_generate_give(&job);
    mf_masks_close(&job.masks);
    free(job.layer);
    free(job.wish.value);
    return rc;
}

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};
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
    .adopt = adopt,
    .check = check,
    .run = run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --pass-size",
    .writes = 1,
    .checkpoints = 1,
    .small = small,
};
