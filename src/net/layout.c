/* The passes layout, adamw and accumulate: parameters, gradients and moments as flat arrays. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/pass.h"
#include "src/net/uses.h"

enum { LINE = 64 }; /* bytes at which a tensor begins */

static size_t whole_lines(size_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

struct place {
    int parameter;
    ptrdiff_t written; /* the last node that writes its gradient */
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->written != y->written) return x->written < y->written ? -1 : 1;
    return x->parameter - y->parameter;
}

/* The trained parameters in the order in which backward finishes their gradients. */
static struct place *places(const struct mf_list *list, unsigned sets, size_t *n)
{
    const struct mf_net *net = list->net;
    struct place *place = MF_MUST(malloc((net->values + 1) * sizeof *place), "an order of parameters");
    struct mf_uses uses;

    *n = 0;
    mf_uses_make(list, &uses);
    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];

        if (value->role == MF_ROLE_PARAMETER && value->base < 0 && sets >> value->set & 1 && value->gradient >= 0)
            place[(*n)++] = (struct place){(int)v, mf_uses_last(&uses, net, value->gradient, MF_WRITES)};
    }
    mf_uses_free(&uses);
    qsort(place, *n, sizeof *place, by_place);
    return place;
}

static struct mf_bucket new_bucket(struct mf_net *net, const char *list, size_t k, size_t numbers)
{
    const struct mf_shape flat = {.type = MF_F32, .n = 1, .d = {numbers}};

    return (struct mf_bucket){mf_value_new(net, MF_ROLE_PARAMETER, flat, "%s.parameters.%zu", list, k),
                              mf_value_new(net, MF_ROLE_GRADIENT, flat, "%s.gradients.%zu", list, k),
                              mf_value_new(net, MF_ROLE_OPTIMISER, flat, "%s.first.%zu", list, k),
                              mf_value_new(net, MF_ROLE_OPTIMISER, flat, "%s.second.%zu", list, k)};
}

/* Zeros behind a gradient, up to where the next one begins: norms and checks read whole buckets. */
static void clear_gap(struct mf_list *list, int bucket, size_t from, size_t to)
{
    struct mf_net *net = list->net;
    const struct mf_shape gap = {.type = MF_F32, .n = 1, .d = {(to - from) / sizeof(float)}};

    if (from == to) return;
    mf_list_insert(list, list->nodes, MF_OP_FILL, net->value[bucket].name)->out[0] =
        mf_value_view(net, bucket, from, gap, ".gap");
}

/* The parameters place[from .. to) become views of one bucket. */
static void fill_bucket(struct mf_list *list, const struct place *place, size_t from, size_t to,
                        struct mf_layout *layout)
{
    struct mf_net *net = list->net;
    struct mf_bucket *bucket = &layout->bucket[layout->buckets];
    size_t bytes = 0, end;

    for (size_t k = from; k < to; ++k) bytes += whole_lines(mf_shape_bytes(&net->value[place[k].parameter].shape));
    *bucket = new_bucket(net, list->name, layout->buckets++, bytes / sizeof(float));
    layout->numbers += bytes / sizeof(float);
    bytes = 0;
    for (size_t k = from; k < to; ++k) {
        struct mf_value *parameter = &net->value[place[k].parameter], *gradient = &net->value[parameter->gradient];

        parameter->base = bucket->parameters;
        gradient->base = bucket->gradients;
        parameter->shift = gradient->shift = bytes;
        end = bytes + mf_shape_bytes(&parameter->shape);
        bytes = whole_lines(end);
        clear_gap(list, bucket->gradients, end, bytes);
    }
}

void mf_pass_layout(struct mf_list *list, unsigned sets, size_t bytes, struct mf_layout *layout)
{
    size_t n, to;
    struct place *place = places(list, sets, &n);

    *layout = (struct mf_layout){.bucket = MF_MUST(malloc((n + 1) * sizeof *layout->bucket), "buckets")};
    for (size_t from = 0; from < n; from = to) {
        size_t size = 0;

        for (to = from; to < n; ++to) {
            size += whole_lines(mf_shape_bytes(&list->net->value[place[to].parameter].shape));
            if (to > from && size > bytes) break;
        }
        fill_bucket(list, place, from, to, layout);
    }
    free(place);
}

void mf_layout_free(struct mf_layout *layout)
{
    free(layout->bucket);
    *layout = (struct mf_layout){0};
}

void mf_pass_adamw(struct mf_list *list, const struct mf_layout *layout)
{
    for (size_t k = 0; k < layout->buckets; ++k) {
        const struct mf_bucket *bucket = &layout->bucket[k];
        struct mf_node *node =
            mf_list_insert(list, list->nodes, MF_OP_ADAMW, list->net->value[bucket->parameters].name);

        node->in[0] = bucket->parameters;
        node->in[1] = bucket->gradients;
        node->in[2] = bucket->first;
        node->in[3] = bucket->second;
    }
}

void mf_pass_accumulate(struct mf_list *list)
{
    for (size_t i = 0; i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            struct mf_node *node = &list->node[i];

            if (node->din[j] >= 0 && list->net->value[node->din[j]].role == MF_ROLE_GRADIENT) node->add |= 1u << j;
        }
}
