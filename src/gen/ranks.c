/* See ranks.h. */
#include "src/gen/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/devices.h"
#include "src/place/map.h"
#include "src/place/strategy.h"

/* -- cutting -- */

static size_t ranks_of(const struct mf_gen_grid *g) { return g->comm ? (size_t)g->comm->size : 1; }

int mf_gen_grid_check(const struct mf_language *model, const struct mf_gen_grid *g)
{
    if (g->tensor * g->stages != ranks_of(g))
        return mf_fail(MF_USAGE, "--tp %zu times --pp %zu is %zu, and %zu rank%s run; try: mpirun -n %zu", g->tensor,
                       g->stages, g->tensor * g->stages, ranks_of(g), ranks_of(g) == 1 ? "" : "s",
                       g->tensor * g->stages);
    MF_TRY(mf_decoder_can_split(model, g->tensor));
    if (g->stages > mf_min(g->map ? model->layers + 2 : model->layers, MF_STAGES))
        return mf_fail(MF_USAGE, "--pp %zu: the model has %zu layers, and a stage has at least one", g->stages,
                       model->layers);
    return MF_OK;
}

/* Stages of equal memory. */
static void equal_stages(size_t n, struct mf_place_devices *to)
{
    to->count = n;
    to->device = MF_MUST(calloc(n, sizeof *to->device), "stages");
    to->linked = MF_MUST(calloc(n * n, 1), "stages");
    for (size_t k = 0; k < n; ++k) {
        snprintf(to->device[k].name, sizeof to->device[k].name, "stage %u", (unsigned)k);
        to->device[k].memory = to->device[k].free = UINT64_C(1) << 60;
    }
    memset(to->linked, 1, n * n);
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

static int place(struct mf_gen_cut *cut)
{
    struct mf_place_devices stages;
    int rc;

    equal_stages(cut->ways.stages, &stages);
    rc = mf_place_auto(&cut->parts, &stages, &cut->placement);
    mf_place_devices_free(&stages);
    return rc;
}

int mf_gen_map_stages(const char *text, size_t *stages)
{
    struct mf_place_devices devices;
    struct mf_map map = {.count = 0};
    int rc = MF_OK;

    *stages = 1;
    if (text) rc = mf_map_read(text, &map);
    if (text && rc == MF_OK) {
        mf_map_devices(&map, &devices);
        *stages = devices.count;
        mf_place_devices_free(&devices);
    }
    mf_map_free(&map);
    return rc;
}

/* Every stage has something to do. */
static int check_stages(const struct mf_gen_cut *cut, const struct mf_place_devices *stages)
{
    if (stages->count != cut->ways.stages)
        return mf_fail(MF_USAGE, "--map names %zu devices, and there are %zu stages; leave --pp out", stages->count,
                       cut->ways.stages);
    for (size_t d = 0; d < stages->count; ++d) {
        size_t k = 0;

        while (k < cut->placement.parts && cut->placement.device[k] != d) ++k;
        if (k == cut->placement.parts)
            return mf_fail(MF_USAGE, "--map gives no part to %s; leave it out", stages->device[d].name);
    }
    return MF_OK;
}

static int place_by_map(const struct mf_language *model, const char *text, struct mf_gen_cut *cut)
{
    struct mf_place_devices stages = {.count = 0};
    struct mf_map map;
    int rc = mf_map_read(text, &map);

    if (rc == MF_OK) {
        mf_map_devices(&map, &stages);
        rc = mf_map_place(&map, &cut->parts, &stages, model, &cut->placement);
    }
    if (rc == MF_OK) rc = check_stages(cut, &stages);
    mf_place_devices_free(&stages);
    mf_map_free(&map);
    return rc;
}

int mf_gen_cut_find(const struct mf_language *model, const struct mf_gen_size *size, const struct mf_gen_grid *grid,
                    struct mf_queue *queue, struct mf_gen_cut *cut)
{
    const size_t rank = grid->comm ? (size_t)grid->comm->rank : 0;

    *cut = (struct mf_gen_cut){.parts = {0}};
    MF_TRY(mf_gen_grid_check(model, grid));
    cut->ways = (struct mf_gen_ways){.tensor = {MF_GROUP_TENSOR, grid->tensor, rank % grid->tensor},
                                     .stages = grid->stages,
                                     .stage = rank / grid->tensor,
                                     .parts = &cut->parts,
                                     .placement = &cut->placement};
    if (grid->stages == 1) return MF_OK;
    MF_TRY(find_parts(model, size, queue, cut));
    return grid->map ? place_by_map(model, grid->map, cut) : place(cut);
}

void mf_gen_cut_free(struct mf_gen_cut *cut)
{
    mf_parts_free(&cut->parts);
    mf_device_map_free(&cut->placement);
}

/* -- groups -- */

static int stage_of(const struct mf_gen_ranks *r, int rank) { return rank / (int)r->grid.tensor; }

static int open_group(struct mf_gen_ranks *r, int number, const int *colour, const char *name, size_t largest)
{
    const struct mf_comm *group;

    MF_TRY(mf_rank_groups_split(&r->groups, r->grid.comm, number, colour, name));
    group = mf_rank_groups_find(&r->groups, number);
    return mf_agree(r->grid.comm, group ? mf_arrays_join(r->arrays, number, group, largest) : MF_OK);
}

static size_t largest_of(const struct mf_gen_lists *lists, int group)
{
    size_t most = 0;

    for (size_t k = 0; k < lists->net->lists; ++k) most = mf_max(most, mf_list_largest(lists->net->list[k], group));
    return most;
}

static int open_tensor(struct mf_gen_ranks *r, const struct mf_gen_lists *lists, int *colour)
{
    if (r->grid.tensor == 1) return MF_OK;
    for (int k = 0; k < r->grid.comm->size; ++k) colour[k] = stage_of(r, k);
    return open_group(r, MF_GROUP_TENSOR, colour, "tensor", largest_of(lists, MF_GROUP_TENSOR));
}

/* The ranks of two stages that have the same part of their layers. */
static int open_link(struct mf_gen_ranks *r, const struct mf_gen_lists *lists, int a, int b, int *colour)
{
    const int number = mf_link_group(a, b), tensor = (int)r->grid.tensor;

    for (int k = 0; k < r->grid.comm->size; ++k)
        colour[k] = stage_of(r, k) == a || stage_of(r, k) == b ? k % tensor : -1;
    return open_group(r, number, colour, "stages", largest_of(lists, number));
}

static int open_groups(struct mf_gen_ranks *r, const struct mf_gen_lists *lists, int *colour)
{
    const int stages = (int)r->grid.stages;

    MF_TRY(open_tensor(r, lists, colour));
    for (int a = 0; lists->link && a < stages; ++a)
        for (int b = a + 1; b < stages; ++b)
            if (lists->link[a * stages + b]) MF_TRY(open_link(r, lists, a, b, colour));
    return MF_OK;
}

int mf_gen_ranks_open(struct mf_gen_ranks *r, const struct mf_gen_grid *grid, const struct mf_gen_ways *ways,
                      const struct mf_gen_lists *lists, struct mf_queue *queue, struct mf_walk_memory *memory)
{
    const enum mf_place p = MF_PLACE_DEVICE;
    int *colour, rc;

    *r = (struct mf_gen_ranks){.grid = *grid, .answers = (int)ways->stage == lists->answering, .teller = -1};
    *memory = (struct mf_walk_memory){.lasting = {NULL}};
    if (ranks_of(grid) == 1) return MF_OK;
    MF_TRY(mf_arrays_open(grid->comm, queue, lists->net->room[p], 0, &r->arrays));
    memory->room[p] = mf_arrays_memory(r->arrays);
    colour = MF_MUST(malloc((size_t)grid->comm->size * sizeof *colour), "groups of ranks");
    rc = open_groups(r, lists, colour);
    free(colour);
    if (grid->stages == 1) return rc;
    r->teller = lists->answering * (int)grid->tensor;
    r->letter = MF_MUST(calloc(grid->stages * (size_t)grid->comm->size, sizeof(struct mf_letter *)), "messages");
    return rc;
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
    mf_arrays_close(r->arrays);
    mf_rank_groups_close(&r->groups);
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
        if (stage_of(r, k) != stage_of(r, r->teller)) letter[k] = mf_comm_begin_send(r->grid.comm, k, data, bytes);
}

void mf_gen_ranks_hear(struct mf_gen_ranks *r, void *data, size_t bytes)
{
    if (!r->answers) mf_comm_receive(r->grid.comm, r->teller, data, bytes);
}
