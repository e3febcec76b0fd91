/* Geometric tortuosity: the length of the shortest path through a phase, over the length of the field. The path goes
 * from the face at 0 of an axis to the far one. A path goes from voxel to voxel through faces inside the phase (not
 * across periodic borders). Its length is its number of voxels; 1 is straight. Paths of all phases are found at once,
 * because no path leaves its phase. Every rank searches its slab and exchanges results with its neighbours, until no
 * path gets shorter on any rank. */
#include <string.h>

#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/desc/pairs.h"

enum { NOWHERE = INT32_MAX, TURNS = 1 << 18 /* of milliseconds */ };

struct search {
    const struct mf_measure_job *job;
    struct mf_reach reach;   /* labels, and those of a plane before and after */
    int32_t *far;            /* [own voxels] voxels of the shortest way known */
    int32_t *before, *after; /* far of those planes */
    uint32_t *queue;         /* [own voxels] a ring of voxels whose neighbours may have become nearer */
    uint8_t *waits;          /* [own voxels] it is in there */
    size_t voxels, plane, head, waiting;
};

/** Counts of a phase at the far face. */
struct paths {
    int64_t voxels, reached, sum, least;
};

static void reach(struct search *s, size_t v, int32_t far)
{
    size_t at;

    if (far >= s->far[v]) return;
    s->far[v] = far;
    if (s->waits[v]) return;
    s->waits[v] = 1;
    at = s->head + s->waiting++;
    s->queue[at < s->voxels ? at : at - s->voxels] = (uint32_t)v;
}

/* Asks now and then. */
static int goes_on(size_t turn) { return turn % TURNS || mf_pulse("paths") == MF_OK; }

static void expand(struct search *s)
{
    const size_t ny = s->job->micro->slab.dims[1], nx = s->job->micro->slab.dims[2];
    const uint8_t *label = s->job->micro->phase;

    for (size_t turn = 0; s->waiting; ++turn) {
        const size_t v = s->queue[s->head], x = v % nx, y = v / nx % ny;
        const int32_t far = s->far[v] + 1;

        if (!goes_on(turn)) return; /* search() refuses then */
        if (++s->head == s->voxels) s->head = 0;
        --s->waiting;
        s->waits[v] = 0;
        if (x > 0 && label[v - 1] == label[v]) reach(s, v - 1, far);
        if (x + 1 < nx && label[v + 1] == label[v]) reach(s, v + 1, far);
        if (y > 0 && label[v - nx] == label[v]) reach(s, v - nx, far);
        if (y + 1 < ny && label[v + nx] == label[v]) reach(s, v + nx, far);
        if (v >= s->plane && label[v - s->plane] == label[v]) reach(s, v - s->plane, far);
        if (v + s->plane < s->voxels && label[v + s->plane] == label[v]) reach(s, v + s->plane, far);
    }
}

/** From the plane beside the slab, whose labels and paths are known, to the own plane at @p own. */
static void enter(struct search *s, const uint8_t *label, const int32_t *far, size_t own)
{
    for (size_t i = 0; i < s->plane; ++i)
        if (far[i] != NOWHERE && label[i] == s->job->micro->phase[own + i]) reach(s, own + i, far[i] + 1);
}

/** Until no rank finds a shorter way. */
static int search(struct search *s)
{
    const struct mf_slab *slab = &s->job->micro->slab;
    const size_t bytes = s->plane * sizeof *s->far, has_before = s->reach.before, has_after = s->reach.after;
    int64_t more = 1;

    while (more) {
        MF_TRY(mf_pulse_all(s->job->comm, "paths"));
        expand(s);
        MF_TRY(mf_slab_fetch(s->job->comm, slab, s->far, bytes, (ptrdiff_t)slab->first - 1, has_before, s->before));
        MF_TRY(mf_slab_fetch(s->job->comm, slab, s->far, bytes, (ptrdiff_t)(slab->first + slab->count), has_after,
                             s->after));
        if (has_before) enter(s, s->reach.label, s->before, 0);
        if (has_after)
            enter(s, s->reach.label + (s->reach.before + s->reach.own) * s->plane, s->after, s->voxels - s->plane);
        more = s->waiting > 0;
        mf_comm_max_int(s->job->comm, 1, &more);
    }
    return MF_OK;
}

/** The coordinate of an own voxel. */
static size_t coordinate(const struct search *s, size_t v, int axis)
{
    const size_t *n = s->job->micro->slab.dims;

    return axis == 2 ? v % n[2] : axis == 1 ? v / n[2] % n[1] : s->job->micro->slab.first + v / s->plane;
}

static int measure_axis(struct search *s, int axis, struct paths *paths)
{
    const int phases = s->job->micro->phases;
    int64_t least[MF_PHASES_MAX];

    for (size_t v = 0; v < s->voxels; ++v) s->far[v] = NOWHERE;
    for (size_t v = 0; v < s->voxels && goes_on(v); ++v)
        if (coordinate(s, v, axis) == 0) reach(s, v, 1);
    MF_TRY(search(s));
    for (int p = 0; p < phases; ++p) least[p] = -NOWHERE;
    memset(paths, 0, MF_PHASES_MAX * sizeof *paths);
    for (size_t v = 0; v < s->voxels && goes_on(v); ++v) {
        const uint8_t p = s->job->micro->phase[v];

        if (coordinate(s, v, axis) + 1 != s->job->micro->slab.dims[axis]) continue;
        ++paths[p].voxels;
        if (s->far[v] == NOWHERE) continue;
        ++paths[p].reached;
        paths[p].sum += s->far[v];
        if (-s->far[v] > least[p]) least[p] = -s->far[v];
    }
    mf_comm_max_int(s->job->comm, (size_t)phases, least);
    mf_comm_sum_int(s->job->comm, (size_t)phases * sizeof *paths / sizeof(int64_t), &paths[0].voxels);
    for (int p = 0; p < phases; ++p) paths[p].least = -least[p];
    return MF_OK;
}

static void put_axis(const struct search *s, int axis, const struct paths *w, struct mf_json *values)
{
    struct mf_json *one = mf_json_object();
    const double length = (double)s->job->micro->slab.dims[axis];

    mf_json_real(one, "reached", w->voxels ? (double)w->reached / (double)w->voxels : 0);
    if (w->reached) {
        MF_JSON(one, "mean", (double)w->sum / (double)w->reached / length, "least", (double)w->least / length);
    } else {
        mf_json_null(one, "mean");
        mf_json_null(one, "least");
    }
    mf_json_put(values, mf_axis_name(axis), one);
}

static int measure_all(struct search *s, struct mf_json *const *phase)
{
    struct paths paths[MF_PHASES_MAX];
    struct mf_json *values[MF_PHASES_MAX] = {NULL};
    int rc = MF_OK;

    for (int p = 0; p < s->job->micro->phases; ++p) mf_json_put(phase[p], "tortuosity", values[p] = mf_json_object());
    for (int axis = mf_axis_first(s->job->micro); rc == MF_OK && axis < 3; ++axis) {
        rc = measure_axis(s, axis, paths);
        for (int p = 0; rc == MF_OK && p < s->job->micro->phases; ++p) put_axis(s, axis, &paths[p], values[p]);
    }
    return rc;
}

static int take(struct search *s)
{
    struct mf_arena *arena = s->job->arena;

    if (s->voxels > UINT32_MAX)
        return mf_fail(MF_INPUT, "tortuosity: more than 2^32 voxels on a rank; try: more ranks");
    s->far = mf_arena_take(arena, s->voxels * sizeof *s->far, "paths");
    s->queue = mf_arena_take(arena, s->voxels * sizeof *s->queue, "paths");
    s->waits = mf_arena_zeros(arena, s->voxels, 1, "paths");
    s->before = mf_arena_take(arena, s->plane * sizeof *s->before, "paths");
    s->after = mf_arena_take(arena, s->plane * sizeof *s->after, "paths");
    return s->far && s->queue && s->waits && s->before && s->after ? MF_OK : MF_MEMORY;
}

int mf_measure_tortuosity(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    const struct mf_slab *slab = &job->micro->slab;
    struct mf_measure_job open = *job;
    struct search s = {.job = &open, .voxels = mf_slab_voxels(slab), .plane = slab->dims[1] * slab->dims[2]};
    int rc;

    open.periodic = 0;
    rc = mf_agree(job->comm, take(&s));
    if (rc == MF_OK) rc = mf_reach_fetch(&open, 1, 1, &s.reach);
    if (rc == MF_OK) rc = measure_all(&s, phase);
    mf_reach_free(job, &s.reach);
    mf_arena_give(job->arena, s.after);
    mf_arena_give(job->arena, s.before);
    mf_arena_give(job->arena, s.waits);
    mf_arena_give(job->arena, s.queue);
    mf_arena_give(job->arena, s.far);
    return rc;
}

void mf_measure_tortuosity_text(FILE *to, const struct mf_json *values)
{
    for (int axis = 0; axis < 3; ++axis) {
        const struct mf_json *one = mf_json_get(values, mf_axis_name(axis));
        const double reached = mf_json_get_real(one, "reached");

        if (one && reached > 0)
            fprintf(to, "  tortuosity along %s: %.6g, least %.6g, reached %.4f of the far face\n", mf_axis_name(axis),
                    mf_json_get_real(one, "mean"), mf_json_get_real(one, "least"), reached);
        else if (one)
            fprintf(to, "  tortuosity along %s: no way through\n", mf_axis_name(axis));
    }
}
