/* See stops.h. */
#include "src/gen/stops.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { FILE_MOST = 16 << 20 };

static int take(const char *path, const struct mf_json *value, size_t vocabulary, struct mf_tokens *stops)
{
    const double number =
        mf_json_kind(value) == MF_JSON_REAL || mf_json_kind(value) == MF_JSON_INT ? mf_json_to_real(value) : -1;

    if (!(number >= 0 && number < (double)vocabulary) || number != (double)(uint32_t)number)
        return mf_fail(MF_INPUT, "'%.300s': eos_token_id is no token of the model", path);
    mf_tokens_put(stops, (uint32_t)number);
    return MF_OK;
}

static int take_all(const char *path, const struct mf_json *value, size_t vocabulary, struct mf_tokens *stops)
{
    if (!value || mf_json_kind(value) == MF_JSON_NULL) return MF_OK;
    if (mf_json_kind(value) != MF_JSON_ARRAY) return take(path, value, vocabulary, stops);
    for (size_t i = 0; i < mf_json_count(value); ++i) MF_TRY(take(path, mf_json_item(value, i), vocabulary, stops));
    return MF_OK;
}

static int read_file(const char *path, size_t vocabulary, struct mf_tokens *stops)
{
    char why[200], *text = NULL;
    struct mf_json *json;
    size_t n;
    int rc;

    MF_TRY(mf_text_load(path, FILE_MOST, &text, &n));
    json = mf_json_parse_foreign(text, n, why, sizeof why);
    if (!json && !*why)
        rc = mf_room_none(n, "the values of '%.300s'", path);
    else
        rc = json ? take_all(path, mf_json_get(json, "eos_token_id"), vocabulary, stops)
                  : mf_fail(MF_INPUT, "'%.300s' is not JSON: %s", path, why);
    mf_json_free(json);
    free(text);
    return rc;
}

int mf_stops_read(const char *folder, size_t vocabulary, struct mf_tokens *stops)
{
    static const char *const names[] = {"generation_config.json", "config.json"};
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && stops->count == 0 && k < 2; ++k) {
        char *path = mf_format("%s/%s", folder, names[k]);

        if (access(path, F_OK) == 0) rc = read_file(path, vocabulary, stops);
        free(path);
    }
    return rc;
}

int mf_stops_have(const struct mf_tokens *stops, uint32_t token)
{
    for (size_t i = 0; i < stops->count; ++i)
        if (stops->at[i] == token) return 1;
    return 0;
}
