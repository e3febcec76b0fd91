/* See units.h. */
#include "io/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/base/log.h"

/* Sizes that differ by less are one: they were rounded when they were written. */
static const double ALIKE = 1e-3;

/* Symbols, whose case counts, and names, whose case does not. */
static const struct {
    double metres;
    const char *symbol[4], *name[4];
} units[] = {
    {1e3, {"km"}, {"kilometer", "kilometre", "kilometers", "kilometres"}},
    {1, {"m"}, {"meter", "metre", "meters", "metres"}},
    {1e-2, {"cm"}, {"centimeter", "centimetre", "centimeters", "centimetres"}},
    {1e-3, {"mm"}, {"millimeter", "millimetre", "millimeters", "millimetres"}},
    {1e-6, {"um", "\302\265m", "\316\274m", "\265m"}, {"micrometer", "micrometre", "micrometers", "micrometres"}},
    {1e-6, {NULL}, {"micron", "microns", "\302\265", "\316\274"}},
    {1e-9, {"nm"}, {"nanometer", "nanometre", "nanometers", "nanometres"}},
    {1e-10, {"A", "\303\205", "\342\204\253"}, {"angstrom", "angstroms", "\303\205ngstrom", "\303\245ngstrom"}},
    {1e-12, {"pm"}, {"picometer", "picometre", "picometers", "picometres"}},
    {0.0254, {"in"}, {"inch", "inches"}}};

/* The unit without blanks around it; it may have as many as there is room for. */
static const char *trimmed(const char *unit, char text[MF_SIZE_TEXT])
{
    size_t n;

    while (isspace((unsigned char)*unit)) ++unit;
    snprintf(text, MF_SIZE_TEXT, "%s", unit);
    for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]);) text[--n] = '\0';
    return text;
}

double mf_unit_length(const char *unit)
{
    char text[MF_SIZE_TEXT];

    unit = trimmed(unit, text);
    for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
        for (int i = 0; i < 4 && units[u].symbol[i]; ++i)
            if (strcmp(unit, units[u].symbol[i]) == 0) return units[u].metres;
        for (int i = 0; i < 4 && units[u].name[i]; ++i)
            if (strcasecmp(unit, units[u].name[i]) == 0) return units[u].metres;
    }
    return 0;
}

/* Units are powers of ten of each other, which a double does not always hold; an inch is none. */
static double quotient(double longer, double shorter)
{
    const double by = longer / shorter;

    return fabs(by - round(by)) < 1e-9 * by ? round(by) : by;
}

double mf_unit_factor(const char *from, const char *to)
{
    const double a = mf_unit_length(from), b = mf_unit_length(to);

    if (a <= 0 || b <= 0) return 1;
    return a >= b ? quotient(a, b) : 1 / quotient(b, a);
}

int mf_units_same(int n, const char *const *unit, double *lengths)
{
    int shortest = 0, differ = 0;

    for (int i = 1; i < n; ++i) differ |= strcmp(unit[i], unit[0]) != 0;
    if (!differ) return 0;
    for (int i = 0; i < n; ++i) {
        const double metres = mf_unit_length(unit[i]);

        if (metres <= 0) return -1;
        if (metres < mf_unit_length(unit[shortest])) shortest = i;
    }
    for (int i = 0; i < n; ++i) lengths[i] *= quotient(mf_unit_length(unit[i]), mf_unit_length(unit[shortest]));
    return shortest;
}

/* -- sizes of voxels -- */

int mf_lengths_differ(double a, double b) { return !(fabs(a - b) <= ALIKE * fabs(a)); }

static int first_axis(const struct mf_size *a, const struct mf_size *b) { return a->ndim == 3 && b->ndim == 3 ? 0 : 1; }

int mf_size_stated(const struct mf_size *size)
{
    int stated = *size->unit != '\0';

    for (int i = first_axis(size, size); i < 3; ++i) stated |= size->edge[i] != 1;
    return stated;
}

int mf_sizes_differ(const struct mf_size *a, const struct mf_size *b)
{
    const double by = mf_unit_factor(b->unit, a->unit);
    const int known = mf_unit_length(a->unit) > 0 && mf_unit_length(b->unit) > 0;

    if (!known && *a->unit && *b->unit && strcmp(a->unit, b->unit) != 0) return 1;
    for (int i = first_axis(a, b); i < 3; ++i)
        if (mf_lengths_differ(a->edge[i], by * b->edge[i])) return 1;
    return 0;
}

void mf_size_text(const struct mf_size *size, char text[MF_SIZE_TEXT])
{
    const double *e = size->edge;
    const int flat = size->ndim == 2, cube = !mf_lengths_differ(e[2], e[1]) && (flat || !mf_lengths_differ(e[2], e[0]));
    int n;

    if (cube)
        n = snprintf(text, MF_SIZE_TEXT, "%g", e[2]);
    else if (flat)
        n = snprintf(text, MF_SIZE_TEXT, "%g x %g", e[1], e[2]);
    else
        n = snprintf(text, MF_SIZE_TEXT, "%g x %g x %g", e[0], e[1], e[2]);
    snprintf(text + n, (size_t)(MF_SIZE_TEXT - n), "%s%.32s", *size->unit ? " " : " (no unit)", size->unit);
}

int mf_sizes_warn(const struct mf_size *a, const struct mf_size *b, const char *so)
{
    char one[MF_SIZE_TEXT], two[MF_SIZE_TEXT];

    if (!mf_size_stated(a) || !mf_size_stated(b) || !mf_sizes_differ(a, b)) return 0;
    mf_size_text(a, one);
    mf_size_text(b, two);
    if (*a->unit && *b->unit && strcmp(a->unit, b->unit) != 0 &&
        !(mf_unit_length(a->unit) > 0 && mf_unit_length(b->unit) > 0))
        mf_warn("sizes of pixels cannot be compared: %s in '%s', %s in '%s', and '%.32s' is no known unit; %s", one,
                a->file, two, b->file, mf_unit_length(a->unit) > 0 ? b->unit : a->unit, so);
    else
        mf_warn("pixels differ in size: %s in '%s', %s in '%s'; %s", one, a->file, two, b->file, so);
    return 1;
}
