/* See elastic.h: conjugate gradients, load case by load case. */
#include "src/prop/elastic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/elastic.h"
#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/prop/elastic_field.h"

enum { WINDOW = 16 }; /* falls of the energy, which estimate those to come */

static const double LITTLE = 1e-3; /* times the tolerance */
static const double FLOOR = 1e-4;  /* stiffness below this times the largest is as good as none */

/* Adds the sums of all planes, in their order. */
static void add_up(const struct mf_elastic_field *f, size_t each, double *sum)
{
    const size_t n = f->grid.n[0];

    memset(f->all, 0, n * each * sizeof *f->all);
    if (f->count) memcpy(f->all + f->first * each, f->sums, f->count * each * sizeof *f->all);
    mf_comm_sum(f->comm, n * each, f->all);
    for (size_t k = 0; k < each; ++k) sum[k] = 0;
    for (size_t z = 0; z < n; ++z)
        for (size_t k = 0; k < each; ++k) sum[k] += f->all[z * each + k] / f->voxels;
}

/* y = A x, with the stresses of a mean strain. sum: x y and, with a strain, the mean stresses. */
static void apply(const struct mf_elastic_field *f, const float *strain, float *x, float *y,
                  double sum[MF_ELASTIC_SUMS])
{
    const int threads = f->queue->threads;

    mf_elastic_border(f, x);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t) {
        const struct mf_span own = mf_cut(f->count, (size_t)threads, (size_t)t);

        mf_elastic_apply(&f->grid, f->code, strain, x, y, own.first, own.count, f->work + (size_t)t * f->each, f->sums);
    }
    add_up(f, MF_ELASTIC_SUMS, sum);
}

static double dot(const struct mf_elastic_field *f, float *x, float *y)
{
    double sum;

#pragma omp parallel for num_threads(f->queue->threads) if (f->queue->threads > 1)
    for (size_t z = 0; z < f->count; ++z) f->sums[z] = mf_elastic_dot(&f->grid, x + z * f->plane, y + z * f->plane);
    add_up(f, 1, &sum);
    return sum;
}

/* p = z + beta p */
static void turn(const struct mf_elastic_field *f, double beta)
{
#pragma omp parallel for num_threads(f->queue->threads) if (f->queue->threads > 1)
    for (size_t z = 0; z < f->count; ++z)
        mf_elastic_turn(&f->grid, (float)beta, f->z + z * f->plane, f->p + z * f->plane);
}

/* y += alpha x */
static void move(const struct mf_elastic_field *f, double alpha, float *x, float *y)
{
#pragma omp parallel for num_threads(f->queue->threads) if (f->queue->threads > 1)
    for (size_t z = 0; z < f->count; ++z) mf_elastic_move(&f->grid, (float)alpha, x + z * f->plane, y + z * f->plane);
}

static void clear(const struct mf_elastic_field *f, float *x) { memset(x, 0, f->count * f->plane * sizeof *x); }

/* A step along z + beta p. Returns by how much the energy falls; NAN if a number is none. */
static double step(const struct mf_elastic_field *f, float *u, double rz, double beta)
{
    double sum[MF_ELASTIC_SUMS], alpha;

    turn(f, beta);
    apply(f, NULL, f->p, f->z, sum);
    if (sum[0] <= 0) return 0;
    alpha = rz / sum[0];
    move(f, alpha, f->p, u);
    move(f, -alpha, f->z, f->r);
    return alpha * rz;
}

/** A load case: a mean strain, its displacements, and what came of it. */
struct load {
    float strain[6];
    float *u;
    double floor, energy, left;
    size_t steps, earlier; /* of this one; of those before it */
    double stress[6];      /* means, with u */
    char name[32];
};

/* r = -(forces of the strain and u); the mean stresses, and the energy. */
static void begin(const struct mf_elastic_field *f, struct load *load)
{
    double sum[MF_ELASTIC_SUMS];

    apply(f, load->strain, load->u, f->z, sum);
    clear(f, f->r);
    move(f, -1, f->z, f->r);
    memcpy(load->stress, sum + 1, sizeof load->stress);
    load->energy = sum[0];
    for (int k = 0; k < 6; ++k) load->energy += (double)load->strain[k] * sum[1 + k];
}

/* Estimates how far the energy will still fall, after @p n falls up to @p end. The last window of falls is to those to
 * come as the window before is to it. The result is no less than the last fall. */
static double left_of(size_t n, const double *end)
{
    const size_t window = n / 3 < WINDOW ? n / 3 : WINDOW;
    double now = 0, before = 0;

    for (size_t k = 1; k <= window; ++k) {
        now += *(end - k);
        before += *(end - k - window);
    }
    return now < before ? fmax(end[-1], now * now / (before - now)) : INFINITY;
}

/* From the residual until little is left to fall. A zero residual is the end. */
static int iterate(const struct mf_elastic_field *f, double tolerance, struct load *load, double *energy)
{
    double before = 0, fall[MF_ELASTIC_STEPS], measure; /* what falls are compared with */

    *energy = load->energy;
    clear(f, f->p);
    for (size_t i = 0; load->steps < MF_ELASTIC_STEPS; ++i) {
        double rz;

        MF_TRY(mf_pulse_all(f->comm, "stiffness"));
        mf_elastic_precondition(f);
        rz = dot(f, f->r, f->z);
        fall[i] = rz <= 0 ? 0 : step(f, load->u, rz, before > 0 ? rz / before : 0);
        if (!isfinite(fall[i]) || !isfinite(rz))
            return mf_fail(MF_NUMERIC, "stiffness: after %zu iterations the residual is no number", load->steps);
        before = rz;
        *energy -= fall[i];
        measure = *energy + load->floor;
        load->left = 0;
        if (!(fall[i] > LITTLE * tolerance * measure)) return MF_OK; /* what is left is rounding */
        ++load->steps;
        mf_progress("stiffness: iteration", (long)(load->earlier + load->steps), 0, load->name);
        load->left = left_of(i + 1, fall + i + 1);
        if (load->left < tolerance * measure) return MF_OK;
    }
    return mf_fail(MF_NUMERIC, "stiffness: no convergence in %d iterations; try: a larger --tolerance, or --scheme %s",
                   MF_ELASTIC_STEPS, f->grid.rotated ? "staggered" : "rotated");
}

/* Rounding lets the residual drift from the true one. Where the energy tells so, the iteration begins again from there,
 * as long as the energy falls. */
static int settle(const struct mf_elastic_field *f, double tolerance, struct load *load)
{
    begin(f, load);
    for (;;) {
        const double start = load->energy;
        double expected, little;

        MF_TRY(iterate(f, tolerance, load, &expected));
        begin(f, load);
        little = tolerance * (load->energy + load->floor);
        if (!(fabs(load->energy - expected) > little) || start - load->energy <= little) return MF_OK;
    }
}

/* Our components zz, yy, xx, yx, zx, zy are Voigt's in another order. */
static size_t voigt(size_t k) { return k < 3 ? 2 - k : 8 - k; }

/* An entry is the energy between two load cases: the mean stress of one along the strain of the other. Subtracted is
 * the product of the other's displacements and the residual. So the error is the product of both errors. */
static void couple(const struct mf_elastic_field *f, const struct load *load, size_t j, double unit,
                   struct mf_elastic *out)
{
    for (size_t i = 0; i <= j; ++i) {
        const double c = unit * (load->stress[i] - dot(f, f->u[i], f->r));

        out->c[voigt(i)][voigt(j)] = out->c[voigt(j)][voigt(i)] = c;
    }
}

static int solve(struct mf_elastic_field *f, const struct mf_elastic_opts *opts, double unit, struct mf_elastic *out)
{
    size_t steps = 0;

    for (size_t j = 0; j < 6; ++j) {
        struct load load = {.u = f->u[j], .earlier = steps};

        snprintf(load.name, sizeof load.name, "load case %zu of 6, %s", j + 1,
                 f->grid.rotated ? "rotated" : "staggered");
        load.strain[j] = 1;
        load.floor = FLOOR * (j < 3 ? f->most[0] : f->most[1]);
        clear(f, f->u[j]);
        MF_TRY(settle(f, opts->tolerance, &load));
        couple(f, &load, j, unit, out);
        out->left[voigt(j)] = unit * load.left;
        out->steps[voigt(j)] = load.steps;
        steps += load.steps;
    }
    return MF_OK;
}

static struct mf_phase phase = {.name = "stiffness", .kind = MF_WORK};

int mf_elastic(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena, const struct mf_micro *micro,
               const struct mf_elastic_opts *opts, struct mf_elastic *out)
{
    struct mf_elastic_field f;
    double unit;
    int rc;
    MF_PHASE(&phase);

    *out = (struct mf_elastic){.steps = {0}};
    rc = mf_elastic_open(comm, queue, arena, micro, opts, 0, &unit, &f);
    if (rc == MF_OK) rc = solve(&f, opts, unit, out);
    mf_elastic_close(&f);
    return rc;
}

int mf_elastic_measure(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                       const struct mf_micro *micro, const struct mf_elastic_opts *opts)
{
    struct mf_elastic_field f;
    double unit;
    const int rc = mf_elastic_open(comm, queue, arena, micro, opts, 1, &unit, &f);

    mf_elastic_close(&f);
    return rc;
}
