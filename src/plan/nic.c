/* See nic.h. */
#include "src/plan/nic.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAME_NODE = 1, BRANCH = 2, INFINIBAND = 1000 };

/* Where a GPU hangs, as a path of the PCI tree; "". */
static void place_of(const char *root, const char *pci, char place[PATH_MAX])
{
    char path[PATH_MAX];
    size_t n = strlen(pci);

    *place = '\0';
    if (n < 12) return;
    n = (size_t)snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, pci + n - 12);
    for (char *c = path + n - 12; *c; ++c) *c = (char)tolower((unsigned char)*c);
    if (!realpath(path, place)) *place = '\0';
}

/* Folders that two paths have in common. */
static int common(const char *a, const char *b)
{
    int n = 0;

    for (size_t i = 0; a[i] && a[i] == b[i]; ++i) n += a[i] == '/';
    return n;
}

static int number_in(const char *folder, const char *file)
{
    char path[PATH_MAX], line[32] = "";
    FILE *from;

    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 64, folder, file);
    from = fopen(path, "r");
    if (from && !fgets(line, sizeof line, from)) *line = '\0';
    if (from) (void)fclose(from);
    return *line ? (int)strtol(line, NULL, 10) : -1;
}

/* The NUMA node of a core is the one whose folder lists it. */
static int has_core(const char *root, int node, int core)
{
    char path[PATH_MAX], name[32];
    FILE *from;

    snprintf(name, sizeof name, "cpu%d", core);
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/%s", root, node, name);
    from = node < 0 ? NULL : fopen(path, "r");
    if (from) (void)fclose(from);
    return from != NULL;
}

/* How near an adapter is; 0: it is none of hardware. */
static int nearness(const char *root, const char *folder, const char *gpu, int core)
{
    char device[PATH_MAX];

    if (!realpath(folder, device)) return 0;
    return 1 + (has_core(root, number_in(device, "numa_node"), core) ? SAME_NODE : 0) + BRANCH * common(device, gpu);
}

void mf_nic_near(const char *root, const char *pci, int core, char *name, size_t n)
{
    static const char *const kinds[] = {"infiniband", "net"};
    char gpu[PATH_MAX], path[PATH_MAX];
    int best = 0;

    *name = '\0';
    place_of(root, pci, gpu);
    for (int k = 0; k < 2; ++k) {
        DIR *folder;

        snprintf(path, sizeof path, "%s/sys/class/%s", root, kinds[k]);
        folder = opendir(path);
        for (struct dirent *one; folder && (one = readdir(folder));) {
            int near;

            if (*one->d_name == '.') continue;
            snprintf(path, sizeof path, "%s/sys/class/%s/%s/device", root, kinds[k], one->d_name);
            near = nearness(root, path, gpu, core);
            if (near > 0 && k == 0) near += INFINIBAND;
            if (near < best || (near == best && strcmp(one->d_name, name) >= 0) || near == 0) continue;
            best = near;
            snprintf(name, n, "%s", one->d_name);
        }
        if (folder) (void)closedir(folder);
    }
}

/* Does a port of this adapter say "4: ACTIVE"? */
static int is_up(const char *root, const char *adapter)
{
    for (int port = 1; port <= 8; ++port) {
        char folder[PATH_MAX];

        snprintf(folder, sizeof folder, "%s/sys/class/infiniband/%s/ports/%d", root, adapter, port);
        if (number_in(folder, "state") == 4) return 1;
    }
    return 0;
}

static void add_adapter(const char *root, const char *name, struct mf_fabric *fabric)
{
    const int up = is_up(root, name);

    ++fabric->adapters;
    if (fabric->adapters == 1 || (up && fabric->up == 0)) snprintf(fabric->name, sizeof fabric->name, "%.47s", name);
    fabric->up += up;
}

void mf_nic_fabric(const char *root, struct mf_fabric *fabric)
{
    static const char *const folders[] = {"/sys/class/infiniband", "/dev/infiniband"};

    *fabric = (struct mf_fabric){.name = ""};
    for (int k = 0; k < 2; ++k) {
        char path[PATH_MAX];
        DIR *folder;

        snprintf(path, sizeof path, "%s%s", root, folders[k]);
        folder = opendir(path);
        for (struct dirent *one; folder && (one = readdir(folder));) {
            if (*one->d_name == '.') continue;
            if (k == 0) add_adapter(root, one->d_name, fabric);
            if (k == 0 || strncmp(one->d_name, "uverbs", 6) != 0) continue;
            snprintf(path, sizeof path, "%s%s/%s", root, folders[k], one->d_name);
            fabric->open += access(path, R_OK | W_OK) == 0;
        }
        if (folder) (void)closedir(folder);
    }
}
