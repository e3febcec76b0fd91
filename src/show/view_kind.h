/* Decides what a file to be drawn contains. */
#ifndef MF_SHOW_VIEW_KIND_H
#define MF_SHOW_VIEW_KIND_H

#include "io/crop.h"
#include "io/look.h"
#include "src/show/view_axes.h"
#include "src/show/view_draw.h"

enum mf_view_kind { MF_VIEW_DESCRIPTORS, MF_VIEW_LABELS, MF_VIEW_VALUES, MF_VIEW_METRICS, MF_VIEW_SET };

/** A file and its contents; rank 0 has everything, the others only kind and part. */
struct mf_view_file {
    const char *file; /* its name for the user */
    enum mf_view_kind kind;
    struct mf_crop part;      /* of the file, where a part of it is drawn; else of count 0 0 */
    char *plain;              /* the file part of FILE:ARRAY; the array borrows it */
    struct mf_array array;    /* of labels and values */
    struct mf_view_axes axes; /* of values */
    struct mf_look *look;     /* HDF5 files: else NULL */
};

/** Inspects @p file with the options for reading. Collective; refuses (agreed) as reading does, and with MF_USAGE if
 * --axes, --threshold or --labels does not fit. The caller frees @p found in any case. */
int mf_view_look(const struct mf_show *show, const struct mf_view_opts *o, const char *file,
                 struct mf_view_file *found);

void mf_view_file_free(struct mf_view_file *found);

#endif
