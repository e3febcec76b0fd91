/* See replay.h. */
#include "src/moe/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/train/mlp.h"

enum { LAST = 10 }; /* losses that make the confidence */

int mf_replay_open(const struct mf_trainer *t, const struct mf_groups *groups, size_t most, size_t bytes,
                   struct mf_replay *r)
{
    *r = (struct mf_replay){.arena = t->queue->host, .groups = groups, .sizes = mf_record_of(&t->network)};
    r->room = mf_record_room(&r->sizes, most, bytes);
    if (most == 0)
        mf_warn("--replay-buffer 0: sleeps repeat nothing");
    else if (r->room == 0)
        mf_warn("a record has %zu bytes, and --replay-bytes is %zu: sleeps repeat nothing",
                r->sizes.numbers * sizeof *r->at, bytes);
    r->at = mf_arena_take(r->arena, r->room * r->sizes.numbers * sizeof *r->at, "records that are replayed");
    return mf_agree(t->comm, r->at ? MF_OK : MF_MEMORY);
}

void mf_replay_close(struct mf_replay *r)
{
    if (r->at) mf_arena_give(r->arena, r->at);
    *r = (struct mf_replay){0};
}

/* -- records -- */

/* Records of this rank. */
struct recorder {
    const struct mf_trainer *t;
    const struct mf_groups *groups;
    size_t count;
    float *at;
};

static void record(const struct recorder *r, const struct mf_looked *look, size_t row, float *to)
{
    const struct mf_record *s = &look->sizes;
    const int32_t *choice = look->choice + row * s->top;

    to[MF_RECORD_UNCERTAINTY] = (float)mf_look_uncertainty(look->score + row * look->experts, look->experts);
    to[MF_RECORD_GROUP] = (float)mf_groups_find(r->groups, look->sample[row / look->each]);
    for (size_t k = 0; k < s->top; ++k) to[MF_RECORD_IDS + k] = choice[k] < 0 ? -1 : (float)r->t->experts.id[choice[k]];
    memcpy(to + s->weight, look->weight + row * s->top, s->top * sizeof *to);
    memcpy(to + s->input, look->input + row * s->columns, s->columns * sizeof *to);
    memcpy(to + s->inner, look->inner + row * s->hidden, s->hidden * sizeof *to);
    memcpy(to + s->output, look->output + row * s->top * s->outputs, s->top * s->outputs * sizeof *to);
}

/* Each look takes another row of a sample with several. */
static void record_batch(void *context, const struct mf_looked *look)
{
    struct recorder *r = context;

    for (size_t i = 0; i < look->rows / look->each; ++i) {
        const size_t row = i * look->each + (r->t->step + look->sample[i]) % look->each;

        record(r, look, row, r->at + r->count++ * look->sizes.numbers);
    }
}

static void add(struct mf_replay *r, size_t n, const float *records)
{
    for (size_t i = 0; i < n; ++i) {
        memcpy(r->at + r->next * r->sizes.numbers, records + i * r->sizes.numbers, r->sizes.numbers * sizeof *records);
        r->next = (r->next + 1) % r->room;
        r->count += r->count < r->room;
    }
}

/* @p n samples of the last step's window, evenly spread. Local. */
static int choose(const struct mf_trainer *t, const struct mf_window *window, size_t n, uint32_t *id)
{
    const struct mf_span all = {window->first, window->count};
    size_t *of;

    MF_TRY(MF_ROOM(of, all.count + 1, "the numbers of %zu samples", all.count));
    mf_window_ids(t->set, MF_TRAIN, t->opts.seed, window->epoch, &all, of);
    for (size_t i = 0; i < n; ++i) id[i] = (uint32_t)of[i * all.count / n];
    free(of);
    return MF_OK;
}

/* Adds the records of all ranks. */
static int gather(struct mf_replay *r, struct mf_trainer *t, const struct recorder *own)
{
    const size_t bytes = r->sizes.numbers * sizeof(float);
    size_t *offset = MF_MUST(calloc((size_t)t->comm->size + 1, sizeof *offset), "records");
    void *all = NULL;
    const int rc = mf_comm_gather(t->comm, own->at, own->count * bytes, &all, offset);

    if (rc == MF_OK) add(r, offset[t->comm->size] / bytes, all);
    free(all);
    free(offset);
    return rc;
}

/* Room for the records of this rank; those of all ranks are counted as well. */
static int take(struct mf_replay *r, size_t own, size_t all, float **at)
{
    const size_t bytes = r->sizes.numbers * sizeof(float);

    *at = mf_arena_take(r->arena, own * bytes, "records of a look");
    return *at ? mf_arena_book_once(r->arena, (ptrdiff_t)(all * bytes), "records of a look") : MF_MEMORY;
}

int mf_replay_look(struct mf_replay *r, struct mf_trainer *t, size_t n)
{
    const struct mf_window window = mf_window_of(t->set->count[MF_TRAIN], t->opts.effective, t->step - 1);
    const size_t count = n < window.count ? n : window.count;
    const size_t share = mf_cut_grain(count, t->opts.batch, (size_t)t->data->size, (size_t)t->data->rank).count;
    struct recorder own = {t, r->groups, 0, NULL};
    uint32_t *id;
    int rc = MF_ROOM(id, count + 1, "the numbers of %zu samples", count);

    if (rc == MF_OK) rc = choose(t, &window, count, id);
    if (rc == MF_OK) rc = take(r, share, count, &own.at);
    rc = mf_agree(t->comm, rc);
    if (rc == MF_OK) rc = mf_look_at(t, count, id, record_batch, &own);
    if (rc == MF_OK) rc = gather(r, t, &own);
    mf_arena_give(r->arena, own.at);
    free(id);
    return rc;
}

size_t mf_replay_slot(const struct mf_replay *r, const float *record, long id)
{
    size_t k = 0;

    while (k < r->sizes.top && (long)record[MF_RECORD_IDS + k] != id) ++k;
    return k;
}

/* -- lessons -- */

/* Equal ones stay in their order, which is that of memory. */
static int by_order(const void *a, const void *b)
{
    const struct mf_lesson *x = a, *y = b;

    if (x->order != y->order) return x->order > y->order ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

size_t mf_lessons_learn(struct mf_mlp *mlp, size_t batch, size_t n, struct mf_lesson *lesson, size_t steps, double rate,
                        double *losses)
{
    const size_t each = (n + batch - 1) / batch, count = steps ? steps : each;
    const float **row = MF_MUST(malloc(batch * sizeof *row), "rows of a batch");
    const void **target = MF_MUST(malloc(batch * sizeof *target), "targets of a batch");

    qsort(lesson, n, sizeof *lesson, by_order);
    for (size_t step = 0; n > 0 && step < count; ++step) {
        const size_t first = step % each * batch, rows = n - first < batch ? n - first : batch;
        double loss;

        for (size_t i = 0; i < rows; ++i) {
            row[i] = lesson[first + i].row;
            target[i] = lesson[first + i].target;
        }
        loss = mf_mlp_step(mlp, rows, row, target, rate);
        if (losses) losses[step] = loss;
    }
    free(row);
    free(target);
    return n > 0 ? count : 0;
}

void mf_replay_weights(const struct mf_carry *c, long id, size_t layers, float **weight)
{
    for (size_t k = 0; k < 2 * layers; ++k) {
        struct mf_carried *w = mf_carry_expert(c, id, k / 2 + 1, k % 2 ? "bias" : "weight");

        MF_ASSERT(w);
        weight[k] = w->state[MF_STATE_WEIGHT];
    }
}

/* -- repetition -- */

/* The mean of the last losses decides. */
static double confidence_of(size_t n, const double *losses)
{
    const size_t last = n < LAST ? n : LAST;
    double sum = 0;

    for (size_t i = n - last; i < n; ++i) sum += losses[i];
    return last ? fmin(1, fmax(0, 1 - sum / (double)last / 2)) : NAN;
}

static int is_finite(size_t n, const double *losses)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(losses[i])) return 0;
    return 1;
}

struct repeater {
    const struct mf_replay *replay;
    struct mf_carry *carry;
    struct mf_mlp *mlp;
    size_t layers, batch;
};

static size_t lessons_of(const struct mf_replay *r, long id, struct mf_lesson *lesson)
{
    size_t n = 0;

    for (size_t i = 0; i < r->count; ++i) {
        const float *record = mf_replay_record(r, i);
        const size_t k = mf_replay_slot(r, record, id);

        if (k < r->sizes.top)
            lesson[n++] = (struct mf_lesson){record + r->sizes.input, record + r->sizes.output + k * r->sizes.outputs,
                                             (double)record[MF_RECORD_UNCERTAINTY]};
    }
    return n;
}

static int repeat(const struct repeater *p, long id, double rate, double *confidence, size_t *steps)
{
    float **weight = MF_MUST(malloc(2 * p->layers * sizeof *weight), "weights");
    struct mf_lesson *lesson;
    double *losses = NULL;
    size_t n, made;
    int rc = MF_ROOM(lesson, p->replay->count + 1, "the lessons of %zu records", p->replay->count);

    if (rc == MF_OK) rc = MF_ROOM(losses, p->replay->count / p->batch + 2, "the losses of a replay");
    if (rc != MF_OK) {
        free(lesson);
        free(weight);
        return rc;
    }
    n = lessons_of(p->replay, id, lesson);
    mf_replay_weights(p->carry, id, p->layers, weight);
    if (n > 0) mf_mlp_put(p->mlp, weight);
    made = mf_lessons_learn(p->mlp, p->batch, n, lesson, 0, rate, losses);
    if (n > 0) mf_mlp_get(p->mlp, weight);
    if (!is_finite(made, losses)) rc = mf_fail(MF_NUMERIC, "the loss of expert %ld in replay is not finite", id);
    *confidence = confidence_of(made, losses);
    *steps += made;
    free(lesson);
    free(losses);
    free(weight);
    return rc;
}

/* Weights of an expert that one rank has learnt reach all. */
static void share(const struct mf_comm *comm, const struct mf_carry *c, size_t e, size_t layers, double *confidence)
{
    const int root = (int)(e % (size_t)comm->size);

    for (size_t k = 0; k < 2 * layers; ++k) {
        const struct mf_carried *w = mf_carry_expert(c, c->experts.id[e], k / 2 + 1, k % 2 ? "bias" : "weight");

        mf_comm_bcast(comm, root, w->state[MF_STATE_WEIGHT], mf_shape_bytes(&w->shape));
    }
    mf_comm_bcast(comm, root, confidence, sizeof *confidence);
}

int mf_replay_repeat(const struct mf_replay *r, const struct mf_trainer *t, struct mf_carry *carry, size_t batch,
                     const double *rate, double *confidence, size_t *steps)
{
    const struct mf_mlp_wish wish = mf_mlp_expert(&t->network, batch);
    const size_t ranks = (size_t)t->comm->size, layers = wish.depth + 1;
    struct repeater p = {r, carry, NULL, layers, batch};
    double made = 0;
    int rc = mf_mlp_open(&wish, t->queue, &p.mlp);

    *steps = 0;
    for (size_t e = (size_t)t->comm->rank; rc == MF_OK && e < carry->experts.count; e += ranks)
        rc = repeat(&p, carry->experts.id[e], rate[e], &confidence[e], steps);
    mf_mlp_close(p.mlp);
    MF_TRY(mf_agree(t->comm, rc));
    for (size_t e = 0; e < carry->experts.count; ++e) share(t->comm, carry, e, layers, &confidence[e]);
    made = (double)*steps;
    mf_comm_sum(t->comm, 1, &made);
    *steps = (size_t)made;
    return MF_OK;
}

/* -- checkpoints -- */

void mf_replay_list(struct mf_replay *r, struct mf_checkpoint *c)
{
    long count = (long)r->count, next = (long)r->next;
    struct mf_piece piece = {.name = "replay/records",
                             .type = MF_F32,
                             .ndim = 2,
                             .cut = MF_UNCUT,
                             .at = r->at,
                             .dims = {0, r->sizes.numbers}};

    mf_checkpoint_int(c, "replay/count", &count);
    mf_checkpoint_int(c, "replay/next", &next);
    if (mf_checkpoint_code(c) != MF_OK) return;
    if (count < 0 || (size_t)count > r->room || next < 0 || (size_t)next > (size_t)count) {
        mf_checkpoint_refuse(c, mf_fail(MF_INPUT, "the checkpoint has %ld records to replay, and there is room for %zu",
                                        count, r->room));
        return;
    }
    r->count = (size_t)count;
    r->next = (size_t)next;
    piece.dims[0] = r->count;
    if (r->count > 0) mf_checkpoint_array(c, &piece);
}
