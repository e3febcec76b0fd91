/* See map.h. */
#include "src/place/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/pattern.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/place/devices.h"
#include "src/place/names.h"

enum { FILE_MOST = 16 << 20, PATTERNS_MOST = 1 << 16, SAID = 160 };

/* -- reading -- */

static void add(struct mf_map *map, char *pattern_take, char *device_take)
{
    map->entry = MF_MUST(realloc(map->entry, (map->count + 1) * sizeof *map->entry), "a map");
    map->entry[map->count++] = (struct mf_map_entry){pattern_take, device_take, 0};
}

/* Without blanks around it. The caller frees. */
static char *trimmed(const char *from, size_t n)
{
    while (n > 0 && strchr(" \t\r", *from)) ++from, --n;
    while (n > 0 && strchr(" \t\r", from[n - 1])) --n;
    return mf_format("%.*s", (int)n, from);
}

/* "PATTERN=DEVICE", or in a line "PATTERN DEVICE". */
static int add_pair(struct mf_map *map, const char *pair, const char *signs)
{
    const size_t length = strlen(pair), at = strcspn(pair, signs);
    size_t behind;

    if (at == length)
        return mf_fail(map->file ? MF_INPUT : MF_USAGE, "%s%.200s%s'%.80s' names no device; a map is PATTERN=DEVICE",
                       map->file ? "'" : "--map: ", map->file ? map->file : "", map->file ? "': " : "", pair);
    behind = at + strspn(pair + at, signs);
    add(map, trimmed(pair, at), trimmed(pair + behind, length - behind));
    return MF_OK;
}

/* A JSON value is the name of a device, or the number of a GPU. */
struct reading {
    struct mf_map *map;
    int rc;
};

static void see(void *context, const char *key, const struct mf_json *value)
{
    struct reading *r = context;

    if (mf_json_kind(value) == MF_JSON_INT && mf_json_to_int(value) >= 0)
        add(r->map, mf_format("%s", key), mf_format("%lld", mf_json_to_int(value)));
    else if (mf_json_kind(value) == MF_JSON_TEXT)
        add(r->map, mf_format("%s", key), mf_format("%s", mf_json_to_text(value)));
    else if (r->rc == MF_OK)
        r->rc = mf_fail(MF_INPUT, "'%.200s': the device of '%.80s' must be a name or a number, not %s", r->map->file,
                        key, mf_json_kind_name(value));
}

static int read_lines(struct mf_map *map, char *text)
{
    char *line;
    int rc = MF_OK;

    while (rc == MF_OK && (line = strsep(&text, "\n"))) {
        char *words;

        line[strcspn(line, "#")] = '\0';
        words = trimmed(line, strlen(line));
        if (*words) rc = add_pair(map, words, "= \t:");
        free(words);
    }
    return rc;
}

static int read_file(struct mf_map *map)
{
    struct reading r = {map, MF_OK};
    struct mf_json *json = NULL;
    char *text = NULL;
    size_t bytes;
    int rc = mf_text_load(map->file, FILE_MOST, &text, &bytes);

    if (rc == MF_OK && bytes > FILE_MOST) rc = mf_fail(MF_INPUT, "'%.300s' is too long for a map", map->file);
    if (rc == MF_OK && text[strspn(text, " \t\r\n")] == '{') {
        rc = mf_json_load(map->file, FILE_MOST, &json);
        if (rc == MF_OK) mf_json_each(json, see, &r);
        if (rc == MF_OK) rc = r.rc;
        mf_json_free(json);
    } else if (rc == MF_OK) {
        rc = read_lines(map, text);
    }
    free(text);
    if (rc == MF_OK && map->count == 0) return mf_fail(MF_INPUT, "'%.300s' has no pattern", map->file);
    return rc;
}

int mf_map_read(const char *text, struct mf_map *map)
{
    char *copy, *rest, *pair;
    int rc = MF_OK;

    *map = (struct mf_map){.file = NULL};
    if (!strchr(text, '=')) {
        map->file = mf_format("%s", text);
        MF_TRY(read_file(map));
        if (map->count <= PATTERNS_MOST) return MF_OK;
        return mf_fail(MF_INPUT, "'%.300s' has %zu patterns, and a map has at most %d", text, map->count,
                       PATTERNS_MOST);
    }
    rest = copy = mf_format("%s", text);
    while (rc == MF_OK && (pair = strsep(&rest, ",")))
        if (*pair) rc = add_pair(map, pair, "=");
    free(copy);
    return rc;
}

void mf_map_free(struct mf_map *map)
{
    for (size_t k = 0; k < map->count; ++k) {
        free(map->entry[k].pattern);
        free(map->entry[k].device);
    }
    free(map->entry);
    free(map->file);
    *map = (struct mf_map){.file = NULL};
}

/* -- devices -- */

static int refuse_map(const struct mf_map *map) { return map->file ? MF_INPUT : MF_USAGE; }

/* Appends a device that is new. */
static int add_device(const struct mf_map *map, const char *word, struct mf_place_devices *devices)
{
    struct mf_place_device *d = &devices->device[devices->count];

    if (!mf_place_device_word(word, d->name))
        return mf_fail(refuse_map(map),
                       "--map: '%.60s' is no device; devices are cpu, cuda:0, cuda:1, .., or rank:0, ..", word);
    d->is_cores = strcmp(d->name, "cpu") == 0;
    if (mf_place_device_named(devices, d->name) < devices->count) return MF_OK;
    if (++devices->count <= MF_PLACE_MOST) return MF_OK;
    return mf_fail(refuse_map(map), "--map names more than %d devices", MF_PLACE_MOST);
}

/* Ranks stand in their order. */
static int order_ranks(const struct mf_map *map, struct mf_place_devices *devices)
{
    size_t ranks = 0;

    for (size_t k = 0; k < devices->count; ++k) {
        const long rank = mf_place_device_rank(devices->device[k].name);

        ranks += rank >= 0;
        if (rank >= 0 && (size_t)rank >= devices->count)
            return mf_fail(refuse_map(map),
                           "--map names rank:%ld, and %zu device%s; those of ranks are rank:0 to rank:%zu", rank,
                           devices->count, MF_S(devices->count), devices->count - 1);
    }
    if (ranks > 0 && ranks < devices->count)
        return mf_fail(refuse_map(map), "--map names ranks and other devices; name ranks alone");
    for (size_t k = 0; k < ranks; ++k) snprintf(devices->device[k].name, MF_DEVICE_NAME, "rank:%u", (unsigned)k);
    return MF_OK;
}

int mf_map_devices(const struct mf_map *map, struct mf_place_devices *devices)
{
    const size_t room = mf_min(map->count, MF_PLACE_MOST) + 2;
    int rc = MF_OK;

    *devices = (struct mf_place_devices){.device = MF_MUST(calloc(room, sizeof *devices->device), "devices")};
    for (size_t k = 0; rc == MF_OK && k < map->count; ++k) rc = add_device(map, map->entry[k].device, devices);
    if (rc == MF_OK) rc = order_ranks(map, devices);
    devices->linked = MF_MUST(calloc(devices->count + 1, devices->count + 1), "links");
    return rc;
}

/* -- placing -- */

struct placing {
    struct mf_map *map;
    const struct mf_parts *parts;
    const struct mf_place_devices *devices;
    const struct mf_language *model;
    struct mf_device_map *placement;
    size_t *device, *count; /* [entries] of each; weights of the part that it has */
    size_t *own;            /* [arrays] the entry of a weight that one part has, + 1 */
    char missing[SAID];
    size_t lost;
};

/* The best entry for these names, + 1; 0: none. */
static size_t best_entry(const struct placing *p, const struct mf_names *names)
{
    int best = -1;
    size_t entry = 0;

    for (size_t k = 0; k < p->map->count; ++k)
        for (size_t i = 0; i < names->count; ++i) {
            const int how = mf_pattern_meets(p->map->entry[k].pattern, names->name[i]);

            if (how < 0) continue;
            p->map->entry[k].met = 1;
            if (how < best) continue;
            best = how;
            entry = k + 1;
        }
    return entry;
}

static void miss(struct placing *p, const char *name)
{
    mf_enumerate(p->missing, sizeof p->missing, "%s", name);
    ++p->lost;
}

/* The device of a part: that of most of its weights. */
static void place_part(struct placing *p, size_t part)
{
    size_t weights = 0, lost = 0, best = 0, last = 0;
    struct mf_names names;

    memset(p->count, 0, p->map->count * sizeof *p->count);
    for (size_t a = 0; a < p->parts->arrays; ++a) {
        const struct mf_part_array *array = &p->parts->array[a];
        size_t entry;

        if (array->is_cache || !mf_part_has(array, part)) continue;
        mf_names_find(p->parts, part, a, p->model, &names);
        entry = best_entry(p, &names);
        ++weights;
        if (entry) ++p->count[entry - 1];
        if (!entry && lost++ == 0) last = a;
        p->own[a] = array->parts == 1 ? entry : 0;
    }
    if (weights == 0) {
        mf_names_find(p->parts, part, p->parts->arrays, p->model, &names);
        best = best_entry(p, &names);
        if (best) ++p->count[best - 1];
        lost = best == 0;
    }
    if (lost > 0) miss(p, lost < weights ? p->parts->array[last].name : p->parts->part[part].name);
    for (size_t k = 0, most = 0; k < p->map->count; ++k)
        if (p->count[k] > most) {
            most = p->count[k];
            p->placement->device[part] = p->device[k];
        }
}

/* "x.weight" and "x.bias" are read by one node, and are on one device: are these two? */
static int is_beside(const char *a, const char *b)
{
    const char *dot = strrchr(a, '.'), *other = strrchr(b, '.');

    return dot && other && dot - a == other - b && strncmp(a, b, (size_t)(dot - a)) == 0;
}

static void add_exception(const struct placing *p, size_t array, size_t device)
{
    struct mf_device_map *to = p->placement;

    for (size_t k = 0; k < to->exceptions; ++k)
        if (to->exception[k].array == array) return;
    to->exception = MF_MUST(realloc(to->exception, (to->exceptions + 1) * sizeof *to->exception), "weights");
    to->exception[to->exceptions++] = (struct mf_placed_array){array, device};
}

/* Weights that are elsewhere than their part take what stands beside them along. */
static void add_exceptions(const struct placing *p)
{
    const struct mf_parts *parts = p->parts;

    for (size_t a = 0; a < parts->arrays; ++a) {
        if (p->own[a] == 0 || p->device[p->own[a] - 1] == p->placement->device[parts->array[a].part[0]]) continue;
        add_exception(p, a, p->device[p->own[a] - 1]);
        for (size_t k = 0; k < parts->arrays; ++k)
            if (parts->array[k].part[0] == parts->array[a].part[0] &&
                is_beside(parts->array[k].name, parts->array[a].name))
                add_exception(p, k, p->device[p->own[a] - 1]);
    }
}

/* Modules of transformers without weights, which its maps may name. */
static int is_empty_module(const char *pattern)
{
    static const char *const words[] = {"drop", "dropout", "rotary_emb", "act", "embed_dropout"};
    const char *dot = strrchr(pattern, '.'), *word = dot ? dot + 1 : pattern;

    for (size_t k = 0; k < sizeof words / sizeof *words; ++k)
        if (strcmp(word, words[k]) == 0) return 1;
    return 0;
}

static int check_entries(const struct placing *p)
{
    const char *near, **known = MF_MUST(malloc((p->parts->count + 1) * sizeof *known), "names");
    int rc = MF_OK;

    for (size_t k = 0; k < p->parts->count; ++k) known[k] = p->parts->part[k].name;
    for (size_t k = 0; rc == MF_OK && k < p->map->count; ++k) {
        const struct mf_map_entry *e = &p->map->entry[k];

        if (e->met || is_empty_module(e->pattern)) continue;
        near = mf_nearest(e->pattern, known, p->parts->count);
        rc = mf_fail(refuse_map(p->map), "--map: '%.80s' meets no part and no weight; parts are %s .. %s%s%s%s",
                     e->pattern, known[0], known[p->parts->count - 1], near ? "; did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
    }
    free(known);
    return rc;
}

static int place_all(struct placing *p)
{
    for (size_t k = 0; k < p->map->count; ++k)
        MF_TRY(mf_place_device_find(p->devices, p->map->entry[k].device, &p->device[k]));
    for (size_t part = 0; part < p->parts->count; ++part) place_part(p, part);
    MF_TRY(check_entries(p));
    if (p->lost > 0)
        return mf_fail(refuse_map(p->map), "--map gives no device to %s; try: '*=%s' for all others", p->missing,
                       p->devices->device[0].name);
    add_exceptions(p);
    return MF_OK;
}

int mf_map_place(struct mf_map *map, const struct mf_parts *parts, const struct mf_place_devices *devices,
                 const struct mf_language *model, struct mf_device_map *placement)
{
    struct placing p = {.map = map, .parts = parts, .devices = devices, .model = model, .placement = placement};
    int rc;

    mf_device_map_new(placement, parts->count);
    p.device = MF_MUST(calloc(map->count + 1, sizeof *p.device), "devices");
    p.count = MF_MUST(calloc(map->count + 1, sizeof *p.count), "counts");
    p.own = MF_MUST(calloc(parts->arrays + 1, sizeof *p.own), "weights");
    rc = place_all(&p);
    free(p.device);
    free(p.count);
    free(p.own);
    return rc;
}
