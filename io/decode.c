/* See decode.h. A decoder delivers bytes one after the other. Sources are the file, base 64, gzip, and the blocks of
 * VTK (sizes, then each block compressed by zlib). */
#include "io/decode.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/guard.h"
#include "src/base/err.h"

enum { PIECE = 1 << 18, BLOCK_MAX = 1 << 30, TOKEN = 64 };

struct decoder {
    const struct mf_array *array;
    FILE *from;
    unsigned char triple[3]; /* decoded from base 64, */
    size_t left;             /* and how many of them are left */
    uint64_t blocks, next, block_bytes, last_bytes;
    uint64_t *packed_bytes;      /* [blocks] */
    unsigned char *block;        /* unpacked, */
    size_t block_at, block_size; /* where one is in it */
    z_stream stream;
    unsigned char *in; /* of the stream */
};

const char *mf_array_file(const struct mf_array *a) { return a->data[0] ? a->data : a->path; }

void mf_swap_bytes(void *values, size_t n, size_t size)
{
    char *v = values;

    for (size_t k = 0; k < n; ++k, v += size)
        for (size_t b = 0; b < size / 2; ++b) {
            char other = v[b];

            v[b] = v[size - 1 - b];
            v[size - 1 - b] = other;
        }
}

static int ended(const struct decoder *d)
{
    if (ferror(d->from)) return mf_fail(MF_INPUT, "cannot read '%s': %s", mf_array_file(d->array), strerror(errno));
    return mf_fail(MF_INPUT, "'%s' is damaged: it ends inside its values", mf_array_file(d->array));
}

static int damaged(const struct decoder *d, const char *what)
{
    return mf_fail(MF_INPUT, "'%s' is damaged: %s", mf_array_file(d->array), what);
}

/* -- base 64 -- */

static int digit(int c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c > 0 ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Four characters are three bytes; padding may stand in the middle, where one text ends and the next begins. */
static int next_triple(struct decoder *d)
{
    unsigned value = 0;
    int pads = 0;

    for (int i = 0; i < 4;) {
        int c = getc(d->from), v = digit(c);

        if (isspace(c)) continue;
        if (v < 0 && !(c == '=' && i > 1)) return c == EOF || c == '<' ? ended(d) : damaged(d, "no base 64");
        pads += c == '=';
        value = value << 6 | (unsigned)(v < 0 ? 0 : v);
        ++i;
    }
    for (int i = 0; i < 3; ++i) d->triple[i] = (unsigned char)(value >> (16 - 8 * i));
    d->left = (size_t)(3 - pads);
    return MF_OK;
}

static int is_base64(const struct decoder *d)
{
    return d->array->coding == MF_BASE64 || d->array->coding == MF_BASE64_ZLIB;
}

/* Bytes as the file holds them, less base 64. */
static int take(struct decoder *d, void *to, size_t n)
{
    unsigned char *out = to;

    if (!is_base64(d)) return fread(to, 1, n, d->from) == n ? MF_OK : ended(d);
    for (size_t filled = 0; n > 0; n -= filled, out += filled) {
        if (d->left == 0) MF_TRY(next_triple(d));
        filled = n < d->left ? n : d->left;
        memcpy(out, d->triple, filled);
        d->left -= filled;
        memmove(d->triple, d->triple + filled, d->left);
    }
    return MF_OK;
}

/* One of VTK's sizes. */
static int take_size(struct decoder *d, uint64_t *value)
{
    unsigned char bytes[8];
    const size_t n = d->array->wide ? 8 : 4;

    MF_TRY(take(d, bytes, n));
    if (d->array->swap) mf_swap_bytes(bytes, 1, n);
    *value = 0;
    memcpy(value, bytes, n); /* little-endian machines */
    return MF_OK;
}

/* -- blocks -- */

static size_t bytes_of(const struct mf_array *a) { return a->shape[0] * mf_array_row(a) * a->size; }

static int check_blocks(const struct decoder *d)
{
    const uint64_t last = d->last_bytes ? d->last_bytes : d->block_bytes;

    if (d->blocks == 0 || d->blocks > d->array->bytes / 4 || d->block_bytes == 0 || d->block_bytes > BLOCK_MAX ||
        d->last_bytes > d->block_bytes || (d->blocks - 1) * d->block_bytes + last != bytes_of(d->array))
        return damaged(d, "its blocks do not add up to its extents");
    return MF_OK;
}

static int open_blocks(struct decoder *d)
{
    MF_TRY(take_size(d, &d->blocks));
    MF_TRY(take_size(d, &d->block_bytes));
    MF_TRY(take_size(d, &d->last_bytes));
    MF_TRY(check_blocks(d));
    d->packed_bytes = malloc(d->blocks * sizeof *d->packed_bytes);
    d->block = malloc(d->block_bytes);
    if (!d->packed_bytes || !d->block) return mf_fail(MF_MEMORY, "no memory to read '%s'", d->array->path);
    for (uint64_t i = 0; i < d->blocks; ++i) MF_TRY(take_size(d, &d->packed_bytes[i]));
    d->left = 0; /* what follows is a text of its own */
    return MF_OK;
}

static int next_block(struct decoder *d)
{
    const uint64_t n = d->packed_bytes[d->next];
    const int is_last = ++d->next == d->blocks;
    uLongf got = is_last && d->last_bytes ? (uLongf)d->last_bytes : (uLongf)d->block_bytes;
    const uLongf want = got;
    unsigned char *packed = n <= d->array->bytes ? malloc(n + 1) : NULL;
    int rc = packed ? take(d, packed, n) : damaged(d, "a block is larger than the file");

    if (rc == MF_OK && (uncompress(d->block, &got, packed, (uLong)n) != Z_OK || got != want))
        rc = damaged(d, "a block cannot be unpacked");
    free(packed);
    d->block_at = 0;
    d->block_size = want;
    return rc;
}

static int from_blocks(struct decoder *d, char *to, size_t n)
{
    for (size_t now; n > 0; n -= now, to += now) {
        if (d->block_at == d->block_size) MF_TRY(d->next < d->blocks ? next_block(d) : ended(d));
        now = d->block_size - d->block_at < n ? d->block_size - d->block_at : n;
        memcpy(to, d->block + d->block_at, now);
        d->block_at += now;
    }
    return MF_OK;
}

/* -- gzip -- */

static int open_gzip(struct decoder *d)
{
    d->in = malloc(PIECE);
    if (!d->in || inflateInit2(&d->stream, 16 + MAX_WBITS) != Z_OK)
        return mf_fail(MF_MEMORY, "no memory to read '%s'", d->array->path);
    return MF_OK;
}

/* Is there more of the file? */
static int has_input(struct decoder *d)
{
    if (d->stream.avail_in > 0) return 1;
    d->stream.next_in = d->in;
    d->stream.avail_in = (uInt)fread(d->in, 1, PIECE, d->from);
    return d->stream.avail_in > 0;
}

static int from_gzip(struct decoder *d, char *to, size_t n)
{
    d->stream.next_out = (unsigned char *)to;
    d->stream.avail_out = (uInt)n;
    while (d->stream.avail_out > 0) {
        int state;

        if (!has_input(d)) return ended(d);
        state = inflate(&d->stream, Z_NO_FLUSH);
        if (state == Z_STREAM_END && d->stream.avail_out > 0 && inflateReset(&d->stream) == Z_OK)
            continue; /* a member */
        if (state != Z_OK && state != Z_STREAM_END) return damaged(d, "it cannot be unpacked");
    }
    return MF_OK;
}

/* Behind the last value stands its checksum, and no other value. */
static int end_gzip(struct decoder *d)
{
    unsigned char more;
    int state;

    for (;;) {
        d->stream.next_out = &more;
        d->stream.avail_out = 1;
        state = inflate(&d->stream, Z_NO_FLUSH);
        if (d->stream.avail_out == 0) return damaged(d, "it holds more values than its extents");
        if (state == Z_STREAM_END) {
            if (!has_input(d) || d->stream.next_in[0] != 0x1f || inflateReset(&d->stream) != Z_OK) return MF_OK;
        } else if (state != Z_OK && state != Z_BUF_ERROR) {
            return damaged(d, "it cannot be unpacked");
        } else if (!has_input(d)) {
            return ended(d);
        }
    }
}

/* -- text -- */

static int store_real(const struct mf_array *a, const char *token, char *to)
{
    char *end;
    const double real = strtod(token, &end);
    const float single = (float)real;

    memcpy(to, a->size == 4 ? (const void *)&single : (const void *)&real, a->size);
    return *end == '\0';
}

/* Only what its type can hold. */
static int store_whole(const struct mf_array *a, const char *token, char *to)
{
    const int spare = 64 - 8 * (int)a->size;
    char *end;

    errno = 0;
    if (a->kind == 'i') {
        const long long whole = strtoll(token, &end, 10);

        memcpy(to, &whole, a->size); /* little-endian machines */
        return *end == '\0' && errno == 0 && whole >= INT64_MIN >> spare && whole <= INT64_MAX >> spare;
    } else {
        const unsigned long long whole = strtoull(token, &end, 10);

        memcpy(to, &whole, a->size);
        return *end == '\0' && errno == 0 && whole <= UINT64_MAX >> spare && (*token != '-' || whole == 0);
    }
}

static int take_token(struct decoder *d, char *to)
{
    char token[TOKEN];
    size_t n = 0;
    int c;

    while (isspace(c = getc(d->from)) || c == ',') {}
    for (; c != EOF && c != '<' && c != ',' && !isspace(c) && n < TOKEN - 1; c = getc(d->from)) token[n++] = (char)c;
    if (n == TOKEN - 1) return damaged(d, "a number among its values is too long");
    if (c == '<') (void)ungetc(c, d->from);
    token[n] = '\0';
    if (n == 0) return ended(d);
    if (d->array->kind == 'f' ? store_real(d->array, token, to) : store_whole(d->array, token, to)) return MF_OK;
    return damaged(d, "one of its values is not a number of its type");
}

static int from_text(struct decoder *d, char *to, size_t n)
{
    for (size_t k = 0; k < n; k += d->array->size) MF_TRY(take_token(d, to + k));
    return MF_OK;
}

static int end_text(struct decoder *d)
{
    int c;

    while (isspace(c = getc(d->from)) || c == ',') {}
    return c == EOF || c == '<' ? MF_OK : damaged(d, "it holds more values than its extents");
}

/* -- all -- */

/* Checks the size before uncompressed values in base 64. */
static int check_size(struct decoder *d)
{
    uint64_t bytes;

    MF_TRY(take_size(d, &bytes));
    if (bytes == bytes_of(d->array)) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is damaged: it has %llu bytes of values, and its extents need %zu",
                   mf_array_file(d->array), (unsigned long long)bytes, bytes_of(d->array));
}

static int open_decoder(struct decoder *d)
{
    d->from = fopen(mf_array_file(d->array), "rb");
    if (!d->from || fseeko(d->from, (off_t)d->array->offset, SEEK_SET) != 0)
        return mf_fail(MF_INPUT, "cannot open '%s': %s", mf_array_file(d->array), strerror(errno));
    switch (d->array->coding) {
    case MF_GZIP: return open_gzip(d);
    case MF_BASE64: return check_size(d);
    case MF_ZLIB:
    case MF_BASE64_ZLIB: return open_blocks(d);
    default: return MF_OK;
    }
}

static void close_decoder(struct decoder *d)
{
    if (d->from) (void)fclose(d->from);
    if (d->in) (void)inflateEnd(&d->stream);
    free(d->in);
    free(d->packed_bytes);
    free(d->block);
}

/* The next n bytes of values, native. */
static int unpack(struct decoder *d, char *to, size_t n)
{
    switch (d->array->coding) {
    case MF_ASCII: return from_text(d, to, n);
    case MF_GZIP: return from_gzip(d, to, n);
    case MF_ZLIB:
    case MF_BASE64_ZLIB: return from_blocks(d, to, n);
    default: return take(d, to, n);
    }
}

static int give(struct decoder *d, char *to, size_t n)
{
    const struct mf_array *a = d->array;
    const int rc = unpack(d, to, n);

    d->stream.next_out = NULL; /* what the caller has may be gone when the next is asked for */
    if (rc == MF_OK && a->swap && a->coding != MF_ASCII) mf_swap_bytes(to, n / a->size, a->size);
    return rc;
}

/* Behind the last value. In other codings a size before the values says all. */
static int end_values(struct decoder *d)
{
    if (d->array->coding == MF_GZIP) return end_gzip(d);
    return d->array->coding == MF_ASCII ? end_text(d) : MF_OK;
}

static int pass(struct decoder *d, size_t bytes, FILE *to)
{
    char piece[1 << 13];

    for (size_t n; bytes > 0; bytes -= n) {
        n = bytes < sizeof piece ? bytes : sizeof piece;
        MF_TRY(give(d, piece, n));
        if (to) MF_TRY(mf_guard_send(to, piece, n));
    }
    return MF_OK;
}

int mf_decode_send(const struct mf_array *array, size_t first, size_t count, FILE *to)
{
    const size_t row = mf_array_row(array) * array->size;
    struct decoder d = {.array = array};
    int rc = open_decoder(&d);

    if (rc == MF_OK) rc = pass(&d, first * row, NULL);
    if (rc == MF_OK) rc = pass(&d, count * row, to);
    if (rc == MF_OK && first + count == array->shape[0]) rc = end_values(&d);
    close_decoder(&d);
    return rc;
}

int mf_decode(const struct mf_array *array, void *to)
{
    struct decoder d = {.array = array};
    int rc = open_decoder(&d);

    if (rc == MF_OK) rc = give(&d, to, bytes_of(array));
    if (rc == MF_OK) rc = end_values(&d);
    close_decoder(&d);
    return rc;
}
