/* See graph_priv.h: a graph as GraphML, for networkx, Gephi and yEd. */
#include <errno.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/moe/graph_priv.h"

static const struct key {
    const char *name, *type, *of;
} keys[] = {
    {"activation_count", "double", "node"},
    {"last_activated", "long", "node"},
    {"specialization_score", "double", "node"},
    {"adaptation_rate", "double", "node"},
    {"confidence", "double", "node"},
    {"birth_step", "long", "node"},
    {"parent", "long", "node"},
    {"weight", "double", "edge"},
    {"relation_type", "string", "edge"},
};

enum { KEYS = sizeof keys / sizeof *keys };

/* Letters that XML may not contain become question marks. */
static void put_text(FILE *to, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; ++c)
        if (*c == '&')
            fputs("&amp;", to);
        else if (*c == '<')
            fputs("&lt;", to);
        else if (*c == '>')
            fputs("&gt;", to);
        else if (*c == '"')
            fputs("&quot;", to);
        else if (*c == 0xEF && c[1] == 0xBF && c[2] >= 0xBE) {
            fputc('?', to);
            c += 2;
        } else
            fputc(*c < 32 ? '?' : *c, to);
}

static void put_keys(FILE *to, const struct mf_json *concepts)
{
    for (size_t i = 0; i < KEYS; ++i)
        fprintf(to, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n", keys[i].name, keys[i].of,
                keys[i].name, keys[i].type);
    for (size_t c = 0; c < mf_json_count(concepts); ++c) {
        fprintf(to, "  <key id=\"concept%zu\" for=\"node\" attr.type=\"double\" attr.name=\"share of ", c);
        put_text(to, mf_json_get_text(mf_json_item(concepts, c), "name"));
        fputs("\"/>\n", to);
    }
}

static void put_data(FILE *to, const struct mf_json *one, const char *of)
{
    for (size_t i = 0; i < KEYS; ++i) {
        const struct mf_json *value = mf_json_get(one, keys[i].name);

        if (strcmp(keys[i].of, of) != 0 || mf_json_kind(value) == MF_JSON_NULL) continue;
        fprintf(to, "      <data key=\"%s\">", keys[i].name);
        if (mf_json_kind(value) == MF_JSON_TEXT)
            fputs(mf_json_to_text(value), to);
        else if (mf_json_kind(value) == MF_JSON_INT)
            fprintf(to, "%lld", mf_json_to_int(value));
        else
            fprintf(to, "%.17g", mf_json_to_real(value));
        fputs("</data>\n", to);
    }
}

static size_t concept_number(const struct mf_json *concepts, const char *name)
{
    size_t c = 0;

    while (c < mf_json_count(concepts) && strcmp(mf_json_get_text(mf_json_item(concepts, c), "name"), name) != 0) ++c;
    return c;
}

/* Shares of an expert's samples; its elements lie together from *at on. */
static void put_shares(FILE *to, const struct mf_json *graph, long long id, size_t *at)
{
    const struct mf_json *all = mf_json_get(graph, "expert_concepts"), *one;

    for (; (one = mf_json_item(all, *at)) && mf_json_get_int(one, "expert") == id; ++*at)
        fprintf(to, "      <data key=\"concept%zu\">%.17g</data>\n",
                concept_number(mf_json_get(graph, "concepts"), mf_json_get_text(one, "concept")),
                mf_json_get_real(one, "weight"));
}

static void put_graph(FILE *to, const struct mf_json *graph)
{
    const struct mf_json *nodes = mf_json_get(graph, "nodes"), *edges = mf_json_get(graph, "edges"), *one;
    size_t at = 0;

    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
          to);
    put_keys(to, mf_json_get(graph, "concepts"));
    fputs("  <graph edgedefault=\"undirected\">\n", to);
    for (size_t i = 0; (one = mf_json_item(nodes, i)); ++i) {
        fprintf(to, "    <node id=\"%lld\">\n", mf_json_get_int(one, "id"));
        put_data(to, one, "node");
        put_shares(to, graph, mf_json_get_int(one, "id"), &at);
        fputs("    </node>\n", to);
    }
    for (size_t i = 0; (one = mf_json_item(edges, i)); ++i) {
        fprintf(to, "    <edge id=\"e%zu\" source=\"%lld\" target=\"%lld\">\n", i, mf_json_get_int(one, "source"),
                mf_json_get_int(one, "target"));
        put_data(to, one, "edge");
        fputs("    </edge>\n", to);
    }
    fputs("  </graph>\n</graphml>\n", to);
}

int mf_graph_write_graphml(const struct mf_json *graph, const struct mf_atomic *file)
{
    FILE *to = fopen(file->temporary, "w");
    int bad;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", file->path, strerror(errno));
    put_graph(to, graph);
    bad = ferror(to);
    bad |= fclose(to) != 0;
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%.300s': %s", file->path, strerror(errno)) : MF_OK;
}
