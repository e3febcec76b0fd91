/* A run of no evaluation leaves the field as it is, whatever the optimiser; one of a few keeps the best point. */
#include "src/optim/optim.h"

#include "tests/device.h"

enum { N = 64 };

static struct device d;

/* f = sum (x - 0.3)^2 */
static int evaluate(void *context, float *x, float *g, double *loss)
{
    float at[N], slope[N];

    ++*(int *)context;
    *loss = 0;
    d.be->get(d.q, at, x, sizeof at);
    for (int i = 0; i < N; ++i) {
        double off = (double)at[i] - 0.3;

        *loss += off * off;
        slope[i] = (float)(2 * off);
    }
    d.be->put(d.q, g, slope, sizeof slope);
    return MF_OK;
}

static void add(void *context, size_t n, const double *values, int largest, double *total)
{
    (void)context, (void)largest; /* one plane */
    for (size_t k = 0; k < n; ++k) total[k] = values[k];
}

/* Largest distance of x from 0.3 after @p evaluations; how many were made into *made. */
static double worst(const char *name, long evaluations, int *made)
{
    struct mf_method_opts opts = {.history = 1, .rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-7};
    struct mf_problem problem = {made, evaluate, add, NULL};
    struct mf_optimiser o;
    double most = 0;
    float x[N];

    *made = 0;
    CHECK(mf_method_find(&opts.method, name) == MF_OK);
    CHECK(mf_optimiser_new(&o, d.be, d.q, (struct mf_extent){1, 1, N}, &opts) == MF_OK);
    d.be->field->fill(d.q, N, 0.8f, o.x);
    d.be->field->fill(d.q, N, -7, o.own[0]); /* what nobody has written */
    CHECK(mf_optimiser_run(&o, &problem, evaluations) == MF_OK);
    d.be->get(d.q, x, o.x, sizeof x);
    for (int i = 0; i < N; ++i) most = fmax(most, fabs((double)x[i] - 0.3));
    mf_optimiser_free(&o);
    return most;
}

int main(void)
{
    static const char *const names[] = {"LBFGSB", "Adam"};
    int made;

    d = device_open(1, 1, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        CHECK_NEAR(worst(names[i], 0, &made), 0.5, 1e-6);
        CHECK(made == 0);
        CHECK(worst(names[i], 5, &made) < 0.5 - 1e-3);
        CHECK(made > 1 && made <= 5);
    }
    device_close(&d);
    return failures != 0;
}
