/* See grid.h: from the grey field of the last grid to labels, by an exact cut at the volume fractions. */
#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/connect.h"
#include "src/recon/grid.h"
#include "src/recon/select.h"

enum { LOOKS = 24 };

/* Share of voxels that are neither nearly 0 nor nearly 1 in some field. */
static double grey_share(struct mf_grid *r)
{
    int64_t grey = 0;

    r->backend->field->between(r->queue, mf_grid_extent(r), 0.05f, 0.95f, r->optimiser.x, r->plane);
    r->backend->sync(r->queue);
    for (size_t z = 0; z < r->slab.count; ++z) grey += (int64_t)r->plane[z];
    mf_comm_sum_int(r->comm, 1, &grey);
    return (double)grey / mf_grid_voxels(r);
}

void mf_grid_counts(const struct mf_grid *r, uint64_t counts[MF_PHASES_MAX])
{
    double fraction[MF_PHASES_MAX];

    memcpy(fraction, r->fraction, sizeof fraction);
    if (r->fields == 1) {
        fraction[1] = r->fraction[0];
        fraction[0] = 1 - fraction[1];
    }
    mf_phase_counts((uint64_t)mf_grid_voxels(r), (size_t)r->result->phases, fraction, counts);
}

/* Assigns every voxel that is neither fixed nor pinned (@p c; NULL: none is) to its leading phase; the gradient is
 * scratch. */
static void binarise(struct mf_grid *r, const struct mf_connect *c, int64_t *room)
{
    const struct mf_label_ops *ops = r->backend->label;
    uint64_t counts[MF_PHASES_MAX];

    mf_grid_counts(r, counts);
    for (int p = 0; p < r->result->phases; ++p) {
        const uint64_t taken = r->held[p] + (c ? c->pinned[p] : 0);

        MF_ASSERT(taken <= counts[p]);
        counts[p] -= taken;
    }
    if (r->fixed)
        r->backend->put(r->queue, r->label, r->opts->fixed->phase, mf_slab_voxels(&r->slab));
    else
        ops->fill(r->queue, mf_slab_voxels(&r->slab), MF_LABEL_OPEN, r->label);
    if (c) ops->change(r->queue, c->pins, c->pin, r->label);
    if (c || r->fixed) ops->hold(r->queue, mf_grid_extent(r), r->label, -INFINITY, r->optimiser.x);
    mf_binarise(r->comm, r->queue, &r->slab, r->fields, r->optimiser.x, (size_t)r->result->phases, counts,
                r->optimiser.g, room, r->label);
}

/* Would it, if it knew what is to span? */
static int would_connect(const struct mf_grid *r)
{
    const struct mf_objective_opts *o = &r->opts->objective;

    return r->opts->connect && !r->method.method->swaps && r->slab.dims[0] > 1 && mf_objective_in_space(o) < o->terms;
}

int mf_grid_connects(const struct mf_grid *r) { return r->target->whole[MF_WHOLE_SPANS] && would_connect(r); }

/* What of phase @p p is to span; a target of one side has one share for all axes. */
static void aim(const struct mf_grid *r, int p, double share[3])
{
    const int only = r->target->phases == 1, q = only ? p - 1 : p;
    const double *spans = r->target->whole[MF_WHOLE_SPANS] + 3 * q;

    for (int a = 0; a < 3; ++a) {
        share[a] = -1;
        if (q < 0 || q >= r->target->phases) continue;
        share[a] = r->target->sides == 1 ? (spans[0] + spans[1] + spans[2]) / 3 : spans[a];
    }
}

static int connect_all(struct mf_grid *r, struct mf_connect *c, int64_t *room)
{
    const size_t bytes = mf_slab_voxels(&r->slab);
    uint8_t *label = mf_mirror_take(r->queue, r->label, bytes, "labels");
    int rc = mf_agree(r->comm, label ? MF_OK : MF_MEMORY), more = !r->dry;

    c->label = label;
    for (int look = 0; rc == MF_OK && more && look < LOOKS; ++look) {
        mf_mirror_get(r->queue, label, r->label, bytes);
        rc = mf_connect_look(c, &more);
        if (rc == MF_OK && more) binarise(r, c, room);
    }
    if (rc == MF_OK && more) {
        mf_mirror_get(r->queue, label, r->label, bytes);
        rc = mf_connect_measure(c);
    }
    if (rc == MF_OK && !r->dry) mf_connect_tell(c, more);
    mf_mirror_give(r->queue, r->label, label);
    return rc;
}

static int connect(struct mf_grid *r, int64_t *room)
{
    struct mf_connect c = {.comm = r->comm,
                           .arena = r->queue->host,
                           .slab = r->slab,
                           .phases = r->result->phases,
                           .fixed = r->fixed ? r->opts->fixed->phase : NULL};
    int rc;

    mf_grid_counts(r, c.open);
    for (int p = 0; p < c.phases; ++p) {
        aim(r, p, c.aim[p]);
        c.open[p] -= r->held[p];
    }
    rc = mf_agree(r->comm, mf_connect_open(&c));
    if (rc == MF_OK) rc = connect_all(r, &c, room);
    mf_connect_close(&c);
    return rc;
}

int mf_grid_cut(struct mf_grid *r)
{
    int64_t *room = mf_arena_take(r->queue->host, mf_select_room(r->comm, &r->slab) * sizeof *room, "cut");
    int rc = mf_agree(r->comm, room ? MF_OK : MF_MEMORY);

    if (rc == MF_OK && !r->dry) {
        r->result->grey = grey_share(r);
        binarise(r, NULL, room);
    }
    if (rc == MF_OK && mf_grid_connects(r) && !r->failed && !r->leaving)
        rc = connect(r, room);
    else if (rc == MF_OK && !r->dry && would_connect(r) && !mf_grid_connects(r))
        mf_info("the target does not say what spans: clusters stay as they come");
    mf_arena_give(r->queue->host, room);
    return rc;
}
