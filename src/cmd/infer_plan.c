/* See infer_plan.h. */
#include "src/cmd/infer_plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/same_file.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/gen/ranks.h"
#include "src/place/pipeline.h"
#include "src/session/peaks.h"

static size_t context_of(const struct mf_gen_work *w) { return w->context ? w->context : w->model->context; }

static int apply(void *context, const struct mf_plan_numbers *settings)
{
    struct mf_engine_wish *wish = context;

    wish->requests = mf_plan_get(settings, "requests");
    wish->context = mf_plan_get(settings, "context");
    wish->pages = mf_plan_get(settings, "pages");
    wish->tensor = mf_gen_ways_of(settings, "tp");
    wish->stages = mf_gen_ways_of(settings, "pp");
    wish->zero = (int)mf_plan_get(settings, "zero");
    wish->streamed = mf_plan_get(settings, "streamed");
    return MF_OK;
}

static void tell(const void *context, const struct mf_plan_numbers *derived, FILE *to)
{
    const struct mf_engine_wish *wish = context;

    (void)derived;
    fprintf(to, ", %zu request%s with a context of at most %zu", wish->requests, MF_S(wish->requests), wish->context);
    if (wish->streamed) fprintf(to, ", weights of %zu parts in host memory", wish->streamed);
}

static int find_ways(const struct mf_session *s, const struct mf_gen_work *work, size_t *tensor, size_t *stages)
{
    struct mf_gen_grid grid = {.comm = s->comm, .map = work->map, .zero = work->zero};

    (void)mf_gen_choose_ways(work, (size_t)s->comm->size, (size_t)s->comm->local_size, &grid.tensor, &grid.stages);
    *tensor = grid.tensor;
    *stages = grid.stages;
    return mf_gen_grid_check(work->model, &grid);
}

static struct mf_planned planned_of(struct mf_session *s, struct mf_gen_work *work, const char *plan,
                                    struct mf_engine_wish *wish)
{
    return (struct mf_planned){.session = s,
                               .workload = &mf_gen_workload,
                               .work = work,
                               .queue = &s->home,
                               .plan = plan,
                               .context = wish,
                               .apply = apply,
                               .tell = tell};
}

/* The sentence of a context that does not fit, and behind it the longest one that does. Collective. */
static int say_longest(struct mf_session *s, const struct mf_gen_work *work)
{
    struct mf_engine_wish wish = {.requests = 0};
    struct mf_gen_work free_context = *work;
    const struct mf_planned p = planned_of(s, &free_context, "auto", &wish);
    struct mf_plan_numbers settings;
    struct mf_run_plan longest;
    char whole[MF_ERR_TEXT], why[MF_ERR_TEXT];
    int rc;

    snprintf(whole, sizeof whole, "%s", mf_err_text());
    mf_err_take(why, sizeof why);
    free_context.most = work->context;
    free_context.context = 0;
    rc = mf_planned_foresee(&p, &longest);
    if (rc == MF_OK && longest.json && mf_plan_numbers_read(mf_json_get(longest.json, "settings"), &settings))
        rc = mf_fail(MF_MEMORY, "%.700s; try: a context of %zu, which fits%s", why, mf_plan_get(&settings, "context"),
                     work->requests > 1 && !work->waits ? ", or fewer --requests" : "");
    else if (rc == MF_OK)
        rc = mf_fail(MF_MEMORY, "%s", whole);
    mf_run_plan_free(&longest);
    return rc;
}

int mf_infer_plan(struct mf_session *s, const struct mf_gen_work *work, const char *plan, struct mf_engine_wish *wish,
                  struct mf_run_plan *made)
{
    struct mf_gen_work mine = *work;
    const struct mf_planned p = planned_of(s, &mine, plan, wish);
    int rc;

    *wish = (struct mf_engine_wish){.requests = work->requests,
                                    .context = context_of(work),
                                    .pages = work->pages,
                                    .logits = work->logits,
                                    .weights = work->model->weights,
                                    .kept = work->model->kept,
                                    .comm = s->comm,
                                    .map = work->map,
                                    .zero = work->zero,
                                    .streamed = work->host ? SIZE_MAX : 0};
    MF_TRY(mf_agree(s->comm, find_ways(s, work, &wish->tensor, &wish->stages)));
    rc = mf_planned_make(&p, made);
    return rc == MF_MEMORY && work->context ? say_longest(s, work) : rc;
}

int mf_infer_same(const struct mf_session *s, const char *folder)
{
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "vocab.txt",
                                        "modules.json",
                                        "1_Pooling/config.json",
                                        "sentence_bert_config.json",
                                        "model.safetensors",
                                        "model.safetensors.index.json"};
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && s->comm->size > 1 && k < sizeof names / sizeof *names; ++k) {
        char *path = mf_format("%s/%s", folder, names[k]);

        rc = mf_same_file(s->comm, path);
        free(path);
    }
    return rc;
}

/* ---- a dry run ---- */

/* Where not all pages fit, a run has fewer, and a free context may be shorter. Collective. */
static int settle_sizes(struct mf_session *s, struct mf_gen_work *work, size_t *streamed)
{
    struct mf_engine_wish wish = {.requests = 0};
    struct mf_gen_work mine = *work;
    const struct mf_planned p = planned_of(s, &mine, "auto", &wish);
    struct mf_plan_numbers settings;
    struct mf_run_plan plan;

    MF_TRY(mf_planned_foresee(&p, &plan));
    if (plan.json && mf_plan_numbers_read(mf_json_get(plan.json, "settings"), &settings)) {
        work->context = mf_plan_get(&settings, "context");
        work->pages = mf_plan_get(&settings, "pages");
        *streamed = mf_plan_get(&settings, "streamed");
    } else {
        work->context = context_of(work);
        work->pages = work->pages ? work->pages : work->requests * mf_pages_of(work->context);
    }
    mf_run_plan_free(&plan);
    return MF_OK;
}

int mf_infer_book(struct mf_session *s, struct mf_gen_work *work)
{
    const struct mf_plan_rank rank = {.ranks = (size_t)s->comm->size,
                                      .rank = (size_t)s->comm->rank,
                                      .local_size = (size_t)s->comm->local_size,
                                      .threads = (size_t)s->queue->threads,
                                      .simd = "",
                                      .apart = mf_apart(s->queue),
                                      .capability = s->gpu.capability};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan_numbers settings = {.count = 0};
    size_t tensor, stages, streamed = work->host ? SIZE_MAX : 0;

    MF_TRY(find_ways(s, work, &tensor, &stages));
    MF_TRY(settle_sizes(s, work, &streamed));
    mf_plan_set(&settings, "zero", (size_t)work->zero);
    mf_plan_set(&settings, "streamed", streamed);
    mf_plan_set(&settings, "tp", tensor);
    mf_plan_set(&settings, "pp", stages);
    mf_plan_set(&settings, "requests", work->requests);
    mf_plan_set(&settings, "context", work->context);
    mf_plan_set(&settings, "pages", work->pages);
    MF_TRY(mf_gen_workload.bytes(work, &rank, &settings, bytes));
    MF_TRY(mf_arena_book_once(s->device, (ptrdiff_t)bytes[MF_PLAN_STATE].total, "a language model"));
    return rank.apart ? mf_arena_book_once(s->arena, (ptrdiff_t)bytes[MF_PLAN_HOST].total, "a language model") : MF_OK;
}

static int print(const struct mf_session *s, const struct mf_gen_work *work, const struct mf_peaks *peaks)
{
    struct mf_json *json;
    char device[60] = "";
    int fullest = 0, rc;

    if (!mf_common_of(s)->json) {
        for (int r = 1; r < peaks->ranks; ++r)
            if (peaks->arena[r] > peaks->arena[fullest]) fullest = r;
        if (peaks->device) snprintf(device, sizeof device, " and %.0f on its device", peaks->device[fullest]);
        printf("# %s, %zu request%s with a context of %zu: arrays of rank %d take %.0f bytes%s; nothing is computed\n",
               work->name, work->requests, MF_S(work->requests), context_of(work), fullest, peaks->arena[fullest],
               device);
        return MF_OK;
    }
    json = mf_json_object();
    mf_json_bool(json, "dry_run", 1);
    MF_JSON(json, "model", work->name, "requests", work->requests, "context", context_of(work));
    mf_peaks_json(peaks, json);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

int mf_infer_check_ways(const struct mf_session *s, long tensor, long stages)
{
    const long ranks = s->comm->size;

    if (ranks == 1 || tensor + stages == 0) return MF_OK;
    if (!tensor) tensor = ranks > stages ? ranks / stages : 1;
    if (!stages) stages = ranks > tensor ? ranks / tensor : 1;
    if (tensor * stages == ranks) return MF_OK;
    return mf_fail(MF_USAGE, "--tp %ld times --pp %ld is %ld, and %ld ranks run; try: mpirun -n %ld", tensor, stages,
                   tensor * stages, ranks, tensor * stages);
}

int mf_infer_check_streams(const struct mf_session *s, long zero, int host, const char *map)
{
    if (zero != 0 && zero != 3)
        return mf_fail(MF_USAGE,
                       "--zero %ld: there are no moments and no gradients to cut, only weights; try: --zero 3", zero);
    if (zero && (map || mf_options_has(mf_options_of(s), "tp") || mf_options_has(mf_options_of(s), "pp")))
        return mf_fail(MF_USAGE, "--zero 3 cuts every weight among all ranks; leave out %s--pp and --map",
                       mf_options_knows(mf_options_of(s), "tp") ? "--tp, " : "");
    if (zero && host)
        return mf_fail(MF_USAGE,
                       "--zero 3 and --offload-weights host: weights are cut among ranks, or in host memory; leave one "
                       "of them out%s",
                       mf_options_knows(mf_options_of(s), "tp")   ? ", or take --tp with host memory"
                       : mf_options_knows(mf_options_of(s), "pp") ? ", or take --pp with host memory"
                                                                  : "");
    if (host && mf_place_map_has_cores(map))
        return mf_fail(MF_USAGE,
                       "--offload-weights host and 'cpu' in --map: the cores compute what is there; leave one "
                       "of them out");
    return MF_OK;
}

int mf_infer_check_host(const struct mf_session *s, int host)
{
    if (!host || mf_apart(s->queue)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "--offload-weights host: on --device %s there is no other memory than the host's; leave it out",
                   s->backend->name);
}

int mf_infer_counted(const struct mf_session *s, const struct mf_gen_work *work)
{
    struct mf_peaks peaks;
    int rc = MF_OK;

    MF_TRY(mf_peaks_of(s, &peaks));
    if (s->comm->rank == 0) rc = print(s, work, &peaks);
    mf_peaks_free(&peaks);
    return mf_agree(s->comm, rc);
}
