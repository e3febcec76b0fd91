/* See idx.h. zlib reads plain and packed files alike. */
#include "io/idx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "io/decode.h"
#include "mpi/comm.h"
#include "src/base/err.h"

enum { DIMS = 4, PIECE = 1 << 16 };

static const struct type {
    int code;
    char kind;
    size_t size;
} types[] = {{0x08, 'u', 1}, {0x09, 'i', 1}, {0x0b, 'i', 2}, {0x0c, 'i', 4}, {0x0d, 'f', 4}, {0x0e, 'f', 8}};

static const struct type *type_of(int code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (types[i].code == code) return &types[i];
    return NULL;
}

/* Two zero bytes are no mark: pictures of DigitalMicrograph and JPEG 2000 begin so, too. Opening a damaged stream says
 * so; of what cannot be read, as a folder, others say why. */
int mf_idx_is(const char *path)
{
    gzFile from = gzopen(path, "rb");
    unsigned char b[4] = {1};
    const int n = from ? gzread(from, b, sizeof b) : 0;
    int wrong = Z_OK;

    if (from) (void)gzerror(from, &wrong);
    if (from) (void)gzclose(from);
    return (n < 0 && wrong != Z_ERRNO) ||
           (n == sizeof b && b[0] == 0 && b[1] == 0 && type_of(b[2]) && b[3] >= 1 && b[3] <= DIMS);
}

static int damaged(const struct mf_idx *idx, const char *why)
{
    return mf_fail(MF_INPUT, "'%s' is no sound IDX file: %s", idx->path, why);
}

static size_t header_bytes(const struct mf_idx *idx) { return 4 + 4 * (size_t)idx->ndim; }

static int set_type(struct mf_idx *idx, int code)
{
    const struct type *type = type_of(code);

    if (!type) return damaged(idx, "its magic number names no type");
    idx->kind = type->kind;
    idx->size = type->size;
    return MF_OK;
}

static int read_header(struct mf_idx *idx)
{
    unsigned char b[4 + 4 * DIMS];

    if (gzread(idx->stream, b, 4) != 4) return damaged(idx, "it ends in its magic number");
    if (b[0] || b[1]) return damaged(idx, "its magic number is wrong");
    MF_TRY(set_type(idx, b[2]));
    if (b[3] < 1 || b[3] > DIMS) return damaged(idx, "it has not 1 to 4 axes");
    idx->ndim = b[3];
    if (gzread(idx->stream, b, 4 * (unsigned)idx->ndim) != 4 * idx->ndim) return damaged(idx, "it ends in its header");
    idx->row = idx->size;
    for (int a = 0; a < idx->ndim; ++a) {
        const unsigned char *w = b + 4 * a;

        idx->dims[a] = (size_t)w[0] << 24 | (size_t)w[1] << 16 | (size_t)w[2] << 8 | w[3];
        if (idx->dims[a] == 0) return damaged(idx, "an axis has no extent");
        if (a > 0 && (__builtin_mul_overflow(idx->row, idx->dims[a], &idx->row) || idx->row > (size_t)1 << 31))
            return damaged(idx, "its rows are too large");
    }
    return MF_OK;
}

/* Counts what is behind the header. */
static int check_length(struct mf_idx *idx)
{
    const size_t want = idx->row * idx->dims[0];
    size_t found = 0;
    char piece[PIECE];
    int n;

    while ((n = gzread(idx->stream, piece, PIECE)) > 0 && found <= want) {
        found += (size_t)n;
        mf_comm_alive();
    }
    if (n < 0) return damaged(idx, "it cannot be decompressed");
    if (found == want) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is no sound IDX file: its header says %zu bytes of values, and it has %s%zu",
                   idx->path, want, found > want ? "more than " : "", found > want ? want : found);
}

static int open_stream(struct mf_idx *idx)
{
    idx->stream = gzopen(idx->path, "rb");
    if (!idx->stream) return mf_fail(MF_INPUT, "cannot open '%s': %s", idx->path, strerror(errno));
    (void)gzbuffer(idx->stream, PIECE);
    return MF_OK;
}

/* Whatever a damaged stream seems to hold, it is the stream that is damaged. */
static int explain(const struct mf_idx *idx, int rc)
{
    char why[MF_ERR_TEXT], piece[PIECE];
    int error = Z_OK;

    if (rc == MF_OK || !idx->stream || gzdirect(idx->stream)) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    (void)gzrewind(idx->stream);
    while (gzread(idx->stream, piece, PIECE) > 0) mf_comm_alive();
    (void)gzerror(idx->stream, &error);
    return error == Z_OK ? mf_fail(rc, "%s", why) : damaged(idx, "its gzip stream is damaged or cut short");
}

int mf_idx_open(const char *path, struct mf_idx *idx)
{
    int rc;

    *idx = (struct mf_idx){.path = MF_MUST(strdup(path), "a file name")};
    rc = open_stream(idx);
    if (rc == MF_OK) rc = read_header(idx);
    if (rc == MF_OK) rc = check_length(idx);
    if (rc == MF_OK && gzseek(idx->stream, (z_off_t)header_bytes(idx), SEEK_SET) < 0)
        rc = damaged(idx, "it cannot be read again");
    rc = explain(idx, rc);
    if (rc != MF_OK) mf_idx_close(idx);
    return rc;
}

int mf_idx_read(struct mf_idx *idx, size_t i, void *to)
{
    if (i != idx->at && gzseek(idx->stream, (z_off_t)(header_bytes(idx) + i * idx->row), SEEK_SET) < 0)
        return damaged(idx, "it cannot be read again");
    if (gzread(idx->stream, to, (unsigned)idx->row) != (int)idx->row) return damaged(idx, "it ended while it was read");
    idx->at = i + 1;
    if (idx->size > 1) mf_swap_bytes(to, idx->row / idx->size, idx->size);
    return MF_OK;
}

void mf_idx_close(struct mf_idx *idx)
{
    if (idx->stream) (void)gzclose(idx->stream);
    free(idx->path);
    *idx = (struct mf_idx){0};
}
