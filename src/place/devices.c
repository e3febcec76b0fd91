/* See devices.h. */
#include "src/place/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

/* -- of a machine -- */

static int is_linked(const struct mf_host *host, size_t a, size_t b)
{
    const enum mf_link_kind kind = host->link[a * host->gpus + b].kind;

    return kind == MF_LINK_NVLINK || kind == MF_LINK_SWITCH;
}

static size_t count_gpus(const struct mf_hardware *h)
{
    size_t n = 0;

    for (size_t k = 0; k < h->hosts; ++k) n += h->host[k].gpus * (size_t)h->host[k].count;
    return n;
}

/* Appends the GPUs of a node. */
static void add_node(const struct mf_host *host, size_t room, struct mf_place_devices *all)
{
    const size_t first = all->count;
    size_t *at = MF_MUST(malloc((host->gpus + 1) * sizeof *at), "GPUs"), n = 0;

    for (size_t g = 0; g < host->gpus; ++g) {
        struct mf_place_device *d = &all->device[all->count];

        if (host->gpu[g].hidden || all->count + 1 == room) continue;
        snprintf(d->name, sizeof d->name, "cuda:%zu", all->count);
        d->memory = (uint64_t)host->gpu[g].memory_bytes;
        d->free = (uint64_t)host->gpu[g].memory_free_bytes;
        d->capability = (int)(10 * host->gpu[g].major + host->gpu[g].minor);
        at[n++] = g;
        ++all->count;
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < n; ++k)
            all->linked[(first + i) * room + first + k] = (unsigned char)(i != k && is_linked(host, at[i], at[k]));
    free(at);
}

void mf_place_devices_find(const struct mf_hardware *hardware, struct mf_place_devices *all)
{
    const size_t there = count_gpus(hardware), room = mf_min(there, MF_PLACE_MOST) + 1;
    struct mf_place_device *cpu;

    *all = (struct mf_place_devices){0};
    all->device = MF_MUST(calloc(room, sizeof *all->device), "devices");
    all->linked = MF_MUST(calloc(room, room), "links");
    if (there > MF_PLACE_MOST) mf_warn("the machine has %zu GPUs; a map takes the first %d", there, MF_PLACE_MOST);
    for (size_t k = 0; k < hardware->hosts; ++k)
        for (int64_t i = 0; i < hardware->host[k].count; ++i) add_node(&hardware->host[k], room, all);
    cpu = &all->device[all->count++];
    snprintf(cpu->name, sizeof cpu->name, "cpu");
    cpu->is_cores = 1;
    cpu->memory = (uint64_t)hardware->host[0].ram_bytes;
    cpu->free = (uint64_t)hardware->host[0].ram_available_bytes;
    for (size_t i = 0; i < all->count; ++i) /* hidden ones have no place */
        memmove(all->linked + i * all->count, all->linked + i * room, all->count);
}

/* -- by words -- */

size_t mf_place_device_named(const struct mf_place_devices *devices, const char *name)
{
    size_t d = 0;

    while (d < devices->count && strcmp(devices->device[d].name, name) != 0) ++d;
    return d;
}

static int is_number(const char *word)
{
    const size_t n = strspn(word, "0123456789");

    return n > 0 && n <= 6 && word[n] == '\0' && (word[0] != '0' || n == 1);
}

int mf_place_device_word(const char *word, char name[MF_DEVICE_NAME])
{
    const char *number = strncmp(word, "cuda:", 5) == 0 || strncmp(word, "rank:", 5) == 0 ? word + 5 : word;

    if (strcmp(word, "cpu") != 0 && strcmp(word, "cuda") != 0 && !is_number(number)) return 0;
    snprintf(name, MF_DEVICE_NAME, "%s%.16s%s", number == word && is_number(word) ? "cuda:" : "", word,
             strcmp(word, "cuda") == 0 ? ":0" : "");
    return 1;
}

long mf_place_device_rank(const char *name) { return strncmp(name, "rank:", 5) == 0 ? strtol(name + 5, NULL, 10) : -1; }

/* "cuda:3", "rocm:0", "cpu": is there such a kind? */
static int is_kind(const char *word)
{
    static const char *const kinds[] = {"cuda", "rocm", "mps", "rank"};

    if (strcmp(word, "cpu") == 0 || strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0) return 1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        const size_t n = strlen(kinds[k]);

        if (strncmp(word, kinds[k], n) != 0) continue;
        if (word[n] == '\0') return 1;
        return word[n] == ':' && word[n + 1] && strspn(word + n + 1, "0123456789") == strlen(word + n + 1);
    }
    return 0;
}

static int refuse_device(const struct mf_place_devices *devices, const char *word)
{
    char there[160] = "";

    if (!is_kind(word))
        return mf_fail(MF_USAGE, "'%.60s' is no device; devices are cpu, cuda:0, cuda:1, .., or the UUID of a GPU",
                       word);
    for (size_t d = 0; d < devices->count; ++d) mf_enumerate(there, sizeof there, "%s", devices->device[d].name);
    return mf_fail(MF_DEVICE, "device '%.60s' is not there; there are %s", word, there);
}

int mf_place_device_find(const struct mf_place_devices *devices, const char *name, size_t *device)
{
    char *number = mf_format("cuda:%s", name);

    *device = mf_place_device_named(devices, name);
    if (*device == devices->count && strspn(name, "0123456789") == strlen(name))
        *device = mf_place_device_named(devices, number);
    if (*device == devices->count && strcmp(name, "cuda") == 0) *device = mf_place_device_named(devices, "cuda:0");
    free(number);
    return *device < devices->count ? MF_OK : refuse_device(devices, name);
}

/* The device of a UUID; all->count: none. Its number is that among GPUs that are not hidden. */
static size_t with_uuid(const struct mf_hardware *h, const struct mf_place_devices *all, const char *uuid)
{
    size_t number = 0;

    for (size_t k = 0; k < h->hosts; ++k)
        for (int64_t i = 0; i < h->host[k].count; ++i)
            for (size_t g = 0; g < h->host[k].gpus; ++g) {
                if (h->host[k].gpu[g].hidden) continue;
                if (strcmp(h->host[k].gpu[g].uuid, uuid) == 0) return number;
                ++number;
            }
    return all->count;
}

static void take(struct mf_place_devices *chosen, size_t *from, const struct mf_place_devices *all, size_t device)
{
    if (mf_place_device_named(chosen, all->device[device].name) < chosen->count) return;
    from[chosen->count] = device;
    chosen->device[chosen->count++] = all->device[device];
}

static int take_word(const struct mf_hardware *hardware, const struct mf_place_devices *all,
                     const struct mf_place_wish *wish, const char *word, struct mf_place_devices *chosen, size_t *from)
{
    const size_t before = chosen->count;
    size_t d = strncmp(word, "cuda", 4) == 0 || strcmp(word, "cpu") == 0 ? mf_place_device_named(all, word)
                                                                         : with_uuid(hardware, all, word);
    int rc;

    if (d < all->count) {
        take(chosen, from, all, d);
        return MF_OK;
    }
    for (d = 0; strcmp(word, "cuda") == 0 && d < all->count; ++d)
        if (!all->device[d].is_cores) take(chosen, from, all, d);
    if (chosen->count > before) return MF_OK;
    rc = refuse_device(all, word);
    if (rc != MF_DEVICE || !wish->lenient) return rc;
    mf_warn("%s; it is left out", mf_err_text());
    mf_err_clear();
    return MF_OK;
}

/* All GPUs, or the cores. */
static void take_usual(const struct mf_place_devices *all, struct mf_place_devices *chosen, size_t *from)
{
    for (size_t d = 0; d < all->count; ++d)
        if (!all->device[d].is_cores) take(chosen, from, all, d);
    if (chosen->count == 0) take(chosen, from, all, all->count - 1);
}

static int take_all(const struct mf_hardware *hardware, const struct mf_place_devices *all,
                    const struct mf_place_wish *wish, struct mf_place_devices *chosen, size_t *from)
{
    for (size_t k = 0; wish->words && k < wish->words->count; ++k) {
        char *text = mf_format("%s", wish->words->at[k]), *rest = text, *word;
        int rc = MF_OK;

        while (rc == MF_OK && (word = strsep(&rest, ",")))
            if (*word) rc = take_word(hardware, all, wish, word, chosen, from);
        free(text);
        MF_TRY(rc);
    }
    if (chosen->count > 0) return MF_OK;
    if (wish->words && wish->words->count > 0) mf_warn("none of these devices is there; all others are taken");
    take_usual(all, chosen, from);
    return MF_OK;
}

int mf_place_devices_choose(const struct mf_hardware *hardware, const struct mf_place_devices *all,
                            const struct mf_place_wish *wish, struct mf_place_devices *chosen)
{
    size_t *from = MF_MUST(malloc((all->count + 1) * sizeof *from), "devices");
    int rc;

    *chosen = (struct mf_place_devices){.device = MF_MUST(calloc(all->count + 1, sizeof *chosen->device), "devices")};
    if (wish->prefer && strcmp(wish->prefer, "cuda") != 0)
        mf_warn("--prefer %s: this program has no such devices; cuda comes next", wish->prefer);
    rc = take_all(hardware, all, wish, chosen, from);
    chosen->linked = MF_MUST(calloc(chosen->count + 1, chosen->count + 1), "links");
    for (size_t i = 0; i < chosen->count; ++i)
        for (size_t k = 0; k < chosen->count; ++k)
            chosen->linked[i * chosen->count + k] = all->linked[from[i] * all->count + from[k]];
    free(from);
    return rc;
}
