/* Finds the verb at the begin of some words, in the table of verbs.c. A name is one word ("match") or two ("data
 * import"); the longest name wins. Verbs of two words with the same first word are a family ("data"). */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/cmd/cmd.h"

enum { VERBS_MOST = 64 };

/* How many of the words spell @p name; 0: they spell another. */
static size_t spell(const char *name, size_t n, const char *const *words)
{
    for (size_t used = 0; used < n; ++used) {
        const size_t length = strlen(words[used]);

        if (strncmp(name, words[used], length) != 0) return 0;
        name += length;
        if (*name == '\0') return used + 1;
        if (*name++ != ' ') return 0;
    }
    return 0;
}

const struct mf_cmd *mf_cmd_find(size_t n, const char *const *words, size_t *used)
{
    const struct mf_cmd *found = NULL;

    *used = 0;
    for (size_t i = 0; mf_cmds[i]; ++i) {
        const size_t spelt = spell(mf_cmds[i]->name, n, words);

        if (spelt <= *used) continue;
        *used = spelt;
        found = mf_cmds[i];
    }
    return found;
}

int mf_cmd_is_of(const struct mf_cmd *verb, const char *family)
{
    const size_t n = strlen(family);

    return n > 0 && strncmp(verb->name, family, n) == 0 && verb->name[n] == ' ';
}

int mf_cmd_is_family(const char *word)
{
    for (size_t i = 0; mf_cmds[i]; ++i)
        if (mf_cmd_is_of(mf_cmds[i], word)) return 1;
    return 0;
}

/* The second word is missing (NULL) or wrong. */
static int none_of(const char *family, const char *second)
{
    const char *names[VERBS_MOST], *near;
    char list[512] = "";
    size_t n = 0, at = 0;

    for (size_t i = 0; mf_cmds[i] && n < VERBS_MOST; ++i) {
        if (!mf_cmd_is_of(mf_cmds[i], family)) continue;
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", n > 0 ? ", " : "", mf_cmds[i]->name);
        names[n++] = mf_cmds[i]->name + strlen(family) + 1;
    }
    if (!second || *second == '-') return mf_fail(MF_USAGE, "%s: which verb? There is: %s", family, list);
    near = mf_nearest(second, names, n);
    return mf_fail(MF_USAGE, "%s: no verb '%s %.200s'; try: %s%s%s", family, family, second, near ? family : "",
                   near ? " " : "", near ? near : list);
}

int mf_cmd_none(size_t n, const char *const *words)
{
    const char *names[VERBS_MOST] = {"help"}, *near;
    size_t count = 1;

    if (n == 0) return mf_fail(MF_USAGE, "no verb; try: mesoforge help");
    if (mf_cmd_is_family(words[0])) return none_of(words[0], n > 1 ? words[1] : NULL);
    for (size_t i = 0; mf_cmds[i] && count < VERBS_MOST; ++i) names[count++] = mf_cmds[i]->name;
    near = mf_nearest(words[0], names, count);
    return mf_fail(MF_USAGE, "no verb '%.200s'; try: mesoforge %s", words[0], near ? near : "help");
}
