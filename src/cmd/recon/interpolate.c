/* interpolate: targets between two others, for a material that changes gradually. */
#include <stdio.h>
#include <stdlib.h>

#include "io/hash.h"
#include "io/names.h"
#include "io/target.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/cmd.h"
#include "src/cmd/recon/join.h"
#include "src/desc/mean.h"

enum { ENDS = 2, MOST_STEPS = 10000 };

struct interpolate {
    struct mf_common common;
    long n_steps, lag;
};

static const struct mf_opt rows[] = {
    MF_OPT(interpolate, "n_steps", n_steps, MF_LONG, "5", "targets to write, both ends among them (at least 2)"),
    MF_JOIN_LAG_ROW(interpolate), MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* State of the verb between targets. */
struct walk {
    struct mf_session *session;
    const char *const *file; /* [ENDS] */
    size_t steps;
    long lag;   /* of arrays */
    char *base; /* name of the files, their number is added */
    struct mf_target end[ENDS];
    struct mf_json *written;
};

static int check(const struct mf_session *session, void *options)
{
    const struct interpolate *o = options;
    const char *const *files;

    if (mf_arguments(session, NULL) != ENDS)
        return mf_fail(MF_USAGE, "two descriptor files are needed; try: mesoforge interpolate FIRST SECOND");
    if (o->n_steps < ENDS || o->n_steps > MOST_STEPS)
        return mf_fail(MF_USAGE, "--n_steps %ld: 2 to %d targets can be written", o->n_steps, MOST_STEPS);
    mf_arguments(session, &files);
    return mf_join_lag(mf_options_of(session), o->lag, ENDS, files);
}

static int load_ends(struct walk *w)
{
    for (int i = 0; i < ENDS; ++i) MF_TRY(mf_join_load(w->session->comm, w->file[i], w->lag, &w->end[i]));
    return mf_join_alike(&w->end[0], &w->end[1], w->file[0], w->file[1]);
}

static size_t more_of(const struct mf_target_side *side)
{
    size_t n = (side->cross != NULL) + (size_t)(side->variation != NULL);

    for (int m = 0; m < MF_MORE; ++m) n += side->more[m] != NULL;
    return n;
}

static int wholes(const struct mf_target *t)
{
    int n = 0;

    for (int k = 0; k < MF_WHOLE; ++k) n += t->whole[k] != NULL;
    return n;
}

/* Says what the targets between will lack. */
static void say_losses(const struct walk *w)
{
    const struct mf_target_side *a = &w->end[0].side[0], *b = &w->end[1].side[0];
    struct mf_target mean;

    if (mf_target_between(&w->end[0], &w->end[1], 0.5, &mean) != MF_OK) {
        mf_err_clear(); /* the same will be said when a target is made */
        return;
    }
    if (more_of(a) > more_of(&mean.side[0]) || more_of(b) > more_of(&mean.side[0]) ||
        wholes(&w->end[0]) > wholes(&mean) || wholes(&w->end[1]) > wholes(&mean))
        mf_warn("only descriptors that both files have are interpolated");
    if (a->levels != b->levels)
        mf_warn("the files have %zu and %zu pyramid levels: only the first %zu are interpolated", a->levels, b->levels,
                mean.side[0].levels);
    if ((a->example || b->example) && w->steps > ENDS)
        mf_info("targets between the ends have no example, so Patches cannot aim at them");
    mf_target_free(&mean);
}

/* SHA-256 of both hashes, one a line, and of the step: inputs and place have one name. */
static void name_inputs(const struct walk *w, double t, char *hash)
{
    char lines[ENDS * MF_HASH_TEXT + 32];
    int n = snprintf(lines, sizeof lines, "%s\n%s\n%.17g\n", w->end[0].hash, w->end[1].hash, t);

    mf_hash_bytes(lines, (size_t)n, hash);
}

static int write_step(struct walk *w, size_t step)
{
    const struct mf_session *s = w->session;
    const double t = (double)step / (double)(w->steps - 1);
    char *path = MF_MUST(mf_name_number(w->base, "", step), "a file name"), *options;
    struct mf_target target;
    struct mf_provenance from = {.command = "interpolate", .seed = s->settings.seed};
    int rc = mf_agree(s->comm, mf_target_between(&w->end[0], &w->end[1], t, &target));

    if (rc == MF_OK) {
        name_inputs(w, t, target.hash);
        snprintf(target.source, sizeof target.source, "%.3g of %.110s, %.3g of %.110s", 1 - t, w->file[0], t,
                 w->file[1]);
        options = mf_options_yaml(mf_options_of(s));
        from.options = options;
        from.input_hash = target.hash;
        if (!s->settings.dry_run) rc = mf_target_save(s->comm, path, &target, &from);
        free(options);
    }
    mf_target_free(&target); /* also where another rank had no memory for its own */
    if (rc == MF_OK && s->comm->rank == 0) {
        mf_json_text(w->written, NULL, path);
        if (!mf_common_of(s)->json) printf("%s: %.4g of '%s', %.4g of '%s'\n", path, 1 - t, w->file[0], t, w->file[1]);
    }
    free(path);
    return rc;
}

static int report(struct walk *w)
{
    struct mf_json *json = mf_json_object();
    int rc = MF_OK;

    mf_json_put(json, "outputs", w->written);
    w->written = NULL;
    MF_JSON(json, "n_steps", w->steps, "lag", w->end[0].lag, "phases", w->end[0].phases);
    if (w->session->comm->rank == 0 && mf_common_of(w->session)->json) rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return mf_agree(w->session->comm, rc);
}

/* Before the first is written. */
static int spare_ends(const struct walk *w)
{
    int rc = MF_OK;

    for (size_t step = 0; rc == MF_OK && step < w->steps; ++step) {
        char *path = MF_MUST(mf_name_number(w->base, "", step), "a file name");

        rc = mf_session_spares(w->session, path, ENDS, w->file);
        free(path);
    }
    return rc;
}

static int write_all(struct walk *w)
{
    int rc = mf_session_path(w->session, "des_interpolated", ".h5", &w->base);

    if (rc == MF_OK) rc = spare_ends(w);

    if (rc == MF_OK && w->session->comm->rank == 0) say_losses(w);
    w->written = mf_json_array();
    for (size_t step = 0; rc == MF_OK && step < w->steps; ++step) rc = write_step(w, step);
    if (rc == MF_OK) rc = report(w);
    mf_json_free(w->written);
    free(w->base);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    const struct interpolate *o = options;
    struct walk w = {.session = session, .steps = (size_t)o->n_steps, .lag = o->lag};
    int rc;

    mf_arguments(session, &w.file);
    MF_TRY(mf_session_may_write(session, mf_common_of(session)->output, ".h5"));
    rc = load_ends(&w);
    if (rc == MF_OK) rc = write_all(&w);
    for (int i = 0; i < ENDS; ++i) mf_target_free(&w.end[i]);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Writes targets on the straight line between two, value by value: step i of n\n"
    "is (1-t) FIRST + t SECOND with t = i/(n-1). Reconstructed one after the other\n"
    "they show how a material changes from one into the other; each can start from\n"
    "the result before it (--initial_microstructure_file).\n"
    "\n"
    "Instead of a descriptor file stands a .npy of S2 of phase 1 alone, as for\n"
    "reconstruct --descriptor_filename; --limit_to cuts its lags.\n"
    "\n"
    "The files must agree in lag, labels, periodicity and pixel size. They are\n"
    "FOLDER/des_interpolated_0.h5 .. _N-1.h5, or the name of --output with the\n"
    "number before its ending. The mean of two targets is a target, but perhaps one\n"
    "that no microstructure has: the report of a reconstruction says how near it\n"
    "came.\n"
    "\n"
    "Examples:\n"
    "  mesoforge characterize fine.npy coarse.npy\n"
    "  mesoforge interpolate results/fine_characterization.h5 \\\n"
    "      results/coarse_characterization.h5 --n_steps 5\n"
    "  mesoforge reconstruct --descriptor_filename results/des_interpolated_2.h5 \\\n"
    "      --extent_x 128 --extent_y 128\n";
/* clang-format on */

const struct mf_cmd mf_cmd_interpolate = {
    .name = "interpolate",
    .summary = "write targets between two descriptor files",
    .synopsis = "FIRST SECOND [--n_steps N]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct interpolate),
    .positional_max = 2,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
