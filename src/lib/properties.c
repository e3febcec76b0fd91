/* See include/mesoforge.h: properties, whose potential and flux become arrays. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/recon/properties.h"
#include "src/lib/lib.h"

struct taken {
    const mesoforge_session *session;
    mesoforge_result *result;
};

/* All planes, on every rank. The values are the result's. Collective. */
static int add(const struct taken *to, const struct mf_micro *micro, const char *what, int axis, size_t values,
               const float *mine, size_t planes)
{
    const size_t *n = micro->slab.dims, shape[] = {n[0], n[1], n[2], values};
    const int image = micro->ndim == 2, ndim = 3 - image + (values > 1);
    mesoforge_result *r = to->result;
    char name[16];
    void *all;

    MF_TRY(mf_comm_gather(&to->session->comm, mine, planes * n[1] * n[2] * values * sizeof *mine, &all, NULL));
    r->field[r->fields++] = all;
    snprintf(name, sizeof name, "%s_%c", what, "zyx"[axis]);
    mf_lib_result_add(r, name, "f4", sizeof *mine, ndim, shape + image,
                      values > 1 ? (image ? "y x component" : "z y x component") : (image ? "y x" : "z y x"), all);
    return MF_OK;
}

static int take(void *context, const struct mf_micro *micro, const struct mf_conduct_fields *got)
{
    MF_TRY(add(context, micro, "potential", got->axis, 1, got->potential, got->count));
    return add(context, micro, "flux", got->axis, 3, got->flux, got->count);
}

/* Collective. */
static int compute(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    struct properties *o = options;
    struct taken to = {session, r};

    o->taker.take = take;
    o->taker.context = &to;
    return mf_lib_print(session, verb, options, r);
}

const struct mf_lib_verb mf_lib_properties = {&mf_cmd_properties, compute};
