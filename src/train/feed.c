/* See train_priv.h: samples into the values that a network reads. Where device memory is not the host's, copies come
 * from page-locked memory, and the host does not wait for them: a few batches are on their way at a time. */
#include <stdlib.h>
#include <string.h>

#include "kernels/form/draw.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/train/train_priv.h"

/* A batch on its way, oldest first in a ring. */
struct load {
    size_t copy[MF_LEARN_INPUTS]; /* of each input; 0: none */
    char *filled;                 /* inputs that are not plain, one after the other */
    struct mf_reader *reader;     /* gets the batch back; NULL: nobody */
    struct mf_batch batch;
};

struct mf_feeder {
    struct load load[MF_AHEAD_TRAIN];
    size_t begun, ended;                   /* batches on their way are those between */
    char *memory, *blank[MF_LEARN_INPUTS]; /* blank: of plain inputs, a row that does not count */
};

static size_t bytes_of(const struct mf_network *n, size_t k) { return mf_shape_bytes(&n->input[k].of.shape); }

/* A row that does not count, over and over. */
static void fill_blank(uint32_t blank, size_t bytes, char *to)
{
    for (size_t i = 0; i < bytes; i += sizeof blank) memcpy(to + i, &blank, sizeof blank);
}

/* Bytes of a load, and of blank rows. */
static void count_bytes(const struct mf_network *n, size_t batch, size_t *filled, size_t *blank)
{
    *filled = *blank = 0;
    for (size_t k = 0; k < n->inputs; ++k)
        if (n->input[k].of.plain)
            *blank += mf_whole_lines(bytes_of(n, k) / batch);
        else
            *filled += mf_whole_lines(bytes_of(n, k));
}

static size_t loads_of(const struct mf_queue *queue) { return mf_apart(queue) ? MF_AHEAD_TRAIN : 1; }

int mf_feed_open(struct mf_scorer *m)
{
    const size_t loads = loads_of(m->queue);
    size_t filled, blank, bytes;
    struct mf_feeder *f;
    char *at;

    count_bytes(m->network, m->batch, &filled, &blank);
    bytes = loads * filled + blank + 1;
    MF_TRY(MF_ROOM(at, bytes, "batches on their way"));
    f = MF_MUST(calloc(1, sizeof *f), "batches on their way");
    f->memory = at;
    if (m->queue->backend->pin) m->queue->backend->pin(m->queue, f->memory, bytes);
    for (size_t i = 0; i < loads; ++i, at += filled) f->load[i].filled = at;
    for (size_t k = 0; k < m->network->inputs; ++k) {
        const struct mf_learn_input *of = &m->network->input[k].of;

        if (!of->plain) continue;
        f->blank[k] = at;
        fill_blank(of->blank, bytes_of(m->network, k) / m->batch, at);
        at += mf_whole_lines(bytes_of(m->network, k) / m->batch);
    }
    m->feeder = f;
    return MF_OK;
}

void mf_feed_close(struct mf_scorer *m)
{
    if (!m->feeder) return;
    mf_feed_settle(m, 0);
    m->queue->backend->sync(m->queue); /* copies of blank rows */
    if (m->queue->backend->unpin) m->queue->backend->unpin(m->queue, m->feeder->memory);
    free(m->feeder->memory);
    free(m->feeder);
    m->feeder = NULL;
}

/* -- copies -- */

/* The device does what comes behind it; 0: it is complete. */
static size_t put(const struct mf_scorer *m, void *to, const void *from, size_t bytes)
{
    const struct mf_backend *backend = m->queue->backend;
    size_t copy;

    if (bytes == 0) return 0;
    if (!backend->put_start) {
        backend->put(m->queue, to, from, bytes);
        return 0;
    }
    copy = backend->put_start(m->queue, to, from, bytes);
    backend->follow(m->queue, copy);
    return copy;
}

static void fill(const struct mf_scorer *m, const struct mf_list *list, size_t k, const struct mf_batch *batch,
                 char *to)
{
    const double *number = mf_walk_numbers(m->walk);
    const struct mf_fill of = {.set = m->set,
                               .batch = batch,
                               .seed = mf_draw_seed(number),
                               .first = (uint64_t)number[MF_NUMBER_SAMPLE],
                               .train = list != m->network->evaluate.list,
                               .shape = &m->network->input[k].of.shape};

    m->task->learn->fill(m->task, &of, k, to);
}

/* Input number @p k; rows of samples go to the device as they are, where they are large. */
static size_t feed(struct mf_scorer *m, const struct mf_list *list, size_t k, int value, const struct mf_batch *batch,
                   char *filled)
{
    const struct mf_network_input *input = &m->network->input[k];
    const size_t bytes = bytes_of(m->network, k), each = bytes / m->batch, have = batch->n * each;
    char *to = mf_walk_at(m->walk, list, value);

    if (!input->of.plain) {
        if (batch->n > 0) fill(m, list, k, batch, filled);
        fill_blank(input->of.blank, bytes - have, filled + have);
        return put(m, to, filled, bytes);
    }
    for (size_t r = batch->n; r < m->batch; ++r) put(m, to + r * each, m->feeder->blank[k], each);
    return put(m, to, batch->input, have);
}

/* Have all copies of a load arrived? With @p wait they have. */
static int is_there(const struct mf_scorer *m, const struct load *load, int wait)
{
    const struct mf_backend *backend = m->queue->backend;

    for (size_t k = m->network->inputs; k-- > 0;) {
        if (load->copy[k] == 0) continue;
        if (wait) backend->finish(m->queue, load->copy[k]);
        if (!backend->done(m->queue, load->copy[k])) return 0;
    }
    return 1;
}

void mf_feed_settle(struct mf_scorer *m, size_t most)
{
    struct mf_feeder *f = m->feeder;

    for (; f->ended < f->begun; ++f->ended) {
        struct load *load = &f->load[f->ended % loads_of(m->queue)];

        if (!is_there(m, load, f->begun - f->ended > most)) return;
        if (load->reader) mf_reader_give(load->reader, &load->batch);
        load->reader = NULL;
    }
}

size_t mf_feed_most(const struct mf_scorer *m) { return loads_of(m->queue) - 1; }

void mf_feed(struct mf_scorer *m, const struct mf_pass_list *pass, const struct mf_batch *batch,
             struct mf_reader *reader)
{
    static const struct mf_batch none = {.n = 0};
    struct mf_feeder *f = m->feeder;
    struct load *load = &f->load[f->begun % loads_of(m->queue)];
    char *filled = load->filled;

    mf_feed_settle(m, mf_feed_most(m));
    load->reader = reader;
    load->batch = batch ? *batch : none;
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)load->batch.n;
    for (size_t k = 0; k < m->network->inputs; ++k) {
        load->copy[k] = pass->reads >> k & 1 ? feed(m, pass->list, k, pass->input[k], &load->batch, filled) : 0;
        if (!m->network->input[k].of.plain) filled += mf_whole_lines(bytes_of(m->network, k));
    }
    ++f->begun;
    mf_feed_settle(m, mf_feed_most(m) + 1);
}
