/* See npz.h. */
#include "io/npz.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/npy.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { DEFLATED = 8, VERSION = 20, DATE = 0x21 /* the first day that it knows, 1980-01-01 */, MEMBERS = 65535 };
enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50, RAW = -15 /* deflate without a header */ };

struct mf_npz {
    char *path;
    FILE *file;
    size_t at, members;
    char *list; /* entries of the central directory */
    size_t list_bytes;
    FILE *entries;
};

static void put2(FILE *to, unsigned value)
{
    fputc((int)(value & 255), to);
    fputc((int)(value >> 8 & 255), to);
}

static void put4(FILE *to, uint32_t value)
{
    put2(to, value & 65535);
    put2(to, value >> 16);
}

static int fail(const struct mf_npz *z)
{
    return mf_fail(MF_OUTPUT, "cannot write '%s': %s", z->path, strerror(errno));
}

int mf_npz_create(const char *path, struct mf_npz **npz)
{
    struct mf_npz *z = MF_MUST(calloc(1, sizeof *z), "a file");
    int rc = MF_OK;

    z->path = MF_MUST(strdup(path), "a file name");
    z->file = fopen(path, "wb");
    if (!z->file) {
        rc = fail(z);
        free(z->path);
        free(z);
        return rc;
    }
    z->entries = MF_MUST(open_memstream(&z->list, &z->list_bytes), "a directory");
    *npz = z;
    return MF_OK;
}

/* Facts of one array in the file. */
struct member {
    const char *name; /* with its ending */
    uint32_t crc, packed, bytes;
};

/* Both headers of a member have these. */
static void put_facts(FILE *to, const struct member *m)
{
    put2(to, VERSION);
    put2(to, 0);
    put2(to, DEFLATED);
    put2(to, 0);
    put2(to, DATE);
    put4(to, m->crc);
    put4(to, m->packed);
    put4(to, m->bytes);
    put2(to, (unsigned)strlen(m->name));
    put2(to, 0);
}

static void put_entry(struct mf_npz *z, const struct member *m)
{
    put4(z->entries, CENTRAL);
    put2(z->entries, VERSION);
    put_facts(z->entries, m);
    put2(z->entries, 0); /* bytes of a comment, number of the disk, two kinds of attributes */
    put2(z->entries, 0);
    put2(z->entries, 0);
    put4(z->entries, 0);
    put4(z->entries, (uint32_t)z->at);
    fputs(m->name, z->entries);
}

/* Deflates @p bytes to *got; the caller frees *to. */
static int pack(const unsigned char *from, size_t bytes, unsigned char **to, uint32_t *got)
{
    z_stream s = {.next_in = (unsigned char *)(uintptr_t)from, .avail_in = (uInt)bytes};
    size_t most;

    if (deflateInit2(&s, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RAW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return mf_fail(MF_MEMORY, "no memory to compress");
    most = deflateBound(&s, (uLong)bytes);
    *to = malloc(most);
    if (!*to) {
        (void)deflateEnd(&s);
        return mf_fail(MF_MEMORY, "no memory for a compressed array of %zu bytes", bytes);
    }
    s.next_out = *to;
    s.avail_out = (uInt)most;
    MF_ASSERT(deflate(&s, Z_FINISH) == Z_STREAM_END);
    *got = (uint32_t)s.total_out;
    (void)deflateEnd(&s);
    return MF_OK;
}

static int put_member(struct mf_npz *z, struct member *m, const unsigned char *bytes)
{
    unsigned char *packed;

    m->crc = (uint32_t)crc32(0, bytes, m->bytes);
    MF_TRY(pack(bytes, m->bytes, &packed, &m->packed));
    put_entry(z, m);
    put4(z->file, LOCAL);
    put_facts(z->file, m);
    fputs(m->name, z->file);
    (void)!fwrite(packed, 1, m->packed, z->file);
    free(packed);
    z->at += 30 + strlen(m->name) + m->packed;
    ++z->members;
    return ferror(z->file) ? fail(z) : MF_OK;
}

int mf_npz_put(struct mf_npz *z, const char *name, int ndim, const size_t *extents, const float *values)
{
    char head[MF_NPY_HEADER], *file;
    const size_t header = mf_npy_header("<f4", ndim, extents, MF_AXES_UNSAID, head);
    size_t bytes = sizeof *values;
    struct member m = {0};
    unsigned char *all;
    int rc;

    for (int i = 0; i < ndim; ++i)
        if (__builtin_mul_overflow(bytes, extents[i], &bytes)) bytes = UINT32_MAX;
    if (bytes >= UINT32_MAX - 2 * MF_NPY_HEADER || z->at + bytes >= UINT32_MAX || z->members == MEMBERS)
        return mf_fail(MF_OUTPUT, "'%s' would be larger than a zip can be (4 GiB)", z->path);
    all = malloc(header + bytes);
    if (!all) return mf_fail(MF_MEMORY, "no memory for an array of '%s' (%zu bytes)", z->path, bytes);
    memcpy(all, head, header);
    memcpy(all + header, values, bytes);
    m.bytes = (uint32_t)(header + bytes);
    m.name = file = mf_format("%s.npy", name);
    rc = put_member(z, &m, all);
    free(file);
    free(all);
    return rc;
}

/* The central directory. */
static void put_end(struct mf_npz *z)
{
    (void)!fwrite(z->list, 1, z->list_bytes, z->file);
    put4(z->file, END);
    put2(z->file, 0); /* numbers of two disks */
    put2(z->file, 0);
    put2(z->file, (unsigned)z->members);
    put2(z->file, (unsigned)z->members);
    put4(z->file, (uint32_t)z->list_bytes);
    put4(z->file, (uint32_t)z->at);
    put2(z->file, 0);
}

int mf_npz_close(struct mf_npz *z, int code)
{
    int bad;

    MF_ASSERT(fclose(z->entries) == 0);
    if (code == MF_OK) put_end(z);
    bad = ferror(z->file);
    if ((fclose(z->file) != 0 || bad) && code == MF_OK) code = fail(z);
    if (code != MF_OK) (void)unlink(z->path);
    free(z->list);
    free(z->path);
    free(z);
    return code;
}
