/* train moe: a mixture of experts that grows while it learns. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/learn/moe_show.h"
#include "src/cmd/learn/train_plan.h"
#include "src/cmd/learn/train_run.h"
#include "src/cmd/log_view.h"
#include "src/cmd/unused.h"
#include "src/moe/place.h"

enum { EXPERTS = 8 /* of a transformer's blocks */, EFFECTIVE = 128 };

struct mixture {
    struct mf_session *session;
    const struct mf_moe_cmd *o;
    const struct mf_train_kind *kind;
    struct mf_grow grow;
    struct mf_sleep sleep;
    struct mf_moe_show show;
};

/* -- what a training asks -- */

int mf_moe_opts(const struct mf_moe_cmd *o, struct mf_train_opts *opts)
{
    const struct mf_sleep_opts *sleep = &o->sleep;

    opts->grows = 1;
    MF_TRY(mf_grow_check(&o->grow, opts->args.experts, opts->args.top));
    MF_TRY(mf_sleep_check(sleep));
    if (sleep->every == 0) return MF_OK;
    opts->sleep = (struct mf_sleep_memory){(size_t)sleep->records, (size_t)sleep->bytes, (size_t)sleep->batch};
    return MF_OK;
}

static int check(void *context, struct mf_train_opts *opts)
{
    const struct mixture *m = context;

    if (m->kind->lacks) MF_UNUSED(m->session, m->kind->why, m->kind->lacks);
    return mf_moe_opts(m->o, opts);
}

static int may_write(void *context, const struct mf_run *run)
{
    const struct mixture *m = context;

    return mf_moe_show_may(&m->show, run);
}

static int stepped(void *context, struct mf_loop *loop, const struct mf_step *step)
{
    struct mixture *m = context;

    return mf_sleep_step(&m->sleep, loop, step);
}

static int epoch_done(void *context, struct mf_loop *loop)
{
    struct mixture *m = context;

    MF_TRY(mf_grow_epoch(&m->grow, loop->trainer));
    mf_moe_show_epoch(&m->show, loop, &m->grow);
    return MF_OK;
}

static void listed(void *context, struct mf_checkpoint *checkpoint)
{
    struct mixture *m = context;

    mf_sleep_list(&m->sleep, checkpoint);
}

static void say_ways(const struct mf_trainer *t)
{
    const size_t ways = t->network.ways, ranks = t->network.ranks, experts = t->experts.count;

    if (t->opts.ways == 0 || ranks == 1) return;
    if (ways == 1)
        mf_info("each of %zu ranks has all %zu experts", ranks, experts);
    else
        mf_info("expert-parallel size %zu: so many ranks share %zu experts%s", ways, experts,
                ranks > ways ? ", and every further group of them has all experts again" : "");
}

/* A file of weights brings its own experts. */
static int check_start(const struct mixture *m, size_t experts)
{
    const struct mf_train_cmd *t = &m->o->train;

    if (!t->model) return MF_OK;
    if ((long)experts < m->grow.opts.least || (long)experts > m->grow.opts.most)
        return mf_fail(MF_USAGE, "'%s' has %zu experts: they must be from --min-experts %ld to --max-experts %ld",
                       t->model, experts, m->grow.opts.least, m->grow.opts.most);
    if (experts != (size_t)t->experts)
        mf_unused(m->session, (const char *const[]){"experts", NULL}, "'%s' has %zu", t->model, experts);
    return MF_OK;
}

/* Ranks that share layers have whole experts. */
static void keep_one_each(struct mf_grow_opts *grow, size_t tensor)
{
    if (grow->least >= (long)tensor) return;
    grow->least = (long)tensor;
    mf_info("each of the %zu ranks of --tp keeps an expert: --min-experts is %zu", tensor, tensor);
}

static int begin(void *context, struct mf_loop *loop)
{
    struct mixture *m = context;

    mf_moe_show_begin(&m->show);
    m->show.started = loop->trainer->experts.count; /* those of --model */
    mf_grow_open(&m->grow, &m->o->grow, loop->trainer);
    keep_one_each(&m->grow.opts, loop->trainer->opts.tensor);
    MF_TRY(check_start(m, loop->trainer->experts.count));
    say_ways(loop->trainer);
    if (m->grow.ways > 1) MF_TRY(mf_place_measure(loop->trainer, m->grow.speed));
    loop->grown = m;
    loop->stepped = stepped;
    loop->epoch_done = epoch_done;
    loop->listed = listed;
    return mf_sleep_open(&m->sleep, &m->o->sleep, &m->grow, loop->trainer);
}

static int end(void *context, struct mf_loop *loop, struct mf_json *results)
{
    struct mixture *m = context;

    mf_moe_show_end(&m->show, loop, &m->grow, results);
    return MF_OK;
}

static void done(void *context)
{
    struct mixture *m = context;

    mf_moe_show_close(&m->show);
    mf_sleep_close(&m->sleep);
    mf_grow_close(&m->grow);
}

static char *problem(void *context)
{
    const struct mf_grow_opts *g = &((struct mixture *)context)->o->grow;
    const struct mf_sleep_opts *s = &((struct mixture *)context)->o->sleep;
    char *grow = mf_format("--birth-threshold: %.17g\n--birth-window: %ld\n--birth-cooldown: %ld\n--min-experts: %ld\n"
                           "--max-experts: %ld\n--sleep-every: %ld\n",
                           g->threshold, g->window, g->cooldown, g->least, g->most, s->every);
    char *all;

    if (s->every == 0) return grow;
    all = mf_format("%s--sleep-least: %ld\n--sleep-most: %ld\n--replay-buffer: %ld\n--replay-bytes: %ld\n"
                    "--replay-batch: %ld\n--replay-rate: %.17g\n--merge-similarity: %.17g\n--specialization-threshold: "
                    "%.17g\n--dormant-steps: %ld\n"
                    "--least-activations: %ld\n--overlap: %.17g\n--meta-every: %ld\n--edge-decay: %.17g\n"
                    "--edge-least: %.17g\n",
                    grow, s->least, s->most, s->records, s->bytes, s->batch, s->rate, s->similarity, s->special,
                    s->dormant, s->activations, s->overlap, s->meta, s->decay, s->edge);
    free(grow);
    return all;
}

/* -- the verb -- */

int mf_moe_complete(const struct mf_session *s, struct mf_moe_cmd *o)
{
    struct mf_train_cmd *t = &o->train;

    if (o->gpu_mode == MF_MODE_ONE_GPU && s->comm->size > 1)
        return mf_fail(MF_USAGE, "--gpu-mode single_gpu is of one rank, and there are %d; try: multi_gpu",
                       s->comm->size);
    if (o->gpu_mode == MF_MODE_GPUS && s->comm->size == 1)
        mf_info("--gpu-mode multi_gpu: there is one rank, so there is one GPU; mpirun -n N starts more");
    mf_moe_switch_off(o);
    if (!mf_given(s, "arch")) t->arch = "moe";
    if (!mf_given(s, "effective-batch") && t->batch) t->effective = 0;
    if (!t->batch && !t->effective) t->effective = EFFECTIVE;
    if (mf_train_is(t, "vit") && t->experts == 0) t->experts = EXPERTS;
    if (mf_train_is(t, "moe") || mf_train_is(t, "vit")) return MF_OK;
    return mf_fail(MF_USAGE, "--arch %s: only moe and vit have experts", t->arch);
}

static int ahead(const struct mf_session *s, const void *options, const char *path, size_t ranks)
{
    struct mf_moe_cmd o = *(const struct mf_moe_cmd *)options;

    MF_TRY(mf_moe_complete(s, &o));
    return mf_train_plan_ahead(s, &o.train, mf_train_kind_meant(&o.train), 1, path, ranks);
}

static int run(struct mf_session *s, void *options)
{
    struct mf_moe_cmd *o = options;
    struct mixture m = {.session = s,
                        .o = o,
                        .kind = mf_train_kind_meant(&o->train),
                        .show = {.session = s, .plots = !o->train.no_plots}};
    const struct mf_train_more more = {&m, "training_metrics.png", check, may_write, begin, end, done, problem};

    MF_TRY(mf_moe_complete(s, o));
    return mf_train_run(s, &o->train, m.kind, &more);
}

static const struct mf_opt *const tables[] = {mf_mixture_rows, mf_train_rows,    mf_label_rows,  mf_column_rows,
                                              mf_moe_rows,     mf_log_view_rows, mf_common_opts, NULL};
static const char *const names[] = {"results-dir", NULL};

const struct mf_cmd mf_cmd_train_moe = {
    .name = "train moe",
    .summary = "train a mixture of experts, which grows while it learns",
    .synopsis = "--data FILE.h5 [--experts 8] [--target COLUMN ...] [--results-dir DIR] [OPTION VALUE ...]",
    .text = "A router sends each sample to --top-k experts, which are small networks, and weighs what they say. An "
            "expert is born where the router stays uncertain. In sleep, every --sleep-every steps, experts repeat what "
            "they did; those that are alike become one, those that nobody needs go. Beside the model, --results-dir "
            "gets pictures of the "
            "experts and of the graph of what they know, the numbers behind them, and a summary. Classes are told "
            "apart; with --target, columns are predicted. docs/LEARNING.md has the rules.\n\n"
            "  mesoforge synth --num-samples 4000 --size 32 32 --output micro.h5\n"
            "  mpirun -n 2 mesoforge train moe --data micro.h5 --results-dir run\n",
    .tables = tables,
    .keys = mf_train_keys,
    .size = sizeof(struct mf_moe_cmd),
    .adopt = mf_moe_adopt,
    .check = mf_train_checked,
    .check_plan = ahead,
    .run = run,
    .work = MF_WORK_GPUS,
    .remedy = "a smaller --batch-size, or fewer --experts",
    .writes = 1,
    .checkpoints = 1,
    .names = names,
    .small = mf_train_small,
    .in_library = 1,
};
