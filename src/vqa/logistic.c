/* See logistic.h. */
#include "src/vqa/logistic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"

enum { STEPS = 40, PRODUCTS = 100 /* of a step */, HALVES = 30 };
static const double SMALL = 1e-6;

/* A fit under way: vectors of columns x answers numbers, and probabilities [n][answers]. */
struct fit {
    const struct mf_logistic_rows *rows;
    double ridge, loss;
    size_t size;
    double *weight, *trial, *gradient, *step, *rest, *along, *product, *share, *score;
};

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/* x.w_k of all answers k. */
static void scores_of(const struct mf_logistic_rows *rows, size_t r, const double *weight, double *score)
{
    const size_t k = rows->answers;

    memset(score, 0, k * sizeof *score);
    for (size_t i = r * rows->width; i < (r + 1) * rows->width; ++i)
        for (size_t a = 0; a < k; ++a) score[a] += rows->value[i] * weight[rows->column[i] * k + a];
}

/* Adds x times a number of every answer. */
static void add_row(const struct mf_logistic_rows *rows, size_t r, const double *number, double *to)
{
    const size_t k = rows->answers;

    for (size_t i = r * rows->width; i < (r + 1) * rows->width; ++i)
        for (size_t a = 0; a < k; ++a) to[rows->column[i] * k + a] += rows->value[i] * number[a];
}

/* The loss at @p weight, and probabilities there. */
static double look(struct fit *f, const double *weight)
{
    const size_t k = f->rows->answers;
    double loss = f->ridge / 2 * dot(f->size, weight, weight);

    for (size_t r = 0; r < f->rows->n; ++r) {
        double *share = f->share + r * k, most, sum = 0, own;

        scores_of(f->rows, r, weight, share);
        own = share[f->rows->answer[r]];
        most = share[0];
        for (size_t a = 1; a < k; ++a) most = share[a] > most ? share[a] : most;
        for (size_t a = 0; a < k; ++a) sum += share[a] = exp(share[a] - most);
        for (size_t a = 0; a < k; ++a) share[a] /= sum;
        loss += log(sum) + most - own;
    }
    return loss;
}

/* Returns the largest derivative. */
static double find_gradient(struct fit *f)
{
    const size_t k = f->rows->answers;
    double most = 0;

    for (size_t i = 0; i < f->size; ++i) f->gradient[i] = f->ridge * f->weight[i];
    for (size_t r = 0; r < f->rows->n; ++r) {
        memcpy(f->score, f->share + r * k, k * sizeof *f->score);
        f->score[f->rows->answer[r]] -= 1;
        add_row(f->rows, r, f->score, f->gradient);
    }
    for (size_t i = 0; i < f->size; ++i) most = fmax(most, fabs(f->gradient[i]));
    return most;
}

/* The product of second derivatives with @p v. */
static void multiply(struct fit *f, const double *v, double *to)
{
    const size_t k = f->rows->answers;

    for (size_t i = 0; i < f->size; ++i) to[i] = f->ridge * v[i];
    for (size_t r = 0; r < f->rows->n; ++r) {
        const double *share = f->share + r * k;
        double mean;

        scores_of(f->rows, r, v, f->score);
        mean = dot(k, share, f->score);
        for (size_t a = 0; a < k; ++a) f->score[a] = share[a] * (f->score[a] - mean);
        add_row(f->rows, r, f->score, to);
    }
}

/* A step with H step = -gradient, nearly. */
static void solve(struct fit *f)
{
    double before = dot(f->size, f->gradient, f->gradient);
    const double enough = before * fmin(0.01, before);

    memset(f->step, 0, f->size * sizeof *f->step);
    for (size_t i = 0; i < f->size; ++i) f->along[i] = f->rest[i] = -f->gradient[i];
    for (int n = 0; n < PRODUCTS && before > enough; ++n) {
        double length, now;

        multiply(f, f->along, f->product);
        length = before / dot(f->size, f->along, f->product);
        for (size_t i = 0; i < f->size; ++i) {
            f->step[i] += length * f->along[i];
            f->rest[i] -= length * f->product[i];
        }
        now = dot(f->size, f->rest, f->rest);
        for (size_t i = 0; i < f->size; ++i) f->along[i] = f->rest[i] + now / before * f->along[i];
        before = now;
    }
}

/* Goes along the step until the loss has fallen enough. 0: it falls no more. */
static int descend(struct fit *f)
{
    const double slope = dot(f->size, f->gradient, f->step);
    double length = 1;

    for (int n = 0; n < HALVES; ++n, length /= 2) {
        double loss;

        for (size_t i = 0; i < f->size; ++i) f->trial[i] = f->weight[i] + length * f->step[i];
        loss = look(f, f->trial);
        if (!(loss <= f->loss + 1e-4 * length * slope)) continue;
        memcpy(f->weight, f->trial, f->size * sizeof *f->weight);
        f->loss = loss;
        return 1;
    }
    return 0;
}

int mf_logistic_fit(const struct mf_logistic_rows *rows, double ridge, double *weight)
{
    const size_t size = rows->columns * rows->answers;
    double *memory =
        mf_room(6 * size + (rows->n + 1) * rows->answers + 1, sizeof *memory, "a regression of %zu questions", rows->n);
    struct fit f = {.rows = rows, .ridge = ridge, .size = size, .weight = weight};
    double **const vector[] = {&f.trial, &f.gradient, &f.step, &f.rest, &f.along, &f.product, &f.score};

    if (!memory) return MF_MEMORY;
    for (size_t i = 0; i < sizeof vector / sizeof *vector; ++i) *vector[i] = memory + i * size;
    f.share = f.score + rows->answers;
    memset(weight, 0, size * sizeof *weight);
    f.loss = look(&f, weight);
    for (int n = 0; n < STEPS && find_gradient(&f) > SMALL * (double)rows->n; ++n) {
        solve(&f);
        if (!descend(&f)) break;
    }
    free(memory);
    return MF_OK;
}

size_t mf_logistic_best(const struct mf_logistic_rows *rows, size_t row, const double *weight)
{
    double *score = MF_MUST(calloc(rows->answers, sizeof *score), "a regression");
    size_t best = 0;

    scores_of(rows, row, weight, score);
    for (size_t a = 1; a < rows->answers; ++a)
        if (score[a] > score[best]) best = a;
    free(score);
    return best;
}
