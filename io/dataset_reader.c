/* Readers of batches. Slots form a ring: the caller wants batches, and threads fill them. The caller takes them in
 * order and gives them back. One lock guards the counters; samples are read without it. See dataset.h. */
#include "io/dataset_priv.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { GRAB = 4 /* samples that a thread takes at a time */, ALIGN = 64 };

struct slot {
    size_t n, next, done; /* samples; those that threads have begun, and finished */
    size_t bad;           /* the first sample that could not be read; n: none */
    char text[MF_ERR_TEXT];
    size_t *id;
    size_t *like; /* [n] the first item with the same sample, which is read for all; NULL: items are samples */
    uint8_t *x;
    float *input, *real;
    int32_t *label;
};

struct mf_reader {
    const struct mf_dataset *set;
    struct mf_arena *arena;
    struct mf_reader_wish wish;
    int file;
    size_t wanted, working, taken,
        given; /* batches so far; working: the oldest with samples that no thread has begun */
    double waited;
    struct slot *slot; /* [ahead] */
    char *memory;      /* of slots and threads */
    size_t scratch;    /* bytes of a thread */
    char *scratches;
    pthread_mutex_t lock;
    pthread_cond_t to_read, was_read;
    int threads, stop;
    pthread_t *thread;
    struct worker {
        struct mf_reader *reader;
        int number;
    } * worker;
};

/* ---- memory ---- */

static size_t round_up(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

static size_t input_values(const struct mf_dataset *set)
{
    return set->dims[0] * set->dims[1] * set->dims[2] * set->inputs;
}

/* Bytes of a thread: compressed and inflated bytes, and a sample where nobody wishes the raw bytes. */
static size_t scratch_of(const struct mf_dataset *set, const struct mf_reader_wish *wish)
{
    return round_up(mf_sample_scratch(set)) + (wish->raw ? 0 : round_up(set->bytes));
}

/* Cuts the memory of a slot at @p at (NULL: only counts); returns its bytes. */
static size_t lay_slot(const struct mf_dataset *set, const struct mf_reader_wish *wish, char *at, struct slot *slot)
{
    enum { ARRAYS = 6 };
    const size_t bytes[ARRAYS] = {wish->batch * sizeof *slot->id,
                                  wish->raw ? wish->batch * set->bytes : 0,
                                  wish->input ? wish->batch * input_values(set) * sizeof(float) : 0,
                                  set->real ? wish->batch * set->reals * sizeof(float) : 0,
                                  set->label ? wish->batch * sizeof(int32_t) : 0,
                                  set->sample_of ? wish->batch * sizeof *slot->like : 0};
    void *part[ARRAYS];
    size_t used = 0;

    for (int i = 0; i < ARRAYS; ++i) {
        part[i] = at && bytes[i] ? at + used : NULL;
        used += round_up(bytes[i]);
    }
    if (at) {
        slot->id = part[0];
        slot->x = part[1];
        slot->input = part[2];
        slot->real = part[3];
        slot->label = part[4];
        slot->like = part[5];
    }
    return used;
}

static size_t workers_of(const struct mf_reader_wish *wish) { return wish->threads ? (size_t)wish->threads : 1; }

static size_t fixed_bytes(const struct mf_reader_wish *wish)
{
    return round_up(sizeof(struct mf_reader)) + round_up(wish->ahead * sizeof(struct slot)) +
           round_up(workers_of(wish) * sizeof(struct worker)) + round_up(workers_of(wish) * sizeof(pthread_t));
}

size_t mf_reader_bytes(const struct mf_dataset *set, const struct mf_reader_wish *wish)
{
    return fixed_bytes(wish) + wish->ahead * lay_slot(set, wish, NULL, NULL) + workers_of(wish) * scratch_of(set, wish);
}

/* ---- reading ---- */

/* Gives the sample of item k to the others that have it. */
static void share_sample(const struct mf_dataset *set, struct slot *slot, size_t k)
{
    const size_t values = input_values(set);

    for (size_t i = k + 1; slot->like && i < slot->n; ++i) {
        if (slot->like[i] != k) continue;
        if (slot->x) memcpy(slot->x + i * set->bytes, slot->x + k * set->bytes, set->bytes);
        if (slot->input) memcpy(slot->input + i * values, slot->input + k * values, values * sizeof *slot->input);
    }
}

/* Reads the sample of item k of a slot. Any thread. */
static int read_sample(struct mf_reader *r, struct slot *slot, size_t k, char *scratch)
{
    const struct mf_dataset *set = r->set;
    const size_t id = mf_item_sample(set, slot->id[k]);
    void *x = slot->x ? slot->x + k * set->bytes : (void *)(scratch + round_up(mf_sample_scratch(set)));

    if (slot->like && slot->like[k] != k) return MF_OK;
    MF_TRY(mf_sample_read(set, r->file, scratch, id, x));
    if (slot->input) MF_TRY(mf_sample_input(set, id, x, slot->input + k * input_values(set)));
    share_sample(set, slot, k);
    return MF_OK;
}

/* Reads samples [first, first + count); the place of the first bad one, or the slot's n. */
static size_t read_some(struct mf_reader *r, struct slot *slot, size_t first, size_t count, int number)
{
    char *scratch = r->scratches + (size_t)number * r->scratch;

    for (size_t k = first; k < first + count; ++k)
        if (read_sample(r, slot, k, scratch) != MF_OK) return k;
    return slot->n;
}

/* Keeps the sentence of the first bad sample of the batch, whichever thread met it. */
static void note(struct slot *slot, size_t bad)
{
    if (bad >= slot->bad) return;
    slot->bad = bad;
    snprintf(slot->text, sizeof slot->text, "%s", mf_err_text());
}

/* The oldest slot with work; NULL: none. The lock is held. */
static struct slot *find_work(struct mf_reader *r)
{
    for (; r->working < r->wanted; ++r->working) {
        struct slot *slot = &r->slot[r->working % r->wish.ahead];

        if (slot->next < slot->n) return slot;
    }
    return NULL;
}

static void *work(void *context)
{
    const struct worker *me = context;
    struct mf_reader *r = me->reader;

    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        struct slot *slot = find_work(r);
        size_t first, count, bad;

        if (!slot) {
            pthread_cond_wait(&r->to_read, &r->lock);
            continue;
        }
        first = slot->next;
        count = slot->n - first < GRAB ? slot->n - first : GRAB;
        slot->next += count;
        pthread_mutex_unlock(&r->lock);
        bad = read_some(r, slot, first, count, me->number);
        pthread_mutex_lock(&r->lock);
        note(slot, bad);
        slot->done += count;
        if (slot->done == slot->n) pthread_cond_signal(&r->was_read);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- opening and closing ---- */

/* Signals stay with the main thread. */
static int start(struct mf_reader *r)
{
    sigset_t all, before;
    int bad = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!bad && r->threads < r->wish.threads) {
        r->worker[r->threads] = (struct worker){r, r->threads};
        bad = pthread_create(&r->thread[r->threads], NULL, work, &r->worker[r->threads]) != 0;
        r->threads += !bad;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return bad ? mf_fail(MF_MEMORY, "the system starts no further thread to read '%s'", r->set->path) : MF_OK;
}

static void lay(struct mf_reader *r)
{
    char *at = r->memory + round_up(sizeof *r);

    r->slot = (void *)at;
    memset(r->slot, 0, r->wish.ahead * sizeof *r->slot);
    at += round_up(r->wish.ahead * sizeof *r->slot);
    r->worker = (void *)at;
    at += round_up(workers_of(&r->wish) * sizeof *r->worker);
    r->thread = (void *)at;
    at += round_up(workers_of(&r->wish) * sizeof *r->thread);
    for (size_t i = 0; i < r->wish.ahead; ++i) at += lay_slot(r->set, &r->wish, at, &r->slot[i]);
    r->scratches = at;
    r->scratch = scratch_of(r->set, &r->wish);
}

int mf_reader_open(const struct mf_dataset *set, struct mf_arena *arena, const struct mf_reader_wish *wish,
                   struct mf_reader **reader)
{
    char *memory = mf_arena_take(arena, mf_reader_bytes(set, wish), "readers");
    struct mf_reader *r = (void *)memory;
    int rc;

    if (!memory) return MF_MEMORY;
    MF_ASSERT(wish->ahead > 0 && wish->batch > 0 && wish->threads >= 0);
    *r = (struct mf_reader){.set = set, .arena = arena, .wish = *wish, .memory = memory};
    lay(r);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->to_read, NULL);
    pthread_cond_init(&r->was_read, NULL);
    rc = mf_open_plain(set->path, O_RDONLY, &r->file);
    if (rc == MF_OK) rc = start(r);
    if (rc != MF_OK)
        mf_reader_close(r);
    else
        *reader = r;
    return rc;
}

void mf_reader_close(struct mf_reader *r)
{
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    r->stop = 1;
    pthread_cond_broadcast(&r->to_read);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < r->threads; ++i) pthread_join(r->thread[i], NULL);
    pthread_cond_destroy(&r->to_read);
    pthread_cond_destroy(&r->was_read);
    pthread_mutex_destroy(&r->lock);
    if (r->file >= 0) close(r->file);
    mf_arena_give(r->arena, r->memory);
}

/* ---- what the caller does ---- */

size_t mf_reader_room(const struct mf_reader *r) { return r->wish.ahead - (r->wanted - r->given); }

double mf_reader_waited(const struct mf_reader *r) { return r->waited; }

/* The first item of the slot with the sample of item k. */
static size_t first_like(const struct mf_dataset *set, const struct slot *slot, size_t k)
{
    size_t i = 0;

    while (mf_item_sample(set, slot->id[i]) != mf_item_sample(set, slot->id[k])) ++i;
    return i;
}

void mf_reader_want(struct mf_reader *r, size_t n, const size_t *id)
{
    const struct mf_dataset *set = r->set;
    struct slot *slot = &r->slot[r->wanted % r->wish.ahead];

    MF_ASSERT(mf_reader_room(r) > 0 && n <= r->wish.batch);
    slot->n = slot->bad = n;
    slot->next = slot->done = 0;
    for (size_t k = 0; k < n; ++k) {
        size_t sample;

        MF_ASSERT(id[k] < set->items);
        sample = mf_item_sample(set, id[k]);
        slot->id[k] = id[k];
        if (slot->like) slot->like[k] = first_like(set, slot, k);
        if (slot->label) slot->label[k] = set->label[sample];
        if (slot->real)
            memcpy(slot->real + k * set->reals, set->real + sample * set->reals, set->reals * sizeof *slot->real);
    }
    pthread_mutex_lock(&r->lock);
    ++r->wanted;
    pthread_cond_broadcast(&r->to_read);
    pthread_mutex_unlock(&r->lock);
}

static void wait_for(struct mf_reader *r, struct slot *slot)
{
    const double begin = mf_now();

    if (r->threads == 0) note(slot, read_some(r, slot, 0, slot->n, 0));
    pthread_mutex_lock(&r->lock);
    while (r->threads > 0 && slot->done < slot->n) pthread_cond_wait(&r->was_read, &r->lock);
    pthread_mutex_unlock(&r->lock);
    r->waited += mf_now() - begin;
}

int mf_reader_take(struct mf_reader *r, struct mf_batch *batch)
{
    struct slot *slot = &r->slot[r->taken % r->wish.ahead];

    MF_ASSERT(r->taken < r->wanted);
    wait_for(r, slot);
    ++r->taken;
    *batch = (struct mf_batch){slot->n, slot->id, slot->x, slot->input, slot->label, slot->real, slot};
    return slot->bad == slot->n ? MF_OK : mf_fail(MF_INPUT, "%s", slot->text);
}

void mf_reader_give(struct mf_reader *r, struct mf_batch *batch)
{
    MF_ASSERT(batch->slot == &r->slot[r->given % r->wish.ahead] && r->given < r->taken);
    ++r->given;
    *batch = (struct mf_batch){0};
}

static void want_all(struct mf_reader *r, size_t batch, size_t n, const uint32_t *id, size_t *place, size_t *asked)
{
    while (*asked < n && mf_reader_room(r) > 0) {
        const size_t left = n - *asked, count = left < batch ? left : batch;

        for (size_t i = 0; i < count; ++i) place[i] = id[*asked + i];
        mf_reader_want(r, count, place);
        *asked += count;
    }
}

int mf_samples_read(const struct mf_dataset *set, struct mf_arena *arena, const struct mf_reader_wish *wish, size_t n,
                    const uint32_t *id, void (*take)(void *context, const struct mf_batch *batch), void *context)
{
    size_t *place = MF_MUST(malloc((wish->batch + 1) * sizeof *place), "numbers of samples"), asked = 0, done = 0;
    struct mf_reader *reader = NULL;
    int rc = mf_reader_open(set, arena, wish, &reader);

    while (rc == MF_OK && done < n) {
        struct mf_batch batch;

        want_all(reader, wish->batch, n, id, place, &asked);
        rc = mf_reader_take(reader, &batch);
        if (rc != MF_OK) break;
        take(context, &batch);
        done += batch.n;
        mf_reader_give(reader, &batch);
    }
    mf_reader_close(reader);
    free(place);
    return rc;
}
