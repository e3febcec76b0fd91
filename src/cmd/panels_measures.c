/* See panels.h: measures, whose values are found by the paths of their rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/cmd/panels.h"
#include "src/desc/measure.h"

enum { VALUES = 24 /* curves, or bars, of a picture */, NAME = 40, KEY = 48, SERIES = 6, LONGEST = 4096 };

/* What was found: lists, or numbers. */
struct found {
    struct mf_figure *figure;
    const struct mf_measure_picture *picture;
    int several; /* there are other paths in the picture: keys are told */
    size_t count;
    char name[VALUES][NAME];
    struct mf_curve curve[VALUES]; /* name not set; of a number one point */
};

static void join(char to[NAME], const char *name, const char *key)
{
    snprintf(to, NAME, "%.18s%s%.18s", name, *name && *key ? " " : "", key);
    for (char *c = to; *c; ++c)
        if (*c == '_') *c = ' ';
}

static int is_number(const struct mf_json *v)
{
    return mf_json_kind(v) == MF_JSON_INT || mf_json_kind(v) == MF_JSON_REAL || mf_json_kind(v) == MF_JSON_NULL;
}

static double number(const struct mf_json *v) { return mf_json_kind(v) == MF_JSON_NULL ? NAN : mf_json_to_real(v); }

/* A list; with keys: of members of its objects. */
static void keep(struct found *f, const struct mf_json *list, const char *x, const char *y, const char *name)
{
    const size_t n = mf_json_count(list) < LONGEST ? mf_json_count(list) : LONGEST;
    struct mf_curve *c = &f->curve[f->count];
    double *at, *value;

    if (f->count == VALUES || n == 0) return;
    at = mf_figure_keep(f->figure, 2 * n * sizeof *at);
    value = at + n;
    for (size_t i = 0; i < n; ++i) {
        const struct mf_json *item = mf_json_item(list, i);

        at[i] = x ? mf_json_to_real(mf_json_get(item, x)) : f->picture->first + (double)i;
        value[i] = number(y ? mf_json_get(item, y) : item);
    }
    *c = (struct mf_curve){.count = n, .x = at, .y = value};
    snprintf(f->name[f->count++], NAME, "%s", name);
}

static void keep_number(struct found *f, const struct mf_json *v, const char *name)
{
    double *value;

    if (f->count == VALUES) return;
    value = mf_figure_keep(f->figure, sizeof *value);
    *value = number(v);
    f->curve[f->count] = (struct mf_curve){.count = 1, .y = value};
    snprintf(f->name[f->count++], NAME, "%s", name);
}

static void take(struct found *f, const struct mf_json *v, const char *name)
{
    if (f->picture->curves && mf_json_kind(v) == MF_JSON_ARRAY)
        keep(f, v, NULL, NULL, name);
    else if (!f->picture->curves && is_number(v))
        keep_number(f, v, name);
}

static void follow(struct found *f, const struct mf_json *v, const char *path, const char *name);

/* mf_json_each(): the rest of a path, behind "*". */
struct step {
    struct found *found;
    const char *rest, *name;
};

static void see(void *context, const char *key, const struct mf_json *v)
{
    const struct step *s = context;
    char name[NAME];

    join(name, s->name, key);
    follow(s->found, v, s->rest, name);
}

/* "with 2", "with 0, 2": by the labels of an object. */
static void label_of(const struct mf_json *item, char name[NAME])
{
    const struct mf_json *labels = mf_json_get(item, "labels");

    if (labels)
        snprintf(name, NAME, "with %lld, %lld", mf_json_to_int(mf_json_item(labels, 0)),
                 mf_json_to_int(mf_json_item(labels, 1)));
    else
        snprintf(name, NAME, "with %lld", mf_json_to_int(mf_json_get(item, "label")));
}

static void follow_all(struct found *f, const struct mf_json *v, const char *rest, const char *name)
{
    struct step s = {f, rest, name};
    char label[NAME];

    mf_json_each(v, see, &s);
    for (size_t i = 0; i < mf_json_count(v); ++i) {
        label_of(mf_json_item(v, i), label);
        follow(f, mf_json_item(v, i), rest, label);
    }
}

/* The key that a path begins with, and what comes behind its dot. */
static const char *first_key(const char *path, char key[KEY])
{
    const size_t n = strcspn(path, ".|");

    snprintf(key, KEY, "%.*s", (int)n, path);
    return path[n] == '.' ? path + n + 1 : path + n;
}

static void follow(struct found *f, const struct mf_json *v, const char *path, const char *name)
{
    char key[KEY], member[KEY], told[NAME];
    const char *rest;

    if (*path == 0 || *path == '|') {
        take(f, v, name);
        return;
    }
    rest = first_key(path, key);
    if (strcmp(key, "*") == 0) {
        follow_all(f, v, rest, name);
    } else if (*key == '@') {
        (void)first_key(rest, member);
        keep(f, v, key + 1, member, member);
    } else if (mf_json_get(v, key)) {
        join(told, name, f->several ? key : "");
        follow(f, mf_json_get(v, key), rest, told);
    }
}

/* Everything that the paths of a picture lead to in the values of one phase. */
static void find(struct found *f, const struct mf_json *values)
{
    f->several = strchr(f->picture->path, '|') != NULL;
    for (const char *path = f->picture->path; path; path = strchr(path, '|')) {
        path += *path == '|';
        follow(f, values, path, "");
    }
}

static const char *title_of(struct mf_figure *f, const char *name, const struct mf_measure_picture *p, const char *of)
{
    return mf_figure_text(f, "%s%s%s%s", name, of, *p->title ? ", " : "", p->title);
}

/* ---- curves: a panel for every phase ---- */

static int draw_curves(struct mf_panels *panels, const char *name, const struct mf_measure_picture *picture,
                       const struct mf_json *phase)
{
    struct found f = {.figure = panels->figure, .picture = picture};
    const char *label = mf_figure_text(panels->figure, " of label %lld", mf_json_to_int(mf_json_get(phase, "label")));
    struct mf_curve *curves;
    struct mf_panel *panel;
    const char *title;

    find(&f, mf_json_get(phase, name));
    if (f.count == 0) return 0;
    title = title_of(panels->figure, name, picture, label);
    curves = mf_figure_keep(panels->figure, f.count * sizeof *curves);
    for (size_t i = 0; i < f.count; ++i) {
        curves[i] = f.curve[i];
        if (f.count > 1) curves[i].name = mf_figure_text(panels->figure, "%s", f.name[i]);
        curves[i].dashed = f.count <= 3 && i > 0; /* those below are seen */
    }
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_CURVES,
                               .title = title,
                               .xlabel = picture->across,
                               .ylabel = picture->value,
                               .curve_count = f.count,
                               .curves = curves};
    return 1;
}

/* ---- bars: all phases in one ---- */

/* Places of bars, by their names in the order in which they are met. */
static size_t place_of(struct found *all, const char *name)
{
    size_t i = 0;

    while (i < all->count && strcmp(all->name[i], name) != 0) ++i;
    if (i == all->count && all->count < VALUES) snprintf(all->name[all->count++], NAME, "%s", name);
    return i;
}

/* One phase's bars; the others' places are not known yet. */
static struct mf_curve series_of(struct mf_panels *panels, const struct found *f, struct found *all, const char *name)
{
    double *y = mf_figure_keep(panels->figure, VALUES * sizeof *y);

    for (size_t i = 0; i < VALUES; ++i) y[i] = NAN;
    for (size_t i = 0; i < f->count; ++i) {
        const size_t place = place_of(all, f->name[i]);

        if (place < VALUES) y[place] = f->curve[i].y[0];
    }
    return (struct mf_curve){.name = name, .count = VALUES, .y = y};
}

static int draw_bars(struct mf_panels *panels, const char *name, const struct mf_measure_picture *picture,
                     const struct mf_json *measures)
{
    const size_t phases = mf_json_count(measures) < SERIES ? mf_json_count(measures) : SERIES;
    struct mf_curve *series = mf_figure_keep(panels->figure, SERIES * sizeof *series);
    struct found all = {.count = 0};
    const char **names, *title;
    struct mf_panel *panel;

    for (size_t p = 0; p < phases; ++p) {
        const struct mf_json *phase = mf_json_item(measures, p);
        struct found f = {.figure = panels->figure, .picture = picture};

        find(&f, mf_json_get(phase, name));
        series[p] =
            series_of(panels, &f, &all,
                      mf_figure_text(panels->figure, "label %lld", mf_json_to_int(mf_json_get(phase, "label"))));
    }
    if (all.count == 0) return 0;
    names = mf_figure_keep(panels->figure, all.count * sizeof *names);
    for (size_t i = 0; i < all.count; ++i) names[i] = mf_figure_text(panels->figure, "%s", all.name[i]);
    title = title_of(panels->figure, name, picture, "");
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_BARS,
                               .title = title,
                               .ylabel = picture->value,
                               .curve_count = phases,
                               .curves = series,
                               .bar_count = all.count,
                               .bar_names = names};
    return 1;
}

/* ---- all ---- */

static void draw_picture(struct mf_panels *panels, const char *name, const struct mf_measure_picture *picture,
                         const struct mf_json *measures)
{
    const size_t phases = mf_json_count(measures), drawn = phases < MF_PANELS_PARTS ? phases : MF_PANELS_PARTS;

    if (!picture->curves) {
        (void)draw_bars(panels, name, picture, measures);
        return;
    }
    for (size_t p = 0; p < drawn; ++p) (void)draw_curves(panels, name, picture, mf_json_item(measures, p));
    panels->left += phases - drawn;
}

void mf_panels_measures(struct mf_panels *panels, const struct mf_json *measures)
{
    const char *name;

    for (size_t i = 0; (name = mf_measure_name(i)) != NULL; ++i) {
        const struct mf_measure_picture *picture = mf_measure_pictures(i);

        if (!mf_json_get(mf_json_item(measures, 0), name)) continue;
        for (size_t k = 0; k < MF_MEASURE_PICTURES; ++k)
            if (picture[k].path) draw_picture(panels, name, &picture[k], measures);
    }
    mf_figure_end_row(panels->figure);
}
