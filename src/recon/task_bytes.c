/* See task.h. */
#include "src/recon/task.h"

#include <stdio.h>
#include <string.h>

#include "kernels/dry.h"
#include "src/base/err.h"
#include "src/recon/grid.h"

size_t mf_predict_levels(const struct mf_predict *w)
{
    size_t most = 0;

    for (int d = 0; d < (w->dims[0] > 1 ? 3 : 1); ++d) {
        const size_t *n = w->dims;
        size_t has = mf_target_for(w->target, (enum mf_normal)d)->levels;
        size_t levels = mf_levels(d == MF_Z ? n[1] : n[0], d == MF_X ? n[1] : n[2], w->target->lag);

        if (levels > has) levels = has;
        if (w->opts->objective.levels_max && levels > w->opts->objective.levels_max)
            levels = w->opts->objective.levels_max;
        if (levels > most) most = levels;
    }
    return most;
}

static const char *norm_name(enum mf_norm norm)
{
    static const char *const names[] = {"MSE", "SSE", "RMS", "L1", "L2"};

    return names[norm];
}

static void describe(const struct mf_predict *w, struct mf_plan_problem *p)
{
    const struct mf_solve_opts *o = w->opts;
    const struct mf_objective_opts *e = &o->objective;

    mf_plan_say(&p->lines, p->line, "verb", "reconstruct");
    mf_plan_say(&p->lines, p->line, "shape", "%zu x %zu x %zu (z y x)", p->dims[0], p->dims[1], p->dims[2]);
    mf_plan_say(&p->lines, p->line, "fields", "%zu", p->fields);
    mf_plan_say(&p->lines, p->line, "phases", "%d", w->target->phases);
    mf_plan_say(&p->lines, p->line, "limit_to", "%zu", p->lag);
    for (int d = 0; d < (p->dims[0] > 1 ? 3 : 1); ++d) {
        static const char *const keys[] = {"levels z", "levels y", "levels x"};

        mf_plan_say(&p->lines, p->line, keys[d], "%zu", mf_target_for(w->target, (enum mf_normal)d)->levels);
    }
    if (e->levels_max) mf_plan_say(&p->lines, p->line, "most levels", "%zu", e->levels_max);
    for (size_t t = 0; t < e->terms; ++t) mf_plan_say(&p->lines, p->line, "descriptor", "%s", e->term[t].row->name);
    mf_plan_say(&p->lines, p->line, "loss", "%s", norm_name(e->norm));
    mf_plan_say(&p->lines, p->line, "periodic", "%s", e->periodic ? "yes" : "no");
    mf_plan_say(&p->lines, p->line, "compat", "%s", e->compat ? "mcrpy" : "none");
    mf_plan_say(&p->lines, p->line, "optimizer", "%s", o->method.method->name);
    mf_plan_say(&p->lines, p->line, "evaluates", "%s", o->evaluations > 0 ? "a run" : "the start alone");
    if (e->mean) mf_plan_say(&p->lines, p->line, "slice objective", "mean");
    if (e->draw > 0) mf_plan_say(&p->lines, p->line, "slices drawn", "%g", e->draw);
    mf_plan_say(&p->lines, p->line, "coarse to fine", "%s", o->coarse_to_fine ? "yes" : "no");
    mf_plan_say(&p->lines, p->line, "polish", "%s", o->polish ? "yes" : "no");
    mf_plan_say(&p->lines, p->line, "deterministic", "%s", w->deterministic ? "yes" : "no");
    if (o->fixed) mf_plan_say(&p->lines, p->line, "fixed voxels", "some");
    if (o->start)
        mf_plan_say(&p->lines, p->line, "initial field", "%zu x %zu x %zu", o->start->slab.dims[0],
                    o->start->slab.dims[1], o->start->slab.dims[2]);
}

/* Operations of a descriptor per voxel and field, all directions and levels. */
static double flops_of(const struct mf_predict *w, const struct mf_backend *backend, const struct mf_descriptor *row,
                       size_t levels)
{
    const size_t *n = w->dims;
    double flops = 0;

    for (int d = 0; d < (n[0] > 1 && !mf_descriptor_is(row, MF_IN_SPACE) ? 3 : 1); ++d) {
        const struct mf_slice_desc desc = {.nu = d == MF_Z ? n[1] : n[0],
                                           .nv = d == MF_X ? n[1] : n[2],
                                           .lag = w->target->lag,
                                           .levels = levels,
                                           .periodic = w->opts->objective.periodic,
                                           .seam = w->opts->objective.compat,
                                           .threshold = w->target->threshold,
                                           .steepness = w->target->steepness};

        flops += mf_descriptor_cost(row, backend, &desc, 1, MF_COST_GRADIENT).operations /
                 ((double)desc.nu * (double)desc.nv);
    }
    return flops;
}

/* What descriptors without a column of their own compute, on cores and on a GPU of whatever kind. */
static void price(const struct mf_predict *w, struct mf_plan_problem *p)
{
    const struct mf_objective_opts *e = &w->opts->objective;

    for (int device = 0; device < 2; ++device) {
        const struct mf_dry_kind kind = {.simd = "", .apart = device, .capability = device};
        struct mf_backend_dry dry;

        mf_backend_dry(&kind, &dry);
        for (size_t t = 0; t < e->terms; ++t)
            if (e->term[t].row->kind > MF_PATCHES)
                p->further_flops[device] += flops_of(w, &dry.backend, e->term[t].row, p->levels);
    }
}

int mf_predict_problem(const struct mf_predict *w, struct mf_plan_problem *p)
{
    const struct mf_objective_opts *e = &w->opts->objective;
    const struct mf_method *method = w->opts->method.method;

    *p = (struct mf_plan_problem){.fields = mf_solve_fields(w->target, w->opts),
                                  .lag = w->target->lag,
                                  .levels = mf_predict_levels(w),
                                  .twice = e->norm == MF_RMS || e->norm == MF_L2,
                                  .periodic = e->periodic,
                                  .remembers = method->remembers,
                                  .traffic = method->traffic};
    memcpy(p->dims, w->dims, sizeof p->dims);
    for (size_t t = 0; t < e->terms; ++t) {
        p->s2 |= e->term[t].row->kind == MF_S2;
        p->variation |= e->term[t].row->kind == MF_VARIATION;
        p->fraction |= e->term[t].row->kind == MF_FRACTION;
        p->further += e->term[t].row->kind > MF_PATCHES;
    }
    price(w, p);
    p->fraction |= mf_objective_weighs(e);
    describe(w, p);
    return MF_OK;
}

static void add_tag(void *context, const char *tag, size_t bytes)
{
    struct mf_plan_bytes *b = context;

    MF_ASSERT(b->tags < MF_PLAN_TAGS);
    snprintf(b->tag[b->tags].name, sizeof b->tag[0].name, "%s", tag);
    b->tag[b->tags++].bytes = bytes;
}

/* The caller's initial field as the asked rank would hold it: measured, never read. */
static struct mf_micro start_of(const struct mf_predict *w, const struct mf_comm *comm)
{
    struct mf_micro start = *w->opts->start;

    start.slab = mf_slab_of(comm, start.slab.dims, comm->rank);
    return start;
}

/* Fields in host memory, slices on @p queue: a queue of their own and its arena. */
static int open_home(struct mf_queue *queue, struct mf_arena **arena, struct mf_queue **home)
{
    int rc;

    MF_TRY(mf_arena_open_in(arena, &mf_mem_dry, queue->host));
    rc = mf_queue_home(home, queue, *arena);
    if (rc != MF_OK) mf_arena_close(*arena);
    return rc;
}

static int measure_home(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_predict *w,
                        const struct mf_solve_opts *opts)
{
    struct mf_queue *home;
    struct mf_arena *arena;
    int rc;

    MF_TRY(open_home(queue, &arena, &home));
    rc = mf_solve_measure(comm, home->backend, home, w->dims, w->target, opts, NULL);
    home->backend->queue_close(home);
    mf_arena_close(arena);
    return rc;
}

static int measure(const struct mf_predict *w, const struct mf_plan_setting *s, struct mf_arena *arena,
                   struct mf_arena *host, struct mf_strips_floats *strips)
{
    const struct mf_dry_kind kind = {s->simd, s->apart, s->capability};
    struct mf_solve_opts opts = *w->opts;
    struct mf_backend_dry dry;
    struct mf_micro start;
    struct mf_queue *queue;
    struct mf_comm comm;
    struct mf_slab slab;
    ptrdiff_t in_use;
    int rc;

    mf_comm_dry(&comm, (int)s->rank, (int)s->ranks, (int)s->local_size);
    slab = mf_slab_of(&comm, w->dims, comm.rank);
    in_use = (ptrdiff_t)(s->in_use + (w->kept ? mf_slab_voxels(&slab) : 0));
    if (s->wired) mf_wire_dry(&comm);
    opts.objective.batch = s->batch;
    opts.method.history = s->history;
    opts.keeper = NULL;
    opts.metrics = NULL;
    if (opts.start) {
        start = start_of(w, &comm);
        opts.start = &start;
    }
    mf_backend_dry(&kind, &dry);
    MF_TRY(mf_queue_dry(&queue, &dry, (int)s->threads, w->deterministic, arena, host));
    rc = mf_arena_book(host, in_use, "in use before");
    if (rc == MF_OK && s->passes) rc = measure_home(&comm, queue, w, &opts);
    if (rc == MF_OK && !s->passes) rc = mf_solve_measure(&comm, &dry.backend, queue, w->dims, w->target, &opts, strips);
    mf_arena_book(host, -in_use, "in use before");
    dry.backend.queue_close(queue);
    return rc;
}

static void close_arena(struct mf_arena *arena, struct mf_plan_bytes *bytes)
{
    bytes->total = mf_arena_peak(arena);
    mf_arena_peak_tags(arena, add_tag, bytes);
    mf_arena_close(arena);
}

int mf_predict_bytes(void *what, const struct mf_plan_setting *setting, struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    struct mf_strips_floats strips = {0, 0};
    struct mf_arena *arena, *host;
    int rc;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    MF_TRY(mf_arena_open(&arena, &mf_mem_dry, 0));
    host = arena;
    rc = setting->apart ? mf_arena_open(&host, &mf_mem_dry, 0) : MF_OK;
    mf_fault_hold(1);
    if (rc == MF_OK) rc = measure(what, setting, arena, host, &strips);
    mf_fault_hold(0);
    if (host != arena) close_arena(host, &bytes[MF_PLAN_HOST]);
    close_arena(arena, &bytes[MF_PLAN_STATE]);
    bytes[MF_PLAN_STATE].planes = strips.planes * sizeof(float);
    bytes[MF_PLAN_STATE].sums = strips.sums * sizeof(float);
    return rc;
}

static int nominal_side(struct mf_target *t, size_t nu, size_t nv, size_t slices, size_t levels_max, unsigned more,
                        int side)
{
    struct mf_target_side *s = &t->side[side];
    size_t levels;

    MF_TRY(mf_objective_levels_for(t->lag, nu, nv, &levels));
    if (levels_max && levels > levels_max) levels = levels_max;
    MF_TRY(mf_target_side_new(s, t->phases, levels, t->lag, (more & MF_WANTS_CROSS) != 0));
    for (int m = 0; m < MF_MORE; ++m)
        if (more >> m & 1) MF_TRY(mf_target_side_more(s, t->phases, t->lag, (enum mf_more)m));
    s->nu = nu;
    s->nv = nv;
    s->slices = slices;
    MF_TRY(
        mf_target_example_new(s, nu < MF_EXAMPLE_MAX ? nu : MF_EXAMPLE_MAX, nv < MF_EXAMPLE_MAX ? nv : MF_EXAMPLE_MAX));
    for (size_t i = 0; i < (size_t)t->phases * levels; ++i) s->fraction[i] = 1.0 / t->phases;
    return MF_OK;
}

int mf_predict_nominal(const size_t dims[3], int phases, size_t lag, size_t levels_max, unsigned more,
                       struct mf_target *t)
{
    *t = (struct mf_target){.phases = phases,
                            .lag = lag,
                            .threshold = 0.75, /* what characterize takes, and MCRpy */
                            .steepness = 10,
                            .periodic = 1,
                            .sides = dims[0] > 1 ? 3 : 1};
    for (int p = 0; p < phases; ++p) t->label[p] = p;
    for (int a = 0; a < 3; ++a) t->spacing[a] = 1;
    snprintf(t->source, sizeof t->source, "a nominal target");
    for (int k = 0; k < MF_WHOLE; ++k)
        if (mf_wants_whole(more) >> k & 1) MF_TRY(mf_target_whole_new(t, (enum mf_whole)k));
    MF_TRY(nominal_side(t, dims[1], dims[2], dims[0], levels_max, more, MF_Z));
    if (t->sides == 1) return MF_OK;
    MF_TRY(nominal_side(t, dims[0], dims[2], dims[1], levels_max, more, MF_Y));
    return nominal_side(t, dims[0], dims[1], dims[2], levels_max, more, MF_X);
}
