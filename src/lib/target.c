/* See include/mesoforge.h: targets, and results in files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/desc/mean.h"
#include "src/lib/lib.h"
#include "src/show/describe.h"

int mf_lib_is_target(const mesoforge_result *result)
{
    return result && result->own ? MF_OK : mf_fail(MF_USAGE, "this is no target; characterize makes one");
}

/* Extents of the field that was measured: its slices along z, and those of their planes. */
static void know_field(struct mf_characterized *made)
{
    const struct mf_target *t = &made->target;
    const struct mf_target_side *side = &t->side[0];

    made->ndim = side->slices > 1 || t->sides > 1 ? 3 : 2;
    made->dims[0] = made->ndim == 3 ? side->slices : 1;
    made->dims[1] = side->nu;
    made->dims[2] = side->nv;
}

static int load(mesoforge_session *session, const char *path, mesoforge_result **result)
{
    struct mf_characterized made = {0};

    if (!result || !path) return mf_fail(MF_USAGE, "there is no %s", path ? "place for the target" : "path");
    *result = NULL;
    MF_TRY(mf_lib_meet(session, "mesoforge_target_load"));
    MF_TRY(mf_target_load(&session->comm, path, &made.target));
    know_field(&made);
    MF_TRY(mf_lib_result_new(session, path, result));
    mf_lib_result_own(*result, &made);
    return MF_OK;
}

int mesoforge_target_load(mesoforge_session *session, const char *path, mesoforge_result **result)
{
    const int rc = mf_lib_enter(session);

    return rc == MF_OK ? mf_lib_leave(session, load(session, path, result)) : mf_lib_told(rc);
}

static int check_weights(size_t count, const double *weights)
{
    double sum = 0;

    for (size_t i = 0; weights && i < count; ++i) {
        if (weights[i] < 0) return mf_fail(MF_USAGE, "weight %zu of the mean is %g; none is below 0", i, weights[i]);
        sum += weights[i];
    }
    if (!weights || fabs(sum - 1) < 1e-9) return MF_OK;
    return mf_fail(MF_USAGE, "the weights of a mean add up to %g, not 1", sum);
}

static int take_mean(const mesoforge_session *session, const mesoforge_result *const *targets, const double *weights,
                     size_t count, mesoforge_result **result)
{
    const struct mf_target **from;
    struct mf_characterized made = {0};
    int rc;

    if (!result || !targets || count == 0) return mf_fail(MF_USAGE, "a mean needs targets, and a place for it");
    *result = NULL;
    for (size_t i = 0; i < count; ++i) MF_TRY(mf_lib_is_target(targets[i]));
    MF_TRY(check_weights(count, weights));
    from = MF_MUST(calloc(count, sizeof(*from)), "a list");
    for (size_t i = 0; i < count; ++i) from[i] = &targets[i]->own->target;
    rc = mf_target_mean(from, count, weights, &made.target);
    free(from);
    MF_TRY(rc);
    know_field(&made);
    MF_TRY(mf_lib_result_new(session, targets[0]->name, result));
    mf_lib_result_own(*result, &made);
    return MF_OK;
}

int mesoforge_target_mean(mesoforge_session *session, const mesoforge_result *const *targets, const double *weights,
                          size_t count, mesoforge_result **result)
{
    const int rc = mf_lib_enter(session);

    return rc == MF_OK ? mf_lib_leave(session, take_mean(session, targets, weights, count, result)) : mf_lib_told(rc);
}

/* ---- files ---- */

/* {"measures": [..]}, as the verb stores it; NULL: none. */
static char *measures_of(mesoforge_result *r)
{
    struct mf_json *all = mf_json_parse(mesoforge_result_json(r)), *measures = mf_json_get(all, "measures"), *own;
    char *list = measures ? mf_json_string(measures) : NULL, *text = NULL;

    if (list) {
        own = mf_json_object();
        mf_json_put(own, "measures", mf_json_parse(list));
        text = mf_json_string(own);
        mf_json_free(own);
    }
    free(list);
    mf_json_free(all);
    return text;
}

static int save_target(const mesoforge_session *s, mesoforge_result *r, const char *path, struct mf_provenance *from)
{
    const struct mf_target *target = &r->own->target;
    char *measures;
    int rc;

    if (mf_ends_with(path, ".png"))
        return mf_agree(&s->comm, s->comm.rank == 0 ? mf_describe_plot(path, target, r->name, r->own->ndim) : MF_OK);
    if (!mf_ends_with(path, ".h5"))
        return mf_fail(MF_USAGE, "a target is saved as .h5, or drawn as .png, not as '%s'", path);
    from->json = measures = measures_of(r);
    from->input_hash = target->hash;
    rc = mf_target_save(&s->comm, path, target, from);
    free(measures);
    return rc;
}

/* Planes of one rank are those of another in another session. */
static int check_slab(const mesoforge_result *r, const struct mf_slab *slab)
{
    if (!r->cut || memcmp(&r->micro.slab, slab, sizeof *slab) == 0) return MF_OK;
    return mf_fail(MF_USAGE, "the structure is in slabs of another session; save it there");
}

static int save_structure(const mesoforge_session *s, const mesoforge_result *r, const char *path,
                          struct mf_provenance *from)
{
    struct mf_micro micro = r->micro;
    const size_t *dims = micro.slab.dims;

    micro.slab = mf_slab_of(&s->comm, dims, s->comm.rank);
    MF_TRY(mf_agree(&s->comm, check_slab(r, &micro.slab)));
    MF_TRY(mf_micro_may_write(&s->comm, path, micro.ndim, dims[0] * dims[1] * dims[2]));
    micro.phase = r->phase + (r->cut ? 0 : micro.slab.first * dims[1] * dims[2]);
    from->json = r->json;
    return mf_micro_write(&s->comm, path, &micro, from);
}

static int save(const mesoforge_session *session, mesoforge_result *r, const char *path)
{
    struct mf_provenance from = {.input_hash = ""};

    if (!r || !path) return mf_fail(MF_USAGE, "there is no %s", r ? "path" : "result");
    MF_TRY(mf_lib_meet(session, "mesoforge_result_save"));
    from.command = r->command;
    from.options = r->options;
    from.seed = r->seed;
    if (r->own) return save_target(session, r, path, &from);
    if (r->phase) return save_structure(session, r, path, &from);
    return mf_fail(MF_USAGE, "%s makes neither a structure nor a target, which files are for", r->command);
}

int mesoforge_result_save(mesoforge_session *session, mesoforge_result *result, const char *path)
{
    const int rc = mf_lib_enter(session);

    return rc == MF_OK ? mf_lib_leave(session, save(session, result, path)) : mf_lib_told(rc);
}
