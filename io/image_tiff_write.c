/* TIFF stacks that are written. See image.h. */
#include "io/image.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "src/base/err.h"

static char last_error[200];

static void on_error(const char *module, const char *format, va_list args)
{
    (void)module;
    vsnprintf(last_error, sizeof last_error, format, args);
}

static TIFF *tiff_open(const char *path, const char *mode)
{
    last_error[0] = '\0';
    TIFFSetErrorHandler(on_error);
    TIFFSetWarningHandler(NULL);
    return TIFFOpen(path, mode);
}

struct mf_tiff {
    TIFF *tiff;
    char *name;
    size_t pages, done;
    uint32_t rows, columns;
};

static int refuse_write(const struct mf_tiff *t)
{
    return mf_fail(MF_OUTPUT, "cannot write '%s': %s", t->name,
                   last_error[0] ? last_error : "the TIFF library refused");
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
                  ? tiff_open(path, (double)pages * (double)rows * (double)columns > 3.5e9 ? "w8" : "w")
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
    if (last_error[0]) rc = refuse_write(t);
    free(t->name);
    free(t);
    return rc;
}
