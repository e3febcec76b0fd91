/* See search.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/backend.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/search.h"

const char *mf_plan_size_text(size_t bytes, char text[32])
{
    if (bytes < (size_t)1 << 30)
        snprintf(text, 32, "%.1f MiB", (double)bytes / (1 << 20));
    else
        snprintf(text, 32, "%.2f GiB", (double)bytes / (1 << 30));
    return text;
}

/* It fits, on GPUs or on cores, in the plain way or in another. */
static int is_of(const struct mf_plan_candidate *c, int device, int plain)
{
    return c->fits && c->device == device && (c->way == 0) == plain;
}

/* Seconds of the fastest of these. */
static double fastest(const struct mf_plan *plan, int device, int plain)
{
    double best = INFINITY;

    for (size_t i = 0; i < plan->candidates; ++i)
        if (is_of(&plan->candidate[i], device, plain)) best = fmin(best, plan->candidate[i].seconds);
    return best;
}

/* The one with fewest ranks that is within 10 % of them; of several the fastest. */
static struct mf_plan_candidate *fewest(const struct mf_plan *plan, int device, int plain)
{
    const double best = fastest(plan, device, plain);
    struct mf_plan_candidate *chosen = NULL;

    for (size_t i = 0; i < plan->candidates; ++i) {
        struct mf_plan_candidate *c = &plan->candidate[i];

        if (!is_of(c, device, plain) || c->seconds > best * (1 + MF_PLAN_WORTH)) continue;
        if (!chosen || c->ranks < chosen->ranks ||
            (!plain && c->ranks == chosen->ranks && c->seconds < chosen->seconds))
            chosen = c;
    }
    return chosen;
}

struct mf_plan_candidate *mf_plan_choose(struct mf_plan *plan, int device)
{
    struct mf_plan_candidate *plain = fewest(plan, device, 1), *other = fewest(plan, device, 0);

    if (!plain || !other) return plain ? plain : other;
    return other->seconds < plain->seconds * (1 - MF_PLAN_WORTH) ? other : plain;
}

/* Seconds of the fastest in the way that is chosen. */
static double taken(const struct mf_plan *plan, const struct mf_plan_candidate *chosen, int device)
{
    return chosen ? fastest(plan, device, chosen->way == 0) : INFINITY;
}

/* ---- reasons ---- */

static void give_reasons(struct mf_plan *plan, struct mf_plan_candidate *chosen)
{
    chosen->chosen = 1;
    snprintf(chosen->reason, sizeof chosen->reason, "chosen: the fewest ranks within %.0f %% of the fastest",
             100 * MF_PLAN_WORTH);
    for (size_t i = 0; i < plan->candidates; ++i) {
        struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->chosen || !c->fits) continue;
        if (c->seconds > chosen->seconds)
            snprintf(c->reason, sizeof c->reason, "fits, takes %.2f times as long", c->seconds / chosen->seconds);
        else if (c->way > 0)
            snprintf(c->reason, sizeof c->reason, "fits, but gains %.0f %% only",
                     100 * (1 - c->seconds / chosen->seconds));
        else
            snprintf(c->reason, sizeof c->reason, "fits, but %zu rank%s gain%s %.0f %% only", c->ranks, MF_S(c->ranks),
                     c->ranks == 1 ? "s" : "", 100 * (1 - c->seconds / chosen->seconds));
    }
}

/* The plain candidate that exceeds memory least on a device; NULL: all were refused for another reason. */
static const struct mf_plan_candidate *least_plain(const struct mf_plan *plan, int device)
{
    const struct mf_plan_candidate *least = NULL;

    for (size_t i = 0; i < plan->candidates; ++i) {
        const struct mf_plan_candidate *c = &plan->candidate[i];

        if (c->bytes == 0 || c->way > 0 || c->device != device) continue;
        if (!least || (double)c->bytes - (double)c->free < (double)least->bytes - (double)least->free) least = c;
    }
    return least;
}

const char *mf_plan_why(const struct mf_plan *plan, char text[MF_PLAN_REASON])
{
    const struct mf_plan_candidate *chosen = NULL, *plain;

    text[0] = '\0';
    for (size_t i = 0; i < plan->candidates; ++i)
        if (plan->candidate[i].chosen) chosen = &plan->candidate[i];
    if (!chosen || chosen->way == 0) return text;
    plain = fewest(plan, chosen->device, 1);
    if (plain)
        snprintf(text, MF_PLAN_REASON, "a step takes %.2f times as long", plain->seconds / chosen->seconds);
    else if ((plain = least_plain(plan, chosen->device)) != NULL)
        snprintf(text, MF_PLAN_REASON, "%s", plain->reason);
    return text;
}

/* Cores, although --device auto would have taken a GPU that is newer. */
static void note_old(const struct mf_plan_ask *ask, struct mf_plan *plan)
{
    const struct mf_gpu *gpu = mf_layout_old(ask->hardware, ask->options);

    if (!gpu) return;
    mf_plan_note(plan,
                 "%s has compute capability %lld.%lld, the kernels need %d.%d or newer: the plan is for the cores",
                 gpu->name, (long long)gpu->major, (long long)gpu->minor, MF_GPU_OLDEST / 10, MF_GPU_OLDEST % 10);
    plan->why_cores = plan->notes;
}

/* Ranks that are still to be started: launch binds them to cores and will not find enough. */
static void note_crowd(const struct mf_hardware *hardware, const struct mf_placement *place, struct mf_plan *plan)
{
    for (size_t first = 0, end = 0; first < place->ranks; first = end) {
        const size_t cores = (size_t)mf_plan_node(hardware, (size_t)place->node[first])->cores;

        while (end < place->ranks && place->node[end] == place->node[first]) ++end;
        if ((end - first) * place->threads <= cores) continue;
        mf_plan_note(
            plan, "%zu rank%s of %zu thread%s on %zu core%s: launch binds ranks to cores and does not start %s there",
            end - first, MF_S(end - first), place->threads, MF_S(place->threads), cores, MF_S(cores),
            end - first == 1 ? "it" : "them");
        return;
    }
}

void mf_plan_reason(const struct mf_plan_ask *ask, int device, struct mf_plan_candidate *chosen,
                    const struct mf_placement *place, struct mf_plan *plan)
{
    if (!device && strcmp(ask->options->device, "auto") == 0) note_old(ask, plan);
    if (!ask->world) note_crowd(ask->hardware, place, plan);
    give_reasons(plan, chosen);
}

/* ---- GPUs or cores ---- */

/* The candidate that exceeds memory least, of GPUs only (@p gpus) or of all. NULL: all were refused for another
 * reason. */
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

/* Why not GPUs, of which none was enough. */
static void note_cores(struct mf_plan *plan)
{
    const struct mf_plan_candidate *c = least_of(plan, 1);
    char needs[32], has[32];

    if (c)
        mf_plan_note(plan,
                     "no GPU has enough memory (rank %zu needs %s%s, %s are available): the plan is for the cores",
                     c->rank, mf_plan_size_text(c->bytes, needs), c->host ? " on its node" : "",
                     mf_plan_size_text(c->free, has));
    else
        mf_plan_note(plan, "%s: the plan is for the cores",
                     plan->candidate[0].device ? plan->candidate[0].reason : "no GPU may be used");
    plan->why_cores = plan->notes;
}

struct mf_plan_candidate *mf_plan_choose_device(const struct mf_plan_ask *ask, int device, struct mf_plan *plan)
{
    struct mf_plan_candidate *gpus = mf_plan_choose(plan, 1), *cores = mf_plan_choose(plan, 0);
    const double gpus_take = taken(plan, gpus, 1), cores_take = taken(plan, cores, 0);
    const struct mf_plan_workload *w = ask->workload;

    if (!device || !cores) return device ? gpus : cores;
    if (!gpus) {
        note_cores(plan);
        return cores;
    }
    if ((w->worse && w->worse(&cores->settings, &gpus->settings)) || cores_take >= gpus_take * (1 - MF_PLAN_WORTH))
        return gpus;
    mf_plan_note(plan, "the model predicts %.3g ms per %s on the cores and %.3g ms on GPUs: the plan is for the cores",
                 1e3 * cores_take, w->step, 1e3 * gpus_take);
    plan->why_cores = plan->notes;
    return cores;
}

/* ---- nothing fits ---- */

/* Proposes a remedy beside a smaller problem and a larger limit; "": there is none. */
static const char *remedy_for(const struct mf_plan_ask *ask, const struct mf_plan_candidate *c)
{
    const struct mf_plan_options *o = ask->options;
    const int alone = ask->workload->most_ranks(ask->context) == 1;

    if (c->device && o->remedy) return o->remedy;
    if (c->device && o->gpu_ids > 0) return "more of --gpu_ids";
    if (c->limit) return alone ? "" : "more ranks";
    if (c->device && !c->host && c->free == 0) return "a GPU with more free memory, or --device cpu";
    if (c->free == 0 && c->ranks > 1) return "fewer ranks: their programs alone use all memory";
    if (c->free == 0)
        return "a job or container with more memory, or fewer other programs: this program alone uses all memory";
    return alone ? "a machine with more memory" : "more ranks or nodes";
}

/* The workload has no setting for any layout. */
static int nothing_offered(const struct mf_plan_ask *ask)
{
    const size_t ranks = ask->world ? ask->world->ranks : ask->options->ranks;

    if (ranks == 0) return mf_fail(MF_USAGE, "no settings are possible with any number of ranks on this machine");
    return mf_fail(MF_USAGE, "no settings are possible with %zu rank%s; try: another number of ranks", ranks,
                   MF_S(ranks));
}

int mf_plan_nothing_fits(const struct mf_plan_ask *ask, struct mf_plan *plan)
{
    const struct mf_plan_options *o = ask->options;
    const struct mf_plan_candidate *c = plan->least = least_of(plan, 0);
    const char *limit = c && c->limit ? c->limit : "", *remedy = c ? remedy_for(ask, c) : "";
    const int is_all = c && ((c->device && o->remedy) || c->free == 0); /* a smaller problem does not help */
    char settings[200];

    if (plan->candidates == 0) return nothing_offered(ask);
    if (!c) return mf_fail(MF_MEMORY, "nothing fits: %s", plan->candidate[0].reason);
    return mf_fail(MF_MEMORY,
                   "nothing fits into memory: the smallest plan (%zu rank%s%s%s%s) needs %zu bytes for arrays%s of "
                   "rank %zu, but %zu are available%s%s%s; try: %s%s%s%s%s%s",
                   c->ranks, MF_S(c->ranks), c->device ? " on GPUs" : "", c->settings.count ? ", " : "",
                   mf_plan_numbers_text(&c->settings, sizeof settings, settings), c->bytes,
                   c->host ? " on the node" : "", c->rank, c->free, c->limit ? " (" : "", limit, c->limit ? ")" : "",
                   c->limit ? "a larger " : "", limit, c->limit ? ", " : "", remedy, is_all || !*remedy ? "" : ", ",
                   is_all ? "" : ask->workload->smaller(ask->context));
}
