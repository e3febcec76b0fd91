/* Exchanges of arrays in the memory of a device (MF_TEST_DEVICE), by NCCL or through the host (MF_TEST_EXCHANGE). It
 * has all kinds, types and sizes; many at a time; on the world, on groups that overlap, and on both in one memory.
 * Trades are those of MPI. Between them kernels work on the arrays without a wait of the host. The bytes are those that
 * are planned. */
#include "mpi/arrays.h"

#include <math.h>
#include <mpi.h>

#include "kernels/field.h"
#include "mpi/collect.h"
#include "mpi/comm_priv.h"
#include "mpi/nccl_transport.h"
#include "mpi/rank_groups.h"
#include "src/base/half.h"
#include "tests/device.h"
#include "tests/unit/trade_case.h"

enum { ROOM = 1 << 20 /* bytes */, LARGEST = 1 << 18, MANY = 150, KINDS = 3 };

static struct device d;
static uint64_t dice = 1;

static unsigned draw(unsigned n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % n;
}

/* -- numbers of any type -- */

static void put_number(enum mf_type type, void *array, size_t i, float value)
{
    if (type == MF_F32)
        ((float *)array)[i] = value;
    else
        ((uint16_t *)array)[i] = type == MF_F16 ? mf_f16_of(value) : mf_bf16_of(value);
}

static float number(enum mf_type type, const void *array, size_t i)
{
    if (type == MF_F32) return ((const float *)array)[i];
    return type == MF_F16 ? mf_f16_to(((const uint16_t *)array)[i]) : mf_bf16_to(((const uint16_t *)array)[i]);
}

/* Whole numbers whose sums are exact in all types. */
static float value(int rank, size_t i)
{
    return (float)(int)((((unsigned)i * 2654435761u) ^ ((unsigned)rank * 40503u + 17u)) % 61) - 30;
}

static float sum_of(int ranks, size_t i)
{
    float sum = 0;

    for (int r = 0; r < ranks; ++r) sum += value(r, i);
    return sum;
}

/* -- one exchange -- */

struct set {
    const struct mf_comm *comm;
    struct mf_arrays *arrays;
    const struct mf_exchanges *by;
    int group; /* of arrays of more ranks */
};

static uint64_t start(const struct set *s, int kind, enum mf_type type, void *array, size_t n)
{
    return s->by->start(
        s->by->context,
        &(struct mf_collective){
            .kind = (enum mf_exchange_kind)kind, .group = s->group, .type = type, .array = array, .n = n});
}

static void finish(const struct set *s, uint64_t number) { s->by->finish(s->by->context, number); }

static void settle(const struct set *s) { s->by->settle(s->by->context); }

static void fill(const struct set *s, enum mf_type type, void *array, size_t n)
{
    void *host = malloc(n * sizeof(float) + 1);

    for (size_t i = 0; i < n; ++i) put_number(type, host, i, value(s->comm->rank, i));
    d.be->put(d.q, array, host, n * mf_type_bytes(type));
    d.be->sync(d.q);
    free(host);
}

/* @p times: what kernels did to the result. */
static void check(const struct set *s, int kind, enum mf_type type, const void *array, size_t n, float times)
{
    void *host = malloc(n * sizeof(float) + 1);
    size_t wrong = 0;

    d.be->get(d.q, host, array, n * mf_type_bytes(type));
    d.be->sync(d.q);
    for (int r = 0; r < s->comm->size; ++r) {
        const struct mf_span piece = mf_collect_piece(n, s->comm->size, r);

        if (kind == MF_EXCHANGE_SCATTER && r != s->comm->rank) continue;
        for (size_t i = piece.first; i < piece.first + piece.count; ++i)
            wrong +=
                number(type, host, i) != times * (kind == MF_EXCHANGE_GATHER ? value(r, i) : sum_of(s->comm->size, i));
    }
    CHECK_SAYS(wrong == 0, "kind %d, %s, %zu numbers on %d ranks: %zu are wrong", kind, mf_type_name(type), n,
               s->comm->size, wrong);
    free(host);
}

static void sizes(const struct set *s)
{
    static const enum mf_type types[] = {MF_F32, MF_BF16, MF_F16};
    const size_t ranks = (size_t)s->comm->size, n[] = {0, 1, 16 * ranks, 1001, 64 * ranks, 16 * ranks + 3, LARGEST / 4};

    for (int t = 0; t < 3; ++t)
        for (int kind = 0; kind < KINDS; ++kind)
            for (size_t i = 0; i < sizeof n / sizeof *n; ++i) {
                char *at = (char *)mf_arrays_memory(s->arrays) + 64;

                fill(s, types[t], at, n[i]);
                finish(s, start(s, kind, types[t], at, n[i]));
                settle(s);
                check(s, kind, types[t], at, n[i], 1);
            }
}

/* As a walk does: kernels before a start and after a finish, and no wait between. */
static void beside(const struct set *s)
{
    const size_t n = 5008 * (size_t)s->comm->size / 16 * 16, most = ROOM / sizeof(float) / n;
    float *x = mf_arrays_memory(s->arrays);
    uint64_t begun[MANY];

    for (size_t k = 0; k < most; ++k) fill(s, MF_F32, x + k * n, n);
    for (int turn = 0; turn < 3; ++turn) {
        for (size_t k = 0; k < most; ++k) {
            d.be->field->scale(d.q, n, 2, x + k * n);
            begun[k] = start(s, (int)(k % KINDS), MF_F32, x + k * n, n);
            s->by->poll(s->by->context);
        }
        if (turn == 1) settle(s);
        for (size_t k = 0; k < most; ++k) {
            finish(s, begun[k]);
            d.be->field->scale(d.q, n, 0.5F, x + k * n);
            d.be->field->scale(d.q, n, 4, x + k * n);
        }
        settle(s);
        for (size_t k = 0; k < most; ++k) {
            check(s, (int)(k % KINDS), MF_F32, x + k * n, n, 4);
            fill(s, MF_F32, x + k * n, n);
        }
    }
}

/* More than are told apart. */
static void many(const struct set *s)
{
    const size_t n = 64;
    float *x = mf_arrays_memory(s->arrays);
    uint64_t last = 0;

    for (size_t k = 0; k < MANY; ++k) fill(s, MF_F32, x + k * n, n);
    for (size_t k = 0; k < MANY; ++k) last = start(s, (int)(k % KINDS), MF_F32, x + k * n, n);
    finish(s, last);
    settle(s);
    for (size_t k = 0; k < MANY; ++k) check(s, (int)(k % KINDS), MF_F32, x + k * n, n, 1);
}

/* -- trades -- */

/* Brings by MPI the same counts. */
static int32_t *traded(const struct mf_comm *g, const int32_t *out, const size_t *sent, const size_t *at, size_t all)
{
    const int ranks = g->size;
    int32_t *in = calloc(all + 1, sizeof *in);
    int *n = calloc(4 * (size_t)ranks, sizeof *n);

    for (int k = 0; k < 2 * ranks; ++k) {
        n[k] = (int)sent[k];
        n[2 * ranks + k] = (int)at[k];
    }
    if (ranks == 1)
        memcpy(in, out, sent[0] * sizeof *in);
    else
        MPI_Alltoallv(out, n, n + 2 * ranks, MPI_INT32_T, in, n + ranks, n + 3 * ranks, MPI_INT32_T, g->impl->ranks);
    free(n);
    return in;
}

/* Rows that only the sender has counted; @p turn % 4 == 3: nobody has any. */
static void trade(const struct set *s, int turn)
{
    const struct mf_comm *g = s->comm;
    const size_t ranks = (size_t)g->size;
    int64_t *count = calloc(2 * ranks, sizeof *count);
    size_t *sent = calloc(4 * ranks, sizeof *sent), *got = sent + ranks, *at = got + ranks, n, m;
    const int apart = turn % 2;
    int32_t *out, *want, *in, *device_out, *device_in;

    for (size_t r = 0; r < ranks; ++r)
        if (turn % 4 != 3 && ((size_t)g->rank + r + (size_t)turn) % 3) count[r] = (int64_t)draw(3000);
    mf_comm_alltoall(g, 1, count, count + ranks);
    for (size_t k = 0; k < 2 * ranks; ++k) sent[k] = (size_t)count[k];
    n = place_blocks(g->size, sent, apart, at);
    m = place_blocks(g->size, got, apart, at + ranks);
    out = malloc((n + 1) * sizeof *out);
    in = calloc(m + 1, sizeof *in);
    for (size_t i = 0; i < n; ++i) out[i] = (int32_t)draw(1 << 30);
    device_out = device_put(&d, out, n * sizeof *out);
    device_in = device_put(&d, in, m * sizeof *in);
    finish(s, s->by->start(s->by->context, &(struct mf_collective){.kind = MF_EXCHANGE_TRADE,
                                                                   .group = s->group,
                                                                   .type = MF_I32,
                                                                   .array = device_in,
                                                                   .from = device_out,
                                                                   .sent = sent,
                                                                   .got = got,
                                                                   .sent_at = apart ? at : NULL,
                                                                   .got_at = apart ? at + ranks : NULL}));
    settle(s);
    want = traded(g, out, sent, at, m);
    device_get(&d, NULL, device_out, 0);
    device_get(&d, in, device_in, m * sizeof *in);
    CHECK_SAYS(memcmp(in, want, m * sizeof *in) == 0, "trade %d of %zu and %zu on %d ranks", turn, n, m, g->size);
    free(count);
    free(sent);
    free(out);
    free(in);
    free(want);
}

/* -- all of it -- */

static void everything(const struct mf_comm *g)
{
    const size_t device = mf_arena_live(d.arena), host = mf_arena_live(d.host);
    const struct mf_arrays_bytes planned = mf_arrays_bytes(g, mf_apart(d.q), ROOM, LARGEST);
    struct set s = {.comm = g};

    CHECK_SAYS(mf_arrays_open(g, d.q, ROOM, LARGEST, &s.arrays) == MF_OK, "%s", mf_err_text());
    CHECK(mf_arena_live(d.arena) - device == planned.device);
    CHECK(d.host == d.arena || mf_arena_live(d.host) - host == planned.host);
    s.by = mf_arrays_exchanges(s.arrays);
    if (g->size > 1 || g->transport) {
        sizes(&s);
        beside(&s);
        many(&s);
    }
    for (int turn = 0; turn < 8; ++turn) trade(&s, turn);
    mf_arrays_close(s.arrays);
    CHECK(mf_arena_live(d.arena) == device && mf_arena_live(d.host) == host);
}

/* Exchanges of two groups of which each rank is a member, turn by turn. */
static void side_by_side(const struct mf_comm *a, const struct mf_comm *b)
{
    const struct mf_comm *group[2] = {a, b};
    struct set s[2];
    uint64_t begun[2];

    for (int k = 0; k < 2; ++k) {
        s[k] = (struct set){.comm = group[k]};
        CHECK(mf_arrays_open(group[k], d.q, LARGEST, LARGEST, &s[k].arrays) == MF_OK);
        s[k].by = mf_arrays_exchanges(s[k].arrays);
        fill(&s[k], MF_F32, mf_arrays_memory(s[k].arrays), 1000);
    }
    for (int k = 0; k < 2; ++k) begun[k] = start(&s[k], 0, MF_F32, mf_arrays_memory(s[k].arrays), 1000);
    for (int k = 0; k < 2; ++k) {
        finish(&s[k], begun[k]);
        settle(&s[k]);
        if (group[k]->size > 1) check(&s[k], 0, MF_F32, mf_arrays_memory(s[k].arrays), 1000, 1);
    }
    for (int k = 0; k < 2; ++k) mf_arrays_close(s[k].arrays);
}

/* The ranks as a grid of two columns: expert groups are rows, data groups columns. */
static void groups(const struct mf_comm *c)
{
    struct mf_comm row, column;
    int colour[64];

    for (int r = 0; r < c->size; ++r) colour[r] = r / 2;
    CHECK(mf_comm_split(c, colour, NULL, "expert", &row) == MF_OK);
    CHECK_SAYS(mf_transport_split(c, &row) == MF_OK, "%s", mf_err_text());
    for (int r = 0; r < c->size; ++r) colour[r] = r % 2;
    CHECK(mf_comm_split(c, colour, NULL, "data", &column) == MF_OK);
    CHECK_SAYS(mf_transport_split(c, &column) == MF_OK, "%s", mf_err_text());
    CHECK(!c->transport || (row.size > 1) == (row.transport != NULL));
    everything(&row);
    everything(&column);
    side_by_side(&row, &column);
    mf_comm_free(&row);
    mf_comm_free(&column);
}

/* All ranks, and two groups, exchange arrays of one memory at a time. Arrays of replicas do not begin where others
 * do. */
enum { SETS = MF_GROUP_REPLICAS + 1 }; /* all ranks, experts, replicas */

static void three_at_a_time(const struct set set[SETS], int way)
{
    float *all = mf_arrays_memory(set[0].arrays), *own = all + 2000 + 1008 * way;
    const struct set *experts = &set[MF_GROUP_EXPERTS], *replicas = &set[MF_GROUP_REPLICAS];

    for (int kind = 0; kind < KINDS; ++kind) {
        uint64_t begun[2];

        fill(&set[0], MF_F32, all, 1500);
        fill(replicas, MF_F32, own, 1000);
        begun[0] = start(&set[0], kind, MF_F32, all, 1500);
        begun[1] = start(replicas, kind, MF_F32, own, 1000);
        trade(experts, kind);
        finish(&set[0], begun[1]);
        finish(&set[0], begun[0]);
        settle(&set[0]);
        if (set[0].comm->size > 1) check(&set[0], kind, MF_F32, all, 1500, 1);
        if (replicas->comm->size > 1) check(replicas, kind, MF_F32, own, 1000, 1);
    }
}

static void check_tell(const struct set *s)
{
    const int64_t own[2] = {s->comm->rank, 7};
    int64_t *all = calloc(2 * (size_t)s->comm->size, sizeof *all);

    s->by->tell(s->by->context, s->group, 2, own, all);
    for (int r = 0; r < s->comm->size; ++r) CHECK(all[2 * r] == r && all[2 * r + 1] == 7);
    free(all);
}

static void joined(const struct mf_comm *c, int ways)
{
    const size_t device = mf_arena_live(d.arena), host = mf_arena_live(d.host);
    struct mf_arrays_bytes sum = mf_arrays_bytes(c, mf_apart(d.q), ROOM, LARGEST);
    struct mf_rank_groups groups = {0};
    struct set set[SETS] = {{.comm = c}};

    CHECK_SAYS(mf_rank_groups_share_experts(&groups, c, ways, 1) == MF_OK, "%s", mf_err_text());
    CHECK(mf_arrays_open(c, d.q, ROOM, LARGEST, &set[0].arrays) == MF_OK);
    for (int k = 0; k < SETS; ++k) {
        struct mf_arrays_bytes bytes;

        set[k].group = k;
        set[k].arrays = set[0].arrays;
        set[k].by = mf_arrays_exchanges(set[0].arrays);
        if (k) {
            set[k].comm = mf_rank_groups_find(&groups, k);
            bytes = mf_arrays_bytes(set[k].comm, mf_apart(d.q), 0, LARGEST);
            CHECK(mf_arrays_join(set[0].arrays, k, set[k].comm, LARGEST) == MF_OK);
            sum = (struct mf_arrays_bytes){sum.device + bytes.device, sum.host + bytes.host};
        }
        check_tell(&set[k]);
    }
    CHECK(set[1].comm->size == ways && set[2].comm->size == c->size / ways && set[1].comm->rank == c->rank % ways);
    CHECK(mf_arena_live(d.arena) - device == sum.device);
    CHECK(d.host == d.arena || mf_arena_live(d.host) - host == sum.host);
    three_at_a_time(set, set[1].comm->rank);
    mf_arrays_close(set[0].arrays);
    mf_rank_groups_close(&groups);
}

/* -- messages along a chain of ranks, each link of which is a group of two -- */

enum { MESSAGES = 3, LONG = 3000 };

/* The link between ranks k and k + 1 has number MF_GROUP_OTHERS + k. */
static void open_links(const struct mf_comm *c, struct mf_rank_groups *links, struct mf_arrays *arrays)
{
    int colour[64];

    for (int k = 0; k + 1 < c->size; ++k) {
        const int number = MF_GROUP_OTHERS + k;

        for (int r = 0; r < c->size; ++r) colour[r] = r == k || r == k + 1 ? k : -1;
        CHECK_SAYS(mf_rank_groups_split(links, c, number, colour, "link") == MF_OK, "%s", mf_err_text());
        CHECK((mf_rank_groups_find(links, number) != NULL) == (colour[c->rank] >= 0));
        if (colour[c->rank] >= 0)
            CHECK(mf_arrays_join(arrays, number, mf_rank_groups_find(links, number), LONG * sizeof(float)) == MF_OK);
    }
}

static uint64_t message(const struct mf_exchanges *by, int kind, int link, void *array)
{
    return by->start(by->context, &(struct mf_collective){.kind = (enum mf_exchange_kind)kind,
                                                          .group = MF_GROUP_OTHERS + link,
                                                          .type = MF_F32,
                                                          .array = array,
                                                          .n = LONG});
}

/* Every message of rank 0 goes down the chain, and each rank doubles it. A rank finishes what it sends when it has
 * received the next. Then the last one comes back up, while all ranks sum another array. Hosts that compare
 * their exchanges wait for each other, and the emulator moves nothing meanwhile: until all are compared, none waits for
 * its device. */
static void chain(const struct mf_comm *c)
{
    struct mf_arrays *arrays = NULL;
    struct mf_rank_groups links = {0};
    const struct mf_exchanges *by;
    const int rank = c->rank, last = c->size - 1;
    float *x[MESSAGES], *all;
    struct set everybody = {.comm = c};
    uint64_t sum, going = 0;

    CHECK(mf_arrays_open(c, d.q, ROOM, LARGEST, &arrays) == MF_OK);
    open_links(c, &links, arrays);
    by = everybody.by = mf_arrays_exchanges(arrays);
    all = mf_arrays_memory(arrays);
    for (int k = 0; k < MESSAGES; ++k) {
        x[k] = device_put(&d, NULL, LONG * sizeof(float));
        if (rank == 0) fill(&everybody, MF_F32, x[k], LONG);
    }
    for (int k = 0; k < MESSAGES; ++k) {
        if (rank > 0) finish(&everybody, message(by, MF_EXCHANGE_RECEIVE, rank - 1, x[k]));
        d.be->field->scale(d.q, LONG, 2, x[k]);
        if (going) finish(&everybody, going);
        if (rank < last) going = message(by, MF_EXCHANGE_SEND, rank, x[k]);
    }
    if (going) finish(&everybody, going);
    fill(&everybody, MF_F32, all, 1500);
    sum = start(&everybody, MF_EXCHANGE_SUM, MF_F32, all, 1500);
    if (rank < last) finish(&everybody, message(by, MF_EXCHANGE_RECEIVE, rank, x[0]));
    if (rank > 0) finish(&everybody, message(by, MF_EXCHANGE_SEND, rank - 1, rank < last ? x[0] : x[MESSAGES - 1]));
    finish(&everybody, sum);
    d.be->sync(d.q);
    settle(&everybody);
    check(&everybody, MF_EXCHANGE_SUM, MF_F32, all, 1500, 1);
    for (int k = 0; k < MESSAGES; ++k) {
        float got[LONG];
        const int doubled = k == 0 && rank < last ? c->size : rank + 1;

        device_get(&d, got, x[k], sizeof got);
        for (size_t i = 0; i < LONG; ++i) CHECK(got[i] == ldexpf(value(0, i), doubled));
    }
    mf_arrays_close(arrays);
    mf_rank_groups_close(&links);
}

static void check_ways(void)
{
    CHECK(mf_ways_fit(4, 64, 4) == 4 && mf_ways_fit(4, 3, 4) == 2 && mf_ways_fit(6, 64, 5) == 3);
    CHECK(mf_ways_fit(3, 2, 3) == 1 && mf_ways_fit(1, 8, 4) == 1 && mf_ways_fit(4, 64, 1) == 1);
}

int main(int argc, char **argv)
{
    const char *exchange = getenv("MF_TEST_EXCHANGE");
    struct mf_comm c;

    CHECK(mf_comm_open(&c, &argc, &argv, "test") == MF_OK);
    device_number = c.rank;
    if (!exchange) device_number = 0;
    d = device_open(1, 0, 0);
    dice += (uint64_t)c.rank;
    CHECK_SAYS(mf_transport_open(&c, d.q, exchange ? mf_exchange_of(exchange) : MF_EXCHANGE_HOST) == MF_OK, "%s",
               mf_err_text());
    everything(&c);
    groups(&c);
    for (int ways = 1; ways <= c.size; ++ways)
        if (c.size % ways == 0) joined(&c, ways);
    if (c.size > 1) chain(&c);
    check_ways();
    mf_transport_close(&c);
    device_close(&d);
    mf_comm_close(&c);
    return failures != 0;
}
