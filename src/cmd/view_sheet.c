/* See view_sheet.h. */
#include "src/cmd/view_sheet.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/figure_slice.h"
#include "src/cmd/names.h"

/* An image, or the middle slices of a volume. Collective. */
static int add(struct mf_session *s, const char *file, const struct mf_micro *m, struct mf_figure *figure)
{
    char *name = mf_stem(file), title[128];
    int rc = MF_OK;

    if (!name) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    for (int normal = 0; rc == MF_OK && normal < (m->ndim == 3 ? 3 : 1); ++normal) {
        const size_t middle = m->slab.dims[normal] / 2;

        snprintf(title, sizeof title, m->ndim == 3 ? "%s, %c = %zu" : "%s", name, "zyx"[normal], middle);
        rc = mf_figure_slice(s, figure, m, (enum mf_normal)normal, middle, title);
    }
    free(name);
    return rc;
}

int mf_view_sheet(struct mf_session *session, const struct mf_view_opts *o, size_t count, const char *const *files,
                  struct mf_figure *figure)
{
    const struct mf_micro_read read = {
        .threshold = o->threshold, .label_count = o->labels.count, .labels = o->labels.at, .unhashed = 1};

    figure->columns = (size_t)o->columns;
    for (size_t i = 0; i < count; ++i) {
        struct mf_micro micro;
        int rc;

        MF_TRY(mf_micro_read(session->comm, session->arena, files[i], &read, &micro));
        rc = add(session, files[i], &micro, figure);
        mf_micro_free(&micro);
        MF_TRY(rc);
    }
    return MF_OK;
}
