/* See train_opts.h: options of growth and sleep. */
#include <stdio.h>

#include "mpi/rank_groups.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/learn/train_opts.h"

#define GPU_MODES                                "auto|cpu|single_gpu|multi_gpu"
#define GROW(word, field, kind, standard, help)  MF_OPT(mf_moe_cmd, word, grow.field, kind, standard, help)
#define SLEEP(word, field, kind, standard, help) MF_OPT(mf_moe_cmd, word, sleep.field, kind, standard, help)
#define MORPH(word, field, off)                  MF_OPT(mf_moe_cmd, word, field, MF_FLAG, "1", "of Morph's configuration; false: " off)

const struct mf_opt mf_moe_rows[] = {
    MF_CHOICE(
        mf_moe_cmd, "gpu-mode", gpu_mode, "auto", GPU_MODES,
        "auto: as --device; cpu: --device cpu; single_gpu: one rank on --device cuda; multi_gpu: ranks on --device "
        "cuda, each with a GPU of its own"),
    GROW("birth-threshold", threshold, MF_REAL, "0.8",
         "an expert is born where the router's mean uncertainty stays above this [0..1]; 1: never"),
    GROW("birth-window", window, MF_LONG, "100", "steps that it must stay there"),
    GROW("birth-cooldown", cooldown, MF_LONG, "200", "least number of steps between births"),
    GROW("min-experts", least, MF_LONG, "2", "experts that always stay"),
    GROW("max-experts", most, MF_LONG, "32", "the most experts"),
    SLEEP("sleep-every", every, MF_LONG, "1000", "steps between sleeps, in which experts are put in order; 0: never"),
    SLEEP("sleep-least", least, MF_LONG, "500", "least number of these steps where experts have become many"),
    SLEEP("sleep-most", most, MF_LONG, "2000", "largest number of these steps"),
    SLEEP("replay-buffer", records, MF_LONG, "2000", "records of what experts did that a sleep repeats, at most"),
    SLEEP("replay-bytes", bytes, MF_LONG, "67108864", "their memory on every rank, at most [bytes]"),
    SLEEP("replay-batch", batch, MF_LONG, "32", "records of one step of replay"),
    SLEEP("replay-rate", rate, MF_REAL, "1e-4", "learning rate of replay"),
    SLEEP("merge-similarity", similarity, MF_REAL, "0.8", "experts that are more alike become one [0..1]"),
    SLEEP("specialization-threshold", special, MF_REAL, "0.7",
          "an expert more special than this becomes one only with experts of its main class [0..1]"),
    SLEEP("dormant-steps", dormant, MF_LONG, "5000", "an expert without samples for more steps than these may go"),
    SLEEP("least-activations", activations, MF_LONG, "100", "if it had fewer samples in its life"),
    SLEEP("overlap", overlap, MF_REAL, "0.3", "experts divide their samples where they share so much of them [0..1]"),
    SLEEP("meta-every", meta, MF_LONG, "10",
          "sleeps between changes of thresholds, which follow the validation loss; 0: they stay"),
    SLEEP("edge-decay", decay, MF_REAL, "0.99", "factor of the graph's edges in each sleep [0..1]"),
    SLEEP("edge-least", edge, MF_REAL, "0.1", "edges below this weight go [0..1]"),
    MORPH("enable-dynamic-experts", births, "as --birth-threshold 1"),
    MORPH("enable-sleep", sleeps, "as --sleep-every 0"),
    MORPH("enable-adaptive-sleep", adapts, "--sleep-least and --sleep-most are --sleep-every"),
    MORPH("enable-expert-reorganization", divides, "as --overlap 1"),
    MORPH("enable-meta-learning", tunes, "as --meta-every 0"),
    MF_OPT(mf_moe_cmd, "pin-memory", pins, MF_FLAG, "1",
           "memory that GPUs copy from is pinned (always so; accepted of Morph's configuration)"),
    MF_ALIAS("enable-mixed-precision", "mixed-precision"),
    MF_ALIAS("num-initial-experts", "experts"),
    MF_ALIAS("expert-k", "top-k"),
    MF_ALIAS("expert-hidden-size", "width"),
    MF_ALIAS("expert-creation-uncertainty-threshold", "birth-threshold"),
    MF_ALIAS("sleep-cycle-frequency", "sleep-every"),
    MF_ALIAS("min-sleep-frequency", "sleep-least"),
    MF_ALIAS("max-sleep-frequency", "sleep-most"),
    MF_ALIAS("memory-replay-batch-size", "replay-batch"),
    MF_ALIAS("memory-buffer-size", "replay-buffer"),
    MF_ALIAS("replay-learning-rate", "replay-rate"),
    MF_ALIAS("overlap-threshold", "overlap"),
    MF_ALIAS("expert-similarity-threshold", "merge-similarity"),
    MF_ALIAS("dormant-steps-threshold", "dormant-steps"),
    MF_ALIAS("min-lifetime-activations", "least-activations"),
    MF_ALIAS("meta-learning-intervals", "meta-every"),
    MF_ALIAS("knowledge-edge-decay", "edge-decay"),
    MF_ALIAS("knowledge-edge-min", "edge-least"),
    MF_OPT_END};

void mf_moe_switch_off(struct mf_moe_cmd *o)
{
    if (!o->births) o->grow.threshold = 1;
    if (!o->sleeps) o->sleep.every = 0;
    if (!o->adapts && o->sleep.every > 0) o->sleep.least = o->sleep.most = o->sleep.every;
    if (!o->divides) o->sleep.overlap = 1;
    if (!o->tunes) o->sleep.meta = 0;
    if (!o->pins) mf_info("--pin-memory false has no effect: memory that GPUs copy from is always pinned");
}

int mf_moe_adopt(struct mf_options *options, const void *into)
{
    const struct mf_moe_cmd *o = into;
    char key[40];

    MF_TRY(mf_train_adopt(options, into));
    if (o->gpu_mode == MF_MODE_AUTO) return MF_OK;
    snprintf(key, sizeof key, "--gpu-mode %s: --device", mf_options_value(options, "gpu-mode"));
    return mf_options_adopt(options, "device", "", key, o->gpu_mode == MF_MODE_CPU ? "cpu" : "cuda");
}

int mf_moe_ways(const struct mf_session *s, const struct mf_train_cmd *o, size_t ranks, struct mf_train_opts *opts)
{
    const size_t experts = (size_t)opts->args.experts / mf_max(1, opts->tensor);
    const size_t wish = o->ways ? (size_t)o->ways : ranks;

    if (o->strategy != MF_BY_EXPERTS) return MF_OK;
    if (opts->args.experts == 0)
        return mf_fail(MF_USAGE, "--parallel-strategy expert_parallel: --arch %s has no experts", o->arch);
    if (s->settings.deterministic)
        return mf_fail(MF_USAGE, "--deterministic sums whole gradients of samples, and with --parallel-strategy "
                                 "expert_parallel no rank has them; leave one of them out");
    opts->ways = (size_t)mf_ways_fit((int)ranks, experts, (int)(wish < ranks ? wish : ranks));
    if (!o->ways || opts->ways == (size_t)o->ways) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--expert-ways %ld: the expert-parallel size must divide the %zu rank%s, and be at most the %zu "
                   "experts; try: %zu",
                   o->ways, ranks, MF_S(ranks), experts, opts->ways);
}
