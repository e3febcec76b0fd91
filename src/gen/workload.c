/* See workload.h. docs/PLANNER.md has the formulas. */
#include "src/gen/workload.h"

#include <inttypes.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"

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
    if (w->tensor) mf_plan_say(p, "tp", "%zu", w->tensor);
    if (w->stages) mf_plan_say(p, "pp", "%zu", w->stages);
    if (w->map) mf_plan_say(p, "map", "%s", w->map);
    if (w->zero) mf_plan_say(p, "zero", "%d", w->zero);
    if (w->host) mf_plan_say(p, "offload-weights", "host");
}

/* Largest number of ranks that share a layer, and divides @p ranks. Not more than @p most. */
static size_t tensor_of(const struct mf_language *m, size_t ranks, size_t most)
{
    size_t n = mf_min(ranks, most);

    while (ranks % n || mf_decoder_can_split(m, n) != MF_OK) --n;
    mf_err_clear();
    return n;
}

/* By a map embeddings and head may be stages. */
static size_t most_stages(const struct mf_gen_work *w) { return w->model->layers + (w->map ? 2 : 0); }

int mf_gen_choose_ways(const struct mf_gen_work *w, size_t ranks, size_t per_node, size_t *tensor, size_t *stages)
{
    *tensor = *stages = 1;
    if (w->zero) return 1;
    *tensor = w->tensor ? w->tensor : w->stages ? mf_max(ranks / w->stages, 1) : tensor_of(w->model, ranks, per_node);
    *stages = w->stages ? w->stages : mf_max(ranks / *tensor, 1);
    return *tensor * *stages == ranks && *stages <= most_stages(w);
}

static size_t most_ranks(const void *context)
{
    const struct mf_gen_work *w = work_of(context);
    const size_t tensor = w->tensor ? w->tensor : w->model->heads;

    return tensor * (w->stages ? w->stages : w->model->layers);
}

/* Host memory is another one beside a GPU alone. Then level 0 has what is wanted, with as few weights in host memory as
 * must. */
static size_t levels(const void *context, int apart) { return work_of(context)->host && apart ? 2 : 1; }

static size_t parts_of(const struct mf_gen_work *w) { return w->model->layers + 2; /* embeddings, head */ }

/* Trial 0 has the shortest context, or pages for one request; or all weights are in host memory. Trial 1 has what is
 * wanted. */
static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const struct mf_gen_work *w = work_of(context);
    const int streams = w->host && place->apart, is_least = trial == 0 && (!streams || level > 0);
    const size_t most = context_most(w, w->requests), least = is_least ? mf_min(MF_KEPT_PAGE, most) : most;
    const size_t positions = w->context ? w->context : least;
    size_t tensor, stages;

    if (trial > 1 || !mf_gen_choose_ways(w, place->ranks, place->per_node, &tensor, &stages)) return 0;
    mf_plan_set(s, "requests", w->requests);
    mf_plan_set(s, "context", positions);
    mf_plan_set(s, "pages", w->context && w->waits && is_least ? mf_pages_of(positions) : pages_wanted(w, positions));
    if (place->ranks > 1 && !w->zero) mf_plan_set(s, "tp", tensor);
    if (place->ranks > 1 && !w->zero) mf_plan_set(s, "pp", stages);
    if (w->zero) mf_plan_set(s, "zero", 3);
    if (streams) mf_plan_set(s, "streamed", level > 0 || trial == 0 ? parts_of(w) : 0);
    return 1;
}

/* A number between both; 0: there is none. */
static size_t middle(size_t low, size_t high, double share)
{
    const double more = fmin(fmax(share, 0), 1) * (double)(high - low);

    return high < low + 2 ? 0 : low + mf_min(mf_max((size_t)more, 1), high - low - 1);
}

/* More parts on the device. */
static int fewer_streamed(const struct mf_plan_numbers *fits, size_t too_few, double share, struct mf_plan_numbers *s)
{
    const size_t most = mf_plan_get(fits, "streamed"), n = middle(0, most - too_few, share);

    *s = *fits;
    mf_plan_set(s, "streamed", most - n);
    return n > 0;
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

    if (mf_plan_get(fits, "streamed") > mf_plan_get(too_large, "streamed"))
        return fewer_streamed(fits, mf_plan_get(too_large, "streamed"), share, s);
    if (n == 0) return 0;
    *s = *fits;
    mf_plan_set(s, name, n * unit);
    if (!w->context) mf_plan_set(s, "pages", pages_wanted(w, n * unit));
    return 1;
}

static uint64_t share(const void *context, const struct mf_plan_numbers *settings, size_t ranks, size_t rank)
{
    const size_t tensor = mf_gen_ways_of(settings, "tp"), part = rank % tensor;

    (void)ranks;
    if (work_of(context)->zero) return 0;
    return rank / tensor * tensor + (work_of(context)->model->vocabulary % tensor ? part : 0);
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

    (void)fact;
    if (w->host && !place->apart)
        mf_plan_note(p, "there is no other memory than the host's: a run refuses --offload-weights host");
    if (w->zero && place->ranks == 1) mf_plan_note(p, "one rank has whole weights: --zero 3 has no effect");
    if (mf_plan_get(&p->settings, "streamed"))
        mf_plan_note(p, "weights of %zu of %zu parts are in host memory, and are copied for each walk",
                     mf_plan_get(&p->settings, "streamed"), parts_of(w));
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
    if (mf_plan_get(&p->settings, "zero"))
        mf_plan_say(lines, "ways", "--zero 3: each rank has a part of every weight, and all compute alike");
    else if (p->ranks > 1)
        mf_plan_say(lines, "ways", "--tp %zu (ranks of a layer), --pp %zu (stages)", mf_gen_ways_of(&p->settings, "tp"),
                    mf_gen_ways_of(&p->settings, "pp"));
    mf_plan_say(lines, "speed", "%.3g tokens/s together, %.3g of each request", (double)requests / p->cost.total,
                1 / p->cost.total);
}

const struct mf_plan_workload mf_gen_workload = {.step = "step",
                                                 .smaller = smaller,
                                                 .describe = describe,
                                                 .most_ranks = most_ranks,
                                                 .levels = levels,
                                                 .settings = settings,
                                                 .between = between,
                                                 .share = share,
                                                 .bytes = mf_gen_bytes,
                                                 .price = mf_gen_price,
                                                 .run = mf_gen_run_cost,
                                                 .worse = is_worse,
                                                 .finish = finish,
                                                 .show = show};
