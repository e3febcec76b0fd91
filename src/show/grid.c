/* See grid.h. */
#include "src/show/grid.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { EDGE = 8 /* cells of a row, where a set is viewed */ };

static size_t gap_of(const struct mf_grid *g) { return 1 + g->edge[1] / 16; }
static size_t height_of(const struct mf_grid *g) { return g->rows * (g->edge[0] + gap_of(g)) - gap_of(g); }
static size_t width_of(const struct mf_grid *g) { return g->columns * (g->edge[1] + gap_of(g)) - gap_of(g); }

struct mf_grid mf_grid_begin(struct mf_figure *f, const struct mf_dataset *set, size_t rows, size_t columns)
{
    struct mf_grid g = {.rows = rows,
                        .columns = columns,
                        .edge = {set->dims[1], set->dims[2]},
                        .channels = set->dims[3] == 3 ? 3 : 1,
                        .phases = set->phases};
    const size_t n = height_of(&g) * width_of(&g) * g.channels;

    g.pixel = mf_figure_keep(f, n * sizeof *g.pixel);
    for (size_t i = 0; i < n; ++i) g.pixel[i] = NAN;
    return g;
}

double *mf_grid_at(const struct mf_grid *g, size_t cell, size_t y, size_t x)
{
    const size_t row = cell / g->columns * (g->edge[0] + gap_of(g)) + y;

    return g->pixel + (row * width_of(g) + cell % g->columns * (g->edge[1] + gap_of(g)) + x) * g->channels;
}

static double value_of(const struct mf_dataset *set, const uint8_t *x, size_t i)
{
    return set->is_float ? (double)((const float *)(const void *)x)[i] : x[i];
}

void mf_grid_put(const struct mf_grid *g, size_t cell, const struct mf_dataset *set, const uint8_t *x,
                 const size_t by[3])
{
    static const size_t nowhere[3];
    const size_t *n = set->dims, *to = by ? by : nowhere, z = (n[0] / 2 + n[0] - to[0]) % n[0];

    for (size_t y = 0; y < n[1]; ++y)
        for (size_t k = 0; k < n[2]; ++k) {
            const size_t from = (z * n[1] + (y + n[1] - to[1]) % n[1]) * n[2] + (k + n[2] - to[2]) % n[2];

            for (size_t c = 0; c < g->channels; ++c) mf_grid_at(g, cell, y, k)[c] = value_of(set, x, from * n[3] + c);
        }
}

void mf_grid_draw(struct mf_figure *f, const struct mf_grid *g, double low, double high, const char *title)
{
    const size_t rows = height_of(g), columns = width_of(g);
    struct mf_panel *p = mf_figure_next(f);

    *p = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                           .title = title,
                           .rows = rows,
                           .columns = columns,
                           .image = g->pixel,
                           .channels = (int)g->channels,
                           .colours = f->map      ? f->map
                                      : g->phases ? NULL
                                                  : "gray",
                           .range = {g->phases ? 0 : low, g->phases ? g->phases - 1 : high},
                           .extent = {0, (double)columns, 0, (double)rows},
                           .bare = 1};
}

void mf_grid_range(const struct mf_dataset *set, size_t n, const uint32_t *id, double *low, double *high)
{
    *low = set->is_float ? INFINITY : 0;
    *high = set->is_float ? -INFINITY : 255;
    for (size_t c = 0; set->is_float && c < set->dims[3]; ++c) {
        const struct mf_channel v = mf_dataset_channel(set, c, n, id);

        *low = fmin(*low, v.least <= v.most ? v.least : v.mean - 3 * v.deviation);
        *high = fmax(*high, v.least <= v.most ? v.most : v.mean + 3 * v.deviation);
    }
    if (!(*high > *low)) *high = *low + 1;
}

/* ---- one set ---- */

struct viewing {
    const struct mf_grid *grid;
    const struct mf_dataset *set;
    size_t cell;
};

static void fill(void *context, const struct mf_batch *batch)
{
    struct viewing *v = context;

    for (size_t i = 0; i < batch->n; ++i) mf_grid_put(v->grid, v->cell++, v->set, batch->x + i * v->set->bytes, NULL);
}

/* Complete samples. */
static size_t list(const struct mf_dataset *set, uint32_t *id)
{
    size_t n = 0;

    for (size_t i = 0; i < set->samples; ++i)
        if (!set->status || set->status[i] == 1) id[n++] = (uint32_t)i;
    return n;
}

static int draw(const struct mf_show *show, const struct mf_dataset *set, size_t all, const uint32_t *id,
                struct mf_figure *f)
{
    const struct mf_reader_wish wish = {.ahead = 1, .batch = 1, .raw = 1};
    const size_t n = all < EDGE * EDGE ? all : EDGE * EDGE, columns = n < EDGE ? n : EDGE;
    const struct mf_grid g = mf_grid_begin(f, set, (n + columns - 1) / columns, columns);
    struct viewing v = {&g, set, 0};
    uint32_t some[EDGE * EDGE];
    double low, high;

    for (size_t i = 0; i < n; ++i) some[i] = id[i * all / n];
    MF_TRY(mf_samples_read(set, show->arena, &wish, n, some, fill, &v));
    mf_grid_range(set, n, some, &low, &high);
    mf_grid_draw(f, &g, low, high, mf_figure_text(f, "%zu of %zu samples", n, all));
    f->panel[f->count - 1].zoom = 2;
    return MF_OK;
}

/* "made.h5: 32 x 32, 3 channels" */
static const char *title_of(const struct mf_dataset *set, struct mf_figure *f)
{
    const size_t *n = set->dims;
    const char *size = set->ndim == 3 ? mf_figure_text(f, "%zu \303\227 %zu \303\227 %zu", n[0], n[1], n[2])
                                      : mf_figure_text(f, "%zu \303\227 %zu", n[1], n[2]);

    return mf_figure_text(f, "%s: %s, %zu %s%s", mf_name_base(set->path), size,
                          set->phases ? (size_t)set->phases : n[3], set->phases ? "phase" : "channel",
                          MF_S(set->phases ? (size_t)set->phases : n[3]));
}

static int view(const struct mf_show *show, const struct mf_dataset *set, struct mf_figure *f)
{
    uint32_t *id;
    size_t n;
    int rc;

    MF_TRY(MF_ROOM(id, set->samples + 1, "the samples of '%.300s'", set->path));
    n = list(set, id);
    rc = n ? draw(show, set, n, id, f) : mf_fail(MF_INPUT, "'%s' has no complete sample", set->path);
    free(id);
    return rc;
}

int mf_grid_view(const struct mf_show *show, const char *path, struct mf_figure *f, const char **title)
{
    struct mf_dataset *set;
    int rc;

    MF_TRY(mf_dataset_open(show->comm, path, &set));
    f->columns = 1;
    rc = mf_agree(show->comm, show->comm->rank == 0 ? view(show, set, f) : MF_OK);
    if (rc == MF_OK && show->comm->rank == 0) *title = title_of(set, f);
    mf_dataset_close(set);
    return rc;
}
