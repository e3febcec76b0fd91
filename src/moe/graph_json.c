/* See graph.h: a graph as JSON. */
#include "src/moe/graph.h"
#include "src/moe/graph_priv.h"

/* A number that may not be there. */
static void put_some(struct mf_json *at, const char *key, long value)
{
    if (value < 0)
        mf_json_null(at, key);
    else
        mf_json_int(at, key, value);
}

static struct mf_json *concepts_of(const struct mf_graph *g)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < g->concepts; ++i) {
        struct mf_json *one = mf_json_object();
        const long parent = g->concept[i].parent;

        mf_json_text(one, "name", g->concept[i].name);
        mf_json_some(one, "parent", parent < 0 ? NULL : g->concept[parent].name);
        mf_json_put(all, NULL, one);
    }
    return all;
}

static struct mf_json *nodes_of(const struct mf_graph *g)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < g->experts; ++i) {
        const struct mf_graph_expert *e = &g->expert[i];
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "id", e->id, "activation_count", e->activations);
        put_some(one, "last_activated", e->active);
        MF_JSON(one, "specialization_score", e->specialization, "adaptation_rate", e->adaptation_rate, "confidence",
                e->confidence, "birth_step", e->born);
        put_some(one, "parent", e->parent);
        mf_json_put(all, NULL, one);
    }
    return all;
}

static struct mf_json *edges_of(const struct mf_graph *g)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < g->edges; ++i) {
        const struct mf_graph_edge *e = &g->edge[i];
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "source", e->one, "target", e->other, "relation_type", mf_relation_names[e->relation], "weight",
                e->weight);
        mf_json_put(all, NULL, one);
    }
    return all;
}

static struct mf_json *expert_concepts_of(const struct mf_graph *g)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < g->experts; ++i)
        for (size_t c = 0; c < g->concepts; ++c) {
            const struct mf_graph_expert *e = &g->expert[i];
            struct mf_json *one;

            if (e->samples[c] == 0) continue;
            one = mf_json_object();
            MF_JSON(one, "expert", e->id, "concept", g->concept[c].name, "samples", e->samples[c], "weight",
                    e->samples[c] / mf_graph_all_samples(g, e));
            mf_json_put(all, NULL, one);
        }
    return all;
}

struct mf_json *mf_graph_json(const struct mf_graph *g)
{
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "format", MF_GRAPH_FORMAT, "version", MF_GRAPH_VERSION, "next_id", g->next, "concepts",
            concepts_of(g), "nodes", nodes_of(g), "edges", edges_of(g), "expert_concepts", expert_concepts_of(g));
    return json;
}
