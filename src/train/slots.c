/* See slots.h. Sums are kept in host memory, all buckets one after the other. */
#include "src/train/slots.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/net/walk.h"
#include "src/train/phases.h"

enum { DEEPEST = 64, SAMPLES = 8 };

/* A sum: of slots [index << level, (index + 1) << level). */
struct node {
    int level;
    size_t index;
};

struct mf_slots {
    const struct mf_trainer *t;
    size_t slots, numbers;
    struct mf_span own;
    size_t next;                   /* the slot that comes */
    struct node node[2 * DEEPEST]; /* sums that wait for their neighbours, from left to right */
    size_t nodes, most;            /* so many; at most */
    float *sum;                    /* [most][numbers] */
    float *part;                   /* sums of all ranks, of this rank's piece of the numbers */
    size_t parts;                  /* [parts][own numbers] */
};

size_t mf_slots_usual(size_t effective)
{
    size_t slots = 1;

    while (2 * slots * SAMPLES <= effective) slots *= 2;
    return slots;
}

/* Is the last of the nodes the right neighbour of the one before? */
static int are_neighbours(const struct node *node, size_t nodes)
{
    const struct node *a = &node[nodes - 2], *b = &node[nodes - 1];

    return a->level == b->level && a->index + 1 == b->index && a->index % 2 == 0;
}

/* Makes one node of the last two. */
static void join(struct node *node, size_t *nodes)
{
    --*nodes;
    node[*nodes - 1] = (struct node){node[*nodes - 1].level + 1, node[*nodes - 1].index / 2};
}

/* The sums that remain of a run of slots; *most: so many stand at a time on the way. */
static size_t remains(struct mf_span own, struct node *node, size_t *most)
{
    size_t nodes = 0;

    *most = 0;
    for (size_t i = 0; i < own.count; ++i) {
        node[nodes++] = (struct node){0, own.first + i};
        if (nodes > *most) *most = nodes;
        while (nodes >= 2 && are_neighbours(node, nodes)) join(node, &nodes);
    }
    return nodes;
}

static size_t remains_of(size_t slots, size_t ranks, size_t rank)
{
    struct node node[2 * DEEPEST];
    size_t most;

    return remains(mf_cut(slots, ranks, rank), node, &most);
}

static size_t all_remains(size_t slots, size_t ranks)
{
    size_t sum = 0;

    for (size_t r = 0; r < ranks; ++r) sum += remains_of(slots, ranks, r);
    return sum;
}

static struct mf_span piece_of(size_t numbers, size_t ranks, size_t rank)
{
    return mf_cut_grain(numbers, 16, ranks, rank);
}

size_t mf_slots_bytes(const struct mf_network *n, size_t slots, size_t ranks, size_t rank)
{
    struct node node[2 * DEEPEST];
    size_t most;

    remains(mf_cut(slots, ranks, rank), node, &most);
    return (most * n->layout.numbers + all_remains(slots, ranks) * piece_of(n->layout.numbers, ranks, rank).count) *
               sizeof(float) +
           1;
}

int mf_slots_open(const struct mf_trainer *t, size_t slots, struct mf_slots **tree)
{
    const size_t ranks = (size_t)t->data->size, rank = (size_t)t->data->rank, numbers = t->network.layout.numbers;
    struct mf_slots *s = MF_MUST(calloc(1, sizeof *s), "slots");

    *tree = s;
    s->t = t;
    s->slots = slots;
    s->numbers = numbers;
    s->own = mf_cut(slots, ranks, rank);
    s->next = s->own.first;
    s->parts = all_remains(slots, ranks);
    remains(s->own, s->node, &s->most);
    s->sum = mf_arena_take(t->arena, s->most * numbers * sizeof(float), "sums of slots");
    if (s->sum)
        s->part = mf_arena_take(t->arena, s->parts * piece_of(numbers, ranks, rank).count * sizeof(float) + 1,
                                "sums of slots");
    return mf_agree(t->comm, s->part ? MF_OK : MF_MEMORY);
}

void mf_slots_close(struct mf_slots *s)
{
    if (!s) return;
    if (s->part) mf_arena_give(s->t->arena, s->part);
    if (s->sum) mf_arena_give(s->t->arena, s->sum);
    free(s);
}

/* -- the network's gradients, all buckets one after the other: of a pass, and summed -- */

static void move_gradients(const struct mf_slots *s, float *host, int to_network)
{
    const struct mf_trainer *t = s->t;
    const struct mf_net *net = t->network.net;

    for (size_t k = 0; k < t->network.layout.buckets; ++k) {
        const struct mf_bucket *bucket = &t->network.layout.bucket[k];
        const int v = to_network ? bucket->total : bucket->gradients;
        const size_t bytes = mf_shape_bytes(&net->value[v].shape);
        void *at = mf_walk_at(t->walk, t->network.last.list, v);

        if (to_network)
            mf_place_put(t->queue, net->value[v].place, at, host, bytes);
        else
            mf_place_get(t->queue, net->value[v].place, host, at, bytes);
        host += bytes / sizeof *host;
    }
}

static void add(float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; ++i) a[i] += b[i];
}

void mf_slots_add(struct mf_slots *s)
{
    move_gradients(s, s->sum + s->nodes * s->numbers, 0);
    s->node[s->nodes++] = (struct node){0, s->next++};
    while (s->nodes >= 2 && are_neighbours(s->node, s->nodes)) {
        join(s->node, &s->nodes);
        add(s->sum + (s->nodes - 1) * s->numbers, s->sum + s->nodes * s->numbers, s->numbers);
    }
}

/* -- ranks -- */

/* What this rank sends to each: its remaining sums, of that rank's piece, one after the other. */
static void pack(const struct mf_slots *s, size_t *sent, float *out)
{
    const size_t ranks = (size_t)s->t->data->size;
    float *at = out;

    for (size_t r = 0; r < ranks; ++r) {
        const struct mf_span piece = piece_of(s->numbers, ranks, r);

        sent[r] = s->nodes * piece.count * sizeof *out;
        for (size_t k = 0; k < s->nodes; ++k, at += piece.count)
            memcpy(at, s->sum + k * s->numbers + piece.first, piece.count * sizeof *at);
        if (r == (size_t)s->t->data->rank) { /* a rank sends nothing to itself */
            at -= s->nodes * piece.count;
            sent[r] = 0;
        }
    }
}

static void fill_own(struct mf_slots *s, size_t before, struct mf_span piece)
{
    for (size_t k = 0; k < s->nodes; ++k)
        memcpy(s->part + (before + k) * piece.count, s->sum + k * s->numbers + piece.first,
               piece.count * sizeof *s->part);
}

/* The sums of all ranks, of this rank's piece, in the order of the slots. */
static int trade(struct mf_slots *s, struct mf_span piece)
{
    const struct mf_comm *comm = s->t->data;
    const size_t ranks = (size_t)comm->size, rank = (size_t)comm->rank;
    size_t *sent = MF_MUST(calloc(2 * ranks, sizeof *sent), "sizes"), *got = sent + ranks, before = 0, after = 0;
    float *out, *in = NULL;
    int rc = MF_ROOM(out, s->nodes * s->numbers, "sums on their way");

    for (size_t r = 0; r < ranks; ++r) {
        const size_t nodes = remains_of(s->slots, ranks, r);

        if (r < rank) before += nodes;
        if (r != rank) got[r] = nodes * piece.count * sizeof *in;
        if (r != rank) after += nodes;
    }
    if (rc == MF_OK) rc = MF_ROOM(in, after * piece.count, "sums on their way");
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) {
        pack(s, sent, out);
        mf_comm_alltoallv(comm, out, sent, in, got);
        memcpy(s->part, in, before * piece.count * sizeof *in);
        fill_own(s, before, piece);
        memcpy(s->part + (before + s->nodes) * piece.count, in + before * piece.count,
               (after - before) * piece.count * sizeof *in);
    }
    free(out);
    free(in);
    free(sent);
    return rc;
}

/* Joins neighbours up to the root: the first of s->part. */
static void climb(struct mf_slots *s, struct mf_span piece)
{
    const size_t ranks = (size_t)s->t->data->size;
    struct node node[2 * DEEPEST], some[2 * DEEPEST];
    size_t nodes = 0, from = 0, most;

    for (size_t r = 0; r < ranks; ++r) {
        const size_t n = remains(mf_cut(s->slots, ranks, r), some, &most);

        for (size_t k = 0; k < n; ++k, ++from) {
            if (from != nodes)
                memmove(s->part + nodes * piece.count, s->part + from * piece.count, piece.count * sizeof *s->part);
            node[nodes++] = some[k];
            while (nodes >= 2 && are_neighbours(node, nodes)) {
                join(node, &nodes);
                add(s->part + (nodes - 1) * piece.count, s->part + nodes * piece.count, piece.count);
            }
        }
    }
    MF_ASSERT(nodes == 1);
}

int mf_slots_sum(struct mf_slots *s)
{
    const struct mf_comm *comm = s->t->data;
    const struct mf_span piece = piece_of(s->numbers, (size_t)comm->size, (size_t)comm->rank);
    void *all = NULL;
    MF_PHASE(&mf_phase_tree);

    MF_ASSERT(s->next == s->own.first + s->own.count);
    if (comm->size > 1) {
        MF_TRY(trade(s, piece));
        climb(s, piece);
        MF_TRY(mf_comm_gather(comm, s->part, piece.count * sizeof *s->part, &all, NULL));
    }
    mf_walk_settle(s->t->walk);
    move_gradients(s, all ? all : s->sum, 1);
    free(all);
    s->nodes = 0;
    s->next = s->own.first;
    return MF_OK;
}
