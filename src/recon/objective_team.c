/* See objective_impl.h: ranks share the work of an image, which one of them has. */
#include <stdlib.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/recon/objective_impl.h"

enum { LEAST = 4096 /* pixels for each rank: with fewer, they wait longer for each other than they save */ };

static size_t pixels_of(const struct mf_objective *o) { return o->slab.dims[1] * o->slab.dims[2]; }

size_t mf_objective_team_of(const size_t dims[3], size_t ranks)
{
    const size_t most = dims[1] * dims[2] / LEAST;

    if (dims[0] > 1 || most < 2) return 1;
    return most < ranks ? most : ranks;
}

/* May this rank share? They exchange host memory. */
static int may_share(const struct mf_objective *o)
{
    int shared = 0;

    if (o->home != o->queue || mf_apart(o->queue)) return 0;
    for (size_t t = 0; t < o->opts.terms; ++t) shared |= o->ops[t] && (o->ops[t]->shares || o->ops[t]->memory);
    return shared;
}

/* Ranks that share the work: the first ones, as many as it is worth; 1 where one rank may not. Collective. */
static int parts_of(const struct mf_objective *o)
{
    const size_t most = mf_objective_team_of(o->slab.dims, (size_t)o->comm->size);
    int64_t refuses;

    if (most == 1) return 1;
    refuses = !may_share(o);
    mf_comm_max_int(o->comm, 1, &refuses);
    return refuses ? 1 : (int)most;
}

static void share(void *context, void *data, const size_t *offset)
{
    const struct mf_objective *o = context;

    mf_comm_share(&o->crew, data, offset);
}

/* Collective over the objective's ranks. Those behind the last part are in no group. */
static int group(struct mf_objective *o, int parts)
{
    int rc, *colour;

    if (parts == o->comm->size) {
        o->crew = *o->comm;
        return MF_OK;
    }
    colour = MF_MUST(calloc((size_t)o->comm->size, sizeof *colour), "ranks of an image");
    for (int r = parts; r < o->comm->size; ++r) colour[r] = -1;
    rc = mf_comm_split(o->comm, colour, NULL, "image", &o->crew);
    free(colour);
    return rc;
}

int mf_objective_team_open(struct mf_objective *o)
{
    const int parts = parts_of(o);

    if (parts == 1) return MF_OK;
    MF_TRY(group(o, parts));
    if (o->comm->rank >= parts) return MF_OK;
    o->team = (struct mf_team){o->comm->rank, parts, o, share};
    o->helps = o->team.part > 0;
    MF_ASSERT(o->helps == (o->slab.count == 0));
    return MF_OK;
}

/* A helper's copy of the field, and its gradient, which nobody reads. */
int mf_objective_team_take(struct mf_objective *o)
{
    const size_t bytes = 2 * o->phases * pixels_of(o) * sizeof(float);

    if (!o->helps) return MF_OK;
    o->copy = mf_arena_take(o->queue->arena, bytes, "copy of the image");
    return o->copy ? MF_OK : MF_MEMORY;
}

void mf_objective_team_close(struct mf_objective *o)
{
    mf_arena_give(o->queue->arena, o->copy);
    if (o->team.parts > 1 && o->team.parts < o->comm->size) mf_comm_free(&o->crew);
}

static struct mf_view view(const struct mf_objective_side *s, float *base, size_t p)
{
    const size_t pixels = s->nu * s->nv;

    return (struct mf_view){base ? base + p * pixels : NULL, 1, s->nu, s->nv, pixels, s->nv, 1};
}

void mf_objective_team_begin(struct mf_objective *o, float *x, float *g, struct mf_view *vx, struct mf_view *vg)
{
    const size_t floats = o->phases * pixels_of(o);

    if (o->helps) {
        x = o->copy;
        g = g ? o->copy + floats : NULL;
        if (g) o->backend->field->fill(o->queue, floats, 0, g);
    }
    o->backend->sync(o->queue);
    mf_comm_bcast(&o->crew, 0, x, floats * sizeof *x);
    for (size_t p = 0; p < o->phases; ++p) {
        vx[p] = view(&o->side[0], x, p);
        vg[p] = view(&o->side[0], g, p);
    }
}
