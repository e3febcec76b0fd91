/* See view_sheet.h. */
#include "src/show/view_sheet.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/names.h"
#include "src/base/err.h"
#include "src/show/figure_slice.h"
#include "src/show/view_kind.h"
#include "src/show/view_values.h"

/* A sheet in progress. */
struct sheet {
    const struct mf_show *show;
    const struct mf_view_opts *o;
    struct mf_figure *figure;
};

/* An image, or the middle slices of a volume. Collective. */
static int add_slices(const struct sheet *sheet, const char *name, const struct mf_micro *m)
{
    char title[128];

    for (int normal = 0; normal < (m->ndim == 3 ? 3 : 1); ++normal) {
        const size_t middle = m->slab.dims[normal] / 2;

        snprintf(title, sizeof title, m->ndim == 3 ? "%s, %c = %zu" : "%s", name, "zyx"[normal], middle);
        MF_TRY(mf_figure_slice(sheet->show, sheet->figure, m, (enum mf_normal)normal, middle, title));
    }
    return MF_OK;
}

static int add_labels(const struct sheet *sheet, const char *file, const char *name)
{
    const struct mf_micro_read read = {.threshold = sheet->o->threshold,
                                       .label_count = sheet->o->labels.count,
                                       .labels = sheet->o->labels.at,
                                       .unhashed = 1};
    struct mf_micro micro;
    int rc;

    MF_TRY(mf_micro_read(sheet->show->comm, sheet->show->arena, file, &read, &micro));
    rc = add_slices(sheet, name, &micro);
    mf_micro_free(&micro);
    return rc;
}

/* Rank 0. */
static int add_values(const struct sheet *sheet, const struct mf_view_file *found, const char *name)
{
    struct mf_view_scale scale;
    size_t columns;

    return mf_view_values(sheet->show, found, name, sheet->figure, &columns, &scale);
}

static int add(const struct sheet *sheet, const struct mf_view_file *found, const char *name)
{
    const struct mf_comm *comm = sheet->show->comm;

    switch (found->kind) {
    case MF_VIEW_LABELS: return add_labels(sheet, found->file, name);
    case MF_VIEW_VALUES: return mf_agree(comm, comm->rank == 0 ? add_values(sheet, found, name) : MF_OK);
    default:
        return mf_fail(MF_USAGE, "'%s' holds %s: it fills a picture of its own; try: mesoforge view %s", found->file,
                       found->kind == MF_VIEW_METRICS ? "the course of a run"
                       : found->kind == MF_VIEW_SET   ? "samples"
                                                      : "descriptors",
                       found->file);
    }
}

int mf_view_sheet(const struct mf_show *show, const struct mf_view_opts *o, size_t count, const char *const *files,
                  struct mf_figure *figure)
{
    const struct sheet sheet = {show, o, figure};

    figure->columns = (size_t)o->columns;
    for (size_t i = 0; i < count; ++i) {
        char *name = MF_MUST(mf_stem(files[i]), "a name");
        struct mf_view_file found;
        int rc;

        rc = mf_view_look(show, o, files[i], &found);
        if (rc == MF_OK) rc = add(&sheet, &found, name);
        mf_view_file_free(&found);
        free(name);
        MF_TRY(rc);
    }
    return MF_OK;
}
