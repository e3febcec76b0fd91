/* See language_files.h. */
#include "src/model/language_files.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/language_names.h"
#include "src/model/rounded.h"

enum { STACKED = MF_LANGUAGE_STACKED, NAMED = 10, NAME = MF_LANGUAGE_NAME, PIECE = 1 << 20 /* numbers */ };

static const char head[] = "lm_head.weight";

/* Arrays that old versions wrote beside the weights: masks and tables that follow from the sizes. */
static const char *const buffers[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq",
                                      "embeddings.position_ids"};

/* Parts of BERT's training, and its pooler, which not every run reads. */
static const char *const unread[] = {"cls.", "pooler.dense.", "bert.pooler.dense."};

static const char *prefix_of(const struct mf_safetensors *file, const struct mf_language *m)
{
    const struct mf_language_names *f = &mf_language_names[m->family];

    for (int k = 0; k < 3 && f->prefix[k]; ++k) {
        char name[NAME];

        snprintf(name, sizeof name, "%s%s.weight", f->prefix[k], f->part[0].array[0]);
        if (mf_safetensors_find(file, name)) return f->prefix[k];
    }
    return NULL;
}

/* The type of the table of tokens. */
static enum mf_type type_of(const struct mf_safetensors *file, const struct mf_language *m)
{
    char name[NAME];

    snprintf(name, sizeof name, "%s%s.weight", prefix_of(file, m), mf_language_names[m->family].part[0].array[0]);
    return mf_safetensors_find(file, name)->type;
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

static int check_family(const struct mf_language *m)
{
    if (m->family != MF_BERT) return MF_OK;
    return mf_fail(MF_INPUT,
                   "a model of type %s continues no text; those of type gpt2, opt, llama, mistral and mixtral do; "
                   "try: infer embed",
                   mf_language_name(m->family));
}

static int settle(const struct mf_safetensors *file, struct mf_language *m)
{
    if (!prefix_of(file, m))
        return mf_fail(MF_INPUT, "'%s' has no table of tokens ('%s%s.weight'), which a model of type %s has",
                       mf_safetensors_path(file), mf_language_names[m->family].prefix[0],
                       mf_language_names[m->family].part[0].array[0], mf_language_name(m->family));
    if (mf_safetensors_find(file, head)) m->tied = 0;
    m->type = type_of(file, m);
    return check_size(file, m);
}

int mf_decoder_read(const char *folder, struct mf_language *m, int *weights)
{
    char *path = mf_safetensors_where(folder);
    struct mf_safetensors *file = NULL;
    int rc = mf_language_read(folder, m);

    if (rc == MF_OK) rc = check_family(m);
    *weights = !mf_ends_with(path, ".json") || mf_ends_with(path, ".index.json");
    *weights = *weights && access(path, F_OK) == 0;
    if (rc == MF_OK && *weights) rc = mf_safetensors_open(folder, &file);
    if (rc == MF_OK && *weights) rc = mf_decoder_settle(file, m);
    mf_safetensors_close(file);
    free(path);
    return rc;
}

int mf_decoder_settle(const struct mf_safetensors *file, struct mf_language *m)
{
    MF_TRY(check_family(m));
    return settle(file, m);
}

int mf_encoder_settle(const struct mf_safetensors *file, struct mf_language *m, int *pooler)
{
    char name[NAME];

    if (m->family != MF_BERT)
        return mf_fail(MF_INPUT, "a model of type %s embeds no text; one of type bert does; try: infer text-generation",
                       mf_language_name(m->family));
    MF_TRY(settle(file, m));
    snprintf(name, sizeof name, "%spooler.dense.weight", prefix_of(file, m));
    *pooler = mf_safetensors_find(file, name) != NULL;
    return MF_OK;
}

/* -- faults -- */

struct loading {
    const struct mf_language *m;
    const struct mf_weights *w;
    struct mf_safetensors *file;
    const char *prefix;
    const struct mf_language_part *part;
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

/* A weight is of a layer and an expert, or 0, and ends with "weight" or "bias". */
struct which {
    size_t layer, expert;
    const char *end;
};

/* Reads a number behind @p word. */
static const char *behind_number(const char *name, const char *word, size_t *number)
{
    const size_t n = strlen(word);
    char *end;

    *number = 0;
    if (strncmp(name, word, n) != 0) return name;
    *number = strtoul(name + n, &end, 10);
    return end > name + n && *end == '.' ? end + 1 : name;
}

/* "layers.3.qkv.weight": the row of qkv, layer 3, "weight". A table has no such end. */
static const struct mf_language_part *find_part(const struct mf_language_part *p, const char *name, struct which *which)
{
    const char *at = behind_number(behind_number(name, "layers.", &which->layer), "experts.", &which->expert);
    const size_t length = strcspn(at, ".");

    which->end = at[length] ? at + length + 1 : "weight";
    while (p->part && !(strlen(p->part) == length && strncmp(p->part, at, length) == 0)) ++p;
    return p->part ? p : NULL;
}

static void array_name(const char *prefix, const struct mf_language_part *p, size_t k, const struct which *which,
                       char name[NAME])
{
    const size_t numbers[] = {which->layer, which->expert};
    const char *at = p->array[k], *number;
    size_t n = (size_t)snprintf(name, NAME, "%s", prefix);

    for (int i = 0; i < 2 && (number = strstr(at, "%zu")); ++i, at = number + 3)
        n += (size_t)snprintf(name + n, NAME - n, "%.*s%zu", (int)(number - at), at, numbers[i]);
    snprintf(name + n, NAME - n, "%s%s%s", at, p->joined ? "" : ".", p->joined ? "" : which->end);
}

/* "layers.3.experts.in", all experts at once, becomes "layers.3.in". */
static void without_experts(const char *weight, char name[NAME])
{
    static const char word[] = "experts.";
    const char *at = strstr(weight, word);

    if (at && !(at[strlen(word)] >= '0' && at[strlen(word)] <= '9'))
        snprintf(name, NAME, "%.*s%s", (int)(at - weight), weight, at + strlen(word));
    else
        snprintf(name, NAME, "%s", weight);
}

size_t mf_language_arrays(const struct mf_language *m, const char *weight, int in_head, size_t prefix,
                          char name[STACKED][NAME])
{
    const struct mf_language_names *f = &mf_language_names[m->family];
    const size_t number = f->joined && prefix > 0 ? prefix - 1 : prefix; /* classes have experts joined */
    const struct mf_language_part *p;
    struct which which;
    char plain[NAME];
    size_t n = 0;

    if (!f->part || !f->prefix[number]) return 0;
    if (strcmp(weight, "head.weight") == 0 || (in_head && strcmp(weight, "tokens.weight") == 0)) {
        snprintf(name[0], NAME, "%s", head);
        return 1;
    }
    without_experts(weight, plain);
    p = find_part(f->joined && prefix == 0 ? f->joined : f->part, plain, &which);
    for (; p && n < STACKED && p->array[n]; ++n) array_name(f->prefix[number], p, n, &which, name[n]);
    return n;
}

/* -- arrays -- */

/* Old files of BERT have other names for the weight and the bias of a norm; NULL: it is neither. */
static const char *old_name(const char *name, char old[NAME])
{
    const char *end = strstr(name, "LayerNorm.");

    if (!end) return NULL;
    end += strlen("LayerNorm.");
    snprintf(old, NAME, "%.*s%s", (int)(end - name), name, strcmp(end, "weight") == 0 ? "gamma" : "beta");
    return old;
}

static const struct mf_safetensors_entry *find(struct loading *l, const char *name)
{
    size_t count;
    char old[NAME];
    const struct mf_safetensors_entry *all = mf_safetensors_list(l->file, &count),
                                      *entry = mf_safetensors_find(l->file, name);

    if (!entry && old_name(name, old)) entry = mf_safetensors_find(l->file, old);
    if (entry) l->used[entry - all] = 1;
    return entry;
}

/* Extents of the whole of which this rank may have a part. */
static struct mf_span whole_of(const struct mf_value *value)
{
    const struct mf_shard *s = &value->weight->shard;
    const size_t columns = value->shape.n == 2 ? value->shape.d[1] : 1;

    return (struct mf_span){s->of && s->axis == 0 ? s->of : value->shape.d[0], s->of && s->axis == 1 ? s->of : columns};
}

/* Rows of an array that has so many columns; 0: it has not. */
static size_t rows_of(const struct loading *l, const struct mf_safetensors_entry *e, const struct mf_value *value,
                      const struct mf_language_part *p)
{
    const size_t columns = whole_of(value).count;

    if (p->joined) return e->ndim == 3 && e->dims[0] == l->m->experts && e->dims[2] == columns ? e->dims[1] : 0;
    if ((int)e->ndim != value->shape.n) return 0;
    if (value->shape.n == 1) return e->dims[0];
    return e->dims[!p->turned] == columns ? e->dims[p->turned] : 0;
}

/* The run of [0, n) that this rank has, where it has [first, first + count) of `of`. */
static struct mf_span share_of(const struct mf_shard *shard, int axis, size_t n)
{
    if (!shard->of || shard->axis != axis) return (struct mf_span){0, n};
    return (struct mf_span){n / shard->of * shard->first + n % shard->of * shard->first / shard->of,
                            n / shard->of * shard->count + n % shard->of * shard->count / shard->of};
}

/* Rows of a weight, and the part of an array that they come from. */
struct piece {
    const struct mf_value *value;
    const struct mf_safetensors_entry *array;
    int turned, joined;
    size_t expert;                /* of a joined array */
    struct mf_span rows, columns; /* of the array, as the weight has them */
    struct mf_span own;           /* of these columns, those that this rank keeps */
    size_t at;                    /* the first row in the weight */
};

/* @p from [columns][rows] -> @p to [rows][columns]. */
static void turn(size_t rows, size_t columns, const float *from, float *to)
{
    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) to[r * columns + c] = from[c * rows + r];
}

static int check_finite(const struct loading *l, const char *array, size_t n, const float *x)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(x[i]))
            return mf_fail(MF_NUMERIC, "'%s' says nothing: its array '%s' holds %s", mf_safetensors_path(l->file),
                           array, isnan(x[i]) ? "NaN" : "an infinity");
    return MF_OK;
}

/* Rows of a value from memory of the host. */
static void put_rows(const struct mf_weights *w, int v, size_t first, size_t rows, const void *from)
{
    const struct mf_value *value = &w->net->value[v];
    const size_t row = mf_shape_bytes(&value->shape) / value->shape.d[0];

    mf_weights_put_bytes(w, v, (struct mf_span){first * row, rows * row}, from);
}

/* The factors of the rows of a weight of 8 bits. */
static int scale_of(const struct mf_net *net, const struct mf_value *value)
{
    char name[NAME];
    int v;

    snprintf(name, sizeof name, "%.*s.scale", (int)(strlen(value->name) - strlen(".weight")), value->name);
    v = mf_value_find(net, name);
    MF_ASSERT(v >= 0);
    return v;
}

/* Keeps some columns of rows of numbers with @p bytes each, in place. */
static void keep_columns(size_t rows, size_t columns, struct mf_span own, size_t bytes, char *x)
{
    for (size_t r = 0; own.count < columns && r < rows; ++r)
        memmove(x + r * own.count * bytes, x + (r * columns + own.first) * bytes, own.count * bytes);
}

/* The same of a weight, in its type. */
static int round_rows(const struct loading *l, const struct piece *p, size_t first, size_t rows, const float *from)
{
    const struct mf_value *value = p->value;
    const size_t columns = p->columns.count, n = rows * columns, bytes = mf_type_bytes(value->shape.type);
    const int v = (int)(value - l->w->net->value);
    float *scale;
    void *to;
    size_t fit;

    if (value->shape.type == MF_F32) {
        put_rows(l->w, v, first, rows, from);
        return MF_OK;
    }
    to = MF_MUST(malloc(n * bytes + 1), "weights on their way");
    scale = MF_MUST(malloc((rows + 1) * sizeof *scale), "weights on their way");
    fit = mf_rounded(value->shape.type, rows, columns, from, to, scale);
    keep_columns(rows, columns, p->own, bytes, to);
    if (fit == n) put_rows(l->w, v, first, rows, to);
    if (value->shape.type == MF_I8) put_rows(l->w, scale_of(l->w->net, value), first, rows, scale);
    free(scale);
    free(to);
    if (fit == n) return MF_OK;
    return mf_fail(MF_NUMERIC, "'%s': %g of its array '%s' is too large for %s; try: --dtype f32",
                   mf_safetensors_path(l->file), (double)from[fit], p->array->name, mf_type_name(value->shape.type));
}

/* Rows of an expert in a joined array are columns of the file. */
static int read_block(const struct loading *l, const struct piece *p, struct mf_span rows, float *read)
{
    const size_t all = p->joined ? p->array->dims[2] : 0;

    if (!p->joined)
        return mf_safetensors_read_block(l->file, p->array, p->turned ? p->columns : rows,
                                         p->turned ? rows : p->columns, read);
    for (size_t r = 0; r < rows.count; ++r)
        MF_TRY(mf_safetensors_read_block(l->file, p->array, (struct mf_span){p->expert, 1},
                                         (struct mf_span){(rows.first + r) * all + p->columns.first, p->columns.count},
                                         read + r * p->columns.count));
    return MF_OK;
}

/* A few rows. @p read, @p turned [rows * columns] are memory for them. */
static int read_rows(struct loading *l, const struct piece *p, struct mf_span rows, float *read, float *turned)
{
    const size_t n = rows.count * p->columns.count;

    MF_TRY(read_block(l, p, rows, read));
    MF_TRY(check_finite(l, p->array->name, n, read));
    if (p->turned) turn(rows.count, p->columns.count, read, turned);
    return round_rows(l, p, p->at + rows.first - p->rows.first, rows.count, p->turned ? turned : read);
}

/* By pieces: no more than this beside the weight itself is in memory. */
static int read_piece(struct loading *l, const struct piece *p)
{
    const size_t columns = mf_max(p->columns.count, 1), most = mf_max(PIECE / columns, 1);
    float *read = MF_MUST(malloc(2 * most * columns * sizeof *read), "weights on their way");
    int rc = MF_OK;

    for (size_t r = 0; rc == MF_OK && r < p->rows.count; r += most)
        rc = read_rows(l, p, (struct mf_span){p->rows.first + r, mf_min(most, p->rows.count - r)}, read,
                       read + most * columns);
    free(read);
    return rc;
}

/* Arrays of a weight, by their names. */
struct arrays {
    const struct mf_language_part *part;
    struct which which;
    const struct mf_safetensors_entry *array[STACKED];
};

/* The scale of a row of 8 bits is that of all its columns, whichever of them this rank keeps. */
static void find_columns(const struct mf_value *value, struct piece *p)
{
    const size_t all = whole_of(value).count;
    const struct mf_span own = share_of(&value->weight->shard, 1, all);
    const int whole = value->shape.type == MF_I8;

    p->columns = whole ? (struct mf_span){0, all} : own;
    p->own = whole ? own : (struct mf_span){0, own.count};
}

/* The rows of an array that this rank has. Returns how many: *at is the first in the weight. */
static int read_array(struct loading *l, const struct mf_value *value, const struct mf_safetensors_entry *e,
                      const struct arrays *a, size_t *at)
{
    const int blocks = a->part->blocks ? a->part->blocks : 1;
    const size_t rows = rows_of(l, e, value, a->part) / (size_t)blocks;
    struct piece p = {.value = value,
                      .array = e,
                      .turned = a->part->turned && value->shape.n == 2,
                      .joined = a->part->joined,
                      .expert = a->which.expert};

    find_columns(value, &p);
    for (int k = 0; k < blocks; ++k) {
        p.rows = share_of(&value->weight->shard, 0, rows);
        p.rows.first += (size_t)k * rows;
        p.at = *at;
        *at += p.rows.count;
        MF_TRY(read_piece(l, &p));
    }
    return MF_OK;
}

/* Rows of array @p k of a weight, whatever other arrays are stacked with it. */
static size_t rows_wanted(const struct loading *l, const struct mf_value *value, const struct mf_language_part *p,
                          size_t k)
{
    const size_t all = whole_of(value).first;

    if (!p->array[1]) return all;
    if (!p->array[2]) return all / 2;                                   /* gate and up */
    return (k == 0 ? l->m->heads : l->m->key_heads) * l->m->head_width; /* queries, keys and values */
}

/* The array of this name; NULL: a fault is noted. */
static const struct mf_safetensors_entry *wanted(struct loading *l, const struct mf_value *value, const char *name,
                                                 const struct mf_language_part *p, size_t k)
{
    const struct mf_safetensors_entry *e = find(l, name);

    if (!e) fault(l, "; '%.120s' is missing", name);
    if (!e || rows_of(l, e, value, p) == rows_wanted(l, value, p, k)) return e;
    fault(l, "; '%.120s' has other extents", name);
    return NULL;
}

static const struct mf_language_part head_part = {"head", {NULL}, 0, 0, 0};

static void find_arrays(struct loading *l, const struct mf_value *value, struct arrays *to)
{
    *to = (struct arrays){.part = &head_part};
    if (strcmp(value->name, "head.weight") == 0) {
        to->array[0] = wanted(l, value, head, &head_part, 0);
        return;
    }
    to->part = find_part(l->part, value->name, &to->which);
    MF_ASSERT(to->part);
    for (size_t k = 0; k < STACKED && to->part->array[k]; ++k) {
        char name[NAME];

        array_name(l->prefix, to->part, k, &to->which, name);
        to->array[k] = wanted(l, value, name, to->part, k);
    }
}

static int read_weight(struct loading *l, const struct mf_value *value)
{
    struct arrays a;
    size_t at = 0;

    find_arrays(l, value, &a);
    for (int k = 0; k < STACKED && a.array[k]; ++k) MF_TRY(read_array(l, value, a.array[k], &a, &at));
    return MF_OK;
}

/* -- all -- */

static int joins_experts(const struct loading *l)
{
    char name[NAME];

    snprintf(name, sizeof name, "%slayers.0.mlp.gate.weight", l->prefix);
    return mf_language_names[l->m->family].joined && mf_safetensors_find(l->file, name);
}

static int is_buffer(const char *name)
{
    const size_t length = strlen(name);

    for (size_t k = 0; k < sizeof buffers / sizeof *buffers; ++k) {
        const size_t end = strlen(buffers[k]);

        if (length >= end && strcmp(name + length - end, buffers[k]) == 0) return 1;
    }
    return 0;
}

static int is_unread(const struct loading *l, const char *name)
{
    for (size_t k = 0; l->m->family == MF_BERT && k < sizeof unread / sizeof *unread; ++k)
        if (strncmp(name, unread[k], strlen(unread[k])) == 0) return 1;
    return 0;
}

static void find_unknown(struct loading *l)
{
    size_t count;
    const struct mf_safetensors_entry *e = mf_safetensors_list(l->file, &count);

    for (size_t k = 0; k < count; ++k)
        if (!l->used[k] && !is_buffer(e[k].name) && !is_unread(l, e[k].name))
            fault(l, "; the model has no '%.120s'", e[k].name);
}

/* All arrays are looked at before one is read, also those of other ranks. */
static void check_all(struct loading *l)
{
    const struct mf_net *net = l->w->net;
    struct arrays a;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v])) find_arrays(l, &net->value[v], &a);
    find_unknown(l);
}

static int read_all(struct loading *l)
{
    const struct mf_net *net = l->w->net;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v]) && mf_weights_used(l->w, (int)v)) MF_TRY(read_weight(l, &net->value[v]));
    return MF_OK;
}

int mf_language_load(const struct mf_language *m, const struct mf_weights *w, struct mf_safetensors *file)
{
    struct loading l = {
        .m = m, .w = w, .file = file, .prefix = prefix_of(file, m), .part = mf_language_names[m->family].part};
    size_t count, size;
    char *text = NULL;
    int rc = MF_OK;

    mf_safetensors_list(file, &count);
    l.used = MF_MUST(calloc(count + 1, 1), "marks of arrays");
    if (joins_experts(&l)) l.part = mf_language_names[m->family].joined;
    l.text = MF_MUST(open_memstream(&text, &size), "a sentence");
    check_all(&l);
    MF_ASSERT(fclose(l.text) == 0);
    if (l.faults > 0)
        rc = mf_fail(MF_INPUT, "the arrays of '%s' are not those that config.json describes: %zu differ%s",
                     mf_safetensors_path(file), l.faults, text);
    else
        rc = read_all(&l);
    free(text);
    free(l.used);
    return rc;
}
