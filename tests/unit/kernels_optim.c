/* The fused passes of the optimisers equal plain loops in double. Sums are bitwise the same on any number of threads.
 */
#include "tests/unit/field_case.h"

static const struct mf_optim_ops *ops;

/* A state of the optimiser, and the free gradient and its mask by the oracle. */
struct state {
    struct mf_extent e;
    size_t n;
    float *x, *g;
    struct mf_history h;
    float *r;
    int *keep;
};

static struct state state_new(struct mf_extent e, size_t count)
{
    const size_t stride = e.planes * e.plane;
    struct state s = {.e = e, .n = voxels(e), .x = random_points(e, 20), .g = random_slab(e, 21, -1, 1)};
    double x[64], g[64], r[64];
    int keep[64];

    s.h.count = count;
    for (size_t i = 0; i < count; ++i) {
        s.h.s[i] = random_slab(e, (uint32_t)(30 + i), -1, 1);
        s.h.y[i] = random_slab(e, (uint32_t)(50 + i), -1, 1);
    }
    s.r = malloc(s.n * sizeof *s.r);
    s.keep = malloc(s.n * sizeof *s.keep);
    for (size_t i = 0; i < stride; ++i) {
        for (size_t p = 0; p < e.phases; ++p) {
            x[p] = (double)s.x[p * stride + i];
            g[p] = (double)s.g[p * stride + i];
        }
        oracle_free(e.phases, x, g, r, keep);
        for (size_t p = 0; p < e.phases; ++p) {
            s.r[p * stride + i] = (float)r[p];
            s.keep[p * stride + i] = keep[p];
        }
    }
    return s;
}

static void state_free(struct state *s)
{
    for (size_t i = 0; i < s->h.count; ++i) {
        free(s->h.s[i]);
        free(s->h.y[i]);
    }
    free(s->x);
    free(s->g);
    free(s->r);
    free(s->keep);
}

static void check_free_dots(struct mf_queue *q, struct mf_queue *many, const struct state *s)
{
    const size_t m = s->h.count, k = 1 + 2 * m;
    const double tolerance = 1e-7 * sqrt((double)(s->n + 10));
    double *a = calloc(2 * k * s->e.planes, sizeof *a), *b = a + k * s->e.planes;

    ops->free_dots(q, s->e, s->x, s->g, &s->h, a);
    ops->free_dots(many, s->e, s->x, s->g, &s->h, b);
    CHECK(memcmp(a, b, k * s->e.planes * sizeof *a) == 0);
    for (size_t p = 0; p < s->e.planes; ++p) {
        CHECK_NEAR(a[p * k], plane_dot(s->e, p, s->r, s->r), tolerance);
        for (size_t i = 0; i < m; ++i) {
            CHECK_NEAR(a[p * k + 1 + i], plane_dot(s->e, p, s->h.s[i], s->r), tolerance);
            CHECK_NEAR(a[p * k + 1 + m + i], plane_dot(s->e, p, s->h.y[i], s->r), tolerance);
        }
    }
    free(a);
}

/* The direction of voxel i in double. */
static void direction_of(const struct state *s, const double *c, size_t i, double *d)
{
    const size_t stride = s->e.planes * s->e.plane;
    double mean = 0, count = 0;

    for (size_t p = 0; p < s->e.phases; ++p) {
        const size_t at = p * stride + i;

        d[p] = -c[0] * (double)s->r[at];
        for (size_t k = 0; k < s->h.count; ++k)
            d[p] -= c[1 + k] * (double)s->h.s[k][at] + c[1 + s->h.count + k] * (double)s->h.y[k][at];
        mean += s->keep[at] ? d[p] : 0;
        count += s->keep[at];
    }
    for (size_t p = 0; p < s->e.phases; ++p)
        d[p] = s->keep[p * stride + i] ? d[p] - (s->e.phases > 1 ? mean / count : 0) : 0;
}

static void check_direction(struct mf_queue *q, struct mf_queue *many, const struct state *s)
{
    const size_t stride = s->e.planes * s->e.plane;
    float *d = malloc(s->n * sizeof *d);
    double c[2 * MF_HISTORY_MAX + 1], *a = calloc(4 * s->e.planes, sizeof *a), *b = a + 2 * s->e.planes, want[64];

    for (size_t i = 0; i < 2 * s->h.count + 1; ++i) c[i] = 1.3 / (1 + (double)i) * (i % 3 == 2 ? -1 : 1);
    ops->direction(many, s->e, s->x, s->g, &s->h, c, d, b);
    ops->direction(q, s->e, s->x, s->g, &s->h, c, d, a);
    CHECK(memcmp(a, b, 2 * s->e.planes * sizeof *a) == 0);
    for (size_t i = 0; i < stride; ++i) {
        direction_of(s, c, i, want);
        for (size_t p = 0; p < s->e.phases; ++p) CHECK_NEAR(d[p * stride + i], want[p], 3e-6);
    }
    for (size_t p = 0; p < s->e.planes; ++p) {
        double top = 0;

        for (size_t i = 0; i < s->n; ++i)
            if (i / s->e.plane % s->e.planes == p) top = fmax(top, fabs((double)d[i]));
        CHECK(a[2 * p + 1] == top);
        CHECK_NEAR(a[2 * p], plane_dot(s->e, p, d, s->g), 1e-13 * (double)(s->n + 100));
    }
    free(d);
    free(a);
}

static void check_step(struct mf_queue *q, struct mf_queue *many, const struct state *s)
{
    const size_t stride = s->e.planes * s->e.plane;
    float *d = random_slab(s->e, 70, -1, 1), *x = malloc(s->n * sizeof *x), *moved = malloc(s->n * sizeof *x);
    double *a = calloc(2 * s->e.planes, sizeof *a), *b = a + s->e.planes, v[64];

    ops->step(many, s->e, s->x, s->g, d, 0.37, x, b);
    ops->step(q, s->e, s->x, s->g, d, 0.37, x, a);
    CHECK(memcmp(a, b, s->e.planes * sizeof *a) == 0);
    for (size_t i = 0; i < stride; ++i) {
        for (size_t p = 0; p < s->e.phases; ++p) v[p] = (double)s->x[p * stride + i] + 0.37 * (double)d[p * stride + i];
        oracle_project(s->e.phases, v);
        for (size_t p = 0; p < s->e.phases; ++p) CHECK_NEAR(x[p * stride + i], v[p], 5e-7);
    }
    for (size_t i = 0; i < s->n; ++i) moved[i] = x[i] - s->x[i];
    for (size_t p = 0; p < s->e.planes; ++p)
        CHECK_NEAR(a[p], plane_dot(s->e, p, moved, s->g), 1e-13 * (double)(s->n + 10));
    free(d);
    free(x);
    free(moved);
    free(a);
}

static void check_pair(struct mf_queue *q, struct mf_queue *many, const struct state *s)
{
    const size_t m = s->h.count, k = 2 + 3 * m;
    const double exact = 1e-12 * (double)(s->n + 10), tolerance = 1e-7 * sqrt((double)(s->n + 10));
    float *x = random_points(s->e, 80), *g = random_slab(s->e, 81, -1, 1);
    float *ds = malloc(s->n * sizeof *ds), *dy = malloc(s->n * sizeof *dy);
    double *a = calloc(2 * k * s->e.planes, sizeof *a), *b = a + k * s->e.planes;

    ops->pair(many, s->e, s->x, x, s->g, g, &s->h, ds, dy, b);
    ops->pair(q, s->e, s->x, x, s->g, g, &s->h, ds, dy, a);
    CHECK(memcmp(a, b, k * s->e.planes * sizeof *a) == 0);
    for (size_t i = 0; i < s->n; ++i) CHECK(ds[i] == x[i] - s->x[i] && dy[i] == g[i] - s->g[i]);
    for (size_t p = 0; p < s->e.planes; ++p) {
        const double *at = a + p * k;

        CHECK_NEAR(at[0], plane_dot(s->e, p, ds, dy), exact);
        CHECK_NEAR(at[1], plane_dot(s->e, p, dy, dy), exact);
        for (size_t i = 0; i < m; ++i) {
            CHECK_NEAR(at[2 + 2 * i], plane_dot(s->e, p, s->h.s[i], dy), tolerance);
            CHECK_NEAR(at[3 + 2 * i], plane_dot(s->e, p, ds, s->h.y[i]), tolerance);
            CHECK_NEAR(at[2 + 2 * m + i], plane_dot(s->e, p, s->h.y[i], dy), tolerance);
        }
    }
    free(x);
    free(g);
    free(ds);
    free(dy);
    free(a);
}

static const struct mf_rule_opts rule = {
    .rate = 0.05, .beta1 = 0.9, .beta2 = 0.999, .rho = 0.9, .momentum = 0.8, .epsilon = 1e-7};

/* u_i of Nadam. */
static double nadam(long i) { return rule.beta1 * (1 - 0.5 * pow(0.96, (double)i)); }

/* Number that one parameter loses in step t, as Keras writes it; m, v in/out. */
static double keras(enum mf_rule_kind kind, long t, double g, double *m, double *v)
{
    const double b1 = rule.beta1, b2 = rule.beta2, rho = rule.rho, e = rule.epsilon, n = (double)t;
    double d, product = 1;

    if (kind == MF_RULE_SGD) return *m = rule.momentum * *m + rule.rate * g;
    if (kind == MF_RULE_ADAGRAD) *v += g * g;
    if (kind == MF_RULE_ADAGRAD) return rule.rate * g / sqrt(*v + e);
    if (kind == MF_RULE_RMSPROP || kind == MF_RULE_ADADELTA) *v = rho * *v + (1 - rho) * g * g;
    if (kind == MF_RULE_RMSPROP) return *m = rule.momentum * *m + rule.rate * g / sqrt(*v + e);
    if (kind == MF_RULE_ADADELTA) {
        d = sqrt(*m + e) / sqrt(*v + e) * g;
        *m = rho * *m + (1 - rho) * d * d;
        return rule.rate * d;
    }
    *m = b1 * *m + (1 - b1) * g;
    *v = kind == MF_RULE_ADAMAX ? fmax(b2 * *v, fabs(g)) : b2 * *v + (1 - b2) * g * g;
    if (kind == MF_RULE_ADAMAX) return rule.rate * *m / ((1 - pow(b1, n)) * (*v + e));
    if (kind == MF_RULE_ADAM) return rule.rate * *m / (1 - pow(b1, n)) / (sqrt(*v / (1 - pow(b2, n))) + e);
    for (long i = 1; i <= t; ++i) product *= nadam(i);
    d = nadam(t + 1) * *m / (1 - product * nadam(t + 1)) + (1 - nadam(t)) * g / (1 - product);
    return rule.rate * d / (sqrt(*v / (1 - pow(b2, n))) + e);
}

/* Three steps of a rule in double beside ours. */
static void check_rule(struct mf_queue *q, const struct state *s, enum mf_rule_kind kind)
{
    const size_t stride = s->e.planes * s->e.plane;
    float *x = malloc(s->n * sizeof *x), *m = calloc(s->n, sizeof *m), *v = calloc(s->n, sizeof *v);
    double *want = malloc(s->n * sizeof *want), *m2 = calloc(s->n, sizeof *m2), *v2 = calloc(s->n, sizeof *v2), at[64];

    memcpy(x, s->x, s->n * sizeof *x);
    for (size_t i = 0; i < s->n; ++i) {
        want[i] = (double)x[i];
        v[i] = mf_rule_first_v(kind);
        v2[i] = kind == MF_RULE_ADAGRAD ? 0.1 : 0;
    }
    for (long t = 1; t <= 3; ++t) {
        const struct mf_rule now = mf_rule_at(kind, &rule, t);
        float *g = random_slab(s->e, (uint32_t)(90 + t), -1, 1);

        ops->adapt(q, s->e, &now, g, mf_rule_has_m(kind, rule.momentum) ? m : NULL, mf_rule_has_v(kind) ? v : NULL, x);
        for (size_t i = 0; i < s->n; ++i) want[i] -= keras(kind, t, (double)g[i], &m2[i], &v2[i]);
        for (size_t i = 0; i < stride; ++i) {
            for (size_t p = 0; p < s->e.phases; ++p) at[p] = want[p * stride + i];
            oracle_project(s->e.phases, at);
            for (size_t p = 0; p < s->e.phases; ++p) want[p * stride + i] = at[p];
        }
        free(g);
    }
    for (size_t i = 0; i < s->n; ++i) CHECK_NEAR(x[i], want[i], 3e-6);
    free(x);
    free(m);
    free(v);
    free(want);
    free(m2);
    free(v2);
}

/* -r is the projection of -g onto the cone at x. No direction of the cone has a positive product with the rest. */
static void check_cone(const struct state *s)
{
    const size_t stride = s->e.planes * s->e.plane, phases = s->e.phases;

    for (size_t i = 0; i < stride && phases > 1; ++i) {
        double product = 0, sum = 0;

        for (size_t p = 0; p < phases; ++p) {
            const double r = (double)s->r[p * stride + i], left = r - (double)s->g[p * stride + i];

            sum += r;
            product -= left * r;
            CHECK(s->x[p * stride + i] > 0 || r <= 1e-7);
            for (size_t o = 0; o < phases; ++o) /* moving from phase o to p stays on the simplex where x_o > 0 */
                if (s->x[o * stride + i] > 0)
                    CHECK(left - ((double)s->r[o * stride + i] - (double)s->g[o * stride + i]) < 1e-6);
        }
        CHECK_NEAR(sum, 0, 1e-6);
        CHECK_NEAR(product, 0, 1e-6);
    }
}

int main(void)
{
    static const size_t counts[] = {0, 1, 3, MF_HISTORY_MAX};
    struct mf_queue *q = open_queue(1), *many = open_queue(3);

    ops = mf_backend_cpu.optim;
    for (size_t c = 0; c < CASES; ++c) {
        struct state s = state_new(cases[c], counts[c % 4]);

        check_cone(&s);
        check_free_dots(q, many, &s);
        check_direction(q, many, &s);
        check_step(q, many, &s);
        check_pair(q, many, &s);
        for (int kind = 0; kind < MF_RULES; ++kind) check_rule(c % 2 ? q : many, &s, (enum mf_rule_kind)kind);
        state_free(&s);
    }
    mf_backend_cpu.queue_close(q);
    mf_backend_cpu.queue_close(many);
    return failures != 0;
}
