/* --config FILE: a YAML mapping of option words to a value or a list of values; JSON is YAML, too. Options may stand in
 * sections: a word that is no option, and a mapping. Only keys of other programs are deeper. */
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
    size_t items;
    struct mf_item *item; /* [items], room for a power of two */
    const struct section {
        const char *name; /* with those around it: "training." */
        const struct section *before;
    } * sections;
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

static int has_extras(const struct reader *r)
{
    if (r->event.data.mapping_start.tag || r->event.data.mapping_start.anchor)
        return refuse(r, r->event.start_mark, "tags and anchors are not supported");
    return MF_OK;
}

static void append(struct reader *r, const struct mf_item *item)
{
    if ((r->items & (r->items - 1)) == 0) {
        struct mf_item *more = mf_options_keep(r->options, 2 * (r->items + 1) * sizeof *more);

        if (r->items) memcpy(more, r->item, r->items * sizeof *more);
        r->item = more;
    }
    r->item[r->items++] = *item;
}

/* The value of a key: the current event is its first. */
static int value(struct reader *r, struct mf_item *item)
{
    const char **words = NULL;

    item->place = place(r, r->event.start_mark);
    item->list = r->event.type == YAML_SEQUENCE_START_EVENT;
    if (item->list) {
        MF_TRY(list(r, &item->count, &words, &item->quoted));
    } else {
        words = mf_options_keep(r->options, sizeof *words);
        item->count = 1;
        MF_TRY(scalar(r, words, &item->quoted));
    }
    item->words = words;
    append(r, item);
    return MF_OK;
}

static int mapping(struct reader *r, const char *section);

/* Is the mapping behind this key a section? One with keys of another program, or at the top a word that is no option.
 */
static int is_section(const struct reader *r, const char *section, const struct mf_item *item)
{
    if (mf_keys_have(r->options, section)) return 1;
    return !*item->section && !mf_options_find(r->options, item->key, strlen(item->key));
}

/* A section stands once. */
static int open_section(struct reader *r, const char *name, const struct mf_item *item)
{
    struct section *section = mf_options_keep(r->options, sizeof *section);

    for (const struct section *s = r->sections; s; s = s->before)
        if (strcmp(s->name, name) == 0)
            return mf_fail(MF_USAGE, "%ssection '%.200s' is given twice", item->at, item->key);
    *section = (struct section){name, r->sections};
    r->sections = section;
    return mapping(r, name);
}

static int pair(struct reader *r, const char *section)
{
    struct mf_item item = {.section = section, .at = place(r, r->event.start_mark)};
    size_t room;
    char *inner;

    MF_TRY(scalar(r, &item.key, &item.quoted));
    MF_TRY(next(r));
    if (r->event.type != YAML_MAPPING_START_EVENT) return value(r, &item);
    room = strlen(section) + strlen(item.key) + 2;
    inner = mf_options_keep(r->options, room);
    snprintf(inner, room, "%s%s.", section, item.key);
    if (is_section(r, inner, &item)) return open_section(r, inner, &item);
    if (!mf_options_find(r->options, item.key, strlen(item.key))) return mf_options_unknown(r->options, &item);
    return value(r, &item);
}

/* The current event begins a mapping. */
static int mapping(struct reader *r, const char *section)
{
    MF_TRY(has_extras(r));
    MF_TRY(next(r));
    while (r->event.type != YAML_MAPPING_END_EVENT) {
        MF_TRY(pair(r, section));
        MF_TRY(next(r));
    }
    return MF_OK;
}

static int document(struct reader *r)
{
    if (r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0) return next(r);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return refuse(r, r->event.start_mark, "lines must have the form 'option: value'");
    MF_TRY(mapping(r, ""));
    return next(r);
}

static int stream(struct reader *r)
{
    MF_TRY(next(r)); /* stream start */
    MF_TRY(next(r)); /* document start, or the end of an empty stream */
    if (r->event.type == YAML_STREAM_END_EVENT) return MF_OK;
    MF_TRY(next(r));
    MF_TRY(document(r)); /* ends at document end */
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
    if (rc == MF_OK) rc = mf_options_take(options, r.items, r.item);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    free(text);
    return rc;
}
