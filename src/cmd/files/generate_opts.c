/* Options of generate and of plan generate, and what of the model they need. See generate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/cmd/files/generate.h"
#include "src/cmd/files/layers.h"
#include "src/cmd/files/pictures.h"
#include "src/cmd/files/tree.h"
#include "src/cmd/files/wanted.h"
#include "src/cmd/keep.h"

enum { STEPS_MOST = 10000, SAMPLES_MOST = 1 << 28 };

#define ROW(word, field, kind, standard, help) MF_OPT(generate, word, field, kind, standard, help)

const struct mf_opt mf_generate_rows[] = {
    ROW("model", by.model, MF_NAME, NULL,
        "model of train unet (.safetensors, or its folder); imagenet: adm-imagenet64 with the weights of "
        "--checkpoint-path"),
    ROW("checkpoint-path", by.weights, MF_NAME, NULL, "weights of --model imagenet; without --model, the model"),
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
    ROW("pass-size", pass, MF_LONG, "0",
        "samples that go through the network together, on which bits of a sample depend; 0: that of the set that is "
        "there, else 8 on cores and 64 on a GPU; a new set gets fewer where memory is short"),
    MF_ALIAS("batch-size", "pass-size"),
    ROW("samples-per-class", per_class, MF_LONG, "0",
        "sample i has class i / N, modulo the classes; 0: classes are drawn as in the train split"),
    ROW("condition", condition, MF_TEXTS, NULL,
        "NAME=VALUE ...: class or columns that all samples should have; others are drawn as in the train split"),
    ROW("guidance-scale", guidance, MF_REAL, "1",
        "above 1: away from what the network makes without conditions, for classes; it then looks twice at a sample"),
    ROW("layers", layers, MF_TEXTS, NULL,
        "layers of the network whose activations the set keeps, by the names of --layers list; none: no layer"),
    ROW("mask", mask, MF_TEXT, NULL,
        "HDF5 file whose /activations/NAME stand in the place of those of layer NAME: one row for all samples, or "
        "row i for sample i"),
    ROW("mask-layers", mask_layers, MF_TEXTS, NULL, "layers that --mask replaces; left out: all that its file has"),
    ROW("mask-steps", mask_steps, MF_LONG, "0", "steps, from the noisiest one on, in which --mask holds; 0: all"),
    ROW("export", export, MF_TEXTS, NULL,
        "png,npz,json: once the set is complete, also as pictures, activations and a list: images/NAME, "
        "activations/NAME and metadata/NAME beside it"),
    MF_CHOICE_TEXT(
        generate, "mixed-precision", precision, "no", "no|bf16|fp16",
        "type of the network's activations and of the factors of products; norms, sums and noise keep 32 bits"),
    MF_OPT(generate, "lenient-devices", common.lenient, MF_FLAG, NULL,
           "where --device is not there, a warning says so and the cores do the work; else that is refused"),
    MF_KEEP_HOURS(generate, hours),
    MF_ALIAS("output-dir", "data_folder"),
    MF_OPT_END};

/* -- options -- */

int mf_generate_adopt_start(struct mf_options *options, const char *path, const struct mf_model_card *card)
{
    char start[40], place[300];

    if (!(card->denoise->start > 0)) return MF_OK;
    snprintf(start, sizeof start, "%.17g", card->denoise->start);
    snprintf(place, sizeof place, "%.250s makes samples in one step: ", path);
    MF_TRY(mf_options_adopt(options, "steps", place, "steps", "1"));
    return mf_options_adopt(options, "conditioning-sigma", place, "noise level", start);
}

/* A generator of one step knows noise of one level alone. A file that cannot be read is refused later. */
int mf_generate_adopt(struct mf_options *options, const void *into)
{
    const struct generate *o = into;
    const char *path = o->by.weights ? o->by.weights : o->by.model;
    struct mf_model_card card;
    int rc = MF_OK;

    if (!path) return MF_OK;
    if (mf_generator_card(path, NULL, &card) != MF_OK)
        mf_err_clear();
    else
        rc = mf_generate_adopt_start(options, path, &card);
    mf_model_card_close(&card);
    return rc;
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
        if (mf_given(session, of_mask[k]))
            return mf_fail(MF_USAGE, "--%s says nothing without --mask FILE", of_mask[k]);
    return in_range("mask-steps", o->mask_steps, 0, o->steps);
}

int mf_generate_check(const struct mf_session *session, struct generate *o)
{
    double seconds;

    MF_TRY(mf_made_by_settle(&o->by));
    MF_TRY(mf_keep_hours(session, o->hours, &seconds));
    if (!(o->sigma > MF_NOISE_LEAST) || !isfinite(o->sigma))
        return mf_fail(MF_USAGE, "--conditioning-sigma %g: it must be a number above %g", o->sigma, MF_NOISE_LEAST);
    if (!isfinite(o->guidance) || o->guidance < 0)
        return mf_fail(MF_USAGE, "--guidance-scale %g: it must be a number from 0 on", o->guidance);
    MF_TRY(in_range("num-samples", o->samples, 1, SAMPLES_MOST));
    MF_TRY(in_range("first", o->first, 0, SAMPLES_MOST));
    MF_TRY(in_range("steps", o->steps, 1, STEPS_MOST));
    MF_TRY(in_range("pass-size", o->pass, 0, MF_GENERATE_PASS_MOST));
    MF_TRY(check_masks(session, o));
    MF_TRY(mf_tree_parts("export", &o->export, &o->parts));
    return in_range("samples-per-class", o->per_class, 0, SAMPLES_MOST);
}

int mf_generate_wishes(const struct generate_job *job, const struct generate *o, struct mf_generator_wish *wish)
{
    *wish = (struct mf_generator_wish){.sampling = {(size_t)o->steps, (uint64_t)o->common.seed, o->sigma},
                                       .guidance = job->o->guidance,
                                       .mask_steps = (size_t)o->mask_steps,
                                       .per_class = (size_t)o->per_class};
    MF_TRY(mf_wanted_read(&o->condition, o->by.model, job->card.denoise, wish));
    if (job->o->guidance != 1 && mf_denoise_width(job->card.denoise) == 0)
        return mf_fail(MF_USAGE, "--guidance-scale: the model of '%.200s' knows no conditions; leave it out",
                       o->by.model);
    if (job->session->comm->rank == 0) mf_wanted_warn(job->card.denoise, wish);
    return MF_OK;
}

/* The card names the layers before the network takes memory. */
static int open_card(struct generate_job *job)
{
    const struct mf_comm *comm = job->session->comm;
    const struct generate *o = job->o;

    MF_TRY(mf_agree(comm, mf_generator_card(o->by.model, o->by.arch, &job->card)));
    MF_TRY(mf_safetensors_same(comm, job->card.file));
    if (job->lists) return mf_agree(comm, comm->rank == 0 ? mf_layers_tell(&job->card, o->common.json) : MF_OK);
    MF_TRY(mf_agree(comm, mf_layers_find(&job->card, "layers", &o->layers, &job->layer, &job->layers)));
    return mf_masks_open(comm, o->mask, &job->card, &o->mask_layers, (size_t)o->first + (size_t)o->samples,
                         &job->masks);
}

/* Bytes of arrays that measures of a sample take for a moment: they follow from its extents and phases. */
static int try_measures(struct generate_job *job)
{
    struct mf_verb_call aside = {*job->session, mf_common_of(job->session), mf_options_of(job->session)};
    struct mf_properties properties = job->properties;
    const size_t *d = job->card.dims;
    uint8_t *x = MF_MUST(calloc(d[0] * d[1] * d[2], 1), "a sample");
    float *real = MF_MUST(calloc(properties.columns + 1, sizeof *real), "properties");
    int rc = mf_arena_open(&aside.session.arena, NULL, 0);

    properties.session = &aside.session;
    for (size_t i = 0; i < d[0] * d[1] * d[2]; ++i) x[i] = (uint8_t)(i / d[2] / 2 % (size_t)job->card.phases);
    if (rc == MF_OK) rc = mf_properties_of(&properties, d, x, real);
    job->measuring = rc == MF_OK ? mf_arena_peak(aside.session.arena) : 0;
    if (aside.session.arena != job->session->arena) mf_arena_close(aside.session.arena);
    free(x);
    free(real);
    return rc;
}

/* Refuses before the samples are made what --export cannot write. */
static int check_export(const struct generate_job *job)
{
    const size_t *d = job->card.dims;
    const size_t channels = job->card.phases ? 1 : d[3];

    if (job->o->parts & MF_TREE_PNG)
        MF_TRY(mf_pictures_fit(job->o->by.model, d[0] > 1 ? 3 : 2, channels, "leave png out"));
    if (!(job->o->parts & MF_TREE_NPZ) || job->layers > 0) return MF_OK;
    return mf_fail(MF_USAGE, "--export npz: there are no activations; try: --layers encoder_bottleneck,midblock");
}

int mf_generate_open(struct generate_job *job)
{
    const struct mf_comm *comm = job->session->comm;
    const struct mf_model_card *c = &job->card;

    MF_TRY(open_card(job));
    if (job->lists) return MF_OK;
    MF_TRY(mf_agree(comm, check_export(job)));
    mf_masks_say(&job->masks);
    MF_TRY(mf_agree(comm, mf_generate_wishes(job, job->o, &job->wish)));
    if (c->phases)
        mf_properties_begin(job->session, c->dims[0] > 1 ? 3 : 2, c->dims, c->phases, 0, 0, &job->properties);
    mf_generate_name(job);
    return mf_agree(comm, c->phases ? try_measures(job) : MF_OK);
}

void mf_generate_close(struct generate_job *job)
{
    mf_generate_unname(job);
    mf_properties_end(&job->properties);
    mf_model_card_close(&job->card);
    mf_masks_close(&job->masks);
    free(job->layer);
    free(job->wish.value);
}
