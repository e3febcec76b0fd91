/* See kept.h. */
#include "src/moe/kept.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { MOST = 256 << 20 };

static struct mf_piece piece_of(const char *name, size_t bytes, char *text)
{
    return (struct mf_piece){.name = name, .type = MF_U8, .ndim = 1, .dims = {bytes}, .cut = MF_UNCUT, .at = text};
}

static int take(struct mf_checkpoint *checkpoint, const char *name, struct mf_json **json, char **text)
{
    struct mf_piece piece = piece_of(name, 1, NULL);

    if (mf_checkpoint_find(checkpoint, name, &piece) && piece.dims[0] > MOST)
        return mf_fail(MF_INPUT, "the array '%s' of the checkpoint has %zu bytes, at most %d are read", name,
                       piece.dims[0], MOST);
    *text = MF_MUST(calloc(1, piece.dims[0] + 1), "a checkpoint");
    piece = piece_of(name, piece.dims[0], *text);
    mf_checkpoint_array(checkpoint, &piece);
    MF_TRY(mf_checkpoint_code(checkpoint));
    *json = mf_json_parse(*text);
    return *json ? MF_OK : mf_fail(MF_INPUT, "the array '%s' of the checkpoint is not JSON", name);
}

int mf_kept_json(struct mf_checkpoint *checkpoint, const char *name, struct mf_json **json, char **text)
{
    struct mf_piece piece;

    *text = NULL;
    if (mf_checkpoint_loads(checkpoint)) {
        *json = NULL;
        return take(checkpoint, name, json, text);
    }
    *text = mf_json_string(*json);
    piece = piece_of(name, strlen(*text), *text);
    mf_checkpoint_array(checkpoint, &piece);
    return MF_OK;
}
