/* See image.h. */
#include "src/serve/image.h"

#include <string.h>

#include "io/npy.h"

enum { AXES = 4 };

/* -- base64 (RFC 4648, 4) -- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* 0: it is not base64. The end may lack its '='. */
static int decode(const char *text, size_t n, struct mf_bytes *to)
{
    uint32_t bits = 0;
    size_t have = 0;

    for (int pads = 0; pads < 2 && n > 0 && text[n - 1] == '='; ++pads) --n;
    if (n % 4 == 1) return 0;
    mf_bytes_room(to, n / 4 * 3 + 2);
    for (size_t i = 0; i < n; ++i) {
        const int digit = digit_of(text[i]);
        char byte;

        if (digit < 0) return 0;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        byte = (char)(bits >> have & 255);
        mf_bytes_put(to, &byte, 1);
    }
    return 1;
}

static void read_base64(struct mf_body *b, const char *key, const struct mf_json *value, struct mf_bytes *to)
{
    static const char mark[] = ";base64,";
    const char *text = mf_json_to_text(value), *end = text + mf_json_length(value), *at;

    if (strncmp(text, "data:", 5) == 0 && (at = strstr(text, mark))) text = at + sizeof mark - 1;
    if (text == end)
        mf_body_refuse(b, "'%s' is empty; it must be an image", key);
    else if (!decode(text, (size_t)(end - text), to))
        mf_body_refuse(b, "'%s' is a text, but not base64 of an image's file", key);
}

/* -- numbers -- */

/* Axes by the first element of each. 0: it is no array of numbers. */
static int find_shape(const struct mf_json *value, size_t shape[AXES])
{
    int axes = 0;

    for (; mf_json_kind(value) == MF_JSON_ARRAY; value = mf_json_item(value, 0)) {
        if (axes == AXES || mf_json_count(value) == 0) return 0;
        shape[axes++] = mf_json_count(value);
    }
    return mf_json_kind(value) == MF_JSON_REAL ? axes : 0;
}

/* Appends the numbers. 0: rows differ in length, or hold something else. */
static int put(const struct mf_json *value, int axes, const size_t *shape, struct mf_bytes *to)
{
    const double x = mf_json_to_real(value);

    if (axes == 0) {
        if (mf_json_kind(value) == MF_JSON_REAL) mf_bytes_put(to, &x, sizeof x);
        return mf_json_kind(value) == MF_JSON_REAL;
    }
    if (mf_json_count(value) != *shape) return 0;
    for (size_t i = 0; i < *shape; ++i)
        if (!put(mf_json_item(value, i), axes - 1, shape + 1, to)) return 0;
    return 1;
}

static void read_numbers(struct mf_body *b, const char *key, const struct mf_json *value, struct mf_bytes *to)
{
    static const char *const type = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "<f8" : ">f8";
    char header[MF_NPY_HEADER];
    size_t shape[AXES];
    const int axes = find_shape(value, shape);

    if (axes) mf_bytes_put(to, header, mf_npy_header(type, axes, shape, MF_AXES_UNSAID, header));
    if (axes && put(value, axes, shape, to)) return;
    mf_body_refuse(b, "'%s' is an array, but not of rows of numbers, all of one length, with at most %d axes", key,
                   AXES);
}

void mf_image_read(struct mf_body *b, const char *key, const struct mf_json *value, struct mf_bytes *file)
{
    if (mf_json_kind(value) == MF_JSON_TEXT)
        read_base64(b, key, value, file);
    else if (mf_json_kind(value) == MF_JSON_ARRAY)
        read_numbers(b, key, value, file);
    else
        mf_body_refuse(b, "'%s' is %s; it must be base64 of an image's file, or rows of numbers", key,
                       mf_json_kind_name(value));
}
