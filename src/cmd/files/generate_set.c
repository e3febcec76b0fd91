/* The set of generate: columns, arrays, settings, and the memory of a pass. See generate.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/safetensors.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/files/generate.h"

int mf_generate_knows(const struct generate_job *job, size_t c)
{
    return job->card->denoise->rows > 0 || !isnan(job->wish.value[c]);
}

static void name_columns(struct generate_job *job)
{
    const struct mf_denoise *d = job->card->denoise;

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
    const struct mf_model_card *c = job->card;

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
    name_columns(job);
    name_arrays(job);
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
    const struct mf_denoise *d = job->card->denoise;
    char hash[MF_HASH_TEXT] = "", mask[MF_HASH_TEXT] = "", *file = mf_safetensors_where(job->card->path);
    size_t size;
    FILE *to;
    int rc = hash_of(comm, file, hash);

    free(file);
    if (rc == MF_OK && job->masks.count > 0) rc = hash_of(comm, o->mask, mask);
    MF_TRY(rc);
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
    if (job->masks.count > 0) fprintf(to, "--mask: %s\n--mask-steps: %ld\n--mask-layers: ", mask, o->mask_steps);
    for (size_t k = 0; k < job->masks.count; ++k)
        fprintf(to, "%s%s", job->masks.layer[k].name, k + 1 < job->masks.count ? "," : "\n");
    MF_ASSERT(fclose(to) == 0);
    return MF_OK;
}

static int take_activations(struct generate_job *job)
{
    job->activation = MF_MUST(calloc(job->layers + 1, sizeof *job->activation), "layers");
    for (size_t k = 0; k < job->layers; ++k) {
        job->activation[k] =
            mf_arena_zeros(job->session->arena, job->pass, mf_generate_numbers(job, k) * sizeof(float), "activations");
        if (!job->activation[k]) return MF_MEMORY;
    }
    return MF_OK;
}

int mf_generate_take(struct generate_job *job)
{
    const struct mf_model_card *c = job->card;
    const size_t voxels = c->dims[0] * c->dims[1] * c->dims[2];

    job->bytes = c->phases ? voxels : voxels * c->dims[3] * (mf_model_card_bytes(c) ? 1 : sizeof(float));
    job->x = MF_MUST(calloc(job->pass, job->bytes), "samples of a pass");
    job->label = MF_MUST(calloc(job->pass, sizeof *job->label), "samples of a pass");
    job->value = MF_MUST(calloc(job->pass * c->denoise->columns + 1, sizeof *job->value), "samples of a pass");
    job->real = MF_MUST(calloc(job->pass * job->columns + 1, sizeof *job->real), "samples of a pass");
    job->seed = MF_MUST(calloc(job->pass, sizeof *job->seed), "samples of a pass");
    for (size_t r = 0; r < job->pass; ++r) job->seed[r] = (uint64_t)job->o->common.seed;
    return mf_agree(job->session->comm, take_activations(job));
}

void mf_generate_give(struct generate_job *job)
{
    for (size_t k = 0; k < job->layers; ++k) {
        if (job->activation) mf_arena_give(job->session->arena, job->activation[k]);
        if (job->path) free(job->path[k]);
    }
    free(job->activation);
    free(job->path);
    free(job->array);
    free(job->column);
    free(job->name);
    free(job->class_name);
    free(job->settings);
    free(job->x);
    free(job->label);
    free(job->value);
    free(job->real);
    free(job->seed);
}
