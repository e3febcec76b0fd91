/* The knowledge graph is in order, has an edge once, and equals a graph kept as plain tables. */
#include "src/moe/concepts.h"

#include <string.h>

#include "src/base/rng.h"
#include "tests/check.h"

static void in_order(void)
{
    struct mf_graph g = {.next = 0};

    for (long id = 0; id < 9; id += 2) mf_graph_add(&g, &(struct mf_graph_expert){.id = id, .parent = -1});
    CHECK(g.experts == 5 && g.next == 9 && mf_graph_find(&g, 6)->id == 6 && !mf_graph_find(&g, 7));
    mf_graph_connect(&g, 8, 2, MF_SIMILARITY, 0.5);
    mf_graph_connect(&g, 0, 8, MF_SIMILARITY, 0.25);
    mf_graph_connect(&g, 2, 8, MF_DEPENDENCY, 0.125);
    mf_graph_connect(&g, 2, 8, MF_SIMILARITY, 0.75);
    mf_graph_connect(&g, 8, 2, MF_SIMILARITY, 0.5);
    CHECK(g.edges == 3 && g.edge[0].one == 0 && g.edge[0].other == 8);
    CHECK(g.edge[1].one == 2 && g.edge[1].other == 8 && g.edge[1].weight == 0.75);
    CHECK(g.edge[2].relation == MF_DEPENDENCY && g.edge[2].weight == 0.125);
    mf_graph_free(&g);
}

/* ---- plain tables ---- */

enum { IDS = 48, CONCEPTS = 7 };

/* Parents of the concepts: 1 and 2 are parts of 0, 5 of 2. */
static const long parents[CONCEPTS] = {-1, 0, 0, -1, -1, 2, -1};

static struct {
    int lives[IDS];
    double weight[IDS][IDS][MF_RELATIONS], rows[IDS], score[IDS], samples[IDS][CONCEPTS];
    long ids;
} plain;

static void set(long a, long b, int relation, double weight)
{
    plain.weight[a][b][relation] = plain.weight[b][a][relation] = weight;
}

static void leave(long id)
{
    plain.lives[id] = 0;
    for (long n = 0; n < IDS; ++n)
        for (int r = 0; r < MF_RELATIONS; ++r) set(id, n, r, 0);
}

static void plain_merge(long from, long into)
{
    const double all = plain.rows[from] + plain.rows[into];

    for (long n = 0; n < IDS; ++n)
        for (int r = 0; r < MF_RELATIONS && n != into; ++r)
            set(into, n, r, fmax(plain.weight[into][n][r], plain.weight[from][n][r]));
    plain.score[into] = (plain.score[from] * plain.rows[from] + plain.score[into] * plain.rows[into]) / all;
    plain.rows[into] = all;
    for (int c = 0; c < CONCEPTS; ++c) plain.samples[into][c] += plain.samples[from][c];
    leave(from);
}

static long plain_prune(long id)
{
    double most = 0;
    long heir = -1;

    for (long n = 0; n < IDS; ++n)
        for (int r = 0; r < MF_RELATIONS; ++r)
            if (plain.weight[id][n][r] > most) {
                most = plain.weight[id][n][r];
                heir = n;
            }
    for (long n = 0; n < IDS; ++n)
        for (int r = 0; r < MF_RELATIONS && n != heir; ++r) {
            const double mine = plain.weight[id][n][r], own = heir < 0 ? 0 : plain.weight[heir][n][r];

            if (mine > 0) set(heir, n, r, own > 0 ? 0.7 * own + (1 - 0.7) * mine : 0.8 * mine);
        }
    leave(id);
    return heir;
}

static void plain_decay(double rate, double least)
{
    for (long a = 0; a < IDS; ++a)
        for (long b = 0; b < IDS; ++b)
            for (int r = 0; r < MF_RELATIONS; ++r) {
                plain.weight[a][b][r] *= rate;
                if (plain.weight[a][b][r] < least) plain.weight[a][b][r] = 0;
            }
}

static double plain_samples(long id, int concept)
{
    double sum = plain.samples[id][concept];

    for (int c = concept + 1; c < CONCEPTS; ++c)
        if (parents[c] == concept) sum += plain_samples(id, c);
    return sum;
}

/* ---- comparing ---- */

static void same_edges(const struct mf_graph *g)
{
    size_t at = 0;

    for (long a = 0; a < IDS; ++a)
        for (long b = a + 1; b < IDS; ++b)
            for (int r = 0; r < MF_RELATIONS; ++r) {
                const struct mf_graph_edge *e = &g->edge[at];

                if (plain.weight[a][b][r] == 0) continue;
                CHECK(at < g->edges && e->one == a && e->other == b && e->relation == (enum mf_relation)r);
                CHECK(at < g->edges && e->weight == plain.weight[a][b][r]);
                ++at;
            }
    CHECK(at == g->edges);
}

static double largest(long a, long b)
{
    double most = 0;

    for (int r = 0; r < MF_RELATIONS; ++r) most = fmax(most, plain.weight[a][b][r]);
    return most;
}

static void same_answers(const struct mf_graph *g)
{
    double central[IDS];

    mf_graph_centrality(g, central);
    for (size_t i = 0; i < g->experts; ++i) {
        int neighbours = 0;

        for (size_t j = 0; j < g->experts; ++j) neighbours += i != j && largest(g->expert[i].id, g->expert[j].id) > 0;
        CHECK_NEAR(central[i], g->experts > 1 ? (double)neighbours / (double)(g->experts - 1) : 0, 1e-15);
    }
}

static void same_concepts(const struct mf_graph *g)
{
    for (int c = 0; c < CONCEPTS; ++c) {
        double most = 0;
        long best = -1;

        for (long id = 0; id < IDS; ++id)
            if (plain.lives[id] && plain_samples(id, c) > most) {
                most = plain_samples(id, c);
                best = id;
            }
        CHECK(mf_graph_best(g, (size_t)c) == best);
    }
}

static void same(const struct mf_graph *g)
{
    size_t at = 0;

    for (long id = 0; id < IDS; ++id) {
        const struct mf_graph_expert *e = mf_graph_find(g, id);
        double shares = 0;

        CHECK(!e == !plain.lives[id]);
        if (!e) continue;
        CHECK(e == &g->expert[at++]);
        CHECK(e->activations == plain.rows[id]);
        CHECK_NEAR(e->confidence, plain.score[id], 1e-12);
        for (int c = 0; c < CONCEPTS; ++c) {
            CHECK(mf_graph_samples(g, e, (size_t)c) == plain_samples(id, c));
            shares += parents[c] < 0 ? mf_graph_share(g, e, (size_t)c) : 0;
        }
        CHECK_NEAR(shares, shares > 0, 1e-12);
    }
    CHECK(at == g->experts);
    same_edges(g);
    same_answers(g);
    same_concepts(g);
}

/* ---- random changes ---- */

static uint64_t draws;
static double uniform(void) { return mf_random_uniform(7, 0, draws++); }
static long below(long n) { return (long)(uniform() * (double)n); }

/* An expert that lives, and is not @p but; -1: there is none. */
static long some(const struct mf_graph *g, long but)
{
    const long id = g->experts ? g->expert[below((long)g->experts)].id : -1;

    return id == but ? -1 : id;
}

static void give_birth(struct mf_graph *g)
{
    const struct mf_graph_expert e = {
        .id = plain.ids, .activations = (double)(1 + below(99)), .confidence = uniform(), .parent = some(g, -1)};

    if (plain.ids == IDS) return;
    plain.lives[e.id] = 1;
    plain.rows[e.id] = e.activations;
    plain.score[e.id] = e.confidence;
    ++plain.ids;
    mf_graph_add(g, &e);
}

static void connect(struct mf_graph *g)
{
    const long a = some(g, -1), b = some(g, a);
    const int relation = (int)below(MF_RELATIONS);
    const double weight = 1 - uniform();

    if (a < 0 || b < 0) return;
    set(a, b, relation, fmax(weight, plain.weight[a][b][relation]));
    mf_graph_connect(g, a, b, (enum mf_relation)relation, weight);
}

static void serve(struct mf_graph *g)
{
    const long id = some(g, -1);
    const int concept = (int)below(CONCEPTS);
    const double samples = (double)below(20);

    if (id < 0) return;
    plain.samples[id][concept] += samples;
    mf_graph_serve(g, id, (size_t) concept, samples);
}

static void shrink(struct mf_graph *g)
{
    const long how = below(3), a = some(g, -1), b = some(g, a);

    if (a < 0) return;
    if (how == 0) {
        CHECK(mf_graph_prune(g, a) == plain_prune(a));
    } else if (how == 1 && b >= 0) {
        mf_graph_merge(g, a, b);
        plain_merge(a, b);
    } else {
        mf_graph_remove(g, a);
        leave(a);
    }
}

static void as_tables(void)
{
    struct mf_graph g = {.next = 0};
    char name[8];

    for (int c = 0; c < CONCEPTS; ++c) {
        snprintf(name, sizeof name, "c%d", c);
        CHECK(mf_graph_concept(&g, name, parents[c]) == (size_t)c);
        CHECK(mf_graph_concept(&g, name, -1) == (size_t)c);
    }
    for (int step = 0; step < 400; ++step) {
        const long what = below(16);

        if (what < 2) give_birth(&g);
        if (what >= 2 && what < 9) connect(&g);
        if (what >= 9 && what < 14) serve(&g);
        if (what == 14) {
            plain_decay(0.9, 0.1);
            mf_graph_decay(&g, 0.9, 0.1);
        }
        if (what == 15) shrink(&g);
        same(&g);
    }
    CHECK(plain.ids > IDS / 2 && g.experts > 5 && g.edges > 5);
    mf_graph_free(&g);
}

/* A concept of several classes stands in front of them; a concept of one class alone is left out. */
static void classes(void)
{
    static const char *const name[] = {"spheres",  "grains",         "steel/bainite", "cracks",
                                       "lamellae", "steel/pearlite", "alloy/b2"};
    static const struct mf_graph_concept want[] = {{"inclusions", -1},    {"spheres", 0},   {"cracks", 0},
                                                   {"grains", -1},        {"steel", -1},    {"steel/bainite", 4},
                                                   {"steel/pearlite", 4}, {"lamellae", -1}, {"alloy/b2", -1}};
    struct mf_graph g = {.next = 0};
    size_t counted[9];

    mf_concepts_add(&g, sizeof name / sizeof *name, name);
    CHECK(g.concepts == 9);
    for (size_t c = 0; c < g.concepts; ++c)
        CHECK(strcmp(g.concept[c].name, want[c].name) == 0 && g.concept[c].parent == want[c].parent);
    CHECK(mf_concepts_counted(&g, counted) == 7 && counted[0] == 1 && counted[3] == 5);
    mf_graph_add(&g, &(struct mf_graph_expert){.parent = -1});
    mf_graph_serve(&g, 0, 4, 1); /* a class may be what others are part of */
    CHECK(mf_concepts_counted(&g, counted) == 8 && counted[3] == 4);
    mf_graph_free(&g);
}

int main(void)
{
    classes();
    in_order();
    as_tables();
    return failures != 0;
}
