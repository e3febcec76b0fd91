/* See view_kind.h. */
#include "src/show/view_kind.h"

#include <stdlib.h>
#include <string.h>

#include "io/bar.h"
#include "io/target.h"
#include "src/base/err.h"
#include "src/show/values.h"
#include "src/show/view_metrics.h"

/* --threshold and --labels make phases of places. */
static int check_binarised(const struct mf_view_opts *o, const struct mf_view_file *f)
{
    if (mf_view_is_place(&f->axes) || !f->axes.word) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--%s makes phases of an image or a volume, and '%s' is read as %s; leave it out, or say --axes",
                   o->threshold ? "threshold" : "labels", f->file, mf_view_meaning(f->axes.word));
}

/* --crop, --crop_bar: of the original, where there is one, else of the file. */
static int crop(const struct mf_view_opts *o, struct mf_view_file *f)
{
    struct mf_comm self;

    if (o->original || !(o->crop || o->crop_bar)) return MF_OK;
    mf_comm_self(&self);
    if (o->crop_bar)
        MF_TRY(mf_bar_crop(&self, &f->array, &f->part));
    else
        f->part = *o->crop;
    return mf_array_crop(&f->array, &f->part);
}

static int look_at_array(const struct mf_show *show, const struct mf_view_opts *o, struct mf_view_file *f)
{
    const int binarised = o->threshold || o->labels.count;
    struct mf_values v = {.is_labels = 0};
    const char *array;

    mf_array_split(f->file, &f->plain, &array);
    MF_TRY(mf_array_open(f->plain, array, &f->array));
    MF_TRY(crop(o, f));
    if (!binarised) MF_TRY(mf_values_scan(&f->array, &v));
    MF_TRY(mf_view_axes(show->arena, f->file, &f->array, o->axes, v.is_labels, binarised, &f->axes));
    if (binarised) MF_TRY(check_binarised(o, f));
    f->kind =
        (v.is_labels || binarised) && (mf_view_is_place(&f->axes) || !f->axes.word) ? MF_VIEW_LABELS : MF_VIEW_VALUES;
    if (f->kind == MF_VIEW_VALUES) mf_array_say(&f->array);
    return MF_OK;
}

/* Samples of a set are drawn as they are. */
static int check_set(const struct mf_view_opts *o, const struct mf_view_file *f)
{
    const char *word = o->original       ? "original_ms"
                       : o->target       ? "target"
                       : o->threshold    ? "threshold"
                       : o->labels.count ? "labels"
                                         : NULL;

    if (f->kind != MF_VIEW_SET || !word) return MF_OK;
    return mf_fail(MF_USAGE, "--%s is for one microstructure, and '%s' holds samples; leave it out", word, f->file);
}

static int look(const struct mf_show *show, const struct mf_view_opts *o, struct mf_view_file *f)
{
    int is_h5;

    f->kind = MF_VIEW_METRICS;
    if (!mf_view_is_metrics(f->file)) {
        MF_TRY(mf_look_is_h5(f->file, &is_h5));
        if (!is_h5) return look_at_array(show, o, f);
        f->look = calloc(1, sizeof *f->look);
        if (!f->look) return mf_fail(MF_MEMORY, "no memory to look at '%s'", f->file);
        MF_TRY(mf_look(f->file, f->look));
        f->kind = mf_look_is_dataset(f->look) ? MF_VIEW_SET : MF_VIEW_DESCRIPTORS;
        if (f->kind != MF_VIEW_SET && strcmp(f->look->schema, MF_SCHEMA_TARGET) != 0) return look_at_array(show, o, f);
    }
    MF_TRY(check_set(o, f));
    if (!o->original && (o->crop || o->crop_bar))
        return mf_fail(MF_USAGE, "--%s takes a part of an image, and '%s' is none; leave it out",
                       o->crop ? "crop" : "crop_bar", f->file);
    if (o->axes) return mf_fail(MF_USAGE, "--axes is for arrays of numbers; '%s' says itself what is in it", f->file);
    return MF_OK;
}

int mf_view_look(const struct mf_show *show, const struct mf_view_opts *o, const char *file, struct mf_view_file *found)
{
    int number, rc = MF_OK;

    *found = (struct mf_view_file){.file = file};
    if (show->comm->rank == 0) rc = look(show, o, found);
    MF_TRY(mf_agree(show->comm, rc));
    number = (int)found->kind;
    mf_comm_bcast(show->comm, 0, &number, sizeof number);
    found->kind = (enum mf_view_kind)number;
    mf_comm_bcast(show->comm, 0, &found->part, sizeof found->part);
    return MF_OK;
}

void mf_view_file_free(struct mf_view_file *found)
{
    if (found->look) mf_look_free(found->look);
    free(found->look);
    free(found->plain);
    found->look = NULL;
    found->plain = NULL;
}
