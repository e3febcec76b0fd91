/* See lists.h. */
#include "src/gen/lists.h"

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/net/pass.h"

static int add(const struct mf_language *model, struct mf_gen_lists *l, const char *name, size_t rows, size_t answers,
               int steady, struct mf_decoder_list *to)
{
    l->rows = mf_max(l->rows, rows);
    l->answers = mf_max(l->answers, answers);
    return mf_decoder_build(model, &l->room, l->net, name, rows, answers, steady, to);
}

static int build(const struct mf_language *model, const struct mf_gen_size *size, struct mf_gen_lists *l)
{
    const size_t chunk = mf_min(MF_GEN_CHUNK, size->context);

    for (size_t k = 0; k < MF_GEN_PROMPTS; ++k)
        MF_TRY(add(model, l, "prompt", mf_min((size_t)MF_GEN_CHUNK >> 2 * (MF_GEN_PROMPTS - 1 - k), size->context), 1,
                   0, &l->prompt[k]));
    if (size->logits) MF_TRY(add(model, l, "seen", chunk, chunk, 0, &l->seen));
    for (size_t rows = 1; l->steps == 0 || l->step[l->steps - 1].rows < size->requests; rows *= 2) {
        const size_t n = mf_min(rows, size->requests);

        MF_ASSERT(l->steps < MF_GEN_STEPS);
        MF_TRY(add(model, l, "step", n, n, 1, &l->step[l->steps]));
        ++l->steps;
    }
    return MF_OK;
}

int mf_gen_check_context(const struct mf_language *model, const char *folder, size_t context)
{
    if (model->rope.kind != MF_ROPE_NONE || context <= model->context) return MF_OK;
    return mf_fail(MF_USAGE, "--context %zu: the model of '%.200s' has %zu positions", context, folder, model->context);
}

int mf_gen_lists_make(const struct mf_language *model, const struct mf_gen_size *size, struct mf_queue *queue,
                      struct mf_gen_lists *l)
{
    *l = (struct mf_gen_lists){.net = mf_net_new()};
    if (size->context > MF_GEN_POSITIONS / size->requests)
        return mf_fail(MF_USAGE, "%zu requests of a context of %zu have more than %d positions; try: fewer --requests",
                       size->requests, size->context, MF_GEN_POSITIONS);
    l->room.requests = size->requests;
    l->room.pages_each = mf_pages_of(size->context);
    l->room.pages = size->pages ? size->pages : l->room.requests * l->room.pages_each;
    MF_ASSERT(l->room.pages >= l->room.pages_each);
    MF_TRY(build(model, size, l));
    for (size_t k = 0; k < l->net->lists; ++k) {
        mf_pass_fuse(l->net->list[k], MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
        MF_TRY(mf_pass_plan(l->net->list[k], queue));
    }
    mf_pass_live(l->net);
    return MF_OK;
}

void mf_gen_lists_free(struct mf_gen_lists *l, struct mf_queue *queue)
{
    for (size_t k = 0; l->net && k < l->net->lists; ++k) mf_list_release(l->net->list[k], queue);
    if (l->net) mf_net_free(l->net);
    *l = (struct mf_gen_lists){.net = NULL};
}
