/* The adapter on a GPU's branch of the PCI tree is its nearest, InfiniBand's before others. Else it is the one at the
 * rank's cores; what is no hardware is none. The folder for the trees of machines is argv[1]. */
#include "src/plan/nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

static char root[64];

/* A device on the PCI tree, on a NUMA node; an adapter of a class at it. */
static void device(const char *branch, const char *pci, int node, const char *class, const char *name)
{
    char command[4096];

    snprintf(command, sizeof command,
             "cd '%s/sys' && mkdir -p devices/%s/%s bus/pci/devices class/%s/%s && echo %d >devices/%s/%s/numa_node && "
             "ln -sfn ../../../devices/%s/%s bus/pci/devices/%s && ln -sfn ../../../devices/%s/%s class/%s/%s/device",
             root, branch, pci, class, name, node, branch, pci, branch, pci, pci, branch, pci, class, name);
    CHECK(system(command) == 0);
}

static void nearest(const char *pci, int core, const char *want)
{
    char name[64];

    mf_nic_near(root, pci, core, name, sizeof name);
    if (strcmp(name, want) != 0) fprintf(stderr, "%s, core %d: '%s', want '%s'\n", pci, core, name, want);
    CHECK(strcmp(name, want) == 0);
}

static void fabric(int adapters, int up, int open, const char *name)
{
    struct mf_fabric f;

    mf_nic_fabric(root, &f);
    CHECK(f.adapters == adapters && f.up == up && f.open == open && strcmp(f.name, name) == 0);
}

static void port(const char *adapter, const char *state)
{
    char command[1024];

    snprintf(command, sizeof command,
             "cd '%s/sys/class/infiniband/%s' && mkdir -p ports/1 ports/2 && echo '1: DOWN' >ports/1/state && "
             "echo '%s' >ports/2/state",
             root, adapter, state);
    CHECK(system(command) == 0);
}

int main(int argc, char **argv)
{
    char command[2048];

    NEEDS(1, "FOLDER");
    if (chdir(argv[1]) != 0) return 2;
    snprintf(root, sizeof root, "nic.%ld", (long)getpid());
    snprintf(command, sizeof command,
             "mkdir -p '%s/sys/class/net/lo' '%s/sys/devices/system/node/node0' '%s/sys/devices/system/node/node1' && "
             "touch '%s/sys/devices/system/node/node0/cpu0' '%s/sys/devices/system/node/node1/cpu8'",
             root, root, root, root, root);
    CHECK(system(command) == 0);
    nearest("", 0, "");
    fabric(0, 0, 0, "");
    device("pci0000:00", "0000:00:03.0", 0, "net", "eth0");
    device("pci0000:80", "0000:80:03.0", 1, "net", "eth1");
    nearest("", 0, "eth0");
    nearest("", 8, "eth1");
    device("pci0000:00/0000:00:01.0", "0000:17:00.0", 0, "drm", "card0");
    device("pci0000:80/0000:80:01.0", "0000:97:00.0", 1, "drm", "card1");
    nearest("00000000:97:00.0", 0, "eth1");
    device("pci0000:00/0000:00:01.0", "0000:18:00.0", 0, "infiniband", "mlx5_0");
    device("pci0000:80/0000:80:01.0", "0000:9A:00.0", 1, "infiniband", "mlx5_1");
    nearest("00000000:17:00.0", 8, "mlx5_0");
    nearest("00000000:97:00.0", 0, "mlx5_1");
    nearest("00000000:55:00.0", 8, "mlx5_1");
    nearest("", 0, "mlx5_0");
    port("mlx5_0", "2: INIT");
    fabric(2, 0, 0, "mlx5_0");
    port("mlx5_1", "4: ACTIVE");
    snprintf(command, sizeof command, "mkdir -p '%s/dev/infiniband' && cd '%s/dev/infiniband' && touch uverbs0 rdma_cm",
             root, root);
    CHECK(system(command) == 0);
    fabric(2, 1, 1, "mlx5_1");
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK(system(command) == 0);
    return failures != 0;
}
