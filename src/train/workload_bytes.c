/* See workload.h: the bytes of any rank, from the lists that it would walk, and the price of its step. docs/PLANNER.md
 * has the formulas and the sources of their constants. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "mpi/nccl_transport.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/train/balance.h"
#include "src/train/carry.h"
#include "src/train/mlp.h"
#include "src/train/record.h"
#include "src/train/slots.h"
#include "src/train/train_priv.h"
#include "src/train/workload.h"

/* ---- lists ---- */

/* A dry network, and what it was made with. */
struct dry {
    struct mf_backend_dry backend;
    struct mf_arena *arena;
    struct mf_queue *queue;
    struct mf_comm comm;
    struct mf_train_opts opts;
    struct mf_network_wish wish;
    struct mf_experts experts;
    struct mf_network network;
    struct dry *peer; /* [peers] the rank of each stage that has most experts, where ranks have different ones */
    size_t peers;
};

static int make(struct dry *d, const struct mf_train_work *w, const struct mf_plan_rank *r)
{
    MF_TRY(mf_arena_open(&d->arena, &mf_mem_dry, 0));
    MF_TRY(mf_queue_dry(&d->queue, &d->backend, (int)r->threads, w->deterministic, d->arena, d->arena));
    return mf_network_make(&d->wish, d->queue, &d->network);
}

static void share_experts(struct dry *d, const struct mf_plan_rank *r)
{
    const struct mf_parting p = mf_train_parting(&d->opts, r->ranks, (size_t)d->opts.args.experts);

    if (d->opts.args.experts == 0 || p.parts == 1) return;
    mf_experts_first(&d->experts, (size_t)d->opts.args.experts);
    mf_experts_share(&d->experts, p.parts, mf_train_expert_part(&d->opts, &p, r->rank), NULL, NULL);
    d->experts.tensor = d->opts.tensor;
    d->opts.args.list = &d->experts;
}

static int open_dry(struct dry *d, const struct mf_train_work *w, const struct mf_plan_rank *r,
                    const struct mf_plan_numbers *settings)
{
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    int rc;

    *d = (struct dry){.opts = *w->opts};
    mf_comm_dry(&d->comm, (int)r->rank, (int)r->ranks, (int)r->local_size);
    if (r->nccl) mf_transport_dry(&d->comm);
    mf_backend_dry(&kind, &d->backend);
    d->opts.effective = mf_train_effective(w, r->ranks);
    mf_train_take_settings(settings, &d->opts);
    share_experts(d, r);
    d->wish = mf_train_wish(w->set, &d->opts, r->ranks, r->rank);
    mf_fault_hold(1);
    rc = make(d, w, r);
    mf_fault_hold(0);
    return rc;
}

/* The first part has most experts. */
static int open_peers(struct dry *d, const struct mf_train_work *w, const struct mf_plan_rank *r,
                      const struct mf_plan_numbers *settings)
{
    const size_t stages = mf_max(1, d->opts.stages);
    struct mf_plan_rank first = *r;

    if (d->experts.ways < 2) return MF_OK;
    d->peer = MF_MUST(calloc(stages, sizeof *d->peer), "a plan");
    for (size_t k = 0; k < stages; ++k) {
        first.rank = k * mf_max(1, d->opts.tensor);
        ++d->peers;
        MF_TRY(open_dry(&d->peer[k], w, &first, settings));
    }
    return MF_OK;
}

/* Arrays that ranks exchange stand at one place on all of them, so the most counts. */
static size_t most_lasting(const struct dry *d, enum mf_place p)
{
    size_t most = d->network.net->lasting[p];

    for (size_t k = 0; k < d->peers; ++k) most = mf_max(most, d->peer[k].network.net->lasting[p]);
    return most;
}

static size_t most_largest(const struct dry *d, int group)
{
    size_t most = mf_network_largest(&d->network, group);

    for (size_t k = 0; k < d->peers; ++k) most = mf_max(most, mf_network_largest(&d->peer[k].network, group));
    return most;
}

static void close_dry(struct dry *d)
{
    while (d->peers > 0) close_dry(&d->peer[--d->peers]);
    free(d->peer);
    if (d->queue) {
        mf_network_free(&d->network);
        d->backend.backend.queue_close(d->queue);
    }
    mf_arena_close(d->arena);
}

/* ---- bytes ---- */

static size_t reader_bytes(const struct dry *d, const struct mf_dataset *set, size_t ahead)
{
    const struct mf_reader_wish wish = mf_learn_reading(d->opts.task->learn, d->opts.readers, d->opts.batch, ahead);

    return mf_reader_bytes(set, &wish);
}

/* Of the experts and their routers. */
static size_t mixture_bytes(const struct mf_net *net)
{
    size_t bytes = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v]) &&
            (net->value[v].weight->set == MF_SET_EXPERTS || net->value[v].weight->by_expert))
            bytes += mf_shape_bytes(&net->value[v].shape);
    return bytes;
}

/* An expert learns alone while the network stays; a router's rows learn beside it, and are fewer. */
static void add_mlps(const struct dry *d, struct mf_plan_bytes *state, struct mf_plan_bytes *host)
{
    const struct mf_mlp_wish wish = mf_mlp_expert(&d->network, d->opts.sleep.batch);
    const struct mf_network_wish network = mf_mlp_network(&wish);
    struct mf_network mlp;

    mf_fault_hold(1);
    if (mf_network_make(&network, d->queue, &mlp) == MF_OK) {
        mf_plan_bytes_add(state, "experts that learn alone",
                          2 * (mlp.net->lasting[MF_PLACE_DEVICE] + mlp.net->room[MF_PLACE_DEVICE]));
        mf_plan_bytes_add(host, "their weights on their way", 2 * mlp.stage.planes * sizeof(float));
    }
    mf_network_free(&mlp);
    mf_fault_hold(0);
}

/* What experts do with samples, and with which: after births and epochs, and between sleeps. */
static void add_looks(const struct dry *d, const struct mf_dataset *set, struct mf_plan_bytes *host)
{
    const struct mf_record record = mf_record_of(&d->network);
    const size_t groups = mf_max(set->classes, 8), experts = (size_t)d->opts.args.experts;

    mf_plan_bytes_add(host, "looks at experts", mf_look_layout_of(&d->network).bytes);
    mf_plan_bytes_add(host, "a survey of experts", mf_survey_numbers(experts, groups, record.columns) * sizeof(double));
    if (d->opts.sleep.batch) /* of a rank and of all */
        mf_plan_bytes_add(
            host, "records of a look",
            2 * mf_min(d->opts.effective, mf_record_room(&record, d->opts.sleep.records, d->opts.sleep.bytes)) *
                record.numbers * sizeof(float));
}

static void add_sleep(const struct dry *d, struct mf_plan_bytes *state, struct mf_plan_bytes *host)
{
    const struct mf_sleep_memory *s = &d->opts.sleep;
    const struct mf_record record = mf_record_of(&d->network);

    mf_plan_bytes_add(host, "records that are replayed",
                      mf_record_room(&record, s->records, s->bytes) * record.numbers * sizeof(float));
    mf_plan_bytes_add(host, "weights before a sleep", mf_carry_bytes(&d->network));
    mf_plan_bytes_add(host, "weights before a trial", mixture_bytes(d->network.net));
    add_mlps(d, state, host);
}

/* A group of @p size ranks. Between them arrays pass through host memory, without NCCL. */
static void add_group(const struct dry *d, const struct mf_plan_rank *r, int number, size_t size, const char *name,
                      struct mf_plan_bytes bytes[2])
{
    struct mf_comm group;
    struct mf_arrays_bytes taken;

    mf_comm_dry(&group, 0, (int)size, (int)mf_min(size, r->local_size));
    if (r->nccl) mf_transport_dry(&group);
    taken = mf_arrays_bytes(&group, r->apart, 0, most_largest(d, number));
    mf_plan_bytes_add(&bytes[0], name, taken.device);
    mf_plan_bytes_add(&bytes[r->apart], name, taken.host);
}

static void add_groups(const struct dry *d, const struct mf_plan_rank *r, struct mf_plan_bytes bytes[2])
{
    static const char experts[] = "exchange of experts", layers[] = "exchange of layers",
                      stages[] = "messages of stages";
    const struct mf_network *n = &d->network;
    const int own = (int)n->own;

    if (n->ways > 1) {
        add_group(d, r, MF_GROUP_EXPERTS, n->ways, experts, bytes);
        add_group(d, r, MF_GROUP_REPLICAS, n->ranks / n->ways, experts, bytes);
    }
    if (n->tensor > 1) add_group(d, r, MF_GROUP_TENSOR, n->tensor, layers, bytes);
    if (n->tensor * n->stages > 1) add_group(d, r, mf_network_data_group(), n->ranks, layers, bytes);
    if (own > 0) add_group(d, r, mf_link_group(own - 1, own), 2, stages, bytes);
    if (own + 1 < (int)n->stages) add_group(d, r, mf_link_group(own, own + 1), 2, stages, bytes);
}

/* May stages be cut anew? */
static int is_recut(const struct dry *d, const struct mf_plan_rank *r)
{
    const struct mf_train_opts *o = &d->opts;

    return o->stages > 1 && o->balance > 0 && o->balance <= o->schedule.steps && !r->apart;
}

/* With offload ranks exchange in host memory. */
static void add_all(const struct dry *d, const struct mf_dataset *set, const struct mf_plan_rank *r,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_net *net = d->network.net;
    const int all = d->network.layout.stage >= 2 || d->network.tensor > 1, offload = d->network.layout.offload;
    const enum mf_place p = offload ? MF_PLACE_HOST : MF_PLACE_DEVICE;
    struct mf_plan_bytes *state = &bytes[MF_PLAN_STATE], *host = r->apart ? &bytes[MF_PLAN_HOST] : state;
    const size_t most = most_lasting(d, p), arrays = most + (all ? net->room[p] : 0);
    const struct mf_arrays_bytes taken =
        mf_arrays_bytes(&d->comm, r->apart && !offload, arrays, most_largest(d, MF_GROUP_ALL));

    mf_plan_bytes_add(state, offload ? "parameters, gradients" : "parameters, gradients, moments",
                      offload ? net->lasting[MF_PLACE_DEVICE] : most);
    mf_plan_bytes_add(state, "activations", net->room[MF_PLACE_DEVICE]);
    mf_plan_bytes_add(host, "optimiser in host memory", offload ? most : net->lasting[MF_PLACE_HOST]);
    mf_plan_bytes_add(host, "activations in host memory", net->room[MF_PLACE_HOST]);
    mf_plan_bytes_add(offload ? host : state, "exchange", taken.device - arrays);
    mf_plan_bytes_add(host, "exchange", taken.host);
    add_groups(d, r, bytes);
    mf_plan_bytes_add(host, "weights on their way",
                      d->network.stage.buffer ? d->network.stage.planes * sizeof(float) : 0);
    mf_plan_bytes_add(host, "numbers of a step", r->apart ? mf_fetched_bytes(&d->network, d->wish.micro) : 0);
    mf_plan_bytes_add(host, "readers", reader_bytes(d, set, MF_AHEAD_TRAIN));
    if (d->opts.task->learn->merit)
        mf_plan_bytes_add(host, "readers of a validation", reader_bytes(d, set, MF_AHEAD_SCORE));
    if (d->opts.slots)
        mf_plan_bytes_add(host, "sums of slots",
                          mf_slots_bytes(&d->network, d->opts.slots, d->wish.ranks, d->wish.rank));
    if (is_recut(d, r)) mf_plan_bytes_add(host, "weights on their way to another stage", mf_balance_bytes(&d->network));
    if (d->opts.grows) mf_plan_bytes_add(host, "weights that are carried over", mf_carry_bytes(&d->network));
    if (d->opts.grows) add_looks(d, set, host);
    if (d->opts.sleep.batch) add_sleep(d, state, host);
}

/* ---- facts ---- */

/* Who exchanges: stages, ranks that share layers, or others. */
static int partners_of(const struct mf_node *node)
{
    if (node->op == MF_OP_START &&
        (node->attr.exchange == MF_EXCHANGE_SEND || node->attr.exchange == MF_EXCHANGE_RECEIVE))
        return MF_TRAIN_MESSAGES;
    return node->attr.group == MF_GROUP_TENSOR ? MF_TRAIN_SUMMED : MF_TRAIN_EXCHANGED;
}

/* A sum is a scatter and a gather. @p partners: as partners_of(). */
static double exchanged_of(const struct mf_list *list, int partners)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];

        if (partners_of(node) != partners) continue;
        sum += (double)mf_node_traded(list->net, node);
        if (node->op == MF_OP_START)
            sum += (node->attr.exchange == MF_EXCHANGE_SUM ? 2 : 1) *
                   (double)mf_shape_bytes(&list->net->value[node->in[0]].shape);
    }
    return sum;
}

/* Activations between the memories of a device and its node. */
static double copied_of(const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        const struct mf_value *value = node->op == MF_OP_COPY ? &list->net->value[node->in[0]] : NULL;

        if (value && value->role == MF_ROLE_ACTIVATION && !value->flat) sum += (double)mf_shape_bytes(&value->shape);
    }
    return sum;
}

static double sums_of(const struct mf_list *list)
{
    double n = 0;

    for (size_t i = 0; i < list->nodes; ++i)
        n += list->node[i].op == MF_OP_START && list->node[i].attr.group == MF_GROUP_TENSOR;
    return n;
}

static void count(const struct mf_network *n, const struct mf_list *list, double times, double fact[MF_PLAN_FACTS])
{
    static const int partners[] = {MF_TRAIN_EXCHANGED, MF_TRAIN_SUMMED, MF_TRAIN_MESSAGES};

    if (!list) return;
    fact[MF_TRAIN_SUMS] += times * sums_of(list);
    fact[MF_TRAIN_COPIED] += times * copied_of(list);
    fact[MF_TRAIN_OPERATIONS] += times * mf_network_operations(n, list);
    fact[MF_TRAIN_TRAFFIC] += times * mf_list_traffic(list);
    fact[MF_TRAIN_NODES] += times * (double)list->nodes;
    for (int k = 0; k < 3; ++k) fact[partners[k]] += times * exchanged_of(list, partners[k]);
}

static void count_all(const struct dry *d, double times, double fact[MF_PLAN_FACTS])
{
    const struct mf_network *n = &d->network;
    const size_t passes = d->wish.micro;
    const double exchanged = fact[MF_TRAIN_EXCHANGED], gradients = times * (double)n->layout.numbers * sizeof(float);

    count(n, n->first.list, times, fact);
    count(n, n->inner.list, passes > 2 ? times * ((double)passes - 2) : 0, fact);
    count(n, n->last.list, d->wish.slots || n->slots ? times * (double)passes : times, fact);
    for (int k = 0; n->slots && k < 3; ++k)
        count(n, (struct mf_list *const[]){n->slot[0].take, n->slot[0].backward, n->slot[0].give}[k],
              times * (double)passes, fact);
    count(n, n->reduce, times, fact);
    count(n, n->optimise, times, fact);
    fact[MF_TRAIN_GRADIENTS] += gradients;
    if (d->wish.slots) fact[MF_TRAIN_EXCHANGED] = exchanged + 2 * gradients;
}

/* A training that makes @p times steps. */
static int add_training(const struct mf_train_work *w, const struct mf_plan_rank *rank,
                        const struct mf_plan_numbers *settings, double times,
                        struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    struct dry d;
    int rc = open_dry(&d, w, rank, settings);

    if (rc == MF_OK) rc = open_peers(&d, w, rank, settings);
    if (rc == MF_OK) {
        add_all(&d, w->set, rank, bytes);
        count_all(&d, times, bytes[MF_PLAN_STATE].fact);
    }
    close_dry(&d);
    return rc;
}

int mf_train_bytes(const void *work, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                   struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_train_work *w = work;
    const struct mf_train_opts opts = mf_train_beside(w->opts);
    struct mf_train_work beside = *w;

    beside.opts = &opts;
    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    MF_TRY(add_training(w, rank, settings, 1, bytes));
    if (opts.task) MF_TRY(add_training(&beside, rank, settings, (double)w->opts->beside.steps, bytes));
    mf_plan_bytes_add(&bytes[rank->apart ? MF_PLAN_HOST : MF_PLAN_STATE], "in use before", rank->in_use);
    return MF_OK;
}

int mf_train_print_lists(const struct mf_train_work *w, const struct mf_plan_rank *rank,
                         const struct mf_plan_numbers *settings, FILE *to)
{
    struct dry d;
    const int rc = open_dry(&d, w, rank, settings);

    for (size_t k = 0; rc == MF_OK && k < d.network.net->lists; ++k) mf_list_print(d.network.net->list[k], to, 1);
    close_dry(&d);
    return rc;
}

/* ---- price ---- */

/* @p bytes are scattered and gathered by @p members ranks, of which @p near are on this node. On cores an array is read
 * and written once in each. */
static double exchange(const struct mf_placement *place, size_t members, size_t near, const struct mf_rates *r,
                       double bytes)
{
    const double ranks = (double)members, here = (double)mf_min(near, members);
    const double moved = bytes * (ranks - 1) / ranks;
    double seconds;

    if (members == 1) return 0;
    seconds = place->nccl ? moved / r->link : 2 * moved / (place->device ? r->to_host : r->memory);
    return here < ranks ? seconds + moved / here / r->network : seconds;
}

/* @p bytes are sent to, or come from, the next stage, which is @p here on this node. */
static double messages(const struct mf_placement *place, int here, const struct mf_rates *r, double bytes)
{
    const double seconds = bytes / (place->nccl ? r->link : place->device ? r->to_host : r->memory);

    if (bytes <= 0) return 0;
    return here ? seconds : seconds + bytes / r->network;
}

/* Gradients go to the host beside backward, which is not paid again; parameters come back beside the update, which
 * reads and writes 28 bytes of a parameter. Exchanges and updates are of this rank's piece. */
static double offload(const struct mf_placement *place, const struct mf_rates *r,
                      const struct mf_plan_numbers *settings, double bytes)
{
    const double pieces = mf_plan_get(settings, "zero") > 0 ? (double)place->ranks : 1, update = 7 * bytes / pieces;

    return fmax(update / r->home, bytes / (r->to_host > 0 ? r->to_host : r->home));
}

/* @p sums: of @p tensor ranks that share layers, of which @p here are on this node. */
static double waiting(const struct mf_placement *place, const struct mf_plan_numbers *settings, double nodes,
                      double sums, size_t tensor, size_t here)
{
    double seconds = place->device ? nodes * MF_SECONDS_LAUNCH : 0;

    if (place->ranks == 1) return seconds;
    seconds += sums * log2((double)tensor) * (here < tensor ? MF_SECONDS_MESSAGE : MF_SECONDS_MEET);
    return seconds + (double)(mf_plan_get(settings, "passes") + 2) * (log2((double)place->ranks) + 1) *
                         (place->nodes > 1 ? MF_SECONDS_MESSAGE : MF_SECONDS_MEET);
}

void mf_train_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                    const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_train_work *w = work;
    const size_t tensor = mf_train_way(settings, "tensor"), stages = mf_train_way(settings, "stages");
    const size_t here = mf_plan_sharers(place, rank, 0), crew = tensor * stages;

    mf_plan_pay_lists(cost, place, rates, w->opts->type != MF_F32, fact[MF_TRAIN_OPERATIONS], fact[MF_TRAIN_TRAFFIC]);
    if (fact[MF_TRAIN_COPIED] > 0 && rates->to_host > 0) /* beside all that */
        mf_plan_pay(cost, "copies", fmax(fact[MF_TRAIN_COPIED] / rates->to_host - cost->total, 0));
    mf_plan_pay(cost, "exchange",
                exchange(place, place->ranks / crew, mf_max(1, here / crew), rates, fact[MF_TRAIN_EXCHANGED]) +
                    exchange(place, tensor, here, rates, fact[MF_TRAIN_SUMMED]) +
                    messages(place, here > tensor, rates, fact[MF_TRAIN_MESSAGES]));
    if (mf_plan_get(settings, "offload"))
        mf_plan_pay(cost, "offload", offload(place, rates, settings, fact[MF_TRAIN_GRADIENTS]));
    mf_plan_pay(cost, "waiting", waiting(place, settings, fact[MF_TRAIN_NODES], fact[MF_TRAIN_SUMS], tensor, here));
    if (stages > 1) /* a stage waits for the first and the last micro-batches */
        mf_plan_pay(cost, "pipeline", cost->total * (double)(stages - 1) / (double)mf_plan_get(settings, "passes"));
    cost->tried = cost->total;
}
