/* See walk.h. */
#include "src/net/walk.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/segment.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/net/phases.h"
#include "src/net/region.h"
#include "src/net/rounds.h"

enum { PAGE = 4096, LINE = 64, NOTHING = 255 /* bytes of 255 are NaN */, COPIED = 1 << 20 /* bytes at a time */ };

/* What a walk knows of a list. */
struct track {
    struct mf_call *call; /* [nodes] */
    ptrdiff_t *last;      /* [values] node of the last use; -1: it stays */
};

struct mf_walk {
    struct mf_net *net;
    struct mf_queue *queue;
    enum mf_walk_mode mode;
    char *lasting[MF_PLACES], *room[MF_PLACES];
    struct mf_walk_memory given;
    void **guarded;      /* checked: [values] memory of roots */
    struct track *track; /* [lists] */
    double number[MF_NUMBERS];
    unsigned long name; /* of its segments */
    const struct mf_exchanges *exchange;
    uint64_t *started; /* [values] number of the exchange that names it */
    size_t *copied;    /* [values] number of the last copy between it, in host memory, and the device */
    int *owed;         /* [values] those of them for whose copies the host has not waited yet */
    size_t owes;       /* so many */
    struct mf_rounds *rounds;
    int alone;           /* nothing is replayed; else nodes in */
    enum mf_scope scope; /* are */
    int hunting;
    const struct mf_node *bad; /* the first that wrote what is not finite */
    double exchanged;          /* seconds */
};

/* -- guarded memory -- */

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* Ends, to a line, where a page begins that nobody may touch. NULL: there is no memory. */
static void *guarded_new(size_t bytes)
{
    const size_t inner = whole_pages(bytes + LINE);
    char *all = mmap(NULL, inner + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED) return NULL;
    mprotect(all, PAGE, PROT_NONE);
    mprotect(all + PAGE + inner, PAGE, PROT_NONE);
    memset(all + PAGE, NOTHING, inner);
    return all + PAGE + inner - mf_whole_lines(bytes);
}

static void guarded_free(void *memory, size_t bytes)
{
    const size_t inner = whole_pages(bytes + LINE);

    if (memory) munmap((char *)memory + mf_whole_lines(bytes) - inner - PAGE, inner + 2 * PAGE);
}

/* -- places -- */

static size_t index_of(const struct mf_walk *walk, const struct mf_list *list)
{
    size_t k = 0;

    while (walk->net->list[k] != list) ++k;
    return k;
}

void *mf_walk_at(const struct mf_walk *walk, const struct mf_list *list, int value)
{
    const struct mf_value *owner;
    size_t shift;
    int root;

    if (value < 0) return NULL;
    root = mf_value_root(walk->net, value, &shift);
    if (walk->mode == MF_WALK_CHECKED) return (char *)walk->guarded[root] + shift;
    owner = &walk->net->value[root];
    if (owner->lasting) return walk->lasting[owner->place] + owner->at + shift;
    return walk->room[owner->place] + list->at[root] + shift;
}

/* Does the device alone do it, by kernels? */
static int is_on_device(const struct mf_walk *walk, const struct mf_node *node)
{
    return mf_op_is_kernel(node->op) && mf_node_place(walk->net, node) == MF_PLACE_DEVICE;
}

static void fill_call(struct mf_walk *walk, const struct mf_list *list, const struct mf_node *node,
                      struct mf_call *call)
{
    mf_node_call(walk->net, node, call);
    call->number = walk->queue->numbers && is_on_device(walk, node) ? walk->queue->numbers : walk->number;
    call->work = mf_walk_at(walk, list, node->work);
    call->dout.at = mf_walk_at(walk, list, node->dout);
    for (int j = 0; j < MF_INS; ++j) {
        call->in[j].at = mf_walk_at(walk, list, node->in[j]);
        call->din[j].at = mf_walk_at(walk, list, node->din[j]);
    }
    for (int j = 0; j < MF_OUTS; ++j) call->out[j].at = mf_walk_at(walk, list, node->out[j]);
}

/* -- opening and closing -- */

static struct mf_arena *arena_of(const struct mf_walk *walk, enum mf_place p)
{
    return p == MF_PLACE_HOST ? walk->queue->host : walk->queue->arena;
}

static int take(struct mf_arena *arena, void *given, size_t bytes, const char *tag, char **memory)
{
    *memory = given;
    if (!given && bytes > 0) *memory = mf_arena_take(arena, bytes, tag);
    return *memory || bytes == 0 ? MF_OK : MF_MEMORY;
}

static int take_planned(struct mf_walk *walk)
{
    for (enum mf_place p = 0; p < MF_PLACES; ++p) {
        const struct mf_net *net = walk->net;
        struct mf_arena *arena = arena_of(walk, p);

        MF_TRY(take(arena, walk->given.lasting[p], net->lasting[p], "parameters", &walk->lasting[p]));
        MF_TRY(take(arena, walk->given.room[p], net->room[p], "activations", &walk->room[p]));
    }
    return MF_OK;
}

static void give_planned(struct mf_walk *walk)
{
    for (enum mf_place p = 0; p < MF_PLACES; ++p) {
        if (walk->room[p] && !walk->given.room[p]) mf_arena_give(arena_of(walk, p), walk->room[p]);
        if (walk->lasting[p] && !walk->given.lasting[p]) mf_arena_give(arena_of(walk, p), walk->lasting[p]);
    }
}

static int take_guarded(struct mf_walk *walk)
{
    MF_TRY(MF_ROOM(walk->guarded, walk->net->values + 1, "the places of %zu arrays", walk->net->values));
    for (size_t v = 0; v < walk->net->values; ++v) {
        const struct mf_value *value = &walk->net->value[v];

        if (value->base >= 0) continue;
        walk->guarded[v] = guarded_new(mf_shape_bytes(&value->shape));
        if (!walk->guarded[v]) return mf_room_none(mf_shape_bytes(&value->shape), "'%.300s' by itself", value->name);
        if (value->lasting) memset(walk->guarded[v], 0, mf_shape_bytes(&value->shape));
    }
    return MF_OK;
}

/* Where each memory is used for the last time, into @p last [values]. What lasts or is kept stays. */
static void find_last_uses(const struct mf_list *list, ptrdiff_t *last)
{
    const struct mf_net *net = list->net;
    struct mf_operand operand[MF_OPERANDS];
    struct mf_stretch *stretch;
    const size_t n = mf_stretches(list, &stretch);
    int *inner = mf_region_inner(list);

    for (size_t v = 0; v < net->values; ++v) last[v] = -1;
    for (size_t i = 0; i < list->nodes; ++i)
        for (size_t j = mf_node_operands(&list->node[i], operand); j-- > 0;) {
            const int root = mf_value_root(net, operand[j].value, NULL);
            const struct mf_stretch *s = mf_stretch_of(stretch, n, i);

            last[root] = (ptrdiff_t)(s && inner[root] != s->region ? s->last : i);
        }
    free(stretch);
    free(inner);
    for (size_t v = 0; v < net->values; ++v) {
        const int root = mf_value_root(net, (int)v, NULL);

        if (net->value[v].kept || net->value[root].lasting) last[root] = -1;
    }
}

/* By copies from the host. */
static void fill_place(struct mf_queue *queue, enum mf_place place, char *to, size_t bytes, int with)
{
    const size_t most = mf_min(bytes, COPIED);
    char *piece = MF_MUST(malloc(most + 1), "a piece of an array");

    memset(piece, with, most);
    for (size_t at = 0; at < bytes; at += most) mf_place_put(queue, place, to + at, piece, mf_min(bytes - at, most));
    queue->backend->sync(queue);
    free(piece);
}

static void fill_planned(struct mf_walk *walk)
{
    const struct mf_net *net = walk->net;

    fill_place(walk->queue, MF_PLACE_DEVICE, walk->lasting[MF_PLACE_DEVICE], net->lasting[MF_PLACE_DEVICE], 0);
    fill_place(walk->queue, MF_PLACE_DEVICE, walk->room[MF_PLACE_DEVICE], net->room[MF_PLACE_DEVICE], NOTHING);
    if (net->lasting[MF_PLACE_HOST]) memset(walk->lasting[MF_PLACE_HOST], 0, net->lasting[MF_PLACE_HOST]);
    if (net->room[MF_PLACE_HOST]) memset(walk->room[MF_PLACE_HOST], NOTHING, net->room[MF_PLACE_HOST]);
}

static int take_tracks(struct mf_walk *w)
{
    const size_t values = w->net->values;

    MF_TRY(MF_ROOM(w->started, values + 1, "the exchanges of %zu arrays", values));
    MF_TRY(MF_ROOM(w->copied, values + 1, "the copies of %zu arrays", values));
    MF_TRY(MF_ROOM(w->owed, values + 1, "the copies of %zu arrays", values));
    for (size_t k = 0; k < w->net->lists; ++k) {
        MF_TRY(MF_ROOM(w->track[k].call, w->net->list[k]->nodes + 1, "the operations of a network"));
        MF_TRY(MF_ROOM(w->track[k].last, values + 1, "the last uses of %zu arrays", values));
    }
    return MF_OK;
}

int mf_walk_open(struct mf_walk **walk, struct mf_net *net, struct mf_queue *queue, enum mf_walk_mode mode,
                 const struct mf_walk_memory *given)
{
    struct mf_walk *w = MF_MUST(calloc(1, sizeof *w), "a walk");
    int rc;

    w->net = net;
    w->queue = queue;
    w->mode = mode;
    w->track = MF_MUST(calloc(net->lists + 1, sizeof *w->track), "lists of a walk");
    w->name = mf_segment_name(queue);
    if (given) w->given = *given;
    rc = mode == MF_WALK_CHECKED ? take_guarded(w) : take_planned(w);
    if (rc == MF_OK) rc = take_tracks(w);
    if (rc != MF_OK) {
        mf_walk_close(w);
        return rc;
    }
    if (mode == MF_WALK_PLANNED) fill_planned(w);
    for (size_t k = 0; k < net->lists; ++k) {
        const struct mf_list *list = net->list[k];
        struct track *track = &w->track[k];

        for (size_t i = 0; i < list->nodes; ++i) fill_call(w, list, &list->node[i], &track->call[i]);
        find_last_uses(list, track->last);
    }
    w->rounds = mf_rounds_new(net, queue);
    w->number[MF_NUMBER_LOSS_SCALE] = 1;
    *walk = w;
    return MF_OK;
}

void mf_walk_close(struct mf_walk *walk)
{
    if (!walk) return;
    mf_walk_settle(walk);
    for (size_t v = 0; walk->guarded && v < walk->net->values; ++v)
        guarded_free(walk->guarded[v], mf_shape_bytes(&walk->net->value[v].shape));
    free(walk->guarded);
    free(walk->started);
    free(walk->copied);
    free(walk->owed);
    mf_rounds_free(walk->rounds);
    give_planned(walk);
    for (size_t k = 0; k < walk->net->lists; ++k) {
        free(walk->track[k].call);
        free(walk->track[k].last);
    }
    free(walk->track);
    free(walk);
}

void mf_walk_exchange(struct mf_walk *walk, const struct mf_exchanges *by) { walk->exchange = by; }

double *mf_walk_numbers(struct mf_walk *walk) { return walk->number; }

/* -- walking -- */

static void collect(struct mf_walk *walk, const struct mf_node *node, const struct mf_call *call)
{
    const struct mf_exchanges *by = walk->exchange;
    const struct mf_tensor *array = &call->in[0];
    const struct mf_collective what = {.kind = (enum mf_exchange_kind)node->attr.exchange,
                                       .group = node->attr.group,
                                       .type = array->shape.type,
                                       .array = array->at,
                                       .n = mf_shape_count(&array->shape)};
    uint64_t *number = &walk->started[node->in[0]];

    if (!by) return;
    if (node->op == MF_OP_START)
        *number = by->start(by->context, &what);
    else
        by->finish(by->context, *number);
}

static void exchange(struct mf_walk *walk, const struct mf_node *node, const struct mf_call *call)
{
    const double began = mf_now();

    if (mf_op_is_trade(node->op))
        mf_rounds_trade(walk->rounds, walk->exchange, node, call);
    else
        collect(walk, node, call);
    walk->exchanged += mf_now() - began;
}

static void settle(struct mf_walk *walk)
{
    const double began = mf_now();

    walk->exchange->settle(walk->exchange->context);
    walk->exchanged += mf_now() - began;
}

double mf_walk_exchanged(const struct mf_walk *walk) { return walk->exchanged; }

static int host_side(const struct mf_net *net, int from, int to)
{
    return net->value[from].place == MF_PLACE_HOST ? from : to;
}

/* Where device memory is the host's a copy is done at once. */
static void copy(struct mf_walk *walk, const struct mf_node *node, const struct mf_call *call)
{
    const struct mf_backend *backend = walk->queue->backend;
    void *to = call->out[0].at, *from = call->in[0].at;
    const size_t bytes = mf_shape_bytes(&call->in[0].shape);

    if (!backend->put_start)
        backend->put(walk->queue, to, from, bytes);
    else
        walk->copied[host_side(walk->net, node->in[0], node->out[0])] =
            mf_node_place(walk->net, node) == MF_PLACE_HOST ? backend->put_start(walk->queue, to, from, bytes)
                                                            : backend->get_start(walk->queue, to, from, bytes);
}

/* The last copy first: then the others are mostly complete, too. */
void mf_walk_settle(struct mf_walk *walk)
{
    while (walk->owes > 0) walk->queue->backend->finish(walk->queue, walk->copied[walk->owed[--walk->owes]]);
}

/* The device waits in its own order. The host waits when it next works in host memory; at once where other ranks touch
 * that memory, too. */
static void copied(struct mf_walk *walk, const struct mf_node *node)
{
    const struct mf_backend *backend = walk->queue->backend;
    const int host = host_side(walk->net, node->in[0], node->in[1]);
    size_t k = 0;

    if (!backend->put_start) return;
    if (node->attr.waits == MF_WAITS_HOST && walk->exchange) {
        backend->finish(walk->queue, walk->copied[host]);
        return;
    }
    backend->follow(walk->queue, walk->copied[host]);
    if (node->attr.waits != MF_WAITS_HOST) return;
    while (k < walk->owes && walk->owed[k] != host) ++k;
    walk->owed[k] = host;
    walk->owes = mf_max(walk->owes, k + 1);
}

/* What a node moves at least, and its operations. */
static struct mf_cost cost_of(const struct mf_walk *walk, const struct mf_node *node)
{
    struct mf_operand operand[MF_OPERANDS];
    struct mf_cost cost = {.operations = mf_node_operations(walk->net, node)};

    for (size_t j = mf_node_operands(node, operand); j-- > 0;)
        cost.bytes += (double)mf_shape_bytes(&walk->net->value[operand[j].value].shape) *
                      (operand[j].access == (MF_READS | MF_WRITES) ? 2 : 1);
    return cost;
}

static void kernel(struct mf_walk *walk, const struct mf_node *node, const struct mf_call *call)
{
    const int on_host = mf_node_place(walk->net, node) == MF_PLACE_HOST;
    const struct mf_backend *backend = on_host ? &mf_backend_cpu : walk->queue->backend;
    const struct mf_op_calls *calls = backend->net->calls[node->op];

    if (on_host) mf_walk_settle(walk);
    (node->back ? calls->backward : calls->forward)(walk->queue, call);
    mf_phase_count(cost_of(walk, node));
}

/* Executes node @p i of list @p k. */
static void step(struct mf_walk *walk, size_t k, size_t i)
{
    const struct mf_node *node = &walk->net->list[k]->node[i];
    const struct mf_call *call = &walk->track[k].call[i];
    const unsigned adds = mf_rounds_adds(walk->rounds, node);
    struct mf_call more;
    MF_PHASE(mf_phase_of_op(node->op, node->back));

    if (adds) {
        more = *call;
        more.add |= adds;
        call = &more;
    }
    if (mf_op_is_kernel(node->op))
        kernel(walk, node, call);
    else if (mf_op_is_trade(node->op) || mf_op_is_exchange(node->op))
        exchange(walk, node, call);
    else if (node->op == MF_OP_COPY)
        copy(walk, node, call);
    else
        copied(walk, node);
}

/* What a node says that it writes held nothing; what it was the last to use holds nothing any more. */
static void poison(struct mf_walk *walk, size_t k, size_t i, int before)
{
    const struct mf_net *net = walk->net;
    const struct mf_node *node = &net->list[k]->node[i];
    struct mf_operand operand[MF_OPERANDS];

    for (size_t j = mf_node_operands(node, operand); j-- > 0;) {
        const int v = operand[j].value, root = mf_value_root(net, v, NULL);

        if (before && operand[j].access == MF_WRITES)
            memset(mf_walk_at(walk, net->list[k], v), NOTHING, mf_shape_bytes(&net->value[v].shape));
        if (!before && walk->track[k].last[root] == (ptrdiff_t)i)
            memset(walk->guarded[root], NOTHING, mf_shape_bytes(&net->value[root].shape));
    }
}

void mf_walk_replay(struct mf_walk *walk, int may, enum mf_scope scope)
{
    walk->alone = !may;
    walk->scope = scope;
}

/* -- places -- */

void mf_place_get(struct mf_queue *queue, enum mf_place place, void *host, const void *from, size_t bytes)
{
    if (!bytes) return; /* a rank without a part has no memory for it */
    if (place == MF_PLACE_HOST)
        memcpy(host, from, bytes);
    else
        queue->backend->get(queue, host, from, bytes);
}

void mf_place_put(struct mf_queue *queue, enum mf_place place, void *to, const void *host, size_t bytes)
{
    if (!bytes) return;
    if (place == MF_PLACE_HOST) {
        queue->backend->sync(queue); /* the device may read what stands there */
        memcpy(to, host, bytes);
    } else {
        queue->backend->put(queue, to, host, bytes);
    }
}

/* -- what is not finite -- */

void mf_walk_hunt(struct mf_walk *walk, int on)
{
    walk->hunting = on;
    walk->bad = NULL;
}

const struct mf_node *mf_walk_bad(const struct mf_walk *walk) { return walk->bad; }

/* All exponents of 1 mean infinite, or no number. */
static int is_finite(enum mf_type type, const void *bytes, size_t n)
{
    const uint16_t *half = bytes, ones = type == MF_BF16 ? 0x7F80 : 0x7C00;
    const float *x = bytes;

    if (type == MF_F32)
        for (size_t i = 0; i < n; ++i)
            if (!isfinite(x[i])) return 0;
    if (type == MF_BF16 || type == MF_F16)
        for (size_t i = 0; i < n; ++i)
            if ((half[i] & ones) == ones) return 0;
    return 1;
}

static void hunt(struct mf_walk *walk, const struct mf_list *list, const struct mf_node *node)
{
    struct mf_operand operand[MF_OPERANDS];
    char *copy = MF_MUST(malloc(COPIED), "a piece of an array");

    for (size_t j = mf_node_operands(node, operand); j-- > 0 && !walk->bad;) {
        const struct mf_value *value = &walk->net->value[operand[j].value];
        const char *array;

        if (!(operand[j].access & MF_WRITES) || value->role == MF_ROLE_WORK) continue;
        array = mf_walk_at(walk, list, operand[j].value);
        for (size_t at = 0, n; !walk->bad && at < mf_shape_bytes(&value->shape); at += n) {
            n = mf_min(mf_shape_bytes(&value->shape) - at, COPIED);
            mf_place_get(walk->queue, value->place, copy, array + at, n);
            if (!is_finite(value->shape.type, copy, n / mf_type_bytes(value->shape.type))) walk->bad = node;
        }
    }
    free(copy);
}

/* Rows that a node leaves as they were are not what it wrote. What came back in earlier rounds stays. */
static void clear(struct mf_walk *walk, const struct mf_list *list, const struct mf_node *node)
{
    struct mf_operand operand[MF_OPERANDS];

    if (!mf_ops[node->op]->leaves) return;
    if (mf_op_is_trade(node->op) && mf_node_comes_back(node) && mf_rounds_over(walk->rounds)) return;
    for (size_t j = mf_node_operands(node, operand); j-- > 0;) {
        const struct mf_value *value = &walk->net->value[operand[j].value];
        if (operand[j].access != MF_WRITES || value->role == MF_ROLE_GRADIENT) continue; /* it may add to these */
        fill_place(walk->queue, value->place, mf_walk_at(walk, list, operand[j].value), mf_shape_bytes(&value->shape),
                   0);
    }
}

static void poll(const struct mf_walk *walk)
{
    if (walk->exchange) walk->exchange->poll(walk->exchange->context);
}

/* One node after another, as a device that replays nothing wants it, and checks. What copies write is not there yet,
 * so a hunt leaves them out. What a node writes in a later round may add to what it wrote before. */
static void run_alone(struct mf_walk *walk, const struct mf_list *list, size_t k, size_t i)
{
    const int checked = walk->mode == MF_WALK_CHECKED;
    const int looks = walk->hunting && !walk->bad;

    if (checked && !mf_rounds_over(walk->rounds)) poison(walk, k, i, 1);
    if (looks) clear(walk, list, &list->node[i]);
    step(walk, k, i);
    if (looks && mf_op_is_kernel(list->node[i].op)) hunt(walk, list, &list->node[i]);
    if (checked && !mf_rounds_more(walk->rounds, i)) poison(walk, k, i, 0);
    poll(walk);
}

/* May a device replay it? */
static int is_replayed(const struct mf_walk *walk, const struct mf_node *node)
{
    return is_on_device(walk, node) && mf_node_in(node, walk->scope);
}

/* Kernel calls alone from node @p i on. Returns the first node behind them. */
static size_t run_segment(struct mf_walk *walk, const struct mf_list *list, size_t k, size_t i)
{
    const struct {
        unsigned long name, list, node, later;
    } key = {walk->name, k, i, mf_rounds_over(walk->rounds) > 0};
    const int made = mf_segment_begin(walk->queue, &key, sizeof key);
    const size_t border = mf_rounds_border(walk->rounds, k, i);

    for (; i < border && is_replayed(walk, &list->node[i]); ++i)
        if (made && !mf_rounds_skips(walk->rounds, &list->node[i])) step(walk, k, i);
    mf_segment_end(walk->queue);
    poll(walk);
    return i;
}

void mf_walk_run(struct mf_walk *walk, const struct mf_list *list)
{
    const struct mf_backend *backend = walk->queue->backend;
    const int replays = backend->segment_begin && walk->mode == MF_WALK_PLANNED && !walk->hunting && !walk->alone;
    const size_t k = index_of(walk, list);

    if (walk->queue->numbers) backend->put(walk->queue, walk->queue->numbers, walk->number, sizeof walk->number);
    for (size_t i = mf_rounds_next(walk->rounds, k, 0); i < list->nodes; i = mf_rounds_next(walk->rounds, k, i))
        if (replays && is_replayed(walk, &list->node[i]))
            i = run_segment(walk, list, k, i);
        else
            run_alone(walk, list, k, i++);
    if (walk->exchange) settle(walk);
}

size_t mf_walk_rounds(const struct mf_walk *walk, const struct mf_list *list)
{
    return mf_rounds_taken(walk->rounds, index_of(walk, list));
}
