/* See graph.h: a graph from JSON. Every fault is named with its place. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/moe/graph.h"
#include "src/moe/graph_priv.h"

/* An element of a list, as sentences name it: 'FILE': nodes[3]. */
struct place {
    const char *name, *list;
    size_t i;
    const struct mf_json *at;
};

static int wrong(const struct place *p, const char *key, const char *want)
{
    return mf_fail(MF_INPUT, "'%.300s': in %s[%zu] '%s' is not %s", p->name, p->list, p->i, key, want);
}

static int whole(const struct place *p, const char *key, long *to)
{
    const struct mf_json *value = mf_json_get(p->at, key);
    const long long got = mf_json_to_int(value);

    if (mf_json_kind(value) != MF_JSON_INT || got < 0 || got >= LONG_MAX)
        return wrong(p, key, "a whole number from 0 on");
    *to = (long)got;
    return MF_OK;
}

/* The same, or null: -1. */
static int some_whole(const struct place *p, const char *key, long *to)
{
    const struct mf_json *value = mf_json_get(p->at, key);

    if (!value || mf_json_kind(value) != MF_JSON_NULL) return whole(p, key, to);
    *to = -1;
    return MF_OK;
}

static int is_number(const struct mf_json *value)
{
    return mf_json_kind(value) == MF_JSON_INT || mf_json_kind(value) == MF_JSON_REAL;
}

static int real(const struct place *p, const char *key, double most, double *to)
{
    const struct mf_json *value = mf_json_get(p->at, key);
    const double got = mf_json_to_real(value);

    if (!is_number(value) || !(got >= 0 && got <= most))
        return wrong(p, key, most == 1 ? "a number from 0 to 1" : "a number from 0 on");
    *to = got;
    return MF_OK;
}

/* The number of a word among @p names; @p what: of which kind it is. */
static int number_of(const struct place *p, const char *key, size_t count, const char *(*name)(const void *, size_t),
                     const void *names, const char *what, size_t *to)
{
    const struct mf_json *value = mf_json_get(p->at, key);

    for (*to = 0; *to < count; ++*to)
        if (mf_json_kind(value) == MF_JSON_TEXT && strcmp(name(names, *to), mf_json_to_text(value)) == 0) return MF_OK;
    return wrong(p, key, what);
}

static const char *concept_name(const void *graph, size_t i)
{
    return ((const struct mf_graph *)graph)->concept[i].name;
}
static const char *relation_name(const void *none, size_t i) { return none ? "" : mf_relation_names[i]; }

/* ---- elements ---- */

static int read_concept(const struct place *p, struct mf_graph *g)
{
    const char *name = mf_json_get_text(p->at, "name");
    size_t parent = 0;
    const struct mf_json *of = mf_json_get(p->at, "parent");

    if (!*name) return wrong(p, "name", "the name of a concept");
    if (!of || mf_json_kind(of) != MF_JSON_NULL)
        MF_TRY(number_of(p, "parent", g->concepts, concept_name, g, "a concept before it", &parent));
    if (mf_graph_concept(g, name, of && mf_json_kind(of) != MF_JSON_NULL ? (long)parent : -1) != p->i)
        return wrong(p, "name", "a name that no other concept has");
    return MF_OK;
}

static int read_node(const struct place *p, struct mf_graph *g)
{
    struct mf_graph_expert e = {.id = 0};

    MF_TRY(whole(p, "id", &e.id));
    MF_TRY(real(p, "activation_count", HUGE_VAL, &e.activations));
    MF_TRY(some_whole(p, "last_activated", &e.active));
    MF_TRY(real(p, "specialization_score", 1, &e.specialization));
    MF_TRY(real(p, "adaptation_rate", 1, &e.adaptation_rate));
    MF_TRY(real(p, "confidence", 1, &e.confidence));
    MF_TRY(whole(p, "birth_step", &e.born));
    MF_TRY(some_whole(p, "parent", &e.parent));
    if (e.id < g->next) return wrong(p, "id", "above the one before it");
    if (e.parent >= e.id) return wrong(p, "parent", "below the id");
    mf_graph_add(g, &e);
    return MF_OK;
}

static int read_edge(const struct place *p, struct mf_graph *g)
{
    struct mf_graph_edge e = {.one = 0};
    size_t relation;

    MF_TRY(whole(p, "source", &e.one));
    MF_TRY(whole(p, "target", &e.other));
    MF_TRY(number_of(p, "relation_type", MF_RELATIONS, relation_name, NULL, "a relation", &relation));
    MF_TRY(real(p, "weight", 1, &e.weight));
    e.relation = (enum mf_relation)relation;
    if (!mf_graph_find(g, e.one)) return wrong(p, "source", "the id of a node");
    if (!mf_graph_find(g, e.other) || e.other <= e.one) return wrong(p, "target", "the id of a node above the source");
    if (!(e.weight > 0)) return wrong(p, "weight", "above 0");
    if (g->edges && mf_graph_order(&g->edge[g->edges - 1], &e) >= 0)
        return wrong(p, "source", "in order: source, target, relation_type");
    mf_graph_connect(g, e.one, e.other, e.relation, e.weight);
    return MF_OK;
}

static int read_expert_concept(const struct place *p, struct mf_graph *g)
{
    double samples = 0, weight = 0;
    size_t concept = 0;
    long id = -1;

    MF_TRY(whole(p, "expert", &id));
    MF_TRY(number_of(p, "concept", g->concepts, concept_name, g, "the name of a concept", &concept));
    MF_TRY(real(p, "samples", 1e300, &samples));
    MF_TRY(real(p, "weight", 1, &weight));
    if (!mf_graph_find(g, id)) return wrong(p, "expert", "the id of a node");
    if (!(samples > 0)) return wrong(p, "samples", "above 0");
    if (mf_graph_find(g, id)->samples[concept] > 0) return wrong(p, "concept", "one that the expert has once");
    mf_graph_serve(g, id, concept, samples);
    return MF_OK;
}

/* Weights follow from samples. */
static int check_weight(const struct place *p, struct mf_graph *g)
{
    const struct mf_graph_expert *e = mf_graph_find(g, (long)mf_json_get_int(p->at, "expert"));
    const double share = mf_json_get_real(p->at, "samples") / mf_graph_all_samples(g, e);

    if (fabs(share - mf_json_get_real(p->at, "weight")) > 1e-6)
        return wrong(p, "weight", "the share that follows from the samples");
    return MF_OK;
}

/* ---- lists ---- */

enum { KEYS = 9 };

static const struct list {
    const char *name;
    size_t most;
    int (*read)(const struct place *p, struct mf_graph *g);
    const char *key[KEYS];
} lists[] = {
    {"concepts", MF_GRAPH_CONCEPTS, read_concept, {"name", "parent"}},
    {"nodes",
     MF_GRAPH_EXPERTS,
     read_node,
     {"id", "activation_count", "last_activated", "specialization_score", "adaptation_rate", "confidence", "birth_step",
      "parent"}},
    {"edges", MF_GRAPH_EDGES, read_edge, {"source", "target", "relation_type", "weight"}},
    {"expert_concepts", MF_GRAPH_EDGES, read_expert_concept, {"expert", "concept", "samples", "weight"}},
    {"expert_concepts", MF_GRAPH_EDGES, check_weight, {"expert", "concept", "samples", "weight"}},
};

static int read_list(const struct mf_json *json, const char *name, const struct list *list, struct mf_graph *g)
{
    const struct mf_json *all = mf_json_get(json, list->name);
    struct place p = {name, list->name, 0, NULL};

    if (mf_json_kind(all) != MF_JSON_ARRAY) return mf_fail(MF_INPUT, "'%.300s': '%s' is no array", name, list->name);
    if (mf_json_count(all) > list->most)
        return mf_fail(MF_INPUT, "'%.300s': '%s' has %zu elements, at most %zu are read", name, list->name,
                       mf_json_count(all), list->most);
    for (; p.i < mf_json_count(all); ++p.i) {
        const char *stranger;

        p.at = mf_json_item(all, p.i);
        if (mf_json_kind(p.at) != MF_JSON_OBJECT)
            return mf_fail(MF_INPUT, "'%.300s': %s[%zu] is no object", name, list->name, p.i);
        stranger = mf_json_stranger(p.at, list->key);
        if (stranger) return mf_fail(MF_INPUT, "'%.300s': %s[%zu] has no '%.60s'", name, list->name, p.i, stranger);
        MF_TRY(list->read(&p, g));
    }
    return MF_OK;
}

static int read_head(const struct mf_json *json, const char *name)
{
    static const char *const keys[] = {"format", "version", "next_id",         "concepts",
                                       "nodes",  "edges",   "expert_concepts", NULL};
    const char *stranger = mf_json_stranger(json, keys);

    if (strcmp(mf_json_get_text(json, "format"), MF_GRAPH_FORMAT) != 0)
        return mf_fail(MF_INPUT, "'%.300s' is no knowledge graph: 'format' is not \"%s\"", name, MF_GRAPH_FORMAT);
    if (mf_json_get_int(json, "version") != MF_GRAPH_VERSION)
        return mf_fail(MF_INPUT, "'%.300s': version %lld of a knowledge graph, %d is read", name,
                       mf_json_get_int(json, "version"), MF_GRAPH_VERSION);
    if (stranger) return mf_fail(MF_INPUT, "'%.300s': a knowledge graph has no '%.60s'", name, stranger);
    return MF_OK;
}

static int read_next(const struct mf_json *json, const char *name, struct mf_graph *g)
{
    const struct mf_json *value = mf_json_get(json, "next_id");
    const long long next = mf_json_to_int(value);

    if (mf_json_kind(value) != MF_JSON_INT || next < g->next || next > LONG_MAX)
        return mf_fail(MF_INPUT, "'%.300s': 'next_id' is not a whole number above all ids", name);
    g->next = (long)next;
    return MF_OK;
}

static int read_all(const struct mf_json *json, const char *name, struct mf_graph *g)
{
    MF_TRY(read_head(json, name));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) MF_TRY(read_list(json, name, &lists[i], g));
    return read_next(json, name, g);
}

int mf_graph_from(const struct mf_json *json, const char *name, struct mf_graph *graph)
{
    struct mf_graph g = {.next = 0};
    const int rc = read_all(json, name, &g);

    if (rc == MF_OK)
        *graph = g;
    else
        mf_graph_free(&g);
    return rc;
}
