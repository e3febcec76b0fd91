/* See pipeline.h. */
#include "src/train/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/net/region.h"
#include "src/place/pipeline.h"

size_t mf_pipeline_slots(size_t micro, size_t stages, size_t stage) { return mf_min(micro, stages - stage); }

/* -- stages -- */

static int cut(const struct mf_list *list, const size_t *given, struct mf_network *n)
{
    size_t *part = MF_MUST(malloc((list->nodes + 1) * sizeof *part), "parts");
    struct mf_parts parts = {.count = mf_parts_number(list, part, NULL)};
    int rc = MF_OK;

    parts.part = MF_MUST(calloc(parts.count, sizeof *parts.part), "operations of parts");
    for (size_t i = 0; i < list->nodes; ++i)
        parts.part[part[i]].operations += mf_node_operations(list->net, &list->node[i]);
    n->operations = MF_MUST(malloc(parts.count * sizeof *n->operations), "operations of parts");
    for (size_t k = 0; k < parts.count; ++k) n->operations[k] = parts.part[k].operations;
    if (given) {
        mf_device_map_new(&n->cut, parts.count);
        memcpy(n->cut.device, given, parts.count * sizeof *given);
    } else {
        rc = mf_place_stages(&parts, n->stages, NULL, NULL, &n->cut);
    }
    free(parts.part);
    free(part);
    return rc;
}

/* Two stages would have a weight's gradient in two parts. */
static int check_ties(const struct mf_network *n, const struct mf_list *list)
{
    const unsigned trained = 1 << MF_SET_TRAINED | 1 << MF_SET_SPLIT | 1 << MF_SET_EXPERTS;
    int *stage = MF_MUST(malloc((n->net->values + 1) * sizeof *stage), "stages of weights"), rc = MF_OK;

    for (size_t v = 0; v < n->net->values; ++v) stage[v] = -1;
    for (size_t i = 0; rc == MF_OK && i < list->nodes; ++i)
        for (int j = 0; j < MF_INS; ++j) {
            const int v = list->node[i].in[j] < 0 ? -1 : mf_value_root(n->net, list->node[i].in[j], NULL);

            if (v < 0 || !mf_value_in(&n->net->value[v], trained)) continue;
            if (stage[v] >= 0 && stage[v] != list->node[i].stage)
                rc = mf_fail(MF_USAGE, "--pp %zu: stages %d and %d both have the weight '%s'; try: fewer stages",
                             n->stages, stage[v], list->node[i].stage, n->net->value[v].name);
            stage[v] = list->node[i].stage;
        }
    free(stage);
    return rc;
}

int mf_pipeline_mark(struct mf_network *n, const size_t *given, struct mf_list *list)
{
    const struct mf_parts none = {0}; /* single weights are where their parts are */
    size_t *stage;

    if (!n->cut.device) MF_TRY(cut(list, given, n));
    stage = MF_MUST(malloc((list->nodes + 1) * sizeof *stage), "stages");
    mf_device_map_nodes(&n->cut, &none, list, stage);
    for (size_t i = 0; i < list->nodes; ++i) list->node[i].stage = (int)stage[i];
    free(stage);
    return check_ties(n, list);
}

/* -- lists -- */

static void leave(struct mf_network *n, struct mf_list *list, size_t *border)
{
    int *stage = MF_MUST(malloc((list->nodes + 1) * sizeof *stage), "stages");
    unsigned char *link = MF_MUST(calloc(n->stages * n->stages, 1), "links");

    for (size_t i = 0; i < list->nodes; ++i) stage[i] = list->node[i].stage;
    /* only neighbours have a group */
    mf_pass_stage(list, stage, (int)n->own, n->stages, 1, link, border);
    free(link);
    free(stage);
}

void mf_pipeline_leave(struct mf_network *n, struct mf_list *list) { leave(n, list, NULL); }

static struct mf_list *list_like(const struct mf_list *list, const char *what)
{
    char *name = mf_format("%s.%s", list->name, what);
    struct mf_list *made = mf_list_new(list->net, name);

    made->node = MF_MUST(malloc((list->nodes + 1) * sizeof *made->node), "nodes");
    made->room_for = list->nodes + 1;
    made->segments = list->segments;
    made->regions = list->regions;
    free(name);
    return made;
}

/* Is it a message? */
static int is(const struct mf_node *node, enum mf_exchange_kind kind)
{
    return mf_op_is_exchange(node->op) && node->attr.exchange == (int)kind;
}

/* This rank's nodes. Returns the first of backward. */
static size_t leave_both_ways(struct mf_network *n, const struct mf_partners *among, struct mf_list *list)
{
    unsigned char *alike = among ? mf_list_alike(list, among->group) : NULL;
    size_t border = mf_list_seed(list);

    leave(n, list, &border);
    if (among) mf_pass_partition(list, &border, alike, among);
    free(alike);
    return border;
}

void mf_pipeline_divide(struct mf_network *n, const struct mf_partners *among, struct mf_pipe_slot *slot)
{
    struct mf_list *list = slot->pass.list;
    const size_t border = leave_both_ways(n, among, list);
    size_t nodes, left = 0;

    nodes = list->nodes;
    slot->take = list_like(list, "take");
    slot->backward = list_like(list, "backward");
    slot->give = list_like(list, "give");
    for (size_t i = 0; i < nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        struct mf_list *to = i < border && is(node, MF_EXCHANGE_RECEIVE) ? slot->take
                             : i < border                                ? NULL
                             : is(node, MF_EXCHANGE_SEND)                ? slot->give
                                                                         : slot->backward;

        if (to)
            to->node[to->nodes++] = *node;
        else
            list->node[left++] = *node;
    }
    list->nodes = left;
}

static int uses(const struct mf_pipe_slot *slot, int v)
{
    return mf_list_uses(slot->pass.list, v) || mf_list_uses(slot->backward, v);
}

/* An expert of other ranks is where those of this rank are: its name follows their array. */
void mf_pipeline_leave_weights(struct mf_network *n)
{
    int array = -1;

    for (size_t v = 0; v < n->net->values; ++v) {
        struct mf_value *value = &n->net->value[v];
        const int is_expert = mf_value_in(value, 1 << MF_SET_EXPERTS);

        if (is_expert && value->flat) array = (int)v;
        if (value->role != MF_ROLE_PARAMETER || !value->weight) continue;
        if (uses(&n->slot[0], is_expert ? array : (int)v)) continue;
        value->weight->elsewhere = 1;
        value->weight->gradient = -1;
    }
}

/* -- order -- */

/* A stage takes what comes of the next micro-batch before it gives gradients back. Its neighbour sends that first. */
void mf_pipeline_order(size_t micro, size_t stages, size_t stage, void *context,
                       void (*act)(void *context, enum mf_pipe_do what, size_t micro))
{
    const size_t ahead = mf_min(micro, stages - 1 - stage);

    for (size_t k = 0; k < ahead; ++k) {
        act(context, MF_PIPE_TAKE, k);
        act(context, MF_PIPE_FORWARD, k);
    }
    if (ahead < micro) act(context, MF_PIPE_TAKE, ahead);
    for (size_t k = 0; k < micro; ++k) {
        if (k + ahead < micro) act(context, MF_PIPE_FORWARD, k + ahead);
        act(context, MF_PIPE_BACKWARD, k);
        if (k + ahead + 1 < micro) act(context, MF_PIPE_TAKE, k + ahead + 1);
        act(context, MF_PIPE_GIVE, k);
    }
}
