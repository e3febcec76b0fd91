/* The plan of a language model: its bytes are those that an engine takes, in one memory and in two. The
 * longest context fits, and a page more does not.
 * usage: gen_workload FOLDER MODEL ... */
#include "src/gen/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/tuning.h"
#include "src/base/text.h"
#include "src/gen/engine.h"
#include "src/gen/ranks.h"
#include "src/model/language_files.h"
#include "tests/device.h"

enum { STREAMED = 3 /* parts whose weights are in host memory */ };

static int told(void *context, uint32_t token, double log_probability)
{
    (void)token, (void)log_probability;
    ++*(size_t *)context;
    return 1;
}

/* Runs requests to their end. */
static void run(struct mf_engine *engine, size_t requests, size_t tokens, size_t most)
{
    const uint32_t prompt[] = {5, 7, 9, 11, 13, 6, 8, 10, 12};
    size_t made = 0;

    CHECK(tokens <= sizeof prompt / sizeof *prompt);
    for (size_t k = 0; k < requests; ++k) {
        const struct mf_request r = {
            .token = prompt, .tokens = tokens, .most = most, .told = told, .context = &made, .likely = 1};

        CHECK(mf_engine_add(engine, &r) == 1);
    }
    while (mf_engine_step(engine) > 0) {}
    CHECK(made == requests * most);
}

static int bytes_of(const struct mf_gen_work *w, const struct mf_plan_rank *rank, size_t context,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    struct mf_plan_numbers settings = {.count = 0};

    mf_plan_set(&settings, "requests", w->requests);
    mf_plan_set(&settings, "context", context);
    mf_plan_set(&settings, "pages", w->pages ? w->pages : w->requests * mf_pages_of(context));
    mf_plan_set(&settings, "tp", w->tensor ? w->tensor : 1);
    mf_plan_set(&settings, "pp", w->stages ? w->stages : 1);
    mf_plan_set(&settings, "zero", (size_t)w->zero);
    mf_plan_set(&settings, "streamed", w->host ? STREAMED : 0);
    return mf_gen_workload.bytes(w, rank, &settings, bytes);
}

/* Returns 0 where it has no GPU. */
static int capability_of(const struct mf_backend *backend)
{
    struct mf_device_id id;

    return backend->devices && backend->devices(1, &id) > 0 ? id.capability : 0;
}

/* Exactly; on a GPU its libraries may take less for their work than a plan counts. */
static int is_taken(const struct mf_plan_rank *rank, size_t taken, size_t planned)
{
    return rank->capability ? planned >= taken && planned - taken <= MF_TUNING_WORK : planned == taken;
}

/* On a GPU, or what stands for it, nothing runs: that is slow. */
static void check_size(const struct mf_comm *comm, const char *path, const struct mf_gen_work *work,
                       const struct mf_backend *backend)
{
    const struct mf_engine_wish wish = {.requests = work->requests,
                                        .context = work->context,
                                        .logits = work->logits,
                                        .pages = work->pages,
                                        .comm = comm,
                                        .tensor = work->tensor,
                                        .stages = work->stages,
                                        .map = work->map,
                                        .zero = work->zero,
                                        .streamed = work->host ? STREAMED : 0};
    struct device d = device_open_on(backend, 1, 0, 0);
    const struct mf_plan_rank rank = {.ranks = (size_t)comm->size,
                                      .rank = (size_t)comm->rank,
                                      .local_size = (size_t)comm->local_size,
                                      .threads = 1,
                                      .simd = "",
                                      .apart = d.host != d.arena,
                                      .capability = capability_of(backend)};
    const size_t before = mf_arena_live(d.arena), before_host = mf_arena_live(d.host);
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_engine *engine;

    CHECK_SAYS(mf_engine_open(path, &wish, d.q, &engine) == MF_OK, "%s", mf_err_text());
    if (engine && !rank.capability) run(engine, wish.requests, work->context < 17 ? 3 : 9, 7);
    CHECK(bytes_of(work, &rank, work->context, bytes) == MF_OK);
    CHECK_SAYS(is_taken(&rank, mf_arena_peak(d.arena) - before, bytes[MF_PLAN_STATE].total),
               "%s on %s, rank %d of %zu x %zu: %zu bytes, and not %zu", path, backend->name, comm->rank, work->tensor,
               work->stages, mf_arena_peak(d.arena) - before, bytes[MF_PLAN_STATE].total);
    if (rank.apart)
        CHECK_SAYS(mf_arena_peak(d.host) - before_host == bytes[MF_PLAN_HOST].total, "%s: %zu bytes, and not %zu", path,
                   mf_arena_peak(d.host) - before_host, bytes[MF_PLAN_HOST].total);
    mf_engine_close(engine);
    device_close(&d);
}

/* A table on the GPU and on the cores is refused. On the cores alone all parts are there. */
static void check_shared(const char *path, const struct mf_language *model, const struct mf_backend *backend)
{
    const struct mf_engine_wish wish = {.requests = 1, .context = 12, .map = "head=cpu,*=cuda:0"};
    struct device d = device_open_on(backend, 1, 0, 0);
    const int refuses = model->tied && d.host != d.arena;
    struct mf_engine *engine;

    CHECK(mf_engine_open(path, &wish, d.q, &engine) == (refuses ? MF_USAGE : MF_OK));
    CHECK(!refuses || strstr(mf_err_text(), "share 'tokens.weight'"));
    mf_err_clear();
    mf_engine_close(engine);
    device_close(&d);
}

/* All ways of the ranks to share it. */
static void check_bytes(const struct mf_comm *comm, const char *path, const struct mf_language *model,
                        const char *device)
{
    static const struct mf_gen_size sizes[] = {{1, 12, 0, 0}, {3, 40, 1, 5}, {5, 17, 0, 0}};
    const size_t ranks = (size_t)comm->size;
    const struct mf_backend *backend = NULL;

    if (mf_backend_find(&backend, device) != MF_OK) mf_err_clear();
    if (backend && ranks == 1) check_shared(path, model, backend);
    for (size_t tensor = backend ? 1 : ranks + 1; tensor <= ranks; ++tensor) {
        const struct mf_gen_grid grid = {comm, tensor, ranks / tensor, NULL, 0, 0};

        for (size_t k = 0; mf_gen_grid_check(model, &grid) == MF_OK && k < sizeof sizes / sizeof *sizes; ++k) {
            const struct mf_gen_work work = {.model = model,
                                             .requests = sizes[k].requests,
                                             .context = sizes[k].context,
                                             .logits = sizes[k].logits,
                                             .pages = sizes[k].pages,
                                             .tensor = tensor,
                                             .stages = grid.stages};
            struct mf_gen_work beside = work, host = work;

            host.host = 1;
            check_size(comm, path, &host, backend);
            beside.map = "layers.0=cpu,*=cuda:0";
            check_size(comm, path, &work, backend);
            if (ranks == 1) check_size(comm, path, &beside, backend);
        }
        mf_err_clear();
    }
    for (size_t k = 0; backend && k < sizeof sizes / sizeof *sizes; ++k)
        check_size(comm, path,
                   &(struct mf_gen_work){.model = model,
                                         .requests = sizes[k].requests,
                                         .context = sizes[k].context,
                                         .logits = sizes[k].logits,
                                         .pages = sizes[k].pages,
                                         .tensor = 1,
                                         .stages = 1,
                                         .zero = 3},
                   backend);
}

/* On a machine that has room for half of the model's context. */
static void check_longest(const struct mf_language *model)
{
    struct mf_gen_work work = {.model = model, .name = "tiny", .requests = 3, .prompt = 4, .made = 4};
    const struct mf_plan_rank rank = {.ranks = 1, .local_size = 1, .threads = 1, .simd = "avx2"};
    struct mf_host host = {.count = 1,
                           .simd = "avx2",
                           .cores = 1,
                           .ram_bytes = (int64_t)64 << 30,
                           .ram_available_bytes = (int64_t)60 << 30};
    const struct mf_hardware hardware = {.hosts = 1, .host = &host};
    struct mf_plan_options options = {.device = "cpu", .ranks = 1, .threads = 1};
    const struct mf_plan_ask ask = {&hardware, &mf_gen_workload, &work, &options, NULL};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan plan;
    size_t context;

    CHECK(mf_plan_make(&ask, &plan) == MF_OK && mf_plan_get(&plan.settings, "context") == model->context);
    CHECK(plan.notes == 0 && plan.cost.total > 0 && plan.run.parts == 2);
    mf_plan_free(&plan);
    CHECK(bytes_of(&work, &rank, model->context / 2 + 5, bytes) == MF_OK);
    options.memory_limit = bytes[MF_PLAN_STATE].total;
    CHECK(mf_plan_make(&ask, &plan) == MF_OK);
    context = mf_plan_get(&plan.settings, "context");
    CHECK(context % MF_KEPT_PAGE == 0 && context >= model->context / 2 && plan.notes == 1);
    CHECK(plan.memory[MF_PLAN_STATE].arrays.total <= options.memory_limit);
    CHECK(bytes_of(&work, &rank, context + MF_KEPT_PAGE, bytes) == MF_OK &&
          bytes[MF_PLAN_STATE].total > options.memory_limit);
    mf_plan_free(&plan);
    work.context = model->context;
    CHECK(mf_plan_make(&ask, &plan) == MF_MEMORY && strstr(mf_err_text(), "requests 3, context"));
    mf_err_clear();
    mf_plan_free(&plan);
    work.pages = 2 * mf_pages_of(work.context) + 1;
    CHECK(bytes_of(&work, &rank, work.context, bytes) == MF_OK);
    options.memory_limit = bytes[MF_PLAN_STATE].total + 1;
    work.pages = 0;
    work.waits = 1;
    CHECK(mf_plan_make(&ask, &plan) == MF_OK && mf_plan_get(&plan.settings, "requests") == 3 && plan.notes == 1);
    CHECK(mf_plan_get(&plan.settings, "pages") == 2 * mf_pages_of(work.context) + 1);
    CHECK(plan.memory[MF_PLAN_STATE].arrays.total + 1 == options.memory_limit);
    mf_plan_free(&plan);
}

/* Seconds on one core of an AMD EPYC (AVX2) without other work: medians of steps, and of prompts of 512 tokens. */
static const struct timed {
    const char *name;
    struct mf_language sizes;
    double prompt;
    struct {
        enum mf_type type;
        double one, eight;       /* a step of one and of eight requests */
    } step[3];                   /* behind 32 tokens */
    double long_one, long_eight; /* f32, behind 512 tokens */
} timed[] = {{.name = "GPT-2 of 124 million",
              .sizes = {.family = MF_GPT2,
                        .vocabulary = 50257,
                        .context = 1024,
                        .layers = 12,
                        .width = 768,
                        .embedding = 768,
                        .heads = 12,
                        .key_heads = 12,
                        .head_width = 64,
                        .inner = 3072,
                        .act = MF_ACT_GELU_TANH,
                        .epsilon = 1e-5,
                        .tied = 1,
                        .last_norm = 1,
                        .attention_bias = 1,
                        .inner_bias = 1},
              .prompt = 1.79,
              .step = {{MF_F32, 0.0552, 0.0930}, {MF_BF16, 0.0295, 0.0733}, {MF_I8, 0.0163, 0.0639}},
              .long_one = 0.0585,
              .long_eight = 0.167},
             {.name = "Llama of 160 million",
              .sizes = {.family = MF_LLAMA,
                        .vocabulary = 32000,
                        .context = 2048,
                        .layers = 8,
                        .width = 1024,
                        .embedding = 1024,
                        .heads = 16,
                        .key_heads = 8,
                        .head_width = 64,
                        .inner = 2816,
                        .act = MF_ACT_SILU,
                        .epsilon = 1e-5,
                        .last_norm = 1,
                        .rope = {.kind = MF_ROPE_PLAIN, .base = 1e4}},
              .prompt = 1.85,
              .step = {{MF_F32, 0.0592, 0.1081}, {MF_BF16, 0.0274, 0.0708}, {MF_I8, 0.0223, 0.0608}},
              .long_one = 0.0552,
              .long_eight = 0.142}};

static int is_near(double x, double y) { return x < 1.5 * y && y < 1.5 * x; }

/* @p step, @p prompt: seconds; 0: nobody knows. */
static void check_time(const struct mf_language *model, const char *name, size_t requests, size_t tokens, double step,
                       double prompt)
{
    struct mf_host host = {.count = 1, .simd = "avx2", .cores = 2, .ram_bytes = (int64_t)64 << 30};
    const struct mf_hardware hardware = {.hosts = 1, .host = &host};
    struct mf_plan_options options = {.device = "cpu", .ranks = 1, .threads = 1};
    struct mf_gen_work work = {
        .model = model, .name = name, .requests = requests, .context = tokens + 24, .prompt = tokens, .made = 24};
    const struct mf_plan_ask ask = {&hardware, &mf_gen_workload, &work, &options, NULL};
    struct mf_plan plan;
    double each;

    host.ram_available_bytes = host.ram_bytes;
    CHECK_SAYS(mf_plan_make(&ask, &plan) == MF_OK, "%s", mf_err_text());
    each = mf_plan_paid(&plan.run, "prompts") / (double)requests;
    CHECK_SAYS(step == 0 || is_near(plan.cost.total, step),
               "%s, %s, %zu requests behind %zu tokens: a step of %g s, and not %g", name, mf_type_name(model->weights),
               requests, tokens, plan.cost.total, step);
    CHECK_SAYS(prompt == 0 || is_near(each, prompt), "%s: a prompt of %g s, and not %g", name, each, prompt);
    mf_plan_free(&plan);
}

static void check_seconds(void)
{
    for (const struct timed *t = timed; t < timed + sizeof timed / sizeof *timed; ++t) {
        struct mf_language model = t->sizes;

        for (int k = 0; k < 3; ++k) {
            model.weights = t->step[k].type;
            check_time(&model, t->name, 1, 32, t->step[k].one, 0);
            check_time(&model, t->name, 8, 32, t->step[k].eight, 0);
            check_time(&model, t->name, 1, 512, k == 0 ? t->long_one : 0, t->prompt);
        }
        model.weights = MF_F32;
        check_time(&model, t->name, 8, 512, t->long_eight, t->prompt);
    }
}

static void check_model(const struct mf_comm *comm, const char *path)
{
    static const char *const devices[] = {"cpu", "shadow", "cuda"};
    struct mf_language model;
    int has_weights;

    CHECK_SAYS(mf_decoder_read(path, &model, &has_weights) == MF_OK && has_weights, "%s", mf_err_text());
    for (int k = 0; k < 3; ++k) check_bytes(comm, path, &model, devices[k]);
    if (comm->size == 1) check_longest(&model);
}

int main(int argc, char **argv)
{
    struct mf_comm comm;

    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    if (argc > 1 && access(argv[1], F_OK) != 0) {
        mf_comm_close(&comm);
        return 77;
    }
    if (comm.size == 1) check_seconds();
    for (int k = 2; k < argc; ++k) {
        char *path = mf_format("%s/%s", argv[1], argv[k]);

        check_model(&comm, path);
        free(path);
    }
    mf_comm_close(&comm);
    return failures != 0;
}
