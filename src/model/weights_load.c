/* See weights.h: what a file brings, and what is wrong with it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/model/weights.h"
#include "src/net/build.h"

enum { NAMED = 10 };

/* What is wrong with a file, array by array. */
struct faults {
    size_t count;
    char text[1200];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void fault(struct faults *f, const char *format, ...)
{
    va_list words;
    int n;

    if (f->count++ >= NAMED) return;
    va_start(words, format);
    n = vsnprintf(f->text + f->used, sizeof f->text - f->used, format, words);
    va_end(words);
    f->used += n > 0 ? (size_t)n : 0;
    if (f->used >= sizeof f->text) f->used = sizeof f->text - 1;
}

static int same_extents(const struct mf_safetensors_entry *entry, const struct mf_shape *shape)
{
    return entry->ndim == (size_t)shape->n && memcmp(entry->dims, shape->d, entry->ndim * sizeof *entry->dims) == 0;
}

static const char *extents(size_t n, const size_t *d, char text[96])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n && used < 80; ++i)
        used += (size_t)snprintf(text + used, 96 - used, "%s%zu", i ? " " : "", d[i]);
    return text;
}

static void check_weight(const struct mf_value *value, const struct mf_safetensors *file, struct faults *f)
{
    const struct mf_safetensors_entry *entry = mf_safetensors_find(file, value->name);
    const struct mf_shape whole = mf_value_whole(value);
    char has[96], wants[96];

    if (!entry && mf_value_in(value, 1 << MF_SET_BALANCE)) return; /* they begin with 0 */
    if (!entry)
        fault(f, "; '%.80s' is missing", value->name);
    else if (!same_extents(entry, &whole))
        fault(f, "; '%.80s' is [%s], the model's [%s]", value->name, extents(entry->ndim, entry->dims, has),
              extents((size_t)whole.n, whole.d, wants));
}

static int has_weight(const struct mf_net *net, const char *name)
{
    const int v = mf_value_find(net, name);

    return v >= 0 && mf_value_is_weight(&net->value[v]);
}

/* What the file says of its network, for a refusal. */
static void describe(const struct mf_safetensors *file, char *text, size_t room)
{
    const char *metadata = mf_safetensors_metadata(file, "mesoforge");
    struct mf_json *card = metadata ? mf_json_parse(metadata) : NULL;
    const char *arch = card ? mf_json_get_text(card, "arch") : "";

    text[0] = 0;
    if (*arch) snprintf(text, room, " (it is of --arch %.80s)", arch);
    mf_json_free(card);
}

/* Is it a weight that the file has to have? */
static int is_asked(const struct mf_value *value, const char *but)
{
    return mf_value_is_weight(value) && !mf_name_in(value->name, but);
}

/* What wrappers of PyTorch put before every name. */
static const char *prefix_of(const struct mf_weights *w, const struct mf_safetensors *file)
{
    static const char *const prefix[] = {"module.", "_orig_mod."};
    size_t count;
    const struct mf_safetensors_entry *entry = mf_safetensors_list(file, &count);

    for (int i = 0; count > 0 && i < 2; ++i) {
        const size_t length = strlen(prefix[i]);

        if (strncmp(entry[0].name, prefix[i], length) == 0 && has_weight(w->net, entry[0].name + length))
            return prefix[i];
    }
    return NULL;
}

/* Published files of a U-Net have the constant by which blocks change the extents of images: four quarters, as here. */
static int is_filter(const struct mf_weights *w, struct mf_safetensors *file, const char *name)
{
    static const char *const layers[] = {".conv0.resample_filter", ".skip.resample_filter"};
    const size_t length = strlen(name);
    float share[4] = {0};

    for (int i = 0; i < 2; ++i) {
        const size_t end = strlen(layers[i]);
        char weight[200];

        if (length < end || strcmp(name + length - end, layers[i]) != 0) continue;
        snprintf(weight, sizeof weight, "%.*s.conv0.weight", (int)(length - end), name);
        if (!has_weight(w->net, weight)) return 0;
        if (mf_safetensors_read(file, name, 4, (const size_t[]){1, 1, 2, 2}, share) != MF_OK) return 0;
        return share[0] == 0.25F && share[1] == 0.25F && share[2] == 0.25F && share[3] == 0.25F;
    }
    return 0;
}

static int check_file(const struct mf_weights *w, struct mf_safetensors *file, const char *but)
{
    const char *prefix = prefix_of(w, file);
    struct faults f = {0};
    char own[100];
    size_t count;
    const struct mf_safetensors_entry *entry = mf_safetensors_list(file, &count);

    for (size_t v = 0; v < w->net->values; ++v)
        if (is_asked(&w->net->value[v], but)) check_weight(&w->net->value[v], file, &f);
    for (size_t k = 0; k < count; ++k)
        if (!has_weight(w->net, entry[k].name) && !mf_name_in(entry[k].name, but) && !is_filter(w, file, entry[k].name))
            fault(&f, "; the model has no '%.80s'", entry[k].name);
    if (f.count == 0) return MF_OK;
    if (prefix)
        return mf_fail(MF_INPUT,
                       "the names in '%s' begin with '%s', which a wrapper of PyTorch puts there; save the state_dict "
                       "of the model within (model.%.*s)",
                       mf_safetensors_path(file), prefix, (int)strlen(prefix) - 1, prefix);
    describe(file, own, sizeof own);
    return mf_fail(MF_INPUT, "the arrays of '%s' are not those of this model%s: %zu differ%s",
                   mf_safetensors_path(file), own, f.count, f.text);
}

/* With one such number all that the network predicts is none. */
static int check_finite(const struct mf_safetensors *file, const struct mf_value *value, size_t n, const float *numbers)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(numbers[i]))
            return mf_fail(MF_NUMERIC, "'%s' predicts nothing: its array '%s' holds %s", mf_safetensors_path(file),
                           value->name, isnan(numbers[i]) ? "NaN" : "an infinity");
    return MF_OK;
}

static int load_one(const struct mf_weights *w, struct mf_safetensors *file, int v)
{
    const struct mf_value *value = &w->net->value[v];
    const struct mf_shape whole = mf_value_whole(value);
    const size_t n = mf_shape_count(&whole);
    float *numbers;
    int rc;

    MF_TRY(MF_ROOM(numbers, n, "'%.100s' of '%.300s'", value->name, mf_safetensors_path(file)));
    rc = mf_safetensors_read(file, value->name, (size_t)whole.n, whole.d, numbers);
    if (rc == MF_OK) rc = check_finite(file, value, n, numbers);
    if (rc == MF_OK) mf_weights_put(w, v, MF_STATE_WEIGHT, numbers);
    free(numbers);
    return rc;
}

int mf_weights_load(const struct mf_weights *w, struct mf_safetensors *file, const char *but)
{
    int rc = MF_OK;

    MF_TRY(check_file(w, file, but));
    for (size_t v = 0; rc == MF_OK && v < w->net->values; ++v) {
        const struct mf_value *value = &w->net->value[v];

        if (!is_asked(value, but) || !mf_safetensors_find(file, value->name)) continue;
        if (mf_weights_here(w, (int)v)) rc = load_one(w, file, (int)v); /* else other ranks read it */
    }
    mf_weights_masters(w, 0);
    return rc;
}
