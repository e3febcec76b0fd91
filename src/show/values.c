/* See info_values.h. */
#include "src/show/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"

enum { PIECE = 4096 };

/* Sums are kept so much smaller: no number of values is too large for one. */
#define SCALE 0x1p-64

/* Integers that a double still holds exactly. */
#define EXACT 9007199254740992.0

struct scan {
    const struct mf_array *array;
    struct mf_values *values;
};

static void count_value(struct mf_values *v, int64_t value)
{
    int i = 0;

    while (i < v->distinct && v->at[i] != value) ++i;
    if (i == MF_VALUES_MAX) {
        v->distinct = MF_VALUES_MAX + 1;
        return;
    }
    if (i == v->distinct) {
        v->at[i] = value;
        v->times[i] = 0;
        ++v->distinct;
    }
    v->times[i] += 1;
}

static void take_reals(struct mf_values *v, const double *x, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (!isfinite(x[i])) {
            v->not_finite += 1;
            continue;
        }
        v->least = fmin(v->least, x[i]);
        v->most = fmax(v->most, x[i]);
        v->sum += x[i] * SCALE;
        v->count += 1;
    }
}

/* Floats that are integers are labels to every verb. */
static void round_all(const double *real, size_t n, int64_t *whole)
{
    for (size_t i = 0; i < n; ++i)
        whole[i] = fabs(real[i]) <= EXACT && real[i] == rint(real[i]) ? (int64_t)real[i] : MF_NO_LABEL;
}

static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    const struct scan *s = context;
    const char *bytes = values;
    int64_t whole[PIECE];
    double real[PIECE];

    (void)at;
    (void)stride;
    for (size_t i = 0; i < n; i += PIECE) {
        size_t m = n - i < PIECE ? n - i : PIECE;

        mf_array_reals(s->array, bytes + i * s->array->size, m, real);
        take_reals(s->values, real, m);
        if (s->array->kind == 'f')
            round_all(real, m, whole);
        else
            mf_array_ints(s->array, bytes + i * s->array->size, m, whole);
        for (size_t k = 0; k < m && s->values->distinct <= MF_VALUES_MAX; ++k)
            if (whole[k] == MF_NO_LABEL)
                s->values->distinct = MF_VALUES_MAX + 1;
            else
                count_value(s->values, whole[k]);
    }
    return MF_OK;
}

static void sort(struct mf_values *v)
{
    for (int i = 1; i < v->distinct; ++i)
        for (int k = i; k > 0 && v->at[k] < v->at[k - 1]; --k) {
            int64_t value = v->at[k];
            double times = v->times[k];

            v->at[k] = v->at[k - 1];
            v->times[k] = v->times[k - 1];
            v->at[k - 1] = value;
            v->times[k - 1] = times;
        }
}

int mf_values_scan(const struct mf_array *array, struct mf_values *values)
{
    struct scan scan = {array, values};
    int image = array->format == MF_PNG || array->format == MF_TIFF;

    memset(values, 0, sizeof *values);
    values->least = HUGE_VAL;
    values->most = -HUGE_VAL;
    MF_TRY(mf_array_visit(array, 0, array->ndim ? array->shape[0] : 1, take, &scan));
    if (values->distinct > MF_VALUES_MAX) return MF_OK;
    sort(values);
    values->is_labels = !image || (!(array->said & MF_SAID_LOSSY) && values->at[0] == 0 &&
                                   values->at[values->distinct - 1] == values->distinct - 1);
    return MF_OK;
}

/* The label that the file gives a stored value, and its name: a volume of ours stores phases. */
static long long label_of(const struct mf_array *a, int64_t value, const char **name)
{
    int known = a->own && value >= 0 && value < a->phases;

    *name = known ? a->name[value] : "";
    return known ? a->label[value] : value;
}

void mf_values_json(struct mf_json *json, const struct mf_values *v, const struct mf_array *array)
{
    struct mf_json *phases = mf_json_array();

    if (v->count > 0) {
        MF_JSON(json, "minimum", v->least, "maximum", v->most, "mean", v->sum / v->count / SCALE);
    }
    mf_json_int(json, "not_finite", (long long)v->not_finite);
    for (int i = 0; v->is_labels && i < v->distinct; ++i) {
        struct mf_json *phase = mf_json_object();
        const char *name;

        mf_json_int(phase, "label", label_of(array, v->at[i], &name));
        if (*name) mf_json_text(phase, "name", name);
        MF_JSON(phase, "voxels", (long long)v->times[i], "volume_fraction", v->times[i] / v->count);
        mf_json_put(phases, NULL, phase);
    }
    mf_json_put(json, "phases", phases);
}

void mf_values_print(const struct mf_values *v, const struct mf_array *array)
{
    if (!v->is_labels && v->count > 0)
        printf("  values:    %g to %g, mean %g%s\n", v->least, v->most, v->sum / v->count / SCALE,
               array->kind == 'f' ? "" : "; not labels: read it with --threshold or --labels");
    if (v->not_finite > 0) printf("  values:    %.0f are not finite\n", v->not_finite);
    for (int i = 0; v->is_labels && i < v->distinct; ++i) {
        const char *name;
        long long label = label_of(array, v->at[i], &name);

        printf("  label %lld: volume fraction %.6f (%.0f voxels)%s%s\n", label, v->times[i] / v->count, v->times[i],
               *name ? " " : "", name);
    }
}
