/* See train_priv.h: samples into the values that a network reads. */
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/train/train_priv.h"

/* Room for the largest input of a batch, and for one row. */
void mf_feed_open(struct mf_scorer *m)
{
    size_t most = 0, row = 0;

    for (size_t k = 0; k < m->network->inputs; ++k) {
        const struct mf_learn_input *of = &m->network->input[k].of;
        const size_t bytes = mf_shape_bytes(&of->shape);

        if (!of->plain) most = mf_max(most, bytes);
        row = mf_max(row, bytes / m->batch);
    }
    m->filled = MF_MUST(malloc(most + 1), "inputs of a batch");
    m->blank = MF_MUST(malloc(row + 1), "a row that does not count");
}

void mf_feed_close(struct mf_scorer *m)
{
    free(m->filled);
    free(m->blank);
    m->filled = m->blank = NULL;
}

/* A row that does not count, over and over. */
static void fill_blank(uint32_t blank, size_t bytes, char *to)
{
    for (size_t i = 0; i < bytes; i += sizeof blank) memcpy(to + i, &blank, sizeof blank);
}

static void put(struct mf_scorer *m, void *to, const void *from, size_t bytes)
{
    if (bytes > 0) m->queue->backend->put(m->queue, to, from, bytes);
}

/* Input number @p k; rows of samples go to the device as they are, where they are large. */
static void feed(struct mf_scorer *m, const struct mf_list *list, size_t k, const struct mf_batch *batch)
{
    const struct mf_network_input *input = &m->network->input[k];
    const size_t bytes = mf_shape_bytes(&input->of.shape), each = bytes / m->batch, have = batch->n * each;
    char *to = mf_walk_at(m->walk, list, input->value);

    if (!input->of.plain) {
        if (batch->n > 0) m->task->learn->fill(m->task, m->set, k, batch, m->filled);
        fill_blank(input->of.blank, bytes - have, m->filled + have);
        put(m, to, m->filled, bytes);
        return;
    }
    put(m, to, batch->input, have);
    if (have < bytes) fill_blank(input->of.blank, each, m->blank);
    for (size_t r = batch->n; r < m->batch; ++r) put(m, to + r * each, m->blank, each);
}

void mf_feed(struct mf_scorer *m, const struct mf_pass_list *pass, const struct mf_batch *batch)
{
    static const struct mf_batch none = {.n = 0};

    if (!batch) batch = &none;
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)batch->n;
    for (size_t k = 0; k < m->network->inputs; ++k)
        if (pass->reads >> k & 1) feed(m, pass->list, k, batch);
}
