/* Chords: runs of a phase along an axis. Not periodic: a run that the border cuts does not count. Periodic: a run
 * continues across the border, and a line of one phase has no chord. One pass over the labels finds where they change.
 * The first change of a line in a slab ends a run from a lower rank. That run began at the last change there. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/desc/differ.h"
#include "src/desc/measure.h"

enum { NONE = INT32_MIN };

struct chords {
    const struct mf_measure_job *job;
    int64_t *count[3]; /* [phases][n + 1]: chords of each length; 0: lines of one phase */
    size_t n[3];
};

/** Lines side by side under way. */
struct lines {
    int32_t *first, *last; /* where they changed in what was swept; NONE: nowhere */
    size_t count;
};

static void emit(struct chords *c, int axis, uint8_t phase, int32_t length)
{
    ++c->count[axis][(size_t)phase * (c->n[axis] + 1) + (size_t)length];
}

static void change(struct chords *c, int axis, struct lines *l, size_t i, int32_t at, uint8_t before)
{
    if (l->last[i] == NONE)
        l->first[i] = at;
    else
        emit(c, axis, before, at - l->last[i]);
    l->last[i] = at;
}

/** From the row of voxels @p a to @p b, which stands at @p at. Eight lines are alike or are looked at. */
static void step(struct chords *c, int axis, struct lines *l, int32_t at, const uint8_t *a, const uint8_t *b)
{
    size_t i = 0;

    for (; i + 8 <= l->count; i += 8)
        for (uint64_t bits = mf_differ8(a + i, b + i); bits;) {
            const size_t k = i + mf_differ8_next(&bits);

            change(c, axis, l, k, at, a[k]);
        }
    for (; i < l->count; ++i)
        if (a[i] != b[i]) change(c, axis, l, i, at, a[i]);
}

static void clear(struct lines *l)
{
    for (size_t i = 0; i < l->count; ++i) l->first[i] = l->last[i] = NONE;
}

/** Ends the runs that began before what was swept, at @p begin[i] (NONE: at the border, no chord). */
static void close_lines(struct chords *c, int axis, const struct lines *l, const uint8_t *before, const int32_t *begin)
{
    for (size_t i = 0; i < l->count; ++i)
        if (l->first[i] != NONE && begin[i] != NONE) emit(c, axis, before[i], l->first[i] - begin[i]);
}

/** Lines that are whole here, along y; begin: [nx]. */
static void along_y(struct chords *c, const uint8_t *plane, struct lines *l, int32_t *begin)
{
    size_t ny = c->n[1], nx = c->n[2];
    const uint8_t *end = plane + (ny - 1) * nx;

    clear(l);
    if (c->job->periodic) step(c, 1, l, 0, end, plane);
    for (size_t y = 1; y < ny; ++y) step(c, 1, l, (int32_t)y, plane + (y - 1) * nx, plane + y * nx);
    for (size_t i = 0; i < nx; ++i) {
        begin[i] = c->job->periodic && l->last[i] != NONE ? l->last[i] - (int32_t)ny : NONE;
        if (l->last[i] == NONE) emit(c, 1, plane[i], 0);
    }
    for (size_t i = 0; i < nx; ++i) /* the run before the first change has the phase before it */
        if (l->first[i] != NONE && begin[i] != NONE)
            emit(c, 1, l->first[i] ? plane[(size_t)(l->first[i] - 1) * nx + i] : end[i], l->first[i] - begin[i]);
}

/** A row begins a run at x: @p last is where the one before began. */
static void turn(struct chords *c, const uint8_t *row, size_t x, int32_t *first, int32_t *last)
{
    if (*last == NONE)
        *first = (int32_t)x;
    else
        emit(c, 2, row[x - 1], (int32_t)x - *last);
    *last = (int32_t)x;
}

static void along_x(struct chords *c, const uint8_t *row)
{
    const size_t nx = c->n[2];
    int32_t first = NONE, last = NONE;
    size_t x = 1;

    if (c->job->periodic && row[nx - 1] != row[0]) first = last = 0;
    for (; x + 8 <= nx; x += 8)
        for (uint64_t bits = mf_differ8(row + x, row + x - 1); bits;)
            turn(c, row, x + mf_differ8_next(&bits), &first, &last);
    for (; x < nx; ++x)
        if (row[x] != row[x - 1]) turn(c, row, x, &first, &last);
    if (last == NONE)
        emit(c, 2, row[0], 0);
    else if (c->job->periodic)
        emit(c, 2, row[nx - 1], first - (last - (int32_t)nx));
}

/** Finds where the run of each line that reaches this slab began (NONE: at the border). It is the last change on the
 * lower ranks or, in a periodic volume, the last of all. A scan takes log2(ranks) exchanges of a plane. Array work is
 * [4][lines]. The first is for begin, the third for the last change of all ranks (NONE: nowhere). */
static int scan(const struct chords *c, const struct lines *l, int32_t *work)
{
    const struct mf_comm *comm = c->job->comm;
    struct mf_slab edge = mf_slab_of(comm, (size_t[3]){2 * (size_t)comm->size, c->n[1], c->n[2]}, comm->rank);
    size_t bytes = l->count * sizeof *work;
    int32_t *begin = work, *all = work + 2 * l->count, *other = work + 3 * l->count;
    int rank = comm->rank;

    memcpy(begin, l->last, bytes);
    for (int d = 1; d < comm->size; d *= 2) {
        MF_TRY(mf_slab_fetch(comm, &edge, begin, bytes, 2 * ((ptrdiff_t)rank - d), rank >= d, other));
        for (size_t i = 0; rank >= d && i < l->count; ++i)
            if (other[i] > begin[i]) begin[i] = other[i];
    }
    memcpy(all, begin, bytes);
    mf_comm_bcast(comm, comm->size - 1, all, bytes);
    MF_TRY(mf_slab_fetch(comm, &edge, begin, bytes, 2 * ((ptrdiff_t)rank - 1), rank > 0, other));
    for (size_t i = 0; i < l->count; ++i) {
        begin[i] = rank > 0 ? other[i] : NONE;
        if (c->job->periodic && begin[i] == NONE && all[i] != NONE) begin[i] = all[i] - (int32_t)c->n[0];
    }
    return MF_OK;
}

static int along_z(struct chords *c, struct lines *l, uint8_t *before, int32_t *work)
{
    const struct mf_slab *slab = &c->job->micro->slab;
    const uint8_t *phase = c->job->micro->phase;
    size_t plane = l->count;
    int reaches = slab->count && (c->job->periodic || slab->first > 0);

    MF_TRY(mf_slab_fetch(c->job->comm, slab, phase, plane, (ptrdiff_t)slab->first - 1, (size_t)reaches, before));
    clear(l);
    if (reaches) step(c, 0, l, (int32_t)slab->first, before, phase);
    for (size_t z = 1; z < slab->count && mf_pulse("chords") == MF_OK; ++z)
        step(c, 0, l, (int32_t)(slab->first + z), phase + (z - 1) * plane, phase + z * plane);
    if (!reaches && slab->count) memcpy(before, phase, plane);
    for (size_t i = 0; i < plane; ++i) /* the run that reaches the slab has the phase before its first change */
        if (l->first[i] != NONE && l->first[i] > (int32_t)slab->first)
            before[i] = phase[((size_t)l->first[i] - 1 - slab->first) * plane + i];
    MF_TRY(scan(c, l, work));
    close_lines(c, 0, l, before, work);
    for (size_t i = 0; c->job->comm->rank == 0 && i < plane; ++i) /* lines of one phase */
        if (work[2 * plane + i] == NONE) emit(c, 0, phase[i], 0);
    return MF_OK;
}

static int count(struct chords *c, uint8_t *before, int32_t *work)
{
    const struct mf_micro *m = c->job->micro;
    size_t plane = c->n[1] * c->n[2];
    struct lines l = {work, work + plane, plane}, rows = {work, work + plane, c->n[2]};
    int32_t *rest = work + 2 * plane;

    for (size_t z = 0; z < m->slab.count && mf_pulse("chords") == MF_OK; ++z) {
        for (size_t y = 0; y < c->n[1]; ++y) along_x(c, m->phase + z * plane + y * c->n[2]);
        along_y(c, m->phase + z * plane, &rows, rest);
    }
    return m->ndim == 2 ? MF_OK : along_z(c, &l, before, rest);
}

static void put_axis(const struct chords *c, int axis, int phase, struct mf_json *values)
{
    const int64_t *count = c->count[axis] + (size_t)phase * (c->n[axis] + 1);
    struct mf_json *one = mf_json_object(), *list = mf_json_array();
    int64_t number = 0, voxels = 0, longest = 0;

    for (size_t i = 1; i <= c->n[axis]; ++i) {
        number += count[i];
        voxels += (int64_t)i * count[i];
        if (count[i]) longest = (int64_t)i;
    }
    for (int64_t i = 1; i <= longest; ++i) mf_json_int(list, NULL, count[i]);
    MF_JSON(one, "number", number, "mean", number ? (double)voxels / (double)number : 0, "longest", longest,
            "whole_lines", count[0], "counts", list);
    mf_json_put(values, mf_axis_name(axis), one);
}

static void put(const struct chords *c, struct mf_json *const *phase)
{
    for (int p = 0; p < c->job->micro->phases; ++p) {
        struct mf_json *values = mf_json_object();

        for (int a = mf_axis_first(c->job->micro); a < 3; ++a) put_axis(c, a, p, values);
        mf_json_put(phase[p], "chords", values);
    }
}

int mf_measure_chords(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    const size_t *n = job->micro->slab.dims, plane = n[1] * n[2], phases = (size_t)job->micro->phases;
    struct chords c = {.job = job, .n = {n[0], n[1], n[2]}};
    size_t total = phases * (n[0] + n[1] + n[2] + 3);
    uint8_t *before = mf_arena_take(job->arena, plane, "plane");
    int32_t *work = mf_arena_take(job->arena, 6 * plane * sizeof *work, "chords");
    int rc;

    c.count[0] = mf_arena_zeros(job->arena, total, sizeof(int64_t), "chords");
    rc = mf_agree(job->comm, before && work && c.count[0] ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) {
        c.count[1] = c.count[0] + phases * (n[0] + 1);
        c.count[2] = c.count[1] + phases * (n[1] + 1);
        rc = count(&c, before, work);
    }
    if (rc == MF_OK) {
        mf_comm_sum_int(job->comm, total, c.count[0]);
        put(&c, phase);
    }
    mf_arena_give(job->arena, c.count[0]);
    mf_arena_give(job->arena, work);
    mf_arena_give(job->arena, before);
    return rc;
}

void mf_measure_chords_text(FILE *to, const struct mf_json *values)
{
    for (int a = 0; a < 3; ++a) {
        const struct mf_json *one = mf_json_get(values, mf_axis_name(a));

        if (one)
            fprintf(to, "  chords along %s: %lld, mean %.6g, longest %lld [pixels]\n", mf_axis_name(a),
                    mf_json_get_int(one, "number"), mf_json_get_real(one, "mean"), mf_json_get_int(one, "longest"));
    }
}
