/* See compare_sets.h. */
#include "src/cmd/recon/compare_sets.h"

#include "src/base/err.h"
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

static int print(const struct mf_session *s, const struct mf_sets *sets)
{
    struct mf_json *all;
    int rc;

    if (!s->common->json) {
        mf_sets_text(stdout, sets);
        return MF_OK;
    }
    all = mf_sets_json(sets);
    rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

int mf_compare_sets_run(struct mf_session *s, const struct mf_sets_opts *o, size_t count, const char *const *files,
                        size_t sets)
{
    const struct mf_show show = mf_session_show(s);
    struct mf_sets both;
    int rc;

    MF_TRY(check(count, files, sets));
    MF_UNUSED(s, "sets of samples are compared", "descriptor_types", "nl_method", "gram_weights_filename", "slices",
              "threshold", "crop", "crop_bar", "labels", "output");
    rc = mf_sets_compare(&show, o, files, &both);
    if (rc == MF_OK) rc = mf_agree(s->comm, s->comm->rank == 0 ? print(s, &both) : MF_OK);
    mf_sets_free(&both);
    return rc;
}
