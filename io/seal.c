/* See seal.h. */
#include "io/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "mpi/comm.h"
#include "src/base/crc.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { BLOCK = MF_SEAL_BLOCK, FOOTER = 32 };
static const char MAGIC[] = "MFSEAL01";

struct footer {
    char magic[8];
    uint64_t bytes;
    uint32_t blocks, block, mark, crc;
};
_Static_assert(sizeof(struct footer) == FOOTER, "a footer has 32 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "seals are little-endian");

static uint64_t blocks_of(uint64_t bytes) { return (bytes + BLOCK - 1) / BLOCK; }

/* A checksum that is known, in sums over ranks of which one knows it; 0: nobody does. */
#define KNOWN ((int64_t)1 << 32)

int mf_seal_see_begin(struct mf_seal_seen *seen, uint64_t bytes)
{
    *seen = (struct mf_seal_seen){.blocks = (size_t)blocks_of(bytes)};
    return MF_ROOM(seen->crc_of, seen->blocks + 1, "%zu checksums", seen->blocks);
}

void mf_seal_see(struct mf_seal_seen *seen, const void *from, size_t bytes, uint64_t offset, struct mf_crc_look *look)
{
    const char *at = from;

    if (seen->at != offset) seen->begun = 0;
    for (; bytes; seen->at = offset) {
        size_t left = BLOCK - (size_t)(offset % BLOCK), n = bytes < left ? bytes : left;

        if (left == BLOCK) {
            seen->begun = 1;
            seen->crc = 0;
        }
        if (look)
            seen->crc = mf_crc32c_look(seen->crc, at, n, look);
        else if (seen->begun)
            seen->crc = mf_crc32c(seen->crc, at, n);
        if (seen->begun && n == left && offset / BLOCK < seen->blocks) seen->crc_of[offset / BLOCK] = KNOWN + seen->crc;
        at += n;
        offset += n;
        bytes -= n;
    }
}

void mf_seal_see_end(struct mf_seal_seen *seen)
{
    free(seen->crc_of);
    seen->crc_of = NULL;
}

static int read_block(int file, const char *path, uint64_t bytes, size_t i, char *buffer, int64_t *crc)
{
    uint64_t offset = (uint64_t)i * BLOCK;
    size_t n = bytes - offset < BLOCK ? (size_t)(bytes - offset) : BLOCK;

    MF_TRY(mf_read_at(file, path, buffer, n, offset));
    *crc = KNOWN + mf_crc32c(0, buffer, n);
    return MF_OK;
}

/* Checksums of this rank's share of the blocks that are not known, at their places in @p crc [n]. Local. */
static int own_blocks(const struct mf_comm *comm, int file, const char *path, uint64_t bytes, const int64_t *known,
                      int64_t *crc)
{
    size_t n = (size_t)blocks_of(bytes), missing = 0, k = 0;
    char *buffer = malloc(BLOCK);
    struct mf_span share;
    int rc = buffer ? MF_OK : mf_fail(MF_MEMORY, "no memory to read '%s'", path);

    for (size_t i = 0; i < n; ++i) missing += !known[i];
    share = mf_cut(missing, (size_t)comm->size, (size_t)comm->rank);
    for (size_t i = 0; i < n && rc == MF_OK; ++i) {
        if (known[i]) continue;
        if (k >= share.first && k < share.first + share.count) rc = read_block(file, path, bytes, i, buffer, &crc[i]);
        ++k;
    }
    free(buffer);
    return rc;
}

/* The checksums of all blocks on all ranks; heap. @p seen: on all ranks or on none. Collective. */
static int all_blocks(const struct mf_comm *comm, int file, const char *path, uint64_t bytes,
                      const struct mf_seal_seen *seen, uint32_t **crc)
{
    size_t n = (size_t)blocks_of(bytes);
    int64_t *known = mf_room(n + 1, sizeof *known, "%zu checksums", n),
            *sum = known ? mf_room(n + 1, sizeof *sum, "%zu checksums", n) : NULL;
    uint32_t *all = sum ? mf_room(n + 1, sizeof *all, "%zu checksums", n) : NULL;
    int rc = mf_agree(comm, all ? MF_OK : MF_MEMORY);

    *crc = NULL;
    if (rc == MF_OK && seen) {
        memcpy(known, seen->crc_of, (seen->blocks < n ? seen->blocks : n) * sizeof *known);
        mf_comm_sum_int(comm, n, known);
    }
    if (rc == MF_OK) rc = mf_agree(comm, own_blocks(comm, file, path, bytes, known, sum));
    if (rc == MF_OK) {
        mf_comm_sum_int(comm, n, sum);
        for (size_t i = 0; i < n; ++i) all[i] = (uint32_t)(known[i] + sum[i]);
        *crc = all;
        all = NULL;
    }
    free(all);
    free(known);
    free(sum);
    return rc;
}

static uint32_t crc_of(const uint32_t *crc, const struct footer *footer)
{
    uint32_t sum = mf_crc32c(0, crc, footer->blocks * sizeof *crc);

    return mf_crc32c(sum, footer, offsetof(struct footer, crc));
}

static int size_of(int file, const char *path, uint64_t *bytes)
{
    struct stat is;

    if (fstat(file, &is) != 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    *bytes = (uint64_t)is.st_size;
    return MF_OK;
}

static int open_file(const char *path, int flags, uint64_t *bytes, int *file)
{
    MF_TRY(mf_open_plain(path, flags, file));
    return size_of(*file, path, bytes);
}

static int append(int file, const char *name, uint64_t bytes, uint32_t mark, const uint32_t *crc)
{
    struct footer footer = {.bytes = bytes, .blocks = (uint32_t)blocks_of(bytes), .block = BLOCK, .mark = mark};

    memcpy(footer.magic, MAGIC, sizeof footer.magic);
    footer.crc = crc_of(crc, &footer);
    MF_TRY(mf_write_at(file, name, crc, footer.blocks * sizeof *crc, bytes));
    return mf_write_at(file, name, &footer, sizeof footer, bytes + footer.blocks * sizeof *crc);
}

int mf_seal_write(const struct mf_comm *comm, const char *path, const char *name, uint32_t mark,
                  const struct mf_seal_seen *seen)
{
    uint32_t *crc = NULL;
    uint64_t bytes = 0;
    int file = -1, rc = mf_agree(comm, open_file(path, comm->rank == 0 ? O_RDWR : O_RDONLY, &bytes, &file));

    mf_comm_bcast(comm, 0, &bytes, sizeof bytes); /* a network file system may show others an older length */
    if (rc == MF_OK) rc = all_blocks(comm, file, name, bytes, seen, &crc);
    if (rc == MF_OK) rc = mf_agree(comm, comm->rank == 0 ? append(file, name, bytes, mark, crc) : MF_OK);
    if (file >= 0) close(file);
    free(crc);
    return rc == MF_INPUT ? mf_fail(MF_OUTPUT, "cannot seal '%s': it cannot be read back", name) : rc;
}

static int is_sealed(const struct footer *footer) { return memcmp(footer->magic, MAGIC, sizeof footer->magic) == 0; }

/* The seal's list and footer; heap. Refuses where there is none that holds together. */
static int read_seal(int file, const char *path, uint64_t size, struct footer *footer, uint32_t **crc)
{
    uint64_t list;

    *crc = NULL;
    if (size < FOOTER) return mf_fail(MF_INPUT, "'%s' is damaged: it ends without its seal", path);
    MF_TRY(mf_read_at(file, path, footer, FOOTER, size - FOOTER));
    if (!is_sealed(footer))
        return mf_fail(MF_INPUT, "'%s' ends without checksums: it was cut short, or another program has changed it",
                       path);
    list = (uint64_t)footer->blocks * sizeof **crc;
    if (footer->block != BLOCK || footer->bytes != size - FOOTER - list || footer->blocks != blocks_of(footer->bytes))
        return mf_fail(MF_INPUT, "'%s' is damaged: its seal belongs to a file of another size", path);
    *crc = mf_room(list + 1, 1, "the seal of '%.300s'", path);
    if (!*crc) return MF_MEMORY;
    MF_TRY(mf_read_at(file, path, *crc, (size_t)list, footer->bytes));
    if (crc_of(*crc, footer) != footer->crc) return mf_fail(MF_INPUT, "'%s' is damaged: its seal is broken", path);
    return MF_OK;
}

static int read_footer(const char *path, struct footer *footer)
{
    uint32_t *crc = NULL;
    uint64_t size = 0;
    int file, rc = open_file(path, O_RDONLY, &size, &file);

    if (rc == MF_OK) rc = read_seal(file, path, size, footer, &crc);
    if (file >= 0) close(file);
    free(crc);
    return rc;
}

int mf_seal_mark(const char *path, uint32_t *mark)
{
    struct footer footer;

    MF_TRY(read_footer(path, &footer));
    *mark = footer.mark;
    return MF_OK;
}

int mf_seal_sum(const char *path, uint32_t *sum)
{
    struct footer footer;

    MF_TRY(read_footer(path, &footer));
    *sum = footer.crc;
    return MF_OK;
}

static int compare(const char *path, const struct footer *footer, const uint32_t *sealed, const uint32_t *found)
{
    uint64_t bad = 0, first = 0;

    for (uint64_t i = footer->blocks; i-- > 0;)
        if (sealed[i] != found[i]) {
            ++bad;
            first = i;
        }
    if (bad == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is damaged: %llu of %u block%s differ%s from what was written, the first begins at byte %llu",
                   path, (unsigned long long)bad, footer->blocks, MF_S(footer->blocks), bad == 1 ? "s" : "",
                   (unsigned long long)(first * BLOCK));
}

/* Do all ranks see one file? */
static int same_everywhere(const struct mf_comm *comm, const char *path, const struct footer *footer)
{
    int64_t ends[4] = {(int64_t)footer->bytes, -(int64_t)footer->bytes, footer->crc, -(int64_t)footer->crc};

    mf_comm_max_int(comm, 4, ends);
    if (ends[0] == -ends[1] && ends[2] == -ends[3]) return MF_OK;
    return mf_fail(MF_INPUT, "the ranks see different files called '%s'", path);
}

static int check(const struct mf_comm *comm, const char *path, const struct mf_seal_seen *seen, struct footer *footer)
{
    uint32_t *said = NULL, *found = NULL;
    uint64_t size = 0;
    int file = -1, rc = open_file(path, O_RDONLY, &size, &file);

    if (rc == MF_OK) rc = read_seal(file, path, size, footer, &said);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) rc = same_everywhere(comm, path, footer);
    if (rc == MF_OK) rc = all_blocks(comm, file, path, footer->bytes, seen, &found);
    if (rc == MF_OK) rc = mf_agree(comm, compare(path, footer, said, found));
    if (file >= 0) close(file);
    free(said);
    free(found);
    return rc;
}

int mf_seal_check(const struct mf_comm *comm, const char *path, int *sealed)
{
    struct footer footer = {0};
    int rc = check(comm, path, NULL, &footer);

    if (sealed) *sealed = is_sealed(&footer);
    return rc;
}

static int look(const struct mf_comm *comm, const char *path, const struct mf_seal_seen *seen, struct footer *footer,
                enum mf_seal_state *state, char *text)
{
    int rc = check(comm, path, seen, footer);

    *text = '\0';
    *state = MF_SEAL_WHOLE;
    if (rc == MF_OK || rc == MF_MEMORY) return rc;
    *state = is_sealed(footer) ? MF_SEAL_BROKEN : MF_SEAL_NONE;
    snprintf(text, MF_ERR_TEXT, "%s", mf_err_text());
    mf_err_clear();
    return MF_OK;
}

int mf_seal_look(const struct mf_comm *comm, const char *path, enum mf_seal_state *state, char *text)
{
    struct footer footer = {0};

    return look(comm, path, NULL, &footer, state, text);
}

/* Blocks outside of [from, to), up to the first that differs. */
static int compare_around(int file, const char *path, const struct footer *footer, const uint32_t *sealed,
                          uint64_t from, uint64_t to, uint64_t bad[2])
{
    char *buffer = malloc(BLOCK);
    int rc = buffer ? MF_OK : mf_fail(MF_MEMORY, "no memory to read '%s'", path);

    for (uint64_t i = 0; i < footer->blocks && rc == MF_OK && !bad[1]; ++i) {
        const uint64_t first = i * BLOCK, end = first + BLOCK < footer->bytes ? first + BLOCK : footer->bytes;
        int64_t found = 0;

        if (first >= from && end <= to) continue;
        rc = read_block(file, path, footer->bytes, i, buffer, &found);
        if (rc != MF_OK || found == KNOWN + sealed[i]) continue;
        bad[0] = first;
        bad[1] = end;
    }
    free(buffer);
    return rc;
}

int mf_seal_around(const char *path, uint64_t from, uint64_t to, int *sealed, uint64_t bad[2])
{
    struct footer footer = {0};
    uint32_t *crc = NULL;
    uint64_t size = 0;
    int file, rc = open_file(path, O_RDONLY, &size, &file);

    bad[0] = bad[1] = 0;
    if (rc == MF_OK) rc = read_seal(file, path, size, &footer, &crc);
    *sealed = is_sealed(&footer);
    if (rc == MF_OK) rc = compare_around(file, path, &footer, crc, from, to, bad);
    if (file >= 0) close(file);
    free(crc);
    if (rc != MF_INPUT || *sealed) return rc;
    mf_err_clear();
    return MF_OK;
}

int mf_seal_warn(const struct mf_comm *comm, const char *path, int ours, const struct mf_seal_seen *seen)
{
    struct footer footer = {0};
    enum mf_seal_state state;
    char text[MF_ERR_TEXT];

    MF_TRY(look(comm, path, seen, &footer, &state, text));
    if (state == MF_SEAL_BROKEN || (state == MF_SEAL_NONE && ours))
        mf_warn("%.800s; it is used as it is (mesoforge verify '%.200s' checks it)", text, path);
    return MF_OK;
}

int mf_seal_explain(int rc, const char *path)
{
    enum mf_seal_state state;
    char why[MF_ERR_TEXT], text[MF_ERR_TEXT];
    struct mf_comm self;

    if (rc != MF_INPUT) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    mf_comm_self(&self);
    if (mf_seal_look(&self, path, &state, text) != MF_OK || state != MF_SEAL_BROKEN) return mf_fail(rc, "%s", why);
    return mf_fail(rc, "%.400s (mesoforge verify '%.200s' checks it); read as it is: %.400s", text, path, why);
}
