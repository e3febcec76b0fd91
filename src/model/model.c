/* See model.h. */
#include "src/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/model/stages.h"
#include "src/model/weights.h"

/* The sample, noise level and condition; of masks: whether the own value stays, whether the other comes, and those. */
enum { INPUTS = 3, KEEP = 0, PUT, OTHER };

struct mf_model {
    struct mf_model_card own;         /* of a file */
    const struct mf_model_card *card; /* that, or the caller's */
    size_t batch;
    struct mf_queue *queue;
    struct mf_net *net;
    struct mf_list *list;
    struct mf_walk *walk;
    struct input {
        const char *name;
        int value;   /* [batch][each] */
        size_t each; /* numbers of a sample */
        float *host; /* [batch][each] of the next walk */
    } * input;       /* [inputs] the first is the sample */
    size_t inputs;
    int y;                     /* value [batch][..] */
    size_t answers;            /* numbers of it for each sample */
    struct mf_model_wish wish; /* its names are the caller's, and valid while it opens */
    int *layer;                /* [layers] values [batch][..] that stay after a walk */
    size_t mask;               /* the first input of masks */
    struct mf_layout layout;   /* of weights that are not on the device; all zero: all are there */
    struct mf_stages stages;   /* of ranks that run it together */
    unsigned char *link;       /* [stages][stages]; NULL: this rank is alone */
    int answering;             /* the rank that has y */
    struct mf_sample_form form;
    double mean[MF_CHANNELS_MAX], deviation[MF_CHANNELS_MAX];
};

/* -- opening -- */

static int add_input(struct mf_model *m, struct mf_build *b, const char *name, struct mf_shape shape)
{
    const size_t each = mf_shape_count(&shape) / m->batch;

    m->input[m->inputs++] = (struct input){name, mf_build_input(b, name, shape), each, NULL};
    return m->input[m->inputs - 1].value;
}

/* The value of a node. */
static int find_value(const struct mf_model *m, const char *name, int *v)
{
    *v = mf_value_find(m->net, name);
    return *v < 0 ? mf_fail(MF_USAGE, "the network has no value '%s'", name) : MF_OK;
}

/* Behind the nodes of masks, others may come in the place of their values. */
static int add_masks(struct mf_model *m, struct mf_build *b)
{
    const struct mf_shape each = {.type = MF_F32, .n = 1, .d = {m->batch}};
    char name[2 * MF_REAL_TEXT];
    int keep, put, v;

    m->mask = m->inputs;
    if (m->wish.masks == 0) return MF_OK;
    keep = add_input(m, b, "mask.keep", each);
    put = add_input(m, b, "mask.put", each);
    for (size_t k = 0; k < m->wish.masks; ++k) {
        MF_TRY(find_value(m, m->wish.mask[k], &v));
        snprintf(name, sizeof name, "%.60s.mask", m->wish.mask[k]);
        (void)mf_pass_replace(m->list, v, add_input(m, b, "mask.other", m->net->value[v].shape), keep, put, name);
    }
    return MF_OK;
}

static struct mf_shape row_shape(const struct mf_model *m, size_t numbers)
{
    return (struct mf_shape){.type = MF_F32, .n = 2, .d = {m->batch, numbers}};
}

static void build_answer(struct mf_model *m, struct mf_build *b)
{
    const struct mf_model_card *c = m->card;
    const size_t *d = c->dims, width = c->denoise ? mf_denoise_width(c->denoise) : 0;
    const struct mf_shape shape = {.type = MF_F32, .n = 5, .d = {m->batch, d[0], d[1], d[2], d[3]}};
    const struct mf_arch_args args = mf_arch_settled(&c->args);
    const int x = add_input(m, b, MF_DENOISE_X, shape);
    struct mf_arch_denoise in = {.x = x, .condition = -1};

    if (!c->denoise) {
        m->y = c->arch->forward(b, x, &args, c->outputs.count);
        return;
    }
    in.noise = add_input(m, b, MF_DENOISE_LEVEL, row_shape(m, mf_arch_noise_width(&args)));
    if (width) in.condition = add_input(m, b, MF_DENOISE_CONDITION, row_shape(m, width));
    m->y = c->arch->denoise(b, &in, &args);
}

/* Before passes join nodes: a value that stays is not joined to the next one. */
static int keep_layers(struct mf_model *m)
{
    m->layer = MF_MUST(calloc(m->wish.layers + 1, sizeof *m->layer), "layers");
    for (size_t k = 0; k < m->wish.layers; ++k) {
        MF_TRY(find_value(m, m->wish.layer[k], &m->layer[k]));
        m->net->value[m->layer[k]].kept = 1;
    }
    return MF_OK;
}

/* A weight that no node here reads has no memory. */
static void leave_weights(struct mf_model *m)
{
    for (size_t v = 0; v < m->net->values; ++v) {
        struct mf_weight *weight = m->net->value[v].weight;

        if (weight && !mf_list_uses(m->list, (int)v)) weight->shard = (struct mf_shard){.of = 1};
    }
}

/* Leaves the nodes of this rank. */
static void cut(struct mf_model *m)
{
    const struct mf_model_cut *c = m->wish.cut;
    const size_t n = m->list->nodes, stages = (size_t)c->comm->size;
    int *stage = MF_MUST(malloc((n + 1) * sizeof *stage), "stages");

    MF_ASSERT(m->wish.layers == 0 && m->wish.masks == 0);
    c->place(c->context, m->list, stage);
    m->answering = stage[n - 1];
    m->link = MF_MUST(calloc(stages * stages, 1), "links");
    mf_pass_stage(m->list, stage, c->comm->rank, stages, 0, m->link, NULL);
    free(stage);
    leave_weights(m);
}

/* Host memory is another one beside a GPU alone. */
void mf_model_stream(const struct mf_model_stream *s, struct mf_list *list, const struct mf_queue *queue,
                     struct mf_layout *layout)
{
    int *number;
    size_t parts;

    if (s->parts == 0 || (s->comm ? s->comm->size == 1 : !mf_apart(queue))) return;
    number = MF_MUST(malloc((list->net->values + 1) * sizeof *number), "parts of weights");
    parts = s->leave(list, s->parts, number);
    *layout = (struct mf_layout){.offload = !s->comm, .pieces = 1};
    if (s->comm) layout->pieces = (size_t)s->comm->size, layout->piece = (size_t)s->comm->rank;
    mf_pass_stream(list->net, parts, number, layout);
    free(number);
}

/* The list of the network, planned. */
static int build(struct mf_model *m)
{
    struct mf_build b;

    m->net = mf_net_new();
    m->list = mf_list_new(m->net, "answer");
    b = (struct mf_build){.list = m->list};
    if (!m->card->denoise) MF_TRY(mf_arch_answers(m->card->arch));
    build_answer(m, &b);
    MF_TRY(mf_model_card_blame(m->card, mf_build_end(&b)));
    MF_TRY(add_masks(m, &b));
    m->net->value[m->y].kept = 1;
    mf_pass_cast(m->list, m->wish.type, 1 << MF_SET_TRAINED);
    m->answers = mf_shape_count(&m->net->value[m->y].shape) / m->batch;
    MF_ASSERT(m->card->denoise || m->answers == m->card->outputs.count);
    MF_TRY(keep_layers(m));
    mf_pass_fuse(m->list, MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
    if (m->wish.cut) cut(m);
    mf_model_stream(&m->wish.stream, m->list, m->queue, &m->layout);
    MF_TRY(mf_pass_plan(m->list, m->queue));
    mf_pass_live(m->net);
    return MF_OK;
}

static size_t bytes_of(const struct mf_model *m, const struct input *input)
{
    return m->batch * input->each * sizeof *input->host;
}

static int take_memory(struct mf_model *m)
{
    for (size_t k = 0; k < m->inputs; ++k) {
        m->input[k].host = mf_arena_zeros(m->queue->host, 1, bytes_of(m, &m->input[k]), "inputs of a network");
        if (!m->input[k].host) return MF_MEMORY;
    }
    for (size_t r = 0; m->wish.masks > 0 && r < m->batch; ++r) mf_model_put_masks(m, r, 0);
    return MF_OK;
}

/* Ranks that walk together; NULL: this one is alone. */
static const struct mf_comm *walkers(const struct mf_model *m)
{
    return m->wish.cut ? m->wish.cut->comm : m->wish.stream.comm;
}

static int agree(const struct mf_model *m, int rc) { return walkers(m) ? mf_agree(walkers(m), rc) : rc; }

static int open_stages(struct mf_model *m, struct mf_walk_memory *memory)
{
    const size_t stages = m->wish.cut ? (size_t)m->wish.cut->comm->size : 1;

    return mf_stages_open(&m->stages, walkers(m), 1, stages, m->link, m->net, m->queue, memory);
}

static int open_walk(struct mf_model *m)
{
    struct mf_walk_memory memory;

    MF_TRY(agree(m, take_memory(m)));
    MF_TRY(open_stages(m, &memory));
    MF_TRY(agree(m, mf_walk_open(&m->walk, m->net, m->queue, MF_WALK_PLANNED, &memory)));
    if (m->stages.arrays) mf_walk_exchange(m->walk, mf_arrays_exchanges(m->stages.arrays));
    return MF_OK;
}

/* How samples become input. */
static void find_form(struct mf_model *m)
{
    const struct mf_model_card *c = m->card;

    for (size_t k = 0; !c->phases && k < c->dims[3]; ++k) {
        const struct mf_channel channel = mf_model_card_channel(c, k);

        m->mean[k] = channel.mean;
        m->deviation[k] = channel.deviation;
    }
    m->form = (struct mf_sample_form){.voxels = c->dims[0] * c->dims[1] * c->dims[2],
                                      .channels = c->dims[3],
                                      .phases = c->phases,
                                      .is_float = !c->phases,
                                      .mean = m->mean,
                                      .deviation = m->deviation};
}

static struct mf_weights weights_of(const struct mf_model *m)
{
    return (struct mf_weights){
        .net = m->net, .walk = m->walk, .list = m->list, .queue = m->queue, .layout = &m->layout, .ways = 1};
}

static struct mf_model *new_model(const struct mf_model_wish *wish, struct mf_queue *queue)
{
    struct mf_model *m = MF_MUST(calloc(1, sizeof *m), "a model");

    m->card = &m->own;
    m->wish = *wish;
    m->batch = wish->batch;
    m->input = MF_MUST(calloc(INPUTS + OTHER + wish->masks, sizeof *m->input), "inputs");
    m->queue = queue;
    return m;
}

static int read_card(struct mf_model *m, const char *path)
{
    MF_TRY(mf_model_card_open_as(path, m->wish.word, &m->own));
    if (m->own.outputs.count == 0 && !m->own.denoise) return mf_model_card_refuse(&m->own, "classes"); /* or columns */
    return build(m);
}

static int open_file(struct mf_model *m, const char *path)
{
    struct mf_weights w;

    MF_TRY(agree(m, read_card(m, path)));
    MF_TRY(open_walk(m));
    w = weights_of(m);
    MF_TRY(agree(m, mf_weights_load(&w, m->own.file, NULL)));
    find_form(m);
    return MF_OK;
}

/* Gives the model to the caller, or back. */
static int give(int rc, struct mf_model *m, struct mf_model **model)
{
    *model = rc == MF_OK ? m : NULL;
    if (rc != MF_OK) mf_model_close(m);
    return rc;
}

int mf_model_open_as(const char *path, const struct mf_model_wish *wish, struct mf_queue *queue,
                     struct mf_model **model)
{
    struct mf_model *m = new_model(wish, queue);

    return give(open_file(m, path), m, model);
}

int mf_model_open(const char *path, size_t batch, struct mf_queue *queue, struct mf_model **model)
{
    return mf_model_open_as(path, &(struct mf_model_wish){.batch = batch}, queue, model);
}

int mf_model_make(const struct mf_model_card *card, uint64_t seed, size_t batch, struct mf_queue *queue,
                  struct mf_model **model)
{
    struct mf_model *m = new_model(&(struct mf_model_wish){.batch = batch}, queue);
    struct mf_weights w;
    int rc;

    m->card = card;
    rc = build(m);
    if (rc == MF_OK) rc = open_walk(m);
    if (rc == MF_OK) {
        w = weights_of(m);
        mf_weights_start(&w, seed);
        find_form(m);
    }
    return give(rc, m, model);
}

/* A model whose list is made, for @p see. */
static int draft(const struct mf_model_card *card, const struct mf_model_wish *wish, struct mf_queue *queue,
                 int (*see)(struct mf_model *m, void *context), void *context)
{
    struct mf_model *m = new_model(wish, queue);
    int rc;

    m->card = card;
    rc = build(m);
    if (rc == MF_OK) rc = see(m, context);
    mf_model_close(m);
    return rc;
}

struct seer {
    void (*see)(void *context, const struct mf_list *list);
    void *context;
};

static int see_list(struct mf_model *m, void *context)
{
    const struct seer *seer = context;

    seer->see(seer->context, m->list);
    return MF_OK;
}

int mf_model_draft(const struct mf_model_card *card, const struct mf_model_wish *wish, struct mf_queue *queue,
                   void (*see)(void *context, const struct mf_list *list), void *context)
{
    struct seer seer = {see, context};

    return draft(card, wish, queue, see_list, &seer);
}

/* Beside the room of the lists, which is among their arrays. */
static int add_exchanges(struct mf_model *m, struct mf_model_needs *needs)
{
    const size_t before = mf_arena_live(m->queue->arena), host = mf_arena_live(m->queue->host);
    struct mf_walk_memory memory;

    if (!walkers(m) || walkers(m)->size == 1) return MF_OK;
    MF_TRY(open_stages(m, &memory));
    needs->exchange = mf_arena_live(m->queue->arena) - before - m->net->room[MF_PLACE_DEVICE];
    needs->device += needs->exchange;
    if (mf_apart(m->queue)) needs->host += mf_arena_live(m->queue->host) - host;
    return MF_OK;
}

/* Needs are those of the list, and of its inputs in host memory. */
static int find_needs(struct mf_model *m, void *context)
{
    struct mf_model_needs *needs = context;
    const struct mf_net *net = m->net;

    needs->device = net->lasting[MF_PLACE_DEVICE] + net->room[MF_PLACE_DEVICE];
    needs->weights = net->lasting[MF_PLACE_DEVICE];
    needs->away = net->lasting[MF_PLACE_HOST];
    needs->host = net->lasting[MF_PLACE_HOST] + net->room[MF_PLACE_HOST];
    needs->traffic = mf_list_traffic(m->list);
    needs->brought = mf_list_brought(m->list);
    needs->nodes = (double)m->list->nodes;
    for (size_t k = 0; k < m->inputs; ++k) needs->host += bytes_of(m, &m->input[k]);
    for (size_t k = 0; k < m->list->nodes; ++k) needs->operations += mf_node_operations(net, &m->list->node[k]);
    return add_exchanges(m, needs);
}

int mf_model_foresee(const struct mf_model_card *card, const struct mf_model_wish *wish, struct mf_queue *queue,
                     struct mf_model_needs *needs)
{
    *needs = (struct mf_model_needs){0};
    return draft(card, wish, queue, find_needs, needs);
}

void mf_model_close(struct mf_model *m)
{
    if (!m) return;
    mf_stages_close(&m->stages);
    mf_walk_close(m->walk);
    free(m->link);
    mf_layout_free(&m->layout);
    if (m->list) mf_list_release(m->list, m->queue);
    if (m->net) mf_net_free(m->net);
    mf_model_card_close(&m->own);
    for (size_t k = 0; k < m->inputs; ++k) mf_arena_give(m->queue->host, m->input[k].host);
    free(m->input);
    free(m->layer);
    free(m);
}

const struct mf_model_card *mf_model_says(const struct mf_model *m) { return m->card; }

/* -- running -- */

int mf_model_feed(struct mf_model *m, size_t row, const void *sample)
{
    if (mf_sample_convert(&m->form, sample, m->input[0].host + row * m->input[0].each)) return MF_OK;
    if (!m->card->phases) return mf_fail(MF_INPUT, "a sample holds a value that is not a finite number");
    return mf_fail(MF_INPUT, "a sample holds a value that is none of the model's %d phases", m->card->phases);
}

void mf_model_feed_input(struct mf_model *m, size_t row, const float *input)
{
    mf_model_feed_named(m, m->input[0].name, row, input);
}

static const struct input *find(const struct mf_model *m, const char *name)
{
    for (size_t k = 0; k < m->inputs; ++k)
        if (strcmp(m->input[k].name, name) == 0) return &m->input[k];
    return NULL;
}

void mf_model_feed_named(struct mf_model *m, const char *name, size_t row, const float *values)
{
    const struct input *input = find(m, name);

    MF_ASSERT(input && row < m->batch);
    memcpy(input->host + row * input->each, values, input->each * sizeof *values);
}

void mf_model_feed_mask(struct mf_model *m, size_t k, size_t row, const float *values)
{
    const struct input *other = &m->input[m->mask + OTHER + k];

    MF_ASSERT(k < m->wish.masks && row < m->batch);
    memcpy(other->host + row * other->each, values, other->each * sizeof *values);
}

void mf_model_put_masks(struct mf_model *m, size_t row, int put)
{
    MF_ASSERT(m->wish.masks > 0 && row < m->batch);
    m->input[m->mask + KEEP].host[row] = put ? 0 : 1;
    m->input[m->mask + PUT].host[row] = put ? 1 : 0;
}

void mf_model_walk(struct mf_model *m, size_t n)
{
    for (size_t k = 0; k < m->inputs; ++k) {
        const struct input *input = &m->input[k];

        if (m->link && !mf_list_uses(m->list, input->value)) continue;
        memset(input->host + n * input->each, 0, (m->batch - n) * input->each * sizeof *input->host);
        m->queue->backend->put(m->queue, mf_walk_at(m->walk, m->list, input->value), input->host,
                               m->batch * input->each * sizeof *input->host);
    }
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)n;
    mf_walk_run(m->walk, m->list);
}

/* The first @p n rows of a value. */
static void get(struct mf_model *m, int v, size_t n, float *to)
{
    const struct mf_shape *shape = &m->net->value[v].shape;
    const size_t count = n * (mf_shape_count(shape) / m->batch), bytes = mf_type_bytes(shape->type);
    char *from = (char *)to + count * (sizeof *to - bytes); /* 16 bits come to the second half */

    m->queue->backend->get(m->queue, from, mf_walk_at(m->walk, m->list, v), count * bytes);
    m->queue->backend->sync(m->queue);
    for (size_t i = 0; shape->type != MF_F32 && i < count; ++i) {
        uint16_t half;

        memcpy(&half, from + i * sizeof half, sizeof half);
        to[i] = shape->type == MF_BF16 ? mf_bf16_to(half) : mf_f16_to(half);
    }
}

void mf_model_layer(struct mf_model *m, size_t k, size_t n, float *to)
{
    MF_ASSERT(k < m->wish.layers && n <= m->batch);
    get(m, m->layer[k], n, to);
}

static int check_finite(const struct mf_model *m, size_t n, const float *answer)
{
    for (size_t i = 0; i < n * m->answers; ++i)
        if (!isfinite(answer[i])) return mf_fail(MF_NUMERIC, "the model predicts no number: its output overflows");
    return MF_OK;
}

/* The answer, on all ranks that run the model. */
static void get_answer(struct mf_model *m, size_t n, float *answer)
{
    if (!m->link || m->stages.comm->rank == m->answering) get(m, m->y, n, answer);
    if (m->link) mf_comm_bcast(m->stages.comm, m->answering, answer, n * m->answers * sizeof *answer);
}

int mf_model_output(struct mf_model *m, size_t n, float *answer)
{
    const struct mf_outputs *o = &m->card->outputs;
    int rc;

    get_answer(m, n, answer);
    mf_outputs_units(o, n, answer);
    rc = check_finite(m, n, answer);
    for (size_t i = 0; rc != MF_OK && i < n * m->answers; ++i)
        if (!isfinite(answer[i])) answer[i] = NAN; /* -inf would be a share of 0 */
    mf_outputs_shares(o, n, answer);
    return rc;
}

int mf_model_raw(struct mf_model *m, size_t n, float *answer)
{
    get_answer(m, n, answer);
    return check_finite(m, n, answer);
}

int mf_model_save(const struct mf_model *m, const char *path)
{
    const struct mf_weights w = weights_of(m);
    const char *metadata[] = {"format", "pt", "mesoforge", NULL, NULL};
    struct mf_json *json;
    char *text;
    int rc;

    if (!m->card->outputs.name)
        return mf_fail(MF_USAGE, "cannot save a model to '%s': its outputs have no names; give them in its card", path);
    json = m->card->json ? NULL : mf_model_card_json(m->card);
    metadata[3] = text = mf_json_string(json ? json : m->card->json);
    rc = mf_weights_save(&w, path, metadata);
    free(text);
    mf_json_free(json);
    return rc;
}
