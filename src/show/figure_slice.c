/* See figure_slice.h. */
#include "src/show/figure_slice.h"

#include <string.h>

#include "src/base/err.h"
#include "src/desc/slice.h"

/* Names for the legend: given ones, or the labels. Only where there are more phases than two or they have names. */
static const char *const *phase_names(struct mf_figure *f, const struct mf_micro *m)
{
    const char **names;
    int named = m->phases > 2;

    for (int p = 0; p < m->phases; ++p) named = named || *m->name[p];
    if (!named) return NULL;
    names = mf_figure_keep(f, (size_t)m->phases * sizeof *names);
    for (int p = 0; p < m->phases; ++p)
        names[p] = *m->name[p] ? mf_figure_text(f, "%s", m->name[p]) : mf_figure_text(f, "%ld", m->label[p]);
    return names;
}

/* @p spacing: of the volume that the plane is from. */
static void draw_plane(struct mf_figure *f, const char *title, const struct mf_micro *plane, const double spacing[3],
                       enum mf_normal normal)
{
    static const char *const axes[3][2] = {{"y", "x"}, {"z", "x"}, {"z", "y"}};
    static const int steps[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    const int *step = steps[normal];
    const struct mf_frame frame = {axes[normal][0], axes[normal][1], plane->unit, {spacing[step[0]], spacing[step[1]]}};

    mf_figure_phases(f, title, &frame, plane->slab.dims[1], plane->slab.dims[2], plane->phase, plane->phases,
                     phase_names(f, plane));
}

int mf_figure_slice(const struct mf_show *show, struct mf_figure *figure, const struct mf_micro *micro,
                    enum mf_normal normal, size_t index, const char *title)
{
    const int first = show->comm->rank == 0;
    struct mf_micro slice;

    if (micro->ndim == 2) {
        if (first) draw_plane(figure, title, micro, micro->spacing, normal);
        return MF_OK;
    }
    MF_TRY(mf_slice_take(show->comm, show->arena, micro, normal, index, &slice));
    if (first) draw_plane(figure, title, &slice, micro->spacing, normal);
    mf_micro_free(&slice);
    return MF_OK;
}
