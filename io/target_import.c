/* Two-point statistics of other programs. See target.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/hash.h"
#include "io/phases.h"
#include "io/target.h"
#include "src/base/err.h"
#include "src/base/log.h"

/* Values larger than this are no window anybody measured. */
static const size_t most = (size_t)1 << 28;

static int check_array(const struct mf_array *a)
{
    int image = a->ndim == 2 || (a->ndim == 3 && a->shape[2] == 1);

    if (a->format != MF_NPY || !image)
        return mf_fail(MF_INPUT, "'%s' is no two-point statistics: it must be a .npy of [H][W] or [H][W][1] numbers",
                       a->path);
    return MF_OK;
}

/* Largest lag so that -L+1..L-1 about n / 2 lies in 0..n-1. */
static size_t largest_lag(size_t n)
{
    size_t below = n / 2, above = n - 1 - n / 2;

    return (below < above ? below : above) + 1;
}

static size_t largest_of(const struct mf_array *a)
{
    size_t u = largest_lag(a->shape[0]), v = largest_lag(a->shape[1]);

    return u < v ? u : v;
}

/* The window that is wanted, or where nobody named it what there is of it. */
static int choose_lag(const struct mf_array *a, int named, size_t *wanted)
{
    size_t largest = largest_of(a), lag = *wanted;

    if (lag == MF_ALL_LAGS || (!named && lag > largest)) {
        if (lag != MF_ALL_LAGS)
            mf_info("the %zu x %zu lags of '%s' allow --limit_to %zu, which is used", a->shape[0], a->shape[1], a->path,
                    largest);
        *wanted = largest;
        return MF_OK;
    }
    if (lag >= 1 && lag <= largest) return MF_OK;
    return mf_fail(MF_USAGE, "the %zu x %zu lags of '%s' allow --limit_to 1 to %zu, not %zu", a->shape[0], a->shape[1],
                   a->path, largest, lag);
}

static int check_values(const struct mf_array *a, const double *s2)
{
    size_t count = a->shape[0] * a->shape[1];
    double centre = s2[a->shape[0] / 2 * a->shape[1] + a->shape[1] / 2], slack = 1e-6;

    for (size_t i = 0; i < count; ++i) {
        if (isnan(s2[i]))
            return mf_fail(MF_INPUT, "'%s' is no two-point statistics: it is NaN at [%zu][%zu]", a->path,
                           i / a->shape[1], i % a->shape[1]);
        if (!(s2[i] >= -slack && s2[i] <= 1 + slack))
            return mf_fail(MF_INPUT, "'%s' is no two-point statistics: it holds %g, not a probability", a->path, s2[i]);
        if (s2[i] > centre + slack)
            return mf_fail(MF_INPUT,
                           "'%s' is no two-point statistics: it is %g at [%zu][%zu] but %g at [H/2][W/2], where zero "
                           "lag must be (numpy.fft.fftshift puts it there)",
                           a->path, s2[i], i / a->shape[1], i % a->shape[1], centre);
    }
    return MF_OK;
}

/* Lags r and -r are the same pairs. Two events of probability f occur together with at least 2 f - 1. Lags are centred,
 * so an axis of even length has one lag without an opposite. */
static int check_pairs(const struct mf_array *a, const double *s2)
{
    size_t h = a->shape[0], w = a->shape[1], i0 = h % 2 ? 0 : 1, j0 = w % 2 ? 0 : 1;
    double least = 2 * s2[h / 2 * w + w / 2] - 1, slack = 0.01;

    for (size_t i = i0; i < h; ++i)
        for (size_t j = j0; j < w; ++j) {
            double here = s2[i * w + j], there = s2[(h - 1 + i0 - i) * w + (w - 1 + j0 - j)];

            if (fabs(here - there) > slack)
                return mf_fail(MF_INPUT,
                               "'%s' is no two-point statistics: it is %g at [%zu][%zu] and %g at the opposite lag",
                               a->path, here, i, j, there);
            if (here < least - slack)
                return mf_fail(MF_INPUT,
                               "'%s' is no two-point statistics: it is %g at [%zu][%zu], less than a phase of volume "
                               "fraction %g can have",
                               a->path, here, i, j, (least + 1) / 2);
        }
    return MF_OK;
}

/* Cuts the window out and gives both halves their mean. */
static void cut(const struct mf_array *a, const double *values, size_t lag, double *s2)
{
    size_t width = 2 * lag - 1, columns = a->shape[1], top = a->shape[0] / 2 - (lag - 1),
           left = columns / 2 - (lag - 1);
    size_t last = width * width - 1;

    for (size_t i = 0; i < width; ++i)
        for (size_t j = 0; j < width; ++j) s2[i * width + j] = values[(top + i) * columns + left + j];
    for (size_t i = 0; i < last - i; ++i) s2[i] = s2[last - i] = (s2[i] + s2[last - i]) / 2;
}

/* Nothing but 0, 1, .. and not all of it the same: what a labelled image holds, and no window of S2. */
static int is_labelled(const struct mf_array *a, const double *values)
{
    size_t count = a->shape[0] * a->shape[1], others = 0;

    for (size_t i = 0; i < count; ++i) {
        if (!(values[i] >= 0 && values[i] < MF_PHASES_MAX && values[i] == floor(values[i]))) return 0;
        others += values[i] != values[0];
    }
    return others > 0;
}

static int check(const struct mf_array *a, const double *values)
{
    int rc = check_values(a, values);
    char why[MF_ERR_TEXT];

    if (rc == MF_OK) rc = check_pairs(a, values);
    if (rc != MF_INPUT || !is_labelled(a, values)) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%s; it looks like a microstructure; try: mesoforge match %s", why, a->path);
}

static int fill(const struct mf_array *a, size_t lag, struct mf_target *t)
{
    const char *slash = strrchr(a->path, '/');
    double *values = NULL;
    int rc;

    *t = (struct mf_target){.phases = 1, .label = {1}, .lag = lag, .periodic = 1, .sides = 1, .spacing = {1, 1, 1}};
    snprintf(t->source, sizeof t->source, "%.255s", slash ? slash + 1 : a->path);
    if (!a->lent) MF_TRY(mf_hash_file(a->path, t->hash));
    MF_TRY(mf_target_side_new(&t->side[0], 1, 1, lag, 0));
    free(t->side[0].variation);
    t->side[0].variation = NULL;
    t->side[0].nu = a->shape[0];
    t->side[0].nv = a->shape[1];
    t->side[0].slices = 1;
    MF_TRY(mf_array_load(a, most, &values));
    rc = check(a, values);
    if (rc == MF_OK) cut(a, values, lag, t->side[0].s2);
    free(values);
    t->side[0].fraction[0] = t->side[0].s2[(2 * lag - 1) * (2 * lag - 1) / 2];
    return rc;
}

static int import(const char *path, size_t lag, int named, struct mf_target *t)
{
    struct mf_array a;

    MF_TRY(mf_array_open(path, NULL, &a));
    MF_TRY(check_array(&a));
    MF_TRY(choose_lag(&a, named, &lag));
    return fill(&a, lag, t);
}

int mf_target_import(const struct mf_comm *comm, const char *path, size_t lag, int named, struct mf_target *target)
{
    MF_PHASE(&mf_phase_read);
    struct mf_target t = {0};
    int rc = mf_agree(comm, comm->rank == 0 ? import(path, lag, named, &t) : MF_OK);

    if (rc == MF_OK) rc = mf_target_share(comm, &t);
    if (rc == MF_OK)
        *target = t;
    else
        mf_target_free(&t);
    return rc;
}
