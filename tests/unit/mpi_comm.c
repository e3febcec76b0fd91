/* Agreement, reductions and copies between ranks give the same answer on every rank, whatever the number of ranks. So
 * they do where MPI's counts end (a limit lowered for the test). */
#include "mpi/comm.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "tests/check.h"

static void agrees(const struct mf_comm *c)
{
    int last = c->size - 1, rc;

    CHECK(mf_agree(c, MF_OK) == MF_OK);
    rc = mf_agree(c, c->rank == last ? mf_fail(MF_INPUT, "no file on rank %d", last) : MF_OK);
    CHECK(rc == MF_INPUT);
    CHECK(strstr(mf_err_text(), "no file on rank") != NULL);
    CHECK((strstr(mf_err_text(), "ranks failed") != NULL) == (c->size > 1));
    rc = mf_agree(c, mf_fail(MF_USAGE, "no option '--x'"));
    CHECK(rc == MF_USAGE && strcmp(mf_err_text(), "no option '--x'") == 0);
    rc = mf_agree(c, mf_fail(c->rank == 0 ? MF_OUTPUT : MF_USAGE, "from rank %d", c->rank));
    CHECK(rc == MF_OUTPUT && strcmp(mf_err_text(), "from rank 0") == 0);
}

/* A sum of numbers whose rounding depends on order. It is bit for bit alike everywhere, on one node whatever stands
 * beside a number. */
static void sums(const struct mf_comm *c, size_t n)
{
    double *x = malloc(n * sizeof *x), *first = malloc(n * sizeof *first);
    float *y = malloc(n * sizeof *y);
    int64_t *k = malloc(n * sizeof *k);
    double want, size = c->size;

    for (size_t i = 0; i < n; ++i) {
        x[i] = sin((double)i + 1.7 * c->rank) * exp(c->rank);
        y[i] = (float)(c->rank + (int)(i % 7));
        k[i] = (int64_t)1 << (c->rank + 40);
    }
    mf_comm_sum(c, n, x);
    mf_comm_sum_float(c, n, y);
    mf_comm_sum_int(c, n, k);
    memcpy(first, x, n * sizeof *x);
    mf_comm_bcast(c, 0, first, n * sizeof *x);
    CHECK(memcmp(first, x, n * sizeof *x) == 0);
    for (size_t i = 0; i < n; i += n / 2 + 1) {
        double alone = sin((double)i + 1.7 * c->rank) * exp(c->rank);

        mf_comm_sum(c, 1, &alone);
        CHECK_NEAR(alone, x[i], c->local_size == c->size ? 0 : 1e-12 * exp(size)); /* several nodes: MPI's order */
    }
    for (size_t i = 0; i < n; ++i) {
        want = 0;
        for (int r = 0; r < c->size; ++r) want += sin((double)i + 1.7 * r) * exp(r);
        CHECK_NEAR(x[i], want, 1e-12 * exp(size));
        CHECK_NEAR((double)y[i], size * (double)(i % 7) + size * (size - 1) / 2, 0);
        CHECK(k[i] == (((int64_t)1 << c->size) - 1) << 40);
    }
    free(x);
    free(first);
    free(y);
    free(k);
}

static void extremes(const struct mf_comm *c)
{
    double high[2] = {c->rank, -c->rank};
    int64_t most[2] = {c->rank, ((int64_t)1 << 60) - c->rank};

    mf_comm_max(c, 2, high);
    mf_comm_max_int(c, 2, most);
    CHECK(high[0] == c->size - 1 && high[1] == 0);
    CHECK(most[0] == c->size - 1 && most[1] == (int64_t)1 << 60);
}

/* Rank r gives 5 r mod 13 bytes: uneven, and none from rank 0. */
static void gathers(const struct mf_comm *c)
{
    size_t *offset = malloc(((size_t)c->size + 1) * sizeof *offset), mine = 5 * (size_t)c->rank % 13, at = 0;
    char own[13], *all = NULL;

    memset(own, 'a' + c->rank, sizeof own);
    CHECK(mf_comm_gather(c, own, mine, (void **)&all, offset) == MF_OK);
    for (int r = 0; r < c->size; ++r) {
        CHECK(offset[r] == at && offset[r + 1] == at + 5 * (size_t)r % 13);
        for (; at < offset[r + 1]; ++at) CHECK(all[at] == 'a' + r);
    }
    for (size_t i = 0; i < at; ++i) all[i] = i >= offset[c->rank] && i < offset[c->rank + 1] ? (char)(i + 1) : 0;
    mf_comm_share(c, all, offset);
    for (size_t i = 0; i < at; ++i) CHECK(all[i] == (char)(i + 1));
    free(all);
    CHECK(mf_comm_gather(c, NULL, 0, (void **)&all, offset) == MF_OK && offset[c->size] == 0);
    free(all);
    free(offset);
}

static void broadcasts(const struct mf_comm *c, size_t bytes)
{
    unsigned char *x = malloc(bytes);
    int root = c->size - 1;

    for (size_t i = 0; i < bytes; ++i) x[i] = c->rank == root ? (unsigned char)(i * 31) : 0;
    mf_comm_bcast(c, root, x, bytes);
    for (size_t i = 0; i < bytes; ++i) CHECK(x[i] == (unsigned char)(i * 31));
    mf_comm_bcast(c, 0, NULL, 0);
    free(x);
}

/* Rank r has for rank q 3 r + 5 q mod 11 bytes that say so, and none for itself. */
static size_t bytes_between(int from, int to) { return from == to ? 0 : (size_t)(3 * from + 5 * to) % 11; }

static void exchanges(const struct mf_comm *c)
{
    size_t *sent = calloc((size_t)c->size, sizeof *sent), *got = calloc((size_t)c->size, sizeof *got), at = 0;
    unsigned char *out = malloc(11 * (size_t)c->size), *in = malloc(11 * (size_t)c->size);

    for (int r = 0; r < c->size; ++r) {
        sent[r] = bytes_between(c->rank, r);
        got[r] = bytes_between(r, c->rank);
        for (size_t i = 0; i < sent[r]; ++i) out[at++] = (unsigned char)(100 * c->rank + 10 * r + (int)i);
    }
    memset(in, 0, 11 * (size_t)c->size);
    mf_comm_alltoallv(c, out, sent, in, got);
    at = 0;
    for (int r = 0; r < c->size; ++r)
        for (size_t i = 0; i < got[r]; ++i) CHECK(in[at++] == (unsigned char)(100 * r + 10 * c->rank + (int)i));
    free(in);
    free(out);
    free(got);
    free(sent);
}

/* @p most: the longest sum; a collective of every few numbers of it takes seconds on a busy machine. */
static void everything(const struct mf_comm *c, size_t most)
{
    agrees(c);
    sums(c, 1);
    sums(c, 1000);
    sums(c, most);
    extremes(c);
    gathers(c);
    broadcasts(c, most / 6);
    exchanges(c);
    mf_comm_barrier(c);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;

    mf_comm_self(&self);
    CHECK(mf_comm_native(&self) == NULL && self.size == 1 && self.local_size == 1);
    everything(&self, 70001);
    mf_comm_close(&self);
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    CHECK(0 <= c.local_rank && c.local_rank < c.local_size && c.local_size <= c.size);
    CHECK((mf_comm_native(&c) == NULL) == (argc > 1)); /* "lone": nobody launched it, so MPI is not there */
    CHECK(strlen(mf_comm_version()) > 3);
    everything(&c, 70001); /* in several pieces of shared memory */
    mf_comm_most = 7;      /* every call in pieces */
    everything(&c, 1000);
    mf_comm_close(&c);
    return failures != 0;
}
