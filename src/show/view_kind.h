/* What a file is that is to be drawn. */
#ifndef MF_SHOW_VIEW_KIND_H
#define MF_SHOW_VIEW_KIND_H

#include "io/look.h"
#include "src/show/view_axes.h"
#include "src/show/view_draw.h"

enum mf_view_kind { MF_VIEW_DESCRIPTORS, MF_VIEW_LABELS, MF_VIEW_VALUES, MF_VIEW_METRICS };

/** A file that was looked at; all but the kind is rank 0's. */
struct mf_view_file {
    const char *file; /* what the user calls it */
    enum mf_view_kind kind;
    char *plain;              /* the file of FILE:ARRAY, which the array borrows */
    struct mf_array array;    /* of labels and values */
    struct mf_view_axes axes; /* of values */
    struct mf_look *look;     /* HDF5 files: else NULL */
};

/** Looks at @p file as the options want it read. Collective; refuses (agreed) with what reading refuses with, and with
 * MF_USAGE where --axes, --threshold or --labels does not fit. The caller frees @p found whatever the outcome. */
int mf_view_look(const struct mf_show *show, const struct mf_view_opts *o, const char *file,
                 struct mf_view_file *found);

void mf_view_file_free(struct mf_view_file *found);

#endif
