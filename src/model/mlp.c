/* mlp: all numbers of a sample in one row, then layers of one width with GELU. Parameters: layers.I, head. */
#include <stdlib.h>

#include "src/base/text.h"
#include "src/model/archs.h"

static int forward(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape all = mf_build_shape(build, x);

    x = mf_build_reshape(build, x, (struct mf_shape){.n = 2, .d = {all.d[0], mf_shape_count(&all) / all.d[0]}});
    for (long i = 0; i < args->depth; ++i) {
        char *name = mf_format("layers.%ld", i), *act = mf_format("layers.%ld.act", i);

        mf_build_segment(build, 1);
        x = mf_build_one(build, MF_OP_GELU, act, mf_build_linear(build, name, x, (size_t)args->width));
        x = mf_build_dropout(build, name, x, args->dropout);
        free(name);
        free(act);
    }
    mf_build_segment(build, 0);
    return mf_build_linear(build, "head", x, outputs);
}

const struct mf_arch mf_arch_mlp = {.name = "mlp",
                                    .summary = "layers of one width over all numbers of a sample",
                                    .standard = {.width = 256, .depth = 2},
                                    .head = "head",
                                    .rate = 0.001,
                                    .forward = forward};
