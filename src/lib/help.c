/* See include/mesoforge.h: the verb "help" of the library, which describes verbs and their options. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/lib/lib.h"

struct help {
    struct mf_common common;
};

static struct mf_json *choices_of(const struct mf_opt *row)
{
    struct mf_json *list = mf_json_array();
    char word[64];
    size_t n;

    for (const char *at = row->choices; *at; at += n + (at[n] == '|')) {
        n = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        mf_json_text(list, NULL, word);
    }
    return list;
}

static struct mf_json *option(const struct mf_opt *row)
{
    static const char *const kinds[] = {"flag", "flag", "integer",  "real",  "text",
                                        "text", "text", "integers", "reals", "texts"};
    struct mf_json *json = mf_json_object();
    char name[64];

    snprintf(name, sizeof name, "%s", row->word);
    for (char *c = name; *c; ++c)
        if (*c == '-') *c = '_';
    mf_json_text(json, "name", name);
    mf_json_text(json, "takes", kinds[row->kind]);
    mf_json_some(json, "default", row->kind > MF_UNFLAG ? row->standard : NULL);
    mf_json_text(json, "help", row->help ? row->help : "");
    if (row->choices) mf_json_put(json, "choices", choices_of(row));
    return json;
}

/* Other spellings are left out, and what a library or an open session refuses. */
static struct mf_json *options_of(const struct mf_cmd *verb)
{
    struct mf_json *list = mf_json_array();
    const int opens = verb->work != MF_WORK_NONE;

    for (const struct mf_opt *const *table = verb->tables; *table; ++table)
        for (const struct mf_opt *row = *table; row->word; ++row)
            if (row->help && !mf_lib_is_word(row->word, opens)) mf_json_put(list, NULL, option(row));
    return list;
}

static struct mf_json *describe(const struct mf_cmd *verb, int whole)
{
    struct mf_json *json = mf_json_object();

    mf_json_text(json, "name", verb->name);
    mf_json_text(json, "summary", verb->summary);
    if (!whole) return json;
    mf_json_some(json, "text", verb->text);
    mf_json_put(json, "options", options_of(verb));
    return json;
}

static struct mf_json *list_verbs(void)
{
    struct mf_json *json = mf_json_object(), *list = mf_json_array();

    mf_json_put(list, NULL, describe(&mf_lib_reading, 0));
    for (size_t i = 0; mf_cmds[i]; ++i)
        if (mf_cmds[i]->in_library) mf_json_put(list, NULL, describe(mf_cmds[i], 0));
    mf_json_put(json, "verbs", list);
    return json;
}

/* Rank 0 prints. */
static int run(struct mf_session *session, void *options)
{
    const char *const *words;
    const size_t n = mf_arguments(session, &words);
    size_t used = 0;
    const struct mf_cmd *verb = n ? mf_lib_find(n, words, &used) : NULL;
    struct mf_json *json;
    int rc;

    (void)options;
    if (n && (!verb || used < n)) return mf_cmd_none(n - used, words + used);
    if (verb && !verb->in_library) return mf_lib_not_here(verb);
    json = verb ? describe(verb, 1) : list_verbs();
    rc = session->comm->rank == 0 ? mf_json_write(json, stdout) : MF_OK;
    mf_json_free(json);
    return rc;
}

static const struct mf_opt *const tables[] = {mf_common_opts, NULL};

const struct mf_cmd mf_lib_help = {
    .name = "help",
    .summary = "verbs, and the options of one",
    .tables = tables,
    .size = sizeof(struct help),
    .positional_max = 2,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
