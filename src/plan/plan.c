/* See plan.h: the search. Layouts are tried from the fewest ranks on. On each, the settings of a level are tried in the
 * workload's order until one fits. The next level is tried only if nothing fits. */
#include "src/plan/plan.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/search.h"

enum { INTERPOLATIONS = 6 }; /* then intervals are halved */

/* Known sizes: ranks of equal shape take equal bytes. */
struct known {
    uint64_t key; /* first, as the tree compares it alone */
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
};

struct search {
    const struct mf_plan_ask *ask;
    const struct mf_plan_workload *workload;
    struct mf_plan *plan;
    void *known; /* tree of struct known (tsearch) */
};

void mf_plan_note(struct mf_plan *plan, const char *format, ...)
{
    va_list list;

    if (plan->notes == MF_PLAN_NOTES) return;
    va_start(list, format);
    vsnprintf(plan->note[plan->notes++], MF_PLAN_REASON, format, list);
    va_end(list);
}

/* ---- bytes ---- */

static uint64_t mix(uint64_t key, uint64_t value) { return mf_fnv(key, &value, sizeof value); }

static uint64_t key_of(const struct search *s, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings)
{
    uint64_t key = s->workload->share(s->ask->context, settings, r->ranks, r->rank);

    key = mix(mix(mix(key, r->ranks), r->local_size), r->threads);
    key = mix(mix(key, r->in_use), (uint64_t)r->apart);
    key = mix(mix(key, (uint64_t)r->capability), (uint64_t)r->nccl);
    for (size_t i = 0; i < settings->count; ++i)
        key = mix(mf_fnv(key, settings->at[i].name, strlen(settings->at[i].name) + 1), settings->at[i].value);
    return mf_fnv(key, r->simd, strlen(r->simd));
}

static int by_key(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Asks the workload, and remembers what it says unless it refuses. */
static int measure(struct search *s, uint64_t key, const struct mf_plan_rank *rank,
                   const struct mf_plan_numbers *settings)
{
    struct known *known = MF_MUST(calloc(1, sizeof *known), "a plan");
    int rc;

    known->key = key;
    rc = s->workload->bytes(s->ask->context, rank, settings, known->bytes);
    if (rc == MF_OK)
        MF_MUST(tsearch(known, &s->known, by_key), "a plan");
    else
        free(known);
    return rc;
}

static int bytes_of(struct search *s, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                    const struct mf_plan_bytes **bytes)
{
    const uint64_t key = key_of(s, rank, settings);

    if (!tfind(&key, &s->known, by_key)) MF_TRY(measure(s, key, rank, settings));
    *bytes = (*(struct known **)tfind(&key, &s->known, by_key))->bytes;
    return MF_OK;
}

static struct mf_plan_rank rank_of(const struct search *s, const struct mf_placement *place, size_t rank)
{
    const struct mf_host *host = mf_plan_node(s->ask->hardware, (size_t)place->node[rank]);
    const struct mf_gpu *gpu = place->device ? &host->gpu[place->gpu[rank]] : NULL;
    const struct mf_plan_world *world = s->ask->world;

    return (struct mf_plan_rank){.ranks = place->ranks,
                                 .rank = rank,
                                 .local_size = mf_plan_sharers(place, rank, 0),
                                 .threads = world ? world->threads[rank] : place->threads,
                                 .simd = host->simd,
                                 .apart = place->apart,
                                 .capability = gpu ? (int)(10 * gpu->major + gpu->minor) : 0,
                                 .nccl = place->nccl,
                                 .in_use = world ? world->in_use[rank] : 0};
}

/* Most bytes of arrays, and the option that says so; 0: none does. */
static size_t limit_of(const struct search *s, const struct mf_placement *place, size_t rank, int on_gpu,
                       const char **option)
{
    const struct mf_plan_options *o = s->ask->options;
    double share;

    *option = "--memory-limit";
    if (!on_gpu || o->gpu_fraction <= 0 || o->gpu_fraction >= 1) return o->memory_limit;
    share = o->gpu_fraction / (double)mf_plan_sharers(place, rank, 1) *
            (double)mf_plan_node(s->ask->hardware, (size_t)place->node[rank])->gpu[place->gpu[rank]].memory_bytes;
    if (o->memory_limit > 0 && (double)o->memory_limit <= share) return o->memory_limit;
    *option = "--gpu-memory-fraction";
    return (size_t)share + 1;
}

/* Keeps in @p c the memory that has the least room left. */
static void weigh(struct mf_plan_candidate *c, size_t rank, size_t bytes, size_t room, int host, const char *limit)
{
    if (c->bytes + c->free > 0 && (double)room - (double)bytes >= (double)c->free - (double)c->bytes) return;
    c->rank = rank;
    c->bytes = bytes;
    c->free = room;
    c->host = host;
    c->limit = limit;
}

/* The memories of one rank: its node's, or a GPU's and its node's, or two parts of its node's. */
static void weigh_all(const struct search *s, const struct mf_placement *place, size_t rank,
                      const struct mf_plan_bytes *bytes, struct mf_plan_candidate *c)
{
    const char *option;
    size_t context, reserve, room, limit;

    if (place->apart && !place->device) {
        mf_plan_room(s->ask->hardware, place, rank, 0, 0, &context, &reserve, &room);
        weigh(c, rank, bytes[MF_PLAN_STATE].total + bytes[MF_PLAN_HOST].total, room, 0, NULL);
    }
    for (int m = 0; m <= place->apart; ++m) {
        const int on_gpu = place->device && m == MF_PLAN_STATE;

        limit = limit_of(s, place, rank, on_gpu, &option);
        mf_plan_room(s->ask->hardware, place, rank, on_gpu, limit, &context, &reserve, &room);
        weigh(c, rank, bytes[m].total, room, m == MF_PLAN_HOST, limit > 0 && room == limit ? option : NULL);
    }
}

/* The rank with the least room left. */
static int fill(struct search *s, const struct mf_placement *place, struct mf_plan_candidate *c)
{
    for (size_t r = 0; r < place->ranks; ++r) {
        const struct mf_plan_rank rank = rank_of(s, place, r);
        const struct mf_plan_bytes *bytes;

        MF_TRY(bytes_of(s, &rank, &c->settings, &bytes));
        memcpy(c->fact, bytes->fact, sizeof c->fact);
        weigh_all(s, place, r, bytes, c);
    }
    c->fits = c->bytes <= c->free;
    return MF_OK;
}

/* An inability of one device does not end the search where cores might do. Nor does one of a way that is not plain. */
static int fill_or_pass(struct search *s, const struct mf_placement *place, struct mf_plan_candidate *c)
{
    int rc;

    c->bytes = c->free = 0;
    rc = fill(s, place, c);
    if (rc == MF_OK) return MF_OK;
    if (rc != MF_MEMORY && c->way == 0 && !(c->device && strcmp(s->ask->options->device, "auto") == 0)) return rc;
    mf_err_take(c->reason, sizeof c->reason);
    c->bytes = c->free = 0;
    c->fits = 0;
    return MF_OK;
}

/* ---- settings ---- */

static int price_rank(struct search *s, const struct mf_placement *place, size_t r,
                      const struct mf_plan_numbers *settings, struct mf_plan_cost *cost)
{
    const struct mf_plan_rank rank = rank_of(s, place, r);
    const struct mf_rates rates = mf_rates_of(s->ask->hardware, place, r);
    const struct mf_plan_bytes *bytes;

    MF_TRY(bytes_of(s, &rank, settings, &bytes));
    *cost = (struct mf_plan_cost){.total = 0};
    s->workload->price(s->ask->context, place, r, &rates, settings, bytes->fact, cost);
    return MF_OK;
}

/* The cost on the slowest rank. */
static int price(struct search *s, const struct mf_placement *place, const struct mf_plan_candidate *c,
                 struct mf_plan_cost *worst)
{
    uint64_t share = 0, last;

    *worst = (struct mf_plan_cost){.total = -1};
    for (size_t r = 0; r < place->ranks; ++r) {
        struct mf_plan_cost cost;

        last = share;
        share = s->workload->share(s->ask->context, &c->settings, place->ranks, r);
        if (r > 0 && share == last && place->node[r] == place->node[r - 1] && place->gpu[r] == place->gpu[r - 1])
            continue;
        MF_TRY(price_rank(s, place, r, &c->settings, &cost));
        if (cost.total > worst->total) *worst = cost;
    }
    return MF_OK;
}

static void add(struct mf_plan *plan, const struct mf_plan_candidate *c)
{
    plan->candidate = MF_MUST(realloc(plan->candidate, (plan->candidates + 1) * sizeof *c), "a plan");
    plan->candidate[plan->candidates++] = *c;
}

static void does_not_fit(struct mf_plan *plan, struct mf_plan_candidate *c)
{
    const char *where = c->host ? " on its node" : "";
    char needs[32], has[32];

    mf_plan_size_text(c->bytes, needs);
    mf_plan_size_text(c->free, has);
    if (c->bytes > 0 && strcmp(needs, has) == 0)
        snprintf(c->reason, sizeof c->reason, "rank %zu needs %s for arrays%s, %zu bytes more than are available",
                 c->rank, needs, where, c->bytes - c->free);
    else if (c->bytes > 0)
        snprintf(c->reason, sizeof c->reason, "rank %zu needs %s for arrays%s, %s are available", c->rank, needs, where,
                 has);
    add(plan, c);
}

/* Looks for the largest setting between @p fits and @p c, which does not fit. That is then in @p c. */
static int narrow(struct search *s, const struct mf_placement *place, struct mf_plan_candidate fits,
                  struct mf_plan_candidate *c)
{
    const struct mf_plan_workload *w = s->workload;
    struct mf_plan_candidate large = *c, middle = *c;

    for (int trial = 0;; ++trial) {
        const double free = (double)fits.free - (double)fits.bytes, step = (double)large.bytes - (double)fits.bytes;
        const double share = trial < INTERPOLATIONS && step > 0 && large.bytes > 0 ? free / step : 0.5;

        if (!w->between(s->ask->context, &fits.settings, &large.settings, share, &middle.settings)) break;
        MF_TRY(fill_or_pass(s, place, &middle));
        if (middle.fits)
            fits = middle;
        else
            large = middle;
    }
    *c = fits;
    return MF_OK;
}

static size_t levels_of(const struct search *s, int apart)
{
    return s->workload->levels ? s->workload->levels(s->ask->context, apart) : 1;
}

/* Tries a layout with one level of settings. It begins with the one that needs least memory, then takes the others
 * until one fits. */
static int try_layout(struct search *s, const struct mf_placement *place, size_t level)
{
    struct mf_plan_candidate c = {.device = place->device,
                                  .apart = place->apart,
                                  .way = level / levels_of(s, place->apart),
                                  .nodes = place->nodes,
                                  .per_node = place->per_node,
                                  .ranks = place->ranks,
                                  .threads = place->threads};
    struct mf_plan_candidate least = c;
    struct mf_plan_cost cost;

    for (size_t trial = 0; s->workload->settings(s->ask->context, place, level, trial, &c.settings); ++trial) {
        MF_TRY(fill_or_pass(s, place, &c));
        if (!c.fits) does_not_fit(s->plan, &c);
        if (!c.fits && trial == 0) return MF_OK;
        if (trial == 0) least = c;
        if (!c.fits && s->workload->between) MF_TRY(narrow(s, place, least, &c));
        if (!c.fits || trial == 0) continue;
        MF_TRY(price(s, place, &c, &cost));
        c.seconds = cost.total;
        c.reason[0] = '\0';
        add(s->plan, &c);
        return MF_OK;
    }
    return MF_OK;
}

/* Level by level, until one fits on a layout. */
static int search_plain(struct search *s, int device, const struct mf_layouts *layouts)
{
    for (size_t level = 0; level < levels_of(s, layouts->at[0].apart); ++level) {
        for (size_t i = 0; i < layouts->count; ++i) MF_TRY(try_layout(s, &layouts->at[i], level));
        if (mf_plan_choose(s->plan, device)) return MF_OK;
    }
    return MF_OK;
}

static int fits_since(const struct mf_plan *plan, size_t before)
{
    return plan->candidates > before && plan->candidate[plan->candidates - 1].fits;
}

/* The candidate that has the plain way on a layout, and fits; NULL: there is none. */
static const struct mf_plan_candidate *plain_on(const struct mf_plan *plan, const struct mf_placement *place)
{
    for (size_t i = 0; i < plan->candidates; ++i) {
        const struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->way == 0 && c->fits && c->device == place->device && c->ranks == place->ranks &&
            c->nodes == place->nodes)
            return c;
    }
    return NULL;
}

static int count_ways(struct search *s, const struct mf_placement *place, size_t *ways)
{
    const struct mf_plan_candidate *plain = plain_on(s->plan, place);
    struct mf_plan_cost cost;

    if (plain) MF_TRY(price(s, place, plain, &cost));
    *ways = s->workload->ways(s->ask->context, place, plain ? &plain->settings : NULL, plain ? &cost : NULL);
    return MF_OK;
}

/* Each further way on a layout, by the first level that fits. */
static int try_ways(struct search *s, const struct mf_placement *place)
{
    const size_t levels = levels_of(s, place->apart);
    size_t ways;

    MF_TRY(count_ways(s, place, &ways));
    for (size_t way = 1; way < ways; ++way)
        for (size_t k = 0, before = s->plan->candidates; k < levels && !fits_since(s->plan, before); ++k)
            MF_TRY(try_layout(s, place, way * levels + k));
    return MF_OK;
}

/* Fewer ranks than the plain way needs would hardly be faster. */
static int search_device(struct search *s, int device, struct mf_layouts *layouts)
{
    const struct mf_plan_candidate *plain;
    size_t least;

    MF_TRY(mf_layouts_make(s->ask, device, layouts));
    MF_TRY(search_plain(s, device, layouts));
    plain = mf_plan_choose(s->plan, device);
    least = plain ? plain->ranks : 0;
    for (size_t i = 0; s->workload->ways && i < layouts->count; ++i)
        if (layouts->at[i].ranks >= least) MF_TRY(try_ways(s, &layouts->at[i]));
    return MF_OK;
}

/* ---- the plan ---- */

static const struct mf_placement *layout_of(const struct mf_layouts *l, const struct mf_plan_candidate *c)
{
    for (size_t i = 0; i < l->count; ++i)
        if (l->at[i].ranks == c->ranks && l->at[i].nodes == c->nodes) return &l->at[i];
    return NULL;
}

static size_t ranks_per_gpu(const struct mf_plan_ask *ask, const struct mf_placement *place)
{
    size_t gpus;

    if (!place->device) return 0;
    gpus = mf_layout_gpus(mf_plan_node(ask->hardware, (size_t)place->node[0]), ask->options, NULL);
    return (place->per_node + gpus - 1) / gpus;
}

static int write_bytes(struct search *s, const struct mf_placement *place, const struct mf_plan_candidate *c)
{
    struct mf_plan *p = s->plan;
    const char *option;

    for (int m = 0; m <= p->apart; ++m) {
        const int on_gpu = c->device && m == MF_PLAN_STATE;
        const size_t limit = limit_of(s, place, c->rank, on_gpu, &option);

        mf_plan_room(s->ask->hardware, place, c->rank, on_gpu, limit, &p->memory[m].context, &p->memory[m].reserve,
                     &p->memory[m].room);
        p->bytes[m] = MF_MUST(calloc(c->ranks, sizeof *p->bytes[m]), "a plan");
    }
    for (size_t r = 0; r < c->ranks; ++r) {
        const struct mf_plan_rank rank = rank_of(s, place, r);
        const struct mf_plan_bytes *bytes;

        MF_TRY(bytes_of(s, &rank, &c->settings, &bytes));
        for (int m = 0; m <= p->apart; ++m) {
            p->bytes[m][r] = bytes[m].total;
            if (r == c->rank) p->memory[m].arrays = bytes[m];
        }
    }
    return MF_OK;
}

static int write_down(struct search *s, const struct mf_placement *place, const struct mf_plan_candidate *c)
{
    struct mf_plan *p = s->plan;

    p->device = c->device;
    p->apart = c->apart;
    p->nodes = c->nodes;
    p->per_node = c->per_node;
    p->ranks = c->ranks;
    p->ranks_per_gpu = ranks_per_gpu(s->ask, place);
    p->threads = c->threads;
    p->settings = c->settings;
    p->fullest = c->rank;
    p->exchange = mf_plan_exchange(place, place->nccl);
    MF_TRY(price(s, place, c, &p->cost));
    p->run = (struct mf_plan_cost){.total = 0};
    if (s->workload->run) {
        const struct mf_rates rates = mf_rates_of(s->ask->hardware, place, c->rank);

        s->workload->run(s->ask->context, place, &rates, &c->settings, c->fact, &p->cost, &p->run);
    }
    s->workload->finish(s->ask->context, place, c->fact, p);
    return write_bytes(s, place, c);
}

static int has_gpus(const struct mf_plan_ask *ask)
{
    for (size_t h = 0; h < ask->hardware->hosts; ++h)
        if (mf_layout_gpus(&ask->hardware->host[h], ask->options, NULL) > 0) return 1;
    return 0;
}

/* @p layouts: of cores and of GPUs. */
static int search_all(struct search *s, struct mf_layouts layouts[2])
{
    const struct mf_plan_options *o = s->ask->options;
    const int is_auto = strcmp(o->device, "auto") == 0;
    const int device = strcmp(o->device, "cuda") == 0 || (is_auto && (has_gpus(s->ask) || o->gpu_ids > 0));
    const struct mf_placement *place;
    struct mf_plan_candidate *chosen;

    if (!device && o->gpu_ids > 0)
        return mf_fail(MF_DEVICE, "--gpu_ids and --device %s contradict each other", o->device);
    MF_TRY(search_device(s, device, &layouts[device]));
    if (device && is_auto && o->gpu_ids == 0 && !o->stays) MF_TRY(search_device(s, 0, &layouts[0]));
    chosen = mf_plan_choose_device(s->ask, device, s->plan);
    if (!chosen) return mf_plan_nothing_fits(s->ask, s->plan);
    place = layout_of(&layouts[chosen->device], chosen);
    mf_plan_reason(s->ask, device, chosen, place, s->plan);
    return write_down(s, place, chosen);
}

int mf_plan_make(const struct mf_plan_ask *ask, struct mf_plan *plan)
{
    struct search s = {.ask = ask, .workload = ask->workload, .plan = plan};
    struct mf_layouts layouts[2] = {{.count = 0}, {.count = 0}};
    int rc;

    memset(plan, 0, sizeof *plan);
    plan->workload = ask->workload;
    ask->workload->describe(ask->context, &plan->problem);
    mf_plan_machine(ask->hardware, &plan->machine);
    rc = search_all(&s, layouts);
    for (int device = 0; device < 2; ++device) mf_layouts_free(&layouts[device]);
    tdestroy(s.known, free);
    if (rc == MF_OK) mf_plan_seal(plan);
    return rc;
}

void mf_plan_free(struct mf_plan *plan)
{
    for (int m = 0; m < MF_PLAN_MEMORIES; ++m) {
        free(plan->bytes[m]);
        plan->bytes[m] = NULL;
    }
    mf_plan_lines_free(&plan->problem);
    mf_plan_lines_free(&plan->machine);
    free(plan->candidate);
    plan->candidate = NULL;
    plan->candidates = 0;
}
