/* See first_rows.h. */
#include "src/moe/first_rows.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/moe/look.h"

enum { SAMPLES = 256 };

struct gaps {
    const struct mf_trainer *t;
    size_t place; /* of the new expert */
    float bias[MF_EXPERTS];
    float *gap; /* [count] what the expert lacks to be chosen for a row */
    size_t count;
};

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

/* The least of the @p top largest numbers that others have, without @p place. */
static float least_chosen(const struct gaps *g, const float *score, size_t n, size_t top)
{
    float key[MF_EXPERTS];
    size_t others = 0;

    for (size_t e = 0; e < n; ++e)
        if (e != g->place) key[others++] = score[e] + g->bias[e];
    qsort(key, others, sizeof *key, by_size);
    return others >= top ? key[others - top] : -INFINITY;
}

static void see(void *context, const struct mf_looked *look)
{
    struct gaps *g = context;
    const size_t n = look->experts, top = (size_t)g->t->opts.args.top;

    g->gap = MF_MUST(realloc(g->gap, (g->count + look->rows + 1) * sizeof *g->gap), "scores of a new expert");
    for (size_t r = 0; r < look->rows; ++r)
        g->gap[g->count++] = least_chosen(g, look->score + r * n, n, top) - look->score[r * n + g->place];
}

/* Gap of the rows of all ranks below which one in @p experts lies. */
static float quantile(const struct gaps *g, size_t experts)
{
    const struct mf_comm *comm = g->t->comm;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "scores of a new expert"), n;
    void *all = NULL;
    float found = 0, *gap;

    MF_ASSERT(mf_comm_gather(comm, g->gap, g->count * sizeof *g->gap, &all, offset) == MF_OK);
    gap = all;
    n = offset[comm->size] / sizeof *gap;
    qsort(gap, n, sizeof *gap, by_size);
    if (n > 1)
        found = (gap[n / experts] + gap[n / experts > 0 ? n / experts - 1 : 1]) / 2; /* no row is on the border */
    free(all);
    free(offset);
    return isfinite(found) ? found : 0;
}

/* The first mixture of the network has the balance biases @p to, where it is. Returns whether there are any. */
static int get_biases(const struct mf_trainer *t, float *to)
{
    const struct mf_net *net = t->network.net;

    for (size_t v = 0; v < net->values; ++v) {
        if (!mf_value_in(&net->value[v], 1 << MF_SET_BALANCE) || !mf_value_is_weight(&net->value[v])) continue;
        if (!mf_value_is_away(&net->value[v]))
            mf_place_get(t->queue, MF_PLACE_DEVICE, to, mf_walk_at(t->walk, t->network.evaluate.list, (int)v),
                         t->experts.count * sizeof *to);
        return 1;
    }
    return 0;
}

static void set_bias(const struct mf_trainer *t, size_t place, float bias)
{
    const struct mf_net *net = t->network.net;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_in(&net->value[v], 1 << MF_SET_BALANCE) && mf_value_is_weight(&net->value[v]) &&
            !mf_value_is_away(&net->value[v]))
            mf_place_put(t->queue, MF_PLACE_DEVICE,
                         (float *)mf_walk_at(t->walk, t->network.evaluate.list, (int)v) + place, &bias, sizeof bias);
}

int mf_first_rows(struct mf_trainer *t, long id)
{
    const size_t all = t->set->count[MF_TRAIN], n = all < SAMPLES ? all : SAMPLES;
    struct gaps g = {.t = t, .place = mf_experts_find(&t->experts, id)};
    uint32_t sample[SAMPLES];
    int rc;

    if (!get_biases(t, g.bias)) return MF_OK;
    for (size_t i = 0; i < n; ++i) sample[i] = t->set->id[MF_TRAIN][i * all / n];
    rc = mf_look_at(t, n, sample, see, &g);
    if (rc == MF_OK) set_bias(t, g.place, quantile(&g, t->experts.count));
    free(g.gap);
    return rc;
}
