/* Lists of small networks (net_case.h).
 * Passes are compared by their text, gradients with finite differences. Bits do not depend on the places of memory, nor
 * on what is computed again. Micro-batches add up. */
#include <dlfcn.h>

#include "src/base/phase.h"
#include "tests/unit/net_case.h"

/* Launches of kernels on the emulator so far. */
static long launches(void)
{
    void *emulator = dlopen("libemu_cudart.so", RTLD_LAZY | RTLD_NOLOAD);
    const long *calls = emulator ? dlsym(emulator, "mf_emu_calls") : NULL;

    if (emulator) dlclose(emulator);
    return calls ? *calls : 0;
}

/* A device makes the calls of two steps and replays them in the third, with the numbers of that step. Where phases are
 * timed it makes all calls. */
static void check_replay(const struct device *d, const struct choice *c)
{
    static float want[NUMBERS], got[NUMBERS];
    long before = launches(), all;
    size_t n;

    mf_phases_open(1, 0);
    n = train(d, c, MF_WALK_PLANNED, want);
    mf_phases_open(0, 0);
    all = launches() - before;
    before += all;
    CHECK(train(d, c, MF_WALK_PLANNED, got) == n);
    CHECK_SAYS(memcmp(got, want, n * sizeof *got) == 0, "model %d: a replay has other bits", c->model);
    CHECK_SAYS(3 * (launches() - before) == 2 * all, "model %d: %ld launches of %ld", c->model, launches() - before,
               all);
}

/* Training a part of the model alone, the third step makes fewer calls, and not none. */
static void check_replay_of_router(const struct device *d)
{
    static float want[NUMBERS], got[NUMBERS];
    struct choice c = usual;
    long before = launches(), whole, part;
    size_t n;

    c.model = EXPERTS;
    n = train(d, &c, MF_WALK_PLANNED, want);
    whole = launches() - before;
    c.scope = MF_SCOPE_GATE;
    train(d, &c, MF_WALK_PLANNED, got);
    part = launches() - before - whole;
    CHECK(memcmp(got, want, n * sizeof *got) == 0);
    CHECK_SAYS(part > whole && 2 * part < 3 * whole, "%ld launches, %ld where all is replayed", part, whole);
}

/* However memory is laid out, and whatever is computed again. */
static void check_bits(struct device *d, const struct choice *base)
{
    static float want[NUMBERS], got[NUMBERS];
    struct choice c = *base;
    const size_t n = train(d, &c, MF_WALK_PLANNED, want);

    CHECK(n > 500 && isfinite(want[n - 1]));
    for (int how = MF_RECOMPUTE_NONE; how <= MF_RECOMPUTE_BLOCKS; ++how)
        for (int fuse = base->model == DENOISER; fuse < 2; ++fuse) /* a norm that is modulated rounds otherwise */
            for (int mode = 0; mode < (d->be->host_mem ? 1 : 2); ++mode) {
                c.recompute = (enum mf_recompute)how;
                c.fuse = fuse;
                CHECK(train(d, &c, (enum mf_walk_mode)mode, got) == n);
                CHECK_SAYS(memcmp(got, want, n * sizeof *got) == 0, "recompute %d, fuse %d, mode %d: other bits", how,
                           fuse, mode);
            }
    c = *base;
    c.fold = 0; /* sums in another order */
    train(d, &c, MF_WALK_PLANNED, got);
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(got[i], want[i], 1e-4);
    d->q->threads = 3;
    train(d, base, MF_WALK_PLANNED, got);
    d->q->threads = 1;
    CHECK(memcmp(got, want, n * sizeof *got) == 0);
}

/* Along the gradient the loss rises by its squared norm. */
static void check_slope(const struct device *d, const struct choice *base)
{
    struct choice c = *base;
    struct model m;
    struct mf_walk *walk = NULL;
    static float x[NUMBERS], g[NUMBERS], moved[NUMBERS];
    double norm = 0, loss[2];
    size_t n;

    c.adamw = c.stop = 0; /* what is stopped has a slope, too */
    m = make(&c, d->q);
    if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
    start(d, walk, &m);
    set_numbers(walk, 1);
    feed(d, walk, &m, 0, ROWS);
    mf_walk_run(walk, m.list);
    n = gather(d, walk, &m, 1, g);
    gather(d, walk, &m, 0, x);
    for (size_t i = 0; i < n; ++i) norm += (double)g[i] * g[i];
    CHECK_NEAR(norm_of(d, walk, &m), sqrt(norm), 1e-9 * sqrt(norm));
    for (int side = 0; side < 2; ++side) {
        size_t at = 0;

        for (size_t i = 0; i < n; ++i) moved[i] = x[i] + (float)((side ? 1 : -1) * 0.01 / sqrt(norm)) * g[i];
        for (size_t v = 0; v < m.net->values; ++v)
            if (mf_value_gradient(&m.net->value[v]) >= 0) {
                put(d, walk, &m, (int)v, moved + at);
                at += mf_shape_count(&m.net->value[v].shape);
            }
        feed(d, walk, &m, 0, ROWS);
        mf_walk_run(walk, m.list);
        loss[side] = loss_of(d, walk, &m);
    }
    CHECK_NEAR((loss[1] - loss[0]) / 0.02, sqrt(norm), 2e-3 * sqrt(norm));
    mf_walk_close(walk);
    drop_model(&m, d->q);
}

/* The gradient of a batch, and of its quarters added up. */
static void check_accumulation(const struct device *d, const struct choice *base)
{
    static float whole[NUMBERS], sum[NUMBERS];
    size_t n = 0;

    for (int parts = 1; parts <= 4; parts += 3) {
        struct choice c = *base;
        struct model m;
        struct mf_walk *walk = NULL;
        double loss = 0;

        c.adamw = 0;
        c.rows = ROWS / (size_t)parts;
        c.accumulate = parts > 1;
        m = make(&c, d->q);
        if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
        start(d, walk, &m);
        set_numbers(walk, 1);
        for (int k = 0; k < parts; ++k) {
            feed(d, walk, &m, (size_t)k * c.rows, c.rows);
            mf_walk_run(walk, m.list);
            loss += loss_of(d, walk, &m);
        }
        n = gather(d, walk, &m, 1, parts == 1 ? whole : sum);
        CHECK_NEAR(loss, 1.9, 1); /* of five classes */
        mf_walk_close(walk);
        drop_model(&m, d->q);
    }
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(sum[i], whole[i], 2e-6);
}

/* A hunt names nobody for rows that nobody wrote. */
static void check_hunt(const struct device *d)
{
    for (int fuse = 0; fuse < 2; ++fuse) {
        struct choice c = usual;
        struct model m;
        struct mf_walk *walk = NULL;

        c.model = EXPERTS;
        c.fuse = fuse;
        m = make(&c, d->q);
        if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
        start(d, walk, &m);
        set_numbers(walk, 1);
        feed(d, walk, &m, 0, ROWS);
        mf_walk_numbers(walk)[MF_NUMBER_SAMPLES] = ROWS - 3;
        mf_walk_hunt(walk, 1);
        mf_walk_run(walk, m.list);
        CHECK_SAYS(!mf_walk_bad(walk), "%s is named", mf_walk_bad(walk)->name);
        mf_walk_close(walk);
        drop_model(&m, d->q);
    }
}

/* Planned memory is little more than what lives at one time, and less where activations are computed again. */
static void check_memory(const struct device *d)
{
    size_t room[3];

    for (int how = MF_RECOMPUTE_NONE; how <= MF_RECOMPUTE_BLOCKS; ++how) {
        struct choice c = usual;
        struct model m;

        c.recompute = (enum mf_recompute)how;
        m = make(&c, d->q);
        CHECK_SAYS((double)m.list->room[0] <= 1.1 * (double)m.list->floor[0], "room %zu, floor %zu", m.list->room[0],
                   m.list->floor[0]);
        room[how] = m.list->room[0];
        drop_model(&m, d->q);
    }
    CHECK(room[MF_RECOMPUTE_BLOCKS] <= room[MF_RECOMPUTE_NONE]);
}

enum { LISTS = 20 };

/* A net with a list for each number of rows from 1 on, which share weights. */
static void build_lists(struct mf_net *net, int x[], int y[])
{
    for (size_t k = 0; k < LISTS; ++k) {
        struct mf_build b = {.list = mf_list_new(net, "rows")};

        x[k] = mf_build_input(&b, "x", flat(k + 1, COLUMNS));
        y[k] = mf_build_linear(&b, "head", mf_build_one(&b, MF_OP_GELU, "act", x[k]), CLASSES);
        CHECK(mf_build_end(&b) == MF_OK);
        net->value[y[k]].kept = 1;
    }
}

/* All lists say the same of a row, and stand in the memory of the largest. */
static void check_lists(const struct device *d)
{
    struct mf_net *net = mf_net_new();
    struct mf_walk *walk = NULL;
    int x[LISTS], y[LISTS];
    float numbers[LISTS * COLUMNS], got[LISTS][LISTS * CLASSES];

    build_lists(net, x, y);
    for (size_t k = 0; k < LISTS; ++k) CHECK(mf_pass_plan(net->list[k], d->q) == MF_OK);
    mf_pass_live(net);
    CHECK(net->lists == LISTS && net->room[0] == net->list[LISTS - 1]->room[0]);
    if (mf_walk_open(&walk, net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
    for (size_t i = 0; i < LISTS * COLUMNS; ++i) numbers[i] = (float)mf_random_normal(3, 2, i);
    d->be->put(d->q, mf_walk_at(walk, net->list[0], mf_value_find(net, "head.weight")), numbers,
               CLASSES * COLUMNS * sizeof(float));
    for (size_t k = 0; k < LISTS; ++k) {
        d->be->put(d->q, mf_walk_at(walk, net->list[k], x[k]), numbers, (k + 1) * COLUMNS * sizeof(float));
        mf_walk_run(walk, net->list[k]);
        d->be->get(d->q, got[k], mf_walk_at(walk, net->list[k], y[k]), (k + 1) * CLASSES * sizeof(float));
        d->be->sync(d->q);
        for (size_t i = 0; k && i < k * CLASSES; ++i) CHECK_NEAR(got[k][i], got[k - 1][i], 1e-5);
    }
    mf_walk_close(walk);
    for (size_t k = 0; k < LISTS; ++k) mf_list_release(net->list[k], d->q);
    mf_net_free(net);
}

/* Norm, modulate and activation become one node. A loss by distribution matching has a gradient by its samples alone.
 */
static void check_denoiser(void)
{
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "train")};
    const int x = mf_build_linear(&b, "made", mf_build_input(&b, "x", flat(3, 4)), 4);
    const int real = mf_build_linear(&b, "real", x, 4), other = mf_build_linear(&b, "other", x, 4);
    const int loss = mf_build_match_loss(&b, "loss", x, real, other), st = mf_build_linear(&b, "affine", x, 8);

    mf_build_one(&b, MF_OP_SILU, "act", mf_build_two(&b, MF_OP_MODULATE, "m", mf_build_group_norm(&b, "n", x, 2), st));
    CHECK(mf_build_end(&b) == MF_OK);
    CHECK(mf_pass_fuse(b.list, MF_RECOMPUTE_NONE, MF_SCOPE_ALL) == 2);
    mf_pass_grad(b.list, 1, &loss, 1U << MF_SET_TRAINED);
    CHECK(mf_value_find(net, "made.weight.grad") >= 0);
    CHECK(mf_value_find(net, "real.weight.grad") < 0 && mf_value_find(net, "other.weight.grad") < 0);
    mf_net_free(net);
}

/* A view of a parameter is no other weight. Its gradient is the parameter's. */
static void check_views(void)
{
    struct choice c = usual;
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "views")};
    const int x = mf_build_input(&b, "x", (struct mf_shape){.type = MF_F32, .n = 3, .d = {2, 3, 8}});
    const int loss = mf_build_two(&b, MF_OP_SQUARED_LOSS, "loss", placed(&b, x, &c), x);
    size_t weights = 0, gradients = 0;

    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    mf_pass_grad(b.list, 1, &loss, 1);
    for (size_t v = 0; v < net->values; ++v) {
        weights += mf_value_is_weight(&net->value[v]) != 0;
        gradients += mf_value_gradient(&net->value[v]) >= 0;
    }
    CHECK_SAYS(weights == 1 && gradients == 1, "%zu weights, %zu gradients", weights, gradients);
    mf_net_free(net);
}

/* Refusals name the node. */
static void check_refusals(void)
{
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "bad")};
    int x = mf_build_input(&b, "x", flat(3, 4)), y = mf_build_input(&b, "y", flat(3, 5));

    x = mf_build_two(&b, MF_OP_ADD, "sum", x, y);
    CHECK(x == -1 && mf_build_linear(&b, "after", x, 3) == -1 && mf_build_end(&b) == MF_USAGE);
    CHECK(strstr(mf_err_text(), "node 'sum' (add): its second input") != NULL);
    mf_net_free(net);
}

/* The lists of all ways to recompute, of stage 3, and with host memory, in the text of @p path. Where it differs, the
 * new text is printed. */
static void check_text(const struct device *d, const char *path)
{
    char *got;
    size_t n;
    FILE *file = open_memstream(&got, &n);

    for (int k = 0; k <= MF_RECOMPUTE_BLOCKS + 2; ++k) {
        struct choice c = usual;
        struct model m;

        if (k <= MF_RECOMPUTE_BLOCKS)
            c.recompute = (enum mf_recompute)k;
        else if (k == MF_RECOMPUTE_BLOCKS + 1)
            c.stage = 3;
        else
            c.host = 1;
        m = make(&c, d->q);
        mf_list_print(m.list, file, 1);
        drop_model(&m, d->q);
    }
    fclose(file);
    check_list_text(got, path);
    free(got);
}

/* The operations of backward, of the inputs with these shapes, for the @p wanted gradients. It reads no others. */
static double cost(enum mf_op_id op, struct mf_attr attr, const struct mf_shape in[3], struct mf_shape y,
                   unsigned wanted)
{
    struct mf_net *net = mf_net_new();
    struct mf_node *node = mf_list_insert(mf_list_new(net, "cost"), 0, op, "node");
    unsigned reads, out;
    double operations;

    mf_ops[op]->reads(&attr, wanted, &reads, &out);
    node->attr = attr;
    node->back = 1;
    node->dout = mf_value_new(net, MF_ROLE_ACTIVATION, y, "dy");
    for (int i = 0; i < 3; ++i) {
        if (in[i].n && reads >> i & 1) node->in[i] = mf_value_new(net, MF_ROLE_ACTIVATION, in[i], "x");
        if (wanted >> i & 1) node->din[i] = mf_value_new(net, MF_ROLE_ACTIVATION, in[i], "dx");
    }
    operations = mf_node_operations(net, node);
    mf_net_free(net);
    return operations;
}

/* Two operations for each product and sum. */
static void check_costs(void)
{
    const struct mf_shape layer[3] = {flat(7, 5), flat(3, 5), {.type = MF_F32, .n = 1, .d = {3}}};
    const struct mf_shape packed[3] = {{MF_F32, 3, {2, 7, 18}}}, y = {MF_F32, 3, {2, 7, 6}};
    const struct mf_shape apart[3] = {y, {MF_F32, 3, {2, 7, 12}}};
    const struct mf_shape grouped[3] = {flat(7, 5), {MF_F32, 3, {2, 3, 5}}, flat(2, 3)};
    const struct mf_attr two_heads = {.heads = 2};
    const double product = 2 * 2 * 7 * 7 * 6;

    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 7) == 2 * 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 2) == 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 4) == 0);
    CHECK(cost(MF_OP_GROUPED_LINEAR, (struct mf_attr){.row_groups = 2}, grouped, flat(7, 3), 7) == 2 * 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_ATTENTION, two_heads, packed, y, 1) == 5 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 3) == 5 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 1) == 3 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 2) == 4 * product);
}

/* @p argv[1]: the golden text */
int main(int argc, char **argv)
{
    struct device d = device_open(1, 1, 0);

    NEEDS(1, "LIST");
    if (!d.be->segment_begin) check_text(&d, argv[1]);
    for (int k = 0; k < MODELS; ++k) {
        struct choice base = usual;

        base.model = k;
        if (d.be->segment_begin) {
            check_replay(&d, &base);
            continue;
        }
        check_bits(&d, &base);
        check_slope(&d, &base);
        check_accumulation(&d, &base);
    }
    if (d.be->segment_begin) check_replay_of_router(&d);
    check_memory(&d);
    check_hunt(&d);
    check_costs();
    check_lists(&d);
    check_denoiser();
    check_views();
    check_refusals();
    device_close(&d);
    return failures != 0;
}
