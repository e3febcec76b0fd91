/* See grid.h: what works on labels, after the cut. */
#include "kernels/labels.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/recon/anneal.h"
#include "src/recon/grid.h"
#include "src/recon/phases.h"

/* A result of mean-field annealing needs no swaps, unless it is worse than the grey field or misses a property. Whoever
 * asks for rounds of swaps gets them. */
static int needs_swaps(const struct mf_grid *r)
{
    return !mf_grid_uses_mean_field(r) || r->opts->polish_rounds > 0 || r->result->loss_cut > r->result->loss;
}

static struct mf_polish polish_of(const struct mf_grid *r)
{
    return (struct mf_polish){.comm = r->comm,
                              .backend = r->backend,
                              .queue = r->queue,
                              .slab = r->slab,
                              .fields = r->fields,
                              .phases = r->result->phases,
                              .target = r->target,
                              .objective = &r->compared,
                              .searched = r->dry ? NULL : r->objective,
                              .x = r->optimiser.x,
                              .g = r->optimiser.g,
                              .label = r->label,
                              .fixed = r->fixed,
                              .property = r->property,
                              .until_met = r->property && !needs_swaps(r),
                              .whole_clusters = mf_grid_connects(r),
                              .rounds = r->opts->polish_rounds,
                              .asked = mf_grid_asked};
}

static int after_round(void *context, const struct mf_polish_state *state)
{
    struct mf_grid *r = context;

    return mf_grid_keep(r, r->before, state);
}

static int after_steps(void *context, const struct mf_polish_state *state)
{
    struct mf_grid *r = context;

    r->stage = "anneal";
    r->loss = state->loss;
    mf_grid_note(r, r->before + state->tried);
    return mf_grid_keep(r, r->before, state);
}

/* A polish that has done nothing yet may begin again with less. */
static int polish_or_less(struct mf_grid *r, struct mf_polish *p)
{
    int rc;

    while ((rc = mf_polish_run(p)) != MF_OK) {
        if (p->tried > 0 || !mf_grid_shrinks(r, rc)) return rc;
        MF_TRY(mf_grid_sharpen(r));
        p->searched = r->objective;
    }
    mf_grid_say_shrunk(r);
    return MF_OK;
}

/* Plans do not count a polish that follows only if mean-field annealing has failed: the labels stay as they are. */
static int lacks_memory(const struct mf_grid *r, const struct mf_polish *p, int rc)
{
    if (rc != MF_MEMORY || p->tried > 0 || !r->objective || !mf_grid_uses_mean_field(r) || r->opts->polish_rounds > 0)
        return 0;
    mf_warn("no polish: %s", mf_err_text());
    mf_err_clear();
    return 1;
}

static int polish(struct mf_grid *r, struct mf_polish *p)
{
    int rc;

    p->after_round = after_round;
    rc = polish_or_less(r, p);
    if (rc != MF_OK) return lacks_memory(r, p, rc) ? MF_OK : rc;
    if (!r->leaving && !(p->until_met && p->tried == 0))
        mf_info("polish: %ld swap%s of %ld tried, %.2f s", p->swaps, MF_S(p->swaps), p->tried,
                r->result->polish_seconds + mf_now() - r->stage_start);
    return MF_OK;
}

int mf_solve_can_polish(const size_t dims[3], const struct mf_target *target, const struct mf_solve_opts *opts)
{
    const struct mf_objective_opts *o = &opts->objective;
    int s2 = mf_grid_s2_term(o) < o->terms, in_space = mf_objective_in_space(o) < o->terms && o->terms < MF_TERMS_MAX;

    if (o->mean && dims[0] > 1) return 0;
    /* windows of one lag hold no neighbours to count jumps towards */
    return opts->polish && target->lag > 1 && (s2 || in_space);
}

static int polishes(const struct mf_grid *r)
{
    return (needs_swaps(r) || r->property) && mf_solve_can_polish(r->slab.dims, r->target, r->opts);
}

static int anneal(struct mf_grid *r, struct mf_polish *p)
{
    p->after_round = after_steps;
    return mf_anneal_run(p, &r->opts->anneal, r->opts->seed);
}

static int always(const struct mf_grid *r)
{
    (void)r;
    return 1;
}

/* What works on labels: behind a descent, or instead of one. */
struct work {
    const char *name;
    int (*wanted)(const struct mf_grid *r);
    int (*run)(struct mf_grid *r, struct mf_polish *p);
    int (*measure)(struct mf_polish *p);
};

static const struct work *work_of(const struct mf_grid *r)
{
    static const struct work polishing = {"polish", polishes, polish, mf_polish_measure},
                             annealing = {"annealing", always, anneal, mf_anneal_measure};

    return r->method.method->swaps ? &annealing : &polishing;
}

const char *mf_grid_label_work(const struct mf_grid *r) { return work_of(r)->name; }

static int work_on_labels(struct mf_grid *r)
{
    struct mf_polish p = polish_of(r);

    r->stage_start = mf_now();
    p.context = r;
    p.from = r->polishing ? &r->polish : NULL;
    r->polishing = 1;
    MF_TRY(work_of(r)->run(r, &p));
    if (r->failed) return r->failed;
    r->result->swaps_tried = p.tried;
    r->result->swaps = p.swaps;
    r->result->polish_seconds += mf_now() - r->stage_start;
    return MF_OK;
}

/* Loss of the labels, whose indicators replace the field. */
static void label_loss(struct mf_grid *r, double *loss)
{
    r->backend->label->indicate(r->queue, mf_grid_extent(r), r->label, r->optimiser.x);
    mf_objective_search_all(r->objective);
    mf_grid_loss(r, r->optimiser.x, loss);
}

/* From now on only the field, and one vector as scratch, is needed; the labels take a quarter of one vector's
 * memory. */
static int take_labels(struct mf_grid *r)
{
    mf_optimiser_trim(&r->optimiser, 0);
    r->label = mf_arena_take(r->queue->arena, mf_slab_voxels(&r->slab), "labels");
    return mf_agree(r->comm, r->label ? MF_OK : MF_MEMORY);
}

/* The labels before the polish, and their loss; the objective that rounds |d| has been replaced by one that does not.
 */
static int make_labels(struct mf_grid *r)
{
    struct mf_solve_result *out = r->result;
    MF_PHASE(&mf_phase_cut);

    if (!mf_grid_uses_mean_field(r)) mf_grid_loss(r, r->optimiser.x, &out->loss);
    MF_TRY(take_labels(r));
    MF_TRY(mf_grid_cut(r));
    label_loss(r, &out->loss_cut);
    return MF_OK;
}

/* Labels of a run that was saved in its polish. */
static int load_labels(struct mf_grid *r)
{
    MF_TRY(take_labels(r));
    return mf_grid_load(r);
}

/* The labels go to the host and, also where another rank has no memory for them, to the caller. */
static int hand_labels(struct mf_grid *r)
{
    const size_t bytes = mf_slab_voxels(&r->slab);
    uint8_t *device = r->label, *label = mf_mirror_take(r->queue, device, bytes, "labels");

    r->result->label = label;
    r->result->arena = label == device ? r->queue->arena : r->queue->host;
    if (label == device) r->label = NULL;
    MF_TRY(mf_agree(r->comm, label ? MF_OK : MF_MEMORY));
    if (!r->dry) mf_mirror_get(r->queue, label, device, bytes);
    return MF_OK;
}

/* The solver of `mesoforge properties` measures the labels. */
static int measure_properties(struct mf_grid *r)
{
    const size_t bytes = mf_slab_voxels(&r->slab);
    uint8_t *label = mf_mirror_take(r->queue, r->label, bytes, "labels");
    int rc = mf_agree(r->comm, label ? MF_OK : MF_MEMORY);

    mf_property_close(r->property);
    r->property = NULL;
    if (rc == MF_OK) {
        mf_mirror_get(r->queue, label, r->label, bytes);
        rc = mf_property_measure(r->comm, r->queue, &r->slab, r->result->phases, &r->opts->property, label,
                                 r->result->property);
    }
    mf_mirror_give(r->queue, r->label, label);
    return rc;
}

int mf_grid_finish(struct mf_grid *r)
{
    struct mf_solve_result *out = r->result;

    MF_TRY(r->polishing ? load_labels(r) : make_labels(r));
    out->loss_final = out->loss_cut;
    if (work_of(r)->wanted(r)) {
        MF_PHASE(&mf_phase_polish);

        MF_TRY(work_on_labels(r));
        if (r->leaving) return MF_OK;
        label_loss(r, &out->loss_final);
    } else if (r->opts->polish && (needs_swaps(r) || r->property)) {
        mf_info(r->opts->objective.mean && r->slab.dims[0] > 1
                    ? "no polish: swaps are judged by every slice, not by their mean"
                    : "no polish: it needs S2 or S2_3D among the descriptors, with lags (--limit_to 2 or more)");
    }
    if (r->property) MF_TRY(measure_properties(r));
    r->loss = out->loss_final;
    r->stage = "final";
    mf_grid_note(r, r->before);
    return hand_labels(r);
}

int mf_grid_hand_over(struct mf_grid *r)
{
    if (!r->label) MF_TRY(take_labels(r));
    if (!r->polishing) MF_TRY(mf_grid_cut(r));
    return hand_labels(r);
}

int mf_grid_measure_finish(struct mf_grid *r)
{
    struct mf_polish p;

    MF_TRY(take_labels(r));
    MF_TRY(mf_grid_cut(r));
    p = polish_of(r);
    if (work_of(r)->wanted(r)) MF_TRY(work_of(r)->measure(&p));
    return hand_labels(r);
}
