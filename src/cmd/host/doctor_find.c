/* See doctor.h: what is found. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/host/doctor.h"

enum { NAMED = 2 }; /* nodes of a line */

/* A few lines on one node, thousands where every node of a large job has its own. */
static struct mf_finding *push(struct mf_findings *to)
{
    const int is_full = (to->count & (to->count - 1)) == 0; /* the room is the power of two that holds them */
    const size_t room = to->count ? 2 * to->count : 1;

    if (is_full) to->at = MF_MUST(realloc(to->at, room * sizeof *to->at), "findings");
    return &to->at[to->count++];
}

void mf_find(struct mf_findings *to, enum mf_health state, const char *what, const char *remedy, const char *format,
             ...)
{
    struct mf_finding *f = push(to);
    va_list args;

    *f = (struct mf_finding){.state = state};
    snprintf(f->what, sizeof f->what, "%s", what);
    snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

static int is_same(const struct mf_finding *a, const struct mf_finding *b)
{
    return a->state == b->state && strcmp(a->what, b->what) == 0 && strcmp(a->text, b->text) == 0 &&
           strcmp(a->remedy, b->remedy) == 0;
}

static void add_node(struct mf_finding *to, const char *node)
{
    const size_t length = strlen(to->nodes);

    if (to->on++ < NAMED) snprintf(to->nodes + length, sizeof to->nodes - length, "%s%s", length ? ", " : "", node);
}

void mf_find_join(struct mf_findings *to, const char *here, const struct mf_finding *one)
{
    size_t i = 0;

    while (i < to->count && !is_same(&to->at[i], one)) ++i;
    if (i == to->count) {
        *push(to) = *one;
        return;
    }
    if (to->at[i].on == 0) add_node(&to->at[i], here);
    add_node(&to->at[i], one->nodes);
}

void mf_find_where(const struct mf_finding *one, char *text, size_t n)
{
    *text = '\0';
    if (one->on == 1)
        snprintf(text, n, " (node %s)", one->nodes);
    else if (one->on > NAMED)
        snprintf(text, n, " (on %s and %zu more)", one->nodes, one->on - NAMED);
    else if (one->on > 1)
        snprintf(text, n, " (on %s)", one->nodes);
}
