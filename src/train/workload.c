/* See workload.h: the settings of a training, their order, and the content of its plan. */
#include "src/train/workload.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

/* A pass of fewer samples is worth it only where nothing else helps. */
enum { FULL = 8 };

static const struct mf_train_work *work_of(const void *context) { return context; }

/* ---- the problem ---- */

void mf_train_describe(const struct mf_train_opts *o, struct mf_plan_lines *lines)
{
    const struct mf_arch_args *a = &o->args;

    mf_plan_say(lines, "verb", "train %s", o->grows ? "moe" : o->task->learn->name);
    mf_plan_say(lines, "network", "%s, width %ld, depth %ld, heads %ld, patch %ld, dropout %g", o->arch->name, a->width,
                a->depth, a->heads, a->patch, a->dropout);
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct mf_train_work *w = work_of(context);
    const struct mf_train_opts *o = w->opts;
    const struct mf_arch_args *a = &o->args;
    const size_t *d = w->set->dims;

    mf_train_describe(o, p);
    if (a->deep) mf_plan_say(p, "blocks", "%ld, and %ld in the last stage but one", a->blocks, a->deep);
    if (o->arch->ask)
        mf_plan_say(p, "towers", "%s; text: width %ld, depth %ld", mf_image_names[a->image], a->text_width,
                    a->text_depth);
    if (a->experts)
        mf_plan_say(p, "experts", "%ld, %ld of a row, of %s; %s", a->experts, a->top,
                    a->features == MF_FEATURES_CNN ? "features" : "all numbers",
                    o->ways > 1 ? "shared" : "all on each rank");
    mf_plan_say(p, "sample", "%zu x %zu x %zu, %zu channel%s", d[0], d[1], d[2], w->set->inputs, MF_S(w->set->inputs));
    mf_plan_say(p, "outputs", "%zu", mf_task_outputs(o->task));
    if (o->tensor > 1) mf_plan_say(p, "ranks that share layers", "%zu", o->tensor);
    if (o->stages > 1) mf_plan_say(p, "stages", "%zu", o->stages);
    if (w->effective)
        mf_plan_say(p, "samples of a step", "%zu", w->effective);
    else
        mf_plan_say(p, "samples of a step", "%zu of a rank", mf_train_effective(w, 1));
    mf_plan_say(p, "optimizer", "%s%s", mf_ops[o->optimiser]->name,
                o->optimiser == MF_OP_SGD && !(o->moments.momentum > 0) ? " without momentum" : "");
    mf_plan_say(p, "samples in the file", "%s", w->set->compressed ? "compressed" : "plain");
    if (o->type != MF_F32) mf_plan_say(p, "activations", "%s", mf_type_name(o->type));
    if (w->exact) mf_plan_say(p, "exact batch", "yes");
    if (o->slots) mf_plan_say(p, "slots", "%zu", o->slots);
    mf_plan_say(p, "deterministic", "%s", w->deterministic ? "yes" : "no");
}

size_t mf_train_effective(const struct mf_train_work *w, size_t ranks)
{
    return w->effective ? w->effective : w->batch * (w->passes ? w->passes : 1) * mf_train_data(w->opts, ranks);
}

static size_t most_ranks(const void *context)
{
    const struct mf_train_work *w = work_of(context);
    const size_t samples = w->set->count[MF_TRAIN];

    if (w->opts->slots) return w->opts->slots * mf_train_crew(w->opts);
    return (w->effective && w->effective < samples ? w->effective : samples) * mf_train_crew(w->opts);
}

/* ---- ways of ranks ---- */

size_t mf_train_way(const struct mf_plan_numbers *settings, const char *name)
{
    return mf_max(1, mf_plan_get(settings, name));
}

static struct mf_train_range range_of(struct mf_train_range wished, size_t asked)
{
    const int is = (int)mf_max(1, asked);

    return wished.most ? wished : (struct mf_train_range){is, is};
}

enum { MOST_STAGES = 8 }; /* lists of n stages are made n^2 / 2 times */

static int is_in(struct mf_train_range range, size_t n) { return (int)n >= range.least && (int)n <= range.most; }

/* Ranks that share layers are on one node. A stage has a block, at least. Fewer ranks with other samples would make
 * more passes, or larger ones. */
static int may_be(const struct mf_train_work *w, const struct mf_placement *place, size_t tensor, size_t stages)
{
    const struct mf_arch_args *a = &w->opts->args;
    int rc;

    if ((w->batch && w->passes) || stages > MOST_STAGES) return 0;
    if (place->ranks % (tensor * stages) || (long)stages > a->depth + a->text_depth + 1) return 0;
    if (place->nodes > 1 && place->per_node % tensor) return 0;
    rc = mf_arch_can_split(w->opts->arch, a, tensor);
    mf_err_clear();
    return rc == MF_OK;
}

/* The ways that these ranks have, that of the options first. Counts them up to number @p way, whose ranks of a layer
 * and stages it finds. */
static size_t find_way(const struct mf_train_work *w, const struct mf_placement *place, size_t way, size_t *tensor,
                       size_t *stages)
{
    const struct mf_train_range layers = range_of(w->tensor, w->opts->tensor);
    const struct mf_train_range pipe = range_of(w->stages, w->opts->stages);
    size_t n = 1;

    *tensor = (size_t)layers.least;
    *stages = (size_t)pipe.least;
    for (size_t t = *tensor; n <= way && t <= place->ranks && is_in(layers, t); ++t)
        for (size_t p = (size_t)pipe.least; n <= way && p * t <= place->ranks && is_in(pipe, p); ++p) {
            if ((t == (size_t)layers.least && p == (size_t)pipe.least) || !may_be(w, place, t, p)) continue;
            *tensor = t;
            *stages = p;
            ++n;
        }
    return n;
}

/* The work of ranks that share layers and are stages. The samples of a step stay. */
struct way {
    struct mf_train_work work;
    struct mf_train_opts opts;
};

static const struct mf_train_work *in_way(const struct mf_train_work *w, size_t ranks, size_t tensor, size_t stages,
                                          struct way *to)
{
    *to = (struct way){*w, *w->opts};
    to->work.effective = mf_train_effective(w, ranks);
    to->work.opts = &to->opts;
    to->opts.tensor = tensor;
    to->opts.stages = stages;
    if (tensor < 2) to->work.partition = (struct mf_train_range){0, 0};
    if (tensor * stages > 1) to->work.offload.most = w->offload.least;
    if (stages > 1 && w->stage.most > 1) to->work.stage.most = (int)mf_max((size_t)w->stage.least, 1);
    return &to->work;
}

static const struct mf_train_work *in_plan(const struct mf_train_work *w, size_t ranks, const struct mf_plan_numbers *s,
                                           struct way *to)
{
    return in_way(w, ranks, mf_train_way(s, "tensor"), mf_train_way(s, "stages"), to);
}

/* Trials and other ways are worthwhile only if a step takes at least this long. */
static const double WORTH_SECONDS = 0.01;

/* Each way has the same arithmetic, if nothing is computed again. */
static int may_gain(const struct mf_plan_numbers *settings, const struct mf_plan_cost *cost)
{
    const double kept = mf_plan_get(settings, "recompute") ? 0 : mf_plan_paid(cost, "arithmetic");

    return cost->total >= WORTH_SECONDS && kept < (1 - MF_PLAN_WORTH) * cost->total;
}

static size_t ways(const void *context, const struct mf_placement *place, const struct mf_plan_numbers *settings,
                   const struct mf_plan_cost *cost)
{
    size_t tensor, stages;

    if (cost && !may_gain(settings, cost)) return 1;
    return find_way(work_of(context), place, SIZE_MAX, &tensor, &stages);
}

/* ---- settings ---- */

static size_t stages(const struct mf_train_work *w) { return (size_t)(w->stage.most - w->stage.least) + 1; }

static size_t span(struct mf_train_range range) { return (size_t)(range.most - range.least); }

/* First what ranks share instead of copying, then what is computed again, then what waits in another memory. */
static size_t levels(const void *context, int apart)
{
    const struct mf_train_work *w = work_of(context);

    return stages(w) + span(w->partition) + span(w->recompute) + (apart ? span(w->offload) : 0);
}

/* A setting that most plans do not have. */
static void set_rare(struct mf_plan_numbers *s, const char *name, size_t value)
{
    if (value || mf_plan_find(s, name)) mf_plan_set(s, name, value);
}

/* Every pass of every rank is full. */
static int is_exact(const struct mf_train_work *w, size_t ranks, size_t batch, size_t passes)
{
    return batch * passes * mf_train_data(w->opts, ranks) == mf_train_effective(w, ranks);
}

static size_t cut(size_t samples, size_t passes) { return (samples + passes - 1) / passes; }

/* What a rank has in a step, which is at most an epoch. */
static size_t each_of(const struct mf_train_work *w, size_t ranks)
{
    const size_t effective = mf_train_effective(w, ranks), samples = w->set->count[MF_TRAIN];

    return cut(w->exact || effective < samples ? effective : samples, mf_train_data(w->opts, ranks));
}

/* Samples of each of @p passes: a multiple of 8, if that adds at most a sixteenth of empty rows. Otherwise the number
 * of passes must be a power of two, or all of them be full. 0: this number is not tried. */
static size_t batch_of(size_t each, size_t passes)
{
    const size_t batch = cut(each, passes), whole = (batch + 7) / 8 * 8;
    const int is_power = (passes & (passes - 1)) == 0;

    if (batch >= 8 && passes > 1 && whole * passes <= each + each / 16) return whole;
    return is_power || batch * passes == each ? batch : 0;
}

enum { BATCHES = 130 };

/* Samples of a pass to try, from all that a rank has in a step down to one: for 1, 2, 3, 4, 6, 8, 12, ... passes. */
static size_t batches_of(const struct mf_train_work *w, size_t ranks, size_t least, size_t batch[BATCHES])
{
    const size_t each = each_of(w, ranks), deep = mf_max(1, w->opts->stages);
    size_t n = 0, passes = 1;

    if (w->opts->slots) {
        batch[0] = w->opts->batch;
        return 1;
    }
    if (w->batch || w->passes) {
        batch[0] = !w->batch ? cut(each, w->passes) : w->batch < each || w->exact ? w->batch : each;
        return !w->exact || is_exact(w, ranks, batch[0], cut(each, batch[0]));
    }
    if (each < least) least = each;
    if (deep > 1) {
        while (passes < MF_TRAIN_AHEAD * deep) passes *= 2;
        passes = mf_min(each, passes);
        least = 1;
    }
    for (; passes < 2 * each && n < BATCHES;
         passes = passes % 3 == 0 || passes == 1 ? cut(passes * 4, 3) : passes * 3 / 2) {
        const size_t b = batch_of(each, passes);

        if (b < least || (n > 0 && b >= batch[n - 1])) continue;
        if (!w->exact || is_exact(w, ranks, b, cut(each, b))) batch[n++] = b;
    }
    return n;
}

static size_t passes_of(const struct mf_train_work *w, size_t ranks, size_t batch)
{
    if (w->opts->slots) return mf_cut(w->opts->slots, mf_train_data(w->opts, ranks), 0).count;
    return cut(each_of(w, ranks), batch);
}

static size_t readers_of(const struct mf_train_work *w, const struct mf_placement *place)
{
    if (w->readers >= 0) return (size_t)w->readers;
    return !place->device ? 1 : place->threads < 3 ? place->threads : 3;
}

/* In one way. */
static int settings_in(const struct mf_train_work *w, const struct mf_placement *place, size_t level, size_t trial,
                       struct mf_plan_numbers *s)
{
    const size_t stage = level < stages(w) ? level : stages(w) - 1, more = level - stage;
    const size_t pieces = mf_min(more, span(w->partition)), again = mf_min(more - pieces, span(w->recompute));
    const size_t offload = more - pieces - again;
    const int is_last = level + 1 == levels(w, place->apart);
    const size_t sharers = mf_train_data(w->opts, place->ranks);
    size_t batch[BATCHES], n;

    if (place->ranks > most_ranks(w)) return 0;
    if (place->ranks % mf_train_crew(w->opts)) return 0;
    if (w->offload.least && !place->apart) return 0;                  /* there is no other memory */
    if (sharers == 1 && more == 0 && level > 0 && !is_last) return 0; /* nobody to share with */
    n = batches_of(w, place->ranks, is_last ? 1 : FULL, batch);
    if (n == 0 || trial > n) return 0;
    mf_plan_set(s, "batch", batch[trial == 0 ? n - 1 : trial - 1]);
    mf_plan_set(s, "passes", passes_of(w, place->ranks, mf_plan_get(s, "batch")));
    mf_plan_set(s, "zero",
                sharers > 1 || (w->stage.least == 3 && w->offload.least + (int)offload) ? (size_t)w->stage.least + stage
                                                                                        : 0);
    mf_plan_set(s, "recompute", (size_t)w->recompute.least + again);
    set_rare(s, "partition", (size_t)w->partition.least + pieces);
    set_rare(s, "offload", (size_t)w->offload.least + offload);
    set_rare(s, "spill", w->spill);
    mf_plan_set(s, "readers", readers_of(w, place));
    set_rare(s, "tensor", w->opts->tensor > 1 ? w->opts->tensor : 0);
    set_rare(s, "stages", w->opts->stages > 1 ? w->opts->stages : 0);
    return 1;
}

static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const size_t all = levels(context, place->apart);
    const struct mf_train_work *w = work_of(context);
    size_t tensor, pipe;
    struct way way;

    find_way(w, place, level / all, &tensor, &pipe);
    w = in_way(w, place->ranks, tensor, pipe, &way);
    return level % all < levels(w, place->apart) && settings_in(w, place, level % all, trial, s);
}

/* How many experts a rank has. */
static size_t experts_of(const struct mf_train_opts *o, size_t ranks, size_t rank)
{
    const size_t experts = (size_t)o->args.experts;
    const struct mf_parting p = mf_train_parting(o, ranks, experts);

    return mf_cut(experts, p.parts, mf_train_expert_part(o, &p, rank)).count;
}

/* Pieces of parameters are padded to equal sizes; runs of slots, stages and experts are not. */
static uint64_t share(const void *context, const struct mf_plan_numbers *settings, size_t ranks, size_t rank)
{
    struct way way;
    const struct mf_train_opts *o = in_plan(work_of(context), ranks, settings, &way)->opts;
    const size_t stage = mf_train_stage(o, rank);

    if (o->slots) return rank;
    return o->args.experts ? stage * ((size_t)o->args.experts + 1) + experts_of(o, ranks, rank) : stage;
}

void mf_train_take_settings(const struct mf_plan_numbers *s, struct mf_train_opts *opts)
{
    opts->batch = mf_plan_get(s, "batch");
    opts->stage = (int)mf_plan_get(s, "zero");
    opts->recompute = (enum mf_recompute)mf_plan_get(s, "recompute");
    opts->partition = (int)mf_plan_get(s, "partition");
    opts->offload = (int)mf_plan_get(s, "offload");
    opts->spill = mf_plan_get(s, "spill");
    opts->readers = mf_plan_get(s, "readers");
    opts->tensor = mf_train_way(s, "tensor");
    opts->stages = mf_train_way(s, "stages");
}

void mf_train_give_settings(const struct mf_train_opts *opts, struct mf_plan_numbers *s)
{
    mf_plan_set(s, "batch", opts->batch);
    mf_plan_set(s, "zero", (size_t)opts->stage);
    mf_plan_set(s, "recompute", (size_t)opts->recompute);
    set_rare(s, "partition", opts->partition && opts->tensor > 1);
    set_rare(s, "offload", (size_t)opts->offload);
    set_rare(s, "spill", opts->spill);
    mf_plan_set(s, "readers", opts->readers);
    set_rare(s, "tensor", opts->tensor > 1 ? opts->tensor : 0);
    set_rare(s, "stages", opts->stages > 1 ? opts->stages : 0);
}

/* With full passes only where half of one is whole. */
static int halve(const struct mf_train_work *w, size_t least, struct mf_train_opts *opts)
{
    if (opts->batch <= least || w->batch || w->passes || opts->slots || (w->exact && opts->batch % 2)) return 0;
    opts->batch = (opts->batch + 1) / 2;
    return 1;
}

int mf_train_shrink(const struct mf_train_work *w, size_t ranks, struct mf_train_opts *opts)
{
    if (halve(w, FULL, opts)) return 1;
    if (opts->tensor > 1 && opts->partition < w->partition.most) {
        opts->partition = 1;
        return 1;
    }
    if ((int)opts->recompute < w->recompute.most) {
        ++opts->recompute;
        return 1;
    }
    if (mf_train_data(opts, ranks) > 1 && opts->stage < w->stage.most) {
        ++opts->stage;
        return 1;
    }
    if (opts->offload < w->offload.most) {
        opts->offload = 1;
        return 1;
    }
    return halve(w, 1, opts);
}

/* ---- the plan ---- */

static const char *const shared_words[] = {"nothing", "the moments of the optimiser", "moments and gradients",
                                           "moments, gradients and parameters"};

/* Why ranks share layers, or are stages, where nobody asked for it. */
static void note_way(const struct mf_train_opts *o, struct mf_plan *p)
{
    char why[MF_PLAN_REASON], layers[60] = "", pipe[60] = "";

    if (!*mf_plan_why(p, why)) return;
    if (o->tensor > 1) snprintf(layers, sizeof layers, "%zu ranks share every layer", o->tensor);
    if (o->stages > 1)
        snprintf(pipe, sizeof pipe, "%s%zu stages share the blocks", o->tensor > 1 ? ", and " : "", o->stages);
    mf_plan_note(p, "%s%s: without that %s", layers, pipe, why);
}

const char *mf_train_step_text(size_t sharers, size_t crew, size_t passes, size_t batch, char text[MF_TRAIN_STEP_TEXT])
{
    char ranks[64];

    if (crew > 1)
        snprintf(ranks, sizeof ranks, "%zu group%s of %zu ranks", sharers, MF_S(sharers), crew);
    else
        snprintf(ranks, sizeof ranks, "%zu rank%s", sharers, MF_S(sharers));
    snprintf(text, MF_TRAIN_STEP_TEXT, "%s x %zu pass%s of %zu", ranks, passes, passes == 1 ? "" : "es", batch);
    return text;
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    struct way way;
    const struct mf_train_work *w = in_plan(work_of(context), place->ranks, &p->settings, &way);
    const size_t effective = w->effective, zero = mf_plan_get(&p->settings, "zero");
    const size_t sharers = mf_train_data(w->opts, place->ranks), passes = mf_plan_get(&p->settings, "passes");
    const size_t batch = mf_plan_get(&p->settings, "batch"), rows = batch * passes * sharers;
    char text[MF_TRAIN_STEP_TEXT];

    mf_plan_set(&p->derived, "effective_batch", effective);
    note_way(w->opts, p);
    if (passes < w->opts->stages)
        mf_plan_note(p, "%zu pass%s fewer than the %zu stages of the pipeline, which wait for %.0f %% of a step",
                     passes, passes == 1 ? " is" : "es are", w->opts->stages,
                     100 * (double)(w->opts->stages - 1) / (double)(passes + w->opts->stages - 1));
    mf_plan_set(&p->derived, "parameters", (size_t)(fact[MF_TRAIN_GRADIENTS] / sizeof(float)));
    if (rows > effective + effective / 16)
        mf_plan_note(p, "%zu of the %zu rows of a step are empty: %s for %zu samples", rows - effective, rows,
                     mf_train_step_text(sharers, mf_train_crew(w->opts), passes, batch, text), effective);
    if ((int)zero > w->stage.least) mf_plan_note(p, "ranks share %s: copies of all do not fit", shared_words[zero]);
    if (work_of(context)->partition.least && w->opts->tensor < 2)
        mf_plan_note(p, "--partition-activations has nothing to cut: every rank has whole layers (without --tp)");
    if ((int)mf_plan_get(&p->settings, "partition") > w->partition.least)
        mf_plan_note(p, "ranks keep pieces of the activations that they have alike: all of them do not fit");
    if ((int)mf_plan_get(&p->settings, "recompute") > w->recompute.least)
        mf_plan_note(p, "backward computes activations a second time: all of them do not fit");
    if ((int)mf_plan_get(&p->settings, "offload") > w->offload.least)
        mf_plan_note(p, "the optimiser works in the memory of the node: its moments do not fit on the device");
}

static const char *const again_words[] = {"nothing", "norms and activations", "all of a block"};

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const struct mf_plan_numbers *s = &p->settings;
    const size_t tensor = mf_train_way(s, "tensor"), pipe = mf_train_way(s, "stages"), crew = tensor * pipe;
    char text[MF_TRAIN_STEP_TEXT];

    mf_plan_say(lines, "step", "%zu samples: %s", mf_plan_get(&p->derived, "effective_batch"),
                mf_train_step_text(p->ranks / crew, crew, mf_plan_get(s, "passes"), mf_plan_get(s, "batch"), text));
    if (tensor > 1) mf_plan_say(lines, "layers", "%zu ranks share each of them", tensor);
    if (pipe > 1) mf_plan_say(lines, "pipeline", "%zu stages", pipe);
    mf_plan_say(lines, "zero", "%zu", mf_plan_get(s, "zero"));
    mf_plan_say(lines, "again", "%s is computed a second time in backward", again_words[mf_plan_get(s, "recompute")]);
    if (mf_plan_get(s, "partition"))
        mf_plan_say(lines, "pieces", "ranks that share layers keep pieces of the activations that they have alike");
    if (mf_plan_get(s, "offload")) mf_plan_say(lines, "offload", "the optimiser works in host memory");
    if (mf_plan_get(s, "spill"))
        mf_plan_say(lines, "spill", "activations from %zu bytes on wait in host memory for backward",
                    mf_plan_get(s, "spill"));
    mf_plan_say(lines, "readers", "%zu thread%s per rank", mf_plan_get(s, "readers"), MF_S(mf_plan_get(s, "readers")));
}

/* ---- trials ---- */

static const double NEVER = 1e9;
enum { WORTH_STEPS = 200, MEASURED = 2 };

/* The planned samples of a pass, half of it, a quarter. */
static size_t rivals(const void *context, const struct mf_plan *p, struct mf_plan_numbers rival[MF_PLAN_TRIALS])
{
    struct way way;
    const struct mf_train_work *w = in_plan(work_of(context), p->ranks, &p->settings, &way);
    size_t batch[BATCHES], n, k = 0, count = 1;

    if (w->worth && (w->opts->schedule.steps < WORTH_STEPS || p->cost.total < WORTH_SECONDS)) return 0;
    rival[0] = p->settings;
    n = batches_of(w, p->ranks, FULL, batch);
    while (k < n && batch[k] >= mf_plan_get(&p->settings, "batch")) ++k;
    for (; k < n && count < MF_PLAN_TRIALS; ++k, ++count) {
        rival[count] = p->settings;
        mf_plan_set(&rival[count], "batch", batch[k]);
        mf_plan_set(&rival[count], "passes", passes_of(w, p->ranks, batch[k]));
    }
    return count > 1 ? count : 0;
}

/* One step is not counted: it touches memory for the first time. */
static int measure(const struct mf_train_work *w, struct mf_trainer *t, double *seconds)
{
    double least = NEVER;

    for (int k = 0; k <= MEASURED; ++k) {
        const double began = mf_now();
        struct mf_step step;

        MF_TRY(mf_trainer_step(t, 0, NULL, &step));
        if (k > 0 && mf_now() - began < least) least = mf_now() - began;
    }
    mf_comm_max(w->comm, 1, &least);
    *seconds = least;
    return MF_OK;
}

static int steps(void *context, size_t n, const struct mf_plan_numbers *tried, double *seconds)
{
    const struct mf_train_work *w = context;

    for (size_t i = 0; i < n; ++i) {
        struct mf_train_opts opts = *w->opts;
        struct mf_trainer trainer;
        int rc;

        mf_train_take_settings(&tried[i], &opts);
        if (opts.schedule.steps <= MEASURED) opts.schedule.steps = MEASURED + 1; /* a shorter run is tried as well */
        seconds[i] = NEVER;
        rc = mf_trainer_open(w->comm, w->queue->host, w->queue, w->set, &opts, &trainer);
        if (rc == MF_OK) rc = measure(w, &trainer, &seconds[i]);
        mf_trainer_close(&trainer);
        if (rc == MF_MEMORY) {
            mf_info("plan: %zu samples in one pass do not fit: %s", opts.batch, mf_err_text());
            mf_err_clear();
        } else if (rc != MF_OK) {
            return rc;
        }
    }
    return MF_OK;
}

static void fix(void *context, const struct mf_plan_numbers *tried)
{
    struct mf_train_work *w = context;
    const int zero = (int)mf_plan_get(tried, "zero"), again = (int)mf_plan_get(tried, "recompute");
    const int tensor = (int)mf_train_way(tried, "tensor"), pipe = (int)mf_train_way(tried, "stages");

    w->tensor = (struct mf_train_range){tensor, tensor};
    w->stages = (struct mf_train_range){pipe, pipe};
    w->batch = mf_plan_get(tried, "batch");
    w->stage = (struct mf_train_range){zero, zero};
    w->partition = (struct mf_train_range){(int)mf_plan_get(tried, "partition"), (int)mf_plan_get(tried, "partition")};
    w->recompute = (struct mf_train_range){again, again};
    w->offload = (struct mf_train_range){(int)mf_plan_get(tried, "offload"), (int)mf_plan_get(tried, "offload")};
    w->spill = mf_plan_get(tried, "spill");
}

static const char *smaller(const void *context)
{
    const struct mf_train_work *w = work_of(context);

    if (w->batch > 1) return "a smaller --batch-size";
    return w->opts->args.experts > 0 ? "fewer --experts, a smaller --width, or smaller samples"
                                     : "a smaller network or smaller samples";
}

const struct mf_plan_workload mf_train_workload = {.step = "step",
                                                   .smaller = smaller,
                                                   .describe = describe,
                                                   .most_ranks = most_ranks,
                                                   .levels = levels,
                                                   .ways = ways,
                                                   .settings = settings,
                                                   .share = share,
                                                   .bytes = mf_train_bytes,
                                                   .price = mf_train_price,
                                                   .finish = finish,
                                                   .show = show,
                                                   .rivals = rivals,
                                                   .steps = steps,
                                                   .fix = fix};
