/* See recon_plan.h: compares a stored plan with the options of a run that does not exist yet. Options that depend on a
 * micrograph or on the machine are left to the run. The rest uses the lines that the run itself would compare. A
 * nominal target stands in place of the unread one. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/recon/recon_plan.h"
#include "src/recon/workload.h"

enum { KEYS = 16 };

/* The target, which nobody has read, does not say how large the result is. */
static int is_known_size(const struct mf_recon_cmd *o)
{
    return !(o->match.files.count || o->match.sized) || o->match.size.count;
}

/* Keys of the lines that follow from options, whatever the target is. */
static size_t keys_of(const struct mf_session *s, const struct mf_recon_cmd *o, const char *key[KEYS])
{
    const int chosen = mf_recon_is_auto(&o->match);
    const struct {
        const char *key;
        int holds;
    } all[] = {{"shape", is_known_size(o)},
               {"limit_to", mf_given(s, "limit-to")},
               {"descriptor", !chosen && mf_given(s, "descriptor-types")},
               {"loss", 1},
               {"periodic", !chosen},
               {"compat", 1},
               {"optimizer", 1},
               {"evaluates", !chosen || mf_given(s, "max-iter")},
               {"slice objective", 1},
               {"coarse to fine", !chosen},
               {"polish", !chosen},
               {"deterministic", 1},
               {"fixed voxels", 1}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i].holds) key[n++] = all[i].key;
    return n;
}

/* Extents that the options give, or some that every descriptor of this lag has room in. */
static int extents(const struct mf_recon_cmd *o, size_t dims[3])
{
    const struct mf_target none = {.sides = 1};

    if (is_known_size(o)) return mf_recon_extents(&o->match, &none, NULL, dims);
    for (int a = 0; a < 3; ++a) dims[a] = 4 * (size_t)o->match.lag;
    return MF_OK;
}

/* The problem of the options with a target of two phases. */
static int problem_of(const struct mf_session *s, const struct mf_recon_cmd *given, struct mf_plan_lines *problem)
{
    static const char *s2[] = {"FFTCorrelations"};
    struct mf_recon_cmd o = *given;
    struct mf_target target = {0};
    struct mf_solve_opts solve;
    size_t dims[3];
    struct mf_recon_work work = {
        .dims = dims, .target = &target, .opts = &solve, .deterministic = s->settings.deterministic};
    int rc;

    if (mf_recon_is_auto(&o.match)) o.match.types = (struct mf_texts){1, s2};
    MF_TRY(extents(&o, dims));
    rc = mf_recon_nominal(&o.match, dims, 2, &target);
    if (rc == MF_OK) rc = mf_recon_plan(s, &o, &target, dims, &solve);
    if (rc == MF_OK) {
        mf_recon_work_look(&work);
        mf_recon_workload.describe(&work, problem);
        if (o.match.fixed_file) mf_plan_say(problem, "fixed voxels", "some");
    }
    mf_target_free(&target);
    return rc;
}

static int compare_keys(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, const struct mf_plan_lines *problem)
{
    const char *key[KEYS];
    const size_t keys = keys_of(s, o, key);

    for (size_t k = 0; k < keys; ++k) MF_TRY(mf_plan_same_key(path, file, problem, key[k]));
    return MF_OK;
}

static int compare(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                   const struct mf_plan *file)
{
    struct mf_plan_lines problem = {.count = 0};
    int rc = problem_of(s, o, &problem);
    char why[MF_ERR_TEXT];

    if (rc == MF_OK)
        rc = compare_keys(s, o, path, file, &problem);
    else if (rc == MF_USAGE) { /* the stand-in is not what these options are for, as the run's own target may be */
        mf_err_take(why, sizeof why);
        mf_warn("'%s' is compared with these options when the run begins, not before: %.700s", path, why);
        rc = MF_OK;
    }
    mf_plan_lines_free(&problem);
    return rc;
}

/* For an image that nobody has read the options say how far the result goes into the third axis. */
static int compare_third(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                         const struct mf_plan *file)
{
    const int is_last = o->match.compat;
    const struct mf_plan_lines *problem = &file->problem;

    if (is_known_size(o) || !o->match.files.count) return MF_OK; /* the option is of match alone */
    if (!mf_given(s, "add-dimension")) return MF_OK;
    for (size_t i = 0; i < problem->count; ++i) {
        const struct mf_plan_line *line = &problem->at[i];
        const char *third = line->value, *x = strchr(third, 'x');

        if (strcmp(line->key, "shape") != 0) continue;
        if (is_last && x && strchr(x + 1, 'x')) third = strchr(x + 1, 'x') + 1;
        if (strtol(third, NULL, 10) != o->match.add_dimension)
            return mf_fail(MF_INPUT, "'%s' is a plan of another problem: it says '%s: %s', here --add_dimension is %ld",
                           path, line->key, line->value, o->match.add_dimension);
    }
    return MF_OK;
}

int mf_recon_plan_ahead(const struct mf_session *s, const void *options, const char *path, size_t ranks)
{
    const struct mf_recon_cmd *o = options;
    const int is_number = mf_given(s, "batch-size") && o->match.batch_size >= 1 && !o->match.greedy;
    struct mf_plan file;
    int rc = mf_plan_read(path, &file);

    if (rc == MF_OK) rc = compare(s, o, path, &file);
    if (rc == MF_OK) rc = compare_third(s, o, path, &file);
    if (rc == MF_OK) rc = mf_planned_place(s, path, &file, ranks);
    if (rc == MF_OK) rc = mf_recon_plan_given(s, o, path, &file, is_number ? (size_t)o->match.batch_size : 0);
    mf_plan_free(&file);
    return rc;
}
