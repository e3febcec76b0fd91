/* Options of all verbs that train a network, and the training that they mean. */
#ifndef MF_CMD_LEARN_TRAIN_OPTS_H
#define MF_CMD_LEARN_TRAIN_OPTS_H

#include "src/cmd/cmd.h"
#include "src/cmd/keep.h"
#include "src/moe/sleep.h"
#include "src/train/loop.h"
#include "src/train/workload.h"

struct mf_train_cmd {
    struct mf_common common;
    struct mf_keep keep;
    const char *data, *results_dir, *arch, *model, *freeze, *rate_of, *teacher, *merit, *resume;
    int phase; /* of --phase, from 1; 0: all questions */
    struct mf_texts columns, condition, augment;
    long width, depth, heads, patch, blocks, deep, attention, text_width, text_depth;
    long experts, top;
    double temperature, noise, capacity, balance;
    enum mf_image image;
    int features; /* 1 + enum mf_features; 0: auto */
    enum { MF_BY_SAMPLES, MF_BY_EXPERTS, MF_BY_STAGES } strategy;
    long ways;
    double dropout, rate, decay, clip, smoothing, momentum, beta_1, beta_2, epsilon;
    long made, epochs, max_steps, max_samples, warmup, patience, keep_last;
    double warmup_share;
    enum mf_schedule_kind schedule;
    int log_warmup;
    enum { MF_TRAIN_ADAMW, MF_TRAIN_ADAM, MF_TRAIN_SGD } optimizer;
    int recompute, offload, zero; /* 1 + enum mf_recompute, 1 + whether, 1 + the stage; 0: auto */
    const char *workers, *plan, *config;
    enum { MF_TYPE_AUTO, MF_TYPE_FP16, MF_TYPE_BF16, MF_TYPE_F16 /* fp16 */ } precision;
    enum mf_compile compile_mode;
    enum mf_scope compile_scope;
    long max_tokens;
    double findings_weight;
    double average, noise_mean, noise_deviation, condition_dropout, start, score_rate;
    long score_steps;
    long batch, effective, accumulation, slots, tensor, stages;
    double monitor_every;
    int monitor;
    long scale_window, scale_patience, max_skips, compare, balance_stages;
    double loss_scale;
    int new_head, auto_batch, deepspeed, show_list, partition, spill, mixed, compile, no_decay;
    int exact, no_csv, no_events, no_plots, debug, unchecked;
};

#define MF_TRAIN_ROW(word, field, kind, standard, help) MF_OPT(mf_train_cmd, word, field, kind, standard, help)

#define MF_TRAIN_NETWORKS "mlp, cnn, convnext, vit or moe, also with its sizes, as cnn:width=64,depth=4"

/** Options whose defaults differ from verb to verb. */
#define MF_TRAIN_OWN_ROWS(folder, network, networks, number, batch)                                                 \
    MF_TRAIN_ROW("data", data, MF_NAME, NULL, "dataset of synth --num-samples or data import"),                     \
        MF_TRAIN_ROW("results-dir", results_dir, MF_TEXT, folder,                                                   \
                     "folder of model.safetensors, metrics, plots and checkpoints"),                                \
        MF_TRAIN_ROW("arch", arch, MF_TEXT, network, "network: " networks " (docs/LEARNING.md)"),                   \
        MF_TRAIN_ROW("experts", experts, MF_LONG, number,                                                           \
                     "experts at the start (moe: 8; vit: 0, each block has one mlp)"),                              \
        MF_TRAIN_ROW(                                                                                               \
            "effective-batch", effective, MF_LONG, batch,                                                           \
            "samples of one step, over all ranks and passes; left out: what --batch-size makes, or 64 (train moe: " \
            "128, train vqa: 16 images)")

/** A kind of task, as verbs that train know it. */
struct mf_train_kind {
    const struct mf_learn *learn;
    const char *arch; /* its usual network, for plan; NULL: that of the option's row */
    double average;   /* where --average is left out */
    size_t effective; /* samples of a step where nothing says it; 0: 64 */
    /** Do options of train moe mean it? NULL: they do where they mean no other. */
    int (*meant)(const struct mf_train_cmd *o);
    /** Leaves out items of @p set that the options do not want: MF_INPUT. NULL: all are wanted. */
    int (*choose)(const struct mf_train_cmd *o, struct mf_dataset *set);
    /** Makes the task that the options mean on @p set: MF_USAGE, MF_INPUT. mf_task_close() frees in every case. */
    int (*open)(const struct mf_train_cmd *o, const struct mf_dataset *set, struct mf_task *task);
    /** The training that takes turns with the one of this task. NULL: there is none. */
    struct mf_beside (*beside)(const struct mf_train_cmd *o, const struct mf_task *task);
    /** An option of train moe without effect, and why. NULL: there is none. */
    const char *lacks, *why;
};

/** The kind that options of train moe mean; that of this name, NULL: there is none (train_kinds.c). */
const struct mf_train_kind *mf_train_kind_meant(const struct mf_train_cmd *o);
const struct mf_train_kind *mf_train_kind_find(const char *name);

/** A phase of training on questions, as --phase names it. */
struct mf_train_phase {
    const char *word;
    const char *rate; /* --learning-rate, unless that is given */
    size_t warmup;    /* one of so many steps is before the highest rate */
    char worst;       /* grade of a question */
};
const struct mf_train_phase *mf_train_phase_of(const struct mf_train_cmd *o); /* NULL: all questions */

/** Is this the network of --arch? */
int mf_train_is(const struct mf_train_cmd *o, const char *arch);

/** Options of train moe: those of any training first. */
struct mf_moe_cmd {
    struct mf_train_cmd train;
    struct mf_grow_opts grow;
    struct mf_sleep_opts sleep;
    enum { MF_MODE_AUTO, MF_MODE_CPU, MF_MODE_ONE_GPU, MF_MODE_GPUS } gpu_mode;
    /* of Morph's configuration: what is switched off by false */
    int births, sleeps, adapts, divides, tunes, pins;
};

/** Rows of one verb alone, as their defaults differ. */
extern const struct mf_opt mf_classify_rows[], mf_regress_rows[], mf_mixture_rows[];
/** Rows of all; of trainings on labels, on columns, to remove noise, on questions, of mixtures. */
extern const struct mf_opt mf_train_rows[], mf_label_rows[], mf_column_rows[], mf_diffuse_rows[], mf_vqa_rows[],
    mf_moe_rows[];

/** Keys of the planner's guide (docs/FROM-VQA.md) in files of --config; for a row's keys. */
extern const struct mf_opt_key mf_train_keys[];

/** Options and values, alternating, that make a run small; NULL ends them. */
extern const char *const mf_train_small[];

/** Takes options from --debug, --resume-from-checkpoint and, where nothing is planned, from the configuration's
 * wishes. MF_USAGE, MF_INPUT. Local. */
int mf_train_adopt_given(struct mf_options *options, const struct mf_train_cmd *o);

/** Takes options from the word of --arch, from the files of --teacher and --deepspeed; for a row's adopt. */
int mf_train_adopt(struct mf_options *options, const void *into);

/** Takes the sizes in the word of a network; @p place: who says so. MF_USAGE. */
int mf_train_adopt_word(struct mf_options *options, const char *place, const char *word);

/** The same, and the device of --gpu-mode. */
int mf_moe_adopt(struct mf_options *options, const void *into);

/** Ranks that share the experts, of @p ranks that pass other samples, into @p opts, whose network is known. MF_USAGE.
 * Local. */
int mf_moe_ways(const struct mf_session *session, const struct mf_train_cmd *o, size_t ranks,
                struct mf_train_opts *opts);

/** Fills the defaults of train moe. Refuses (MF_USAGE) what it cannot do. Local. */
int mf_moe_complete(const struct mf_session *session, struct mf_moe_cmd *o);

/** Numbers for the parts that Morph's configuration switches off. Local. */
void mf_moe_switch_off(struct mf_moe_cmd *o);

/** Completes a training by what growth and sleep need. Refuses (MF_USAGE) limits that make no sense. Local. */
int mf_moe_opts(const struct mf_moe_cmd *o, struct mf_train_opts *opts);

/** Refuses options that contradict each other: MF_USAGE. The second does not ask for --data. Local. */
int mf_train_check(const struct mf_session *session, const struct mf_train_cmd *o);
int mf_train_check_values(const struct mf_session *session, const struct mf_train_cmd *o);

/** Does --num-workers leave the choice to the plan? */
int mf_train_free_workers(const char *text);

/** Makes one of options that a configuration file has beside each other. After the checks. Local. */
void mf_train_settle(const struct mf_session *session, struct mf_train_cmd *o);

/**
 * The training that the options mean on @p set and so many ranks, and its task, which outlives it. Refuses with
 * MF_USAGE, MF_INPUT; the caller closes the task (all zero before) in every case. Local.
 */
int mf_train_opts_of(const struct mf_session *session, const struct mf_train_cmd *o, const struct mf_train_kind *kind,
                     const struct mf_dataset *set, size_t ranks, struct mf_task *task, struct mf_train_opts *opts);

/** Stages of a pipeline on so many ranks, as options ask for them. Local. */
size_t mf_train_asked_stages(const struct mf_train_cmd *o, size_t ranks);

/** The same as far as options alone say it: model and its arguments, of images. MF_USAGE. Local. */
int mf_train_network_of(const struct mf_train_cmd *o, struct mf_train_opts *opts);

/** Finds the columns of --target, all without it, into @p column [set->reals]; *columns: how many. MF_USAGE. Local. */
int mf_train_columns(const struct mf_train_cmd *o, const struct mf_dataset *set, size_t *columns, size_t *column);

/** Refuses what needs a memory beside the host's: MF_USAGE. @p apart: @p device has one. Local. */
int mf_train_check_memories(const struct mf_train_cmd *o, const char *device, int apart);

/** The same as a workload of the planner: open options are free. Both @p set and @p opts outlive it. Local. */
struct mf_train_work mf_train_work_of(const struct mf_session *session, const struct mf_train_cmd *o,
                                      const struct mf_dataset *set, const struct mf_train_opts *opts);

/** The lines "key: value" that a run must share with the checkpoint it continues from. The caller frees. */
char *mf_train_problem(const struct mf_dataset *set, const struct mf_train_opts *opts);

/** Reports options without effect. Local. */
void mf_train_unused(const struct mf_session *session, const struct mf_train_cmd *o, const struct mf_dataset *set);

#endif
