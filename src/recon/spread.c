/* See spread.h: memory, and labels. The residuals and counts of slices stand in spread_slices.c. */
#include "src/recon/spread.h"

#include <string.h>

#include "src/base/err.h"

enum { NOBODY = 255 };
enum { TRAVELS = 1 << 18, SHARE = 8 /* bytes that travel at a time: that, or this part of a rank's slices */ };

static int ranks_of(const struct mf_spread *s) { return s->with.comm->size; }
static size_t extent(const struct mf_spread *s, int a) { return s->with.deal->dims[a]; }
static size_t plane_of(const struct mf_spread *s) { return extent(s, 1) * extent(s, 2); }

size_t mf_spread_slices_of(const struct mf_comm *comm, const struct mf_deal *deal, size_t side, int rank)
{
    size_t slices = 0;

    for (size_t i = (size_t)rank; i < deal->pools; i += (size_t)comm->size) slices += deal->span[side][i].count;
    return slices;
}

static size_t slices_of(const struct mf_spread *s, size_t side, int rank)
{
    return mf_spread_slices_of(s->with.comm, s->with.deal, side, rank);
}

/* -- memory -- */

static size_t biggest(size_t a, size_t b) { return a > b ? a : b; }

static void *take(struct mf_spread *s, size_t bytes) { return mf_arena_take(s->with.arena, bytes, "annealing"); }

/* Of a plane of fixed voxels what a pool has of it. */
static size_t pins_of(const struct mf_spread *s, size_t pool)
{
    return s->with.fixed ? s->with.deal->span[1][pool].count * s->with.deal->span[2][pool].count : 0;
}

/* Bytes of a plane that a rank gets at most: its slice, the rows of its others. The first rank has the most. */
static size_t got_of(const struct mf_spread *s)
{
    return plane_of(s) + pins_of(s, 0) + slices_of(s, 1, 0) * extent(s, 2) + slices_of(s, 2, 0) * extent(s, 1);
}

/* Bytes of its labels. */
static size_t held_of(const struct mf_spread *s)
{
    size_t bytes = 0;

    for (int a = 0; a < 3; ++a) bytes += slices_of(s, (size_t)a, 0) * (s->with.field->voxels / extent(s, a));
    return bytes;
}

/* So few planes travel at a time that their buffers are small beside the slices: the same on all ranks. */
static void plan(struct mf_spread *s)
{
    const size_t ranks = (size_t)ranks_of(s), most = mf_slab_of(s->with.comm, s->with.slab.dims, 0).count;
    const size_t planes = biggest(biggest(held_of(s) / SHARE, TRAVELS) / got_of(s), 1);

    s->run = biggest(planes / ranks, 1);
    if (s->run > most) s->run = most;
    s->groups = (ranks + planes - 1) / planes;
}

static size_t kinds_bytes(const struct mf_spread *s)
{
    return biggest(mf_spread_bytes(s, MF_SPREAD_WINDOWS), mf_spread_bytes(s, MF_SPREAD_COUNTS));
}

static int take_known(struct mf_spread *s, int kind)
{
    for (int d = 0; d < MF_SIDES && mf_spread_bytes(s, kind); ++d) {
        s->known[kind][d] = take(s, extent(s, d) * sizeof *s->known[kind][d]);
        if (!s->known[kind][d]) return MF_MEMORY;
    }
    return MF_OK;
}

/* Where slices have been, and where those that come will be. */
static int take_tables(struct mf_spread *s)
{
    for (int d = 0; d < MF_SIDES; ++d) {
        s->last[d] = take(s, extent(s, d));
        s->free[d] = take(s, s->with.field->room[d] * sizeof *s->free[d]);
        if (!s->last[d] || !s->free[d]) return MF_MEMORY;
    }
    for (int k = 0; k < MF_SPREAD_KINDS; ++k) MF_TRY(take_known(s, k));
    return MF_OK;
}

int mf_spread_open(struct mf_spread *s, const struct mf_spread_parts *with)
{
    const size_t ranks = (size_t)with->comm->size;
    size_t senders;

    *s = (struct mf_spread){.with = *with};
    for (size_t p = 0; p < with->deal->pools; ++p) s->owner[p] = (int)(p % ranks);
    plan(s);
    senders = s->groups > 1 ? (ranks + s->groups - 1) / s->groups : ranks - 1;
    s->room = biggest(TRAVELS, kinds_bytes(s));
    s->turned = take(s, (size_t)with->threads * plane_of(s));
    s->begin = take(s, s->run * sizeof *s->begin);
    s->parcel = take(s, s->run * senders * sizeof *s->parcel);
    s->out = take(s, biggest(s->run * (3 * plane_of(s) + pins_of(s, 0)), s->room));
    s->in = take(s, biggest(s->run * senders * got_of(s), s->room));
    s->sent = take(s, ranks * sizeof *s->sent);
    s->got = take(s, ranks * sizeof *s->got);
    s->at = take(s, ranks * sizeof *s->at);
    MF_TRY(take_tables(s));
    return s->turned && s->begin && s->parcel && s->out && s->in && s->sent && s->got && s->at ? MF_OK : MF_MEMORY;
}

void mf_spread_close(struct mf_spread *s)
{
    struct mf_arena *arena = s->with.arena;

    for (int k = 0; k < MF_SPREAD_KINDS; ++k)
        for (int d = 0; d < MF_SIDES; ++d) mf_arena_give(arena, s->known[k][d]);
    for (int d = 0; d < MF_SIDES; ++d) {
        mf_arena_give(arena, s->free[d]);
        mf_arena_give(arena, s->last[d]);
    }
    mf_arena_give(arena, s->at);
    mf_arena_give(arena, s->got);
    mf_arena_give(arena, s->sent);
    mf_arena_give(arena, s->in);
    mf_arena_give(arena, s->out);
    mf_arena_give(arena, s->parcel);
    mf_arena_give(arena, s->begin);
    mf_arena_give(arena, s->turned);
}

/* -- what travels -- */

/* Planes of a rank that travel at the same time. */
struct trip {
    size_t group, first;
};

static struct mf_span planes_of(const struct mf_spread *s, struct trip trip, int rank)
{
    const struct mf_slab slab = mf_slab_of(s->with.comm, s->with.slab.dims, rank);
    const size_t left = slab.count > trip.first ? slab.count - trip.first : 0;
    const size_t count = (size_t)rank % s->groups == trip.group ? left : 0;

    return (struct mf_span){slab.first + trip.first, count < s->run ? count : s->run};
}

static size_t pool_of(const struct mf_spread *s, int a, size_t i) { return s->with.deal->part[a][i]; }
static int whose(const struct mf_spread *s, int a, size_t i) { return mf_spread_owner(s, pool_of(s, a, i)); }

/* Is it another rank's than before? Those that stay are as their chains have left them. */
static int comes(const struct mf_spread *s, int a, size_t i) { return whose(s, a, i) != s->last[a][i]; }

/* Bytes of a plane for a rank. */
static size_t bytes_of(const struct mf_spread *s, size_t z, int to)
{
    size_t bytes = to < MF_POOLS_MAX ? s->come[1][to] * extent(s, 2) + s->come[2][to] * extent(s, 1) : 0;

    if (whose(s, 0, z) == to) bytes += (comes(s, 0, z) ? plane_of(s) : 0) + pins_of(s, pool_of(s, 0, z));
    return bytes;
}

static size_t bytes_between(const struct mf_spread *s, struct trip trip, int from, int to)
{
    const struct mf_span planes = planes_of(s, trip, from);
    size_t bytes = 0;

    for (size_t k = 0; from != to && k < planes.count; ++k) bytes += bytes_of(s, planes.first + k, to);
    return bytes;
}

void mf_spread_places(struct mf_spread *s, const size_t *bytes)
{
    size_t at = 0;

    for (int r = 0; r < ranks_of(s); at += bytes[r++]) s->at[r] = at;
}

/* -- giving -- */

/* A plane on its way: where in what is sent its bytes for a rank are written, and room for it turned. */
struct giving {
    struct mf_spread *s;
    size_t at[MF_POOLS_MAX];
    uint8_t *turned;
};

static void give(struct giving *g, int to, const uint8_t *label, size_t n)
{
    memcpy(g->s->out + g->at[to], label, n);
    g->at[to] += n;
}

static void give_row(struct giving *g, int a, size_t slice, size_t row, const uint8_t *label)
{
    const struct mf_spread *s = g->s;
    const int to = whose(s, a, slice);

    if (!comes(s, a, slice)) return;
    if (to == s->with.comm->rank)
        mf_mutable_row(s->with.field, (size_t)a, slice, row, label);
    else
        give(g, to, label, extent(s, a == MF_X ? 1 : 2));
}

static void give_pins(struct giving *g, size_t z, const uint8_t *fixed)
{
    const struct mf_spread *s = g->s;
    const size_t pool = pool_of(s, 0, z), n = mf_deal_pick(s->with.deal, pool, fixed, g->turned);

    if (whose(s, 0, z) == s->with.comm->rank)
        mf_pool_pin(&s->with.chain[pool].pool, z, g->turned);
    else
        give(g, whose(s, 0, z), g->turned, n);
}

/* The high part of a row and the low one of another change places. */
static inline void cross(uint64_t *low, uint64_t *high, int bits, uint64_t mask)
{
    const uint64_t change = ((*low >> bits) ^ *high) & mask;

    *high ^= change;
    *low ^= change << bits;
}

/* Eight rows of eight become columns: blocks of four change places, then of two, then of one. */
static void turn_block(const uint8_t *from, size_t row, uint8_t *to, size_t column)
{
    uint64_t w[8];

    for (size_t i = 0; i < 8; ++i) memcpy(&w[i], from + i * row, 8);
    for (int i = 0; i < 4; ++i) cross(&w[i], &w[i + 4], 32, 0x00000000ffffffffu);
    for (int i = 0; i < 4; ++i) cross(&w[i + i / 2 * 2], &w[i + i / 2 * 2 + 2], 16, 0x0000ffff0000ffffu);
    for (int i = 0; i < 8; i += 2) cross(&w[i], &w[i + 1], 8, 0x00ff00ff00ff00ffu);
    for (size_t i = 0; i < 8; ++i) memcpy(to + i * column, &w[i], 8);
}

/* [ny][nx] to [nx][ny]. */
static void turn_plane(const uint8_t *from, size_t ny, size_t nx, uint8_t *to)
{
    const size_t by = ny / 8 * 8, bx = nx / 8 * 8;

    for (size_t y = 0; y < by; y += 8)
        for (size_t x = 0; x < bx; x += 8) turn_block(from + y * nx + x, nx, to + x * ny + y, ny);
    for (size_t y = 0; y < ny; ++y)
        for (size_t x = y < by ? bx : 0; x < nx; ++x) to[x * ny + y] = from[y * nx + x];
}

/* A plane's rows go to whose slice it is; each of them, and of its columns, to whose slice that is a row of. */
static void give_plane(struct giving *g, size_t z)
{
    const struct mf_spread *s = g->s;
    const size_t ny = extent(s, 1), nx = extent(s, 2), at = (z - s->with.slab.first) * plane_of(s);
    const uint8_t *plane = s->with.label + at;

    for (size_t y = 0; y < ny; ++y) give_row(g, MF_Z, z, y, plane + y * nx);
    if (s->with.fixed) give_pins(g, z, s->with.fixed + at);
    for (size_t y = 0; y < ny; ++y) give_row(g, MF_Y, y, z, plane + y * nx);
    turn_plane(plane, ny, nx, g->turned);
    for (size_t x = 0; x < nx; ++x) give_row(g, MF_X, x, z, g->turned + x * ny);
}

/* Every plane has its places in what is sent, so threads may give them in any order. */
static void give_planes(struct mf_spread *s, struct mf_span own)
{
    const int threads = s->with.threads;

    mf_spread_places(s, s->sent);
    for (size_t k = 0; k < own.count; ++k)
        for (int r = 0; r < ranks_of(s) && r < MF_POOLS_MAX; ++r) {
            s->begin[k][r] = s->at[r];
            s->at[r] += bytes_of(s, own.first + k, r);
        }
#pragma omp parallel for num_threads(threads)
    for (int t = 0; t < threads; ++t) {
        const struct mf_span share = mf_cut(own.count, (size_t)threads, (size_t)t);
        struct giving g = {.s = s, .turned = s->turned + (size_t)t * plane_of(s)};

        for (size_t k = share.first; k < share.first + share.count; ++k) {
            memcpy(g.at, s->begin[k], sizeof g.at);
            give_plane(&g, own.first + k);
        }
    }
}

/* -- taking -- */

static const uint8_t *take_row(struct mf_spread *s, int a, size_t slice, size_t row, const uint8_t *label)
{
    mf_mutable_row(s->with.field, (size_t)a, slice, row, label);
    return label + extent(s, a == MF_X ? 1 : 2);
}

/* The same from another rank, in the same order. */
static void take_plane(struct mf_spread *s, size_t z, const uint8_t *label)
{
    const int me = s->with.comm->rank;

    if (whose(s, 0, z) == me) {
        const size_t pool = pool_of(s, 0, z);

        for (size_t y = 0; y < extent(s, 1) && comes(s, 0, z); ++y) label = take_row(s, MF_Z, z, y, label);
        if (s->with.fixed) mf_pool_pin(&s->with.chain[pool].pool, z, label);
        label += pins_of(s, pool);
    }
    for (size_t y = 0; y < extent(s, 1); ++y)
        if (whose(s, 1, y) == me && comes(s, 1, y)) label = take_row(s, MF_Y, y, z, label);
    for (size_t x = 0; x < extent(s, 2); ++x)
        if (whose(s, 2, x) == me && comes(s, 2, x)) label = take_row(s, MF_X, x, z, label);
}

static void take_planes(struct mf_spread *s, struct trip trip)
{
    const int me = s->with.comm->rank;
    size_t at = 0;
    int many = 0;

    for (int r = 0; r < ranks_of(s); ++r) {
        const struct mf_span planes = planes_of(s, trip, r);

        for (size_t k = 0; r != me && k < planes.count; ++k) {
            s->parcel[many++] = (struct mf_parcel){planes.first + k, at};
            at += bytes_of(s, planes.first + k, me);
        }
    }
#pragma omp parallel for num_threads(s->with.threads)
    for (int i = 0; i < many; ++i) take_plane(s, s->parcel[i].z, (const uint8_t *)s->in + s->parcel[i].at);
}

/* -- both -- */

static void make_trip(struct mf_spread *s, struct trip trip)
{
    const int me = s->with.comm->rank;

    for (int r = 0; r < ranks_of(s); ++r) {
        s->sent[r] = bytes_between(s, trip, me, r);
        s->got[r] = bytes_between(s, trip, r, me);
    }
    give_planes(s, planes_of(s, trip, me));
    mf_comm_trade(s->with.comm, s->out, s->sent, s->in, s->got);
    take_planes(s, trip);
}

/* From now on the slices of this rank's pools are here, those that come where others were. */
static void place_slices(struct mf_spread *s, int a)
{
    const int me = s->with.comm->rank;
    uint8_t **slice = s->with.field->slice[a];
    size_t n = 0;

    for (size_t k = 0; k < s->with.field->room[a] && s->last[a][0] == NOBODY; ++k)
        s->free[a][n++] = mf_mutable_slot(s->with.field, (size_t)a, k);
    for (size_t i = 0; i < extent(s, a); ++i) {
        if (s->last[a][i] != me || !comes(s, a, i)) continue;
        s->free[a][n++] = slice[i];
        slice[i] = NULL;
    }
    memset(s->come[a], 0, sizeof s->come[a]);
    for (size_t i = 0; i < extent(s, a); ++i) {
        s->come[a][whose(s, a, i)] += (size_t)comes(s, a, i);
        if (comes(s, a, i) && whose(s, a, i) == me) slice[i] = s->free[a][--n];
    }
    MF_ASSERT(n == 0);
}

void mf_spread_begin(struct mf_spread *s)
{
    mf_mutable_begin(s->with.field);
    for (int a = 0; a < 3; ++a) memset(s->last[a], NOBODY, extent(s, a));
}

void mf_spread_labels(struct mf_spread *s)
{
    const size_t most = mf_slab_of(s->with.comm, s->with.slab.dims, 0).count;
    struct trip trip;

    for (int a = 0; a < 3; ++a) place_slices(s, a);
    for (trip.group = 0; trip.group < s->groups; ++trip.group)
        for (trip.first = 0; trip.first < most; trip.first += s->run) make_trip(s, trip);
    for (int a = 0; a < 3; ++a)
        for (size_t i = 0; i < extent(s, a); ++i) s->last[a][i] = (uint8_t)whose(s, a, i);
}

/* -- what a turn has changed -- */

void mf_spread_moved(struct mf_spread *s, size_t number, size_t moves, const int64_t *move)
{
    const struct mf_slab *slab = &s->with.slab;
    const uint16_t owner = (uint16_t)(1u << mf_spread_owner(s, number));

    for (size_t i = 0; i < 2 * moves; ++i) {
        uint32_t at[3];
        uint8_t label;

        mf_deal_at(s->with.deal, number, mf_chain_moved(move[i], &label), at);
        for (int k = 0; k < MF_SPREAD_KINDS; ++k)
            for (int d = 0; d < MF_SIDES; ++d)
                if (s->known[k][d]) s->known[k][d][at[d]] = owner;
        if (at[0] >= slab->first && at[0] < slab->first + slab->count)
            s->with.label[((at[0] - slab->first) * slab->dims[1] + at[1]) * slab->dims[2] + at[2]] = label;
    }
}
