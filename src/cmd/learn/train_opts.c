/* See train_opts.h. */
#include "src/cmd/learn/train_opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/learn/deepspeed.h"
#include "src/cmd/learn/unet_teacher.h"
#include "src/cmd/planned.h"
#include "src/train/slots.h"

#define OPTIMIZERS "adamw|adam|sgd"
#define OFFLOADS   "auto|none|optimizer"
#define COMPILES   "reduce-overhead|max-autotune|default|none" /* enum mf_compile */
#define SCOPES     "all|experts|gate"                          /* enum mf_scope */
#define STRATEGIES "data_parallel|expert_parallel|pipeline_parallel"
#define PRECISIONS "auto|fp16|bf16|f16"
#define IMAGES     "cnn|convnext"           /* enum mf_image */
#define RECOMPUTES "auto|none|cheap|blocks" /* auto, then enum mf_recompute */

#define ROW MF_TRAIN_ROW

const struct mf_opt mf_mixture_rows[] = {
    MF_TRAIN_OWN_ROWS("results/gpu_training", "moe", "moe or vit, also with its sizes, as moe:width=64", "8", "128"),
    MF_OPT_END};

const struct mf_opt mf_train_rows[] = {
    ROW("width", width, MF_LONG, NULL, "channels of the network; left out: the network's own"),
    ROW("depth", depth, MF_LONG, NULL,
        "layers (mlp), stages (cnn, convnext), levels (unet), blocks (vit), hidden layers of an expert (moe); left "
        "out: the "
        "network's own"),
    ROW("heads", heads, MF_LONG, NULL, "heads of attention (vit, vqa)"),
    ROW("patch", patch, MF_LONG, NULL, "edge of a patch (vit, convnext, unet) [pixels]"),
    ROW("blocks", blocks, MF_LONG, NULL, "blocks of a level (unet), of a stage (convnext)"),
    ROW("deep", deep, MF_LONG, NULL, "convnext: blocks of the last stage but one; left out: as many as in the others"),
    ROW("attention", attention, MF_LONG, NULL, "unet: attention where an image has at most so many pixels at a side"),
    MF_CHOICE(mf_train_cmd, "image", image, "cnn", IMAGES, "vqa: what reads the image, of --width and --depth"),
    ROW("text-width", text_width, MF_LONG, NULL, "columns of a token, a cell of the image, an object (vqa)"),
    ROW("text-depth", text_depth, MF_LONG, NULL, "layers of the text encoder (vqa)"),
    ROW("top-k", top, MF_LONG, NULL, "experts that a sample (vit: a patch) goes to; left out: 2"),
    ROW("temperature", temperature, MF_REAL, "0.8", "experts: divisor of the router's scores"),
    ROW("router-noise", noise, MF_REAL, "0", "experts: deviation of the noise on the router's scores in training"),
    ROW("capacity-factor", capacity, MF_REAL, "0",
        "experts: rows of an expert, at most, as a multiple of the mean; further rows are dropped; 0: any number"),
    ROW("balance", balance, MF_REAL, "0.005",
        "experts: change of their balance biases in a step; a bias is added to the scores where experts are chosen; it "
        "grows of an expert with few rows, and falls of one with many; 0: there are none"),
    MF_CHOICE(
        mf_train_cmd, "parallel-strategy", strategy, "data_parallel", STRATEGIES,
        "data_parallel: every rank has all experts; expert_parallel: ranks share the experts, and samples go to the "
        "ranks of theirs; pipeline_parallel: as --pp with all ranks"),
    ROW("expert-ways", ways, MF_LONG, NULL,
        "expert-parallel size: ranks that share all experts, a divisor of the ranks; every further group has all "
        "experts again; left out: as many as can"),
    MF_ALIAS("expert-parallel-size", "expert-ways"),
    MF_CHOICE(mf_train_cmd, "features", features, "auto", "auto|none|cnn",
              "moe: what experts get: all numbers of a sample, or features of a cnn; auto: cnn for images"),
    ROW("dropout", dropout, MF_REAL, "0", "part of the activations that is dropped in training [0..1)"),
    ROW("model", model, MF_NAME, NULL, "start from the weights in this file (.safetensors)"),
    MF_ALIAS("checkpoint-path", "model"),
    ROW("new-head", new_head, MF_FLAG, NULL,
        "with --model: the last layer begins anew, as it does by itself if the file has other classes or columns"),
    ROW("freeze", freeze, MF_NAME, NULL, "parts of the network that are not trained, by names: stem,stages.0"),
    ROW("resume-from-checkpoint", resume, MF_TEXT, NULL,
        "a model, or the folder of one: begin with its weights, as --model; --results-dir itself: go on with that run, "
        "as --restart auto"),
    ROW("epochs", epochs, MF_LONG, "20", "times that every sample of the train split is seen"),
    ROW("max-steps", max_steps, MF_LONG, "0", "end after this many steps; 0: after --epochs"),
    ROW("max-samples", max_samples, MF_LONG, "0",
        "learn from this many samples, and score a tenth as many of each other split; 0: all"),
    ROW("debug", debug, MF_FLAG, NULL,
        "a small run that checks itself, where options do not say otherwise: --batch-size 4 --accumulation-steps 1 "
        "--max-samples 100 --epochs 1 --max-steps 20 --compare-replicas 1"),
    ROW("learning-rate", rate, MF_REAL, NULL,
        "of the optimiser, at its highest; left out: the network's own (cnn: 0.003, convnext: 0.002, others: 0.001)"),
    MF_CHOICE(mf_train_cmd, "schedule", schedule, "cosine", MF_SCHEDULES,
              "learning rate over the steps; all but one-cycle begin with --warmup"),
    ROW("warmup", warmup, MF_LONG, NULL, "steps in which the learning rate rises; left out: 5 % of all, at most 500"),
    ROW("warmup-ratio", warmup_share, MF_REAL, NULL,
        "the same as a share of all steps (0..1]; of one-cycle: left out: 0.3"),
    MF_CHOICE(mf_train_cmd, "warmup-shape", log_warmup, "linear", MF_WARMUPS, "how the learning rate rises"),
    MF_CHOICE(mf_train_cmd, "optimizer", optimizer, "adamw", OPTIMIZERS,
              "adamw: decay apart from the gradient; adam, sgd: decay as part of it (L2)"),
    MF_ALIAS("optimiser", "optimizer"),
    ROW("momentum", momentum, MF_REAL, "0.9", "sgd: share of the last update that is added to the next; 0: none"),
    ROW("beta-1", beta_1, MF_REAL, "0.9", "adamw, adam: decay of the first moment"),
    ROW("beta-2", beta_2, MF_REAL, "0.999", "adamw, adam: decay of the second moment"),
    ROW("epsilon", epsilon, MF_REAL, "1e-8", "adamw, adam: added to the root of the second moment"),
    ROW("weight-decay", decay, MF_REAL, "0.01", "decay of the weights"),
    ROW("no-decay", no_decay, MF_FLAG, NULL,
        "weight decay of what linear layers and convolutions multiply by alone: norms, biases, embeddings and "
        "positions have none"),
    ROW("rate-of", rate_of, MF_NAME, NULL,
        "factors of the learning rate of parts of the network, by names: text=0.1,image.stem=0.5"),
    ROW("clip", clip, MF_REAL, "1", "largest norm of the gradients of a step; 0: any"),
    ROW("average", average, MF_REAL, NULL,
        "scores and files have the moving average of the weights over this share of the run; 0: the weights; left out: "
        "0.05 of train unet, else 0"),
    ROW("patience", patience, MF_LONG, "0",
        "end after this many epochs without a better validation; 0: after the last epoch"),
    ROW("keep-last", keep_last, MF_LONG, "0", "also keep the weights of the last N epochs: model_epochN.safetensors"),
    ROW("batch-size", batch, MF_LONG, NULL, "samples of one rank in one pass; left out: chosen"),
    ROW("accumulation-steps", accumulation, MF_LONG, NULL, "passes of a rank in one step; left out: chosen"),
    ROW("slots", slots, MF_LONG, NULL,
        "with --deterministic: parts of a step, a power of two; the result depends on them; left out: about 8 samples "
        "each"),
    ROW("tp", tensor, MF_LONG, NULL,
        "ranks that share every layer (vit, vqa), and pass the same samples; left out: 1, every rank has whole layers, "
        "unless the plan finds that they do not fit, or that a step becomes a tenth shorter"),
    ROW("pp", stages, MF_LONG, NULL,
        "stages of a pipeline, each with some of the blocks; left out: 1, every rank has all blocks, or as --tp"),
    ROW("exact-batch", exact, MF_FLAG, NULL,
        "refuse an --effective-batch that is no whole number of full passes of all ranks; without it some passes "
        "have fewer samples"),
    ROW("auto-batch-size", auto_batch, MF_FLAG, NULL,
        "choose --batch-size by real steps, also where the run is too short to gain from it"),
    MF_CHOICE(
        mf_train_cmd, "zero", zero, "auto", "auto|0|1|2|3",
        "what ranks share instead of copying: 1: moments of the optimiser; 2: gradients, too; 3: parameters, too; "
        "auto: what fits"),
    MF_CHOICE(mf_train_cmd, "compile-mode", compile_mode, "reduce-overhead", COMPILES,
              "default: operations and their activations are one; reduce-overhead: GPUs also replay a step's calls as "
              "graphs; max-autotune: and try algorithms of products and convolutions, once; none: nodes one by one"),
    MF_CHOICE(mf_train_cmd, "compile-scope", compile_scope, "all", SCOPES,
              "what is compiled: all; experts: the layers of experts alone; gate: their routers alone"),
    ROW("compile", compile, MF_FLAG, NULL, "the same as --compile-mode reduce-overhead, which is the standard"),
    ROW("mixed-precision", mixed, MF_FLAG, NULL,
        "activations and products have 16 bits; weights, gradients of weights and sums have 32"),
    MF_CHOICE(mf_train_cmd, "precision-type", precision, "auto", PRECISIONS,
              "which 16 bits; f16 is fp16; auto: bf16 with --mixed-precision, else 32 bits"),
    ROW("loss-scale", loss_scale, MF_REAL, "65536", "fp16: factor of the loss at the start, a power of two"),
    ROW("loss-scale-window", scale_window, MF_LONG, "2000", "fp16: steps in a row after which the factor doubles"),
    ROW("loss-scale-hysteresis", scale_patience, MF_LONG, "1", "fp16: steps that are skipped before the factor halves"),
    ROW("max-skips", max_skips, MF_LONG, "20", "end after so many steps in a row whose gradients are not finite"),
    ROW("balance-stages", balance_stages, MF_LONG, "100",
        "with --pp: cut stages anew whose times differ by more than 15 % over so many steps; 0: never"),
    ROW("compare-replicas", compare, MF_LONG, "500",
        "ranks compare their copies of the parameters after every so many steps; 0: never"),
    MF_SAME("use-ddp", "zero", "0", "the same as --zero 0"),
    ROW("deepspeed", config, MF_TEXT, NULL,
        "take options from this configuration of DeepSpeed (JSON); docs/LEARNING.md has its keys"),
    ROW("use-deepspeed", deepspeed, MF_FLAG, NULL, "--zero 2, unless that or --deepspeed says 1 or 3"),
    MF_CHOICE(mf_train_cmd, "recompute", recompute, "auto", RECOMPUTES,
              "activations that backward computes again instead of keeping: norms and activations, or all of a block; "
              "auto: what fits"),
    MF_CHOICE(mf_train_cmd, "offload", offload, "auto", OFFLOADS,
              "on a GPU: optimizer keeps moments and updates in the node's memory, on its cores; auto: what fits"),
    ROW("partition-activations", partition, MF_FLAG, NULL,
        "with --tp: ranks keep pieces of the activations that they have alike, and gather them for backward; left out: "
        "if all do not fit"),
    ROW("spill-activations", spill, MF_FLAG, NULL,
        "on a GPU: large activations wait for backward in the node's memory"),
    ROW("num-workers", workers, MF_TEXT, "auto", "threads of a rank that read samples; 0: none; auto, or -1: chosen"),
    MF_PLAN_ROW(mf_train_cmd),
    MF_SAME("auto-optimize", "plan", "auto", "the same as --plan auto"),
    MF_SAME("no-auto-optimize", "plan", "off", "the same as --plan off"),
    ROW("show-list", show_list, MF_FLAG, NULL, "print all lists of a step, with the places of tensors in memory"),
    ROW("monitor-gpu", monitor, MF_FLAG, NULL,
        "use, memory, temperature and power of the GPUs of rank 0's node, in metrics and progress; memory and load of "
        "the host, too; a warning where memory grows and grows"),
    ROW("monitor-interval", monitor_every, MF_REAL, "10", "--monitor-gpu: time between looks [s]"),
    ROW("no-csv", no_csv, MF_FLAG, NULL, "write no tables (metrics-step.csv, metrics-epoch.csv)"),
    ROW("no-events", no_events, MF_FLAG, NULL, "write no event files of TensorBoard"),
    MF_SAME("disable-wandb", "no-events", "true", "the same as --no-events, which Weights & Biases would read"),
    ROW("no-plots", no_plots, MF_FLAG, NULL, "draw no pictures"),
    ROW("skip-data-check", unchecked, MF_FLAG, NULL,
        "begin without the look for what makes samples hard to learn from, such as empty classes and dark channels"),
    MF_ALIAS("output-dir", "results-dir"),
    MF_KEEP_ROWS(mf_train_cmd),
    MF_OPT_END};

const struct mf_opt mf_label_rows[] = {
    ROW("label-smoothing", smoothing, MF_REAL, "0", "part of the target that all classes share"), MF_OPT_END};

const struct mf_opt mf_column_rows[] = {
    ROW("target", columns, MF_TEXTS, NULL,
        "columns of real values to predict; left out: all of the dataset; train moe: none, classes are told apart"),
    MF_OPT_END};

int mf_train_is(const struct mf_train_cmd *o, const char *arch) { return mf_arch_find(o->arch) == mf_arch_find(arch); }

/* A size in the word of --arch is its option. */
struct word {
    struct mf_options *options;
    char place[MF_ARCH_WORD + 20];
};

static int adopt_size(void *context, const char *key, const char *value)
{
    const struct word *word = context;
    char option[40];

    snprintf(option, sizeof option, "--%s", key);
    return mf_options_adopt(word->options, key, word->place, option, value);
}

int mf_train_adopt_word(struct mf_options *options, const char *place, const char *word)
{
    struct word sizes = {.options = options};
    struct mf_arch_args args = {.width = 0};
    const struct mf_arch *is;

    snprintf(sizes.place, sizeof sizes.place, "%.*s: ", MF_ARCH_WORD, place);
    return mf_arch_read(word, &is, &args, adopt_size, &sizes);
}

int mf_train_adopt(struct mf_options *options, const void *into)
{
    const struct mf_train_cmd *o = into;
    char place[MF_ARCH_WORD + 20];

    MF_TRY(mf_train_adopt_given(options, o));
    snprintf(place, sizeof place, "--arch %.*s", MF_ARCH_WORD, o->arch);
    MF_TRY(mf_train_adopt_word(options, place, o->arch));
    if (o->teacher) MF_TRY(mf_unet_adopt(options, o->teacher));
    return o->config ? mf_deepspeed_adopt(options, o->config) : MF_OK;
}

/* -- batches -- */

/* With --exact-batch a step is a whole number of these samples. */
static int check_exact(const struct mf_train_cmd *o, size_t ranks, size_t effective)
{
    const size_t batch = o->batch ? (size_t)o->batch : 1, passes = o->accumulation ? (size_t)o->accumulation : 1;
    const size_t unit = ranks * batch * passes, below = effective / unit * unit;

    if (!o->exact || effective % unit == 0) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--exact-batch: --effective-batch %zu is no multiple of %zu ranks x %zu passes x %zu samples = %zu; "
                   "try: %zu",
                   effective, ranks, passes, batch, unit, below ? below : unit);
}

/* @p who says what the @p ranks are: those that pass the same samples count once. */
static int check_batches(const struct mf_train_cmd *o, const struct mf_dataset *set, size_t ranks, const char *who,
                         size_t effective)
{
    const size_t batch = (size_t)o->batch, passes = (size_t)o->accumulation, samples = set->count[MF_TRAIN];

    if (batch && passes && batch * passes * ranks != effective)
        return mf_fail(MF_USAGE,
                       "--batch-size %zu x --accumulation-steps %zu x %zu %s is %zu, and --effective-batch is %zu; "
                       "leave one of them out",
                       batch, passes, ranks, who, batch * passes * ranks, effective);
    if (ranks > effective)
        return mf_fail(MF_USAGE,
                       "of %zu %s %zu would have none of the %zu samples of a step; try: fewer ranks, or a larger "
                       "--effective-batch",
                       ranks, who, ranks - effective, effective);
    if (ranks > samples)
        return mf_fail(MF_USAGE, "of %zu %s %zu would have none of the %zu samples to learn from; try: fewer ranks",
                       ranks, who, ranks - samples, samples);
    return check_exact(o, ranks, effective);
}

/* The largest part of @p each that is no more than @p most, and with @p exact fits into it. */
static size_t part_of(size_t each, size_t most, int exact)
{
    size_t part = each < most ? each : most;

    while (exact && each % part != 0) --part;
    return part;
}

/* batch, passes and effective batch from those that were given. The others follow or are chosen. */
static int find_batches(const struct mf_train_cmd *o, const struct mf_train_kind *kind, const struct mf_dataset *set,
                        size_t ranks, struct mf_train_opts *opts)
{
    enum { USUAL = 64 };
    const size_t batch = (size_t)o->batch, passes = (size_t)o->accumulation, samples = set->count[MF_TRAIN];
    size_t effective = (size_t)o->effective, each;

    if (effective == 0)
        effective = batch ? batch * (passes ? passes : 1) * ranks : kind->effective ? kind->effective : USUAL;
    MF_TRY(check_batches(o, set, ranks, mf_train_crew(opts) > 1 ? "groups of ranks" : "ranks", effective));
    each = ((o->exact || effective < samples ? effective : samples) + ranks - 1) / ranks;
    opts->effective = effective;
    opts->batch = batch    ? (batch < each ? batch : each)
                  : passes ? (each + passes - 1) / passes
                           : part_of(each, opts->stages > 1 ? mf_max(1, each / (MF_TRAIN_AHEAD * opts->stages)) : USUAL,
                                     o->exact);
    return MF_OK;
}

/* --deterministic: the passes are slots, which do not depend on the ranks. */
static int find_slots(const struct mf_session *s, const struct mf_train_cmd *o, size_t ranks,
                      struct mf_train_opts *opts)
{
    const size_t slots = o->slots ? (size_t)o->slots : mf_slots_usual(opts->effective);

    if (!s->settings.deterministic) {
        if (o->slots) return mf_fail(MF_USAGE, "--slots needs --deterministic; leave it out, or add --deterministic");
        return MF_OK;
    }
    if (o->batch || o->accumulation || opts->stage)
        return mf_fail(MF_USAGE, "--deterministic cuts a step into --slots and keeps whole gradients; leave out --%s",
                       o->batch          ? "batch-size"
                       : o->accumulation ? "accumulation-steps"
                                         : "zero");
    if (slots & (slots - 1)) return mf_fail(MF_USAGE, "--slots %zu: it must be a power of two", slots);
    if (slots > opts->effective)
        return mf_fail(MF_USAGE, "--slots %zu: a step has only %zu samples", slots, opts->effective);
    if (ranks > slots)
        return mf_fail(
            MF_USAGE,
            "of %zu ranks %zu would have none of the %zu slots; try: a larger --effective-batch, or more --slots",
            ranks, ranks - slots, slots);
    opts->slots = slots;
    opts->batch = (opts->effective + slots - 1) / slots;
    return MF_OK;
}

/* -- what is free -- */

static struct mf_train_range stages_of(const struct mf_train_cmd *o)
{
    if (o->zero) return (struct mf_train_range){o->zero - 1, o->zero - 1};
    return o->deepspeed ? (struct mf_train_range){2, 2} : (struct mf_train_range){0, 3};
}

static struct mf_train_range recompute_of(const struct mf_train_cmd *o)
{
    const int how = o->recompute - 1;

    return how < 0 ? (struct mf_train_range){MF_RECOMPUTE_NONE, MF_RECOMPUTE_BLOCKS}
                   : (struct mf_train_range){how, how};
}

static struct mf_train_range offload_of(const struct mf_train_cmd *o)
{
    const int how = o->offload - 1;

    return how < 0 ? (struct mf_train_range){0, 1} : (struct mf_train_range){how, how};
}

static size_t spill_of(const struct mf_train_cmd *o)
{
    enum { LARGE = 1 << 20 /* bytes: copies of less take longer to begin than to do */ };

    return o->spill ? LARGE : 0;
}

int mf_train_check_memories(const struct mf_train_cmd *o, const char *device, int apart)
{
    const int asked = offload_of(o).least;

    if (apart || (!asked && !o->spill)) return MF_OK;
    return mf_fail(MF_USAGE, "--%s: on --device %s there is no other memory than the host's; leave it out",
                   asked ? "offload optimizer" : "spill-activations", device);
}

static struct mf_train_range way_of(long asked, int free)
{
    return asked  ? (struct mf_train_range){(int)asked, (int)asked}
           : free ? (struct mf_train_range){1, MF_STAGES}
                  : (struct mf_train_range){1, 1};
}

/* Ranks that share layers, and stages, where options leave them open and results do not depend on them. */
static void free_ways(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_train_opts *opts,
                      struct mf_train_work *work)
{
    const int free = !s->settings.deterministic && !work->offload.least && !o->spill && o->strategy == MF_BY_SAMPLES;

    work->tensor = way_of(o->tensor, free && !opts->grows);
    if (o->strategy != MF_BY_STAGES)
        work->stages = way_of(o->stages, free && !opts->task->learn->whole && work->stage.least < 2);
}

struct mf_train_work mf_train_work_of(const struct mf_session *s, const struct mf_train_cmd *o,
                                      const struct mf_dataset *set, const struct mf_train_opts *opts)
{
    struct mf_train_work work = {.set = set,
                                 .opts = opts,
                                 .deterministic = s->settings.deterministic,
                                 .effective = o->effective || !o->batch ? opts->effective : 0,
                                 .batch = (size_t)o->batch,
                                 .passes = (size_t)o->accumulation,
                                 .exact = o->exact,
                                 .stage = stages_of(o),
                                 .recompute = recompute_of(o),
                                 .offload = offload_of(o),
                                 .partition = {o->partition, 1},
                                 .spill = spill_of(o),
                                 .readers = mf_train_free_workers(o->workers) ? -1 : strtol(o->workers, NULL, 10),
                                 .comm = s->comm,
                                 .worth = !o->auto_batch};

    free_ways(s, o, opts, &work);
    if (mf_train_crew(opts) > 1) work.offload.most = work.offload.least;
    if (opts->stages > 1 && work.stage.most > 1) work.stage.most = 1;
    if (opts->slots) { /* the same bits, whatever fits */
        work.stage.most = work.stage.least;
        work.recompute.most = work.recompute.least;
        work.offload.most = work.offload.least;
    }
    return work;
}

/* -- ranks that have a part of the network -- */

/* Rows do not leave a stage. */
static int check_pipeline(const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                          const struct mf_train_opts *opts)
{
    if (kind->learn->whole)
        return mf_fail(MF_USAGE, "--pp %zu: this network makes samples, by all of it on each rank; try: --zero 3",
                       opts->stages);
    if (opts->stage < 2) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--pp %zu: stages keep whole gradients until a step ends, and --zero %s cuts them before; try: "
                   "--zero 1",
                   opts->stages, (const char *const[]){"auto", "0", "1", "2", "3"}[o->zero]);
}

static int check_crew(const struct mf_session *s, size_t ranks, const struct mf_train_opts *opts)
{
    const size_t crew = mf_train_crew(opts);

    if (ranks % crew)
        return mf_fail(MF_USAGE, "--tp %zu times --pp %zu does not divide the %zu rank%s; try: %s %zu", opts->tensor,
                       opts->stages, ranks, MF_S(ranks),
                       mf_options_knows(mf_options_of(s), "ranks") ? "--ranks" : "mpirun -n",
                       (ranks + crew - 1) / crew * crew);
    if (opts->tensor > 1 && s->settings.deterministic)
        return mf_fail(MF_USAGE,
                       "--tp %zu: sums over a part of a layer round otherwise than those over the whole, so "
                       "--deterministic cannot be; leave one of them out",
                       opts->tensor);
    if (!opts->offload && !opts->spill) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--%s: ranks exchange activations on the device, and --%s moves them; leave one of them out",
                   opts->tensor > 1 ? "tp" : "pp", opts->offload ? "offload optimizer" : "spill-activations");
}

size_t mf_train_asked_stages(const struct mf_train_cmd *o, size_t ranks)
{
    if (o->strategy == MF_BY_STAGES) return mf_max(1, ranks / mf_max(1, (size_t)o->tensor));
    return o->stages ? (size_t)o->stages : 1;
}

static int find_crew(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                     size_t ranks, struct mf_train_opts *opts)
{
    opts->tensor = o->tensor ? (size_t)o->tensor : 1;
    opts->stages = mf_train_asked_stages(o, ranks);
    if (o->stages && (size_t)o->stages != opts->stages)
        return mf_fail(MF_USAGE,
                       "--parallel-strategy pipeline_parallel makes %zu stage%s of the %zu rank%s, and --pp says %ld; "
                       "leave one of them out",
                       opts->stages, MF_S(opts->stages), ranks, MF_S(ranks), o->stages);
    MF_TRY(mf_arch_can_split(opts->arch, &opts->args, opts->tensor));
    if (opts->stages > 1) MF_TRY(check_pipeline(o, kind, opts));
    return mf_train_crew(opts) > 1 ? check_crew(s, ranks, opts) : MF_OK;
}

/* -- all of it -- */

static int has_half(const struct mf_train_cmd *o) { return o->mixed || o->precision != MF_TYPE_AUTO; }

/* 16 bits, if they are wanted, and the scale of the loss. */
static void find_precision(const struct mf_train_cmd *o, struct mf_train_opts *opts)
{
    const int bf16 = o->precision == MF_TYPE_AUTO || o->precision == MF_TYPE_BF16;

    if (!has_half(o)) return;
    opts->type = bf16 ? MF_BF16 : MF_F16;
    if (!bf16)
        opts->scale = (struct mf_scale_opts){o->loss_scale, 1, (size_t)o->scale_window, (size_t)o->scale_patience};
}

/* In the order of OPTIMIZERS. */
static const enum mf_op_id optimisers[] = {MF_OP_ADAMW, MF_OP_ADAM, MF_OP_SGD};

/* The share that counts; 0: there is none, or steps were given in its place. */
static double warmup_share(const struct mf_session *s, const struct mf_train_cmd *o)
{
    return mf_options_origin(mf_options_of(s), "warmup") > mf_options_origin(mf_options_of(s), "warmup-ratio")
               ? 0
               : o->warmup_share;
}

static void find_schedule(const struct mf_session *s, const struct mf_train_cmd *o, size_t samples,
                          struct mf_train_opts *opts)
{
    const size_t epoch = mf_window_steps(samples, opts->effective), all = epoch * (size_t)o->epochs;
    const size_t steps = o->max_steps && (size_t)o->max_steps < all ? (size_t)o->max_steps : all;
    const struct mf_train_phase *phase = mf_train_phase_of(o);
    const size_t usual = phase ? steps / phase->warmup : steps / 20 < 500 ? steps / 20 : 500;
    const double share = warmup_share(s, o);

    opts->schedule = (struct mf_schedule){.kind = o->schedule,
                                          .rate = o->rate > 0 ? o->rate : opts->arch->rate,
                                          .warmup = share > 0               ? (size_t)(share * (double)steps)
                                                    : mf_given(s, "warmup") ? (size_t)o->warmup
                                                                            : usual,
                                          .steps = steps,
                                          .log = o->log_warmup};
    if (opts->schedule.kind == MF_SCHEDULE_ONE_CYCLE) opts->schedule.rise = share;
}

static struct mf_arch_args args_of(const struct mf_train_cmd *o, int is_image)
{
    const int is_moe = mf_train_is(o, "moe");

    return (struct mf_arch_args){.width = o->width,
                                 .depth = o->depth,
                                 .heads = o->heads,
                                 .patch = o->patch,
                                 .blocks = o->blocks,
                                 .deep = o->deep,
                                 .attention = o->attention,
                                 .text_width = o->text_width,
                                 .text_depth = o->text_depth,
                                 .image = o->image,
                                 .dropout = o->dropout,
                                 .experts = o->experts,
                                 .top = o->top,
                                 .temperature = o->temperature,
                                 .noise = o->noise,
                                 .capacity = o->capacity,
                                 .balance = o->balance,
                                 .features = o->features          ? o->features - 1
                                             : is_moe && is_image ? MF_FEATURES_CNN
                                                                  : MF_FEATURES_NONE};
}

static int find_scope(const struct mf_train_cmd *o, struct mf_train_opts *opts)
{
    opts->scope = o->compile_scope;
    if (opts->scope == MF_SCOPE_ALL || opts->args.experts > 0) return MF_OK;
    return mf_fail(MF_USAGE, "--compile-scope %s: this network has no experts; try: --compile-scope all",
                   o->compile_scope == MF_SCOPE_EXPERTS ? "experts" : "gate");
}

int mf_train_network_of(const struct mf_train_cmd *o, struct mf_train_opts *opts)
{
    *opts = (struct mf_train_opts){.arch = mf_arch_find(o->arch), .args = args_of(o, 1)};
    return mf_arch_complete(opts->arch, &opts->args);
}

int mf_train_opts_of(const struct mf_session *s, const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                     const struct mf_dataset *set, size_t ranks, struct mf_task *task, struct mf_train_opts *opts)
{
    enum { BUCKET = 4 << 20 };

    *opts = (struct mf_train_opts){.arch = mf_arch_find(o->arch),
                                   .args = args_of(o, set->dims[0] == 1),
                                   .task = task,
                                   .freeze = o->freeze,
                                   .rate_of = o->rate_of,
                                   .plain = o->no_decay,
                                   .optimiser = optimisers[o->optimizer],
                                   .moments = {.momentum = o->momentum},
                                   .decay = o->decay,
                                   .clip = o->clip,
                                   .average = mf_given(s, "average") ? o->average : kind->average,
                                   .seed = (uint64_t)s->settings.seed,
                                   .stage = stages_of(o).least,
                                   .recompute = (enum mf_recompute)recompute_of(o).least,
                                   .offload = offload_of(o).least,
                                   .partition = o->partition,
                                   .spill = spill_of(o),
                                   .readers = mf_train_free_workers(o->workers) ? 1 : strtoul(o->workers, NULL, 10),
                                   .skips = (size_t)o->max_skips,
                                   .compare = (size_t)o->compare,
                                   .balance = (size_t)o->balance_stages,
                                   .compile = o->compile_mode,
                                   .bucket = BUCKET};
    if (opts->optimiser != MF_OP_SGD)
        opts->moments = (struct mf_attr){.momentum = o->beta_1, .second = o->beta_2, .epsilon = o->epsilon};
    MF_TRY(mf_arch_complete(opts->arch, &opts->args));
    MF_TRY(find_scope(o, opts));
    if (!kind->learn->forward) MF_TRY(mf_arch_answers(opts->arch));
    MF_TRY(mf_dataset_needs(set, MF_TRAIN));
    MF_TRY(mf_learn_needs(kind->learn, set));
    MF_TRY(kind->open(o, set, task));
    MF_TRY(mf_task_needs(task, set));
    if (kind->beside) opts->beside = kind->beside(o, task);
    find_precision(o, opts);
    MF_TRY(find_crew(s, o, kind, ranks, opts));
    MF_TRY(mf_moe_ways(s, o, mf_train_data(opts, ranks), opts));
    MF_TRY(mf_deepspeed_explain(mf_options_of(s), o->config,
                                find_batches(o, kind, set, mf_train_data(opts, ranks), opts)));
    MF_TRY(find_slots(s, o, mf_train_data(opts, ranks), opts));
    find_schedule(s, o, set->count[MF_TRAIN], opts);
    return MF_OK;
}
