/* See infer_work.h. */
#include "src/cmd/learn/infer_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "mpi/nccl_transport.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/place/parts.h"
#include "src/place/pipeline.h"

enum { OPERATIONS, TRAFFIC, NODES, BROUGHT }; /* facts: of a walk */
enum { CREWS = 4096 };                        /* a set may have samples for so many */

static const struct mf_infer_work *work_of(const void *context) { return context; }

/* ---- bytes ---- */

/* Memory and ranks that are not there. */
struct dry {
    struct mf_comm comm;
    struct mf_crew crew;
    struct mf_backend_dry backend;
    struct mf_arena *arena, *host;
    struct mf_queue *own, *queue;
};

/* A rank that is alone may ask the device itself. */
static int asks_device(const struct mf_infer_work *w, const struct mf_plan_rank *r)
{
    return w->queue && r->capability && w->crew.stages == 1 && !w->crew.zero;
}

static int open_dry(struct dry *d, const struct mf_infer_work *w, const struct mf_plan_rank *r)
{
    d->queue = w->queue;
    if (asks_device(w, r)) return mf_crew_open(&d->comm, &w->crew, &d->crew);
    MF_TRY(mf_arena_open(&d->arena, &mf_mem_dry, 0));
    d->host = d->arena;
    if (r->apart) MF_TRY(mf_arena_open(&d->host, &mf_mem_dry, 0));
    MF_TRY(mf_queue_dry(&d->own, &d->backend, (int)r->threads, w->deterministic, d->arena, d->host));
    d->queue = d->own;
    return mf_crew_open(&d->comm, &w->crew, &d->crew);
}

static void close_dry(struct dry *d)
{
    mf_crew_close(&d->crew);
    if (d->own) d->backend.backend.queue_close(d->own);
    if (d->host != d->arena) mf_arena_close(d->host);
    mf_arena_close(d->arena);
}

static int bytes_of(const void *context, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_infer_work *w = work_of(context);
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    struct mf_plan_bytes *state = &bytes[MF_PLAN_STATE], *host = r->apart ? &bytes[MF_PLAN_HOST] : state;
    struct mf_model_needs needs = {0};
    struct dry d = {.arena = NULL};
    int rc;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    mf_comm_dry(&d.comm, (int)r->rank, (int)r->ranks, (int)r->local_size);
    if (r->nccl) mf_transport_dry(&d.comm);
    mf_backend_dry(&kind, &d.backend);
    mf_fault_hold(1);
    rc = open_dry(&d, w, r);
    d.crew.streamed = mf_plan_get(settings, "streamed");
    if (rc == MF_OK) rc = mf_crew_foresee(&d.crew, w->card, w->batch, d.queue, &needs);
    close_dry(&d);
    mf_fault_hold(0);
    mf_plan_bytes_add(state, "weights", needs.weights);
    mf_plan_bytes_add(state, "activations of the network", needs.device - needs.weights - needs.exchange);
    mf_plan_bytes_add(state, "exchange", needs.exchange);
    mf_plan_bytes_add(host, "weights in host memory", needs.away);
    mf_plan_bytes_add(host, "samples of a walk", needs.host - needs.away);
    mf_plan_bytes_add(host, "readers", w->beside);
    mf_plan_bytes_add(host, "in use before", r->in_use);
    state->fact[OPERATIONS] = needs.operations;
    state->fact[TRAFFIC] = needs.traffic;
    state->fact[NODES] = needs.nodes;
    state->fact[BROUGHT] = needs.brought;
    return rc;
}

static void number(void *context, const struct mf_list *list)
{
    size_t *part = MF_MUST(malloc((list->nodes + 1) * sizeof *part), "parts");

    *(size_t *)context = mf_parts_number(list, part, NULL);
    free(part);
}

int mf_infer_work_open(const struct mf_model_card *card, const char *path, struct mf_infer_work *w)
{
    const struct mf_plan_rank alone = {.ranks = 1, .local_size = 1, .threads = 1, .simd = ""};
    const struct mf_dry_kind kind = {alone.simd, 0, 0};
    const struct mf_model_wish wish = {.batch = w->batch};
    const struct mf_infer_work plain = {.crew.stages = 1};
    struct dry d = {.arena = NULL};
    size_t named;
    int rc;

    w->card = card;
    w->name = mf_name_base(path);
    MF_TRY(mf_place_map_stages(w->crew.map, 0, &named));
    if (w->crew.stages == 0) w->crew.stages = named;
    if (card->outputs.count == 0 && !card->denoise) return mf_model_card_refuse(card, "classes");
    mf_comm_dry(&d.comm, 0, 1, 1);
    mf_backend_dry(&kind, &d.backend);
    mf_fault_hold(1);
    rc = open_dry(&d, &plain, &alone);
    if (rc == MF_OK) rc = mf_model_draft(card, &wish, d.queue, number, &w->parts);
    close_dry(&d);
    mf_fault_hold(0);
    return rc;
}

/* ---- the problem ---- */

static const char *smaller(const void *context)
{
    return work_of(context)->batch > 1 ? "a smaller --batch-size" : "a smaller network";
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct mf_infer_work *w = work_of(context);
    const size_t *d = w->card->dims;
    char *word = mf_arch_word(w->card->arch, &w->card->args);

    mf_plan_say(p, "verb", "infer");
    mf_plan_say(p, "model", "%s, %s", w->name, word);
    mf_plan_say(p, "sample", "%zu x %zu x %zu, %zu channel%s", d[0], d[1], d[2], d[3], MF_S(d[3]));
    mf_plan_say(p, "batch", "%zu", w->batch);
    if (w->crew.stages > 1) mf_plan_say(p, "pp", "%zu", w->crew.stages);
    if (w->crew.map) mf_plan_say(p, "map", "%s", w->crew.map);
    if (w->crew.zero) mf_plan_say(p, "zero", "%d", w->crew.zero);
    if (w->host) mf_plan_say(p, "offload-weights", "host");
    free(word);
}

static size_t most_ranks(const void *context) { return CREWS * work_of(context)->crew.stages; }

/* Trial 0 has all weights in host memory, trial 1 none. */
static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const struct mf_infer_work *w = work_of(context);

    (void)level;
    if (trial > 1 || place->ranks % w->crew.stages) return 0;
    mf_plan_set(s, "batch", w->batch);
    if (w->crew.stages > 1) mf_plan_set(s, "pp", w->crew.stages);
    if (w->crew.zero) mf_plan_set(s, "zero", 3);
    if (w->host && place->apart) mf_plan_set(s, "streamed", trial == 0 ? w->parts : 0);
    return 1;
}

/* More parts on the device. */
static int between(const void *context, const struct mf_plan_numbers *fits, const struct mf_plan_numbers *too_large,
                   double share, struct mf_plan_numbers *s)
{
    const size_t most = mf_plan_get(fits, "streamed"), least = mf_plan_get(too_large, "streamed");
    size_t n;

    (void)context;
    if (most < least + 2) return 0;
    n = (size_t)(fmin(fmax(share, 0), 1) * (double)(most - least));
    *s = *fits;
    mf_plan_set(s, "streamed", most - mf_min(mf_max(n, 1), most - least - 1));
    return 1;
}

static uint64_t share(const void *context, const struct mf_plan_numbers *s, size_t ranks, size_t rank)
{
    (void)s, (void)ranks;
    return rank % work_of(context)->crew.stages;
}

/* ---- price ---- */

/* Stages take turns with a batch. */
static void price(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_infer_work *w = work_of(context);
    const double stages = (double)w->crew.stages;

    (void)rank, (void)s;
    mf_plan_pay_lists(cost, place, rates, 0, fact[OPERATIONS], fact[TRAFFIC]);
    mf_plan_pay(cost, "waiting", place->device ? fact[NODES] * MF_SECONDS_LAUNCH : 0);
    if (fact[BROUGHT] > 0)
        mf_plan_pay(cost, "weights", fmax(mf_plan_coming(place, rates, fact[BROUGHT], w->crew.zero) - cost->total, 0));
    mf_plan_scale(cost, stages * stages / ((double)w->batch * (double)place->ranks));
    cost->tried = cost->total;
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    const struct mf_infer_work *w = work_of(context);
    const size_t streamed = mf_plan_get(&p->settings, "streamed");

    (void)fact;
    if (w->host && !place->apart)
        mf_plan_note(p, "there is no other memory than the host's: a run refuses --offload-weights host");
    if (w->crew.zero && place->ranks == 1) mf_plan_note(p, "one rank has whole weights: --zero 3 has no effect");
    if (streamed)
        mf_plan_note(p, "weights of %zu of %zu parts are in host memory, and are copied for each walk", streamed,
                     w->parts);
}

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const size_t *stages = mf_plan_find(&p->settings, "pp");

    mf_plan_say(lines, "walk", "%zu samples", mf_plan_get(&p->settings, "batch"));
    if (mf_plan_get(&p->settings, "zero"))
        mf_plan_say(lines, "ways", "--zero 3: each rank has a part of every weight, and ranks share samples");
    else if (stages)
        mf_plan_say(lines, "ways", "--pp %zu (stages); crews of stages share samples", *stages);
}

const struct mf_plan_workload mf_infer_workload = {.step = "sample",
                                                   .smaller = smaller,
                                                   .describe = describe,
                                                   .most_ranks = most_ranks,
                                                   .settings = settings,
                                                   .between = between,
                                                   .share = share,
                                                   .bytes = bytes_of,
                                                   .price = price,
                                                   .finish = finish,
                                                   .show = show};

/* ---- the plan of a run ---- */

static int apply(void *context, const struct mf_plan_numbers *settings)
{
    ((struct mf_crew *)context)->streamed = mf_plan_get(settings, "streamed");
    return MF_OK;
}

static void tell(const void *context, const struct mf_plan_numbers *derived, FILE *to)
{
    const struct mf_crew *crew = context;

    (void)derived;
    if (crew->wish.zero) fprintf(to, ", weights cut among %d ranks", crew->sharers->size);
    if (crew->streamed) fprintf(to, ", weights of %zu parts in host memory", crew->streamed);
}

int mf_infer_work_plan(struct mf_session *s, struct mf_infer_work *work, struct mf_crew *crew, struct mf_run_plan *plan)
{
    const struct mf_planned p = {.session = s,
                                 .workload = &mf_infer_workload,
                                 .work = work,
                                 .queue = &s->home,
                                 .plan = "auto",
                                 .context = crew,
                                 .apply = apply,
                                 .tell = tell};

    return mf_planned_make(&p, plan);
}
