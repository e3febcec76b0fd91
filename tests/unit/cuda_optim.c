/* The passes of the optimisers are the same on cpu and cuda, with histories of every length. */
#include "kernels/optim.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

static const struct mf_extent cases[] = {{1, 1, 4096}, {1, 5, 65},   {1, 2, 9001},
                                         {2, 4, 577},  {3, 3, 1089}, {7, 3, 101}};

static size_t voxels(struct mf_extent e) { return e.phases * e.planes * e.plane; }

/* State of one side: x, g in device memory and a history. */
struct state {
    float *x, *g;
    struct mf_history h;
};

static struct state state_new(struct side *s, struct mf_extent e, size_t count)
{
    const size_t n = voxels(e);
    float *x = random_floats(n, 20, -0.5, 1.3), *g = random_floats(n, 21, -1, 1);
    struct state a = {up(s, n, x), up(s, n, g), {.count = count}};

    s->be->field->project(s->q, e, a.x);
    free(x);
    free(g);
    for (size_t i = 0; i < count; ++i) {
        x = random_floats(n, (uint32_t)(30 + i), -1, 1);
        g = random_floats(n, (uint32_t)(50 + i), -1, 1);
        a.h.s[i] = up(s, n, x);
        a.h.y[i] = up(s, n, g);
        free(x);
        free(g);
    }
    return a;
}

static void state_free(struct side *s, struct state *a)
{
    for (size_t i = 0; i < a->h.count; ++i) {
        mf_arena_give(s->device, a->h.s[i]);
        mf_arena_give(s->device, a->h.y[i]);
    }
    mf_arena_give(s->device, a->x);
    mf_arena_give(s->device, a->g);
}

/* All that one side says of one case. */
struct answer {
    double *dots, *direction, *step, *pair;
    float *d, *x, *s, *y, *m, *v;
};

static struct answer ask(struct side *s, struct mf_extent e, size_t count)
{
    const struct mf_optim_ops *ops = s->be->optim;
    const size_t n = voxels(e), k = 1 + 2 * count;
    float *zero = calloc(n, sizeof *zero);
    struct state a = state_new(s, e, count);
    struct answer out = {sums_new(s, k * e.planes),
                         sums_new(s, 2 * e.planes),
                         sums_new(s, e.planes),
                         sums_new(s, (2 + 3 * count) * e.planes),
                         up(s, n, zero),
                         up(s, n, zero),
                         up(s, n, zero),
                         up(s, n, zero),
                         up(s, n, zero),
                         up(s, n, zero)};
    double c[2 * MF_HISTORY_MAX + 1];

    for (size_t i = 0; i < k; ++i) c[i] = 1.3 / (1 + (double)i) * (i % 3 == 2 ? -1 : 1);
    ops->free_dots(s->q, e, a.x, a.g, &a.h, out.dots);
    ops->direction(s->q, e, a.x, a.g, &a.h, c, out.d, out.direction);
    memset(c, 0, sizeof c); /* it was read at the call */
    ops->step(s->q, e, a.x, a.g, out.d, 0.37, out.x, out.step);
    ops->pair(s->q, e, a.x, out.x, a.g, out.d, &a.h, out.s, out.y, out.pair);
    for (int kind = 0; kind < MF_RULES; ++kind) {
        const struct mf_rule_opts rule = {0.05, 0.9, 0.999, 0.9, 0.8, 1e-7};
        const struct mf_rule at = mf_rule_at((enum mf_rule_kind)kind, &rule, 1 + kind);

        s->be->field->fill(s->q, n, 0, out.m);
        s->be->field->fill(s->q, n, 0, out.v);
        ops->adapt(s->q, e, &at, a.g, out.m, out.v, out.x);
    }
    s->be->sync(s->q);
    state_free(s, &a);
    free(zero);
    out.d = down(s, n, out.d);
    out.x = down(s, n, out.x);
    out.s = down(s, n, out.s);
    out.y = down(s, n, out.y);
    out.m = down(s, n, out.m);
    out.v = down(s, n, out.v);
    return out;
}

static void answer_free(struct side *s, struct answer *a)
{
    mf_arena_give(s->host, a->dots);
    mf_arena_give(s->host, a->direction);
    mf_arena_give(s->host, a->step);
    mf_arena_give(s->host, a->pair);
    free(a->d);
    free(a->x);
    free(a->s);
    free(a->y);
    free(a->m);
    free(a->v);
}

int main(void)
{
    static const size_t counts[] = {0, 1, 2, 3, 5, 8, MF_HISTORY_MAX};
    const size_t kinds = sizeof counts / sizeof *counts;

    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; ++c) {
        const struct mf_extent e = cases[c / 2];
        const size_t n = voxels(e), m = counts[c % kinds];
        struct answer a = ask(&side[0], e, m), b = ask(&side[1], e, m);

        CHECK(away_sums((1 + 2 * m) * e.planes, b.dots, a.dots) < 1e-6);
        CHECK(away_sums(2 * e.planes, b.direction, a.direction) < 1e-5);
        CHECK(away_sums(e.planes, b.step, a.step) < 1e-5);
        CHECK(away_sums((2 + 3 * m) * e.planes, b.pair, a.pair) < 1e-6);
        CHECK(away(n, b.d, a.d) < 1e-6);
        CHECK(away(n, b.x, a.x) < 1e-6);
        CHECK(away(n, b.s, a.s) < 1e-6);
        CHECK(away(n, b.y, a.y) < 1e-6);
        CHECK(away(n, b.m, a.m) < 1e-6);
        CHECK(away(n, b.v, a.v) < 1e-6);
        answer_free(&side[0], &a);
        answer_free(&side[1], &b);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
