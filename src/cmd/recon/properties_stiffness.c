/* See properties_stiffness.h. */
#include "src/cmd/recon/properties_stiffness.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/unused.h"

static const char *const order[] = {"xx", "yy", "zz", "yz", "xz", "xy"};
static const double NOTHING = 1e-6;  /* of the largest C11: no stiffness */
static const double ROUNDING = 1e-9; /* of the largest entry: printed as 0 */

/* -- options -- */

int mf_stiffness_asked(const struct properties *o) { return o->young.count || o->poisson.count || o->stiffness.count; }

size_t mf_stiffness_phases(const struct properties *o)
{
    return o->stiffness.count ? o->stiffness.count / 3 : o->young.count;
}

static struct mf_elastic_phase phase_of(const struct properties *o, size_t i)
{
    const double *c = o->stiffness.count ? o->stiffness.at + 3 * i : NULL;

    if (c) return (struct mf_elastic_phase){c[0], c[1], c[2]};
    return mf_elastic_isotropic(o->young.at[i], o->poisson.at[o->poisson.count > 1 ? i : 0]);
}

static int check_isotropic(const struct properties *o)
{
    if (!o->young.count || !o->poisson.count)
        return mf_fail(MF_USAGE, "--young and --poisson belong together; try: --young 1 10 --poisson 0.3");
    if (o->poisson.count > 1 && o->poisson.count != o->young.count)
        return mf_fail(MF_USAGE, "--young has %zu values, but --poisson %zu", o->young.count, o->poisson.count);
    for (size_t i = 0; i < o->young.count; ++i)
        if (!(o->young.at[i] >= 0) || !isfinite(o->young.at[i]))
            return mf_fail(MF_USAGE, "--young %g: 0 or more", o->young.at[i]);
    for (size_t i = 0; i < o->poisson.count; ++i)
        if (!(o->poisson.at[i] > -1 && o->poisson.at[i] < 0.5))
            return mf_fail(MF_USAGE, "--poisson %g: above -1 and below 0.5", o->poisson.at[i]);
    return MF_OK;
}

int mf_stiffness_check(const struct mf_session *session, const struct properties *o)
{
    struct mf_elastic_phase phase[MF_PHASES_MAX];

    if (o->conductivity.count || o->conducting.count)
        return mf_fail(MF_USAGE, "conduction and stiffness are two runs; leave out --conductivity, or --young");
    if (o->stiffness.count && (o->young.count || o->poisson.count))
        return mf_fail(MF_USAGE, "--stiffness says what --young and --poisson say; leave one of them out");
    if (o->stiffness.count % 3)
        return mf_fail(MF_USAGE, "--stiffness has %zu values; it takes C11 C12 C44 of each label", o->stiffness.count);
    if (!o->stiffness.count) MF_TRY(check_isotropic(o));
    if (mf_stiffness_phases(o) > MF_PHASES_MAX) return mf_fail(MF_USAGE, "stiffness: at most %d labels", MF_PHASES_MAX);
    MF_UNUSED(session, "stiffness is that of a period, along all axes", "boundary", "sides", "axes");
    for (size_t i = 0; i < mf_stiffness_phases(o); ++i) phase[i] = phase_of(o, i);
    return mf_elastic_check(mf_stiffness_phases(o), phase);
}

/* -- a file -- */

int mf_stiffness_problem(const struct properties *o, const struct mf_micro *micro, struct mf_conducted *c)
{
    struct mf_stiffness *s = &c->stiffness;
    const size_t given = mf_stiffness_phases(o);
    double most = 0;

    if (given < (size_t)micro->phases)
        return mf_fail(MF_INPUT, "'%s' has %d labels, but %s has values of %zu", c->file, micro->phases,
                       o->stiffness.count ? "--stiffness" : "--young", given);
    if (given > (size_t)micro->phases)
        mf_warn("'%s' has %d label%s, but %s has values of %zu: those behind have no effect", c->file, micro->phases,
                MF_S(micro->phases), o->stiffness.count ? "--stiffness" : "--young", given);
    s->asked = 1;
    s->opts.tolerance = o->tolerance;
    s->opts.scheme = o->scheme;
    for (int p = 0; p < micro->phases; ++p) {
        if (c->fraction[p] > 0) s->opts.phase[p] = phase_of(o, (size_t)p);
        most = fmax(most, s->opts.phase[p].c11);
    }
    return most > 0 ? MF_OK : mf_fail(MF_INPUT, "'%s' has no solid label: all of its labels are voids", c->file);
}

static void warn_of_none(const struct mf_conducted *c)
{
    double most = 0;

    for (int p = 0; p < c->phases; ++p) most = fmax(most, c->stiffness.opts.phase[p].c11);
    for (size_t k = 0; k < 6; ++k)
        if (!(c->stiffness.of.c[k][k] > NOTHING * most))
            mf_warn("'%s': nothing resists a strain %s", c->file, order[k]);
}

/* The other scheme may take too many iterations; then the error of the grid stays unknown. */
static int solve_other(struct mf_session *s, const struct mf_micro *micro, struct mf_conducted *c)
{
    struct mf_elastic_opts other = c->stiffness.opts;
    char why[MF_ERR_TEXT];
    int rc;

    other.scheme = other.scheme == MF_ELASTIC_ROTATED ? MF_ELASTIC_STAGGERED : MF_ELASTIC_ROTATED;
    rc = mf_elastic(s->comm, s->queue, s->arena, micro, &other, &c->stiffness.other);
    if (rc != MF_NUMERIC) return rc;
    mf_err_take(why, sizeof why);
    mf_warn("'%s': the error of the grid is unknown, as the other scheme has no result: %s", c->file, why);
    c->has_errors = 0;
    return MF_OK;
}

int mf_stiffness_solve(struct mf_session *s, const struct mf_micro *micro, struct mf_conducted *c)
{
    c->boundary = "periodic";
    MF_TRY(mf_elastic(s->comm, s->queue, s->arena, micro, &c->stiffness.opts, &c->stiffness.of));
    warn_of_none(c);
    return c->has_errors ? solve_other(s, micro, c) : MF_OK;
}

/* -- what follows -- */

typedef const double row[6];

static const char *scheme(const struct mf_conducted *c)
{
    return c->stiffness.opts.scheme == MF_ELASTIC_ROTATED ? "rotated" : "staggered";
}

static const row *matrix(const struct mf_elastic *of) { return (const row *)of->c; }

static struct mf_elastic_moduli nearest(const struct mf_conducted *c, double *distance)
{
    return mf_elastic_nearest(c->ndim, matrix(&c->stiffness.of), distance);
}

static struct mf_elastic_bounds bounds(const struct mf_conducted *c)
{
    return mf_elastic_bounds(c->ndim, (size_t)c->phases, c->fraction, c->stiffness.opts.phase);
}

static size_t most_steps(const struct mf_elastic *e)
{
    size_t most = 0;

    for (size_t k = 0; k < 6; ++k) most = e->steps[k] > most ? e->steps[k] : most;
    return most;
}

/* -- text -- */

static void phases_text(FILE *to, const struct mf_conducted *c)
{
    for (int p = 0; p < c->phases; ++p) {
        const struct mf_elastic_phase *e = &c->stiffness.opts.phase[p];

        fprintf(to, " label %ld: fraction %.4f, C11 %g, C12 %g, C44 %g%s", c->label[p], c->fraction[p], e->c11, e->c12,
                e->c44, p + 1 < c->phases ? ";" : "\n");
    }
}

static void bounds_text(FILE *to, const char *name, double reuss, double voigt, double low, double high)
{
    fprintf(to, "  bounds of %s: %.5g to %.5g (Reuss, Voigt)", name, reuss, voigt);
    if (isfinite(low)) fprintf(to, ", %.5g to %.5g (Hashin-Shtrikman)", low, high);
    fputc('\n', to);
}

/* The largest difference of both schemes among the entries. */
static double grid_error(const struct mf_conducted *c)
{
    double most = 0;

    for (size_t i = 0; i < 6; ++i)
        for (size_t j = 0; j < 6; ++j) most = fmax(most, fabs(c->stiffness.of.c[i][j] - c->stiffness.other.c[i][j]));
    return most;
}

static void errors_text(FILE *to, const struct mf_conducted *c)
{
    double solver = 0, distance;
    struct mf_elastic_moduli m;

    for (size_t k = 0; k < 6; ++k) solver = fmax(solver, c->stiffness.of.left[k]);
    fprintf(to, "  errors: solver %.1g", solver);
    if (c->has_errors) {
        m = mf_elastic_nearest(c->ndim, matrix(&c->stiffness.other), &distance);
        fprintf(to, ", grid %.2g; the %s scheme has K %.5g, G %.5g, E %.5g, nu %.4f", grid_error(c),
                c->stiffness.opts.scheme == MF_ELASTIC_ROTATED ? "staggered" : "rotated", m.bulk, m.shear, m.young,
                m.poisson);
    }
    fputc('\n', to);
}

static void matrix_text(FILE *to, const struct mf_elastic *of)
{
    double most = 0;

    for (size_t k = 0; k < 6; ++k) most = fmax(most, of->c[k][k]);
    for (size_t i = 0; i < 6; ++i) {
        for (size_t j = 0; j < 6; ++j) fprintf(to, " %12.6g", fabs(of->c[i][j]) < ROUNDING * most ? 0 : of->c[i][j]);
        fputc('\n', to);
    }
}

void mf_stiffness_text(FILE *to, const struct mf_conducted *c)
{
    const struct mf_elastic_bounds b = bounds(c);
    struct mf_elastic_moduli m;
    double distance;

    mf_conducted_head(to, c);
    fprintf(to, " periodic, %s;", scheme(c));
    phases_text(to, c);
    fprintf(to, "  stiffness (xx, yy, zz, yz, xz, xy), at most %zu iteration%s:\n", most_steps(&c->stiffness.of),
            MF_S(most_steps(&c->stiffness.of)));
    matrix_text(to, &c->stiffness.of);
    m = nearest(c, &distance);
    fprintf(to, "  nearest isotropic moduli%s: K %.6g, G %.6g, E %.6g, nu %.4f; distance %.2g %%\n",
            c->ndim == 2 ? " in the plane (plane strain)" : "", m.bulk, m.shear, m.young, m.poisson, 100 * distance);
    errors_text(to, c);
    bounds_text(to, "K", b.reuss.bulk, b.voigt.bulk, b.hashin_low.bulk, b.hashin_high.bulk);
    bounds_text(to, "G", b.reuss.shear, b.voigt.shear, b.hashin_low.shear, b.hashin_high.shear);
}

/* -- JSON -- */

static struct mf_json *moduli_json(struct mf_elastic_moduli m)
{
    struct mf_json *json = mf_json_object();

    mf_json_finite(json, "bulk", m.bulk);
    mf_json_finite(json, "shear", m.shear);
    mf_json_finite(json, "young", m.young);
    mf_json_finite(json, "poisson", m.poisson);
    return json;
}

static struct mf_json *bounds_json(struct mf_elastic_bounds b)
{
    struct mf_json *json = mf_json_object(), *hashin = mf_json_array();

    MF_JSON(json, "reuss", moduli_json(b.reuss), "voigt", moduli_json(b.voigt), "hashin_shtrikman", hashin);
    mf_json_put(hashin, NULL, moduli_json(b.hashin_low));
    mf_json_put(hashin, NULL, moduli_json(b.hashin_high));
    return json;
}

static struct mf_json *phases_json(const struct mf_conducted *c)
{
    struct mf_json *list = mf_json_array();

    for (int p = 0; p < c->phases; ++p) {
        const struct mf_elastic_phase *e = &c->stiffness.opts.phase[p];
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "label", c->label[p], "fraction", c->fraction[p], "c11", e->c11, "c12", e->c12, "c44", e->c44);
        mf_json_put(list, NULL, one);
    }
    return list;
}

static struct mf_json *errors_json(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object();
    double grid[6][6], distance;

    mf_json_reals(json, "solver", c->stiffness.of.left, 6);
    if (!c->has_errors) return json;
    for (size_t i = 0; i < 36; ++i)
        grid[i / 6][i % 6] = fabs(c->stiffness.of.c[i / 6][i % 6] - c->stiffness.other.c[i / 6][i % 6]);
    mf_json_table(json, "grid", *grid, 6, 6);
    mf_json_put(json, "other_scheme", moduli_json(mf_elastic_nearest(c->ndim, matrix(&c->stiffness.other), &distance)));
    return json;
}

struct mf_json *mf_stiffness_json(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object(), *s = mf_json_object(), *near, *names = mf_json_array();
    const struct mf_elastic *of = &c->stiffness.of;
    double distance, steps[6];

    for (size_t k = 0; k < 6; ++k) mf_json_text(names, NULL, order[k]);
    for (size_t k = 0; k < 6; ++k) steps[k] = (double)of->steps[k];
    near = moduli_json(nearest(c, &distance));
    mf_json_real(near, "distance", distance);
    mf_json_table(s, "matrix", *of->c, 6, 6);
    MF_JSON(s, "order", names, "scheme", scheme(c), "isotropic", near, "error", errors_json(c), "bounds",
            bounds_json(bounds(c)));
    mf_json_wholes(s, "iterations", steps, 6);
    mf_conducted_put_head(json, c);
    MF_JSON(json, "boundary", c->boundary, "phases", phases_json(c), "stiffness", s, "seconds", c->seconds, "bytes",
            c->bytes);
    return json;
}

/* -- several files -- */

static const char *const moduli[] = {"bulk", "shear", "young", "poisson"};

/* The means of the isotropic moduli, in this order. */
static void means(size_t files, const struct mf_conducted *of, struct mf_conducted_mean m[4])
{
    double *value = MF_MUST(calloc(4 * files, sizeof *value), "a list");
    double distance;

    for (size_t i = 0; i < files; ++i) {
        const struct mf_elastic_moduli e = nearest(&of[i], &distance);

        value[i] = e.bulk, value[files + i] = e.shear;
        value[2 * files + i] = e.young, value[3 * files + i] = e.poisson;
    }
    for (size_t k = 0; k < 4; ++k) m[k] = mf_mean_of(files, value + k * files);
    free(value);
}

void mf_stiffness_means_text(FILE *to, size_t files, const struct mf_conducted *of)
{
    struct mf_conducted_mean m[4];

    if (files < 2 || !mf_conducted_alike(files, of)) return;
    means(files, of, m);
    for (size_t k = 0; k < 4; ++k)
        fprintf(to, "%s of %zu files: %.6g +- %.2g (95 %% interval of the mean), deviation %.3g\n",
                k == 3   ? "Poisson ratio"
                : k == 2 ? "Young's modulus"
                : k == 1 ? "shear modulus"
                         : "bulk modulus",
                files, m[k].mean, m[k].interval, m[k].deviation);
}

struct mf_json *mf_stiffness_means_json(size_t files, const struct mf_conducted *of, struct mf_json *each)
{
    struct mf_json *json = mf_json_object(), *mean = mf_json_object(), *deviation = mf_json_object();
    struct mf_json *interval = mf_json_object();
    struct mf_conducted_mean m[4];

    if (files > 1 && mf_conducted_alike(files, of)) {
        means(files, of, m);
        for (size_t k = 0; k < 4; ++k) {
            mf_json_real(mean, moduli[k], m[k].mean);
            mf_json_real(deviation, moduli[k], m[k].deviation);
            mf_json_real(interval, moduli[k], m[k].interval);
        }
    }
    MF_JSON(json, "files", each, "mean", mean, "deviation", deviation, "interval", interval);
    return json;
}
