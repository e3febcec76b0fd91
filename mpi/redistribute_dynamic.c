/* See redistribute.h: dynamic distribution of slices among the ranks of a node. All their slices are in shared
 * memory, so any rank can work on any slice. A counter behind each rank's buffers says how many of its slices have
 * been begun. */
#include <stdatomic.h>
#include <string.h>

#include "mpi/phases.h"
#include "mpi/redistribute_priv.h"

int mf_redistribute_is_dynamic(const struct mf_redistribution *plan)
{
    return plan->share && plan->depth == 1 && !mf_apart(plan->queue);
}

void mf_redistribute_spread(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *x)
{
    MF_PHASE(&mf_phase_exchange);

    for (size_t i = 0; i < n; ++i) mf_redistribute_count_out(plan[i], round);
    mf_redistribute_bring(plan, n, round, x);
}

/* A rank whose slices are all begun is not asked again. */
int mf_redistribute_take(struct mf_redistribution *plan, size_t round, size_t most, struct mf_taken *taken)
{
    for (; plan->helped < plan->comm.size; ++plan->helped) {
        const int r = mf_redistribute_nth(plan, plan->helped);
        const struct mf_span all = mf_redistribute_span_of(plan, round, r);
        size_t at;

        if (!plan->share->at[r]) continue; /* on another node */
        at = atomic_load_explicit(mf_redistribute_begun(plan, r), memory_order_relaxed);
        if (at < all.count) at = atomic_fetch_add_explicit(mf_redistribute_begun(plan, r), most, memory_order_relaxed);
        if (at >= all.count) continue;
        *taken = (struct mf_taken){r, at, {all.first + at, all.count - at < most ? all.count - at : most}};
        return 1;
    }
    return 0;
}

static struct mf_view view_of(const struct mf_redistribution *p, size_t round, const struct mf_taken *taken, int grads)
{
    struct mf_view v = mf_redistribute_view(p, mf_redistribute_span_of(p, round, taken->owner).count,
                                            mf_redistribute_seen(p, taken->owner, round, grads));

    v.base += taken->at * v.ss;
    v.count = taken->span.count;
    return v;
}

enum { MANY = 1 << 17 }; /* floats */

/* Here and not before, so that they are still in a cache when gradients are added to them. */
static void clear(const struct mf_redistribution *p, const struct mf_view *g)
{
    const int apart = p->normal == MF_X; /* slices of a row stand beside each other */
    const size_t rows = apart ? g->nu * g->nv : g->nu, run = apart ? g->count : g->count * g->nv;
    const size_t pitch = apart ? g->sv : g->su;

#pragma omp parallel for num_threads(p->queue->threads) schedule(static) if (rows * run > MANY)
    for (size_t row = 0; row < rows; ++row) memset(g->base + row * pitch, 0, run * sizeof *g->base);
}

void mf_redistribute_taken(const struct mf_redistribution *plan, size_t round, const struct mf_taken *taken,
                           struct mf_view *x, struct mf_view *g)
{
    MF_PHASE(&mf_phase_exchange);

    *x = view_of(plan, round, taken, 0);
    if (!g) return;
    *g = view_of(plan, round, taken, 1);
    clear(plan, g);
}

void mf_redistribute_gather(struct mf_redistribution *const *plan, size_t n, size_t round, float *const *g)
{
    MF_PHASE(&mf_phase_exchange);

    for (size_t i = 0; i < n; ++i) mf_redistribute_count_back(plan[i], round);
    mf_redistribute_return(plan, n, round, g);
}
