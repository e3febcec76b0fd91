/* Writes a drawn page as a PNG. See plot_priv.h. The writer of cairo tries every filter on every row, which took most
 * of the time of a short run. In a figure a row usually equals the one above it. */
#include "io/atomic.h"
#include "io/image_priv.h"
#include "io/plot_priv.h"
#include "src/base/err.h"

/* zlib: more makes figures smaller by a fifth and takes twice as long and more. */
enum { LEVEL = 1, BUFFER = 64 << 10 };

struct sink {
    int descriptor;
    const char *path;
    size_t written;
    int rc;
    char text[MF_PNG_TEXT];
};

static void put(png_structp png, png_bytep bytes, size_t length)
{
    struct sink *s = png_get_io_ptr(png);

    s->rc = mf_write_at(s->descriptor, s->path, bytes, length, s->written);
    s->written += length;
    if (s->rc != MF_OK) png_error(png, "cannot write");
}

static void flush(png_structp png) { (void)png; }

/* 0 after an error of the library or of the file. */
static int write_all(png_structp png, png_infop info, struct sink *s, const struct mf_page *p)
{
    const int little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

    if (setjmp(png_jmpbuf(png))) return 0;
    png_set_write_fn(png, s, put, flush);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
    png_set_compression_level(png, LEVEL);
    png_set_compression_buffer_size(png, BUFFER);
    png_set_IHDR(png, info, (png_uint_32)p->columns, (png_uint_32)p->rows, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_set_filler(png, 0, little ? PNG_FILLER_AFTER : PNG_FILLER_BEFORE);
    if (little) png_set_bgr(png);
    for (size_t y = 0; y < p->rows; ++y) png_write_row(png, p->pixels + y * p->stride);
    png_write_end(png, NULL);
    return 1;
}

int mf_plot_png(int descriptor, const char *path, const struct mf_page *page)
{
    struct sink s = {descriptor, path, 0, MF_OK, ""};
    png_structp png = mf_png_writer(s.text);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int written;

    if (!info) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a PNG");
    written = write_all(png, info, &s, page);
    png_destroy_write_struct(&png, &info);
    if (written) return MF_OK;
    return s.rc != MF_OK ? s.rc : mf_fail(MF_OUTPUT, "cannot draw '%s': %s", path, s.text);
}
