/* Units of length, and sizes of voxels in such units: converts, compares and writes them.
 * Rule: an unknown unit has no length; nothing is guessed. */
#ifndef MF_IO_UNITS_H
#define MF_IO_UNITS_H

enum { MF_SIZE_TEXT = 128 };

/** Length of @p unit [m], blanks around it aside; 0: no unit of length that is known here. */
double mf_unit_length(const char *unit);

/**
 * Converts @p n lengths, each of its own unit, to the shortest unit among them. Returns its index; -1: they differ, and
 * one of them is unknown. Equal units need not be known. @p n >= 1.
 */
int mf_units_same(int n, const char *const *units, double *lengths);

/** Do two lengths of one unit differ by more than one in a thousand? Less is rounding. */
int mf_lengths_differ(double a, double b);

/** The size of a file's voxels. */
struct mf_size {
    const char *file;
    int ndim;           /* 2: z does not count */
    const double *edge; /* {z, y, x} [unit] */
    const char *unit;   /* "" unknown */
};

/** Is it stated? Not if edges are 1 without a unit. */
int mf_size_stated(const struct mf_size *size);

/** Factor that converts a length of @p from to a length in @p to. It is 1 where a unit is unknown, or both are one. */
double mf_unit_factor(const char *from, const char *to);

/** Do edges differ along axes that count for both? Units that are not known count as
 * different where both are named. */
int mf_sizes_differ(const struct mf_size *a, const struct mf_size *b);

/** "0.5 um", "1 x 0.5 x 0.5 um". */
void mf_size_text(const struct mf_size *size, char text[MF_SIZE_TEXT]);

/** Warns if both sizes are stated, and differ; @p so: what is done all the same. Did it? */
int mf_sizes_warn(const struct mf_size *a, const struct mf_size *b, const char *so);

#endif
