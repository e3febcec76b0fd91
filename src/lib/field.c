/* See include/mesoforge.h: fields. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/lib/lib.h"

/* Letters, digits and "_-.", which no option's text parts. */
static int check_name(const mesoforge_session *session, const char *name)
{
    size_t n = 0;

    for (; name && name[n]; ++n)
        if (!isalnum((unsigned char)name[n]) && !strchr("_-.", name[n])) break;
    if (!name || n == 0 || name[n] || n > MF_FIELD_NAME - 2)
        return mf_fail(MF_USAGE, "'%.80s' is no name of a field; letters, digits, '_', '-' and '.' make one",
                       name ? name : "");
    for (const mesoforge_field *f = session->fields; f; f = f->next)
        if (strcmp(f->name + 1, name) == 0) return mf_fail(MF_USAGE, "the session has a field '%s' already", name);
    return MF_OK;
}

/* "u1", "<f8", "|b1" */
static int read_type(const char *type, struct mf_lent *lent)
{
    static const char *const sizes[] = {"b1", "u1248", "i1248", "f248"};
    const char order = type && strchr("<>=|", *type) && *type ? *type++ : '=';

    for (int i = 0; type && i < 4; ++i)
        if (type[0] == *sizes[i] && type[1] && strchr(sizes[i] + 1, type[1]) && !type[2]) {
            lent->kind = type[0];
            lent->size = (size_t)(type[1] - '0');
            lent->swap = order == '>';
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "arrays of type '%.40s' are not read; b1, u1 to u8, i1 to i8 and f2 to f8 are",
                   type ? type : "");
}

/* Before the shape becomes that of the whole. */
static int take_slab(const struct mesoforge_array *a, struct mf_lent *lent)
{
    if (a->ndim < 3 || a->ndim > 4)
        return mf_fail(MF_USAGE, "a slab is of a volume, [z][y][x] or [z][y][x][phase]; this one has %d axes", a->ndim);
    if (a->first > a->planes || a->shape[0] > a->planes - a->first)
        return mf_fail(MF_USAGE, "the slab has %zu planes from %zu on, and the volume ends with plane %zu", a->shape[0],
                       a->first, a->planes);
    lent->is_slab = 1;
    lent->planes = (struct mf_span){a->first, a->shape[0]};
    lent->shape[0] = a->planes;
    return MF_OK;
}

static int take_array(const struct mesoforge_array *array, struct mf_lent *lent)
{
    size_t values = 1;

    if (!array) return mf_fail(MF_USAGE, "there is no array");
    MF_TRY(read_type(array->type, lent));
    if (array->ndim < 0 || array->ndim > MESOFORGE_AXES)
        return mf_fail(MF_USAGE, "the array has %d axes; a field has two or three", array->ndim);
    lent->ndim = array->ndim;
    for (int i = 0; i < array->ndim; ++i) {
        lent->shape[i] = array->shape[i];
        lent->stride[i] = array->stride[i];
        values = array->shape[i] ? values : 0;
    }
    lent->values = array->data;
    if (values && !array->data) return mf_fail(MF_USAGE, "the array has no values: its data is NULL");
    return array->planes ? take_slab(array, lent) : MF_OK;
}

static int add(mesoforge_session *session, const char *name, const struct mf_lent *lent, mesoforge_field **field)
{
    mesoforge_field *f;

    if (!field) return mf_fail(MF_USAGE, "there is no place for the field");
    *field = NULL;
    MF_TRY(check_name(session, name));
    f = calloc(1, sizeof *f);
    if (!f) return mf_fail(MF_MEMORY, "no memory for a field");
    snprintf(f->name, sizeof f->name, "@%s", name);
    f->lent = *lent;
    f->lent.name = f->name;
    f->next = session->fields;
    f->lent.next = f->next ? &f->next->lent : NULL;
    f->own = f->lent;
    session->fields = f;
    *field = f;
    return MF_OK;
}

int mesoforge_field_array(mesoforge_session *session, const char *name, const struct mesoforge_array *array,
                          mesoforge_field **field)
{
    struct mf_lent lent = {0};
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    rc = take_array(array, &lent);
    return mf_lib_leave(session, rc == MF_OK ? add(session, name, &lent, field) : rc);
}

/* The phases of a structure, or of its planes on this rank. */
static void take_structure(const mesoforge_result *structure, struct mf_lent *lent)
{
    const struct mf_slab *slab = &structure->micro.slab;
    ptrdiff_t step = 1;

    *lent = (struct mf_lent){.values = structure->phase,
                             .kind = 'u',
                             .size = 1,
                             .ndim = structure->micro.ndim,
                             .is_slab = structure->cut,
                             .planes = {slab->first, slab->count},
                             .micro = &structure->micro};
    for (int i = lent->ndim - 1, axis = 2; i >= 0; --i, --axis) {
        lent->shape[i] = slab->dims[axis];
        lent->stride[i] = step;
        step *= (ptrdiff_t)slab->dims[axis];
    }
}

static int take_result(const mesoforge_result *result, struct mf_lent *lent)
{
    if (!result || !(result->own || result->phase))
        return mf_fail(MF_USAGE, "this is neither a target nor a structure, which fields are made of");
    if (result->own)
        lent->target = &result->own->target;
    else
        take_structure(result, lent);
    return MF_OK;
}

int mesoforge_field_target(mesoforge_session *session, const char *name, const mesoforge_result *result,
                           mesoforge_field **field)
{
    struct mf_lent lent = {0};
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    rc = take_result(result, &lent);
    return mf_lib_leave(session, rc == MF_OK ? add(session, name, &lent, field) : rc);
}

int mesoforge_field_free(mesoforge_session *session, mesoforge_field *field)
{
    mesoforge_field **at;
    int rc = field ? mf_lib_enter(session) : MF_OK;

    if (rc != MF_OK) return mf_lib_told(rc);
    if (!field) return MF_OK;
    for (at = &session->fields; *at && *at != field;) at = &(*at)->next;
    if (!*at) return mf_lib_leave(session, mf_fail(MF_USAGE, "this is no field of the session"));
    *at = field->next;
    for (mesoforge_field *f = session->fields; f; f = f->next) f->lent.next = f->next ? &f->next->lent : NULL;
    free(field);
    return mf_lib_leave(session, MF_OK);
}
