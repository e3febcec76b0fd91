/* The planner with a workload that is no reconstruction. It is a made-up training, with micro-batches and accumulation
 * to a fixed effective batch. Optimiser, gradients and weights are cut over the ranks (ZeRO 0 to 3). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/plan.h"
#include "tests/check.h"

enum { GPUS = 4, MICRO = 16, EFFECTIVE = 64 };

struct training {
    double parameters;
    size_t micro;      /* 0: free */
    double seconds[2]; /* that the trials say */
    size_t effective;  /* batch; 0: EFFECTIVE */
    int ragged;        /* every rank's share is another one, and the later the dearer, as stages may be */
    int twice;         /* each micro-batch is offered twice */
    int named;         /* a level is the name of a setting, not its value */
    size_t refused;    /* micro-batches of this size on are refused; 0: none */
    double pace;       /* in the second way ranks have half of the parameters, and a step takes so many times as long */
};

static size_t effective_of(const struct training *t) { return t->effective ? t->effective : EFFECTIVE; }

static void describe(const void *context, struct mf_plan_lines *problem)
{
    const struct training *t = context;

    mf_plan_say(problem, "verb", "train");
    mf_plan_say(problem, "parameters", "%g", t->parameters);
}

static size_t most_ranks(const void *context) { return effective_of(context); }

static size_t threads(const void *context, size_t ranks, size_t most) { return context && ranks ? most : 0; }

static size_t levels(const void *context, int apart) { return context && apart ? 4 : 1; }

static const char *const cut[] = {"nothing", "optimiser", "gradients", "weights"};

static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    const struct training *t = context;
    const size_t halvings = (trial - 1) / (t->twice ? 2 : 1);
    const size_t micro = trial == 0 ? 1 : t->micro ? t->micro : (size_t)MICRO >> halvings;

    if (micro == 0 || effective_of(t) % place->ranks) return 0;
    mf_plan_set(s, "micro_batch", micro);
    mf_plan_set(s, "accumulation", effective_of(t) / place->ranks / micro);
    mf_plan_set(s, "zero", t->named ? level > 0 : level);
    if (t->named) mf_plan_set(s, cut[level], 1);
    return 1;
}

/* The level that settings are of. */
static size_t zero_of(const struct mf_plan_numbers *s)
{
    for (size_t level = 1; level < sizeof cut / sizeof *cut; ++level)
        if (mf_plan_get(s, cut[level])) return level;
    return mf_plan_get(s, "zero");
}

static uint64_t share(const void *context, const struct mf_plan_numbers *s, size_t ranks, size_t rank)
{
    const struct training *t = context;

    CHECK(rank < ranks && mf_plan_get(s, "micro_batch") > 0);
    return t->ragged ? rank : 0;
}

static void add(struct mf_plan_bytes *b, const char *name, double bytes)
{
    snprintf(b->tag[b->tags].name, sizeof b->tag[0].name, "%s", name);
    b->tag[b->tags++].bytes = (size_t)bytes;
    b->total += (size_t)bytes;
}

static int bytes(const void *context, const struct mf_plan_rank *rank, const struct mf_plan_numbers *s,
                 struct mf_plan_bytes memory[MF_PLAN_MEMORIES])
{
    const struct training *t = context;
    const size_t zero = zero_of(s);
    const double own = mf_plan_get(s, "split") ? t->parameters / 2 : t->parameters;
    struct mf_plan_bytes *b = &memory[MF_PLAN_STATE];

    if (t->refused && mf_plan_get(s, "micro_batch") >= t->refused) return mf_fail(MF_MEMORY, "too many samples");
    add(b, "weights", 4 * own / (zero > 2 ? (double)rank->ranks : 1));
    add(b, "gradients", 4 * own / (zero > 1 ? (double)rank->ranks : 1));
    add(b, "optimiser", 8 * own / (zero > 0 ? (double)rank->ranks : 1));
    add(b, "activations", 2e9 * (double)mf_plan_get(s, "micro_batch"));
    b->fact[0] = 4 * t->parameters;
    b->fact[1] = t->ragged ? (double)rank->rank : 0;
    return MF_OK;
}

static void price(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *s, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct training *t = context;
    const double ranks = (double)place->ranks, stage = t->ragged ? (double)rank + 1 : 1;
    const double reductions = mf_plan_get(s, "zero") > 1 ? (double)mf_plan_get(s, "accumulation") : 1;

    CHECK(fact[0] == 4 * t->parameters && fact[1] == (t->ragged ? (double)rank : 0));
    mf_plan_pay(cost, "arithmetic", stage * 6 * t->parameters * 2048 * EFFECTIVE / ranks / rates->flops);
    if (place->nccl) mf_plan_pay(cost, "exchange", reductions * 2 * fact[0] * (ranks - 1) / ranks / rates->link);
    if (mf_plan_get(s, "split")) mf_plan_scale(cost, t->pace);
    cost->tried = cost->total;
}

static int worse(const struct mf_plan_numbers *a, const struct mf_plan_numbers *b) { return a->count < b->count; }

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *plan)
{
    CHECK(context && fact[0] > 0);
    mf_plan_set(&plan->derived, "effective_batch",
                mf_plan_get(&plan->settings, "micro_batch") * mf_plan_get(&plan->settings, "accumulation") *
                    place->ranks);
    if (mf_plan_get(&plan->settings, "zero")) mf_plan_note(plan, "the optimiser is cut over the ranks");
}

static void show(const struct mf_plan *plan, struct mf_plan_lines *lines)
{
    mf_plan_say(lines, "batch", "%zu samples a step", mf_plan_get(&plan->derived, "effective_batch"));
}

static size_t rivals(const void *context, const struct mf_plan *plan, struct mf_plan_numbers rival[MF_PLAN_TRIALS])
{
    const size_t micro = mf_plan_get(&plan->settings, "micro_batch");

    if (!context || micro < 2) return 0;
    rival[0] = rival[1] = plan->settings;
    mf_plan_set(&rival[1], "micro_batch", micro / 2);
    return 2;
}

static int steps(void *context, size_t n, const struct mf_plan_numbers *tried, double *seconds)
{
    const struct training *t = context;

    CHECK(n == 2 && mf_plan_get(&tried[0], "micro_batch") == 2 * mf_plan_get(&tried[1], "micro_batch"));
    memcpy(seconds, t->seconds, sizeof t->seconds);
    return MF_OK;
}

static void fix(void *context, const struct mf_plan_numbers *tried)
{
    struct training *t = context;

    t->micro = mf_plan_get(tried, "micro_batch");
}

static const char *smaller(const void *context)
{
    (void)context;
    return "a smaller model";
}

static const struct mf_plan_workload workload = {.step = "step",
                                                 .smaller = smaller,
                                                 .describe = describe,
                                                 .most_ranks = most_ranks,
                                                 .threads = threads,
                                                 .levels = levels,
                                                 .settings = settings,
                                                 .share = share,
                                                 .bytes = bytes,
                                                 .price = price,
                                                 .worse = worse,
                                                 .finish = finish,
                                                 .show = show,
                                                 .rivals = rivals,
                                                 .steps = steps,
                                                 .fix = fix};

/* ---- a node of four GPUs ---- */

static struct mf_gpu gpu[GPUS];
static struct mf_link link_of[GPUS * GPUS];
static struct mf_host host;
static const struct mf_hardware hardware = {.hosts = 1, .host = &host};

static void machine(void)
{
    for (size_t g = 0; g < GPUS; ++g)
        gpu[g] = (struct mf_gpu){.name = "GPU",
                                 .memory_bytes = (int64_t)24 << 30,
                                 .memory_free_bytes = (int64_t)23 << 30,
                                 .major = 9,
                                 .numa_node = -1,
                                 .memory_rate = 900,
                                 .fp32_rate = 60,
                                 .host_rate = 50};
    host = (struct mf_host){.count = 1,
                            .simd = "avx512",
                            .cores = 32,
                            .ram_bytes = (int64_t)64 << 30,
                            .ram_available_bytes = (int64_t)60 << 30,
                            .numa_nodes = 1,
                            .gpus = GPUS,
                            .gpu = gpu,
                            .link = link_of};
}

static int make(struct training *t, struct mf_plan *plan)
{
    const struct mf_plan_options options = {.device = "cuda"};

    return mf_plan_make(&(struct mf_plan_ask){&hardware, &workload, t, &options, NULL}, plan);
}

/* The least intrusive level that fits, with the largest micro-batch that fits; the effective batch is kept. */
static void search(void)
{
    static const struct {
        double parameters;
        size_t micro, zero, candidates;
    } cases[] = {{0.5e9, 4, 0, 9}, {1e9, 2, 0, 12}, {2e9, 1, 1, 10}, {4e9, 2, 3, 15}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct training t = {.parameters = cases[i].parameters};
        struct mf_plan plan;

        CHECK(make(&t, &plan) == MF_OK);
        CHECK(plan.device && plan.ranks == GPUS && strcmp(plan.exchange, "nccl") == 0);
        CHECK(mf_plan_get(&plan.settings, "micro_batch") == cases[i].micro);
        CHECK(mf_plan_get(&plan.settings, "zero") == cases[i].zero);
        CHECK(mf_plan_get(&plan.derived, "effective_batch") == EFFECTIVE);
        CHECK(plan.notes == (cases[i].zero > 0));
        CHECK(plan.candidates == cases[i].candidates);
        CHECK(plan.cost.total == mf_plan_paid(&plan.cost, "arithmetic") + mf_plan_paid(&plan.cost, "exchange"));
        CHECK(plan.memory[0].arrays.total == plan.bytes[0][plan.fullest] && plan.memory[0].arrays.tags == 4);
        mf_plan_free(&plan);
    }
}

/* ---- ways ---- */

static size_t ways(const void *context, const struct mf_placement *place, const struct mf_plan_numbers *plain,
                   const struct mf_plan_cost *cost)
{
    const struct training *t = context;

    CHECK(place->ranks > 0 && !plain == (t->parameters > 6e9) && !cost == !plain);
    CHECK(!cost || (cost->total > 0 && mf_plan_get(plain, "micro_batch") > 0));
    return 2;
}

static int in_ways(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                   struct mf_plan_numbers *s)
{
    const size_t plain = levels(context, place->apart);

    if (level >= plain) mf_plan_set(s, "split", 2);
    return settings(context, place, level % plain, trial, s);
}

/* Another way is taken where the plain one does not fit, or a step becomes a tenth shorter. */
static void other_ways(void)
{
    static const struct {
        double parameters, pace;
        size_t split;
        const char *why;
    } cases[] = {{0.5e9, 0.92, 0, ""},
                 {0.5e9, 1.5, 0, ""},
                 {0.5e9, 0.8, 2, "a step takes 1.25 times as long"},
                 {8e9, 1.5, 2, "rank 0 needs 31.66 GiB for arrays, "}};
    const struct mf_plan_options options = {.device = "cuda", .ranks = GPUS};
    struct mf_plan_workload two = workload;

    two.ways = ways;
    two.settings = in_ways;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct training t = {.parameters = cases[i].parameters, .pace = cases[i].pace};
        struct mf_plan plan;
        char why[MF_PLAN_REASON];

        CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &two, &t, &options, NULL}, &plan) == MF_OK);
        CHECK(mf_plan_get(&plan.settings, "split") == cases[i].split);
        CHECK_SAYS(strncmp(mf_plan_why(&plan, why), cases[i].why, strlen(cases[i].why)) == 0, "%s", why);
        CHECK(cases[i].split || *why == '\0');
        mf_plan_free(&plan);
    }
}

static int between(const void *context, const struct mf_plan_numbers *fits, const struct mf_plan_numbers *too_large,
                   double share_of, struct mf_plan_numbers *s)
{
    const size_t low = mf_plan_get(fits, "micro_batch"), high = mf_plan_get(too_large, "micro_batch");
    const size_t more = (size_t)(share_of * (double)(high - low));

    CHECK(context && share_of >= 0 && share_of <= 1 && low < high);
    if (high == low + 1) return 0;
    *s = *fits;
    mf_plan_set(s, "micro_batch", low + (more < 1 ? 1 : more > high - low - 1 ? high - low - 1 : more));
    return 1;
}

/* The largest micro-batch, not only a half of a half. Bytes are on a line, so that few are tried. */
static void narrowed(void)
{
    const struct mf_plan_options options = {.device = "cuda", .ranks = GPUS};
    struct mf_plan_workload fine = workload;
    struct training t = {.parameters = 0.5e9};
    struct mf_plan plan;

    fine.between = between;
    CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &fine, &t, &options, NULL}, &plan) == MF_OK);
    CHECK(mf_plan_get(&plan.settings, "micro_batch") == 7 && mf_plan_get(&plan.settings, "zero") == 0);
    CHECK(plan.candidates == 2 && plan.candidate[1].chosen &&
          mf_plan_get(&plan.candidate[0].settings, "micro_batch") == MICRO);
    t.refused = 6; /* nobody knows the bytes of those */
    mf_plan_free(&plan);
    CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &fine, &t, &options, NULL}, &plan) == MF_OK);
    CHECK(mf_plan_get(&plan.settings, "micro_batch") == 5);
    mf_plan_free(&plan);
}

static void refusal(void)
{
    struct training t = {.parameters = 20e9};
    struct mf_plan plan;

    CHECK(make(&t, &plan) == MF_MEMORY);
    CHECK(plan.least && strstr(mf_err_text(), "(4 ranks on GPUs, micro_batch 1, accumulation 16, zero 3)"));
    CHECK(strstr(mf_err_text(), "try: more ranks or nodes, a smaller model"));
    mf_plan_free(&plan);
}

/* The effective batch does not divide among three ranks, so there is nothing to try. */
static void indivisible(void)
{
    const struct mf_plan_options options = {.device = "auto", .ranks = 3};
    struct training t = {.parameters = 1e9};
    struct mf_plan plan;

    CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &workload, &t, &options, NULL}, &plan) == MF_USAGE);
    CHECK(strstr(mf_err_text(), "no settings are possible with 3 ranks") && plan.candidates == 0);
    mf_plan_free(&plan);
}

/* Ranks whose shares differ, more of them than any table would hold. */
static void many(void)
{
    const struct mf_plan_options options = {.device = "cuda", .ranks = 4096};
    struct training t = {.parameters = 0.5e9, .effective = 8192, .ragged = 1};
    struct mf_plan plan;

    host.count = 1024;
    CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &workload, &t, &options, NULL}, &plan) == MF_OK);
    CHECK(plan.ranks == 4096 && plan.bytes[0][4095] > 0);
    mf_plan_free(&plan);
    host.count = 1;
}

/* Settings of equal values and other names are others. */
static void named(void)
{
    struct training t = {.parameters = 4e9, .named = 1};
    struct mf_plan plan;

    CHECK(make(&t, &plan) == MF_OK && zero_of(&plan.settings) == 3);
    mf_plan_free(&plan);
}

/* The dearest rank of one node is priced. */
static void slowest(void)
{
    const struct mf_plan_options options = {.device = "cpu", .ranks = 4};
    double seconds[2];

    for (int ragged = 0; ragged < 2; ++ragged) {
        struct training t = {.parameters = 0.1e9, .ragged = ragged};
        struct mf_plan plan;

        CHECK(mf_plan_make(&(struct mf_plan_ask){&hardware, &workload, &t, &options, NULL}, &plan) == MF_OK);
        seconds[ragged] = mf_plan_paid(&plan.cost, "arithmetic");
        mf_plan_free(&plan);
    }
    CHECK(seconds[0] > 0 && fabs(seconds[1] / seconds[0] - 4) < 1e-9);
}

/* A refused plan is refused again when it is asked for again. */
static void refused_twice(void)
{
    struct training t = {.parameters = 0.1e9, .twice = 1, .refused = 8};
    struct mf_plan plan;

    CHECK(make(&t, &plan) == MF_OK && mf_plan_get(&plan.settings, "micro_batch") == 4);
    mf_plan_free(&plan);
}

/* The time of a real step wins, if it gains enough. */
static void verified(void)
{
    const struct mf_plan_options options = {.device = "cuda"};
    struct mf_comm self;

    mf_comm_self(&self);
    for (int gains = 0; gains < 2; ++gains) {
        struct training t = {.parameters = 1e9, .seconds = {1, gains ? 0.9 : 0.98}};
        const struct mf_plan_ask ask = {&hardware, &workload, &t, &options, NULL};
        struct mf_plan plan;

        CHECK(mf_plan_make(&ask, &plan) == MF_OK && mf_plan_verify(&self, &ask, &plan) == MF_OK);
        CHECK(plan.trials == 2 && plan.trial[1].measured == t.seconds[1] && plan.trial[0].predicted > 0);
        CHECK(mf_plan_get(&plan.settings, "micro_batch") == (gains ? 1 : 2));
        mf_plan_free(&plan);
    }
}

/* Settings go into a file and back by name. */
static void stored(const char *path)
{
    struct training t = {.parameters = 2e9};
    struct mf_plan plan, back;
    struct mf_json *json;
    FILE *file;

    CHECK(make(&t, &plan) == MF_OK);
    json = mf_plan_json(&plan);
    CHECK(mf_json_save(json, path, path) == MF_OK);
    CHECK(mf_json_to_real(mf_json_get(mf_json_get(json, "seconds_per_step"), "exchange")) > 0);
    mf_json_free(json);
    CHECK(mf_plan_read(path, &back) == MF_OK && strcmp(back.hash, plan.hash) == 0);
    CHECK(memcmp(&back.settings, &plan.settings, sizeof plan.settings) == 0);
    CHECK(mf_plan_same(path, &back, &plan.problem, &hardware) == MF_OK);
    CHECK(mf_plan_for_setting(path, &back, "zero", "--zero", 1) == MF_OK);
    CHECK(mf_plan_for_setting(path, &back, "zero", "--zero", 2) == MF_USAGE);
    t.parameters = 1e9;
    mf_plan_lines_free(&plan.problem);
    describe(&t, &plan.problem);
    CHECK(mf_plan_same(path, &back, &plan.problem, &hardware) == MF_INPUT);
    mf_plan_free(&plan);
    mf_plan_free(&back);
    file = fopen(path, "w");
    fputs("{\"schema\": \"plan\", \"schema_version\": 1, \"history\": 2}", file);
    fclose(file);
    CHECK(mf_plan_read(path, &back) == MF_INPUT && strstr(mf_err_text(), "is a plan of schema version 1"));
    remove(path);
}

/* Lines of any number and length are compared to their ends. */
static void lines(void)
{
    static const char key[] = "a key of more than thirty letters, number %d", long_value[] = "%0250d";
    struct mf_plan stored = {.problem = {.count = 0}};
    struct mf_plan_lines same = {.count = 0}, other = {.count = 0};
    char name[64];

    mf_plan_machine(&hardware, &stored.machine);
    for (int i = 0; i < 100; ++i) {
        snprintf(name, sizeof name, key, i);
        mf_plan_say(&stored.problem, name, long_value, i);
        mf_plan_say(&same, name, long_value, i);
        mf_plan_say(&other, name, long_value, i == 99 ? 98 : i);
    }
    CHECK(mf_plan_same("file", &stored, &same, &hardware) == MF_OK);
    CHECK(mf_plan_same_key("file", &stored, &same, name) == MF_OK);
    CHECK(mf_plan_same("file", &stored, &other, &hardware) == MF_INPUT);
    CHECK(mf_plan_same_key("file", &stored, &other, name) == MF_INPUT && strstr(mf_err_text(), name));
    mf_plan_say(&same, "type", "bf16"); /* one that the other lacks is named, not the line that stands there */
    mf_plan_say(&same, "last", "1");
    mf_plan_say(&stored.problem, "last", "1");
    CHECK(mf_plan_same("file", &stored, &same, &hardware) == MF_INPUT &&
          strstr(mf_err_text(), "here it is 'type: bf16'"));
    mf_plan_lines_free(&same);
    mf_plan_lines_free(&other);
    mf_plan_free(&stored);
}

/* A file's names of settings are told apart by all of their letters, or refused. */
static void names(void)
{
    struct mf_json *json = mf_json_parse("{\"twenty-three letters ...a\": 1}");
    struct mf_plan_numbers numbers = {.count = 0};

    CHECK(json && !mf_plan_numbers_read(json, &numbers));
    mf_json_free(json);
    mf_plan_set(&numbers, "micro", 1);
    mf_plan_set(&numbers, "micro_batch", 2);
    CHECK(mf_plan_get(&numbers, "micro") == 1 && mf_plan_get(&numbers, "micro_batch") == 2);
}

int main(void)
{
    machine();
    lines();
    names();
    search();
    other_ways();
    narrowed();
    refusal();
    indivisible();
    many();
    slowest();
    named();
    refused_twice();
    verified();
    stored("plan_workload.json");
    return failures != 0;
}
