/* See plan.h: the search. Layouts are looked at from the fewest ranks on; on each, the settings from the least
 * intrusive on, until one fits. */
#include "src/plan/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "kernels/areas.h"
#include "mpi/slab.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/layout.h"

/* More ranks must gain this part of the time, or fewer will do. */
static const double WORTH = 0.10;

enum { MEMORY = 4096 };

/* What was measured already: ranks of equal shape take equal bytes. */
struct known {
    uint64_t key;
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
};

struct search {
    const struct mf_hardware *hardware;
    const struct mf_plan_problem *problem;
    const struct mf_plan_options *options;
    const struct mf_plan_world *world;
    mf_plan_measure *measure;
    void *context;
    struct mf_plan *plan;
    int passes; /* fields in host memory, slices through the device: of the candidates looked at now */
    size_t known_count;
    struct known **known; /* each a small block of its own: a large one would change how the heap grows */
};

/* "12.3 MiB", "4.56 GiB". */
static const char *size_text(size_t bytes, char text[32])
{
    if (bytes < (size_t)1 << 30)
        snprintf(text, 32, "%.1f MiB", (double)bytes / (1 << 20));
    else
        snprintf(text, 32, "%.2f GiB", (double)bytes / (1 << 30));
    return text;
}

static void note(struct mf_plan *plan, const char *format, ...)
{
    va_list list;

    if (plan->notes == sizeof plan->note / sizeof plan->note[0]) return;
    va_start(list, format);
    vsnprintf(plan->note[plan->notes++], MF_PLAN_REASON, format, list);
    va_end(list);
}

/* ---- bytes ---- */

static uint64_t mix(uint64_t key, uint64_t value) { return mf_fnv(key, &value, sizeof value); }

/* Ranks that agree in this own equally many planes and slices on every grid. */
static uint64_t key_of(const struct search *s, const struct mf_plan_setting *set)
{
    uint64_t key = MF_FNV;

    key = mix(mix(mix(key, set->ranks), set->local_size), set->threads);
    key = mix(mix(mix(mix(key, set->batch), set->history), set->in_use), (uint64_t)set->apart);
    key = mix(mix(key, (uint64_t)set->passes), (uint64_t)set->capability);
    key = mix(key, (uint64_t)set->wired);
    key = mf_fnv(key, set->simd, strlen(set->simd));
    for (int level = 0; level < 16; ++level)
        for (int a = 0; a < 3; ++a)
            key = mix(key, mf_cut_grain(s->problem->dims[a] >> level, 2, set->ranks, set->rank).count);
    return key;
}

static int bytes_of(struct search *s, const struct mf_plan_setting *set, const struct mf_plan_bytes **bytes)
{
    uint64_t key = key_of(s, set);
    size_t i = 0;

    while (i < s->known_count && s->known[i]->key != key) ++i;
    if (i == s->known_count) {
        MF_ASSERT(i < MEMORY);
        s->known[i] = MF_MUST(calloc(1, sizeof **s->known), "a plan");
        s->known[i]->key = key;
        ++s->known_count;
        MF_TRY(s->measure(s->context, set, s->known[i]->bytes));
    }
    *bytes = s->known[i]->bytes;
    return MF_OK;
}

static size_t local_size(const struct mf_placement *place, size_t rank)
{
    size_t n = 0;

    for (size_t r = 0; r < place->ranks; ++r) n += place->node[r] == place->node[rank];
    return n;
}

static int is_apart(const struct search *s, const struct mf_placement *place)
{
    return place->device || s->options->apart;
}

static struct mf_plan_setting setting_of(const struct search *s, const struct mf_placement *place, size_t rank,
                                         size_t batch, size_t history)
{
    const struct mf_host *host = mf_plan_node(s->hardware, (size_t)place->node[rank]);
    const struct mf_gpu *gpu = place->device ? &host->gpu[place->gpu[rank]] : NULL;

    return (struct mf_plan_setting){.ranks = place->ranks,
                                    .rank = rank,
                                    .local_size = local_size(place, rank),
                                    .threads = s->world ? s->world->threads[rank] : place->threads,
                                    .batch = batch,
                                    .history = history,
                                    .simd = host->simd,
                                    .apart = is_apart(s, place),
                                    .passes = s->passes,
                                    .capability = gpu ? (int)(10 * gpu->major + gpu->minor) : 0,
                                    .wired = place->wired && !s->passes,
                                    .in_use = s->world ? s->world->in_use[rank] : 0};
}

/* Keeps in @p c the memory that has the least room left. */
static void weigh(struct mf_plan_candidate *c, size_t rank, size_t bytes, size_t room, int host)
{
    if (c->bytes + c->free > 0 && (double)room - (double)bytes >= (double)c->free - (double)c->bytes) return;
    c->rank = rank;
    c->bytes = bytes;
    c->free = room;
    c->host = host;
}

/* Two memories of one rank: of a GPU and its node, or two parts of a node's. */
static void weigh_both(const struct search *s, const struct mf_placement *place, size_t rank,
                       const struct mf_plan_bytes *bytes, struct mf_plan_candidate *c)
{
    size_t context, reserve, room, limit = s->options->memory_limit;

    if (!place->device) {
        mf_plan_room(s->hardware, place, rank, 0, 0, &context, &reserve, &room);
        weigh(c, rank, bytes[MF_PLAN_STATE].total + bytes[MF_PLAN_HOST].total, room, 0);
    }
    for (int m = 0; m < MF_PLAN_MEMORIES; ++m) {
        mf_plan_room(s->hardware, place, rank, place->device && m == MF_PLAN_STATE, limit, &context, &reserve, &room);
        weigh(c, rank, bytes[m].total, room, m == MF_PLAN_HOST);
    }
}

/* The rank with the least room left under a setting. */
static int fill(struct search *s, const struct mf_placement *place, struct mf_plan_candidate *c)
{
    c->bytes = c->free = 0;
    for (size_t r = 0; r < place->ranks; ++r) {
        struct mf_plan_setting set = setting_of(s, place, r, c->batch, c->history);
        const struct mf_plan_bytes *bytes;
        size_t context, reserve, room;

        MF_TRY(bytes_of(s, &set, &bytes));
        c->planes = bytes->planes;
        c->sums = bytes->sums;
        if (is_apart(s, place)) {
            weigh_both(s, place, r, bytes, c);
        } else {
            mf_plan_room(s->hardware, place, r, 0, s->options->memory_limit, &context, &reserve, &room);
            weigh(c, r, bytes->total, room, 0);
        }
    }
    c->fits = c->bytes <= c->free;
    return MF_OK;
}

/* What a device cannot do at all does not end the search where cores might. */
static int fill_or_pass(struct search *s, const struct mf_placement *place, struct mf_plan_candidate *c)
{
    int rc = fill(s, place, c);

    if (rc != MF_MEMORY && !(rc != MF_OK && c->device && strcmp(s->options->device, "auto") == 0)) return rc;
    mf_err_take(c->reason, sizeof c->reason);
    c->bytes = c->free = 0;
    c->fits = 0;
    return MF_OK;
}

/* ---- settings ---- */

static void shape(const struct search *s, const struct mf_placement *place, size_t batch, size_t in_flight[3],
                  size_t rounds[3])
{
    struct mf_comm comm;

    mf_comm_dry(&comm, 0, (int)place->ranks, (int)local_size(place, 0));
    if (place->wired) mf_wire_dry(&comm);
    for (int d = 0; d < 3; ++d) {
        in_flight[d] = rounds[d] = 1;
        if (d == MF_Z || s->problem->dims[0] > 1)
            mf_turn_shape(&comm, s->problem->dims, (enum mf_normal)d, s->passes, batch, &in_flight[d], &rounds[d]);
    }
}

static size_t most_in_flight(const struct search *s, const struct mf_placement *place)
{
    size_t in_flight[3], rounds[3];

    if (s->problem->dims[0] == 1) return 2;
    shape(s, place, 0, in_flight, rounds);
    return in_flight[1] > in_flight[2] ? in_flight[1] : in_flight[2];
}

static double price(const struct search *s, const struct mf_placement *place, const struct mf_plan_candidate *c,
                    struct mf_plan_cost *cost)
{
    size_t in_flight[3], rounds[3];

    shape(s, place, c->batch, in_flight, rounds);
    *cost = mf_plan_price(s->hardware, s->problem, place, c, rounds[1] + rounds[2] + (c->passes ? rounds[0] : 0));
    return cost->total;
}

static struct mf_plan_candidate *add(struct search *s, const struct mf_plan_candidate *c)
{
    struct mf_plan *plan = s->plan;

    plan->candidate = MF_MUST(realloc(plan->candidate, (plan->candidates + 1) * sizeof *c), "a plan");
    plan->candidate[plan->candidates] = *c;
    return &plan->candidate[plan->candidates++];
}

static int does_not_fit(struct search *s, struct mf_plan_candidate *c)
{
    char needs[32], has[32];

    if (c->bytes > 0)
        snprintf(c->reason, sizeof c->reason, "rank %zu needs %s for arrays%s, there are %s", c->rank,
                 size_text(c->bytes, needs), c->host ? " on its node" : "", size_text(c->free, has));
    add(s, c);
    return MF_OK;
}

/* A layout with one history: the batch that is chosen by itself (or asked for), then half of it, and so on; but the
 * smallest first, for where that does not fit none does. */
static int try_layout(struct search *s, const struct mf_placement *place, size_t history)
{
    size_t batch = s->options->batch, half = most_in_flight(s, place);
    struct mf_plan_candidate c = {.device = place->device,
                                  .apart = is_apart(s, place),
                                  .passes = s->passes,
                                  .nodes = place->nodes,
                                  .per_node = place->per_node,
                                  .ranks = place->ranks,
                                  .threads = place->threads,
                                  .history = history};
    struct mf_plan_cost cost;

    c.batch = batch ? batch : 2;
    MF_TRY(fill_or_pass(s, place, &c));
    if (!c.fits) return does_not_fit(s, &c);
    for (;; batch = half) {
        c.batch = batch;
        MF_TRY(fill_or_pass(s, place, &c));
        if (c.fits) break;
        MF_TRY(does_not_fit(s, &c));
        half = half / 2 / 2 * 2;
        MF_ASSERT(half >= 2); /* which fits */
    }
    c.seconds = price(s, place, &c, &cost);
    c.reason[0] = '\0';
    add(s, &c);
    return MF_OK;
}

/* ---- the choice ---- */

/* Seconds of the fastest on GPUs or on cores. */
static double fastest(const struct mf_plan *plan, int device)
{
    double best = INFINITY;

    for (size_t i = 0; i < plan->candidates; ++i)
        if (plan->candidate[i].fits && plan->candidate[i].device == device)
            best = fmin(best, plan->candidate[i].seconds);
    return best;
}

static struct mf_plan_candidate *choose(struct mf_plan *plan, int device)
{
    const double best = fastest(plan, device);
    struct mf_plan_candidate *chosen = NULL;

    for (size_t i = 0; i < plan->candidates; ++i) {
        struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->device != device || !c->fits || c->seconds > best * (1 + WORTH)) continue;
        if (!chosen || c->ranks < chosen->ranks) chosen = c;
    }
    return chosen;
}

static void give_reasons(struct mf_plan *plan, struct mf_plan_candidate *chosen)
{
    chosen->chosen = 1;
    snprintf(chosen->reason, sizeof chosen->reason, "chosen: the fewest ranks within %.0f %% of the fastest",
             100 * WORTH);
    for (size_t i = 0; i < plan->candidates; ++i) {
        struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->chosen || !c->fits) continue;
        if (c->seconds > chosen->seconds)
            snprintf(c->reason, sizeof c->reason, "fits, %.2f times as long", c->seconds / chosen->seconds);
        else
            snprintf(c->reason, sizeof c->reason, "fits, but %zu rank%s gain%s %.0f %% only", c->ranks, MF_S(c->ranks),
                     c->ranks == 1 ? "s" : "", 100 * (1 - c->seconds / chosen->seconds));
    }
}

static const struct mf_placement *layout_of(const struct mf_layouts *l, const struct mf_plan_candidate *c)
{
    for (size_t i = 0; i < l->count; ++i)
        if (l->at[i].device == c->device && l->at[i].ranks == c->ranks && l->at[i].nodes == c->nodes) return &l->at[i];
    return NULL;
}

static const char *exchange_of(const struct search *s, const struct mf_placement *place, int passes)
{
    const int wired = place->wired && !passes;

    if (s->problem->dims[0] == 1 || (place->ranks == 1 && !wired)) return "none";
    if (wired) return "nccl";
    if (place->nodes == 1) return "shared memory";
    return place->per_node > 1 ? "shared memory and messages" : "messages";
}

static int write_down(struct search *s, const struct mf_placement *place, const struct mf_plan_candidate *c)
{
    struct mf_plan *p = s->plan;
    size_t gpus = 1;

    p->device = c->device;
    p->apart = is_apart(s, place);
    p->passes = c->passes;
    p->nodes = c->nodes;
    p->per_node = c->per_node;
    p->ranks = c->ranks;
    p->threads = c->threads;
    p->batch = c->batch;
    p->history = c->history;
    p->asked_history = s->options->history;
    p->fullest = c->rank;
    p->exchange = exchange_of(s, place, c->passes);
    if (c->device) gpus = mf_layout_gpus(mf_plan_node(s->hardware, (size_t)place->node[0]), s->options, NULL);
    p->ranks_per_gpu = c->device ? (c->per_node + gpus - 1) / gpus : 0;
    shape(s, place, c->batch, p->in_flight, p->rounds);
    if (c->planes > 0) note(p, "slices normal to y and x go by strips: planes beside the slabs travel, and sums");
    (void)price(s, place, c, &p->cost);
    for (int m = 0; m <= p->apart; ++m) {
        mf_plan_room(s->hardware, place, c->rank, c->device && m == MF_PLAN_STATE, s->options->memory_limit,
                     &p->memory[m].context, &p->memory[m].reserve, &p->memory[m].room);
        p->bytes[m] = MF_MUST(calloc(c->ranks, sizeof *p->bytes[m]), "a plan");
    }
    for (size_t r = 0; r < c->ranks; ++r) {
        struct mf_plan_setting set = setting_of(s, place, r, c->batch, c->history);
        const struct mf_plan_bytes *bytes;

        MF_TRY(bytes_of(s, &set, &bytes));
        for (int m = 0; m <= p->apart; ++m) {
            p->bytes[m][r] = bytes[m].total;
            if (r == c->rank) p->memory[m].arrays = bytes[m];
        }
    }
    return MF_OK;
}

/* What lacks least, of GPUs alone (@p gpus) or of all; NULL: all were refused for another reason. */
static const struct mf_plan_candidate *least_of(const struct mf_plan *plan, int gpus)
{
    const struct mf_plan_candidate *least = NULL;

    for (size_t i = 0; i < plan->candidates; ++i) {
        const struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->bytes == 0 || c->device < gpus) continue;
        if (!least || (double)c->bytes - (double)c->free < (double)least->bytes - (double)least->free) least = c;
    }
    return least;
}

static int is_limited(const struct search *s, const struct mf_plan_candidate *c)
{
    return s->options->memory_limit > 0 && c->free == s->options->memory_limit;
}

static const char *remedy_for(const struct search *s, const struct mf_plan_candidate *c)
{
    if (c->device && s->options->residency == MF_RESIDE_DEVICE) return "--residency auto";
    if (is_limited(s, c))
        return c->device && s->options->gpu_ids > 0 ? "more of --gpu_ids, a larger --memory-limit, a smaller volume"
                                                    : "a larger --memory-limit, more ranks, a smaller volume";
    if (c->device && s->options->gpu_ids > 0) return "more of --gpu_ids, a smaller volume";
    if (c->device && !c->host && c->free == 0) return "a GPU with more free memory, or --device cpu";
    if (c->free == 0 && c->ranks > 1) return "fewer ranks: their programs alone take what there is";
    if (c->free == 0)
        return "a job or container with more memory, or fewer other programs: ours alone takes what there is";
    return "more ranks or nodes, a smaller volume, --no_multigrid_descriptor";
}

static int nothing_fits(struct search *s)
{
    const struct mf_plan_candidate *c = s->plan->least = least_of(s->plan, 0);

    char batch[40] = "", history[40] = "";

    if (!c) return mf_fail(MF_MEMORY, "nothing fits: %s", s->plan->candidate[0].reason);
    if (c->batch) snprintf(batch, sizeof batch, ", batch %zu", c->batch);
    if (s->problem->remembers) snprintf(history, sizeof history, ", history %zu", c->history);
    return mf_fail(MF_MEMORY,
                   "nothing fits into memory: the least plan (%zu rank%s%s%s%s) needs %zu bytes "
                   "for arrays%s of rank %zu, there are %zu%s; try: %s",
                   c->ranks, MF_S(c->ranks), c->device ? " on GPUs" : "", batch, history, c->bytes,
                   c->host ? " on the node" : "", c->rank, c->free, is_limited(s, c) ? " (--memory-limit)" : "",
                   remedy_for(s, c));
}

/* Every layout with the history asked for; only where none of them fits with a shorter one. */
static int search_device(struct search *s, int device, struct mf_layouts *layouts)
{
    const struct mf_plan_options *o = s->options;

    MF_TRY(mf_layouts_make(s->hardware, s->problem, o, s->world, device, layouts));
    for (size_t i = 0; i < layouts->count; ++i) MF_TRY(try_layout(s, &layouts->at[i], o->history));
    if (choose(s->plan, device) || !s->problem->remembers || o->history_fixed || o->history < 2) return MF_OK;
    for (size_t i = 0; i < layouts->count; ++i) MF_TRY(try_layout(s, &layouts->at[i], 1));
    return MF_OK;
}

/* Fields where the devices are; where no layout holds them there, in host memory. */
static int search_memories(struct search *s, int device, struct mf_layouts *layouts)
{
    const enum mf_residency wish = s->options->residency;
    const int two = device || s->options->apart;

    s->passes = two && wish == MF_RESIDE_HOST;
    MF_TRY(search_device(s, device, layouts));
    if (choose(s->plan, device) || !two || wish != MF_RESIDE_AUTO) return MF_OK;
    mf_layouts_free(layouts);
    s->passes = 1;
    return search_device(s, device, layouts);
}

static int has_gpus(const struct search *s)
{
    for (size_t h = 0; h < s->hardware->hosts; ++h)
        if (mf_layout_gpus(&s->hardware->host[h], s->options, NULL) > 0) return 1;
    return 0;
}

/* Cores, although --device auto would have taken a GPU that is newer. */
static void note_old(const struct search *s)
{
    const struct mf_gpu *gpu = mf_layout_old(s->hardware, s->options);

    if (!gpu) return;
    note(s->plan, "%s has compute capability %lld.%lld, the kernels need %d.%d or newer: the plan is for the cores",
         gpu->name, (long long)gpu->major, (long long)gpu->minor, MF_GPU_OLDEST / 10, MF_GPU_OLDEST % 10);
    s->plan->why_cores = s->plan->notes;
}

/* Why not GPUs, of which none was enough. */
static void note_cores(struct mf_plan *plan)
{
    const struct mf_plan_candidate *c = least_of(plan, 1);
    char needs[32], has[32];

    if (c)
        note(plan, "no GPU holds its share (rank %zu needs %s%s, there are %s): the plan is for the cores", c->rank,
             size_text(c->bytes, needs), c->host ? " on its node" : "", size_text(c->free, has));
    else
        note(plan, "%s: the plan is for the cores",
             plan->candidate[0].device ? plan->candidate[0].reason : "no GPU may be used");
    plan->why_cores = plan->notes;
}

/* GPUs where something fits there; but the cores where they are clearly faster and remember as much. */
static struct mf_plan_candidate *choose_device(const struct search *s, int device)
{
    struct mf_plan *plan = s->plan;
    struct mf_plan_candidate *gpus = choose(plan, 1), *cores = choose(plan, 0);
    const double gpus_take = fastest(plan, 1), cores_take = fastest(plan, 0);

    if (!device || !cores) return device ? gpus : cores;
    if (gpus && (cores->history < gpus->history || cores_take >= gpus_take * (1 - WORTH))) return gpus;
    if (gpus) {
        note(plan,
             "by the model an evaluation takes %.3g ms on the cores and %.3g ms on GPUs: the plan is for the cores",
             1e3 * cores_take, 1e3 * gpus_take);
        plan->why_cores = plan->notes;
        return cores;
    }
    note_cores(plan);
    return cores;
}

static void note_choice(const struct search *s, const struct mf_plan_candidate *chosen, int device)
{
    const struct mf_plan_options *o = s->options;
    const size_t pairs = (s->problem->dims[0] + 1) / 2;

    if (s->problem->remembers && chosen->history < o->history)
        note(s->plan, "history %zu instead of %zu: nothing else fits; the descent takes more evaluations",
             chosen->history, o->history);
    if (chosen->passes && o->residency == MF_RESIDE_AUTO)
        note(s->plan, "no device holds its share: fields stay in host memory, and slices pass through the device");
    if (strcmp(o->device, "auto") == 0 && !device) note_old(s);
    if (chosen->ranks > pairs)
        note(s->plan, "%zu ranks, and %zu pair%s of planes: %zu %s none and only %s", chosen->ranks, pairs, MF_S(pairs),
             chosen->ranks - pairs, chosen->ranks - pairs == 1 ? "rank owns" : "ranks own",
             chosen->ranks - pairs == 1 ? "waits" : "wait");
}

/* Of ranks still to be started: who binds them to cores will not find enough. Those of a node come together. */
static void note_crowd(const struct search *s, const struct mf_placement *place)
{
    for (size_t first = 0, end = 0; first < place->ranks && !s->world; first = end) {
        const size_t cores = (size_t)mf_plan_node(s->hardware, (size_t)place->node[first])->cores;

        while (end < place->ranks && place->node[end] == place->node[first]) ++end;
        if ((end - first) * place->threads <= cores) continue;
        note(s->plan,
             "%zu rank%s of %zu thread%s on %zu core%s take turns, and launch, which binds ranks to cores, does not "
             "start %s there",
             end - first, MF_S(end - first), place->threads, MF_S(place->threads), cores, MF_S(cores),
             end - first == 1 ? "it" : "them");
        return;
    }
}

/* @p layouts: of cores and of GPUs. */
static int search_all(struct search *s, struct mf_layouts layouts[2])
{
    const struct mf_plan_options *o = s->options;
    const int is_auto = strcmp(o->device, "auto") == 0;
    const int device = strcmp(o->device, "cuda") == 0 || (is_auto && (has_gpus(s) || o->gpu_ids > 0));
    struct mf_plan_candidate *chosen;

    if (!device && o->gpu_ids > 0)
        return mf_fail(MF_DEVICE, "--gpu_ids and --device %s contradict each other", o->device);
    MF_TRY(search_memories(s, device, &layouts[device]));
    if (device && is_auto && o->gpu_ids == 0 && o->residency == MF_RESIDE_AUTO) {
        s->passes = 0;
        MF_TRY(search_device(s, 0, &layouts[0]));
    }
    chosen = choose_device(s, device);
    if (!chosen) return nothing_fits(s);
    note_choice(s, chosen, device);
    note_crowd(s, layout_of(&layouts[chosen->device], chosen));
    give_reasons(s->plan, chosen);
    s->passes = chosen->passes;
    return write_down(s, layout_of(&layouts[chosen->device], chosen), chosen);
}

int mf_plan_make(const struct mf_hardware *hardware, const struct mf_plan_problem *problem,
                 const struct mf_plan_options *options, const struct mf_plan_world *world, mf_plan_measure *measure,
                 void *context, struct mf_plan *plan)
{
    struct search s = {hardware, problem, options, world, measure, context, plan, 0, 0, NULL};
    struct mf_layouts layouts[2] = {{.count = 0}, {.count = 0}};
    int rc;

    memset(plan, 0, sizeof *plan);
    plan->problem = *problem;
    mf_plan_machine(hardware, &plan->machine_lines, plan->machine);
    s.known = MF_MUST(calloc(MEMORY, sizeof *s.known), "a plan");
    rc = search_all(&s, layouts);
    for (int device = 0; device < 2; ++device) mf_layouts_free(&layouts[device]);
    for (size_t i = 0; i < s.known_count; ++i) free(s.known[i]);
    free(s.known);
    if (rc == MF_OK) mf_plan_seal(plan);
    return rc;
}

void mf_plan_free(struct mf_plan *plan)
{
    for (int m = 0; m < MF_PLAN_MEMORIES; ++m) {
        free(plan->bytes[m]);
        plan->bytes[m] = NULL;
    }
    free(plan->candidate);
    plan->candidate = NULL;
    plan->candidates = 0;
}
