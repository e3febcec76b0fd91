/* See turn.h. */
#include "src/gen/turn.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"

/* -- what a list reads -- */

static void put(struct mf_engine *e, const struct mf_decoder_list *l, int value, const void *from, size_t n)
{
    if (value < 0) return;
    mf_place_put(e->queue, e->lists.net->value[value].place, mf_walk_at(e->walk, l->list, value), from,
                 n * sizeof(int32_t));
}

static void get(struct mf_engine *e, const struct mf_decoder_list *l, int value, void *to, size_t bytes)
{
    mf_place_get(e->queue, e->lists.net->value[value].place, to, mf_walk_at(e->walk, l->list, value), bytes);
}

static int32_t seat_of(const struct mf_engine *e, const struct mf_row *r) { return (int32_t)(r->seat - e->seat); }

static int32_t place_of(const struct mf_engine *e, const struct mf_row *r)
{
    return mf_pages_at(&e->pages, (size_t)seat_of(e, r), r->position / MF_KEPT_PAGE) * MF_KEPT_PAGE +
           (int32_t)(r->position % MF_KEPT_PAGE);
}

static void put_tokens(struct mf_engine *e, const struct mf_decoder_list *l, int value, size_t first,
                       const struct mf_row *row)
{
    for (size_t i = 0; i < l->rows; ++i)
        e->host[i] = row[i].seat && row[i].token >= first ? (int32_t)(row[i].token - first) : -1;
    put(e, l, value, e->host, l->rows);
}

static void put_rows(struct mf_engine *e, const struct mf_decoder_list *l, const struct mf_row *row)
{
    const size_t n = l->rows;
    int32_t *to = e->host;

    put_tokens(e, l, l->tokens, 0, row);
    if (l->own_tokens != l->tokens) put_tokens(e, l, l->own_tokens, l->first_token, row);
    for (size_t i = 0; i < n; ++i) to[i] = row[i].seat ? (int32_t)(row[i].position + e->model.shift) : 0;
    put(e, l, l->positions, to, n);
    for (size_t i = 0; i < n; ++i) to[i] = row[i].seat ? place_of(e, &row[i]) : -1;
    put(e, l, l->places, to, n);
    for (size_t i = 0; i < n; ++i) {
        to[2 * i] = row[i].seat ? seat_of(e, &row[i]) : -1;
        to[2 * i + 1] = (int32_t)row[i].position;
    }
    put(e, l, l->who, to, 2 * n);
    put(e, l, l->pages, e->pages.page, e->lists.room.requests * e->lists.room.pages_each);
    put(e, l, l->frequencies, e->frequency, e->model.head_width / 2);
}

static void put_choices(struct mf_engine *e, const struct mf_decoder_list *l, const struct mf_row *row,
                        const int32_t *last)
{
    float *wishes = MF_MUST(calloc(MF_PICK_WISHES * l->answers, sizeof *wishes), "choices");
    int32_t *numbers = MF_MUST(calloc(MF_PICK_NUMBERS * l->answers, sizeof *numbers), "choices");

    for (size_t i = 0; i < l->answers; ++i) {
        const struct mf_row *r = last[i] >= 0 ? &row[last[i]] : NULL;
        float *wish = wishes + MF_PICK_WISHES * i;
        int32_t *number = numbers + MF_PICK_NUMBERS * i;

        if (!r) continue;
        wish[0] = (float)r->seat->of.choice.temperature;
        wish[1] = r->seat->of.choice.top_p > 0 ? (float)r->seat->of.choice.top_p : 1;
        wish[2] = (float)r->seat->of.choice.repetition;
        number[0] = (int32_t)r->seat->of.choice.top_k;
        number[1] = (int32_t)(uint32_t)r->seat->of.choice.seed;
        number[2] = (int32_t)r->position + 1;
        number[3] = seat_of(e, r);
        number[4] = (int32_t)(r->seat->of.choice.seed >> 32);
    }
    put(e, l, l->wishes, wishes, MF_PICK_WISHES * l->answers);
    put(e, l, l->numbers, numbers, MF_PICK_NUMBERS * l->answers);
    free(wishes);
    free(numbers);
}

/* -- answers -- */

/* The logarithm of a token's probability. */
static double probability_of(size_t n, const float *logits, uint32_t token)
{
    double most = -INFINITY, sum = 0;

    for (size_t i = 0; i < n; ++i) most = fmax(most, (double)logits[i]);
    for (size_t i = 0; i < n; ++i) sum += exp((double)logits[i] - most);
    return (double)logits[token] - most - log(sum);
}

static int is_finite(size_t n, const float *x)
{
    size_t i = 0;

    while (i < n && isfinite(x[i])) ++i;
    return i == n;
}

/* This rank has picked the tokens. */
static void find_answers(struct mf_engine *e, const struct mf_turn *t)
{
    const struct mf_decoder_list *l = t->list;
    const size_t n = e->model.vocabulary;

    get(e, l, l->picked, e->host, t->answers * sizeof *e->host);
    get(e, l, l->logits, e->logits, t->answers * n * sizeof *e->logits);
    e->queue->backend->sync(e->queue);
    for (size_t i = 0; i < t->answers; ++i) {
        const float *logits = e->logits + i * n;
        const struct mf_request *of = &e->seat[t->seat[i]].of;

        t->answer[i] = (struct mf_answer){(uint32_t)e->host[i], is_finite(n, logits), NAN};
        if (of->likely) t->answer[i].log_probability = probability_of(n, logits, t->answer[i].token);
    }
}

static size_t logits_bytes(const struct mf_engine *e, const struct mf_turn *t)
{
    return t->answers * e->model.vocabulary * sizeof *e->logits;
}

void mf_turn_begin(struct mf_engine *e, const struct mf_turn *turn, const struct mf_row *rows, const int32_t *last)
{
    struct mf_turn *t = &e->turn[e->begun % e->cut.ways.stages];
    size_t n = 0;

    *t = *turn;
    t->answer = MF_MUST(calloc(t->answers + 1, sizeof *t->answer), "answers");
    while (n < t->list->rows && rows[n].seat) ++n;
    mf_walk_numbers(e->walk)[MF_NUMBER_SAMPLES] = (double)n; /* blank ones come last */
    put_rows(e, t->list, rows);
    put_choices(e, t->list, rows, last);
    put(e, t->list, t->list->last, last, t->list->answers);
    mf_walk_run(e->walk, t->list->list);
    if (t->answers == 0) {
        mf_turn_free(t);
        return;
    }
    ++e->begun;
    if (!e->ranks.answers) return;
    find_answers(e, t);
    mf_gen_ranks_tell(&e->ranks, t->answer, t->answers * sizeof *t->answer);
    if (t->sees) mf_gen_ranks_tell(&e->ranks, e->logits, logits_bytes(e, t));
}

void mf_turn_end(struct mf_engine *e, struct mf_turn *t)
{
    mf_gen_ranks_hear(&e->ranks, t->answer, t->answers * sizeof *t->answer);
    if (t->sees) mf_gen_ranks_hear(&e->ranks, e->logits, logits_bytes(e, t));
}

void mf_turn_free(struct mf_turn *t)
{
    free(t->seat);
    free(t->answer);
    *t = (struct mf_turn){.seat = NULL};
}
