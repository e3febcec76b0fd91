/* properties: effective conductivity of images and volumes. */
#include "src/cmd/recon/properties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/cmd/log_view.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon/properties_fields.h"
#include "src/cmd/recon/properties_set.h"
#include "src/cmd/recon/properties_stiffness.h"
#include "src/cmd/refused.h"
#include "src/cmd/unused.h"
#include "src/desc/measure.h"
#include "src/show/sets.h"

const struct mf_opt mf_properties_rows[] = {
    MF_OPT(properties, "conductivity", conductivity, MF_REALS, NULL, "of labels 0, 1, ...; 0: insulator"),
    MF_OPT(properties, "conducting", conducting, MF_LONGS, NULL,
           "labels with conductivity 1; the others are insulators"),
    MF_CHOICE_TEXT(
        properties, "boundary", boundary, "plates", "plates|periodic|centres",
        "plates on the outer faces; a period of an endless structure; plates through the centres of the first and "
        "last voxels (PoreSpy)"),
    MF_CHOICE(properties, "sides", sides_periodic, "closed", "closed|periodic",
              "between plates: no flux leaves through the other faces, or they are joined"),
    MF_OPT(properties, "axes", axes, MF_TEXTS, NULL, "along which axes, as z x (else all)"),
    MF_OPT(properties, "young", young, MF_REALS, NULL,
           "stiffness instead of conduction: Young's moduli of labels 0, 1, ...; 0: void"),
    MF_OPT(properties, "poisson", poisson, MF_REALS, NULL, "their Poisson ratios; one value is for all"),
    MF_OPT(properties, "stiffness", stiffness, MF_REALS, NULL,
           "the same of cubic phases: C11 C12 C44 of each label, along the axes of the volume"),
    MF_CHOICE(properties, "scheme", scheme, "staggered", "staggered|rotated",
              "grid of the stiffness: shear on edges of voxels, or displacements at their corners"),
    MF_OPT(properties, "tolerance", tolerance, MF_REAL, "1e-4",
           "relative error of the conductivity or of the stiffness at which to stop"),
    MF_LABEL_ROWS(properties, ),
    MF_ARRAY_ROWS(properties, ),
    MF_OPT_END};

static const struct mf_opt rows[] = {
    MF_OPT(properties, "error-bars", error_bars, MF_FLAG, NULL,
           "the errors of the grid and of the sample as well; takes about three times as long"),
    MF_OPT(properties, "edge-for", edge_for, MF_TEXT, NULL,
           "only the edge of a volume whose conductivity would deviate by so much, as 1%"),
    MF_OPT(properties, "fields", fields, MF_TEXT, NULL,
           "FILE.vtkhdf gets potential and flux at the voxels, for ParaView"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {mf_properties_rows, rows, mf_log_view_rows, mf_common_opts, NULL};

/* -- options -- */

/** Which axes: "z x" or "zx". */
static int find_axes(const struct mf_texts *axes, int wanted[3])
{
    wanted[0] = wanted[1] = wanted[2] = axes->count == 0;
    for (size_t i = 0; i < axes->count; ++i)
        for (const char *c = axes->at[i]; *c; ++c) {
            const char *at = strchr("zyx", *c);

            if (!at) return mf_fail(MF_USAGE, "--axes %s: there are z, y and x", axes->at[i]);
            wanted[at - "zyx"] = 1;
        }
    if (!(wanted[0] || wanted[1] || wanted[2])) return mf_fail(MF_USAGE, "--axes names none; there are z, y and x");
    return MF_OK;
}

/** "1%" or "1": a hundredth. NULL: 0. */
static int find_share(const char *text, double *share)
{
    char *end;

    *share = 0;
    if (!text) return MF_OK;
    *share = strtod(text, &end) / 100;
    if (end == text || (*end && strcmp(end, "%") != 0) || !(*share > 0 && *share < 1))
        return mf_fail(MF_USAGE, "--edge-for %s: above 0%% and below 100%%, as 1%%", text);
    return MF_OK;
}

static int check_conduction(const struct mf_session *session, const struct properties *o)
{
    if (o->conductivity.count && o->conducting.count)
        return mf_fail(MF_USAGE, "--conductivity and --conducting say the same; leave one of them out");
    if (!o->conductivity.count && !o->conducting.count)
        return mf_fail(MF_USAGE, "no conductivities; try: --conductivity 0 1, or --young 1 10 --poisson 0.3");
    MF_UNUSED(session, "it is for stiffness", "scheme");
    return o->conductivity.count ? mf_conduct_check(o->conductivity.count, o->conductivity.at) : MF_OK;
}

int mf_properties_check(const struct mf_session *session, const struct properties *o)
{
    int wanted[3];

    MF_TRY(mf_stiffness_asked(o) ? mf_stiffness_check(session, o) : check_conduction(session, o));
    if (!(o->tolerance >= 1e-7 && o->tolerance <= 0.1))
        return mf_fail(MF_USAGE, "--tolerance %g: 1e-7 to 0.1", o->tolerance);
    if (strcmp(o->boundary, "periodic") == 0 && mf_given(session, "sides"))
        return mf_fail(MF_USAGE, "--sides is for plates, but --boundary periodic joins all faces");
    MF_TRY(find_axes(&o->axes, wanted));
    MF_TRY(mf_spacing_check(&o->spacing));
    return mf_crop_check(&o->crop, o->crop_bar);
}

static int check(const struct mf_session *session, void *options)
{
    const struct properties *o = options;
    double share;

    if (mf_arguments(session, NULL) == 0)
        return mf_fail(MF_USAGE, "no file; try: mesoforge properties FILE --conductivity 0 1");
    MF_TRY(mf_properties_check(session, o));
    MF_TRY(find_share(o->edge_for, &share));
    if (o->fields && mf_arguments(session, NULL) > 1)
        return mf_fail(MF_USAGE, "--fields is of one file; leave the others out");
    if (session->settings.dry_run) return mf_fail(MF_USAGE, "properties has no --dry-run: it only computes");
    return MF_OK;
}

/* -- a file -- */

/** Labels below this have a conductivity, even those that a file lacks. */
static size_t label_span(const struct properties *o)
{
    long most = (long)(mf_stiffness_asked(o) ? mf_stiffness_phases(o) : o->conductivity.count);

    for (size_t i = 0; i < o->conducting.count; ++i)
        if (o->conducting.at[i] >= most && o->conducting.at[i] < MF_PHASES_MAX) most = o->conducting.at[i] + 1;
    return (size_t)most;
}

int mf_properties_read(const struct mf_session *session, const struct properties *o, const char *file,
                       struct mf_micro *micro)
{
    char *const command = mf_command_typed(session);
    const struct mf_micro_read read = {.command = command,
                                       .threshold = o->threshold,
                                       .label_count = o->labels.count,
                                       .labels = o->labels.at,
                                       .label_span = label_span(o),
                                       .unit = o->unit,
                                       .dataset = o->dataset,
                                       .crop_bar = o->crop_bar,
                                       .unhashed = 1};
    const int rc = mf_micrograph_read(session, file, &o->spacing, &o->crop, read, micro);

    free(command);
    return rc;
}

static void warn_of_absent(const struct mf_longs *conducting, const struct mf_micro *micro, const char *file)
{
    for (size_t i = 0; i < conducting->count; ++i) {
        int p = 0;

        while (p < micro->phases && micro->label[p] != conducting->at[i]) ++p;
        if (p == micro->phases) mf_warn("'%s' has no label %ld, which --conducting names", file, conducting->at[i]);
    }
}

/** The conductivity of each phase, and the largest of those that voxels have. */
static int set_conductivities(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c)
{
    if (o->conductivity.count && o->conductivity.count < (size_t)micro->phases)
        return mf_fail(MF_INPUT, "'%s' has %d labels, but --conductivity has %zu values", c->file, micro->phases,
                       o->conductivity.count);
    if (o->conductivity.count > (size_t)micro->phases)
        mf_warn("'%s' has %d label%s, but --conductivity has %zu values: those behind have no effect", c->file,
                micro->phases, MF_S(micro->phases), o->conductivity.count);
    warn_of_absent(&o->conducting, micro, c->file);
    for (int p = 0; p < micro->phases; ++p) {
        c->k[p] = o->conductivity.count ? o->conductivity.at[p] : 0;
        for (size_t i = 0; i < o->conducting.count; ++i)
            if (o->conducting.at[i] == micro->label[p]) c->k[p] = 1;
        if (c->fraction[p] > 0) c->most = fmax(c->most, c->k[p]);
    }
    if (!(c->most > 0)) c->most = 1;
    return MF_OK;
}

static int check_axes(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c)
{
    const size_t least = strcmp(o->boundary, "centres") == 0 ? 3 : 2;

    MF_TRY(find_axes(&o->axes, c->wanted));
    if (micro->ndim == 2) {
        if (o->axes.count && c->wanted[0]) return mf_fail(MF_INPUT, "'%s' is an image: it has no axis z", c->file);
        c->wanted[0] = 0;
    }
    for (int a = 0; a < 3; ++a)
        if (c->wanted[a] && micro->slab.dims[a] < least)
            return mf_fail(MF_INPUT, "'%s' has %zu voxel%s along %s, but --boundary %s needs %zu; try: --axes", c->file,
                           micro->slab.dims[a], MF_S(micro->slab.dims[a]), mf_axis_name(a), o->boundary, least);
    return MF_OK;
}

void mf_properties_fractions(const struct mf_comm *comm, const struct mf_micro *micro, double *fraction)
{
    int64_t count[MF_PHASES_MAX] = {0};
    double all = (double)micro->slab.dims[0] * (double)micro->slab.dims[1] * (double)micro->slab.dims[2];

    for (size_t i = 0; i < mf_slab_voxels(&micro->slab); ++i) ++count[micro->phase[i]];
    mf_comm_sum_int(comm, MF_PHASES_MAX, count);
    for (int p = 0; p < micro->phases; ++p) fraction[p] = (double)count[p] / all;
}

/** All but conductivities. */
static void set_solver(const struct properties *o, struct mf_conduct_opts *opts)
{
    opts->heeds = 1;
    opts->tolerance = o->tolerance;
    opts->sides_periodic = o->sides_periodic;
    opts->boundary = (enum mf_conduct_boundary)mf_words_place("plates|periodic|centres", o->boundary);
}

int mf_properties_problem(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c,
                          struct mf_conduct_opts *opts)
{
    c->phases = micro->phases;
    *opts = (struct mf_conduct_opts){0};
    if (mf_stiffness_asked(o)) return mf_stiffness_problem(o, micro, c);
    MF_TRY(set_conductivities(o, micro, c));
    MF_TRY(check_axes(o, micro, c));
    set_solver(o, opts);
    for (int p = 0; p < c->phases; ++p) opts->k[p] = c->fraction[p] > 0 ? c->k[p] / c->most : 0;
    return MF_OK;
}

/** --edge-for needs no error of the grid. */
static int find_errors(struct mf_session *s, const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts,
                       struct mf_conducted *c)
{
    c->grid[axis] = NAN;
    if (!c->share)
        MF_TRY(mf_conduct_grid_error(s->comm, s->queue, s->arena, micro, axis, opts, c->axis[axis].k, &c->grid[axis]));
    return mf_conduct_sample_error(s->comm, s->queue, s->arena, micro, axis, opts, &c->sample[axis]);
}

/** A period whose opposite faces have little to do with each other is no period. */
static int warn_of_seams(struct mf_session *s, const struct mf_micro *micro, const struct mf_conducted *c)
{
    for (int a = 3 - micro->ndim; a < 3; ++a) {
        double seam = 0, inside = 0;

        if (micro->slab.dims[a] < 3) continue;
        MF_TRY(mf_conduct_seam(s->comm, s->arena, micro, a, &seam, &inside));
        if (seam > 0.01 && seam > 2 * inside)
            mf_warn(
                "'%s': opposite faces along %c do not match: %.0f %% of their voxels differ, of neighbouring planes "
                "%.0f %%%s",
                c->file, "zyx"[a], 100 * seam, 100 * inside, c -> stiffness.asked ? "" : "; try: --boundary plates");
    }
    return MF_OK;
}

/** Along all axes; @p opts gives the solutions away, if somebody takes them. */
static int conduct_axes(struct mf_session *s, const struct mf_micro *micro, const struct mf_conduct_opts *opts,
                        struct mf_conducted *c)
{
    struct mf_conduct_opts own = *opts;

    own.take = NULL; /* not of parts and blocks */
    for (int a = 0; a < 3; ++a) {
        if (!c->wanted[a]) continue;
        MF_TRY(mf_conduct(s->comm, s->queue, s->arena, micro, a, opts, &c->axis[a]));
        if (c->has_errors) MF_TRY(find_errors(s, micro, a, &own, c));
    }
    return MF_OK;
}

/** Are potential and flux for the host of the library? */
static int gives_fields(const struct properties *o)
{
    return o->taker.take && o->fields && strcmp(o->fields, "@") == 0;
}

static int conduct_with_fields(struct mf_session *s, const struct properties *o, const struct mf_micro *micro,
                               struct mf_conduct_opts *opts, struct mf_conducted *c)
{
    struct mf_properties_fields fields = {.micro = micro, .most = c->most, .taker = &o->taker};

    if (!o->fields) return conduct_axes(s, micro, opts, c);
    opts->take = mf_properties_fields_take;
    opts->context = &fields;
    if (gives_fields(o)) return conduct_axes(s, micro, opts, c);
    MF_TRY(mf_properties_fields_open(s, o->fields, micro, c->wanted, c->most, &fields));
    return mf_fields_close(fields.file, conduct_axes(s, micro, opts, c));
}

static int conduct_file(struct mf_session *s, const struct properties *o, struct mf_micro *micro,
                        struct mf_conducted *c)
{
    struct mf_conduct_opts opts;

    mf_properties_fractions(s->comm, micro, c->fraction);
    MF_TRY(mf_agree(s->comm, mf_properties_problem(o, micro, c, &opts)));
    c->ndim = micro->ndim;
    c->boundary = o->boundary;
    memcpy(c->dims, micro->slab.dims, sizeof c->dims);
    memcpy(c->spacing, micro->spacing, sizeof c->spacing);
    memcpy(c->unit, micro->unit, sizeof c->unit);
    memcpy(c->label, micro->label, sizeof c->label);
    c->has_errors = o->error_bars || (o->edge_for && !c->stiffness.asked);
    if (opts.boundary == MF_CONDUCT_PERIODIC || c->stiffness.asked) MF_TRY(warn_of_seams(s, micro, c));
    if (c->stiffness.asked) return mf_stiffness_solve(s, micro, c);
    MF_TRY(find_share(o->edge_for, &c->share));
    return conduct_with_fields(s, o, micro, &opts, c);
}

static int do_file(struct mf_session *s, const struct properties *o, const char *file, struct mf_conducted *c)
{
    const double start = mf_now();
    struct mf_micro micro;
    int rc;

    *c = (struct mf_conducted){.file = file};
    mf_arena_mark(s->arena);
    mf_arena_mark(s->device);
    MF_TRY(mf_properties_read(s, o, file, &micro));
    rc = conduct_file(s, o, &micro, c);
    mf_micro_free(&micro);
    c->seconds = mf_now() - start;
    c->bytes = mf_arena_peak(s->arena);
    c->on_device = s->device != s->arena ? mf_arena_peak(s->device) : 0;
    for (int a = 0; rc == MF_OK && a < 3; ++a)
        if (c->wanted[a] && !(c->axis[a].k > 0)) mf_warn("'%s': no way through along %c", file, "zyx"[a]);
    return rc;
}

/* -- output -- */

/** An old file stays until the new one is complete. */
static int save(const struct mf_session *s, const struct mf_json *json)
{
    const char *path = mf_common_of(s)->output;
    struct mf_atomic file;

    MF_TRY(mf_atomic_open(s->comm, path, 0, &file));
    return mf_atomic_close(s->comm, &file, s->comm->rank == 0 ? mf_json_save(json, file.temporary, path) : MF_OK);
}

static int say(const struct mf_session *s, size_t files, const struct mf_conducted *of, struct mf_json *refused)
{
    const int many = refused != NULL;
    struct mf_json *json = many ? mf_json_array() : NULL;
    int rc = MF_OK;

    for (size_t i = 0; i < files; ++i) {
        struct mf_json *one = mf_conducted_json(&of[i]);

        if (s->comm->rank == 0 && !mf_common_of(s)->json) mf_conducted_text(stdout, &of[i]);
        if (many)
            mf_json_put(json, NULL, one);
        else
            json = one;
    }
    if (many) {
        json = mf_conducted_means_json(files, of, json);
        mf_json_put(json, "refused", refused);
    }
    if (!mf_conducted_alike(files, of)) mf_warn("there is no mean: some files are images, others are volumes");
    if (many && s->comm->rank == 0 && !mf_common_of(s)->json) mf_conducted_means_text(stdout, files, of);
    if (mf_common_of(s)->json) rc = mf_log_view_json(s, json);
    if (rc == MF_OK && s->comm->rank == 0 && mf_common_of(s)->json) rc = mf_json_write(json, stdout);
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK && mf_common_of(s)->output) rc = save(s, json);
    mf_json_free(json);
    return rc;
}

static void warn_of_twice(size_t files, const char *const *file)
{
    for (size_t i = 1; i < files; ++i)
        for (size_t k = 0; k < i; ++k)
            if (strcmp(file[i], file[k]) == 0) {
                mf_warn("'%s' is given more than once, and counts so often in the mean", file[i]);
                break;
            }
}

/** GPUs have no kernels for stiffness. */
static int to_cores(struct mf_session *s, const struct properties *o)
{
    if (!mf_stiffness_asked(o) || s->backend == &mf_backend_cpu) return MF_OK;
    mf_warn("%s has no kernels for stiffness, so the cores compute it", s->backend->name);
    return mf_session_to_cores(s);
}

/** A dataset: its samples are of phases already. */
static int run_set(struct mf_session *s, const struct properties *o, const char *file)
{
    struct mf_properties_of_set of = {.file = file,
                                      .conductivity = o->conductivity,
                                      .conducting = o->conducting,
                                      .boundary = o->boundary,
                                      .axes = o->axes.count > 0};

    if (mf_stiffness_asked(o)) return mf_fail(MF_USAGE, "a dataset gets conductivities, and no stiffness");
    MF_UNUSED(s, "the samples of a dataset are phases", "labels", "threshold", "spacing", "unit", "crop", "crop-bar");
    MF_UNUSED(s, "a dataset gets conductivities alone", "error-bars", "edge-for", "fields");
    MF_TRY(find_axes(&o->axes, of.columns.wanted));
    set_solver(o, &of.columns.opts);
    return mf_properties_set_run(s, &of);
}

static int run_files(struct mf_session *s, const struct properties *o, size_t files, const char *const *file)
{
    struct mf_conducted *of = MF_MUST(calloc(files, sizeof *of), "a list");
    struct mf_refused refused = {.file = NULL};
    struct mf_comm self;
    size_t done = 0;
    int rc = mf_session_may_write(s, mf_common_of(s)->output, ".json");

    if (rc == MF_OK && !gives_fields(o)) rc = mf_session_may_write(s, o->fields, ".vtkhdf");
    if (rc == MF_OK && mf_common_of(s)->output) rc = mf_session_spares(s, mf_common_of(s)->output, files, file);
    if (rc == MF_OK) rc = to_cores(s, o);
    if (mf_stiffness_asked(o))
        MF_UNUSED(s, "it is for conduction", "edge-for", "fields");
    else if (o->edge_for)
        MF_UNUSED(s, "--edge-for prints nothing but the edge", "error-bars");
    warn_of_twice(files, file);
    if (files > 1) mf_notes_begin();
    for (size_t i = 0; rc == MF_OK && i < files; ++i) {
        rc = do_file(s, o, file[i], &of[done]);
        if (rc == MF_OK)
            ++done;
        else
            rc = mf_refused_note(&refused, i, rc);
    }
    mf_comm_self(&self); /* all ranks read all files */
    mf_notes_end(&self);
    if (rc == MF_OK && done) rc = say(s, done, of, files > 1 ? mf_refused_json(&refused, file) : NULL);
    if (rc == MF_OK) rc = mf_refused_end(&refused, files);
    mf_refused_free(&refused);
    free(of);
    return mf_agree(s->comm, rc);
}

/** Refuses a dataset among others; files that cannot be read are left out later. */
static int check_alone(const struct mf_show *show, size_t files, const char *const *file)
{
    for (size_t i = 0; i < files; ++i) {
        size_t sets = 0;

        if (mf_sets_count(show, 1, &file[i], &sets) != MF_OK) mf_err_clear();
        if (sets)
            return mf_fail(
                MF_INPUT, "'%s' is a dataset of samples, and properties takes one alone, without other files", file[i]);
    }
    return MF_OK;
}

static int run(struct mf_session *s, void *options)
{
    const struct properties *o = options;
    const struct mf_show show = mf_session_show(s);
    const char *const *file;
    const size_t files = mf_arguments(s, &file);
    size_t sets = 0;

    if (files == 1 && !o->dataset) MF_TRY(mf_sets_count(&show, 1, file, &sets));
    if (files > 1 && !o->dataset) MF_TRY(check_alone(&show, files, file));
    return sets ? run_set(s, o, *file) : run_files(s, o, files, file);
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Computes how well a structure conducts: heat, charge, or by diffusion. Each\n"
    "label has a conductivity. A difference of potential along an axis drives a\n"
    "flux, and the iteration stops when the conductivity no longer changes by\n"
    "more than --tolerance. With it come the tortuosity factor (fraction times\n"
    "conductivity over effective conductivity), the formation factor, and the\n"
    "bounds of Wiener and of Hashin and Shtrikman. Of several files it also gives\n"
    "the mean, the deviation, and the 95 % interval of the mean. A dataset gets\n"
    "columns conductivity_x, ... with those of its samples. docs/PROPERTIES.md\n"
    "explains which number to quote.\n"
    "\n"
    "With --young and --poisson, or --stiffness, it computes the stiffness of a\n"
    "periodic structure instead: the matrix of six load cases, the nearest\n"
    "isotropic moduli, and bounds. An image is in plane strain.\n"
    "\n"
    "Examples:\n"
    "  mesoforge properties volume.h5 --conductivity 0 1\n"
    "  mesoforge properties scan.tif --threshold otsu --conducting 1 --axes z\n"
    "  mesoforge properties cell.npy --conductivity 1 10 --boundary periodic --json\n"
    "  mesoforge properties foam.h5 --young 0 70 --poisson 0.3 --error-bars\n"
    "  mpirun -n 4 mesoforge properties a.h5 b.h5 c.h5 --conductivity 0 1\n"
    "  mpirun -n 4 mesoforge properties set.h5 --conductivity 0.01 1\n";
/* clang-format on */

const struct mf_cmd mf_cmd_properties = {
    .name = "properties",
    .summary = "compute the effective conductivity or stiffness of images and volumes",
    .synopsis = "FILE ...|SET.h5 --conductivity K0 K1 ...|--young E0 E1 ... --poisson NU0 NU1 ... [--option VALUE ...]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct properties),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .in_library = 1,
};
