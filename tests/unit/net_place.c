/* Tensors in host memory: nodes on them work on the cores. Copies go between the memories in the order of the list.
 * Each memory has its own room. Checked memory and planned memory give the same bits. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/net/pass.h"
#include "src/net/walk.h"
#include "tests/device.h"

enum { N = 1000 };

static const struct mf_shape row = {.type = MF_F32, .n = 1, .d = {N}};
static const struct mf_attr none = {.stream = 0};

static int apply(struct mf_list *list, enum mf_op_id op, int x, const char *name)
{
    int y = -1;

    CHECK(mf_list_apply(list, op, &none, name, 1, &x, &y) == MF_OK);
    return y;
}

/* Begins a copy of @p x to the other memory. */
static int away(struct mf_list *list, int x, const char *name)
{
    struct mf_net *net = list->net;
    const int y = mf_value_new(net, MF_ROLE_ACTIVATION, row, "%s", name);
    struct mf_node *node = mf_list_insert(list, list->nodes, MF_OP_COPY, name);

    net->value[y].place = net->value[x].place == MF_PLACE_HOST ? MF_PLACE_DEVICE : MF_PLACE_HOST;
    node->in[0] = x;
    node->out[0] = y;
    return y;
}

static void wait(struct mf_list *list, int x, int y, enum mf_waits who)
{
    struct mf_node *node = mf_list_insert(list, list->nodes, MF_OP_COPIED, list->net->value[y].name);

    node->in[0] = x;
    node->in[1] = y;
    node->attr.waits = who;
}

struct made {
    struct mf_net *net;
    struct mf_list *list;
    int x, y;
};

static struct made begin(void)
{
    struct made m = {.net = mf_net_new()};

    m.list = mf_list_new(m.net, "list");
    m.x = mf_value_new(m.net, MF_ROLE_INPUT, row, "x");
    return m;
}

/* gelu(relu(x)), with relu on the host. */
static struct made by_turns(void)
{
    struct made m = begin();
    const int h = away(m.list, m.x, "h");
    int r, d;

    wait(m.list, m.x, h, MF_WAITS_HOST);
    r = apply(m.list, MF_OP_RELU, h, "r");
    CHECK(m.net->value[r].place == MF_PLACE_HOST);
    d = away(m.list, r, "d");
    wait(m.list, r, d, MF_WAITS_DEVICE);
    m.y = apply(m.list, MF_OP_GELU, d, "y");
    CHECK(m.net->value[m.y].place == MF_PLACE_DEVICE);
    wait(m.list, r, d, MF_WAITS_HOST);
    return m;
}

/* The same, where host memory is only passed through, and used twice: the host waits for nothing. */
static struct made passed_through(void)
{
    struct made m = begin();
    int at = m.x;

    for (int k = 0; k < 2; ++k) {
        const int h = away(m.list, at, k ? "h1" : "h0");
        int back;

        wait(m.list, at, h, MF_WAITS_DEVICE);
        back = away(m.list, h, k ? "d1" : "d0");
        wait(m.list, h, back, MF_WAITS_DEVICE);
        at = apply(m.list, k ? MF_OP_GELU : MF_OP_RELU, back, k ? "y" : "r");
    }
    m.y = at;
    return m;
}

static void run(struct device *d, struct made *m, enum mf_walk_mode mode, float got[N])
{
    struct mf_walk *walk;
    float x[N];

    for (size_t i = 0; i < N; ++i) x[i] = (float)mf_random_normal(3, 1, i);
    CHECK_SAYS(mf_walk_open(&walk, m->net, d->q, mode, NULL) == MF_OK, "%s", mf_err_text());
    for (int k = 0; k < 2; ++k) {
        d->be->put(d->q, mf_walk_at(walk, m->list, m->x), x, sizeof x);
        mf_walk_run(walk, m->list);
        d->be->get(d->q, got, mf_walk_at(walk, m->list, m->y), sizeof x);
        d->be->sync(d->q);
    }
    mf_walk_close(walk);
}

static void wanted(struct device *d, float want[N])
{
    struct made m = begin();

    m.y = apply(m.list, MF_OP_GELU, apply(m.list, MF_OP_RELU, m.x, "r"), "y");
    m.net->value[m.y].kept = 1;
    CHECK(mf_pass_plan(m.list, d->q) == MF_OK);
    mf_pass_live(m.net);
    CHECK(m.net->room[MF_PLACE_HOST] == 0 && m.net->lasting[MF_PLACE_HOST] == 0);
    run(d, &m, MF_WALK_PLANNED, want);
    mf_list_release(m.list, d->q);
    mf_net_free(m.net);
}

/* @p host: numbers of host memory. */
static void compare(struct device *d, struct made m, const char *what, size_t host)
{
    float want[N], got[N];

    wanted(d, want);
    m.net->value[m.y].kept = 1;
    CHECK(mf_pass_plan(m.list, d->q) == MF_OK);
    mf_pass_live(m.net);
    CHECK_SAYS(m.net->room[MF_PLACE_HOST] == host * mf_whole_lines(N * sizeof(float)), "%s: %zu bytes of host memory",
               what, m.net->room[MF_PLACE_HOST]);
    run(d, &m, MF_WALK_PLANNED, got);
    CHECK_SAYS(memcmp(got, want, sizeof got) == 0, "%s", what);
    if (!d->be->host_mem) {
        run(d, &m, MF_WALK_CHECKED, got);
        CHECK_SAYS(memcmp(got, want, sizeof got) == 0, "%s, checked", what);
    }
    mf_list_release(m.list, d->q);
    mf_net_free(m.net);
}

int main(void)
{
    struct device d = device_open(1, 1, 0);

    compare(&d, by_turns(), "by turns", 1);
    compare(&d, passed_through(), "passed through", 1);
    device_close(&d);
    return failures != 0;
}
