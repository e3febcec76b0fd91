/* See weights.h: from one network to another. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/weights.h"
#include "src/net/build.h"

/* Is it the weight @p name of this network? */
static int is_copy(const struct mf_value *value, const char *network, const char *name)
{
    const size_t length = network ? strlen(network) : 0;

    if (!network) return mf_value_is_weight(value) && strcmp(value->name, name) == 0;
    return mf_value_in(value, 1 << MF_SET_BORROWED) && strncmp(value->name, network, length) == 0 &&
           value->name[length] == '.' && strcmp(value->name + length + 1, name) == 0;
}

/* Both nets have them in the order in which the architecture names them. */
void mf_weights_copy(const struct mf_weights *from, const char *network, const struct mf_weights *to)
{
    const struct mf_net *net = from->net;
    size_t at = 0;

    for (size_t v = 0; v < net->values; ++v) {
        float *numbers;

        if (!mf_value_is_weight(&net->value[v])) continue;
        while (at < to->net->values && !is_copy(&to->net->value[at], network, net->value[v].name)) ++at;
        MF_ASSERT(at < to->net->values);
        numbers = MF_MUST(malloc(mf_shape_count(&net->value[v].shape) * sizeof *numbers), "weights on their way");
        mf_weights_take(from, (int)v, MF_STATE_WEIGHT, numbers);
        mf_weights_put(to, (int)at, MF_STATE_WEIGHT, numbers);
        free(numbers);
    }
    if (!network) mf_weights_masters(to, 0);
}
