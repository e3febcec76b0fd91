/* See replicas.h. */
#include "src/train/replicas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"

/* Sums whose difference is a smaller part of the sum of magnitudes may differ by rounding. */
static const double ROUNDING = 1e-4;

/* Of a parameter, as maxima over ranks: checksum and sum, each also with the other sign; the sum of magnitudes. */
enum { BITS, LESS_BITS, SUM, LESS_SUM, SIZE, FACTS };

struct sums {
    uint32_t crc;
    double sum, size;
};

static void add(void *context, size_t n, const float *numbers)
{
    struct sums *s = context;

    s->crc = mf_crc32c(s->crc, numbers, n * sizeof *numbers);
    for (size_t i = 0; i < n; ++i) {
        s->sum += (double)numbers[i];
        s->size += fabs((double)numbers[i]);
    }
}

/* A rank without the whole parameter says nothing. */
static void look(const struct mf_trainer *t, int v, double facts[FACTS])
{
    struct sums s = {0, 0, 0};
    const int whole = mf_weights_visit(&t->weights, v, add, &s);
    const double is[FACTS] = {s.crc, -(double)s.crc, s.sum, -s.sum, s.size};

    for (int k = 0; k < FACTS; ++k) facts[k] = whole ? is[k] : -INFINITY;
}

/* Do ranks differ, and by more than rounding? What is not a number differs where its bits do. */
static int is_other(const double facts[FACTS]) { return isfinite(facts[BITS]) && facts[BITS] != -facts[LESS_BITS]; }

static int is_wrong(const double facts[FACTS])
{
    return is_other(facts) && !(facts[SUM] + facts[LESS_SUM] <= ROUNDING * facts[SIZE]);
}

/* Ranks that share experts have other arrays of a layout, and the same weights in the same order. */
static int judge(struct mf_trainer *t, const double *facts)
{
    const struct mf_net *net = t->network.net;
    int others = 0;

    for (size_t v = 0; v < net->values; ++v) {
        if (!mf_value_is_weight(&net->value[v])) continue;
        if (is_wrong(facts))
            return mf_fail(MF_NUMERIC,
                           "after step %zu the parameter '%s' is not the same on all ranks: a memory, a link or a "
                           "library is faulty; try: mesoforge doctor, then --restart auto",
                           t->step, net->value[v].name);
        others += is_other(facts);
        facts += FACTS;
    }
    if (others && !t->rounds)
        mf_warn("%d parameters differ by rounding between ranks: processors of different kinds take part", others);
    t->rounds = t->rounds || others;
    return MF_OK;
}

/* Takes maxima over the ranks that have the same. Ranks that share a layer have different parts of it. @p all: memory
 * for as many. */
static void join(const struct mf_trainer *t, size_t n, double *facts, double *all)
{
    const struct mf_net *net = t->network.net;

    mf_comm_max(t->data, n * FACTS, facts);
    if (!t->weights.tensor) return;
    memcpy(all, facts, n * FACTS * sizeof *all);
    mf_comm_max(t->weights.tensor, n * FACTS, all);
    for (size_t v = 0, k = 0; v < net->values; ++v) {
        if (!mf_value_is_weight(&net->value[v])) continue;
        if (!net->value[v].weight->shard.of) memcpy(facts + FACTS * k, all + FACTS * k, FACTS * sizeof *all);
        ++k;
    }
}

int mf_replicas_compare(struct mf_trainer *t)
{
    const struct mf_net *net = t->network.net;
    double *facts;
    size_t n = 0;
    int rc;

    rc = mf_agree(t->comm, MF_ROOM(facts, 2 * net->values * FACTS + 1, "the sums of %zu arrays", net->values));
    for (size_t v = 0; rc == MF_OK && v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v])) look(t, (int)v, facts + FACTS * n++);
    if (rc == MF_OK) {
        join(t, n, facts, facts + net->values * FACTS);
        rc = mf_agree(t->comm, judge(t, facts));
    }
    free(facts);
    return rc;
}
