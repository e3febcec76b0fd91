/* Ranks that see one file, or equal copies, go on. Ranks whose copies differ in size or in a byte all refuse. */
#include "io/same_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/seal.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { BYTES = (5 << 20) + 321 };

static void put(const char *path, const char *bytes, size_t count)
{
    FILE *to = fopen(path, "wb");

    CHECK(to && fwrite(bytes, 1, count, to) == count);
    if (to) CHECK(fclose(to) == 0);
}

/* Rank r writes a file of its own, in which byte @p place is other on the last rank. Ranks of @p pairs share one with
 * their neighbour. */
static int with_copies(const struct mf_comm *c, char *bytes, size_t place, int cut, int pairs)
{
    const int last = c->rank == c->size - 1, writes = !pairs || c->rank % 2 == 0;
    char path[64];
    int rc;

    snprintf(path, sizeof path, "io_same_%d_%s_%d.bin", c->size, pairs ? "pair" : "own", pairs ? c->rank / 2 : c->rank);
    bytes[place] = (char)(bytes[place] ^ (last && !cut));
    if (writes) put(path, bytes, BYTES - (size_t)(last && cut));
    bytes[place] = (char)(bytes[place] ^ (last && !cut));
    mf_comm_barrier(c);
    rc = mf_same_file(c, path);
    mf_comm_barrier(c);
    if (writes) CHECK(unlink(path) == 0);
    return rc;
}

static void swapped_blocks(const struct mf_comm *c, char *bytes)
{
    char path[64];

    snprintf(path, sizeof path, "io_same_%d_%d.bin", c->size, c->rank);
    memset(bytes, 0, BYTES);
    bytes[c->rank ? 0 : 1 << 20] = 1;
    put(path, bytes, BYTES);
    mf_comm_barrier(c);
    CHECK(mf_same_file(c, path) == (c->size > 1 ? MF_INPUT : MF_OK));
    CHECK(unlink(path) == 0);
}

/* The seal of one rank's copy is of other contents. */
static void sealed(const struct mf_comm *c, char *bytes)
{
    struct mf_comm self;
    char path[64];

    mf_comm_self(&self);
    memset(bytes, 0, BYTES);
    snprintf(path, sizeof path, "io_same_%d_%d.bin", c->size, c->rank);
    for (int other = 0; other < 2; ++other) {
        bytes[BYTES / 2] = (char)(other && c->rank == c->size - 1);
        put(path, bytes, BYTES);
        CHECK(mf_seal_write(&self, path, path, 0, NULL) == MF_OK);
        mf_comm_barrier(c);
        CHECK(mf_same_file(c, path) == (other && c->size > 1 ? MF_INPUT : MF_OK));
        mf_comm_barrier(c);
    }
    CHECK(unlink(path) == 0);
}

int main(int argc, char **argv)
{
    char *bytes = calloc(1, BYTES);
    struct mf_comm c;

    if (!bytes || mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    for (size_t i = 0; i < BYTES; ++i) bytes[i] = (char)(i * i / 7);
    CHECK(mf_same_file(&c, *argv) == MF_OK);
    CHECK(mf_same_file(&c, "io_same_none.bin") == MF_OK);
    CHECK(mf_same_file(&c, c.rank == 0 ? "io_same_none.bin" : *argv) == (c.size > 1 ? MF_INPUT : MF_OK));
    CHECK(c.size == 1 || strstr(mf_err_text(), "rank 0 sees no ") != NULL);
    for (int pairs = 0; pairs < 2 && c.size > 1 + pairs; ++pairs) {
        const int refused = pairs && c.size % 2 == 0 ? MF_OK : MF_INPUT; /* then the last rank writes no file */

        CHECK(with_copies(&c, bytes, 0, 0, pairs) == refused);
        CHECK(with_copies(&c, bytes, BYTES - 1, 0, pairs) == refused);
        CHECK(with_copies(&c, bytes, BYTES / 2, 1, pairs) == refused);
        CHECK(refused == MF_OK || strstr(mf_err_text(), "see different files") != NULL);
    }
    swapped_blocks(&c, bytes);
    sealed(&c, bytes);
    mf_comm_close(&c);
    free(bytes);
    return failures != 0;
}
