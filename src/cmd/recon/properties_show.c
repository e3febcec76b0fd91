/* See properties.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/recon/properties.h"
#include "src/cmd/recon/properties_stiffness.h"
#include "src/desc/measure.h"

static const char no_edge[] =
    "no edge is known: nothing conducts, the volume is too small, or its parts deviate as much as smaller ones";

/* -- what follows from k -- */

static double parallel(const struct mf_conducted *c)
{
    double sum = 0;

    for (int p = 0; p < c->phases; ++p) sum += c->fraction[p] * c->k[p];
    return sum / c->most;
}

static int same_conductors(const struct mf_conducted *c)
{
    for (int p = 0; p < c->phases; ++p)
        if (c->k[p] > 0 && c->k[p] < c->most && c->fraction[p] > 0) return 0;
    return 1;
}

/** Tortuosity factor: what k would be if the whole fraction lay in straight channels, over k. */
static double tortuosity(const struct mf_conducted *c, int axis) { return parallel(c) / c->axis[axis].k; }

/** The same by the fraction that carries flux. It has no meaning where conductors differ. */
static double tortuosity_carrying(const struct mf_conducted *c, int axis)
{
    return same_conductors(c) ? c->axis[axis].carries / c->axis[axis].k : NAN;
}

static struct mf_conduct_bounds bounds(const struct mf_conducted *c)
{
    return mf_conduct_bounds(c->ndim, (size_t)c->phases, c->fraction, c->k);
}

static double edge_for(const struct mf_conducted *c, int axis)
{
    return mf_conduct_edge_for(&c->sample[axis], c->axis[axis].k, c->share ? c->share : 0.01);
}

enum value { K, RELATIVE, TAU, TAU_CARRYING, FORMATION, CARRIES, SOLVER, GRID, SAMPLE, EDGE, SPREAD };

static double value_of(const struct mf_conducted *c, int a, enum value which)
{
    const struct mf_conduct *r = &c->axis[a];

    switch (which) {
    case K: return r->k * c->most;
    case RELATIVE: return r->k;
    case TAU: return tortuosity(c, a);
    case TAU_CARRYING: return tortuosity_carrying(c, a);
    case FORMATION: return 1 / r->k;
    case CARRIES: return r->carries;
    case SOLVER: return r->left * r->k * c->most;
    case GRID: return c->grid[a] * c->most;
    case SAMPLE: return c->sample[a].deviation * c->most;
    case EDGE: return edge_for(c, a);
    default: return r->spread;
    }
}

/* Around a period, with all axes known: the whole tensor [ndim x ndim]. 0: it is unknown. */
static int find_tensor(const struct mf_conducted *c, double tensor[9])
{
    const int n = c->ndim, first = 3 - c->ndim;

    if (strcmp(c->boundary, "periodic") != 0) return 0;
    for (int a = first; a < 3; ++a)
        if (!c->wanted[a]) return 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            tensor[i * n + j] =
                i == j ? c->axis[first + i].k * c->most : c->axis[first + j].column[first + i] * c->most;
    return 1;
}

/* -- text -- */

static void axis_text(FILE *to, const struct mf_conducted *c, int a)
{
    const struct mf_conduct *r = &c->axis[a];

    if (!(r->k > 0)) {
        fprintf(to, "  %s: no way through: conductivity 0, tortuosity factor infinite\n", mf_axis_name(a));
        return;
    }
    fprintf(to, "  %s: conductivity %.6g +- %.1g, tortuosity factor %.5g", mf_axis_name(a), r->k * c->most,
            r->left * r->k * c->most, tortuosity(c, a));
    if (same_conductors(c)) fprintf(to, " (%.5g by what carries)", tortuosity_carrying(c, a));
    fprintf(to, ", formation factor %.5g; %zu iteration%s\n", 1 / r->k, r->steps, MF_S(r->steps));
}

static void put_error(FILE *to, const char *name, double error)
{
    if (isfinite(error))
        fprintf(to, ", %s %.2g", name, error);
    else
        fprintf(to, ", %s unknown", name);
}

static void errors_text(FILE *to, const struct mf_conducted *c, int a)
{
    const struct mf_conduct_sample *s = &c->sample[a];

    fprintf(to, "     errors: solver %.1g", value_of(c, a, SOLVER));
    put_error(to, "grid", value_of(c, a, GRID));
    put_error(to, "sample", value_of(c, a, SAMPLE));
    if (isfinite(edge_for(c, a)))
        fprintf(to, "; 1 %% takes an edge of %.2g voxels\n", edge_for(c, a));
    else
        fprintf(to, "; %s\n", no_edge);
    for (int i = 0; i < MF_CONDUCT_CUTS && s->parts[i].count; ++i)
        fprintf(to, "     %zu parts with an edge of %.3g voxels: %.5g, deviation %.2g\n", s->parts[i].count,
                s->parts[i].edge, s->parts[i].mean * c->most, s->parts[i].deviation * c->most);
}

/** --edge-for */
static void edges_text(FILE *to, const struct mf_conducted *c)
{
    for (int a = 0; a < 3; ++a) {
        if (!c->wanted[a]) continue;
        if (isfinite(edge_for(c, a)))
            fprintf(to, "%s: %s: an edge of %.2g voxels for a deviation of %g %%\n", c->file, mf_axis_name(a),
                    edge_for(c, a), 100 * c->share);
        else
            fprintf(to, "%s: %s: %s\n", c->file, mf_axis_name(a), no_edge);
    }
}

static void tensor_text(FILE *to, const struct mf_conducted *c)
{
    double tensor[9];

    if (!find_tensor(c, tensor)) return;
    fprintf(to, "  tensor (%s):", c->ndim == 2 ? "y, x" : "z, y, x");
    for (int i = 0; i < c->ndim * c->ndim; ++i) fprintf(to, "%s %.6g", i && i % c->ndim == 0 ? ";" : "", tensor[i]);
    fputc('\n', to);
}

static void bounds_text(FILE *to, struct mf_conduct_bounds b)
{
    fprintf(to, "%.5g to %.5g (Wiener), %.5g to %.5g (Hashin-Shtrikman)\n", b.series, b.parallel, b.hashin_low,
            b.hashin_high);
}

void mf_conducted_head(FILE *to, const struct mf_conducted *c)
{
    fprintf(to, "%s: ", c->file);
    for (int a = 3 - c->ndim; a < 3; ++a) fprintf(to, "%s%zu", a > 3 - c->ndim ? " x " : "", c->dims[a]);
    fprintf(to, " voxels,");
}

void mf_conducted_text(FILE *to, const struct mf_conducted *c)
{
    if (c->stiffness.asked) {
        mf_stiffness_text(to, c);
        return;
    }
    if (c->share) {
        edges_text(to, c);
        return;
    }
    mf_conducted_head(to, c);
    fprintf(to, " %s;", c->boundary);
    for (int p = 0; p < c->phases; ++p)
        fprintf(to, " label %ld: fraction %.4f, conductivity %g%s", c->label[p], c->fraction[p], c->k[p],
                p + 1 < c->phases ? ";" : "\n");
    for (int a = 0; a < 3; ++a) {
        if (!c->wanted[a]) continue;
        axis_text(to, c, a);
        if (c->has_errors) errors_text(to, c, a);
    }
    tensor_text(to, c);
    fprintf(to, "  bounds: ");
    bounds_text(to, bounds(c));
}

/* -- JSON -- */

/* One value along each axis; null where it is infinite. */
static struct mf_json *along(const struct mf_conducted *c, enum value which)
{
    struct mf_json *json = mf_json_object();

    for (int a = 0; a < 3; ++a)
        if (c->wanted[a]) mf_json_finite(json, mf_axis_name(a), value_of(c, a, which));
    return json;
}

static struct mf_json *iterations(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object();

    for (int a = 0; a < 3; ++a)
        if (c->wanted[a]) mf_json_size(json, mf_axis_name(a), c->axis[a].steps);
    return json;
}

static struct mf_json *history(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object();
    double k[MF_CONDUCT_STEPS];

    for (int a = 0; a < 3; ++a) {
        if (!c->wanted[a]) continue;
        for (size_t i = 0; i < c->axis[a].steps; ++i) k[i] = c->axis[a].history[i] * c->most;
        mf_json_reals(json, mf_axis_name(a), k, c->axis[a].steps);
    }
    return json;
}

static struct mf_json *bounds_json(struct mf_conduct_bounds b)
{
    struct mf_json *json = mf_json_object();

    mf_json_reals(json, "wiener", (double[]){b.series, b.parallel}, 2);
    mf_json_reals(json, "hashin_shtrikman", (double[]){b.hashin_low, b.hashin_high}, 2);
    return json;
}

static struct mf_json *phases_json(const struct mf_conducted *c)
{
    struct mf_json *list = mf_json_array();

    for (int p = 0; p < c->phases; ++p) {
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "label", c->label[p], "fraction", c->fraction[p], "conductivity", c->k[p]);
        mf_json_put(list, NULL, one);
    }
    return list;
}

/** Conductivities of parts: {"z": [{"count", "edge", "mean", "deviation"}, ..], ..}. */
static struct mf_json *parts_json(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object();

    for (int a = 0; a < 3; ++a) {
        struct mf_json *list;

        if (!c->wanted[a]) continue;
        mf_json_put(json, mf_axis_name(a), list = mf_json_array());
        for (int i = 0; i < MF_CONDUCT_CUTS && c->sample[a].parts[i].count; ++i) {
            const struct mf_conduct_parts *p = &c->sample[a].parts[i];
            struct mf_json *one = mf_json_object();

            MF_JSON(one, "count", p->count, "edge", p->edge, "mean", p->mean * c->most, "deviation",
                    p->deviation * c->most);
            mf_json_put(list, NULL, one);
        }
    }
    return json;
}

static struct mf_json *edges_json(const struct mf_conducted *c)
{
    struct mf_json *json = mf_json_object();

    MF_JSON(json, "file", c->file, "percent", 100 * c->share, "edge", along(c, EDGE), "parts", parts_json(c));
    return json;
}

static struct mf_json *errors_json(const struct mf_conducted *c)
{
    struct mf_json *error = mf_json_object();

    mf_json_put(error, "solver", along(c, SOLVER));
    if (!c->has_errors) return error;
    MF_JSON(error, "grid", along(c, GRID), "sample", along(c, SAMPLE), "parts", parts_json(c), "edge_for_1_percent",
            along(c, EDGE));
    return error;
}

void mf_conducted_put_head(struct mf_json *json, const struct mf_conducted *c)
{
    struct mf_json *shape = mf_json_array();
    const int first = 3 - c->ndim;

    mf_json_text(json, "file", c->file);
    mf_json_put(json, "shape", shape);
    for (int a = first; a < 3; ++a) mf_json_size(shape, NULL, c->dims[a]);
    mf_json_reals(json, "spacing", c->spacing + first, (size_t)c->ndim);
    mf_json_text(json, "unit", c->unit);
}

struct mf_json *mf_conducted_json(const struct mf_conducted *c)
{
    struct mf_json *json, *k;
    double tensor[9];

    if (c->stiffness.asked) return mf_stiffness_json(c);
    if (c->share) return edges_json(c);
    json = mf_json_object();
    k = along(c, K);
    if (find_tensor(c, tensor)) mf_json_table(k, "tensor", tensor, (size_t)c->ndim, (size_t)c->ndim);
    mf_json_put(k, "error", errors_json(c));
    mf_conducted_put_head(json, c);
    MF_JSON(json, "boundary", c->boundary, "phases", phases_json(c), "conductivity", k, "relative_conductivity",
            along(c, RELATIVE), "tortuosity_factor", along(c, TAU), "tortuosity_factor_carrying",
            along(c, TAU_CARRYING), "formation_factor", along(c, FORMATION), "carrying_fraction", along(c, CARRIES),
            "bounds", bounds_json(bounds(c)), "iterations", iterations(c), "flux_spread", along(c, SPREAD));
    MF_JSON(json, "history", history(c), "seconds", c->seconds, "bytes", c->bytes);
    if (c->on_device) mf_json_size(json, "device_bytes", c->on_device);
    return json;
}

/* -- several files -- */

/* 0.975 quantile of Student's t. */
static double student(size_t freedom)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    const double n = (double)freedom;

    if (freedom <= sizeof table / sizeof *table) return table[freedom - 1];
    return 1.959964 + 2.37227 / n + 2.8225 / (n * n) + 2.56 / (n * n * n); /* Cornish and Fisher */
}

struct mf_conducted_mean mf_mean_of(size_t files, const double *value)
{
    struct mf_conducted_mean m = {.files = files};
    double sum = 0;

    for (size_t i = 0; i < files; ++i) m.mean += value[i] / (double)files;
    for (size_t i = 0; i < files; ++i) sum += (value[i] - m.mean) * (value[i] - m.mean);
    m.deviation = files > 1 ? sqrt(sum / (double)(files - 1)) : NAN;
    m.interval = files > 1 ? student(files - 1) * m.deviation / sqrt((double)files) : NAN;
    return m;
}

struct mf_conducted_mean mf_conducted_mean(size_t files, const struct mf_conducted *of, int axis)
{
    double *k = MF_MUST(calloc(files, sizeof *k), "a list");
    struct mf_conducted_mean m;

    for (size_t i = 0; i < files; ++i) k[i] = of[i].axis[axis].k * of[i].most;
    m = mf_mean_of(files, k);
    free(k);
    return m;
}

int mf_conducted_alike(size_t files, const struct mf_conducted *of)
{
    for (size_t i = 1; i < files; ++i)
        if (of[i].ndim != of[0].ndim) return 0;
    return 1;
}

/* Along this axis in all files? */
static int all_have(size_t files, const struct mf_conducted *of, int axis)
{
    for (size_t i = 0; i < files; ++i)
        if (!of[i].wanted[axis]) return 0;
    return files > 1 && mf_conducted_alike(files, of);
}

/* Bounds of the mean fractions. 0: files have other phases or conductivities than the first one. */
static int mean_bounds(size_t files, const struct mf_conducted *of, struct mf_conduct_bounds *b)
{
    struct mf_conducted mean = of[0];

    for (size_t i = 1; i < files; ++i) {
        if (of[i].phases != mean.phases || of[i].ndim != mean.ndim) return 0;
        for (int p = 0; p < mean.phases; ++p)
            if (of[i].k[p] != mean.k[p] || of[i].label[p] != mean.label[p]) return 0;
    }
    for (int p = 0; p < mean.phases; ++p) {
        mean.fraction[p] = 0;
        for (size_t i = 0; i < files; ++i) mean.fraction[p] += of[i].fraction[p] / (double)files;
    }
    *b = bounds(&mean);
    return files > 1;
}

void mf_conducted_means_text(FILE *to, size_t files, const struct mf_conducted *of)
{
    struct mf_conduct_bounds b;

    if (of->stiffness.asked) {
        mf_stiffness_means_text(to, files, of);
        return;
    }
    for (int a = 0; a < 3; ++a) {
        const struct mf_conducted_mean m = mf_conducted_mean(files, of, a);

        if (all_have(files, of, a))
            fprintf(to, "%s of %zu files: conductivity %.6g +- %.2g (95 %% interval of the mean), deviation %.3g\n",
                    mf_axis_name(a), files, m.mean, m.interval, m.deviation);
    }
    if (!mean_bounds(files, of, &b)) return;
    fprintf(to, "bounds of the mean fractions: ");
    bounds_text(to, b);
}

struct mf_json *mf_conducted_means_json(size_t files, const struct mf_conducted *of, struct mf_json *each)
{
    struct mf_json *json, *mean, *deviation, *interval;
    struct mf_conduct_bounds b;

    if (of->stiffness.asked) return mf_stiffness_means_json(files, of, each);
    json = mf_json_object(), mean = mf_json_object(), deviation = mf_json_object(), interval = mf_json_object();
    for (int a = 0; a < 3; ++a) {
        const struct mf_conducted_mean m = mf_conducted_mean(files, of, a);

        if (!all_have(files, of, a)) continue;
        mf_json_real(mean, mf_axis_name(a), m.mean);
        mf_json_real(deviation, mf_axis_name(a), m.deviation);
        mf_json_real(interval, mf_axis_name(a), m.interval);
    }
    MF_JSON(json, "files", each, "mean", mean, "deviation", deviation, "interval", interval);
    if (mean_bounds(files, of, &b)) mf_json_put(json, "bounds", bounds_json(b));
    return json;
}
