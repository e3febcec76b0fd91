/* See cgroup.h. A group is a folder below a mount point (proc/self/mountinfo), at the path in proc/self/cgroup. Limits
 * of parent folders up to the mount point hold as well. */
#include "src/plan/cgroup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number in the file FOLDER/NAME; -1 where there is none ("max"). */
static double number_in(const char *folder, const char *name)
{
    char path[PATH_MAX], word[64] = "", *end = word;
    FILE *file;
    double value;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return -1;
    file = fopen(path, "r");
    if (!file) return -1;
    if (fscanf(file, "%63s", word) != 1) *word = '\0';
    (void)fclose(file);
    value = strtod(word, &end);
    return end == word || *end ? -1 : value;
}

/* The value behind a word in FOLDER/memory.stat; 0 where there is none. */
static double statistic(const char *folder, const char *wanted)
{
    char path[PATH_MAX], word[64];
    double value = 0, found = 0;
    FILE *file;

    if ((size_t)snprintf(path, sizeof path, "%s/memory.stat", folder) >= sizeof path) return 0;
    file = fopen(path, "r");
    if (!file) return 0;
    while (fscanf(file, "%63s %lf", word, &value) == 2) /* NOLINT(cert-err34-c): the kernel writes numbers */
        if (strcmp(word, wanted) == 0) found = value;
    (void)fclose(file);
    return found;
}

/* The end of a long path says more than its beginning. */
static void keep_name(char to[MF_LIMITS_FILE], const char *folder, const char *file)
{
    size_t room = MF_LIMITS_FILE - strlen(file) - 5, length = strlen(folder);

    if (length <= room)
        snprintf(to, MF_LIMITS_FILE, "%.*s/%.30s", (int)room, folder, file);
    else
        snprintf(to, MF_LIMITS_FILE, "...%.*s/%.30s", (int)room, folder + length - room, file);
}

static void limit_cores(struct mf_limits *limits, double quota, double period, const char *folder, const char *file)
{
    if (!(quota > 0 && period > 0) || (limits->cores > 0 && quota / period >= limits->cores)) return;
    limits->cores = quota / period;
    keep_name(limits->cores_in, folder, file);
}

/* @p most of 2^60 bytes and above is how version 1 says "no limit". */
static void limit_memory(struct mf_limits *limits, double most, double used, double cache, const char *folder,
                         const char *file)
{
    double left = most - (used > cache ? used - cache : 0);

    if (!(most > 0 && most < 0x1p60)) return;
    if (left < 1) left = 1;
    if (limits->ram_bytes == 0 || most < (double)limits->ram_bytes) {
        limits->ram_bytes = (int64_t)most;
        keep_name(limits->ram_in, folder, file);
    }
    if (limits->ram_available_bytes == 0 || left < (double)limits->ram_available_bytes)
        limits->ram_available_bytes = (int64_t)left;
}

/* "200000 100000" or "max 100000". */
static void cores_of_v2(const char *folder, struct mf_limits *limits)
{
    char path[PATH_MAX], quota[32] = "", period[32] = "";
    FILE *file;

    if ((size_t)snprintf(path, sizeof path, "%s/cpu.max", folder) >= sizeof path) return;
    file = fopen(path, "r");
    if (!file) return;
    if (fscanf(file, "%31s %31s", quota, period) == 2)
        limit_cores(limits, strtod(quota, NULL), strtod(period, NULL), folder, "cpu.max");
    (void)fclose(file);
}

static void folder_v2(const char *folder, struct mf_limits *limits)
{
    cores_of_v2(folder, limits);
    limit_memory(limits, number_in(folder, "memory.max"), number_in(folder, "memory.current"),
                 statistic(folder, "inactive_file"), folder, "memory.max");
}

static void folder_v1(const char *folder, struct mf_limits *limits)
{
    limit_cores(limits, number_in(folder, "cpu.cfs_quota_us"), number_in(folder, "cpu.cfs_period_us"), folder,
                "cpu.cfs_quota_us");
    limit_memory(limits, number_in(folder, "memory.limit_in_bytes"), number_in(folder, "memory.usage_in_bytes"),
                 statistic(folder, "total_inactive_file"), folder, "memory.limit_in_bytes");
}

/* Is @p word one of the comma-separated words of @p list? */
static int lists(const char *list, const char *word)
{
    for (size_t n = strlen(word); *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && strncmp(list, word, n) == 0) return 1;
    return 0;
}

/* The path of this process in the hierarchy of @p controller ("" is version 2); 0 where there is none. */
static int path_of(const char *root, const char *controller, char path[PATH_MAX])
{
    char line[PATH_MAX + 256], name[PATH_MAX];
    FILE *file;
    int found = 0;

    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    file = fopen(name, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *at = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!at) continue;
        *at++ = '\0';
        found = *controller ? lists(controllers + 1, controller) : controllers[1] == '\0';
        snprintf(path, PATH_MAX, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (file) (void)fclose(file);
    return found;
}

/* A line of mountinfo: "36 35 0:31 ROOT POINT options ... - TYPE source SUPER". */
static int parse_mount(char *line, const char *controller, char **base, char **point)
{
    char *field[8] = {NULL}, *save = NULL, *behind = strstr(line, " - "), *type, *super = NULL;

    if (!behind) return 0;
    *behind = '\0';
    type = strtok_r(behind + 3, " ", &save);
    if (type && strtok_r(NULL, " ", &save)) super = strtok_r(NULL, " \n", &save);
    if (!type || !super) return 0;
    if (*controller ? strcmp(type, "cgroup") != 0 || !lists(super, controller) : strcmp(type, "cgroup2") != 0) return 0;
    field[0] = strtok_r(line, " ", &save);
    for (int i = 1; i < 5; ++i) field[i] = strtok_r(NULL, " ", &save);
    *base = field[3];
    *point = field[4];
    return field[4] != NULL;
}

/* In a container the path may begin with the part that is mounted. It may also not be below it at all. */
static const char *below(const char *path, const char *base)
{
    size_t n = strlen(base);

    if (strcmp(base, "/") == 0) return strstr(path, "/..") ? "" : path;
    return strncmp(path, base, n) == 0 && (path[n] == '/' || !path[n]) ? path + n : "";
}

/* The folder of the group and where its hierarchy is mounted (a length). */
static int find_folder(const char *root, const char *controller, char folder[PATH_MAX], size_t *top)
{
    char line[4 * PATH_MAX], name[PATH_MAX], path[PATH_MAX], *base, *point;
    FILE *file;
    int found = 0;

    if (!path_of(root, controller, path)) return 0;
    snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
    file = fopen(name, "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        int length;

        if (!parse_mount(line, controller, &base, &point)) continue;
        length = snprintf(folder, PATH_MAX, "%s%s%s", root, point, below(path, base));
        *top = strlen(root) + strlen(point);
        found = length > 0 && length < PATH_MAX;
    }
    if (file) (void)fclose(file);
    return found;
}

static void climb(const char *root, const char *controller, void (*look)(const char *, struct mf_limits *),
                  struct mf_limits *limits)
{
    char folder[PATH_MAX];
    size_t top = 0;

    if (!find_folder(root, controller, folder, &top)) return;
    for (;;) {
        char *slash;

        look(folder, limits);
        slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) return;
        *slash = '\0';
    }
}

void mf_cgroup_limits(const char *root, struct mf_limits *limits)
{
    memset(limits, 0, sizeof *limits);
    climb(root, "", folder_v2, limits);
    climb(root, "cpu", folder_v1, limits);
    climb(root, "memory", folder_v1, limits);
}
