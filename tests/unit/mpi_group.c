/* Groups of ranks: who is in which, everything collective on them, messages within them. They go on independently of
 * each other and of the world. */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm.h"
#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { MOST = 16 };

/* Ways to split, by rank of size. */
static int all(int rank, int size) { return 0 * (rank + size); }
static int parity(int rank, int size) { return rank % 2 + 0 * size; }
static int pair(int rank, int size) { return rank / 2 + 0 * size; }
static int alone(int rank, int size) { return rank + 0 * size; }
static int uneven(int rank, int size) { return rank < size - 1 ? 7 : 3; } /* 2 and 1 of 3 */
static int not_first(int rank, int size) { return rank == 0 ? -1 : 0 * size; }

static const struct way {
    const char *name;
    int (*colour)(int rank, int size);
} ways[] = {{"whole", all}, {"parity", parity}, {"pair", pair},
            {"own", alone}, {"uneven", uneven}, {"rest", not_first}};

enum { WAYS = sizeof ways / sizeof ways[0] };

static void paint(const struct mf_comm *c, const struct way *way, int *colour)
{
    for (int r = 0; r < c->size; ++r) colour[r] = way->colour(r, c->size);
}

static void split(const struct mf_comm *c, const struct way *way, struct mf_comm *group)
{
    int colour[MOST];

    paint(c, way, colour);
    CHECK(mf_comm_split(c, colour, NULL, way->name, group) == MF_OK);
}

/* Members of this rank's group, by rank of @p c; how many. */
static int members(const struct mf_comm *c, const struct way *way, int *member)
{
    int n = 0;

    for (int r = 0; r < c->size; ++r)
        if (way->colour(r, c->size) == way->colour(c->rank, c->size)) member[n++] = r;
    return n;
}

static void sums(const struct mf_comm *g, const int *member)
{
    enum { N = 500 };
    double x[N], want;
    float y[N];
    int64_t k[2] = {member[g->rank], 1};

    for (int i = 0; i < N; ++i) {
        x[i] = sin(i + 1.7 * member[g->rank]) * exp(member[g->rank]);
        y[i] = (float)(member[g->rank] + i % 7);
    }
    mf_comm_sum(g, N, x);
    mf_comm_sum_float(g, N, y);
    mf_comm_sum_int(g, 2, k);
    for (int i = 0; i < N; ++i) {
        want = 0;
        for (int m = 0; m < g->size; ++m) want += sin(i + 1.7 * member[m]) * exp(member[m]);
        CHECK_NEAR(x[i], want, g->local_size == g->size ? 0 : 1e-12 * exp(MOST)); /* in the order of the group */
    }
    want = 0;
    for (int m = 0; m < g->size; ++m) want += member[m];
    CHECK_NEAR((double)y[8], want + g->size, 0);
    CHECK(k[0] == (int64_t)want && k[1] == g->size);
}

static void copies(const struct mf_comm *g, const int *member)
{
    size_t offset[MOST + 1], bytes = (size_t)member[g->rank] + 1;
    double high = member[g->rank], most = 0;
    char own[MOST], *gathered = NULL, *text;
    int root = member[g->size - 1];

    memset(own, 'a' + member[g->rank], sizeof own);
    CHECK(mf_comm_gather(g, own, bytes, (void **)&gathered, offset) == MF_OK);
    for (int m = 0; m < g->size; ++m) {
        CHECK(offset[m + 1] - offset[m] == (size_t)member[m] + 1);
        for (size_t i = offset[m]; i < offset[m + 1]; ++i) CHECK(gathered[i] == 'a' + member[m]);
    }
    free(gathered);
    mf_comm_max(g, 1, &high);
    for (int m = 0; m < g->size; ++m) most = fmax(most, member[m]);
    CHECK(high == most);
    own[0] = (char)('a' + member[g->rank]);
    mf_comm_bcast(g, g->size - 1, own, 1);
    CHECK(own[0] == 'a' + root);
    text = mf_comm_text(g, g->rank == 0 ? "of the first" : NULL);
    CHECK(strcmp(text, "of the first") == 0);
    free(text);
    mf_comm_barrier(g);
}

/* Member a has (a + 2 b) mod 5 bytes for member b, none for itself. */
static void exchanges(const struct mf_comm *g, const int *member)
{
    size_t sent[MOST], got[MOST], at = 0;
    char out[5 * MOST], in[5 * MOST] = {0};

    for (int m = 0; m < g->size; ++m) {
        sent[m] = m == g->rank ? 0 : (size_t)(member[g->rank] + 2 * member[m]) % 5;
        got[m] = m == g->rank ? 0 : (size_t)(member[m] + 2 * member[g->rank]) % 5;
        for (size_t i = 0; i < sent[m]; ++i) out[at++] = (char)(10 * member[g->rank] + member[m]);
    }
    mf_comm_alltoallv(g, out, sent, in, got);
    at = 0;
    for (int m = 0; m < g->size; ++m)
        for (size_t i = 0; i < got[m]; ++i) CHECK(in[at++] == 10 * member[m] + member[g->rank]);
}

static void agrees(const struct mf_comm *g, const int *member)
{
    int last = member[g->size - 1];
    char rank[32];

    CHECK(mf_agree(g, MF_OK) == MF_OK);
    CHECK(mf_agree(g, g->rank == g->size - 1 ? mf_fail(MF_INPUT, "no file") : MF_OK) == MF_INPUT);
    snprintf(rank, sizeof rank, "(rank %d; 1 of", last);
    CHECK((strstr(mf_err_text(), rank) != NULL) == (g->size > 1));
    CHECK((strstr(mf_err_text(), " group ") != NULL) == (g->size > 1));
}

/* Around the ring, a long message and a short one, also the other way round. The ends of a pipeline have one neighbour.
 * Then in order from rank to rank. */
static void messages(const struct mf_comm *g, size_t bytes)
{
    const int next = (g->rank + 1) % g->size, before = (g->rank + g->size - 1) % g->size, last = g->size - 1;
    unsigned char *out = malloc(bytes + 1), *in = malloc(bytes + 1), mark = 255;

    memset(out, g->rank + 1, bytes + 1);
    memset(in, 0, bytes + 1);
    mf_comm_send_receive(g, next, out, bytes, before, in, bytes);
    for (size_t i = 0; i < bytes; ++i) CHECK(in[i] == before + 1);
    CHECK(in[bytes] == 0);
    mf_comm_send_receive(g, before, out, 3 * (size_t)g->rank % bytes, next, in, 3 * (size_t)next % bytes);
    for (size_t i = 0; i < 3 * (size_t)next % bytes; ++i) CHECK(in[i] == next + 1);
    mf_comm_send_receive(g, g->rank < last ? next : MF_NO_RANK, out, bytes, g->rank ? before : MF_NO_RANK, in, bytes);
    CHECK(in[bytes - 1] == (g->rank ? before + 1 : bytes > 3 * (size_t)next % bytes ? before + 1 : next + 1));
    if (g->rank > 0) mf_comm_receive(g, before, &mark, 1);
    if (g->rank < last) mf_comm_send(g, next, &(unsigned char){(unsigned char)g->rank}, 1);
    CHECK(mark == (g->rank ? g->rank - 1 : 255));
    mf_comm_send_receive(g, next, NULL, 0, before, NULL, 0);
    free(out);
    free(in);
}

/* Three messages are on their way to the next rank at once, and their bytes may change. Whoever receives finds them in
 * their order, and the sender ends them in another one. */
static void letters(const struct mf_comm *g, size_t bytes)
{
    const int next = (g->rank + 1) % g->size, before = (g->rank + g->size - 1) % g->size;
    const size_t length[] = {bytes, 0, 1};
    unsigned char *data = malloc(bytes + 1);
    struct mf_letter *letter[3];

    mf_comm_sent(NULL);
    for (int k = 0; g->size > 1 && k < 3; ++k) {
        memset(data, 10 * g->rank + k, bytes);
        letter[k] = mf_comm_begin_send(g, next, data, length[k]);
    }
    for (int k = 0; g->size > 1 && k < 3; ++k) {
        memset(data, 255, bytes + 1);
        mf_comm_receive(g, before, data, length[k]);
        for (size_t i = 0; i < length[k]; ++i) CHECK(data[i] == 10 * before + k);
        CHECK(data[length[k]] == 255);
    }
    for (int k = 2; g->size > 1 && k >= 0; --k) mf_comm_sent(letter[k]);
    free(data);
}

static void everything(const struct mf_comm *g, const int *member)
{
    agrees(g, member);
    sums(g, member);
    copies(g, member);
    exchanges(g, member);
    messages(g, 10);
    messages(g, mf_comm_most < 1000 ? 100 : 300000);
    letters(g, mf_comm_most < 1000 ? 100 : 300000);
}

static void one_way(const struct mf_comm *c, const struct way *way)
{
    int member[MOST], n = members(c, way, member);
    struct mf_comm g, again;

    split(c, way, &g);
    if (way->colour(c->rank, c->size) < 0) {
        CHECK(g.size == 0 && !g.impl);
    } else {
        CHECK(g.size == n && member[g.rank] == c->rank && (g.impl != NULL) == (n > 1));
        CHECK(g.local_rank < g.local_size && g.local_size <= g.size && g.local_size <= c->local_size);
        everything(&g, member);
        split(&g, &ways[2], &again); /* a group of a group */
        CHECK(again.size == (g.rank == g.size - 1 && g.size % 2 ? 1 : 2));
        for (int m = 0; m < again.size; ++m) member[m] = member[m + g.rank / 2 * 2];
        everything(&again, member);
        mf_comm_free(&again);
    }
    mf_comm_free(&g);
    CHECK(!g.impl);
}

/* Keys turn the order of ranks round; sums then add the other way. */
static void by_key(const struct mf_comm *c)
{
    int colour[MOST] = {0}, key[MOST], member[MOST];
    struct mf_comm g;

    for (int r = 0; r < c->size; ++r) key[r] = -(r / 2);
    for (int r = 0, at = 0, n = (c->size + 1) / 2; r < n; ++r)
        for (int i = 2 * (n - 1 - r); i < 2 * (n - r) && i < c->size; ++i) member[at++] = i;
    CHECK(mf_comm_split(c, colour, key, "back", &g) == MF_OK);
    CHECK(member[g.rank] == c->rank);
    everything(&g, member);
    mf_comm_free(&g);
}

/* Rows and columns of a grid at once. Each rank is in the world and in two groups; rows do more than columns. */
static void grid(const struct mf_comm *c)
{
    int row[MOST], column[MOST], wide = c->size > 2 ? 2 : 1;
    struct mf_comm across, down;
    int64_t x;

    for (int r = 0; r < c->size; ++r) {
        row[r] = r / wide;
        column[r] = r % wide;
    }
    CHECK(mf_comm_split(c, row, NULL, "tensor", &across) == MF_OK);
    CHECK(mf_comm_split(c, column, NULL, "data", &down) == MF_OK);
    for (int i = 0; i < 3 + 2 * row[c->rank]; ++i) {
        x = c->rank;
        mf_comm_sum_int(&across, 1, &x);
        CHECK(x == (across.size == 2 ? 2 * (c->rank / 2 * 2) + 1 : c->rank));
    }
    x = 1;
    mf_comm_sum_int(&down, 1, &x);
    mf_comm_enter(c, "work of all", 0); /* a group's collective inside of one of the world */
    mf_comm_sum_int(&across, 1, &x);
    mf_comm_leave(c);
    mf_comm_sum_int(c, 1, &x);
    mf_comm_free(&across);
    mf_comm_free(&down);
}

/* Many at a time, and one too many. */
static void many(const struct mf_comm *c)
{
    struct mf_comm g[MF_GROUPS_MOST];
    int colour[MOST] = {0}, rc;
    double x;

    if (c->size != 2) return; /* it takes a while, and ranks do not matter */
    for (int i = 0; i < MF_GROUPS_MOST - 1; ++i) CHECK(mf_comm_split(c, colour, NULL, "many", &g[i]) == MF_OK);
    rc = mf_comm_split(c, colour, NULL, "many", &g[MF_GROUPS_MOST - 1]);
    CHECK(rc == MF_MEMORY && strstr(mf_err_text(), "in 64 groups already"));
    for (int i = MF_GROUPS_MOST - 2; i >= 0; --i) {
        x = i;
        mf_comm_sum(&g[i], 1, &x);
        CHECK(x == i * c->size);
        mf_comm_free(&g[i]);
    }
}

/* A rank that is not there learns its places as the real ones do. */
static void dry(void)
{
    const struct {
        int rank, size, local_size, way, group_rank, group_size, group_local_rank, group_local_size;
    } want[] = {{5, 8, 4, 1, 2, 4, 0, 2}, {5, 8, 4, 2, 1, 2, 1, 2}, {5, 8, 4, 0, 5, 8, 1, 4},
                {5, 8, 4, 3, 0, 1, 0, 1}, {2, 3, 3, 4, 0, 1, 0, 1}, {1, 3, 3, 4, 1, 2, 1, 2}};
    int colour[MOST];
    struct mf_comm c, g;

    for (size_t i = 0; i < sizeof want / sizeof want[0]; ++i) {
        mf_comm_dry(&c, want[i].rank, want[i].size, want[i].local_size);
        paint(&c, &ways[want[i].way], colour);
        CHECK(mf_comm_split(&c, colour, NULL, "dry", &g) == MF_OK && !g.impl);
        CHECK(g.rank == want[i].group_rank && g.size == want[i].group_size);
        CHECK(g.local_rank == want[i].group_local_rank && g.local_size == want[i].group_local_size);
        mf_comm_sum(&g, 1, &(double){1});
        if (g.size > 1) mf_comm_send_receive(&g, 0, NULL, 9, 0, NULL, 9);
        mf_comm_free(&g);
    }
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;

    mf_comm_self(&self);
    for (int w = 0; w < WAYS; ++w) one_way(&self, &ways[w]);
    dry();
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    for (int w = 0; w < WAYS; ++w) one_way(&c, &ways[w]);
    by_key(&c);
    grid(&c);
    mf_comm_most = 7; /* every call in pieces */
    grid(&c);
    one_way(&c, &ways[1]);
    mf_comm_most = (size_t)1 << 30;
    many(&c);
    mf_comm_close(&c);
    return failures != 0;
}
