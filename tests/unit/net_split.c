/* A pair of linear layers that ranks cut comes to the values and gradients of the whole pair, which every rank computes
 * alone. So it does where blocks are computed again, in 16 bits, and with uneven parts. Nodes of a list that belong to
 * any ranks come to the bits of the whole list. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/arrays.h"
#include "mpi/nccl_transport.h"
#include "mpi/rank_groups.h"
#include "src/base/rng.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/net/region.h"
#include "src/net/walk.h"
#include "tests/device.h"

/* Of 3 ranks the parts of HIDDEN differ in lines of memory, and their gradients are larger than what is summed. */
enum { ROWS = 6, INPUTS = 5, WIDTH = 9, HIDDEN = 50, MOST = 4096 };

struct choice {
    enum mf_recompute recompute;
    int fuse;
    enum mf_type type;
    int pieces; /* ranks keep what they have alike in pieces */
};

struct model {
    struct mf_net *net;
    struct mf_list *list;
    int x, target, y, loss;
};

static struct mf_shape flat(size_t a, size_t b) { return (struct mf_shape){.type = MF_F32, .n = 2, .d = {a, b}}; }

/* Three ranks are too many for 54 numbers in lines of 16. */
static void partition(struct mf_list *list, const struct choice *c, const struct mf_partners *split)
{
    unsigned char *alike = mf_list_alike(list, split->group);
    size_t seed = mf_list_seed(list), cut = mf_pass_partition(list, &seed, alike, split);

    CHECK(seed == mf_list_seed(list));
    CHECK_SAYS(c->type != MF_F32 || (cut > 0) == (split->ranks % 2 == 0), "%zu ranks cut %zu", split->ranks, cut);
    free(alike);
}

/* Two residual blocks. A norm reads what ranks have summed, in forward and in backward. */
static struct model make(const struct device *d, const struct mf_partners *split, const struct choice *c)
{
    struct model m = {.net = mf_net_new()};
    struct mf_build b = {.list = mf_list_new(m.net, "split"), .split = split};
    int x;

    m.list = b.list;
    m.x = mf_build_input(&b, "x", flat(ROWS, INPUTS));
    m.target = mf_build_input(&b, "target", flat(ROWS, WIDTH));
    x = mf_build_linear(&b, "stem", m.x, WIDTH);
    for (int k = 0; k < 2; ++k) {
        int h;

        mf_build_block(&b, "blocks", k);
        h = mf_build_linear_first(&b, "fc1", mf_build_layer_norm(&b, "norm", x), 1, HIDDEN);
        h = mf_build_linear_second(&b, "fc2", mf_build_one(&b, MF_OP_GELU, "act", h), HIDDEN, WIDTH);
        x = mf_build_two(&b, MF_OP_ADD, "skip", x, mf_build_layer_norm(&b, "after", h));
    }
    mf_build_block(&b, NULL, 0);
    m.loss = mf_build_two(&b, MF_OP_SQUARED_LOSS, "loss", x, m.target);
    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    mf_pass_cast(m.list, c->type, 0);
    m.y = m.list->node[m.list->nodes - 1].in[0];
    m.net->value[m.y].kept = m.net->value[m.loss].kept = 1;
    if (c->fuse) mf_pass_fuse(m.list, c->recompute, MF_SCOPE_ALL);
    mf_pass_grad(m.list, 1, &m.loss, 1 << MF_SET_TRAINED | 1 << MF_SET_SPLIT);
    mf_pass_recompute(m.list, c->recompute, 0);
    mf_pass_fold(m.list);
    if (c->pieces && split && split->ranks > 1) partition(m.list, c, split);
    for (size_t v = 0; v < m.net->values; ++v) m.net->value[v].kept |= m.net->value[v].role == MF_ROLE_GRADIENT;
    CHECK_SAYS(mf_pass_plan(m.list, d->q) == MF_OK, "%s", mf_err_text());
    mf_pass_live(m.net);
    return m;
}

/* -- numbers: those of a place in the whole are the same in all runs -- */

static void put(const struct device *d, const struct model *m, struct mf_walk *walk, int v, uint32_t stream)
{
    static const struct mf_shard whole = {0};
    const struct mf_value *value = &m->net->value[v];
    const struct mf_runs runs = mf_shard_runs(value->weight ? &value->weight->shard : &whole, &value->shape);
    uint64_t seed = stream;
    float numbers[MOST];

    for (const char *c = value->name; *c; ++c) seed = 31 * seed + (unsigned char)*c;
    for (size_t i = 0; i < mf_shape_count(&value->shape); ++i)
        numbers[i] = 0.4F * (float)mf_random_normal(seed, stream, mf_runs_place(&runs, i));
    d->be->put(d->q, mf_walk_at(walk, m->list, v), numbers, mf_shape_bytes(&value->shape));
    d->be->sync(d->q);
}

static void get(const struct device *d, const struct model *m, struct mf_walk *walk, int v, float *to)
{
    d->be->get(d->q, to, mf_walk_at(walk, m->list, v), mf_shape_bytes(&m->net->value[v].shape));
    d->be->sync(d->q);
}

static struct mf_walk *run(const struct device *d, const struct model *m, const struct mf_walk_memory *memory,
                           const struct mf_exchanges *by)
{
    struct mf_walk *walk = NULL;

    if (mf_walk_open(&walk, m->net, d->q, MF_WALK_PLANNED, memory) != MF_OK) abort();
    mf_walk_exchange(walk, by);
    mf_walk_numbers(walk)[MF_NUMBER_ROWS] = ROWS;
    for (size_t v = 0; v < m->net->values; ++v)
        if (mf_value_is_weight(&m->net->value[v])) put(d, m, walk, (int)v, 1);
    put(d, m, walk, m->x, 2);
    put(d, m, walk, m->target, 2);
    mf_walk_run(walk, m->list);
    return walk;
}

/* -- comparison -- */

static void compare(const struct choice *c, const char *name, size_t n, const float *got, const float *want,
                    const struct mf_runs *runs)
{
    double off = 0, most = 1e-3;

    for (size_t i = 0; i < n; ++i) {
        const float right = want[mf_runs_place(runs, i)];

        off = fmax(off, fabs((double)got[i] - (double)right));
        most = fmax(most, fabs((double)right));
        if (isnan(got[i])) off = INFINITY;
    }
    CHECK_SAYS(off <= (c->type == MF_F32 ? 1e-5 : 4e-2) * most, "%s: off by %g of %g; recompute %d, fuse %d, type %d",
               name, off, most, (int)c->recompute, c->fuse, (int)c->type);
}

/* Outputs, and the gradient of every parameter. */
static void compare_all(const struct device *d, const struct choice *c, const struct model *whole,
                        struct mf_walk *alone, const struct model *part, struct mf_walk *walk)
{
    static const struct mf_runs all = {0};
    static float got[MOST], want[MOST];
    size_t compared = 0;

    get(d, whole, alone, whole->y, want);
    get(d, part, walk, part->y, got);
    compare(c, "y", ROWS * WIDTH, got, want, &all);
    for (size_t v = 0; v < part->net->values; ++v) {
        const struct mf_value *value = &part->net->value[v];
        struct mf_runs runs;
        int other;

        if (mf_value_gradient(value) < 0) continue;
        other = mf_value_find(whole->net, value->name);
        get(d, whole, alone, mf_value_gradient(&whole->net->value[other]), want);
        get(d, part, walk, mf_value_gradient(value), got);
        runs = mf_shard_runs(&value->weight->shard, &value->shape);
        compare(c, value->name, mf_shape_count(&value->shape), got, want, &runs);
        ++compared;
    }
    CHECK(compared == 2 + 2 * 8);
}

static void check(const struct device *d, const struct mf_comm *comm, const struct choice *c)
{
    const struct mf_partners split = {MF_GROUP_ALL, (size_t)comm->size, (size_t)comm->rank};
    struct model whole = make(d, NULL, c), part = make(d, &split, c);
    const size_t lasting = part.net->lasting[MF_PLACE_DEVICE], room = part.net->room[MF_PLACE_DEVICE];
    int64_t most = (int64_t)lasting;
    struct mf_walk_memory memory = {.lasting = {NULL}};
    struct mf_arrays *arrays = NULL;
    struct mf_walk *alone, *walk;

    mf_comm_max_int(comm, 1, &most);
    CHECK(mf_arrays_open(comm, d->q, (size_t)most + room, mf_list_largest(part.list, MF_GROUP_ALL), &arrays) == MF_OK);
    memory.lasting[MF_PLACE_DEVICE] = mf_arrays_memory(arrays);
    memory.room[MF_PLACE_DEVICE] = (char *)mf_arrays_memory(arrays) + most;
    alone = run(d, &whole, NULL, NULL);
    walk = run(d, &part, &memory, mf_arrays_exchanges(arrays));
    compare_all(d, c, &whole, alone, &part, walk);
    mf_walk_close(alone);
    mf_walk_close(walk);
    mf_arrays_close(arrays);
    mf_list_release(whole.list, d->q);
    mf_list_release(part.list, d->q);
    mf_net_free(whole.net);
    mf_net_free(part.net);
}

/* -- a pipeline: every node of a list belongs to some rank -- */

/* Two residual blocks: values pass by several ranks, to several of them, and back. */
static struct model make_forward(void)
{
    struct model m = {.net = mf_net_new()};
    struct mf_build b = {.list = mf_list_new(m.net, "stage")};
    int x;

    m.list = b.list;
    m.x = mf_build_input(&b, "x", flat(ROWS, INPUTS));
    x = mf_build_linear(&b, "stem", m.x, WIDTH);
    for (int k = 0; k < 4; ++k) {
        mf_build_block(&b, "blocks", k);
        x = mf_build_two(&b, MF_OP_ADD, "skip", x, mf_build_linear(&b, "fc", x, WIDTH));
    }
    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    m.y = x;
    m.net->value[x].kept = 1;
    return m;
}

/* Runs by 0: the ranks one after the other; by others: any rank. Returns the rank that makes the last value. */
static int cut(const struct model *m, const struct mf_comm *comm, int turn, unsigned char *link)
{
    const size_t n = m->list->nodes;
    int *stage = malloc(n * sizeof *stage), last;

    for (size_t i = 0; i < n; ++i) {
        uint32_t r[4];

        mf_random4((uint64_t)turn, 1, i, r);
        stage[i] = turn ? (int)(r[0] % (uint32_t)comm->size) : (int)(i * (size_t)comm->size / n);
    }
    last = stage[n - 1];
    mf_pass_stage(m->list, stage, comm->rank, (size_t)comm->size, 0, link, NULL);
    free(stage);
    return last;
}

static void open_links(const struct mf_comm *comm, const unsigned char *link, struct mf_arrays *arrays,
                       struct mf_rank_groups *links)
{
    int colour[64];

    for (int a = 0; a < comm->size; ++a)
        for (int b = 0; b < a; ++b) {
            const int number = mf_link_group(a, b);

            if (!link[a * comm->size + b]) continue;
            for (int r = 0; r < comm->size; ++r) colour[r] = r == a || r == b ? 0 : -1;
            CHECK_SAYS(mf_rank_groups_split(links, comm, number, colour, "link") == MF_OK, "%s", mf_err_text());
            if (colour[comm->rank] == 0)
                CHECK(mf_arrays_join(arrays, number, mf_rank_groups_find(links, number), MOST) == MF_OK);
        }
}

static void pipeline(const struct device *d, const struct mf_comm *comm, int turn)
{
    struct model whole = make_forward(), part = make_forward();
    unsigned char *link = calloc((size_t)comm->size * (size_t)comm->size, 1);
    const int last = cut(&part, comm, turn, link);
    const struct model *both[] = {&whole, &part};
    struct mf_rank_groups links = {0};
    struct mf_arrays *arrays = NULL;
    struct mf_walk *walk[2] = {NULL};
    float want[ROWS * WIDTH], got[ROWS * WIDTH];

    CHECK(mf_arrays_open(comm, d->q, 64, 64, &arrays) == MF_OK);
    open_links(comm, link, arrays, &links);
    for (int k = 0; k < 2; ++k) {
        CHECK(mf_pass_plan(both[k]->list, d->q) == MF_OK);
        mf_pass_live(both[k]->net);
        if (mf_walk_open(&walk[k], both[k]->net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
        for (size_t v = 0; v < both[k]->net->values; ++v)
            if (both[k]->net->value[v].lasting) put(d, both[k], walk[k], (int)v, 1);
    }
    mf_walk_exchange(walk[1], mf_arrays_exchanges(arrays));
    for (uint32_t again = 0; again < 3; ++again) {
        for (int k = 0; k < 2; ++k) {
            if (k == 0 || mf_list_uses(part.list, part.x)) put(d, both[k], walk[k], both[k]->x, again);
            mf_walk_run(walk[k], both[k]->list);
        }
        get(d, &whole, walk[0], whole.y, want);
        if (comm->rank == last) get(d, &part, walk[1], part.y, got);
        CHECK(comm->rank != last || memcmp(want, got, sizeof want) == 0);
    }
    for (int k = 0; k < 2; ++k) mf_walk_close(walk[k]);
    mf_arrays_close(arrays);
    mf_rank_groups_close(&links);
    for (int k = 0; k < 2; ++k) {
        mf_list_release(both[k]->list, d->q);
        mf_net_free(both[k]->net);
    }
    free(link);
}

int main(int argc, char **argv)
{
    const char *exchange = getenv("MF_TEST_EXCHANGE");
    struct mf_comm c;
    struct device d;

    CHECK(mf_comm_open(&c, &argc, &argv, "test") == MF_OK);
    device_number = exchange ? c.rank : 0;
    d = device_open(1, 0, 0);
    CHECK_SAYS(mf_transport_open(&c, d.q, exchange ? mf_exchange_of(exchange) : MF_EXCHANGE_HOST) == MF_OK, "%s",
               mf_err_text());
    for (int how = MF_RECOMPUTE_NONE; how <= MF_RECOMPUTE_BLOCKS; ++how)
        for (int fuse = 0; fuse < 2; ++fuse) {
            check(&d, &c, &(struct choice){(enum mf_recompute)how, fuse, MF_F32, fuse});
            check(&d, &c, &(struct choice){(enum mf_recompute)how, fuse, MF_BF16, !fuse});
        }
    for (int turn = 0; turn < 6; ++turn) pipeline(&d, &c, turn);
    mf_transport_close(&c);
    device_close(&d);
    mf_comm_close(&c);
    return failures != 0;
}
