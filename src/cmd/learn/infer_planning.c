/* plan infer, plan serve: a run of a model on a machine, its memory and its speed. A server is a run of a language
 * model whose requests may have their whole context at the same time. */

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/infer_work.h"
#include "src/cmd/learn/predict.h"
#include "src/cmd/plan.h"
#include "src/cmd/unused.h"
#include "src/gen/ranks.h"
#include "src/gen/workload.h"
#include "src/model/language_files.h"
#include "src/place/pipeline.h"

struct plan_infer {
    struct mf_common common;
    struct mf_plan_wish wish;
    long requests, context, prompt, made, tensor, stages, zero, batch;
    int show_list;
    const char *dtype, *map;
    int offload; /* weights are in host memory */
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
    MF_MAP_ROW(plan_infer),
    MF_STREAM_ROWS(plan_infer),
    MF_DTYPE_ROWS(plan_infer),
    ROW("show-list", show_list, MF_FLAG, NULL, "print the lists with the places of their tensors"),
    MF_OPT_END};

static const struct mf_opt network_rows[] = {MF_PREDICT_ROW(plan_infer), MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, network_rows, mf_common_opts, NULL};

static const struct mf_opt server_rows[] = {MF_ALIAS("max-concurrent-requests", "requests"),
                                            MF_ALIAS("max-total-tokens", "context"), MF_OPT_END};
static const struct mf_opt *const server_tables[] = {rows, server_rows, mf_common_opts, NULL};

static int check_ways(const struct mf_session *s, const struct plan_infer *o)
{
    const struct {
        const char *word;
        long value;
    } ways[] = {{"tp", o->tensor}, {"pp", o->stages}};

    for (int k = 0; k < 2; ++k)
        if (mf_given(s, ways[k].word) && (ways[k].value < 1 || ways[k].value > MF_GEN_REQUESTS))
            return mf_fail(MF_USAGE, "--%s must be 1 to %d, not %ld", ways[k].word, MF_GEN_REQUESTS, ways[k].value);
    return MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct plan_infer *o = options;
    const char *const *words;

    MF_TRY(mf_plan_wish_check(s, &o->wish));
    if (mf_arguments(s, &words) == 0)
        return mf_fail(MF_USAGE, "no model; try: mesoforge %s FOLDER", mf_options_verb(mf_options_of(s)));
    MF_TRY(check_ways(s, o));
    MF_TRY(mf_infer_check_streams(s, o->zero, o->offload, o->map));
    if (o->requests < 1 || o->requests > MF_GEN_REQUESTS)
        return mf_fail(MF_USAGE, "--requests must be 1 to %d, not %ld", MF_GEN_REQUESTS, o->requests);
    if (mf_given(s, "context") && o->context < 1)
        return mf_fail(MF_USAGE, "--context %ld: it must be at least 1", o->context);
    if (o->prompt < 1 || o->made < 1)
        return mf_fail(MF_USAGE, "--prompt-tokens and --new-tokens must be at least 1, not %ld and %ld", o->prompt,
                       o->made);
    return MF_OK;
}

struct job {
    struct mf_gen_work work;
    struct plan_infer *o;
    int waits; /* requests may wait for pages of others */
};

/* Says the rest of a plan that was made. */
static int say_more(void *context, const struct mf_plan *plan)
{
    const struct job *job = context;
    const struct mf_plan_rank rank = {.ranks = plan->ranks,
                                      .local_size = plan->per_node,
                                      .threads = plan->threads,
                                      .simd = "",
                                      .apart = plan->apart,
                                      .capability = plan->device ? MF_GPU_OLDEST : 0};

    mf_place_map_say(job->o->map, plan->ranks, !plan->device);
    return job->o->show_list ? mf_gen_print_lists(&job->work, &rank, &plan->settings, stdout) : MF_OK;
}

/* Ranks of each kind that were asked for. A map also decides the number of all. */
static int settle_ranks(struct plan_infer *o, struct mf_gen_work *w)
{
    struct mf_comm comm;
    size_t stages, tensor, least;

    MF_TRY(mf_place_map_stages(o->map, (size_t)o->wish.ranks, &stages));
    w->stages = o->map && !o->stages ? stages : (size_t)o->stages;
    tensor = w->tensor ? w->tensor : 1;
    stages = w->stages ? w->stages : 1;
    least = tensor * stages;
    mf_comm_dry(&comm, 0, (int)least, (int)least);
    MF_TRY(mf_gen_grid_check(w->model, &(struct mf_gen_grid){&comm, tensor, stages, o->map, 0, 0}));
    if (!o->wish.ranks && w->stages && (w->tensor || o->map)) o->wish.ranks = (long)least;
    if (w->tensor && w->stages ? (size_t)o->wish.ranks == least : (size_t)o->wish.ranks % least == 0) return MF_OK;
    return mf_fail(MF_USAGE, "--tp %zu times --pp %zu%s is %zu, and --ranks says %ld", tensor, stages,
                   o->map ? " (the stages of --map)" : "", least, o->wish.ranks);
}

static int prepare(struct mf_session *s, const char *folder, struct job *job, struct mf_language *model)
{
    struct plan_infer *o = job->o;
    struct mf_gen_work *w = &job->work;
    const int given = mf_given(s, "prompt-tokens") || mf_given(s, "new-tokens");
    int has_weights;

    MF_TRY(mf_decoder_read(folder, model, &has_weights));
    MF_TRY(mf_language_weigh(model, o->dtype, &o->keep));
    *w = (struct mf_gen_work){.model = model,
                              .name = mf_name_base(folder),
                              .requests = (size_t)o->requests,
                              .context = (size_t)o->context,
                              .waits = job->waits && o->context > 0,
                              .prompt = (size_t)o->prompt,
                              .made = (size_t)o->made,
                              .tensor = (size_t)o->tensor,
                              .map = o->map,
                              .zero = (int)o->zero,
                              .host = o->offload,
                              .deterministic = s->settings.deterministic};
    MF_TRY(mf_gen_check_context(model, folder, w->context));
    MF_TRY(settle_ranks(o, w));
    return mf_gen_tokens(w->context ? w->context : model->context, given, &w->prompt, &w->made);
}

static int plan(struct mf_session *s, struct plan_infer *o, int waits)
{
    struct job job = {.o = o, .waits = waits};
    struct mf_language model;
    const char *const *words;

    (void)mf_arguments(s, &words);
    MF_TRY(mf_plan_may_write(s, &o->wish, words[0]));
    mf_plan_settle_device(&o->common, &o->wish);
    MF_TRY(mf_agree(s->comm, prepare(s, words[0], &job, &model)));
    return mf_plan_verb(&(struct mf_planning){.session = s,
                                              .common = &o->common,
                                              .wish = &o->wish,
                                              .workload = &mf_gen_workload,
                                              .work = &job.work,
                                              .also = say_more,
                                              .context = &job});
}

/* ---- a network of ours ---- */

static int say_map(void *context, const struct mf_plan *plan)
{
    const struct plan_infer *o = context;

    mf_place_map_say(o->map, plan->ranks, !plan->device);
    return MF_OK;
}

static int open_network(const struct mf_session *s, struct plan_infer *o, const char *file, struct mf_model_card *card,
                        struct mf_infer_work *w)
{
    *w = (struct mf_infer_work){.batch = (size_t)o->batch,
                                .crew = {(size_t)o->stages, o->map, (int)o->zero},
                                .host = o->offload,
                                .deterministic = s->settings.deterministic};
    MF_UNUSED(s, "a trained network reads samples", "requests", "context", "prompt-tokens", "new-tokens", "tp", "dtype",
              "keep", "show-list");
    MF_TRY(mf_predict_check(s, "plan infer", o->batch));
    MF_TRY(mf_model_card_open(file, card));
    MF_TRY(mf_infer_work_open(card, file, w));
    if (o->wish.ranks % (long)w->crew.stages == 0) return MF_OK;
    return mf_fail(MF_USAGE, "%zu stages do not divide --ranks %ld", w->crew.stages, o->wish.ranks);
}

static int plan_network(struct mf_session *s, struct plan_infer *o, const char *file)
{
    struct mf_model_card card = {.path = NULL};
    struct mf_infer_work work;
    int rc;

    MF_TRY(mf_plan_may_write(s, &o->wish, file));
    mf_plan_settle_device(&o->common, &o->wish);
    rc = mf_agree(s->comm, open_network(s, o, file, &card, &work));
    if (rc == MF_OK)
        rc = mf_plan_verb(&(struct mf_planning){.session = s,
                                                .common = &o->common,
                                                .wish = &o->wish,
                                                .workload = &mf_infer_workload,
                                                .work = &work,
                                                .also = say_map,
                                                .context = o});
    mf_model_card_close(&card);
    return rc;
}

static int run(struct mf_session *s, void *options)
{
    struct plan_infer *o = options;
    const char *const *words;

    (void)mf_arguments(s, &words);
    if (!mf_language_named(words[0])) return plan_network(s, o, words[0]);
    MF_UNUSED(s, "requests of a language model are its batch", "batch-size");
    return plan(s, o, 1);
}
static int run_server(struct mf_session *s, void *options) { return plan(s, options, 0); }

const struct mf_cmd mf_cmd_plan_infer = {
    .name = "plan infer",
    .summary = "predict a run of a model: context, memory, time, and the reasons",
    .synopsis =
        "FOLDER|MODEL.safetensors [--requests 8] [--context N] [--hardware FILE] [--explain] [OPTION VALUE ...]",
    .text =
        "Plans a run of the language model in FOLDER, of which config.json is enough. It says the bytes of weights, of "
        "keys and values and of everything else, which are exact. It says seconds of a token and of a prompt by a "
        "model (docs/PLANNER.md). Without --context every request gets the longest context that fits. Ranks that share "
        "the model are chosen, unless --ranks, --tp, --pp or --map say them. If nothing fits, the exit status is 5. "
        "--show-list prints the lists: chunks of a prompt, and steps of 1, 2, 4, ... requests.\n"
        "\n"
        "MODEL.safetensors is a network of train, as infer classify and infer regress run it with --batch-size, --pp, "
        "--map, --zero and --offload-weights. Bytes are those of the network; those of files that it reads are not "
        "among them.\n"
        "\n"
        "  mesoforge plan infer gpt2 --explain\n"
        "  mesoforge plan infer llama-7b --tp 2\n"
        "  mesoforge plan infer llama-7b --requests 16 \\\n"
        "      --hardware examples/hardware/l4x4.json --device cuda\n"
        "  mesoforge plan infer run/model.safetensors --ranks 4 --zero 3\n",
    .tables = tables,
    .size = sizeof(struct plan_infer),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_NONE,
    .in_library = 1,
};

const struct mf_cmd mf_cmd_plan_serve = {
    .name = "plan serve",
    .summary = "predict a server of a language model: its memory, its requests, its context",
    .synopsis = "FOLDER [--requests 8] [--context N] [--hardware FILE] [--explain] [OPTION VALUE ...]",
    .text =
        "Plans a server (serve) of the language model in FOLDER, of which config.json is enough. All requests may have "
        "their "
        "whole context at the same time, so none waits for the memory of another. The bytes are exact, and the server "
        "takes no more later. Without --context it is the longest that fits. Options, times and refusals are those of "
        "plan infer.\n"
        "\n"
        "  mesoforge plan serve llama-7b --context 4096 --requests 32 --explain\n",
    .tables = server_tables,
    .size = sizeof(struct plan_infer),
    .positional_max = 1,
    .check = check,
    .run = run_server,
    .work = MF_WORK_NONE,
    .in_library = 1,
};
