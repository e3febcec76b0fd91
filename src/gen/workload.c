/* See workload.h. docs/PLANNER.md has the formulas. */
#include "src/gen/workload.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/dry.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"

/* Facts: bytes and operations of a step of all requests, and of the largest chunk of a prompt. Attention is not
 * among them. The last fact is the number of nodes. */
enum { STEP_BYTES, STEP_OPERATIONS, CHUNK_BYTES, CHUNK_OPERATIONS, NODES };

static const struct mf_gen_work *work_of(const void *context) { return context; }

static size_t context_most(const struct mf_gen_work *w, size_t requests)
{
    return mf_min(w->most ? w->most : w->model->context, MF_GEN_POSITIONS / requests);
}

int mf_gen_tokens(size_t context, int given, size_t *prompt, size_t *made)
{
    if (*prompt + *made <= context) return MF_OK;
    if (given || context < 2)
        return mf_fail(MF_USAGE, "a prompt of %zu tokens and %zu new ones do not fit a context of %zu", *prompt, *made,
                       context);
    *made = mf_max(context / 4, 1);
    *prompt = context - *made;
    return MF_OK;
}

/* ---- lists ---- */

/* Lists for a machine that need not be there. */
struct dry {
    struct mf_backend_dry backend;
    struct mf_arena *arena;
    struct mf_queue *queue;
    struct mf_gen_lists lists;
};

static int make(struct dry *d, const struct mf_gen_work *w, const struct mf_plan_rank *r,
                const struct mf_plan_numbers *settings)
{
    const struct mf_gen_size size = {mf_plan_get(settings, "requests"), mf_plan_get(settings, "context"), w->logits,
                                     mf_plan_get(settings, "pages")};

    MF_TRY(mf_arena_open(&d->arena, &mf_mem_dry, 0));
    MF_TRY(mf_queue_dry(&d->queue, &d->backend, (int)r->threads, w->deterministic, d->arena, d->arena));
    return mf_gen_lists_make(w->model, &size, NULL, d->queue, &d->lists);
}

static int open_dry(struct dry *d, const struct mf_gen_work *w, const struct mf_plan_rank *r,
                    const struct mf_plan_numbers *settings)
{
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    int rc;

    *d = (struct dry){.queue = NULL};
    mf_backend_dry(&kind, &d->backend);
    mf_fault_hold(1);
    rc = make(d, w, r, settings);
    mf_fault_hold(0);
    return rc;
}

static void close_dry(struct dry *d)
{
    if (d->queue) {
        mf_gen_lists_free(&d->lists, d->queue);
        d->backend.backend.queue_close(d->queue);
    }
    mf_arena_close(d->arena);
}

int mf_gen_print_lists(const struct mf_gen_work *w, const struct mf_plan_rank *rank,
                       const struct mf_plan_numbers *settings, FILE *to)
{
    struct dry d;
    const int rc = open_dry(&d, w, rank, settings);

    for (size_t k = 0; rc == MF_OK && k < d.lists.net->lists; ++k) mf_list_print(d.lists.net->list[k], to, 1);
    close_dry(&d);
    return rc;
}

/* ---- bytes ---- */

static void add(struct mf_plan_bytes *b, const char *name, size_t bytes)
{
    if (bytes == 0) return;
    snprintf(b->tag[b->tags].name, sizeof b->tag[0].name, "%s", name);
    b->tag[b->tags++].bytes = bytes;
    b->total += bytes;
}

/* It lasts and is no weight. */
static int is_cache(const struct mf_value *value)
{
    return value->base < 0 && value->lasting && value->role == MF_ROLE_ACTIVATION;
}

static size_t cache_bytes(const struct mf_net *net)
{
    size_t sum = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (is_cache(&net->value[v])) sum += mf_shape_bytes(&net->value[v].shape);
    return sum;
}

/* Share of a value that a node touches. Experts count that some token has chosen, as if it chose at random. */
static double touched(const struct mf_language *m, const struct mf_net *net, const struct mf_node *node, int value)
{
    const double each = m->experts ? (double)m->chosen / (double)m->experts : 1;

    if (node->op != MF_OP_GROUPED_LINEAR || value != node->in[1]) return 1;
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

static double operations(const struct mf_list *list)
{
    double sum = 0;

    for (size_t i = 0; i < list->nodes; ++i)
        if (list->node[i].op != MF_OP_ATTENTION_KEPT) sum += mf_node_operations(list->net, &list->node[i]);
    return sum;
}

static void find_facts(const struct mf_language *m, const struct mf_gen_lists *l, double fact[MF_PLAN_FACTS])
{
    const struct mf_list *step = l->step[l->steps - 1].list, *chunk = l->prompt[MF_GEN_PROMPTS - 1].list;

    fact[STEP_BYTES] = traffic(m, step, 0);
    fact[STEP_OPERATIONS] = operations(step);
    fact[CHUNK_BYTES] = traffic(m, chunk, 0);
    fact[CHUNK_OPERATIONS] = operations(chunk);
    fact[NODES] = (double)step->nodes;
}

static int bytes_of(const void *context, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_gen_work *w = work_of(context);
    struct mf_plan_bytes *state = &bytes[MF_PLAN_STATE], *host = r->apart ? &bytes[MF_PLAN_HOST] : state;
    struct dry d;
    int rc;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    rc = open_dry(&d, w, r, settings);
    if (rc == MF_OK) {
        const struct mf_net *net = d.lists.net;
        const size_t caches = cache_bytes(net);

        add(state, "weights", net->lasting[MF_PLACE_DEVICE] - caches);
        add(state, "keys and values", caches);
        add(state, "activations, inputs, work memory", net->room[MF_PLACE_DEVICE]);
        add(host, "logits", mf_gen_lists_host(w->model, &d.lists));
        add(host, "beside the engine", w->beside);
        add(host, "in use before", r->in_use);
        find_facts(w->model, &d.lists, state->fact);
    }
    close_dry(&d);
    return rc;
}

/* ---- the problem ---- */

static const char *smaller(const void *context)
{
    const struct mf_gen_work *w = work_of(context);
    const int many = w->requests > 1 && !w->waits;

    if (w->context) return many ? "a smaller --context, or fewer --requests" : "a smaller --context";
    return many ? "fewer --requests" : "a smaller model";
}

/* Pages of all requests, if each has @p positions at most. */
static size_t pages_wanted(const struct mf_gen_work *w, size_t positions)
{
    if (w->context && w->pages) return w->pages;
    return (w->context || !w->waits ? w->requests : 1) * mf_pages_of(positions);
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct mf_gen_work *w = work_of(context);

    mf_plan_say(p, "verb", "infer");
    mf_plan_say(p, "model", "%s, %s, %" PRIu64 " parameters", w->name, mf_language_name(w->model->family),
                mf_language_parameters(w->model));
    mf_plan_say(p, "requests", "%zu", w->requests);
    if (w->context)
        mf_plan_say(p, "context", "%zu, %zu pages", w->context, pages_wanted(w, w->context));
    else
        mf_plan_say(p, "context", "at most %zu", context_most(w, 1));
    mf_plan_say(p, "tokens", "%zu of a prompt, %zu new", w->prompt, w->made);
    if (w->logits) mf_plan_say(p, "logits", "of all positions");
}

static size_t most_ranks(const void *context)
{
    (void)context;
    return 1;
}

static size_t threads(const void *context, size_t ranks, size_t most)
{
    (void)context, (void)ranks;
    return most;
}

static size_t levels(const void *context, int apart)
{
    (void)context, (void)apart;
    return 1;
}

/* Trial 0 has the shortest context, or pages for one request. Trial 1 has what is wanted. */
static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const struct mf_gen_work *w = work_of(context);
    const size_t most = context_most(w, w->requests), least = trial ? most : mf_min(MF_KEPT_PAGE, most);
    const size_t positions = w->context ? w->context : least;

    (void)place, (void)level;
    if (trial > 1) return 0;
    mf_plan_set(s, "requests", w->requests);
    mf_plan_set(s, "context", positions);
    mf_plan_set(s, "pages", w->context && w->waits && trial == 0 ? mf_pages_of(positions) : pages_wanted(w, positions));
    return 1;
}

/* A number between both; 0: there is none. */
static size_t middle(size_t low, size_t high, double share)
{
    const double more = fmin(fmax(share, 0), 1) * (double)(high - low);

    return high < low + 2 ? 0 : low + mf_min(mf_max((size_t)more, 1), high - low - 1);
}

/* A context of whole pages, or pages of a context. */
static int between(const void *context, const struct mf_plan_numbers *fits, const struct mf_plan_numbers *too_large,
                   double share, struct mf_plan_numbers *s)
{
    const struct mf_gen_work *w = work_of(context);
    const char *const name = w->context ? "pages" : "context";
    const size_t unit = w->context ? 1 : MF_KEPT_PAGE;
    const size_t n =
        middle((mf_plan_get(fits, name) + unit - 1) / unit, (mf_plan_get(too_large, name) + unit - 1) / unit, share);

    if (n == 0) return 0;
    *s = *fits;
    mf_plan_set(s, name, n * unit);
    if (!w->context) mf_plan_set(s, "pages", pages_wanted(w, n * unit));
    return 1;
}

static uint64_t share(const void *context, const struct mf_plan_numbers *settings, size_t ranks, size_t rank)
{
    (void)context, (void)settings, (void)ranks, (void)rank;
    return 0;
}

/* ---- price ---- */

/* Positions that a token at @p position sees. */
static double seen(const struct mf_language *m, double position)
{
    return m->window ? fmin((double)m->window, position) : position;
}

/* Attention of @p rows tokens that see @p positions each. Keys and values are read once. */
static double attention_operations(const struct mf_language *m, double rows, double positions)
{
    return 4 * rows * positions * (double)(m->layers * m->heads * m->head_width);
}

static double attention_bytes(const struct mf_language *m, double positions)
{
    return 2 * positions * (double)(m->layers * m->key_heads * m->head_width * sizeof(float));
}

/* Arithmetic goes on beside memory: what is longer than that is paid. */
static void pay(struct mf_plan_cost *cost, const struct mf_placement *place, const struct mf_rates *rates, double bytes,
                double operations_of, double nodes)
{
    const double memory = bytes / rates->memory, arithmetic = operations_of / mf_plan_flops(place, rates, 0);

    mf_plan_pay(cost, "memory", memory);
    mf_plan_pay(cost, "arithmetic", fmax(arithmetic - memory, 0));
    mf_plan_pay(cost, "waiting", place->device ? nodes * MF_SECONDS_REPLAY : 0);
}

/* Positions that a request sees in the middle of its new tokens. */
static double positions_now(const struct mf_gen_work *w, size_t context)
{
    return seen(w->model, fmin((double)context, (double)w->prompt + 0.5 * (double)w->made));
}

int mf_gen_step_bytes(const struct mf_gen_work *w, size_t threads_of, double *bytes)
{
    const struct mf_plan_rank rank = {.ranks = 1, .local_size = 1, .threads = threads_of, .simd = ""};
    struct mf_plan_numbers settings = {.count = 0};
    struct dry d;
    int rc;

    mf_plan_set(&settings, "requests", w->requests);
    mf_plan_set(&settings, "context", w->context);
    mf_plan_set(&settings, "pages", pages_wanted(w, w->context));
    rc = open_dry(&d, w, &rank, &settings);
    if (rc == MF_OK)
        *bytes = traffic(w->model, d.lists.step[d.lists.steps - 1].list, 1) +
                 (double)w->requests * attention_bytes(w->model, positions_now(w, w->context));
    close_dry(&d);
    return rc;
}

static void price(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct mf_gen_work *w = work_of(context);
    const double requests = (double)mf_plan_get(s, "requests"), now = positions_now(w, mf_plan_get(s, "context"));

    (void)rank;
    pay(cost, place, rates, fact[STEP_BYTES] + requests * attention_bytes(w->model, now),
        fact[STEP_OPERATIONS] + attention_operations(w->model, requests, now), fact[NODES]);
    cost->tried = cost->total;
}

/* All requests at a time: their prompts, one behind the other, and their new tokens. */
static void run_cost(const void *context, const struct mf_placement *place, const struct mf_rates *rates,
                     const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], const struct mf_plan_cost *step,
                     struct mf_plan_cost *run)
{
    const struct mf_gen_work *w = work_of(context);
    const double rows = (double)w->prompt, chunk = fmin(MF_GEN_CHUNK, (double)mf_plan_get(s, "context"));
    const double chunks = ceil(rows / chunk), mean = seen(w->model, 0.5 * rows);
    struct mf_plan_cost prompt = {.total = 0};

    pay(&prompt, place, rates, chunks * (fact[CHUNK_BYTES] + attention_bytes(w->model, mean)),
        rows / chunk * fact[CHUNK_OPERATIONS] + attention_operations(w->model, rows, mean), chunks * fact[NODES]);
    mf_plan_pay(run, "prompts", prompt.total * (double)mf_plan_get(s, "requests"));
    mf_plan_pay(run, "tokens", step->total * (double)w->made);
}

static int is_worse(const struct mf_plan_numbers *a, const struct mf_plan_numbers *b)
{
    return mf_plan_get(a, "context") < mf_plan_get(b, "context") || mf_plan_get(a, "pages") < mf_plan_get(b, "pages");
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    const struct mf_gen_work *w = work_of(context);
    const size_t requests = mf_plan_get(&p->settings, "requests"), positions = mf_plan_get(&p->settings, "context"),
                 pages = mf_plan_get(&p->settings, "pages");

    (void)place, (void)fact;
    mf_plan_set(&p->derived, "full_contexts", pages / mf_pages_of(positions));
    if (pages < pages_wanted(w, positions))
        mf_plan_note(p, "%zu pages instead of %zu, which do not fit: long requests wait for each other", pages,
                     pages_wanted(w, positions));
    if (!w->context && positions < context_most(w, requests))
        mf_plan_note(p, "a context of %zu is the longest that fits for %zu request%s; the model has %zu", positions,
                     requests, MF_S(requests), w->model->context);
}

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const size_t requests = mf_plan_get(&p->settings, "requests");

    mf_plan_say(lines, "requests", "%zu at a time, each with a context of at most %zu; %zu pages of %d positions",
                requests, mf_plan_get(&p->settings, "context"), mf_plan_get(&p->settings, "pages"), MF_KEPT_PAGE);
    mf_plan_say(lines, "speed", "%.3g tokens/s together, %.3g of each request", (double)requests / p->cost.total,
                1 / p->cost.total);
}

const struct mf_plan_workload mf_gen_workload = {.step = "step",
                                                 .smaller = smaller,
                                                 .describe = describe,
                                                 .most_ranks = most_ranks,
                                                 .threads = threads,
                                                 .levels = levels,
                                                 .settings = settings,
                                                 .between = between,
                                                 .share = share,
                                                 .bytes = bytes_of,
                                                 .price = price,
                                                 .run = run_cost,
                                                 .worse = is_worse,
                                                 .finish = finish,
                                                 .show = show};
