/* See labels.h. */
#include "io/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"

/* Up to here a double has every whole number. */
#define LABEL_MAX 9007199254740992.0

static int check(const char *path, size_t id, double value, size_t names)
{
    if (fabs(value) > LABEL_MAX)
        return mf_fail(MF_INPUT, "label %g of sample %zu in '%s' is too large: classes have numbers below 2^53", value,
                       id, path);
    if (value != rint(value))
        return mf_fail(MF_INPUT,
                       "label %.15g of sample %zu in '%s' is not a whole number, and so no class; real values are "
                       "properties, and -1 says not known",
                       value, id, path);
    if (value < -1)
        return mf_fail(MF_INPUT,
                       "label %.0f of sample %zu in '%s' is negative; the only negative label is -1: not known", value,
                       id, path);
    if (names && value >= (double)names)
        return mf_fail(MF_INPUT, "label %.0f of sample %zu in '%s' is none of its %zu classes, which are 0 to %zu",
                       value, id, path, names, names - 1);
    return MF_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The different numbers of 0 or more, ascending, at the start of @p code [n]; how many they are. */
static size_t distinct(size_t n, double *code)
{
    size_t classes = 0;

    qsort(code, n, sizeof *code, ascending);
    for (size_t i = 0; i < n; ++i)
        if (code[i] >= 0 && (classes == 0 || code[classes - 1] < code[i])) code[classes++] = code[i];
    return classes;
}

/* Every number is one of @p code. */
static void find_places(size_t n, const double *value, size_t classes, const double *code, int32_t *label)
{
    for (size_t i = 0; i < n; ++i) {
        const double *at = value[i] < 0 ? NULL : bsearch(&value[i], code, classes, sizeof *code, ascending);

        label[i] = at ? (int32_t)(at - code) : -1;
    }
}

int mf_labels_make(const char *path, size_t n, const double *value, size_t names, size_t *classes, double **code,
                   int32_t *label)
{
    for (size_t i = 0; i < n; ++i) MF_TRY(check(path, i, value[i], names));
    for (size_t i = 0; names && i < n; ++i) label[i] = (int32_t)value[i];
    if (names) return MF_OK;
    MF_TRY(MF_ROOM(*code, n + 1, "the labels of '%.300s'", path));
    memcpy(*code, value, n * sizeof **code);
    *classes = distinct(n, *code);
    find_places(n, value, *classes, *code, label);
    if (*classes <= MF_CLASSES_MAX) return MF_OK;
    free(*code);
    return mf_fail(MF_INPUT,
                   "'%s' has %zu different labels, and at most %d can be classes; are they numbers of samples?", path,
                   *classes, MF_CLASSES_MAX);
}

void mf_label_name(double code, mf_name name) { snprintf(name, MF_REAL_TEXT, "%.0f", code); }

double mf_labels_mark(size_t classes, const double *code)
{
    const double last = classes > 1 ? code[classes - 1] : -1;

    return (last == 255 || last == 65535) && code[classes - 2] < last - 1 ? last : -1;
}
