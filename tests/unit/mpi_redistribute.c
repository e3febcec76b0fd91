/* Whole slices out of slabs and gradients back into them, against the formula. Shapes have fewer planes or slices than
 * ranks, with all batches. They go through shared memory, through messages and through both (MF_NODES), or from GPU to
 * GPU (MF_TEST_EXCHANGE). Nothing stays allocated. */

#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "mpi/nccl_transport.h"
#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "tests/check.h"
#include "tests/device.h"

static float value(const size_t at[3]) { return (float)(10000 * at[0] + 100 * at[1] + at[2]); }

/* The volume's coordinates of element (u, v) of slice s. */
static void where(enum mf_normal normal, size_t s, size_t u, size_t v, size_t at[3])
{
    at[0] = normal == MF_Z ? s : u;
    at[1] = normal == MF_Z ? u : normal == MF_Y ? s : v;
    at[2] = normal == MF_X ? s : v;
}

/* Elements that a view reaches over. */
static size_t reach(const struct mf_view *v)
{
    return v->count ? (v->count - 1) * v->ss + (v->nu - 1) * v->su + (v->nv - 1) * v->sv + 1 : 0;
}

/* A view of a copy on the host. */
static struct mf_view on_host(const struct device *d, const struct mf_view *view)
{
    struct mf_view v = *view;

    v.base = malloc(reach(view) * sizeof *v.base + 1);
    d->be->get(d->q, v.base, view->base, reach(view) * sizeof *v.base);
    return v;
}

/* Views that the host can touch. */
static void check_views(enum mf_normal normal, struct mf_span span, const struct mf_view *x, const struct mf_view *g,
                        int alias)
{
    size_t at[3];

    CHECK(x->count == span.count && g->count == span.count && (span.count == 0 || span.first % 2 == 0));
    CHECK(x->ss == 1 || x->su == 1 || x->sv == 1);
    for (size_t s = 0; s < x->count; ++s)
        for (size_t u = 0; u < x->nu; ++u)
            for (size_t v = 0; v < x->nv; ++v) {
                where(normal, span.first + s, u, v, at);
                CHECK(x->base[s * x->ss + u * x->su + v * x->sv] == value(at));
                CHECK(alias || g->base[s * g->ss + u * g->su + v * g->sv] == 0);
                g->base[s * g->ss + u * g->su + v * g->sv] += 2 * value(at);
            }
}

static void check_slices(const struct device *d, enum mf_normal normal, struct mf_span span,
                         const struct mf_view *field, const struct mf_view *grad, int alias)
{
    const struct mf_view x = on_host(d, field), g = on_host(d, grad);

    check_views(normal, span, &x, &g, alias);
    d->be->put(d->q, grad->base, g.base, reach(grad) * sizeof *g.base);
    free(x.base);
    free(g.base);
}

/* Every slice once, in order, in even batches of at most `batch`. */
static size_t one_round(const struct device *d, struct mf_redistribution *plan, enum mf_normal normal, size_t round,
                        float *x, float *g, int alias)
{
    struct mf_span span = mf_redistribute_span(plan, round);
    struct mf_view view, grad;

    CHECK(span.count <= mf_redistribute_batch(plan));
    mf_redistribute_fetch(plan, round, x, &view);
    mf_redistribute_open(plan, round, g, &grad);
    check_slices(d, normal, span, &view, &grad, alias);
    mf_redistribute_add(plan, round, g);
    return span.count;
}

static void fill(const struct mf_slab *slab, float *x, float *g)
{
    size_t at[3], i = 0;

    for (at[0] = slab->first; at[0] < slab->first + slab->count; ++at[0])
        for (at[1] = 0; at[1] < slab->dims[1]; ++at[1])
            for (at[2] = 0; at[2] < slab->dims[2]; ++at[2], ++i) {
                x[i] = value(at);
                g[i] = 7;
            }
}

/* A rank that is not there takes the same bytes of both memories. */
static void check_foretold(const struct mf_comm *c, const struct mf_slab *slab, enum mf_normal normal,
                           enum mf_ways ways, size_t batch, size_t device, size_t host)
{
    struct device d = {.be = NULL};
    struct mf_backend_dry dry;
    struct mf_redistribution *plan;
    struct mf_comm comm;

    mf_comm_dry(&comm, c->rank, c->size, c->local_size);
    if (c->transport) mf_transport_dry(&comm);
    mf_backend_dry(&(struct mf_dry_kind){.simd = "", .apart = 1}, &dry);
    CHECK(mf_arena_open(&d.arena, &mf_mem_dry, 0) == MF_OK && mf_arena_open(&d.host, &mf_mem_dry, 0) == MF_OK);
    CHECK(mf_queue_dry(&d.q, &dry, 1, 1, d.arena, d.host) == MF_OK);
    d.be = d.q->backend;
    CHECK(mf_redistribute_new(&comm, slab, normal, ways, batch, d.q, &plan) == MF_OK);
    CHECK(mf_arena_live(d.arena) == device && mf_arena_live(d.host) == host);
    mf_redistribute_free(plan);
    device_close(&d);
}

/* Every slice once, whoever takes it; who is @p idle takes none, as if it were slow. */
static size_t one_dynamic(struct mf_redistribution *plan, enum mf_normal normal, size_t round, float *x, float *g,
                          int idle)
{
    struct mf_view view, grad;
    struct mf_taken taken;
    size_t seen = 0;

    mf_redistribute_spread(&plan, 1, round, &x);
    while (!idle && mf_redistribute_take(plan, round, 2, &taken)) {
        CHECK(taken.span.count > 0 && taken.span.count <= 2);
        mf_redistribute_taken(plan, round, &taken, &view, &grad);
        check_views(normal, taken.span, &view, &grad, 0);
        seen += taken.span.count;
    }
    mf_redistribute_gather(&plan, 1, round, &g);
    return seen;
}

/* Evaluations, each of which adds twice the field to g; returns how many. */
static size_t evaluate(const struct mf_comm *c, const struct device *dev, struct mf_redistribution *plan,
                       enum mf_normal normal, float *x, float *g, int alias, int64_t *seen)
{
    const size_t dynamic = mf_redistribute_is_dynamic(plan) ? 2 : 0, all = 2 + dynamic;

    for (size_t evaluation = 0; evaluation < all; ++evaluation)
        for (size_t r = 0; r < mf_redistribute_rounds(plan); ++r)
            *seen +=
                (int64_t)(evaluation % 2 < dynamic / 2
                              ? one_dynamic(plan, normal, r, x, g, evaluation > 1 && c->rank == 0 && c->local_size > 1)
                              : one_round(dev, plan, normal, r, x, g, alias));
    return all;
}

/* The nodes that MF_NODES says: side by side, or ("2r") the ranks in turn; one where it says nothing of use. */
static void check_nodes(const struct mf_comm *c)
{
    const char *hook = getenv("MF_NODES");
    const int nodes = hook && atoi(hook) > 1 && c->size > 1 ? 2 : 1, in_turn = hook && strchr(hook, 'r');
    const int node = in_turn ? c->rank % nodes : c->rank * nodes / c->size;
    int before = 0, all = 0;

    for (int r = 0; r < c->size; ++r)
        if ((in_turn ? r % nodes : r * nodes / c->size) == node) before += r < c->rank, ++all;
    CHECK(c->local_rank == before && c->local_size == all);
}

/* Some evaluations: each adds twice the field to g. Fields on @p dev, or (@p home not NULL) there and slices on it. */
static void forth_and_back(const struct mf_comm *c, const size_t dims[3], enum mf_normal normal, size_t batch,
                           const struct device *dev, const struct device *home)
{
    const struct device *field = home ? home : dev;
    const int alias = !home && ((c->size == 1 && !c->transport) || normal == MF_Z);
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    size_t voxels = mf_slab_voxels(&slab);
    float *x = malloc(voxels * sizeof *x + 1), *g = malloc(voxels * sizeof *g + 1), *dx, *dg;
    struct mf_redistribution *plan;
    int64_t seen = 0;
    size_t held[2], evaluations;

    fill(&slab, x, g);
    dx = device_put(field, x, voxels * sizeof *x);
    dg = device_put(field, g, voxels * sizeof *g);
    held[0] = mf_arena_live(dev->arena);
    held[1] = mf_arena_live(dev->host);
    CHECK(mf_redistribute_new(c, &slab, normal, MF_OUT_AND_BACK, batch, field->q, &plan) == MF_OK);
    if (!home && dev->arena != dev->host)
        check_foretold(c, &slab, normal, MF_OUT_AND_BACK, batch, mf_arena_live(dev->arena) - held[0],
                       mf_arena_live(dev->host) - held[1]);
    CHECK(batch == 0 || (normal == MF_Z && alias) || mf_redistribute_batch(plan) <= batch);
    CHECK(batch || !alias || mf_redistribute_rounds(plan) == 1);
    CHECK(mf_redistribute_is_dynamic(plan) ==
          (c->size > 1 && !alias && dev->arena == dev->host && !getenv("MF_SHARE")));
    evaluations = evaluate(c, dev, plan, normal, dx, dg, alias, &seen);
    mf_comm_sum_int(c, 1, &seen);
    CHECK(seen == (int64_t)(evaluations * dims[normal]));
    device_get(field, NULL, dx, 0);
    device_get(field, g, dg, voxels * sizeof *g);
    for (size_t i = 0; i < voxels; ++i) CHECK(g[i] == 7 + (float)(2 * evaluations) * x[i]);
    mf_redistribute_free(plan);
    CHECK(mf_arena_live(dev->arena) == 0 && mf_arena_live(dev->host) == 0);
    free(x);
    free(g);
}

/* Slices of fields on @p dev that are only looked at: the same slices. They take no memory for what would come back. */
static void only_out(const struct mf_comm *c, const size_t dims[3], enum mf_normal normal, size_t batch,
                     const struct device *dev)
{
    const int alias = (c->size == 1 && !c->transport) || normal == MF_Z;
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    size_t voxels = mf_slab_voxels(&slab), live[2];
    float *x = malloc(voxels * sizeof *x + 1), *g = malloc(voxels * sizeof *g + 1), *dx;
    struct mf_redistribution *plan, *both;

    fill(&slab, x, g);
    dx = device_put(dev, x, voxels * sizeof *x);
    live[0] = mf_arena_live(dev->arena);
    live[1] = mf_arena_live(dev->host);
    CHECK(mf_redistribute_new(c, &slab, normal, MF_OUT, batch, dev->q, &plan) == MF_OK);
    live[0] = mf_arena_live(dev->arena) - live[0];
    live[1] = mf_arena_live(dev->host) - live[1];
    if (dev->arena != dev->host) check_foretold(c, &slab, normal, MF_OUT, batch, live[0], live[1]);
    for (size_t r = 0; r < mf_redistribute_rounds(plan); ++r) {
        struct mf_view view, copy, none;

        mf_redistribute_fetch(plan, r, dx, &view);
        copy = on_host(dev, &view);
        none = copy;
        none.base = calloc(reach(&copy) + 1, sizeof *none.base);
        check_views(normal, mf_redistribute_span(plan, r), &copy, &none, 0);
        free(copy.base);
        free(none.base);
    }
    mf_redistribute_free(plan);
    live[0] += mf_arena_live(dev->arena);
    live[1] += mf_arena_live(dev->host);
    CHECK(mf_redistribute_new(c, &slab, normal, MF_OUT_AND_BACK, batch, dev->q, &both) == MF_OK);
    CHECK(alias || mf_redistribute_batch(both) == 0 || mf_arena_live(dev->host) > live[1] ||
          (c->transport && mf_arena_live(dev->arena) > live[0]));
    mf_redistribute_free(both);
    device_get(dev, NULL, dx, 0);
    free(x);
    free(g);
}

static void all(const struct mf_comm *c, const struct device *d, const struct device *home)
{
    static const size_t dims[][3] = {{1, 8, 8}, {2, 4, 6}, {8, 8, 8}, {7, 5, 3}, {16, 10, 12}, {5, 4, 6}, {3, 1, 1}};

    for (size_t k = 0; k < sizeof dims / sizeof dims[0]; ++k)
        for (size_t batch = 0; batch <= 4; batch += 2)
            for (int normal = MF_Z; normal <= MF_X; ++normal) {
                forth_and_back(c, dims[k], (enum mf_normal)normal, batch, d, home);
                if (!home) only_out(c, dims[k], (enum mf_normal)normal, batch, d);
            }
}

/* Fields on the device, and, where it has a memory of its own, in the host's. */
static void both(const struct mf_comm *c, const struct device *d)
{
    struct device home;

    all(c, d, NULL);
    if (!mf_apart(d->q)) return;
    home = device_home(d);
    all(c, d, &home);
    device_leave_home(&home);
}

/* One rank's arena is too small: all ranks refuse, and nothing stays. */
static void refused(const struct mf_comm *c, const struct device *d)
{
    size_t dims[3] = {16, 16, 16};
    struct mf_slab slab = mf_slab_of(c, dims, c->rank);
    struct mf_redistribution *plan = NULL;
    struct device small = device_open(1, 1, 100);

    CHECK(mf_redistribute_new(c, &slab, MF_Y, MF_OUT_AND_BACK, 0, c->rank == 0 ? small.q : d->q, &plan) ==
          (c->size > 1 || c->transport ? MF_MEMORY : MF_OK));
    mf_redistribute_free(plan);
    CHECK(mf_arena_live(d->arena) == 0 && mf_arena_live(d->host) == 0);
    device_close(&small);
}

int main(int argc, char **argv)
{
    struct mf_comm c, self;
    struct device d;
    const char *exchange = getenv("MF_TEST_EXCHANGE");

    mf_comm_self(&self);
    if (mf_comm_open(&c, &argc, &argv, "test") != MF_OK) return 1;
    device_number = exchange ? c.local_rank : 0;
    check_nodes(&c);
    d = device_open(2, 1, 0);
    CHECK(mf_transport_open(&c, d.q, exchange ? mf_exchange_of(exchange) : MF_EXCHANGE_HOST) == MF_OK);
    CHECK((c.transport != NULL) == (exchange && strcmp(exchange, "nccl") == 0));
    both(&self, &d);
    for (int way = 0; way < 2; ++way, setenv("MF_SHARE", "0", 1)) {
        both(&c, &d);
        refused(&c, &d);
    }
    mf_transport_close(&c);
    device_close(&d);
    mf_comm_close(&c);
    return failures != 0;
}
