/* See same.h. Rank 0 broadcasts its options as texts, "--word value" each, behind the arguments. */
#include "src/cmd/same.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { SHOWN = 100 };

static const char GAP = '\036'; /* which nobody types */

static size_t length(const char *at) { return strcspn(at, (const char[]){GAP, '\0'}); }

static const char *after(const char *at)
{
    at += length(at);
    return at + (*at == GAP);
}

static int shown(const char *at) { return length(at) < SHOWN ? (int)length(at) : SHOWN; }

/* Length of an option's word; an argument has none: its place is its name. */
static size_t word(const char *at) { return strncmp(at, "--", 2) == 0 ? strcspn(at, " =\036") : 0; }

/* Finds in @p list the option at @p mine, or the argument number @p place; "": there is none. */
static const char *counterpart(const char *mine, size_t place, const char *list)
{
    const size_t n = word(mine);

    if (n == 0) {
        while (place-- > 0 && *list && word(list) == 0) list = after(list);
        return word(list) == 0 ? list : "";
    }
    while (*list && (word(list) != n || strncmp(list, mine, n) != 0)) list = after(list);
    return list;
}

/* The first that is other, or missing, in @p list; NULL: none is. */
static const char *other(const char *mine, const char *list, const char **there)
{
    size_t place = 0;

    for (; *mine; mine = after(mine), ++place) {
        *there = counterpart(mine, place, list);
        if (length(*there) != length(mine) || strncmp(*there, mine, length(mine)) != 0) return mine;
    }
    return NULL;
}

static int check(int rank, const char *mine, const char *first)
{
    static const char said[] = "was started with other options than rank 0";
    const char *there, *here;

    if (strcmp(mine, first) == 0) return MF_OK; /* also where arguments look like options */
    here = other(mine, first, &there);
    if (here && *there)
        return mf_fail(MF_USAGE, "rank %d %s: '%.*s', there '%.*s'", rank, said, shown(here), here, shown(there),
                       there);
    if (here) return mf_fail(MF_USAGE, "rank %d %s: '%.*s', there it is not given", rank, said, shown(here), here);
    here = other(first, mine, &there);
    if (!here) return MF_OK;
    return mf_fail(MF_USAGE, "rank %d %s: there '%.*s', here it is not given", rank, said, shown(here), here);
}

int mf_same_options(const struct mf_comm *comm, const struct mf_options *options)
{
    char *mine = mf_options_line(options, GAP), *first = mf_comm_text(comm, mine);
    int rc = mf_agree(comm, check(comm->rank, mine, first));

    free(mine);
    free(first);
    return rc;
}
