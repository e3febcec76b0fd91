/* Statistics of the values of an array over all ranks. Decisions about labels and thresholds use them. */
#ifndef MF_IO_SCAN_H
#define MF_IO_SCAN_H

#include "io/array.h"
#include "src/base/crc.h"

enum { MF_SCAN_DISTINCT = MF_PHASES_MAX + 1, MF_SCAN_BINS = 1 << 16 };

struct mf_scan {
    int64_t distinct;                /* different integers, at most MF_SCAN_DISTINCT of them are noted */
    int64_t value[MF_SCAN_DISTINCT]; /* ascending */
    int64_t fractions;               /* values that are not integers, or too large for a label */
    int64_t bad;                     /* NaN and infinities */
    double low, high;                /* of the finite values */
};

/** What this rank looks at: rows along axis 0 of an array, and the values among them that a mask covers not. */
struct mf_scan_share {
    struct mf_span rows;
    const uint8_t *covered; /* [rows] in C order, 1: passed over; NULL: every value is looked at */
};

/** Every rank looks at its share of the array, NULL: an equal one of all rows. Collective; refuses (agreed) with
 * MF_INPUT, MF_MEMORY. */
int mf_scan(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
            struct mf_scan *scan);

/** The same of elements of one byte, from how often each occurs in what this rank has read. Collective; MF_MEMORY. */
int mf_scan_bytes(const struct mf_comm *comm, const struct mf_array *array, const int64_t seen[256],
                  struct mf_scan *scan);

/** Adds to @p seen [256] how often each byte is among @p n of them. @p look: what is known of these bytes; NULL:
 * nothing. */
void mf_scan_count(const uint8_t *at, size_t n, const struct mf_crc_look *look, int64_t seen[256]);

/**
 * The threshold that parts the values best (Otsu, "A threshold selection method from gray-level histograms", IEEE
 * Trans. SMC 9 (1979) 62-66): the largest variance between the two classes, value <= t and value > t. One bin per value
 * where the values are integers within 65536 of each other, else 65536 bins. Collective; MF_INPUT, MF_MEMORY, agreed.
 */
int mf_scan_otsu(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
                 const struct mf_scan *scan, double *threshold);

#endif
