/* A sealed file is sound on any number of ranks. Cut anywhere, or with any one bit turned, it is not. */
#include "io/seal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { LARGE = 9 << 20, BYTES = (1 << 20) + 4321, FLIPS = 300 };

static char path[64];

static void put(const unsigned char *bytes, size_t count)
{
    FILE *to = fopen(path, "wb");

    CHECK(to && fwrite(bytes, 1, count, to) == count);
    if (to) CHECK(fclose(to) == 0);
}

static size_t get(unsigned char *bytes, size_t room)
{
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(bytes, 1, room, from) : 0;

    if (from) fclose(from);
    return n;
}

/* Alone: every cut at 4 KiB, and one bit at many places, the seal's own bytes among them. */
static void damage(const unsigned char *sealed, size_t size)
{
    unsigned char *bytes = malloc(size);
    struct mf_comm self;
    uint64_t state = 1;

    mf_comm_self(&self);
    for (size_t cut = 0; cut < size; cut += 4096) {
        put(sealed, cut);
        CHECK(mf_seal_check(&self, path, NULL) == MF_INPUT);
    }
    put(sealed, size - 1);
    CHECK(mf_seal_check(&self, path, NULL) == MF_INPUT);
    for (int i = 0; i < FLIPS; ++i) {
        size_t bit;

        state = state * 6364136223846793005U + 1442695040888963407U;
        bit = i < 200 ? (size_t)(state >> 20) % (8 * size) : 8 * size - 1 - (size_t)(i - 200) % 256;
        memcpy(bytes, sealed, size);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        put(bytes, size);
        CHECK(mf_seal_check(&self, path, NULL) == MF_INPUT);
    }
    put(sealed, size);
    CHECK(mf_seal_check(&self, path, NULL) == MF_OK);
    free(bytes);
}

/* Ranks that have a file in memory, each a span of it, seal it as if they read it back. Their looks count, and parts
 * without a look are read. */
static void seen_in_memory(const struct mf_comm *c, unsigned char *bytes, size_t size)
{
    struct mf_span own = mf_cut(size, (size_t)c->size, (size_t)c->rank);

    for (int changed = 0; changed < 2; ++changed) {
        struct mf_seal_seen seen;

        if (c->rank == 0) put(bytes, size);
        mf_comm_barrier(c);
        CHECK(mf_seal_see_begin(&seen, size) == MF_OK);
        bytes[size / 5] ^= (unsigned char)changed;
        for (size_t at = own.first; at < own.first + own.count; at += 77777) {
            size_t left = own.first + own.count - at;

            mf_seal_see(&seen, bytes + at, left < 77777 ? left : 77777, at, NULL);
        }
        bytes[size / 5] ^= (unsigned char)changed;
        CHECK(mf_seal_write(c, path, path, 0, &seen) == MF_OK);
        mf_seal_see_end(&seen);
        CHECK(mf_seal_check(c, path, NULL) == (changed ? MF_INPUT : MF_OK));
        mf_comm_barrier(c);
    }
}

int main(int argc, char **argv)
{
    unsigned char *bytes = malloc(LARGE);
    struct mf_comm c;
    size_t size = BYTES;
    int sealed = 7;

    if (!bytes || mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    snprintf(path, sizeof path, "io_seal_%d.bin", c.size);
    for (size_t i = 0; i < size; ++i) bytes[i] = (unsigned char)(i * i / 7);
    if (c.rank == 0) put(bytes, size);
    mf_comm_barrier(&c);
    CHECK(mf_seal_check(&c, path, &sealed) == MF_INPUT && sealed == 0);
    CHECK(mf_seal_write(&c, path, path, 7, NULL) == MF_OK);
    CHECK(mf_seal_check(&c, path, &sealed) == MF_OK && sealed == 1);
    mf_comm_barrier(&c);
    if (c.size == 1) {
        size = get(bytes, BYTES + 4096);
        CHECK(size == BYTES + 2 * 4 + 32);
        damage(bytes, size);
    }
    mf_comm_barrier(&c);
    for (size_t i = 0; i < LARGE; ++i) bytes[i] = (unsigned char)(i * i / 7);
    seen_in_memory(&c, bytes, LARGE - 4321);
    if (c.rank == 0) {
        put(bytes, 0);
        CHECK(unlink(path) == 0);
    }
    mf_comm_barrier(&c);
    CHECK(mf_seal_check(&c, path, NULL) == MF_INPUT);
    CHECK(mf_seal_write(&c, path, path, 7, NULL) == MF_OUTPUT);
    free(bytes);
    mf_comm_close(&c);
    return failures != 0;
}
