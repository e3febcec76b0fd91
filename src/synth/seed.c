/* Voronoi grains: every voxel belongs to the nearest seed across the periodic box. Seeds are found in a list by cell.
 * With exact fractions, phases are treated from the highest on. Phase p takes from the phases below it the voxels with
 * the largest value. This is the distance to their nearest seed minus the distance to the nearest seed of phase p. A
 * cut at 0 gives the plain Voronoi cell, so each wall moves by one difference of distances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

/* Seeds of some phases by cell. */
struct lattice {
    const struct mf_synth *what;
    size_t cells[3];
    double width[3];
    size_t count;
    size_t *start; /* [cells + 1] */
    double *place; /* [count][3], in the order of cells */
    size_t *item;  /* [count]: index of the grain */
};

static size_t cell_of(const struct lattice *l, const double *centre)
{
    size_t cell = 0;

    for (int a = 0; a < 3; ++a) {
        size_t i = (size_t)(centre[a] / l->width[a]);

        cell = cell * l->cells[a] + (i < l->cells[a] ? i : l->cells[a] - 1);
    }
    return cell;
}

/* Cells for about two seeds each. */
static size_t lattice_cut(struct lattice *l, const struct mf_synth *what, size_t count)
{
    double volume = 1, edge;
    size_t cells = 1;

    for (int a = 0; a < 3; ++a) volume *= (double)what->dims[a];
    edge = pow(2 * volume / (double)(count ? count : 1), 1.0 / mf_synth_axes(what));
    for (int a = 0; a < 3; ++a) {
        l->cells[a] = (double)what->dims[a] > edge ? (size_t)((double)what->dims[a] / edge) : 1;
        l->width[a] = (double)what->dims[a] / (double)l->cells[a];
        cells *= l->cells[a];
    }
    return cells;
}

/* The grains with low <= phase <= high. */
static int lattice_new(const struct mf_synth_job *job, const struct mf_synth_facts *facts, int low, int high,
                       struct lattice *l)
{
    size_t cells, n = facts->objects;

    *l = (struct lattice){.what = job->what};
    for (size_t i = 0; i < n; ++i) l->count += facts->object[i].phase >= low && facts->object[i].phase <= high;
    cells = lattice_cut(l, job->what, l->count);
    l->start = mf_arena_zeros(job->arena, cells + 2, sizeof *l->start, "synth cells");
    l->place = mf_arena_take(job->arena, l->count * 3 * sizeof *l->place, "synth cells");
    l->item = mf_arena_take(job->arena, l->count * sizeof *l->item, "synth cells");
    if (!l->start || !l->place || !l->item) return MF_MEMORY;
    for (size_t i = 0; i < n; ++i)
        if (facts->object[i].phase >= low && facts->object[i].phase <= high)
            ++l->start[cell_of(l, facts->object[i].centre) + 2];
    for (size_t c = 0; c < cells; ++c) l->start[c + 1] += l->start[c];
    for (size_t i = 0; i < n; ++i)
        if (facts->object[i].phase >= low && facts->object[i].phase <= high) {
            size_t at = l->start[cell_of(l, facts->object[i].centre) + 1]++;

            l->item[at] = i;
            memcpy(l->place + 3 * at, facts->object[i].centre, 3 * sizeof(double));
        }
    return MF_OK;
}

static void lattice_free(const struct mf_synth_job *job, struct lattice *l)
{
    mf_arena_give(job->arena, l->start);
    mf_arena_give(job->arena, l->place);
    mf_arena_give(job->arena, l->item);
}

enum { NEIGHBOURS = 128, TILE_MOST = 16 };

/* A seed beside a tile of voxels: its place as seen from there, across the periodic box. */
struct neighbour {
    double place[3];
    size_t grain;
};

/* A search around the point p: the nearest seed, or all within a limit. */
struct search {
    double p[3];
    double d2; /* to the nearest so far; HUGE_VAL: none yet */
    size_t grain;
    double limit2; /* seeds within are listed; below 0: none */
    size_t count;  /* of them; only the first NEIGHBOURS are kept */
    struct neighbour list[NEIGHBOURS];
};

/* Squared distance; an axis of one voxel does not count. */
static inline double apart2(const struct lattice *l, const double *a, const double *b)
{
    double z = a[0] - b[0], y = a[1] - b[1], x = a[2] - b[2];

    if (l->what->dims[0] == 1) z = 0;
    if (l->what->dims[1] == 1) y = 0;
    if (l->what->dims[2] == 1) x = 0;
    return z * z + y * y + x * x;
}

/* Looks through the cell at the unwrapped place i. */
static void look(const struct lattice *l, const ptrdiff_t i[3], struct search *s)
{
    double shift[3];
    size_t cell = 0;

    for (int a = 0; a < 3; ++a) {
        ptrdiff_t n = (ptrdiff_t)l->cells[a], turns = (i[a] < 0 ? i[a] - n + 1 : i[a]) / n;

        shift[a] = (double)turns * (double)l->what->dims[a];
        cell = cell * (size_t)n + (size_t)(i[a] - turns * n);
    }
    for (size_t k = l->start[cell]; k < l->start[cell + 1]; ++k) {
        const double *at = l->place + 3 * k;
        struct neighbour seed = {{at[0] + shift[0], at[1] + shift[1], at[2] + shift[2]}, l->item[k]};
        double d2 = apart2(l, seed.place, s->p);

        if (d2 < s->d2 || (d2 == s->d2 && seed.grain < s->grain)) s->d2 = d2, s->grain = seed.grain;
        if (d2 > s->limit2) continue;
        if (s->count < NEIGHBOURS) s->list[s->count] = seed;
        ++s->count;
    }
}

/* The shell of cells at Chebyshev distance r from the cell `at`; axes of one voxel stay in theirs. */
static void look_shell(const struct lattice *l, const ptrdiff_t at[3], ptrdiff_t r, struct search *s)
{
    ptrdiff_t reach[3], i[3];

    for (int a = 0; a < 3; ++a) reach[a] = l->what->dims[a] > 1 ? r : 0;
    for (ptrdiff_t z = -reach[0]; z <= reach[0]; ++z)
        for (ptrdiff_t y = -reach[1]; y <= reach[1]; ++y) {
            int face = labs(z) == r || labs(y) == r;

            if (!face && reach[2] == 0) continue;
            for (ptrdiff_t x = -reach[2]; x <= reach[2]; x += face ? 1 : 2 * r) {
                i[0] = at[0] + z;
                i[1] = at[1] + y;
                i[2] = at[2] + x;
                look(l, i, s);
            }
        }
}

/* Searches shells of cells around s->p. It ends when no seed further out can be nearer than the nearest, or within the
 * limit. */
static void look_around(const struct lattice *l, struct search *s)
{
    ptrdiff_t at[3];
    double edge = HUGE_VAL, step = HUGE_VAL;

    s->d2 = HUGE_VAL;
    s->grain = SIZE_MAX;
    s->count = 0;
    for (int a = 0; a < 3; ++a) {
        double below;

        at[a] = (ptrdiff_t)(s->p[a] / l->width[a]);
        if (at[a] >= (ptrdiff_t)l->cells[a]) at[a] = (ptrdiff_t)l->cells[a] - 1;
        if (l->what->dims[a] == 1) continue;
        below = s->p[a] - (double)at[a] * l->width[a];
        edge = fmin(edge, fmin(below, l->width[a] - below));
        step = fmin(step, l->width[a]);
    }
    for (ptrdiff_t r = 0;; ++r) {
        double sure = edge + (double)(r - 1) * step; /* all seeds nearer than this have been seen */

        if (r > 0 && sure > 0 && s->d2 <= sure * sure && s->limit2 <= sure * sure) break;
        look_shell(l, at, r, s);
    }
}

struct grains {
    struct lattice *own, *other; /* other NULL: the label itself is the value */
    const struct mf_synth_facts *facts;
    const struct mf_synth_job *job;
};

/* A tile of voxels in one plane. */
struct tile {
    size_t z, y, x, rows, columns;
};

/* The nearest seed of every voxel of a tile: squared distance and grain, [rows][columns]. A candidate is not farther
 * from the tile's middle than the nearest seed there plus twice the distance to a corner. */
static void search_tile(const struct lattice *l, const struct tile *t, double *d2, size_t *grain)
{
    struct search around = {.limit2 = -1}, one = {.limit2 = -1};
    double corner = hypot((double)t->rows, (double)t->columns) / 2, limit;

    around.p[0] = (double)t->z + 0.5;
    around.p[1] = (double)t->y + (double)t->rows / 2;
    around.p[2] = (double)t->x + (double)t->columns / 2;
    look_around(l, &around);
    limit = sqrt(around.d2) + 2 * corner;
    around.limit2 = limit * limit;
    look_around(l, &around);
    for (size_t i = 0; i < t->rows * t->columns; ++i) {
        size_t row = i / t->columns;

        one.p[0] = around.p[0];
        one.p[1] = (double)(t->y + row) + 0.5;
        one.p[2] = (double)(t->x + i - row * t->columns) + 0.5;
        if (around.count > NEIGHBOURS) {
            look_around(l, &one);
            d2[i] = one.d2;
            grain[i] = one.grain;
            continue;
        }
        d2[i] = HUGE_VAL;
        grain[i] = SIZE_MAX;
        for (size_t k = 0; k < around.count; ++k) {
            double found = apart2(l, around.list[k].place, one.p);

            if (found < d2[i] || (found == d2[i] && around.list[k].grain < grain[i]))
                d2[i] = found, grain[i] = around.list[k].grain;
        }
    }
}

static void value_tile(const struct grains *g, const struct tile *t, double *value)
{
    double own[TILE_MOST * TILE_MOST] = {0}, other[TILE_MOST * TILE_MOST] = {0};
    size_t grain[TILE_MOST * TILE_MOST] = {0}, nx = g->job->slab.dims[2];

    search_tile(g->own, t, own, grain);
    if (g->other) {
        size_t unused[TILE_MOST * TILE_MOST];

        search_tile(g->other, t, other, unused);
    }
    for (size_t i = 0; i < t->rows * t->columns; ++i)
        value[(t->y + i / t->columns) * nx + t->x + i % t->columns] =
            g->other ? sqrt(other[i]) - sqrt(own[i]) : (double)g->facts->object[grain[i]].phase;
}

/* Tiles of a third of the distance between seeds. */
static size_t tile_edge(const struct lattice *l)
{
    double edge = HUGE_VAL;

    for (int a = 0; a < 3; ++a)
        if (l->what->dims[a] > 1) edge = fmin(edge, l->width[a] / 3);
    return edge < 1 ? 1 : edge > TILE_MOST ? TILE_MOST : (size_t)edge;
}

static void grain_plane(const void *self, size_t z, double *value)
{
    const struct grains *g = self;
    const size_t *dims = g->job->slab.dims;
    size_t edge = tile_edge(g->other ? g->other : g->own);

    for (size_t y = 0; y < dims[1]; y += edge)
        for (size_t x = 0; x < dims[2]; x += edge) {
            struct tile tile = {z, y, x, edge, edge};

            if (tile.rows > dims[1] - y) tile.rows = dims[1] - y;
            if (tile.columns > dims[2] - x) tile.columns = dims[2] - x;
            value_tile(g, &tile, value);
        }
}

static int label_plain(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    struct lattice all;
    struct grains grains = {.own = &all, .facts = facts, .job = job};
    struct mf_synth_source source = {grain_plane, &grains};
    double cuts[MF_PHASES_MAX];
    int rc = mf_agree(job->comm, lattice_new(job, facts, 0, job->what->phases - 1, &all));

    for (int p = 1; p < job->what->phases; ++p) cuts[p - 1] = p - 0.5;
    if (rc == MF_OK) rc = mf_synth_label(job, &source, cuts);
    lattice_free(job, &all);
    return rc;
}

/* Gives phase p to those above the level, except those of a higher phase. Their value is the largest of all. */
static int take(const struct mf_synth_job *job, double *value, int p, int64_t below)
{
    size_t n = mf_slab_voxels(&job->slab);
    struct mf_synth_level level;
    int64_t ties = 0;

    MF_ASSERT(value && job->phase);
    for (size_t i = 0; i < n; ++i)
        if (job->phase[i] > p) value[i] = -MF_SYNTH_OUTSIDE;
    MF_TRY(mf_synth_level_at(job->comm, n, value, below, &level));
    for (size_t i = 0; i < n; ++i) {
        uint64_t key = mf_synth_key(value[i]);
        int above = key > level.key || (key == level.key && ties++ >= level.ties_below);

        if (above && job->phase[i] < p) job->phase[i] = (uint8_t)p;
    }
    return MF_OK;
}

static int round_of(const struct mf_synth_job *job, struct mf_synth_facts *facts, int p, int64_t below, double *value)
{
    struct lattice own, other;
    struct grains grains = {&own, &other, facts, job};
    struct mf_synth_source source = {grain_plane, &grains};
    int rc = lattice_new(job, facts, p, p, &own), more = lattice_new(job, facts, 0, p - 1, &other);

    rc = mf_agree(job->comm, rc != MF_OK ? rc : more);
    if (rc == MF_OK) {
        mf_synth_fill(job, &source, value);
        rc = mf_synth_heed(job);
        if (rc == MF_OK) rc = take(job, value, p, below);
    }
    lattice_free(job, &own);
    lattice_free(job, &other);
    return rc;
}

static int label_exact(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    const size_t *dims = job->slab.dims;
    int64_t count[MF_PHASES_MAX], below = (int64_t)(dims[0] * dims[1] * dims[2]);
    double *value = mf_arena_take(job->arena, mf_slab_voxels(&job->slab) * sizeof *value, "synth field");
    int rc = mf_agree(job->comm, value ? MF_OK : MF_MEMORY);

    mf_synth_counts(job->what, below, count);
    memset(job->phase, 0, mf_slab_voxels(&job->slab));
    for (int p = job->what->phases - 1; rc == MF_OK && p > 0; --p) {
        below -= count[p];
        if (count[p] == 0) continue;
        if (below > 0)
            rc = round_of(job, facts, p, below, value);
        else
            for (size_t i = 0; i < mf_slab_voxels(&job->slab); ++i)
                if (job->phase[i] == 0) job->phase[i] = (uint8_t)p;
        if (below == 0) break;
    }
    mf_arena_give(job->arena, value);
    return rc;
}

struct draw {
    double key;
    size_t grain;
};

static int by_key(const void *a, const void *b)
{
    const struct draw *p = a, *q = b;

    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return p->grain < q->grain ? -1 : p->grain > q->grain;
}

/* Assigns phases to grains in shuffled order. There are as many of each as the fractions require, at least one for a
 * fraction above 0. */
static int deal(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    size_t n = facts->objects, at = 0;
    int64_t count[MF_PHASES_MAX];
    struct draw *draw = mf_arena_take(job->arena, n * sizeof *draw, "synth cells");

    if (!draw) return MF_MEMORY;
    mf_synth_counts(job->what, (int64_t)n, count);
    for (int p = 0; p < job->what->phases; ++p)
        if (job->what->fraction[p] > 0 && count[p] == 0) {
            int most = 0;

            for (int q = 1; q < job->what->phases; ++q)
                if (count[q] > count[most]) most = q;
            --count[most];
            ++count[p];
        }
    for (size_t i = 0; i < n; ++i) draw[i] = (struct draw){mf_random_uniform(job->what->seed, MF_STREAM_DEAL, i), i};
    qsort(draw, n, sizeof *draw, by_key);
    for (int p = 0; p < job->what->phases; ++p)
        for (int64_t k = 0; k < count[p]; ++k) facts->object[draw[at++].grain].phase = p;
    mf_arena_give(job->arena, draw);
    return MF_OK;
}

int mf_synth_voronoi(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    int rc = mf_synth_place(job, facts);

    if (rc == MF_OK) rc = deal(job, facts);
    MF_TRY(mf_agree(job->comm, rc));
    for (size_t i = 0; i < facts->objects; ++i) facts->object[i].radius = 0;
    return job->what->exact ? label_exact(job, facts) : label_plain(job, facts);
}
