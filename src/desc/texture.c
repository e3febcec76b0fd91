/* See texture.h. */
#include "src/desc/texture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/forest.h"
#include "src/base/room.h"
#include "src/desc/slice.h"

enum { REACH = 10, SPECK = 3, MOST_ERROR = 2 };

static const int directions[MF_TEXTURE_DIRECTIONS][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}}; /* rows, columns */
static const int64_t run_pixels[MF_TEXTURE_RUNS] = {5, 10, MF_TEXTURE_EDGE};

const char *const mf_texture_names[MF_TEXTURE_VALUES] = {
    "chord_x",        "chord_y",         "chord_down",           "chord_up",   "lineal_path_5", "lineal_path_10",
    "lineal_path_15", "euler_per_pixel", "components_per_pixel", "cluster_10", "specks"};

const struct mf_texture_error mf_texture_errors[MF_TEXTURE_ERRORS] = {
    {"chords", "mean chord length", MF_TEXTURE_CHORD, MF_TEXTURE_DIRECTIONS},
    {"lineal_path_5", "lineal path, 5 pixels", MF_TEXTURE_LINEAL, 1},
    {"lineal_path_10", "lineal path, 10 pixels", MF_TEXTURE_LINEAL + 1, 1},
    {"lineal_path_15", "lineal path, 15 pixels", MF_TEXTURE_LINEAL + 2, 1},
    {"euler", "Euler number", MF_TEXTURE_EULER, 1},
    {"components", "components", MF_TEXTURE_COMPONENTS, 1},
    {"cluster_10", "two-point cluster function, 10 pixels", MF_TEXTURE_CLUSTER, 1}};

struct image {
    const uint8_t *x;
    size_t nu, nv;
    int periodic;
};

static size_t wrap(ptrdiff_t i, size_t n)
{
    while (i < 0) i += (ptrdiff_t)n;
    while (i >= (ptrdiff_t)n) i -= (ptrdiff_t)n;
    return (size_t)i;
}

/** Moves by @p n steps; 0: that is outside, and nothing moved. */
static int go(const struct image *m, const int step[2], ptrdiff_t n, size_t *u, size_t *v)
{
    const ptrdiff_t a = (ptrdiff_t)*u + n * step[0], b = (ptrdiff_t)*v + n * step[1];
    const int inside = a >= 0 && b >= 0 && a < (ptrdiff_t)m->nu && b < (ptrdiff_t)m->nv;

    if (!inside && !m->periodic) return 0;
    *u = inside ? (size_t)a : wrap(a, m->nu);
    *v = inside ? (size_t)b : wrap(b, m->nv);
    return 1;
}

static uint8_t at(const struct image *m, size_t u, size_t v) { return m->x[u * m->nv + v]; }

/** A run of @p length pixels; @p chord: its ends are not the border. */
static void note_run(struct mf_texture *t, int direction, int64_t length, int chord)
{
    if (chord) {
        ++t->chords[direction];
        t->chord_pixels[direction] += length;
    }
    for (int k = 0; direction < 2 && k < MF_TEXTURE_RUNS; ++k)
        if (length >= run_pixels[k]) t->runs[k] += length - run_pixels[k] + 1;
}

/** A run begins where the pixel before has another phase or is outside. Pixels without a phase are on closed lines of
 * one phase: every length has a position at each of them. */
static void add_runs(const struct image *m, int phases, int direction, struct mf_texture *add)
{
    int64_t rest[MF_PHASES_MAX];

    for (int p = 0; p < phases; ++p) rest[p] = 0;
    for (size_t i = 0; i < m->nu * m->nv; ++i) ++rest[m->x[i]];
    for (size_t i = 0; i < m->nu * m->nv; ++i) {
        const uint8_t phase = m->x[i];
        size_t u = i / m->nv, v = i % m->nv;
        const int before = go(m, directions[direction], -1, &u, &v);
        int64_t length = 0;
        int inside = 1;

        if (before && at(m, u, v) == phase) continue;
        for (u = i / m->nv, v = i % m->nv; inside && at(m, u, v) == phase; ++length)
            inside = go(m, directions[direction], 1, &u, &v);
        note_run(&add[phase], direction, length, before && inside);
        rest[phase] -= length;
    }
    for (int p = 0; direction < 2 && p < phases; ++p)
        for (int k = 0; k < MF_TEXTURE_RUNS; ++k) add[p].runs[k] += rest[p];
}

/** Pairs of pixels n apart, or runs of n + 1, along x and y. */
static int64_t places_of(const struct image *m, size_t n)
{
    if (m->periodic) return 2 * (int64_t)(m->nu * m->nv);
    return (int64_t)(m->nv > n ? m->nu * (m->nv - n) : 0) + (int64_t)(m->nu > n ? m->nv * (m->nu - n) : 0);
}

/** Squares of 2 x 2 pixels with one of a phase, minus those with three. A fourth of that is the mean of both Euler
 * numbers. */
static void add_euler(const struct image *m, struct mf_texture *add)
{
    for (size_t i = 0; i < (m->nu + 1) * (m->nv + 1); ++i) {
        const size_t u = i / (m->nv + 1), v = i % (m->nv + 1); /* of the pixel to the lower right */
        int corner[4];

        if (m->periodic && (u == m->nu || v == m->nv)) continue;
        for (int k = 0; k < 4; ++k) {
            const ptrdiff_t a = (ptrdiff_t)u - k / 2, b = (ptrdiff_t)v - k % 2;
            const int inside = a >= 0 && b >= 0 && a < (ptrdiff_t)m->nu && b < (ptrdiff_t)m->nv;

            corner[k] = inside || m->periodic ? at(m, wrap(a, m->nu), wrap(b, m->nv)) : -1;
        }
        for (int k = 0; k < 4; ++k) {
            int same = 0;

            for (int j = 0; j < 4; ++j) same += corner[j] == corner[k];
            if (corner[k] < 0 || same % 2 == 0) continue;
            add[corner[k]].euler += same == 1 ? 3 : -1; /* the three see the square each */
        }
    }
}

/** Components of pixels that share an edge: afterwards every pixel has its component's first one. */
static void join_pixels(const struct image *m, uint32_t *parent)
{
    for (size_t i = 0; i < m->nu * m->nv; ++i) parent[i] = (uint32_t)i;
    for (size_t i = 0; i < m->nu * m->nv; ++i)
        for (int direction = 0; direction < 2; ++direction) {
            size_t u = i / m->nv, v = i % m->nv;

            if (go(m, directions[direction], 1, &u, &v) && at(m, u, v) == m->x[i])
                mf_forest_join(parent, i, u * m->nv + v);
        }
    for (size_t i = 0; i < m->nu * m->nv; ++i) parent[i] = parent[parent[i]];
}

static void add_components(const struct image *m, const uint32_t *parent, uint32_t *size, struct mf_texture *add)
{
    const size_t n = m->nu * m->nv;

    memset(size, 0, n * sizeof *size);
    for (size_t i = 0; i < n; ++i) ++size[parent[i]];
    for (size_t i = 0; i < n; ++i) {
        struct mf_texture *t = &add[m->x[i]];

        if (parent[i] == i) ++t->components;
        if (size[parent[i]] <= SPECK) ++t->speck_pixels;
        for (int direction = 0; direction < 2; ++direction) {
            size_t u = i / m->nv, v = i % m->nv;

            if (go(m, directions[direction], REACH, &u, &v) && parent[u * m->nv + v] == parent[i]) ++t->pairs;
        }
    }
}

int mf_texture_add(const uint8_t *x, size_t nu, size_t nv, int phases, int periodic, struct mf_texture *add)
{
    const struct image m = {x, nu, nv, periodic};
    uint32_t *parent;

    if (nu > UINT32_MAX / nv) return mf_fail(MF_INPUT, "an image of %zu x %zu pixels has too many components", nu, nv);
    MF_TRY(MF_ROOM(parent, 2 * nu * nv, "the components of %zu x %zu pixels", nu, nv));
    join_pixels(&m, parent);
    add_components(&m, parent, parent + nu * nv, add);
    free(parent);
    for (int direction = 0; direction < MF_TEXTURE_DIRECTIONS; ++direction) add_runs(&m, phases, direction, add);
    add_euler(&m, add);
    for (int p = 0; p < phases; ++p) {
        add[p].pixels += (int64_t)(nu * nv);
        add[p].pair_places += places_of(&m, REACH);
        for (int k = 0; k < MF_TEXTURE_RUNS; ++k) add[p].places[k] += places_of(&m, (size_t)run_pixels[k] - 1);
    }
    return MF_OK;
}

/** One image, which lies on one rank. Collective. */
static int add_image(const struct mf_comm *comm, const struct mf_micro *image, int periodic, struct mf_texture *add)
{
    int rc = MF_OK;

    if (image->slab.count)
        rc = mf_texture_add(image->phase, image->slab.dims[1], image->slab.dims[2], image->phases, periodic, add);
    return mf_agree(comm, rc);
}

int mf_texture_measure(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int periodic,
                       size_t most, struct mf_texture (*texture)[MF_PHASES_MAX], size_t taken[3])
{
    const int sides = micro->ndim == 2 ? 1 : 3;
    int rc = MF_OK;

    memset(texture, 0, 3 * sizeof *texture);
    for (int d = 0; d < 3; ++d) taken[d] = d < sides ? micro->slab.dims[d] : 0;
    if (sides == 1) rc = add_image(comm, micro, periodic, texture[0]);
    for (int d = 0; sides == 3 && d < 3; ++d) {
        if (most && most < taken[d]) taken[d] = most;
        for (size_t k = 0; rc == MF_OK && k < taken[d]; ++k) {
            struct mf_micro slice;

            rc = mf_slice_take(comm, arena, micro, (enum mf_normal)d, mf_slice_spread(micro->slab.dims[d], taken[d], k),
                               &slice);
            if (rc != MF_OK) return rc;
            rc = add_image(comm, &slice, periodic, texture[d]);
            mf_micro_free(&slice);
        }
    }
    if (rc == MF_OK) mf_comm_sum_int(comm, 3 * sizeof *texture / sizeof(int64_t), (int64_t *)texture);
    return rc;
}

static double quotient(int64_t a, int64_t b) { return b ? (double)a / (double)b : NAN; }

void mf_texture_values(const struct mf_texture *t, double value[MF_TEXTURE_VALUES])
{
    for (int direction = 0; direction < MF_TEXTURE_DIRECTIONS; ++direction) value[MF_TEXTURE_CHORD + direction] = NAN;
    for (int direction = 0; t->pixels && direction < MF_TEXTURE_DIRECTIONS; ++direction)
        value[MF_TEXTURE_CHORD + direction] =
            t->chords[direction] ? quotient(t->chord_pixels[direction], t->chords[direction]) : 0;
    for (int k = 0; k < MF_TEXTURE_RUNS; ++k) value[MF_TEXTURE_LINEAL + k] = quotient(t->runs[k], t->places[k]);
    value[MF_TEXTURE_EULER] = quotient(t->euler, t->pixels) / 12;
    value[MF_TEXTURE_COMPONENTS] = quotient(t->components, t->pixels);
    value[MF_TEXTURE_CLUSTER] = quotient(t->pairs, t->pair_places);
    value[MF_TEXTURE_SPECKS] = quotient(t->speck_pixels, t->pixels);
}

double mf_relative_error(double got, double want)
{
    if (want == 0) return got == 0 ? 0 : isnan(got) ? NAN : MOST_ERROR;
    got = fabs(got - want) / fabs(want);
    return got > MOST_ERROR ? MOST_ERROR : got;
}

void mf_texture_compare(int phases, const struct mf_texture *got, const struct mf_texture *want,
                        struct mf_texture_off *off)
{
    *off = (struct mf_texture_off){{0}, 0, 0};
    for (int p = 0; p < phases; ++p) {
        double a[MF_TEXTURE_VALUES], b[MF_TEXTURE_VALUES];

        mf_texture_values(&got[p], a);
        mf_texture_values(&want[p], b);
        for (int e = 0; e < MF_TEXTURE_ERRORS; ++e)
            for (int i = mf_texture_errors[e].first; i < mf_texture_errors[e].first + mf_texture_errors[e].count; ++i)
                off->error[e] += mf_relative_error(a[i], b[i]) / (mf_texture_errors[e].count * phases);
        off->specks += 100 * (a[MF_TEXTURE_SPECKS] - b[MF_TEXTURE_SPECKS]);
    }
    off->specks = fabs(off->specks);
    for (int e = 0; e < MF_TEXTURE_ERRORS; ++e) off->score += off->error[e] / MF_TEXTURE_ERRORS;
    off->score += 0.1 * off->specks;
}
