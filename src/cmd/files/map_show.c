/* See map_show.h. */
#include "src/cmd/files/map_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/model/language_files.h"
#include "src/place/map.h"

enum { WORDS = 40 };

static const char *device_of(const struct mf_mapped *m, const struct mf_device_map *p, size_t part)
{
    return m->devices.device[p->device[part]].name;
}

/* -- parts -- */

/* "f32", or "bf16, f32": the types of a part's weights. */
static void types_of(const struct mf_parts *parts, size_t part, char text[WORDS])
{
    unsigned seen = 0;

    *text = '\0';
    for (size_t a = 0; a < parts->arrays; ++a) {
        const struct mf_part_array *array = &parts->array[a];

        if (array->is_cache || !mf_part_has(array, part) || seen >> array->type & 1) continue;
        seen |= 1u << array->type;
        mf_enumerate(text, WORDS, "%s", mf_type_name(array->type));
    }
}

static void shares_of(const struct mf_parts *parts, size_t part, char text[WORDS])
{
    *text = '\0';
    for (size_t k = mf_parts_sharing(parts, part, parts->count); k < parts->count; k = mf_parts_sharing(parts, part, k))
        mf_enumerate(text, WORDS, "%s", parts->part[k].name);
}

/* Have two parts the same numbers and the same device? */
static int alike(const struct mf_mapped *m, const struct mf_device_map *p, size_t i, size_t k)
{
    const struct mf_part *a = &m->parts.part[i], *b = &m->parts.part[k];

    return p->device[i] == p->device[k] && a->weights == b->weights && a->caches == b->caches && a->work == b->work &&
           a->operations == b->operations && a->leaves == b->leaves && mf_part_is_block(&m->parts, i) &&
           mf_part_is_block(&m->parts, k) && mf_parts_sharing(&m->parts, i, m->parts.count) == m->parts.count &&
           mf_parts_sharing(&m->parts, k, m->parts.count) == m->parts.count;
}

static void print_parts(const struct mf_mapped *m, const struct mf_device_map *p)
{
    const struct mf_parts *parts = &m->parts;
    int width = 24;

    for (size_t k = 0; k < parts->count; ++k) width = (int)mf_max((size_t)width, strlen(parts->part[k].name));
    printf("  %-*s %15s %15s %14s %12s %10s  %-8s %s\n", width, "part", "weights [B]", "caches [B]", "work [B]",
           "leaves [B]", "GFLOP", "device", "types; shares with");
    for (size_t i = 0, end; i < parts->count; i = end) {
        const struct mf_part *a = &parts->part[i];
        char name[120], types[WORDS], shares[WORDS];

        for (end = i + 1; end < parts->count && alike(m, p, i, end);) ++end;
        snprintf(name, sizeof name, end > i + 1 ? "%.40s .. %.40s" : "%.100s", a->name, parts->part[end - 1].name);
        types_of(parts, i, types);
        shares_of(parts, i, shares);
        printf("  %-*s %15zu %15zu %14zu %12zu %10.4g  %-8s %s%s%s\n", width, name, a->weights, a->caches, a->work,
               a->leaves, a->operations * 1e-9, device_of(m, p, i), types, *shares ? "; " : "", shares);
    }
    for (size_t k = 0; k < p->exceptions; ++k)
        printf("  %-*s %15zu %57s%s\n", width, parts->array[p->exception[k].array].name,
               parts->array[p->exception[k].array].bytes, "", m->devices.device[p->exception[k].device].name);
}

/* -- devices -- */

static size_t parts_on(const struct mf_device_map *p, size_t device)
{
    size_t n = 0;

    for (size_t k = 0; k < p->parts; ++k) n += p->device[k] == device;
    return n;
}

static void print_devices(const struct mf_mapped *m, const struct mf_device_map *p, const size_t *bytes)
{
    printf("  %-10s %6s %17s %17s %17s\n", "device", "parts", "needed [B]", "free [B]", "stays free [B]");
    for (size_t d = 0; d < m->devices.count; ++d) {
        const struct mf_place_device *device = &m->devices.device[d];
        const int64_t left = (int64_t)device->free - (int64_t)bytes[d];

        printf("  %-10s %6zu %17zu %17" PRIu64 " %17" PRId64 "%s\n", device->name, parts_on(p, d), bytes[d],
               device->free, left, left < 0 ? "  does not fit" : "");
    }
}

void mf_map_print(const struct mf_mapped *m, const struct mf_device_map *p)
{
    size_t *bytes = MF_MUST(malloc((m->devices.count + 1) * sizeof *bytes), "bytes of devices");
    char *text = mf_device_map_text(p, &m->parts, &m->devices);

    if (m->is_guess)
        printf("%s: a guess by the name alone, %g GB in all; for exact bytes map the model's folder\n", m->name,
               m->guess.total);
    else if (m->is_language)
        printf("%s: language model %s; %zu request%s of %zu positions; a pass takes %zu tokens of a prompt\n", m->name,
               mf_language_name(m->language.family), m->requests, MF_S(m->requests), m->context, m->rows);
    else
        printf("%s: network %s; a pass takes %zu sample%s\n", m->name, m->card.arch->name, m->rows, MF_S(m->rows));
    print_parts(m, p);
    mf_device_map_bytes(p, &m->parts, m->devices.count, bytes);
    printf("\n");
    print_devices(m, p, bytes);
    printf("\n  boundaries: %zu\n  map: %s\n", mf_device_map_boundaries(p), text);
    free(bytes);
    free(text);
}

/* -- JSON -- */

static struct mf_json *part_object(const struct mf_mapped *m, const struct mf_device_map *p, size_t part)
{
    const struct mf_part *a = &m->parts.part[part];
    struct mf_json *json = mf_json_object(), *types = mf_json_object(), *shares = mf_json_array();
    size_t bytes[MF_TYPES] = {0};

    for (size_t k = 0; k < m->parts.arrays; ++k)
        if (!m->parts.array[k].is_cache && mf_part_has(&m->parts.array[k], part))
            bytes[m->parts.array[k].type] += m->parts.array[k].bytes;
    for (enum mf_type t = 0; t < MF_TYPES; ++t)
        if (bytes[t]) mf_json_size(types, mf_type_name(t), bytes[t]);
    for (size_t k = mf_parts_sharing(&m->parts, part, m->parts.count); k < m->parts.count;
         k = mf_parts_sharing(&m->parts, part, k))
        mf_json_text(shares, NULL, m->parts.part[k].name);
    MF_JSON(json, "name", a->name, "device", device_of(m, p, part), "weights", a->weights, "weights_by_type", types,
            "numbers", a->numbers, "caches", a->caches, "work", a->work, "leaves", a->leaves, "operations",
            a->operations, "shares_with", shares);
    return json;
}

static struct mf_json *device_object(const struct mf_mapped *m, const struct mf_device_map *p, size_t device,
                                     size_t needed)
{
    const struct mf_place_device *d = &m->devices.device[device];
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "name", (const char *)d->name, "memory", (size_t)d->memory, "free", (size_t)d->free, "needed", needed,
            "stays_free", (long long)d->free - (long long)needed, "parts", parts_on(p, device));
    return json;
}

struct mf_json *mf_map_object(const struct mf_mapped *m, const struct mf_device_map *p, const char *strategy)
{
    struct mf_json *json = mf_json_object(), *parts = mf_json_array(), *devices = mf_json_array();
    size_t *bytes = MF_MUST(malloc((m->devices.count + 1) * sizeof *bytes), "bytes of devices");
    char *text = mf_device_map_text(p, &m->parts, &m->devices);

    mf_device_map_bytes(p, &m->parts, m->devices.count, bytes);
    for (size_t k = 0; k < m->parts.count; ++k) mf_json_put(parts, NULL, part_object(m, p, k));
    for (size_t d = 0; d < m->devices.count; ++d) mf_json_put(devices, NULL, device_object(m, p, d, bytes[d]));
    MF_JSON(json, "model", m->name, "kind",
            m->is_guess      ? "guess by name"
            : m->is_language ? mf_language_name(m->language.family)
                             : m->card.arch->name,
            "strategy", strategy, "parts", parts, "devices", devices, "boundaries", mf_device_map_boundaries(p), "map",
            (const char *)text, "device_map", mf_map_json(p, &m->parts, &m->devices, mf_mapped_language(m)));
    if (!m->is_guess) MF_JSON(json, "requests", m->requests, "rows_of_a_pass", m->rows);
    if (m->is_language) mf_json_size(json, "context", m->context);
    free(bytes);
    free(text);
    return json;
}
