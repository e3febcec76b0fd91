/* generate: a dataset of samples that a model makes of noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_writer.h"
#include "io/hash.h"
#include "io/safetensors.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/layers.h"
#include "src/cmd/files/made_by.h"
#include "src/cmd/files/properties.h"
#include "src/cmd/files/wanted.h"
#include "src/cmd/output.h"
#include "src/model/generator.h"

enum { STEPS_MOST = 10000, PASS_MOST = 1 << 16, SAMPLES_MOST = 1 << 28, FLUSH = 2 /* s */ };

struct generate {
    struct mf_common common;
    struct mf_made_by by;
    double sigma;
    long samples, first, steps, pass, per_class;
    struct mf_texts condition, layers;
};

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
    ROW("steps", steps, MF_LONG, "18", "noise levels on the way from noise to a sample"),
    MF_ALIAS("num-denoising-steps", "steps"),
    ROW("conditioning-sigma", sigma, MF_REAL, "80",
        "noise level where samples begin; of --steps 1 the one for which the generator was trained"),
    ROW("pass-size", pass, MF_LONG, "8",
        "samples that go through the network together; bits of a sample depend on it; GPUs need more to be fast"),
    MF_ALIAS("batch-size", "pass-size"),
    ROW("samples-per-class", per_class, MF_LONG, "0",
        "sample i has class i / N, modulo the classes; 0: classes are drawn as in the train split"),
    ROW("condition", condition, MF_TEXTS, NULL,
        "NAME=VALUE ...: class or columns that all samples should have; others are drawn as in the train split"),
    ROW("layers", layers, MF_TEXTS, NULL,
        "layers of the network whose activations the set keeps, by the names of --layers list; none: no layer"),
    MF_ALIAS("output-dir", "data_folder"),
    MF_OPT_END};

struct job {
    struct mf_session *session;
    const struct generate *o;
    int lists; /* it only prints the layers */
    struct mf_generator *generator;
    const struct mf_model_card *card;
    struct mf_generator_wish wish;
    struct mf_unet_tap *layer; /* [layers] whose activations are kept */
    size_t layers;
    struct mf_writer_array *array; /* [layers] of the set */
    char **path;                   /* [layers] their names */
    struct mf_properties properties;
    size_t columns;
    mf_name *column;   /* [columns]: properties, then wanted values */
    const char **name; /* [columns] the same */
    const char **class_name;
    char *settings;
    size_t pass, bytes; /* bytes: of a sample's x */
    /* of a pass */
    uint8_t *x;
    int32_t *label;
    float *value, *real;
    uint64_t *seed;
    float **activation; /* [layers] to [pass][channels][y][x] each; in the session's arena */
};

/* -- options -- */

static int in_range(const char *word, long value, long least, long most)
{
    if (value >= least && value <= most) return MF_OK;
    return mf_fail(MF_USAGE, "--%s must be %ld to %ld, not %ld", word, least, most, value);
}

static int check(const struct mf_session *session, void *options)
{
    struct generate *o = options;

    (void)session;
    MF_TRY(mf_made_by_settle(&o->by));
    if (!(o->sigma > MF_NOISE_LEAST) || !isfinite(o->sigma))
        return mf_fail(MF_USAGE, "--conditioning-sigma %g: it must be a number above %g", o->sigma, MF_NOISE_LEAST);
    MF_TRY(in_range("num-samples", o->samples, 1, SAMPLES_MOST));
    MF_TRY(in_range("first", o->first, 0, SAMPLES_MOST));
    MF_TRY(in_range("steps", o->steps, 1, STEPS_MOST));
    MF_TRY(in_range("pass-size", o->pass, 1, PASS_MOST));
    return in_range("samples-per-class", o->per_class, 0, SAMPLES_MOST);
}

static int take_wishes(struct job *job)
{
    const struct generate *o = job->o;

    job->wish = (struct mf_generator_wish){.sampling = {(size_t)o->steps, (uint64_t)o->common.seed, o->sigma},
                                           .per_class = (size_t)o->per_class};
    MF_TRY(mf_wanted_read(&o->condition, o->by.model, job->card->denoise, &job->wish));
    if (job->session->comm->rank == 0) mf_wanted_warn(job->card->denoise, &job->wish);
    return MF_OK;
}

/* -- the set -- */

static int knows_values(const struct job *job, size_t c)
{
    return job->card->denoise->rows > 0 || !isnan(job->wish.value[c]);
}

static void name_columns(struct job *job)
{
    const struct mf_denoise *d = job->card->denoise;

    job->column = MF_MUST(calloc(job->properties.columns + d->columns + 1, sizeof *job->column), "columns");
    for (size_t c = 0; c < job->properties.columns; ++c)
        memcpy(job->column[job->columns++], job->properties.name[c], sizeof *job->column);
    for (size_t c = 0; c < d->columns; ++c)
        if (knows_values(job, c))
            snprintf(job->column[job->columns++], sizeof *job->column, "wanted_%.56s", d->column[c]);
    job->name = MF_MUST(calloc(job->columns + 1, sizeof *job->name), "columns");
    for (size_t c = 0; c < job->columns; ++c) job->name[c] = job->column[c];
    job->class_name = MF_MUST(calloc(d->classes + 1, sizeof *job->class_name), "classes");
    for (size_t k = 0; k < d->classes; ++k) job->class_name[k] = d->class_name[k];
}

static struct mf_dataset_wish set_of(const struct job *job)
{
    const struct mf_model_card *c = job->card;

    return (struct mf_dataset_wish){.samples = (size_t)job->o->samples,
                                    .ndim = c->dims[0] > 1 ? 3 : 2,
                                    .dims = {c->dims[0], c->dims[1], c->dims[2], c->phases ? 1 : c->dims[3]},
                                    .is_float = !c->phases && !c->foreign,
                                    .phases = c->phases,
                                    .classes = c->denoise->classes,
                                    .class_name = job->class_name,
                                    .reals = job->columns,
                                    .real_name = job->name,
                                    .seeded = 1,
                                    .part = {0.8, 0.1},
                                    .split_seed = (uint64_t)job->o->common.seed};
}

static void name_arrays(struct job *job)
{
    job->array = MF_MUST(calloc(job->layers + 1, sizeof *job->array), "layers");
    job->path = MF_MUST(calloc(job->layers + 1, sizeof *job->path), "layers");
    for (size_t k = 0; k < job->layers; ++k) {
        const struct mf_unet_tap *l = &job->layer[k];

        job->path[k] = mf_format("/activations/%s", l->name);
        job->array[k] = (struct mf_writer_array){job->path[k], MF_H5_F32, 3, {l->channels, l->height, l->width}};
    }
}

/* All that the samples follow from. */
static int write_settings(struct job *job)
{
    const struct generate *o = job->o;
    const struct mf_comm *comm = job->session->comm;
    const struct mf_denoise *d = job->card->denoise;
    char hash[MF_HASH_TEXT] = "", *file = mf_safetensors_where(job->card->path);
    size_t size;
    FILE *to;
    int rc;

    rc = mf_agree(comm, comm->rank == 0 ? mf_hash_file(file, hash) : MF_OK);
    free(file);
    MF_TRY(rc);
    mf_comm_bcast(comm, 0, hash, sizeof hash);
    to = MF_MUST(open_memstream(&job->settings, &size), "settings");
    fprintf(to, "model: %s\n--seed: %ld\n--steps: %ld\n--pass-size: %ld\n--first: %ld\n--samples-per-class: %ld\n",
            hash, o->common.seed, o->steps, o->pass, o->first, o->per_class);
    fprintf(to, "--device: %s\n", job->session->backend->name); /* others round otherwise */
    if (job->card->foreign) {                                   /* its file does not say it */
        char *word = mf_arch_word(job->card->arch, &job->card->args);

        fprintf(to, "--arch: %s\n", word);
        free(word);
    }
    if (o->sigma != MF_NOISE_MOST) fprintf(to, "--conditioning-sigma: %.9g\n", o->sigma);
    if (job->wish.label >= 0) fprintf(to, "--condition class: %d\n", (int)job->wish.label);
    for (size_t c = 0; c < d->columns; ++c)
        if (!isnan(job->wish.value[c])) fprintf(to, "--condition %s: %.9g\n", d->column[c], (double)job->wish.value[c]);
    for (size_t k = 0; k < job->layers; ++k) fprintf(to, "%s%s", k ? "," : "--layers: ", job->layer[k].name);
    if (job->layers) fprintf(to, "\n");
    MF_ASSERT(fclose(to) == 0);
    return MF_OK;
}

static size_t activations(const struct job *job, size_t k)
{
    return job->layer[k].channels * job->layer[k].height * job->layer[k].width;
}

static int take_activations(struct job *job)
{
    job->activation = MF_MUST(calloc(job->layers + 1, sizeof *job->activation), "layers");
    for (size_t k = 0; k < job->layers; ++k) {
        job->activation[k] =
            mf_arena_zeros(job->session->arena, job->pass, activations(job, k) * sizeof(float), "activations");
        if (!job->activation[k]) return MF_MEMORY;
    }
    return MF_OK;
}

static int take_memory(struct job *job)
{
    const struct mf_model_card *c = job->card;
    const size_t voxels = c->dims[0] * c->dims[1] * c->dims[2];

    job->bytes = c->phases ? voxels : voxels * c->dims[3] * (c->foreign ? 1 : sizeof(float));
    job->x = MF_MUST(calloc(job->pass, job->bytes), "samples of a pass");
    job->label = MF_MUST(calloc(job->pass, sizeof *job->label), "samples of a pass");
    job->value = MF_MUST(calloc(job->pass * c->denoise->columns + 1, sizeof *job->value), "samples of a pass");
    job->real = MF_MUST(calloc(job->pass * job->columns + 1, sizeof *job->real), "samples of a pass");
    job->seed = MF_MUST(calloc(job->pass, sizeof *job->seed), "samples of a pass");
    for (size_t r = 0; r < job->pass; ++r) job->seed[r] = (uint64_t)job->o->common.seed;
    return mf_agree(job->session->comm, take_activations(job));
}

/* -- passes -- */

static int measure(struct job *job, size_t row)
{
    const struct mf_model_card *c = job->card;
    float *real = job->real + row * job->columns + job->properties.columns;
    const float *value = job->value + row * c->denoise->columns;

    for (size_t k = 0; k < c->denoise->columns; ++k)
        if (knows_values(job, k)) *real++ = value[k];
    if (!c->phases) return MF_OK;
    return mf_properties_of(&job->properties, c->dims, job->x + row * job->bytes, job->real + row * job->columns);
}

/* Samples of the set in pass @p number, which begins with sample number pass * number of all. */
static struct mf_span part_of(const struct job *job, size_t number, size_t *row)
{
    const size_t first = (size_t)job->o->first, end = first + (size_t)job->o->samples, at = number * job->pass;
    const size_t from = at < first ? first : at, to = at + job->pass < end ? at + job->pass : end;

    *row = from - at;
    return (struct mf_span){from - first, to - from};
}

static int make(struct job *job, size_t number, struct mf_writer *writer)
{
    const void *kept[MF_WRITER_ARRAYS];
    size_t row;
    const struct mf_span part = part_of(job, number, &row);

    MF_TRY(mf_generator_make(job->generator, &job->wish, number, job->x, job->label, job->value));
    for (size_t r = row; r < row + part.count; ++r) MF_TRY(measure(job, r));
    for (size_t k = 0; k < job->layers; ++k) {
        mf_generator_layer(job->generator, k, job->activation[k]);
        kept[k] = job->activation[k] + row * activations(job, k);
    }
    return mf_writer_put(writer, &(struct mf_writer_window){.first = part.first,
                                                            .count = part.count,
                                                            .x = job->x + row * job->bytes,
                                                            .label = job->label + row,
                                                            .real = job->real + row * job->columns,
                                                            .seed = job->seed + row,
                                                            .row = kept});
}

/* Passes of which a sample is missing, on all ranks alike. */
static size_t list_passes(const struct job *job, const uint8_t *status, size_t *list)
{
    const size_t first = (size_t)job->o->first, end = first + (size_t)job->o->samples;
    size_t n = 0;

    for (size_t p = first / job->pass; p * job->pass < end; ++p) {
        size_t row;
        const struct mf_span part = part_of(job, p, &row);

        if (memchr(status + part.first, 0, part.count)) list[n++] = p;
    }
    return n;
}

static void tell(const struct job *job, size_t done, size_t all, double start, double *told)
{
    enum { EVERY = 10 /* s */ };
    const double now = mf_now();

    if (job->session->comm->rank != 0 || now - *told < EVERY) return;
    *told = now;
    mf_info("%zu of %zu passes; %.1f samples/s, %.0f s left", done, all, (double)(done * job->pass) / (now - start),
            (now - start) / (double)done * (double)(all - done));
}

/* Each rank takes whole passes, in turn. */
static int make_all(struct job *job, struct mf_writer *writer)
{
    const struct mf_comm *comm = job->session->comm;
    const size_t ranks = (size_t)comm->size, passes = (size_t)job->o->samples / job->pass + 2;
    size_t *list = MF_MUST(calloc(passes, sizeof *list), "passes");
    const size_t n = list_passes(job, mf_writer_status(writer), list);
    const double start = mf_now();
    double told = start;
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < n; k += ranks) {
        const size_t own = k + (size_t)comm->rank;

        rc = mf_agree(comm, own < n ? make(job, list[own], writer) : MF_OK);
        if (rc == MF_OK) tell(job, k + ranks < n ? k + ranks : n, n, start, &told);
    }
    free(list);
    return rc;
}

static int write_set(struct job *job, const char *path)
{
    const struct mf_comm *comm = job->session->comm;
    const struct mf_writer_wish wish = {.set = set_of(job),
                                        .arrays = job->layers,
                                        .array = job->array,
                                        .settings = job->settings,
                                        .window = job->pass,
                                        .seconds = FLUSH};
    char *options = mf_options_yaml(job->session->options);
    const struct mf_provenance from = {
        .command = "generate", .options = options, .input_hash = "", .seed = job->o->common.seed};
    struct mf_writer *writer = NULL;
    int rc = mf_writer_open(comm, path, &wish, &from, &writer), closed;

    if (rc == MF_OK && mf_writer_found(writer) > 0 && comm->rank == 0)
        mf_info("'%s' has %zu of %zu samples%s", path, mf_writer_found(writer), wish.set.samples,
                mf_writer_found(writer) < wish.set.samples ? "; the run goes on from there" : "");
    if (rc == MF_OK) rc = make_all(job, writer);
    if (rc == MF_OK) rc = mf_writer_finish(writer);
    closed = mf_writer_close(writer);
    free(options);
    return rc == MF_OK ? closed : rc;
}

/* The card names the layers before the network takes memory. */
static int open_card(struct job *job)
{
    const struct mf_comm *comm = job->session->comm;
    struct mf_model_card card;
    int rc = mf_agree(comm, mf_generator_card(job->o->by.model, job->o->by.arch, &card));

    if (rc == MF_OK) rc = mf_safetensors_same(comm, card.file);
    if (rc == MF_OK && job->lists)
        rc = mf_agree(comm, comm->rank == 0 ? mf_layers_tell(&card, job->o->common.json) : MF_OK);
    else if (rc == MF_OK)
        rc = mf_agree(comm, mf_layers_find(&card, &job->o->layers, &job->layer, &job->layers));
    mf_model_card_close(&card);
    return rc;
}

static int open_model(struct job *job)
{
    struct mf_session *s = job->session;
    const struct mf_comm *comm = s->comm;

    MF_TRY(mf_agree(comm, mf_generator_open(job->o->by.model, job->o->by.arch, job->pass, job->layers, job->layer,
                                            s->queue, &job->generator)));
    job->card = mf_generator_says(job->generator);
    return mf_agree(comm, take_wishes(job));
}

static int generate(struct job *job)
{
    struct mf_session *s = job->session;
    char *path = NULL;
    int rc;

    MF_TRY(mf_session_may_write(s, s->common->output, ".h5"));
    if (s->common->output) MF_TRY(mf_session_spares(s, s->common->output, 1, &job->o->by.model));
    MF_TRY(open_card(job));
    if (job->lists) return MF_OK;
    MF_TRY(open_model(job));
    if (job->card->phases)
        mf_properties_begin(s, job->card->dims[0] > 1 ? 3 : 2, job->card->dims, job->card->phases, 0, 0,
                            &job->properties);
    name_columns(job);
    name_arrays(job);
    MF_TRY(write_settings(job));
    MF_TRY(take_memory(job));
    MF_TRY(mf_session_path(s, "made", ".h5", &path));
    if (s->common->dry_run)
        rc = mf_agree(s->comm, s->comm->rank == 0 ? mf_data_counted(s, path, (size_t)job->o->samples) : MF_OK);
    else
        rc = write_set(job, path);
    if (rc == MF_OK && !s->common->dry_run) rc = mf_data_report(s, path);
    free(path);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct job job = {.session = session, .o = options};
    int rc;

    job.pass = (size_t)job.o->pass;
    job.lists = mf_layers_is_list(&job.o->layers);
    rc = generate(&job);
    if (job.card && job.card->phases) mf_properties_end(&job.properties);
    mf_generator_close(job.generator);
    for (size_t k = 0; k < job.layers; ++k) {
        if (job.activation) mf_arena_give(session->arena, job.activation[k]);
        if (job.path) free(job.path[k]);
    }
    free(job.activation);
    free(job.path);
    free(job.array);
    free(job.layer);
    free(job.wish.value);
    free(job.column);
    free(job.name);
    free(job.class_name);
    free(job.settings);
    free(job.x);
    free(job.label);
    free(job.value);
    free(job.real);
    free(job.seed);
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
        "read. "
        "Sample i follows from the weights, the seed, its number and --pass-size alone: it does not depend on ranks, "
        "threads and interruptions. A run that was stopped goes on when it is started again, also on another number of "
        "ranks. A finished set becomes longer with a larger --num-samples.\n"
        "\n"
        "With --layers the set also has activations of the network: /activations/NAME, [sample][channel][y][x], of the "
        "last time that the network looks at a sample. --layers list prints the names and extents, and makes nothing. "
        "Samples have the same bits with and without layers.\n"
        "\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --num-samples 1000 --output made.h5\n"
        "  mpirun -n 3 mesoforge generate --model run/model.safetensors \\\n"
        "      --num-samples 1000 --condition volume_fraction=0.3 --output thirty.h5\n"
        "  mesoforge generate --model run/model.safetensors \\\n"
        "      --layers encoder_bottleneck,midblock --output seen.h5\n",
    .tables = tables,
    .size = sizeof(struct generate),
    .check = check,
    .run = run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --pass-size",
    .writes = 1,
    .small = small,
};
