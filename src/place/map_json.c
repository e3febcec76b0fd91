/* See map.h: a placement as transformers reads it. Its from_pretrained(device_map=...) takes modules of the model's
 * class. A weight belongs to the module with the longest name that its own begins with. */
#include <string.h>

#include "src/base/json.h"
#include "src/place/map.h"
#include "src/place/names.h"
#include "src/place/strategy.h"

struct writing {
    const struct mf_device_map *placement;
    const struct mf_parts *parts;
    const struct mf_place_devices *devices;
    const struct mf_language *model;
    struct mf_json *json;
};

/* The module of a weight: its name without the last word. Experts are one module, and have joined weights. */
static void cut_weight(char *name)
{
    static const char experts[] = ".experts.";
    char *dot = strrchr(name, '.'), *at = strstr(name, experts);

    if (at)
        at[strlen(experts) - 1] = '\0';
    else if (dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0 || strcmp(dot, ".scale") == 0))
        *dot = '\0';
}

static int has_weight(const struct writing *w, size_t part, size_t array)
{
    return !w->parts->array[array].is_cache && mf_part_has(&w->parts->array[array], part);
}

/* Are all weights of a part on its device? */
static int is_whole(const struct writing *w, size_t part)
{
    for (size_t a = 0; a < w->parts->arrays; ++a)
        if (has_weight(w, part, a) && mf_device_map_exception(w->placement, a) >= 0) return 0;
    return 1;
}

/* The modules of a weight. @p block: the name of the whole block instead. */
static void put_weight(const struct writing *w, size_t part, size_t array, int block)
{
    const ptrdiff_t other = mf_device_map_exception(w->placement, array);
    const size_t device = other >= 0 ? (size_t)other : w->placement->device[part];
    struct mf_names names;

    mf_names_find(w->parts, part, array, w->model, &names);
    if (names.modules == names.ends) { /* our own names are those of modules */
        names.modules = names.count - 1;
        names.ends = names.count;
    }
    for (size_t k = names.modules; k < names.ends; ++k) {
        cut_weight(names.name[k]);
        if (block) mf_name_cut(names.name[k]);
        mf_json_text(w->json, names.name[k], w->devices->device[device].name);
    }
}

static void put_part(const struct writing *w, size_t part)
{
    const int block = mf_part_is_block(w->parts, part) && is_whole(w, part);

    if (block && !w->model) {
        mf_json_text(w->json, w->parts->part[part].name, w->devices->device[w->placement->device[part]].name);
        return;
    }
    for (size_t a = 0; a < w->parts->arrays; ++a)
        if (has_weight(w, part, a)) put_weight(w, part, a, block);
}

/* Modules without weights, which the first device has. */
static void put_empty(const struct writing *w)
{
    const char *first = w->devices->device[w->placement->device[0]].name;

    if (w->model && w->model->family == MF_GPT2) mf_json_text(w->json, "transformer.drop", first);
    if (w->model && w->model->rope.kind != MF_ROPE_NONE) mf_json_text(w->json, "model.rotary_emb", first);
}

struct mf_json *mf_map_json(const struct mf_device_map *placement, const struct mf_parts *parts,
                            const struct mf_place_devices *devices, const struct mf_language *model)
{
    const struct writing w = {placement, parts, devices, model, mf_json_object()};

    for (size_t p = 0; p < parts->count; ++p) put_part(&w, p);
    put_empty(&w);
    return w.json;
}
