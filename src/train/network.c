/* See network.h. */
#include "src/train/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/region.h"
#include "src/train/parts.h"
#include "src/train/pipeline.h"

/* Numbers on their way; sets of parameters that are trained. */
enum { STAGED = 1 << 16, ALL = 1 << MF_SET_TRAINED | 1 << MF_SET_SPLIT | 1 << MF_SET_EXPERTS };

/* Every slot of a pipeline has its own. */
static void make_inputs(struct mf_network *n, const struct mf_network_wish *wish, struct mf_build *build)
{
    struct mf_learn_input input[MF_LEARN_INPUTS];

    n->heads = wish->task.heads;
    n->inputs = wish->task.learn->inputs(&wish->task, wish->dims, wish->batch, wish->arch, &wish->args, input);
    for (size_t k = 0; k < n->inputs; ++k)
        n->input[k] = (struct mf_network_input){mf_build_input(build, input[k].name, input[k].shape), input[k]};
}

/* What the host reads after a pass: losses, where they are, and loads of experts. */
static void join_results(size_t heads, struct mf_pass_list *pass)
{
    const struct mf_list *list = pass->list;
    int *value = MF_MUST(malloc((list->nodes + heads) * sizeof *value), "values");
    size_t n = 0;

    while (n < heads) value[n] = pass->loss[n], ++n;
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
        if (mf_value_in(&net->value[v], 1 << MF_SET_BALANCE) && mf_value_is_weight(&net->value[v]) &&
            !mf_value_is_away(&net->value[v]))
            value[n++] = (int)v;
    array = mf_values_join(net, "balance_biases", n, value);
    free(value);
    return array;
}

/* Is this the last layer of a router, in any type? */
static int scores_experts(const struct mf_net *net, const struct mf_node *node)
{
    const struct mf_weight *weight = node->op == MF_OP_LINEAR ? net->value[node->in[1]].weight : NULL;

    return weight && weight->by_expert;
}

static struct mf_routing routing_of(const struct mf_list *list)
{
    struct mf_routing r = {-1, -1, -1, -1, -1, -1, -1, -1, -1, 0};

    for (size_t i = list->nodes; i-- > 0;) { /* the first remains */
        const struct mf_node *node = &list->node[i];

        if (node->op == MF_OP_COMBINE) r.outputs = node->in[0], r.layers = 0;
        if (node->op == MF_OP_GROUPED_LINEAR) ++r.layers, r.given = node->in[0], r.inner = node->out[0];
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

/* The model's output, of which the last axis has one head behind the other. */
static void cut_heads(struct mf_build *build, const struct mf_task *task, int y, int output[])
{
    const int last = mf_build_shape(build, y).n - 1;
    size_t first = 0;

    output[0] = y;
    for (size_t h = 0; task->heads > 1 && h < task->heads; first += task->head[h++].outputs)
        output[h] = mf_build_slice(build, task->head[h].name, y, last, first, task->head[h].outputs);
}

static int outputs(const struct mf_network_wish *wish, struct mf_build *build, const struct mf_arch_args *args,
                   const int input[], int train, int output[])
{
    const struct mf_task *task = &wish->task;

    if (task->learn->forward) {
        task->learn->forward(task, build, wish->arch, args, input, train, output);
        return MF_OK;
    }
    MF_TRY(mf_arch_answers(wish->arch));
    cut_heads(build, task, wish->arch->forward(build, input[0], args, mf_task_outputs(task)), output);
    return MF_OK;
}

static void losses(const struct mf_network_wish *wish, struct mf_build *build, const int input[], const int output[],
                   int train, int loss[])
{
    const struct mf_task *task = &wish->task;

    for (size_t h = 0; h < task->heads; ++h) {
        char *name = task->heads > 1 ? mf_format("%s.loss", task->head[h].name) : mf_format("loss");

        loss[h] = task->learn->loss(
            task, &(struct mf_learn_loss){build, name, (int)h, output[h], output + task->heads, input, train});
        free(name);
    }
}

/* Memory of an input belongs to others in a list that does not read it. */
static void note_reads(const struct mf_network *n, const struct mf_list *list, struct mf_pass_list *pass)
{
    size_t shift;

    for (size_t i = 0; i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j)
            for (size_t k = 0; list->node[i].in[j] >= 0 && k < n->inputs; ++k)
                if (mf_value_root(n->net, list->node[i].in[j], &shift) == pass->input[k]) pass->reads |= 1u << k;
}

/* What the scores read: the outputs that losses compare. */
static void keep_outputs(struct mf_network *n, size_t batch)
{
    const struct mf_pass_list *pass = &n->evaluate;
    struct mf_value *value = n->net->value;

    for (size_t h = 0; h < n->heads; ++h)
        for (size_t i = 0; i < pass->list->nodes; ++i) {
            const int output = pass->list->node[i].in[0];

            if (pass->list->node[i].out[0] != pass->loss[h]) continue;
            n->head[h] = (struct mf_network_head){output, mf_shape_count(&value[output].shape) / batch};
            value[pass->loss[h]].kept = value[output].kept = 1;
        }
}

static int group_parameters(const struct mf_network_wish *wish, const struct mf_list *list)
{
    if (wish->plain) mf_parts_plain(list);
    return mf_parts_rates(list->net, wish->rate_of);
}

/* The model and its losses. @p train 0: without dropout and smoothing; outputs are kept. */
static int forward(struct mf_network *n, const struct mf_network_wish *wish, const char *name, int train,
                   struct mf_pass_list *pass)
{
    struct mf_build build = {.list = mf_list_new(n->net, name), .freeze = wish->freeze};
    struct mf_arch_args args = wish->args;
    int input[MF_LEARN_INPUTS] = {0}, output[MF_HEADS + MF_LEARN_MORE] = {0};

    pass->list = build.list;
    if (n->tensor > 1) build.split = &wish->split;
    if (n->net->lists == 1 || (n->stages > 1 && train)) make_inputs(n, wish, &build);
    for (size_t k = 0; k < n->inputs; ++k) pass->input[k] = input[k] = n->input[k].value;
    if (!train) args = mf_arch_settled(&args);
    MF_TRY(outputs(wish, &build, &args, input, train, output));
    losses(wish, &build, input, output, train, pass->loss);
    MF_TRY(mf_build_end(&build));
    note_reads(n, pass->list, pass);
    if (n->net->lists == 1 && train) MF_TRY(group_parameters(wish, pass->list));
    mf_pass_cast(pass->list, wish->type, wish->micro ? 0 : ALL | 1 << MF_SET_FROZEN);
    if (train) return MF_OK;
    keep_outputs(n, wish->batch);
    n->routing = routing_of(pass->list);
    keep_routing(n->net, &n->routing);
    return MF_OK;
}

/* Places of a micro-batch in its step. */
enum { FIRST = 1, LAST = 2 };

/* Its gradients are those of a step. Where they are offloaded they last no longer. */
static int is_alone(const struct mf_network_wish *wish) { return wish->micro == 1 || wish->slots; }

/* Arrays that all ranks exchange come first. Parts of layers, or of the experts, are exchanged with the ranks that have
 * the same ones. */
static void lay_out(struct mf_network *n, const struct mf_network_wish *wish, const struct mf_list *list)
{
    struct mf_layout *l = &n->layout;
    const size_t copies = wish->stage ? 1 : n->ranks;

    l->group = n->tensor * n->stages > 1 ? mf_network_data_group() : MF_GROUP_ALL;
    l->copies = copies * n->tensor;
    mf_pass_layout(list, 1 << MF_SET_TRAINED, wish->bucket, l);
    l->copies = copies;
    mf_pass_layout(list, 1 << MF_SET_SPLIT, wish->bucket, l);
    if (n->ways > 1) {
        l->group = MF_GROUP_REPLICAS;
        l->pieces = n->ranks / n->ways;
        l->piece = n->rank / n->ways;
        l->copies = wish->stage ? 1 : l->pieces;
    }
    mf_pass_layout(list, 1 << MF_SET_EXPERTS, wish->bucket, l);
}

static int both_ways(struct mf_network *n, const struct mf_network_wish *wish, const char *name,
                     struct mf_pass_list *pass)
{
    MF_TRY(forward(n, wish, name, 1, pass));
    MF_TRY(mf_parts_frozen(n->net, wish->freeze));
    if (wish->compile != MF_COMPILE_NONE) n->joined = mf_pass_fuse(pass->list, wish->recompute, wish->scope);
    if (n->stages > 1) MF_TRY(mf_pipeline_mark(n, wish->cut, pass->list));
    mf_pass_grad(pass->list, n->heads, pass->loss, ALL);
    mf_pass_rerun(pass->list, wish->recompute);
    mf_pass_recompute(pass->list, wish->recompute, wish->stage == 3 || n->stages > 1);
    mf_pass_fold(pass->list);
    return MF_OK;
}

static void partition(const struct mf_network_wish *wish, struct mf_list *list)
{
    size_t seed = mf_list_seed(list);
    unsigned char *alike;

    if (!wish->partition) return;
    alike = mf_list_alike(list, wish->split.group);
    mf_pass_partition(list, &seed, alike, &wish->split);
    free(alike);
}

static int micro_batch(struct mf_network *n, const struct mf_network_wish *wish, const char *name, int place,
                       struct mf_pass_list *pass)
{
    MF_TRY(both_ways(n, wish, name, pass));
    partition(wish, pass->list);
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
    join_results(n->heads, pass);
    return MF_OK;
}

/* Slots fetch them behind the list. */
static void keep_gradients(struct mf_network *n)
{
    for (size_t k = 0; k < n->layout.buckets; ++k) n->net->value[n->layout.bucket[k].gradients].kept = 1;
}

/* Scores and files take them for the parameters. */
static void add_averages(struct mf_network *n, double keep)
{
    mf_pass_average(n->optimise, &n->layout, keep);
    n->average_begin = mf_list_new(n->net, "average_begin");
    mf_pass_average_begin(n->average_begin, &n->layout);
    n->average_swap = mf_list_new(n->net, "average_swap");
    mf_pass_average_swap(n->average_swap, &n->layout);
    mf_pass_gather(n->average_swap, &n->layout);
    mf_pass_bring(n->average_swap, &n->layout);
}

/* -- a stage of a pipeline -- */

/* Gradients are those of a step. */
static void clear_gradients(struct mf_network *n)
{
    n->begin = mf_list_new(n->net, "begin");
    for (size_t k = 0; k < n->layout.buckets; ++k)
        mf_list_insert(n->begin, k, MF_OP_FILL, "clear")->out[0] = n->layout.bucket[k].gradients;
}

static int one_slot(struct mf_network *n, const struct mf_network_wish *wish, size_t k)
{
    struct mf_pipe_slot *slot = &n->slot[k];
    char *name = mf_format("slot.%zu", k);
    int rc;

    slot->pass.results = -1;
    rc = both_ways(n, wish, name, &slot->pass);
    free(name);
    MF_TRY(rc);
    mf_pipeline_divide(n, wish->partition ? &wish->split : NULL, slot);
    slot->pass.reads = 0;
    note_reads(n, slot->pass.list, &slot->pass);
    note_reads(n, slot->backward, &slot->pass);
    join_results(mf_network_answers(n) ? n->heads : 0, &slot->pass);
    return MF_OK;
}

static int pipeline(struct mf_network *n, const struct mf_network_wish *wish)
{
    n->slots = mf_pipeline_slots(wish->micro, n->stages, n->own);
    n->slot = MF_MUST(calloc(n->slots, sizeof *n->slot), "a pipeline");
    for (size_t k = 0; k < n->slots; ++k) {
        MF_TRY(one_slot(n, wish, k));
        n->last = n->slot[0].pass;
    }
    mf_pipeline_leave_weights(n);
    lay_out(n, wish, n->slot[0].backward);
    if (n->layout.buckets == 0)
        return mf_fail(MF_USAGE, "--pp %zu: a stage has nothing to train; leave out --freeze, or --pp", n->stages);
    for (size_t k = 0; !wish->slots && k < n->slots; ++k) mf_pass_accumulate(n->slot[k].backward);
    if (!wish->slots) clear_gradients(n);
    return MF_OK;
}

static int micro_batches(struct mf_network *n, const struct mf_network_wish *wish)
{
    if (n->stages > 1) return pipeline(n, wish);
    if (wish->micro > 1 && !wish->slots) MF_TRY(micro_batch(n, wish, "first", FIRST, &n->first));
    if (wish->micro > 2 && !wish->slots) MF_TRY(micro_batch(n, wish, "inner", 0, &n->inner));
    return micro_batch(n, wish, "last", wish->slots ? FIRST : wish->micro > 1 ? LAST : FIRST | LAST, &n->last);
}

static int training(struct mf_network *n, const struct mf_network_wish *wish)
{
    n->layout =
        (struct mf_layout){.stage = wish->stage, .offload = wish->offload, .pieces = wish->ranks, .piece = wish->rank};
    MF_TRY(micro_batches(n, wish));
    n->reduce = mf_list_new(n->net, "reduce");
    if (n->stages > 1 && !wish->slots) mf_pass_reduce(n->reduce, &n->layout, 1);
    if (!wish->slots) mf_pass_reduced(n->reduce, &n->layout);
    n->norm = MF_MUST(malloc((n->layout.buckets + 1) * sizeof *n->norm), "norms");
    mf_pass_norm(n->reduce, &n->layout, n->norm);
    n->norms = mf_values_join(n->net, "norms", n->layout.buckets, n->norm);
    n->optimise = mf_list_new(n->net, "optimise");
    mf_pass_optimise(n->optimise, &n->layout, wish->optimiser, &wish->moments);
    if (wish->average > 0) add_averages(n, wish->average);
    mf_pass_gather(n->optimise, &n->layout);
    mf_pass_bring(n->optimise, &n->layout);
    if (wish->slots) keep_gradients(n);
    return MF_OK;
}

static size_t ways_of(const struct mf_network_wish *wish)
{
    return wish->args.list ? mf_experts_traders(wish->args.list) : 1;
}

static int plan(struct mf_network *n, struct mf_algorithms *tuning)
{
    int rc = MF_OK;

    n->queue->tuning = tuning;
    for (size_t k = 0; rc == MF_OK && k < n->net->lists; ++k) rc = mf_pass_plan(n->net->list[k], n->queue);
    n->queue->tuning = NULL;
    return rc;
}

/* In the whole evaluation. */
static void count_mixtures(struct mf_network *n)
{
    const struct mf_list *list = n->evaluate.list;

    for (size_t i = 0; i < list->nodes; ++i) {
        if (list->node[i].op != MF_OP_ROUTE_LOAD) continue;
        ++n->mixtures;
        n->mixture += list->node[i].stage < (int)n->own;
    }
}

int mf_network_make(const struct mf_network_wish *wish, struct mf_queue *queue, struct mf_network *n)
{
    *n = (struct mf_network){.net = mf_net_new(),
                             .queue = queue,
                             .ranks = wish->ranks,
                             .rank = wish->rank,
                             .ways = ways_of(wish),
                             .tensor = mf_max(1, wish->split.ranks),
                             .stages = mf_max(1, wish->stages),
                             .own = wish->own,
                             .first.results = -1,
                             .inner.results = -1,
                             .last.results = -1,
                             .norms = -1,
                             .biases = -1};
    if (wish->micro > 0 && !wish->offload) MF_TRY(mf_stage_open(&n->stage, queue, sizeof(float), STAGED));
    if (wish->micro > 0) MF_TRY(training(n, wish));
    MF_TRY(forward(n, wish, "evaluate", 0, &n->evaluate));
    if (wish->compile != MF_COMPILE_NONE) mf_pass_fuse(n->evaluate.list, MF_RECOMPUTE_NONE, wish->scope);
    if (n->stages > 1) MF_TRY(mf_pipeline_mark(n, wish->cut, n->evaluate.list));
    count_mixtures(n);
    if (n->stages > 1) {
        mf_pipeline_leave(n, n->evaluate.list);
        n->evaluate.reads = 0;
        note_reads(n, n->evaluate.list, &n->evaluate);
    }
    mf_pass_fetch(n->evaluate.list, &n->layout);
    mf_model_stream(&wish->stream, n->evaluate.list, queue, &n->layout);
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
    free(n->slot);
    mf_device_map_free(&n->cut);
    free(n->operations);
    mf_net_free(n->net);
    *n = (struct mf_network){0};
}

int mf_network_input(const struct mf_network *n, const char *name)
{
    for (size_t k = 0; k < n->inputs; ++k)
        if (strcmp(n->input[k].of.name, name) == 0) return n->input[k].value;
    return -1;
}

struct mf_weights mf_network_weights(const struct mf_network *n, const struct mf_walk *walk, const struct mf_comm *comm)
{
    return (struct mf_weights){.net = n->net,
                               .walk = walk,
                               .list = n->evaluate.list,
                               .queue = n->queue,
                               .layout = &n->layout,
                               .comm = comm,
                               .ways = n->ways};
}

size_t mf_network_largest(const struct mf_network *n, int group)
{
    size_t largest = 0;

    for (size_t k = 0; n->ranks * n->tensor * n->stages > 1 && k < n->net->lists; ++k)
        largest = mf_max(largest, mf_list_largest(n->net->list[k], group));
    return largest;
}

double mf_network_operations(const struct mf_network *n, const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; list && i < list->nodes; ++i) sum += mf_node_operations(n->net, &list->node[i]);
    return sum;
}
