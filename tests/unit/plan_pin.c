/* Ranks of a node share its cores out, all of them, on as few NUMA nodes as can be. Shares are whole cores, near the
 * GPUs, and never beyond what the ranks may use. The folder for the machine is argv[1]. */
#include "src/plan/pin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/plan/host.h"
#include "tests/check.h"

enum { NEAR_MOST = 16 };

static char root[64];

/* Sixteen hardware threads: core c has c and c + 8; cores 0-3 are NUMA node 0, 4-7 node 1. */
static void make(void)
{
    char command[2048];

    snprintf(command, sizeof command,
             "mkdir -p '%s' && cd '%s' && mkdir -p sys/devices/system/node/node0 sys/devices/system/node/node1 && "
             "cd sys/devices/system && echo 0-1 >node/online && echo 0-3,8-11 >node/node0/cpulist && "
             "echo 4-7,12-15 >node/node1/cpulist && for c in 0 1 2 3 4 5 6 7; do for t in $c $((c + 8)); do "
             "mkdir -p cpu/cpu$t/topology && echo $c,$((c + 8)) >cpu/cpu$t/topology/thread_siblings_list; done; done",
             root, root);
    CHECK(system(command) == 0);
}

static struct mf_cores first(size_t n)
{
    struct mf_cores set = {0};

    for (size_t i = 0; i < n; ++i) mf_cores_add(&set, i);
    return set;
}

/* Rank @p k of @p ranks that may use @p mask gets these; "": they cannot be shared out. */
static void gets(const struct mf_cores *mask, size_t ranks, const int *near, size_t k, const char *want)
{
    static const int none[NEAR_MOST] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    char text[128] = "", numa[64];
    struct mf_cores own;

    if (mf_pin(root, mask, ranks, near ? near : none, k, &own)) mf_host_list(&own, text, sizeof text);
    if (strcmp(text, want) != 0) fprintf(stderr, "rank %zu of %zu: '%s', want '%s'\n", k, ranks, text, want);
    CHECK(strcmp(text, want) == 0);
    if (!*want) return;
    mf_host_numa(root, &own, numa, sizeof numa);
    CHECK(ranks != 2 || !*numa || strcmp(numa, mf_cores_has(&own, 0) ? "0" : "1") == 0);
}

int main(int argc, char **argv)
{
    const struct mf_cores all = first(16), four = first(4), eight = first(8);
    char command[128];

    NEEDS(1, "FOLDER");
    if (chdir(argv[1]) != 0) return 2;
    snprintf(root, sizeof root, "pin.%ld", (long)getpid());
    make();
    gets(&all, 2, NULL, 0, "0-3,8-11");
    gets(&all, 2, NULL, 1, "4-7,12-15");
    gets(&all, 2, (int[]){1, 0}, 0, "4-7,12-15");
    gets(&all, 2, (int[]){1, 0}, 1, "0-3,8-11");
    gets(&all, 4, (int[]){1, 0, 1, 0}, 2, "6-7,14-15");
    gets(&all, 2, (int[]){1, 1}, 0, ""); /* the other one has all that is near both */
    gets(&all, 2, (int[]){1, 1}, 1, "4-7,12-15");
    gets(&all, 4, NULL, 3, "6-7,14-15");
    gets(&all, 3, NULL, 1, "3-5,11-13");
    gets(&all, 8, NULL, 7, "7,15");
    gets(&all, 9, NULL, 0, "");      /* more ranks than cores */
    gets(&eight, 2, NULL, 1, "4-7"); /* one thread of each core is all that may be used */
    gets(&four, 2, NULL, 0, "0-1");
    gets(&four, 4, NULL, 3, "3");
    snprintf(root + strlen(root), 8, ".no");
    gets(&four, 2, NULL, 1, "2-3"); /* a kernel that tells nothing */
    root[strlen(root) - 3] = '\0';
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK(system(command) == 0);
    return failures != 0;
}
