/* The set of generate: columns, arrays, settings, and the memory of a pass. See generate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/safetensors.h"
#include "kernels/op.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/files/generate.h"

int mf_generate_knows(const struct generate_job *job, size_t c)
{
    return job->card.denoise->rows > 0 || !isnan(job->wish.value[c]);
}

static void name_columns(struct generate_job *job)
{
    const struct mf_denoise *d = job->card.denoise;

    job->column = MF_MUST(calloc(job->properties.columns + d->columns + 1, sizeof *job->column), "columns");
    for (size_t c = 0; c < job->properties.columns; ++c)
        memcpy(job->column[job->columns++], job->properties.name[c], sizeof *job->column);
    for (size_t c = 0; c < d->columns; ++c)
        if (mf_generate_knows(job, c))
            snprintf(job->column[job->columns++], sizeof *job->column, "wanted_%.56s", d->column[c]);
    job->name = MF_MUST(calloc(job->columns + 1, sizeof *job->name), "columns");
    for (size_t c = 0; c < job->columns; ++c) job->name[c] = job->column[c];
    job->class_name = MF_MUST(calloc(d->classes + 1, sizeof *job->class_name), "classes");
    for (size_t k = 0; k < d->classes; ++k) job->class_name[k] = d->class_name[k];
}

struct mf_dataset_wish mf_generate_wish(const struct generate_job *job)
{
    const struct mf_model_card *c = &job->card;

    return (struct mf_dataset_wish){.samples = (size_t)job->o->samples,
                                    .ndim = c->dims[0] > 1 ? 3 : 2,
                                    .dims = {c->dims[0], c->dims[1], c->dims[2], c->phases ? 1 : c->dims[3]},
                                    .is_float = !c->phases && !mf_model_card_bytes(c),
                                    .phases = c->phases,
                                    .classes = c->denoise->classes,
                                    .class_name = job->class_name,
                                    .reals = job->columns,
                                    .real_name = job->name,
                                    .seeded = 1,
                                    .part = {0.8, 0.1},
                                    .split_seed = (uint64_t)job->o->common.seed};
}

static void name_arrays(struct generate_job *job)
{
    job->array = MF_MUST(calloc(job->layers + 1, sizeof *job->array), "layers");
    job->path = MF_MUST(calloc(job->layers + 1, sizeof *job->path), "layers");
    for (size_t k = 0; k < job->layers; ++k) {
        const struct mf_unet_tap *l = &job->layer[k];

        job->path[k] = mf_format("/activations/%s", l->name);
        job->array[k] = (struct mf_writer_array){job->path[k], MF_H5_F32, 3, {l->channels, l->height, l->width}};
    }
}

void mf_generate_name(struct generate_job *job)
{
    const struct mf_model_card *c = &job->card;
    const size_t voxels = c->dims[0] * c->dims[1] * c->dims[2];

    job->bytes = c->phases ? voxels : voxels * c->dims[3] * (mf_model_card_bytes(c) ? 1 : sizeof(float));
    job->activation = MF_MUST(calloc(job->layers + 1, sizeof *job->activation), "layers");
    name_columns(job);
    name_arrays(job);
}

void mf_generate_unname(struct generate_job *job)
{
    for (size_t k = 0; job->path && k < job->layers; ++k) free(job->path[k]);
    free(job->path);
    free(job->array);
    free(job->activation);
    free(job->column);
    free(job->name);
    free(job->class_name);
    free(job->settings);
}

/* The hash of a file, on all ranks. Collective. */
static int hash_of(const struct mf_comm *comm, const char *file, char hash[MF_HASH_TEXT])
{
    MF_TRY(mf_agree(comm, comm->rank == 0 ? mf_hash_file(file, hash) : MF_OK));
    mf_comm_bcast(comm, 0, hash, MF_HASH_TEXT);
    return MF_OK;
}

int mf_generate_settings(struct generate_job *job)
{
    const struct generate *o = job->o;
    const struct mf_comm *comm = job->session->comm;
    const struct mf_denoise *d = job->card.denoise;
    char hash[MF_HASH_TEXT] = "", mask[MF_HASH_TEXT] = "", *file = mf_safetensors_where(job->card.path);
    size_t size;
    FILE *to;
    int rc = hash_of(comm, file, hash);

    free(file);
    if (rc == MF_OK && job->masks.count > 0) rc = hash_of(comm, o->mask, mask);
    MF_TRY(rc);
    to = MF_MUST(open_memstream(&job->settings, &size), "settings");
    fprintf(to, "model: %s\n--seed: %ld\n--steps: %ld\n--pass-size: %zu\n--first: %ld\n--samples-per-class: %ld\n",
            hash, o->common.seed, o->steps, job->pass, o->first, o->per_class);
    fprintf(to, "--device: %s\n", job->session->backend->name); /* others round otherwise */
    if (job->card.foreign) {                                    /* its file does not say it */
        char *word = mf_arch_word(job->card.arch, &job->card.args);

        fprintf(to, "--arch: %s\n", word);
        free(word);
    }
    if (o->guidance != 1) fprintf(to, "--guidance-scale: %.9g\n", o->guidance);
    if (mf_generate_type(o) != MF_F32) fprintf(to, "--mixed-precision: %s\n", o->precision);
    if (o->sigma != MF_NOISE_MOST) fprintf(to, "--conditioning-sigma: %.9g\n", o->sigma);
    if (job->wish.label >= 0) fprintf(to, "--condition class: %d\n", (int)job->wish.label);
    for (size_t c = 0; c < d->columns; ++c)
        if (!isnan(job->wish.value[c])) fprintf(to, "--condition %s: %.9g\n", d->column[c], (double)job->wish.value[c]);
    for (size_t k = 0; k < job->layers; ++k) fprintf(to, "%s%s", k ? "," : "--layers: ", job->layer[k].name);
    if (job->layers) fprintf(to, "\n");
    if (job->masks.count > 0) fprintf(to, "--mask: %s\n--mask-steps: %ld\n--mask-layers: ", mask, o->mask_steps);
    for (size_t k = 0; k < job->masks.count; ++k)
        fprintf(to, "%s%s", job->masks.layer[k].name, k + 1 < job->masks.count ? "," : "\n");
    MF_ASSERT(fclose(to) == 0);
    return MF_OK;
}

size_t mf_generate_lay(struct generate_job *job, size_t pass, char *at)
{
    const struct mf_denoise *d = job->card.denoise;
    const size_t fixed = 5, parts = fixed + job->layers;
    struct {
        void *array; /* a pointer to an array */
        size_t bytes;
    } *part = MF_MUST(calloc(parts, sizeof *part), "arrays");
    size_t n = 0;

    part[0].array = &job->x, part[0].bytes = pass * job->bytes;
    part[1].array = &job->label, part[1].bytes = pass * sizeof *job->label;
    part[2].array = &job->value, part[2].bytes = pass * d->columns * sizeof *job->value;
    part[3].array = &job->real, part[3].bytes = pass * job->columns * sizeof *job->real;
    part[4].array = &job->seed, part[4].bytes = pass * sizeof *job->seed;
    for (size_t k = 0; k < job->layers; ++k) {
        part[fixed + k].array = &job->activation[k];
        part[fixed + k].bytes = pass * mf_generate_numbers(job, k) * sizeof(float);
    }
    for (size_t k = 0; k < parts; n += mf_whole_lines(part[k++].bytes))
        if (at) memcpy(part[k].array, &(char *){at + n}, sizeof at);
    free(part);
    return n;
}

static int take_memory(struct generate_job *job)
{
    char *all = mf_arena_zeros(job->session->arena, 1, mf_generate_lay(job, job->pass, NULL), "samples of a pass");

    if (!all) return MF_MEMORY;
    (void)mf_generate_lay(job, job->pass, all);
    for (size_t r = 0; r < job->pass; ++r) job->seed[r] = (uint64_t)job->o->common.seed;
    return MF_OK;
}

struct mf_generator_form mf_generate_form(const struct generate_job *job, size_t pass)
{
    return (struct mf_generator_form){.word = job->o->by.arch,
                                      .pass = pass,
                                      .type = mf_generate_type(job->o),
                                      .guided = job->o->guidance != 1,
                                      .layers = job->layers,
                                      .layer = job->layer,
                                      .masks = job->masks.count,
                                      .mask = job->masks.layer};
}

int mf_generate_take(struct generate_job *job)
{
    const struct mf_session *s = job->session;
    const struct mf_generator_form form = mf_generate_form(job, job->pass);
    int rc = mf_agree(s->comm, mf_generator_open(job->o->by.model, &form, s->queue, &job->generator));

    job->placed = 0;
    if (rc == MF_OK) rc = mf_agree(s->comm, take_memory(job));
    if (rc != MF_OK) mf_generate_give(job);
    return rc;
}

void mf_generate_give(struct generate_job *job)
{
    mf_generator_close(job->generator);
    mf_arena_give(job->session->arena, job->x);
    job->generator = NULL;
    job->x = NULL;
}
