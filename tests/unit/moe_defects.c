/* Faults of another program (docs/FROM-MORPH.md) that this one does not have. There, experts are born in every step,
 * and routers keep rows of experts that are gone. Graphs number experts anew, and histograms never have a bin twice.
 * Rows are lost on their way, nothing is compiled, and edges last for ever. */
#include "src/moe/place.h"
#include "src/train/carry.h"
#include "tests/unit/moe_life.h"

/* A router at its start is as uncertain as can be. Still births keep their distance, and end at the most experts. */
static void births(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts awake = usual_sleep;
    struct mf_grow_opts never = growth;
    struct life l;

    awake.every = 0;
    never.threshold = 1;
    open_life(b, &b->world, &o, &growth, &awake, &l);
    live(&l, LONG);
    CHECK(l.t.experts.count == 6 && l.grow.changes[MF_CHANGE_BIRTH] == 2 && l.grow.full);
    CHECK(l.grow.history.events == 2 && l.grow.history.event[0].step >= growth.window);
    CHECK(l.grow.history.event[1].step - l.grow.history.event[0].step >= growth.cooldown);
    close_life(&l);
    open_life(b, &b->world, &o, &never, &awake, &l);
    live(&l, LONG);
    CHECK(l.t.experts.count == EXPERTS && l.grow.changes[MF_CHANGE_BIRTH] == 0);
    close_life(&l);
}

/* With balance biases a new expert gets rows at once, so that it can learn. Its fair share of a window is 4 rows. */
static void first_rows(const struct bed *b)
{
    struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts awake = usual_sleep;
    struct life l;

    awake.every = 0;
    o.args.balance = 0.005;
    o.args.noise = 0;
    open_life(b, &b->world, &o, &growth, &awake, &l);
    while (l.grow.changes[MF_CHANGE_BIRTH] == 0) live(&l, l.t.step + 1);
    live(&l, l.t.step + 4);
    CHECK_SAYS(mf_graph_find(&l.grow.graph, EXPERTS)->activations >= 4, "a new expert had %g rows in four steps",
               mf_graph_find(&l.grow.graph, EXPERTS)->activations);
    close_life(&l);
}

/* The router has a row for each expert, and the graph the experts of the trainer. */
static void agree(struct life *l)
{
    const struct mf_graph *g = &l->grow.graph;
    struct mf_carry *carry;

    CHECK(mf_carry_take(&l->t, &carry) == MF_OK);
    CHECK(mf_carry_router(carry, "weight")->shape.d[0] == l->t.experts.count && g->experts == l->t.experts.count);
    for (size_t e = 0; e < l->t.experts.count; ++e) {
        CHECK(mf_graph_find(g, l->t.experts.id[e]) && l->t.experts.id[e] < g->next);
        CHECK(mf_carry_expert(carry, l->t.experts.id[e], 1, "weight") != NULL);
    }
    for (size_t k = 0; k < g->edges; ++k) CHECK(mf_graph_find(g, g->edge[k].one) && mf_graph_find(g, g->edge[k].other));
    mf_carry_free(carry);
}

/* Through births, mergers and prunings, on ranks that share the experts, too. No id comes twice. */
static void widths_and_ids(const struct bed *b, size_t ways)
{
    struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct life l;

    o.ways = ways;
    s.dormant = 1;
    s.activations = 1000000;
    open_life(b, &b->world, &o, &growth, &s, &l);
    for (size_t w = 0; w < ways; ++w) l.grow.speed[w] = 1;
    for (size_t step = 1; step <= LONG; ++step) {
        live(&l, step);
        agree(&l);
    }
    CHECK(l.grow.changes[MF_CHANGE_BIRTH] > 1 && l.grow.changes[MF_CHANGE_MERGE] + l.grow.changes[MF_CHANGE_PRUNE] > 0);
    CHECK(l.grow.graph.next == EXPERTS + l.grow.changes[MF_CHANGE_BIRTH]);
    close_life(&l);
}

/* Every sample goes to two experts, and each of these rows counts once. Their classes are counted, too. */
static void rows(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 2) + 1);
    struct life l;
    double sum = 0;

    open_life(b, &b->world, &o, &growth, &usual_sleep, &l);
    live(&l, 2);
    for (size_t e = 0; e < EXPERTS; ++e) sum += l.grow.graph.expert[e].activations;
    CHECK(sum == 2 * 2 * WINDOW);
    CHECK(mf_grow_epoch(&l.grow, &l.t) == MF_OK);
    CHECK(l.grow.graph.concepts == CLASSES);
    sum = 0;
    for (size_t e = 0; e < EXPERTS; ++e)
        for (size_t c = 0; c < CLASSES; ++c) sum += l.grow.graph.expert[e].samples[c];
    CHECK_SAYS(sum > 0 && sum <= 2 * VALIDATED, "%g rows have a class", sum);
    close_life(&l);
}

/* Costs 8 1 1 1 1: the costly expert is alone; where the other rank is three times as fast, it gets the costly one. */
static void places(void)
{
    static const double cost[] = {1, 8, 1, 1, 1}, alike[] = {1, 1}, fast[] = {0.25, 1};
    struct mf_experts e;

    mf_experts_first(&e, 5);
    mf_experts_share(&e, 2, 0, cost, alike);
    CHECK(mf_experts_part(&e, 0).count == 1 && e.id[0] == 1 && mf_experts_part(&e, 1).count == 4);
    mf_experts_first(&e, 5);
    mf_experts_share(&e, 2, 0, cost, fast);
    CHECK(mf_experts_part(&e, 1).count > mf_experts_part(&e, 0).count && mf_experts_find(&e, 1) >= e.end[0]);
}

/* Activations of experts and of the router are parts of other nodes. There are as many as there are layers. */
static void compiled(const struct bed *b)
{
    struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    size_t joined = 0, experts = 0, gate = 0;
    struct mf_trainer t;

    for (o.compile = MF_COMPILE_REPLAY; o.compile <= MF_COMPILE_NONE; ++o.compile) {
        trainer_open(b, &b->world, b->set, &o, &t);
        if (o.compile == MF_COMPILE_NONE) CHECK(t.network.joined == 0);
        if (o.compile < MF_COMPILE_NONE) {
            const struct mf_list *list = t.network.last.list;

            joined = t.network.joined;
            experts = gate = 0;
            for (size_t n = 0; n < list->nodes; ++n) {
                const struct mf_node *node = &list->node[n];

                experts += node->op == MF_OP_GROUPED_LINEAR && node->attr.act != MF_ACT_NONE;
                gate += node->op == MF_OP_LINEAR && node->attr.act != MF_ACT_NONE && strstr(node->name, "gate");
            }
            CHECK_SAYS(joined > 0 && experts > 0 && gate > 0, "%zu joined: %zu of experts, %zu of the router", joined,
                       experts, gate);
        }
        mf_trainer_close(&t);
    }
}

/* Every sleep multiplies the weights of edges; the weak ones go. */
static void decay(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_sleep_opts s = usual_sleep;
    struct life l;

    s.records = s.meta = 0;
    s.similarity = 1;
    s.dormant = 1000;
    s.decay = 0.5;
    open_life(b, &b->world, &o, &growth, &s, &l);
    steps_until(&l.t, 1);
    mf_graph_connect(&l.grow.graph, 0, 1, MF_DEPENDENCY, 0.8);
    mf_graph_connect(&l.grow.graph, 0, 2, MF_DEPENDENCY, 0.15);
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.grow.graph.edges == 1 && l.grow.graph.edge[0].weight == 0.4);
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.grow.graph.edges == 1 && l.grow.graph.edge[0].weight == 0.2);
    l.sleep.opts.edge = 0; /* any weight stays */
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.grow.graph.edges == 1 && l.grow.graph.edge[0].weight == 0.1);
    l.sleep.opts.decay = 0; /* none does */
    CHECK(mf_sleep_now(&l.sleep, &l.loop) == MF_OK);
    CHECK(l.grow.graph.edges == 0);
    close_life(&l);
}

static void refusals(void)
{
    struct mf_sleep_opts o = usual_sleep;

    CHECK(mf_sleep_check(&o) == MF_OK);
    o.most = o.least - 1;
    CHECK(mf_sleep_check(&o) == MF_USAGE && strstr(mf_err_text(), "--sleep-most 3"));
    o = usual_sleep;
    o.rate = 0;
    CHECK(mf_sleep_check(&o) == MF_USAGE);
    o = usual_sleep;
    o.overlap = NAN;
    CHECK(mf_sleep_check(&o) == MF_USAGE && strstr(mf_err_text(), "--overlap"));
    mf_err_clear();
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    births(&b);
    first_rows(&b);
    widths_and_ids(&b, 0);
    if (b.world.size > 1) widths_and_ids(&b, (size_t)b.world.size);
    rows(&b);
    places();
    compiled(&b);
    decay(&b);
    refusals();
    bed_close(&b);
    return failures != 0;
}
