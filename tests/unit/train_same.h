/* For train_steps and train_parts: any number of ranks, stage of ZeRO and number of passes comes to the same weights.
 */
#ifndef MF_TESTS_TRAIN_SAME_H
#define MF_TESTS_TRAIN_SAME_H

#include "tests/unit/train_case.h"

/* Some cases of the like ones are enough where each takes its time. */
static inline int few(const struct bed *b) { return SANITIZED || b->device.be != &mf_backend_cpu; }

/* On an emulated device under sanitizers, or on several ranks, one model is enough. The tests of operations and one
 * rank look at each of them there. Shadow looks at all models. */
static inline int wants(const struct bed *b, const char *model)
{
    if ((SANITIZED || b->world.size > 1) && b->device.be != &mf_backend_cpu && b->device.be != &mf_backend_shadow &&
        strcmp(model, "mlp") != 0)
        return 0;
    return trains(b, model);
}

static inline void compare(const char *what, const struct mf_trainer *t, const float *want, double tolerance)
{
    size_t n;
    float *got = weights_of(t, &n);
    const double d = apart(n, got, want);

    CHECK_SAYS(d <= tolerance, "%s, %s: %d ranks, stage %d, %zu passes of %zu: weights differ by %g", what,
               t->opts.arch->name, t->comm->size, t->opts.stage, t->micro, t->opts.batch, d);
    free(got);
}

/* Against one rank without accumulation: 1, 2, 4 passes by stages 0 to 3, or only some of them. */
static inline void same_weights(const struct bed *b, struct mf_train_opts o, int all, const char *what)
{
    struct mf_step want, got;
    float *weights = reference(b, b->set, &o, STEPS, &want);

    for (int k = 0; k < 3; ++k)
        for (o.stage = all ? 0 : k + 1; o.stage < (all ? 4 : k + 2); ++o.stage) {
            const size_t passes = (size_t)1 << k;
            struct mf_trainer t;

            o.batch = batch_for(&b->world, o.effective < LEARNT ? o.effective : LEARNT, passes);
            trainer_open(b, &b->world, b->set, &o, &t);
            got = steps_until(&t, STEPS);
            compare(what, &t, weights, 1e-5);
            CHECK_NEAR(got.loss, want.loss, 1e-5);
            CHECK_NEAR(got.norm, want.norm, 1e-4 * (1 + want.norm));
            CHECK(got.rows == want.rows && got.samples == want.samples && t.skipped == 0);
            mf_trainer_close(&t);
        }
    free(weights);
}

#endif
