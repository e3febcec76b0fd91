/* See compare_sets.h. */
#include "src/cmd/recon/compare_sets.h"

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/unused.h"

static int check(size_t count, const char *const *files, size_t sets)
{
    if (sets < count)
        return mf_fail(MF_USAGE,
                       "of '%s' and '%s' one is a set of samples and the other a single microstructure; compare two "
                       "of a kind",
                       files[0], files[1]);
    if (count > 2)
        return mf_fail(MF_USAGE, "two sets of samples are compared at a time, REAL and MADE, not %zu", count);
    return MF_OK;
}

/* Rank 0: writes the sheet, and what it shows into *picture. */
static int draw(const struct mf_session *s, const struct mf_sets *both, struct mf_json **picture)
{
    const struct mf_show show = mf_session_show(s);
    const char *output = mf_common_of(s)->output;
    struct mf_figure figure = {.columns = 2};
    int rc = mf_sets_draw(&show, both, &figure);

    if (rc == MF_OK) {
        *picture = mf_json_object();
        mf_json_text(*picture, "output", output);
        mf_figure_json(&figure, 1, *picture);
        rc = mf_plot_write(output,
                           mf_figure_text(&figure, "%s and %s", mf_name_base(both->set[MF_SETS_REAL]->path),
                                          mf_name_base(both->set[MF_SETS_MADE]->path)),
                           figure.panel, figure.count, figure.columns);
    }
    mf_figure_free(&figure);
    if (rc == MF_OK) mf_info("wrote %s", output);
    return rc;
}

/* Rank 0. */
static int finish(const struct mf_session *s, const struct mf_sets *both)
{
    struct mf_json *picture = NULL, *all;
    int rc = mf_common_of(s)->output && !s->settings.dry_run ? draw(s, both, &picture) : MF_OK;

    if (rc == MF_OK && !mf_common_of(s)->json) mf_sets_text(stdout, both);
    if (rc == MF_OK && mf_common_of(s)->json) {
        all = mf_sets_json(both);
        if (picture) mf_json_put(all, "picture", picture);
        picture = NULL;
        rc = mf_json_write(all, stdout);
        mf_json_free(all);
    }
    mf_json_free(picture);
    return rc;
}

int mf_compare_sets_run(struct mf_session *s, const struct mf_sets_opts *o, size_t count, const char *const *files,
                        size_t sets)
{
    const struct mf_show show = mf_session_show(s);
    struct mf_sets both;
    int rc;

    MF_TRY(check(count, files, sets));
    MF_UNUSED(s, "sets of samples are compared", "conductivity", "descriptor_types", "nl_method",
              "gram_weights_filename", "slices", "threshold", "crop", "crop_bar", "labels");
    rc = mf_sets_compare(&show, o, files, &both);
    if (rc == MF_OK) rc = mf_agree(s->comm, s->comm->rank == 0 ? finish(s, &both) : MF_OK);
    mf_sets_free(&both);
    return rc;
}
