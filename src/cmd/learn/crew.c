/* See crew.h. */
#include "src/cmd/learn/crew.h"

#include <stdint.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/place/leave.h"
#include "src/place/pipeline.h"

/* -- ranks -- */

static int split(const struct mf_comm *all, size_t stages, int by_crew, const char *name, struct mf_comm *to)
{
    int *colour = MF_MUST(malloc((size_t)all->size * sizeof *colour), "crews");
    int rc;

    for (int r = 0; r < all->size; ++r) colour[r] = by_crew ? r / (int)stages : r % (int)stages;
    rc = mf_comm_split(all, colour, NULL, name, to);
    free(colour);
    return rc;
}

int mf_crew_open(const struct mf_comm *all, const struct mf_crew_wish *wish, struct mf_crew *c)
{
    size_t named = 1;

    *c = (struct mf_crew){.wish = *wish, .sharers = all};
    MF_TRY(mf_agree(all, mf_place_map_stages(wish->map, 0, &named)));
    c->stages = wish->stages ? wish->stages : named;
    if ((size_t)all->size % c->stages != 0)
        return mf_fail(MF_USAGE, "%zu stages do not divide %d rank%s; try: mpirun -n %zu", c->stages, all->size,
                       all->size == 1 ? "" : "s", c->stages);
    if (c->stages == 1) return MF_OK;
    MF_TRY(split(all, c->stages, 1, "crew", &c->own));
    MF_TRY(split(all, c->stages, 0, "sharers", &c->others));
    c->sharers = &c->others;
    return MF_OK;
}

void mf_crew_close(struct mf_crew *c)
{
    if (c->others.size) mf_comm_free(&c->others);
    if (c->own.size) mf_comm_free(&c->own);
    *c = (struct mf_crew){.sharers = NULL};
}

int mf_crew_walks(const struct mf_crew *c, int walks)
{
    double any = walks;

    if (c->wish.zero && c->sharers->size > 1) mf_comm_sum(c->sharers, 1, &any);
    return any > 0;
}

/* -- the model -- */

/* Which stage has which part, of a list that is planned. */
struct placing {
    const struct mf_crew *crew;
    struct mf_parts parts;
    struct mf_device_map placement;
    int rc;
};

static void see(void *context, const struct mf_list *list)
{
    struct placing *p = context;

    mf_parts_find(list->net, list, &p->parts);
    p->rc = mf_place_stages(&p->parts, p->crew->stages, p->crew->wish.map, NULL, &p->placement);
}

static void place(void *context, const struct mf_list *list, int *stage)
{
    const struct placing *p = context;
    size_t *device = MF_MUST(malloc((list->nodes + 1) * sizeof *device), "stages of nodes");

    mf_device_map_nodes(&p->placement, &p->parts, list, device);
    for (size_t i = 0; i < list->nodes; ++i) stage[i] = (int)device[i];
    free(device);
}

/* A network has at least as many parts as stages. */
static int check_parts(const struct placing *p, const char *path)
{
    MF_TRY(p->rc);
    if (p->crew->stages <= p->parts.count) return MF_OK;
    return mf_fail(MF_USAGE, "--pp %zu: the model of '%.200s' has %zu parts", p->crew->stages, path, p->parts.count);
}

static int is_cut(const struct mf_crew *c) { return c->stages > 1 || c->wish.map; }

static int find_placing(struct placing *p, const struct mf_model_card *card, size_t batch, struct mf_queue *queue)
{
    const struct mf_model_wish wish = {.batch = batch};

    MF_TRY(mf_model_draft(card, &wish, queue, see, p));
    return check_parts(p, card->path);
}

static void free_placing(struct placing *p)
{
    mf_parts_free(&p->parts);
    mf_device_map_free(&p->placement);
}

struct mf_model_stream mf_crew_stream(const struct mf_crew *c)
{
    return c->wish.zero ? (struct mf_model_stream){c->sharers, SIZE_MAX, mf_parts_leave}
                        : (struct mf_model_stream){NULL, c->streamed, mf_parts_leave};
}

static struct mf_model_wish wish_of(const struct mf_crew *c, size_t batch, const struct mf_model_cut *cut)
{
    struct mf_model_wish wish = {.batch = batch, .stream = mf_crew_stream(c)};

    if (c->stages > 1) wish.cut = cut;
    return wish;
}

static int open_placing(struct placing *p, const char *path, size_t batch, struct mf_queue *queue)
{
    struct mf_model_card card;
    int rc;

    if (!is_cut(p->crew)) return MF_OK;
    rc = mf_model_card_open_as(path, NULL, &card);
    if (rc == MF_OK) rc = find_placing(p, &card, batch, queue);
    mf_model_card_close(&card);
    return rc;
}

int mf_crew_model(const struct mf_crew *c, const char *path, size_t batch, struct mf_queue *queue,
                  struct mf_model **model)
{
    struct placing p = {.crew = c};
    const struct mf_model_cut cut = {&c->own, place, &p};
    const struct mf_model_wish wish = wish_of(c, batch, &cut);
    int rc = open_placing(&p, path, batch, queue);

    *model = NULL;
    if (c->stages > 1 || c->wish.zero) rc = mf_agree(c->stages > 1 ? &c->own : c->sharers, rc);
    if (rc == MF_OK) rc = mf_model_open_as(path, &wish, queue, model);
    free_placing(&p);
    return rc;
}

struct mf_json *mf_crew_map(const struct mf_crew *c, const struct mf_model_card *card, size_t batch,
                            struct mf_queue *queue)
{
    struct placing p = {.crew = c};
    struct mf_json *map = mf_json_object();

    if (find_placing(&p, card, batch, queue) != MF_OK) mf_err_clear();
    for (size_t i = 0; i < p.placement.parts; ++i) {
        char *rank = mf_format("rank:%zu", p.placement.device[i]);

        mf_json_text(map, p.parts.part[i].name, c->stages > 1 ? rank : queue->backend->name);
        free(rank);
    }
    free_placing(&p);
    return map;
}

int mf_crew_foresee(const struct mf_crew *c, const struct mf_model_card *card, size_t batch, struct mf_queue *queue,
                    struct mf_model_needs *needs)
{
    struct placing p = {.crew = c};
    const struct mf_model_cut cut = {&c->own, place, &p};
    const struct mf_model_wish wish = wish_of(c, batch, &cut);
    int rc = is_cut(c) ? find_placing(&p, card, batch, queue) : MF_OK;

    if (rc == MF_OK) rc = mf_model_foresee(card, &wish, queue, needs);
    free_placing(&p);
    return rc;
}
