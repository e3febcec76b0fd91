/* See deepspeed.h. Keys, meanings and defaults are those of DeepSpeed 0.15 (its "Configuration JSON", and runtime/). */
#include "src/cmd/learn/deepspeed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { FILE_MAX = 1 << 20, KEY = 200, LIST = 700, SHOWN = 20 };

#define ZERO  "zero_optimization."
#define ADAM  "optimizer.params."
#define RATE  "scheduler.params."
#define SPILL "activation_checkpointing."

/* Meaning of a key. */
static const struct row {
    const char *key;
    const char *option; /* NULL: none */
    const char *values; /* "theirs=ours|...", ours empty: the option stays; others are refused. NULL: any */
} rows[] = {
    {"train_batch_size", "effective-batch", NULL},
    {"train_micro_batch_size_per_gpu", "batch-size", NULL},
    {"gradient_accumulation_steps", "accumulation-steps", NULL},
    {"gradient_clipping", "clip", NULL},
    {"optimizer.type", "optimizer", "adam=adamw|adamw=adamw|adam with L2=adam|sgd=sgd"},
    {ADAM "lr", "learning-rate", NULL},
    {ADAM "betas[0]", "beta-1", NULL},
    {ADAM "betas[1]", "beta-2", NULL},
    {ADAM "eps", "epsilon", NULL},
    {ADAM "weight_decay", "weight-decay", NULL},
    {ADAM "momentum", "momentum", NULL},
    {ADAM "bias_correction", NULL, "true="},
    {ADAM "amsgrad", NULL, "false="},
    {ADAM "nesterov", NULL, "false="},
    {ADAM "dampening", NULL, "0="},
    {ADAM "adam_w_mode", NULL, "true=|false="}, /* see text_of() */
    {ADAM "torch_adam", NULL, NULL},
    {"scheduler.type", "schedule", "warmuplr=constant|warmupdecaylr=warmup-decay"},
    {RATE "warmup_min_lr", NULL, "0="},
    {RATE "warmup_max_lr", "learning-rate", NULL},
    {RATE "warmup_num_steps", "warmup", NULL},
    {RATE "warmup_type", "warmup-shape", "linear=linear|log=log"},
    {RATE "total_num_steps", "max-steps", NULL},
    {RATE "last_batch_iteration", NULL, "-1="},
    {"fp16.enabled", "precision-type", "true=fp16|false="},
    {"fp16.auto_cast", NULL, "false="},
    {"fp16.loss_scale", NULL, "0="},
    {"fp16.initial_scale_power", "loss-scale", NULL}, /* see text_of() */
    {"fp16.loss_scale_window", "loss-scale-window", NULL},
    {"fp16.hysteresis", "loss-scale-hysteresis", NULL},
    {"fp16.min_loss_scale", NULL, "1="},
    {"bf16.enabled", "precision-type", "true=bf16|false="},
    {"bfloat16.enabled", "precision-type", "true=bf16|false="},
    {ZERO "stage", "zero", "0=0|1=1|2=2|3=3"},
    {ZERO "offload_optimizer.device", "offload", "none=none|cpu=optimizer"},
    {ZERO "offload_optimizer.pin_memory", NULL, NULL},
    {ZERO "offload_optimizer.buffer_count", NULL, NULL},
    {ZERO "offload_optimizer.fast_init", NULL, NULL},
    {ZERO "offload_optimizer.ratio", NULL, "1="},
    {ZERO "cpu_offload", "offload", "false=none|true=optimizer"},
    {ZERO "offload_param.device", NULL, "none="},
    {ZERO "offload_param.pin_memory", NULL, NULL},
    {ZERO "offload_param.buffer_count", NULL, NULL},
    {ZERO "offload_param.buffer_size", NULL, NULL},
    {ZERO "offload_param.max_in_cpu", NULL, NULL},
    {ZERO "cpu_offload_params", NULL, "false="},
    {ZERO "overlap_comm", NULL, NULL},
    {ZERO "contiguous_gradients", NULL, NULL},
    {ZERO "reduce_scatter", NULL, NULL},
    {ZERO "reduce_bucket_size", NULL, NULL},
    {ZERO "allgather_partitions", NULL, NULL},
    {ZERO "allgather_bucket_size", NULL, NULL},
    {ZERO "round_robin_gradients", NULL, NULL},
    {ZERO "sub_group_size", NULL, NULL},
    {ZERO "ignore_unused_parameters", NULL, NULL},
    {ZERO "load_from_fp32_weights", NULL, NULL},
    {ZERO "elastic_checkpoint", NULL, NULL},
    {ZERO "stage3_prefetch_bucket_size", NULL, NULL},
    {ZERO "stage3_param_persistence_threshold", NULL, NULL},
    {ZERO "stage3_model_persistence_threshold", NULL, NULL},
    {ZERO "stage3_max_live_parameters", NULL, NULL},
    {ZERO "stage3_max_reuse_distance", NULL, NULL},
    {ZERO "stage3_gather_16bit_weights_on_model_save", NULL, NULL},
    {ZERO "stage3_gather_fp16_weights_on_model_save", NULL, NULL},
    {SPILL "partition_activations", "recompute", "true=blocks|false="},
    {SPILL "partition_activations", "partition-activations", "true=true|false="},
    {SPILL "cpu_checkpointing", "spill-activations", "true=true|false="},
    {SPILL "contiguous_memory_optimization", NULL, NULL},
    {SPILL "number_checkpoints", NULL, NULL},
    {SPILL "synchronize_checkpoint_boundary", NULL, NULL},
    {SPILL "profile", NULL, NULL},
    {"tensorboard.enabled", "no-events", "true=|false=true"},
    {"tensorboard.output_path", NULL, NULL},
    {"tensorboard.job_name", NULL, NULL},
    {"csv_monitor.enabled", "no-csv", "true=|false=true"},
    {"csv_monitor.output_path", NULL, NULL},
    {"csv_monitor.job_name", NULL, NULL},
    {"wandb.enabled", NULL, "false="},
    {"amp.enabled", NULL, "false="},
    {"elasticity.enabled", NULL, "false="},
    {"autotuning.enabled", NULL, "false="},
    {"flops_profiler.enabled", NULL, "false="},
    {"comms_logger.enabled", NULL, "false="},
    {"prescale_gradients", NULL, "false="},
    {"gradient_predivide_factor", NULL, "1="},
    {"communication_data_type", NULL, "fp32="},
    {"fp32_allreduce", NULL, NULL},
    {"sparse_gradients", NULL, "false="},
    {"disable_allgather", NULL, "false="},
    {"zero_allow_untested_optimizer", NULL, NULL},
    {"zero_force_ds_cpu_optimizer", NULL, NULL},
    {"steps_per_print", NULL, NULL},
    {"wall_clock_breakdown", NULL, NULL},
    {"memory_breakdown", NULL, NULL},
    {"dump_state", NULL, NULL},
};

/* Defaults of DeepSpeed that differ from those of the options. They apply where the file has @p group (NULL: always)
 * but not the key.
 */
static const struct gap {
    const char *group, *key, *option, *value;
} gaps[] = {
    {NULL, "gradient_clipping", "clip", "0"},
    {"optimizer", ADAM "weight_decay", "weight-decay", "0"},
    {"optimizer", ADAM "momentum", "momentum", "0"},
    {"scheduler", RATE "warmup_num_steps", "warmup", "1000"},
    {"scheduler", RATE "warmup_type", "warmup-shape", "log"},
    {"fp16", "fp16.loss_scale_window", "loss-scale-window", "1000"},
    {"fp16", "fp16.hysteresis", "loss-scale-hysteresis", "2"},
};

/* Keys, of which the first are shown. */
struct keys {
    char text[LIST];
    size_t count, shown;
};

/* A file, and what was found in it. */
struct reader {
    const struct mf_json *file;
    struct mf_options *options; /* NULL: it only looks for keys without effect */
    char place[KEY];            /* "FILE: " */
    struct keys refused, idle;
    int rc;
};

/* An object or array on the way down: the key of what is inside begins with @p path. */
struct level {
    struct reader *reader;
    const char *path;
    int off; /* it has "enabled": false, and nothing else of it matters */
};

static void add(struct keys *keys, const char *key, const char *value)
{
    const size_t used = strlen(keys->text);

    if (++keys->count > SHOWN || used + strlen(key) + 50 > LIST) return;
    ++keys->shown;
    snprintf(keys->text + used, LIST - used, "%s%s%s%.40s", used ? ", " : "", key, *value ? " " : "", value);
}

/* " and 5 more", of those that are not shown. */
static const char *more(const struct keys *keys, char text[40])
{
    *text = '\0';
    if (keys->count > keys->shown) snprintf(text, 40, " and %zu more", keys->count - keys->shown);
    return text;
}

/* The value at "a.b.c"; NULL: there is none. */
static const struct mf_json *at(const struct mf_json *file, const char *path)
{
    char key[KEY];

    for (size_t length; file && *path; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        file = mf_json_kind(file) == MF_JSON_OBJECT ? mf_json_get(file, key) : NULL;
    }
    return file;
}

static int is_false(const struct mf_json *value)
{
    return mf_json_kind(value) == MF_JSON_BOOL && !mf_json_to_bool(value);
}

static int is_number(const struct mf_json *value)
{
    return mf_json_kind(value) == MF_JSON_INT || mf_json_kind(value) == MF_JSON_REAL;
}

/* Its "Adam" is AdamW unless adam_w_mode is false; a power of two is said by its exponent. */
static void text_of(const struct reader *r, const char *key, const struct mf_json *value, char text[KEY])
{
    switch (mf_json_kind(value)) {
    case MF_JSON_BOOL: snprintf(text, KEY, mf_json_to_bool(value) ? "true" : "false"); break;
    case MF_JSON_INT: snprintf(text, KEY, "%lld", mf_json_to_int(value)); break;
    case MF_JSON_REAL: snprintf(text, KEY, "%.15g", mf_json_to_real(value)); break;
    default: snprintf(text, KEY, "%s", mf_json_to_text(value)); break;
    }
    if (strcmp(key, "fp16.initial_scale_power") == 0 && mf_json_kind(value) == MF_JSON_INT)
        snprintf(text, KEY, "%.15g", exp2(mf_json_to_real(value)));
    if (strcmp(key, "optimizer.type") == 0 && strcasecmp(text, "adam") == 0 &&
        is_false(at(r->file, ADAM "adam_w_mode")))
        snprintf(text, KEY, "adam with L2");
}

/* The rate of a scheduler replaces that of the optimiser. */
static int is_overruled(const struct reader *r, const char *key)
{
    return strcmp(key, ADAM "lr") == 0 && is_number(at(r->file, RATE "warmup_max_lr"));
}

static void take(struct reader *r, const struct row *row, const char *text)
{
    char ours[KEY];

    snprintf(ours, sizeof ours, "%s", text);
    if (!row->option && !row->values) add(&r->idle, row->key, "");
    if (!r->options) return;
    if (row->values && !mf_key_map(row->values, text, sizeof ours, ours))
        add(&r->refused, row->key, text);
    else if (row->option && *ours && r->rc == MF_OK && !is_overruled(r, row->key))
        r->rc = mf_options_adopt(r->options, row->option, r->place, row->key, ours);
}

/* Is there a key that begins so? */
static int is_group(const char *path)
{
    const size_t length = strlen(path);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        if (strncmp(rows[i].key, path, length) == 0 && (rows[i].key[length] == '.' || rows[i].key[length] == '['))
            return 1;
    return 0;
}

/* A value that is no object and no array. "auto" and null say nothing. */
static void take_leaf(struct reader *r, const char *key, const struct mf_json *value)
{
    char text[KEY];
    int known = 0;

    text_of(r, key, value, text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (strcmp(rows[i].key, key) != 0) continue;
        known = 1;
        if (mf_json_kind(value) != MF_JSON_NULL && strcmp(text, "auto") != 0) take(r, &rows[i], text);
    }
    if (!known && !(is_group(key) && strcmp(text, "auto") == 0)) add(&r->refused, key, "");
}

static void take_member(void *level, const char *key, const struct mf_json *value);

static void take_value(struct reader *r, const char *path, const struct mf_json *value)
{
    const struct level inside = {r, path, is_false(mf_json_get(value, "enabled"))};
    const enum mf_json_kind kind = mf_json_kind(value);

    if (kind != MF_JSON_OBJECT && kind != MF_JSON_ARRAY) {
        take_leaf(r, path, value);
    } else if (*path && !is_group(path)) {
        add(&r->refused, path, "");
    } else if (kind == MF_JSON_OBJECT) {
        mf_json_each(value, take_member, (void *)&inside);
    } else {
        if (strcmp(path, ADAM "betas") == 0 && mf_json_count(value) < 2)
            add(&r->refused, path, "of fewer than two numbers");
        for (size_t i = 0; i < mf_json_count(value); ++i) {
            char name[KEY];

            snprintf(name, sizeof name, "%.150s[%zu]", path, i);
            take_value(r, name, mf_json_item(value, i));
        }
    }
}

static void take_member(void *level, const char *key, const struct mf_json *value)
{
    const struct level *outside = level;
    char path[KEY];

    if (outside->off && strcmp(key, "enabled") != 0) return;
    snprintf(path, sizeof path, "%.120s%s%.75s", outside->path, *outside->path ? "." : "", key);
    take_value(outside->reader, path, value);
}

static int fill_gaps(const struct reader *r)
{
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; ++i) {
        const struct gap *gap = &gaps[i];
        const struct mf_json *enabled = gap->group ? mf_json_get(at(r->file, gap->group), "enabled") : NULL;
        const int idle = !strcmp(gap->option, "momentum") && strcmp(mf_options_value(r->options, "optimizer"), "sgd");

        if (idle || (gap->group && !at(r->file, gap->group)) || mf_json_kind(at(r->file, gap->key)) != MF_JSON_NULL)
            continue;
        if (mf_options_given(r->options, gap->option)) continue;
        if (enabled && !mf_json_to_bool(enabled)) continue;
        MF_TRY(mf_options_adopt(r->options, gap->option, r->place, gap->key, gap->value));
    }
    return MF_OK;
}

static int adopt(struct reader *r)
{
    char rest[40];

    take_value(r, "", r->file);
    if (r->refused.count)
        return mf_fail(MF_USAGE, "%snot supported: %s%s; docs/LEARNING.md has the keys that are", r->place,
                       r->refused.text, more(&r->refused, rest));
    return r->rc == MF_OK ? fill_gaps(r) : r->rc;
}

int mf_deepspeed_adopt(struct mf_options *options, const char *path)
{
    struct reader r = {.options = options};
    struct mf_json *file = NULL;
    int rc;

    MF_TRY(mf_json_load(path, FILE_MAX, &file));
    snprintf(r.place, sizeof r.place, "%.150s: ", path);
    r.file = file;
    rc = mf_json_kind(file) == MF_JSON_OBJECT
             ? adopt(&r)
             : mf_fail(MF_INPUT, "'%s' is no configuration of DeepSpeed: it has %s", path, mf_json_kind_name(file));
    mf_json_free(file);
    return rc;
}

void mf_deepspeed_say(const char *path)
{
    struct reader r = {.options = NULL};
    struct mf_json *file = NULL;
    char rest[40];

    if (mf_json_load(path, FILE_MAX, &file) != MF_OK) {
        mf_err_clear(); /* it was there when the options were taken from it */
        return;
    }
    r.file = file;
    take_value(&r, "", file);
    if (r.idle.count) mf_info("--deepspeed %s: without effect here: %s%s", path, r.idle.text, more(&r.idle, rest));
    mf_json_free(file);
}

/* -- refusals -- */

/* A sentence that names options, and the keys of the file that gave them. */
struct named {
    const struct mf_options *options;
    const char *sentence;
    struct keys keys;
};

static int is_named(const char *sentence, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = sentence; (at = strstr(at, "--")); at += 2)
        if (strncmp(at + 2, word, n) == 0 && !strchr("abcdefghijklmnopqrstuvwxyz0123456789-", at[2 + n] | 32)) return 1;
    return 0;
}

static void find_named(void *context, const char *word, const char *value, enum mf_origin origin)
{
    struct named *n = context;

    (void)value;
    if (origin == MF_FROM_FOREIGN && is_named(n->sentence, word)) add(&n->keys, mf_options_said(n->options, word), "");
}

int mf_deepspeed_explain(const struct mf_options *options, const char *path, int rc)
{
    char sentence[MF_ERR_TEXT];
    struct named n = {.options = options, .sentence = sentence};

    if (rc == MF_OK || !path || !*path) return rc;
    snprintf(sentence, sizeof sentence, "%s", mf_err_text());
    mf_options_each(options, find_named, &n);
    return n.keys.count ? mf_fail(rc, "%s (%s: %s)", sentence, path, n.keys.text) : rc;
}
