/* Lines of doctor: as many as there are. A line of several nodes stands once, and says on which and how many. */
#include "src/cmd/host/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

enum { NODES = 100 };

/* Finding of node @p k: its own number, or the common one. */
static struct mf_finding of_node(int k, enum mf_health state, const char *text)
{
    struct mf_finding one = {.state = state, .what = "InfiniBand", .remedy = "ibstat", .on = 1};

    snprintf(one.text, sizeof one.text, "%s", text);
    snprintf(one.nodes, sizeof one.nodes, "n%d", k);
    return one;
}

static void is_said(const struct mf_finding *one, const char *want)
{
    char text[200];

    mf_find_where(one, text, sizeof text);
    CHECK(strcmp(text, want) == 0);
}

int main(void)
{
    struct mf_findings found = {.count = 0};

    mf_find(&found, MF_WARNED, "InfiniBand", "ibstat", "no port of %d is up", 1);
    is_said(&found.at[0], "");
    for (int k = 2; k <= NODES; ++k) {
        const struct mf_finding both = of_node(k, MF_WARNED, "no port of 1 is up"),
                                late = of_node(k, MF_WARNED, "late");
        struct mf_finding own = of_node(k, MF_FAILED, "");

        snprintf(own.text, sizeof own.text, "node %d has no memory", k);
        mf_find_join(&found, "n1", &both);
        if (k == 2) is_said(&found.at[0], " (on n1, n2)");
        mf_find_join(&found, "n1", &own);
        if (k > NODES - 3) mf_find_join(&found, "n1", &late);
    }
    CHECK(found.count == NODES + 1);
    is_said(&found.at[0], " (on n1, n2 and 98 more)");
    is_said(&found.at[1], " (node n2)");
    is_said(&found.at[NODES - 2], " (on n98, n99 and 1 more)");
    CHECK(found.at[NODES].state == MF_FAILED && strcmp(found.at[NODES].text, "node 100 has no memory") == 0);
    mf_find(&found, MF_WELL, "versions", "", "all the same");
    CHECK(found.count == NODES + 2 && strcmp(found.at[NODES + 1].text, "all the same") == 0);
    free(found.at);
    return failures != 0;
}
