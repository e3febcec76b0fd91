/* See yaml.h. */
#include "src/base/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { DEEPEST = 32 };

struct reader {
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    int depth;
};

static int refuse(const struct reader *r, yaml_mark_t mark, const char *what)
{
    return mf_fail(MF_INPUT, "%s:%zu:%zu: %s", r->path, mark.line + 1, mark.column + 1, what);
}

static int refuse_here(const struct reader *r, const char *what) { return refuse(r, r->event.start_mark, what); }

static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        memset(&r->event, 0, sizeof r->event);
        return mf_fail(MF_INPUT, "%s:%zu:%zu: not YAML: %s", r->path, r->parser.problem_mark.line + 1,
                       r->parser.problem_mark.column + 1, r->parser.problem ? r->parser.problem : "unreadable text");
    }
    return r->event.type == YAML_ALIAS_EVENT ? refuse_here(r, "references are not supported") : MF_OK;
}

static int scalar(const struct reader *r, const char **word)
{
    if (r->event.type != YAML_SCALAR_EVENT) return refuse_here(r, "a key must be a word");
    if (r->event.data.scalar.tag || r->event.data.scalar.anchor)
        return refuse_here(r, "tags and anchors are not supported");
    *word = (const char *)r->event.data.scalar.value;
    return strlen(*word) == r->event.data.scalar.length ? MF_OK : refuse_here(r, "a zero byte in a value");
}

static int put_scalar(const struct reader *r, struct mf_json *at, const char *key)
{
    const int plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const char *word = NULL;

    MF_TRY(scalar(r, &word));
    if (plain && (!*word || strcmp(word, "~") == 0 || strcasecmp(word, "null") == 0))
        mf_json_null(at, key);
    else
        mf_json_text(at, key, word);
    return MF_OK;
}

static int pairs(struct reader *r, struct mf_json *at);
static int items(struct reader *r, struct mf_json *at);

/* The current event begins a value, which becomes the member @p key, or one more of a list. */
static int put(struct reader *r, struct mf_json *at, const char *key)
{
    const int list = r->event.type == YAML_SEQUENCE_START_EVENT;
    struct mf_json *inner;
    int rc;

    if (r->event.type == YAML_SCALAR_EVENT) return put_scalar(r, at, key);
    if (++r->depth > DEEPEST) return refuse_here(r, "lists and mappings are too deep");
    inner = list ? mf_json_array() : mf_json_object();
    rc = list ? items(r, inner) : pairs(r, inner);
    mf_json_put(at, key, inner);
    --r->depth;
    return rc;
}

static int items(struct reader *r, struct mf_json *at)
{
    MF_TRY(next(r));
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        MF_TRY(put(r, at, NULL));
        MF_TRY(next(r));
    }
    return MF_OK;
}

static int pair(struct reader *r, struct mf_json *at)
{
    const char *word = NULL;
    char *key;
    int rc;

    MF_TRY(scalar(r, &word));
    if (mf_json_get(at, word)) return refuse_here(r, "this key stands twice");
    key = mf_format("%s", word);
    rc = next(r);
    if (rc == MF_OK) rc = put(r, at, key);
    free(key);
    return rc;
}

static int pairs(struct reader *r, struct mf_json *at)
{
    MF_TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        MF_TRY(pair(r, at));
        MF_TRY(next(r));
    }
    return MF_OK;
}

static int document(struct reader *r, struct mf_json *at)
{
    MF_TRY(next(r)); /* stream start */
    MF_TRY(next(r)); /* document start, or the end of an empty stream */
    if (r->event.type == YAML_STREAM_END_EVENT) return refuse_here(r, "the file is empty");
    MF_TRY(next(r));
    if (r->event.type != YAML_MAPPING_START_EVENT) return refuse_here(r, "lines must have the form 'key: value'");
    MF_TRY(pairs(r, at));
    MF_TRY(next(r)); /* document end */
    MF_TRY(next(r));
    return r->event.type == YAML_STREAM_END_EVENT ? MF_OK : refuse_here(r, "only one document is allowed");
}

int mf_yaml_load(const char *path, size_t most, struct mf_json **value)
{
    struct reader r = {.path = path};
    struct mf_json *at;
    char *text;
    size_t size;
    int rc;

    MF_TRY(mf_text_load(path, most, &text, &size));
    if (size > most) {
        free(text);
        return mf_fail(MF_INPUT, "'%s' is longer than %zu bytes, too long for its kind", path, most);
    }
    if (!yaml_parser_initialize(&r.parser)) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a YAML reader");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    at = mf_json_object();
    rc = document(&r, at);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    free(text);
    if (rc != MF_OK)
        mf_json_free(at);
    else
        *value = at;
    return rc;
}
