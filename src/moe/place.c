/* See place.h. */
#include "src/moe/place.h"

#include <math.h>
#include <stdio.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/net/pass.h"

enum { ROWS = 256, WIDTH = 512, TURNS = 12, PARTS = 4 };

/* -- speeds -- */

/* Seconds of a product; the best of some turns. */
static int time_product(struct mf_queue *queue, double *seconds)
{
    struct mf_net *net = mf_net_new();
    struct mf_build build = {.list = mf_list_new(net, "speed")};
    const int x = mf_build_input(&build, "x", (struct mf_shape){.type = MF_F32, .n = 2, .d = {ROWS, WIDTH}});
    const int y = mf_build_linear(&build, "linear", x, WIDTH);
    struct mf_walk *walk = NULL;
    int rc = mf_build_end(&build);

    net->value[y].kept = 1;
    *seconds = INFINITY;
    if (rc == MF_OK) rc = mf_pass_plan(build.list, queue);
    if (rc == MF_OK) mf_pass_live(net);
    if (rc == MF_OK) rc = mf_walk_open(&walk, net, queue, MF_WALK_PLANNED, NULL);
    for (int turn = 0; rc == MF_OK && turn < TURNS; ++turn) {
        const double begin = mf_now();

        mf_walk_run(walk, build.list);
        queue->backend->sync(queue);
        *seconds = fmin(*seconds, mf_now() - begin);
    }
    mf_walk_close(walk);
    mf_list_release(build.list, queue);
    mf_net_free(net);
    return rc;
}

int mf_place_measure(const struct mf_trainer *t, double *speed)
{
    const size_t ways = t->experts.ways;
    int64_t slowest[MF_EXPERTS], least = INT64_MAX; /* nanoseconds of the slowest rank of a part; the least of these */
    double seconds;
    const int rc = mf_agree(t->comm, time_product(t->queue, &seconds));

    MF_TRY(rc);
    for (size_t w = 0; w < ways; ++w) slowest[w] = w == t->experts.way ? (int64_t)(1e9 * seconds) : 0;
    mf_collect_step(t->comm, 0, NULL, ways, slowest);
    for (size_t w = 0; w < ways; ++w) least = slowest[w] < least ? slowest[w] : least;
    for (size_t w = 0; w < ways; ++w)
        speed[w] = fmax(1, rint(PARTS * (double)(least + 1) / (double)(slowest[w] + 1))) / PARTS;
    return MF_OK;
}

/* -- places -- */

static double cost_of(const struct mf_graph *g, long id, double steps)
{
    const struct mf_graph_expert *expert = mf_graph_find(g, id);

    return expert && expert->active >= 0 ? expert->activations / (steps - (double)expert->born + 1) : NAN;
}

static void say(const struct mf_experts *experts)
{
    char text[200] = "";
    size_t used = 0;

    for (size_t w = 0; w < experts->ways && used < sizeof text - 20; ++w)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", w ? ", " : "",
                                 mf_experts_part(experts, w).count);
    mf_info("ranks have %s experts", text);
}

void mf_place_experts(const struct mf_graph *g, const struct mf_trainer *t, size_t ways, const double *speed,
                      struct mf_experts *experts)
{
    const struct mf_parting p = mf_train_parting(&t->opts, (size_t)t->comm->size, experts->count);
    double cost[MF_EXPERTS], sum = 0;
    size_t known = 0;

    if (p.parts == 1) return;
    for (size_t e = 0; e < experts->count; ++e) {
        cost[e] = cost_of(g, experts->id[e], (double)t->step);
        if (isnan(cost[e])) continue;
        sum += cost[e];
        ++known;
    }
    for (size_t e = 0; e < experts->count; ++e) {
        const double mean = known > 0 && sum > 0 ? sum / (double)known : 1;

        if (isnan(cost[e])) cost[e] = mean;
        cost[e] += 0.01 * mean; /* an idle expert has weights, which an optimiser reads */
    }
    mf_experts_share(experts, p.parts, mf_train_expert_part(&t->opts, &p, (size_t)t->comm->rank), cost,
                     p.parts == ways ? speed : NULL);
    say(experts);
}
