/* Which tiles an image has, and their splits. See tiles.h. */
#include "io/tiles.h"

#include <math.h>

#include "src/base/err.h"

#define SHARE_LEAST 1e-9 /* of a split that is wanted */

/* The splits that are wanted, and their tiles so far. */
struct dividing {
    const struct mf_tiles_wish *wish;
    int splits, split[MF_SPLITS];
    double share[MF_SPLITS]; /* of split[k] */
    size_t have[MF_SPLITS];  /* the same */
};

/* The places of one image, and how it may be cut. */
struct places {
    size_t count[2], gap[2]; /* gap: places between two that share no pixel */
    int along;               /* axis of the first cut */
};

static struct dividing begin(const struct mf_tiles_wish *wish)
{
    const double share[MF_SPLITS] = {wish->part[0], wish->part[1], 1 - wish->part[0] - wish->part[1]};
    struct dividing d = {.wish = wish};

    for (int k = 0; k < MF_SPLITS; ++k) {
        if (share[k] <= SHARE_LEAST) continue;
        d.share[d.splits] = share[k];
        d.split[d.splits++] = k;
    }
    return d;
}

static struct places places_of(const struct mf_tiles_wish *wish, const size_t extent[2])
{
    struct places p = {{0}, {0}, 1};

    for (int a = 0; a < 2; ++a) {
        if (extent[a] >= wish->tile[a]) p.count[a] = (extent[a] - wish->tile[a]) / wish->stride[a] + 1;
        p.gap[a] = (wish->tile[a] - 1) / wish->stride[a];
    }
    p.along = p.count[1] >= p.count[0];
    return p;
}

static int can_cut(const struct dividing *d, const struct places *p)
{
    const int a = p->along;

    if (d->splits > 1 && p->count[a] < p->gap[a] + 2) return 0;
    return d->splits < 3 || p->count[!a] >= p->gap[!a] + 2;
}

/* How far shares are from the wish when @p more [splits] tiles are added. */
static double distance(const struct dividing *d, const size_t *more)
{
    double all = 0, worst = 0;

    for (int k = 0; k < d->splits; ++k) all += (double)(d->have[k] + more[k]);
    for (int k = 0; k < d->splits; ++k) worst = fmax(worst, fabs((double)(d->have[k] + more[k]) / all - d->share[k]));
    return worst;
}

/* Tiles of each split where the cuts come behind @p first places along, and @p across. */
static void count(const struct dividing *d, const struct places *p, size_t first, size_t across, size_t *more)
{
    const size_t n = p->count[p->along], m = p->count[!p->along], rest = n - first - p->gap[p->along];

    more[0] = first * m;
    more[1] = rest * (d->splits == 3 ? across : m);
    more[2] = d->splits == 3 ? rest * (m - across - p->gap[!p->along]) : 0;
}

static void cut_at(const struct dividing *d, const struct places *p, size_t first, size_t across,
                   struct mf_tile_cut *cut)
{
    const int a = p->along, b = !a;
    const size_t behind = first + p->gap[a], below = across + p->gap[b];
    struct mf_tile_block *block = cut->block;

    for (int k = 0; k < d->splits; ++k) {
        struct mf_tile_block *one = &block[d->split[k]];

        one->first[a] = k ? behind : 0;
        one->count[a] = k ? p->count[a] - behind : first;
        one->count[b] = p->count[b];
    }
    if (d->splits < 3) return;
    block[d->split[1]].count[b] = across;
    block[d->split[2]].first[b] = below;
    block[d->split[2]].count[b] = p->count[b] - below;
}

static void cut_best(const struct dividing *d, const struct places *p, struct mf_tile_cut *cut)
{
    const int a = p->along, b = !a;
    const size_t rows = d->splits == 3 ? p->count[b] - p->gap[b] - 1 : 1;
    size_t best[2] = {1, 1}, more[MF_SPLITS];
    double least = INFINITY;

    for (size_t first = 1; first + p->gap[a] < p->count[a]; ++first)
        for (size_t across = 1; across <= rows; ++across) {
            double now;

            count(d, p, first, across, more);
            now = distance(d, more);
            if (now >= least) continue;
            least = now;
            best[0] = first;
            best[1] = across;
        }
    cut_at(d, p, best[0], best[1], cut);
}

/* The split that gets all of an image of @p tiles tiles, where @p left images remain that are not cut. */
static int choose(const struct dividing *d, size_t tiles, size_t left)
{
    double all = (double)tiles, most = -INFINITY;
    size_t empty = 0;
    int best = 0, first = 0;

    for (int k = d->splits - 1; k >= 0; --k) {
        all += (double)d->have[k];
        if (d->have[k]) continue;
        ++empty;
        first = k;
    }
    if (empty && left <= empty) return first;
    for (int k = 0; k < d->splits; ++k) {
        const double lack = d->share[k] * all - (double)d->have[k];

        if (lack <= most) continue;
        most = lack;
        best = k;
    }
    return best;
}

static size_t tiles_of(const struct mf_tile_block *block) { return block->count[0] * block->count[1]; }

static int check_fits(const struct mf_tiles_wish *w, size_t i, const size_t extent[2])
{
    if (extent[0] >= w->tile[0] && extent[1] >= w->tile[1]) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %zu x %zu pixels, which hold no tile of %zu x %zu; give a smaller --tile",
                   w->image[i], extent[0], extent[1], w->tile[0], w->tile[1]);
}

static int check_all(const struct dividing *d)
{
    const struct mf_tiles_wish *w = d->wish;
    size_t all = 0;

    for (int k = 0; k < d->splits; ++k) {
        all += d->have[k];
        if (d->have[k]) continue;
        return mf_fail(MF_INPUT,
                       "the %s split would be empty: an image is cut among %d splits where it has room for two tiles "
                       "of %zu x %zu side by side%s; try: a smaller --tile, more images, or --train 1 --validation 0",
                       mf_split_names[d->split[k]], d->splits, w->tile[0], w->tile[1],
                       d->splits == 3 ? " along both axes" : "");
    }
    if (all <= MF_TILES_MAX) return MF_OK;
    return mf_fail(MF_INPUT, "there are %zu tiles, and at most %d are possible; try: a larger --stride", all,
                   MF_TILES_MAX);
}

/* Divides image @p i, of which @p left like it remain that cannot be cut. */
static void divide(struct dividing *d, const struct places *p, size_t left, struct mf_tile_cut *cut)
{
    const size_t all = p->count[0] * p->count[1];

    *cut = (struct mf_tile_cut){.left = all};
    if (d->splits > 1 && can_cut(d, p))
        cut_best(d, p, cut);
    else
        cut->block[d->split[choose(d, all, left)]] = (struct mf_tile_block){{0, 0}, {p->count[0], p->count[1]}};
    for (int k = 0; k < d->splits; ++k) {
        const size_t n = tiles_of(&cut->block[d->split[k]]);

        d->have[k] += n;
        cut->tiles += n;
        cut->left -= n;
    }
}

int mf_tiles_cut(const struct mf_tiles_wish *wish, const size_t (*extent)[2], struct mf_tile_cut *cut)
{
    struct dividing d = begin(wish);
    size_t whole = 0;

    for (size_t i = 0; i < wish->images; ++i) {
        const struct places p = places_of(wish, extent[i]);

        MF_TRY(check_fits(wish, i, extent[i]));
        whole += !can_cut(&d, &p);
    }
    for (size_t i = 0; i < wish->images; ++i) {
        const struct places p = places_of(wish, extent[i]);

        divide(&d, &p, whole, &cut[i]);
        whole -= !can_cut(&d, &p);
    }
    return check_all(&d);
}
