/* See properties_fields.h. */
#include "src/cmd/recon/properties_fields.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"

static void name(struct mf_properties_fields *f, const char *what, int axis, int values)
{
    const size_t i = f->wish.fields++;

    snprintf(f->name[i], sizeof f->name[i], "%s_%c", what, "zyx"[axis]);
    f->names[i] = f->name[i];
    f->values[i] = values;
}

int mf_properties_fields_open(struct mf_session *s, const char *path, const struct mf_micro *micro, const int wanted[3],
                              double most, struct mf_properties_fields *f)
{
    char *options = mf_options_yaml(mf_options_of(s));
    const struct mf_provenance from = {.command = "properties", .options = options, .input_hash = micro->hash};
    int rc;

    *f = (struct mf_properties_fields){.micro = micro, .most = most, .wish = {.name = f->names, .values = f->values}};
    for (int a = 0; a < 3; ++a) {
        if (!wanted[a]) continue;
        f->place[a] = (int)f->wish.fields;
        name(f, "potential", a, 1);
        name(f, "flux", a, 3);
    }
    rc = mf_fields_open(s->comm, path, micro, &f->wish, &from, &f->file);
    free(options);
    return rc;
}

int mf_properties_fields_take(void *fields, const struct mf_conduct_fields *got)
{
    const struct mf_properties_fields *f = fields;
    const size_t i = (size_t)f->place[got->axis], *n = f->micro->slab.dims;

    for (size_t k = 0; k < 3 * got->count * n[1] * n[2]; ++k) got->flux[k] *= (float)f->most;
    if (f->taker) return f->taker->take(f->taker->context, f->micro, got);
    MF_TRY(mf_fields_put(f->file, i, got->first, got->count, got->potential));
    return mf_fields_put(f->file, i + 1, got->first, got->count, got->flux);
}
