/* See saved.h. */
#include "src/train/saved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/train/card.h"

enum { CARD = 1 };

/* -- writing -- */

static void put_mixture(const struct mf_arch_args *a, struct mf_json *args)
{
    struct mf_json *ids = mf_json_array();

    MF_JSON(args, "experts", a->experts, "top_k", a->top, "temperature", a->temperature, "router_noise", a->noise,
            "capacity_factor", a->capacity, "balance", a->balance, "features", mf_features_names[a->features]);
    for (size_t e = 0; e < a->list->count; ++e) mf_json_int(ids, NULL, a->list->id[e]);
    mf_json_put(args, "expert_ids", ids);
}

/* What the values were from which it learnt: images are normalised by mean and deviation. */
static void put_values(const struct mf_dataset *set, struct mf_json *input)
{
    double least[MF_CHANNELS_MAX], most[MF_CHANNELS_MAX];
    int known = 1;

    mf_json_text(input, "type", set->phases ? "phases" : set->is_float ? "float32" : "uint8");
    if (set->phases) return;
    mf_json_reals(input, "mean", set->mean, set->inputs);
    mf_json_reals(input, "deviation", set->deviation, set->inputs);
    for (size_t c = 0; c < set->inputs; ++c) {
        const struct mf_channel of = mf_dataset_channel(set, c, set->count[MF_TRAIN], set->id[MF_TRAIN]);

        least[c] = of.least;
        most[c] = of.most;
        known &= of.least <= of.most;
    }
    if (!known) return;
    mf_json_reals(input, "min", least, set->inputs);
    mf_json_reals(input, "max", most, set->inputs);
}

struct mf_json *mf_saved_card(const struct mf_trainer *t, struct mf_json *results)
{
    struct mf_json *card = mf_json_object(), *args = mf_json_object(), *input = mf_json_object();
    const struct mf_arch_args *a = &t->opts.args;
    const struct mf_dataset *set = t->set;
    const double dims[] = {(double)set->dims[0], (double)set->dims[1], (double)set->dims[2], (double)set->inputs};

    MF_JSON(card, "version", CARD, "arch", t->opts.arch->name);
    MF_JSON(args, "width", a->width, "depth", a->depth, "heads", a->heads, "patch", a->patch, "dropout", a->dropout);
    if (a->experts > 0) put_mixture(a, args);
    mf_json_put(card, "arguments", args);
    mf_json_wholes(input, "extents", dims, 4);
    mf_json_int(input, "phases", set->phases);
    put_values(set, input);
    mf_json_put(card, "input", input);
    t->opts.task->learn->save(t->opts.task, card);
    if (results) mf_json_put(card, "results", results);
    return card;
}

int mf_saved_write(const struct mf_trainer *t, const char *path, const struct mf_json *card)
{
    char *text = mf_json_string(card);
    const char *const metadata[] = {"format", "pt", "mesoforge", text, NULL};
    const int rc = mf_weights_save(&t->weights, path, metadata);

    free(text);
    return rc;
}

/* -- reading -- */

static int not_understood(const struct mf_saved *s, const char *key) { return mf_card_refuse(s->path, key); }

/* The ids name the weights, so each stands there once. */
static int read_ids(struct mf_saved *s, const struct mf_json *ids)
{
    if (!ids || mf_json_kind(ids) != MF_JSON_ARRAY || mf_json_count(ids) != (size_t)s->args.experts)
        return not_understood(s, "expert_ids");
    for (s->experts.count = 0; s->experts.count < (size_t)s->args.experts; ++s->experts.count) {
        const long id = (long)mf_json_to_int(mf_json_item(ids, s->experts.count));

        if (id < 0 || mf_experts_find(&s->experts, id) < s->experts.count) return not_understood(s, "expert_ids");
        s->experts.id[s->experts.count] = id;
    }
    s->args.list = &s->experts;
    return MF_OK;
}

/* What the arguments lack is a fault of the file, not of an option. */
static int complete(struct mf_saved *s)
{
    char why[MF_ERR_TEXT];

    if (mf_arch_complete(s->arch, &s->args) == MF_OK) return MF_OK;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(MF_INPUT, "'%s': 'arguments' of its metadata: %.300s", s->path, why);
}

static int read_mixture(struct mf_saved *s, const struct mf_json *args)
{
    const char *features = mf_json_get_text(args, "features");

    s->args.experts = (long)mf_json_get_int(args, "experts");
    s->args.top = (long)mf_json_get_int(args, "top_k");
    s->args.temperature = mf_json_get_real(args, "temperature");
    s->args.noise = mf_json_get_real(args, "router_noise");
    s->args.capacity = mf_json_get_real(args, "capacity_factor");
    s->args.balance = mf_json_get_real(args, "balance");
    s->args.features = MF_FEATURES_NONE;
    while (features && s->args.features < MF_FEATURES && strcmp(mf_features_names[s->args.features], features) != 0)
        ++s->args.features;
    if (!features || s->args.features == MF_FEATURES) return not_understood(s, "features");
    MF_TRY(complete(s));
    return read_ids(s, mf_json_get(args, "expert_ids"));
}

/* A network has no size that is larger than all extents of its arrays, and not more layers than arrays. */
static size_t largest(const struct mf_saved *s)
{
    size_t count, most;
    const struct mf_safetensors_entry *entry = mf_safetensors_list(s->file, &count);

    most = count;
    for (size_t k = 0; k < count; ++k)
        for (size_t i = 0; i < entry[k].ndim; ++i)
            if (entry[k].dims[i] > most) most = entry[k].dims[i];
    return most;
}

/* An argument that no network has would be ignored, and the network be another one. */
static int check_arguments(const struct mf_saved *s, const struct mf_json *args)
{
    static const char *const sizes[] = {"width", "depth", "heads", "patch"};
    static const char *const known[] = {"width",      "depth",        "heads",           "patch",   "dropout",
                                        "experts",    "top_k",        "temperature",     "balance", "features",
                                        "expert_ids", "router_noise", "capacity_factor", NULL};
    const char *stranger = mf_json_stranger(args, known);

    if (stranger)
        return mf_fail(MF_INPUT, "'%s': 'arguments' of its metadata has '%s', which no network has", s->path, stranger);
    for (int i = 0; i < 4; ++i) {
        const struct mf_json *value = mf_json_get(args, sizes[i]);
        const long long size = value && mf_json_kind(value) == MF_JSON_INT ? mf_json_to_int(value) : 0;

        if (value && mf_json_kind(value) != MF_JSON_INT) return not_understood(s, sizes[i]);
        if (size < 0 || (unsigned long long)size > largest(s))
            return mf_fail(MF_INPUT, "'%s': '%s' of its metadata is %lld, which its arrays do not fit", s->path,
                           sizes[i], size);
    }
    return MF_OK;
}

static int read_model(struct mf_saved *s)
{
    const struct mf_json *args = mf_json_get(s->card, "arguments"), *version = mf_json_get(s->card, "version");
    const char *arch = mf_json_get_text(s->card, "arch");

    if (!version || mf_json_kind(version) != MF_JSON_INT) return not_understood(s, "version");
    if (mf_json_to_int(version) != CARD)
        return mf_fail(MF_INPUT, "'%s': its metadata are of version %lld, and %d is read here", s->path,
                       mf_json_to_int(version), CARD);
    s->arch = arch ? mf_arch_find(arch) : NULL;
    if (!s->arch || !args || mf_json_kind(args) != MF_JSON_OBJECT)
        return not_understood(s, s->arch ? "arguments" : "arch");
    MF_TRY(check_arguments(s, args));
    s->args = (struct mf_arch_args){.width = (long)mf_json_get_int(args, "width"),
                                    .depth = (long)mf_json_get_int(args, "depth"),
                                    .heads = (long)mf_json_get_int(args, "heads"),
                                    .patch = (long)mf_json_get_int(args, "patch"),
                                    .dropout = mf_json_get_real(args, "dropout")};
    return mf_json_get(args, "experts") ? read_mixture(s, args) : complete(s);
}

/* Files of earlier versions have neither type nor range. */
static int read_channels(struct mf_saved *s, const struct mf_json *input)
{
    static const char *const key[] = {"mean", "deviation", "min", "max"};
    const size_t n = s->dims[3];
    double *values = MF_MUST(calloc(4 * n, sizeof *values), "units");
    size_t got[4];
    int rc;

    for (int k = 0; k < 4; ++k) got[k] = mf_card_numbers(input, key[k], n, values + (size_t)k * n);
    s->type = mf_json_get_text(input, "type");
    s->channel = MF_MUST(calloc(n, sizeof *s->channel), "units");
    for (size_t c = 0; c < n; ++c) {
        s->channel[c] = (struct mf_channel){values[c], values[n + c], 1, 0};
        if (got[2] != n || got[3] != n) continue;
        s->channel[c].least = values[2 * n + c];
        s->channel[c].most = values[3 * n + c];
    }
    if (got[0] != n || got[1] != n)
        rc = not_understood(s, got[0] == n ? "deviation" : "mean");
    else
        rc = mf_card_divisors(s->path, "deviation", n, values + n);
    free(values);
    return rc;
}

static int read_input(struct mf_saved *s)
{
    const struct mf_json *input = mf_json_get(s->card, "input");
    double dims[4];

    if (!input || mf_card_numbers(input, "extents", 4, dims) != 4) return not_understood(s, "input");
    for (int i = 0; i < 4; ++i) {
        if (!(dims[i] >= 1 && dims[i] <= (i < 3 ? 1e6 : MF_CHANNELS_MAX))) return not_understood(s, "extents");
        s->dims[i] = (size_t)dims[i];
    }
    s->phases = (int)mf_json_get_int(input, "phases");
    return s->phases ? MF_OK : read_channels(s, input);
}

/* The kind of task is the one whose key the card has. */
static int read_task(struct mf_saved *s)
{
    for (size_t k = 0; mf_learns[k]; ++k)
        if (mf_json_get(s->card, mf_learns[k]->key)) return mf_learns[k]->load(s->path, s->card, &s->task);
    return not_understood(s, "classes"); /* or the key of another kind */
}

int mf_saved_open_network(const char *path, struct mf_saved *s)
{
    const char *text;

    *s = (struct mf_saved){.path = MF_MUST(strdup(path), "a name")};
    MF_TRY(mf_safetensors_open(path, &s->file));
    text = mf_safetensors_metadata(s->file, "mesoforge");
    if (!text)
        return mf_fail(MF_INPUT, "'%s' does not say which model it is of: it has no 'mesoforge' in its metadata", path);
    s->card = mf_json_parse(text);
    if (!s->card || mf_json_kind(s->card) != MF_JSON_OBJECT) return not_understood(s, "mesoforge");
    MF_TRY(read_model(s));
    return read_input(s);
}

int mf_saved_open(const char *path, struct mf_saved *s)
{
    MF_TRY(mf_saved_open_network(path, s));
    return read_task(s);
}

void mf_saved_close(struct mf_saved *s)
{
    mf_safetensors_close(s->file);
    mf_json_free(s->card);
    free(s->path);
    mf_task_close(&s->task);
    free(s->channel);
    *s = (struct mf_saved){0};
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

int mf_saved_reads(const struct mf_saved *s, struct mf_dataset *set)
{
    const size_t *d = s->dims, *e = set->dims;
    char has[128], reads[128];

    if (d[0] != e[0] || d[1] != e[1] || d[2] != e[2] || d[3] != set->inputs || s->phases != set->phases)
        return mf_fail(MF_INPUT, "samples of '%s' are %s; the model of '%s' reads %s", set->path,
                       samples_text(e, set->inputs, set->phases, has), s->path,
                       samples_text(d, d[3], s->phases, reads));
    for (size_t c = 0; !s->phases && c < d[3]; ++c) {
        set->mean[c] = s->channel[c].mean;
        set->deviation[c] = s->channel[c].deviation;
    }
    return MF_OK;
}

int mf_saved_fit(struct mf_saved *s, struct mf_dataset *set)
{
    MF_TRY(mf_saved_reads(s, set));
    return s->task.learn->fit(&s->task, s->path, set);
}

struct mf_train_opts mf_saved_opts(const struct mf_saved *s, size_t batch)
{
    return (struct mf_train_opts){.arch = s->arch, .args = s->args, .task = &s->task, .batch = batch, .readers = 1};
}

int mf_saved_load(const struct mf_saved *s, struct mf_trainer *t)
{
    if (s->args.list && !mf_experts_same(&t->experts, s->args.list)) MF_TRY(mf_trainer_rebuild(t, s->args.list, NULL));
    return mf_weights_load(&t->weights, s->file, NULL);
}
