/* See flow.h: cells that carry no flux. These are clusters of conducting cells that do not lead from plate to plate.
 * Around a period a cluster must meet itself one period further. A cell's turn counts the periods between it and the
 * first cell of its cluster. Every rank joins its own cells. Then all ranks join what meets at the borders of their
 * planes, alike. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/prop/flow.h"

enum { LOW = 1, HIGH = 2, AROUND = 4 };

/** A forest of cells; the root of a cluster is its first cell. */
struct forest {
    int32_t *parent;
    int32_t *turn; /* from the parent; NULL: there are no periods */
    uint8_t *flag; /* of roots: LOW, HIGH, AROUND */
};

/** A cell of a border, for all ranks. */
struct border {
    int32_t root; /* the cell of this border that stands for the cluster; -1: no conductor */
    int32_t turn; /* from it */
    int32_t flag; /* of the cluster */
};

/* The root of @p v, and the turns from it. */
static int32_t root_of(const struct forest *f, int32_t v, int32_t *turn)
{
    int32_t root = v, turns = 0;

    while (f->parent[root] != root) {
        if (f->turn) turns += f->turn[root];
        root = f->parent[root];
    }
    *turn = turns;
    while (f->parent[v] != root && v != root) { /* shorter ways for later */
        const int32_t next = f->parent[v], step = f->turn ? f->turn[v] : 0;

        f->parent[v] = root;
        if (f->turn) f->turn[v] = turns;
        turns -= step;
        v = next;
    }
    return root;
}

/* Cell @p v is beside @p u, @p turn periods further. */
static void join(const struct forest *f, int32_t u, int32_t v, int32_t turn)
{
    int32_t of_u, of_v;
    const int32_t a = root_of(f, u, &of_u), b = root_of(f, v, &of_v);
    const int32_t low = a < b ? a : b, high = a < b ? b : a, apart = of_u + turn - of_v;

    if (a == b) {
        if (apart) f->flag[a] |= AROUND;
        return;
    }
    f->parent[high] = low;
    if (f->turn) f->turn[high] = high == b ? apart : -apart;
    f->flag[low] |= f->flag[high];
}

/* -- cells of this rank -- */

struct cells {
    const struct mf_flow *flow;
    struct forest f;
    uint8_t on[256];        /* codes that conduct and may be joined */
    ptrdiff_t own[3];       /* cells are in [lo, hi): the own ones, and those on plates through centres */
    ptrdiff_t lo[3], hi[3]; /* ... which lie outside */
    size_t stride[3], all;
    int64_t carrying;
};

static size_t at(const struct cells *c, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    return (size_t)(z + 1) * c->stride[0] + (size_t)(y + 1) * c->stride[1] + (size_t)(x + 1);
}

static void ranges(struct cells *c)
{
    const struct mf_flow *flow = c->flow;
    const struct mf_flow_level *l = &flow->level[0];
    const size_t n[3] = {l->count, l->n[1], l->n[2]};
    const int a = flow->axis;

    for (int i = 0; i < 3; ++i) c->own[i] = c->hi[i] = (ptrdiff_t)n[i];
    c->stride[2] = 1, c->stride[1] = n[2] + 2, c->stride[0] = (n[1] + 2) * (n[2] + 2);
    c->all = l->count ? (n[0] + 2) * c->stride[0] : 0;
    for (int i = 0; i < 256; ++i) c->on[i] = flow->k[i] > 0 && i != MF_FLOW_PLATE;
    if (flow->opts->boundary != MF_CONDUCT_CENTRES) return;
    if (a || l->first == 0) c->lo[a] = -1;
    if (a || l->first + l->count == l->n[0]) c->hi[a] += 1;
}

typedef void visit(struct cells *c, size_t i, const ptrdiff_t p[3]);

/* Inline, as is what it calls: a call for every cell would take longer than the work. */
static inline __attribute__((always_inline)) void each(struct cells *c, visit *see)
{
    ptrdiff_t p[3];

    if (!c->all) return;
    for (p[0] = c->lo[0]; p[0] < c->hi[0]; ++p[0])
        for (p[1] = c->lo[1]; p[1] < c->hi[1]; ++p[1])
            for (p[2] = c->lo[2]; p[2] < c->hi[2]; ++p[2]) {
                const size_t i = at(c, p[0], p[1], p[2]);

                if (c->on[c->flow->code[i]]) see(c, i, p);
            }
}

/* Visits the cells at both ends of the axis. */
static inline __attribute__((always_inline)) void each_end(struct cells *c, visit *see)
{
    const int a = c->flow->axis;
    const ptrdiff_t lo = c->lo[a], hi = c->hi[a];

    if (hi - lo < 2) {
        each(c, see);
        return;
    }
    c->hi[a] = lo + 1;
    each(c, see);
    c->hi[a] = hi;
    c->lo[a] = hi - 1;
    each(c, see);
    c->lo[a] = lo;
}

/* A new cell @p i joins the cluster of the one before it at @p from. */
static void attach(const struct forest *f, size_t from, size_t i)
{
    f->parent[i] = f->parent[from];
    if (f->turn) f->turn[i] = f->turn[from];
}

/* Joins a cell with those before it that conduct. Where two of them have a common neighbour, it has joined them. */
static void see_before(struct cells *c, size_t i, const ptrdiff_t p[3])
{
    const uint8_t *on = c->on, *code = c->flow->code;
    const size_t *s = c->stride;
    const int left = p[2] > c->lo[2] && on[code[i - 1]], up = p[1] > c->lo[1] && on[code[i - s[1]]];
    const int back = p[0] > c->lo[0] && on[code[i - s[0]]];

    c->f.flag[i] = 0;
    if (!(left || up || back)) {
        c->f.parent[i] = (int32_t)i;
        if (c->f.turn) c->f.turn[i] = 0;
        return;
    }
    attach(&c->f, left ? i - 1 : up ? i - s[1] : i - s[0], i);
    if (left && up && !on[code[i - s[1] - 1]]) join(&c->f, (int32_t)(i - s[1]), (int32_t)i, 0);
    if (!back || !(left || up)) return;
    if (!(left && on[code[i - s[0] - 1]]) && !(up && on[code[i - s[0] - s[1]]]))
        join(&c->f, (int32_t)(i - s[0]), (int32_t)i, 0);
}

/* Joins the last cell along a joined axis with the first one. Another rank may have that. */
static void see_around(struct cells *c, size_t i, const ptrdiff_t p[3])
{
    const struct mf_flow *flow = c->flow;

    for (int a = flow->level[0].whole ? 0 : 1; a < 3; ++a) {
        const size_t first = i - (size_t)(c->own[a] - 1) * c->stride[a];

        if (flow->wrap[a] && p[a] + 1 == c->own[a] && c->on[flow->code[first]])
            join(&c->f, (int32_t)i, (int32_t)first, a == flow->axis);
    }
}

static void see_plates(struct cells *c, size_t i, const ptrdiff_t p[3])
{
    const int a = c->flow->axis;
    const uint8_t *code = c->flow->code;
    int flag = (p[a] < 0 ? LOW : 0) | (p[a] >= c->own[a] ? HIGH : 0);
    int32_t turn;

    if (p[a] >= 0 && code[i - c->stride[a]] == MF_FLOW_PLATE) flag |= LOW;
    if (p[a] < c->own[a] && code[i + c->stride[a]] == MF_FLOW_PLATE) flag |= HIGH;
    if (flag) c->f.flag[root_of(&c->f, (int32_t)i, &turn)] |= (uint8_t)flag;
}

static void see_idle(struct cells *c, size_t i, const ptrdiff_t p[3])
{
    int32_t turn;
    const int flag = c->f.flag[root_of(&c->f, (int32_t)i, &turn)];

    (void)p;
    if (flag & AROUND || (flag & (LOW | HIGH)) == (LOW | HIGH))
        ++c->carrying;
    else
        c->flow->code[i] = MF_FLOW_CLOSED;
}

/* -- clusters of several ranks -- */

/* Cell @p k of the borders: the first plane, then the last one. */
static size_t border_cell(const struct cells *c, size_t k)
{
    return k < c->stride[0] ? c->stride[0] + k : (size_t)c->own[0] * c->stride[0] + k - c->stride[0];
}

/* The borders of this rank. The first cell of a cluster in them stands for it. */
static void describe(const struct cells *c, int32_t *stand, struct border *border)
{
    memset(stand, 0xff, c->all * sizeof *stand);
    for (size_t k = 0; k < 2 * c->stride[0]; ++k) {
        const size_t i = border_cell(c, k);
        int32_t root;

        border[k] = (struct border){.root = -1};
        if (c->f.parent[i] < 0) continue;
        root = root_of(&c->f, (int32_t)i, &border[k].turn);
        if (stand[root] < 0) stand[root] = (int32_t)k;
        border[k].root = stand[root];
        border[k].flag = c->f.flag[root];
    }
    for (size_t k = 2 * c->stride[0]; k-- > 0;) /* from the last: what stands for others comes before them */
        if (border[k].root >= 0) border[k].turn -= border[border[k].root].turn;
}

/* The forest of all borders, the same on all ranks: [ranks][2][plane]. */
static void join_borders(const struct cells *c, size_t ranks, const struct border *border, const struct forest *f)
{
    const size_t plane = c->stride[0], each_has = 2 * plane;

    for (size_t i = 0; i < ranks * each_has; ++i) {
        f->parent[i] = border[i].root < 0 ? -1 : (int32_t)(i / each_has * each_has) + border[i].root;
        f->flag[i] = (uint8_t)border[i].flag;
        f->turn[i] = border[i].turn;
    }
    for (size_t r = 0; r < ranks; ++r) {
        const size_t last = r * each_has + plane, first = (r + 1) % ranks * each_has;

        if (r + 1 == ranks && !c->flow->wrap[0]) break;
        for (size_t k = 0; k < plane; ++k)
            if (f->parent[last + k] >= 0 && f->parent[first + k] >= 0)
                join(f, (int32_t)(last + k), (int32_t)(first + k), r + 1 == ranks && c->flow->axis == 0);
    }
}

/* Clusters of this rank get the flags of what they are part of. */
static void take_flags(const struct cells *c, const struct forest *f)
{
    const size_t each_has = 2 * c->stride[0], base = (size_t)c->flow->comm->rank * each_has;
    int32_t turn;

    for (size_t k = 0; c->all && k < each_has; ++k)
        if (f->parent[base + k] >= 0)
            c->f.flag[root_of(&c->f, (int32_t)border_cell(c, k), &turn)] |=
                f->flag[root_of(f, (int32_t)(base + k), &turn)];
}

static int forest_take(const struct mf_flow *flow, size_t n, int turns, struct forest *f)
{
    if (n > INT32_MAX) return mf_fail(MF_INPUT, "conduction: more than 2^31 voxels on a rank; try: more ranks");
    f->parent = mf_arena_take(flow->arena, n * sizeof *f->parent, "clusters");
    f->turn = turns ? mf_arena_take(flow->arena, n * sizeof *f->turn, "clusters") : NULL;
    f->flag = mf_arena_zeros(flow->arena, n, 1, "clusters");
    return f->parent && f->flag && (f->turn || !turns) ? MF_OK : MF_MEMORY;
}

static void forest_give(const struct mf_flow *flow, struct forest *f)
{
    mf_arena_give(flow->arena, f->flag);
    mf_arena_give(flow->arena, f->turn);
    mf_arena_give(flow->arena, f->parent);
}

static int join_ranks(struct cells *c)
{
    const struct mf_flow *flow = c->flow;
    const size_t each_has = 2 * c->stride[0], cells = c->all ? each_has : 0, ranks = (size_t)flow->ranks;
    int32_t *stand = mf_arena_take(flow->arena, c->all * sizeof *stand, "clusters");
    struct border *border = stand ? mf_arena_take(flow->arena, cells * sizeof *border, "clusters") : NULL;
    struct forest all = {0};
    void *borders = NULL;
    int rc = mf_agree(flow->comm, border ? MF_OK : MF_MEMORY);

    if (rc == MF_OK && cells && !flow->dry) describe(c, stand, border);
    if (rc == MF_OK && !flow->dry) rc = mf_comm_gather(flow->comm, border, cells * sizeof *border, &borders, NULL);
    if (rc == MF_OK) rc = mf_agree(flow->comm, forest_take(flow, ranks * each_has, 1, &all));
    if (rc == MF_OK && !flow->dry) {
        join_borders(c, ranks, borders, &all);
        take_flags(c, &all);
    }
    free(borders);
    forest_give(flow, &all);
    mf_arena_give(flow->arena, border);
    mf_arena_give(flow->arena, stand);
    return rc;
}

/* -- the layer around the cells -- */

static void refresh_planes(const struct cells *c)
{
    const struct mf_flow *flow = c->flow;
    uint8_t *code = flow->code, *behind = code + (size_t)(c->own[0] + 1) * c->stride[0];
    const size_t plane = c->stride[0];

    if (flow->level[0].whole) {
        if (!flow->wrap[0]) return;
        memcpy(code, behind - plane, plane);
        memcpy(behind, code + plane, plane);
        return;
    }
    if (!c->all) return;
    mf_comm_send_receive(flow->comm, flow->above, behind - plane, plane, flow->below, code, plane);
    mf_comm_send_receive(flow->comm, flow->below, code + plane, plane, flow->above, behind, plane);
}

static void refresh(const struct cells *c)
{
    uint8_t *code = c->flow->code;

    for (int a = 1; a < 3; ++a)
        for (ptrdiff_t z = 0; c->flow->wrap[a] && z < c->own[0]; ++z)
            for (ptrdiff_t k = 0; k < c->own[3 - a]; ++k) {
                const size_t first = at(c, z, a == 1 ? 0 : k, a == 1 ? k : 0);
                const size_t last = first + (size_t)(c->own[a] - 1) * c->stride[a];

                code[last + c->stride[a]] = code[first];
                code[first - c->stride[a]] = code[last];
            }
    refresh_planes(c);
}

static int find_idle(struct cells *c)
{
    const struct mf_flow *flow = c->flow;

    if (!flow->dry) {
        memset(c->f.parent, 0xff, c->all * sizeof *c->f.parent);
        each(c, see_before);
        if (flow->wrap[0] || flow->wrap[1] || flow->wrap[2]) each(c, see_around);
        each_end(c, see_plates);
    }
    if (!flow->level[0].whole) MF_TRY(join_ranks(c));
    if (flow->dry) return MF_OK;
    each(c, see_idle);
    refresh(c);
    return MF_OK;
}

int mf_flow_idle(struct mf_flow *flow)
{
    struct cells c = {.flow = flow};
    int rc;

    ranges(&c);
    rc = mf_agree(flow->comm, forest_take(flow, c.all, flow->opts->boundary == MF_CONDUCT_PERIODIC, &c.f));
    if (rc == MF_OK) rc = find_idle(&c);
    forest_give(flow, &c.f);
    flow->carrying = c.carrying;
    if (rc == MF_OK && !flow->level[0].whole) mf_comm_sum_int(flow->comm, 1, &flow->carrying);
    return rc;
}
