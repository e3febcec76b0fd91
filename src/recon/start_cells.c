/* Cells of an image: see start.h. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/base/rng.h"
#include "src/base/room.h"
#include "src/base/streams.h"
#include "src/recon/start.h"

enum { WAVES = 24 };

struct point {
    double y, x;
};

/* Points by bins of about one of them, [ny][nx] as wide as @p edge; those of bin i are from first[i] to first[i + 1].
 */
struct bins {
    size_t n, count[2];
    double edge[2];
    size_t *first, *name; /* name: which point it was among the random ones */
    struct point *point;
};

/* The two nearest points, ordered by distance and then by number, so that the order of the search does not matter. */
struct pair {
    double far[2];
    size_t name[2];
    struct point way[2];
};

/* The nearest way from one place to another across the borders, squared; and that way. */
static double way(const struct point *to, double y, double x, const size_t dims[3], struct point *way)
{
    const double ny = (double)dims[1], nx = (double)dims[2];

    way->y = to->y - y;
    way->x = to->x - x;
    way->y -= ny * round(way->y / ny);
    way->x -= nx * round(way->x / nx);
    return way->y * way->y + way->x * way->x;
}

static void meet(struct pair *p, double far, size_t name, struct point way)
{
    int at = 2;

    while (at > 0 && (far < p->far[at - 1] || (far <= p->far[at - 1] && name < p->name[at - 1]))) --at;
    if (at == 2) return;
    if (at == 0) {
        p->far[1] = p->far[0];
        p->name[1] = p->name[0];
        p->way[1] = p->way[0];
    }
    p->far[at] = far;
    p->name[at] = name;
    p->way[at] = way;
}

static void meet_bin(const struct bins *b, size_t bin, const size_t dims[3], double y, double x, struct pair *p)
{
    for (size_t i = b->first[bin]; i < b->first[bin + 1]; ++i) {
        struct point here;
        const double far = way(&b->point[i], y, x, dims, &here);

        meet(p, far, b->name[i], here);
    }
}

static size_t bin_along(const struct bins *b, int axis, double at)
{
    const size_t bin = (size_t)(at / b->edge[axis]);

    return bin < b->count[axis] ? bin : b->count[axis] - 1;
}

/* Whether bins so far away on a circle of bins are met on this side of it, and not on the other. */
static int is_once(long away, size_t count) { return 2 * away <= (long)count && 2 * away > -(long)count; }

/* The bin so far away on such a circle, at most once around. */
static size_t round_to(size_t at, long away, size_t count)
{
    const long to = (long)at + away, all = (long)count;

    return (size_t)(to < 0 ? to + all : to >= all ? to - all : to);
}

/* The bins that are @p ring away from that at (u, v), along the axis where they are farther. */
static void meet_ring(const struct bins *b, long ring, const size_t at[2], const size_t dims[3], const double place[2],
                      struct pair *p)
{
    for (long du = -ring; du <= ring; ++du)
        for (long dv = -ring; dv <= ring; dv += labs(du) == ring ? 1 : 2 * ring)
            if (is_once(du, b->count[0]) && is_once(dv, b->count[1]))
                meet_bin(b, round_to(at[0], du, b->count[0]) * b->count[1] + round_to(at[1], dv, b->count[1]), dims,
                         place[0], place[1], p);
}

/* Distance of (y, x) from the wall, where its two nearest points are equally near. Points beyond a ring of bins are
 * farther than so many bins, with a margin for rounding. */
static double from_wall(const struct bins *b, const size_t dims[3], double y, double x)
{
    const double place[2] = {y, x}, edge = 0.999 * fmin(b->edge[0], b->edge[1]);
    const size_t at[2] = {bin_along(b, 0, y), bin_along(b, 1, x)},
                 most = b->count[0] > b->count[1] ? b->count[0] : b->count[1];
    struct pair p = {{INFINITY, INFINITY}, {SIZE_MAX, SIZE_MAX}, {{0, 0}, {0, 0}}};

    for (long ring = 0; ring <= (long)most / 2; ++ring) {
        const double settled = edge * (double)ring;

        meet_ring(b, ring, at, dims, place, &p);
        if (p.far[1] < settled * settled) break;
    }
    return (p.far[1] - p.far[0]) / (2 * hypot(p.way[0].y - p.way[1].y, p.way[0].x - p.way[1].x));
}

static struct point place_of(size_t i, const size_t dims[3], uint64_t seed)
{
    return (struct point){(double)dims[1] * mf_random_uniform(seed, MF_STREAM_CELL_POINT, 2 * i),
                          (double)dims[2] * mf_random_uniform(seed, MF_STREAM_CELL_POINT, 2 * i + 1)};
}

static size_t bin_of(const struct bins *b, struct point at)
{
    return bin_along(b, 0, at.y) * b->count[1] + bin_along(b, 1, at.x);
}

static int scatter(size_t n, const size_t dims[3], uint64_t seed, struct bins *b)
{
    const double each = sqrt((double)n / ((double)dims[1] * (double)dims[2]));
    size_t bins;

    *b = (struct bins){.n = n};
    for (int a = 0; a < 2; ++a) {
        b->count[a] = (size_t)fmax(1, floor(each * (double)dims[a + 1]));
        b->edge[a] = (double)dims[a + 1] / (double)b->count[a];
    }
    bins = b->count[0] * b->count[1];
    MF_TRY(MF_ROOM(b->first, bins + 2, "%zu cells", n));
    MF_TRY(MF_ROOM(b->name, n, "%zu cells", n));
    MF_TRY(MF_ROOM(b->point, n, "%zu cells", n));
    for (size_t i = 0; i < n; ++i) ++b->first[bin_of(b, place_of(i, dims, seed)) + 2];
    for (size_t i = 0; i < bins; ++i) b->first[i + 2] += b->first[i + 1];
    for (size_t i = 0; i < n; ++i) {
        const struct point at = place_of(i, dims, seed);
        const size_t to = b->first[bin_of(b, at) + 1]++;

        b->name[to] = i;
        b->point[to] = at;
    }
    return MF_OK;
}

/* Straight walls look alike, so many would match the image by chance; waves in the plane displace them. @p turn: whole
 * numbers of periods along the axes; @p by: displacement of a position. */
struct wave {
    struct point turn, by;
    double phase;
};

/* Waves of two thirds to twice a cell's edge, which together move a place by @p bend of it (root mean square). */
static void make_waves(const size_t dims[3], double edge, double bend, uint64_t seed, struct wave wave[WAVES])
{
    const double pi = acos(-1), height = bend * edge * sqrt(2.0 / WAVES);

    for (size_t i = 0; i < WAVES; ++i) {
        const double along = 2 * pi * mf_random_uniform(seed, MF_STREAM_CELL_WAVE, 4 * i),
                     aside = 2 * pi * mf_random_uniform(seed, MF_STREAM_CELL_WAVE, 4 * i + 1),
                     number = (0.5 + mf_random_uniform(seed, MF_STREAM_CELL_WAVE, 4 * i + 2)) / edge;
        const double ny = (double)dims[1], nx = (double)dims[2];

        wave[i] = (struct wave){
            {2 * pi / ny * round(number * cos(along) * ny), 2 * pi / nx * round(number * sin(along) * nx)},
            {height * cos(aside), height * sin(aside)},
            2 * pi * mf_random_uniform(seed, MF_STREAM_CELL_WAVE, 4 * i + 3)};
    }
}

static double into(double at, size_t extent) { return at - (double)extent * floor(at / (double)extent); }

/* What the waves bring to (y, x). */
static struct point moved(const struct wave wave[WAVES], const size_t dims[3], double y, double x)
{
    struct point to = {y, x};

    for (size_t i = 0; i < WAVES; ++i) {
        const double height = sin(wave[i].turn.y * y + wave[i].turn.x * x + wave[i].phase);

        to.y += wave[i].by.y * height;
        to.x += wave[i].by.x * height;
    }
    return (struct point){into(to.y, dims[1]), into(to.x, dims[2])};
}

/* Walls between random points have 2 sqrt(wanted) of length a pixel. */
int mf_start_cells(const struct mf_slab *slab, size_t fields, const double *fraction, double wanted, double bend,
                   uint64_t seed, const struct mf_stage *stage, float *x, size_t *cells)
{
    const size_t plane = slab->dims[1] * slab->dims[2], n = (size_t)llround(wanted * (double)plane);
    const double share = fraction[fields - 1], rare = fmin(share, 1 - share), half = rare / (4 * sqrt(wanted));
    struct wave wave[WAVES];
    struct bins b;
    int rc;

    MF_ASSERT(fields <= 2 && slab->dims[0] == 1);
    *cells = n < MF_START_CELLS ? 0 : n;
    if (*cells == 0 || slab->count == 0) return MF_OK;
    rc = scatter(n, slab->dims, seed, &b);
    make_waves(slab->dims, 1 / sqrt(wanted), bend, seed, wave);
    for (size_t p = 0, run; rc == MF_OK && p < fields; p += run) {
        float *at = mf_stage_at(stage, x + p * plane);

        run = mf_stage_run(stage, fields - p);
        for (size_t i = 0; i < plane; ++i) {
            const size_t u = i / slab->dims[2], v = i % slab->dims[2];
            const struct point place = moved(wave, slab->dims, (double)u + 0.5, (double)v + 0.5);
            const double far = from_wall(&b, slab->dims, place.y, place.x);
            const double wall = fmin(1, fmax(0, half + 0.5 - far));

            if (v == 0) mf_pulse_tell("start");
            for (size_t q = 0; q < run; ++q)
                at[q * plane + i] = (float)((p + q + 1 == fields) == (share < 0.5) ? wall : 1 - wall);
        }
        mf_stage_put(stage, x + p * plane, run * plane * sizeof *x);
    }
    free(b.first);
    free(b.name);
    free(b.point);
    return rc;
}
