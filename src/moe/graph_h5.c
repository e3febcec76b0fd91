/* See graph_priv.h: a graph in HDF5. A list of its JSON is a group, and each key a dataset with a row for every
 * element: whole numbers (-1: null), numbers, and in place of words their numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "io/h5.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/moe/graph_priv.h"

enum { MOST = MF_GRAPH_EDGES, TEXT = 256 << 20, NAME = 256 };

enum kind { WHOLE, REAL, NAMES, CONCEPT, RELATION };

struct column {
    const char *list, *key;
    enum kind kind;
};

static const struct column columns[] = {
    {"concepts", "name", NAMES},
    {"concepts", "parent", CONCEPT},
    {"nodes", "id", WHOLE},
    {"nodes", "activation_count", REAL},
    {"nodes", "last_activated", WHOLE},
    {"nodes", "specialization_score", REAL},
    {"nodes", "adaptation_rate", REAL},
    {"nodes", "confidence", REAL},
    {"nodes", "birth_step", WHOLE},
    {"nodes", "parent", WHOLE},
    {"edges", "source", WHOLE},
    {"edges", "target", WHOLE},
    {"edges", "relation_type", RELATION},
    {"edges", "weight", REAL},
    {"expert_concepts", "expert", WHOLE},
    {"expert_concepts", "concept", CONCEPT},
    {"expert_concepts", "samples", REAL},
    {"expert_concepts", "weight", REAL},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

/* Concepts and relations by their numbers. */
struct words {
    size_t concepts, relations;
    const char **concept;
};

static const char *word(const struct words *w, enum kind kind, int64_t i)
{
    if (kind == RELATION) return i >= 0 && i < MF_RELATIONS ? mf_relation_names[i] : NULL;
    return i >= 0 && (size_t)i < w->concepts ? w->concept[i] : NULL;
}

static int64_t number(const struct words *w, enum kind kind, const char *text)
{
    for (int64_t i = 0; word(w, kind, i); ++i)
        if (strcmp(word(w, kind, i), text) == 0) return i;
    return -1;
}

/* ---- writing ---- */

static int write_names(struct mf_h5 *h5, const struct words *w)
{
    if (w->concepts) MF_TRY(mf_h5_put_texts(h5, "/concepts", "names", w->concepts, w->concept));
    return mf_h5_put_texts(h5, "/edges", "relations", MF_RELATIONS, mf_relation_names);
}

static void fill(const struct mf_json *all, const struct column *c, const struct words *w, size_t i, double *real,
                 int64_t *whole)
{
    const struct mf_json *value = mf_json_get(mf_json_item(all, i), c->key);

    if (c->kind == REAL)
        real[i] = mf_json_to_real(value);
    else if (c->kind == WHOLE)
        whole[i] = mf_json_kind(value) == MF_JSON_INT ? mf_json_to_int(value) : -1;
    else
        whole[i] = mf_json_kind(value) == MF_JSON_TEXT ? number(w, c->kind, mf_json_to_text(value)) : -1;
}

static int write_column(struct mf_h5 *h5, const struct mf_json *all, const struct column *c, const struct words *w)
{
    const size_t count = mf_json_count(all);
    char *path = mf_format("/%s/%s", c->list, c->key);
    void *values = MF_MUST(calloc(count + 1, sizeof(double)), "a graph");
    int rc = MF_OK;

    for (size_t i = 0; i < count; ++i) fill(all, c, w, i, values, values);
    if (count) rc = mf_h5_write(h5, path, c->kind == REAL ? MF_H5_F64 : MF_H5_I64, 1, &count, values);
    free(values);
    free(path);
    return rc;
}

static int write_lists(struct mf_h5 *h5, const struct mf_json *graph, const struct words *w)
{
    for (size_t i = 0; i < COLUMNS; ++i) {
        const struct mf_json *all = mf_json_get(graph, columns[i].list);
        char *group = mf_format("/%s", columns[i].list);
        const int64_t count = (int64_t)mf_json_count(all);
        int rc = MF_OK;

        if (i == 0 || columns[i].list != columns[i - 1].list) {
            rc = mf_h5_group(h5, group);
            if (rc == MF_OK) rc = mf_h5_put_ints(h5, group, "count", 1, &count);
        }
        if (rc == MF_OK && columns[i].kind != NAMES) rc = write_column(h5, all, &columns[i], w);
        free(group);
        MF_TRY(rc);
    }
    return write_names(h5, w);
}

static int write_all(struct mf_h5 *h5, const struct mf_json *graph, const struct words *w)
{
    const int64_t version = MF_GRAPH_VERSION, next = mf_json_get_int(graph, "next_id");

    MF_TRY(mf_h5_put_text(h5, "/", "creator", "mesoforge " MF_VERSION));
    MF_TRY(mf_h5_put_text(h5, "/", "schema", MF_SCHEMA_GRAPH));
    MF_TRY(mf_h5_put_text(h5, "/", "format", MF_GRAPH_FORMAT));
    MF_TRY(mf_h5_put_ints(h5, "/", "version", 1, &version));
    MF_TRY(mf_h5_put_ints(h5, "/", "next_id", 1, &next));
    return write_lists(h5, graph, w);
}

int mf_graph_write_h5(const struct mf_json *graph, const struct mf_atomic *file)
{
    const struct mf_json *concepts = mf_json_get(graph, "concepts");
    struct words w = {.concepts = mf_json_count(concepts)};
    struct mf_h5 *h5;
    int rc, closed;

    MF_TRY(mf_h5_create(file->temporary, file->path, &h5));
    w.concept = MF_MUST(malloc((w.concepts + 1) * sizeof *w.concept), "a graph");
    for (size_t i = 0; i < w.concepts; ++i) w.concept[i] = mf_json_get_text(mf_json_item(concepts, i), "name");
    rc = write_all(h5, graph, &w);
    free(w.concept);
    closed = mf_h5_close(h5);
    return rc == MF_OK ? closed : rc;
}

/* ---- reading, in a child: the words are checked by those who read JSON ---- */

struct reading {
    const char *path;
    struct mf_h5 *h5;
    struct mf_json *graph;
    struct words words;
    char *names; /* [concepts][NAME] */
    char *text;  /* in the parent */
};

static int read_int(struct reading *r, const char *object, const char *name, size_t *to)
{
    int64_t value = 0;
    size_t count = 0;

    MF_TRY(mf_h5_get_ints(r->h5, object, name, 1, &value, &count));
    if (count != 1 || value < 0)
        return mf_fail(MF_INPUT, "'%.300s': attribute '%s' of '%s' is no whole number from 0 on", r->path, name,
                       object);
    *to = (size_t)value;
    return MF_OK;
}

static int read_names(struct reading *r)
{
    size_t count = 0, got = 0;

    MF_TRY(read_int(r, "/concepts", "count", &count));
    if (count > MF_GRAPH_CONCEPTS)
        return mf_fail(MF_INPUT, "'%.300s' has %zu concepts, at most %d are read", r->path, count, MF_GRAPH_CONCEPTS);
    r->names = MF_MUST(calloc(count + 1, NAME), "a graph");
    r->words.concept = MF_MUST(calloc(count + 1, sizeof *r->words.concept), "a graph");
    if (count) MF_TRY(mf_h5_get_texts(r->h5, "/concepts", "names", count, NAME, r->names, &got));
    if (got != count) return mf_fail(MF_INPUT, "'%.300s' has %zu names of %zu concepts", r->path, got, count);
    for (size_t i = 0; i < count; ++i) r->words.concept[i] = r->names + i * NAME;
    r->words.concepts = count;
    return MF_OK;
}

static void put(struct mf_json *at, const struct column *c, const struct words *w, double real, int64_t whole)
{
    const char *text = c->kind == WHOLE ? NULL : word(w, c->kind, whole);

    if (c->kind == REAL)
        mf_json_finite(at, c->key, real);
    else if (whole == -1)
        mf_json_null(at, c->key);
    else if (text)
        mf_json_text(at, c->key, text);
    else
        mf_json_int(at, c->key, whole);
}

static int read_column(struct reading *r, const struct column *c, struct mf_json *all, const char *path)
{
    const size_t count = mf_json_count(all);
    struct mf_h5_shape shape;
    double *values;
    int rc;

    MF_TRY(mf_h5_shape(r->h5, path, &shape));
    if (shape.ndim != 1 || shape.dims[0] != count || (c->kind != REAL && shape.kind == 'f'))
        return mf_fail(MF_INPUT, "'%.300s': dataset '%s' is no list of %zu %snumbers", r->path, path, count,
                       c->kind == REAL ? "" : "whole ");
    values = MF_MUST(calloc(count, sizeof *values), "a graph");
    rc = mf_h5_read_rows(r->h5, path, c->kind == REAL ? MF_H5_F64 : MF_H5_I64, 0, count, values);
    for (size_t i = 0; rc == MF_OK && i < count; ++i) {
        int64_t whole;

        memcpy(&whole, &values[i], sizeof whole);
        put(mf_json_item(all, i), c, &r->words, values[i], whole);
    }
    free(values);
    return rc;
}

/* Empty objects, one for each element. */
static int begin_list(struct reading *r, const char *list)
{
    struct mf_json *all = mf_json_array();
    char *group = mf_format("/%s", list);
    size_t count = 0;
    int rc = read_int(r, group, "count", &count);

    mf_json_put(r->graph, list, all);
    if (rc == MF_OK && count > MOST)
        rc = mf_fail(MF_INPUT, "'%.300s': '%s' has %zu elements, at most %d are read", r->path, group, count, MOST);
    for (size_t i = 0; rc == MF_OK && i < count; ++i) mf_json_put(all, NULL, mf_json_object());
    free(group);
    return rc;
}

static int read_lists(struct reading *r)
{
    for (size_t i = 0; i < COLUMNS; ++i) {
        const struct column *c = &columns[i];
        struct mf_json *all;
        char *path;
        int rc = MF_OK;

        if (i == 0 || c->list != columns[i - 1].list) MF_TRY(begin_list(r, c->list));
        all = mf_json_get(r->graph, c->list);
        path = mf_format("/%s/%s", c->list, c->key);
        for (size_t k = 0; c->kind == NAMES && k < mf_json_count(all); ++k)
            mf_json_text(mf_json_item(all, k), c->key, r->words.concept[k]);
        if (c->kind != NAMES && mf_json_count(all)) rc = read_column(r, c, all, path);
        free(path);
        MF_TRY(rc);
    }
    return MF_OK;
}

static int read_all(struct reading *r)
{
    char format[NAME] = "";
    size_t version = 0, next = 0;

    if (!mf_h5_has_attribute(r->h5, "/", "format"))
        return mf_fail(MF_INPUT, "'%.300s' is no knowledge graph: it has no attribute 'format'", r->path);
    MF_TRY(mf_h5_get_text(r->h5, "/", "format", format, sizeof format));
    MF_TRY(read_int(r, "/", "version", &version));
    MF_TRY(read_int(r, "/", "next_id", &next));
    MF_JSON(r->graph, "format", (const char *)format, "version", version, "next_id", next);
    MF_TRY(read_names(r));
    return read_lists(r);
}

static int work(void *context, FILE *to)
{
    struct reading *r = context;
    int rc;

    MF_TRY(mf_h5_open(r->path, &r->h5));
    r->graph = mf_json_object();
    rc = mf_h5_unread(r->h5, read_all(r));
    if (rc == MF_OK) rc = mf_json_write(r->graph, to);
    mf_json_free(r->graph);
    free(r->words.concept);
    free(r->names);
    (void)mf_h5_close(r->h5);
    return rc;
}

static int take(void *context, FILE *from)
{
    struct reading *r = context;
    size_t count = 0, room = 0, got;

    do {
        room = 2 * room + 4096;
        r->text = MF_MUST(realloc(r->text, room + 1), "a graph");
        count += got = fread(r->text + count, 1, room - count, from);
    } while (got && count < TEXT);
    r->text[count] = 0;
    return MF_OK;
}

int mf_graph_read_h5(const char *path, char **text)
{
    struct reading r = {.path = path};
    const int rc = mf_guard(path, MF_GUARD_SECONDS, work, take, &r);

    if (rc != MF_OK) {
        free(r.text);
        r.text = NULL;
    }
    *text = r.text;
    return rc;
}
