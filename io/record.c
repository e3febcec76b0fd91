/* See record.h. */
#include "io/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/seal.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"

static const char MAGIC[] = "MFVOLU01";

/* Numbers are little-endian (seal.c sees to it). */
struct record {
    char magic[8];
    uint64_t at; /* where it stands itself */
    uint64_t offset, shape[3];
    double spacing[3];
    int64_t label[MF_PHASES_MAX];
    char name[MF_PHASES_MAX][MF_NAME_TEXT];
    char unit[MF_UNIT_TEXT];
    uint32_t ndim, phases, zero, crc; /* CRC-32C of all before it */
};
_Static_assert(sizeof(struct record) == 2424, "a record has 2424 bytes, no gaps");

static uint32_t crc_of(const struct record *r) { return mf_crc32c(0, r, offsetof(struct record, crc)); }

static void fill(struct record *r, const struct mf_micro *m)
{
    memcpy(r->magic, MAGIC, sizeof r->magic);
    r->ndim = (uint32_t)m->ndim;
    r->phases = (uint32_t)m->phases;
    for (int i = 0; i < m->ndim; ++i) r->shape[i] = m->slab.dims[3 - m->ndim + i];
    memcpy(r->spacing, m->spacing, sizeof r->spacing);
    if (m->ndim == 2) r->spacing[0] = 1;
    snprintf(r->unit, sizeof r->unit, "%s", m->unit);
    for (int p = 0; p < m->phases; ++p) {
        r->label[p] = m->label[p];
        snprintf(r->name[p], sizeof r->name[p], "%s", m->name[p]);
    }
}

int mf_record_write(const char *temporary, const char *path, const struct mf_micro *micro, uint64_t offset)
{
    struct record r = {.offset = offset};
    int file = mf_open(temporary, O_WRONLY), rc;
    struct stat is;

    if (file < 0 || fstat(file, &is) != 0) {
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    } else {
        fill(&r, micro);
        r.at = (uint64_t)is.st_size;
        r.crc = crc_of(&r);
        rc = mf_write_at(file, path, &r, sizeof r, (size_t)r.at);
    }
    if (file >= 0 && close(file) != 0 && rc == MF_OK)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return rc;
}

static int is_record(const struct record *r, uint64_t at)
{
    return memcmp(r->magic, MAGIC, sizeof r->magic) == 0 && r->at == at && r->crc == crc_of(r) &&
           (r->ndim == 2 || r->ndim == 3) && r->phases >= 1 && r->phases <= MF_PHASES_MAX && r->offset < at;
}

static void take(struct mf_array *a, const struct record *r)
{
    a->kind = 'u';
    a->size = 1;
    a->ndim = (int)r->ndim;
    for (uint32_t i = 0; i < r->ndim; ++i) a->shape[i] = (size_t)r->shape[i];
    a->offset = (size_t)r->offset;
    a->coding = MF_PLAIN;
    snprintf(a->dataset, sizeof a->dataset, "%s", MF_MICRO_DATASET);
    a->ours = a->own = a->scaled = a->recalled = 1;
    a->phases = (int)r->phases;
    memcpy(a->label, r->label, sizeof a->label);
    memcpy(a->name, r->name, sizeof a->name);
    memcpy(a->spacing, r->spacing, sizeof a->spacing);
    memcpy(a->unit, r->unit, sizeof a->unit);
}

int mf_record_read(struct mf_array *array)
{
    struct record r;
    uint64_t bytes;
    int file = -1, is = mf_seal_bytes(array->path, &bytes, &array->seal) == MF_OK && bytes > sizeof r;

    if (is) file = mf_open(array->path, O_RDONLY);
    is = file >= 0 && mf_read_at(file, array->path, &r, sizeof r, bytes - sizeof r) == MF_OK &&
         is_record(&r, bytes - sizeof r);
    if (file >= 0) close(file);
    mf_err_clear();
    if (is) take(array, &r);
    return is;
}
