/* --config FILE: a YAML mapping of option words to a value or a list of values. Options may stand in sections: a word
 * that is no option, and a mapping. Nothing is deeper. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/base/text.h"

enum { FILE_MAX = 1 << 20, LIST_MAX = 65536 };

struct reader {
    struct mf_options *options;
    const char *path;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one, owned */
    int section;        /* its mapping is one */
};

static const char *place(const struct reader *r, yaml_mark_t mark)
{
    size_t room = strlen(r->path) + 64;
    char *at = mf_options_keep(r->options, room);

    snprintf(at, room, "%s:%zu:%zu: ", r->path, mark.line + 1, mark.column + 1);
    return at;
}

static int refuse(const struct reader *r, yaml_mark_t mark, const char *what)
{
    return mf_fail(MF_USAGE, "%s%s", place(r, mark), what);
}

/* Moves to the next event. */
static int next(struct reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        memset(&r->event, 0, sizeof r->event);
        return mf_fail(MF_USAGE, "%snot YAML: %s", place(r, r->parser.problem_mark),
                       r->parser.problem ? r->parser.problem : "unreadable text");
    }
    if (r->event.type == YAML_ALIAS_EVENT) return refuse(r, r->event.start_mark, "references are not supported");
    return MF_OK;
}

/* The current event as one word. Tags and anchors ask for more than a configuration needs. */
static int scalar(const struct reader *r, const char **word, int *quoted)
{
    const yaml_event_t *e = &r->event;

    if (e->type != YAML_SCALAR_EVENT)
        return refuse(r, e->start_mark, "this must be a value or a list of values, nothing deeper");
    if (e->data.scalar.tag || e->data.scalar.anchor)
        return refuse(r, e->start_mark, "tags and anchors are not supported");
    if (strlen((const char *)e->data.scalar.value) != e->data.scalar.length)
        return refuse(r, e->start_mark, "a zero byte in a value");
    *word = mf_options_copy(r->options, (const char *)e->data.scalar.value, e->data.scalar.length);
    *quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return MF_OK;
}

/* The words of a "[a, b]" or "- a" list; quoted when any of them is. */
static int list(struct reader *r, size_t *n, const char ***words, int *quoted)
{
    size_t room = 16;
    int one = 0;

    if (r->event.data.sequence_start.tag || r->event.data.sequence_start.anchor)
        return refuse(r, r->event.start_mark, "tags and anchors are not supported");
    *words = mf_options_keep(r->options, room * sizeof **words);
    for (*n = 0, *quoted = 0;; ++*n, *quoted |= one) {
        MF_TRY(next(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT) return MF_OK;
        if (*n == LIST_MAX) return refuse(r, r->event.start_mark, "the list is too long");
        if (*n == room) {
            const char **more = mf_options_keep(r->options, 2 * room * sizeof *more);

            memcpy(more, *words, room * sizeof *more);
            *words = more;
            room *= 2;
        }
        MF_TRY(scalar(r, &(*words)[*n], &one));
    }
}

static int is_null(const char *word, int quoted)
{
    return !quoted && (!*word || strcmp(word, "~") == 0 || strcasecmp(word, "null") == 0);
}

/* The value of @p key: the current event is its first. */
static int value(struct reader *r, const char *key, const struct mf_spelling *spelling)
{
    enum mf_opt_kind kind = r->options->entry[spelling->entry].row->kind;
    struct mf_said said = {place(r, r->event.start_mark), "", key, MF_FROM_FILE, 0};
    const char **words = NULL, *word = NULL;
    size_t n = 1;

    if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        if (kind < MF_LONGS) return mf_fail(MF_USAGE, "%s%s must be one value, not a list", said.place, key);
        MF_TRY(list(r, &n, &words, &said.quoted));
    } else {
        MF_TRY(scalar(r, &word, &said.quoted));
        if (is_null(word, said.quoted)) return MF_OK;
    }
    return mf_options_set(r->options, spelling, &said, n, words ? words : &word);
}

/* The positional arguments: the current event begins their list. */
static int arguments(struct reader *r)
{
    const char **words = NULL, *word = NULL;
    size_t n = 1;
    int quoted;

    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        MF_TRY(list(r, &n, &words, &quoted));
    else
        MF_TRY(scalar(r, &word, &quoted));
    for (size_t i = 0; i < n; ++i) MF_TRY(mf_options_argument(r->options, words ? words[i] : word));
    return MF_OK;
}

static int pair(struct reader *r);

/* The current event begins the mapping of a section. */
static int section(struct reader *r)
{
    if (r->event.data.mapping_start.tag || r->event.data.mapping_start.anchor)
        return refuse(r, r->event.start_mark, "tags and anchors are not supported");
    r->section = 1;
    MF_TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        MF_TRY(pair(r));
        MF_TRY(next(r));
    }
    r->section = 0;
    return MF_OK;
}

static int pair(struct reader *r)
{
    const struct mf_spelling *spelling;
    const char *key = NULL, *at = place(r, r->event.start_mark);
    int quoted;

    MF_TRY(scalar(r, &key, &quoted));
    if (r->options->positional_max > 0 && strcmp(key, MF_ARGUMENTS) == 0) {
        if (r->options->positional > 0) return mf_fail(MF_USAGE, "%s'%s' is given twice", at, key);
        MF_TRY(next(r));
        return arguments(r);
    }
    spelling = mf_options_find(r->options, key, strlen(key));
    if (spelling && r->options->entry[spelling->entry].control)
        return mf_fail(MF_USAGE, "%s'%s' belongs on the command line", at, key);
    MF_TRY(next(r));
    if (!spelling && !r->section && r->event.type == YAML_MAPPING_START_EVENT) return section(r);
    if (!spelling) return mf_fail(MF_USAGE, "%sno option '%.200s'%s", at, key, mf_options_try(r->options, "", key));
    return value(r, key, spelling);
}

static int mapping(struct reader *r)
{
    if (r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0) return next(r);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return refuse(r, r->event.start_mark, "lines must have the form 'option: value'");
    MF_TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        MF_TRY(pair(r));
        MF_TRY(next(r));
    }
    return next(r);
}

static int stream(struct reader *r)
{
    MF_TRY(next(r)); /* stream start */
    MF_TRY(next(r)); /* document start, or the end of an empty stream */
    if (r->event.type == YAML_STREAM_END_EVENT) return MF_OK;
    MF_TRY(next(r));
    MF_TRY(mapping(r)); /* ends at document end */
    MF_TRY(next(r));
    if (r->event.type != YAML_STREAM_END_EVENT) return refuse(r, r->event.start_mark, "only one document is allowed");
    return MF_OK;
}

int mf_options_file(struct mf_options *options, const char *path)
{
    struct reader r = {.options = options, .path = path};
    char *text = NULL;
    size_t size = 0;
    int rc;

    MF_TRY(mf_text_load(path, FILE_MAX, &text, &size));
    if (size > FILE_MAX) {
        free(text);
        return mf_fail(MF_USAGE, "'%s' is larger than a configuration may be (1 MiB)", path);
    }
    if (!yaml_parser_initialize(&r.parser)) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a YAML reader");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
    rc = stream(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    free(text);
    return rc;
}
