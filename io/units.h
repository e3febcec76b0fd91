/* Units of length: converts spacings of several units to one unit.
 * Rule: an unknown unit has no length; nothing is guessed. */
#ifndef MF_IO_UNITS_H
#define MF_IO_UNITS_H

/** Length of @p unit [m]; 0: no unit of length that is known here. */
double mf_unit_length(const char *unit);

/**
 * Converts @p n lengths, each of its own unit, to the shortest unit among them. Returns its index; -1: they differ, and
 * one of them is unknown. Equal units need not be known. @p n >= 1.
 */
int mf_units_same(int n, const char *const *units, double *lengths);

#endif
