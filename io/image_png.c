/* PNG. See image.h. libpng reports errors by longjmp. Each function that sets a jump keeps what it must free in a
 * struct. A local that changes after setjmp would be lost. */
#include "io/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_priv.h"
#include "src/base/err.h"

/* deflate cannot shrink a row further than this; a larger claim is a bomb. */
enum { RATIO_MAX = 1100, CHUNK_BYTES = 8 << 20 };

struct reader {
    FILE *file;
    png_structp png;
    png_infop info;
    png_bytep pixels; /* one row, or all of an interlaced image */
    png_bytep out;    /* one row of values */
    png_bytepp rows;  /* of an interlaced image */
    char text[MF_PNG_TEXT];
};

static void on_error(png_structp png, png_const_charp text)
{
    snprintf(png_get_error_ptr(png), MF_PNG_TEXT, "%s", text);
    png_longjmp(png, 1);
}

/* Warnings about pixels, colours or transparency mean that these differ from the file. Extra data behind the pixels are
 * allowed. */
static void on_warning(png_structp png, png_const_charp text)
{
    static const char *const vital[] = {"IDAT", "PLTE", "tRNS"};

    for (int i = 0; i < 3; ++i)
        if (strncmp(text, vital[i], 4) == 0 && !strcasestr(text, "extra compressed data")) on_error(png, text);
}

png_structp mf_png_writer(char text[MF_PNG_TEXT])
{
    return png_create_write_struct(PNG_LIBPNG_VER_STRING, text, on_error, on_warning);
}

static void reader_close(struct reader *r)
{
    if (r->png) png_destroy_read_struct(&r->png, &r->info, NULL);
    free(r->pixels);
    free(r->out);
    free(r->rows);
    if (r->file) (void)fclose(r->file);
}

static int reader_open(struct reader *r, const char *path)
{
    *r = (struct reader){0};
    r->file = fopen(path, "rb");
    if (!r->file) return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r->text, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info) return mf_fail(MF_MEMORY, "no memory to read '%s'", path);
    return MF_OK;
}

/* Reads the header and asks for packed bytes, native order, a palette as colours. 0 after an error of the library. */
static int read_header(struct reader *r)
{
    if (setjmp(png_jmpbuf(r->png))) return 0;
    png_init_io(r->png, r->file);
    png_set_user_limits(r->png, 0x7fffffff, 0x7fffffff);
    png_set_chunk_malloc_max(r->png, CHUNK_BYTES);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "acTL", 1);
    png_read_info(r->png, r->info);
    png_set_packing(r->png);
    if (png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(r->png);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(r->png);
    return 1;
}

static int damaged(const struct reader *r, const char *path)
{
    return mf_fail(MF_INPUT, "'%s' is a damaged PNG: %s", path, r->text);
}

/* Do grey levels and the numbers that stand for them agree? */
static int is_same_palette(const struct reader *r)
{
    png_colorp level = NULL;
    int n = 0;

    (void)png_get_PLTE(r->png, r->info, &level, &n);
    for (int i = 0; i < n; ++i)
        if (level[i].red != i) return 0;
    return n > 0;
}

/* Do cameras' notes (EXIF, a small TIFF) ask to rotate or mirror it? */
static int is_turned(const struct reader *r)
{
    enum { ORIENTATION = 0x112, ENTRY = 12 };
    png_bytep exif = NULL;
    png_uint_32 n = 0;
    size_t at, entries;
    int little;

    if (!png_get_eXIf_1(r->png, r->info, &n, &exif) || n < 10) return 0;
    little = exif[0] == 'I';
    at = mf_image_number(exif + 4, 4, little);
    if (at > n - 2) return 0;
    entries = mf_image_number(exif + at, 2, little);
    for (at += 2; entries > 0 && at + ENTRY <= n; --entries, at += ENTRY)
        if (mf_image_number(exif + at, 2, little) == ORIENTATION) return mf_image_number(exif + at + 8, 2, little) > 1;
    return 0;
}

static int check(struct reader *r, struct mf_array *a)
{
    size_t rows = png_get_image_height(r->png, r->info), columns = png_get_image_width(r->png, r->info);
    int depth = png_get_bit_depth(r->png, r->info), kind = png_get_color_type(r->png, r->info);
    double packed = (double)rows * (double)png_get_rowbytes(r->png, r->info);
    png_unknown_chunkp unknown;

    if (png_get_unknown_chunks(r->png, r->info, &unknown) > 0)
        return mf_fail(MF_INPUT, "'%s' is an animation; save one picture, or one TIFF page for each plane", a->path);
    if (png_get_valid(r->png, r->info, PNG_INFO_tRNS))
        return mf_fail(MF_INPUT, "'%s' has a transparent colour; save it as plain grey", a->path);
    if (packed > (double)a->bytes * RATIO_MAX)
        return mf_fail(MF_INPUT, "'%s' claims %zu x %zu pixels, more than a file of its length can hold", a->path, rows,
                       columns);
    a->kind = 'u';
    a->size = depth == 16 ? 2 : 1;
    a->bits = kind == PNG_COLOR_TYPE_PALETTE ? 8 : depth; /* levels of a palette have 8 */
    a->ndim = 2;
    a->shape[0] = rows;
    a->shape[1] = columns;
    if (kind & PNG_COLOR_MASK_ALPHA) a->said |= MF_SAID_ALPHA;
    if (kind == PNG_COLOR_TYPE_RGB || kind == PNG_COLOR_TYPE_RGB_ALPHA) a->said |= MF_SAID_GREY;
    if (is_turned(r)) a->said |= MF_SAID_TURNED;
    if (kind == PNG_COLOR_TYPE_PALETTE && !is_same_palette(r)) a->said |= MF_SAID_PALETTE;
    return MF_OK;
}

int mf_png_inspect(struct mf_array *array)
{
    struct reader r;
    int rc = reader_open(&r, array->path);

    if (rc == MF_OK) rc = read_header(&r) ? check(&r, array) : damaged(&r, array->path);
    reader_close(&r);
    return rc;
}

/* One sample of a row, 8 or 16 bits. */
static unsigned sample(const png_byte *row, size_t size, size_t i)
{
    uint16_t wide;

    if (size == 1) return row[i];
    memcpy(&wide, row + 2 * i, sizeof wide);
    return wide;
}

/* Values of a row: all three colours, or one grey. Then colours must be equal. Alpha must be full. */
static int take_row(const struct mf_array *a, const png_byte *row, size_t channels, png_byte *out)
{
    const unsigned full = a->size == 1 ? 255 : 65535;
    const size_t colours = channels < 3 ? 1 : 3, each = mf_image_values(a);

    for (size_t x = 0; x < a->shape[1]; ++x) {
        const size_t i = x * channels;

        for (size_t c = 1; c < colours; ++c)
            if (!a->colours && !a->channels && sample(row, a->size, i + c) != sample(row, a->size, i))
                return mf_image_colours(a, "is a colour image", "");
        if (channels > colours && sample(row, a->size, i + colours) != full)
            return mf_fail(MF_INPUT, "'%s' has transparent pixels; save it as plain grey", a->path);
        for (size_t c = 0; c < each; ++c, out += a->size)
            memcpy(out, row + (i + (colours == 3 ? c : 0)) * a->size, a->size);
    }
    return MF_OK;
}

/* Rows as values; jumps out of its caller on an error of the library. */
static int read_rows(struct reader *r, const struct mf_array *a, size_t first, size_t count, FILE *to, int interlaced)
{
    const size_t channels = png_get_channels(r->png, r->info), bytes = png_get_rowbytes(r->png, r->info),
                 values = a->shape[1] * mf_image_values(a);

    if (interlaced) png_read_image(r->png, r->rows);
    for (size_t y = 0; y < first + count; ++y) {
        png_bytep row = r->pixels + (interlaced ? y * bytes : 0);

        if (!interlaced) png_read_row(r->png, row, NULL);
        if (y < first) continue;
        MF_TRY(take_row(a, row, channels, r->out));
        if (fwrite(r->out, a->size, values, to) != values) return MF_INPUT;
    }
    if (first + count == a->shape[0]) png_read_end(r->png, NULL); /* with the checksum of the last pixels */
    return MF_OK;
}

static int send_rows(struct reader *r, const struct mf_array *a, size_t first, size_t count, FILE *to)
{
    size_t bytes;
    int interlaced;

    if (setjmp(png_jmpbuf(r->png))) return damaged(r, a->path);
    interlaced = png_set_interlace_handling(r->png) > 1;
    png_read_update_info(r->png, r->info);
    bytes = png_get_rowbytes(r->png, r->info);
    r->pixels = calloc(interlaced ? a->shape[0] : 1, bytes);
    r->rows = calloc(interlaced ? a->shape[0] : 1, sizeof *r->rows);
    r->out = malloc(a->shape[1] * mf_image_values(a) * a->size);
    if (!r->pixels || !r->rows || !r->out) return mf_fail(MF_MEMORY, "no memory to read '%s'", a->path);
    for (size_t y = 0; interlaced && y < a->shape[0]; ++y) r->rows[y] = r->pixels + y * bytes;
    return read_rows(r, a, first, count, to, interlaced);
}

int mf_png_send(const struct mf_array *array, size_t first, size_t count, FILE *to)
{
    struct reader r;
    int rc = reader_open(&r, array->path);

    if (rc == MF_OK) rc = read_header(&r) ? send_rows(&r, array, first, count, to) : damaged(&r, array->path);
    reader_close(&r);
    return rc;
}

/* 0 after an error of the library. */
static int write_all(struct reader *w, size_t rows, size_t columns, size_t channels, const uint8_t *pixels)
{
    const int kind = channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY;

    if (setjmp(png_jmpbuf(w->png))) return 0;
    png_init_io(w->png, w->file);
    png_set_IHDR(w->png, w->info, (png_uint_32)columns, (png_uint_32)rows, 8, kind, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    for (size_t y = 0; y < rows; ++y) png_write_row(w->png, pixels + y * columns * channels);
    png_write_end(w->png, NULL);
    return 1;
}

int mf_png_write(const char *path, const char *name, size_t rows, size_t columns, size_t channels,
                 const uint8_t *pixels)
{
    struct reader w = {0};
    int rc;

    w.file = fopen(path, "wb");
    if (!w.file) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", name, strerror(errno));
    w.png = mf_png_writer(w.text);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a PNG");
    rc = write_all(&w, rows, columns, channels, pixels) ? MF_OK
                                                        : mf_fail(MF_OUTPUT, "cannot write '%s': %s", name, w.text);
    png_destroy_write_struct(&w.png, &w.info);
    if (fclose(w.file) != 0 && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", name, strerror(errno));
    return rc;
}
