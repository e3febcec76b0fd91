/* See match.h: properties that a result shall have. */
#include "src/recon/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/measure.h"

static const char PREFIX[] = "conductivity_";

/* "conductivity_z=0.28" */
static int parse(const char *text, int *axis, double *value)
{
    const size_t n = sizeof PREFIX - 1;
    const char *at = strncmp(text, PREFIX, n) == 0 && text[n] ? strchr("zyx", text[n]) : NULL;
    char *end = NULL;

    if (!at || text[n + 1] != '=')
        return mf_fail(MF_USAGE,
                       "--property %s: there are conductivity_z=VALUE, conductivity_y=VALUE and "
                       "conductivity_x=VALUE",
                       text);
    *axis = (int)(at - "zyx");
    *value = strtod(text + n + 2, &end);
    if (end == text + n + 2 || *end || !(*value > 0) || !isfinite(*value))
        return mf_fail(MF_USAGE, "--property %s: the value must be a number above 0", text);
    return MF_OK;
}

static int parse_all(const struct mf_match *o, struct mf_property_opts *p)
{
    for (size_t i = 0; i < o->properties.count; ++i) {
        int axis = 0;
        double of = 0;

        MF_TRY(parse(o->properties.at[i], &axis, &of));
        for (size_t k = 0; k < p->count; ++k)
            if (p->at[k].axis == axis) return mf_fail(MF_USAGE, "--property names %s%c twice", PREFIX, "zyx"[axis]);
        p->at[p->count].axis = axis;
        p->at[p->count++].of = of;
    }
    return MF_OK;
}

int mf_recon_property_check(const struct mf_match *o)
{
    struct mf_property_opts parsed = {0};
    const struct mf_method *method = mf_method_of(o->optimizer);

    if (!o->properties.count) return MF_OK;
    MF_TRY(parse_all(o, &parsed));
    if (!o->conductivity.count)
        return mf_fail(MF_USAGE, "--property needs the conductivities of labels 0, 1, ..; try: --conductivity 0.01 1");
    MF_TRY(mf_conduct_check(o->conductivity.count, o->conductivity.at));
    if (!(o->property_weight > 0 && o->property_weight <= 1e6))
        return mf_fail(MF_USAGE, "--property_weight is %g, it must lie above 0 and be at most 1e6", o->property_weight);
    if (!(o->property_tolerance >= 1e-3 && o->property_tolerance < 1))
        return mf_fail(MF_USAGE, "--property_tolerance is %g, it must lie in [0.001, 1)", o->property_tolerance);
    if (method->swaps)
        return mf_fail(MF_USAGE, "--property: %s has no gradient; try: --optimizer_type LBFGSB", method->name);
    if (o->max_iter == 0)
        return mf_fail(MF_USAGE, "--property: --max_iter 0 evaluates the start alone; leave one of them out");
    return MF_OK;
}

/* As the result's voxels are (mf_outcome_spacing()). */
static void set_spacing(const struct mf_target *target, const size_t dims[3], double spacing[3])
{
    memcpy(spacing, target->spacing, 3 * sizeof *spacing);
    if (dims[0] > 1 && target->sides == 1) spacing[0] = spacing[1];
}

int mf_recon_property(const struct mf_match *o, const struct mf_target *target, const size_t dims[3],
                      struct mf_solve_opts *opts)
{
    struct mf_property_opts *p = &opts->property;
    const int phases = mf_solve_fields(target, opts) > 1 ? target->phases : 2;

    if (!o->properties.count) return MF_OK;
    MF_TRY(parse_all(o, p));
    if (o->conductivity.count != (size_t)phases)
        return mf_fail(MF_INPUT, "--conductivity has %zu value%s, but the result has %d labels", o->conductivity.count,
                       o->conductivity.count == 1 ? "" : "s", phases);
    for (int i = 0; i < phases; ++i) p->unit = fmax(p->unit, o->conductivity.at[i]);
    for (int i = 0; i < phases; ++i) p->k[i] = o->conductivity.at[i] / p->unit;
    for (size_t i = 0; i < p->count; ++i) {
        p->at[i].of /= p->unit;
        if (dims[0] == 1 && p->at[i].axis == 0)
            return mf_fail(MF_INPUT, "--property conductivity_z: the result is an image and has no axis z");
        if (dims[p->at[i].axis] < 2)
            return mf_fail(MF_INPUT, "--property conductivity_%c: the result has one voxel along that axis",
                           "zyx"[p->at[i].axis]);
    }
    p->boundary = o->property_boundary;
    p->weight = o->property_weight;
    p->tolerance = o->property_tolerance;
    set_spacing(target, dims, p->spacing);
    return MF_OK;
}

/* Fractions of the phases of the result: of one field, phase 1 and the rest. */
static void fractions(const struct mf_target *target, const size_t dims[3], size_t fields, double *fraction)
{
    const int sides = dims[0] > 1 ? target->sides : 1;
    double sum = 0;

    for (size_t f = 0; f < fields; ++f) {
        const size_t to = fields == 1 ? 1 : f, phase = mf_target_phase(target, fields, f);

        fraction[to] = 0;
        for (int s = 0; s < sides; ++s)
            fraction[to] += target->side[s].fraction[phase * target->side[s].levels] / sides;
        sum += fraction[to];
    }
    if (fields == 1) fraction[0] = 1 - sum;
}

int mf_recon_property_bounds(const struct mf_target *target, const size_t dims[3], const struct mf_solve_opts *opts)
{
    const struct mf_property_opts *p = &opts->property;
    const size_t fields = mf_solve_fields(target, opts);
    double fraction[MF_PHASES_MAX];
    struct mf_conduct_bounds b;

    if (!p->count) return MF_OK;
    fractions(target, dims, fields, fraction);
    b = mf_conduct_bounds(dims[0] > 1 ? 3 : 2, fields == 1 ? 2 : fields, fraction, p->k);
    for (size_t i = 0; i < p->count; ++i)
        if (p->at[i].of <= b.series || p->at[i].of >= b.parallel)
            return mf_fail(MF_INPUT,
                           "--property conductivity_%s=%g: no structure with these volume fractions has it; Wiener's "
                           "bounds are %.6g and %.6g",
                           mf_axis_name(p->at[i].axis), p->at[i].of * p->unit, b.series * p->unit,
                           b.parallel * p->unit);
    return MF_OK;
}
