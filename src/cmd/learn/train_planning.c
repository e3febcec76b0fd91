/* plan train: what a training would do on a machine, and why; and what a published table says of it. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/words.h"
#include "src/cmd/learn/train_opts.h"
#include "src/cmd/learn/train_start.h"
#include "src/cmd/plan.h"
#include "src/train/table.h"

struct plan_cmd {
    struct mf_moe_cmd moe; /* first: its rows are this verb's too */
    struct mf_plan_wish wish;
    struct mf_longs size;
    long samples, classes, phases, channels;
    int is_table;
    const struct mf_train_kind *kind;
    int is_moe;
};

#define ROW(word, field, kind, standard, help) MF_OPT(plan_cmd, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    MF_PLAN_WISH_ROWS(plan_cmd),
    ROW("num-samples", samples, MF_LONG, "10000", "without --data: samples to learn from"),
    MF_ALIAS("samples", "num-samples"),
    ROW("size", size, MF_LONGS, NULL, "without --data: extents y x, or z y x, of a sample [voxels]"),
    ROW("classes", classes, MF_LONG, "8", "without --data: classes of the labels"),
    ROW("phases", phases, MF_LONG, "2", "without --data: phases of a sample; 0: it is a grey image"),
    ROW("channels", channels, MF_LONG, "1",
        "without --data: channels of an image, 3 of colours; it has no phases then"),
    MF_CHOICE(plan_cmd, "profile", is_table, "measured", "measured|table:train",
              "measured: this planner; table:train: the settings that a published table gives for the GPUs of the "
              "machine (--explain: and the table)"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {
    rows,        mf_classify_rows, mf_train_rows,  mf_label_rows, mf_column_rows, mf_diffuse_rows,
    mf_vqa_rows, mf_moe_rows,      mf_common_opts, NULL};

/* The name of a kind of task, or moe, which does any. */
static int find_kind(const struct mf_session *s, struct plan_cmd *o)
{
    const char *const *word;
    const size_t words = mf_arguments(s, &word);

    if (!words) return mf_fail(MF_USAGE, "no task; try: plan train classify, regress, unet, vqa or moe");
    o->is_moe = strcmp(word[0], "moe") == 0;
    o->kind = o->is_moe ? mf_train_kind_meant(&o->moe.train) : mf_train_kind_find(word[0]);
    if (o->is_moe) return mf_moe_complete(s, &o->moe);
    if (o->kind && o->kind->arch && !mf_given(s, "arch")) o->moe.train.arch = o->kind->arch;
    if (o->kind) return MF_OK;
    return mf_fail(MF_USAGE, "plan train %.100s: there is only classify, regress, unet, vqa and moe", word[0]);
}

static int check(const struct mf_session *s, struct plan_cmd *o)
{
    static const char *const of_none[] = {"size", "num-samples", "classes", "phases", "channels"};
    const int has_data = o->moe.train.data != NULL;

    MF_TRY(mf_plan_wish_check(s, &o->wish));
    if (o->is_table) return MF_OK;
    MF_TRY(find_kind(s, o));
    MF_TRY(mf_train_check_values(s, &o->moe.train));
    mf_train_settle(s, &o->moe.train);
    for (size_t i = 0; has_data && i < sizeof of_none / sizeof *of_none; ++i)
        if (mf_given(s, of_none[i])) return mf_fail(MF_USAGE, "--data says it: leave --%s out", of_none[i]);
    if (has_data) return MF_OK;
    if (o->kind->learn->reads & MF_READS_QUESTIONS)
        return mf_fail(MF_USAGE, "plan train %s: the questions of a dataset decide the network; try: --data FILE.h5",
                       o->kind->learn->name);
    if (o->size.count != 2 && o->size.count != 3)
        return mf_fail(MF_USAGE, "no samples; try: --data FILE.h5, or --size y x, or --size z y x");
    for (size_t a = 0; a < o->size.count; ++a)
        if (o->size.at[a] < 1) return mf_fail(MF_USAGE, "--size %ld: it must be at least 1", o->size.at[a]);
    if (o->samples < 1 || o->classes < 1 || o->phases < 0)
        return mf_fail(MF_USAGE, "--num-samples and --classes must be at least 1, --phases at least 0");
    if (o->channels < 1 || o->channels > MF_CHANNELS_MAX)
        return mf_fail(MF_USAGE, "--channels must be 1 to %d, not %ld", MF_CHANNELS_MAX, o->channels);
    if (mf_given(s, "channels") && mf_given(s, "phases") && o->phases > 0)
        return mf_fail(MF_USAGE, "--channels are of images, which have no phases; leave --phases out");
    if (mf_given(s, "channels")) o->phases = 0;
    return o->wish.verify ? mf_fail(MF_USAGE, "--verify makes steps: it needs --data") : MF_OK;
}

/* ---- a dataset that is not there ---- */

/* Facts alone, which plans depend on; nothing of it is read. */
static void make_nominal(const struct plan_cmd *o, struct mf_dataset *set)
{
    static int32_t label;
    static float real;
    const size_t n = o->size.count, phases = (size_t)o->phases, channels = (size_t)o->channels;
    const struct mf_texts *words = &o->moe.train.columns;
    size_t names;
    const char **name = mf_words_names(words->count, words->at, NULL, NULL, &names);

    *set = (struct mf_dataset){
        .path = (char[]){"a dataset"},
        .ndim = (int)n,
        .dims = {n == 3 ? (size_t)o->size.at[0] : 1, (size_t)o->size.at[n - 2], (size_t)o->size.at[n - 1], channels},
        .phases = (int)phases,
        .inputs = phases > 2 ? phases : channels,
        .samples = (size_t)o->samples,
        .count = {(size_t)o->samples},
        .label = &label,
        .classes = (size_t)o->classes,
        .reals = names ? names : 1,
        .real = &real};
    set->bytes = set->dims[0] * set->dims[1] * set->dims[2] * channels;
    set->real_name = MF_MUST(calloc(set->reals, sizeof *set->real_name), "columns");
    for (size_t c = 0; c < names; ++c) snprintf(set->real_name[c], sizeof set->real_name[c], "%s", name[c]);
    free(name);
}

/* ---- the plan ---- */

/* Where the plan's lists go, once it is made. */
struct shown {
    const struct mf_train_work *work;
    int wanted;
};

static int show_lists(void *context, const struct mf_plan *plan)
{
    const struct shown *shown = context;
    const struct mf_plan_rank rank = {.ranks = plan->ranks,
                                      .local_size = plan->per_node,
                                      .threads = plan->threads,
                                      .simd = "",
                                      .apart = plan->apart,
                                      .capability = plan->device ? MF_GPU_OLDEST : 0};

    return shown->wanted ? mf_train_print_lists(shown->work, &rank, &plan->settings, stdout) : MF_OK;
}

/* Ranks of the plan, as far as they are known before the search. */
static size_t ranks_of(const struct mf_session *s, const struct plan_cmd *o)
{
    const struct mf_train_opts crew = {.tensor = (size_t)o->moe.train.tensor, .stages = (size_t)o->moe.train.stages};

    return o->wish.ranks ? (size_t)o->wish.ranks : o->wish.hardware ? mf_train_crew(&crew) : (size_t)s->comm->size;
}

static int plan_set(struct mf_session *s, struct plan_cmd *o, const struct mf_dataset *set)
{
    struct mf_task task = {.learn = NULL};
    struct mf_train_opts opts;
    struct mf_train_work work;
    struct shown shown = {&work, o->moe.train.show_list};
    int rc = mf_train_opts_of(s, &o->moe.train, o->kind, set, ranks_of(s, o), &task, &opts);

    if (rc == MF_OK && o->is_moe) rc = mf_moe_opts(&o->moe, &opts);
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK) {
        work = mf_train_work_of(s, &o->moe.train, set, &opts);
        work.worth = 0;
        rc = mf_plan_verb(&(struct mf_planning){.session = s,
                                                .common = &o->moe.train.common,
                                                .wish = &o->wish,
                                                .workload = &mf_train_workload,
                                                .work = &work,
                                                .queue = &work.queue,
                                                .also = show_lists,
                                                .context = &shown});
    }
    mf_task_close(&task);
    return rc;
}

static int plan_data(struct mf_session *s, struct plan_cmd *o)
{
    struct mf_dataset *set = NULL, nominal;
    int rc;

    if (o->moe.train.data) {
        rc = mf_train_set(s, &o->moe.train, o->kind, &set);
        if (rc == MF_OK) rc = plan_set(s, o, set);
        mf_dataset_close(set);
        return rc;
    }
    make_nominal(o, &nominal);
    rc = plan_set(s, o, &nominal);
    free(nominal.real_name);
    return rc;
}

/* ---- the table ---- */

static int plan_table(struct mf_session *s, struct plan_cmd *o)
{
    struct mf_train_table table;
    struct mf_hardware hardware = {.hosts = 0};
    struct mf_json *json;
    int rc = mf_plan_machine_of(s, &o->moe.train.common, &o->wish, &hardware);

    if (rc == MF_OK) {
        mf_train_table_of(&hardware, (size_t)o->wish.ranks, &table);
        json = mf_train_table_json(&table);
        if (s->comm->rank == 0 && mf_common_of(s)->json) rc = mf_json_write(json, stdout);
        if (s->comm->rank == 0 && !mf_common_of(s)->json && o->wish.explain) mf_train_table_rows(stdout, table.gpus);
        if (s->comm->rank == 0 && !mf_common_of(s)->json) mf_train_table_print(stdout, &table);
        mf_json_free(json);
    }
    mf_hardware_free(&hardware);
    return mf_agree(s->comm, rc);
}

static int run(struct mf_session *s, void *options)
{
    struct plan_cmd *o = options;

    MF_TRY(mf_agree(s->comm, check(s, o)));
    if (o->is_table) return plan_table(s, o);
    mf_plan_settle_device(&o->moe.train.common, &o->wish);
    MF_TRY(mf_train_check_memories(&o->moe.train, o->moe.train.common.device,
                                   strcmp(o->moe.train.common.device, "cpu") != 0));
    MF_TRY(mf_plan_may_write(s, &o->wish, o->moe.train.data));
    return plan_data(s, o);
}

static const char text[] =
    "Plans a run of train classify, regress, unet, vqa or moe with these options: ranks, samples of a pass, passes of "
    "a step, "
    "what ranks share (ZeRO), and what backward computes again. Where that does not fit, or where a step becomes a "
    "tenth shorter, ranks share layers (--tp) or are stages (--pp). It says the bytes of a rank (from the lists that "
    "it would walk, so they are exact), seconds of a step by a model (docs/PLANNER.md), and the settings that were "
    "rejected. The samples are those of --data, or of --size, --channels and --classes. --device auto plans for GPUs "
    "where every rank has one, else for cores. If nothing fits, the exit status is 5. --verify makes steps on "
    "this machine. --show-list prints all lists of rank 0. --output writes the plan; train takes it with --plan.\n"
    "\n"
    "  mesoforge plan train classify --data micro.h5 --arch vit --explain\n"
    "  mesoforge plan train classify --size 224 224 --arch vit \\\n"
    "      --effective-batch 256 --hardware examples/hardware/l4x4.json \\\n"
    "      --device cuda --output plan.json\n"
    "  mesoforge plan train moe --size 64 64 --experts 32 --ranks 4 \\\n"
    "      --parallel-strategy expert_parallel --explain\n"
    "  mesoforge plan train unet --size 64 64 --channels 3 --width 64\n"
    "  mesoforge plan train --profile table:train \\\n"
    "      --hardware examples/hardware/l4x4.json\n";

const struct mf_cmd mf_cmd_plan_train = {
    .name = "plan train",
    .summary = "predict a training: ranks, batches, memory, time, and the reasons",
    .synopsis =
        "classify|regress|moe (--data FILE | --size y x) [--hardware FILE] [--ranks N] [--explain] [OPTION VALUE ...]",
    .text = text,
    .tables = tables,
    .keys = mf_train_keys,
    .size = sizeof(struct plan_cmd),
    .positional_max = 1,
    .adopt = mf_moe_adopt,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
