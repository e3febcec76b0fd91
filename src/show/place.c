/* See experts.h: places of the nodes of a graph. Forces as in Fruchterman and Reingold (1991): all nodes repel, and
 * related ones attract. A weak pull to the middle holds parts that are not related together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/show/experts.h"

enum { STEPS = 400, PUSHES = 600 };

static const double first_move = 0.06, gravity = 0.8, anchor = 1.5, edge = 0.003;

/* Adds to @p force the force of node @p j on node @p i. At @p k, the distance of the rims, an edge of weight 1 is at
 * rest. */
static void act(const struct mf_places *p, size_t i, size_t j, double k, double force[2])
{
    const double d[2] = {p->at[i][0] - p->at[j][0], p->at[i][1] - p->at[j][1]};
    const double length = fmax(hypot(d[0], d[1]), 1e-6), pull = p->pull[i * p->count + j];
    const double apart = fmax(length - p->radius[i] - p->radius[j], 0.2 * k);
    const double strength = k * k / apart - pull * apart * apart / k;

    for (int a = 0; a < 2; ++a) force[a] += strength * d[a] / length;
}

/* A weak pull to the places where nodes began keeps the picture from turning. */
static void move_all(const struct mf_places *p, const double (*begin)[2], double most, double (*force)[2])
{
    const size_t n = p->count;
    const double k = 0.6 / sqrt((double)n), middle[2] = {0.5, p->height / 2};

    for (size_t i = 0; i < n; ++i) {
        for (int a = 0; a < 2; ++a)
            force[i][a] = k * (gravity * (middle[a] - p->at[i][a]) + anchor * (begin[i][a] - p->at[i][a]));
        for (size_t j = 0; j < n; ++j)
            if (j != i) act(p, i, j, k, force[i]);
    }
    for (size_t i = 0; i < n; ++i) {
        const double length = hypot(force[i][0], force[i][1]), step = fmin(1, most / fmax(length, 1e-12));

        for (int a = 0; a < 2; ++a) p->at[i][a] += step * force[i][a];
    }
}

/* Into the room, in the middle of it, not distorted. */
static void fit(const struct mf_places *p)
{
    double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL}, scale;

    for (size_t i = 0; i < p->count; ++i)
        for (int a = 0; a < 2; ++a) {
            low[a] = fmin(low[a], p->at[i][a] - p->radius[i]);
            high[a] = fmax(high[a], p->at[i][a] + p->radius[i]);
        }
    scale = 0.98 * fmin(1 / (high[0] - low[0]), p->height / (high[1] - low[1]));
    if (p->count < 4) scale = fmin(scale, 1);
    for (size_t i = 0; i < p->count; ++i) {
        p->at[i][0] = 0.5 + scale * (p->at[i][0] - (low[0] + high[0]) / 2);
        p->at[i][1] = p->height / 2 + scale * (p->at[i][1] - (low[1] + high[1]) / 2);
    }
}

static void keep_inside(const struct mf_places *p, size_t i)
{
    const double off = p->radius[i] + edge, most[2] = {1 - off, p->height - off};

    for (int a = 0; a < 2; ++a) p->at[i][a] = fmin(fmax(p->at[i][a], off), fmax(most[a], off));
}

/* Moves two discs apart that overlap, or nearly so. Did they? */
static int push(const struct mf_places *p, size_t i, size_t j, double margin)
{
    const double d[2] = {p->at[j][0] - p->at[i][0], p->at[j][1] - p->at[i][1]};
    const double length = fmax(hypot(d[0], d[1]), 1e-6), lacks = p->radius[i] + p->radius[j] + margin - length;

    if (lacks <= 1e-9) return 0;
    for (int a = 0; a < 2; ++a) {
        p->at[i][a] -= 0.5 * lacks * (d[a] / length + 1e-3 * (a ? 1 : -1));
        p->at[j][a] += 0.5 * lacks * (d[a] / length + 1e-3 * (a ? 1 : -1));
    }
    keep_inside(p, i);
    keep_inside(p, j);
    return 1;
}

/* Between the rims of related nodes there is space to see what relates them. */
static double margin_of(const struct mf_places *p, size_t i, size_t j)
{
    return p->pull[i * p->count + j] > 0 ? fmin(0.04, 0.14 / sqrt((double)p->count)) : 0.008;
}

static void push_apart(const struct mf_places *p)
{
    int any = 1;

    for (size_t i = 0; i < p->count; ++i) keep_inside(p, i);
    for (int step = 0; any && step < PUSHES; ++step) {
        any = 0;
        for (size_t i = 0; i < p->count; ++i)
            for (size_t j = i + 1; j < p->count; ++j) any |= push(p, i, j, margin_of(p, i, j));
    }
}

void mf_place_nodes(const struct mf_places *p)
{
    double(*force)[2] = MF_MUST(calloc(2 * p->count + 1, sizeof *force), "a picture"), (*begin)[2] = force + p->count;

    memcpy(begin, p->at, p->count * sizeof *begin);
    for (int step = 0; p->count > 1 && step < STEPS; ++step)
        move_all(p, (const double(*)[2])begin, first_move * (1 - (double)step / STEPS) + 1e-4, force);
    free(force);
    if (p->count) fit(p);
    push_apart(p);
}
