/* See workload.h: seconds of a step and of a prompt. docs/PLANNER.md has the formulas, and what was measured. */
#include <math.h>

#include "src/gen/workload.h"

/* Rates of cores. A thread alone reads so many bytes per second of weights. Keys and values come in short pieces, at a
 * share of that. Products reach a share of the peak. */
static const double THREAD_RATE = 10e9, KEPT_SHARE = 0.4, PRODUCT_SHARE = 0.5;

/* Cores read weights beside the products of few rows. For more rows weights first become f32 in the caches. */
enum { FEW = 4 };

/* GPUs read weights again for each so many rows. */
enum { GPU_ROWS = 4 };

double mf_gen_seen(const struct mf_gen_work *w, size_t context)
{
    const double now = fmin((double)context, (double)w->prompt + 0.5 * (double)w->made);

    return w->model->window ? fmin((double)w->model->window, now) : now;
}

/* A rank does this in a walk of so many rows. */
struct load {
    double rows, bytes, weights, kept, operations, widening; /* bytes: without those of keys and values */
    double exchanged, exchanges, nodes;
    double streamed; /* bytes of weights that come */
    int zero;        /* from other ranks */
};

/* Seconds of one exchange that has no bytes. */
static double latency(const struct mf_placement *place)
{
    if (place->nccl) return MF_SECONDS_GROUP;
    return (place->nodes > 1 ? MF_SECONDS_MESSAGE : MF_SECONDS_MEET) * (log2((double)place->ranks) + 1);
}

/* Sums and messages. Between cores each byte passes twice through memory. */
static double exchange(const struct mf_placement *place, size_t rank, const struct mf_rates *r, const struct load *l)
{
    const double share = ((double)place->ranks - 1) / (double)place->ranks;
    double seconds;

    if (place->ranks == 1) return 0;
    seconds = place->nccl ? l->exchanged * share / r->link
                          : 2 * l->exchanged * share / (place->device ? r->to_host : r->memory);
    if (mf_plan_sharers(place, rank, 0) < place->ranks) seconds += l->exchanged * share / r->network;
    return seconds + l->exchanges * latency(place);
}

static double memory_of(const struct mf_placement *place, const struct mf_rates *r, const struct load *l)
{
    const double rate = fmin(r->memory, THREAD_RATE * (double)place->threads);

    if (place->device) return (l->bytes + l->weights * (ceil(l->rows / GPU_ROWS) - 1) + l->kept) / r->memory;
    return (l->bytes + l->kept / KEPT_SHARE) / rate;
}

/* Products are of f32, whatever type weights have in memory. */
static double arithmetic_of(const struct mf_placement *place, const struct mf_rates *r, const struct load *l)
{
    if (place->device) return l->operations / mf_plan_flops(place, r, 0);
    return (l->operations + l->widening) / (PRODUCT_SHARE * r->products);
}

static void pay(struct mf_plan_cost *cost, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                const struct load *l)
{
    const double memory = memory_of(place, rates, l), arithmetic = arithmetic_of(place, rates, l);
    const int beside = place->device || l->rows <= FEW;

    mf_plan_pay(cost, "memory", memory);
    mf_plan_pay(cost, "arithmetic", beside ? fmax(arithmetic - memory, 0) : arithmetic);
    if (place->ranks > 1) mf_plan_pay(cost, "exchange", exchange(place, rank, rates, l));
    mf_plan_pay(cost, "waiting", place->device ? l->nodes * MF_SECONDS_REPLAY : 0);
    if (l->streamed > 0) /* beside all that */
        mf_plan_pay(cost, "weights", fmax(mf_plan_coming(place, rates, l->streamed, l->zero) - cost->total, 0));
}

/* Stages of a pipeline take turns with shares of the requests. Each reads its weights once for every share. */
void mf_gen_price(const void *work, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_gen_work *w = work;
    const double stages = (double)mf_gen_ways_of(s, "pp"), requests = (double)mf_plan_get(s, "requests");
    const double rows = fmax(requests / stages, 1), positions = rows * mf_gen_seen(w, mf_plan_get(s, "context"));
    const struct load l = {.rows = rows,
                           .bytes = fact[MF_GEN_STEP_BYTES],
                           .weights = fact[MF_GEN_STEP_WEIGHTS],
                           .widening = fact[MF_GEN_STEP_WIDENING],
                           .kept = positions * fact[MF_GEN_KEPT_BYTES],
                           .operations = fact[MF_GEN_STEP_OPERATIONS] + 4 * positions * fact[MF_GEN_QUERIES],
                           .exchanged = fact[MF_GEN_STEP_EXCHANGED],
                           .exchanges = fact[MF_GEN_EXCHANGES],
                           .nodes = fact[MF_GEN_NODES],
                           .streamed = fact[MF_GEN_STREAMED],
                           .zero = w->zero};

    pay(cost, place, rank, rates, &l);
    mf_plan_scale(cost, stages);
    cost->tried = cost->total;
}

/* All requests at a time: their prompts, one behind the other, and their new tokens. */
void mf_gen_run_cost(const void *work, const struct mf_placement *place, const struct mf_rates *rates,
                     const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], const struct mf_plan_cost *step,
                     struct mf_plan_cost *run)
{
    const struct mf_gen_work *w = work;
    const double rows = (double)w->prompt, chunk = fmin(MF_GEN_CHUNK, (double)mf_plan_get(s, "context"));
    const double chunks = ceil(rows / chunk), mean = fmin(0.5 * rows, mf_gen_seen(w, mf_plan_get(s, "context")));
    const struct load l = {.rows = fmin(rows, chunk),
                           .bytes = chunks * fact[MF_GEN_CHUNK_BYTES],
                           .weights = chunks * fact[MF_GEN_CHUNK_WEIGHTS],
                           .widening = chunks * fact[MF_GEN_CHUNK_WIDENING],
                           .kept = chunks * mean * fact[MF_GEN_KEPT_BYTES],
                           .operations =
                               rows / chunk * fact[MF_GEN_CHUNK_OPERATIONS] + 4 * rows * mean * fact[MF_GEN_QUERIES],
                           .exchanged = chunks * fact[MF_GEN_CHUNK_EXCHANGED],
                           .exchanges = chunks * fact[MF_GEN_EXCHANGES],
                           .nodes = chunks * fact[MF_GEN_NODES],
                           .streamed = chunks * fact[MF_GEN_STREAMED],
                           .zero = w->zero};
    struct mf_plan_cost prompt = {.total = 0};

    pay(&prompt, place, 0, rates, &l);
    mf_plan_pay(run, "prompts", prompt.total * (double)mf_plan_get(s, "requests"));
    mf_plan_pay(run, "tokens", step->total * (double)w->made);
}
