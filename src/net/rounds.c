/* See rounds.h. */
#include "src/net/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/net/region.h"

/* What the ranks of a region have told each other. */
struct counts {
    const struct mf_list *list;     /* where they tell it */
    int places;                     /* the value that says where rows are */
    size_t ways, experts, own, way; /* ranks; all experts, this rank's; its number */
    size_t rounds;                  /* 0: nothing yet */
    int64_t *all;                   /* [ways][experts + 2] rows for every expert, the first own expert, room */
    struct mf_span *stretch;        /* [ways][ways] rows that the first has for the second */
};

/* The stretches of a list. */
struct schedule {
    const struct mf_list *list;
    size_t stretches;
    struct mf_stretch *stretch;
    struct counts **counts; /* [regions + 1] */
};

struct mf_rounds {
    const struct mf_net *net;
    struct mf_queue *queue;
    struct schedule *schedule;    /* [lists] */
    const struct mf_stretch *now; /* NULL: outside of stretches */
    struct counts *counts;        /* of its region */
    int back;                     /* it is in backward */
    size_t over;                  /* rounds of it */
    int64_t *mine;                /* [most experts + 2] */
    int32_t *offset;              /* [most groups, or experts, + 1] */
    size_t *block;                /* [4][most ways] */
};

/* -- memory -- */

static size_t experts_of(const struct mf_net *net, const struct mf_node *node)
{
    return mf_shape_count(&net->value[node->in[1]].shape) - net->value[node->in[0]].shape.d[0] - 1;
}

/* Room for a region, found by its first node. */
static struct counts *make_counts(struct mf_rounds *r, const struct mf_list *list, const struct mf_node *node)
{
    struct counts *counts = MF_MUST(calloc(1, sizeof *counts), "counts of rows");

    counts->list = list;
    counts->places = mf_value_root(r->net, node->in[1], NULL);
    counts->ways = (size_t)node->attr.ways;
    counts->own = (size_t)node->attr.own_experts;
    counts->experts = experts_of(r->net, node);
    counts->all = MF_MUST(calloc(counts->ways * (counts->experts + 2), sizeof *counts->all), "counts of rows");
    counts->stretch = MF_MUST(calloc(counts->ways * counts->ways, sizeof *counts->stretch), "counts of rows");
    r->mine = MF_MUST(realloc(r->mine, (counts->experts + 2) * sizeof *r->mine), "counts of rows");
    return counts;
}

/* This list may be backward of an earlier one, whose counts it has; NULL: it is not. */
static struct counts *find_counts(const struct mf_rounds *r, size_t lists, const struct mf_node *node)
{
    const int places = mf_value_root(r->net, node->in[1], NULL);

    for (size_t k = 0; k < lists; ++k)
        for (int region = 0; region <= r->schedule[k].list->regions; ++region) {
            struct counts *counts = r->schedule[k].counts[region];

            if (counts && counts->places == places) return counts;
        }
    return NULL;
}

static struct schedule schedule_of(struct mf_rounds *r, size_t k, size_t most[2])
{
    const struct mf_list *list = r->net->list[k];
    struct schedule schedule = {.list = list};

    schedule.stretches = mf_stretches(list, &schedule.stretch);
    schedule.counts = MF_MUST(calloc((size_t)list->regions + 1, sizeof *schedule.counts), "counts of rows");
    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];
        struct counts *counts = schedule.counts[node->region];

        if (node->op != MF_OP_TRADE || counts) continue;
        counts = find_counts(r, k, node);
        if (!counts) counts = make_counts(r, list, node);
        schedule.counts[node->region] = counts;
        most[0] = mf_max(most[0], mf_max(counts->ways * counts->own, counts->experts) + 1);
        most[1] = mf_max(most[1], counts->ways);
    }
    return schedule;
}

struct mf_rounds *mf_rounds_new(const struct mf_net *net, struct mf_queue *queue)
{
    struct mf_rounds *r = MF_MUST(calloc(1, sizeof *r), "rounds");
    size_t most[2] = {0, 0};

    r->net = net;
    r->queue = queue;
    r->schedule = MF_MUST(calloc(net->lists + 1, sizeof *r->schedule), "rounds");
    for (size_t k = 0; k < net->lists; ++k) r->schedule[k] = schedule_of(r, k, most);
    r->offset = MF_MUST(calloc(most[0] + 1, sizeof *r->offset), "counts of rows");
    r->block = MF_MUST(calloc(4 * most[1] + 1, sizeof *r->block), "counts of rows");
    return r;
}

void mf_rounds_free(struct mf_rounds *rounds)
{
    if (!rounds) return;
    for (size_t k = rounds->net->lists; k-- > 0;) { /* those with the counts of others first */
        struct schedule *schedule = &rounds->schedule[k];

        for (int region = 0; region <= schedule->list->regions; ++region) {
            struct counts *counts = schedule->counts[region];

            if (!counts || counts->list != schedule->list) continue;
            free(counts->all);
            free(counts->stretch);
            free(counts);
        }
        free(schedule->counts);
        free(schedule->stretch);
    }
    free(rounds->schedule);
    free(rounds->mine);
    free(rounds->offset);
    free(rounds->block);
    free(rounds);
}

size_t mf_rounds_room(size_t rows, size_t ways, size_t own, size_t experts, double slack)
{
    const size_t even = (size_t)ceil(slack * (double)(rows * ways) * (double)own / (double)experts);

    return mf_min(mf_max(even, ways), mf_max(rows * ways, ways));
}

/* -- which node comes next -- */

static void enter(struct mf_rounds *r, size_t k, size_t i)
{
    const struct schedule *schedule = &r->schedule[k];

    r->now = NULL;
    for (size_t s = 0; s < schedule->stretches; ++s)
        if (schedule->stretch[s].first == i) r->now = &schedule->stretch[s];
    if (!r->now) return;
    r->counts = schedule->counts[r->now->region];
    r->over = 0;
    r->back = 0;
    for (size_t j = r->now->first; j <= r->now->last; ++j) r->back |= schedule->list->node[j].back;
    if (!r->back) r->counts->rounds = 0;
}

size_t mf_rounds_next(struct mf_rounds *r, size_t k, size_t i)
{
    const struct mf_list *list = r->schedule[k].list;

    if (r->now && i == r->now->last + 1 && r->over + 1 < r->counts->rounds) {
        ++r->over;
        i = r->now->first;
    } else if (!r->now || i > r->now->last) {
        enter(r, k, i);
    }
    while (r->now && mf_rounds_skips(r, &list->node[i])) ++i; /* never its last */
    return i;
}

size_t mf_rounds_border(const struct mf_rounds *r, size_t k, size_t i)
{
    const struct schedule *schedule = &r->schedule[k];

    if (r->now) return r->now->last + 1;
    for (size_t s = 0; s < schedule->stretches; ++s)
        if (schedule->stretch[s].first > i) return schedule->stretch[s].first;
    return schedule->list->nodes;
}

/* What others touch, too, is done once. The activations of the first round in backward are those of the last in
 * forward. */
int mf_rounds_skips(const struct mf_rounds *r, const struct mf_node *node)
{
    if (!r->now) return 0;
    return r->over ? node->region != r->now->region : node->rerun == MF_RERUN_ROUNDS;
}

size_t mf_rounds_over(const struct mf_rounds *r) { return r->now ? r->over : 0; }

int mf_rounds_more(const struct mf_rounds *r, size_t i)
{
    return r->now && i == r->now->last && r->over + 1 < r->counts->rounds;
}

unsigned mf_rounds_adds(const struct mf_rounds *r, const struct mf_node *node)
{
    unsigned adds = 0;

    for (int j = 0; mf_rounds_over(r) && j < MF_INS; ++j)
        if (node->din[j] >= 0 && r->net->value[node->din[j]].role == MF_ROLE_GRADIENT) adds |= 1U << j;
    return adds;
}

size_t mf_rounds_taken(const struct mf_rounds *r, size_t k)
{
    size_t most = 0;

    for (int region = 0; region <= r->schedule[k].list->regions; ++region) {
        const struct counts *counts = r->schedule[k].counts[region];

        if (counts) most = mf_max(most, counts->rounds);
    }
    return most;
}

/* -- counts -- */

static int64_t rows_for(const struct counts *t, size_t rank, size_t expert)
{
    return t->all[rank * (t->experts + 2) + expert];
}

static size_t first_of(const struct counts *t, size_t rank)
{
    return rank == t->ways ? t->experts : (size_t)rows_for(t, rank, t->experts);
}

static size_t room_of(const struct counts *t, size_t rank) { return (size_t)rows_for(t, rank, t->experts + 1); }

static struct mf_span *stretch_of(const struct counts *t, size_t from, size_t to)
{
    return &t->stretch[from * t->ways + to];
}

/* The rows of rank @p from for every rank stand behind each other. */
static void find_stretches(struct counts *t, size_t from)
{
    size_t at = 0;

    for (size_t to = 0; to < t->ways; ++to) {
        struct mf_span *rows = stretch_of(t, from, to);

        *rows = (struct mf_span){at, 0};
        for (size_t e = first_of(t, to); e < first_of(t, to + 1); ++e) rows->count += (size_t)rows_for(t, from, e);
        at += rows->count;
    }
}

/* Those of a round. */
static struct mf_span piece_of(const struct counts *t, size_t from, size_t to, size_t round)
{
    const struct mf_span rows = *stretch_of(t, from, to), part = mf_cut(rows.count, t->rounds, round);

    return (struct mf_span){rows.first + part.first, part.count};
}

static int fits(const struct counts *t, size_t rounds)
{
    for (size_t to = 0; to < t->ways; ++to) {
        size_t most = 0;

        for (size_t from = 0; from < t->ways; ++from) most += (stretch_of(t, from, to)->count + rounds - 1) / rounds;
        if (most > room_of(t, to)) return 0;
    }
    return 1;
}

/* The ranks tell each other what permute has counted. */
static void tell(struct mf_rounds *r, const struct mf_exchanges *by, const struct mf_node *node,
                 const struct mf_call *call)
{
    struct counts *t = r->counts;
    const size_t before = mf_shape_count(&call->in[1].shape) - t->experts - 1;

    r->queue->backend->get(r->queue, r->offset, (const int32_t *)call->in[1].at + before,
                           (t->experts + 1) * sizeof *r->offset);
    for (size_t e = 0; e < t->experts; ++e) r->mine[e] = r->offset[e + 1] - r->offset[e];
    r->mine[t->experts] = (int64_t)node->attr.first_expert;
    r->mine[t->experts + 1] = (int64_t)node->attr.room;
    by->tell(by->context, node->attr.group, t->experts + 2, r->mine, t->all);
    while (first_of(t, t->way) != node->attr.first_expert) t->way = (t->way + 1) % t->ways;
    for (size_t from = 0; from < t->ways; ++from) find_stretches(t, from);
    for (t->rounds = 1; !fits(t, t->rounds);) ++t->rounds;
}

/* -- trades -- */

static size_t round_of(const struct mf_rounds *r) { return r->back ? r->counts->rounds - 1 - r->over : r->over; }

/* Where the rows of every rank for every own expert begin, behind each other. */
static void put_offsets(struct mf_rounds *r, void *device)
{
    const struct counts *t = r->counts;
    size_t at = 0, g = 0;

    for (size_t from = 0; from < t->ways; ++from) {
        const struct mf_span piece = piece_of(t, from, t->way, round_of(r));
        size_t row = stretch_of(t, from, t->way)->first;

        for (size_t e = first_of(t, t->way); e < first_of(t, t->way + 1); ++e) {
            const size_t end = row + (size_t)rows_for(t, from, e);

            r->offset[g++] = (int32_t)at;
            at += mf_min(mf_max(end, piece.first), piece.first + piece.count) -
                  mf_min(mf_max(row, piece.first), piece.first + piece.count);
            row = end;
        }
    }
    r->offset[g++] = (int32_t)at;
    r->queue->backend->put(r->queue, device, r->offset, g * sizeof *r->offset);
}

/* Rows of @p own go to the ranks of their experts as @p rows, or those come back. */
static void move(struct mf_rounds *r, const struct mf_exchanges *by, int group, const struct mf_tensor *own,
                 const struct mf_tensor *rows, int back)
{
    const struct counts *t = r->counts;
    const size_t d = mf_shape_last(&own->shape);
    size_t *go = r->block, *come = go + t->ways, *go_at = come + t->ways;

    for (size_t w = 0; w < t->ways; ++w) {
        const struct mf_span piece = piece_of(t, t->way, w, round_of(r));

        go[w] = piece.count * d;
        go_at[w] = piece.first * d;
        come[w] = piece_of(t, w, t->way, round_of(r)).count * d;
    }
    by->finish(by->context, by->start(by->context, &(struct mf_collective){.kind = MF_EXCHANGE_TRADE,
                                                                           .group = group,
                                                                           .type = own->shape.type,
                                                                           .array = back ? own->at : rows->at,
                                                                           .from = back ? rows->at : own->at,
                                                                           .sent = back ? come : go,
                                                                           .got = back ? go : come,
                                                                           .sent_at = back ? NULL : go_at,
                                                                           .got_at = back ? go_at : NULL}));
}

void mf_rounds_trade(struct mf_rounds *r, const struct mf_exchanges *by, const struct mf_node *node,
                     const struct mf_call *call)
{
    const int back = mf_node_comes_back(node);
    const struct mf_tensor *in = node->back ? &call->dout : &call->in[0];
    const struct mf_tensor *out = node->back ? &call->din[0] : &call->out[0];

    MF_ASSERT(by && r->now);
    if (node->op == MF_OP_TRADE && !node->back) {
        by->settle(by->context); /* copies of counts and offsets wait for the queue; other trades need none */
        if (r->counts->rounds == 0) tell(r, by, node, call);
        put_offsets(r, call->out[1].at);
    }
    move(r, by, node->attr.group, back ? out : in, back ? in : out, back);
}
