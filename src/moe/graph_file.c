/* See graph.h: files, by their endings. */
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/moe/graph_priv.h"

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

    MF_TRY(mf_ends_with(path, ".h5") ? load_h5(path, &json) : mf_json_load(path, JSON_MOST, &json));
    rc = mf_graph_from(json, path, graph);
    mf_json_free(json);
    return rc;
}

/* ---- checkpoints ---- */

static struct mf_piece piece_of(size_t bytes, char *text)
{
    return (struct mf_piece){.name = "graph", .type = MF_U8, .ndim = 1, .dims = {bytes}, .cut = MF_UNCUT, .at = text};
}

static int take(struct mf_graph *graph, struct mf_checkpoint *checkpoint, char **text)
{
    struct mf_piece piece = piece_of(1, NULL);
    struct mf_json *json;
    int rc;

    if (mf_checkpoint_find(checkpoint, piece.name, &piece) && piece.dims[0] > JSON_MOST)
        return mf_fail(MF_INPUT, "the graph of the checkpoint has %zu bytes, too many for a graph", piece.dims[0]);
    *text = MF_MUST(calloc(1, piece.dims[0] + 1), "a graph");
    piece = piece_of(piece.dims[0], *text);
    mf_checkpoint_array(checkpoint, &piece);
    MF_TRY(mf_checkpoint_code(checkpoint));
    json = mf_json_parse(*text);
    rc = json ? mf_graph_from(json, "checkpoint", graph) : mf_fail(MF_INPUT, "the graph of the checkpoint is not JSON");
    mf_json_free(json);
    return rc;
}

int mf_graph_checkpoint(struct mf_graph *graph, struct mf_checkpoint *checkpoint, char **text)
{
    struct mf_json *json;
    struct mf_piece piece;

    *text = NULL;
    if (mf_checkpoint_loads(checkpoint)) return take(graph, checkpoint, text);
    json = mf_graph_json(graph);
    *text = mf_json_string(json);
    mf_json_free(json);
    piece = piece_of(strlen(*text), *text);
    mf_checkpoint_array(checkpoint, &piece);
    return MF_OK;
}
