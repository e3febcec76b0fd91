/* See include/mesoforge.h: the verb "read" of the library, which makes a structure of a field or a file. */
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/properties.h"
#include "src/lib/lib.h"

struct read {
    struct mf_common common;
    const char *threshold, *dataset, *unit;
    struct mf_longs labels, crop;
    struct mf_reals spacing;
    int crop_bar;
};

static const struct mf_opt rows[] = {MF_LABEL_ROWS(read, ), MF_ARRAY_ROWS(read, ), MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int check(const struct mf_session *session, void *options)
{
    const struct read *o = options;

    if (mf_options_positional(mf_options_of(session), NULL) == 0) return mf_fail(MF_USAGE, "there is nothing to read");
    MF_TRY(mf_spacing_check(&o->spacing));
    return mf_crop_check(&o->crop, o->crop_bar);
}

/* Collective. */
static struct mf_json *facts(const struct mf_comm *comm, const struct mf_micro *micro, const char *file)
{
    struct mf_json *json = mf_json_object(), *phases = mf_json_array();
    double fraction[MF_PHASES_MAX];

    mf_properties_fractions(comm, micro, fraction);
    mf_json_text(json, "file", file);
    mf_micro_shape(micro->slab.dims, json);
    for (int p = 0; p < micro->phases; ++p) {
        struct mf_json *phase = mf_json_object();

        MF_JSON(phase, "label", micro->label[p], "volume_fraction", fraction[p]);
        mf_json_put(phases, NULL, phase);
    }
    mf_json_put(json, "phases", phases);
    return json;
}

static int give(const struct mf_session *session, struct mf_micro *micro, const char *file)
{
    struct mf_json *json = facts(session->comm, micro, file);
    const int rc = mf_session_give(session, micro, json);

    mf_json_free(json);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    const struct read *o = options;
    const struct mf_micro_read read = {.threshold = o->threshold,
                                       .label_count = o->labels.count,
                                       .labels = o->labels.at,
                                       .unit = o->unit,
                                       .dataset = o->dataset,
                                       .crop_bar = o->crop_bar,
                                       .unhashed = 1};
    struct mf_micro micro = {0};
    const char *const *files;
    int rc;

    mf_options_positional(mf_options_of(session), &files);
    rc = mf_micrograph_read(session, files[0], &o->spacing, &o->crop, read, &micro);
    if (rc == MF_OK) rc = give(session, &micro, files[0]);
    mf_micro_free(&micro);
    return rc;
}

const struct mf_cmd mf_lib_reading = {
    .name = "read",
    .summary = "a structure of an image or a volume, with the size of its voxels",
    .tables = tables,
    .size = sizeof(struct read),
    .positional_max = 1,
    .check = check,
    .run = run,
    .in_library = 1,
};
