/* plan infer: what a run of a language model would take on a machine, and how fast it would be. */
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/plan.h"
#include "src/gen/ranks.h"
#include "src/gen/workload.h"
#include "src/model/language_files.h"

struct plan_infer {
    struct mf_common common;
    struct mf_plan_wish wish;
    long requests, context, prompt, made, tensor, stages;
    int show_list;
    const char *dtype;
    struct mf_texts keep;
};

#define ROW(word, field, kind, standard, help) MF_OPT(plan_infer, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    MF_PLAN_WISH_MACHINE(plan_infer),
    ROW("requests", requests, MF_LONG, "8", "texts that are continued at the same time"),
    ROW("context", context, MF_LONG, NULL,
        "positions of a prompt and its new tokens; left out: as many as fit, at most those of the model"),
    ROW("prompt-tokens", prompt, MF_LONG, "512", "for the times: tokens of a prompt"),
    ROW("new-tokens", made, MF_LONG, "128", "for the times: new tokens of a request"),
    ROW("tp", tensor, MF_LONG, NULL, "ranks that share every layer; left out: chosen"),
    ROW("pp", stages, MF_LONG, NULL, "stages of a pipeline of layers; left out: chosen"),
    MF_DTYPE_ROWS(plan_infer),
    ROW("show-list", show_list, MF_FLAG, NULL, "print the lists with the places of their tensors"),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int check_ways(const struct mf_session *s, const struct plan_infer *o)
{
    const struct {
        const char *word;
        long value;
    } ways[] = {{"tp", o->tensor}, {"pp", o->stages}};

    for (int k = 0; k < 2; ++k)
        if (mf_options_given(s->options, ways[k].word) && (ways[k].value < 1 || ways[k].value > MF_GEN_REQUESTS))
            return mf_fail(MF_USAGE, "--%s must be 1 to %d, not %ld", ways[k].word, MF_GEN_REQUESTS, ways[k].value);
    if (o->wish.ranks && o->tensor && o->stages && o->wish.ranks != o->tensor * o->stages)
        return mf_fail(MF_USAGE, "--tp %ld times --pp %ld is %ld, and --ranks says %ld", o->tensor, o->stages,
                       o->tensor * o->stages, o->wish.ranks);
    return MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct plan_infer *o = options;
    const char *const *words;

    MF_TRY(mf_plan_wish_check(s, &o->wish));
    if (mf_options_positional(s->options, &words) == 0)
        return mf_fail(MF_USAGE, "no model; try: mesoforge plan infer FOLDER");
    MF_TRY(check_ways(s, o));
    if (o->requests < 1 || o->requests > MF_GEN_REQUESTS)
        return mf_fail(MF_USAGE, "--requests must be 1 to %d, not %ld", MF_GEN_REQUESTS, o->requests);
    if (mf_options_given(s->options, "context") && o->context < 1)
        return mf_fail(MF_USAGE, "--context %ld: it must be at least 1", o->context);
    if (o->prompt < 1 || o->made < 1)
        return mf_fail(MF_USAGE, "--prompt-tokens and --new-tokens must be at least 1, not %ld and %ld", o->prompt,
                       o->made);
    return MF_OK;
}

/* Where the plan's lists go, once it is made. */
static int show_lists(void *context, const struct mf_plan *plan)
{
    const struct mf_plan_rank rank = {.ranks = plan->ranks,
                                      .local_size = plan->per_node,
                                      .threads = plan->threads,
                                      .simd = "",
                                      .apart = plan->apart,
                                      .capability = plan->device ? MF_GPU_OLDEST : 0};

    return mf_gen_print_lists(context, &rank, &plan->settings, stdout);
}

/* The ways that were asked for. */
static int check_grid(const struct plan_infer *o, const struct mf_language *model)
{
    const long tensor = o->tensor ? o->tensor : 1, stages = o->stages ? o->stages : 1;
    struct mf_comm comm;

    mf_comm_dry(&comm, 0, (int)(tensor * stages), (int)(tensor * stages));
    return mf_gen_grid_check(model, &(struct mf_gen_grid){&comm, (size_t)tensor, (size_t)stages, NULL});
}

static int run(struct mf_session *s, void *options)
{
    struct plan_infer *o = options;
    struct mf_gen_work work = {.requests = (size_t)o->requests,
                               .context = (size_t)o->context,
                               .waits = o->context > 0,
                               .prompt = (size_t)o->prompt,
                               .made = (size_t)o->made,
                               .tensor = (size_t)o->tensor,
                               .stages = (size_t)o->stages,
                               .deterministic = s->common->deterministic};
    struct mf_language model;
    const char *const *words;
    int has_weights, rc;

    (void)mf_options_positional(s->options, &words);
    MF_TRY(mf_plan_may_write(s, &o->wish, words[0]));
    mf_plan_settle_device(&o->common, &o->wish);
    if (o->tensor && o->stages) o->wish.ranks = o->tensor * o->stages;
    rc = mf_decoder_read(words[0], &model, &has_weights);
    if (rc == MF_OK) rc = mf_language_weigh(&model, o->dtype, &o->keep);
    if (rc == MF_OK) rc = mf_gen_check_context(&model, words[0], work.context);
    if (rc == MF_OK) rc = check_grid(o, &model);
    if (rc == MF_OK)
        rc = mf_gen_tokens(work.context ? work.context : model.context,
                           mf_options_given(s->options, "prompt-tokens") || mf_options_given(s->options, "new-tokens"),
                           &work.prompt, &work.made);
    MF_TRY(mf_agree(s->comm, rc));
    work.model = &model;
    work.name = mf_name_base(words[0]);
    return mf_plan_verb(&(struct mf_planning){.session = s,
                                              .common = &o->common,
                                              .wish = &o->wish,
                                              .workload = &mf_gen_workload,
                                              .work = &work,
                                              .residency = "auto",
                                              .also = o->show_list ? show_lists : NULL,
                                              .context = &work});
}

const struct mf_cmd mf_cmd_plan_infer = {
    .name = "plan infer",
    .summary = "predict a run of a language model: context, memory, time, and the reasons",
    .synopsis = "FOLDER [--requests 8] [--context N] [--hardware FILE] [--explain] [OPTION VALUE ...]",
    .text =
        "Plans a run of the language model in FOLDER, of which config.json is enough. It says the bytes of weights, of "
        "keys and values and of everything else, which are exact. It says seconds of a token and of a prompt by a "
        "model (docs/PLANNER.md). Without --context every request gets the longest context that fits. Ranks that share "
        "the model are chosen, unless --ranks, --tp or --pp say them. If nothing fits, the exit status is 5. "
        "--show-list prints the lists: chunks of a prompt, and steps of 1, 2, 4, ... requests.\n"
        "\n"
        "  mesoforge plan infer gpt2 --explain\n"
        "  mesoforge plan infer llama-7b --tp 2\n"
        "  mesoforge plan infer llama-7b --requests 16 \\\n"
        "      --hardware examples/hardware/l4x4.json --device cuda\n",
    .tables = tables,
    .size = sizeof(struct plan_infer),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_NONE,
};
