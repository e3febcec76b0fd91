/* See tally_impl.h: what is counted along the axes of a slice. */
#include "kernels/form/axes.h"
#include "src/recon/tally_impl.h"

enum { AROUND = 5 }; /* a pixel and its neighbours */

/* -- surfaces -- */

static enum mf_axes_kind kind_of(const struct mf_pixel *p, uint8_t phase)
{
    if (*p->label != phase) return MF_AXES_OTHER;
    for (int axis = 0; axis < 2; ++axis)
        for (int step = -1; step <= 1; step += 2) {
            struct mf_pixel q = *p;

            if (mf_pixel_go(&q, axis, step) && *q.label != phase) return MF_AXES_SURFACE;
        }
    return MF_AXES_INSIDE;
}

/* Pixels that become another kind, one after the other. */
struct turn {
    const uint8_t *label; /* whose pixel */
    enum mf_axes_kind before, after;
};

struct turns {
    size_t n;
    uint8_t phase;
    struct mf_pixel pixel[AROUND];
    struct turn turn[AROUND];
};

static void add_turn(struct turns *t, const struct mf_pixel *p, enum mf_axes_kind before, enum mf_axes_kind after)
{
    t->pixel[t->n] = *p;
    t->turn[t->n++] = (struct turn){p->label, before, after};
}

static int has_turned(const struct turns *t, const struct mf_pixel *p)
{
    for (size_t i = 0; i < t->n; ++i)
        if (t->turn[i].label == p->label) return 1;
    return 0;
}

/* Changes around a pixel that leaves its phase: pixels that were inside become surface. */
static struct turns turns_of(const struct mf_pixel *p)
{
    struct turns t = {.phase = *p->label};

    add_turn(&t, p, kind_of(p, t.phase), MF_AXES_OTHER);
    for (int axis = 0; axis < 2; ++axis)
        for (int step = -1; step <= 1; step += 2) {
            struct mf_pixel q = *p;

            if (mf_pixel_go(&q, axis, step) && !has_turned(&t, &q) && kind_of(&q, t.phase) == MF_AXES_INSIDE)
                add_turn(&t, &q, MF_AXES_INSIDE, MF_AXES_SURFACE);
        }
    return t;
}

/* The kind of a pixel when the first @p done have turned. */
static enum mf_axes_kind kind_then(const struct turns *t, size_t done, const struct mf_pixel *p)
{
    for (size_t i = 0; i < done; ++i)
        if (t->turn[i].label == p->label) return t->turn[i].after;
    return kind_of(p, t->phase);
}

static int unlike(enum mf_axes_kind a, enum mf_axes_kind b)
{
    return (a == MF_AXES_SURFACE && b == MF_AXES_OTHER) || (a == MF_AXES_OTHER && b == MF_AXES_SURFACE);
}

/* What turn @p i changes of the pairs with those @p r away on both sides of it. */
static void add_pairs(size_t lag, const struct turns *t, size_t i, int axis, size_t r, int sign, int64_t *count)
{
    const enum mf_axes_kind before = t->turn[i].before, after = t->turn[i].after;
    int64_t *alike_count = &count[mf_surface_entry(lag, MF_AXES_ALIKE, axis, r)];
    int64_t *unlike_count = &count[mf_surface_entry(lag, MF_AXES_UNLIKE, axis, r)];
    const int more = (after == MF_AXES_SURFACE) - (before == MF_AXES_SURFACE);

    for (int side = -1; side <= 1; side += 2) {
        struct mf_pixel q = t->pixel[i];
        enum mf_axes_kind kind;

        if (!mf_pixel_go(&q, axis, side * (ptrdiff_t)r)) continue;
        kind = kind_then(t, i, &q);
        if (kind == MF_AXES_SURFACE) *alike_count += sign * more;
        *unlike_count += sign * (unlike(after, kind) - unlike(before, kind));
    }
}

static void add_surface(const struct mf_tally *tally, const struct mf_pixel *p, int sign, int64_t *count)
{
    const struct turns t = turns_of(p);

    for (size_t i = 0; i < t.n; ++i)
        for (int axis = 0; axis < 2; ++axis) {
            const int more = (t.turn[i].after == MF_AXES_SURFACE) - (t.turn[i].before == MF_AXES_SURFACE);

            count[mf_surface_entry(tally->lag, MF_AXES_ALIKE, axis, 0)] -= sign * more;
            for (size_t r = 1; r < tally->lag; ++r) add_pairs(tally->lag, &t, i, axis, r, -sign, count);
        }
}

static void count_surface(const struct mf_tally *tally, const struct mf_pixel *p, int64_t *count)
{
    const uint8_t phase = *p->label;

    if (kind_of(p, phase) != MF_AXES_SURFACE) return;
    for (int axis = 0; axis < 2; ++axis)
        for (size_t r = 0; r < tally->lag; ++r)
            for (int side = -1; side <= 1; side += 2) {
                struct mf_pixel q = *p;

                if (!mf_pixel_go(&q, axis, side * (ptrdiff_t)r)) continue;
                if (side > 0)
                    count[mf_surface_entry(tally->lag, MF_AXES_ALIKE, axis, r)] +=
                        kind_of(&q, phase) == MF_AXES_SURFACE;
                count[mf_surface_entry(tally->lag, MF_AXES_UNLIKE, axis, r)] += *q.label != phase;
            }
}

/* 1 over how many rows of @p span + 1 pixels a slice has; 0: none. */
static double inverse_of(const struct mf_tally *t, size_t d, int axis, size_t span)
{
    const size_t *dims = t->field->dims;
    const double places = mf_axes_places(t->field->periodic, dims[mf_slice_u(d)], dims[mf_slice_v(d)], axis, span);

    return places > 0 ? 1 / places : 0;
}

static void surface_inverse(const struct mf_tally *t, size_t d, double *inverse)
{
    for (enum mf_axes_meet m = MF_AXES_ALIKE; m <= MF_AXES_UNLIKE; ++m)
        for (int axis = 0; axis < 2; ++axis)
            for (size_t r = 0; r < t->lag; ++r)
                inverse[mf_surface_entry(t->lag, m, axis, r)] = mf_surface_share(m) * inverse_of(t, d, axis, r);
}

const struct mf_counted mf_counted_surface = {.inverse = surface_inverse, .count = count_surface, .add = add_surface};

/* -- chords -- */

/* How many pixels beside this one, one after the other, are of a phase, at most @p most; ends: another phase is behind
 * them. */
static size_t reach(struct mf_pixel p, uint8_t phase, int axis, int step, size_t most, int *ends)
{
    *ends = 0;
    for (size_t k = 0; k < most; ++k) {
        if (!mf_pixel_go(&p, axis, step)) return k;
        *ends = *p.label != phase;
        if (*ends) return k;
    }
    return most;
}

static void add_chord(const struct mf_tally *t, int axis, size_t n, int sign, int64_t *count)
{
    if (n > 0 && n <= mf_chord_longest(t->lag)) count[mf_chord_entry(t->lag, axis, n)] += sign;
}

static void add_chords(const struct mf_tally *t, const struct mf_pixel *p, int sign, int64_t *count)
{
    for (int axis = 0; axis < 2; ++axis) {
        const size_t longest = mf_chord_longest(t->lag), others = (axis ? p->nv : p->nu) - 1;
        const size_t most = longest + 1 < others ? longest + 1 : others;
        int begins, ends;
        const size_t behind = reach(*p, *p->label, axis, -1, most, &begins);
        const size_t ahead = reach(*p, *p->label, axis, 1, most, &ends);

        if (p->periodic && behind == others) { /* a line of one phase, which has no chord, becomes one */
            add_chord(t, axis, others, -sign, count);
            continue;
        }
        if (begins && ends) add_chord(t, axis, behind + 1 + ahead, sign, count);
        if (begins) add_chord(t, axis, behind, -sign, count);
        if (ends) add_chord(t, axis, ahead, -sign, count);
    }
}

/* The chords that begin with it. */
static void count_chords(const struct mf_tally *t, const struct mf_pixel *p, int64_t *count)
{
    for (int axis = 0; axis < 2; ++axis) {
        const size_t longest = mf_chord_longest(t->lag);
        int begins, ends;
        size_t ahead;

        reach(*p, *p->label, axis, -1, 1, &begins);
        if (!begins) continue;
        ahead = reach(*p, *p->label, axis, 1, longest, &ends);
        if (ends) ++count[mf_chord_entry(t->lag, axis, ahead + 1)];
    }
}

static void chords_inverse(const struct mf_tally *t, size_t d, double *inverse)
{
    for (int axis = 0; axis < 2; ++axis)
        for (size_t n = 1; n <= mf_chord_longest(t->lag); ++n)
            inverse[mf_chord_entry(t->lag, axis, n)] = inverse_of(t, d, axis, n + 1);
}

const struct mf_counted mf_counted_chord = {.inverse = chords_inverse, .count = count_chords, .add = add_chords};
