/* See balance.h. */
#include "src/train/balance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/place/pipeline.h"

static const double SKEW = 0.15, GAIN = 0.05; /* of the longest time of a stage */

/* -- where to cut -- */

static void operations_of(size_t parts, const double *operations, const size_t *stage, size_t stages, double *sum)
{
    for (size_t s = 0; s < stages; ++s) sum[s] = 0;
    for (size_t k = 0; k < parts; ++k) sum[stage[k]] += operations[k];
}

int mf_balance_find(size_t parts, const double *operations, size_t stages, const double *seconds, const size_t *from,
                    size_t *to)
{
    double *speed = MF_MUST(malloc(stages * sizeof *speed), "speeds of stages");
    double most = 0, least = INFINITY, then;

    operations_of(parts, operations, from, stages, speed);
    for (size_t s = 0; s < stages; ++s) {
        most = fmax(most, seconds[s]);
        least = fmin(least, seconds[s]);
        speed[s] = speed[s] > 0 && seconds[s] > 0 ? speed[s] / seconds[s] : 1;
    }
    then = mf_place_by_speed(parts, operations, stages, speed, to);
    free(speed);
    return most - least > SKEW * most && then < (1 - GAIN) * most;
}

/* -- moving -- */

/* Arrays of weights and moments of this rank's stage stand in the order of the net. */
struct moved {
    float **array; /* [values * MF_STATES] NULL: another stage has it */
    char **name;   /* [values] */
    void *memory;
    size_t count;
};

static size_t bytes_of(const struct mf_value *value)
{
    const struct mf_shape whole = mf_value_whole(value);

    return mf_whole_lines(mf_shape_count(&whole) * sizeof(float));
}

static size_t bytes_here(const struct mf_weights *w)
{
    size_t bytes = 0;

    for (size_t v = 0; v < w->net->values; ++v)
        for (int s = 0; mf_value_is_weight(&w->net->value[v]) && !w->net->value[v].weight->elsewhere && s < MF_STATES;
             ++s)
            if (mf_weights_has(w, (int)v, (enum mf_state)s)) bytes += bytes_of(&w->net->value[v]);
    return bytes;
}

size_t mf_balance_bytes(const struct mf_network *n)
{
    const struct mf_weights w = mf_network_weights(n, NULL, NULL);

    return bytes_here(&w);
}

static int take_names(struct moved *m, size_t values)
{
    MF_TRY(MF_ROOM(m->array, values * MF_STATES + 1, "the names of %zu arrays", values));
    return MF_ROOM(m->name, values + 1, "the names of %zu arrays", values);
}

static int take(struct mf_trainer *t, struct moved *m)
{
    const struct mf_net *net = t->network.net;
    struct mf_weights own = t->weights; /* of this stage alone */
    char *at;

    own.stages = NULL;
    m->memory = at =
        mf_arena_take(t->queue->host, mf_balance_bytes(&t->network), "weights on their way to another stage");
    MF_TRY(mf_agree(t->comm, at ? take_names(m, net->values) : MF_MEMORY));
    for (size_t v = 0; v < net->values; ++v) {
        if (!mf_value_is_weight(&net->value[v])) continue;
        for (int s = 0; !net->value[v].weight->elsewhere && s < MF_STATES; ++s) {
            if (!mf_weights_has(&own, (int)v, (enum mf_state)s)) continue;
            m->array[m->count * MF_STATES + (size_t)s] = (float *)(void *)at;
            mf_weights_take(&own, (int)v, (enum mf_state)s, (float *)(void *)at);
            at += bytes_of(&net->value[v]);
        }
        m->name[m->count++] = MF_MUST(strdup(net->value[v].name), "a name");
    }
    return MF_OK;
}

/* The stage that had an array gives it to all of the pipeline, one after the other. */
static int put(struct mf_trainer *t, const struct moved *m)
{
    const struct mf_net *net = t->network.net;
    size_t k = 0;

    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_shape whole = mf_value_whole(&net->value[v]);

        if (!mf_value_is_weight(&net->value[v])) continue;
        MF_ASSERT(k < m->count && strcmp(m->name[k], net->value[v].name) == 0);
        for (int s = 0; s < MF_STATES; ++s) {
            const float *own = m->array[k * MF_STATES + (size_t)s];
            const size_t bytes = mf_shape_count(&whole) * sizeof *own;
            void *all = NULL;

            if (!mf_weights_has(&t->weights, (int)v, (enum mf_state)s)) continue;
            MF_TRY(mf_comm_gather(&t->pipeline, own, own ? bytes : 0, &all, NULL));
            if (!net->value[v].weight->elsewhere) mf_weights_put(&t->weights, (int)v, (enum mf_state)s, all);
            free(all);
        }
        ++k;
    }
    mf_weights_masters(&t->weights, 0);
    return MF_OK;
}

static void give(struct mf_trainer *t, struct moved *m)
{
    for (size_t k = 0; k < m->count; ++k) free(m->name[k]);
    free(m->name);
    free(m->array);
    if (m->memory) mf_arena_give(t->queue->host, m->memory);
}

/* -- the trainer -- */

/* Stages stay as they were, for good. */
static int stay(struct mf_trainer *t)
{
    char why[MF_ERR_TEXT];

    mf_err_take(why, sizeof why);
    mf_warn("%s; stages stay as they were", why);
    t->opts.balance = 0;
    return MF_OK;
}

/* Refuses where even the stages of before do not fit any more. */
static int cut_anew(struct mf_trainer *t, const size_t *to)
{
    const size_t bytes = t->network.cut.parts * sizeof *to;
    size_t *before = MF_MUST(malloc(bytes), "a cut");
    struct moved m = {.memory = NULL};
    const int taken = take(t, &m);
    int rc = taken;

    memcpy(before, t->network.cut.device, bytes);
    if (rc == MF_OK) rc = mf_trainer_recut(t, to);
    if (rc == MF_MEMORY) {
        rc = stay(t);
        if (taken == MF_OK) rc = mf_trainer_recut(t, before);
    }
    if (rc == MF_OK && taken == MF_OK) rc = mf_agree(t->comm, put(t, &m));
    give(t, &m);
    free(before);
    return rc;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Means over the ranks of each stage. Other programs disturb some steps, so medians count. */
static void times_of(struct mf_trainer *t, double *seconds)
{
    const size_t ranks = (size_t)t->comm->size, stages = t->network.stages;
    double *all = NULL;

    qsort(t->work, t->works, sizeof *t->work, ascending);
    MF_ASSERT(mf_comm_gather(t->comm, &t->work[t->works / 2], sizeof *all, (void **)&all, NULL) == MF_OK);
    t->works = 0;
    for (size_t s = 0; s < stages; ++s) seconds[s] = 0;
    for (size_t r = 0; r < ranks; ++r) seconds[mf_train_stage(&t->opts, r)] += all[r] * (double)stages / (double)ranks;
    free(all);
}

/* "3 + 5" */
static void tell_cut(size_t parts, const size_t *stage, size_t stages, size_t size, char *text)
{
    for (size_t s = 0, used = 0; s < stages && used < size; ++s) {
        size_t n = 0;

        for (size_t k = 0; k < parts; ++k) n += stage[k] == s;
        used += (size_t)snprintf(text + used, size - used, "%s%zu", s ? " + " : "", n);
    }
}

static void say(const struct mf_trainer *t, double least, double most, const size_t *to)
{
    const size_t parts = t->network.cut.parts, stages = t->network.stages;
    char before[80], now[80];

    tell_cut(parts, t->network.cut.device, stages, sizeof before, before);
    tell_cut(parts, to, stages, sizeof now, now);
    mf_info("step %zu: stages work for %.3g to %.3g s of a step, so they are cut anew: %s parts instead of %s", t->step,
            least, most, now, before);
}

/* A cut that made nothing shorter is the last one: then times do not follow from operations. */
static int is_in_vain(struct mf_trainer *t, double most)
{
    const int vain = t->longest > 0 && most > (1 - GAIN / 2) * t->longest;

    if (vain) t->opts.balance = 0;
    return vain;
}

static int compare(struct mf_trainer *t)
{
    const size_t stages = t->network.stages, parts = t->network.cut.parts;
    double *seconds = MF_MUST(malloc(stages * sizeof *seconds), "times of stages"), least = INFINITY, most = 0;
    size_t *to = MF_MUST(malloc((parts + 1) * sizeof *to), "a cut");
    int rc = MF_OK;

    times_of(t, seconds);
    for (size_t s = 0; s < stages; ++s) {
        least = fmin(least, seconds[s]);
        most = fmax(most, seconds[s]);
    }
    if (!is_in_vain(t, most) &&
        mf_balance_find(parts, t->network.operations, stages, seconds, t->network.cut.device, to)) {
        say(t, least, most, to);
        t->longest = most;
        rc = cut_anew(t, to);
    }
    free(to);
    free(seconds);
    return rc;
}

int mf_balance(struct mf_trainer *t)
{
    if (t->network.stages == 1 || t->opts.balance == 0 || mf_apart(t->queue)) return MF_OK;
    if (!t->work) t->work = MF_MUST(malloc(t->opts.balance * sizeof *t->work), "times of steps");
    t->work[t->works++] = t->busy;
    t->busy = 0;
    return t->works < t->opts.balance ? MF_OK : compare(t);
}
