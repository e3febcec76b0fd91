/* See units.h. */
#include "io/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Symbols, whose case counts, and names, whose case does not. */
static const struct {
    double metres;
    const char *symbol[3], *name[4];
} units[] = {
    {1, {"m"}, {"meter", "metre", "meters", "metres"}},
    {1e-2, {"cm"}, {"centimeter", "centimetre", "centimeters", "centimetres"}},
    {1e-3, {"mm"}, {"millimeter", "millimetre", "millimeters", "millimetres"}},
    {1e-6, {"um", "\302\265m", "\316\274m"}, {"micrometer", "micrometre", "micrometers", "micrometres"}},
    {1e-6, {NULL}, {"micron", "microns"}},
    {1e-9, {"nm"}, {"nanometer", "nanometre", "nanometers", "nanometres"}},
    {1e-10, {"A", "\303\205", "\342\204\253"}, {"angstrom", "angstroms", "\303\205ngstrom", "\303\245ngstrom"}},
    {1e-12, {"pm"}, {"picometer", "picometre", "picometers", "picometres"}}};

double mf_unit_length(const char *unit)
{
    for (size_t u = 0; u < sizeof units / sizeof *units; ++u) {
        for (int i = 0; i < 3 && units[u].symbol[i]; ++i)
            if (strcmp(unit, units[u].symbol[i]) == 0) return units[u].metres;
        for (int i = 0; i < 4 && units[u].name[i]; ++i)
            if (strcasecmp(unit, units[u].name[i]) == 0) return units[u].metres;
    }
    return 0;
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
    for (int i = 0; i < n; ++i) { /* the quotient is a power of ten, which a double does not always hold */
        const double by = mf_unit_length(unit[i]) / mf_unit_length(unit[shortest]);

        lengths[i] *= round(by);
    }
    return shortest;
}
