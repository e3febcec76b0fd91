/* See workload.h: the bytes of any rank, from the lists that it would walk, and facts for its price. */
#include <math.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/gen/dry.h"
#include "src/gen/workload.h"

/* ---- lists ---- */

static int open_dry(struct mf_gen_dry *d, const struct mf_gen_work *w, const struct mf_plan_rank *r,
                    const struct mf_plan_numbers *s)
{
    const struct mf_gen_size size = {mf_plan_get(s, "requests"), mf_plan_get(s, "context"), w->logits,
                                     mf_plan_get(s, "pages")};

    const struct mf_gen_grid grid = {NULL,   mf_gen_ways_of(s, "tp"),     mf_gen_ways_of(s, "pp"),
                                     w->map, (int)mf_plan_get(s, "zero"), mf_plan_get(s, "streamed")};

    return mf_gen_dry_open(d, w->model, &size, &grid, r, w->deterministic);
}

int mf_gen_print_lists(const struct mf_gen_work *w, const struct mf_plan_rank *rank,
                       const struct mf_plan_numbers *settings, FILE *to)
{
    struct mf_gen_dry d;
    const int rc = open_dry(&d, w, rank, settings);

    for (size_t k = 0; rc == MF_OK && k < d.lists.net->lists; ++k) mf_list_print(d.lists.net->list[k], to, 1);
    mf_gen_dry_close(&d);
    return rc;
}

/* ---- bytes ---- */

/* It lasts and is no weight. */
static int is_cache(const struct mf_value *value)
{
    return value->base < 0 && value->lasting && value->role == MF_ROLE_ACTIVATION;
}

static size_t cache_bytes(const struct mf_net *net, enum mf_place place)
{
    size_t sum = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (is_cache(&net->value[v]) && net->value[v].place == place) sum += mf_shape_bytes(&net->value[v].shape);
    return sum;
}

/* Share of a value that a node touches. Experts count that some token has chosen, as if it chose at random. */
static double touched(const struct mf_language *m, const struct mf_net *net, const struct mf_node *node, int value)
{
    const double each = m->experts ? (double)m->chosen / (double)m->experts : 1;

    if (node->op != MF_OP_GROUPED_LINEAR || (value != node->in[1] && value != node->in[4])) return 1;
    return 1 - pow(1 - each, (double)net->value[node->in[0]].shape.d[0] / (double)m->chosen);
}

/* Bytes that a list reads and writes. Caches are left out, and tables of which it gathers rows. @p weights: only
 * weights count. */
static double traffic(const struct mf_language *m, const struct mf_list *list, int weights)
{
    struct mf_operand operand[MF_OPERANDS];
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        const size_t n = mf_node_operands(node, operand);

        for (size_t k = 0; k < n; ++k) {
            const struct mf_value *value = &list->net->value[operand[k].value];

            if (value->role == MF_ROLE_WORK || is_cache(value) || (weights && value->role != MF_ROLE_PARAMETER))
                continue;
            if (node->op == MF_OP_GATHER && operand[k].value == node->in[0]) continue;
            sum += touched(m, list->net, node, operand[k].value) * (double)mf_shape_bytes(&value->shape);
        }
    }
    return sum;
}

/* So many operations make a number of a weight f32. */
static double widening(enum mf_type type)
{
    enum { FROM_16_BITS = 3, FROM_8_BITS = 5 };

    return type == MF_F32 ? 0 : mf_type_bytes(type) == 1 ? FROM_8_BITS : FROM_16_BITS;
}

static void add_weights(const struct mf_list *list, double *bytes, double *operations)
{
    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        const struct mf_shape *w = node->in[1] >= 0 ? &list->net->value[node->in[1]].shape : NULL;

        if (node->op == MF_OP_STEADY_LINEAR) *bytes += (double)mf_shape_bytes(w);
        if (node->op == MF_OP_STEADY_LINEAR || node->op == MF_OP_GROUPED_LINEAR)
            *operations += (double)mf_shape_count(w) * widening(w->type);
    }
}

static double operations(const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i)
        if (list->node[i].op != MF_OP_ATTENTION_KEPT) sum += mf_node_operations(list->net, &list->node[i]);
    return sum;
}

/* The list of a step. Each stage of a pipeline has a share of all requests. */
static const struct mf_list *step_of(const struct mf_gen_dry *d)
{
    const size_t stages = d->cut.ways.stages, rows = (d->lists.room.requests + stages - 1) / stages;
    const struct mf_decoder_list *l = d->lists.step;

    while (l->rows < rows) ++l;
    return l->list;
}

static double exchanged(const struct mf_list *list, double *times)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];

        if (node->op != MF_OP_START || node->attr.exchange == MF_EXCHANGE_GATHER) continue;
        sum += (node->attr.exchange == MF_EXCHANGE_SUM ? 2 : 1) *
               (double)mf_shape_bytes(&list->net->value[node->in[0]].shape);
        *times += 1;
    }
    return sum;
}

static void find_facts(const struct mf_language *m, const struct mf_gen_dry *d, double fact[MF_PLAN_FACTS])
{
    const struct mf_list *step = step_of(d), *chunk = d->lists.prompt[MF_GEN_PROMPTS - 1].list;
    double of_chunk = 0;

    fact[MF_GEN_STEP_BYTES] = traffic(m, step, 0);
    add_weights(step, &fact[MF_GEN_STEP_WEIGHTS], &fact[MF_GEN_STEP_WIDENING]);
    fact[MF_GEN_STEP_OPERATIONS] = operations(step);
    fact[MF_GEN_STEP_EXCHANGED] = exchanged(step, &fact[MF_GEN_EXCHANGES]);
    fact[MF_GEN_CHUNK_BYTES] = traffic(m, chunk, 0);
    add_weights(chunk, &fact[MF_GEN_CHUNK_WEIGHTS], &fact[MF_GEN_CHUNK_WIDENING]);
    fact[MF_GEN_CHUNK_OPERATIONS] = operations(chunk);
    fact[MF_GEN_CHUNK_EXCHANGED] = exchanged(chunk, &of_chunk);
    fact[MF_GEN_NODES] = (double)step->nodes;
    fact[MF_GEN_STREAMED] = mf_list_brought(step);
    for (size_t i = 0; i < step->nodes; ++i) {
        if (step->node[i].op != MF_OP_ATTENTION_KEPT) continue;
        fact[MF_GEN_QUERIES] += (double)mf_shape_last(&step->net->value[step->node[i].in[0]].shape);
        for (int j = 1; j < 3; ++j) {
            const struct mf_shape *cache = &step->net->value[step->node[i].in[j]].shape;

            fact[MF_GEN_KEPT_BYTES] += (double)(cache->d[1] * mf_type_bytes(cache->type));
        }
    }
}

int mf_gen_bytes(const void *work, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings,
                 struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_gen_work *w = work;
    struct mf_plan_bytes *state = &bytes[MF_PLAN_STATE], *host = r->apart ? &bytes[MF_PLAN_HOST] : state;
    struct mf_gen_dry d;
    int rc;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    rc = open_dry(&d, w, r, settings);
    if (rc == MF_OK) {
        const struct mf_net *net = d.lists.net;
        const size_t caches = cache_bytes(net, MF_PLACE_DEVICE), on_host = cache_bytes(net, MF_PLACE_HOST);

        mf_plan_bytes_add(state, "weights", net->lasting[MF_PLACE_DEVICE] - caches);
        mf_plan_bytes_add(state, "keys and values", caches);
        mf_plan_bytes_add(state, "activations, inputs, work memory", net->room[MF_PLACE_DEVICE]);
        mf_plan_bytes_add(state, "exchange", mf_gen_dry_exchange(&d, 0));
        mf_plan_bytes_add(host, d.lists.streamed.offload ? "weights in host memory" : "weights on the cores",
                          net->lasting[MF_PLACE_HOST] - on_host);
        mf_plan_bytes_add(host, "keys and values on the cores", on_host);
        mf_plan_bytes_add(host, "activations on the cores", net->room[MF_PLACE_HOST]);
        mf_plan_bytes_add(host, "exchange in host memory", mf_gen_dry_exchange(&d, 1));
        mf_plan_bytes_add(host, "logits", mf_gen_lists_host(w->model, &d.lists));
        mf_plan_bytes_add(host, "beside the engine", w->beside);
        mf_plan_bytes_add(host, "in use before", r->in_use);
        find_facts(w->model, &d, state->fact);
    }
    mf_gen_dry_close(&d);
    return rc;
}

int mf_gen_step_bytes(const struct mf_gen_work *w, size_t stages, size_t threads, double *bytes)
{
    const struct mf_plan_rank rank = {.ranks = 1, .local_size = 1, .threads = threads, .simd = ""};
    struct mf_plan_numbers settings = {.count = 0};
    double fact[MF_PLAN_FACTS] = {0};
    struct mf_gen_dry d;
    int rc;

    mf_plan_set(&settings, "requests", w->requests);
    mf_plan_set(&settings, "context", w->context);
    mf_plan_set(&settings, "pages", w->pages ? w->pages : w->requests * mf_pages_of(w->context));
    rc = open_dry(&d, w, &rank, &settings);
    if (rc == MF_OK) {
        find_facts(w->model, &d, fact);
        *bytes = (double)mf_min(stages, w->requests) * traffic(w->model, step_of(&d), 1) +
                 (double)w->requests * mf_gen_seen(w, w->context) * fact[MF_GEN_KEPT_BYTES];
    }
    mf_gen_dry_close(&d);
    return rc;
}
