/* See graph.h: files, by their endings. */
#include <stdlib.h>

#include "io/atomic.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/moe/graph_priv.h"
#include "src/moe/kept.h"

enum { JSON_MOST = 256 << 20 };

static int write_json(const struct mf_json *graph, const struct mf_atomic *file)
{
    return mf_json_save(graph, file->temporary, file->path);
}

static int write_sealed(const struct mf_json *graph, const struct mf_atomic *file)
{
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_graph_write_h5(graph, file));
    return mf_seal_write(&self, file->temporary, file->path, 0, NULL);
}

static const struct ending {
    const char *is;
    int (*write)(const struct mf_json *graph, const struct mf_atomic *file);
} endings[] = {{".json", write_json}, {".h5", write_sealed}, {".graphml", mf_graph_write_graphml}};

int mf_graph_save(const struct mf_graph *graph, const char *path)
{
    const struct ending *e = endings, *end = endings + sizeof endings / sizeof *endings;
    struct mf_json *json;
    struct mf_atomic file;
    struct mf_comm self;
    int rc;

    while (e < end && !mf_ends_with(path, e->is)) ++e;
    if (e == end) return mf_fail(MF_USAGE, "'%.300s' does not end in .json, .h5 or .graphml, as graphs do", path);
    mf_comm_self(&self);
    MF_TRY(mf_atomic_open(&self, path, 0, &file));
    json = mf_graph_json(graph);
    rc = mf_atomic_close(&self, &file, e->write(json, &file));
    mf_json_free(json);
    return rc;
}

static int check_seal(const char *path)
{
    enum mf_seal_state state;
    char text[MF_ERR_TEXT];
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_seal_look(&self, path, &state, text));
    return state == MF_SEAL_BROKEN ? mf_fail(MF_INPUT, "%s", text) : MF_OK;
}

static int load_h5(const char *path, struct mf_json **json)
{
    char *text;

    MF_TRY(check_seal(path));
    MF_TRY(mf_graph_read_h5(path, &text));
    *json = mf_json_parse(text);
    free(text);
    return *json ? MF_OK : mf_fail(MF_INPUT, "'%.300s' is damaged: it does not become JSON", path);
}

int mf_graph_load(const char *path, struct mf_graph *graph)
{
    struct mf_json *json = NULL;
    int rc;

    if (mf_ends_with(path, ".graphml"))
        return mf_fail(MF_INPUT, "'%.300s' is GraphML, which is written and not read; try: the .json or .h5 of the run",
                       path);
    MF_TRY(mf_ends_with(path, ".h5") ? load_h5(path, &json) : mf_json_load(path, JSON_MOST, &json));
    rc = mf_graph_from(json, path, graph);
    mf_json_free(json);
    return rc;
}

/* ---- checkpoints ---- */

int mf_graph_checkpoint(struct mf_graph *graph, struct mf_checkpoint *checkpoint, char **text)
{
    const int loads = mf_checkpoint_loads(checkpoint);
    struct mf_json *json = loads ? NULL : mf_graph_json(graph);
    struct mf_graph fresh = {.next = 0};
    int rc = mf_kept_json(checkpoint, "graph", &json, text);

    if (loads && rc == MF_OK) rc = mf_graph_from(json, "checkpoint", &fresh);
    mf_json_free(json);
    if (!loads || rc != MF_OK) return rc;
    mf_graph_free(graph);
    *graph = fresh;
    return MF_OK;
}
