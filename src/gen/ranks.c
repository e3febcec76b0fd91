/* See ranks.h. */
#include "src/gen/ranks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/pipeline.h"

/* -- cutting -- */

static size_t ranks_of(const struct mf_gen_grid *g) { return g->comm ? (size_t)g->comm->size : 1; }

int mf_gen_grid_check(const struct mf_language *model, const struct mf_gen_grid *g)
{
    if (g->zero) return MF_OK; /* any number of ranks */
    if (g->tensor * g->stages != ranks_of(g))
        return mf_fail(MF_USAGE, "--tp %zu times --pp %zu is %zu, and %zu rank%s; try: mpirun -n %zu", g->tensor,
                       g->stages, g->tensor * g->stages, ranks_of(g), ranks_of(g) == 1 ? " runs" : "s run",
                       g->tensor * g->stages);
    MF_TRY(mf_decoder_can_split(model, g->tensor));
    if (g->stages > mf_min(g->map ? model->layers + 2 : model->layers, MF_STAGES))
        return mf_fail(MF_USAGE,
                       "%zu stages cannot share %zu layers; try: fewer ranks, or a --map of %zu devices, where "
                       "embeddings and head may be stages of their own",
                       g->stages, model->layers, g->stages);
    return MF_OK;
}

/* A list with all parts says what each of them needs. */
static int find_parts(const struct mf_language *model, const struct mf_gen_size *size, struct mf_queue *queue,
                      struct mf_gen_cut *cut)
{
    const struct mf_gen_ways whole = {.tensor = cut->ways.tensor, .stages = 1};
    struct mf_gen_lists lists;
    const int rc = mf_gen_lists_make(model, size, &whole, queue, &lists);

    if (rc == MF_OK) mf_parts_find(lists.net, lists.step[0].list, &cut->parts);
    mf_gen_lists_free(&lists, queue);
    return rc;
}

int mf_gen_cut_find(const struct mf_language *model, const struct mf_gen_size *size, const struct mf_gen_grid *grid,
                    struct mf_queue *queue, struct mf_gen_cut *cut)
{
    const size_t rank = grid->comm ? (size_t)grid->comm->rank : 0;

    MF_ASSERT(!grid->zero || (grid->tensor == 1 && grid->stages == 1 && !grid->map && !grid->streamed));
    *cut = (struct mf_gen_cut){.parts = {0}};
    MF_TRY(mf_gen_grid_check(model, grid));
    cut->ways = (struct mf_gen_ways){.tensor = {MF_GROUP_TENSOR, grid->tensor, rank % grid->tensor},
                                     .stages = grid->stages,
                                     .stage = grid->zero ? 0 : rank / grid->tensor,
                                     .parts = &cut->parts,
                                     .placement = &cut->placement};
    if (grid->zero) cut->ways.stream = (struct mf_gen_stream){SIZE_MAX, ranks_of(grid), rank};
    if (grid->streamed) cut->ways.stream = (struct mf_gen_stream){grid->streamed, 0, 0};
    if (grid->stages == 1 && !grid->map) return MF_OK;
    MF_TRY(find_parts(model, size, queue, cut));
    cut->ways.has_cores = ranks_of(grid) == 1 && mf_place_map_has_cores(grid->map);
    if (cut->ways.has_cores) return mf_place_cores(&cut->parts, grid->map, model, &cut->placement, &cut->ways.cores);
    return mf_place_stages(&cut->parts, grid->stages, grid->map, model, &cut->placement);
}

void mf_gen_cut_free(struct mf_gen_cut *cut)
{
    mf_parts_free(&cut->parts);
    mf_device_map_free(&cut->placement);
}

/* -- exchanges -- */

int mf_gen_ranks_open(struct mf_gen_ranks *r, const struct mf_gen_grid *grid, const struct mf_gen_ways *ways,
                      const struct mf_gen_lists *lists, struct mf_queue *queue, struct mf_walk_memory *memory)
{
    *r = (struct mf_gen_ranks){.grid = *grid, .answers = (int)ways->stage == lists->answering, .teller = -1};
    MF_TRY(mf_stages_open(&r->stages, grid->comm, grid->tensor, grid->stages, lists->link, lists->net, queue, memory));
    if (grid->stages == 1) return MF_OK;
    r->teller = lists->answering * (int)grid->tensor;
    r->letter = MF_MUST(calloc(grid->stages * (size_t)grid->comm->size, sizeof(struct mf_letter *)), "messages");
    return MF_OK;
}

/* They carry answer number @p told. */
static struct mf_letter **letters_of(struct mf_gen_ranks *r, size_t told)
{
    return r->letter + told % r->grid.stages * (size_t)r->grid.comm->size;
}

static void wait_for_letters(struct mf_gen_ranks *r, size_t told)
{
    struct mf_letter **letter = letters_of(r, told);

    for (int k = 0; k < r->grid.comm->size; ++k) {
        mf_comm_sent(letter[k]);
        letter[k] = NULL;
    }
}

void mf_gen_ranks_close(struct mf_gen_ranks *r)
{
    for (size_t k = 0; r->letter && k < r->grid.stages; ++k) wait_for_letters(r, k);
    mf_stages_close(&r->stages);
    free(r->letter);
    *r = (struct mf_gen_ranks){.teller = -1};
}

/* -- answers -- */

/* A rank takes a turn when it has heard the answer of `stages` turns before. So those messages have left. */
void mf_gen_ranks_tell(struct mf_gen_ranks *r, const void *data, size_t bytes)
{
    struct mf_letter **letter;

    if (r->teller < 0 || r->grid.comm->rank != r->teller) return;
    wait_for_letters(r, r->told);
    letter = letters_of(r, r->told++);
    for (int k = 0; k < r->grid.comm->size; ++k)
        if (mf_stage_of(r->grid.tensor, r->grid.stages, k) != mf_stage_of(r->grid.tensor, r->grid.stages, r->teller))
            letter[k] = mf_comm_begin_send(r->grid.comm, k, data, bytes);
}

void mf_gen_ranks_hear(struct mf_gen_ranks *r, void *data, size_t bytes)
{
    if (!r->answers) mf_comm_receive(r->grid.comm, r->teller, data, bytes);
}
