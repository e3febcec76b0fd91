/* See panels.h: measures, whose values are found by the paths in their rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/desc/measure.h"
#include "src/show/panels.h"

enum { VALUES = 24 /* curves, or bars, of a picture */, NAME = 40, KEY = 48, SERIES = 6, LONGEST = 4096 };

/* Found values: lists, or numbers. */
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

/* A list; with keys: of members of its objects. Numbers that there are none of (null) are left out. */
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

        at[i] = x ? mf_json_get_real(item, x) : f->picture->first + (double)i;
        value[i] = number(y ? mf_json_get(item, y) : item);
    }
    *c = (struct mf_curve){.count = n, .x = at, .y = value};
    snprintf(f->name[f->count++], NAME, "%s", name);
}

static void keep_number(struct found *f, const struct mf_json *v, const char *name)
{
    double *value;

    if (f->count == VALUES || !isfinite(number(v))) return;
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
        snprintf(name, NAME, "with %lld", mf_json_get_int(item, "label"));
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

/* Finds the values that one phase of others has of a picture; no values: nothing. */
static struct found found_in(struct mf_figure *figure, const struct mf_measure_picture *picture,
                             const struct mf_json *measures, size_t phase, const char *name)
{
    struct found f = {.figure = figure, .picture = picture};

    find(&f, mf_json_get(mf_json_item(measures, phase), name));
    return f;
}

/* The place of a name, or count. */
static size_t place_in(const struct found *f, const char *name)
{
    size_t i = 0;

    while (i < f->count && strcmp(f->name[i], name) != 0) ++i;
    return i;
}

static const char *of_label(struct mf_panels *panels, const struct mf_json *measures, size_t phase)
{
    return mf_figure_text(panels->figure, "label %lld", mf_json_get_int(mf_json_item(measures, phase), "label"));
}

/* ---- curves: a panel for every phase ---- */

/* Drawn values of a measure, and the wanted ones (or NULL). */
struct drawn {
    const char *name;
    const struct mf_measure_picture *picture;
    const struct mf_json *got, *want;
};

static size_t add_curves(struct mf_figure *figure, const struct found *f, const struct found *want,
                         struct mf_curve *curves)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; ++i) {
        const size_t other = place_in(want, f->name[i]);

        curves[n] = f->curve[i];
        curves[n].colour = (int)i + 1;
        if (f->count > 1) curves[n].name = mf_figure_text(figure, "%s", f->name[i]);
        curves[n++].dashed = f->count <= 3 && i > 0; /* those below are seen */
        if (other == want->count) continue;
        curves[n] = want->curve[other];
        curves[n].colour = (int)i + 1;
        curves[n].marks = 1;
        curves[n++].name = i + 1 == f->count ? "target" : NULL;
    }
    return n;
}

static void draw_curves(struct mf_panels *panels, const struct drawn *d, size_t phase)
{
    const struct found f = found_in(panels->figure, d->picture, d->got, phase, d->name);
    const struct found want = found_in(panels->figure, d->picture, d->want, phase, d->name);
    const char *of = mf_figure_text(panels->figure, " of %s", of_label(panels, d->got, phase));
    const char *title = title_of(panels->figure, d->name, d->picture, of);
    struct mf_curve *curves;
    struct mf_panel *panel;
    size_t count;

    if (f.count == 0) return;
    curves = mf_figure_keep(panels->figure, 2 * f.count * sizeof *curves);
    count = add_curves(panels->figure, &f, &want, curves);
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_CURVES,
                               .title = title,
                               .xlabel = d->picture->across,
                               .ylabel = d->picture->value,
                               .curve_count = count,
                               .curves = curves};
}

/* ---- bars: all phases in one panel, or a panel for each beside what it should be ---- */

/* One series; names that are new get a place at the end. */
static struct mf_curve series_of(struct mf_figure *figure, const struct found *f, struct found *all, const char *name)
{
    double *y = mf_figure_keep(figure, VALUES * sizeof *y);

    for (size_t i = 0; i < VALUES; ++i) y[i] = NAN;
    for (size_t i = 0; i < f->count; ++i) {
        const size_t place = place_in(all, f->name[i]);

        if (place == VALUES) continue;
        if (place == all->count) snprintf(all->name[all->count++], NAME, "%s", f->name[i]);
        y[place] = f->curve[i].y[0];
    }
    return (struct mf_curve){.name = name, .count = VALUES, .y = y};
}

static void put_bars(struct mf_panels *panels, const struct drawn *d, const struct found *all, const char *of,
                     const struct mf_curve *series, size_t count)
{
    const char **names = mf_figure_keep(panels->figure, (all->count + 1) * sizeof *names);
    const char *title = title_of(panels->figure, d->name, d->picture, of);
    struct mf_panel *panel;

    if (all->count == 0) return;
    for (size_t i = 0; i < all->count; ++i) names[i] = mf_figure_text(panels->figure, "%s", all->name[i]);
    panel = mf_figure_next(panels->figure);
    *panel = (struct mf_panel){.kind = MF_PANEL_BARS,
                               .title = title,
                               .ylabel = d->picture->value,
                               .curve_count = count,
                               .curves = series,
                               .bar_count = all->count,
                               .bar_names = names};
}

static void draw_bars(struct mf_panels *panels, const struct drawn *d)
{
    const size_t phases = mf_json_count(d->got) < SERIES ? mf_json_count(d->got) : SERIES;
    struct mf_curve *series = mf_figure_keep(panels->figure, SERIES * sizeof *series);
    struct found all = {.count = 0};

    for (size_t p = 0; p < phases; ++p) {
        const struct found f = found_in(panels->figure, d->picture, d->got, p, d->name);

        series[p] = series_of(panels->figure, &f, &all, of_label(panels, d->got, p));
    }
    put_bars(panels, d, &all, "", series, phases);
}

static void draw_both_bars(struct mf_panels *panels, const struct drawn *d, size_t phase)
{
    const struct found got = found_in(panels->figure, d->picture, d->got, phase, d->name);
    const struct found want = found_in(panels->figure, d->picture, d->want, phase, d->name);
    struct mf_curve *series = mf_figure_keep(panels->figure, 2 * sizeof *series);
    struct found all = {.count = 0};

    series[0] = series_of(panels->figure, &got, &all, "result");
    series[1] = series_of(panels->figure, &want, &all, "target");
    put_bars(panels, d, &all, mf_figure_text(panels->figure, " of %s", of_label(panels, d->got, phase)), series, 2);
}

/* ---- all ---- */

static void draw_picture(struct mf_panels *panels, const struct drawn *d)
{
    const size_t phases = mf_json_count(d->got), count = phases < MF_PANELS_PARTS ? phases : MF_PANELS_PARTS;

    if (!d->picture->curves && !d->want) {
        draw_bars(panels, d);
        return;
    }
    for (size_t p = 0; p < count; ++p)
        if (d->picture->curves)
            draw_curves(panels, d, p);
        else
            draw_both_bars(panels, d, p);
    panels->left += phases - count;
}

void mf_panels_measures(struct mf_panels *panels, unsigned which, const struct mf_json *measures,
                        const struct mf_json *want)
{
    const char *name;

    for (size_t i = 0; (name = mf_measure_name(i)) != NULL; ++i) {
        const struct mf_measure_picture *picture = mf_measure_pictures(i);

        if (!(which >> i & 1) || !mf_json_get(mf_json_item(measures, 0), name)) continue;
        for (size_t k = 0; k < MF_MEASURE_PICTURES; ++k)
            if (picture[k].path) draw_picture(panels, &(struct drawn){name, &picture[k], measures, want});
    }
    mf_figure_end_row(panels->figure);
}

/* ---- differences ---- */

int mf_panels_measures_differ(size_t row, size_t k, const struct mf_json *got, const struct mf_json *want, double *size,
                              double *off)
{
    const struct mf_measure_picture *picture = &mf_measure_pictures(row)[k];
    struct mf_figure memory = {.columns = 1};
    double square = 0, own = 0;
    size_t n = 0, any = 0;

    for (size_t p = 0; p < mf_json_count(want); ++p) {
        const struct found a = found_in(&memory, picture, want, p, mf_measure_name(row));
        const struct found b = found_in(&memory, picture, got, p, mf_measure_name(row));

        any += a.count + b.count;
        for (size_t i = 0; i < a.count; ++i) {
            const size_t other = place_in(&b, a.name[i]);
            const size_t points = other == b.count ? 0 : a.curve[i].count;

            for (size_t at = 0; at < points && at < b.curve[other].count; ++at) {
                const double x = a.curve[i].y[at], y = b.curve[other].y[at];

                if (!isfinite(x) || !isfinite(y)) continue;
                own += x * x;
                square += (y - x) * (y - x);
                ++n;
            }
        }
    }
    mf_figure_free(&memory);
    *size = n ? sqrt(own / (double)n) : NAN;
    *off = n ? sqrt(square / (double)n) : NAN;
    return any > 0;
}
