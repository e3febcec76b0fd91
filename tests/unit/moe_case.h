/* Small mixtures of experts over the samples of train_case.h. */
#ifndef MF_TESTS_MOE_CASE_H
#define MF_TESTS_MOE_CASE_H

#include <math.h>

#include "tests/unit/train_case.h"

enum { EXPERTS = 4, WIDTH = 12 };

static inline struct mf_train_opts mixture(const char *model, size_t batch)
{
    struct mf_train_opts o = usual(model, 1, batch);

    o.args.experts = EXPERTS;
    o.args.top = 2;
    o.args.temperature = 0.8;
    o.args.noise = 0.3;
    o.args.dropout = 0;
    if (strcmp(model, "moe") == 0) o.args.width = WIDTH;
    if (strcmp(model, "vit") == 0) o.args.width = WIDTH / 4, o.args.heads = 1;
    CHECK(mf_arch_complete(o.arch, &o.args) == MF_OK);
    return o;
}

#endif
