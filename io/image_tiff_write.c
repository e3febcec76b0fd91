/* TIFF stacks that are written. See image.h. */
#include "io/image.h"

#include <stdlib.h>
#include <string.h>

#include "io/tiff_page.h"
#include "src/base/err.h"

struct mf_tiff {
    TIFF *tiff;
    char *name;
    size_t pages, done;
    uint32_t rows, columns;
};

static int refuse_write(const struct mf_tiff *t)
{
    const char *why = mf_tiff_said();

    return mf_fail(MF_OUTPUT, "cannot write '%s': %s", t->name, *why ? why : "the TIFF library refused");
}

int mf_tiff_create(const char *path, const char *name, size_t pages, size_t rows, size_t columns, struct mf_tiff **tiff)
{
    struct mf_tiff *t = calloc(1, sizeof *t);
    int rc = MF_OK;

    if (!t || !(t->name = strdup(name))) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a TIFF");
    t->pages = pages;
    t->rows = (uint32_t)rows;
    t->columns = (uint32_t)columns;
    t->tiff = rows <= UINT32_MAX && columns <= UINT32_MAX
                  ? mf_tiff_open(path, (double)pages * (double)rows * (double)columns > 3.5e9 ? "w8" : "w")
                  : NULL;
    if (!t->tiff) {
        rc = refuse_write(t);
        free(t->name);
        free(t);
        return rc;
    }
    *tiff = t;
    return MF_OK;
}

int mf_tiff_page(struct mf_tiff *t, const uint8_t *grey)
{
    uint32_t strip = t->columns < (1 << 16) ? (1 << 16) / t->columns : 1;
    int ok = 1;

    TIFFSetField(t->tiff, TIFFTAG_IMAGEWIDTH, t->columns);
    TIFFSetField(t->tiff, TIFFTAG_IMAGELENGTH, t->rows);
    TIFFSetField(t->tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(t->tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t->tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t->tiff, TIFFTAG_ROWSPERSTRIP, strip);
    if (t->pages > 1 && t->pages < UINT16_MAX) {
        TIFFSetField(t->tiff, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        TIFFSetField(t->tiff, TIFFTAG_PAGENUMBER, (int)t->done, (int)t->pages);
    }
    for (uint32_t y = 0; ok && y < t->rows; ++y)
        ok = TIFFWriteScanline(t->tiff, (void *)(uintptr_t)(grey + (size_t)y * t->columns), y, 0) == 1;
    ok = ok && TIFFWriteDirectory(t->tiff);
    ++t->done;
    return ok ? MF_OK : refuse_write(t);
}

int mf_tiff_close(struct mf_tiff *t)
{
    int rc = MF_OK;

    TIFFClose(t->tiff);
    if (*mf_tiff_said()) rc = refuse_write(t);
    free(t->name);
    free(t);
    return rc;
}
