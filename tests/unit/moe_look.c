/* A look at samples shows what the first mixture does with them. The numbers of the router and of each expert follow
 * from the weights, on any ranks, in all stages. A survey counts them. A small network alone learns as by hand. */
#include "src/moe/look.h"

#include "src/train/carry.h"
#include "src/train/mlp.h"
#include "src/train/workload.h"
#include "tests/unit/moe_life.h"

/* -- what a look says -- */

/* The sums of all rows that were seen. */
struct seen {
    const struct mf_carry *carry;
    size_t samples;
    double wrong;
};

static double relu_or_not(double x, int relu) { return relu && x < 0 ? 0 : x; }

/* A layer of an expert, in double. */
static void layer(const struct mf_carry *c, long id, size_t number, size_t n, const double *x, int relu, double *y)
{
    const struct mf_carried *w = mf_carry_expert(c, id, number, "weight"), *b = mf_carry_expert(c, id, number, "bias");

    CHECK(w && b && w->shape.d[1] == n);
    for (size_t o = 0; o < w->shape.d[0]; ++o) {
        double sum = (double)b->state[0][o];

        for (size_t j = 0; j < n; ++j) sum += (double)w->state[0][o * n + j] * x[j];
        y[o] = relu_or_not(sum, relu);
    }
}

static void see(void *context, const struct mf_looked *look)
{
    struct seen *s = context;
    const struct mf_record *r = &look->sizes;
    const struct mf_carried *gate = mf_carry_router(s->carry, "weight"), *shift = mf_carry_router(s->carry, "bias");

    s->samples += look->rows / look->each;
    for (size_t row = 0; row < look->rows; ++row) {
        const float *inner = r->hidden ? look->inner + row * r->hidden : look->input + row * r->columns;
        const size_t inners = r->hidden ? r->hidden : r->columns;
        double x[64], h[64], y[64];

        for (size_t e = 0; e < look->experts; ++e) {
            double sum = (double)shift->state[0][e];

            for (size_t j = 0; j < inners; ++j) sum += (double)gate->state[0][e * inners + j] * (double)inner[j];
            s->wrong = fmax(s->wrong, fabs(sum - (double)look->score[row * look->experts + e]));
        }
        for (size_t j = 0; j < r->columns; ++j) x[j] = (double)look->input[row * r->columns + j];
        for (size_t k = 0; k < r->top; ++k) {
            const long id = s->carry->experts.id[look->choice[row * r->top + k]];

            layer(s->carry, id, 1, r->columns, x, 1, h);
            layer(s->carry, id, 2, WIDTH, h, 0, y);
            for (size_t o = 0; o < r->outputs; ++o)
                s->wrong = fmax(s->wrong, fabs(y[o] - (double)look->output[(row * r->top + k) * r->outputs + o]));
        }
    }
}

static void looks(const struct bed *b, const char *model, size_t ways)
{
    struct mf_train_opts o = mixture(model, batch_for(&b->world, WINDOW, 1));

    o.ways = ways;

    for (o.stage = 0; o.stage < 4; o.stage += 3) {
        struct mf_trainer t;
        struct mf_carry *carry;
        struct seen seen = {0};
        double samples;

        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 2);
        CHECK(mf_carry_take(&t, &carry) == MF_OK);
        seen.carry = carry;
        CHECK(mf_look_at(&t, LEARNT, b->set->id[MF_TRAIN], see, &seen) == MF_OK);
        samples = (double)seen.samples;
        mf_comm_sum(&b->world, 1, &samples);
        CHECK(samples == LEARNT);
        CHECK_SAYS(seen.wrong < 1e-4, "%s, stage %d: a look is wrong by %g", model, o.stage, seen.wrong);
        mf_carry_free(carry);
        mf_trainer_close(&t);
    }
}

static void uncertainties(void)
{
    const float even[] = {2, 2, 2, 2}, sure[] = {100, 0, -100, 0}, two[] = {0, 0, -200, -200};

    CHECK_NEAR(mf_look_uncertainty(even, 4), 1, 1e-12);
    CHECK(mf_look_uncertainty(sure, 4) < 1e-12);
    CHECK_NEAR(mf_look_uncertainty(two, 4), 0.5, 1e-12);
    CHECK(mf_look_uncertainty(even, 1) == 0);
}

/* -- surveys -- */

static void surveys(const struct bed *b, int classify)
{
    struct mf_train_opts o = mixture("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_trainer t;
    struct mf_survey s;
    struct mf_groups groups;
    double counted = 0, sum = 0, of[8] = {0};

    o.task = &bed_task[classify ? OF_CLASSES : OF_COLUMNS];
    trainer_open(b, &b->world, b->set, &o, &t);
    groups = mf_groups_of(&t);
    CHECK(groups.count == (classify ? CLASSES : 8));
    for (size_t i = 0; i < LEARNT; ++i) {
        const long g = mf_groups_find(&groups, b->set->id[MF_TRAIN][i]);

        CHECK(g < (long)groups.count && (g >= 0 || classify));
        if (g >= 0) of[g] += 2; /* every row goes to two experts */
    }
    CHECK(mf_survey_make(&t, &groups, MF_TRAIN, 1000, &s) == MF_OK);
    for (size_t e = 0; e < s.experts; ++e) sum += s.rows[e];
    CHECK(sum == 2 * LEARNT);
    for (size_t g = 0; g < groups.count; ++g) {
        for (counted = 0, sum = 0; sum < (double)s.experts; ++sum) counted += s.table[(size_t)sum * s.groups + g];
        CHECK(counted == of[g]);
    }
    mf_survey_free(&s);
    memset(&s, 1, sizeof s);
    mf_fault_set("room:rank=0"); /* there is no memory on rank 0 */
    CHECK(mf_survey_make(&t, &groups, MF_TRAIN, 1000, &s) == MF_MEMORY);
    mf_fault_set(NULL);
    mf_survey_free(&s);
    mf_trainer_close(&t);
}

static void specialisation(void)
{
    double table[] = {8, 0, 0, 0, 4, 4, 4, 4, 3, 3, 0, 0, 0, 0, 0, 0};
    const struct mf_survey s = {.experts = 4, .groups = 4, .table = table};

    CHECK_NEAR(mf_survey_specialization(&s, 0), 1, 1e-12);
    CHECK_NEAR(mf_survey_specialization(&s, 1), 0, 1e-12);
    CHECK_NEAR(mf_survey_specialization(&s, 2), 0.5, 1e-12);
    CHECK(mf_survey_specialization(&s, 3) == 0);
    CHECK(mf_survey_main(&s, 0) == 0 && mf_survey_main(&s, 1) == 0 && mf_survey_main(&s, 3) == -1);
}

/* -- a small network alone -- */

/* One layer by hand: y = w x + b, mean of squares, two steps of adam. */
static void mlp(const struct bed *b)
{
    const struct mf_mlp_wish wish = {.columns = 2, .width = 0, .depth = 0, .outputs = 1, .batch = 4};
    float w[2] = {0.5F, -1}, shift[1] = {0.25F};
    float *const weight[] = {w, shift};
    const float x[3][2] = {{1, 2}, {-1, 0.5F}, {3, 1}}, y[3] = {1, 0, -2};
    const float *const row[] = {x[0], x[1], x[2]};
    const void *const target[] = {&y[0], &y[1], &y[2]};
    double p[3] = {0.5, -1, 0.25}, m[3] = {0}, v[3] = {0};
    struct mf_mlp *l;

    CHECK_SAYS(mf_mlp_open(&wish, b->device.q, &l) == MF_OK, "%s", mf_err_text());
    mf_mlp_put(l, weight);
    for (int step = 1; step <= 2; ++step) {
        double g[3] = {0}, loss = 0;
        const double got = mf_mlp_step(l, 3, row, target, 0.01);

        for (int r = 0; r < 3; ++r) {
            const double d = p[0] * (double)x[r][0] + p[1] * (double)x[r][1] + p[2] - (double)y[r];

            loss += d * d / 3;
            for (int j = 0; j < 3; ++j) g[j] += 2 * d * (j < 2 ? (double)x[r][j] : 1) / 3;
        }
        CHECK_NEAR(got, loss, 1e-5);
        for (int j = 0; j < 3; ++j) {
            m[j] = 0.9 * m[j] + 0.1 * g[j];
            v[j] = 0.999 * v[j] + 0.001 * g[j] * g[j];
            p[j] -= 0.01 * (m[j] / (1 - pow(0.9, step))) / (sqrt(v[j] / (1 - pow(0.999, step))) + 1e-6);
        }
    }
    mf_mlp_get(l, weight);
    CHECK_NEAR((double)w[0], p[0], 1e-5);
    CHECK_NEAR((double)w[1], p[1], 1e-5);
    CHECK_NEAR((double)shift[0], p[2], 1e-5);
    mf_mlp_close(l);
}

/* -- memory -- */

/* A look without memory is left out. */
static void spared(const struct bed *b)
{
    const struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    const char *const faults[] = {"memory:visit=1:rank=0", "memory:visit=2"};
    struct life l;

    open_life(b, &b->world, &o, &growth, &usual_sleep, &l);
    steps_until(&l.t, 1);
    for (int k = 0; k < 2; ++k) {
        mf_fault_set(faults[k]);
        CHECK(mf_replay_look(&l.sleep.replay, &l.t, WINDOW) == MF_MEMORY && l.sleep.replay.count == 0);
        mf_err_clear();
        mf_fault_set(faults[k]);
        CHECK_SAYS(mf_grow_epoch(&l.grow, &l.t) == MF_OK, "%s", mf_err_text());
        CHECK(mf_graph_best(&l.grow.graph, 0) < 0);
    }
    mf_fault_set(NULL);
    CHECK(mf_grow_epoch(&l.grow, &l.t) == MF_OK && mf_graph_best(&l.grow.graph, 0) >= 0);
    close_life(&l);
}

struct tagged {
    const struct mf_plan_bytes *planned; /* [MF_PLAN_MEMORIES] */
    size_t found;
};

/* The plan has what this tag took at most. */
static void compare_tag(void *context, const char *tag, size_t live, size_t peak)
{
    static const char *const tags[] = {"looks at experts", "a survey of experts", "records of a look",
                                       "records that are replayed"};
    struct tagged *t = context;
    size_t planned = 0, k = 0;

    (void)live;
    while (k < 4 && strcmp(tags[k], tag) != 0) ++k;
    if (k == 4) return;
    ++t->found;
    for (int m = 0; m < MF_PLAN_MEMORIES; ++m)
        for (size_t i = 0; i < t->planned[m].tags; ++i)
            if (strcmp(t->planned[m].tag[i].name, tag) == 0) planned += t->planned[m].tag[i].bytes;
    CHECK_SAYS(planned >= peak && planned <= 2 * peak + 1024, "%s: %zu bytes planned, %zu taken", tag, planned, peak);
}

static void planned(const struct bed *b)
{
    const struct mf_plan_rank rank = {.ranks = (size_t)b->world.size,
                                      .rank = (size_t)b->world.rank,
                                      .local_size = (size_t)b->world.local_size,
                                      .threads = 1,
                                      .apart = device_backend()->host_mem != NULL,
                                      .capability = device_backend()->devices ? MF_GPU_OLDEST : 0,
                                      .simd = ""};
    struct mf_train_opts o = of_life("moe", batch_for(&b->world, WINDOW, 1));
    const struct mf_train_work w = {.set = b->set, .opts = &o, .effective = WINDOW, .readers = -1};
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    struct mf_plan_numbers settings = {.count = 0};
    const struct mf_grow_opts still = {.threshold = 1, .window = 3, .least = EXPERTS, .most = EXPERTS};
    struct device d = device_open_on(device_backend(), 1, 1, 0);
    struct tagged tagged = {bytes, 0};
    struct life l = {0};

    o.grows = 1;
    o.sleep = (struct mf_sleep_memory){(size_t)usual_sleep.records, (size_t)usual_sleep.bytes, 8};
    mf_train_give_settings(&o, &settings);
    CHECK_SAYS(mf_train_bytes(&w, &rank, &settings, bytes) == MF_OK, "%s", mf_err_text());
    CHECK(mf_trainer_open(&b->world, d.host, d.q, b->set, &o, &l.t) == MF_OK);
    mf_grow_open(&l.grow, &still, &l.t);
    CHECK(mf_sleep_open(&l.sleep, &usual_sleep, &l.grow, &l.t) == MF_OK);
    l.loop = (struct mf_loop){.trainer = &l.t};
    steps_until(&l.t, 1);
    CHECK(mf_replay_look(&l.sleep.replay, &l.t, WINDOW) == MF_OK && mf_grow_epoch(&l.grow, &l.t) == MF_OK);
    close_life(&l);
    mf_arena_tags(d.host, compare_tag, &tagged);
    CHECK(tagged.found == 4);
    device_close(&d);
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    looks(&b, "moe", 0);
    looks(&b, "vit", 0);
    if (b.world.size > 1) looks(&b, "moe", (size_t)b.world.size);
    if (b.world.size > 1) looks(&b, "vit", (size_t)b.world.size);
    uncertainties();
    surveys(&b, 1);
    surveys(&b, 0);
    specialisation();
    mlp(&b);
    spared(&b);
    planned(&b);
    bed_close(&b);
    return failures != 0;
}
