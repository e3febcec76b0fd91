/* See graph.h: files and checkpoints. */
#include <stdlib.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/moe/graph.h"
#include "src/moe/kept.h"

enum { JSON_MOST = 256 << 20 };

int mf_graph_save(const struct mf_graph *graph, const char *path)
{
    struct mf_json *json;
    struct mf_atomic file;
    struct mf_comm self;
    int rc;

    mf_comm_self(&self);
    MF_TRY(mf_atomic_open(&self, path, 0, &file));
    json = mf_graph_json(graph);
    rc = mf_atomic_close(&self, &file, mf_json_save(json, file.temporary, path));
    mf_json_free(json);
    return rc;
}

int mf_graph_load(const char *path, struct mf_graph *graph)
{
    struct mf_json *json = NULL;
    int rc;

    MF_TRY(mf_json_load(path, JSON_MOST, &json));
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
