/* See host.h. */
#include "src/plan/host.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/version.h"

/* The first line of a file, without its end; "" where there is none. */
static void first_line(const char *path, char *line, size_t n)
{
    FILE *file = fopen(path, "r");

    *line = '\0';
    if (!file) return;
    if (!fgets(line, (int)n, file)) *line = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
}

/* Gets the text behind "KEY :" in a file of such lines. */
static void behind(const char *root, const char *name, const char *key, char *text, size_t n)
{
    char path[PATH_MAX], line[512];
    FILE *file;
    size_t length = strlen(key);

    *text = '\0';
    snprintf(path, sizeof path, "%s%s", root, name);
    file = fopen(path, "r");
    while (file && !*text && fgets(line, sizeof line, file)) {
        const char *at = line + length;

        if (strncmp(line, key, length) != 0) continue;
        while (isspace((unsigned char)*at)) ++at;
        if (*at++ != ':') continue;
        while (isspace((unsigned char)*at)) ++at;
        snprintf(text, n, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (file) (void)fclose(file);
}

static int64_t meminfo(const char *root, const char *key)
{
    char text[64];

    behind(root, "/proc/meminfo", key, text, sizeof text);
    return (int64_t)strtoll(text, NULL, 10) * 1024;
}

/* "48K", "1280K", "36608K". */
static int64_t size_of(const char *text)
{
    char *end = NULL;
    long long size = strtoll(text, &end, 10);

    return (int64_t)(size * (*end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1));
}

/* Gets a property of one cache of a core from the kernel; "" where there is none. */
static void cache_line(const char *root, size_t core, int index, const char *name, char *text, size_t n)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%zu/cache/index%d/%s", root, core, index, name);
    first_line(path, text, n);
}

static void look_at_caches(const char *root, struct mf_host *host)
{
    for (int i = 0; i < 16; ++i) {
        static const char *const names[] = {"level", "type", "size"};
        char text[3][64];

        for (int k = 0; k < 3; ++k) cache_line(root, 0, i, names[k], text[k], sizeof text[k]);
        if (!*text[0]) return;
        if (strcmp(text[1], "Instruction") == 0) continue;
        if (*text[0] == '1') host->l1d_bytes = size_of(text[2]);
        if (*text[0] == '2') host->l2_bytes = size_of(text[2]);
        if (*text[0] == '3') host->l3_bytes = size_of(text[2]);
    }
}

/* "0-1" or "0,2-3": which. */
static struct mf_cores set_of(const char *list)
{
    struct mf_cores set = {0};
    char *end = NULL;

    while (isdigit((unsigned char)*list)) {
        long first = strtol(list, &end, 10), last = first;

        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long i = first; i <= last && i < MF_CORES_MOST; ++i) mf_cores_add(&set, (size_t)i);
        list = *end == ',' ? end + 1 : end;
    }
    return set;
}

/* Bytes of the L3 of a core, and the cores that share it: all, where the kernel does not tell. 0: there is none. */
static int64_t l3_of(const char *root, size_t core, struct mf_cores *mates)
{
    for (int i = 0; i < 16; ++i) {
        char text[1024];

        cache_line(root, core, i, "level", text, sizeof text);
        if (!*text) return 0;
        if (*text != '3') continue;
        cache_line(root, core, i, "shared_cpu_list", text, sizeof text);
        *mates = set_of(text);
        if (mf_cores_count(mates) == 0) memset(mates, 0xff, sizeof *mates);
        cache_line(root, core, i, "size", text, sizeof text);
        return size_of(text);
    }
    return 0;
}

/* Most L3 cache of so many cores. A virtual machine, or a container with few cores, is shown the whole chip's. */
static double l3_most(const struct mf_cores *own, const struct mf_cores *mates)
{
    const struct mf_cores both = mf_cores_both(own, mates);

    return (double)mf_cores_count(&both) * (16 << 20);
}

double mf_host_l3_share(const char *root, const struct mf_cores *own, const struct mf_cores *ranks, size_t count)
{
    struct mf_cores seen = {0};
    double share = 0;

    for (size_t core = 0; core < MF_CORES_MOST; ++core) {
        struct mf_cores mates;
        double bytes, most;
        size_t users = 0;

        if (!mf_cores_has(own, core) || mf_cores_has(&seen, core)) continue;
        bytes = (double)l3_of(root, core, &mates);
        if (bytes <= 0) continue;
        mf_cores_join(&seen, &mates);
        for (size_t r = 0; r < count; ++r) users += (size_t)mf_cores_meet(&ranks[r], &mates);
        bytes /= (double)(users ? users : 1);
        most = l3_most(own, &mates);
        share += bytes < most ? bytes : most;
    }
    return share;
}

static void look_at_memory(const char *root, const struct mf_limits *limits, struct mf_host *host)
{
    host->ram_bytes = meminfo(root, "MemTotal");
    host->ram_available_bytes = meminfo(root, "MemAvailable");
    if (limits->ram_bytes > 0 && limits->ram_bytes < host->ram_bytes) host->ram_bytes = limits->ram_bytes;
    if (limits->ram_available_bytes > 0 && limits->ram_available_bytes < host->ram_available_bytes)
        host->ram_available_bytes = limits->ram_available_bytes;
    if (host->ram_available_bytes > host->ram_bytes) host->ram_available_bytes = host->ram_bytes;
}

struct mf_cores mf_host_set(const char *root, const char *name)
{
    char path[PATH_MAX], list[5 * MF_CORES_MOST]; /* each by itself, with a comma */

    snprintf(path, sizeof path, "%s%s", root, name);
    first_line(path, list, sizeof list);
    return set_of(list);
}

int mf_host_cores(const char *root)
{
    const struct mf_cores cores = mf_host_set(root, "/sys/devices/system/cpu/online");

    return mf_cores_count(&cores);
}

void mf_host_list(const struct mf_cores *set, char *text, size_t n)
{
    size_t used = 0;

    *text = '\0';
    for (size_t first = 0, last; first < MF_CORES_MOST; first = last + 1) {
        char item[64];
        size_t length;

        last = first;
        if (!mf_cores_has(set, first)) continue;
        while (last + 1 < MF_CORES_MOST && mf_cores_has(set, last + 1)) ++last;
        length =
            (size_t)snprintf(item, sizeof item, last > first ? "%s%zu-%zu" : "%s%zu", used ? "," : "", first, last);
        if (used + length + sizeof ",..." > n) {
            snprintf(text + used, n - used, ",...");
            return;
        }
        used += (size_t)snprintf(text + used, n - used, "%s", item);
    }
}

struct mf_cores mf_host_node(const char *root, size_t node)
{
    char name[64];

    snprintf(name, sizeof name, "/sys/devices/system/node/node%zu/cpulist", node);
    return mf_host_set(root, name);
}

void mf_host_numa(const char *root, const struct mf_cores *cores, char *text, size_t n)
{
    const struct mf_cores nodes = mf_host_set(root, "/sys/devices/system/node/online");
    struct mf_cores met = {0};

    for (size_t k = 0; k < MF_CORES_MOST; ++k) {
        struct mf_cores here;

        if (!mf_cores_has(&nodes, k)) continue;
        here = mf_host_node(root, k);
        if (mf_cores_meet(&here, cores)) mf_cores_add(&met, k);
    }
    mf_host_list(&met, text, n);
}

void mf_host_look(const char *root, const struct mf_limits *limits, struct mf_host *host)
{
    const struct mf_cores nodes = mf_host_set(root, "/sys/devices/system/node/online");

    memset(host, 0, sizeof *host);
    host->count = 1;
    if (gethostname(host->name, sizeof host->name - 1) != 0) snprintf(host->name, sizeof host->name, "localhost");
    behind(root, "/proc/cpuinfo", "model name", host->cpu, sizeof host->cpu);
    snprintf(host->simd, sizeof host->simd, "%s", mf_kernels_simd());
    look_at_caches(root, host);
    look_at_memory(root, limits, host);
    host->numa_nodes = mf_cores_count(&nodes);
}

void mf_host_boot(char *text, size_t n)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    *text = '\0';
    if (!file) return;
    if (!fgets(text, (int)n, file)) *text = '\0';
    (void)fclose(file);
}
