/* First-order rules with projection (kernels/form/rules.h); one evaluation per step. They return the best evaluated
 * point. */
#include <math.h>

#include "kernels/cost.h"
#include "src/base/err.h"
#include "src/optim/impl.h"
#include "src/optim/phases.h"

struct adaptive {
    double best; /* least loss so far */
};

static struct adaptive *state_of(struct mf_optimiser *o) { return (struct adaptive *)o->number; }

/* The vectors: the best point, then what the rule has of m and v. */
static size_t has_m(const struct mf_method_opts *opts)
{
    return mf_rule_has_m(opts->method->rule, opts->rule.momentum) ? 1 : 0;
}

static size_t has_v(const struct mf_method_opts *opts) { return mf_rule_has_v(opts->method->rule) ? 1 : 0; }

static size_t kept(const struct mf_method_opts *opts) { return has_m(opts) + has_v(opts); }

static float *m_of(const struct mf_optimiser *o) { return has_m(&o->opts) ? o->own[1] : NULL; }
static float *v_of(const struct mf_optimiser *o) { return has_v(&o->opts) ? o->own[1 + has_m(&o->opts)] : NULL; }

static size_t vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    tag[0] = "best field";
    tag[1] = tag[2] = "moments";
    return 1 + kept(opts);
}

static int begin(struct mf_optimiser *o, const struct mf_problem *p)
{
    const struct mf_field_ops *field = o->backend->field;

    (void)p;
    state_of(o)->best = INFINITY;
    if (m_of(o)) field->fill(o->queue, mf_optim_floats(o), 0, m_of(o));
    if (v_of(o)) field->fill(o->queue, mf_optim_floats(o), mf_rule_first_v(o->opts.method->rule), v_of(o));
    return MF_OK;
}

/* The step after @p t evaluations. */
static void move(struct mf_optimiser *o, long t)
{
    const struct mf_rule rule = mf_rule_at(o->opts.method->rule, &o->opts.rule, t);
    MF_PHASE(&mf_phase_adapt);

    mf_phase_count(mf_cost_adapt(o->extent, kept(&o->opts)));
    o->backend->optim->adapt(o->queue, o->extent, &rule, o->g, m_of(o), v_of(o), o->x);
}

static int step(struct mf_optimiser *o, const struct mf_problem *p, int *more)
{
    const double before = o->loss;
    const int first = o->evaluations == o->started;

    if (!first) move(o, o->evaluations - o->started);
    MF_TRY(mf_optim_evaluate(o, p, o->x, o->g, &o->loss));
    if (o->opts.sampled || o->loss < state_of(o)->best) {
        state_of(o)->best = o->loss;
        o->backend->field->copy(o->queue, mf_optim_floats(o), o->x, o->own[0]);
    }
    *more = first || o->opts.sampled || !mf_optim_rests(o, before, o->loss);
    return MF_OK;
}

static void end(struct mf_optimiser *o)
{
    mf_optim_swap(&o->x, &o->own[0]);
    o->loss = state_of(o)->best;
}

static int live(struct mf_optimiser *o, float **vector, size_t *count)
{
    *count = 1 + kept(&o->opts);
    for (size_t i = 0; i < *count; ++i) vector[i] = o->own[i];
    return MF_OK;
}

/* Traffic: x, g and what is kept, the best point now and then. */
#define ROW(symbol, word, words, kind, bytes)            \
    const struct mf_method symbol = {.name = (word),     \
                                     .options = (words), \
                                     .samples = 1,       \
                                     .rule = (kind),     \
                                     .traffic = (bytes), \
                                     .vectors = vectors, \
                                     .begin = begin,     \
                                     .step = step,       \
                                     .end = end,         \
                                     .live = live}
#define MOMENTS " learning-rate beta-1 beta-2 "

ROW(mf_adam, "Adam", MOMENTS, MF_RULE_ADAM, 40);
ROW(mf_adamax, "Adamax", MOMENTS, MF_RULE_ADAMAX, 40);
ROW(mf_nadam, "Nadam", MOMENTS, MF_RULE_NADAM, 40);
ROW(mf_adadelta, "Adadelta", " learning-rate rho ", MF_RULE_ADADELTA, 40);
ROW(mf_adagrad, "Adagrad", " learning-rate ", MF_RULE_ADAGRAD, 32);
ROW(mf_rmsprop, "RMSprop", " learning-rate rho momentum ", MF_RULE_RMSPROP, 40);
ROW(mf_sgd, "SGD", " learning-rate momentum ", MF_RULE_SGD, 32);
