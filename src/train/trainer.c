/* See train.h: opening and closing, and the samples on their way to the network. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/train/carry.h"
#include "src/train/phases.h"
#include "src/train/slots.h"
#include "src/train/train_priv.h"
#include "src/train/tuned.h"

/* Passes of a step on a rank. A window is at most an epoch. */
static size_t passes_of(const struct mf_dataset *set, const struct mf_train_opts *opts, size_t ranks, size_t rank)
{
    const size_t samples = set->count[MF_TRAIN], most = opts->effective < samples ? opts->effective : samples;

    return opts->slots ? mf_cut(opts->slots, ranks, rank).count : mf_window_micro(most, ranks, opts->batch);
}

/* An average over so many steps. */
static double kept_by(const struct mf_train_opts *opts)
{
    return opts->average > 0 ? exp(-1 / fmax(1, opts->average * (double)opts->schedule.steps)) : 0;
}

struct mf_parting mf_train_parting(const struct mf_train_opts *opts, size_t ranks, size_t experts)
{
    const size_t tensor = mf_max(1, opts->tensor);
    struct mf_parting p = {1, tensor};

    if (opts->ways > 1)
        p.traders = (size_t)mf_ways_fit((int)mf_train_data(opts, ranks), experts / tensor, (int)opts->ways);
    p.parts *= p.traders;
    return p;
}

size_t mf_train_expert_part(const struct mf_train_opts *opts, const struct mf_parting *p, size_t rank)
{
    return rank % mf_max(1, opts->tensor) * p->traders + rank / mf_train_crew(opts) % p->traders;
}

struct mf_train_opts mf_train_beside(const struct mf_train_opts *opts)
{
    struct mf_train_opts beside = *opts;

    beside.task = opts->beside.task;
    beside.average = 0;
    beside.schedule.rate = opts->beside.rate;
    beside.schedule.steps *= opts->beside.steps;
    beside.schedule.warmup *= opts->beside.steps;
    beside.beside = (struct mf_beside){.task = NULL};
    return beside;
}

struct mf_network_wish mf_train_wish(const struct mf_dataset *set, const struct mf_train_opts *opts, size_t all,
                                     size_t number)
{
    const size_t tensor = mf_max(1, opts->tensor), ranks = mf_train_data(opts, all);
    const size_t rank = number / mf_train_crew(opts);

    return (struct mf_network_wish){.arch = opts->arch,
                                    .args = opts->args,
                                    .task = *opts->task,
                                    .dims = {set->dims[0], set->dims[1], set->dims[2], set->inputs},
                                    .freeze = opts->freeze,
                                    .rate_of = opts->rate_of,
                                    .plain = opts->plain,
                                    .batch = opts->batch,
                                    .micro = passes_of(set, opts, ranks, rank),
                                    .slots = opts->slots > 0,
                                    .stage = ranks > 1 || mf_train_streams(opts) ? opts->stage : 0,
                                    .ranks = ranks,
                                    .rank = rank,
                                    .split = {MF_GROUP_TENSOR, tensor, number % tensor},
                                    .stages = mf_max(1, opts->stages),
                                    .own = mf_train_stage(opts, number),
                                    .cut = opts->cut,
                                    .recompute = opts->recompute,
                                    .compile = opts->compile,
                                    .scope = opts->scope,
                                    .tuning = opts->tuning,
                                    .type = opts->type,
                                    .offload = opts->offload,
                                    .partition = opts->partition && tensor > 1,
                                    .spill = opts->spill,
                                    .optimiser = opts->optimiser,
                                    .moments = opts->moments,
                                    .average = kept_by(opts),
                                    .bucket = opts->bucket};
}

/* -- opening -- */

/* With offload ranks exchange in host memory. */
static int queue_of_exchanges(struct mf_trainer *t, struct mf_queue **queue)
{
    *queue = t->queue;
    if (!t->network.layout.offload || !mf_apart(t->queue)) return MF_OK;
    MF_TRY(mf_queue_home(&t->home, t->queue, t->queue->host));
    *queue = t->home;
    return MF_OK;
}

/* Memory that ranks share is not pinned yet; copies go beside kernels only if it is. */
static void pin(struct mf_trainer *t, void *memory, size_t bytes)
{
    const struct mf_backend *backend = t->queue->backend;

    if (!backend->pin || mf_arena_name(t->queue->host, memory)) return;
    backend->pin(t->queue, memory, bytes);
    t->pinned = memory;
}

/* Do ranks share experts? */
static const struct mf_comm *sharers(const struct mf_trainer *t)
{
    return mf_rank_groups_find(&t->groups, MF_GROUP_EXPERTS);
}

/* Ranks with more experts have more that lasts, and larger arrays. What ranks exchange stands at one place on all, so
 * the most of them counts. Collective, where ranks share experts. */
static size_t most_of(const struct mf_trainer *t, size_t bytes)
{
    int64_t most = (int64_t)bytes;

    if (t->experts.ways > 1) mf_collect_step(t->comm, 0, NULL, 1, &most);
    return (size_t)most;
}

/* A group may be one rank: all hear of its refusal. */
static int join_groups(struct mf_trainer *t)
{
    for (int k = MF_GROUP_ALL + 1; k < t->groups.count; ++k) {
        const struct mf_comm *group = mf_rank_groups_find(&t->groups, k);
        const size_t largest = most_of(t, mf_network_largest(&t->network, k));

        MF_TRY(mf_agree(t->comm, group ? mf_arrays_join(t->arrays, k, group, largest) : MF_OK));
    }
    return MF_OK;
}

static int open_walk(struct mf_trainer *t)
{
    const struct mf_net *net = t->network.net;
    const enum mf_place p = t->network.layout.offload ? MF_PLACE_HOST : MF_PLACE_DEVICE;
    const int all = t->network.layout.stage >= 2 || t->network.tensor > 1; /* what is exchanged does not last */
    struct mf_walk_memory memory = {.lasting = {NULL}};
    const size_t room = most_of(t, net->lasting[p]), bytes = room + (all ? net->room[p] : 0);
    const size_t largest = most_of(t, mf_network_largest(&t->network, MF_GROUP_ALL));
    struct mf_queue *queue;
    char *arrays;

    MF_TRY(mf_agree(t->comm, queue_of_exchanges(t, &queue)));
    MF_TRY(mf_arrays_open(t->comm, queue, bytes, largest, &t->arrays));
    arrays = mf_arrays_memory(t->arrays);
    memory.lasting[p] = arrays;
    memory.room[p] = all ? arrays + room : NULL;
    if (t->home) pin(t, arrays, bytes);
    MF_TRY(mf_agree(t->comm, mf_walk_open(&t->walk, t->network.net, t->queue, MF_WALK_PLANNED, &memory)));
    mf_walk_replay(t->walk, mf_replays(t->opts.compile), t->opts.scope);
    MF_TRY(join_groups(t));
    if (t->comm->size > 1) mf_walk_exchange(t->walk, mf_arrays_exchanges(t->arrays));
    return MF_OK;
}

static int open_reader(struct mf_trainer *t)
{
    const struct mf_train_opts *o = &t->opts;
    const struct mf_reader_wish wish = mf_learn_reading(o->task->learn, o->readers, o->batch, MF_AHEAD_TRAIN);

    return mf_reader_open(t->set, t->arena, &wish, &t->reader);
}

/* Rank 0 tries algorithms first. Others take what it found, so that equal GPUs compute alike. */
static int make_network(struct mf_trainer *t, const struct mf_network_wish *wish)
{
    const int waits = wish->tuning && t->comm->rank > 0;
    int rc = waits ? MF_OK : mf_network_make(wish, t->queue, &t->network);

    MF_TRY(mf_agree(t->comm, rc));
    if (!wish->tuning) return MF_OK;
    mf_tuned_share(t->comm, wish->tuning);
    if (waits) rc = mf_network_make(wish, t->queue, &t->network);
    mf_tuned_save(wish->tuning);
    return mf_agree(t->comm, rc);
}

/* Routers draw noise by the ids of experts. */
static void put_ids(struct mf_trainer *t)
{
    const struct mf_net *net = t->network.net;
    int32_t id[MF_EXPERTS];

    for (size_t e = 0; e < t->experts.count; ++e) id[e] = (int32_t)t->experts.id[e];
    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_in(&net->value[v], 1 << MF_SET_BALANCE) && net->value[v].shape.type == MF_I32 &&
            !mf_value_is_away(&net->value[v]))
            mf_place_put(t->queue, MF_PLACE_DEVICE, mf_walk_at(t->walk, t->network.last.list, (int)v), id,
                         t->experts.count * sizeof *id);
}

/* Bytes of the largest array that is fetched. */
static size_t largest_fetch(const struct mf_network *n)
{
    const int array[] = {n->norms, n->biases, n->first.results, n->inner.results, n->last.results};
    size_t most = 1;

    for (size_t k = 0; k < sizeof array / sizeof *array; ++k)
        if (array[k] >= 0) most = mf_max(most, mf_shape_bytes(&n->net->value[array[k]].shape));
    return mf_whole_lines(most);
}

size_t mf_fetched_bytes(const struct mf_network *n, size_t passes)
{
    return (MF_FETCH_PASSES + passes) * largest_fetch(n);
}

static int open_fetched(struct mf_trainer *t)
{
    const size_t bytes = mf_fetched_bytes(&t->network, t->micro);

    t->fetches = largest_fetch(&t->network);
    t->copied = MF_MUST(calloc(MF_FETCH_PASSES + t->micro, sizeof *t->copied), "copies of a step");
    t->fetched = mf_apart(t->queue) ? mf_arena_take(t->queue->host, bytes, "numbers of a step")
                                    : mf_room(1, bytes, "numbers of a step");
    return mf_agree(t->comm, t->fetched ? MF_OK : MF_MEMORY);
}

static void close_fetched(struct mf_trainer *t)
{
    if (t->fetched) mf_trainer_await(t);
    if (t->queue && mf_apart(t->queue))
        mf_arena_give(t->queue->host, t->fetched);
    else
        free(t->fetched);
    free(t->copied);
    t->fetched = NULL;
    t->copied = NULL;
}

/* Everything that depends on the network's structure. Weights are at their start. */
static int build(struct mf_trainer *t)
{
    const struct mf_network_wish wish = mf_train_wish(t->set, &t->opts, (size_t)t->comm->size, (size_t)t->comm->rank);

    MF_TRY(make_network(t, &wish));
    MF_TRY(open_walk(t));
    if (t->opts.slots) MF_TRY(mf_slots_open(t, t->opts.slots, &t->slots));
    t->weights = mf_network_weights(&t->network, t->walk, t->comm);
    t->weights.tensor = mf_rank_groups_find(&t->groups, MF_GROUP_TENSOR);
    t->weights.data = t->data;
    if (t->pipeline.size > 1) t->weights.stages = &t->pipeline;
    mf_weights_start(&t->weights, t->opts.seed);
    put_ids(t);
    MF_TRY(open_fetched(t));
    t->scorer = (struct mf_scorer){.comm = t->comm,
                                   .data = t->data,
                                   .silent = mf_trainer_silent(t),
                                   .arena = t->arena,
                                   .queue = t->queue,
                                   .set = t->set,
                                   .task = t->opts.task,
                                   .batch = t->opts.batch,
                                   .readers = t->opts.readers,
                                   .network = &t->network,
                                   .walk = t->walk};
    MF_TRY(mf_agree(t->comm, mf_feed_open(&t->scorer)));
    mf_walk_numbers(t->walk)[MF_NUMBER_SEED] = (double)(uint32_t)t->opts.seed;
    mf_walk_numbers(t->walk)[MF_NUMBER_DECAY] = t->opts.decay;
    return MF_OK;
}

static void unbuild(struct mf_trainer *t)
{
    close_fetched(t);
    mf_feed_close(&t->scorer);
    mf_slots_close(t->slots);
    mf_walk_close(t->walk);
    if (t->pinned) t->queue->backend->unpin(t->queue, t->pinned);
    mf_arrays_close(t->arrays);
    if (t->home) t->home->backend->queue_close(t->home);
    if (t->queue) mf_network_free(&t->network);
    t->slots = NULL;
    t->walk = NULL;
    t->pinned = NULL;
    t->arrays = NULL;
    t->home = NULL;
}

size_t mf_trainer_mixtures(const struct mf_trainer *t) { return t->network.mixtures; }

size_t mf_trainer_sums(const struct mf_trainer *t) { return MF_SUM_LOSS + t->network.heads; }

/* The groups of ranks for so many experts. */
static int open_ways(struct mf_trainer *t, size_t experts)
{
    const struct mf_parting p = mf_train_parting(&t->opts, (size_t)t->comm->size, experts);
    const size_t now = sharers(t) ? (size_t)sharers(t)->size : 1;

    if (p.traders == now) return MF_OK;
    return mf_rank_groups_share_experts(&t->groups, t->comm, p.traders > 1 ? (int)p.traders : 0,
                                        (int)mf_train_crew(&t->opts));
}

/* The trainer keeps the experts, since they change. */
static int take_experts(struct mf_trainer *t, const struct mf_experts *experts)
{
    struct mf_parting p;

    if (!experts)
        mf_experts_first(&t->experts, (size_t)t->opts.args.experts);
    else if (experts != &t->experts)
        t->experts = *experts;
    t->opts.args.experts = (long)t->experts.count;
    t->opts.args.list = &t->experts;
    if (t->experts.count < t->opts.tensor)
        return mf_fail(MF_USAGE, "--tp %zu: every rank has whole experts, and there are %zu", t->opts.tensor,
                       t->experts.count);
    MF_TRY(open_ways(t, t->experts.count));
    p = mf_train_parting(&t->opts, (size_t)t->comm->size, t->experts.count);
    t->experts.tensor = t->opts.tensor;
    if (p.parts == 1)
        t->experts.ways = 0;
    else if (t->experts.ways != p.parts || t->experts.end[t->experts.ways - 1] != t->experts.count)
        mf_experts_share(&t->experts, p.parts, 0, NULL, NULL);
    t->experts.way = mf_train_expert_part(&t->opts, &p, (size_t)t->comm->rank);
    return MF_OK;
}

/* -- ranks that pass the same samples -- */

static int open_groups(struct mf_trainer *t, int *colour)
{
    const int tensor = (int)mf_max(1, t->opts.tensor), crew = (int)mf_train_crew(&t->opts);

    MF_TRY(mf_stages_split(&t->groups, t->comm, (size_t)tensor, mf_max(1, t->opts.stages), NULL));
    for (int r = 0; r < t->comm->size; ++r) colour[r] = r % crew;
    MF_TRY(mf_rank_groups_split(&t->groups, t->comm, mf_network_data_group(), colour, "data"));
    for (int r = 0; r < t->comm->size; ++r) colour[r] = r / crew * tensor + r % tensor;
    return t->opts.stages > 1 ? mf_comm_split(t->comm, colour, NULL, "pipeline", &t->pipeline) : MF_OK;
}

static int open_crew(struct mf_trainer *t)
{
    int *colour, rc;

    MF_TRY(mf_arch_can_split(t->opts.arch, &t->opts.args, mf_max(1, t->opts.tensor)));
    if ((size_t)t->comm->size % mf_train_crew(&t->opts))
        return mf_fail(MF_USAGE, "%d ranks cannot be groups of %zu", t->comm->size, mf_train_crew(&t->opts));
    colour = MF_MUST(malloc((size_t)t->comm->size * sizeof *colour), "groups of ranks");
    rc = open_groups(t, colour);
    free(colour);
    t->data = mf_rank_groups_find(&t->groups, mf_network_data_group());
    return rc;
}

static int build_with(struct mf_trainer *t, const struct mf_experts *experts)
{
    unbuild(t);
    MF_TRY(take_experts(t, experts));
    return build(t);
}

int mf_trainer_rebuild(struct mf_trainer *t, const struct mf_experts *experts, const struct mf_carry *carry)
{
    const struct mf_experts before = t->experts;
    int rc = build_with(t, experts);

    if (rc == MF_MEMORY && carry) {
        mf_err_clear();
        MF_TRY(build_with(t, &before));
        mf_carry_put(carry, t);
        return MF_MEMORY;
    }
    if (rc == MF_OK && carry) mf_carry_put(carry, t);
    return rc;
}

int mf_trainer_recut(struct mf_trainer *t, const size_t *stage)
{
    const size_t bytes = t->network.cut.parts * sizeof *stage;
    size_t *cut = MF_MUST(malloc(bytes + 1), "a cut");

    memcpy(cut, stage, bytes);
    unbuild(t);
    free(t->cut);
    t->opts.cut = t->cut = cut;
    return build(t);
}

int mf_trainer_open(const struct mf_comm *comm, struct mf_arena *arena, struct mf_queue *queue,
                    const struct mf_dataset *set, const struct mf_train_opts *opts, struct mf_trainer *t)
{
    const struct mf_network_wish wish = mf_train_wish(set, opts, (size_t)comm->size, (size_t)comm->rank);

    *t = (struct mf_trainer){
        .comm = comm, .data = comm, .arena = arena, .queue = queue, .set = set, .opts = *opts, .micro = wish.micro};
    t->id = MF_MUST(calloc(opts->batch + 1, sizeof *t->id), "numbers of samples");
    if (mf_train_crew(opts) > 1) MF_TRY(open_crew(t));
    if (opts->args.experts > 0) MF_TRY(take_experts(t, opts->args.list));
    MF_TRY(build(t));
    MF_TRY(mf_agree(
        comm, MF_ROOM(t->sums, mf_trainer_sums(t) + mf_trainer_mixtures(t) * (MF_EXPERTS + 2), "the sums of a step")));
    t->load = t->sums + mf_trainer_sums(t);
    MF_TRY(mf_agree(comm, open_reader(t)));
    mf_scale_begin(&opts->scale, &t->scale);
    return MF_OK;
}

void mf_trainer_close(struct mf_trainer *t)
{
    unbuild(t);
    mf_rank_groups_close(&t->groups);
    if (t->pipeline.size) mf_comm_free(&t->pipeline);
    mf_reader_close(t->reader);
    free(t->sums);
    free(t->id);
    free(t->cut);
    free(t->work);
    *t = (struct mf_trainer){0};
}

size_t mf_trainer_epoch(const struct mf_trainer *t)
{
    return mf_window_steps(t->set->count[MF_TRAIN], t->opts.effective);
}

/* -- samples -- */

/* The positions of pass @p pass of this rank, counted over all steps. */
static struct mf_span part_of(const struct mf_trainer *t, size_t pass, struct mf_window *window)
{
    const size_t ranks = (size_t)t->data->size, rank = (size_t)t->data->rank, micro = pass % t->micro;

    *window = mf_window_of(t->set->count[MF_TRAIN], t->opts.effective, pass / t->micro);
    if (!t->opts.slots) return mf_window_part(window, ranks, rank, t->opts.batch, micro);
    return mf_window_part(window, 1, 0, t->opts.batch, mf_cut(t->opts.slots, ranks, rank).first + micro);
}

/* Passes without samples are not asked for. */
void mf_trainer_read_ahead(struct mf_trainer *t)
{
    while (t->wanted < t->opts.schedule.steps * t->micro && mf_reader_room(t->reader) > 0) {
        struct mf_window window;
        const struct mf_span part = part_of(t, t->wanted++, &window);

        if (part.count == 0) continue;
        mf_window_ids(t->set, MF_TRAIN, t->opts.seed, window.epoch, &part, t->id);
        mf_reader_want(t->reader, part.count, t->id);
    }
}

static void *at(const struct mf_trainer *t, const struct mf_list *list, int v) { return mf_walk_at(t->walk, list, v); }

static int take(struct mf_trainer *t, struct mf_batch *batch)
{
    MF_PHASE(&mf_phase_samples);

    return mf_reader_take(t->reader, batch);
}

int mf_trainer_next(struct mf_trainer *t, size_t micro, const struct mf_pass_list *pass)
{
    struct mf_window window;
    const struct mf_span part = part_of(t, t->step * t->micro + micro, &window);
    struct mf_batch batch;

    mf_walk_numbers(t->walk)[MF_NUMBER_SAMPLE] = (double)(window.epoch * t->set->count[MF_TRAIN] + part.first);
    if (part.count == 0) {
        mf_feed(&t->scorer, pass, NULL, NULL);
        return MF_OK;
    }
    mf_feed_settle(&t->scorer, mf_feed_most(&t->scorer));
    mf_trainer_read_ahead(t);
    MF_TRY(take(t, &batch));
    mf_feed(&t->scorer, pass, &batch, t->reader);
    mf_trainer_read_ahead(t);
    return MF_OK;
}

/* -- values that are joined -- */

void mf_trainer_fetch(struct mf_trainer *t, const struct mf_list *list, int array, size_t k)
{
    const struct mf_backend *backend = t->queue->backend;
    const struct mf_value *v = t->network.net->value;
    char *to = t->fetched + k * t->fetches;
    size_t bytes;

    if (array < 0) return;
    bytes = mf_shape_bytes(&v[array].shape);
    if (!backend->get_start || v[array].place == MF_PLACE_HOST) {
        mf_place_get(t->queue, v[array].place, to, at(t, list, array), bytes);
        return;
    }
    t->copied[t->copies] = backend->get_start(t->queue, to, at(t, list, array), bytes);
    backend->follow(t->queue, t->copied[t->copies++]);
}

/* The last copy first: then the others are complete, too. */
void mf_trainer_await(struct mf_trainer *t)
{
    while (t->copies > 0) t->queue->backend->finish(t->queue, t->copied[--t->copies]);
}

void *mf_trainer_fetched(const struct mf_trainer *t, int value, size_t k)
{
    size_t shift;

    mf_value_root(t->network.net, value, &shift);
    return t->fetched + k * t->fetches + shift;
}
