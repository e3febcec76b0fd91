/* See visible.h. */
#include "src/plan/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = 128 };
#define NOTHING ((size_t)-1)

/* Finds the stand-in for a whole GPU at @p at: itself, its first part, or nothing. */
static size_t usable(const struct mf_nvml *seen, size_t at)
{
    if (seen->gpu[at].lost) return NOTHING;
    if (!seen->gpu[at].has_parts) return at;
    return at + 1 < seen->gpus && seen->gpu[at + 1].is_part ? at + 1 : NOTHING;
}

static size_t by_number(const struct mf_nvml *seen, long number)
{
    for (size_t i = 0; i < seen->gpus; ++i)
        if (!seen->gpu[i].is_part && seen->gpu[i].index == number) return usable(seen, i);
    return NOTHING;
}

/* The one GPU (or part) whose id begins so. */
static size_t by_id(const struct mf_nvml *seen, const char *beginning, int is_part)
{
    size_t found = NOTHING;

    for (size_t i = 0; i < seen->gpus; ++i) {
        if ((int)seen->gpu[i].is_part != is_part || strncmp(seen->gpu[i].gpu.uuid, beginning, strlen(beginning)) != 0)
            continue;
        if (found != NOTHING) return NOTHING;
        found = i;
    }
    return found == NOTHING || is_part ? found : usable(seen, found);
}

/* "MIG-GPU-<id of the whole>/<GPU instance>/<compute instance>", the form of drivers before R470. */
static size_t by_instances(const struct mf_nvml *seen, const char *entry)
{
    const char *slash = strchr(entry, '/');
    char *end = NULL;
    long gpu, compute;
    size_t length = slash ? (size_t)(slash - entry) : 0;

    if (!slash) return NOTHING;
    gpu = strtol(slash + 1, &end, 10);
    if (*end != '/') return NOTHING;
    compute = strtol(end + 1, &end, 10);
    if (*end) return NOTHING;
    for (size_t i = 0; i < seen->gpus; ++i) {
        size_t whole = i;

        if (!seen->gpu[i].is_part || seen->gpu[i].gpu_instance != gpu || seen->gpu[i].compute_instance != compute)
            continue;
        while (seen->gpu[whole].is_part) --whole;
        if (strlen(seen->gpu[whole].gpu.uuid) == length && strncmp(seen->gpu[whole].gpu.uuid, entry, length) == 0)
            return i;
    }
    return NOTHING;
}

enum form { NUMBER, WHOLE, PART };

static enum form form_of(const char *entry)
{
    return strncmp(entry, "GPU-", 4) == 0 ? WHOLE : strncmp(entry, "MIG-", 4) == 0 ? PART : NUMBER;
}

static size_t find(const struct mf_nvml *seen, const char *entry)
{
    long number;
    char *end = NULL;

    if (form_of(entry) == WHOLE) return by_id(seen, entry, 0);
    if (form_of(entry) == PART && strncmp(entry, "MIG-GPU-", 8) == 0) return by_instances(seen, entry + 4);
    if (form_of(entry) == PART) return by_id(seen, entry, 1);
    number = strtol(entry, &end, 10); /* as CUDA reads it: "2nd" is 2 */
    return end == entry ? NOTHING : by_number(seen, number);
}

/* The next entry without blanks around it; where the one after it begins, NULL at the end. */
static const char *cut_entry(const char *at, char *entry)
{
    size_t length = strcspn(at, ","), n;
    const char *after = at[length] ? at + length + 1 : NULL;

    while (length > 0 && isspace((unsigned char)*at)) ++at, --length;
    while (length > 0 && isspace((unsigned char)at[length - 1])) --length;
    n = length < ENTRY - 1 ? length : ENTRY - 1;
    memcpy(entry, at, n);
    entry[n] = '\0';
    return after;
}

/* A part is alone. */
static size_t only_one_part(const struct mf_nvml *seen, size_t *place, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (seen->gpu[place[i]].is_part) {
            place[0] = place[i];
            return 1;
        }
    return n;
}

static size_t all_of(const struct mf_nvml *seen, size_t *place)
{
    size_t n = 0;

    for (size_t i = 0; i < seen->gpus; ++i)
        if (!seen->gpu[i].is_part && usable(seen, i) != NOTHING) place[n++] = usable(seen, i);
    return only_one_part(seen, place, n);
}

static int has(const size_t *place, size_t n, size_t one)
{
    for (size_t i = 0; i < n; ++i)
        if (place[i] == one) return 1;
    return 0;
}

size_t mf_visible(const char *value, const struct mf_nvml *seen, size_t *place, char *remark)
{
    char entry[ENTRY];
    size_t n = 0;
    enum form form = NUMBER;

    *remark = '\0';
    if (!value) return all_of(seen, place);
    for (const char *at = value; at;) {
        size_t one;

        at = cut_entry(at, entry);
        if (n == 0) form = form_of(entry);
        one = form_of(entry) == form ? find(seen, entry) : NOTHING;
        if (one == NOTHING && *entry && strcmp(entry, "-1") != 0 && seen->gpus > 0)
            snprintf(remark, MF_NVML_TEXT,
                     "CUDA_VISIBLE_DEVICES: '%.80s' is not one GPU of this machine, the list ends there", entry);
        if (one == NOTHING) break;
        if (has(place, n, one)) {
            snprintf(remark, MF_NVML_TEXT, "CUDA_VISIBLE_DEVICES names '%.80s' twice, which hides all GPUs", entry);
            return 0;
        }
        place[n++] = one;
    }
    return only_one_part(seen, place, n);
}
