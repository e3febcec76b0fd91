/* Experts on several ranks compute what they compute on one: outputs, and gradients of all that is trained. It
 * does not matter how many rounds there are, or whether a rank has no rows. Neither does the layout of memory, nor what
 * is computed again. */
#include <stdlib.h>
#include <string.h>

#include "mpi/arrays.h"
#include "mpi/nccl_transport.h"
#include "mpi/rank_groups.h"
#include "src/base/cut.h"
#include "src/base/rng.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/net/rounds.h"
#include "src/net/walk.h"
#include "tests/device.h"
#include "tests/unit/list_text.h"

enum { ROWS = 12, TOP = 2, INPUTS = 3, COLUMNS = 5, HIDDEN = 7, OUTPUTS = 4, EXPERTS = 5, NUMBERS = 4096 };

enum routing { MIXED, ONE_EXPERT, EMPTY_RANK, NOBODY, ROUTINGS };

struct choice {
    enum routing routing;
    size_t room; /* rows of a round; 0: as many as usual */
    enum mf_recompute recompute;
    enum mf_walk_mode mode;
    int fuse, twice;   /* twice: a second pass adds to the gradients of the first */
    size_t spill;      /* activations of so many bytes wait in host memory */
    int hunt;          /* the walk looks at what nodes write */
    enum mf_type type; /* of activations */
    int sums;          /* gradients are summed over ranks beside backward */
    int gathers;       /* experts' parameters are gathered before they are read; where nobody else has them */
};

struct model {
    struct mf_net *net;
    struct mf_list *list;
    int x, choice, target, y, loss;
    int stem, weights, expert[4]; /* parameters */
    struct mf_layout layout;      /* of gradients that are summed */
};

/* The ranks of a run; alone: one, with the rows of all. */
struct crew {
    struct device *d;
    const struct mf_comm *all;
    const struct mf_comm *experts, *replicas; /* NULL: no rank shares experts */
    size_t rows, first;                       /* of this rank */
};

static struct mf_shape shape(enum mf_type type, size_t a, size_t b, size_t c)
{
    return (struct mf_shape){.type = type, .n = 1 + (b > 0) + (c > 0), .d = {a, b, c}};
}

/* -- the model -- */

static struct mf_span own_experts(const struct crew *crew)
{
    if (!crew->experts) return (struct mf_span){0, EXPERTS};
    return mf_cut(EXPERTS, (size_t)crew->experts->size, (size_t)crew->experts->rank);
}

static int second(const struct mf_build *b) { return b->list->node[b->list->nodes - 1].out[1]; }

static int parameter(struct mf_build *b, const char *name, struct mf_shape of)
{
    return mf_build_parameter(b, name, of, MF_START_NUMBER, 0);
}

enum { SHARED, EXPERT, OF_ROWS }; /* sets of parameters */

/* Two layers on rows by expert. */
static int layers(struct mf_build *b, struct model *m, const struct crew *crew, int rows, int offsets, int groups)
{
    const size_t own = own_experts(crew).count, width[] = {COLUMNS, HIDDEN, OUTPUTS};

    b->set = EXPERT;
    for (size_t i = 0; i < 2; ++i) {
        int in[4] = {rows, -1, -1, offsets};

        in[1] = m->expert[2 * i] = parameter(b, i ? "w1" : "w0", shape(MF_F32, own, width[i + 1], width[i]));
        in[2] = m->expert[2 * i + 1] = parameter(b, i ? "b1" : "b0", shape(MF_F32, own, width[i + 1], 0));
        rows = mf_build_node(b, MF_OP_GROUPED_LINEAR, (struct mf_attr){.row_groups = groups}, i ? "up" : "down", 4, in);
        if (i == 0) rows = mf_build_one(b, MF_OP_GELU, "act", rows);
    }
    return rows;
}

static size_t room_of(const struct crew *crew, const struct choice *c)
{
    if (c->room) return c->room;
    return mf_rounds_room(ROWS * TOP, (size_t)crew->experts->size, own_experts(crew).count, EXPERTS, 1.25);
}

static int experts(struct mf_build *b, struct model *m, const struct crew *crew, const struct choice *c, int rows,
                   int places)
{
    const struct mf_span own = own_experts(crew);
    const struct mf_attr out = {.group = MF_GROUP_EXPERTS,
                                .ways = crew->experts ? crew->experts->size : 0,
                                .first_expert = own.first,
                                .own_experts = (int)own.count,
                                .room = crew->experts ? room_of(crew, c) : 0};
    int offsets;

    if (!crew->experts) return layers(b, m, crew, rows, places, EXPERTS);
    b->region = ++b->list->regions;
    rows = mf_build_node(b, MF_OP_TRADE, out, "there", 2, (const int[]){rows, places});
    offsets = second(b);
    rows = layers(b, m, crew, rows, offsets, out.ways * out.own_experts);
    rows = mf_build_node(b, MF_OP_TRADE_BACK, (struct mf_attr){.group = MF_GROUP_EXPERTS, .room = crew->rows * TOP},
                         "back", 2, (const int[]){rows, places});
    b->region = 0;
    return rows;
}

static void forward(struct mf_build *b, struct model *m, const struct crew *crew, const struct choice *c)
{
    int in[3], rows;

    m->x = mf_build_input(b, "x", shape(MF_F32, crew->rows, INPUTS, 0));
    m->choice = mf_build_input(b, "choice", shape(MF_I32, crew->rows, TOP, 0));
    m->target = mf_build_input(b, "target", shape(MF_F32, crew->rows, OUTPUTS, 0));
    b->set = OF_ROWS;
    m->weights = parameter(b, "weights", shape(MF_F32, crew->rows, TOP, 0));
    b->set = SHARED;
    mf_build_segment(b, 1);
    rows = mf_build_linear(b, "stem", m->x, COLUMNS);
    m->stem = mf_value_find(m->net, "stem.weight");
    rows = mf_build_node(b, MF_OP_PERMUTE, (struct mf_attr){.experts = EXPERTS}, "rows", 2,
                         (const int[]){rows, m->choice});
    in[1] = m->weights;
    in[2] = second(b);
    in[0] = experts(b, m, crew, c, rows, in[2]);
    m->y = mf_build_node(b, MF_OP_COMBINE, (struct mf_attr){0}, "sum", 3, in);
    mf_build_segment(b, 0);
    m->loss = mf_build_two(b, MF_OP_SQUARED_LOSS, "loss", m->y, m->target);
}

/* In small buckets. */
static void add_sums(struct model *m)
{
    m->layout = (struct mf_layout){.pieces = 1};
    mf_pass_layout(m->list, 1 << SHARED, 64, &m->layout);
    m->layout.group = MF_GROUP_REPLICAS;
    mf_pass_layout(m->list, 1 << EXPERT, 256, &m->layout);
    mf_pass_reduce(m->list, &m->layout, 1);
    mf_pass_reduced(m->list, &m->layout);
}

/* Stage 3 of ZeRO, of one rank. */
static void add_gathers(struct model *m)
{
    m->layout = (struct mf_layout){.stage = 3, .pieces = 1, .group = MF_GROUP_REPLICAS};
    mf_pass_layout(m->list, 1 << EXPERT, 256, &m->layout);
    mf_pass_clear(m->list, &m->layout);
    mf_pass_reduce(m->list, &m->layout, 1);
    mf_pass_fetch(m->list, &m->layout);
    for (size_t k = 0; k < m->layout.buckets; ++k) m->net->value[m->layout.bucket[k].own_gradients].kept = 1;
}

static int gradient_of(const struct model *m, int v) { return mf_value_gradient(&m->net->value[v]); }

static struct model make(const struct crew *crew, const struct choice *c)
{
    struct model m = {.net = mf_net_new()};
    struct mf_build b = {.list = mf_list_new(m.net, "train")};

    m.list = b.list;
    forward(&b, &m, crew, c);
    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    mf_pass_cast(m.list, c->type, 0);
    m.y = m.list->node[m.list->nodes - 1].in[0]; /* in f32 */
    m.net->value[m.y].kept = m.net->value[m.loss].kept = 1;
    if (c->fuse) mf_pass_fuse(m.list, c->recompute, MF_SCOPE_ALL);
    mf_pass_grad(m.list, 1, &m.loss, 1 << SHARED | 1 << EXPERT | 1 << OF_ROWS);
    mf_pass_rerun(m.list, c->recompute);
    mf_pass_recompute(m.list, c->recompute, c->gathers);
    mf_pass_fold(m.list);
    mf_pass_spill(m.list, c->spill);
    if (c->twice) mf_pass_accumulate(m.list);
    if (c->sums) add_sums(&m);
    if (c->gathers) add_gathers(&m);
    for (size_t v = 0; v < m.net->values && !c->gathers; ++v)
        m.net->value[v].kept |= m.net->value[v].role == MF_ROLE_GRADIENT;
    m.net->value[gradient_of(&m, m.stem)].kept = m.net->value[gradient_of(&m, m.weights)].kept = 1;
    CHECK_SAYS(mf_pass_plan(m.list, crew->d->q) == MF_OK, "%s", mf_err_text());
    mf_pass_live(m.net);
    return m;
}

static void drop(struct model *m, struct device *d)
{
    mf_list_release(m->list, d->q);
    mf_layout_free(&m->layout);
    mf_net_free(m->net);
}

/* -- numbers: those of a row, or of a part of a parameter, are the same in all runs -- */

/* Where a parameter, or a gradient, is before and after a walk: of what is gathered in the own piece. */
static void *home_of(const struct model *m, struct mf_walk *walk, int v)
{
    size_t shift;
    const int root = mf_value_root(m->net, v, &shift);

    for (size_t k = 0; m->layout.stage == 3 && k < m->layout.buckets; ++k) {
        const struct mf_bucket *b = &m->layout.bucket[k];

        if (root == b->parameters) return (char *)mf_walk_at(walk, m->list, b->own_parameters) + shift;
        if (root == b->gradients) return (char *)mf_walk_at(walk, m->list, b->own_gradients) + shift;
    }
    return mf_walk_at(walk, m->list, v);
}

static void put(const struct crew *crew, const struct model *m, struct mf_walk *walk, int v, const void *from)
{
    crew->d->be->put(crew->d->q, home_of(m, walk, v), from, mf_shape_bytes(&m->net->value[v].shape));
}

/* Normal numbers [first, ...) of stream @p stream. */
static void put_numbers(const struct crew *crew, const struct model *m, struct mf_walk *walk, int v, uint32_t stream,
                        size_t first)
{
    const size_t n = mf_shape_count(&m->net->value[v].shape);
    float x[NUMBERS];

    CHECK(n <= NUMBERS);
    for (size_t i = 0; i < n; ++i) x[i] = (float)mf_random_normal(5, stream, first + i) * (stream > 3 ? 0.4F : 1);
    put(crew, m, walk, v, x);
}

/* Numbers of an expert in one of its parameters. */
static size_t each(const struct model *m, int v)
{
    return mf_shape_count(&m->net->value[v].shape) / m->net->value[v].shape.d[0];
}

static int expert_of(const struct choice *c, size_t row, size_t j)
{
    if (c->routing == NOBODY || (c->routing == EMPTY_RANK && row / ROWS == 0)) return -1;
    if (c->routing == ONE_EXPERT) return EXPERTS - 1;
    return (int)((row * row + 3 * j + row / 5) % EXPERTS);
}

static void feed(const struct crew *crew, const struct model *m, const struct choice *c, struct mf_walk *walk)
{
    int32_t choice[4 * ROWS * TOP];

    for (size_t i = 0; i < crew->rows * TOP; ++i) choice[i] = expert_of(c, crew->first + i / TOP, i % TOP);
    put(crew, m, walk, m->choice, choice);
    put_numbers(crew, m, walk, m->x, 1, crew->first * INPUTS);
    put_numbers(crew, m, walk, m->target, 2, crew->first * OUTPUTS);
    put_numbers(crew, m, walk, m->weights, 3, crew->first * TOP);
    put_numbers(crew, m, walk, m->stem, 4, 0);
    for (int i = 0; i < 4; ++i)
        put_numbers(crew, m, walk, m->expert[i], 5 + (uint32_t)i, own_experts(crew).first * each(m, m->expert[i]));
}

/* -- results: output, gradients of the stem, of the weights, and of the experts -- */

enum { RESULTS = 7 };

static void get(const struct crew *crew, const struct model *m, struct mf_walk *walk, int v, float *to)
{
    crew->d->be->get(crew->d->q, to, home_of(m, walk, v), mf_shape_bytes(&m->net->value[v].shape));
}

static const struct mf_exchanges *inner;
static size_t settled; /* times the host waits for exchanges */

static void count_settle(void *context)
{
    ++settled;
    inner->settle(context);
}

/* The exchanges of @p arrays, whose waits are counted. */
static const struct mf_exchanges *counted(struct mf_arrays *arrays)
{
    static struct mf_exchanges table;

    inner = mf_arrays_exchanges(arrays);
    table = *inner;
    table.settle = count_settle;
    settled = 0;
    return &table;
}

/* The walk's memory is where the ranks exchange arrays. The room begins at the same place on all. */
static void open_arrays(const struct crew *crew, const struct model *m, struct mf_arrays **arrays,
                        struct mf_walk_memory *memory)
{
    const size_t room = m->net->room[MF_PLACE_DEVICE];
    int64_t lasting = (int64_t)m->net->lasting[MF_PLACE_DEVICE];

    mf_comm_max_int(crew->all, 1, &lasting);
    CHECK(mf_arrays_open(crew->all, crew->d->q, (size_t)lasting + room, mf_list_largest(m->list, MF_GROUP_ALL),
                         arrays) == MF_OK);
    CHECK(mf_arrays_join(*arrays, MF_GROUP_EXPERTS, crew->experts, mf_list_largest(m->list, MF_GROUP_EXPERTS)) ==
          MF_OK);
    CHECK(mf_arrays_join(*arrays, MF_GROUP_REPLICAS, crew->replicas, mf_list_largest(m->list, MF_GROUP_REPLICAS)) ==
          MF_OK);
    memory->lasting[MF_PLACE_DEVICE] = mf_arrays_memory(*arrays);
    memory->room[MF_PLACE_DEVICE] = (char *)mf_arrays_memory(*arrays) + lasting;
}

static void run(const struct crew *crew, const struct choice *c, float result[RESULTS][NUMBERS], size_t *rounds)
{
    struct model m = make(crew, c);
    struct mf_walk *walk = NULL;
    struct mf_walk_memory memory = {.lasting = {NULL}};
    struct mf_arrays *arrays = NULL;
    const int v[RESULTS] = {m.y, m.stem, m.weights, m.expert[0], m.expert[1], m.expert[2], m.expert[3]};

    if (crew->experts) open_arrays(crew, &m, &arrays, &memory);
    if (mf_walk_open(&walk, m.net, crew->d->q, c->mode, &memory) != MF_OK) abort();
    if (arrays) mf_walk_exchange(walk, counted(arrays));
    mf_walk_numbers(walk)[MF_NUMBER_ROWS] = ROWS * crew->all->size;
    if (c->hunt) mf_walk_hunt(walk, 1);
    for (int k = 0; k <= 2 * c->twice; ++k) {
        feed(crew, &m, c, walk);
        mf_walk_run(walk, m.list);
    }
    CHECK_SAYS(!mf_walk_bad(walk), "node '%s' wrote what is not finite", mf_walk_bad(walk)->name);
    for (int i = 0; i < RESULTS; ++i) get(crew, &m, walk, i ? gradient_of(&m, v[i]) : v[i], result[i]);
    *rounds = mf_walk_rounds(walk, m.list);
    mf_walk_close(walk);
    mf_arrays_close(arrays);
    drop(&m, crew->d);
}

/* -- comparison -- */

static void compare(const struct choice *c, int ways, int i, size_t n, const float *got, const float *want)
{
    float most = 1, off = 0;

    for (size_t k = 0; k < n; ++k) {
        const float size = want[k] < 0 ? -want[k] : want[k], difference = got[k] - want[k];

        if (size > most) most = size;
        if (!(difference <= off && -difference <= off)) off = difference < 0 ? -difference : difference;
    }
    CHECK_SAYS(off <= (c->type == MF_F32 ? 1e-6F : 2e-2F) * most,
               "result %d is off by %g of %g: ways %d, routing %d, room %zu, recompute %d, fuse %d", i, (double)off,
               (double)most, ways, (int)c->routing, c->room, (int)c->recompute, c->fuse);
}

/* Every rank computes alone what all do together. Returns the rounds. */
static size_t check(const struct crew *crew, const struct choice *c)
{
    static float want[RESULTS][NUMBERS], got[RESULTS][NUMBERS];
    const struct crew alone = {crew->d, crew->all, NULL, NULL, ROWS * (size_t)crew->all->size, 0};
    const struct choice plain = {.routing = c->routing, .type = c->type, .fuse = c->fuse, .twice = c->twice};
    const struct mf_span own = own_experts(crew);
    const size_t n[4] = {HIDDEN * COLUMNS, HIDDEN, OUTPUTS * HIDDEN, OUTPUTS};
    size_t rounds;

    run(&alone, &plain, want, &rounds);
    run(crew, c, got, &rounds);
    if (!c->sums) mf_comm_sum_float(crew->all, INPUTS * COLUMNS, got[1]);
    compare(c, crew->experts->size, 0, ROWS * OUTPUTS, got[0], want[0] + crew->first * OUTPUTS);
    compare(c, crew->experts->size, 1, INPUTS * COLUMNS, got[1], want[1]);
    compare(c, crew->experts->size, 2, ROWS * TOP, got[2], want[2] + crew->first * TOP);
    for (int i = 0; i < 4; ++i) {
        if (!c->sums) mf_comm_sum_float(crew->replicas, n[i] * own.count, got[3 + i]);
        compare(c, crew->experts->size, 3 + i, n[i] * own.count, got[3 + i], want[3 + i] + n[i] * own.first);
    }
    return rounds;
}

static void check_all(const struct crew *crew)
{
    const size_t ways = (size_t)crew->experts->size, all = ROWS * TOP * ways;
    const int some = crew->d->be->host_mem && !getenv("MF_LONG"); /* emulated: every pair of two choices is there */

    for (int routing = 0; routing < ROUTINGS; ++routing)
        for (int how = 0; how <= MF_RECOMPUTE_BLOCKS; ++how)
            for (int k = 0; k < 3; ++k) {
                if (some && (routing + how + k) % 3) continue;
                const int gathers = routing == MIXED && k == 2 && crew->replicas->size == 1;
                const int planned = crew->d->be->host_mem || routing % 2 || gathers;
                const struct choice c = {.routing = (enum routing)routing,
                                         .type = (routing == EMPTY_RANK && k) || (gathers && how) ? MF_BF16 : MF_F32,
                                         .room = k == 0   ? 0
                                                 : k == 1 ? all / 3
                                                          : ways,
                                         .recompute = (enum mf_recompute)how,
                                         .mode = planned ? MF_WALK_PLANNED : MF_WALK_CHECKED,
                                         .fuse = (how + k) % 2,
                                         .twice = k == 1,
                                         .spill = routing == MIXED ? 64 : 0,
                                         .hunt = routing == EMPTY_RANK,
                                         .sums = routing == ONE_EXPERT && k != 1,
                                         .gathers = gathers};
                const size_t rounds = check(crew, &c);

                if (routing == NOBODY) CHECK(rounds == 1);
                if (how == MF_RECOMPUTE_NONE && rounds == 1 && !c.twice)
                    CHECK_SAYS(settled == 2, "the host waits %zu times", settled); /* for offsets, and at the end */
                if (routing == ONE_EXPERT && k == 1) CHECK_SAYS(rounds == 3, "%zu rounds", rounds);
                if (routing == ONE_EXPERT && k == 2) CHECK_SAYS(rounds == ROWS * TOP, "%zu rounds", rounds);
            }
}

/* The list, in the text of @p path. */
static void check_text(struct device *d, const char *path)
{
    const struct mf_comm second = {.rank = 1, .size = 2};
    struct mf_comm alone;
    const struct crew crew = {d, &alone, &second, &alone, 2, 0};
    char *got;
    size_t n;
    FILE *file = open_memstream(&got, &n);

    for (int how = 0; how <= MF_RECOMPUTE_BLOCKS; how += MF_RECOMPUTE_BLOCKS) {
        const struct choice c = {.recompute = (enum mf_recompute)how, .fuse = 1, .room = 3};
        struct model m = make(&crew, &c);

        mf_list_print(m.list, file, 1);
        drop(&m, d);
    }
    fclose(file);
    check_list_text(got, path);
    free(got);
}

static void check_ways(struct device *d, const struct mf_comm *comm, int ways)
{
    struct mf_rank_groups groups = {0};
    struct crew crew = {.d = d, .all = comm, .rows = ROWS, .first = ROWS * (size_t)comm->rank};

    CHECK_SAYS(mf_rank_groups_share_experts(&groups, comm, ways, 1) == MF_OK, "%s", mf_err_text());
    crew.experts = mf_rank_groups_find(&groups, MF_GROUP_EXPERTS);
    crew.replicas = mf_rank_groups_find(&groups, MF_GROUP_REPLICAS);
    check_all(&crew);
    mf_rank_groups_close(&groups);
}

/* @p argv[1]: the golden text; none: it is not compared */
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
    for (int ways = 1; ways <= c.size; ++ways)
        if (c.size % ways == 0) check_ways(&d, &c, ways);
    if (argc > 1 && !d.be->host_mem && c.rank == 0) check_text(&d, argv[1]);
    mf_transport_close(&c);
    device_close(&d);
    mf_comm_close(&c);
    return failures != 0;
}
