/* See same_file.h. */
#include "io/same_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/lent.h"
#include "io/seal.h"
#include "src/base/crc.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { BLOCK = MF_SEAL_BLOCK };

/* Facts of a file in a file system. Equal numbers on two nodes mean one shared file. Nobody can set the time of the
 * last change, which counts nanoseconds. */
enum { SIZE, INODE, MODIFIED, MODIFIED_PART, CHANGED, CHANGED_PART, FACTS };

enum { NO_FILE = -1 }; /* its size */

static void look(const char *path, int64_t facts[FACTS])
{
    struct stat is;

    memset(facts, 0, FACTS * sizeof *facts);
    facts[SIZE] = NO_FILE;
    if (stat(path, &is) != 0) return;
    facts[SIZE] = (int64_t)is.st_size;
    facts[INODE] = (int64_t)is.st_ino;
    facts[MODIFIED] = (int64_t)is.st_mtim.tv_sec;
    facts[MODIFIED_PART] = (int64_t)is.st_mtim.tv_nsec;
    facts[CHANGED] = (int64_t)is.st_ctim.tv_sec;
    facts[CHANGED_PART] = (int64_t)is.st_ctim.tv_nsec;
}

/* One of the copies: its lowest rank, and the ranks that see it. */
struct copy {
    int first, ranks, own; /* own: how many of them come before this rank */
};

static int share(const int64_t *all, int a, int b)
{
    return memcmp(all + (size_t)a * FACTS, all + (size_t)b * FACTS, FACTS * sizeof *all) == 0;
}

static struct copy copy_of(const struct mf_comm *comm, const int64_t *all)
{
    struct copy c = {comm->rank, 0, 0};

    for (int r = comm->size - 1; r >= 0; --r) {
        if (!share(all, r, comm->rank)) continue;
        c.first = r;
        ++c.ranks;
        c.own += r < comm->rank;
    }
    return c;
}

static int refuse(const char *path, int rank, const int64_t *all)
{
    const int one_lacks = (all[SIZE] == NO_FILE) != (all[(size_t)rank * FACTS + SIZE] == NO_FILE);
    const int lacks = all[SIZE] == NO_FILE ? 0 : rank;

    if (one_lacks)
        return mf_fail(MF_INPUT,
                       "rank %d sees no '%s', and rank %d does; try: a folder that all nodes share, or copies", lacks,
                       path, lacks ? 0 : rank);
    return mf_fail(
        MF_INPUT, "ranks 0 and %d see different files called '%s'; try: a folder that all nodes share, or equal copies",
        rank, path);
}

/* This rank's share of the sum over all blocks. A block's number is part of its checksum, so places count. */
static int add_blocks(const char *path, int64_t size, const struct copy *c, int64_t *sum)
{
    const struct mf_span own = mf_cut(((size_t)size + BLOCK - 1) / BLOCK, (size_t)c->ranks, (size_t)c->own);
    char *buffer = MF_MUST(malloc(BLOCK), "a block of a file");
    int file = -1, rc = mf_open_plain(path, O_RDONLY, &file);

    for (uint64_t i = own.first; i < own.first + own.count && rc == MF_OK; ++i) {
        const uint64_t at = i * BLOCK, n = (uint64_t)size - at < BLOCK ? (uint64_t)size - at : BLOCK;

        mf_comm_alive();
        rc = mf_read_at(file, path, buffer, (size_t)n, at);
        if (rc == MF_OK) *sum += mf_crc32c(mf_crc32c(0, &i, sizeof i), buffer, (size_t)n);
    }
    if (file >= 0) close(file);
    free(buffer);
    return rc;
}

/* Local: this rank's part of its copy's checksum. */
static int add(const char *path, int64_t size, const struct copy *c, int64_t *sum)
{
    uint32_t sealed;

    if (mf_seal_sum(path, &sealed) != MF_OK) {
        mf_err_clear();
        return add_blocks(path, size, c, sum);
    }
    if (c->own == 0) *sum += sealed;
    return MF_OK;
}

/* Collective: the copies have one size. Checksums stand at the lowest rank of their copy. */
static int compare(const struct mf_comm *comm, const char *path, const int64_t *all)
{
    const struct copy c = copy_of(comm, all);
    int64_t *sum = MF_MUST(calloc((size_t)comm->size, sizeof *sum), "checksums of files");
    int rc = mf_agree(comm, add(path, all[SIZE], &c, &sum[c.first]));

    if (rc == MF_OK) mf_comm_sum_int(comm, (size_t)comm->size, sum);
    for (int r = 1; r < comm->size && rc == MF_OK; ++r)
        for (int k = 0; k <= r && rc == MF_OK; ++k)
            if (share(all, k, r)) {
                if (sum[k] != sum[0]) rc = refuse(path, r, all);
                break;
            }
    free(sum);
    return rc;
}

int mf_same_file(const struct mf_comm *comm, const char *path)
{
    int64_t facts[FACTS], *all;
    int rc, one = 1;

    if (comm->size == 1 || mf_lent_find(path)) return MF_OK;
    look(path, facts);
    all = MF_MUST(calloc((size_t)comm->size * FACTS, sizeof *all), "facts of files");
    mf_comm_gather_int(comm, FACTS, facts, all);
    rc = MF_OK;
    for (int r = 1; r < comm->size && rc == MF_OK; ++r) {
        one = one && share(all, 0, r);
        if (all[(size_t)r * FACTS + SIZE] != all[SIZE]) rc = refuse(path, r, all);
    }
    if (rc == MF_OK && !one) rc = compare(comm, path, all);
    free(all);
    return rc;
}
