/* See lists.h. */
#include "src/gen/lists.h"

#include <stdlib.h>

#include "kernels/stage.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/model/kept_type.h"
#include "src/place/device_map.h"
#include "src/place/leave.h"

/* The builder of lists. */
struct maker {
    const struct mf_language *model;
    const struct mf_gen_size *size;
    const struct mf_gen_ways *ways;
    struct mf_queue *queue;
    struct mf_gen_lists *to;
};

static int add(struct maker *m, const char *name, size_t rows, size_t answers, struct mf_decoder_list *to)
{
    struct mf_gen_lists *l = m->to;

    l->rows = mf_max(l->rows, rows);
    l->answers = mf_max(l->answers, answers);
    return mf_decoder_build(m->model, &l->room, &m->ways->tensor, l->net, name, rows, answers, to);
}

static int build(struct maker *m)
{
    const struct mf_gen_size *size = m->size;
    struct mf_gen_lists *l = m->to;
    const size_t chunk = mf_min(MF_GEN_CHUNK, size->context);

    for (size_t k = 0; k < MF_GEN_PROMPTS; ++k)
        MF_TRY(add(m, "prompt", mf_min((size_t)MF_GEN_CHUNK >> 2 * (MF_GEN_PROMPTS - 1 - k), size->context), 1,
                   &l->prompt[k]));
    if (size->logits) MF_TRY(add(m, "seen", chunk, chunk, &l->seen));
    for (size_t rows = 1; l->steps == 0 || l->step[l->steps - 1].rows < size->requests; rows *= 2) {
        const size_t n = mf_min(rows, size->requests);

        MF_ASSERT(l->steps < MF_GEN_STEPS);
        MF_TRY(add(m, "step", n, n, &l->step[l->steps]));
        ++l->steps;
    }
    return MF_OK;
}

int mf_gen_check_context(const struct mf_language *model, const char *folder, size_t context)
{
    if (model->rope.kind != MF_ROPE_NONE || context <= model->context) return MF_OK;
    return mf_fail(MF_USAGE, "--context %zu: the model of '%.200s' has %zu positions", context, folder, model->context);
}

/* -- a rank's own -- */

/* Values that its nodes do not touch are away. */
static void drop_unused(struct mf_decoder_list *l)
{
    int *const value[] = {&l->tokens, &l->own_tokens, &l->positions, &l->places,  &l->who,    &l->frequencies,
                          &l->pages,  &l->last,       &l->wishes,    &l->numbers, &l->logits, &l->picked};

    for (size_t k = 0; k < sizeof value / sizeof *value; ++k)
        if (*value[k] >= 0 && !mf_list_uses(l->list, *value[k])) *value[k] = -1;
}

/* Leaves the nodes of this rank's stage. */
static void cut(struct maker *m, struct mf_list *list)
{
    const size_t n = list->nodes;
    size_t *device = MF_MUST(malloc((n + 1) * sizeof *device), "devices of nodes");
    int *stage = MF_MUST(malloc((n + 1) * sizeof *stage), "stages of nodes");

    mf_device_map_nodes(m->ways->placement, m->ways->parts, list, device);
    for (size_t i = 0; i < n; ++i) stage[i] = (int)device[i];
    m->to->answering = stage[n - 1];
    mf_pass_stage(list, stage, (int)m->ways->stage, m->ways->stages, 0, m->to->link, NULL);
    free(device);
    free(stage);
}

static void cut_all(struct maker *m)
{
    struct mf_gen_lists *l = m->to;
    const size_t stages = m->ways->stages;

    if (stages == 1) return;
    l->link = MF_MUST(calloc(stages * stages, 1), "links");
    for (size_t k = 0; k < l->net->lists; ++k) cut(m, l->net->list[k]);
    for (size_t k = 0; k < MF_GEN_PROMPTS; ++k) drop_unused(&l->prompt[k]);
    for (size_t k = 0; k < l->steps; ++k) drop_unused(&l->step[k]);
    if (l->seen.rows) drop_unused(&l->seen);
}

/* Parts on the cores, beside a GPU. Without one all are there. */
static int to_cores(struct maker *m)
{
    const struct mf_net *net = m->to->net;
    unsigned char **mark;
    int rc;

    if (!m->ways->has_cores || !mf_apart(m->queue)) return MF_OK;
    mark = MF_MUST(calloc(net->lists + 1, sizeof *mark), "marks");
    for (size_t k = 0; k < net->lists; ++k) {
        const size_t n = net->list[k]->nodes;
        size_t *device = MF_MUST(malloc((n + 1) * sizeof *device), "devices of nodes");

        mark[k] = MF_MUST(malloc(n + 1), "marks");
        mf_device_map_nodes(m->ways->placement, m->ways->parts, net->list[k], device);
        for (size_t i = 0; i < n; ++i) mark[k][i] = device[i] == m->ways->cores;
        free(device);
    }
    rc = mf_pass_cores(m->to->net, mark);
    for (size_t k = 0; k < net->lists; ++k) free(mark[k]);
    free(mark);
    return rc;
}

/* Host memory is another one beside a GPU alone. */
static void stream(struct maker *m)
{
    const struct mf_gen_stream *s = &m->ways->stream;
    struct mf_gen_lists *l = m->to;
    int *number;

    if (s->parts == 0 || (s->ranks == 0 && !mf_apart(m->queue)) || s->ranks == 1) return;
    number = MF_MUST(malloc((l->net->values + 1) * sizeof *number), "parts of weights");
    l->parts = mf_parts_leave(l->step[0].list, s->parts, number);
    l->streamed.offload = s->ranks == 0;
    l->streamed.pieces = mf_max(s->ranks, 1);
    l->streamed.piece = s->rank;
    mf_pass_stream(l->net, l->parts, number, &l->streamed);
    free(number);
}

int mf_gen_lists_make(const struct mf_language *model, const struct mf_gen_size *size, const struct mf_gen_ways *ways,
                      struct mf_queue *queue, struct mf_gen_lists *l)
{
    static const struct mf_gen_ways alone = {.tensor = {.ranks = 1}, .stages = 1};
    struct maker m = {model, size, ways ? ways : &alone, queue, l};

    *l = (struct mf_gen_lists){.net = mf_net_new()};
    if (size->context > MF_GEN_POSITIONS / size->requests)
        return mf_fail(MF_USAGE, "%zu requests of a context of %zu have more than %d positions; try: fewer --requests",
                       size->requests, size->context, MF_GEN_POSITIONS);
    l->room.requests = size->requests;
    l->room.pages_each = mf_pages_of(size->context);
    l->room.pages = size->pages ? size->pages : l->room.requests * l->room.pages_each;
    MF_ASSERT(l->room.pages >= l->room.pages_each);
    MF_TRY(build(&m));
    MF_TRY(mf_kept_type_check(model, l->net));
    for (size_t k = 0; k < l->net->lists; ++k) mf_pass_fuse(l->net->list[k], MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
    cut_all(&m);
    MF_TRY(to_cores(&m));
    stream(&m);
    for (size_t k = 0; k < l->net->lists; ++k) MF_TRY(mf_pass_plan(l->net->list[k], queue));
    mf_pass_live(l->net);
    return MF_OK;
}

void mf_gen_lists_free(struct mf_gen_lists *l, struct mf_queue *queue)
{
    for (size_t k = 0; l->net && k < l->net->lists; ++k) mf_list_release(l->net->list[k], queue);
    if (l->net) mf_net_free(l->net);
    free(l->link);
    mf_layout_free(&l->streamed);
    *l = (struct mf_gen_lists){.net = NULL};
}
