/* Statistics of the values of an array over all ranks. Decisions about labels and thresholds use them. */
#ifndef MF_IO_SCAN_H
#define MF_IO_SCAN_H

#include "io/array.h"
#include "src/base/crc.h"

enum { MF_SCAN_DISTINCT = MF_PHASES_MAX + 1, MF_SCAN_BINS = 1 << 16 };

struct mf_scan {
    int64_t distinct;                /* number of different integers, counted up to MF_SCAN_DISTINCT */
    int64_t value[MF_SCAN_DISTINCT]; /* ascending */
    int64_t fractions;               /* values that are not integers, or too large for a label */
    int64_t bad;                     /* NaN and infinities */
    double low, high;                /* of the finite values */
    int64_t no_data[MF_NO_DATA];     /* values that the file declares to be none: of each of its entries */
};

/** Part of this rank: rows along axis 0 of an array, without the values that a mask covers. */
struct mf_scan_share {
    struct mf_span rows;
    const uint8_t *covered; /* [rows] in C order, 1: ignored; NULL: every value counts */
};

/** Every rank reads its share of the array; NULL: an equal share of all rows. Collective; refuses (agreed) with
 * MF_INPUT, MF_MEMORY. */
int mf_scan(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
            struct mf_scan *scan);

/** Which value of the array is the first, in C order, that is NaN or infinite; one must be. Reads as mf_scan() does.
 * Collective; refuses (agreed) with MF_INPUT. */
int mf_scan_first_bad(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
                      size_t *first);

/** The same as mf_scan() for elements of one byte. It uses the counts of each value in what this rank has read.
 * Collective; MF_MEMORY. */
int mf_scan_bytes(const struct mf_comm *comm, const struct mf_array *array, const int64_t seen[256],
                  struct mf_scan *scan);

/** Counts each byte value among @p n bytes and adds the counts to @p seen [256]. The look @p look is what is known of
 * these bytes; NULL: nothing. */
void mf_scan_count(const uint8_t *at, size_t n, const struct mf_crc_look *look, int64_t seen[256]);

/**
 * The threshold that separates the values best: it has the largest variance between the classes value <= t and value >
 * t. Source: Otsu, "A threshold selection method from gray-level histograms", IEEE Trans. SMC 9 (1979) 62-66. One bin
 * per value where the values are integers within 65536 of each other, else 65536 bins. Collective; MF_INPUT, MF_MEMORY,
 * agreed.
 */
int mf_scan_otsu(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
                 const struct mf_scan *scan, double *threshold);

#endif
