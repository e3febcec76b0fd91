/* One page of a TIFF while it is read (by a guarded child), and the messages of libtiff.
 * Rule: a message of libtiff about pixels that it decodes is a refusal. */
#ifndef MF_IO_TIFF_PAGE_H
#define MF_IO_TIFF_PAGE_H

#include <tiffio.h>

#include "io/array.h"

/** Calls TIFFOpen() and forgets messages about other files. NULL: see mf_tiff_said(). */
TIFF *mf_tiff_open(const char *path, const char *mode);

/** The first complaint of libtiff since then; "": none. While pixels are decoded (@p is) every warning counts as a
 * complaint. */
const char *mf_tiff_said(void);
void mf_tiff_decoding(int is);

/** Refuses a file to be read with libtiff's first complaint. */
int mf_tiff_damaged(const char *path);

struct mf_tiff_page {
    uint32_t rows, columns;
    uint16_t bits, samples, format, light, compression;
    uint16_t planes;        /* 1: the samples of a pixel lie together; else as many as samples */
    int colours;            /* samples that must be equal in each pixel */
    int alpha;              /* one sample more, which must be opaque */
    const uint16_t *map[3]; /* of a palette */
    int wide;               /* a palette whose values need 16 bits */
    int same;               /* a palette whose values are the numbers that stand for them */
    int lossy;              /* its compression may have changed values */
};

/** How directories of the file are stored: bytes of a count of entries, of an entry, of an offset. */
struct mf_tiff_layout {
    int little;
    size_t count, entry, word;
};

/** Reads it from the first bytes of the file. MF_INPUT. */
int mf_tiff_layout(TIFF *tiff, const char *path, struct mf_tiff_layout *layout);

/** Reads the header of libtiff's current page. Refuses a predictor that libtiff does not undo. MF_INPUT. */
int mf_tiff_page_read(TIFF *tiff, const char *path, struct mf_tiff_page *page);

/** Sets kind and size of the values. MF_INPUT. */
int mf_tiff_page_type(const struct mf_tiff_page *page, struct mf_array *array);

/** Is the page a reduced copy of another page (a thumbnail)? Such a page is no plane. */
int mf_tiff_is_reduced(TIFF *tiff);

#endif
