/* Parts of a network that options name: frozen ones, and those with a learning rate or without weight decay. On any
 * number of ranks and by all stages of ZeRO. */
#include "tests/unit/train_same.h"

/* Parts that are frozen have the bits of their start, and no moments. A first step of SGD moves all others as it does
 * where nothing is frozen. */
static void frozen_parts(const struct bed *b)
{
    static const struct {
        const char *model, *parts;
    } cases[] = {{"mlp", "layers.0"}, {"cnn", "stem,stages.0.conv1"}, {"vit", "patch_embed,pos_embed,blocks"}};

    for (size_t m = 0; m < sizeof cases / sizeof *cases; ++m) {
        struct mf_train_opts o = usual(cases[m].model, 1, batch_for(&b->world, WINDOW, 1));
        float *start, *moved;
        struct mf_trainer t;
        size_t n, at = 0, frozen = 0;

        if (!wants(b, cases[m].model) || (few(b) && m > 0)) continue;
        o.optimiser = MF_OP_SGD;
        o.moments = (struct mf_attr){0};
        o.clip = 0;
        trainer_open(b, &b->world, b->set, &o, &t);
        start = weights_of(&t, &n);
        steps_until(&t, 1);
        moved = weights_of(&t, &n);
        mf_trainer_close(&t);
        o.freeze = cases[m].parts;
        for (o.stage = 0; o.stage < 4; o.stage += few(b) ? 3 : 1) {
            float *got;

            trainer_open(b, &b->world, b->set, &o, &t);
            steps_until(&t, 1);
            got = weights_of(&t, &n);
            frozen = at = 0;
            for (size_t v = 0; v < t.network.net->values; ++v) {
                const struct mf_value *value = &t.network.net->value[v];
                const size_t count = mf_shape_count(&value->shape);
                const int is_frozen = mf_name_in(value->name, o.freeze);

                if (!mf_value_is_weight(value)) continue;
                CHECK_SAYS(apart(count, got + at, (is_frozen ? start : moved) + at) <= (is_frozen ? 0 : 1e-6),
                           "%s, stage %d: %s is other than it should be", o.arch->name, o.stage, value->name);
                CHECK(!is_frozen ||
                      (mf_value_gradient(value) < 0 && !mf_weights_has(&t.weights, (int)v, MF_STATE_FIRST)));
                frozen += is_frozen ? count : 0;
                at += count;
            }
            CHECK(frozen > 0 && mf_weights_count(t.network.net, 1) == frozen);
            free(got);
            mf_trainer_close(&t);
        }
        free(start);
        free(moved);
        o = usual(cases[m].model, 1, 1);
        o.freeze = cases[m].parts;
        same_weights(b, o, 0, "frozen parts");
    }
}

/* A parameter: where it stands among all, and all weights before and behind a step of plain SGD with rate 1. */
struct grouped {
    const char *name;
    size_t count, at, axes;
    const float *start, *moved;
};

/* By hand: the factor of the longest name, and decay of what has rows and columns and is no position. */
static double by_hand(const struct grouped *w, enum mf_op_id op, double factor, double decay, size_t i)
{
    const double p = w->start[w->at + i], g = p - w->moved[w->at + i];

    if (w->axes < 2 || strcmp(w->name, "pos_embed") == 0) decay = 0;
    if (op == MF_OP_SGD) return p - factor * (g + decay * p);
    return p * (1 - factor * decay) - factor * g / (fabs(g) + 1e-3);
}

static const struct {
    const char *model, *rates, *slow, *slower;
} cases_of_rates[] = {
    {"mlp", "layers=0.5,layers.1.weight=0.25", "layers", "layers.1.weight"},
    {"cnn", "stem=0.5,stages.0=0.5,stem.conv=0.25", "stem,stages.0", "stem.conv"},
    {"vit", "blocks.0=0.5,blocks.0.norm1=0.25,pos_embed=0.5", "blocks.0,pos_embed", "blocks.0.norm1"}};

static void check_groups(const struct mf_trainer *t, size_t m, const float *start, const float *moved, const float *got)
{
    size_t at = 0;

    for (size_t v = 0; v < t->network.net->values; ++v) {
        const struct mf_value *value = &t->network.net->value[v];
        const struct grouped w = {value->name, mf_shape_count(&value->shape), at, (size_t)value->shape.n, start, moved};
        const double factor = mf_name_in(w.name, cases_of_rates[m].slower) ? 0.25
                              : mf_name_in(w.name, cases_of_rates[m].slow) ? 0.5
                                                                           : 1;
        double most = 0;

        if (!mf_value_is_weight(value)) continue;
        for (size_t i = 0; i < w.count; ++i)
            most = fmax(most, fabs(got[at + i] - by_hand(&w, t->opts.optimiser, factor, t->opts.decay, i)));
        CHECK_SAYS(most < 1e-4, "%s, %s, %d ranks, stage %d: %s is off by %g", t->opts.arch->name,
                   mf_ops[t->opts.optimiser]->name, t->comm->size, t->opts.stage, w.name, most);
        at += w.count;
    }
}

static float *one_step(const struct bed *b, const struct mf_train_opts *o, struct mf_trainer *t)
{
    size_t n;

    trainer_open(b, &b->world, b->set, o, t);
    steps_until(t, 1);
    return weights_of(t, &n);
}

static void groups(const struct bed *b)
{
    for (size_t m = 0; m < sizeof cases_of_rates / sizeof *cases_of_rates; ++m) {
        struct mf_train_opts o = usual(cases_of_rates[m].model, 1, batch_for(&b->world, WINDOW, 1));
        float *start, *moved, *got;
        struct mf_trainer t;
        size_t n;

        if (!wants(b, cases_of_rates[m].model) || (few(b) && m > 0)) continue;
        o.optimiser = MF_OP_SGD;
        o.moments = (struct mf_attr){0};
        o.clip = o.decay = 0;
        o.schedule = (struct mf_schedule){MF_SCHEDULE_CONSTANT, .rate = 1, .steps = STEPS};
        trainer_open(b, &b->world, b->set, &o, &t);
        start = weights_of(&t, &n);
        mf_trainer_close(&t);
        moved = one_step(b, &o, &t);
        mf_trainer_close(&t);
        o.rate_of = cases_of_rates[m].rates;
        o.plain = 1;
        o.decay = 0.1;
        for (int k = 0; k < (few(b) ? 2 : 8); ++k) {
            o.stage = few(b) ? 3 * k : k % 4;
            o.optimiser = k < 4 ? MF_OP_ADAMW : MF_OP_SGD;
            o.moments = (struct mf_attr){.momentum = k < 4 ? 0.9 : 0, .second = 0.999, .epsilon = 1e-3};
            got = one_step(b, &o, &t);
            check_groups(&t, m, start, moved, got);
            mf_trainer_close(&t);
            free(got);
        }
        free(start);
        free(moved);
        o = usual(cases_of_rates[m].model, 1, 1);
        o.rate_of = cases_of_rates[m].rates;
        o.plain = 1;
        same_weights(b, o, 0, "groups of parameters");
    }
}

static void refused_parts(const struct bed *b)
{
    static const char *const wrong[][3] = {
        {"stages.7", NULL,
         "--freeze: the network has no part 'stages.7'; it has stem,stages,head; did you mean 'stages.0'?"},
        {"stem,stages,head", NULL, "nothing is left to train"},
        {"stem,ste", NULL, "no part 'ste'"},
        {NULL, "stem=2,hed=0.5",
         "--rate-of: the network has no part 'hed'; it has stem,stages,head; did you mean 'head'?"},
        {NULL, "stem", "--rate-of 'stem': it must be NAME=FACTOR"},
        {NULL, "stem=fast", "'stem=fast': it must be NAME=FACTOR"},
        {NULL, "stem=-1", "'stem=-1': it must be NAME=FACTOR"},
        {NULL, "stem=0", "--rate-of stem=0: these would not learn; try: --freeze stem"},
        {NULL, "stem=1,head=2,stem=3", "--rate-of names 'stem' twice"},
        {"stem", "stem=0.5", "nothing of 'stem' is trained"}};
    struct mf_train_opts o = usual("cnn", 1, 4);
    struct mf_trainer t;

    for (size_t k = 0; trains(b, "cnn") && k < sizeof wrong / sizeof *wrong; ++k) {
        o.freeze = wrong[k][0];
        o.rate_of = wrong[k][1];
        CHECK_SAYS(mf_trainer_open(&b->world, b->device.host, b->device.q, b->set, &o, &t) == MF_USAGE &&
                       strstr(mf_err_text(), wrong[k][2]),
                   "%s", mf_err_text());
        mf_trainer_close(&t);
    }
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    frozen_parts(&b);
    groups(&b);
    refused_parts(&b);
    bed_close(&b);
    return failures != 0;
}
