/* See nodelist.h. */
#include "slurm/nodelist.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { NAME_MOST = 255, DIGITS_MOST = 9 };

/* A name that grows while its brackets are gone through. */
struct growing {
    const char *text; /* all of it, for the sentence */
    struct mf_words *names;
    char name[NAME_MOST + 1];
};

static int refuse(const char *text, const char *why)
{
    return mf_fail(MF_INPUT, "'%.100s' is no list of nodes: %s", text, why);
}

/* Puts @p length bytes at place @p at of the name. */
static int put(struct growing *g, size_t at, const char *bytes, size_t length)
{
    if (at + length > NAME_MOST) return refuse(g->text, "a name is too long");
    memcpy(g->name + at, bytes, length);
    return MF_OK;
}

/* A number and its digits. */
static int number(const struct growing *g, const char **at, long *value, int *digits)
{
    const char *from = *at;

    for (*value = 0; isdigit((unsigned char)**at) && *at - from < DIGITS_MOST; ++*at) *value = 10 * *value + **at - '0';
    *digits = (int)(*at - from);
    if (*digits == 0) return refuse(g->text, "a bracket needs numbers, as in [001-003,7]");
    return isdigit((unsigned char)**at) ? refuse(g->text, "a number is too long") : MF_OK;
}

static int expand(struct growing *g, size_t length, const char *at, const char *end);

/* Every number of "FIRST-LAST" or "FIRST", with what comes behind the bracket. */
static int range(struct growing *g, size_t length, const char **at, const char *close, const char *end)
{
    long first, last;
    int digits, ignored;

    MF_TRY(number(g, at, &first, &digits));
    last = first;
    if (**at == '-') {
        ++*at;
        MF_TRY(number(g, at, &last, &ignored));
    }
    if (last < first) return refuse(g->text, "a range ends before it begins");
    if (last - first >= MF_NODES_MOST) return refuse(g->text, "it names too many nodes");
    for (long i = first; i <= last; ++i) {
        char text[DIGITS_MOST + 2];
        int n = snprintf(text, sizeof text, "%0*ld", digits, i);

        MF_TRY(put(g, length, text, (size_t)n));
        MF_TRY(expand(g, length + (size_t)n, close + 1, end));
    }
    return MF_OK;
}

/* The names of [at, end), behind the first @p length bytes of the name. */
static int expand(struct growing *g, size_t length, const char *at, const char *end)
{
    size_t n = 0;
    const char *close;

    while (at + n < end && at[n] != '[') ++n;
    MF_TRY(put(g, length, at, n));
    length += n;
    at += n;
    if (at == end) {
        if (g->names->count == MF_NODES_MOST) return refuse(g->text, "it names too many nodes");
        g->name[length] = '\0';
        mf_words_add(g->names, g->name);
        return MF_OK;
    }
    close = memchr(at, ']', (size_t)(end - at));
    do {
        ++at; /* past '[' or ',' */
        MF_TRY(range(g, length, &at, close, end));
    } while (*at == ',');
    return at == close ? MF_OK : refuse(g->text, "a bracket needs numbers, as in [001-003,7]");
}

/* The end of the item that begins here: a comma outside of brackets, or the end of the text. NULL: it is none. */
static const char *end_of(const char *at)
{
    int inside = 0;

    for (; *at && (inside || *at != ','); ++at) {
        if ((*at == '[' && inside) || (*at == ']' && !inside)) return NULL;
        if (!isgraph((unsigned char)*at)) return NULL;
        inside = *at == '[' || (inside && *at != ']');
    }
    return inside ? NULL : at;
}

int mf_nodelist_names(const char *text, struct mf_words *names)
{
    struct growing *g = MF_MUST(malloc(sizeof *g), "names of nodes");
    const char *at = text, *end;
    int rc = MF_OK;

    *g = (struct growing){.text = text, .names = names};
    do {
        end = end_of(at);
        if (!end || end == at)
            rc = refuse(text, "write it as n[001-003,7],m2");
        else
            rc = expand(g, 0, at, end);
        at = end ? end + 1 : at;
    } while (rc == MF_OK && *end == ',');
    free(g);
    return rc;
}

static int bad_tasks(const char *text)
{
    return mf_fail(MF_INPUT, "'%.100s' does not say how many tasks nodes have: write it as 2(x3),1", text);
}

/* "N" or "N(xM)". */
static int one_run(const char *text, const char **at, long *each, long *times)
{
    char *end;

    *times = 1;
    if (!isdigit((unsigned char)**at)) return bad_tasks(text);
    *each = strtol(*at, &end, 10);
    if (strncmp(end, "(x", 2) == 0 && isdigit((unsigned char)end[2])) {
        *times = strtol(end + 2, &end, 10);
        if (*end++ != ')') return bad_tasks(text);
    }
    *at = end;
    if ((*end && *end != ',') || *each > MF_NODES_MOST || *times < 1 || *times > MF_NODES_MOST) return bad_tasks(text);
    return MF_OK;
}

int mf_nodelist_tasks(const char *text, long **tasks, size_t *count)
{
    const char *at = text;
    long *list = NULL;
    size_t n = 0;
    int rc;

    do {
        long each = 0, times = 0;

        at += n > 0; /* past the comma */
        rc = one_run(text, &at, &each, &times);
        if (rc == MF_OK && n + (size_t)times > MF_NODES_MOST) rc = bad_tasks(text);
        if (rc != MF_OK) break;
        list = MF_MUST(realloc(list, (n + (size_t)times) * sizeof *list), "tasks of nodes");
        for (long i = 0; i < times; ++i) list[n++] = each;
    } while (*at == ',');
    if (rc != MF_OK) {
        free(list);
        return rc;
    }
    *tasks = list;
    *count = n;
    return MF_OK;
}

static int bad_hosts(const char *text, const char *why)
{
    return mf_fail(MF_USAGE, "--hosts '%.200s': %s; write it as a:4,b:4", text, why);
}

/* "NAME" or "NAME:RANKS" at the beginning of @p item, of @p length bytes. */
static int one_host(const char *text, const char *item, size_t length, struct mf_words *names, long *slots)
{
    static const char *const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    const size_t n = strspn(item, allowed);
    char *end = NULL;

    if (n == 0 || n > length || n > NAME_MOST || *item == '-') return bad_hosts(text, "this is no name of a host");
    *slots = 1;
    if (n < length) {
        if (item[n] != ':' || !isdigit((unsigned char)item[n + 1]))
            return bad_hosts(text, "this is no number of ranks");
        *slots = strtol(item + n + 1, &end, 10);
        if (end != item + length || *slots < 1 || *slots > MF_NODES_MOST)
            return bad_hosts(text, "this is no number of ranks");
    }
    mf_words_say(names, "%.*s", (int)n, item);
    for (size_t i = 0; i + 1 < names->count; ++i)
        if (strcmp(names->at[i], names->at[names->count - 1]) == 0) return bad_hosts(text, "a host is named twice");
    return MF_OK;
}

int mf_nodelist_slots(const char *text, struct mf_words *names, long **slots)
{
    const char *at = text;

    *slots = NULL;
    for (size_t length;; at += length + 1) {
        long here = 0;

        length = strcspn(at, ",");
        MF_TRY(one_host(text, at, length, names, &here));
        *slots = MF_MUST(realloc(*slots, names->count * sizeof **slots), "ranks of hosts");
        (*slots)[names->count - 1] = here;
        if (at[length] == '\0') return MF_OK;
    }
}
