/* The table of methods: see optim.h. */
#include "src/optim/impl.h"

static const struct mf_method *const methods[] = {&mf_lbfgsb,  &mf_spg,   &mf_tnc,       &mf_adam,
                                                  &mf_adamax,  &mf_nadam, &mf_adadelta,  &mf_adagrad,
                                                  &mf_rmsprop, &mf_sgd,   &mf_annealing, &mf_ytpost};

/* Swaps of labels: nothing beside the field and its gradient. */
static size_t no_vectors(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS])
{
    (void)opts, (void)tag;
    return 0;
}

const struct mf_method mf_annealing = {.name = "SimulatedAnnealing",
                                       .options = " initial-temperature final-temperature cooldown-factor "
                                                  "mutation-rule acceptance-distribution ",
                                       .swaps = 1,
                                       .vectors = no_vectors};
const struct mf_method mf_ytpost = {.name = "YTPost", .options = " ", .swaps = 1, .vectors = no_vectors};

const struct mf_method *mf_method_of(enum mf_method_name name) { return methods[name]; }
