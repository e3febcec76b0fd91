/* See card.h. */
#include "src/model/card.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/fields.h"
#include "src/model/foreign.h"

/* Version 1 had "arguments" beside the name of the architecture. */
enum { ARGUMENTS = 1, WORD };

int mf_model_card_refuse(const struct mf_model_card *c, const char *key)
{
    return mf_fail(MF_INPUT, "'%s': its metadata do not say '%s' as this program writes it", c->path, key);
}

/* -- writing -- */

static void put_experts(const struct mf_experts *experts, struct mf_json *to)
{
    struct mf_json *ids = mf_json_array();

    for (size_t e = 0; e < experts->count; ++e) mf_json_int(ids, NULL, experts->id[e]);
    mf_json_put(to, "expert_ids", ids);
}

struct mf_channel mf_model_card_channel(const struct mf_model_card *c, size_t k)
{
    return c->channel ? c->channel[k] : (struct mf_channel){.deviation = 1, .least = 1};
}

int mf_model_card_bytes(const struct mf_model_card *c)
{
    return !c->phases && (c->foreign || (c->type && strcmp(c->type, "uint8") == 0));
}

/* One number of each channel. */
static void put_channels(const struct mf_model_card *c, const char *key, size_t at, struct mf_json *input)
{
    double value[MF_CHANNELS_MAX];

    for (size_t k = 0; k < c->dims[3]; ++k) {
        const struct mf_channel channel = mf_model_card_channel(c, k);

        memcpy(&value[k], (const char *)&channel + at, sizeof *value);
    }
    mf_json_reals(input, key, value, c->dims[3]);
}

/* What the values were from which it learnt: images are normalised by mean and deviation. */
static void put_values(const struct mf_model_card *c, struct mf_json *input)
{
    int known = 1;

    if (c->phases || c->type) mf_json_text(input, "type", c->phases ? "phases" : c->type);
    if (c->phases) return;
    for (size_t k = 0; k < c->dims[3]; ++k) {
        const struct mf_channel channel = mf_model_card_channel(c, k);

        known &= channel.least <= channel.most;
    }
    put_channels(c, "mean", offsetof(struct mf_channel, mean), input);
    put_channels(c, "deviation", offsetof(struct mf_channel, deviation), input);
    if (!known) return;
    put_channels(c, "min", offsetof(struct mf_channel, least), input);
    put_channels(c, "max", offsetof(struct mf_channel, most), input);
}

struct mf_json *mf_model_card_json(const struct mf_model_card *c)
{
    struct mf_json *json = mf_json_object(), *input = mf_json_object();
    const double dims[] = {(double)c->dims[0], (double)c->dims[1], (double)c->dims[2], (double)c->dims[3]};
    char *word = mf_arch_word(c->arch, &c->args);

    MF_JSON(json, "version", WORD, "arch", word);
    if (c->args.experts > 0) put_experts(c->args.list, json);
    mf_json_wholes(input, "extents", dims, 4);
    mf_json_int(input, "phases", c->phases);
    put_values(c, input);
    mf_json_put(json, "input", input);
    if (c->denoise) mf_json_put(json, "denoise", mf_denoise_json(c->denoise));
    if (c->outputs.name) mf_outputs_put(&c->outputs, json);
    free(word);
    return json;
}

void mf_outputs_put(const struct mf_outputs *o, struct mf_json *to)
{
    struct mf_json *names = mf_json_array();

    for (size_t i = 0; i < o->count; ++i) mf_json_text(names, NULL, o->name[i]);
    mf_json_put(to, o->classes ? "classes" : "columns", names);
    if (o->classes) return;
    mf_json_reals(to, "column_mean", o->mean, o->count);
    mf_json_reals(to, "column_deviation", o->deviation, o->count);
}

/* -- reading -- */

/* Values that a network divides by. */
static int check_divisors(const struct mf_model_card *c, const char *key, size_t n, const double *values)
{
    for (size_t i = 0; i < n; ++i)
        if (!(values[i] > 0) || !isfinite(values[i]))
            return mf_fail(MF_INPUT, "'%s': '%s' of its metadata holds %g; it must be above 0", c->path, key,
                           values[i]);
    return MF_OK;
}

/* The ids name the weights, so each stands there once. */
static int read_ids(struct mf_model_card *c, const struct mf_json *ids)
{
    if (!ids || mf_json_kind(ids) != MF_JSON_ARRAY || mf_json_count(ids) != (size_t)c->args.experts)
        return mf_model_card_refuse(c, "expert_ids");
    for (c->experts.count = 0; c->experts.count < (size_t)c->args.experts; ++c->experts.count) {
        const long id = (long)mf_json_to_int(mf_json_item(ids, c->experts.count));

        if (id < 0 || mf_experts_find(&c->experts, id) < c->experts.count) return mf_model_card_refuse(c, "expert_ids");
        c->experts.id[c->experts.count] = id;
    }
    c->args.list = &c->experts;
    return MF_OK;
}

/* Adds a size of version 1 to a word. Those of 0 are of other networks. */
static void add_size(void *context, const char *key, const struct mf_json *value)
{
    FILE *to = context;
    const enum mf_json_kind kind = mf_json_kind(value);

    if (kind == MF_JSON_ARRAY || (mf_field_is_number(value) && mf_json_to_real(value) == 0) ||
        (kind == MF_JSON_TEXT && strcmp(mf_json_to_text(value), "none") == 0))
        return;
    fputc(',', to);
    for (; *key; ++key) fputc(*key == '_' ? '-' : *key, to);
    if (kind == MF_JSON_INT)
        fprintf(to, "=%lld", mf_json_to_int(value));
    else if (kind == MF_JSON_REAL)
        fprintf(to, "=%.17g", mf_json_to_real(value));
    else
        fprintf(to, "=%s", mf_json_to_text(value));
}

/* The word of a card, which version 1 did not have; heap. */
static char *word_of(const char *arch, const struct mf_json *arguments)
{
    char *word = NULL, *first;
    size_t size;
    FILE *to;

    if (!arguments) return MF_MUST(strdup(arch), "a word");
    to = MF_MUST(open_memstream(&word, &size), "a word");
    fputs(arch, to);
    mf_json_each(arguments, add_size, to);
    MF_ASSERT(fclose(to) == 0);
    first = strchr(word, ',');
    if (first) *first = ':';
    return word;
}

/* A network has no size that is larger than all extents of its arrays, and not more layers than arrays. */
static int check_sizes(const struct mf_model_card *c)
{
    const struct mf_arch_args *a = &c->args;
    const long size[] = {a->width, a->depth, a->heads, a->patch, a->blocks, a->deep, a->text_width, a->text_depth};
    static const char *const name[] = {"width",  "depth", "heads",      "patch",
                                       "blocks", "deep",  "text-width", "text-depth"};
    size_t count, most;
    const struct mf_safetensors_entry *entry = mf_safetensors_list(c->file, &count);

    most = count;
    for (size_t k = 0; k < count; ++k)
        for (size_t i = 0; i < entry[k].ndim; ++i)
            if (entry[k].dims[i] > most) most = entry[k].dims[i];
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i)
        if (size[i] < 0 || (size_t)size[i] > most)
            return mf_fail(MF_INPUT, "'%s': '%s' of its metadata is %ld, which its arrays do not fit", c->path, name[i],
                           size[i]);
    return MF_OK;
}

int mf_model_card_blame(const struct mf_model_card *c, int rc)
{
    char why[MF_ERR_TEXT];

    if (rc != MF_USAGE || c->foreign || !c->path) return rc;
    mf_err_take(why, sizeof why);
    return mf_fail(MF_INPUT, "'%s': 'arch' of its metadata: %.300s", c->path, why);
}

static int read_word(struct mf_model_card *c, const char *word)
{
    int rc = mf_arch_read(word, &c->arch, &c->args, NULL, NULL);

    if (rc == MF_OK) MF_TRY(check_sizes(c));
    if (rc == MF_OK) rc = mf_arch_complete(c->arch, &c->args);
    return mf_model_card_blame(c, rc);
}

static int read_network(struct mf_model_card *c)
{
    const struct mf_json *version = mf_json_get(c->json, "version"), *arguments = mf_json_get(c->json, "arguments");
    const char *arch = mf_json_get_text(c->json, "arch");
    char *word;
    int rc;

    if (!version || mf_json_kind(version) != MF_JSON_INT) return mf_model_card_refuse(c, "version");
    if (mf_json_to_int(version) != ARGUMENTS && mf_json_to_int(version) != WORD)
        return mf_fail(MF_INPUT, "'%s': its metadata are of version %lld, and %d is read here", c->path,
                       mf_json_to_int(version), WORD);
    if (!*arch) return mf_model_card_refuse(c, "arch");
    if (mf_json_to_int(version) == WORD) arguments = NULL;
    word = word_of(arch, arguments);
    rc = read_word(c, word);
    free(word);
    if (rc != MF_OK || c->args.experts == 0) return rc;
    return read_ids(c, mf_json_get(arguments ? arguments : c->json, "expert_ids"));
}

/* Files of earlier versions have neither type nor range. */
static int read_channels(struct mf_model_card *c, const struct mf_json *input)
{
    static const char *const key[] = {"mean", "deviation", "min", "max"};
    const size_t n = c->dims[3];
    double *values = MF_MUST(calloc(4 * n, sizeof *values), "units");
    int has[4], rc;

    for (int k = 0; k < 4; ++k) has[k] = mf_field_numbers(mf_json_get(input, key[k]), n, values + (size_t)k * n);
    c->type = mf_json_get(input, "type") ? mf_json_get_text(input, "type") : NULL;
    c->channel = MF_MUST(calloc(n, sizeof *c->channel), "units");
    for (size_t k = 0; k < n; ++k) {
        c->channel[k] = (struct mf_channel){values[k], values[n + k], 1, 0};
        if (!has[2] || !has[3]) continue;
        c->channel[k].least = values[2 * n + k];
        c->channel[k].most = values[3 * n + k];
    }
    if (!has[0] || !has[1])
        rc = mf_model_card_refuse(c, has[0] ? "deviation" : "mean");
    else
        rc = check_divisors(c, "deviation", n, values + n);
    free(values);
    return rc;
}

/* Two phases have one channel, more phases one each (struct mf_batch). */
static int read_input(struct mf_model_card *c)
{
    const struct mf_json *input = mf_json_get(c->json, "input");
    double dims[4];
    long long phases;

    if (!input || !mf_field_numbers(mf_json_get(input, "extents"), 4, dims)) return mf_model_card_refuse(c, "input");
    for (int i = 0; i < 4; ++i) {
        if (!(dims[i] >= 1 && dims[i] <= (i < 3 ? 1e6 : MF_CHANNELS_MAX)) || dims[i] != floor(dims[i]))
            return mf_model_card_refuse(c, "extents");
        c->dims[i] = (size_t)dims[i];
    }
    if (dims[0] * dims[1] * dims[2] * dims[3] > INT32_MAX) return mf_model_card_refuse(c, "extents");
    phases = mf_json_get_int(input, "phases");
    if (phases && (phases < 2 || phases > MF_PHASES_MAX || c->dims[3] != (phases == 2 ? 1 : (size_t)phases)))
        return mf_model_card_refuse(c, "phases");
    c->phases = (int)phases;
    return c->phases ? MF_OK : read_channels(c, input);
}

static int read_names(const struct mf_model_card *c, const char *key, const struct mf_json *from)
{
    mf_name *name = c->outputs.name;
    int twice;
    const size_t wrong = mf_field_names(from, c->outputs.count, name, &twice);

    if (twice) return mf_fail(MF_INPUT, "'%s': '%s' of its metadata names '%s' twice", c->path, key, name[wrong]);
    if (wrong == c->outputs.count) return MF_OK;
    return mf_fail(MF_INPUT, "'%s': '%s' of its metadata must be names (texts that are not empty)", c->path, key);
}

static int read_units(struct mf_model_card *c)
{
    struct mf_outputs *o = &c->outputs;

    o->mean = MF_MUST(calloc(o->count, sizeof *o->mean), "units");
    o->deviation = MF_MUST(calloc(o->count, sizeof *o->deviation), "units");
    if (!mf_field_numbers(mf_json_get(c->json, "column_mean"), o->count, o->mean))
        return mf_model_card_refuse(c, "column_mean");
    if (!mf_field_numbers(mf_json_get(c->json, "column_deviation"), o->count, o->deviation))
        return mf_model_card_refuse(c, "column_deviation");
    return check_divisors(c, "column_deviation", o->count, o->deviation);
}

static int read_denoise(struct mf_model_card *c)
{
    const struct mf_json *json = mf_json_get(c->json, "denoise");
    const char *key = "denoise";

    if (!json) return MF_OK;
    if (!c->arch->denoise || mf_json_kind(json) != MF_JSON_OBJECT) return mf_model_card_refuse(c, key);
    if (mf_json_get(c->json, "classes") || mf_json_get(c->json, "columns"))
        return mf_fail(MF_INPUT,
                       "'%s': its metadata say 'denoise', and 'classes' or 'columns'; a model has one of these",
                       c->path);
    c->denoise = MF_MUST(calloc(1, sizeof *c->denoise), "conditions");
    return mf_denoise_read(json, c->denoise, &key) == MF_OK ? MF_OK : mf_model_card_refuse(c, key);
}

/* A card of another kind of task has neither. */
static int read_outputs(struct mf_model_card *c)
{
    struct mf_outputs *o = &c->outputs;
    const int classes = mf_json_get(c->json, "classes") != NULL;
    const char *key = classes ? "classes" : "columns";
    const struct mf_json *names = mf_json_get(c->json, key);

    if (!names) return MF_OK;
    o->classes = classes;
    o->count = mf_json_kind(names) == MF_JSON_ARRAY ? mf_json_count(names) : 0;
    if (o->count == 0) return mf_model_card_refuse(c, key);
    o->name = MF_MUST(calloc(o->count, sizeof *o->name), "names");
    MF_TRY(read_names(c, key, names));
    return classes ? MF_OK : read_units(c);
}

static int take_json(struct mf_model_card *c, const char *word)
{
    const char *text = mf_safetensors_metadata(c->file, "mesoforge");

    c->foreign = word && !text;
    if (c->foreign) return mf_foreign_card(c->file, word, &c->json);
    if (!text)
        return mf_fail(MF_INPUT, "'%s' does not say which model it is of: it has no 'mesoforge' in its metadata",
                       c->path);
    c->json = mf_json_parse(text);
    return c->json && mf_json_kind(c->json) == MF_JSON_OBJECT ? MF_OK : mf_model_card_refuse(c, "mesoforge");
}

/* A word for a file that says itself what it is. */
static int check_word(const struct mf_model_card *c, const char *word)
{
    if (!word || c->foreign || mf_arch_find(word) == c->arch) return MF_OK;
    return mf_fail(MF_USAGE, "--arch %.100s: '%s' says that it is of --arch %s; leave --arch out", word, c->path,
                   c->arch->name);
}

int mf_model_card_open(const char *path, struct mf_model_card *c) { return mf_model_card_open_as(path, NULL, c); }

int mf_model_card_open_as(const char *path, const char *word, struct mf_model_card *c)
{
    *c = (struct mf_model_card){.path = MF_MUST(strdup(path), "a name")};
    MF_TRY(mf_safetensors_open(path, &c->file));
    MF_TRY(take_json(c, word));
    MF_TRY(read_network(c));
    MF_TRY(check_word(c, word));
    MF_TRY(read_input(c));
    MF_TRY(read_denoise(c));
    return read_outputs(c);
}

void mf_model_card_close(struct mf_model_card *c)
{
    mf_safetensors_close(c->file);
    mf_json_free(c->json);
    free(c->path);
    free(c->channel);
    free(c->outputs.name);
    free(c->outputs.mean);
    free(c->outputs.deviation);
    if (c->denoise) mf_denoise_close(c->denoise);
    free(c->denoise);
    *c = (struct mf_model_card){0};
}

/* -- use -- */

/* "images of 16 x 16 pixels with 2 phases" */
static const char *samples_text(const size_t *d, size_t channels, int phases, char text[128])
{
    const int n = d[0] > 1 ? snprintf(text, 128, "volumes of %zu x %zu x %zu voxels", d[0], d[1], d[2])
                           : snprintf(text, 128, "images of %zu x %zu pixels", d[1], d[2]);

    if (phases)
        snprintf(text + n, 128 - (size_t)n, " with %d phase%s", phases, MF_S(phases));
    else
        snprintf(text + n, 128 - (size_t)n, " with %zu channel%s of grey values", channels, MF_S(channels));
    return text;
}

int mf_model_card_reads(const struct mf_model_card *c, struct mf_dataset *set)
{
    const size_t *d = c->dims, *e = set->dims;
    char has[128], reads[128];

    if (d[0] != e[0] || d[1] != e[1] || d[2] != e[2] || d[3] != set->inputs || c->phases != set->phases)
        return mf_fail(MF_INPUT, "samples of '%s' are %s; the model of '%s' reads %s", set->path,
                       samples_text(e, set->inputs, set->phases, has), c->path,
                       samples_text(d, d[3], c->phases, reads));
    for (size_t k = 0; !c->phases && k < d[3]; ++k) {
        set->mean[k] = c->channel[k].mean;
        set->deviation[k] = c->channel[k].deviation;
    }
    return MF_OK;
}

void mf_outputs_units(const struct mf_outputs *o, size_t n, float *y)
{
    for (size_t r = 0; !o->classes && r < n; ++r)
        for (size_t i = 0; i < o->count; ++i, ++y) *y = (float)(*y * o->deviation[i] + o->mean[i]);
}

static void shares_of(size_t n, float *x)
{
    double sum = 0;
    float most = x[0];

    for (size_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
    for (size_t i = 0; i < n; ++i) sum += exp((double)(x[i] - most));
    for (size_t i = 0; i < n; ++i) x[i] = (float)(exp((double)(x[i] - most)) / sum);
}

void mf_outputs_shares(const struct mf_outputs *o, size_t n, float *y)
{
    for (size_t r = 0; o->classes && r < n; ++r) shares_of(o->count, y + r * o->count);
}
