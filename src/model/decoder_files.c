/* See decoder_files.h. A family is a table: a part of the network, and the arrays that are stacked to it. */
#include "src/model/decoder_files.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { STACKED = 3, NAMED = 10, NAME = 200 };

/* Arrays of a part, one above the other. Behind their names stands ".weight" or ".bias". "%zu" is the layer. */
struct part {
    const char *part, *array[STACKED];
    int turned; /* it is stored as [in][out] */
};

static const struct part gpt2[] = {{"tokens", {"wte"}, 0},
                                   {"positions", {"wpe"}, 0},
                                   {"first", {"h.%zu.ln_1"}, 0},
                                   {"second", {"h.%zu.ln_2"}, 0},
                                   {"qkv", {"h.%zu.attn.c_attn"}, 1},
                                   {"out", {"h.%zu.attn.c_proj"}, 1},
                                   {"in", {"h.%zu.mlp.c_fc"}, 1},
                                   {"inner", {"h.%zu.mlp.c_proj"}, 1},
                                   {"last", {"ln_f"}, 0},
                                   {NULL, {NULL}, 0}};

#define QKV "layers.%zu.self_attn.q_proj", "layers.%zu.self_attn.k_proj", "layers.%zu.self_attn.v_proj"

static const struct part opt[] = {{"tokens", {"embed_tokens"}, 0},
                                  {"positions", {"embed_positions"}, 0},
                                  {"before", {"project_in"}, 0},
                                  {"behind", {"project_out"}, 0},
                                  {"first", {"layers.%zu.self_attn_layer_norm"}, 0},
                                  {"second", {"layers.%zu.final_layer_norm"}, 0},
                                  {"qkv", {QKV}, 0},
                                  {"out", {"layers.%zu.self_attn.out_proj"}, 0},
                                  {"in", {"layers.%zu.fc1"}, 0},
                                  {"inner", {"layers.%zu.fc2"}, 0},
                                  {"last", {"final_layer_norm"}, 0},
                                  {NULL, {NULL}, 0}};

static const struct part llama[] = {{"tokens", {"embed_tokens"}, 0},
                                    {"first", {"layers.%zu.input_layernorm"}, 0},
                                    {"second", {"layers.%zu.post_attention_layernorm"}, 0},
                                    {"qkv", {QKV}, 0},
                                    {"out", {"layers.%zu.self_attn.o_proj"}, 0},
                                    {"in", {"layers.%zu.mlp.gate_proj", "layers.%zu.mlp.up_proj"}, 0},
                                    {"inner", {"layers.%zu.mlp.down_proj"}, 0},
                                    {"last", {"norm"}, 0},
                                    {NULL, {NULL}, 0}};

/* Prefixes with which files of a family begin their names. */
static const struct family {
    const struct part *part;
    const char *prefix[3];
} families[MF_LANGUAGE_FAMILIES] = {[MF_GPT2] = {gpt2, {"transformer.", ""}},
                                    [MF_OPT] = {opt, {"model.decoder.", "decoder.", ""}},
                                    [MF_LLAMA] = {llama, {"model.", ""}},
                                    [MF_MISTRAL] = {llama, {"model.", ""}}};

static const char head[] = "lm_head.weight";

/* Arrays that old versions wrote beside the weights: masks and tables that follow from the sizes. */
static const char *const buffers[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"};

static const char *prefix_of(const struct mf_safetensors *file, const struct mf_language *m)
{
    const struct family *f = &families[m->family];

    for (int k = 0; k < 3 && f->prefix[k]; ++k) {
        char name[NAME];

        snprintf(name, sizeof name, "%s%s.weight", f->prefix[k], f->part[0].array[0]);
        if (mf_safetensors_find(file, name)) return f->prefix[k];
    }
    return NULL;
}

/* A network that is far larger than its file is not built. */
static int check_size(const struct mf_safetensors *file, const struct mf_language *m)
{
    const double wanted = (double)mf_language_parameters(m);
    size_t count;
    const struct mf_safetensors_entry *e = mf_safetensors_list(file, &count);
    double has = 0;

    for (size_t k = 0; k < count; ++k) {
        double n = 1;

        for (size_t i = 0; i < e[k].ndim; ++i) n *= (double)e[k].dims[i];
        has += n;
    }
    if (wanted <= 2 * has) return MF_OK;
    return mf_fail(MF_INPUT, "config.json describes a model of %.0f numbers, and '%s' has %.0f", wanted,
                   mf_safetensors_path(file), has);
}

int mf_decoder_settle(const struct mf_safetensors *file, struct mf_language *m)
{
    if (!families[m->family].part)
        return mf_fail(MF_INPUT, "models of type %s do not run here; those of type gpt2, opt, llama and mistral do",
                       mf_language_name(m->family));
    if (!prefix_of(file, m))
        return mf_fail(MF_INPUT, "'%s' has no table of tokens ('%s%s.weight'), which a model of type %s has",
                       mf_safetensors_path(file), families[m->family].prefix[0], families[m->family].part[0].array[0],
                       mf_language_name(m->family));
    if (mf_safetensors_find(file, head)) m->tied = 0;
    return check_size(file, m);
}

/* -- faults -- */

struct loading {
    const struct mf_language *m;
    const struct mf_weights *w;
    struct mf_safetensors *file;
    const char *prefix;
    unsigned char *used; /* [arrays] */
    size_t faults;
    FILE *text;
};

__attribute__((format(printf, 2, 3))) static void fault(struct loading *l, const char *format, ...)
{
    va_list words;

    if (l->faults++ >= NAMED) return;
    va_start(words, format);
    vfprintf(l->text, format, words);
    va_end(words);
}

/* -- names -- */

/* "layers.3.qkv.weight": the row of qkv, layer 3, "weight". A table has no such end. */
static const struct part *find_part(const struct mf_language *m, const char *name, size_t *layer, const char **end)
{
    const struct part *p = families[m->family].part;
    const char *at = name;
    size_t length;
    int used = 0;

    *layer = 0;
    if (sscanf(name, "layers.%zu.%n", layer, &used) == 1) at = name + used;
    length = strcspn(at, ".");
    *end = at[length] ? at + length + 1 : "weight";
    while (p->part && !(strlen(p->part) == length && strncmp(p->part, at, length) == 0)) ++p;
    return p->part ? p : NULL;
}

static void array_name(const struct loading *l, const char *pattern, size_t layer, const char *end, char name[NAME])
{
    const char *number = strstr(pattern, "%zu");

    if (number)
        snprintf(name, NAME, "%s%.*s%zu%s.%s", l->prefix, (int)(number - pattern), pattern, layer, number + 3, end);
    else
        snprintf(name, NAME, "%s%s.%s", l->prefix, pattern, end);
}

/* -- arrays -- */

static const struct mf_safetensors_entry *find(struct loading *l, const char *name)
{
    size_t count;
    const struct mf_safetensors_entry *all = mf_safetensors_list(l->file, &count),
                                      *entry = mf_safetensors_find(l->file, name);

    if (entry) l->used[entry - all] = 1;
    return entry;
}

/* Rows of an array that has @p columns numbers in each; 0: it has not. */
static size_t rows_of(const struct mf_safetensors_entry *e, const struct mf_shape *shape, int turned)
{
    const size_t columns = shape->n == 2 ? shape->d[1] : 1;

    if ((int)e->ndim != shape->n) return 0;
    if (shape->n == 1) return e->dims[0];
    return e->dims[!turned] == columns ? e->dims[turned] : 0;
}

/* @p from [columns][rows] -> @p to [rows][columns]. */
static void turn(size_t rows, size_t columns, const float *from, float *to)
{
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) to[r * columns + c] = from[c * rows + r];
}

static int read_array(struct loading *l, const struct mf_safetensors_entry *e, const struct mf_shape *shape, int turned,
                      float *to)
{
    const size_t columns = shape->n == 2 ? shape->d[1] : 1;
    const size_t rows = rows_of(e, shape, turned), n = rows * columns;
    float *other = turned && shape->n == 2 ? MF_MUST(malloc((n + 1) * sizeof *other), "weights on their way") : NULL;
    int rc = mf_safetensors_read(l->file, e->name, e->ndim, e->dims, other ? other : to);

    if (rc == MF_OK && other) turn(rows, columns, other, to);
    free(other);
    for (size_t i = 0; rc == MF_OK && i < n; ++i)
        if (!isfinite(to[i]))
            rc = mf_fail(MF_NUMERIC, "'%s' says nothing: its array '%s' holds %s", mf_safetensors_path(l->file),
                         e->name, isnan(to[i]) ? "NaN" : "an infinity");
    return rc;
}

/* Fills @p to [shape], or notes what is wrong. */
static int read_part(struct loading *l, const struct mf_value *value, float *to)
{
    const struct mf_shape *shape = &value->shape;
    const size_t columns = shape->n == 2 ? shape->d[1] : 1;
    size_t layer, first = 0;
    const char *end;
    const struct part *p = find_part(l->m, value->name, &layer, &end);

    MF_ASSERT(p);
    for (int k = 0; k < STACKED && p->array[k]; ++k) {
        char name[NAME];
        const struct mf_safetensors_entry *e;
        size_t rows;

        array_name(l, p->array[k], layer, end, name);
        e = find(l, name);
        rows = e ? rows_of(e, shape, p->turned) : 0;
        if (!e) {
            fault(l, "; '%.120s' is missing", name);
            return MF_OK;
        }
        if (rows == 0 || first + rows > shape->d[0]) {
            fault(l, "; '%.120s' has other extents", name);
            return MF_OK;
        }
        MF_TRY(read_array(l, e, shape, p->turned, to + first * columns));
        first += rows;
    }
    if (first != shape->d[0]) fault(l, "; '%.60s' has %zu rows, not %zu", value->name, first, shape->d[0]);
    return MF_OK;
}

static int read_weight(struct loading *l, size_t v)
{
    const struct mf_value *value = &l->w->net->value[v];
    float *numbers = MF_MUST(malloc((mf_shape_count(&value->shape) + 1) * sizeof *numbers), "weights on their way");
    int rc = MF_OK;

    if (strcmp(value->name, "head.weight") == 0) {
        const struct mf_safetensors_entry *e = find(l, head);

        if (!e)
            fault(l, "; '%s' is missing", head);
        else if (rows_of(e, &value->shape, 0) != value->shape.d[0])
            fault(l, "; '%s' has other extents", head);
        else
            rc = read_array(l, e, &value->shape, 0, numbers);
    } else {
        rc = read_part(l, value, numbers);
    }
    if (rc == MF_OK && l->faults == 0) mf_weights_put(l->w, (int)v, MF_STATE_WEIGHT, numbers);
    free(numbers);
    return rc;
}

/* -- all -- */

static int is_buffer(const char *name)
{
    const size_t length = strlen(name);

    for (size_t k = 0; k < sizeof buffers / sizeof *buffers; ++k) {
        const size_t end = strlen(buffers[k]);

        if (length >= end && strcmp(name + length - end, buffers[k]) == 0) return 1;
    }
    return 0;
}

static void find_unknown(struct loading *l)
{
    size_t count;
    const struct mf_safetensors_entry *e = mf_safetensors_list(l->file, &count);

    for (size_t k = 0; k < count; ++k)
        if (!l->used[k] && !is_buffer(e[k].name)) fault(l, "; the model has no '%.120s'", e[k].name);
}

static int load_all(struct loading *l)
{
    const struct mf_net *net = l->w->net;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v])) MF_TRY(read_weight(l, v));
    find_unknown(l);
    return MF_OK;
}

int mf_decoder_load(const struct mf_language *m, const struct mf_weights *w, struct mf_safetensors *file)
{
    struct loading l = {.m = m, .w = w, .file = file, .prefix = prefix_of(file, m)};
    size_t count, size;
    char *text = NULL;
    int rc;

    mf_safetensors_list(file, &count);
    l.used = MF_MUST(calloc(count + 1, 1), "marks of arrays");
    l.text = MF_MUST(open_memstream(&text, &size), "a sentence");
    rc = load_all(&l);
    MF_ASSERT(fclose(l.text) == 0);
    if (rc == MF_OK && l.faults > 0)
        rc = mf_fail(MF_INPUT, "the arrays of '%s' are not those that config.json describes: %zu differ%s",
                     mf_safetensors_path(file), l.faults, text);
    free(text);
    free(l.used);
    return rc;
}
