/* view: a picture of a file. The drawing is in view_draw.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/names.h"
#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/cmd/micrograph.h"
#include "src/show/view_axes.h"
#include "src/show/view_draw.h"
#include "src/show/view_sheet.h"

struct view_cmd {
    struct mf_common common;
    struct mf_view_opts view;
    const char *map, *symmetry;
    int bare, save;
    struct mf_longs crop;
    struct mf_crop part; /* the same */
};

static const struct mf_opt rows[] = {
    MF_OPT(view_cmd, "original_ms", view.original, MF_TEXT, NULL,
           "the microstructure this was made after: drawn beside it"),
    MF_OPT(view_cmd, "target", view.target, MF_TEXT, NULL,
           "descriptor file: its curves are drawn with those of the file"),
    MF_OPT(view_cmd, "slices", view.slices, MF_LONG, "1", "volumes: slices drawn along every axis"),
    MF_OPT(view_cmd, "columns", view.columns, MF_LONG, "6", "several files: pictures in a row"),
    MF_OPT(view_cmd, "limit_to", view.lag, MF_LONG, "16",
           "L: correlations are drawn for lags below it [pixels] (without: the L of the run or the target, where there "
           "is one)"),
    MF_OPT(view_cmd, "non_periodic", view.periodic, MF_UNFLAG, NULL, "correlations of pairs inside the image only"),
    MF_CHOICE_TEXT(view_cmd, "cmap", map, NULL, "cividis|viridis|magma|gray",
                   "colours of images (default: cividis, and for phases one distinct colour each)"),
    MF_OPT(view_cmd, "noaxis", bare, MF_FLAG, NULL, "images without axes and colour bars"),
    MF_OPT(view_cmd, "savefig", save, MF_FLAG, NULL, "accepted; a file is always written and no window opened"),
    MF_OPT(view_cmd, "symmetry", symmetry, MF_TEXT, NULL, "of crystal orientations; refused, phases have none"),
    MF_OPT(view_cmd, "threshold", view.threshold, MF_TEXT, NULL,
           "binarise grey input: otsu, or phase 1 above this value"),
    MF_OPT(view_cmd, "labels", view.labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as 0,128,255"),
    MF_OPT(view_cmd, "crop", crop, MF_LONGS, NULL,
           "only this part of an image is drawn, of --original_ms where it is given: Y X HEIGHT WIDTH [pixels]"),
    MF_OPT(view_cmd, "crop_bar", view.crop_bar, MF_FLAG, NULL, "cuts the data bar off the same, as match does"),
    MF_CHOICE_TEXT(
        view_cmd, "axes", view.axes, NULL, MF_VIEW_WORDS,
        "what the axes of an array are, in their order (without: what the file, its values or its shape say)"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* Refuses options for one file alone. */
static int check_several(const struct mf_session *session, const struct mf_view_opts *o)
{
    static const char *const words[] = {"original_ms",  "target", "slices",  "limit_to",
                                        "non_periodic", "crop",   "crop_bar"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (mf_given(session, words[i]))
            return mf_fail(MF_USAGE, "--%s is for one file; several are drawn as they are", words[i]);
    if (o->columns < 1 || o->columns > 64) return mf_fail(MF_USAGE, "--columns must be 1 to 64, not %ld", o->columns);
    return MF_OK;
}

static int check(const struct mf_session *session, void *options)
{
    const struct view_cmd *cmd = options;
    const struct mf_view_opts *o = &cmd->view;
    const size_t count = mf_arguments(session, NULL);

    if (count == 0) return mf_fail(MF_USAGE, "a file is needed; try: mesoforge view FILE");
    if (cmd->symmetry)
        return mf_fail(MF_USAGE,
                       "--symmetry %s: it is of crystal orientations, and these files hold phases; leave it out",
                       cmd->symmetry);
    MF_TRY(mf_crop_check(&cmd->crop, o->crop_bar));
    if (count > 1) return check_several(session, o);
    if (mf_given(session, "columns")) return mf_fail(MF_USAGE, "--columns is for several files, and there is one");
    if (o->slices < 1 || o->slices > 64) return mf_fail(MF_USAGE, "--slices must be 1 to 64, not %ld", o->slices);
    if (o->lag < 1) return mf_fail(MF_USAGE, "--limit_to must be at least 1, not %ld", o->lag);
    return MF_OK;
}

static int report(const struct mf_session *session, const char *path, const struct mf_figure *figure, int has_title)
{
    struct mf_json *json;
    int rc;

    if (!mf_common_of(session)->json) {
        printf("%s\n", path);
        return MF_OK;
    }
    json = mf_json_object();
    mf_json_text(json, "output", path);
    mf_figure_json(figure, has_title, json);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int draw_to(struct mf_session *session, const struct view_cmd *cmd, size_t count, const char *const *files,
                   const char *path)
{
    const struct mf_show show = mf_session_show(session);
    struct mf_figure figure = {.map = cmd->map, .bare = cmd->bare, .columns = 1};
    const char *title = NULL;
    struct mf_comm self;
    int rc;

    mf_comm_self(&self); /* all ranks read all files */
    if (count > 1) mf_notes_begin();
    rc = count > 1 ? mf_view_sheet(&show, &cmd->view, count, files, &figure)
                   : mf_view_draw(&show, &cmd->view, files[0], &figure, &title);
    mf_notes_end(&self);
    if (rc == MF_OK && session->comm->rank == 0 && !session->settings.dry_run)
        rc = mf_plot_write(path, title, figure.panel, figure.count, figure.columns);
    if (rc == MF_OK && session->comm->rank == 0) rc = report(session, path, &figure, title != NULL);
    mf_figure_free(&figure);
    return mf_agree(session->comm, rc);
}

static int run(struct mf_session *session, void *options)
{
    struct view_cmd *cmd = options;
    const struct mf_view_opts *o = &cmd->view;
    const char *const *files;
    char *stem, *path = NULL;
    size_t count = mf_arguments(session, &files);
    int rc;

    MF_TRY(mf_session_may_write(session, mf_common_of(session)->output, ".png"));
    cmd->view.lag_given = mf_given(session, "limit_to");
    cmd->view.crop = mf_crop_of(&cmd->crop, &cmd->part);
    stem = MF_MUST(mf_stem(files[0]), "a name");
    rc = mf_session_path(session, stem, "_view.png", &path);
    free(stem);
    if (rc == MF_OK) rc = mf_session_spares(session, path, 2, (const char *[]){o->original, o->target});
    if (rc == MF_OK) rc = mf_session_spares(session, path, count, files);
    if (rc == MF_OK) rc = draw_to(session, cmd, count, files, path);
    free(path);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Draws a PNG of what is in a file:\n"
    "\n"
    "  an image        the image, its two-point correlation S2 as a map and as\n"
    "                  curves along both axes\n"
    "  a volume        a slice in the middle normal to z, y and x (or --slices of\n"
    "                  each) and S2 of all slices in every direction\n"
    "  a result of reconstruct or match: the same, and the loss of the run\n"
    "  descriptors     every descriptor and every measure of the file: windows of\n"
    "                  lags and matrices as images, functions as curves, few numbers\n"
    "                  as bars; of up to four phases (or pairs of them) and four\n"
    "                  pyramid levels, of three directions the finest. A line says\n"
    "                  how many panels that leaves out\n"
    "  metrics.jsonl   the loss of a run, also of one under way; or its folder. Of a\n"
    "                  training: loss, accuracy, learning rate, speed, memory\n"
    "  grey values     the image, or slices of a volume, with a colour bar; fields\n"
    "                  [y][x][phase] and [z][y][x][phase] of every phase; exported\n"
    "                  descriptors (characterize --export): [phase][level][n][n]\n"
    "                  as images, [phase][level][entry] as curves, [phase][level]\n"
    "                  as bars. All pictures of an array have one scale\n"
    "  a dataset       up to 64 of its samples, evenly spread: phases, grey values\n"
    "                  or colours\n"
    "  several files   each as it is drawn alone, but without correlations: images,\n"
    "                  middle slices of volumes, arrays; --columns in a row\n"
    "\n"
    "Arrays seldom say what their axes are; ours of reals do. Otherwise it is taken\n"
    "from the values (phases sum to 1 everywhere) or guessed from the shape; a line\n"
    "then names the --axes for another meaning. Its letters are in the order of the\n"
    "array's axes: z y x places, p phases, q pairs of phases, l levels, d lags along\n"
    "z, u v rows and columns of windows and matrices, e entries.\n"
    "\n"
    "With --original_ms the original is drawn beside the result and its S2 as\n"
    "circles on the result's curves; --target takes the circles from a descriptor\n"
    "file. \"rms\" is the root mean square of the difference over all lags drawn: of a\n"
    "result those of its run. Pictures of labels have one scale, if none gets too\n"
    "small by it. --json says what is drawn, and where.\n"
    "\n"
    "Examples:\n"
    "  mesoforge view image.npy --output image.png\n"
    "  mesoforge view results/image_reconstructed.h5 --original_ms image.npy\n"
    "  mesoforge view volume.h5 --target results/image_characterization.h5\n"
    "  mesoforge view results/image_characterization.h5 --cmap viridis\n"
    "  mesoforge view image.npy like.npy volume.h5 --columns 5 --noaxis\n"
    "  mesoforge view gradient.npy --axes yxp\n"
    "  mesoforge view made.h5 --output samples.png\n";
/* clang-format on */

const struct mf_cmd mf_cmd_view = {
    .name = "view",
    .summary = "draw slices, correlations, curves and arrays",
    .synopsis = "FILE [FILE ...] [--original_ms FILE] [--target FILE] [--slices N] [--output PNG]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct view_cmd),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
