/* Every optimiser on a quadratic whose minimum lies partly outside of the box. No evaluation leaves the field as it is,
 * a few lower the loss and keep the best point. The tolerance ends a run. A run that is stopped and loaded at every
 * step ends in the bits of one that is not. It takes the vectors that it says. */
#include "src/optim/optim.h"

#include <string.h>

#include "src/base/words.h"
#include "tests/device.h"

enum { N = 4096, PHASES = 3 };

static const struct {
    const char *name;
    double rate;
} methods[] = {{"LBFGSB", 0},   {"SPG", 0},      {"TNC", 0},        {"Adam", 0.01},    {"Adamax", 0.01},
               {"Nadam", 0.01}, {"Adadelta", 1}, {"Adagrad", 0.01}, {"RMSprop", 0.01}, {"SGD", 0.01}};

static struct device d;

/* A run: its evaluations, and the least loss in the box (differences of gradients may look beyond it). It also says
 * whether it is to stop after every step. */
struct run {
    struct mf_extent e;
    int made, stops;
    double least;
};

static size_t floats(const struct run *r) { return r->e.phases * N; }

/* f = sum c (x - t)^2, t from -0.2 to 1.2 */
static int evaluate(void *context, float *x, float *g, double *loss)
{
    struct run *r = context;
    float *at = malloc(floats(r) * sizeof *at);
    int inside = 1;

    d.be->get(d.q, at, x, floats(r) * sizeof *at);
    *loss = 0;
    for (size_t i = 0; i < floats(r); ++i) {
        double c = 0.5 + (double)(i % 7), off = (double)at[i] - (-0.2 + 1.4 * (double)(i % 11) / 10);

        *loss += c * off * off;
        inside &= at[i] >= 0 && at[i] <= 1;
        at[i] = (float)(2 * c * off);
    }
    d.be->put(d.q, g, at, floats(r) * sizeof *at);
    free(at);
    ++r->made;
    if (inside) r->least = fmin(r->least, *loss);
    return MF_OK;
}

static void add(void *context, size_t n, const double *values, int largest, double *total)
{
    (void)context, (void)largest; /* one plane */
    for (size_t k = 0; k < n; ++k) total[k] = values[k];
}

static int stop(void *context, long evaluations, double loss)
{
    (void)evaluations, (void)loss;
    return ((struct run *)context)->stops;
}

static struct mf_method_opts opts_of(size_t i, double tolerance, double momentum)
{
    struct mf_method_opts opts = {.history = 3, .tolerance = tolerance};

    opts.rule = (struct mf_rule_opts){methods[i].rate, 0.9, 0.999, 0.9, momentum, 1e-7};
    opts.method = mf_method_of((enum mf_method_name)mf_words_place(MF_METHOD_NAMES, methods[i].name));
    CHECK(strcmp(opts.method->name, methods[i].name) == 0);
    return opts;
}

static void fresh(struct mf_optimiser *o, const struct run *r, const struct mf_method_opts *opts)
{
    size_t before = mf_arena_live(d.arena), vector = floats(r) * sizeof(float), vectors = mf_optimiser_vectors(opts);

    CHECK(mf_optimiser_new(o, d.be, d.q, r->e, opts) == MF_OK);
    CHECK(mf_arena_live(d.arena) - before >= vectors * vector &&
          mf_arena_live(d.arena) - before < (vectors + 1) * vector);
    d.be->field->fill(d.q, floats(r), -7, o->own[0]); /* what nobody has written */
    d.be->field->fill(d.q, floats(r), 0.8f / (float)r->e.phases, o->x);
    d.be->field->project(d.q, r->e, o->x);
}

/* Saves it, and goes on in another optimiser. */
static void reload(struct mf_optimiser *o, const struct run *r, const struct mf_method_opts *opts)
{
    struct mf_optimiser_state from, to;
    struct mf_optimiser next;
    float *room = malloc(floats(r) * sizeof *room);

    mf_optimiser_save(o, &from);
    memcpy(to.number, from.number, sizeof to.number);
    fresh(&next, r, opts);
    CHECK(mf_optimiser_load(&next, &to) == MF_OK && to.vectors == from.vectors &&
          to.vectors <= mf_optimiser_vectors(opts));
    for (size_t i = 0; i < to.vectors; ++i) {
        d.be->get(d.q, room, from.vector[i], floats(r) * sizeof *room);
        d.be->put(d.q, to.vector[i], room, floats(r) * sizeof *room);
    }
    mf_optimiser_free(o);
    *o = next;
    free(room);
}

/* A run of so many evaluations; the field into @p x, returns the loss that it says. */
static double go(struct run *r, const struct mf_method_opts *opts, long evaluations, float *x)
{
    const struct mf_problem problem = {r, evaluate, add, stop, NULL};
    struct mf_optimiser o;
    double loss;

    r->made = 0;
    r->least = INFINITY;
    fresh(&o, r, opts);
    CHECK(mf_optimiser_run(&o, &problem, evaluations) == MF_OK);
    while (o.under_way) {
        reload(&o, r, opts);
        CHECK(mf_optimiser_run(&o, &problem, evaluations) == MF_OK);
    }
    d.be->get(d.q, x, o.x, floats(r) * sizeof *x);
    loss = o.loss;
    mf_optimiser_free(&o);
    return loss;
}

static void check(size_t i, size_t phases, double momentum)
{
    struct run r = {.e = {phases, 1, N}};
    const struct mf_method_opts opts = opts_of(i, 0, momentum), soon = opts_of(i, 0.5, momentum);
    float *x = malloc(floats(&r) * sizeof *x), *again = malloc(floats(&r) * sizeof *x);
    double first, loss;

    go(&r, &opts, 0, x);
    CHECK(r.made == 0);
    for (size_t k = 0; k < floats(&r); ++k) CHECK_NEAR(x[k], phases > 1 ? 1.0 / 3 : 0.8, 1e-6);
    first = go(&r, &opts, 1, x);
    CHECK(r.made == 1 && first == r.least);
    loss = go(&r, &opts, 5, x);
    CHECK(r.made > 1 && r.made <= 5 && loss == r.least && loss < 0.9999 * first);
    loss = go(&r, &opts, 40, x);
    CHECK(r.made > 5 && r.made <= 40 && loss == r.least);
    r.stops = 1;
    CHECK(go(&r, &opts, 40, again) == loss && memcmp(x, again, floats(&r) * sizeof *x) == 0);
    r.stops = 0;
    go(&r, &soon, 40, x);
    CHECK(r.made >= 2 && r.made < 20);
    free(x);
    free(again);
}

int main(void)
{
    d = device_open(1, 1, 0);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        check(i, 1, 0);
        check(i, PHASES, 0.5);
    }
    device_close(&d);
    return failures != 0;
}
