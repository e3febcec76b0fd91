/* See look.h. */
#include "src/moe/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/form/compare.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

/* -- groups -- */

enum { EIGHTHS = 8 };

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float value_of(const struct mf_groups *g, size_t sample)
{
    return (float)g->task->learn->mark(g->task, g->set, sample);
}

static void find_borders(struct mf_groups *g)
{
    const size_t n = g->set->count[MF_TRAIN];
    float *sorted = MF_MUST(malloc((n + 1) * sizeof *sorted), "values of samples");

    for (size_t i = 0; i < n; ++i) sorted[i] = value_of(g, g->set->id[MF_TRAIN][i]);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t k = 1; n > 0 && k < EIGHTHS; ++k) g->border[k - 1] = sorted[k * n / EIGHTHS];
    free(sorted);
}

struct mf_groups mf_groups_of(const struct mf_trainer *t)
{
    const struct mf_task *task = t->opts.task;
    struct mf_groups g = {.set = t->set, .task = task, .count = 1};

    if (!task->learn->mark) return g;
    g.count = task->learn->by_class ? mf_task_outputs(task) : EIGHTHS;
    if (!task->learn->by_class) find_borders(&g);
    return g;
}

long mf_groups_find(const struct mf_groups *g, size_t sample)
{
    long group = 0;

    if (!g->task->learn->mark) return 0;
    if (g->task->learn->by_class) return (long)g->task->learn->mark(g->task, g->set, sample);
    while (group < EIGHTHS - 1 && value_of(g, sample) >= g->border[group]) ++group;
    return group;
}

char *mf_groups_name(const struct mf_groups *g, size_t group)
{
    if (!g->task->learn->mark) return mf_format("all");
    if (g->task->learn->by_class) return mf_format("%s", g->task->name[group]);
    return mf_format("%s, eighth %zu", g->task->name[0], group + 1);
}

/* -- a look -- */

struct looker {
    struct mf_trainer *t;
    struct mf_looked look;
    struct mf_look_layout at;
    float *memory;
    int32_t *place;
    void *raw; /* values of any type, on their way */
    void (*see)(void *context, const struct mf_looked *look);
    void *context;
};

/* Has this rank the first mixture? */
static int is_there(const struct mf_trainer *t)
{
    return mf_list_uses(t->network.evaluate.list, t->network.routing.choice);
}

/* The first @p rows rows of a value. */
static void fetch(const struct looker *l, int v, size_t rows, void *to)
{
    const struct mf_value *value = &l->t->network.net->value[v];
    const size_t n = rows * mf_shape_last(&value->shape);

    mf_place_get(l->t->queue, value->place, l->raw, mf_walk_at(l->t->walk, l->t->network.evaluate.list, v),
                 n * mf_type_bytes(value->shape.type));
    for (size_t i = 0; i < n && (value->shape.type == MF_F16 || value->shape.type == MF_BF16); ++i) {
        const uint16_t half = ((const uint16_t *)l->raw)[i];

        ((float *)to)[i] = value->shape.type == MF_F16 ? mf_f16_to(half) : mf_bf16_to(half);
    }
    if (value->shape.type == MF_F32 || value->shape.type == MF_I32) memcpy(to, l->raw, n * sizeof(float));
}

/* Outputs lie in the order of the experts; a slot without a place has none here. Ranks that share layers have those of
 * their own experts. */
static void arrange(struct looker *l, size_t rows)
{
    const struct mf_routing *v = &l->t->network.routing;
    struct mf_looked *look = &l->look;
    const size_t outputs = look->sizes.outputs, slots = rows * look->sizes.top;
    float *sorted = l->memory + l->at.sorted;

    mf_place_get(l->t->queue, l->t->network.net->value[v->places].place, l->place,
                 mf_walk_at(l->t->walk, l->t->network.evaluate.list, v->places), slots * sizeof *l->place);
    fetch(l, v->outputs, l->at.sorted_rows, sorted);
    for (size_t s = 0; s < slots; ++s) {
        if (l->place[s] < 0 && !l->t->weights.tensor) look->choice[s] = -1;
        if (l->place[s] < 0)
            memset(look->output + s * outputs, 0, outputs * sizeof(float));
        else
            memcpy(look->output + s * outputs, sorted + (size_t)l->place[s] * outputs, outputs * sizeof(float));
    }
    if (l->t->weights.tensor) mf_comm_sum_float(l->t->weights.tensor, slots * outputs, look->output);
}

static void see_batch(void *context, const struct mf_batch *batch)
{
    struct looker *l = context;
    struct mf_looked *look = &l->look;
    const struct mf_routing *v = &l->t->network.routing;

    if (!is_there(l->t)) return;
    look->rows = batch->n * look->each;
    look->sample = batch->id;
    fetch(l, v->rows, look->rows, look->input);
    if (look->sizes.hidden) fetch(l, v->hidden, look->rows, look->inner);
    fetch(l, v->scores, look->rows, look->score);
    fetch(l, v->weights, look->rows, look->weight);
    fetch(l, v->choice, look->rows, look->choice);
    arrange(l, look->rows);
    if (mf_trainer_leads(l->t)) l->see(l->context, look);
}

static int open_looker(struct looker *l)
{
    struct mf_looked *look = &l->look;
    float *at;

    l->at = mf_look_layout_of(&l->t->network);
    l->memory = at = mf_arena_take(l->t->queue->host, l->at.bytes, "looks at experts");
    if (!at) return MF_MEMORY;
    look->each = l->at.rows / l->t->opts.batch;
    look->input = at + l->at.input;
    look->inner = at + l->at.inner;
    look->score = at + l->at.score;
    look->weight = at + l->at.weight;
    look->choice = (int32_t *)(void *)(at + l->at.choice);
    look->output = at + l->at.output;
    l->place = (int32_t *)(void *)(at + l->at.place);
    l->raw = at + l->at.raw;
    return MF_OK;
}

int mf_look_at(struct mf_trainer *t, size_t n, const uint32_t *id,
               void (*see)(void *context, const struct mf_looked *look), void *context)
{
    struct looker l = {.t = t, .see = see, .context = context};
    int rc;

    l.look.sizes = mf_record_of(&t->network);
    l.look.experts = t->experts.count;
    rc = mf_agree(t->comm, open_looker(&l));
    if (rc == MF_OK) rc = mf_scorer_pass(&t->scorer, n, id, see_batch, &l);
    mf_arena_give(t->queue->host, l.memory);
    return rc;
}

int mf_look_spared(const struct mf_trainer *t, int rc)
{
    if (rc != MF_MEMORY) return rc;
    mf_info("step %zu: a look at experts is left out: %s", t->step, mf_err_text());
    mf_err_clear();
    return MF_OK;
}

double mf_look_uncertainty(const float *score, size_t n)
{
    double most = -INFINITY, sum = 0, product = 0;

    for (size_t e = 0; e < n; ++e) most = fmax(most, (double)score[e]);
    for (size_t e = 0; e < n; ++e) {
        const double y = (double)score[e] - most, p = exp(y);

        sum += p;
        product += p > 0 ? p * y : 0;
    }
    return n > 1 ? (log(sum) - product / sum) / log((double)n) : 0;
}

/* -- a survey -- */

struct surveyor {
    struct mf_survey *survey;
    const struct mf_groups *groups;
};

/* Sums of rounded numbers are exact, in any order. */
static void count_rows(void *context, const struct mf_looked *look)
{
    const struct surveyor *s = context;
    struct mf_survey *to = s->survey;

    for (size_t slot = 0; slot < look->rows * look->sizes.top; ++slot) {
        const size_t row = slot / look->sizes.top;
        const long e = look->choice[slot], group = mf_groups_find(s->groups, look->sample[row / look->each]);
        const float *x = look->input + row * to->columns;

        if (e < 0) continue;
        to->rows[e] += 1;
        if (group >= 0) to->table[(size_t)e * to->groups + (size_t)group] += 1;
        for (size_t j = 0; j < to->columns; ++j)
            to->centroid[(size_t)e * to->columns + j] += mf_compare_grain((double)x[j]);
    }
}

static void finish(const struct mf_trainer *t, struct mf_survey *s)
{
    mf_comm_sum(t->comm, s->experts * s->groups, s->table);
    mf_comm_sum(t->comm, s->experts, s->rows);
    mf_comm_sum(t->comm, s->experts * s->columns, s->centroid);
    for (size_t i = 0; i < s->experts * s->columns; ++i)
        if (s->rows[i / s->columns] > 0) s->centroid[i] /= s->rows[i / s->columns];
}

static int open_survey(const struct mf_trainer *t, size_t groups, struct mf_survey *s)
{
    const size_t experts = t->experts.count, columns = mf_record_of(&t->network).columns;

    *s = (struct mf_survey){.arena = t->queue->host, .experts = experts, .groups = groups, .columns = columns};
    s->table =
        mf_arena_zeros(s->arena, mf_survey_numbers(experts, groups, columns), sizeof *s->table, "a survey of experts");
    s->rows = s->table + experts * groups;
    s->centroid = s->rows + experts;
    return mf_agree(t->comm, s->table ? MF_OK : MF_MEMORY);
}

int mf_survey_make(struct mf_trainer *t, const struct mf_groups *groups, enum mf_split split, size_t n,
                   struct mf_survey *s)
{
    const size_t all = t->set->count[split], count = n < all ? n : all;
    struct surveyor surveyor = {s, groups};
    uint32_t *id;
    int rc;

    *s = (struct mf_survey){0};
    rc = mf_agree(t->comm, MF_ROOM(id, count + 1, "the numbers of %zu samples", count));
    if (rc == MF_OK) rc = open_survey(t, groups->count, s);
    for (size_t i = 0; rc == MF_OK && i < count; ++i) id[i] = t->set->id[split][i * all / count];
    if (rc == MF_OK) rc = mf_look_at(t, count, id, count_rows, &surveyor);
    free(id);
    if (rc == MF_OK) finish(t, s);
    return rc;
}

void mf_survey_free(struct mf_survey *s)
{
    if (s->arena) mf_arena_give(s->arena, s->table);
    *s = (struct mf_survey){0};
}

double mf_survey_specialization(const struct mf_survey *s, size_t expert)
{
    const double *row = s->table + expert * s->groups;
    double sum = 0, entropy = 0;

    for (size_t g = 0; g < s->groups; ++g) sum += row[g];
    if (sum <= 0 || s->groups < 2) return 0;
    for (size_t g = 0; g < s->groups; ++g)
        if (row[g] > 0) entropy -= row[g] / sum * log(row[g] / sum);
    return fmax(0, 1 - entropy / log((double)s->groups));
}

long mf_survey_main(const struct mf_survey *s, size_t expert)
{
    const double *row = s->table + expert * s->groups;
    long found = -1;

    for (size_t g = 0; g < s->groups; ++g)
        if (row[g] > (found < 0 ? 0 : row[found])) found = (long)g;
    return found;
}
