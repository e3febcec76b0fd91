/* Engine `fftw` of S2: transforms one slice at a time by real FFTW transforms, for any extents. A slice always has the
 * same alignment and the same plan, so its result does not depend on the batch. */
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/fftw_memory.h"
#include "kernels/cpu/slices/corr.h"
#include "kernels/cpu/slices/slice.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

struct fft {
    fftwf_plan forward, inverse; /* real [mu][mv] -> x [mu][mv/2+1]; x -> real, destroys x */
};

/* One thread's work. */
struct area {
    float *plane;     /* the slice, all levels one after the other */
    float *grad;      /* its gradient, alike */
    float *real;      /* [mu][mv] */
    fftwf_complex *x; /* [mu][mv/2+1] spectrum of the slice */
    fftwf_complex *p; /* [mu][mv/2+1] |x|^2, then the spectrum of the gradient's window */
    float *energy;    /* [mu][mv/2+1] of all levels one after the other: |x|^2 of slices added */
};

struct state {
    struct fft *fft; /* [levels] */
    size_t *at;      /* [levels] where a level begins in a plane */
    size_t *from;    /* [levels] where it begins among the energies */
    float *memory;   /* all areas; what is read of them was written before */
    size_t areas;    /* as many as slices are worked on at a time */
    size_t each;     /* floats of one area */
    size_t planes, reals, spectra, energies;
    ptrdiff_t held, booked; /* bytes that FFTW took for it, what else it took before included; the same with buffers */
};

static size_t even64(size_t floats) { return (floats + 15) / 16 * 16; }

static struct area area(const struct state *st, size_t i)
{
    float *p = st->memory + i * st->each;
    struct area a = {.plane = p, .grad = p + st->planes, .real = p + 2 * st->planes};

    a.x = (fftwf_complex *)(void *)(a.real + st->reals);
    a.p = a.x + st->spectra / 2;
    a.energy = (float *)(a.p + st->spectra / 2);
    return a;
}

static void sizes(const struct mf_slice_plan *plan, struct state *st)
{
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        const struct mf_corr_level *v = &plan->level[l];
        size_t real = even64(v->mu * v->mv), spectrum = even64(2 * v->mu * (v->mv / 2 + 1));

        st->at[l] = st->planes;
        st->planes += even64(v->nu * v->nv);
        if (l < plan->desc.first) continue;
        st->from[l] = st->energies;
        st->energies += even64(v->mu * (v->mv / 2 + 1));
        if (real > st->reals) st->reals = real;
        if (spectrum > st->spectra) st->spectra = spectrum;
    }
    st->each = 2 * st->planes + st->reals + 2 * st->spectra + st->energies;
}

/* To execute plans and see what they take would touch the areas, which a dry run does not have. */
static ptrdiff_t buffers(const struct mf_slice_plan *plan, const struct state *st)
{
    const struct mf_corr_level *l = &plan->level[plan->desc.first];

    return (ptrdiff_t)(st->areas * mf_fftw_buffers(l->mu, l->mv));
}

/* Plans by estimate: those that are measured may differ from rank to rank, and the results with them. */
static int transforms(struct mf_slice_plan *plan, struct state *st)
{
    struct area a = area(st, 0);
    size_t missing = 0;
    int rc;

    mf_fftw_begin();
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        int mu = (int)plan->level[l].mu, mv = (int)plan->level[l].mv;

        st->fft[l].forward = fftwf_plan_dft_r2c_2d(mu, mv, a.real, a.x, FFTW_ESTIMATE);
        st->fft[l].inverse = fftwf_plan_dft_c2r_2d(mu, mv, a.x, a.real, FFTW_ESTIMATE);
        missing += !st->fft[l].forward || !st->fft[l].inverse;
    }
    st->held = mf_fftw_made();
    if (missing)
        return mf_fail(MF_MEMORY, "S2: FFTW has no plan for slices of %zu x %zu pixels", plan->desc.nu, plan->desc.nv);
    st->booked = st->held + buffers(plan, st);
    rc = mf_arena_book(plan->arena, st->booked, "FFTW plans");
    if (rc != MF_OK) st->booked = 0;
    return rc;
}

static int fftw_open(struct mf_slice_plan *plan)
{
    struct state *st = calloc(1, sizeof *st);

    if (!st) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->state = st;
    st->fft = calloc(plan->desc.levels, sizeof *st->fft);
    st->at = calloc(plan->desc.levels, sizeof *st->at);
    st->from = calloc(plan->desc.levels, sizeof *st->from);
    if (!st->fft || !st->at || !st->from) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    sizes(plan, st);
    st->areas = plan->desc.count_max < (size_t)plan->threads ? plan->desc.count_max : (size_t)plan->threads;
    if (st->areas == 0) st->areas = 1;
    st->memory = mf_arena_take(plan->arena, st->each * st->areas * sizeof(float), "S2 work");
    if (!st->memory) return MF_MEMORY;
    return transforms(plan, st);
}

static void fftw_close(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (!st) return;
    mf_fftw_begin();
    for (size_t l = 0; st->fft && l < plan->desc.levels; ++l) {
        if (st->fft[l].forward) fftwf_destroy_plan(st->fft[l].forward);
        if (st->fft[l].inverse) fftwf_destroy_plan(st->fft[l].inverse);
    }
    mf_fftw_gone(st->held);
    if (st->booked) (void)mf_arena_book(plan->arena, -st->booked, "FFTW plans");
    mf_arena_give(plan->arena, st->memory);
    free(st->fft);
    free(st->at);
    free(st->from);
    free(st);
}

/* Slice s of a view into plane [nu][nv]. */
static void load(const struct mf_view *x, size_t s, float *plane)
{
    for (size_t u = 0; u < x->nu; ++u) {
        const float *row = x->base + s * x->ss + u * x->su;

        for (size_t v = 0; v < x->nv; ++v) plane[u * x->nv + v] = row[v * x->sv];
    }
}

static void store_add(const struct mf_view *g, size_t s, const float *plane)
{
    for (size_t u = 0; u < g->nu; ++u) {
        float *row = g->base + s * g->ss + u * g->su;

        for (size_t v = 0; v < g->nv; ++v) row[v * g->sv] += plane[u * g->nv + v];
    }
}

/* Plane into the zero-padded real array. */
static void embed(const struct mf_corr_level *l, const float *plane, float *real)
{
    if (l->mu != l->nu || l->mv != l->nv) memset(real, 0, l->mu * l->mv * sizeof *real);
    for (size_t u = 0; u < l->nu; ++u) memcpy(real + u * l->mv, plane + u * l->nv, l->nv * sizeof *real);
}

static void extract(const struct mf_corr_level *l, const float *real, float *plane)
{
    for (size_t u = 0; u < l->nu; ++u) memcpy(plane + u * l->nv, real + u * l->mv, l->nv * sizeof *real);
}

/* Compares the window of correlations in `real` with its target and returns the share of the loss. `real` then holds
 * dA/dS, normalised for the inverse transform. */
static double window(const struct mf_slice_plan *plan, size_t level, const struct mf_slice_task *t, size_t s,
                     struct area *a)
{
    const struct mf_corr_level *l = &plan->level[level];
    long reach = (long)plan->desc.lag - 1;
    size_t first = level * plan->entries, i = 0;
    float *values = t->values ? t->values + s * plan->desc.levels * plan->entries + first : NULL;
    double w = t->target ? t->weight[level] : 0, scale = t->scale ? (double)t->scale[s] : 1, sum = 0;
    double fft = 1 / ((double)l->mu * (double)l->mv);
    float *back = (float *)a->p; /* |x|^2 is used up: room for the window of gradients */

    for (long du = -reach; du <= reach; ++du)
        for (long dv = -reach; dv <= reach; ++dv, ++i) {
            size_t u = du < 0 ? l->mu - (size_t)-du : (size_t)du, v = dv < 0 ? l->mv - (size_t)-dv : (size_t)dv;
            double norm = fft * mf_corr_norm(&plan->desc, l, (size_t)labs(du), (size_t)labs(dv));
            double d = (double)(float)((double)a->real[u * l->mv + v] * norm), e;

            if (values) values[i] = (float)d;
            if (!t->target) continue;
            e = w * (d - (double)t->target[first + i]);
            sum += t->power == 2 ? e * e : fabs(e);
            back[i] = (float)(2 * norm * scale * w * (t->power == 2 ? 2 * e : (e > 0) - (e < 0)));
        }
    if (!t->g.base || !t->target) return sum;
    memset(a->real, 0, l->mu * l->mv * sizeof *a->real);
    i = 0;
    for (long du = -reach; du <= reach; ++du)
        for (long dv = -reach; dv <= reach; ++dv)
            a->real[(du < 0 ? l->mu - (size_t)-du : (size_t)du) * l->mv + (dv < 0 ? l->mv - (size_t)-dv : (size_t)dv)] =
                back[i++];
    return sum;
}

static double one_level(const struct mf_slice_plan *plan, size_t level, const struct mf_slice_task *t, size_t s,
                        struct area *a)
{
    const struct state *st = plan->state;
    const struct mf_corr_level *l = &plan->level[level];
    const struct fft *f = &st->fft[level];
    size_t n = l->mu * (l->mv / 2 + 1);
    double sum;

    embed(l, a->plane + st->at[level], a->real);
    fftwf_execute_dft_r2c(f->forward, a->real, a->x);
    for (size_t i = 0; i < n; ++i) {
        a->p[i][0] = a->x[i][0] * a->x[i][0] + a->x[i][1] * a->x[i][1];
        a->p[i][1] = 0;
    }
    fftwf_execute_dft_c2r(f->inverse, a->p, a->real);
    sum = window(plan, level, t, s, a);
    if (!t->g.base || !t->target) return sum;
    fftwf_execute_dft_r2c(f->forward, a->real, a->p);
    for (size_t i = 0; i < n; ++i) {
        a->x[i][0] *= a->p[i][0];
        a->x[i][1] *= a->p[i][0];
    }
    fftwf_execute_dft_c2r(f->inverse, a->x, a->real);
    extract(l, a->real, a->grad + st->at[level]);
    return sum;
}

static void pyramid(const struct mf_slice_plan *plan, float *plane)
{
    const struct state *st = plan->state;

    for (size_t l = 1; l < plan->desc.levels; ++l)
        mf_cpu_coarsen(plan->level[l - 1].nu, plan->level[l - 1].nv, plane + st->at[l - 1], plane + st->at[l]);
}

static void one_slice(const struct mf_slice_plan *plan, const struct mf_slice_task *t, size_t s, struct area *a)
{
    const struct state *st = plan->state;
    double sum = 0;

    load(&t->x, s, a->plane);
    pyramid(plan, a->plane);
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) sum += one_level(plan, l, t, s, a);
    if (t->sum) t->sum[s] = sum;
    if (!t->g.base || !t->target) return;
    memset(a->grad, 0, st->at[plan->desc.first] * sizeof *a->grad);
    for (size_t l = plan->desc.levels - 1; l > 0; --l)
        mf_cpu_spread(plan->level[l - 1].nu, plan->level[l - 1].nv, 0.25f, a->grad + st->at[l],
                      a->grad + st->at[l - 1]);
    store_add(&t->g, s, a->grad);
}

/* This thread's share of n items, and its work area; there are as many threads as areas. */
static struct mf_span share(const struct mf_slice_plan *plan, size_t n, struct area *a)
{
    const struct state *st = plan->state;
    const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
    const size_t parts = team < st->areas ? team : st->areas;

    if (thread >= parts) return (struct mf_span){0, 0};
    *a = area(st, thread);
    return mf_cut(n, parts, thread);
}

static void fftw_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1 && task->x.count > 1)
    {
        struct area a;
        const struct mf_span mine = share(plan, task->x.count, &a);

        for (size_t s = mine.first; s < mine.first + mine.count; ++s) {
            mf_pulse_tell("S2");
            one_slice(plan, task, s, &a);
        }
    }
}

static void add_energy(const struct mf_slice_plan *plan, const struct mf_view *x, size_t s, struct area *a)
{
    const struct state *st = plan->state;

    load(x, s, a->plane);
    pyramid(plan, a->plane);
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        const struct mf_corr_level *v = &plan->level[l];
        float *to = a->energy + st->from[l];

        embed(v, a->plane + st->at[l], a->real);
        fftwf_execute_dft_r2c(st->fft[l].forward, a->real, a->x);
        for (size_t i = 0; i < v->mu * (v->mv / 2 + 1); ++i) to[i] += a->x[i][0] * a->x[i][0] + a->x[i][1] * a->x[i][1];
    }
}

/* Slices [first, first + n) into values [levels][entries]. */
static void one_group(const struct mf_slice_plan *plan, const struct mf_view *x, size_t first, size_t n, float *values,
                      struct area *a, int *stopped)
{
    const struct state *st = plan->state;
    const struct mf_slice_task task = {.values = values};

    memset(a->energy, 0, st->energies * sizeof *a->energy);
    for (size_t s = first; s < first + n && !mf_cpu_breaks("S2", stopped); ++s) add_energy(plan, x, s, a);
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        const struct mf_corr_level *v = &plan->level[l];

        for (size_t i = 0; i < v->mu * (v->mv / 2 + 1); ++i) {
            a->p[i][0] = a->energy[st->from[l] + i];
            a->p[i][1] = 0;
        }
        fftwf_execute_dft_c2r(st->fft[l].inverse, a->p, a->real);
        (void)window(plan, l, &task, 0, a);
    }
}

static void fftw_total(struct mf_slice_plan *plan, const struct mf_view *x, size_t each, float *values)
{
    const size_t groups = (x->count + each - 1) / each, size = plan->desc.levels * plan->entries;
    int stopped = 0;

#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1 && groups > 1)
    {
        struct area a;
        const struct mf_span mine = share(plan, groups, &a);

        for (size_t k = mine.first; k < mine.first + mine.count; ++k)
            one_group(plan, x, k * each, x->count - k * each < each ? x->count - k * each : each, values + k * size, &a,
                      &stopped);
    }
}

static void cross_level(const struct mf_slice_plan *plan, size_t level, const struct area *a, float *values)
{
    const struct state *st = plan->state;
    const struct mf_corr_level *l = &plan->level[level];
    long reach = (long)plan->desc.lag - 1;
    double fft = 1 / ((double)l->mu * (double)l->mv);

    embed(l, a->plane + st->at[level], a->real);
    fftwf_execute_dft_r2c(st->fft[level].forward, a->real, a->x);
    embed(l, a->grad + st->at[level], a->real);
    fftwf_execute_dft_r2c(st->fft[level].forward, a->real, a->p);
    for (size_t i = 0; i < l->mu * (l->mv / 2 + 1); ++i) {
        float r = a->x[i][0] * a->p[i][0] + a->x[i][1] * a->p[i][1];

        a->p[i][1] = a->x[i][0] * a->p[i][1] - a->x[i][1] * a->p[i][0];
        a->p[i][0] = r;
    }
    fftwf_execute_dft_c2r(st->fft[level].inverse, a->p, a->real);
    for (long du = -reach; du <= reach; ++du)
        for (long dv = -reach; dv <= reach; ++dv) {
            size_t u = du < 0 ? l->mu - (size_t)-du : (size_t)du, v = dv < 0 ? l->mv - (size_t)-dv : (size_t)dv;

            *values++ = (float)((double)a->real[u * l->mv + v] * fft *
                                mf_corr_norm(&plan->desc, l, (size_t)labs(du), (size_t)labs(dv)));
        }
}

static void fftw_cross(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, float *values)
{
    int stopped = 0;

#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1 && x->count > 1)
    {
        struct area a;
        const struct mf_span mine = share(plan, x->count, &a);

        for (size_t s = mine.first; s < mine.first + mine.count && !mf_cpu_breaks("S2", &stopped); ++s) {
            load(x, s, a.plane);
            load(y, s, a.grad);
            pyramid(plan, a.plane);
            pyramid(plan, a.grad);
            for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
                cross_level(plan, l, &a, values + (s * plan->desc.levels + l) * plan->entries);
        }
    }
}

const struct mf_corr_engine mf_corr_fftw = {
    .name = "fftw",
    .open = fftw_open,
    .close = fftw_close,
    .eval = fftw_eval,
    .total = fftw_total,
    .cross = fftw_cross,
};
