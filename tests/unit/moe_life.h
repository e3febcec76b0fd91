/* Mixtures of experts that grow and sleep, in few steps. */
#ifndef MF_TESTS_MOE_LIFE_H
#define MF_TESTS_MOE_LIFE_H

#include "src/moe/sleep.h"
#include "tests/unit/moe_case.h"

enum { LONG = 24 };

static const struct mf_grow_opts growth = {.threshold = 0.1, .window = 3, .cooldown = 4, .least = 2, .most = 6};

static const struct mf_sleep_opts usual_sleep = {.every = 6,
                                                 .least = 4,
                                                 .most = 8,
                                                 .records = 40,
                                                 .bytes = 1 << 20,
                                                 .batch = 8,
                                                 .rate = 1e-4,
                                                 .similarity = 0.5,
                                                 .special = 1,
                                                 .dormant = 5,
                                                 .activations = 30,
                                                 .overlap = 0.3,
                                                 .meta = 2,
                                                 .decay = 0.99,
                                                 .edge = 0.1};

/* A trainer that grows and sleeps. */
struct life {
    struct mf_trainer t;
    struct mf_grow grow;
    struct mf_sleep sleep;
    struct mf_loop loop;
};

static inline struct mf_train_opts of_life(const char *model, size_t batch)
{
    struct mf_train_opts o = mixture(model, batch);

    o.schedule.steps = LONG;
    o.schedule.rate = 0.01;
    return o;
}

static inline void open_life(const struct bed *b, const struct mf_comm *comm, const struct mf_train_opts *o,
                             const struct mf_grow_opts *grow, const struct mf_sleep_opts *sleep, struct life *l)
{
    *l = (struct life){0};
    trainer_open(b, comm, b->set, o, &l->t);
    mf_grow_open(&l->grow, grow, &l->t);
    for (size_t w = 0; w < l->t.network.ways; ++w) l->grow.speed[w] = 1;
    CHECK_SAYS(mf_sleep_open(&l->sleep, sleep, &l->grow, &l->t) == MF_OK, "%s", mf_err_text());
    l->loop = (struct mf_loop){.trainer = &l->t};
}

static inline void close_life(struct life *l)
{
    mf_sleep_close(&l->sleep);
    mf_grow_close(&l->grow);
    mf_trainer_close(&l->t);
}

static inline void live(struct life *l, size_t until)
{
    while (l->t.step < until) {
        struct mf_step step = steps_until(&l->t, l->t.step + 1);

        CHECK_SAYS(mf_sleep_step(&l->sleep, &l->loop, &step) == MF_OK, "%s", mf_err_text());
    }
}

/* To the bit. */
static inline void have_same_weights(struct life *a, struct life *b)
{
    size_t n, m;
    float *of_a = weights_of(&a->t, &n), *of_b = weights_of(&b->t, &m);

    CHECK(n == m && apart(n, of_a, of_b) == 0);
    free(of_a);
    free(of_b);
}

#endif
