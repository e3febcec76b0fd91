/* See network.h. */
#include "src/train/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

/* Numbers on their way; bytes of a part's name; sets of parameters that are trained. */
enum { STAGED = 1 << 16, PART_TEXT = 64, ALL = 1 << MF_SET_TRAINED | 1 << MF_SET_EXPERTS };

static struct mf_shape target_shape(const struct mf_network_wish *wish)
{
    if (wish->task.classify) return (struct mf_shape){.type = MF_I32, .n = 1, .d = {wish->batch}};
    return (struct mf_shape){.type = MF_F32, .n = 2, .d = {wish->batch, wish->task.outputs}};
}

static void make_inputs(struct mf_network *n, const struct mf_network_wish *wish, struct mf_build *build)
{
    const size_t *d = wish->task.dims;

    n->x = mf_build_input(build, "x",
                          (struct mf_shape){.type = MF_F32, .n = 5, .d = {wish->batch, d[0], d[1], d[2], d[3]}});
    n->target = mf_build_input(build, "target", target_shape(wish));
}

/* What the host reads after a pass: the loss, and loads of experts. */
static void join_results(struct mf_pass_list *pass)
{
    const struct mf_list *list = pass->list;
    int *value = MF_MUST(malloc((list->nodes + 1) * sizeof *value), "values");
    size_t n = 0;

    value[n++] = pass->loss;
    for (size_t i = 0; i < list->nodes; ++i)
        if (list->node[i].op == MF_OP_ROUTE_LOAD) value[n++] = list->node[i].out[0];
    for (size_t k = 0; k < n; ++k) list->net->value[value[k]].kept = 1;
    pass->results = mf_values_join(list->net, "results", n, value);
    free(value);
}

/* The host changes them after a step. */
static int join_biases(struct mf_net *net)
{
    int *value = MF_MUST(malloc((net->values + 1) * sizeof *value), "values"), array;
    size_t n = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (net->value[v].set == MF_SET_BALANCE && mf_value_is_weight(&net->value[v])) value[n++] = (int)v;
    array = mf_values_join(net, "balance_biases", n, value);
    free(value);
    return array;
}

/* Is this the last layer of a router, in any type? */
static int scores_experts(const struct mf_net *net, const struct mf_node *node)
{
    int v = node->op == MF_OP_LINEAR ? node->in[1] : -1;

    if (v >= 0 && net->value[v].copy_of >= 0) v = net->value[v].copy_of;
    return v >= 0 && net->value[v].by_expert;
}

static struct mf_routing routing_of(const struct mf_list *list)
{
    struct mf_routing r = {-1, -1, -1, -1, -1, -1, -1};

    for (size_t i = list->nodes; i-- > 0;) { /* the first remains */
        const struct mf_node *node = &list->node[i];

        if (node->op == MF_OP_COMBINE) r.outputs = node->in[0];
        if (node->op == MF_OP_PERMUTE) r.rows = node->in[0], r.places = node->out[1];
        if (node->op == MF_OP_ROUTE) r.scores = node->in[0], r.weights = node->out[0], r.choice = node->out[1];
        if (scores_experts(list->net, node)) r.hidden = node->in[0];
    }
    return r;
}

static void keep_routing(struct mf_net *net, const struct mf_routing *r)
{
    const int value[] = {r->rows, r->hidden, r->scores, r->weights, r->choice, r->outputs, r->places};

    for (size_t k = 0; r->rows >= 0 && k < sizeof value / sizeof *value; ++k) net->value[value[k]].kept = 1;
}

/* The model and its loss. @p train 0: without dropout and smoothing; the output is kept. */
static int forward(struct mf_network *n, const struct mf_network_wish *wish, const char *name, int train,
                   struct mf_pass_list *pass)
{
    struct mf_build build = {.list = mf_list_new(n->net, name), .freeze = wish->freeze};
    struct mf_model_args args = wish->args;
    const struct mf_attr attr = {.rate = train ? wish->task.smoothing : 0};
    int in[2];

    pass->list = build.list;
    if (n->net->lists == 1) make_inputs(n, wish, &build);
    if (!train) args.dropout = args.noise = 0;
    if (!train) args.capacity = 0; /* what is said of a sample does not depend on others */
    in[0] = wish->model->forward(&build, n->x, &args, wish->task.outputs);
    in[1] = n->target;
    pass->loss =
        mf_build_node(&build, wish->task.classify ? MF_OP_SOFTMAX_LOSS : MF_OP_SQUARED_LOSS, attr, "loss", 2, in);
    MF_TRY(mf_build_end(&build));
    mf_pass_cast(pass->list, wish->type);
    if (train) return MF_OK;
    n->net->value[pass->loss].kept = 1;
    n->routing = routing_of(pass->list);
    keep_routing(n->net, &n->routing);
    n->output = pass->list->node[pass->list->nodes - 1].in[0];
    n->net->value[n->output].kept = 1;
    return MF_OK;
}

/* Places of a micro-batch in its step. */
enum { FIRST = 1, LAST = 2 };

/* Its gradients are those of a step. Where they are offloaded they last no longer. */
static int is_alone(const struct mf_network_wish *wish) { return wish->micro == 1 || wish->slots; }

/* Arrays that all ranks exchange come first. Experts that ranks share are exchanged with the ranks that have the same
 * ones. */
static void lay_out(struct mf_network *n, const struct mf_network_wish *wish, const struct mf_list *list)
{
    mf_pass_layout(list, 1 << MF_SET_TRAINED, wish->bucket, &n->layout);
    if (n->ways > 1) {
        n->layout.among = MF_AMONG_REPLICAS;
        n->layout.pieces = n->ranks / n->ways;
        n->layout.piece = n->rank / n->ways;
    }
    mf_pass_layout(list, 1 << MF_SET_EXPERTS, wish->bucket, &n->layout);
}

/* The first parts of the parameters' names, each once. */
static void parts_of(const struct mf_net *net, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t v = 0; v < net->values && used + PART_TEXT < room; ++v) {
        const char *name = net->value[v].name;
        char part[PART_TEXT];

        if (!mf_value_is_weight(&net->value[v])) continue;
        snprintf(part, sizeof part, "%.*s", (int)strcspn(name, "."), name);
        if (!mf_name_in(part, text)) used += (size_t)snprintf(text + used, room - used, "%s%s", used ? "," : "", part);
    }
}

/* Every part is one of this network, and something is left to train. */
static int check_frozen(const struct mf_network *n, const char *freeze)
{
    char parts[400];

    if (!freeze) return MF_OK;
    if (mf_network_frozen(n) == mf_network_parameters(n))
        return mf_fail(MF_USAGE, "--freeze %.200s: nothing is left to train", freeze);
    parts_of(n->net, parts, sizeof parts);
    for (size_t length; *freeze; freeze += length + (freeze[length] == ',')) {
        char part[PART_TEXT];
        size_t v = 0;

        length = strcspn(freeze, ",");
        snprintf(part, sizeof part, "%.*s", (int)length, freeze);
        while (v < n->net->values &&
               !(mf_value_is_weight(&n->net->value[v]) && mf_name_in(n->net->value[v].name, part)))
            ++v;
        if (v == n->net->values)
            return mf_fail(MF_USAGE, "--freeze: the network has no part '%s'; it has %s", part, parts);
    }
    return MF_OK;
}

static int micro_batch(struct mf_network *n, const struct mf_network_wish *wish, const char *name, int place,
                       struct mf_pass_list *pass)
{
    MF_TRY(forward(n, wish, name, 1, pass));
    MF_TRY(check_frozen(n, wish->freeze));
    if (wish->compile != MF_COMPILE_NONE) n->joined = mf_pass_fuse(pass->list, wish->recompute, wish->scope);
    mf_pass_grad(pass->list, 1, &pass->loss, ALL);
    mf_pass_rerun(pass->list, wish->recompute);
    mf_pass_recompute(pass->list, wish->recompute, wish->stage == 3);
    mf_pass_fold(pass->list);
    mf_pass_spill(pass->list, wish->spill);
    if (n->layout.buckets == 0) lay_out(n, wish, pass->list);
    if (wish->stage >= 2 || (wish->offload && is_alone(wish)))
        mf_pass_clear(pass->list, &n->layout);
    else if (!(place & FIRST))
        mf_pass_accumulate(pass->list);
    if (place & LAST || wish->stage >= 2) {
        mf_pass_send(pass->list, &n->layout);
        mf_pass_reduce(pass->list, &n->layout, place & FIRST);
    }
    mf_pass_fetch(pass->list, &n->layout);
    join_results(pass);
    return MF_OK;
}

/* Slots fetch them behind the list. */
static void keep_gradients(struct mf_network *n)
{
    for (size_t k = 0; k < n->layout.buckets; ++k) n->net->value[n->layout.bucket[k].gradients].kept = 1;
}

static int training(struct mf_network *n, const struct mf_network_wish *wish)
{
    n->layout =
        (struct mf_layout){.stage = wish->stage, .offload = wish->offload, .pieces = wish->ranks, .piece = wish->rank};
    if (wish->micro > 1 && !wish->slots) MF_TRY(micro_batch(n, wish, "first", FIRST, &n->first));
    if (wish->micro > 2 && !wish->slots) MF_TRY(micro_batch(n, wish, "inner", 0, &n->inner));
    MF_TRY(micro_batch(n, wish, "last", wish->slots ? FIRST : wish->micro > 1 ? LAST : FIRST | LAST, &n->last));
    n->reduce = mf_list_new(n->net, "reduce");
    if (!wish->slots) mf_pass_reduced(n->reduce, &n->layout);
    n->norm = MF_MUST(malloc((n->layout.buckets + 1) * sizeof *n->norm), "norms");
    mf_pass_norm(n->reduce, &n->layout, n->norm);
    n->norms = mf_values_join(n->net, "norms", n->layout.buckets, n->norm);
    n->optimise = mf_list_new(n->net, "optimise");
    mf_pass_optimise(n->optimise, &n->layout, wish->optimiser, &wish->moments);
    mf_pass_gather(n->optimise, &n->layout);
    mf_pass_bring(n->optimise, &n->layout);
    if (wish->slots) keep_gradients(n);
    return MF_OK;
}

static size_t ways_of(const struct mf_network_wish *wish)
{
    return wish->args.list && wish->args.list->ways > 1 ? wish->args.list->ways : 1;
}

static int plan(struct mf_network *n, struct mf_algorithms *tuning)
{
    int rc = MF_OK;

    n->queue->tuning = tuning;
    for (size_t k = 0; rc == MF_OK && k < n->net->lists; ++k) rc = mf_pass_plan(n->net->list[k], n->queue);
    n->queue->tuning = NULL;
    return rc;
}

int mf_network_make(const struct mf_network_wish *wish, struct mf_queue *queue, struct mf_network *n)
{
    *n = (struct mf_network){.net = mf_net_new(),
                             .queue = queue,
                             .ranks = wish->ranks,
                             .rank = wish->rank,
                             .ways = ways_of(wish),
                             .first.results = -1,
                             .inner.results = -1,
                             .last.results = -1,
                             .norms = -1,
                             .biases = -1};
    if (wish->micro > 0 && !wish->offload) MF_TRY(mf_stage_open(&n->stage, queue, sizeof(float), STAGED));
    if (wish->micro > 0) MF_TRY(training(n, wish));
    MF_TRY(forward(n, wish, "evaluate", 0, &n->evaluate));
    if (wish->compile != MF_COMPILE_NONE) mf_pass_fuse(n->evaluate.list, MF_RECOMPUTE_NONE, wish->scope);
    mf_pass_fetch(n->evaluate.list, &n->layout);
    n->biases = join_biases(n->net);
    MF_TRY(plan(n, wish->tuning));
    mf_pass_live(n->net);
    return MF_OK;
}

void mf_network_free(struct mf_network *n)
{
    for (size_t k = 0; n->net && k < n->net->lists; ++k) mf_list_release(n->net->list[k], n->queue);
    mf_stage_close(&n->stage);
    mf_layout_free(&n->layout);
    free(n->norm);
    mf_net_free(n->net);
    *n = (struct mf_network){0};
}

size_t mf_network_parameters(const struct mf_network *n)
{
    size_t numbers = 0;

    for (size_t v = 0; v < n->net->values; ++v)
        if (mf_value_is_weight(&n->net->value[v])) numbers += mf_shape_count(&n->net->value[v].shape);
    return numbers;
}

size_t mf_network_frozen(const struct mf_network *n)
{
    size_t numbers = 0;

    for (size_t v = 0; v < n->net->values; ++v)
        if (mf_value_is_weight(&n->net->value[v]) && n->net->value[v].set == MF_SET_FROZEN)
            numbers += mf_shape_count(&n->net->value[v].shape);
    return numbers;
}

size_t mf_network_largest(const struct mf_network *n, enum mf_exchange_group among)
{
    size_t largest = 0;

    for (size_t k = 0; n->ranks > 1 && k < n->net->lists; ++k)
        largest = mf_max(largest, mf_list_largest(n->net->list[k], among));
    return largest;
}

double mf_network_operations(const struct mf_network *n, const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; list && i < list->nodes; ++i) sum += mf_node_operations(n->net, &list->node[i]);
    return sum;
}
