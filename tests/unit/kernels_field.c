/* Pointwise work on slabs equals plain loops in double. Sums per plane are bitwise the same on any number of threads.
 */
#include "tests/unit/field_case.h"

static const struct mf_field_ops *ops;

static void check_elementwise(struct mf_queue *q, struct mf_extent e)
{
    const size_t n = voxels(e);
    float *x = random_slab(e, 1, -2, 2), *y = random_slab(e, 2, -2, 2), *z = malloc(n * sizeof *z);

    ops->copy(q, n, x, z);
    CHECK(memcmp(x, z, n * sizeof *x) == 0);
    ops->axpy(q, n, 0.3f, y, z);
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(z[i], (double)x[i] + 0.3f * (double)y[i], 5e-7);
    ops->copy(q, n, x, z);
    ops->scale(q, n, -1.7f, z);
    for (size_t i = 0; i < n; ++i) CHECK(z[i] == -1.7f * x[i]);
    ops->clamp(q, n, -1, 0.5f, z);
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(z[i], fmin(fmax((double)(-1.7f * x[i]), -1), 0.5), 0);
    ops->fill(q, n, 0.25f, z);
    for (size_t i = 0; i < n; ++i) CHECK(z[i] == 0.25f);
    CHECK(ops->broken(q, n, x) == 0);
    x[n / 2] = NAN;
    CHECK(ops->broken(q, n, x) == 1);
    x[0] = INFINITY;
    x[n - 1] = -INFINITY;
    CHECK(ops->broken(q, n, x) == (n >= 3 ? 3 : n));
    free(x);
    free(y);
    free(z);
}

static void check_sums(struct mf_queue *q, struct mf_queue *many, struct mf_extent e)
{
    float *x = random_slab(e, 3, -1, 2), *y = random_slab(e, 4, -1, 2), *one = malloc(voxels(e) * sizeof *one);
    double *a = calloc(e.phases * e.planes, sizeof *a), *b = calloc(e.phases * e.planes, sizeof *b);

    for (size_t i = 0; i < voxels(e); ++i) one[i] = 1;
    ops->dot(q, e, x, y, a);
    ops->dot(many, e, x, y, b);
    CHECK(memcmp(a, b, e.planes * sizeof *a) == 0);
    for (size_t p = 0; p < e.planes; ++p) CHECK_NEAR(a[p], plane_dot(e, p, x, y), 1e-13 * (double)voxels(e));
    ops->sum(q, e, x, a);
    ops->sum(many, e, x, b);
    CHECK(memcmp(a, b, e.phases * e.planes * sizeof *a) == 0);
    for (size_t k = 0; k < e.phases * e.planes; ++k)
        CHECK_NEAR(a[k], plane_dot((struct mf_extent){1, 1, e.plane}, 0, x + k * e.plane, one),
                   1e-13 * (double)voxels(e));
    free(x);
    free(y);
    free(one);
    free(a);
    free(b);
}

static void check_guide(struct mf_queue *q, struct mf_queue *many, struct mf_extent e)
{
    const float lambda = 0.4f, shift[] = {0.1f, -0.2f, 0.3f, 0.05f, 0, 1, 2};
    const size_t stride = e.planes * e.plane;
    float *x = random_slab(e, 5, 0, 1), *g = random_slab(e, 6, -1, 1), *h = malloc(voxels(e) * sizeof *h);
    double *grey = calloc(2 * e.planes, sizeof *grey), *mean = calloc(2 * e.phases * e.planes, sizeof *mean);

    memcpy(h, g, voxels(e) * sizeof *g);
    ops->guide(q, e, lambda, shift, x, h, grey, mean);
    for (size_t i = 0; i < voxels(e); ++i)
        CHECK_NEAR(h[i], (double)g[i] + lambda * (1 - 2 * (double)x[i]) + shift[i / stride], 5e-7);
    for (size_t p = 0; p < e.planes; ++p) {
        double want = 0, sum;

        for (size_t k = 0; k < e.phases; ++k) {
            sum = 0;
            for (size_t i = 0; i < e.plane; ++i) {
                const double v = (double)x[k * stride + p * e.plane + i];

                sum += v;
                want += v * (1 - v);
            }
            CHECK_NEAR(mean[k * e.planes + p], sum, 1e-12 * (double)voxels(e));
        }
        CHECK_NEAR(grey[p], want, 3e-9 * (double)voxels(e) + 1e-7);
    }
    memcpy(h, g, voxels(e) * sizeof *g);
    ops->guide(many, e, lambda, shift, x, h, grey + e.planes, mean + e.phases * e.planes);
    CHECK(memcmp(grey, grey + e.planes, e.planes * sizeof *grey) == 0);
    CHECK(memcmp(mean, mean + e.phases * e.planes, e.phases * e.planes * sizeof *mean) == 0);
    ops->guide(q, e, lambda, shift, x, g, NULL, NULL);
    CHECK(memcmp(h, g, voxels(e) * sizeof *g) == 0);
    free(x);
    free(g);
    free(h);
    free(grey);
    free(mean);
}

/* Compares one voxel with the projection by sorting; a projected point stays. */
static void check_voxel(size_t phases, size_t stride, const float *before, const float *after, double tolerance)
{
    double v[64], sum = 0;

    for (size_t p = 0; p < phases; ++p) v[p] = (double)before[p * stride];
    oracle_project(phases, v);
    for (size_t p = 0; p < phases; ++p) {
        CHECK_NEAR(after[p * stride], v[p], tolerance);
        CHECK(after[p * stride] >= 0);
        sum += (double)after[p * stride];
    }
    if (phases > 1) CHECK_NEAR(sum, 1, 4e-7);
}

static void check_project(struct mf_queue *q, struct mf_extent e, double lo, double hi, double tolerance)
{
    const size_t stride = e.planes * e.plane;
    float *x = random_slab(e, 8, lo, hi), *y = malloc(voxels(e) * sizeof *y), *z = malloc(voxels(e) * sizeof *z);

    memcpy(y, x, voxels(e) * sizeof *x);
    ops->project(q, e, y);
    memcpy(z, y, voxels(e) * sizeof *x);
    ops->project(q, e, z);
    for (size_t i = 0; i < stride; ++i) check_voxel(e.phases, stride, x + i, y + i, tolerance);
    for (size_t i = 0; i < voxels(e); ++i) CHECK_NEAR(z[i], y[i], 3e-7);
    free(x);
    free(y);
    free(z);
}

int main(void)
{
    struct mf_queue *q = open_queue(1), *many = open_queue(3);
    const struct mf_backend *cpu;

    CHECK(mf_backend_find(&cpu, "cpu") == MF_OK && cpu == &mf_backend_cpu);
    CHECK(mf_backend_find(&cpu, "abacus") == MF_USAGE);
    ops = cpu->field;
    for (size_t c = 0; c < CASES; ++c) {
        check_elementwise(c % 2 ? q : many, cases[c]);
        check_sums(q, many, cases[c]);
        check_guide(q, many, cases[c]);
        check_project(many, cases[c], -0.5, 1.5, 5e-7);
        check_project(q, cases[c], 0.2, 0.3, 5e-7);
        check_project(q, cases[c], -1e4, 1e4, 2e-3);
        check_project(q, cases[c], 0, 0, 5e-7);
    }
    check_project(q, (struct mf_extent){32, 2, 111}, -0.5, 1.5, 5e-7);
    mf_backend_cpu.queue_close(q);
    mf_backend_cpu.queue_close(many);
    return failures != 0;
}
