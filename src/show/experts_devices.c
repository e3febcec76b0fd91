/* See experts.h: experts on devices. */
#include <math.h>
#include <string.h>

#include "src/show/experts.h"

/* Bars that stand, at most, and letters of their names. Others lie, so that their names can be read. */
enum { UPRIGHT = 6, SHORT = 10 };

static int lies_down(size_t count, const char *const *names)
{
    for (size_t i = 0; i < count; ++i)
        if (strlen(names[i]) > SHORT) return 1;
    return count > UPRIGHT;
}

static void add(struct mf_figure *f, const char *title, const char *label, size_t count, const char *const *names,
                const double *values, double unit)
{
    struct mf_curve *curve = mf_figure_keep(f, sizeof *curve);
    double *y = mf_figure_keep(f, count * sizeof *y);
    const int lies = lies_down(count, names);

    for (size_t i = 0; i < count; ++i) y[i] = values[i] / unit;
    *curve = (struct mf_curve){.count = count, .y = y};
    *mf_figure_next(f) = (struct mf_panel){.kind = MF_PANEL_BARS,
                                           .title = title,
                                           .xlabel = lies ? label : "rank",
                                           .ylabel = lies ? NULL : label,
                                           .curve_count = 1,
                                           .curves = curve,
                                           .bar_count = count,
                                           .bar_names = names,
                                           .sideways = lies,
                                           .zoom = fmax(1, (10 * (double)count + 90) / 340)};
}

static double sum_of(size_t count, const double *values, double *most)
{
    double sum = 0;

    *most = 0;
    for (size_t i = 0; i < count; ++i) {
        sum += values[i];
        *most = fmax(*most, values[i]);
    }
    return sum;
}

void mf_figure_devices(struct mf_figure *f, size_t count, const struct mf_drawn_device *device)
{
    double *experts = mf_figure_keep(f, 3 * count * sizeof *experts), *parameters = experts + count, most, all;
    double *rows = parameters + count;
    const char **names = mf_figure_keep(f, count * sizeof *names);

    for (size_t i = 0; i < count; ++i) {
        experts[i] = device[i].experts;
        parameters[i] = device[i].parameters;
        rows[i] = device[i].rows;
        names[i] = mf_figure_text(f, "%s", device[i].name);
    }
    add(f, "Experts", "experts", count, names, experts, 1);
    all = sum_of(count, parameters, &most);
    add(f, mf_figure_text(f, "Parameters of experts: %.3g million", all / 1e6),
        most >= 1e5 ? "parameters [million]" : "parameters [thousand]", count, names, parameters,
        most >= 1e5 ? 1e6 : 1e3);
    all = sum_of(count, rows, &most);
    add(f,
        count > 1 && all > 0 ? mf_figure_text(f, "Rows: at most %.3g \303\227 the mean", most * (double)count / all)
                             : "Rows",
        "rows [%]", count, names, rows, all > 0 ? all / 100 : 1);
    f->columns = 3;
}
