/* A graph is read as it was written. Whatever is wrong in a file is refused with its place. A damaged file gives a
 * refusal or a graph that can be. */
#include "src/moe/graph.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_graph example(void)
{
    struct mf_graph g = {.next = 0};
    size_t round, sharp, star;

    mf_graph_add(&g, &(struct mf_graph_expert){0, 1200, 90, 0.5, 0.75, 0.875, 0, -1, NULL});
    mf_graph_add(&g, &(struct mf_graph_expert){3, 1. / 3, -1, 0, 1, 1, 40, 0, NULL});
    mf_graph_add(&g, &(struct mf_graph_expert){4, 77, 12, 0.125, 0.5, 0, 41, 3, NULL});
    round = mf_graph_concept(&g, "round", -1);
    sharp = mf_graph_concept(&g, "sharp & \"long\" <\303\244>", -1);
    star = mf_graph_concept(&g, "star", (long)sharp);
    mf_graph_connect(&g, 0, 4, MF_SIMILARITY, 1. / 3);
    mf_graph_connect(&g, 0, 4, MF_SPECIALIZATION_SPLIT, 1);
    mf_graph_connect(&g, 3, 0, MF_DEPENDENCY, 0.5);
    mf_graph_serve(&g, 0, round, 30);
    mf_graph_serve(&g, 0, star, 10);
    mf_graph_serve(&g, 4, sharp, 0.1);
    g.next = 9;
    return g;
}

static char *text_of(const struct mf_graph *g)
{
    struct mf_json *json = mf_graph_json(g);
    char *text = mf_json_string(json);

    mf_json_free(json);
    return text;
}

/* Checks the rules of every graph, by looking at all pairs. */
static void is_valid(const struct mf_graph *g)
{
    for (size_t i = 0; i < g->experts; ++i) {
        const struct mf_graph_expert *e = &g->expert[i];

        CHECK(e->id >= 0 && e->id < g->next && e->parent >= -1 && e->parent < e->id && e->active >= -1 && e->born >= 0);
        CHECK(e->activations >= 0 && e->specialization >= 0 && e->specialization <= 1 && e->confidence >= 0);
        CHECK(e->confidence <= 1 && e->adaptation_rate >= 0 && e->adaptation_rate <= 1);
        for (size_t j = 0; j < i; ++j) CHECK(g->expert[j].id < e->id);
        for (size_t c = 0; c < g->concepts; ++c) CHECK(e->samples[c] >= 0 && isfinite(e->samples[c]));
    }
    for (size_t i = 0; i < g->edges; ++i) {
        const struct mf_graph_edge *e = &g->edge[i];
        int ends = 0;

        for (size_t j = 0; j < g->experts; ++j) ends += g->expert[j].id == e->one || g->expert[j].id == e->other;
        CHECK(ends == 2 && e->one < e->other && e->weight > 0 && e->weight <= 1 && e->relation < MF_RELATIONS);
        for (size_t j = 0; j < i; ++j)
            CHECK(g->edge[j].one != e->one || g->edge[j].other != e->other || g->edge[j].relation != e->relation);
    }
    for (size_t i = 0; i < g->concepts; ++i) {
        CHECK(*g->concept[i].name && g->concept[i].parent >= -1 && g->concept[i].parent < (long)i);
        for (size_t j = 0; j < i; ++j) CHECK(strcmp(g->concept[i].name, g->concept[j].name) != 0);
    }
}

/* The text of what a text says; NULL: it is refused, with MF_INPUT and the name of its file. */
static char *again(const char *text)
{
    struct mf_json *json = mf_json_parse(text);
    struct mf_graph g = {.next = 0};
    const int rc = json ? mf_graph_from(json, "a.json", &g) : mf_fail(MF_INPUT, "'a.json' is not JSON");
    char *same = NULL;

    CHECK(rc == MF_OK || (rc == MF_INPUT && strstr(mf_err_text(), "'a.json'") && !g.experts && !g.concepts));
    if (rc == MF_OK) {
        is_valid(&g);
        same = text_of(&g);
    }
    mf_json_free(json);
    mf_graph_free(&g);
    return same;
}

static void round_trip(void)
{
    struct mf_graph graphs[] = {example(), {.next = 0}};

    for (int i = 0; i < 2; ++i) {
        char *text = text_of(&graphs[i]), *same = again(text);

        CHECK(same && strcmp(text, same) == 0);
        free(text);
        free(same);
        mf_graph_free(&graphs[i]);
    }
}

/* A text with the first @p from replaced; the caller frees. */
static char *edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *made = malloc(strlen(text) + strlen(to) + 1);

    CHECK_SAYS(at, "%s is not there", from);
    if (!at || !made) exit(1);
    memcpy(made, text, (size_t)(at - text));
    strcpy(made + (at - text), to);
    strcat(made, at + strlen(from));
    return made;
}

static void refusals(void)
{
    static const struct {
        const char *from, *to, *says;
    } cases[] = {
        {"\"mesoforge k", "\"k", "is no knowledge graph"},
        {"\"version\":2", "\"version\":1", "version 1"},
        {"\"next_id\":9", "\"next_id\":4", "'next_id' is not"},
        {"\"next_id\"", "\"nxt\"", "has no 'nxt'"},
        {"\"id\":3", "\"id\":0", "nodes[1] 'id' is not above"},
        {"\"id\":3", "\"id\":-3", "nodes[1] 'id' is not a whole number"},
        {"\"parent\":3", "\"parent\":4", "nodes[2] 'parent' is not below"},
        {"\"confidence\":0.875", "\"confidence\":1.5", "nodes[0] 'confidence' is not a number from 0 to 1"},
        {"\"confidence\":0.875", "\"confidence\":null", "nodes[0] 'confidence' is not"},
        {"\"confidence\":0.875", "\"self\":0.875", "nodes[0] has no 'self'"},
        {"\"weight\":1.0", "\"weight\":0", "edges[2] 'weight' is not above 0"},
        {"\"source\":0,\"target\":3", "\"source\":1,\"target\":3", "edges[0] 'source' is not the id of a node"},
        {"\"target\":3", "\"target\":0", "edges[0] 'target' is not"},
        {"\"target\":3", "\"target\":4", "edges[1] 'source' is not in order"},
        {"\"dependency\"", "\"marriage\"", "edges[0] 'relation_type' is not a relation"},
        {"\"parent\":\"sharp", "\"parent\":\"blunt", "concepts[2] 'parent' is not a concept before it"},
        {"\"star\"", "\"round\"", "concepts[2] 'name' is not a name that no other concept has"},
        {"\"expert\":4", "\"expert\":5", "expert_concepts[2] 'expert' is not the id"},
        {"\"samples\":30.0", "\"samples\":31", "expert_concepts[0] 'weight' is not the share"},
        {"\"nodes\":[", "\"nodes\":[7,", "nodes[0] is no object"},
        {"\"edges\":", "\"edges\":null,\"other\":", "no 'other'"},
    };
    struct mf_graph g = example();
    char *text = text_of(&g);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char *bad = edited(text, cases[i].from, cases[i].to), *same = again(bad);

        CHECK_SAYS(!same && strstr(mf_err_text(), cases[i].says), "%s: %s\n", cases[i].to, mf_err_text());
        free(same);
        free(bad);
    }
    free(text);
    mf_graph_free(&g);
}

static void damaged(void)
{
    struct mf_graph g = example();
    char *text = text_of(&g);
    const size_t n = strlen(text);

    for (size_t i = 0; i < 8 * n; ++i) {
        text[i / 8] ^= (char)(1 << i % 8);
        free(again(text));
        text[i / 8] ^= (char)(1 << i % 8);
    }
    for (uint64_t i = 0; i < 3000; ++i) {
        char *copy = strdup(text);
        const int bytes = 2 + (int)(i % 7);

        for (int k = 0; copy && k < bytes; ++k)
            copy[(size_t)(mf_random_uniform(1, 1, i * 16 + (uint64_t)k) * (double)n)] =
                "0123456789-.,:[]{}\"e"[(int)(mf_random_uniform(1, 2, i * 16 + (uint64_t)k) * 20)];
        free(again(copy));
        free(copy);
    }
    for (size_t i = n; i > 0; --i) {
        text[i - 1] = 0;
        free(again(text));
    }
    free(text);
    mf_graph_free(&g);
}

/* ---- files ---- */

static size_t load(const char *path, char *bytes, size_t room)
{
    FILE *from = fopen(path, "rb");
    const size_t n = from ? fread(bytes, 1, room, from) : 0;

    if (from) (void)fclose(from);
    return n;
}

enum { ROOM = 1 << 20 };
static char bytes[2][ROOM];

/* Equal graphs are equal files. */
static void files_round(void)
{
    struct mf_graph graphs[] = {example(), {.next = 0}};
    const char *path = scratch_file("a.json");

    for (int i = 0; i < 2; ++i) {
        struct mf_graph read = {.next = 0};
        size_t n;

        CHECK(mf_graph_save(&graphs[i], path) == MF_OK);
        n = load(path, bytes[0], ROOM);
        CHECK_SAYS(mf_graph_load(path, &read) == MF_OK, "%s\n", mf_err_text());
        CHECK(mf_graph_save(&read, path) == MF_OK && n > 100 && load(path, bytes[1], ROOM) == n);
        CHECK(memcmp(bytes[0], bytes[1], n) == 0);
        mf_graph_free(&read);
    }
    CHECK(mf_graph_save(graphs, "/nowhere/a.json") == MF_OUTPUT);
    CHECK(mf_graph_load(scratch_file("none.json"), graphs) == MF_INPUT && graphs[0].experts == 3);
    for (int i = 0; i < 2; ++i) mf_graph_free(&graphs[i]);
}

/* A checkpoint gives back the graph; one without is refused. */
static void checkpoints(const struct mf_comm *comm)
{
    struct mf_graph g = example(), read = {.next = 0};
    const char *path = scratch_file("a.ckpt-a.h5"), *empty = scratch_file("b.ckpt-a.h5");
    struct mf_checkpoint *c = mf_checkpoint_new("task: none");
    char *text, *got;

    CHECK(mf_checkpoint_write(comm, empty, 1, c) == MF_OK);
    CHECK(mf_graph_checkpoint(&g, c, &text) == MF_OK && mf_checkpoint_write(comm, path, 1, c) == MF_OK);
    mf_checkpoint_free(c);
    mf_graph_concept(&read, "what was there before", -1);
    CHECK(mf_checkpoint_open(comm, path, 0, &c) == MF_OK && mf_graph_checkpoint(&read, c, &got) == MF_OK);
    mf_checkpoint_free(c);
    CHECK(strcmp(text, got) == 0 && read.experts == 3 && read.edges == 3 && read.concepts == 3);
    free(text);
    free(got);
    mf_graph_free(&read);
    CHECK(mf_checkpoint_open(comm, empty, 0, &c) == MF_OK && mf_graph_checkpoint(&read, c, &got) == MF_INPUT);
    CHECK(strstr(mf_err_text(), "lacks the array 'graph'") && !read.experts);
    free(got);
    mf_checkpoint_free(c);
    mf_graph_free(&g);
}

int main(void)
{
    struct mf_comm c;

    mf_comm_self(&c);
    scratch_open(&c);
    round_trip();
    refusals();
    damaged();
    files_round();
    checkpoints(&c);
    scratch_close(&c);
    return failures != 0;
}
