/* Finds what keys of a configuration file mean. They are options, arguments, or rows of struct mf_opt_key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/err.h"
#include "src/base/opt_impl.h"
#include "src/base/text.h"
#include "src/base/words.h"

enum { VALUE = 200 };

/* -- keys of other programs -- */

int mf_keys_have(const struct mf_options *options, const char *section)
{
    for (const struct mf_opt_key *row = options->keys; row && row->key; ++row)
        if (strncmp(row->key, section, strlen(section)) == 0) return 1;
    return 0;
}

static const struct mf_opt_key *row_of(const struct mf_options *options, const char *key)
{
    for (const struct mf_opt_key *row = options->keys; row && row->key; ++row)
        if (mf_same_word(row->key, key)) return row;
    return NULL;
}

/* The key with its section. */
static const char *whole(struct mf_options *options, const struct mf_item *item)
{
    const size_t room = strlen(item->section) + strlen(item->key) + 1;
    char *text = mf_options_keep(options, room);

    snprintf(text, room, "%s%s", item->section, item->key);
    return text;
}

int mf_options_unknown(struct mf_options *options, const struct mf_item *item)
{
    const int known = mf_keys_have(options, item->section);
    const char *key = *item->section && options->keys ? whole(options, item) : item->key, **words, *near;
    size_t n = 0;

    for (const struct mf_opt_key *row = options->keys; row && row->key; ++row) ++n;
    words = mf_options_keep(options, (n + 1) * sizeof *words);
    for (size_t i = 0; i < n; ++i) words[i] = options->keys[i].key;
    near = key == item->key ? NULL : mf_nearest(key, words, n);
    if (near) return mf_fail(MF_USAGE, "%sno option '%.200s'; try: %s", item->at, key, near);
    if (!known) key = item->key;
    return mf_fail(MF_USAGE, "%sno option '%.200s'%s", item->at, key, mf_options_try(options, "", item->key));
}

int mf_key_map(const char *values, const char *text, size_t size, char *ours)
{
    const size_t length = strlen(text);

    for (const char *pair = values; *pair; pair += strcspn(pair, "|"), pair += *pair == '|') {
        if (strncasecmp(pair, text, length) != 0 || pair[length] != '=') continue;
        snprintf(ours, size, "%.*s", (int)strcspn(pair + length + 1, "|"), pair + length + 1);
        return 1;
    }
    return 0;
}

/* "a, b" of "a=x|b=y". */
static const char *theirs(struct mf_options *options, const char *values)
{
    char *text = mf_options_keep(options, 2 * strlen(values) + 1), *at = text;

    for (const char *pair = values; *pair; pair += strcspn(pair, "|"), pair += *pair == '|') {
        if (at != text) at = stpcpy(at, ", ");
        at = stpncpy(at, pair, strcspn(pair, "="));
    }
    return text;
}

/* Our value for a key's: *ours NULL: there is none to set. */
static int map(struct mf_options *options, const struct mf_opt_key *row, const struct mf_item *item, const char **ours)
{
    const char *word = item->words[0];
    char to[VALUE];
    int truth;

    *ours = NULL;
    if (item->list) return mf_fail(MF_USAGE, "%s%s must be one value, not a list", item->place, row->key);
    if (!item->quoted && strstr(row->values, "true=") && mf_word_flag(word, &truth)) word = truth ? "true" : "false";
    if (!mf_key_map(row->values, word, sizeof to, to))
        return mf_fail(MF_USAGE, "%s%s: '%.200s' is not supported here, only %s", item->place, row->key, word,
                       theirs(options, row->values));
    if (*to) *ours = mf_options_copy(options, to, strlen(to));
    return MF_OK;
}

static void note(struct mf_options *options, const struct mf_noted *what)
{
    struct mf_noted *one = mf_options_keep(options, sizeof *one), **last = &options->noted;

    *one = *what;
    while (*last) last = &(*last)->next;
    *last = one;
}

static const struct mf_noted *wish_of(const struct mf_options *options, size_t entry)
{
    const struct mf_noted *one = options->noted;

    while (one && !(one->spelling && one->spelling->entry == entry)) one = one->next;
    return one;
}

static int is_list_for(const struct mf_options *options, const struct mf_spelling *spelling)
{
    return !mf_is_same(spelling->row) && options->entry[spelling->entry].row->kind >= MF_LONGS;
}

/* A wish waits until it is known whether there is a plan. */
static int wish(struct mf_options *options, const struct mf_said *said, const struct mf_noted *what)
{
    const struct mf_noted *other = wish_of(options, what->spelling->entry);
    struct mf_noted one = *what;

    if (other) return mf_fail(MF_USAGE, "%s'%s' and '%s' set the same option", said->place, said->word, other->key);
    MF_TRY(mf_options_would(options, what->spelling, said, what->count, what->words, &one.text));
    note(options, &one);
    return MF_OK;
}

static int is_null(const struct mf_item *item)
{
    const char *word = item->list ? "-" : item->words[0];

    return !item->quoted && (!*word || strcmp(word, "~") == 0 || strcasecmp(word, "null") == 0);
}

static int is_switch(const struct mf_item *item) { return mf_same_word(item->key, "enabled"); }

/* A key of another program. A switch gives its option a value only if no other key does. */
static int take_key(struct mf_options *options, const struct mf_opt_key *row, const struct mf_item *item)
{
    struct mf_said said = {item->place, "", row->key, MF_FROM_FILE, item->quoted};
    struct mf_noted what = {NULL, row->key, NULL, "", item, item->count, item->words};
    const char **ours = mf_options_keep(options, sizeof *ours);

    if (is_null(item)) return MF_OK;
    if (row->values) {
        MF_TRY(map(options, row, item, ours));
        if (!*ours) return MF_OK;
        what.words = ours;
        said.quoted = 0;
    }
    if (row->option) what.spelling = mf_options_find(options, row->option, strlen(row->option));
    if (!what.spelling) {
        note(options, &what);
        return MF_OK;
    }
    if (is_switch(item) &&
        (options->entry[what.spelling->entry].origin == MF_FROM_FILE || wish_of(options, what.spelling->entry)))
        return MF_OK;
    if (item->list && !is_list_for(options, what.spelling))
        return mf_fail(MF_USAGE, "%s%s must be one value, not a list", item->place, row->key);
    if (row->wish) return wish(options, &said, &what);
    return mf_options_set(options, what.spelling, &said, what.count, what.words);
}

/* -- items -- */

static int take_option(struct mf_options *options, const struct mf_item *item)
{
    const struct mf_spelling *spelling = mf_options_find(options, item->key, strlen(item->key));
    const struct mf_said said = {item->place, "", item->key, MF_FROM_FILE, item->quoted};

    if (!spelling) return mf_options_unknown(options, item);
    if (options->entry[spelling->entry].control)
        return mf_fail(MF_USAGE, "%s'%s' belongs on the command line", item->at, item->key);
    if (item->list && !is_list_for(options, spelling))
        return mf_fail(MF_USAGE, "%s%s must be one value, not a list", item->place, item->key);
    return is_null(item) ? MF_OK : mf_options_set(options, spelling, &said, item->count, item->words);
}

static int take_arguments(struct mf_options *options, const struct mf_item *item)
{
    if (options->positional > 0) return mf_fail(MF_USAGE, "%s'%s' is given twice", item->at, item->key);
    for (size_t i = 0; i < item->count; ++i) MF_TRY(mf_options_argument(options, item->words[i]));
    return MF_OK;
}

/* Is its section, or one around it, switched off? */
static int is_off(const struct mf_options *options, size_t items, const struct mf_item *all, const struct mf_item *item)
{
    for (size_t i = 0; i < items; ++i) {
        int on = 1;

        if (!is_switch(&all[i]) || &all[i] == item || !mf_keys_have(options, all[i].section) || !*all[i].section ||
            strncmp(item->section, all[i].section, strlen(all[i].section)) != 0)
            continue;
        if (!all[i].list && mf_word_flag(all[i].words[0], &on) && !on) return 1;
    }
    return 0;
}

static int take(struct mf_options *options, const struct mf_item *item)
{
    const struct mf_opt_key *row = *item->section ? row_of(options, whole(options, item)) : NULL;

    if (row) return take_key(options, row, item);
    if (options->positional_max > 0 && strcmp(item->key, MF_ARGUMENTS) == 0) return take_arguments(options, item);
    return take_option(options, item);
}

int mf_options_take(struct mf_options *options, size_t items, const struct mf_item *item)
{
    for (int switches = 0; switches < 2; ++switches)
        for (size_t i = 0; i < items; ++i)
            if (is_switch(&item[i]) == switches && !is_off(options, items, item, &item[i]))
                MF_TRY(take(options, &item[i]));
    return MF_OK;
}

/* -- wishes -- */

int mf_options_heed(struct mf_options *options)
{
    options->heeded = 1;
    for (const struct mf_noted *one = options->noted; one; one = one->next) {
        const struct mf_said said = {one->item->place, "", one->key, MF_FROM_FILE, 0};

        if (!one->spelling || options->entry[one->spelling->entry].origin != MF_FROM_DEFAULT) continue;
        MF_TRY(mf_options_set(options, one->spelling, &said, one->count, one->words));
    }
    return MF_OK;
}

const char *mf_options_wished(const struct mf_options *options, const char *word)
{
    const struct mf_noted *one = wish_of(options, mf_options_find(options, word, strlen(word))->entry);

    return one ? one->text : NULL;
}

/* A wish that an option has not overruled, and a key without a meaning, have a line of their own. */
int mf_noted_shown(const struct mf_options *options, const struct mf_noted *one)
{
    return !one->spelling || (!options->heeded && options->entry[one->spelling->entry].origin == MF_FROM_DEFAULT);
}

char *mf_options_idle(const struct mf_options *options, int wishes)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    FILE *to = MF_MUST(open_memstream(&text, &size), "keys");

    for (const struct mf_noted *one = options->noted; one; one = one->next)
        if (mf_noted_shown(options, one) && (one->spelling != NULL) == wishes)
            fprintf(to, "%s%s", n++ ? ", " : "", one->key);
    MF_ASSERT(fclose(to) == 0);
    if (n) return text;
    free(text);
    return NULL;
}
